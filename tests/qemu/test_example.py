#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""examples/polite.c, compiled by the command that README.md prints: it waits for
its place beside a hoarder, gives it back when it is asked, and has it again; and as
examples/README.md starts it, on a host of its own."""
import os
import re
import subprocess
import sys
import tempfile

import hosts
import stops

ROOT = hosts.run_nic.ROOT


def compile_it():
    with open(f"{ROOT}/README.md", encoding="utf-8") as f:
        command = re.search(r"^    (cc .*polite.*)$", f.read(), re.M)[1]
    subprocess.run([*command.split(), "-Wall", "-Wextra", "-Werror"],
                   cwd=ROOT, check=True)


def beside_a_hoarder(rig):
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--answer",
                    "ignore")
    hog.expect("holds 1024 entries")
    polite = rig.start("polite", "polite", rig.socket(0))
    hog.expect("lost 32 entries")
    polite.expect("holds 16 entries")
    polite.end()
    polite.expect("wrote")
    hog.end()


def asked_back(rig):
    polite = rig.start("polite", "polite", rig.socket(0), "900")
    polite.expect("holds 900 entries")
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0))
    polite.expect("asked for 900 entries")
    # 512, if the hog asks for them in time: it does not wait, and its place is
    # kept for a short time only
    hog.expect(r"holds \d+ entries")
    hog.end()
    polite.expect("holds 900 entries")
    polite.end()
    polite.expect("wrote")


def by_unic_run(folder):
    with open(f"{ROOT}/examples/README.md", encoding="utf-8") as f:
        command = re.search(r"^    (build/bin/unic-run .*polite.*)$", f.read(), re.M)[1]
    env = {k: v for k, v in os.environ.items() if k != "UNIC_SOCKET"}
    polite = subprocess.Popen(["sh", "-c", "exec " + command], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                              env={**env, "XDG_RUNTIME_DIR": folder})
    try:
        if "holds 16 entries" not in (said := polite.stdout.readline()):
            raise hosts.Failure(f"{command}: said {said!r}")
    finally:
        polite.terminate()
        said, _ = polite.communicate(timeout=hosts.PATIENCE_S)
    if polite.returncode or not re.search(r"^wrote \d+ times$", said, re.M):
        raise hosts.Failure(f"{command}: {polite.returncode}: {said!r}")


def run():
    with tempfile.TemporaryDirectory(prefix="unic-example-") as tmp:
        rig = hosts.Hosts("soft", None, tmp)
        try:
            rig.start_wire("--direct")
            rig.start_nic(0, show=False)
            rig.start_driver(0)
            rig.wait_nic(0)
            beside_a_hoarder(rig)
            asked_back(rig)
            by_unic_run(tmp)
        finally:
            rig.end()


def main():
    compile_it()
    failed = 0
    try:
        stops.step(run)
    except hosts.Failure as e:
        failed = 1
        print(f"FAILED: {e}")
    print(f"{1 - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
