# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""lab.py - what the checks of the labs share: a host with a NIC that is a process, the
program of a student, and what to say of it."""
import os
import shutil
import subprocess
import sys
import tempfile

LABS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(LABS))
sys.path.insert(0, os.path.join(ROOT, "tests", "qemu"))

import hosts  # noqa: E402
import stops  # noqa: E402

Failure = hosts.Failure
FLAGS = ("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-I" + LABS,
         f"-I{ROOT}/abi", f"-I{ROOT}/host_driver/libunic", f"-I{ROOT}/examples")
BROKEN = 2  # exit code: nothing could be checked
stops.REPEATS = 1


class Lab:
    """One check: @own is the folder of the lab, @folder the one of the answer."""

    def __init__(self, own, folder, tmp):
        self.own, self.folder, self.tmp = own, folder, tmp
        self.rig = hosts.Hosts("soft", None, tmp, n=1)
        self.programs = []

    def answer(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            broken(f"no {name} in {self.folder}")
        return path

    def compile(self, out, *sources, more=()):
        """Sources of an answer and of the lab, with libunic."""
        out = os.path.join(self.tmp, out)
        done = subprocess.run(
            ["cc", *FLAGS, *sources, *more, f"{ROOT}/build/lib/libunic.a",
             "-lpthread", "-o", out], check=False)
        if done.returncode:
            broken(f"{' '.join(map(os.path.basename, sources))}: does not compile")
        return out

    def start_host(self, *driver):
        """A bus, a NIC and a driver with these options, until the NIC is ready."""
        self.rig.start_wire("--direct")
        self.rig.start_nic(0, show=False)
        self.rig.start_driver(0, *driver)
        self.rig.wait_nic(0)
        return self.rig.socket(0)

    def start(self, program, *args):
        p = hosts.Process(self.rig.line, os.path.basename(program), [program, *args],
                          show=False)
        self.programs.append(p)
        return p

    def end(self):
        for p in reversed(self.programs):
            p.end()
        self.rig.end()


class Quiet(hosts.Timeline):
    """The check says what it found, and no more."""

    def write(self, line):
        pass


def broken(why):
    print(f"cannot check: {why}")
    sys.exit(BROKEN)


def good(what):
    print(f"ok      {what}", flush=True)


def need(true, what, instead):
    """@what must be so; @instead is said if it is not, and the check is over."""
    if not true:
        raise Failure(instead)
    good(what)


def stopped(program, seconds=hosts.PATIENCE_S):
    """End @program with SIGTERM, and return its last line. It must end well."""
    if program.child.poll() is None:
        program.child.terminate()
    program.finish(seconds)
    return program.last()


def main(own, check):
    """The check of the lab in folder @own: check.py [FOLDER]. Exit code 0: the answer is
    right, 1: it is not, 2: it could not be looked at."""
    own = os.path.dirname(os.path.abspath(own))
    folder = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else own
    if not os.path.isdir(folder) and len(sys.argv) > 1:
        folder = os.path.join(own, sys.argv[1])
    name = os.path.basename(own)
    if not os.path.exists(f"{ROOT}/build/bin/unicd"):
        broken("build the programs first: make BOARD=soft")

    def play():
        tmp = tempfile.mkdtemp(prefix="unic-lab-")
        lab = Lab(own, folder, tmp)
        lab.rig.line = Quiet()
        try:
            check(lab)
        finally:
            lab.end()
            shutil.rmtree(tmp, ignore_errors=True)

    try:
        stops.step(play)
    except Failure as e:
        print(f"FAILED  {e}\n{name}: not solved")
        sys.exit(1)
    print(f"{name}: solved")
