# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A process of a unic host, without its library: a client of the control
socket (SPEC "Control") with its memory and queues (SPEC "Queues")."""

import os
import socket
import struct
import subprocess
import sys
import time

import records
from memory import Mapping, Slot
from names import (COUNTERS, DB_ROWS, FRAMES_MAX, PAGE, RECORD, UPCALLS,
                   VERSION, Answer, Class, Op, Qpt, Reg, Rights, St, Up)
from queues import Cq, Qp, SGE, sge

MESSAGE_MAX = 65856         # record and tail of the longest reply (KIO)


class Refused(Exception):
    """A request was answered with another status than OK."""

    def __init__(self, reply):
        super().__init__(f'{reply.name}: {reply.status.name}')
        self.reply = reply
        self.status = reply.status


class Gone(Exception):
    """The driver ended the connection."""


class Late(Exception):
    """No reply in time."""


class Reply:
    """A reply: members of its struct as attributes, `tail`, `fds`."""

    def __init__(self, data, fds=()):
        self.data, self.fds = data, list(fds)
        (self.op, status, self.seq, self.epoch,
         self.tail_bytes) = records.HEADER.unpack_from(data)
        self.status = known(St, status)
        self.name = known(Op, self.op).name
        self.body = data[16:RECORD]
        self.tail = data[RECORD:]
        layout = records.REPLIES.get(self.op)
        for name, value in (layout.unpack(data) if layout else {}).items():
            setattr(self, name, value)

    @property
    def usage(self):
        """The struct unic_cpl_usage in the tail of a refusal."""
        return records.USAGE.unpack(self.tail)


class Unknown(int):
    """A number that its enum does not have."""
    name = 'unknown'


def known(enum, value):
    """`value` as a member of `enum`, or an Unknown."""
    try:
        return enum(value)
    except ValueError:
        return Unknown(value)


class Upcall:
    """A record of the upcall ring: members as attributes."""

    def __init__(self, data):
        self.data = data
        (self.seq, kind, self.reason, self.epoch,
         self.id) = records.UPCALL.unpack_from(data)
        self.type = known(Up, kind)
        layout = records.UPCALLS.get(kind)
        for name, value in (layout.unpack(data) if layout else {}).items():
            setattr(self, name, value)

    def __repr__(self):
        return f'{self.type.name} id {self.id:#x}'


class Region:
    """A region, and the memory under it: `view` is a memoryview."""

    def __init__(self, process, memory, reply, pd, offset, length):
        self.process, self.memory, self.pd = process, memory, pd
        self.id, self.stag, self.iova = reply.id, reply.stag, reply.iova
        self.entries, self.length = reply.entries, length
        self.page_shift, self.waited_us = reply.page_shift, reply.waited_us
        self.view = memory.view[offset:offset + length]

    def sge(self, offset=0, length=None):
        """An SGE of a part of it."""
        return sge(self, offset, length)

    def fill(self, data, offset=0):
        """Writes bytes."""
        self.view[offset:offset + len(data)] = data

    def bytes(self, offset=0, length=None):
        """Reads bytes."""
        end = self.length if length is None else offset + length
        return bytes(self.view[offset:end])

    def dereg(self, within=5.0, free=True):
        """MR_DEREG (as an answer to a notice: RELEASE), then its frames."""
        self.process.must(Op.MR_DEREG, id=self.id, within=within)
        if free:
            self.memory.free()


class Frames:
    """Memory of FRAMES_ALLOC: `va`, `length`, `view`."""

    def __init__(self, process, mapping, page_shift):
        self.process, self.mapping, self.shift = process, mapping, page_shift
        self.va, self.length = mapping.address, mapping.length
        self.view = mapping.view()

    def free(self):
        """FRAMES_FREE; the view must not be touched after it."""
        self.process.must(Op.FRAMES_FREE, va=self.va,
                          pages=self.length // PAGE)
        self.process.slot.frames.remove(self.mapping)
        self.mapping.unmap()


class Rings:
    """A region of class control that is handed out in pieces."""

    PIECE = 256             # bytes

    def __init__(self, process, length):
        self.region = process.region(
            length, Rights.LOCAL_WRITE, Class.CONTROL,
            flags=Reg.WAIT | Reg.RANDOM)
        self.free = [True] * (length // self.PIECE)

    def take(self, length):
        """The offset of a free, zeroed range, aligned to PIECE."""
        count = -(-length // self.PIECE)
        for first in range(len(self.free) - count + 1):
            if all(self.free[first:first + count]):
                self.free[first:first + count] = [False] * count
                at = first * self.PIECE
                self.region.view[at:at + length] = bytes(length)
                return at
        raise MemoryError('rings: no room')

    def give(self, at, length):
        """Gives a range back."""
        first, count = at // self.PIECE, -(-length // self.PIECE)
        self.free[first:first + count] = [True] * count


class Process:
    """One connection to the control socket, and what was made over it."""

    def __init__(self, path, uid=None, apart=True, timeout=5.0):
        """Connects. With `uid`, as another user: the driver looks at the
        credentials of the moment of connect(2). `apart`: as another process,
        too, which HELLO needs."""
        self.path, self.timeout = path, timeout
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.child = None
        if uid is None:
            self.socket.connect(path)
        elif apart:
            self._connect_as(uid)
        else:
            os.seteuid(uid)
            try:
                self.socket.connect(path)
            finally:
                os.seteuid(0)
        self.next_seq = 0
        self.replies = {}
        self.slot = self.hello_reply = None
        self._rings = self._pd = None
        self.next_upcall, self.lost, self.seen = 0, 0, []
        self.cq_rows, self.qp_rows = set(range(DB_ROWS)), set(range(DB_ROWS))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _connect_as(self, uid):
        """A process of that user connects our socket, and lives as long as
        we use it: the slot is that of the process that connected."""
        code = ('import os, socket, sys; n, uid = map(int, sys.argv[1:3]); '
                's = socket.socket(fileno=n); os.setgroups([]); '
                'os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid); '
                's.connect(sys.argv[3]); print(flush=True); s.close(); '
                'sys.stdin.read()')
        number = self.socket.fileno()
        self.child = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', code, str(number), str(uid),
             self.path], pass_fds=[number], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if not self.child.stdout.readline():
            self.close()
            raise ConnectionRefusedError(f'uid {uid} cannot connect')

    def close(self):
        """Ends the connection: all objects end. Unmaps the slot."""
        self.socket.close()
        if self.child:
            self.child.communicate()
            self.child = None
        if self.slot:
            self.slot.close()
            self.slot = None

    # requests and replies

    def raw(self, data):
        """Sends any bytes as one datagram."""
        self.socket.send(data)

    def send(self, op, epoch=0, tail=b'', **members):
        """Sends a request and does not wait: its `seq`."""
        self.next_seq += 1
        self.raw(records.request(op, self.next_seq, epoch, tail, **members))
        return self.next_seq

    def receive(self, timeout):
        """The next datagram as a Reply; Late, or Gone at end of file."""
        self.socket.settimeout(max(timeout, 0.0001))
        try:
            data, fds, _, _ = socket.recv_fds(self.socket, MESSAGE_MAX, 4)
        except (TimeoutError, BlockingIOError):
            raise Late() from None
        except ConnectionError:
            raise Gone() from None
        if not data:
            raise Gone()
        return Reply(data, fds)

    def wait(self, seq, timeout=None):
        """The reply of request `seq`; others are kept for their turn."""
        end = time.monotonic() + (self.timeout if timeout is None
                                  else timeout)
        while seq not in self.replies:
            reply = self.receive(end - time.monotonic())
            self.replies[reply.seq] = reply
        return self.replies.pop(seq)

    def answered(self, seq):
        """Whether request `seq` has its reply already."""
        try:
            self.replies[seq] = self.wait(seq, 0)
        except Late:
            return False
        return True

    def call(self, op, epoch=0, tail=b'', within=None, **members):
        """Sends a request and returns its Reply, whatever the status. Late
        if it does not come `within` seconds."""
        return self.wait(self.send(op, epoch, tail, **members), within)

    def must(self, op, epoch=0, tail=b'', within=None, **members):
        """As call(), but Refused unless the status is OK."""
        reply = self.call(op, epoch, tail, within, **members)
        if reply.status != St.OK:
            raise Refused(reply)
        return reply

    # slot and memory

    def hello(self, version=VERSION, name=b'peer', **members):
        """HELLO; maps the slot. Refused if there is none."""
        reply = self.must(Op.HELLO, version=version, name=name, **members)
        if self.slot:
            for fd in reply.fds:
                os.close(fd)
        else:
            self.slot = Slot(reply, reply.fds)
        self.hello_reply = reply
        return reply

    def frames(self, length, page_shift=12):
        """FRAMES_ALLOC of `length` bytes, mapped in one piece."""
        run = 1 << page_shift
        length = -(-length // run) * run
        mapping = Mapping(length, run)
        step = FRAMES_MAX * run
        for at in range(0, length, step):
            part = min(step, length - at)
            reply = self.must(Op.FRAMES_ALLOC, va=mapping.address + at,
                              pages=part // PAGE, page_shift=page_shift)
            pages = struct.unpack(f'<{len(reply.tail) // 4}I', reply.tail)
            for number, page in enumerate(pages):
                mapping.map(at + number * run, run, self.slot.file,
                            self.slot.at + page * PAGE, True)
        self.slot.frames.append(mapping)
        return Frames(self, mapping, page_shift)

    def pd(self):
        """PD_ALLOC: the id of a new protection domain."""
        return self.must(Op.PD_ALLOC).id

    @property
    def domain(self):
        """The domain of all that is made without naming another."""
        if self._pd is None:
            self._pd = self.pd()
        return self._pd

    def region(self, length, rights=Rights.ALL, mr_class=Class.RDMA, *,
               pd=None, flags=Reg.RANDOM, frame_shift=12, within=None,
               **more):
        """Frames and a region over all of them: MR_REG. `more` are members
        of the request: key, iova, timeout_us, residency, page_shift ..."""
        memory = self.frames(length, frame_shift)
        try:
            return self.register(memory, 0, length, rights, mr_class, pd=pd,
                                 flags=flags, within=within, **more)
        except Refused:
            memory.free()
            raise

    def register(self, memory, offset, length, rights=Rights.ALL,
                 mr_class=Class.RDMA, *, pd=None, flags=Reg.RANDOM,
                 within=None, **more):
        """MR_REG of a part of frames that there are."""
        pd = self.domain if pd is None else pd
        reply = self.must(Op.MR_REG, va=memory.va + offset, length=length,
                          pd=pd, rights=rights, mr_class=mr_class,
                          flags=flags, within=within, **more)
        return Region(self, memory, reply, pd, offset, length)

    def register_later(self, memory, length, **more):
        """Sends an MR_REG with WAIT: its seq. See granted()."""
        more.setdefault('flags', Reg.WAIT | Reg.RANDOM)
        more.setdefault('rights', Rights.ALL)
        return self.send(Op.MR_REG, va=memory.va, length=length,
                         pd=self.domain, **more)

    def granted(self, seq, memory, length, timeout=None):
        """The region of a register_later() that was answered OK."""
        reply = self.wait(seq, timeout)
        if reply.status != St.OK:
            raise Refused(reply)
        return Region(self, memory, reply, self.domain, 0, length)

    @property
    def rings(self):
        """Where rings lie: a control region of the default domain."""
        if self._rings is None:
            self._rings = Rings(self, 16 * PAGE)
        return self._rings

    # queues and tokens

    def cq(self, entries=64, row=None, user=0):
        """CQ_CREATE in the next free row."""
        row = min(self.cq_rows) if row is None else row
        made = Cq(self, entries, row, user)
        self.cq_rows.discard(row)
        return made

    def qp(self, qpt=Qpt.RC, send_cq=None, recv_cq=None, *, row=None,
           **more):
        """QP_CREATE in the next free row; state RESET."""
        row = min(self.qp_rows) if row is None else row
        made = Qp(self, row, qpt, send_cq, recv_cq, **more)
        self.qp_rows.discard(row)
        return made

    def token_alloc(self, region, offset=0, length=None, **more):
        """TOKEN_ALLOC: a reply with `id`, `index` and `key`. `more`: ttl_us,
        sender_ipv4, sender_qpn, user, flags."""
        length = region.length - offset if length is None else length
        return self.must(Op.TOKEN_ALLOC, iova=region.iova + offset,
                         mr=region.id, length=length, **more)

    def token_cancel(self, token_id):
        """TOKEN_CANCEL: `end` and `placed`."""
        return self.must(Op.TOKEN_CANCEL, id=token_id)

    # notices

    def answer(self, notice, answer, **more):
        """NOTICE_ANSWER to an upcall NOTICE; any status. `more`: offer_id,
        extend_us."""
        return self.call(Op.NOTICE_ANSWER, id=notice.id,
                         notice_seq=notice.notice_seq, answer=answer, **more)

    def release(self, notice):
        """Answers RELEASE; Refused if it was not OK."""
        reply = self.answer(notice, Answer.RELEASE)
        if reply.status != St.OK:
            raise Refused(reply)
        return reply

    # upcalls

    def upcalls(self):
        """Reads the ring ("Upcalls"): the new records. Lost ones count in
        `lost`, and RESYNC says where to go on."""
        self._drain(self.slot.upcall_fd)
        found = []
        while True:
            at = 16 + self.next_upcall % UPCALLS * (RECORD // 4)
            due = (self.next_upcall + 1) & 0xffffffff
            seq = self.slot.upcalls[at]
            data = bytes(self.slot.upcall_bytes[4 * at:4 * at + RECORD])
            ahead = (seq - due) & 0xffffffff
            if 0 < ahead < 1 << 31 or (
                    ahead == 0 and self.slot.upcalls[at] != seq):
                self.lost += 1
                self.next_upcall = self.resync().next_seq - 1
            elif ahead:
                return found
            else:
                found.append(Upcall(data))
                self.next_upcall = due

    @staticmethod
    def _drain(fd):
        """Makes a descriptor unreadable again."""
        try:
            while os.read(fd, 8):
                pass
        except BlockingIOError:
            pass

    def upcall(self, kind=None, timeout=2.0, **members):
        """The next upcall of that type whose members are as given; None if
        none comes in time. Others are kept in `seen` for later calls."""
        end = time.monotonic() + timeout
        while True:
            self.seen += self.upcalls()
            for upcall in self.seen:
                if kind in (None, upcall.type) and all(
                        getattr(upcall, name) == value
                        for name, value in members.items()):
                    self.seen.remove(upcall)
                    return upcall
            if time.monotonic() > end:
                return None
            time.sleep(0.0005)

    def resync(self, what=0, after=0):
        """RESYNC: a reply with `next_seq`, and `rows` of its tail."""
        reply = self.must(Op.RESYNC, what=what, after=after)
        layout = records.OBJECT if what else records.REGION
        reply.rows = records.rows(layout, 32, reply.tail)
        return reply

    # connections

    def listen(self, service, user=0):
        """LISTEN: the listener's id."""
        return self.must(Op.LISTEN, service=service, user=user).id

    def unlisten(self, listener):
        """UNLISTEN."""
        return self.must(Op.UNLISTEN, id=listener)

    def connect_later(self, service, ipv4, qp, private=b'',
                      rights=Rights.REMOTE, **more):
        """Sends CONNECT: its seq, for wait()."""
        return self.send(Op.CONNECT, tail=private, service=service,
                         ipv4=ipv4, qp=qp.id, rights=rights, **more)

    def accept_later(self, conn, qp, private=b'', rights=Rights.REMOTE,
                     **more):
        """Sends ACCEPT: its seq, for wait()."""
        return self.send(Op.ACCEPT, tail=private, conn=conn, qp=qp.id,
                         rights=rights, **more)

    def reject(self, conn, private=b''):
        """REJECT."""
        return self.must(Op.REJECT, tail=private, conn=conn)

    def disconnect_later(self, conn):
        """Sends DISCONNECT: its seq, for wait()."""
        return self.send(Op.DISCONNECT, id=conn)

    def conn_query(self, conn):
        """CONN_QUERY; private data are the tail."""
        return self.must(Op.CONN_QUERY, id=conn)

    def grant(self, region, conn, token=0):
        """GRANT: the peer of `conn` is given the STag, or the token."""
        return self.must(Op.GRANT, mr=region.id, conn=conn, token=token)

    def invalidated(self, conn, kind, number):
        """INVALIDATED: the number is used no more."""
        return self.must(Op.INVALIDATED, conn=conn, kind=kind, number=number)

    # what anybody and what administrators may ask

    def info(self):
        """INFO, with `nic` and `now`: dictionaries of struct unic_info."""
        reply = self.must(Op.INFO)
        if reply.tail:
            reply.nic = records.NIC_INFO.unpack(reply.tail)
            reply.now = records.NIC_NOW.unpack(reply.tail)
        return reply

    def stats(self):
        """STATS: the NIC's counters by name. They are copied every 50 ms."""
        tail = self.must(Op.STATS).tail
        return dict(zip(COUNTERS,
                        struct.unpack(f'<{len(tail) // 8}Q', tail)))

    def ps(self):
        """PS: a dictionary for each slot in use."""
        return records.rows(records.PROC, 104, self.must(Op.PS).tail)

    def dump_qp(self, number):
        """DUMP of the queue pairs: the row of this number, or None."""
        first = 0
        while True:
            reply = self.must(Op.DUMP, table=4, first=first)
            for row in records.rows(records.ROW_QP, 64, reply.tail):
                if row['qpn'] == number:
                    return row
            first = reply.next
            if not first:
                return None

    def evict(self, region_id):
        """EVICT: asks a region back, as an administrator."""
        return self.must(Op.EVICT, id=region_id)


__all__ = ['Frames', 'Gone', 'Late', 'Process', 'Refused', 'Region', 'Reply',
           'SGE', 'Upcall', 'known', 'sge']
