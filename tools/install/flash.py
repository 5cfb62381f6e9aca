#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Put the firmware into the flash of a board with two slots, by OpenOCD: the slot that
does not boot, verified, and then its record. If power fails meanwhile the old image
boots. On a board without boot stub, or with another one, that comes first: then JTAG
is the way back.

Each time OpenOCD is started the chip is reset and halted before its first instruction.
A halt alone is not enough: OpenOCD's flash algorithm runs in RAM, from which the
firmware's MPU forbids to execute; while it runs, the firmware's watchdog counts on,
although it stands still while the processor does; and an Ethernet with DMA writes into
that RAM. A reset ends all three.

    flash.py [--board lm3s6965evb] [--folder build/BOARD] [--anyway]
             [--config FILE] [--search DIR] [--setup COMMAND]
"""
import argparse
import contextlib
import os
import subprocess
import sys
import tempfile

import board_file
import flash_image
import flash_slots
from flash_image import Unfit
from flash_slots import IDENTITY_BYTES, RECORD_BYTES, SLOTS, Refused, Seen

OPENOCD = "openocd"
QUIET = "gdb_port disabled; tcl_port disabled; telnet_port disabled"


class Problem(Exception):
    """Why the board is not as it should be."""


class Board:
    """A board at a debug probe. Each call starts OpenOCD and resets the chip; each
    raises Problem with the last that OpenOCD said."""

    def __init__(self, args, setup, probe, tmp):
        self.args, self.tmp, self.count = [OPENOCD, *args], tmp, 0
        self.setup, self.probe = [*setup, QUIET, "init"], probe

    def run(self, *commands):
        script = "; ".join([*self.setup, *commands, "shutdown"])
        try:
            run = subprocess.run([*self.args, "-c", script], text=True,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=600,
                                 check=False)
        except FileNotFoundError:
            raise Problem("OpenOCD is not installed: apt-get install "
                          "openocd") from None
        except subprocess.TimeoutExpired:
            raise Problem("OpenOCD did not end within ten minutes") from None
        if run.returncode:
            said = run.stdout.splitlines()
            errors = [line for line in said if line.startswith("Error: ")]
            raise Problem("OpenOCD: " + "\n".join(errors or said[-6:]))
        return run.stdout

    def do(self, *commands):
        return self.run("reset halt", *self.probe.stall, *commands)

    def file(self, data=b""):
        self.count += 1
        path = os.path.join(self.tmp, str(self.count))
        with open(path, "wb") as f:
            f.write(data)
        return path

    def read(self, pieces):
        """The bytes of (address, length), a list of each."""
        files = [self.file() for _ in pieces]
        self.do(*(f"dump_image {path} {at:#x} {size:#x}"
                  for path, (at, size) in zip(files, pieces)))
        data = []
        for path in files:
            with open(path, "rb") as f:
                data.append(f.read())
        return data

    def matches(self, pieces):
        """For (address, bytes): does the processor read the same there?"""
        script = [f"if {{[catch {{verify_image_checksum {self.file(data)} "
                  f"{at:#x} bin}}]}} {{echo \"piece {i} differs\"}}"
                  for i, (at, data) in enumerate(pieces)]
        said = self.do(*script).splitlines()
        return [f"piece {i} differs" not in said for i in range(len(pieces))]

    def erase(self, at, size):
        self.do(*self.probe.clock, f"flash erase_address {at:#x} {size:#x}")

    def write(self, at, data):
        """Erase, program and verify."""
        path = self.file(data + b"\xff" * (-len(data) % 4))
        self.do(*self.probe.clock,
                f"flash write_image erase {path} {at:#x} bin",
                f"verify_image {path} {at:#x} bin")

    def start(self):
        """The processor stands at the breakpoint that ends an algorithm. OpenOCD lets
        it go before it resets it, it runs into the breakpoint at once, and what
        is halted comes out of the reset halted: so it is moved away first."""
        self.run("reset halt", "reset run")


def read_slots(board, layout):
    """Two readings of both slots: [{slot: Seen}, {slot: Seen}]."""
    pages = dict(zip(SLOTS, board.read(
        [(layout.record[s], RECORD_BYTES) for s in SLOTS])))
    records = {s: flash_slots.parse_record(pages[s], layout.slot_bytes)
               for s in SLOTS}
    whole = [s for s in SLOTS if records[s]]
    images = dict(zip(whole, board.read(
        [(layout.slot[s], records[s].bytes) for s in whole]))) if whole else {}
    first = {s: flash_slots.judge(records[s], images.get(s)) for s in SLOTS}
    again = board.matches(
        [(layout.record[s], pages[s]) for s in SLOTS] +
        [(layout.slot[s], images[s]) for s in whole])
    same = dict(zip([*SLOTS, *map(str.upper, whole)], again))
    second = {s: first[s] if same[s] and same.get(s.upper(), True)
              else Seen(first[s].number, not first[s].good) for s in SLOTS}
    return [first, second]


def has_stub(board, boot):
    return board.read([(0, len(boot))]) == [boot] and \
        board.matches([(0, boot)]) == [True]


def give_identity(board, layout):
    """A MAC address for a board that has none in flash. It has it for ever: no
    update writes that page again."""
    if layout.identity is None:
        return
    data = board.read([(layout.identity, IDENTITY_BYTES)])[0]
    if flash_slots.is_identity(data) and \
            board.matches([(layout.identity, data)]) == [True]:
        return
    data = flash_slots.make_identity(os.urandom(6))
    print("flash: MAC address " + data[4:10].hex(":") +
          ", if the board's maker gave it none", flush=True)
    board.write(layout.identity, data)


def update(board, layout, boot, images, anyway=False):
    """Raises Problem, Refused. The chip is halted afterwards."""
    choice = flash_slots.choose(read_slots(board, layout), anyway)
    print(f"flash: {choice.why}", flush=True)
    if not has_stub(board, boot):
        print("flash: boot stub; until it is written nothing boots", flush=True)
        board.write(0, boot)
    give_identity(board, layout)
    slot, image = choice.slot, images[choice.slot]
    print(f"flash: slot {slot.upper()}, update {choice.number}, "
          f"{len(image)} bytes", flush=True)
    board.erase(layout.record[slot], layout.page)
    board.write(layout.slot[slot], image)
    board.write(layout.record[slot],
                flash_slots.make_record(image, choice.number))
    for seen in read_slots(board, layout):
        if flash_slots.booted(seen) != slot:
            raise Problem(f"slot {slot.upper()} was written, but the boot "
                          "stub would not start it")


def flash(board, layout, boot, images, anyway=False):
    """An update, and what is in the flash afterwards starts. Raises Problem,
    Refused."""
    try:
        update(board, layout, boot, images, anyway)
    except BaseException:  # Ctrl-C, too
        with contextlib.suppress(Problem):
            board.start()
        raise
    board.start()


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
    p.add_argument("--anyway", action="store_true",
                   help="go on where a power cut could leave nothing to boot")
    o = p.parse_args()
    known = board_file.BoardFile(o.board)
    args = [word for folder in o.search for word in ("-s", folder)]
    args += ["-f", o.config or f"boards/{o.board}/openocd.cfg"]
    try:
        boot, images = flash_image.images(known.layout,
                                          o.folder or f"build/{o.board}")
        with tempfile.TemporaryDirectory(prefix="unic-flash-") as tmp:
            flash(Board(args, o.setup, known.probe, tmp), known.layout, boot,
                  images, o.anyway)
    except (Problem, Unfit) as e:
        print(f"flash: failed: {e}", file=sys.stderr)
        return 1
    except Refused as e:
        print(f"flash: refused: {e}", file=sys.stderr)
        return 1
    print("flash: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
