# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "The responder of RC" and "The requester of RC", of atomic
operations."""

import struct

import frame as fr
import rc
from check import Suite, same
from names import Rights, Wc, Wcs, WrFlag
from wire_requester import AETH, FIRST, KEY, VA, patient
from world import MTU

SUITE = Suite()
MAY = Rights.ALL | Rights.REMOTE_ATOMIC
REMOTE = Rights.REMOTE | Rights.REMOTE_ATOMIC
BIG = 0xfedcba9876543210
ALL = (1 << 64) - 1


def target(world, conn_rights=REMOTE, rights=MAY, **more):
    """A region with 1000 at its beginning, and a connection to its owner."""
    region = world.region(4096, rights)
    region.fill(struct.pack("<Q", 1000))
    return region, world.conn(rights=conn_rights, **more)


def request(conn, region, opcode, value, compare=0, offset=0, **more):
    """Sends one operation."""
    conn.peer.put(opcode, fr.pack("atomic", region.iova + offset, region.stag,
                                  value & ALL, compare), ackreq=True, **more)


def answered(conn, psn, was):
    """The answer to the operation with `psn`."""
    packet = conn.expect(fr.ATOMIC_ACK, psn)
    same("syndrome", packet.syndrome, rc.ACK)
    same("what was there", packet.header("atomicack"), (was,))


def value_of(region, offset=0):
    """The number in memory."""
    return struct.unpack("<Q", region.bytes(offset, 8))[0]


@SUITE.case("atomic operations")
def executed(world):
    """What each does and answers."""
    region, conn = target(world)
    first = conn.peer.psn
    request(conn, region, fr.FETCH_ADD, 5)
    answered(conn, first, 1000)
    request(conn, region, fr.FETCH_ADD, -6)
    answered(conn, first + 1, 1005)
    request(conn, region, fr.COMPARE_SWAP, BIG, 999)
    answered(conn, first + 2, 999)
    same("in memory", value_of(region), BIG)
    request(conn, region, fr.COMPARE_SWAP, 1, 999)
    answered(conn, first + 3, BIG)
    same("in memory", value_of(region), BIG)
    same("behind it", region.bytes(8, 8), bytes(8))
    conn.alive()


@SUITE.case("atomic operation again: the answer of the first time")
def repeated(world):
    """Also when something else is there by now; not executed."""
    region, conn = target(world)
    first = conn.peer.psn
    for at in range(3):
        request(conn, region, fr.FETCH_ADD, 1)
        answered(conn, first + at, 1000 + at)
    region.fill(struct.pack("<Q", 7))
    with world.counts(rx_duplicate=2):
        for at in (1, 2):
            conn.peer.raw(fr.FETCH_ADD, fr.pack(
                "atomic", region.iova, region.stag, 1, 0), psn=first + at)
            answered(conn, first + at, 1000 + at)
    same("in memory", value_of(region), 7)
    conn.alive()


@SUITE.case("atomic operation again: after 16 others there is no answer")
def forgotten(world):
    """It is ignored."""
    region, conn = target(world)
    first = conn.peer.psn
    for at in range(17):
        request(conn, region, fr.FETCH_ADD, 1)
        answered(conn, first + at, 1000 + at)
    conn.peer.raw(fr.FETCH_ADD, fr.pack("atomic", region.iova, region.stag,
                                        1, 0), psn=first)
    conn.silent()
    same("in memory", value_of(region), 1017)
    conn.alive()


@SUITE.rows("0x62: an atomic operation", {
    "the region lacks the right": (Rights.ALL, REMOTE, 0, 0),
    "the queue pair lacks the right": (MAY, Rights.REMOTE, 0, 0),
    "outside the region": (MAY, REMOTE, 4096, 0),
    "another key": (MAY, REMOTE, 0, 1)})
def refused(world, rights, conn_rights, offset, key):
    """Not executed; the peer learns nothing but that."""
    region, conn = target(world, conn_rights, rights)
    conn.peer.raw(fr.FETCH_ADD, fr.pack(
        "atomic", region.iova + offset, region.stag ^ key, 1, 0), ackreq=True)
    conn.nak(rc.NAK_ACCESS)
    same("in memory", value_of(region), 1000)
    conn.dead()


@SUITE.case("0x61: an atomic operation more than agreed")
def too_many(world):
    """max_dest_rd 0."""
    region, conn = target(world, max_dest_rd=0)
    with world.counts(rx_bad_opcode=1):
        conn.peer.raw(fr.FETCH_ADD, fr.pack(
            "atomic", region.iova, region.stag, 1, 0), ackreq=True)
        conn.nak(rc.NAK_INV)
    same("in memory", value_of(region), 1000)
    conn.dead()


# the NIC as requester

def patient_data(world):
    """A connection that waits, and 64 bytes of zeros for results."""
    world.data.fill(bytes(64))
    return patient(world)


@SUITE.case("atomic operations are sent")
def sent(world):
    """The header of each, and where the answer goes."""
    conn = patient_data(world)
    conn.qp.compare_swap(VA, KEY, world.data.sge(8, 8), 11, BIG, wr_id=1)
    conn.qp.fetch_add(VA + 8, KEY, world.data.sge(16, 8), 3, wr_id=2)
    conn.expect(fr.COMPARE_SWAP, FIRST,
                fr.pack("atomic", VA, KEY, BIG, 11), ackreq=True)
    conn.expect(fr.FETCH_ADD, FIRST + 1,
                fr.pack("atomic", VA + 8, KEY, 3, 0), ackreq=True)
    conn.peer.raw(fr.ATOMIC_ACK, AETH + fr.pack("atomicack", BIG), psn=FIRST)
    conn.completion(wr_id=1, status=Wcs.SUCCESS, opcode=Wc.COMPARE_SWAP,
                    byte_len=8)
    conn.peer.raw(fr.ATOMIC_ACK, AETH + fr.pack("atomicack", 5),
                  psn=FIRST + 1)
    conn.completion(wr_id=2, status=Wcs.SUCCESS, opcode=Wc.FETCH_ADD,
                    byte_len=8)
    same("results", struct.unpack("<QQQQ", world.data.bytes(0, 32)),
         (0, BIG, 5, 0))


@SUITE.case("an ACK of an atomic operation without its answer")
def implied(world):
    """Implied NAK: the same bytes again, once."""
    conn = patient_data(world)
    conn.qp.fetch_add(VA, KEY, world.data.sge(0, 8), 3)
    body = conn.expect(fr.FETCH_ADD, FIRST).body
    conn.peer.ack(FIRST)
    conn.expect(fr.FETCH_ADD, FIRST, body)
    conn.no_completion()
    conn.peer.raw(fr.ATOMIC_ACK, AETH + fr.pack("atomicack", 5), psn=FIRST)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.rows("atomic acknowledge", {
    "short": (fr.ATOMIC_ACK, 4, "rx_bad_opcode"),
    "long": (fr.ATOMIC_ACK, 12, "rx_bad_opcode"),
    "as a READ response": (fr.READ_ONLY, 8, "rx_stale_ack")})
def odd_answer(world, opcode, size, counter):
    """Ignored."""
    conn = patient_data(world)
    conn.qp.fetch_add(VA, KEY, world.data.sge(0, 8), 3)
    conn.expect(fr.FETCH_ADD, FIRST)
    with world.counts(**{counter: 1}):
        conn.peer.raw(opcode, AETH + b"\1" * size, psn=FIRST)
    conn.silent(0)
    conn.no_completion()
    same("result", world.data.bytes(0, 8), bytes(8))
    conn.peer.raw(fr.ATOMIC_ACK, AETH + fr.pack("atomicack", 5), psn=FIRST)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.rows("NAK of an atomic operation", {
    "61": (rc.NAK_INV, Wcs.REM_INV_REQ_ERR),
    "62": (rc.NAK_ACCESS, Wcs.REM_ACCESS_ERR),
    "63": (rc.NAK_OP, Wcs.REM_OP_ERR)})
def told(world, syndrome, status):
    """The request completes with it."""
    conn = patient_data(world)
    conn.qp.fetch_add(VA, KEY, world.data.sge(0, 8), 3)
    conn.expect(fr.FETCH_ADD, FIRST)
    conn.peer.ack(FIRST, syndrome)
    conn.completion(status=status)


@SUITE.case("a FENCE waits for atomic operations")
def fence(world):
    """The WRITE comes behind the answer."""
    conn = patient_data(world)
    conn.qp.fetch_add(VA, KEY, world.data.sge(0, 8), 3)
    conn.qp.write(VA, KEY, [world.data.sge(0, MTU)],
                  flags=WrFlag.SIGNALED | WrFlag.FENCE)
    conn.expect(fr.FETCH_ADD, FIRST)
    conn.silent()
    conn.peer.raw(fr.ATOMIC_ACK, AETH + fr.pack("atomicack", 5), psn=FIRST)
    conn.completion(status=Wcs.SUCCESS)
    conn.expect(fr.WRITE_ONLY, FIRST + 1)
