#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_spec.py - docs/SPEC.md shows what the compiler makes of abi/.

Compares the structs, enums and macros that the compiler knows (abi_debug.py)
with the tables of docs/SPEC.md: each struct with the offset, size, type and
name of each field, each enumerator with its value, each macro with its
definition; none may be missing, and none may be there that abi/ does not have.
No table of the file may be empty. Nothing is shared with spec.py, which writes
the tables.
"""
import re
import sys

from abi_debug import Abi, compiled

SPEC = "docs/SPEC.md"
NUMBER = re.compile(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]*\b")


def tables(lines):
    """Yields (line number, last heading, cells of the head, rows of cells)."""
    heading, at = "", 0
    while at < len(lines):
        if lines[at].startswith("#"):
            heading = lines[at].lstrip("# ")
        if not (lines[at].startswith("|") and at + 1 < len(lines) and
                re.match(r"\|[-| :]+\|$", lines[at + 1])):
            at += 1
            continue
        end = at + 2
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        yield at + 1, heading, cells(lines[at]), [
            cells(l) for l in lines[at + 2:end]]
        at = end


def cells(line):
    return [c.strip().strip("`").replace("\\|", "|")
            for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def evaluated(text):
    """The number that an enumerator's value stands for; None: it is none."""
    plain = NUMBER.sub(r"\1", text)
    if not re.fullmatch(r"(?:0x[0-9a-fA-F]+|[0-9]+|[-+*|&~()<> ])+", plain):
        return None
    return eval(plain, {"__builtins__": {}})  # pylint: disable=eval-used


def documented(lines, complaints):
    """The Abi that the tables of docs/SPEC.md show."""
    shown = Abi({}, {}, {})
    for line, heading, head, rows in tables(lines):
        kind, _, name = heading.strip("`").partition(" ")
        rows = [r for r in rows if any(r[:-1])]
        if not rows:
            complaints.append(f"{SPEC}:{line}: an empty table, in {heading}")
        if head[0] == "offset" and kind == "struct":
            shown.structs.setdefault(name, {}).update(
                {r[3]: tuple(r[:3]) for r in rows})
        elif head[:2] == ["value", "name"] and kind == "enum":
            shown.enums.setdefault(name, {}).update(
                {r[1]: evaluated(r[0]) for r in rows})
        elif head[0] == "constant":
            shown.macros.update({r[0]: r[1] for r in rows})
    return shown


def same_text(one, other):
    return "".join(str(one).split()) == "".join(str(other).split())


def compare(what, there, should, same, complaints):
    """Complains of each key of one dictionary that the other does not have, or
    has another value for."""
    for key in should:
        if key not in there:
            complaints.append(f"{what}{key} is not shown")
        elif not same(there[key], should[key]):
            complaints.append(f"{what}{key} is {should[key]}, "
                              f"{there[key]} is shown")
    complaints += [f"{what}{key} is shown, abi/ has none"
                   for key in there if key not in should]


def compare_members(kind, there, should, complaints):
    compare(f"{kind} ", there, should, lambda a, b: True, complaints)
    for name in should:
        if name in there:
            compare(f"{kind} {name}: ", there[name], should[name],
                    lambda a, b: a == b, complaints)


def without_spaces(macros):
    return {"".join(name.split()): value for name, value in macros.items()}


def main():
    with open(SPEC, encoding="utf-8") as file:
        lines = file.read().split("\n")
    complaints = []
    abi, shown = compiled(), documented(lines, complaints)
    compare_members("struct", shown.structs, abi.structs, complaints)
    compare_members("enum", shown.enums, abi.enums, complaints)
    compare("macro ", without_spaces(shown.macros), without_spaces(abi.macros),
            same_text, complaints)
    for complaint in complaints:
        print(complaint if complaint.startswith(SPEC)
              else f"{SPEC}: {complaint}")
    print(f"{len(abi.structs)} structs, {len(abi.enums)} enums, "
          f"{len(abi.macros)} macros, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
