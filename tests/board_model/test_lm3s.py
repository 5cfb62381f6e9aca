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
RAM = 0x20000000
PEER_MAC = bytes.fromhex("020000000009")
BROADCAST = b"\xff" * 6
LONG_FILL = 0xa5


class Failure(Exception):
    """What was not as it should be."""


def address(folder, what):
    """Of an object of the firmware in @folder, as a debugger has it."""
    run = subprocess.run(
        ["gdb-multiarch", "-batch", "-nx", "-ex", f"print/x (long)&{what}",
         os.path.join(folder, "unic-a.elf")], stdout=subprocess.PIPE, text=True,
        check=True)
    return int(run.stdout.split("=")[1], 16)


class Bench:
    """A folder with a flash, and the board that has it."""

    def __init__(self, folder):
        self.folder = folder
        self.tmp = tempfile.mkdtemp(prefix="unic-lm3s-")
        self.flash = self.path("flash")
        shutil.copy(os.path.join(folder, "flash.bin"), self.flash)
        self.processes = []

    def path(self, name):
        return os.path.join(self.tmp, name)

    def command(self, *options):
        return [os.path.join(BIN, "board-model"), "--chip", "lm3s6965",
                "--flash", self.flash, "--console", self.path("console"),
                "--ram", self.path("ram"), *map(str, options)]

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

    def wait_ready(self):
        self.wait_for("the firmware", lambda: os.path.exists(
            self.path("console")) and "unic: ready" in self.text())

    def word(self, what):
        """Of an object of the firmware, when the board ended."""
        with open(self.path("ram"), "rb") as f:
            f.seek(address(self.folder, what) - RAM)
            return struct.unpack("<I", f.read(4))[0]

    def need_word(self, what, want):
        if self.word(what) != want:
            raise Failure(f"{what}: {self.word(what)}, not {want}")

    def end(self):
        """What the model says."""
        self.model.terminate()
        self.model.wait()
        self.judge(self.log("model"))
        return self.log("model")

    def figures(self, words):
        """Those of the line of the model's last words that has @words."""
        line = next(x for x in self.end().splitlines() if words in x)
        return [int(n) for n in re.findall(r" (\d+)", line)]

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

    def link_up(self):
        """As the info page has it."""
        return self.ctl("info")["link_up"]


class Line(Bench):
    """The board with a UART that the test sends to."""

    def __init__(self, folder, *options):
        super().__init__(folder)
        self.model = self.start("model", *self.command(
            "--uart0", self.path("uart"), *options))
        self.wait_ready()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path("uart"))

    def send(self, count):
        self.socket.sendall(bytes(count))
        time.sleep(count * 10 / 115200 + 0.2)

    def close(self):
        self.socket.close()
        super().close()


class Fades:
    """A board that loses a bit of the crash record at each reset."""

    def __init__(self, folder, *options):
        super().__init__(folder, "--fade",
                         hex(address(folder, "kept.record.fault_status")),
                         *options)


class FadedDesk(Fades, Desk):
    pass


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
    text = b.run("--for", 14000, "--hang", 3000)
    if "the watchdog resets the board" not in b.said or \
            text.count("unic: ready") != 2 or "crashed" not in text or \
            "cause=00000008" not in text:
        raise Failure(f"{b.said}{text!r}")


def button(b, at):
    """What --reset-at takes."""
    return "--reset-at", hex(address(b.folder, at))


def cut_boot(b):
    """The reset button as the image starts cuts no line of the boot stub."""
    text = b.run("--for", 6000, *button(b, "_start"))
    if "button" not in b.said or not text.isascii() or \
            text.count("boot: slot A, update=00000002\n") != 2:
        raise Failure(repr(text))


def cut_crash(b):
    """The reset button as the line of a crash is said does not cut it."""
    b.model = b.start("model", *b.command(*button(b, "crash_details")))
    b.wait_ready()
    b.model.send_signal(signal.SIGUSR1)
    b.wait_for("the next life", lambda: b.text().count("unic: ready") == 2)
    if "button" not in b.end() or not b.text().isascii() or \
            not re.search("crashed: .* addr=[0-9a-f]{8}$", b.text(), re.M):
        raise Failure(repr(b.text()))


def no_link(b):
    """With nothing plugged in it runs, and the watchdog has no reason to bark."""
    text = b.run("--for", 9500, "--break", "link")
    if text.count("unic: ready") != 1 or "crashed" in text:
        raise Failure(repr(text))


def slow_hold(b):
    """Without the PLL, too, frames wait four seconds for a link."""
    text = b.run("--for", 5500, "--break", "pll,link")
    if "PLL" not in text or not text.endswith("unic: ready\n"):
        raise Failure(repr(text))
    hold = b.word("the_port.net.hold") & 0xff
    if hold:
        raise Failure(f"they wait for {hold} beats more")


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


def faded(d):
    """A record that has lost a bit is not told, and the board starts as usual."""
    d.join()
    d.model.send_signal(signal.SIGUSR1)
    d.wait_for("the crash", lambda: d.text().count("unic: ready") == 2)
    d.wait_for("the NIC joins again",
               lambda: d.log("unicd").count("NIC joined") == 2)
    d.ask_arp()
    if "crashed" not in d.text() or "fades" not in d.log("model"):
        raise Failure(f"{d.text()}{d.log('model')}")
    if "crash" in d.log("unicd"):
        raise Failure(d.log("unicd"))


def move_cable(d, up):
    """The cable is pulled, or plugged in, and the info page says so."""
    d.model.send_signal(signal.SIGHUP)
    d.wait_for(f"link_up={up}", lambda: d.link_up() == up)


def cable(d):
    """A cable is pulled, also while frames are under way: they wait, and go on."""
    d.join()
    d.ask_arp()
    d.wire.send(*map(arp_request, range(2000)))
    d.wire.receive(1)
    move_cable(d, 0)
    while d.wire.receive(0.2):
        pass
    move_cable(d, 1)
    d.ask_arp()
    time.sleep(1)  # the host gets the counters
    before = d.stats()["tx_no_room"]
    move_cable(d, 0)
    try_copy(d)
    d.wait_for("frames wait for the link",
               lambda: d.stats()["tx_no_room"] > before + 3)
    move_cable(d, 1)
    d.ask_arp()


def vdd(b):
    """Low voltage resets the board; the cause is said."""
    text = b.run("--for", 9500, "--break", "vdd")
    if text.count("unic: ready") != 2 or "cause=00000004" not in text:
        raise Failure(f"{b.said}{text!r}")


def lengths(d):
    """Lengths in the FIFO that no frame has: each is counted, and costs no other."""
    d.join()
    d.wait_for("the link", d.link_up)
    answers = 0
    for n in range(40):
        d.wire.send(arp_request(n))
        answers += d.wire.receive(0.5) is not None
    count, = d.figures("nonsense")
    if count < 2 or answers != 40 - count:
        raise Failure(f"{count} lengths were nonsense, {answers} answers")
    d.need_word("the_port.net.counts.nonsense", count)


def long_frames(d):
    """Frames longer than the core takes are dropped, and stay in the ring."""
    d.join()
    for _ in range(100):
        d.ask_arp()
        d.wire.send(arp_request(LONG_FILL, 1514))
    d.ask_arp()
    d.end()
    d.need_word("the_port.net.counts.too_long", 100)
    behind = address(d.folder, "(&the_port.net.ring)[1]") - RAM
    with open(d.path("ram"), "rb") as f:
        if bytes([LONG_FILL]) * 8 in f.read()[behind:]:
            raise Failure("bytes of a frame behind the ring")


def spoiled(d):
    """Frames with a wrong FCS stay outside."""
    d.join()
    d.wait_for("the link", d.link_up)
    d.wire.send(*map(arp_request, range(100)))
    if d.wire.receive(2):
        raise Failure("a spoiled frame is answered")


def level(d):
    """The handler of the line begins when half of the FIFO is filled."""
    d.send(4000)
    *_, most = d.figures("the line:")
    if not 8 <= most <= 10:
        raise Failure(f"{most} bytes waited")


def lost_bytes(d):
    """Each time that the UART loses bytes is counted."""
    for _ in range(3):
        d.model.send_signal(signal.SIGUSR2)  # its main loop is late
        d.send(4000)
    _, count, *_ = d.figures("the line:")
    if not count:
        raise Failure("no byte was lost")
    d.need_word("the_port.line.overruns", count)


def wrong_baud(d):
    """Bytes of another rate are counted."""
    d.send(200)
    *_, count, _ = d.figures("the line:")
    if not count:
        raise Failure("no byte was spoiled")
    d.need_word("the_port.line.framing", count)


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
    (Bench, (), [cut_boot]),
    (Bench, (), [cut_crash]),
    (Bench, (), [no_link]),
    (Bench, (), [slow_hold]),
    (Bench, (), [vdd]),
    (Desk, (), [first_sends, frames, overrun, crash, no_fault]),
    (Desk, ("--break", "link"), [no_partner, no_fault]),
    (Desk, ("--break", "ten"), [two_frames, no_fault]),
    (Desk, ("--break", "half", "--wire-errors", "200"),
     [half_duplex, no_fault]),
    (FadedDesk, (), [faded, no_fault]),
    (Desk, (), [cable, no_fault]),
    (Desk, ("--break", "length"), [lengths, no_fault]),
    (Desk, (), [long_frames, no_fault]),
    (Desk, ("--wire-errors", "1000"), [spoiled, no_fault]),
    (Line, (), [level, no_fault]),
    (Line, (), [lost_bytes, no_fault]),
    (Line, ("--baud0", "115200"), [wrong_baud, no_fault]),
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
