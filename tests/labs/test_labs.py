#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Each starting point of docs/labs fails its check, for the reason that the lab is about,
and each solution passes it.

    test_labs.py [LAB...]
"""
import os
import re
import subprocess
import sys

LABS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                    "docs", "labs")
PATIENCE_S = 300
# What the check says of the starting point.
UNSOLVED = {
    "1-hoarding": r"neighbour 1 waited for \d+\.\d ms, of a grace of 500 ms",
    "2-grace": r"visit \d ended the program: copy \d+ was cut: .*evicted",
    "3-policy": r"ring and hot set: .* points more than lru are needed",
    "4-doorbell": r"\d+ doorbells were lost: a command was there, and the NIC slept",
    "5-token": r'replayed: the buffer says "pay 5000", and that is wrong',
    "6-board": r"chip_start\(\) is not written",
}


def check(lab, *folder):
    done = subprocess.run([os.path.join(LABS, lab, "check.py"), *folder], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=PATIENCE_S)
    return done.returncode, done.stdout


def unsolved(lab):
    code, said = check(lab)
    assert code == 1 and re.search(f"^FAILED +{UNSOLVED[lab]}", said, re.M), (code, said)
    assert said.endswith(f"{lab}: not solved\n"), said


def solved(lab):
    code, said = check(lab, "solution")
    assert code == 0 and said.endswith(f"{lab}: solved\n"), (code, said)


def main():
    labs = sorted(d for d in os.listdir(LABS) if os.path.exists(os.path.join(LABS, d, "check.py")))
    failed = ran = 0
    for lab in sys.argv[1:] or labs:
        for test in (unsolved, solved):
            ran += 1
            try:
                test(lab)
                print(f"ok      {lab} {test.__name__}", flush=True)
            except (AssertionError, KeyError, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f"FAILED  {lab} {test.__name__}: {type(e).__name__} {e}", flush=True)
    print(f"{ran - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
