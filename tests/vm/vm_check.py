#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The Linux module in a guest with the distribution's kernel: loaded, used by the
programs that use unicd elsewhere, killed in the middle, unloaded. After each test
nothing is pinned, and the kernel has complained of nothing.

    vm_check.py [--board soft|virt] [--cpus 1|2] [--only NAME ...]
"""
import argparse
import os
import re
import signal
import sys
import tempfile
import time

import pair
import stops
from guest import Patience
from hangs import Hangs
from hosts import BIN, IP, Failure, sha256
import test_memory

PROGRAMS = ("calls", "crowd", "forks", "forms", "gaps", "memory", "node", "pins", "places",
            "datagrams", "survivor")
STATE = "/sys/class/unic/unic0/state"
HANG_S = 1.0
TRACING = "/sys/kernel/tracing"
COPY_BYTES = 2 << 20
# What a kernel with a fault says. The taint of out-of-tree modules is none.
HURT = re.compile(r"BUG|WARNING|Oops|Call Trace|general protection|soft lockup|"
                  r"hung task|blocked for more than|Bad page|use-after-free(?! debug)|"
                  r"list_(?:add|del) corruption|refcount_t|memory corruption|"
                  r"Redzone|Poison overwritten|Object padding|UBSAN|ODEBUG|"
                  r"DMA-API: (?!preallocated|debugging enabled)|INFO: |suspicious|"
                  r"kmemleak: (?:\d+ new|.*disabled)|workqueue lockup")
# Where a kernel with kmemleak lists what it lost.
LEAKS = "/sys/kernel/debug/kmemleak"
# Freed memory, objects and pages, is filled, and looked at before it is used
# again: what the module or the NIC still writes there is seen.
CAREFUL = "slub_debug=FZP page_poison=1"


class Check(pair.Pair):
    """Guest and peer, and what is the same after every test."""
    HURT = HURT

    def __init__(self, board, tmp, cpus=1):
        super().__init__(board, tmp)
        self.cpus, self.complaints = cpus, 0

    def begin(self):
        self.start_wire("--direct")
        self.start_nic(0, show=False)
        self.start_peer()
        self.boot([os.path.join(BIN, p) for p in PROGRAMS],
                  ("loop", "ext4", "crc32c_generic"), cpus=self.cpus,
                  command_line=CAREFUL,
                  more=["-object", "memory-backend-ram,id=other,size=1M",
                        "-device", "ivshmem-plain,memdev=other"])

    def catch_up(self):
        """Bring a new guest into the state that the tests before would have
        left."""
        if self.guest.ask(f"test -c {pair.NODE}")[0]:
            self.load()

    def pinned(self):
        """Pages that the kernel has pinned for anybody."""
        said = dict(line.split() for line in
                    self.guest.run("grep foll_pin /proc/vmstat").splitlines())
        return int(said["nr_foll_pin_acquired"]) - \
            int(said["nr_foll_pin_released"])

    def nothing_pinned(self, seconds=20):
        patience = Patience(self.guest, seconds)
        while (n := self.pinned()) and not patience.over():
            time.sleep(0.05)
        must(not n, f"{n} pages are still pinned after {seconds} s")

    def no_complaint(self):
        """Nothing new in the kernel's log that it should not have to say."""
        log = self.guest.run("dmesg").splitlines()
        bad = [n for n, text in enumerate(log) if self.HURT.search(text)]
        new, self.complaints = bad[self.complaints:], len(bad)
        if new:
            raise Failure("the kernel says:\n" +
                          "\n".join(log[new[0]:new[0] + 30]))

    def forget_log(self, pattern):
        """Check that the kernel said this, as it must, and forget its log."""
        log = self.guest.run("dmesg -c")
        must(re.search(pattern, log), f"the kernel does not say '{pattern}'")
        self.complaints = 0

    def no_leak(self):
        """Check that no memory is left without a pointer to it. Young objects
        are not judged, and others only after two scans."""
        if self.guest.ask(f"test -e {LEAKS}")[0]:
            return
        time.sleep(6)
        for _ in (1, 2):
            self.guest.run(f"echo scan >{LEAKS}", 120)
        leaked = self.guest.run(f"cat {LEAKS}", 60)
        must(not leaked, f"leaked:\n{leaked[:4000]}")

    def same_as_ever(self):
        self.end_tasks()
        self.nothing_pinned()
        self.no_complaint()


def must(cond, what):
    if not cond:
        raise Failure(what)


def no_hang(hangs, more=()):
    """more: see Hangs.longest()."""
    longest, who = hangs.longest(more)
    print(f"        longest wait: {longest:.2f} s ({who})", flush=True)
    must(longest < HANG_S, f"the guest hung for {longest:.2f} s: {who}")


# ---------------------------------------------------------------- the tests

def test_load(c):
    """The module binds to the NIC that was named, to no other device that
    shares memory, and makes a node."""
    bound = "ls -d /sys/bus/pci/drivers/unic/0*"
    c.guest.run("modprobe unic")
    must(c.guest.ask(bound)[0], "bound to what nobody named")
    override = f"/sys/bus/pci/devices/{pair.ADDRESS}/driver_override"
    c.guest.run(f"echo unic >{override}; "
                f"echo {pair.ADDRESS} >/sys/bus/pci/drivers/unic/bind")
    c.guest.wait_for(bound)
    c.guest.run(f"rmmod unic; echo >{override}")
    c.load()
    driver = c.guest.run("ls -l /sys/bus/pci/drivers/unic")
    bound = re.findall(r"\d{4}:\d\d:\d\d\.\d", driver)
    must(len(set(bound)) == 1, f"bound to {bound}")
    info = c.ctl(0, "info")
    must(info["nic"] == "ready", f"the NIC is {info['nic']}")


def test_forms(c):
    """Windows, sub-regions, fast and indirect registration."""
    must(c.guest.run(f"forms {pair.NODE}", 60) == "forms: ok\n", "not ok")


def test_crowd(c):
    """Four hundred threads use one open device, and none is told that its
    driver is gone."""
    must(c.guest.run(f"crowd {pair.NODE} 400 20", 240) == "ok\n", "not ok")


def test_forks(c):
    """What a child has of its parent's memory and device."""
    must(c.guest.run(f"forks {pair.NODE}", 120) == "ok\n", "not ok")


class Program(pair.guest.Task):
    """What test_memory.py wants of a program."""

    def __init__(self, c, what):
        super().__init__(c.guest, ["memory", pair.NODE, what], stdin=True)
        c.tasks.append(self)

    def line(self):
        text = self.expect("")
        must(not text.startswith("memory:"), text)
        return text

    def go_on(self):
        self.send("")

    def finish(self, seconds=20):
        must(self.line() == "ok", "it did not end well")
        super().finish(seconds)


def memory(test):
    return lambda c: test(c, lambda what: Program(c, what))


def test_pins(c):
    """Memory of any kind, counted, and safe from what its owner does to it."""
    must(c.guest.run(f"pins {pair.NODE}", 60) == "pins: ok\n", "not ok")


def test_memlock(c):
    """RLIMIT_MEMLOCK limits what a user can pin."""
    must(c.guest.run(f"pins {pair.NODE} limit", 60) == "pins: ok\n", "not ok")


def test_stuck(c):
    """A process whose pages never come holds up nobody, and can be killed."""
    hangs = Hangs(c.guest, STATE)
    *took, end = c.guest.run(f"pins {pair.NODE} stuck", 60).splitlines()
    must(end == "pins: ok" and len(took) == 2, "not ok")
    no_hang(hangs, took)


def test_hostage(c):
    """A worker waits for a page that is not provided: the process that wanted
    it is gone, and the module is in use only until that wait has ended."""
    user = c.start("user", "pins", pair.NODE, "hostage", show=False)
    holder = user.expect("held by").split()[-1]
    user.kill()
    user.wait()
    c.nothing_pinned()
    must(c.guest.ask("rmmod unic")[0] != 0, "unloaded, with a worker in it")
    must(c.ctl(0, "info")["nic"] == "ready", "nobody else can use it")
    c.guest.run(f"kill -9 {holder}")
    c.guest.wait_for("rmmod unic")
    c.load()


def test_storm(c):
    """Four threads do to memory whatever can be done while it is registered."""
    must(c.guest.run(f"pins {pair.NODE} storm 2", 150) == "pins: ok\n", "not ok")


def test_file(c):
    """A file on a disk is not written behind the back of its file system."""
    c.guest.run("modprobe loop && modprobe ext4 && cd /tmp && "
                "dd if=/dev/zero of=disk bs=1M count=8 && "
                "mke2fs -F disk && mkdir disk.d && "
                "mount -t ext4 -o loop disk disk.d && "
                "dd if=/dev/urandom of=disk.d/file bs=16k count=1 && sync && "
                "echo 3 >/proc/sys/vm/drop_caches")
    must(c.guest.run(f"pins {pair.NODE} file /tmp/disk.d/file", 60) ==
         "pins: ok\n", "not ok")
    c.guest.run("umount /tmp/disk.d")


test_exits = memory(test_memory.test_exits)
test_batch = memory(test_memory.test_batch)
test_bases = memory(test_memory.test_bases)


def test_calls(c):
    """Messages take no system call, but one that wakes a NIC that sleeps."""
    target = c.start("target", "calls", "target", c.socket(1), show=False)
    try:
        target.expect("ready")
        said = c.guest.run(f"calls {pair.NODE} {IP[1]}", 150)
        must(said.endswith("calls: ok\n"), said)
    finally: # it listens, also for the next try
        target.end()


def test_deadline(c):
    """A call that nobody answers ends at its time."""
    said = c.guest.run(f"node {pair.NODE} deadline", 150)
    must(said.startswith("node: ok"), said)


UNREAD, UNREAD_KIB, GROUP_KIB = 2500, 65536, 24576
# Of a descriptor: two replies of the largest size, less than one more.
REPLIES_KIB = 3 * 8 * UNREAD
GROUPS = "/run/cg"


def used_kib(c):
    """Used memory, without what the kernel gives back on demand."""
    said = c.guest.run("grep -E '^Mem(Total|Available):' /proc/meminfo")
    total, available = map(int, re.findall(r"(\d+) kB", said))
    return total - available


def pages_kib(c, group):
    """Memory that the kernel took for a group of processes page by page.
    Objects do not count: a debug kernel makes each several times its size, and
    keeps it when it is freed."""
    said = dict(line.split() for line in
                c.guest.run(f"cat {GROUPS}/{group}/memory.stat").splitlines())
    return (int(said["kernel"]) - sum(int(said[what]) for what in (
        "slab", "kernel_stack", "pagetables", "percpu", "vmalloc"))) >> 10


def start_unread(c, group):
    c.tasks.append(pair.guest.Task(c.guest, (
        "sh", "-c", f"echo 0 >{GROUPS}/{group}/cgroup.procs; "
        f"exec node {pair.NODE} unread {UNREAD}")))
    return c.tasks[-1]


def test_unread(c):
    """Unread replies of a descriptor are few, and charged to their process:
    any number of descriptors leaves memory to the machine, and counts for its
    group of processes."""
    c.guest.run(f"mkdir -p {GROUPS} && mount -t cgroup2 none {GROUPS} && "
                f"cd {GROUPS} && echo +memory >cgroup.subtree_control && "
                f"mkdir all few && echo {GROUP_KIB << 10} >few/memory.max")
    before = used_kib(c)
    user = start_unread(c, "all")
    said = user.expect("unread|node:", 60)
    taken, pages = used_kib(c) - before, pages_kib(c, "all")
    print(f"        {said}: {taken} KiB, {pages} of them in pages", flush=True)
    must(said.endswith("unread") and pages < REPLIES_KIB, f"{pages} KiB in pages")
    must(taken < UNREAD_KIB or pair.guest.kernel.SYSTEM, f"{taken} KiB")
    must(c.ctl(0, "info")["nic"] == "ready", "nobody else can use it")
    user.kill()
    user.wait()
    few = start_unread(c, "few")
    must(few.wait(60), f"a group with {GROUP_KIB} KiB took more: {few.last()}")
    for group in ("all", "few"):
        c.guest.wait_for(f"rmdir {GROUPS}/{group}")
    c.guest.wait_for(f"umount {GROUPS}")
    c.forget_log("Memory cgroup out of memory: Killed process .* .node.")


def test_threads(c):
    """A hundred threads ask on one descriptor: each is answered, sooner or later."""
    must(c.guest.run(f"node {pair.NODE} threads 100", 60) == "node: ok\n", "not ok")


def test_turns(c):
    """Calls of one descriptor get the few places for requests in the order in which
    they came; one that is interrupted, or too late, leaves the others theirs."""
    must(c.guest.run(f"places {pair.NODE} turns", 60) == "places: ok\n", "not ok")


def dropped_for_a_page(c):
    """Datagrams that met a page which was not there yet, so far: they are lost."""
    return sum(c.ctl(host, "--all", "stats")["nic"]["miss_dropped"]
               for host in (0, 1))


def talk(c):
    answer = c.start("answer", "datagrams", "answer", pair.NODE,
                     show=False)
    qpn = answer.expect("at").split()[-1]
    ask = c.start("ask", "datagrams", "ask", c.socket(1), IP[0], qpn,
                  show=False)
    try:
        ask.expect("datagrams: ok")
        answer.expect("datagrams: ok")
    finally:
        ask.end()
        answer.end()


def test_datagrams(c):
    """Datagrams go to a host with unicd and come from it. A slow driver may bring the
    page of a receive after its datagram: then again, twice at most."""
    for left in (2, 1, 0):
        before = dropped_for_a_page(c)
        try:
            talk(c)
            break
        except Failure:
            if not left or dropped_for_a_page(c) == before:
                raise


def copied(c, mode):
    served = c.path("served")
    os.makedirs(served, exist_ok=True)
    server = c.start("server", "unic-copy", "serve", "--dir", served,
                     "--socket", c.socket(1), show=False)
    server.expect("ready")
    how = f"--socket {pair.NODE} --peer {IP[1]} --mode {mode} --quiet"
    c.guest.run(f"head -c {COPY_BYTES} /dev/urandom >/tmp/file")
    c.guest.run(f"unic-copy put /tmp/file --name file {how}", 60)
    c.guest.run(f"unic-copy get file --output /tmp/back {how}", 60)
    c.guest.run("cmp /tmp/file /tmp/back")
    ours = c.guest.run("sha256sum </tmp/file").split()[0]
    server.end()
    must(ours == sha256(os.path.join(served, "file")), "another file")


def test_copy_by_rdma(c):
    """A file there and back, and the same at both ends."""
    copied(c, "rdma")


def test_copy_by_calls(c):
    """As test_copy_by_rdma(), with payload tokens."""
    copied(c, "rpc")


def test_serve(c):
    """The guest is the server."""
    c.guest.run("mkdir -p /tmp/served")
    server = c.start("server", "unic-copy", "serve", "--dir", "/tmp/served",
                     "--socket", pair.NODE, show=False)
    server.expect("ready")
    path = c.path("file")
    with open(path, "wb") as f:
        f.write(os.urandom(COPY_BYTES))
    put = c.start("put", "unic-copy", "put", path, "--name", "file", "--socket",
                  c.socket(1), "--peer", IP[0], "--quiet", show=False)
    put.finish(60)
    must(c.guest.run("sha256sum </tmp/served/file").split()[0] ==
         sha256(path), "another file")


def hog(c, *args):
    return c.start("hog", "unic-hog", *args, "--socket", pair.NODE, show=False)


def test_hogs(c):
    """The table is full, and a file goes over all the same."""
    entries = c.ctl(0, "info")["tlb_entries"]
    for answer in ("release", "ignore"):
        hog(c, f"--answer={answer}", "--again", "--max",
            str(entries // 2)).expect("holds .* entries")
    must(c.pinned() > entries / 2, "hogs pin nothing")
    copied(c, "rdma")


def test_slots(c):
    """One user has three quarters of the process slots at most, with however many
    processes; another, and root, find one."""
    def of(user):
        return c.start("hog", "start-stop-daemon", "-S", "-p", "/run/none", "-c",
                       user, "-a", "/bin/unic-hog", "--", "--max", "1",
                       "--socket", pair.NODE, show=False)

    c.guest.run("mkdir -p /etc; for n in 0 1 2; do echo user$n:x:$n:$n::/:; done "
                ">/etc/passwd")
    slots = int(c.guest.run("cat /sys/class/unic/unic0/slots"))
    for user in ["user1"] * (slots - slots // 4) + ["user2", "user0"]:
        of(user).expect("holds 1 entry ")
    must(of("user1").wait() != 0, "one more of the same user")


def test_ids(c):
    """Users of a namespace count as the user that made the namespace."""
    slots = int(c.guest.run("cat /sys/class/unic/unic0/slots"))
    said = c.guest.run(f"node {pair.NODE} ids")
    must(said == f"node: {slots - slots // 4} slots\n", said)


def test_starved(c):
    """Pages that never come occupy a part of the workers at most: pages of
    another user come."""
    limit = "/sys/module/unic/parameters/user_fetches"
    c.guest.run("echo 1 >/proc/sys/vm/unprivileged_userfaultfd; mkdir -p /etc; "
                f"echo user1:x:1:1::/: >/etc/passwd; echo 2 >{limit}")
    try:
        wait, more = (["pins", pair.NODE, "hostage"] for _ in (1, 2))
        for _ in range(2):
            c.start("held", *wait, show=False).expect("held by")
        late = c.start("late", *more, show=False)
        c.start("other", "start-stop-daemon", "-S", "-p", "/run/none", "-c",
                "user1", "-a", "/bin/pins", "--", pair.NODE, "hostage",
                show=False).expect("held by")
        late.take()
        must(not any("held by" in text for text in late.lines),
             "one more worker waits for the same user")
    finally:
        c.guest.ask(f"killall -9 pins; echo 48 >{limit}")
        c.guest.wait_for("! pidof pins")


def test_not_pinned_in_a_lock(c):
    """The thread that has the lock does not pin: pages may have to be moved."""
    if c.guest.ask(f"test -e {TRACING}/kprobe_events")[0]:
        return
    c.guest.run(f"cd {TRACING} && echo 'p:pins pin_user_pages_remote' "
                ">kprobe_events && echo 'comm == \"unic0\"' >events/kprobes/pins/filter "
                "&& echo 1 >events/kprobes/pins/enable && echo >trace")
    c.guest.run(f"pins {pair.NODE}", 60)
    said = c.guest.run(f"cd {TRACING} && grep -c 'pins:' trace; "
                       "echo 0 >events/kprobes/pins/enable; echo >kprobe_events")
    must(said == "0\n", f"{said.strip()} times")


def grown(c):
    """Calls that wait beside a HELLO get the places that its answer brings. False: the
    NIC stood still for so long that there was no slot."""
    c.tasks.append(pair.guest.Task(c.guest, ["places", pair.NODE, "grown"], stdin=True))
    c.tasks[-1].expect("opened")
    c.nics[0].child.send_signal(signal.SIGSTOP)
    try:
        c.tasks[-1].send("go")
        c.tasks[-1].expect("waits")
    finally:
        c.nics[0].child.send_signal(signal.SIGCONT)
    said = c.tasks[-1].expect("places: ")
    must(said in ("places: ok", "places: no slot"), said)
    c.guest.wait_for(f"grep -q ready {STATE}")
    return said.endswith("ok")


def test_early(c):
    """A process has no slot before it is told so: the slot that it asked for
    may be given to another process. Calls that wait get the places that come with
    it."""
    c.nics[0].child.send_signal(signal.SIGSTOP)
    try:
        said = c.guest.run(f"node {pair.NODE} early")
    finally:
        c.nics[0].child.send_signal(signal.SIGCONT)
    must(said == "node: ok\n", said)
    c.guest.wait_for(f"grep -q ready {STATE}")
    must(any(grown(c) for _ in range(3)), "the NIC counts as dead each time")


def test_kill(c):
    """Hogs and a copy are killed at one point or another."""
    for turn in range(4):
        victim = hog(c, "--max", "512")
        time.sleep(0.02 * turn)
        victim.kill()
        victim.wait()
        c.nothing_pinned()


def test_reset(c):
    """The NIC is reset under a process, which goes on."""
    keeper = hog(c, "--keep", "--max", "256")
    keeper.expect("holds 256")
    c.guest.run("echo 1 >/sys/class/unic/unic0/reset")
    keeper.expect("goes on, holding 256", 30)


def test_nic_comes_back(c):
    """The NIC ends and another one takes its place: a process goes on."""
    keeper = hog(c, "--keep", "--max", "256")
    keeper.expect("holds 256")
    c.nics[0].end()
    c.nics[0] = c.plug_nic(0, show=False)
    keeper.expect("goes on, holding 256", 30)


def test_suspend(c):
    """The machine suspends its devices and resumes: a process goes on."""
    keeper = hog(c, "--keep", "--max", "64")
    keeper.expect("holds 64")
    c.guest.run("echo 0 >/sys/module/suspend/parameters/pm_test_delay; "
                "echo devices >/sys/power/pm_test && "
                "echo freeze >/sys/power/state", 60)
    must(keeper.poll() is None, "it ended")
    must(c.guest.run(f"forms {pair.NODE}", 60) == "forms: ok\n", "not ok")


def test_unbind(c):
    """A NIC that is slow to stop is unbound and bound again while processes
    come and go: a process that comes in that moment gets an error, and one that waits
    for a place is told."""
    driver = "/sys/bus/pci/drivers/unic"
    address = re.search(r"\d{4}:\d\d:\d\d\.\d",
                        c.guest.run(f"ls {driver}")).group()
    ended = c.start("ended", "places", pair.NODE, "ended", show=False)
    ended.expect("waits")
    comers = c.start("comers", "node", pair.NODE, "comers", show=False)
    for _ in range(3):
        c.guest.wait_for("! grep -qx 0 /sys/class/unic/unic*/slots_used")
        c.nics[0].child.send_signal(signal.SIGSTOP)
        c.guest.run("rm -f /run/unbound; "
                    f"{{ echo {address} >{driver}/unbind; >/run/unbound; }} &")
        time.sleep(0.3)
        c.nics[0].child.send_signal(signal.SIGCONT)
        c.guest.wait_for("test -e /run/unbound")
        # else it would be found again as unic1
        c.guest.wait_for("grep -qx 0 /sys/module/unic/refcnt")
        c.guest.run(f"echo {address} >{driver}/bind")
    ended.expect("places: ok")
    must(comers.poll() is None, comers.last())
    comers.kill()
    c.guest.wait_for(f"unicctl --socket {pair.NODE} info | grep 'nic .*ready'")


def test_unload(c):
    """The module cannot be unloaded while it is used; then nothing is left of
    it, and it loads again."""
    user = hog(c, "--max", "64")
    user.expect("holds")
    must(c.guest.ask("rmmod unic")[0] != 0, "unloaded while it is used")
    user.kill()
    user.wait()
    c.guest.wait_for("rmmod unic")
    must(c.guest.ask(f"test -e {pair.NODE}")[0] != 0, "the node is left")
    must("unic" not in c.guest.run("cat /proc/interrupts"), "a vector is left")
    c.load()
    must(c.ctl(0, "info")["nic"] == "ready", "not ready again")


def tests_of(names):
    """Names of a module's tests, in their order."""
    return {name: f for name, f in names.items()
            if name.startswith("test_") and callable(f)}


def try_one(c, test):
    test(c)
    c.same_as_ever()


def run_one(c, name, test):
    start = time.monotonic()
    try:
        stops.step(try_one, c, test, again=c.end_tasks)
        print(f"ok      {name} ({time.monotonic() - start:.1f} s)", flush=True)
        return True
    except Exception as e:  # a test may fail in any way
        print(f"FAILED  {name}: {type(e).__name__}: {e}", flush=True)
    return False


def run_in_guest(make, left, again):
    """Try the tests that are @left, in turn, until the guest is lost; what was tried
    is not left. @again: others were tried in another guest. How many passed."""
    passed = tried = 0
    with tempfile.TemporaryDirectory(prefix="unic-vm-") as tmp:
        c = make(tmp)
        try:
            c.begin()
            if again:
                c.catch_up()
            while left:
                tried += 1
                passed += run_one(c, *left.pop(0))
                if c.guest.is_lost():
                    return passed
                c.end_tasks()
            c.no_leak()
            c.no_complaint()
        except Failure as e:
            print(f"FAILED  {e}", flush=True)
            if not tried or not c.guest.is_lost():
                left.clear()  # the rest would fail for the same reason
            passed = min(passed, max(tried - 1, 0))
        finally:
            c.end()
    return passed


def run_all(make, tests):
    """How many passed. A test that loses its guest costs the others nothing."""
    left, passed = list(tests.items()), 0
    while left:
        passed += run_in_guest(make, left, len(left) < len(tests))
    return passed


def run(*rounds):
    """Each round: a function that makes a Check of a folder, and its tests.
    Returns the exit status."""
    # so that what was started is ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    wanted = sum(len(tests) for _, tests in rounds)
    passed = sum(run_all(make, tests) for make, tests in rounds)
    print(f"{passed} passed, {wanted - passed} failed")
    return passed != wanted


def parser(doc):
    p = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    p.add_argument("--board", choices=("soft", "virt"), default="soft",
                   help="of the guest's NIC")
    p.add_argument("--cpus", type=int, choices=(1, 2), default=1,
                   help="of the guest")
    p.add_argument("--only", action="append", metavar="TEST",
                   help="these")
    return p


def main(doc, tests):
    o = parser(doc).parse_args()
    return run((lambda tmp: Check(o.board, tmp, o.cpus),
                {name: tests[name] for name in ("test_load", *o.only)}
                if o.only else tests))


if __name__ == "__main__":
    sys.exit(main(__doc__, tests_of(globals())))
