# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Odd packets: regions and receives", the rows about forms and
about READs that come again."""

import struct

import frame as fr
import rc
from check import Skipped, Suite, same
from names import Op, Rights, WcFlag, Wcs
from wire_regions import BOTH, FULL, read, write
from world import MTU

SUITE = Suite()
WINDOW2, INDIRECT = 3, 5        # enum unic_form_kind


# SEND with invalidate

def form(world, kind=WINDOW2, rights=Rights.REMOTE, make=True, pd=None,
         base=None, tail=None):
    """A form over a region: (id, STag). It ends with the case."""
    base = base or world.region(8192, Rights.ALL | Rights.MW_BIND,
                                **({"pd": pd} if pd else {}))
    n = 1 if kind == INDIRECT else 0
    made = world.process.must(Op.MR_ALLOC, pd=pd or world.process.domain,
                              kind=kind, n=n, key=0x11)
    world.forms.append(made.id)
    if not make:
        return made.id, made.stag
    reply = world.process.must(
        Op.MR_MAKE, tail=tail or base.sge(0, 4096), iova=base.iova,
        id=made.id, n=1,
        repeat=1 if kind == INDIRECT else 0, rights=rights, key=0x12)
    return made.id, reply.stag


def send_inv(conn, key):
    """A SEND only with invalidate."""
    conn.peer.raw(fr.SEND_ONLY_INV, fr.pack("ieth", key) + b"bye",
                  ackreq=True)


@SUITE.rows("SEND with invalidate", {
    "window": (WINDOW2, Rights.REMOTE),
    "indirect region": (INDIRECT, Rights.ALL)})
def invalidate(world, kind, rights):
    """The form is closed, the receive names it; its key is wrong then."""
    conn = world.conn(recvs=2)
    _, key = form(world, kind, rights)
    with world.counts(forms_inv_remote=1):
        send_inv(conn, key)
        conn.ack(conn.peer.psn)
    conn.peer.psn += 1
    conn.completion(status=Wcs.SUCCESS, flags=WcFlag.WITH_INV, imm=key,
                    byte_len=3)
    write(conn, world.data.iova, key)
    conn.nak(rc.NAK_ACCESS)


def key_of_none(world):
    """No region at all."""
    return world.data.stag ^ 0x5500


def key_of_region(world):
    """A region that is no form."""
    return world.data.stag


def key_of_other_pd(world):
    """A form of another domain."""
    return form(world, pd=world.other_pd)[1]


def key_not_valid(world):
    """A form that was never made valid."""
    return form(world, make=False)[1]


def key_no_right(world):
    """An indirect region that grants nothing to peers."""
    return form(world, INDIRECT, Rights.LOCAL_WRITE)[1]


def key_dependents(world):
    """An indirect region of which another is made."""
    base = world.region(8192)
    form_id, key = form(world, INDIRECT, Rights.ALL, base=base)
    inner = struct.pack("<QII", base.iova, 4096, key)
    form(world, INDIRECT, Rights.ALL, base=base, tail=inner)
    return key


@SUITE.rows("SEND with invalidate: 0x62", {
    "no such key": (key_of_none,), "a region": (key_of_region,),
    "another domain": (key_of_other_pd,), "not valid": (key_not_valid,),
    "no remote right": (key_no_right,), "dependents": (key_dependents,)})
def invalidate_refused(world, which):
    """NAK 62, forms_refused, ERR."""
    conn = world.conn(recvs=1)
    key = which(world)
    with world.counts(forms_refused=1):
        send_inv(conn, key)
        conn.nak(rc.NAK_ACCESS)
    conn.dead()


@SUITE.rows("SEND with invalidate of an evicted form", BOTH)
def invalidate_evicted(world, vendor):
    """EVICTED, and the connection lives; conventional: NAK 62, ERR."""
    conn = world.conn(vendor, recvs=1)
    base = world.region(8192, Rights.ALL | Rights.MW_BIND)
    _, key = form(world, base=base)
    world.evict(base)
    with world.counts(forms_refused=1):
        send_inv(conn, key)
        if vendor:
            conn.vack(rc.EVICTED)
        else:
            conn.nak(rc.NAK_ACCESS)
    if vendor:
        conn.alive()
    else:
        conn.dead()


@SUITE.case("SEND with invalidate of a form in use")
def invalidate_in_use(world):
    """RNR while a READ of it is answered; it is closed already, so another
    READ is refused; then the SEND is executed."""
    base = world.region(1 << 20)
    _, key = form(world, INDIRECT, Rights.ALL, base=base,
                  tail=base.sge(0, base.length))
    reader, late = world.conn(), world.conn()
    conn = world.conn(recvs=1)
    read(reader, base.iova, key, base.length)
    send_inv(conn, key)
    got = conn.recv()
    if got.syndrome == rc.ACK:
        raise Skipped("the READ was answered before the SEND came")
    same("syndrome", got.syndrome, rc.RNR | 12)
    read(late, base.iova, key)
    late.nak(rc.NAK_ACCESS)
    while got.syndrome != rc.ACK:
        send_inv(conn, key)
        got = conn.recv()
    conn.completion(status=Wcs.SUCCESS, flags=WcFlag.WITH_INV, imm=key)
    while reader.peer.recv(world.silence):
        pass


# READ again

def four_reads(world, count=4):
    """A connection on which READs of 3 packets each were answered."""
    world.data.fill(FULL * 16)
    conn = world.conn()
    first = conn.peer.psn
    for at in range(count):
        request = conn.peer.read(world.data.iova + at % 5 * 3 * MTU,
                                 world.data.stag, 3 * MTU)
        same("READ", conn.peer.finish(request), "ok")
    return conn, first


@SUITE.rows("READ again", {
    "%s of %s" % (part, which): (at, skip)
    for which, at in (("the oldest", 0), ("the last", 3))
    for part, skip in (("all", 0), ("the rest", 1), ("the last packet", 2))})
def read_again(world, at, skip):
    """Key, address + k * MTU, length - k * MTU at its PSN + k: answered from
    there; the first packet is first or only."""
    conn, first = four_reads(world)
    psn = first + 3 * at + skip
    with world.counts(rx_duplicate=1):
        read(conn, world.data.iova + (3 * at + skip) * MTU, world.data.stag,
             (3 - skip) * MTU, psn=psn)
        want = {0: (fr.READ_FIRST, fr.READ_MIDDLE, fr.READ_LAST),
                1: (fr.READ_FIRST, fr.READ_LAST), 2: (fr.READ_ONLY,)}[skip]
        for number, opcode in enumerate(want):
            got = conn.expect(opcode, psn + number)
            same("payload", got.payload == FULL, True)
    conn.silent(0)
    conn.alive()


@SUITE.rows("READ again, ignored", {
    "the seventeenth to last": (17, 0, 0, 3, 0),
    "another address": (4, 0, 4, 3, 0),
    "another length": (4, 0, 0, 5 / 2, 0), "another key": (4, 0, 0, 3, 1),
    "PSN + 1 of all": (4, 1, 0, 3, 0), "0 bytes": (4, 0, 0, 0, 0)})
def read_ignored(world, count, psn, va, packets, key):
    """Anything else than one of the last 16."""
    conn, first = four_reads(world, count)
    with world.counts(rx_duplicate=1):
        read(conn, world.data.iova + va, world.data.stag ^ key,
             int(packets * MTU), psn=first + psn)
    conn.silent(0)
    conn.alive()


@SUITE.rows("READ again, evicted since", BOTH)
def read_again_evicted(world, vendor):
    """As for the first time, with the PSN asked for. Where the queue pair
    died of it, the expected PSN is answered NAK 63."""
    region = world.region(4096)
    conn = world.conn(vendor)
    psn = conn.peer.psn
    request = conn.peer.read(region.iova, region.stag, 2 * MTU)
    same("READ", conn.peer.finish(request), "ok")
    world.evict(region)
    with world.counts(rx_duplicate=1, access_evicted=1):
        read(conn, region.iova + MTU, region.stag, MTU, psn=psn + 1)
        if vendor:
            conn.vack(rc.EVICTED, psn + 1)
        else:
            conn.nak(rc.NAK_ACCESS, psn + 1)
    if vendor:
        conn.alive()
    else:
        conn.peer.raw(fr.SEND_ONLY, b"x")
        conn.nak(rc.NAK_OP)


@SUITE.case("READ again, released since: 0x62")
def read_again_released(world):
    """NAK 62 with the PSN asked for."""
    region = world.process.region(4096)
    conn = world.conn()
    psn = conn.peer.psn
    request = conn.peer.read(region.iova, region.stag, MTU)
    same("READ", conn.peer.finish(request), "ok")
    where = region.iova, region.stag
    region.dereg()
    read(conn, *where, MTU, psn=psn)
    conn.nak(rc.NAK_ACCESS, psn)


@SUITE.case("one READ too many while another is answered again")
def read_too_many(world):
    """It makes room, or is ignored as if lost: either way it is answered
    when it is repeated, and the connection lives."""
    region = world.region(1 << 20)
    conn = world.conn()
    psn = conn.peer.psn
    size = 64 * MTU
    for at in range(4):
        request = conn.peer.read(region.iova, region.stag, size)
        same("READ", conn.peer.finish(request), "ok")
    for at in range(4):
        read(conn, region.iova, region.stag, size, psn=psn + 64 * at)
    request = conn.peer.read(region.iova, region.stag, size)
    same("the fifth READ", conn.peer.finish(request, 3), "ok")
    while conn.peer.recv(world.silence):
        pass
    conn.alive()
