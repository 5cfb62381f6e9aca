#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""libunic.so as a program that was linked before sees it: abidiff between what is recorded, in
host_driver/libunic/libunic.abi, and what was built.

    abi_library.py [--rewrite] [--record FILE] [--major N] LIBRARY

Before the release with ABI 2 differences are reported; from then on those that break a program
are errors. --rewrite: record the library as it is. --major: of the ABI; else that of
abi/unic_mbox.h. Without abidiff (package abigail-tools) nothing is compared.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORD = os.path.join(ROOT, "host_driver", "libunic", "libunic.abi")
FIRM = 2  # the ABI from which on a break is an error
CHANGED, BROKEN = 4, 8  # bits of what abidiff ends with; 1 and 2: it did not work


def major():
    with open(os.path.join(ROOT, "abi", "unic_mbox.h"), encoding="utf-8") as f:
        return int(re.search(r"define UNIC_ABI_MAJOR (\d+)", f.read())[1])


def record(library, path):
    """Types of the library that its functions reach, without places and folders."""
    subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-parameter-names",
                    "--type-id-style", "hash", "--exported-interfaces-only", "--out-file", path, library], check=True)
    print(f"{os.path.relpath(path, ROOT)}: written")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rewrite", action="store_true")
    p.add_argument("--record", default=RECORD)
    p.add_argument("--major", type=int)
    p.add_argument("library")
    args = p.parse_args()
    if not shutil.which("abidiff"):
        print("skipped: abidiff is not installed; apt-get install abigail-tools")
        return 0
    if args.rewrite:
        record(args.library, args.record)
        return 0
    done = subprocess.run(["abidiff", args.record, args.library], capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, end="")
    if done.returncode & 3:
        print("abidiff did not work")
        return 1
    firm = (args.major or major()) >= FIRM
    if done.returncode & BROKEN and firm:
        print("a program that was linked with the release before would break")
        return 1
    if done.returncode & CHANGED:
        print("the library changed: programs are to be compiled again; make abi-library-golden records it"
              if not firm else "the library grew; make abi-library-golden records it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
