#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make interop PART=rxe`: transfers between unic and Linux's rdma_rxe, a stranger.

A guest with the distribution's kernel (TCG, virtio-net on a port of unic-wire) has rxe; a
soft NIC and one of virt are on the same wire. Each row of matrix.py moves bytes one way,
and all bytes of both sides are compared. What went over the wire is judged as well: tshark
finds no malformed frame, and each ICRC is right. A row that was not done is a failure.

    rxe.py [--wire NAME]... [--board soft|virt]... [--only WORD] [--quick] [--keep FOLDER]

--quick: one transfer each way over a soft NIC (make check). With neither --wire, --board,
--only nor --quick the result is left for docs/CONFORMANCE.md.
"""
import argparse
import os
import signal
import sys
import tempfile
import time

import capture
import ends
import hosts
import matrix
import programs
import result
import rows
from hosts import Failure

# ... of a port of the wire: none is lost but what is to be.
SLOTS = "2048"


class Rig(hosts.Hosts):
    """NICs of unic, a wire with a port for the guest, and the guest."""

    def __init__(self, tmp, opt):
        boards = opt.board
        super().__init__(boards[0], None, tmp, peer=boards[1] if boards[1:] else None,
                         n=len(boards))
        self.ends, self.guest, self.release, self.gate = [], None, None, 0
        self.pcap = os.path.join(opt.keep or tmp, "wire.pcap")

    def bus_options(self, host):
        # perftest -a registers 16 MiB at a time
        return ["--slot-size", "256M"] if self.boards[host] == "soft" else []

    def begin(self, faults):
        self.start_wire("--icrc", "--pcap", self.pcap, "--stream", "guest",
                        "--link-slots", SLOTS, *faults)
        self.start_all()
        self.gate = programs.free_port()
        self.guest, port = ends.boot(self.tmp, self.path("wire", "guest"),
                                     programs.devices(self.gate), programs.binaries())
        programs.prepare(self.guest)
        self.release = self.guest.release
        self.ends.append(ends.Rxe(self.guest, port))
        for host in range(len(self.boards)):
            self.ends.append(ends.Unic(self, host))

    def end(self):
        for end in self.ends:
            end.end()
        if self.guest:
            self.guest.end()
        super().end()


def links(rig, wire):
    """{(board, way): connection}"""
    rxe, found = rig.ends[0], {}
    for board, unic in zip(rig.boards, rig.ends[1:]):
        for way, pair in zip(matrix.WAYS, ((rxe, unic), (unic, rxe))):
            link = rows.Link(*pair)
            link.lossy = wire != "clean"
            found[board, way] = link
    return found


def do_row(link, row):
    """What became of a row: "ok", or the reason why not."""
    kind, op, size = row
    try:
        rows.DO[kind](link, op, size)
        return "ok"
    except rows.Missing as e:
        return f"missing: {e}"
    except Failure as e:
        link.forget()
        return f"FAILED: {e}"


def do_wire(rig, wire, only, done):
    for (board, way), link in links(rig, wire).items():
        for row in matrix.of_wire(wire):
            name = matrix.name(board, way, wire, row)
            if only not in name:
                continue
            start = time.monotonic()
            done[name] = do_row(link, row)
            print(f"{time.monotonic() - start:6.1f} s  {name}: {done[name]}", flush=True)
        link.drop()


def do_program(rig, host, way, line):
    try:
        if "atomic" in line and not programs.has_atomics(rig, host):
            return "missing: the provider of unic for libibverbs has no atomic operations"
        programs.pair(rig, host, way, line)
        return "ok"
    except Failure as e:
        return f"FAILED: {e}"


def do_programs(rig, wire, only, done):
    for host, board in enumerate(rig.boards):
        for way, line in matrix.programs_of(board, wire):
            name = matrix.name(board, way, wire, ("program", line, 0))
            if only not in name:
                continue
            done[name] = do_program(rig, host, way, line)
            print(f"{name}: {done[name]}", flush=True)


def run_wire(wire, opt, done):
    """All rows over one kind of wire, and its capture; returns the guest's kernel."""
    with tempfile.TemporaryDirectory(prefix="unic-rxe-") as tmp:
        rig = Rig(tmp, opt)
        try:
            rig.begin(matrix.WIRES[wire])
            do_wire(rig, wire, opt.only, done)
            do_programs(rig, wire, opt.only, done)
        except Failure as e:
            print(f"{wire}: {e}", flush=True)
        finally:
            rig.end()
        done[f"{wire}: the capture"] = capture.judge(rig.pcap)
        print(f"{wire}: the capture: {done[f'{wire}: the capture']}", flush=True)
        return rig.release


def wanted(opt):
    names = [n for n in matrix.expected(opt.wire) if opt.only in n and
             n.split(",")[0] in opt.board]
    return names + [f"{wire}: the capture" for wire in opt.wire]


def options():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--wire", action="append", choices=matrix.WIRES)
    ap.add_argument("--board", action="append", choices=matrix.BOARDS)
    ap.add_argument("--only", default="")
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--keep", help="a folder for the last capture, which is large")
    opt = ap.parse_args()
    opt.whole = not (opt.wire or opt.board or opt.only or opt.quick)
    if opt.quick:
        opt.wire, opt.board, opt.only = ["clean"], ["soft"], matrix.QUICK
    opt.wire = opt.wire or list(matrix.WIRES)
    opt.board = opt.board or list(matrix.BOARDS)
    return opt


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # all children end, too
    opt = options()
    done = {}
    release = [run_wire(wire, opt, done) for wire in opt.wire][-1]
    return result.tell(wanted(opt), done, release, opt.whole)


if __name__ == "__main__":
    sys.exit(main())
