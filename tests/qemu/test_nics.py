#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Several NICs in one host, under one unicd: each has its transfers, they have
transfers among each other, none is touched by what happens to another one, and no id of
an object is given twice.

    test_nics.py [--only WORD]
"""
import argparse
import contextlib
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

import hosts
import functions
import stops
import unicd_client as u

NAMES = ("left", "right", "third")
MIB = 48
BIG_MIB = 256
QUIET_S = 0.2  # what would have come is there by then
RESETS = 5
TRIES = 5


class Rig(hosts.Hosts):
    """One host with @n NICs on a wire; @more: options of unicd by NIC, -1: of all."""

    def __init__(self, tmp, n, more=None):
        super().__init__("soft", None, tmp, n=n)
        self.n, self.more, self.order = n, more or {}, range(n)
        os.mkdir(self.path("served"))
        with open(self.path("src"), "wb") as f:
            f.write(os.urandom(MIB << 20))
        os.link(self.path("src"), self.path("served", "src"))
        self.start_wire()
        for nic in range(n):
            self.start_nic(nic, show=False)
        self.up()

    def socket(self, host):
        return f"{self.path('u.sock')},{NAMES[host]}"

    def options(self):
        args = ["--socket", self.path("u.sock"),
                *hosts.DELIVER, *self.more.get(-1, ())]
        for nic in self.order:
            args += ["--nic", NAMES[nic], "--bus", self.path(f"bus{nic}"),
                     "--ip", hosts.IP[nic], *self.more.get(nic, ())]
        return args

    def up(self):
        self.driver = self.start("unicd", "unicd", *self.options(), show=False)
        for _ in range(self.n):
            self.driver.expect("ready pid")

    def client(self, nic=None, hello=True, flags=0):
        c = u.Client(self.path("u.sock"), flags=flags)
        if nic is not None:
            c.select(nic if isinstance(nic, int) else nic.encode())
        if hello:
            c.hello()
        return c

    def listed(self):
        return {r["name"]: r for r in self.ctl(0, "nics")}

    def serve(self, nic):
        p = self.start("server", "unic-copy", "serve", "--dir",
                       self.path("served"), "--socket", self.socket(nic),
                       show=False)
        p.expect("ready")
        return p

    def put(self, nic, to, src="src"):
        if os.path.exists(self.path("served", "copy")):
            os.unlink(self.path("served", "copy"))
        return self.start("client", "unic-copy", "put", self.path(src),
                          "--name", "copy", "--peer", hosts.IP[to], "--mode",
                          "rdma", "--socket", self.socket(nic), show=False)

    def arrived(self, p, src="src"):
        """The transfer that @p is ended well, and its NICs were not reset."""
        p.finish(240)
        assert hosts.sha256(self.path(src)) == hosts.sha256(self.path("served", "copy"))
        lost = [t for t in p.lines if "connected again" in t or "reset" in t]
        assert not lost, lost


@contextlib.contextmanager
def host(n, **more):
    with tempfile.TemporaryDirectory(prefix="unic-nics-") as tmp:
        rig = None
        try:
            rig = Rig.__new__(Rig)
            rig.running = []
            rig.__init__(tmp, n, **more)
            yield rig
        finally:
            rig.end()


def resets(rig, nic):
    return rig.ctl(nic, "info")["resets"]


# ------------------------------------------------------------------ choosing

def check_list(rig):
    rows = rig.listed()
    assert list(rows) == list(NAMES[:rig.n]), rows
    for i, name in enumerate(rows):
        assert rows[name]["number"] == i and rows[name]["ipv4"] == hosts.IP[i]
        assert rows[name]["state"] == "ready" and rows[name]["mine"] == (not i)
        for nic in (name, str(i)):
            info = hosts.json.loads(subprocess.run(
                [f"{hosts.BIN}/unicctl", "--socket", rig.path("u.sock"),
                 "--json", "--nic", nic, "info"], check=True,
                capture_output=True, timeout=hosts.PATIENCE_S).stdout)
            assert info["ipv4"] == hosts.IP[i], info
    c = rig.client()  # names none: it is with the first
    assert c.call(u.NICS).get("III") == (rig.n, 0, 1)
    assert struct.unpack_from("<I", c.call(u.INFO).tail, 0)
    c.close()


def hello_ipv4(c):
    return socket.inet_ntoa(struct.pack(">I", c.hello().get("I", 44)[0]))


def check_choice(rig):
    """Whatever a process says first or later, it is with one NIC for its life."""
    for nic in range(rig.n):
        for how in (nic, NAMES[nic].encode()):
            c = rig.client(hello=False)
            assert c.select(how).get("I") == (nic,)
            assert hello_ipv4(c) == hosts.IP[nic]
            c.select(nic)
            c.select((nic + 1) % rig.n, want=u.BUSY)
            assert hello_ipv4(c) == hosts.IP[nic]
            c.close()
    c = rig.client(hello=False)
    for bad in (rig.n, 0xffffffff, b"lef", b"leftt", b"\xff" * 16, b"0"):
        c.select(bad, want=u.NO_SUCH_NIC)
    c.call(u.SELECT, struct.pack("<II16s", 1, 0, b"left"), want=u.INVALID)
    c.call(u.SELECT, struct.pack("<II16sI", 1, 0, b"", 1), want=u.INVALID)
    c.call(u.SELECT, struct.pack("<I", 1), tail=b"x", want=u.INVALID)
    c.call(u.NICS)
    c.select(1)  # nothing was decided until now
    assert hello_ipv4(c) == hosts.IP[1]
    c.close()
    c = rig.client(hello=False)
    c.call(u.INFO)  # decides
    c.select(1, want=u.BUSY)
    assert hello_ipv4(c) == hosts.IP[0]
    c.close()


def check_ids_are_private(rig):
    """An id of an object on one NIC means nothing on another one, nor to another
    process."""
    a, b = rig.client(0), rig.client(1)
    pd = a.pd()
    b.obj(u.PD_FREE, pd, want=u.NO_PD)
    b.frames(1)
    b.reg(pd, 4096, want=u.NO_PD)
    mine = b.pd()
    assert mine != pd
    a.obj(u.PD_FREE, mine, want=u.NO_PD)
    a.obj(u.PD_FREE, pd)
    for c in (a, b):
        c.close()


# ----------------------------------------------------------------- transfers

def check_transfers(rig):
    """Each NIC sends and receives, to and from another one of this host."""
    for to in range(rig.n):
        server = rig.serve(to)
        rig.arrived(rig.put((to + 1) % rig.n, to))
        server.end()


def check_kio(rig):
    """NIC 0 exports what all do, NIC 1 a folder of its own."""
    def get(nic, what):
        return subprocess.run(
            [f"{hosts.BIN}/unic-kio", "--socket", rig.socket(nic), "--timeout",
             "20", "get", what, rig.path("got")], capture_output=True,
            text=True, timeout=hosts.PATIENCE_S, check=False)

    assert not get(1, f"{hosts.IP[0]}:all.txt").returncode
    assert open(rig.path("got"), encoding="ascii").read() == "of all"
    assert not get(0, f"{hosts.IP[1]}:one.txt").returncode
    assert open(rig.path("got"), encoding="ascii").read() == "of one"
    assert get(0, f"{hosts.IP[1]}:all.txt").returncode == 1
    r = subprocess.run([f"{hosts.BIN}/unic-kio", "--socket",
                        f"{rig.path('u.sock')},fourth", "state"],
                       capture_output=True, text=True, check=False,
                       timeout=hosts.PATIENCE_S)
    assert r.returncode == 1 and "no such NIC" in r.stderr, r


# ------------------------------------------------------- what happens to one

def in_the_middle(rig, event):
    """A transfer from NIC 0 to NIC 1, during which event() happens; repeated if it was
    over before. No NIC of the two is reset."""
    with open(rig.path("big"), "wb") as f:
        for _ in range(BIG_MIB):
            f.write(os.urandom(1 << 20))
    before = [resets(rig, nic) for nic in (0, 1)]
    server = rig.serve(1)
    for _ in range(TRIES):
        p = rig.put(0, 1, "big")
        p.expect("connected|put|MiB|registered", hosts.PATIENCE_S)
        event()
        running = p.child.poll() is None
        rig.arrived(p, "big")
        if running:
            break
    else:
        raise hosts.Failure("each transfer was over before")
    server.end()
    assert [resets(rig, nic) for nic in (0, 1)] == before


def check_reset(rig):
    """The third NIC is reset again and again: only its processes hear of it."""
    others = [rig.client(nic) for nic in (0, 1)]
    mine = rig.client(2)
    before = resets(rig, 2)

    def event():
        for _ in range(RESETS):
            with rig.client(2, hello=False) as admin:
                admin.call(u.RESET)
            rig.wait_nic(2)

    in_the_middle(rig, event)
    assert resets(rig, 2) >= before + RESETS
    mine.call(u.PD_ALLOC, want=u.STALE_EPOCH, epoch=mine.epoch)
    assert mine.upcalls()
    for c in others:
        c.call(u.PD_ALLOC, epoch=c.epoch)
        assert not c.upcalls(QUIET_S), "a process of another NIC was told of it"
    for c in (*others, mine):
        c.close()


def check_kill(rig):
    """The third NIC's process dies, and another one takes its place."""
    c = rig.client(0)
    mine = rig.client(2)

    def event():
        rig.nics[2].child.kill()
        until = time.monotonic() + hosts.PATIENCE_S
        while rig.listed()["third"]["state"] != "absent":
            assert time.monotonic() < until, rig.listed()
            time.sleep(0.01)

    in_the_middle(rig, event)
    assert rig.listed()["left"]["state"] == "ready"
    mine.call(u.PD_ALLOC, want=u.NO_NIC)
    mine.close()
    assert not c.upcalls(QUIET_S)
    c.close()
    rig.nics[2] = rig.plug_nic(2, show=False)
    rig.wait_nic(2)
    server = rig.serve(2)
    rig.arrived(rig.put(0, 2))
    server.end()


def check_bus(rig):
    """The bus of the third NIC ends: it is listed no more, its processes lose their
    connections, and the others go on. Numbers stay."""
    others = [rig.client(nic) for nic in (0, 1)]
    mine, chosen = rig.client(2), rig.client(2, hello=False)
    bus = [p for p in rig.running if p.who == "bus 2"][0]
    in_the_middle(rig, bus.end)
    for c in (mine, chosen):
        try:
            c.call(u.NICS)
            c.call(u.NICS)
            raise AssertionError("a connection with a NIC that is gone")
        except (u.Gone, OSError):
            pass
    assert list(rig.listed()) == ["left", "right"]
    late = rig.client(hello=False)
    late.select(2, want=u.NO_SUCH_NIC)
    late.select(b"third", want=u.NO_SUCH_NIC)
    late.select(1)
    late.hello()
    for c in others:
        c.obj(u.PD_FREE, c.pd())
        assert not c.upcalls(QUIET_S)
    for c in (*others, late):
        c.close()


# ----------------------------------------------------------------------- ids

def take_ids(c, n):
    """Ids of @n protection domains, each freed again but the last."""
    ids = [c.pd()]
    for _ in range(n - 1):
        c.obj(u.PD_FREE, ids[-1])
        ids.append(c.pd())
    return ids


def check_ids(n):
    """No id comes back: on another NIC, after a reset, after a restart of unicd by
    SIGKILL, when a bus has other memory, and when NICs are in another order."""
    seen = []

    def take(rig):
        for nic in range(rig.n):
            with rig.client(NAMES[nic]) as c:
                seen.extend(take_ids(c, 300))
        assert len(set(seen)) == len(seen), "an id was given twice"

    with host(n) as rig:
        take(rig)
        for nic in range(n):
            with rig.client(nic, hello=False) as admin:
                admin.call(u.RESET)
            rig.wait_nic(nic)
            take(rig)
        rig.driver.child.kill()
        rig.driver.child.wait()
        rig.up()
        take(rig)
        rig.driver.end()
        for nic in range(n):
            rig.nics[nic].end()
            [p for p in rig.running if p.who == f"bus {nic}"][-1].end()
            rig.start_bus(nic)
            rig.nics[nic] = rig.plug_nic(nic, show=False)
        rig.up()
        take(rig)
        rig.driver.end()
        rig.order = [*range(1, n), 0]
        rig.up()
        take(rig)


def refused(*args):
    r = subprocess.run([f"{hosts.BIN}/unicd", *args], capture_output=True,
                       text=True, timeout=hosts.PATIENCE_S, check=False)
    assert r.returncode and not r.stdout, r
    return r.stderr


def check_command_line():
    """What makes no sense of several NICs is refused before anything begins."""
    a = ("--nic", "a", "--bus", "/nonexistent/a")
    for words, args in (
            ("have one --ip", (*a, "--nic", "b", "--bus", "/nonexistent/b")),
            ("have one --bus", (*a, "--nic", "b", *a[2:], "--ip", "10.0.0.2")),
            ("twice", (*a, *a)),
            ("a name is", ("--nic", "1", *a[2:])),
            ("a name is", ("--nic", "a,b", *a[2:])),
            ("--bus DIR says", (*a, "--nic", "b", "--ip", "10.0.0.2")),
            ("16 at most", sum((("--nic", f"n{i}") for i in range(17)), ()))):
        said = refused(*args)
        assert words in said, (args, said)


def cases():
    def with_host(n, *checks):
        for check in checks:
            def run(check=check):
                with host(n) as rig:
                    check(rig)
            yield f"{n} NICs, {check.__name__[6:]}", run

    yield "command line", check_command_line
    for n in (2, 3):
        yield from with_host(n, check_list, check_choice, check_transfers)
        yield f"{n} NICs, ids", lambda n=n: check_ids(n)
    yield from with_host(2, check_ids_are_private)
    yield "2 NICs, kio", kio_case
    yield from with_host(3, check_reset, check_kill, check_bus)


def kio_case():
    with tempfile.TemporaryDirectory(prefix="unic-nics-kio-") as folder:
        for name in ("all", "one"):
            os.mkdir(f"{folder}/{name}")
            with open(f"{folder}/{name}/{name}.txt", "w",
                      encoding="ascii") as f:
                f.write(f"of {name}")
        with host(2, more={-1: ("--kio-export", f"{folder}/all"),
                           1: ("--kio-export", f"{folder}/one")}) as rig:
            check_kio(rig)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default="")
    args = ap.parse_args()
    return functions.run([(name, lambda run=run: stops.step(run))
                          for name, run in cases() if args.only in name])


if __name__ == "__main__":
    sys.exit(main())
