#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small bugs in Quarry's device code, one at a time, and says which of them the tests catch.

A mutant is one place of the source and one way to spoil it.  The rules:

  bound      < becomes <=, and so on: off by one
  equal      == becomes !=, and the reverse
  number     a number is one less; 0 becomes 1
  swap       the branches of an if with an else, or of a ?:, are swapped
  case       the case of an if without else is forgotten
  and, or    one side of && or || is forgotten
  omit       a statement (assignment, call, ++) is left out; not what orders memory, which has mutants of its own
  planted    those of scripts/mutants_logic_planted.tsv: faults that tests once missed; some in several places

All mutants are compiled once, in a copy of the sources: each spoiled expression E becomes (is(K) ? spoiled : E), and
the environment variable QUARRY_MUTANT says which K is on.  Each test runs once without any, which tells its time and
which mutants it reaches.  Then each mutant runs the tests that reach it, quick ones first, until one fails, crashes,
or takes several times its time (CPU-seconds, so that a busy machine does not matter).

What no test can tell from the original stands in scripts/mutants_logic.tsv with the reason.  Places that a compiler
needs to know (sizes of arrays, enums, #if, macros) have no mutants.

docs/design/mutants.md has the results.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import zlib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "scripts/mutants_logic.tsv"
PLANTED = ROOT / "scripts/mutants_logic_planted.tsv"
SOURCES = ["include/quarry/alloc/**/*.h", "include/quarry/core/*.h", "include/quarry/debug.h", "include/quarry/standard.h",
           "include/quarry/policy.h", "include/quarry/log.h", "include/quarry/allocate.h", "src/device/heap_kernels.c"]
# Tests that call device code and run within seconds.  Not the command's, the packages' and those that compile.
TESTS = re.compile(r"^(core|semaphore|srcu|queue|transit|windows|masks|segments|hierarchy|slots|objects|slabs|buddy|tbuddy|ouro|ualloc|handed|block_misuse|heap_options|pools|heap|launch|debug|blocks|totals|environment|policies|oom|fixed_\w+|trace|trace_fixed|trace_order|"
                   r"promises|standard|aligned|full|composed|pairs|misuse|pieces|exact|map|flaws|runs|scatter|cells|seeds)(\.|$)")
FEW_SEEDS = re.compile(r"^(promises|seeds|exact|scatter|standard|misuse|composed)\.")
FEWEST_CAUGHT = 0.95  # of those that are not equivalent; measured: docs/design/mutants.md

HEADER = """\
#ifndef MUTANT_H
#define MUTANT_H
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define MUTANTS %d
__attribute__((weak)) unsigned mutant;
__attribute__((weak)) unsigned char mutant_nowhere[MUTANTS];
__attribute__((weak)) unsigned char *mutant_reached = mutant_nowhere;
__attribute__((weak, constructor)) void mutant_begin(void);
__attribute__((weak, constructor)) void mutant_begin(void)
{
    const char *number = getenv("QUARRY_MUTANT"), *path = getenv("QUARRY_MUTANTS_REACHED");
    int file;
    mutant = number ? (unsigned)atoi(number) : 0;
    if (!path || mutant_reached != mutant_nowhere)
        return;
    file = open(path, O_RDWR | O_CREAT, 0666);
    if (file < 0 || ftruncate(file, MUTANTS) != 0)
        abort();
    mutant_reached = mmap(0, MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}
static inline int mutant_is(unsigned k)
{
    if (!mutant_reached[k]) /* read first: workers share the line */
        mutant_reached[k] = 1;
    return mutant == k;
}
#endif
"""

# ---- tokens ----

TOKEN = re.compile(r"""
    (?P<skip>\s+|/\*.*?\*/|//[^\n]*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])|\d[\w.]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
""", re.S | re.X)
BINARY = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
          "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}
KEYWORDS = set("if else for while do return switch case default break continue goto sizeof".split())
TYPES = set("const static struct enum union unsigned signed int char void float double long short typedef".split())
# They order memory, or wait, or are checks themselves.
NOT_OMITTED = {"simt_sync", "simt_fence", "simt_backoff", "simt_block_barrier", "simt_assert", "quarry_step", "simt_note_block"}


class Token:
    def __init__(self, kind, text, at):
        self.kind, self.text, self.at, self.end = kind, text, at, at + len(text)


def tokens_of(source):
    """Without comments and preprocessor lines."""
    directive = bytearray(len(source) + 1)
    for match in re.finditer(r"^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", source, re.M | re.S):
        directive[match.start():match.end()] = b"\1" * (match.end() - match.start())
    at, found = 0, []
    while at < len(source):
        match = TOKEN.match(source, at)
        if match.lastgroup != "skip" and not directive[at]:
            found.append(Token(match.lastgroup, match.group(), at))
        at = match.end() if not directive[at] else at + 1
    return found


class Function:
    """The tokens of a function's body, and which bracket belongs to which."""

    def __init__(self, name, tokens):
        self.name, self.t = name, tokens
        self.partner, stack = {}, []
        for i, token in enumerate(tokens):
            if token.kind == "sign" and token.text in OPEN:
                stack.append(i)
            elif token.kind == "sign" and token.text in CLOSE:
                self.partner[i] = stack.pop()
                self.partner[self.partner[i]] = i

    def is_cast(self, close):
        inside = [t.text for t in self.t[self.partner[close] + 1:close]]
        before = self.t[self.partner[close] - 1]
        return (bool(inside) and not (before.kind == "word" and before.text not in KEYWORDS)
                and all(w == "*" or re.match(r"[A-Za-z_]\w*$", w) for w in inside)
                and (inside[-1] == "*" or inside[-1].endswith("_t") or inside[-1] in TYPES or inside[-1] == "simt_raw"))

    def precedence(self, i):
        """Of a binary operator; 0: it is none."""
        token = self.t[i]
        if token.kind != "sign" or token.text not in BINARY or i == 0:
            return 0
        before = self.t[i - 1]
        operand = (before.kind in ("number", "text") or (before.kind == "word" and before.text not in KEYWORDS)
                   or before.text == "]" or (before.text == ")" and not self.is_cast(i - 1)))
        return BINARY[token.text] if operand else 0

    def ends(self, i, lowest):
        """Does an expression end before token i, of operators that bind at least so strongly?"""
        token = self.t[i]
        if token.kind == "word":
            return token.text in ("return", "case", "else", "do")
        if token.kind != "sign":
            return False
        return (token.text in ",;?:{}" or token.text in ASSIGN or token.text in OPEN or token.text in CLOSE
                or 0 < self.precedence(i) < lowest)

    def left(self, i, lowest):
        """First token of the expression that ends before i."""
        while i > 0:
            if self.t[i - 1].text in CLOSE and self.t[i - 1].text != "}":
                i = self.partner[i - 1]
            elif self.ends(i - 1, lowest):
                break
            else:
                i -= 1
        return i

    def right(self, i, lowest):
        """Token behind the expression that begins at i."""
        while i < len(self.t):
            if self.t[i].text in OPEN and self.t[i].text != "{":
                i = self.partner[i] + 1
            elif self.ends(i, lowest):
                break
            else:
                i += 1
        return i

    def statement_end(self, i):
        """Token behind the statement that begins at i."""
        text = self.t[i].text
        if text == "{":
            return self.partner[i] + 1
        if text in ("if", "for", "while", "switch"):
            i = self.statement_end(self.partner[i + 1] + 1)
            if text == "if" and i < len(self.t) and self.t[i].text == "else":
                i = self.statement_end(i + 1)
            return i
        if text == "do":
            i = self.statement_end(i + 1)
        while self.t[i].text != ";":
            i = self.partner[i] + 1 if self.t[i].text in OPEN else i + 1
        return i + 1


def functions_of(tokens):
    depth, i = 0, 0
    while i < len(tokens):
        text = tokens[i].text
        if text == "{" and depth == 0 and i > 0 and tokens[i - 1].text == ")":
            begin, level = i, 0
            while True:
                level += {"{": 1, "}": -1}.get(tokens[i].text, 0)
                i += 1
                if level == 0:
                    break
            name, level = begin - 1, 0
            while True:  # back to the parenthesis that opens the parameters
                level += {")": 1, "(": -1}.get(tokens[name].text, 0)
                if level == 0:
                    break
                name -= 1
            kernel = tokens[name - 1].text.startswith("SIMT_KERNEL")
            yield Function(tokens[name + 1 if kernel else name - 1].text, tokens[begin:i])
            continue
        depth += {"{": 1, "}": -1}.get(text, 0)
        i += 1


# ---- mutants ----

class Mutant:
    def __init__(self, rule, begin, end, spoiled, shown, statement=False):
        self.rule, self.begin, self.end, self.spoiled, self.shown, self.statement = rule, begin, end, spoiled, shown, statement
        self.number, self.file, self.line, self.function, self.again = 0, "", 0, "", 0
        self.first = self  # of those that are one mutant in several places

    def key(self):
        """What names it in the table of equivalents: no line numbers, which move, and no file, as functions move, too."""
        return self.function, self.rule, self.shown + (f" #{self.again}" if self.again > 1 else "")


def squeeze(text):
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.S)).strip()


def one_less(text):
    digits, suffix = re.match(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$", text).groups()
    value = int(digits, 0)
    return (hex(value - 1) if digits[:2] in ("0x", "0X") else str(value - 1 if value else 1)) + suffix


def constant_places(f):
    """Indices of tokens that the compiler must know: labels of cases, sizes of arrays, static variables, enums."""
    known = set()
    for i, token in enumerate(f.t):
        if token.text == "case":
            while f.t[i].text != ":":
                known.add(i)
                i += 1
        elif token.text == "[" and i > 1 and f.t[i - 1].kind == "word" and f.t[i - 2].kind == "word" \
                and f.t[i - 2].text not in KEYWORDS:
            known.update(range(i, f.partner[i]))
        elif token.text in ("static", "SIMT_STATIC_ASSERT", "simt_assert") \
                or (token.text == "enum" and "{" in (f.t[i + 1].text, f.t[i + 2].text)):
            known.update(range(i, f.statement_end(i)))
        elif token.text == "sizeof" and f.t[i + 1].text == "(":
            known.update(range(i, f.partner[i + 1]))
    return known


def mutants_of(source, f):
    t, known = f.t, constant_places(f)

    def text(begin, end):
        return source[t[begin].at:t[end - 1].end]

    def make(rule, begin, end, spoiled, shown, **more):
        return Mutant(rule, t[begin].at, t[end - 1].end, spoiled, squeeze(shown), **more)

    for i, token in enumerate(t):
        if i in known:
            continue
        precedence = f.precedence(i)
        if precedence:
            begin, end = f.left(i, precedence), f.right(i + 1, precedence + 1)
            a, b = text(begin, i), text(i + 1, end)
            other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}.get(token.text)
            if other:
                rule = "equal" if token.text in ("==", "!=") else "bound"
                yield make(rule, begin, end, f"{a} {other} {b}", f"{a} {token.text} {b}")
            elif token.text in ("&&", "||"):
                rule = "and" if token.text == "&&" else "or"
                yield make(rule, begin, end, a, f"{a} {token.text} {b}: first only")
                yield make(rule, begin, end, b, f"{a} {token.text} {b}: last only")
        elif token.kind == "number" and re.match(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*$", token.text):
            around = text(f.left(i, 1), f.right(i, 1))
            if around == token.text:
                around = source[source.rfind("\n", 0, token.at) + 1:source.find("\n", token.at)]
            yield make("number", i, i + 1, one_less(token.text), f"{token.text} in {around}")
        elif token.text == "?":
            begin = f.left(i, 1)
            condition = text(begin, i)
            yield make("swap", begin, i, f"!({condition})", f"{condition} ? :")
        elif token.text == "if":
            begin, end = i + 2, f.partner[i + 1]
            condition, behind = text(begin, end), f.statement_end(end + 1)
            if behind < len(t) and t[behind].text == "else":
                yield make("swap", begin, end, f"!({condition})", f"if ({condition}) else")
            else:
                yield make("case", begin, end, "0", f"if ({condition})")
    within = set()  # parentheses and initialisers
    for i in f.partner:
        if t[i].text == "(" or (t[i].text == "{" and i > 0 and t[i - 1].text in ("=", ",")):
            within.update(range(i + 1, f.partner[i] + 1))
    for i in range(1, len(t)):
        begins = t[i - 1].text in ("{", "}", ";", "else", "do") or (
            t[i - 1].text == ")" and t[f.partner[i - 1] - 1].text in ("if", "for", "while", "switch")) or (
            t[i - 1].text == ":" and t[f.left(i - 1, 1) - 1].text in ("case", ";", "{", "}")) or (
            t[i - 1].text == "SIMT_ROLLED")
        first = t[i]
        if not begins or i in within or i in known or first.text in KEYWORDS or first.text in TYPES or first.text in ";{}" \
                or first.text == "SIMT_ROLLED" or first.text.startswith("SIMT_STATIC"):
            continue
        end = f.statement_end(i)
        if first.kind == "word" and t[i + 1].kind == "word":  # a declaration
            continue
        if first.kind == "word" and t[i + 1].text == "*" and end - i > 3 and first.text.endswith("_t"):
            continue
        words = [x.text for x in t[i:end] if x.kind == "word"]
        if first.text == "(" and words[0] == "void":
            if len(words) == 2:
                continue
            words = words[1:]
        if words and words[0] in NOT_OMITTED:
            continue
        if any(x.text in ("{",) for x in t[i:end]):
            continue
        yield make("omit", i, end, "", text(i, end), statement=True)


def planted():
    """Rows of name, file, function, original and spoiled text, which is an expression or, with a ; at the end, statements."""
    with PLANTED.open(newline="") as file:
        return [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row and not row[0].startswith("#")]


def planted_of(rows, source, name, f):
    for title, file, function, original, spoiled in rows:
        if (file, function) != (name, f.name):
            continue
        begin = re.compile(r"\s+".join(map(re.escape, original.split()))).search(source, f.t[0].at, f.t[-1].end)
        if not begin:
            sys.exit(f"mutants: {PLANTED.name}: {file}, {function} has no \"{original}\"")
        yield Mutant("planted", begin.start(), begin.end(), spoiled, title, statement=original.endswith(";"))


def spoil(source, mutants):
    """The source with all mutants of it, each behind its number."""
    groups = {}
    for m in mutants:
        groups.setdefault((m.begin, -m.end), []).append(m)
    order = sorted(groups)

    def render(begin, end, first):
        """source[begin:end] with the groups from number `first` on; returns it and the next group."""
        parts, at = [], begin
        while first < len(order) and order[first][0] < end:
            inner_begin, inner_end = order[first][0], -order[first][1]
            group = groups[order[first]]
            parts.append(source[at:inner_begin])
            inside, first = render(inner_begin, inner_end, first + 1)
            for m in reversed(group):
                shape = "{ if (mutant_is(%d)) { %s } else { %s } }" if m.statement else "(mutant_is(%d) ? (%s) : (%s))"
                inside = shape % (m.first.number, squeeze(m.spoiled), inside)
            parts.append(inside)
            at = inner_end
        parts.append(source[at:end])
        return "".join(parts), first

    return render(0, len(source), 0)[0]


def all_mutants():
    """Of the working tree."""
    found, seen, rows, first = [], Counter(), planted(), {}
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            source, name = path.read_text(), str(path.relative_to(ROOT))
            for f in functions_of(tokens_of(source)):
                here = [*mutants_of(source, f), *planted_of(rows, source, name, f)]
                for m in sorted(here, key=lambda m: (m.begin, -m.end)):
                    m.file, m.function = name, f.name
                    m.line = source.count("\n", 0, m.begin) + 1
                    if m.rule == "planted":
                        m.first = first.setdefault(m.shown, m)
                    else:
                        seen[m.key()] += 1
                        m.again = seen[m.key()]
                    found.append(m)
    return found


def equivalents():
    """Those that no test can tell from the original: key -> reason."""
    table = {}
    if EQUIVALENT.exists():
        with EQUIVALENT.open(newline="") as file:
            for row in csv.reader((line for line in file if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE):
                table[tuple(row[1:4])] = row[4]
    return table


# ---- build ----

def write_if_changed(path, text):
    if not path.exists() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def list_tests(folder, wanted):
    """As ctest has them."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1"], check=True,
                                       capture_output=True).stdout)
    tests = []
    for test in listed["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        command = test.get("command", ["test_"])  # missing where it is not built yet
        if (TESTS.match(test["name"]) and re.search(wanted, test["name"]) and "short" in properties.get("LABELS", [])
                and Path(command[0]).name.startswith("test_")):
            tests.append({"name": test["name"], "command": command,
                          "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))})
    return tests


def build(folder, mutants, wanted, jobs):
    """A copy of the sources with the mutants, and its tests, those of the wanted names."""
    tree, header = folder / "tree", folder / "mutant.h"
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True)
    if listed.returncode:
        print("skipped: the sources are no working tree of git")
        sys.exit(77)
    files = listed.stdout
    for name in filter(None, files.decode().split("\0")):
        source, here = ROOT / name, [m for m in mutants if m.file == name]
        if source.is_file():
            write_if_changed(tree / name, spoil(source.read_text(), here).encode() if here else source.read_bytes())
            shutil.copymode(source, tree / name)
    write_if_changed(header, (HEADER % (len(mutants) + 1)).encode())
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    subprocess.run(["cmake", "-S", str(tree), "-B", str(folder / "build"), "-DQUARRY_CUDA=OFF", "-DQUARRY_TESTS=ON",
                    "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_C_FLAGS=-O1 -w -Werror=vla -include {header}", *launcher],
                   check=True, stdout=subprocess.DEVNULL)
    targets = sorted({"test_" + test["name"].split(".")[0] for test in list_tests(folder / "build", wanted)})
    subprocess.run(["cmake", "--build", str(folder / "build"), "--parallel", str(jobs), "--target", *targets],
                   check=True, stdout=subprocess.DEVNULL)
    return list_tests(folder / "build", wanted)


# ---- runs ----

def run_test(test, environment, cpu_limit, wall_limit):
    """Returns how it ended, "" if well, and its CPU-seconds."""
    def limit():
        os.setpgrp()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
        if cpu_limit:
            whole = int(cpu_limit) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
    process = subprocess.Popen(test["command"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **test["environment"], "CMOCKA_TEST_ABORT": "1", **environment},
                               preexec_fn=limit)
    timer = threading.Timer(wall_limit, lambda: os.killpg(process.pid, 9))
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    late = not timer.is_alive()
    timer.cancel()
    seconds = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    if code in (0, 77):
        return "", seconds
    if late or -code in (9, 24) or (cpu_limit and seconds >= cpu_limit):
        return "hang", seconds
    return ("failure" if code >= 0 or code == -6 else f"signal {-code}"), seconds


def baseline(folder, tests, jobs):
    """Times of the tests without a mutant, and what each reaches; kept in files until a test is built again."""
    reached = folder / "reached"
    reached.mkdir(exist_ok=True)

    def one(test):
        file, kept = reached / test["name"], reached / (test["name"] + ".seconds")
        if not kept.exists() or kept.stat().st_mtime < Path(test["command"][0]).stat().st_mtime:
            file.unlink(missing_ok=True)
            end, seconds = run_test(test, {"QUARRY_MUTANTS_REACHED": str(file)}, 0, 1200)
            if end:
                return f"mutants: {test['name']} without any mutant: {end}"
            kept.write_text(f"{seconds}\n")
        test["seconds"] = float(kept.read_text())
        test["reached"] = file.read_bytes() if file.exists() else b""
        return ""

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        wrong = list(filter(None, pool.map(one, tests)))
    if wrong:
        sys.exit("\n".join(wrong))
    return sorted(tests, key=lambda test: test["seconds"])


def headers_of(header, found):
    """Adds to `found` a header below include, and those that it includes."""
    if header not in found and (ROOT / header).exists():
        found.add(header)
        for name in re.findall(r'#include "(quarry/[^"]+)"', (ROOT / header).read_text()):
            headers_of("include/" + name, found)
    return found


def users():
    """Header -> the allocators that are made of it, with commas; not of what most are made of."""
    found, count = {}, 0
    for _, name, family in re.findall(r'QUARRY_ALLOCATOR_ENTRY\((\w+), "([^"]+)", (\w+)',
                                      (ROOT / "include/quarry/alloc/list.def").read_text()):
        count += 1
        for header in headers_of(f"include/quarry/alloc/{family}.h", set()):
            found.setdefault(header, []).append(name)
    return {header: ",".join(names) for header, names in found.items() if 2 * len(names) <= count}


def steps_of(m, tests, user):
    """Runs of the tests that reach a mutant, quick ones first: estimated CPU-seconds, test, environment.  A test of all allocators
    runs for those that are made of the mutant's header only, and one that is slow by its seeds first with few of them: what fails then fails in
    the whole test, too."""
    steps = []
    for test in tests:
        if m.number >= len(test["reached"]) or not test["reached"][m.number]:
            continue
        only, seconds = {}, test["seconds"]
        if m.file in user and "QUARRY_TEST_ALLOCATOR" not in test["environment"]:
            only, seconds = {"QUARRY_TEST_ALLOCATOR": user[m.file]}, seconds / 3
        if seconds > 0.5 and FEW_SEEDS.match(test["name"]) and "QUARRY_TEST_SEEDS" not in test["environment"]:
            steps.append((seconds / 5, test, {**only, "QUARRY_TEST_SEEDS": "10"}))
        steps.append((seconds, test, only))
    return sorted(steps, key=lambda step: step[0])


def try_mutant(m, tests, user, most_seconds):
    """Returns how it ended, the test that caught it or "", runs, and CPU-seconds."""
    spent, steps = 0.0, steps_of(m, tests, user)
    if not steps:
        return "unreached", "", 0, 0.0
    for count, (wanted, test, environment) in enumerate(steps):
        if most_seconds and spent + wanted > most_seconds and count:
            return "survived so far", "", count, spent
        end, seconds = run_test(test, {"QUARRY_MUTANT": str(m.number), **environment}, 3 * wanted + 1.5,
                                60 * wanted + 120)
        spent += seconds
        if end:
            return end, test["name"], count + 1, spent
    return "survived", "", len(steps), spent


COLUMNS = ["number", "file", "line", "function", "rule", "place", "end", "test", "runs", "cpu_seconds"]


def is_caught(end):
    return end in ("failure", "hang") or end.startswith("signal")


def summary(mutants, results, table):
    """Prints the table of counts.  Returns which share was caught."""
    rows = {}
    for m in mutants:
        end = "equivalent" if m.key() in table else results[m.key()]["end"] if m.key() in results else "not run"
        rows.setdefault(m.file, Counter()).update(["all", "caught" if is_caught(end) else end])
    total = sum(rows.values(), Counter())
    print("| file | mutants | equivalent | caught | survived | reached by no test |\n|---|---:|---:|---:|---:|---:|")
    for name, row in [*rows.items(), ("all", total)]:
        print(f"| {name} | {row['all']} | {row['equivalent']} | {row['caught']} | "
              f"{row['survived'] + row['survived so far']} | {row['unreached']} |")
    tried = total["all"] - total["equivalent"] - total["not run"]
    share = total["caught"] / tried if tried else 1.0
    print(f"\nCaught: {total['caught']} of {tried} that are not equivalent, {100 * share:.1f} %; "
          f"{total['not run']} were not run.")
    return share


def main():
    parser = argparse.ArgumentParser(prog="mutants logic", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__)
    parser.add_argument("--list", action="store_true", help="only print the mutants")
    parser.add_argument("--summary", action="store_true", help="only print the table of what results.csv has")
    parser.add_argument("--build", metavar="DIR", type=Path, default=ROOT / "build-mutants",
                        help="where the copy, its build and results.csv go (build-mutants)")
    parser.add_argument("--part", metavar="I/N", default="0/1", help="one of N parts of all mutants, from 0 on")
    parser.add_argument("--only", metavar="REGEX", default="", help="mutants whose 'FILE:LINE FUNCTION RULE PLACE' it matches")
    parser.add_argument("--tests", metavar="REGEX", default="", help="only tests with such names; the others are not built")
    parser.add_argument("--most", metavar="SECONDS", type=float, default=0,
                        help="CPU-seconds for one mutant; it may survive so far (0: all tests)")
    parser.add_argument("--again", action="store_true", help="also those of results.csv that were not caught")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="at the same time")
    arguments = parser.parse_args()
    table, mutants = equivalents(), all_mutants()
    unknown = set(table) - {m.key() for m in mutants}
    if unknown:
        print(f"mutants: {EQUIVALENT.name} names mutants that are no more:", *map("\t".join, sorted(unknown)), sep="\n",
              file=sys.stderr)
    part, parts = map(int, arguments.part.split("/"))
    mutants = [m for m in mutants if m.rule == "planted" or zlib.crc32("\t".join((m.file, *m.key())).encode()) % parts == part]
    mutants.sort(key=lambda m: m.rule == "planted")
    for number, m in enumerate(mutants, 1):
        m.number = number
    chosen = [m for m in mutants if m.first is m and re.search(arguments.only, f"{m.file}:{m.line} {m.function} {m.rule} {m.shown}")]
    if arguments.list:
        for m in chosen:
            print(f"{m.number}\t{m.file}:{m.line}\t{m.function}\t{m.rule}\t{m.key()[2]}")
        return
    folder = arguments.build.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    results, file = {}, folder / "results.csv"
    if file.exists():
        with file.open(newline="") as rows:
            results = {(row["function"], row["rule"], row["place"]): row for row in csv.DictReader(rows)}
    if arguments.summary:
        summary(chosen, results, table)
        return
    tests = build(folder, mutants, arguments.tests, arguments.jobs)
    print(len(mutants), "mutants,", len(tests), "tests", flush=True)
    tests = baseline(folder, tests, arguments.jobs)
    waiting = [m for m in chosen if m.key() not in table
               and (m.key() not in results or arguments.again and not is_caught(results[m.key()]["end"]))]
    waiting.sort(key=lambda m: zlib.crc32(m.shown.encode()))  # what is done first is of all files
    lock, done, user = threading.Lock(), 0, users()

    def one(m):
        nonlocal done
        end, test, runs, seconds = try_mutant(m, tests, user, arguments.most)
        with lock:
            done += 1
            results[m.key()] = dict(zip(COLUMNS, [m.number, m.file, m.line, m.function, m.rule, m.key()[2], end, test, runs,
                                                  f"{seconds:.2f}"]))
            print(f"{done}/{len(waiting)} {m.number} {m.file}:{m.line} {m.function} {m.rule}: {m.key()[2]}: {end} {test} "
                  f"{seconds:.1f}", flush=True)
            with file.open("w", newline="") as out:
                writer = csv.DictWriter(out, COLUMNS)
                writer.writeheader()
                writer.writerows(results.values())

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, waiting))
    if summary(chosen, results, table) < FEWEST_CAUGHT:
        sys.exit(f"mutants: fewer than {100 * FEWEST_CAUGHT:.0f} % were caught")


if __name__ == "__main__":
    main()
