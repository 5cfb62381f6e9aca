#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""spec.py [--rewrite] - the reference part of docs/SPEC.md, from abi/*.h.

What stands in docs/SPEC.md between `<!-- abi FILE -->` and `<!-- end -->` is
made here: the whole of abi/FILE in its order, comments as text, structs as
field tables, enums, constants and X-macro lists as tables; inline functions are
left out. Offsets and sizes are those of the golden layout dumps
(tools/check/check_abi.py), so they are the compiler's and not a second opinion.

Without --rewrite: exit code 1 when the file is not what it should be, or when
a header of abi/, or a struct of one, is nowhere in it.
"""
import difflib
import glob
import os
import re
import sys

SPEC = "docs/SPEC.md"
NO_TABLES = {"unic_types.h"}
MARKER = re.compile(r"^<!-- abi (\S+) -->\n.*?^<!-- end -->\n", re.M | re.S)

COMMENT = r"/\*(?:(?!\*/).)*\*/"
ITEM = re.compile(
    r"^/\* -+ (?P<section>[^-*]+?) (?:-+ )?\*/"
    r"|^(?P<comment>" + COMMENT + r")"
    r"|^struct (?P<struct>\w+) \{(?P<fields>.*?)^\}[^;]*;"
    r"|^enum (?P<enum>\w+) \{(?P<values>.*?)\};"
    r"|^static inline (?P<function>[^(;]+)\([^;]*?\)\n\{.*?^\}"
    r"|^#define (?P<list>\w+)\(X\)(?P<rows>(?:[^\n]*\\\n)*[^\n]*\n)"
    r"|^#define (?P<macro>\w+)\((?:[^\n]*\\\n)*[^\n]*\n"
    r"|^#define (?P<name>\w+)[ \t]+(?P<value>(?:\\\n|(?!/\*|\n).)+)"
    r"(?P<note>" + COMMENT + r")?", re.M | re.S)
FIELD = re.compile(r"/\* +(\d+) +\| +(\d+) \*/ +(.+?) (\w+(?:\[\d+\])*);$")
NAMED = re.compile(r"(\w+)(?:\[[^\]]*\])*(?: = [^,;/]*)?[,;]?[ \t]*"
                   r"(" + COMMENT + r")?[ \t]*$", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def paragraphs(comment):
    """A C comment as Markdown paragraphs; indented parts stay as they are."""
    inner = re.sub(r"^/\*+|\*/$", "", comment.strip())
    lines = [re.sub(r"^\s*\* ?", "", l).rstrip() for l in inner.split("\n")]
    blocks = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(block if "\t" in block or re.search(r"^  ", block, re.M)
                       and block.startswith(" ")
                       else "\n".join(escape(l.strip())
                                      for l in block.split("\n"))
                       for block in blocks)


def escape(text):
    return re.sub(r"([*<])", r"\\\1", text)


def cell(comment):
    inner = re.sub(r"^/\*+|\*/$", "", (comment or "").strip())
    inner = re.sub(r"\s*\n\s*\*?\s*", " ", inner)
    return escape(inner.strip()).replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def layouts(header):
    """{struct: [(offset, size, type, name)]} from the golden dump."""
    path = "abi/golden/" + header[:-2] + ".txt"
    if not os.path.exists(path):
        return {}
    parts = [p for p in read(path).split("\n\n") if "type = struct" in p]
    return {re.search(r"type = struct (\w+)", p)[1]: outer_fields(p)
            for p in parts}


def outer_fields(part):
    """Fields of a dump; a nested struct is one field."""
    fields, opened = [], []
    for line in part.split("\n")[1:]:
        nested = re.match(r"/\* +(\d+) +\| +(\d+) \*/ +struct (\w+) \{", line)
        closed = re.match(r" +\} (\w+(?:\[\d+\])*);", line)
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


def notes(body):
    """{name: comment} of fields or enumerators."""
    above = re.compile(r"^\s*(" + COMMENT + r")\s*\n(?:[^;,]*\s)?(\w+)"
                       r"(?:\[[^\]]*\])*(?: = \w+)?[;,]", re.M | re.S)
    own_lines = re.compile(r"^\s*" + COMMENT + r"\s*\n", re.M | re.S)
    found = {m[1]: cell(m[2])
             for m in NAMED.finditer(own_lines.sub("", body))}
    for match in above.finditer(body):
        found[match[2]] = found.get(match[2]) or cell(match[1])
    return found


def struct_text(item, layout):
    said = notes(item["fields"])
    rows = [(at, size, f"`{kind}`", f"`{name}`",
             said.get(name.split("[")[0], ""))
            for at, size, kind, name in layout[item["struct"]]]
    return table(("offset", "bytes", "type", "field", "meaning"), rows)


def enum_text(item):
    if " = " not in item["values"]:
        return None
    said = notes(item["values"])
    rows = [(f"`{value}`", f"`{name}`", said.get(name, ""))
            for name, value in re.findall(r"^\s*(\w+) = ([^,\n]+?),",
                                          item["values"], re.M)]
    return table(("value", "name", "meaning"), rows)


def list_text(item):
    rows = [(str(n), f"`{name}`", escape(text).replace("|", "\\|"))
            for n, (name, text) in enumerate(re.findall(
                r'X\((\w+),[^"]*"([^"]*)"\)', item["rows"]))]
    return table(("number", "name", "meaning"), rows)


def value(item):
    return re.sub(r"\\\n\s*", "", item["value"]).strip()


def item_texts(header):
    """Yields the Markdown blocks of a header in order."""
    layout = layouts(header)
    held, constants = [], []
    for item in ITEM.finditer(read("abi/" + header)):
        if item["name"]:
            constants.append((f"`{item['name']}`", f"`{value(item)}`",
                              cell(item["note"])))
            continue
        if constants:
            yield from held
            yield table(("constant", "value", "meaning"), constants)
            held, constants = [], []
        if item["comment"]:
            yield from held
            held = [] if "SPDX" in item[0] else [paragraphs(item[0])]
            continue
        yield from item_text(item, layout, held)
        held = []
    if constants:
        yield table(("constant", "value", "meaning"), constants)
    yield from held


def item_text(item, layout, held):
    if item["section"]:
        yield from held
        title = item["section"].strip()
        yield f"### {title[0].upper()}{title[1:]}"
    elif item["struct"]:
        yield f"#### `struct {item['struct']}`"
        yield from held
        yield struct_text(item, layout)
    elif item["enum"] and enum_text(item):
        yield f"#### `enum {item['enum']}`"
        yield from held
        yield enum_text(item)
    elif item["list"]:
        yield f"#### `{item['list']}`"
        yield from held
        yield list_text(item)


def left_out_of(header, text):
    """Structs of a header that its text does not show."""
    return [name for name in layouts(header)
            if f"#### `struct {name}`" not in text]


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
    for match in MARKER.finditer(now):
        for name in left_out_of(match[1], match[0]):
            print(f"{SPEC} does not show struct {name} of abi/{match[1]}")
            left_out.add(name)
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
