#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Mutants of the core: small breaks of firmware/, made by a machine. A test
must go red.

    mutants.py [--sample N] [--seed N] [--file NAME] [--jobs N] [--fresh]
               [--report]

A mutant is one change of one token: a relational operator, a constant by one, a
condition negated, a statement deleted, arithmetic swapped, a barrier removed.
Left alone are constants of icrc_table.c, hints to the compiler and arguments of
trace points, which no part of the NIC reads. All that are possible are listed; N
of them are drawn, the same share of every file. The draw orders a file's
mutants by a hash of the seed and of what each is, so the same tree and seed
give the same sample, and an edit of one file leaves that of the others alone.

Who judges a mutant: killers.py. Results are kept in
build/mutants/results.json with the state of the tree they rest on, so a run
that was broken off goes on where it was, and what cannot have changed is not
judged again; --fresh forgets them. --report writes docs/evidence/mutants.md: the
table, and each survivor with its verdict out of mutants.verdicts. Exit 1 below
80 %.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import sys
import tempfile
import threading
import time

from killers import CORE_PATHS, ROOT, WORK, Killers, Stamps

RESULTS = os.path.join(WORK, "results.json")
VERDICTS = os.path.join(ROOT, "tests", "mutation", "mutants.verdicts")
REPORT = os.path.join(ROOT, "docs", "evidence", "mutants.md")
GOAL = 0.80
SKIP = {"icrc_table.c"}  # constants, compared with another implementation

# ------------------------------------------------------------- what to change

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
Mutant = collections.namedtuple("Mutant", "file at length new kind line")


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
        return Mutant(name, at, stop - at, new, kind,
                      text.count("\n", 0, at) + 1)

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


def sources():
    return sorted(name for name in CORE_PATHS if name not in SKIP)


def read(name):
    with open(os.path.join(ROOT, CORE_PATHS[name]),
              encoding="utf-8") as f:
        return f.read()


def key(m, text):
    """What it is, wherever it stands: results outlive edits elsewhere."""
    start = text.rfind("\n", 0, m.at) + 1
    line = text[start:text.find("\n", m.at)]
    around = text[max(0, start - 200):start]
    raw = "\0".join((m.file, around, line, str(m.at - start), m.new, m.kind))
    return hashlib.sha256(raw.encode()).hexdigest()[:16]


def draw(options):
    """[(mutant, key)], the same share of every file."""
    names = [options.file] if options.file else sources()
    every = {n: [(m, key(m, read(n))) for m in mutants_of(n, read(n))]
             for n in names}
    total = sum(map(len, every.values()))
    out = []
    for found in every.values():
        n = min(len(found), max(1, round(options.sample * len(found) / total)))
        lots = sorted(found, key=lambda mk: hashlib.sha256(
            f"{options.seed} {mk[1]}".encode()).digest())
        out += sorted(lots[:n], key=lambda mk: (mk[0].at, mk[1]))
    return out, total


# -------------------------------------------------------------------- report

def load(stamps):
    """{key: (verdict, by whom)}, those that still hold."""
    try:
        with open(RESULTS, encoding="utf-8") as f:
            return {k: (verdict, by)
                    for k, (verdict, by, stamp) in json.load(f).items()
                    if stamp == stamps.get(by)}
    except FileNotFoundError:
        return {}


def store(results, stamps):
    tmp = RESULTS + ".new"
    with open(tmp, "w", encoding="utf-8") as f:
        json.dump({k: (verdict, by, stamps.get(by))
                   for k, (verdict, by) in results.items()}, f, indent=0)
    os.replace(tmp, RESULTS)


def line_of(m):
    return read(m.file).splitlines()[m.line - 1].strip()


def changed(m):
    text = read(m.file)
    start = text.rfind("\n", 0, m.at) + 1
    end = text.find("\n", m.at + m.length)
    return (text[start:m.at] + m.new + text[m.at + m.length:end]).strip()


def column(result):
    verdict, by = result
    if verdict == "killed":
        return by.split()[0] if by.split()[0] in ("sim", "corpora") else "unit"
    return "survived" if verdict == "not reached" else verdict


def row(name, c):
    killed = c["unit"] + c["sim"] + c["corpora"]
    n = killed + c["survived"]
    return (f"| {name} | {n} | {c['unit']} | {c['sim']} | {c['corpora']} | "
            f"{c['survived']} | {100 * killed / (n or 1):.0f} % |"), \
        killed / (n or 1)


def table(drawn, results):
    rows = collections.defaultdict(collections.Counter)
    said = verdicts()
    for m, k in drawn:
        if k not in results:
            continue
        where = column(results[k])
        if said.get(k, "").startswith("equivalent"):
            if where == "survived":
                continue
            print(f"{m.file}:{m.line} is not equivalent: {where} ({k})")
        rows[m.file][where] += 1
        rows["all"][where] += 1
    lines = ["| file | mutants | unit tests | simulator | corpora | survived | "
             "score |", "| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [row(name, rows[name])[0]
              for name in sorted(rows, key=lambda n: (n == "all", n))]
    return lines, row("all", rows["all"])[1]


def raw(drawn, results):
    """The score if nobody had judged a survivor to be equivalent."""
    where = [column(results[k]) for _, k in drawn if k in results]
    there = [w for w in where if w != "invalid"]
    return 1 - there.count("survived") / (len(there) or 1)


def verdicts():
    """{key: words} of lines "KEY words"."""
    try:
        with open(VERDICTS, encoding="utf-8") as f:
            rows = [line.split(None, 1) for line in f
                    if line.strip() and not line.startswith("#")]
            return {k: words.strip() for k, words in rows}
    except FileNotFoundError:
        return {}


def report(drawn, results, total, options):
    lines, score = table(drawn, results)
    said = verdicts()
    out = ["# Mutants", "",
           f"`make mutants SAMPLE={options.sample} SEED={options.seed}`: "
           f"{len(drawn)} drawn of {total} that can be made of the core; those "
           "that do not compile, compile to the same code, or were judged "
           "equivalent are left out. The columns say who killed: unit tests "
           "come first, the simulator sees what they leave, the corpora of "
           "the fuzzers what that leaves. "
           "What a mutant is: `tests/mutation/mutants.py`; how it is judged: "
           "`tests/mutation/killers.py`.", "",
           *lines, "",
           f"With those judged equivalent among the survivors: "
           f"{100 * raw(drawn, results):.0f} %.", "", "## Survivors", "",
           "A verdict is \"equivalent\" (no test can tell) or \"test missing\"; "
           "it is in `tests/mutation/mutants.verdicts`.", ""]
    for m, k in drawn:
        if column(results.get(k, ("", ""))) == "survived":
            out += [f"* `{m.file}:{m.line}` {m.kind}, {results[k][0]} "
                    f"(`{k}`): {said.get(k, 'not examined yet')}", "",
                    "      - " + line_of(m), "      + " + changed(m).replace(
                        "\n", "\n      + "), ""]
    with open(REPORT, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")
    return score


# ---------------------------------------------------------------------- main

def parse():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    ap.add_argument("--sample", type=int, default=420)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--file", help="only this one of firmware/")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--fresh", action="store_true")
    ap.add_argument("--report", action="store_true")
    return ap.parse_args()


def judge_all(todo, results, stamps, jobs):
    killers, lock = Killers(jobs), threading.Lock()
    killers.prepare()

    def one(pair):
        m, k = pair
        text = read(m.file)
        text = text[:m.at] + m.new + text[m.at + m.length:]
        with tempfile.TemporaryDirectory(dir=WORK) as tmp:
            verdict = killers.judge(m.file, m.line, text, tmp)
        with lock:
            results[k] = verdict
            store(results, stamps)
            if column(verdict) == "survived":
                print(f"{m.file}:{m.line} {verdict[0]} ({k})\n"
                      f"  - {line_of(m)}\n  + {changed(m)}", flush=True)

    list(killers.pool.map(one, todo))


def main():
    options = parse()
    os.makedirs(WORK, exist_ok=True)
    drawn, total = draw(options)
    stamps = Stamps()
    results = {} if options.fresh else load(stamps)
    todo = [(m, k) for m, k in drawn if k not in results]
    start = time.monotonic()
    if todo:
        judge_all(todo, results, stamps, options.jobs)
    lines, score = table(drawn, results)
    if options.report:
        report(drawn, results, total, options)
    print("\n".join(lines))
    print(f"{len(drawn)} of {total} mutants, {len(todo)} judged now in "
          f"{time.monotonic() - start:.0f} s, score {100 * score:.1f} %")
    return score < GOAL


if __name__ == "__main__":
    sys.exit(main())
