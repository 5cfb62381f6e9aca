#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""board-model objects to each rule that is broken, and to nothing else: a program that
is in order, and the same with one rule of the data sheet broken (breaker.c).

usage: test_board_model.py [CASE ...]
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
CC = "arm-none-eabi-gcc"
NONE = ""

# Case: what the fault says. Others may follow it.
RULES = {
    0: NONE,
    1: "the main oscillator and the PLL are enabled in one write",
    2: "the main oscillator is used before it is stable",
    3: "the PLL is used before it has locked",
    4: "not 2.75 V",
    5: "divider and end of the bypass in one write",
    6: "the PLL is powered and the divider set in one write",
    7: "the PLL in use is set up anew",
    10: "UART at 4000d024 is accessed without a clock",
    11: "Ethernet at 40048000 is accessed without a clock",
    12: "a UART is enabled without divisors",
    13: "UART register 24 is written while the UART is enabled",
    14: "a byte for a full UART is lost",
    15: "a byte for a UART that is off",
    20: "USECRL=05 does not fit",
    21: "is not of a page",
    22: "while the flash is busy",
    23: "is not of a word",
    24: "flash register 04 is written while it is busy",
    29: NONE,
    30: "MDC has",
    31: "another duplex than was agreed on",
    32: "the receive FIFO is reset while the receiver is on",
    33: "the empty receive FIFO is read",
    34: "a frame is sent before the link was ever up",
    35: "a frame of 64 bytes has 48 in the FIFO",
    36: "a frame is written while one is being sent",
    39: NONE,
    40: "pins of JTAG change",
    41: "timer register 04 is written while it counts",
    42: "watchdog register 000 is written, but locked",
    43: "a table of 60 vectors is aligned to 256 bytes",
    49: NONE,
}


def serve_wire(path):
    """Somebody at the other end, who says nothing."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(1)
    threading.Thread(target=lambda: server.accept()[0].recv(4096),
                     daemon=True).start()


class Breaker:
    """A program of @source for @chip that breaks one of @rules, by its number. The
    cases of @wired have a wire."""

    def __init__(self, chip, cpu, source, rules, wired):
        self.chip, self.cpu, self.rules, self.wired = chip, cpu, rules, wired
        self.source = os.path.join(ROOT, "tests/board_model", source)

    def compile(self, case, tmp):
        elf, image = (os.path.join(tmp, f"{case}.{end}")
                      for end in ("elf", "bin"))
        subprocess.run(
            [CC, f"-mcpu={self.cpu}", "-mthumb", "-O1", "-ffreestanding",
             "-nostdlib", "-Wall", "-Werror", f"-DCASE={case}",
             "-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x100",
             "-Wl,-e,start", self.source, "-o", elf], check=True)
        subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", elf, image],
                       check=True)
        return image

    def run(self, case, tmp):
        """The exit status, the faults, and the console."""
        wire, console = (os.path.join(tmp, f"{case}.{end}")
                         for end in ("wire", "console"))
        options = []
        if case in self.wired:
            serve_wire(wire)
            options = ["--wire", wire]
        run = subprocess.run(
            [os.path.join(BIN, "board-model"), "--chip", self.chip, "--flash",
             self.compile(case, tmp), "--console", console, "--free", "--for",
             "4000", "--until", "!", *options], text=True,
            stderr=subprocess.PIPE, timeout=60, check=False)
        with open(console, encoding="latin-1") as f:
            return run.returncode, [line for line in run.stderr.splitlines()
                                    if "fault:" in line], f.read()

    def judge(self, case, tmp):
        """None, or what is wrong."""
        want = self.rules[case]
        code, faults, text = self.run(case, tmp)
        if want:
            good = code == 3 and any(want in line for line in faults)
            return None if good else f"not objected to: {want}: {faults}"
        good = code == 0 and not faults and text == "ok\n!"
        return None if good else f"{code} {faults} {text!r}"

    def main(self):
        """All cases, or those of the command line. The exit status."""
        passed = failed = 0
        with tempfile.TemporaryDirectory(prefix="unic-model-") as tmp:
            for case in map(int, sys.argv[1:] or self.rules):
                wrong = self.judge(case, tmp)
                passed, failed = passed + (not wrong), failed + bool(wrong)
                print(f"FAIL {case}: {wrong}" if wrong else
                      f"ok {self.rules[case] or 'a program in order'}",
                      flush=True)
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(Breaker("lm3s6965", "cortex-m3", "breaker.c", RULES,
                     range(30, 40)).main())
