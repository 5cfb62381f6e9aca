#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A process writes without a pause to pages that another one lends it, and that are taken
back (tests/qemu/lending.c): one whose library knows the descriptors, so that it is told,
against one that is not told and runs into the refusal of its requests.

    test_lending.py [--board soft|virt] [--rounds N] [--table]
        --table: write docs/evidence/holders.md
"""
import argparse
import os
import re
import statistics
import sys
import tempfile
import time

import hosts
import stops
import unicd_client as u

sys.path.insert(0, os.path.join(hosts.ROOT, "tools", "figures"))
import version  # noqa: E402

GRACES_US = (0, 20000)
USE_S = 0.05          # of each page
LIMIT_S = 300
DOCUMENT = os.path.join(hosts.ROOT, "docs", "evidence", "holders.md")
HEAD = """\
# Holders that are told, and holders that are not

`tests/qemu/test_lending.py --table` writes this page; measured at {version}. A process writes 64 bytes at a time, eight requests
under way, to a page that a process of another host lends it. The page is taken back (`unicctl`'s EVICT), the
writer asks for another one by a message, and goes on: {rounds} times, on `{board}`, with a connection that the
library makes again after a cut (`UNIC_QP_CUT_REPLAY`). *Told*: the page came by `unic_post_desc()`, so the driver
of its owner tells the writer, and the writer's library refuses the STag ([DESIGN.md](../DESIGN.md), 15.3).
*Not told*: it came in a message that nobody knows, so the writer meets the refusal of the NIC. *Gap*: from the last
success on one page to the first on the next. *Lost*: requests that completed with an error. All are sums
over the pages, but for the gaps.

| T | writer | gap, median | gap, longest | requests lost | refused at the post | connection cut |
| --: | --- | --: | --: | --: | --: | --: |
"""


def take_back(rig, lender, rounds):
    for _ in range(rounds):
        page = int(lender.expect("lends").split()[-1])
        time.sleep(USE_S)
        with u.Client(rig.socket(0)) as admin:
            admin.obj(u.EVICT, page)


def lend(rig, rounds, how):
    """(gaps in us, lost, refused, cuts)"""
    lender = rig.start("lender", "lending", "lend", rig.socket(0), str(rounds), *how,
                       show=False)
    try:
        lender.expect("listens")
        writer = rig.start("writer", "lending", "use", rig.socket(1), hosts.IP[0],
                           str(rounds), *how, show=False)
        stops.watch_pid(writer.child.pid)  # it has to answer within T
        take_back(rig, lender, rounds)
        writer.finish(LIMIT_S)
        lender.finish(hosts.PATIENCE_S)
    finally:
        lender.end()
    text = "\n".join(writer.lines)
    gaps = [int(us) for us in re.findall(r"gap (\d+) us", text)]
    sums = re.search(r"lost (\d+) refused (\d+) cut (\d+) times", text)
    assert len(gaps) == rounds - 1 and sums, writer.lines[-3:]
    return gaps, *(int(n) for n in sums.groups())


def judge(told, grace_us, rounds, lost, refused, cuts):
    """What must be so on any machine."""
    if not told:
        assert lost >= rounds and not refused, (lost, cuts, refused)
    elif grace_us:  # the page is there until the writer has answered
        assert not lost and not cuts and refused == rounds, (lost, cuts, refused)
    else:  # it meets the refusal before it can be told, or is told
        assert lost + refused >= rounds, (lost, cuts, refused)


def judged(rig, rounds, how, grace_us):
    gaps, *sums = lend(rig, rounds, how)
    judge(bool(how), grace_us, rounds, *sums)
    return gaps, *sums


def run(board, rounds):
    failed, table = 0, []
    with tempfile.TemporaryDirectory(prefix="unic-lending-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        try:
            rig.start_wire()
            rig.start_all()
            for grace_us in GRACES_US:
                u.set_grace(rig, grace_us)
                for how in (("told",), ()):
                    who = "told" if how else "not told"
                    try:
                        gaps, *sums = stops.step(judged, rig, rounds, how,
                                                 grace_us)
                        print(f"ok      {board}, T {grace_us} us, {who}: gap "
                              f"{statistics.median(gaps):.0f} us, lost, refused, cuts: "
                              f"{sums}")
                        table.append((grace_us, who, gaps, *sums))
                    except (AssertionError, hosts.Failure) as e:
                        failed += 1
                        print(f"FAILED  {board}, T {grace_us} us, {who}: {e}")
        finally:
            rig.end()
    print(f"{2 * len(GRACES_US) - failed} passed, {failed} failed")
    return failed, table


def write(board, rounds, table):
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(HEAD.format(board=board, rounds=rounds, version=version.version()))
        for grace_us, who, gaps, lost, refused, cuts in table:
            f.write(f"| {grace_us / 1000:.0f} ms | {who} | {statistics.median(gaps) / 1000:.1f} ms "
                    f"| {max(gaps) / 1000:.1f} ms | {lost} | {refused} | {cuts} |\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--rounds", type=int, default=20)
    ap.add_argument("--table", action="store_true")
    args = ap.parse_args()
    failed, table = run(args.board, args.rounds)
    if args.table and not failed:
        write(args.board, args.rounds, table)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
