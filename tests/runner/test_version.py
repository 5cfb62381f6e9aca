#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tools/figures/version.py tell what changes a result from the result? In a small
tree of its own."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import functions

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir,
                    "tools", "figures", "version.py")
COUNTS = "tests/bench/insn.json"
FILES = {
    "firmware/nic.c": "int nic;\n",
    "docs/RESULTS.md": "A hit: <!-- made insn hit -->16<!-- end --> instructions.\n",
    "docs/evidence/long.json": "{}\n",
    COUNTS: json.dumps({"hit": {"budget": 20, "recorded": 16}}),
}


class Tree:
    def __init__(self, folder):
        self.folder = folder
        tool = os.path.join(folder, "tools", "figures")
        os.makedirs(tool)
        shutil.copy(TOOL, tool)
        self.git("init", "-q")
        for path, text in FILES.items():
            self.write(path, text)
        self.commit()

    def run(self, *command):
        return subprocess.run(command, cwd=self.folder, check=True, text=True,
                              capture_output=True, timeout=60).stdout.strip()

    def git(self, *args):
        return self.run("git", "-c", "user.name=n", "-c", "user.email=e@x", *args)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "area: change", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def version(self, *args):
        return self.run(sys.executable, "tools/figures/version.py", *args)


@contextlib.contextmanager
def tree():
    with tempfile.TemporaryDirectory() as folder:
        yield Tree(folder)


def changes(path, text):
    """Is it another version with @text in @path? The same answer before and after it
    is committed."""
    with tree() as t:
        before = t.version()
        t.write(path, text)
        after = t.version()
        t.commit()
        assert after == t.version() == t.version("--commit", "HEAD")
        return before != after


def test_source_is_another_version():
    assert changes("firmware/nic.c", "int nic = 1;\n")
    assert changes("firmware/new.c", "int more;\n")


def test_result_is_not():
    assert not changes("docs/evidence/long.json", '{"check": 1}\n')
    assert not changes("docs/evidence/new.txt", "1 passed, 0 failed\n")


def test_of_a_document_what_a_hand_wrote_counts():
    made = FILES["docs/RESULTS.md"]
    assert not changes("docs/RESULTS.md", made.replace("16", "17"))
    assert changes("docs/RESULTS.md", made.replace("instructions", "cycles"))
    assert changes("docs/RESULTS.md", made.replace("insn hit", "insn miss"))


def test_of_counts_the_budget_counts():
    assert not changes(COUNTS, json.dumps({"hit": {"budget": 20, "recorded": 17}}))
    assert not changes(COUNTS, json.dumps(
        {"hit": {"budget": 20, "recorded": 16}, "version": "0123456789ab"}))
    assert changes(COUNTS, json.dumps({"hit": {"budget": 21, "recorded": 16}}))


def test_file_that_is_gone_and_right_to_run():
    with tree() as t:
        before = t.version()
        os.chmod(os.path.join(t.folder, "firmware/nic.c"), 0o755)
        run = t.version()
        os.unlink(os.path.join(t.folder, "firmware/nic.c"))
        assert len({before, run, t.version()}) == 3
        t.commit()
        assert t.version() == t.version("--commit", "HEAD")


def test_newest_commit_of_a_version_is_found():
    with tree() as t:
        old = t.version()
        t.write("docs/evidence/long.json", "[]\n")
        recorded = t.commit()
        t.write("firmware/nic.c", "long nic;\n")
        t.commit()
        assert t.version("--find", old) == recorded


def test_copy_within_another_tree_has_none():
    with tree() as t:
        copy = os.path.join(t.folder, "build", "copy")
        os.makedirs(copy)
        shutil.copytree(os.path.join(t.folder, "tools"), os.path.join(copy, "tools"))
        assert t.run(sys.executable, "build/copy/tools/figures/version.py") == "unknown"


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
