#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The Linux module for long: loaded and unloaded, its NIC reset and removed under
load, its users killed at random, and a NIC that lies a million times, also to a disk
that is in use. Nothing is pinned afterwards, no memory lost, and the kernel has
complained of nothing.

    vm_endure.py [--board soft|virt] [--cpus 1|2] [--quick] [--seed N]
                 [--only NAME ...]
"""
import os
import random
import re
import subprocess
import sys
import time

import pair
from hangs import Hangs
from hosts import BIN, IP, Process
import vm_blk
import vm_check
from vm_check import STATE, hog, must, no_hang

LOADS, TURNS, LIES, LIES_TO_DISK = 200, 30, 1000000, 4000
QUICK = 20  # --quick: one in so many of these
DEVICE = "/sys/bus/pci/devices/0000:00:01.0"
RESET = "/sys/class/unic/unic0/reset"
HOW = f"--socket {pair.NODE} --peer {IP[1]} --quiet"
WRONG = "err=84|verify failed|bad magic|bad header|bad verify"  # words of fio
# Lost by LOADS loads at most: the slabs of the kernel are never quite the same.
LOST_KIB = 2048


class Endure(vm_blk.Blk):
    PROGRAMS = (*vm_blk.Blk.PROGRAMS, os.path.join(BIN, "gaps"))
    COMMAND_LINE = vm_check.CAREFUL
    OPTIONS = "deliver_us=500000"  # H: a lie hides events for so long

    def __init__(self, o, tmp):
        super().__init__(o.board, tmp, o.cpus)
        self.random = random.Random(o.seed)
        self.part = QUICK if o.quick else 1

    def memory_kib(self):
        """Memory of the kernel that a module could lose."""
        self.guest.run("echo 3 >/proc/sys/vm/drop_caches")
        said = self.guest.run(
            "grep -E '^(SUnreclaim|Percpu|KernelStack|PageTables|VmallocUsed):' "
            "/proc/meminfo")
        return sum(int(n) for n in re.findall(r"(\d+) kB", said))

    def load_it(self):
        """Two hogs that fill the table and a file that goes over and over."""
        for answer in ("release", "ignore"):
            hog(self, f"--answer={answer}", "--again", "--max", "512")
        self.guest.run("test -e /tmp/file || "
                       "head -c 2000000 /dev/urandom >/tmp/file")
        copy = f"unic-copy put /tmp/file --name file {HOW}"
        self.tasks.append(pair.guest.Task(
            self.guest, ["sh", "-c", f"while :; do {copy}; done"]))

    def end_tasks(self):
        super().end_tasks()
        killed(self)

    def ready(self, seconds=15):
        self.guest.wait_for(f"unicctl --socket {pair.NODE} info | "
                            "grep -q ready", seconds)

    def begin(self):
        super().begin()
        self.ready()
        served = self.path("served")
        os.makedirs(served, exist_ok=True)
        self.start("server", "unic-copy", "serve", "--dir", served, "--socket",
                   self.socket(1), show=False).expect("ready")
        self.beside.clear()  # it serves all tests


# ---------------------------------------------------------------- the tests

def test_loads(c):
    """Loaded, used, unloaded: nothing is pinned, no memory lost."""
    before = None
    c.guest.run("rmmod unicblk unic")
    for turn in range(LOADS // c.part):
        c.load()
        if turn % 4 == 0:
            hog(c, "--max", "64").expect("holds")
            c.end_tasks()
        c.guest.wait_for("rmmod unic")
        c.nothing_pinned()
        if turn == 4:  # what is made once has been made
            before = c.memory_kib()
    if before:
        lost = c.memory_kib() - before
        print(f"        {LOADS // c.part} loads: {lost:+} KiB", flush=True)
        must(lost < LOST_KIB, f"{lost} KiB lost")
    c.load()
    c.guest.run("modprobe unicblk")


def under_load(action):
    """A test that does @action again and again while programs use the NIC."""
    def test(c):
        for _ in range(max(2, TURNS // c.part)):
            c.load_it()
            time.sleep(c.random.random() * 0.5)
            action(c)
            c.ready()
            time.sleep(c.random.random() * 0.2)
            c.end_tasks()
            c.nothing_pinned()
    return test


def reset(c):
    for _ in range(3):
        c.guest.run(f"echo 1 >{RESET}")
        time.sleep(c.random.random() * 0.1)


def nobody_left(c):
    """Wait until the users of a removed device have got errors and ended, so
    that its number is free."""
    c.guest.wait_for("! pidof unic-hog")
    c.end_tasks()


def remove(c):
    """The function is removed and found again."""
    c.guest.run(f"echo 1 >{DEVICE}/remove")
    nobody_left(c)
    c.guest.run("echo 1 >/sys/bus/pci/rescan")
    c.guest.wait_for(f"test -c {pair.NODE}")


def unbind(c):
    c.guest.run("echo 0000:00:01.0 >/sys/bus/pci/drivers/unic/unbind")
    nobody_left(c)
    c.guest.run("echo 0000:00:01.0 >/sys/bus/pci/drivers/unic/bind")
    c.guest.wait_for(f"test -c {pair.NODE}")


def replug(c):
    c.nics[0].child.kill()
    c.nics[0].end()
    c.nics[0] = c.plug_nic(0, show=False)


def killed(c):
    c.guest.ask("killall -9 unic-hog; killall -9 unic-copy")


test_resets = under_load(reset)
test_removals = under_load(remove)
test_unbinds = under_load(unbind)
test_new_nics = under_load(replug)
test_kills = under_load(killed)


def liar(c, lies, more, *how):
    """Start liar.py with options @how, and add a disk with options @more."""
    p = Process(c.line, "liar", [
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "liar.py"),
        "--bus", c.path("bus0"), "--seed", str(c.random.getrandbits(31)),
        "--lies", str(lies // c.part), *how], show=False,
        stdin=subprocess.PIPE)
    c.running.append(p)
    p.expect("watches")
    c.add(more)
    p.expect("found")
    p.child.stdin.close()
    return p


def use_disk(c, options):
    """Run fio over and over, whatever it returns, until /run/enough exists."""
    c.guest.run("rm -f /run/enough")
    return c.task(f"until test -e /run/enough; do {vm_blk.FIO} --filename="
                  f"{vm_blk.NODE} {options} --size=4M; done")


def disk_is_good(c, task):
    """Earlier I/Os have ended, and what is written now is there."""
    c.guest.run("touch /run/enough")
    task.wait(60)
    before = c.count("failed")
    c.fio(f"{vm_blk.VERIFY} --size=4M", 120)
    must(c.count("failed") == before, "an I/O failed")
    c.remove()


def test_lies(c):
    """A million lies in rings, indices, info page, NIC pages and the queues of a
    disk: no oops, no hang; the device is marked dead, and is as good as new after
    a reset."""
    turns = max(2, 10 // c.part)
    hangs = Hangs(c.guest, STATE)
    for _ in range(turns):
        c.load_it()
        p = liar(c, LIES // turns, "timeout_ms=2000")
        task = use_disk(c, "--name=use --rw=randrw --bsrange=512-128k --direct=1 "
                        "--ioengine=libaio --iodepth=16")
        p.finish(600)
        print(f"        {p.last()}", flush=True)
        replug(c)
        c.guest.wait_for(f"echo 1 >{RESET}")  # as soon as it is seen
        c.ready()
        disk_is_good(c, task)
        c.end_tasks()
        c.nothing_pinned()
    no_hang(hangs)
    log = c.guest.run("dmesg")
    must(c.part > 1 or re.search("unic.*marked dead", log),
         "it was never marked dead")
    c.guest.run(f"unic-copy put /tmp/file --name file {HOW}", 60)
    c.guest.run(f"unic-copy get file --output /tmp/back {HOW}", 60)
    c.guest.run("cmp /tmp/file /tmp/back")


def test_lies_to_disk(c):
    """Lies in the queues of a disk that a driver can detect: I/Os fail or are
    begun again, but none with wrong bytes succeeds."""
    hangs = Hangs(c.guest, STATE)
    p = liar(c, LIES_TO_DISK, "timeout_ms=30000", "--queues", "--every", "1",
             "--pause", "0.05")
    task = use_disk(c, vm_blk.VERIFY)
    p.finish(600)
    print(f"        {p.last()}; {c.count('again')} I/Os begun again, "
          f"{c.count('failed')} failed", flush=True)
    no_hang(hangs)
    disk_is_good(c, task)
    status, said = c.guest.ask(f"grep -E '{WRONG}' {task.file}")
    must(status == 1, f"wrong bytes were called good: {said[:300]}")


def main():
    p = vm_check.parser(__doc__)
    p.add_argument("--quick", action="store_true",
                   help=f"one in {QUICK} of everything")
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    tests = vm_check.tests_of(globals())
    return vm_check.run((lambda tmp: Endure(o, tmp),
                         {name: tests[name] for name in o.only}
                         if o.only else tests))


if __name__ == "__main__":
    sys.exit(main())
