#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Two hosts on one wire: host 0 is a guest with the Linux module, host 1 unicd
with a soft NIC. As a program, to look for a fault: runs each line of stdin as a
command in the guest. Host 1 exports an empty folder for unicblk.

    pair.py [--board virt|soft] [--no-load] [--alone]
            [--program FILE ...] [--module NAME ...]
"""
import argparse
import json
import os
import shlex
import sys
import tempfile

import guest
import stops
from hosts import BIN, IP, ROOT, Failure, Hosts, plain, run_nic

# A debug kernel needs memory to keep account of all memory.
RAM = (1024 if guest.kernel.SYSTEM else 256) << 20
MODULES = os.path.join(guest.kernel.BUILT, "kmod", "host_driver", "linux")
TOOLS = ("unicctl", "unic-hog", "unic-copy")
LASTING = ("unic-bus", "unic-wire", "unicd")  # of a host; any other is a test's own
NODE = "/dev/unic0"
ADDRESS = "0000:00:01.0"  # of the NIC in the guest


def built(*parts):
    path = os.path.join(*parts)
    if not os.path.exists(path):
        raise Failure(f"{os.path.relpath(path, ROOT)} is missing; make it: "
                      "make programs kmod")
    return path


class Pair(Hosts):
    """board: of the guest's NIC."""

    def __init__(self, board, tmp):
        super().__init__(board, None, tmp, peer="soft")
        self.guest = None
        self.tasks, self.beside = [], []

    def bus_options(self, host):
        return ["--guest", str(RAM)] if host == 0 else \
            super().bus_options(host)

    def boot(self, programs=(), modules=(), files=(), **how):
        """Boot the guest, with programs and modules of this tree in it."""
        bus = run_nic.bus_info(self.path("bus0"))
        there = f"/lib/modules/{guest.kernel.newest()}/updates/"
        built(MODULES, "unic.ko")
        ours = [(os.path.join(MODULES, name), there + name)
                for name in os.listdir(MODULES) if name.endswith(".ko")]
        self.guest = guest.Guest(
            self.tmp, bus, programs=[*(built(BIN, t) for t in TOOLS),
                                     *programs],
            modules=modules, files=[*ours, *files], **how)
        stops.watch_pid(self.guest.qemu.pid)
        self.line.say("guest", f"kernel {self.guest.release} is up after "
                      f"{self.guest.boot_s:.1f} s")
        return self.guest

    def load(self, options=""):
        self.guest.run(f"modprobe unic nic={ADDRESS} ip={IP[0]} "
                       f"{options}")
        self.guest.wait_for(f"test -c {NODE}")

    def ctl(self, host, *args):
        if host:
            return super().ctl(host, *args)
        return json.loads(self.guest.run(
            f"unicctl --socket {NODE} --json {shlex.join(args)}"))

    def socket(self, host):
        return super().socket(host) if host else NODE

    def start(self, who, program, *args, show=True, stdin=False):
        """Programs that use the guest's NIC run in the guest."""
        if NODE not in args:
            p = super().start(who, program, *args, show=show)
            if program not in LASTING:
                self.beside.append(p)
            return p
        self.tasks.append(guest.Task(
            self.guest, (program, *args), stdin, who,
            lambda text: show and self.line.say(who, plain(text))))
        return self.tasks[-1]

    def end_tasks(self):
        """End the programs that a test has started, on either host."""
        for programs in (self.tasks, self.beside):
            while programs:
                programs.pop().end()

    def start_peer(self, *driver_options):
        self.start_nic(1, show=False)
        self.start_driver(1, *driver_options)
        self.wait_nic(1)

    def end(self):
        if self.guest:
            self.guest.end()
        super().end()


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=("virt", "soft"), default="soft",
                   help="of the guest's NIC")
    p.add_argument("--no-load", action="store_true",
                   help="the module is there, but not loaded")
    p.add_argument("--alone", action="store_true", help="no host 1")
    p.add_argument("--program", action="append", default=[],
                   help="name or path: into the guest's /bin, with its libraries")
    p.add_argument("--module", action="append", default=[],
                   help="of the distribution, for modprobe")
    return p.parse_args()


def main():
    o = parse()
    with tempfile.TemporaryDirectory(prefix="unic-vm-") as tmp:
        pair = Pair(o.board, tmp)
        try:
            pair.start_wire()
            pair.start_nic(0)
            if not o.alone:
                os.mkdir(pair.path("export"))
                pair.start_peer("--kio-export", pair.path("export"),
                                "--kio-writable")
            pair.boot(o.program, o.module)
            if not o.no_load:
                pair.load()
            guest.interactive(pair.guest)
        except Failure as e:
            sys.exit(f"pair.py: {e}")
        finally:
            pair.end()


if __name__ == "__main__":
    main()
