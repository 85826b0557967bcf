#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of small cases of core/blocks.h, as a model with one step for each atomic.

Lanes take slots of a type, give them back, and one may look for a proof that there is none. A bitmap is one word here:
its levels are tests/blocks/test_hierarchy.c's matter. In every state no slot is in two hands, and what a lane has got is
of its type. Every state must lead to one in which all are done. There each bitmap says what is so, and a block without
a live slot is free. Who says that there is no slot must have seen an instant without one.

A lane may also give a slot that another lane has, as who frees a block twice does: it looks while the slot is taken, and
gives it at any time after that. Then slots are in two hands. But what is said of the end holds, and who has a slot
that is free only frees another's.  (Not of two such gives that have read a type of more slots than the block has by
then: core/blocks.h says what is left wrong.  The case is (3, 2), 1, (a + (new(1, 2),), a, (AGAIN,), (AGAIN,)).)

    blocks.py             cases of few states
    blocks.py all         all
    blocks.py planted     all with one bug at a time: some case must find each

Sets of slots and of blocks are the bits of an integer.
"""
import sys
from collections import namedtuple

from schedules import Model, Wrong, changed, planted, sound

FREE = -1  # a block's type, when it has none

# free, active, allocated: sets of blocks, the last two for each type; slots, type, on: of each block; flights: under way;
# disturbed: one has begun since the first pass; full: there was an instant without a slot since the proof began; twice: a
# slot was given by who had none
Shared = namedtuple("Shared", "free slots type on allocated active flights disturbed full twice")
# at: its next atomic; op: of its program; block, mask: slots in its hands; type: of the block, as read; x: what the place
# needs; flies: its flights; stolen: slots, while it looks whether they are all; then: where it goes on after a look
Lane = namedtuple("Lane", "at op block mask type x flies stolen then", defaults=(0, 0, ""))
Case = namedtuple("Case", "capacity blocks programs")

BUGS = {
    "keep": "slots of another type are kept after they were given back",
    "asked": "the toggle is of the type that was asked for",
    "deleter": "a block is emptied by the type of who deletes",
    "almost": "empty is: all but one were free",
    "store": "what was stolen is stored back",
    "look": "nobody looks at the block after that",
    "set": "bits are set and cleared, not toggled",
    "take": "slots of another type are not announced",
    "claim": "a block that is claimed is not announced",
    "steal": "what is stolen is not announced",
    "named": "the type is there before the slots are written",
    "early": "the type is read before slots are got",
    "once": "who turns a block on or off does not look again",
    "born": "who claims a block does not look at it",
    "other": "who gives looks only for the slots of the type that it has read",
    "two": "a block ends without a look whether it has ended",
    "range": "slots behind the last count",
    "stays": "a block that is given whole stays active",
}


def bits(mask):
    while mask:
        low = mask & -mask
        yield low
        mask ^= low


def subsets(mask, n):
    """Those of n bits; of all bits, if there are fewer."""
    each = list(bits(mask))
    if n >= len(each):
        yield mask
    elif n == 1:
        yield from each
    else:
        for i, one in enumerate(each):
            for other in each[i + 1 :]:
                yield one | other


class Blocks(Model):
    def __init__(self, case, bug):
        self.capacity, self.blocks, self.programs = case
        self.bug = bug
        self.all = [(1 << n) - 1 for n in self.capacity]
        self.proves = any(op[0] == "prove" for program in self.programs for op in program)

    def start(self):
        none, types = (0,) * self.blocks, (0,) * len(self.capacity)
        free, none_on = (FREE,) * self.blocks, (False,) * self.blocks
        shared = Shared((1 << self.blocks) - 1, none, free, none_on, types, types, 0, False, False, False)
        return shared, tuple(self.begin(program, 0, 0, 0) for program in self.programs)

    def begin(self, program, op, block, mask):
        """A lane at its op number `op`."""
        if op == len(program):
            return Lane("done", op, block, mask, 0, 0)
        at = {"new": "find", "delete": "delete", "prove": "register", "again": "spy"}[program[op][0]]
        if at == "delete" and not mask:
            return self.begin(program, op + 1, 0, 0)
        return Lane(at, op, block, mask, 0, 0)

    def toggle(self, sets, type_, block, on):
        bit = 1 << block
        if self.bug == "set":
            return changed(sets, type_, sets[type_] | bit if on else sets[type_] & ~bit)
        return changed(sets, type_, sets[type_] ^ bit)

    def seems_empty(self, now, type_):
        """To who has made it so, and has read that type before."""
        if self.bug == "almost":
            return bin(now).count("1") == self.capacity[type_] - 1
        return now & self.all[type_] == self.all[type_] or (now & (now + 1) == 0 and self.bug != "other")

    def steps(self, shared, lane, program, lanes):
        """What the next atomic of a lane makes of both: all that it can."""
        at, op, block, mask, type_, x, flies, stolen, _ = lane
        kind, *rest = program[op] if op < len(program) else ("",)
        wanted = rest[0] if rest else 0
        slots = shared.slots[block]
        announces = self.proves

        def go(to, **changes):
            return lane._replace(at=to, **changes)

        def put(value):
            return shared._replace(slots=changed(shared.slots, block, value))

        def active(which, on):
            return shared._replace(active=self.toggle(shared.active, which, block, on))

        def look(to, **changes):
            """Reads slots, and compares them with the type and whether it is on, which the lane has left."""
            return go("look known", then=to, **changes)

        def seen(to, now, **changes):
            """The same of slots that the lane has changed to `now`; then it reads the type."""
            return go("look type", then=to, x=now, **changes)

        def again(to, **changes):
            """The same of what the slots are now."""
            return go("look", then=to, x=0, **changes)

        have = "land holding" if announces else "hold"

        if at == "land":
            yield shared._replace(flights=shared.flights - flies), lane._replace(at=type_, type=0, flies=0)
        elif at == "land holding":
            yield shared._replace(flights=shared.flights - flies), go("hold", flies=0)
        # ---- new ----
        elif at == "find":
            found = False
            for bit in bits(shared.active[wanted]):
                found = True
                to = go("begin" if announces else "take", block=bit.bit_length() - 1, x=0)
                yield shared, to._replace(x="take") if announces else to
            if not found or x:
                if not shared.free:
                    yield shared, self.begin(program, op + 1, 0, 0)
                for bit in bits(shared.free):
                    to = go("begin" if announces else "claim", block=bit.bit_length() - 1, x=0)
                    yield shared, to._replace(x="claim") if announces else to
        elif at == "begin":  # of a flight; a bug's is none, so far as a proof sees
            more = int(self.bug != x)
            now = shared._replace(flights=shared.flights + more, disturbed=shared.disturbed or bool(more))
            yield now, go(x, x=0, flies=flies + more)
        elif at == "take":
            early = shared.type[block] if self.bug == "early" else 0
            inside = slots & (self.all[wanted] if self.bug != "range" else slots)
            if self.bug == "early" and not x:
                yield shared, go("take", type=early, x=1)
            elif not inside:
                to = go("find", x=1)
                yield shared, Lane("land", op, block, 0, "find", 1, flies) if announces else to
            else:
                for got in subsets(inside, rest[1]):
                    yield put(slots & ~got), go("type", mask=got, x=not inside & ~got)
        elif at == "type":
            read = type_ if self.bug == "early" else shared.type[block]
            if read != wanted:
                yield shared, go("drop", type=read, x=0)
            elif x and shared.on[block]:  # none is left: that is known, and the type says whether it is on
                yield shared, go("turn", type=read, x=True, then=have)
            else:
                yield shared, go(have, type=read, x=0)
        elif at == "claim":
            if not shared.free >> block & 1:
                if shared.type[block] == wanted:  # who claimed it may have left some
                    yield shared, go("take", x=0)
                to = go("find", x=1)
                yield shared, Lane("land", op, block, 0, "find", 1, flies) if announces else to
            else:
                yield shared._replace(free=shared.free & ~(1 << block)), go("toggle claimed")
        elif at == "toggle claimed":
            now = shared._replace(allocated=self.toggle(shared.allocated, wanted, block, True))
            yield now, go("type first" if self.bug == "named" else "publish")
        elif at == "type first":
            yield shared._replace(type=changed(shared.type, block, wanted)), go("publish")
        elif at == "publish":
            mine = (1 << min(rest[1], self.capacity[wanted])) - 1
            left = self.all[wanted] & ~mine
            yield put(left), go("name", mask=mine, x=bool(left))
        elif at == "name":
            now = shared if self.bug == "named" else shared._replace(type=changed(shared.type, block, wanted))
            to = go("toggle new") if x else go(have, x=0) if self.bug == "born" else look(have, type=wanted, x=False)
            yield now._replace(on=changed(shared.on, block, x)), to
        elif at == "toggle new":
            yield active(wanted, True), go(have, x=0) if self.bug == "born" else look(have, type=wanted, x=True)
        elif at == "hold":
            yield shared, self.begin(program, op + 1, block, mask)
        # ---- delete, delete of what another has, and dropping what is of another type ----
        elif at == "spy":
            yield shared, self.begin(program, op + 1, 0, 0)
            for other in lanes:
                read = shared.type[other.block]
                if other.at == "delete" and read != FREE:
                    yield shared, go("give", block=other.block, mask=other.mask, type=read, x="again")
                    if other.mask == self.all[read]:
                        yield shared, go("unmake", block=other.block, type=read, x=0, then="gone")
        elif at == "delete":
            read = shared.type[block]
            live = 0 if read == FREE else mask & self.all[read] & ~slots
            if live != mask and not shared.twice:
                raise Wrong("a slot that a lane has is free")
            yield shared, go("give", type=read, mask=live) if live else self.begin(program, op + 1, 0, 0)
            if live and live == self.all[read] and not slots & live:
                yield shared, go("unmake", type=read, mask=0, x=live, then="gone")
        elif at in ("give", "drop"):
            now = slots | mask
            if slots & mask and not shared.twice and x != "again":
                raise Wrong("a slot is given twice")
            after = put(now)
            if x == "again":
                after = after._replace(twice=True)
            kept = mask if self.bug == "keep" and at == "drop" else 0
            if at == "give" and type_ != FREE and now & self.all[type_] == self.all[type_]:
                to = go("", then="end", mask=0, x=0, stolen=kept)
                yield after, to._replace(at="begin", x="steal") if announces else to._replace(at="steal")
            elif at == "drop" or type_ == FREE or not slots & self.all[type_] or self.seems_empty(now, type_):
                yield after, seen("end", now, mask=0) if at == "drop" and not kept else again("end", mask=0, stolen=kept)
            else:
                yield after, self.ended(go(at, mask=0), program, kept)
        # ---- a look at a block ----
        elif at == "look":
            yield shared, go("look type", x=slots)
        elif at == "look known":
            full = slots & self.all[type_] == self.all[type_]
            if self.bug == "almost":
                full = bin(slots).count("1") >= self.capacity[type_] - 1
            if full:
                yield shared, go("begin", x="steal") if announces else go("steal")
            elif x == bool(slots & self.all[type_]):
                yield shared, self.looked(lane, program)
            else:
                yield shared, go("turn")
        elif at == "look type":
            read = shared.type[block]
            if read == FREE:
                yield shared, self.looked(lane, program)
                return
            all_ = self.all[read]
            full = x & all_ == all_
            if self.bug == "almost":
                full = bin(x).count("1") >= self.capacity[read] - 1
            if full:
                yield shared, go("begin", x="steal", type=read) if announces else go("steal", type=read)
            elif shared.on[block] == bool(x & all_):
                yield shared, self.looked(lane, program)
            else:
                yield shared, go("turn", type=read, x=shared.on[block])
        elif at == "turn":
            again = self.looked(lane, program) if self.bug == "once" else go("look", x=0)
            if shared.type[block] == type_ and shared.on[block] == x:
                yield shared._replace(on=changed(shared.on, block, not x)), go("toggle", x=not x)
            else:
                yield shared, again
        elif at == "toggle":
            which = wanted if self.bug == "asked" and kind == "new" else type_
            yield active(which, x), self.looked(lane, program) if self.bug == "once" else go("look known")
        elif at == "steal":
            yield put(0), go("stolen", x=slots) if slots else self.flown(lane, "look")
        elif at == "stolen":
            read = type_ if self.bug == "deleter" else shared.type[block]
            empty = read != FREE and x & self.all[read] == self.all[read]
            if self.bug == "almost":
                empty = read != FREE and bin(x).count("1") >= self.capacity[read] - 1
            yield shared, go("unmake" if empty else "give back", type=read)
        elif at == "unmake":
            old, on = shared.type[block], shared.on[block]
            now = shared._replace(type=changed(shared.type, block, FREE), on=changed(shared.on, block, False))
            if kind == "again":
                now = now._replace(twice=True)
            on = on and not (self.bug == "stays" and lane.then == "gone")
            if old == FREE and self.bug != "two":
                yield now, self.flown(lane, "looked")
            else:
                old = type_ if old == FREE or self.bug == "deleter" else old
                yield now, go("toggle unmade" if on else "toggle allocated", type=old)
        elif at == "toggle unmade":
            yield active(type_, False), go("toggle allocated")
        elif at == "toggle allocated":
            yield shared._replace(allocated=self.toggle(shared.allocated, type_, block, False)), go("set free")
        elif at == "set free":
            if shared.free >> block & 1:
                raise Wrong("a block is free twice")
            yield shared._replace(free=shared.free | 1 << block), self.flown(lane, "looked")
        elif at == "give back":
            to = self.flown(lane, "looked" if self.bug == "look" else "look")
            yield put(x if self.bug == "store" else slots | x), to
        elif at == "land looking":  # out of the flight of a theft
            now = shared._replace(flights=shared.flights - 1)
            to = lane._replace(flies=flies - 1, x=0)
            yield now, self.looked(to, program) if x == "looked" else to._replace(at="look")
        elif at == "looked":
            yield shared, self.looked(lane, program)
        # ---- a proof ----
        elif at == "register":
            yield shared._replace(full=self.is_full(shared, lanes, wanted)), go("land all")
        elif at == "land all":
            if not shared.flights:
                yield shared._replace(disturbed=False), go("read free")
        elif at == "read free":
            yield shared, go("read", block=0) if not shared.free else self.begin(program, op + 1, 0, 0)
        elif at == "read":
            if slots and shared.type[block] == wanted:
                yield shared, self.begin(program, op + 1, 0, 0)
            else:
                yield shared, go("read", block=block + 1) if block + 1 < self.blocks else go("verdict", block=0)
        elif at == "verdict":
            if not shared.disturbed and not shared.full:
                raise Wrong(f"no slot of type {wanted}, it says")
            yield shared, self.begin(program, op + 1, 0, 0)
        else:
            raise AssertionError(at)

    def flown(self, lane, to):
        """After a theft; or after the end of a block that was given whole, which is no flight."""
        if lane.then == "gone":
            return lane._replace(at="looked", x=0, then="end")
        lands = self.proves and self.bug != "steal"
        return lane._replace(at="land looking", x=to) if lands else lane._replace(at=to, x=0)

    def looked(self, lane, program):
        """After a look."""
        if lane.then != "end":
            return lane._replace(at=lane.then, x=0, type=0, then="")
        return self.ended(lane, program, lane.stolen)

    def ended(self, lane, program, kept):
        """After an attempt: to look again, or the next op; out of the flight."""
        announces = self.proves and program[lane.op][0] == "new"
        if program[lane.op][0] == "new":
            to = Lane("find", lane.op, lane.block, 0, 0, 1)
            if kept:
                to = Lane("hold", lane.op, lane.block, kept, 0, 0)
        else:
            to = self.begin(program, lane.op + 1, 0, 0)
        return to._replace(at="land", type=to.at, flies=lane.flies) if announces else to

    def is_full(self, shared, lanes, wanted):
        """Is there no slot of that type, and no space for one, not even in transit?"""
        if shared.free:
            return False
        for b in range(self.blocks):
            if shared.slots[b] and shared.type[b] == wanted:
                return False
            if shared.type[b] != FREE and shared.slots[b] == self.all[shared.type[b]]:
                if not any(self.deletes(lane, program, b) for lane, program in zip(lanes, self.programs)):
                    return False  # and who deletes has not returned
        for lane, program in zip(lanes, self.programs):
            if lane.at in ("publish", "name") and program[lane.op][1] == wanted and program[lane.op][2] < self.capacity[wanted]:
                return False  # slots that nobody wants yet
            elif lane.at in ("drop", "type"):
                type_ = shared.type[lane.block]
                if lane.at == "type" and type_ == program[lane.op][1]:
                    continue  # taken for good
                if type_ in (wanted, FREE) or lane.mask == self.all[type_]:
                    return False
            elif lane.then == "gone":
                continue  # and who gives has not returned
            elif lane.at in ("stolen", "unmake", "toggle unmade", "toggle allocated", "set free", "give back"):
                type_ = shared.type[lane.block]
                if type_ in (wanted, FREE) or lane.x == self.all[type_]:
                    return False
        return True

    def deletes(self, lane, program, block):
        """Is the lane in a delete of that block?"""
        return lane.op < len(program) and program[lane.op][0] == "delete" and lane.block == block

    def check(self, shared, lanes):
        """Of every state."""
        for lane, program in zip(lanes, self.programs):
            if lane.at == "hold" and lane.mask & ~self.all[program[lane.op][1]]:
                raise Wrong("a slot behind the last")
        if shared.twice:
            return
        hands = list(shared.slots)
        for lane, program in zip(lanes, self.programs):
            stolen = lane.x if lane.at in ("stolen", "unmake", "give back") else 0
            given = lane.mask if lane.x != "again" else 0
            for mask in (given, stolen):
                if hands[lane.block] & mask:
                    raise Wrong("a slot is in two hands")
                hands[lane.block] |= mask
            if lane.at in ("hold", "delete") and shared.type[lane.block] != program[lane.op - (lane.at == "delete")][1]:
                raise Wrong("a slot of another type")
        for b in range(self.blocks):
            if shared.free >> b & 1 and hands[b]:
                raise Wrong("a slot of a free block")

    def check_end(self, shared, lanes):
        for b in range(self.blocks):
            held = 0
            for lane in lanes:
                if lane.mask and lane.block == b:
                    held |= lane.mask
            type_ = shared.type[b]
            if (shared.free >> b & 1) != (type_ == FREE) or (not shared.twice and (held == 0) != (type_ == FREE)):
                raise Wrong(f"block {b} of type {type_} with {held} at the end")
            slots, all_ = (0, 0) if type_ == FREE else (shared.slots[b] & self.all[type_], self.all[type_])
            if (slots | held) & all_ != all_ or (type_ != FREE and slots == all_):
                raise Wrong(f"slots {shared.slots[b]} of block {b} at the end")
            if not shared.twice and shared.slots[b] != all_ & ~held:
                raise Wrong(f"slots {shared.slots[b]} of block {b} at the end, {held} held")
            for t in range(len(self.capacity)):
                is_active = t == type_ and slots != 0
                if (shared.allocated[t] >> b & 1, shared.active[t] >> b & 1) != (t == type_, is_active):
                    raise Wrong(f"a bitmap of type {t} is wrong of block {b} at the end")

    def moves(self, shared, lanes, i):
        for now, moved in self.steps(shared, lanes[i], self.programs[i], lanes):
            then = changed(lanes, i, moved)
            if self.proves and not now.full:
                for j, program in enumerate(self.programs):
                    if then[j].at in ("land all", "read free", "read", "verdict"):
                        now = now._replace(full=self.is_full(now, then, program[then[j].op][1]))
            yield now, then


def new(type_, n=1):
    return ("new", type_, n)


DELETE, PROVE_0, PROVE_1, AGAIN = ("delete",), ("prove", 0), ("prove", 1), ("again",)


def cases(whole):
    a, b = (new(0), DELETE), (new(1), DELETE)
    for capacity in ((1, 1), (1, 2), (2, 1), (2, 2)):
        for blocks in (1, 2) if whole or capacity == (1, 1) else (1,):
            yield Case(capacity, blocks, (a, a, b))
            yield Case(capacity, blocks, (a + a, b))
            yield Case(capacity, blocks, (a, b, (new(1),)))
            yield Case(capacity, blocks, ((new(0, 2), DELETE), a, b))
            yield Case(capacity, blocks, (a + b, b + a))
            yield Case(capacity, blocks, (a + (PROVE_1,), b))
            yield Case(capacity, blocks, (a + (PROVE_0,), a + b))
            yield Case(capacity, blocks, (a, (AGAIN,), b))
            yield Case(capacity, blocks, (a, (AGAIN,), (new(1, 2),)))
            yield Case(capacity, blocks, (a + (new(1),), (AGAIN,)))
    yield Case((2, 1), 1, (a + (new(1),), (AGAIN,), a + (new(1),)))
    yield Case((3, 2), 1, (a + (new(1),), (AGAIN,), b))
    if whole:
        yield Case((2, 2), 1, (a + b, a, b))
        yield Case((2, 2), 1, (a + (PROVE_1,), a, b))
        yield Case((2, 2), 1, (a, (AGAIN,), (AGAIN,), b))
        yield Case((3, 2), 1, (a + (new(1),), (AGAIN,), (new(0, 2), DELETE, new(1, 2))))


if __name__ == "__main__":
    if sys.argv[1:] == ["planted"]:
        planted((what, (Blocks(case, bug) for case in cases(True))) for bug, what in BUGS.items())
    sound((case, Blocks(case, "")) for case in cases(sys.argv[1:] == ["all"]))
