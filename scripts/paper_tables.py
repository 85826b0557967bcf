#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/reproduction/random-walks.md of the CSV files of `scripts/gpu.sh paper`, those of
scripts/figures.py among them.

    scripts/paper_tables.py FOLDER
"""
import csv
import os
import sys


def rows(folder, name):
    with open(os.path.join(folder, name), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def unique(items):
    return list(dict.fromkeys(items))


def number(text):
    value = float(text)
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def table(head, body):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in body:
        print("| " + " | ".join(line) + " |")
    print()


def threads_name(count):
    count = int(count)
    if count % 1000000 == 0:
        return f"{count // 1000000} M"
    return f"{count:,}".replace(",", " ")


def by_threads(data, cell, note="", model=False):
    """One table for each free share: a row for each allocator, a column for each number of threads."""
    for share in unique(r["free_percent"] for r in data):
        chosen = [r for r in data if r["free_percent"] == share]
        threads = unique(r["threads"] for r in chosen)
        print(f"{share} % free{note}\n")
        body = []
        for allocator in unique(r["allocator"] for r in chosen):
            cells = {r["threads"]: cell(r) for r in chosen if r["allocator"] == allocator}
            body.append([f"`{allocator}`"] + [cells.get(t, "-") for t in threads])
            if model and allocator in ("rw", "rw-bm"):
                cells = {r["threads"]: number(r["tas_predicted"] or "nan") for r in chosen if r["allocator"] == allocator}
                body.append([f"`{allocator}`: TAS predicted"] + [cells.get(t, "-") for t in threads])
        floors = {r["threads"]: r for r in chosen}
        body.append(["floor: store"] + [number(floors[t]["store_floor_us"]) for t in threads])
        body.append(["floor: bump"] + [number(floors[t]["bump_us"]) for t in threads])
        table([""] + [threads_name(t) for t in threads], body)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    data = rows(folder, "figure11.csv")
    print(data[0]["device"] + "\n\n## Figure 11\n")
    by_threads(data, lambda r: f"{number(r['median_us'])} / {number(r['tas'])} / {number(r['was'])}", model=True)
    print("## Figure 12\n")
    data = rows(folder, "figure12.csv")
    lanes = unique(r["lanes"] for r in data)
    body = []
    for share in unique(r["free_percent"] for r in data):
        for allocator in unique(r["allocator"] for r in data):
            cells = [r for r in data if r["free_percent"] == share and r["allocator"] == allocator]
            body.append([share + " %", f"`{allocator}`"] + [f"{number(r['median_us'])} / {number(r['was'])}" for r in cells])
    table(["free", ""] + lanes, body)
    print("## Figure 16\n")
    by_threads(rows(folder, "figure16.csv"), lambda r: f"{number(r['median_us'])} / {float(r['cycles']):.0f}")
    print("## Full\n")
    for name in "full-proven", "full-inferred":
        by_threads(rows(folder, name + ".csv"), lambda r: number(r["median_us"]), f", {name}")


main()
