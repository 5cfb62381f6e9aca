#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""test_fair.py - every cell of the fairness matrix, each a test.

    test_fair.py [--only TEXT] [--jobs N]

Prints what the victim of each cell got, in per cent of what was due to it, and
counts the cells that did not run as failed. --only: cells whose name contains
TEXT ("attacker/victim/regime").
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import experiments  # noqa: E402
import fairness     # noqa: E402

PROGRAM = os.path.join(HERE, "../../build/bin/unic-eval")


def call(options):
    """What fair.c says, or the words with which it failed."""
    try:
        p = subprocess.run([PROGRAM, *experiments.argv("fair", **options)],
                           capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "does not end"
    rows = experiments.only(experiments.parse(p.stdout), "fair")
    if p.returncode or len(rows) != 1:
        return (p.stderr or "says nothing").strip()
    return rows[0]


def show(cell, row):
    """One line; True if the cell is as it should be."""
    name = "/".join(cell)
    if isinstance(row, str):
        print(f"  MISSED {name:42} did not run: {row}")
        return False
    ok = row["ok"] == "yes"
    unit = "ns at most" if cell[1] == "ping" else "B in 10 ms"
    print(f"  {'ok    ' if ok else 'MISSED'} {name:42} {row['pct']:>6} % of "
          f"{row['due']} {unit}; longest {row['longest_us']} us, link "
          f"{row['link_pct']} %, processor {row['cpu_pct']} %")
    return ok


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--jobs", type=int, default=2)
    args = p.parse_args()
    wanted = [c for c in fairness.cells() if args.only in "/".join(c)]
    rows = fairness.run_all(wanted, call, args.jobs)
    good = sum(show(c, rows.get(c, "absent")) for c in wanted)
    print(f"{good} passed, {len(wanted) - good} failed")
    return 0 if wanted and good == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
