# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A capture of unic-wire with a stranger on it: each frame is RoCEv2, ARP or the stranger's
IGMP and the like, each ICRC is right by tests/peer/frame.py, and tshark finds no malformed
frame."""
import collections
import mmap
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peer"))
import frame as peer  # noqa: E402

LUA = os.path.join(HERE, "..", "..", "tools", "wireshark", "unic.lua")
MALFORMED = "_ws.malformed || _ws.expert.severity == error"


def frames(path):
    """Frames of a pcap file in the byte order of this machine."""
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = 24
        while at + 16 <= len(data):
            captured, length = struct.unpack_from("=II", data, at + 8)
            if captured != length:
                raise ValueError("a frame was cut short")
            yield data[at + 16:at + 16 + captured]
            at += 16 + captured


def count(path):
    """(number of frames by opcode, number with a wrong ICRC, those that are neither
    RoCEv2 nor ARP)"""
    opcodes, wrong, other = collections.Counter(), 0, 0
    for f in frames(path):
        if f[12:14] == b"\x08\x06":
            continue
        if f[12:14] != b"\x08\0" or f[23] != 17 or f[36:38] != b"\x12\xb7":
            other += 1
            continue
        end = 14 + int.from_bytes(f[16:18], "big") - 4
        opcodes[f[42]] += 1
        wrong += peer.icrc(f[14:end]) != int.from_bytes(f[end:end + 4], "little")
    return opcodes, wrong, other


def malformed(path):
    said = subprocess.run(
        ["tshark", "-n", "-X", "lua_script:" + LUA, "-r", path, "--disable-protocol",
         "rpcordma", "-Y", MALFORMED], capture_output=True, text=True, check=False)
    if said.returncode:
        return [f"tshark failed: {said.stderr.strip()}"]
    return said.stdout.splitlines()


def judge(path):
    """"ok", or what is wrong."""
    opcodes, wrong, other = count(path)
    if not opcodes:
        return "FAILED: it has no frame of RoCEv2"
    if wrong or other:
        return (f"FAILED: {wrong} wrong ICRCs in {opcodes.total()} frames, {other} "
                "frames of another kind")
    bad = malformed(path)
    return f"FAILED: {len(bad)} malformed, the first: {bad[0]}" if bad else "ok"
