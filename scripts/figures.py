#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of four papers, with our implementations: Pham et al., "Dynamic Buffer Management in Massively Parallel
Systems"; by names such as 5.1, C. Eckert's thesis on ScatterAlloc and mallocMC; by names such as gelado-5, Gelado and Garland,
"Throughput-Oriented GPU Memory Allocation"; and, by names such as ouro-sizes, figure 3 of Winter et al., "Ouroboros:
Virtualized Queues for Dynamic Memory Management on GPUs".

    scripts/figures.py QUARRY OUT                 measures: writes OUT/figureN.csv, then draws
    scripts/figures.py QUARRY OUT --survey CSV    takes the rows of `quarry bench` from its CSV file, and measures nothing
    scripts/figures.py OUT --blocks CSV           takes the rows of `quarry-blocks` from its CSV file: gelado-5 and gelado-6
    scripts/figures.py OUT                        draws: OUT/figureN.svg of the figureN.csv that are there

QUARRY is the command `quarry`; figures 5.1, 5.2 and B.1 take `quarry-overhead` from its folder, gelado-5 and gelado-6
`quarry-blocks`, 5.3 to 5.5 the example `particles` from below it. Measuring needs only Python's own library, drawing
matplotlib; where that is missing all forms but the last only write CSV files. Exits 1 if a figure failed; the others are
written all the same.
"""
import argparse
import csv
import gzip
import math
import os
import random
import re
import statistics
import subprocess
import sys
from collections import Counter
from typing import Callable, NamedTuple

# What is measured, for each scale. "join" and "groupby": rows of a table; "case": the heap of both. 64M rows take 2.4
# million pages of it, more than 5 % of the paper's 10 GB.
SCALES = {
    "cuda": {
        "bench": ["--heap", "10G"],
        "atomic": "1,32,1K,4K,16K,64K,128K,256K,512K,1M,2M,4M",
        "threads": "1024,16384,131072,200000,400000,1048576,4000000,20000000",
        "lanes": ["--threads", "131072", "--lanes", "1,5,10,15,20,25,32"],
        "malloc": ["--heap", "10G", "--threads", "1024,8192,32768,65536,131072"],
        "fill": ["--heap", "64M", "--threads", "1024"],
        "filled": "16,32,50,64,100,128,200,256,400,512,700,1024,1050,1500,2048,3000,4096,6000,8192",
        "join": ["16K", "64K", "256K", "1M", "4M", "16M", "64M"],
        "groupby": ["10K", "100K", "1M", "2M", "5M", "10M"],
        "case": "16G",
        "workers": [],
        "toolkit": ["--runs", "3", "--steps", "20"],
        "steps": "400",
        "every": "40",
        "runs": "5",
        "blocks": [],
        "ouro": ["--heap", "2G"],
        "ouro-toolkit": ["--heap", "2G", "--runs", "1", "--watchdog", "8"],
        "ouro-sizes": "16,32,64,128,256,512,1024,2048,4096,8192,16-8192",
        "ouro-counts": "10000,100000",
        "ouro-threads": "1,10,100,1000,10000,100000,1000000",
        "ouro-toolkit-counts": [("16,32,64,128,256,512,1024,2048,4096,8192,16-8192", "10000"), ("16,32,64,128,256", "100000")],
        "ouro-toolkit-threads": [("32,128,1024,8192", "1,10,100,1000,10000")],
        "ouro-blocks": "100000",
        "exhaust": ["--runs", "5"],
        "exhaust-threads": 1 << 16,  # the paper's 1 << 20 and 512 << 20 take the toolkit's malloc long
        "exhaust-heap": 32 << 20,
    },
    "cpu": {
        "bench": ["--heap", "64M"],
        "atomic": "1,32,1K,4K,16K",
        "threads": "32,256,1024,4096,16384",
        "lanes": ["--threads", "1024", "--lanes", "1,5,10,15,20,25,32"],
        "malloc": ["--heap", "64M", "--threads", "32,128,512"],
        "fill": ["--heap", "4M", "--threads", "64"],
        "filled": "16,32,64,100,128,256,512,1024,1050,2048,3000,4096,8192",
        "join": ["16K", "64K", "256K"],
        "groupby": ["10K", "100K"],
        "case": "128M",
        "workers": ["--workers", "2,4,8,16,32,64,128,256,512,1024"],
        "toolkit": ["--workers", "2,4,8,16,32,64,128,256,512,1024"],
        "steps": "100",
        "every": "1024",
        "runs": "3",
        "blocks": ["--runs", "9"],
        "ouro": ["--heap", "64M"],
        "ouro-toolkit": ["--heap", "64M"],
        "ouro-sizes": "16,32,64,128,256,512,1024,2048,4096,8192,16-8192",
        "ouro-counts": "100,1000",
        "ouro-threads": "1,10,100,1000",
        "ouro-toolkit-counts": [("16,32,64,128,256,512,1024,2048,4096,8192,16-8192", "100,1000")],
        "ouro-toolkit-threads": [("32,128,1024,8192", "1,10,100,1000")],
        "ouro-blocks": "1000",
        "exhaust": ["--runs", "3"],
        "exhaust-threads": 1 << 15,
        "exhaust-heap": 16 << 20,
    },
    "quick": {
        "bench": ["--heap", "16M", "--runs", "2"],
        "atomic": "1,32,256",
        "threads": "32,256",
        "lanes": ["--threads", "256", "--lanes", "1,32"],
        "malloc": ["--heap", "16M", "--runs", "2", "--threads", "32,64"],
        "fill": ["--heap", "1M", "--threads", "32"],
        "filled": "16,1050,8192",
        "join": ["1K", "4K"],
        "groupby": ["1K", "4K"],
        "case": "16M",
        "workers": ["--workers", "2,40", "--runs", "2", "--steps", "8", "--heap", "16"],
        "toolkit": ["--workers", "2,40", "--runs", "2", "--steps", "8", "--heap", "16"],
        "steps": "3",
        "every": "8320",
        "runs": "1",
        "blocks": ["--threads", "32,256", "--runs", "2", "--ratios", "1,16"],
        "ouro": ["--heap", "1M", "--runs", "2"],
        "ouro-toolkit": ["--heap", "1M", "--runs", "2"],
        "ouro-sizes": "16,16-1024",
        "ouro-counts": "32,256",
        "ouro-threads": "1,32",
        "ouro-toolkit-counts": [("16,16-1024", "32,256")],
        "ouro-toolkit-threads": [("32", "1,32")],
        "ouro-blocks": "256",
        "exhaust": ["--runs", "2"],
        "exhaust-threads": 1 << 15,
        "exhaust-heap": 1 << 18,
    },
}
WALKS = "rw,rw-bm,crw,corw"
PAGE = 256  # bytes, as in section 5.2.1
TOTAL = 1000000  # pages of the theory, as in section 3.2.2
CLUSTERS = {0.01: "crw M = A/100", 0.5: "crw M = A/2", 1: "crw M = A"}  # as in the paper's figure 8
THEORY_THREADS = "250,500,1000,1500,2000,2500,3000,3500,4000,4500,4992"


class Missing(Exception):
    """The figure can't be made of this `quarry`."""


class Refused(RuntimeError):
    """The command lacks memory, or found bad data, or some of its cells went wrong; `out` is what it printed."""

    out = ""


class Tool:
    """The command, on a backend, at a scale."""

    page = ("--page", str(PAGE))  # of rw-malloc

    def __init__(self, quarry, backend, quick):
        self.quarry = quarry
        self.backend = backend
        self.quick = quick
        self.scale = SCALES["quick" if quick else backend]
        self.done = {}  # what each command printed: figures may share a run
        self.lacking = []  # what there are no rows of

    def run(self, *arguments):
        """Standard output and standard error of the command; RuntimeError if it fails, Refused if that is no misuse."""
        return self.start(self.quarry, arguments)

    def start(self, program, arguments):
        command = (program, *arguments)
        if command not in self.done:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                error = (Refused if done.returncode == 1 else RuntimeError)(
                    f"{os.path.basename(program)} {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}")
                error.out = done.stdout
                raise error
            self.done[command] = done.stdout, done.stderr
        return self.done[command]

    def csv(self, *arguments):
        return list(csv.DictReader(self.run(*arguments, "--csv")[0].splitlines()))

    def beside(self, path, *arguments):
        """The CSV of a program that was built in the same folder."""
        program = os.path.join(os.path.dirname(self.quarry), *path)
        if not os.path.exists(program):
            raise Missing(f"there is no {os.path.join(*path)} beside quarry")
        return list(csv.DictReader(self.start(program, ("--backend", self.backend, *arguments))[0].splitlines()))

    def overhead(self, contestants, *arguments):
        """Medians over runs: cycles of a malloc and of a free, for each contestant, size and number of workers."""
        runs = {}
        for row in self.beside(("quarry-overhead",), "--contestants", contestants, *arguments):
            runs.setdefault((row["contestant"], row["bytes"], row["threads"]), []).append(row)
        keep = "device", "backend", "contestant", "bytes", "threads"
        return [{**{name: rows[0][name] for name in keep}, "runs": len(rows),
                 **{f"{call}_cycles": f"{statistics.median(float(row[f'{call}_cycles']) for row in rows):.1f}"
                    for call in ("malloc", "free")},
                 "slots_before": rows[0]["slots_before"], "slots_after": rows[0]["slots_after"]}
                for rows in runs.values()]

    def blocks(self, measure):
        return self.beside(("quarry-blocks",), "--measures", measure, *self.scale["blocks"])

    def bench(self, op, *arguments):
        test = {"malloc": "alloc", "free": "free"}[op]
        return self.csv("bench", "--backend", self.backend, "--test", test, *self.scale["bench"], "--size", str(PAGE),
                        *arguments)

    def model(self, *arguments):
        """Rows of the theory: free_percent of the total in the place of pages, none for the queue."""
        rows = self.csv("model", *arguments)
        for row in rows:
            queue = row["allocator"] == "queue"
            row["free_percent"] = "" if queue else f"{100 * int(row['free']) / int(row['total']):g}"
        columns = "allocator", "total", "free_percent", "threads", "word_bits", "tas_predicted", "was_predicted"
        return [{name: row[name] for name in columns} for row in rows]


# Tests in which an operation is the same measurement, at other points of the axes; the operation.
SAME_TESTS = {"alloc": (("alloc", "scaling", "used", "warp", "mixed"), "malloc"),
              "free": (("free", "scaling", "used", "warp", "mixed"), "free"),
              "at-once": (("at-once",), "malloc+free"), "fill": (("fill",), "fill")}


class Survey(Tool):
    """Rows of a CSV file of `quarry bench` in the place of runs, chosen by the options that a run would get. Threads, heap and
    the page of rw-malloc are those of the file. The theory is the command's."""

    page = ()

    def __init__(self, quarry, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file, strict=True))
        if not self.rows:
            raise ValueError("there are no results")
        for name in ("backend", "allocator", "test", "op", "status", "draw", "threads", "bytes_least", "bytes", "free_percent", "lanes",
                     "page", "heap_bytes"):
            if None in (row.get(name) for row in self.rows):
                raise ValueError(f"there is no column '{name}', or not in all rows")
        for row in self.rows:
            int(row["threads"]), int(row["page"]), int(row["heap_bytes"]), float(row["free_percent"])
            for name in ("median_us", "tas", "was", "utilisation"):
                float(row.get(name) or "nan")
        super().__init__(quarry, self.rows[0]["backend"], False)

    def start(self, program, arguments):
        if arguments[0] != "model":
            raise Missing("a survey has no rows of it")
        return super().start(program, arguments)

    def csv(self, *arguments):
        return super().csv(*arguments) if arguments[0] == "model" else self.chosen(dict(zip(arguments[1::2], arguments[2::2])))

    def chosen(self, options):
        """The rows, one for each point of the axes, in the order of the options' values; those that have none become `lacking`."""
        if options["--test"] not in SAME_TESTS:
            raise Missing("a survey has no rows of it")
        tests, op = SAME_TESTS[options["--test"]]
        wanted = {name: options.get(f"--{name}", "").split(",") for name in ("allocator", "size", "free", "lanes", "page")}
        wanted = {name: values for name, values in wanted.items() if values != [""]}
        wanted.setdefault("lanes", ["32"])
        rows, found = {}, {name: set() for name in wanted}
        for row in self.rows:
            size = row["bytes"] if row["draw"] == "one" else f"{row['bytes_least']}-{row['bytes']}"
            has = {**row, "size": size, "free": f"{float(row['free_percent']):g}"}
            if (row["test"] in tests and row["op"] == op and row["status"] == "ok" and row["draw"] != "octaves" and
                    all(has[name] in values for name, values in wanted.items())):
                place = [values.index(has[name]) for name, values in wanted.items()]
                rows.setdefault((row["threads"], *(has[name] for name in ("allocator", "size", "free", "lanes"))), (place, row))
                for name in wanted:
                    found[name].add(has[name])
        lacking = [f"--{name} {','.join(value for value in values if value not in found[name])}"
                   for name, values in wanted.items() if not found[name].issuperset(values)]
        if lacking:
            kept = "".join(f" --{name} {values[0]}" for name, values in wanted.items() if len(values) == 1 and found[name])
            self.lacking.append(f"bench --test {options['--test']}{kept} with {' '.join(lacking)}")
        return [dict(row) for _, row in sorted(rows.values(), key=lambda found: found[0])]


class Blocks(Tool):
    """Rows of a CSV file of `quarry-blocks` in the place of runs."""

    def __init__(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file, strict=True))
        if not self.rows:
            raise ValueError("there are no results")
        for name in "backend", "measure", "variant", "threads", "elements", "median_us":
            if None in (row.get(name) for row in self.rows):
                raise ValueError(f"there is no column '{name}', or not in all rows")
        super().__init__("", self.rows[0]["backend"], False)

    def blocks(self, measure):
        return [dict(row) for row in self.rows if row["measure"] == measure]


# ---- rows of each figure ----


def atomics(tool):
    return tool.bench("malloc", "--allocator", "rw", "--free", "100", "--threads", tool.scale["atomic"])


def theory_rw(tool):
    free = ",".join(str(int(TOTAL * share)) for share in (0.5, 0.1, 0.01, 0.007, 0.005))
    return tool.model("--total", str(TOTAL), "--free", free, "--threads", THEORY_THREADS, "--allocator", "rw")


def theory_corw(tool):
    free = "5500,6000,7000,8000,10000,15000,20000,50000,100000,200000,500000"
    rows = tool.model("--total", str(TOTAL), "--free", free, "--threads", "5000", "--allocator", "rw-bm,corw")
    rows = [row for row in rows if row["allocator"] != "queue"]
    corw = {row["free_percent"]: float(row["was_predicted"]) for row in rows if row["allocator"] == "corw"}
    for row in rows:
        row["ratio"] = f"{float(row['was_predicted']) / corw[row['free_percent']]:.4f}"
    return rows


def found_in_a_step(tool):
    """Free pages in the words of 32 bits that 32 lanes draw, a word that two draw counted once; and the normal
    density with the mean and the variance of the binomial distribution (section 4.1.1)."""
    words, runs = TOTAL // 32, 500 if tool.quick else 10000
    generator = random.Random(6)
    rows = []
    for share in (0.5, 0.1, 0.05, 0.01):
        free = [0] * words
        for page in generator.sample(range(words * 32), int(words * 32 * share)):
            free[page // 32] += 1
        found = Counter(sum(free[word] for word in {generator.randrange(words) for _ in range(32)}) for _ in range(runs))
        mean, variance = 1024 * share, 1024 * share * (1 - share)
        for pages in range(min(found), max(found) + 1):
            normal = math.exp(-((pages - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
            rows.append({"free_percent": f"{100 * share:g}", "pages": pages, "simulated": found[pages] / runs,
                         "normal": f"{normal:.6f}"})
    return rows


def theory_crw(tool):
    """Equation (14) as printed, with (3) in it: p of (13) times TAS of `rw`."""
    free = ",".join(str(int(TOTAL * share)) for share in (0.5, 0.1, 0.01, 0.005))
    rows = []
    for row in tool.model("--total", str(TOTAL), "--free", free, "--threads", THEORY_THREADS, "--allocator", "rw"):
        if row["allocator"] == "queue":
            continue
        rows.append(row)
        pages = TOTAL * float(row["free_percent"]) / 100
        for share, name in CLUSTERS.items():
            clusters = share * pages
            taken = (clusters - 1) / (pages + clusters - 1)
            rows.append({**row, "allocator": name, "was_predicted": "",
                         "tas_predicted": f"{1 + taken * float(row['tas_predicted']):.6g}"})
    return rows


class Pool:
    """Pages of which `free` are free, in as many runs as `clusters`, all such arrangements being equally likely."""

    def __init__(self, total, free, clusters, generator):
        self.total = total
        self.generator = generator
        ends = sorted(generator.sample(range(1, free), clusters - 1)) + [free]
        gaps = sorted(generator.sample(range(total - free + 1), clusters))
        self.free = []
        for first, end, gap in zip([0] + ends, ends, gaps):
            self.free.extend(range(first + gap, end + gap))
        self.place = {page: index for index, page in enumerate(self.free)}

    def take(self, page):
        last = self.free.pop()
        index = self.place.pop(page)
        if last != page:
            self.free[index] = last
            self.place[last] = index

    def give(self, page):
        self.place[page] = len(self.free)
        self.free.append(page)

    def walk(self):
        """Algorithm 1: a page, now taken, and the steps to it, a geometric variable."""
        miss = 1 - len(self.free) / self.total
        page = self.generator.choice(self.free)
        self.take(page)
        return page, 1 + int(math.log(1 - self.generator.random()) / math.log(miss)) if miss > 0 else 1


def warp_mean(steps):
    return sum(max(steps[i : i + 32]) for i in range(0, len(steps), 32)) / (len(steps) // 32)


def second_steps(pool, all_threads, threads, clustered):
    """The steps of `threads` of all threads to their second pages, one thread after another. Each has got its first one by
    a walk. RW walks again; CRW first looks at the page after its last one, and walks if that is taken."""
    first = [pool.walk()[0] for _ in range(all_threads)]
    second, steps = [], []
    for page in first[:threads]:
        if clustered and page + 1 in pool.place:
            pool.take(page + 1)
            second.append(page + 1)
            steps.append(1)
        else:
            page, walked = pool.walk()
            second.append(page)
            steps.append(walked + clustered)
    for page in first + second:
        pool.give(page)
    return steps


def simulated_crw(tool):
    """WAS of a second request; A pages are free before it."""
    total, all_threads, every, runs = (TOTAL, 4992, 6, 5) if not tool.quick else (TOTAL // 20, 256, 1, 1)
    generator = random.Random(9)
    rows = []
    for share in (0.5, 0.1, 0.01, 0.007):
        for clusters, crw in CLUSTERS.items():
            free = int(total * share) + all_threads
            # Of half of all pages a few less than A can lie apart from each other.
            pool = Pool(total, free, min(int(total * share * clusters), total - free + 1), generator)
            for threads in range(all_threads // every, all_threads + 1, all_threads // every):
                threads -= threads % 32
                for name in ("rw", crw) if clusters == 0.01 else (crw,):
                    steps = [step for _ in range(runs) for step in second_steps(pool, all_threads, threads, name == crw)]
                    rows.append({"allocator": name, "free_percent": f"{100 * share:g}", "threads": threads,
                                 "was": f"{warp_mean(steps):.4f}"})
    return rows


# Bytes of a heap that a page takes: itself, and its flag or its bits.
OVERHEAD = {"rw": 4}
BITS = 0.15


def word_bits(row):
    """Of a row of the benchmark. 0: its allocator has no words. Older files have a column of it."""
    pairs = dict(pair.split("=") for pair in row.get("options", "").split())
    return int(pairs.get("word_bits") or row.get("word_bits") or 0)


def steps_and_theory(tool):
    """The benchmark's rows; beside them TAS and WAS by the theory of the allocator, and of a queue."""
    rows = tool.bench("malloc", "--allocator", WALKS, "--free", "50,10,1,0.5", "--threads", tool.scale["threads"], "--steps")
    for row in rows:
        total = int(int(row["heap_bytes"]) / (int(row["page"]) + OVERHEAD.get(row["allocator"], BITS)))
        free = int(total * float(row["free_percent"]) / 100)
        predicted = {}
        if free >= int(row["threads"]):
            predicted = {p["allocator"]: p for p in tool.model(
                "--total", str(total), "--free", str(free), "--threads", row["threads"], "--allocator", row["allocator"],
                *(("--word-bits", str(word_bits(row))) if word_bits(row) else ()))}
        if row["allocator"] == "crw":  # its clusters are not known
            predicted.pop("crw", None)
        for prefix, name in ("", row["allocator"]), ("queue_", "queue"):
            for column in "tas_predicted", "was_predicted":
                row[prefix + column] = predicted.get(name, {}).get(column, "")
    return rows


def lanes(tool):
    rows = tool.bench("malloc", "--free", "5,1,0.8,0.5", "--allocator", "rw-bm,crw,corw", *tool.scale["lanes"], "--steps")
    most = max((int(row["threads"]) for row in rows), default=0)  # of a survey, which may have others
    return [row for row in rows if int(row["threads"]) == most]


def frees(tool):
    return tool.bench("free", "--allocator", WALKS, "--free", "50,10,1,0.5", "--threads", tool.scale["threads"], "--steps")


def mallocs(tool):
    """The scenarios of section 5.2.3, of which 8196 bytes is taken to be a slip for 8192."""
    rows = []
    for size, test in *((size, "alloc") for size in ("16", "256", "1024", "4096", "8192", "4-8192")), ("4096", "at-once"):
        found = tool.csv("bench", "--backend", tool.backend, "--test", test, *tool.scale["malloc"], "--allocator", "rw-malloc",
                         *tool.page, "--free", "100,50,10", "--size", size)
        name = size.replace("-", " to ") + " bytes" + (" freed at once" if test == "at-once" else "")
        rows += [{"scenario": name, **row} for row in found]
    return rows


def fills(tool):
    """Utilisation: of blocks of one size, and of 4 bytes to so many."""
    rows = []
    ranges = ",".join(f"4-{most}" for most in (64, 256, 1024, 4096, 8192))
    heaps = [("rw-malloc", page) for page in ("16", "64", "256")] + [("scatter", "4096"), ("corw", "")]
    for allocator, page in heaps:
        found = tool.csv("bench", "--backend", tool.backend, "--test", "fill", *tool.scale["fill"], "--allocator", allocator,
                         *(["--page", page] if page else []), "--size", tool.scale["filled"] + "," + ranges)
        for row in found:
            sizes = "one size" if row["bytes"] == row["bytes_least"] else "4 bytes to so many"
            rows.append({"sizes": sizes, "pages": page or "as the block", **row})
    return rows


def bytes_of(text):
    return int(text[:-1]) << {"K": 10, "M": 20}[text[-1]]


def case_study(tool, command, sizes, allocators, paged):
    """Times by --stats, with pages from heaps of which 50 and 5 % are free, and without pages; paged_ms is that of the
    steps `paged`, which take the pages or do without. What the device has no memory for is left out, and said."""
    rows = []
    runs = ["--stats", "--backend", tool.backend, "--runs", tool.scale["runs"]]
    cases = [("two-pass", "", ["--method", "two-pass"])]
    for free in 50, 5:
        options = ["--heap", tool.scale["case"], "--page", str(PAGE), "--prefill", str(100 - free)]
        cases += [(name, free, [*options, "--allocator", name]) for name in allocators]
    for size in sizes:
        for name, free, options in cases:
            try:
                stats = tool.run(*command, "--synthetic", size, *runs, *options)[1]
            except Refused as error:
                if not rows:  # the first needs least
                    raise
                print(f"figures.py: left out: {error}", file=sys.stderr)
                continue
            if "\nonly counted " in stats:
                print(f"figures.py: left out: {size} rows, {name}: no room for the matches", file=sys.stderr)
                continue
            times = re.findall(r"^  (.*\S) +([0-9.]+) ms$", stats, re.MULTILINE)
            whole = [time for what, time in times if what.endswith(", all these")]
            if not whole:
                raise RuntimeError(f"{command[0]} --stats printed no time of 'all these'")
            pages = re.search(r", (\d+) pages of \d+ bytes\npages prefilled +(\d+)", stats)
            rows.append({"allocator": name, "free_percent": free, "rows": bytes_of(size), "ms": whole[0],
                         "paged_ms": f"{sum(float(time) for what, time in times if what in paged):.3f}",
                         "pages": pages[1] if pages else "", "prefilled": pages[2] if pages else "",
                         "parts": "; ".join(f"{what} {time}" for what, time in times)})
    return rows


def joins(tool):
    paged = ("probe", "first probe", "prefix sum", "array", "second probe")
    return case_study(tool, ("join", "--count"), tool.scale["join"], ("rw", "corw"), paged)


def group_bys(tool):
    if "--synthetic" not in tool.run("groupby", "--help")[0]:
        raise Missing("this groupby makes no tables (--synthetic)")
    return case_study(tool, ("groupby", "--top", "1"), tool.scale["groupby"], ("rw", "crw", "corw"), ("passes",))


def overheads(call):
    """Section 5.1.1 of the thesis; of both calls, from the same runs."""
    def rows(tool):
        found = (tool.overhead("bare,direct,composed", *tool.scale["workers"]) +
                 tool.overhead("cuda", *tool.scale["toolkit"]))
        other = "free" if call == "malloc" else "malloc"
        return [{name: value for name, value in row.items() if name != f"{other}_cycles"} for row in found]
    return rows


def overheads_closely(tool):
    return tool.overhead("bare,direct", "--bytes", "16,128", "--every", tool.scale["every"], "--runs", "1",
                         *(["--steps", "40"] if not tool.quick else ["--steps", "8"]))


PARTICLES = "ring", "scatter", "corw", "rw-malloc"


def steps_of_particles(tool, allocators=PARTICLES):
    """Steps of the example; the one that makes the atoms is none."""
    return [row for allocator in allocators
            for row in tool.beside(("tests", "particles", "particles"), "--allocator", allocator, "--steps", tool.scale["steps"])
            if int(row["step"]) > 0]


def steps_beside_toolkit(tool):
    return steps_of_particles(tool, PARTICLES + ("cuda",))


def steps_beside_ring(tool):
    """How many steps take so many per cent of the time that they take with `ring`."""
    times = {}
    for row in steps_of_particles(tool):
        times.setdefault(row["allocator"], []).append(float(row["microseconds"]))
    rows = []
    for allocator in PARTICLES[1:]:
        shares = [100 * time / ring for time, ring in zip(times[allocator], times["ring"])]
        found = Counter(round(share) for share in shares)
        rows += [{"allocator": allocator, "percent": percent, "steps": found[percent], "median": f"{statistics.median(shares):.2f}",
                  "mean": f"{statistics.mean(shares):.2f}"} for percent in range(min(found), max(found) + 1)]
    return rows


def share_of_a_species(_):
    """Of the memory for particles, when each of so many species has a heap of its own, or all have one."""
    return [{"allocator": name, "species": species, "percent": f"{percent:g}"} for species in range(1, 17)
            for name, percent in (("a heap for each species", 100 / species), ("one heap", 100))]


def semaphores(tool):
    """Units that all threads get in a second, in millions."""
    return [{**row, "rate": f"{int(row['threads']) / float(row['median_us']):.6g}"} for row in tool.blocks("figure5")]


def delegations(tool):
    """Times of the list with barriers of both kinds, for as many threads and writers."""
    times = {}
    for row in tool.blocks("figure6"):
        times.setdefault((row["threads"], row["elements"]), {})[row["variant"]] = row
    return [{**{name: rows["classical"][name] for name in ("device", "backend")}, "threads": threads, "writers": elements,
             "ratio": int(threads) // int(elements), "classical_us": rows["classical"]["median_us"],
             "delegating_us": rows["delegating"]["median_us"],
             "speedup": f"{float(rows['classical']['median_us']) / float(rows['delegating']['median_us']):.4f}"}
            for (threads, elements), rows in times.items() if len(rows) == 2]


# Of Ouroboros: the six, and what they are compared with. The toolkit's heap can't be emptied, so only its times are there. It takes
# seconds where others take microseconds, or hangs.
OURO = "ouro-p-s,ouro-p-va,ouro-p-vl,ouro-c-s,ouro-c-va,ouro-c-vl"


def ouro(tool, test, allocators, scale, *arguments):
    return tool.csv("bench", "--backend", tool.backend, "--test", test, "--allocator", allocators, *tool.scale[scale], *arguments)


def ouro_times(sizes, threads):
    """Mallocs in a heap from which as many blocks were freed before. `scaling` has mallocs and frees of the same runs."""
    def rows(tool):
        wanted = "--size", tool.scale["ouro-sizes"] if sizes == "all" else sizes
        found = ouro(tool, "scaling", OURO + ",scatter", "ouro", *wanted, "--threads", tool.scale[f"ouro-{threads}"])
        for some, count in tool.scale[f"ouro-toolkit-{threads}"]:
            try:
                found += ouro(tool, "scaling", "cuda", "ouro-toolkit", "--size", some, "--threads", count)
            except Refused as refused:
                found += [row for row in csv.DictReader(refused.out.splitlines()) if row["status"] == "ok"]
                print(f"figures.py: left out: {refused}", file=sys.stderr)
        return [{"sizes": "one size" if row["draw"] == "one" else "mixed", **row} for row in found]
    return rows


def ouro_first(tool):
    return ouro(tool, "first-vs-warm", OURO, "ouro", "--size", tool.scale["ouro-sizes"], "--threads", tool.scale["ouro-blocks"])


def ouro_range(tool):
    """Of blocks that lie where they were first put."""
    sizes = ",".join(size for size in tool.scale["ouro-sizes"].split(",") if "-" not in size)
    found = ouro(tool, "frag", OURO + ",scatter", "ouro", "--size", sizes, "--threads", tool.scale["ouro-blocks"])
    return [row for row in found if row["rounds"] == "0"]


def ouro_growth(tool):
    return ouro(tool, "growth", OURO + ",scatter", "ouro", "--size", "16", "--threads", tool.scale["ouro-blocks"])


def ouro_fill(tool):
    sizes = ",".join(size for size in tool.scale["ouro-sizes"].split(",") if "-" not in size)
    return ouro(tool, "fill", OURO + ",scatter", "ouro", "--size", sizes)


def exhausted(tool):
    """One malloc a thread, until the heap is gone: at most so many threads. The toolkit's heap keeps its size in a process."""
    heaps, rows = {}, []
    for size in (1 << log for log in range(3, 20)):
        heaps.setdefault(min(size * tool.scale["exhaust-threads"], tool.scale["exhaust-heap"]), []).append(str(size))
    for allocator in ("ualloc", "cuda") if tool.backend == "cuda" else ("ualloc",):
        for heap, sizes in heaps.items():
            try:
                rows += tool.csv("bench", "--backend", tool.backend, "--test", "exhaust", "--allocator", allocator, "--heap", str(heap),
                                 "--size", ",".join(sizes), *tool.scale["exhaust"])
            except Refused as refused:
                rows += [row for row in csv.DictReader(refused.out.splitlines()) if row["status"] == "ok"]
                print(f"figures.py: left out: {refused}", file=sys.stderr)
    return [{**row, "rate": f"{int(row['threads']) / float(row['median_us']):.6g}",
             "failed_percent": f"{100 * int(row['nulls']) / int(row['threads']):.2f}"} for row in rows]


# ---- lines of each figure: (name, {column: value}) for a row ----


def measured(row):
    yield row["allocator"], row


def floors(row):
    yield "one counter", {"median_us": row["bump_us"]}
    yield "a store", {"median_us": row["store_floor_us"]}


def beside_theory(row):
    yield row["allocator"], row
    yield row["allocator"] + ", theory", {"tas": row["tas_predicted"], "was": row["was_predicted"]}
    yield "queue, theory", {"tas": row["queue_tas_predicted"], "was": row["queue_was_predicted"]}
    yield "one counter", {"median_us": row["bump_us"]}


def beside_counter(row):
    yield row["allocator"], row
    yield "one counter", {"median_us": row["bump_us"]}


def of_free_shares(row):
    yield f"{row['free_percent']} % free", row
    yield "one counter", {"median_us": row["bump_us"]}


def of_pages(row):
    yield f"{row['allocator']}, pages {'' if row['pages'] == 'as the block' else 'of '}{row['pages']}", row


def of_contestants(row):
    yield row["contestant"], row


def of_mallocs(row):
    """Mixed sizes lie at their largest, as a point behind a line."""
    if row["op"] == "malloc":
        yield row["allocator"] + (", mixed" if row["sizes"] == "mixed" else ""), row


def of_first(row):
    if row["draw"] == "one":
        yield f"{row['allocator']}, {row['op']}", row


def of_variants(row):
    yield row["variant"], row


def of_ratios(row):
    yield f"{row['ratio']} readers for a writer", row


def distributions(row):
    for name in "simulated", "normal":
        yield name, {"share": row[name]}


class Figure(NamedTuple):
    title: str  # with columns of the first row
    rows: Callable  # of the CSV file, given a Tool
    x: tuple  # column, label
    y: tuple  # of (column, label): rows of diagrams
    lines: Callable = measured
    panel: str = "free_percent"  # column: a diagram for each value; a row without one is in all
    scales: tuple = ("log", "log")
    heading: str = "{} % free"  # of a panel


THREADS = ("threads", "threads")
WORKERS = ("threads", "workers")
TIME = ("median_us", "time of the kernel, us")
MALLOC = ("malloc_cycles", "cycles of a malloc")
FREE = ("free_cycles", "cycles of a free")
FIGURES = {
    1: Figure("One counter that all threads add to, once a warp", atomics, THREADS, (TIME,), floors),
    4: Figure("Theory: RW and a queue, equations (1) to (4), T = 1,000,000", theory_rw, THREADS,
              (("tas_predicted", "TAS"), ("was_predicted", "WAS")), scales=("linear", "log")),
    5: Figure("Theory: WAS of RW-BM and CoRW, equations (6) and (11), T = 1,000,000, N = 5,000", theory_corw,
              ("free_percent", "% free"), (("was_predicted", "WAS"), ("ratio", "WAS / that of CoRW")), panel=""),
    6: Figure("Free pages that a warp finds in one step, simulated 10,000 times", found_in_a_step, ("pages", "pages"),
              (("share", "share of steps"),), distributions, scales=("linear", "linear")),
    8: Figure("Theory: TAS of RW and CRW, equations (3) and (14), T = 1,000,000", theory_crw, THREADS,
              (("tas_predicted", "TAS"),), scales=("linear", "log")),
    9: Figure("WAS of RW and CRW, simulated, T = 1,000,000", simulated_crw, THREADS, (("was", "WAS"),),
              scales=("linear", "log")),
    11: Figure("malloc; one counter, bumped once a warp, stands for queues", steps_and_theory, THREADS,
               (TIME, ("tas", "TAS"), ("was", "WAS")), beside_theory),
    12: Figure("malloc by some lanes of each warp", lanes, ("lanes", "lanes"), (TIME, ("was", "WAS")),
               scales=("linear", "linear")),
    14: Figure("malloc by rw-malloc, pages of {page} bytes; one counter, bumped once a warp, stands for queues", mallocs, THREADS,
               (TIME,), of_free_shares, "scenario", heading="{}"),
    15: Figure("Memory utilisation of a full heap", fills, ("bytes", "bytes of a block"),
               (("utilisation", "bytes asked for / heap"),), of_pages, "sizes", ("log", "linear"), "{}"),
    16: Figure("free; one counter, bumped once a warp, stands for queues", frees, THREADS,
               (("cycles", "cycles of a free"), TIME), beside_counter),
    17: Figure("Hash join of two tables", joins, ("rows", "rows of each"),
               (("ms", "time, ms"), ("paged_ms", "of that the probe, ms"))),
    18: Figure("Group-by", group_bys, ("rows", "rows"),
               (("ms", "time, ms"), ("paged_ms", "of that the passes, ms"))),
    "5.1": Figure("malloc: scatter bare, behind quarry_malloc, composed with policies; the CUDA toolkit", overheads("malloc"),
                  WORKERS, (MALLOC,), of_contestants, "bytes", heading="{} bytes"),
    "5.2": Figure("free: scatter bare, behind quarry_free, composed with policies; the CUDA toolkit", overheads("free"),
                  WORKERS, (FREE,), of_contestants, "bytes", heading="{} bytes"),
    "5.3": Figure("Time of a step of the example particles, the CUDA toolkit's malloc beside", steps_beside_toolkit,
                  ("step", "step"), (("microseconds", "us"),), panel="", scales=("linear", "log")),
    "5.4": Figure("Time of a step of the example particles", steps_of_particles, ("step", "step"), (("microseconds", "us"),),
                  panel="", scales=("linear", "linear")),
    "5.5": Figure("Time of a step, in per cent of that with ring", steps_beside_ring, ("percent", "% of the time with ring"),
                  (("steps", "steps"),), panel="", scales=("linear", "linear")),
    "5.6": Figure("Memory that one species can have", share_of_a_species, ("species", "species"), (("percent", "% of all"),),
                  panel="", scales=("linear", "linear")),
    "B.1": Figure("scatter bare and behind quarry_malloc, closely", overheads_closely, WORKERS, (MALLOC, FREE),
                  of_contestants, "bytes", ("linear", "linear"), "{} bytes"),
    "gelado-5": Figure("One unit a thread, in batches of {batch}", semaphores, THREADS,
                       (("rate", "million units a second"),), of_variants, panel=""),
    "gelado-6": Figure("Removals from a list: time with classical barriers / with delegation", delegations, THREADS,
                       (("speedup", "speedup"),), of_ratios, panel="", scales=("log", "linear")),
    "gelado-7": Figure("One malloc a thread, until the heap is gone", exhausted, ("bytes", "bytes of a block"),
                       (("rate", "million mallocs a second"), ("failed_percent", "% of them NULL")), panel="",
                       scales=("log", "linear")),
    "ouro-sizes": Figure("malloc of a block by so many threads; heap of {heap_bytes} bytes", ouro_times("all", "counts"),
                         ("bytes", "bytes of a block"), (TIME,), of_mallocs, "threads", heading="{} threads"),
    "ouro-threads": Figure("malloc of a block; heap of {heap_bytes} bytes", ouro_times("32,128,1024,8192", "threads"), THREADS,
                           (TIME,), of_mallocs, "bytes", heading="{} bytes"),
    "ouro-first": Figure("malloc by {threads} threads in a fresh heap, and after frees", ouro_first, ("bytes", "bytes of a block"),
                         (TIME,), of_first, "op", heading="{}"),
    "ouro-range": Figure("Address range of {threads} blocks", ouro_range, ("bytes", "bytes of a block"),
                         (("range_bytes", "bytes"),), panel=""),
    "ouro-growth": Figure("{threads} blocks of {bytes} bytes a round, of which half are freed, until the heap is full", ouro_growth,
                          ("rounds", "rounds"), (("range_bytes", "address range, bytes"), ("median_us", "malloc, us")), panel="",
                          scales=("linear", "linear")),
    "ouro-fill": Figure("Memory utilisation of a full heap", ouro_fill, ("bytes", "bytes of a block"),
                        (("utilisation", "bytes asked for / heap"),), panel="", scales=("log", "linear")),
}
BLOCKS = "gelado-5", "gelado-6"  # of quarry-blocks


# ---- files ----


def path_of(out, number, ending):
    """figure6.csv, figureB.1.csv, figure-gelado-6.csv."""
    return os.path.join(out, f"figure{'-' if '-' in str(number) else ''}{number}.{ending}")


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Mid tones, which are readable on white and on black.
INK = "#808080"
COLORS = {"rw": "#e0564a", "rw-bm": "#d98c1f", "crw": "#3d9a50", "corw": "#3c82d6", "queue": INK, "one counter": INK,
          "two-pass": INK, "a store": "#b07cc6", "simulated": "#3c82d6", "normal": "#d98c1f", "bare": "#d98c1f", "direct": "#3c82d6",
          "composed": "#3d9a50", "cuda": "#e0564a", "ring": INK, "scatter": "#3d9a50", "rw-malloc": "#d98c1f",
          "one heap": "#3c82d6", "ouro-p-s": "#3c82d6", "ouro-p-va": "#2f9e8f", "ouro-p-vl": "#6a6fd8", "ouro-c-s": "#d98c1f",
          "ouro-c-va": "#b07cc6", "ouro-c-vl": "#c9a227", "bulk": "#3c82d6", "paper's bulk": "#d98c1f", "counting": "#e0564a"}
SHADES = dict(zip([*CLUSTERS.values(), "100 % free", "50 % free", "10 % free", "rw-malloc, pages of 16",
                   "rw-malloc, pages of 64", "rw-malloc, pages of 256", "scatter, pages of 4096",
                   *(f"{ratio} readers for a writer" for ratio in (1, 4, 16, 64, 256))],
                  ("#2f9e8f", "#3d9a50", "#8fb339", "#3c82d6", "#d98c1f", "#e0564a", "#b07cc6", "#d98c1f", "#e0564a", "#3d9a50",
                   "#e0564a", "#d98c1f", "#3d9a50", "#3c82d6", "#b07cc6")))


def collect(figure, rows, panel):
    """{name of a line: {column: {x: y}}} of one diagram's column."""
    lines = {}
    for row in rows:
        if figure.panel and row[figure.panel] not in ("", panel):
            continue
        for name, values in figure.lines(row):
            for column, _ in figure.y:
                value = float(values.get(column) or "nan")
                if math.isfinite(value):
                    lines.setdefault(name, {}).setdefault(column, {})[float(row[figure.x[0]])] = value
    return lines


def draw(figure, rows, path, pyplot):
    panels = list(dict.fromkeys(row[figure.panel] for row in rows if row[figure.panel])) if figure.panel else [""]
    height = 1.3 + 1.9 * len(figure.y)
    drawing, axes = pyplot.subplots(len(figure.y), len(panels), sharex="col", sharey="row", squeeze=False,
                                    figsize=(1.2 + 2.3 * max(len(panels), 2), height))
    legend = {}
    for across, panel in enumerate(panels):
        lines = collect(figure, rows, panel)
        for down, (column, label) in enumerate(figure.y):
            axis = axes[down][across]
            for name, columns in lines.items():
                points = sorted(columns.get(column, {}).items())
                if points:
                    theory = name.endswith(", theory")
                    color = SHADES.get(name) or COLORS.get(name.split(",")[0], INK)
                    legend[name], = axis.plot(*zip(*points), color=color, linewidth=1,
                                              linestyle="--" if theory or name.endswith(", once a warp") else "-",
                                              marker="" if theory or len(points) > 30 else "o", markersize=2.5)
            axis.set_xscale(figure.scales[0])
            axis.set_yscale(figure.scales[1])
            if figure.scales[0] == "linear":
                axis.locator_params("x", nbins=4)
            axis.minorticks_off()
            axis.grid(alpha=0.25)
            if across == 0:
                axis.set_ylabel(label)
            if down == 0 and len(panels) > 1:
                axis.set_title(figure.heading.format(panel))
            if down == len(figure.y) - 1:
                axis.set_xlabel(figure.x[1])
    drawing.suptitle(figure.title.format(**rows[0]))
    for columns in range(6, 0, -1):
        names = drawing.legend(legend.values(), legend.keys(), loc="lower center", ncols=columns, frameon=False)
        if columns == 1 or names.get_window_extent().width <= drawing.bbox.width:
            break
        names.remove()
    below = 0.4 + 0.15 * max(0, math.ceil(len(legend) / columns) - 2)  # inches for the legend's lines
    drawing.set_layout_engine("constrained", rect=(0, below / height, 1, 1 - below / height))
    drawing.savefig(path, metadata={"Date": None, "Creator": None}, transparent=True)
    pyplot.close(drawing)


def draw_all(numbers, out):
    """Draws what has a CSV file. Nothing without matplotlib."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("figures.py: matplotlib is not installed: nothing is drawn", file=sys.stderr)
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "quarry", "font.size": 8, "font.family": "sans-serif",
                            "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "axes.titlesize": 8,
                            "figure.titlesize": 9, "xtick.color": INK, "ytick.color": INK, "grid.color": INK})
    for number in numbers:
        path = path_of(out, number, "csv")
        if os.path.exists(path):
            draw(FIGURES[number], read(path), path_of(out, number, "svg"), pyplot)
    return True


def numbers_of(text):
    known = {str(number): number for number in FIGURES}
    numbers = [known.get(part) for part in text.split(",")]
    if None in numbers:
        raise argparse.ArgumentTypeError(f"'{text}': give some of {', '.join(map(str, FIGURES))}")
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quarry", nargs="?", help="the command; measure with it")
    parser.add_argument("out", help="folder of the CSV and SVG files")
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda", help="where to measure (cuda)")
    parser.add_argument("--figure", type=numbers_of, default=list(FIGURES), metavar="N,...", help="only these")
    parser.add_argument("--quick", action="store_true", help="few and small settings: a test of this script")
    parser.add_argument("--survey", metavar="CSV", help="file of `quarry bench` with the rows to take; .gz is unpacked")
    parser.add_argument("--blocks", metavar="CSV", help="file of `quarry-blocks` with the rows to take")
    options = parser.parse_args()
    if options.survey and not options.quarry:
        parser.error("--survey takes the theory from QUARRY: name it")

    if options.blocks and options.quarry:
        parser.error("--blocks takes all from its file: give no QUARRY")
    if options.blocks:
        options.figure = [number for number in options.figure if number in BLOCKS]

    failed = False
    if options.quarry or options.blocks:
        try:
            tool = (Blocks(options.blocks) if options.blocks else Survey(options.quarry, options.survey) if options.survey else
                    Tool(options.quarry, options.backend, options.quick))
        except (OSError, EOFError, ValueError, csv.Error) as error:
            sys.exit(f"figures.py: {options.blocks or options.survey}: no CSV file of "
                     f"{'quarry-blocks' if options.blocks else 'quarry bench'}: {error}")
        os.makedirs(options.out, exist_ok=True)
        for number in options.figure:
            try:
                rows = FIGURES[number].rows(tool)
                if not rows:
                    raise Missing("no rows") if tool.lacking else RuntimeError("no rows")
                write(path_of(options.out, number, "csv"), rows)
                print(f"figure {number}: {len(rows)} rows", flush=True)
            except Missing as missing:
                print(f"figures.py: no figure {number}: {missing}", file=sys.stderr)
            except (RuntimeError, OSError) as error:
                print(f"figures.py: figure {number} failed: {error}", file=sys.stderr)
                failed = True
            for what in tool.lacking:
                print(f"figures.py: figure {number} has no rows of {what}", file=sys.stderr)
            tool.lacking.clear()
    drawn = draw_all(options.figure, options.out)
    sys.exit(failed or not (drawn or options.quarry or options.blocks))


main()
