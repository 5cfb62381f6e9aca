#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Branches of the product that tests take, counted by gcov without optimisation.

    coverage.py [--settle] [--jobs N] unit|whole PROGRAM...

unit: unit tests and corpora (PROGRAMs of build/cov, without sanitizers), which take the
same branches of the files of UNIT each time. A branch of these that they do not take has a
line of its own in coverage.reasons, with a reason, or in coverage.debt, without one
(ledger.py). Faults are: a branch in neither; one that is taken, or is no more, in either;
more debt than before; a program that fails; less than GOAL per cent of all; a file with
less than LEAST per cent of those that have no reason. --settle takes out of the debt what
is taken or is no more, and puts in what is new, if that is not more.

whole: besides, 300 seeds of the simulator and end-to-end tests on soft NICs (programs of
build/covsys), counted for the files of WHOLE too. docs/evidence/coverage.md is written. A
fault is also less than GOAL per cent of all of these.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import shlex
import subprocess
import sys

import branches
import ledger

ROOT = branches.ROOT
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import record
import version

GOAL, LEAST = 92.0, 85.0  # per cent of all branches, and of a file's without a reason
COV, SYSTEM = "build/cov", "build/covsys"
OUT = "docs/evidence/coverage.md"
UNIT = ("firmware/", "hal/drivers/link_", "hal/serial/", "host_driver/core/", "host_driver/kio/",
        "host_driver/serial/far.c", "qemu/wire/faults.c", "qemu/wire/mac_table.c",
        "qemu/wire/switch.c")
WHOLE = ("host_driver/daemon/", "host_driver/libunic/", "host_driver/serial/",
         "host_driver/tools/", "host_driver/unicd/", "qemu/bus/", "qemu/wire/")
SIM = f"{COV}/bin/cov-sim --seeds 300"
ON_SOFT = (
    "test_unicd_notice.py --board soft", "test_unicd.py --board soft",
    "test_unicd.py --board none", "test_unicd_slots.py --board soft",
    "test_unicd_restart.py --board soft", "test_nics.py", "test_forms.py", "test_holders.py",
    "test_datagrams.py", "test_copy.py", "test_cuts.py", "test_kio.py", "test_memory.py",
    "test_process.py", "test_wire.py", "test_bus.py", "test_host.py",
    "test_faults.py --board soft", "test_tty.py", "test_lending.py --rounds 1",
    "demo.py --board soft", "demo.py --board soft --loss 5%",
    "demo.py --board soft --mode demand --policy s3fifo")
TIMEOUT_S = 1800


def of_unit(file):
    return file.startswith(UNIT)


def of_whole(file):
    return file.startswith(UNIT + WHOLE)


def unit_commands(programs):
    """A fuzzer has its corpus."""
    for path in programs:
        name = os.path.basename(path)
        fuzzer = name.removeprefix("fuzz_")
        inputs = glob.glob(f"tests/fuzz/*/{fuzzer}", root_dir=ROOT) if fuzzer != name else []
        yield [path, *inputs]


def whole_commands():
    yield shlex.split(SIM)
    for line in ON_SOFT:
        script, *options = shlex.split(line)
        yield [sys.executable, f"tests/qemu/{script}", *options]


def run(command):
    """None, or what went wrong."""
    env = dict(os.environ, UNIC_BIN=os.path.join(ROOT, SYSTEM, "bin"))
    try:
        r = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           errors="replace", timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"{shlex.join(command)}: not finished after {TIMEOUT_S} s"
    if r.returncode:
        last = "\n    ".join(r.stdout.rstrip().split("\n")[-8:])
        return f"{shlex.join(command)}: exit {r.returncode}\n    {last}"
    return None


def run_all(commands, jobs):
    """[what went wrong]"""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [fault for fault in pool.map(run, commands) if fault]


def by_file(taken):
    """{file: (branches taken, all)}"""
    count = collections.defaultdict(lambda: [0, 0])
    for name, times in taken.items():
        count[name.file][0] += times > 0
        count[name.file][1] += 1
    return {file: tuple(n) for file, n in sorted(count.items())}


def percent(part, of):
    return 100 * part / of if of else 100.0


def in_all(count):
    return sum(a for a, _ in count.values()), sum(n for _, n in count.values())


def too_few(count, goal, whose=""):
    """[what is wrong], if less than @goal per cent of branches are taken."""
    hit, total = in_all(count)
    if percent(hit, total) < goal:
        return [f"{whose}{percent(hit, total):.1f} % of branches are taken, less than "
                f"{goal:.0f} %"]
    return []


def of_files(taken, why):
    """[what is wrong] with single files, without the branches that no test can take."""
    count = by_file({n: t for n, t in taken.items() if n not in why})
    return [fault for file, n in count.items()
            for fault in too_few({file: n}, LEAST, file + ": ")]


def listed(names):
    return collections.Counter(n.file for n in names)


def write(unit, whole, why, owed):
    alone, count = by_file(unit), by_file(whole)
    hit, total = in_all(count)
    unit_hit, unit_total = in_all({f: n for f, n in alone.items() if of_unit(f)})
    because, owe = listed(why), listed(owed)
    below = [f for f, (a, n) in count.items() if percent(a, n) < LEAST]
    record.values("coverage", "branches", taken=hit, all=total,
                  percent=f"{percent(hit, total):.1f}", reasons=len(why), debt=len(owed),
                  below=len(below), files=len(count),
                  unit=f"{percent(unit_hit, unit_total):.1f}")
    with open(os.path.join(ROOT, OUT), "w", encoding="utf-8") as out:
        print(f"""# Branches that tests take

Written by `make coverage`. Counted by gcov without optimisation. Alone: unit tests and the
corpora of the fuzzers, tables of the size of boards/fake. All: the simulator and end-to-end tests
on soft NICs besides. Not counted: the same tests on the target, NICs in QEMU, Linux in a guest.

**{hit} of {total} branches, {percent(hit, total):.1f} %** (goal {GOAL:.0f} %). Of files that unit
tests are judged for, these alone take {unit_hit} of {unit_total}, {percent(unit_hit, unit_total):.1f} %;
{len(why)} more have a reason why no test takes them (tests/runner/coverage.reasons), {len(owed)} have
none (tests/runner/coverage.debt). Files below {LEAST:.0f} %: {len(below)} of {len(count)}. Of version
{version.version()}.

| file | alone, % | all | % | with a reason | debt |
| --- | --- | --- | --- | --- | --- |""", file=out)
        for file, (a, n) in count.items():
            own = f"{percent(*alone[file]):.1f}" if file in alone else "-"
            print(f"| {file} | {own} | {a} of {n} | {percent(a, n):.1f} | {because[file]} | "
                  f"{owe[file]} |", file=out)


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--settle", action="store_true")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("scope", choices=("unit", "whole"))
    p.add_argument("programs", nargs="+")
    return p.parse_args()


def count_branches(scope, programs, jobs):
    """([what went wrong], {Name: times} by unit tests, by all)."""
    branches.forget(os.path.join(ROOT, COV))
    faults = run_all(unit_commands(programs), jobs)
    unit = branches.named(branches.gather([COV], of_whole, jobs))
    if scope == "unit":
        return faults, unit, unit
    branches.forget(os.path.join(ROOT, SYSTEM))
    faults += run_all(whole_commands(), jobs)
    return faults, unit, branches.named(branches.gather([COV, SYSTEM], of_whole, jobs))


def main():
    args = arguments()
    faults, unit, whole = count_branches(args.scope, args.programs, args.jobs)
    lines = ledger.read(ledger.DEBT)
    why = ledger.reasons(ledger.read(ledger.REASONS), faults)
    owed = ledger.debt(lines, faults)
    taken = {n: t for n, t in unit.items() if of_unit(n.file)}
    verdict = ledger.judge(taken, why, owed)
    if args.settle:
        new = ledger.settled(owed, verdict)
        if new is None:
            faults.append(f"{len(verdict.open)} branches are new, which is more than there is "
                          "room for: test them")
        else:
            ledger.write(ledger.DEBT, map(branches.said, new))
            owed, lines = new, list(map(branches.said, new))
            verdict = ledger.judge(taken, why, owed)
    faults += verdict.faults + ledger.growth(lines)
    faults += too_few(by_file(taken), GOAL) + of_files(taken, why)
    if args.scope == "whole":
        write(unit, whole, why, owed)
        faults += too_few(by_file(whole), GOAL, "all tests, all files: ")
    hit, total = in_all(by_file(taken))
    print("\n".join(faults))
    print(f"{hit} of {total} branches, {percent(hit, total):.1f} %; {len(why)} with a reason, "
          f"{len(owed)} owed")
    print(f"{int(not faults)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
