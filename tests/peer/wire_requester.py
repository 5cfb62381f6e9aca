# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "The requester of RC", the table of answers: the NIC is the
requester, and we a responder that answers oddly."""

import time

import frame as fr
import rc
from check import Suite, check, same
from names import Wc, Wcs
from world import MTU

SUITE = Suite()
FULL = bytes(range(256)) * (MTU // 256)
VA, KEY = 0x1234567800, 0xabcd1234      # of a region that we might have
LONG = 24                               # ACK timeout of 69 s
FIRST = 0x200


def patient(world, vendor=True, **more):
    """A connection whose ACK timeout does not come into play."""
    return world.conn(vendor, timeout=LONG, **more)


def sends(conn, count):
    """Posts SENDs of one packet and takes them from the wire."""
    for at in range(count):
        conn.qp.send(inline=b"data", wr_id=at)
    for at in range(count):
        conn.expect(fr.SEND_ONLY, FIRST + at, b"data", ackreq=True)


def reads(world, conn, *packets):
    """Posts READs of so many packets each, and takes the requests."""
    psn = FIRST
    for at, count in enumerate(packets):
        conn.qp.read(VA, KEY, [world.data.sge(0, count * MTU)], wr_id=at)
        conn.expect(fr.READ_REQUEST, psn, fr.pack("reth", VA, KEY,
                                                  count * MTU), ackreq=True)
        psn += count


def writes(world, conn, packets):
    """Posts a WRITE of so many packets, and takes them."""
    world.data.fill(FULL * packets)
    conn.qp.write(VA, KEY, [world.data.sge(0, packets * MTU)], wr_id=0)
    for at in range(packets):
        packet = conn.recv()
        same("PSN", packet.psn, FIRST + at)
    same("opcode of the last", packet.opcode, fr.WRITE_LAST)


# ACK

@SUITE.rows("ACK", {"no credits": (0x1f, 1), "credits": (0x05, 1),
                    "0 credits": (0x00, 1), "MSN": (0x1f, 0xabcdef)})
def acknowledged(world, syndrome, msn):
    """All up to its PSN is acknowledged; credits and MSN are not looked
    at."""
    conn = patient(world)
    sends(conn, 3)
    conn.peer.ack(FIRST + 1, syndrome, msn)
    conn.completion(wr_id=0, status=Wcs.SUCCESS, opcode=Wc.SEND)
    conn.completion(wr_id=1, status=Wcs.SUCCESS)
    conn.no_completion()
    conn.peer.ack(FIRST + 2, syndrome, msn)
    conn.completion(wr_id=2, status=Wcs.SUCCESS)


STALE = {"never sent": (2, None), "far ahead": (0x7fffff, None),
         "acknowledged before": (-1, None), "far back": (-0x7fffff, None)}
ANSWERS = {"ACK": rc.ACK, "NAK 60": rc.NAK_SEQ, "NAK 61": rc.NAK_INV,
           "NAK 62": rc.NAK_ACCESS, "RNR": rc.RNR | 1}


@SUITE.rows("PSN not in flight", {
    "%s, %s" % (name, where): (distance, syndrome)
    for name, syndrome in ANSWERS.items()
    for where, (distance, _) in STALE.items()})
def not_in_flight(world, distance, syndrome):
    """Ignored, rx_stale_ack."""
    conn = patient(world)
    conn.qp.send(inline=b"data", wr_id=7)
    conn.expect(fr.SEND_ONLY, FIRST)
    with world.counts(rx_stale_ack=1, retransmits=0):
        conn.peer.ack(FIRST + distance, syndrome)
    conn.silent(0)
    conn.no_completion()
    conn.peer.ack(FIRST)
    conn.completion(wr_id=7, status=Wcs.SUCCESS)


@SUITE.rows("PSN not in flight: vendor acknowledgement",
            {"EVICTED": (1,), "RETRY_AFTER": (2,)})
def vack_not_in_flight(world, reason):
    """Ignored, rx_stale_ack."""
    conn = patient(world)
    sends(conn, 1)
    with world.counts(rx_stale_ack=1):
        conn.peer.vack(FIRST + 1, reason)
    conn.silent(0)
    conn.peer.ack(FIRST)
    conn.completion(status=Wcs.SUCCESS)


# Negative answers

NAKS = {"61": (rc.NAK_INV, Wcs.REM_INV_REQ_ERR),
        "62": (rc.NAK_ACCESS, Wcs.REM_ACCESS_ERR),
        "63": (rc.NAK_OP, Wcs.REM_OP_ERR)}


@SUITE.rows("NAK", NAKS)
def nak(world, syndrome, status):
    """What is before it is acknowledged; the request of its PSN completes
    with the error, all behind it is flushed; ERR."""
    conn = patient(world, recvs=1)
    sends(conn, 3)
    conn.peer.ack(FIRST + 1, syndrome)
    conn.completion(wr_id=0, status=Wcs.SUCCESS, opcode=Wc.SEND)
    conn.completion(wr_id=1, status=status)
    rest = [conn.completion() for _ in range(2)]
    same("the rest", [one.status for one in rest], [Wcs.WR_FLUSH_ERR] * 2)
    conn.dead()
    conn.silent()


@SUITE.case("NAK behind a READ without response does not count")
def nak_behind_read(world):
    """It acknowledges what is before it, but not the READ: that is asked for
    again (implied NAK), and nothing fails."""
    conn = patient(world)
    reads(world, conn, 2)
    conn.qp.send(inline=b"data", wr_id=1)
    conn.expect(fr.SEND_ONLY, FIRST + 2)
    conn.peer.ack(FIRST + 2, rc.NAK_INV)
    conn.expect(fr.READ_REQUEST, FIRST, fr.pack("reth", VA, KEY, 2 * MTU))
    conn.expect(fr.SEND_ONLY, FIRST + 2)
    conn.no_completion()
    conn.peer.respond(FIRST, FULL * 2)
    conn.peer.ack(FIRST + 2)
    conn.completion(wr_id=0, status=Wcs.SUCCESS, byte_len=2 * MTU)
    conn.completion(wr_id=1, status=Wcs.SUCCESS)


@SUITE.case("NAK 60: sends again from it")
def nak_seq(world):
    """What is before it is acknowledged; the rest comes again with its
    PSNs."""
    conn = patient(world)
    sends(conn, 3)
    with world.counts(retransmits=1):
        conn.peer.ack(FIRST + 1, rc.NAK_SEQ)
        conn.expect(fr.SEND_ONLY, FIRST + 1, b"data")
        conn.expect(fr.SEND_ONLY, FIRST + 2, b"data")
    conn.silent(0)
    conn.completion(wr_id=0, status=Wcs.SUCCESS)
    conn.peer.ack(FIRST + 2)
    conn.completion(wr_id=1)
    conn.completion(wr_id=2)


@SUITE.case("NAK 60 uses up one retry")
def nak_seq_retries(world):
    """retry_cnt 2: the third ends the request."""
    conn = patient(world, retry_cnt=2)
    sends(conn, 1)
    for _ in range(2):
        conn.peer.ack(FIRST, rc.NAK_SEQ)
        conn.expect(fr.SEND_ONLY, FIRST)
    conn.peer.ack(FIRST, rc.NAK_SEQ)
    conn.completion(status=Wcs.RETRY_EXC_ERR)
    conn.silent()
    conn.dead()


@SUITE.case("an acknowledgement restores the retries")
def retries_restored(world):
    """retry_cnt 1: progress between two NAK 60."""
    conn = patient(world, retry_cnt=1)
    sends(conn, 3)
    conn.peer.ack(FIRST, rc.NAK_SEQ)
    for at in range(3):
        conn.expect(fr.SEND_ONLY, FIRST + at)
    conn.peer.ack(FIRST + 1, rc.NAK_SEQ)
    for at in range(1, 3):
        conn.expect(fr.SEND_ONLY, FIRST + at)
    conn.peer.ack(FIRST + 2)
    for at in range(3):
        conn.completion(wr_id=at, status=Wcs.SUCCESS)


@SUITE.case("an acknowledgement restores the RNR retries")
def rnr_retries_restored(world):
    """rnr_retry 1: progress between two RNR NAKs."""
    conn = patient(world, rnr_retry=1)
    sends(conn, 3)
    for psn in (FIRST, FIRST + 1):
        conn.peer.ack(psn, rc.RNR | 1)
        for at in range(psn, FIRST + 3):
            conn.expect(fr.SEND_ONLY, at)
    conn.peer.ack(FIRST + 2)
    for at in range(3):
        conn.completion(wr_id=at, status=Wcs.SUCCESS)


@SUITE.rows("ignored, but for what it acknowledges", {
    "%02x" % syndrome: (syndrome, counted) for syndrome, counted in (
        (0x64, 1), (0x65, 1), (0x7f, 1), (0xe0, 1), (0xe1, 1), (0xff, 1),
        (0x40, 0), (0x41, 0), (0x5f, 0))})
def odd_syndrome(world, syndrome, counted):
    """NAK 64 and above, NAK with bit 7, reserved type."""
    conn = patient(world)
    sends(conn, 2)
    with world.counts(rx_bad_opcode=counted, retransmits=0):
        conn.peer.ack(FIRST + 1, syndrome)
    conn.silent(0)
    conn.completion(wr_id=0, status=Wcs.SUCCESS)
    conn.no_completion()
    conn.peer.ack(FIRST + 1)
    conn.completion(wr_id=1, status=Wcs.SUCCESS)


# RNR NAK

@SUITE.rows("RNR NAK: silent for the time of its code", {
    "%d (%.2f ms)" % row: row for row in enumerate(rc.RNR_MS)})
def rnr(world, code, want):
    """Then it sends again from that PSN; what is before is acknowledged. On
    a machine that is busy it may come late, but not each time."""
    conn = patient(world)
    sends(conn, 2)
    for _ in range(10):
        begin = time.monotonic()
        conn.peer.ack(FIRST + 1, rc.RNR | code)
        conn.expect(fr.SEND_ONLY, FIRST + 1, b"data")
        took = (time.monotonic() - begin) * 1000
        check(took >= want, "after %.3f ms" % took)
        if took < want * 1.25 + 20:
            break
    check(took < want * 1.25 + 20, "after %.3f ms" % took)
    conn.peer.ack(FIRST + 1)
    conn.completion(wr_id=0)
    conn.completion(wr_id=1)


@SUITE.case("RNR NAK: a second one during the silence is ignored")
def rnr_twice(world):
    """It neither prolongs nor counts: rnr_retry is 1."""
    conn = patient(world, rnr_retry=1)
    sends(conn, 1)
    begin = time.monotonic()
    conn.peer.ack(FIRST, rc.RNR | 23)
    for _ in range(4):
        conn.peer.ack(FIRST, rc.RNR | 31)
    conn.expect(fr.SEND_ONLY, FIRST)
    took = time.monotonic() - begin
    check(0.0307 <= took < 0.3, "after %.3f s" % took)
    conn.peer.ack(FIRST)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.rows("RNR NAK: rnr_retry", {str(n): (n,) for n in (0, 1, 3)})
def rnr_retries(world, count):
    """None left: RNR_RETRY_EXC_ERR, ERR."""
    conn = patient(world, rnr_retry=count)
    sends(conn, 1)
    for _ in range(count):
        conn.peer.ack(FIRST, rc.RNR | 1)
        conn.expect(fr.SEND_ONLY, FIRST)
    conn.peer.ack(FIRST, rc.RNR | 1)
    conn.completion(status=Wcs.RNR_RETRY_EXC_ERR)
    conn.dead()


@SUITE.case("RNR NAK: rnr_retry 7 is without end")
def rnr_for_ever(world):
    """Twenty times, and it still tries."""
    conn = patient(world)
    sends(conn, 1)
    for _ in range(20):
        conn.peer.ack(FIRST, rc.RNR | 1)
        conn.expect(fr.SEND_ONLY, FIRST)
    conn.peer.ack(FIRST)
    conn.completion(status=Wcs.SUCCESS)


# READ responses

@SUITE.case("READ: responses are placed")
def read_placed(world):
    """One completion, with the length."""
    conn = patient(world)
    reads(world, conn, 3)
    data = bytes(reversed(FULL)) * 3
    conn.peer.respond(FIRST, data)
    conn.completion(opcode=Wc.READ, byte_len=3 * MTU, status=Wcs.SUCCESS)
    same("bytes", world.data.bytes(0, 3 * MTU) == data, True)


AETH = fr.pack("aeth", rc.ACK << 24)


@SUITE.case("READ: first and middle are told apart by their length only")
def read_first_middle(world):
    """A middle in the place of first, a first in that of middle; and the
    syndrome is not looked at."""
    conn = patient(world)
    reads(world, conn, 3)
    conn.peer.raw(fr.READ_MIDDLE, FULL, psn=FIRST)
    conn.peer.raw(fr.READ_FIRST, fr.pack("aeth", 0x61 << 24) + FULL,
                  psn=FIRST + 1)
    conn.peer.raw(fr.READ_LAST, AETH + FULL, psn=FIRST + 2)
    conn.completion(opcode=Wc.READ, byte_len=3 * MTU, status=Wcs.SUCCESS)


ODD_RESPONSES = {
    "first too short": (0, fr.READ_FIRST, AETH + FULL[:-4]),
    "first too long": (0, fr.READ_FIRST, AETH + FULL + b"abcd"),
    "first of 0 bytes": (0, fr.READ_FIRST, AETH),
    "first without AETH": (0, fr.READ_FIRST, b""),
    "last with half an AETH": (2, fr.READ_LAST, b"\x1f\0"),
    "only in place of first": (0, fr.READ_ONLY, AETH + FULL),
    "last in place of first": (0, fr.READ_LAST, AETH + FULL),
    "middle too short": (1, fr.READ_MIDDLE, FULL[:-1]),
    "last in place of middle": (1, fr.READ_LAST, AETH + FULL),
    "middle in place of last": (2, fr.READ_MIDDLE, FULL),
    "first in place of last": (2, fr.READ_FIRST, AETH + FULL),
    "last too short": (2, fr.READ_LAST, AETH + FULL[:-1]),
    "last too long": (2, fr.READ_LAST, AETH + FULL + b"a"),
    "last of 0 bytes": (2, fr.READ_LAST, AETH),
}


@SUITE.rows("READ response ignored", ODD_RESPONSES)
def odd_response(world, at, opcode, body):
    """Another length, too early or too late an end: rx_bad_opcode; the right
    one that comes after it is placed."""
    conn = patient(world)
    reads(world, conn, 3)
    parts = [(fr.READ_FIRST, AETH + FULL), (fr.READ_MIDDLE, FULL),
             (fr.READ_LAST, AETH + FULL)]
    with world.counts(rx_bad_opcode=1, retransmits=0):
        for number, part in enumerate(parts[:at]):
            conn.peer.raw(*part, psn=FIRST + number)
        conn.peer.raw(opcode, body, psn=FIRST + at)
    conn.silent(0)
    conn.no_completion()
    for number, part in enumerate(parts[at:]):
        conn.peer.raw(*part, psn=FIRST + at + number)
    conn.completion(opcode=Wc.READ, byte_len=3 * MTU, status=Wcs.SUCCESS)


@SUITE.case("READ response beyond the oldest PSN")
def response_beyond(world):
    """Ignored; the NIC asks once for what is missing (implied NAK), with the
    PSN, address and length of the rest, at no retry."""
    conn = patient(world, retry_cnt=0)
    reads(world, conn, 4)
    conn.peer.respond(FIRST, FULL * 4, skip=(1,))
    conn.expect(fr.READ_REQUEST, FIRST + 1,
                fr.pack("reth", VA + MTU, KEY, 3 * MTU), ackreq=True)
    conn.silent()
    conn.peer.respond(FIRST + 1, FULL * 3)
    conn.completion(opcode=Wc.READ, byte_len=4 * MTU, status=Wcs.SUCCESS)


@SUITE.case("READ response beyond acknowledges what is before it")
def response_acknowledges(world):
    """A SEND before the READ needs no ACK of its own."""
    conn = patient(world)
    conn.qp.send(inline=b"data", wr_id=5)
    conn.qp.read(VA, KEY, [world.data.sge(0, MTU)], wr_id=6)
    conn.expect(fr.SEND_ONLY, FIRST)
    conn.expect(fr.READ_REQUEST, FIRST + 1)
    conn.peer.respond(FIRST + 1, FULL)
    conn.completion(wr_id=5, status=Wcs.SUCCESS)
    conn.completion(wr_id=6, status=Wcs.SUCCESS)


@SUITE.rows("READ response where no READ is", {
    "only": (fr.READ_ONLY, AETH), "first": (fr.READ_FIRST, AETH + FULL),
    "middle": (fr.READ_MIDDLE, FULL)})
def response_of_none(world, opcode, body):
    """Ignored, rx_stale_ack."""
    conn = patient(world)
    sends(conn, 1)
    with world.counts(rx_stale_ack=1):
        conn.peer.raw(opcode, body, psn=FIRST)
    conn.silent(0)
    conn.no_completion()
    conn.peer.ack(FIRST)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.case("ACK for a READ whose response did not come")
def ack_of_read(world):
    """Implied NAK: asked for again, once, at no retry."""
    conn = patient(world, retry_cnt=0)
    reads(world, conn, 2)
    with world.counts(retransmits=1):
        conn.peer.ack(FIRST + 1)
        conn.expect(fr.READ_REQUEST, FIRST, fr.pack("reth", VA, KEY, 2 * MTU))
        conn.peer.ack(FIRST + 1)
    conn.silent(0)
    conn.peer.respond(FIRST, FULL * 2)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.rows("answer shorter than its header", {
    "ACK": (fr.ACK, b""), "ACK of 3 bytes": (fr.ACK, b"\x1f\0\0"),
    "vendor acknowledgement": (fr.VACK, b"\0\0\0\1")})
def short_answer(world, opcode, body):
    """Ignored, rx_short."""
    conn = patient(world)
    sends(conn, 1)
    with world.counts(rx_short=1):
        conn.peer.raw(opcode, body, psn=FIRST)
    conn.silent(0)
    conn.no_completion()
    conn.peer.ack(FIRST)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.case("atomic acknowledge")
def atomic_ack(world):
    """Ignored where no atomic operation is, rx_stale_ack."""
    conn = patient(world)
    sends(conn, 1)
    with world.counts(rx_stale_ack=1):
        conn.peer.raw(fr.ATOMIC_ACK, AETH + bytes(8), psn=FIRST)
    conn.silent(0)
    conn.peer.ack(FIRST)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.rows("vendor acknowledgement from a conventional peer",
            {"EVICTED": (1,), "RETRY_AFTER": (2,)})
def vack_conventional(world, reason):
    """Ignored, rx_bad_opcode."""
    conn = patient(world, vendor=False)
    sends(conn, 2)
    with world.counts(rx_bad_opcode=1):
        conn.peer.vack(FIRST + 1, reason)
    conn.silent(0)
    conn.no_completion()
    conn.peer.ack(FIRST + 1)
    conn.completion(wr_id=0, status=Wcs.SUCCESS)
