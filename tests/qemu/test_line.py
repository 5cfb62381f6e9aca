#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The serial host link with all its real parts: the LM3S6965 in QEMU, unicd
--link, and between them a line that the test owns: it spoils bits under a seed,
and is unplugged.

    test_line.py [TEST ...]
"""
import contextlib
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import stops
from hosts import BIN, IP, ROOT, Failure, Hosts, Process, Timeline

sys.path.insert(0, os.path.join(ROOT, "qemu"))
import run_nic  # noqa: E402

PATIENCE_S = 60
IMAGE = os.path.join(ROOT, "build/lm3s6965evb/unic.elf")


class Line(threading.Thread):
    """The line between the NIC's socket and the one that unicd opens."""

    def __init__(self, nic, host, seed=1):
        super().__init__(daemon=True)
        self.nic, self.noise, self.cut, self.flipped = nic, 0.0, False, 0
        self.rnd = random.Random(seed)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(host)
        self.server.listen(1)
        self.ends = {}  # fd -> (its socket, the other one)
        self.over = self.hang_up = False
        self.start()

    def spoil(self, data):
        if not self.noise:
            return data
        data = bytearray(data)
        # the distance to the next flipped bit
        bit = int(self.rnd.expovariate(self.noise))
        while bit < 8 * len(data):
            data[bit // 8] ^= 1 << bit % 8
            self.flipped += 1
            bit += 1 + int(self.rnd.expovariate(self.noise))
        return bytes(data)

    def close(self):
        for one, _ in self.ends.values():
            one.close()
        self.ends = {}

    def plug(self):
        one, _ = self.server.accept()
        other = socket.socket(socket.AF_UNIX)
        other.connect(self.nic)
        self.close()
        self.ends = {one.fileno(): (one, other), other.fileno(): (other, one)}

    def run(self):
        while not self.over:
            if self.hang_up:
                for one, _ in self.ends.values():
                    one.send(b"last words")
                self.close()
                self.hang_up = False
            ready, _, _ = select.select([self.server, *self.ends], [], [], 0.1)
            for fd in ready:
                try:
                    if fd is self.server:
                        self.plug()
                    elif fd in self.ends:
                        self.pass_on(*self.ends[fd])
                except OSError:
                    self.close()
        self.close()
        self.server.close()

    def pass_on(self, one, other):
        data = one.recv(512)
        if not data:
            raise OSError("closed")
        if not self.cut:
            other.sendall(self.spoil(data))


class Gdb:
    """QEMU's stub of gdb's protocol. The NIC is halted but for run()."""

    def __init__(self, path):
        self.stub = socket.socket(socket.AF_UNIX)
        self.stub.settimeout(PATIENCE_S)
        self.stub.connect(path)
        self.answer()  # it has stopped

    def send(self, text):
        self.stub.sendall(f"${text}#{sum(text.encode()) & 255:02x}".encode())

    def answer(self):
        got = b""
        while got[-3:-2] != b"#":
            part = self.stub.recv(512)
            need(part, f"gdb: {got}")
            got += part
        self.stub.sendall(b"+")
        return got.partition(b"$")[2][:-3].decode()

    def ask(self, text):
        self.send(text)
        return self.answer()

    @contextlib.contextmanager
    def run(self):
        self.send("c")
        yield
        self.stub.sendall(b"\x03")
        self.answer()

    def end(self):
        self.ask("D")
        self.stub.close()


class Rig:
    """One board, one host, a line."""

    def __init__(self):
        self.tmp = tempfile.mkdtemp(prefix="unic-line-")
        self.line = Timeline()
        self.running = []
        self.start("bus", "unic-bus", "--dir", self.tmp, "--slots",
                   "2").expect("ready")
        self.nic = self.power_on()
        self.uart = Line(self.path("uart"), self.path("line"))
        self.driver = None

    def path(self, name):
        return os.path.join(self.tmp, name)

    def start(self, who, program, *args):
        p = Process(self.line, who, [os.path.join(BIN, program), *args], False)
        self.running.append(p)
        return p

    def power_on(self):
        args = [run_nic.QEMU, "-M", "lm3s6965evb", "-accel", "tcg",
                "-nodefaults", "-display", "none", "-chardev",
                f"socket,id=line,path={self.path('uart')},server=on,wait=off",
                "-serial", "chardev:line", "-serial",
                f"file:{self.path('console')}", "-kernel", IMAGE, "-gdb",
                f"unix:{self.path('gdb')},server=on,wait=off"]
        nic = Process(self.line, "nic", args, False)
        self.running.append(nic)
        wait_for(self.path("uart"))
        return nic

    def console(self):
        with open(self.path("console"), encoding="utf-8") as f:
            return f.read()

    def power_off(self):
        self.nic.end()
        if os.path.exists(self.path("uart")):
            os.unlink(self.path("uart"))

    def start_driver(self):
        self.driver = self.start("unicd", "unicd", "--bus", self.tmp, "--link",
                                 self.path("line"), "--crash-file",
                                 self.path("crash"))
        self.driver.expect("unicd: ready", PATIENCE_S)

    def ctl(self, *args):
        r = subprocess.run([os.path.join(BIN, "unicctl"), "--socket",
                            self.path("unicd.sock"), "--json", *args],
                           capture_output=True, text=True, timeout=PATIENCE_S,
                           check=False)
        if r.returncode:
            raise Failure(f"unicctl {' '.join(args)}: {r.stderr.strip()}")
        return json.loads(r.stdout)

    def wait(self, state):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if self.ctl("info")["nic"] == state:
                return
            time.sleep(0.05)
        raise Failure(f"NIC is {self.ctl('info')['nic']}, not {state}")

    def end(self):
        for p in reversed(self.running):
            p.end()
        self.uart.over = True
        self.uart.join(timeout=PATIENCE_S)
        shutil.rmtree(self.tmp, ignore_errors=True)


class Pair:
    """The board and a soft NIC on one wire; files between them."""

    def __init__(self):
        self.tmp = tempfile.mkdtemp(prefix="unic-line-")
        self.hosts = Hosts("lm3s6965evb", None, self.tmp, "soft")
        self.running = self.hosts.running
        self.uart = None

    def start(self):
        h = self.hosts
        h.start_wire()
        for host in (0, 1):
            h.start_nic(host, show=False)
        uart = run_nic.uart(h.path("bus0"))
        wait_for(uart)
        self.uart = Line(uart, h.path("line"))
        h.start_driver(0, "--link", h.path("line"))
        h.start_driver(1)
        os.mkdir(h.path("files"))
        h.start("server", "unic-copy", "serve", "--dir", h.path("files"),
                "--socket", h.socket(1), show=False).expect("ready")

    def copy(self, *args):
        """unic-copy compares digests at both ends."""
        return self.hosts.start("copy", "unic-copy", *args, "--socket",
                                self.hosts.socket(0), "--peer", IP[1],
                                show=False)

    def end(self):
        self.hosts.end()
        if self.uart:
            self.uart.over = True
            self.uart.join(timeout=PATIENCE_S)
        shutil.rmtree(self.tmp, ignore_errors=True)


def symbol(name):
    """The address of a function of the image."""
    nm = subprocess.run(["arm-none-eabi-nm", IMAGE], capture_output=True,
                        text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in nm.splitlines()
                if line.split()[-1] == name) & ~1


def wait_for(path):
    until = time.monotonic() + PATIENCE_S
    while not os.path.exists(path):
        if time.monotonic() > until:
            raise Failure(f"no {path}")
        time.sleep(0.01)


def need(good, what):
    if not good:
        raise Failure(what)


def test_attach(rig):
    """The driver finds the NIC, whichever of them starts first, and dumps its
    tables."""
    rig.start_driver()
    info = rig.ctl("info")
    need(info["tlb_entries"] == 64 and info["path_mtu"] == 1024, info)
    for table in ("mr", "qp", "tlb", "tokens", "cq"):
        rig.ctl(table)


def test_nic_restart(rig):
    """The board loses power: the NIC is absent, and joins again."""
    rig.start_driver()
    before = rig.ctl("info")["resets"]
    rig.power_off()
    rig.wait("absent")
    rig.nic = rig.power_on()
    rig.wait("ready")
    need(rig.ctl("info")["resets"] > before, "no reset")


def test_driver_restart(rig):
    """The driver is killed: the next one resets the NIC and goes on."""
    rig.start_driver()
    epoch = rig.ctl("info")["epoch"]
    rig.driver.child.kill()
    rig.driver.child.wait()
    rig.start_driver()
    need(rig.ctl("info")["epoch"] != epoch, "no new epoch")


def test_unplug(rig):
    """Half a second of silence changes nothing; in five the NIC is absent."""
    rig.start_driver()
    before = rig.ctl("info")["resets"]
    rig.uart.cut = True
    time.sleep(0.5)
    rig.uart.cut = False
    rig.ctl("mr")
    need(rig.ctl("info")["resets"] == before, "a reset for nothing")
    rig.uart.cut = True
    rig.wait("absent")
    rig.uart.cut = False
    rig.wait("ready")


def test_hang_up(rig):
    """The line ends while unicd has bytes to write and to read; the NIC is
    ready again afterwards."""
    rig.start_driver()
    for _ in range(3):
        os.kill(rig.driver.child.pid, signal.SIGSTOP)
        rig.uart.hang_up = True
        time.sleep(1)
        until = time.monotonic() + PATIENCE_S
        while rig.uart.hang_up and time.monotonic() < until:
            time.sleep(0.1)
        need(not rig.uart.hang_up, "the line did not end")
        os.kill(rig.driver.child.pid, signal.SIGCONT)
        rig.wait("ready")
        rig.ctl("mr")


def test_noise(rig):
    """One bit in 10^5, then in 10^4: everything is answered, nothing reset."""
    rig.uart.noise = 1e-5
    rig.start_driver()
    before = rig.ctl("info")["resets"]
    rig.uart.noise = 1e-4
    for _ in range(200):
        rig.ctl("mr")
    need(rig.uart.flipped > 5, f"{rig.uart.flipped} bits flipped")
    need(rig.ctl("info")["resets"] == before, "a reset")


def test_crash(rig):
    """A failed assertion on the board: the next life sends the crash record."""
    rig.start_driver()
    with contextlib.suppress(Failure):  # it is reset before it answers
        rig.ctl("fault", "crash")
    rig.driver.expect("the NIC had crashed", PATIENCE_S)
    rig.wait("ready")


def test_hang(rig):
    """The main loop hangs, in a branch to itself: the watchdog interrupts it, and
    the next life sends where it was."""
    at = symbol("unic_nic_poll")
    rig.start_driver()
    gdb = Gdb(rig.path("gdb"))
    before = gdb.ask(f"m{at:x},2")
    gdb.ask(f"M{at:x},2:fee7")
    with gdb.run():
        until = time.monotonic() + PATIENCE_S
        while "crashed" not in rig.console() and time.monotonic() < until:
            time.sleep(0.1)
    need(f"kind=00000006 pc={at:08x}" in rig.console(), rig.console())
    gdb.ask(f"M{at:x},2:{before}")
    gdb.end()
    rig.driver.expect("the NIC had crashed", PATIENCE_S)
    rig.driver.expect("main loop hangs", PATIENCE_S)
    rig.wait("ready")


def test_copy(pair):
    """A file there and back, by RDMA and by calls with tokens, over a line that
    flips one bit in 10^5 and is pulled out for half a second each time."""
    pair.start()
    path = pair.hosts.path("made")
    with open(path, "wb") as f:
        f.write(os.urandom(32 << 10))
    pair.uart.noise = 1e-5
    for mode in ("rdma", "rpc"):
        for args in (("put", path, "--name", "file"),
                     ("get", "file", "--output", path + ".back")):
            copy = pair.copy(*args, "--mode", mode)
            time.sleep(0.5)
            pair.uart.cut = True
            time.sleep(0.5)
            pair.uart.cut = False
            copy.finish(200)
    need(pair.uart.flipped > 2, f"{pair.uart.flipped} bits flipped")
    need(pair.hosts.ctl(0, "info")["resets"] == 1, "a reset")


def play(make, name, test):
    rig = make(name)
    try:
        test(rig)
    except Failure:
        for p in rig.running:
            for text in p.lines[-6:]:
                print(f"  {p.who}: {text}")
        raise
    finally:
        rig.end()


def run_tests(module, make):
    """The tests of @module, or those of the command line, each on a rig that
    make(name) returns. The exit status."""
    tests = {n: f for n, f in module.items() if n.startswith("test_")}
    chosen = [f"test_{a.removeprefix('test_')}" for a in sys.argv[1:]]
    passed = failed = 0
    for name in chosen or tests:
        begun = time.monotonic()
        try:
            stops.step(play, make, name, tests[name])
            passed += 1
            print(f"ok {name} {time.monotonic() - begun:.1f} s", flush=True)
        except Failure as e:
            failed += 1
            print(f"FAIL {name}: {e}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_tests(globals(), lambda name: Pair() if name == "test_copy"
                       else Rig()))
