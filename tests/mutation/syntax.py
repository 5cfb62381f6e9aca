# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Slips of a programmer, made by rule over the syntax tree (libclang):

    conjunct   one of the conditions that && or || joins is dropped
    guard      the condition of an if is negated
    call       a call whose result nobody takes is skipped
    arguments  two arguments of a type change places
    bound      < for <=, <= for <, and so with > and >=
    decrement  a -- or -= is forgotten (not the step of a loop, which would not end)
    stale      one variable, or field of a struct, for another of like name and its type
    field      one field of a copied struct is not copied

What a macro makes is left alone: the text does not show it.
"""
import bisect
import functools
import re
import subprocess
import sys

from mutant import made

DEBIAN = "/usr/lib/python3/dist-packages"  # python3-clang, for any other python3, too
if DEBIAN not in sys.path:
    sys.path.append(DEBIAN)
from clang import cindex  # noqa: E402  pylint: disable=wrong-import-position

K = cindex.CursorKind
NOTHING = "(void)0"
BOUNDS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)
OPPOSITES = [{a, b} for a, b in (
    ("old", "new"), ("first", "last"), ("head", "tail"), ("src", "dst"), ("from", "to"),
    ("begin", "end"), ("start", "end"), ("cur", "next"), ("prev", "next"), ("min", "max"),
    ("una", "nxt"), ("in", "out"), ("tx", "rx"), ("local", "remote"), ("before", "after"),
    ("want", "got"), ("prod", "cons"), ("lo", "hi"), ("source", "dest"), ("row", "col"))]
COPIED = 4  # fields at most, of all, for one copy
LOOPS = (K.FOR_STMT, K.WHILE_STMT, K.DO_STMT)


def words(name):
    return [w for w in re.split(r"_|(?<=[a-z])(?=\d)", name.lower()) if w]


def alike(a, b):
    """May somebody write one name and mean the other?"""
    if a == b:
        return False
    x, y = words(a), words(b)
    if len(x) == len(y):
        differ = [{i, j} for i, j in zip(x, y) if i != j]
        if len(differ) == 1 and differ[0] in OPPOSITES:
            return True
    if {w for w in x if len(w) > 2} & {w for w in y if len(w) > 2}:
        return True
    short, long = sorted((a, b), key=len)
    return long.startswith(short) and (len(short) > 1 or long[len(short):].isdigit())


def without_decrement(text):
    """What a -- before or behind it is of, or None."""
    m = re.fullmatch(r"--\s*(.+)|(.+?)\s*--", text, re.S)
    return m and (m[1] or m[2])


def type_name(t):
    return re.sub(r"\b(const|volatile)\b ?", "", t.get_canonical().spelling).strip()


class Reader:
    """Collects the slips of one file."""

    def __init__(self, path, text, unit):
        self.path, self.raw, self.text = path, text.encode(), text
        self.found, self.seen = [], set()
        self.file = unit.spelling
        self.top = unit.cursor
        # Offsets of the tree are in bytes, those of a mutant in characters.
        self.wide = [i for i, b in enumerate(self.raw) if b & 0xc0 == 0x80]

    def char(self, at):
        return at - bisect.bisect_left(self.wide, at)

    def add(self, at, stop, new, kind):
        m = made(self.path, self.text, self.char(at), self.char(stop), new, kind)
        if m not in self.seen and self.raw[at:stop].decode() != new:
            self.seen.add(m)
            self.found.append(m)

    # ---------------------------------------------------------------- text

    def span(self, c):
        """(begin, end), or None if it is not of this file or stands in a macro."""
        s, e = c.extent.start, c.extent.end
        if s.file is None or s.file.name != self.file or e.offset <= s.offset:
            return None
        return s.offset, e.offset

    def said(self, span):
        return self.raw[span[0]:span[1]].decode()

    def between(self, a, b):
        """What stands between two spans, if they are apart, without comments."""
        if a is None or b is None or a[1] > b[0]:
            return None
        return COMMENT.sub(b"", self.raw[a[1]:b[0]]).decode().strip()

    # --------------------------------------------------------------- rules

    def binary(self, c):
        left, right = list(c.get_children())
        a, b = self.span(left), self.span(right)
        op = self.between(a, b)
        if op in BOUNDS:
            at = self.raw.index(op.encode(), a[1], b[0])
            self.add(at, at + len(op), BOUNDS[op], "bound")
        if op in ("&&", "||"):
            self.add(a[1], b[1], "", "conjunct")
            if not self.joins(left, op):
                self.add(a[0], b[0], "", "conjunct")

    def joins(self, c, op):
        parts = list(c.get_children())
        return c.kind == K.BINARY_OPERATOR and len(parts) == 2 and \
            self.between(self.span(parts[0]), self.span(parts[1])) == op

    def guard(self, c):
        span = self.span(next(c.get_children()))
        whole = self.span(c)
        if span and whole and re.fullmatch(rb"if\s*\(\s*", self.raw[whole[0]:span[0]]):
            self.add(span[0], span[1], f"!({self.said(span)})", "guard")

    def call(self, c):
        """A call's arguments."""
        span, parts = self.span(c), list(c.get_children())
        if not span or not parts or c.referenced is None or \
                not self.said(span).endswith(")"):
            return
        kinds = [type_name(t) for t in self.parameters(c)]
        args = [self.span(a) for a in c.get_arguments()]
        if None in args or any(x[1] > y[0] for x, y in zip(args, args[1:])) or \
                any(x[0] <= span[0] or x[1] >= span[1] for x in args):
            return
        for j in range(len(kinds)):
            for i in range(j):
                if j < len(args) and kinds[i] == kinds[j]:
                    self.swap(args[i], args[j])

    @staticmethod
    def parameters(c):
        kind = c.referenced.type
        if kind.kind == cindex.TypeKind.POINTER:
            kind = kind.get_pointee()
        kind = kind.get_canonical()
        return kind.argument_types() if kind.kind == cindex.TypeKind.FUNCTIONPROTO else []

    def swap(self, a, b):
        x, y, mid = self.said(a), self.said(b), self.raw[a[1]:b[0]].decode()
        if x != y:
            self.add(a[0], b[1], y + mid + x, "arguments")

    def statement(self, c):
        """One that stands by itself."""
        inner, span = c, self.span(c)
        if not span:
            return
        if c.kind == K.CSTYLE_CAST_EXPR and c.type.kind == cindex.TypeKind.VOID:
            inner = list(c.get_children())[-1]
        if inner.kind == K.CALL_EXPR and self.said(span).endswith(")") and inner.spelling and \
                inner.spelling in self.said(span):
            self.add(*span, NOTHING, "call")
            self.copied_bytes(inner, span)
        elif c.kind == K.UNARY_OPERATOR and without_decrement(self.said(span)):
            self.add(*span, NOTHING, "decrement")
        elif c.kind == K.COMPOUND_ASSIGNMENT_OPERATOR and self.operator(c) == "-=":
            self.add(*span, NOTHING, "decrement")
        elif c.kind == K.BINARY_OPERATOR and self.operator(c) == "=":
            self.assignment(c, span)

    def operator(self, c):
        left, right = list(c.get_children())
        return self.between(self.span(left), self.span(right))

    def assignment(self, c, span):
        left, right = list(c.get_children())
        a, b = self.said(self.span(left)), self.said(self.span(right))
        x, y = (re.search(r"(?:->|\.)(\w+)$", t) for t in (a, b))
        if x and y and x[1] == y[1] and not self.is_record(c.type):
            self.add(*span, NOTHING, "field")
        elif self.is_record(c.type):
            self.all_but_one(c.type, a, self.said(span), span)

    @staticmethod
    def is_record(t):
        return t.get_canonical().kind == cindex.TypeKind.RECORD

    def copied_bytes(self, c, span):
        """memcpy() of a whole struct."""
        args = [self.span(a) for a in c.get_arguments()]
        if c.spelling not in ("memcpy", "memmove") or len(args) != 3 or None in args or \
                not self.said(args[2]).startswith("sizeof"):
            return
        to = next(c.get_arguments())
        while to.kind in (K.UNEXPOSED_EXPR, K.CSTYLE_CAST_EXPR, K.PAREN_EXPR) and \
                to.type.get_pointee().kind == cindex.TypeKind.VOID:
            to = list(to.get_children())[-1]
        kind = to.type.get_pointee()
        if self.is_record(kind):
            self.all_but_one(kind, f"(*({self.said(args[0])}))", self.said(span), span)

    def all_but_one(self, kind, to, copy, span):
        """@copy, then one field of @to is what it was."""
        if re.search(r"\+\+|--|\w\(", to):
            return
        fields = [f.spelling for f in kind.get_canonical().get_fields() if f.spelling]
        for field in fields[::-(-len(fields) // COPIED) or 1]:
            self.add(*span, f"do {{ __typeof__({to}) kept_ = {to}; {copy}; __builtin_memcpy("
                     f"(void *)&({to}).{field}, &kept_.{field}, sizeof(kept_.{field})); }} "
                     "while (0)", "field")

    def fields(self, c):
        """An initialiser whose fields are those of another struct."""
        span = self.span(c)
        if not span or not self.said(span).startswith("{"):
            return
        text = self.said(span)
        entries = [m for m in re.finditer(r"\.(\w+)\s*=\s*([^,{}()]*?(?:->|\.)(\w+))\s*(?:,|(?=\}))",
                                          text) if m[1] == m[3]]
        if len(text.split(",")) > 1:
            for m in entries:
                at = span[0] + len(text[:m.start()].encode())
                self.add(at, at + len(m[0].encode()), "", "field")

    def decrement(self, c):
        span = self.span(c)
        rest = without_decrement(self.said(span)) if span else None
        if rest:
            self.add(*span, rest, "decrement")

    def stale_variable(self, c, scope):
        span, its = self.span(c), c.referenced
        if not span or its is None or its.kind not in (K.VAR_DECL, K.PARM_DECL) or \
                self.said(span) != c.spelling:
            return
        for other in scope:
            if other.spelling != c.spelling and alike(other.spelling, c.spelling) and \
                    type_name(other.type) == type_name(its.type):
                self.add(*span, other.spelling, "stale")

    def stale_field(self, c):
        span, its = self.span(c), c.referenced
        if not span or its is None or its.kind != K.FIELD_DECL or \
                not re.search(rf"(?:->|\.)\s*{re.escape(c.spelling)}$", self.said(span)):
            return
        for other in its.semantic_parent.type.get_fields():
            if other.spelling and alike(other.spelling, c.spelling) and \
                    type_name(other.type) == type_name(its.type):
                at = span[1] - len(c.spelling)
                self.add(at, span[1], other.spelling, "stale")

    # ---------------------------------------------------------------- walk

    def bodies(self, c):
        """The parts of @c that are statements."""
        parts = list(c.get_children())
        if c.kind == K.COMPOUND_STMT:
            return parts
        if c.kind == K.IF_STMT:
            return parts[1:]
        if c.kind == K.DO_STMT:
            return parts[:1]
        if c.kind in LOOPS or c.kind in (K.CASE_STMT, K.DEFAULT_STMT, K.LABEL_STMT,
                                         K.SWITCH_STMT):
            return parts[-1:]
        return []

    def visit(self, c, scope, written, step):
        """@scope: variables that are known here; @written: it is stored to, not read;
        @step: it says how a loop goes on."""
        kind = c.kind
        parts = list(c.get_children())
        bodies = self.bodies(c)
        scope = list(scope) if kind == K.COMPOUND_STMT or kind in LOOPS else scope
        if kind == K.BINARY_OPERATOR and len(parts) == 2:
            self.binary(c)
        elif kind == K.IF_STMT and parts:
            self.guard(c)
        elif kind == K.CALL_EXPR:
            self.call(c)
        elif kind == K.UNARY_OPERATOR and not step:
            self.decrement(c)
        elif kind == K.INIT_LIST_EXPR:
            self.fields(c)
        elif kind == K.DECL_REF_EXPR and not written:
            self.stale_variable(c, scope)
        elif kind == K.MEMBER_REF_EXPR and not written:
            self.stale_field(c)
        for body in bodies:
            self.statement(body)
        self.hide(bodies)
        for i, part in enumerate(parts):
            self.visit(part, scope, self.writes(c, i), (step and kind not in LOOPS) or (
                kind in LOOPS and part not in bodies))
            if part.kind == K.VAR_DECL:
                scope.append(part)

    def hide(self, bodies):
        """A decrement that is a statement is made once, as one."""
        for body in bodies:
            span = self.span(body)
            rest = without_decrement(self.said(span)) if span else None
            if rest and body.kind == K.UNARY_OPERATOR:
                self.seen.add(made(self.path, self.text, self.char(span[0]), self.char(span[1]),
                                   rest, "decrement"))

    def writes(self, c, i):
        """Is its part @i stored to, or its address taken?"""
        if c.kind == K.COMPOUND_ASSIGNMENT_OPERATOR:
            return i == 0
        if c.kind == K.BINARY_OPERATOR:
            return i == 0 and self.operator(c) == "="
        return c.kind == K.UNARY_OPERATOR and bool(
            re.match(r"&|\+\+|--", self.start(c)) or re.search(r"(\+\+|--)$", self.start(c)))

    def start(self, c):
        span = self.span(c)
        return self.said(span) if span else ""

    def read(self):
        for c in self.top.get_children():
            if c.kind == K.FUNCTION_DECL and c.is_definition() and self.span(c):
                known = [a for a in c.get_arguments() if a.spelling]
                for part in c.get_children():
                    if part.kind == K.COMPOUND_STMT:
                        self.visit(part, known, False, False)
        return sorted(self.found, key=lambda m: (m.at, m.length, m.kind, m.new))


def slips(path, text, arguments, folder=None):
    """The slips of @text, which is @path of the tree; @arguments: of the compiler, for it;
    @folder: the tree. ValueError if it cannot be read."""
    name = path if folder is None else f"{folder}/{path}"
    unit = cindex.Index.create().parse(name, arguments, unsaved_files=[(name, text)])
    bad = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if bad:
        raise ValueError(f"{path}: {bad[0]}")
    return Reader(path, text, unit).read()


@functools.cache
def own_headers():
    """Where clang has stdbool.h and its like."""
    return subprocess.run(["clang-14", "-print-resource-dir"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def arguments_of(command):
    """Of a compiler's command, what says how the text is to be read."""
    out, at = [], 0
    while at < len(command):
        word = command[at]
        if word in ("-include", "-isystem", "-I", "-D"):
            out += command[at:at + 2]
            at += 1
        elif word.startswith(("-I", "-D", "-U", "-std", "-nostdinc", "-fms-extensions")):
            out.append(word)
        at += 1
    if command[0].startswith("arm-"):
        out += ["--target=arm-none-eabi", "-isystem", "/usr/include/newlib"]
    return ["-x", "c", "-w", "-resource-dir", own_headers(), *out]
