# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The parts of `make bench` about memory: misses (P9) and registration (P10),
each on one NIC that talks to itself. The NIC has the last core
for itself and what measures the first, so that no yardstick is the scheduler's.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "qemu"))
import hosts  # noqa: E402

BOARDS = ("soft", "virt")
CORES = sorted(os.sched_getaffinity(0))


def program(name, *args, timeout=300, core=None):
    """Runs a program of build/bin, on one core only if given; its JSON."""
    r = subprocess.run([os.path.join(ROOT, "build", "bin", name), *args],
                       capture_output=True, text=True, timeout=timeout,
                       preexec_fn=(lambda: os.sched_setaffinity(0, {core}))
                       if core is not None else None)
    if r.returncode:
        raise hosts.Failure(f"{name}: {r.stderr.strip()}")
    return json.loads(r.stdout)


def keep_to(core, process):
    for task in os.listdir(f"/proc/{process.child.pid}/task"):
        os.sched_setaffinity(int(task), {core})


@contextlib.contextmanager
def one_host(board, *driver):
    """A NIC on its wire, with unicd if options for it are given."""
    with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
        rig = hosts.Hosts(board, "shm", tmp)
        try:
            rig.start_wire("--direct")
            rig.start_nic(0, show=False)
            time.sleep(0.5)
            keep_to(CORES[-1], rig.nics[0])
            if driver:
                rig.start_driver(0, *driver)
                rig.wait_nic(0)
            yield rig
        finally:
            rig.end()


def miss(board):
    with one_host(board) as rig:
        return program("miss-bench", rig.path("bus0"), core=CORES[0])


MISS = (
    ("DEMAND miss, polling driver / line round trip", "x",
     lambda r: r["demand_per_round_trip"], 3, "<="),
    ("TABLE miss / line round trip", "x",
     lambda r: r["table_per_round_trip"], 1.5, "<="),
    ("8 B WRITE, page on the NIC", "ns", lambda r: r["write_hit_ns"], None, ""),
    ("... the miss, DEMAND", "ns", lambda r: r["demand_miss_ns"], None, ""),
    ("... the miss, TABLE", "ns", lambda r: r["table_miss_ns"], None, ""),
)


def reg(board):
    with one_host(board, "--spin-us", "0") as rig:
        return program("reg-bench", rig.socket(0), core=CORES[0])


def us(key):
    """What was measured under this name; 0: it was refused here."""
    return lambda r: r[key] / 1e3 or None


REG = (
    ("register + deregister 4 KiB, by call", "us", us("alone_4096_ns"), 2,
     "<="),
    ("... in batches of 64, each", "us", us("batch_4096_ns"), 2, "<="),
    ("... fast registration, by work request", "us", us("posted_4096_ns"), 2,
     "<="),
    ("... in bursts of 8, each", "us", us("burst_4096_ns"), 2, "<="),
    ("... pin + unpin by io_uring", "us", us("pin_4096_ns"), None, ""),
    ("64 KiB, by call", "us", us("alone_65536_ns"), None, ""),
    ("... in batches of 32, each", "us", us("batch_65536_ns"), None, ""),
    ("... fast registration, by work request", "us", us("posted_65536_ns"),
     None, ""),
    ("... pin + unpin by io_uring", "us", us("pin_65536_ns"), None, ""),
    ("1 MiB, by call", "us", us("alone_1048576_ns"), None, ""),
    ("... in batches of 2, each", "us", us("batch_1048576_ns"), None, ""),
    ("... fast registration, by work request", "us", us("posted_1048576_ns"),
     None, ""),
    ("... pin + unpin by io_uring", "us", us("pin_1048576_ns"), None, ""),
    ("a call that unicd answers", "us", us("driver_call_4096_ns"), None, ""),
    ("a call that asks the NIC", "us", us("nic_call_4096_ns"), None, ""),
)

# name: (rows, what measures it)
PARTS = {"miss": (MISS, miss), "reg": (REG, reg)}
