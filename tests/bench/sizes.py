#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Flash, RAM and deepest stacks of each board's image, beside what they were at the
version that tests/bench/sizes.json was recorded at, and what there is.

Fails when an image is larger than its memory (the linker fails then, too), or a
stack can overflow. `--record` keeps today's figures for the next time.
"""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import record
import version

RECORD = os.path.join(HERE, "sizes.json")
ARM = "arm-none-eabi-"
BOARDS = ("virt", "mps2-an385", "lm3s6965evb")
WHAT = ("flash", "ram", "stack", "fault stack")
SECTION = re.compile(r"^\s*\[\s*\d+\] (\S+)\s+(\w+)\s+([0-9a-f]+) [0-9a-f]+ "
                     r"([0-9a-f]+) \S+\s+(W?A\w*)", re.M)
REGION = re.compile(r"^\t\w+ \(r[xw]\) : .*LENGTH = (\d+)K", re.M)
STACK = re.compile(r"^stack of .*: (\d+) of (\d+) bytes", re.M)


def text_of(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True,
                          cwd=ROOT).stdout


def memory(board, elf):
    """Bytes that are kept without power (of virt, the read-only ones: it has
    all in RAM), and those from the first to the last that is written."""
    flash, first, end = 0, None, 0
    for _, kind, at, size, flags in SECTION.findall(
            text_of(ARM + "readelf", "-SW", elf)):
        at, size = int(at, 16), int(size, 16)
        if kind == "PROGBITS" and ("W" not in flags or board != "virt"):
            flash += size
        if "W" in flags and size:
            first = at if first is None else min(first, at)
            end = max(end, at + size)
    return flash, end - (first or 0)


def stacks(board, elf):
    """Of a Cortex-M: the deepest paths, and the room that they have."""
    folders = [f"build/{board}/{part}" for part in ("firmware", "hal")]
    if board == "virt":  # its calls are known when it is linked, not before
        return [None, None], [None, None]
    found = STACK.findall(text_of("tools/check/stack_depth.py", elf, *folders))
    return [int(n) for n, _ in found], [int(n) for _, n in found]


def measure(board):
    elf = f"build/{board}/unic.elf"
    if not os.path.exists(os.path.join(ROOT, elf)):
        sys.exit(f"sizes: {elf} is missing; make it: make BOARD={board} image")
    with open(os.path.join(ROOT, "ld", board + ".ld"), encoding="ascii") as f:
        limits = [int(k) << 10 for k in REGION.findall(f.read())]
    deep, room = stacks(board, elf)
    return (dict(zip(WHAT, [*memory(board, elf), *deep])),
            dict(zip(WHAT, limits + room)))


def table(now, limits, record):
    bad = []
    print(f"bytes (change since {record['version']})")
    print(f"{'board':14}" + "".join(f"{w:>34}" for w in WHAT))
    for board, sizes in now.items():
        cells = ""
        for w in WHAT:
            n, most = sizes[w], limits[board][w]
            if n is None:
                cells += f"{'-':>34}"
                continue
            was = record["boards"].get(board, {}).get(w)
            change = "new" if was is None else f"{n - was:+}"
            cells += f"{f'{n} ({change}) of {most}':>34}"
            if n > most:
                bad.append(f"{board}: {w}: {n} of {most} bytes")
        print(f"{board:14}{cells}")
    return bad


def keep(measured):
    """For docs/RESULTS.md, which `make figures` writes."""
    record.table("sizes", "all", ("board", *WHAT), [
        (f"`{board}`", *["" if sizes[w] is None else f"{sizes[w]:,} of {most[w]:,}" for w in WHAT])
        for board, (sizes, most) in measured.items()])


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--record", action="store_true")
    args = ap.parse_args()
    measured = {board: measure(board) for board in BOARDS}
    now = {board: m[0] for board, m in measured.items()}
    record = {"version": "nothing", "boards": {}}
    if os.path.exists(RECORD):
        with open(RECORD, encoding="ascii") as f:
            record = json.load(f)
    bad = table(now, {board: m[1] for board, m in measured.items()}, record)
    if args.record:
        with open(RECORD, "w", encoding="ascii") as f:
            keep(measured)
            json.dump({"version": version.version(), "boards": now}, f, indent=1)
            f.write("\n")
    if bad:
        sys.exit("sizes: " + "; ".join(bad))


if __name__ == "__main__":
    main()
