#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The threads of a process on one context (tests/qemu/crowd.c), and its children
(tests/qemu/forks.c), with the loop-back provider, and with a bus and a NIC.

    test_process.py [--board soft|virt|none] [--only NAME] [--threads N]
"""
import argparse
import os
import subprocess
import sys
import tempfile

import hosts
import functions
import stops

BIN = os.environ.get("UNIC_BIN", hosts.BIN)
THREADS = 400
ROUNDS = 20


class Loop:
    """unicd without a NIC, as hosts.Hosts."""

    def __init__(self, tmp):
        self.sock = os.path.join(tmp, "unicd.sock")
        self.driver = subprocess.Popen(
            [f"{BIN}/unicd", "--provider", "loop", "--slots", "4", "--socket",
             self.sock], stdout=subprocess.PIPE)
        self.driver.stdout.readline()

    def socket(self, _host):
        return self.sock

    def end(self):
        self.driver.terminate()
        self.driver.wait(hosts.PATIENCE_S)
        self.driver.stdout.close()


def nic(board, tmp):
    rig = hosts.Hosts(board, None, tmp)
    try:
        rig.start_wire(*(["--direct"] if rig.links[0] == "shm" else []))
        rig.start_nic(0, show=False)
        rig.start_driver(0)
        rig.wait_nic(0)
    except BaseException:
        rig.end()
        raise
    return rig


def program(rig, name, *args):
    try:
        r = subprocess.run([f"{BIN}/{name}", rig.socket(0), *args],
                           capture_output=True, text=True, check=False,
                           timeout=4 * hosts.PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise hosts.Failure(f"{name} does not end") from None
    if r.returncode or r.stdout != "ok\n":
        raise hosts.Failure(f"{name}: exit {r.returncode}: {r.stdout} "
                            f"{r.stderr.strip()}")


def test_crowd(rig, opt):
    """None of four hundred threads waits for another one that is blocked."""
    program(rig, "crowd", str(opt.threads), str(ROUNDS))


def test_forks(rig, _opt):
    """A child has the memory of its parent as it was, and no part in the
    parent's context."""
    moves = "valgrind" not in BIN  # valgrind has no mremap() of files
    program(rig, "forks", *(["moved"] if moves else []))


TESTS = (test_crowd, test_forks)


def run(board, test, opt):
    with tempfile.TemporaryDirectory(prefix="unic-process-") as tmp:
        rig = nic(board, tmp) if board else Loop(tmp)
        try:
            test(rig, opt)
        finally:
            rig.end()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--only")
    ap.add_argument("--threads", type=int, default=THREADS)
    opt = ap.parse_args()
    return functions.run([
        (f"{t.__name__[5:]} on {b or 'loop'}",
         lambda b=b, t=t: stops.step(run, b, t, opt))
        for t in TESTS if opt.only in (None, t.__name__)
        for b in (None, opt.board) if b != "none"])


if __name__ == "__main__":
    sys.exit(main())
