#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""spec.py [--rewrite] - the reference part of docs/SPEC.md, from abi/*.h.

What stands in docs/SPEC.md between `<!-- abi FILE -->` and `<!-- end -->` is
made here: the whole of abi/FILE in its order, comments as text, structs as
field tables, enums and constants as tables. Enumerators that an X-macro list
makes have the texts of the list. Offsets and sizes are those of the golden
layout dumps (tools/check/check_abi.py), so they are the compiler's and not a
second opinion. check_spec.py compares the result with the compiler.

Without --rewrite: exit code 1 when the file is not what it should be, or when
a header of abi/ is nowhere in it.
"""
import difflib
import glob
import os
import re
import sys

import abi_items

SPEC = "docs/SPEC.md"
NO_TABLES = {"unic_types.h"}
MARKER = re.compile(r"^<!-- abi (\S+) -->\n.*?^<!-- end -->\n", re.M | re.S)
DUMP = re.compile(r"^/\* offset .*type = struct (\w+) \{\n", re.M)
FIELD = re.compile(r"/\* +(\d+) +\| +(\d+) \*/ +(.+?) (\w+(?:\[\d+\])*);$")
NESTED = re.compile(r"/\* +(\d+) +\| +(\d+) \*/ +struct (\w+) \{")
CLOSED = re.compile(r" +\} (\w+(?:\[\d+\])*);")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def paragraphs(comment):
    """A C comment as Markdown paragraphs; what is indented is fenced."""
    inner = re.sub(r"^/\*+|\*/$", "", comment.strip())
    lines = [re.sub(r"^\s*\* ?", "", l).rstrip() for l in inner.split("\n")]
    blocks = "\n".join(lines).strip("\n").split("\n\n")
    return "\n\n".join(
        f"```\n{block}\n```" if block.startswith("  ") or "\t" in block
        else "\n".join(escape(l.strip()) for l in block.split("\n"))
        for block in blocks)


def escape(text):
    return re.sub(r"([*<])", r"\\\1", text)


def cell(text):
    return escape(text).replace("|", "\\|")


def code(text):
    return f"`{text}`".replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def group_row(head, note):
    return ("",) * (len(head) - 1) + (f"*{cell(note)}*",)


def layouts(header):
    """{struct: [(offset, size, type, name)]} from the golden dump."""
    path = "abi/golden/" + header[:-2] + ".txt"
    if not os.path.exists(path):
        return {}
    parts = DUMP.split(read(path))[1:]
    return {name: outer_fields(part)
            for name, part in zip(parts[::2], parts[1::2])}


def outer_fields(part):
    """Fields of a dump; a nested struct is one field."""
    fields, opened = [], []
    for line in part.split("\n"):
        nested, closed = NESTED.match(line), CLOSED.match(line)
        field = FIELD.match(line)
        if nested:
            opened.append(nested.groups())
        elif closed:
            at, size, kind = opened.pop()
            if not opened:
                fields.append((at, size, "struct " + kind, closed[1]))
        elif field and not opened:
            fields.append(field.groups())
    return fields


def unsaid(field):
    """The meaning of a field that needs no comment in its header."""
    if field.startswith("rsvd"):
        return "0"
    return "common header" if field == "hdr" else ""


def struct_text(item, layout):
    head = ("offset", "bytes", "type", "field", "meaning")
    left, rows = list(layout.get(item.name, [])), []
    for member in item.members:
        if not member.text:
            rows.append(group_row(head, member.note))
        for name in re.findall(r"(\w+)(?:\[[^\]]*\])*(?:,|$)", member.text):
            at, size, kind, named = left.pop(0) if left else (None,) * 4
            if named is None or named.split("[")[0] != name:
                sys.exit(f"struct {item.name}: {name} is not in abi/golden/: "
                         "run make check-abi")
            rows.append((at, size, f"`{kind}`", f"`{named}`",
                         cell(member.note or unsaid(name))))
    return table(head, rows)


def made_by_list(member, seen):
    """(rows of the list, prefix of their names, enumerators that follow) of an
    enum whose body calls an X-macro list, else None."""
    call = re.match(r"(\w+)\((\w+)\)(.*)", member.text)
    if not call or call[1] not in seen:
        return None
    return (abi_items.list_rows(seen[call[1]]),
            seen[call[2]].text.split("##")[0].strip(), call[3].split())


def enum_text(item, seen):
    made = made_by_list(item.members[0], seen)
    if made:
        return listed_text(*made)
    head = ("value", "name", "meaning")
    rows, value = [], "-1"
    for member in item.members:
        if not member.text:
            rows.append(group_row(head, member.note))
            continue
        name, _, given = member.text.partition(" =")
        value = given.strip() or str(int(value, 0) + 1)
        rows.append((code(value), f"`{name}`", cell(member.note)))
    return table(head, rows)


def listed_text(listed, prefix, following):
    rows = [(f"`{n}`", f"`{prefix}{name}`", code(group), cell(text))
            for n, (name, group, text) in enumerate(listed)]
    rows += [(f"`{n}`", f"`{name}`", "``", "how many there are")
             for n, name in enumerate(following, len(rows))]
    if not any(group for _, group, _ in listed):
        return table(("value", "name", "meaning"),
                     [(v, name, text) for v, name, _, text in rows])
    return table(("value", "name", "group", "meaning"),
                 [(v, name, group.replace("``", ""), text)
                  for v, name, group, text in rows])


def is_constant(item):
    """Not an include guard, and no part of an X-macro list."""
    return item.kind == "macro" and item.text and "##" not in item.text


def item_texts(header):
    """Yields the Markdown blocks of a header in order. A comment waits in `held`
    for what it stands above: the heading of a struct or enum comes before it."""
    layout, seen = layouts(header), {}
    held, constants = [], []
    for item in abi_items.items(read("abi/" + header)):
        seen[item.name.split("(")[0]] = item
        if is_constant(item):
            constants.append((code(item.name), code(item.text),
                              cell(item.note)))
            continue
        if constants:
            yield from held
            yield table(("constant", "value", "meaning"), constants)
            held, constants = [], []
        if item.kind == "comment":
            yield from held
            held = [] if "SPDX" in item.text else [paragraphs(item.text)]
            if re.match(r"/\*\s*\*? ?" + re.escape(header), item.text):
                yield from held
                held = []
        elif item.kind not in ("macro", "list"):
            yield from item_text(item, layout, seen, held)
            held = []
    if constants:
        yield from held
        yield table(("constant", "value", "meaning"), constants)
    else:
        yield from held


def item_text(item, layout, seen, held):
    if item.kind == "section":
        yield from held
        yield f"### {item.name[0].upper()}{item.name[1:]}"
        return
    if item.kind == "function":
        yield from held
        yield f"```c\n{item.text}\n```"
        return
    yield f"#### `{item.kind} {item.name}`"
    yield from held
    yield (struct_text(item, layout) if item.kind == "struct"
           else enum_text(item, seen))


def fill(match):
    body = "\n\n".join(item_texts(match[1]))
    return f"<!-- abi {match[1]} -->\n\n{body}\n\n<!-- end -->\n"


def main():
    headers = {os.path.basename(p) for p in glob.glob("abi/*.h")} - NO_TABLES
    was = read(SPEC)
    now = MARKER.sub(fill, was)
    left_out = headers - set(re.findall(r"^<!-- abi (\S+) -->", was, re.M))
    for name in sorted(left_out):
        print(f"{SPEC} does not show abi/{name}")
    if sys.argv[1:] == ["--rewrite"]:
        with open(SPEC, "w", encoding="utf-8") as file:
            file.write(now)
    elif now != was:
        sys.stdout.writelines(difflib.unified_diff(
            was.splitlines(True), now.splitlines(True), "there", "should be",
            n=1))
        print(f"{SPEC} is stale: run make spec")
        return 1
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
