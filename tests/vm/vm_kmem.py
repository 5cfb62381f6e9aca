#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Memory of a module of the guest's kernel (examples/kernel/kmem_sample.c), which a
process of another host READs and WRITEs: asked back by notices, taken by the NIC, lost in
a reset, and given up by rmmod while a peer is connected. Nothing is left of it.

    vm_kmem.py [--board soft|virt] [--cpus 1|2] [--only NAME ...]
"""
import argparse
import os
import re
import signal
import sys
import tempfile
import traceback

import pair
import stops
import vm_check
from hosts import IP
from vm_check import must

SAMPLE = os.path.join(pair.guest.kernel.BUILT, "kmod", "examples", "kernel",
                      "kmem_sample.ko")
STATE = "/sys/module/kmem_sample/parameters/state"
LAZY = "/sys/module/kmem_sample/parameters/lazy"
PLACES = 8  # for connections of a handle


class Kmem(vm_check.Check):
    """A guest with the module, and a peer."""

    def begin(self):
        self.start_wire("--direct")
        self.start_nic(0, show=False)
        self.start_peer()
        there = f"/lib/modules/{pair.guest.kernel.newest()}/updates/kmem_sample.ko"
        self.boot(files=[(pair.built(SAMPLE), there)], cpus=self.cpus,
                  command_line=vm_check.CAREFUL)
        self.load()
        self.entries = self.used()

    def used(self):
        """(entries in use, process slots) of the guest's NIC."""
        said = self.ctl(0, "ps")
        return sum(p.get("held", 0) for p in said["procs"]), len(said["procs"])

    def load_sample(self, options=""):
        self.guest.run(f"modprobe kmem_sample {options}")

    def state(self):
        said = self.guest.run(f"cat {STATE}").split()
        return {k: int(v, 16) if k == "first" else int(v)
                for k, v in zip(said[::2], said[1::2])}

    def wait_state(self, what, least=1, seconds=30):
        """Wait until counter @what is at least @least."""
        self.guest.wait_for(
            f"[ $(sed 's/.*{what} \\([0-9]*\\).*/\\1/' {STATE}) -ge {least} ]",
            seconds)
        return self.state()

    def peer(self, how):
        return self.start("peer", "kmem-peer", self.socket(1), IP[0], how,
                          show=False)

    def once(self):
        p = self.peer("once")
        p.expect("ok")
        p.finish(30)

    def hog(self):
        """A process that may have nearly all, and takes it: then the module has more
        than its share."""
        hog = self.start("hog", "unic-hog", "--again", "--socket", pair.NODE,
                         show=False)
        self.guest.wait_for(f"unicctl --socket {pair.NODE} --json ps | "
                            "grep -q unic-hog")
        slot, = [p["proc"] for p in self.ctl(0, "ps")["procs"]
                 if p["name"] == "unic-hog"]
        self.guest.run(f"unicctl --socket {pair.NODE} policy {slot} --weight 200")
        return hog

    def end_tasks(self):
        """Also unload what a test that failed has left."""
        super().end_tasks()
        if not self.guest.is_lost():
            self.guest.ask("! test -e /sys/module/kmem_sample || rmmod kmem_sample", 60)

    def nothing_left(self):
        """The sample is unloaded: its slot and its entries are free again."""
        self.guest.wait_for(f"! test -e {STATE}")
        self.end_tasks()
        deadline = vm_check.Patience(self.guest, 20)
        while (used := self.used()) != self.entries:
            must(not deadline.over(), f"{used} in use, {self.entries} before")
        self.same_as_ever()


def test_read_write(c):
    """A peer reaches the module's pages, and the module sees what it wrote."""
    c.load_sample()
    must(c.state()["registered"] == 1 and c.state()["mr"] == 1, c.state())
    must(c.state()["refs"] == 2, c.state())
    must(c.used()[0] >= c.entries[0] + 1, "no entries are held")
    c.once()
    first = c.state()["first"]
    must(first >> 56 == 0xa5, f"the page has {first:x}")
    c.once()
    must(c.state()["asked"] == 2, c.state())
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()


def test_notice(c):
    """A hog asks for more than there is: the module is asked, gives back, and waits in
    line for entries again."""
    c.load_sample()
    hog = c.hog()
    c.wait_state("noticed")
    must(c.wait_state("registered", 2)["gone"] == 0, c.state())
    hog.end()
    c.once()
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()


def test_evicted(c):
    """A module that does nothing loses its region at the deadline, is told, and a peer
    at work is told, too."""
    c.load_sample("lazy=1")
    stay = c.peer("stay")
    stay.expect("ready")
    hog = c.hog()
    state = c.wait_state("gone")
    must(state["noticed"] >= 1 and state["kept"] == 0, state)
    must(re.search("ended: ", stay.expect("ended")), "not told")
    stay.finish(30)
    c.wait_state("registered", 2)
    hog.end()
    c.once()
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()


def test_rmmod_connected(c):
    """The module is unloaded while a peer is at work: the peer's request fails, and
    nothing is written to the pages that were its."""
    c.load_sample()
    stay = c.peer("stay")
    stay.expect("ready")
    c.guest.run("rmmod kmem_sample", 60)
    stay.expect("ended")
    stay.finish(30)
    c.nothing_left()


def test_reset(c):
    """After a reset the region is gone, and another one is registered; it listens."""
    c.load_sample()
    stay = c.peer("stay")
    stay.expect("ready")
    c.guest.run("echo 1 >/sys/class/unic/unic0/reset")
    state = c.wait_state("lost")
    must(state["gone"] == 1 and state["kept"] == 0, state)
    c.wait_state("registered", 2)
    stay.expect("ended", 60)
    stay.finish(30)
    c.once()
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()


def test_unbind(c):
    """The NIC is taken away under the module, and comes back for another one."""
    c.load_sample()
    stay = c.peer("stay")
    stay.expect("ready")
    c.guest.run(f"echo {pair.ADDRESS} >/sys/bus/pci/drivers/unic/unbind", 60)
    state = c.wait_state("lost")
    must(state["gone"] == 1 and state["kept"] == 0 and not state["mr"], state)
    must(state["refs"] == 1, f"{state['refs']} references are left")
    stay.end()
    c.guest.run("rmmod kmem_sample", 60)
    c.guest.run(f"echo {pair.ADDRESS} >/sys/bus/pci/drivers/unic/bind", 60)
    c.guest.wait_for(f"test -c {pair.NODE}")
    c.guest.wait_for(f"grep -q ready {vm_check.STATE}")
    c.load_sample()
    c.once()
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()


def test_many_peers(c):
    """The place of a connection that has ended is free for the next one."""
    c.load_sample()
    for _ in range(PLACES + 2):
        c.once()
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()


def test_nic_stands_still(c):
    """The module is unloaded while the NIC does not answer: that ends after seconds, and
    the pages stay with the NIC until it is taken away."""
    c.load_sample()
    c.nics[0].child.send_signal(signal.SIGSTOP)
    try:
        c.guest.run("rmmod kmem_sample", 60)
    finally:
        c.nics[0].child.send_signal(signal.SIGCONT)
    c.guest.wait_for(f"grep -q ready {vm_check.STATE}")
    c.load_sample()
    c.once()
    c.guest.run("rmmod kmem_sample")
    c.nothing_left()
    c.guest.run(f"echo {pair.ADDRESS} >/sys/bus/pci/drivers/unic/unbind", 60)
    c.guest.run(f"echo {pair.ADDRESS} >/sys/bus/pci/drivers/unic/bind", 60)
    c.guest.wait_for(f"test -c {pair.NODE}")
    c.guest.wait_for(f"grep -q ready {vm_check.STATE}")
    c.same_as_ever()


TESTS = (test_read_write, test_notice, test_evicted, test_rmmod_connected,
         test_reset, test_unbind, test_many_peers, test_nic_stands_still)


def run(c, tests):
    failed = 0
    for test in tests:
        try:
            stops.step(test, c, again=c.end_tasks)
            print(f"ok      {test.__name__}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {test.__name__}: {e}", flush=True)
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
            if c.guest.is_lost():
                break
            c.end_tasks()
    return failed


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("--board", choices=("virt", "soft"), default="soft")
    p.add_argument("--cpus", type=int, choices=(1, 2), default=1)
    p.add_argument("--only", action="append", default=[])
    o = p.parse_args()
    tests = [t for t in TESTS if not o.only or t.__name__ in o.only or
             t.__name__[5:] in o.only]
    with tempfile.TemporaryDirectory(prefix="unic-vm-kmem-") as tmp:
        c = Kmem(o.board, tmp, o.cpus)
        try:
            c.begin()
            failed = run(c, tests)
        finally:
            c.end()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
