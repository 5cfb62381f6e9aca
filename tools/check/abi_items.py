# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What stands in a header of abi/, in its order, for spec.py.

items() yields an Item for each comment, section, struct, enum, macro, X-macro
list and inline function. A struct or enum has Members: the fields or
enumerators, each with what is said of it, and, with an empty text, the comments
that stand above groups of them.
"""
import re
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
SECTION = re.compile(r"/\* -+ (.+?) (?:-+ )?\*/$")
BODY = re.compile(r"(struct|enum) (\w+)\s*\{(.*)\}[^}]*;$", re.S)
MACRO = re.compile(r"#define (\w+)(?:\(([^)]*)\))?(.*)$", re.S)
LIST_ROW = re.compile(r'X\((\w+),(?:\s*([^",]+),)?\s*"([^"]*)"\)')


class Member(NamedTuple):
    text: str  # of a group of members: ""
    note: str


class Item(NamedTuple):
    kind: str  # comment, section, struct, enum, macro, list, function
    name: str = ""
    text: str = ""  # macro: its value; list: its rows
    note: str = ""
    members: tuple = ()


def plain(comment):
    """The text of a C comment, in one line."""
    inner = re.sub(r"^/\*+|\*/$", "", comment.strip())
    return re.sub(r"\s*\n\s*\*?\s*", " ", inner).strip()


def end_of_line(source, at):
    """Behind the last line of the directive at `at`: a backslash continues it,
    and so does a comment."""
    while source[at] != "\n":
        over = COMMENT.match(source, at) or STRING.match(source, at)
        at = over.end() if over else at + (2 if source[at] == "\\" else 1)
    return at + 1


def end_of_declaration(source, at):
    """Behind the ';' or, of a function, the '}' that ends what is at `at`."""
    depth, began = 0, at
    while True:
        over = COMMENT.match(source, at) or STRING.match(source, at)
        if over:
            at = over.end()
            continue
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        head = source[began:at].split("{")[0].rstrip()
        at += 1
        if depth == 0 and (source[at - 1] == ";" or
                           source[at - 1] == "}" and head.endswith(")")):
            return at


def macro(text):
    note = " ".join(plain(c) for c in COMMENT.findall(text))
    name, arguments, value = MACRO.match(
        COMMENT.sub("", text.replace("\\\n", " "))).groups()
    value = " ".join(value.split())
    if arguments == "X":
        return Item("list", name, value)
    if arguments is not None:
        name += f"({arguments})"
    return Item("macro", name, value, note)


def members(body, separator):
    """The Members of a struct's or enum's body."""
    found, text, note, depth, at = [], "", "", 0, 0
    while at < len(body):
        comment = COMMENT.match(body, at)
        if comment:
            at = comment.end()
            said = plain(comment[0])
            own_line = not body[:comment.start()].rpartition("\n")[2].strip()
            if text.strip() or own_line and comment[0].startswith("/*\n"):
                note = said
            elif own_line:
                found.append(Member("", said))
            else:
                found[-1] = found[-1]._replace(
                    note=f"{found[-1].note} {said}".strip())
            continue
        char = body[at]
        at += 1
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == separator and depth == 0:
            found.append(Member(" ".join(text.split()), note))
            text, note = "", ""
        else:
            text += char
    if text.strip():
        found.append(Member(" ".join(text.split()), note))
    return tuple(found)


def declaration(text):
    body = BODY.match(text)
    if body:
        kind, name, inside = body.groups()
        if "{" in COMMENT.sub("", inside):
            raise SystemExit(f"{kind} {name}: a definition in a definition")
        return Item(kind, name, members=members(
            inside, ";" if kind == "struct" else ","))
    if text.startswith("static inline"):
        return Item("function", text=text)
    return None


def items(source):
    at = 0
    while at < len(source):
        comment = COMMENT.match(source, at)
        if source[at].isspace():
            at += 1
        elif comment:
            at = comment.end()
            section = SECTION.match(comment[0])
            yield (Item("section", section[1]) if section
                   else Item("comment", text=comment[0]))
        elif source[at] == "#":
            end = end_of_line(source, at)
            if source.startswith("#define", at):
                yield macro(source[at:end])
            at = end
        else:
            end = end_of_declaration(source, at)
            item = declaration(source[at:end])
            if item:
                yield item
            at = end


def list_rows(item):
    """[(name, group, text)] of an X-macro list; group is "" where it has none."""
    return LIST_ROW.findall(item.text)
