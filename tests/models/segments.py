#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of two things that schedules of tests seldom come to, with one step for each atomic.

Readers (core/segments.h, quarry_segments_hold and quarry_segments_let_go): lanes look at a segment while its chunk becomes
one, is retired, and becomes something else. Whoever reads a slot finds the segment there that it looks for, and each chunk
is returned once for each time that it was a segment.

Entries (core/chunk_masks.h): pages of one chunk are freed, claimed and given back, while its entry is in a queue, a stray,
or in somebody's hands, and any put may find no slot. At the end a chunk with pages has an entry, and never has it two of a
kind.

    segments.py planted     the same with one bug at a time: some case must find each
"""
import sys
from collections import namedtuple

from schedules import Model, Wrong, changed, planted, sound

READER_BUGS = {
    "look": "who looks does not look again",
    "early": "a segment that is retired is returned, whoever looks at it",
    "late": "a segment is out of its queue after it was let go",
    "held": "who comes too late returns what is no segment",
    "keep": "the last one who looks returns nothing",
    "twice": "all who see the last one go return it",
    "store": "who becomes a segment has no readers yet",
    "read": "a slot is read after the segment was let go",
}
ENTRY_BUGS = {
    "cross": "who adds back does not see that it crosses 0",
    "drop": "an entry is dropped without a compare-exchange",
    "clear": "an entry becomes a stray in two steps",
    "both": "a stray is put though there is one",
    "stray": "a stray of another class is dropped",
    "class": "a stray goes into the queue of the class that it had",
    "queued": "a stray goes into a queue that has the entry",
    "put": "an entry without a slot is lost",
    "free": "a free does not look whether it crosses 0",
}


# ---- readers ----

# entry: number and chunk of the one entry; held, readers: of each chunk; use: of each chunk, what it is: "store", "user", or
# a segment's number
Queue = namedtuple("Queue", "entry held readers use")
# at: its next atomic; number, chunk: of a segment; left: rounds; x: what comes after
Actor = namedtuple("Actor", "at number chunk left x", defaults=(0,))


class Readers(Model):
    """Makers each make a chunk a segment and retire it, so often; users write to chunks of the store; readers look."""

    def __init__(self, case, bug):
        self.chunks, self.makers, self.users, self.readers, self.rounds = case
        self.bug = bug

    def start(self):
        queue = Queue((0, -1), (False,) * self.chunks, (0,) * self.chunks, ("store",) * self.chunks)
        actors = [Actor("make", 0, -1, self.rounds)] * self.makers + [Actor("use", 0, -1, self.rounds)] * self.users
        return queue, tuple(actors + [Actor("look", 0, -1, self.rounds)] * self.readers)

    def again(self, actor, at):
        return actor._replace(at=at if actor.left > 1 else "done", left=actor.left - 1, chunk=-1, x=0)

    def steps(self, s, a, i):
        at, number, chunk, left, x = a
        looks = i >= self.makers + self.users

        def go(to, **changes):
            return a._replace(at=to, **changes)

        def now(**changes):
            return s._replace(**changes)

        def counted(by, held=None):
            which = s.held if held is None else changed(s.held, chunk, held)
            return now(readers=changed(s.readers, chunk, s.readers[chunk] + by), held=which)

        def used(what):
            return now(use=changed(s.use, chunk, what))

        if at in ("make", "use"):
            for c in range(self.chunks):
                if s.use[c] == "store":
                    to = "hold" if at == "make" else "back"
                    yield now(use=changed(s.use, c, "maker" if at == "make" else "user")), go(to, chunk=c)
        elif at == "back":
            yield used("store"), self.again(a, "use")
        elif at == "hold":
            if self.bug == "store":
                yield now(readers=changed(s.readers, chunk, 1), held=changed(s.held, chunk, True)), go("enter")
            else:
                yield counted(1, True), go("enter")
        elif at == "enter":  # the entry is free: one segment of the queue at a time
            if s.entry[1] < 0:
                yield now(entry=(s.entry[0], chunk), use=changed(s.use, chunk, s.entry[0])), go("retire", number=s.entry[0])
        elif at == "retire":  # all its slots are done with
            if self.bug == "late":
                yield s, go("let go", x="leave")
            else:
                yield now(entry=(number + 1, -1)), go("let go")
        elif at == "leave":
            yield now(entry=(number + 1, -1)), self.again(a, "make")
        # ---- a reader ----
        elif at == "look":
            to = self.again(a, "look")
            yield s, go("add", number=s.entry[0], chunk=s.entry[1]) if s.entry[1] >= 0 else to
        elif at == "add":
            yield counted(1), go("read" if self.bug == "look" else "check")
        elif at == "check":
            same = s.entry == (number, chunk)
            yield s, go(("let go" if self.bug == "read" else "read") if same else "let go", x="read" if same and self.bug == "read" else 0)
        elif at == "read":
            if s.use[chunk] != number:
                raise Wrong(f"a slot of segment {number} is read, and its chunk is {s.use[chunk]}")
            yield s, self.again(a, "look") if self.bug == "read" else go("let go")
        # ---- both ----
        elif at == "let go":
            then = go(x) if x else self.again(a, "look" if looks else "make")
            last = s.readers[chunk] == 1 and (s.held[chunk] or (self.bug == "held" and looks))
            if self.bug == "early":
                last = not looks
            if self.bug == "keep" and looks:
                last = False
            yield counted(-1), go("give", x=then) if last else then
        elif at == "give":  # the compare-exchange; then the return
            if self.bug in ("twice", "early", "held") or (s.held[chunk] and s.readers[chunk] == 0):
                if s.use[chunk] in ("store", "user"):
                    raise Wrong("a chunk is returned twice")
                yield now(held=changed(s.held, chunk, False), use=changed(s.use, chunk, "store")), x
            else:
                yield s, x
        else:
            raise AssertionError(at)

    def check(self, s, actors):
        """Of every state: its steps have asked."""

    def check_end(self, s, actors):
        if any(use != "store" for use in s.use) or any(s.readers) or any(s.held):
            raise Wrong(f"{s} at the end")


# ---- entries ----

# count; kind: of the chunk, -1: none; bits: whether the queue of each class has it, and then whether it is a stray; queues:
# how many entries each of these has; free: pages that nobody has
Chunk = namedtuple("Chunk", "count kind bits queues")
Lane = namedtuple("Lane", "at op x", defaults=(0, 0))
CLASSES = 2
STRAY = CLASSES


class Entries(Model):
    """A chunk of so many pages, all of them free, and in queue 0. Lanes' programs have these operations:

    free      pages that somebody has had from the start come back, one for each
    claim k   a subtraction by one who takes it for class k; if it gets a page it frees that
    out q     an entry of a queue is taken out, if it has one, and put back
    drain q   the same, and it becomes a stray
    whole     all pages free: the chunk becomes one of the other class
    """

    def __init__(self, case, bug):
        self.pages, self.live, self.programs = case
        self.bug = bug

    def start(self):
        free = self.pages - self.live
        chunk = Chunk(free, 0, (free > 0, False, False), (int(free > 0), 0, 0))
        return chunk, tuple(self.begin(program, 0) for program in self.programs)

    def begin(self, program, op):
        return Lane(program[op][0] if op < len(program) else "done", op)

    def here(self, s, kind):
        return s.kind == kind and s.count > 0

    def steps(self, s, lane, i):
        at, op, x = lane
        program = self.programs[i]
        rest = program[op][1:] if op < len(program) else ()

        def end():
            return self.begin(program, op + 1)

        def go(to, x=0):
            return lane._replace(at=to, x=x)

        def bit(which, value, state=s):
            return state._replace(bits=changed(state.bits, which, value))

        def entered(which, by, state=s):
            return state._replace(queues=changed(state.queues, which, state.queues[which] + by))

        def added(then):
            """One page is counted; who crosses 0 enters it."""
            after = s._replace(count=s.count + 1)
            crosses = after.count == 1 and after.kind >= 0
            if crosses and not (after.bits[after.kind] or after.bits[STRAY]):
                return after, go("enter", (after.kind, then))
            return after, then

        if at == "free":
            after, to = added(end())
            if self.bug == "free":
                to = end()
            yield after, to
        elif at == "claim":
            got = self.here(s, rest[0])
            after = s._replace(count=s.count - 1)
            yield after, go("free" if got else "undo")
        elif at == "undo":
            after, to = added(end())
            if self.bug == "cross":
                to = end()
            yield after, to
        elif at == "enter":
            kind, then = x
            yield bit(kind, True), then if s.bits[kind] else go("put", (kind, then))
        elif at == "put":  # a slot, or none
            kind, then = x
            yield entered(kind, 1), then
            yield s, then if self.bug == "put" else go("stray", x)
        elif at == "stray":  # a compare-exchange, as all that follow
            kind, then = x
            after = bit(kind, False)
            if self.here(s, kind):
                after = bit(STRAY, True, s if self.bug == "clear" else after)
                new = not s.bits[STRAY] or self.bug == "both"
                then = go("put stray", then) if new else then
                if self.bug == "clear":
                    then = go("clear", (kind, then))
            yield after, then
        elif at == "clear":
            kind, then = x
            yield bit(kind, False), then
        elif at == "put stray":
            yield entered(STRAY, 1), x
        elif at in ("out", "drain"):
            which = rest[0]
            if not s.queues[which]:
                yield s, end()
            elif at == "drain":
                yield entered(which, -1), go("stray", (which, end()))
            else:
                yield entered(which, -1), go("keep stray" if which == STRAY else "keep")
        elif at == "keep":
            if self.here(s, rest[0]):
                yield s, go("put", (rest[0], end()))
            else:
                yield (s, go("drop")) if self.bug == "drop" else (bit(rest[0], False), end())
        elif at == "drop":
            yield bit(rest[0], False), end()
        elif at == "keep stray":
            after = bit(STRAY, False)
            kind = 0 if self.bug == "class" else s.kind
            here = s.count > 0 and kind >= 0 and not (self.bug == "stray" and kind != 0)
            if here and (not s.bits[kind] or self.bug == "queued"):
                yield bit(kind, True, after), go("put", (kind, end()))
            else:
                yield after, end()
        elif at == "whole":
            if s.kind >= 0 and s.count == self.pages:
                yield s._replace(count=0, kind=-1), go("made", 1 - s.kind)
            else:
                yield s, end()
        elif at == "made":
            after = s._replace(count=s.count + self.pages, kind=x)
            if after.count > 0 and not (after.bits[x] or after.bits[STRAY]):
                yield after, go("enter", (x, end()))
            else:
                yield after, end()
        else:
            raise AssertionError(at)

    def check(self, s, lanes):
        if any(n > 1 for n in s.queues):
            raise Wrong("a queue has two entries of a chunk")

    def check_end(self, s, lanes):
        if s.count > 0 and s.kind >= 0 and not (s.queues[s.kind] or s.queues[STRAY]):
            raise Wrong("a chunk with pages has no entry")
        if tuple(n > 0 for n in s.queues) != s.bits:
            raise Wrong(f"{s} at the end")


# ---- cases ----

# chunks, makers, users, readers, rounds
READERS = [(1, 1, 0, 1, 2), (1, 1, 1, 1, 3), (1, 1, 1, 2, 2), (2, 1, 1, 2, 2), (2, 2, 1, 1, 1)]
FREE, WHOLE = ("free",), ("whole",)


def claim(kind):
    return ("claim", kind)


def out(which):
    return ("out", which)


def drain(which):
    return ("drain", which)


# pages, those that somebody has, programs
ENTRIES = [
    (2, 2, ((FREE, claim(0)), (FREE, claim(0)), (out(0), out(STRAY)))),
    (2, 1, ((FREE, claim(0)), (claim(0), out(0)), (drain(0), out(STRAY)))),
    (2, 1, ((FREE, WHOLE), (drain(0), out(STRAY)), (claim(0), claim(1)))),
    (1, 1, ((FREE, WHOLE, WHOLE), (out(0), out(1), out(STRAY)), (drain(0), drain(1)))),
    (2, 2, ((FREE, drain(0)), (FREE, out(STRAY)), (claim(0), out(0)))),
    (1, 0, ((WHOLE, claim(1)), (claim(0), claim(1)), (drain(0), out(STRAY), out(STRAY)))),
    (1, 0, ((drain(0), out(STRAY)), (drain(0), WHOLE), (out(STRAY), drain(1)))),
]


def models(bugs, bug):
    return [Readers(case, bug) for case in READERS] if bugs is READER_BUGS else [Entries(case, bug) for case in ENTRIES]


if __name__ == "__main__":
    if sys.argv[1:] == ["planted"]:
        planted((what, models(bugs, bug)) for bugs in (READER_BUGS, ENTRY_BUGS) for bug, what in bugs.items())
    sound((type(model).__name__, model) for bugs in (READER_BUGS, ENTRY_BUGS) for model in models(bugs, ""))
