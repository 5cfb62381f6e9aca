#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Mutants of the core: small breaks of firmware/*.c, made by a machine. The unit
tests that reach the line must go red.

    mutants.py [--sample N] [--seed N] [--file NAME] [--jobs N] [--fresh]
               [--report] [--killer COMMAND]...

A mutant is one change of one token: a relational operator, a constant by one, a
condition negated, a statement deleted, arithmetic swapped, a barrier removed.
Left alone are constants of icrc_table.c, hints to the compiler and arguments of
trace points, which no part of the NIC reads. All that are possible are listed; N of them are drawn under the seed, the same
share of every file. Which tests reach which line is measured once with gcov;
only those run, the quickest first, linked from objects that are there already.
A test that fails, crashes, or takes ten times its time kills the mutant. Those
that no unit test kills are given to each --killer, a command that runs with
MUTANT_SOURCE (file of the core), MUTANT_TEXT (file that takes its place) and
UNIC_ROOT in its environment and whose failure kills, too.

Results are kept in build/mutants/results.json, by what the mutant is, so a run
that was broken off goes on where it was; --fresh forgets them. --report writes
docs/MUTANTS.md: the table, and each survivor with its verdict out of
tests/mutants.verdicts. Exit 1 below 80 %.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "build", "mutants")
RESULTS = os.path.join(WORK, "results.json")
VERDICTS = os.path.join(ROOT, "tests", "mutants.verdicts")
REPORT = os.path.join(ROOT, "docs", "MUTANTS.md")
GOAL = 0.80
INCLUDE = ["-Itests/unit", "-Ifirmware", "-Ihal/fake", "-Ihal/drivers",
           "-Ihal", "-Iboards/fake", "-Iabi"]
FLAGS = ["-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE=", *INCLUDE]
SKIP = {"icrc_table.c"}  # constants, compared with another implementation
# One wrong field of a 64-bit address space is a crash there and not in the
# tests' arrays: undefined behaviour must be seen.
CHECK = ["-fsanitize=undefined,bounds", "-fno-sanitize-recover=all"]


# ------------------------------------------------------------- what to change

TOKEN = re.compile(r"""
    (?P<skip>/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|
        ^[ \t]*\#(?:\\\n|[^\n])*)|
    (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b)|
    (?P<word>[A-Za-z_]\w*)|
    (?P<op><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|
        [-+*/%&|^<>=!~?:;,.(){}\[\]])|
    (?P<space>\s+)""", re.S | re.M | re.X)
SWAPS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",),
    "++": ("--",), "--": ("++",), "<<": (">>",), ">>": ("<<",),
}
BINARY = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&": "|",
          "|": "&", "^": "&"}
BARRIERS = ("unic_mb", "unic_rmb", "unic_wmb")
NOT_DELETED = ("return", "goto", "break", "continue", "case", "default",
               "else", "do", "UNIC_ASSERT", "UNIC_TRACE", "UNIC_IN_REGISTER")
Mutant = collections.namedtuple("Mutant", "file at length new kind line")


def tokens(text):
    at, out = 0, []
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise SystemExit(f"mutants: cannot read: {text[at:at + 40]!r}")
        if m.lastgroup not in ("space", "skip"):
            out.append((m.lastgroup, m.group(), at))
        at = m.end()
    return out


def closing(toks, i):
    """Index of what closes the parenthesis at @i."""
    depth = 0
    for k in range(i, len(toks)):
        depth += (toks[k][1] == "(") - (toks[k][1] == ")")
        if not depth:
            return k
    raise SystemExit("mutants: parentheses do not match")


def bodies(toks):
    """Marks the tokens that are inside of a function."""
    inside, depth, fn = [], 0, 0
    for i, (_, text, _) in enumerate(toks):
        if text == "{":
            if not depth:
                fn = toks[i - 1][1] == ")"
            depth += 1
        inside.append(bool(depth and fn))
        depth -= text == "}"
    return inside


def of_operator(toks, i, text):
    before = toks[i - 1]
    if text in SWAPS:
        yield from ((new, "operator") for new in SWAPS[text])
    elif text in BINARY and (before[0] in ("number", "word") or
                             before[1] in (")", "]")):
        # "(type) &x", "(type) *p" and "type *p" are no arithmetic
        cast = before[1] == ")" or re.search(r"_t$|struct|char|int|void",
                                             before[1])
        if not (cast and text in "*&-+"):
            yield BINARY[text], "arithmetic"


def is_hint(toks, i):
    """The second argument of __builtin_expect(): it changes no result."""
    if toks[i - 1][1] != "," or toks[i + 1][1] != ")":
        return False
    depth = 1
    for k in range(i - 1, 0, -1):
        depth += (toks[k][1] == ")") - (toks[k][1] == "(")
        if not depth:
            return toks[k - 1][1] == "__builtin_expect"
    return False


def of_number(toks, i, text):
    if is_hint(toks, i):
        return
    if toks[i - 1][1] == "case" or i + 1 < len(toks) and \
            toks[i - 1][1] == "[" and toks[i + 1][1] == "]" and \
            toks[i - 2][0] == "word" and toks[i - 3][0] == "word":
        return  # a label, a dimension
    m = re.match(r"(0[xX][0-9a-fA-F]+|\d+)(\w*)", text)
    value = int(m[1], 0)
    yield f"{value + 1}{m[2]}", "constant"
    if value:
        yield f"{value - 1}{m[2]}", "constant"


def negated(toks, i):
    """if (...), while (...): the condition the other way round."""
    end = closing(toks, i + 1)
    at, stop = toks[i + 1][2], toks[end][2] + 1
    return at, stop


def statement(toks, i):
    """Index of the ";" of the call or assignment that begins at @i."""
    depth = 0
    for k in range(i, len(toks)):
        depth += (toks[k][1] in "([") - (toks[k][1] in ")]")
        if toks[k][1] in "{}":
            return None
        if toks[k][1] == ";" and not depth:
            return k
    return None


def deletable(toks, i):
    """A statement (not a declaration) begins here."""
    if toks[i - 1][1] not in (";", "{", "}", ")", "else") or \
            toks[i][1] in NOT_DELETED or toks[i][0] not in ("word", "op"):
        return None
    if toks[i][0] == "op" and toks[i][1] not in ("*", "++", "--"):
        return None
    if toks[i][0] == "word" and toks[i + 1][1] not in (
            "(", "->", ".", "[", "=", "++", "--", "+=", "-=", "|=", "&=",
            "<<=", ">>=", "^="):
        return None
    if toks[i][1] in ("if", "while", "for", "switch", "sizeof"):
        return None
    if toks[i - 1][1] == ")" and toks[i][1] == "*":
        return None
    return statement(toks, i)


def mutants_of(name, text):
    toks = tokens(text)
    inside = bodies(toks)

    def make(at, stop, new, kind):
        return Mutant(name, at, stop - at, new, kind,
                      text.count("\n", 0, at) + 1)

    silent = 0  # the end of a trace's arguments
    for i, (group, word, at) in enumerate(toks):
        if word == "UNIC_TRACE":
            silent = closing(toks, i + 1)
        if not inside[i] or i <= silent:
            continue
        if group == "op":
            for new, kind in of_operator(toks, i, word):
                yield make(at, at + len(word), new, kind)
        elif group == "number":
            for new, kind in of_number(toks, i, word):
                yield make(at, at + len(word), new, kind)
        elif word in ("if", "while") and toks[i + 1][1] == "(":
            a, b = negated(toks, i)
            yield make(a, b, f"(!{text[a:b]})", "condition")
        end = deletable(toks, i)
        if end:
            kind = "barrier" if word in BARRIERS else "statement"
            yield make(at, toks[end][2] + 1, ";", kind)


def sources():
    folder = os.path.join(ROOT, "firmware")
    return sorted(f for f in os.listdir(folder)
                  if f.endswith(".c") and f not in SKIP)


def read(name):
    with open(os.path.join(ROOT, "firmware", name), encoding="utf-8") as f:
        return f.read()


def key(m, text):
    """What it is, wherever it stands: results outlive edits elsewhere."""
    start = text.rfind("\n", 0, m.at) + 1
    line = text[start:text.find("\n", m.at)]
    around = text[max(0, start - 200):start]
    raw = "\0".join((m.file, around, line, str(m.at - start), m.new, m.kind))
    return hashlib.sha256(raw.encode()).hexdigest()[:16]


def draw(options):
    """[(mutant, key)], the same share of every file."""
    names = [options.file] if options.file else sources()
    every = {n: list(mutants_of(n, read(n))) for n in names}
    total = sum(map(len, every.values()))
    rnd = random.Random(options.seed)
    out = []
    for name, found in every.items():
        n = min(len(found), max(1, round(options.sample * len(found) / total)))
        text = read(name)
        out += [(m, key(m, text)) for m in sorted(rnd.sample(found, n),
                                                  key=lambda m: m.at)]
    return out, total


# ----------------------------------------------------------------- building

def sh(args, timeout=120, cwd=ROOT, env=None):
    return subprocess.run(args, cwd=cwd, capture_output=True, text=True,
                          errors="replace", timeout=timeout, env=env)


def compile_c(path, out, flags):
    r = sh(["gcc", *FLAGS, *flags, "-c", path, "-o", out])
    if r.returncode:
        raise RuntimeError(f"{path}: {r.stderr[:400]}")
    return out


def object_of(path, folder):
    return os.path.join(folder, path.replace("/", "_")[:-2] + ".o")


def tests_of_core():
    """UNIT_CORE, as the Makefile lists it."""
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as f:
        text = f.read().replace("\\\n", " ")
    return re.search(r"^UNIT_CORE\s*:=(.*)$", text, re.M)[1].split()


class Build:
    """Objects of core, rig and tests; who reaches what."""

    def __init__(self, jobs):
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.tests = tests_of_core()
        self.plain = os.path.join(WORK, "plain")
        self.core = [f"firmware/{n}" for n in sources()] + [
            f"firmware/{n}" for n in sorted(SKIP)]
        self.rest = ["hal/fake/fake_port.c", "hal/drivers/link_ring.c",
                     "tests/unit/rig.c"]
        self.time = {}

    def objects(self, folder, flags):
        os.makedirs(folder, exist_ok=True)
        paths = self.core + self.rest + [f"tests/unit/{t}.c"
                                         for t in self.tests]
        list(self.pool.map(lambda p: compile_c(p, object_of(p, folder),
                                               flags), paths))

    def link(self, test, folder, out, flags, replaced=None, by=None):
        objs = [by if p == replaced else object_of(p, folder)
                for p in self.core + self.rest]
        r = sh(["gcc", *flags, object_of(f"tests/unit/{test}.c", folder),
                *objs, "-lcmocka", "-o", out])
        if r.returncode:
            raise RuntimeError(f"{test}: {r.stderr[:400]}")

    def prepare(self):
        self.objects(self.plain, CHECK)
        for test in self.tests:
            exe = os.path.join(self.plain, test)
            self.link(test, self.plain, exe, CHECK)
            start = time.monotonic()
            if sh([exe]).returncode:
                raise SystemExit(f"mutants: {test} is red without any")
            self.time[test] = time.monotonic() - start

    def coverage(self):
        """{(file, line): [tests, quickest first]} by gcov."""
        folder = os.path.join(WORK, "gcov")
        shutil.rmtree(folder, ignore_errors=True)
        self.objects(folder, ["-O0", "--coverage"])
        reach = collections.defaultdict(list)
        for test in sorted(self.tests, key=self.time.get):
            exe = os.path.join(folder, test)
            self.link(test, folder, exe, ["--coverage"])
            sh([exe])
            for path in self.core:
                for line in lines_run(path, folder):
                    reach[os.path.basename(path), line].append(test)
        return reach


def lines_run(path, folder):
    """Lines that ran since the counters were last taken, which this does."""
    data = object_of(path, folder)[:-2] + ".gcda"
    if not os.path.exists(data):
        return []
    r = sh(["gcov", "--json-format", "--stdout", data])
    os.unlink(data)
    found = json.loads(r.stdout or '{"files": []}')["files"]
    return [entry["line_number"] for f in found
            if os.path.basename(f["file"]) == os.path.basename(path)
            for entry in f["lines"] if entry["count"]]


# ------------------------------------------------------------------- killing

def reaches(m, text, reach):
    """Tests that run the line, or for a line that gcov gives to the first of a
    statement, one of the lines before it."""
    for line in range(m.line, max(0, m.line - 6), -1):
        if (m.file, line) in reach:
            return reach[m.file, line]
    return []


def run_test(exe, seconds):
    try:
        return sh([exe], timeout=seconds).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def judge(build, reach, killers, m):
    """(verdict, by whom)."""
    text = read(m.file)
    with tempfile.TemporaryDirectory(dir=WORK) as tmp:
        source = os.path.join(tmp, m.file)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text[:m.at] + m.new + text[m.at + m.length:])
        try:
            obj = compile_c(source, os.path.join(tmp, "mutant.o"), CHECK)
        except RuntimeError:
            return "invalid", "compiler"
        if same_code(build, m, obj):
            return "invalid", "same code"
        tests = reaches(m, text, reach)
        for test in tests:
            exe = os.path.join(tmp, test)
            build.link(test, build.plain, exe, CHECK, f"firmware/{m.file}",
                       obj)
            if run_test(exe, 2 + 10 * build.time[test]):
                return "killed", test
        for command in killers:
            env = dict(os.environ, MUTANT_TEXT=source, UNIC_ROOT=ROOT,
                       MUTANT_SOURCE=f"firmware/{m.file}")
            try:
                if sh(["sh", "-c", command], env=env).returncode:
                    return "killed", command.split()[0]
            except subprocess.TimeoutExpired:
                return "killed", command.split()[0]
    return ("survived" if tests else "not reached"), ""


def code_of(path):
    return sh(["objdump", "-d", "-r", "-s", "-j", ".text", "-j", ".rodata",
               path]).stdout.partition("\n\n")[2]


def same_code(build, m, obj):
    """The compiler sees no difference: nobody can. (Without checks of undefined
    behaviour, which name lines.)"""
    plain = object_of(f"firmware/{m.file}", build.plain)
    return code_of(obj) == code_of(plain)


# -------------------------------------------------------------------- report

def load(path, default):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return default


def store(results):
    tmp = RESULTS + ".new"
    with open(tmp, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=0)
    os.replace(tmp, RESULTS)


def line_of(m):
    return read(m.file).splitlines()[m.line - 1].strip()


def changed(m):
    text = read(m.file)
    start = text.rfind("\n", 0, m.at) + 1
    end = text.find("\n", m.at + m.length)
    return (text[start:m.at] + m.new + text[m.at + m.length:end]).strip()


def table(drawn, results):
    rows = collections.defaultdict(collections.Counter)
    said = verdicts()
    for m, k in drawn:
        if k in results and not said.get(k, "").startswith("equivalent"):
            rows[m.file][results[k][0]] += 1
            rows["all"][results[k][0]] += 1
    lines = ["| file | mutants | killed | survived | not reached | score |",
             "| --- | --- | --- | --- | --- | --- |"]
    for name in sorted(rows, key=lambda n: (n == "all", n)):
        c = rows[name]
        n = c["killed"] + c["survived"] + c["not reached"]
        lines.append(f"| {name} | {n} | {c['killed']} | {c['survived']} | "
                     f"{c['not reached']} | {100 * c['killed'] / (n or 1):.0f}"
                     " % |")
    c = rows["all"]
    n = c["killed"] + c["survived"] + c["not reached"]
    return lines, c["killed"] / (n or 1)


def verdicts():
    """{key: words} of lines "KEY words"."""
    try:
        with open(VERDICTS, encoding="utf-8") as f:
            rows = [line.split(None, 1) for line in f
                    if line.strip() and not line.startswith("#")]
            return {k: words.strip() for k, words in rows}
    except FileNotFoundError:
        return {}


def report(drawn, results, total, options):
    lines, score = table(drawn, results)
    said = verdicts()
    out = ["# Mutants", "",
           f"`make mutants SAMPLE={options.sample} SEED={options.seed}`: "
           f"{len(drawn)} drawn of {total} that can be made of the core; those "
           "that do not compile, compile to the same code, or were judged "
           "equivalent are left out. "
           "What a mutant is, and how it is judged: `tests/mutants.py`.", "",
           *lines, "", "## Survivors", "",
           "A verdict is \"equivalent\" (no test can tell) or \"test missing\"; "
           "it is in `tests/mutants.verdicts`.", ""]
    for m, k in drawn:
        if results.get(k, ("",))[0] in ("survived", "not reached"):
            out += [f"* `{m.file}:{m.line}` {m.kind}, {results[k][0]} "
                    f"(`{k}`): {said.get(k, 'not examined yet')}", "",
                    "      - " + line_of(m), "      + " + changed(m).replace(
                        "\n", "\n      + "), ""]
    with open(REPORT, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")
    return score


# ---------------------------------------------------------------------- main

def parse():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    ap.add_argument("--sample", type=int, default=420)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--file", help="only this one of firmware/")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--fresh", action="store_true")
    ap.add_argument("--report", action="store_true")
    ap.add_argument("--killer", action="append", default=[])
    return ap.parse_args()


def main():
    options = parse()
    os.makedirs(WORK, exist_ok=True)
    drawn, total = draw(options)
    results = {} if options.fresh else load(RESULTS, {})
    todo = [(m, k) for m, k in drawn if k not in results or options.killer and
            results[k][0] != "killed"]
    start, lock = time.monotonic(), threading.Lock()
    if todo:
        build = Build(options.jobs)
        build.prepare()
        reach = build.coverage()

        def one(pair):
            m, k = pair
            verdict = judge(build, reach, options.killer, m)
            with lock:
                results[k] = verdict
                store(results)
                if verdict[0] in ("survived", "not reached"):
                    print(f"{m.file}:{m.line} {verdict[0]} ({k})\n"
                          f"  - {line_of(m)}\n  + {changed(m)}", flush=True)

        list(build.pool.map(one, todo))
    lines, score = table(drawn, results)
    if options.report:
        report(drawn, results, total, options)
    print("\n".join(lines))
    print(f"{len(drawn)} of {total} mutants, {len(todo)} judged now in "
          f"{time.monotonic() - start:.0f} s, score {100 * score:.1f} %")
    return score < GOAL


if __name__ == "__main__":
    sys.exit(main())
