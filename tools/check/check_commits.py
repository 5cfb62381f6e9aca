#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_commits.py - commits since FIRST say one thing, and why.

A subject is `area: verb ...`, at most 80 characters, without a full stop; an empty line
and a body follow. A tree without that part of the history has nothing to check.
"""
import re
import subprocess
import sys

FIRST = "45ae3dceaf77"  # the rule is older; from here on it is checked
SUBJECT = re.compile(r"^[\w.+/, -]{1,50}: [a-z][\w-]* .*[^.]$")
LONGEST = 80


def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True, check=False)


def faults(message):
    lines = message.rstrip("\n").split("\n")
    if not SUBJECT.match(lines[0]):
        yield "the subject is not `area: verb ...`"
    if len(lines[0]) > LONGEST:
        yield f"the subject has more than {LONGEST} characters"
    if len(lines) < 3 or lines[1]:
        yield "there is no body that says why"


def main():
    if git("cat-file", "-e", FIRST + "^{commit}").returncode:
        print("0 commits: this history does not go back to the first one")
        return 0
    commits = git("rev-list", "--no-merges", FIRST + "..HEAD").stdout.split()
    bad = 0
    for commit in commits:
        message = git("log", "-1", "--format=%B", commit).stdout
        for fault in faults(message):
            bad += 1
            print(f"{commit[:12]} {message.splitlines()[0]}: {fault}")
    print(f"{len(commits)} commits, {bad} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
