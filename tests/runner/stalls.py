#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Run a command on a machine that stalls.

    stalls.py [--seed N] [--kind machine|process] [--every S] COMMAND [ARG...]

At random times all processes that the command started, or one of them, stop
for 5 to 500 ms and go on. A virtual machine whose host is busy elsewhere does
that to its programs ("machine"), a scheduler to one of them ("process"). The
clocks go on. A process that something else had stopped stays stopped. How many
stalls there were goes to stderr; the exit code is the command's.
"""
import argparse
import ctypes
import os
import random
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
SHORTEST_S, LONGEST_S = 0.005, 0.5


def state(pid):
    """The letter of ps, None when there is no such process (any more)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def children(pid):
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children",
                      encoding="ascii") as f:
                found += map(int, f.read().split())
    except OSError:
        pass  # it has ended
    return found


def stop(pid):
    """True if it was running and now is not."""
    if state(pid) in (None, "T", "t", "Z", "X"):
        return False
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        return False
    for _ in range(1000):
        now = state(pid)
        if now not in ("R", "S", "D"):
            return now == "T"
        time.sleep(0)
    return True


def stop_all(pid):
    """Parents first: who is stopped starts no more. Returns who was stopped."""
    stopped = []
    for child in children(pid):
        if stop(child):
            stopped.append(child)
        stopped += stop_all(child)
    return stopped


def tree(pid):
    return [p for child in children(pid) for p in [child, *tree(child)]]


def stall(kind, rng):
    """Returns how many processes were stopped."""
    length = rng.uniform(SHORTEST_S, LONGEST_S)
    who, all_of_them = rng.random(), tree(os.getpid())
    if kind == "machine":
        stopped = stop_all(os.getpid())
    else:
        one = all_of_them[int(who * len(all_of_them))] if all_of_them else 0
        stopped = [one] if one and stop(one) else []
    try:
        time.sleep(length if stopped else 0)
    finally:
        for pid in reversed(stopped):
            try:
                os.kill(pid, signal.SIGCONT)
            except OSError:
                pass  # killed meanwhile
    return len(stopped)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=("machine", "process"),
                        default="machine")
    parser.add_argument("--every", type=float, default=0.4, metavar="S",
                        help="seconds between two stalls, in the middle")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    rng, stalls = random.Random(args.seed), 0
    # Orphans stay below us, where they are seen.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    child = subprocess.Popen(args.command)
    try:
        while True:
            try:
                child.wait(timeout=rng.uniform(0, 2 * args.every))
                break
            except subprocess.TimeoutExpired:
                stalls += stall(args.kind, rng) > 0
    finally:
        child.terminate()
        print(f"stalls: {stalls} of the {args.kind}, seed {args.seed}",
              file=sys.stderr)
    return child.returncode if child.returncode >= 0 else \
        128 - child.returncode


if __name__ == "__main__":
    sys.exit(main())
