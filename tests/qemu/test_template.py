#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The board to copy (docs/PORTING.md), on QEMU's lm3s6965evb: unchanged it
names what is not written; with its five functions written it is a NIC that
joins.

    test_template.py
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from hosts import BIN, ROOT, Failure, Process, Timeline

QEMU = ["qemu-system-arm", "-M", "lm3s6965evb", "-accel", "tcg", "-nodefaults",
        "-display", "none"]
AS_IT_IS = os.path.join(ROOT, "build/template/unic.elf")
WRITTEN = os.path.join(ROOT, "build/template/template_board.elf")
PATIENCE_S = 60


def names_what_is_missing(line, tmp):
    nic = Process(line, "nic", [*QEMU, "-semihosting-config",
                                "enable=on,target=native", "-kernel",
                                AS_IT_IS], False)
    try:
        nic.expect(r"not written: chip_start\(\) of hal/template", PATIENCE_S)
        nic.expect(r"unic: crashed: .* at chip_start ", PATIENCE_S)
    finally:
        nic.end()


def joins_when_written(line, tmp):
    uart, console = (os.path.join(tmp, n) for n in ("uart", "console"))
    running = [Process(line, "bus", [os.path.join(BIN, "unic-bus"), "--dir",
                                     tmp, "--slots", "2"], False)]
    try:
        running[0].expect("ready")
        running.append(Process(line, "nic", [
            *QEMU, "-chardev", f"socket,id=l,path={uart},server=on,wait=off",
            "-serial", "chardev:l", "-serial", f"file:{console}", "-kernel",
            WRITTEN], False))
        until = time.monotonic() + PATIENCE_S
        while not os.path.exists(uart) and time.monotonic() < until:
            time.sleep(0.05)
        driver = Process(line, "unicd", [os.path.join(BIN, "unicd"), "--bus",
                                         tmp, "--link", uart, "--baud",
                                         "115200"], False)
        running.append(driver)
        driver.expect("unicd: ready", PATIENCE_S)
        r = subprocess.run([os.path.join(BIN, "unicctl"), "--socket",
                            os.path.join(tmp, "unicd.sock"), "info"],
                           capture_output=True, text=True, timeout=PATIENCE_S,
                           check=False)
        if "ready" not in r.stdout:
            raise Failure(f"unicctl info: {r.stdout}{r.stderr}")
        with open(console, encoding="utf-8") as f:
            if "unic: ready" not in f.read():
                raise Failure("no words on the console")
    finally:
        for p in reversed(running):
            p.end()


def main():
    failed = 0
    for test in (names_what_is_missing, joins_when_written):
        tmp = tempfile.mkdtemp(prefix="unic-template-")
        try:
            test(Timeline(), tmp)
            print(f"ok {test.__name__}")
        except Failure as e:
            failed += 1
            print(f"FAIL {test.__name__}: {e}")
        finally:
            shutil.rmtree(tmp, ignore_errors=True)
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
