#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""virt.py - the headline points of docs/evidence/evaluation.md once more, on two
NICs in QEMU with the real driver, library and tools: who holds what beside a greedy
process, how long waits are, what evictions do to transfers and to messages.

    virt.py [--board virt|soft] [--out FILE]

Writes docs/evidence/eval/virt.csv: what was found here, and what the simulator says
(from the CSV files beside it). Takes real time, so no two runs are alike. The
exit code is 1 if something is not as the simulator promises.
"""
import argparse
import csv
import os
import shutil
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "qemu"))
import made                              # noqa: E402
import stops                             # noqa: E402
import report                            # noqa: E402
import unicd_client as u                 # noqa: E402
from demo import Trace                   # noqa: E402
from hosts import BIN, IP, Failure, Hosts, sha256  # noqa: E402
from tables import num, pick             # noqa: E402

MANY = 4  # processes, a greedy one among them
CHUNK = 8  # entries of a region
SAMPLES = 20
FILES = 6  # of each kind
FILE_BYTES = 1 << 20
SHORT_US = 1000  # T, to be outlived by operations


def jain(x):
    return sum(x) ** 2 / (len(x) * sum(v * v for v in x)) if any(x) else 0


class Meek:
    """A process that wants an equal part and keeps it. It waits for each region,
    one after the other."""

    def __init__(self, socket, entries):
        self.client = u.Client(socket, b"meek")
        self.client.hello()
        self.client.frames(entries)
        self.pd, self.regions = self.client.pd(), entries // CHUNK
        self.thread = threading.Thread(target=self.take, daemon=True)
        self.thread.start()

    def take(self):
        for i in range(self.regions):
            self.client.reg(self.pd, CHUNK * 4096, shift=12, flags=u.WAIT,
                            va=u.VA0 + i * CHUNK * 4096)

    def end(self):
        self.thread.join(timeout=10)
        self.client.close()


class NotAsPromised(Failure):
    """Some points of a step are not what they should be."""


class Points(Hosts):
    def __init__(self, board, tmp, simulated):
        super().__init__(board, "shm", tmp)
        self.top, self.sim, self.rows, self.meek = tmp, simulated, [], []

    def point(self, words, here, simulated, as_promised):
        self.rows.append({"point": words, "virt": here,
                          "simulated": simulated,
                          "ok": "yes" if as_promised else "no"})
        self.line.say("point", f"{words}: {here} (simulated: {simulated})" +
                      ("" if as_promised else " - NOT AS PROMISED"))

    def begin(self):
        """Hosts that nothing has happened to yet."""
        self.tmp = tempfile.mkdtemp(prefix="run-", dir=self.top)
        self.start_wire()
        for host in (0, 1):
            self.start_nic(host, show=False)
            self.start_driver(host, "--low", "0", "--high", "0")
        self.info = [self.wait_nic(host) for host in (0, 1)][0]

    def end(self):
        for m in self.meek:
            m.end()
        super().end()
        self.running, self.nics, self.meek = [], [], []

    def step(self, test, *args):
        """The points that @test finds, which are found once more if they are not as
        promised, or it fails, and the machine stopped meanwhile (stops.py)."""
        before = len(self.rows)

        def found():
            test(*args)
            bad = [r["point"] for r in self.rows[before:] if r["ok"] != "yes"]
            if bad:
                raise NotAsPromised("; ".join(bad))

        def again():
            del self.rows[before:]
            self.end()
            self.begin()

        try:
            stops.step(found, again=again)
        except NotAsPromised:
            pass  # the rows say so

    def stop(self, *who):
        for p in [p for p in self.running if p.who in who]:
            p.end()
            self.running.remove(p)

    def hog(self, who, answer):
        return self.start(who, "unic-hog", "--socket", self.socket(0),
                          f"--answer={answer}", "--again", "--chunk", str(CHUNK),
                          show=False)

    def held(self):
        return [p.get("held", 0) for p in self.ctl(0, "ps")["procs"]]

    # ---------------------------------------------------------------- shares

    def alone(self, entries):
        self.hog("greedy", "ignore").expect("holds .* entries")
        part = 100 * max(self.held()) / entries
        sim = pick(self.sim["alone"], watermarks=0)[0]["used_pct"]
        self.point("one process alone: % of the TLB", f"{part:.1f}",
                   f"{float(sim):.1f}", part >= 99)

    def beside(self, entries):
        self.meek = [Meek(self.socket(0), entries // MANY)
                     for _ in range(MANY - 1)]
        for m in self.meek:
            m.thread.join(timeout=30)
        sums, used = [0] * MANY, 0
        for _ in range(SAMPLES):
            held = self.held()
            sums = [a + b for a, b in zip(sums, held)]
            used += sum(held)
            time.sleep(0.1)
        sim = pick(self.sim["hoard"], how="unic", meek=MANY - 1,
                   load_pct=100)[0]
        found, part = jain(sums), 100 * used / SAMPLES / entries
        self.point(f"a greedy one and {MANY - 1} that want an equal part: "
                   "Jain's index", f"{found:.4f}", f"{num(sim, 'jain_all'):.4f}",
                   found >= 0.99)
        self.point("... and % of the TLB in use", f"{part:.1f}",
                   f"{num(sim, 'used_pct'):.1f}", part >= 95)

    # ------------------------------------------------------------- transfers

    def serve(self):
        os.makedirs(self.path("server"), exist_ok=True)
        self.start("server", "unic-copy", "serve", "--dir",
                   self.path("server"), "--socket", self.socket(1),
                   show=False).expect("ready")

    def copy(self, mode, i):
        """There and back. False: it failed, or other bytes came."""
        path, back = self.path("file"), self.path("back")
        with open(path, "wb") as f:
            f.write(os.urandom(FILE_BYTES))
        for args in (("put", path, "--name", f"f{i}"),
                     ("get", f"f{i}", "--output", back)):
            p = self.start("copy", "unic-copy", *args, "--socket",
                           self.socket(0), "--peer", IP[1], "--mode", mode,
                           show=False)
            try:
                p.finish(60)
            except Failure as e:
                self.line.say("copy", str(e))
                return False
            finally:
                self.stop("copy")
        return sha256(path) == sha256(back)

    def copies(self, mode):
        return sum(not self.copy(mode, i) for i in range(FILES))

    def follow(self):
        """The NIC's trace, for its waits."""
        names = {p["proc"]: "hog" for p in self.ctl(0, "ps")["procs"]}
        self.trace = Trace(self.line, [os.path.join(BIN, "unicctl"),
                                       "--socket", self.socket(0), "--json",
                                       "trace", "--follow"],
                           self.path("trace"), names)
        self.trace.shown = False
        self.running.append(self.trace)

    def waited(self, words, info):
        time.sleep(0.1)  # the trace follows every 10 ms
        waits, self.trace.waits = self.trace.waits, []
        bound = sum(info[k] for k in ("grace_us", "deliver_us", "reaper_us",
                                      "drain_us"))
        longest = max(waits, default=0)
        rows = pick(self.sim["hoard"], how="unic") + self.sim["wait"]
        late = sum(int(r["entitled_late"]) for r in rows)
        n = sum(int(r["entitled"]) for r in rows)
        self.point(f"... {words}: REGISTER_WAITs, and the longest, ms (B = "
                   f"{bound / 1000:.0f})", f"{len(waits)}, "
                   f"{longest / 1000:.1f}", f"{late} of {n} later than B",
                   longest <= bound)

    def waiting(self, info):
        self.waited("of those", info)
        self.serve()
        failed = self.copies("rdma")
        self.point("a fifth beside them moves files there and back: those "
                   "that fail", f"{failed} of {FILES}", "0", not failed)
        self.waited("of the fifth", info)
        self.stop("server", "greedy")
        for m in self.meek:
            m.end()
        self.meek = []

    # ------------------------------------------------------------- evictions

    def evicted(self, mode, host, words, promised, more):
        """Files there and back while any region of @host is asked back."""
        before = [self.ctl(h, "stats")["nic"] for h in (0, 1)]
        self.serve()
        evictor = u.Evictor(self.socket(host))
        evictor.start()
        failed = self.copies(mode)
        evictor.end()
        self.stop("server")
        after = [self.ctl(h, "stats")["nic"] for h in (0, 1)]
        delta = {k: sum(a.get(k, 0) - b.get(k, 0)
                        for a, b in zip(after, before)) for k in after[0]}
        self.point(words, f"{failed} of {FILES} ({evictor.evicted} regions "
                   "asked back)", promised,
                   evictor.evicted and not failed)
        for key, name, simulated in more:
            self.point(f"... {name}", delta[key], simulated, True)

    def shares(self):
        self.alone(self.info["tlb_entries"])
        self.follow()
        self.beside(self.info["tlb_entries"])
        self.waiting(self.info)

    def run(self):
        self.begin()
        self.step(self.shares)
        for host, side in ((0, "local"), (1, "remote")):
            rows = pick(self.sim["grace"], manager=1, side=side)
            self.step(self.evicted, "rdma", host, "buffer manager on both sides, "
                      f"regions of the {side} host asked back: "
                      "files that fail",
                      f"{sum(int(r['failed']) for r in rows)} of "
                      f"{sum(int(r['trials']) for r in rows)}",
                      [("evicted_busy", "regions taken in use", "")])
        rows = self.sim["message"]
        self.step(self.evicted, "rpc", 1, "calls with messages, regions of the server "
                  "asked back: files that fail",
                  f"{sum(int(r['failed']) for r in rows)} of "
                  f"{sum(int(r['sent']) for r in rows)} messages",
                  [("msg_evicted", "message buffers taken",
                    sum(int(r["evicted_msg"]) for r in rows)),
                   ("tx_rnr_naks", "RNR NAKs (the last buffer posted may "
                    "be taken here)", "0 while another is posted")])
        for host, side in ((0, "local"), (1, "remote")):
            self.step(self.short_grace, host, f"regions of the {side} host asked "
                      "back, T = 1 ms, a user that connects again: files "
                      "that fail")

    def short_grace(self, host, words):
        for h in (0, 1):
            with u.Client(self.socket(h), b"T") as c:
                c.call(u.PARAMS, u.struct.pack("<I", SHORT_US))
        self.evicted("rdma", host, words, "0",
                     [("evicted_busy", "regions taken in use", "")])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=("virt", "soft"), default="virt")
    p.add_argument("--out", default=os.path.join(
        ROOT, "docs/evidence/eval/virt.csv"))
    args = p.parse_args()
    tmp = tempfile.mkdtemp(prefix="unic-virt-")
    points = Points(args.board, tmp,
                    report.load(os.path.join(ROOT, "docs/evidence/eval")))
    try:
        points.run()
    finally:
        points.end()
        shutil.rmtree(tmp, ignore_errors=True)
    with open(args.out, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(points.rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(points.rows)
    made.note(os.path.dirname(args.out), "virt")
    bad = sum(r["ok"] != "yes" for r in points.rows)
    print(f"{len(points.rows) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
