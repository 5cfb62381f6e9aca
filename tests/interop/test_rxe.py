#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does `make interop` notice? A row that was not done, a row that failed, a package that is
not there, and a capture with a wrong ICRC or a malformed frame are failures; what is known
to be missing is said."""
import contextlib
import io
import os
import struct
import sys
import tempfile

import capture
import interop
import matrix
import result

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", part) for part in ("peer", "runner")]
import frame  # noqa: E402
import functions  # noqa: E402


def tell(wanted, done):
    """(exit code, what was printed)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = result.tell(wanted, done, "6.1", False)
    return code, said.getvalue()


def judged(*frames):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as f:
        f.write(struct.pack("=IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for data in frames:
            f.write(struct.pack("=IIII", 0, 0, len(data), len(data)) + data)
        f.flush()
        return capture.judge(f.name)


def sent(**more):
    return frame.Packet(src_ip=0x0a000001, dst_ip=0x0a000002, dqpn=17,
                        **{"opcode": frame.SEND_ONLY, "body": b"abc", **more}).build()


def test_absent_row():
    assert tell(["a", "b"], {"a": "ok", "b": "ok"})[0] == 0
    code, said = tell(["a", "b"], {"a": "ok"})
    assert code == 1 and "1 passed, 1 failed" in said and "b: not done" in said, said


def test_failed_row():
    code, said = tell(["a"], {"a": "FAILED: 3 bytes differ"})
    assert code == 1 and "3 bytes differ" in said and "0 passed, 1 failed" in said, said


def test_known_missing_is_said():
    code, said = tell(["a", "b"], {"a": "missing: why", "b": "ok"})
    assert code == 0 and "known missing  a: why" in said and "1 passed, 0 failed" in said, said


def test_every_row():
    """Each opcode of RC, size, wire, direction and NIC."""
    names = matrix.expected()
    assert len(names) == len(set(names))
    for board in ("soft", "virt"):
        for way in ("rxe to unic", "unic to rxe"):
            for wire in ("clean", "mixed", "loss 1%", "loss 5%"):
                for op in ("send", "send_imm", "send_inv", "write", "write_imm", "read"):
                    for size in (1, 255, 65537, 8 << 20):
                        assert f"{board}, {way}, {wire}: RC {op} {size}" in names
                for op in ("cas", "faa"):
                    assert f"{board}, {way}, {wire}: atomic {op} 8" in names


def test_capture():
    assert judged(sent()) == "ok"
    assert judged() .startswith("FAILED"), "an empty one"
    assert judged(sent(), sent(icrc=1)).startswith("FAILED: 1 wrong ICRC")
    assert judged(sent(), b"\0" * 12 + b"\x86\xdd" + b"\0" * 50).startswith("FAILED: 0 wrong")
    short = sent(opcode=frame.WRITE_ONLY, body=b"abc")  # RETH is cut
    assert judged(sent(), short).startswith("FAILED: 1 malformed"), judged(short)


def test_missing_package():
    said = io.StringIO()
    interop.installed, was = lambda package: package != "tshark", interop.installed
    try:
        with contextlib.redirect_stdout(said):
            assert interop.run("rxe", []) == (0, 1)
    finally:
        interop.installed = was
    assert "missing packages: tshark" in said.getvalue(), said.getvalue()


if __name__ == "__main__":
    sys.exit(functions.run(functions.of_module(globals())))
