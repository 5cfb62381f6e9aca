# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the compiler makes of abi/, for check_spec.py.

compiled() compiles one file that includes every header of abi/ and reads
structs, enums and macros out of its debug information (readelf), each with the
header and the line that declare it.

Left out are macros without a definition (include guards), those that make up
X-macro lists (their enumerators are there), and those with parameters of
unic_types.h, which are for C alone.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

FOR_C_ALONE = "unic_types.h"
FLAGS = ["-std=gnu11", "-ffreestanding", "-g3", "-gdwarf-4", "-gstrict-dwarf",
         "-fno-eliminate-unused-debug-types", "-Iabi"]
DIE = re.compile(r" <(\d+)><(\w+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
ATTRIBUTE = re.compile(r"    <\w+> +DW_AT_(\w+) *: (?:\(.*?\) ?)*:? ?(.*)")
FILE = re.compile(r"  (\d+)\t(?:\d+\t){3}(.+)$")
MACRO = re.compile(r" DW_MACINFO_(define|undef|start_file|end_file)"
                   r"(?: - lineno ?: (\d+) (?:macro : (\w+)(?:\(([^)]*)\))? ?(.*)"
                   r"|filenum: (\d+)))?")


class Die(NamedTuple):
    tag: str
    says: dict  # attribute: value
    children: list

    def number(self, attribute):
        return int(self.says[attribute], 0)


class Item(NamedTuple):
    """A struct has a row (field, (offset, bytes, type)) for each field, an enum
    a row (enumerator, value) for each enumerator, a macro one (name,
    definition)."""
    kind: str
    name: str
    header: str
    line: int
    rows: list


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
    rows = []
    for member in struct.children:
        kind, counts, size = kind_and_size(found, member)
        rows.append((member.says["name"] + counts, (
            str(member.number("data_member_location")), str(size), kind)))
    return rows


def enumerators(_, enum):
    return [(c.says["name"], c.number("const_value")) for c in enum.children]


def macros_of(lines, files):
    """The Items of what the headers of abi/ define and keep."""
    shown, nest = {}, []
    for line in lines:
        what, at, name, parameters, value, number = (
            m.groups() if (m := MACRO.match(line)) else (None,) * 6)
        if what == "start_file":
            nest.append(files[number])
        elif what == "end_file":
            nest.pop()
        elif what == "undef":
            shown.pop(name, None)
        elif what == "define" and nest and is_shown(
                nest[-1], parameters, value):
            full = name if parameters is None else f"{name}({parameters})"
            shown[name] = Item("macro", full, nest[-1], int(at),
                               [(full, value.strip())])
    return list(shown.values())


def of_abi(header):
    return os.path.exists(os.path.join("abi", header))


def is_shown(header, parameters, value):
    if not of_abi(header) or not value.strip():
        return False
    return parameters is None or not (
        parameters == "X" or "##" in value or header == FOR_C_ALONE)


def declared(found, files):
    """(header, Die) of each struct, union and enum of abi/."""
    for die in found.values():
        if die.tag in ("structure_type", "union_type", "enumeration_type"):
            header = files[die.says["decl_file"].split()[-1]]
            if of_abi(header):
                yield header, die


def types_of(found, files):
    """The Items of structs and enums. A type of another kind and one without a
    name cannot be shown: it is an error."""
    reads = {"structure_type": ("struct", fields),
             "enumeration_type": ("enum", enumerators)}
    items = []
    for header, die in declared(found, files):
        line = die.number("decl_line")
        if die.tag not in reads or "name" not in die.says:
            sys.exit(f"abi/{header}:{line}: a union, or a type without a name")
        kind, rows = reads[die.tag]
        items.append(Item(kind, die.says["name"], header, line,
                          rows(found, die)))
    return items


def compiled():
    """The Items that the compiler knows, in the order of each header."""
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
        items = types_of(found, files) + macros_of(readelf("macro", obj), files)
    return sorted(items, key=lambda item: (item.header, item.line))
