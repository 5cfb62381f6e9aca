#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Windows, sub-regions, fast and indirect registration through libunic, driver
and a NIC that talks to itself (tests/qemu/forms.c).

    test_forms.py [--board soft|virt]
"""
import argparse
import subprocess
import sys
import tempfile

import hosts
import stops


def run(board):
    with tempfile.TemporaryDirectory(prefix="unic-forms-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        try:
            rig.start_wire("--direct")
            rig.start_nic(0, show=False)
            rig.start_driver(0)
            rig.wait_nic(0)
            out = subprocess.run([f"{hosts.BIN}/forms", rig.socket(0)],
                                 capture_output=True, text=True, timeout=90,
                                 check=False)
        finally:
            rig.end()
    if out.stdout != "forms: ok\n":
        raise hosts.Failure(out.stderr.strip() or f"exit {out.returncode}")


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    board = ap.parse_args().board
    try:
        stops.step(run, board)
    except hosts.Failure as e:
        print(f"forms on {board}: {e}\n0 passed, 1 failed")
        return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
