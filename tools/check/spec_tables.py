# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What docs/SPEC.md shows of abi/, for check_spec.py.

A header has a section, from `<!-- abi FILE -->` to `<!-- end -->`. In it a
struct or enum is a heading of level 4 with one table below, and macros are in
tables of constants. shown() reads the sections as Items, as abi_debug.py reads
the headers, and complains of whatever has another form: a reader would see a
table that the check does not, or the other way round.
"""
import re
from typing import NamedTuple

from abi_debug import Item

KINDS = {("offset", "bytes", "type", "field", "meaning"): "struct",
         ("value", "name", "meaning"): "enum",
         ("value", "name", "group", "meaning"): "enum",
         ("constant", "value", "meaning"): "macro"}
MARKER = re.compile(r"<!-- (?:abi (\S+)|end) -->$")
HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
TYPE = re.compile(r"\W*(struct|enum)\s+(\w+)\W*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
EDGED = re.compile(r" {0,3}\|.*\|\s*$")
RULE = re.compile(r" {0,3}\|(?: ?:?-+:? ?\|)+\s*$")
RULE_ELSEWHERE = re.compile(r"(?=.*\|)(?=.*-)[\s>*+|:-]+$")
COMMENT = re.compile(r"<!-- [^<>]* -->$")
HTML = re.compile(r"<(?:!--|/?(?:table|t[hrd]|h[1-6]|pre|details|template|del|"
                  r"style|script)\b)", re.I)
NUMBER = r"(?:0x[0-9a-fA-F]+|0|[1-9][0-9]*)[uUlL]*"
TERM = re.compile(rf"\(?({NUMBER})(?: << ({NUMBER}))?\)?")


class Block(NamedTuple):
    line: int
    kind: str  # marker, heading, table, odd_table
    text: str = ""  # marker: the header; heading: its text
    level: int = 0
    head: tuple = ()
    rows: tuple = ()  # (line, cells) of each


def cells(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def plain(cell):
    """What is between backticks; a cell without them, as it is."""
    code = re.fullmatch(r"`([^`]+)`", cell)
    return (code[1] if code else cell).replace("\\|", "|")


def behind_fence(lines, at, complain):
    fence = FENCE.match(lines[at])[1]
    for end in range(at + 1, len(lines)):
        closes = lines[end].strip()
        if closes.startswith(fence) and not closes.strip(fence[0]):
            return end + 1
    complain(at + 1, "a fence that does not end")
    return len(lines)


def begins_block(line):
    return not line.strip() or line[0] in "#<>-*+" or FENCE.match(line)


def table(lines, at, complain):
    """(Block, the line behind it) of the table whose head is at `at`."""
    head, rows, end = tuple(cells(lines[at])), [], at + 2
    if len(cells(lines[at + 1])) != len(head):
        complain(at + 1, "a table whose head is not as wide as its rule")
    while end < len(lines) and not begins_block(lines[end]):
        row = cells(lines[end])
        if not EDGED.match(lines[end]) or len(row) != len(head):
            complain(end + 1, f"a row that has not {len(head)} cells")
        else:
            rows.append((end + 1, row))
        end += 1
    return Block(at + 1, "table", head=head, rows=tuple(rows)), end


def hides(line):
    """Whether comments or HTML of a line may keep others from being seen."""
    return not COMMENT.match(line) and HTML.search(re.sub(r"`[^`]*`", "", line))


def heading(lines, at):
    """The Block of a heading, which may be underlined; else None."""
    marked, under = HEADING.match(lines[at]), lines[at + 1:at + 2]
    if marked:
        return Block(at + 1, "heading", marked[2], len(marked[1]))
    if lines[at].strip() and under and UNDERLINE.match(under[0]):
        return Block(at + 1, "heading", lines[at].strip(), 1)
    return None


def blocks(lines, complain):
    """Yields the Blocks of the document; what is fenced is none."""
    at = 0
    while at < len(lines):
        if FENCE.match(lines[at]):
            at = behind_fence(lines, at, complain)
            continue
        if EDGED.match(lines[at]) and RULE.match("".join(lines[at + 1:at + 2])):
            block, at = table(lines, at, complain)
            yield block
            continue
        if hides(lines[at]):
            complain(at + 1, "a comment of several lines, or HTML")
        marker, headed = MARKER.match(lines[at]), heading(lines, at)
        if marker:
            yield Block(at + 1, "marker", marker[1] or "")
        elif headed:
            yield headed
        elif at and RULE_ELSEWHERE.match(lines[at]):
            yield Block(at + 1, "odd_table", head=tuple(
                c.strip() for c in lines[at - 1].strip(" >*+-|").split("|")))
        at += 1


def evaluated(text):
    """The number that an enumerator's value stands for in C; None: it is none,
    or written in a way that abi/ does not use."""
    value = 0
    for term in text.split(" | "):
        number = TERM.fullmatch(term)
        if not number:
            return None
        base, shift = (int(n.rstrip("uUlL") if n else "0", 0)
                       for n in number.groups())
        value |= base << shift
    return value


def row_of(kind, row):
    """(key, value) of a row, as abi_debug.py has it."""
    if kind == "struct":
        return plain(row[3]), (row[0], row[1], plain(row[2]))
    if kind == "enum":
        return plain(row[1]), evaluated(plain(row[0]))
    return plain(row[0]), plain(row[1])


def meaning_is_missing(key, meaning):
    """Whether a row does not say what its field, enumerator or macro is for."""
    if key.startswith("rsvd"):
        return not re.search(r"\b0\b", meaning)
    return not re.search(r"\w", meaning)


def rows_of(kind, block, complain):
    """(line, key, value) of each row but those that head a group."""
    found = []
    for line, row in block.rows:
        if any(row[:-1]):
            key, value = row_of(kind, row)
            found.append((line, key, value))
            if meaning_is_missing(key, row[-1]):
                complain(line, f"{key} has no meaning")
        elif not re.fullmatch(r"\*.+\*", row[-1]):
            complain(line, "a row that says nothing")
    return found


class Reader:
    """Goes through the blocks; `header` is the one whose section it is in,
    `waits` the struct or enum whose table comes next."""

    def __init__(self, complain):
        self.items, self.complain = [], complain
        self.header, self.waits = "", None

    def marker(self, block):
        if bool(block.text) == bool(self.header):
            self.complain(block.line, "a section in a section, or an end alone")
        self.header, self.waits = block.text, None

    def heading(self, block):
        of_type, self.waits = TYPE.match(block.text), None
        if not of_type:
            return
        kind, name = of_type.groups()
        if block.level != 4 or block.text != f"`{kind} {name}`":
            self.complain(block.line, f"a heading of {kind} {name} that is not "
                          f"#### `{kind} {name}`")
        self.waits = Item(kind, name, self.header, block.line, [])
        self.items.append(self.waits)

    def table(self, block):
        kind = KINDS.get(block.head)
        rows = rows_of(kind, block, self.complain) if kind else block.rows
        if not rows:
            self.complain(block.line, "an empty table")
        if kind and not self.header:
            self.complain(block.line, "a table as those of abi/, but in no "
                          "section of a header")
        if kind == "macro":
            self.items += [Item(kind, key, self.header, line, [(key, value)])
                           for line, key, value in rows]
        elif self.waits and self.waits.kind == kind:
            self.waits.rows.extend((key, value) for _, key, value in rows)
            self.waits = None
        elif kind or self.header:
            self.complain(block.line, "a table of no struct, enum or macro")

    def odd_table(self, block):
        """A table that is quoted, far to the right or without edges."""
        if self.header or block.head in KINDS:
            self.complain(block.line, "a table of another form")


def shown(lines, complain):
    """The Items of docs/SPEC.md in their order; complain(line, words)."""
    reader = Reader(complain)
    for block in blocks(lines, complain):
        getattr(reader, block.kind)(block)
    if reader.header:
        complain(len(lines), f"the section of abi/{reader.header} has no end")
    return reader.items
