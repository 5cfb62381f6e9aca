# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Odd packets: requests of RC", "The responder of RC", "The last
word". The NIC is the responder."""

import frame as fr
import rc
from check import Suite, same
from names import Wc, Wcs
from world import MTU, RECEIVE

SUITE = Suite()
FULL = bytes(range(256)) * (MTU // 256)
HUGE = (1 << 30) + 1


def reth(world, length, offset=0):
    """RETH of a range of the world's region."""
    return fr.pack("reth", world.data.iova + offset, world.data.stag, length)


def tketh(payload, control, offset=0):
    """TKETH of a token that does not matter: lengths are looked at first."""
    return fr.pack("tketh", 0, 1, payload, control, offset)


def send_first():
    """A SEND that has begun."""
    return [(fr.SEND_FIRST, FULL)]


def write_first(length=3 * MTU):
    """A WRITE of `length` bytes that has begun."""
    return [(fr.WRITE_FIRST, length)]


def body_of(world, body):
    """A number stands for a RETH of that length, and its first MTU bytes, or
    all if it is shorter."""
    if isinstance(body, int):
        return reth(world, body) + FULL[:min(body, MTU)]
    return body


def play(world, conn, before):
    """Sends packets that are as they should be; nothing is answered."""
    for opcode, body in before:
        conn.peer.put(opcode, body_of(world, body))


NULL = bytes(0)
IMM = fr.pack("imm", 7)

# name: packets before, opcode and body of the odd one. A number as body is a
# RETH of that length with as much payload as fits.
OPCODES = {
    **{"%02x" % op: ([], op, NULL) for op in (
        0x15, 0x18, 0x1c, 0x1f, 0xc4, 0xcf, 0xd1, 0xe0, 0xff)},
    "15 with atomic header": ([], 0x15, bytes(28)),
    "1f with 1500 bytes": ([], 0x1f, bytes(1500)),
}
INVALID = {
    "compare swap shorter than its header": ([], fr.COMPARE_SWAP, bytes(24)),
    "fetch add with a payload": ([], fr.FETCH_ADD, bytes(32)),
    "fetch add, address of no multiple of 8": (
        [], fr.FETCH_ADD, fr.pack("atomic", 4, 0, 1, 0)),
    "fetch add in a SEND": (send_first(), fr.FETCH_ADD, bytes(28)),
    "SEND middle of no message": ([], fr.SEND_MIDDLE, FULL),
    "SEND last of no message": ([], fr.SEND_LAST, b"x"),
    "SEND last imm of no message": ([], fr.SEND_LAST_IMM, IMM + b"x"),
    "SEND last inv of no message": ([], fr.SEND_LAST_INV, IMM + b"x"),
    "WRITE middle of no message": ([], fr.WRITE_MIDDLE, FULL),
    "WRITE last of no message": ([], fr.WRITE_LAST, b"x"),
    "WRITE last imm of no message": ([], fr.WRITE_LAST_IMM, IMM + b"x"),
    "TOKEN middle of no message": ([], fr.TOKEN_MIDDLE, FULL),
    "TOKEN last of no message": ([], fr.TOKEN_LAST, b"x"),
    "WRITE middle of a SEND": (send_first(), fr.WRITE_MIDDLE, FULL),
    "WRITE last of a SEND": (send_first(), fr.WRITE_LAST, b"x"),
    "TOKEN last of a SEND": (send_first(), fr.TOKEN_LAST, b"x"),
    "SEND middle of a WRITE": (write_first(), fr.SEND_MIDDLE, FULL),
    "SEND last of a WRITE": (write_first(2 * MTU), fr.SEND_LAST, FULL),
    "TOKEN middle of a WRITE": (write_first(), fr.TOKEN_MIDDLE, FULL),
    "SEND first in a SEND": (send_first(), fr.SEND_FIRST, FULL),
    "SEND only in a SEND": (send_first(), fr.SEND_ONLY, b"x"),
    "SEND only inv in a SEND": (send_first(), fr.SEND_ONLY_INV, IMM),
    "WRITE first in a SEND": (send_first(), fr.WRITE_FIRST, 3 * MTU),
    "WRITE only in a SEND": (send_first(), fr.WRITE_ONLY, 16),
    "empty WRITE in a SEND": (send_first(), fr.WRITE_ONLY, 0),
    "READ in a SEND": (send_first(), fr.READ_REQUEST, 0),
    "TOKEN only in a SEND": (send_first(), fr.TOKEN_ONLY, tketh(0, 0)),
    "SEND only in a WRITE": (write_first(), fr.SEND_ONLY, b"x"),
    "WRITE only in a WRITE": (write_first(), fr.WRITE_ONLY, 16),
    "READ in a WRITE": (write_first(), fr.READ_REQUEST, 0),
    "TOKEN first in a WRITE": (write_first(), fr.TOKEN_FIRST,
                               tketh(2 * MTU, 0) + FULL),
    "SEND only imm without immediate": ([], fr.SEND_ONLY_IMM, NULL),
    "SEND only inv without key": ([], fr.SEND_ONLY_INV, NULL),
    "SEND last imm without immediate": (send_first(), fr.SEND_LAST_IMM, NULL),
    "WRITE only without RETH": ([], fr.WRITE_ONLY, NULL),
    "WRITE only with 12 bytes of RETH": ([], fr.WRITE_ONLY, bytes(12)),
    "WRITE first with 12 bytes of RETH": ([], fr.WRITE_FIRST, bytes(12)),
    "WRITE only imm with RETH alone": ([], fr.WRITE_ONLY_IMM, bytes(16)),
    "READ with 12 bytes of RETH": ([], fr.READ_REQUEST, bytes(12)),
    "TOKEN only with 20 bytes of TKETH": ([], fr.TOKEN_ONLY, bytes(20)),
    "TOKEN first with 20 bytes of TKETH": ([], fr.TOKEN_FIRST, bytes(20)),
    "SEND first shorter than MTU": ([], fr.SEND_FIRST, FULL[:-4]),
    "SEND first of one byte less": ([], fr.SEND_FIRST, FULL[:-1]),
    "SEND first longer than MTU": ([], fr.SEND_FIRST, FULL + b"abcd"),
    "SEND first of 0 bytes": ([], fr.SEND_FIRST, NULL),
    "SEND middle shorter than MTU": (send_first(), fr.SEND_MIDDLE, b"abcd"),
    "SEND middle longer than MTU": (send_first(), fr.SEND_MIDDLE,
                                    FULL + b"abcd"),
    "WRITE first shorter than MTU": ([], fr.WRITE_FIRST, "short"),
    "WRITE middle shorter than MTU": (write_first(), fr.WRITE_MIDDLE,
                                      FULL[:512]),
    "SEND last of 0 bytes": (send_first(), fr.SEND_LAST, NULL),
    "SEND last imm of 0 bytes": (send_first(), fr.SEND_LAST_IMM, IMM),
    "SEND last inv of 0 bytes": (send_first(), fr.SEND_LAST_INV, IMM),
    "WRITE last of 0 bytes": (write_first(MTU + 1), fr.WRITE_LAST, NULL),
    "SEND last above MTU": (send_first(), fr.SEND_LAST, FULL + b"x"),
    "SEND only above MTU": ([], fr.SEND_ONLY, FULL + b"x"),
    "WRITE last above MTU": (write_first(), fr.WRITE_LAST, FULL + b"x"),
    "WRITE only above MTU": ([], fr.WRITE_ONLY, "above"),
    "READ with a payload": ([], fr.READ_REQUEST, "payload"),
    "empty READ with a payload": ([], fr.READ_REQUEST,
                                  fr.pack("reth", 0, 0, 0) + b"abcd"),
    "WRITE first of more than 2^30": ([], fr.WRITE_FIRST, "huge"),
    "WRITE only of more than 2^30": ([], fr.WRITE_ONLY, "huge only"),
    "READ of more than 2^30": ([], fr.READ_REQUEST,
                               fr.pack("reth", 0, 0, HUGE)),
    "WRITE only shorter than its RETH": ([], fr.WRITE_ONLY, "fewer"),
    "WRITE only longer than its RETH": ([], fr.WRITE_ONLY, "more"),
    "WRITE only of RETH 0 with bytes": ([], fr.WRITE_ONLY, "zero"),
    "WRITE last shorter than its RETH": (write_first(MTU + 8),
                                         fr.WRITE_LAST, b"abcd"),
    "WRITE last longer than its RETH": (write_first(MTU + 8),
                                        fr.WRITE_LAST, b"0123456789ab"),
    "WRITE that goes on": (write_first(MTU + 8), fr.WRITE_MIDDLE, FULL),
    "WRITE first of a message of MTU": ([], fr.WRITE_FIRST, MTU),
    "TKETH payload above 2^30": ([], fr.TOKEN_FIRST, tketh(HUGE, 0) + FULL),
    "TKETH control above 128": ([], fr.TOKEN_ONLY,
                                tketh(0, 129) + bytes(129)),
    "TKETH control not all here": ([], fr.TOKEN_ONLY, tketh(0, 64) + b"abcd"),
    "TKETH offset above 2^30": ([], fr.TOKEN_ONLY, tketh(0, 0, HUGE)),
    "TOKEN only shorter than TKETH says": ([], fr.TOKEN_ONLY,
                                           tketh(64, 0) + b"abcd"),
    "TOKEN only longer than TKETH says": ([], fr.TOKEN_ONLY,
                                          tketh(4, 4) + b"0123456789ab"),
    "TOKEN only above MTU": ([], fr.TOKEN_ONLY,
                             tketh(MTU + 4, 0) + FULL + b"abcd"),
    "TOKEN first that is not MTU": ([], fr.TOKEN_FIRST,
                                    tketh(2 * MTU, 0) + FULL[:512]),
    "TOKEN first of a message of MTU": ([], fr.TOKEN_FIRST,
                                        tketh(MTU, 0) + FULL),
}


def text_body(world, text):
    """Bodies that need the region of the world."""
    short = {
        "short": reth(world, 3 * MTU) + FULL[:512],
        "above": reth(world, MTU + 4) + FULL + b"abcd",
        "payload": reth(world, 64) + b"abcd",
        "huge": reth(world, HUGE) + FULL,
        "huge only": reth(world, HUGE) + b"abcd",
        "fewer": reth(world, 16) + b"abcd",
        "more": reth(world, 4) + b"01234567",
        "zero": reth(world, 0) + b"abcd",
    }
    return short[text]


def odd_body(world, opcode, body):
    """The body of an odd packet of the table; a READ has no payload."""
    if isinstance(body, str):
        return text_body(world, body)
    if opcode == fr.READ_REQUEST and isinstance(body, int):
        return reth(world, body)
    return body_of(world, body)


@SUITE.rows("0x61", INVALID)
def invalid(world, before, opcode, body):
    """NAK 61 for the PSN of the odd packet, counted, the queue pair in ERR;
    a receive that was in use is flushed."""
    conn = world.conn(recvs=1)
    with world.counts(rx_bad_opcode=1):
        play(world, conn, before)
        conn.peer.raw(opcode, odd_body(world, opcode, body), ackreq=True)
        conn.nak(rc.NAK_INV)
    conn.silent(0)
    conn.dead()
    conn.completion(status=Wcs.WR_FLUSH_ERR, wr_id=0, opcode=Wc.RECV)
    conn.no_completion()


@SUITE.rows("0x61: opcode", OPCODES)
def unknown_opcode(world, before, opcode, body):
    """Any length: as any invalid request."""
    invalid(world, before, opcode, body)


@SUITE.rows("0x61 of a conventional peer", {
    "TOKEN first": (fr.TOKEN_FIRST, tketh(2 * MTU, 0) + FULL),
    "TOKEN only": (fr.TOKEN_ONLY, tketh(0, 0)),
    "TOKEN middle": (fr.TOKEN_MIDDLE, FULL),
    "TOKEN last": (fr.TOKEN_LAST, b"x")})
def tagged_conventional(world, opcode, body):
    """A tagged message on the queue pair of a conventional peer."""
    conn = world.conn(vendor=False, recvs=1)
    with world.counts(rx_bad_opcode=1):
        conn.peer.raw(opcode, body, ackreq=True)
        conn.nak(rc.NAK_INV)
    conn.dead()


@SUITE.case("0x61: bytes of earlier packets of a WRITE stay placed")
def placed(world):
    """A WRITE that goes on beyond its RETH."""
    conn = world.conn()
    world.data.fill(bytes(2 * MTU))
    play(world, conn, write_first(MTU + 8))
    conn.peer.raw(fr.WRITE_MIDDLE, FULL)
    conn.nak(rc.NAK_INV)
    same("first packet", world.data.bytes(0, MTU) == FULL, True)
    same("behind it", world.data.bytes(MTU, 8), bytes(8))


@SUITE.case("0x61: a READ where none was agreed")
def no_reads(world):
    """max_dest_rd 0: the first READ is one too many."""
    conn = world.conn(max_dest_rd=0)
    with world.counts(rx_bad_opcode=1):
        conn.peer.raw(fr.READ_REQUEST, reth(world, 16), ackreq=True)
        conn.nak(rc.NAK_INV)
    conn.dead()


@SUITE.rows("0x61: a READ more than agreed", {"2 of 1": (1,), "5 of 4": (4,), "17 of 16": (16,)})
def many_reads(world, limit):
    """They come faster than 1 MiB of responses can go."""
    region = world.region(1 << 20)
    conn = world.conn(max_dest_rd=limit)
    body = fr.pack("reth", region.iova, region.stag, region.length)
    with conn.peer.station.port.at_once():
        for _ in range(limit + 1):
            conn.peer.raw(fr.READ_REQUEST, body, ackreq=True)
            conn.peer.psn = rc.next_psn(conn.peer.psn, 1024)
    last = None
    while last is None or last.opcode != fr.ACK:
        last = conn.recv()
    same("syndrome", last.syndrome, rc.NAK_INV)
    same("PSN", last.psn, conn.peer.psn - 1024)
    conn.dead()


@SUITE.rows("past bad opcode", {"%02x" % op: (op,) for op in (
    0x15, 0x18, 0xc4, 0xd1, 0xff)})
def past_bad_opcode(world, opcode):
    """An unknown opcode that is past is ignored."""
    conn = world.conn()
    conn.alive()
    with world.counts(rx_bad_opcode=1):
        conn.peer.raw(opcode, psn=conn.peer.psn - 1, ackreq=True)
    conn.silent(0)
    conn.alive()


@SUITE.rows("other transport", {"%02x" % op: (op,) for op in (
    0x20, 0x24, 0x2a, 0x40, 0x64, 0x65, 0x80, 0x81, 0xa0, 0xbf)})
def other_transport(world, opcode):
    """Opcodes 20..bf are ignored, whatever their PSN."""
    conn = world.conn(recvs=1)
    with world.counts(rx_bad_opcode=2):
        conn.peer.raw(opcode, bytes(64), ackreq=True)
        conn.peer.raw(opcode, bytes(64), ackreq=True,
                      psn=conn.peer.psn + 5)
    conn.silent(0)
    conn.alive()


# The PSN comes first

PAST = {"SEND only": (fr.SEND_ONLY, b"x"), "WRITE only": (fr.WRITE_ONLY, 16),
        "SEND middle of nothing": (fr.SEND_MIDDLE, b"x"),
        "TOKEN only": (fr.TOKEN_ONLY, tketh(0, 0))}


@SUITE.rows("past", PAST)
def past(world, opcode, body):
    """ACK of the expected PSN - 1, whatever the acknowledge request; nothing
    is executed."""
    conn = world.conn(recvs=1)
    conn.alive()
    for back in (1, 2, 1 << 23):
        with world.counts(rx_duplicate=1):
            conn.peer.raw(opcode, body_of(world, body),
                          psn=conn.peer.psn - back)
            conn.ack()
    conn.no_completion()
    conn.alive()


@SUITE.case("ahead: 60 once until the expected PSN comes")
def ahead(world):
    """NAK 60 has the expected PSN; then silence; then it begins anew."""
    conn = world.conn()
    conn.alive()
    for _ in range(2):
        with world.counts(rx_out_of_seq=3, tx_naks=1):
            conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + 1)
            conn.nak(rc.NAK_SEQ)
            conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + 2,
                          ackreq=True)
            conn.peer.raw(fr.SEND_ONLY, b"x", ackreq=True,
                          psn=conn.peer.psn + (1 << 23) - 1)
        conn.silent(0)
        conn.alive()


@SUITE.case("ahead: a READ closes the gap, too")
def ahead_read(world):
    """The next gap is answered by a NAK 60 of its own."""
    conn = world.conn()
    for _ in range(2):
        conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + 1)
        conn.nak(rc.NAK_SEQ)
        conn.peer.put_read(world.data.iova, world.data.stag, 1)
        conn.expect(fr.READ_ONLY, conn.peer.psn - 1)
    conn.alive()


@SUITE.rows("ahead", {"%02x" % op: (op, body) for op, body in (
    (fr.READ_REQUEST, bytes(16)), (fr.WRITE_ONLY, bytes(4)),
    (fr.TOKEN_ONLY, bytes(24)))})
def ahead_odd(world, opcode, body):
    """What is ahead is not looked at any further."""
    conn = world.conn()
    with world.counts(rx_out_of_seq=1, rx_bad_opcode=0):
        conn.peer.raw(opcode, body, psn=conn.peer.psn + 1)
        conn.nak(rc.NAK_SEQ)
    conn.alive()


@SUITE.case("PSNs wrap at 2^24")
def wrap(world):
    """A message across the end of the PSNs, and one past it."""
    conn = world.conn(psn=0xfffffe, recvs=2, recv_size=RECEIVE)
    data = FULL * 3
    conn.peer.put_chain(rc.send_chain(data, MTU))
    same("next PSN", conn.peer.psn, 1)
    conn.ack(0)
    conn.completion(byte_len=len(data))
    conn.peer.raw(fr.SEND_ONLY, b"x", psn=0xffffff)
    conn.ack(0)
    conn.alive()


@SUITE.case("one ACK answers many requests")
def coalesced(world):
    """The ACK has the expected PSN - 1 and the MSN; none is sent unasked."""
    conn = world.conn()
    for _ in range(5):
        conn.peer.put(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0))
    conn.silent()
    conn.peer.put(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True)
    same("MSN", conn.ack().msn, 6)


@SUITE.case("a NAK stands for the ACK that is owed")
def nak_for_ack(world):
    """Requests before a refused one are acknowledged by the NAK's PSN."""
    conn = world.conn()
    packets = [world.station.packet(
        opcode=fr.WRITE_ONLY, body=fr.pack("reth", 1, 2, length),
        dqpn=conn.peer.dqpn, psn=conn.peer.psn + length, ackreq=True)
        for length in (0, 1)]
    packets[1].body += b"x"
    for packet in packets:
        world.station.port.send(packet.build())
    got = conn.recv()
    if got.syndrome == rc.ACK:
        same("PSN of the ACK", got.psn, conn.peer.psn)
        got = conn.recv()
    same("PSN", got.psn, conn.peer.psn + 1)
    same("syndrome", got.syndrome, rc.NAK_ACCESS)
    same("MSN", got.msn, 1)


# SPEC "The last word"

EMPTY = fr.pack("reth", 0, 0, 0)


def dying(world, **more):
    """A connection whose queue pair died of NAK 61, two PSNs executed."""
    conn = world.conn(**more)
    conn.alive()
    conn.alive()
    conn.peer.raw(fr.SEND_MIDDLE, FULL)
    conn.nak(rc.NAK_INV)
    return conn


LAST_WORD = {
    "past": (fr.SEND_ONLY, b"x", -1, rc.ACK, -1),
    "past empty WRITE": (fr.WRITE_ONLY, EMPTY, -2, rc.ACK, -1),
    "the same again": (fr.SEND_MIDDLE, FULL, 0, rc.NAK_INV, 0),
    "another at that PSN": (fr.SEND_ONLY, b"x", 0, rc.NAK_INV, 0),
    "empty WRITE": (fr.WRITE_ONLY, EMPTY, 0, rc.NAK_OP, 0),
    "past READ": (fr.READ_REQUEST, EMPTY, -1, rc.NAK_OP, -1),
}


@SUITE.rows("last word", LAST_WORD)
def last_word(world, opcode, body, where, syndrome, answer):
    """A queue pair that died because of a request answers when asked."""
    conn = dying(world)
    for _ in range(3):
        conn.peer.raw(opcode, body, psn=conn.peer.psn + where)
        conn.answer(syndrome, conn.peer.psn + answer)
    if syndrome == rc.NAK_OP:
        conn.peer.raw(fr.SEND_ONLY, b"x")
        conn.answer(rc.NAK_OP)


@SUITE.case("last word: ahead is ignored")
def last_word_ahead(world):
    """rx_no_qp, and no answer."""
    conn = dying(world)
    with world.counts(rx_no_qp=1):
        conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + 1, ackreq=True)
    conn.silent(0)


@SUITE.case("last word: from another address")
def last_word_other(world):
    """Only the peer is answered."""
    conn = dying(world)
    with world.counts(rx_no_qp=1):
        conn.peer.raw(fr.SEND_ONLY, b"x", src_ip=world.station.ip + 1)
    conn.silent(0)


@SUITE.case("last word: 63 times at most")
def last_word_often(world):
    """After the first that came unasked; then the queue pair is silent."""
    conn = dying(world)
    for _ in range(63):
        conn.peer.raw(fr.SEND_ONLY, b"x")
        conn.nak(rc.NAK_INV)
    for _ in range(3):
        conn.peer.raw(fr.SEND_ONLY, b"x")
        conn.silent()


@SUITE.case("last word: an answer of RC is ignored in ERR")
def last_word_ack(world):
    """rx_no_qp."""
    conn = dying(world)
    with world.counts(rx_no_qp=1):
        conn.peer.ack(conn.peer.epsn)
    conn.silent(0)
