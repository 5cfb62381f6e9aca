#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unicd --link on a terminal: the LM3S6965 in QEMU behind a pseudo terminal that a
program for modems has left as such programs do. It is unicd's alone, and whoever is in
the way has a name.

    test_tty.py [TEST ...]
"""
import os
import select
import socket
import sys
import termios
import threading
import time

from hosts import Failure
from test_line import PATIENCE_S, Rig, need, run_tests


class Terminal(threading.Thread):
    """The board's socket on the other side of a terminal. In the place of a Line."""

    def __init__(self, nic):
        super().__init__(daemon=True)
        self.board, self.ours = os.openpty()
        self.path = os.ttyname(self.ours)
        self.nic = socket.socket(socket.AF_UNIX)
        self.nic.connect(nic)
        self.over = False
        self.start()

    def run(self):
        while not self.over:
            ready, _, _ = select.select([self.board, self.nic], [], [], 0.1)
            if self.board in ready:
                try:
                    self.nic.sendall(os.read(self.board, 512))
                except OSError:  # nobody has the terminal open
                    time.sleep(0.01)
            if self.nic in ready:
                os.write(self.board, self.nic.recv(512))
        self.nic.close()
        os.close(self.board)

    def leave_for_modem(self):
        t = termios.tcgetattr(self.ours)
        t[0] = termios.ICRNL | termios.IXON | termios.IXOFF | termios.ISTRIP
        t[1] = termios.OPOST | termios.ONLCR
        t[2] = termios.CS7 | termios.CSTOPB | termios.CRTSCTS | termios.CREAD
        t[3] = termios.ICANON | termios.ECHO | termios.ISIG
        t[4] = t[5] = termios.B9600
        termios.tcsetattr(self.ours, termios.TCSANOW, t)

    def let_go(self):
        os.close(self.ours)


class TtyRig(Rig):
    def __init__(self):
        super().__init__()
        self.uart.over = True
        self.uart.join(timeout=PATIENCE_S)
        self.uart = Terminal(self.path("uart"))

    def start_unicd(self):
        return self.start("unicd", "unicd", "--bus", self.tmp, "--link",
                          self.uart.path)


def test_modem(rig):
    """What the terminal was set to before does not matter."""
    rig.uart.leave_for_modem()
    rig.uart.let_go()
    rig.driver = rig.start_unicd()
    rig.driver.expect("NIC joined", PATIENCE_S)
    rig.wait("ready")
    for _ in range(20):
        rig.ctl("mr")
    need(rig.ctl("info")["resets"] == 1, "a reset")


def test_in_use(rig):
    """A second one says who has it, and takes over when that one ends."""
    rig.uart.let_go()
    first = rig.start_unicd()
    first.expect("NIC joined", PATIENCE_S)
    folder = rig.path("second")
    rig.start("bus", "unic-bus", "--dir", folder, "--slots",
              "2").expect("ready")
    second = rig.start("second", "unicd", "--bus", folder, "--link",
                       rig.uart.path)
    second.expect(rf"in use by unicd \(pid {first.child.pid}\)", PATIENCE_S)
    first.child.kill()
    second.expect("NIC joined", PATIENCE_S)


def test_reader(rig):
    """Who had it open before takes bytes; that is said."""
    rig.driver = rig.start_unicd()
    rig.driver.expect(rf"\(pid {os.getpid()}\) has it open, too", PATIENCE_S)
    rig.uart.let_go()
    rig.driver.expect("NIC joined", PATIENCE_S)


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda _: TtyRig()))
