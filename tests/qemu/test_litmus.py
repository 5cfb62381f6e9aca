#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""test_litmus.py [SECONDS] - do barriers of the guest hold against the host?

QEMU's TCG leaves barriers out when the machine can have one CPU only. Every
launcher therefore passes -smp 1,maxcpus=2, and this test fails when that (or a
new QEMU) stops being enough: a bare-metal guest and a host process run the
store, full barrier, load of the mailbox against each other through shared RAM
(tests/qemu/litmus_*.c), and not one round may lose the doorbell. That such a loss
would be seen is tried first: with -smp 1 some are lost.
"""
import os
import re
import subprocess
import sys
import tempfile

GUEST = "build/target/bin/litmus.elf"
HOST = "build/bin/litmus-host"
RAM_BYTES = 128 << 20
MIN_ROUNDS, TRIES = 20000, 20
QEMU = ["qemu-system-arm", "-accel", "tcg", "-cpu", "cortex-a15", "-m", "128M",
        "-M", "virt,highmem=off,gic-version=2,memory-backend=ram",
        "-nodefaults", "-display", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel", GUEST]


def measure(smp, seconds):
    """(rounds, lost) with this -smp."""
    with tempfile.NamedTemporaryFile(prefix="unic-litmus-",
                                     dir=memory_folder()) as ram:
        ram.truncate(RAM_BYTES)
        backend = (f"memory-backend-file,id=ram,size={RAM_BYTES},"
                   f"mem-path={ram.name},share=on")
        guest = subprocess.Popen(QEMU + ["-smp", smp, "-object", backend])
        try:
            host = subprocess.run([HOST, ram.name, str(seconds)], text=True,
                                  capture_output=True, timeout=seconds + 60,
                                  check=False)
            if host.returncode == 0:
                guest.wait(timeout=60)
        finally:
            guest.kill()
            guest.wait()
    said = re.search(r"rounds (\d+) lost (\d+)", host.stdout)
    if not said:
        sys.exit(f"litmus-host: {host.stderr or host.stdout}")
    return int(said[1]), int(said[2])


def memory_folder():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    rounds = lost = 0
    for _ in range(TRIES):
        more, lost = measure("1", 2)
        rounds += more
        if lost:
            break
    seen = lost > 0
    print(f"-smp 1 (known to break): {lost} lost of {rounds} rounds")
    rounds = lost = 0
    for _ in range(TRIES):  # more than one on a busy machine
        more, lost = measure("1,maxcpus=2", seconds)
        rounds += more
        if lost or rounds >= MIN_ROUNDS:
            break
    print(f"-smp 1,maxcpus=2: {lost} lost of {rounds} rounds")
    enough = rounds >= MIN_ROUNDS
    if not enough:
        print(f"only {rounds} rounds, at least {MIN_ROUNDS} are needed")
    failed = (not seen) + (lost > 0) + (not enough)
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
