#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a process pins, batches, addresses, uses, waits for and advises, and what it hears of tokens, with libunic,
driver and a NIC that talks to itself (tests/qemu/memory.c, tokens.c, lists.c).

    test_memory.py [--board soft|virt|mps2-an385] [--only NAME]
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

import hosts
import functions
import stops
import unicd_client as u


class Program:
    """build/bin/memory, or another, with its lines and its input."""

    def __init__(self, rig, *what, name="memory"):
        self.child = subprocess.Popen(
            [f"{hosts.BIN}/{name}", rig.socket(0), *what], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def line(self):
        text = self.child.stdout.readline().rstrip("\n")
        if not text:
            self.child.wait(timeout=hosts.PATIENCE_S)
            raise hosts.Failure(self.child.stderr.read().strip() or
                                f"exit {self.child.returncode}")
        return text

    def go_on(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def finish(self):
        if self.line() != "ok" or self.child.wait(timeout=hosts.PATIENCE_S):
            raise hosts.Failure("it did not end well")

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for f in (self.child.stdin, self.child.stdout, self.child.stderr):
            f.close()


def must(cond, what):
    if not cond:
        raise hosts.Failure(what)


def before_long(met):
    until = time.monotonic() + hosts.PATIENCE_S
    while not met() and time.monotonic() < until:
        time.sleep(0.01)


def ps(rig, pid):
    return next((p for p in rig.ctl(0, "ps")["procs"] if p["pid"] == pid), None)


def test_pins(rig, program):
    """The ledger is right at every step: overlaps, read-only pages, copy on
    write, files, memory that is unmapped while it is registered."""
    p = program("pins")
    must(p.line() == "base", "no base")
    base = ps(rig, p.child.pid)["pinned"]
    must(base > 0, "queues pin nothing")
    p.go_on()
    steps = 0
    while (text := p.line()) != "ok":
        _, pages, what = text.split(" ", 2)
        now = ps(rig, p.child.pid)["pinned"] - base
        must(now == int(pages), f"{what}: {now} frames pinned, not {pages}")
        steps += 1
        p.go_on()
    must(steps >= 13, f"only {steps} steps")


def small(rig):
    return rig.boards[0] == "mps2-an385"


def none_left(rig, pid):
    """Wait until the NIC and the driver have nothing of the process."""
    before_long(lambda: not (left := ps(rig, pid)) or
                (left["state"] == "held" and left["pinned"] == 0))
    left = ps(rig, pid)
    must(not left or left["pinned"] == 0, f"left behind: {left}")
    for table in ("mr", "qp", "cq", "tlb"):
        rows = rig.ctl(0, table)
        must(not rows, f"{table}: {len(rows)} rows are left")


def test_exits(rig, program):
    """A process ends while the NIC moves its bytes, by itself or by SIGKILL: pins,
    regions and entries are none afterwards, every time."""
    for turn in range(6):
        p = program("busy")
        must(p.line() == "busy", "not busy")
        must(ps(rig, p.child.pid)["pinned"] >= (128 if small(rig) else 512),
             "what is moved is not pinned")
        time.sleep(0.003 * turn)
        if turn % 2:
            p.child.send_signal(signal.SIGKILL)
        else:
            p.go_on()
        p.child.wait(timeout=hosts.PATIENCE_S)
        none_left(rig, p.child.pid)
    # the slot can be used again
    p = program("batch")
    p.finish()


def test_batch(rig, program):
    """A hundred regions and a hundred tokens in two commands each, and as many
    to end them."""
    before = rig.ctl(0, "stats")
    p = program("batch")
    p.finish()

    def more(name):
        return rig.ctl(0, "stats")["nic"][name] - before["nic"][name]

    # counters are shown ten times a second
    before_long(lambda: more("tokens_cancelled") >= 99)
    time.sleep(0.25)
    must(more("tokens_allocated") == 100, "tokens")
    must(more("tokens_used") == 1 and more("tokens_cancelled") == 99, "ends")
    must(more("mr_registered") >= 100, "regions")
    # set-up, the batches, what must fail; without batches it would be 400
    must(more("commands") < 250, f"{more('commands')} commands")


def test_uses(rig, program):
    """Uses are counted in the page that the host maps, by reports of the
    process, and in the trace of references, which unic-policysim reads."""
    p = program("use")
    must(p.line() == "ready", "not ready")
    rows = [r for r in rig.ctl(0, "uses") if r["uses"] == 3]
    must([r["bytes"] for r in rows] == [3000, 3000], f"uses: {rows}")
    rig.ctl(0, "params", "--uses", "reported")
    p.go_on()
    must(p.line() == "reported", "not reported")
    rows = [r for r in rig.ctl(0, "uses") if r["reported"] == 7]
    must(len(rows) == 1, f"uses: {rig.ctl(0, 'uses')}")
    rig.ctl(0, "params", "--uses", "counted")
    refs = rig.path("refs.csv")
    with open(refs, "w", encoding="ascii") as out:
        recorder = subprocess.Popen([f"{hosts.BIN}/unicctl", "--socket",
                                     rig.socket(0), "trace", "--refs"],
                                    stdout=out)
        before_long(lambda: os.path.getsize(refs))  # its first look is over
        p.go_on()
        p.finish()
        before_long(lambda: len(often(refs)) >= 10)
        recorder.send_signal(signal.SIGINT)
        must(recorder.wait(timeout=hosts.PATIENCE_S) == 0, "the recorder failed")
    check_refs(rig, refs)


def often(refs):
    """Records of regions that were used five times."""
    with open(refs, encoding="ascii") as f:
        lines = f.read().rpartition("\n")[0].splitlines()[1:]
    rows = [line.split(",") for line in lines]
    return [r for r in rows if sum(x[1] == r[1] for x in rows) >= 5]


def check_refs(rig, refs):
    with open(refs, encoding="ascii") as f:
        text = f.read()
    must(text.startswith("time,key,size,process,importance\n"), text[:80])
    # eight copies 50 ms apart, of two regions each time; copies between two
    # looks of a NIC that the machine delayed are one use
    most = often(refs)
    must(len({r[1] for r in most}) == 2, text)
    must({r[2] for r in most} == {"8192", "65536"}, text)
    out = subprocess.run([f"{hosts.BIN}/unic-policysim", "--format", "csv",
                          "--entries", "64", "--policy", "all", refs],
                         capture_output=True, text=True, timeout=60,
                         check=False)
    must(out.returncode == 0 and "lru" in out.stdout,
         out.stderr.strip() or "unic-policysim says nothing")


def test_bases(_rig, program):
    """The base of a region is random, an address in the process is invalid on
    the NIC, and a region that is registered again keeps its base."""
    program("bases").finish()


def test_waits(_rig, program):
    """A registration that waits is cancelled; one that was granted is not."""
    program("waits").finish()


test_waits.driver = ("--grace-us", "10000000")  # nobody's grace ends meanwhile


def test_matters(rig, program):
    """Without privilege a process chooses its policy, and says of a region that
    is registered how much it matters: what matters least is asked back."""
    p = program("matters")
    must(p.line() == "full", "not full")
    row = ps(rig, p.child.pid)
    must((row["policy"], row["weight"], row["quota"]) == ("app", 1, 0), f"{row}")
    p.go_on()
    p.finish()


test_matters.driver = test_waits.driver


def test_advise(rig, program):
    """Pages that will be needed have their entries ahead, and exactly they; of
    those that will not, the entries go."""
    p = program("advise")

    def count(name):
        return rig.ctl(0, "stats")["nic"][name]

    must(p.line() == "nothing", "no region")
    time.sleep(0.25)  # counters are shown ten times a second
    filled, dropped = count("miss_filled"), count("cache_dropped")
    p.go_on()
    must(p.line() == "needed", "not advised")
    before_long(lambda: count("miss_filled") >= filled + 5)
    time.sleep(0.25)
    must(count("miss_filled") == filled + 5,
         f"{count('miss_filled') - filled} entries brought, not 5")
    must(count("cache_dropped") == dropped, "entries dropped")
    p.go_on()
    must(p.line() == "not needed", "not advised")
    before_long(lambda: count("cache_dropped") >= dropped + 2)
    must(count("cache_dropped") == dropped + 2,
         f"{count('cache_dropped') - dropped} entries dropped, not 2")
    p.go_on()
    p.finish()


def test_lists(rig, program):
    """A region of residency TABLE with more pages than there are entries, whose list the NIC reads from host memory:
    the driver is not asked for a page; words that the process scribbles over its list are no pages but its own; and it
    is as it was after a reset of the NIC, and after the driver was killed (tests/qemu/lists.c)."""
    if "HOST_TABLE" not in rig.ctl(0, "info")["features"]:
        raise hosts.Failure("the NIC reads no lists")
    p = program("2", name="lists")
    must(p.line() == "moved", "not moved")
    entries = rig.ctl(0, "info")["tlb_entries"]
    before_long(lambda: rig.ctl(0, "stats")["nic"]["table_filled"] > 2 * entries)
    nic = rig.ctl(0, "stats")["nic"]
    must(nic["table_filled"] > 2 * entries, f"{nic['table_filled']} entries inserted")
    must(nic["table_reads"] >= nic["table_filled"] // 8, f"{nic['table_reads']} groups read")
    must(not nic["miss_events"], "the driver was asked for pages")
    p.go_on()
    must(p.line() == "scribbled", "not scribbled")
    with u.Client(rig.socket(0)) as admin:
        admin.call(u.RESET)
    p.go_on()
    must(p.line() == "moved", "not moved after a reset")
    rig.running[-1].child.kill()
    rig.running.pop().end()
    rig.start_driver(0)
    p.go_on()
    must(p.line() == "moved", "not moved by a new driver")
    pid = p.child.pid
    p.go_on()
    p.finish()
    none_left(rig, pid)


def test_tokens(rig, program):
    """The sender of a message that was refused hears why, and a cancel amid a
    message is answered by how that ended (tests/qemu/tokens.c)."""
    before = rig.ctl(0, "stats")["nic"]
    p = program(name="tokens")
    first = int(p.line().split()[1])
    p.finish()

    def more(name):
        return rig.ctl(0, "stats")["nic"][name] - before[name]

    used = first + 1
    before_long(lambda: more("tokens_used") >= used
                and more("tokens_cancelled") >= 201 - first)
    must(more("tokens_used") == used, f"{more('tokens_used')} used")
    must(more("tokens_cancelled") == 201 - first, "cancelled")
    must(more("token_ended_cancelled") == 201 - first, "refused")


TESTS = (test_pins, test_exits, test_batch, test_bases, test_uses, test_waits,
         test_matters, test_advise, test_lists,
         test_tokens)


def run(board, test):
    started = []
    with tempfile.TemporaryDirectory(prefix="unic-memory-") as tmp:
        rig = hosts.Hosts(board, None, tmp)

        def program(*what, **more):
            started.append(Program(rig, *what, **more))
            return started[-1]

        try:
            rig.start_wire(*(["--direct"] if rig.links[0] == "shm" else []))
            rig.start_nic(0, show=False)
            rig.start_driver(0, *getattr(test, "driver", ()))
            rig.wait_nic(0)
            test(rig, program)
        finally:
            for p in started:
                p.end()
            rig.end()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--only")
    args = ap.parse_args()
    return functions.run([
        (t.__name__[5:], lambda t=t: stops.step(run, args.board, t))
        for t in TESTS if not args.only or t.__name__ == args.only])


if __name__ == "__main__":
    sys.exit(main())
