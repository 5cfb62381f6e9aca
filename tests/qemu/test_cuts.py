#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Two processes write blocks, read them back and tell of each, while regions of both
hosts are taken back all the time. Their connection is cut again and again: neither
sees a failure, whatever the grace, and with none at all (tests/qemu/cuts.c).

    test_cuts.py [--board soft|virt] [--blocks N]
    test_cuts.py --table [--rounds N]    writes docs/evidence/cuts.md, of both boards
"""
import argparse
import os
import re
import sys
import tempfile
import time

import hosts
import stops
import unicd_client as u

sys.path.insert(0, os.path.join(hosts.ROOT, "tools", "figures"))
import version  # noqa: E402

GRACES_US = (0, 1000, 20000)
TRIES = 30  # a short exchange may be between two evictions
LIMIT_S = 300
DOCUMENT = os.path.join(hosts.ROOT, "docs", "evidence", "cuts.md")
HEAD = """# Connections that are cut

`tests/qemu/test_cuts.py --table` writes this page; measured at {version}. Two processes with the real
library, each on a host with a NIC: one WRITEs blocks of 32 KiB to the other, tells it of each by a message, and
READs every third back; the other checks that each message comes once and in order and that the block is
there ([cuts.c](../../tests/qemu/cuts.c)). Meanwhile a third process on each host has regions of both taken
back, one after the other, all the time. An *exchange* is {blocks} blocks. *Failures*: exchanges in which a process
saw an error, a message was lost or came twice, or a block was wrong. *Cuts*: connections that an eviction ended
and the library made again, at either end. *Pieces again*: pieces of a transfer that the buffer manager
repeated. *Alone*: an exchange with nothing taken back, on the same machine.

| board | T | exchanges | failures | regions taken | cuts, writer | cuts, other | pieces again | an exchange | alone |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
"""


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


def measure(rig, board, grace_us, blocks, rounds):
    """A row of the page. Nothing ends at a failure: it is counted."""
    u.set_grace(rig, grace_us)
    began = time.monotonic()
    exchange(rig, blocks)
    alone = time.monotonic() - began
    evictors = [u.Evictor(rig.socket(host), u.Evictor.OLD) for host in (0, 1)]
    for e in evictors:
        e.start()
    failed, sums, began = 0, [0, 0, 0], time.monotonic()
    try:
        for _ in range(rounds):
            try:
                sums = [a + b for a, b in zip(sums, exchange(rig, blocks))]
            except (AssertionError, hosts.Failure) as e:
                failed += 1
                print(f"FAILED  {board}, T {grace_us} us: {e}", flush=True)
        each = (time.monotonic() - began) / rounds
    finally:
        for e in evictors:
            e.end()
    return (f"| `{board}` | {grace_us / 1000:g} ms | {rounds} | {failed} | "
            f"{sum(e.evicted for e in evictors)} | {sums[0]} | {sums[1]} | {sums[2]} | "
            f"{each:.2f} s | {alone:.2f} s |\n"), failed


def write_page(blocks, rows):
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(HEAD.format(version=version.version(), blocks=blocks) + "".join(rows))


def write_table(blocks, rounds):
    """The page is written anew with each row. Returns the failures."""
    rows, failed = [], 0
    for board in ("soft", "virt"):
        with tempfile.TemporaryDirectory(prefix="unic-cuts-") as tmp:
            rig = hosts.Hosts(board, None, tmp)
            try:
                rig.start_wire()
                rig.start_all()
                for grace_us in GRACES_US:
                    row, bad = stops.step(measure, rig, board, grace_us, blocks, rounds)
                    print(row, end="", flush=True)
                    rows.append(row)
                    failed += bad
                    write_page(blocks, rows)
            finally:
                rig.end()
    return failed


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
    ap.add_argument("--table", action="store_true")
    ap.add_argument("--rounds", type=int, default=20)
    args = ap.parse_args()
    if args.table:
        return bool(write_table(args.blocks, args.rounds))
    return bool(run(args.board, args.blocks))


if __name__ == "__main__":
    sys.exit(main())
