#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make bench-rxe`: Linux soft-RoCE on this machine, for comparison.

Runs perftest's RDMA WRITE in a guest (rxe_guest.py). The latency is that of a SEND with both sides
blocked: perftest's WRITE latency has both sides poll, and the guest has one
processor. Then two of our NICs in
QEMU on the shared-memory link, on the same machine in the same minute, and the
ratio that goal P5 is about. Writes build/bench/rxe.json.
"""
import argparse
import json
import os
import sys

import bench
import rxe_guest

MIB = 1.048576  # perftest's MB in ours
GOAL = 4
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import record  # noqa: E402

OUT = os.path.join(ROOT, "build", "bench")


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.makedirs(OUT, exist_ok=True)
    result = rxe_guest.measured()
    if len(result) < 5:
        sys.exit(f"bench-rxe: only {list(result)}: see build/rxe/console.log")
    ours = bench.measure("virt", "shm")
    rxe = MIB * max(row[3] for name, row in result.items()
                    if "bw" in name and row[0] >= 65536)
    ratio = ours["write1m_MBps"] / rxe
    result["ours / rxe, bulk"] = ratio
    with open(os.path.join(OUT, "rxe.json"), "w", encoding="ascii") as f:
        json.dump(result, f, indent=1)
    rows = [(f"rxe: {name}", f"{row[3]:.2f} MB/s" if "bw" in name else f"{row[4]:.2f} us")
            for name, row in list(result.items())[:-1]]
    record.table("bench-rxe", "all", ("", "found", "goal"), [
        *[(*row, "") for row in rows],
        ("two NICs of ours in QEMU: WRITEs of 1 MiB", f"{ours['write1m_MBps'] / MIB:.2f} MB/s", ""),
        ("the same / the best of rxe", f"{ratio:.1f} x", f">= {GOAL} x")])
    for name, row in list(result.items())[:-1]:
        # size, iterations, then MB/s peak and mean, or microseconds
        what = (f"{row[3]:8.2f} MB/s" if "bw" in name
                else f"{row[4]:8.2f} us one way, median")
        print(f"rxe   {name:36} {what}")
    print(f"ours  1 MiB WRITEs, two NICs in QEMU       "
          f"{ours['write1m_MBps'] / MIB:8.2f} MB/s\n"
          f"bulk, ours / the best of rxe: {ratio:.1f} x (goal: {GOAL})")


if __name__ == "__main__":
    main()
