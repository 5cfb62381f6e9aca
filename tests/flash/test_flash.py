#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make flash` without a board: OpenOCD, its own board file and flash driver, over the
model of the board (tests/board_model), whose firmware runs, with its MPU and its
watchdog, when OpenOCD comes. The flash algorithm of OpenOCD is executed. Power fails
at every kind of step and leaves marginal bits: the old image boots, whatever they are
read as, and the next flashing goes through.

usage: test_flash.py [--board BOARD] [--quick] [FOLDER]
    (default lm3s6965evb, build/BOARD)

--quick: an empty board, and an update of one that runs; no more, and of another board
than the LM3S6965 nothing else is known.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
sys.path[:0] = [os.path.join(ROOT, "tools", "install"), os.path.join(ROOT, "qemu")]

import board_file  # noqa: E402
import run_nic  # noqa: E402

READINGS = 3  # of marginal bits
PATIENCE_S = 60


class Model:
    """A board that is switched on, and what it says."""

    def __init__(self, bench, *options):
        self.console = os.path.join(bench.tmp, "console")
        self.jtag = os.path.join(bench.tmp, "jtag")
        for path in (self.console, self.jtag):
            if os.path.exists(path):
                os.unlink(path)
        self.process = subprocess.Popen(
            [os.path.join(BIN, "board-model"), "--chip", bench.chip, "--flash",
             bench.file, "--console", self.console, *options], text=True,
            stderr=subprocess.PIPE)

    def text(self):
        try:
            with open(self.console, encoding="latin-1") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def wait_for(self, done):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            if done():
                return True
            time.sleep(0.05)
        return False

    def wait(self, word):
        return self.wait_for(lambda: word in self.text())

    def wait_for_boots(self, times):
        """Starts of the boot stub since the power is on."""
        return self.wait_for(lambda: self.text().count("boot: slot") >= times)

    def end(self):
        """Off; what it complained of, and how many steps the flash did."""
        self.process.terminate()
        said = self.process.communicate()[1]
        steps = [int(line.split()[1]) for line in said.splitlines()
                 if "steps of the flash" in line]
        faults = [line for line in said.splitlines() if "fault:" in line]
        return faults, steps[0] if steps else 0


class Bench:
    """A board that is a file between two times of power."""

    def __init__(self, board, folder, tmp):
        self.board, self.chip = board, run_nic.MODELS[board][0]
        self.layout = board_file.BoardFile(board).layout
        self.folder, self.tmp = folder or f"build/{board}", tmp
        self.file = os.path.join(tmp, "flash")
        self.passed = self.failed = 0
        self.said = ""

    def check(self, what, good, detail=""):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok' if good else 'FAIL'} {what}{' ' + detail if detail else ''}",
              flush=True)

    def over_jtag(self, model, program, *options):
        run = subprocess.run(
            [os.path.join(ROOT, "tools", program), *options],
            env=os.environ | {"BOARD_MODEL": model.jtag}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
            check=False)
        self.said = run.stdout
        return run.returncode

    def flash(self, cut=0, seed=1, runs=True):
        """flash.py as make flash calls it, on a board whose firmware runs; at step
        @cut the power fails. Returns its exit code, the model's faults and steps."""
        model = Model(self, "--jtag", os.path.join(self.tmp, "jtag"), "--seed",
                      str(seed), "--power-cut", str(cut))
        if runs and not model.wait("unic: ready"):
            model.end()
            return 1, ["the board does not run"], 0
        while not os.path.exists(model.jtag):
            time.sleep(0.01)
        code = self.over_jtag(model, "install/flash.py", "--board", self.board,
                              "--folder", self.folder, "--search", os.path.join(ROOT, "tests/flash/openocd"))
        if not cut and not code and not model.wait_for_boots(1 + runs):
            self.said += "\nit does not start what was flashed"
            code = 1
        return code, *model.end()

    def flash_well(self, what, **how):
        code, faults, steps = self.flash(**how)
        self.check(what, code == 0 and not faults,
                   self.said + "\n".join(faults) if code or faults else "")
        return steps

    def debugged(self):
        """gdb on it (make debug PROBE=1): the first words of its flash."""
        words = os.path.join(self.tmp, "words")
        model = Model(self, "--jtag", os.path.join(self.tmp, "jtag"))
        while not os.path.exists(model.jtag):
            time.sleep(0.01)
        self.over_jtag(model, "debug/debug.py", "--board", self.board,
                       "--probe", "--search",
                       os.path.join(ROOT, "tests/flash/openocd"), "--", "-batch",
                       "-ex", f"dump binary memory {words} 0 64")
        model.end()
        if not os.path.exists(words):
            return False
        with open(words, "rb") as got, open(self.file, "rb") as flash:
            return got.read() == flash.read(64)

    def boots(self, seed=1):
        """The slot whose image comes up."""
        model = Model(self, "--until", "ready\n", "--for", "6000", "--free",
                      "--seed", str(seed))
        model.process.wait(PATIENCE_S)
        text = model.text()
        faults, _ = model.end()
        if faults:
            return faults[0]
        if "unic: ready" not in text:
            return f"nothing: {text[-60:]!r}"
        return {"A": "a", "B": "b"}.get(text.partition("slot ")[2][:1], text)

    def boots_always(self, what, slot):
        """Marginal bits are read as something else each time."""
        got = {self.boots(seed) for seed in range(1, READINGS + 1)}
        self.check(what, got == {slot}, "" if got == {slot} else str(got))

    def damage(self, at):
        with open(self.file, "r+b") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 0x10]))

    def demo(self):
        """The bytes that were flashed, all the way."""
        run = subprocess.run(
            [os.path.join(ROOT, "tests/qemu/demo.py"), "--board",
             self.board, "--image", self.file], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        last = run.stdout.splitlines()[-1:]
        self.check("and that firmware passes the demo", run.returncode == 0,
                   "".join(last))


def cut_power(b, steps, old):
    """At each kind of step of an update: a record's page erased, a page of the image
    erased, a word of the image, a word of the record."""
    rnd = random.Random(1)
    pages = b.layout.slot_bytes // b.layout.page
    if steps < 2 * pages:
        b.check("there are steps to cut", False, str(steps))
        return
    cuts = {"the record is erased": 1,
            "the image's pages are erased": rnd.randrange(2, 50),
            "the image is programmed": rnd.randrange(pages + 2, steps - 300),
            "the record is programmed": steps - 253}
    for seed, (what, cut) in enumerate(cuts.items()):
        code, faults, _ = b.flash(cut, seed)
        b.check(f"power fails while {what}: reported", code != 0 and not faults,
                "".join(faults))
        b.boots_always(f"the old image boots (step {cut})", old)


def flash_twice(b):
    """The second time it runs. Returns the steps of that."""
    b.flash_well("an empty board is flashed", runs=False)
    b.check("and boots slot A", b.boots() == "a")
    steps = b.flash_well("an update of a running board goes through")
    b.check("and boots slot B", b.boots() == "b", f"{steps} steps")
    return steps


def go_on(b, steps):
    """Slot B boots."""
    good = b.debugged()
    b.check("gdb reads it", good, "" if good else b.said)
    cut_power(b, steps, "b")
    b.flash_well("the next update goes through")
    b.check("and boots slot A", b.boots() == "a")
    b.damage(b.layout.slot["a"] + 5000)
    b.check("with a damaged image in A, B boots", b.boots() == "b")
    b.flash(steps // 2)
    b.boots_always("an update that is cut leaves B alone", "b")
    b.demo()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("folder", nargs="?")
    p.add_argument("--board", choices=run_nic.MODELS, default="lm3s6965evb")
    p.add_argument("--quick", action="store_true")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="unic-flash-") as tmp:
        b = Bench(o.board, o.folder, tmp)
        steps = flash_twice(b)
        if not o.quick and o.board == "lm3s6965evb":
            go_on(b, steps)
        print(f"{b.passed} passed, {b.failed} failed")
    return 1 if b.failed else 0


if __name__ == "__main__":
    sys.exit(main())
