# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "A frame", "ICRC", "Order of checks", and "ARP"."""

import time

import frame as fr
from check import Suite, check, same
from names import Op, Qps, St
from port import Port
from world import OTHER_IP, OTHER_MAC, PEER_IP, PEER_MAC

SUITE = Suite()
PROBE = fr.pack("reth", 1, 2, 0)    # of an empty WRITE: always executed
GROUP = fr.mac_bytes("01:00:5e:00:00:01")
NOBODY_MAC = fr.mac_bytes("02:77:00:00:00:99")


# Step of "Order of checks": what is wrong, and what counts it. Several that
# are wrong together: the first step decides.
IGNORED = {
    "3 IPv6": (dict(eth_type=0x86dd), "rx_not_ours"),
    "3 VLAN tag": (dict(eth_type=0x8100), "rx_not_ours"),
    "3 unknown type": (dict(eth_type=0x88b5), "rx_not_ours"),
    "3 broadcast": (dict(dst=fr.BROADCAST), "rx_not_ours"),
    "3 multicast": (dict(dst=GROUP), "rx_not_ours"),
    "3 another's MAC": (dict(dst=OTHER_MAC), "rx_not_ours"),
    "5 version 6": (dict(ver_ihl=0x65), "rx_bad_ip"),
    "5 IP options": (dict(ver_ihl=0x46), "rx_bad_ip"),
    "5 header of 16 bytes": (dict(ver_ihl=0x44), "rx_bad_ip"),
    "5 more fragments": (dict(frag=0x2000), "rx_bad_ip"),
    "5 a fragment": (dict(frag=0x4001), "rx_bad_ip"),
    "5 last fragment": (dict(frag=0x1fff), "rx_bad_ip"),
    "5 header checksum": (dict(ip_sum=0x1234), "rx_bad_ip"),
    "6 TCP": (dict(proto=6), "rx_not_ours"),
    "6 another address": (dict(dst_ip=OTHER_IP), "rx_not_ours"),
    "6 broadcast address": (dict(dst_ip=0xffffffff), "rx_not_ours"),
    "6 another port": (dict(dport=4790), "rx_not_ours"),
    "7 total length beyond the frame": (dict(total=96), "rx_short"),
    "7 total length 40": (dict(total=40), "rx_short"),
    "7 total length 0": (dict(total=0), "rx_short"),
    "8 UDP length too long": (dict(udp_len=44), "rx_bad_ip"),
    "8 UDP length too short": (dict(udp_len=36), "rx_bad_ip"),
    "8 UDP length 0": (dict(udp_len=0), "rx_bad_ip"),
    "8 total length 59": (dict(total=59), "rx_bad_ip"),
    "9 ICRC": (dict(icrc=0x12345678), "rx_bad_icrc"),
    "10 BTH version": (dict(version=1), "rx_bad_opcode"),
    "10 P_Key 1234": (dict(pkey=0x1234), "rx_bad_opcode"),
    "10 P_Key 0": (dict(pkey=0), "rx_bad_opcode"),
    "10 P_Key 8000": (dict(pkey=0x8000), "rx_bad_opcode"),
    "11 pad longer than what is there": (
        dict(opcode=fr.SEND_ONLY, body=b"", pad=1), "rx_short"),
    "13 queue pair 0": (dict(dqpn=0), "rx_no_qp"),
    "13 nobody's queue pair": (dict(dqpn=0xfffff0), "rx_no_qp"),
    "13 another source address": (dict(src_ip=OTHER_IP), "rx_no_qp"),
    "3 before 5": (dict(dst=OTHER_MAC, ip_sum=1), "rx_not_ours"),
    "5 before 6": (dict(ip_sum=1, dst_ip=OTHER_IP), "rx_bad_ip"),
    "6 before 7": (dict(dport=1, total=96), "rx_not_ours"),
    "7 before 8": (dict(total=41, udp_len=7), "rx_short"),
    "8 before 9": (dict(udp_len=7, icrc=1), "rx_bad_ip"),
    "9 before 10": (dict(icrc=1, version=1), "rx_bad_icrc"),
    "10 before 11": (dict(version=1, opcode=fr.SEND_ONLY, body=b"", pad=1),
                     "rx_bad_opcode"),
    "11 before 13": (dict(opcode=fr.SEND_ONLY, body=b"", pad=1, dqpn=0),
                     "rx_short"),
}


@SUITE.rows("order of checks", IGNORED)
def ignored_frame(world, fields, counter):
    """An empty WRITE at the expected PSN, but for one field: no answer, and
    one counter; the connection lives."""
    conn = world.conn()
    with world.counts(**{counter: 1}):
        values = dict(opcode=fr.WRITE_ONLY, body=PROBE, ackreq=True)
        values.update(fields)
        conn.peer.raw(**values)
    conn.silent(0)
    conn.alive()


SHORT = {"14 bytes": (14,), "34 bytes": (34,), "57 bytes": (57,)}


@SUITE.rows("order of checks: 4 frame of", SHORT)
def short_frame(world, size):
    """A RoCEv2 frame that is cut off below 58 bytes."""
    conn = world.conn()
    with world.counts(rx_short=1):
        whole = world.station.packet(opcode=fr.WRITE_ONLY, body=PROBE,
                                     dqpn=conn.peer.dqpn, psn=conn.peer.psn)
        world.station.port.send(whole.build()[:size])
    conn.alive()


@SUITE.case("order of checks: 3 before 4")
def not_ours_before_short(world):
    """A short frame to another MAC counts as not ours."""
    with world.counts(rx_not_ours=1, rx_short=0):
        world.station.port.send(OTHER_MAC + PEER_MAC + b"\x08\0" + bytes(20))


TAKEN = {
    "TOS": dict(tos=0xff), "ECN CE": dict(tos=3),
    "identification": dict(ident=0xabcd), "DF clear": dict(frag=0),
    "reserved flag": dict(frag=0x8000), "TTL 1": dict(ttl=1),
    "TTL 0": dict(ttl=0), "source port 1": dict(sport=1),
    "UDP checksum": dict(udp_sum=0x5555), "migration": dict(migration=True),
    "P_Key 7fff": dict(pkey=0x7fff), "FECN, BECN": dict(bth4=0xff),
    "reserved bits beside ACK request": dict(apsn_rsvd=0x7f),
    "solicited": dict(solicited=True), "source MAC": dict(src=OTHER_MAC),
    "bytes behind the IPv4 packet": dict(tail=bytes(37)),
    "noise behind the IPv4 packet": dict(tail=b"\xa5" * 3),
}


@SUITE.rows("not checked", {name: (row,) for name, row in TAKEN.items()})
def taken_frame(world, fields):
    """A field that a NIC does not look at: the packet is executed, and the
    answer goes to the MAC of the connection."""
    conn = world.conn()
    conn.peer.put(fr.WRITE_ONLY, PROBE, ackreq=True, **fields)
    same("MAC that is answered", conn.ack().dst, PEER_MAC)


@SUITE.case("not checked: pad bytes")
def pad_noise(world):
    """The pad may have any value; the receive gets the payload alone."""
    conn = world.conn(recvs=1)
    world.buffers.fill(b"\0" * 16)
    conn.peer.put(fr.SEND_ONLY, b"abcde", pad_bytes=b"\xff\xfe\xfd",
                  ackreq=True)
    conn.ack()
    conn.completion(byte_len=5)
    same("the receive", world.buffers.bytes(0, 8), b"abcde\0\0\0")


@SUITE.case("a frame: source port is the hash of both numbers")
def port_hash(world):
    """Both ends of a connection get the same port; answers have it, too."""
    conn = world.conn()
    conn.peer.put(fr.WRITE_ONLY, PROBE, ackreq=True)
    want = fr.source_port(conn.peer.qpn, conn.peer.dqpn)
    same("port of the ACK", conn.ack().sport, want)
    conn.qp.send(inline=b"x")
    same("port of a SEND", conn.expect(fr.SEND_ONLY).sport, want)


@SUITE.case("a frame: a SEND of no bytes is 58 bytes long")
def empty_send(world):
    """A NIC does not pad RoCEv2 frames."""
    conn = world.conn()
    conn.qp.send()
    packet = conn.expect(fr.SEND_ONLY, body=b"")
    same("total length", packet.total, 44)
    same("bytes behind it", packet.tail, b"")
    same("source", packet.src, world.station.nic_mac)


@SUITE.case("a frame: CNP is ignored")
def cnp(world):
    """Opcode 81 is of no transport that the queue pair has."""
    conn = world.conn()
    with world.counts(rx_bad_opcode=1):
        conn.peer.raw(0x81, bytes(16))
    conn.silent(0)
    conn.alive()


# SPEC "Order of checks", by state

@SUITE.rows("state", {"RESET": (Qps.RESET,), "INIT": (Qps.INIT,)})
def not_ready(world, state):
    """Requests are ignored before RTR."""
    conn = world.conn(state=state)
    with world.counts(rx_no_qp=2):
        conn.peer.raw(fr.WRITE_ONLY, PROBE, ackreq=True)
        conn.peer.ack(conn.peer.epsn)
    conn.silent(0)


@SUITE.case("state: destroyed")
def destroyed(world):
    """So are those to a number that is nobody's any more."""
    conn = world.conn()
    conn.qp.destroy()
    world.conns.remove(conn)
    with world.counts(rx_no_qp=1):
        conn.peer.raw(fr.WRITE_ONLY, PROBE, ackreq=True)
    conn.silent(0)


@SUITE.case("state: RTR executes and answers")
def rtr(world):
    """In RTR requests are executed, answers are ignored."""
    conn = world.conn(state=Qps.RTR)
    conn.alive()
    with world.counts(rx_no_qp=1):
        conn.peer.ack(conn.peer.epsn)
    conn.silent(0)


@SUITE.case("state: ERR of its own answers nothing")
def err(world):
    """A queue pair that its process ended answers nothing."""
    conn = world.conn()
    conn.qp.error()
    with world.counts(rx_no_qp=3):
        conn.peer.raw(fr.WRITE_ONLY, PROBE, ackreq=True)
        conn.peer.raw(fr.WRITE_ONLY, PROBE, ackreq=True,
                      psn=conn.peer.psn - 1)
        conn.peer.ack(conn.peer.epsn)
    conn.silent(0)


# SPEC "Ports of unic-wire"

@SUITE.rows("port", {"a frame of %d bytes" % n: (n,)
                     for n in (0, 13, 16385, 0xffffffff)})
def port_length(world, size):
    """A length out of range closes the connection; a new one works."""
    station = world.station
    station.port.sock.sendall(size.to_bytes(4, "big"))
    try:
        while station.poll(world.patience):
            pass
        closed = False
    except ConnectionError:
        closed = True
    station.port.close()
    station.port = Port(world.rig.wire)
    world.snapshot = None
    check(closed, "the port stays open")
    world.conn().alive()


@SUITE.case("port: a new connection takes the place of the old one")
def port_replaced(world):
    """The old one ends; frames come to the new one."""
    station, old = world.station, world.station.port
    station.port = Port(world.rig.wire)
    world.snapshot = None
    world.conn().alive()
    try:
        check(old.recv(world.patience) is None, "a frame to the old one")
        closed = False
    except ConnectionError:
        closed = True
    old.close()
    check(closed, "the old one stays open")


@SUITE.case("port: frames of 16384 bytes pass")
def port_longest(world):
    """The longest; the NIC ignores what is behind the IPv4 packet, or the
    link has no room for it. The port stays open."""
    conn = world.conn()
    packet = world.station.packet(opcode=fr.WRITE_ONLY, body=PROBE,
                                  dqpn=conn.peer.dqpn, psn=conn.peer.psn)
    world.station.port.send(packet.build().ljust(16384, b"\0"))
    conn.alive()


# SPEC "ARP"

def arp_reply(world, timeout=0.3):
    """The next ARP frame of the NIC, or None."""
    end = time.monotonic() + timeout
    while not world.station.arps and time.monotonic() < end:
        world.station.poll(max(0, end - time.monotonic()))
    return world.station.arps.popleft() if world.station.arps else None


ANSWERED = {
    "broadcast": dict(), "to its MAC": dict(dst=None),
    "to another MAC": dict(dst=NOBODY_MAC), "42 bytes": dict(size=42),
    "target MAC is not looked at": dict(tha=OTHER_MAC),
    "source MAC of the frame is not looked at": dict(src=OTHER_MAC),
    "of an address that is another's": dict(spa=OTHER_IP),
    "of a sender without address": dict(spa=0),
}


@SUITE.rows("ARP answered", {n: (row,) for n, row in ANSWERED.items()})
def arp_answered(world, fields):
    """A request for the NIC's address is answered to MAC and address of the
    body, padded with zeros to 60 bytes."""
    fields = {"dst": fr.BROADCAST, "spa": PEER_IP, **fields}
    if fields["dst"] is None:
        fields["dst"] = world.station.nic_mac
    world.station.arps.clear()
    world.station.ask(world.rig.ip, **fields)
    got = arp_reply(world, world.patience)
    check(got, "no ARP reply")
    nic = world.station.nic_mac
    want = fr.Arp(PEER_MAC, nic, 2, nic, world.rig.ip, PEER_MAC,
                  fields["spa"])
    same("ARP reply", got, want)


DROPPED = {
    "41 bytes": (dict(size=41), "rx_short"),
    "hardware type": (dict(htype=6), "rx_not_ours"),
    "protocol type": (dict(ptype=0x86dd), "rx_not_ours"),
    "hardware length": (dict(hlen=8), "rx_not_ours"),
    "protocol length": (dict(plen=16), "rx_not_ours"),
    "operation 0": (dict(op=0), "rx_not_ours"),
    "operation 3": (dict(op=3), "rx_not_ours"),
    "multicast sender": (dict(sha=GROUP), "rx_not_ours"),
    "for another address": (dict(tpa=OTHER_IP), "rx_not_ours"),
    "gratuitous": (dict(tpa=PEER_IP), "rx_not_ours"),
}


@SUITE.rows("ARP ignored", DROPPED)
def arp_ignored(world, fields, counter):
    """A request that is not as it should be."""
    with world.counts(**{counter: 1}):
        world.station.ask(**{"ip": world.rig.ip, **fields})
    check(arp_reply(world, 0) is None, "it was answered")


def modify_without_mac(world, ip):
    """QP_MODIFY to RTR without a MAC, sent and not waited for: its seq, and
    the connection."""
    conn = world.conn(state=Qps.INIT)
    return conn, world.process.send(
        Op.QP_MODIFY, id=conn.qp.id, state=Qps.RTR, mtu_shift=10,
        rnr_timer=12, max_dest_rd=4, dest_qpn=conn.peer.qpn, rq_psn=0,
        dest_ipv4=ip)


@SUITE.case("ARP: asked every 100 ms for 1 s, then UNREACHABLE")
def arp_asked(world):
    """Requests go to all, with target MAC 0, padded to 60 bytes."""
    ip = fr.ipv4("10.0.0.200")
    world.station.arps.clear()
    _, seq = modify_without_mac(world, ip)
    begin = time.monotonic()
    got = []
    while not world.process.answered(seq) and time.monotonic() < begin + 3:
        if world.station.poll(0.01):
            got += [(time.monotonic() - begin, world.station.arps.popleft())]
    took = time.monotonic() - begin
    same("status", world.process.wait(seq).status, St.UNREACHABLE)
    check(0.9 < took < 1.6, "it took %.3f s" % took)
    check(9 <= len(got) <= 11, "%d requests" % len(got))
    nic = world.station.nic_mac
    want = fr.Arp(fr.BROADCAST, nic, 1, nic, world.rig.ip, b"\0" * 6, ip)
    for when, asked in got:
        same("request at %.3f s" % when, asked, want)


@SUITE.case("ARP: an answer is used, and a known address not overwritten")
def arp_known(world):
    """The first answer counts; one that comes unasked changes nothing, and
    the address is not asked for again."""
    ip = fr.ipv4("10.0.0.201")
    station = world.station
    station.aliases[ip] = PEER_MAC
    try:
        conn, seq = modify_without_mac(world, ip)
        while not world.process.answered(seq):
            station.poll(0.01)
        same("status", world.process.wait(seq).status, St.OK)
        station.arps.clear()
        lie = fr.Arp(station.nic_mac, OTHER_MAC, 2, OTHER_MAC, ip,
                     station.nic_mac, world.rig.ip)
        station.port.send(lie.build())
        conn, seq = modify_without_mac(world, ip)
        while not world.process.answered(seq):
            station.poll(0.01)
        same("status", world.process.wait(seq).status, St.OK)
        check(not station.arps, "it was asked for again")
        conn.peer.psn = 0
        conn.peer.raw(fr.WRITE_ONLY, PROBE, ackreq=True, src_ip=ip)
        same("MAC that is answered", conn.recv().dst, PEER_MAC)
    finally:
        station.aliases.clear()


@SUITE.case("ARP: an answer to nothing is not learnt")
def arp_unasked(world):
    """A reply that nobody asked for: the address is asked for later."""
    ip = fr.ipv4("10.0.0.202")
    station = world.station
    lie = fr.Arp(station.nic_mac, OTHER_MAC, 2, OTHER_MAC, ip,
                 station.nic_mac, world.rig.ip)
    station.port.send(lie.build())
    station.ask(world.rig.ip, spa=ip)
    world.fresh()
    station.arps.clear()
    station.aliases[ip] = PEER_MAC
    try:
        _, seq = modify_without_mac(world, ip)
        while not world.process.answered(seq):
            station.poll(0.01)
        same("status", world.process.wait(seq).status, St.OK)
        check(len(station.arps) >= 1, "nobody was asked")
    finally:
        station.aliases.clear()
