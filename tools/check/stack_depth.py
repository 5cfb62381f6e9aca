#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""stack_depth.py ELF FOLDER... - can the stacks of a bare-metal image overflow?

Adds up the frames along the deepest path of calls, from what the compiler says
with -fcallgraph-info=su (FOLDER/**/*.ci), and compares it with the room that the
image has: __stack_limit to __stack_top for main(), from there to
__fault_stack_top for what runs on exceptions. Exit code 1 if it does not fit.

What a graph cannot say is said here: who is called through a pointer, how often a
function that calls itself does so, and how deep what is not C goes. Anything that
is neither known nor said is an error, not a guess.
"""
import argparse
import glob
import re
import subprocess
import sys

# Calls through a pointer: by whom, and to whom.
POINTERS = {
    "unic_cmd_execute": r"do_\w+|unic_cmd_(mr|token|wait|notice)_\w+",
    # a record of a batch is no batch (in_mr_batch(), in_token_batch())
    "unic_cmd_one": r"do_\w+|unic_cmd_(mr|token|wait|notice)_(?!batch)\w+",
    "run_batch": r"in_(mr|token)_batch",
    "unic_dump": r"\w+_row",
}
# Forms of forms (UNIC_FORM_DEPTH), and what is behind each of them.
TIMES = 5
# Not C: bytes of the C library's and the compiler's own, read in their listings.
ASSEMBLY = {"memcpy": 28, "memmove": 16, "memset": 16, "memcmp": 16,
            "strlen": 8, "unic_port_panic": 68}
LIBGCC = re.compile(r"__aeabi_\w+|__\w+di\d|__gnu_\w+")
LIBGCC_BYTES = 64
# What the processor stacks, on the stack in use: 8 words, and one to align.
EXCEPTION = 36
# Levels of interrupts whose handlers may interrupt each other (hal/lm3s/port.c),
# and what start.S pushes for each.
LEVELS, HANDLER = 3, 8

NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]+)"', re.M)
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"',
                  re.M)
FRAME = re.compile(r"\\n(\d+) bytes \((\w[\w,]*)\)")


class Problem(Exception):
    """Why no bound can be given."""


def bare(title):
    """file.c:name and name.part.0 as in the source."""
    return title.rsplit(":", 1)[-1].split(".")[0]


class Graph:
    def __init__(self, folders, image):
        self.image = image
        self.frame, self.calls, self.memo = {}, {}, {}
        for folder in folders:
            for path in glob.glob(folder + "/**/*.ci", recursive=True):
                with open(path, encoding="utf-8") as file:
                    self.read(file.read())
        self.loops = self.components()

    def read(self, text):
        for title, label in NODE.findall(text):
            found = FRAME.search(label)
            if not found:
                continue
            if "dynamic" in found[2] and "bounded" not in found[2]:
                raise Problem(f"{title}: a frame of unknown size")
            self.frame[title] = int(found[1])
        for caller, callee in EDGE.findall(text):
            self.calls.setdefault(caller, set()).add(callee)

    def targets(self, title):
        for callee in sorted(self.calls.get(title, ())):
            if callee != "__indirect_call":
                yield callee
                continue
            pattern = POINTERS.get(bare(title))
            if not pattern:
                raise Problem(f"{title} calls through a pointer: to whom?")
            named = [t for t in self.frame if bare(t) in self.image and
                     re.fullmatch(pattern, bare(t))]
            if not named:
                raise Problem(f"{title} calls through a pointer: no function "
                              f"is named {pattern}")
            yield from named

    def depth(self, title, path=()):
        """Bytes below the call of title, and the path."""
        if title not in self.frame:
            name = bare(title)
            if LIBGCC.fullmatch(name):
                return LIBGCC_BYTES, (name,)
            if name in ASSEMBLY:
                return ASSEMBLY[name], (name,)
            raise Problem(f"{' > '.join(map(bare, path))} calls {name}, of "
                          "which nothing is known")
        if path.count(title) >= TIMES:
            return 0, ()
        if title in self.memo:
            return self.memo[title]
        deepest, way = 0, ()
        for callee in self.targets(title):
            bytes_, below = self.depth(callee, path + (title,))
            if bytes_ > deepest:
                deepest, way = bytes_, below
        result = deepest + self.frame[title], (bare(title),) + way
        # only what is in no cycle is the same from wherever it is called
        if not any(t in path for t in self.cycle(title)):
            self.memo[title] = result
        return result

    def cycle(self, title):
        """Functions that title can come back from to itself."""
        return self.loops.get(title, ())

    def components(self):
        """Of each function in a cycle: the cycle (Tarjan)."""
        index, low, stack, on, loops = {}, {}, [], set(), {}

        def visit(v):
            index[v] = low[v] = len(index)
            stack.append(v)
            on.add(v)
            for w in self.targets(v):
                if w not in self.frame:
                    continue
                if w not in index:
                    visit(w)
                    low[v] = min(low[v], low[w])
                elif w in on:
                    low[v] = min(low[v], index[w])
            if low[v] == index[v]:
                group = set()
                while True:
                    w = stack.pop()
                    on.discard(w)
                    group.add(w)
                    if w == v:
                        break
                if len(group) > 1 or v in self.targets(v):
                    for w in group:
                        loops[w] = group
        # a folder may hold more than this image, a boot stub for one
        for v in list(self.frame):
            if v not in index and bare(v) in self.image:
                visit(v)
        return loops


def symbols(elf, nm):
    text = subprocess.run([nm, elf], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[-1]: int(line.split()[0], 16)
            for line in text.splitlines() if len(line.split()) == 3}


def judge(what, bytes_, way, room, say_way):
    good = bytes_ <= room
    print(f"{what}: {bytes_} of {room} bytes" +
          (f" ({' > '.join(way)})" if say_way or not good else ""))
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("elf")
    p.add_argument("folder", nargs="+")
    p.add_argument("--path", action="store_true", help="say the deepest path")
    p.add_argument("--nm", default="arm-none-eabi-nm")
    o = p.parse_args()
    sys.setrecursionlimit(10000)
    at = symbols(o.elf, o.nm)
    main_room = at["__stack_top"] - at["__stack_limit"]
    fault_room = at["__fault_stack_top"] - at["__stack_top"]
    try:
        graph = Graph(o.folder, {name.split(".")[0] for name in at})
        bytes_, way = graph.depth("main")
        good = judge("stack of main()", bytes_ + EXCEPTION, way, main_room,
                     o.path)
        # a fault on the way of interrupts: all of them, and r4 to r11
        irq = graph.depth("machine_irq")
        crash = graph.depth("crash_exception")
        good &= judge("stack of exceptions",
                      LEVELS * (irq[0] + EXCEPTION + HANDLER) + crash[0] + 32,
                      irq[1] + ("fault",) + crash[1], fault_room, o.path)
    except Problem as e:
        print(f"stack_depth.py: {e}")
        return 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
