#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `quarry report` runs: one HTML page of the CSV files of `quarry bench`, drawn by matplotlib.

The page has no scripts and loads nothing. Its drawings take their colours from the style sheet, which has one set for light
and one for dark. Exits 1, with one sentence and no file, if the page can't be made.
"""
import argparse
import csv
import html
import io
import itertools
import math
import os
import re
import signal
import statistics
import sys
import tempfile
import xml.etree.ElementTree as xml
from typing import Callable, NamedTuple


class Refused(Exception):
    """A sentence for the user."""


# ---- results -------------------------------------------------------------------------------------

TEXTS = ("device", "backend", "allocator", "op", "test", "draw", "driver", "compiler", "commit", "command", "fault", "options")
POSITIVE = ("threads", "bytes", "bytes_least", "lanes")
NUMBERS = ("free_percent", "rounds", "median_us", "q1_us", "q3_us", "n", "store_floor_us", "bump_us", "heap_bytes", "utilisation",
           "range_bytes", "asked_bytes", "registers", "local_bytes", "stable", "clock_mhz", "tas", "was")
# What tells one result of an allocator from another.
CASE = ("free_percent", "lanes", "draw", "bytes_least", "bytes", "rounds", "threads")
STATUSES = ("ok", "failed", "error", "hung", "crashed")
MISSING_ALLOWED = ("command", "options")  # columns that older files lack


def number(text, least):
    """NaN if it is empty."""
    if not text:
        return math.nan
    value = float(text)
    if not math.isfinite(value) or value < least:
        raise ValueError
    return value


def parse(names, values):
    """One line as a dictionary; Refused with the clause."""
    if len(values) != len(names):
        raise Refused(f"{len(values)} values, but {len(names)} columns")
    given = dict(zip(names, values))
    row = {name: given.get(name, "") for name in TEXTS}
    for name in NUMBERS + POSITIVE:
        try:
            row[name] = number(given[name], 1 if name in POSITIVE else 0)
        except ValueError:
            raise Refused(f"{name}: '{given[name][:40]}' is no number it can have") from None
        if name in POSITIVE and math.isnan(row[name]):
            raise Refused(f"{name} is empty")
    row["status"] = given["status"]
    if row["status"] not in STATUSES:
        raise Refused(f"status: '{row['status'][:40]}' is none of {', '.join(STATUSES)}")
    for name in ("device", "backend", "allocator", "op", "test"):
        if not row[name]:
            raise Refused(f"{name} is empty")
    return row


def read(path, rows, places):
    """Appends the results of a file; places: {what a result is of: where it is}."""
    lines = None
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(file, strict=True)
            names = next(lines, [])
            for name in TEXTS + NUMBERS + POSITIVE + ("status",):
                if name not in names and name not in MISSING_ALLOWED:
                    raise Refused(f"there is no column '{name}'")
            for values in lines:
                row = parse(names, values)
                if rows and (row["device"], row["backend"]) != (rows[0]["device"], rows[0]["backend"]):
                    raise Refused(f"measured on {row['device']} ({row['backend']}), but results before on {rows[0]['device']} "
                                  f"({rows[0]['backend']}): a report is of one device")
                what = (row["test"], row["op"], row["allocator"], *case(row))
                if what in places:
                    raise Refused(f"the result of {places[what]} again")
                places[what] = f"{path}, line {lines.line_num}"
                rows.append(row)
    except OSError as error:
        raise Refused(f"{path}: can't be read: {error.strerror}") from None
    except (Refused, csv.Error, UnicodeDecodeError) as error:
        what = "no UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise Refused(f"{path}: line {max(lines.line_num, 1)}: {what}") from None


# ---- words ---------------------------------------------------------------------------------------


def count(value):
    """1048576 is 1M, as on the command line."""
    for unit, power in (("M", 20), ("K", 10)):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{int(value) >> power}{unit}"
    return f"{int(value):,}".replace(",", "\u202f")


def size(value):
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{int(value) >> power} {unit}"
    return f"{int(value)} B"


def sizes(row):
    if row["draw"] == "one":
        return size(row["bytes"])
    text = f"{size(row['bytes_least'])} to {size(row['bytes'])}"
    return text + ", mostly small" if row["draw"] == "octaves" else text


def digits(value):
    """Three significant ones."""
    if value == 0 or value >= 100:
        return f"{value:.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def duration(us):
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if us >= scale:
            return f"{digits(us / scale)} {unit}"
    return f"{digits(us)} µs"


def parts(row):
    """What a result is of, in words, without the allocator."""
    share = row["free_percent"]
    return {
        "size": sizes(row),
        "threads": f"{count(row['threads'])} thread{'s' if row['threads'] > 1 else ''}",
        "free": "empty heap" if share == 100 else "full heap" if share == 0 else f"{share:g} % free",
        "lanes": f"{row['lanes']:.0f} of 32 lanes",
        "rounds": f"after {row['rounds']:.0f} rounds",
    }


class Metric(NamedTuple):
    """A quantity that results have."""
    title: str  # of its drawings
    unit: str  # at the axis
    value: Callable  # of a result; NaN: it has none
    text: Callable  # of a value
    more_is_better: bool = False
    log: bool = True
    spread: Callable = None  # of a result: its quartiles
    floors: bool = False


def quotient(row, numerator, denominator):
    return row[numerator] / row[denominator] if row[denominator] else math.nan


def gigabytes(row, time):
    """10^9 bytes a second."""
    return quotient(row, "asked_bytes", time) / 1e3


METRICS = {  # by what tests say they measure
    "time": Metric("Time of a kernel", "µs", lambda row: row["median_us"], duration, spread=lambda row: (row["q1_us"], row["q3_us"]),
                   floors=True),
    "bandwidth": Metric("Bandwidth of writes", "GB/s", lambda row: gigabytes(row, "median_us"), lambda value: f"{digits(value)} GB/s",
                        more_is_better=True, spread=lambda row: (gigabytes(row, "q3_us"), gigabytes(row, "q1_us"))),
    "utilisation": Metric("Bytes asked for at the first NULL, of those of the heap", "%", lambda row: 100 * row["utilisation"],
                          lambda value: f"{value:.1f} %", more_is_better=True, log=False),
    "range": Metric("Address range over the bytes of live blocks", "×", lambda row: quotient(row, "range_bytes", "asked_bytes"),
                    lambda value: f"{digits(value)}×"),
    "registers": Metric("Registers of a thread", "registers", lambda row: row["registers"], lambda value: f"{value:.0f}", log=False),
}
STEPS = (
    Metric("TAS: random probes of a thread", "probes", lambda row: row["tas"], digits),
    Metric("WAS: the most of a warp's threads", "probes", lambda row: row["was"], digits),
)


def name_of(row):
    return row["test"] + (f", {row['op']}" if row["op"] != row["test"] else "")


def has(row, metric):
    value = metric.value(row)
    return row["status"] == "ok" and math.isfinite(value) and (value > 0 or not metric.log)


def case(row, without=()):
    return tuple(row[name] for name in CASE if name not in without)


class Group:
    """The results of one operation of a test."""

    def __init__(self, rows, metric):
        self.rows = rows
        self.test, self.op = rows[0]["test"], rows[0]["op"]
        self.name = name_of(rows[0])
        self.key = f"{self.test}-{self.op}".replace("+", "-")
        self.metric = metric
        words = [parts(row) for row in rows]
        self.varied = [name for name in words[0] if len({word[name] for word in words}) > 1]
        shown = ["size", "threads"] + (["free"] if rows[0]["free_percent"] < 100 else []) + (["lanes"] if rows[0]["lanes"] < 32 else [])
        self.common = [words[0][name] for name in shown if name not in self.varied]
        self.cells = {}  # {case: {allocator: row}}, in the order of the file
        for row in rows:
            self.cells.setdefault(case(row), {})[row["allocator"]] = row

    def label(self, row, without=""):
        """What tells a case of the group from the others."""
        words = parts(row)
        return ", ".join(words[name] for name in self.varied if name != without)

    def ratios(self, cell):
        """{allocator: ratio to the best, from 1 on} of a case."""
        values = {name: self.metric.value(row) for name, row in cell.items() if has(row, self.metric)}
        values = {name: value for name, value in values.items() if value > 0}
        if not values:
            return {}
        if self.metric.more_is_better:
            best = max(values.values())
            return {name: best / value for name, value in values.items()}
        best = min(values.values())
        return {name: value / best for name, value in values.items()}


def groups_of(rows, measures):
    """In the order of the file, the operations of a test together; measures: {test: key of METRICS}."""
    tests = {}
    for row in rows:
        tests.setdefault(row["test"], {}).setdefault(row["op"], []).append(row)
    return [Group(rows, METRICS[measures.get(test, "time")]) for test, operations in tests.items() for rows in operations.values()]


# ---- drawings ------------------------------------------------------------------------------------

# Drawn in these, which become the style sheet's --c01 and so on.
INK, MUTED, GRID = "#000001", "#000002", "#000003"
COLORS = 8  # of the style sheet
MARKS = "osD^vPXp"
DASHES = ("-", (0, (7, 1.5)), (0, (5, 1, 1, 1)), (0, (2, 1)))
MOST_PANELS = 6  # of one operation over one axis: the page stays small, and the table has all
WIDTH, HEIGHT = 4.5, 3.0  # inches of a panel, which is higher where many lines have names
ABOVE, BELOW = 0.3, 0.51  # inches of them that are no axes
LABEL_GAP = 0.165  # inches between names at lines


class Style(NamedTuple):
    color: str
    mark: str
    dash: object  # of a line, as matplotlib has it


def style(slot):
    """No two of 64 slots have the same colour and the same mark: each time the colours are through, the marks move on by one. The lines
    of each time have other dashes."""
    turn, color = divmod(slot, COLORS)
    return Style(f"#0000{16 + color:02x}", MARKS[(color + turn) % len(MARKS)], DASHES[turn % len(DASHES)])


def styles_of(rows, known):
    """{allocator: Style}. Those of this library look the same in every report of it, whichever are there; others come behind them."""
    found = list(dict.fromkeys(row["allocator"] for row in rows))
    names = known + [name for name in found if name not in known]
    return {name: style(slot) for slot, name in enumerate(names) if name in found}


class Axis(NamedTuple):
    """What a drawing has from left to right."""
    title: str
    value: Callable  # of a result
    words: str  # its part in parts()
    columns: tuple  # of CASE that it stands for


AXES = (
    Axis("threads", lambda row: row["threads"], "threads", ("threads",)),
    Axis("size of a block", sizes, "size", ("draw", "bytes_least", "bytes")),
    Axis("rounds", lambda row: row["rounds"], "rounds", ("rounds",)),
)


class Panel(NamedTuple):
    """One drawing."""
    axis: Axis  # None: allocators side by side
    rows: list
    label: str


def panels_of(group, metric):
    """{axis: panels}: a panel for each case of the other axes."""
    rows = [row for row in group.rows if has(row, metric)]
    found = {}
    for axis in AXES:
        panels = {}
        for row in rows:
            panels.setdefault(case(row, axis.columns), []).append(row)
        panels = [Panel(axis, of, group.label(of[0], axis.words)) for of in panels.values()
                  if len({axis.value(row) for row in of}) > 1]
        if panels:
            found[axis.title] = panels
    if not found and rows:
        panels = {}
        for row in rows:
            panels.setdefault(case(row), []).append(row)
        found["allocator"] = [Panel(None, of, group.label(of[0])) for of in panels.values()]
    return found


def thin(items, most):
    """At most so many, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def spread_out(wanted, gap):
    """Places of names from 0 to 1, in the same order, no two nearer than the gap: those that meet become a block around their mean."""
    blocks = []  # (indices, sum of the places that they want)
    for i in sorted(range(len(wanted)), key=wanted.__getitem__):
        blocks.append(([i], wanted[i]))
        while len(blocks) > 1:
            (low, low_sum), (high, high_sum) = blocks[-2:]
            if high_sum / len(high) - low_sum / len(low) >= gap * (len(low) + len(high)) / 2:
                break
            blocks[-2:] = [(low + high, low_sum + high_sum)]
    places = [0.0] * len(wanted)
    below = 0
    for of, total in blocks:
        for k, i in enumerate(of):
            place = total / len(of) + gap * (k - (len(of) - 1) / 2)
            places[i] = max(gap * below, min(place, 1 - gap * (len(wanted) - 1 - below)))
            below += 1
    return places


class Artist:
    """Draws panels with matplotlib."""

    def __init__(self, pyplot, styles):
        self.pyplot = pyplot
        self.styles = styles
        self.titles = {}  # of the drawing that is made: {id of a line: texts of its points}

    def number_axis(self, axes, metric, which):
        from matplotlib import ticker  # pylint: disable=import-outside-toplevel

        axis = axes.yaxis if which == "y" else axes.xaxis
        if metric.log:
            low, high = axes.get_ylim() if which == "y" else axes.get_xlim()
            subs = (1,) if high / low > 2000 else (1, 3) if high / low > 60 else (1, 2, 5)
            axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=5 if which == "x" else None))
        else:
            axis.set_major_locator(ticker.MaxNLocator(6))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", "\u202f")))
        axis.set_minor_locator(ticker.NullLocator())

    def scale(self, axes, metric, rows, values, which):
        """Limits that hold the values, and the bands of the rows: whole decades would waste room."""
        values = values + [value for row in rows for value in (metric.spread(row) if metric.spread else ())]
        values = [value for value in values if math.isfinite(value) and (value > 0 or not metric.log)]
        if metric.log:
            low, high = min(values) / 1.5, max(values) * 1.25
            if high / low < 4:  # noise should not look like a difference
                middle = math.sqrt(low * high)
                low, high = middle / 2, middle * 2
        else:
            low, high = 0, 100 if metric.unit == "%" else max(values) * 1.15 or 1
        (axes.set_yscale if which == "y" else axes.set_xscale)("log" if metric.log else "linear")
        (axes.set_ylim if which == "y" else axes.set_xlim)(low, high)
        self.number_axis(axes, metric, which)

    def line(self, axes, xs, values, look, texts, joined=True):
        line, = axes.plot(xs, values, color=look.color, linewidth=1.4 if joined else 0, linestyle=look.dash, marker=look.mark, markersize=4.5,
                          markeredgewidth=0, clip_on=False, zorder=3)
        line.set_gid(f"points-{len(self.titles)}")
        self.titles[line.get_gid()] = texts

    def over_axis(self, axes, panel, metric):
        """Lines of allocators from left to right; where a result is missing, a line has a gap."""
        distinct = {panel.axis.value(row): row for row in panel.rows}
        numeric = not isinstance(next(iter(distinct)), str)
        by_bytes = all(row["draw"] == "one" for row in panel.rows) and panel.axis.words == "size" and metric.log
        values = sorted(distinct) if numeric else sorted(distinct, key=lambda v: (distinct[v]["draw"] != "one", distinct[v]["bytes"]))
        if panel.axis.words == "threads" or by_bytes:
            at = {value: math.log2(distinct[value]["bytes" if by_bytes else "threads"]) for value in values}
        elif numeric:
            at = {value: value for value in values}
        else:
            at = {value: float(i) for i, value in enumerate(values)}
        joined = numeric or by_bytes
        names = [name for name in self.styles if any(row["allocator"] == name for row in panel.rows)]
        ends = []
        for k, name in enumerate(names):
            of = {panel.axis.value(row): row for row in panel.rows if row["allocator"] == name}
            aside = 0 if joined else 0.6 * ((k + 0.5) / len(names) - 0.5)
            points = [(at[value] + aside, of.get(value)) for value in values]
            heights = [metric.value(row) if row else math.nan for _, row in points]
            texts = [f"{name}, {parts(row)[panel.axis.words]}: {self.words(metric, row)}" for _, row in points if row]
            self.line(axes, [x for x, _ in points], heights, self.styles[name], texts, joined)
            if metric.spread and joined:
                axes.fill_between([x for x, _ in points], *zip(*(metric.spread(row) if row else (math.nan, math.nan) for _, row in points)),
                                  color=self.styles[name].color, alpha=0.16, linewidth=0)
            last = max(i for i, (_, row) in enumerate(points) if row)
            ends.append((name, points[last][0], heights[last], self.styles[name]))
        if metric.floors:
            for column, name in (("store_floor_us", "a store"), ("bump_us", "one counter")):
                floor = [(at[value], distinct[value][column]) for value in values]
                floor = [(x, y) for x, y in floor if y > 0]
                if floor and not joined:
                    floor = [(-0.5, floor[0][1]), *floor, (len(at) - 0.5, floor[-1][1])]
                if floor:
                    axes.plot(*zip(*floor), color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=2)
                    ends.append((name, *floor[-1], Style(MUTED, "", "-")))
        room = 0.04 * (max(at.values()) - min(at.values())) if joined else 0.5
        axes.set_xlim(min(at.values()) - room, max(at.values()) + room)
        shown = [values[0]]
        for value in values[1:]:
            if at[value] - at[shown[-1]] >= (0.13 if joined else 0.08) * (at[values[-1]] - at[values[0]]):
                shown.append(value)
        axes.set_xticks([at[value] for value in shown],
                        [count(value) if numeric else value if by_bytes else value.replace(", ", "\n").replace(" to ", "–") for value in shown])
        if not joined and max(map(len, shown)) * len(shown) > 40:
            axes.tick_params(axis="x", rotation=30)
        axes.minorticks_off()
        axes.set_xlabel(panel.axis.title)
        axes.set_title(metric.unit, loc="left", color=MUTED)
        self.scale(axes, metric, panel.rows, [y for _, _, y, _ in ends] + [y for line in axes.get_lines() for y in line.get_ydata()], "y")
        self.name_lines(axes, ends)

    def name_lines(self, axes, ends):
        """Each line's mark and name at its right end; a thin stroke leads to it where it had to give way."""
        gap = LABEL_GAP / (axes.bbox.height / axes.figure.dpi)
        to_axes = (axes.transData + axes.transAxes.inverted()).transform
        points = [to_axes((x, y)) for _, x, y, _ in ends]
        for (name, _, _, look), (x, y), place in zip(ends, points, spread_out([y for _, y in points], gap)):
            axes.plot([x + 0.015, 1.025, 1.05], [y, place, place], color=look.color, linewidth=0.6, linestyle="-" if x > 0.9 else ":",
                      transform=axes.transAxes, clip_on=False)
            axes.plot([1.05], [place], color=look.color, marker=look.mark, markersize=4.5, markeredgewidth=0, transform=axes.transAxes,
                      clip_on=False)
            axes.text(1.075, place, name, color=look.color, va="center", transform=axes.transAxes)

    def side_by_side(self, axes, panel, metric):
        """One point for each allocator, with its value; below them the floors."""
        rows = {row["allocator"]: row for row in panel.rows}
        names = [name for name in self.styles if name in rows]
        values = [metric.value(rows[name]) for name in names]
        floors = [(title, panel.rows[0][column]) for column, title in (("store_floor_us", "a store"), ("bump_us", "one counter"))
                  if metric.floors and panel.rows[0][column] > 0]
        self.scale(axes, metric, panel.rows, values + [value for _, value in floors], "x")
        for i, (name, value) in enumerate(zip(names, values)):
            look = self.styles[name]
            if metric.spread:
                axes.plot(metric.spread(rows[name]), [i, i], color=look.color, linewidth=3, alpha=0.4, solid_capstyle="butt")
            self.line(axes, [value], [i], look, [f"{name}: {self.words(metric, rows[name])}"])
            axes.text(1.06, i, metric.text(value), color=look.color, va="center", transform=axes.get_yaxis_transform())
        count_of_all = len(names) + len(floors)
        for i, (_, value) in enumerate(floors, len(names)):  # each has a row of its own, to which its line leads
            axes.plot([value, value], [-0.5, i], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            axes.text(1.06, i, metric.text(value), color=MUTED, va="center", transform=axes.get_yaxis_transform())
        axes.set_yticks(range(count_of_all), names + [title for title, _ in floors])
        axes.set_ylim(count_of_all - 0.5, -0.5)
        axes.set_xlabel(metric.unit)

    @staticmethod
    def words(metric, row):
        text = metric.text(metric.value(row))
        if metric.spread:
            low, high = metric.spread(row)
            text += f" ({metric.text(low)} to {metric.text(high)}, {row['n']:.0f} runs)"
        return text

    def draw(self, panel, metric, key, label):
        """The SVG element of a panel."""
        self.titles = {}
        self.pyplot.rcParams["svg.hashsalt"] = key  # ids differ from drawing to drawing, not from run to run
        names = len({row["allocator"] for row in panel.rows}) + (2 if metric.floors else 0)
        height = max(HEIGHT, names * LABEL_GAP + ABOVE + BELOW)
        figure = self.pyplot.figure(figsize=(WIDTH, height))
        left = 0.14 if panel.axis else 0.19  # names need more room than numbers
        axes = figure.add_axes((left, BELOW / height, 0.81 - left, 1 - (ABOVE + BELOW) / height))
        axes.grid(color=GRID, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=0)
        (self.over_axis if panel.axis else self.side_by_side)(axes, panel, metric)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        self.pyplot.close(figure)
        return self.embed(text.getvalue(), label)

    def embed(self, text, label):
        """Drops what a page does not need, gives points their texts, and makes colours those of the style sheet."""
        svg, link = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
        root = xml.fromstring(text)
        root.remove(root.find(svg + "metadata"))
        for group in root.iter(svg + "g"):
            texts = iter(self.titles.get(group.attrib.pop("id", ""), ()))
            for use in group.iter(svg + "use"):
                if text := next(texts, None):
                    xml.SubElement(use, svg + "title").text = text
        for parent in root.iter():
            for child in list(parent):
                child.tail = None
                if child.tag == svg + "style" or (child.tag == svg + "g" and not len(child)):
                    parent.remove(child)
            if not (parent.text or "").strip():
                parent.text = None
            if parent.get("transform", "").startswith("rotate(-0 "):
                del parent.attrib["transform"]
            for name, value in parent.attrib.items():
                if name in ("d", "x", "y"):
                    value = re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.4g}", " ".join(value.split()))
                value = re.sub(r"#0000([01][0-9a-f])", r"var(--c\1)", value)
                parent.set(name, re.sub(r" ?font: [^;]*;?", "", value))  # the style sheet has one
        _, _, width, height = root.get("viewBox").split()
        root.attrib = {"viewBox": f"0 0 {width} {height}", "role": "img", "aria-label": label}
        xml.register_namespace("", svg[1:-1])
        xml.register_namespace("xlink", link[1:-1])
        return xml.tostring(root, encoding="unicode")


def make_artist(styles):
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("svg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Refused("a report is drawn by matplotlib, which this Python lacks: install python3-matplotlib") from None
    pyplot.rcParams.update({"svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif", "text.color": INK,
                            "axes.edgecolor": GRID, "axes.labelcolor": MUTED, "axes.labelsize": 9, "axes.titlesize": 9, "xtick.color": MUTED,
                            "ytick.color": MUTED, "axes.axisbelow": True})
    return Artist(pyplot, styles)


# ---- page ----------------------------------------------------------------------------------------

# Colours of lines: in both sets at least 4.5 to 1 against the page, and told apart by lightness and by marks where hues look alike.
STYLE = """
:root{color-scheme:light dark;--page:#fdfdfc;--box:#f3f3f0;--c01:#1b1e22;--c02:#5c636b;--c03:#dcdddb;--link:#0059a8;
--c10:#c0392b;--c11:#8a5a00;--c12:#00724f;--c13:#005fb0;--c14:#8b3f9e;--c15:#4a4f55;--c16:#a8326e;--c17:#007184;
--h0:#e3f1ec;--h1:#f6f3e6;--h2:#fdebc8;--h3:#fbd38d;--h4:#f2a950;--h5:#b4540a;--h6:#6e2c00;--low:#1b1e22;--high:#fff;--bad:#d9d9d6}
@media(prefers-color-scheme:dark){:root{--page:#14171b;--box:#1d2126;--c01:#e8eaed;--c02:#a2a9b2;--c03:#343a42;--link:#7cb8ff;
--c10:#ff7b6b;--c11:#e5a83b;--c12:#35c78f;--c13:#6db3ff;--c14:#d59bf0;--c15:#c3c8ce;--c16:#ff85b8;--c17:#3fc5dc;
--h0:#173a31;--h1:#2a2a22;--h2:#453618;--h3:#624711;--h4:#7d520a;--h5:#e09a35;--h6:#ffd591;--low:#f2f3f5;--high:#14171b;--bad:#3a3f46}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:90rem;padding:1.5rem clamp(.8rem,3vw,2.5rem) 4rem;background:var(--page);color:var(--c01);
font:1rem/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
a{color:var(--link)}
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0}
h2{font-size:1.25rem;margin:2.6rem 0 .2rem;padding-top:.8rem;border-top:1px solid var(--c03)}
h3{font-size:1.05rem;margin:1.5rem 0 .2rem}
h4{font-size:.95rem;margin:1rem 0 .3rem;font-weight:600}
p{margin:.3rem 0;max-width:60rem}
.muted,figcaption,small,caption{color:var(--c02)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:1rem 0}
dt{color:var(--c02)}
dd{margin:0;overflow-wrap:anywhere}
code{font:.9em/1.5 ui-monospace,"DejaVu Sans Mono",monospace}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:1rem 0}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));gap:.5rem 1.5rem}
.pair{display:flex;flex-wrap:wrap;gap:0 3rem}
.pair>div{flex:0 1 30rem;min-width:min(100%,24rem)}
.pair>div+div{flex:1 1 min-content;min-width:0;max-width:100%}
figure{margin:0;min-width:0;max-width:34rem}
figcaption{font-size:.9rem;font-weight:600}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:9px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
svg *{stroke-linejoin:round}
use:hover{stroke:var(--c01)!important;stroke-width:1.5}
.scroll{overflow-x:auto;margin:.4rem 0}
table{border-collapse:separate;border-spacing:2px;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0}
th{font-weight:500;text-align:left;padding:.15rem .6rem .15rem 0}
tbody th{position:sticky;left:0;background:var(--page);min-width:6rem}
thead th:not(.words){white-space:nowrap}
thead th{padding:.15rem .45rem;text-align:right}
thead th:first-child,table:has(.text) thead th{text-align:left;padding-left:0}
td{text-align:right;padding:.2rem .45rem;white-space:nowrap;border-radius:3px}
@media(max-width:64rem){table{font-size:.8rem}td,thead th{padding-left:.3rem;padding-right:.3rem}}
td small{color:inherit;display:block;font-size:.82em;line-height:1.2}
.least{font-weight:700}
td.text{text-align:left;white-space:normal}
.h0,.h1,.h2,.h3,.h4,.bad{color:var(--low)}.h5,.h6{color:var(--high)}
.h0{background:var(--h0);font-weight:700}.h1{background:var(--h1)}.h2{background:var(--h2)}.h3{background:var(--h3)}
.h4{background:var(--h4)}.h5{background:var(--h5)}.h6{background:var(--h6)}.bad{background:var(--bad)}
.none{color:var(--c02)}
.key span{display:inline-block;padding:0 .5rem;border-radius:3px;margin-right:2px;font-size:.85rem}
summary{cursor:pointer;color:var(--link);padding:.3rem 0}
@media print{details{display:block}}
"""
# A ratio to the best above the first of these has the colour of the second.
STEPS_OF_HEAT = ((10, "h6"), (4, "h5"), (2, "h4"), (1.5, "h3"), (1.1, "h2"), (1.0005, "h1"), (0, "h0"))
KEY = (("h0", "best"), ("h1", "to 1.1"), ("h2", "to 1.5"), ("h3", "to 2"), ("h4", "to 4"), ("h5", "to 10"), ("h6", "more"))


def e(text):
    return html.escape(str(text))


def heat(ratio):
    return next(name for above, name in STEPS_OF_HEAT if ratio > above)


def factor(ratio):
    return f"{ratio:.2f}×" if ratio < 1.995 else f"{digits(ratio)}×"


def table(caption, heads, lines, label=""):
    """lines: of (heading as HTML, cells as HTML); label: of a table without a caption, for who does not see where it is."""
    shown = f"<caption>{e(caption)}</caption>" if caption else ""
    head = "".join(f'<th scope="col"{" class=words" if " " in name else ""}>{e(name)}</th>' for name in heads)
    body = "".join(f'<tr><th scope="row">{title}</th>{"".join(cells)}</tr>' for title, cells in lines)
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="{e(caption or label)}"><table>{shown}'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")


def key():
    return '<p class="key muted">Times the best of the row: ' + "".join(f'<span class="{name}">{text}</span>' for name, text in KEY) + "</p>"


def summary(groups, styles):
    """Each operation's geometric mean of the ratios to the best, for each allocator."""
    lines = []
    for group in groups:
        ratios = [group.ratios(cell) for cell in group.cells.values()]
        ratios = [cell for cell in ratios if cell]
        means = {name: statistics.geometric_mean(own) for name in styles if (own := [cell[name] for cell in ratios if name in cell])}
        cells = []
        for name in styles:
            own = [cell[name] for cell in ratios if name in cell]
            wanted = any(row["allocator"] == name for row in group.rows)
            if not own:
                cells.append(f'<td class="{"bad" if wanted else "none"}">{"no result" if wanted else "–"}</td>')
                continue
            mean = means[name]
            partial = f"<small>{len(own)} of {len(group.cells)}</small>" if len(own) < len(group.cells) else ""
            cells.append(f'<td class="{heat(mean)}{" least" if mean == min(means.values()) else ""}">{factor(mean)}{partial}</td>')
        lines.append((f'<a href="#{e(group.key)}">{e(group.name)}</a>', cells))
    return table("Geometric mean, over an operation's cells, of the ratio to the best allocator of each cell; below it, where an allocator "
                 "has not all cells, how many it has", ["", *styles], lines)


def all_cells(group, styles):
    """The heat map of one operation, which is its table, too."""
    metric = group.metric
    names = [name for name in styles if any(row["allocator"] == name for row in group.rows)]
    floors = [("a store", "store_floor_us"), ("one counter", "bump_us")] if metric.floors else []
    lines = []
    for cell in group.cells.values():
        ratios = group.ratios(cell)
        first = next(iter(cell.values()))
        cells = []
        for name in names:
            row = cell.get(name)
            if not row:
                cells.append('<td class="none">–</td>')
            elif row["status"] != "ok":
                cells.append(f'<td class="bad" title="{e(row["fault"])}">{e(row["status"])}</td>')
            elif not has(row, metric):
                cells.append('<td class="none">no value</td>')
            else:
                ratio = ratios.get(name)
                more = "".join(f"<small>{step.title[:3]} {digits(step.value(row))}</small>" for step in STEPS if has(row, step))
                cells.append(f'<td class="{heat(ratio) if ratio else "none"}" title="{e(Artist.words(metric, row))}">'
                             f"{factor(ratio) if ratio else ''}<small>{e(metric.text(metric.value(row)))}</small>{more}</td>")
        cells += [f"<td>{duration(first[column]) if first[column] > 0 else '–'}</td>" for _, column in floors]
        lines.append((e(group.label(first) or ", ".join(group.common)), cells))
    opened = " open" if len(lines) <= 24 else ""
    return (f"<details{opened}><summary>{len(lines)} cell{'s' if len(lines) > 1 else ''}: ratio to the best allocator</summary>"
            + table("", ["", *names, *(name for name, _ in floors)], lines, f"{group.name}: {metric.title}") + "</details>")


def drawings(group, artist, metric, first_only=False):
    out = []
    for title, panels in panels_of(group, metric).items():
        shown = thin(panels, MOST_PANELS)
        over = "" if title == "allocator" else f", over {title}"
        out.append(f"<h4>{e(metric.title)}{e(over)}</h4>")
        if len(shown) < len(panels):
            out.append(f'<p class="muted">{len(shown)} of {len(panels)} are drawn; the table has all.</p>')
        out.append('<div class="panels">')
        for i, panel in enumerate(shown):
            label = f"{group.name}{': ' if panel.label else ''}{panel.label}: {metric.title}{over}"
            drawing = artist.draw(panel, metric, f"{group.key}-{metric.title[:3]}-{title}-{i}", label)
            caption = f"<figcaption>{e(panel.label)}</figcaption>" if panel.label else ""
            out.append(f"<figure>{caption}{drawing}</figure>")
        out.append("</div>")
        if first_only:
            break
    return out


def wrongs(rows):
    """What is not ok."""
    bad = [row for row in rows if row["status"] != "ok"]
    if not bad:
        return [f"<p>All {len(rows)} results were verified.</p>"]
    lines = [(e(name_of(row)), [f'<td class="text">{e(text)}</td>' for text in (
        row["allocator"], f"{parts(row)['threads']}, {sizes(row)}, {parts(row)['free']}", row["status"], row["fault"])]) for row in bad]
    return [f'<h2 id="wrong">What went wrong</h2><details{" open" if len(bad) <= 12 else ""}>'
            f"<summary>{len(bad)} of {len(rows)} results are missing</summary>",
            table("", ["test", "allocator", "cell", "status", "why"], lines, "Results that are missing"), "</details>"]


def facts(rows):
    def all_of(name):
        return " / ".join(dict.fromkeys(row[name] for row in rows if row[name])) or "not recorded"

    clocks = sorted({row["clock_mhz"] for row in rows if row["clock_mhz"] > 0})
    heaps = sorted({row["heap_bytes"] for row in rows if row["heap_bytes"] > 0})
    runs = [row["n"] for row in rows if row["n"] > 0]
    stable = [row["stable"] for row in rows if row["n"] > 0]
    found = [("Device", all_of("device")), ("Backend", all_of("backend")),
             ("Clock", " to ".join(f"{clock:.0f}" for clock in dict.fromkeys((clocks[0], clocks[-1]))) + " MHz" if clocks else "not recorded"),
             ("Driver", all_of("driver")), ("Compiler", all_of("compiler")), ("Commit", all_of("commit"))]
    if heaps:
        found.append(("Heap", " to ".join(f"{heap / (1 << 20):,.0f}" for heap in dict.fromkeys((heaps[0], heaps[-1]))) + " MiB"))
    if runs:
        found.append(("Timed runs", f"{' to '.join(f'{n:.0f}' for n in dict.fromkeys((min(runs), max(runs))))} of each cell; "
                                    f"{100 * statistics.mean(stable):.0f} % of the medians were stable"))
    options = {(row["allocator"], row["options"]): None for row in rows if row["options"]}
    found += [(f"Options of {name}", text) for name, text in options]
    out = "".join(f"<dt>{e(name)}</dt><dd>{e(text)}</dd>" for name, text in found)
    commands = dict.fromkeys(row["command"] for row in rows if row["command"]) or ["not recorded"]
    return f"<dl>{out}<dt>Command</dt><dd>{'<br>'.join(f'<code>{e(command)}</code>' for command in commands)}</dd></dl>"


def method(rows):
    gpu = rows[0]["backend"] == "cuda"
    clock = ("Times are of single kernels between two events of the device, their launch hidden behind a kernel that spins."
             if gpu else "Times are by the host's clock. They say how an algorithm behaves, never how fast a GPU is.")
    return (f"<p>{clock} Each cell was first verified in an untimed run, then warmed up, then timed; lines are medians, bands the quartiles. "
            "Floors, dashed, are kernels of the same run with as many threads: one stores a pointer a thread (<i>a store</i>), one adds to a "
            "counter once a warp (<i>one counter</i>).</p>"
            "<p>In tables, a cell has the ratio to the best allocator of its row, and below it the value; –: skipped, as the heap had too few "
            "free slots, or not asked for.</p>")


def page(rows, tests, known):
    """tests: {name: (key of METRICS, what it is)}; known: the library's allocators"""
    styles = styles_of(rows, known)
    artist = make_artist(styles)
    groups = groups_of(rows, {test: measure for test, (measure, _) in tests.items()})
    title = f"Quarry benchmark: {rows[0]['device']}"
    out = ['<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
           '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; img-src data:">',
           '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">',
           f"<title>{e(title)}</title><style>{STYLE}</style></head><body><header><h1>{e(title)}</h1>", facts(rows), method(rows), "</header><nav>",
           *(f'<a href="#{e(test)}">{e(test)}</a>' for test in dict.fromkeys(group.test for group in groups)), "</nav><main>",
           '<h2 id="summary">Which allocator where</h2>', key(), summary(groups, styles), *wrongs(rows)]
    for test, of in itertools.groupby(groups, key=lambda group: group.test):
        out.append(f'<section><h2 id="{e(test)}">{e(test)}</h2>')
        if test in tests:
            about = tests[test][1]
            out.append(f"<p>{e(about[:1].upper() + about[1:])}.</p>")
        for group in of:
            out.append(f'<h3 id="{e(group.key)}">{e(group.op)}</h3>')
            if group.common:
                out.append(f'<p class="muted">{e(", ".join(group.common))}</p>')
            drawn, cells = drawings(group, artist, group.metric), all_cells(group, styles)
            if "".join(drawn).count("<figure>") == 1:
                out.append(f'<div class="pair"><div>{"".join(drawn)}</div><div>{cells}</div></div>')
            else:
                out += [*drawn, cells]
            for step in STEPS:
                out += drawings(group, artist, step, first_only=True)
        out.append("</section>")
    out.append("</main></body></html>\n")
    return "".join(out)


def check_folder(path):
    """Refused if no file could be written there."""
    at = os.path.abspath(path)
    if os.path.exists(at) and not os.path.isdir(at):
        raise Refused(f"{path}: is no directory")
    while not os.path.exists(at):
        at = os.path.dirname(at)
    if not os.path.isdir(at) or not os.access(at, os.W_OK | os.X_OK):
        raise Refused(f"{path}: can't write there")


def write(folder, text):
    """Whole or not at all."""
    name = None
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=".index.", delete=False) as file:
            name = file.name
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, os.path.join(folder, "index.html"))
    except OSError as error:
        if name and os.path.exists(name):
            os.unlink(name)
        raise Refused(f"{folder}: can't write: {error.strerror}") from None


def main():
    parser = argparse.ArgumentParser(prog="quarry report")
    parser.add_argument("--check", action="store_true", help="only whether a report could be made")
    parser.add_argument("--test", action="append", default=[], nargs=3, metavar=("NAME", "MEASURE", "TEXT"), help="what a test is")
    parser.add_argument("--allocator", action="append", default=[], metavar="NAME", help="one of the library's, in its order")
    parser.add_argument("folder")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not one that the caller ignores
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        check_folder(options.folder)
        if options.check:
            make_artist({})
            return 0
        rows, places = [], {}
        for path in options.files:
            read(path, rows, places)
        if not rows:
            raise Refused(f"{options.files[0] if options.files else 'no file'}: there are no results")
        write(options.folder, page(rows, {name: (measure, text) for name, measure, text in options.test}, options.allocator))
    except Refused as refused:
        print(f"quarry: {refused}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
