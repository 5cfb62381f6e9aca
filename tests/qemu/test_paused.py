#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Three hosts, and one of their NICs stops in the middle of a transfer: a fetch
between the two others keeps its rate meanwhile, and the transfer ends well or with
an error, never with wrong bytes, when the NIC runs again.

    test_paused.py [--board soft|virt] [name ...]
"""
import argparse
import glob
import hashlib
import os
import re
import signal
import statistics
import sys
import tempfile
import time
import traceback

import hosts
import stops
import shm_peers

A, B, C = range(3)  # A serves, B fetches, C stops
KEPT = 0.9  # of the rate
# One fetch may take twice the time of another on two cores, whoever is stopped: the
# geometric mean of all of them is compared, and where that is not enough, after
# more stops. But no fetch may be stuck.
FETCHES, STOPS = 4, 3
SLOW_S = 240  # no more stops after this time
STUCK_S = 5
FETCHED = 16 << 20  # some tens of milliseconds: many turns of a scheduler
MOVED = {"soft": 16 << 20, "virt": 2 << 20}  # a file that C transfers
FILLS_S = 0.02  # a ring that is not full by then will not fill
GIVES_UP_S = 7  # a NIC retries for half of this time
TRIES = 3  # attempts to keep the rate after that
SLOTS = "32"  # of a ring: less than one RDMA READ or WRITE of unic-copy
PATIENT = ("--timeout", "60")


def write_file(path, size):
    """Write bytes that do not repeat; returns their digest."""
    part, sha = os.urandom(1 << 20), hashlib.sha256()
    with open(path, "wb") as f:
        for at in range(0, size, 1 << 20):
            piece = at.to_bytes(8, "little") + part[8:]
            f.write(piece)
            sha.update(piece)
    return sha.hexdigest()


class Link:
    """The memory of the link, read without a port."""

    def __init__(self, rig):
        self.peer = shm_peers.IvshmemClient(rig.path("wire", "ivshmem"), 1)
        self.word = memoryview(self.peer.map).cast("I")
        (self.ports, self.slots, self.slot_bytes, _, _, self.ring_off,
         self.ring_bytes) = self.word[2:9]

    def is_full(self, source, to):
        """No slot of the ring is free: the last one is published."""
        ring = self.ring_off + (source * self.ports + to) * self.ring_bytes
        head = self.word[ring // 4]
        last = (head + self.slots - 1) & 0xffffffff
        slot = ring + 128 + last % self.slots * self.slot_bytes
        return self.word[slot // 4] == (last + 1) & 0xffffffff


class Rig(hosts.Hosts):
    def __init__(self, board, tmp, direct):
        super().__init__(board, None, tmp, n=3)
        self.link, self.want = None, {}
        for folder in ("c", "files0", "files1", "files2"):
            os.mkdir(self.path(folder))
        for name, size in (("fetched", FETCHED),
                           ("moved", MOVED[board])):
            path = self.path(f"files{A}", name)
            self.want[name] = write_file(path, size)
            os.link(path, self.path(f"files{C}", name))
        try:
            self.up(direct)
        except BaseException:
            self.end()
            raise

    def up(self, direct):
        # one port more than NICs, through which this program sees the rings
        self.start_wire("--nics", "4", "--link-slots", SLOTS,
                        *(["--direct"] if direct else []))
        for host in (A, B, C):
            self.start_nic(host, show=False)
            self.start_driver(host, "--kio-export",
                              self.path(f"files{host}"), "--kio-writable")
            self.wait_nic(host)
        self.needed = [p for p in self.running if p.who in (
            "wire", f"nic {A}", f"nic {B}", f"unicd {A}", f"unicd {B}")]
        if direct:
            self.link = Link(self)

    def kio(self, host, *args):
        return self.start(f"kio {host}", "unic-kio", "--socket",
                          self.socket(host), *PATIENT, *args, show=False)

    def copy(self, host, *args):
        return self.start(f"copy {host}", "unic-copy", "--socket",
                          self.socket(host), *args, show=False)

    def times(self):
        """Nanoseconds that the processes of a fetch ran, and waited to run."""
        return [sum(sum(hosts.schedstat(p.child.pid, column).values())
                    for p in self.needed) for column in (0, 1)]

    def fetch(self, seconds=hosts.PATIENCE_S):
        """Seconds of a fetch by B, times the part of the processor time that
        its processes got of what they wanted: the machine may be shared."""
        to = self.path("fetched")
        began = self.times()
        p = self.kio(B, "get", f"{hosts.IP[A]}:fetched", to)
        try:
            said = p.expect(r"bytes in [\d.]+ s", seconds)
        except hosts.Failure as e:
            raise hosts.Failure(f"a fetch between the others: {e}") from None
        ran, waited = (b - a for a, b in zip(began, self.times()))
        p.finish(hosts.PATIENCE_S)
        assert hosts.sha256(to) == self.want["fetched"], "wrong bytes"
        os.unlink(to)
        return float(re.search(r"in ([\d.]+) s", said).group(1)) * \
            ran / (ran + waited)

    def serves_c(self):
        """Check that C serves as before."""
        to = self.path("c", "whole")
        self.kio(C, "get", f"{hosts.IP[A]}:moved", to).finish(
            2 * hosts.PATIENCE_S)
        assert hosts.sha256(to) == self.want["moved"], "wrong bytes"

    def signal(self, host, what):
        self.nics[host].child.send_signal(what)

    def is_full(self, source, to):
        """The ring between two hosts; NICs join the link in their order."""
        return self.link.is_full(source + 1, to + 1)


class Transfer:
    """A transfer of C, by @n processes at once."""

    def __init__(self, rig, n, start, folder):
        self.rig, self.folder = rig, folder
        self.to = [f"got{i}" for i in range(n)]
        self.begun = [start(name) for name in self.to]

    def parts(self, name):
        return glob.glob(os.path.join(self.folder, f"*{name}*"))

    def under_way(self):
        """Wait until a part of each file has come. False: one has ended."""
        until = time.monotonic() + hosts.PATIENCE_S
        left = list(self.to)
        while left:
            if not self.goes_on():
                return False
            assert time.monotonic() < until, "nothing moves"
            left = [name for name in left if not any(
                os.path.getsize(f) for f in self.parts(name)
                if os.path.exists(f))]
            time.sleep(0.001)
        return True

    def goes_on(self):
        return all(p.child.poll() is None for p in self.begun)

    def end(self):
        """Return the number of successes; the others must print an error, and leave
        nothing."""
        well = 0
        for p, name in zip(self.begun, self.to):
            try:
                p.child.wait(timeout=2 * hosts.PATIENCE_S)
            except Exception:
                raise hosts.Failure(f"{p.who} has no end; last: "
                                    f"{p.last()}") from None
            p.reader.join(timeout=hosts.PATIENCE_S)
            path = os.path.join(self.folder, name)
            if p.child.returncode == 0:
                assert hosts.sha256(path) == self.rig.want["moved"], "wrong bytes"
                os.unlink(path)
                well += 1
            else:
                assert p.child.returncode == 1 and p.lines, \
                    f"{p.who}: exit {p.child.returncode}, {p.last()}"
                assert not os.path.exists(path), "half a file is left"
        return well


def kio_get(rig):
    """C fetches: A sends to tokens of C."""
    def start(name):
        return rig.kio(C, "get", f"{hosts.IP[A]}:moved", rig.path("c", name))
    return Transfer(rig, 3, start, rig.path("c"))


def rdma_read(rig):
    """C reads: A responds."""
    def start(name):
        return rig.copy(C, "get", "moved", "--peer", hosts.IP[A], "--output",
                        rig.path("c", name))
    return Transfer(rig, 1, start, rig.path("c"))


def rdma_write(rig):
    """A writes: C responds."""
    def start(name):
        return rig.copy(A, "put", rig.path(f"files{A}", "moved"), "--name",
                        name, "--peer", hosts.IP[C])
    return Transfer(rig, 1, start, rig.path(f"files{C}"))


def asks(rig):
    """A fetches: it sends little, and waits for answers of C."""
    def start(name):
        return rig.kio(A, "get", f"{hosts.IP[C]}:moved", rig.path("c", name))
    return Transfer(rig, 3, start, rig.path("c"))


class Rates:
    """Times of fetches while C runs, and while it is stopped in a transfer."""

    def __init__(self, rig, transfer, fills):
        self.rig, self.transfer = rig, transfer
        self.fills = fills and rig.link  # the ring to C, if it has one
        self.free, self.beside = [], []  # seconds
        self.stops = self.well = self.begun = 0

    def is_full(self):
        until = time.monotonic() + FILLS_S
        while not self.rig.is_full(A, C):
            if time.monotonic() > until:
                return False
            time.sleep(0.001)
        return True

    def catch(self, transfer):
        """Stop C when many bytes are under way. False: the transfer was over before."""
        moves = transfer.under_way()
        while moves:
            self.rig.signal(C, signal.SIGSTOP)
            if not transfer.goes_on():
                return False
            if not self.fills or self.is_full():
                return True
            self.rig.signal(C, signal.SIGCONT)
            time.sleep(0.002)
            moves = transfer.goes_on()
        return False

    def pair(self, fetches=FETCHES, hold_s=0):
        """Add the times of some fetches of either kind, if C is caught."""
        t = self.transfer(self.rig)
        beside = []
        try:
            if self.catch(t):
                time.sleep(hold_s)
                beside = [self.rig.fetch(STUCK_S) for _ in range(fetches)]
        finally:
            self.rig.signal(C, signal.SIGCONT)
        self.well += t.end()
        self.begun += len(t.begun)
        if beside:
            self.stops += 1
            self.beside += beside
            self.free += [self.rig.fetch() for _ in range(fetches)]

    def kept(self):
        return (statistics.geometric_mean(self.free) /
                statistics.geometric_mean(self.beside))

    def judge(self):
        assert self.stops, "C was never caught in the middle"
        said = (f"{self.kept():.0%} of the rate is kept ("
                f"{min(self.free):.3f} s, {self.stops} stops), "
                f"{self.well} of {self.begun} transfers of C went well")
        assert self.kept() >= KEPT, said
        return said


def keeps_its_rate(rig, transfer, fills=True):
    rates = Rates(rig, transfer, fills)
    until = time.monotonic() + SLOW_S
    while rates.stops < STOPS or rates.kept() < KEPT:
        rates.pair()
        if time.monotonic() > until:
            break
    rig.serves_c()
    return rates.judge()


def serves(rig, host):
    rig.copy(host, "serve", "--dir", rig.path(f"files{host}")).expect("ready")


# ----------------------------------------------------------------- the tests

def test_sends(rig):
    return keeps_its_rate(rig, kio_get)


def test_responds(rig):
    serves(rig, A)
    return keeps_its_rate(rig, rdma_read)


def test_writes(rig):
    serves(rig, C)
    return keeps_its_rate(rig, rdma_write)


def test_asks(rig):
    return keeps_its_rate(rig, asks, fills=False)


def test_given_up(rig):
    """C stops for longer than any peer retries."""
    rates = Rates(rig, kio_get, fills=True)
    for _ in range(TRIES):
        rates.pair(4 * FETCHES, GIVES_UP_S)
        if rates.stops and rates.kept() >= KEPT:
            break
    rig.serves_c()
    return rates.judge()


# Name, what, whether there is a ring per destination.
TESTS = {"sends": (test_sends, True), "responds": (test_responds, True),
         "writes": (test_writes, True), "asks": (test_asks, True),
         "given_up": (test_given_up, True),
         "switch_sends": (test_sends, False),
         "switch_responds": (test_responds, False)}


def run(name, board):
    test, direct = TESTS[name]
    with tempfile.TemporaryDirectory(prefix="unic-paused-") as tmp:
        rig = Rig(board, tmp, direct)
        try:
            return test(rig)
        finally:
            rig.end()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("names", nargs="*")
    args = ap.parse_args()
    passed = failed = 0
    for name in args.names or TESTS:
        start = time.monotonic()
        try:
            result = f"ok: {stops.step(run, name, args.board)}"
            passed += 1
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            result = f"FAILED: {e}"
            if not isinstance(e, (AssertionError, hosts.Failure)):
                traceback.print_exc()
        print(f"  {name}: {result} ({time.monotonic() - start:.1f} s)",
              flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
