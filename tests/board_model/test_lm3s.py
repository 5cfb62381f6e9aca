#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The firmware of the LM3S6965, the bytes that would be flashed, on a board as its
data sheet has it (board-model): clocks, console, link, frames, hangs. A broken rule
of the data sheet is a failure of each test.

    test_lm3s.py [--folder build/lm3s6965evb] [--only TEST]
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
PATIENCE_S = 60
IP, PEER_IP = "10.0.0.1", "10.0.0.9"
PEER_MAC = bytes.fromhex("020000000009")
BROADCAST = b"\xff" * 6


class Failure(Exception):
    """What was not as it should be."""


class Bench:
    """A folder with a flash, and the board that has it."""

    def __init__(self, folder):
        self.tmp = tempfile.mkdtemp(prefix="unic-lm3s-")
        self.flash = self.path("flash")
        shutil.copy(os.path.join(folder, "flash.bin"), self.flash)
        self.processes = []

    def path(self, name):
        return os.path.join(self.tmp, name)

    def command(self, *options):
        return [os.path.join(BIN, "board-model"), "--chip", "lm3s6965",
                "--flash", self.flash, "--console", self.path("console"),
                *map(str, options)]

    def text(self):
        with open(self.path("console"), encoding="latin-1") as f:
            return f.read()

    def run(self, *options, may=()):
        """To the end, as fast as it can. Returns what the console shows; faults
        that name none of @may fail."""
        run = subprocess.run(self.command("--free", *options), text=True,
                             stderr=subprocess.PIPE, timeout=PATIENCE_S,
                             check=False)
        self.judge(run.stderr, may)
        return self.text()

    def judge(self, said, may=()):
        self.said = said
        faults = [line for line in said.splitlines() if "fault:" in line and
                  not any(word in line for word in may)]
        if faults:
            raise Failure("\n".join(faults))

    def start(self, name, *words):
        with open(self.path(name + ".log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(words, stdout=log,
                                       stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def log(self, name):
        with open(self.path(name + ".log"), encoding="utf-8") as f:
            return f.read()

    def wait_for(self, what, done):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            got = done()
            if got:
                return got
            time.sleep(0.02)
        raise Failure(f"{what}: not in {PATIENCE_S} s")

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.tmp)


class Wire:
    """The switch: what the board's jack is connected to."""

    def __init__(self, path):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen(1)
        self.peer = None
        self.bytes = b""

    def accept(self):
        self.peer, _ = self.server.accept()

    def send(self, *frames):
        self.peer.settimeout(PATIENCE_S)
        self.peer.sendall(b"".join(struct.pack(">I", len(f)) + f
                                   for f in frames))

    def receive(self, timeout):
        """A frame, or None."""
        until = time.monotonic() + timeout
        while True:
            if len(self.bytes) >= 4:
                size = struct.unpack(">I", self.bytes[:4])[0]
                if len(self.bytes) >= 4 + size:
                    frame = self.bytes[4:4 + size]
                    self.bytes = self.bytes[4 + size:]
                    return frame
            left = until - time.monotonic()
            if left <= 0:
                return None
            self.peer.settimeout(left)
            try:
                self.bytes += self.peer.recv(65536)
            except TimeoutError:
                return None


def arp_request(n=0, size=60):
    arp = struct.pack(">HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, PEER_MAC,
                      socket.inet_aton(PEER_IP), bytes(6),
                      socket.inet_aton(IP))
    frame = BROADCAST + PEER_MAC + struct.pack(">H", 0x806) + arp
    return frame + bytes([n & 255]) * (size - len(frame))


def is_arp_reply(frame):
    return frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2" and \
        frame[28:32] == socket.inet_aton(IP)


class Desk(Bench):
    """The board with a host at its UART and a switch at its jack."""

    def __init__(self, folder, *options):
        super().__init__(folder)
        self.wire = Wire(self.path("wire"))
        self.model = self.start("model", *self.command(
            "--uart0", self.path("uart"), "--wire", self.path("wire"),
            "--log-frames", *options))
        self.wire.accept()
        self.start("bus", os.path.join(BIN, "unic-bus"), "--dir", self.tmp,
                   "--slots", "2")
        self.wait_for("the bus", lambda: os.path.exists(self.path("bus.json")))
        self.start("unicd", os.path.join(BIN, "unicd"), "--bus", self.tmp,
                   "--link", self.path("uart"), "--ip", IP, "--deliver-us",
                   "5000000")

    def join(self):
        self.wait_for("the NIC joins",
                      lambda: "ready" in self.log("unicd"))

    def ask_arp(self, seconds=PATIENCE_S):
        """Requests, one a second at most, until one is answered."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.wire.send(arp_request())
            frame = self.wire.receive(1)
            while frame:
                if is_arp_reply(frame):
                    return frame
                frame = self.wire.receive(0.2)
        raise Failure("no answer to ARP")

    def ctl(self, *words):
        """What unicctl says."""
        run = subprocess.run(
            [os.path.join(BIN, "unicctl"), "--socket", self.path("unicd.sock"),
             "--json", *words], stdout=subprocess.PIPE, text=True,
            timeout=PATIENCE_S, check=True)
        return json.loads(run.stdout)

    def stats(self):
        """The counters of the NIC."""
        nic = self.ctl("--all", "stats")["nic"]
        if "tx_frames" not in nic:
            raise Failure(f"no NIC: {self.log('unicd')}")
        return nic

    def sent_us(self):
        """When the board sent its frames."""
        return [int(line.split("t=")[1].split()[0])
                for line in self.log("model").splitlines()
                if "is sent, t=" in line]

    def end(self):
        self.model.terminate()
        self.model.wait()
        self.judge(self.log("model"))
        return self.log("model")


# ------------------------------------------------------------------- tests

def boots(b):
    """The console is readable, whatever the internal oscillator is."""
    for permille in (-300, 0, 300):
        text = b.run("--until", "ready\n", "--for", 6000, "--oscillator",
                     permille)
        if not text.startswith("boot: slot A, update=00000002\n") or \
                not text.endswith("unic: ready\n") or "no PLL" in text or \
                not text.isascii():
            raise Failure(f"oscillator {permille}: {text!r}")


def pll(b):
    """A PLL that never locks: the board says so and works."""
    text = b.run("--until", "ready\n", "--for", 6000, "--break", "pll")
    if "PLL" not in text or not text.endswith("unic: ready\n"):
        raise Failure(repr(text))


def hang(b):
    """A main loop that hangs is ended by the watchdog, and the cause is said."""
    text = b.run("--for", 9500, "--hang", 3000)
    if "the watchdog resets the board" not in b.said or \
            text.count("unic: ready") != 2 or \
            "cause=00000008" not in text:
        raise Failure(f"{b.said}{text!r}")


def no_link(b):
    """With nothing plugged in it runs, and the watchdog has no reason to bark."""
    text = b.run("--for", 9500, "--break", "link")
    if text.count("unic: ready") != 1 or "crashed" in text:
        raise Failure(repr(text))


def try_copy(d):
    """To a host that does not answer: requests for its address."""
    d.start("copy", os.path.join(BIN, "unic-copy"), "put", __file__, "--socket",
            d.path("unicd.sock"), "--peer", PEER_IP).wait()


def first_sends(d):
    """What is sent before the link is up waits for it. No crash is told."""
    d.join()
    until = time.monotonic() + PATIENCE_S
    while not d.sent_us() and time.monotonic() < until:
        try_copy(d)
    told, left = d.stats()["tx_frames"], len(d.sent_us())
    if not left or told > left:
        raise Failure(f"{told} frames were sent, {left} left")
    if "crash" in d.log("unicd"):
        raise Failure(d.log("unicd"))


def no_partner(d):
    """Nothing is sent to a cable that is not there."""
    d.join()
    until = time.monotonic() + PATIENCE_S
    while not d.stats()["tx_frames"] and time.monotonic() < until:
        try_copy(d)
    if d.sent_us():
        raise Failure(d.log("model"))


def frames(d):
    """unicd joins over the UART; a frame comes in and one goes out."""
    d.join()
    frame = d.ask_arp()
    if frame[0:6] != PEER_MAC or len(frame) < 42:
        raise Failure(frame.hex())


def two_frames(d):
    """Two frames of one round leave one after the other."""
    d.join()
    d.ask_arp()
    d.model.send_signal(signal.SIGUSR2)  # its main loop is late
    d.wire.send(arp_request(), arp_request())
    for _ in range(2):
        if not d.wire.receive(10):
            raise Failure("two requests, but not two answers")
    sent = d.sent_us()
    if sent[-1] - sent[-2] > 2000:
        raise Failure(f"the second one leaves {sent[-1] - sent[-2]} us later")


def overrun(d):
    """More frames than the FIFO holds, of all sizes: it recovers, and the host is
    told."""
    d.join()
    d.ask_arp()
    for size, count in ((60, 500), (1514, 20), (61, 500), (200, 200)):
        d.model.send_signal(signal.SIGUSR2)  # its main loop is late
        d.wire.send(*(arp_request(n, size) for n in range(count)))
        while d.wire.receive(0.2):
            pass
    d.ask_arp(20)
    d.wait_for("what was lost", lambda: d.ctl("info")["wire_lost"])


def crash(d):
    """The line of a crash is whole, although the board is reset at once."""
    d.join()
    d.model.send_signal(signal.SIGUSR1)
    d.wait_for("the crash", lambda: d.text().count("unic: ready") == 2)
    line = [line for line in d.text().splitlines() if "crashed" in line]
    if not line or not d.text().isascii() or \
            not re.search(" addr=[0-9a-f]{8}$", line[0]):
        raise Failure(repr(d.text()))
    d.wait_for("the record", lambda: "crash" in d.log("unicd"))


def half_duplex(d):
    """A partner of half duplex, and frames that arrive spoiled."""
    d.join()
    for _ in range(10):
        d.ask_arp()
    if not d.stats()["rx_short"]:
        raise Failure("no spoiled frame was counted")


def no_fault(d):
    """And no rule of the data sheet was broken."""
    print("\n".join(d.end().splitlines()[-2:]))


# Tests that share a board, one after the other, and its options. The last is of the
# board, whichever others ran on it.
PLACES = [
    (Bench, (), [boots]),
    (Bench, (), [pll]),
    (Bench, (), [hang]),
    (Bench, (), [no_link]),
    (Desk, (), [first_sends, frames, overrun, crash, no_fault]),
    (Desk, ("--break", "link"), [no_partner, no_fault]),
    (Desk, ("--break", "ten"), [two_frames, no_fault]),
    (Desk, ("--break", "half", "--wire-errors", "200"),
     [half_duplex, no_fault]),
]


def run_test(test, bench):
    began = time.monotonic()
    try:
        test(bench)
    except (Failure, OSError, subprocess.SubprocessError) as e:
        print(f"FAIL {test.__name__}: {e}", flush=True)
        return False
    print(f"ok {test.__name__}: {test.__doc__} "
          f"({time.monotonic() - began:.1f} s)", flush=True)
    return True


def run_places(places, o):
    """All tests, or o.only. The exit status."""
    results = []
    for place, options, tests in places:
        chosen = [t for t in tests if o.only in (None, t.__name__)]
        if not chosen:
            continue
        if tests[-1] not in chosen:
            chosen.append(tests[-1])
        bench = place(o.folder, *options)
        try:
            results += [run_test(test, bench) for test in chosen]
        finally:
            bench.close()
    passed = sum(results)
    print(f"{passed} passed, {len(results) - passed} failed")
    return 0 if results and passed == len(results) else 1


def parse(description, folder):
    p = argparse.ArgumentParser(description=description.split("\n\n")[0])
    p.add_argument("--folder", default=folder)
    p.add_argument("--only", metavar="TEST", help="and the last of its board")
    return p.parse_args()


def main():
    return run_places(PLACES, parse(__doc__, "build/lm3s6965evb"))


if __name__ == "__main__":
    sys.exit(main())
