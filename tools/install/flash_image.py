#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""flash_image.py -o FILE --boot ELF [--a ELF] [--b ELF] [--later a|b] [--board BOARD]

The whole flash of a board with two slots (its board.toml): boot stub, images in their
slots, and a record for each. As a module: Flash, with the steps of an update one by
one.
"""
import argparse
import os
import struct
import subprocess
import sys
import tempfile

import board_file
from flash_slots import make_record

BOARD = "lm3s6965evb"
OBJCOPY = "arm-none-eabi-objcopy"


class Unfit(Exception):
    """An image that does not belong where it is to go."""


def binary(elf):
    """The bytes of an ELF file from its first address on."""
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([OBJCOPY, "-O", "binary", elf, f.name], check=True)
        return f.read()


def check_fit(what, image, at, room):
    """Raises Unfit unless the image fits and its reset vector points into it: it is
    linked for this place."""
    if len(image) > room:
        raise Unfit(f"{what}: {len(image)} bytes, room for {room}")
    reset = struct.unpack("<I", image[4:8])[0] & ~1
    if not at <= reset < at + len(image):
        raise Unfit(f"{what} is linked for another place: its reset vector "
                    f"is {reset:#x}, its place {at:#x}")


def check_stub(boot, layout):
    """Raises Unfit unless the stub fits and looks for images and records where the
    layout has them: struct boot_layout (hal/cortexm/boot_choice.h) is in it."""
    check_fit("the boot stub", boot, 0, layout.boot_bytes)
    words = struct.pack("<5I", layout.slot["a"], layout.slot["b"],
                        layout.record["a"], layout.record["b"],
                        layout.slot_bytes)
    if words not in boot:
        raise Unfit("the boot stub divides the flash in another way than "
                    "board.toml")


def images(layout, folder):
    """Boot stub and {slot: image} that were made for the board. Raises Unfit."""
    boot = binary(os.path.join(folder, "boot.elf"))
    check_stub(boot, layout)
    slots = {}
    for slot, at in layout.slot.items():
        slots[slot] = binary(os.path.join(folder, f"unic-{slot}.elf"))
        check_fit(f"the image of slot {slot.upper()}", slots[slot], at,
                  layout.slot_bytes)
    return boot, slots


class Flash:
    """Pages are erased to ones, words programmed once."""

    def __init__(self, boot, layout=None):
        self.layout = layout or board_file.BoardFile(BOARD).layout
        self.bytes = bytearray(b"\xff" * self.layout.bytes)
        self.bytes[:len(boot)] = boot

    def erase(self, page):
        self.bytes[page:page + self.layout.page] = b"\xff" * self.layout.page

    def program(self, at, data):
        self.bytes[at:at + len(data)] = data

    def steps(self, slot, image, number):
        """An update, in steps between which power may fail."""
        layout = self.layout
        if len(image) > layout.slot_bytes:
            raise ValueError(f"{len(image)} bytes do not fit slot {slot}")
        record, base = layout.record[slot], layout.slot[slot]
        yield lambda: self.erase(record)
        for page in range(base, base + layout.slot_bytes, layout.page):
            yield lambda page=page: self.erase(page)
        for at in range(0, len(image), 4):
            yield lambda at=at: self.program(base + at, image[at:at + 4])
        words = make_record(image, number)
        for at in range(0, len(words), 4):
            yield lambda at=at: self.program(record + at, words[at:at + 4])

    def update(self, slot, image, number):
        for step in self.steps(slot, image, number):
            step()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--boot", required=True, metavar="ELF")
    p.add_argument("--a", metavar="ELF")
    p.add_argument("--b", metavar="ELF")
    p.add_argument("--later", choices=("a", "b"), default="a")
    p.add_argument("--board", choices=board_file.boards(), default=BOARD)
    o = p.parse_args()
    layout = board_file.BoardFile(o.board).layout
    boot = binary(o.boot)
    try:
        check_stub(boot, layout)
        flash = Flash(boot, layout)
        for slot, elf in (("a", o.a), ("b", o.b)):
            if elf:
                image = binary(elf)
                check_fit(elf, image, layout.slot[slot], layout.slot_bytes)
                flash.update(slot, image, 2 if slot == o.later else 1)
    except Unfit as e:
        print(f"flash_image: {e}", file=sys.stderr)
        return 1
    with open(o.output, "wb") as f:
        f.write(flash.bytes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
