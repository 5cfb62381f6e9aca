#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Run test programs level by level and count.

    run.py [--name NAME] [--qemu CMD] --level NAME [--timeout S] [--jobs N] COMMAND...
                        --level NAME ...

A COMMAND is one argument: a program, a .py script, a bare-metal .elf (run under
the --qemu command, which ends in -kernel) or a command line ("make lint").
A program says how it went by its last "N passed, N failed" line, or by
cmocka's summary, or only by its exit code, which then counts as one test. A
program that outlives its time is killed with all of its children and has
failed. A line "skipped: ..." of a program is shown; of one that failed, the
lines that say so and the last ones, and once more which and why at the end. The
last line of the output is the sum, "N passed, N failed", after "NAME: ok" if a
name was given and nothing failed; the exit code is 0 then.
"""
import concurrent.futures
import os
import re
import shlex
import signal
import subprocess
import sys
import time

TAIL_LINES = 40
TIMEOUT_S = 600.0  # of each program; most take seconds on an idle machine
# A make run from here is not part of the make that runs us.
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
SUM = re.compile(r"^(\d+) passed, (\d+) failed\s*$", re.M)
SKIPPED = re.compile(r"^skipped: .*", re.M)
# How the programs here, cmocka, compilers and sanitizers begin bad news.
BAD = re.compile(r"^(?: *FAIL(?:ED)?\b|not ok\b|\[  (?:FAILED|ERROR) |"
                 r".*\b(?:error|ERROR): ).*", re.M)
BAD_LINES = 12
CMOCKA = re.compile(r"^\[  (PASSED|FAILED)  \] (\d+) test\(s\)", re.M)


class Level:
    def __init__(self, name):
        self.name = name
        self.timeout = TIMEOUT_S
        self.jobs = 1
        self.commands = []


def parse(argv):
    """Returns (name, qemu, levels); exits with the usage when it is wrong."""
    name, qemu, levels, args = None, [], [], iter(argv)
    try:
        for arg in args:
            if arg == "--qemu":
                qemu = shlex.split(next(args))
            elif arg == "--name":
                name = next(args)
            elif arg == "--level":
                levels.append(Level(next(args)))
            elif arg == "--timeout":
                levels[-1].timeout = float(next(args))
            elif arg == "--jobs":
                levels[-1].jobs = int(next(args))
            else:
                levels[-1].commands.append(arg)
    except (StopIteration, IndexError, ValueError):
        sys.exit(__doc__)
    return name, qemu, levels


def command_line(command, qemu):
    words = shlex.split(command)
    if words[0].endswith(".elf"):
        return qemu + words
    if words[0].endswith(".py"):
        return [sys.executable] + words
    return words


def counts(output, code):
    """(passed, failed) as the program said, made to agree with its exit code."""
    sums = SUM.findall(output)
    if sums:
        passed, failed = map(int, sums[-1])
    else:
        said = CMOCKA.findall(output)
        passed = sum(int(n) for word, n in said if word == "PASSED")
        failed = sum(int(n) for word, n in said if word == "FAILED")
        if not said:
            passed = 1 if code == 0 else 0
    if code != 0 and failed == 0:
        failed = 1
    return passed, failed


def run(command, qemu, timeout):
    """Returns (passed, failed, seconds, output)."""
    start = time.monotonic()
    try:
        proc = subprocess.Popen(
            command_line(command, qemu), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=ENVIRONMENT, start_new_session=True)
    except OSError as err:
        return 0, 1, 0.0, f"cannot start: {err}\n"
    try:
        raw, _ = proc.communicate(timeout=timeout)
        note, code = "", proc.returncode
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        raw, _ = proc.communicate()
        note, code = f"killed: not finished after {timeout:.0f} s\n", -1
    output = raw.decode(errors="replace") + note
    passed, failed = counts(output, code)
    return passed, failed, time.monotonic() - start, output


def bad_lines(output):
    return BAD.findall(output)[:BAD_LINES]


def short_name(command):
    return os.path.basename(command) if " " not in command else command


def show(command, result):
    passed, failed, seconds, output = result
    name = short_name(command)
    verdict = "FAILED" if failed else "ok"
    print(f"  {verdict:<7}{name:<34}{passed:5} passed {failed:3} failed "
          f"{seconds:6.1f} s")
    for line in SKIPPED.findall(output):
        print("         " + line)
    if failed:
        for line in bad_lines(output):
            print("      > " + line)
        for line in output.splitlines()[-TAIL_LINES:]:
            print("      | " + line)


def run_level(level, qemu, failures):
    """Returns (passed, failed) of the level; adds to failures what went wrong."""
    passed = failed = 0
    print(f"== {level.name}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(level.jobs) as pool:
        jobs = [(c, pool.submit(run, c, qemu, level.timeout))
                for c in level.commands]
        for command, job in jobs:
            result = job.result()
            show(command, result)
            sys.stdout.flush()
            passed += result[0]
            failed += result[1]
            if result[1]:
                failures.append((short_name(command), bad_lines(result[3])))
    print(f"   {level.name}: {passed} passed, {failed} failed\n", flush=True)
    return passed, failed


def main():
    name, qemu, levels = parse(sys.argv[1:])
    failures = []
    sums = [run_level(level, qemu, failures) for level in levels
            if level.commands]
    passed = sum(s[0] for s in sums)
    failed = sum(s[1] for s in sums)
    if not sums:
        print("nothing to run")
    for command, lines in failures:
        print(f"FAILED {command}")
        for line in lines:
            print("  " + line)
    if name and failed == 0 and sums:
        print(f"{name}: ok")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not sums else 0


if __name__ == "__main__":
    sys.exit(main())
