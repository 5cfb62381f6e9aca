#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""rdma-core's own tests of libibverbs (python3-pyverbs brings them), unchanged, over unic-run:
both ends on one NIC. A test that is skipped for a reason that is not below is a failure.
Ends "N passed, N failed".

    rdma_core.py [--board soft|virt]
"""
import argparse
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "qemu"), os.path.join(ROOT, "tools", "figures")]

import hosts  # noqa: E402
import record  # noqa: E402

SOURCE = "/usr/share/doc/rdma-core/tests"
PYTHON = "/usr/bin/python3"  # the one that has pyverbs
GOAL = 106
SKIPS = (
    (r"Device memory is not supported", "NICs of unic have no memory for programs"),
    (r"Allocating dmabuf is not supported", "no device on the test machine exports its memory"),
    (r"DMABUF isn't supported|Missing DRI device", "the same"),
    (r"doesn't have net interface", "the tests look in the machine's /sys for an interface of the "
     "device; programs over librdmacm are in `make interop PART=cm`"),
    (r"XRCD? is not supported|Create XRCD", "left out: XRC"),
    (r"Create QP type 8 is not supported|Raw Packet QP", "no raw frames yet"),
    (r"Extended CQ is not supported", "tag matching is one vendor's"),
    (r"no huge pages", "none are set up on the test machine"),
    (r"ODP implicit is not supported", "left out: a region of the whole address space"),
    (r"Extended QP is not supported", "ATOMIC_WRITE is of a later edition of IBTA"),
    (r"Importing a device is not supported", "no objects shared between processes"),
    (r"ODP is unavailable", "left out: XRC"),
)
# Those that fail, and why: missed, not left out.
MISSED = {}


def unpack(folder):
    """The tests, as they were before their packet was made."""
    there = os.path.join(folder, "tests")
    shutil.copytree(SOURCE, there)
    for path in glob.glob(os.path.join(there, "*.gz")):
        with gzip.open(path) as packed, open(path[:-3], "wb") as f:
            shutil.copyfileobj(packed, f)
        os.unlink(path)
    return folder


def lines_of(command):
    """[{name, end, why}] of a run, and what it said besides. A process that dies has fewer
    tests than it began with, and says so by its exit."""
    r = subprocess.run(command, capture_output=True, text=True, timeout=hosts.PATIENCE_S * 20,
                       check=False)
    rows, rest = [], []
    for line in r.stdout.splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            rest.append(line)
    said = "\n".join(rest) + r.stderr
    if r.returncode not in (0, 1) or not rows:
        raise hosts.Failure(f"pyverbs ended (exit {r.returncode}): {said[-2000:]}")
    return rows


def suite(folder, board="soft"):
    return lines_of([os.path.join(hosts.BIN, "unic-run"), "--board", board, PYTHON,
                     os.path.join(HERE, "rdma_core_suite.py"), unpack(folder), "--dev", "unic0"])


def reason(why):
    """Why a test is skipped, in words of this project; None: it should not be."""
    return next((words for pattern, words in SKIPS if re.search(pattern, why)), None)


def outcome(words):
    return "failed, known" if words in MISSED.values() else "skipped"


def judge(rows):
    """(passed, {reason: names}, complaints)"""
    passed, skipped, bad = 0, collections.defaultdict(list), []
    for row in rows:
        name = row["name"].rpartition(".")[2]
        if row["end"] == "passed":
            passed += 1
        elif row["end"] == "skipped" and reason(row["why"]):
            skipped[reason(row["why"])].append(name)
        elif row["end"] == "failed" and name in MISSED and "Failed to create SRQ" in row["why"]:
            skipped[MISSED[name]].append(name)
        else:
            bad.append(f"{row['name']} {row['end']}: {row['why']}")
    return passed, skipped, bad


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--board", choices=("soft", "virt"), default="soft")
    opt = ap.parse_args()
    with tempfile.TemporaryDirectory(prefix="unic-pyverbs-") as folder:
        rows = suite(folder, opt.board)
    passed, skipped, bad = judge(rows)
    for line in bad:
        print(f"FAILED  {line}")
    for words, names in sorted(skipped.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4} {outcome(words)}: {words}: {' '.join(names)}")
    print(f"{passed} of {len(rows)} tests ran: the goal of {GOAL} is "
          f"{'met' if passed >= GOAL else 'missed'}")
    if opt.board == "soft" and not bad:
        record.table("interop", "pyverbs", ("tests", "", "why they are skipped"),
                     [(passed, "passed", f"goal {GOAL}: {'met' if passed >= GOAL else 'missed'}")] +
                     [(len(names), outcome(words), words) for words, names in
                      sorted(skipped.items(), key=lambda item: -len(item[1]))])
    print(f"{passed} passed, {len(bad)} failed")
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
