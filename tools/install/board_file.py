#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""boards/<board>/board.toml: what the tools on a desk know of a board.

[flash]  how the flash is divided, in bytes, as the boot stub and the linker have it:
         flash_image.py finds the same in what they made. page is what is erased at
         a time, boot_bytes the place of the stub, at 0; identity the page of a MAC
         address, if the firmware looks for one in flash.
[probe]  commands of OpenOCD for a chip that was halted by its reset: stall, so that
         a watchdog does not reset it; clock, before its flash is erased or
         programmed, so that this is timed right.
[link]   the serial port on the board that is the link to the host, by its ids on
         USB. `make console` does not open it.
"""
import dataclasses
import glob
import os
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


@dataclasses.dataclass(frozen=True)
class Layout:
    """The flash of a board."""
    bytes: int
    page: int
    boot_bytes: int
    slot_bytes: int
    slot: dict
    record: dict
    identity: int | None = None

    def places(self):
        """(address, length) of all that has one, in order."""
        places = [(0, self.boot_bytes)]
        places += [(at, self.slot_bytes) for at in self.slot.values()]
        places += [(at, self.page) for at in self.record.values()]
        if self.identity is not None:
            places.append((self.identity, self.page))
        return sorted(places)


@dataclasses.dataclass(frozen=True)
class Probe:
    """Lists of commands for OpenOCD."""
    stall: list
    clock: list


@dataclasses.dataclass(frozen=True)
class Link:
    """A serial port: ids on USB, and the number of its interface there."""
    vendor: str
    product: str
    interface: str


class BoardFile:
    def __init__(self, board):
        path = os.path.join(ROOT, "boards", board, "board.toml")
        with open(path, "rb") as f:
            words = tomllib.load(f)
        self.board = board
        self.layout = Layout(**words["flash"])
        self.probe = Probe(**words["probe"])
        self.link = Link(**words["link"])


def boards():
    """Names of the boards that have such a file."""
    return sorted(os.path.basename(os.path.dirname(p)) for p in
                  glob.glob(os.path.join(ROOT, "boards", "*", "board.toml")))
