# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Connection manager", with the NIC's host as passive side."""

import time

import cm
import frame as fr
import rc
from check import Failed, Suite, check, same
from names import Conn, Qpt, Up
from world import OTHER_IP, OTHER_MAC

SUITE = Suite()
BOTH = {"unic": (True,), "conventional": (False,)}


@SUITE.rows("passive", BOTH)
def life(world, vendor):
    """REQ, CONN_REQUEST, ACCEPT, REP, RTU, data both ways, DREQ, DREP."""
    side = world.side(vendor)
    side.consumer = b"hello"
    side, upcall = world.request(side)
    want = 5 if vendor else 56
    same("private_bytes", upcall.private_bytes, want)
    same("private data", world.process.conn_query(upcall.id).tail,
         b"hello".ljust(want, b"\0"))
    rep, qp, reply = world.accept(side, upcall, b"welcome")
    same("vendor", reply.vendor, int(vendor))
    side.rtu()
    check(world.process.upcall(Up.ESTABLISHED, id=upcall.id),
          "no ESTABLISHED")
    world.works(side, qp)
    side.dreq()
    check(side.recv(cm.DREP), "no DREP")
    world.disconnected(upcall.id)
    world.in_error(qp)


@SUITE.case("REP: every field")
def rep_fields(world):
    """As the tables say that unic sends it; all other bytes are 0."""
    side, upcall = world.request(world.side(resources=2, depth=3))
    rep, qp, reply = world.accept(side, upcall, b"welcome", rnr_retry=3)
    want = dict(base=1, mad_class=7, class_version=2, method=3, status4=0,
                tid=side.tid, reserved18=0, remote_id=side.local_id,
                qpn=qp.number, ack_delay=5, flow=0, rnr_retries=3)
    for name, value in want.items():
        same(name, getattr(rep, name), value)
    check(rep.local_id, "local communication id is 0")
    check(1 <= rep.resources <= 4 and 1 <= rep.depth <= 4,
          "resources %d, depth %d" % (rep.resources, rep.depth))
    same("private data", rep.private, cm.private(b"welcome").ljust(
        196, b"\0"))
    same("CA GUID, upper half", rep.guid >> 32, 0)
    same("bytes that are not 0", rep.rest_is_zero(), [])
    same("max_rd", reply.max_rd, 2)
    same("max_dest_rd", reply.max_dest_rd, 3)
    packet = rep.packet
    same("PSN", packet.psn, 0)
    same("DETH", packet.header("deth"), (cm.fr.GSI_QKEY, 1))
    same("source port", packet.sport, 0xc000 | world.station.ip & 0x3fff)
    same("to", (packet.dst, packet.dst_ip), (world.station.mac,
                                             world.station.ip))


IGNORED = {
    "base version 2": dict(base=2), "class 8": dict(mad_class=8),
    "class version 1": dict(class_version=1), "method 1": dict(method=1),
    "method 81": dict(method=0x81),
}


@SUITE.rows("REQ ignored", {n: (row,) for n, row in IGNORED.items()})
def req_ignored(world, fields):
    """A must of the datagram fails: no answer, no upcall."""
    side = world.side()
    side.req(world.listen(), **fields)
    same("answer", side.quiet(0.08), None)
    check(not world.process.upcall(Up.CONN_REQUEST, 0), "CONN_REQUEST came")


@SUITE.rows("REQ that cannot be served", {
    "transport RD": (dict(transport=2), 9),
    "transport XRC": (dict(transport=3), 9),
    "MTU 0": (dict(mtu=0), 26), "MTU 6": (dict(mtu=6), 26),
    "MTU 15": (dict(mtu=15), 26),
    "local GID of IPv6": (dict(local_gid=b"\xfe\x80" + bytes(14)), 12),
    "remote GID of IPv6": (dict(remote_gid=b"\xfe\x80" + bytes(14)), 12),
    "local GID without ffff": (dict(local_gid=bytes(16)), 12)})
def req_refused(world, fields, reason):
    """REJ with the reason; no upcall."""
    side = world.side()
    side.req(world.listen(), **fields)
    rej = side.recv(cm.REJ)
    check(rej, "no REJ")
    same("REJ", (rej.tid, rej.reason, rej.rejected, rej.local_id,
                 rej.remote_id), (side.tid, reason, 0, 0, side.local_id))
    check(not world.process.upcall(Up.CONN_REQUEST, 0), "CONN_REQUEST came")


TAKEN = {
    "status": dict(status4=0xffffffff), "attribute modifier":
    dict(reserved18=0xffffffffffff), "GUID": dict(guid=1 << 60),
    "CM timeouts": dict(remote_timeout=0, local_timeout=0),
    "retries": dict(retries=0, rnr_retries=0, cm_retries=0),
    "P_Key": dict(pkey=0x1234), "hop limit": dict(hop_limit=0),
    "flow control": dict(flow=1),
    "addresses in the GIDs": dict(local_gid=cm.gid(OTHER_IP),
                                  remote_gid=cm.gid(OTHER_IP)),
    "ACK timeout 31": dict(ack_timeout=31), "resources 0":
    dict(resources=0, depth=0), "MTU 256": dict(mtu=1),
    "MTU 4096": dict(mtu=5),
}


@SUITE.rows("REQ taken", {n: (row,) for n, row in TAKEN.items()})
def req_taken(world, fields):
    """What is not read may have any value."""
    side, upcall = world.request(**fields)
    _, qp, reply = world.accept(side, upcall)
    if "mtu" in fields:
        same("mtu_shift", reply.mtu_shift, 7 + fields["mtu"])
    if fields.get("resources") == 0:
        same("max_rd, max_dest_rd", (reply.max_rd, reply.max_dest_rd), (0, 0))
    side.rtu()
    check(world.process.upcall(Up.ESTABLISHED), "no ESTABLISHED")


@SUITE.rows("mark", {
    "version 2": (cm.CONSUMER, b"UNIC\2\5", 0, 56),
    "version 0": (cm.CONSUMER, b"UNIC\0\5", 0, 56),
    "length 57": (cm.CONSUMER, b"UNIC\1\x39", 0, 56),
    "length 56": (cm.CONSUMER, b"UNIC\1\x38", 1, 56),
    "length 0": (cm.CONSUMER, b"UNIC\1\0", 1, 0),
    "other letters": (cm.CONSUMER, b"UNIX\1\5", 0, 56),
    "elsewhere": (cm.CONSUMER - 1, b"UNIC\1\5", 0, 56)})
def mark(world, at, text, vendor, size):
    """Anything but "UNIC", version 1 and a length up to 56 makes its sender
    conventional, and the consumer gets 56 bytes; the REP has a mark all the
    same."""
    data = bytearray(b"\x11" * 92)
    data[at:at + 6] = text
    side, upcall = world.request(private=bytes(data))
    same("private data", world.process.conn_query(upcall.id).tail,
         bytes(data[:size]))
    rep, _, reply = world.accept(side, upcall)
    same("vendor", reply.vendor, vendor)
    same("mark of the REP", cm.mark_of(rep.private), (True, b""))


@SUITE.rows("bit of REFUSED in the REQ", {
    "set": (1, "refused"), "not set": (0, "ok"), "others": (0xfe, "ok"),
    "all": (0xff, "refused")})
def told(world, caps, answer):
    """A peer whose mark has it is told that its tagged message was refused,
    another one gets an ACK. The REP has it."""
    side, upcall = world.request(private=cm.private(caps=caps))
    rep, qp, reply = world.accept(side, upcall)
    same("vendor", reply.vendor, 1)
    same("bit in the REP", rep.private[62], cm.REFUSED)
    side.rtu()
    check(world.process.upcall(Up.ESTABLISHED, id=upcall.id),
          "no ESTABLISHED")
    world.settle()
    qp.post_recv([])
    peer = world.peer(side)
    request = peer.tagged(1 << 20, 1, b"", b"payload")
    same("answer", peer.finish(request), answer)


@SUITE.rows("REJ", {
    "8: nobody listens": (dict(service=0xdead), 8, None),
    "26: MTU above ACCEPT's": (dict(mtu=4), 26, dict(mtu_shift=10)),
    "9: UC to RC": (dict(transport=1), 9, {}),
    "3: queue pair 1": (dict(qpn=1), 3, {}),
    "3: queue pair 0": (dict(qpn=0), 3, {})})
def rejected(world, fields, reason, wishes):
    """REJ of the REQ with the reason, both ids and the mark."""
    side = world.side()
    if wishes is None:
        side.req(**fields)
    else:
        _, upcall = world.request(side, **fields)
        reply = world.process.wait(world.process.accept_later(
            upcall.id, world.qp(), **wishes))
        check(reply.status.name != "OK", "ACCEPT was OK")
        world.open.remove(upcall.id)
    rej = side.recv(cm.REJ, world.patience)
    check(rej, "no REJ")
    same("reason", rej.reason, reason)
    same("message rejected", rej.rejected, 0)
    same("remote id", rej.remote_id, side.local_id)
    same("bytes that are not 0", rej.rest_is_zero(), [])
    same("info", (rej.info_bytes, rej.info), (0, bytes(72)))


@SUITE.case("REJ 28: REJECT of the process, with private data")
def reject(world):
    """56 bytes of private data at most, and the mark behind."""
    side, upcall = world.request()
    world.process.reject(upcall.id, b"go away")
    rej = side.recv(cm.REJ)
    check(rej, "no REJ")
    same("reason", rej.reason, 28)
    same("private data", cm.mark_of(rej.private), (True, b"go away"))
    same("CONN_QUERY", world.gone(upcall.id), True)
    world.open.remove(upcall.id)


@SUITE.case("REJ 28: the process ends before the connection was up")
def process_ends(world):
    """Its listeners end; REQs that wait are rejected."""
    side = world.side()
    with world.rig.process() as other:
        other.listen(0xabcdef)
        side.req(0xabcdef)
        check(other.upcall(Up.CONN_REQUEST), "no CONN_REQUEST")
    rej = side.recv(cm.REJ, 2)
    check(rej, "no REJ")
    same("reason", rej.reason, 28)


@SUITE.case("REQ again while ACCEPT is awaited")
def req_again(world):
    """No answer and no second upcall; after ACCEPT: REP again."""
    side, upcall = world.request()
    service = world.service
    side.req(service)
    same("answer", side.quiet(), None)
    check(not world.process.upcall(Up.CONN_REQUEST, 0.02), "a second upcall")
    first, _, _ = world.accept(side, upcall)
    side.req(service)
    rep = side.recv(cm.REP, 0.09)
    check(rep, "no REP again")
    same("the same REP", rep.data, first.data)


@SUITE.case("a REQ with another transaction is another connection")
def req_other_tid(world):
    """Also with the same communication id and queue pair number."""
    side, upcall = world.request()
    other = world.side()
    other.qpn, other.local_id = side.qpn, side.local_id
    other.req(world.service)
    second = world.process.upcall(Up.CONN_REQUEST)
    check(second and second.id != upcall.id, "no second upcall")
    world.open.append(second.id)


@SUITE.case("REP again after 0.1, 0.2, 0.4, 0.8 s; none after the RTU")
def rep_again(world):
    """Each is the same; data do not establish the connection."""
    side, upcall = world.request()
    first, qp, _ = world.accept(side, upcall)
    begin = first.when
    world.works(side, qp)
    check(not world.process.upcall(Up.ESTABLISHED, 0), "ESTABLISHED")
    for due in (0.1, 0.2, 0.4, 0.8):
        rep = side.recv(cm.REP, 1)
        check(rep, "no REP after %.1f s" % due)
        same("the same REP", rep.data, first.data)
        check(due - 0.08 < rep.when - begin < due + 0.4,
              "REP after %.3f s, not %.1f" % (rep.when - begin, due))
    side.rtu()
    check(world.process.upcall(Up.ESTABLISHED), "no ESTABLISHED")
    world.settle()
    same("REP", side.quiet(1.0), None)


ESTABLISHED = {"REQ again": lambda s, w: s.req(w.service),
               "RTU again": lambda s, w: s.rtu(),
               "REP": lambda s, w: s.rep(), "REJ": lambda s, w: s.rej(28, 2),
               "DREP": lambda s, w: s.drep(), "MRA": lambda s, w: s.mra()}


@SUITE.rows("established, passive", {n: (f,) for n, f in
                                     ESTABLISHED.items()})
def established(world, action):
    """Nothing is changed or sent."""
    side, conn, qp = world.passive()
    action(side, world)
    same("answer", side.quiet(), None)
    same("state", world.state(conn), Conn.ESTABLISHED)
    world.works(side, qp)


# SPEC "Which message is of which connection": REP sent, a message that does
# not fit. (fields of the datagram, of its frame) -> RTU has no effect.
STRAY = {
    "another address": ({}, dict(src_ip=OTHER_IP)),
    "another MAC": ({}, dict(src=OTHER_MAC)),
    "another remote id": (dict(remote_id=5), {}),
    "another local id": (dict(local_id=5), {}),
    "another transaction": (dict(tid=7), {}),
    "both ids 0": (dict(remote_id=0, local_id=0), {}),
    "remote id 0, another transaction": (dict(remote_id=0, tid=7), {}),
    "class 8": (dict(mad_class=8), {}), "method 1": (dict(method=1), {}),
}


@SUITE.rows("stray RTU", STRAY)
def stray_rtu(world, fields, frame):
    """No answer, and the connection is not established; a right one is."""
    side, conn, _ = world.passive(rtu=False)
    side.rtu(frame, **fields)
    check(not world.process.upcall(Up.ESTABLISHED, 0.03), "ESTABLISHED")
    same("state", world.state(conn), Conn.ACCEPTED)
    side.rtu()
    check(world.process.upcall(Up.ESTABLISHED), "no ESTABLISHED")


@SUITE.rows("stray REJ", STRAY)
def stray_rej(world, fields, frame):
    """No answer; the connection lives."""
    side, conn, _ = world.passive(rtu=False)
    side.rej(28, 1, frame, **fields)
    check(not world.process.upcall(Up.DISCONNECTED, 0.03), "DISCONNECTED")
    same("state", world.state(conn), Conn.ACCEPTED)


@SUITE.case("REJ with remote id 0")
def rej_zero(world):
    """It fits the connection that a REQ with its transaction id and local
    communication id made."""
    side, conn, qp = world.passive(rtu=False)
    side.rej(28, 1, remote_id=0)
    world.disconnected(conn)
    world.in_error(qp)


@SUITE.rows("stray DREP, MRA", {"DREP": ("drep",), "MRA": ("mra",)})
def stray_others(world, name):
    """With an id of no connection: none."""
    side = world.side()
    side.remote_id = 0x1234
    getattr(side, name)()
    same("answer", side.quiet(), None)


@SUITE.case("REJ of the REP")
def rej_rep(world):
    """Queue pair to ERR, DISCONNECTED."""
    side, conn, qp = world.passive(rtu=False)
    side.rej(28, 1)
    world.disconnected(conn)
    world.in_error(qp)
    same("DREQ", side.quiet(0.05, cm.DREQ), None)


@SUITE.case("REJ of the REQ while ACCEPT is awaited")
def rej_waiting(world):
    """The active side gives up: DISCONNECTED, and the request ends. It may
    have heard nothing of us: remote id 0."""
    side, upcall = world.request()
    side.rej(4, 2)
    check(world.process.upcall(Up.DISCONNECTED, 1, id=upcall.id),
          "no DISCONNECTED")


@SUITE.rows("DREQ", {"REP sent": (False,), "established": (True,)})
def dreq(world, rtu):
    """DREP with its transaction, queue pair to ERR, DISCONNECTED; again: DREP
    again while the process has not freed it, and after it, too."""
    side, conn, qp = world.passive(rtu=rtu)
    world.settle()
    for number in range(3):
        side.dreq()
        drep = side.recv(cm.DREP)
        check(drep, "no DREP %d" % number)
        same("ids", (drep.local_id, drep.remote_id),
             (side.remote_id, side.local_id))
        same("bytes that are not 0", drep.rest_is_zero(), [])
        if number == 0:
            world.disconnected(conn)
            world.in_error(qp)
            same("state", world.state(conn), Conn.CLOSED)
        if number == 1:
            world.process.wait(world.process.disconnect_later(conn))
            world.open.remove(conn)
            same("CONN_QUERY", world.gone(conn), True)


STRAY_DREQ = {
    "another address": ({}, dict(src_ip=OTHER_IP), False),
    "another MAC": ({}, dict(src=OTHER_MAC), False),
    "another remote id": (dict(remote_id=5), {}, True),
    "another local id": (dict(local_id=5), {}, True),
    "another queue pair": (dict(qpn=77), {}, False),
}


@SUITE.rows("stray DREQ", STRAY_DREQ)
def stray_dreq(world, fields, frame, answered):
    """One that fails sender or ids is answered DREP, ids turned round; one
    that names another queue pair is not. The connection lives. (Where the
    answer to another address or MAC goes, nobody listens.)"""
    side, conn, qp = world.passive()
    side.dreq(frame, **fields)
    drep = side.quiet(0.05 if not answered else 1.0, cm.DREP)
    if answered:
        check(drep, "no DREP")
        same("ids", (drep.local_id, drep.remote_id), (
            fields.get("remote_id", side.remote_id),
            fields.get("local_id", side.local_id)))
    elif not frame:
        same("answer", drep, None)
    check(not world.process.upcall(Up.DISCONNECTED, 0.02), "DISCONNECTED")
    same("state", world.state(conn), Conn.ESTABLISHED)
    world.works(side, qp)


@SUITE.rows("DREQ with a transaction of its own", {
    "unic": (True,), "conventional": (False,)})
def dreq_tid(world, vendor):
    """A conventional peer may, and the DREP repeats it; from a unic peer it
    is ignored."""
    side, conn, _ = world.passive(vendor)
    side.dreq(tid=0x1234567)
    got = world.manager.recv(0.1 if vendor else 1, cm.DREP, 0x1234567)
    if vendor:
        same("DREP", got, None)
        same("state", world.state(conn), Conn.ESTABLISHED)
    else:
        check(got, "no DREP")
        world.disconnected(conn)


@SUITE.case("DREQ of no connection: DREP")
def dreq_of_none(world):
    """Ids turned round, the same transaction."""
    side = world.side()
    side.remote_id = 0x55aa
    side.dreq()
    drep = side.recv(cm.DREP)
    check(drep, "no DREP")
    same("ids", (drep.local_id, drep.remote_id), (0x55aa, side.local_id))


@SUITE.case("REP of no connection: REJ 6")
def rep_of_none(world):
    """Message 1."""
    side = world.side()
    side.remote_id = 0x55aa
    side.rep()
    rej = side.recv(cm.REJ)
    check(rej, "no REJ")
    same("reason, message", (rej.reason, rej.rejected), (6, 1))
    same("ids", (rej.local_id, rej.remote_id), (0x55aa, side.local_id))


@SUITE.rows("other attributes", {"%x" % a: (a,) for a in (
    0, 0x0f, 0x18, 0x19, 0x1a, 0xffff)})
def attributes(world, attr):
    """LAP, APR, SIDR and so on are ignored."""
    side, conn, _ = world.passive()
    data = bytearray(cm.build(cm.MRA, **side.ids()))
    data[16:18] = attr.to_bytes(2, "big")
    world.manager.send(bytes(data))
    same("answer", side.quiet(), None)
    same("state", world.state(conn), Conn.ESTABLISHED)


@SUITE.case("answers go to the source of the datagram")
def source(world):
    """A REQ from another MAC and address: its REP goes there."""
    side = world.side()
    data = side.req(world.listen(), send=False)
    world.manager.send(data, src=OTHER_MAC, src_ip=OTHER_IP)
    upcall = world.process.upcall(Up.CONN_REQUEST)
    check(upcall, "no CONN_REQUEST")
    world.open.append(upcall.id)
    same("peer_ipv4", upcall.peer_ipv4, OTHER_IP)
    rep, _, _ = world.accept(side, upcall)
    same("to", (rep.packet.dst, rep.packet.dst_ip), (OTHER_MAC, OTHER_IP))
    side.dreq(dict(src=OTHER_MAC, src_ip=OTHER_IP))
    check(side.recv(cm.DREP), "no DREP")


@SUITE.rows("agreed: RNR timer code", {"default": ({}, 12),
                                       "wish": ({"rnr_timer": 20}, 20)})
def rnr_code(world, wish, code):
    """Our SEND finds no receive: RNR with the code of ACCEPT, or 12."""
    side, upcall = world.request()
    world.accept(side, upcall, **wish)
    side.rtu()
    peer = world.peer(side)
    peer.raw(fr.SEND_ONLY, b"data", ackreq=True)
    packet = peer.recv(world.patience)
    check(packet, "no answer")
    same("syndrome", packet.syndrome, rc.RNR | code)


@SUITE.case("UC: REQ with transport 1")
def unreliable(world):
    """ACCEPT with a queue pair of UC; a SEND passes."""
    side = world.side()
    side.req(world.listen(), transport=1)
    upcall = world.process.upcall(Up.CONN_REQUEST)
    check(upcall, "no CONN_REQUEST")
    world.open.append(upcall.id)
    same("qp_type", world.process.conn_query(upcall.id).qp_type, Qpt.UC)
    qp = world.qp(Qpt.UC)
    qp.post_recv([world.buffers.sge(0, 64)], wr_id=3)
    reply = world.process.wait(world.process.accept_later(upcall.id, qp))
    same("ACCEPT", reply.status.name, "OK")
    side.take_rep(side.recv(cm.REP))
    side.rtu()
    peer = world.peer(side)
    peer.put(cm.fr.UC + cm.fr.SEND_ONLY, b"hello")
    done = qp.wait(1)
    check(done and done[0].byte_len == 5, "completion %s" % (done,))


@SUITE.case("REJ 3: a guesser gets no connection")
def guesser(world):
    """After too many wrong keys ACCEPT cannot move its queue pair."""
    for _ in range(5):
        world.guess_rest()
        side, upcall = world.request()
        conn = world.conn(False, Qpt.UC)
        body = cm.fr.pack("reth", world.data.iova,
                          world.data.stag ^ 0x5500, 1)
        for _ in range(24):
            conn.peer.put(cm.fr.UC + cm.fr.WRITE_ONLY, body + b"x")
        world.station.barrier()
        reply = world.process.wait(world.process.accept_later(
            upcall.id, world.qp()))
        if reply.status:
            break
    world.guess_rest()
    check(reply.status, "ACCEPT was OK")
    rej = side.recv(cm.REJ)
    check(rej, "no REJ")
    same("reason", rej.reason, 3)
    world.open.remove(upcall.id)


@SUITE.case("64 REQs wait for ACCEPT; one more ends the oldest")
def full(world):
    """The oldest of the address that has most ends DISCONNECTED, reason 2,
    and its peer is told nothing; an older one of another address stays."""
    service = world.listen()
    data = world.side().req(service, send=False)
    world.manager.send(data, src_ip=OTHER_IP)
    upcall = world.process.upcall(Up.CONN_REQUEST, peer_ipv4=OTHER_IP)
    check(upcall, "no CONN_REQUEST")
    world.open.append(upcall.id)
    ids, sides = [], []
    for _ in range(64):
        side = world.side()
        sides.append(side)
        side.req(service)
        upcall = world.process.upcall(Up.CONN_REQUEST, peer_qpn=side.qpn)
        check(upcall, "no CONN_REQUEST")
        ids.append(upcall.id)
    world.disconnected(ids[0], 2)
    more = world.process.upcall(Up.DISCONNECTED, 0.02)
    if more:
        raise Failed("DISCONNECTED %d of REQ %d, too" % (
            more.reason, ids.index(more.id)))
    same("REJ", sides[0].quiet(0.05), None)
    for conn in ids[1:]:
        world.process.reject(conn)


@SUITE.case("REQ without ACCEPT: 8 s for a unic peer", long=True)
def accept_late(world):
    """REJ 4, DISCONNECTED (1)."""
    side, upcall = world.request()
    begin = time.monotonic()
    rej = side.recv(cm.REJ, 10)
    check(rej, "no REJ")
    check(7.5 < time.monotonic() - begin < 9, "after %.1f s" % (
        time.monotonic() - begin))
    same("reason, message", (rej.reason, rej.rejected), (4, 0))
    world.disconnected(upcall.id, 1)


@SUITE.case("REQ without ACCEPT: 30 s for a conventional peer", long=True)
def accept_late_conventional(world):
    """REJ 4, DISCONNECTED (1); REQs again prolong nothing."""
    side, upcall = world.request(world.side(False))
    begin = time.monotonic()
    rej = None
    while rej is None and time.monotonic() < begin + 35:
        rej = side.recv(cm.REJ, 5)
        side.req(world.service)
    check(rej, "no REJ")
    check(29 < time.monotonic() - begin < 32, "after %.1f s" % (
        time.monotonic() - begin))
    same("reason, message", (rej.reason, rej.rejected), (4, 0))
    world.disconnected(upcall.id, 1)


@SUITE.case("REP without RTU: 10 s", long=True)
def rtu_late(world):
    """REP after 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 ... s; then REJ 4 once, queue
    pair to ERR, DISCONNECTED (1)."""
    side, upcall = world.request()
    first, qp, _ = world.accept(side, upcall)
    times, got = [], None
    while not got or got.attr == cm.REP:
        got = side.quiet(3)
        check(got, "no REJ")
        times.append(got.when - first.when)
    rej = got
    same("message", rej.name, "REJ")
    same("reason, message", (rej.reason, rej.rejected), (4, 2))
    same("ids", (rej.local_id, rej.remote_id),
         (first.local_id, side.local_id))
    cm.names_sender(rej, first.guid)
    same("second REJ", side.quiet(1.0), None)
    want = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.8, 6.4, 8.0, 9.6, 10.0]
    check(len(times) == len(want) and all(
        abs(a - b) < 0.2 for a, b in zip(times, want)),
        "REPs and REJ after %s" % ["%.2f" % t for t in times])
    world.disconnected(upcall.id, 1)
    world.in_error(qp)
