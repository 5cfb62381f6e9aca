#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_layers.py - who includes whom.

Reads what the compiler really included (the dependency files under build/) and
holds it against the one direction of the design:

    host_driver -> abi <- firmware -> hal/unic_port.h <- hal/<x>

Only hal/<x>/main.c sees the core and its board both. Tests may see all.

Inside a folder of ROOMS it also holds the rooms to one direction: a source includes
headers of its own room and of those before it, and an object names functions and
data of those only, which `nm` says.
"""
import glob
import os
import re
import subprocess
import sys

PORT = "hal/unic_port.h"
PATIENCE = r"host_driver/libunic/patience\.h"
BOARD_H = r"boards/[\w-]+/(\.\./[\w-]+/)*(board|tables|\.\./usual|\.\./near_pages)\.h"

# (source, what it may include besides its own folder and abi/); first match.
RULES = [
    (r"firmware/", [PORT, BOARD_H, r"firmware/"]),
    # a program of the host
    (r"hal/soft/main\.c", [PORT, r"hal/drivers/", BOARD_H, r"firmware/",
                           r"host_driver/daemon/(number|output|say)\.h", PATIENCE]),
    (r"hal/soft/soft_attach\.c", [PORT, r"hal/drivers/", BOARD_H, r"host_driver/daemon/say\.h"]),
    (r"hal/\w+/main\.c", [PORT, r"hal/drivers/", BOARD_H, r"firmware/"]),
    (r"hal/drivers/", [PORT, BOARD_H]),
    (r"hal/\w+/", [PORT, r"hal/(drivers|cortexm|serial)/", BOARD_H]),
    (r"host_driver/core/", [r"host_driver/core/"]),
    (r"host_driver/daemon/", []),
    (r"host_driver/kio/", [r"host_driver/core/(host|host_config|provider|unic_os)\.h"]),
    (r"host_driver/serial/", [PORT, r"hal/serial/(stream|frame)\.h",
                              r"host_driver/daemon/run_dir\.h"]),
    (r"host_driver/unicd/", [r"host_driver/(core|kio|daemon|serial)/", r"host_driver/tools/(metrics|trace)_text\.h",
                             r"hal/serial/(stream|frame)\.h", PATIENCE]),
    (r"host_driver/libunic/", []),
    (r"host_driver/verbs/shim/", []),
    (r"host_driver/verbs/", [r"host_driver/libunic/"]),
    (r"host_driver/tools/", [r"host_driver/libunic/", r"host_driver/daemon/(number|output)\.h"]),
    # what a student writes of a board; the other labs are compiled by their checks
    (r"docs/labs/6-board/", [PORT, r"hal/(template|drivers|cortexm)/", BOARD_H]),
    (r"examples/driver\.c", []),
    (r"examples/", [r"host_driver/libunic/unic\.h"]),
    (r"qemu/", [PORT, r"hal/drivers/(link_layout|link_ring|ivshmem_client)\.h",
                r"qemu/bus/ivshmem_server\.h", r"host_driver/daemon/", PATIENCE]),
]
ANYTHING = re.compile(r"tests/")

# folder: its rooms, and whose files they are; each needs only those before it.
ROOMS = {
    "firmware/": [
        *((name, name + "/") for name in
          ("base", "arbiter", "memory", "revoke", "transport", "command")),
        ("nic", r"nic\."),
    ],
    "host_driver/core/": [
        ("base", r"(unic_os|provider|host_config|objects|ids|journal|state|request"
                 r"|device|limit|upcall)\.|region/frames"),
        ("region", r"region/"),
        ("queue", r"(queue(_token|_resize)?|srq)\."),
        ("cm", r"cm/"),
        ("process", r"(admin|batch|dispatch|nics|proc|rate|recall|restore|resync|snapshot)\."),
        ("host", r"host\."),
        ("provider", r"provider/"),
    ],
}


def allowed(source):
    """Compiled pattern of what source may include, or None if no rule."""
    for pattern, others in RULES:
        if re.match(pattern, source):
            own = re.escape(source[:source.rindex("/") + 1])
            return re.compile("|".join([own, "abi/"] + others))
    return None


def dependencies(path):
    """(source, [headers of this tree]) of one dependency file."""
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    words = text.split("\n", 1)[0].split(":", 1)[1].split()
    return words[0], [w for w in words[1:]
                      if not w.startswith(("/", "build/"))]


def room(path):
    """(folder, position of the room of path, its name); None: it is in no folder
    with rooms. Position -1: in no room of it."""
    for folder, rooms in ROOMS.items():
        if path.startswith(folder):
            for i, (name, pattern) in enumerate(rooms):
                if re.match(pattern, path[len(folder):]):
                    return folder, i, name
            return folder, -1, "no room"
    return None


def backwards(path, other):
    """Why path must not need other; None: it may, as far as rooms go."""
    other = os.path.normpath(other)
    here, there = room(path), room(other)
    if here is None or there is None or here[0] != there[0]:
        return None
    for at, (_, position, _) in ((path, here), (other, there)):
        if position < 0:
            return f"{at}: lies in no room"
    return (f"room {here[2]} is before {there[2]}" if there[1] > here[1]
            else None)


def symbols(paths):
    """{object: (names that it defines, names that it needs)}"""
    found = {path: (set(), set()) for path in paths}
    said = subprocess.run(["nm", "-A", *paths], capture_output=True, text=True,
                          check=True).stdout
    for line in said.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind in "BCDRSTVW":
            found[path][0].add(name)
        elif kind in "Uvw":
            found[path][1].add(name)
    return found


def objects(folder):
    """{folder of a build: [(source, object)]} of the sources below folder"""
    found = {}
    for path in glob.glob(f"build/*/{folder}**/*.o", recursive=True):
        build = path[:path.index(folder)]
        source = path[len(build):-2] + ".c"
        if os.path.exists(source):
            found.setdefault(build, []).append((source, path))
    return found


def calls_backwards(folder):
    """Names that an object needs of a room behind its own."""
    bad = set()
    for pairs in objects(folder).values():
        of = symbols([path for _, path in pairs])
        names = {source: of[path] for source, path in pairs}
        owner = {name: source for source, (defined, _) in names.items()
                 for name in defined}
        for source, (_, needed) in names.items():
            for name in needed & owner.keys():
                why = backwards(source, owner[name])
                if why:
                    bad.add(f"{source}: must not need {name} of "
                            f"{owner[name]}: {why}")
    return bad


def main():
    bad, seen = set(), set()
    for path in glob.glob("build/**/*.d", recursive=True):
        if os.path.isdir(path):  # of an unpacked package, tests/bench/rxe.py
            continue
        source, headers = dependencies(path)
        seen.add(source)
        if ANYTHING.match(source):
            continue
        rule = allowed(source)
        if rule is None:
            bad.add(f"{source}: lies in no known layer")
            continue
        bad |= {f"{source}: must not include {h}"
                for h in headers if not rule.match(h)}
        bad |= {f"{source}: must not include {h}: {backwards(source, h)}"
                for h in headers if backwards(source, h)}
    for folder in ROOMS:
        bad |= calls_backwards(folder)
    for line in sorted(bad):
        print(line)
    if not seen:
        print("nothing is built: run make first")
        return 1
    print(f"{len(seen)} sources seen, {len(bad)} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
