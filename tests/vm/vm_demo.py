#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The story of tests/qemu/demo.py with Linux in it: host 0 is a guest with the
distribution's kernel, unic.ko and a NIC in QEMU, host 1 has unicd and a soft NIC.
Then host 0 makes a file system on memory of host 1, and finds there what it wrote.
The last line is "vm-demo: ok", or the reason why not (exit 1).

    vm_demo.py [--board virt|soft] [--cpus 1|2] [--bytes N] [--keep]
"""
import argparse
import os
import signal
import sys
import time

import pair
from hosts import IP, Hosts
import demo

BYTES = 4 << 20
DISK = 32  # MiB
HOGS = 3


class VmDemo(pair.Pair, demo.Demo):
    CAPTURE, TRACE = "vm-demo.pcap", "vm-trace.txt"

    def __init__(self, options, tmp):
        Hosts.__init__(self, options.board, None, tmp, peer="soft")
        self.bytes, self.hogs, self.o = options.bytes, HOGS, options
        self.guest, self.tasks, self.beside, self.names = None, [], [], {}
        self.events = self.trace = None
        self.done = False

    # ---------------------------------------------------- host 0 is a guest

    def here(self, name):
        return f"/tmp/{name}"

    def made_file(self, size):
        path = self.here("made-on-the-spot")
        self.guest.run(f"head -c {size} /dev/urandom >{path}")
        return path

    def pids(self):
        return {task.pid: task.who for task in self.tasks}

    def digest_here(self, path):
        return self.guest.run(f"sha256sum {path}").split()[0]

    def start_hosts(self):
        """The second host starts while the first one boots."""
        self.start_wire("--pcap", os.path.join(demo.OUT, self.CAPTURE))
        self.start_nic(0)
        os.mkdir(self.path("exported"))
        self.start_peer("--kio-export", self.path("exported"),
                        "--kio-writable")
        self.boot(modules=["ext4", "crc32c_generic"], programs=["mkfs.ext4"],
                  cpus=self.o.cpus)
        # No entries are reaped ahead of demand: the TLB is really full when
        # the meek process comes.
        self.load("low=0 high=0")
        return self.wait_nic(0)

    def start_trace(self):
        uptime = float(self.guest.run("cat /proc/uptime").split()[0])
        self.events = demo.Events(self.line,
                                  os.path.join(demo.OUT, self.TRACE),
                                  self.names, uptime - time.monotonic())
        self.trace = pair.guest.Task(
            self.guest, ["unicctl", "--socket", pair.NODE, "--json", "trace",
                         "--follow"], say=self.events.on_line)
        return self.events

    def copy(self, *args, **how):
        super().copy(*args, **how)
        self.trace.take()

    def post_mortem(self):
        super().post_mortem()
        if self.guest and self.guest.qemu.poll() is None:
            print(self.guest.ask("dmesg | tail -n 15")[1])

    def story(self):
        info = self.start_hosts()
        trace = self.start_trace()
        path = self.made_file(self.bytes)
        digest = self.digest_here(path)
        self.line.say("demo", f"{path}: {self.bytes} bytes, sha256 {digest}")
        self.start_hogs(info["tlb_entries"])
        self.transfers(path, digest, self.bytes)
        self.see_both()
        trace.shown = False  # the ends of all processes are in the file
        self.trace.take()
        self.disk(path)
        self.report(info, trace.waits)
        self.done = True

    # ------------------------------------- a disk that is a file of host 1

    def attach(self):
        self.guest.run(f"echo 'nic=0 addr={IP[1]} file=disk.img size={DISK}M' "
                       ">/sys/class/unicblk/add")
        self.guest.wait_for("test -b /dev/unicblk0")

    def detach(self):
        self.guest.run("umount /mnt && echo 0 >/sys/class/unicblk/remove", 60)

    def disk(self, path):
        """Make and use the disk while the hogs still have the table."""
        self.guest.run("modprobe unicblk")
        self.attach()
        self.guest.run("mkfs.ext4 -q /dev/unicblk0", 60)
        self.line.say("unicblk", f"{DISK} MiB of host 1 hold an ext4")
        self.guest.run("mount -t ext4 /dev/unicblk0 /mnt")
        self.guest.run(f"cp {path} /bin/busybox /mnt", 60)
        self.detach()
        self.attach()  # nothing of it is left in the page cache
        self.guest.run("mount -t ext4 /dev/unicblk0 /mnt")
        self.guest.run(f"cmp {path} /mnt/{os.path.basename(path)} && "
                       "cmp /bin/busybox /mnt/busybox", 60)
        self.line.say("unicblk", "mounted anew: every byte is what was written")
        self.detach()


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=("virt", "soft"), default="virt")
    p.add_argument("--cpus", type=int, choices=(1, 2), default=1,
                   help="of the guest")
    p.add_argument("--bytes", type=int, default=BYTES, help="of the file")
    p.add_argument("--keep", action="store_true",
                   help="keep the working folder, for debugging")
    p.set_defaults(mode="resident", policy=None)
    return p.parse_args()


def main():
    options = parse()
    signal.signal(signal.SIGTERM, demo.on_term)
    os.makedirs(demo.OUT, exist_ok=True)

    def run(vm):
        vm.story()
        vm.guest.power_off()

    return demo.tell("vm-demo", lambda tmp: VmDemo(options, tmp), run,
                     options.keep)


if __name__ == "__main__":
    sys.exit(main())
