#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_spec.py - docs/SPEC.md shows what the compiler makes of abi/.

Compiles one file that includes every header of abi/, reads structs, enums and
macros out of its debug information (readelf), and compares them with the tables
of docs/SPEC.md: each struct with the offset, size, type and name of each field,
each enumerator with its value, each macro with its definition; none may be
missing, and none may be there that abi/ does not have. No table of the file may
be empty. Nothing is shared with spec.py, which writes the tables.

Left out are macros without a definition (include guards), those that make up
X-macro lists (their enumerators are shown), and those with parameters of
unic_types.h, which are for C alone.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

SPEC = "docs/SPEC.md"
FOR_C_ALONE = "unic_types.h"
FLAGS = ["-std=gnu11", "-ffreestanding", "-g3", "-gdwarf-4", "-gstrict-dwarf",
         "-fno-eliminate-unused-debug-types", "-Iabi"]
DIE = re.compile(r" <(\d+)><(\w+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
ATTRIBUTE = re.compile(r"    <\w+> +DW_AT_(\w+) *: (?:\(.*?\) ?)*:? ?(.*)")
FILE = re.compile(r"  (\d+)\t(?:\d+\t){3}(.+)$")
MACRO = re.compile(r" DW_MACINFO_(define|undef|start_file|end_file)"
                   r"(?: - lineno ?: \d+ (?:macro : (\w+)(?:\(([^)]*)\))? ?(.*)"
                   r"|filenum: (\d+)))?")
NUMBER = re.compile(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]*\b")


class Die(NamedTuple):
    tag: str
    says: dict  # attribute: value
    children: list

    def number(self, attribute):
        return int(self.says[attribute], 0)


class Abi(NamedTuple):
    """What there is of each kind. structs: {name: {field: (offset, bytes,
    type)}}; enums: {name: {enumerator: value}}; macros: {name: definition}"""
    structs: dict
    enums: dict
    macros: dict


def readelf(what, obj):
    return subprocess.run(["readelf", "-W", f"--debug-dump={what}", obj],
                          check=True, text=True,
                          capture_output=True).stdout.split("\n")


def dies(lines):
    """({offset: Die}) of all entries, in their order."""
    found, opened = {}, []
    for line in lines:
        die, attribute = DIE.match(line), ATTRIBUTE.match(line)
        if die:
            level, now = int(die[1]), Die(die[3], {}, [])
            found[die[2]] = now
            del opened[level:]
            if opened:
                opened[-1].children.append(now)
            opened.append(now)
        elif attribute and opened:
            opened[-1].says[attribute[1]] = attribute[2].strip()
    return found


def reference(die):
    return re.match(r"<0x(\w+)>", die.says["type"])[1]


def kind_and_size(found, die):
    """(name of a member's type, its dimensions, its size in bytes)"""
    kind = found[reference(die)]
    if kind.tag == "array_type":
        counts = [c.number("upper_bound") + 1 for c in kind.children]
        name, inner, size = kind_and_size(found, kind)
        for count in counts:
            size *= count
        return name, "".join(f"[{c}]" for c in counts) + inner, size
    name, under = kind.says["name"], kind
    while under.tag in ("typedef", "const_type", "volatile_type"):
        under = found[reference(under)]
    name = "struct " + name if kind.tag == "structure_type" else name
    return name, "", under.number("byte_size")


def fields(found, struct):
    shown = {}
    for member in struct.children:
        kind, counts, size = kind_and_size(found, member)
        shown[member.says["name"] + counts] = (
            str(member.number("data_member_location")), str(size), kind)
    return shown


def macros_of(lines, files):
    """{name: definition} of what the headers of abi/ define and keep."""
    shown, nest = {}, []
    for line in lines:
        what, name, parameters, value, number = (
            m.groups() if (m := MACRO.match(line)) else (None,) * 5)
        if what == "start_file":
            nest.append(files[number])
        elif what == "end_file":
            nest.pop()
        elif what == "undef":
            shown.pop(line.split(" macro : ")[-1].strip(), None)
        elif what == "define" and nest and is_shown(
                nest[-1], parameters, value):
            shown[name if parameters is None else
                  f"{name}({parameters})"] = value.strip()
    return shown


def of_abi(header):
    return os.path.exists(os.path.join("abi", header))


def is_shown(header, parameters, value):
    if not of_abi(header) or not value.strip():
        return False
    return parameters is None or not (
        parameters == "X" or "##" in value or header == FOR_C_ALONE)


def named(found, tag, files):
    """The Dies of a kind that a header of abi/ declares by name."""
    return [d for d in found.values()
            if d.tag == tag and "name" in d.says and
            of_abi(files[d.says["decl_file"].split()[-1]])]


def compiled():
    """The Abi that the compiler knows."""
    source = "".join(f'#include "{os.path.basename(p)}"\n'
                     for p in sorted(glob.glob("abi/*.h")))
    with tempfile.TemporaryDirectory() as tmp:
        obj = os.path.join(tmp, "abi.o")
        made = subprocess.run(["gcc", *FLAGS, "-x", "c", "-c", "-", "-o", obj],
                              input=source, text=True, check=False)
        if made.returncode:
            sys.exit("the headers of abi/ do not compile, see above")
        found = dies(readelf("info", obj))
        files = {m[1]: m[2] for l in readelf("rawline", obj)
                 if (m := FILE.match(l))}
        macros = macros_of(readelf("macro", obj), files)
    return Abi({d.says["name"]: fields(found, d)
                for d in named(found, "structure_type", files)},
               {d.says["name"]: {c.says["name"]: c.number("const_value")
                                 for c in d.children}
                for d in named(found, "enumeration_type", files)}, macros)


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
