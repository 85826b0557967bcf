#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where our allocators stand beside those published before: prints docs/reproduction/standing.md.

    scripts/standing.py                  of the survey beside that page
    scripts/standing.py SURVEY.csv...    of other CSV files of `quarry bench`, as scripts/survey.sh makes them; of a cell measured twice with one
                                         page the later row counts
    scripts/standing.py --chart docs/standing.svg docs/reproduction/quarry-h100.csv.gz
                                         draws the README's picture instead: malloc by the default allocator

The peers are those of the file beside that page. Exits 1, with one sentence and neither page nor picture, if a file can't be read or no
cell has both. The picture needs matplotlib.
"""
import argparse
import csv
import gzip
import math
import os
import re
import sys
import textwrap

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "reproduction")
PEERS = os.path.join(FOLDER, "peers-h100.csv")
SURVEYS = [os.path.join(FOLDER, name) for name in ("rw-malloc-h200.csv.gz", "ouro-h100.csv.gz",
                                                     "others-h100.csv.gz", "quarry-h100.csv.gz")]
NUMBERS = ("threads", "bytes_least", "bytes", "heap_bytes", "median_us", "store_floor_us", "utilisation", "registers")
TEXTS = ("device", "driver", "allocator", "test", "op", "draw", "status", "fault")
PLAIN = {"free_percent": "100", "lanes": "32", "debug": "0", "alignment": "16", "distribution": "none", "oom": "null"}
OURS = ("backend", "commit", "command", "page", *PLAIN)  # columns that the peers lack
TOOLKIT = "CUDA malloc"
DEFAULT, CHART_THREADS = "quarry", 131072  # what the picture shows
INK, BLUE, RED, GREEN = "#333333", "#0072b2", "#d55e00", "#00845f"  # told apart by the colour-blind, too (Okabe and Ito)
NONE = "—"
WIDTH = 120  # of the page's lines


class Refused(Exception):
    """A sentence for the user."""


def number(text):
    """NaN if it is empty."""
    value = float(text or "nan")
    if text and not 0 <= value < math.inf:
        raise ValueError(f"'{text}' is no number it can have")
    return value


def read(path, columns):
    """The rows of a file, numbers as such: NaN where there is none."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8-sig") as file:
            lines = csv.DictReader(file, strict=True)
            for name in columns:
                if name not in (lines.fieldnames or ()):
                    raise Refused(f"{path}: there is no column '{name}'")
            rows = list(lines)
            for line, row in enumerate(rows, 2):
                if None in row or None in row.values():
                    raise Refused(f"{path}: row {line}: not as many values as columns")
                row.update({name: number(row[name]) for name in (*NUMBERS, "page") if name in columns})
    except OSError as error:
        raise Refused(f"{path}: can't be read: {error.strerror or error}") from None
    except (ValueError, EOFError, csv.Error) as error:
        raise Refused(f"{path}: {error}") from None
    if not rows:
        raise Refused(f"{path}: there are no results")
    return rows


def cell(row):
    """What tells a cell from others of its test and operation: it has this place in the tables, too."""
    known = (0 if math.isnan(row[name]) else row[name] for name in ("threads", "bytes", "bytes_least"))
    return (row["draw"] == "uniform", *known)


def cells(rows, *operations):
    """{(test, op, cell): {allocator: rows}} of some tests and operations, in order."""
    found = {}
    for row in rows:
        if (row["test"], row["op"]) in operations:
            found.setdefault((row["test"], row["op"], cell(row)), {}).setdefault(row["allocator"], []).append(row)
    return dict(sorted(found.items()))


def three(value):
    """A number with three digits, or one behind the point."""
    if value >= 100:
        value = round(value, 2 - math.floor(math.log10(value)))
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def sizes(row):
    least, most = int(row["bytes_least"]), int(row["bytes"])
    return f"{most}" if least == most else f"{least}-{most}"


def of_floor(row):
    return row["median_us"] / row["store_floor_us"]


def timed(row):
    return row["status"] == "ok" and row["median_us"] > 0 and row["store_floor_us"] > 0


def best(rows):
    return min((row for row in rows if timed(row)), key=lambda row: row["median_us"], default=None)


def fullest(rows):
    return max((row for row in rows if row["utilisation"] >= 0), key=lambda row: row["utilisation"], default=None)


def as_block(row):
    return row["page"] == math.ceil(row["bytes"] / 16) * 16


def usual_pages(rows):
    """{allocator: page}, what it has by default, as rows tell whose command names no page; not where a block is a page."""
    asked = [row for row in rows if " --page" not in row["command"]]
    return {row["allocator"]: row["page"] for row in asked if not as_block(row)}


def mark_usual(rows):
    """row["usual"]: whether its page is the default, which is the block rounded up to 16 bytes where a block is a page."""
    pages = usual_pages(rows)
    for row in rows:
        row["usual"] = row["page"] == pages[row["allocator"]] if row["allocator"] in pages else as_block(row)


def fixed_pages(rows):
    """How large the pages are of those with which a block is none; the toolkit has no pages."""
    pages = [(name, size) for name, size in usual_pages(rows).items() if name != "cuda"]
    words = [f"{size:.0f}{' bytes' if i == 0 else ''} with `{name}`" for i, (name, size) in enumerate(pages)]
    return ", but " + " and ".join(", ".join(words).rsplit(", ", 1)) if words else ""


def heaps(rows):
    """The sizes of their heaps; empty if none is known."""
    known = sorted({row["heap_bytes"] for row in rows if row["heap_bytes"] > 0})
    return " and ".join(f"{size / 2**30:g} GiB" if size >= 2**30 else f"{size / 2**20:g} MiB" for size in known)


def other_heaps(own, peers):
    """A paragraph if ours are not of the peers' heap."""
    ours, theirs = heaps(own), heaps(peers)
    return f"\nOurs is of heaps of {ours}, the peers' of {theirs}.\n" if ours and theirs and ours != theirs else ""


def table(head, rows):
    lines = ["| " + " | ".join(line) + " |" for line in [head, *rows]]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]) + "\n"


def shares(ratios):
    """How many of them are ahead, and their geometric mean."""
    if not ratios:
        return NONE
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}, {mean:.2f}"


class Standing:
    """The tables of one page."""

    def __init__(self, peers, survey):
        self.peers = peers
        # As the peers were measured: on an empty heap without policies and options, by all lanes, one size or a uniform range.
        self.rows = [row for row in survey if row["draw"] != "octaves" and all(row[name] == value for name, value in PLAIN.items())
                     and " --set" not in row["command"]]
        self.names = list(dict.fromkeys(row["allocator"] for row in survey))

    def columns(self, *operations):
        """Of a table of such rows, by those who have some: an allocator has a second one if it was measured with other pages than its default."""
        pages = {}
        for row in self.rows:
            if (row["test"], row["op"]) in operations:
                pages.setdefault(row["allocator"], set()).add(row["usual"])
        return [(name, any_page) for name in self.names if name in pages for any_page in (False, True) if not any_page or False in pages[name]]

    @staticmethod
    def titles(columns):
        return [f"`{name}`" + (", best page" if any_page else "") for name, any_page in columns]

    @staticmethod
    def ours(columns, rows, pick):
        """{column: row}; of the pages of an allocator `pick` takes a row."""
        pages = {}
        for row in rows:
            pages.setdefault(row["allocator"], {})[row["page"]] = row
        found = {(name, any_page): pick(row for row in pages.get(name, {}).values() if any_page or row["usual"])
                 for name, any_page in columns}
        return {column: row for column, row in found.items() if row}

    def times(self, *operations):
        """Ratios to the floor, and to the best peer; then the cells that are missing, and those where we are behind."""
        lines, missing, behind, used = [], [], [], []
        columns = self.columns(*operations)
        ratios = {column: [] for column in ["best", *columns]}
        for (test, op, of), peers in cells(self.peers, *operations).items():
            rows = [row for some in peers.values() for row in some]
            peer = best(rows)
            own = self.ours(columns, (row for row in self.rows if (row["test"], row["op"], cell(row)) == (test, op, of)), best)
            used += own.values()
            what = f"{rows[0]['threads']:.0f} x {sizes(rows[0])}"
            toolkit = [f"{three(of_floor(row))}x" if timed(row) else row["fault"] for row in peers.get(TOOLKIT, [])]
            line = [what, f"{peer['allocator']} {peer['median_us']:g} us", f"{three(of_floor(peer))}x", *(toolkit or [NONE])]
            for column in columns:
                if column not in own:
                    line.append(NONE)
                    continue
                ratio = own[column]["median_us"] / peer["median_us"]
                ratios[column].append(ratio)
                text = f"{three(of_floor(own[column]))}x · {ratio:.2f}"
                line.append((f"**{text}**" if ratio < 1 else text) + (f" · {own[column]['page']:.0f} B" if column[1] else ""))
            first = best(own.values())
            if first:
                ratio = first["median_us"] / peer["median_us"]
                ratios["best"].append(ratio)
                line.append(f"{ratio:.2f}")
                if ratio > 1:
                    page_of = "" if first["usual"] else f" with pages of {first['page']:.0f} bytes"
                    behind.append(f"- {what}: `{first['allocator']}`{page_of} takes {three(first['median_us'])} us, {ratio:.2f} times "
                                  f"{peer['allocator']}'s {peer['median_us']:g}.\n")
            else:
                line.append(NONE)
                missing.append((what, f"quarry bench --backend cuda --test {test} --threads {rows[0]['threads']:.0f} "
                                      f"--size {sizes(rows[0])} --csv"))
            lines.append(line)
        lines.append(["ahead in, mean", "", "", "", *(shares(ratios[column]) for column in [*columns, "best"])])
        text = table(["threads x bytes", "best peer", "of the floor", TOOLKIT, *self.titles(columns), "best of ours / best peer"], lines)
        text += other_heaps(used, (row for row in self.peers if (row["test"], row["op"]) in operations))
        if missing:
            text += "\nThe survey has no row for " + ", ".join(what for what, _ in missing) + ". They are measured by\n\n```sh\n"
            text += "".join(command + "\n" for _, command in missing) + "```\n"
        won = sum(ratio < 1 for ratio in ratios["best"])
        text += f"\nThe best of ours is ahead of every peer in {won} of {len(ratios['best'])} cells"
        return text + (" and behind in these:\n\n" + "".join(behind) if behind else ".\n")

    def changing(self):
        """A section with the times of malloc and free by threads that draw other sizes each time; empty if nobody was asked."""
        operations = [("changing", op) for op in ("malloc", "free")]
        columns = [(name, any_page) for name, any_page in self.columns(*operations) if not any_page]
        own = {}  # {cell: {column: {op: row}}}
        for (_, op, of), rows in cells(self.rows, *operations).items():
            for column, row in self.ours(columns, (row for some in rows.values() for row in some), best).items():
                own.setdefault(of, {}).setdefault(column, {})[op] = row
        lines = []
        for of, found in sorted(own.items()):
            some = next(iter(next(iter(found.values())).values()))
            lines.append([f"{some['threads']:.0f} x {sizes(some)}",
                          *(", ".join(three(found[column][op]["median_us"]) if op in found[column] else NONE for _, op in operations)
                            if column in found else NONE for column in columns)])
        if not lines:
            return ""
        return f"""
## Sizes that change

Each thread draws another size each time. After 64 rounds, malloc and free, us. The peers have no such numbers.

{table(["threads x bytes", *self.titles(columns)], lines)}"""

    def single_peers(self):
        """Of the numbers of threads that one peer has five sizes of."""
        found = cells(self.peers, ("alloc", "malloc"))
        columns = [key for key in found if key[2][1] in (131072, 1048576) and key[2][2] in (16, 64, 256, 1024, 4096)]
        names = dict.fromkeys(name for key in columns for name in found[key])
        lines = [[name, *(", ".join(f"{three(of_floor(row))}x" if timed(row) else row["fault"]
                                    for row in found[key].get(name, [])) or NONE for key in columns)] for name in names]
        return table(["", *(f"{key[2][1]:.0f} x {key[2][2]:.0f}" for key in columns)], lines)

    def utilisation(self):
        found = cells(self.peers, ("fill", "fill"))
        names = dict.fromkeys(name for peers in found.values() for name in peers)
        columns = self.columns(("fill", "fill"))
        own = {of: self.ours(columns, (row for row in self.rows if row["test"] == "fill" and cell(row)[2:] == of[2:]), fullest)
               for _, _, of in found}
        lines = [[name + (" (then it crashes)" if any(row["status"] == "crashed" for peers in found.values()
                                                      for row in peers.get(name, [])) else ""),
                  *(", ".join(f"{row['utilisation']:.2f}" if row["utilisation"] >= 0 else row["fault"]
                              for row in peers.get(name, [])) or NONE for peers in found.values())] for name in names]
        for column, title in zip(columns, self.titles(columns)):
            line = [some.get(column) for some in own.values()]
            lines.append([title, *(f"{math.floor(1e4 * row['utilisation']) / 1e4:.4f}" + (f" · {row['page']:.0f} B" if column[1] else "")
                                   if row else NONE for row in line)])
        text = table(["", *(f"{of[2]:.0f} B" for _, _, of in found)], lines)
        theirs = [row for peers in found.values() for some in peers.values() for row in some]
        text += other_heaps((row for some in own.values() for row in some.values()), theirs)
        again = [f"{of[2]:.0f}" for of, some in own.items() if not some or any(heaps([row]) != heaps(theirs) for row in some.values())]
        if again:
            text += f"\nWhat is missing of heaps of {heaps(theirs)} is measured by\n\n```sh\nquarry bench --backend cuda --test fill --size "
            text += f"{','.join(again)} --heap {theirs[0]['heap_bytes'] / 2**30:g}G --csv\n```\n"
        return text

    def once(self, test, op, column, text):
        """Peers and ours by a quantity, the least first."""
        own = list({row["allocator"]: row for row in self.rows if (row["test"], row["op"]) == (test, op) and row["usual"]}.values())
        peers = [row for row in self.peers if (row["test"], row["op"]) == (test, op)]
        rows = sorted((row for row in peers + own if row[column] >= 0), key=lambda row: row[column])
        return table(["", *(f"`{row['allocator']}`" if row["allocator"] in self.names else row["allocator"] for row in rows)],
                     [[test if test == "registers" else "ms", *(text(row[column]) for row in rows)]]) + other_heaps(own, peers)


def sources(survey):
    """What was run where; not into which file it was written."""
    commands = {}
    for row in survey:
        run = re.sub(r" --(csv|json)(=\S*)?", "", row["command"])
        commands.setdefault(f"{row['device']}, driver {row['driver']}, commit `{row['commit']}`", {})[f"`{run}`"] = None
    return ";\n  ".join(f"{next(iter(some))}{more(some)}, {where}" for where, some in commands.items())


def by_device(survey):
    """Which allocators were measured on which, if there are several."""
    found = {}
    for row in survey:
        found.setdefault(row["device"], {})[f"`{row['allocator']}`"] = None
    words = [f"{', '.join(names)} on the {device}" for device, names in found.items()]
    return "\n  Measured were " + "; ".join(words) + "." if len(words) > 1 else ""


def more(commands):
    return f" and {len(commands) - 1} more, which the rows name" if len(commands) > 1 else ""


def link(path):
    """To a file beside the page; of another its name."""
    name = os.path.basename(path)
    return f"[{name}]({name})" if os.path.realpath(path) == os.path.realpath(os.path.join(FOLDER, name)) else name


def narrow(text):
    """Breaks lines of prose that are too long; tables and commands stay as they are."""
    lines, command = [], False
    for line in text.split("\n"):
        command ^= line.startswith("```")
        indent = "  " if line.startswith(("- ", "  ")) else ""
        whole = command or line.startswith("|") or len(line) <= WIDTH
        lines += [line] if whole else textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def page(peers, survey, files):
    standing = Standing(peers, survey)
    devices = {row["device"] for row in survey}
    theirs = peers[0]["device"]
    kind = "the same kind" if devices == {theirs} else "several kinds" if theirs in devices else "another kind"
    paged = """
  In the columns *best page* the page is that with the least time of those measured in the cell, for malloc and for free
  by themselves. In the table of utilisation it is that with the most. A program picks the page for each heap. Of a cell
  measured twice with one page the later time counts.""" if any(not row["usual"] for row in standing.rows) else ""
    made = heaps(row for row in peers if row["test"] == "init")
    floors = [row["store_floor_us"] for row in survey if row["store_floor_us"] > 0]
    return narrow(f"""<!-- Printed by scripts/standing.py, with which a test compares it. -->
# Where each allocator stands

This page tells, cell by cell, how our allocators compare with device allocators published before, here called peers.
Times are ratios to the store floor: the time in which as many threads store one pointer each on the same machine.

- **Ours**: {sources(survey)};
  {files}.
  Pages are as large as blocks{fixed_pages(survey)}. \
In mixed cells `rw`, `rw-bm`,
  `crw`, `corw` and `ring` give every request a page of the largest size.{by_device(survey)}
  [How it is measured](../reference/benchmarks.md#method).{paged}
- **Peers**: one {peers[0]['device']}, driver {peers[0]['driver']}; {link(PEERS)}.
  They are the toolkit's malloc, Gallatin (PPoPP'24), six variants of Ouroboros, ScatterAlloc (mallocMC 2.4), Halloc,
  RegEff and XMalloc. Each was changed only so far as it had to be to compile there and to be correct. Every thread
  allocates one block and stores its pointer, a second kernel frees. Heap of 8 GiB; kernels timed by device events, the
  launch hidden behind a kernel that spins for 15 us; 3 warm-ups, then the median of 15 runs. The best peer of a cell is
  the fastest that passed verification in it. None passes everything: each fails, crashes or hangs in some cell.

The peers' floor is known to one or two digits: 3 us up to 131072 threads and 5.5 at 1048576.
Ours is each row's own, {min(floors):.1f} to {max(floors):.1f} us, on {kind} of device.
So allocators are compared by their times, not by ratios to floors. For scale: one counter that each warp bumps once,
without a free, takes 6.6 us on the peers' device with 131072 threads and 28 with 1048576. {NONE} stands for no number.

## malloc on an empty heap

In a cell: ratio to the store floor · time over the best peer's, bold where ours is faster. In the last row: in how many
cells that is so, and the geometric mean of the times over the best peer's. At 1048576 x 64 and x 1024 the best peer is
that of only three: ScatterAlloc, Gallatin and Ouroboros P-S.

{standing.times(("alloc", "malloc"), ("mixed", "malloc"))}
What limits [the random walks](../reference/benchmarks.md#what-limits-what), and
[`rw-malloc`](../reference/alloc/runs.md#what-limits-it), which is also compared
[with the best page size of each cell](../reference/alloc/runs.md#against-the-best-published-allocators).

### The peers one by one

Ratios to the store floor. ScatterAlloc has two numbers for 131072 x 64, which differ; the smaller is the best peer above.

{standing.single_peers()}
## free

As for malloc.

{standing.times(("free", "free"))}{standing.changing()}
## Utilisation

Bytes asked for at the first NULL over bytes of the heap.

{standing.utilisation()}
## Making a heap

Of {made}; ours by the host's clock. Of Ouroboros the fastest variant and the slowest.
The toolkit's malloc does it later, and has no such time.

{standing.once("init", "create", "median_us", lambda value: f"{value / 1000:.3g}")}
## Registers

Of a thread of a kernel that only allocates.

{standing.once("registers", "malloc", "registers", lambda value: f"{value:.0f}")}""")


def told(rows):
    """The devices and commits of rows, in words."""
    found = {}
    for row in rows:
        found.setdefault(row["device"], {})[row.get("commit", "")] = None
    return " and ".join(device + "".join(f", commit {commit}" for commit in commits if commit) for device, commits in found.items())


class Chart:
    """The picture: malloc over the size of the blocks, each line one of the ways to get them."""

    def __init__(self, peers, survey):
        standing = Standing(peers, survey)
        self.default, self.paged, self.peers, self.toolkit, self.hangs = {}, {}, {}, {}, []
        for (test, op, of), theirs in cells(peers, ("alloc", "malloc")).items():
            if of[1] != CHART_THREADS:
                continue
            size = of[2]
            own = [row for row in standing.rows if (row["test"], row["op"], cell(row), row["allocator"]) == (test, op, of, DEFAULT)]
            last = {row["page"]: row for row in own if timed(row)}
            usuals = [row for row in last.values() if row["usual"]]
            if not usuals:
                continue
            self.default[size] = usuals[-1]
            if len(last) > 1:
                self.paged[size] = best(last.values())
            self.peers[size] = best(row for some in theirs.values() for row in some)
            for row in theirs.get(TOOLKIT, []):
                if timed(row):
                    self.toolkit[size] = row
                else:
                    self.hangs.append(size)
        if len(self.default) < 2 or not self.toolkit:
            raise Refused(f"too few cells of {DEFAULT} with {CHART_THREADS} threads have times of peers, or none of {TOOLKIT}")

    @staticmethod
    def line(axis, rows, color, marker, **style):
        axis.plot(list(rows), [row["median_us"] for row in rows.values()], color=color, marker=marker, **style)

    @staticmethod
    def label(axis, ends):
        """Names lines at their right ends, (x, y, text, colour) each, from the lowest on; who would lie on another moves up."""
        free = -math.inf
        for x, y, text, color in sorted(ends, key=lambda end: end[1]):
            place = axis.transData.transform((x, y))[1] * 72 / axis.figure.dpi
            free = max(place, free)
            axis.annotate(text, (x, y), (10, free - place), textcoords="offset points", color=color, va="center")
            free += 29  # two lines of text

    def draw(self, path):
        try:
            import matplotlib  # pylint: disable=import-outside-toplevel
        except ImportError:
            raise Refused("the picture is drawn by matplotlib, which this Python lacks: install python3-matplotlib") from None
        matplotlib.use("agg")
        from matplotlib import pyplot, ticker  # pylint: disable=import-outside-toplevel

        pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "quarry", "font.size": 10.5, "font.family": "sans-serif",
                                "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
                                "lines.linewidth": 2, "lines.markersize": 6})
        figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(8.3, 5.4), height_ratios=(1, 2.2))
        figure.subplots_adjust(left=.105, right=.765, top=.87, bottom=.175, hspace=.08)
        figure.text(.012, .965, f"malloc by {CHART_THREADS:,} threads at once, microseconds (less is better)", fontsize=13, va="center")
        own = [*self.default.values(), *self.paged.values()]
        theirs = [*self.peers.values(), *self.toolkit.values()]
        figure.text(.012, .915, f"each thread allocates one block in an empty heap of {heaps(own)}", va="center")
        figure.text(.012, .048, f"{DEFAULT}: {told(own)}\nthe others: {told(theirs)}", fontsize=8.5, va="center")

        self.line(above, self.toolkit, RED, "D")
        first, last = (list(self.toolkit.items())[i] for i in (0, -1))
        above.annotate("the CUDA toolkit's\ndevice malloc", (first[0], first[1]["median_us"]), (-6, 10), textcoords="offset points", color=RED)
        if self.hangs:
            above.annotate("hangs at " + " and ".join(f"{size:.0f}" for size in self.hangs), (last[0], last[1]["median_us"]), (12, 0),
                           textcoords="offset points", color=RED, va="center")
        self.line(below, self.peers, GREEN, "s")
        before = None
        for size, row in self.peers.items():
            if row["allocator"] != before:
                below.annotate(row["allocator"], (size, row["median_us"]), (-6, 9), textcoords="offset points", color=GREEN, fontsize=9)
            before = row["allocator"]
        self.line(below, self.default, BLUE, "o", linewidth=3)
        self.line(below, self.paged, BLUE, "^", linestyle="--")
        floor = {size: row["store_floor_us"] for size, row in self.default.items()}
        below.plot(list(floor), list(floor.values()), color=INK, linestyle=":")

        sizes_drawn = list(self.default)
        below.set_xscale("log", base=2)
        below.set_xlim(sizes_drawn[0] / 1.5, sizes_drawn[-1] * 1.35)
        below.xaxis.set_major_locator(ticker.FixedLocator(sizes_drawn))
        below.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        below.set_xlabel("bytes of a block")
        drawn = [row["median_us"] for row in (*own, *self.peers.values())]
        slow = [row["median_us"] for row in self.toolkit.values()]
        for axis, least, most in ((above, min(slow) / 4, max(slow) * 5),
                                  (below, min(floor.values()) / 1.25, max(drawn) * 1.4)):
            axis.set_yscale("log")
            axis.set_ylim(least, most)
            axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.yaxis.set_minor_locator(ticker.NullLocator())
            axis.grid(axis="y", alpha=.25)
            axis.spines[["top", "right"]].set_visible(False)
        ends = [(size, value, text, color) for text, color, values in (
            ("the fastest published\nbefore, by name", GREEN, {size: row["median_us"] for size, row in self.peers.items()}),
            (f"{DEFAULT},\nour default" + (", with its usual page" if self.paged else ""), BLUE,
             {size: row["median_us"] for size, row in self.default.items()}),
            (f"{DEFAULT}, best page\nfor that size", BLUE, {size: row["median_us"] for size, row in self.paged.items()}),
            ("floor: storing a pointer", INK, floor)) for size, value in list(values.items())[-1:]]
        self.label(below, ends)
        above.yaxis.set_major_locator(ticker.LogLocator(base=100))
        below.yaxis.set_major_locator(ticker.FixedLocator([3, 5, 10, 20, 50, 100, 200, 500]))
        above.spines["bottom"].set_visible(False)
        above.tick_params(axis="x", length=0)
        for axis, end in ((above, 0), (below, 1)):  # the axis is cut here
            axis.plot([0], [end], transform=axis.transAxes, marker=[(-1, -.6), (1, .6)], markersize=9, color=INK, linewidth=0, clip_on=False)
        try:
            figure.savefig(path, facecolor="white", metadata={"Date": None} if path.endswith(".svg") else None)
        except OSError as error:
            raise Refused(f"{path}: can't be written: {error.strerror or error}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("survey", nargs="*", metavar="SURVEY.csv", help="of `quarry bench` on a GPU; .gz is unpacked")
    parser.add_argument("--chart", metavar="OUT.svg", help="draws the picture into this file")
    options = parser.parse_args()
    paths = options.survey or SURVEYS
    try:
        peers = read(PEERS, NUMBERS + TEXTS)
        survey = []
        for path in paths:
            survey += read(path, NUMBERS + TEXTS + OURS)
            if any(row["backend"] != "cuda" for row in survey):
                raise Refused(f"{path}: not all of it was measured on a GPU")
        mark_usual(survey)
        if not any(row["store_floor_us"] > 0 for row in survey):
            raise Refused(f"{path}: no row has a store floor")
        if options.chart:
            Chart(peers, survey).draw(options.chart)
            return
    except Refused as refused:
        sys.exit(f"standing.py: {refused}")
    print(page(peers, survey, ", ".join(map(link, paths))), end="")


main()
