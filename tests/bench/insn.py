#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Instruction counts of the hot paths on the Cortex-A15, exact under -icount.

Compares each count with its budget (docs/RESULTS.md, goals P4 and P6) and with
the count recorded in tests/bench/insn.json, and fails when it is above either.
`--record` accepts today's counts; `--runs N` repeats the run, every second one
beside a busy process, and demands identical counts (goal P12).
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RECORD = os.path.join(HERE, "insn.json")
OUT = os.path.join(ROOT, "build", "bench", "insn.json")
QEMU = ("qemu-system-arm -M virt,highmem=off,gic-version=2 -accel tcg "
        "-cpu cortex-a15 -smp 1,maxcpus=2 -m 128M -nodefaults -display none "
        "-icount shift=0 -semihosting-config enable=on,target=native -kernel")


def run(image):
    p = subprocess.run(QEMU.split() + [image], capture_output=True, text=True,
                       timeout=120)
    lines = [l.split() for l in (p.stdout + p.stderr).splitlines()
             if l.startswith("INSN ")]
    if p.returncode or not lines:
        sys.exit(f"insn: the image failed (exit {p.returncode}):\n"
                 f"{p.stdout}{p.stderr}")
    return {name: int(n) for _, name, n in lines}


def runs(image, count):
    first = run(image)
    for i in range(1, count):
        busy = None
        if i % 2:
            busy = subprocess.Popen([sys.executable, "-c",
                                     "while True: pass"])
        try:
            again = run(image)
        finally:
            if busy:
                busy.kill()
                busy.wait()
        if again != first:
            sys.exit(f"insn: run {i + 1} differs from run 1: " + ", ".join(
                f"{k} {first[k]} -> {again.get(k)}" for k in first
                if again.get(k) != first[k]))
    return first


def report(counts, known, budgets):
    bad = []
    print(f"{'operation':34}{'count':>8}{'recorded':>10}{'budget':>8}")
    for name, n in counts.items():
        entry = known.get(name, {})
        budget, recorded = entry.get("budget"), entry.get("recorded")
        mark = ""
        if budget is not None and n > budget:
            mark = " over budget"
        elif recorded is not None and n > recorded:
            mark = " above the recorded count"
        if mark and (budgets or mark != " over budget" or (
                recorded is not None and n > recorded)):
            bad.append(f"{name}: {n}{mark}")
        print(f"{name:34}{n:>8}{recorded if recorded is not None else '-':>10}"
              f"{budget if budget is not None else '-':>8}{mark}")
    return bad


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--image", default=os.path.join(ROOT, "build", "bench",
                                                    "insn.elf"))
    ap.add_argument("--runs", type=int, default=1)
    ap.add_argument("--record", action="store_true")
    ap.add_argument("--no-budget", action="store_true",
                    help="fail only above recorded counts")
    args = ap.parse_args()
    known = json.load(open(RECORD)) if os.path.exists(RECORD) else {}
    counts = runs(args.image, args.runs)
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    with open(OUT, "w") as f:
        json.dump(counts, f, indent=1)
    if args.record:
        for name, n in counts.items():
            known.setdefault(name, {})["recorded"] = n
        with open(RECORD, "w") as f:
            json.dump(known, f, indent=1)
            f.write("\n")
    bad = report(counts, known, not args.no_budget)
    if args.runs > 1:
        print(f"{args.runs} runs, idle and loaded: identical counts")
    if bad:
        sys.exit("insn: " + "; ".join(bad) + "\nA count that rose on purpose "
                 "is accepted with tests/bench/insn.py --record; a budget "
                 "stays.")


if __name__ == "__main__":
    main()
