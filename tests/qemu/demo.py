#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The whole story in one run: two hosts with a NIC each; on host 0 three greedy
processes fill the NIC TLB (one answers upcalls, one ignores them, one is
stopped), and a meek one moves a file to host 1 and back all the same, by RDMA
and by calls with payload tokens. Prints the story, and on a terminal who holds the table now
and how long a grace still is; all lines are in build/demo/log (--verbose: here). The last
line is "demo: ok", or the reason why not (exit 1).

    demo.py [--board virt|mps2-an385|lm3s6965evb|ek-tm4c1294xl|soft] [--model]
            [--peer BOARD] [--link shm|virtio] [--file FILE] [--loss 1%] [--verbose] [--keep]
"""
import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time

import stops
import story
from hosts import (BIN, IP, PATIENCE_S, ROOT, Failure, Hosts, Process,
                   plain, run_nic, sha256)


OUT = os.path.join(ROOT, "build", "demo")
# Bytes of the file, greedy processes (beside three, no share would have room
# for the queues of unic-copy), board of host 1.
DEFAULTS = {"lm3s6965evb": (64 << 10, 1, "soft"),
            "ek-tm4c1294xl": (16 << 10, 1, "soft")}
USUAL = (8 << 20, 3, None)
ROUNDS = 5
# A model on a busy machine takes so much longer than its board for the same work.
SLOW_MODEL = 10
# What of the NIC's trace is worth a line of the timeline.
SHOWN = ("WAIT", "GRANT", "WAIT_END", "NOTICE", "ACKED", "RELEASE", "OFFER",
         "EXTEND", "DEADLINE", "EVICTED", "DRIVER_FAILED")
# Hogs: the letter of their entries in the picture of the table, and what they do.
HOGS = {"hog-release": ("R", "gives back what it is asked for"),
        "hog-ignore": ("I", "ignores what it is asked"),
        "hog-stopped": ("S", "is stopped, and cannot answer")}
MEEK = "m"
# WRITEs that are alone: how many, and how many of a hundred take the short way on boards that
# have it, over a link that needs no checksums and loses nothing.
LONE, LONE_SHARE = 1000, 90


class Events:
    """Lines of unicctl trace: everything goes to a file, evictions are shown.
    ahead: seconds by which host 0's clock is ahead of ours."""

    def __init__(self, timeline, path, names, ahead=0):
        self.file = open(path, "w", encoding="utf-8")
        self.timeline, self.names, self.ahead = timeline, names, ahead
        self.shown, self.waits, self.graces = True, [], story.Graces()

    def on_line(self, text):
        try:
            event = json.loads(text)
        except ValueError:
            return
        self.file.write(f"{event['time_ns'] / 1e9:14.9f} {event['event']:<13} "
                        f"proc {event.get('proc', '-'):<5} {event['text']}\n")
        who = self.names.get(event.get("proc"), "meek")
        # When it happened: the line itself comes a little later.
        at = event.get("host_ns", 0) / 1e9 - self.ahead
        self.graces.on_event(event["event"], who, event["text"], at)
        granted = re.search(r"granted after (\d+) us", event["text"])
        if granted and who == "meek":
            self.waits.append(int(granted.group(1)))
        if event["event"] in SHOWN and self.shown:
            self.timeline.say("nic 0", f"{who}: {event['text']}", at)


class Trace(Events, Process):
    """unicctl trace --follow."""

    def __init__(self, line, args, path, names):
        Events.__init__(self, line, path, names)
        Process.__init__(self, line, "nic 0", args, show=False)

    def end(self):
        super().end()
        self.reader.join(timeout=2)
        self.file.close()


class Demo(Hosts):
    CAPTURE, TRACE, LOG = "demo.pcap", "trace.txt", "log"

    def __init__(self, options, tmp):
        self.bytes, self.hogs, peer = DEFAULTS.get(options.board, USUAL)
        super().__init__(options.board, options.link, tmp,
                         options.peer or peer)
        self.o = options
        self.image = options.image
        self.model = options.model or options.board in run_nic.ONLY_MODELS
        self.names = {}  # slot on host 0 -> name
        self.done, self.doing = False, ""
        if not options.verbose:
            self.line = story.Story(self.path(self.LOG))

    def start_hosts(self):
        loss = self.o.loss
        self.start_wire("--pcap", self.path(self.CAPTURE),
                        *(["--loss", loss] if loss else []))
        self.line.say("wire", "ready" + (f", losing {loss} of frames"
                                         if loss else ""))
        for host in (0, 1):
            self.start_nic(host)
            self.start_driver(host)
        info = [self.wait_nic(host) for host in (0, 1)][0]
        self.wait_link(0)
        return info

    def start_trace(self):
        trace = Trace(
            self.line, [os.path.join(BIN, "unicctl"), "--socket",
                        self.socket(0), "--json", "trace", "--follow"],
            self.path(self.TRACE), self.names)
        self.running.append(trace)
        return trace

    def end(self):
        """Keeps what was seen, each file as a whole: another demo may run. What a demo
        that failed has seen is not all there is, and goes elsewhere."""
        super().end()
        self.line.close()
        out = OUT if self.done else os.path.join(OUT, "failed")
        os.makedirs(out, exist_ok=True)
        for name in (self.CAPTURE, self.TRACE, self.LOG):
            if os.path.exists(self.path(name)):
                new = os.path.join(out, f"{name}.{os.getpid()}")
                shutil.move(self.path(name), new)
                os.replace(new, os.path.join(out, name))
        if self.line.path and not self.done:
            print(f"all lines: {rel(os.path.join(out, self.LOG))}")

    # ------------------------------------------------------------- the hogs

    def start_hogs(self, entries):
        most = entries // 3 if self.hogs > 1 else entries * 3 // 4
        plans = (("hog-release", ["--answer=release", "--again", "--max",
                                  str(most)]),
                 ("hog-ignore", ["--answer=ignore", "--again", "--max",
                                 str(most)]),
                 ("hog-stopped", ["--answer=release"]))
        for who, args in plans[:self.hogs]:
            hog = self.start(who, "unic-hog", "--socket", self.socket(0), *args)
            hog.expect("holds .* entries")
            if who == "hog-stopped":
                hog.child.send_signal(signal.SIGSTOP)
                self.line.say(who, "is stopped (SIGSTOP)")
        self.show_ps()
        self.tell_holdings(entries)
        for slot, name in self.names.items() if self.o.policy else ():
            self.ctl(0, "policy", str(slot), "--policy", self.o.policy)
            self.line.say("policy", f"{name}: its regions go by "
                          f"'{self.o.policy}'")

    def pids(self):
        """The names of the processes on host 0, by pid."""
        return {p.child.pid: p.who for p in self.running}

    def holdings(self):
        """[(name, entries)] of the processes on host 0 that hold some, hogs first."""
        pids = self.pids()
        held = [(pids.get(p["pid"], p["name"]), p.get("held", 0))
                for p in self.ctl(0, "ps")["procs"]]
        order = [*HOGS]
        return sorted((h for h in held if h[1]),
                      key=lambda h: order.index(h[0]) if h[0] in HOGS else len(HOGS))

    def tell_holdings(self, entries):
        held = self.holdings()
        self.line.tell(f"{len(self.names)} greedy processes fill the table of host 0 "
                       f"({sum(n for _, n in held)} of {entries} entries):")
        for name, n in held:
            letter, does = HOGS.get(name, (MEEK, ""))
            self.line.tell(f"  {story.bar([(letter, n)], entries)} {n:4}  {name:<12} {does}")

    def letters(self):
        return [(HOGS.get(name, (MEEK,))[0], n) for name, n in self.holdings()]

    def show_ps(self):
        pids = self.pids()
        for p in self.ctl(0, "ps")["procs"]:
            name = pids.get(p["pid"], p["name"])
            if name.startswith("hog"):
                self.names[p["proc"]] = name
            self.line.say("ps", f"{name:<12} holds {p.get('held', 0):4} "
                          f"fair share {p.get('fair_share', 0):4} borrowed "
                          f"{p.get('borrowed', 0):4} waits {p['waits']} "
                          f"upcalls {p['upcalls']}")

    # ------------------------------------------------------------ transfers

    def wait_slot(self):
        """Wait until a process slot of host 0 is free."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            info = self.ctl(0, "info")
            if info["slots_used"] < info["slots"]:
                return
            time.sleep(0.05)

    def copy(self, what, mode, size, *args, residency=None):
        who = f"{what} {mode}"
        self.wait_slot()
        slow = SLOW_MODEL if self.model else 1
        p = self.start(who, "unic-copy", what, *args, "--socket",
                       self.socket(0), "--peer", IP[1], "--mode", mode,
                       "--residency", residency or self.o.mode, "--stats",
                       *(["--timeout", str(10 * slow)] if self.model else []))
        time.sleep(0.02)
        self.doing = who
        p.finish((60 + size / 1e4) * slow)
        self.doing = ""
        self.tell_copy(p)

    def tell_copy(self, p):
        """One line of a transfer that is over, from what unic-copy said."""
        lines = [plain(text) for text in p.lines]
        counts = {words[0]: words[1] for words in map(str.split, lines) if len(words) > 1}
        took = re.search(r"in [\d.]+ s, [\d.]+ \w+/s", "\n".join(lines))
        self.line.tell(f"  {p.who:<8} {took.group(0) if took else 'done'}; it waited for entries "
                       f"{story.times(counts.get('waits', 0))}, {int(counts.get('wait_us_max', 0)) / 1000:.1f} ms "
                       "at most")

    def here(self, name):
        """Path of a file on host 0."""
        return self.path(name)

    def made_file(self, size):
        path = self.here("made-on-the-spot")
        with open(path, "wb") as f:
            f.write(os.urandom(size))
        return path

    def digest_here(self, path):
        return sha256(path)

    def check_same(self, digest, other, what):
        if digest != other:
            raise Failure(f"{what}: SHA-256 differs")

    def transfers(self, path, digest, size):
        server = self.path("server")
        os.mkdir(server)
        self.start("server", "unic-copy", "serve", "--dir", server, "--socket",
                   self.socket(1), "--residency",
                   self.o.mode).expect("ready")
        for mode in ("rdma", "rpc"):
            name, back = f"file-{mode}", self.here(f"back-{mode}")
            self.copy("put", mode, size, path, "--name", name)
            self.check_same(sha256(os.path.join(server, name)), digest,
                            f"put {mode}")
            self.show_ps()
            self.copy("get", mode, size, name, "--output", back)
            self.check_same(self.digest_here(back), digest, f"get {mode}")
            self.line.tell(f"  {mode}: SHA-256 is equal at both ends, there and back")

    def kinds(self):
        """Names of the counters that the hogs raise."""
        return ("released", "deadlines")[:self.hogs]

    def see_both(self):
        """Copy more files, with resident buffers, until a release and a
        deadline were seen: a tiny file needs few entries, and buffers that
        come on demand make room among themselves."""
        for _ in range(ROUNDS):
            nic = self.ctl(0, "stats")["nic"]
            if all(nic[key] for key in self.kinds()):
                return
            self.line.say("demo", "too little was asked for to see both kinds "
                          "of hog give back: one more, resident")
            path = self.made_file(self.bytes)
            self.copy("put", "rdma", self.bytes, path, "--name", "more",
                      residency="resident")
            time.sleep(0.1)

    def lone(self):
        """Small WRITEs of one at a time, beside the hogs: most must take the short way."""
        before, there = (self.ctl(host, "stats")["nic"] for host in (0, 1))
        serve = self.start("lone server", "unic-perf", "serve", "--socket", self.socket(1))
        serve.expect("ready")
        self.wait_slot()
        perf = self.start("lone", "unic-perf", "latency", IP[1], "--socket", self.socket(0),
                          "--bytes", "8", "--count", str(LONE))
        perf.finish(60 * (SLOW_MODEL if self.model else 1))
        until = time.monotonic() + PATIENCE_S
        sent = other = placed = 0
        while (sent + other < LONE or 100 * placed < LONE_SHARE * LONE) and time.monotonic() < until:
            time.sleep(0.05)  # they come with a heartbeat
            after = self.ctl(0, "stats")["nic"]
            sent, other = (after[key] - before[key] for key in ("lone_sent", "lone_other"))
            placed = self.ctl(1, "stats")["nic"]["lone_placed"] - there["lone_placed"]
        share = 100 * sent / max(sent + other, 1)
        self.line.tell(f"{sent} of {sent + other} WRITEs of 8 bytes that were alone took the short way "
                       f"({share:.1f} %), {placed} at the other end")
        if sent + other < LONE or min(share, 100 * placed / LONE) < LONE_SHARE:
            raise Failure(f"lone_sent {sent}, lone_other {other}, lone_placed {placed}: less than "
                          f"{LONE_SHARE} %")

    def has_short_way(self):
        return (self.o.board in ("virt", "soft") and self.o.link in (None, "shm")
                and not self.o.loss and not self.model)

    # --------------------------------------------------------------- report

    def report(self, info, waits):
        stats = self.ctl(0, "stats")
        nic = stats["nic"]
        for key in ("tx_frames", "rx_frames", "retransmits", "dma_bytes",
                    "waits_queued", "waits_granted", "wait_us_total", "notices",
                    "released", "deadlines", "evicted_entries", "evicted_busy",
                    "idle_asked",
                    "tokens_allocated", "tokens_used", "misses",
                    "miss_filled", "table_filled", "cache_dropped"):
            self.line.say("counter", f"{key:<18} {nic.get(key, 0)}")
        bound = sum(info[k] for k in ("grace_us", "deliver_us", "reaper_us",
                                      "drain_us"))
        longest = max(waits, default=0)
        self.line.tell(f"the NIC asked {story.times(nic['notices'])} for entries: {nic['released']} were given "
                       f"back, {nic['deadlines']} taken at the end of the grace")
        self.line.tell(f"the meek process waited {story.times(len(waits))}, {sum(waits) / 1000:.1f} ms in all, "
                       f"{longest / 1000:.1f} ms at most (promised bound B = {bound / 1000:.1f} ms)")
        self.line.tell("  ".join(f"{what}: {rel(os.path.join(OUT, name))}" for what, name in self.files()))
        seen = {"resident": "waits_granted", "demand": "miss_filled",
                "table": "table_filled"}[self.o.mode]
        for key in (*self.kinds(), seen):
            if not nic.get(key):
                raise Failure(f"no contention was seen: {key} is 0")
        if longest > bound:
            raise Failure(f"a wait took {longest} us, longer than B")

    def files(self):
        """[(what, name)] of the files that are left."""
        return [("capture", self.CAPTURE), ("trace", self.TRACE),
                *([("all lines", self.LOG)] if self.line.path else [])]

    def run(self, path):
        size, digest = os.path.getsize(path), sha256(path)
        self.line.say("demo", f"{path}: {size} bytes, sha256 {digest}")
        info = self.start_hosts()
        entries = info["tlb_entries"]
        self.line.tell(f"two hosts, each with a NIC ({', '.join(self.boards)}), "
                       f"a grace of {info['grace_us'] / 1000:g} ms")
        trace = self.start_trace()
        self.start_hogs(entries)
        self.line.tell(f"a meek one moves {size} bytes to host 1 and back, "
                       f"{self.o.mode} buffers:")
        live = story.Live(self.line, entries, self.letters, trace.graces, lambda: self.doing)
        if self.line.live:
            live.start()
        try:
            self.transfers(path, digest, size)
            self.see_both()
            if self.has_short_way():
                self.lone()
        finally:
            if live.is_alive():
                live.end()
        trace.shown = False  # the ends of all processes are in the file
        time.sleep(0.05)  # the trace follows every 10 ms
        self.report(info, trace.waits)
        self.done = True

    def post_mortem(self):
        """Print the last lines of the parts that are not on the timeline."""
        for p in self.running:
            if not p.show and not isinstance(p, Trace):
                for text in p.lines[-3:]:
                    print(f"  {p.who}: {text}")
            if p.child.poll():
                print(f"  {p.who}: ended, exit {p.child.returncode}")


def rel(path):
    return os.path.relpath(path, os.getcwd())


def input_file(options, demo):
    if not options.file:
        return demo.made_file(demo.bytes)
    if not os.path.isfile(options.file):
        raise Failure(f"{options.file} is no file")
    return options.file


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=run_nic.BOARDS, default="virt")
    p.add_argument("--model", action="store_true",
                   help="the first board on a model as strict as its data sheet")
    p.add_argument("--peer", choices=run_nic.BOARDS,
                   help="board of host 1 (the same)")
    p.add_argument("--link", choices=("shm", "virtio", "lan"),
                   help="rings in shared memory, or virtio-net (virt only)")
    p.add_argument("--mode", choices=("resident", "demand", "table"),
                   default="resident", help="residency of the copy's buffers")
    p.add_argument("--policy", choices=("default", "random", "lru", "s3fifo",
                                        "app", "lfu"),
                   help="which of a hog's regions go first")
    p.add_argument("--file", metavar="FILE", help="what to move")
    p.add_argument("--image", help="of the first NIC, if not the one made last")
    p.add_argument("--loss", metavar="RATE", help="of frames, such as 1%%")
    p.add_argument("--verbose", action="store_true", help="print all lines")
    p.add_argument("--keep", action="store_true",
                   help="keep the working folder, for debugging")
    return p.parse_args()


def on_term(_sig, _frame):
    raise KeyboardInterrupt


def play(kind, make, run, keep):
    """Make a story by make(folder), and run it."""
    tmp = tempfile.mkdtemp(prefix=f"unic-{kind}-")
    story = make(tmp)
    try:
        run(story)
    except BaseException:
        story.post_mortem()
        raise
    finally:
        story.end()
        if keep:
            print(f"working folder: {tmp}")
        else:
            shutil.rmtree(tmp, ignore_errors=True)


def tell(kind, make, run, keep):
    """Play the story, once more where the machine stopped; the last line printed is the
    result. Returns the exit code."""
    reason = None
    try:
        stops.step(play, kind, make, run, keep)
    except Failure as e:
        reason = str(e)
    except KeyboardInterrupt:
        reason = "interrupted"
    stops.DOG.tell()
    if reason:
        print(f"{kind}: failed: {reason}")
        return 1
    print(f"{kind}: ok")
    return 0


def main():
    options = parse()
    signal.signal(signal.SIGTERM, on_term)
    os.makedirs(OUT, exist_ok=True)
    return tell("demo", lambda tmp: Demo(options, tmp),
                lambda demo: demo.run(input_file(options, demo)), options.keep)


if __name__ == "__main__":
    sys.exit(main())
