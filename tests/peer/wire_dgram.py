# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "UC", "UD", "Odd packets: UC", and of "Odd packets: UD and
management" the rows of UD. Nothing of these is answered."""

import time

import frame as fr
import rc
from check import Suite, check, same
from names import Qps, Qpt, Rights, Wc, WcFlag, Wcs, Wd
from world import MTU, OTHER_MAC, PEER_IP, PEER_MAC, RECEIVE

SUITE = Suite()
FULL = bytes(range(256)) * (MTU // 256)
UC = fr.UC
QKEY = 0x12345


# UC

def uc(world, **more):
    """A connection of UC with one receive, unless said otherwise."""
    more.setdefault("recvs", 1)
    return world.conn(False, Qpt.UC, **more)


def receives(conn, text=b"hello", **fields):
    """The next SEND only is received, so all that came before is done."""
    conn.peer.put(UC + fr.SEND_ONLY, text)
    return conn.completion(opcode=Wc.RECV, status=Wcs.SUCCESS,
                           byte_len=len(text), **fields)


@SUITE.rows("UC: SEND of", {"0 bytes": (0,), "1 byte": (1,), "MTU": (MTU,),
                            "MTU + 1": (MTU + 1,), "3 packets": (3 * MTU,)})
def uc_send(world, size):
    """Received whole; nothing is answered, whatever the acknowledge
    request."""
    conn = uc(world)
    data = (FULL * 3)[:size]
    conn.peer.put_chain(rc.send_chain(data, MTU, base=UC))
    conn.completion(opcode=Wc.RECV, status=Wcs.SUCCESS, byte_len=size)
    same("bytes", world.buffers.bytes(0, size) == data, True)
    conn.silent(0)


@SUITE.case("UC: WRITE, and WRITE with immediate")
def uc_write(world):
    """Placed; with immediate a receive is used up."""
    conn = uc(world)
    world.data.fill(bytes(3 * MTU))
    data = FULL * 2 + b"end"
    conn.peer.put_chain(rc.write_chain(world.data.iova, world.data.stag, data,
                                       MTU, imm=77, base=UC))
    conn.completion(opcode=Wc.RECV_WRITE_IMM, imm=77, byte_len=len(data))
    same("bytes", world.data.bytes(0, len(data)) == data, True)


@SUITE.rows("UC: opcode", {"%02x" % op: (op,) for op in (
    fr.SEND_ONLY, fr.READ_REQUEST, fr.ACK, 0x2c, 0x36, 0x37, 0x64, 0xc3,
    0xd0)})
def uc_opcode(world, opcode):
    """Not 20..2b: dropped, its PSN is not looked at."""
    conn = uc(world)
    with world.counts(rx_bad_opcode=2, rx_out_of_seq=0):
        conn.peer.raw(opcode, bytes(24))
        conn.peer.raw(opcode, bytes(24), psn=conn.peer.psn + 9)
        receives(conn)


@SUITE.case("UC: another PSN than the next")
def uc_jump(world):
    """A SEND only is taken with any PSN, also one that is past."""
    conn = uc(world, recvs=3)
    for jump in (5, -100, 1 << 22):
        conn.peer.psn = rc.next_psn(conn.peer.psn, jump)
        with world.counts(rx_out_of_seq=1, uc_broken=0):
            receives(conn)


@SUITE.rows("UC: a packet is missing, then", {
    "middle": (fr.SEND_MIDDLE, FULL), "last": (fr.SEND_LAST, b"x")})
def uc_gap(world, opcode, body):
    """The message is dropped, its receive stays posted."""
    conn = uc(world)
    with world.counts(rx_out_of_seq=1, uc_broken=1):
        conn.peer.put(UC + fr.SEND_FIRST, FULL)
        conn.peer.psn += 1
        conn.peer.put(UC + opcode, body)
        receives(conn, wr_id=0)


@SUITE.case("UC: a packet is missing, then another message")
def uc_gap_only(world):
    """The old one is dropped, the new one taken in its receive."""
    conn = uc(world)
    with world.counts(rx_out_of_seq=1, uc_broken=1):
        conn.peer.put(UC + fr.SEND_FIRST, FULL)
        conn.peer.psn += 1
        receives(conn, wr_id=0)


@SUITE.rows("UC: within a message", {
    "SEND only": (fr.SEND_ONLY, b"hello"),
    "SEND first": (fr.SEND_FIRST, FULL)})
def uc_within(world, opcode, body):
    """The old message is dropped, this one is taken."""
    conn = uc(world)
    with world.counts(uc_broken=1, rx_out_of_seq=0):
        conn.peer.put(UC + fr.SEND_FIRST, FULL)
        conn.peer.put(UC + opcode, body)
        if opcode == fr.SEND_FIRST:
            conn.peer.put(UC + fr.SEND_LAST, b"end")
        conn.completion(wr_id=0, status=Wcs.SUCCESS)


@SUITE.rows("UC: of no message", {
    "SEND middle": (fr.SEND_MIDDLE, FULL), "SEND last": (fr.SEND_LAST, b"x"),
    "WRITE middle": (fr.WRITE_MIDDLE, FULL),
    "WRITE last": (fr.WRITE_LAST, b"x")})
def uc_skipped(world, opcode, body):
    """Dropped, uc_skipped."""
    conn = uc(world)
    with world.counts(uc_skipped=1, rx_out_of_seq=0):
        conn.peer.put(UC + opcode, body)
        receives(conn)


@SUITE.case("UC: last of another kind")
def uc_kind(world):
    """WRITE last of a SEND: uc_skipped."""
    conn = uc(world)
    with world.counts(uc_skipped=1):
        conn.peer.put(UC + fr.SEND_FIRST, FULL)
        conn.peer.put(UC + fr.WRITE_LAST, b"x")
    conn.no_completion()


@SUITE.rows("UC: shorter than its headers", {
    "SEND only imm": (fr.SEND_ONLY_IMM, b""),
    "WRITE only": (fr.WRITE_ONLY, bytes(12)),
    "WRITE first": (fr.WRITE_FIRST, b""),
    "WRITE only imm": (fr.WRITE_ONLY_IMM, bytes(16))})
def uc_short(world, opcode, body):
    """rx_short."""
    conn = uc(world)
    with world.counts(rx_short=1, rx_bad_opcode=0):
        conn.peer.put(UC + opcode, body)
        receives(conn)


def reth(world, length):
    """RETH of the world's region."""
    return fr.pack("reth", world.data.iova, world.data.stag, length)


@SUITE.rows("UC: wrong size", {
    "first shorter than MTU": ([], fr.SEND_FIRST, FULL[:-4]),
    "first longer than MTU": ([], fr.SEND_FIRST, FULL + b"abcd"),
    "middle shorter than MTU": ([(fr.SEND_FIRST, FULL)], fr.SEND_MIDDLE,
                                b"x"),
    "last of 0 bytes": ([(fr.SEND_FIRST, FULL)], fr.SEND_LAST, b""),
    "only above MTU": ([], fr.SEND_ONLY, FULL + b"x"),
    "WRITE only, fewer": ([], fr.WRITE_ONLY, (16, b"abcd")),
    "WRITE only, more": ([], fr.WRITE_ONLY, (2, b"abcd")),
    "WRITE above 2^30": ([], fr.WRITE_FIRST, ((1 << 30) + 1, FULL)),
    "WRITE last, fewer": ([(fr.WRITE_FIRST, (MTU + 8, FULL))],
                          fr.WRITE_LAST, b"abcd"),
    "WRITE last, more": ([(fr.WRITE_FIRST, (MTU + 2, FULL))],
                         fr.WRITE_LAST, b"abcd")})
def uc_size(world, before, opcode, body):
    """rx_bad_opcode; dropped with its message."""
    conn = uc(world)
    with world.counts(rx_bad_opcode=1):
        for one, data in before + [(opcode, body)]:
            if isinstance(data, tuple):
                data = reth(world, data[0]) + data[1]
            conn.peer.put(UC + one, data)
        receives(conn, wr_id=0)


def wrong_stag(world):
    """No region has this key."""
    return world.data.iova, world.data.stag ^ 0x5500


def out_of_bounds(world):
    """Not all bytes lie in the region."""
    return world.data.iova + world.data.length - 2, world.data.stag


def no_right(world):
    """No remote right."""
    region = world.region(4096, Rights.LOCAL_WRITE)
    return region.iova, region.stag


def other_domain(world):
    """Another protection domain."""
    region = world.region(4096, pd=world.other_pd)
    return region.iova, region.stag


def taken_back(world):
    """An evicted region."""
    region = world.region(4096)
    world.evict(region)
    return region.iova, region.stag


@SUITE.rows("UC: refused", {
    "key": (wrong_stag, "access_stag"),
    "bounds": (out_of_bounds, "access_bounds"),
    "rights": (no_right, "access_rights"),
    "domain": (other_domain, "access_pd"),
    "evicted": (taken_back, "access_evicted")})
def uc_refused(world, where, counter):
    """unrel_refused, and which step; the queue pair lives."""
    conn = uc(world)
    va, key = where(world)
    with world.counts(**{counter: 1, "unrel_refused": 1}):
        conn.peer.put(UC + fr.WRITE_ONLY, fr.pack("reth", va, key, 4)
                      + b"data")
        receives(conn)


@SUITE.case("UC: a queue pair that grants nothing")
def uc_not_granted(world):
    """unrel_refused."""
    conn = uc(world, rights=0)
    with world.counts(unrel_refused=1):
        conn.peer.put(UC + fr.WRITE_ONLY, reth(world, 4) + b"data")
        receives(conn)


@SUITE.case("UC: 16 wrong keys hold off the peer's WRITEs")
def uc_guess(world):
    """For a while WRITEs of right keys are dropped, too."""
    world.guess_rest()
    conn = uc(world)
    world.data.fill(b"....")
    bad = fr.pack("reth", world.data.iova, world.data.stag ^ 0x5500, 4)
    for _ in range(24):
        conn.peer.put(UC + fr.WRITE_ONLY, bad + b"data")
    conn.peer.put(UC + fr.WRITE_ONLY, reth(world, 4) + b"held")
    receives(conn)
    same("bytes", world.data.bytes(0, 4), b"....")
    world.guess_rest()
    conn.post_recv()
    conn.peer.put(UC + fr.WRITE_ONLY, reth(world, 4) + b"free")
    receives(conn)
    same("bytes", world.data.bytes(0, 4), b"free")


@SUITE.rows("UC: no receive", {
    "SEND only": (fr.SEND_ONLY, b"x"),
    "SEND first": (fr.SEND_FIRST, FULL),
    "WRITE only imm": (fr.WRITE_ONLY_IMM,
                       fr.pack("reth", 0, 0, 0) + bytes(4))})
def uc_no_receive(world, opcode, body):
    """unrel_no_receive; dropped with its message."""
    conn = uc(world, recvs=0)
    with world.counts(unrel_no_receive=1):
        conn.peer.put(UC + opcode, body)
    conn.post_recv()
    receives(conn)


@SUITE.rows("UC: longer than the receive", {
    "SEND only": ([], fr.SEND_ONLY, bytes(65), 64),
    "SEND first": ([], fr.SEND_FIRST, FULL, 64),
    "SEND last": ([(fr.SEND_FIRST, FULL)], fr.SEND_LAST, bytes(65),
                  MTU + 64)})
def uc_too_long(world, before, opcode, body, size):
    """unrel_too_long; the receive stays posted."""
    conn = uc(world, recv_size=size)
    with world.counts(unrel_too_long=1):
        for one in before:
            conn.peer.put(UC + one[0], one[1])
        conn.peer.put(UC + opcode, body)
        receives(conn, wr_id=0)


@SUITE.case("UC: region taken back midway")
def uc_evicted(world):
    """uc_broken; the message is dropped, the queue pair lives."""
    conn = uc(world)
    region = world.region(4096)
    with world.counts(uc_broken=1):
        conn.peer.put(UC + fr.WRITE_FIRST, fr.pack(
            "reth", region.iova, region.stag, 3 * MTU) + FULL)
        world.station.barrier()
        world.evict(region)
        conn.peer.put(UC + fr.WRITE_MIDDLE, FULL)
        conn.peer.put(UC + fr.WRITE_LAST, FULL)
        receives(conn)


@SUITE.case("UC: receive with a bad buffer")
def uc_bad_receive(world):
    """It completes with the error, ERR."""
    conn = uc(world, recvs=0)
    sge = bytearray(world.buffers.sge(0, 64))
    sge[13] ^= 0x55
    conn.qp.post_recv([bytes(sge)], wr_id=3)
    conn.peer.put(UC + fr.SEND_ONLY, b"x")
    conn.completion(wr_id=3, status=Wcs.LOC_PROT_ERR, detail=Wd.STAG)
    conn.dead()


DROP, SUBSTITUTE, BOUNCE = 0, 1, 2      # enum unic_qp_miss
MISSES = {"drop": (DROP, "miss_dropped"),
          "bounce": (BOUNCE, "miss_bounced")}


@SUITE.rows("UC: page of a WRITE is missing", MISSES)
def uc_missing(world, miss, counter):
    """Dropped, or kept until the page is there."""
    conn = uc(world, miss=miss)
    region = world.demand()
    with world.counts(**{counter: 1}):
        conn.peer.put(UC + fr.WRITE_ONLY, fr.pack(
            "reth", region.iova, region.stag, 4) + b"data")
    receives(conn)
    want = b"data" if miss == BOUNCE else bytes(4)
    same("bytes", region.bytes(0, 4), want)


@SUITE.case("UC: message in another receive for a page")
def uc_substitute(world):
    """miss 1: a SEND gets one of the next receives, whose page is there."""
    region = world.demand(64 << 10)
    conn = uc(world, miss=SUBSTITUTE, recvs=0)
    with world.counts(miss_substituted=None):
        conn.post_recv(region=region)
        conn.post_recv()
        conn.peer.put(UC + fr.SEND_ONLY, b"hello")
        conn.completion(status=Wcs.SUCCESS, byte_len=5)


@SUITE.rows("UC: the NIC sends", {"SEND": (fr.SEND_FIRST,),
                                  "WRITE": (fr.WRITE_FIRST,)})
def uc_out(world, first):
    """Opcodes of UC with PSNs one by one, no acknowledge request, no limit on
    what is sent; it completes as sent."""
    conn = uc(world)
    region = world.region(300 * MTU)
    if first == fr.SEND_FIRST:
        conn.qp.send([region.sge()])
    else:
        conn.qp.write(1 << 40, 77, [region.sge()])
    got = [conn.recv() for _ in range(300)]
    same("PSNs", [p.psn for p in got],
         [conn.peer.epsn + n for n in range(300)])
    same("opcodes", [p.opcode - UC - first for p in got],
         [0] + [1] * 298 + [2])
    same("ACK requested", any(p.ackreq for p in got), False)
    same("bytes", sum(len(p.payload) for p in got), 300 * MTU)
    conn.completion(status=Wcs.SUCCESS, byte_len=300 * MTU)


@SUITE.rows("UC and UD by state", {
    "UC, INIT": (Qpt.UC, Qps.INIT), "UC, RTR": (Qpt.UC, Qps.RTR),
    "UC, ERR": (Qpt.UC, Qps.ERR), "UD, INIT": (Qpt.UD, Qps.INIT),
    "UD, RTR": (Qpt.UD, Qps.RTR), "UD, ERR": (Qpt.UD, Qps.ERR)})
def by_state(world, qpt, state):
    """Delivered from RTR on; before it and in ERR rx_no_qp."""
    conn = world.conn(False, qpt, qkey=QKEY * (qpt == Qpt.UD),
                      state=min(state, Qps.RTS))
    if state == Qps.ERR:
        conn.qp.error()
    elif state == Qps.RTR:
        conn.post_recv()
    with world.counts(rx_no_qp=int(state != Qps.RTR)):
        if qpt == Qpt.UC:
            conn.peer.put(UC + fr.SEND_ONLY, b"hello")
        else:
            datagram(conn)
    if state == Qps.RTR:
        conn.completion(status=Wcs.SUCCESS)


# UD

def ud(world, **more):
    """A queue pair of UD with a receive."""
    more.setdefault("recvs", 1)
    return world.conn(False, Qpt.UD, qkey=QKEY, **more)


def datagram(conn, data=b"hello", opcode=fr.UD_SEND, qkey=QKEY, imm=b"",
             **fields):
    """One datagram to it."""
    body = fr.pack("deth", qkey, conn.peer.qpn) + imm + data
    conn.peer.raw(opcode, body, **fields)


def takes(conn, data=b"hello", **fields):
    """The next datagram is received, so all that came before is done."""
    datagram(conn, data)
    return conn.completion(opcode=Wc.RECV, status=Wcs.SUCCESS,
                           byte_len=40 + len(data), **fields)


@SUITE.rows("UD: datagram of", {"0 bytes": (0,), "5 bytes": (5,),
                                "MTU": (MTU,)})
def ud_receive(world, size):
    """40 bytes in the place of a GRH: 20 of 0, and the IPv4 header as it
    came; then the payload. The record names the sender."""
    conn = ud(world)
    world.buffers.fill(b"\xee" * RECEIVE)
    data = FULL[:size]
    body = fr.pack("deth", QKEY, conn.peer.qpn) + data
    packet = world.station.packet(opcode=fr.UD_SEND, dqpn=conn.peer.dqpn,
                                  psn=0xabcdef, body=body, tos=0x28, ttl=7,
                                  ident=0x1234)
    world.station.port.send(packet.build())
    done = conn.completion(opcode=Wc.RECV, status=Wcs.SUCCESS,
                           byte_len=40 + size, flags=WcFlag.GRH)
    same("sender", (done.imm, done.token), (PEER_IP, conn.peer.qpn))
    same("first 20 bytes", world.buffers.bytes(0, 20), bytes(20))
    same("IPv4 header", world.buffers.bytes(20, 20), packet.build()[14:34])
    same("payload", world.buffers.bytes(40, size), data)


@SUITE.case("UD: with immediate, solicited")
def ud_imm(world):
    """Flags WITH_IMM, SOLICITED and GRH."""
    conn = ud(world)
    datagram(conn, imm=fr.pack("imm", 9), opcode=fr.UD_SEND_IMM,
             solicited=True)
    conn.completion(imm=9, byte_len=45, token=conn.peer.qpn, flags=(
        WcFlag.GRH | WcFlag.WITH_IMM | WcFlag.SOLICITED))


@SUITE.rows("UD: not looked at", {
    "source address": (dict(src_ip=0x0a0000fe),),
    "source MAC": (dict(src=OTHER_MAC),), "PSN": (dict(psn=0x123),),
    "acknowledge request": (dict(ackreq=True),)})
def ud_taken(world, fields):
    """The datagram is received, and nothing is sent."""
    conn = ud(world)
    datagram(conn, **fields)
    conn.completion(status=Wcs.SUCCESS, byte_len=45)
    conn.silent()


@SUITE.rows("UD: opcode", {"%02x" % op: (op,) for op in (
    fr.SEND_ONLY, fr.ACK, 0x24, 0x60, 0x63, 0x66, 0xc3, 0xd0)})
def ud_opcode(world, opcode):
    """Not 64, 65: rx_bad_opcode."""
    conn = ud(world)
    with world.counts(rx_bad_opcode=1):
        datagram(conn, opcode=opcode)
        takes(conn)


UD_ODD = {
    "shorter than DETH": (dict(body=bytes(4)), "rx_short"),
    "nothing behind BTH": (dict(body=b""), "rx_short"),
    "another Q_Key": (dict(qkey=QKEY + 1), "ud_bad_qkey"),
    "Q_Key with bit 31": (dict(qkey=QKEY | 1 << 31), "ud_bad_qkey"),
    "payload above MTU": (dict(data=FULL + b"x"), "unrel_too_long"),
}


@SUITE.rows("UD: ignored", UD_ODD)
def ud_odd(world, fields, counter):
    """Counted; the receive stays posted."""
    conn = ud(world)
    with world.counts(**{counter: 1}):
        if "body" in fields:
            conn.peer.raw(fr.UD_SEND, **fields)
        else:
            datagram(conn, **fields)
        takes(conn, wr_id=0)


@SUITE.case("UD: immediate is missing")
def ud_no_imm(world):
    """Opcode 65 with a DETH alone: rx_short."""
    conn = ud(world)
    with world.counts(rx_short=1):
        datagram(conn, b"", fr.UD_SEND_IMM)
        takes(conn)


@SUITE.case("UD: 40 + payload above the receive")
def ud_too_long(world):
    """unrel_too_long; the receive stays posted."""
    conn = ud(world, recv_size=44)
    with world.counts(unrel_too_long=1):
        datagram(conn, b"12345")
        takes(conn, b"1234", wr_id=0)


@SUITE.case("UD: no receive")
def ud_no_receive(world):
    """unrel_no_receive."""
    conn = ud(world, recvs=0)
    with world.counts(unrel_no_receive=1):
        datagram(conn)
    conn.post_recv()
    takes(conn)


@SUITE.case("UD: receive with a bad buffer")
def ud_bad_receive(world):
    """As UC: it completes with the error, ERR."""
    conn = ud(world, recvs=0)
    sge = bytearray(world.buffers.sge(0, 64))
    sge[13] ^= 0x55
    conn.qp.post_recv([bytes(sge)], wr_id=3)
    datagram(conn)
    conn.completion(wr_id=3, status=Wcs.LOC_PROT_ERR, detail=Wd.STAG)
    conn.dead()


@SUITE.rows("UD: what a NIC sends", {"Q_Key of the request": (0x777, 0x777),
                                     "bit 31: its own": (1 << 31, QKEY)})
def ud_send(world, qkey, want):
    """DETH with Q_Key and own number, PSNs one by one, the MAC by ARP."""
    conn = ud(world)
    for at in range(3):
        conn.qp.datagram(PEER_IP, conn.peer.qpn, qkey, inline=b"hello",
                         wr_id=at)
        got = conn.expect(fr.UD_SEND, conn.peer.epsn + at)
        same("DETH", got.header("deth"), (want, conn.qp.number))
        same("payload", got.payload, b"hello")
        same("MAC", got.dst, PEER_MAC)
        same("source port", got.sport,
             fr.source_port(conn.peer.qpn, conn.qp.number))
        conn.completion(wr_id=at, status=Wcs.SUCCESS, opcode=Wc.SEND)


@SUITE.case("UD: nobody answers ARP")
def ud_no_route(world):
    """Dropped after 1 s (ud_no_route), and completed as sent."""
    conn = ud(world)
    before = world.fresh()["ud_no_route"]
    conn.qp.datagram(fr.ipv4("10.0.0.210"), 77, QKEY, inline=b"x", wr_id=4)
    begin = time.monotonic()
    conn.completion(3, wr_id=4, status=Wcs.SUCCESS)
    check(0.9 < time.monotonic() - begin < 1.6, "not after 1 s")
    same("ud_no_route", world.fresh()["ud_no_route"] - before, 1)
    check(len(world.station.arps) >= 9, "%d ARP requests"
          % len(world.station.arps))


@SUITE.rows("UD: page of a receive is missing", {
    "drop": (DROP, ("miss_dropped", "rq_ahead")),
    "bounce": (BOUNCE, ("miss_bounced", "rq_ahead"))})
def ud_missing(world, miss, counters):
    """Dropped, or kept until the page is there; or it was asked for when the
    receive was posted (rq_ahead)."""
    region = world.demand()
    before = world.fresh()
    conn = ud(world, miss=miss, recv_region=region)
    datagram(conn)
    done = conn.qp.wait(1, 0.1)
    while miss == DROP and not done:
        datagram(conn)
        done = conn.qp.wait(1, 0.1)
    check(done, "no completion record")
    same("byte_len", done[0].byte_len, 45)
    after = world.fresh()
    check(any(after[name] > before[name] for name in counters),
          "none of %s" % (counters,))
