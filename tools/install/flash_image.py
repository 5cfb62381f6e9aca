#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""flash_image.py -o FILE --boot ELF [--a ELF] [--b ELF] [--later a|b]

The whole flash of an LM3S6965 (hal/lm3s/boot.h): boot stub, images in their slots,
and a record for each. As a module: Flash, with the steps of an update one by one.
"""
import argparse
import struct
import subprocess
import tempfile
import zlib

FLASH = 0x40000
SLOT = {"a": 0x2000, "b": 0x1E000}
RECORD = {"a": 0x3A000, "b": 0x3A400}
SLOT_BYTES = 0x1C000
PAGE = 0x400
MAGIC = 0x746F6F62
OBJCOPY = "arm-none-eabi-objcopy"


def binary(elf):
    """The bytes of an ELF file from its first address on."""
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([OBJCOPY, "-O", "binary", elf, f.name], check=True)
        return f.read()


def record(image, number):
    words = struct.pack("<4I", MAGIC, number, len(image), zlib.crc32(image))
    return words + struct.pack("<I", zlib.crc32(words))


def read_record(data):
    """The number in a record, None if it is not whole."""
    magic, number, _, _, check = struct.unpack("<5I", data[:20])
    return number if magic == MAGIC and check == zlib.crc32(data[:16]) else None


class Flash:
    """Pages are erased to ones, words programmed once."""

    def __init__(self, boot):
        self.bytes = bytearray(b"\xff" * FLASH)
        self.bytes[:len(boot)] = boot

    def erase(self, page):
        self.bytes[page:page + PAGE] = b"\xff" * PAGE

    def program(self, at, data):
        self.bytes[at:at + len(data)] = data

    def steps(self, slot, image, number):
        """An update, in steps between which power may fail."""
        if len(image) > SLOT_BYTES:
            raise ValueError(f"{len(image)} bytes do not fit slot {slot}")
        yield lambda: self.erase(RECORD[slot])
        for page in range(SLOT[slot], SLOT[slot] + SLOT_BYTES, PAGE):
            yield lambda page=page: self.erase(page)
        for at in range(0, len(image), 4):
            yield lambda at=at: self.program(SLOT[slot] + at, image[at:at + 4])
        words = record(image, number)
        for at in range(0, len(words), 4):
            yield lambda at=at: self.program(RECORD[slot] + at,
                                             words[at:at + 4])

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
    o = p.parse_args()
    flash = Flash(binary(o.boot))
    for slot, elf in (("a", o.a), ("b", o.b)):
        if elf:
            flash.update(slot, binary(elf), 2 if slot == o.later else 1)
    with open(o.output, "wb") as f:
        f.write(flash.bytes)


if __name__ == "__main__":
    main()
