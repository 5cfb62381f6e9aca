#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The examples, as somebody builds and runs them who has installed unic and has nothing of
this tree: by the command of examples/README.md, with pkg-config alone.

    test_examples.py [--only NAME]
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import traceback

import test_install
from test_install import PATIENCE_S, ROOT, text, until

EXAMPLES = os.path.join(ROOT, "examples")
LINES_MAX = 149
LONGER = {"driver.c": 150, "polite.c": 185}
# Built by commands of their own, which other tests run.
OTHERS = ("driver.c", "polite.c")


class Program:
    """A program of a host, whose lines are waited for."""

    def __init__(self, pair, name, host, *words):
        self.host, self.name = pair.hosts[host], name
        self.log = os.path.join(self.host.dir, name + ".log")
        env = {**os.environ, "UNIC_SOCKET": self.host.sock, "LD_LIBRARY_PATH": pair.hosts[0].it.lib}
        with open(self.log, "w", encoding="utf-8") as f:
            self.child = subprocess.Popen([os.path.join(pair.dir, name), *words], stdout=f, stderr=f,
                                          env=env)
        pair.hosts[host].running.append(self.child)

    def said(self):
        return text(self.log)

    def expect(self, pattern, times=1):
        """Its lines match so often, within some seconds."""
        until(f"{self.name} said {pattern!r}, but: {self.said()}",
              lambda: len(re.findall(pattern, self.said(), re.M)) >= times or
              self.child.poll() not in (None, 0))
        assert len(re.findall(pattern, self.said(), re.M)) >= times, self.said()

    def finish(self):
        assert self.child.wait(PATIENCE_S) == 0, self.said()
        return self.said()

    def end(self):
        self.child.terminate()
        return self.finish()


def build(it, folder, name):
    """The command of the README, typed in the folder of the examples."""
    readme = text(os.path.join(EXAMPLES, "README.md"))
    command = re.search(r"^    (cc two_hosts\.c .*)$", readme, re.M)[1]
    command = command.replace("two_hosts", name).replace(f"-o {name}", f"-o {folder}/{name}")
    env = {**os.environ, "PKG_CONFIG_PATH": it.lib + "/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": it.dest}
    done = subprocess.run(["sh", "-c", command.replace("cc ", "cc -Wall -Wextra -Werror ", 1)],
                          cwd=EXAMPLES, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_sizes(_):
    """Each is short enough to be read at once."""
    for path in glob.glob(EXAMPLES + "/*.[cs]*"):
        name = os.path.basename(path)
        lines = text(path).count("\n")
        assert lines <= LONGER.get(name, LINES_MAX), (name, lines)


def test_two_hosts(pair):
    serve = Program(pair, "two_hosts", 1, "serve")
    serve.expect("^ready$")
    said = Program(pair, "two_hosts", 0, "10.0.0.2", "good morning").finish()
    assert said == "read: hello from the other host\n", said
    assert serve.finish().endswith("written: good morning\n"), serve.said()


def test_token_rpc(pair):
    serve = Program(pair, "token_rpc", 1, "serve")
    serve.expect("^ready$")
    said = Program(pair, "token_rpc", 0, "10.0.0.2", "good morning").finish()
    assert said == "answer of 256 bytes: GOOD MORNING\n", said
    assert serve.finish().endswith("answered\n"), serve.said()


def test_extend(pair):
    """Busy for longer than the grace, it gets more time from a neighbour who is above
    his share, and none beside one who is below; then it waits, and comes again."""
    holds = Program(pair, "extend", 0, "600", "30")
    holds.expect("^holds it$")
    other = Program(pair, "extend", 1, "16", "0")  # another host takes nothing from it
    other.expect("^holds it$")
    hog = subprocess.Popen([pair.hosts[0].it.bin + "/unic-hog", "--socket", pair.hosts[0].sock,
                            "--again", "--chunk", "500", "--max", "500"], stdout=subprocess.DEVNULL)
    try:
        holds.expect(r"^asked for, .* busy for 30 ms$")
        holds.expect(r"^(extended: .*|no extension: .*)$")
        holds.expect(r"^(gives it back after .*|lost it)$")
        holds.expect(r"^waits$")
    finally:
        hog.terminate()
        hog.wait(PATIENCE_S)
    holds.expect(r"^holds it after ")
    holds.end()
    other.end()


def test_recover(pair):
    writes = Program(pair, "recover", 0)
    writes.expect("^writes$")
    for times in (1, 2):
        test_install.run(pair.hosts[0].it.bin + "/unicctl", "--socket", pair.hosts[0].sock, "reset")
        writes.expect("^goes on, with the same STag$", times)
    assert re.search(r"wrote \d+ times\n$", writes.end()), writes.said()


def test_own_policy(pair):
    """It is asked for the region that it needs last."""
    holds = Program(pair, "own_policy", 0, "12", "64")
    holds.expect("^holds 12 regions$")
    meek = Program(pair, "extend", 0, "400", "0")
    meek.expect("^holds it")
    holds.expect(r"^region \d+ goes")
    region, following = map(int, re.search(r"region (\d+) goes, .* used is (\d+)", holds.said()).groups())
    assert (following - region) % 12 <= 3, holds.said()
    meek.end()
    holds.end()


def test_readme(pair):
    """Each program is started as the README says, by unic-run: without root, on hosts that live as
    long as it does."""
    readme = text(os.path.join(EXAMPLES, "README.md"))
    lines = re.findall(r"^    (unic-run .*)$", readme, re.M)
    started = {re.search(r"\./(\w+)", line)[1] for line in lines}
    assert started == {os.path.basename(p)[:-2] for p in glob.glob(EXAMPLES + "/*.c")
                       if os.path.basename(p) not in OTHERS}, started
    it = pair.hosts[0].it
    env = {k: v for k, v in os.environ.items() if k != "UNIC_SOCKET"} | {
        "PATH": f"{it.bin}:{os.environ['PATH']}", "LD_LIBRARY_PATH": it.lib, "XDG_RUNTIME_DIR": pair.dir}
    stay = []
    try:
        for line in lines:
            argv = ["sh", "-c", "exec " + line]
            if not line.endswith('"good morning"'):
                stay.append(subprocess.Popen(argv, cwd=pair.dir, env=env, text=True, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT))
                said = stay[-1].stdout.readline()
                assert re.match("ready|holds|writes", said), (line, said)
                continue
            done = subprocess.run(argv, cwd=pair.dir, env=env, text=True, capture_output=True, check=False,
                                  timeout=3 * PATIENCE_S)
            assert done.returncode == 0 and "read: hello" in done.stdout or "GOOD MORNING" in done.stdout, (line, done)
    finally:
        for program in stay:
            program.terminate()
            program.communicate(timeout=PATIENCE_S)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    only = p.parse_args().only
    it = test_install.Installed()
    pair = test_install.Pair(it)
    failed, tests = 0, [(n[5:], t) for n, t in globals().items()
                        if n.startswith("test_") and callable(t) and only in n]
    try:
        for path in sorted(glob.glob(EXAMPLES + "/*.c")):
            if os.path.basename(path) not in OTHERS:
                build(it, pair.dir, os.path.basename(path)[:-2])
        for name, test in tests:
            try:
                test(pair)
                print(f"ok      {name}", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED  {name}: {type(e).__name__} {e}", flush=True)
                if os.environ.get("VERBOSE"):
                    traceback.print_exc()
    finally:
        pair.end()
        it.end()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
