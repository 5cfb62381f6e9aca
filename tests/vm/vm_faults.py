#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The Linux module when the kernel has no memory for it, under a kernel that
injects faults (make debug-kernel): each is an error, or none; nobody hangs, nothing
is left pinned or lost, and afterwards all is as before.

    vm_faults.py [--board soft|virt] [--cpus 1|2] [--only NAME ...]
"""
import os
import re
import sys
import time

import pair
import vm_blk
import vm_check
from hosts import BIN, IP, Failure
from vm_check import hog, must

DEBUG = "/sys/kernel/debug"
KINDS = ("failslab", "fail_page_alloc")
BOUND = "/sys/bus/pci/drivers/unic"
FUNCTION = "0000:00:01.0"
DISK = f"nic=0 addr={IP[1]} file={vm_blk.FILE} size=16M"
FOR_EVER = 0xffffffff  # -1, whichever of the two a kernel takes
PERCENT, SECONDS = 5, 20


class Faults(vm_blk.Blk):
    # Failed allocations, of the module or of the kernel itself, are no
    # complaint.
    HURT = re.compile(
        vm_check.HURT.pattern.replace("Call Trace|", "")
        .replace("debugging enabled", "debugging enabled|cacheline.*ENOMEM"))
    PROGRAMS = (*vm_blk.Blk.PROGRAMS, os.path.join(BIN, "nth"),
                os.path.join(BIN, "forms"))

    def begin(self):
        super().begin()
        if self.guest.ask(f"test -d {DEBUG}/failslab")[0]:
            raise Failure("this kernel injects no faults: make vm-debug")
        for kind in KINDS:
            # also allocations that may wait, and of one page; without messages
            self.guest.run(f"cd {DEBUG}/{kind} && echo 0 >verbose && "
                           f"echo N >ignore-gfp-wait && echo {FOR_EVER} >times && "
                           "(! test -e min-order || echo 0 >min-order)")
        self.guest.run(f"echo 0 >{DEBUG}/fail_usercopy/verbose")

    def text_of(self, module):
        """First and last address of its code."""
        _, size, _, _, _, start, *_ = self.guest.run(
            f"grep '^{module} ' /proc/modules").split()
        return int(start, 16), int(start, 16) + int(size)

    def shortage(self, modules, percent):
        """Let @percent of the allocations fail that these modules make, or
        that are made for them; 0: none."""
        spans = [self.text_of(m) for m in modules]
        first, last = min(s[0] for s in spans), max(s[1] for s in spans)
        for kind in KINDS:
            self.guest.run(f"cd {DEBUG}/{kind} && "
                           f"echo {first:#x} >require-start && "
                           f"echo {last:#x} >require-end && "
                           "echo 32 >stacktrace-depth && "
                           f"echo {percent} >probability")

    def plenty(self):
        for kind in KINDS:
            self.guest.run(f"echo 0 >{DEBUG}/{kind}/probability")

    def end_tasks(self):
        if self.guest.qemu.poll() is None:
            self.plenty()
            super().end_tasks()

    def nth(self, *args):
        """Let the allocations of an action fail, one after the other."""
        status, said = self.guest.ask("nth " + " ".join(f"'{a}'" for a in args),
                                      600)
        print(re.sub("^", "        ", said.rstrip(), flags=re.M), flush=True)
        must(not status, "see above")


# ---------------------------------------------------------------- the tests

def test_process(c):
    """The steps of a process, to its end."""
    for step in ("queues", "register", "read only", "demand", "batch", "fork",
                 "unmap", "deregister", "close"):
        c.nth(pair.NODE, step)
        c.nothing_pinned()


def test_open(c):
    """The open() of a process, and its HELLO."""
    c.nth(pair.NODE, "open")


def test_remove(c):
    """A NIC is unbound."""
    c.nth(f"{BOUND}/unbind", FUNCTION, f"{BOUND}/bind", FUNCTION)
    c.guest.wait_for(f"test -c {pair.NODE}")


def test_disk(c):
    """A disk is added."""
    c.nth("/sys/class/unicblk/add", DISK, "/sys/class/unicblk/remove", "0")


def test_load(c):
    """Processes come and go, and are served or refused."""
    c.shortage(("unic",), PERCENT)
    until = time.monotonic() + SECONDS
    turns = 0
    while time.monotonic() < until:
        for answer in ("release", "ignore"):
            hog(c, f"--answer={answer}", "--again", "--max", "512")
        c.guest.ask(f"forms {pair.NODE}", 60)
        for task in c.tasks:
            task.kill()
        while c.tasks:
            c.tasks.pop().wait(30)
        turns += 1
    c.plenty()
    print(f"        {turns} turns", flush=True)
    c.nothing_pinned()
    must(c.guest.run(f"forms {pair.NODE}", 60) == "forms: ok\n", "not ok")


def test_io(c):
    """A disk begins I/Os again for which there was no memory; none fails."""
    c.add("timeout_ms=60000", 8 * vm_blk.MIB)
    c.guest.run("head -c 4194304 /dev/urandom >/tmp/bytes")
    c.shortage(("unic", "unicblk"), PERCENT)
    c.guest.run(f"dd if=/tmp/bytes of={vm_blk.NODE} bs=256k oflag=direct", 120)
    c.guest.run(f"dd if={vm_blk.NODE} of=/tmp/back bs=256k count=16 "
                "iflag=direct", 120)
    c.plenty()
    c.guest.run("cmp /tmp/bytes /tmp/back", 60)
    must(not c.count("failed"), "an I/O failed")
    c.remove()


def main():
    o = vm_check.parser(__doc__).parse_args()
    tests = vm_check.tests_of(globals())
    return vm_check.run((lambda tmp: Faults(o.board, tmp, o.cpus),
                         {name: tests[name] for name in o.only}
                         if o.only else tests))


if __name__ == "__main__":
    sys.exit(main())
