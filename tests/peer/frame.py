#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Frames of RoCEv2 and ARP: build, parse, ICRC (SPEC "Wire").

Everything here is from docs/SPEC.md; nothing is shared with the firmware.
Run as a program it tests itself."""

import struct
import zlib
from dataclasses import dataclass, field

ETH_IP = 0x0800
ETH_ARP = 0x0806
ROCE_PORT = 4791
BROADCAST = b"\xff" * 6
GSI_QKEY = 0x80010000
PSN_MASK = 0xffffff

# SPEC "Opcodes": RC; UC has 0x20 added
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM = 0, 1, 2, 3
SEND_ONLY, SEND_ONLY_IMM = 4, 5
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM = 6, 7, 8, 9
WRITE_ONLY, WRITE_ONLY_IMM = 0x0a, 0x0b
READ_REQUEST = 0x0c
READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 0x0d, 0x0e, 0x0f, 0x10
ACK = 0x11
ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD = 0x12, 0x13, 0x14
SEND_LAST_INV, SEND_ONLY_INV = 0x16, 0x17
TOKEN_FIRST, TOKEN_MIDDLE, TOKEN_LAST, TOKEN_ONLY = 0xc0, 0xc1, 0xc2, 0xc3
VACK = 0xd0
UC = 0x20
UD_SEND, UD_SEND_IMM = 0x64, 0x65

# SPEC "Opcodes": extension headers of an opcode, in order
EXTENSIONS = {
    SEND_LAST_IMM: ("imm",), SEND_ONLY_IMM: ("imm",),
    WRITE_FIRST: ("reth",), WRITE_LAST_IMM: ("imm",),
    WRITE_ONLY: ("reth",), WRITE_ONLY_IMM: ("reth", "imm"),
    READ_REQUEST: ("reth",), READ_FIRST: ("aeth",), READ_LAST: ("aeth",),
    READ_ONLY: ("aeth",), ACK: ("aeth",),
    ATOMIC_ACK: ("aeth", "atomicack"), COMPARE_SWAP: ("atomic",),
    FETCH_ADD: ("atomic",),
    SEND_LAST_INV: ("ieth",), SEND_ONLY_INV: ("ieth",),
    TOKEN_FIRST: ("tketh",), TOKEN_ONLY: ("tketh",), VACK: ("evth",),
    UC + SEND_LAST_IMM: ("imm",), UC + SEND_ONLY_IMM: ("imm",),
    UC + WRITE_FIRST: ("reth",), UC + WRITE_LAST_IMM: ("imm",),
    UC + WRITE_ONLY: ("reth",), UC + WRITE_ONLY_IMM: ("reth", "imm"),
    UD_SEND: ("deth",), UD_SEND_IMM: ("deth", "imm"),
}

LAYOUTS = {
    "imm": struct.Struct(">I"),       # as the sender's NIC got it
    "reth": struct.Struct(">QII"),    # address, key, length
    "aeth": struct.Struct(">I"),      # syndrome << 24 | MSN
    "ieth": struct.Struct(">I"),      # key to invalidate
    "atomic": struct.Struct(">QIQQ"), # address, key, swap or add, compare
    "atomicack": struct.Struct(">Q"), # what was there before
    "deth": struct.Struct(">II"),     # Q_Key, source queue pair
    "tketh": struct.Struct(">IQIII"), # index, key, payload, control, offset
    "evth": struct.Struct(">II"),     # reason, delay in us
}

NAMES = {
    0: "SEND first", 1: "SEND middle", 2: "SEND last", 4: "SEND only",
    3: "SEND last imm", 5: "SEND only imm", 6: "WRITE first",
    7: "WRITE middle", 8: "WRITE last", 9: "WRITE last imm",
    0x0a: "WRITE only", 0x0b: "WRITE only imm", 0x0c: "READ request",
    0x0d: "READ resp first", 0x0e: "READ resp middle",
    0x0f: "READ resp last", 0x10: "READ resp only", 0x11: "ACK",
    0x12: "atomic ACK", 0x13: "compare swap", 0x14: "fetch add",
    0x16: "SEND last inv", 0x17: "SEND only inv", 0x64: "UD SEND",
    0x65: "UD SEND imm", 0xc0: "TOKEN first", 0xc1: "TOKEN middle",
    0xc2: "TOKEN last", 0xc3: "TOKEN only", 0xd0: "VACK",
}


def mac_bytes(text):
    """02:00:00:00:00:01 as six bytes."""
    return bytes(int(part, 16) for part in text.split(":"))


def ipv4(text):
    """10.0.0.1 as the number 0x0a000001."""
    a, b, c, d = (int(part) for part in text.split("."))
    return a << 24 | b << 16 | c << 8 | d


def ip_checksum(header):
    """RFC 1071 over a header of 20 bytes whose checksum field is 0."""
    total = sum(struct.unpack(">10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def icrc(packet):
    """ICRC of an IPv4 packet without its last four bytes (SPEC "ICRC")."""
    masked = bytearray(packet)
    for at in (1, 8, 10, 11, 26, 27, 32):
        masked[at] = 0xff
    return zlib.crc32(b"\xff" * 8 + bytes(masked))


def source_port(own, peer):
    """UDP source port of the queue pairs `own` and `peer` (SPEC "A frame")."""
    mixed = own ^ peer
    return 0xc000 | ((mixed ^ mixed >> 14) & 0x3fff)


def pack(header, *values):
    """One extension header of LAYOUTS, from its fields."""
    return LAYOUTS[header].pack(*values)


@dataclass
class Packet:
    """A RoCEv2 frame. What is None is computed when it is built; a test sets
    it to send something wrong. `body` is all between BTH and pad."""
    dst: bytes = b"\0" * 6
    src: bytes = b"\0" * 6
    src_ip: int = 0
    dst_ip: int = 0
    opcode: int = 0
    dqpn: int = 0
    psn: int = 0
    ackreq: bool = False
    solicited: bool = False
    body: bytes = b""
    eth_type: int = ETH_IP
    ver_ihl: int = 0x45
    tos: int = 0
    total: int = None
    ident: int = 0
    frag: int = 0x4000
    ttl: int = 64
    proto: int = 17
    ip_sum: int = None
    sport: int = 0xc000
    dport: int = ROCE_PORT
    udp_len: int = None
    udp_sum: int = 0
    migration: bool = False
    pad: int = None
    pad_bytes: bytes = None
    version: int = 0
    pkey: int = 0xffff
    bth4: int = 0
    apsn_rsvd: int = 0
    icrc: int = None
    tail: bytes = b""
    icrc_ok: bool = field(default=True, compare=False)

    def build(self):
        """The bytes of the frame, with what is None filled in."""
        pad = -len(self.body) % 4 if self.pad is None else self.pad
        fill = self.pad_bytes
        if fill is None:
            fill = bytes(-len(self.body) % 4)
        rest = self._bth(pad) + self.body + fill
        total = 32 + len(rest) if self.total is None else self.total
        udp_len = total - 20 if self.udp_len is None else self.udp_len
        udp = struct.pack(">HHHH", self.sport, self.dport, udp_len & 0xffff,
                          self.udp_sum)
        packet = self._ip(total) + udp + rest
        crc = icrc(packet) if self.icrc is None else self.icrc
        eth = self.dst + self.src + struct.pack(">H", self.eth_type)
        return eth + packet + struct.pack("<I", crc) + self.tail

    def _bth(self, pad):
        flags = (self.solicited << 7 | self.migration << 6 | pad << 4
                 | self.version)
        return struct.pack(">BBHII", self.opcode, flags, self.pkey,
                           self.bth4 << 24 | self.dqpn,
                           self.ackreq << 31 | self.apsn_rsvd << 24
                           | self.psn & PSN_MASK)

    def _ip(self, total):
        def header(checksum):
            return struct.pack(">BBHHHBBHII", self.ver_ihl, self.tos,
                               total & 0xffff, self.ident, self.frag,
                               self.ttl, self.proto, checksum, self.src_ip,
                               self.dst_ip)
        good = ip_checksum(header(0))
        return header(good if self.ip_sum is None else self.ip_sum)

    def headers(self):
        """Extension headers as {name: tuple} and the payload behind them."""
        found, at = {}, 0
        for name in EXTENSIONS.get(self.opcode, ()):
            layout = LAYOUTS[name]
            if len(self.body) - at < layout.size:
                return found, b""
            found[name] = layout.unpack_from(self.body, at)
            at += layout.size
        return found, self.body[at:]

    @property
    def payload(self):
        """What is behind the extension headers, without pad."""
        return self.headers()[1]

    def header(self, name):
        """The fields of one extension header, or None."""
        return self.headers()[0].get(name)

    @property
    def syndrome(self):
        """Syndrome of the AETH, or None."""
        aeth = self.header("aeth")
        return aeth[0] >> 24 if aeth else None

    @property
    def msn(self):
        """MSN of the AETH, or None."""
        aeth = self.header("aeth")
        return aeth[0] & 0xffffff if aeth else None

    def __str__(self):
        text = "%s psn %06x to %06x" % (
            NAMES.get(self.opcode, "opcode %02x" % self.opcode), self.psn,
            self.dqpn)
        for name, values in self.headers()[0].items():
            text += " %s(%s)" % (name, ", ".join("%x" % v for v in values))
        return text + " %d bytes%s" % (len(self.payload),
                                       " ackreq" if self.ackreq else "")


def parse(frame):
    """A Packet of a received frame, or None if it is no RoCEv2 over IPv4 as
    SPEC "A frame" has it. The ICRC is in `icrc_ok`."""
    if len(frame) < 58 or frame[12:14] != b"\x08\0" or frame[14] != 0x45:
        return None
    (total, ident, frag, ttl, proto, ip_sum, src_ip, dst_ip, sport, dport,
     udp_len, udp_sum) = struct.unpack_from(">HHHBBHIIHHHH", frame, 16)
    if proto != 17 or dport != ROCE_PORT or not 44 <= total <= len(frame) - 14:
        return None
    opcode, flags, pkey, dqpn, apsn = struct.unpack_from(">BBHII", frame, 42)
    end = 14 + total - 4
    pad = flags >> 4 & 3
    if end - pad < 54:
        return None
    crc = struct.unpack_from("<I", frame, end)[0]
    return Packet(
        dst=frame[0:6], src=frame[6:12], src_ip=src_ip, dst_ip=dst_ip,
        opcode=opcode, dqpn=dqpn & 0xffffff, psn=apsn & PSN_MASK,
        ackreq=bool(apsn >> 31), solicited=bool(flags >> 7),
        body=frame[54:end - pad], tos=frame[15], total=total, ident=ident,
        frag=frag, ttl=ttl, ip_sum=ip_sum, sport=sport, udp_len=udp_len,
        udp_sum=udp_sum, migration=bool(flags >> 6 & 1), pad=pad,
        pad_bytes=frame[end - pad:end], version=flags & 15, pkey=pkey,
        bth4=dqpn >> 24, apsn_rsvd=apsn >> 24 & 0x7f, icrc=crc,
        tail=frame[14 + total:], icrc_ok=crc == icrc(frame[14:end]))


def faults(packet):
    """What in a frame of a NIC is not as SPEC "A frame" says a NIC sends it:
    a list of texts, empty if all is well."""
    wanted = {"tos": 0, "ident": 0, "frag": 0x4000, "ttl": 64, "udp_sum": 0,
              "migration": False, "version": 0, "pkey": 0xffff, "bth4": 0,
              "apsn_rsvd": 0, "udp_len": packet.total - 20,
              "pad": -len(packet.body) % 4}
    wrong = ["%s is %x, not %x" % (name, getattr(packet, name), value)
             for name, value in wanted.items()
             if getattr(packet, name) != value]
    if not packet.icrc_ok:
        wrong.append("ICRC %08x is wrong" % packet.icrc)
    if any(packet.pad_bytes):
        wrong.append("pad bytes are not 0")
    if packet.total % 4:
        wrong.append("total length %d" % packet.total)
    frame = packet.build()
    if ip_checksum(frame[14:24] + b"\0\0" + frame[26:34]) != packet.ip_sum:
        wrong.append("IPv4 checksum")
    return wrong


@dataclass
class Arp:
    """An ARP frame (SPEC "ARP"); op 1 asks, 2 answers."""
    dst: bytes
    src: bytes
    op: int
    sha: bytes
    spa: int
    tha: bytes
    tpa: int
    htype: int = 1
    ptype: int = 0x0800
    hlen: int = 6
    plen: int = 4
    size: int = 60

    def build(self):
        """The bytes, padded with zeros to `size`, or cut there."""
        body = struct.pack(">HHBBH6sI6sI", self.htype, self.ptype, self.hlen,
                           self.plen, self.op, self.sha, self.spa, self.tha,
                           self.tpa)
        frame = self.dst + self.src + b"\x08\x06" + body
        return frame.ljust(self.size, b"\0")[:self.size]


def parse_arp(frame):
    """An Arp of a received frame, or None."""
    if len(frame) < 42 or frame[12:14] != b"\x08\x06":
        return None
    (htype, ptype, hlen, plen, op, sha, spa, tha,
     tpa) = struct.unpack_from(">HHBBH6sI6sI", frame, 14)
    return Arp(frame[0:6], frame[6:12], op, sha, spa, tha, tpa, htype, ptype,
               hlen, plen, len(frame))


def self_test():
    """Builds what it parses, and knows a CRC-32 and a port by heart."""
    assert zlib.crc32(b"123456789") == 0xcbf43926
    assert ip_checksum(bytes.fromhex(
        "45000073000040004011" "0000" "c0a80001c0a800c7")) == 0xb861
    for size in range(9):
        sent = Packet(dst=b"\2" * 6, src=b"\4" * 6, src_ip=ipv4("10.0.0.1"),
                      dst_ip=ipv4("10.0.0.2"), opcode=WRITE_ONLY,
                      dqpn=0x2e1100, psn=0x6d52bd, ackreq=True,
                      body=pack("reth", 1 << 40, 0x7fe0be00, size)
                      + bytes(range(1, size + 1)))
        got = parse(sent.build())
        assert got.icrc_ok and not faults(got), faults(got)
        assert got.header("reth") == (1 << 40, 0x7fe0be00, size)
        assert got.payload == bytes(range(1, size + 1))
        assert got.build() == sent.build()
        broken = bytearray(sent.build())
        broken[-5] ^= 1
        assert not parse(bytes(broken)).icrc_ok
    asked = Arp(BROADCAST, b"\2" * 6, 1, b"\2" * 6, 1, b"\0" * 6, 2)
    assert len(asked.build()) == 60 and parse_arp(asked.build()) == asked
    assert source_port(0x2e1100, 0x03e800) == source_port(0x03e800, 0x2e1100)


if __name__ == "__main__":
    self_test()
    print("frame: ok")
