#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make bench`: figures of whole systems, each beside its yardstick of the same
run. Writes build/bench/bench.json and prints a table; a part that was measured in all its
cases is recorded for docs/RESULTS.md.

Whole systems, per board and link: command round trip (mbox-bench), small WRITEs
per second, latency polled and blocked, bulk bytes per second, processor time per
operation (verbs-bench), and what an idle NIC costs. Then the serial link, and what
memory costs, per board (memory.py), and programs of libibverbs (verbs.py). The machine drifts, so ratios are the figures;
absolute numbers are only printed beside them.
"""
import argparse
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "qemu"))
import hosts  # noqa: E402
import memory  # noqa: E402
import stops  # noqa: E402
import verbs  # noqa: E402
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))
import record  # noqa: E402

OUT = os.path.join(ROOT, "build", "bench")
IDLE_S = 4.0
# self: both queue pairs on one NIC, frames through its own ring of the link, so
# that client and NIC have a core each on a machine of two.
CASES = (("soft", "self"), ("soft", "shm"), ("virt", "self"), ("virt", "shm"),
         ("virt", "virtio"))
# The serial link: a byte is ten bits of the line; bytes of payload in the longest
# frame, and of that frame (abi/unic_serial.h).
SERIAL_BAUD, SERIAL_PAYLOAD, SERIAL_FRAME = 921600, 256, 278
SERIAL_GOAL = 85
SERIAL = "lm3s6965evb-serial"


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(board, link):
    at = (0,) if link == "self" else (0, 1)
    with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
        rig = hosts.Hosts(board, "virtio" if link == "virtio" else "shm", tmp)
        try:
            rig.start_wire(*([] if link == "virtio" else ["--direct"]))
            for host in at:
                rig.start_nic(host, show=False)
            time.sleep(0.5)
            result = memory.program("mbox-bench", rig.path("bus0"))
            time.sleep(0.2)
            for host in at:
                rig.start_driver(host)
                rig.wait_nic(host)
            nic = rig.nics[0].child.pid
            used = cpu_seconds(nic)
            time.sleep(IDLE_S)
            result["idle_nic_percent"] = round(
                100 * (cpu_seconds(nic) - used) / IDLE_S, 2)
            server = rig.start("server", "verbs-bench", rig.socket(at[-1]),
                               "serve", show=False)
            server.expect("ready")
            result |= memory.program("verbs-bench", rig.socket(0), "run",
                                     hosts.IP[at[-1]])
            return result
        finally:
            rig.end()


def measure_serial():
    """Bytes out of the host of a board behind a UART, and into it, each as a
    part of the payload that the line can carry."""
    most = SERIAL_BAUD / 10 * SERIAL_PAYLOAD / SERIAL_FRAME
    with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
        rig = hosts.Hosts("lm3s6965evb", None, tmp, "soft")
        try:
            rig.start_wire()
            for host in (0, 1):
                rig.start_nic(host, show=False)
            for host in (0, 1):
                rig.start_driver(host)
                rig.wait_nic(host)
            server = rig.start("server", "verbs-bench", rig.socket(1),
                               "serve", show=False)
            server.expect("ready")
            result = memory.program("verbs-bench", rig.socket(0), "slow",
                                    hosts.IP[1])
        finally:
            rig.end()
    for way in ("write", "read"):
        result[f"{way}_percent"] = 100 * result[f"{way}64k_Bps"] / most
    return result


# name, unit, how, goal text, is it met
ROWS = (
    ("command round trip, polled / line round trip", "x",
     lambda r: r["command_polled_ns"] / (2 * r["line_ns"]), 1.5, "<="),
    ("command round trip, polled", "ns", lambda r: r["command_polled_ns"],
     None, ""),
    ("command round trip, blocked", "ns", lambda r: r["command_blocked_ns"],
     None, ""),
    ("8 B WRITEs, each completed", "M/s", lambda r: r["write8_per_s"] / 1e6,
     5, ">="),
    ("processor time of the poster per WRITE", "ns",
     lambda r: r["write8_cpu_ns"], None, ""),
    ("8 B WRITE post to completion, polled / line", "x",
     lambda r: r["write8_polled_ns"] / r["line_ns"], None, ""),
    ("8 B WRITE post to completion, blocked", "us",
     lambda r: r["write8_blocked_ns"] / 1e3, None, ""),
    ("4 KiB WRITE / shm2", "x", lambda r: r["write4k_MBps"] / r["shm2_MBps"],
     None, ""),
    ("64 KiB WRITE / shm2", "x",
     lambda r: r["write64k_MBps"] / r["shm2_MBps"], None, ""),
    ("1 MiB WRITE", "MB/s", lambda r: r["write1m_MBps"], None, ""),
    ("64 KiB READ", "MB/s", lambda r: r["read64k_MBps"], None, ""),
    ("idle NIC", "% of a core", lambda r: r["idle_nic_percent"], 2, "<="),
)


SERIAL_ROWS = (
    ("64 KiB WRITEs, out of the host of the board", "B/s",
     lambda r: r["write64k_Bps"], None, ""),
    ("... of the payload that the line carries", "%",
     lambda r: r["write_percent"], SERIAL_GOAL, ">="),
    ("64 KiB READs, into it", "B/s", lambda r: r["read64k_Bps"], None, ""),
    ("... of the payload that the line carries", "%",
     lambda r: r["read_percent"], SERIAL_GOAL, ">="),
)


def is_met(v, goal, sign):
    return not sign or v is None or (v <= goal if sign == "<=" else v >= goal)


class Missed(hosts.Failure):
    """@result misses the goals of these rows."""

    def __init__(self, names, result):
        super().__init__("missed: " + "; ".join(names))
        self.result = result


def measured(rows, run, accept_missed=False):
    """What run() measures. It is measured once more if it fails or misses a goal, and the
    machine stopped meanwhile (stops.py)."""
    def once():
        result = run()
        names = [name for name, _, how, goal, sign in rows
                 if not is_met(how(result), goal, sign)]
        if names and not accept_missed:
            raise Missed(names, result)
        return result

    try:
        return stops.step(once)
    except Missed as e:
        return e.result


def table(rows, results):
    """Print a table; returns whether a goal is missed."""
    missed = False
    names = list(results)
    print(f"\n{'':52}" + "".join(f"{n:>16}" for n in names) + "   goal")
    for name, unit, how, goal, sign in rows:
        cells = ""
        for n in names:
            v = how(results[n])
            met = is_met(v, goal, sign)
            cells += ("-" if v is None else f"{v:.2f}").rjust(15)
            cells += " " if met else "!"
            missed |= not met
        print(f"{name + (f' ({unit})' if unit else ''):52}{cells}" +
              (f"   {sign} {goal}" if sign else ""))
    return missed


def keep(part, rows, results):
    """For the documents, which `make figures` writes."""
    def cell(v, goal, sign):
        return "-" if v is None else f"{v:,.2f}" + " (missed)" * (not is_met(v, goal, sign))

    record.table("bench", part, ["", *results, "goal"], [
        [name + (f" ({unit})" if unit else ""),
         *[cell(how(r), goal, sign) for r in results.values()], f"{sign} {goal}" if sign else ""]
        for name, unit, how, goal, sign in rows])


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--only", metavar="BOARD-LINK|BOARD")
    ap.add_argument("--part", choices=["whole", "serial", *memory.PARTS, "verbs"])
    ap.add_argument("--ops", metavar="N", default=1000000,
                    help="WRITEs under eviction pressure (10^6)")
    ap.add_argument("--accept-missed", action="store_true",
                    help="do not measure again because a goal was missed")
    args = ap.parse_args()
    os.makedirs(OUT, exist_ok=True)
    parts = [("whole", ROWS, {f"{b}-{k}": lambda b=b, k=k: measure(b, k)
                              for b, k in CASES}),
             ("serial", SERIAL_ROWS, {SERIAL: measure_serial})]
    parts += [(name, rows, {b: lambda b=b, run=run: run(b, args.ops)
                            for b in memory.BOARDS})
              for name, (rows, run) in memory.PARTS.items()]
    parts += [(name, rows, {board: run}) for name, (rows, board, run) in verbs.TABLES.items()]
    done = {}
    for part, rows, cases in parts:
        results = {}
        for name, run in cases.items():
            if args.part in (None, part.split("-")[0]) and args.only in (None, name):
                print(f"bench: measuring {part} {name} ...", flush=True)
                results[name] = measured(rows, run, args.accept_missed)
        if results:
            done[part] = (rows, results)
            if len(results) == len(cases):
                keep(part, rows, results)
    with open(os.path.join(OUT, "bench.json"), "w", encoding="ascii") as f:
        json.dump({part: results for part, (_, results) in done.items()}, f,
                  indent=1)
    if any([table(rows, results) for rows, results in done.values()]):
        print("! misses its goal; docs/RESULTS.md says why")


if __name__ == "__main__":
    try:
        main()
    except hosts.Failure as e:
        sys.exit(f"bench: {e}")
