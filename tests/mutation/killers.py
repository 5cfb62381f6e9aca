# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Who may kill a slip: the unit tests, and 1,000 seeds of the simulator.

Each worker has a copy of the tree, built once. A slip is made there; of what contains the
file only objects, archives and programs are made that are run: those that run the function
(by gcov), first those that run the line, the quickest first, the simulator last. One that
ends with an error or by a signal has killed. One that takes several times the processor
time it takes without a slip has not: that is a timeout, and the next is asked. Addresses
are not random, so that what an array is followed by is the same each time.

Tests of what the NIC or a tool says in words, of sizes or of counts (GOLDEN) come last; a
kill by those alone is told apart.
"""
import collections
import filecmp
import hashlib
import json
import math
import os
import resource
import shlex
import shutil
import subprocess
import threading

import graph
import mutant

ROOT = graph.ROOT
WORK = os.path.join(ROOT, "build", "mutants")
BASE = os.path.join(WORK, "base")
COV = os.path.join(WORK, "cov")
PLAIN = "-std=gnu11 -fms-extensions -w -MMD -MP"
MEASURED = ("abi", "boards", "firmware", "hal", "host_driver", "qemu", "tests/unit", "tests/sim")
SIM, SEEDS = "build/bin/unic-sim", 1000
SIM_ARGS = ("--seeds", str(SEEDS), "--first", "--no-shrink")
BATCH = "build/unit/bin/batch_virt"
# Unit tests that compare texts, bytes or sizes that are written down with what there is.
GOLDEN = ("test_vectors", "test_driver_vectors")
LIMIT = 1200  # seconds of nobody's processor
KILLED, GOLD, SURVIVED = "killed", "golden", "survived"
TIMEOUT, UNREACHED = "timeout", "not reached"
NO_COMPILE, SAME = "does not compile", "same code"
SURVIVORS = (SURVIVED, TIMEOUT, UNREACHED)
NO_SLIP = (NO_COMPILE, SAME)  # another is drawn instead

Program = collections.namedtuple("Program", "path name args")


def run_test(tree, program, seconds):
    """None: it passes; or KILLED, or TIMEOUT."""
    limit = f"ulimit -c 0; ulimit -t {seconds}; exec setarch -R \"$0\" \"$@\""
    try:
        code = subprocess.run(["sh", "-c", limit, os.path.join(tree, program.path),
                               *program.args], cwd=tree, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=max(60, 10 * seconds), check=False).returncode
    except subprocess.TimeoutExpired:
        return TIMEOUT
    if code in (-9, -14, -24, 137, 142, 152):  # KILL, ALRM, XCPU
        return TIMEOUT
    return KILLED if code else None


def files_under(folder):
    for where, folders, names in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        yield from (os.path.relpath(os.path.join(where, n), folder) for n in names)


def sync(tree):
    """Makes the sources of @tree those of ROOT. What is the same keeps its date, so that
    make leaves alone what is made of it."""
    for part in graph.PARTS:
        source, copy = os.path.join(ROOT, part), os.path.join(tree, part)
        if os.path.isfile(source):
            refresh(source, copy)
            continue
        names = set(files_under(source))
        for name in set(files_under(copy)) - names:
            os.unlink(os.path.join(copy, name))
        for name in names:
            refresh(os.path.join(source, name), os.path.join(copy, name))


def digest():
    """Of the sources that programs are made of."""
    h = hashlib.sha256()
    for part in MEASURED:
        for name in sorted(files_under(os.path.join(BASE, part))):
            with open(os.path.join(BASE, part, name), "rb") as f:
                h.update(f"{part}/{name}\n".encode() + hashlib.sha256(f.read()).digest())
    return h.hexdigest()[:16]


def refresh(source, copy):
    if os.path.exists(copy) and filecmp.cmp(source, copy, shallow=False):
        return
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    if os.path.lexists(copy):
        os.unlink(copy)
    shutil.copy(source, copy)


def goals(tree):
    """The unit tests and the simulator, as the Makefile lists them."""
    said = graph.make(tree, "-s", "--no-print-directory",
                      "--eval=say-it:;@echo $(UNIT_PROGS)", "say-it").split()
    return [*said, BATCH, SIM]


def build(tree, jobs, *flags):
    """{program: its path} built in @tree, and the graph of it."""
    os.makedirs(tree, exist_ok=True)
    sync(tree)
    wanted = goals(tree)
    graph.make(tree, "-s", f"-j{jobs}", "BUILD_ID=slip", *flags, *wanted)
    said = graph.make(tree, "-n", "-B", "V=1", "BUILD_ID=slip", *flags, *wanted)
    return wanted, graph.Graph(said)


class Reach:
    """Which programs run a function, and a line, by gcov: a program each, unoptimised."""

    def __init__(self):
        self.lines = collections.defaultdict(dict)  # file: {line: {program}}
        self.functions = collections.defaultdict(dict)  # file: {(first, last): {program}}

    def measure(self, wanted, say):
        for path in wanted:
            self.forget()
            name = os.path.basename(path)
            args = SIM_ARGS if path == SIM else ()
            say(f"coverage of {name}")
            try:
                subprocess.run([os.path.join(COV, path), *args], cwd=COV, check=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=LIMIT)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as e:
                raise SystemExit(f"mutants: {name} is red when its branches are counted") from e
            self.add(name)

    @staticmethod
    def counters():
        for where, _, names in os.walk(os.path.join(COV, "build")):
            yield from (os.path.join(where, n) for n in names if n.endswith(".gcda"))

    def forget(self):
        for path in self.counters():
            os.unlink(path)

    def add(self, name):
        data = sorted(self.counters())
        for at in range(0, len(data), 40):
            r = subprocess.run(["gcov", "--json-format", "--stdout", *data[at:at + 40]], cwd=COV,
                               capture_output=True, text=True, errors="replace", check=False)
            for line in r.stdout.splitlines():
                for file in json.loads(line)["files"] if line.startswith("{") else ():
                    self.add_file(os.path.normpath(file["file"].removeprefix(COV + "/")), file,
                                  name)

    def add_file(self, path, file, name):
        if path.startswith(("/", "tests/")):
            return
        for line in file["lines"]:
            if line["count"]:
                self.lines[path].setdefault(line["line_number"], set()).add(name)
        for f in file["functions"]:
            of = self.functions[path].setdefault((f["start_line"], f["end_line"]), set())
            if f["execution_count"]:
                of.add(name)

    def of(self, path, line):
        """({programs that run the line}, {... the function})"""
        inside = set()
        for (first, last), names in self.functions[path].items():
            if first <= line <= last:
                inside |= names
        return self.lines[path].get(line, set()) & inside, inside

    def store(self, path):
        rows = [{f: [[k, sorted(v)] for k, v in found.items()] for f, found in table.items()}
                for table in (self.lines, self.functions)]
        with open(path, "w", encoding="utf-8") as f:
            json.dump(rows, f)

    def load(self, path):
        with open(path, encoding="utf-8") as f:
            lines, functions = json.load(f)
        for file, found in lines.items():
            self.lines[file] = {k: set(v) for k, v in found}
        for file, found in functions.items():
            self.functions[file] = {tuple(k): set(v) for k, v in found}


class Worker:
    """A copy of BASE in which one slip at a time is made."""

    def __init__(self, number):
        self.tree = os.path.join(WORK, f"tree{number}")
        shutil.rmtree(self.tree, ignore_errors=True)
        subprocess.run(["cp", "-al", BASE, self.tree], check=True)
        self.touched = set()

    def write(self, path, text):
        self.drop(path)
        with open(os.path.join(self.tree, path), "w", encoding="utf-8") as f:
            f.write(text)

    def drop(self, path):
        os.unlink(os.path.join(self.tree, path))
        self.touched.add(path)

    def run(self, name, rule):
        """Makes @name. False: it does not compile."""
        self.drop(name)
        return not subprocess.run(rule.line, shell=True, cwd=self.tree, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False).returncode

    def restore(self):
        for path in self.touched:
            at = os.path.join(self.tree, path)
            if os.path.lexists(at):
                os.unlink(at)
            os.link(os.path.join(BASE, path), at)
        self.touched = set()


class Killers:
    def __init__(self, jobs, say):
        self.say, self.seconds = say, {}
        say("building")
        self.paths, self.graph = build(BASE, jobs, f"FLAGS={PLAIN} -O1")
        self.dependents = graph.dependents(BASE, self.graph)
        self.measure(jobs)
        self.strict = Strict()
        self.plain = {}
        self.workers = [Worker(i) for i in range(jobs)]

    def measure(self, jobs):
        """How long each program takes, and what it runs: of these sources, once."""
        of = digest()
        times, reach = (os.path.join(WORK, f"{what}-{of}.json") for what in ("seconds", "reach"))
        self.reach = Reach()
        if os.path.exists(times):
            self.reach.load(reach)
            with open(times, encoding="utf-8") as f:
                self.seconds = json.load(f)
            return
        for path in self.paths:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            if run_test(BASE, self.program(path), LIMIT):
                raise SystemExit(f"mutants: {path} is red without any slip")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.seconds[os.path.basename(path)] = after.ru_utime + after.ru_stime - \
                before.ru_utime - before.ru_stime
        # As with sanitizers, which some tests do less with.
        build(COV, jobs, f"FLAGS={PLAIN} -O0 --coverage",
              "SANITIZE=--coverage -D__SANITIZE_ADDRESS__=1", "VARIANT=--coverage")
        self.reach.measure(self.paths, self.say)
        self.reach.store(reach)
        with open(times, "w", encoding="utf-8") as f:
            json.dump(self.seconds, f)

    @staticmethod
    def program(path):
        return Program(path, os.path.basename(path), SIM_ARGS if path == SIM else ())

    def order(self, path, line):
        """Programs that run it, in the order in which they are asked."""
        near, inside = self.reach.of(path, line)
        return sorted((self.program(p) for p in self.paths if os.path.basename(p) in inside),
                      key=lambda p: (p.name in GOLDEN, p.path == SIM, p.name not in near,
                                     self.seconds[p.name]))

    def judge(self, m, text, worker):
        """(verdict, by whom, what was asked)"""
        changed = mutant.applied(m, text)
        found = self.strict.refuses(m.file, changed)
        if found:
            return found, "", []
        asked, verdict = [], SURVIVED
        try:
            worker.write(m.file, changed)
            dirty = self.graph.above(self.dependents[m.file])
            made = set()
            for program in self.order(m.file, m.line):
                if not self.make(worker, program, dirty, made):
                    return NO_COMPILE, program.name, asked
                asked.append(program.name)
                patience = 4 if program.path == SIM else 10
                end = run_test(worker.tree, program,
                               math.ceil(2 + patience * self.seconds[program.name]))
                if end == KILLED:
                    return GOLD if program.name in GOLDEN else KILLED, program.name, asked
                verdict = TIMEOUT if end else verdict
        finally:
            worker.restore()
        return (verdict if asked else UNREACHED), "", asked

    def make(self, worker, program, dirty, made):
        for name in self.graph.below(program.path, dirty):
            if name not in made and not worker.run(name, self.graph.rules[name]):
                return False
            made.add(name)
        return True


class Strict:
    """The product's own commands: a slip that these compilers refuse is none, and nor is one
    of which they make the same code."""

    def __init__(self):
        said = graph.make(ROOT, "-n", "-B", "V=1", "BUILD_ID=slip", "check-build")
        self.graph = graph.Graph(said)
        self.kernel = graph.kernel_commands()
        self.by_source = collections.defaultdict(list)
        for name in self.graph.objects():
            self.by_source[self.graph.rules[name].source].append(name)
        self.folder = os.path.join(WORK, "strict")
        self.same = {}

    def command(self, source):
        """(folder, the words) of the compilation of a source: that of what users run."""
        if source in self.kernel:
            return self.kernel[source]
        names = self.by_source.get(source)
        if not names:
            return None
        name = min(names, key=lambda n: ("-fsanitize" in self.graph.rules[n].line, len(n)))
        return ROOT, [w for w in shlex.split(self.graph.rules[name].line)
                      if not w.startswith(("-fsanitize", "-MMD", "-MP", "-g", "-flto"))]

    def compiled(self, source, text):
        """The object's bytes, or None."""
        found = self.command(source)
        if not found:
            return None
        folder, words = found
        at = os.path.join(self.folder, str(threading.get_ident()))
        os.makedirs(at, exist_ok=True)
        copy, out = os.path.join(at, os.path.basename(source)), os.path.join(at, "made.o")
        with open(copy, "w", encoding="utf-8") as f:
            f.write(text)
        full = os.path.join(ROOT, source)
        words = [copy if w in (source, full) else out if w.endswith(".o") else w for w in words]
        here = ["-iquote", os.path.dirname(full), f"-ffile-prefix-map={copy}={source}"]
        r = subprocess.run(words[:1] + here + words[1:], cwd=folder, capture_output=True,
                           check=False)
        code = None
        if not r.returncode:
            with open(out, "rb") as f:
                code = f.read()
            os.unlink(out)
        os.unlink(copy)
        return code

    def refuses(self, path, changed):
        """NO_COMPILE, SAME or None; of headers nothing is known before."""
        if not path.endswith(".c") or not self.command(path):
            return None
        if path not in self.same:
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                self.same[path] = self.compiled(path, f.read())
            if self.same[path] is None:
                raise SystemExit(f"mutants: {path} does not compile without any slip")
        code = self.compiled(path, changed)
        return NO_COMPILE if code is None else SAME if code == self.same[path] else None
