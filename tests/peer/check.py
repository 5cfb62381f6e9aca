# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases with names, and a runner that says which failed."""

import argparse
import signal
import subprocess
import sys
import time
import traceback

import rig
from rig import stops


class Failed(AssertionError):
    """A case did not see what SPEC.md says."""


class Skipped(Exception):
    """A case cannot be played here, and why."""


def check(good, text):
    """Fails the case with `text` unless `good`."""
    if not good:
        raise Failed(text)


def same(what, got, want):
    """Fails the case unless both are equal."""
    if got != want:
        def show(value):
            return "%#x" % value if type(value) is int else str(value)
        raise Failed("%s: %s, not %s" % (what, show(got), show(want)))


class Suite:
    """A list of cases: functions that take a world."""

    def __init__(self):
        self.cases = []

    def case(self, name, long=False):
        """Decorator: this function is a case; a long one runs only if asked
        for."""
        def add(function):
            function.long = long
            self.cases.append((name, function))
            return function
        return add

    def rows(self, prefix, table):
        """Decorator: the function is called as f(world, *row) for each row
        of {name: row}."""
        def add(function):
            for name, row in table.items():
                def run(world, row=row):
                    function(world, *row)
                run.__doc__ = function.__doc__
                self.cases.append((prefix + ": " + name, run))
            return function
        return add


def wait_for(test, timeout=1.0, step=0.002):
    """Calls test() until it is true or the time is over; its last answer."""
    end = time.monotonic() + timeout
    while True:
        got = test()
        if got or time.monotonic() > end:
            return got
        time.sleep(step)


def options(description):
    """The options that all programs of cases have."""
    parser = argparse.ArgumentParser(description=description)
    rig.add_arguments(parser)
    parser.add_argument("--list", action="store_true",
                        help="names of the cases, and no more")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="cases with TEXT in their name")
    parser.add_argument("--long", action="store_true",
                        help="also the cases that take many seconds")
    parser.add_argument("--jobs", type=int, default=0, metavar="N",
                        help="NICs side by side (4; 2 if not soft)")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true",
                        help="each case with its time; traces of failures")
    return parser


def play(function, world):
    function(world)
    world.after_case()


def run_cases(cases, world, verbose=False):
    """Runs cases one after the other; (passed, failed, skipped). After a
    failure the world is asked to mend what the case may have left."""
    passed = failed = skipped = 0
    for name, function in cases:
        begin = time.monotonic()
        try:
            stops.step(play, function, world, again=world.mend, never=(Skipped,))
            passed += 1
            word = "passed"
        except Skipped as why:
            skipped += 1
            word = "skipped: %s" % why
            print("skipped  %s: %s" % (name, why))
            world.mend()
        except Exception as error:
            failed += 1
            word = "failed"
            kind = "" if isinstance(error, Failed) else "%s: " % type(
                error).__name__
            print("FAILED   %s: %s%s" % (name, kind, error), flush=True)
            if verbose:
                traceback.print_exc()
            world.mend()
        if verbose:
            print("%7.3f s %s: %s" % (time.monotonic() - begin, name, word),
                  flush=True)
    return passed, failed, skipped


def parts(arguments, count):
    """How many rigs of our own work side by side: most of a case is waiting
    for silence, or for counters, which the NIC writes every 50 ms."""
    if arguments.control or count < 40:
        return 1
    if arguments.jobs:
        return arguments.jobs
    return 4 if arguments.image == "soft" else 2


def run_parts(arguments, count):
    """Runs this program once for each part of the cases; what they print,
    and their numbers in one line. Exit code 1 if any failed."""
    begin = time.monotonic()
    command = [sys.executable] + sys.argv + ["--part"]
    jobs = [subprocess.Popen(command + ["%d/%d" % (at, count)],
                             stdout=subprocess.PIPE, text=True)
            for at in range(count)]
    sums, code = [0, 0, 0], 0
    for job in jobs:
        *lines, last = job.communicate()[0].splitlines() or [""]
        print("\n".join(lines + [""] * bool(lines)), end="")
        numbers = [int(word) for word in last.split() if word.isdigit()]
        if len(numbers) != 3:
            print(last)
            numbers = [0, 1, 0]
        sums = [a + b for a, b in zip(sums, numbers)]
        code |= job.returncode != 0
    summary(time.monotonic() - begin, *sums)
    return int(code)


def summary(seconds, passed, failed, skipped):
    """The last lines."""
    print("%.1f s" % seconds)
    if skipped:
        print("skipped: %d cases" % skipped)
    print("%d passed, %d failed" % (passed, failed), flush=True)


def main(suite, make_world, description):
    """The program: picks cases, runs them, says how many passed."""
    arguments = options(description).parse_args()
    cases = [(name, function) for name, function in suite.cases
             if arguments.only in name
             and (arguments.long or not getattr(function, "long", False))]
    if not cases:
        sys.exit("no case has %r in its name" % arguments.only)
    if arguments.list:
        print("\n".join(name for name, _ in cases))
        return 0
    jobs = parts(arguments, len(cases))
    if jobs > 1 and not arguments.part:
        return run_parts(arguments, jobs)
    if arguments.part:
        rig.end_with_parent(signal.SIGTERM)
        at, count = (int(word) for word in arguments.part.split("/"))
        cases = cases[at::count]
    begin = time.monotonic()
    try:
        world = make_world(rig.from_arguments(arguments))
    except (rig.RigError, Failed, OSError) as error:
        sys.exit("no NIC to test: %s" % error)
    try:
        numbers = run_cases(cases, world, arguments.verbose)
    finally:
        world.close()
    if arguments.part:
        print("%d %d %d" % numbers, flush=True)
    else:
        summary(time.monotonic() - begin, *numbers)
    return 1 if numbers[1] else 0
