#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the demo put on the wire, as strangers see it: Wireshark decodes every
frame as RoCEv2 or ARP and finds none malformed, and every ICRC is right by an
implementation that shares no code with the firmware (zlib's CRC).

usage: test_pcap.py [PCAP]        (default build/demo/demo.pcap)
"""
import collections
import os
import struct
import subprocess
import sys

from shm_peers import icrc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "runner"))
import functions  # noqa: E402

PCAP = sys.argv[1] if len(sys.argv) > 1 else "build/demo/demo.pcap"
ROCE, ARP = 4791, 0x0806
# What a transfer by RDMA and by token must have put there (docs/SPEC.md, wire).
EXPECTED = {"WRITE only/last": (0x08, 0x0a), "READ request": (0x0c,),
            "READ response": (0x0d, 0x10), "ACK": (0x11,),
            "SEND": (0x04, 0x02), "token": (0xc0, 0xc3)}


def frames(path):
    """Frames of a pcap file of either byte order and resolution."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at < len(data):
        captured, length = struct.unpack_from(order + "II", data, at + 8)
        assert captured == length, "a frame was cut short"
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def test_icrc(all_frames):
    bad = other = 0
    opcodes = collections.Counter()
    for f in all_frames:
        kind = struct.unpack_from(">H", f, 12)[0]
        if kind == ARP:
            continue
        if kind != 0x0800 or struct.unpack_from(">H", f, 36)[0] != ROCE:
            other += 1
            continue
        opcodes[f[42]] += 1
        end = 14 + struct.unpack_from(">H", f, 16)[0]
        bad += icrc(f[:end]) != f[end - 4:end]
    assert not bad, f"{bad} frames with a wrong ICRC"
    assert not other, f"{other} frames that are neither RoCEv2 nor ARP"
    for name, ops in EXPECTED.items():
        assert any(opcodes[op] for op in ops), f"no {name} in the capture"


def tshark(*args):
    return subprocess.run(["tshark", "-r", PCAP, "--disable-protocol",
                           "rpcordma", *args], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def test_tshark(all_frames):
    bad = tshark("-Y", "_ws.malformed || _ws.expert.severity == error")
    assert not bad, f"{len(bad)} malformed: {bad[0]}"
    known = tshark("-Y", "infiniband || arp", "-T", "fields", "-e",
                   "frame.number")
    assert len(known) == len(all_frames), \
        f"tshark knows {len(known)} of {len(all_frames)} frames"


def test_dissector(all_frames):
    """tools/wireshark/unic.lua knows each tagged message and vendor acknowledgement, and no
    payload is malformed, whatever Wireshark would guess."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools",
                          "wireshark", "unic.lua")
    ours = sum(f[42] in (0xc0, 0xc1, 0xc2, 0xc3, 0xd0) for f in all_frames
               if struct.unpack_from(">H", f, 12)[0] == 0x0800)
    said = subprocess.run(["tshark", "-X", "lua_script:" + script, "-r", PCAP, "-Y",
                           "unic || _ws.malformed", "-T", "fields", "-e", "_ws.malformed"],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == ours and not any(said), f"{len(said)} shown of {ours}"


def main():
    all_frames = list(frames(PCAP))
    if not all_frames:
        sys.exit(f"{PCAP} is empty")
    return functions.run(functions.of_module(globals()), all_frames)


if __name__ == "__main__":
    sys.exit(main())
