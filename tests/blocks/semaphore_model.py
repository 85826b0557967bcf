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
    """What the lane's next atomic makes of both. A lane: where it is, what it is owed, promised batches that are not made, a
    number that the place needs, and units refused."""
    free, expected, grants, made = shared
    at, owed, promised, x, refused = lane

    def after_batch(owed, promised, refused):
        return ("make" if promised else "look" if owed else "hold", owed, promised, 0, refused)

    if at == "ask":
        owed = n - part(free, n)
        return (free - n, expected, grants, made), ("look" if owed else "hold", owed, 0, 0, 0)
    if at == "look":
        return shared, ("collect" if grants > 0 else "balance", owed, 0, 0, refused)
    if at == "collect":
        got = part(grants, owed)
        grants -= owed
        owed -= got
        return (free, expected, grants, made), ("put back" if owed else "hold", owed, 0, 0, refused)
    if at == "put back":
        return (free, expected, grants + owed, made), ("balance", owed, 0, 0, refused)
    if at == "balance":
        wanted = -(-part(-(free + expected), owed) // batch)
        return shared, ("promise" if wanted else "look", owed, 0, wanted, refused)
    if at == "promise":
        needed = min(-(-part(-(free + expected), owed) // batch), x)
        shared = free, expected + x * batch, grants, made
        return shared, ("withdraw", owed, needed, x - needed, refused) if needed < x else ("make", owed, needed, 0, refused)
    if at == "withdraw":
        return (free, expected - x * batch, grants, made), ("make" if promised else "look", owed, promised, 0, refused)
    if at == "make":
        return (free, expected, grants, min(made + 1, batches)), ("produced" if made < batches else "failed", owed, promised, None, refused)
    if at == "produced":
        granted = part(-free, batch)
        own = min(owed, granted)
        shared = free + batch, expected - batch, grants, made
        if granted > own:
            return shared, ("grant", owed - own, promised - 1, granted - own, refused)
        return shared, after_batch(owed - own, promised - 1, refused)
    if at == "grant":
        return (free, expected, grants + x, made), after_batch(owed, promised, refused)
    if at == "failed":  # a load at first, then the compare-exchange
        if x != (free, expected):
            return shared, ("failed", owed, promised, (free, expected), refused)
        given_up = part(-(free + expected - batch), owed)
        return (free + given_up, expected - batch, grants, made), after_batch(owed - given_up, promised - 1, refused + given_up)
    if at == "hold":
        got = n - refused
        if not gives or not got:
            return shared, ("done", 0, 0, 0, refused)
        granted = part(-free, got)
        return (free + got, expected, grants, made), ("pass on" if granted else "done", 0, 0, granted, refused)
    assert at == "pass on"
    return (free, expected, grants + x, made), ("done", 0, 0, 0, refused)


def explore(initial, asks, batch, batches, gives):
    """The number of states; a sentence if one is wrong."""
    first = ((initial, 0, 0, 0), tuple(("ask", 0, 0, 0, 0) for _ in asks))
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
    for (free, expected, grants, made), lanes in ends:
        there = initial + min(made, batches) * batch
        kept = sum(n - lane[4] for n, lane, give in zip(asks, lanes, gives) if not give)
        got = sum(asks) - sum(lane[4] for lane in lanes)
        if (free, expected, grants) != (there - kept, 0, 0):
            return len(before), f"{there} units, {kept} kept, {free} free, {expected} expected, {grants} granted"
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
    print(f"{states} states, {wrong} cases wrong")
    sys.exit(wrong != 0)


main()
