#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unicd end to end, with the loop-back provider, and with unic-bus and a NIC:
requests, doorbells, connections, shares, and who may do what.

    test_unicd.py [--board soft|virt|none]
"""
import contextlib
import fcntl
import json
import os
import random
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

from unicd_rig import (BIN, CQ, RQ, SQ, UNICD, as_nobody, main, ps, queues,
                       until)
import dumps
import hosts
import run_nic
import unicd_client as u


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
                    continue  # FAULT breaks the driver on purpose
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
    """A process that never reads replies blocks no other: unicd neither reads nor
    executes its requests meanwhile. Its replies come in order."""
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
    # on a busy machine even a driver that spins gets a few percent only
    used = [spent(rig.driver.pid, 1)]
    while used[-1] > 0.03 and len(used) < 5:
        used.append(spent(rig.driver.pid, 1))
    assert used[-1] <= 0.03, f"{used} s of 1"
    c.sock.setblocking(True)
    got = [u.HDR.unpack_from(c.sock.recv(u.MAX))[2] for _ in sent]
    assert got == sorted(got), "one overtook another"
    c.close()


def spent(pid, seconds):
    """Processor time that a process uses in the next @seconds."""
    def now():
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    begun = now()
    time.sleep(seconds)
    return now() - begun


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
        pass  # full: it will ring


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
    # without a message it would take 8 s
    assert time.monotonic() - start < 4, "it was not told so"
    a.close()
    b.close()


def test_no_datagrams(rig):
    """The loop provider has queue pairs of RC only, and refuses others."""
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


def is_joint(rig):
    """True if all slots of the NIC's host are one memory."""
    return rig.board and "--joint" in run_nic.bus_options(rig.board)


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
        """The number of these requests that user nobody may send."""
        mine = rig.client()
        mine.call(u.INFO)
        return sum(mine.call(op, want=None).status != u.PERMISSION
                   for op in (u.TRACE, u.CRASH, u.DUMP, u.FAULT, u.PARAMS,
                              u.POLICY, u.EVICT, u.TRACE_MASK, u.RESET))
    if os.geteuid() == 0 and not is_joint(rig):
        assert as_nobody(rig, body) == 0


DUMPS = 30


def churn(client, over):
    """Regions and tokens of a process come and go, until @over is set: of at most 101 pages,
    so that two fit the smallest table."""
    pd = client.pd()
    client.frames(101)
    pages = 1
    while not over.is_set():
        pages = pages * 7 % 101 + 1
        mr = client.reg(pd, pages * 4096)[0]
        tokens = [client.call(u.TOKEN_ALLOC, struct.pack(
            "<QIIIIII", u.VA0, mr, 100, ttl, 0, 0, 0)).get("I", 24)[0]
            for ttl in (0, 0, 1000)]
        client.obj(u.TOKEN_CANCEL, tokens[0])
        client.obj(u.MR_DEREG, mr)


def test_dump_of_one_instant(rig):
    """A snapshot stays what it was, and there is one at a time."""
    c, other = rig.client(), rig.client()
    pd = c.pd()
    c.frames(200)
    mr = c.reg(pd, 200 * 4096)[0]
    r = c.call(u.DUMP, struct.pack("<III", 1, 0, dumps.TAKE))
    assert len(r.tail) == 64 * 64, len(r.tail)
    number = r.get("I", 24)[0]
    before = dumps.rows(c, 1, number)[0]
    c.obj(u.MR_DEREG, mr)
    assert dumps.rows(c, 1, number)[0] == before
    assert len(dumps.rows(c, 1, 0)[0]) < len(before)
    c.call(u.DUMP, struct.pack("<III", 1, len(before), number), want=u.INVALID)
    c.call(u.DUMP, struct.pack("<III", 1, 1, dumps.TAKE), want=u.INVALID)
    time.sleep(0.05)
    dumps.rows(other, 1, dumps.TAKE)
    c.call(u.DUMP, struct.pack("<III", 1, 0, number), want=u.EVICTED)
    if not is_joint(rig):  # whose slots are for no other user
        assert as_nobody(rig, lambda: dumps.refused(rig.sock)) == 0
    c.close()
    other.close()


def test_dumps_agree(rig):
    """In each of many dumps all tables are of one instant, while regions and tokens of
    two processes come and go between its commands."""
    over = threading.Event()
    clients = [rig.client(), rig.client()]
    threads = [threading.Thread(target=churn, args=(c, over)) for c in clients]
    for t in threads:
        t.start()
    seen = set()
    try:
        for _ in range(DUMPS):
            tables = dumps.take(rig.sock)
            assert tables["consistent"], tables
            dumps.agree(tables)
            seen.add(len(tables["tlb"]))
        assert all(t.is_alive() for t in threads)
    finally:
        over.set()
        for t in threads:
            t.join()
    assert len(seen) > 1, seen
    for c in clients:
        c.close()


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
    """Write as much as the other side of a doorbell takes."""
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
    """A doorbell that names no queue is reported to its process, and to no other."""
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
    """Changes of a process to its descriptors do not affect other processes."""
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
        time.sleep(0.3)  # some may end later
        return len(got) - len(ended.poll(0))

    if os.geteuid() == 0:
        n = as_nobody(rig, body)
        assert n == 32, n
        assert rig.text().count("turned away") < 5, "log filled"
        rig.client(hello=False).call(u.INFO)


def served(client):
    """True if unicd answers; False: it has turned the client away."""
    try:
        return client.call(u.INFO).status == u.OK
    except (ConnectionError, u.Gone):
        return False


@contextlib.contextmanager
def user(uid):
    """Connections are those of user @uid."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(os.getuid())


def test_closed_ones_do_not_count(rig):
    """Who closes its connections and connects again is served, however late
    unicd sees that they were closed."""
    def all_at_once(limit, uid):
        clients = []
        with user(uid):
            for _ in range(limit):
                clients.append(u.Client(rig.sock))
                assert served(clients[-1]), "turned away below the limit"
        rig.driver.send_signal(signal.SIGSTOP)
        try:
            with user(uid):
                late = u.Client(rig.sock)
            for c in clients:
                c.close()
        finally:
            rig.driver.send_signal(signal.SIGCONT)
        with late:
            return served(late)

    assert all_at_once(128, os.geteuid()), "turned away"
    # joint memory keeps other users out
    if os.geteuid() == 0 and stat.S_IMODE(os.stat(rig.sock).st_mode) & 0o002:
        os.chmod(rig.dir, 0o755)
        assert all_at_once(32, 65534), "turned away, another user"


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


TESTS = dict(
    # test_admin needs a slot for another user: where a slot goes back only to
    # the user that had it, later tests leave none
    both=[test_frames_and_pins, test_admin, test_large_pages, test_bad_requests,
          test_garbage, test_flood, test_duplicate_start,
          test_broken_descriptors, test_doorbell_is_ones_own,
          test_connections_per_user, test_closed_ones_do_not_count, test_shares,
          test_duplicate_start_of_stopped],
    loop=[test_connect_and_move, test_refused_connections, test_no_datagrams],
    nic=[test_bad_doorbell, test_dump_of_one_instant, test_dumps_agree],
    # not where slots are small (509 frames), and parts of one file
    not_joint=[test_large_pages, test_connections_per_user])


if __name__ == "__main__":
    sys.exit(main(__doc__, **TESTS))
