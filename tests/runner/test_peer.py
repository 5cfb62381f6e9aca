#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What do the programs of tests/peer say when there is no NIC, or no case? One
line that names what is missing, and no case that passed."""
import os
import shutil
import subprocess
import sys
import tempfile

import functions

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir)


def run(*options, tree=ROOT):
    """(exit code, lines) of test_wire.py."""
    r = subprocess.run([sys.executable, "tests/peer/test_wire.py", *options],
                       cwd=tree, text=True, timeout=60, check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.returncode, r.stdout.splitlines()


def expect(words, *options, **more):
    code, lines = run(*options, **more)
    assert code == 1 and len(lines) == 1, (code, lines)
    assert words in lines[0], (words, lines)


def test_no_driver():
    with tempfile.TemporaryDirectory() as here:
        path = os.path.join(here, "control")
        expect(f"no NIC to test: no NIC is ready at {path}: [Errno 2]",
               "--control", path, "--wire", path)


def test_wire_without_control():
    expect("--wire is the port of a NIC whose driver --control names",
           "--wire", "/nowhere", "--only", "RNR NAK: rnr_retry: 0")


def test_no_such_case():
    expect("no case has 'no such case' in its name", "--only", "no such case")


def test_nothing_built():
    with tempfile.TemporaryDirectory() as tree:
        shutil.copytree(os.path.join(ROOT, "tests", "peer"),
                        os.path.join(tree, "tests", "peer"))
        os.makedirs(os.path.join(tree, "tests", "qemu"))
        shutil.copy(os.path.join(ROOT, "tests", "qemu", "stops.py"),
                    os.path.join(tree, "tests", "qemu"))
        expect("no NIC to test: unic-wire: [Errno 2] No such file or directory",
               "--only", "RNR NAK: rnr_retry: 0", tree=tree)


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
