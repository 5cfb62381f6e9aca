#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""tools/wireshark/unic.lua over the frames of abi/vectors, and over frames that are cut or
changed: tshark shows what unic says besides RoCEv2, and finds nothing else in payloads."""
import os
import re
import subprocess
import sys
import tempfile

import test_vectors as known

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "runner"))
import functions  # noqa: E402
SCRIPT = os.path.join(ROOT, "tools", "wireshark", "unic.lua")
NAMES = ("_ws.col.Protocol", "_ws.col.Info", "unic.token.index", "unic.token.key",
         "unic.token.payload_len", "unic.token.ctrl_len", "unic.token.control",
         "unic.token.payload", "unic.token.offset", "unic.opcode", "_ws.expert.severity", "unic.vack.reason", "unic.vack.delay_us", "unic.vack.why",
         "_ws.expert.message", "unic_payload.data")


def tshark(frames, *args):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.writelines(known.capture(frames))
        file.flush()
        r = subprocess.run(["tshark", "-n", "-X", "lua_script:" + SCRIPT, "-r", file.name, *args],
                           text=True, capture_output=True, timeout=300, check=False)
    assert r.returncode == 0 and "Lua" not in r.stderr, r.stderr
    return r.stdout.split("\n")[:-1]


def shown(frames):
    rows = tshark(frames, "-T", "fields", *[a for n in NAMES for a in ("-e", n)])
    assert len(rows) == len(frames)
    return [dict(zip(NAMES, row.split("\t"))) for row in rows]


def frame(name):
    return next(v.data for v in known.vectors() if v.name == name + ".hex")


def test_messages():
    first, last, only = shown([frame("token-first"), frame("token-last"), frame("token-only")])
    for row in (first, only):
        assert row["_ws.col.Protocol"] == "unic", row
        assert row["unic.token.index"] == "5" and row["unic.token.ctrl_len"] == "4", row
        assert row["unic.token.key"] == "0x0123456789abcdef", row
        assert len(row["unic.token.control"]) == 8, row
    assert first["_ws.col.Info"] == "TOKEN first to token 5, 4 + 260 bytes", first
    assert only["unic.token.payload_len"] == "6" and len(only["unic.token.payload"]) == 12, only
    assert last["_ws.col.Info"] == "TOKEN last" and last["unic.token.payload"], last
    assert [int(row["unic.opcode"], 16) for row in (first, last, only)] == [0xc0, 0xc2, 0xc3], (first, last, only)
    middle = bytearray(frame("token-last"))
    middle[known_ext() - 12] = 0xc1
    moved = bytearray(frame("token-only"))
    moved[known_ext() + 20:known_ext() + 24] = (0x1234).to_bytes(4, "big")
    middle, moved = shown([bytes(middle), bytes(moved)])
    assert middle["_ws.col.Info"] == "TOKEN middle", middle
    assert only["unic.token.offset"] == "16" and moved["unic.token.offset"] == "4660", (only, moved)


def test_acknowledgements():
    evicted, later, refused = shown(
        [frame("vack-evicted"), frame("vack-retry-after"), frame("vack-refused")])
    assert evicted["_ws.expert.message"] == "The region was taken back", evicted
    note, warning = 0x400000, 0x600000  # PI_NOTE, PI_WARN
    assert [int(r["_ws.expert.severity"], 0) for r in (evicted, later, refused)] == [warning, note, warning]
    assert later["unic.vack.delay_us"] == "50" and not later["unic.vack.why"], later
    assert refused["_ws.col.Info"] == "VACK: REFUSED, BAD_KEY", refused
    odd = bytearray(frame("vack-evicted"))
    odd[known_ext() + 3] = 9
    assert shown([bytes(odd)])[0]["_ws.expert.message"] == "A reason that unic does not have"


def known_ext():
    """Where the header behind BTH begins: UNIC_EXT_OFF."""
    return 54


def test_cut_short():
    """Frames that end within a header, and control parts longer than what follows."""
    data = frame("token-only")
    for end in range(known_ext(), known_ext() + 24):
        cut = bytearray(data[:end] + data[-4:])
        cut[43] &= 0xcf  # no pad
        row = shown([fit(cut)])[0]
        assert "shorter than its header" in row["_ws.expert.message"], (end, row)
    longer = bytearray(data)
    longer[known_ext() + 16:known_ext() + 20] = b"\xff\xff\xff\xff"
    assert "shorter than its header" in shown([bytes(longer)])[0]["_ws.expert.message"]


def fit(data):
    """With the lengths of IPv4 and UDP that @data has."""
    data[16:18] = (len(data) - 14).to_bytes(2, "big")
    data[38:40] = (len(data) - 34).to_bytes(2, "big")
    return bytes(data)


def test_payloads_are_bytes():
    """No frame is malformed, though payloads look like anything; CM is still decoded."""
    frames = [v.data for v in known.vectors() if v.frame]
    assert not tshark(frames, "-Y", "_ws.malformed")
    assert shown([frame("send-only-pad0")])[0]["unic_payload.data"]
    assert "ConnectRequest" in shown([frame("cm-req-unic")])[0]["_ws.col.Info"]
    guessing = tshark(frames, "-o", "unic_payload.plain:FALSE", "-Y", "_ws.malformed")
    assert guessing, "Wireshark guesses no more: the preference is without effect"


def test_filters():
    """Fields and kinds of expert info find frames, those that the head of the script shows, too."""
    frames = [v.data for v in known.vectors() if v.frame]
    with open(SCRIPT, encoding="utf-8") as f:
        head = re.findall(r"^--   (unic.*)$", f.read(), re.M)
    found = {text: len(tshark(frames, "-Y", text)) for text in re.split(r" {2,}", head[0]) + ["unic", "unic.evicted"]}
    assert found == {"unic.token.key == 0x0123456789abcdef": 2, "unic.vack.reason == 2": 1, "unic && _ws.expert": 3,
                     "unic": 6, "unic.evicted": 1}, found


def numbers(header, start):
    """The names and numbers of an enum of abi/."""
    with open(os.path.join(ROOT, "abi", header), encoding="utf-8") as f:
        text = re.search(start + r" \{(.*?)^\};", f.read(), re.S | re.M)[1]
    return {int(n, 0): name for name, n in re.findall(r"UNIC_(?:TOKEN|EV)_(\w+) = (\w+)", text)}


def test_names_are_those_of_the_abi():
    with open(SCRIPT, encoding="utf-8") as f:
        text = f.read()
    for table, names in (("ends", numbers("unic_queue.h", "enum unic_token_end")),
                         ("reasons", numbers("unic_wire.h", "enum unic_ev_reason"))):
        said = re.search(rf"local {table} = \{{(.*?)\}}", text, re.S)[1]
        found = {int(n): name for n, name in re.findall(r"\[(\d+)\] = \"(\w+)\"", said)}
        names.pop(0, None)
        assert found == names, (table, found, names)


if __name__ == "__main__":
    sys.exit(functions.run(functions.of_module(globals())))
