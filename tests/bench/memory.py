# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The parts of `make bench` about memory: misses (P9), registration (P10) and
eviction (P11), each on one NIC that talks to itself. The NIC has the last core
for itself and the measuring program the first, so that no figure depends on the
scheduler.
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
def one_host(board):
    """A NIC on its wire, without a driver."""
    with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
        rig = hosts.Hosts(board, "shm", tmp)
        try:
            rig.start_wire("--direct")
            rig.start_nic(0, show=False)
            time.sleep(0.5)
            keep_to(CORES[-1], rig.nics[0])
            yield rig
        finally:
            rig.end()


def start_driver(rig, *options):
    time.sleep(0.2)  # the bus sees the last driver go
    rig.start_driver(0, *options)
    rig.wait_nic(0)


def miss(board, _ops):
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


def reg(board, _ops):
    with one_host(board) as rig:
        start_driver(rig)
        return program("reg-bench", rig.socket(0), core=CORES[0])


def us(key):
    """The figure of this name in us; None where the kernel refused it (0)."""
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


def notices(rig, clock_ns):
    with open(rig.path("bus0", "bus.json"), encoding="utf-8") as f:
        bus = json.load(f)
    return program("evict-bench", rig.socket(0), "notices",
                   f"/proc/{bus['pid']}/fd/{bus['bar_fd']}", str(clock_ns),
                   core=CORES[0])


def evict(board, ops):
    with one_host(board) as rig:
        result = program("miss-bench", rig.path("bus0"), core=CORES[0])
        start_driver(rig)
        result |= notices(rig, result["clock_ns"])
        hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0),
                        "--answer", "ignore", "--again", "--chunk", "16",
                        show=False)
        hog.expect("holds")
        result |= program("evict-bench", rig.socket(0), "waits", core=CORES[0])
        hog.end()
        result |= program("evict-bench", rig.socket(0), "pressure", str(ops),
                          core=CORES[0])
    if len(CORES) > 2:  # NIC, driver and process each spin
        with one_host(board) as rig:
            clock = program("miss-bench", rig.path("bus0"), core=CORES[0])
            start_driver(rig, "--spin-us", "1000000")
            spun = notices(rig, clock["clock_ns"])
            result["spun_per_hop"] = spun["polled_ns"] / spun["line_ns"]
    return result


EVICT = (
    ("notice, decision to a polling driver / hop", "x",
     lambda r: r["notice_per_hop"], 2, "<="),
    ("... known to within", "x",
     lambda r: r["clock_uncertain_ns"] / r["line_ns"], None, ""),
    ("... to a polling process, unicd polling / hop", "x",
     lambda r: r.get("spun_per_hop"), 2, "<="),
    ("... to a polling process, unicd asleep", "us", us("polled_ns"), None, ""),
    ("... to a process asleep", "us", us("blocked_ns"), None, ""),
    ("... p99", "us", us("blocked_p99_ns"), None, ""),
    ("REGISTER_WAIT, the other silent: median - T", "us",
     lambda r: (r["wait_median_ns"] - r["grace_ns"]) / 1e3, None, ""),
    ("... p99 - T", "us", lambda r: (r["wait_p99_ns"] - r["grace_ns"]) / 1e3,
     None, ""),
    ("... p99 - T / p99 of an upcall", "x",
     lambda r: (r["wait_p99_ns"] - r["grace_ns"]) / r["blocked_p99_ns"], 1,
     "<="),
    ("WRITEs under pressure", "millions", lambda r: r["ops"] / 1e6, None, ""),
    ("... failed", "", lambda r: r["failed"], 0, "<="),
    ("... cut short and done again", "", lambda r: r["again"], None, ""),
    ("... evictions", "per ms", lambda r: r["notices"] / r["seconds"] / 1e3, 1,
     ">="),
)

# name: (rows, what measures it)
PARTS = {"miss": (MISS, miss), "reg": (REG, reg), "evict": (EVICT, evict)}
