#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unicd end to end: with the loop-back provider, and with unic-bus and a NIC.

    test_unicd.py [--board soft|virt|none]
"""
import argparse
import fcntl
import json
import mmap
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "qemu"), os.path.dirname(__file__)]
import hosts  # noqa: E402
import run_nic  # noqa: E402
import shm_peers  # noqa: E402
import unicd_client as u  # noqa: E402

# Other builds of the programs (make tsan, make valgrind) are elsewhere.
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
UNICD = os.environ.get("UNICD", os.path.join(BIN, "unicd"))
SQ, RQ, CQ = u.VA0, u.VA0 + 0x1000, u.VA0 + 0x2000  # of a queue's page group
# T: the usual one, one to look around within, one that does not end
GRACE_US, NOTICE_US, LONG_US = 20_000, 2_000_000, 10_000_000
LINGER_S = 30


class Rig:
    """A directory, a driver in it, and what else the test started."""

    def __init__(self, board=None, args=()):
        self.dir = tempfile.mkdtemp(prefix="unicd-")
        self.sock = os.path.join(self.dir, "u.sock")
        self.log = open(os.path.join(self.dir, "log"), "w+b")
        self.args, self.board, self.others = list(args), board, []
        self.renews = board in (None, "soft")  # can exchange a slot's memory
        self.driver = None
        try:
            if board:
                self.plug()
            self.up()
        except BaseException:
            self.down()
            raise

    def plug(self):
        self.bus = self.start([f"{BIN}/unic-bus", "--dir", self.dir,
                               *run_nic.bus_options(self.board)])
        self.wait_line(self.bus)
        argv = run_nic.command(self.board, self.dir, link="none")
        self.nic = self.start(argv)

    def start(self, argv):
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.log)
        self.others.append(p)
        return p

    def wait_line(self, p):
        line = p.stdout.readline()
        assert b"ready" in line, f"{p.args[0]}: {line!r} {self.text()}"
        return line

    def text(self):
        with open(self.log.name, "rb") as f:
            return f.read().decode(errors="replace")

    def argv(self):
        where = (["--bus", self.dir, "--deliver-us", hosts.DELIVER_US]
                 if self.board else ["--provider", "loop", "--slots", "4"])
        return [UNICD, "--socket", self.sock] + where + self.args

    def up(self):
        self.driver = self.start(self.argv())
        self.wait_line(self.driver)

    def client(self, hello=True, name=b"test", flags=0):
        c = u.Client(self.sock, name, flags)
        if hello:
            c.hello()
        return c

    def down(self):
        for p in reversed(self.others):
            if p.poll() is None:
                p.terminate()
                try:
                    p.wait(hosts.PATIENCE_S)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def child(rig, body):
    """Run body(client) in another process that then sleeps."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        assert os.read(r, 1) == b"y", "child failed"
        os.close(r)
        return pid
    try:
        c = rig.client(name=b"child")  # kept: its end is the socket's
        body(c)
        os.write(w, b"y")
        parent = os.getppid()
        while os.getppid() == parent:  # never outlive the test
            time.sleep(0.2)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        os._exit(1)


def ps(c):
    rows = {}
    r = c.call(u.PS)
    for at in range(0, len(r.tail), 104):
        row = struct.unpack_from("<4I16s12I", r.tail, at)
        rows[row[0]] = dict(pid=row[1], state=row[3], frames=row[5],
                            pinned=row[6], regions=row[7], waits=row[8])
    return rows


def left(rig, c, slot):
    """Has nobody the slot any more? Where memory cannot be exchanged it is held
    for its user (state 4)."""
    row = ps(c).get(slot)
    return not row if rig.renews else not row or row["state"] == 4


def until(what, test, seconds=hosts.PATIENCE_S):
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end, f"timeout: {what}"
        time.sleep(0.01)


# ----------------------------------------------------------------- the tests

def test_frames_and_pins(rig):
    c = rig.client()
    runs = c.frames(64)
    assert len(set(runs)) == 64
    assert all(b != a + 1 for a, b in zip(runs, runs[1:])), "contiguous"
    assert min(runs) >= 3
    c.frames(1, want=u.IN_USE)
    c.frames(1, va=u.VA0 + 0x10001, want=u.INVALID)
    c.frames(1 << 20, va=1 << 40, want=u.INVALID)
    pd = c.pd()
    a = c.reg(pd, 10 * 4096)
    b = c.reg(pd, 4096, va=u.VA0 + 9 * 4096 + 100)  # two pages, one shared
    assert a[2] == 10 and b[2] == 2 and a[1] & 0xff == 0x5a
    assert ps(c)[c.proc]["pinned"] == 11
    c.free_frames(64, want=u.BUSY)
    c.obj(u.MR_DEREG, a[0])
    assert ps(c)[c.proc]["pinned"] == 2
    c.obj(u.MR_DEREG, a[0], want=u.NO_MR)
    c.obj(u.PD_FREE, pd, want=u.BUSY)
    c.obj(u.MR_DEREG, b[0])
    c.obj(u.PD_FREE, pd)
    c.free_frames(64)
    c.free_frames(64, want=u.NOT_MAPPED)
    c.close()


def test_large_pages(rig):
    c = rig.client()
    pd = c.pd()
    c.frames(512, shift=21, va=1 << 32)
    c.frames(32, shift=16, va=2 << 32)
    c.frames(16, va=3 << 32)
    assert c.reg(pd, 2 << 20, va=1 << 32)[2] == 1
    assert c.reg(pd, 131072, va=2 << 32)[2] == 2
    assert c.reg(pd, 131072, va=2 << 32, shift=12)[2] == 32
    assert c.reg(pd, 65536, va=(2 << 32) + 100)[2] == 2
    c.reg(pd, 65536, va=3 << 32, shift=16, want=u.NOT_ALIGNED)
    c.reg(pd, 4096, va=9 << 32, want=u.NOT_MAPPED)
    c.reg(pd, 4096, va=3 << 32, iova=(1 << 20) + 5, want=u.NOT_MAPPED)
    r = c.reg(pd, 4096, va=3 << 32, iova=0)
    assert r[2] == 1
    c.close()


def test_bad_requests(rig):
    c = rig.client(hello=False)
    c.call(u.PD_ALLOC, want=u.NO_HELLO)
    c.hello()
    for op in (0, 6, 7, 63, 99, 65535):
        c.call(op, want=u.BAD_OPCODE)
    c.call(u.PD_ALLOC, b"\1", want=u.INVALID)
    c.call(u.PD_ALLOC, tail=b"x", want=u.INVALID)
    c.call(u.PD_ALLOC, want=u.STALE_EPOCH, epoch=c.epoch + 1)
    pd = c.pd()
    other = rig.client()
    assert other.proc != c.proc
    other.obj(u.PD_FREE, pd, want=u.NO_PD)
    other.frames(1)
    other.reg(pd, 4096, want=u.NO_PD)
    c.frames(1)
    for kw in (dict(rights=16), dict(cls=3), dict(shift=13), dict(flags=4),
               dict(flags=u.ASYNC), dict(iova=(1 << 64) - 4096, va=u.VA0)):
        c.reg(pd, 8192 if "iova" in kw else 4096, want=u.INVALID, **kw)
    c.sock.send(b"short")
    try:
        c.recv()
        raise AssertionError("a short message was answered")
    except (u.Gone, ConnectionResetError):
        pass
    other.close()


def test_garbage(rig):
    rnd = random.Random(7)
    for _ in range(6):
        c = rig.client()
        try:
            for _ in range(400):
                op = rnd.choice(list(range(0, 36)) + list(range(64, 70)) +
                                [80, 81, 82, 83, 84])
                if op == 80:
                    continue  # FAULT does what it is told
                n = rnd.choice((0, 4, 8, 20, 48))
                body = bytes(rnd.choice((0, 0, 1, 255, rnd.randrange(256)))
                             for _ in range(n))
                c.seq += 1
                c.sock.settimeout(hosts.PATIENCE_S)
                c.sock.send((u.HDR.pack(op, 0, c.seq, 0, 0) + body).ljust(
                    64, b"\0")[:rnd.choice((64, 64, 64, 17, 63))])
                try:
                    c.sock.settimeout(0.002)
                    for fd in c.recv().fds:
                        os.close(fd)
                except TimeoutError:
                    pass
        except (u.Gone, ConnectionError):
            pass
        c.close()
    until("driver alive", lambda: rig.client(hello=False).call(u.INFO))


def test_flood(rig):
    """A process that never reads replies blocks itself and nobody else: it is not
    read, and nothing is done for it meanwhile. Its replies come in order."""
    c = rig.client()
    c.sock.setblocking(False)
    sent = []
    try:
        while len(sent) < 20000:
            sent.append(c.send(u.INFO))
    except BlockingIOError:
        pass
    assert len(sent) < 20000, "all of it was taken"
    other = rig.client()
    other.frames(4)
    other.close()
    # (a machine with much to do gives one that spins a few percent, too)
    used = [spent(rig.driver.pid, 1)]
    while used[-1] > 0.03 and len(used) < 5:
        used.append(spent(rig.driver.pid, 1))
    assert used[-1] <= 0.03, f"{used} s of 1"
    c.sock.setblocking(True)
    got = [u.HDR.unpack_from(c.sock.recv(u.MAX))[2] for _ in sent]
    assert got == sorted(got), "one overtook another"
    c.close()


def spent(pid, seconds):
    """Processor time of a process in that while."""
    def now():
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    begun = now()
    time.sleep(seconds)
    return now() - begun


def test_kill_and_reuse(rig):
    secret = b"secret of the dead " * 100

    def work(c):
        c.frames(16)
        c.poke(u.VA0, secret)
        c.reg(c.pd(), 16 * 4096)

    me = rig.client(hello=False)
    pid = child(rig, work)
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    assert ps(me)[slot]["pinned"] == 16, ps(me)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("slot free", lambda: left(rig, me, slot))
    c = rig.client()
    assert secret[:19] not in c.mem[:], "memory was not zeroed"
    c.close()


def test_stopped_keeps_memory(rig):
    """Memory that a stopped process may still map is not given away, not even
    by a driver that was killed and started again."""
    me = rig.client(hello=False)
    pid = child(rig, lambda c: (c.frames(1), c.poke(u.VA0, b"of the child")))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    os.kill(pid, signal.SIGSTOP)
    if rig.board:
        rig.driver.kill()
        rig.driver.wait()
        rig.up()
        me = rig.client(hello=False)
        until("slot left", lambda: left(rig, me, slot))
    mine = []
    for _ in range(3 if rig.renews else 1):
        mine.append(rig.client())
        mine[-1].frames(1)
        mine[-1].poke(u.VA0, b"of another")
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        theirs = {int(line.split()[4]) for line in f if "memfd:unic-" in line}
    assert theirs
    if "--joint" not in run_nic.bus_options(rig.board):
        assert not theirs & {c.file for c in mine}, "it was given away"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for c in mine:
        c.close()


def test_same_process_again(rig):
    for _ in range(24):  # three times as many as there are slots
        c = rig.client()
        c.frames(2)
        c.close()


def queues(c, pd):
    """A region of class control with rings, a CQ and a QP in RESET."""
    c.frames(3)
    mr, _, _ = c.reg(pd, 3 * 4096, cls=u.CONTROL, rights=u.LOCAL_WRITE,
                     shift=12)
    cq, _ = c.call(u.CQ_CREATE, struct.pack("<QIIII", CQ, mr, 16, 0,
                                            0)).get("II")
    body = struct.pack("<QQIIIHHIIII", SQ, RQ, mr, cq, cq, 16, 16, 0, 0, 77,
                       pd)
    qp, qpn = c.call(u.QP_CREATE, body).get("II")
    return mr, cq, qp, qpn


def ring(c, kind, tail, offset):
    db = 64 + 4 * 256
    c.mem[db + offset:db + offset + 4] = struct.pack("<I", tail)
    seq = struct.unpack_from("<I", c.mem, 0)[0]
    c.mem[64 + seq % 256 * 4:68 + seq % 256 * 4] = struct.pack(
        "<I", kind << 8 | (tail & 0xffff) << 16)
    c.mem[0:4] = struct.pack("<I", seq + 1)
    try:
        os.write(c.doorbell, struct.pack("<Q", 1))
    except BlockingIOError:
        pass  # full: it rings


def cqe(c, n):
    def there():
        return struct.unpack_from("<I", c.peek(CQ + n * 32, 32), 28)[0] == n + 1
    until("completion", there)
    return struct.unpack("<QIIIBBBBII", c.peek(CQ + n * 32, 32))


def connect_pair(rig):
    a, b = rig.client(), rig.client()
    pa, pb = a.pd(), b.pd()
    qa, qb = queues(a, pa), queues(b, pb)
    ip = a.call(u.INFO)
    ipv4 = struct.unpack_from("<I", ip.tail, 168)[0]
    listener = b.call(u.LISTEN, struct.pack("<QI", 4711, 5)).get("I")[0]
    a.call(u.LISTEN, struct.pack("<Q", 4711), want=u.IN_USE)
    seq = a.send(u.CONNECT, struct.pack("<QIIIIB", 4711, ipv4, 0, qa[2], 0, 6),
                 b"hello there")
    up = b.upcall_of(u.UP_CONN_REQUEST)
    assert struct.unpack_from("<II", up[3], 16) == (5, listener)
    r = b.obj(u.CONN_QUERY, up[2])
    assert r.tail == b"hello there"
    r = b.call(u.ACCEPT, struct.pack("<QIIIIB", 0, 0, up[2], qb[2], 0, 6),
               b"welcome")
    r = a.wait(seq)
    assert r.status == u.OK and r.tail == b"welcome", r.status
    conn = r.get("I")[0]
    b.upcall_of(u.UP_ESTABLISHED)
    return a, b, (pa, qa, conn), (pb, qb, up[2])


def test_connect_and_move(rig):
    a, b, (pa, qa, conn), (pb, qb, bconn) = connect_pair(rig)
    va = u.VA0 + 0x100000
    a.frames(4, va=va)
    b.frames(4, va=va)
    src = a.reg(pa, 16384, va=va)
    dst = b.reg(pb, 16384, va=va)
    text = bytes(range(256)) * 40
    a.poke(va + 100, text)
    # receive at b, send from a
    b.poke(RQ, struct.pack("<B7xQQII", 1, 42, va + 7, 16000, dst[1]))
    ring(b, 1, 1, 4)
    a.poke(SQ, struct.pack("<BBBBIQQIIQII", 1, 1, 1, 0, 0, 43, 0, 0, 0,
                           va + 100, len(text), src[1]))
    ring(a, 0, 1, 0)
    assert cqe(b, 0)[:2] == (42, len(text))
    assert b.peek(va + 7, len(text)) == text
    assert cqe(a, 0)[0] == 43
    # RDMA WRITE, then READ it back elsewhere
    a.poke(SQ + 64, struct.pack("<BBBBIQQIIQII", 3, 1, 1, 0, 0, 44, va + 5000,
                                dst[1], 0, va + 100, 5000, src[1]))
    a.poke(SQ + 128, struct.pack("<BBBBIQQIIQII", 5, 1, 1, 0, 0, 45, va + 5000,
                                 dst[1], 0, va + 11000, 5000, src[1]))
    ring(a, 0, 3, 0)
    assert cqe(a, 2)[0] == 45
    assert b.peek(va + 5000, 5000) == text[:5000]
    assert a.peek(va + 11000, 5000) == text[:5000]
    # a wrong rkey is an error of that QP, told once
    a.poke(SQ + 192, struct.pack("<BBBBIQQIIQII", 3, 0, 1, 0, 0, 46, va,
                                 dst[1] ^ 0x100000, 0, va, 8, src[1]))
    ring(a, 0, 4, 0)
    assert cqe(a, 3)[5] == 6  # REM_ACCESS_ERR
    assert a.upcall_of(u.UP_QP_ERROR)[2] == qa[2]
    a.obj(u.DISCONNECT, conn)
    b.upcall_of(u.UP_DISCONNECTED)
    b.obj(u.DISCONNECT, bconn)
    b.obj(u.MR_DEREG, qb[0], want=u.BUSY)
    b.obj(u.QP_DESTROY, qb[2])
    b.obj(u.CQ_DESTROY, qb[1])
    b.obj(u.MR_DEREG, qb[0])
    a.close()
    b.close()


def test_refused_connections(rig):
    a, b = rig.client(), rig.client()
    qa = queues(a, a.pd())
    ipv4 = struct.unpack_from("<I", a.call(u.INFO).tail, 168)[0]

    def body(service, ip, timeout=0):
        return struct.pack("<QIIII", service, ip, 0, qa[2], timeout)

    r = a.call(u.CONNECT, body(99, ipv4), want=u.REJECTED)
    assert r.get("I", 40)[0] == 8  # no such service
    b.call(u.LISTEN, struct.pack("<Q", 99))
    seq = a.send(u.CONNECT, body(99, ipv4))
    up = b.upcall_of(u.UP_CONN_REQUEST)
    b.call(u.REJECT, struct.pack("<I", up[2]), b"no thanks")
    r = a.wait(seq)
    assert (r.status, r.tail) == (u.REJECTED, b"no thanks")
    assert r.get("I", 40)[0] == 28
    seq = a.send(u.CONNECT, body(99, ipv4, 300000))  # nobody answers it
    b.upcall_of(u.UP_CONN_REQUEST)
    assert a.wait(seq).status == u.UNREACHABLE
    start = time.monotonic()
    b.upcall_of(u.UP_DISCONNECTED)
    # by itself it would take 8 s
    assert time.monotonic() - start < 4, "it was not told so"
    a.close()
    b.close()


def test_no_datagrams(rig):
    """The loop provider has queue pairs of RC only, and says so."""
    a = rig.client()
    pd = a.pd()
    mr, cq, _, _ = queues(a, pd)
    for kind in (1, 2):
        a.call(u.QP_CREATE, struct.pack("<QQIIIHHIIII", SQ, RQ, mr, cq, cq, 16,
                                        16, 0, kind << 8 | 1, 77, pd),
               want=u.UNSUPPORTED)
    a.close()


def test_duplicate_start(rig):
    p = subprocess.run(rig.argv(), capture_output=True, text=True,
                       timeout=hosts.PATIENCE_S, check=False)
    assert p.returncode == 1 and "another" in p.stderr, p.stderr
    rig.client().close()


def test_admin(rig):
    c = rig.client()
    info = c.call(u.INFO)
    assert struct.unpack_from("<I", info.tail)[0] == 0x43494e55
    assert info.get("I", 40)[0] == 2
    c.call(u.STATS)
    c.call(u.TRACE)
    assert ps(c)[c.proc]["pid"] == os.getpid()
    usage = c.call(u.USAGE)
    assert len(usage.tail) == 64
    c.close()

    def body():
        """How many of them nobody may."""
        mine = rig.client()
        mine.call(u.INFO)
        return sum(mine.call(op, want=None).status != u.PERMISSION
                   for op in (u.TRACE, u.CRASH, u.DUMP, u.FAULT, u.PARAMS,
                              u.POLICY, u.EVICT, u.TRACE_MASK, u.RESET))
    joint = rig.board and "--joint" in run_nic.bus_options(rig.board)
    if os.geteuid() == 0 and not joint:
        assert as_nobody(rig, body) == 0


def break_fds(c):
    """Do to the descriptors of HELLO whatever could make their other side
    wait: clear O_NONBLOCK, fill them, read them empty."""
    for fd in (c.event, c.upcall, c.doorbell):
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        for n in (0xfffffffffffffffe, 1):
            try:
                os.write(fd, struct.pack("<Q", n))
            except OSError:
                break
        fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)


def blocking_events(pid):
    """How many eventfds of a process a read would wait on."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        if os.readlink(f"/proc/{pid}/fd/{fd}") != "anon_inode:[eventfd]":
            continue
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
            flags = next(x for x in f if x.startswith("flags:"))
        n += not int(flags.split()[1], 8) & os.O_NONBLOCK
    return n


def flood(fd):
    """As much as the other side of a doorbell takes."""
    os.set_blocking(fd, False)
    for n in range(10000):
        try:
            os.write(fd, bytes(8))
        except BlockingIOError:
            break
    return n


def test_doorbell_is_ones_own(rig):
    """A doorbell shares nothing with the NIC: no flag, no counter."""
    c, other = rig.client(), rig.client()
    pids = [p.pid for p in rig.others if p.poll() is None]
    before = [blocking_events(p) for p in pids]
    break_fds(c)
    assert [blocking_events(p) for p in pids] == before
    os.set_blocking(c.doorbell, False)
    try:
        os.read(c.doorbell, 8)  # takes no ring away
        raise AssertionError("a ring could be read back")
    except BlockingIOError:
        pass
    socket.socket(fileno=os.dup(c.doorbell)).shutdown(socket.SHUT_RDWR)
    start = time.monotonic()
    while time.monotonic() - start < 0.3:
        flood(other.doorbell)
        other.call(u.USAGE)
    qa = queues(other, other.pd())
    other.call(u.QP_MODIFY, struct.pack("<IB11xIII", qa[2], 1, 0, 0, 0))
    other.poke(RQ, struct.pack("<B7xQQII", 1, 42, u.VA0, 100, 0))
    ring(other, 1, 1, 4)
    other.call(u.QP_MODIFY, struct.pack("<IB", qa[2], 5))
    assert cqe(other, 0)[0] == 42
    c.close()
    other.close()


def test_bad_doorbell(rig):
    """A doorbell that names no queue is told to its process, others not."""
    c, other = rig.client(), rig.client()
    for _ in range(100):
        ring(c, 1, 1, 4)
    up = c.upcall_of(u.UP_DB_ERROR)
    assert struct.unpack_from("<I", up[3], 20)[0] & 0x3ff == 1 << 8
    assert all(k[0] != u.UP_DB_ERROR for k in c.upcalls(0.1)), "again"
    assert not other.upcalls(0.1)
    _, cq, _, _ = queues(other, other.pd())
    out = subprocess.run([f"{BIN}/unicctl", "--socket", rig.sock, "--json",
                          "cq"], capture_output=True, check=True,
                         timeout=hosts.PATIENCE_S)
    rows = [r for r in json.loads(out.stdout) if r["proc"] == other.proc]
    assert [(r["entries"], r["users"], r["error"]) for r in rows] == [
        (16, 2, "none")], (cq, rows)
    c.close()
    other.close()


def test_broken_descriptors(rig):
    """What a process does to its descriptors is nobody else's trouble."""
    c = rig.client()
    qa = queues(c, c.pd())
    c.call(u.QP_MODIFY, struct.pack("<IB11xIII", qa[2], 1, 0, 0, 0))
    break_fds(c)
    c.poke(RQ, struct.pack("<B7xQQII", 1, 42, u.VA0, 100, 0))
    ring(c, 1, 1, 4)
    ring(c, 2, 0, 12)  # arm the CQ
    time.sleep(0.1)
    c.call(u.QP_MODIFY, struct.pack("<IB", qa[2], 5))
    assert cqe(c, 0)[0] == 42  # flushed, and the event is on its way
    assert select.select([c.event], [], [], hosts.PATIENCE_S)[0], "no event"
    assert os.read(c.event, 8) and not select.select([c.event], [], [], 0.1)[0]
    if rig.board:
        mr = c.reg(c.pd(), 4096)[0]
        for _ in range(40):  # more than its upcall descriptor takes
            c.obj(u.EVICT, mr, want=None)
        assert c.upcalls()
    other = rig.client()
    other.call(u.PD_ALLOC)
    c.close()
    other.close()
    rig.client().close()


def test_child_keeps_memory(rig):
    """A child that inherited the memory keeps it, and not the slot; one that
    inherited the socket keeps nothing."""
    me = rig.client(hello=False)
    r, w = os.pipe()
    seen, see = os.pipe()
    go, gone = os.pipe()
    pid = os.fork()
    if not pid:
        c = rig.client(name=b"parent")
        c.frames(4)
        c.reg(c.pd(), 4 * 4096)
        child_pid = os.fork()
        if child_pid:
            os.write(w, struct.pack("<II", child_pid, c.proc))
        else:
            os.read(go, 1)
            os.write(see, bytes([b"another" in c.mem[:]]))
        time.sleep(4 * hosts.PATIENCE_S)
        os._exit(0)
    kid, slot = struct.unpack("<II", os.read(r, 8))
    os.close(r)
    os.close(w)
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        until("slot free", lambda: left(rig, me, slot))
        others = [rig.client() for _ in range(3)]
        assert not rig.renews or slot in [c.proc for c in others]
        for c in others:
            c.frames(1)
            c.poke(u.VA0, b"of another")
        os.write(gone, b"x")
        if rig.renews:  # elsewhere it is the user's
            assert os.read(seen, 1) == b"\0", "the child sees what others have"
        for c in others:
            c.close()
    finally:
        os.kill(kid, signal.SIGKILL)
        for fd in (seen, see, go, gone):
            os.close(fd)


def parked(rig, uid):
    """A user's process puts the descriptor of its slot into a socket that is not
    read, and ends. Returns the slot, and the socket."""
    here, there = socket.socketpair()
    os.chmod(rig.dir, 0o755)
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        c = u.Client(rig.sock, b"parker")
        body = struct.pack("<II16sIII", 1, 0, b"parker", 0, 0, 0)
        end = time.monotonic() + hosts.PATIENCE_S
        while (reply := c.call(u.HELLO, body, want=None)).status != u.OK:
            if time.monotonic() > end:
                os._exit(1)
            time.sleep(0.01)
        socket.send_fds(there, [b"x"], [reply.fds[0]])
        os.write(w, struct.pack("<I", reply.get("I", 24)[0]))
        os._exit(0)
    os.waitpid(pid, 0)
    slot = struct.unpack("<I", os.read(r, 4))[0]
    os.close(r)
    os.close(w)
    there.close()
    return slot, here


def test_parked_descriptor(rig):
    """What a process kept of a slot, where nobody can see it, is not what the
    next user of that slot has."""
    me = rig.client(hello=False)
    slot, sock = parked(rig, 65534)
    until("slot left", lambda: left(rig, me, slot))
    victims = []
    secret = b"the next one's secret"
    try:
        while rig.renews and slot not in [c.proc for c in victims]:
            victims.append(rig.client())
        while not rig.renews and len(victims) < 2:
            victims.append(rig.client())
            assert victims[-1].proc != slot, "another user has it"
        for c in victims:
            c.frames(16)
            c.poke(u.VA0, secret)
        _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        with mmap.mmap(fds[0], os.fstat(fds[0]).st_size) as m:
            assert m.find(secret) < 0, "the next owner was read"
            m[:] = b"\xff" * len(m)
        for c in victims:
            assert c.peek(u.VA0, len(secret)) == secret, "and written to"
        os.close(fds[0])
        if not rig.renews:  # the user who had it gets it again
            assert parked(rig, 65534)[0] == slot
    finally:
        for c in victims:
            c.close()
        sock.close()


def test_new_memory_waits_for_the_nic(rig):
    """A slot is nobody's before the NIC has let its old memory go: a NIC that
    stands still, a driver that is killed meanwhile."""
    me = rig.client(hello=False)
    pid = child(rig, lambda c: c.frames(1))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("slot free", lambda: left(rig, me, slot))
    pid = child(rig, lambda c: c.frames(1))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    rig.nic.send_signal(signal.SIGSTOP)
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        time.sleep(0.2)
        assert slot in ps(me), "the NIC has it still"
        rig.driver.kill()
        rig.driver.wait()
        with open(os.path.join(rig.dir, "log"), "ab"):
            rig.driver = rig.start(rig.argv())
            time.sleep(0.5)
    finally:
        rig.nic.send_signal(signal.SIGCONT)
    rig.wait_line(rig.driver)
    me = rig.client(hello=False)
    until("slot free", lambda: left(rig, me, slot))
    with open(f"/proc/{rig.nic.pid}/maps", encoding="ascii") as f:
        nic = {int(x.split()[4]) for x in f if f"unic-slot-{slot} " in x}
    with open(f"/proc/{rig.driver.pid}/maps", encoding="ascii") as f:
        drv = {int(x.split()[4]) for x in f if f"unic-slot-{slot} " in x}
    assert len(nic) == 1 and nic == drv, (nic, drv)
    cs = [rig.client()]
    while slot not in [c.proc for c in cs]:
        cs.append(rig.client())
    c = cs[-1]
    assert c.file in nic
    queues(c, c.pd())  # the NIC and we mean the same memory
    for c in cs:
        c.close()


def test_slots_kept_for_their_user(rig):
    """While a NIC is on the bus that cannot exchange memory, a slot goes back to the
    user who had it, to no other, and to anybody when that NIC left."""
    me = rig.client(hello=False)
    nic = shm_peers.IvshmemClient(f"{rig.dir}/ivshmem",
                                  run_nic.bus_info(rig.dir)["vectors"])
    cs = []
    try:
        slot, sock = parked(rig, 65534)
        until("slot left", lambda: ps(me).get(slot, {}).get("state") == 4)
        while (r := (c := rig.client(hello=False)).call(
                u.HELLO, struct.pack("<II16sIII", 1, 0, b"x", 0, 0, 0),
                want=None)).status == u.OK:
            cs.append(c)
            assert r.get("I", 24)[0] != slot, "another user has it"
        assert r.status == u.NO_SLOT
        again, other = parked(rig, 65534)
        other.close()
        assert again == slot, "its own user has it not"
        until("slot left", lambda: ps(me).get(slot, {}).get("state") == 4)
        nic.close()
        until("slot free", lambda: slot not in ps(me))
        c = rig.client()
        assert c.proc == slot
        _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        assert os.fstat(fds[0]).st_ino != c.file
        os.close(fds[0])
        sock.close()
        cs.append(c)
    finally:
        for c in cs:
            c.close()


def test_slots_go_back_when_the_nic_left(rig):
    """What QEMU kept for a user is anybody's when it was started again."""
    me = rig.client(hello=False)
    slot, sock = parked(rig, 65534)
    until("slot left", lambda: left(rig, me, slot))
    rig.nic.kill()
    rig.nic.wait()
    until("slot free", lambda: slot not in ps(me))
    rig.nic = rig.start(run_nic.command(rig.board, rig.dir, link="none"))
    until("back", lambda: me.call(u.INFO).get("I", 40)[0] == 2)
    cs = [rig.client()]
    while slot not in [c.proc for c in cs]:
        cs.append(rig.client())
    c = cs[-1]
    queues(c, c.pd())
    _, fds, _, _ = socket.recv_fds(sock, 1, 1)
    assert os.fstat(fds[0]).st_ino != c.file
    os.close(fds[0])
    sock.close()
    for c in cs:
        c.close()


def test_descriptors_go_with_the_process(rig):
    me = rig.client(hello=False)

    def descriptors():
        return len(os.listdir(f"/proc/{rig.driver.pid}/fd"))

    def settled():  # clients of other tests are gone
        n = descriptors()
        time.sleep(0.2)
        return n == descriptors()

    until("settled", settled)
    ours, before = set(ps(me)), descriptors()
    pid = child(rig, lambda c: c.frames(1))
    assert descriptors() > before
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("slot free", lambda: all(left(rig, me, p) for p in ps(me)
                                   if p not in ours))
    until("descriptors", lambda: descriptors() <= before + (not rig.renews))
    me.close()


def test_old_memory_is_not_zeroed(rig):
    old = rig.client()
    old.frames(1)
    old.poke(u.VA0, b"still mine")
    at = old.at(u.VA0)
    old.sock.close()
    new = rig.client()
    new.mem[at:at + 4] = b"new!"
    assert old.mem[at:at + 4] in (b"stil", bytes(4))  # zeroed once, at its end
    new.close()
    old.close()


def as_nobody(rig, body):
    """Run body() in a process without privilege; returns what it returns."""
    os.chmod(rig.dir, 0o755)
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgid(65534)
            os.setuid(65534)
            os.write(w, struct.pack("<i", body()))
        finally:
            os._exit(0)
    os.close(w)
    data = os.read(r, 4)
    os.close(r)
    os.waitpid(pid, 0)
    return struct.unpack("<i", data)[0]


def test_one_slot_per_process(rig):
    def body():
        first = rig.client()
        rig.client(hello=False).hello(want=u.NO_SLOT)
        return first.proc

    if os.geteuid() == 0:
        as_nobody(rig, body)


def test_connections_per_user(rig):
    def body():
        got = []
        for _ in range(140):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(rig.sock)
            got.append(s)
        # those that were turned away end; the others have nothing to read
        ended = select.poll()
        for s in got:
            ended.register(s, select.POLLIN)
        end = time.monotonic() + hosts.PATIENCE_S
        while len(got) - len(ended.poll(0)) > 32 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)  # are there more?
        return len(got) - len(ended.poll(0))

    if os.geteuid() == 0:
        n = as_nobody(rig, body)
        assert n == 32, n
        assert rig.text().count("turned away") < 5, "log filled"
        rig.client(hello=False).call(u.INFO)


def test_descriptor_that_lingers(rig):
    """Nobody stops the driver with a file that takes long to close: a full
    connection with SO_LINGER, of which the driver would have the last
    descriptor. Before Linux 6.16 there is no way to refuse it."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 16):
        return
    c, other = rig.client(), rig.client()
    rows = [(c.sock, struct.pack("<HHIII", u.INFO, 0, 999, 0, 0)),
            (socket.socket(fileno=os.dup(c.doorbell)), b"\1" + b"\0" * 7)]
    for to, msg in rows:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            end = socket.create_connection(server.getsockname())
            peer = server.accept()[0]  # who reads nothing
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                       struct.pack("ii", 1, LINGER_S))
        rig.driver.send_signal(signal.SIGSTOP)
        try:
            socket.send_fds(to, [msg.ljust(64, b"\0")], [end.fileno()])
        except PermissionError:  # it is ours alone: no need to wait
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                           struct.pack("ii", 0, 0))
        finally:
            end.close()
            rig.driver.send_signal(signal.SIGCONT)
        start = time.monotonic()
        other.call(u.INFO)
        assert time.monotonic() - start < LINGER_S / 2, \
            "the driver was stopped"
        peer.close()
    rows[1][0].close()
    c.close()
    other.close()


def test_shares(rig):
    """One process cannot take all of a table."""
    c, other = rig.client(), rig.client()
    pds = [c.call(u.PD_ALLOC, want=None).status for _ in range(300)]
    assert u.OK in pds and u.QUOTA in pds
    n = [c.call(u.LISTEN, struct.pack("<QI", 1000 + i, 1), want=None).status
         for i in range(70)]
    assert n == [u.OK] * 64 + [u.QUOTA] * 6, n
    other.pd()
    other.call(u.LISTEN, struct.pack("<QI", 5, 1))
    c.close()
    other.close()


def test_duplicate_start_of_stopped(rig):
    rig.driver.send_signal(signal.SIGSTOP)
    try:
        socks = []
        while True:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            socks.append(s)
            try:
                s.connect(rig.sock)
            except BlockingIOError:
                break
        p = subprocess.run([UNICD, "--provider", "loop", "--socket", rig.sock],
                           capture_output=True, text=True,
                           timeout=hosts.PATIENCE_S, check=False)
        assert p.returncode == 1 and "another" in p.stderr, p.stderr
    finally:
        rig.driver.send_signal(signal.SIGCONT)
    for s in socks:
        s.close()

    def served():
        try:
            rig.client().close()
            return True
        except BlockingIOError:  # the backlog is still full
            return False

    until("served again", served)


# --- with a NIC only

def test_cancel_races_grant(rig):
    """WAIT_CANCEL, then MR_DEREG, while the grant is on its way: nothing is
    left behind, whoever wins."""
    hog, c = rig.client(name=b"hog"), rig.client(name=b"meek")
    rig_params(rig, grace=LONG_US)
    try:
        hpd, pd = hog.pd(), c.pd()
        c.frames(1)
        hog.obj(u.MR_DEREG, fill_tlb(hog, hpd)[-1])
        hog.frames(255, va=1 << 42)  # all but one of those that it had
        hog.reg(hpd, 255 * 4096, va=1 << 42, shift=12)
        hog.frames(1, va=1 << 41)
        mine = hog.reg(hpd, 4096, va=1 << 41, shift=12)[0]
        for i in range(200):
            seq = c.send(u.MR_REG, c.reg_body(pd, 4096, flags=u.WAIT | u.ASYNC))
            r = c.wait(seq)
            assert r.status == u.PENDING, r.status
            d = hog.send(u.MR_DEREG, struct.pack("<I", mine))
            time.sleep(i % 20 * 1e-5)
            won = c.call(u.WAIT_CANCEL, struct.pack("<I", seq),
                         want=None).status
            end = c.obj(u.MR_DEREG, r.get("I")[0], want=None).status
            assert won != u.OK or end == u.NO_MR, (won, end)
            assert ps(c)[c.proc]["regions"] == 0, (i, won, end)
            hog.wait(d)
            mine = hog.reg(hpd, 4096, va=1 << 41, shift=12)[0]
    finally:
        rig_params(rig, grace=GRACE_US)
        hog.close()
        c.close()


def test_waits_are_shared(rig):
    """One process cannot fill the places to wait."""
    hog, meek = rig.client(), rig.client()
    rig_params(rig, grace=LONG_US)
    try:
        pd, mpd = hog.pd(), meek.pd()
        fill_tlb(hog, pd)
        hog.frames(200, va=1 << 50)
        meek.frames(1)
        got = []
        while len(got) < 100 and u.WAIT_FULL not in got:
            got.append(hog.call(u.MR_REG, hog.reg_body(
                pd, 200 * 4096, va=1 << 50, flags=u.WAIT | u.ASYNC, shift=12),
                want=None).status)
        assert set(got) == {u.PENDING, u.WAIT_FULL} and len(got) < 20, got
        r = meek.call(u.MR_REG, meek.reg_body(mpd, 4096,
                                              flags=u.WAIT | u.ASYNC),
                      want=None)
        assert r.status in (u.OK, u.PENDING), r.status
    finally:
        rig_params(rig, grace=GRACE_US)
        hog.close()
        meek.close()


def test_notice_and_deadline(rig):
    """What is asked of it between is within T, however slow the machine is."""
    c = rig.client()
    rig_params(rig, grace=NOTICE_US)
    pd = c.pd()
    c.frames(8)
    mr, stag, _ = c.reg(pd, 8 * 4096, user=99)
    c.obj(u.EVICT, mr)
    up = c.upcall_of(u.UP_NOTICE)
    user, upstag, nseq, entries = struct.unpack_from("<IIII", up[3], 16)
    deadline = struct.unpack_from("<Q", up[3], 48)[0]
    assert (up[2], user, upstag, entries) == (mr, 99, stag, 8)
    assert deadline > 0
    assert ps(c)[c.proc]["pinned"] == 8
    r = c.call(u.RESYNC)
    row = struct.unpack_from("<6IQ", r.tail)
    assert row[0] == mr and row[4] == 3 and row[5] == nseq
    assert abs(row[6] - deadline) < NOTICE_US * 500
    up = c.upcall_of(u.UP_EVICTED)
    now = time.monotonic_ns()
    assert up[2] == mr and now >= deadline, "grace ended early"
    assert ps(c)[c.proc]["pinned"] == 0
    c.obj(u.MR_DEREG, mr)
    c.obj(u.MR_DEREG, mr, want=u.NO_MR)
    rig_params(rig, grace=GRACE_US)
    c.close()


def test_storm_of_notices(rig):
    """1,000 notices while the process reads nothing: one wake-up is there, the
    ring holds the last, the gap shows, RESYNC says what is true."""
    c = rig.client()
    pd = c.pd()
    c.frames(8)
    first = c.n
    for i in range(1000):
        mr = c.reg(pd, 4096, user=i)[0]
        c.obj(u.EVICT, mr)
        if i < 999:
            c.obj(u.MR_DEREG, mr)
    until("1,000 notices", lambda: struct.unpack_from(
        "<I", c.mem, 2 * 4096)[0] >= 1000)
    wakes = 0
    while select.select([c.upcall], [], [], 0)[0]:
        os.read(c.upcall, 8)
        wakes += 1
    assert wakes == 1, wakes
    seq = struct.unpack_from("<I", c.mem, 2 * 4096 + 64 + first % 63 * 64)[0]
    assert seq - (first + 1) > 0 and (seq - first - 1) % 63 == 0, seq
    r = c.call(u.RESYNC, struct.pack("<II", 0, 1))
    rows = list(struct.iter_unpack("<8I", r.tail))
    assert [x[1] for x in rows].count(1) == 1  # the PD
    regions = [x for x in rows if x[1] == 2]
    assert len(regions) == 1 and regions[0][0] == mr and regions[0][2] == 999
    assert regions[0][3] in (3, 4) and regions[0][5] == pd, regions
    assert r.get("III")[2] >= 1001
    c.close()


def test_release_and_offer(rig):
    c = rig.client()
    rig_params(rig, grace=LONG_US)
    pd = c.pd()
    c.frames(20)
    a = c.reg(pd, 8 * 4096)[0]
    b = c.reg(pd, 8 * 4096, va=u.VA0 + 8 * 4096)[0]
    small = c.reg(pd, 4096, va=u.VA0 + 16 * 4096)[0]
    c.obj(u.EVICT, a)
    up = c.upcall_of(u.UP_NOTICE)
    nseq = struct.unpack_from("<I", up[3], 24)[0]

    def answer(kind, offer=0, us=0, want=u.OK):
        return c.call(u.NOTICE_ANSWER, struct.pack("<5I", a, nseq, kind, offer,
                                                   us), want=want)

    r = answer(2, offer=small, want=u.REFUSED)
    assert r.get("I", 24)[0] == 1  # smaller
    answer(2, offer=12345, want=u.NO_MR)
    before = answer(3, us=5000).get("Q")[0]
    assert before > time.monotonic_ns()
    answer(2, offer=b)
    rows = {r[0]: r[4] for r in struct.iter_unpack(
        "<6IQ", c.call(u.RESYNC).tail)}
    assert rows[a] == 2 and rows[b] == 3, rows
    c.obj(u.MR_DEREG, b)
    assert ps(c)[c.proc]["pinned"] == 9
    rig_params(rig, grace=GRACE_US)
    c.close()


def fill_tlb(c, pd):
    """Take all entries that are left, in one region each."""
    got, va = [], 1 << 40
    for pages in (256, 64, 16, 4, 1):
        while c.frames(pages, va=va, want=None):  # else: none are left
            r = c.call(u.MR_REG, c.reg_body(pd, pages * 4096, va=va,
                                            shift=12), want=None)
            if r.status:
                assert r.status == u.TLB_FULL, r.status
                assert len(r.tail) == 64
                c.free_frames(pages, va=va)
                break
            got.append(r.get("I")[0])
            va += pages * 4096
    return got


def test_register_wait(rig):
    hog, meek = rig.client(name=b"hog"), rig.client(name=b"meek")
    pd = hog.pd()
    mine = fill_tlb(hog, pd)
    mpd = meek.pd()
    meek.frames(200)
    meek.reg(mpd, 64 * 4096, want=u.TLB_FULL)
    # synchronous: the reply comes when granted, after the hog's deadline
    start = time.monotonic()
    mr, stag, n = meek.reg(mpd, 64 * 4096, flags=u.WAIT)
    waited = time.monotonic() - start
    assert n == 64 and stag, (mr, stag, n)
    assert waited < 10, waited
    up = hog.upcall_of(u.UP_EVICTED)
    assert up[2] in mine
    # asynchronous: PENDING at once, then GRANTED
    body = meek.reg_body(mpd, 100 * 4096, flags=u.WAIT | u.ASYNC, user=31)
    r = meek.call(u.MR_REG, body, want=None)
    if r.status == u.PENDING:
        up = meek.upcall_of(u.UP_GRANTED)
        assert up[2] == r.get("I")[0]
        assert struct.unpack_from("<I", up[3], 16)[0] == 31
    # a huge one can never fit
    hog.close()
    meek.close()


def test_wait_cancel_and_timeout(rig):
    hog, meek = rig.client(name=b"hog"), rig.client(name=b"meek")
    rig_params(rig, grace=LONG_US)
    try:
        fill_tlb(hog, hog.pd())
        mpd = meek.pd()
        meek.frames(64)
        seq = meek.send(u.MR_REG, meek.reg_body(mpd, 64 * 4096, flags=u.WAIT))
        until("waiting", lambda: ps(meek)[meek.proc]["waits"] == 1)
        assert ps(meek)[meek.proc]["pinned"] == 0
        meek.obj(u.WAIT_CANCEL, seq)
        assert meek.wait(seq).status == u.CANCELLED
        meek.obj(u.WAIT_CANCEL, seq, want=u.NO_WAIT)
        seq = meek.send(u.MR_REG, meek.reg_body(mpd, 64 * 4096, flags=u.WAIT,
                                                timeout_us=50000))
        assert meek.wait(seq).status == u.TIMEOUT
        assert ps(meek)[meek.proc]["regions"] == 0
    finally:
        rig_params(rig, grace=GRACE_US)
        hog.close()
        meek.close()


def rig_params(rig, grace):
    rig.client(hello=False).call(u.PARAMS, struct.pack("<I", grace))


def test_kill_mid_notice(rig):
    """A killed process' entries come back; a waiter gets them."""
    def work(c):
        fill_tlb(c, c.pd())

    pid = child(rig, work)
    meek = rig.client()
    mpd = meek.pd()
    meek.frames(64)
    seq = meek.send(u.MR_REG, meek.reg_body(mpd, 64 * 4096, flags=u.WAIT))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert meek.wait(seq).status == u.OK
    meek.close()


def test_reset(rig):
    c = rig.client()
    pd = c.pd()
    c.frames(4)
    mr = c.reg(pd, 4096)[0]
    epoch = c.epoch
    rig.client(hello=False).call(u.RESET)
    c.upcall_of(u.UP_RESET)
    until("ready again", lambda: rig.client(hello=False).call(
        u.INFO).get("I", 40)[0] == 2)
    c.call(u.PD_ALLOC, want=u.STALE_EPOCH, epoch=epoch)
    c.obj(u.MR_DEREG, mr, want=u.NO_MR)
    assert ps(c)[c.proc]["pinned"] == 0 and ps(c)[c.proc]["frames"] == 4
    r = c.call(u.HELLO, struct.pack("<I", 1))
    for fd in r.fds:
        os.close(fd)
    assert r.epoch != epoch
    c.reg(c.pd(), 4096)
    c.close()


def stags(c):
    """Of all regions that the NIC has."""
    tail = c.call(u.DUMP, struct.pack("<II", 2, 0)).tail
    return [struct.unpack_from("<I", tail, at + 8)[0]
            for at in range(0, len(tail), 64)]


def test_reset_kept(rig):
    """Regions, a wait and queues outlive a reset of the NIC."""
    c = rig.client(flags=u.KEEP)
    pd = c.pd()
    rings, cq, qp, _ = queues(c, pd)
    va = u.VA0 + (1 << 21)
    c.frames(4, va=va)
    mr, stag, _ = c.reg(pd, 3 * 4096, va=va + 100)
    c.obj(u.MR_DEREG, c.reg(pd, 4096, va=va)[0])
    pinned, epoch = ps(c)[c.proc]["pinned"], c.epoch
    for _ in range(3):
        rig.client(hello=False).call(u.RESET)
        c.upcall_of(u.UP_RESET, match=lambda up: struct.unpack_from(
            "<I", up[3], 20)[0] == 2)
        c.call(u.PD_ALLOC, want=u.STALE_EPOCH, epoch=epoch)
        assert ps(c)[c.proc]["pinned"] == pinned
        assert stag in stags(c)
        state = c.obj(u.QP_QUERY, qp).get("I", 24)[0]
        assert state == 5, state  # ERR
        c.call(u.QP_MODIFY, struct.pack("<IB", qp, 1), want=u.STATE)
        c.call(u.QP_MODIFY, struct.pack("<IB", qp, 0))
        c.call(u.QP_MODIFY, struct.pack("<IB", qp, 1))
    c.obj(u.QP_DESTROY, qp)
    c.obj(u.CQ_DESTROY, cq)
    c.obj(u.MR_DEREG, rings)
    c.obj(u.MR_DEREG, mr)
    c.obj(u.PD_FREE, pd)
    assert ps(c)[c.proc]["pinned"] == 0
    c.close()


def test_driver_killed(rig):
    c = rig.client()
    c.frames(4)
    c.reg(c.pd(), 4096)
    epoch = c.epoch
    rig.driver.kill()
    rig.driver.wait()
    try:
        c.recv()
        raise AssertionError("no end of file")
    except (u.Gone, ConnectionResetError):
        pass
    rig.up()
    again = rig.client()
    assert again.epoch != epoch
    assert again.file != c.file or "--joint" in run_nic.bus_options(rig.board)
    c.close()
    again.frames(4)
    again.reg(again.pd(), 4096)
    again.close()


def test_driver_killed_kept(rig):
    """Regions, frames and a listener outlive kill -9 of the driver; nobody but
    their process gets them."""
    c = rig.client(flags=u.KEEP)
    plain = rig.client()
    pd = c.pd()
    rings, cq, qp, _ = queues(c, pd)
    va = u.VA0 + (1 << 21)
    c.frames(4, va=va)
    c.frames(16, 16, va=va + (1 << 20))
    mr, stag, _ = c.reg(pd, 3 * 4096, va=va + 100)
    gone, gone_stag, _ = c.reg(pd, 4096, va=va)
    c.obj(u.MR_DEREG, gone)
    c.call(u.LISTEN, struct.pack("<QI", 4711, 5))
    c.poke(va, b"still here")
    epoch, was = c.epoch, ps(c)[c.proc]
    for _ in range(2):
        rig.driver.kill()
        rig.driver.wait()
        rig.up()
        other = rig.client()  # a stranger, before the owner came back
        assert other.proc != c.proc
        other.close()
        assert c.resume(rig.sock) == 1
        assert c.epoch != epoch and c.peek(va, 10) == b"still here"
        up = c.upcall_of(u.UP_RESET)
        assert struct.unpack_from("<I", up[3], 20)[0] == 2
        for key in ("pid", "frames", "pinned", "regions"):
            assert ps(c)[c.proc][key] == was[key], key
        assert stag in stags(c) and gone_stag not in stags(c)
        c.frames(1, va=va, want=u.IN_USE)
        c.call(u.LISTEN, struct.pack("<QI", 4711, 5), want=u.IN_USE)
        assert c.obj(u.QP_QUERY, qp).get("I", 24)[0] == 5
    c.obj(u.QP_DESTROY, qp)
    c.obj(u.CQ_DESTROY, cq)
    c.obj(u.MR_DEREG, rings)
    c.obj(u.MR_DEREG, mr)
    c.obj(u.PD_FREE, pd)
    assert ps(c)[c.proc]["pinned"] == 0
    plain.close()
    c.close()


def survive(rig, how, plan):
    program = os.path.join(BIN, "survivor")
    with subprocess.Popen([program, rig.sock, how], text=True,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        try:
            said = p.stdout.readline()
            assert said == "ready\n", said
            for what in plan:
                if what == "reset":
                    rig.client(hello=False).call(u.RESET)
                else:
                    rig.driver.kill()
                    rig.driver.wait()
                    rig.up()
                p.stdin.write("\n")
                p.stdin.flush()
                said = p.stdout.readline()
                assert said == "ok\n", f"after {what}: {said}"
            p.stdin.close()
            assert p.stdout.readline() == "bye\n" and not p.wait(hosts.PATIENCE_S)
        finally:
            p.kill()


def test_survivor(rig):
    """libunic goes on after resets and kills: same region, same STag, what was
    posted ends once."""
    survive(rig, "still", ("reset", "kill", "reset", "kill", "kill"))


def test_survivor_moves(rig):
    """And its queues work again."""
    survive(rig, "move", ("reset", "reset"))


def test_away_ends_with_its_process(rig):
    """A process that dies while there is no driver leaves nothing."""
    out, pid_in = os.pipe()
    pid = os.fork()
    if not pid:
        c = u.Client(rig.sock, flags=u.KEEP)
        c.hello()
        c.frames(4)
        _, stag, _ = c.reg(c.pd(), 4096)
        os.write(pid_in, struct.pack("<I", stag))
        signal.pause()
    stag = struct.unpack("<I", os.read(out, 4))[0]
    rig.driver.kill()
    rig.driver.wait()
    rig.up()
    c = rig.client()
    assert stag in stags(c)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("its region is gone", lambda: stag not in stags(c))
    # our own, of a client without KEEP, may still be held: we live
    until("its slot is free",
          lambda: pid not in [p["pid"] for p in ps(c).values()
                              if p["state"] != 4])
    c.close()
    os.close(out)
    os.close(pid_in)


def test_nic_killed(rig):
    c = rig.client()
    c.frames(1)
    rig.nic.kill()
    rig.nic.wait()
    up = c.upcall_of(u.UP_RESET)
    assert struct.unpack_from("<I", up[3], 20)[0] == 0
    until("absent", lambda: c.call(u.INFO).get("I", 40)[0] == 0)
    c.call(u.PD_ALLOC, want=u.NO_NIC)
    rig.nic = rig.start(run_nic.command(rig.board, rig.dir, link="none"))
    until("back", lambda: c.call(u.INFO).get("I", 40)[0] == 2)
    c.reg(c.pd(), 4096)
    c.close()


# (first what needs slots that nobody had: with QEMU they go back to their user)
BOTH = [test_parked_descriptor, test_one_slot_per_process, test_frames_and_pins, test_large_pages, test_bad_requests,
        test_garbage, test_flood, test_kill_and_reuse,
        test_stopped_keeps_memory, test_same_process_again, test_duplicate_start,
        test_admin, test_child_keeps_memory,
        test_descriptors_go_with_the_process,
        test_old_memory_is_not_zeroed,
        test_broken_descriptors, test_doorbell_is_ones_own,
        test_descriptor_that_lingers,
        test_connections_per_user, test_shares,
        test_duplicate_start_of_stopped]
LOOP = [test_connect_and_move, test_refused_connections, test_survivor_moves,
        test_no_datagrams]
NIC = [test_bad_doorbell, test_notice_and_deadline, test_storm_of_notices,
       test_release_and_offer, test_register_wait, test_reset_kept,
       test_wait_cancel_and_timeout, test_kill_mid_notice, test_reset,
       test_cancel_races_grant, test_waits_are_shared, test_driver_killed,
       test_driver_killed_kept, test_away_ends_with_its_process,
       test_survivor,
       test_nic_killed]
SOFT = [test_new_memory_waits_for_the_nic, test_slots_kept_for_their_user]
VIRT = [test_slots_go_back_when_the_nic_left]


def test_joint_is_our_own(rig):
    """Slots are apart in one file; who may have it all is our own user only."""
    def body():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(rig.sock)
        except PermissionError:
            return 1
        return 0

    clients = [rig.client() for _ in range(3)]
    files = set()
    for k, c in enumerate(clients):
        c.mem[32768:36864] = bytes([k + 1]) * 4096
        files.add(c.file)
    assert len(files) == 1, files
    for k, c in enumerate(clients):
        assert c.mem[32768:36864] == bytes([k + 1]) * 4096
        c.close()
    if os.geteuid() == 0:
        assert as_nobody(rig, body) == 1


# A board whose slots are small (509 frames), and parts of one file.
JOINT = [test_joint_is_our_own]
NOT_JOINT = [test_large_pages, test_parked_descriptor, test_one_slot_per_process,
             test_connections_per_user, test_cancel_races_grant]


def run(label, tests, board):
    failed = 0
    rig = Rig(board)
    try:
        for t in tests:
            name = f"{label} {t.__name__[5:]}"
            try:
                t(rig)
                print(f"ok      {name}", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED  {name}: {type(e).__name__} {e}", flush=True)
                if os.environ.get("VERBOSE"):
                    traceback.print_exc()
                    print(rig.text()[-3000:])
                rig.down()
                rig = Rig(board)
        rig.driver.send_signal(signal.SIGTERM)
        if rig.driver.wait(hosts.PATIENCE_S) or os.path.exists(rig.sock):
            failed += 1
            print(f"FAILED  {label} clean end", rig.text()[-2000:])
    finally:
        rig.down()
    return failed


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--only")
    opt = ap.parse_args()

    def pick(tests):
        return [t for t in tests if not opt.only or opt.only in t.__name__]

    loop = pick(BOTH + LOOP)
    failed = run("loop", loop, None) if loop else 0
    total = len(loop) + bool(loop)  # each ends cleanly, too
    if opt.board != "none":
        joint = "--joint" in run_nic.bus_options(opt.board)
        nic = pick({"soft": SOFT, "virt": VIRT}.get(opt.board, []) +
                   [t for t in BOTH + NIC if not joint or t not in NOT_JOINT] +
                   (JOINT if joint else []))
        failed += run(opt.board, nic, opt.board) if nic else 0
        total += len(nic) + bool(nic)
    print(f"{total - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
