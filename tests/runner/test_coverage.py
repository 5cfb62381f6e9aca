#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does coverage.py object? A small program whose branches are counted, and ledgers in which
something is wrong."""
import os
import subprocess
import sys
import tempfile

import branches
import coverage
import functions
import ledger

SOURCE = """int odd(int x)
{
\tif (x < 0 || x > 9)
\t\treturn -1;
\tif (x & 1)
\t\treturn 1;
\tif (x & 1)
\t\treturn 2;
\treturn 0;
}

int main(void)
{
\treturn odd(4);
}
"""
TAKEN = branches.Name("a.c", "f", 1, 2, 1, "if (x)")
OPEN = TAKEN._replace(number=2)
GONE = TAKEN._replace(text="if (y)")
COUNT = {TAKEN: 3, OPEN: 0}


def counted(source):
    """{Name: times} of a program that is compiled and run."""
    with tempfile.TemporaryDirectory() as tree:
        with open(os.path.join(tree, "odd.c"), "w", encoding="ascii") as f:
            f.write(source)
        subprocess.run(["gcc", "-O0", "--coverage", os.path.join(tree, "odd.c"), "-o", "odd"],
                       check=True, cwd=tree)
        subprocess.run(["./odd"], check=True, cwd=tree)
        before, branches.ROOT = branches.ROOT, tree
        try:
            return branches.named(branches.gather([tree], lambda name: name == "odd.c"))
        finally:
            branches.ROOT = before


def judged(why=(), owed=()):
    return ledger.judge(COUNT, dict(why), list(owed))


def expect(words, faults):
    assert any(words in fault for fault in faults), faults


def test_name_is_said_and_heard():
    for name in (TAKEN, TAKEN._replace(nth=3), TAKEN._replace(text="a 1/2 b :: #")):
        assert branches.heard(branches.said(name)) == name


def test_branches_have_names():
    found = counted(SOURCE)
    assert len(found) == 8
    line = branches.Name("odd.c", "odd", 1, 4, 1, "if (x < 0 || x > 9)")
    taken = [found[line._replace(number=n)] for n in (1, 2, 3, 4)]
    assert sorted(taken) == [0, 0, 1, 1]
    twice = {n.nth for n in found if n.text == "if (x & 1)"}
    assert twice == {1, 2}


def test_moved_lines_keep_their_names():
    assert counted("\n\n/* moved */\n" + SOURCE) == counted(SOURCE)


def test_counters_of_two_runs_add_up():
    assert set(counted(SOURCE.replace("odd(4)", "odd(4) + odd(6)")).values()) >= {0, 2}


def test_branch_without_a_reason():
    expect("no reason: a.c f 2/2 if (x)", judged().faults)
    assert not judged({OPEN: "why"}.items()).faults
    assert not judged(owed=[OPEN]).faults


def test_reason_of_a_branch_that_is_taken():
    expect("is taken", judged({OPEN: "why", TAKEN: "why"}.items()).faults)


def test_reason_of_a_branch_that_is_no_more():
    expect("is no more", judged({OPEN: "why", GONE: "why"}.items()).faults)


def test_debt_that_is_paid():
    expect("is owed, but is taken", judged(owed=[OPEN, TAKEN]).faults)


def test_debt_of_a_branch_that_is_no_more():
    expect("is owed, but is no more", judged(owed=[OPEN, GONE]).faults)


def test_reason_and_debt():
    expect("has a reason, and is owed", judged({OPEN: "why"}.items(), [OPEN]).faults)


def test_settling_makes_room_and_no_more():
    verdict = judged(owed=[GONE])
    assert ledger.settled([GONE], verdict) == [OPEN]
    assert ledger.settled([], judged()) is None
    assert ledger.settled([TAKEN, OPEN], judged(owed=[TAKEN, OPEN])) == [OPEN]


def test_lines_that_name_no_branch():
    for line in ("a.c f: all of it", "a.c * : because", "a.c f 1/2 if (x)"):
        faults = []
        ledger.reasons([line], faults)
        assert faults, line
    faults = []
    ledger.debt(["a.c *", branches.said(OPEN), branches.said(OPEN)], faults)
    assert len(faults) == 2


def test_star_is_no_wildcard():
    faults = []
    why = ledger.reasons(["a.c * 2/2 if (x) :: because"], faults)
    expect("no reason", judged(why.items()).faults)
    expect("is no more", judged(why.items()).faults)


def commit(tree, lines):
    with open(os.path.join(tree, ledger.DEBT), "w", encoding="ascii") as f:
        f.write("\n".join(lines))
    for args in (("add", "."), ("-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a")):
        subprocess.run(["git", "-C", tree, *args], check=True)


def test_debt_grows():
    before = ledger.ROOT
    with tempfile.TemporaryDirectory() as tree:
        ledger.ROOT = tree
        try:
            subprocess.run(["git", "init", "-q", tree], check=True)
            os.makedirs(os.path.join(tree, os.path.dirname(ledger.DEBT)))
            commit(tree, ["a", "b"])
            assert not ledger.growth(["a", "b"])
            assert not ledger.growth(["a"])
            expect("3 branches now, 2 in the last commit", ledger.growth(["a", "b", "c"]))
            commit(tree, ["a", "b", "c"])
            expect("3 branches in the last commit, 2 before", ledger.growth(["a", "b", "c"]))
        finally:
            ledger.ROOT = before


def test_too_few():
    expect("50.0 %", coverage.too_few(coverage.by_file(COUNT), 92.0))
    assert not coverage.too_few(coverage.by_file(COUNT), 50.0)


def test_too_few_of_a_file():
    expect("a.c: 50.0 %", coverage.of_files(COUNT, {}))
    assert not coverage.of_files(COUNT, {OPEN: "why"})


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
