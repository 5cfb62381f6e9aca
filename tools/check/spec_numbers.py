# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the chapters of docs/SPEC.md repeat of abi/, for check_spec.py.

The chapters, which stand before the reference, have tables of their own, written
by hand. What abi/ says, too, must be the same there: a number before or behind
the name of an enumerator, a counter, an opcode of the wire, a place in BAR2. A
table that begins with offset and bytes goes up, and no field begins within the
one before.
"""
import fnmatch
import re

REFERENCE = "## Reference"
NAMED = re.compile(r"(?:^|, )(\d+) ([A-Z][A-Z_]+)(?=$|[,:; ])")
NUMBERED = re.compile(r"\b([A-Z][A-Z_]+) (\d+)(?=$|[ ;:)]|,(?!\d))")
BIT = re.compile(r"\(1u(?:ll)? << (\d+)\)")
QUOTED = re.compile(r"`([a-z][a-z0-9_*]*)`")
WORDS = (("vendor acknowledgement", "VACK"), ("acknowledge", "ACK"),
         ("tagged", "TOKEN"), ("response", "RESP"), ("request", "REQUEST"),
         ("with immediate", "IMM"), ("with invalidate", "INV"), (" ", "_"))
OF_UC = 0x20    # between an opcode of RC and that of UC


class Known:
    """The numbers of abi/, by what a chapter calls them."""

    def __init__(self, abi):
        self.numbers, self.counters, self.opcodes, self.bars = {}, set(), {}, set()
        for item in abi:
            for name, value in item.rows:
                if item.kind == "enum":
                    self._enumerator(item.name, name, value)
                elif item.kind == "macro":
                    self._macro(name, value)

    def _number(self, name, value):
        parts = name.split("_")
        for at in range(1, len(parts)):
            self.numbers.setdefault("_".join(parts[at:]), set()).add(value)

    def _enumerator(self, enum, name, value):
        self._number(name, value)
        if enum == "unic_counter":
            self.counters.add(name[len("UNIC_C_"):])
        elif enum == "unic_bth_opcode":
            self.opcodes[name[len("UNIC_OP_"):]] = value

    def _macro(self, name, value):
        bit = BIT.fullmatch(value)
        if bit:
            self._number(name, int(bit[1]))
        if re.fullmatch("UNIC_BAR_.*_OFF", name):
            self.bars.add(int(value.rstrip("u"), 0))


def cells(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def tables(lines):
    """Yields (cells of the head, [(line, cells)]) of each table of a chapter."""
    head, rows = None, []
    for number, line in enumerate(lines[:lines.index(REFERENCE)], 1):
        if not line.lstrip().startswith("|"):
            if head:
                yield head, rows
            head, rows = None, []
        elif head is None:
            head = cells(line)
        elif set(line.strip()) - set("|- "):
            rows.append((number, cells(line)))


def wrong_values(row, known):
    """Numbers with the name of an enumerator that has another value."""
    pairs = [(name, number) for number, name in NAMED.findall(row[0])]
    pairs += [pair for cell in row for pair in NUMBERED.findall(cell)]
    for name, number in pairs:
        if int(number) not in known.numbers.get(name, {int(number)}):
            yield f"{name} is not {number}"


def wrong_counters(head, row, known):
    """What a column of counters names that is none."""
    for title, cell in zip(head, row):
        if title == "counter":
            for name in QUOTED.findall(cell):
                if not fnmatch.filter(known.counters, name):
                    yield f"{name} is not a counter"


def opcode_of(kind, packet, opcodes):
    """The opcode of a packet; None: there is no such packet."""
    for words, name in WORDS:
        packet = packet.replace(words, name)
    name = packet.upper()
    if kind == "RC":
        return opcodes.get(name)
    if kind == "UC" and name in opcodes:
        return opcodes.get("UC_" + name, opcodes[name] + OF_UC)
    return opcodes.get(f"{kind}_{name}")


def wrong_opcodes(head, rows, known):
    """Yields (line, words) for a table of opcodes, which names each of RC."""
    kinds = head[:head.index("packet")]
    seen = set()
    for line, row in rows:
        packet = row[len(kinds)]
        for kind, cell in zip(kinds, row):
            if cell and opcode_of(kind, packet, known.opcodes) != int(cell, 16):
                yield line, f"{packet} of {kind} is not {cell}"
            seen.add(cell)
    for name, value in known.opcodes.items():
        if "RC" in kinds and not re.match("U[CD]_", name) \
                and f"{value:02x}" not in seen:
            yield rows[-1][0], f"opcode {value:02x} is not in the table"


def wrong_offsets(rows):
    """Yields (line, words) for a field that begins within the one before."""
    end = 0
    for line, (offset, size, *_) in rows:
        if offset.isdigit() and re.fullmatch(r"\d+(?:, \d+)*", size):
            if int(offset) < end:
                yield line, f"offset {offset} is below {end}"
            end = int(offset) + sum(int(n) for n in size.split(", "))


def wrong_bars(rows, known):
    """Yields (line, words) for the places of BAR2."""
    there = {int(row[0].strip("`"), 16): line for line, row in rows}
    for at in sorted(known.bars ^ set(there)):
        yield there.get(at, rows[0][0]), \
            f"{at:#08x} is in abi/ or in the table, not in both"


def wrong_numbers(lines, abi):
    """Yields (line, words) for what a chapter says otherwise than abi/."""
    known = Known(abi)
    for head, rows in tables(lines):
        for line, row in rows:
            for words in (*wrong_values(row, known),
                          *wrong_counters(head, row, known)):
                yield line, words
        if "packet" in head[:3] and set(head) & {"RC", "UD"}:
            yield from wrong_opcodes(head, rows, known)
        elif re.match("offset.*bytes", " ".join(head)):
            yield from wrong_offsets(rows)
        elif head[:2] == ["offset", "what"]:
            yield from wrong_bars(rows, known)
