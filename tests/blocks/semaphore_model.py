#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of the bulk semaphore's small cases, with shards and without, as a model of core/semaphore.h and
core/shards.h: one step for each atomic.

Lanes ask, make batches of which only so many succeed, and give back what they got, or keep it; some ask twice. Every
state that can be reached must lead to one in which all lanes are done. There no unit is lost or made, and, if nothing was
given back, as much was got as there was. No batch is promised and no unit refused unless, at that step, more units are
reserved than there are, or expected. Each step has the name of the atomic in the headers that it stands for.

    semaphore_model.py            cases of two lanes, and without shards of three: seconds
    semaphore_model.py --long     with shards of three, too
"""
import sys
from collections import namedtuple

# begun: batches; made: units, also those of the start; failing: whether the last batch failed; shards: units and credit
Shared = namedtuple("Shared", "free expected units begun made failing lent shards")
# at: its next atomic; have: units that it got; owed; promised and not made; x: what the place needs; left: rounds
Lane = namedtuple("Lane", "at have owed promised x refused left")
# n: units asked for; gives: whether it gives back; rounds; ask, signal: shards that it uses
Plan = namedtuple("Plan", "n gives rounds ask signal")


class Wrong(Exception):
    pass


def part(x, n):
    return max(0, min(x, n))


def lot(shared, there, n):
    """What a shard gets if so many units are there. The header's lots end at 1024."""
    many = part(there >> (len(shared.shards) - 1).bit_length(), 1024)
    return many if many >= n else 0


def uncovered(shared, lanes, kept=0):
    """Units reserved that are neither there, nor expected but for `kept`, by what lanes really have."""
    return sum(lane.have + lane.owed for lane in lanes) - shared.made - shared.expected + kept


def shard(shared, i, units=0, credit=0):
    """`shared` with so much more in that shard."""
    old = shared.shards[i]
    return shared._replace(shards=shared.shards[:i] + ((old[0] + units, old[1] + credit),) + shared.shards[i + 1 :])


def step(shared, lanes, i, plan, batch, batches):
    """What the next atomic of lane i makes of both."""
    lane = lanes[i]
    at, have, owed, promised, x = lane[:5]
    n = plan.n

    def go(to, x=0, **changes):
        return lane._replace(at=to, x=x, **changes)

    borrow = "lent" if shared.shards else "look"

    def hold(**changes):
        return go("hold", **changes)

    def wait(owed, **changes):
        return go("look" if owed else "hold", owed=owed, **changes)

    def after_batch(owed, promised, **changes):
        return go("make" if promised else "look" if owed else "hold", owed=owed, promised=promised, **changes)

    def scan(k):
        return go("scan", x=k) if k < len(shared.shards) else go("look")

    def recall_credit(k, credit, got):
        return go("recall credit", (k, credit, got)) if credit > 0 else recalled(k, got, 0)

    def recalled(k, got, ended):
        if got or ended:
            return go("recall balance" if ended else "recall all", (got, ended))
        return scan(k + 1)

    if at == "ask":
        if not shared.shards:
            return step(shared, lanes[:i] + (go("all"),) + lanes[i + 1 :], i, plan, batch, batches)
        got = part(shared.shards[plan.ask][0], n)
        to = go("ask back", have=got) if got < n else go("ask credit", have=got)
        return shard(shared, plan.ask, units=-n), to
    if at == "ask back":
        return shard(shared, plan.ask, units=n - have), go("ask credit") if have else go("all")
    if at == "ask credit":
        return shard(shared, plan.ask, credit=have), go("all") if have < n else hold()
    if at == "all":
        missing = n - have
        got = part(shared.units, missing)
        x = missing, shared.units - missing
        to = go("all back" if got < missing else "reserve", x, have=have + got)
        return shared._replace(units=shared.units - missing), to
    if at == "all back":
        return shared._replace(units=shared.units + n - have), go("reserve", x)
    if at == "reserve":
        many = lot(shared, x[1], n) if shared.shards else 0
        return shared._replace(free=shared.free - x[0]), go("lot", many, owed=n - have) if many else wait(n - have)
    if at == "lot":
        got = part(shared.units, x)
        to = go("lot back", (x - got, got)) if got < x else go("lot lent", got)
        return shared._replace(units=shared.units - x), to
    if at == "lot back":
        return shared._replace(units=shared.units + x[0]), go("lot lent", x[1]) if x[1] else wait(owed)
    if at == "lot lent":
        return shared._replace(lent=shared.lent + x), go("lot units", x)
    if at == "lot units":
        return shard(shared, plan.ask, units=x), wait(owed)

    if at == "look":
        return shared, go("collect" if shared.units > 0 else "balance")
    if at == "collect":
        got = part(shared.units, owed)
        to = go("collect back" if got < owed else "hold", have=have + got, owed=owed - got)
        return shared._replace(units=shared.units - owed), to
    if at == "collect back":
        return shared._replace(units=shared.units + owed), go("balance")
    if at == "lent":
        return shared, scan(0) if shared.lent else go("look")
    if at == "scan":
        many = shared.shards[(plan.ask + 1 + x) % len(shared.shards)]
        if many[0] <= 0 and many[1] <= 0:
            return shared, scan(x + 1)
        return shared, go("recall units", (x, *many)) if many[0] > 0 else recall_credit(x, many[1], 0)
    if at == "recall units":
        k, units, credit = x
        place = (plan.ask + 1 + k) % len(shared.shards)
        got = part(shared.shards[place][0], units)
        to = go("recall units back", (k, units - got, credit, got)) if got < units else recall_credit(k, credit, got)
        return shard(shared, place, units=-units), to
    if at == "recall units back":
        k, back, credit, got = x
        return shard(shared, (plan.ask + 1 + k) % len(shared.shards), units=back), recall_credit(k, credit, got)
    if at == "recall credit":
        k, credit, got = x
        place = (plan.ask + 1 + k) % len(shared.shards)
        ended = part(shared.shards[place][1], credit)
        to = go("recall credit back", (k, credit - ended, got, ended)) if ended < credit else recalled(k, got, ended)
        return shard(shared, place, credit=-credit), to
    if at == "recall credit back":
        k, back, got, ended = x
        return shard(shared, (plan.ask + 1 + k) % len(shared.shards), credit=back), recalled(k, got, ended)
    if at == "recall balance":
        return shared._replace(free=shared.free - x[1]), go("recall all" if x[0] else "recall lent", x)
    if at == "recall all":
        return shared._replace(units=shared.units + x[0]), go("recall lent", x)
    if at == "recall lent":
        return shared._replace(lent=shared.lent - sum(x)), go("look")

    if at == "balance":  # two loads: whether batches fail, and the balance
        unit = 1 if shared.failing else batch
        wanted = -(-part(-(shared.free + shared.expected), owed) // unit) * unit
        return shared, go("promise", (wanted, unit)) if wanted else go(borrow)
    if at == "promise":
        wanted, unit = x
        need = part(-(shared.free + shared.expected), owed)
        if need > max(0, uncovered(shared, lanes)):
            raise Wrong(f"promises for {need}")
        needed = min(-(-need // unit) * unit, wanted)
        shared = shared._replace(expected=shared.expected + wanted)
        return shared, go("withdraw", wanted - needed, promised=needed) if needed < wanted else go("make", promised=needed)
    if at == "withdraw":
        return shared._replace(expected=shared.expected - x), go("make" if promised else borrow)
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
        if not shared.shards:
            return shared._replace(free=shared.free + have), go("signal all", (have, 0))
        covered = part(shared.shards[plan.signal][1], have)
        shared = shard(shared, plan.signal, credit=-have)
        if covered < have:
            return shared, go("signal back", covered)
        return shared, go("signal units", have)
    if at == "signal back":
        return shard(shared, plan.signal, credit=have - x), go("signal look", x)
    if at == "signal look":
        return shared, go("signal balance", (x, lot(shared, shared.units, have)))
    if at == "signal balance":
        covered, many = x
        if many:
            return shared._replace(free=shared.free + have - covered + many), go("signal lent", x)
        return shared._replace(free=shared.free + have - covered), go("signal all", (have - covered, covered))
    if at == "signal all":
        return shared._replace(units=shared.units + x[0]), go("signal units", x[1]) if x[1] else end()
    if at == "signal lent":
        return shared._replace(lent=shared.lent + have - x[0] + x[1]), go("signal credit", x[1])
    if at == "signal credit":
        return shard(shared, plan.signal, credit=x), go("signal units", have)
    assert at == "signal units"
    return shard(shared, plan.signal, units=x), end()


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


def explore_tries(n, lanes, initial):
    """Lane 0 signals n units and tries for n, as the others do. All are got that n goes into: else a try has failed although
    they were free from its beginning to its end."""
    first = (initial, initial), (("signal", 0),) + (("balance", 0),) * (lanes - 1)
    before, stack = {first}, [first]
    while stack:
        shared, lanes = stack.pop()
        if all(at == "done" for at, _ in lanes) and (shared != (0, 0) or sum(got for _, got in lanes) != initial + n):
            return len(before), f"{shared} is left, and {lanes} have got"
        for i, lane in enumerate(lanes):
            if lane[0] != "done":
                now, moved = step_of_try(shared, lane, n)
                new = now, lanes[:i] + (moved,) + lanes[i + 1 :]
                if new not in before:
                    before.add(new)
                    stack.append(new)
    return len(before), ""


def explore(initial, plans, batch, batches, shards):
    """The number of states; a sentence if one is wrong."""
    start = Shared(initial, 0, initial, 0, initial, 0, 0, ((0, 0),) * shards)
    first = start, tuple(Lane("ask", 0, 0, 0, 0, 0, plan.rounds - 1) for plan in plans)
    before, stack, ends = {first: []}, [first], []
    while stack:
        state = stack.pop()
        shared, lanes = state
        if all(lane.at == "done" for lane in lanes):
            ends.append(state)
        for i, lane in enumerate(lanes):
            if lane.at == "done":
                continue
            try:
                now, moved = step(shared, lanes, i, plans[i], batch, batches)
            except Wrong as wrong:
                return len(before), f"{wrong} in {state}"
            new = now, lanes[:i] + (moved,) + lanes[i + 1 :]
            if new not in before:
                before[new] = []
                stack.append(new)
            before[new].append(state)
    for shared, lanes in ends:
        kept = sum(lane.have for lane in lanes)
        lent = sum(units + credit for units, credit in shared.shards)
        there = shared.units + sum(units for units, _ in shared.shards)
        if (there, shared.free, shared.expected, shared.lent) != (shared.made - kept, shared.units + lent, 0, lent):
            return len(before), f"{kept} kept, and {shared}"
        if not any(plan.gives or plan.rounds > 1 for plan in plans):
            if kept != min(sum(plan.n for plan in plans), initial + batches * batch):
                return len(before), f"{kept} units got"
    reached, stack = set(ends), ends
    while stack:
        for state in before[stack.pop()]:
            if state not in reached:
                reached.add(state)
                stack.append(state)
    stuck = next((state for state in before if state not in reached), None)
    return len(before), f"no end from {stuck}" if stuck else ""


def plain():
    """Cases without shards."""
    for asks in ((1, 1), (2, 1), (2, 3), (1, 1, 1), (2, 1, 1)):
        for initial in range(3 if len(asks) == 2 else 2):
            for batch in (1, 2):
                for batches in range(3):
                    for gives in range(2):
                        plans = tuple(Plan(n, gives and i == 0, 1, 0, 0) for i, n in enumerate(asks))
                        yield initial, plans, batch, batches, 0


def sharded():
    """Cases in which lots go to shards: there are more units than one lane asks for."""
    for shards in (1, 2):
        for asks in ((1, 1), (2, 1)):
            for initial in range(2, 5):
                for rounds in ((1, 1), (2, 1), (2, 2)):
                    for batches in range(2):
                        plans = tuple(Plan(n, i == 0, rounds[i], i % shards, (i + 1) % shards) for i, n in enumerate(asks))
                        yield initial, plans, 1, batches, shards


def three():
    """Three lanes at shards: two minutes."""
    for shards in (1, 2):
        for initial in (3, 4):
            for rounds in (1, 2):
                last = shards - 1
                yield initial, (Plan(1, 1, 2, 0, last), Plan(1, 1, rounds, last, 0), Plan(1, 0, 1, 0, 0)), 1, 1, shards


def main():
    states, wrong = 0, 0
    for cases in (plain, sharded, three) if sys.argv[1:] == ["--long"] else (plain, sharded):
        for case in cases():
            found, sentence = explore(*case)
            states += found
            if sentence:
                wrong += 1
                print(f"{case}: {sentence}")
    for n, lanes, initial in ((1, 2, 0), (2, 3, 0), (1, 4, 0), (1, 3, 1), (2, 4, 2)):
        found, sentence = explore_tries(n, lanes, initial)
        states += found
        if sentence:
            wrong += 1
            print(f"{lanes} lanes try for {n}, {initial} at first: {sentence}")
    print(f"{states} states, {wrong} cases wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
