#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of the bulk semaphore's small cases, as a model of core/semaphore.h: one step for each atomic.

Lanes ask, make batches of which only so many succeed, and give back what they got, or keep it; some ask twice. Every
state that can be reached must lead to one in which all lanes are done. There no unit is lost or made, and, if nothing was
given back, as much was got as there was. No batch is promised and no unit refused unless, at that step, more units are
reserved than there are, or expected. Each step has the name of the atomic in the header that it stands for.
"""
from collections import namedtuple

from schedules import Model, Wrong, changed, sound

# begun: batches; made: units, also those of the start; failing: whether the last batch failed
Shared = namedtuple("Shared", "free expected units begun made failing")
# at: its next atomic; have: units that it got; owed; promised and not made; x: what the place needs; left: rounds
Lane = namedtuple("Lane", "at have owed promised x refused left")
# n: units asked for; gives: whether it gives back after its last round; rounds
Plan = namedtuple("Plan", "n gives rounds")


def part(x, n):
    return max(0, min(x, n))


def uncovered(shared, lanes, kept=0):
    """Units reserved that are neither there, nor expected but for `kept`, by what lanes really have."""
    return sum(lane.have + lane.owed for lane in lanes) - shared.made - shared.expected + kept


def step(shared, lanes, i, plan, batch, batches):
    """What the next atomic of lane i makes of both."""
    lane = lanes[i]
    at, have, owed, promised, x = lane[:5]
    n = plan.n

    def go(to, x=0, **changes):
        return lane._replace(at=to, x=x, **changes)

    def after_batch(owed, promised, **changes):
        return go("make" if promised else "look" if owed else "hold", owed=owed, promised=promised, **changes)

    if at == "ask":
        got = part(shared.units, n)
        to = go("ask back" if got < n else "reserve", have=got, owed=n - got)
        return shared._replace(units=shared.units - n), to
    if at == "ask back":
        return shared._replace(units=shared.units + owed), go("reserve")
    if at == "reserve":
        return shared._replace(free=shared.free - n), go("look" if owed else "hold")

    if at == "look":
        return shared, go("collect" if shared.units > 0 else "balance")
    if at == "collect":
        got = part(shared.units, owed)
        to = go("collect back" if got < owed else "hold", have=have + got, owed=owed - got)
        return shared._replace(units=shared.units - owed), to
    if at == "collect back":
        return shared._replace(units=shared.units + owed), go("balance")
    if at == "balance":  # two loads: whether batches fail, and the balance
        unit = 1 if shared.failing else batch
        wanted = -(-part(-(shared.free + shared.expected), owed) // unit) * unit
        return shared, go("promise", (wanted, unit)) if wanted else go("look")
    if at == "promise":
        wanted, unit = x
        need = part(-(shared.free + shared.expected), owed)
        if need > max(0, uncovered(shared, lanes)):
            raise Wrong(f"promises for {need}")
        needed = min(-(-need // unit) * unit, wanted)
        shared = shared._replace(expected=shared.expected + wanted)
        return shared, go("withdraw", wanted - needed, promised=needed) if needed < wanted else go("make", promised=needed)
    if at == "withdraw":
        return shared._replace(expected=shared.expected - x), go("make" if promised else "look")
    if at == "make":
        to = "produced" if shared.begun < batches else "failed"
        return shared._replace(begun=min(shared.begun + 1, batches)), go(to)
    if at == "produced":
        own, kept = min(owed, batch), min(promised, batch)
        shared = shared._replace(free=shared.free + batch, expected=shared.expected - kept, made=shared.made + batch, failing=0)
        if batch > own:
            return shared, go("put", batch - own, have=have + own, owed=owed - own, promised=promised - kept)
        return shared, after_batch(owed - own, promised - kept, have=have + own)
    if at == "failed":
        kept = min(promised, batch)
        given_up = part(-(shared.free + shared.expected - kept), owed)
        if given_up > max(0, uncovered(shared, lanes, kept)):
            raise Wrong(f"{given_up} refused")
        shared = shared._replace(free=shared.free + owed, expected=shared.expected - kept, failing=1)
        refused = lane.refused + given_up
        if owed > given_up:
            return shared, go("again", owed=owed - given_up, promised=promised - kept, refused=refused)
        return shared, after_batch(0, promised - kept, refused=refused)
    if at == "put":
        return shared._replace(units=shared.units + x), after_batch(owed, promised)
    if at == "again":
        return shared._replace(free=shared.free - owed), after_batch(owed, promised)

    def end():
        return go("ask" if lane.left else "done", have=0, left=max(0, lane.left - 1))

    if at == "hold":
        if not have:
            return shared, end()
        if lane.left == 0 and not plan.gives:
            return shared, go("done")
        return shared._replace(free=shared.free + have), go("signal")
    assert at == "signal"
    return shared._replace(units=shared.units + have), end()


def step_of_try(shared, lane, n):
    """The same for a lane that tries for n units, or signals n and then tries. A lane: where it is, and what it got."""
    free, units = shared
    at, _ = lane
    if at == "signal":
        return (free + n, units), ("put", 0)
    if at == "put":
        return (free, units + n), ("balance", 0)
    if at == "balance":
        return shared, ("look" if free >= n else "done", 0)
    if at == "look":
        return shared, ("take" if units >= n else "balance", 0)
    if at == "take":
        return (free, units - n), ("reserve" if units >= n else "put back", 0)
    if at == "put back":
        return (free, units + n), ("balance", 0)
    assert at == "reserve"
    return (free - n, units), ("done", n)


class Tries(Model):
    """Lane 0 signals n units and tries for n, as the others do. All are got that n goes into: else a try has failed although
    they were free from its beginning to its end."""

    def __init__(self, n, lanes, initial):
        self.n, self.lanes, self.initial = n, lanes, initial

    def start(self):
        return (self.initial, self.initial), (("signal", 0),) + (("balance", 0),) * (self.lanes - 1)

    def steps(self, shared, lane, i):
        yield step_of_try(shared, lane, self.n)

    def check_end(self, shared, lanes):
        if shared != (0, 0) or sum(got for _, got in lanes) != self.initial + self.n:
            raise Wrong(f"{shared} is left, and {lanes} have got")


class Asks(Model):
    def __init__(self, initial, plans, batch, batches):
        self.initial, self.plans, self.batch, self.batches = initial, plans, batch, batches

    def start(self):
        lanes = tuple(Lane("ask", 0, 0, 0, 0, 0, plan.rounds - 1) for plan in self.plans)
        return Shared(self.initial, 0, self.initial, 0, self.initial, 0), lanes

    def moves(self, shared, lanes, i):
        now, moved = step(shared, lanes, i, self.plans[i], self.batch, self.batches)
        yield now, changed(lanes, i, moved)

    def check_end(self, shared, lanes):
        kept = sum(lane.have for lane in lanes)
        if (shared.units, shared.free, shared.expected) != (shared.made - kept, shared.units, 0):
            raise Wrong(f"{kept} kept, and {shared}")
        if not any(plan.gives or plan.rounds > 1 for plan in self.plans):
            if kept != min(sum(plan.n for plan in self.plans), self.initial + self.batches * self.batch):
                raise Wrong(f"{kept} units got")


def cases():
    for asks in ((1, 1), (2, 1), (2, 3), (1, 1, 1), (2, 1, 1)):
        for initial in range(3 if len(asks) == 2 else 2):
            for batch in (1, 2):
                for batches in range(3):
                    for gives in range(2):
                        for rounds in ((1, 1), (2, 1), (2, 2)) if len(asks) == 2 else ((1, 1, 1),):
                            plans = tuple(Plan(n, gives and i == 0, rounds[i]) for i, n in enumerate(asks))
                            yield initial, plans, batch, batches


TRIES = ((1, 2, 0), (2, 3, 0), (1, 4, 0), (1, 3, 1), (2, 4, 2))

if __name__ == "__main__":
    asks = [(case, Asks(*case)) for case in cases()]
    sound(asks + [(f"{lanes} lanes try for {n}, {initial} at first", Tries(n, lanes, initial)) for n, lanes, initial in TRIES])
