#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tools/check/check_abi.py object? Each test builds a small tree of two
headers with golden dumps, and then changes one of them."""
import os
import subprocess
import sys
import tempfile

import functions

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                     os.pardir, "tools", "check", "check_abi.py")
HEADERS = {
    "abi/one.h": "#include <stdint.h>\nstruct one {\n\tuint32_t a;\n};\n",
    "abi/two.h": "struct two {\n\tuint32_t b;\n};\n",
    "tests/abi/layout.c": '#include "one.h"\n#include "two.h"\n',
}


def write(tree, files):
    for name, text in files.items():
        path = os.path.join(tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)


def run(tree, *options):
    """(exit code, what was said)"""
    r = subprocess.run([sys.executable, CHECK, *options], cwd=tree, text=True,
                       capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout + r.stderr


def check(changed, then=()):
    """Golden dumps are made of HEADERS; then files are changed. With `then`: what
    the options make of it, and what the check says after that."""
    with tempfile.TemporaryDirectory() as tree:
        write(tree, HEADERS)
        code, said = run(tree, "--rewrite")
        assert code == 0, said
        write(tree, changed)
        if then:
            code, said = run(tree, *then)
            assert code == 0, said
        return run(tree)


def test_sound_tree_passes():
    code, said = check({})
    assert code == 0 and "2 headers, 0 differences" in said, said


def test_another_layout():
    code, said = check({"abi/two.h": "struct two {\n\tuint16_t b;\n};\n"})
    assert code == 1, said
    assert "abi/golden/two.txt: another layout on x86-64" in said, said


def test_header_without_structs():
    code, said = check({"abi/two.h": "#define TWO 2\n"})
    assert code == 1, said
    assert "abi/golden/two.txt: abi/two.h has no struct" in said, said


def test_golden_file_without_header():
    code, said = check({"abi/golden/old.txt": "/* offset */\n"})
    assert code == 1, said
    assert "abi/golden/old.txt: there is no abi/old.h" in said, said


def test_no_headers_with_structs():
    code, said = check({"abi/one.h": "#define ONE 1\n",
                        "abi/two.h": "#define TWO 2\n"})
    assert code == 1 and said.count(" has no struct") == 2, said


def test_rewrite_removes():
    code, said = check({"abi/two.h": "#define TWO 2\n",
                        "abi/golden/old.txt": ""}, ["--rewrite"])
    assert code == 0 and "2 headers, 0 differences" in said, said


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
