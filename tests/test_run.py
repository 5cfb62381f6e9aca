#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tests/run.py count honestly? Each test runs it over small programs."""
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")
GOOD, BAD, NONE = ("printf '%s passed, %s failed\\n'" % n
                   for n in ((3, 0), (2, 1), (0, 0)))
SKIPS = "echo 'skipped: 2 tests: thing not installed'; " + GOOD
CMOCKA = "printf '[  PASSED  ] 4 test(s).\\n[  SKIPPED ] 1 test(s)'"


def run(*args, ci=""):
    """(exit code, (passed, failed, skipped), all that was said). A word of args
    that begins with '$' is a script of the shell."""
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for i, word in enumerate(args):
            if word.startswith("$"):
                path = os.path.join(folder, f"program{i}")
                with open(path, "w", encoding="ascii") as f:
                    f.write("#!/bin/sh\n" + word[1:] + "\n")
                os.chmod(path, 0o755)
                word = path
            words.append(word)
        r = subprocess.run([sys.executable, RUN, *words], text=True,
                           capture_output=True, timeout=60, check=False,
                           env=dict(os.environ, CI=ci))
    last = r.stdout.splitlines()[-1]
    found = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last)
    return r.returncode, tuple(map(int, found.groups())), r.stdout


def test_sum():
    assert run("--level", "a", "$" + GOOD, "$" + GOOD)[:2] == (0, (6, 0, 0))
    code, counts, said = run("--level", "a", "$" + GOOD, "$" + BAD)
    assert (code, counts) == (1, (5, 1, 0)), said
    assert "a: 5 passed, 1 failed in 0 s" in said


def test_nothing_ran():
    for script in (NONE, "exit 0", "echo ok"):
        code, counts, said = run("--level", "a", "$" + script)
        assert (code, counts) == (1, (0, 1, 0)), said
        assert "ran no test" in said
    assert run()[0] == 1


def test_make_counts_by_its_exit():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "Makefile")
        with open(path, "w", encoding="ascii") as f:
            f.write("good:\nbad:\n\t@exit 1\n")
        for target, counts in (("good", (1, 0, 0)), ("bad", (0, 1, 0))):
            assert run("--level", "a", f"make -s -f {path} {target}"
                       )[1] == counts


def test_death_behind_good_words():
    assert run("--level", "a", "$" + GOOD + "; exit 3")[:2] == (1, (3, 1, 0))
    assert run("--level", "a", "$" + GOOD + "; kill -9 $$"
               )[:2] == (1, (3, 1, 0))


def test_time_is_over():
    start = time.monotonic()
    code, counts, said = run("--level", "a", "--timeout", "0.3",
                             "$" + GOOD + "; sleep 30")
    assert (code, counts) == (1, (3, 1, 0)) and "not finished" in said
    assert time.monotonic() - start < 20  # the child is dead, too


def test_skips_are_counted():
    assert run("--level", "a", "$" + SKIPS)[:2] == (0, (3, 0, 2))
    assert run("--level", "a", "$" + CMOCKA, ci="true")[:2] == (0, (4, 0, 1))
    # the last lines of a program that only skipped are no failure
    assert run("--level", "a", "$echo 'skipped: 2 tests'; " + NONE
               )[:2] == (0, (0, 0, 2))


def test_on_ci_packages_are_there():
    code, counts, said = run("--level", "a", "$" + SKIPS, ci="true")
    assert (code, counts) == (1, (3, 2, 2)), said


def test_counted_apart():
    code, counts, said = run("--level", "a", "--apart", "seeds", "$" + GOOD,
                             "--level", "b", "$" + GOOD)
    assert (code, counts) == (0, (3, 0, 0)) and "apart: 3 seeds" in said
    # what fails there has failed all the same
    assert run("--level", "a", "--apart", "seeds", "$" + BAD,
               "--level", "b", "$" + GOOD)[:2] == (1, (3, 1, 0))


def test_failed_build_ends_the_run():
    code, counts, said = run("--level", "build", "--needed", "$" + BAD,
                             "--level", "rest", "$" + GOOD)
    assert (code, counts) == (1, (2, 1, 0)) and "== rest" not in said
    assert run("--level", "build", "--needed", "$" + GOOD,
               "--level", "rest", "$" + GOOD)[1] == (6, 0, 0)


def main():
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    failed = 0
    for test in tests:
        try:
            test()
        except AssertionError:
            failed += 1
            print(f"FAILED {test.__name__}: {traceback.format_exc()}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
