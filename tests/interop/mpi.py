#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Libraries of the distribution that use verbs: libfabric, UCX, and Open MPI over either, unchanged, on
hosts of `unic-run` that share a net. Each message is seen by the counters of the NICs. Ends in
"N passed, N failed".

    mpi.py [--only WORD]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "qemu"))

import hosts  # noqa: E402
import functions  # noqa: E402
import test_verbs as verbs  # noqa: E402

RUN, CTL = hosts.BIN + "/unic-run", hosts.BIN + "/unicctl"
WITHIN_S = 300
RANKS = 4
PORT = 17000 + os.getpid() % 10000
# The options of fi_pingpong, how large its largest message is. It sends ten of each size, and compares them.
FABRIC = (("-p verbs -e msg", 1 << 20), ("-p verbs -e dgram", 4096),
          ("-p verbs;ofi_rxm -e rdm", 1 << 20))
FABRIC_ROUNDS = 10
# The test of ucx_perftest, its bytes, and how often. rc_v: rc_verbs, and ud_verbs to meet.
UCX = (("tag_lat", 8, 500), ("tag_bw", 65536, 200), ("tag_bw", 1 << 20, 20), ("ucp_am_lat", 64, 200),
       ("stream_bw", 4096, 500), ("ucp_put_bw", 65536, 200), ("ucp_get", 8, 200), ("ucp_get", 65536, 50),
       ("ucp_fadd", 8, 200), ("ucp_cswap", 8, 200))
# Of MPI: what carries it.
LAYERS = {
    "pml ucx, rc": {"OMPI_MCA_pml": "ucx", "UCX_TLS": "rc_v,self"},
    "pml ucx, ud": {"OMPI_MCA_pml": "ucx", "UCX_TLS": "ud_v,self"},
    "mtl ofi": {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm"},
}


class Net:
    """A net of unic-run of this test alone."""

    def __init__(self):
        self.name = f"mpi-{os.getpid()}"

    def host(self, *command):
        """The words that run @command on a new host, which says at the end what its NIC sent."""
        return [RUN, "--net", self.name, "sh", "-c", f'"$@"; end=$?; {CTL} --all stats | grep tx_bytes; exit $end', "sh",
                *command]

    def end(self):
        shutil.rmtree(f"/tmp/unic-run-{os.getuid()}/nets/{self.name}", ignore_errors=True)


def sent(said):
    """Bytes that the NICs of the hosts that wrote @said sent."""
    return [int(n) for n in re.findall(r"^nic +tx_bytes +(\d+)", said, re.M)]


def ended(process, what):
    said = process.communicate(timeout=WITHIN_S)[0]
    assert process.returncode == 0, (what, process.returncode, said[-2000:])
    return said


def pair(net, server, client, **more):
    """What both say. The client begins when the server listens at PORT."""
    env = {**os.environ, **more}
    ends = []
    try:
        for command in (server, client):
            ends.append(subprocess.Popen(net.host(*command), env=env, text=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT))
            if command is server:
                verbs.wait_listener(PORT, ends[0])
        return [ended(end, command) for end, command in zip(ends, (server, client))]
    finally:
        for end in ends:
            if end.poll() is None:
                end.terminate()
                end.communicate()


def fabric_is_listed(net):
    said = ended(subprocess.Popen(net.host("fi_info", "-p", "verbs"), text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT), "fi_info")
    for protocol in ("FI_PROTO_RDMA_CM_IB_RC", "FI_PROTO_IB_UD"):
        assert protocol in said, said


def fabric(net, options, largest):
    words = ["fi_pingpong", "-c", *options.split()]
    for said in pair(net, [*words, "-B", str(PORT)], [*words, "-P", str(PORT), "127.0.0.1"]):
        rows = re.findall(r"^\d+[km]? +10 +=10 ", said, re.M)
        assert rows and "rror" not in said, said
        assert sent(said)[0] >= FABRIC_ROUNDS * largest, said


def ucx(net, transport, test, size, rounds):
    words = ["ucx_perftest", "-p", str(PORT)]
    both = pair(net, words, [*words, "127.0.0.1", "-t", test, "-s", str(size), "-n", str(rounds)], UCX_TLS=transport)
    assert re.search(rf"^Final: +{rounds} ", both[1], re.M), both
    assert max(sent(said)[0] for said in both) >= rounds * size, both


def mpi(net, layer, program):
    root = ["--allow-run-as-root"] * (os.getuid() == 0)
    ranks = subprocess.Popen(["mpirun", *root, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-np", str(RANKS),
                              *net.host(program)], env={**os.environ, **LAYERS[layer]}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = ended(ranks, layer)
    finally:
        if ranks.poll() is None:
            ranks.terminate()
            ranks.communicate()
    assert f"{RANKS} ranks, 0 wrong bytes" in said, said
    assert len(sent(said)) == RANKS and min(sent(said)) > 5 << 20, said


def cases(net, folder):
    yield "fi_info -p verbs", lambda: fabric_is_listed(net)
    for options, largest in FABRIC:
        yield f"fi_pingpong {options}", lambda o=options, b=largest: fabric(net, o, b)
    for transport in ("rc_v", "ud_v"):
        for row in UCX:
            if transport == "rc_v" or row[0].startswith("tag"):
                yield f"ucx_perftest {transport} {row[0]} {row[1]}", lambda t=transport, r=row: ucx(net, t, *r)
    program = os.path.join(folder, "ranks")
    yield "mpicc", lambda: subprocess.run(["mpicc", "-O1", "-Wall", "-o", program, os.path.join(HERE, "ranks.c")],
                                          check=True)
    for layer in LAYERS:
        yield f"mpirun -np {RANKS}, {layer}", lambda where=layer: mpi(net, where, program)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default="")
    only = ap.parse_args().only
    net = Net()
    with tempfile.TemporaryDirectory(prefix="unic-mpi-") as folder:
        try:
            return functions.run([(name, run) for name, run in cases(net, folder) if only in name or name == "mpicc"])
        finally:
            net.end()


if __name__ == "__main__":
    sys.exit(main())
