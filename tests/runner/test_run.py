#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does run.py count honestly? Each test runs it over small programs."""
import os
import re
import subprocess
import sys
import tempfile
import time

import boards
import functions
import levels

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")
GOOD, BAD, NONE = ("printf '%s passed, %s failed\\n'" % n
                   for n in ((3, 0), (2, 1), (0, 0)))
SKIPS = "echo 'skipped: 2 tests: thing not installed'; " + GOOD
CMOCKA = "printf '[  PASSED  ] 4 test(s).\\n[  SKIPPED ] 1 test(s)\\n'"
CMOCKA_BAD = "printf '[  PASSED  ] 2 test(s).\\n[  FAILED  ] 3 test(s)\\n'"


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


def run(*args, ci=""):
    """(exit code, (passed, failed, skipped), all that was said). A word of args
    that begins with '$' is a script of the shell."""
    with tempfile.TemporaryDirectory() as folder:
        words = [script(folder, f"program{i}", "#!/bin/sh\n" + word[1:] + "\n")
                 if word.startswith("$") else word
                 for i, word in enumerate(args)]
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


def test_repeats_are_in_the_sum():
    """What ran again is counted, whatever came of it."""
    again = "echo 'repeated: 2 steps'; " + GOOD
    with tempfile.TemporaryDirectory() as folder:
        paths = [script(folder, f"p{i}", "#!/bin/sh\n" + text + "\n")
                 for i, text in enumerate((again, GOOD, again))]
        r = subprocess.run([sys.executable, RUN, "--level", "a", *paths], text=True,
                           capture_output=True, timeout=60, check=False)
    assert r.stdout.splitlines()[-1] == \
        "9 passed, 0 failed, 0 skipped, 4 repeated", r.stdout
    assert r.stdout.count("repeated: 2 steps") == 2, r.stdout


def test_last_sum_counts():
    assert run("--level", "a", "$" + BAD + "; " + GOOD)[1] == (3, 0, 0)
    assert run("--level", "a", "$" + GOOD + "; " + BAD)[1] == (2, 1, 0)
    # a line of its own, with what was skipped or without
    assert run("--level", "a", "$echo '7 passed, 0 failed, 2 skipped'"
               )[1] == (7, 0, 0)
    assert run("--level", "a", "$" + GOOD + "; echo 'a: 9 passed, 0 failed'; "
               "echo '9 passed, 0 failed in 3 s'")[1] == (3, 0, 0)


def test_cmocka():
    code, counts, said = run("--level", "a", "$" + CMOCKA_BAD)
    assert (code, counts) == (1, (2, 3, 0)), said
    groups = "$" + "; ".join((CMOCKA, CMOCKA_BAD, CMOCKA))
    assert run("--level", "a", groups)[1] == (10, 3, 2)
    assert run("--level", "a", "$" + CMOCKA + "; kill -11 $$")[1] == (4, 1, 1)


def test_nothing_ran():
    for text, why in ((NONE, "ran no test"), ("exit 0", "not say how"),
                      ("echo make ok", "not say how")):
        code, counts, said = run("--level", "a", "$" + text)
        assert (code, counts) == (1, (0, 1, 0)), said
        assert why in said
    # to say what was skipped is not to say how the rest went
    assert run("--level", "a", "$echo 'skipped: 2 tests'"
               )[:2] == (1, (0, 1, 2))
    assert run()[0] == 1


def test_level_without_a_command():
    for levels in (("--level", "a", "--level", "b", "$" + GOOD),
                   ("--level", "b", "$" + GOOD, "--level", "a", "--jobs", "2")):
        r = subprocess.run([sys.executable, RUN, *levels], text=True,
                           capture_output=True, timeout=60, check=False)
        assert r.returncode == 1 and "level a" in r.stderr, r.stderr


def test_make_counts_by_its_exit():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "Makefile")
        with open(path, "w", encoding="ascii") as f:
            f.write("good:\nbad:\n\t@exit 1\n")
        for target, counts in (("good", (1, 0, 0)), ("bad", (0, 1, 0))):
            assert run("--level", "a", f"make -s -f {path} {target}"
                       )[1] == counts
        # no other program may leave it at that
        silent = script(folder, "remake", "#!/bin/sh\n")
        assert run("--level", "a", silent + " make")[1] == (0, 1, 0)


def test_by_exit():
    """For programs that people read."""
    code, counts, said = run("--level", "a", "--by-exit", "$echo fine", "$exit 1",
                             "--level", "b", "$" + GOOD)
    assert (code, counts) == (1, (4, 1, 0)), said
    assert run("--level", "a", "--by-exit", "$" + BAD)[1] == (1, 0, 0)


def test_levels_side_by_side():
    """A level that may begins before the one before it has ended; counts and
    words are in order all the same. One that may not waits."""
    first, second = "$sleep 2; " + GOOD, "$" + BAD
    begun = time.monotonic()
    code, counts, said = run("--level", "a", "--jobs", "2", first,
                             "--level", "b", "--beside", second, first)
    assert time.monotonic() - begun < 3.9, said
    assert (code, counts) == (1, (8, 1, 0)), said
    assert said.index("a: 3 passed") < said.index("b: 5 passed"), said
    assert said.count("in 2 s") == 2, said
    begun = time.monotonic()
    run("--level", "a", "--jobs", "2", first, "--level", "b", first)
    assert time.monotonic() - begun >= 4
    begun = time.monotonic()  # one at a time, as the first one says
    run("--level", "a", first, "--level", "b", "--jobs", "2", "--beside", first)
    assert time.monotonic() - begun >= 4
    said = run("--level", "a", "--needed", "$" + BAD,
               "--level", "b", "--beside", "$" + GOOD)[2]
    assert "nothing after it was run" in said and "== b" not in said, said


def test_death_behind_good_words():
    assert run("--level", "a", "$" + GOOD + "; exit 3")[:2] == (1, (3, 1, 0))
    assert run("--level", "a", "$" + GOOD + "; kill -9 $$"
               )[:2] == (1, (3, 1, 0))


def test_time_is_over():
    start = time.monotonic()
    code, counts, said = run("--level", "a", "--timeout", "0.3",
                             "$" + GOOD + "; sleep 30")
    assert (code, counts) == (1, (3, 1, 0)) and "not finished" in said
    assert time.monotonic() - start < 5  # LAST_WORDS_S: the child is dead, too
    # one that left its session keeps nobody waiting
    code, counts, said = run("--level", "a", "--timeout", "0.3",
                             "$" + GOOD + "; setsid sleep 30")
    assert (code, counts) == (1, (3, 1, 0)) and "not finished" in said
    assert time.monotonic() - start < 25


def test_skips_are_counted():
    assert run("--level", "a", "$" + SKIPS)[:2] == (0, (3, 0, 2))
    assert run("--level", "a", "$" + CMOCKA, ci="true")[:2] == (0, (4, 0, 1))
    # the last lines of a program that only skipped are no failure
    assert run("--level", "a", "$echo 'skipped: 2 tests'; " + NONE
               )[:2] == (0, (0, 0, 2))
    twice = "$echo 'skipped: 1 a'; " + GOOD + "; echo 'skipped: 2 b'"
    assert run("--level", "a", twice)[1] == (3, 0, 3)


def test_on_ci_packages_are_there():
    code, counts, said = run("--level", "a", "$" + SKIPS, ci="true")
    assert (code, counts) == (1, (3, 2, 2)), said
    # beside what failed; what no package prevents may be skipped
    assert run("--level", "a", "$" + SKIPS + "; " + BAD, ci="true"
               )[1] == (2, 3, 2)
    assert run("--level", "a", "$echo 'skipped: 1 disk: no room for installed "
               "files'; " + GOOD, ci="true")[1] == (3, 0, 1)


def test_who_failed_is_said_at_the_end():
    said = run("--level", "a", "$" + GOOD, "$echo 'FAIL one: why'; seq 50; " +
               BAD)[2]
    assert "\nFAILED program3\n  FAIL one: why\n" in said, said


def test_how_commands_are_run():
    with tempfile.TemporaryDirectory() as folder:
        py = script(folder, "a.py", "import sys\nprint(len(sys.argv), "
                    "'passed, 0 failed', file=sys.stderr)\n")
        os.chmod(py, 0o644)
        machine = script(folder, "machine", "#!/bin/sh\n[ $1 = -kernel ] && "
                         "[ $2 = a.elf ] && " + GOOD + "\n")
        code, counts, said = run("--qemu", machine + " -kernel", "--level", "a",
                                 py + " b 'c d'", "a.elf")
    assert (code, counts) == (0, (6, 0, 0)), said
    code, counts, said = run("--level", "a", "/nowhere/program")
    assert (code, counts) == (1, (0, 1, 0)) and "cannot start" in said
    # a make that runs this is not the one that is run
    os.environ["MAKEFLAGS"] = "n"
    try:
        text = "[ -z \"$MAKEFLAGS\" ] && " + GOOD
        assert run("--level", "a", "$" + text)[:2] == (0, (3, 0, 0))
    finally:
        del os.environ["MAKEFLAGS"]


def test_name_is_said_when_all_is_well():
    assert "\nall: ok\n" in run("--name", "all", "--level", "a", "$" + GOOD)[2]
    assert "all: ok" not in run("--name", "all", "--level", "a", "$" + BAD)[2]


def test_options_are_of_their_level():
    code, counts, said = run("--level", "a", "--timeout", "0.3", "$" + GOOD,
                             "--level", "b", "--timeout", "30", "--apart",
                             "seeds", "$sleep 1; " + GOOD)
    assert (code, counts) == (0, (3, 0, 0)) and "apart: 3 seeds" in said
    assert run("--level", "a", "$sleep 1; " + GOOD, "--level", "b", "--timeout",
               "0.3", "$" + GOOD + "; sleep 9")[:2] == (1, (6, 1, 0))


def test_counted_apart():
    code, counts, said = run("--level", "a", "--apart", "seeds", "$" + GOOD,
                             "--level", "b", "$" + GOOD)
    assert (code, counts) == (0, (3, 0, 0)) and "apart: 3 seeds" in said
    said = run("--level", "a", "--apart", "seeds", "$" + GOOD,
               "--level", "b", "--apart", "cells", "$" + GOOD,
               "--level", "c", "--apart", "seeds", "$" + GOOD)[2]
    assert "apart: 6 seeds, 3 cells" in said
    # what fails there has failed all the same
    assert run("--level", "a", "--apart", "seeds", "$" + BAD,
               "--level", "b", "$" + GOOD)[:2] == (1, (3, 1, 0))


def test_table_of_boards():
    """boards.py runs its programs by run.py."""
    with tempfile.TemporaryDirectory() as folder:
        path = script(folder, "program", "#!/bin/sh\necho 'same: bytes'\n" +
                      CMOCKA + "; " + CMOCKA_BAD + "\n")
        row = boards.run("soft", "unit", "program", path, "")
    found = [row[k] for k in ("result", "passed", "failed", "same", "skipped")]
    assert found == ["failed", 6, 3, "same: bytes",
                     [(1, "tests, by themselves")]], row
    assert "FAILED" in row["why"]


def test_table_of_levels():
    """Each word of a list is a command; a list that became empty is none."""
    lists = {"UNIT_PROGS": ["a", "b"], "TARGET_ELF": [], "UNIT_VIRT": ["v"],
             "FUZZERS": ["mbox", "nothing"], "FUZZ_LARGE": ["x"]}
    found = levels.words(["unit"], lists)
    assert found[2:] == ["--level", "unit host", "--jobs", "2", "--beside",
                         "a", "b"], found
    assert found[0] == "--qemu" and found[1].endswith("-kernel")
    assert levels.words(["corpora"], lists)[-2:] == [
        "build/unit/bin/fuzz_nothing tests/fuzz/corpus/nothing",
        "build/large/bin/fuzz_x tests/fuzz/corpus/x"]
    assert levels.words(["unit-target"], lists)[-3:] == [
        "--jobs", "2", "--beside"]
    assert set(levels.CHECK) | {
        "stags", "vm-debug", "conformance-soft-long",
        "conformance-virt-long"} == set(levels.GROUPS)
    assert set(levels.STEADY) < set(levels.CHECK)


def test_failed_build_ends_the_run():
    code, counts, said = run("--level", "build", "--needed", "$" + GOOD,
                             "$" + BAD, "--level", "rest", "$" + GOOD)
    assert (code, counts) == (1, (5, 1, 0)) and "== rest" not in said
    assert run("--level", "build", "--needed", "$" + GOOD,
               "--level", "rest", "$" + GOOD)[1] == (6, 0, 0)


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
