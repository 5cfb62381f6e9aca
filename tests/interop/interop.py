#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make interop`: strangers that talk to unic, part by part. A package that is missing is
named, and is a failure.

    interop.py [--part NAME]... [-- OPTIONS OF THE PART]
"""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(ROOT, "packages-interop.txt")
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))
import record  # noqa: E402

PARTS = {"apps": "apps.py", "rxe": "rxe.py", "cm": "cm.py", "pyverbs": "rdma_core.py", "mpi": "mpi.py"}
# Of those that keep no table of their own: what docs/CONFORMANCE.md shows.
SHOWN = ("apps", "cm", "mpi")
ROWS = 40  # of a table; with more of them, one for each program
LINE = re.compile(r"^(ok|FAILED) +([^:]+)")
END = re.compile(r"^(\d+) passed, (\d+) failed$")


def packages(path=LIST):
    """{part: packages}"""
    parts, part = {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("# ") and ": " in line:
                part = line[2:line.index(":")]
            elif line.strip() and not line.startswith("#"):
                parts.setdefault(part, []).append(line.strip())
    return parts


def installed(package):
    said = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
                          capture_output=True, text=True, check=False)
    return said.stdout == "installed"


def rows(lines):
    """(name, how many passed) of the tests in @lines, or of the programs."""
    found = [(m[2].strip(), m[1] == "ok") for m in map(LINE.match, lines) if m]
    if len(found) > ROWS:
        found = [(name.split()[0].rstrip(","), good) for name, good in found]
    names = dict.fromkeys(name for name, _ in found)
    return [(name, f"{sum(good for n, good in found if n == name)} of {sum(n == name for n, _ in found)}") for name in names]


def keep(part, lines):
    versions = [subprocess.run(["dpkg-query", "-W", "-f", "${Version}", p], capture_output=True, text=True, check=True).stdout
                for p in packages()[part]]
    record.table("interop", part, ("test", "passed"), rows(lines))
    record.table("interop", part + "-packages", ("package", "version"), zip(packages()[part], versions))
    subprocess.run([os.path.join(ROOT, "tools", "figures", "figures.py")], check=True, stdout=subprocess.DEVNULL)


def run(part, more):
    """(passed, failed) of a part."""
    missing = [p for p in packages()[part] if not installed(p)]
    if missing:
        print(f"FAILED  {part}: missing packages: {' '.join(missing)} (make interop-deps)")
        return 0, len(missing)
    child = subprocess.Popen([os.path.join(HERE, PARTS[part]), *more],
                             stdout=subprocess.PIPE, text=True)
    end, lines = None, []
    for line in child.stdout:
        lines.append(line)
        end = END.match(line)
        if not end:
            print(line, end="", flush=True)
    if child.wait() not in (0, 1) or not end:
        print(f"FAILED  {part}: it ended (exit {child.returncode})")
        return 0, 1
    if part in SHOWN and not more:
        keep(part, lines)
    return int(end[1]), int(end[2])


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--part", action="append", choices=PARTS)
    ap.add_argument("more", nargs="*")
    opt = ap.parse_args()
    ends = [run(part, opt.more) for part in opt.part or PARTS]
    passed, failed = (sum(column) for column in zip(*ends))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
