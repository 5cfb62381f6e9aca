#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Check the Spin models: each must hold, each of its mutants must not.

usage: check.py small|full [MODEL...]

A model says in its comments what is to be run:

    @bounds small: -DX=1 ...          and "full"; more than one is allowed
    @ltl NAME small: -DX=1 ...        a property, under weak fairness
    @mutant N: [NAME:] INV-n: words   fails on INV-n (of the ltl NAME)
    @mutant N (-DX=2): ...            with bounds of its own

Every search is exhaustive. A mutant (-DMUTANT_N) counts as caught only if its
trail, replayed, ends in an assertion or a property marked with the invariant
named. In the full bounds every statement must have been reached, unless its
line says "never". The invariants cited must be those of docs/DESIGN.md.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build", "models")
JOBS = 2
MEMORY_MB = 3800
SPACE = {"small": ["-m200000", "-w22"], "full": ["-m4000000", "-w26"]}
TIMEOUT = {"small": 240, "full": 1800}
TAG = re.compile(r"INV-\d+")


class Run:
    """One search: a model, its bounds, perhaps a mutant, perhaps an ltl."""

    def __init__(self, model, size, bounds, ltl=None, mutant=None, tag=None):
        self.model, self.size, self.bounds = model, size, bounds
        self.ltl, self.mutant, self.tag = ltl, mutant, tag
        self.key = "-".join(filter(None, (
            model, size, ltl, mutant and f"mutant{mutant}",
            f"{zlib.crc32(bounds.encode()):08x}")))
        self.own = False  # bounds
        self.seconds = 0.0
        self.why = ""
        self.out = ""

    def name(self):
        what = f"mutant {self.mutant}" if self.mutant else self.size
        return f"{self.model} {what}" + (f" ({self.ltl})" if self.ltl else "")

    def number(self, pattern):
        found = re.findall(pattern, self.out)
        return float(found[-1]) if found else 0.0


def source(model):
    with open(os.path.join(HERE, model + ".pml"), encoding="utf-8") as file:
        return file.read()


def runs_of(model, size):
    text = source(model)
    runs = [Run(model, size, b)
            for b in re.findall(rf"@bounds {size}: (.*)", text)]
    runs += [Run(model, size, b, ltl=name)
             for name, b in re.findall(rf"@ltl (\w+) {size}: (.*)", text)]
    small = re.findall(r"@bounds small: (.*)", text)[0]
    for number, own, ltl, tag in re.findall(
            r"@mutant (\d+)(?: \((.*?)\))?: (?:(\w+): )?(INV-\d+):", text):
        runs.append(Run(model, "small", own or small, ltl or None, number, tag))
        runs[-1].own = bool(own)
    return runs


def spin(run, *words):
    define = [f"-DMUTANT_{run.mutant}"] if run.mutant else []
    return ["spin", *words, *run.bounds.split(), *define, run.model + ".pml"]


def call(command, folder, timeout):
    done = subprocess.run(command, cwd=folder, timeout=timeout, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    return done.stdout


def optimisation(run):
    """Most mutants are caught before a good compiler would be done."""
    if run.size == "full":
        return "-O2"
    return "-O0" if run.mutant and not run.own else "-O1"


def search(run, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shutil.copy(os.path.join(HERE, run.model + ".pml"), folder)
    said = call(spin(run, "-a"), folder, 60)
    kind = ["-DNFAIR=4"] if run.ltl else ["-DSAFETY"]
    if run.ltl is None:
        kind.append("-DNOCLAIM")
    said += call(["gcc", optimisation(run), "-w", "-DCOLLAPSE",
                  f"-DMEMLIM={MEMORY_MB}", "-DVECTORSZ=4096", *kind,
                  "-o", "pan", "pan.c"], folder, 120)
    if not os.path.exists(os.path.join(folder, "pan")):
        return said
    how = ["-a", "-f", "-N", run.ltl] if run.ltl else []
    if run.mutant and not run.ltl:
        how.append("-E")  # an assertion must say it
    return said + call(["./pan", *SPACE[run.size], *how], folder,
                       TIMEOUT[run.size])


def tag_at(text, line):
    """The invariant next to a line, or shortly above it."""
    lines = text.splitlines()
    for at in range(line - 1, max(line - 4, -1), -1):
        found = TAG.findall(lines[at])
        if found:
            return found
    return []


def tags_of_trail(run, folder):
    text = source(run.model)
    if run.ltl:
        at = text[:text.index(f"\nltl {run.ltl} ")].count("\n") + 2
        return tag_at(text, at)
    replay = call(spin(run, "-t"), folder, 60)
    found = re.findall(r"\.pml:(\d+), Error: assertion violated", replay)
    return tag_at(text, int(found[0])) if found else []


def unreached(run):
    lines = source(run.model).splitlines()
    missed = []
    for line, what in re.findall(r"\.pml:(\d+), state \d+, \"(.*)\"", run.out):
        if what != "-end-" and "never" not in lines[int(line) - 1]:
            missed.append(f"{line}: {what}")
    return missed


def verdict(run, folder):
    """Empty if the run went as it should."""
    errors = re.findall(r"errors: (\d+)", run.out)
    if not errors:
        return "no result: " + run.out.strip()[-300:]
    if run.mutant:
        if errors[-1] == "0":
            return "not caught"
        tags = tags_of_trail(run, folder)
        return "" if run.tag in tags else f"fails on {tags}, not on {run.tag}"
    if errors[-1] != "0":
        shown = re.findall(r"pan:1: (.*)", run.out)
        return f"fails: {shown[0] if shown else '?'}; trail in {folder}"
    if re.search(r"max search depth too small|Search not completed|"
                 r"out of memory|hash table full", run.out):
        return "the search is not complete"
    if run.size == "full" and not run.ltl and unreached(run):
        return "never reached: " + "; ".join(unreached(run)[:5])
    return ""


def check(run):
    folder = os.path.join(WORK, sys.argv[1], run.key)
    start = time.monotonic()
    try:
        run.out = search(run, folder)
        run.why = verdict(run, folder)
    except subprocess.TimeoutExpired:
        run.why = f"not finished after {TIMEOUT[run.size]} s"
    run.seconds = time.monotonic() - start
    if not run.why:
        shutil.rmtree(folder)
    return run


def show(run):
    states = run.number(r"(\S+) states, stored")
    depth = run.number(r"depth reached (\d+)")
    memory = run.number(r"([\d.]+)\s+total actual memory")
    word = "FAILED" if run.why else "caught" if run.mutant else "holds"
    print(f"  {word:<7}{run.name():<28}{run.tag or '':<8}{states:>11,.0f} states"
          f"{depth:>9,.0f} deep{memory:>8.0f} MB{run.seconds:>8.1f} s",
          flush=True)
    if run.why:
        print(f"         {run.why}")


def unknown_tags(models):
    with open(os.path.join(ROOT, "docs", "DESIGN.md"), encoding="utf-8") as f:
        known = set(re.findall(r"^\| (INV-\d+) \|", f.read(), re.M))
    return {t for m in models for t in TAG.findall(source(m))} - known


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in TIMEOUT:
        sys.exit(__doc__)
    models = sys.argv[2:] or sorted(
        os.path.basename(p)[:-4] for p in glob.glob(HERE + "/*.pml"))
    runs = [r for m in models for r in runs_of(m, sys.argv[1])]
    failed = 0
    # the large searches one after the other, for their memory
    for jobs, part in ((JOBS if sys.argv[1] == "small" else 1,
                        [r for r in runs if not r.mutant]),
                       (JOBS, [r for r in runs if r.mutant])):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for run in pool.map(check, part):
                show(run)
                failed += bool(run.why)
    unknown = unknown_tags(models)
    print(f"  {'FAILED' if unknown else 'ok':<7}invariants as in docs/DESIGN.md"
          + (f": {sorted(unknown)} are not there" if unknown else ""))
    failed += bool(unknown)
    print(f"{len(runs) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
