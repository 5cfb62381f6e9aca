#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The version of the tree, which recorded results name: a hash of its files without
the results themselves. Who records a result has changed no version, so that all
results of a release can be those of the release.

    version.py                 of the working tree
    version.py --commit NAME   of a commit
    version.py --find VERSION  the newest commit before HEAD that has it

Results are what lies under docs/evidence and tests/eval/traces, the parts of documents that a command made
(MADE), and recorded counts and sizes (RECORDS). All else counts, also a file that is
not committed yet.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = ("docs/evidence/", "tests/eval/traces/")
MADE = re.compile(r"(<!-- made [^>]+ -->).*?(<!-- end -->)", re.S)
DIGITS = 12


def without_counts(text):
    """tests/bench/insn.json: its budgets are written by hand."""
    return json.dumps({name: [entry.get(of) for of in ("budget", "second", "goal")] for name, entry in json.loads(text).items()
                       if name != "version"})


# file: what of it is no result
RECORDS = {
    "tests/bench/insn.json": without_counts,
    "tests/bench/sizes.json": lambda text: "",
}


def git(*args, data=None):
    return subprocess.run(["git", "-C", ROOT, *args], check=True, stdout=subprocess.PIPE,
                          input=data).stdout


def is_result(path):
    return path.startswith(RESULTS)


def has_results(path):
    """Only a part of it counts."""
    return path in RECORDS or path.endswith(".md")


def part_that_counts(path, text):
    if path in RECORDS:
        return RECORDS[path](text)
    return MADE.sub(r"\1\2", text)


def digest(entries, read):
    """entries: {path: (mode, id of the content)}; read(path, id): its bytes."""
    h = hashlib.sha256()
    for path, (mode, blob) in sorted(entries.items()):
        if is_result(path):
            continue
        if has_results(path):
            text = part_that_counts(path, read(path, blob).decode(errors="replace"))
            blob = hashlib.sha256(text.encode()).hexdigest()
        h.update(f"{mode} {blob} {path}\n".encode())
    return h.hexdigest()[:DIGITS]


def listed(output):
    """Of `git ls-files -s -z` or `git ls-tree -r -z`."""
    for line in output.decode().split("\0"):
        if line:
            words, path = line.split("\t", 1)
            words = words.split()
            yield path, (words[0], words[2] if words[1] == "blob" else words[1])


def names(*args):
    return [n for n in git("ls-files", "-z", *args).decode().split("\0") if n]


def mode_of(path):
    full = os.path.join(ROOT, path)
    if os.path.islink(full):
        return "120000"
    return "100755" if os.access(full, os.X_OK) else "100644"


def read_file(path, _):
    with open(os.path.join(ROOT, path), "rb") as f:
        return f.read()


def working_tree():
    entries = dict(listed(git("ls-files", "-s", "-z")))
    for path in names("-d"):
        entries.pop(path, None)
    changed = [p for p in names("-m", "-o", "--exclude-standard")
               if os.path.lexists(os.path.join(ROOT, p))]
    plain = [p for p in changed if not os.path.islink(os.path.join(ROOT, p))]
    blobs = git("hash-object", "--stdin-paths", data="\n".join(plain).encode()).split()
    for path, blob in zip(plain, blobs):
        entries[path] = mode_of(path), blob.decode()
    for path in set(changed) - set(plain):
        target = os.readlink(os.path.join(ROOT, path)).encode()
        entries[path] = "120000", git("hash-object", "--stdin", data=target).decode().strip()
    return digest(entries, read_file)


def of_commit(name, known={}):  # texts by id, for the next commit
    def read(_, blob):
        if blob not in known:
            known[blob] = git("cat-file", "blob", blob)
        return known[blob]
    return digest(dict(listed(git("ls-tree", "-r", "-z", name))), read)


def is_tree():
    """Not a copy of the sources within another tree, or without git."""
    try:
        return not git("rev-parse", "--show-prefix").strip()
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


def version():
    """Of the working tree; "unknown" where git knows none."""
    return working_tree() if is_tree() else "unknown"


def find(wanted):
    for commit in git("rev-list", "HEAD").decode().split():
        if of_commit(commit) == wanted:
            return commit
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--commit", metavar="NAME")
    p.add_argument("--find", metavar="VERSION")
    args = p.parse_args()
    if args.find:
        commit = find(args.find)
        print(commit or f"no commit before HEAD is version {args.find}")
        return 0 if commit else 1
    print(of_commit(args.commit) if args.commit else version())
    return 0


if __name__ == "__main__":
    sys.exit(main())
