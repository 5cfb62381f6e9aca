#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_style.py - sizes and names of the product's C, as clang-format leaves it.

  sizes       a file has at most 600 lines, a function 80 and 7 parameters; of the
              functions of a folder half have at most 15 lines, 95 of 100 at most 45
  headers     a function that other files call is declared in the header of its file
              (x.h of x.c, x_y.c may have x.h too), under a comment
  names       no two functions that are linked together, no two struct tags of headers
              and no two static functions or struct tags of a folder share a name
  copies      no six lines stand twice, but for members of the records of abi/, each of
              which is written out: a reader sees each offset, and sharing members
              would change the records

What is known to be otherwise stands in check_style.known, which may only become shorter:
what is not in it is a violation, and so is a line of it that is true no more.

usage: check_style.py [--known]     --known: write that file anew
"""
import collections
import glob
import os
import re
import sys

FOLDERS = ("abi", "firmware", "hal", "host_driver", "qemu", "boards")
FILE_MAX, FUNCTION_MAX, PARAMETERS_MAX, COPY = 600, 80, 7, 6
HALF_MAX, MOST_MAX = 15, 45
# What each implementation of a seam defines: headers, and tags that they leave to it.
SEAMS = ("hal/unic_port.h", "hal/cortexm/machine.h", "hal/drivers/crash.h",
         "hal/drivers/crash_record.h", "hal/unic_crash.h", "host_driver/core/unic_os.h",
         "host_driver/core/region/frames.h", "host_driver/kio/kio_os.h",
         "firmware/base/icrc.h", "firmware/base/random.h")
SEAM_TAGS = {"unic_port", "unic_os", "unic_frame_tables"}
# One header for what a program sees of the library.
PUBLIC = {"host_driver/libunic": "host_driver/libunic/unic.h"}
LONG = {PUBLIC["host_driver/libunic"]}
KNOWN = "tools/check/check_style.known"

PROTOTYPE = re.compile(
    r"^(?!static|typedef|return|else|struct \w+ \{)[A-Za-z_][\w \*]*?\b(\w+)\((?=[^)])")
MEMBER = re.compile(r"(?:unic_(?:le|be)\d+|u?int\d+_t) \w+(?:\[\w+\])*;")
TAG = re.compile(r"^(?:typedef )?(?:struct|union|enum) (\w+) \{", re.M)

Function = collections.namedtuple("Function", "name path line lines static parameters")


def blank_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", "", m.group()),
                  text, flags=re.S)


def functions(path, code):
    lines = code.split("\n")
    for end, line in enumerate(lines):
        if line != "{":
            continue
        first = end
        while first and lines[first - 1].strip() and \
                not lines[first - 1].rstrip().endswith((";", "}")) and \
                not lines[first - 1].startswith("#"):
            first -= 1
        head = " ".join(part.strip() for part in lines[first:end])
        bare = re.sub(r"__attribute__\s*\(\(.*?\)\)|\b[A-Z_]{3,}\b(?!\()", "", head)
        found = re.match(r"[^(]*?\b(\w+)\s*\((.*)\)\s*$", bare)
        if not found:
            continue
        last = lines.index("}", end)
        arguments = found[2].strip()
        yield Function(found[1], path, first + 1, last - end + 1,
                       "static" in head.split(),
                       0 if arguments in ("", "void") else
                       len(re.sub(r"\([^()]*\)", "", arguments).split(",")))


def prototypes(text):
    """(name, has a comment) of each function that a header declares"""
    covered = inside = False
    for line in text.split("\n"):
        if inside or line.lstrip().startswith("/*"):
            inside = "*/" not in line
            covered = True
            continue
        if not line.strip():
            covered = False
        found = PROTOTYPE.match(line)
        if found and "=" not in line:
            yield found[1], covered


class Tree:
    def __init__(self):
        paths = [p for d in FOLDERS
                 for p in sorted(glob.glob(d + "/**/*.[ch]", recursive=True))]
        self.text, self.code, self.functions = {}, {}, []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                self.text[path] = file.read()
            self.code[path] = blank_comments(self.text[path])
            self.functions += functions(path, self.code[path])
        self.bad = []

    def say(self, path, what):
        self.bad.append(f"{path}: {what}")

    def sizes(self):
        for path, text in self.text.items():
            n = text.count("\n")
            if n > FILE_MAX and path not in LONG:
                self.say(path, f"{n} lines, more than {FILE_MAX}")
        of = collections.defaultdict(list)
        for f in self.functions:
            of[f.path.split("/")[0]].append(f.lines)
            if f.lines > FUNCTION_MAX:
                self.say(f.path, f"{f.name}() has {f.lines} lines")
            if f.parameters > PARAMETERS_MAX:
                self.say(f.path, f"{f.name}() has {f.parameters} parameters")
        for folder, lengths in of.items():
            lengths.sort()
            half = lengths[len(lengths) // 2]
            most = lengths[len(lengths) * 95 // 100]
            if half > HALF_MAX or most > MOST_MAX:
                self.say(folder, f"half of its functions have {half} lines, 95 of 100 {most}")

    def headers(self):
        declared = collections.defaultdict(list)
        for path, text in self.text.items():
            if not path.endswith(".h"):
                continue
            for name, covered in prototypes(text):
                declared[name].append(path)
                if not covered:
                    self.say(path, f"{name}() has no comment")
        for f in self.functions:
            where = declared.get(f.name)
            if not f.static and f.path.endswith(".c") and where and \
                    not any(self.is_header_of(h, f.path) for h in where):
                self.say(f.path, f"{f.name}() is declared in {where[0]}")

    @staticmethod
    def is_header_of(header, path):
        if header in SEAMS or header == PUBLIC.get(os.path.dirname(path)):
            return True
        stem, own = header[:-2], path[:-2]
        return stem == own or own.startswith(stem + "_")

    def names(self):
        linked, static = collections.defaultdict(set), collections.defaultdict(set)
        for f in self.functions:
            if f.static:
                static[os.path.dirname(f.path), f.name].add(f.path)
            elif f.path.endswith(".c") and f.name.startswith("unic_"):
                linked[f.name].add(f.path)
        seams = {name for h in SEAMS if h in self.text
                 for name, _ in prototypes(self.text[h])}
        for name, paths in linked.items():
            if len(paths) > 1 and name not in seams:
                self.say(min(paths), f"{name}() is in {max(paths)}, too")
        tags = collections.defaultdict(set)
        for path, code in self.code.items():
            for name in TAG.findall(code):
                tags[name].add(path)
        for name, paths in tags.items():
            headers = {p for p in paths if p.endswith(".h")}
            rooms = collections.Counter(os.path.dirname(p) for p in paths)
            if name not in SEAM_TAGS and (len(headers) > 1 or max(rooms.values()) > 1):
                self.say(min(paths), f"struct {name} is in {max(paths)}, too")
        for (_, name), paths in static.items():
            if len(paths) > 1:
                self.say(min(paths), f"{name}() is in {max(paths)}, too")

    def copies(self):
        seen = {}
        for path, code in self.code.items():
            lines = [(n, line.strip()) for n, line in enumerate(code.split("\n"), 1)
                     if len(line.strip()) > 1 and not line.startswith("#")
                     and not (path.startswith("abi/") and MEMBER.fullmatch(line.strip()))]
            skip = 0
            for i in range(len(lines) - COPY + 1):
                block = "\n".join(line for _, line in lines[i:i + COPY])
                if len(block) < 100:
                    continue
                other = seen.setdefault(block, (path, lines[i][0]))
                if other[0] + str(other[1]) != path + str(lines[i][0]) and i >= skip:
                    self.say(path, f"line {lines[i][0]} and {COPY - 1} more stand in "
                                   f"{other[0]}, line {other[1]}")
                    skip = i + COPY


def main():
    tree = Tree()
    for check in (tree.sizes, tree.headers, tree.names, tree.copies):
        check()
    # without counts: a file that is too long may change
    found = {re.sub(r"\b\d+ lines\b|, line \d+|line \d+ and", "lines", line): line
             for line in sorted(tree.bad)}
    if sys.argv[1:] == ["--known"]:
        with open(KNOWN, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in found)
    known = set()
    if os.path.exists(KNOWN):
        with open(KNOWN, encoding="utf-8") as file:
            known = set(file.read().split("\n")) - {""}
    new = [line for key, line in found.items() if key not in known]
    gone = sorted(known - found.keys())
    for line in new:
        print(line)
    for line in gone:
        print(f"{KNOWN}: no more so: {line}")
    print(f"{len(tree.text)} files, {len(tree.functions)} functions, "
          f"{len(new) + len(gone)} violations, {len(known - set(gone))} known")
    return 1 if new or gone or not tree.functions else 0


if __name__ == "__main__":
    sys.exit(main())
