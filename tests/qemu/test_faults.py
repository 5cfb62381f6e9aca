#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What should never happen, provoked: interrupts that are lost, frames that are
lost by the NIC, a firmware that dies, a NIC that should be asleep.

usage: test_faults.py [--board soft|virt|mps2-an385]
"""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

import hosts
import functions
import stops

BOARD = sys.argv[2] if len(sys.argv) > 2 else "soft"
IDLE_MAX = 0.02  # of a processor
STATE_AT, CRASHED = 116, 3  # in the BAR: struct unic_info, UNIC_NIC_CRASHED


class World(hosts.Hosts):
    """One host."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="unic-faults-")
        super().__init__(BOARD, None, self.folder.name)

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


def until(what, condition):
    end = time.monotonic() + hosts.PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"{what}: not for {hosts.PATIENCE_S} s"
        time.sleep(0.05)


def test_lost_interrupts():
    """The driver polls by itself: an answer or an upcall may be late, never lost, and
    never later than H, after which the NIC counts the driver as failed."""
    wrong = interrupts_lost()
    assert not wrong, wrong


def given_up(w):
    info = w.ctl(0, "info")
    return info["nic"] != "ready" or info["resets"] > 1


def interrupts_lost():
    """Return the failure."""
    with World() as w:
        w.ctl(0, "fault", "drop-events", "8")
        try:
            # another process is there: one that fills the TLB borrows, and is
            # asked
            w.hog("other", "--max=32").expect("holds .* entries")
            w.hog("hog", "--answer=release", "--again").expect("holds .* entries")
            until("eight notices delivered, or the driver given up",
                  lambda: w.stats()["notice_acks"] >= 8 or given_up(w))
        except hosts.Failure:
            if not given_up(w):
                raise  # else that is why
        return ("H ran out" if given_up(w) else
                "nobody heard the upcalls" if not w.stats()["released"] else
                None)


def test_firmware_crash():
    """The host prints where the firmware failed; a NIC that is a process ends as unic-nic(1) says."""
    with World() as w:
        try:
            w.ctl(0, "fault", "crash")
        except hosts.Failure:
            pass  # nobody is left to answer
        until("crash seen", lambda: w.ctl(0, "info")["nic"] != "ready")
        record = w.ctl(0, "crash")
        text = str(record)
        assert "cmd.c" in text, f"no place in the crash record: {text}"
        driver = next(p for p in w.running if p.who == "unicd 0")
        driver.expect(r"  \d+\.\d+ command SET_PARAMS cookie \d+ status ok$")
        if BOARD == "soft":
            assert w.nics[0].child.wait(hosts.PATIENCE_S) == os.EX_SOFTWARE, w.nics[0].child.returncode


def patch(pid, symbol, code):
    """Write over the beginning of a function of a running program."""
    exe = os.readlink(f"/proc/{pid}/exe")
    names = subprocess.run(["nm", exe], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    at = next(int(n.split()[0], 16) for n in names if n.endswith(" " + symbol))
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        base = int(next(m for m in f if m.rstrip().endswith(exe)).split("-")[0],
                   16)  # a checker's shadow memory may lie before it
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as mem:
        mem.seek(base + at)
        mem.write(code)
    return at


def crash_of(w, what):
    until("crash seen: " + what,
          lambda: w.ctl(0, "info")["nic"] != "ready")
    record = w.ctl(0, "crash")
    code = w.nics[0].child.wait(hosts.PATIENCE_S)
    return record, code


def test_signals():
    """A soft NIC that ends by a signal prints its name, and ends by that signal."""
    if BOARD != "soft" or os.uname().machine != "x86_64":
        return
    for code, sig, kind in ((b"\x0f\x0b", signal.SIGILL,
                             "undefined instruction"),
                            (b"\x31\xc0\xff\xe0", signal.SIGSEGV,
                             "prefetch abort"),
                            (b"\x31\xc0\x8b\x00", signal.SIGSEGV,
                             "data abort"),
                            (b"\x50\xeb\xfd", signal.SIGSEGV,
                             "stack overflow")):
        with World() as w:
            if "valgrind" in os.readlink(f"/proc/{w.nics[0].child.pid}/exe"):
                return  # the program is not where its symbols say
            at = patch(w.nics[0].child.pid, "unic_nic_poll", code)
            record, status = crash_of(w, sig.name + " " + kind)
            assert status == -sig, f"{sig.name}: exit status {status}"
            assert record["kind"] == kind, record
            place = record["file"].split("+0x")
            assert place[0].startswith(sig.name), record
            assert kind == "prefetch abort" or 0 <= int(
                place[1], 16) - at < 8, (record, hex(at))
    for sig in (signal.SIGABRT, signal.SIGBUS):
        with World() as w:
            os.kill(w.nics[0].child.pid, sig)
            record, status = crash_of(w, sig.name)
            assert status == -sig and record["file"].startswith(sig.name)


def test_crash_and_gone():
    """A NIC that crashes and leaves before the driver has looked again has crashed for the driver."""
    if BOARD != "soft":
        return
    with World() as w:
        driver, nic = (next(p for p in w.running if p.who == who) for who in ("unicd 0", "nic 0"))
        with open(w.path("bus0", "bus.json"), encoding="ascii") as f:
            bus = json.load(f)
        nic.child.send_signal(signal.SIGSTOP)
        with open(f"/proc/{bus['pid']}/fd/{bus['bar_fd']}", "r+b", buffering=0) as bar:
            bar.seek(STATE_AT)
            bar.write(struct.pack("<I", CRASHED))
        nic.child.kill()
        for line in ("the firmware crashed", "NIC left"):
            driver.expect(line)


def test_the_bus_is_gone():
    """A soft NIC without its bus ends with an error and a message; after SIGTERM it
    ends without."""
    if BOARD != "soft":
        return
    with World() as w:
        bus, nic = (next(p for p in w.running if p.who == who)
                    for who in ("bus 0", "nic 0"))
        bus.child.kill()
        assert nic.child.wait(hosts.PATIENCE_S) == 1
        nic.reader.join(timeout=hosts.PATIENCE_S)
        assert "the bus is gone" in nic.last(), nic.last()
    with World() as w:
        nic = w.nics[0].child
        nic.terminate()
        assert nic.wait(hosts.PATIENCE_S) == 0


def test_idle_nic_sleeps():
    with World() as w:
        used = hosts.least_share(w.nics[0].child.pid)
        assert used <= IDLE_MAX, f"an idle NIC uses {used:.1%} of a core"


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tests = (test_lost_interrupts, test_firmware_crash, test_signals,
             test_crash_and_gone, test_the_bus_is_gone, test_idle_nic_sleeps)
    return functions.run([(t.__name__[5:], lambda t=t: stops.step(t)) for t in tests])


if __name__ == "__main__":
    sys.exit(main())
