#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Calls of the system that fail, one by one, in each host program.

    faults.py [--target NAME] [--only TEXT] [--sample N] [--seed N] [-v]

A target is one program under tests/faults/inject.c, in a small system that is
otherwise whole. First it lives without a fault, and the calls it makes are
counted. Then it lives again for every case: call, number of the call, how it
fails. Each time:

  - nobody dies of a signal, nothing takes longer than its time;
  - a program that gives up says why and exits with an error; started again, it
    works;
  - one fault costs at most one round of tests/faults/scenario.c or one
    connection, with a reason in words, and nobody else anything;
  - afterwards everything works, and no descriptor, allocation, process slot or
    file is left that was not there without the fault.

Prints the cases that fail and "N passed, N failed" (N of cases). A call that the
program never made in the life in which it was to fail is skipped, no pass.
"""
import argparse
import collections
import contextlib
import errno
import glob
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "qemu"), os.path.join(ROOT, "tests/qemu")]
import run_nic  # noqa: E402
import unicd_client as u  # noqa: E402

BIN = os.path.join(ROOT, "build", "bin")
INJECT = os.path.join(ROOT, "build", "faults", "inject.so")
LIFE_S = 60  # of the scenario; libunic gives a call up after 10 s
START_S = 60
WORD_S = 5  # until a line is in its log
QUIET_S = 30  # until nothing is left of clients that ended
SLOTS = 4
NIC_SLOTS = 8  # the NIC wants so many
K_MAX = 150  # calls of one kind beyond that repeat themselves

# How a call may fail, as the manual pages say.
FD = ("EMFILE", "ENOMEM")
HOWS = {
    "malloc": ("ENOMEM",), "calloc": ("ENOMEM",), "realloc": ("ENOMEM",),
    "read": ("EINTR", "short"), "write": ("EINTR", "EAGAIN"),
    "pread": ("EINTR", "short"), "pwrite": ("ENOSPC", "short"),
    "recv": ("EINTR", "ENOMEM"), "recvmsg": ("EINTR", "ENOMEM", "ctrunc"),
    "send": ("ENOBUFS",), "sendmsg": ("ENOMEM", "ENOBUFS"),
    "accept": ("EMFILE",),
    "accept4": ("EMFILE", "EMFILE*3", "EINTR", "ECONNABORTED"),
    "socket": FD, "socketpair": FD, "connect": ("EINTR", "ECONNREFUSED"),
    "bind": ("ENOMEM",), "listen": ("EADDRINUSE",), "getsockopt": ("ENOMEM",),
    "mmap": ("ENOMEM",), "memfd_create": FD, "ftruncate": ("ENOMEM", "EINTR"),
    "fallocate": ("ENOSPC", "EINTR"), "eventfd": FD,
    "eventfd_write": ("EAGAIN",), "epoll_create1": FD,
    "epoll_ctl": ("ENOMEM", "ENOSPC"), "epoll_wait": ("EINTR",),
    "poll": ("EINTR", "ENOMEM"), "ppoll": ("EINTR", "ENOMEM"),
    "signalfd": FD, "open": FD + ("EINTR",), "openat": FD + ("EINTR",),
    "opendir": FD, "fdopendir": ("ENOMEM",), "fopen": FD,
    "fdopen": ("ENOMEM",), "pidfd_open": FD, "preadv2": ("EAGAIN",),
    "pthread_create": ("EAGAIN",), "readlinkat": ("ENOMEM",),
    "fstatat": ("ENOMEM",), "rename": ("ENOSPC",),
}


class Bad(Exception):
    """What a case found, in words."""


def how_number(how):
    name, _, times = how.partition("*")
    number = getattr(errno, name, name)  # or "short", "ctrunc"
    return f"{number}:{times}" if times else f"{number}"


def counters(path):
    """(live allocations, {call: (made, failed)}) as inject.c counts them."""
    with open(path, "rb") as f:
        raw = f.read()
    rows = struct.iter_unpack("<16sQQ", raw[8:])
    return (struct.unpack("<q", raw[:8])[0],
            {n.rstrip(b"\0").decode(): (a, b) for n, a, b in rows})


class Program:
    def __init__(self, name, args, log, injected=None):
        self.name, self.log_path = name, log
        env = dict(os.environ)
        if injected is not None:
            env |= {"LD_PRELOAD": INJECT, **injected}
        with open(log, "ab") as err:
            self.p = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                      stdout=err, stderr=err, env=env)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_for(self, text, meanwhile):
        """True when it said @text, False when it ended before."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if text in self.log():
                return True
            if self.p.poll() is not None:
                return text in self.log()
            meanwhile()
            time.sleep(0.005)
        raise Bad(f"{self.name}: neither '{text}' nor an end in {START_S} s")

    def check_words(self):
        """Check that it ended by itself and said why. Returns its last line."""
        try:
            self.p.wait(5)
        except subprocess.TimeoutExpired:
            raise Bad(f"{self.name}: does not end") from None
        if self.p.returncode < 0:
            raise Bad(f"{self.name}: signal {-self.p.returncode}")
        words = [line for line in self.log().splitlines() if line.strip()]
        if not words:
            raise Bad(f"{self.name}: gave up and did not say why")
        return words[-1]

    def check_gave_up(self, how):
        """Check that it gave up with an error that names @how."""
        last = self.check_words()
        if self.p.returncode == 0:
            raise Bad(f"{self.name}: ended as if nothing had been")
        want = how.startswith("E") and os.strerror(
            getattr(errno, how.partition("*")[0]))
        if want and not re.search(re.escape(want) + "|memory|descriptor",
                                  self.log()):
            raise Bad(f"{self.name}: gave up, not saying '{want}': "
                      f"{last}")

    def descriptors(self):
        """What it has open, without names that differ between lives."""
        folder, found = f"/proc/{self.p.pid}/fd", []
        for n in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.append(re.sub(r":\[.*|/tmp/[^/]*", "",
                                    os.readlink(f"{folder}/{n}")))
        return sorted(found)

    def threads(self):
        """State and place in the kernel of each of its threads."""
        found = []
        for task in glob.glob(f"/proc/{self.p.pid}/task/*"):
            with contextlib.suppress(OSError), \
                    open(task + "/stat", encoding="utf-8") as stat, \
                    open(task + "/wchan", encoding="utf-8") as wchan:
                found.append(f"{stat.read().rpartition(')')[2].split()[0]} "
                             f"{wchan.read()}")
        return ", ".join(found)

    def end(self):
        """Ends it; Bad when it does not end well."""
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
            try:
                self.p.wait(5)
            except subprocess.TimeoutExpired:
                where = self.threads()
                self.p.kill()
                self.p.wait()
                raise Bad(f"{self.name}: did not end in 5 s, its threads: "
                          f"{where}") from None
            if self.p.returncode:
                raise Bad(f"{self.name}: exit {self.p.returncode} at its end")

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()


def command(what, folder):
    """(arguments, what it says when it is up) of a program of the system."""
    bus, wire = os.path.join(folder, "bus"), os.path.join(folder, "wire")
    sock = os.path.join(folder, "sock")
    if what == "unic-bus":
        return [f"{BIN}/unic-bus", "--dir", bus, "--slots",
                str(NIC_SLOTS)], "unic-bus: ready"
    if what == "unic-wire":
        return [f"{BIN}/unic-wire", "--dir", wire, "--nics", "1"], "wire: ready"
    if what == "unic-nic":
        return run_nic.command("soft", bus, wire), "unic-nic: ready"
    if what == "unicd-loop":
        return [f"{BIN}/unicd", "--provider", "loop", "--socket", sock,
                "--slots", str(SLOTS), "--slot-size", str(2 << 20)], "ready pid"
    return [f"{BIN}/unicd", "--bus", bus, "--socket", sock], "ready pid"


SYSTEMS = {
    "libunic": ["unicd-loop"],
    "unicd-loop": ["unicd-loop"],
    "unicd": ["unic-bus", "unic-wire", "unic-nic", "unicd"],
    "unic-bus": ["unic-bus", "unic-wire", "unic-nic", "unicd"],
    "unic-nic": ["unic-bus", "unic-wire", "unic-nic", "unicd"],
}
DAEMONS = ("unicd", "unic-bus")
# Without room: statuses of the driver, and of the loop provider's table.
NO_ROOM = re.compile(f"status ({u.NO_MEMORY}|{u.TLB_FULL}),")
FILES_KEPT = {"counts", "unicd.slots", "unicd.journal", "unicd.ids"}


class System:
    """All programs of a target, one of them injected."""

    def __init__(self, target, case, whole=None):
        self.target, self.case = target, case
        self.whole = whole  # what a life without a fault leaves
        self.dir = tempfile.mkdtemp(prefix="unic-fault-")
        self.counts = os.path.join(self.dir, "counts")
        self.running = {}
        self.gave_up = False
        self.lost = 0  # connections of neighbours

    def env(self):
        env = {"INJECT_COUNTS": self.counts}
        if self.case:
            call, k, how = self.case
            env["INJECT"] = f"{call}:{k}:{how_number(how)}"
        return env

    def start(self, what, injected):
        args, ready = command(what, self.dir)
        log = os.path.join(self.dir, what + ".log")
        p = Program(what, args, log, self.env() if injected else None)
        self.running[what] = p
        if p.wait_for(ready, self.revive):
            return True
        if not injected or not self.case:
            raise Bad(f"{what} did not start: {p.log()[-300:]}")
        p.check_gave_up(self.case[2])
        return False

    def up(self):
        """Start all. A program that gives up is started again: the target
        without its fault, a neighbour that the fault cost its connection."""
        for what in SYSTEMS[self.target]:
            mine = what == self.target
            try:
                if self.start(what, mine):
                    continue
                self.gave_up = True
            except Bad:
                if mine or not self.case or self.lost:
                    raise
                self.lost += 1
                self.running[what].check_words()
            os.unlink(os.path.join(self.dir, what + ".log"))
            self.start(what, False)

    def revive(self):
        """Start a neighbour again that lost its connection by the fault after
        its start, or the target itself: others may wait for it."""
        for what, p in list(self.running.items()):
            if p.p.poll() is None:
                continue
            if what == self.target:
                self.again()
                continue
            if not self.case or self.lost:
                return  # its end will be noticed
            self.lost += 1
            p.check_words()
            os.unlink(p.log_path)
            self.start(what, False)

    def ended(self):
        """Has the target ended? A driver whose socket is gone is about to:
        wait for it."""
        p = self.running[self.target]
        if self.target.startswith("unicd") and \
                not os.path.exists(os.path.join(self.dir, "sock")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.p.wait(5)
        return p.p.poll() is not None

    def again(self):
        """Start a target again that ended after its start; it must have said
        why."""
        p = self.running[self.target]
        if self.gave_up or not self.case or not self.ended():
            return False
        p.check_words()
        self.gave_up = True
        os.unlink(p.log_path)
        self.start(self.target, False)
        time.sleep(0.3)  # until the others have noticed
        return True

    def client(self):
        c = u.Client(os.path.join(self.dir, "sock"))
        c.sock.settimeout(10)
        return c

    def scenario(self, injected=False):
        """Lines that it printed."""
        env = dict(os.environ)
        if injected:
            env |= {"LD_PRELOAD": INJECT, **self.env()}
        r = subprocess.run([f"{BIN}/fault-scenario",
                            os.path.join(self.dir, "sock")], env=env,
                           capture_output=True, text=True, timeout=LIFE_S)
        if r.returncode:
            raise Bad(f"fault-scenario: exit {r.returncode} {r.stderr}")
        return r.stdout.splitlines()

    def faults(self):
        """The number of faults of this case."""
        return int(self.case[2].partition("*")[2] or 1) if self.case else 0

    def last_words(self):
        return [f"{n} exit {p.p.returncode}: {p.log()[-200:]}"
                for n, p in self.running.items() if p.p.poll() is not None]

    def said(self):
        return sum(len(p.log().splitlines()) for p in self.running.values())

    def leftovers(self):
        found = []
        for folder, _, names in os.walk(self.dir):
            found += [os.path.relpath(os.path.join(folder, n), self.dir)
                      for n in names if not n.endswith(".log")]
        return sorted(f for f in found
                      if os.path.basename(f) not in FILES_KEPT)

    def down(self):
        for p in reversed(self.running.values()):
            p.end()
        left = self.leftovers()
        if self.case and self.case[0] == "fstatat":
            # a socket that cannot be looked at stays for the next unicd, which
            # takes its place
            left = [f for f in left if f != "sock"]
        if left:
            raise Bad(f"files left: {left}")

    def kill(self):
        for p in self.running.values():
            p.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


def failures(lines):
    """[(round, reason)] of the rounds that were not ok."""
    rounds = [re.match(r"round (\d): (.*)", text) for text in lines]
    return [(int(m[1]), m[2]) for m in rounds if m and m[2] != "ok"]


def check_reasons(bad, log, how):
    for _, reason in bad:
        if not re.search(r"\w+: .*\w \w", reason):
            raise Bad(f"no reason given: '{reason}'")
        # The client cannot know why it was cut off: the other side logs it.
        if "driver is gone" in reason and not log and how != "libunic":
            raise Bad(f"cut off without a word in any log: {reason}")


def passes(target, case):
    """Is it a fault of a message that a repetition of the call overcomes?"""
    return (target in DAEMONS and case and case[0] in ("recv", "sendmsg")
            and case[2] in ("ENOMEM", "ENOBUFS", "EINTR"))


def quiet_state(system, what):
    """Descriptors and live allocations once all clients are gone."""
    p = system.running[what]
    until = time.monotonic() + QUIET_S
    while attempt(use_all_slots, system)[1]:
        if time.monotonic() > until:
            raise Bad("not all process slots can be had")
        time.sleep(0.02)
    while attempt(all_free, system)[0] is not True:
        if time.monotonic() > until:
            raise Bad("a process slot was not given back")
        time.sleep(0.01)
    while True:
        time.sleep(0.02)
        state = p.descriptors(), counters(system.counts)[0]
        if not system.whole or not left(state, system.whole):
            return state
        if time.monotonic() > until:
            return state


def left(state, whole):
    """What @state has open that @whole had not."""
    more = collections.Counter(state[0])
    more.subtract(collections.Counter(whole[0]))
    return {k: n for k, n in more.items() if n > 0}


def use_all_slots(system):
    with contextlib.ExitStack() as stack:
        for _ in range(SLOTS if system.target == "unicd-loop" else NIC_SLOTS):
            stack.enter_context(system.client()).hello()


def all_free(system):
    """No other process has a slot: that of this process is kept while it
    lives."""
    with system.client() as c:
        tail = c.call(u.PS).tail
    rows = [struct.unpack_from("<4I", tail, at)
            for at in range(0, len(tail), 104)]
    return not any(state and pid != os.getpid() for _, pid, _, state in rows)


def bystander(system):
    """A client that is there all the time."""
    c = system.client()
    c.hello()
    return c


def use(c):
    c.frames(4)
    pd = c.pd()
    mr = c.reg(pd, 4 * 4096)[0]
    c.obj(u.MR_DEREG, mr)
    c.obj(u.PD_FREE, pd)
    c.free_frames(4)


def attempt(fn, *args):
    """(result, None) or (None, what went wrong)."""
    try:
        return fn(*args), None
    except (u.Gone, OSError, AssertionError, struct.error) as e:
        return None, f"{type(e).__name__} {e}"


def rounds(system):
    """Rounds of the scenario that failed. A driver looks at /proc for slots to
    give away for a quarter of its time at most: then they come a little later,
    which is no failure."""
    for _ in range(5):
        bad = failures(system.scenario())
        if not any("process slots are taken" in reason for _, reason in bad):
            break
        time.sleep(1)
    return bad


def said_more(system, lines):
    """Are there more than @lines lines in the logs? A thread writes them
    (say.c), so wait for its turn."""
    until = time.monotonic() + WORD_S
    while system.said() <= lines and time.monotonic() < until:
        time.sleep(0.005)
    return system.said() > lines


def live_daemon(system):
    """A life with an injected daemon; returns its quiet state."""
    system.up()
    system.again()
    lines_before = system.said()
    lost = 0
    c, err = attempt(bystander, system)
    lost += err is not None
    bad = rounds(system)
    if c:
        err = attempt(use, c)[1]
        lost += err is not None
        c.close()
    silent = lost and not NO_ROOM.search(err)  # an answer is a word, too
    said = said_more(system, lines_before if bad or silent else -1)
    check_reasons(bad, said, system.target)
    if (bad or lost) and passes(system.target, system.case):
        raise Bad(f"nobody should have noticed: {bad or err}")
    if silent and not said:
        raise Bad(f"a connection was lost without a word in any log: {err}")
    system.again()
    for _ in range(3):  # the fault, or the last of three, may come now
        late = rounds(system)
        if not late:
            break
        system.again()
        bad += late
    else:
        raise Bad(f"afterwards: {bad}")
    lost += system.lost + len(bad)
    if system.gave_up:
        lost = 0  # all clients that were there when it ended
    if lost > system.faults():
        raise Bad(f"{lost} lost: {err} {bad}")
    state = None if system.gave_up else late_state(system)
    system.down()
    return state


def late_state(system):
    """The quiet state; None of a target that gives up only now, and works when it is
    started again."""
    try:
        return quiet_state(system, system.target)
    except Bad:
        if not system.again():
            raise
        bad = rounds(system)
        if bad:
            raise Bad(f"afterwards: {bad}") from None
        return None


def live_library(system):
    lines = system.scenario(injected=True)
    bad = failures(lines)
    if len(bad) > (1 if system.case else 0):
        raise Bad(f"rounds lost: {bad}")
    check_reasons(bad, True, "libunic")
    live, _ = counters(system.counts)
    until = time.monotonic() + QUIET_S
    while not all_free(system):
        if time.monotonic() > until:
            raise Bad("a process slot was not given back")
        time.sleep(0.005)
    return lines[-1:], live


def compare(state, whole):
    if state is None:
        return
    if left(state, whole):
        raise Bad(f"descriptors left: {left(state, whole)}")
    # a stack or two that the C library keeps for threads to come
    if state[1] > whole[1] + 2:
        raise Bad(f"{state[1]} allocations live, not {whole[1]}")


class Target:
    def __init__(self, name):
        self.name, self.shared, self.whole = name, None, None
        self.live = live_library if name == "libunic" else live_daemon

    def one(self, case):
        """(state, counters) of one life."""
        if self.name == "libunic":
            return self.one_library(case)
        system = System(self.name, case, self.whole)
        try:
            state = self.live(system)
            return state, counters(system.counts)[1]
        except (Bad, subprocess.TimeoutExpired, run_nic.Problem) as e:
            raise Bad(f"{e} {system.last_words()}") from None
        finally:
            system.kill()

    def one_library(self, case):
        """The driver lives through all cases: nothing may stay in it."""
        if not self.shared:
            self.shared = System(self.name, None)
            self.shared.up()
        self.shared.case = case
        try:
            state = self.live(self.shared)
            return state, counters(self.shared.counts)[1]
        except (Bad, subprocess.TimeoutExpired) as e:
            self.close()
            raise Bad(f"{e}") from None

    def close(self):
        if self.shared:
            self.shared.kill()
        self.shared = None

    def cases(self, calls):
        return [(call, k, how) for call in HOWS
                for k in range(1, min(calls[call][0], K_MAX) + 1)
                for how in HOWS[call]]


def run_target(name, options, rnd, share):
    """(passed, failed) of one target."""
    target = Target(name)
    start = time.monotonic()
    passed = failed = missed = 0
    try:
        whole, calls = target.one(None)
        target.whole = whole
        cases = [c for c in target.cases(calls)
                 if options.only in f"{c[0]}:{c[1]}:{c[2]}"]
        if share and len(cases) > share:
            cases = sorted(rnd.sample(cases, share))
        for case in cases:
            try:
                state, made = target.one(case)
                came = made[case[0]][1] > 0
                compare(state, whole)
                passed += came
                missed += not came
            except Bad as e:
                failed += 1
                print(f"FAIL {name} {case[0]}:{case[1]}:{case[2]}  {e}",
                      flush=True)
            if options.verbose:
                print(f"     {name} {case}", flush=True)
    finally:
        target.close()
    print(f"{name:<11} {passed:5} ok {failed:4} failed "
          f"{time.monotonic() - start:6.1f} s", flush=True)
    if missed:
        print(f"skipped: {missed} failing calls of {name} that it did not make",
              flush=True)
    return passed, failed


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    ap.add_argument("--target", choices=sorted(SYSTEMS))
    ap.add_argument("--only", default="", help="of CALL:NUMBER:HOW")
    ap.add_argument("--sample", type=int, help="so many cases, by chance")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("-v", "--verbose", action="store_true")
    options = ap.parse_args()
    names = [options.target] if options.target else list(SYSTEMS)
    share = options.sample and -(-options.sample // len(names))
    rnd = random.Random(options.seed)
    sums = [run_target(name, options, rnd, share) for name in names]
    passed, failed = (sum(s[i] for s in sums) for i in (0, 1))
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
