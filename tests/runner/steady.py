#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does a test fail although nothing is wrong? Runs each command of the levels that
levels.py calls STEADY many times on a busy machine.

    steady.py [--runs N] [--load N] [--jobs N] [--only TEXT]

--jobs commands run at a time; beside them so many processes that do nothing but compute
that --load are runnable. What came out is kept in docs/evidence/steady.json after each
run, under the version of the tree (tools/figures/version.py): who is stopped goes on
there later. What a run that failed said is in build/steady. Ends in "N passed, N
failed", of runs.
"""
import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time

import levels
import run
from record import ROOT, Record

LOGS = os.path.join(ROOT, "build", "steady")
SLOWER = 10  # than on an idle machine


def runnable():
    with open("/proc/stat", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("procs_running"))


class Load:
    """Keeps @wanted processes runnable, those that are tested among them."""

    def __init__(self, wanted):
        self.wanted, self.sum, self.samples = wanted, 0, 0
        self.busy = [subprocess.Popen([sys.executable, "-c",
                                       "while True: pass"])
                     for _ in range(wanted)]
        self.on = wanted
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.keep, daemon=True)
        self.thread.start()

    def keep(self):
        while not self.over.wait(0.2):
            found = runnable() - 1  # who asks is one of them
            self.sum, self.samples = self.sum + found, self.samples + 1
            if found < self.wanted and self.on < self.wanted:
                self.busy[self.on].send_signal(signal.SIGCONT)
                self.on += 1
            elif found > self.wanted and self.on:
                self.on -= 1
                self.busy[self.on].send_signal(signal.SIGSTOP)

    def end(self):
        self.over.set()
        self.thread.join()
        for process in self.busy:
            process.kill()
            process.wait()
        return self.sum / max(self.samples, 1)


def one(command, level, qemu, record):
    result = run.run(command, qemu, level.timeout * SLOWER, level.by_exit)
    with record.change(command) as row:
        row["bad" if result.failed else "good"] += 1
        row["seconds"] = round(max(row.get("seconds", 0), result.seconds), 1)
        n = row["good"] + row["bad"]
    if result.failed:
        name = "".join(c if c.isalnum() else "_" for c in command)
        with open(os.path.join(LOGS, f"{name}.{n}"), "w",
                  encoding="utf-8") as f:
            f.write(result.output)
        print(f"  FAILED {result.name}, run {n}")
        for line in result.bad_lines():
            print("    > " + line)
    sys.stdout.flush()
    return result.failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--runs", type=int, default=20)
    p.add_argument("--load", type=int, default=8)
    p.add_argument("--jobs", type=int, default=4)
    p.add_argument("--only", default="")
    args = p.parse_args()
    _, qemu, chosen = run.parse(levels.words(levels.STEADY, {}))
    os.makedirs(LOGS, exist_ok=True)
    record = Record("steady.json")
    todo = [(command, level) for n in range(args.runs)
            for level in chosen for command in level.commands
            if args.only in command and record.runs(command) <= n]
    load = Load(args.load)
    start = time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(lambda t: one(*t, qemu, record), todo))
    finally:
        mean = load.end()
        good, bad = record.sum("good"), record.sum("bad")
        print(f"{len(todo)} runs in {(time.monotonic() - start) / 60:.0f} "
              f"minutes, {mean:.1f} runnable in the mean; version "
              f"{record.version}:")
        print(f"{good} passed, {bad} failed")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
