#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of small buddy systems, of 2 and 4 pages: the rules of the paper (Gelado and Garland, PPoPP 2019,
section 4.1), mended as docs/reference/alloc/tbuddy.md says, but for what comes while somebody is on its way: that
takes lanes which ask and free again (tests/blocks/test_buddy.c). One step for each atomic; a node's state and its
ancestors' change in one step, as their locks are held.

Lanes free blocks that they have at first, or ask for one. No page has two owners. NULL is right only if there was an instant
since the lane asked at which each free block of its size, or of a larger one, was promised to somebody. Every state must lead
to one in which all are done. There two buddies are never both available, and each semaphore counts the available nodes.

    buddy.py             the mended rules
    buddy.py planted     one of them less at a time: some case must show it. Without the first two the paper's rules are left
"""
import sys
from collections import namedtuple

from schedules import Model, Wrong, changed, planted, sound

AVAILABLE, PARTIAL, BUSY = "a", "p", "b"

# node: states, a heap with the root at 1; units: of each height; taken: nodes that lanes have; locks: nodes that are locked
Shared = namedtuple("Shared", "node units taken locks")
Units = namedtuple("Units", "free expected reserved")
# at: its next atomic; want: height asked for; height: where it is now; node: in its hands; announced: its unit counts as
# expected; none: there was an instant without a free block for it; block: what it frees, until that is counted
Lane = namedtuple("Lane", "at want height node announced none block", defaults=(0, 0, 0, False, False, 0))
Case = namedtuple("Case", "top blocks asks")  # blocks: nodes that lanes have at first, each a lane that frees it

BUGS = {
    "meet": "two buddies that are freed at once both find no unit, and stay two",
    "carry": "a unit that a free carries up is announced nowhere",
    "withdraw": "what was announced in vain is not withdrawn",
    "lock": "a free decides without its parent's lock",
}


def height(node, top):
    return top - (node.bit_length() - 1)


def below(node, top):
    """The pages of a node."""
    low, high = node, node
    while height(low, top):
        low, high = 2 * low, 2 * high + 1
    return set(range(low, high + 1))


def with_state(nodes, node, state):
    """A node gets a state, and its ancestors theirs."""
    nodes = changed(nodes, node, state)
    while node > 1:
        node //= 2
        children = nodes[2 * node], nodes[2 * node + 1]
        nodes = changed(nodes, node, PARTIAL if set(children) & {AVAILABLE, PARTIAL} else BUSY)
    return nodes


class Buddies(Model):
    def __init__(self, case, bug=""):
        self.case, self.bug = case, bug

    def start(self):
        top, blocks = self.case.top, self.case.blocks
        nodes = (BUSY,) * (2 << top)
        shared = Shared(nodes, (Units(0, 0, 0),) * (top + 1), frozenset(blocks), frozenset())
        for node in range(1, 2 << top):  # what nobody has is available, in the largest pieces
            pages = below(node, top)
            free = not any(pages & below(block, top) for block in blocks)
            if free and (node == 1 or any(below(node // 2, top) & below(block, top) for block in blocks)):
                shared = self.count(shared._replace(node=with_state(shared.node, node, AVAILABLE)), height(node, top), free=1)
        lanes = tuple(Lane("rise", height=height(block, top), node=block, block=block) for block in blocks)
        return shared, lanes + tuple(Lane("ask", want=want, height=want) for want in self.case.asks)

    def count(self, shared, at, **more):
        units = shared.units[at]
        units = units._replace(**{name: getattr(units, name) + n for name, n in more.items()})
        return shared._replace(units=changed(shared.units, at, units))

    def moves(self, shared, lanes, i):
        for now, moved in self.steps(shared, lanes[i], i):
            all_ = changed(lanes, i, moved)
            yield now, tuple(self.looked(now, all_, lane) for lane in all_)

    def looked(self, shared, lanes, lane):
        """Notes whether this is an instant at which there is no block for a lane that asks."""
        if lane.none or not self.asks(lane):
            return lane
        top, want = self.case.top, lane.want
        taken = set().union(*(below(node, top) for node in shared.taken | {other.block for other in lanes if other.block}))
        free = [node for node in range(1 << (top - want), 2 << (top - want)) if not below(node, top) & taken]
        others = sum(1 << max(0, other.height - want) for other in lanes if other is not lane and self.asks(other))
        return lane._replace(none=len(free) <= others)

    @staticmethod
    def asks(lane):
        """Does it ask, or take what it was promised?"""
        return lane.at in ("ask", "blocked", "take", "divide", "signal", "fail")

    def steps(self, shared, lane, i):
        yield from getattr(self, lane.at.replace(" ", "_"))(shared, lane)

    # ---- malloc ----

    def ask(self, shared, lane):
        at, units = lane.height, shared.units[lane.height]
        if units.free - units.reserved > 0:
            yield self.count(shared, at, free=-1), lane._replace(at="take")
        elif units.free + units.expected - units.reserved > 0:
            yield self.count(shared, at, reserved=1), lane._replace(at="blocked")
        elif at == self.case.top:
            yield shared, lane._replace(at="fail")
        else:  # a batch of two: one for itself, and one is expected
            yield self.count(shared, at, expected=1), lane._replace(height=at + 1)

    def blocked(self, shared, lane):
        units = shared.units[lane.height]
        if units.free > 0:
            yield self.count(shared, lane.height, free=-1, reserved=-1), lane._replace(at="take")
        elif units.expected < units.reserved:  # who was to make it could not
            yield self.count(shared, lane.height, reserved=-1), lane._replace(at="ask")

    def fail(self, shared, lane):
        """Nothing at the top: what it was to make at the sizes below does not come, from the highest to its own."""
        if lane.height > lane.want:
            yield self.count(shared, lane.height - 1, expected=-1), lane._replace(height=lane.height - 1)
        elif not lane.none:
            raise Wrong("NULL, though a block was free all the time")
        else:
            yield shared, lane._replace(at="done")

    def take(self, shared, lane):
        top = self.case.top
        for node in range(1 << (top - lane.height), 2 << (top - lane.height)):
            if shared.node[node] == AVAILABLE and node // 2 not in shared.locks:
                now = shared._replace(node=with_state(shared.node, node, BUSY), taken=shared.taken | {node})
                yield now, lane._replace(at="done" if lane.height == lane.want else "divide", node=node)

    def divide(self, shared, lane):
        kept, other = 2 * lane.node, 2 * lane.node + 1
        nodes = with_state(changed(shared.node, kept, BUSY), other, AVAILABLE)
        now = shared._replace(node=nodes, taken=shared.taken - {lane.node} | {kept})
        yield now, lane._replace(at="signal", node=kept, height=lane.height - 1)

    def signal(self, shared, lane):
        now = self.count(shared, lane.height, free=1, expected=-1)
        yield now, lane._replace(at="done" if lane.height == lane.want else "divide")

    # ---- free ----

    def rise(self, shared, lane):
        """Its node is free and not available: it goes on as a free of this height, and announces what it may become."""
        if lane.height == self.case.top:
            yield shared, lane._replace(at="put")
        else:
            then = lane._replace(at="try first" if self.bug == "meet" else "lock")
            yield (shared if self.bug == "carry" else self.count(shared, lane.height + 1, expected=1)), then

    def lock(self, shared, lane):
        if self.bug == "lock":
            yield shared, lane._replace(at="decide")
        elif lane.node // 2 not in shared.locks:
            yield shared._replace(locks=shared.locks | {lane.node // 2}), lane._replace(at="decide")

    def decide(self, shared, lane):
        buddy, open_ = lane.node ^ 1, shared._replace(locks=shared.locks - {lane.node // 2})
        if shared.node[buddy] != AVAILABLE:
            yield (shared, lane._replace(at="put")) if self.bug == "lock" else next(self.put(open_, lane))
        elif shared.units[lane.height].free - shared.units[lane.height].reserved > 0:
            yield self.count(shared, lane.height, free=-1), lane._replace(at="merge")
        else:  # its signal or its taker is on the way
            yield open_, lane._replace(at="lock")

    def merge(self, shared, lane):
        """Its buddy becomes busy, and what was its own unit is the buddy's."""
        now = shared._replace(node=with_state(shared.node, lane.node ^ 1, BUSY), locks=shared.locks - {lane.node // 2})
        if self.bug == "lock" and shared.node[lane.node ^ 1] != AVAILABLE:
            raise Wrong("a buddy has gone meanwhile")
        up = lane._replace(node=lane.node // 2, height=lane.height + 1, announced=self.bug != "carry")
        if lane.announced:
            yield now, up._replace(at="drop")
        else:
            yield from self.rise(now, up)

    def drop(self, shared, lane):
        """Its own unit of the size below does not come."""
        yield from self.rise(self.count(shared, lane.height - 1, expected=-1), lane)

    def try_first(self, shared, lane):
        units = shared.units[lane.height]
        if units.free - units.reserved > 0:
            yield self.count(shared, lane.height, free=-1), lane._replace(at="merge or back")
        else:
            yield shared, lane._replace(at="put")

    def merge_or_back(self, shared, lane):
        if shared.node[lane.node ^ 1] == AVAILABLE:
            yield from self.merge(shared, lane)
        else:
            yield self.count(shared, lane.height, free=1), lane._replace(at="put")

    def put(self, shared, lane):
        now = shared._replace(node=with_state(shared.node, lane.node, AVAILABLE), taken=shared.taken - {lane.block})
        yield now, lane._replace(at="tell")

    def tell(self, shared, lane):
        """The semaphore counts the node."""
        now = self.count(shared, lane.height, free=1, expected=-1 if lane.announced else 0)
        in_vain = lane.height < self.case.top and self.bug not in ("carry", "withdraw")
        yield now, lane._replace(at="withdraw" if in_vain else "done", block=0)

    def withdraw(self, shared, lane):
        yield self.count(shared, lane.height + 1, expected=-1), lane._replace(at="done")

    # ---- what must be ----

    def check(self, shared, lanes):
        pages = [page for node in shared.taken for page in below(node, self.case.top)]
        if len(pages) != len(set(pages)):
            raise Wrong("a page has two owners")

    def check_end(self, shared, lanes):
        top = self.case.top
        for node in range(2, 2 << top, 2):
            if shared.node[node] == shared.node[node + 1] == AVAILABLE:
                raise Wrong("two buddies are available, and not one block")
        for at, units in enumerate(shared.units):
            there = sum(shared.node[node] == AVAILABLE for node in range(1 << (top - at), 2 << (top - at)))
            if units != (there, 0, 0):
                raise Wrong(f"{there} nodes of height {at}, and {units}")


def cases():
    yield from (Case(1, blocks, asks) for blocks in ((), (2,), (2, 3), (1,)) for asks in ((), (0,), (1,), (0, 0), (0, 1)))
    for blocks in ((4,), (4, 5), (4, 6), (2, 6), (4, 5, 6), (4, 5, 3), (2, 3)):
        yield from (Case(2, blocks, asks) for asks in ((), (0,), (1,), (0, 0), (0, 1)) if len(blocks) + len(asks) < 5)


if __name__ == "__main__":
    if sys.argv[1:] == ["planted"]:
        planted((what, [Buddies(case, bug) for case in cases()]) for bug, what in BUGS.items())
    sound((case, Buddies(case)) for case in cases())
