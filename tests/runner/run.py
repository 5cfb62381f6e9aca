#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Run test programs level by level and count.

    run.py [--name NAME] [--qemu CMD] --level NAME [OPTIONS] COMMAND...
                                      --level NAME ...

A COMMAND is one argument: a program, a .py script, a bare-metal .elf (run under
the --qemu command, which ends in -kernel) or a command line ("make lint").
A level's OPTIONS: --timeout S of each command; --jobs N at a time; --apart WHAT:
its passes are no tests of their own, but WHAT ("seeds"); --beside: its commands
begin while the last ones of the level before run, --jobs of the first such level at
a time; --needed: if it fails nothing else is run; --by-exit: each of its commands is one test, and its exit code
says how it went.

A program says how it went by its last "N passed, N failed" line, or by
cmocka's summary; one that says neither, or that ran nothing, has failed. A
command of `make` is one test, by its exit code. A program
that outlives its time is killed with all of its children and has failed; a child
that left its session may live, and is not waited for. A level without a command is
an error: a list of programs that became empty would end its tests.

"skipped: N WHAT" of a program, and what cmocka skips, is shown and counted. So is
"repeated: N WHAT", of steps that ran again (tests/qemu/stops.py). With
CI set in the environment, to skip what is "not installed" is a failure. Of a
program that failed, the lines that say so and the last ones are shown, and once
more which and why at the end.

After each level its time is printed, and at the end that of all, what was counted
apart, and the sum of the others, "N passed, N failed, N skipped" and, if there are,
", N repeated", after "NAME: ok" if a name was given and nothing failed; the exit code is 0 then. What failed
anywhere is in the sum.
"""
import collections
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
LAST_WORDS_S = 5.0  # of a program that was killed
# A make run from here is not part of the make that runs us.
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
ON_CI = bool(os.environ.get("CI"))
SUM = re.compile(r"^(\d+) passed, (\d+) failed(?:, \d+ skipped)?"
                 r"(?:, \d+ repeated)?\s*$", re.M)
REPEATED = re.compile(r"^repeated: (\d+) (.*)", re.M)
SKIPPED = re.compile(r"^skipped: (\d+) (.*)", re.M)
# How the programs here, cmocka, compilers and sanitizers begin bad news.
BAD = re.compile(r"^(?: *FAIL(?:ED)?\b|not ok\b|\[  (?:FAILED|ERROR) |"
                 r".*\b(?:error|ERROR): ).*", re.M)
BAD_LINES = 12
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) *\] (\d+) test\(s\)", re.M)


class Level:
    def __init__(self, name):
        self.name = name
        self.timeout = TIMEOUT_S
        self.jobs = 1
        self.apart = None
        self.needed = False
        self.beside = False
        self.by_exit = False
        self.commands = []


class Result:
    """How one command went. skipped: [(how many, what)]."""

    def __init__(self, command, output, code, start, by_exit=False):
        self.name = (command if " " in command else
                     os.path.basename(command))
        self.output, self.start, self.end = output, start, time.monotonic()
        self.skipped = [(int(n), what) for n, what in SKIPPED.findall(output)]
        self.repeated = sum(int(n) for n, _ in REPEATED.findall(output))
        if by_exit or shlex.split(command)[0] == "make":
            self.passed, self.failed = int(code == 0), int(code != 0)
        else:
            self.passed, self.failed = self.count()
        if code != 0 and self.failed == 0:
            self.failed = 1
        prevented = sum(n for n, what in self.skipped
                        if "not installed" in what)
        if ON_CI and prevented:
            self.failed += prevented
            self.output += "FAILED: on CI nothing is left out\n"

    @property
    def seconds(self):
        return self.end - self.start

    def count(self):
        """(passed, failed) as the program said."""
        sums = SUM.findall(self.output)
        said = CMOCKA.findall(self.output)
        passed = failed = 0
        if sums:
            passed, failed = map(int, sums[-1])
        elif said:
            count = collections.Counter()
            for word, n in said:
                count[word] += int(n)
            passed, failed = count["PASSED"], count["FAILED"]
            if count["SKIPPED"]:
                self.skipped.append((count["SKIPPED"], "tests, by themselves"))
        else:
            self.output += "FAILED: it does not say how it went\n"
            failed = 1
        if passed + failed + sum(n for n, _ in self.skipped) == 0:
            self.output += "FAILED: it ran no test\n"
            failed = 1
        return passed, failed

    def bad_lines(self):
        return BAD.findall(self.output)[:BAD_LINES]

    def show(self):
        verdict = "FAILED" if self.failed else "ok"
        print(f"  {verdict:<7}{self.name:<34}{self.passed:5} passed "
              f"{self.failed:3} failed {self.seconds:6.1f} s")
        for n, what in self.skipped:
            print(f"         skipped: {n} {what}")
        if self.repeated:
            print(f"         repeated: {self.repeated} steps in which the machine "
                  "stopped")
        if self.failed:
            for line in self.bad_lines():
                print("      > " + line)
            for line in self.output.splitlines()[-TAIL_LINES:]:
                print("      | " + line)
        sys.stdout.flush()


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
            elif arg == "--apart":
                levels[-1].apart = next(args)
            elif arg == "--needed":
                levels[-1].needed = True
            elif arg == "--beside":
                levels[-1].beside = True
            elif arg == "--by-exit":
                levels[-1].by_exit = True
            else:
                levels[-1].commands.append(arg)
    except (StopIteration, IndexError, ValueError):
        sys.exit(__doc__)
    empty = [level.name for level in levels if not level.commands]
    if empty:
        sys.exit(f"run.py: no command in level {', '.join(empty)}")
    return name, qemu, levels


def command_line(command, qemu):
    words = shlex.split(command)
    if words[0].endswith(".elf"):
        return qemu + words
    if words[0].endswith(".py"):
        return [sys.executable] + words
    return words


def last_words(proc):
    """What a program said that was killed."""
    try:
        return proc.communicate(timeout=LAST_WORDS_S)[0]
    except subprocess.TimeoutExpired as late:  # somebody has its output still
        return late.output or b""


def run(command, qemu, timeout, by_exit=False):
    start = time.monotonic()
    try:
        proc = subprocess.Popen(
            command_line(command, qemu), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=ENVIRONMENT, start_new_session=True)
    except OSError as err:
        return Result(command, f"cannot start: {err}\n", -1, start)
    try:
        raw, _ = proc.communicate(timeout=timeout)
        note, code = "", proc.returncode
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        raw = last_words(proc)
        note, code = f"killed: not finished after {timeout:.0f} s\n", -1
    return Result(command, raw.decode(errors="replace") + note, code, start,
                  by_exit)


def show_level(level, jobs):
    """Returns the results of the level's commands, which run already."""
    print(f"== {level.name}", flush=True)
    results = []
    for job in jobs:
        results.append(job.result())
        results[-1].show()
    passed = sum(r.passed for r in results)
    what = f" {level.apart}" if level.apart else ""
    seconds = (max(r.end for r in results) - min(r.start for r in results))
    print(f"   {level.name}: {passed}{what} passed, "
          f"{sum(r.failed for r in results)} failed in {seconds:.0f} s\n",
          flush=True)
    return results


def run_side_by_side(levels, qemu):
    """Returns [(level, its results)]."""
    with concurrent.futures.ThreadPoolExecutor(levels[0].jobs) as pool:
        begun = [(level, [pool.submit(run, c, qemu, level.timeout,
                                      level.by_exit)
                          for c in level.commands]) for level in levels]
        return [(level, show_level(level, jobs)) for level, jobs in begun]


def side_by_side(levels):
    """The levels, in lists of those that run side by side."""
    lists = []
    for level in levels:
        if level.beside and lists and not lists[-1][-1].needed:
            lists[-1].append(level)
        else:
            lists.append([level])
    return lists


def tell_apart(done):
    """What was counted apart. Returns how many tests passed besides."""
    apart, passed = collections.Counter(), 0
    for level, results in done:
        n = sum(r.passed for r in results)
        if level.apart:
            apart[level.apart] += n
        else:
            passed += n
    if apart:
        print("apart: " + ", ".join(f"{n} {what}"
                                    for what, n in apart.items()))
    return passed


def main(argv):
    name, qemu, levels = parse(argv)
    start, done = time.monotonic(), []
    for some in side_by_side(levels):
        done += run_side_by_side(some, qemu)
        if some[0].needed and any(r.failed for r in done[-1][1]):
            print(f"{some[0].name} failed: nothing after it was run\n")
            break
    if not done:
        print("nothing to run")
    results = [r for _, all_of in done for r in all_of]
    failed = sum(r.failed for r in results)
    for r in results:
        if r.failed:
            print(f"FAILED {r.name}")
            for line in r.bad_lines():
                print("  " + line)
    passed = tell_apart(done)
    print(f"{(time.monotonic() - start) / 60:.1f} minutes")
    if name and failed == 0 and done:
        print(f"{name}: ok")
    skipped = sum(n for r in results for n, _ in r.skipped)
    repeated = sum(r.repeated for r in results)
    print(f"{passed} passed, {failed} failed, {skipped} skipped" +
          (f", {repeated} repeated" if repeated else ""))
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
