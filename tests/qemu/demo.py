#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The whole story in one run: two hosts with a NIC each; on host 0 three greedy
processes fill the NIC TLB (one answers upcalls, one ignores them, one is
stopped), and a meek one moves a file to host 1 and back all the same, by RDMA
and by calls with payload tokens. Prints what happens as it happens. The last
line is "demo: ok", or the reason why not (exit 1).

    demo.py [--board virt|soft] [--file FILE] [--loss 1%] [--keep]
"""
import argparse
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "bin")
OUT = os.path.join(ROOT, "build", "demo")
sys.path.insert(0, os.path.join(ROOT, "qemu"))
import run_nic  # noqa: E402

DEFAULT_BYTES = 8 << 20
START_S = 10
ROUNDS = 5
IP = ("10.0.0.1", "10.0.0.2")
# What of the NIC's trace is worth a line of the timeline.
SHOWN = ("WAIT", "GRANT", "WAIT_END", "NOTICE", "ACKED", "RELEASE", "OFFER",
         "EXTEND", "DEADLINE", "EVICTED", "DRIVER_FAILED")


class Failure(Exception):
    """Why the demo did not work, in words."""


class Timeline:
    """Lines with the time since the start, from many threads."""

    def __init__(self):
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def say(self, who, text, at=None):
        at = (at or time.monotonic()) - self.start
        with self.lock:
            print(f"{at:7.3f}  {who:<12} {text}", flush=True)


class Process:
    """A child whose lines go to the timeline (unless quiet)."""

    def __init__(self, line, who, args, show=True):
        self.who, self.show, self.timeline = who, show, line
        self.lines, self.new = [], queue.Queue()
        self.child = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True,
                                      errors="replace")
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for text in self.child.stdout:
            text = text.rstrip("\n")
            self.lines.append(text)
            self.on_line(text)
            self.new.put(text)
        self.new.put(None)

    def on_line(self, text):
        if self.show:
            self.timeline.say(self.who, re.sub(r"^(unic-\w+|hog \d+): ", "",
                                               text))

    def expect(self, pattern, seconds=START_S):
        """The next line that matches; Failure when none comes."""
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
        try:
            code = self.child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.who} was not done after {seconds} s; last: "
                          f"{self.last()}") from None
        self.reader.join(timeout=2)
        if code:
            raise Failure(f"{self.who} failed (exit {code}): {self.last()}")

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.terminate()
            try:
                self.child.wait(timeout=3)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


class Trace(Process):
    """unicctl trace --follow: everything into a file, evictions shown."""

    def __init__(self, line, args, path, names):
        self.file = open(path, "w", encoding="utf-8")
        self.names, self.shown, self.waits = names, True, []
        super().__init__(line, "nic 0", args, show=False)

    def on_line(self, text):
        try:
            event = json.loads(text)
        except ValueError:
            return
        self.file.write(f"{event['time_ns'] / 1e9:14.9f} {event['event']:<13} "
                        f"proc {event['proc']:<5} {event['text']}\n")
        who = self.names.get(event["proc"], "meek")
        granted = re.search(r"granted after (\d+) us", event["text"])
        if granted and who == "meek":
            self.waits.append(int(granted.group(1)))
        if event["event"] in SHOWN and self.shown:
            # When it happened: the line itself comes a little later.
            self.timeline.say("nic 0", f"{who}: {event['text']}",
                              event.get("host_ns", 0) / 1e9)

    def end(self):
        super().end()
        self.reader.join(timeout=2)
        self.file.close()


class Demo:
    def __init__(self, options, tmp):
        self.o, self.tmp = options, tmp
        self.line = Timeline()
        self.running = []
        self.names = {}  # slot on host 0 -> name

    def path(self, *parts):
        return os.path.join(self.tmp, *parts)

    def socket(self, host):
        return self.path(f"unicd{host}.sock")

    def start(self, who, program, *args, show=True):
        p = Process(self.line, who, [os.path.join(BIN, program), *args], show)
        self.running.append(p)
        return p

    def ctl(self, host, *args):
        r = subprocess.run([os.path.join(BIN, "unicctl"), "--socket",
                            self.socket(host), "--json", *args],
                           capture_output=True, text=True, timeout=START_S)
        if r.returncode:
            raise Failure(f"unicctl {' '.join(args)}: {r.stderr.strip()}")
        return json.loads(r.stdout)

    # -------------------------------------------------------- the two hosts

    def start_wire(self):
        args = ["--dir", self.path("wire"), "--nics", "2",
                "--pcap", os.path.join(OUT, "demo.pcap")]
        if self.o.loss:
            args += ["--loss", self.o.loss]
        self.start("wire", "unic-wire", *args, show=False).expect("ready")
        self.line.say("wire", "ready" + (f", losing {self.o.loss} of frames"
                                         if self.o.loss else ""))

    def start_host(self, host):
        bus = self.path(f"bus{host}")
        self.start(f"bus {host}", "unic-bus", "--dir", bus,
                   show=False).expect("ready")
        try:
            args = run_nic.command(self.o.board, bus, self.path("wire"))
        except run_nic.Problem as e:
            raise Failure(str(e)) from None
        self.running.append(Process(self.line, f"nic {host}", args))
        # --low 0: no entries are reaped ahead of demand, so the TLB is really
        # full when the meek process comes.
        self.start(f"unicd {host}", "unicd", "--bus", bus, "--socket",
                   self.socket(host), "--ip", IP[host], "--low", "0",
                   "--high", "0", "--crash-file", self.path(f"crash{host}"),
                   show=False).expect("unicd: ready")

    def wait_nic(self, host):
        until = time.monotonic() + START_S
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
                      f"{START_S} s")

    # ------------------------------------------------------------- the hogs

    def start_hogs(self, entries):
        third = entries // 3
        plans = (("hog-release", ["--answer=release", "--again", "--max",
                                  str(third)]),
                 ("hog-ignore", ["--answer=ignore", "--again", "--max",
                                 str(third)]),
                 ("hog-stopped", ["--answer=release"]))
        for who, args in plans:
            hog = self.start(who, "unic-hog", "--socket", self.socket(0), *args)
            hog.expect("holds .* entries")
        os.kill(hog.child.pid, signal.SIGSTOP)
        self.line.say(who, "is stopped (SIGSTOP)")
        self.show_ps()

    def show_ps(self):
        pids = {p.child.pid: p.who for p in self.running}
        for p in self.ctl(0, "ps")["procs"]:
            name = pids.get(p["pid"], p["name"])
            if name.startswith("hog"):
                self.names[p["proc"]] = name
            self.line.say("ps", f"{name:<12} holds {p.get('held', 0):4} "
                          f"fair share {p.get('fair_share', 0):4} borrowed "
                          f"{p.get('borrowed', 0):4} waits {p['waits']} "
                          f"upcalls {p['upcalls']}")

    # ------------------------------------------------------------ transfers

    def copy(self, what, mode, size, *args):
        who = f"{what} {mode}"
        p = self.start(who, "unic-copy", what, *args, "--socket",
                       self.socket(0), "--peer", IP[1], "--mode", mode,
                       "--stats")
        time.sleep(0.02)
        p.finish(60 + size / 1e6)

    def check_same(self, path, digest, what):
        if sha256(path) != digest:
            raise Failure(f"{what}: SHA-256 of {path} differs")

    def transfers(self, path, digest, size):
        server = self.path("server")
        os.mkdir(server)
        self.start("server", "unic-copy", "serve", "--dir", server, "--socket",
                   self.socket(1)).expect("ready")
        for mode in ("rdma", "rpc"):
            name, back = f"file-{mode}", self.path(f"back-{mode}")
            self.copy("put", mode, size, path, "--name", name)
            self.check_same(os.path.join(server, name), digest, f"put {mode}")
            self.show_ps()
            self.copy("get", mode, size, name, "--output", back)
            self.check_same(back, digest, f"get {mode}")
            self.line.say("sha256", f"{mode}: equal at both ends, there and "
                          "back")

    def see_both(self):
        """A tiny file needs few entries: then one more that needs some, until
        a release and a deadline were seen."""
        for _ in range(ROUNDS):
            nic = self.ctl(0, "stats")["nic"]
            if nic["released"] and nic["deadlines"]:
                return
            self.line.say("demo", "the file was too small to see both kinds of "
                          "hog give back: one more")
            path = made_file(self.tmp)
            self.copy("put", "rdma", DEFAULT_BYTES, path, "--name", "more")
            time.sleep(0.1)

    # --------------------------------------------------------------- report

    def report(self, info, waits):
        stats = self.ctl(0, "stats")
        nic = stats["nic"]
        print("\ncounters of NIC 0:")
        for key in ("tx_frames", "rx_frames", "retransmits", "dma_bytes",
                    "waits_queued", "waits_granted", "wait_us_total", "notices",
                    "released", "deadlines", "evicted_entries", "evicted_busy",
                    "tokens_allocated", "tokens_used"):
            print(f"  {key:<18} {nic.get(key, 0)}")
        bound = sum(info[k] for k in ("grace_us", "deliver_us", "reaper_us",
                                      "drain_us"))
        longest = max(waits, default=0)
        print(f"the meek process waited {len(waits)} times, "
              f"{sum(waits) / 1000:.1f} ms in all")
        print(f"longest wait of the meek process: {longest / 1000:.1f} ms "
              f"(promised bound B = {bound / 1000:.1f} ms)")
        print(f"capture: {rel(os.path.join(OUT, 'demo.pcap'))}   "
              f"trace: {rel(os.path.join(OUT, 'trace.txt'))}")
        for key in ("released", "deadlines", "waits_granted"):
            if not nic.get(key):
                raise Failure(f"no contention was seen: {key} is 0")
        if longest > bound:
            raise Failure(f"a wait took {longest} us, longer than B")

    def run(self, path):
        size, digest = os.path.getsize(path), sha256(path)
        self.line.say("demo", f"{path}: {size} bytes, sha256 {digest}")
        self.start_wire()
        for host in (0, 1):
            self.start_host(host)
        info = [self.wait_nic(host) for host in (0, 1)][0]
        trace = Trace(
            self.line, [os.path.join(BIN, "unicctl"), "--socket",
                        self.socket(0), "--json", "trace", "--follow"],
            os.path.join(OUT, "trace.txt"), self.names)
        self.running.append(trace)
        self.start_hogs(info["tlb_entries"])
        self.transfers(path, digest, size)
        self.see_both()
        trace.shown = False  # how everybody ends is in the file
        time.sleep(0.05)  # the trace follows every 10 ms
        self.report(info, trace.waits)

    def post_mortem(self):
        """What the parts that are not on the timeline said last."""
        for p in self.running:
            if not p.show and not isinstance(p, Trace):
                for text in p.lines[-3:]:
                    print(f"  {p.who}: {text}")
            if p.child.poll():
                print(f"  {p.who}: ended, exit {p.child.returncode}")

    def end(self):
        for p in reversed(self.running):
            p.end()


def rel(path):
    return os.path.relpath(path, os.getcwd())


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()


def input_file(options, tmp):
    if not options.file:
        return made_file(tmp)
    if not os.path.isfile(options.file):
        raise Failure(f"{options.file} is no file")
    return options.file


def made_file(tmp):
    path = os.path.join(tmp, "made-on-the-spot")
    with open(path, "wb") as f:
        f.write(os.urandom(DEFAULT_BYTES))
    return path


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=("virt", "soft"), default="virt")
    p.add_argument("--file", metavar="FILE", help="what to move")
    p.add_argument("--loss", metavar="RATE", help="of frames, such as 1%%")
    p.add_argument("--keep", action="store_true",
                   help="keep the working folder, for debugging")
    return p.parse_args()


def on_term(_sig, _frame):
    raise Failure("interrupted")


def main():
    options = parse()
    signal.signal(signal.SIGTERM, on_term)
    os.makedirs(OUT, exist_ok=True)
    tmp = tempfile.mkdtemp(prefix="unic-demo-")
    demo = Demo(options, tmp)
    reason = None
    try:
        demo.run(input_file(options, tmp))
    except Failure as e:
        reason = str(e)
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        if reason:
            demo.post_mortem()
        demo.end()
        if options.keep:
            print(f"working folder: {tmp}")
        else:
            shutil.rmtree(tmp, ignore_errors=True)
    if reason:
        print(f"demo: failed: {reason}")
        return 1
    print("demo: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
