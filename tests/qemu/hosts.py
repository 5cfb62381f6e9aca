# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Hosts with a NIC each, on one wire: what the demo and the benchmarks start,
watch and end. Everything of one run is below one temporary folder."""
import hashlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
# Other builds of the programs (make tsan, make valgrind) are elsewhere.
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
sys.path[:0] = [os.path.join(ROOT, d) for d in ("qemu", "tests/runner")]
import run_nic  # noqa: E402
import stops  # noqa: E402

# For what takes milliseconds: the machine may be busy or slow.
PATIENCE_S = 60
# H and T are the product's. A checker that makes programs slower says how much
# (tests/faults/checked.py), and H is longer by that.
SLOWER = int(os.environ.get("UNIC_SLOWER", "1"))
DELIVER = ("--deliver-us", str(stops.H_US * SLOWER)) if SLOWER > 1 else ()
IP = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


class Failure(Exception):
    """The reason of a failure, in words."""


class Timeline:
    """Lines with the time since the start, from many threads."""
    live = False  # it has a line that changes
    path = None  # the file that the lines are in, if they are not printed

    def __init__(self):
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def say(self, who, text, at=None):
        at = (at or time.monotonic()) - self.start
        with self.lock:
            self.write(f"{at:7.3f}  {who:<12} {text}")

    def write(self, line):
        print(line, flush=True)

    def tell(self, text):
        """A line without a time, which belongs to the story."""
        with self.lock:
            self.write(text)

    def close(self):
        """Nothing is said from now on."""


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def plain(text):
    """The line without the name of its process."""
    return re.sub(r"^(unic-\w+|hog \d+): ", "", text)


def schedstat(pid, column):
    """For each thread of a process: nanoseconds that it ran (0), or waited for
    a processor (1)."""
    said = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat",
                      encoding="ascii") as f:
                said[thread] = int(f.read().split()[column])
        except OSError:
            pass  # it ended
    return said


def waited_ns(pid):
    return schedstat(pid, 1)


def least_share(pid, slices=5, seconds=0.5):
    """Share of a processor that a process uses in the quietest of some slices
    of time: a process that does not sleep is busy in each of them."""
    shares = []
    for _ in range(slices):
        start, ran = time.monotonic_ns(), sum(schedstat(pid, 0).values())
        time.sleep(seconds)
        shares.append((sum(schedstat(pid, 0).values()) - ran) /
                      (time.monotonic_ns() - start))
    return min(shares)


def delayed_ns(pid):
    return sum(waited_ns(pid).values())


class Process:
    """A child whose lines go to the timeline (unless quiet)."""

    def __init__(self, line, who, args, show=True, stdin=subprocess.DEVNULL):
        self.who, self.show, self.timeline = who, show, line
        self.lines, self.new = [], queue.Queue()
        self.said_at = time.monotonic()  # the last line
        self.child = subprocess.Popen(args, stdin=stdin,
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True,
                                      errors="replace")
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for text in self.child.stdout:
            text = text.rstrip("\n")
            self.lines.append(text)
            self.said_at = time.monotonic()
            self.on_line(text)
            self.new.put(text)
        self.new.put(None)

    def on_line(self, text):
        if self.show:
            self.timeline.say(self.who, plain(text))

    def expect(self, pattern, seconds=PATIENCE_S):
        """Wait for the next line that matches; raises Failure when none comes."""
        until = time.monotonic() + seconds
        while True:
            try:
                text = self.new.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                raise Failure(f"{self.who} did not say '{pattern}' within "
                              f"{seconds} s; last: {self.last()}") from None
            if text is None:
                raise Failure(f"{self.who} ended (exit {self.child.wait()}): "
                              f"{self.last()}")
            if re.search(pattern, text):
                return text

    def last(self):
        return self.lines[-1] if self.lines else "nothing"

    def finish(self, seconds):
        """Wait for the end, which must be a good one. Raises Failure also when
        nothing new is said for @seconds: whoever shows progress is alive."""
        began = time.monotonic()
        while (code := self.child.poll()) is None:
            left = max(began, self.said_at) + seconds - time.monotonic()
            if left < 0:
                raise Failure(f"{self.who} was not done, and said nothing for "
                              f"{seconds} s; last: {self.last()}")
            try:
                self.child.wait(timeout=min(left, 1))
            except subprocess.TimeoutExpired:
                pass
        self.reader.join(timeout=PATIENCE_S)
        if code:
            raise Failure(f"{self.who} failed (exit {code}): {self.last()}")

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.terminate()
            try:
                self.child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


class Hosts:
    """At most @n hosts. board: of all NICs, or with @peer of the first one;
    link: see run_nic.py, None: the usual one of the board."""

    def __init__(self, board, link, tmp, peer=None, n=2):
        others = n - 1
        self.boards = (board, *[peer or board] * others)
        self.links = (link or run_nic.links(board)[0],
                      *[run_nic.links(peer)[0] if peer else
                        link or run_nic.links(board)[0]] * others)
        self.tmp = tmp
        self.image = None  # of the first NIC; None: the one that was made
        self.model = False  # the first NIC's board is not QEMU's
        self.line = Timeline()
        self.running = []
        self.nics = []  # processes, by host
        self.nic_options = ()  # of the first one

    def path(self, *parts):
        return os.path.join(self.tmp, *parts)

    def socket(self, host):
        return self.path(f"unicd{host}.sock")

    def start(self, who, program, *args, show=True):
        if not os.path.exists(os.path.join(BIN, program)):
            raise Failure(f"build/bin/{program} is missing; make it: make")
        if program == "unic-copy" and "serve" not in args and "--quiet" not in args:
            args += ("--progress",)  # who says something is alive: Process.finish()
        p = Process(self.line, who, [os.path.join(BIN, program), *args], show)
        self.running.append(p)
        if program == "unicd":
            stops.watch_pid(p.child.pid)
        return p

    def ctl(self, host, *args):
        r = subprocess.run([os.path.join(BIN, "unicctl"), "--socket",
                            self.socket(host), "--json", *args],
                           capture_output=True, text=True, timeout=PATIENCE_S)
        if r.returncode:
            raise Failure(f"unicctl {' '.join(args)}: {r.stderr.strip()}")
        return json.loads(r.stdout)

    def start_wire(self, *more):
        args = ["--dir", self.path("wire"), "--nics", str(len(self.links)),
                *more]
        for host, link in enumerate(self.links):
            if link != "shm":
                args += ["--lan" if link == "lan" else "--stream",
                         f"nic{host}"]
        self.start("wire", "unic-wire", *args, show=False).expect("ready")

    def bus_options(self, host):
        return run_nic.bus_options(self.boards[host])

    def start_bus(self, host):
        self.start(f"bus {host}", "unic-bus", "--dir", self.path(f"bus{host}"),
                   *self.bus_options(host), show=False).expect("ready")

    def start_nic(self, host, show=True):
        self.start_bus(host)
        self.nics.append(self.plug_nic(host, show))

    def plug_nic(self, host, show=True):
        """Start a NIC on a bus that runs."""
        bus = self.path(f"bus{host}")
        how = {"link": self.links[host],
               "image": None if host else self.image,
               "model": self.model and not host,
               "more": () if host else self.nic_options}
        if self.links[host] != "shm":
            # a stream, which may lag by more than the 10 frames of a datagram
            # socket; the address is none that a NIC on the shared-memory link
            # gives itself
            how |= {"stream": f"nic{host}",
                    "mac": f"02:75:6e:69:63:{host + 0x81:02x}"}
        try:
            args = run_nic.command(self.boards[host], bus, self.path("wire"), **how)
        except run_nic.Problem as e:
            raise Failure(str(e)) from None
        nic = Process(self.line, f"nic {host}", args, show)
        self.running.append(nic)
        stops.watch_pid(nic.child.pid)
        return nic

    def start_driver(self, host, *more):
        """Start unicd, with the product's parameters unless @more has others."""
        self.start(f"unicd {host}", "unicd", "--bus", self.path(f"bus{host}"),
                   "--socket", self.socket(host), "--ip", IP[host],
                   "--crash-file", self.path(f"crash{host}"),
                   *DELIVER,
                   *run_nic.driver_options(self.boards[host],
                                           self.path(f"bus{host}")), *more,
                   show=False).expect("ready")

    def wait_nic(self, host):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            info = self.ctl(host, "info")
            if info["nic"] == "ready":
                self.line.say(f"host {host}",
                              f"NIC ready: {info['build']}, {IP[host]}, TLB of "
                              f"{info['tlb_entries']} entries, grace T "
                              f"{info['grace_us'] / 1000:g} ms")
                return info
            time.sleep(0.05)
        raise Failure(f"the NIC of host {host} is {info['nic']} after "
                      f"{PATIENCE_S} s")

    def start_all(self, *driver):
        """Start each host's NIC, and its driver with options @driver, until all are
        ready."""
        for host in range(len(self.links)):
            self.start_nic(host, show=False)
            self.start_driver(host, *driver)
        for host in range(len(self.links)):
            self.wait_nic(host)

    def wait_link(self, host):
        """A PHY negotiates for seconds, which CONNECT does not wait for."""
        until = time.monotonic() + PATIENCE_S
        while not self.ctl(host, "info")["link_up"]:
            if time.monotonic() > until:
                raise Failure(f"the link of host {host} stays down")
            time.sleep(0.05)

    def end(self):
        for p in reversed(self.running):
            p.end()
