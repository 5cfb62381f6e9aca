#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_docs.py - what the documents of the top folder, README.md of any folder and
docs/**/*.md point at is there: links and their headings, files, functions, `make` targets, options of
programs. What a command made of its figures is what its file says (tools/figures). So are the sections of DESIGN.md and MEMORY.md that sources and documents
cite. And tables are tables."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import figures  # noqa: E402

FOLDERS = [d for d in os.listdir(ROOT) if os.path.isdir(os.path.join(ROOT, d))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:%s)/[A-Za-z0-9_./-]+)`" % "|".join(FOLDERS))
# A name of ours has two words; what a system calls mostly has one.
FUNCTION = re.compile(r"`([a-z]\w*_\w+)\(\)`")
# As a comment may break it: "DESIGN.md,\n * section 6.3".
SECTION = re.compile(r"\b(DESIGN|MEMORY)\.md[)\],]*[\s*]+section[\s*]+(\d+(?:\.\d+)?)")
# build/ is made; what a reader makes, and any test or source, are not there.
NOT_THERE = re.compile(r"^build/|\bmine\b|/test_x\.")
TARGETS = re.compile(r"^[$#]? *make((?: +[^ ]+)+)")
PROGRAM = re.compile(r"\b(unic(?:d|ctl|-[a-z]+))\b(.*)")
SCRIPT = re.compile(r"\b((?:tests|tools|qemu)/[\w/]*)[\w-]+\.py\b(.*)")
OPTION = re.compile(r"(?<!\S)--([a-z][a-z-]+)")


def read(*names):
    text = []
    for name in names:
        with open(os.path.join(ROOT, name), encoding="utf-8") as f:
            text.append(f.read())
    return "".join(text)


def tree(pattern):
    return [os.path.relpath(p, ROOT) for p in
            sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True))]


def anchors(text):
    """Of each heading, as they are made on the web."""
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.+)$", text, re.M)}


def there(path):
    full = os.path.join(ROOT, path)
    return os.path.exists(full) or glob.glob(full + ".[ch]")


def commands(text):
    """What is in backticks, and the lines of indented blocks."""
    for line in text.splitlines():
        if line.startswith("    "):
            yield line.split("#")[0].strip() or line.strip()
        yield from re.findall(r"`([^`]+)`", line)


def bad_links(name, text):
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        path = os.path.normpath(
            os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(os.path.join(ROOT, path)):
            yield f"no file {link}"
        elif anchor and anchor not in anchors(read(path)):
            yield f"no heading {link}"


def torn_tables(text):
    """A table needs an empty line before it, else it is words."""
    before = ""
    for line in text.splitlines():
        if line.startswith("|") and before and not before.startswith("|"):
            yield f"a table in the middle of words: {line[:40]}"
        before = line


def bad_sections(text, sections):
    for document, number in SECTION.findall(text):
        if number not in sections[document]:
            yield f"no section {number} in {document}.md"


def bad_commands(text, targets, options):
    for command in commands(text):
        for words in TARGETS.findall(command):
            for word in words.split():
                if re.fullmatch(r"[a-z][a-z0-9-]*", word) \
                        and word not in targets:
                    yield f"no target {word} ({command})"
        for program, rest in PROGRAM.findall(command):
            for option in OPTION.findall(rest):
                if option != "help" and f'"{option}"' not in options:
                    yield f"no option --{option} ({command})"
        for folder, rest in SCRIPT.findall(command):
            scripts = read(*tree(folder + "*.py"))
            for option in OPTION.findall(rest):
                if f"--{option}" not in scripts:
                    yield f"no option --{option} ({command})"


def main():
    targets = {t for line in re.findall(r"^([a-z0-9 -]+):(?!=)", read(
        "Makefile", *tree("mk/*.mk")), re.M) for t in line.split()}
    options = read(*tree("host_driver/**/*.c"), *tree("qemu/**/*.c"),
                   *tree("tests/**/*.c"), *tree("hal/soft/*.c"))
    sources = {n: read(n) for pattern in ("**/*.[chS]", "**/*.py", "**/*.pml")
               for n in tree(pattern) if not n.startswith(f"build{os.sep}")}
    known = set(re.findall(r"\w+", "".join(sources.values())))
    sections = {d: set(re.findall(r"^##+ (\d+(?:\.\d+)?)", read(f"docs/{d}.md"), re.M))
                for d in ("DESIGN", "MEMORY")}
    bad = [f"{name}: {why}" for name, text in sources.items()
           for why in bad_sections(text, sections)]
    for name in sorted({*tree("*.md"), *tree("docs/**/*.md"),
                        *(n for n in tree("**/README.md") if not n.startswith(f"build{os.sep}"))}):
        text = read(name)
        bad += [f"{name}: {why}" for why in [
            *bad_links(name, text), *torn_tables(text), *bad_sections(text, sections),
            *bad_commands(text, targets, options),
            *(f"no function {f}()" for f in sorted({*FUNCTION.findall(text)} - known)),
            *(f"no file {p}" for p in PATH.findall(text)
              if not NOT_THERE.search(p) and not there(p)
              and not there("host_driver/" + p))]]
    bad += [fault for name in figures.DOCUMENTS for fault in figures.faults(name)]
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
