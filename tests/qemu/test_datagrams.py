#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Two processes of two hosts find each other by datagrams (UD), and send and write
over an unreliable connection (UC) (tests/qemu/datagrams.c).

    test_datagrams.py [--board soft|virt]
"""
import argparse
import sys
import tempfile

import hosts
import stops


def types(rig, host):
    """Types of the queue pairs that the NIC has."""
    return sorted(row["type"] for row in rig.ctl(host, "qp"))


def talk(rig):
    answer = rig.start("answer", "datagrams", "answer", rig.socket(1),
                       show=False)
    ask = None
    try:
        qpn = answer.expect("at").split()[-1]
        assert types(rig, 1) == ["uc", "ud"], types(rig, 1)
        ask = rig.start("ask", "datagrams", "ask", rig.socket(0), hosts.IP[1],
                        qpn, show=False)
        ask.expect("datagrams: ok")
        answer.expect("datagrams: ok")
    finally:
        for p in (ask, answer):
            if p:
                p.end()


def run(board):
    with tempfile.TemporaryDirectory(prefix="unic-datagrams-") as tmp:
        rig = hosts.Hosts(board, "shm", tmp)
        try:
            rig.start_wire()
            rig.start_all()
            talk(rig)
        finally:
            rig.end()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    board = ap.parse_args().board
    try:
        stops.step(run, board)
    except (AssertionError, hosts.Failure) as e:
        print(f"datagrams on {board}: {e}\n0 passed, 1 failed")
        return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
