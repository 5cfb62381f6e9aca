#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make bench-vm`: what the Linux module costs, each figure beside its yardstick of
the same guest, taken in turns: processors are emulated, and the machine drifts, so
ratios are the figures. Writes build/bench/vm.json and prints a table.

    bench_vm.py [--board soft|virt] [--rounds N]
"""
import argparse
import glob
import json
import os
import statistics
import sys
import tempfile


import pair
import vm_blk
from hosts import BIN, ROOT, Failure

OUT = os.path.join(ROOT, "build", "bench")
NBD = "/dev/nbd0"
SECONDS = 2
# name, unit, options of fio, the figure in its report
DISK_CASES = (
    ("4 KiB random read, one at a time", "us",
     "--rw=randread --bs=4k --iodepth=1",
     lambda job: job["read"]["lat_ns"]["mean"] / 1000),
    ("4 KiB random read, 16 at a time", "IOPS",
     "--rw=randread --bs=4k --iodepth=16", lambda job: job["read"]["iops"]),
    ("4 KiB random write, one at a time", "us",
     "--rw=randwrite --bs=4k --iodepth=1",
     lambda job: job["write"]["lat_ns"]["mean"] / 1000),
    ("64 KiB reads, 16 at a time", "MB/s",
     "--rw=read --bs=64k --iodepth=16", lambda job: job["read"]["bw"] / 1000),
    ("64 KiB writes, 16 at a time", "MB/s",
     "--rw=write --bs=64k --iodepth=16", lambda job: job["write"]["bw"] / 1000),
)


# How libibverbs finds the library for its device.
RXE_FILES = ("/etc/libibverbs.d/rxe.driver",
             *glob.glob("/usr/lib/*/libibverbs/librxe-*.so"))


class Bench(vm_blk.Blk):
    PROGRAMS = (*vm_blk.Blk.PROGRAMS, "nbd-server", "nbd-client",
                os.path.join(BIN, "costs"), os.path.join(BIN, "rxe"), "rdma")
    MODULES = (*vm_blk.Blk.MODULES, "nbd", "rdma_rxe", "ib_uverbs",
               "crc32_generic")
    FILES = tuple((path, path) for path in RXE_FILES)

    def start_nbd(self):
        """A file of as many bytes in the guest's own memory."""
        self.guest.run("ifconfig lo 127.0.0.1 up; modprobe nbd nbds_max=1")
        self.guest.run(f"truncate -s {vm_blk.DISK} /run/nbd.img")
        self.guest.run("nbd-server 127.0.0.1@10809 /run/nbd.img -C /dev/null",
                       20)
        self.guest.run(f"/bin/nbd-client 127.0.0.1 10809 {NBD} -b 512", 20)

    def disk(self, node, options, figure):
        return figure(self.fio(
            f"--name=bench --direct=1 --ioengine=libaio --size={vm_blk.DISK} "
            f"--runtime={SECONDS} --time_based {options}", node=node))


def row(what, unit, pairs):
    """The ratio is the median of those of the rounds: ours and the yardstick had
    the same machine in each, but not from one to the next."""
    return {"what": what, "unit": unit, "all": pairs,
            "ours": statistics.median(p[0] for p in pairs),
            "yardstick": statistics.median(p[1] for p in pairs),
            "ratio": statistics.median(p[0] / p[1] for p in pairs)}


def disks(b, rounds):
    """unicblk beside nbd over loopback."""
    b.add()
    b.start_nbd()
    for node in (vm_blk.NODE, NBD):  # every block is there, on both
        b.fio(f"--name=fill --rw=write --bs=64k --direct=1 "
              f"--size={vm_blk.DISK}", node=node)
    rows = []
    for name, unit, options, figure in DISK_CASES:
        pairs = [[b.disk(node, options, figure)
                  for node in (vm_blk.NODE, NBD)] for _ in range(rounds)]
        rows.append(row(f"unicblk / nbd: {name}", unit, pairs))
    b.remove()
    return rows


# what `costs` calls it, and we
COSTS = {
    "reg-1": "register + deregister 4 KiB / io_uring fixed buffer",
    "reg-16": "... 64 KiB",
    "reg-256": "... 1 MiB",
    "call": "command to the NIC and back / cache line and back",
    "upcall": "region asked back, seen in poll() / eventfd",
}


def costs(b, rounds):
    """What a process pays; see costs.c."""
    runs = [dict((line.split()[0], [int(n) for n in line.split()[1:]])
                 for line in b.guest.run(f"costs {pair.NODE}", 60).splitlines()
                 if line[:6] != "costs:") for _ in range(rounds)]
    return [row(text, "us", [[ns / 1000 for ns in r[key]] for r in runs])
            for key, text in COSTS.items() if key in runs[0]]


def registrations(b, rounds):
    """Beside rdma_rxe, Linux's RDMA in software; see rxe.c."""
    b.guest.run("modprobe -a crc32_generic ib_uverbs rdma_rxe; "
                "rdma link add rxe0 type rxe netdev lo")
    ours, theirs = [], []
    for _ in range(rounds):
        for out, command in ((ours, f"costs {pair.NODE}"), (theirs, "rxe")):
            out.append({line.split()[0]: int(line.split()[1]) / 1000
                        for line in b.guest.run(command, 60).splitlines()
                        if line.startswith("reg-")})
    return [row(f"{COSTS[key].split(' / ')[0]} / rdma_rxe", "us",
                [[a[key], b[key]] for a, b in zip(ours, theirs)])
            for key in ours[0]]


PARTS = (costs, disks, registrations)


def show(rows):
    print(f"{'':<52}{'ours':>10}{'yardstick':>11}{'ratio':>8}")
    for r in rows:
        print(f"{r['what']:<52}{r['ours']:>10.1f}{r['yardstick']:>11.1f}"
              f"{r['ratio']:>8.2f}  {r['unit']}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=("soft", "virt"), default="soft")
    p.add_argument("--rounds", type=int, default=5)
    o = p.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
        b = Bench(o.board, tmp)
        try:
            b.begin()
            for part in PARTS:
                rows += part(b, o.rounds)
        except Failure as e:
            sys.exit(f"bench-vm: {e}")
        finally:
            b.end()
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "vm.json"), "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=1)
    show(rows)
    print("bench-vm: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
