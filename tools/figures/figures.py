#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The numbers of the documents, out of the files that commands wrote.

    figures.py            writes them all again (make figures)
    figures.py --check    says which are not what the files say (make check-docs)
    figures.py --release  says which are of another version than the tree is now

What stands between `made WORDS` and `end`, each an HTML comment, is made here. WORDS:

    insn NAME | m3 NAME     instructions on the Cortex-A15, Cortex-M3 (tests/bench/insn.json)
    budget NAME             of the Cortex-A15; goal NAME: whether it is met
    second NAME             the second budget, of both; aim NAME: what it is to become;
                            second_met NAME: whether it is met
    version insn            the version that the counts are of
    table COMMAND NAME      a table that a command recorded, with its version (record.py)
    value COMMAND NAME KEY  a value; version COMMAND NAME: the version that it is of
    long                    the table of long runs; result RUN: what one of them said, and
                            of which version; log RUN: what its parts said
    eval goals              how many goals of the evaluation are met, and of which versions
    mutants                 what share of the slips was killed, and of which version

What no file has is "not measured yet". In the documents of STRICT a measured number
(UNITS) outside of these, of code and of the section "Goals" is an error.
"""
import argparse
import csv
import json
import os
import re
import sys

import record
import version

ROOT = version.ROOT
EVIDENCE = os.path.join(ROOT, "docs", "evidence")
DOCUMENTS = ("docs/RESULTS.md", "docs/TESTING.md", "docs/STATUS.md", "docs/CONFORMANCE.md")
STRICT = ("docs/RESULTS.md",)
PART = re.compile(r"<!-- made ([^>]+?) -->(.*?)<!-- end -->", re.S)
HOW = {"sizes": "tests/bench/sizes.py --record"}
NOT_YET = "not measured yet"
UNITS = re.compile(r"(?<![\w.])\d[\d,.]* ?(?:%|(?:ns|us|ms|s|MB/s|M/s|IOPS|instructions|points|bytes|"
                   r"minutes|passed|of \d[\d,]*)\b)")
LOG_LINE = re.compile(r"^(?:ok|FAILED|longest|\d+ (?:loads|passed))|^\s+(?:longest|\d+ loads)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def loaded(path):
    full = os.path.join(ROOT, path)
    return json.loads(read(path)) if os.path.exists(full) else {}


def count(name, what):
    entry = loaded("tests/bench/insn.json")[name]
    return f"{entry[what]:,}" if what in entry else NOT_YET


def goal(name):
    entry = loaded("tests/bench/insn.json")[name]
    return "met" if entry["recorded"] <= entry["budget"] else "missed"


def pair(name, what):
    return " / ".join(f"{n:,}" for n in loaded("tests/bench/insn.json")[name][what])


def second_met(name):
    entry = loaded("tests/bench/insn.json")[name]
    counts = [entry.get("recorded"), entry.get("recorded_m3")]
    return "met" if all(n is not None and n <= most for n, most in zip(counts, entry["second"])) else "missed"


def version_of(command, name=None):
    if command == "insn":
        return loaded("tests/bench/insn.json").get("version", NOT_YET)
    return record.known(command).get(name, {}).get("version", NOT_YET)


def table(command, name):
    found = record.known(command).get(name)
    if not found:
        return f"\n\nNot measured yet: `{HOW.get(command, 'make ' + command)}` writes it.\n\n"
    lines = [f"Version {found['version']}.", "", "| " + " | ".join(found["columns"]) + " |",
             "| --- " * len(found["columns"]) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in found["rows"]]
    return "\n\n" + "\n".join(lines) + "\n\n"


def value(command, name, key):
    found = record.known(command).get(name)
    return str(found["values"][key]) if found else NOT_YET


def long_runs():
    sys.path.insert(0, os.path.join(ROOT, "tests", "runner"))
    import long  # pylint: disable=import-outside-toplevel
    return "\n\n" + "".join(long.table(long.results())) + "\n"


def result(run):
    row = loaded("docs/evidence/long.json").get(run)
    return f"{row['result']} (version {row['version']})" if row else NOT_YET


def log(run):
    path = os.path.join(EVIDENCE, run + ".txt")
    if not os.path.exists(path):
        return f"\n\n{NOT_YET.capitalize()}.\n\n"
    with open(path, encoding="utf-8") as f:
        command, of, *lines = f.read().splitlines()
    shown = [line.rstrip() for line in lines if LOG_LINE.match(line)]
    return f"\n\n`{command}`, {of}:\n\n```\n" + "\n".join(shown) + "\n```\n\n"


def evaluation(_):
    sys.path.insert(0, os.path.join(ROOT, "tests", "eval"))
    import made  # pylint: disable=import-outside-toplevel
    with open(os.path.join(EVIDENCE, "eval", "goals.csv"), encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    met = sum(r["met"] == "yes" for r in rows)
    return f"{met} of {len(rows)} goals are met, of {made.words(os.path.join(EVIDENCE, 'eval'))}"


def mutants():
    sys.path.insert(0, os.path.join(ROOT, "tests", "mutation"))
    import report  # pylint: disable=import-outside-toplevel
    return report.sentence() or NOT_YET


MAKERS = {
    "insn": lambda name: count(name, "recorded"), "m3": lambda name: count(name, "recorded_m3"),
    "budget": lambda name: count(name, "budget"), "goal": goal, "version": version_of,
    "second": lambda name: pair(name, "second"), "aim": lambda name: pair(name, "goal"), "second_met": second_met,
    "table": table, "value": value, "long": long_runs, "result": result, "log": log,
    "eval": evaluation, "mutants": mutants,
}


def versions(words):
    """{version} of what is made for WORDS."""
    maker, *args = words.split()
    if maker in ("insn", "m3", "budget", "goal", "second", "aim", "second_met") or args == ["insn"]:
        return {version_of("insn")}
    if maker in ("table", "value", "version"):
        return {version_of(*args[:2])}
    if maker == "eval":
        return set(loaded("docs/evidence/eval/versions.json").values()) or {NOT_YET}
    if maker == "mutants":
        return {loaded("docs/evidence/mutants-syntax.json").get("version", NOT_YET)}
    rows = loaded("docs/evidence/long.json")
    of = {name: row["version"] for name, row in rows.items()}
    return set(of.values()) if maker == "long" else {of.get(args[0], NOT_YET)}


def others(now):
    """Parts of the documents that are of another version than @now."""
    for path in DOCUMENTS:
        for words in dict.fromkeys(m[1] for m in PART.finditer(read(path))):
            wrong = versions(words) - {now}
            if wrong:
                yield f"{path}: '{words}' is of {', '.join(sorted(wrong))}"


def made(words):
    """What stands there, by the files."""
    maker, *args = words.split()
    if maker not in MAKERS:
        raise SystemExit(f"figures: nobody makes '{words}'")
    return MAKERS[maker](*args)


def remade(text):
    return PART.sub(lambda m: f"<!-- made {m[1]} -->{made(m[1])}<!-- end -->", text)


def stale(text):
    """The WORDS of parts that are not what the files say."""
    return [m[1] for m in PART.finditer(text) if m[2] != made(m[1])]


def typed(text):
    """Measured numbers that nothing makes: (line, number)."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])

    text = PART.sub(blank, text)
    text = re.sub(r"^## Goals\n.*?(?=^## |\Z)", blank, text, flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", blank, text)
    return [(text.count("\n", 0, m.start()) + 1, m[0]) for m in UNITS.finditer(text)]


def faults(path):
    text = read(path)
    yield from (f"{path}: '{words}' is not what its file says: make figures"
                for words in stale(text))
    if path in STRICT:
        yield from (f"{path}:{line}: {number} is typed by hand" for line, number in typed(text))


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--check", action="store_true")
    p.add_argument("--release", action="store_true")
    args = p.parse_args()
    if args.check or args.release:
        bad = [fault for path in DOCUMENTS for fault in faults(path)]
        bad += others(version.version()) if args.release else []
        print("\n".join(bad), end="\n" * bool(bad))
        return 1 if bad else 0
    for path in DOCUMENTS:
        text = remade(read(path))
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
