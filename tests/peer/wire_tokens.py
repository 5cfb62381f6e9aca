# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Tagged messages", with the NIC as responder. A refusal is
answered by a positive acknowledgement, or, to a peer that understands it,
by REFUSED."""

import time

import frame as fr
import rc
from check import Skipped, Suite, check, same
from names import Op, Qpt, Up, Wc, Wcs
from world import MTU, OTHER_IP, PEER_IP, RECEIVE

SUITE = Suite()
FULL = bytes(range(256)) * (MTU // 256)
CONTROL = b"control part"
USED, CANCELLED, EXPIRED, EVICTED, ABORTED = 1, 2, 3, 4, 5
BAD_KEY, TOO_LONG, WRONG_SENDER, BUSY = 16, 17, 18, 19
PAYLOADS = {"no payload": 0, "1 byte": 1, "one packet": MTU - len(CONTROL),
            "a byte more": MTU - len(CONTROL) + 1, "many packets": 20000}


def deliver(world, conn, index, key, payload, control=CONTROL, offset=0):
    """Sends a tagged message, which is acknowledged; its completion."""
    request = conn.peer.tagged(index, key, control, payload, offset)
    same("answer", conn.peer.finish(request), "ok")
    return conn.completion(opcode=Wc.RECV_TOKEN, status=Wcs.SUCCESS)


@SUITE.rows("tagged", {name: (size,) for name, size in PAYLOADS.items()})
def placed(world, size):
    """The control part goes to the receive, the payload to the token's
    buffer, and not a byte beyond."""
    region = world.region(32768)
    region.fill(b"\xee" * region.length)
    token = world.process.token_alloc(region, 64, 20000)
    conn = world.conn(recvs=1)
    payload = (FULL * 20)[:size]
    with world.counts(tokens_used=1, token_bad_key=0):
        done = deliver(world, conn, token.index, token.key, payload)
    same("byte_len, imm, token, detail",
         (done.byte_len, done.imm, done.token, done.detail),
         (len(CONTROL), size, token.index, 0))
    same("control part", world.buffers.bytes(0, len(CONTROL)), CONTROL)
    same("payload", region.bytes(64, size) == payload, True)
    same("before", region.bytes(60, 4), b"\xee" * 4)
    same("behind", region.bytes(64 + size, 4), b"\xee" * 4)


@SUITE.rows("tagged", {"offset": (100, b""), "no control part": (0, b""),
                       "128 bytes of control part": (0, FULL[:128])})
def placed_at(world, offset, control):
    """An offset in the token's buffer, and the shortest and longest control
    part; a receive is used up in each case."""
    region = world.region(4096)
    token = world.process.token_alloc(region)
    conn = world.conn(recvs=1)
    done = deliver(world, conn, token.index, token.key, b"payload", control,
                   offset)
    same("detail", done.detail, 0)
    same("byte_len", done.byte_len, len(control))
    same("payload", region.bytes(offset, 7), b"payload")
    same("control part", world.buffers.bytes(0, len(control)), control)


def no_index(world, conn):
    """An index that the table does not have."""
    return 1 << 20, 1, {}


def never(world, conn):
    """An index that perhaps had no token."""
    return 1000, 1, {}


def other_key(world, conn):
    """One bit of the key is wrong."""
    token = world.process.token_alloc(world.data)
    return token.index, token.key ^ 1 << 40, {}


def used(world, conn):
    """A token that has had its message."""
    token = world.process.token_alloc(world.data)
    deliver(world, conn, token.index, token.key, b"first")
    return token.index, token.key, {}


def used_other_key(world, conn):
    """A token that has ended, by another key: not told how it ended."""
    index, key, _ = used(world, conn)
    return index, key ^ 1, {}


def cancelled(world, conn):
    """TOKEN_CANCEL."""
    token = world.process.token_alloc(world.data)
    world.process.token_cancel(token.id)
    return token.index, token.key, {}


def expired(world, conn):
    """Its ttl_us are over."""
    token = world.process.token_alloc(world.data, ttl_us=1000)
    time.sleep(0.01)
    return token.index, token.key, {}


def evicted(world, conn):
    """Its region was taken back."""
    region = world.region(4096)
    token = world.process.token_alloc(region)
    world.evict(region)
    return token.index, token.key, {}


def aborted(world, conn):
    """The queue pair that received its message died midway."""
    token = world.process.token_alloc(world.data)
    other = world.conn(recvs=1)
    other.peer.put(fr.TOKEN_FIRST, fr.pack(
        "tketh", token.index, token.key, 3 * MTU, 0, 0) + FULL)
    other.peer.raw(fr.SEND_ONLY)
    other.nak(rc.NAK_INV)
    end = world.process.upcall(Up.TOKEN_END, id=token.id)
    check(end, "no upcall TOKEN_END")
    same("end, placed", (end.end, end.placed), (ABORTED, MTU))
    return token.index, token.key, {}


def another_domain(world, conn):
    """A token of another protection domain."""
    region = world.region(4096, pd=world.other_pd)
    token = world.process.token_alloc(region)
    return token.index, token.key, {}


def beyond(world, conn):
    """The payload is longer than the buffer."""
    token = world.process.token_alloc(world.data, 0, 8)
    return token.index, token.key, {}


def beyond_by_offset(world, conn):
    """Offset and payload together."""
    token = world.process.token_alloc(world.data, 0, 64)
    return token.index, token.key, {"offset": 60}


def offset_of_2_30(world, conn):
    """The largest offset."""
    token = world.process.token_alloc(world.data, 0, 64)
    return token.index, token.key, {"offset": 1 << 30}


def other_address(world, conn):
    """Bound to another host."""
    token = world.process.token_alloc(world.data, sender_ipv4=OTHER_IP)
    return token.index, token.key, {}


def other_queue(world, conn):
    """Bound to another queue pair of this host."""
    token = world.process.token_alloc(world.data, sender_ipv4=PEER_IP,
                                      sender_qpn=conn.peer.qpn ^ 1)
    return token.index, token.key, {}


def busy(world, conn):
    """Claimed by a message that is arriving on another connection."""
    token = world.process.token_alloc(world.data)
    other = world.conn(recvs=1)
    other.peer.put(fr.TOKEN_FIRST, fr.pack(
        "tketh", token.index, token.key, 3 * MTU, 0, 0) + FULL, ackreq=True)
    other.ack()
    return token.index, token.key, {}


REFUSED = {
    "no such index": (no_index, BAD_KEY, "token_bad_key"),
    "index without token": (never, BAD_KEY, "token_bad_key"),
    "wrong key": (other_key, BAD_KEY, "token_bad_key"),
    "claimed": (busy, BUSY, "token_busy"),
    "used": (used, USED, "token_ended_used"),
    "used, wrong key": (used_other_key, BAD_KEY, "token_bad_key"),
    "cancelled": (cancelled, CANCELLED, "token_ended_cancelled"),
    "expired": (expired, EXPIRED, "token_ended_expired"),
    "evicted": (evicted, EVICTED, "token_region"),
    "aborted": (aborted, ABORTED, "token_ended_aborted"),
    "another domain": (another_domain, BAD_KEY, "token_bad_key"),
    "too long": (beyond, TOO_LONG, "token_too_long"),
    "too long by its offset": (beyond_by_offset, TOO_LONG, "token_too_long"),
    "offset 2^30": (offset_of_2_30, TOO_LONG, "token_too_long"),
    "another address": (other_address, WRONG_SENDER, "token_wrong_sender"),
    "another queue pair": (other_queue, WRONG_SENDER, "token_wrong_sender"),
}
SIZES = {"one packet": 16, "three packets": 2 * MTU + 100}


@SUITE.rows("refused", {"%s, %s" % (n, s): row + (size,)
                        for n, row in REFUSED.items()
                        for s, size in SIZES.items()})
def refused(world, make, detail, counter, size):
    """ACK; the payload is dropped to the last packet, the control part
    delivered; imm 0, detail says why. The connection lives."""
    conn = world.conn(recvs=3)
    index, key, more = make(world, conn)
    before = world.data.bytes()
    with world.counts(**{counter: 1}):
        done = deliver(world, conn, index, key, b"\x5a" * size, CONTROL,
                       **more)
    same("byte_len, imm, token, detail",
         (done.byte_len, done.imm, done.token, done.detail),
         (len(CONTROL), 0, index, detail))
    at = done.wr_id * RECEIVE
    same("control part", world.buffers.bytes(at, len(CONTROL)), CONTROL)
    same("nothing placed", world.data.bytes() == before, True)
    conn.alive()


TOLD = 3    # `vendor` of a peer that understands REFUSED


@SUITE.rows("told", {"%s, %s" % (n, s): row + (size,)
                     for n, row in REFUSED.items()
                     for s, size in SIZES.items()})
def told(world, make, detail, counter, size):
    """REFUSED, why, for the last PSN; an empty WRITE with that PSN, and the
    receive completes as ever, once."""
    conn = world.conn(vendor=TOLD, recvs=3)
    index, key, more = make(world, conn)
    with world.counts(**{counter: 1}):
        request = conn.peer.tagged(index, key, CONTROL, b"\x5a" * size, **more)
        same("answer", conn.peer.finish(request), "refused")
    same("why", request.why, detail)
    done = conn.completion(opcode=Wc.RECV_TOKEN, status=Wcs.SUCCESS)
    same("byte_len, imm, token, detail",
         (done.byte_len, done.imm, done.token, done.detail),
         (len(CONTROL), 0, index, detail))
    at = done.wr_id * RECEIVE
    same("control part", world.buffers.bytes(at, len(CONTROL)), CONTROL)
    conn.alive()
    conn.no_completion()


def told_once(world):
    """A refused message of one packet, which was answered REFUSED."""
    conn = world.conn(vendor=TOLD, recvs=2)
    index, key, _ = other_key(world, conn)
    body = fr.pack("tketh", index, key, 4, len(CONTROL), 0) + CONTROL + b"data"
    conn.peer.raw(fr.TOKEN_ONLY, body, ackreq=True)
    conn.vack(rc.REFUSED, delay=BAD_KEY)
    conn.no_completion()
    return conn, body


@SUITE.case("told until the peer knows")
def told_again(world):
    """The packet again: REFUSED again. What is ahead is ignored; the empty
    WRITE is acknowledged, and then the message is complete."""
    conn, body = told_once(world)
    conn.peer.raw(fr.SEND_ONLY, b"ahead", psn=conn.peer.psn + 1, ackreq=True)
    conn.silent()
    for _ in range(2):
        conn.peer.raw(fr.TOKEN_ONLY, body, ackreq=True)
        conn.vack(rc.REFUSED, delay=BAD_KEY)
    conn.no_completion()
    conn.peer.put(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True)
    conn.ack()
    conn.completion(opcode=Wc.RECV_TOKEN, detail=BAD_KEY, imm=0)
    conn.peer.put(fr.SEND_ONLY, b"behind", ackreq=True)
    conn.ack()
    conn.completion(opcode=Wc.RECV, byte_len=6)


@SUITE.rows("told, and goes on with", {
    "a SEND": (fr.SEND_ONLY, b"x"),
    "a WRITE of a byte": (fr.WRITE_ONLY, fr.pack("reth", 0, 0, 1) + b"x"),
    "a first packet": (fr.TOKEN_FIRST, fr.pack(
        "tketh", 0, 0, 3 * MTU, 0, 0) + FULL)})
def told_odd(world, opcode, body):
    """NAK 61: only the message again or the empty WRITE has that PSN."""
    conn, _ = told_once(world)
    conn.peer.raw(opcode, body, ackreq=True)
    conn.nak(rc.NAK_INV)
    conn.dead()


def begin(world):
    """A message of three packets, the first of which has arrived, and a
    TOKEN_CANCEL of its token without a reply yet."""
    region = world.region(16384)
    region.fill(b"\xee" * region.length)
    token = world.process.token_alloc(region)
    conn = world.conn(recvs=2)
    conn.peer.put(fr.TOKEN_FIRST, fr.pack(
        "tketh", token.index, token.key, 3 * MTU, 0, 0) + FULL, ackreq=True)
    conn.ack()
    return region, token, conn, world.process.send(Op.TOKEN_CANCEL, id=token.id)


@SUITE.case("TOKEN_CANCEL amid a message that goes on")
def cancel_used(world):
    """Answered when the message has ended: USED. No upcall tells of it, too."""
    with world.long_grace():
        region, token, conn, asked = begin(world)
        conn.peer.put(fr.TOKEN_MIDDLE, FULL)
        conn.peer.put(fr.TOKEN_LAST, FULL, ackreq=True)
        conn.ack()
        reply = world.process.wait(asked)
    same("status, end, placed", (reply.status, reply.end, reply.placed),
         (0, USED, 3 * MTU))
    done = conn.completion(opcode=Wc.RECV_TOKEN)
    same("detail, imm", (done.detail, done.imm), (0, 3 * MTU))
    same("bytes", region.bytes(0, 3 * MTU) == FULL * 3, True)
    check(not world.process.upcall(Up.TOKEN_END, timeout=0.05, id=token.id),
          "it was told twice")


@SUITE.case("TOKEN_CANCEL amid a message of a peer that stops")
def cancel_stopped(world):
    """CANCELLED when T is over, and the rest of the message is refused; the
    connection lives."""
    with world.counts(tokens_cancelled=1, token_ended_cancelled=1,
                      tokens_used=0):
        since = time.monotonic()
        region, token, conn, asked = begin(world)
        reply = world.process.wait(asked)
    check(time.monotonic() - since >= 0.02, "T was not over")
    same("status, end, placed", (reply.status, reply.end, reply.placed),
         (0, CANCELLED, MTU))
    conn.peer.put(fr.TOKEN_MIDDLE, FULL)
    conn.peer.put(fr.TOKEN_LAST, FULL, ackreq=True)
    conn.ack()
    done = conn.completion(opcode=Wc.RECV_TOKEN)
    same("detail, imm", (done.detail, done.imm), (CANCELLED, 0))
    same("bytes", region.bytes(MTU, 2 * MTU), b"\xee" * (2 * MTU))
    conn.alive()


@SUITE.case("a token bound to us is used")
def bound(world):
    """sender_ipv4 and sender_qpn are those of the connection."""
    conn = world.conn(recvs=1)
    token = world.process.token_alloc(world.data, 0, 64, sender_ipv4=PEER_IP,
                                      sender_qpn=conn.peer.qpn)
    same("detail", deliver(world, conn, token.index, token.key, b"x").detail,
         0)


@SUITE.case("a token MULTI takes many messages")
def multi(world):
    """Flag 1 of TOKEN_ALLOC: it does not end by use."""
    conn = world.conn(recvs=3)
    token = world.process.token_alloc(world.data, 0, 64, flags=1)
    for at in range(3):
        done = deliver(world, conn, token.index, token.key, b"xy", b"", at)
        same("detail", done.detail, 0)
    same("bytes", world.data.bytes(0, 4), b"xxxy")


@SUITE.case("page missing leaves the token unclaimed")
def missing(world):
    """RETRY_AFTER, and the same message comes again and is placed."""
    region = world.demand(64 << 10)
    token = world.process.token_alloc(region)
    conn = world.conn(recvs=1)
    request = conn.peer.tagged(token.index, token.key, b"c", FULL * 20)
    same("answer", conn.peer.finish(request), "ok")
    check(conn.peer.put_off > 0, "it was not put off")
    done = conn.completion(opcode=Wc.RECV_TOKEN)
    same("detail, imm", (done.detail, done.imm), (0, 20 * MTU))
    same("bytes", region.bytes(0, 20 * MTU) == FULL * 20, True)


@SUITE.case("time ends during a tagged message")
def cut(world):
    """EVICTED for the first PSN that was not placed, ERR, NAK 63 then; the
    token ends EVICTED or ABORTED."""
    region = world.region(16384)
    token = world.process.token_alloc(region)
    conn = world.conn(recvs=1)
    conn.peer.put(fr.TOKEN_FIRST, fr.pack(
        "tketh", token.index, token.key, 3 * MTU, 0, 0) + FULL, ackreq=True)
    conn.ack()
    world.evict(region)
    conn.peer.raw(fr.TOKEN_MIDDLE, FULL, ackreq=True)
    conn.vack(rc.EVICTED)
    conn.dead()
    conn.dead_nak()


def wrong_keys(world, conn, count):
    """Names `count` wrong keys in one go, each in a message of its own; the
    last answer."""
    for _ in range(count):
        conn.post_recv()
    for _ in range(count):
        conn.peer.put(fr.TOKEN_ONLY, fr.pack("tketh", 0, 0xbad, 0, 0, 0),
                      ackreq=True)
    last = conn.recv()
    while last.syndrome == rc.ACK and last.psn != conn.peer.psn - 1:
        last = conn.recv()
    conn.qp.poll()
    return last


@SUITE.case("wrong keys: beyond 16 in 100 ms RNR, code 27")
def guessing(world):
    """Each first packet of who guesses is put off until the time is over;
    QP_MODIFY to RTR is BUSY meanwhile, other requests are executed. Another
    queue pair of that peer, which named none, is not put off."""
    world.guess_rest()
    conn = world.conn(slots=64)
    other = world.conn(recvs=1)
    begin = time.monotonic()
    packet = wrong_keys(world, conn, 24)
    same("syndrome", packet.syndrome, rc.RNR | 27)
    named = packet.psn - 0x100
    if named > 16 and time.monotonic() > begin + 0.1:
        raise Skipped("the machine is too slow to see it")
    same("wrong keys", named, 16)
    conn.peer.psn = packet.psn
    token = world.process.token_alloc(world.data, 0, 64)
    conn.peer.raw(fr.TOKEN_ONLY, fr.pack("tketh", token.index, token.key, 0,
                                         0, 0), ackreq=True)
    packet = conn.recv()
    if packet.syndrome == rc.ACK and time.monotonic() > begin + 0.1:
        raise Skipped("the machine is too slow to see it")
    same("syndrome for a good key", packet.syndrome, rc.RNR | 27)
    done = deliver(world, other, token.index, token.key, b"x")
    same("detail at another queue pair", done.detail, 0)
    token = world.process.token_alloc(world.data, 0, 64)
    conn.peer.put(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True)
    conn.ack()
    while time.monotonic() < begin + 1:
        world.station.poll(0.005)
        conn.peer.raw(fr.TOKEN_ONLY, fr.pack(
            "tketh", token.index, token.key, 0, 0, 0), ackreq=True)
        packet = conn.recv()
        if packet.syndrome == rc.ACK:
            break
    same("at last", packet.syndrome, rc.ACK)
    took = time.monotonic() - begin
    check(0.05 < took < 0.5, "it took %.3f s" % took)
    world.guess_rest()


@SUITE.case("wrong keys: each beyond 16 prolongs the time by 6.25 ms")
def guessing_more(world):
    """Those beyond come from other queue pairs, of which none is put off
    before its own first: 100 ms, and 16 times 6.25 ms."""
    world.guess_rest()
    conn = world.conn(slots=64)
    others = [world.conn(recvs=1, slots=2) for _ in range(16)]
    begin = time.monotonic()
    packet = wrong_keys(world, conn, 20)
    for other in others:
        other.peer.put(fr.TOKEN_ONLY, fr.pack("tketh", 0, 0xbad, 0, 0, 0),
                       ackreq=True)
    for other in others:
        other.ack()
    if time.monotonic() > begin + 0.1:
        raise Skipped("the machine is too slow to see it")
    same("syndrome", packet.syndrome, rc.RNR | 27)
    conn.peer.psn = packet.psn
    while packet.syndrome != rc.ACK:
        check(time.monotonic() < begin + 1, "it is put off for ever")
        world.station.poll(0.005)
        conn.peer.raw(fr.TOKEN_ONLY, fr.pack("tketh", 0, 0xbad, 0, 0, 0),
                      ackreq=True)
        packet = conn.recv()
    took = time.monotonic() - begin
    check(0.2 <= took < 0.5, "it took %.3f s" % took)
    world.guess_rest()


@SUITE.case("wrong keys: QP_MODIFY to RTR is BUSY")
def guessing_modify(world):
    """Nobody gets a connection with that address until the time is over. A
    machine that is busy may be too slow to see it, so there are five
    tries."""
    late = world.conn(state=1)
    for _ in range(5):
        world.guess_rest()
        conn = world.conn(False, Qpt.UC)
        body = fr.pack("reth", world.data.iova, world.data.stag ^ 0x5500, 1)
        for _ in range(24):
            conn.peer.put(fr.UC + fr.WRITE_ONLY, body + b"x")
        world.station.barrier()
        reply = world.process.call(
            Op.QP_MODIFY, id=late.qp.id, state=2, mtu_shift=10,
            max_dest_rd=4, dest_qpn=late.peer.qpn, dest_ipv4=PEER_IP,
            dest_mac=world.station.mac)
        if reply.status:
            break
        late = world.conn(state=1)
    world.guess_rest()
    same("status", reply.status.name, "BUSY")
