# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The part of `make bench` about libibverbs: perftest and calls of the provider beside the same by libunic, on
one soft NIC that talks to itself, in the same run; goodput of perftest between two soft NICs whose wire loses
frames; and perftest between two NICs of virt beside soft-RoCE in a guest (rxe_guest.py)."""
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import memory
import rxe_guest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "qemu"))
import hosts  # noqa: E402
import test_verbs  # noqa: E402

TIMES = 3
MIB = 1.048576  # perftest's MB in ours
MANY = 32  # queue pairs: half of those of a NIC, more than which a process does not get
LOSSES = (0, 1, 5)  # percent
OPERATIONS = ("write", "read")


@contextlib.contextmanager
def rig_of(board, count, *wire):
    """@count hosts of @board, on a wire with options @wire."""
    with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        try:
            rig.start_wire(*wire)
            for host in range(count):
                rig.start_nic(host, show=False)
            for host in range(count):
                rig.start_driver(host)
                rig.wait_nic(host)
            yield rig
        finally:
            rig.end()


def perftest(rig, ends, line, column):
    """The figure in @column of the last row that @line prints, the median of some runs."""
    found = []
    for _ in range(TIMES):
        said = test_verbs.pair(rig.socket(ends[0]), rig.socket(ends[1]), *line.split(), "-x", "0", "-F")
        rows = re.findall(r"^[ \t]*\d+[ \t]+\d+[ \t\d.]+$", said[1], re.M)
        if not rows:
            raise hosts.Failure(f"{line}: {said}")
        found.append(float(rows[-1].split()[column]))
    return statistics.median(found)


def bandwidth(rig, ends, line):
    """MB/s, the mean of a run."""
    return MIB * perftest(rig, ends, line, 3)


def own(rig):
    """What libunic gets out of the NIC."""
    server = rig.start("server", "verbs-bench", rig.socket(0), "serve", show=False)
    server.expect("ready")
    return memory.program("verbs-bench", rig.socket(0), "run", hosts.IP[0])


def cost_of_verbs(rig):
    r = subprocess.run(test_verbs.run_args(rig.socket(0), os.path.join(hosts.BIN, "cost-verbs")), capture_output=True,
                       text=True, timeout=hosts.PATIENCE_S, check=False)
    if r.returncode:
        raise hosts.Failure(f"cost-verbs: {r.stderr.strip()}")
    return json.loads(r.stdout)


def one_nic():
    with rig_of("soft", 1) as rig:
        unic = own(rig) | memory.program("cost-unic", rig.socket(0))
        many = memory.program("cost-unic", rig.socket(0), str(MANY))
        verbs = cost_of_verbs(rig)
        for op in OPERATIONS:
            for name, size, n in (("64k", 1 << 16, 5000), ("1m", 1 << 20, 500)):
                verbs[f"{op}{name}_MBps"] = bandwidth(rig, (0, 0), f"ib_{op}_bw -s {size} -n {n}")
        verbs["write8_per_s"] = 1e6 * perftest(rig, (0, 0), "ib_write_bw -s 8 -n 100000", 4)
        verbs["send8_blocked_ns"] = 1e3 * perftest(rig, (0, 0), "ib_send_lat -s 8 -e -n 2000", 4)
    return {"unic": unic, "many": many, "verbs": verbs}


def goodput():
    out = {}
    for loss in LOSSES:
        with rig_of("soft", 2, *(["--loss", f"{loss}%"] if loss else ["--direct"])) as rig:
            for op in OPERATIONS:
                out[f"{op}, {loss} %"] = bandwidth(rig, (0, 1), f"ib_{op}_bw -s 65536 -n 500")
    return out


def beside_rxe():
    found = rxe_guest.measured()
    peer = {name: MIB * row[3] for name, row in found.items() if "bw" in name and row[0] >= 65536}
    with rig_of("virt", 2, "--direct") as rig:
        ours = {f"ib_{op}_bw -s {size}": bandwidth(rig, (0, 1), f"ib_{op}_bw -s {size} -n {n}")
                for op in OPERATIONS for size, n in ((1 << 16, 500), (1 << 20, 50))}
    return {"ours": ours, "rxe": peer}


def ratio(key):
    return lambda r: r["verbs"][key] / r["unic"][key]


def calls(r, side):
    return r[side]["post"] + r[side]["poll"]


ONE_NIC = (
    *((f"ib_{op}_bw {name} / {op.upper()}s of libunic", "x", ratio(f"{op}{key}_MBps"), 0.9, ">=")
      for op in OPERATIONS for name, key in (("64 KiB", "64k"), ("1 MiB", "1m"))),
    ("ib_write_bw -s 8, messages/s / WRITEs of libunic", "x", ratio("write8_per_s"), 0.6, ">="),
    ("ib_send_lat -s 8 -e / WRITE of libunic, blocked", "x",
     lambda r: r["verbs"]["send8_blocked_ns"] / r["unic"]["write8_blocked_ns"], 1.3, "<="),
    ("instructions, ibv_post_send + ibv_poll_cq / libunic's", "x", lambda r: calls(r, "verbs") / calls(r, "unic"),
     1.25, "<="),
    ("... ibv_post_send + ibv_poll_cq", "", lambda r: calls(r, "verbs"), None, ""),
    (f"instructions of libunic, {MANY} queue pairs on a completion queue / one", "x",
     lambda r: calls(r, "many") / calls(r, "unic"), 1.1, "<="),
    ("ibv_reg_mr + ibv_dereg_mr, 4 KiB in the slot / libunic's", "x", ratio("reg_ns"), 1.2, "<="),
    ("... ibv_reg_mr + ibv_dereg_mr", "us", lambda r: r["verbs"]["reg_ns"] / 1e3, None, ""),
)
GOODPUT = tuple((f"ib_{op}_bw 64 KiB, {loss} % lost", "MB/s", lambda r, k=f"{op}, {loss} %": r[k], None, "")
                for op in OPERATIONS for loss in LOSSES)
RXE = (
    ("worst bandwidth of two NICs / best of rxe", "x",
     lambda r: min(r["ours"].values()) / max(r["rxe"].values()), 4, ">="),
    ("... of two NICs", "MB/s", lambda r: min(r["ours"].values()), None, ""),
    ("... of rxe", "MB/s", lambda r: max(r["rxe"].values()), None, ""),
)
# table of the part: its rows, the board, what measures
TABLES = {
    "verbs": (ONE_NIC, "soft", one_nic),
    "verbs-loss": (GOODPUT, "soft", goodput),
    "verbs-rxe": (RXE, "virt", beside_rxe),
}
