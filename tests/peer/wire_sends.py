# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Vendor acknowledgements" with the NIC as requester, and what a
NIC sends and when ("The requester of RC")."""

import time

import frame as fr
import rc
from check import Suite, check, same
from names import Wc, Wcs, Wd, Wr, WrFlag
from wire_requester import (AETH, FIRST, FULL, KEY, VA, patient, reads, sends,
                            writes)
from world import MTU

SUITE = Suite()
EMPTY = fr.pack("reth", 0, 0, 0)


# Vendor acknowledgements

@SUITE.rows("RETRY_AFTER", {"0 us": (0, 0), "50 us": (50, 0),
                            "20 ms": (20000, 0.02)})
def retry_after(world, delay, least):
    """The same again after the delay; neither retry is used."""
    conn = patient(world, retry_cnt=0, rnr_retry=0)
    world.data.fill(FULL * 2)
    conn.qp.write(VA, KEY, [world.data.sge(0, 2 * MTU)])
    for _ in range(10 if delay < 1000 else 2):
        for opcode, at in ((fr.WRITE_FIRST, 0), (fr.WRITE_LAST, 1)):
            packet = conn.expect(opcode, FIRST + at)
        begin = time.monotonic()
        conn.peer.vack(FIRST, rc.RETRY_AFTER, delay)
    packet = conn.expect(fr.WRITE_FIRST, FIRST)
    same("RETH", packet.header("reth"), (VA, KEY, 2 * MTU))
    check(time.monotonic() - begin >= least, "it came too early")
    conn.expect(fr.WRITE_LAST, FIRST + 1)
    conn.peer.ack(FIRST + 1)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.case("RETRY_AFTER: more than 1 s is taken as 1 s")
def retry_after_long(world):
    """Delay ffffffff."""
    conn = patient(world)
    sends(conn, 1)
    begin = time.monotonic()
    conn.peer.vack(FIRST, rc.RETRY_AFTER, 0xffffffff)
    packet = conn.recv(3)
    took = time.monotonic() - begin
    same("opcode", packet.opcode, fr.SEND_ONLY)
    check(0.99 < took < 1.5, "after %.3f s" % took)


@SUITE.case("RETRY_AFTER: 4096 for one PSN", long=True)
def retry_after_often(world):
    """One more ends the request RNR_RETRY_EXC_ERR."""
    conn = patient(world)
    sends(conn, 1)
    for _ in range(4096):
        conn.peer.vack(FIRST, rc.RETRY_AFTER, 10)
        check(conn.peer.recv(world.patience), "nothing came again")
    conn.no_completion()
    conn.peer.vack(FIRST, rc.RETRY_AFTER, 10)
    conn.completion(status=Wcs.RNR_RETRY_EXC_ERR)
    conn.dead()


def blanks(conn, first, count):
    """The next packets are empty WRITEs with these PSNs."""
    for at in range(count):
        conn.expect(fr.WRITE_ONLY, first + at, EMPTY)


@SUITE.rows("EVICTED of a WRITE", {
    "first packet": (0, Wd.NONE),
    "second packet": (1, Wd.BUSY),
    "last packet": (2, Wd.BUSY)})
def evicted_write(world, at, detail):
    """REM_EVICTED; its PSNs from there on come as empty WRITEs, then the
    requests behind it with theirs. No retry is used; the queue goes on."""
    conn = patient(world, retry_cnt=0)
    writes(world, conn, 3)
    conn.qp.send(inline=b"data", wr_id=9)
    conn.expect(fr.SEND_ONLY, FIRST + 3)
    for _ in range(2):
        conn.peer.vack(FIRST + at, rc.EVICTED)
        blanks(conn, FIRST + at, 3 - at)
        conn.expect(fr.SEND_ONLY, FIRST + 3, b"data")
    conn.silent()
    conn.peer.ack(FIRST + 3)
    conn.completion(wr_id=0, status=Wcs.REM_EVICTED, detail=detail)
    conn.completion(wr_id=9, status=Wcs.SUCCESS)


@SUITE.rows("vendor acknowledgement of reason", {
    str(n): (n,) for n in (0, 3, 7, 0xffffffff)})
def unknown_reason(world, reason):
    """Ignored, but for what it acknowledges; the time-out sends again."""
    conn = patient(world)
    writes(world, conn, 3)
    with world.counts(rx_bad_opcode=1):
        conn.peer.vack(FIRST + 1, reason)
        conn.silent(0.02)
    conn.peer.ack(FIRST + 2)
    conn.completion(wr_id=0, status=Wcs.SUCCESS)


@SUITE.rows("REFUSED of a tagged message", {
    "one packet": (1,), "three packets": (3,)})
def refused_tagged(world, count):
    """SUCCESS with length 0 and why; its last PSN comes as an empty WRITE,
    then the requests behind it with theirs. No retry is used."""
    conn = patient(world, retry_cnt=0)
    conn.qp.tagged(77, 5, 0, [world.data.sge(0, count * MTU - 24)], wr_id=0)
    last = FIRST + count - 1
    for at in range(count):
        same("PSN", conn.recv().psn, FIRST + at)
    conn.qp.send(inline=b"data", wr_id=9)
    conn.expect(fr.SEND_ONLY, last + 1)
    for _ in range(2):
        conn.peer.vack(last, rc.REFUSED, 17)
        conn.expect(fr.WRITE_ONLY, last, EMPTY)
        conn.expect(fr.SEND_ONLY, last + 1, b"data")
    conn.silent()
    conn.no_completion()
    conn.peer.ack(last + 1)
    done = conn.completion(wr_id=0, opcode=Wc.TOKEN, status=Wcs.SUCCESS)
    same("byte_len, detail", (done.byte_len, done.detail), (0, 17))
    conn.completion(wr_id=9, status=Wcs.SUCCESS)


@SUITE.rows("REFUSED that is not believed", {
    "not the last PSN": (1, 17), "no reason": (2, 0), "256": (2, 256)})
def refused_odd(world, at, why):
    """Ignored, but for what it acknowledges."""
    conn = patient(world)
    conn.qp.tagged(77, 5, 0, [world.data.sge(0, 3 * MTU - 24)], wr_id=0)
    for _ in range(3):
        conn.recv()
    with world.counts(rx_bad_opcode=1):
        conn.peer.vack(FIRST + at, rc.REFUSED, why)
        conn.silent(0.02)
    conn.peer.ack(FIRST + 2)
    done = conn.completion(wr_id=0, status=Wcs.SUCCESS)
    same("byte_len, detail", (done.byte_len, done.detail), (3 * MTU - 24, 0))


@SUITE.rows("EVICTED of a READ", {"no response": (0, Wd.NONE),
                                  "one response": (1, Wd.BUSY)})
def evicted_read(world, got, detail):
    """All PSNs of its response from there on come as empty WRITEs."""
    conn = patient(world)
    reads(world, conn, 4)
    if got:
        conn.peer.raw(fr.READ_FIRST, AETH + FULL, psn=FIRST)
    conn.peer.vack(FIRST + got, rc.EVICTED)
    blanks(conn, FIRST + got, 4 - got)
    conn.peer.ack(FIRST + 3)
    conn.completion(status=Wcs.REM_EVICTED, detail=detail)
    conn.qp.send(inline=b"data", wr_id=9)
    conn.expect(fr.SEND_ONLY, FIRST + 4)
    conn.peer.ack(FIRST + 4)
    conn.completion(wr_id=9, status=Wcs.SUCCESS)


@SUITE.case("EVICTED: packets that were not sent are never sent")
def evicted_unsent(world):
    """A WRITE beyond the window: 256 empty WRITEs, then the next request
    with the next PSN."""
    conn = patient(world)
    region = world.region(300 * MTU)
    conn.qp.write(VA, KEY, [region.sge()], wr_id=0)
    conn.qp.send(inline=b"data", wr_id=1)
    for at in range(256):
        same("PSN", conn.recv().psn, FIRST + at)
    conn.silent()
    conn.peer.vack(FIRST, rc.EVICTED)
    blanks(conn, FIRST, 256)
    conn.peer.ack(FIRST + 255)
    conn.expect(fr.SEND_ONLY, FIRST + 256, b"data")
    conn.peer.ack(FIRST + 256)
    conn.completion(wr_id=0, status=Wcs.REM_EVICTED)
    conn.completion(wr_id=1, status=Wcs.SUCCESS)


# What is sent, and when

@SUITE.case("window: 256 PSNs, ACK requested at 31 modulo 32 and in the last")
def window(world):
    """More is sent as acknowledgements come."""
    conn = patient(world)
    region = world.region(300 * MTU)
    conn.qp.send([region.sge()], wr_id=0)
    for at in range(256):
        packet = conn.recv()
        same("PSN", packet.psn, FIRST + at)
        same("ackreq of %s" % packet, packet.ackreq, packet.psn & 31 == 31)
    conn.silent()
    conn.peer.ack(FIRST + 9)
    for at in range(256, 266):
        same("PSN", conn.recv().psn, FIRST + at)
    conn.silent()
    conn.peer.ack(FIRST + 265)
    for at in range(266, 300):
        packet = conn.recv()
    same("PSN", packet.psn, FIRST + 299)
    same("ackreq of the last", packet.ackreq, True)
    conn.peer.ack(FIRST + 299)
    conn.completion(status=Wcs.SUCCESS, byte_len=300 * MTU)


@SUITE.rows("READs outstanding", {str(n): (n,) for n in (1, 2, 4, 15)})
def reads_outstanding(world, limit):
    """At most max_rd; the next goes out when the oldest has its response."""
    conn = patient(world, max_rd=limit)
    for at in range(limit + 1):
        conn.qp.read(VA, KEY, [world.data.sge(0, 16)], wr_id=at)
    for at in range(limit):
        conn.expect(fr.READ_REQUEST, FIRST + at)
    conn.silent()
    conn.peer.raw(fr.READ_ONLY, AETH + bytes(16), psn=FIRST)
    conn.expect(fr.READ_REQUEST, FIRST + limit)


@SUITE.rows("refused at once", {
    "READ with max_rd 0": (Wr.READ, dict(max_rd=0), True),
    "FETCH_ADD with max_rd 0": (Wr.FETCH_ADD, dict(max_rd=0), True),
    "TOKEN to a conventional peer": (Wr.TOKEN, {}, False)})
def refused(world, opcode, wishes, vendor):
    """LOC_QP_OP_ERR, detail OPCODE; nothing goes to the wire."""
    conn = patient(world, vendor=vendor, **wishes)
    conn.qp.post_send(opcode, [world.data.sge(0, 16)], remote=VA, rkey=KEY)
    conn.completion(status=Wcs.LOC_QP_OP_ERR, detail=Wd.OPCODE)
    conn.silent()
    conn.dead()


@SUITE.case("FENCE waits for earlier READs")
def fence(world):
    """The SEND goes out when the READ has its response."""
    conn = patient(world)
    reads(world, conn, 1)
    conn.qp.send(inline=b"data",
                 flags=WrFlag.SIGNALED | WrFlag.FENCE)
    conn.silent()
    conn.peer.respond(FIRST, FULL)
    conn.expect(fr.SEND_ONLY, FIRST + 1)


@SUITE.rows("time-out", {"retry_cnt %d" % n: (n,) for n in (0, 1, 3)})
def timeout(world, retries):
    """Each uses up one retry and sends all again; none left:
    RETRY_EXC_ERR, ERR, and nothing is sent."""
    conn = world.conn(timeout=12, retry_cnt=retries)
    with world.counts(timeouts=retries + 1, retransmits=retries):
        begin = time.monotonic()
        sends(conn, 2)
        for number in range(1, retries + 1):
            for at in range(2):
                conn.expect(fr.SEND_ONLY, FIRST + at, b"data")
            took = time.monotonic() - begin
            check(took >= number * 0.0167,
                  "time-out %d after %.4f s" % (number, took))
        conn.completion(wr_id=0, status=Wcs.RETRY_EXC_ERR)
        conn.completion(wr_id=1, status=Wcs.WR_FLUSH_ERR)
    conn.silent()
    conn.dead()


@SUITE.rows("time-out is counted", {
    "from the first packet, not from later ones": (False, 0),
    "anew from what moves the oldest": (True, 0.3)})
def timeout_from(world, acks, since):
    """Time-out 17 is 537 ms; 300 ms after the first packet another one goes
    out, or the first is acknowledged."""
    conn = world.conn(timeout=17)
    begin = time.monotonic()
    sends(conn, 2)
    world.station.poll(0.3)
    sent = time.monotonic()
    if acks:
        conn.peer.ack(FIRST)
    else:
        conn.qp.send(inline=b"data")
        conn.expect(fr.SEND_ONLY, FIRST + 2)
    conn.expect(fr.SEND_ONLY, FIRST + acks)
    again = time.monotonic()
    check(again - begin >= 0.536 + since, "after %.3f s" % (again - begin))
    check(acks or again - sent < 0.536, "%.3f s after the last" % (
        again - sent))


@SUITE.case("time-out of a READ asks for the rest")
def timeout_read(world):
    """Two of four responses came: PSN, address and length of the rest."""
    conn = world.conn(timeout=16)
    reads(world, conn, 4)
    conn.peer.raw(fr.READ_FIRST, AETH + FULL, psn=FIRST)
    conn.peer.raw(fr.READ_MIDDLE, FULL, psn=FIRST + 1)
    conn.expect(fr.READ_REQUEST, FIRST + 2,
                fr.pack("reth", VA + 2 * MTU, KEY, 2 * MTU))
    conn.peer.respond(FIRST + 2, FULL * 2)
    conn.completion(status=Wcs.SUCCESS, byte_len=4 * MTU)


@SUITE.rows("message", {
    "SEND, imm, solicited": (
        Wr.SEND_IMM, [fr.SEND_FIRST, fr.SEND_MIDDLE, fr.SEND_LAST_IMM]),
    "SEND": (Wr.SEND, [fr.SEND_FIRST, fr.SEND_MIDDLE, fr.SEND_LAST]),
    "SEND, invalidate": (
        Wr.SEND_INV, [fr.SEND_FIRST, fr.SEND_MIDDLE, fr.SEND_LAST_INV]),
    "WRITE": (Wr.WRITE, [fr.WRITE_FIRST, fr.WRITE_MIDDLE, fr.WRITE_LAST]),
    "WRITE, imm": (
        Wr.WRITE_IMM, [fr.WRITE_FIRST, fr.WRITE_MIDDLE, fr.WRITE_LAST_IMM])})
def message(world, opcode, want):
    """Opcodes, headers, payloads and the solicited bit of three packets."""
    conn = patient(world)
    data = (FULL * 3)[:2 * MTU + 5]
    world.data.fill(data)
    imm = 0x01020304 if opcode in (Wr.SEND_IMM, Wr.WRITE_IMM) else 0
    conn.qp.post_send(opcode, [world.data.sge(0, len(data))], imm=imm,
                      remote=VA, rkey=KEY,
                      flags=WrFlag.SIGNALED | WrFlag.SOLICITED)
    got = [conn.recv() for _ in range(3)]
    same("opcodes", [p.opcode for p in got], want)
    same("data", b"".join(p.payload for p in got) == data, True)
    same("solicited", [p.solicited for p in got], [False, False, True])
    if opcode in (Wr.WRITE, Wr.WRITE_IMM):
        same("RETH", got[0].header("reth"), (VA, KEY, len(data)))
    if imm:
        same("immediate", got[2].header("imm")[0], imm)
    if opcode == Wr.SEND_INV:
        same("key", got[2].header("ieth")[0], KEY)
    conn.peer.ack(FIRST + 2)
    conn.completion(status=Wcs.SUCCESS, byte_len=len(data))


@SUITE.case("message: tagged")
def message_tagged(world):
    """TKETH with index, key, lengths and offset; MTU bytes behind it."""
    conn = patient(world)
    data = (FULL * 3)[:2 * MTU + 5]
    world.data.fill(data)
    key = 0x1122334455667788
    conn.qp.tagged(77, key, 100, [world.data.sge(0, len(data))], offset=4096)
    got = [conn.recv() for _ in range(3)]
    same("opcodes", [p.opcode for p in got],
         [fr.TOKEN_FIRST, fr.TOKEN_MIDDLE, fr.TOKEN_LAST])
    same("TKETH", got[0].header("tketh"),
         (77, key, len(data) - 100, 100, 4096))
    same("data", b"".join(p.payload for p in got) == data, True)
    conn.peer.ack(FIRST + 2)
    conn.completion(status=Wcs.SUCCESS, opcode=Wc.TOKEN)
