#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The serial ports of this machine that are on USB, and which of them is the link of a
board (its board.toml)."""
import dataclasses
import os

import board_file

SYSFS = "/sys/class/tty"
BY_ID = "/dev/serial/by-id"


@dataclasses.dataclass(frozen=True)
class Port:
    tty: str  # ttyUSB0
    ids: tuple  # vendor, product, interface
    text: str  # what it says it is

    def board(self):
        """Whose link it is; None: of no board that we know."""
        for board in board_file.boards():
            link = board_file.BoardFile(board).link
            if (link.vendor, link.product, link.interface) == self.ids:
                return board
        return None

    def name(self, by_id=BY_ID):
        """A name that stays when other things are plugged in."""
        if os.path.isdir(by_id):
            for entry in sorted(os.listdir(by_id)):
                path = os.path.join(by_id, entry)
                if os.path.basename(os.path.realpath(path)) == self.tty:
                    return path
        return f"/dev/{self.tty}"


def read_word(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8",
                  errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def usb_port(tty, sysfs):
    """None: it is not on USB."""
    folder = os.path.realpath(os.path.join(sysfs, tty, "device"))
    interface = ""
    while len(folder) > 1:
        interface = interface or read_word(folder, "bInterfaceNumber")
        vendor = read_word(folder, "idVendor")
        if vendor:
            text = [read_word(folder, w) for w in ("manufacturer", "product")]
            return Port(tty, (vendor, read_word(folder, "idProduct"), interface),
                        " ".join(filter(None, text)))
        folder = os.path.dirname(folder)
    return None


def usb_ports(sysfs=SYSFS):
    ports = [usb_port(tty, sysfs) for tty in sorted(os.listdir(sysfs))
             if os.path.exists(os.path.join(sysfs, tty, "device"))]
    return [port for port in ports if port]
