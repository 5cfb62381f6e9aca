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
LIST = os.path.join(HERE, "..", "..", "packages-interop.txt")
PARTS = {"rxe": "rxe.py", "cm": "cm.py", "pyverbs": "rdma_core.py"}
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


def run(part, more):
    """(passed, failed) of a part."""
    missing = [p for p in packages()[part] if not installed(p)]
    if missing:
        print(f"FAILED  {part}: missing packages: {' '.join(missing)} (make interop-deps)")
        return 0, len(missing)
    child = subprocess.Popen([os.path.join(HERE, PARTS[part]), *more],
                             stdout=subprocess.PIPE, text=True)
    end = None
    for line in child.stdout:
        end = END.match(line)
        if not end:
            print(line, end="", flush=True)
    if child.wait() not in (0, 1) or not end:
        print(f"FAILED  {part}: it ended (exit {child.returncode})")
        return 0, 1
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
