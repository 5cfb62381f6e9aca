#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Branches of the portable core and of the driver's core that the unit tests and
the corpora of the fuzzers take (programs in build/cov, made by `make coverage`).

Writes docs/evidence/coverage.md: a table by file, and every branch that nobody
takes, by function, with its reason. A reason is known for kinds of lines (an assertion,
...) or is given in coverage.txt, "file function: reason", * for the
functions of a file that have none of their own. A function without one, a
reason that nobody needs, or less than GOAL per cent is an error.
"""
import glob
import gzip
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import record
import version

GOAL = 90.0
COV = "build/cov"
PARTS = ("firmware", "host_driver/core")
REASONS = "tests/runner/coverage.txt"
OUT = "docs/evidence/coverage.md"

# What a line with an untaken branch says about itself.
KINDS = (
    (r"UNIC_ASSERT\(|^\s*unic_port_panic", "assertion: it holds"),
)


def run_programs():
    """All of them, from fresh counters. Returns the names that failed."""
    for path in glob.glob(COV + "/**/*.gcda", recursive=True):
        os.remove(path)
    failed = []
    for path in sorted(glob.glob(COV + "/bin/*")):
        name = os.path.basename(path)
        args = [path]
        if name.startswith("fuzz_"):
            args += glob.glob("tests/fuzz/*/" + name.removeprefix("fuzz_"))
        run = subprocess.run(args, capture_output=True, check=False)
        if run.returncode:
            failed.append(name)
    return failed


def gcov():
    """{file: {line: (function, [taken, ...])}} summed over all objects."""
    found = {}
    here = os.getcwd() + "/"
    for part in PARTS:
        for data in sorted(glob.glob(f"{COV}/{part}/**/*.gcda",
                                     recursive=True)):
            text = subprocess.run(["gcov", "--json-format", "--stdout",
                                   "--branch-probabilities", data],
                                  capture_output=True, check=True).stdout
            if text[:2] == b"\x1f\x8b":
                text = gzip.decompress(text)
            for file in json.loads(text)["files"]:
                name = file["file"].removeprefix(here)
                if not name.startswith(PARTS):
                    continue
                lines = found.setdefault(name, {})
                for line in file["lines"]:
                    add(lines, line)
    return found


def add(lines, line):
    key = (line["line_number"], line.get("function_name", ""))
    taken = [b["count"] for b in line["branches"]]
    old = lines.get(key)
    if old and len(old[0]) == len(taken):
        taken = [a + b for a, b in zip(old[0], taken)]
    count = line["count"] + (old[1] if old else 0)
    lines[key] = (taken, count)


def reasons():
    table = {}
    with open(REASONS, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                where, why = line.strip().split(": ", 1)
                table[tuple(where.split())] = why
    return table


def kind_of(text):
    for pattern, why in KINDS:
        if re.search(pattern, text):
            return why
    return None


def reason(why, name, function):
    return why.get((name, function)) or why.get((name, "*"))


def missed(found):
    """{(file, function): [(line, text, directions, why or None)]}"""
    out = {}
    for name, lines in sorted(found.items()):
        with open(name, encoding="utf-8") as file:
            source = file.read().split("\n")
        for (number, function), (taken, _) in sorted(lines.items()):
            gone = sum(1 for t in taken if not t)
            if not gone:
                continue
            text = source[number - 1].strip()
            out.setdefault((name, function), []).append(
                (number, text, gone, kind_of(text)))
    return out


def table(found):
    rows, total, hit = [], 0, 0
    for name, lines in sorted(found.items()):
        branches = [t for taken, _ in lines.values() for t in taken]
        good = sum(1 for t in branches if t)
        total += len(branches)
        hit += good
        if branches:
            rows.append(f"| {name} | {good} of {len(branches)} | "
                        f"{100 * good / len(branches):.1f} |")
    return rows, total, hit


def write(found, gaps, why):
    rows, total, hit = table(found)
    percent = 100 * hit / total
    record.values("coverage", "branches", taken=hit, all=total, percent=f"{percent:.1f}")
    with open(OUT, "w", encoding="utf-8") as out:
        print("# Branches that tests take", file=out)
        print(f"""
Written by `make coverage`; reasons are in {REASONS}. Counted by gcov without
optimisation over the unit tests and the corpora of the fuzzers, tables of the
size of boards/fake. Not counted here: the same tests on the target, the systems
of tests/qemu, the simulator.

**{hit} of {total} branches, {percent:.1f} %** (goal {GOAL:.0f} %), of version
{version.version()}.

| file | branches taken | % |
| --- | --- | --- |""", file=out)
        print("\n".join(rows), file=out)
        print("\n## Branches that nobody takes\n\nBy function; the number is "
              "the line.", file=out)
        last = None
        for (name, function), lines in sorted(gaps.items()):
            if name != last:
                print(f"\n### {name}\n", file=out)
                last = name
            said = {w for *_, w in lines if w}
            if any(not w for *_, w in lines):
                said |= {reason(why, name, function)} - {None}
            numbers = ", ".join(str(n) for n, *_ in lines)
            print(f"* `{function or '(header)'}` {numbers}: "
                  f"{'; '.join(sorted(said)) or 'NO REASON'}", file=out)
    return percent


def main():
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        return 0
    failed = run_programs()
    found = gcov()
    gaps = missed(found)
    why = reasons()
    percent = write(found, gaps, why)
    bad = [f"{name}: fails" for name in failed]
    for where, lines in gaps.items():
        if not reason(why, *where) and any(not w for *_, w in lines):
            bad.append(f"{where[0]} {where[1]}: branches not taken, no reason")
            if "-v" in sys.argv:
                bad += [f"    {n} {t}" for n, t, _, w in lines if not w]
    bad += [f"{REASONS}: {' '.join(w)}: all its branches are taken"
            for w in why if w not in gaps and
            not (w[1] == "*" and any(g[0] == w[0] for g in gaps))]
    if percent < GOAL:
        bad.append(f"{percent:.1f} % is less than {GOAL} %")
    print("\n".join(bad))
    print(f"{percent:.1f} % of branches; see {OUT}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
