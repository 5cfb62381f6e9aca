#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""test_fair.py - every cell of the fairness matrix, each a test.

    test_fair.py [--only TEXT] [--jobs N]

Prints what the victim of each cell got, in per cent of what was due to it, and
counts the cells that did not run as failed. --only: cells whose name contains
TEXT ("attacker/victim/regime").
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import experiments  # noqa: E402
import fairness     # noqa: E402

PROGRAM = os.path.join(HERE, "../../build/bin/unic-eval")


def run(cell, alone=False):
    """What fair.c says, or the words with which it failed."""
    argv = [PROGRAM, *experiments.argv("fair", **fairness.options(
        *cell, alone=alone))]
    try:
        p = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "does not end"
    rows = experiments.only(experiments.parse(p.stdout), "fair")
    if p.returncode or len(rows) != 1:
        return (p.stderr or "says nothing").strip()
    return rows[0]


def show(cell, result):
    """One line; True if the cell is as it should be."""
    name = "/".join(cell)
    if isinstance(result, str):
        print(f"  MISSED {name:46} did not run: {result}")
        return False
    ok = result["ok"] == "yes"
    print(f"  {'ok    ' if ok else 'MISSED'} {name:46} {result['pct']:>6} % of "
          f"{result['due']}; longest {result['longest_us']} us, link "
          f"{result['link_pct']} %, processor {result['cpu_pct']} %, attacker "
          f"{result['attacker_ops']}")
    return ok


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--jobs", type=int, default=2)
    args = p.parse_args()
    cells = [c for c in fairness.cells() if args.only in "/".join(c)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        alones = fairness.alones()
        alone = dict(zip(alones, pool.map(lambda c: run(c, True), alones)))
        rows = dict(zip(cells, pool.map(run, cells)))
    good = 0
    for cell in cells:
        beside = alone[(fairness.alone_of(cell[0]), *cell[1:])]
        row = rows.get(cell, "absent")
        for part in (row, beside):
            if isinstance(part, str):
                row = part
        if not isinstance(row, str):
            row = fairness.judge(cell, row, beside)
        good += show(cell, row)
    print(f"{good} passed, {len(cells) - good} failed")
    return 0 if cells and good == len(cells) else 1


if __name__ == "__main__":
    sys.exit(main())
