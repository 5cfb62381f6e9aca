#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Instruction counts of the hot paths on the Cortex-A15 and beside them on the
Cortex-M3, exact under -icount.

Compares each count with its budgets (docs/RESULTS.md, goals P4 and P6; the first for the
A15, the second for both) and with the count recorded in tests/bench/insn.json, and fails
when it is above one of them. Prints the goal beside the second budget.
`--record` accepts today's counts, and names the version they are of; `--runs N` repeats the run, every second one
beside a busy process, and demands identical counts (goal P12).
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import version

RECORD = os.path.join(HERE, "insn.json")
OVER = ("over budget", "over the second budget")
OUT = os.path.join(ROOT, "build", "bench", "insn.json")
SEMIHOST = "-semihosting-config enable=on,target=native -kernel"
QEMU_M3 = ("qemu-system-arm -M mps2-an385 -accel tcg -nodefaults "
           f"-display none -icount shift=10 {SEMIHOST}")
QEMU = ("qemu-system-arm -M virt,highmem=off,gic-version=2 -accel tcg "
        "-cpu cortex-a15 -smp 1,maxcpus=2 -m 128M -nodefaults -display none "
        f"-icount shift=0 {SEMIHOST}")


def run(image, qemu):
    p = subprocess.run(qemu.split() + [image], capture_output=True, text=True,
                       timeout=120)
    lines = [l.split() for l in (p.stdout + p.stderr).splitlines()
             if l.startswith("INSN ")]
    if p.returncode or not lines:
        sys.exit(f"insn: the image failed (exit {p.returncode}):\n"
                 f"{p.stdout}{p.stderr}")
    return {name: int(n) for _, name, n in lines}


def runs(image, qemu, count):
    first = run(image, qemu)
    for i in range(1, count):
        busy = None
        if i % 2:
            busy = subprocess.Popen([sys.executable, "-c",
                                     "while True: pass"])
        try:
            again = run(image, qemu)
        finally:
            if busy:
                busy.kill()
                busy.wait()
        if again != first:
            sys.exit(f"insn: run {i + 1} differs from run 1: " + ", ".join(
                f"{k} {first[k]} -> {again.get(k)}" for k in first
                if again.get(k) != first[k]))
    return first


def words(pair):
    """Of the A15, and of the M3 if there is one."""
    return " / ".join(str(n) for n in pair) or None


def report(counts, small, known, budgets):
    """@counts of the A15, @small of the M3. Returns those above a limit."""
    bad = []
    print(f"{'operation':28}{'A15':>8}{'recorded':>10}{'budget':>8}"
          f"{'M3':>8}{'recorded':>10}{'second budget':>14}{'goal':>14}")
    for name, n in counts.items():
        entry = known.get(name, {})
        budget, recorded = entry.get("budget"), entry.get("recorded")
        before = entry.get("recorded_m3")
        second, aim = entry.get("second", []), entry.get("goal", [])
        marks = []
        if budget is not None and n > budget:
            marks.append("over budget")
        if any(have > most for have, most in zip((n, small[name]), second)):
            marks.append("over the second budget")
        if recorded is not None and n > recorded:
            marks.append("above the recorded count")
        if before is not None and small[name] > before:
            marks.append("M3: above the recorded count")
        bad += [f"{name}: {m}" for m in marks
                if budgets or m not in OVER]
        print(f"{name:28}{n:>8}" + "".join(
            f"{'-' if v is None else v:>{width}}" for v, width in
            ((recorded, 10), (budget, 8), (small[name], 8), (before, 10),
             (words(second), 14), (words(aim), 14))) +
            "".join(f"  {m}" for m in marks))
    return bad


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--image", default=os.path.join(ROOT, "build", "bench",
                                                    "insn.elf"))
    ap.add_argument("--image-m3", default=os.path.join(
        ROOT, "build", "bench-mps2-an385", "insn.elf"))
    ap.add_argument("--runs", type=int, default=1)
    ap.add_argument("--record", action="store_true")
    ap.add_argument("--no-budget", action="store_true",
                    help="fail only above recorded counts")
    args = ap.parse_args()
    known = json.load(open(RECORD)) if os.path.exists(RECORD) else {}
    counts = runs(args.image, QEMU, args.runs)
    small = runs(args.image_m3, QEMU_M3, args.runs)
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    with open(OUT, "w") as f:
        json.dump({"a15": counts, "m3": small}, f, indent=1)
    if args.record:
        for name, n in counts.items():
            known.setdefault(name, {})["recorded"] = n
            known[name]["recorded_m3"] = small[name]
        known["version"] = version.version()
        with open(RECORD, "w") as f:
            json.dump(known, f, indent=1)
            f.write("\n")
    bad = report(counts, small, known, not args.no_budget)
    if args.runs > 1:
        print(f"{args.runs} runs, idle and loaded: identical counts")
    if bad:
        sys.exit("insn: " + "; ".join(bad) + "\nA count that rose on purpose "
                 "is accepted with tests/bench/insn.py --record; a budget "
                 "stays.")


if __name__ == "__main__":
    main()
