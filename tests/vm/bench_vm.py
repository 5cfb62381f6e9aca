#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make bench-vm`: what the Linux module costs, each figure beside its yardstick of
the same guest, taken in turns: processors are emulated, and the machine drifts, so
ratios are the figures. Writes build/bench/vm.json and prints a table.

What takes microseconds is measured with the guest's processor on one core, the
NIC on another, both with real-time priority if it is permitted. The NIC stays
awake for 200 us after a command instead of 20, because a process on an emulated
processor takes some ten times as long between two commands.

    bench_vm.py [--board soft|virt] [--rounds N] [--only PART ...]
"""
import argparse
import contextlib
import glob
import json
import os
import statistics
import sys
import tempfile

import pair
import vm_blk
from hosts import BIN, IP, ROOT, Failure

sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import record  # noqa: E402

OUT = os.path.join(ROOT, "build", "bench")
NBD = "/dev/nbd0"
SECONDS = 1
DISK_ROUNDS = 3  # these take longest
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
                *(os.path.join(BIN, p) for p in ("calls", "costs", "rxe")),
                "rdma")
    MODULES = (*vm_blk.Blk.MODULES, "nbd", "rdma_rxe", "ib_uverbs",
               "crc32_generic")
    FILES = tuple((path, path) for path in RXE_FILES)

    def __init__(self, board, tmp, cpus=1):
        super().__init__(board, tmp, cpus)
        if board == "soft":
            self.nic_options = ("--spin", "200")

    def start_nbd(self):
        """Start nbd on a file of the same size in the guest's own memory."""
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
                  for node in (vm_blk.NODE, NBD)]
                 for _ in range(min(rounds, DISK_ROUNDS))]
        rows.append(row(f"unicblk / nbd: {name}", unit, pairs))
    b.remove()
    return rows


@contextlib.contextmanager
def undisturbed(b):
    """Guest and NIC run before all others; with one guest processor, each of
    them on a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    threads = [(int(thread), core)
               for pid, core in ((b.guest.emulator(), cores[0]),
                                 (b.nics[0].child.pid, cores[-1]))
               for thread in os.listdir(f"/proc/{pid}/task")]
    try:
        for thread, core in threads:
            if b.cpus == 1:
                os.sched_setaffinity(thread, {core})
            with contextlib.suppress(PermissionError):
                os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(1))
        yield
    finally:
        for thread, _ in threads:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.sched_setscheduler(thread, os.SCHED_OTHER,
                                      os.sched_param(0))
                os.sched_setaffinity(thread, cores)


# name in the output of `costs`: name in the table
COSTS = {
    "reg-1": "register + deregister 4 KiB / io_uring fixed buffer",
    "reg-16": "... 64 KiB / the same",
    "reg-256": "... 1 MiB / the same",
    "reg-asleep": "... 4 KiB after a pause, NIC asleep / the same",
    "reg-kernel": "  of 4 KiB: two requests that the driver refuses",
    "reg-nic": "  of 4 KiB: the NIC's share of two commands",
    "call": "command to the NIC and back / cache line and back",
    "upcall": "region asked back, seen in poll() / eventfd",
}


def medians(b, command):
    """Figures in us of a program that prints lines of name and nanoseconds."""
    return {line.split()[0]: [int(n) / 1000 for n in line.split()[1:]]
            for line in b.guest.run(command, 60).splitlines()
            if line[:6] != "costs:"}


def costs(b, rounds, *parts):
    """What a process pays; see costs.c."""
    with undisturbed(b):
        runs = [medians(b, f"costs {pair.NODE} {' '.join(parts)}")
                for _ in range(rounds)]
    return [row(text, "us", [r[key] for r in runs])
            for key, text in COSTS.items() if key in runs[0]]


def registrations(b, rounds):
    """Beside rdma_rxe, Linux's RDMA in software; see rxe.c."""
    b.guest.run("modprobe -a crc32_generic ib_uverbs rdma_rxe; "
                "rdma link add rxe0 type rxe netdev lo")
    with undisturbed(b):
        runs = [(medians(b, f"costs {pair.NODE} reg"), medians(b, "rxe"))
                for _ in range(rounds)]
    return [row(f"{COSTS[key].split(' / ')[0]} / rdma_rxe", "us",
                [[ours[key][0], theirs[key][0]] for ours, theirs in runs])
            for key in runs[0][1]]


def calls(b, rounds):
    """System calls of messages to the other host; see calls.c."""
    b.start("target", "calls", "target", b.socket(1), show=False)\
        .expect("ready")
    for line in b.guest.run(f"calls {pair.NODE} {IP[1]}", 60).splitlines()[:-1]:
        print(line)
    return []


# name: (processors of the guest, what is measured there)
PARTS = {
    "reg": (1, lambda b, rounds: costs(b, rounds, "reg")),
    "rxe": (1, registrations),
    "upcall": (1, lambda b, rounds: costs(b, rounds, "upcall")),
    "calls": (1, calls),
    "disks": (1, disks),
    "call": (2, lambda b, rounds: costs(b, rounds, "call")),
}


def show(rows):
    print(f"{'':<52}{'ours':>10}{'yardstick':>11}{'ratio':>8}")
    for r in rows:
        print(f"{r['what']:<52}{r['ours']:>10.1f}{r['yardstick']:>11.1f}"
              f"{r['ratio']:>8.2f}  {r['unit']}")


def measure(b, parts, rounds):
    try:
        b.begin()
        return [r for part in parts for r in part(b, rounds)]
    finally:
        b.end()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("--board", choices=("soft", "virt"), default="soft")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", action="append", choices=PARTS)
    o = p.parse_args()
    rows = []
    for cpus in (1, 2):
        parts = [part for name, (n, part) in PARTS.items()
                 if n == cpus and name in (o.only or PARTS)]
        with tempfile.TemporaryDirectory(prefix="unic-bench-") as tmp:
            try:
                if parts:
                    rows += measure(Bench(o.board, tmp, cpus), parts, o.rounds)
            except Failure as e:
                sys.exit(f"bench-vm: {e}")
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "vm.json"), "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=1)
    if not o.only:
        record.table("bench-vm", "all", ("", "module", "yardstick", "ratio"), [
            (r["what"], f"{r['ours']:,.1f} {r['unit']}", f"{r['yardstick']:,.1f} {r['unit']}",
             f"{r['ratio']:.2f}") for r in rows])
    show(rows)
    print("bench-vm: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
