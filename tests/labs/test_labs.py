#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Each starting point of docs/labs fails its check, for the reason that the lab is about,
and each solution passes it. An answer that does something else is not solved, either.

    test_labs.py [LAB...]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

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
    assert f"{lab}: not solved" in said.splitlines(), said


def solved(lab):
    code, said = check(lab, "solution")
    assert code == 0 and f"{lab}: solved" in said.splitlines(), (code, said)


# Answers to none of the questions: the file, what is in it, what the check says, its exit code.
ASTRAY = {
    "1-hoarding": ("hoard.c", "int main(void) { return 0; }", "FAILED .*hoard", 1),
    "4-doorbell": ("ring.c", '#include <stdio.h>\nint main(void) { puts("done"); }',
                   'FAILED  the program said "done", where the check looks for', 1),
    "5-token": ("receive.c", "int offer;", "cannot check: .*receive.c.* does not compile", 2),
    "6-board": ("chip.c", "", "cannot check: the folder has to be below", 2),
}


def astray(lab):
    name, source, wanted, exit_code = ASTRAY[lab]
    with tempfile.TemporaryDirectory(prefix="unic-labs-") as folder:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(source)
        code, said = check(lab, folder)
        assert code == exit_code and re.search(wanted, said) and "Traceback" not in said, (code, said)
        code, said = check(lab, folder + "/nothing")
        assert code == 2 and f"no {name} in" in said, (code, said)


# Of the others' blocks, the board's builds an image; each of its commands is one of another test.
PASTED = {"1-hoarding": 0, "2-grace": 0, "3-policy": 0, "4-doorbell": 0, "5-token": 1}  # there the thief wins
SHELL = "build/bin/unic-run --net lab bash\n"


def pasted(lab):
    """What its page says to type, pasted as a block, ends as it should; behind `unic-run ... bash` in the shell that this is.
    `timeout` ends its command on purpose."""
    with open(os.path.join(LABS, lab, "README.md"), encoding="utf-8") as f:
        look = re.search(r"^## Look\n(.*?)^## ", f.read(), re.M | re.S)[1]
    block = "".join(line[4:] + " || [ $? = 124 ]" * line.startswith("    timeout") + "\n" for line in look.splitlines()
                    if line.startswith("    ") and "make BOARD=soft" not in line)
    with tempfile.TemporaryDirectory(prefix="unic-labs-") as folder:
        host = ["build/bin/unic-run", "--net", os.path.basename(folder)] * block.startswith(SHELL)
        script = "set -e\ntrap 'kill $(jobs -p) 2>&- || :' EXIT\n" + block.removeprefix(SHELL).replace("/tmp/", folder + "/")
        done = subprocess.run([*host, "timeout", "60", "bash", "-c", script], cwd=os.path.dirname(os.path.dirname(LABS)),
                              text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if host:
        shutil.rmtree(f"/tmp/unic-run-{os.getuid()}/nets/{host[-1]}")
    assert done.returncode == PASTED[lab], done.stdout


def main():
    labs = sorted(d for d in os.listdir(LABS) if os.path.exists(os.path.join(LABS, d, "check.py")))
    failed = ran = 0
    for lab in sys.argv[1:] or labs:
        for test in (unsolved, solved, *[astray] * (lab in ASTRAY), *[pasted] * (lab in PASTED)):
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
