#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The longest rounds of work (tests/bench/steps.c) against their bounds.

tests/bench/steps.json states for each the bound in instructions on the Cortex-A15
(tables of virt) and on the Cortex-M3 (tables of mps2-an385), and what it grows
with: "a constant" is a number of things that the code limits itself to, all else
is work for a whole table or ring in one round. Fails when a count is above its
bound, or has none.
"""
import json
import os
import sys

import insn

BOUNDS = os.path.join(insn.HERE, "steps.json")
IMAGE = os.path.join(insn.ROOT, "build", "bench", "steps.elf")
IMAGE_M3 = os.path.join(insn.ROOT, "build", "bench-mps2-an385", "steps.elf")


def main():
    bounds = json.load(open(BOUNDS))
    a15 = insn.run(IMAGE, insn.QEMU)
    m3 = insn.run(IMAGE_M3, insn.QEMU_M3)
    bad = [f"{name}: stated, not measured" for name in bounds
           if name not in a15]
    print(f"{'longest round of work':34}{'A15':>8}{'bound':>8}"
          f"{'M3':>8}{'bound':>8}  grows with")
    for name, n in a15.items():
        b = bounds.get(name, {"a15": 0, "m3": 0, "of": "?"})
        over = n > b["a15"] or m3[name] > b["m3"]
        print(f"{name:34}{n:>8}{b['a15']:>8}{m3[name]:>8}{b['m3']:>8}"
              f"  {b['of']}{'  ABOVE' if over else ''}")
        if over:
            bad.append(f"{name}: above its bound")
    if bad:
        sys.exit("steps: " + "; ".join(bad))


if __name__ == "__main__":
    main()
