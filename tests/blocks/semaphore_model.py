#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All schedules of the bulk semaphore's small cases, as a model of core/semaphore.h: one step for each atomic.

Lanes ask, make batches of which only so many succeed, and give back what they got, or keep it. Every state that can be
reached must lead to one in which all lanes are done; there no unit is lost or made, and, if nothing was given back, as
much was got as there was. Each step has the name of the atomic in the header that it stands for.
"""
import sys


def part(x, n):
    return max(0, min(x, n))


def step(shared, lane, n, batch, batches, gives):
    """What the lane's next atomic makes of both. A lane: where it is, what it is owed, promised units that are not made, a
    number that the place needs, and units refused."""
    free, expected, units, made = shared
    at, owed, promised, x, refused = lane

    def after_batch(owed, promised, refused):
        return ("make" if promised else "look" if owed else "hold", owed, promised, 0, refused)

    if at in ("ask", "collect"):
        got = part(units, owed)
        missing = owed - got
        if missing:
            return (free, expected, units - owed, made), ("put back " + at, missing, promised, missing, refused)
        return (free, expected, units - owed, made), ("reserve" if at == "ask" else "hold", 0, promised, 0, refused)
    if at.startswith("put back"):
        return (free, expected, units + x, made), ("reserve" if at == "put back ask" else "balance", owed, promised, 0, refused)
    if at == "reserve":
        return (free - n, expected, units, made), ("look" if owed else "hold", owed, 0, 0, refused)
    if at == "look":
        return shared, ("collect" if units > 0 else "balance", owed, 0, 0, refused)
    if at == "balance":  # two loads: whether batches fail, and the balance
        unit = 1 if made[1] else batch
        wanted = -(-part(-(free + expected), owed) // unit) * unit
        return shared, ("promise" if wanted else "look", owed, 0, (wanted, unit), refused)
    if at == "promise":
        wanted, unit = x
        needed = min(-(-part(-(free + expected), owed) // unit) * unit, wanted)
        shared = free, expected + wanted, units, made
        return shared, ("withdraw", owed, needed, wanted - needed, refused) if needed < wanted else ("make", owed, needed, 0, refused)
    if at == "withdraw":
        return (free, expected - x, units, made), ("make" if promised else "look", owed, promised, 0, refused)
    if at == "make":
        there = made[0] < batches
        return (free, expected, units, (min(made[0] + 1, batches), made[1])), ("produced" if there else "failed", owed, promised, 0, refused)
    if at == "produced":
        own, kept = min(owed, batch), min(promised, batch)
        shared = free + batch, expected - kept, units, (made[0], 0)
        if batch > own:
            return shared, ("put", owed - own, promised - kept, batch - own, refused)
        return shared, after_batch(owed - own, promised - kept, refused)
    if at == "put":
        return (free, expected, units + x, made), after_batch(owed, promised, refused)
    if at == "failed":
        kept = min(promised, batch)
        given_up = part(-(free + expected - kept), owed)
        shared = free + owed, expected - kept, units, (made[0], 1)
        if owed > given_up:
            return shared, ("again", owed - given_up, promised - kept, 0, refused + given_up)
        return shared, after_batch(0, promised - kept, refused + given_up)
    if at == "again":
        return (free - owed, expected, units, made), after_batch(owed, promised, refused)
    if at == "hold":
        got = n - refused
        if not gives or not got:
            return shared, ("done", 0, 0, 0, refused)
        return (free + got, expected, units, made), ("pass on", 0, 0, got, refused)
    assert at == "pass on"
    return (free, expected, units + x, made), ("done", 0, 0, 0, refused)


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


def explore(initial, asks, batch, batches, gives):
    """The number of states; a sentence if one is wrong."""
    first = ((initial, 0, initial, (0, 0)), tuple(("ask", n, 0, 0, 0) for n in asks))
    before, stack, ends = {first: []}, [first], []
    while stack:
        state = stack.pop()
        shared, lanes = state
        for i, lane in enumerate(lanes):
            if lane[0] == "done":
                continue
            now, moved = step(shared, lane, asks[i], batch, batches, gives[i])
            new = now, lanes[:i] + (moved,) + lanes[i + 1 :]
            if new not in before:
                before[new] = []
                stack.append(new)
            before[new].append(state)
        if all(lane[0] == "done" for lane in lanes):
            ends.append(state)
    for (free, expected, units, made), lanes in ends:
        there = initial + made[0] * batch
        kept = sum(n - lane[4] for n, lane, give in zip(asks, lanes, gives) if not give)
        got = sum(asks) - sum(lane[4] for lane in lanes)
        if (free, expected, units) != (there - kept, 0, there - kept):
            return len(before), f"{there} units, {kept} kept, {free} free, {expected} expected, {units} to be taken"
        if not any(gives) and got != min(sum(asks), initial + batches * batch):
            return len(before), f"{got} units got"
    reached, stack = set(ends), ends
    while stack:
        for state in before[stack.pop()]:
            if state not in reached:
                reached.add(state)
                stack.append(state)
    stuck = next((state for state in before if state not in reached), None)
    return len(before), f"no end from {stuck}" if stuck else ""


def main():
    states, wrong = 0, 0
    for asks in ((1, 1), (2, 1), (2, 3), (1, 1, 1), (2, 1, 1)):
        for initial in range(3 if len(asks) == 2 else 2):
            for batch in (1, 2):
                for batches in range(3):
                    for gives in (False,) * len(asks), (True,) + (False,) * (len(asks) - 1):
                        found, sentence = explore(initial, asks, batch, batches, gives)
                        states += found
                        if sentence:
                            wrong += 1
                            print(f"asks {asks}, {initial} at first, {batches} batches of {batch}, gives {gives}: {sentence}")
    for n, lanes, initial in ((1, 2, 0), (2, 3, 0), (1, 4, 0), (1, 3, 1), (2, 4, 2)):
        found, sentence = explore_tries(n, lanes, initial)
        states += found
        if sentence:
            wrong += 1
            print(f"{lanes} lanes try for {n}, {initial} at first: {sentence}")
    print(f"{states} states, {wrong} cases wrong")
    sys.exit(wrong != 0)


main()
