#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make flash` without a board: OpenOCD, its own board file and flash driver, over
a model of debug port and flash controller; what is then in the flash of the model
boots in QEMU. Power fails at some steps: the old image boots, and the next flashing
goes through.

usage: test_flash.py [FOLDER]     (default build/lm3s6965evb)
"""
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
sys.path[:0] = [os.path.join(ROOT, "tests", "qemu"),
                os.path.join(ROOT, "tools", "install")]
from test_boot import boot  # noqa: E402
import flash_image  # noqa: E402


class Bench:
    """A board that is a file between two connections."""

    def __init__(self, folder, tmp):
        self.folder, self.tmp = folder, tmp
        self.file = os.path.join(tmp, "flash")
        self.passed = self.failed = 0

    def check(self, what, good, detail=""):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok' if good else 'FAIL'} {what}{' ' + detail if detail else ''}",
              flush=True)

    def flash(self, steps=0):
        """flash.py as make flash calls it; after so many steps the power fails.
        Returns its exit code and how many steps there were."""
        socket = os.path.join(self.tmp, "jtag")
        model = subprocess.Popen(
            [os.path.join(BIN, "flash-model"), socket, self.file, str(steps)],
            text=True, stderr=subprocess.PIPE)
        while not os.path.exists(socket):
            time.sleep(0.01)
        run = subprocess.run(
            [os.path.join(ROOT, "tools", "install", "flash.py"),
             "--folder", self.folder,
             "--search", os.path.join(ROOT, "tests/flash/openocd"), "--setup",
             "lm3s6965.cpu configure -work-area-size 0"],
            env=os.environ | {"BOARD_MODEL": socket}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        model.terminate()
        words = model.communicate()[1].split()
        self.said = run.stdout
        return run.returncode, int(words[1])

    def debugged(self):
        """gdb on it (make debug PROBE=1): the first words of its flash."""
        socket = os.path.join(self.tmp, "jtag")
        words = os.path.join(self.tmp, "words")
        model = subprocess.Popen([os.path.join(BIN, "flash-model"), socket,
                                  self.file], stderr=subprocess.DEVNULL)
        while not os.path.exists(socket):
            time.sleep(0.01)
        try:
            run = subprocess.run(
                [os.path.join(ROOT, "tools", "debug", "debug.py"), "--board",
                 "lm3s6965evb", "--probe", "--search",
                 os.path.join(ROOT, "tests/flash/openocd"), "--", "-batch",
                 "-ex", f"dump binary memory {words} 0 64"],
                env=os.environ | {"BOARD_MODEL": socket}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                check=False)
        finally:
            model.terminate()
            model.wait()
        self.said = run.stdout
        if not os.path.exists(words):
            return False
        with open(words, "rb") as got, open(self.file, "rb") as flash:
            return got.read() == flash.read(64)

    def boots(self):
        flash = flash_image.Flash(b"")
        with open(self.file, "rb") as f:
            flash.bytes[:] = f.read()
        return boot(flash)

    def demo(self):
        """The bytes that were flashed, all the way."""
        run = subprocess.run(
            [os.path.join(ROOT, "tests/qemu/demo.py"), "--board",
             "lm3s6965evb", "--image", self.file], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        last = run.stdout.splitlines()[-1:]
        self.check("and that firmware passes the demo", run.returncode == 0,
                   "".join(last))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/lm3s6965evb"
    with tempfile.TemporaryDirectory(prefix="unic-flash-") as tmp:
        b = Bench(folder, tmp)
        code, steps = b.flash()
        b.check("an empty board is flashed", code == 0, b.said if code else "")
        b.check("and boots slot A", b.boots() == "a")
        good = b.debugged()
        b.check("gdb reads it", good, "" if good else b.said)
        code, steps = b.flash()
        b.check("an update goes through", code == 0, b.said if code else "")
        b.check("and boots slot B", b.boots() == "b", f"{steps} steps")
        rnd = random.Random(1)
        # OpenOCD fills the page of the record with ones: 256 words, of which the
        # record is five
        for cut in (rnd.randrange(1, steps - 256), steps - 252):
            code, _ = b.flash(cut)
            b.check(f"power fails at step {cut}: reported", code != 0)
            b.check("the old image boots", b.boots() == "b", b.boots())
        code, _ = b.flash()
        b.check("the next update goes through", code == 0,
                b.said if code else "")
        b.check("and boots slot A", b.boots() == "a")
        b.demo()
        print(f"{b.passed} passed, {b.failed} failed")
    return 1 if b.failed else 0


if __name__ == "__main__":
    sys.exit(main())
