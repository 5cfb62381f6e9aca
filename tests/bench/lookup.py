#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The longest lookups of the TLB (tests/bench/lookup.c): instructions on the
Cortex-A15 and the Cortex-M3, cycles on the Cortex-M3.

Every instruction of the lookup is followed in QEMU, one by one. The Cortex-M3 has
published cycles for each (ARM DDI 0337, chapter 18): they are added up, with the
longest refill of the pipeline (3) at each taken branch, and memory that answers at
once. None are published for the Cortex-A15. Fails when the instructions followed
are not those that were counted, when a step of a chain costs more than STEP
instructions, or when docs/evidence/lookup.md says something else; `--table` writes
that.
"""
import os
import re
import subprocess
import sys

import insn

DOCUMENT = os.path.join(insn.ROOT, "docs", "evidence", "lookup.md")
STEP = {"a15": 8, "m3": 9}
WHERE = {"a15": ("bench", insn.QEMU), "m3": ("bench-mps2-an385", insn.QEMU_M3)}
REFILL = 3  # of the pipeline, at most
LOADS = ("ldr", "ldrh", "ldrb")
ONE_CYCLE = ("add", "sub", "mov", "lsl", "lsr", "ubfx", "cmp", "and", "orr",
             "bic", "it", "ite", "nop")
TEXT = """# The longest lookup of the TLB

`tests/bench/lookup.py --table` writes this page; `make bench-insn` and `make check` fail when it is not what is
measured. How an entry is found is in `firmware/memory/tlb.h`; the tables are those of `virt`: {all:,} entries, {regions:,}
regions. A lookup is the call of `unic_tlb_hit()`, alone.

Pages of one resident region never meet in a bucket, so a chain of resident pages has at most as many entries as there
are regions. A `demand` or `table` region may have many times more pages than there are buckets, and some of its own
pages meet: a process that holds all entries with such regions can have all of them in one bucket, if it finds out by
time which of its pages meet (the base of a region is random). Lookups of others in that bucket, one of {buckets:,}, then
cost as much.

| chain | case | A15, instructions | M3, instructions | M3, loads | M3, cycles |
| --- | --- | --: | --: | --: | --: |
{rows}

Cycles are those of the instructions that ran, by the table of ARM DDI 0337 for the Cortex-M3, with {refill} cycles for the
refill of the pipeline at each taken branch and memory without wait states. For the Cortex-A15 no cycles are published,
and QEMU has none: a step waits for two loads, one after the other, which lie in one line of the cache.
"""


def name_of(text):
    return text.split()[0].split(".")[0] if text else ""


def code(elf):
    """{address: (instruction, its operands)} of tlb_called()."""
    said = subprocess.run(["arm-none-eabi-objdump", "-d", "--no-show-raw-insn",
                           "--disassemble=tlb_called", elf],
                          capture_output=True, text=True, check=True).stdout
    return {int(at, 16): (name_of(what), what) for at, what in
            re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", said, re.M)}


def followed(elf, qemu, lines):
    """Addresses of each call of tlb_called(), in order."""
    first, last = min(lines), max(lines)
    log = elf + ".log"
    subprocess.run(qemu.split() + [elf, "-singlestep", "-d", "exec,nochain", "-D",
                                   log, "-dfilter",
                                   f"{first:#x}..{last:#x}"],
                   capture_output=True, timeout=120, check=True)
    with open(log, encoding="utf-8") as file:
        seen = [int(at, 16) for at in
                re.findall(r"^Trace .*?\[[0-9a-f]+/([0-9a-f]+)/", file.read(), re.M)]
    os.remove(log)
    calls = []
    for at in (a for a in seen if a in lines):
        if at == first:
            calls.append([])
        if calls[-1][-1:] != [at]:  # one that -icount stopped is told twice
            calls[-1].append(at)
    return calls


def cycles(call, lines):
    """Of the instructions at the addresses @call, on the Cortex-M3."""
    total, order = 0, sorted(lines)
    behind = dict(zip(order, order[1:]))
    for at, then in zip(call, call[1:] + [None]):
        name, what = lines[at]
        jumps = then != behind.get(at)
        if name in LOADS:
            total += 2
        elif name in ("push", "pop"):
            total += 1 + what.count(",") + 1 + (REFILL if "pc" in what else 0)
        elif name.startswith("b") and name not in ONE_CYCLE:
            total += 1 + (REFILL if jumps else 0)
        elif name.rstrip("sw") in ONE_CYCLE or name in ONE_CYCLE:
            total += 1
        else:
            sys.exit(f"lookup: no cycles are known for: {what}")
    return total


def measure(cpu):
    """{case: (instructions, loads, cycles)}, in the order of the image."""
    where, qemu = WHERE[cpu]
    elf = os.path.join(insn.ROOT, "build", where, "lookup.elf")
    counts, lines = insn.run(elf, qemu), code(elf)
    calls = followed(elf, qemu, lines)
    if len(calls) != len(counts):
        sys.exit(f"lookup: {len(calls)} calls followed, {len(counts)} counted")
    found = {}
    for (case, n), call in zip(counts.items(), calls):
        # its caller brings the arguments and jumps
        if not 0 <= n - len(call) <= 6:
            sys.exit(f"lookup: {case}: {n} instructions counted on {cpu}, "
                     f"{len(call)} followed")
        found[case] = (len(call), sum(lines[at][0] in LOADS for at in call),
                       cycles(call, lines) if cpu == "m3" else None)
    return found


def step_of(found):
    """Instructions of one step of the longest chain."""
    hits = {int(case[4:]): row[0] for case, row in found.items()
            if case.startswith("hit_")}
    short, long = sorted(hits)[1], max(hits)
    return (hits[long] - hits[short]) / (long - short)


def page(a15, m3):
    rows, sizes = [], sorted({int(case.split("_")[1]) for case in a15})
    words = {sizes[0]: "one entry: the usual case",
             sizes[1]: f"{sizes[1]:,}: a page of each region",
             sizes[-1]: f"{sizes[-1]:,}: all entries"}
    for case, (n, _, _) in a15.items():
        kind, size = case.split("_")
        rows.append(f"| {words[int(size)]} | {kind} | {n:,} | {m3[case][0]:,} | "
                    f"{m3[case][1]:,} | {m3[case][2]:,} |")
    return TEXT.format(rows="\n".join(rows), all=sizes[-1], regions=sizes[1],
                       buckets=2 * sizes[-1], refill=REFILL)


def main():
    found = {cpu: measure(cpu) for cpu in WHERE}
    text, bad = page(found["a15"], found["m3"]), []
    if sys.argv[1:] == ["--table"]:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
        return
    print("\n".join(line for line in text.splitlines() if line.startswith("|")))
    with open(DOCUMENT, encoding="utf-8") as file:
        if file.read() != text:
            bad.append("docs/evidence/lookup.md: another table "
                       "(lookup.py --table)")
    for cpu, most in STEP.items():
        if step_of(found[cpu]) > most:
            bad.append(f"{cpu}: a step of a chain costs {step_of(found[cpu]):.1f} "
                       f"instructions, above its bound of {most}")
    if bad:
        sys.exit("lookup: " + "; ".join(bad))


if __name__ == "__main__":
    main()
