#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Put the firmware into the flash of a board with two slots, by OpenOCD: the slot that
does not boot, verified, and then its record. If power fails meanwhile the old image
boots. On a board without boot stub, or with another one, that comes first:
then JTAG is the way back.

Each time OpenOCD is started the chip is reset and halted before its first instruction.
A halt alone is not enough: OpenOCD's flash algorithm runs in RAM, from which the
firmware's MPU forbids to execute; while it runs, the firmware's watchdog counts on,
although it stands still while the processor does; and an Ethernet with DMA writes into
that RAM. A reset ends all three.

    flash.py [--board lm3s6965evb] [--folder build/BOARD]
             [--config FILE] [--search DIR] [--setup COMMAND]
"""
import argparse
import os
import subprocess
import sys
import tempfile

import board_file
import flash_image
from flash_image import Unfit, make_record, read_record

OPENOCD = "openocd"
QUIET = "gdb_port disabled; tcl_port disabled; telnet_port disabled"


class Problem(Exception):
    """Why the board is not as it should be."""


class Board:
    def __init__(self, options, halted):
        self.args = [OPENOCD]
        for folder in options.search:
            self.args += ["-s", folder]
        self.args += ["-f", options.config or
                      f"boards/{options.board}/openocd.cfg"]
        self.setup = [*options.setup, QUIET, "init", "reset halt", *halted]

    def do(self, *commands):
        """OpenOCD, once. Raises Problem with the last it said."""
        script = "; ".join([*self.setup, *commands, "shutdown"])
        try:
            run = subprocess.run([*self.args, "-c", script], text=True,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=600,
                                 check=False)
        except FileNotFoundError:
            raise Problem("OpenOCD is not installed: apt-get install "
                          "openocd") from None
        if run.returncode:
            said = run.stdout.splitlines()
            errors = [line for line in said if line.startswith("Error: ")]
            raise Problem("OpenOCD: " + "\n".join(errors or said[-6:]))

    def read(self, tmp, at, size):
        path = os.path.join(tmp, "read")
        self.do(f"dump_image {path} {at:#x} {size:#x}")
        with open(path, "rb") as f:
            return f.read()


def file_of(tmp, name, data):
    path = os.path.join(tmp, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def write(tmp, name, data, at):
    """Commands that erase, program and verify."""
    path = file_of(tmp, name, data + b"\xff" * (-len(data) % 4))
    return [f"flash write_image erase {path} {at:#x} bin",
            f"verify_image {path} {at:#x} bin"]


def choose(records):
    """The slot to write, and the number of the update."""
    known = {slot: read_record(data) for slot, data in records.items()}
    a, b = known["a"], known["b"]
    if a is None:
        return "a", (b or 0) + 1 & 0xffffffff
    if b is None:
        return "b", a + 1 & 0xffffffff
    later = "b" if 0 < (b - a & 0xffffffff) < 1 << 31 else "a"
    return ("a" if later == "b" else "b"), known[later] + 1 & 0xffffffff


def flash(board, layout, boot, images, tmp):
    if board.read(tmp, 0, len(boot)) != boot:
        print("flash: boot stub")
        board.do(*write(tmp, "boot", boot, 0))
    records = {slot: board.read(tmp, at, layout.page)
               for slot, at in layout.record.items()}
    slot, number = choose(records)
    image = images[slot]
    print(f"flash: slot {slot.upper()}, update {number}, {len(image)} bytes")
    board.do(f"flash erase_address {layout.record[slot]:#x} {layout.page:#x}",
             *write(tmp, "image", image, layout.slot[slot]))
    board.do(*write(tmp, "record", make_record(image, number),
                    layout.record[slot]), "reset run")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=board_file.boards(),
                   default=flash_image.BOARD)
    p.add_argument("--folder", help="of boot.elf, unic-a.elf, unic-b.elf")
    p.add_argument("--config", help="for OpenOCD")
    p.add_argument("--search", action="append", default=[], metavar="DIR",
                   help="where OpenOCD looks for its scripts first")
    p.add_argument("--setup", action="append", default=[], metavar="COMMAND",
                   help="for OpenOCD, before init")
    o = p.parse_args()
    known = board_file.BoardFile(o.board)
    layout = known.layout
    try:
        boot, images = flash_image.images(layout,
                                          o.folder or f"build/{o.board}")
        with tempfile.TemporaryDirectory(prefix="unic-flash-") as tmp:
            flash(Board(o, known.halted), layout, boot, images, tmp)
    except (Problem, Unfit) as e:
        print(f"flash: failed: {e}", file=sys.stderr)
        return 1
    print("flash: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
