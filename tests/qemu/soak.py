#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Two hosts with a NIC each for minutes, on a wire that loses frames, while
parts of them are killed. In each round greedy processes fill the NIC TLBs and
files go both ways, by RDMA and by payload tokens; then everybody leaves.

    soak.py [--minutes N] [--board virt|soft] [--link shm|virtio] [--seed N]
            [--first ROUND] [--loss 2%] [--keep]

Nothing lost: a transfer either arrives equal (SHA-256), or it ends with an
error while a kill that was made explains it. Nothing leaked: after each round
the tables of both NICs and drivers are empty. Memory flat: processes that lived
from beginning to end have in the last round what they had in the first third,
but for a margin. Exits with 0 after
"soak: ok"; the plan of a round follows from seed and number, its timing does
not.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import stops
from demo import on_term
from hosts import BIN, IP, Failure, Hosts, Process, sha256

SIZES = (1, 4096, 100_003, 1 << 20, 3 << 20, 8 << 20)
FAULTS = ("client",) * 4 + ("server",) * 2 + ("unicd",) * 2 + ("nic",)
ENDS_ALL = ("unicd", "nic")  # no transfer survives these
FALLS = 1  # the host whose driver and NIC are killed; the other must stay flat
SHOW_S = 10
TRANSFER_S = 60
STRANDED_S = 40  # unic-copy waits for 30 s for a peer that says nothing
QUIET_S = 30
WARM_ROUNDS = 20  # by then everything has been allocated once
# Counters of NIC 0, which is never reset: each token has one end.
TOKEN_ENDS = ("tokens_used", "tokens_cancelled", "tokens_expired",
              "tokens_evicted", "tokens_aborted")
TABLES = ("mr", "tlb", "qp", "cq", "tokens")
# Growth of private memory from the first third to the end, in KiB. A daemon
# allocates per client and frees it: what remains is malloc's own, and there
# are a few hundred rounds, so a leak of 2 KiB in each is seen. QEMU translates
# code that it meets for the first time, and glibc keeps an arena per thread.
GROWTH_KIB = {"nic": 8192, "unicd": 256, "bus": 256, "wire": 256}


class Transfer:
    """One run of unic-copy. excuse: the kill that may have ended it."""

    def __init__(self, soak, lane, job):
        self.what, self.mode, self.size = job
        self.to, self.excuse, self.killed = 1 - lane.host, None, False
        self.name = f"{lane.host}-{lane.begun}"
        there = soak.served(self.to, self.name)
        mine = soak.path(f"file{self.name}")
        self.source, self.copy = ((mine, there) if self.what == "put"
                                  else (there, mine))
        with open(self.source, "wb") as f:
            f.write(random.Random(f"{soak.o.seed}/{soak.rounds}/{self.name}")
                    .randbytes(self.size))
        args = ([mine, "--name", self.name] if self.what == "put"
                else [self.name, "--output", mine])
        self.since = time.monotonic()
        self.process = Process(
            soak.line, f"{self.what} {self.mode} from host {lane.host}",
            [os.path.join(BIN, "unic-copy"), self.what, *args, "--socket",
             soak.socket(lane.host), "--peer", IP[self.to], "--mode",
             self.mode, "--quiet"], show=False)
        soak.running.append(self.process)

    def excuse_by(self, kill):
        self.excuse = self.excuse or (kill, time.monotonic())

    def kill(self, why):
        self.excuse_by(why)
        self.killed = True
        self.process.child.kill()

    def overdue(self):
        since = self.excuse[1] if self.excuse else self.since
        limit = STRANDED_S if self.excuse else TRANSFER_S
        return time.monotonic() - since > limit

    def verdict(self):
        """"equal", or what ended it; Failure if nothing did."""
        p = self.process
        code = p.child.returncode
        p.reader.join(timeout=QUIET_S)
        if code == 0:
            if not os.path.exists(self.copy):
                raise Failure(f"{p.who}: said to be done, but nothing arrived")
            if sha256(self.source) != sha256(self.copy):
                raise Failure(f"{p.who}: {self.size} bytes arrived, but not "
                              "those that were sent")
            return "equal"
        if not self.excuse:
            raise Failure(f"{p.who}, {self.size} bytes: exit {code}, although "
                          f"nothing was killed: {p.last()}")
        if code < 0 and not (self.killed and code == -signal.SIGKILL):
            raise Failure(f"{p.who} died of signal {-code} after the kill of "
                          f"{self.excuse[0]}")
        if code > 0 and not p.lines:
            raise Failure(f"{p.who} failed without a word after the kill of "
                          f"{self.excuse[0]}")
        return self.excuse[0]

    def forget(self):
        for path in (self.source, self.copy):
            if os.path.exists(path):
                os.unlink(path)


class Lane:
    """The transfers that start at one host, one after the other."""

    def __init__(self, host, jobs):
        self.host, self.jobs = host, list(jobs)
        self.begun, self.now = 0, None

    def step(self, soak):
        if self.now and self.now.process.child.poll() is not None:
            soak.ended(self.now)
            self.now = None
        if self.now and self.now.overdue():
            raise Failure(f"{self.now.process.who} hangs; excuse: "
                          f"{self.now.excuse}")
        if not self.now and self.jobs:
            self.begun += 1
            self.now = Transfer(soak, self, self.jobs.pop(0))
        return self.now


class Plan:
    """The transfers and kills of a round."""

    def __init__(self, seed, number):
        r = random.Random(f"{seed}/{number}")
        self.jobs = [[(r.choice(("put", "get")), r.choice(("rdma", "rpc")),
                       r.choice(SIZES)) for _ in range(r.randint(3, 6))]
                     for _ in (0, 1)]
        self.hogs = [(host, r.choice(("release", "ignore")),
                      r.random() < .3) for host in (0, 1)
                     for _ in range(r.randint(0, 3))]
        self.faults = sorted((r.uniform(.01, .5), r.choice(FAULTS),
                              r.randrange(2))
                             for _ in range(r.randint(1, 3)))
        self.cut_short = r.random() < .75  # clients of a dead peer are killed
        self.rude = r.random() < .5  # everybody leaves by SIGKILL


def proc_text(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="ascii") as f:
        return f.read()


def command_line(pid):
    try:
        return proc_text(pid, "cmdline")
    except (FileNotFoundError, ProcessLookupError, UnicodeDecodeError):
        return ""  # it ended, or is not ours


def private_kib(pid):
    line = next(s for s in proc_text(pid, "status").splitlines()
                if s.startswith("RssAnon:"))
    return int(line.split()[1])


def fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def growth(samples, began_s, ended_s):
    """For processes that live throughout: {name: ((most KiB, descriptors) of
    the first third, (KiB, descriptors) at the end)}, or None: too few samples.
    samples: (seconds, {name: (KiB, descriptors)}), in order."""
    if len(samples) < 2 * WARM_ROUNDS:
        return None
    third = began_s + (ended_s - began_s) / 3
    early = [s for i, (t, s) in enumerate(samples)
             if t <= third or i < WARM_ROUNDS]
    return {who: (tuple(max(s[who][i] for s in early) for i in (0, 1)), last)
            for who, last in samples[-1][1].items()}


def grows(who, base, last):
    return last[0] > base[0] + GROWTH_KIB[who] or last[1] > base[1]


class Soak(Hosts):
    def __init__(self, options, tmp):
        super().__init__(options.board, options.link, tmp)
        self.o = options
        self.drivers = [None, None]
        self.rounds, self.equal, self.bytes = options.first - 1, 0, 0
        self.kills, self.explained = (collections.Counter() for _ in "ab")
        self.leak = []  # connections that are never closed (--leak)
        self.samples = []  # (seconds, {process: (KiB, descriptors)})
        self.start_s = self.shown_s = time.monotonic()
        self.shm = set(os.listdir("/dev/shm"))

    # --------------------------------------------------------------- hosts

    def age(self):
        return time.monotonic() - self.start_s

    def driver(self, host):
        self.start_driver(host, "--low", "0", "--high", "0")
        self.drivers[host] = self.running[-1]

    def begin(self):
        self.start_wire("--loss", self.o.loss, "--seed", str(self.o.seed))
        for host in (0, 1):
            self.start_nic(host, show=False)
            self.driver(host)
            self.wait_nic(host)
        self.steady = {p.who.split()[0]: p for p in self.running
                       if p.who.endswith(" 0") or p.who == "wire"}

    def served(self, host, name=""):
        return self.path(f"served{host}", name)

    def start_server(self, host):
        os.makedirs(self.served(host), exist_ok=True)
        p = self.start(f"server {host}", "unic-copy", "serve", "--dir",
                       self.served(host), "--socket", self.socket(host),
                       show=False)
        p.expect("ready, serving")
        return p

    def start_hog(self, host, answer, stopped):
        hog = self.start(f"hog {host}", "unic-hog", "--socket",
                         self.socket(host), f"--answer={answer}", "--again",
                         show=False)
        hog.expect("holds .* entries")
        if stopped:
            hog.child.send_signal(signal.SIGSTOP)
        return hog

    # --------------------------------------------------------------- kills

    def kill(self, kind, side, lanes, servers):
        """SIGKILL to all of this kind. Transfers under way may then fail."""
        hit = [x for x in lanes if x.now]
        if kind == "client":
            hit = [x for x in hit if x.host == side]
            for lane in hit:
                lane.now.kill("client")
            self.kills["client"] += len(hit)
            return
        if kind == "server":
            hit = [x for x in hit if x.host != side]
            lanes[1 - side].jobs.clear()
            servers[side].child.kill()
        else:
            for lane in lanes:
                lane.jobs.clear()
            self.fall(kind)
        self.kills[kind] += 1
        for lane in hit:
            lane.now.excuse_by(kind)

    def fall(self, kind):
        victim = (self.nics if kind == "nic" else self.drivers)[FALLS]
        victim.child.kill()
        victim.child.wait()
        self.running.remove(victim)

    def rise(self, kind):
        if kind == "nic":
            self.nics[FALLS] = self.plug_nic(FALLS, show=False)
        else:
            self.driver(FALLS)
        until = time.monotonic() + QUIET_S
        while self.ctl(FALLS, "info")["nic"] != "ready":
            if time.monotonic() > until:
                raise Failure(f"host {FALLS} is not ready again {QUIET_S} s "
                              f"after the kill of its {kind}")
            time.sleep(.05)

    # -------------------------------------------------------------- rounds

    def ended(self, transfer):
        why = transfer.verdict()
        self.running.remove(transfer.process)
        transfer.forget()
        if why == "equal":
            self.equal += 1
            self.bytes += transfer.size
        else:
            self.explained[why] += 1

    def transfers(self, plan, servers):
        lanes = [Lane(host, plan.jobs[host]) for host in (0, 1)]
        faults, begun, fallen = list(plan.faults), time.monotonic(), None
        while any([lane.step(self) for lane in lanes]):
            if faults and time.monotonic() - begun > faults[0][0]:
                _, kind, side = faults.pop(0)
                self.kill(kind, side, lanes, servers)
                if kind in ENDS_ALL:
                    faults, fallen = [], time.monotonic()
                    self.rise(kind)
            if fallen and plan.cut_short and time.monotonic() - fallen > 2:
                for lane in lanes:
                    if lane.now:
                        lane.now.kill("client")
            self.alive()
            self.show()
            time.sleep(.01)

    def alive(self):
        for p in (*self.steady.values(), *self.nics, *self.drivers):
            if p.child.poll() is not None:
                raise Failure(f"{p.who} ended (exit {p.child.returncode}): "
                              f"{p.last()}")

    def leave(self, guests, rude):
        for p in guests:
            if not rude:
                p.child.send_signal(signal.SIGCONT)
                p.child.terminate()
        until = time.monotonic() + (0 if rude else 1)
        for p in guests:
            try:
                p.child.wait(timeout=max(0, until - time.monotonic()))
            except subprocess.TimeoutExpired:  # it waits for a peer: 30 s are too long
                p.child.kill()
                p.child.wait()
            self.running.remove(p)

    def left(self):
        """Rows of tables after all processes have left."""
        found = {}
        for host in (0, 1):
            ps = self.ctl(host, "ps")
            tables = {"ps": ps["procs"], "waiting": ps["waiting"]}
            tables |= {t: self.ctl(host, t) for t in TABLES}
            found |= {f"{name} of host {host}": rows
                      for name, rows in tables.items() if rows}
        nic = self.ctl(0, "stats")["nic"]
        open_tokens = (nic["tokens_allocated"] -
                       sum(nic[end] for end in TOKEN_ENDS))
        if open_tokens:
            found["tokens that never ended, on host 0"] = open_tokens
        return found

    def expect_never_reset(self):
        """Check that the NIC and the driver of host 0 were never reset."""
        info, stats = (self.ctl(0, what) for what in ("info", "stats"))
        if info["resets"] != 1:
            raise Failure(f"NIC 0 was reset {info['resets'] - 1} times; "
                          f"notices not delivered: "
                          f"{stats['nic']['driver_failures']}, commands not "
                          f"answered: {stats['driver']['timeouts']}")

    def expect_nothing_left(self):
        until = time.monotonic() + QUIET_S
        while found := self.left():
            if time.monotonic() > until:
                raise Failure(f"round {self.rounds}: left behind {QUIET_S} s "
                              f"after everybody went: {found}")
            time.sleep(.05)

    def sample(self):
        now = {who: (private_kib(p.child.pid), fds(p.child.pid))
               for who, p in self.steady.items()}
        self.samples.append((self.age(), now))

    def round(self):
        self.rounds += 1
        plan = Plan(self.o.seed, self.rounds)
        if self.o.leak:
            self.leak.append(socket.socket(socket.AF_UNIX,
                                           socket.SOCK_SEQPACKET))
            self.leak[-1].connect(self.socket(0))
        servers = [self.start_server(host) for host in (0, 1)]
        hogs = [self.start_hog(*hog) for hog in plan.hogs]
        self.transfers(plan, servers)
        guests = servers + hogs
        if plan.rude:
            self.kills["leaving"] += sum(p.child.poll() is None for p in guests)
        self.leave(guests, plan.rude)
        self.expect_never_reset()
        self.expect_nothing_left()
        self.sample()

    # -------------------------------------------------------------- report

    def show(self, now=False):
        if not now and time.monotonic() - self.shown_s < SHOW_S:
            return
        self.shown_s = time.monotonic()
        self.line.say("soak", f"round {self.rounds}: {self.equal} files "
                      f"({self.bytes >> 20} MiB) equal, "
                      f"{self.explained.total()} ended by a kill "
                      f"{dict(self.explained)}, killed {dict(self.kills)}")

    def expect_flat(self):
        rows = growth(self.samples, 0, self.age())
        if rows is None:
            print(f"  memory: too few rounds to judge ({len(self.samples)})")
            return
        for who, (base, last) in rows.items():
            print(f"  {who:<6} private memory {base[0]} -> {last[0]} KiB "
                  f"(may grow by {GROWTH_KIB[who]}), descriptors {base[1]} "
                  f"-> {last[1]} (by 0)")
        for who, (base, last) in rows.items():
            if grows(who, base, last):
                raise Failure(f"{who} of host 0 grows")

    def expect_no_trace(self):
        """After everything ended: no process, nothing in shared memory."""
        alive = [pid for pid in os.listdir("/proc")
                 if pid.isdigit() and self.tmp in command_line(pid)]
        if alive:
            raise Failure(f"still running: {alive}")
        more = {n for n in os.listdir("/dev/shm") if "unic" in n} - self.shm
        if more:
            raise Failure(f"left in /dev/shm: {more}")

    def run(self):
        self.begin()
        while self.age() < 60 * self.o.minutes:
            self.round()
            self.show()
        self.show(now=True)
        if not self.equal:
            raise Failure("nothing was transferred")
        if not sum(self.ctl(h, "stats")["nic"]["retransmits"] for h in (0, 1)):
            raise Failure("the wire lost nothing")
        self.expect_flat()


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--minutes", type=float, default=5)
    p.add_argument("--board", choices=("virt", "soft"), default="virt")
    p.add_argument("--link", choices=("shm", "virtio"), default="shm")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--first", type=int, default=1, metavar="ROUND",
                   help="begin with this round of the seed")
    p.add_argument("--loss", metavar="RATE", default="2%")
    p.add_argument("--keep", action="store_true",
                   help="keep the working folder, for debugging")
    # for the test of this test: one more descriptor of unicd in each round
    p.add_argument("--leak", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


def post_mortem(soak):
    for p in soak.running:
        for text in p.lines[-8:]:
            print(f"  {p.who}: {text}")
    for host in (0, 1):
        try:
            info, stats = (soak.ctl(host, what) for what in ("info", "stats"))
            print(f"  host {host}: NIC {info['nic']}, resets {info['resets']}, "
                  f"driver {stats['driver']}")
        except (Failure, subprocess.SubprocessError) as e:
            print(f"  host {host}: {e}")


def play(options):
    tmp = tempfile.mkdtemp(prefix="unic-soak-")
    soak = Soak(options, tmp)
    try:
        soak.run()
    except (Failure, OSError, subprocess.SubprocessError) as e:
        post_mortem(soak)
        raise Failure(f"{e} (round {soak.rounds} of seed {options.seed})") from e
    finally:
        soak.end()
        if options.keep:
            print(f"working folder: {tmp}")
        else:
            shutil.rmtree(tmp, ignore_errors=True)
    soak.expect_no_trace()


def main():
    options = parse()
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, on_term)
    reason = None
    try:
        stops.step(play, options)
    except (Failure, OSError, subprocess.SubprocessError,
            KeyboardInterrupt) as e:
        reason = str(e) or "interrupted"
    stops.DOG.tell()
    if reason:
        print(f"soak: failed: {reason}")
        return 1
    print("soak: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
