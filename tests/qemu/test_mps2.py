#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The board mps2-an385 in QEMU, without the core: shared memory, doorbells, link,
sleep, and what the MPU guards. usage: test_mps2.py [IMAGE]

This script is the host: it has the memory file, the other end of the serial port
and the other end of the wire.
"""
import mmap
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 60
IMAGE = "build/mps2-an385/mps2_selftest.elf"
RAM, BAR, SLOT, SLOTS = 16 << 20, 2 << 20, 2 << 20, 7
TALK, CRASH = 0xd0000, 0xc0000
STATE, CRASHED, MAGIC = 116, 3, 0x43494e55  # abi/unic_mbox.h, unic_stats.h
RINGS = 500
GUARD = 0x20000000
(ASSERT, UNDEF, PREFETCH, DATA, STACK) = range(1, 6)
# What goes wrong, the kind of crash, the addresses that it may name.
FAULTS = [("code", DATA, (0, 0x400000)), ("table", DATA, (4, 5)),
          ("data", PREFETCH, None), ("shared", PREFETCH, None),
          ("guard", STACK, (GUARD + 0xffc, GUARD + 0xffd)),
          ("stack", STACK, (GUARD, GUARD + 0x1000)),
          ("wild", DATA, (0x60000000, 0x60000001)), ("panic", ASSERT, None)]


class Machine:
    """QEMU with the selftest, in a folder of its own."""

    def __init__(self, image, how):
        self.dir = tempfile.mkdtemp(prefix="unic-mps2-")
        path = os.path.join(self.dir, "ram")
        with open(path, "w+b") as f:
            f.truncate(RAM)
            self.ram = mmap.mmap(f.fileno(), RAM)
        for k in range(SLOTS):
            self.put(BAR + k * SLOT, 0x57000000 + k)
            self.put(BAR + (k + 1) * SLOT - 4, 0x58000000 + k)
        self.bells, theirs = socket.socketpair()
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.wire.bind(os.path.join(self.dir, "host"))
        self.qemu = subprocess.Popen(
            ["qemu-system-arm", "-M", "mps2-an385,memory-backend=shared",
             "-accel", "tcg", "-nodefaults", "-display", "none",
             "-object", f"memory-backend-file,id=shared,share=on,size={RAM},"
             f"mem-path={path}",
             "-serial", f"file:{self.dir}/console",
             "-chardev", f"socket,id=bells,fd={theirs.fileno()}",
             "-serial", "chardev:bells",
             "-netdev", "dgram,id=net,local.type=unix,"
             f"local.path={self.dir}/nic,remote.type=unix,"
             f"remote.path={self.dir}/host", "-net", "nic,netdev=net",
             "-semihosting-config",
             f"enable=on,target=native,arg=selftest,arg={how}",
             "-kernel", image], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            pass_fds=[theirs.fileno()])
        theirs.close()

    def put(self, at, value):
        struct.pack_into("<I", self.ram, at, value)

    def get(self, at):
        return struct.unpack_from("<I", self.ram, at)[0]

    def await_word(self, at, value, seconds=PATIENCE_S):
        until = time.monotonic() + seconds
        while self.get(at) != value:
            if time.monotonic() > until or self.qemu.poll() is not None:
                return False
            time.sleep(0)
        return True

    def said(self):
        with open(f"{self.dir}/console", encoding="utf-8") as f:
            return f.read()

    def says(self, text):
        """Does the image print this line before long?"""
        until = time.monotonic() + PATIENCE_S
        while text not in self.said():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def echo(self):
        """Send every frame back, the addresses swapped."""
        while True:
            frame = self.wire.recv(2048)
            if not frame:
                return
            self.wire.sendto(frame[6:12] + frame[:6] + frame[12:],
                             f"{self.dir}/nic")

    def close(self):
        self.qemu.kill()
        self.qemu.wait()
        self.bells.close()
        self.wire.close()
        self.ram.close()
        shutil.rmtree(self.dir)


def check(results, name, good, why=""):
    results.append(good)
    print(f"{'ok' if good else 'FAIL'} {name} {'' if good else why}")


def ring_all(m):
    """Ring as soon as the last ring was seen: mostly while the NIC falls
    asleep."""
    if not m.await_word(TALK + 4, 1):
        return False
    for n in range(1, RINGS + 1):
        m.put(TALK, n)
        m.bells.send(bytes([n % 8]))
        if not m.await_word(TALK + 8, n):
            return False
    return True


def whole(image, results):
    m = Machine(image, "none")
    try:
        threading.Thread(target=m.echo, daemon=True).start()
        check(results, "every doorbell of the host is heard", ring_all(m))
        m.bells.settimeout(PATIENCE_S)
        got = b""
        while len(got) < 8 and (more := m.bells.recv(16)):
            got += more
        check(results, "every doorbell of the NIC is heard",
              sorted(got) == list(range(8)), got)
        out, _ = m.qemu.communicate(timeout=60)
        for line in out.splitlines():
            if line.startswith(("ok ", "FAIL ")):
                check(results, line.split(" ", 1)[1], line[0] == "o")
            else:
                print("   ", line)
        check(results, "the image ends well", m.qemu.returncode == 0,
              m.qemu.returncode)
    finally:
        m.close()


def fault(image, results, how, kind, addrs):
    m = Machine(image, how)
    try:
        m.bells.settimeout(PATIENCE_S)
        bell = m.bells.recv(1)
        rec = struct.unpack_from("<4I", m.ram, CRASH)
        addr = m.get(CRASH + 80 + 17 * 4 + 4)
        check(results, f"{how}: the record says what it was",
              rec[0] == MAGIC and rec[1] == kind and rec[3] == 4711 and
              m.get(STATE) == CRASHED and
              (not addrs or addrs[0] <= addr < addrs[1]),
              f"{rec} {addr:#x}")
        check(results, f"{how}: the driver is rung, the console says it",
              bell == b"\0" and m.says(f"kind={kind:08x}"), bell)
    except socket.timeout:
        check(results, f"{how}: the driver is rung", False, m.said())
    finally:
        m.close()


def main():
    image = sys.argv[1] if len(sys.argv) > 1 else IMAGE
    results = []
    whole(image, results)
    for how, kind, addrs in FAULTS:
        fault(image, results, how, kind, addrs)
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
