# SPDX-License-Identifier: Apache-2.0
"""All schedules of small cases of a protocol: what the models in this folder have in common.

A state is what is shared, and a tuple of lanes. A lane's first field is the name of its next atomic; "done" is the end.
"""
import sys


class Wrong(Exception):
    """What a schedule has led to, in a few words."""


def changed(values, i, value):
    return values[:i] + (value,) + values[i + 1 :]


class Model:
    """A protocol in one case. A model has start(), the first state, and steps()."""

    def steps(self, shared, lane, i):
        """What the next atomic of lane i may make of both. Raises Wrong."""
        raise NotImplementedError

    def moves(self, shared, lanes, i):
        """The states behind that atomic."""
        for now, moved in self.steps(shared, lanes[i], i):
            yield now, changed(lanes, i, moved)

    def check(self, shared, lanes):
        """Raises Wrong if the state must not be."""

    def check_end(self, shared, lanes):
        """The same, where all lanes are done."""

    def explore(self):
        """The number of states; a sentence if one is wrong, or if none in which all lanes are done is ahead of it."""
        first = self.start()
        before, stack, ends, state = {first: []}, [first], [], first
        try:
            while stack:
                state = stack.pop()
                shared, lanes = state
                if all(lane[0] == "done" for lane in lanes):
                    self.check_end(shared, lanes)
                    ends.append(state)
                for i, lane in enumerate(lanes):
                    if lane[0] == "done":
                        continue
                    for new in self.moves(shared, lanes, i):
                        if new not in before:
                            self.check(*new)
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


def sound(models):
    """Goes through models without a bug: pairs of the case's name and the model. Ends the program; 1: one is wrong."""
    states, wrong = 0, 0
    for case, model in models:
        found, sentence = model.explore()
        states += found
        if sentence:
            wrong += 1
            print(f"{case}: {sentence}")
    print(f"{states} states, {wrong} cases wrong")
    sys.exit(wrong != 0)


def planted(bugs):
    """Looks for bugs: pairs of what is wrong, and models that have it. Ends the program; 1: one was not found."""
    missed = 0
    for what, models in bugs:
        states = 0
        for model in models:
            found, sentence = model.explore()
            states += found
            if sentence:
                print(f"{what}: found after {states} states: {sentence}", flush=True)
                break
        else:
            missed += 1
            print(f"MISSED: {what}", flush=True)
    sys.exit(missed != 0)
