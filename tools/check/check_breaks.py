#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_breaks.py - every deliberate break of the tests still has its place.

`make mutations`, `sim-mutants`, `proof-mutants`, `promises` and `vm-breaks` take hours,
and a source changes meanwhile: each file that they name must exist and contain the text
that they replace.
"""
import glob
import os
import runpy
import sys

# file, name of its table; the path stands in each row before the text.
TABLES = [(path, "MUTATIONS")
          for path in sorted(glob.glob("tests/mutation/mutations.d/*.py"))] + [
    ("tests/sim/mutants.py", "MUTANTS"),
    ("tests/proofs/mutants.py", "MUTANTS"),
    ("tests/mutation/promises.py", "BREAKS"),
    ("tests/vm/vm_breaks.py", "BREAKS"),
]
MODULES = "host_driver/linux"  # what vm_breaks.py names its files from


def place(row):
    """(path of the source, text that must stand there)"""
    at = next(i for i, word in enumerate(row) if isinstance(word, str) and (
        word.endswith((".c", ".h", ".S", ".lua")) or
        word.startswith(("qemu/", "tools/")) and word.endswith(".py")))
    path = row[at]
    if "/" not in path or path.startswith(".."):
        path = os.path.normpath(os.path.join(MODULES, path))
    return path, row[at + 1]


def says(path, text):
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as f:
        return text in f.read()


def main():
    rows = bad = 0
    for path, name in TABLES:
        sys.path.insert(0, os.path.dirname(path))
        for row in runpy.run_path(path)[name]:
            source, text = place(row)
            rows += 1
            if not says(source, text):
                bad += 1
                print(f"{path}: {source} does not say '{text}'")
        sys.path.pop(0)
    print(f"{rows} breaks, {bad} without a place")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
