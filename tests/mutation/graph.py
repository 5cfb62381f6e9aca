# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What make would do, as a graph: which command makes each object, archive and program,
and of what. So a slip costs the compilation of what contains it, and no run of make.
"""
import collections
import os
import re
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPILERS = ("gcc", "arm-none-eabi-gcc")
PARTS = ("Makefile", "abi", "boards", "examples", "firmware", "hal", "host_driver", "ld", "mk",
         "qemu", "tests", "tools")
# A command, as a line of sh; the files it makes that of; compilations know their source.
Rule = collections.namedtuple("Rule", "line inputs source")
KMOD = "build/kmod/host_driver/linux"


def make(tree, *args):
    """What make says; its errors end the program."""
    r = subprocess.run(["make", *args], cwd=tree, env={**os.environ, "MAKEFLAGS": ""}, text=True,
                       capture_output=True, errors="replace", check=False)
    if r.returncode:
        raise SystemExit(f"mutants: make {args[-1]}: {r.stderr[-2000:]}")
    return r.stdout


def output(words):
    return words[words.index("-o") + 1] if "-o" in words else None


def rule_of(line):
    """(what it makes, Rule) or None: of compilations, archives and links."""
    words = shlex.split(line)
    if not words:
        return None
    if words[0] in COMPILERS and "-c" in words and output(words):
        source = words[words.index("-c") + 1]
        return output(words), Rule(line, (source,), source)
    if "rcs" in words:
        at = words.index("rcs") + 1
        return words[at], Rule(line, tuple(words[at + 1:]), None)
    if output(words) and words[0] in ("ld", *COMPILERS):
        made = [w for w in words[1:] if w.endswith((".o", ".a")) and w != output(words)]
        made = made[:made.index("objcopy")] if "objcopy" in made else made
        return output(words), Rule(line, tuple(dict.fromkeys(made)), None)
    return None


class Graph:
    """@said: what `make -n -B V=1` printed."""

    def __init__(self, said):
        self.rules = {}
        for line in said.replace("\\\n", " ").splitlines():
            found = rule_of(line) if " -o " in line or " rcs " in line else None
            if found and found[0] not in self.rules:
                self.rules[found[0]] = found[1]

    def objects(self):
        return [name for name, rule in self.rules.items() if rule.source]

    def above(self, changed):
        """@changed and all that is made of it."""
        out = set(changed)
        while True:
            more = {n for n, r in self.rules.items() if n not in out and out & set(r.inputs)}
            if not more:
                return out
            out |= more

    def below(self, goal, among):
        """Those of @among that @goal is made of, first things first."""
        out = []

        def visit(name):
            for part in self.rules[name].inputs:
                if part in among and part in self.rules and part not in out:
                    visit(part)
            if name in among and name not in out:
                out.append(name)

        visit(goal)
        return out


def dependents(tree, graph):
    """{file: {objects}} by the lists that the compiler left beside them."""
    out = collections.defaultdict(set)
    for name in graph.objects():
        listed = os.path.join(tree, name[:-2] + ".d")
        if not os.path.exists(listed):
            continue
        with open(listed, encoding="utf-8") as f:
            words = f.read().split("\n\n")[0].replace("\\\n", " ").split()[1:]
        for word in words:
            if not word.endswith(":"):
                out[os.path.normpath(word)].add(name)
    return out


def kernel_commands(tree=ROOT):
    """{source: (folder, command)} of the Linux module, as Kbuild left them."""
    out = {}
    for where, _, names in os.walk(os.path.join(ROOT, KMOD)):
        for name in names:
            m = re.fullmatch(r"\.(\w+)\.o\.cmd", name)
            if not m:
                continue
            with open(os.path.join(where, name), encoding="utf-8") as f:
                line = f.readline().split(":=", 1)[1].split(" ; ./tools")[0].strip()
            words = shlex.split(line)
            source = next((w for w in words if w.endswith(f"/{m[1]}.c")), None)
            if source is None:
                continue
            copy = source[:source.rindex("/host_driver/")]
            words = [w.replace(copy, tree) for w in words
                     if not w.startswith(("-Wp,-MMD", "-g"))]
            release = re.search(r"linux-headers-[\w.-]+-common", line)
            folder = "/usr/src/" + release[0].replace("-common", "-amd64") if release else "/"
            out[os.path.relpath(source, copy)] = folder, words
    return out
