# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The end of `make interop PART=rxe`: what each row came to, and, after a whole run, what
docs/CONFORMANCE.md shows of it."""
import collections
import os
import subprocess
import sys

import matrix

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))
import record  # noqa: E402

PACKAGES = ("ibverbs-providers", "tshark")


def outcome(said):
    return said.split(":")[0]


def cell(names, done):
    """Of these rows: how many passed."""
    found = collections.Counter(outcome(done[n]) for n in names)
    text = f"{found['ok']} of {len(names)}"
    return text + ", known missing" if found["missing"] else text


def summary(done):
    """A line for each operation, with a column for each wire."""
    names = collections.defaultdict(lambda: collections.defaultdict(list))
    for wire in matrix.WIRES:
        for board in matrix.BOARDS:
            for way in matrix.WAYS:
                for row in matrix.of_wire(wire):
                    names[row[:2]][wire].append(matrix.name(board, way, wire, row))
        for board in matrix.BOARDS:
            for way, line in matrix.programs_of(board, wire):
                row = ("program", line, 0)
                names["program", line.split()[0]][wire].append(
                    matrix.name(board, way, wire, row))
    lines = [(f"{kind} {op}", *(cell(of[w], done) if of[w] else "-" for w in matrix.WIRES))
             for (kind, op), of in names.items()]
    return lines + [("capture", *(done[f"{w}: the capture"] for w in matrix.WIRES))]


def package_version(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                          capture_output=True, text=True, check=True).stdout


def keep(done, release):
    record.table("interop", "rxe", ("rows", *matrix.WIRES), summary(done))
    record.values("interop", "rxe-peer", kernel=release,
                  **{p: package_version(p) for p in PACKAGES})
    subprocess.run([os.path.join(ROOT, "tools", "figures", "figures.py")], check=True,
                   stdout=subprocess.DEVNULL)


def tell(wanted, done, release, whole):
    """Prints the end; returns the exit code. A row of @wanted that is not done has failed."""
    for name in wanted:
        done.setdefault(name, "FAILED: not done")
    missing = [n for n in done if outcome(done[n]) == "missing"]
    bad = [n for n in done if outcome(done[n]) == "FAILED"]
    for name in missing:
        print(f"known missing  {name}{done[name][len('missing'):]}")
    for name in bad:
        print(f"FAILED  {name}{done[name][len('FAILED'):]}")
    if whole:
        keep(done, release)
    print(f"{len(missing)} known missing")
    print(f"{len(done) - len(missing) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0
