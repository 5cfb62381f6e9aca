#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs of the distribution that use librdmacm, unchanged, between two NICs of unic and
over one. Ends "N passed, N failed".

    cm.py [--only WORD]
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "qemu"))

import hosts  # noqa: E402
import functions  # noqa: E402
import stops  # noqa: E402
import test_verbs as verbs  # noqa: E402

A, B = "10.0.0.1", "10.0.0.2"
# Server, client (at A), and what both say.
PAIRS = (
    ("rping -s -a 0.0.0.0 -C 50 -v -V", f"rping -c -a {A} -C 50 -v -V", "rdma-ping-49: "),
    ("rping -s -a 0.0.0.0 -C 3 -S 65535 -V", f"rping -c -a {A} -C 3 -S 65535 -V", ""),
    (f"rping -s -a {A} -p 12345 -C 5", f"rping -c -a {A} -p 12345 -C 5", ""),
    ("ucmatose", f"ucmatose -s {A}", "return status 0"),
    ("ucmatose -c 12 -C 10 -S 1000", f"ucmatose -c 12 -C 10 -S 1000 -s {A}",
     "return status 0"),
    (f"ucmatose -b {A} -c 3", f"ucmatose -b {B} -c 3 -s {A}", "return status 0"),
    ("ucmatose -m -c 3", f"ucmatose -m -c 3 -s {A}", "return status 0"),
    ("udaddy", f"udaddy -s {A}", "return status 0"),
    ("udaddy -c 3 -C 5 -S 500", f"udaddy -c 3 -C 5 -S 500 -s {A}", "return status 0"),
    ("rdma_server", f"rdma_client -s {A}", "end 0"),
    (f"rdma_server -s {A} -p 7000", f"rdma_client -s {A} -p 7000", "end 0"),
    ("ib_write_bw -R -n 200 -F", f"ib_write_bw -R -n 200 -F {A}", "65536"),
    ("ib_write_bw -R -q 4 -n 50 -F", f"ib_write_bw -R -q 4 -n 50 -F {A}", "65536"),
    ("ib_read_bw -R -n 100 -F", f"ib_read_bw -R -n 100 -F {A}", "65536"),
    ("ib_send_bw -R -n 100 -F", f"ib_send_bw -R -n 100 -F {A}", "65536"),
    ("ib_send_lat -R -n 50 -F", f"ib_send_lat -R -n 50 -F {A}", "99"),
    ("ib_send_lat -R -e -n 50 -F", f"ib_send_lat -R -e -n 50 -F {A}", "99"),
)


def pair(rig, server, client, words):
    for text in verbs.cm_pair(rig, server, client):
        assert words in text, (server, client, text)
    verbs.nothing_left(rig)


def one_nic(rig):
    said = verbs.cm_pair(rig, f"rping -s -a {A} -C 10 -V", f"rping -c -a {A} -C 10 -V",
                         (0, 0))
    assert said
    verbs.nothing_left(rig)


def client(rig, *command):
    return subprocess.run(verbs.run_args(rig.socket(1), *command), capture_output=True,
                          text=True, timeout=hosts.PATIENCE_S, check=False)


def nobody_listens(rig):
    r = client(rig, "ucmatose", "-s", A, "-p", "9")
    assert "RDMA_CM_EVENT_REJECTED, error: 8" in r.stdout, r


def nobody_there(rig):
    """No host has the address: said within the time of three questions."""
    begin = time.monotonic()
    r = client(rig, "ucmatose", "-s", "10.0.0.77")
    assert "RDMA_CM_EVENT_UNREACHABLE, error: -110" in r.stdout, r
    assert time.monotonic() - begin < 20, r


def start(rig, host, line):
    return subprocess.Popen(verbs.run_args(rig.socket(host), *line.split()),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def killed(rig, who):
    """Either end is killed amid its work: the other one hears of it, and ends."""
    line = "rping -s -a 0.0.0.0 -v"
    ends = [start(rig, 0, line)]
    try:
        verbs.wait_cm_listener(rig, ends[0], line, (0, 1))
        ends.append(start(rig, 1, f"rping -c -a {A} -v"))
        assert "ping data" in ends[1].stdout.readline()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(ends[who].pid)],
                                  capture_output=True, text=True, check=True)
        for pid in children.stdout.split():
            os.kill(int(pid), 9)
        ends[who].communicate(timeout=hosts.PATIENCE_S)
        said = ends[1 - who].communicate(timeout=hosts.PATIENCE_S)[0]
        assert "DISCONNECT EVENT" in said, said[-500:]
    finally:
        for end in ends:
            if end.poll() is None:
                end.kill()
                end.communicate()
    verbs.nothing_left(rig)


def cases():
    for server, other, words in PAIRS:
        yield (f"{server} | {other}",
               lambda rig, p=(server, other, words): pair(rig, *p))
    yield "rping over one NIC", one_nic
    yield "nobody listens", nobody_listens
    yield "nobody has the address", nobody_there
    yield "a client is killed", lambda rig: killed(rig, 1)
    yield "a server is killed", lambda rig: killed(rig, 0)


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default="")
    opt = ap.parse_args()
    with tempfile.TemporaryDirectory(prefix="unic-cm-") as tmp:
        rig = hosts.Hosts("soft", None, tmp)
        rig.bus_options = lambda _: ["--slot-size", "256M"]
        try:
            rig.start_wire()
            rig.start_all()
            return functions.run([(name, lambda r=run: stops.step(r, rig)) for name, run in cases() if opt.only in name])
        finally:
            rig.end()


if __name__ == "__main__":
    sys.exit(main())
