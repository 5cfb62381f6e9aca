# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Branches that no test takes: those that have a reason, and those that have none yet, the
debt, which may only become smaller.

A line of REASONS is the name of a branch (branches.py), " :: " and why no test can take it;
a line of DEBT is a name. Neither can name more than one branch."""
import collections
import os
import subprocess

import branches

ROOT = branches.ROOT
REASONS = "tests/runner/coverage.reasons"
DEBT = "tests/runner/coverage.debt"
MARK = " :: "
HEADS = {
    REASONS: "# Branches that no test can take, each with its reason: see ledger.py.\n",
    DEBT: "# Branches that no test takes, without a reason: see ledger.py. Only to become fewer.\n",
}

# faults: lines; open: [Name] that neither have a reason nor are in the debt
Verdict = collections.namedtuple("Verdict", "faults open paid gone")


def lines_of(text):
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return lines_of(f.read())


def name_of(line, faults, path):
    name = branches.heard(line)
    if not name:
        faults.append(f"{path}: names no branch: {line}")
    return name


def reasons(lines, faults):
    """{Name: why}"""
    found = {}
    for line in lines:
        text, mark, why = line.partition(MARK)
        name = name_of(text, faults, REASONS)
        if not mark or not why.strip():
            faults.append(f"{REASONS}: without a reason: {line}")
        elif name in found:
            faults.append(f"{REASONS}: twice: {text}")
        elif name:
            found[name] = why
    return found


def debt(lines, faults):
    """[Name]"""
    found = [n for n in (name_of(line, faults, DEBT) for line in lines) if n]
    faults += [f"{DEBT}: twice: {branches.said(n)}"
               for n, times in collections.Counter(found).items() if times > 1]
    return found


def judge(taken, why, owed):
    """taken: {Name: times} of the files that are judged; why, owed: what the two files say.
    Returns a Verdict; paid: what is owed and taken, gone: what is owed and is no more."""
    faults = []
    for name in why:
        if name not in taken:
            faults.append(f"has a reason, but is no more: {branches.said(name)}")
        elif taken.get(name):
            faults.append(f"has a reason, but is taken: {branches.said(name)}")
    faults += [f"has a reason, and is owed: {branches.said(n)}" for n in owed if n in why]
    paid = [n for n in owed if taken.get(n)]
    gone = [n for n in owed if n not in taken]
    faults += [f"is owed, but is taken: {branches.said(n)}" for n in paid]
    faults += [f"is owed, but is no more: {branches.said(n)}" for n in gone]
    known = set(owed) | set(why)
    left = [n for n, times in taken.items() if not times and n not in known]
    faults += [f"no reason: {branches.said(n)}" for n in left]
    return Verdict(faults, left, paid, gone)


def at(commit, path):
    """Lines of a file in a commit, or None."""
    r = subprocess.run(["git", "-C", ROOT, "show", f"{commit}:{path}"], capture_output=True,
                       text=True, check=False)
    return None if r.returncode else lines_of(r.stdout)


def growth(now):
    """[what is wrong], when the debt is more than it was: in the last commit, or, if that
    changed it, before."""
    last = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%H", "--", DEBT],
                          capture_output=True, text=True, check=False).stdout.strip()
    versions = [("now", now), ("in the last commit", at("HEAD", DEBT)),
                (f"before {last[:12]}", at(last + "^", DEBT) if last else None)]
    versions = [(when, lines) for when, lines in versions if lines is not None]
    return [f"{DEBT}: {len(new)} branches {when}, {len(old)} {before}: it may not grow"
            for (when, new), (before, old) in zip(versions, versions[1:])
            if len(new) > len(old)]


def settled(owed, verdict):
    """What is owed after what is gone or paid has made room for what is new. None: there is
    more of that than room."""
    new = sorted(set(owed) - set(verdict.gone) - set(verdict.paid) | set(verdict.open))
    return new if len(new) <= len(owed) else None


def write(path, lines):
    with open(os.path.join(ROOT, path), "w", encoding="utf-8") as f:
        f.write(HEADS[path] + "\n" + "".join(line + "\n" for line in sorted(lines)))
