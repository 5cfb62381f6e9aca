# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Datagrams of the connection manager, and vendor datagrams (SPEC
"Connection manager"): build, parse, and one side of a connection."""

import os
import time

import frame as fr
from check import same

REQ, MRA, REJ, REP, RTU, DREQ, DREP = range(0x10, 0x17)
LAP = 0x19
INVALIDATE, INVALIDATED, DELEGATE, DELEGATED = 1, 2, 3, 4
NAMES = {REQ: "REQ", MRA: "MRA", REJ: "REJ", REP: "REP", RTU: "RTU",
         DREQ: "DREQ", DREP: "DREP"}
VENDOR_NAMES = {1: "INVALIDATE", 2: "INVALIDATED", 3: "DELEGATE",
                4: "DELEGATED"}
MARK = b"UNIC\1"
REFUSED = 1             # in the mark: the NIC understands REFUSED
SIZE = 256
CONSUMER = 56

# (offset, bytes) of each field; one that is bits of a byte has (offset, 1,
# shift, width). SPEC "The datagram", "REQ", "REP", "RTU, DREQ, DREP, REJ",
# "Vendor datagrams".
COMMON = {"base": (0, 1), "mad_class": (1, 1), "class_version": (2, 1),
          "method": (3, 1), "status4": (4, 4), "tid": (8, 8), "attr": (16, 2),
          "reserved18": (18, 6)}
BOTH_IDS = {"local_id": (24, 4), "remote_id": (28, 4)}
LAYOUTS = {
    REQ: {"local_id": (24, 4), "service": (32, 8), "guid": (40, 8),
          "qpn": (56, 3), "resources": (59, 1), "depth": (63, 1),
          "remote_timeout": (67, 1, 3, 5), "transport": (67, 1, 1, 2),
          "flow": (67, 1, 0, 1), "psn": (68, 3),
          "local_timeout": (71, 1, 3, 5), "retries": (71, 1, 0, 3),
          "pkey": (72, 2), "mtu": (74, 1, 4, 4), "rnr_retries": (74, 1, 0, 3),
          "cm_retries": (75, 1, 4, 4), "local_gid": (80, 16),
          "remote_gid": (96, 16), "hop_limit": (117, 1),
          "ack_timeout": (119, 1, 3, 5), "private": (164, 92)},
    REP: {**BOTH_IDS, "qpn": (36, 3), "psn": (44, 3), "resources": (48, 1),
          "depth": (49, 1), "ack_delay": (50, 1, 3, 5),
          "flow": (50, 1, 0, 3), "rnr_retries": (51, 1, 5, 3),
          "guid": (52, 8), "private": (60, 196)},
    RTU: BOTH_IDS, DREP: BOTH_IDS, MRA: BOTH_IDS, LAP: BOTH_IDS,
    DREQ: {**BOTH_IDS, "qpn": (32, 3)},
    REJ: {**BOTH_IDS, "rejected": (32, 1, 6, 2), "info_bytes": (33, 1),
          "reason": (34, 2), "info": (36, 72), "private": (108, 148)},
}
VENDOR = {"magic": (24, 4), "local_id": (28, 4), "remote_id": (32, 4),
          "kind": (36, 4), "number": (40, 4), "grace_us": (44, 4),
          "ipv4": (48, 4), "qpn": (52, 4), "status": (56, 4)}


def layout_of(attr, vendor):
    """Fields of a message by its attribute; of an unknown one the common."""
    return {**COMMON, **(VENDOR if vendor else LAYOUTS.get(attr, {}))}


def put_field(data, place, value):
    """Stores a number, bits of one, or bytes at their place."""
    at, size = place[:2]
    if isinstance(value, bytes):
        data[at:at + len(value)] = value
        return
    if len(place) == 4:
        shift, width = place[2:]
        mask = ((1 << width) - 1) << shift
        data[at] = data[at] & ~mask | value << shift & mask
        return
    data[at:at + size] = value.to_bytes(size, "big")


def get_field(data, place):
    """Reads what put_field() stores; more than 8 bytes come as bytes."""
    at, size = place[:2]
    if size > 8:
        return bytes(data[at:at + size])
    value = int.from_bytes(data[at:at + size], "big")
    if len(place) == 4:
        value = value >> place[2] & (1 << place[3]) - 1
    return value


def gid(ip):
    """::ffff: and an IPv4 address."""
    return bytes(10) + b"\xff\xff" + ip.to_bytes(4, "big")


def build(which, vendor=False, **fields):
    """A datagram of 256 bytes. `fields` by the names above."""
    values = {"base": 1, "mad_class": 0x0a if vendor else 7,
              "class_version": 1 if vendor else 2, "method": 3, "attr": which}
    if vendor:
        values["magic"] = 0x554e4943
    values.update(fields)
    data = bytearray(SIZE)
    places = layout_of(which, vendor)
    for name, value in values.items():
        put_field(data, places[name], value)
    return bytes(data)


def private(consumer=b"", vendor=True, caps=REFUSED):
    """Private data: the consumer's, and behind 56 bytes the vendor mark."""
    if not vendor:
        return consumer
    return (consumer.ljust(CONSUMER, b"\0") + MARK + bytes([len(consumer)])
            + bytes([caps, 0]))


def mark_of(data):
    """(is there a mark, private data of the consumer) of a REQ, REP, REJ."""
    marked = data[56:61] == MARK and data[61] <= CONSUMER
    return marked, data[:data[61] if marked else CONSUMER]


def names_sender(rej, guid):
    """A REJ with reason 4 has the CA GUID of its sender as additional
    information, 8 bytes of it (SPEC "RTU, DREQ, DREP, REJ")."""
    same("length of the information", rej.info_bytes, 0x10)
    same("information", rej.info, guid.to_bytes(8, "big").ljust(72, b"\0"))


class Message:
    """A received datagram; its fields are attributes."""

    def __init__(self, packet):
        data = packet.payload
        self.packet = packet
        self.data = data
        self.vendor = data[1] == 0x0a
        self.attr = int.from_bytes(data[16:18], "big")
        for name, place in layout_of(self.attr, self.vendor).items():
            setattr(self, name, get_field(data, place))
        self.when = time.monotonic()

    @property
    def name(self):
        """REQ, REP and so on."""
        names = VENDOR_NAMES if self.vendor else NAMES
        return names.get(self.attr, "attribute %x" % self.attr)

    def __str__(self):
        text = "%s tid %x" % (self.name, self.tid)
        for field in ("local_id", "remote_id", "reason", "rejected", "qpn"):
            if hasattr(self, field):
                text += " %s %x" % (field, getattr(self, field))
        return text

    def rest_is_zero(self, *but):
        """Offsets of bytes outside all fields (and outside `but`) that are
        not 0."""
        used = set()
        for place in layout_of(self.attr, self.vendor).values():
            used.update(range(place[0], place[0] + place[1]))
        return [at for at in range(SIZE)
                if at not in used and at not in but and self.data[at]]


class Manager:
    """Sends and takes datagrams of queue pair 1 for a station."""

    def __init__(self, station):
        self.station = station
        station.open(1)
        self.kept = []

    def send(self, data, **fields):
        """One datagram; `fields` change the packet or its DETH."""
        qkey = fields.pop("qkey", fr.GSI_QKEY)
        sqpn = fields.pop("sqpn", 1)
        values = {"opcode": fr.UD_SEND, "dqpn": 1, "psn": 0,
                  "body": fr.pack("deth", qkey, sqpn) + data,
                  "sport": 0xc000 | self.station.nic_ip & 0x3fff}
        values.update(fields)
        self.station.send(**values)

    def recv(self, timeout=1.0, attr=None, tid=None, vendor=None, skip=()):
        """The next datagram of this attribute and transaction, or None.
        Others are kept for later calls, but for those in `skip`."""
        end = time.monotonic() + timeout

        def fits(message):
            return ((attr is None or message.attr == attr)
                    and (tid is None or message.tid == tid)
                    and (vendor is None or message.vendor == vendor)
                    and message.attr not in skip)
        for message in self.kept:
            if fits(message):
                self.kept.remove(message)
                return message
        while True:
            packet = self.station.recv(1, max(end - time.monotonic(), 0))
            if packet is None:
                return None
            message = Message(packet)
            if fits(message):
                return message
            if message.attr not in skip:
                self.kept.append(message)

    def forget(self):
        """Drops what was kept and what is there."""
        while self.station.poll(0):
            pass
        self.station.queues[1].clear()
        self.kept = []


def some_id():
    """32 random bits, not 0."""
    return int.from_bytes(os.urandom(4), "big") | 1


class Side:
    """Our side of one connection: ids, numbers, and the datagrams with
    them. A field of a datagram can be given to send it wrong."""

    def __init__(self, manager, qpn, vendor=True, **wishes):
        self.manager = manager
        self.station = manager.station
        self.qpn = qpn
        self.vendor = vendor
        self.local_id = some_id()
        self.remote_id = 0
        self.tid = int.from_bytes(os.urandom(8), "big") | 1
        self.psn = int.from_bytes(os.urandom(3), "big")
        self.peer_qpn = 0
        self.peer_psn = 0
        self.consumer = b""
        self.wishes = {"resources": 4, "depth": 4}
        self.wishes.update(wishes)

    def req(self, service, send=True, **fields):
        """REQ: we are the active side. The starting PSN in it is the one at
        which the NIC begins to send. (SPEC "REQ")"""
        values = {
            "tid": self.tid, "local_id": self.local_id, "service": service,
            "qpn": self.qpn, "remote_timeout": 20, "transport": 0,
            "psn": self.psn, "local_timeout": 20, "retries": 7,
            "pkey": 0xffff, "mtu": 3, "rnr_retries": 7, "cm_retries": 15,
            "local_gid": gid(self.station.ip),
            "remote_gid": gid(self.station.nic_ip), "hop_limit": 64,
            "ack_timeout": 18,
            "private": private(self.consumer, self.vendor), **self.wishes}
        values.update(fields)
        data = build(REQ, **values)
        if send:
            self.manager.send(data)
        return data

    def take_req(self, message):
        """We are the passive side: learns from a REQ."""
        self.tid = message.tid
        self.remote_id = message.local_id
        self.peer_qpn = message.qpn
        self.peer_psn = message.psn
        self.peer_vendor = mark_of(message.private)[0]

    def take_rep(self, message):
        """Learns from a REP."""
        self.remote_id = message.local_id
        self.peer_qpn = message.qpn
        self.peer_psn = message.psn
        self.peer_vendor = mark_of(message.private)[0]

    def ids(self, **fields):
        """Transaction and both ids as they should be."""
        return {"tid": self.tid, "local_id": self.local_id,
                "remote_id": self.remote_id, **fields}

    def rep(self, frame=None, **fields):
        """REP: queue pair, starting PSN, what we accept (SPEC "REP")."""
        values = self.ids(
            qpn=self.qpn, psn=self.psn, ack_delay=5, rnr_retries=7,
            private=private(self.consumer, self.vendor), **self.wishes)
        values.update(fields)
        self.manager.send(build(REP, **values), **(frame or {}))

    def rtu(self, frame=None, **fields):
        """RTU: the NIC's process is told ESTABLISHED."""
        self.manager.send(build(RTU, **self.ids(**fields)), **(frame or {}))

    def dreq(self, frame=None, **fields):
        """DREQ names the NIC's queue pair."""
        values = self.ids(qpn=self.peer_qpn)
        values.update(fields)
        self.manager.send(build(DREQ, **values), **(frame or {}))

    def drep(self, frame=None, **fields):
        """DREP: the answer to a DREQ."""
        self.manager.send(build(DREP, **self.ids(**fields)), **(frame or {}))

    def mra(self, **fields):
        """MRA: has no effect on unic."""
        self.manager.send(build(MRA, **self.ids(**fields)))

    def rej(self, reason, rejected=0, frame=None, **fields):
        """REJ of a REQ (0), a REP (1) or neither (2)."""
        values = self.ids(reason=reason, rejected=rejected)
        values.update(fields)
        self.manager.send(build(REJ, **values), **(frame or {}))

    def vendor_datagram(self, which, nonce, frame=None, **fields):
        """INVALIDATE, INVALIDATED, DELEGATE or DELEGATED."""
        values = {"tid": nonce, "local_id": self.local_id,
                  "remote_id": self.remote_id}
        values.update(fields)
        self.manager.send(build(which, True, **values), **(frame or {}))

    def recv(self, attr, timeout=1.0, **more):
        """The next datagram of our transaction with this attribute."""
        return self.manager.recv(timeout, attr, self.tid, **more)

    def quiet(self, timeout=0.05, *attrs):
        """The first datagram of our transaction within `timeout`, of `attrs`
        if any are given; None if the NIC is silent."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            got = self.manager.recv(end - time.monotonic(), tid=self.tid)
            if got and (not attrs or got.attr in attrs):
                return got
        return None
