#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_layers.py - who includes whom.

Reads what the compiler really included (the dependency files under build/) and
holds it against the one direction of the design:

    host_driver -> abi <- firmware -> hal/unic_port.h <- hal/<x>

Only hal/<x>/main.c sees the core and its board both. Tests may see all.
"""
import glob
import os
import re
import sys

PORT = "hal/unic_port.h"
BOARD_H = r"boards/[\w-]+/(\.\./[\w-]+/)*(board|tables|\.\./usual)\.h"

# (source, what it may include besides its own folder and abi/); first match.
RULES = [
    (r"firmware/", [PORT, BOARD_H, r"firmware/"]),
    (r"hal/\w+/main\.c", [PORT, r"hal/drivers/", BOARD_H, r"firmware/"]),
    (r"hal/drivers/", [PORT, BOARD_H]),
    (r"hal/\w+/", [PORT, r"hal/(drivers|cortexm|serial)/", BOARD_H]),
    (r"host_driver/core/", [r"host_driver/core/"]),
    (r"host_driver/daemon/", []),
    (r"host_driver/kio/", [r"host_driver/core/(host|host_config|provider|unic_os)\.h"]),
    (r"host_driver/serial/", [PORT, r"hal/serial/(stream|frame)\.h"]),
    (r"host_driver/unicd/", [r"host_driver/(core|kio|daemon|serial)/",
                             r"hal/serial/(stream|frame)\.h"]),
    (r"host_driver/libunic/", []),
    (r"host_driver/tools/", [r"host_driver/libunic/"]),
    (r"examples/", [r"host_driver/libunic/unic\.h"]),
    (r"qemu/", [PORT, r"hal/drivers/(link_ring|ivshmem_client)\.h",
                r"qemu/bus/ivshmem_server\.h", r"host_driver/daemon/"]),
]
ANYTHING = re.compile(r"tests/")


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
    for line in sorted(bad):
        print(line)
    if not seen:
        print("nothing is built: run make first")
        return 1
    print(f"{len(seen)} sources seen, {len(bad)} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
