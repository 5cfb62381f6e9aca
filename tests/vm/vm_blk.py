#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unicblk in a guest: a disk that is a file of another host (unicd --kio-export).
What is written is there; loss on the wire, processes that are asked for their
entries, a NIC that is reset and a server that comes back fail no I/O; a server
that does not come back fails them in time.

    vm_blk.py [--board soft|virt] [--cpus 1|2] [--only NAME ...] [--loss LOSS]
              [--data token|rdma]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import initramfs
import pair
import vm_check
from guest import Patience
from hosts import BIN, IP, ROOT
from vm_check import must

MIB = 1 << 20
DISK = 48 * MIB
FILE = "disk"
NODE = "/dev/unicblk0"
ATTRIBUTES = "/sys/block/unicblk0/unicblk"
READ = f"dd if={NODE} of=/dev/null bs=4k count=1 iflag=direct"
TRACING = "/sys/kernel/tracing"
# fio comes with 90 MB of libraries, so it has a disk instead of memory.
FIO = "chroot /opt /bin/fio --verify_state_save=0"
# Everything that a block layer makes of requests: small, merged, scattered.
VERIFY = ("--name=verify --rw=randrw --bsrange=512-128k --direct=1 "
          "--ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1 "
          "--do_verify=1 --verify_backlog=256 --randseed=7")


class Blk(vm_check.Check):
    """loss: of the wire, as unic-wire takes it; None: none. data: of unicblk."""
    PROGRAMS = ("mke2fs", os.path.join(BIN, "scatter"))
    FILES = ((os.path.join(ROOT, "examples", "disk.sh"), "/bin/disk.sh"),)
    MORE = ()
    COMMAND_LINE = OPTIONS = ""
    MODULES = ("ext4", "crc32c_generic", "virtio_pci", "virtio_blk")

    def __init__(self, board, tmp, cpus=1, loss=None, data="rdma"):
        super().__init__(board, tmp, cpus)
        self.loss = loss
        self.data = data
        self.export = self.path("export")
        self.driver = None
        os.mkdir(self.export)

    def begin(self):
        self.start_wire(*(["--loss", self.loss, "--seed", "7"] if self.loss
                          else ["--direct"]))
        self.start_nic(0, show=False)
        self.start_nic(1, show=False)
        self.start_server()
        image = self.fio_image()
        self.boot(programs=self.PROGRAMS, modules=self.MODULES,
                  files=self.FILES, cpus=self.cpus,
                  command_line=self.COMMAND_LINE, more=[
            "-drive", f"file={image},format=raw,if=virtio,readonly=on",
            *self.MORE])
        self.load(self.OPTIONS)
        self.load_blk()
        self.guest.run("modprobe -a crc32c_generic ext4 virtio_pci virtio_blk")
        self.guest.wait_for("test -b /dev/vda")
        self.guest.run("mkdir /opt && mount -t ext4 -o ro /dev/vda /opt && "
                       "mount --bind /dev /opt/dev")

    def load_blk(self):
        self.guest.run("modprobe unicblk" +
                       ("" if self.data == "rdma" else f" data={self.data}"))

    def fio_image(self):
        root, image = self.path("fio.root"), self.path("fio.img")
        os.makedirs(os.path.join(root, "dev"))
        initramfs.put_program(root, "fio")
        subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-d", root, image,
                        "160M"], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(root)
        return image

    # ------------------------------------------------------------ the server

    def start_server(self):
        self.start_driver(1, "--kio-export", self.export, "--kio-writable")
        self.driver = self.running[-1].child
        self.wait_nic(1)

    def kill_server(self):
        self.driver.kill()
        self.driver.wait()

    # -------------------------------------------------------------- the disk

    def add(self, more="timeout_ms=60000", size=DISK):
        self.guest.run(f"echo 'nic=0 addr={IP[1]} file={FILE} size={size} "
                       f"{more}' >/sys/class/unicblk/add")
        self.guest.wait_for(f"test -b {NODE}")
        must(self.guest.run(f"cat {ATTRIBUTES}/data").strip() == self.data,
             "the bytes go another way")

    def remove(self):
        self.guest.run("echo 0 >/sys/class/unicblk/remove")
        must(self.guest.ask(f"test -e {NODE}")[0] != 0, "the node is left")

    def count(self, what):
        return int(self.guest.run(f"cat {ATTRIBUTES}/{what}"))

    def fio(self, options, seconds=60, node=NODE):
        """Run fio; returns its report of the one job."""
        status, said = self.guest.ask(
            f"{FIO} --filename={node} --output-format=json {options}",
            seconds)
        begin = said.find("{")
        must(not status and begin >= 0, f"fio: exit {status}: {said[:600]}")
        job = json.loads(said[begin:])["jobs"][0]
        must(not job["error"], f"fio: {said[-600:]}")
        return job

    def verify(self, size):
        job = self.fio(f"{VERIFY} --size={size}", 120)
        must(job["read"]["io_bytes"] and job["write"]["io_bytes"], "no I/O")
        must(not self.count("failed"), f"{self.count('failed')} I/Os failed")
        return job

    def task(self, command):
        self.tasks.append(pair.guest.Task(self.guest, ["sh", "-c", command]))
        return self.tasks[-1]

    def verify_on(self):
        """Start fio, which verifies again and again until end_verify();
        returns when it has begun. As fio mostly computes here, a dd always has
        an I/O open, too."""
        writes = "awk '{print $5}' /sys/block/unicblk0/stat"
        before = int(self.guest.run(f"rm -f /run/enough; {writes}"))
        until = "until test -e /run/enough; do"
        task = self.task(
            f"({until} dd if={NODE} of=/dev/null bs=64k iflag=direct || exit; done)&"
            f"{until} {FIO} --filename={NODE} {VERIFY} --size={4 * MIB} || "
            "{ wait; exit 1; }; done; wait")
        self.guest.wait_for(f"test $({writes}) -gt {before + 50}", 30)
        return task

    def met(self, what, blow):
        """Do @blow until an I/O that was under way has been begun again by it."""
        before, patience = self.count("again"), Patience(self.guest, 60)
        while self.count("again") == before:
            must(not patience.over(), f"no I/O met {what}")
            blow()
            time.sleep(0.2)

    def end_verify(self, task):
        self.guest.run("touch /run/enough")
        task.finish(90)
        must(not self.count("failed"), "an I/O failed")
        self.remove()

    def count_maps(self):
        """Count mappings of pages for devices from now on. False: this kernel
        cannot; that of `make debug-kernel` itself reports what is left mapped.
        """
        if self.guest.ask(f"test -e {TRACING}/kprobe_events")[0]:
            return False
        self.guest.run(f"cd {TRACING} && echo 'p:maps dma_map_sg_attrs' "
                       ">kprobe_events && echo 'p:unmaps dma_unmap_sg_attrs' "
                       ">>kprobe_events && echo 1 >events/kprobes/enable")
        return True

    def maps(self):
        """(made, ended)"""
        lines = self.guest.run(f"cat {TRACING}/kprobe_profile").splitlines()
        hits = dict(line.split()[:2] for line in lines)
        return int(hits["maps"]), int(hits["unmaps"])

    def end_tasks(self):
        """Also end what a test that failed has left."""
        super().end_tasks()
        if self.guest.qemu.poll() is None:
            self.guest.ask(f"killall -9 fio; umount /mnt; swapoff {NODE}; "
                           "echo 0 >/sys/class/unicblk/remove")


# ---------------------------------------------------------------- the tests

def test_file_system(c):
    """What was written before the disk was taken away is there afterwards, in the
    guest and in the file of the other host."""
    c.add()
    c.guest.run(f"/bin/mke2fs -q -t ext4 {NODE} && mount -t ext4 {NODE} /mnt", 60)
    c.guest.run("head -c 3333333 /dev/urandom >/mnt/a && mkdir /mnt/b && "
                "for i in $(seq 50); do echo $i >/mnt/b/$i; done")
    want = c.guest.run("cd /mnt; find . -type f | sort | xargs sha256sum")
    must(c.guest.ask("echo 0 >/sys/class/unicblk/remove")[0] != 0,
         "a mounted disk was removed")
    c.guest.run("umount /mnt", 60)
    c.remove()
    check = subprocess.run(["/sbin/e2fsck", "-fn", os.path.join(c.export, FILE)],
                           capture_output=True, text=True, timeout=60,
                           check=False)
    must(not check.returncode, f"e2fsck: {check.stdout}")
    c.add()
    c.guest.run(f"mount -t ext4 {NODE} /mnt")
    got = c.guest.run("cd /mnt; find . -type f | sort | xargs sha256sum")
    c.guest.run("umount /mnt", 60)
    c.remove()
    must(got == want, "other files came back")


def test_example(c):
    """examples/disk.sh sets a disk up with a file system, and takes it down."""
    said = c.guest.run(f"MKFS='/bin/mke2fs -q -t ext4' disk.sh {IP[1]} {FILE} {DISK} /mnt/disk", 60)
    must(f"{NODE} is mounted at /mnt/disk" in said, said)
    c.guest.run("echo kept >/mnt/disk/file && disk.sh off /mnt/disk", 60)
    must(c.guest.ask(f"test -e {NODE}")[0] != 0, "the disk is left")
    c.add()
    c.guest.run(f"mount -t ext4 {NODE} /mnt")
    must(c.guest.run("cat /mnt/file").strip() == "kept", "another file")
    c.guest.run("umount /mnt", 60)
    c.remove()


def test_checksums(c):
    """fio verifies what it wrote, in all sizes from a sector on."""
    c.add()
    c.verify(16 * MIB)
    c.remove()


def test_scattered(c):
    """An I/O on 16 or 9 scattered pages takes one form; an I/O that fits into
    a work request takes none, and neither does one by RDMA."""
    c.add()
    by_token = c.data == "token"
    for pages, forms in ((16, by_token), (9, by_token), (5, 0)):
        before = c.ctl(0, "stats")["nic"]["forms_made"]
        said = c.guest.run(f"scatter {NODE} 200 {pages * 4096}", 60)
        must(said.startswith("scatter: ok"), said)
        made = c.ctl(0, "stats")["nic"]["forms_made"] - before
        # two pages may happen to lie side by side
        must(190 * forms <= made <= 200 * forms, f"{pages} pages: {made} forms")
    must(not c.count("failed") and not c.count("again"), "an I/O failed")
    c.remove()


def test_reaper_pressure(c):
    """fio verifies beside hogs that have all entries and are asked for them."""
    c.add()
    # what a slow guest leaves idle would be given away for good
    hogs = [vm_check.hog(c, f"--answer={a}", "--again", "--keep", "--keep-idle")
            for a in ("release", "ignore")]
    hogs[0].expect("holds .* entries")
    task = c.verify_on()
    # It shrinks, and soon grows again: look often. The loop ends by itself, so that the
    # guest's shell answers after a failure and the step can be repeated.
    c.guest.run("(for i in $(seq 5000); do "
                f"test $(cat {ATTRIBUTES}/window) -lt 16 && exit; sleep 0.02; done; exit 1)",
                240)
    c.end_verify(task)
    for h in hogs:
        must(h.poll() is None, "a hog ended")


def test_swap(c):
    """Pages of a group go to the disk when its memory is short, and come back:
    the reclaim of memory waits for the disk, and the disk never for a reclaim.
    """
    c.add(size=96 * MIB)
    c.guest.run(f"mkswap {NODE} && swapon {NODE}")
    c.guest.run("mkdir -p /run/cg && mount -t cgroup2 none /run/cg && "
                "echo +memory >/run/cg/cgroup.subtree_control && "
                "mkdir /run/cg/few && echo 32M >/run/cg/few/memory.max")
    c.guest.run("mount -t tmpfs -o size=300m tmpfs /mnt && "
                f"head -c {16 * MIB} /dev/urandom >/mnt/0", 60)
    few = "echo 0 >/run/cg/few/cgroup.procs; for i in 1 2 3; do"
    c.guest.run(f"(sh -c '{few} cp /mnt/0 /mnt/$i || exit 1; done')", 200)
    out = int(c.guest.run("awk '/pswpout/ {print $2}' /proc/vmstat"))
    c.guest.run(f"(sh -c '{few} cmp /mnt/0 /mnt/$i || exit 1; done')", 200)
    must(out > 1000, f"{out} pages went out")
    must(not c.count("failed"), "an I/O failed")
    c.guest.run(f"umount /mnt && swapoff {NODE} && rmdir /run/cg/few && "
                "umount /run/cg", 60)
    c.remove()
    os.unlink(os.path.join(c.export, FILE))


def test_nic_reset(c):
    """The NIC is reset while I/Os are open: they are begun again."""
    c.add()
    task = c.verify_on()
    for _ in range(3):
        c.met("a reset", lambda: c.guest.run(
            "echo 1 >/sys/class/unic/unic0/reset"))
    c.end_verify(task)


def test_nic_comes_back(c):
    """The NIC ends in the middle of I/Os, and another one takes its place: no
    I/O fails."""
    def exchange():
        c.nics[0].end()
        time.sleep(0.5)
        c.nics[0] = c.plug_nic(0, show=False)

    c.add("timeout_ms=30000")
    task = c.verify_on()
    c.met("the end of the NIC", exchange)
    c.end_verify(task)


def test_server_comes_back(c):
    """The other host's driver is killed and started again: no I/O fails."""
    def exchange():
        c.kill_server()
        time.sleep(1)
        c.start_server()

    c.add("timeout_ms=30000")
    task = c.verify_on()
    c.met("the end of the server", exchange)
    c.end_verify(task)


def test_guest_stands_still(c):
    """The guest is stopped for longer than the server waits for the data of a
    WRITE: what the server has said meanwhile fails no I/O. (The server is
    stopped first, until all open I/Os wait for it.) By RDMA the data are the NICs'
    affair, and no I/O need be begun again."""
    def stand_still():
        must(not c.count("failed"), "an I/O failed")
        emulator = c.guest.emulator()
        c.driver.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(emulator, signal.SIGSTOP)
        c.driver.send_signal(signal.SIGCONT)
        time.sleep(3)
        os.kill(emulator, signal.SIGCONT)

    c.add()
    task = c.verify_on()
    for _ in range(3):
        if c.data == "rdma":
            stand_still()
        else:
            c.met("the stop", stand_still)
    c.end_verify(task)


def test_flush_of_lost_writes(c):
    """The server is restarted after a write and may have lost it, so the next
    flush fails, once, and the disk counts it."""
    flush = f"dd if=/dev/null of={NODE} conv=fsync,notrunc"
    write = f"dd if=/dev/urandom of={NODE} bs=4k count=1 oflag=direct"
    c.add("timeout_ms=30000")
    c.guest.run(f"{write} && {flush}", 60)
    must(not c.count("lost"), "lost without a reason")
    c.guest.run(write)
    c.kill_server()
    c.start_server()
    must(c.guest.ask(flush, 60)[0], "lost writes are durable, it says")
    must(c.count("lost") == 1, f"{c.count('lost')} flushes of lost writes")
    c.guest.run(f"{write} && {flush}", 60)
    must(c.count("lost") == 1, "told twice")
    c.remove()


def test_older_copy(c):
    """The other host loses power and has only what was flushed. The next flush
    fails, though it covers later writes, too, and the disk counts it; what was
    flushed before is there."""
    path, saved = os.path.join(c.export, FILE), c.path("saved")
    flush = f"dd if=/dev/null of={NODE} conv=fsync,notrunc"
    write = f"dd of={NODE} bs=4k count=1 oflag=direct conv=notrunc if=/tmp/"
    c.guest.run("cd /tmp && for f in flushed lost after; do "
                "head -c 4096 /dev/urandom >$f; done")
    c.add("timeout_ms=30000")
    c.guest.run(f"{write}flushed && {flush}", 60)
    shutil.copy(path, saved)
    c.guest.run(f"{write}lost seek=1 && {write}lost seek=2")
    c.kill_server()
    os.replace(saved, path)
    c.start_server()
    c.guest.run(f"{write}after seek=2", 60)
    status, said = c.guest.ask(flush, 60)
    must(status and "Input/output error" in said,
         f"fsync: {status}, {said.strip()}")
    must(c.count("lost") == 1, f"{c.count('lost')} flushes of lost writes")
    must("lost writes" in c.guest.run("dmesg"), "nothing in the log")
    blocks = f"dd if={NODE} bs=4k count=1 iflag=direct skip="
    c.guest.run(f"{blocks}0 | cmp - /tmp/flushed && {blocks}2 | cmp - /tmp/after")
    must(c.guest.ask(f"{blocks}1 | cmp - /tmp/lost")[0], "nothing was lost")
    c.guest.run(f"{write}lost seek=1 && {flush}", 60)
    must(c.count("lost") == 1, "told twice")
    c.remove()


def fails_in_time(c):
    """A read fails in time: one of three at least, as the machine is shared."""
    took = []
    for _ in range(3):
        start = time.monotonic()
        must(c.guest.ask(READ)[0], "read from nobody")
        took.append(time.monotonic() - start)
    must(min(took) < 5, f"errors after 1 s took {took} s")


def test_server_dies(c):
    """The server does not come back: I/Os fail after their timeout, none
    hangs."""
    c.add("timeout_ms=1000")
    task = c.verify_on()
    c.kill_server()
    must(task.wait() != 0, "fio did not notice")
    must(c.count("failed"), "nothing failed")
    fails_in_time(c)
    c.start_server()
    c.guest.wait_for(READ)
    c.remove()


def test_nic_dies(c):
    """The NIC ends: I/Os fail in time, none hangs, until another NIC comes."""
    c.add("timeout_ms=1000")
    task = c.verify_on()
    c.nics[0].end()
    must(task.wait() != 0, "fio did not notice")
    fails_in_time(c)
    c.nics[0] = c.plug_nic(0, show=False)
    c.guest.wait_for(READ)
    c.remove()


def hang(c):
    """Stop a NIC that has I/Os, for longer than their timeout. True: some are
    still under way then. Their server is stopped before, so that they stay on
    the NIC."""
    nic = c.nics[0].child

    def under_way():
        return any(map(int, c.guest.run(
            "cat /sys/block/unicblk0/inflight").split()))

    task = c.verify_on()
    c.driver.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    nic.send_signal(signal.SIGSTOP)
    c.driver.send_signal(signal.SIGCONT)
    must(under_way(), "there is no I/O")
    c.guest.wait_for("grep -q dead /sys/class/unic/unic0/state", 60)
    time.sleep(5)
    kept = under_way()
    nic.send_signal(signal.SIGCONT)
    must(task.wait(60) != 0, "fio did not notice")
    c.guest.wait_for(READ, 60)
    return kept


def test_nic_hangs(c):
    """A NIC that hangs keeps the pages of its I/Os until it has been reset,
    because it may still write there. Then these I/Os end, too. (On a busy
    machine the NIC may have no I/O: a few tries.)"""
    c.add("timeout_ms=5000")
    must(any(hang(c) for _ in range(4)), "pages that the NIC had were given back")
    c.remove()


def test_nic_removed(c):
    """The PCI function is removed while I/Os are open: they end long before
    their timeout, none of their pages is left mapped, and the disk is dead.
    When the function comes back, a new disk works."""
    c.add("timeout_ms=600000")
    counted = c.count_maps()
    task = c.verify_on()
    c.guest.run("for d in /sys/bus/pci/drivers/unic/0*; do echo 1 >$d/remove; "
                "done")
    if counted:
        made, ended = c.maps()
        must(made > 50, f"only {made} times mapped")
        must(made == ended, f"{made - ended} left mapped")
    must(task.wait() != 0, "fio did not notice")
    failed = c.count("failed")
    must(c.guest.ask(READ)[0], "read without a NIC")
    must(c.count("failed") == failed, "the disk is not dead: it is tried")
    if counted:
        must(c.maps() == (made, made), "mapped for a NIC that is gone")
        c.guest.run(f"cd {TRACING} && echo 0 >events/kprobes/enable && "
                    "echo >kprobe_events")
    c.remove()
    c.guest.run("echo 1 >/sys/bus/pci/rescan")
    c.guest.wait_for(f"test -c {pair.NODE}")
    c.add()
    c.verify(2 * MIB)
    c.remove()


def test_add_interrupted(c):
    """A process that adds a disk of a NIC that stands still can be killed."""
    c.nics[0].child.send_signal(signal.SIGSTOP)
    try:
        adder = c.task(f"echo 'nic=0 addr={IP[1]} file={FILE} size={DISK}' "
                       ">/sys/class/unicblk/add")
        time.sleep(1)
        must(adder.poll() is None, "it is added")
        adder.kill()
        must(adder.wait(2) != 0, "added")
    finally:
        c.nics[0].child.send_signal(signal.SIGCONT)
    c.guest.wait_for("grep -q ready /sys/class/unic/unic0/state")
    c.add()
    c.guest.wait_for(READ)
    c.remove()


def test_asked_and_unloaded(c):
    """The module stays until the answer to a killed `add` has come."""
    c.nics[0].child.send_signal(signal.SIGSTOP)
    try:
        adder = c.task(f"echo 'nic=0 addr={IP[1]} file={FILE} size={DISK}' "
                       ">/sys/class/unicblk/add")
        time.sleep(1)
        adder.kill()
        adder.wait()
        must(c.guest.ask("rmmod unicblk")[0], "unloaded, and an answer will come")
    finally:
        c.nics[0].child.send_signal(signal.SIGCONT)
    c.guest.wait_for("rmmod unicblk")
    c.load_blk()
    c.add()
    c.guest.wait_for(READ)
    c.remove()


def test_bad_words(c):
    """Invalid parameters are refused, and leave nothing behind."""
    def refused(words):
        must(c.guest.ask(f"echo '{words}' >/sys/class/unicblk/add")[0] != 0,
             f"taken: {words}")
    refused("")
    refused("nic=0")
    refused(f"nic=9 addr={IP[1]} file={FILE}")
    refused(f"nic=0 addr={IP[1]} file=none-such")
    refused(f"nic=0 addr={IP[1]} file=../{FILE} size=1M")
    refused(f"nic=0 addr={IP[1]} file={FILE} size=1x")
    refused(f"nic=0 addr={IP[1]} file={FILE} timeout_ms=0")
    must(c.guest.ask("echo 3 >/sys/class/unicblk/remove")[0] != 0, "no disk 3")
    must(c.guest.ask("ls /sys/block | grep unicblk")[0] != 0, "a disk is left")


def test_unload(c):
    """The module cannot be unloaded while the disk is open; then all of it
    goes, disk and service too."""
    c.add()
    task = c.task(f"sleep 100 <{NODE}")
    must(c.guest.ask("rmmod unicblk")[0] != 0, "unloaded while it is open")
    task.kill()
    task.wait()
    c.guest.wait_for("rmmod unicblk")
    must(c.guest.ask(f"test -e {NODE}")[0] != 0, "the node is left")
    c.guest.wait_for("rmmod unic")
    c.load()
    must(c.guest.ask("modprobe unicblk data=dma")[0] != 0, "there is no such way")
    c.load_blk()
    c.add()
    c.guest.run(f"dd if={NODE} of=/dev/null bs=64k count=16")
    c.remove()


LOSSY = ("test_checksums", "test_reaper_pressure")
BY_TOKEN = ("test_file_system", "test_checksums", "test_scattered",
            "test_reaper_pressure", "test_swap", "test_nic_reset",
            "test_nic_comes_back", "test_server_comes_back",
            "test_guest_stands_still", "test_server_dies", "test_nic_hangs")


def main():
    p = vm_check.parser(__doc__)
    p.add_argument("--loss", help="of the wire; without: none, then two per cent "
                   "for some tests")
    p.add_argument("--data", choices=("token", "rdma"), help="how bytes are "
                   "moved; without: by RDMA, then by tokens for some tests")
    o = p.parse_args()
    tests = vm_check.tests_of(globals())
    data = o.data or "rdma"
    rounds = [(o.loss, data, o.only or tests)]
    if not o.only and not o.loss:
        rounds.append(("2%", data, LOSSY))
    if not o.only and not o.loss and not o.data:
        rounds += [(None, "token", BY_TOKEN), ("2%", "token", LOSSY)]
    return vm_check.run(*(
        (lambda tmp, loss=loss, data=data: Blk(o.board, tmp, o.cpus, loss, data),
         {name: tests[name] for name in names}) for loss, data, names in rounds))


if __name__ == "__main__":
    sys.exit(main())
