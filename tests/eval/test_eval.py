#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The goals of the evaluation are judged: what is broken on purpose is missed,
and the same experiments give the same bytes. With --left: the small evaluation that
`eval.py --quick` has left in build/eval-quick is as hard as the whole one."""
import contextlib
import csv
import io
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import goals  # noqa: E402
import plot  # noqa: E402

results = []


def check(what, ok, why=""):
    results.append(ok)
    print(f"  {'ok' if ok else 'FAILED'}: {what}{'' if ok else ': ' + why}")


def evaluate(out, *options):
    p = subprocess.run([os.path.join(HERE, "eval.py"), "--quick", "--out", out,
                        *options], capture_output=True, text=True, timeout=120)
    return p.returncode, p.stdout + p.stderr


def planted(folder, only, plant, missed):
    code, said = evaluate(folder, "--only", only, "--plant", plant)
    check(f"{plant}: {missed} is missed",
          code == 1 and f"MISSED {missed}:" in said, said)


def read(folder):
    return {name: open(os.path.join(folder, name), "rb").read()
            for name in sorted(os.listdir(folder))}


def goals_of(folder):
    with open(os.path.join(ROOT, folder, "goals.csv"), encoding="utf-8") as f:
        return {row["goal"]: row for row in csv.DictReader(f)}


def quick_is_as_hard():
    """The small evaluation judges each goal of the whole one, and finds missed
    what that finds missed."""
    small, whole = goals_of("build/eval-quick"), goals_of("docs/evidence/eval")
    check("a small evaluation has all goals", set(small) == set(whole),
          str(set(small) ^ set(whole)))
    unlike = [g for g in set(small) & set(whole)
              if small[g]["met"] != whole[g]["met"]]
    check("it finds what the whole one finds", not unlike, str(unlike))


def known_is_no_pass():
    """A goal is met, or missed as known.json says; the latter is no test that
    passed, and one that is met in spite of it is wrong there."""
    def judged(*rows):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = goals.tell([{"goal": "g", "found": 1, "met": met,
                                "known": known} for met, known in rows])
        return code, said.getvalue()

    code, said = judged(("yes", ""), ("no", "why"), ("yes", ""))
    check("a goal known to be missed has not passed", code == 0 and
          said.endswith("skipped: 1 goals that are known to be missed\n"
                        "2 passed, 0 failed\n"), said)
    code, said = judged(("no", ""), ("yes", "why"), ("yes", ""))
    check("what is missed, or met as nobody knew, has failed",
          code == 1 and said.endswith("\n1 passed, 2 failed\n"), said)


def plots_are_seen():
    """Without colour curves differ in dashes and marks; one that lies on those before it is thinner, so
    they are seen around it; the finding is the title."""
    looks = [plot.look(i, 10) for i in range(12)]  # no plot has more
    ways = {(str(x["linestyle"]), x["marker"]) for x in looks}
    widths = [x["linewidth"] for x in looks]
    check("no two curves look alike in black and white", len(ways) == len(looks), str(ways))
    check("each curve is as thin as the one below it, or thinner", widths == sorted(widths, reverse=True) and
          len(set(widths[:6])) == 6, str(widths))
    same = [(x, 0) for x in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/plot.svg"
        plot.lines(path, "Both stay at 0", "a test", "x", "y", [("one", same), ("other", same)], low=0)
        with open(path, encoding="utf-8") as f:
            said = f.read()
    check("the finding is in the picture", ">Both stay at 0<" in said, said[:200])


def judge():
    known_is_no_pass()
    plots_are_seen()
    for name, points in (("flat", [(64, 20), (4096, 21), (32768, 20)]),
                         ("flat", [(2, 300), (32, 310), (1024, 200)]),
                         ("logarithmic", [(64, 200), (256, 300), (1024, 400)]),
                         ("logarithmic", [(2**i, 200 + 45 * i + 40 * (i > 5))
                                          for i in range(11)]),
                         ("linear", [(1, 20), (2, 40), (4, 80), (8, 160)]),
                         ("linear", [(2**i, 900 + 2**i)
                                     for i in range(11)])):
        found = goals.growth(points)
        check(f"{points} is {name}", found == name, found)
    with tempfile.TemporaryDirectory() as one, \
            tempfile.TemporaryDirectory() as two:
        planted(one, "hoard", "no-revocation", "hoard-share")
        planted(one, "wait", "no-revocation", "wait-count")
        planted(one, "grace", "no-manager", "grace-managed")
        planted(one, "message", "one-buffer", "message-buffers")
        planted(one, "scale", "linear", "scale-lookup-entries")
        planted(one, "residency", "no-table", "residency-table")
        planted(one, "lists", "no-list", "list-exact")
        planted(one, "pain", "no-pain", "pain-choice")
        planted(one, "pain", "no-pain", "pain-reaper")
        planted(one, "kio", "no-kernel", "kio-entries")
        planted(one, "fair", "heavy", "fair-link")
        for name in os.listdir(one):
            os.remove(os.path.join(one, name))
        for folder in (one, two):
            evaluate(folder, "--only", "alone,wait,message")
        check("two runs give the same bytes", read(one) == read(two) and
              len(read(one)) == 5, str(list(read(one))))


def main(argv):
    if argv == ["--left"]:
        quick_is_as_hard()
    else:
        judge()
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
