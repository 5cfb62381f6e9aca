#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_spec.py - docs/SPEC.md shows what the compiler makes of abi/.

Compares the structs, enums and macros that the compiler knows (abi_debug.py)
with those that docs/SPEC.md shows (spec_tables.py): each struct with the
offset, size, type and name of each field, each enumerator with its value, each
macro with its definition. Each is shown once, in the section of the header that
declares it, in the order of the header, and so is each row of a table; none may
be missing, and none may be there that abi/ does not have. Each row has a
meaning, that of a field rsvd says that it is 0. No table of the file may be
empty, and no file be named that is not there (spec_files.py). The numbers that
the chapters repeat are those of abi/ (spec_numbers.py).

Nothing is shared with spec.py, which writes the tables. The compiler does not
know what a field is for: that a meaning is the one of the header's comment, and
that a value is written as there, is checked by spec.py without --rewrite.
"""
import re
import sys

from abi_debug import compiled
from spec_files import missing_files
from spec_numbers import wrong_numbers
from spec_tables import shown

SPEC = "docs/SPEC.md"
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\w.]+|<<|>>|\S')


def same(kind, one, other):
    if kind == "macro":
        return TOKEN.findall(one) == TOKEN.findall(other)
    return one == other


def key_of(item):
    return item.kind, item.name.replace(", ", ",")


def compare_order(what, there, should):
    """Yields the first key that is not where it belongs; both have the same."""
    for one, other in zip(there, should):
        if one != other:
            yield f"{what}{one} is shown where {other} belongs"
            return


def compare_rows(item, should):
    """Yields what is wrong with the rows of a struct, enum or macro."""
    what = "macro " if item.kind == "macro" else f"{item.kind} {item.name}: "
    values = {key.replace(", ", ","): value for key, value in should.rows}
    keys = [key.replace(", ", ",") for key, _ in item.rows]
    for key, (_, value) in zip(keys, item.rows):
        if key not in values:
            yield f"{what}{key} is shown, abi/ has none"
        elif not same(item.kind, value, values[key]):
            yield f"{what}{key} is {values[key]}, {value} is shown"
    for key in values:
        if key not in keys:
            yield f"{what}{key} is not shown"
        elif keys.count(key) > 1:
            yield f"{what}{key} is shown twice"
    if sorted(keys) == sorted(values):
        yield from compare_order(what, keys, values)


def compare(items, abi):
    """Yields what is wrong with the Items of the document."""
    known, seen = {key_of(item): item for item in abi}, set()
    for item in items:
        name, should = f"{item.kind} {item.name}", known.get(key_of(item))
        if not should:
            yield f"{name} is shown, abi/ has none"
            continue
        if key_of(item) in seen:
            yield f"{name} is shown twice"
        if item.header != should.header:
            where = f"abi/{item.header}" if item.header else "no header"
            yield (f"{name} is shown under {where}, "
                   f"abi/{should.header} declares it")
        yield from compare_rows(item, should)
        seen.add(key_of(item))
    for kind, name in known:
        if (kind, name) not in seen:
            yield f"{kind} {name} is not shown"


def compare_headers(items, abi):
    """Yields what is in another order than in its header."""
    for header in sorted({item.header for item in abi}):
        there, should = ([" ".join(key_of(i)) for i in side
                          if i.header == header] for side in (items, abi))
        if sorted(there) == sorted(should):
            yield from compare_order("", there, should)


def main():
    with open(SPEC, encoding="utf-8") as file:
        lines = file.read().split("\n")
    complaints = []
    abi = compiled()
    items = shown(lines, lambda line, words: complaints.append(
        f"{SPEC}:{line}: {words}"))
    complaints += [f"{SPEC}:{line}: {words}"
                   for line, words in (*missing_files(lines),
                                       *wrong_numbers(lines, abi))]
    complaints += [f"{SPEC}: {words}" for words in (
        *compare(items, abi), *compare_headers(items, abi))]
    print("\n".join(complaints + [", ".join(
        f"{sum(i.kind == kind for i in abi)} {kind}s"
        for kind in ("struct", "enum", "macro"))
        + f", {len(complaints)} complaints"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
