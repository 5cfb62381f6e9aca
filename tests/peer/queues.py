# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Completion queues and queue pairs of a process: rings, rows, doorbells, as
SPEC "Queues" says. No driver is between them and the NIC."""

import os
import struct
import threading
import time
from collections import namedtuple

from names import (DB_ARM, DB_FIFO, DB_RQ, DB_SQ, Op, Qps, Qpt, Rights, Wr,
                   WrFlag)

CQE = struct.Struct('<QIIIBBBBII')
SQ_SLOT = struct.Struct('<BBBBIQQII')
SGE = struct.Struct('<QII')
SLOT_BYTES = 64

Cqe = namedtuple('Cqe', 'wr_id byte_len imm qpn opcode status flags detail '
                        'token seq')

_barrier_lock = threading.Lock()


def barrier():
    """A full barrier: taking a lock is an atomic read and write."""
    with _barrier_lock:
        pass


def ring(slot, kind, row, count):
    """Steps 3 to 5 of "Posting": a word into the doorbell FIFO, and 8 bytes
    to the doorbell descriptor if the NIC sleeps."""
    seq = slot.fifo_seq[0]
    slot.fifo[seq % DB_FIFO] = row | kind << 8 | (count & 0xffff) << 16
    slot.fifo_seq[0] = (seq + 1) & 0xffffffff
    barrier()
    if slot.asleep[0]:
        knock(slot)


def knock(slot):
    """Writes 8 bytes to the doorbell descriptor; EAGAIN: it rings already."""
    try:
        os.write(slot.doorbell, struct.pack('<Q', 1))
    except BlockingIOError:
        pass


def sge(region, offset=0, length=None):
    """A struct unic_sge of a region: 16 bytes."""
    if length is None:
        length = region.length - offset
    return SGE.pack(region.iova + offset, length, region.stag)


def send_slots(opcode, sges=(), inline=None, *, flags=WrFlag.SIGNALED,
               imm=0, wr_id=0, remote=0, rkey=0, ctrl_len=0, num_sge=None):
    """A work request: struct unic_sq_slot, and struct unic_sq_ext behind it
    when it has more than 2 SGEs or 32 inline bytes."""
    data = b''.join(sges) if inline is None else bytes(inline)
    count = len(sges) if num_sge is None else num_sge
    if inline is not None:
        flags |= WrFlag.INLINE
    head = SQ_SLOT.pack(opcode, flags, count,
                        len(data) if inline is not None else 0, imm, wr_id,
                        remote, rkey, ctrl_len)
    size = SLOT_BYTES if len(data) <= 32 else 2 * SLOT_BYTES
    return (head + data).ljust(size, b'\0')


class Cq:
    """A completion queue: its ring, and how far it was read."""

    def __init__(self, process, entries, row, user=0):
        self.process, self.entries, self.row = process, entries, row
        self.size = entries * CQE.size
        self.at = process.rings.take(self.size)
        self.control = process.rings.region
        self.view = self.control.view
        self.clear()
        reply = process.must(Op.CQ_CREATE, iova=self.control.iova + self.at,
                             mr=self.control.id, entries=entries,
                             db_index=row, user=user)
        self.id, self.number = reply.id, reply.number

    def clear(self):
        """Zeroes ring and row, as before CQ_CREATE and after a reset."""
        self.view[self.at:self.at + self.size] = bytes(self.size)
        words = self.process.slot.rows
        words[4 * self.row + 2] = words[4 * self.row + 3] = 0
        self.taken = 0

    def written(self):
        """Records that the NIC has written."""
        n = self.taken
        while struct.unpack_from('<I', self.view, self.at + n % self.entries * CQE.size
                                 + 28)[0] == (n + 1) & 0xffffffff:
            n += 1
        return n

    def resize(self, entries):
        """CQ_RESIZE to a new ring; what is unread is read from where it is first. Returns the
        records that were in the old ring."""
        size = entries * CQE.size
        at = self.process.rings.take(size)
        self.view[at:at + size] = bytes(size)
        reply = self.process.must(Op.CQ_RESIZE, id=self.id, mr=self.control.id,
                                     iova=self.control.iova + at, entries=entries)
        found = self.poll((reply.records - self.taken) & 0xffffffff)
        self.process.rings.give(self.at, self.size)
        self.at, self.size, self.entries = at, size, entries
        return found

    def poll(self, limit=None):
        """Takes the records that are there: a list of Cqe."""
        found = []
        while limit is None or len(found) < limit:
            at = self.at + self.taken % self.entries * CQE.size
            seq = struct.unpack_from('<I', self.view, at + 28)[0]
            if seq != (self.taken + 1) & 0xffffffff:
                break
            found.append(Cqe(*CQE.unpack_from(self.view, at)))
            self.taken = (self.taken + 1) & 0xffffffff
            self.process.slot.rows[4 * self.row + 2] = self.taken
        return found

    def wait(self, count=1, timeout=2.0):
        """Polls until `count` records came; fewer if the time is over."""
        found, end = [], time.monotonic() + timeout
        while True:
            found += self.poll(count - len(found))
            if len(found) >= count or time.monotonic() > end:
                return found
            time.sleep(0.0002)

    def arm(self, solicited=False):
        """Arms it for the next record ("Arming, sleeping, waking")."""
        word = self.taken & 0x7fffffff | (0x80000000 if solicited else 0)
        self.process.slot.rows[4 * self.row + 3] = word
        ring(self.process.slot, DB_ARM, self.row, self.taken)

    @property
    def events(self):
        """How often the NIC notified: cq_events of the NIC page."""
        return self.process.slot.cq_events[self.row]

    def destroy(self):
        """CQ_DESTROY: BUSY while a queue pair uses it."""
        self.process.must(Op.CQ_DESTROY, id=self.id)
        self.process.rings.give(self.at, self.size)
        self.process.cq_rows.add(self.row)


class Qp:
    """A queue pair: two rings and what was posted to them."""

    def __init__(self, process, row, qpt=Qpt.RC, send_cq=None, recv_cq=None,
                 sq_slots=16, rq_slots=16, **more):
        """Makes it in state RESET; without queues it gets one of its own."""
        self.process, self.row, self.type = process, row, qpt
        self.own_cq = send_cq is None
        self.send_cq = send_cq or process.cq()
        self.recv_cq = recv_cq or self.send_cq
        self.sq_slots, self.rq_slots = sq_slots, rq_slots
        self.size = (sq_slots + rq_slots) * SLOT_BYTES
        self.at = process.rings.take(self.size)
        self.control = process.rings.region
        self.view = self.control.view
        self.rq_at = self.at + sq_slots * SLOT_BYTES
        self.clear()
        more.setdefault('pd', self.control.pd)
        base = self.control.iova
        reply = process.must(
            Op.QP_CREATE, sq_iova=base + self.at, rq_iova=base + self.rq_at,
            mr=self.control.id, send_cq=self.send_cq.id,
            recv_cq=self.recv_cq.id, sq_slots=sq_slots, rq_slots=rq_slots,
            db_index=row, type=qpt, **more)
        self.id, self.number = reply.id, reply.number

    def clear(self):
        """Zeroes the row and the counts: before QP_CREATE and RESET."""
        words = self.process.slot.rows
        words[4 * self.row] = words[4 * self.row + 1] = 0
        self.sent = self.received = 0

    # states

    def modify(self, state, **fields):
        """QP_MODIFY; Refused if it was not OK."""
        return self.process.must(Op.QP_MODIFY, id=self.id, state=state,
                                 **fields)

    def init(self, rights=Rights.REMOTE, qkey=0):
        """To INIT. `rights` is cut down to what the type may grant."""
        may = {Qpt.RC: Rights.REMOTE | Rights.REMOTE_ATOMIC, Qpt.UC: Rights.REMOTE_WRITE, Qpt.UD: 0}
        return self.modify(Qps.INIT, rights=rights & may[self.type],
                           qkey=qkey)

    def rtr(self, dest_qpn=0, dest_ipv4=0, dest_mac=b'', rq_psn=0, *,
            mtu_shift=10, rnr_timer=12, max_dest_rd=4, vendor=0):
        """To RTR: whom it receives from. A MAC of zeros is found by ARP."""
        fields = {'mtu_shift': mtu_shift}
        if self.type != Qpt.UD:
            fields.update(dest_qpn=dest_qpn, dest_ipv4=dest_ipv4,
                          dest_mac=dest_mac, rq_psn=rq_psn)
        if self.type == Qpt.RC:
            fields.update(rnr_timer=rnr_timer, max_dest_rd=max_dest_rd,
                          vendor=vendor)
        return self.modify(Qps.RTR, **fields)

    def rts(self, sq_psn=0, *, max_rd=4, timeout=14, retry_cnt=7,
            rnr_retry=7):
        """To RTS: where it begins to send, and how often it tries."""
        fields = {'sq_psn': sq_psn}
        if self.type == Qpt.RC:
            fields.update(max_rd=max_rd, timeout=timeout,
                          retry_cnt=retry_cnt, rnr_retry=rnr_retry)
        return self.modify(Qps.RTS, **fields)

    def up(self, dest_qpn=0, dest_ipv4=0, dest_mac=b'', rq_psn=0, sq_psn=0,
           *, rights=Rights.REMOTE, qkey=0, mtu_shift=10, rnr_timer=12,
           max_dest_rd=4, vendor=0, max_rd=4, timeout=14, retry_cnt=7,
           rnr_retry=7):
        """INIT, RTR and RTS, without the connection manager."""
        self.init(rights, qkey)
        self.rtr(dest_qpn, dest_ipv4, dest_mac, rq_psn, mtu_shift=mtu_shift,
                 rnr_timer=rnr_timer, max_dest_rd=max_dest_rd, vendor=vendor)
        self.rts(sq_psn, max_rd=max_rd, timeout=timeout, retry_cnt=retry_cnt,
                 rnr_retry=rnr_retry)
        return self

    def error(self):
        """To ERR: all that is posted completes WR_FLUSH_ERR."""
        return self.modify(Qps.ERR)

    def reset(self):
        """To RESET; the row begins at 0 again."""
        self.clear()
        return self.modify(Qps.RESET)

    def query(self):
        """QP_QUERY: `number` and `state`."""
        return self.process.must(Op.QP_QUERY, id=self.id)

    @property
    def state(self):
        """State as the driver knows it."""
        return Qps(self.query().state)

    # posting

    def write_send(self, slots):
        """Writes the slots of a request into the ring, unrung."""
        for at in range(0, len(slots), SLOT_BYTES):
            place = self.at + self.sent % self.sq_slots * SLOT_BYTES
            self.view[place:place + SLOT_BYTES] = slots[at:at + SLOT_BYTES]
            self.sent = (self.sent + 1) & 0xffffffff

    def ring_send(self):
        """Stores the count of posted slots and rings."""
        self.process.slot.rows[4 * self.row] = self.sent
        ring(self.process.slot, DB_SQ, self.row, self.sent)

    def post_send(self, opcode, sges=(), inline=None, **more):
        """Posts one request; see send_slots() for the rest."""
        self.write_send(send_slots(opcode, sges, inline, **more))
        self.ring_send()

    def post_recv(self, sges=(), wr_id=0, num_sge=None, rsvd=bytes(7),
                  ring_now=True):
        """Posts one receive, struct unic_rq_slot."""
        count = len(sges) if num_sge is None else num_sge
        slot = (bytes((count,)) + rsvd + struct.pack('<Q', wr_id)
                + b''.join(sges)).ljust(SLOT_BYTES, b'\0')
        place = self.rq_at + self.received % self.rq_slots * SLOT_BYTES
        self.view[place:place + SLOT_BYTES] = slot
        self.received = (self.received + 1) & 0xffffffff
        if ring_now:
            self.ring_recv()

    def ring_recv(self):
        """Stores the count of posted receives and rings."""
        self.process.slot.rows[4 * self.row + 1] = self.received
        ring(self.process.slot, DB_RQ, self.row, self.received)

    # the same by name

    def send(self, sges=(), inline=None, **more):
        """SEND, or SEND_IMM if `imm` is given."""
        opcode = Wr.SEND_IMM if 'imm' in more else Wr.SEND
        self.post_send(opcode, sges, inline, **more)

    def send_inv(self, rkey, sges=(), inline=None, **more):
        """SEND_INV: takes region `rkey` of the peer away from us."""
        self.post_send(Wr.SEND_INV, sges, inline, rkey=rkey, **more)

    def datagram(self, ipv4, qpn, qkey, sges=(), inline=None, **more):
        """SEND of UD to a queue pair of another host."""
        opcode = Wr.SEND_IMM if 'imm' in more else Wr.SEND
        self.post_send(opcode, sges, inline, remote=qkey << 32 | ipv4,
                       rkey=qpn, **more)

    def write(self, remote, rkey, sges=(), inline=None, **more):
        """WRITE, or WRITE_IMM if `imm` is given."""
        opcode = Wr.WRITE_IMM if 'imm' in more else Wr.WRITE
        self.post_send(opcode, sges, inline, remote=remote, rkey=rkey,
                       **more)

    def read(self, remote, rkey, sges=(), **more):
        """READ into `sges`."""
        self.post_send(Wr.READ, sges, remote=remote, rkey=rkey, **more)

    def compare_swap(self, remote, rkey, sge, compare, value, **more):
        """COMPARE_SWAP; what was there goes to the 8 bytes of `sge`."""
        self.post_send(Wr.COMPARE_SWAP, [sge, struct.pack('<QQ', compare, value)],
                       remote=remote, rkey=rkey, num_sge=1, **more)

    def fetch_add(self, remote, rkey, sge, value, **more):
        """FETCH_ADD, likewise."""
        self.post_send(Wr.FETCH_ADD, [sge, struct.pack('<QQ', value, 0)],
                       remote=remote, rkey=rkey, num_sge=1, **more)

    def tagged(self, index, key, ctrl_len=0, sges=(), offset=0, **more):
        """TOKEN: a tagged message, the control part first."""
        self.post_send(Wr.TOKEN, sges, remote=key, rkey=index,
                       imm=offset, ctrl_len=ctrl_len, **more)

    # completions

    def poll(self):
        """Records of its send completion queue."""
        return self.send_cq.poll()

    def wait(self, count=1, timeout=2.0):
        """Waits for records of its send completion queue."""
        return self.send_cq.wait(count, timeout)

    def destroy(self):
        """QP_DESTROY, and CQ_DESTROY if the queue was its own."""
        self.process.must(Op.QP_DESTROY, id=self.id)
        self.process.rings.give(self.at, self.size)
        self.process.qp_rows.add(self.row)
        if self.own_cq:
            self.send_cq.destroy()
