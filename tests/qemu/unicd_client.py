# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A process of unicd, in Python: the protocol of abi/unic_ctl.h, byte by byte,
sharing no code with libunic."""
import array
import mmap
import os
import random
import select
import socket
import struct
import threading
import time

REC, MAX = 64, 8192
PATIENCE_S = 60  # for what takes milliseconds
HDR = struct.Struct("<HHIII")  # op, status, seq, epoch, tail_bytes
HELLO, FRAMES_ALLOC, FRAMES_FREE, PD_ALLOC, PD_FREE = 1, 2, 3, 4, 5
MR_REG, MR_DEREG, WAIT_CANCEL, NOTICE_ANSWER, RESYNC, USAGE = 8, 9, 10, 11, 12, 13
TOKEN_ALLOC, TOKEN_CANCEL = 16, 17
CQ_CREATE, CQ_DESTROY, QP_CREATE, QP_MODIFY, QP_DESTROY = 20, 21, 22, 23, 24
QP_QUERY, KEEP, RESUME = 25, 1, 2
LISTEN, UNLISTEN, CONNECT, ACCEPT, REJECT, DISCONNECT, CONN_QUERY = range(28, 35)
CM_CONNECT, CM_ACCEPT, CM_REJECT, CM_DISCONNECT, CM_QUERY, CM_FREE = range(38, 44)
INFO, STATS, DUMP, PS, TRACE, CRASH = range(64, 70)
NICS, SELECT = 71, 73
FAULT, PARAMS, POLICY, EVICT, TRACE_MASK, RESET = range(80, 86)

GRACE_MEANT = 1 << 3  # UNIC_PARAM_GRACE: a T of 0 is one

OK, PENDING, BAD_OPCODE, STALE_EPOCH, INVALID = 0, 1, 2, 3, 4
NO_PD, NO_MR, NO_QP, NO_WAIT, BUSY = 6, 7, 9, 11, 12
TLB_FULL, WAIT_FULL, QUOTA, TOO_LARGE = 13, 19, 20, 21
STATE, EVICTED, CANCELLED, TIMEOUT, REFUSED = 22, 25, 28, 29, 30
(NO_HELLO, NO_SLOT, NO_NIC, WAS_RESET, NO_FRAMES, NOT_MAPPED, NOT_ALIGNED,
 TOO_MANY, NO_MEMORY, PERMISSION, NO_CONN, IN_USE, UNREACHABLE,
 REJECTED, UNSUPPORTED) = range(64, 79)
NO_SUCH_NIC = 82

LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE = 1, 2, 4
RDMA, MESSAGING, CONTROL = 0, 1, 2
WAIT, ASYNC = 1, 2
(UP_NOTICE, UP_EVICTED, UP_GRANTED, UP_WAIT_ENDED, UP_QP_ERROR, UP_CQ_ERROR,
 UP_TOKEN_END, UP_CONN_REQUEST, UP_ESTABLISHED, UP_DISCONNECTED,
 UP_RESET, UP_DB_ERROR, UP_INVALIDATE, UP_IDLE) = range(1, 15)
UPCALLS = 63
VA0 = 0x700000000000


class Gone(Exception):
    """The driver ended the connection."""


class Reply:
    def __init__(self, data, fds):
        (self.op, self.status, self.seq, self.epoch,
         self.tail_bytes) = HDR.unpack_from(data)
        self.body, self.tail, self.fds = data[HDR.size:REC], data[REC:], fds
        assert len(self.tail) == self.tail_bytes and len(data) >= REC

    def get(self, fmt, at=16):
        return struct.unpack_from("<" + fmt, self.body, at - HDR.size)


class Client:
    def __init__(self, path, name=b"test", flags=0):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(path)
        self.name, self.seq, self.early = name, 0, {}
        self.flags = flags
        self.mem = None

    def resume(self, path):
        """After a restart of the driver: get the slot back as it is."""
        self.sock.close()
        self.early = {}
        mem, n, page, slot = self.mem, self.n, self.page, self.proc
        for fd in (self.doorbell, self.event, self.upcall):
            os.close(fd)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(path)
        self.flags |= RESUME
        r = self.hello()
        resumed = r.get("B", 61)[0]
        if resumed:
            assert self.proc == slot
            self.mem.close()
            self.mem, self.n, self.page = mem, n, page
        return resumed

    def close(self):
        """Leave, and drop the memory: a slot that is still mapped is kept."""
        self.sock.close()
        if self.mem is not None:
            self.mem.close()
            for fd in (self.doorbell, self.event, self.upcall):
                os.close(fd)
            self.mem = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, op, body=b"", tail=b"", epoch=0):
        self.seq += 1
        head = HDR.pack(op, 0, self.seq, epoch, len(tail))
        self.sock.send((head + body).ljust(REC, b"\0") + tail)
        return self.seq

    def recv(self):
        anc = socket.CMSG_SPACE(16)
        data, cmsgs, _, _ = self.sock.recvmsg(MAX, anc)
        if not data:
            raise Gone
        fds = array.array("i")
        for _, _, raw in cmsgs:
            fds.frombytes(raw[:len(raw) - len(raw) % 4])
        return Reply(data, list(fds))

    def wait(self, seq):
        while seq not in self.early:
            r = self.recv()
            self.early[r.seq] = r
        return self.early.pop(seq)

    def call(self, op, body=b"", tail=b"", want=OK, epoch=0):
        r = self.wait(self.send(op, body, tail, epoch))
        assert r.op == op
        if want is not None:
            assert r.status == want, f"op {op}: status {r.status}, not {want}"
        return r

    def select(self, nic, want=OK):
        """Be with the NIC of this name (bytes) or number."""
        number, name = (0, nic) if isinstance(nic, bytes) else (nic, b"")
        return self.call(SELECT, struct.pack("<II16s", number, 0, name),
                         want=want)

    def hello(self, want=OK):
        body = struct.pack("<II16sIII", 1, 0, self.name, 0, self.flags,
                           self.proc if self.flags & RESUME else 0)
        r = self.call(HELLO, body, want=None)
        # A slot comes free a while after its process left it; a driver that did not
        # get to run within H resets its NIC.
        until = time.monotonic() + PATIENCE_S
        while (want == OK and r.status in (NO_SLOT, NO_NIC) and
               time.monotonic() < until):
            time.sleep(0.01)
            r = self.call(HELLO, body, want=None)
        assert r.status == want, f"hello: status {r.status}, not {want}"
        if want != OK:
            return r
        self.slot_bytes, self.proc = r.get("QI")
        self.epoch = r.epoch
        memfd, self.doorbell, self.event, self.upcall = r.fds
        self.mem = mmap.mmap(memfd, self.slot_bytes,
                             offset=r.get("H", 62)[0] << 16)
        self.file = os.fstat(memfd).st_ino
        os.close(memfd)
        self.n, self.page = 0, {}
        return r

    # --- memory

    def frames(self, pages, shift=12, va=VA0, want=OK):
        r = self.call(FRAMES_ALLOC, struct.pack("<QIB", va, pages, shift),
                      want=want)
        runs = [f for (f,) in struct.iter_unpack("<I", r.tail)]
        n = 1 << (shift - 12)
        for i, first in enumerate(runs):
            for k in range(n):
                self.page[(va >> 12) + i * n + k] = first + k
        return runs

    def free_frames(self, pages, va=VA0, want=OK):
        self.call(FRAMES_FREE, struct.pack("<QI", va, pages), want=want)

    def at(self, va):
        return self.page[va >> 12] * 4096 + va % 4096

    def poke(self, va, data):
        while data:
            n = min(len(data), 4096 - va % 4096)
            self.mem[self.at(va):self.at(va) + n] = data[:n]
            va, data = va + n, data[n:]

    def peek(self, va, n):
        out = b""
        while n:
            m = min(n, 4096 - va % 4096)
            out += self.mem[self.at(va):self.at(va) + m]
            va, n = va + m, n - m
        return out

    # --- objects

    def pd(self):
        return self.call(PD_ALLOC).get("I")[0]

    def reg_body(self, pd, length, va=VA0, iova=None, rights=7, cls=RDMA,
                 shift=0, flags=0, timeout_us=0, user=0):
        return struct.pack("<QQQIII6B", va, va if iova is None else iova,
                           length, pd, timeout_us, user, rights, cls, shift,
                           0x5a, 0, flags)

    def reg(self, pd, length, want=OK, **kw):
        """Returns (id, stag, entries)."""
        return self.call(MR_REG, self.reg_body(pd, length, **kw),
                         want=want).get("III")

    def obj(self, op, ident, want=OK):
        return self.call(op, struct.pack("<I", ident), want=want)

    # --- upcalls

    def upcalls(self, timeout=PATIENCE_S):
        """Wait for upcalls; returns them as (type, reason, id, bytes)."""
        out = []
        if not select.select([self.upcall], [], [], timeout)[0]:
            return out
        os.read(self.upcall, 8)
        while True:
            at = 2 * 4096 + 64 + self.n % UPCALLS * 64
            rec = self.mem[at:at + 64]
            seq, kind, reason, _, epoch, ident = struct.unpack_from("<IBBHII",
                                                                    rec)
            if seq != self.n + 1:
                assert (seq - self.n - 1) & 0x80000000 or not seq, "overrun"
                return out
            self.n += 1
            out.append((kind, reason, ident, rec))

    def upcall_of(self, kind, timeout=PATIENCE_S, match=lambda up: True):
        """Return the first upcall that matches; others read with it are dropped."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for up in self.upcalls(end - time.monotonic()):
                if up[0] == kind and match(up):
                    return up
        raise AssertionError(f"no upcall of type {kind} in {timeout} s")


class Evictor(threading.Thread):
    """An administrator who asks any region of a host back, again and again."""

    YOUNG = 64  # newest ids: one of a region that comes and goes is likely
    OLD = 512  # ... and one of a region that stays
    NEXT = 16  # ids given before the next look, on a busy machine
    LOOK_S = 0.05  # between ids of its own, which push live ones out of YOUNG
    QUIET_S = 1  # without a region, before it looks among older ids

    def __init__(self, path, ids=YOUNG):
        super().__init__(daemon=True)
        self.ids = ids
        self.client = Client(path, b"evictor")
        self.client.hello()
        self.over, self.evicted = False, 0

    def run(self):
        rng = random.Random(1)
        look, ids = 0, self.ids
        quiet = time.monotonic() + self.QUIET_S
        while not self.over:
            before = self.evicted
            if time.monotonic() >= look:
                last = self.client.pd()  # ids are given one after the other
                self.client.obj(PD_FREE, last)
                look = time.monotonic() + self.LOOK_S
            for _ in range(8):
                ident = last + self.NEXT - rng.randrange(ids + self.NEXT)
                self.evicted += self.client.obj(EVICT, ident,
                                                want=None).status == OK
            if self.evicted > before:
                ids, quiet = self.ids, time.monotonic() + self.QUIET_S
            elif time.monotonic() > quiet:
                ids, quiet = min(2 * ids, last), time.monotonic() + self.QUIET_S
            time.sleep(0.002)

    def end(self):
        self.over = True
        self.join(timeout=PATIENCE_S)
        self.client.close()


def set_grace(rig, grace_us):
    """Sets T of both hosts of @rig."""
    for host in (0, 1):
        with Client(rig.socket(host)) as admin:
            admin.call(PARAMS, struct.pack("<8I", grace_us, 0, 0, 0, 0, 0, 0,
                                           GRACE_MEANT))
        assert rig.ctl(host, "info")["grace_us"] == grace_us
