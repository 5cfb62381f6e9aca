#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What should never happen, provoked: interrupts that are lost, frames that are
lost by the NIC, a firmware that dies, a NIC that should be asleep.

usage: test_faults.py [--board soft|virt]
"""
import os
import sys
import tempfile
import time

import hosts

BOARD = sys.argv[2] if len(sys.argv) > 2 else "soft"
IDLE_S, IDLE_MAX = 3.0, 0.02


class World(hosts.Hosts):
    """One host."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="unic-faults-")
        super().__init__(BOARD, "shm", self.folder.name)

    def __enter__(self):
        try:
            self.start_wire()
            self.start_nic(0, show=False)
            self.start_driver(0)
            self.wait_nic(0)
        except hosts.Failure:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end()
        self.folder.cleanup()

    def hog(self, who, *args):
        return self.start(who, "unic-hog", "--socket", self.socket(0), *args,
                          show=False)

    def stats(self):
        return self.ctl(0, "stats", "--all")["nic"]


def until(what, seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


def test_lost_interrupts():
    """The driver looks by itself: an answer or an upcall may be late, never
    lost, and never so late that the NIC gives the driver up (H)."""
    with World() as w:
        w.ctl(0, "fault", "drop-events", "8")
        # fills the TLB, so that the reaper asks for entries back
        w.hog("hog", "--answer=release", "--again").expect("holds .* entries")
        until("eight notices delivered", 5,
              lambda: w.stats()["notice_acks"] >= 8)
        stats = w.stats()
        assert stats["driver_failures"] == 0, "H ran out"
        assert stats["released"] > 0, "nobody heard the upcalls"
        assert w.ctl(0, "info")["nic"] == "ready"


def test_firmware_crash():
    """The host says where the firmware died, and that it did."""
    with World() as w:
        try:
            w.ctl(0, "fault", "crash")
        except hosts.Failure:
            pass  # nobody is left to answer
        until("crash seen", 6, lambda: w.ctl(0, "info")["nic"] != "ready")
        record = w.ctl(0, "crash")
        text = str(record)
        assert "cmd.c" in text, f"no place in the crash record: {text}"


def test_idle_nic_sleeps():
    with World() as w:
        pid = w.nics[0].child.pid

        def cpu():
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf(
                "SC_CLK_TCK")

        time.sleep(0.5)
        before = cpu()
        time.sleep(IDLE_S)
        used = (cpu() - before) / IDLE_S
        assert used <= IDLE_MAX, f"an idle NIC uses {used:.1%} of a core"


def main():
    tests = (test_lost_interrupts, test_firmware_crash, test_idle_nic_sleeps)
    failed = 0
    for test in tests:
        try:
            test()
            print(f"ok   {test.__name__}", flush=True)
        except (AssertionError, hosts.Failure) as e:
            failed += 1
            print(f"FAIL {test.__name__}: {e}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
