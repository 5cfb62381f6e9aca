#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What BOARDS.md says to type without a board, and PORTING.md of a new one, typed as it stands there, in
other folders. Ends in "N passed, N failed"."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import hosts
import functions

QEMU_S = 20


def block(before, page="BOARDS.md"):
    """The lines of the first block behind the words @before, as they are typed."""
    with open(os.path.join(hosts.ROOT, "docs", page), encoding="utf-8") as f:
        text = f.read()
    found = re.search(r"\n\n((?: {4,}.*\n)+)", text[text.index(before):])
    return [re.sub(r"^ +", "", line) for line in found[1].splitlines()]


def typed(*lines):
    """What a shell says at which these are typed, in the root of the tree; its /run and its /tmp are a
    folder of the test."""
    with tempfile.TemporaryDirectory(prefix="unic-pages-") as folder:
        script = re.sub("/(run|tmp)/", folder + "/", "\n".join(lines))
        done = subprocess.run(["bash", "-c", "set -e\ntrap 'kill $(jobs -p) 2>&- || :' EXIT\n" + script], cwd=hosts.ROOT,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=hosts.PATIENCE_S * 4, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def until_ready(socket):
    info = f"build/bin/unicctl --socket {socket} info"
    return f"until {info} | grep -q 'state *ready'; do sleep 0.2; done; {info}"


def test_one_file():
    """The board whose memory is in one file with its host's."""
    lines = block("or by hand, with all memory")
    said = typed(*lines[:-1], lines[-1] + " &", until_ready("/run/unic/unicd.sock"), "cat /tmp/console")
    assert re.search(r"tlb\D+256\b", said) and re.search(r"mtu\D+1024\b", said) and "unic: ready" in said, said


def test_serial_line():
    """The board at a serial line, the soft NIC at the other end, and a file there and back."""
    host, far, file = block("7. Start the driver"), block("9. The other end"), block("10. A file there and back")
    near = block("**Without a board**")
    said = typed(*[line for line in host if "unicd" not in line],
                 *[line.replace("--lan desk", "--lan nic0") for line in far if not line.startswith("sudo")], *near,
                 until_ready("/run/unic0/unicd"), until_ready("/run/unic1/unicd"), file[0], "sleep 1", *file[1:])
    assert "the same" in said.splitlines(), said


def test_new_board():
    """A copy of the template, by one name and by two, builds and says what is not written."""
    says = block("before you write one line", "PORTING.md")
    copies = (block("## 1. Copy", "PORTING.md"), block("With two names", "PORTING.md") + ["make BOARD=my-board image"])
    qemu = block("QEMU says the same", "PORTING.md")[1]
    names = subprocess.run(["git", "ls-files", "-z"], cwd=hosts.ROOT, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="unic-pages-") as folder:
        for name in filter(os.path.exists, (os.path.join(hosts.ROOT, n) for n in names.split("\0")[:-1])):
            there = os.path.join(folder, os.path.relpath(name, hosts.ROOT))
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copy2(name, there, follow_symlinks=False)
        for lines, board, hal in ((copies[0], "mine", "mine"), (copies[1], "my-board", "chip")):
            run = qemu.replace("build/template/", f"build/{board}/")
            done = subprocess.run(["bash", "-ec", "\n".join([*lines, f"timeout {QEMU_S} {run} || [ $? != 127 ]"])],
                                  cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")},
                                  timeout=hosts.PATIENCE_S * 4, check=False)
            wanted = re.escape(says[0]).replace("hal/mine/", f"hal/{hal}/") + ".*" + \
                re.escape(says[1]).replace(r"\.\.\.", ".*")
            assert done.returncode == 0 and re.search(wanted, done.stdout, re.S), done.stdout[-3000:]


if __name__ == "__main__":
    sys.exit(functions.run(functions.of_module(globals())))
