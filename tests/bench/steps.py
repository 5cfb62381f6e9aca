#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The longest rounds of work (tests/bench/steps.c, steps_qp.c) against their bounds.

tests/bench/steps.json states for each the bound in instructions on the Cortex-A15
(tables of virt) and on the Cortex-M3 (tables of mps2-an385), and what it grows
with: "a constant" is a number of things that the code limits itself to, all else
is work for a whole table or ring in one round. Fails when a count is above its
bound, or has none, or when the table of docs/evidence/rounds.md says something
else; `--table` writes that.
"""
import json
import os
import sys

import insn

BOUNDS = os.path.join(insn.HERE, "steps.json")
DOCUMENT = os.path.join(insn.ROOT, "docs", "evidence", "rounds.md")
BEGIN, END = "<!-- steps.json -->", "<!-- end of steps.json -->"
IMAGES = "steps.elf", "steps_qp.elf"


def counts(where, qemu):
    """Counts of all images in build/@where."""
    return {name: n for image in IMAGES for name, n in insn.run(
        os.path.join(insn.ROOT, "build", where, image), qemu).items()}


def table(bounds):
    """The table of docs/evidence/rounds.md."""
    lines = ["| step | case | A15 | M3 | grows with |",
             "| --- | --- | --: | --: | --- |"]
    step = None
    for name, b in bounds.items():
        lines.append(f"| {b['step'] if b['step'] != step else ''} | `{name}` "
                     f"| {b['a15']:,} | {b['m3']:,} | {b['of']} |")
        step = b["step"]
    return "\n".join(lines)


def document(bounds, write):
    """True: the table of the document has these bounds. @write: make it so."""
    text = open(DOCUMENT).read()
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    new = text[:begin] + "\n\n" + table(bounds) + "\n\n" + text[end:]
    if write:
        with open(DOCUMENT, "w") as f:
            f.write(new)
    return write or new == text


def main():
    bounds = json.load(open(BOUNDS))
    if sys.argv[1:] == ["--table"]:
        document(bounds, True)
        return
    a15 = counts("bench", insn.QEMU)
    m3 = counts("bench-mps2-an385", insn.QEMU_M3)
    bad = [f"{name}: stated, not measured" for name in bounds
           if name not in a15]
    if not document(bounds, False):
        bad.append("docs/evidence/rounds.md: another table (steps.py --table)")
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
