#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tools/figures write into the documents what the files say, and object to what they
do not?"""
import contextlib
import json
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import figures    # noqa: E402
import functions  # noqa: E402
import record     # noqa: E402

COUNTS = {"hit": {"budget": 20, "recorded": 1016, "recorded_m3": 13}, "version": "0123456789ab"}
LONG = {"sim-1": {"version": "ba9876543210", "result": "10000 passed, 0 failed"}}


@contextlib.contextmanager
def tree(**files):
    """A tree with these files; their names with __ for /."""
    kept = figures.ROOT, figures.EVIDENCE, record.FOLDER
    with tempfile.TemporaryDirectory() as folder:
        figures.ROOT, figures.EVIDENCE = folder, os.path.join(folder, "docs", "evidence")
        record.FOLDER = os.path.join(figures.EVIDENCE, "figures")
        files = {"tests__bench__insn_json": json.dumps(COUNTS),
                 "docs__evidence__long_json": json.dumps(LONG), **files}
        for name, text in files.items():
            path = os.path.join(folder, ".".join(name.replace("__", "/").rsplit("_", 1)))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        try:
            yield
        finally:
            figures.ROOT, figures.EVIDENCE, record.FOLDER = kept


def part(words, text=""):
    return f"<!-- made {words} -->{text}<!-- end -->"


def test_counts_are_written():
    with tree():
        assert figures.remade(f"| hit | {part('insn hit', '7')} |") == \
            f"| hit | {part('insn hit', '1,016')} |"
        assert figures.made("m3 hit") == "13" and figures.made("budget hit") == "20"
        assert figures.made("goal hit") == "missed"
        assert figures.made("version insn") == "0123456789ab"


def test_tables_and_values_have_their_version():
    with tree():
        record.table("bench", "whole", ["", "soft"], [["idle", 0.25]])
        record.values("coverage", "branches", percent="91.0")
        version = figures.made("version bench whole")
        assert len(version) == 12
        assert figures.made("table bench whole") == (
            f"\n\nVersion {version}.\n\n|  | soft |\n| --- | --- |\n| idle | 0.25 |\n\n")
        assert figures.made("value coverage branches percent") == "91.0"


def test_part_that_was_not_measured_keeps_its_version():
    with tree():
        record.table("bench", "whole", ["a"], [])
        known = record.known("bench")
        known["whole"]["version"] = "older"
        with open(record.path_of("bench"), "w", encoding="utf-8") as f:
            json.dump(known, f)
        record.table("bench", "serial", ["a"], [])
        assert figures.made("version bench whole") == "older"
        assert figures.made("version bench serial") != "older"


def test_what_no_file_has_is_not_measured():
    with tree():
        assert "`make bench`" in figures.made("table bench whole")
        assert figures.made("value coverage branches percent") == figures.NOT_YET
        assert figures.made("result sim-2") == figures.NOT_YET


def test_long_run_says_its_version():
    with tree():
        assert figures.made("result sim-1") == "10000 passed, 0 failed (version ba9876543210)"


def test_log_shows_its_parts():
    text = "make x\nversion 0123456789ab, today\n\nok      test_a (1 s)\nmore words\n8 passed, 0 failed\n"
    with tree(docs__evidence__x_txt=text):
        said = figures.made("log x")
        assert "`make x`, version 0123456789ab, today:" in said
        assert "ok      test_a (1 s)\n8 passed, 0 failed" in said and "more words" not in said


def test_stale_figure_is_a_fault():
    with tree(docs__RESULTS_md=f"Hit: {part('insn hit', '15')}, {part('m3 hit', '13')}.\n"):
        faults = list(figures.faults("docs/RESULTS.md"))
        assert len(faults) == 1 and "'insn hit'" in faults[0], faults


def test_typed_figure_is_a_fault():
    typed = ("It takes 8.8 us.", "91.5 % of them", "1,234 MB/s", "in 5 minutes", "65 passed",
             "58,504 of 65,536", "24 instructions")
    for line in typed:
        with tree(docs__RESULTS_md=f"# Results\n\n{line}\n"):
            faults = list(figures.faults("docs/RESULTS.md"))
            assert len(faults) == 1 and "docs/RESULTS.md:3:" in faults[0], (line, faults)


def test_sizes_goals_and_code_are_none():
    lines = ("WRITEs of 8 B, MTU 4096, seed 1", "`make x MINUTES=5 passed`", part("insn hit", "1,016"))
    text = "# Results\n\n## Goals\n\n98 %\n\n## More\n\n" + "\n".join(lines) + "\n"
    with tree(docs__RESULTS_md=text):
        assert not list(figures.faults("docs/RESULTS.md"))


def test_release_has_one_version():
    text = "".join(map(part, ("insn hit", "result sim-1", "table bench whole", "long", "mutants")))
    with tree(docs__RESULTS_md=text, docs__TESTING_md="", docs__STATUS_md="",
              docs__CONFORMANCE_md=""):
        found = list(figures.others("0123456789ab"))
        assert found == ["docs/RESULTS.md: 'result sim-1' is of ba9876543210",
                         "docs/RESULTS.md: 'table bench whole' is of not measured yet",
                         "docs/RESULTS.md: 'long' is of ba9876543210",
                         "docs/RESULTS.md: 'mutants' is of not measured yet"], found


def test_maker_that_is_not_there_is_told():
    try:
        figures.made("nothing x")
    except SystemExit as e:
        assert "nothing x" in str(e)
    else:
        assert False


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
