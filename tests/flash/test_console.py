#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make console` and the names of serial ports, without a board: a tree that looks like
/sys, a pseudo terminal, and the udev rules beside each board.toml."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, "tools", "install")
sys.path.insert(0, TOOLS)
import board_file  # noqa: E402
import console  # noqa: E402
import ports  # noqa: E402

PATIENCE_S = 20
LINK = ("ttyUSB0", "0403", "bcd9", "01", "Stellaris Evaluation Board")
ADAPTER = ("ttyUSB1", "0403", "6001", "00", "FT232R USB UART")
SECOND = ("ttyUSB2", "10c4", "ea60", "00", "CP2102")
ICDI = ("ttyACM0", "1cbe", "00fd", "00", "In-Circuit Debug Interface")


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, what, good, detail=""):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok' if good else 'FAIL'} {what}"
              f"{f': {detail}' if detail and not good else ''}", flush=True)


def put(folder, **words):
    os.makedirs(folder, exist_ok=True)
    for name, word in words.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(word + "\n")


def tree(tmp, *machines):
    """/sys/class/tty and /dev/serial/by-id with these ports, and a virtual one."""
    shutil.rmtree(tmp, ignore_errors=True)
    tty, by_id = os.path.join(tmp, "class/tty"), os.path.join(tmp, "by-id")
    os.makedirs(by_id)
    put(os.path.join(tty, "tty0"))
    for i, (name, vendor, product, interface, text) in enumerate(machines):
        usb = os.path.join(tmp, f"devices/usb1/1-{i}")
        put(usb, idVendor=vendor, idProduct=product, product=text)
        port = os.path.join(usb, f"1-{i}:1.{int(interface)}")
        put(port, bInterfaceNumber=interface)
        put(os.path.join(port, name))
        put(os.path.join(tty, name))
        os.symlink(os.path.join(port, name), os.path.join(tty, name, "device"))
        os.symlink(f"/dev/{name}", os.path.join(
            by_id, f"usb-{text.replace(' ', '_')}-if{interface}"))
    return ports.usb_ports(tty), by_id


def refusal(tty, found, by_id):
    """What console.py says, or what it opens."""
    try:
        return "", console.choose(tty, found, by_id)
    except console.Refused as e:
        return str(e), None


def check_choices(check, tmp):
    found, by_id = tree(tmp, LINK, ADAPTER)
    check("ports on USB are found", [p.tty for p in found] ==
          ["ttyUSB0", "ttyUSB1"], found)
    text, path = refusal(None, found, by_id)
    check("the adapter is taken, not the link", path and
          path.endswith("usb-FT232R_USB_UART-if00"), text or path)
    for tty in ("/dev/ttyUSB0", os.path.join(
            by_id, "usb-Stellaris_Evaluation_Board-if01")):
        text, path = refusal(tty, found, by_id)
        check(f"the link is refused as {os.path.basename(tty)}",
              "link of lm3s6965evb" in text, text or path)
    check("what is given is taken", refusal("/dev/ttyUSB1", found, by_id)[1] ==
          "/dev/ttyUSB1")
    text, path = refusal(None, *tree(tmp, LINK, ADAPTER, SECOND))
    check("two adapters: which one?", "TTY=" in text and "CP2102" in text and
          "Stellaris" not in text, text or path)
    text, path = refusal(None, *tree(tmp, LINK))
    check("only the link: no adapter", "no serial adapter" in text and
          "the link of lm3s6965evb" in text, text or path)
    text, path = refusal(None, *tree(tmp))
    check("nothing there", "no serial adapter" in text, text or path)
    found, by_id = tree(tmp, (*LINK[:3], "00", LINK[4]))
    check("channel A is not the link", found[0].board() is None)


def start(path):
    # whoever runs this in the background ignores SIGINT, and so would it
    return subprocess.Popen([os.path.join(TOOLS, "console.py"), path],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT,
                                                             signal.SIG_DFL))


def check_terminal(check):
    board, tty = os.openpty()
    path = os.ttyname(tty)
    rough = termios.tcgetattr(tty)
    rough[0] |= termios.IXON | termios.ICRNL
    termios.tcsetattr(tty, termios.TCSANOW, rough)
    first = start(path)
    said = first.stderr.readline()
    check("it says what it opened", path.encode() in said, said)
    os.write(board, b"\x13unic: ready\r\n")
    until, got = time.monotonic() + PATIENCE_S, b""
    while b"\n" not in got and time.monotonic() < until:
        got += os.read(first.stdout.fileno(), 100)
    check("the bytes of the board come as they are", got ==
          b"\x13unic: ready\r\n", got)
    t = termios.tcgetattr(tty)
    check("115,200 baud, raw", t[4] == termios.B115200 and
          not t[0] & (termios.IXON | termios.ICRNL) and
          not t[3] & (termios.ICANON | termios.ECHO), t)
    second = start(path)
    said = second.communicate(timeout=PATIENCE_S)[1]
    check("a second one is refused", second.returncode == 1 and
          b"in use" in said, said)
    first.send_signal(signal.SIGINT)
    check("Ctrl-C ends it", first.wait(PATIENCE_S) == 0)
    third = start(path)
    check("and it opens again", b"Ctrl-C" in third.stderr.readline())
    os.close(tty)
    os.close(board)
    code, said = third.wait(PATIENCE_S), third.stderr.read()
    check("an adapter that is pulled out", code == 1 and b"is gone" in said and
          b"Traceback" not in said, said)


def check_rules(check):
    """A link of a board has a name, for the same ids."""
    with open(os.path.join(TOOLS, "61-unic-boards.rules"),
              encoding="utf-8") as f:
        rules = [line for line in f if line.startswith("SUBSYSTEM")]
    for board in board_file.boards():
        link = board_file.BoardFile(board).link
        ids = {"ID_VENDOR_ID": link.vendor, "ID_MODEL_ID": link.product,
               "ID_USB_INTERFACE_NUM": link.interface}
        mine = [r for r in rules if f'"unic-{board}-link ' in r]
        check(f"udev names the link of {board}", len(mine) == 1 and
              ids == dict(re.findall(r'ENV\{(ID_[A-Z_]+_(?:ID|NUM))\}=="(\w+)"',
                                     mine[0])), mine)


def main():
    check = Checks()
    with tempfile.TemporaryDirectory(prefix="unic-console-") as tmp:
        check_choices(check, os.path.join(tmp, "sys"))
    check_terminal(check)
    check_rules(check)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
