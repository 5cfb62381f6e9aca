# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Who may kill a mutant of the core (mutants.py): the unit tests that reach
the line, then whole systems in the simulator, then the corpora of the fuzzers.

Programs are linked from objects that are there already, all but the mutant's. A
program that ends with an error, by a signal, or after several times the
processor time it takes without a mutant has killed. Processor time, because
what else the machine does must not decide; and addresses are not random, so
that what an array is followed by is the same each time.
"""
import collections
import concurrent.futures
import glob
import hashlib
import json
import math
import os
import re
import resource
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build", "mutants")
FLAGS = ["-std=gnu11", "-fms-extensions", "-O1", "-w", "-D_GNU_SOURCE=", "-Iabi", "-Ihal"]
CHECK = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
PLAIN = ["-O1"]  # the simulator looks at every byte moved itself
CORE = ["-Ifirmware", "-Iboards/fake"]
INCLUDE = {
    "host_driver/core": ["-Ihost_driver/core"],
    "tests/sim": ["-Itests/sim", "-Ihost_driver/core"],
    "tests/sim/core_nic.c": ["-Itests/sim", *CORE],
    "": ["-Itests/unit", "-Ihal/fake", "-Ihal/drivers", *CORE],
}
# Where each file of the core is; no two rooms have one of the same name.
CORE_PATHS = {os.path.basename(path): os.path.relpath(path, ROOT)
              for path in glob.glob(os.path.join(ROOT, "firmware/**/*.c"),
                                    recursive=True)}
SEEDS = 300
HARNESSES = ("mbox", "queue", "frame")  # those with a NIC in them
WATCH = "tests/fuzz/memory.c"  # stands between the NIC and its port
LIMIT = 600  # seconds of nobody's processor
# What a judgement rests on, by who gave it: a unit test on its own source, too;
# "" is nobody, so all of it.
CORE_TREE = ("firmware", "abi", "hal", "boards/fake", "tests/mutation/killers.py")
RESTS_ON = {
    "compiler": (),
    "unit": tuple(f"tests/unit/{n}" for n in (
        "rig.c", "rig.h", "rig_port.h", "unit.h", "derived_rig.c",
        "derived_rig.h", "evict_rig.c", "evict_rig.h", "pair.c", "pair.h",
        "rc_rig.c", "rc_rig.h", "sched_rig.c", "sched_rig.h")),
    "sim": ("tests/sim", "host_driver/core"),
    "corpora": ("tests/fuzz", "tests/unit/rig.c", "tests/unit/rig.h"),
    "": ("tests/unit", "tests/sim", "tests/fuzz", "host_driver/core"),
}


def sh(args, timeout=LIMIT):
    return subprocess.run(args, cwd=ROOT, capture_output=True, text=True,
                          errors="replace", timeout=timeout)


def run_test(args, seconds):
    """Does it fail?"""
    limit = f"ulimit -c 0; ulimit -t {seconds}; exec setarch -R \"$0\" \"$@\""
    try:
        return subprocess.run(["sh", "-c", limit, *args], cwd=ROOT,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              timeout=LIMIT).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def listed(expression):
    """What the Makefile says."""
    return sh(["make", "-s", "--no-print-directory",
               f"--eval=say-it:;@echo {expression}", "say-it"]).stdout.split()


def wrapped():
    """Functions of the port that the harnesses have taken the place of."""
    with open(os.path.join(ROOT, WATCH), encoding="utf-8") as f:
        return sorted(set(re.findall(r"__wrap_unic_port_(\w+)", f.read())))


def files(folder):
    if os.path.isfile(os.path.join(ROOT, folder)):
        yield os.path.join(ROOT, folder)
    for where, _, names in os.walk(os.path.join(ROOT, folder)):
        yield from (os.path.join(where, n) for n in names)


def digest(folders):
    h = hashlib.sha256()
    for path in sorted(p for f in folders for p in files(f)):
        with open(path, "rb") as f:
            h.update(path[len(ROOT):].encode() + b"\0" + f.read())
    return h.hexdigest()[:16]


class Stamps:
    """When a judgement that was given before still holds: while what it rests on
    is the same to the byte."""

    def __init__(self):
        self.core = digest(CORE_TREE)
        self.known = {}

    def get(self, by):
        """@by: as judge() says."""
        if by not in self.known:
            word = by.split(" ")[0]
            parts = RESTS_ON.get(word) if word in RESTS_ON else (
                *RESTS_ON["unit"], f"tests/unit/core/{by}.c")
            self.known[by] = self.core + digest(parts)
        return self.known[by]


def include_of(path):
    return INCLUDE.get(path) or next(
        i for folder, i in INCLUDE.items()
        if not folder or path.startswith(folder + "/"))


def compile_c(path, out, flags, of=None):
    """@of: the file of the tree that @path is a version of."""
    r = sh(["gcc", *FLAGS, *flags, *include_of(of or path), "-c", path, "-o",
            out])
    if r.returncode:
        raise RuntimeError(f"{path}: {r.stderr[:400]}")
    return out


def object_of(path, folder):
    return os.path.join(folder, path.replace("/", "_")[:-2] + ".o")


class Program:
    """One that has the core in it, and how it is run."""

    def __init__(self, name, folder, flags, parts, args=()):
        self.name, self.folder, self.flags = name, folder, flags
        self.parts, self.args = parts, args
        self.link_flags, self.libs = [], []
        self.seconds = self.limit = 0

    def link(self, out, replaced=None, by=None):
        objs = [by if p == replaced else object_of(p, self.folder)
                for p in self.parts]
        r = sh(["gcc", *self.flags, *self.link_flags, *objs, *self.libs, "-o",
                out])
        if r.returncode:
            raise RuntimeError(f"{self.name}: {r.stderr[:400]}")
        return out

    def measure(self, times):
        """Without a mutant it must be green; how long does it take?"""
        exe = self.link(os.path.join(self.folder, self.name))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        if run_test([exe, *self.args], LIMIT):
            raise SystemExit(f"mutants: {self.name} is red without any")
        self.seconds = resource.getrusage(
            resource.RUSAGE_CHILDREN).ru_utime - before
        self.limit = math.ceil(2 + times * self.seconds)

    def kills(self, replaced, obj, tmp):
        exe = self.link(os.path.join(tmp, self.name), replaced, obj)
        return run_test([exe, *self.args], self.limit)


class Killers:
    def __init__(self, jobs):
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.core = listed("$(FIRMWARE)")
        self.checked = os.path.join(WORK, "checked")
        self.plain = os.path.join(WORK, "plain")
        self.unit = [self.with_core(
            t, self.checked, CHECK, listed("$(RING) $(FAKE) $(UNIT_RIG) $(UNIT_SETS)") +
            [f"tests/unit/core/{t}.c"]) for t in listed("$(UNIT_CORE)")]
        self.others = [self.simulator()] + [self.corpus(f) for f in HARNESSES]

    def with_core(self, name, folder, flags, parts, args=()):
        p = Program(name, folder, flags, self.core + parts, args)
        p.libs = ["-lcmocka"]
        return p

    def simulator(self):
        parts = listed("$(SIM) $(CORE)")
        return self.with_core("sim", self.plain, PLAIN, parts, (
            "--seeds", str(SEEDS), "--first", "--no-shrink"))

    def corpus(self, name):
        inputs = [f"tests/fuzz/{d}/{name}" for d in ("corpus", "found")]
        p = self.with_core(
            f"corpora {name}", self.checked, CHECK,
            listed("$(RING) $(FAKE) $(UNIT_RIG) $(UNIT_SETS) $(FUZZ_NIC) $(REPLAY)") +
            [f"tests/fuzz/fuzz_{name}.c"],
            [i for i in inputs if os.path.isdir(os.path.join(ROOT, i))])
        p.link_flags = [f"-Wl,--wrap=unic_port_{f}" for f in wrapped()]
        return p

    def objects(self, programs, folder, flags):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        list(self.pool.map(
            lambda p: compile_c(p, object_of(p, folder), flags),
            sorted({part for p in programs for part in p.parts})))

    def prepare(self):
        everyone = self.unit + self.others
        for folder, flags in ((self.checked, CHECK), (self.plain, PLAIN)):
            self.objects([p for p in everyone if p.folder == folder], folder,
                         flags)
        for p in everyone:
            p.measure(10 if p in self.unit else 4)
        self.unit.sort(key=lambda p: p.seconds)
        self.reach = self.coverage()

    def coverage(self):
        """{(file, line): [unit tests, quickest first]} by gcov."""
        folder = os.path.join(WORK, "gcov")
        self.objects(self.unit, folder, ["-O0", "--coverage"])
        reach = collections.defaultdict(list)
        for test in self.unit:
            seen = Program(test.name, folder, ["--coverage"], test.parts)
            seen.libs = test.libs
            sh([seen.link(os.path.join(folder, test.name))])
            for path in self.core:
                for line in lines_run(path, folder):
                    reach[os.path.basename(path), line].append(test)
        return reach

    def reaches(self, name, line):
        """Tests that run the line, or for a line that gcov gives to the first of
        a statement, one of the lines before it."""
        for at in range(line, max(0, line - 6), -1):
            if (name, at) in self.reach:
                return self.reach[name, at]
        return []

    def judge(self, name, line, text, tmp):
        """(verdict, by whom) on @name of the core with @text in its place."""
        path = CORE_PATHS[name]
        source = os.path.join(tmp, name)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        try:
            obj = compile_c(source, os.path.join(tmp, "checked.o"), CHECK,
                            path)
        except RuntimeError:
            return "invalid", "compiler"
        if code_of(obj) == code_of(object_of(path, self.checked)):
            return "invalid", "compiler"  # it sees no difference: nobody can
        plain = compile_c(source, os.path.join(tmp, "plain.o"), PLAIN, path)
        tests = self.reaches(name, line)
        for p in tests + self.others:
            with_it = plain if p.folder == self.plain else obj
            if p.kills(path, with_it, tmp):
                return "killed", p.name
        return ("survived" if tests else "not reached"), ""


def lines_run(path, folder):
    """Lines that ran since the counters were last taken, which this does."""
    data = object_of(path, folder)[:-2] + ".gcda"
    if not os.path.exists(data):
        return []
    r = sh(["gcov", "--json-format", "--stdout", data])
    os.unlink(data)
    found = json.loads(r.stdout or '{"files": []}')["files"]
    return [entry["line_number"] for f in found
            if os.path.basename(f["file"]) == os.path.basename(path)
            for entry in f["lines"] if entry["count"]]


def code_of(path):
    constants = [f"-j{name}" for name in (
        ".rodata", ".rodata.cst4", ".rodata.cst8", ".rodata.cst16",
        ".data.rel.ro", ".data.rel.ro.local")]
    return [sh(["objdump", *what, path]).stdout.partition("\n\n")[2]
            for what in (["-d", "-r"], ["-s", "-r", *constants])]
