#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A driver leaves its NIC: the NIC is unbound, or the machine suspends,
restarts, or goes on with another kernel. A NIC that stands still in the middle
of its work is ended by its bus; if the bus stands still as well, nothing that
the NIC may write to is used again before the NIC has answered.

    vm_leave.py [--board soft|virt] [--cpus 1|2] [--only NAME ...]
"""
import os
import re
import signal
import socket
import sys
import time

import guest
import initramfs
import pair
from hosts import BIN, IP, Failure
import vm_blk
import vm_check
from vm_check import hog, must

DRIVER = "/sys/bus/pci/drivers/unic"
QUARANTINE = f"{DRIVER}/quarantined_pages"
KERNEL, INITRD = "/boot/kernel", "/boot/initrd"
FILL_BYTES = 24 << 20


class Leave(vm_blk.Blk):
    """Blk, with what it takes to begin another kernel."""
    PROGRAMS = (*vm_blk.Blk.PROGRAMS, *(os.path.join(BIN, name)
                                        for name in ("forms", "kexec")))
    MODULES = (*vm_blk.Blk.MODULES, "button")

    def begin(self):
        release = guest.kernel.newest()
        again = self.path("again")
        there = f"/lib/modules/{release}/updates/unic.ko"
        initramfs.build(again, release, [os.path.join(BIN, "unicctl")],
                        files=[(os.path.join(pair.MODULES, "unic.ko"), there)])
        self.MORE = ("-monitor",
                     f"unix:{self.path('monitor')},server=on,wait=off")
        self.FILES = ((guest.kernel.image(release), KERNEL), (again, INITRD))
        super().begin()
        self.guest.run("modprobe button")

    def press_button(self):
        """Press the guest's power button: a guest that sleeps wakes up."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path("monitor"))
            s.settimeout(10)
            s.sendall(b"system_powerdown\n")
            said = b""
            while said.count(b"(qemu)") < 2:
                said += s.recv(1 << 16)

    def says(self, what, seconds):
        """Wait until the guest's console says @what."""
        patience = guest.Patience(self.guest, seconds)
        while what not in self.guest.last_words():
            must(not patience.over(), f"the console does not say '{what}'")
            time.sleep(0.1)

    def bus(self):
        """The bus of the guest."""
        return next(p for p in self.running if p.who == "bus 0").child

    def stop(self, *more):
        """Stop the NIC, and the processes @more."""
        for child in (self.nics[0].child, *more):
            child.send_signal(signal.SIGSTOP)

    def go_on(self, *more):
        for child in (self.nics[0].child, *more):
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)

    def quarantined(self):
        return int(self.guest.run(f"cat {QUARANTINE}"))

    def end_tasks(self):
        """End what a test has left, and bind a NIC for the next one."""
        if self.guest.qemu.poll() is not None:
            return
        super().end_tasks()
        self.go_on(self.bus())
        if self.guest.ask(f"rm -rf /dev/shm/*; test -c {pair.NODE}")[0]:
            self.new_nic()
            self.guest.ask(f"echo {pair.ADDRESS} >{DRIVER}/bind", 60)

    def same_as_ever(self):
        if self.guest.qemu.poll() is None:
            super().same_as_ever()

    def no_leak(self):
        if self.guest.qemu.poll() is None:
            super().no_leak()

    def no_complaint(self):
        if self.guest.qemu.poll() is None:
            super().no_complaint()

    def unbind(self):
        self.guest.run(f"echo {pair.ADDRESS} >{DRIVER}/unbind", 60)

    def bind(self):
        self.guest.run(f"echo {pair.ADDRESS} >{DRIVER}/bind", 60)
        self.guest.wait_for("grep -q ready /sys/class/unic/unic*/state")

    def new_nic(self):
        self.nics[0].end()
        self.nics[0] = self.plug_nic(0, show=False)


# ---------------------------------------------------------------- the tests

def receive(c):
    """Let the other host write to the guest's memory. Returns the tasks of
    both ends."""
    served = "/dev/shm/served"
    c.guest.run(f"mkdir -p {served}")
    server = c.start("server", "unic-copy", "serve", "--dir", served, "--socket",
                     pair.NODE, show=False)
    server.expect("ready")
    path = c.path("long")
    with open(path, "wb") as f:
        f.write(os.urandom(24 << 20))
    put = c.start("put", "unic-copy", "put", path, "--name", "file", "--socket",
                  c.socket(1), "--peer", IP[0], "--quiet", show=False)
    c.guest.wait_for(f"test $(ls -s {served} | awk '/ / {{n += $1}} END "
                     "{print n + 0}') -gt 1000")
    return server, put


def fill(c):
    """Fill free memory of the guest with a file. Returns the command that
    prints its text."""
    text = f"yes 'not the NIC' | head -c {FILL_BYTES}"
    c.guest.run(f"rm -rf /dev/shm/served; {text} >/dev/shm/fill", 60)
    return text


def late_writes(c, others):
    """A NIC that stands still while it writes to a process is unbound from its
    driver, and goes on when its memory is used for something else. Returns the
    pages in quarantine meanwhile."""
    server, put = receive(c)
    c.stop(*others)
    server.kill()
    c.unbind()
    text = fill(c)
    kept = c.guest.ask(f"cat {QUARANTINE}")[1].strip()
    c.go_on()
    time.sleep(1)
    said = c.guest.ask(f"{text} | cmp - /dev/shm/fill", 60)
    must(said == (0, ""), f"the NIC wrote into what was freed: {said[1]}")
    put.end()
    c.guest.run("rm /dev/shm/fill")
    return kept


def test_ended(c):
    """The bus ends a NIC that does not answer, and its pages go back at once."""
    kept = late_writes(c, ())
    must(kept == "0", f"{kept} pages in quarantine")
    must(c.nics[0].child.wait(10) == -signal.SIGKILL, "the NIC was not ended")
    c.nothing_pinned()
    c.new_nic()
    c.bind()


def test_quarantine(c):
    """If the bus cannot end the NIC, its pages are kept until it answers."""
    try:
        kept = late_writes(c, (c.bus(),))
        must(int(kept) > 0, "nothing in quarantine")
        print(f"        {kept} pages", flush=True)
        c.guest.wait_for(f"grep -qx 0 {QUARANTINE}")
        c.nothing_pinned()
    finally:
        c.bus().send_signal(signal.SIGCONT)  # it ends the NIC now
    c.nics[0].child.wait(10)
    c.new_nic()
    c.bind()


def test_quarantine_settled(c):
    """While pages are in quarantine the module stays, and binds to no NIC that
    does not answer."""
    try:
        server, put = receive(c)
        c.stop(c.bus())
        server.kill()
        c.unbind()
        must(c.quarantined(), "nothing in quarantine")
        c.guest.run("rmmod unicblk")
        must(c.guest.ask("rmmod unic")[0], "unloaded")
        c.guest.run("modprobe unicblk")
        must(c.guest.ask(f"echo {pair.ADDRESS} >{DRIVER}/bind", 60)[0],
             "bound to a NIC that does not answer")
        c.go_on()
        c.guest.wait_for(f"grep -qx 0 {QUARANTINE}")
        c.bind()
        put.end()
    finally:
        c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.new_nic()
    c.guest.wait_for("grep -q ready /sys/class/unic/unic*/state")


def test_quarantine_settled_at_once(c):
    """The NIC answers while a driver waits to bind to it: its memory goes back
    once."""
    try:
        server, put = receive(c)
        c.stop(c.bus())
        server.kill()
        c.unbind()
        must(c.quarantined(), "nothing in quarantine")
        c.guest.run(f"echo {pair.ADDRESS} >{DRIVER}/bind &")
        time.sleep(0.5)
        c.go_on()
        c.guest.wait_for("grep -q ready /sys/class/unic/unic*/state")
        must(c.quarantined() == 0, "pages are in quarantine")
        c.nothing_pinned()
        put.end()
    finally:
        c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.new_nic()
    c.guest.wait_for("grep -q ready /sys/class/unic/unic*/state")


def test_add_too_late(c):
    """A process that waits to add a disk gets an error when the NIC is taken
    away, though pages are in quarantine."""
    c.add()
    try:
        c.stop(c.bus())
        remover = c.task("echo 0 >/sys/class/unicblk/remove")
        time.sleep(0.5)
        adder = c.task(f"echo 'nic=0 addr={IP[1]} file={vm_blk.FILE}' "
                       ">/sys/class/unicblk/add")
        c.unbind()
        must(c.quarantined(), "nothing in quarantine")
        remover.wait(20)
        must(adder.wait(5), "added")
        c.go_on()
        c.guest.wait_for(f"grep -qx 0 {QUARANTINE}")
    finally:
        c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.new_nic()
    c.bind()


def with_disk(c, others):
    """Unbind a NIC with I/Os of a disk under way; returns the task that does
    them."""
    c.add("timeout_ms=600000")
    task = c.verify_on()
    c.driver.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    c.stop(*others)
    c.driver.send_signal(signal.SIGCONT)
    c.unbind()
    return task


def test_disk_ended(c):
    """I/Os end when the bus ends the NIC."""
    task = with_disk(c, ())
    must(task.wait(60) != 0, "fio did not notice")
    c.remove()
    must(not c.quarantined(), "in quarantine")
    c.new_nic()
    c.bind()


def test_disk_quarantine(c):
    """I/Os of a NIC do not end before it has answered, and their disk stays;
    then it can be removed."""
    try:
        task = with_disk(c, (c.bus(),))
        must(c.quarantined(), "nothing in quarantine")
        time.sleep(2)
        must(any(map(int, c.guest.run(
            "cat /sys/block/unicblk0/inflight").split())), "an I/O ended")
        must(c.guest.ask("echo 0 >/sys/class/unicblk/remove")[0], "removed")
        c.go_on()
        c.guest.wait_for(f"grep -qx 0 {QUARANTINE}")
        must(task.wait(60) != 0, "fio did not notice")
        c.remove()
    finally:
        c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.new_nic()
    c.bind()


def test_file_stays(c):
    """A NIC that stands still has I/Os of a disk and WRITEs into a process when the
    module is taken away. A file that is written then has the same sum when the NIC has
    gone on."""
    file = "/dev/shm/fill"
    c.add("timeout_ms=600000")
    task = c.verify_on()
    server, put = receive(c)
    try:
        c.driver.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        c.stop(c.bus())
        c.driver.send_signal(signal.SIGCONT)
        server.kill()
        c.unbind()
        c.guest.ask("rmmod unic")  # may fail
        fill(c)
        before = c.guest.run(f"sha256sum {file}")
        c.go_on()
        time.sleep(2)
        must(c.guest.run(f"sha256sum {file}") == before,
             "the NIC wrote into a file")
        c.guest.wait_for(f"grep -qx 0 {QUARANTINE}")
        must(task.wait(60) != 0, "fio did not notice")
        c.remove()
        put.end()
    finally:
        c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.guest.run(f"rm {file}")
    c.new_nic()
    c.bind()


def test_error(c):
    """The bus reports an error: the NIC is reset, and processes go on."""
    keeper = hog(c, "--keep", "--max", "64")
    keeper.expect("holds 64")
    c.guest.run("echo 1 >/sys/kernel/debug/unic/unic0/error")
    keeper.expect("goes on, holding 64", 30)


def test_error_loses_state(c):
    """The reset of its slot makes the function lose its settings, more than
    once: processes go on."""
    keeper = hog(c, "--keep", "--max", "64")
    keeper.expect("holds 64")
    config = f"/sys/bus/pci/devices/{pair.ADDRESS}/config"
    for suspend in (False, False, True):
        if suspend:
            c.guest.run(SUSPEND, 60)
            keeper.expect("goes on, holding 64", 30)
        c.guest.run(f"printf '\\0\\0' | dd of={config} bs=1 seek=4 conv=notrunc; "
                    "echo 1 >/sys/kernel/debug/unic/unic0/error")
        keeper.expect("goes on, holding 64", 30)


SUSPEND = ("echo 0 >/sys/module/suspend/parameters/pm_test_delay; "
           "echo devices >/sys/power/pm_test && echo freeze >/sys/power/state")


def test_suspend(c):
    """Memory is not written to while the machine sleeps; then a process goes on."""
    keeper = hog(c, "--keep", "--max", "64")
    keeper.expect("holds 64")
    c.guest.run(SUSPEND, 60)
    keeper.expect("goes on, holding 64", 30)


def arrived(c):
    """Lines of the file behind the disk that are in the guest's memory."""
    bus = pair.run_nic.bus_info(c.path("bus0"))
    with open(f"/proc/{bus['pid']}/fd/{bus['slot_fds'][0]}", "rb") as f:
        return re.findall(rb"on the disk \d{8}\n", f.read())


def read_on(c):
    """Add a disk whose file is full of lines, and read it at random, eight
    I/Os at a time."""
    line, size = b"on the disk %08d\n", 8 << 20
    with open(os.path.join(c.export, vm_blk.FILE), "wb") as f:
        f.write(b"".join(line % n for n in range(size // len(line % 0) + 1)))
    c.add("timeout_ms=60000", size)
    c.task(f"{vm_blk.FIO} --filename={vm_blk.NODE} --name=read --rw=randread "
           "--bs=64k --direct=1 --ioengine=libaio --iodepth=8 --time_based "
           "--runtime=600")
    c.guest.wait_for("test $(awk '{print $1}' /sys/block/unicblk0/stat) -gt 20")


def test_sleep(c):
    """The machine sleeps until its button is pressed. Its NIC goes on, and
    answers to reads come meanwhile, but none is written to memory; then
    processes and a disk go on."""
    keeper = hog(c, "--keep", "--max", "64")
    keeper.expect("holds 64")
    read_on(c)
    slept = "cat /sys/power/suspend_stats/success"
    before = int(c.guest.run(slept))
    c.driver.send_signal(signal.SIGSTOP)  # I/Os wait for it
    try:
        c.guest.run("echo none >/sys/power/pm_test; echo 1 >/sys/power/pm_debug_messages; "
                    "echo N >/sys/module/printk/parameters/console_suspend; "
                    "echo 8 >/proc/sys/kernel/printk; { sleep 0.2; "
                    "echo freeze >/sys/power/state; } >/run/slept 2>&1 &")
        c.says("PM: suspend-to-idle", 30)
        asleep = arrived(c)
    finally:
        c.driver.send_signal(signal.SIGCONT)
    time.sleep(1)
    must(arrived(c) == asleep, "the NIC wrote to memory of a machine that sleeps")
    c.press_button()
    c.guest.wait_for(f"test $({slept}) -gt {before}", 60)
    c.guest.run("echo 4 >/proc/sys/kernel/printk")
    must(not c.guest.run("cat /run/slept"), "it did not sleep")
    keeper.expect("goes on, holding 64", 30)
    c.guest.run(vm_blk.READ, 60)
    must(c.count("again") and not c.count("failed"), "no I/O was under way")
    c.end_tasks()
    os.unlink(os.path.join(c.export, vm_blk.FILE))


def test_suspend_refused(c):
    """A suspend fails while the NIC does not answer and cannot be ended."""
    keeper = hog(c, "--keep", "--max", "64")
    keeper.expect("holds 64")
    c.stop(c.bus())
    try:
        must(c.guest.ask(SUSPEND, 60)[0], "suspended")
        c.go_on()
        keeper.expect("goes on, holding 64", 30)
    finally:
        c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.new_nic()
    keeper.expect("goes on, holding 64", 30)


def kexec(c):
    """Start kexec, in the background."""
    c.guest.run(f"{{ kexec {KERNEL} {INITRD} '{guest.COMMAND_LINE}' "
                ">/run/kexec 2>&1; } &")


def begun(c):
    """Load the module in the other kernel, and wait for the NIC."""
    c.tasks.clear()
    c.complaints = 0
    c.load()
    c.guest.wait_for(f"unicctl --socket {pair.NODE} info | grep 'nic .*ready'")


def booted(c):
    """Wait until the other kernel has booted."""
    float(c.guest._read_line(guest.Patience(c.guest, 60)))


def test_kexec_waits(c):
    """kexec waits while a NIC may write to memory, and the machine goes on
    meanwhile. Then the other kernel begins."""
    receive(c)
    c.stop(c.bus())
    kexec(c)
    c.guest.wait_for("dmesg | grep -q 'kexec waits'", 30)
    c.guest.run("{ reboot -f; } &")  # this waits, too
    time.sleep(3)
    must(c.guest.run("echo here") == "here\n", "it is gone")
    c.go_on()
    booted(c)
    begun(c)
    c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)
    c.new_nic()
    c.guest.wait_for(f"unicctl --socket {pair.NODE} info | grep 'nic .*ready'")


def test_kexec_meets_unbind(c):
    """kexec waits also for a NIC that is just being unbound. (In a guest of
    its own.)"""
    receive(c)
    c.tasks.append(guest.Task(
        c.guest, ["kexec", KERNEL, INITRD, guest.COMMAND_LINE], stdin=True))
    c.tasks[-1].expect("loaded", 60)
    c.stop(c.bus())
    c.guest.run(f"{{ echo {pair.ADDRESS} >{DRIVER}/unbind; }} &")
    time.sleep(0.5)
    c.tasks[-1].send("")
    time.sleep(8)
    must(c.guest.run("echo here") == "here\n", "it is gone")
    c.guest.wait_for("dmesg | grep -q 'kexec waits'")
    c.go_on()
    booted(c)
    c.tasks.clear()
    c.bus().send_signal(signal.SIGCONT)
    c.nics[0].child.wait(10)


def test_kexec(c):
    """kexec does not wait for a NIC that answers, nor end it. Answers to reads
    come when the other kernel has begun, and are not written to its memory.
    (In a guest of its own, which has another kernel afterwards.)"""
    read_on(c)
    c.driver.send_signal(signal.SIGSTOP)
    try:
        kexec(c)
        booted(c)
        c.guest.run("head -c 100000000 /dev/zero >/dev/shm/fill")
        before = arrived(c)
    finally:
        c.driver.send_signal(signal.SIGCONT)
    time.sleep(1)
    must(arrived(c) == before, "the NIC wrote to memory of the other kernel")
    c.guest.run("rm /dev/shm/fill")
    must("kexec waits" not in c.guest.last_words(), "it waited")
    must(c.nics[0].child.poll() is None, "the NIC was ended")
    begun(c)


def test_restart(c):
    """A restart does not wait, but the console tells of the NIC. (The last
    test: the guest is gone.)"""
    c.stop(c.bus())
    c.guest.line.sendall(b"reboot -f\n")
    patience = guest.Patience(c.guest, 30)
    while c.guest.qemu.poll() is None:
        must(not patience.over(), "it does not restart")
        time.sleep(0.1)
    must("the NIC may still write to memory" in c.guest.last_words(),
         "nothing on the console")
    c.tasks.clear()
    c.go_on(c.bus())


ALONE = ("test_kexec", "test_kexec_meets_unbind")


def main():
    o = vm_check.parser(__doc__).parse_args()
    tests = vm_check.tests_of(globals())
    chosen = o.only or tests
    rounds = [[name for name in chosen if name not in ALONE],
              *([name] for name in chosen if name in ALONE)]
    return vm_check.run(*(
        (lambda tmp: Leave(o.board, tmp, o.cpus),
         {name: tests[name] for name in names}) for names in rounds if names))


if __name__ == "__main__":
    sys.exit(main())
