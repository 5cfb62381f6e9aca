#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs of the distribution that use verbs, unchanged, over one NIC of unic and between two: devices and
ping-pongs, also on board virt, and perftest. No object of theirs is left. Ends in "N passed, N failed".

    apps.py [--board soft|virt] [--only WORD]
"""
import argparse
import contextlib
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "qemu"))

import hosts  # noqa: E402
import functions  # noqa: E402
import stops  # noqa: E402
import test_verbs as verbs  # noqa: E402

BOARDS = ("soft", "virt")
ENDS = {"one NIC": (0, 0), "two NICs": (0, 1)}
PINGPONGS = [f"ibv_{kind}_pingpong -g 0 -n 20{flags}" for kind in ("rc", "uc", "ud", "srq")
             for flags in ("", " -e", " -c")]
# Of a bandwidth: eight queue pairs, both ways, all sizes. Atomic operations have one size.
BANDWIDTHS = [f"ib_{op}_bw {flags}" for op in ("write", "read", "send", "atomic")
              for flags in ("-n 200", "-n 100 -q 8", "-n 100 -b", "-n 5 -a") if (op, flags) != ("atomic", "-n 5 -a")]
LATENCIES = [f"ib_{op}_lat -n 50" for op in ("write", "read", "send", "atomic")]
SENDS = ["ib_send_bw -n 200 -e", "ib_send_bw -n 200 -c UC", "ib_send_bw -n 200 -c UD -s 1024", "ib_send_lat -n 50 -e",
         "ib_send_lat -n 50 -c UC", "ib_send_lat -n 50 -c UD", "ib_send_bw -n 200 --use-srq",
         "ib_send_bw -n 100 -q 4 --use-srq", "ib_atomic_bw -n 200 -A CMP_AND_SWAP -o 16"]
PERFTEST = [f"{line} -x 0 -F" for line in BANDWIDTHS + LATENCIES + SENDS]


def run(rig, line, ends):
    """@line at both @ends: rounds of ping-pongs, or a line of figures of whichever end has one."""
    said = verbs.pair(rig.socket(ends[0]), rig.socket(ends[1]), *line.split())
    if line.startswith("ibv"):
        good = all("20 iters" in text and "invalid data" not in text for text in said)
    else:
        good = any(re.search(r"^ *\d+ +\d+ +[\d.]+", text, re.M) for text in said)
    assert good, (line, said)
    verbs.nothing_left(rig)


def cases(board):
    yield f"devices, {board}", verbs.test_devices
    for line in PINGPONGS + PERFTEST * (board == "soft"):
        for name, ends in ENDS.items():
            yield f"{line}, {name} of {board}", lambda rig, a=(line, ends): run(rig, *a)


def start(board, stack):
    """Two hosts of @board, until the end of @stack."""
    tmp = stack.enter_context(tempfile.TemporaryDirectory(prefix="unic-apps-"))
    rig = hosts.Hosts(board, None, tmp)
    if board == "soft":  # perftest -a registers 16 MiB at a time
        rig.bus_options = lambda _: ["--slot-size", "256M"]
    stack.callback(rig.end)
    rig.start_wire("--direct")  # UC: what a switch drops nobody sends again
    rig.start_all()
    return rig


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--board", choices=BOARDS, help="soft and virt, if it is not said")
    ap.add_argument("--only", default="")
    opt = ap.parse_args()
    with contextlib.ExitStack() as stack:
        tests = []
        for board in [opt.board] if opt.board else BOARDS:
            rig = start(board, stack)
            tests += [(name, lambda c=case, r=rig: stops.step(c, r)) for name, case in cases(board) if opt.only in name]
        return functions.run(tests)


if __name__ == "__main__":
    sys.exit(main())
