#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Two processes write blocks, read them back and tell of each, while regions of both
hosts are taken back all the time. Their connection is cut again and again: neither
sees a failure, whatever the grace, and with none at all (tests/qemu/cuts.c).

    test_cuts.py [--board soft|virt] [--blocks N]
"""
import argparse
import re
import sys
import tempfile
import time

import hosts
import stops
import unicd_client as u

GRACES_US = (0, 1000, 20000)
TRIES = 30  # a short exchange may be between two evictions
LIMIT_S = 300


def exchange(rig, blocks):
    """(cuts of the caller, of the server, pieces repeated)."""
    server = rig.start("server", "cuts", "serve", rig.socket(1), show=False)
    try:
        server.expect("listens")
        caller = rig.start("caller", "cuts", "call", rig.socket(0), hosts.IP[1],
                           str(blocks), show=False)
        caller.finish(LIMIT_S)
        server.finish(hosts.PATIENCE_S)
    except hosts.Failure as e:
        raise hosts.Failure(f"{e}; server: {server.lines[-3:]}") from None
    finally:
        server.end()
    sent = re.search(r"sent (\d+) messages, cut (\d+) times, repeated (\d+)",
                     "\n".join(caller.lines))
    heard = re.search(r"heard (\d+) messages, cut (\d+) times",
                      "\n".join(server.lines))
    assert sent and heard, (caller.lines[-3:], server.lines[-3:])
    assert int(sent.group(1)) == int(heard.group(1)) == blocks
    return int(sent.group(2)), int(heard.group(2)), int(sent.group(3))


def cut_all_the_time(rig, grace_us, blocks):
    """Without a grace, until a connection was cut."""
    u.set_grace(rig, grace_us)
    evictors = [u.Evictor(rig.socket(host), u.Evictor.OLD) for host in (0, 1)]
    for e in evictors:
        e.start()
    cuts = pieces = 0
    try:
        for _ in range(TRIES):
            one, _, again = exchange(rig, blocks)
            cuts += one
            pieces += again
            if cuts or grace_us:
                break
    finally:
        for e in evictors:
            e.end()
    asked = sum(e.evicted for e in evictors)
    assert asked, "nothing was asked back"
    assert cuts or grace_us, "no connection was cut"
    return f"{asked} regions taken, {cuts} cuts, {pieces} pieces again"


def run(board, blocks):
    failed = 0
    with tempfile.TemporaryDirectory(prefix="unic-cuts-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        try:
            rig.start_wire()
            rig.start_all()
            for grace_us in GRACES_US:
                began = time.monotonic()
                try:
                    said = stops.step(cut_all_the_time, rig, grace_us, blocks)
                    print(f"ok      {board}, T {grace_us} us: {said} "
                          f"({time.monotonic() - began:.1f} s)")
                except (AssertionError, hosts.Failure) as e:
                    failed += 1
                    print(f"FAILED  {board}, T {grace_us} us: {e}")
        finally:
            rig.end()
    print(f"{len(GRACES_US) - failed} passed, {failed} failed")
    return failed


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--blocks", type=int, default=300)
    args = ap.parse_args()
    return bool(run(args.board, args.blocks))


if __name__ == "__main__":
    sys.exit(main())
