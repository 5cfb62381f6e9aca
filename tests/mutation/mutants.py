#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Slips made by a machine, of all of the product: a test must go red.

    mutants.py [--of syntax|tokens] [--sample N] [--jobs N] [--minutes N] [--only WORD]
               [--report]

--of syntax (unless told otherwise): those of a programmer, by rule over the syntax tree
(syntax.py); --of tokens: one token of firmware/ is another (tokens.py). N of all that can be
made are drawn: of each folder the same share, by a hash of the version of the tree
(tools/figures/version.py) and of what each is, so that whoever writes a test cannot choose.
One that does not compile, or of which the compiler makes the same code, is none: the next
of its folder is drawn. Who judges: killers.py.

The results are in docs/evidence/mutants-syntax.json or mutants-tokens.json: the version, and
each slip with its verdict, by whom, and what ran. Of one version they add up: who is stopped,
or was given --minutes, goes on there. No verdict is entered by hand; what was found out about
a survivor is beside it in mutants.verdicts, and counts as nothing. --only: those of files
whose path has WORD in it, which are not recorded. --report: only docs/evidence/mutants.md,
of what is recorded. Exit 1 below GOAL, or if not all are judged.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import queue
import shlex
import sys
import threading
import time

import graph
import killers
import mutant
import report
import syntax
import tokens

ROOT = killers.ROOT
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))
import version  # noqa: E402  pylint: disable=wrong-import-position

FOLDERS = ("firmware", "host_driver", "hal", "qemu/wire")
SKIP = ("icrc_table.c",)  # constants, compared with another implementation
GOAL = 0.85
TRIES = 40


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def sources(of):
    """Files that slips are made of."""
    for folder in FOLDERS if of == "syntax" else FOLDERS[:1]:
        for where, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".h") if of == "syntax" else ".c") and name not in SKIP:
                    yield os.path.relpath(os.path.join(where, name), ROOT)


# -------------------------------------------------------------------- all

class Commands:
    """How the text of each file is to be read."""

    def __init__(self):
        said = graph.make(ROOT, "-n", "-B", "V=1", "BUILD_ID=slip", "check-build")
        self.kernel = {s: (folder, syntax.arguments_of(words))
                       for s, (folder, words) in graph.kernel_commands().items()}
        self.of_source = {}
        for rule in graph.Graph(said).rules.values():
            if rule.source:
                self.of_source.setdefault(rule.source, rule.line)

    def of(self, path):
        """[(folder, arguments)]: those of the file; of a header, those of the sources near
        it, the nearest first."""
        if path in self.kernel:
            return [self.kernel[path]]
        if path in self.of_source:
            return [self.usual(path)]
        near = sorted((*self.of_source, *self.kernel), key=lambda s: (
            s != path[:-2] + ".c", -len(os.path.commonprefix((s, path))), s))
        return [self.kernel.get(s) or self.usual(s) for s in near[:TRIES]]

    def usual(self, source):
        return ROOT, syntax.arguments_of(shlex.split(self.of_source[source]))


def slips_of(path, ways):
    """As the first of @ways reads it that can."""
    for folder, arguments in ways:
        try:
            return slips_as(path, folder, arguments)
        except ValueError as e:
            error = e
    raise SystemExit(f"mutants: cannot read {error}")


def slips_as(path, folder, arguments):
    """Those of a file of the kernel are read where Kbuild reads it."""
    here = [a for a in arguments if folder == ROOT or not a.startswith("-I./")]
    here += [f"-I{folder}/{a[4:]}" for a in arguments if folder != ROOT and a.startswith("-I./")]
    here = [f"-I{ROOT}/{a[2:]}" if folder == ROOT and a.startswith("-I") and a[2] != "/" else a
            for a in here]
    return syntax.slips(path, read(path), here, ROOT)


def every(of):
    """{file: [(slip, key)]}"""
    if of == "tokens":
        return {p: keyed(p, tokens.mutants_of(p, read(p))) for p in sources(of)}
    commands = Commands()
    os.chdir(ROOT)  # -include build/...
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        futures = {p: pool.submit(slips_of, p, commands.of(p)) for p in sources(of)}
        return {p: keyed(p, f.result()) for p, f in futures.items()}


def keyed(path, found):
    text = read(path)
    return [(m, mutant.key(m, text)) for m in found]


# ------------------------------------------------------------------- draw

def shares(total_of, sample):
    """{folder: how many}: the same share of each, and @sample in all."""
    total = sum(total_of.values())
    exact = {f: sample * n / total for f, n in total_of.items()}
    out = {f: int(x) for f, x in exact.items()}
    rest = sorted(exact, key=lambda f: (out[f] - exact[f], f))
    for f in rest[:sample - sum(out.values())]:
        out[f] += 1
    return out


def draw(found, seed):
    """{folder: its slips in the order in which they are drawn}"""
    out = collections.defaultdict(list)
    for path, pairs in found.items():
        out[os.path.dirname(path)] += pairs
    for pairs in out.values():
        pairs.sort(key=lambda mk: hashlib.sha256(f"{seed} {mk[1]}".encode()).digest())
    return out


class Sample:
    """Hands out slips until of each folder as many are judged as it is to have."""

    def __init__(self, lots, wanted, results):
        self.lots, self.wanted, self.results = lots, wanted, results
        self.lock, self.out = threading.Lock(), set()

    def open(self, folder):
        """What counts of the folder, or may still."""
        return sum(k in self.out or self.counts(k) for _, k in self.lots[folder])

    def counts(self, k):
        return k in self.results and self.results[k]["verdict"] not in killers.NO_SLIP

    def next(self):
        """A slip; None when there is none now."""
        with self.lock:
            for folder, pairs in self.lots.items():
                if self.open(folder) >= self.wanted[folder]:
                    continue
                for m, k in pairs:
                    if k not in self.results and k not in self.out:
                        self.out.add(k)
                        return m, k
            return None

    def end(self, k, row):
        with self.lock:
            self.results[k] = row
            self.out.discard(k)


# ------------------------------------------------------------------ judge

def path_of(of):
    return os.path.join(ROOT, "docs", "evidence", f"mutants-{of}.json")


class Record:
    """What is recorded of a version; of another, nothing."""

    def __init__(self, of, name, sample, of_all, kept):
        self.path, self.kept = path_of(of), kept
        self.lock = threading.Lock()
        self.all = {"version": name, "sample": sample, "of": of_all, "seeds": killers.SEEDS,
                    "slips": {}}
        if kept and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as f:
                found = json.load(f)
            if found["version"] == name:
                self.all["slips"] = found["slips"]

    def store(self):
        if not self.kept:
            return
        with self.lock:
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                json.dump(self.all, f, indent=1, sort_keys=True)
                f.write("\n")
            os.replace(self.path + ".new", self.path)


def row_of(m, verdict, by, asked):
    was, now = mutant.shown(m, read(m.file))
    return {"file": m.file, "line": m.line, "kind": m.kind, "was": was, "now": now,
            "verdict": verdict, "by": by, "ran": asked}


def judge_all(sample, record, jobs, until):
    killer = killers.Killers(jobs, lambda what: print(
        f"  {what}", flush=True))
    idle = queue.SimpleQueue()
    for worker in killer.workers:
        idle.put(worker)

    def work():
        worker = idle.get()
        while time.monotonic() < until:
            pair = sample.next()
            if pair is None:
                return
            m, k = pair
            row = row_of(m, *killer.judge(m, read(m.file), worker))
            sample.end(k, row)
            record.store()
            print(f"  {row['verdict']:17}{row['by']:24}{m.kind:10}{m.file}:{m.line}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(work) for _ in range(jobs)]:
            done.result()


def parse():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--of", choices=("syntax", "tokens"), default="syntax")
    ap.add_argument("--sample", type=int, default=500)
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--minutes", type=int)
    ap.add_argument("--only", metavar="WORD")
    ap.add_argument("--report", action="store_true")
    return ap.parse_args()


def main():
    options = parse()
    if options.report:
        return report.write()
    os.makedirs(killers.WORK, exist_ok=True)
    name = version.version()
    found = every(options.of)
    if options.only:
        found = {p: pairs for p, pairs in found.items() if options.only in p}
    lots = draw(found, name)
    total = {f: len(pairs) for f, pairs in lots.items()}
    record = Record(options.of, name, options.sample, sum(total.values()), not options.only)
    wanted = shares(total, min(options.sample, sum(total.values())))
    sample = Sample(lots, wanted, record.all["slips"])
    judge_all(sample, record, options.jobs, time.monotonic() + 60 * (options.minutes or 1e6))
    record.store()
    if not options.only:
        report.write()
    rows = list(record.all["slips"].values())
    print("\n".join(report.table(rows)))
    rate = report.rate(rows)
    judged = sum(r["verdict"] not in killers.NO_SLIP for r in rows)
    print(f"{judged} of {options.sample} judged, of {sum(total.values())} of version {name}: "
          f"{100 * rate:.1f} % killed, goal {100 * GOAL:.0f} %")
    return judged < options.sample or rate < GOAL


if __name__ == "__main__":
    sys.exit(main())
