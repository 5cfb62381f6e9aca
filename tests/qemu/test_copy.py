#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A transfer by `unic-copy --keep` goes on when a NIC is reset in the middle of it,
any transfer when its regions are taken back under it, and the file is the same at
both ends.

    test_copy.py [--board soft|virt] [--late]

--late: only NICs that are reset after the last block.
"""
import argparse
import contextlib
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import dumps
import hosts
import stops
import unicd_client as u

MIB = 192
RESETS, TRIES = 2, 5
TAKEN_MIB = 32
SHORT_US = 1000  # T; operations take longer


def has_moved(rig, how, size):
    """Have @size bytes come to the file that is being written?"""
    where = rig.path("served") if how == "put" else rig.path()
    return any(e.name not in ("src", "got") and e.is_file() and
               e.stat().st_size >= size for e in os.scandir(where))


def moved(rig, how, size):
    until = time.monotonic() + hosts.PATIENCE_S
    while not has_moved(rig, how, size):
        if time.monotonic() > until:
            raise hosts.Failure("nothing moves")
        time.sleep(0.001)


def transfer(rig, how, mode, victim):
    """One transfer with NIC @victim reset while it runs; repeated if the
    transfer ended before the reset."""
    for _ in range(TRIES):
        if reset_in_the_middle(rig, how, mode, victim):
            return
    raise hosts.Failure("over before the NIC was reset")


def kept_transfer(rig, how, mode="rdma"):
    """The arguments of unic-copy, and the file that it is to make, which is not there."""
    made = {"put": rig.path("served", "copy"), "get": rig.path("got")}
    for old in made.values():
        if os.path.exists(old):
            os.unlink(old)
    what = {"put": ["put", rig.path("src"), "--name", "copy"],
            "get": ["get", "src", "--output", made["get"]]}
    return [*what[how], "--peer", hosts.IP[1], "--mode", mode, "--keep",
            "--socket", rig.socket(0)], made[how]


def reset_in_the_middle(rig, how, mode, victim):
    args, dst = kept_transfer(rig, how, mode)
    p = rig.start("client", "unic-copy", *args, show=False)
    for k in range(RESETS):
        moved(rig, how, (k + 1) * 8 << 20)
        with u.Client(rig.socket(victim)) as admin:
            admin.call(u.RESET)
        if "at both ends" in p.expect("connected again|at both ends", 120):
            return False
    p.expect("at both ends", 240)
    p.finish(hosts.PATIENCE_S)
    assert hosts.sha256(rig.path("src")) == hosts.sha256(dst), "the file is another one"
    return True


def there_and_back(rig, src, got):
    """What unic-copy says while file @src goes to host 1 and comes back as @got."""
    said = []
    for args in (["put", src, "--name", "copy"],
                 ["get", "copy", "--output", got]):
        p = rig.start("client", "unic-copy", *args, "--socket",
                      rig.socket(0), "--peer", hosts.IP[1], show=False)
        p.finish(120)
        said += p.lines
    # the library connects again, and unic-copy sees nothing of it
    lost = [t for t in said if "no completion" in t or "connected again" in t]
    assert not lost, lost
    assert hosts.sha256(src) == hosts.sha256(got), "the file is another one"
    return said


def asked_back(rig, host, ids=u.Evictor.YOUNG):
    """Files go there and back while regions of @host are asked back.
    Operations are cut, and connections, which nobody sees. Receive
    buffers are evicted without a notice: their owner says how many are left.
    Repeated if a file arrived before any eviction."""
    src, got = rig.path("small"), rig.path("got")
    with open(src, "wb") as f:
        f.write(os.urandom(TAKEN_MIB << 20))
    evictor = u.Evictor(rig.socket(host), ids)
    evictor.start()
    said = []
    try:
        for _ in range(TRIES):
            said += there_and_back(rig, src, got)
            credits = any("receive buffers are left" in t for t in said)
            if evictor.evicted and (credits or host):
                break
    finally:
        evictor.end()
    assert evictor.evicted, "nothing was asked back"
    assert credits or host, "no credits"


def dumped(rig):
    """Files go there and back while all tables of both NICs are dumped: each dump agrees
    with itself, and the files are the same."""
    src, got = rig.path("small"), rig.path("got")
    with open(src, "wb") as f:
        f.write(os.urandom(TAKEN_MIB << 20))
    over, wrong, seen = threading.Event(), [], set()

    def look(host):
        while not over.is_set():
            try:
                tables = dumps.take(rig.socket(host))
                assert tables["consistent"], "of several instants"
                dumps.agree(tables)
                seen.add((host, sum(r["bytes"] for r in tables["mr"])))
            except (AssertionError, subprocess.SubprocessError) as e:
                wrong.append(e)
    threads = [threading.Thread(target=look, args=(host,)) for host in (0, 1)]
    for t in threads:
        t.start()
    try:
        there_and_back(rig, src, got)
    finally:
        over.set()
        for t in threads:
            t.join()
    assert not wrong, wrong[0]
    assert len(seen) > 4, seen  # bytes moved between them


def hog_holds_on(rig):
    """A hog has the same regions after the reset."""
    hog = rig.start("hog", "unic-hog", "--keep", "--max", "256", "--socket",
                    rig.socket(0), show=False)
    hog.expect("holds 256")
    with u.Client(rig.socket(0)) as admin:
        admin.call(u.RESET)
    hog.expect("goes on, holding 256")
    held = [p.get("held", 0) for p in rig.ctl(0, "ps")["procs"]
            if p["pid"] == hog.child.pid]
    assert held == [256], held
    hog.end()


def as_long_as_told(rig):
    """NIC 1 stands still for longer than --timeout: the client connects again, and goes
    on where it was. Repeated if the connection came back by itself before that."""
    for bad in ("0", "601", "1s"):
        args, _ = kept_transfer(rig, "get")
        p = rig.start("client", "unic-copy", *args, "--timeout", bad, show=False)
        assert p.child.wait(hosts.PATIENCE_S) == os.EX_USAGE, bad
    if not any(stopped_in_the_middle(rig) for _ in range(TRIES)):
        raise hosts.Failure("nothing took longer than --timeout")


def stopped_in_the_middle(rig):
    """Did the client give up within --timeout? The file comes in any case."""
    args, dst = kept_transfer(rig, "get")
    p = rig.start("client", "unic-copy", *args, "--timeout", "1", show=False)
    moved(rig, "get", 8 << 20)
    rig.nics[1].child.send_signal(signal.SIGSTOP)
    time.sleep(2)
    rig.nics[1].child.send_signal(signal.SIGCONT)
    p.finish(hosts.PATIENCE_S)
    assert hosts.sha256(rig.path("src")) == hosts.sha256(dst), "the file is another one"
    return any(re.search("no (completion|message) within 1000 ms", t) for t in p.lines)


WAY_US = 50000  # of each frame


SLOW_BYTES = 5000


def begin_slow(rig, how, args):
    """A transfer of which all blocks are there. The server, whose NIC was reset by the
    case before, may not be back yet: then it begins again."""
    until = time.monotonic() + hosts.PATIENCE_S
    while time.monotonic() < until:
        p = rig.start("client", "unic-copy", *args, show=False)
        while p.child.poll() is None:
            if has_moved(rig, how, SLOW_BYTES):
                return p
            time.sleep(0.001)
        time.sleep(0.1)
    raise hosts.Failure(f"no transfer begins: {p.lines[-1:]}")


def last_question(rig, how, victim, late_s):
    """All blocks are there, and the ends are about to compare the file: NIC @victim is
    reset @late_s after that, while the question or its answer is on the way."""
    args, dst = kept_transfer(rig, how)
    p = begin_slow(rig, how, args)
    time.sleep(late_s)
    with u.Client(rig.socket(victim)) as admin:
        admin.call(u.RESET)
    p.expect("at both ends", 120)
    p.finish(hosts.PATIENCE_S)
    assert hosts.sha256(rig.path("src")) == hosts.sha256(dst), "the file is another one"


@contextlib.contextmanager
def two_hosts(board, size, *wire):
    """A rig on a wire with options @wire, with @size random bytes in file src of both."""
    with tempfile.TemporaryDirectory(prefix="unic-copy-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        os.mkdir(rig.path("served"))
        with open(rig.path("src"), "wb") as f:
            for at in range(0, size, 1 << 20):
                f.write(os.urandom(min(1 << 20, size - at)))
        os.link(rig.path("src"), rig.path("served", "src"))
        try:
            rig.start_wire(*wire)
            rig.start_all()
            yield rig
        finally:
            rig.end()


def run_slow(board, tell):
    """On a wire on which every frame takes its time."""
    with two_hosts(board, SLOW_BYTES, "--delay-us", str(WAY_US)) as rig:
        server = serve(rig, "--keep")
        for how in ("put", "get"):
            for victim in (0, 1):
                # the client of a put asks one way after its last block is stored
                for ways in (1.5, 2.5) if how == "put" else (0.5, 1.5):
                    tell(f"{how}, NIC {victim} reset {ways} ways after all",
                         server, last_question, rig, how, victim,
                         ways * WAY_US / 1e6)


def serve(rig, *more):
    p = rig.start("server", "unic-copy", "serve", "--dir", rig.path("served"),
                  "--socket", rig.socket(1), *more, show=False)
    p.expect("ready")
    return p


def run(board, late):
    results = []

    def tell(name, server, test, *args):
        began = time.monotonic()
        try:
            stops.step(test, *args)
            results.append(True)
            print(f"ok      {board} {name} ({time.monotonic() - began:.1f} s)")
        except (AssertionError, hosts.Failure) as e:
            results.append(False)
            print(f"FAILED  {board} {name}: {e}; server: {server.lines[-3:]}")

    run_slow(board, tell)
    if not late:
        run_large(board, tell)
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return failed


def run_large(board, tell):
    """Much at once."""
    with two_hosts(board, MIB << 20) as rig:
        server = serve(rig, "--keep")
        for case in (("put", "rdma", 0), ("get", "rdma", 0),
                     ("put", "rdma", 1), ("put", "rpc", 0)):
            tell(f"{case[0]} {case[1]}, NIC {case[2]} reset", server,
                 transfer, rig, *case)
        tell("get rdma, --timeout", server, as_long_as_told, rig)
        tell("hog, NIC 0 reset", server, hog_holds_on, rig)
        tell("dumps while files move", server, dumped, rig)
        server.end()
        server = serve(rig)
        for host in (0, 1):
            with u.Client(rig.socket(host)) as admin:
                admin.call(u.PARAMS, struct.pack("<I", SHORT_US))
        for host in (0, 1):
            tell(f"regions of host {host} taken back", server, asked_back,
                 rig, host)
        u.set_grace(rig, 0)
        for host in (0, 1):
            tell(f"regions of host {host} taken back, no grace", server,
                 asked_back, rig, host, u.Evictor.OLD)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--late", action="store_true")
    args = ap.parse_args()
    return bool(run(args.board, args.late))


if __name__ == "__main__":
    sys.exit(main())
