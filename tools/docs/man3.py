#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Manual pages of the functions of libunic, from its headers.

    man3.py --out FOLDER --version WORDS --date YYYY-MM-DD [--uses FILE]... HEADER...

A comment that begins with `/** name() - ` starts a page, which functions behind it join
until the next such comment; each other name of a page is a page that refers to it. A page
shows the structs and enums of these headers that its functions take, and a statement with one of
them from the first program of --uses that has one: programs that tests run. What goes for all of
them, the comment at the top of the first header, is a part of unic(7), docs/man/unic.7.
"""
import argparse
import os
import re
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
OVERVIEW = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "man", "unic.7")
ITEM = re.compile(
    r"(?P<comment>/\*.*?\*/)"
    r"|(?P<define>^#(?:[^\n]*\\\n)*[^\n]*$)"
    r"|(?P<inline>^static inline [^{;]*\{.*?^\})"
    r"|(?P<type>^(?:struct|enum) \w+ \{.*?^\};)"
    r"|(?P<function>^[a-z][\w \*]*?\b(?P<name>unic_\w+)\([^;{]*\);)"
    r"|(?P<other>^[^\n]*$)", re.S | re.M)
HEAD = re.compile(r"(\w+)\(\) - (.*)", re.S)
ERRNO = re.compile(r"-(E[A-Z0-9]+)\b")
# An error that a comment explains: "-EBUSY: a region uses it", "-ENODEV no such NIC".
EXPLAINED = re.compile(r"(?:^|[,;.(:]\s+)-(E[A-Z0-9]+):?\s+((?:\([^()]*\)|[^;.()])*?)"
                       r"(?=,\s+-E|[;.)]|$)", re.S)
BRACKETS = re.compile(r"^\(([^()]*)\)$") # "-EAGAIN (queue full)"
SOURCES = re.compile(r"\s*\((?:S\d|IBTA)[^)]*\)") # what a function was made after


class Page:
    """What a comment and the functions behind it say."""

    def __init__(self, text, header):
        self.header, self.functions, self.names = header, [], []
        self.text = SOURCES.sub("", HEAD.match(text)[2])

    def add(self, name, prototype):
        self.functions.append(prototype)
        self.names.append(name)

    def summary(self):
        words = re.sub(r"\s*\([^)]*\)", "", re.sub(r"\[[^])]*[])]", "a range", self.text))
        first = re.split(r"[.:;,](?:\s|$)|\n\n", words)[0]
        return " ".join(first.replace("@", "").split()).rstrip(".")


def comment_text(comment):
    """The words of a comment, without what marks it as one."""
    lines = re.sub(r"^/\*+|\*+/$", "", comment.strip()).split("\n")
    return "\n".join(re.sub(r"^\s*\*( |$)", "", line).rstrip() for line in lines).strip()


def parse(path):
    """The pages of a header, its types by name, and the words at its top."""
    with open(path, encoding="utf-8") as f:
        source = f.read()
    pages, types, top, page = [], {}, None, None
    for m in ITEM.finditer(source):
        if m["comment"]:
            text = comment_text(m["comment"])
            if top is None and " - " in text.split("\n")[0]:
                top = text
            if m["comment"].startswith("/**") and HEAD.match(text):
                page = Page(text, os.path.basename(path))
                pages.append(page)
        elif m["type"]:
            types[re.match(r"(?:struct|enum) \w+", m["type"])[0]] = m["type"]
        elif m["function"]:
            if not page:
                sys.exit(f"{path}: {m['name']}() comes before every comment")
            page.add(m["name"], m["function"])
        elif m["inline"]:
            head = m["inline"].split("{")[0].strip()
            page.add(re.search(r"(unic_\w+)\(", head)[1], head + ";")
    return pages, types, top or ""


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"@(\w+)", r"\\fI\1\\fR", text)
    text = re.sub(r"\b(unic_\w+)\(\)", r"\\fB\1\\fR(3)", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def code(text):
    text = text.expandtabs(8).replace("\\", "\\e").replace("-", "\\-")
    return ".nf\n" + re.sub(r"^([.'])", r"\\&\1", text, flags=re.M) + "\n.fi\n"


def prose(text):
    """Paragraphs; what begins with a dash is an item of a list."""
    out, first = [], True
    for part in re.split(r"\n\s*\n", text.strip()):
        for i, item in enumerate(re.split(r"\n\s*- ", "\n" + part)):
            words = " ".join(item.split())
            if words:
                out.append((".IP \\(bu 2\n" if i else "" if first else ".PP\n") + roff(words) + "\n")
                first = False
    return "".join(out)


def meanings(top):
    """What each errno means by convention, as the top of the first header says."""
    found = re.search(r"errno of failed calls: (.*)", top, re.S)
    said, names = {}, []
    for clause in re.split(r",\s+(?=E[A-Z0-9]+[\s,/])", found[1] if found else ""):
        names += re.match(r"(E[A-Z0-9/]+)", clause)[1].split("/")
        words = " ".join(re.sub(r"^E[A-Z0-9/]+\s*", "", clause).split()).rstrip(".")
        if words:
            said.update({n: words for n in names})
            names = []
    return said


def heading(name, section, args):
    return f'.TH {name} {section} "{args.date}" "{args.version}" "unic"\n'


def types_of(page, types):
    """The types that the functions of @page take, and those that these have as members,
    in the order of the headers."""
    wanted, look = set(), "\n".join(page.functions)
    while True:
        more = {t for t in types if re.search(rf"\b{t}\b", look)} - wanted
        if not more:
            return [text for name, text in types.items() if name in wanted]
        wanted |= more
        look = "\n".join(types[t] for t in more if t.startswith("struct"))


def errors(text, said):
    """The section of errors: as the comment explains them, else by convention; others are
    where it speaks of them."""
    why = {e: BRACKETS.sub(r"\1", " ".join(words.split())) for e, words in EXPLAINED.findall(text) if words.strip()}
    out, rest = ".SH ERRORS\n", []
    for e in sorted(set(ERRNO.findall(text))):
        words = why.get(e) or said.get(e)
        if words:
            if not words.startswith(("unic_", "@")):
                words = words[0].upper() + words[1:]
            out += f".TP\n.B {e}\n{roff(words)}.\n"
        else:
            rest.append(e)
    out += ".PP\n" if out.count(".TP") else ""
    out += f"{', '.join(rest)}: see the description. " if rest else ""
    return out + "Errors of every call are in \\fBunic\\fR(7).\n"


def statement(source, at):
    """The lines of the statement with the call at @at: from where it begins to where it ends."""
    begin = max(source.rfind(c, 0, at) for c in ";{}") + 1
    begin = max(begin, source.rfind("*/", 0, at) + 2, source.rfind("\n\n", 0, at) + 2)
    lead = re.match(r"\s*", source[begin:])[0]
    begin += lead.rfind("\n") + 1
    end = source.index(";", at) + 1
    if source.find("{", at, end) != -1:  # of a block: its head, and what comes first in it
        end = source.index("\n", source.index(";", source.index("{", at)))
    return textwrap.dedent(source[begin:end].expandtabs(8)).strip("\n")


def example(page, uses):
    """Where one of the functions is called, and how; None: nowhere."""
    for path in uses:
        with open(path, encoding="utf-8") as f:
            source = re.sub(r"^#define .*$", "", f.read(), flags=re.M)
        for name in page.names:
            for m in re.finditer(rf"\b{name}\(", source):
                line = source[source.rfind("\n", 0, m.start()) + 1:m.start()]
                if line[:1].isspace() and not re.search(r'^\s*(\*|/\*|#)|"', line):
                    shown = statement(source, m.start())
                    if shown[0].isalpha():
                        return os.path.basename(path), shown
    return None


def failures(page, said):
    """The section of errors of functions that return no errno."""
    if any(f.startswith("int ") for f in page.functions):
        return errors(page.text, said)
    if ERRNO.search(page.text) or any("*" in f.split("(")[0] for f in page.functions) and "NULL" in page.text:
        return ".SH ERRORS\nAs the description says. Errors of every call are in \\fBunic\\fR(7).\n"
    return ".SH ERRORS\nNone: it does not fail.\n"


def write_page(page, types, said, args):
    name = page.names[0]
    out = [heading(name.upper(), 3, args), ".SH NAME\n",
           f"{', '.join(page.names)} \\- {roff(page.summary())}\n", ".SH SYNOPSIS\n",
           code(f"#include <unic/{page.header}>\n\n" + "\n".join(page.functions)),
           ".SH DESCRIPTION\n", prose(page.text[0].upper() + page.text[1:])]
    shown = types_of(page, types)
    if shown:
        out += [".SH TYPES\n", code("\n\n".join(shown))]
    if any(f.startswith("int ") for f in page.functions):
        out.append(".SH RETURN VALUE\n0, or a count, or \\-errno, unless it says otherwise above. "
                   "After an error \\fBunic_last_error\\fR(3) of the same thread says what failed, "
                   "why, and what to do.\n")
    out.append(failures(page, said))
    found = example(page, args.uses)
    if found:
        out.append(f".SH EXAMPLES\nFrom \\fI{found[0]}\\fR:\n.PP\n.RS\n{code(found[1])}.RE\n")
    out.append(".SH SEE ALSO\n\\fBunic\\fR(7), \\fBunicd\\fR(1)\n")
    with open(os.path.join(args.out, name + ".3"), "w", encoding="utf-8") as f:
        f.write("".join(out))
    for other in page.names[1:]:
        link = os.path.join(args.out, other + ".3")
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(name + ".3", link)


def write_overview(pages, top, args):
    """docs/man/unic.7 with the conventions and the list of functions."""
    with open(OVERVIEW, encoding="utf-8") as f:
        text = f.read()
    rules = re.search(r"Conventions.*", top, re.S)[0]
    listed = "".join(f".TP\n\\fB{p.names[0]}\\fR(3)\n{roff(p.summary())}\n" for p in pages)
    text = text.replace(".\\\" CONVENTIONS\n", prose(rules)).replace(".\\\" FUNCTIONS\n", listed)
    with open(os.path.join(args.out, "unic.7"), "w", encoding="utf-8") as f:
        f.write(heading("UNIC", 7, args) + text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--version", required=True)
    p.add_argument("--date", required=True)
    p.add_argument("--uses", action="append", default=[])
    p.add_argument("headers", nargs="+")
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    pages, types, top = [], {}, None
    for header in args.headers:
        found, its, words = parse(header)
        pages += [page for page in found if page.names]
        types |= its
        top = top or words
    said = meanings(top)
    for page in pages:
        write_page(page, types, said, args)
    write_overview(pages, top, args)


if __name__ == "__main__":
    main()
