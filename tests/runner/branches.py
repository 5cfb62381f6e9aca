# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Branches of C sources as gcov counts them, each by a name that moved lines do not change:
file, function, text of the line, number of the branch among those of the line."""
import collections
import concurrent.futures
import gzip
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# nth: which of the lines of the function with that text, from 1.
Name = collections.namedtuple("Name", "file function number of nth text")
# Of a line that is in several functions, as those are that are always inlined.
NO_FUNCTION = "-"
NAME = re.compile(r"(\S+) (\S+) (\d+)/(\d+)(?:#(\d+))? (.+)")


def said(name):
    """The name as a line of a file has it."""
    nth = f"#{name.nth}" if name.nth > 1 else ""
    return f"{name.file} {name.function} {name.number}/{name.of}{nth} {name.text}"


def heard(text):
    """The name that said() made this text of, or None."""
    m = NAME.fullmatch(text)
    if not m:
        return None
    return Name(m[1], m[2], int(m[3]), int(m[4]), int(m[5] or 1), m[6])


def counters(folder):
    for where, _, names in os.walk(folder):
        yield from (os.path.join(where, n) for n in sorted(names) if n.endswith(".gcda"))


def forget(folder):
    """What the programs of @folder counted is gone."""
    for path in list(counters(folder)):
        os.remove(path)


def counted(path):
    """What gcov says of a file of counters."""
    r = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path],
                       capture_output=True, check=False, cwd=ROOT)
    if r.returncode:  # the object was not made to its end: remove it
        raise SystemExit(f"gcov: {r.stderr.decode(errors='replace').strip()}")
    text = r.stdout
    if text[:2] == b"\x1f\x8b":
        text = gzip.decompress(text)
    return json.loads(text)["files"]


def gather(folders, wanted, jobs=2):
    """{file: {(line, function): [times taken, ...]}}, summed over the objects of @folders.
    An object in which a line has another number of branches, because the sizes of its
    board are others, does not count for that line: the first folder's do."""
    found = collections.defaultdict(dict)
    paths = [p for f in folders for p in sorted(counters(f))]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for files in pool.map(counted, paths):
            for file in files:
                name = os.path.normpath(file["file"].removeprefix(ROOT + "/"))
                if wanted(name):
                    add(found[name], file["lines"])
    return dict(found)


def add(lines, said_of):
    for line in said_of:
        taken = [b["count"] for b in line["branches"]]
        if not taken:
            continue
        key = (line["line_number"], line.get("function_name", NO_FUNCTION))
        old = lines.get(key)
        if old is None:
            lines[key] = taken
        elif len(old) == len(taken):
            lines[key] = [a + b for a, b in zip(old, taken)]


def named(found):
    """{Name: times taken} of what gather() found."""
    out = {}
    for file, lines in sorted(found.items()):
        with open(os.path.join(ROOT, file), encoding="utf-8") as f:
            source = f.read().split("\n")
        seen = collections.Counter()
        for (number, function), taken in sorted(lines.items()):
            text = " ".join(source[number - 1].split())
            seen[function, text] += 1
            for n, times in enumerate(taken, 1):
                out[Name(file, function, n, len(taken), seen[function, text], text)] = times
    return out
