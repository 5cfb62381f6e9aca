#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What `make demo` prints: a story that fits a screen, all of it with --verbose, and on a
terminal who holds the table. Ends in "N passed, N failed"."""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile

import hosts
import functions

DEMO = [os.path.join(hosts.ROOT, "tests/qemu/demo.py"), "--board", "soft"]
OUT = os.path.join(hosts.ROOT, "build/demo")
LINES, COLUMNS = 40, 100


def run(*more):
    return subprocess.run([*DEMO, *more], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)


def test_story():
    """At most 40 lines, of at most 100 columns: who held what, each transfer, how it ended;
    what happened in between is in the file."""
    done = run()
    # a story that the machine cut short is told again, from its first line
    lines = done.stdout.splitlines()
    cut = [i for i, line in enumerate(lines) if "again, as the machine stopped" in line]
    lines = lines[cut[-1] + 1 if cut else 0:]
    said = "\n".join(lines)
    assert done.returncode == 0 and lines[-1] == "demo: ok", done.stdout
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS, said
    for words in ("hog-release  gives back", "hog-ignore ", "hog-stopped ", "put rdma", "get rpc",
                  "rdma: SHA-256 is equal", "promised bound B"):
        assert words in said, (words, said)
    lone = re.search(r"(\d+) of (\d+) WRITEs of 8 bytes that were alone took the short way", said)
    assert lone and int(lone.group(2)) >= 1000 and 10 * int(lone.group(1)) >= 9 * int(lone.group(2)), said
    bars = re.findall(r"\[([RIS]+)\.*\] +(\d+)  hog", said)
    assert [b[0][0] for b in bars] == ["R", "I", "S"], said
    for text, entries in bars:
        assert abs(len(text) / 32 - int(entries) / 1024) < 0.05, (text, entries)
    assert not re.search(r"\b1 times", said), said
    asked = int(re.search(r"asked (\d+) times?", said).group(1))
    with open(os.path.join(OUT, "log"), encoding="utf-8") as f:
        log = f.read()
    assert len(re.findall(r" notice \d+ delivered", log)) >= min(asked, 1), log[-2000:]
    told = [line for line in lines[:-1] if not line.startswith("repeated: ")]
    assert all(line in log for line in told), "the story is not in the file"


def test_first_run():
    """`make demo` where nothing is built says what it builds and how long that takes, builds on all
    processors, and keeps the lines of that to itself, also when it fails: here nothing is compiled."""
    with tempfile.TemporaryDirectory(prefix="unic-demo-") as folder:
        argv = ["make", "-C", hosts.ROOT, "--no-print-directory", "BOARD=soft", f"B={folder}", "CC=true", "DEPS=skip", "demo"]
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
        done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, timeout=300,
                              check=False)
        lines = done.stdout.splitlines()
        assert re.fullmatch("demo: the programs and the image are built first, in .* minutes", lines[0]), done.stdout
        assert done.returncode and len(lines) <= LINES and f"it is in {folder}/demo/build.log" in done.stdout, done.stdout
        with open(folder + "/demo/build.log", encoding="utf-8") as f:
            assert len(re.findall(r"^  CC ", f.read(), re.M)) > 100
        said = subprocess.run([*argv, "-n"], text=True, capture_output=True, env=env, timeout=300, check=False).stdout
        assert re.search(rf"make -j{len(os.sched_getaffinity(0))} .*\bprograms image\b", said.replace("\\\n", "")), said


def test_packages():
    """`make demo` of a bare machine: what apt-get prints is in a file, and its end is shown if it fails."""
    with tempfile.TemporaryDirectory(prefix="unic-demo-") as folder:
        for name, does in (("dpkg-query", "exit 1"), ("id", "echo 0"),
                           ("apt-get", f'seq 1000; [ "$1" = update ] || [ -e {folder}/good ]')):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{does}\n")
            os.chmod(f.name, 0o755)
        env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DEPS_LOG": folder + "/log"}
        env.pop("DEPS", None)
        for good in (True, False):
            if good:
                open(folder + "/good", "w", encoding="utf-8").close()
            else:
                os.remove(folder + "/good")
            done = subprocess.run(["tools/install/install_deps.sh", "packages.txt", "host"], cwd=hosts.ROOT, env=env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
            lines = done.stdout.splitlines()
            assert (done.returncode == 0) == good and "more is in " + folder in lines[0], done.stdout
            assert len(lines) == 1 if good else "1000" in lines and len(lines) < LINES, done.stdout
        with open(folder + "/log", encoding="utf-8") as f:
            said = f.read()
        assert "missing packages: " in said and said.count("\n1000\n") == 4, said
        done = subprocess.run(["make", "-n", "demo"], cwd=hosts.ROOT, text=True, capture_output=True, check=False)
        assert re.search("DEPS_LOG=build/demo/packages.log tools/install/install_deps.sh", done.stdout), done.stdout


def test_verbose():
    """--verbose prints the lines that are else in the file."""
    done = run("--verbose")
    assert done.returncode == 0 and done.stdout.endswith("demo: ok\n"), done.stdout
    assert len(done.stdout.splitlines()) > LINES and "delivered, mr" in done.stdout, done.stdout
    assert "promised bound B" in done.stdout and "all lines:" not in done.stdout


def test_terminal():
    """On a terminal the last line shows the table, with the letters of those that hold it, and
    is gone when the next one is told."""
    master, slave = pty.openpty()
    demo = subprocess.Popen(DEMO, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    said = b""
    try:
        while select.select([master], [], [], 300)[0]:
            try:
                said += os.read(master, 65536)
            except OSError:  # the end
                break
    finally:
        os.close(master)
        code = demo.wait(60)
    text = said.decode()
    assert code == 0, text
    live = re.findall(r"\r\x1b\[K(\[[RISm.]{32}\][^\r\n]*)", text)
    assert live, text
    assert any(set("RIS") <= set(line[:34]) for line in live), live
    assert any("rdma" in line or "rpc" in line for line in live), live
    for line in text.split("\n"):  # what stays is the story
        kept = line.rstrip("\r").split("\x1b[K")[-1]
        assert not re.match(r"\[[RISm.]{32}\] (?!  )", kept), kept


if __name__ == "__main__":
    sys.exit(functions.run(functions.of_module(globals())))
