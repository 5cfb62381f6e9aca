#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""hal/cortexm on QEMU's lm3s6965evb: clock, sleep, MPU, crash records.

usage: test_cortexm.py [IMAGE]     (default build/lm3s6965evb/cortexm_selftest.elf)

Each run of the image ends in another fault; its exit code says which kind the
crash record named (16 + enum unic_crash_kind).
"""
import subprocess
import sys

IMAGE = "build/lm3s6965evb/cortexm_selftest.elf"
(ASSERT, UNDEF, PREFETCH, DATA, STACK) = range(1, 6)
RUNS = [("none", 0), ("code", 16 + DATA), ("data", 16 + PREFETCH),
        ("wild", 16 + DATA), ("stack", 16 + STACK), ("undef", 16 + UNDEF),
        ("panic", 16 + ASSERT)]


def main():
    image = sys.argv[1] if len(sys.argv) > 1 else IMAGE
    failed = 0
    for how, want in RUNS:
        done = subprocess.run(
            ["qemu-system-arm", "-M", "lm3s6965evb", "-accel", "tcg",
             "-icount", "shift=6,sleep=off", "-nodefaults", "-display", "none", "-semihosting-config",
             f"enable=on,target=native,arg=selftest,arg={how}",
             "-kernel", image], capture_output=True, text=True, timeout=60,
            check=False)
        good = done.returncode == want
        failed += not good
        print(f"{'ok' if good else 'FAIL'} {how}: code {done.returncode}, "
              f"expected {want}")
        if not good or "FAIL" in done.stderr:
            print(done.stderr)
    print(f"{len(RUNS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
