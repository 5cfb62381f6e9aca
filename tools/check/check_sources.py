#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_sources.py FILE... - every C and assembly source is built, listed once.

The arguments are the lists of every sources.mk; each .c and .S file of the
tree must be among them, and each must begin with its licence. No hidden file that git
knows is empty: a tool has left it.
"""
import os
import subprocess
import sys

ROOTS = ["abi", "docs/labs", "examples", "firmware", "hal", "host_driver", "qemu", "tests"]
SPDX = "SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause"
SOURCES = (".c", ".S")
WITH_SPDX = SOURCES + (".h", ".py", ".sh", ".mk", ".ld")


def tree():
    for root in ROOTS:
        for folder, _, names in os.walk(root):
            for name in names:
                yield os.path.join(folder, name)


def left_over():
    """Empty hidden files that git knows; none where there is no git."""
    said = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=False).stdout
    return [path for path in said.split("\0") if os.path.basename(path).startswith(".") and
            os.path.exists(path) and not os.path.getsize(path)]


def main():
    listed = {os.path.normpath(a) for a in sys.argv[1:]}
    bad = []
    for path in sorted(tree()):
        if path.endswith(SOURCES) and path not in listed:
            bad.append(f"{path}: in no list of a sources.mk, and of no "
                       "board of BOARDS in mk/checks.mk")
        if path.endswith(WITH_SPDX):
            with open(path, encoding="utf-8") as file:
                if SPDX not in file.read(300):
                    bad.append(f"{path}: no SPDX line")
    bad += [f"{path}: is empty" for path in left_over()]
    bad += [f"{path}: listed, but not there" for path in sorted(listed)
            if not os.path.exists(path)]
    for line in bad:
        print(line)
    print(f"{len(listed)} sources listed, {len(bad)} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
