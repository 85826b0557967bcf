#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of small cases of alloc/slabs.h, as a model with one step for each atomic.

Lanes malloc and free slots of two classes in one or two chunks, and whole chunks. A slot of class 0 has one unit of a
chunk, and its chunks have two words; a slot of class 1 has two units, and its chunks have one word; class 2 is a whole
chunk, which has no words. In every state no unit is in two live slots.
Every state must lead to one in which all lanes are done. Then every slot that is not live can be had. Who says that
nothing fits must have seen an instant, during the call, when that was so.

    slabs.py planted [BUG...]     the same with one bug at a time: some case must find each
"""
import sys
from collections import namedtuple

from schedules import Model, Wrong, changed, planted, sound

TURN = "sweep item", "sweep cursor", "sweep rest", "sweep kind", "sweep word"  # of one lane at a time
FREE, BOUND, MOVING, LARGE = "free", "bound", "moving", "large"

# kind: (state, class, version) of each chunk; words: of each chunk, (class, touched, taken); cursor: of each class,
# (busy, life, chunk, next); live: slots, (chunk, class, number), also those that a malloc under way has by mistake;
# turn: the lane that sweeps.  A hint is as old as can be: it leads to any word, and any of its bits seems clear.
Shared = namedtuple("Shared", "kind words cursor live turn")
# at: its next atomic; op: of its program; hand: its slots; full: nothing fitted at some instant of this malloc;
# c, w, x, y: what the place needs; old: what the first reading saw; seen: this reading, so far; order: of its items
Lane = namedtuple("Lane", "at op hand full c w x y old seen order")
Case = namedtuple("Case", "bits chunks programs")

BUGS = {
    "class": "a word that a hint leads to may be of any class",
    "undo": "who has taken a slot of another class keeps it from all",
    "mistake": "what a malloc has by mistake does not count as its block (docs/design/full-heap.md)",
    "mine": "who takes does not look which bits were clear",
    "past": "the cursor is not compared with its end",
    "twice": "a chunk is claimed by a store",
    "flying": "a chunk is closed though a word has a live slot",
    "first": "the first word says whether a chunk is empty",
    "closers": "two may close a chunk at the same time",
    "reopen": "what could not be closed stays closed",
    "dead": "who finds no chunk leaves the cursor busy, and others wait for it",
    "lock": "two may fill up a cursor: the slots of one chunk are lost",
    "rest": "the cursor goes to another chunk, and the rest of its slots is lost",
    "retire": "who takes a cursor's rest does not say so in the chunk's kind",
    "give": "who takes a cursor's rest leaves its bits set",
    "moving": "a proof takes a chunk that moves for one without space",
    "once": "a proof reads once",
    "touched": "who takes by a hint does not say so in the word",
    "walked": "nor does who takes by a compare-exchange",
    "flags": "a proof does not look at what was touched",
    "stale flags": "a proof does not clear what was touched before",
    "kind version": "a proof does not compare the versions of kinds",
    "life": "a proof does not compare the lives of cursors",
    "unused": "a proof takes the chunk of a cursor for used",
    "early": "a chunk is bound before its cursor says so",
    "cursors": "a proof does not look at cursors",
}


class Slabs(Model):
    def __init__(self, case, bug):
        self.bits, self.chunks, self.programs = case
        self.bug = bug
        self.all = (1 << self.bits) - 1
        self.words = (2, 1)
        self.slots = (2 * self.bits, self.bits, 1)
        self.items = self.chunks + 2

    def start(self):
        word = (0, 0, self.all)
        kinds, words, cursors = ((FREE, 0, 0),) * self.chunks, ((word, word),) * self.chunks, ((0, 0, 0, 9),) * 2
        shared = Shared(kinds, words, cursors, frozenset(), None)
        return self.looked(shared, tuple(self.begin(i, 0, ()) for i in range(len(self.programs))))

    def begin(self, i, op, hand):
        program = self.programs[i]
        while op < len(program) and program[op] == "free" and not hand:
            op += 1
        at = "done" if op == len(program) else "free" if program[op] == "free" else "hint"
        return Lane(at, op, hand, False, 0, 0, None, None, None, frozenset(), 1)

    def fits(self, shared, lanes, k):
        """Is there a slot of class k, or a chunk without a live slot?"""
        mistakes = {(lane.c, *lane.x[:2]) for lane in lanes if lane.at == "undo"} if self.bug == "mistake" else set()
        for c in range(self.chunks):
            live = [s for s in shared.live - mistakes if s[0] == c]
            if not live or (live[0][1] == k and len(live) < self.slots[k]):
                return True
        return False

    def has(self, shared, slot):
        """That slot becomes live."""
        c, k, number = slot
        if number >= self.slots[k]:
            raise Wrong(f"slot {number} of class {k}")
        for other in shared.live:
            if other[0] == c and (other[1] != k or other[2] == number):
                raise Wrong(f"chunk {c}: {slot} over {other}")
        return shared._replace(live=shared.live | {slot})

    def steps(self, i, shared, lane):
        """What the next atomic of a lane makes of both; all that it can, where it looks in an order of its own."""
        if lane.at == "hint":
            if self.programs[i][lane.op] == 2:
                yield shared, lane._replace(at="sample", c=0, x=0, y="whole")
                yield shared, lane._replace(at="sample", c=0, x=1, y="whole")
                return
            for c in range(self.chunks):
                for w in range(self.words[self.programs[i][lane.op]]):
                    for bit in range(self.bits):
                        yield shared, lane._replace(at="or", c=c, w=w, x=1 << bit, y=1)
        if lane.at == "walk" and lane.c < self.chunks and shared.kind[lane.c][:2] == (BOUND, self.programs[i][lane.op]) == (BOUND, 0):
            yield shared, lane._replace(at="walk word", w=1)
        if lane.at == "sweep" and shared.turn is None:
            yield shared._replace(turn=i), lane._replace(at="sweep item", x=self.items - 1, order=-1)
        now, then = self.step(i, shared, lane)
        if now.turn == i and then.at not in TURN:
            now = now._replace(turn=None)
        yield now, then

    def step(self, i, shared, lane):
        at, op, hand, _, c, w, x, y, old, seen, order = lane
        program = self.programs[i]
        k = program[op] if program[op] != "free" else 0
        kind = shared.kind[c] if c < self.chunks else None
        bug = self.bug

        def go(to, **changes):
            return lane._replace(at=to, **changes)

        def word(value):
            return shared._replace(words=changed(shared.words, c, changed(shared.words[c], w, value)))

        def set_kind(state, class_):
            return shared._replace(kind=changed(shared.kind, c, (state, class_, kind[2] + 1)))

        def set_cursor(j, value):
            return shared._replace(cursor=changed(shared.cursor, j, value))

        def take(value):
            """The lowest free slot of a word that holds `value`."""
            bit = ~value[2] & (value[2] + 1)
            slot = c, k, w * self.bits + bit.bit_length() - 1
            after = value[0], int(bug != "walked"), value[2] | bit
            return word(after)._replace(live=self.has(shared, slot).live), slot

        def got(slot):
            return self.begin(i, op + 1, hand + (slot,))

        sweep = lane._replace(at="sweep", c=0, w=0, x=None, y=None, old=None, seen=frozenset(), order=1)

        def read():
            """Reads a word: the first reading clears its flag."""
            class_, touched, taken = shared.words[c][w]
            return word((class_, touched if old is not None or bug == "stale flags" else 0, taken))

        def dirty(touched):
            return old is not None and touched and bug != "flags"

        def see(*what):
            """One more item is read: it was so."""
            return lane._replace(at="sweep item", x=x + order, w=0, y=None, seen=seen | {(x,) + what})

        if at == "hint":
            return shared, go("cursor")
        if at == "or":  # x: bits that seem clear; y: how often to try again
            class_, touched, taken = shared.words[c][w]
            bit = x & -x
            number = w * self.bits + bit.bit_length() - 1
            after = word((class_, touched if bug == "touched" else 1, taken | bit))
            rest = self.all & ~(taken | bit)
            if class_ != k and bug != "class":
                if taken & bit or bug == "undo":
                    return after, go("cursor")
                return after._replace(live=self.has(shared, (c, class_, number)).live), go("undo", x=(class_, number, bit))
            if not taken & bit or bug == "mine":
                slot = c, k, number
                return after._replace(live=self.has(shared, slot).live), got(slot)
            if rest and y:
                return after, go("or", x=rest, y=y - 1)
            return after, go("cursor")
        if at == "undo":
            class_, touched, taken = shared.words[c][w]
            if class_ != x[0] or not taken & x[2]:
                raise Wrong(f"what is given back is not there: {shared.words[c][w]}")
            after = word((class_, touched, taken & ~x[2]))
            return after._replace(live=shared.live - {(c, x[0], x[1])}), go("cursor")
        if at == "take":  # y: where to go on in vain, and how often to try again
            now = shared.words[c][w]
            if now == x and now[2] != self.all:
                after, slot = take(now)
                return after, got(slot)
            if y[1] and now[0] == k and now[2] != self.all:
                return shared, go("take", x=now, y=(y[0], y[1] - 1))
            return shared, go("walk", c=c + 1) if y[0] == "walk" else sweep
        if at == "cursor":
            busy, life, chunk, next_ = shared.cursor[k]
            if next_ < self.slots[k] + (bug == "past" and life > 0):
                slot = chunk, k, next_
                return set_cursor(k, (busy, life, chunk, next_ + 1))._replace(live=self.has(shared, slot).live), got(slot)
            return shared, go("busy")
        if at == "busy":
            busy, life, chunk, next_ = shared.cursor[k]
            if busy and bug == "dead":
                return shared, lane
            if busy and bug != "lock":
                return shared, go("walk", c=0)
            if next_ < self.slots[k] and bug not in ("rest", "lock"):
                return shared, go("cursor")
            return set_cursor(k, (1, life, chunk, next_)), go("sample", c=0, x=i % self.chunks, y="cursor")
        if at == "sample":
            chunk = (c + x) % self.chunks
            if shared.kind[chunk][0] == FREE:
                return shared, go("claim", c=chunk, w=0, x=shared.kind[chunk])
            return shared, go("sample", c=c + 1) if c + 1 < self.chunks else sweep if k == 2 else go("leave")
        if at == "leave":
            busy, life, chunk, next_ = shared.cursor[k]
            return (shared if bug == "dead" else set_cursor(k, (0, life, chunk, next_))), go("walk", c=0)
        if at == "claim":  # y: for the cursor, or at once for who found it in a sweep
            if k == 2 and (kind == x or bug == "twice"):
                return set_kind(LARGE, k)._replace(live=self.has(shared, (c, k, 0)).live), got((c, k, 0))
            if kind == x or bug == "twice":
                return set_kind(MOVING, k), go("bind", w=0)
            return shared, go("leave") if y == "cursor" else sweep
        if at == "bind":
            value = shared.words[c][w]
            taken = self.all if y == "cursor" else int(w == 0)
            after = word((k, 0, taken))
            if y != "cursor" and w == 0:
                after = after._replace(live=self.has(shared, (c, k, 0)).live)
            if w + 1 < self.words[k]:
                return after, go("bind", w=w + 1)
            return after, go("publish" if y == "cursor" and bug != "early" else "bound")
        if at == "publish":
            after = set_cursor(k, (0, shared.cursor[k][1] + 1, c, 1))._replace(live=self.has(shared, (c, k, 0)).live)
            return after, got((c, k, 0)) if bug == "early" else go("bound")
        if at == "bound":
            after = set_kind(BOUND, k)
            return after, go("publish") if bug == "early" and y == "cursor" else got((c, k, 0))
        if at == "walk":
            if c == self.chunks:
                return shared, sweep
            return shared, go("walk word", w=0) if kind[:2] == (BOUND, k) else go("walk", c=c + 1)
        if at == "walk word":
            value = shared.words[c][w]
            if value[0] == k and value[2] != self.all:
                return shared, go("take", x=value, y=("walk", 1))
            return shared, go("walk word", w=w + 1) if w + 1 < self.words[k] else go("walk", c=c + 1)
        # ---- a proof: two readings of all ----
        if at == "sweep":
            return (shared, lane) if shared.turn is not None else (shared._replace(turn=i), go("sweep item", x=0))
        if at == "sweep item":
            if 0 <= x < self.items:
                return shared, go("sweep cursor") if x < 2 else go("sweep kind", c=x - 2)
            if old is None and bug != "once":
                return shared, sweep._replace(old=seen)
            return shared, go("verdict") if bug == "once" or old == seen else sweep
        if at == "sweep cursor":
            busy, life, chunk, next_ = shared.cursor[x]
            if next_ < self.slots[x] and bug != "cursors":
                if x == k:
                    return shared, go("cursor")
                return shared, go("sweep rest", c=chunk, y=(shared.cursor[x], (0 if bug == "life" else life, next_)), w=0)
            return shared, see((0 if bug == "life" else life, 9))
        if at == "sweep rest":
            class_, touched, taken = shared.words[c][w]
            next_ = y[0][3]
            given = sum(1 << s % self.bits for s in range(next_) if s // self.bits == w)
            after = read()
            if class_ == x and taken & given or bug == "unused":
                return after, sweep if dirty(touched) else see(*y[1:])
            if (w + 1) * self.bits < next_:
                return after, go("sweep rest", w=w + 1)
            return after, go("retire", y=y[0], w=0)
        if at == "sweep kind":
            tag = kind[:2] if bug == "kind version" else kind
            if kind[0] == FREE:
                return shared, go("claim", w=0, x=kind, y="at once")
            if kind[0] == MOVING and bug != "moving":
                return shared, sweep
            if kind[0] != BOUND:
                return shared, see(tag)
            return shared, go("sweep word", w=0, y=(kind, tag))
        if at == "sweep word":
            class_, touched, taken = shared.words[c][w]
            after = read()
            if class_ != y[0][1]:
                return after, sweep
            if class_ == k and taken != self.all:
                return after, go("take", x=after.words[c][w], y=("sweep", 1))
            if dirty(touched):
                return after, sweep
            if class_ != k and taken:
                return after, see(*y[1:])
            if w + 1 < self.words[class_] and not (bug == "first" and class_ != k):
                return after, go("sweep word", w=w + 1)
            if class_ == k:
                return after, see(*y[1:])
            return after, go("close", w=0, x=y[0])
        if at == "verdict":
            if not lane.full:
                raise Wrong(f"nothing of class {k} fits, it says")
            return shared, self.begin(i, op + 1, hand)
        # ---- a chunk of another class, without a live slot, seems it ----
        if at == "close":
            if kind == x or (bug == "closers" and kind[:2] == (MOVING, x[1])):
                return set_kind(MOVING, x[1]), go("close word", w=0)
            return shared, sweep
        if at == "close word":
            class_, touched, taken = shared.words[c][w]
            if taken == 0 or bug == "flying" or (bug == "first" and w):
                after = word((class_, 0, self.all))
                return after, go("close word", w=w + 1) if w + 1 < self.words[x[1]] else go("closed")
            return shared, go("bound again" if w == 0 or bug == "reopen" else "reopen", w=w - 1)
        if at == "closed":
            after = set_kind(FREE, x[1])
            return after, go("claim", w=0, x=after.kind[c], y="at once")
        if at == "reopen":
            class_, touched, taken = shared.words[c][w]
            return word((class_, touched, 0)), go("reopen", w=w - 1) if w else go("bound again")
        if at == "bound again":
            return set_kind(BOUND, x[1]), sweep
        # ---- the rest of the slots of another class's cursor become free ----
        if at == "retire":
            if kind[:2] != (BOUND, x):
                return shared, sweep
            return (shared if bug == "retire" else set_kind(MOVING, x)), go("retire cursor")
        if at == "retire cursor":
            if shared.cursor[x] != y:
                return shared, go("retired")
            return set_cursor(x, y[:3] + (9,)), go("retired" if bug == "give" else "retire word")
        if at == "retire word":
            class_, touched, taken = shared.words[c][w]
            rest = sum(1 << s % self.bits for s in range(y[3], self.slots[x]) if s // self.bits == w)
            after = word((class_, touched, taken & ~rest))
            return after, go("retire word", w=w + 1) if w + 1 < self.words[x] else go("retired")
        if at == "retired":
            return (shared if bug == "retire" else set_kind(BOUND, x)), sweep
        # ---- free ----
        if at == "free" and hand[0][1] == 2:
            c = hand[0][0]
            if shared.kind[c][0] != LARGE:
                raise Wrong(f"{hand[0]} is freed in a chunk that is {shared.kind[c]}")
            value = FREE, 0, shared.kind[c][2] + 1
            after = shared._replace(kind=changed(shared.kind, c, value), live=shared.live - {hand[0]})
            return after, self.begin(i, op + 1, hand[1:])
        if at == "free":
            c, k, number = hand[0]
            if shared.kind[c][0] == FREE or shared.kind[c][1] != k:
                raise Wrong(f"{hand[0]} is freed in a chunk that is {shared.kind[c]}")
            return shared, go("give", c=c)
        if at == "give":
            _, k, number = hand[0]
            w = number // self.bits
            class_, touched, taken = shared.words[c][w]
            bit = 1 << number % self.bits
            if class_ != k or not taken & bit:
                raise Wrong(f"{hand[0]} is freed, its word is {shared.words[c][w]}")
            value = class_, touched, taken & ~bit
            words = changed(shared.words, c, changed(shared.words[c], w, value))
            return shared._replace(words=words, live=shared.live - {hand[0]}), self.begin(i, op + 1, hand[1:])
        raise AssertionError(at)

    def check_end(self, shared, lanes):
        """What no one has can be had."""
        for c in range(self.chunks):
            state, k, _ = shared.kind[c]
            live = {s[2] for s in shared.live if s[0] == c}
            if state == MOVING or (state == FREE and live) or (state == LARGE and not live):
                raise Wrong(f"chunk {c} is {state} at the end")
            if state == BOUND:
                busy, _, chunk, next_ = shared.cursor[k]
                rest = set(range(next_, self.slots[k])) if chunk == c else set()
                for number in range(self.slots[k]):
                    taken = shared.words[c][number // self.bits][2] >> number % self.bits & 1
                    if taken != (number in live or number in rest):
                        raise Wrong(f"slot {number} of chunk {c} at the end")
        if any(cursor[0] for cursor in shared.cursor):
            raise Wrong("a cursor is busy at the end")

    def looked(self, shared, lanes):
        """With a note in each malloc for which nothing fits now."""
        for i, lane in enumerate(lanes):
            if lane.at != "done" and not lane.full and self.programs[i][lane.op] != "free":
                if not self.fits(shared, lanes, self.programs[i][lane.op]):
                    lanes = changed(lanes, i, lane._replace(full=True))
        return shared, lanes

    def moves(self, shared, lanes, i):
        for now, moved in self.steps(i, shared, lanes[i]):
            yield self.looked(now, changed(lanes, i, moved))


F = "free"


def cases():
    for bits in (1, 2):
        for chunks in (1, 2):
            yield Case(bits, chunks, ((0, F), (1, F)))
            yield Case(bits, chunks, ((0, F, 1), (0, F)))
            yield Case(bits, chunks, ((0, F, 1), (1, F, 0)))
            yield Case(bits, chunks, ((0, 0, F), (0, F)))
    yield Case(1, 1, ((0, 0, F, F, 1), (0, F)))
    yield Case(1, 1, ((0, F, 1, F), (0, F, 0, F)))
    yield Case(1, 1, ((0, F, 1, F), (1, F, 1, F)))
    yield Case(2, 1, ((0, F, 1), (0, 0, F, F)))
    yield Case(1, 2, ((0, 0, F), (0, F, 0)))
    yield Case(1, 2, ((0, 0, 0), (0, 0, F, F)))
    yield Case(1, 2, ((1, 1, F, 1), (1, F, 1)))
    yield Case(1, 1, ((0, F, 0, F, 0, F, 0), (0,)))
    yield Case(1, 2, ((2, F, 2, F, 2, F, 2), (2,)))
    yield Case(1, 2, ((2, F, 0, F), (1, F, 2)))
    yield Case(1, 2, ((0, F, 2), (1, F, 0)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["planted"]:
        some = sys.argv[2:] or BUGS
        planted((BUGS[bug], (Slabs(case, bug) for case in cases())) for bug in some)
    sound((case, Slabs(case, "")) for case in cases())
