#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The boot stub of the LM3S6965 in QEMU: which image runs, when power failed in an
update, when bytes of flash went bad.

usage: test_boot.py [FOLDER]          (default build/lm3s6965evb)
"""
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "install"))
import flash_image  # noqa: E402

PATIENCE_S = 60


def boot(flash):
    """The console until the firmware runs, or the stub stops."""
    with tempfile.TemporaryDirectory(prefix="unic-boot-") as tmp:
        image, console = os.path.join(tmp, "flash"), os.path.join(tmp, "out")
        with open(image, "wb") as f:
            f.write(flash.bytes)
        qemu = subprocess.Popen(
            ["qemu-system-arm", "-M", "lm3s6965evb", "-accel", "tcg",
             "-nodefaults", "-display", "none", "-serial", "null", "-serial",
             f"file:{console}", "-kernel", image],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                time.sleep(0.02)
                text = ""
                if os.path.exists(console):
                    with open(console, encoding="ascii") as f:
                        text = f.read()
                if text.endswith(("ready\n", "no image\n")):
                    break
        finally:
            qemu.kill()
            qemu.wait()
    if "no image" in text:
        return "none"
    if "unic: ready" not in text:
        return f"silent: {text!r}"
    return {"A": "a", "B": "b"}.get(text.partition("slot ")[2][:1], text)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, what, flash, want):
        got = boot(flash)
        good = got == want
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok' if good else 'FAIL'} {what}: {got}"
              f"{'' if good else f', not {want}'}", flush=True)


def cut_update(check, flash, slot, image, number, old):
    """Power fails at these steps of an update: the old image boots until the last
    word of the record is there. The next update begins from what is left."""
    steps = list(flash.steps(slot, image, number))
    last, rnd = len(steps), random.Random(number)
    cuts = {1, 113, 114, last - 6, last - 5, last - 3, last - 1, last,
            *(rnd.randrange(last) for _ in range(3))}
    done = 0
    for cut in sorted(cuts):
        while done < cut:
            steps[done]()
            done += 1
        check(f"update of slot {slot}, cut at step {cut} of {last}", flash,
              slot if cut == last else old)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/lm3s6965evb"
    elf = {name: flash_image.binary(os.path.join(folder, f"{name}.elf"))
           for name in ("boot", "unic-a", "unic-b")}
    check = Checks()
    flash = flash_image.Flash(elf["boot"])
    check("empty flash", flash, "none")
    flash.update("a", elf["unic-a"], 1)
    check("one image", flash, "a")
    cut_update(check, flash, "b", elf["unic-b"], 2, "a")
    cut_update(check, flash, "a", elf["unic-a"], 3, "b")
    flash.bytes[flash.layout.slot["a"] + 5000] ^= 4
    check("a byte of the later image is bad", flash, "b")
    flash.bytes[flash.layout.record["b"] + 4] ^= 1
    check("and a byte of the other record", flash, "none")
    flash.update("b", elf["unic-b"], 0xffffffff)
    flash.update("a", elf["unic-a"], 0)
    check("numbers wrap", flash, "a")
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
