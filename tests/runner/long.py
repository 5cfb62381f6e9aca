#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Run what takes too long for make check, each on a clean clone of the last
commit, and write what came out into docs/TESTING.md.

usage: long.py [--list] [--table] [--again] [NAME...]
    NAME: of a run (--list shows them), or of a group; none: all of them.
    --table: only write the table again from the results that are there.
    --again: also runs that passed on this version.

A result stays in docs/evidence/long.json, with the version it was seen on
(tools/figures/version.py), until the same run is made again; beside it NAME.txt has
the lines of its log that say how its parts went. So the runs of one version add up,
and who is stopped goes on there later. All that a run said is in
build/long/NAME.log. Ends in "N passed, N failed".
"""
import argparse
import fcntl
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import version

EVIDENCE = os.path.join(ROOT, "docs", "evidence")
RESULTS = os.path.join(EVIDENCE, "long.json")
PAGE = os.path.join(ROOT, "docs", "TESTING.md")
WORK = os.path.join(ROOT, "build", "long")
FUZZ = ("mbox", "queue", "frame", "driver", "unicd", "line", "ring")
# name: command
RUNS = {
    "check": "make check",
    **{f"sim-{n}": f"make sim FROM={(n - 1) * 10000 + 1} SEEDS=10000"
       for n in range(1, 11)},
    "models": "make models",
    "proofs": "make proofs",
    **{f"fuzz-{name}": f"make fuzz FUZZER={name} RUNS=1000000"
       for name in FUZZ},
    "conformance": "make conformance",
    "stags": "make stags",
    "mutations": "make mutations",
    "sim-mutants": "make sim-mutants",
    "proof-mutants": "make proof-mutants",
    "promises": "make promises",
    "vm-rdma-cm": "make vm-rdma-cm",
    "flash": "make flash-test",
    "coverage": "make coverage",
    "tsan": "make tsan",
    "valgrind": "make valgrind",
    "faults": "make faults",
    "kmod-semantic": "make kmod-semantic",
    "vm-check": "make vm-check",
    "vm-blk": "make vm-blk",
    "vm-endure": "make vm-endure",
    "vm-debug": "make vm-debug",
    "vm-breaks": "make vm-breaks",
}
GROUPS = {
    "sim": [name for name in RUNS if name.startswith("sim-")
            and name != "sim-mutants"],
    "fuzz": [name for name in RUNS if name.startswith("fuzz-")],
    "vm": [name for name in RUNS if name.startswith("vm-")],
}
SUM = re.compile(r"^\d+ passed, \d+ failed(?:, \d+ skipped)?(?:, \d+ repeated)?\s*$|"
                 r"^  \w+: \d+ executions$", re.M)
# Lines that tell how a part of a run went, and what was left out.
PART = re.compile(r"passed|executions|skipped|^==|\d ok\b|^ *(?:ok|FAIL\w*|MISSED)\b")
PARTS_MAX = 400
BEGIN, END = "<!-- made long -->\n\n", "\n<!-- end -->\n"


def git(*args):
    return subprocess.run(["git", "-C", ROOT, *args], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def clone(commit):
    """A clean clone of this commit, for this process alone."""
    tree = os.path.join(WORK, f"{commit}-{os.getpid()}")
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
    subprocess.run(["git", "-C", tree, "checkout", "-q", commit], check=True)
    return tree


def run(name, tree, its_version):
    """Makes one run; returns its row of the table."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with open(os.path.join(WORK, name + ".log"), "w+", encoding="utf-8",
              errors="replace") as log:
        code = subprocess.run(RUNS[name].split(), cwd=tree, stdout=log,
                              stdin=subprocess.DEVNULL, check=False,
                              stderr=subprocess.STDOUT).returncode
        log.seek(0)
        text = log.read()
    said = SUM.findall(text)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime - before.ru_utime -
             before.ru_stime)
    result = said[-1].strip() if said else "ok" if not code else "failed"
    if code and "failed" not in result:
        result += ", then failed"
    row = {"version": its_version, "result": result, "good": not code,
           "minutes": round((time.monotonic() - start) / 60, 1),
           "processor": round(spent / 60, 1)}
    write_summary(name, row, text)
    return row


def write_summary(name, row, text):
    lines = [line for line in text.splitlines() if PART.search(line)]
    left = len(lines) - PARTS_MAX
    if left > 0:
        lines = [f"({left} lines before these)", *lines[left:]]
    os.makedirs(EVIDENCE, exist_ok=True)
    with open(os.path.join(EVIDENCE, name + ".txt"), "w",
              encoding="utf-8") as file:
        file.write(f"{RUNS[name]}\nversion {row['version']}, "
                   f"{time.strftime('%Y-%m-%d')}, {row['minutes']} minutes, "
                   f"{os.cpu_count()} cores\n\n")
        file.writelines(line + "\n" for line in lines)


def keep(name, row):
    """Adds a row to the results; others may do so at the same time."""
    with open(os.path.join(WORK, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = results()
        rows[name] = row
        with open(RESULTS, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1, sort_keys=True)
            file.write("\n")
        write_table(rows)


def results():
    if not os.path.exists(RESULTS):
        return {}
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


def passed_on(its_version):
    return {name for name, row in results().items()
            if row["good"] and row["version"] == its_version}


def table(rows):
    """The lines of the table in the page."""
    lines = ["| command | version | result | minutes | of them processor |\n",
             "| --- | --- | --- | --- | --- |\n"]
    for name, command in RUNS.items():
        row = rows.get(name)
        if row:
            lines.append(f"| `{command}` | {row['version']} | {row['result']} "
                         f"| {row['minutes']} | {row['processor']} |\n")
    return lines


def write_table(rows):
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + "".join(table(rows)) + END + tail)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    if args.list:
        for name, command in RUNS.items():
            print(f"{name:<16}{command}")
        return 0
    if args.table:
        write_table(results())
        return 0
    chosen = [n for name in args.names or RUNS for n in GROUPS.get(name, [name])]
    unknown = [name for name in chosen if name not in RUNS]
    if unknown:
        sys.exit(f"long.py: no run {unknown[0]}; there are "
                 f"{', '.join([*RUNS, *GROUPS])}")
    os.makedirs(WORK, exist_ok=True)
    commit = git("rev-parse", "--short", "HEAD")
    its_version = version.of_commit(commit)
    if its_version != version.version():
        print(f"  what is not committed is not in it: {commit} runs")
    if not args.again:
        known = passed_on(its_version)
        print(*[f"  passed  {n:<16}on {its_version} before" for n in chosen if n in known],
              sep="\n", end="\n" * any(n in known for n in chosen))
        chosen = [n for n in chosen if n not in known]
    tree, passed = clone(commit), 0
    for name in chosen:
        row = run(name, tree, its_version)
        keep(name, row)
        passed += row["good"]
        print(f"  {'ok' if row['good'] else 'FAILED':<7}{name:<16}"
              f"{row['result']}, {row['minutes']} min"
              f"{'' if row['good'] else ': build/long/' + name + '.log'}",
              flush=True)
    shutil.rmtree(tree)
    print(f"{passed} passed, {len(chosen) - passed} failed")
    return 0 if passed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
