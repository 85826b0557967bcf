#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Populations, heap use and time of each step, drawn from what `particles` printed.

    plot.py OUT.svg CSV...    one CSV file for each run; populations are those of the first

Needs matplotlib.
"""
import argparse
import csv

SPECIES = {"atoms": "#3c82d6", "ions": "#e0564a", "electrons": "#d98c1f"}
RUNS = ("#3c82d6", "#e0564a", "#3d9a50", "#d98c1f", "#b07cc6")
INK = "#808080"  # readable on white and on black


def read(path):
    """The run's name and its columns."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers = [name for name in rows[0] if name not in ("allocator", "backend")]
    return f"{rows[0]['allocator']}, {rows[0]['backend']}", {n: [float(row[n]) for row in rows] for n in numbers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="the drawing: .svg, .png, .pdf")
    parser.add_argument("csv", nargs="+")
    options = parser.parse_args()

    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "quarry", "font.size": 8, "text.color": INK,
                            "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
                            "grid.color": INK, "axes.prop_cycle": matplotlib.cycler(color=RUNS)})
    runs = [read(path) for path in options.csv]
    drawing, (particles, heap, time) = pyplot.subplots(3, sharex=True, figsize=(6, 6), layout="constrained")
    _, first = runs[0]
    for name, color in SPECIES.items():
        dashes = "--" if name == "electrons" else "-"  # as many as ions
        particles.plot(first["step"], first[name], dashes, label=name, color=color, linewidth=1)
    for name, run in runs:
        heap.plot(run["step"], [used / 2**20 for used in run["used_bytes"]], label=name, linewidth=1)
        time.plot(run["step"][1:], run["microseconds"][1:], label=name, linewidth=1)
    particles.set_ylabel("particles")
    heap.set_ylabel("MiB in frames")
    time.set_ylabel("µs of the step")
    time.set_xlabel("step")
    for axis in (particles, heap, time):
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
        axis.legend(frameon=False)
    drawing.savefig(options.out, metadata={"Date": None} if options.out.endswith(".svg") else None, transparent=True)


main()
