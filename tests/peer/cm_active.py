# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Connection manager", with the NIC's host as active side."""

import time

import cm
import frame as fr
from check import Suite, check, same
from names import Conn, Qps, Wcs, Wd
from world import OTHER_IP, OTHER_MAC

SUITE = Suite()
BOTH = {"unic": (True,), "conventional": (False,)}


def disconnect(world, side, conn, timeout=1.0):
    """DISCONNECT of the process: (seq, DREQ)."""
    seq = world.process.disconnect_later(conn)
    dreq = side.recv(cm.DREQ, timeout)
    check(dreq, "no DREQ")
    if conn in world.open:
        world.open.remove(conn)
    return seq, dreq


@SUITE.rows("active", BOTH)
def life(world, vendor):
    """CONNECT, REQ, REP, RTU, data both ways, DISCONNECT, DREQ, DREP."""
    side = world.side(vendor)
    side.consumer = b"welcome"
    side, seq, req, qp = world.connect(side, private=b"hello")
    same("private data of the REQ", cm.mark_of(req.private), (True, b"hello"))
    side.rep()
    reply = world.result(seq)
    same("status", reply.status.name, "OK")
    world.open.append(reply.id)
    same("vendor", reply.vendor, int(vendor))
    same("private data", reply.tail,
         b"welcome" if vendor else b"welcome".ljust(56, b"\0"))
    rtu = side.recv(cm.RTU)
    check(rtu, "no RTU")
    same("ids", (rtu.local_id, rtu.remote_id), (side.remote_id,
                                                side.local_id))
    same("bytes that are not 0", rtu.rest_is_zero(), [])
    world.works(side, qp)
    seq, dreq = disconnect(world, side, reply.id)
    world.in_error(qp)
    same("ids, queue pair", (dreq.local_id, dreq.remote_id, dreq.qpn),
         (side.remote_id, side.local_id, side.qpn))
    same("bytes that are not 0", dreq.rest_is_zero(), [])
    check(not world.process.answered(seq), "DISCONNECT was answered")
    side.drep()
    same("DISCONNECT", world.result(seq).status.name, "OK")
    same("CONN_QUERY", world.gone(reply.id), True)


@SUITE.case("REQ: every field")
def req_fields(world):
    """As the tables say that unic sends it; all other bytes are 0."""
    side, seq, req, qp = world.connect(
        private=b"hello", timeout=15, retry_cnt=5, rnr_retry=3, max_rd=2,
        max_dest_rd=3, mtu_shift=11)
    ips = world.rig.ip, world.station.ip
    want = dict(base=1, mad_class=7, class_version=2, method=3, status4=0,
                reserved18=0, service=world.service, qpn=qp.number,
                resources=3, depth=2, remote_timeout=20, transport=0, flow=0,
                local_timeout=20, retries=5, pkey=0xffff, mtu=4,
                rnr_retries=3, cm_retries=15, local_gid=cm.gid(ips[0]),
                remote_gid=cm.gid(ips[1]), hop_limit=64, ack_timeout=15,
                private=cm.private(b"hello").ljust(92, b"\0"))
    for name, value in want.items():
        same(name, getattr(req, name), value)
    check(req.local_id and req.tid, "an id is 0")
    same("CA GUID, upper half", req.guid >> 32, 0)
    same("bytes that are not 0", req.rest_is_zero(), [])
    same("DETH", req.packet.header("deth"), (fr.GSI_QKEY, 1))
    same("PSN", req.packet.psn, 0)
    side.rej(28)
    world.result(seq)


@SUITE.case("REQ: ids and starting PSNs are drawn anew")
def req_random(world):
    """Two REQs of one process have nothing in common."""
    got = []
    for _ in range(2):
        side, seq, req, _ = world.connect()
        got.append((req.tid, req.local_id, req.psn))
        side.rej(28)
        world.result(seq)
    for one, other in zip(*got):
        check(one != other, "%x twice" % one)


@SUITE.case("REQ again after 0.1, 0.2, 0.4, 0.8 s; then REJ 4, UNREACHABLE")
def req_again(world):
    """CONNECT with a time of 1 s, ARP included; REJ of message 2, remote
    id 0. An MRA prolongs nothing."""
    side, seq, first, qp = world.connect(timeout_us=1000000)
    side.mra()
    for due in (0.1, 0.2, 0.4, 0.8):
        req = side.recv(cm.REQ, 1)
        check(req, "no REQ after %.1f s" % due)
        same("the same REQ", req.data, first.data)
        took = req.when - first.when
        check(due - 0.08 < took < due + 0.4, "after %.3f s" % took)
    rej = side.recv(cm.REJ, 1)
    check(rej, "no REJ")
    same("reason, message", (rej.reason, rej.rejected), (4, 2))
    same("ids", (rej.local_id, rej.remote_id), (first.local_id, 0))
    cm.names_sender(rej, first.guid)
    same("status", world.result(seq).status.name, "UNREACHABLE")


@SUITE.case("nobody answers ARP: UNREACHABLE")
def no_arp(world):
    """Three questions of a second, within the time of CONNECT."""
    world.station.answers_arp = False
    begin = time.monotonic()
    seq = world.process.connect_later(1, fr.ipv4("10.0.0.220"), world.qp())
    same("status", world.result(seq).status.name, "UNREACHABLE")
    check(2.9 < time.monotonic() - begin < 4.5, "not after 3 s")
    check(len(world.station.arps) >= 27, "%d ARP requests"
          % len(world.station.arps))


@SUITE.rows("REJ of the REQ", {
    "8": (8, 8), "9": (9, 9), "26": (26, 26), "28": (28, 28), "0": (0, 0),
    "255": (255, 255), "256 is 255": (256, 255), "65535 is 255":
    (65535, 255)})
def rejected(world, reason, told):
    """REJECTED with the reason as it is; its private data."""
    side, seq, _, qp = world.connect()
    side.rej(reason, private=b"no".ljust(56, b"\0") + cm.MARK + b"\2")
    reply = world.result(seq)
    same("status", reply.status.name, "REJECTED")
    same("reason, state", (reply.reason, reply.state), (told, Conn.REJECTED))
    same("private data", reply.tail, b"no")
    same("answer", side.quiet(0.03, cm.REJ, cm.RTU, cm.DREQ, cm.DREP), None)


@SUITE.case("REJ of the REQ without mark: 56 bytes of private data")
def rejected_conventional(world):
    """The length is not known."""
    side, seq, _, _ = world.connect()
    side.rej(28, private=b"no")
    same("private data", world.result(seq).tail, b"no".ljust(56, b"\0"))


@SUITE.case("REJ of the REQ: remote id 0 fits by transaction and local id")
def rejected_zero(world):
    """Of who has heard nothing: the REQ's own sender does; here it is as for
    any other, by the id of the NIC's side."""
    side, seq, req, _ = world.connect()
    side.rej(28, local_id=0)
    same("status", world.result(seq).status.name, "REJECTED")


# Messages that do not fit the connection that was begun

STRAY_REP = {
    "another address": ({}, dict(src_ip=OTHER_IP), None),
    "another MAC": ({}, dict(src=OTHER_MAC), True),
    "another remote id": (dict(remote_id=5), {}, True),
    "remote id 0": (dict(remote_id=0), {}, True),
    "another transaction": (dict(tid=7), {}, False),
    "class 8": (dict(mad_class=8), {}, False),
    "class version 1": (dict(class_version=1), {}, False),
    "method 2": (dict(method=2), {}, False),
    "base version 0": (dict(base=0), {}, False)}


@SUITE.rows("stray REP", STRAY_REP)
def stray_rep(world, fields, frame, answered):
    """One that fails sender or id is answered REJ 6; one that fails the
    transaction, or is no datagram, is not. CONNECT goes on, and the right
    REP ends it."""
    side, seq, _, _ = world.connect()
    side.rep(frame, **fields)
    tid = fields.get("tid", side.tid)
    rej = world.manager.recv(0.5 if answered else 0.05, cm.REJ, tid)
    if answered:
        check(rej, "no REJ")
        same("reason, message", (rej.reason, rej.rejected), (6, 1))
    elif answered is False:
        same("REJ", rej, None)
    check(not world.process.answered(seq), "CONNECT ended")
    side.rep()
    reply = world.result(seq)
    same("status", reply.status.name, "OK")
    world.open.append(reply.id)


@SUITE.rows("stray REJ of the REQ", {
    "another address": ({}, dict(src_ip=OTHER_IP)),
    "another MAC": ({}, dict(src=OTHER_MAC)),
    "another remote id": (dict(remote_id=5), {}),
    "another transaction": (dict(tid=7), {}),
    "remote id 0": (dict(remote_id=0), {}),
    "method 2": (dict(method=2), {})})
def stray_rej(world, fields, frame):
    """Ignored; CONNECT goes on."""
    side, seq, _, _ = world.connect()
    side.rej(28, 0, frame, **fields)
    same("answer", side.quiet(0.04, cm.REJ, cm.DREP, cm.RTU), None)
    check(not world.process.answered(seq), "CONNECT ended")
    side.rej(28)
    same("status", world.result(seq).status.name, "REJECTED")


@SUITE.rows("REQ sent", {"RTU": ("rtu", None), "DREP": ("drep", None),
                         "MRA": ("mra", None), "DREQ": ("dreq", cm.DREP)})
def req_sent(world, name, answer):
    """Nothing but the DREP of a DREQ (as of no connection); CONNECT goes
    on."""
    side, seq, _, _ = world.connect()
    getattr(side, name)()
    got = side.quiet(0.06 if answer is None else 1, cm.REJ, cm.DREP, cm.RTU)
    same("answer", got and got.attr, answer)
    check(not world.process.answered(seq), "CONNECT ended")
    side.rep()
    reply = world.result(seq)
    same("status", reply.status.name, "OK")
    world.open.append(reply.id)


@SUITE.rows("established, active", {
    "REP": ("rep", cm.RTU), "RTU": ("rtu", None), "DREP": ("drep", None),
    "MRA": ("mra", None)})
def established(world, name, answer):
    """RTU again for a REP again; else nothing."""
    side, conn, qp = world.active()
    for _ in range(2):
        getattr(side, name)()
        got = side.quiet(0.05 if answer is None else 1)
        same("answer", got and got.attr, answer)
    same("state", world.state(conn), Conn.ESTABLISHED)
    world.works(side, qp)


@SUITE.case("established, active: REJ")
def established_rej(world):
    """Nothing."""
    side, conn, _ = world.active()
    side.rej(28, 1)
    same("answer", side.quiet(), None)
    same("state", world.state(conn), Conn.ESTABLISHED)


@SUITE.case("established, active: DREQ")
def established_dreq(world):
    """DREP, queue pair to ERR, DISCONNECTED."""
    side, conn, qp = world.active()
    side.dreq()
    check(side.recv(cm.DREP), "no DREP")
    world.disconnected(conn)
    world.in_error(qp)


@SUITE.case("DREQ sent: a DREQ of the peer ends it")
def both_dreq(world):
    """DREP, and DISCONNECT is answered."""
    side, conn, _ = world.active()
    seq, _ = disconnect(world, side, conn)
    side.dreq()
    check(side.recv(cm.DREP), "no DREP")
    same("DISCONNECT", world.result(seq, 1).status.name, "OK")
    world.settle()
    check(not side.recv(cm.DREQ, 0.5), "DREQ again")


@SUITE.rows("DREQ sent: stray DREP", {
    "another address": ({}, dict(src_ip=OTHER_IP)),
    "another MAC": ({}, dict(src=OTHER_MAC)),
    "another remote id": (dict(remote_id=5), {}),
    "another local id": (dict(local_id=5), {}),
    "another transaction": (dict(tid=7), {})})
def stray_drep(world, fields, frame):
    """Ignored; the right one ends it."""
    side, conn, _ = world.active()
    seq, _ = disconnect(world, side, conn)
    side.drep(frame, **fields)
    world.station.barrier()
    check(not world.process.answered(seq), "DISCONNECT ended")
    side.drep()
    same("DISCONNECT", world.result(seq, 1).status.name, "OK")


@SUITE.case("DREQ six times, at 0, 0.1, 0.2, 0.4, 0.8, 1.6 s")
def dreq_times(world):
    """Then the connection is freed without an answer."""
    side, conn, _ = world.active()
    seq, first = disconnect(world, side, conn)
    times = []
    while not world.process.answered(seq):
        got = side.recv(cm.DREQ, 0.02)
        if got:
            same("the same DREQ", got.data, first.data)
            times.append(got.when - first.when)
        check(time.monotonic() - first.when < 6, "no end")
    took = time.monotonic() - first.when
    same("DISCONNECT", world.process.wait(seq).status.name, "OK")
    want = [0.1, 0.2, 0.4, 0.8, 1.6]
    text = "DREQs after %s, end after %.2f" % (
        ["%.2f" % t for t in times], took)
    check(len(times) == 5 and all(abs(a - b) < 0.25
                                  for a, b in zip(times, want)), text)
    check(3.0 < took < 4, text)


@SUITE.case("QP_QUERY says ERR after the DREQ of a peer")
def query_after_dreq(world):
    """As the NIC has it."""
    side, conn, qp = world.active()
    side.dreq()
    world.disconnected(conn)
    world.in_error(qp)
    same("state of QP_QUERY", qp.state, Qps.ERR)


@SUITE.case("the process ends: DREQ")
def process_ends(world):
    """Of a connection that was up."""
    other = world.rig.process()
    try:
        world.service += 1
        qp = other.qp()
        seq = other.connect_later(world.service, world.station.ip, qp)
        side = world.side()
        side.take_req(world.manager.recv(1, cm.REQ))
        side.rep()
        check(side.recv(cm.RTU, 2), "no RTU")
        same("CONNECT", other.wait(seq).status.name, "OK")
    finally:
        other.close()
    dreq = side.recv(cm.DREQ, 2)
    check(dreq, "no DREQ")
    same("queue pair", dreq.qpn, side.qpn)
    side.drep()


@SUITE.case("the process ends before the REP: REJ 28")
def process_ends_early(world):
    """What was begun is given up."""
    other = world.rig.process()
    try:
        world.service += 1
        other.connect_later(world.service, world.station.ip, other.qp())
        side = world.side()
        side.take_req(world.manager.recv(1, cm.REQ))
    finally:
        other.close()
    rej = side.recv(cm.REJ, 2)
    check(rej, "no REJ")
    same("reason", rej.reason, 28)


# SPEC "What the two sides agree on"

@SUITE.rows("agreed", {
    "lesser of wish and resources": (dict(resources=2, depth=4), 2, 4),
    "lesser of wish and depth": (dict(resources=4, depth=1), 4, 1),
    "none": (dict(resources=0, depth=0), 0, 0),
    "more than 4": (dict(resources=16, depth=16), 4, 4)})
def agreed(world, rep, max_rd, max_dest_rd):
    """READs in both directions."""
    side, seq, _, _ = world.connect()
    side.rep(**rep)
    reply = world.result(seq)
    world.open.append(reply.id)
    same("max_rd, max_dest_rd", (reply.max_rd, reply.max_dest_rd),
         (max_rd, max_dest_rd))


@SUITE.case("agreed: the longer of ACK timeout and target ACK delay")
def agreed_timeout(world):
    """16 (268 ms) of the REP, for a wish of 12 (17 ms): the first repeat is
    not earlier."""
    side, seq, _, qp = world.connect(timeout=12)
    side.rep(ack_delay=16)
    reply = world.result(seq)
    world.open.append(reply.id)
    begin = time.monotonic()
    qp.send(inline=b"data")
    for _ in range(2):
        check(world.station.recv(side.qpn, 2), "no SEND")
    took = time.monotonic() - begin
    check(0.26 < took < 0.7, "again after %.3f s" % took)


@SUITE.case("no mark in the REP: no vendor opcode")
def no_mark(world):
    """TOKEN is refused, detail OPCODE; a mark of version 2 is none."""
    side, seq, _, qp = world.connect()
    side.rep(private=bytes(56) + b"UNIC\2\0")
    reply = world.result(seq)
    world.open.append(reply.id)
    same("vendor", reply.vendor, 0)
    qp.tagged(1, 2, 0, [world.data.sge(0, 16)])
    done = qp.wait(1)
    same("completion", (done[0].status, done[0].detail),
         (Wcs.LOC_QP_OP_ERR, Wd.OPCODE))


@SUITE.case("a smaller wish of MTU is in the REQ")
def small_mtu(world):
    """And in the reply."""
    side, seq, req, _ = world.connect(mtu_shift=8)
    same("MTU of the REQ", req.mtu, 1)
    side.rep()
    reply = world.result(seq)
    world.open.append(reply.id)
    same("mtu_shift", reply.mtu_shift, 8)


@SUITE.case("the largest MTU of the port is in the REQ")
def large_mtu(world):
    """4096 on the link of unic-wire, or what INFO says."""
    side, seq, req, _ = world.connect()
    same("MTU of the REQ", 128 << req.mtu, world.rig.info.nic["path_mtu"])
    side.rej(28)
    world.result(seq)


@SUITE.case("data before the queue pair of the active side is up")
def early(world):
    """Ignored there, rx_no_qp; sent again they are executed."""
    side, seq, _, qp = world.connect()
    peer = world.peer(side)
    with world.counts(rx_no_qp=1):
        peer.raw(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True)
    side.rep()
    reply = world.result(seq)
    world.open.append(reply.id)
    world.works(side, qp)
