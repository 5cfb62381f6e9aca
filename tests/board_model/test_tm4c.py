#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The firmware of the EK-TM4C1294XL, the bytes that would be flashed, on a board as its
data sheet has it (board-model): clocks, console, link, frames by DMA, errors of its bus,
hangs, and OpenOCD at its flash. A broken rule of the data sheet is a failure of each
test.

    test_tm4c.py [--folder build/ek-tm4c1294xl] [--only TEST]
"""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_lm3s import (PEER_MAC, ROOT, Bench, Desk, Fades,  # noqa: E402
                       Failure, arp_request, cable, cut_boot, cut_crash, faded,
                       parse, run_places, try_copy)

CHIP = ["--chip", "tm4c1294", "--baud0", "115200"]
READY = "unic: ready\n"
SLOT_B, BYTES, STEPS = 0x80000, 0x4400, 0x4400 // 4 + 2


class Board(Bench):
    """A board with nothing at its connectors."""

    def command(self, *options):
        return [*Bench.command(self, *options), *CHIP]

    def boot(self, *options):
        """What the console shows until the firmware is ready."""
        return self.show("--until", "ready\n", "--for", 3000, *options)

    def show(self, *options):
        text = self.run(*options)
        if not text.startswith("boot: slot A") or READY not in text or \
                not text.isascii():
            raise Failure(f"{options}: {text!r}")
        return text


class Place(Desk):
    """The board with a host at its UART and a switch at its jack."""
    command = Board.command

    def start(self, name, *words):
        if name == "unicd":
            words += ("--baud", "115200", "--deliver-us", "10000000")
        return super().start(name, *words)


class FadedPlace(Fades, Place):
    pass


# ------------------------------------------------------------------- tests

def boots(b):
    """The console is readable, whatever the internal oscillator is."""
    for permille in (-30, 0, 30):
        b.boot("--oscillator", permille)


def clocks(b):
    """A PLL that never locks, a crystal that is dead: said, and lived with."""
    for what, line in (("pll", "the PLL does not lock: 25 MHz"),
                       ("mosc", "no crystal: 16 MHz")):
        if line not in b.boot("--break", what):
            raise Failure(f"{what}: {b.text()!r}")


def resets(b):
    """A hang ends by the watchdog, low voltage by a reset; the cause is said."""
    for options, cause in ((("--hang", 1000), 8), (("--break", "vdd"), 4)):
        text = b.show("--for", 12000, *options)
        if text.count(READY) != 2 or f"cause={cause:08x}" not in text or \
                ("crashed" in text) != ("--hang" in options):
            raise Failure(f"{options}: {text!r}")


def no_link(b):
    """With nothing plugged in, no frame is sent."""
    if "link at" in b.show("--for", 3000, "--break", "link"):
        raise Failure(repr(b.text()))


def flash(b):
    """OpenOCD halts a firmware that runs, and writes flash; power fails at it."""
    socket = b.path("jtag")
    image = b.path("image")
    with open(image, "wb") as f:
        f.write(os.urandom(BYTES))

    def write(*options):
        """OpenOCD's exit code, and whether the flash has the bytes."""
        if os.path.exists(b.path("console")):
            os.unlink(b.path("console"))
        model = b.start("model", *b.command("--jtag", socket, *options))
        b.wait_for("the firmware", lambda: os.path.exists(b.path("console"))
                   and READY in b.text())
        run = subprocess.run(
            ["openocd", "-s", os.path.join(ROOT, "tests/flash/openocd"), "-f",
             "board/ti_ek-tm4c1294xl.cfg", "-c",
             "gdb_port disabled; tcl_port disabled; telnet_port disabled; "
             f"init; reset halt; flash write_image erase {image} {SLOT_B}; "
             f"verify_image {image} {SLOT_B}; reset run; shutdown"],
            env=os.environ | {"BOARD_MODEL": socket}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            check=False)
        model.terminate()
        model.wait()
        b.judge(b.log("model"))
        with open(b.flash, "rb") as f, open(image, "rb") as want:
            return run, f.read()[SLOT_B:SLOT_B + BYTES] == want.read()

    run, whole = write("--power-cut", STEPS // 2)
    if not run.returncode or whole:
        raise Failure("no power, but OpenOCD is content")
    b.boot()
    run, whole = write()
    if run.returncode or not whole:
        raise Failure(run.stdout)


def frames(d):
    """unicd joins over the UART; a frame comes in and one goes out."""
    d.join()
    frame = d.ask_arp()
    if frame[0:6] != PEER_MAC or len(frame) < 42:
        raise Failure(frame.hex())


def overrun(d):
    """More frames than there are buffers, of all sizes: it recovers."""
    d.join()
    d.ask_arp()
    for size, count in ((60, 300), (1514, 100), (61, 300), (200, 100)):
        d.model.send_signal(signal.SIGUSR2)  # its main loop is late
        d.wire.send(*(arp_request(n, size) for n in range(count)))
        d.model.send_signal(signal.SIGUSR2)  # until the last one is there
        while d.wire.receive(0.5):
            pass
    d.ask_arp()


def missed(d):
    """Frames that find no buffer are counted; buffers that come free are announced."""
    overrun(d)
    d.ask_arp()
    time.sleep(3)  # the firmware reads the controller's counters
    _, _, lost, overflows, _, _ = d.figures("frames received")
    if not lost:
        raise Failure("the ring was never empty")
    d.need_word("the_port.net.counts.rx_missed", lost + overflows)
    suspended, woken = d.figures("times suspended")
    if 2 * woken > suspended:
        raise Failure(f"{woken} of {suspended} times a frame woke the DMA")


def crash(d):
    """The line of a crash is whole, although the board is reset at once."""
    d.join()
    d.model.send_signal(signal.SIGUSR1)
    d.wait_for("the crash", lambda: d.text().count(READY) == 2)
    line = [line for line in d.text().splitlines() if "crashed" in line]
    if not line or not d.text().isascii() or " addr=" not in line[0]:
        raise Failure(repr(d.text()))
    d.wait_for("the record", lambda: "crash" in d.log("unicd"))


def bus_error(d):
    """The DMA has a bus error, and stands: it is reset, and frames go on."""
    d.join()
    for _ in range(6):
        d.ask_arp()
    if "bus error" not in d.log("model"):
        raise Failure("no bus error")


def underflow(d):
    """A frame runs dry, and its DMA is suspended: the next ones leave."""
    d.join()
    for _ in range(8):
        d.ask_arp()


def ten(d):
    """A partner of 10 Mbit/s, half duplex, and frames that arrive spoiled."""
    d.join()
    d.wait_for("the link", lambda: "link at 10 Mbit/s, half duplex" in d.text())
    for _ in range(4):
        d.ask_arp()


def no_controller(d):
    """Without a controller, frames to be sent are lost, and the NIC goes on."""
    d.join()
    lives = d.text().count(READY)
    for _ in range(2):
        try_copy(d)
        if "no answer from that host" not in d.log("copy"):
            raise Failure(d.log("copy"))
    if d.text().count(READY) != lives or "crashed" in d.text():
        raise Failure(repr(d.text()))


def no_fault(d):
    """And no rule of the data sheet was broken."""
    print(d.end().splitlines()[-1])


# Tests that share a board, one after the other, and its options. The last is of the
# board, whichever others ran on it.
PLACES = [
    (Board, (), [boots]),
    (Board, (), [clocks]),
    (Board, (), [resets]),
    (Board, (), [cut_boot]),
    (Board, (), [cut_crash]),
    (Board, (), [no_link]),
    (Place, ("--break", "mosc"), [no_controller, no_fault]),
    (Board, (), [flash]),
    (Place, (), [frames, crash, no_fault]),
    (Place, (), [missed, no_fault]),
    (FadedPlace, (), [faded, no_fault]),
    (Place, (), [cable, no_fault]),
    (Place, ("--break", "bus"), [bus_error, no_fault]),
    (Place, ("--break", "underflow"), [underflow, no_fault]),
    (Place, ("--break", "ten", "--wire-errors", "200"), [ten, no_fault]),
]


def main():
    return run_places(PLACES, parse(__doc__, "build/ek-tm4c1294xl"))


if __name__ == "__main__":
    sys.exit(main())
