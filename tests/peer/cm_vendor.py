# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Vendor datagrams": holders of an STag or token."""

import time

import cm
from check import Suite, check, same
from names import Conn, Op, Up, Why
from world import OTHER_IP, OTHER_MAC

SUITE = Suite()
STAG, TOKEN = 1, 2
NONCE = 0x1122334455667788


def granted(world, token=False):
    """A connection whose peer (we) was given the STag of a region, or a
    token of it: (side, connection, region, kind, number)."""
    side, conn, _ = world.passive()
    region = world.process.region(4096)
    world.regions.append(region)
    if not token:
        world.process.grant(region, conn)
        return side, conn, region, STAG, region.stag
    made = world.process.token_alloc(region)
    world.process.grant(region, conn, made.id)
    return side, conn, region, TOKEN, made.index


def asked(world, side, timeout=1.0):
    """The next INVALIDATE of the NIC's host to us."""
    got = world.manager.recv(timeout, cm.INVALIDATE, vendor=True)
    check(got, "no INVALIDATE")
    return got


@SUITE.rows("INVALIDATE to a holder", {"STag": (False,), "token": (True,)})
def exporter(world, token):
    """Every 4 ms with one nonce; INVALIDATED of the last holder releases the
    region before T is over: EVICTED, reason HOLDERS."""
    with world.long_grace():
        side, conn, region, kind, number = granted(world, token)
        begin = time.monotonic()
        world.process.evict(region.id)
        got = [asked(world, side) for _ in range(4)]
        first = got[0]
        want = dict(base=1, mad_class=0x0a, class_version=1, method=3,
                    local_id=side.remote_id, remote_id=side.local_id,
                    kind=kind, number=number, magic=0x554e4943, ipv4=0, qpn=0,
                    status=0)
        for name, value in want.items():
            same(name, getattr(first, name), value)
        check(first.tid, "nonce 0")
        same("nonces", {one.tid for one in got}, {first.tid})
        check(0 < first.grace_us <= world.grace * 1e6,
              "grace %d" % first.grace_us)
        same("bytes that are not 0", first.rest_is_zero(), [])
        side.vendor_datagram(cm.INVALIDATED, first.tid, kind=kind,
                             number=number)
        ended = world.process.upcall(Up.EVICTED, id=region.id)
        check(ended, "no EVICTED")
        check(time.monotonic() - begin < world.grace, "not before T")
        same("reason", ended.reason, Why.HOLDERS)
        world.station.barrier()
        world.manager.forget()
        check(not world.manager.recv(0.03, cm.INVALIDATE), "INVALIDATE again")


WRONG = {
    "another nonce": (lambda m: dict(nonce=m.tid ^ 1), {}),
    "another kind": (lambda m: dict(kind=3 - m.kind), {}),
    "another number": (lambda m: dict(number=m.number ^ 1), {}),
    "another remote id": (lambda m: dict(remote_id=5), {}),
    "another local id": (lambda m: dict(local_id=5), {}),
    "another MAC": (lambda m: {}, dict(src=OTHER_MAC)),
    "another address": (lambda m: {}, dict(src_ip=OTHER_IP)),
    "another magic": (lambda m: dict(magic=0x554e4944), {}),
    "base version 2": (lambda m: dict(base=2), {}),
    "class version 2": (lambda m: dict(class_version=2), {}),
    "method 1": (lambda m: dict(method=1), {}),
    "attribute 5": (lambda m: dict(attr=5), {}),
}


@SUITE.rows("INVALIDATED ignored", WRONG)
def wrong_answer(world, change, frame):
    """The notice stays open, INVALIDATE goes on; the right answer ends it."""
    with world.long_grace():
        side, _, region, kind, number = granted(world)
        world.process.evict(region.id)
        ask = asked(world, side)
        fields = dict(kind=kind, number=number, nonce=ask.tid,
                      attr=cm.INVALIDATED)
        fields.update(change(ask))
        side.vendor_datagram(fields.pop("attr"), fields.pop("nonce"), frame,
                             **fields)
        check(not world.process.upcall(Up.EVICTED, 0.02, id=region.id),
              "it was taken")
        side.vendor_datagram(cm.INVALIDATED, ask.tid, kind=kind,
                             number=number)
        check(world.process.upcall(Up.EVICTED, 0.6, id=region.id),
              "no EVICTED")


@SUITE.case("a holder that never answers costs the grace")
def no_answer(world):
    """INVALIDATE every 4 ms, 20 ms long; EVICTED at the deadline. A machine that
    stops makes both later. Then up to eight with no time left, in a second."""
    side, _, region, _, _ = granted(world)
    begin = time.monotonic()
    world.process.evict(region.id)
    ended = world.process.upcall(Up.EVICTED, id=region.id)
    check(ended, "no EVICTED")
    same("reason", ended.reason, Why.ADMIN)
    lasted = time.monotonic() - begin
    check(lasted > 0.0199, "before T")
    world.station.barrier()
    said = []
    while one := world.manager.recv(2.0, cm.INVALIDATE, vendor=True):
        said.append(one.grace_us)
    open_ = [left for left in said if left]
    check(1 <= len(open_) <= lasted / 0.004 + 2, "%d INVALIDATEs" % len(open_))
    same("with no time left", said[len(open_):], [0] * 8)


@SUITE.case("a holder that answers when the region has ended")
def late_answer(world):
    """It is told no more."""
    side, _, region, kind, number = granted(world)
    world.process.evict(region.id)
    ended = world.process.upcall(Up.EVICTED, id=region.id)
    check(ended, "no EVICTED")
    got = asked(world, side)
    while got.grace_us:
        got = asked(world, side)
    side.vendor_datagram(cm.INVALIDATED, got.tid, kind=kind, number=number)
    world.station.barrier()
    world.manager.forget()
    check(not world.manager.recv(1.2, cm.INVALIDATE, vendor=True),
          "INVALIDATE again")


@SUITE.case("a region that its owner ends")
def owner_ends(world):
    """MR_DEREG: the holder is told without a notice, with no time left."""
    side, _, region, kind, number = granted(world)
    world.regions.remove(region)
    region.dereg()
    got = asked(world, side)
    same("told", (got.kind, got.number, got.grace_us), (kind, number, 0))
    side.vendor_datagram(cm.INVALIDATED, got.tid, kind=kind, number=number)


@SUITE.case("the end of the holder's connection is its answer")
def holder_gone(world):
    """DREQ: nobody holds it any more."""
    with world.long_grace():
        side, conn, region, _, _ = granted(world)
        world.process.evict(region.id)
        asked(world, side)
        side.dreq()
        ended = world.process.upcall(Up.EVICTED, 0.6, id=region.id)
        check(ended, "no EVICTED")
        same("reason", ended.reason, Why.HOLDERS)


# We are the exporter

def invalidate(side, nonce=NONCE, frame=None, **fields):
    """INVALIDATE of an STag of ours."""
    values = dict(kind=STAG, number=0xabcd00, grace_us=300000)
    values.update(fields)
    side.vendor_datagram(cm.INVALIDATE, nonce, frame, **values)


@SUITE.rows("INVALIDATE of a peer", {"passive": (True,), "active": (False,),
                                     "before the RTU": (None,)})
def holder(world, passive):
    """An upcall for each repetition; INVALIDATED once the process has
    answered, and at once for a repetition after that."""
    if passive is False:
        side, conn, qp = world.active()
    else:
        side, conn, qp = world.passive(rtu=bool(passive))
    for _ in range(2):
        invalidate(side)
        upcall = world.process.upcall(Up.INVALIDATE, id=conn)
        check(upcall, "no upcall INVALIDATE")
        same("qp, kind, number, grace", (upcall.qp, upcall.kind,
                                         upcall.number, upcall.grace_us),
             (qp.id, STAG, 0xabcd00, 300000))
    check(not world.manager.recv(0.02, cm.INVALIDATED, vendor=True),
          "INVALIDATED before the process said so")
    world.process.invalidated(conn, STAG, 0xabcd00)
    for number in range(2):
        got = world.manager.recv(1, cm.INVALIDATED, NONCE, True)
        check(got, "no INVALIDATED %d" % number)
        same("kind, number, ids",
             (got.kind, got.number, got.local_id, got.remote_id),
             (STAG, 0xabcd00, side.remote_id, side.local_id))
        same("bytes that are not 0", got.rest_is_zero(), [])
        if number == 0:
            invalidate(side)
    check(not world.process.upcall(Up.INVALIDATE, 0.01), "upcall after it")


INVALIDATE_WRONG = {
    "another remote id": (dict(remote_id=5), {}),
    "another local id": (dict(local_id=5), {}),
    "another MAC": ({}, dict(src=OTHER_MAC)),
    "another address": ({}, dict(src_ip=OTHER_IP)),
    "another magic": (dict(magic=1), {}),
    "base version 2": (dict(base=2), {}),
    "class version 2": (dict(class_version=2), {}),
    "method 1": (dict(method=1), {}),
    "attribute 0": (dict(attr=0), {}), "attribute 5": (dict(attr=5), {})}


@SUITE.rows("INVALIDATE ignored", INVALIDATE_WRONG)
def holder_wrong(world, fields, frame):
    """No upcall and no answer."""
    side, conn, _ = world.passive()
    invalidate(side, frame=frame, **fields)
    check(not world.process.upcall(Up.INVALIDATE, 0.03), "an upcall")
    check(not world.manager.recv(0.01, vendor=True), "an answer")
    same("state", world.state(conn), Conn.ESTABLISHED)


@SUITE.case("INVALIDATE of a conventional peer is ignored")
def holder_conventional(world):
    """No upcall."""
    side, _, _ = world.passive(False)
    invalidate(side)
    check(not world.process.upcall(Up.INVALIDATE, 0.03), "an upcall")


@SUITE.case("INVALIDATE before ACCEPT is ignored")
def holder_early(world):
    """The connection is not up."""
    side, _ = world.request()
    invalidate(side)
    check(not world.process.upcall(Up.INVALIDATE, 0.03), "an upcall")


# DELEGATE

def delegate(world, side, nonce=NONCE, **fields):
    """DELEGATE of ours; the DELEGATED."""
    side.vendor_datagram(cm.DELEGATE, nonce, **fields)
    got = world.manager.recv(1, cm.DELEGATED, nonce, True)
    check(got, "no DELEGATED")
    same("ids", (got.local_id, got.remote_id), (side.remote_id,
                                                side.local_id))
    return got


@SUITE.case("DELEGATE: another connection becomes a holder, too")
def delegated(world):
    """The same answer to a repetition; both are asked then."""
    with world.long_grace():
        side, _, region, kind, number = granted(world)
        other, _, _ = world.passive()
        where = dict(kind=kind, number=number, ipv4=world.station.ip,
                     qpn=other.qpn)
        for _ in range(2):
            same("status", delegate(world, side, **where).status, 0)
        world.process.evict(region.id)
        asks = {}
        end = time.monotonic() + 0.3
        while len(asks) < 2 and time.monotonic() < end:
            ask = world.manager.recv(0.1, cm.INVALIDATE, vendor=True)
            if ask:
                asks[ask.remote_id] = ask
        same("asked", set(asks), {side.local_id, other.local_id})
        for one in (side, other):
            check(not world.process.upcall(Up.EVICTED, 0.01), "EVICTED")
            one.vendor_datagram(cm.INVALIDATED, asks[one.local_id].tid,
                                kind=kind, number=number)
        check(world.process.upcall(Up.EVICTED, 0.6, id=region.id),
              "no EVICTED")


@SUITE.rows("DELEGATE refused", {
    "NO_MR: another number": ("number", 7),
    "NO_MR: another kind": ("kind", 7),
    "NO_CONN: another queue pair": ("qpn", 74),
    "NO_CONN: another address": ("ipv4", 74),
    "STATE: asked back already": ("state", 22)})
def delegate_refused(world, what, status):
    """DELEGATED with the status."""
    with world.long_grace():
        side, _, region, kind, number = granted(world)
        other, _, _ = world.passive()
        where = dict(kind=kind, number=number, ipv4=world.station.ip,
                     qpn=other.qpn)
        if what == "state":
            world.process.evict(region.id)
            asked(world, side)
        elif what == "kind":
            where["kind"] = 3 - kind
        else:
            where[what] ^= 0x10
        same("status", delegate(world, side, **where).status, status)


@SUITE.rows("DELEGATE of the process", {
    "OK": (0, "OK"), "NO_MR": (7, "NO_MR"), "NO_CONN": (74, "NO_CONN"),
    "STATE": (22, "STATE"), "QUOTA": (20, "QUOTA")})
def delegate_out(world, status, name):
    """Repeated after 8, 16 ms; the status of our DELEGATED is its answer."""
    side, conn, _ = world.active()
    seq = world.process.send(Op.DELEGATE, conn=conn, kind=STAG,
                             number=0xabcd00, ipv4=OTHER_IP, qpn=0x77)
    got = [world.manager.recv(1, cm.DELEGATE, vendor=True) for _ in range(3)]
    check(all(got), "no DELEGATE")
    first = got[0]
    same("ids", (first.local_id, first.remote_id), (side.remote_id,
                                                    side.local_id))
    same("kind, number, ipv4, qpn",
         (first.kind, first.number, first.ipv4, first.qpn),
         (STAG, 0xabcd00, OTHER_IP, 0x77))
    same("nonces", {one.tid for one in got}, {first.tid})
    same("bytes that are not 0", first.rest_is_zero(), [])
    side.vendor_datagram(cm.DELEGATED, first.tid, kind=STAG,
                         number=0xabcd00, status=status)
    same("answer", world.result(seq).status.name, name)


@SUITE.case("DELEGATE of the process: nobody answers")
def delegate_silent(world):
    """Eight times at intervals of 8, 16, ... ms; UNREACHABLE 1024 ms after
    the last."""
    side, conn, _ = world.active()
    begin = time.monotonic()
    seq = world.process.send(Op.DELEGATE, conn=conn, kind=STAG,
                             number=0xabcd00, ipv4=OTHER_IP, qpn=0x77)
    times = []
    while not world.process.answered(seq):
        got = world.manager.recv(0.02, cm.DELEGATE, vendor=True)
        if got:
            times.append(got.when)
        check(len(times) < 20, "no end")
    same("answer", world.process.wait(seq).status.name, "UNREACHABLE")
    same("DELEGATEs", len(times), 8)
    times.append(time.monotonic())
    took = [one - begin for one in times]
    check(all(got >= 0.008 * (2 ** at - 1) for at, got in enumerate(took)),
          "after %s s" % ["%.3f" % one for one in took])
