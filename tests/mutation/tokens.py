# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Slips that change one token: a relational operator, a constant by one, a condition
negated, a statement deleted, arithmetic swapped, a barrier removed. Left alone are hints to
the compiler and arguments of trace points, which no part of the NIC reads.
"""
import re

from mutant import made

TOKEN = re.compile(r"""
    (?P<skip>/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|
        ^[ \t]*\#(?:\\\n|[^\n])*)|
    (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b)|
    (?P<word>[A-Za-z_]\w*)|
    (?P<op><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|
        [-+*/%&|^<>=!~?:;,.(){}\[\]])|
    (?P<space>\s+)""", re.S | re.M | re.X)
SWAPS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",),
    "++": ("--",), "--": ("++",), "<<": (">>",), ">>": ("<<",),
}
BINARY = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&": "|",
          "|": "&", "^": "&"}
BARRIERS = ("unic_mb", "unic_rmb", "unic_wmb")
NOT_DELETED = ("return", "goto", "break", "continue", "case", "default",
               "else", "do", "UNIC_ASSERT", "UNIC_TRACE", "UNIC_IN_REGISTER")


def tokens(text):
    at, out = 0, []
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise SystemExit(f"mutants: cannot read: {text[at:at + 40]!r}")
        if m.lastgroup not in ("space", "skip"):
            out.append((m.lastgroup, m.group(), at))
        at = m.end()
    return out


def closing(toks, i):
    """Index of what closes the parenthesis at @i."""
    depth = 0
    for k in range(i, len(toks)):
        depth += (toks[k][1] == "(") - (toks[k][1] == ")")
        if not depth:
            return k
    raise SystemExit("mutants: parentheses do not match")


def bodies(toks):
    """Marks the tokens that are inside of a function."""
    inside, depth, fn = [], 0, 0
    for i, (_, text, _) in enumerate(toks):
        if text == "{":
            if not depth:
                fn = toks[i - 1][1] == ")"
            depth += 1
        inside.append(bool(depth and fn))
        depth -= text == "}"
    return inside


def of_operator(toks, i, text):
    before = toks[i - 1]
    if text in SWAPS:
        yield from ((new, "operator") for new in SWAPS[text])
    elif text in BINARY and (before[0] in ("number", "word") or
                             before[1] in (")", "]")):
        # "(type) &x", "(type) *p" and "type *p" are no arithmetic
        cast = before[1] == ")" or re.search(r"_t$|struct|char|int|void",
                                             before[1])
        if not (cast and text in "*&-+"):
            yield BINARY[text], "arithmetic"


def is_hint(toks, i):
    """The second argument of __builtin_expect(): it changes no result."""
    if toks[i - 1][1] != "," or toks[i + 1][1] != ")":
        return False
    depth = 1
    for k in range(i - 1, 0, -1):
        depth += (toks[k][1] == ")") - (toks[k][1] == "(")
        if not depth:
            return toks[k - 1][1] == "__builtin_expect"
    return False


def of_number(toks, i, text):
    if is_hint(toks, i):
        return
    if toks[i - 1][1] == "case" or i + 1 < len(toks) and \
            toks[i - 1][1] == "[" and toks[i + 1][1] == "]" and \
            toks[i - 2][0] == "word" and toks[i - 3][0] == "word":
        return  # a label, a dimension
    m = re.match(r"(0[xX][0-9a-fA-F]+|\d+)(\w*)", text)
    value = int(m[1], 0)
    yield f"{value + 1}{m[2]}", "constant"
    if value:
        yield f"{value - 1}{m[2]}", "constant"


def negated(toks, i):
    """if (...), while (...): the condition the other way round."""
    end = closing(toks, i + 1)
    at, stop = toks[i + 1][2], toks[end][2] + 1
    return at, stop


def statement(toks, i):
    """Index of the ";" of the call or assignment that begins at @i."""
    depth = 0
    for k in range(i, len(toks)):
        depth += (toks[k][1] in "([") - (toks[k][1] in ")]")
        if toks[k][1] in "{}":
            return None
        if toks[k][1] == ";" and not depth:
            return k
    return None


def deletable(toks, i):
    """A statement (not a declaration) begins here."""
    if toks[i - 1][1] not in (";", "{", "}", ")", "else") or \
            toks[i][1] in NOT_DELETED or toks[i][0] not in ("word", "op"):
        return None
    if toks[i][0] == "op" and toks[i][1] not in ("*", "++", "--"):
        return None
    if toks[i][0] == "word" and toks[i + 1][1] not in (
            "(", "->", ".", "[", "=", "++", "--", "+=", "-=", "|=", "&=",
            "<<=", ">>=", "^="):
        return None
    if toks[i][1] in ("if", "while", "for", "switch", "sizeof"):
        return None
    if toks[i - 1][1] == ")" and toks[i][1] == "*":
        return None
    return statement(toks, i)


def mutants_of(name, text):
    toks = tokens(text)
    inside = bodies(toks)

    def make(at, stop, new, kind):
        return made(name, text, at, stop, new, kind)

    silent = 0  # the end of a trace's arguments
    for i, (group, word, at) in enumerate(toks):
        if word == "UNIC_TRACE":
            silent = closing(toks, i + 1)
        if not inside[i] or i <= silent:
            continue
        if group == "op":
            for new, kind in of_operator(toks, i, word):
                yield make(at, at + len(word), new, kind)
        elif group == "number":
            for new, kind in of_number(toks, i, word):
                yield make(at, at + len(word), new, kind)
        elif word in ("if", "while") and toks[i + 1][1] == "(":
            a, b = negated(toks, i)
            yield make(a, b, f"(!{text[a:b]})", "condition")
        end = deletable(toks, i)
        if end:
            kind = "barrier" if word in BARRIERS else "statement"
            yield make(at, toks[end][2] + 1, ";", kind)
