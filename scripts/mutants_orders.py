#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does each memory order earn its place?  Weakens each of include/quarry and src/device, one at a time, and runs the tests
that reach it in mode weak of the CPU backend, until one fails.

    scripts/mutants orders [options] [PART...]     mutants whose names contain one of these words; all unless some are named

A mutant's name is FILE FUNCTION CALL CHANGE, as the table prints it; the file says where the function was.  Mutants are:

    -acquire    of a load, a read-modify-write or a compare-exchange: without it
    -release    of a store or a read-modify-write: without it.  What has both is two mutants
    -fence      a simt_fence that is gone
    -sync       a simt_sync or a block barrier that is gone: nobody waits, nothing is ordered

All of them are in one build of a copy of the tree, in which each such call asks whether it is the mutant; an environment
variable says which one is.  docs/design/orders.md has the table of those that no test can tell, which this reads: a mutant
that survives and is not in it is a fault, and so is one that is in it and was caught, or is not there any more, and a test
that fails without a mutant.  A mutant is run with few seeds, then with more.  Those of the table are run with few, and not by slow tests, unless --rows.

Exit code: 0; 1: such faults; 2: wrong usage, or the copy does not compile.
"""
import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs/design/orders.md"
SOURCES = ["include/quarry", "src/device"]
NOT = "include/quarry/simt/"  # the platform itself: what the orders mean
ORDERS = {"acquire": ["acquire"], "release": ["release"], "acq_rel": ["acquire", "release"]}
WEAKER = {("acquire", "acquire"): "relaxed", ("release", "release"): "relaxed",
          ("acq_rel", "acquire"): "release", ("acq_rel", "release"): "acquire"}
CALL = re.compile(r"\bsimt_(?:(?:load|store|exchange|cas|add|sub|and|or|xor|min|max)_u(?:32|64)|fence|sync|block_barrier)\(")
SLOW = ("ouro", "ualloc", "scatter", "aligned", "composed", "exact")  # tests that take seconds
# A function begins in the first column and ends its first line with its name and a parenthesis.
FUNCTION = re.compile(r"^(?:(?:\w+_FN|static)\b[^;(]*?\b(\w+)\(|SIMT_KERNEL\w*\((?:&\w+, )?(\w+))", re.M)


class Mutant:
    def __init__(self, file, function, call, change):
        self.file, self.function, self.call, self.change = file, function, call, change
        self.number = 0
        self.key = " ".join([function, call, change])  # functions move to other files, and keep their names
        self.name = file.removeprefix("include/quarry/") + " " + self.key


def without_comments(text):
    """The same text with comments and strings as blanks, so that places stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def closing(text, at):
    """Where the parenthesis that is open before `at` closes."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def arguments(text):
    """Splits at commas outside of parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(part.split()) for part in parts]


def plant(text, file, mutants):
    """The file's text with all its mutants in it, which are added to the list."""
    code = without_comments(text)
    functions = [(m.start(), m.group(1) or m.group(2)) for m in FUNCTION.finditer(code)]
    edits = []
    for call in CALL.finditer(code):
        if code[code.rfind("\n", 0, call.start()) + 1] == "#":
            continue  # a macro's definition
        end = closing(code, call.end()) + 1
        whole = " ".join(code[call.start():end].split())
        inside = arguments(code[call.end():end - 1])
        name, order = call.group()[5:-1], inside[-1]
        function = [f for at, f in functions if at < call.start()][-1]
        if name in ("sync", "block_barrier", "fence"):
            made = [("-fence" if name == "fence" else "-sync", "(void)0")]
        else:
            made = [("-" + lost, whole[:whole.rindex(order)] + WEAKER[order, lost] + ")") for lost in ORDERS.get(order, [])]
        planted = ""
        short = f"{name}({inside[0]})"
        same = 1 + sum(f == function and s == short for f, s, *_ in edits)
        for change, instead in made:
            mutants.append(Mutant(file, function, short + (f"#{same}" if same > 1 else ""), change))
            mutants[-1].number = len(mutants)
            planted += f"simt_mutant({len(mutants)}) ? {instead} : "
        if planted:
            edits.append((function, short, call.start(), end, planted))
    for _, _, start, end, planted in reversed(edits):
        text = text[:start] + "(" + planted + text[start:end] + ")" + text[end:]
    return text


DECLARATION = """
#ifdef __cplusplus
extern "C"
#endif
__attribute__((visibility("default"))) int simt_mutant(unsigned number);
"""
# In a file of the executor, which is not compiled for mode weak.
DEFINITION = """
int simt_mutant(unsigned number);
#define MUTANTS 4096u
static unsigned mutant_number;
static unsigned char mutant_reached[MUTANTS];
int simt_mutant(unsigned number)
{
    mutant_reached[number] = 1;
    return number == mutant_number;
}
__attribute__((constructor)) static void mutant_choose(void)
{
    const char *number = getenv("QUARRY_MUTANT");
    mutant_number = number ? (unsigned)strtoul(number, NULL, 10) : 0;
}
__attribute__((destructor)) static void mutant_tell(void)
{
    const char *path = getenv("QUARRY_MUTANTS_REACHED");
    FILE *file = path ? fopen(path, "w") : NULL;
    for (unsigned i = 0; file && i < MUTANTS; i++)
        if (mutant_reached[i])
            fprintf(file, "%u\\n", i);
    if (file)
        fclose(file);
}
"""


def copy_tree(copy):
    """Copies what git knows, with all mutants; files that are as they were are left alone, for make's sake."""
    mutants = []
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True)
    for name in sorted(names.stdout.split("\n")[:-1]):
        source, target = ROOT / name, copy / name
        if not source.is_file():
            continue
        content = source.read_bytes()
        if name.startswith(tuple(SOURCES)) and not name.startswith(NOT) and name.endswith((".h", ".c")):
            content = plant(content.decode(), name, mutants).encode()
        if name == "include/quarry/simt/types.h":
            text = content.decode()
            at = text.rindex("#endif")
            content = (text[:at] + DECLARATION + "\n" + text[at:]).encode()
        if name == "src/cpu/executor_lanes.c":
            content += DEFINITION.encode()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(source, target)
    return mutants


class Test:
    """A run of a test.  seeds: of the first pass; more: of the second, which is for mutants that survive the first."""

    def __init__(self, program, allocator=None, seeds=0, more=0, **environment):
        self.program, self.seeds, self.more, self.environment = program, seeds, more, environment
        self.name = " ".join([program, *filter(None, [allocator]), *(f"{k}={v}" for k, v in environment.items())])
        if allocator:
            environment["QUARRY_TEST_ALLOCATOR"] = allocator
        self.reached, self.seconds = set(), 0.0


def all_tests():
    listed = (ROOT / "include/quarry/alloc/list.def").read_text()
    allocators = [a for a in re.findall(r"QUARRY_ALLOCATOR_ENTRY\((\w+),", listed) if a != "cuda"]  # the C library's blocks
    allocators += [a for a in ("objects", "quarry") if a not in allocators]  # of the tests only
    return [Test("semaphore", None, 200, 4000), Test("srcu", None, 200, 6000), Test("queue", None, 200, 4000),
            Test("transit", None, 200, 2000), Test("buddy", None, 200, 4000), Test("masks", None, 200, 4000), Test("windows", None, 200, 6000),
            Test("hierarchy", None, 200, 4000), Test("slots", None, 400, 20000), Test("segments", None, 100, 3000), Test("core"),
            Test("objects", None, 20, 1000), Test("slabs", None, 20, 300),
            *(Test("ouro", a, 10, 100) for a in ("ouro-p-s", "ouro-c-s", "ouro-p-va", "ouro-p-vl", "ouro-c-va")),
            Test("handed", "ualloc", 20, 2000), *(Test("handed", a, 20, 1000) for a in ("ouro-p-va", "ouro-p-vl")), Test("ualloc", None, 4, 60),
            *(Test("seeds", a, 400, 2000) for a in allocators),
            Test("seeds", "rw_malloc", 200, 2000, QUARRY_TEST_DISTRIBUTION="warp"),
            Test("scatter", None, 2, 20),
            Test("composed", "rw_malloc", 20, 200), Test("aligned", "scatter", 1, 6),
            # Of more seeds rw and scatter fail without a mutant: docs/design/full-heap.md
            *(Test("exact", a, {"rw": 6, "scatter": 20}.get(a, 24), {"rw": 0, "scatter": 0}.get(a, 150)) for a in allocators)]


class Result:
    def __init__(self, code, seconds, output):
        self.code, self.seconds, self.output = code, seconds, output

    def tell(self):
        """How the test failed: what it saw, and at which seed."""
        seed = re.findall(r"(?:QUARRY_TEST_SEED=|seed )(\d+)", self.output)
        if self.code in (-signal.SIGXCPU, -signal.SIGKILL):
            what = "a hang"
        elif self.code < 0:
            what = signal.Signals(-self.code).name
        elif re.search(r"\brace\b", self.output):
            what = "race"
        elif "deadlock" in self.output:
            what = "deadlock"
        elif "assertion failed" in self.output:
            what = "assertion"
        else:
            what = "wrong result"
        return what + (f", seed {seed[0]}" if seed else "")


def run(test, build, seeds, number=0, reached=None, limit=7200):
    """limit: of CPU time, for a busy machine is no hang."""
    environment = dict(os.environ, QUARRY_TEST_BACKEND="cpu", QUARRY_WEAK="1", QUARRY_MUTANT=str(number), **test.environment)
    if seeds:
        environment["QUARRY_TEST_SEEDS"] = str(seeds)
    if reached:
        environment["QUARRY_MUTANTS_REACHED"] = str(reached)

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([build / "tests" / ("test_" + test.program)], env=environment, preexec_fn=limits,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            text = os.pread(output.fileno(), 1 << 20, 0).decode(errors="replace")
            if done:
                process.returncode = os.waitstatus_to_exitcode(status)
                return Result(process.returncode, usage.ru_utime + usage.ru_stime, text)
            if "[  FAILED  ]" in text:  # the test's other cases would go on in a heap that is broken
                process.kill()
                process.wait()
                return Result(1, 0.0, text)
            time.sleep(0.02)


def kept_ones():
    """The rows of the page's table: keys of mutants that no test can tell."""
    if not KEPT.exists():
        return set()
    table = re.search(r"^## Not caught$(.*?)^## ", KEPT.read_text(), re.M | re.S)
    return {" ".join(row.split()[1:]) for row in re.findall(r"^\| `([^`]*)` \|", table.group(1), re.M)}


def cover(pool, folder, build, tests, mutants):
    """Which mutants each test reaches.  Returns those that pass without one, quick ones first."""
    def once(test):
        path = folder / ("reached " + test.name)
        path.unlink(missing_ok=True)
        return test, path, run(test, build, test.seeds, reached=path)
    usable = []
    for test, path, result in pool.map(once, tests):
        test.seconds = result.seconds
        if result.code:
            print(f"{test.name}: fails without a mutant: {result.tell()}", flush=True)
            continue
        test.reached = {int(line) for line in path.read_text().split()}
        usable.append(test)
        print(f"{test.name}: {test.seconds:.1f} CPU-s, reaches {len(test.reached)} of {len(mutants)}", flush=True)
    return sorted(usable, key=lambda test: test.seconds)


@functools.cache
def passes_unplanted(test, build, seeds):
    return run(test, build, seeds).code == 0


class Found:
    """What has caught each mutant, kept in the build's folder: a run after a change begins with that."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = {name: (test, int(seeds)) for name, test, seeds in (line.split("\t") for line in lines)}

    def note(self, mutant, test, seeds, result):
        seed = re.search(r", seed (\d+)", result.tell())
        self.rows[mutant.key] = test.name, min(seeds, int(seed.group(1))) if seed else seeds
        self.path.write_text("".join(f"{name}\t{test}\t{n}\n" for name, (test, n) in sorted(self.rows.items())))


def hunt(mutant, build, tests, passes, found):
    """How the mutant was caught, and whether."""
    mine = [t for t in tests if mutant.number in t.reached]
    last, seeds = found.rows.get(mutant.key, ("", 0))
    for test in (t for t in mine if t.name == last):
        result = run(test, build, seeds, mutant.number, limit=10 + 10 * test.seconds * (seeds / test.seeds if seeds else 1))
        if result.code and (seeds <= test.seeds or passes_unplanted(test, build, test.more)):
            return f"{test.name}: {result.tell()}", True
    for seeds_of in passes:
        for test in mine:
            seeds = seeds_of(test)
            if seeds_of is not passes[0] and not seeds:
                continue
            result = run(test, build, seeds, mutant.number, limit=10 + 10 * test.seconds * (seeds / test.seeds if seeds else 1))
            if result.code and (seeds == test.seeds or passes_unplanted(test, build, seeds)):
                found.note(mutant, test, seeds, result)
                return f"{test.name}: {result.tell()}", True
    return "survives" if mine else "not reached", False


def print_counts(told):
    """The page's table of counts.  told: pairs of file and how a mutant of it was caught."""
    kinds = {"race": r": race", "wrong result": r": wrong result", "other": r": (?!race|wrong result)", "not caught": r"^[^:]*$"}
    print("| file | mutants | " + " | ".join(kinds) + " | seeds |\n|---|" + "--:|" * (len(kinds) + 2))
    for file in [*sorted({file for file, _ in told}), ""]:
        ways = [how for name, how in told if file in ("", name)]
        counts = [sum(bool(re.search(kind, how)) for how in ways) for kind in kinds.values()]
        seeds = [int(seed) for how in ways for seed in re.findall(r", seed (\d+)", how)]
        print(f"| {f'`{file}`' if file else 'all'} | {len(ways)} | {' | '.join(map(str, counts))} | {max(seeds, default=0)} |")


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutants orders", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__)
    parser.add_argument("part", nargs="*", help="of names of mutants")
    parser.add_argument("--build", default="build-orders", help="folder for the copy and its build (build-orders)")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--tests", default="", help="only tests whose names match this regular expression")
    parser.add_argument("--quick", action="store_true", help="only the first, short pass")
    parser.add_argument("--rows", action="store_true", help="all tests and passes for those of the page's table, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time (all cores)")
    parser.add_argument("--cmake", default="", help="more options for cmake")
    options = parser.parse_args()
    folder = pathlib.Path(options.build).resolve()
    copy, build = folder / "source", folder / "build"
    mutants = copy_tree(copy)
    chosen = [m for m in mutants if not options.part or any(part in m.name for part in options.part)]
    tests = [t for t in all_tests() if re.search(options.tests, t.name)]
    if not chosen or not tests:
        print("mutants: there is no such mutant, or no such test", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(f"{m.number} {m.name}" for m in chosen))
        return 0
    subprocess.run(["cmake", "-S", copy, "-B", build, "-DQUARRY_CUDA=OFF", "-DQUARRY_TESTS=ON", "-DQUARRY_SANITIZE=weak",
                    *options.cmake.split()], check=True, stdout=subprocess.DEVNULL)
    programs = sorted({"test_" + t.program for t in tests})
    made = subprocess.run(["cmake", "--build", build, "--parallel", str(options.jobs), "--target", *programs],
                          stdout=subprocess.DEVNULL)
    if made.returncode:
        print("mutants: the copy does not compile", file=sys.stderr)
        return 2
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    usable = cover(pool, folder, build, tests, mutants)
    short, long = [lambda test: test.seeds], [lambda test: test.more]
    kept, faults, lives, told = kept_ones(), len(tests) - len(usable), 0, []
    found = Found(folder / "found.tsv")

    def judge(mutant):
        if mutant.key in kept and not options.rows:
            return hunt(mutant, build, [t for t in usable if t.program not in SLOW], short, found)
        return hunt(mutant, build, usable, short if options.quick else short + long, found)
    for mutant, (how, caught) in zip(chosen, pool.map(judge, chosen)):
        lives += not caught
        told.append((mutant.name.split()[0], how))
        if caught == (mutant.key in kept):
            faults += 1
            how += ", AND IS IN THE TABLE OF THOSE THAT NO TEST CAN TELL" if caught else ", AND IS NOT IN THE TABLE"
        print(f"{mutant.number} | {mutant.name} | {how}", flush=True)
    for name in sorted(kept - {m.key for m in mutants}):
        faults += 1
        print(f"{name} | IS IN THE TABLE AND NOT IN THE SOURCES")
    print_counts(told)
    print(f"{len(chosen)} mutants: {len(chosen) - lives} caught, {lives} not; {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
