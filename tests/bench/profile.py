#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Where the instructions of eight 8-byte WRITEs go (send, receive, acknowledge,
complete), function by function: QEMU runs the image of the instruction counts
one instruction at a time and says where it is.

--call N profiles another round of insn.c, counted from the eight WRITEs on:
1 is one WRITE alone, 2 to 5 are one WRITE of 4, 8, 16 and 32 KiB. --each N
divides by N operations (default 8 for call 0, else 1). --inlined counts by the
innermost inlined function and the function it was compiled into, --lines N
prints the N costliest source lines too.
"""
import argparse
import bisect
import collections
import os
import re
import subprocess
import sys

from insn import QEMU

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools", "figures"))

import record  # noqa: E402

SHOWN = 12
IMAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "bench",
                     "insn.elf")
# insn.c: a measured stretch begins where pump() is called, the first one after
# the calls of warm(), and ends in the code that takes the completions.
START, WARM, END = "pump", 100, ("take", "rig_cqe")


def symbols(image):
    out = subprocess.run(["arm-none-eabi-nm", "-n", image], check=True,
                         capture_output=True, text=True).stdout
    pairs = [(int(a, 16), name) for a, kind, name in
             (line.split() for line in out.splitlines()
              if len(line.split()) == 3) if kind in "tT"]
    return [a for a, _ in pairs], [name for _, name in pairs]


def trace(image):
    """Addresses of all instructions, in order."""
    qemu = QEMU.split()
    qemu[-1:-1] = ["-singlestep", "-d", "exec,nochain", "-D", "/dev/stdout"]
    p = subprocess.Popen(qemu + [image], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL, errors="replace")
    at = re.compile(r"/([0-9a-f]{8})/")
    try:
        for line in p.stdout:
            m = at.search(line) if line.startswith("Trace") else None
            if m:
                yield int(m.group(1), 16)
    finally:
        p.kill()
        p.wait()


def stretch(image, call):
    """How often each address is executed, and the function at an address."""
    addresses, names = symbols(image)
    start = next(a for a, n in zip(addresses, names) if n.startswith(START))

    def name_of(pc):
        return names[bisect.bisect_right(addresses, pc) - 1]

    calls, count = 0, None
    for pc in trace(image):
        if pc == start:
            calls += 1
            if calls == WARM + 1 + call:
                count = collections.Counter()
        if count is None:
            continue
        if name_of(pc).split(".")[0] in END:
            break
        count[pc] += 1
    return count, name_of


def by_line(image, count):
    """Counters: (inlined function, function it is in), (file:line, function)."""
    out = subprocess.run(["arm-none-eabi-addr2line", "-a", "-f", "-i", "-e",
                          image] + [hex(pc) for pc in count], check=True,
                         capture_output=True, text=True).stdout
    inlined, lines = collections.Counter(), collections.Counter()
    for block in re.split(r"^0x", out, flags=re.M)[1:]:
        pc, *frames = block.splitlines()
        n = count[int(pc, 16)]
        inlined[f"{frames[0]} < {frames[-2]}"] += n
        lines[f"{os.path.basename(frames[1])} {frames[0]}"] += n
    return inlined, lines


def table(title, counter, each, total, rows):
    print(f"{title:56}{'each':>10}{'share':>8}")
    for name, n in counter.most_common(rows):
        print(f"{name:56}{n / each:>10.1f}{n / total:>8.1%}")


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("image", nargs="?", default=IMAGE)
    ap.add_argument("--call", type=int, default=0)
    ap.add_argument("--each", type=int)
    ap.add_argument("--inlined", action="store_true")
    ap.add_argument("--lines", type=int, default=0, metavar="N")
    args = ap.parse_args()
    each = args.each or (1 if args.call else 8)
    count, name_of = stretch(args.image, args.call)
    total = sum(count.values())
    if args.inlined or args.lines:
        inlined, lines = by_line(args.image, count)
        table("inlined function < function", inlined, each, total, 60)
        if args.lines:
            table("line", lines, each, total, args.lines)
    else:
        functions = collections.Counter()
        for pc, n in count.items():
            functions[name_of(pc)] += n
        table("function", functions, each, total, 30)
        if args.image == IMAGE and not args.call and not args.each:
            record.table("bench-profile", "functions", ("function", "for each WRITE", "share"), [
                (f"`{name}`", f"{n / each:.1f}", f"{n / total:.1%}")
                for name, n in functions.most_common(SHOWN)])
    print(f"{'all':56}{total / each:>10.1f}")


if __name__ == "__main__":
    main()
