#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""compile_commands.py - what `make -n V=1` says on stdin, as compile_commands.json.

One command for each source: of several the first of KINDS, else the one that make
said first.
"""
import json
import os
import shlex
import sys

COMPILERS = ("gcc", "arm-none-eabi-gcc")
# Folders of build/: what users run, then what tests do.
KINDS = ("virt", "host", "soft", "lm3s6965evb", "ek-tm4c1294xl", "mps2-an385",
         "unit")


def rank(command):
    kind = command["output"].split("/")[1]
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def compilations(lines):
    for line in lines:
        if " -c " not in line:
            continue
        words = shlex.split(line)
        if words[0] in COMPILERS and "-o" in words:
            yield {"directory": os.getcwd(), "arguments": words,
                   "file": words[words.index("-c") + 1],
                   "output": words[words.index("-o") + 1]}


def main():
    best = {}
    for command in compilations(sys.stdin):
        known = best.setdefault(command["file"], command)
        if rank(command) < rank(known):
            best[command["file"]] = command
    json.dump([best[name] for name in sorted(best)], sys.stdout, indent=1)
    print()
    return 0 if best else 1


if __name__ == "__main__":
    sys.exit(main())
