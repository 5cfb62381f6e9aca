# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Odd packets: regions and receives", but for forms and READs
that come again, with the NIC as responder. Where two answers stand in the
table, each case is played by a unic and by a conventional peer."""

import time

import frame as fr
import rc
from check import Suite, check, same
from names import Class, Op, Rights, Up, Wc, WcFlag, Wcs, Wd
from world import MTU

SUITE = Suite()
FULL = bytes(range(256)) * (MTU // 256)
BOTH = {"unic": (True,), "conventional": (False,)}


def write(conn, va, key, data=b"data", psn=None):
    """A WRITE only that asks for an ACK, at our next PSN, which stays."""
    conn.peer.raw(fr.WRITE_ONLY, fr.pack("reth", va, key, len(data)) + data,
                  psn=psn, ackreq=True)


def read(conn, va, key, length=16, psn=None):
    """A READ request, likewise."""
    conn.peer.raw(fr.READ_REQUEST, fr.pack("reth", va, key, length),
                  psn=psn, ackreq=True)


ACTIONS = {"WRITE": (write,), "READ": (read,)}


def each(actions, kinds):
    """All pairs of two tables of rows."""
    return {"%s, %s" % (a, k): row + more for a, row in actions.items()
            for k, more in kinds.items()}


# Access checks: 0x62 for both kinds of peer

@SUITE.rows("0 bytes of any key", each(ACTIONS, BOTH))
def empty(world, action, vendor):
    """Nothing of the RETH is looked at, nor the rights of the queue pair."""
    conn = world.conn(vendor, rights=0)
    for va, key in ((0, 0), ((1 << 64) - 1, 0xffffffff)):
        if action is write:
            action(conn, va, key, b"")
            conn.ack(conn.peer.psn)
        else:
            action(conn, va, key, 0)
            same("payload", conn.expect(fr.READ_ONLY,
                                        conn.peer.psn).payload, b"")
        conn.peer.psn += 1


@SUITE.rows("0x62: not granted by the queue pair", {
    "WRITE": (write, Rights.REMOTE_READ), "READ": (read, Rights.REMOTE_WRITE),
    "WRITE of none": (write, 0)})
def not_granted(world, action, rights):
    """The region grants it, the queue pair does not."""
    conn = world.conn(rights=rights)
    with world.counts(access_rights=None):
        action(conn, world.data.iova, world.data.stag)
        conn.nak(rc.NAK_ACCESS)
    conn.dead()


def nowhere(world):
    """A key that no region has: all bits but the index are turned."""
    return world.data.iova, world.data.stag ^ 0x5500


def wrong_key_byte(world):
    """The key of a region, but for its low 8 bits."""
    return world.data.iova, world.data.stag ^ 1


def another_pd(world):
    """A region of another protection domain of the process."""
    region = world.region(4096, pd=world.other_pd)
    return region.iova, region.stag


def local_only(world):
    """A region that grants nothing to peers."""
    region = world.region(4096, Rights.LOCAL_WRITE)
    return region.iova, region.stag


def read_only(world):
    """A region that may be read."""
    region = world.region(4096, Rights.REMOTE_READ)
    return region.iova, region.stag


def write_only(world):
    """A region that may be written."""
    region = world.region(4096, Rights.LOCAL_WRITE | Rights.REMOTE_WRITE)
    return region.iova, region.stag


def below(world):
    """One byte before the region."""
    return world.data.iova - 1, world.data.stag


def beyond(world):
    """The last byte is the first behind the region."""
    return world.data.iova + world.data.length - 3, world.data.stag


def wraps(world):
    """An address whose end wraps."""
    return (1 << 64) - 2, world.data.stag


def released(world):
    """A region that its owner has released: no tombstone."""
    region = world.process.region(4096)
    where = region.iova, region.stag
    region.dereg()
    return where


ACCESS = {
    "no such key": (nowhere, "access_stag"),
    "another low byte": (wrong_key_byte, "access_stag"),
    "released": (released, "access_stag"),
    "another domain": (another_pd, "access_pd"),
    "no remote right": (local_only, "access_rights"),
    "below": (below, "access_bounds"),
    "beyond": (beyond, "access_bounds"),
    "wraps": (wraps, "access_bounds"),
}
ACCESS_ROWS = each(each(ACTIONS, ACCESS), BOTH)
ACCESS_ROWS["WRITE, only to be read"] = (write, read_only, "access_rights",
                                         True)
ACCESS_ROWS["READ, only to be written"] = (read, write_only, "access_rights",
                                           True)


@SUITE.rows("0x62", ACCESS_ROWS)
def access(world, action, where, counter, vendor):
    """NAK 62, ERR, one counter."""
    conn = world.conn(vendor)
    va, key = where(world)
    with world.counts(**{counter: 1}):
        action(conn, va, key)
        conn.nak(rc.NAK_ACCESS)
    conn.silent(0)
    conn.dead()


@SUITE.rows("0x62: region of another process", ACTIONS)
def another_process(world, action):
    """Other processes' regions do not exist."""
    conn = world.conn()
    with world.rig.process() as other:
        region = other.region(4096)
        with world.counts(access_stag=1):
            action(conn, region.iova, region.stag)
            conn.nak(rc.NAK_ACCESS)
    conn.dead()


@SUITE.case("0x62: the key is checked once, for all of a WRITE")
def whole_write(world):
    """Its first packet lies in the region, its end does not."""
    conn = world.conn()
    world.data.fill(bytes(16), world.data.length - MTU)
    with world.counts(access_bounds=1):
        va = world.data.iova + world.data.length - MTU
        conn.peer.raw(fr.WRITE_FIRST, fr.pack(
            "reth", va, world.data.stag, MTU + 4) + FULL)
        conn.nak(rc.NAK_ACCESS)
    same("bytes", world.data.bytes(world.data.length - MTU, 16), bytes(16))


# Eviction

@SUITE.rows("under notice: executed", each(ACTIONS, BOTH))
def under_notice(world, action, vendor):
    """Between NOTICE and the end of T a region is as before."""
    conn = world.conn(vendor)
    region = world.region(4096)
    with world.long_grace():
        world.process.evict(region.id)
        check(world.process.upcall(Up.NOTICE, id=region.id), "no NOTICE")
        action(conn, region.iova, region.stag)
        first = conn.recv()
    if action is write:
        same("syndrome", first.syndrome, rc.ACK)
    else:
        same("opcode", first.opcode, fr.READ_ONLY)


@SUITE.rows("evicted", ACTIONS)
def evicted(world, action):
    """Vendor acknowledgement EVICTED; PSN and MSN stay, packets ahead are
    ignored; empty WRITEs take the PSNs; the connection lives."""
    conn = world.conn()
    region = world.region(4096)
    world.evict(region)
    conn.alive()
    with world.counts(access_evicted=1, tx_vacks=1, tx_naks=0):
        action(conn, region.iova, region.stag)
        conn.vack(rc.EVICTED)
        conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + 1)
    conn.silent(0)
    action(conn, region.iova, region.stag)
    conn.vack(rc.EVICTED)
    conn.peer.put(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True)
    same("MSN", conn.ack().msn, 2)


@SUITE.rows("evicted, conventional: 0x62", ACTIONS)
def evicted_conventional(world, action):
    """NAK 62 in its place, and ERR."""
    conn = world.conn(False)
    region = world.region(4096)
    world.evict(region)
    with world.counts(access_evicted=1, access_stag=0):
        action(conn, region.iova, region.stag)
        conn.nak(rc.NAK_ACCESS)
    conn.dead()


@SUITE.case("evicted: in all 32 bits")
def evicted_other_key(world):
    """Another low byte than that of the tombstone is a wrong key."""
    conn = world.conn()
    region = world.region(4096)
    world.evict(region)
    write(conn, region.iova, region.stag ^ 1)
    conn.nak(rc.NAK_ACCESS)
    conn.dead()


@SUITE.rows("time ends during a WRITE", {
    "unic": (True, None), "conventional": (False, rc.NAK_OP)})
def cut_write(world, vendor, nak):
    """EVICTED or NAK 63 for the first PSN that was not placed; ERR. What
    comes then is answered NAK 63."""
    conn = world.conn(vendor)
    region = world.region(16384)
    conn.peer.put(fr.WRITE_FIRST, fr.pack(
        "reth", region.iova, region.stag, 3 * MTU) + FULL, ackreq=True)
    conn.ack()
    with world.counts(evicted_busy=1):
        world.evict(region)
        conn.peer.raw(fr.WRITE_MIDDLE, FULL, ackreq=True)
        if vendor:
            conn.vack(rc.EVICTED)
        else:
            conn.nak(nak)
    conn.dead()
    conn.dead_nak()
    conn.peer.raw(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True,
                  psn=conn.peer.psn - 1)
    conn.ack()


@SUITE.rows("time ends during a SEND", BOTH)
def cut_send(world, vendor):
    """The region of the receive: EVICTED or NAK 63 for the first packet that
    was not placed, again when asked again; then NAK 63."""
    region = world.region(8192)
    conn = world.conn(vendor, recvs=1, recv_region=region)
    conn.peer.put(fr.SEND_FIRST, FULL, ackreq=True)
    conn.ack()
    world.evict(region)
    for _ in range(2):
        conn.peer.raw(fr.SEND_MIDDLE, FULL, ackreq=True)
        if vendor:
            conn.vack(rc.EVICTED)
        else:
            conn.nak(rc.NAK_OP)
    conn.dead()
    conn.dead_nak()
    conn.completion(status=Wcs.EVICTED)


# Missing pages

def again(world, conn, action, region):
    """Asks until it is no longer put off; how often it was."""
    for times in range(200):
        action(conn, region.iova, region.stag)
        got = conn.recv()
        if got.opcode == fr.VACK:
            same("reason", got.header("evth"), (rc.RETRY_AFTER, 50))
        elif got.opcode != fr.ACK or got.syndrome != rc.RNR | 12:
            return times, got
        same("PSN", got.psn, conn.peer.psn)
        world.station.poll(0.0005)
    return 200, got


@SUITE.rows("page missing", each(ACTIONS, BOTH))
def missing(world, action, vendor):
    """RETRY_AFTER or RNR NAK first; when the driver has brought the page,
    the same request is executed."""
    conn = world.conn(vendor)
    region = world.demand()
    with world.counts(miss_put_off=None, tx_naks=0):
        times, got = again(world, conn, action, region)
    check(times > 0, "it was not put off")
    if action is write:
        same("syndrome", got.syndrome, rc.ACK)
        same("bytes", region.bytes(0, 4), b"data")
    else:
        same("opcode", got.opcode, fr.READ_ONLY)
    same("MSN", got.msn, 1)


@SUITE.case("page missing: packets ahead are ignored until it comes again")
def missing_ahead(world):
    """Silence after RETRY_AFTER, no NAK 60."""
    conn = world.conn()
    region = world.demand()
    write(conn, region.iova, region.stag)
    conn.vack(rc.RETRY_AFTER)
    with world.counts(rx_out_of_seq=2, tx_naks=0):
        for distance in (1, 2):
            conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + distance)
    conn.silent(0)
    _, got = again(world, conn, write, region)
    same("syndrome", got.syndrome, rc.ACK)


def without_frames(world, length=16384, first=0):
    """A DEMAND region under which there is nothing any more from `first`
    on."""
    region = world.demand(length)
    world.process.must(Op.FRAMES_FREE, va=region.memory.va + first,
                       pages=(length - first) // 4096)
    world.regions.remove(region)
    world.orphans.append(region)
    return region


@SUITE.rows("page that cannot be had", each(ACTIONS, BOTH))
def no_page(world, action, vendor):
    """NAK 62 once the driver has said that there is none."""
    conn = world.conn(vendor)
    region = without_frames(world)
    times, got = again(world, conn, action, region)
    check(times > 0, "it was not put off")
    same("syndrome", got.syndrome, rc.NAK_ACCESS)
    conn.dead()


@SUITE.case("page missing: no answer within H: 0x62")
def missing_late(world):
    """The driver is stopped: RETRY_AFTER until H is over, then NAK 62 when
    it comes again."""
    conn = world.conn()
    region = world.demand()
    with world.counts(miss_timeouts=1):
        with world.driver_stopped():
            begin = time.monotonic()
            write(conn, region.iova, region.stag)
            conn.vack(rc.RETRY_AFTER)
            while time.monotonic() < begin + 5:
                time.sleep(0.005)
                write(conn, region.iova, region.stag)
                got = conn.recv()
                if got.opcode != fr.VACK:
                    break
            took = time.monotonic() - begin
    same("syndrome", got.syndrome, rc.NAK_ACCESS)
    late = world.process.info().now["deliver_us"] / 1e6
    check(late <= took < late + 1, "after %.3f s" % took)


@SUITE.case("page missing while a READ is answered")
def missing_midway(world):
    """Silence until it is there, then the rest comes; no error."""
    region = world.demand(256 << 10)
    data = FULL * (region.length // MTU)
    region.fill(data)
    conn = world.conn()
    request = conn.peer.read(region.iova, region.stag, region.length)
    same("READ", conn.peer.finish(request, 3), "ok")
    check(conn.peer.put_off > 0, "it was not put off")
    same("bytes", request.data == data, True)
    same("rounds of the requester", conn.peer.rounds, 0)


@SUITE.rows("page of a READ under way cannot be had: 0x63", BOTH)
def no_page_midway(world, vendor):
    """The first pages are there: their responses come, then NAK 63."""
    region = without_frames(world, 256 << 10, 128 << 10)
    conn = world.conn(vendor)
    request = conn.peer.read(region.iova, region.stag, region.length)
    same("READ", conn.peer.finish(request, 3), "nak 63")
    check(len(request.data) > 0, "no response before it")
    conn.dead()


@SUITE.case("page of a tagged message that cannot be had: 0x62")
def no_page_token(world):
    """As a WRITE."""
    region = without_frames(world)
    token = world.process.token_alloc(region)
    conn = world.conn(recvs=1)
    request = conn.peer.tagged(token.index, token.key, b"c", b"payload")
    same("message", conn.peer.finish(request, 3), "nak 62")
    conn.dead()


@SUITE.rows("page missing of a receive", BOTH)
def missing_receive(world, vendor):
    """A SEND is put off as a WRITE is, and not lost; or not put off, because
    the NIC asked for the page when the receive was posted (rq_ahead)."""
    region = world.demand()
    conn = world.conn(vendor, recvs=1, recv_region=region)
    request = conn.peer.send(b"hello")
    same("SEND", conn.peer.finish(request), "ok")
    conn.completion(byte_len=5, status=Wcs.SUCCESS)
    same("bytes", region.bytes(0, 5), b"hello")


@SUITE.case("page of a receive that cannot be had: 0x63")
def no_page_receive(world):
    """NAK 63; the receive completes with the error."""
    region = without_frames(world)
    conn = world.conn(recvs=1, recv_region=region)
    request = conn.peer.send(b"hello")
    same("SEND", conn.peer.finish(request), "nak 63")
    conn.dead()
    conn.completion(status=Wcs.LOC_PROT_ERR, detail=Wd.PAGE)


# Receives

def send(conn):
    """A SEND only."""
    conn.peer.raw(fr.SEND_ONLY, b"hello", ackreq=True)


def write_imm(conn):
    """An empty WRITE only with immediate."""
    conn.peer.raw(fr.WRITE_ONLY_IMM, fr.pack("reth", 0, 0, 0)
                  + fr.pack("imm", 5), ackreq=True)


def tagged(conn):
    """A tagged message of a token that is none, with control part."""
    conn.peer.raw(fr.TOKEN_ONLY, fr.pack("tketh", 900, 1, 0, 4, 0) + b"ctrl",
                  ackreq=True)


@SUITE.rows("no receive: RNR", {
    "SEND, unic": (send, True), "SEND, conventional": (send, False),
    "WRITE imm, unic": (write_imm, True),
    "WRITE imm, conventional": (write_imm, False),
    "tagged message": (tagged, True)})
def no_receive(world, action, vendor):
    """RNR NAK with the code of the queue pair, as often as it comes; with a
    receive it is executed."""
    conn = world.conn(vendor, rnr_timer=9)
    with world.counts(tx_rnr_naks=2, rx_out_of_seq=1, token_bad_key=0):
        for _ in range(2):
            action(conn)
            conn.rnr(code=9)
        conn.peer.raw(fr.SEND_ONLY, b"x", psn=conn.peer.psn + 1)
    conn.silent(0)
    conn.post_recv()
    action(conn)
    conn.ack(conn.peer.psn)
    conn.completion(status=Wcs.SUCCESS)


@SUITE.case("no receive: WRITE with immediate, at the packet with it")
def no_receive_late(world):
    """The first packet is placed; RNR comes at the last."""
    conn = world.conn()
    conn.peer.put(fr.WRITE_FIRST, fr.pack(
        "reth", world.data.iova, world.data.stag, MTU + 4) + FULL,
        ackreq=True)
    conn.ack()
    last = fr.pack("imm", 99) + b"last"
    conn.peer.raw(fr.WRITE_LAST_IMM, last, ackreq=True)
    conn.rnr()
    conn.post_recv()
    conn.peer.put(fr.WRITE_LAST_IMM, last, ackreq=True)
    conn.ack()
    conn.completion(opcode=Wc.RECV_WRITE_IMM, imm=99, byte_len=MTU + 4,
                    flags=WcFlag.WITH_IMM)


TAKEN_BACK = {"messaging": (Class.MESSAGING, 0), "rdma": (Class.RDMA, 1)}


@SUITE.rows("receive of a region that was taken back", each(TAKEN_BACK, BOTH))
def substituted(world, mr_class, counted, vendor):
    """The next receive gets the message; then RNR. Those of class messaging
    complete EVICTED at once, so that no message meets them; the others when
    their turn comes, and that is counted."""
    region = world.region(4096, mr_class=mr_class)
    conn = world.conn(vendor)
    conn.post_recv(region=region)
    conn.post_recv(64)
    world.evict(region)
    if mr_class == Class.MESSAGING:
        conn.completion(status=Wcs.EVICTED, wr_id=0)
    with world.counts(rq_substituted=counted):
        conn.peer.put(fr.SEND_ONLY, b"hello", ackreq=True)
        conn.ack()
    if mr_class == Class.RDMA:
        conn.completion(status=Wcs.EVICTED, wr_id=0)
    conn.completion(status=Wcs.SUCCESS, wr_id=1, byte_len=5)
    send(conn)
    conn.rnr()


@SUITE.case("receive of a region that was taken back: buffer class")
def substitute_class(world):
    """A receive shorter than rq_class is no substitute; a message waits for
    one that is long enough."""
    region = world.region(4096)
    conn = world.conn(rq_class=64)
    conn.post_recv(region=region)
    conn.post_recv(32)
    world.evict(region)
    send(conn)
    conn.rnr()


@SUITE.rows("receive too short: 0x61", {
    "SEND only": ([], fr.SEND_ONLY, bytes(65), 64),
    "SEND only imm": ([], fr.SEND_ONLY_IMM, bytes(69), 64),
    "SEND first": ([], fr.SEND_FIRST, FULL, MTU - 4),
    "SEND middle": ([(fr.SEND_FIRST, FULL)], fr.SEND_MIDDLE, FULL, MTU + 4),
    "SEND last": ([(fr.SEND_FIRST, FULL)], fr.SEND_LAST, bytes(5), MTU + 4),
    "control part": ([], fr.TOKEN_ONLY,
                     fr.pack("tketh", 0, 1, 0, 65, 0) + bytes(65), 64)})
def too_short(world, before, opcode, body, size):
    """NAK 61; the receive completes LOC_LEN_ERR."""
    conn = world.conn(recvs=1, recv_size=size)
    for one in before:
        conn.peer.put(*one)
    conn.peer.raw(opcode, body, ackreq=True)
    conn.nak(rc.NAK_INV)
    conn.dead()
    conn.completion(status=Wcs.LOC_LEN_ERR, wr_id=0)
    conn.no_completion()


@SUITE.rows("bad receive: 0x63", {
    "key": (dict(key=0x5500), Wcs.LOC_PROT_ERR, Wd.STAG),
    "bounds": (dict(at=1 << 30), Wcs.LOC_PROT_ERR, Wd.BOUNDS),
    "too many SGEs": (dict(num_sge=4), Wcs.LOC_QP_OP_ERR, Wd.SGE),
    "rsvd": (dict(rsvd=b"\0\0\1\0\0\0\0"), Wcs.LOC_QP_OP_ERR, Wd.FLAGS)})
def bad_receive(world, what, status, detail):
    """NAK 63; the receive completes with the error."""
    conn = world.conn()
    buffers = world.buffers
    buffer = (buffers.iova + what.pop("at", 0)).to_bytes(8, "little")
    buffer += (64).to_bytes(4, "little")
    buffer += (buffers.stag ^ what.pop("key", 0)).to_bytes(4, "little")
    conn.qp.post_recv([buffer], wr_id=7, **what)
    send(conn)
    conn.nak(rc.NAK_OP)
    conn.dead()
    conn.completion(status=status, detail=detail, wr_id=7)


@SUITE.case("bad receive: region without LOCAL_WRITE: 0x63")
def receive_rights(world):
    """NAK 63, LOC_PROT_ERR, RIGHTS."""
    region = world.region(4096, Rights.REMOTE_READ)
    conn = world.conn(recvs=1, recv_region=region)
    send(conn)
    conn.nak(rc.NAK_OP)
    conn.completion(status=Wcs.LOC_PROT_ERR, detail=Wd.RIGHTS)
