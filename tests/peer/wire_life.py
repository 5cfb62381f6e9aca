# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: the scenes of SPEC "A life in messages" on the wire, each with the
NIC at either end, and with the PSNs and lengths of the charts."""

import random

import frame as fr
import rc
from check import Suite, check, same
from names import Class, Op, Up, Wc, Wcs, Wd
from world import MTU, RECEIVE

SUITE = Suite()
BIG = 4096
SIZE = 77824                    # 19 packets of 4096 bytes
PSN = 0x6d52bc
PATTERN = bytes(x * 7 & 0xff for x in range(256)) * (SIZE // 256)
VA, KEY = 0x48ee440f1d9be000, 0x7fe0be00
BOTH = {"unic": (True,), "conventional": (False,)}


@SUITE.rows("SEND and receive, NIC receives", BOTH)
def send_in(world, vendor):
    """SEND ONLY of 88 bytes; ACK with AETH 1f000001; RECV."""
    conn = world.conn(vendor, psn=PSN, recvs=1)
    conn.peer.put(fr.SEND_ONLY, PATTERN[:88], ackreq=True)
    conn.expect(fr.ACK, PSN, fr.pack("aeth", 0x1f000001))
    conn.completion(wr_id=0, byte_len=88, opcode=Wc.RECV, seq=1,
                    qpn=conn.qp.number)
    same("bytes", world.buffers.bytes(0, 88), PATTERN[:88])


@SUITE.rows("SEND and receive, NIC sends", BOTH)
def send_out(world, vendor):
    """A frame of 146 bytes with ACK requested; SEND completes with the ACK
    and not before."""
    conn = world.conn(vendor, epsn=PSN, timeout=24)
    world.data.fill(PATTERN[:88])
    conn.qp.send([world.data.sge(0, 88)], wr_id=5)
    packet = conn.expect(fr.SEND_ONLY, PSN, PATTERN[:88], ackreq=True)
    same("bytes of the frame", len(packet.build()), 146)
    conn.no_completion()
    conn.peer.ack(PSN, msn=1)
    conn.completion(wr_id=5, byte_len=88, opcode=Wc.SEND, seq=1,
                    qpn=conn.qp.number)


@SUITE.rows("RNR, NIC receives", BOTH)
def rnr_in(world, vendor):
    """Without a receive RNR NAK with the code; the peer tries again."""
    conn = world.conn(vendor, rnr_timer=14)
    conn.peer.raw(fr.SEND_ONLY, b"x", ackreq=True)
    conn.rnr(code=14)
    conn.post_recv()
    conn.peer.put(fr.SEND_ONLY, b"x", ackreq=True)
    conn.ack()


@SUITE.rows("WRITE, NIC is written", BOTH)
def write_in(world, vendor):
    """19 packets; ACK of the last, MSN 1; no completion."""
    region = world.region(SIZE)
    conn = world.conn(vendor, psn=PSN + 1, mtu=BIG)
    packets = rc.write_chain(region.iova, region.stag, PATTERN, BIG)
    same("packets", len(packets), 19)
    conn.peer.put_chain(packets)
    conn.expect(fr.ACK, PSN + 19, fr.pack("aeth", 0x1f000001))
    same("bytes", region.bytes() == PATTERN, True)
    conn.no_completion()


@SUITE.rows("WRITE, NIC writes", BOTH)
def write_out(world, vendor):
    """RETH in the first; all packets but the last are full; ACK requested in
    the last and at 31 modulo 32."""
    region = world.region(SIZE)
    region.fill(PATTERN)
    conn = world.conn(vendor, epsn=PSN + 1, mtu=BIG, timeout=24)
    conn.qp.write(VA, KEY, [region.sge()])
    got = [conn.recv() for _ in range(19)]
    same("PSNs", [p.psn for p in got], [PSN + 1 + n for n in range(19)])
    same("opcodes", [p.opcode for p in got],
         [fr.WRITE_FIRST] + [fr.WRITE_MIDDLE] * 17 + [fr.WRITE_LAST])
    same("ACK requested", [p.psn for p in got if p.ackreq],
         [0x6d52bf, 0x6d52cf])
    same("RETH", got[0].header("reth"), (VA, KEY, SIZE))
    same("bytes", b"".join(p.payload for p in got) == PATTERN, True)
    conn.peer.ack(0x6d52cf)
    conn.completion(opcode=Wc.WRITE, byte_len=SIZE, status=Wcs.SUCCESS)


@SUITE.rows("READ, NIC is read", BOTH)
def read_in(world, vendor):
    """Two READs: first, 17 middle, last with AETH; PSNs as asked for."""
    region = world.region(SIZE)
    region.fill(PATTERN)
    conn = world.conn(vendor, psn=0x54a5ab, mtu=BIG)
    for number in range(2):
        conn.peer.put_read(region.iova, region.stag, SIZE)
        first = 0x54a5ab + 19 * number
        got = [conn.recv() for _ in range(19)]
        same("PSNs", [p.psn for p in got], [first + n for n in range(19)])
        same("opcodes", [p.opcode for p in got],
             [fr.READ_FIRST] + [fr.READ_MIDDLE] * 17 + [fr.READ_LAST])
        same("bytes", b"".join(p.payload for p in got) == PATTERN, True)
        same("AETHs", [got[0].header("aeth"), got[18].header("aeth")],
             [(0x1f000001 + number,)] * 2)
    conn.silent()


@SUITE.rows("READ, NIC reads", BOTH)
def read_out(world, vendor):
    """It takes 19 PSNs: the next request has the one behind."""
    region = world.region(SIZE)
    conn = world.conn(vendor, epsn=0x54a5ab, mtu=BIG, timeout=24)
    for _ in range(2):
        conn.qp.read(VA, KEY, [region.sge()])
    for psn in (0x54a5ab, 0x54a5be):
        conn.expect(fr.READ_REQUEST, psn, fr.pack("reth", VA, KEY, SIZE),
                    ackreq=True)
    for psn in (0x54a5ab, 0x54a5be):
        conn.peer.respond(psn, PATTERN)
        conn.completion(opcode=Wc.READ, byte_len=SIZE, status=Wcs.SUCCESS)
    same("bytes", region.bytes() == PATTERN, True)


@SUITE.rows("page missing, NIC is written", BOTH)
def missing_in(world, vendor):
    """WRITE FIRST: put off; then the same again and all behind it."""
    region = world.demand(SIZE)
    conn = world.conn(vendor, psn=PSN + 1, mtu=BIG)
    request = conn.peer.write(region.iova, region.stag, PATTERN)
    same("WRITE", conn.peer.finish(request, 3), "ok")
    check((conn.peer.put_off if vendor else conn.peer.rnrs) > 0,
          "it was not put off")
    same("bytes", region.bytes() == PATTERN, True)


@SUITE.case("page missing, NIC sends")
def missing_own(world):
    """A requester whose own page is missing falls silent until it is
    there."""
    region = world.demand(SIZE)
    region.fill(PATTERN)
    conn = world.conn(epsn=PSN, mtu=BIG, timeout=24)
    conn.qp.write(VA, KEY, [region.sge()])
    got = [conn.recv() for _ in range(19)]
    same("bytes", b"".join(p.payload for p in got) == PATTERN, True)
    conn.peer.ack(PSN + 18)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.case("page that does not come, NIC sends")
def no_page_own(world):
    """LOC_PROT_ERR with detail PAGE."""
    region = world.demand(16384)
    world.process.must(Op.FRAMES_FREE, va=region.memory.va, pages=4)
    world.regions.remove(region)
    world.orphans.append(region)
    conn = world.conn(timeout=24)
    conn.qp.send([region.sge(0, 64)])
    conn.completion(status=Wcs.LOC_PROT_ERR, detail=Wd.PAGE)


@SUITE.case("a page that is missing, NIC as requester is put off")
def put_off(world):
    """RETRY_AFTER: after the delay WRITE FIRST and all behind it again."""
    region = world.region(SIZE)
    conn = world.conn(epsn=PSN, mtu=BIG, timeout=24)
    conn.qp.write(VA, KEY, [region.sge()])
    for _ in range(2):
        got = [conn.recv() for _ in range(19)]
        same("PSNs", [p.psn for p in got], [PSN + n for n in range(19)])
        conn.peer.vack(PSN, rc.RETRY_AFTER, 50)
    got = [conn.recv() for _ in range(19)]
    conn.peer.ack(PSN + 18)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.case("a notice that nobody answers")
def notice(world):
    """A WRITE in the grace is placed; then EVICTED, empty WRITEs for the
    PSNs, ACK; the connection goes on, and MR_DEREG ends the tombstone."""
    conn = world.conn(psn=PSN)
    region = world.process.region(16384)
    with world.long_grace():
        world.process.evict(region.id)
        check(world.process.upcall(Up.NOTICE, id=region.id), "no NOTICE")
        request = conn.peer.write(region.iova, region.stag, b"in time")
        same("WRITE", conn.peer.finish(request), "ok")
    ended = world.process.upcall(Up.EVICTED, id=region.id)
    same("flags", ended.flags, 6)
    same("bytes", region.bytes(0, 7), b"in time")
    request = conn.peer.write(region.iova, region.stag, bytes(2 * MTU))
    same("WRITE", conn.peer.finish(request), "evicted")
    conn.alive()
    key = region.stag
    region.dereg()
    conn.peer.raw(fr.WRITE_ONLY, fr.pack("reth", region.iova, key, 1) + b"x")
    conn.nak(rc.NAK_ACCESS)


@SUITE.case("requests of the NIC in a region that was taken back")
def own_evicted(world):
    """They complete EVICTED, and the queue goes on."""
    region = world.region(4096)
    world.evict(region)
    conn = world.conn(timeout=24)
    conn.qp.send([region.sge(0, 16)], wr_id=1)
    conn.qp.send(inline=b"data", wr_id=2)
    conn.completion(wr_id=1, status=Wcs.EVICTED)
    packet = conn.expect(fr.SEND_ONLY)
    conn.peer.ack(packet.psn)
    conn.completion(wr_id=2, status=Wcs.SUCCESS)


@SUITE.case("class messaging has no notice")
def messaging(world):
    """Posted receives complete EVICTED at once; a message takes the next;
    the upcall comes after that."""
    region = world.region(4096, mr_class=Class.MESSAGING)
    conn = world.conn()
    conn.post_recv(region=region)
    conn.post_recv()
    world.process.evict(region.id)
    ended = world.process.upcall(Up.EVICTED, id=region.id)
    check(ended, "no EVICTED")
    check(not world.process.upcall(Up.NOTICE, 0), "there was a NOTICE")
    conn.completion(0.001, status=Wcs.EVICTED, wr_id=0)
    conn.peer.put(fr.SEND_ONLY, b"x", ackreq=True)
    conn.ack()
    conn.completion(status=Wcs.SUCCESS, wr_id=1)


@SUITE.case("tagged message, NIC receives")
def tagged_in(world):
    """88 bytes of control part and 65536 of payload: PSNs c53010 to c53020;
    RECV_TOKEN; ACK."""
    region = world.region(65536)
    token = world.process.token_alloc(region)
    conn = world.conn(psn=0xc53010, recvs=1, mtu=BIG)
    payload = PATTERN[:65536]
    conn.peer.put_chain(rc.token_chain(token.index, token.key, PATTERN[:88],
                                       payload, BIG))
    same("next PSN", conn.peer.psn, 0xc53021)
    conn.expect(fr.ACK, 0xc53020, fr.pack("aeth", 0x1f000001))
    conn.completion(opcode=Wc.RECV_TOKEN, byte_len=88, imm=65536,
                    token=token.index, detail=0)
    same("payload", region.bytes() == payload, True)
    same("control part", world.buffers.bytes(0, 88), PATTERN[:88])


@SUITE.case("tagged message, NIC sends")
def tagged_out(world):
    """TOKEN FIRST with TKETH, 15 MIDDLE, LAST of 88 bytes."""
    region = world.region(SIZE)
    region.fill(PATTERN)
    conn = world.conn(epsn=0xc53010, mtu=BIG, timeout=24)
    key = 0x910b2ae5ee0f0a39
    conn.qp.tagged(0, key, 88, [region.sge(0, 65624)])
    got = [conn.recv() for _ in range(17)]
    same("opcodes", [p.opcode for p in got],
         [fr.TOKEN_FIRST] + [fr.TOKEN_MIDDLE] * 15 + [fr.TOKEN_LAST])
    same("TKETH", got[0].header("tketh"), (0, key, 65536, 88, 0))
    same("last", (got[16].psn, len(got[16].payload)), (0xc53020, 88))
    same("bytes", b"".join(p.payload for p in got) == PATTERN[:65624], True)
    conn.peer.ack(0xc53020)
    conn.completion(opcode=Wc.TOKEN, byte_len=65624, status=Wcs.SUCCESS)


def drop_some(station, period):
    """Loses one of `period` frames by chance, in both directions; a function
    that ends it."""
    port, chance = station.port, random.Random(period)
    send, recv = port.send, port.recv

    def lost():
        return chance.randrange(period) == 0

    def lossy_send(frame):
        if not lost():
            send(frame)

    def lossy_recv(timeout):
        frame = recv(timeout)
        return None if frame and lost() else frame

    port.send, port.recv = lossy_send, lossy_recv

    def end():
        port.send, port.recv = send, recv
    return end


@SUITE.rows("a lossy wire", {
    "%s, one of %d" % (kind, period): (vendor, period)
    for kind, (vendor,) in BOTH.items() for period in (7, 11)})
def lossy(world, vendor, period):
    """SENDs, WRITEs and READs in both directions at once; all of it arrives,
    once and in order."""
    # 268 ms: this process may have to wait for its turn for longer than 67 ms
    conn = world.conn(vendor, timeout=16, rnr_timer=1)
    region = world.region(65536)
    region.fill(PATTERN[:65536])
    ours = rc.Region(VA, 65536)
    ours.bytes[:] = PATTERN[:65536]
    peer = conn.peer
    peer.regions[KEY] = ours
    peer.retry_s = 0.02
    peer.retries = 50
    for _ in range(4):
        conn.post_recv()
    end = drop_some(world.station, period)
    try:
        local = world.region(65536)
        conn.qp.read(VA, KEY, [local.sge(0, 20000)], wr_id=1)
        conn.qp.write(VA + 40000, KEY, [region.sge(0, 20000)], wr_id=2)
        conn.qp.send([region.sge(0, 5000)], wr_id=3)
        mine = [peer.write(region.iova + 30000, region.stag, b"w" * 9000),
                peer.read(region.iova, region.stag, 20000),
                peer.send(b"s" * 3000), peer.send(b"t" * 100)]
        done = []

        def finished():
            done.extend(conn.qp.poll())
            return not peer.pending and len(done) >= 5
        check(peer.run(finished, 20), "not done: %s, %s" % (
            [r.status for r in mine], done))
    finally:
        end()
    same("our requests", [r.status for r in mine], ["ok"] * 4)
    same("statuses", {c.status for c in done}, {Wcs.SUCCESS})
    same("lengths received", [c.byte_len for c in done
                              if c.opcode == Wc.RECV], [3000, 100])
    same("NIC READ", local.bytes(0, 20000) == PATTERN[:20000], True)
    same("NIC WRITE", bytes(ours.bytes[40000:60000]) == PATTERN[:20000], True)
    same("our READ", mine[1].data == PATTERN[:20000], True)
    same("our WRITE", region.bytes(30000, 9000), b"w" * 9000)
    same("messages", [m[1] for m in peer.messages if m[0] == "send"],
         [PATTERN[:5000]])
    same("receives", world.buffers.bytes(RECEIVE, 100), b"t" * 100)


@SUITE.rows("what the NIC names at a peer", {
    "unic, evicted": (True, "evicted", Wcs.REM_EVICTED),
    "conventional, evicted": (False, "evicted", Wcs.REM_ACCESS_ERR),
    "unic, wrong key": (True, None, Wcs.REM_ACCESS_ERR),
    "unic, page missing": (True, "missing", Wcs.SUCCESS),
    "conventional, page missing": (False, "missing", Wcs.SUCCESS)})
def named(world, vendor, how, status):
    """A WRITE of the NIC to memory of ours that is gone, wrong, or not
    there yet; the peer answers as its kind does."""
    conn = world.conn(vendor)
    region = conn.peer.regions[KEY] = rc.Region(VA, 8192)
    region.evicted = how == "evicted"
    region.missing = 3 if how == "missing" else 0
    key = KEY if how else KEY ^ 1
    conn.qp.write(VA, key, [world.data.sge(0, 4096)], wr_id=4)
    done = []
    check(conn.peer.run(lambda: done.extend(conn.qp.poll()) or done),
          "no completion")
    same("status", done[0].status, status)
