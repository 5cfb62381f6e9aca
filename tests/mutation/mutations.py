#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Deliberate breaks of what must not break, in firmware and host driver. Each is
made in a copy of the tree; tests are built and run there and must go red.

usage: mutations.py [--only WORDS] [--jobs N]
    prints a table, ends in "N passed, N failed"

--only runs those whose description, file or area contains WORDS. --jobs: areas at the
same time, each in a copy of its own. Areas that are done are kept in
docs/evidence/mutations.json, under the version of the tree: who is stopped goes on
there; --only leaves that alone.

The breaks are in tests/mutation/mutations.d/<area>.py. Each file sets MUTATIONS to a
sequence of (file, what stands there, what shall stand there, description) or
(..., program) or (..., (program, program)). The file is named from the root of
the tree; all places are changed where the text stands. A program is one of
tests/unit, one of SIMULATORS with its arguments ("unic-libsim --seeds 40"), or a script
of SCRIPTS with its arguments ("test_bus.py --only joint"),
under which the programs of the host and the soft NIC are built, or what NEEDS says;
every one that is named must go red. Where none is named, one of TESTS must.
"""
import argparse
import concurrent.futures
import contextlib
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "runner"))

from record import Record  # noqa: E402

ENTRIES = os.path.join(ROOT, "tests", "mutation", "mutations.d")
WORK = os.path.join(ROOT, "build", "mutations")
KEPT = os.path.join(WORK, "kept")  # what was built without any break
PARTS = ("Makefile", "abi", "boards", "firmware", "hal", "host_driver", "ld",
         "mk", "qemu", "tests", "tools")
TESTS = ("test_mr", "test_notice", "test_token", "test_share", "test_admission",
         "test_reclaim", "test_evict", "test_revoke", "test_rc", "test_rc_token",
         "test_rc_evict", "test_hostile")
SCRIPTS = ("tests/qemu", "tests/faults", "tests/board_model", "tests/flash", "tests/abi")
SIMULATORS = ("unic-libsim",)
HOST = "host"
FLAGS = "FLAGS=-std=gnu11 -fms-extensions -O1 -w -MMD -MP"
LM3S, TM4C = "lm3s6965evb", "ek-tm4c1294xl"
# What scripts need: {HOST or board: what is made for it}.
USUAL = {HOST: ("programs", "build-soft", "faults-build")}
MODEL = "build/bin/board-model"
DESK = (MODEL, "build/bin/unic-bus", "build/bin/unic-copy",
        "build/bin/unicctl", "build/bin/unicd")
LM3S_FLASH, TM4C_FLASH = f"build/{LM3S}/flash.bin", f"build/{TM4C}/flash.bin"
VERBS = ("build/lib/libunic-rdmav34.so", "build/lib/libunic-shim.so", "build/bin/verbs-calls",
         "build/bin/verbs-data")
NEEDS = {
    "test_lm3s.py": {HOST: DESK, LM3S: (LM3S_FLASH,)},
    "test_tm4c.py": {HOST: DESK, TM4C: (TM4C_FLASH,)},
    "test_flash.py": {HOST: (MODEL,), LM3S: (LM3S_FLASH,)},
    "test_tty.py": {HOST: ("programs",), LM3S: ("image",)},
    "test_holders.py": {HOST: ("programs", "build-soft", "build/bin/holders")},
    "test_process.py": {HOST: ("programs", "build-soft", "build/bin/forks")},
    "test_verbs.py": {HOST: ("programs", "build-soft", *VERBS), "virt": ("image",)},
    "test_choose.py": {},
    "test_dissector.py": {},
    "test_console.py": {},
}
PATIENCE = 20  # times what a program takes without a break ...
LEAST_S = 20   # ... and at least that, before it is red


def entries(only):
    """Yields (area, [(file, old, new, description, programs or None)]), none empty."""
    for name in sorted(os.listdir(ENTRIES)):
        if not name.endswith(".py"):
            continue
        area = []
        for entry in runpy.run_path(os.path.join(ENTRIES, name))["MUTATIONS"]:
            path, old, new, words, *rest = entry
            programs = rest[0] if rest else None
            if isinstance(programs, str):
                programs = (programs,)
            if only in f"{name[:-3]}\0{path}\0{words}":
                area.append((path, old, new, words, programs))
        if area:
            yield name[:-3], area


def is_script(program):
    return program.split()[0].endswith(".py")


def command(program):
    name, *args = program.split()
    if name in SIMULATORS:
        return [f"build/bin/{name}", *args]
    if not is_script(program):
        return [f"build/unit/bin/{name}"]
    folder = next(d for d in SCRIPTS if os.path.exists(f"{ROOT}/{d}/{name}"))
    return [f"{folder}/{name}", *args]


def goals(programs):
    """{HOST or board: what make has to make there}."""
    wanted = {}
    for program in programs:
        needs = {HOST: command(program)[:1]}
        if is_script(program):
            needs = NEEDS.get(program.split()[0], USUAL)
        for board, targets in needs.items():
            wanted.setdefault(board, {}).update(dict.fromkeys(targets))
    return wanted


class Copy:
    """A copy of the tree, built, in which one break is made at a time."""

    def __init__(self, at):
        self.at, self.built = at, os.path.join(at, "build")

    def make(self, programs, jobs=1):
        """None, or what the compiler says. An image is what would be flashed, but for
        warnings."""
        for board, targets in goals(programs).items():
            flags = (FLAGS,) if board == HOST else ("WARN=-w", f"BOARD={board}")
            r = subprocess.run(
                ["make", "-s", f"-j{jobs}", *flags, "BUILD_ID=break", *targets],
                cwd=self.at, env={**os.environ, "MAKEFLAGS": ""}, capture_output=True,
                text=True, check=False)
            if r.returncode:
                return r.stderr
        return None

    def is_red(self, program, seconds):
        with subprocess.Popen(command(program), cwd=self.at, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              start_new_session=True) as p:
            try:
                return p.wait(seconds) != 0
            except subprocess.TimeoutExpired:
                return True
            finally:  # and what it started, which may be broken
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(p.pid, signal.SIGKILL)

    def judge(self, programs, limits):
        """(whether the break is found, by what)"""
        named = programs is not None
        for program in programs or TESTS:
            error = self.make([program])
            if error:
                return False, f"DOES NOT BUILD\n{error}"
            if self.is_red(program, limits[program]) != named:
                return not named, program
        return named, ", ".join(programs or ())

    def put_back(self):
        """Makes its build what it was without a break, dates included: the next break
        compiles only what depends on it."""
        for name in files_under(self.built):
            now, then = os.path.join(self.built, name), os.path.join(KEPT, name)
            if not os.path.exists(then):
                os.unlink(now)
            elif os.stat(now).st_mtime_ns != os.stat(then).st_mtime_ns:
                os.unlink(now)  # perhaps it runs still
                shutil.copy2(then, now)

    def broken(self, path, old, new, programs, limits):
        """What judge() says with @old replaced in @path."""
        at = os.path.join(self.at, path)
        dates = os.stat(at)
        with open(at, encoding="utf-8") as f:
            text = f.read()
        if old not in text:
            return False, f"{path} does not say '{old}'"
        with open(at, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        try:
            return self.judge(programs, limits)
        finally:
            with open(at, "w", encoding="utf-8") as f:
                f.write(text)
            os.utime(at, ns=(dates.st_atime_ns, dates.st_mtime_ns))
            self.put_back()


def files_under(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(where, name), folder)


def copy_sources(at):
    os.makedirs(at)
    for part in PARTS:
        source, copy = os.path.join(ROOT, part), os.path.join(at, part)
        if os.path.isdir(source):
            shutil.copytree(source, copy)
        else:
            shutil.copy2(source, copy)


def prepare(programs, copies):
    """@copies copies in which @programs are built; how long each may take, which is
    found by running it unbroken."""
    shutil.rmtree(WORK, ignore_errors=True)
    first = Copy(os.path.join(WORK, "1"))
    copy_sources(first.at)
    error = first.make(programs, os.cpu_count())
    if error:
        sys.exit(f"mutations: does not build without any:\n{error}")
    shutil.copytree(first.built, KEPT)
    limits = {}
    for program in programs:
        begun = time.monotonic()
        if first.is_red(program, 600):
            sys.exit(f"mutations: {program} is red without any")
        limits[program] = max(LEAST_S, PATIENCE * (time.monotonic() - begun))
    first.put_back()
    others = [os.path.join(WORK, str(n)) for n in range(2, copies + 1)]
    for at in others:
        shutil.copytree(first.at, at)
    return [first, *map(Copy, others)], limits


def run_area(copy, area, limits):
    """[how many are found, how many are not]"""
    counts = [0, 0]
    for path, old, new, words, programs in area:
        good, by = copy.broken(path, old, new, programs, limits)
        counts[not good] += 1
        if not good:
            by = f"SURVIVED {by}"
        print(f"{'killed by ' + by if good else by:24} {words}", flush=True)
    return counts


def run_areas(areas, copies, done):
    """Runs @areas, {name: entries}, the largest first, in as many copies at a time;
    done(name, counts) is told of each."""
    programs = sorted({p for area in areas.values() for e in area for p in e[4] or TESTS})
    free, limits = prepare(programs, copies)

    def one(name):
        copy = free.pop()
        try:
            done(name, run_area(copy, areas[name], limits))
        finally:
            free.append(copy)
    with concurrent.futures.ThreadPoolExecutor(copies) as pool:
        list(pool.map(one, sorted(areas, key=lambda name: -len(areas[name]))))


def run_known(areas, copies):
    """Runs those of @areas that have not been run on this version, with what is known of
    the others. Returns the counts of all."""
    record = Record("mutations.json")

    def done(name, counts):
        with record.change(name) as row:
            row["good"], row["bad"] = counts
    todo = {name: area for name, area in areas.items() if not record.runs(name)}
    if todo:
        run_areas(todo, copies, done)
    return record.sum("good"), record.sum("bad")


def run_some(areas, copies):
    """Runs @areas. Returns their counts."""
    rows = []
    run_areas(areas, copies, lambda _, counts: rows.append(counts))
    return [sum(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    o = parser.parse_args()
    areas = dict(entries(o.only))
    if not areas:
        sys.exit(f"mutations: none is called {o.only}")
    good, bad = (run_some if o.only else run_known)(areas, o.jobs)
    print(f"{good} passed, {bad} failed")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
