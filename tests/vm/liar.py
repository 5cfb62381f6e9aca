#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A device that lies: beside a NIC that works, it writes into the mailbox
memory, the NIC pages of process slots and the driver's own queues what no NIC
would write, and rings the driver. NIC and liar use the same rings, so lies come
in all states of the driver.

    liar.py --bus DIR [--lies N] [--seed N] [--every LIES_PER_RING]
            [--queues] [--pause SECONDS]

--queues: lies in the driver's own queues alone, and only those that a driver
can detect. Prints "found" when it knows these queues, and begins after a line
on stdin. The last line says how many lies were told, by kind.
"""
import argparse
import collections
import mmap
import os
import random
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "qemu"))
from hosts import run_nic  # noqa: E402
from queue_lies import Queues  # noqa: E402
from shm_peers import IvshmemClient  # noqa: E402

# abi/unic_mbox.h: what the NIC writes. (offset, bytes a record, records)
INFO, INDICES, COMMANDS, STATS, TRACE, CRASH = \
    0x0, 0x1000, 0x4000, 0x60000, 0x80000, 0xc0000
INFO_BYTES, INFO_STATIC = 0xe0, 0x70  # the NIC writes that once
COMMAND_TAIL, COMMAND_BYTES, COMMAND_ENTRIES = 0x2000, 64, 64
COMPLETIONS = (0x5000, 64, 64)
EVENTS = (0x8000, 64, 512)
DATAGRAMS = (0x10000, 512, 64)
DROPS = (0x100000, 16, 8192)
RINGS = (COMPLETIONS, EVENTS, DATAGRAMS, DROPS)
# Tail of each ring in struct unic_nic_idx: cache lines 1, 2, 3 and 5.
TAILS = {COMPLETIONS: 64, EVENTS: 128, DATAGRAMS: 192, DROPS: 320}
NIC_PAGE = 4096  # behind the doorbell page
EDGES = (0, 1, 2, 63, 64, 65, 511, 512, 0x7fffffff, 0x80000000, 0xfffffffe,
         0xffffffff)


class Liar:
    def __init__(self, directory, seed, queues=False):
        """queues: lie in the driver's own queues alone."""
        bus = run_nic.bus_info(directory)
        self.peer = IvshmemClient(bus["ivshmem"], bus["vectors"])
        self.bar, self.vectors = self.peer.map, bus["vectors"]
        with open(run_nic.windows(bus)[0], "r+b") as f:
            self.ram = mmap.mmap(f.fileno(), bus["slot_bytes"])
        self.random = random.Random(seed)
        self.told = collections.Counter()
        self.truth = self.bar[INFO:INFO + INFO_STATIC]
        self.queues, self.seen = Queues(self), 0
        self.kinds = [(self.queues, kind, n) for kind, n in Queues.KINDS]
        if not queues:
            self.kinds += [(self.queues, kind, n)
                           for kind, n in Queues.TRUE_TO_LIFE] + \
                [(self, kind, n) for kind, n in self.KINDS]

    def watch(self):
        """Look at the commands that have come, and at their completions."""
        tail = self.get(self.bar, COMMAND_TAIL)
        first = self.seen if self.seen <= tail else 0  # the ring began anew
        for n in range(max(first, tail - COMMAND_ENTRIES), tail):
            at = COMMANDS + n % COMMAND_ENTRIES * COMMAND_BYTES
            self.queues.command(self.bar[at:at + COMMAND_BYTES])
        self.seen = tail
        base, size, count = COMPLETIONS
        if self.queues.made:
            for at in range(base, base + size * count, size):
                self.queues.completion(self.bar[at:at + size])

    def ring(self, vector):
        self.peer.ring(0, vector)

    def word(self):
        pick = self.random.random()
        if pick < 0.4:
            return self.random.choice(EDGES)
        return self.random.getrandbits(8 if pick < 0.6 else 32)

    def put(self, memory, at, value):
        memory[at:at + 4] = struct.pack("<I", value & 0xffffffff)

    def get(self, memory, at):
        return struct.unpack_from("<I", memory, at)[0]

    def info(self):
        """A wrong word in the info page; without its magic the NIC is gone."""
        self.put(self.bar, INFO + 4 * self.random.randrange(INFO_BYTES // 4),
                 self.word())

    def index(self):
        """A wrong tail, mostly nearly right, which is harder to detect."""
        ring = self.random.choice(RINGS)
        at = INDICES + TAILS[ring]
        step = self.random.choice((1, 1, 1, 2, -1, ring[2], self.word()))
        self.put(self.bar, at, self.get(self.bar, at) + step)

    def any_index(self):
        self.put(self.bar, INDICES + 64 * self.random.randrange(6), self.word())

    def record(self):
        """A word of a record, those next in turn more than others."""
        ring = self.random.choice(RINGS)
        base, size, count = ring
        turn = self.get(self.bar, INDICES + TAILS[ring])
        n = (turn + self.random.randrange(-2, 3)) % count \
            if self.random.random() < 0.7 else self.random.randrange(count)
        self.put(self.bar, base + n * size + 4 * self.random.randrange(size // 4),
                 self.word())

    def replay(self):
        """A record once more, with the index behind it."""
        ring = self.random.choice(RINGS)
        base, size, count = ring
        at = INDICES + TAILS[ring]
        turn = self.get(self.bar, at)
        old = base + self.random.randrange(count) * size
        new = base + turn % count * size
        self.bar[new:new + size] = self.bar[old:old + size]
        self.put(self.bar, at, turn + 1)

    def made_up(self):
        """A completion for a command that is really under way."""
        turn = self.get(self.bar, INDICES + 64)
        base, size, count = COMPLETIONS
        command = COMMANDS + self.random.randrange(COMMAND_ENTRIES) * \
            COMMAND_BYTES
        at = base + turn % count * size
        self.bar[at:at + size] = self.bar[command:command + size]
        for _ in range(self.random.randrange(3)):
            self.put(self.bar, at + 4 * self.random.randrange(size // 4),
                     self.word())
        self.put(self.bar, INDICES + 64, turn + 1)

    def page(self):
        """In the NIC page of a process, whose address a command told."""
        at = self.random.choice([0, *self.queues.doorbells.values()]) + NIC_PAGE
        if at == NIC_PAGE or at % 4096 or at + NIC_PAGE > len(self.ram):
            return False
        self.put(self.ram, at + 4 * self.random.randrange(64), self.word())
        return True

    def report(self):
        """A wrong word in what is only shown: counters, trace, crash record."""
        base = self.random.choice((STATS, TRACE, CRASH))
        self.put(self.bar, base + 4 * self.random.randrange(1024), self.word())

    KINDS = ((info, 2), (index, 20), (any_index, 5), (record, 35), (replay, 15),
             (made_up, 15), (page, 5), (report, 3))

    def find(self):
        """Wait until the driver's own queues are known."""
        while not self.queues.known():
            self.watch()
            time.sleep(0.001)

    def tell(self, lies, every, pause):
        weights = [n for _, _, n in self.kinds]
        while (n := sum(self.told.values())) < lies:
            self.watch()
            for where, kind, _ in self.random.choices(self.kinds, weights,
                                                      k=every):
                if where is self.queues and not self.queues.known():
                    continue
                if kind(where) is not False:
                    self.told[kind.__name__] += 1
            self.ring(self.random.randrange(self.vectors))
            if n % (50 * every) < every:  # let the driver recover
                self.bar[INFO:INFO + INFO_STATIC] = self.truth
                time.sleep(0.01)
            time.sleep(pause)
        self.bar[INFO:INFO + INFO_STATIC] = self.truth


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--bus", required=True)
    p.add_argument("--lies", type=int, default=1000000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=20)
    p.add_argument("--queues", action="store_true")
    p.add_argument("--pause", type=float, default=0)
    o = p.parse_args()
    liar = Liar(o.bus, o.seed, o.queues)
    print("watches", flush=True)
    liar.find()
    print("found", flush=True)
    sys.stdin.readline()
    liar.tell(o.lies, o.every, o.pause)
    print(f"told {sum(liar.told.values())} lies:",
          " ".join(f"{k} {n}" for k, n in sorted(liar.told.items())))
    liar.peer.close()


if __name__ == "__main__":
    main()
