#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Where the instructions of eight 8-byte WRITEs go (send, receive, acknowledge,
complete), function by function: QEMU runs the image of the instruction counts
one instruction at a time and says where it is.

usage: profile.py [IMAGE]          (default build/bench/insn.elf)
"""
import bisect
import collections
import os
import re
import subprocess
import sys

from insn import QEMU

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
    os.path.dirname(os.path.dirname(HERE)), "build", "bench", "insn.elf")
# insn.c: the measured stretch begins where pump() is called for the first time
# after warm(), and ends in the code that takes the completions.
START, WARM, END = "pump", 100, ("take", "rig_cqe")
OPERATIONS = 8


def symbols():
    out = subprocess.run(["arm-none-eabi-nm", "-n", IMAGE], check=True,
                         capture_output=True, text=True).stdout
    pairs = [(int(a, 16), name) for a, kind, name in
             (line.split() for line in out.splitlines()
              if len(line.split()) == 3) if kind in "tT"]
    return [a for a, _ in pairs], [name for _, name in pairs]


def trace():
    """Addresses of all instructions, in order."""
    qemu = QEMU.split()
    qemu[-1:-1] = ["-singlestep", "-d", "exec,nochain", "-D", "/dev/stdout"]
    p = subprocess.Popen(qemu + [IMAGE], stdout=subprocess.PIPE, text=True,
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


def main():
    addresses, names = symbols()
    start = next(a for a, n in zip(addresses, names) if n.startswith(START))
    calls, count = 0, None
    for pc in trace():
        if pc == start:
            calls += 1
            if calls == WARM + 1:
                count = collections.Counter()
        if count is None:
            continue
        name = names[bisect.bisect_right(addresses, pc) - 1]
        if name.split(".")[0] in END:
            break
        count[name] += 1
    total = sum(count.values())
    print(f"{'function':32}{'per WRITE':>10}{'share':>8}")
    for name, n in count.most_common(30):
        print(f"{name:32}{n / OPERATIONS:>10.1f}{n / total:>8.1%}")
    print(f"{'all':32}{total / OPERATIONS:>10.1f}")


if __name__ == "__main__":
    main()
