#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of small cases of core/blocks.h, as a model with one step for each atomic.

Lanes take slots of a type, give them back, and one may look for a proof that there is none. A bitmap is one word here:
its levels are tests/blocks/test_hierarchy.c's matter. In every state no slot is in two hands, and what a lane has got is
of its type. Every state must lead to one in which all are done. There each bitmap says what is so, and a block without
a live slot is free. Who says that there is no slot must have seen an instant without one.

    blocks_model.py planted     the same with one bug at a time: some case must find each

Sets of slots and of blocks are the bits of an integer.
"""
import sys
from collections import namedtuple

FREE = -1  # a block's type, when it has none

# free, active, allocated: sets of blocks, the last two for each type; slots, type: of each block; flights: under way;
# disturbed: one has begun since the first pass; full: there was an instant without a slot since the proof began
Shared = namedtuple("Shared", "free slots type allocated active flights disturbed full")
# at: its next atomic; op: of its program; block, mask: slots in its hands; type: of the block, as read; x: what the place
# needs; flies: whether its flight is announced
Lane = namedtuple("Lane", "at op block mask type x flies", defaults=(0,))
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
    "publish": "slots are published before the type",
    "early": "the type is read before slots are got",
    "late": "the type is read after slots were given back",
}


class Wrong(Exception):
    pass


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


def changed(values, i, value):
    return values[:i] + (value,) + values[i + 1 :]


# where a lane has slots in its hands
HOLDS = {"type", "toggle taken", "drop", "land holding", "hold", "stolen", "toggle stolen", "toggle allocated", "forget", "set free", "give back"}


class Model:
    def __init__(self, case, bug):
        self.capacity, self.blocks, self.programs = case
        self.bug = bug
        self.all = [(1 << n) - 1 for n in self.capacity]
        self.proves = any(op[0] == "prove" for program in self.programs for op in program)

    def start(self):
        none, types = (0,) * self.blocks, (0,) * len(self.capacity)
        shared = Shared((1 << self.blocks) - 1, none, (FREE,) * self.blocks, types, types, 0, False, False)
        return shared, tuple(self.begin(program, 0, 0, 0) for program in self.programs)

    def begin(self, program, op, block, mask):
        """A lane at its op number `op`."""
        if op == len(program):
            return Lane("done", op, block, mask, 0, 0)
        at = {"new": "find", "delete": "delete", "prove": "register"}[program[op][0]]
        if at == "delete" and not mask:
            return self.begin(program, op + 1, 0, 0)
        return Lane(at, op, block, mask, 0, 0)

    def toggle(self, sets, type_, block, on):
        bit = 1 << block
        if self.bug == "set":
            return changed(sets, type_, sets[type_] | bit if on else sets[type_] & ~bit)
        return changed(sets, type_, sets[type_] ^ bit)

    def steps(self, shared, lane, program, lanes):
        """What the next atomic of a lane makes of both: all that it can."""
        at, op, block, mask, type_, x, flies = lane
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
            flies = int(self.bug != x)
            yield shared._replace(flights=shared.flights + flies, disturbed=shared.disturbed or bool(flies)), go(x, x=0, flies=flies)
        elif at == "take":
            early = shared.type[block] if self.bug == "early" else 0
            if self.bug == "early" and not x:
                yield shared, go("take", type=early, x=1)
            elif not slots:
                to = go("find", x=1)
                yield shared, Lane("land", op, block, 0, "find", 1, flies) if announces else to
            else:
                for got in subsets(slots, rest[1]):
                    left = slots & ~got
                    yield put(left), go("type", mask=got, x=not left)
        elif at == "type":
            read = type_ if self.bug == "early" else shared.type[block]
            next_ = "check" if read == wanted else "drop"
            next_ = "land holding" if next_ == "check" and announces else "hold" if next_ == "check" else next_
            if read == FREE:
                raise Wrong("a slot of a free block")
            yield shared, go("toggle taken" if x else next_, type=read, x=next_ if x else 0)
        elif at == "toggle taken":
            yield active(wanted if self.bug == "asked" else type_, False), go(x, x=0)
        elif at == "claim":
            if not shared.free >> block & 1:
                to = go("find", x=1)
                yield shared, Lane("land", op, block, 0, "find", 1, flies) if announces else to
            else:
                yield shared._replace(free=shared.free & ~(1 << block)), go("name")
        elif at == "name" and self.bug == "publish":
            mine = (1 << min(rest[1], self.capacity[wanted])) - 1
            yield put(self.all[wanted] & ~mine), go("name late", mask=mine)
        elif at == "name late":
            now = shared._replace(type=changed(shared.type, block, wanted))
            yield now, go("toggle claimed", x=self.all[wanted] & ~mask != 0)
        elif at == "name":
            yield shared._replace(type=changed(shared.type, block, wanted)), go("publish")
        elif at == "publish":
            mine = (1 << min(rest[1], self.capacity[wanted])) - 1
            yield put(self.all[wanted] & ~mine), go("toggle claimed", mask=mine, x=self.all[wanted] & ~mine != 0)
        elif at == "toggle claimed":
            now = shared._replace(allocated=self.toggle(shared.allocated, wanted, block, True))
            yield now, go("toggle new" if x else "land holding" if announces else "hold")
        elif at == "toggle new":
            yield active(wanted, True), go("land holding" if announces else "hold")
        elif at == "hold":
            yield shared, self.begin(program, op + 1, block, mask)
        # ---- delete, and dropping what is of another type ----
        elif at in ("delete", "drop"):
            if at == "delete":
                type_ = shared.type[block]
            if self.bug == "late":
                type_ = None
            now = slots | mask
            if now == slots:
                raise Wrong("a slot is given twice")
            toggles = slots == 0
            to = go("toggle given", mask=0, type=type_, x=(toggles, self.all[type_] if type_ is not None else 0, now, slots, mask))
            yield put(now), to
        elif at == "toggle given":
            toggles, all_, now, before, given = x
            type_ = shared.type[block] if type_ is None else type_
            if type_ == FREE:
                raise Wrong("a slot of a free block")
            full = now == self.all[type_]
            if self.bug == "almost":
                full = bin(before).count("1") == self.capacity[type_] - 1 and not toggles
            after = active(type_, True) if toggles else shared
            kept = given if self.bug == "keep" else 0
            if full and (kind == "delete" and announces):
                yield after, go("begin", type=type_, x="steal")
            elif full:
                yield after, go("steal", type=type_, x=kept)
            else:
                moved = lane._replace(x=kept, at="toggle given")
                yield after, self.ended(moved, program, announces and kind == "new", kept)
        # ---- a block that seems empty ----
        elif at == "steal":
            if not slots:
                yield shared, self.ended(lane, program, announces, x)
            else:
                yield put(0), go("stolen", mask=slots)
        elif at == "stolen":
            read = type_ if self.bug == "deleter" else shared.type[block]
            if read == FREE:
                raise Wrong("slots of a free block are stolen")
            yield shared, go("toggle stolen" if mask == self.all[read] else "give back", type=read)
        elif at == "toggle stolen":
            yield active(type_, False), go("toggle allocated")
        elif at == "toggle allocated":
            yield shared._replace(allocated=self.toggle(shared.allocated, type_, block, False)), go("forget")
        elif at == "forget":
            yield shared._replace(type=changed(shared.type, block, FREE)), go("set free")
        elif at == "set free":
            if shared.free >> block & 1:
                raise Wrong("a block is free twice")
            yield shared._replace(free=shared.free | 1 << block), self.ended(lane, program, announces, x)
        elif at == "give back":
            if self.bug == "store":
                yield put(mask), go("toggle back", mask=0, x=(slots, mask, x))
            elif self.bug == "look":
                yield put(slots | mask), self.ended(lane, program, announces, x)
            else:
                yield put(slots | mask), go("toggle back", mask=0, x=(slots, slots | mask, x))
        elif at == "toggle back":  # 0 and back is two toggles: none
            before, now, kept = x
            after = active(type_, False) if before else shared
            if now == self.all[type_]:
                yield after, go("steal", x=kept)
            else:
                yield after, self.ended(lane, program, announces, kept)
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

    def ended(self, lane, program, announces, kept):
        """After an attempt: to look again, or the next op; out of the flight."""
        if program[lane.op][0] == "new":
            to = lane._replace(at="find", mask=0, type=0, x=1)
            if self.bug == "keep" and kept:
                to = lane._replace(at="hold", mask=kept, type=0, x=0)
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
            if lane.at in ("name", "publish"):
                op = program[lane.op]
                if op[1] == wanted and op[2] < self.capacity[wanted]:
                    return False
            elif lane.at in ("stolen", "toggle stolen", "toggle allocated", "forget", "set free", "give back", "drop", "type", "toggle taken"):
                type_ = shared.type[lane.block]
                if lane.at in ("type", "toggle taken", "drop") and type_ == program[lane.op][1]:
                    continue  # taken for good
                if type_ in (wanted, FREE) or lane.mask == self.all[type_]:
                    return False
        return True

    def deletes(self, lane, program, block):
        """Is the lane in a delete of that block?"""
        return lane.op < len(program) and program[lane.op][0] == "delete" and lane.block == block

    def check(self, shared, lanes):
        """Of every state."""
        hands = list(shared.slots)
        for lane, program in zip(lanes, self.programs):
            if lane.at in HOLDS or (lane.at in ("delete", "land") and lane.mask):
                if hands[lane.block] & lane.mask:
                    raise Wrong("a slot is in two hands")
                hands[lane.block] |= lane.mask
                if lane.at in ("hold", "delete") and shared.type[lane.block] != program[lane.op - (lane.at == "delete")][1]:
                    raise Wrong("a slot of another type")
        for b in range(self.blocks):
            if shared.free >> b & 1 and hands[b]:
                raise Wrong("a slot of a free block")

    def check_end(self, shared, lanes):
        for b in range(self.blocks):
            held = sum(lane.mask for lane in lanes if lane.mask and lane.block == b)
            type_ = shared.type[b]
            if (shared.free >> b & 1) != (type_ == FREE) or (held == 0) != (type_ == FREE):
                raise Wrong(f"block {b} of type {type_} with {held} at the end")
            if shared.slots[b] != (0 if type_ == FREE else self.all[type_] & ~held):
                raise Wrong(f"slots {shared.slots[b]} of block {b} at the end")
            for t in range(len(self.capacity)):
                is_active = t == type_ and shared.slots[b] != 0
                if (shared.allocated[t] >> b & 1, shared.active[t] >> b & 1) != (t == type_, is_active):
                    raise Wrong(f"a bitmap of type {t} is wrong of block {b} at the end")

    def explore(self):
        """The number of states; a sentence if one is wrong."""
        first = self.start()
        before, stack, ends = {first: []}, [first], []
        state = first
        try:
            while stack:
                state = stack.pop()
                shared, lanes = state
                if all(lane.at == "done" for lane in lanes):
                    self.check_end(shared, lanes)
                    ends.append(state)
                for i, lane in enumerate(lanes):
                    if lane.at == "done":
                        continue
                    for now, moved in self.steps(shared, lane, self.programs[i], lanes):
                        then = lanes[:i] + (moved,) + lanes[i + 1 :]
                        if self.proves and not now.full:
                            for j, program in enumerate(self.programs):
                                if then[j].at in ("land all", "read free", "read", "verdict"):
                                    now = now._replace(full=self.is_full(now, then, program[then[j].op][1]))
                        new = now, then
                        if new not in before:
                            self.check(now, then)
                            before[new] = []
                            stack.append(new)
                        before[new].append(state)
        except Wrong as wrong:
            return len(before), f"{wrong}, after {state}"
        reached, stack = set(ends), ends
        while stack:
            for state in before[stack.pop()]:
                if state not in reached:
                    reached.add(state)
                    stack.append(state)
        stuck = next((state for state in before if state not in reached), None)
        return len(before), f"no end from {stuck}" if stuck else ""


def new(type_, n=1):
    return ("new", type_, n)


DELETE, PROVE_0, PROVE_1 = ("delete",), ("prove", 0), ("prove", 1)


def cases():
    for capacity in ((1, 1), (1, 2), (2, 1), (2, 2)):
        for blocks in (1, 2):
            a, b = (new(0), DELETE), (new(1), DELETE)
            yield Case(capacity, blocks, (a, a, b))
            yield Case(capacity, blocks, (a + a, b))
            yield Case(capacity, blocks, (a, b, (new(1),)))
            yield Case(capacity, blocks, ((new(0, 2), DELETE), a, b))
            yield Case(capacity, blocks, (a + b, b + a))
            yield Case(capacity, blocks, (a + (PROVE_1,), b))
            yield Case(capacity, blocks, (a + (PROVE_0,), a + b))
    yield Case((2, 2), 1, ((new(0), DELETE) + (new(1), DELETE), (new(0), DELETE), (new(1), DELETE)))
    yield Case((2, 2), 1, ((new(0), DELETE, PROVE_1), (new(0), DELETE), (new(1), DELETE)))


def sound():
    states, wrong = 0, 0
    for case in cases():
        found, sentence = Model(case, "").explore()
        states += found
        if sentence:
            wrong += 1
            print(f"{case}: {sentence}")
    print(f"{states} states, {wrong} cases wrong")
    return wrong


def planted():
    missed = 0
    for bug, what in BUGS.items():
        states = 0
        for case in cases():
            found, sentence = Model(case, bug).explore()
            states += found
            if sentence:
                print(f"{what}: found after {states} states: {sentence}")
                break
        else:
            missed += 1
            print(f"MISSED: {what}")
    return missed


def main():
    sys.exit((planted() if sys.argv[1:] == ["planted"] else sound()) != 0)


if __name__ == "__main__":
    main()
