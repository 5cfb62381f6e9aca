#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Are the bytes in abi/vectors what the standard and docs/SPEC.md say? No code of
unic is asked: tshark decodes each frame, zlib computes each CRC, and each field of
a record is unpacked at the offset that its line names.

usage: test_vectors.py [FOLDER]        (default abi/vectors)
"""
import functools
import glob
import os
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "runner"))
import functions  # noqa: E402

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "abi/vectors"
ETH, IP = 14, 20
BTH = ETH + IP + 8
IPV4, ARP, ROCE = 0x0800, 0x0806, 4791
# Bytes of extension headers behind the BTH, by opcode (SPEC "Opcodes").
EXTENSION = {0x05: 4, 0x06: 16, 0x0a: 16, 0x0b: 20, 0x0c: 16, 0x0d: 4, 0x0f: 4,
             0x10: 4, 0x11: 4, 0x16: 4, 0x17: 4, 0x64: 8, 0xc0: 24, 0xc3: 24,
             0xd0: 8}
FLIP = 0x10     # what the tests of changed bytes change of a byte


class Wrong(AssertionError):
    pass


class Vector:
    """The bytes of a file, and what its `tshark:` and `at:` lines promise."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        self.fields, self.places, text = {}, [], []
        with open(path, encoding="ascii") as file:
            for line in file:
                text += line.split("#")[0].split()
                if line.startswith("# tshark: "):
                    name, value = line[10:].strip().split("=", 1)
                    self.fields[name] = value
                elif line.startswith("# at: "):
                    at, form, value = line[6:].split()[:3]
                    self.places.append((int(at), form, value))
        self.data = bytes.fromhex(" ".join(text))
        self.frame = bool(self.fields)


@functools.cache
def vectors():
    found = [Vector(p) for p in sorted(glob.glob(os.path.join(FOLDER, "*.hex")))]
    assert found, f"{FOLDER} has no vectors"
    return found


def expect(name, what, is_, should):
    if is_ != should:
        raise Wrong(f"{name}: {what} is {is_}, not {should}")


# ------------------------------------------------------------- arithmetic

def sum16(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def icrc(frame):
    """IBTA 9.3 and annex A17.3.3: eight bytes of ones in the place of a GRH's
    start, then IPv4 header to padding. What routers change counts as ones: type of
    service, time to live, both checksums, the byte of BTH with FECN and BECN."""
    p = bytearray(frame[ETH:-4])
    for at in (1, 8, 10, 11, IP + 6, IP + 7, IP + 8 + 4):
        p[at] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(p)))


def check_frame(name, frame):
    kind, = struct.unpack_from(">H", frame, 12)
    if kind == ARP:
        expect(name, "the length", len(frame), 60)
        return
    expect(name, "the type", kind, IPV4)
    first, _, total = struct.unpack_from(">BBH", frame, ETH)
    expect(name, "version and header length", first, 0x45)
    expect(name, "the length in IPv4", total, len(frame) - ETH)
    expect(name, "the sum of the IPv4 header", sum16(frame[ETH:ETH + IP]), 0xffff)
    expect(name, "the length in UDP", struct.unpack_from(">H", frame, 38)[0],
           total - IP)
    expect(name, "what is behind the last word", total % 4, 0)
    expect(name, "the ICRC", frame[-4:].hex(), icrc(frame).hex())


def uncobs(name, line):
    """The frame between the delimiters of a line (Cheshire and Baker, 1997)."""
    expect(name, "the delimiters", (line[:1], line[-1:]), (b"\0", b"\0"))
    out, at = b"", 1
    while at < len(line) - 1:
        code = line[at]
        part = line[at + 1:at + code]
        if not code or 0 in part or len(part) != code - 1 or at + code >= len(line):
            raise Wrong(f"{name}: COBS code {code} at {at}")
        at += code
        out += part + (b"\0" if code < 255 and at < len(line) - 1 else b"")
    return out


def decoded(name, data):
    """What the `at:` lines speak of."""
    if not name.startswith("serial-"):
        return data
    frame = uncobs(name, data)
    expect(name, "the CRC-32", frame[-4:],
           struct.pack("<I", zlib.crc32(frame[:-4])))
    return frame


def value_at(data, at, form):
    value, = struct.unpack_from(form, data, at)
    return value.rstrip(b"\0").decode("ascii", "replace") \
        if isinstance(value, bytes) else value


def check_places(v, data):
    covered = []
    for at, form, text in v.places:
        size = struct.calcsize(form)
        if at + size > len(data):
            raise Wrong(f"{v.name}: {form} at {at} is behind the end")
        should = text if form.endswith("s") else int(text, 0)
        expect(v.name, f"{form} at {at}", value_at(data, at, form), should)
        covered += range(at, at + size)
    if not v.frame:
        expect(v.name, "what the lines cover", covered, list(range(len(data))))


def check_bytes(v, data):
    """All that can be said of @data as vector @v without tshark."""
    if v.frame:
        check_frame(v.name, data)
    check_places(v, decoded(v.name, data))


# ----------------------------------------------------------------- tshark

def capture(frames):
    """A pcap file (LINKTYPE_ETHERNET) of these frames."""
    yield struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for f in frames:
        yield struct.pack("<IIII", 0, 0, len(f), len(f)) + f


def tshark(frames, *args):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.writelines(capture(frames))
        file.flush()
        # RPC-over-RDMA guesses at every payload and finds most of them malformed.
        r = subprocess.run(["tshark", "-n", "--disable-protocol", "rpcordma", "-r",
                            file.name, *args], text=True, capture_output=True,
                           timeout=300, check=False)
    assert r.returncode == 0, r.stderr
    return r.stdout.split("\n")[:-1]


def fields_of(frames, names):
    """For each frame, what tshark has of these fields."""
    args = [a for n in names for a in ("-e", n)]
    rows = tshark(frames, "-T", "fields", "-E", "occurrence=f", *args)
    assert len(rows) == len(frames), (len(rows), len(frames))
    return [dict(zip(names, row.split("\t"))) for row in rows]


def differing(v, seen):
    """Fields of @v that tshark sees otherwise."""
    return [f"{v.name}: tshark has {n}={seen[n]}, not {value}"
            for n, value in v.fields.items() if seen[n] != value]


def all_names():
    return sorted({n for v in vectors() for n in v.fields})


# ------------------------------------------------------------------ tests

def test_index_names_all():
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        index = file.read()
    for v in vectors():
        assert f"[{v.name}]({v.name})" in index, f"README.md has no {v.name}"
    assert index.count(".hex](") == len(vectors()), "README.md names another file"


def test_bytes():
    for v in vectors():
        check_bytes(v, v.data)


def test_tshark_decodes_frames():
    frames = [v for v in vectors() if v.frame]
    data = [v.data for v in frames]
    assert len(frames) == 33, len(frames)
    bad = tshark(data, "-Y", "_ws.malformed || _ws.expert.severity == error")
    assert not bad, bad
    wrong = [line for v, seen in zip(frames, fields_of(data, all_names()))
             for line in differing(v, seen)]
    assert not wrong, "\n".join(wrong)


def flipped(data):
    for at in range(len(data)):
        yield at, data[:at] + bytes([data[at] ^ FLIP]) + data[at + 1:]


def passes(v, data):
    try:
        check_bytes(v, data)
    except (Wrong, struct.error):
        return False
    return True


def test_each_byte_matters():
    """With any one byte changed, a vector fails."""
    unseen = [(v, at, data) for v in vectors() for at, data in flipped(v.data)
              if passes(v, data)]
    rows = fields_of([data for _, _, data in unseen], all_names())
    missed = [f"{v.name}: byte {at}" for (v, at, _), seen in zip(unseen, rows)
              if not differing(v, seen)]
    assert not missed, missed


def headers_end(data):
    """Where the headers of a RoCEv2 frame end; 0 of another frame."""
    if struct.unpack_from(">H", data, 12)[0] != IPV4:
        return 0
    return BTH + 12 + EXTENSION.get(data[BTH], 0)


def test_each_byte_of_headers_matters():
    """With any one byte from the BTH to the end of the headers changed, and the
    ICRC made right again, tshark sees another field, or a line of the vector
    does. Payload is nobody's field."""
    names = [n for n in all_names() if n != "infiniband.invariant.crc"]
    changed = [(v, at, data[:-4] + icrc(data)) for v in vectors() if v.frame
               for at, data in flipped(v.data) if BTH <= at < headers_end(v.data)]
    unseen = [one for one in changed if passes(one[0], one[2])]
    rows = fields_of([data for _, _, data in unseen], names)
    missed = [f"{v.name}: byte {at}" for (v, at, _), seen in zip(unseen, rows)
              if all(seen[n] == v.fields[n] for n in v.fields if n in names)]
    assert len({v.name for v, _, _ in changed}) == 31, len(changed)
    assert not missed, missed


if __name__ == "__main__":
    sys.exit(functions.run(functions.of_module(globals())))
