#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Did moves and renames change what is compiled? Compares two commits.

usage: same_code.py OLD [NEW] [--board BOARD]...      NEW: HEAD unless named

For each board, every object of OLD is compared with that of NEW whose source git
takes for the same file under another name: function by function in the order of the
object, instructions, constants and what they refer to. A function that has another
name is the same one where it stands in the same place. What the compiler is told of
lines and files (__LINE__, __FILE__) is left out. Ends in "N passed, N failed", of
objects.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build", "same-code")
BOARDS = ("virt", "mps2-an385", "lm3s6965evb", "ek-tm4c1294xl", "template",
          "soft")
FLAGS = ("-std=gnu11 -fms-extensions -O2 -w -MMD -MP -ffunction-sections -fdata-sections "
         "-Wno-builtin-macro-redefined -D__LINE__=0 -D__FILE__=0")
LOADED = re.compile(r"\.(text|rodata|data|bss|boot|vectors|init)")
SYMBOL = re.compile(r"[A-Za-z_.$][\w.$]*")


def sh(*args, cwd=ROOT):
    return subprocess.run(args, cwd=cwd, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def tree_of(commit):
    tree = os.path.join(WORK, sh("git", "rev-parse", "--short", commit).strip())
    if not os.path.exists(tree):
        sh("git", "clone", "-q", ROOT, tree)
        sh("git", "checkout", "-q", sh("git", "rev-parse", commit).strip(),
           cwd=tree)
    return tree


def objects(tree, board):
    """{source: object} of the image of a board."""
    sh("make", "-s", f"-j{os.cpu_count()}", f"BOARD={board}", "BUILD_ID=same",
       f"FLAGS={FLAGS}", f"CFLAGS={FLAGS}", "image", cwd=tree)
    found = {}
    for folder, _, names in os.walk(os.path.join(tree, "build", board)):
        for name in names:
            if not name.endswith(".d"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                words = f.read().replace("\\\n", " ").split(":", 1)[1]
            source = words.split()[0]
            found[source] = path[:-1] + "o"
    return found


def renames(old, new):
    """{path in old: path in new} of files that have another name."""
    rows = (line.split("\t") for line in sh(
        "git", "diff", "-M40%", "-l0", "--name-status", old,
        new).splitlines())
    return {row[1]: row[2] for row in rows if row[0].startswith("R")}


def pieces(path, tool):
    """[(name, lines)] of the sections of an object that are loaded, in order."""
    out, name, lines = [], None, []
    for line in sh(tool, "-Dr", path).splitlines():
        m = re.match(r"Disassembly of section (\S+):", line)
        if m:
            name, lines = m[1], []
            if LOADED.match(name):
                out.append((name, lines))
        elif name and line.strip():
            lines.append(line)
    return out


def shape(lines, names):
    """Lines without addresses of the object, with names as @names has them."""
    kept = []
    for line in lines:
        m = re.match(r"\s*([0-9a-f]+):\t(\S+)\s+(\S.*)$", line)  # a relocation
        if m and m[2].startswith("R_"):
            what = SYMBOL.sub(lambda s: names.get(s[0], s[0]), m[3])
            kept.append(f"{m[1]} {m[2]} {what}")
            continue
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*(?:\t.*)?$", line)
        if m:
            kept.append(f"{m[1]} {m[2]}")
    return kept


def short(section):
    """The function or object of a section of its own."""
    m = re.match(r"\.(?:text|rodata|data|bss)(?:\.unlikely|\.startup|\.cst\d+|"
                 r"\.str\d[\d.]*)?\.?(.*)", section)
    return m[1] if m else section


def compare(a, b, names, tool):
    """Words about the first difference of two objects, or None."""
    left, right = pieces(a, tool), pieces(b, tool)
    if len(left) != len(right):
        return f"{len(left)} pieces, then {len(right)}"
    for (n, old), (m, new) in zip(left, right):
        if shape(old, names) != shape(new, {}):
            rows = [p for p in zip(shape(old, names), shape(new, {}))
                    if p[0] != p[1]]
            return f"{n}, then {m}: {rows[:1] or 'longer or shorter'}"
    return None


def renamed(pairs, tool):
    """{old name: new name} of what stands in the same place."""
    names = {}
    for a, b in pairs:
        for (n, _), (m, _) in zip(pieces(a, tool), pieces(b, tool)):
            names[n] = m
            if short(n):
                names[short(n)] = short(m)
    return {a: b for a, b in names.items() if a != b}


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("old")
    p.add_argument("new", nargs="?", default="HEAD")
    p.add_argument("--board", action="append")
    args = p.parse_args()
    os.makedirs(WORK, exist_ok=True)
    trees = [tree_of(c) for c in (args.old, args.new)]
    moved = renames(args.old, args.new)
    passed = failed = 0
    for board in args.board or BOARDS:
        old, new = (objects(t, board) for t in trees)
        tool = "objdump" if board == "soft" else "arm-none-eabi-objdump"
        left = {moved.get(s, s): o for s, o in old.items()}
        for source in sorted(left.keys() ^ new.keys()):
            print(f"  FAILED {board} {source}: only in one of them")
            failed += 1
        both = sorted(left.keys() & new.keys())
        names = renamed([(left[s], new[s]) for s in both], tool)
        for source in both:
            word = compare(left[source], new[source], names, tool)
            if word:
                print(f"  FAILED {board} {source}: {word}")
            passed, failed = passed + (not word), failed + bool(word)
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
