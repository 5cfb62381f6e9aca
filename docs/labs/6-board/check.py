#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check.py [FOLDER] - is the board of chip.c a NIC that joins? FOLDER is below the root
of the tree. The board is QEMU's lm3s6965evb."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

IMAGE = "build/template/lab_board.elf"
QEMU = ("qemu-system-arm", "-M", "lm3s6965evb", "-accel", "tcg", "-nodefaults", "-display", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel", os.path.join(lab.ROOT, IMAGE))


def make(chip):
    image = os.path.join(lab.ROOT, IMAGE)
    if os.path.exists(image):
        os.remove(image)  # of another answer
    done = subprocess.run(["make", "-s", "-C", lab.ROOT, "BOARD=template", "LAB_CHIP=" + chip, IMAGE],
                          check=False, capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})
    if done.returncode:
        lab.broken("chip.c does not compile or link:\n" + done.stdout + done.stderr)


def words(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def until(what, true):
    end = time.monotonic() + lab.hosts.PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise lab.Failure(f"not within {lab.hosts.PATIENCE_S} s: {what}")
        time.sleep(0.05)


def check(it):
    make(os.path.relpath(it.answer("chip.c"), lab.ROOT))
    uart, console = (os.path.join(it.tmp, n) for n in ("uart", "console"))
    nic = it.start(*QEMU, "-chardev", f"socket,id=l,path={uart},server=on,wait=off", "-serial",
                   "chardev:l", "-serial", f"file:{console}")

    def said():
        return words(console) + "\n".join(nic.lines)

    until("a word on the console", lambda: re.search(r"unic: (ready|not written|crashed)", said()))
    missing = re.search(r"not written: (\w+\(\))", said())
    lab.need(not missing, "chip_start() ends", f"{missing and missing[1]} is not written")
    lab.need("unic: ready" in words(console), "the console is the second UART: " + "unic: ready",
             "no \"unic: ready\" on the second UART; elsewhere: " + said())
    it.rig.start_bus(0)
    driver = it.rig.start("unicd", "unicd", "--bus", it.rig.path("bus0"), "--socket", it.rig.socket(0),
                          "--link", uart, "--baud", "115200", show=False)
    until("the NIC joins, or stops",
          lambda: "not written" in said() or any("unicd: ready" in x for x in driver.lines))
    missing = re.search(r"not written: (\w+\(\))", said())
    lab.need(not missing, "the NIC has joined", f"{missing and missing[1]} is not written")
    info = it.rig.ctl(0, "info")
    lab.need(info["nic"] == "ready", f"it is ready, with {info['tlb_entries']} entries",
             f"it is {info['nic']}")


lab.main(__file__, check)
