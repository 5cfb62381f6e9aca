#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""console.py [TTY]

What a board says on its console, until Ctrl-C: 115,200 baud, of the serial adapter TTY.
Without TTY: of the only one on USB that is not the link of a board. The link is
refused, since unicd reads there, and each byte goes to one reader only.
"""
import argparse
import contextlib
import errno
import fcntl
import os
import select
import sys
import termios

import ports

BAUD = termios.B115200


class Refused(Exception):
    """Why this port is not opened."""


def listed(found, by_id):
    return "".join(f"\n  {p.name(by_id)}  {p.text or 'no name'}" +
                   (f" (the link of {p.board()})" if p.board() else "")
                   for p in found)


def choose(tty, found, by_id=ports.BY_ID):
    """The path to open. Raises Refused."""
    free = [p for p in found if not p.board()]
    if tty:
        name = os.path.basename(os.path.realpath(tty))
        port = next((p for p in found if p.tty == name), None)
        if port and port.board():
            raise Refused(f"{tty} is the link of {port.board()}, which unicd "
                          "opens. The console is another UART of the board, "
                          "with a serial adapter of its own: docs/BOARDS.md")
        return tty
    if len(free) == 1:
        return free[0].name(by_id)
    if free:
        raise Refused("there is more than one serial adapter; say which, as "
                      "TTY=..." + listed(free, by_id))
    raise Refused("there is no serial adapter for the console on USB" + (
        "; there is" + listed(found, by_id) if found else ""))


def open_console(path):
    """A terminal of our own. Raises Refused."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.ioctl(fd, termios.TIOCEXCL)
        t = termios.tcgetattr(fd)
    except (OSError, termios.error) as e:
        busy = e.args[0] in (errno.EAGAIN, errno.EBUSY)
        raise Refused(f"{path}: " + ("in use by somebody else" if busy else
                                     e.args[1])) from None
    t[:6] = [termios.IGNBRK, 0, termios.CS8 | termios.CREAD | termios.CLOCAL,
             0, BAUD, BAUD]
    termios.tcsetattr(fd, termios.TCSAFLUSH, t)
    return fd


def show(fd, path):
    """Until the adapter is unplugged."""
    while True:
        select.select([fd], [], [])
        try:
            data = os.read(fd, 4096)
        except BlockingIOError:
            continue
        except OSError:
            data = b""
        if not data:
            print(f"console: {path} is gone", file=sys.stderr)
            return
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tty", nargs="?", metavar="TTY")
    o = p.parse_args()
    try:
        path = choose(o.tty, ports.usb_ports())
        fd = open_console(path)
    except Refused as e:
        print(f"console: {e}", file=sys.stderr)
        return 1
    print(f"console: {path}, 115,200 baud; Ctrl-C ends", file=sys.stderr)
    try:
        show(fd, path)
    except KeyboardInterrupt:
        return 0
    finally:
        with contextlib.suppress(OSError):  # it may be gone
            fcntl.ioctl(fd, termios.TIOCNXCL)
    return 1


if __name__ == "__main__":
    sys.exit(main())
