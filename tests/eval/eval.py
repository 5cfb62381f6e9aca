#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""eval.py - run the experiments of docs/evidence/evaluation.md and judge their goals.

    eval.py [--quick] [--out DIR] [--only NAME,...] [--plant NAME] [--report]

Every run is one call of unic-eval (or unic-scale under callgrind), with a seed,
in virtual time: the same tree gives the same bytes. Writes DIR/*.csv,
DIR/*.svg and DIR/versions.json, which version of the tree each experiment was
made of, and, if all experiments ran, DIR/../evaluation.md (in quick runs
DIR/evaluation.md). The exit code is 1 if a goal is missed that known.json does
not list, or if one is met that it does. --plant breaks something on purpose, so
that it can be tested that a goal is then missed; --report runs nothing and
judges and words again what is in DIR.
"""
import argparse
import concurrent.futures
import csv
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import experiments  # noqa: E402
import goals        # noqa: E402
import made         # noqa: E402
import report       # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def call(job):
    p = subprocess.run([os.path.join(ROOT, "build/bin/unic-eval"), *job.argv],
                       capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise RuntimeError(f"{' '.join(job.argv)}: {p.stdout[-500:]}"
                           f"{p.stderr}")
    return experiments.parse(p.stdout)


def run_all(jobs, workers):
    """Results of all jobs, in their order, whatever ends first."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda j: j.run(call), jobs))


def load(folder):
    return {name: [{k: experiments.value(v) for k, v in row.items()} for row in rows]
            for name, rows in report.load(folder).items() if name != "goals"}


def write_csv(path, rows):
    names = list(dict.fromkeys(k for row in rows for k in row))
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, names, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def collect(args, out, tables):
    """Run what was asked for; add its rows to tables. Each experiment's are
    written when it is over, so that one that fails costs no other."""
    for name, make in experiments.ALL.items():
        if args.only and name not in args.only:
            continue
        start = time.monotonic()
        jobs = make(args.quick, args.plant)
        for job, result in zip(jobs, run_all(jobs, args.jobs)):
            for table, rows in job.rows(result).items():
                tables.setdefault(table, []).extend(rows)
        for table, rows in tables.items():
            write_csv(os.path.join(out, f"{table}.csv"), rows)
        made.note(out, name)
        print(f"  {name}: {len(jobs)} runs, "
              f"{time.monotonic() - start:.0f} s", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--quick", action="store_true")
    p.add_argument("--out")
    p.add_argument("--only", type=lambda s: s.split(","))
    p.add_argument("--plant", choices=sorted(experiments.PLANTS))
    p.add_argument("--report", action="store_true")
    p.add_argument("--jobs", type=int, default=2)
    args = p.parse_args()
    out = args.out or os.path.join(ROOT, "build/eval-quick" if args.quick
                                   else "docs/evidence/eval")
    os.makedirs(out, exist_ok=True)
    tables = load(out) if args.report else {}
    if not args.report:
        collect(args, out, tables)
    judged = goals.judge(tables)
    tables["goals"] = judged
    for name, rows in tables.items():
        write_csv(os.path.join(out, f"{name}.csv"), rows)
    if not args.only:
        page = os.path.join(out if args.quick else os.path.dirname(out),
                            "evaluation.md")
        report.write(out, page)
    return goals.tell(judged)


if __name__ == "__main__":
    sys.exit(main())
