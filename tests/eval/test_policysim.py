#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unic-policysim from outside: formats, answers, refusals, goals P7 and P8."""
import json
import os
import struct
import subprocess
import tempfile

import recorded
import traces

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SIM = os.path.join(ROOT, "build", "bin", "unic-policysim")
POLICIES = ["default", "random", "lru", "s3fifo", "app", "lfu", "belady"]


def run(*args, stdin=None):
    return subprocess.run([SIM, *args], input=stdin, capture_output=True)


def results(folder, path, fmt, *args):
    out = os.path.join(folder, "out.json")
    p = run("--format", fmt, "--json", out, *args, path)
    assert p.returncode == 0, p.stderr
    with open(out) as f:
        rows = json.load(f)
    return p.stdout.decode(), {(r["policy"], r["entries"]): r for r in rows}


def same_in_each_format(folder):
    keys = [i % 90 if i % 3 else i for i in range(6000)]
    ids, csv, oracle = (os.path.join(folder, n) for n in "ico")
    with open(ids, "w") as f:
        f.writelines(f"{k}\n" for k in keys)
    with open(csv, "w") as f:
        f.write("time,key,size\n")
        f.writelines(f"{i},{k},1\n" for i, k in enumerate(keys))
    with open(oracle, "wb") as f:
        f.writelines(struct.pack("<IQIq", i, k, 1, -1)
                     for i, k in enumerate(keys))
    answers = [results(folder, path, fmt, "--entries", "16,64")[1]
               for path, fmt in ((ids, "ids"), (csv, "csv"),
                                 (oracle, "oracle"))]
    assert answers[0] == answers[1] == answers[2]
    assert set(answers[0]) == {(p, n) for p in POLICIES for n in (16, 64)}
    for row in answers[0].values():
        assert 0 <= row["hit_ratio"] <= 1
        assert row["byte_hit_ratio"] == row["hit_ratio"]
    text, one = results(folder, ids, "ids", "--policy", "lru")
    assert set(one) == {("lru", n) for n in (64, 256, 1024, 4096)}
    assert "miss ratio" in text and "byte miss ratio" in text
    again = results(folder, ids, "ids", "--entries", "16,64")[1]
    assert again == answers[0]
    with open(ids, "rb") as f:
        p = run("--format", "ids", "-", stdin=f.read())
    assert p.returncode == 0 and b"6000 references" in p.stdout


def refusals(folder):
    path = os.path.join(folder, "bad")
    with open(path, "w") as f:
        f.write("1\n2\nthree\n")
    for args, says in ((["--format", "ids", path], b"line or record 3"),
                       (["--format", "ids", path + "x"], b"No such file"),
                       (["--format", "xml", path], b"no format"),
                       ([path], b"--format is needed"),
                       (["--format", "ids"], b"which trace"),
                       (["--format", "ids", "-e", "0", path], b"sizes"),
                       (["--format", "ids", "-e", "64,", path], b"number"),
                       (["--format", "ids", "-e", "70000", path], b"number"),
                       (["--format", "ids", "-p", "mru", path], b"no policy"),
                       (["--format", "ids", "-r", "3", path], b"1, 2, 4"),
                       (["--format", "ids", "-g", "0", path], b"page size")):
        p = run(*args)
        assert p.returncode != 0 and says in p.stderr, (args, p.stderr)
    with open(path, "w") as f:
        f.write("1\n2\n")
    p = run("--format", "ids", "--json", "/nowhere/x", path)
    assert p.returncode == os.EX_IOERR and b"--json /nowhere/x: No such file" in p.stderr


def goals(folder):
    """Patterns and sizes where a goal has a number; seeds as they come."""
    path = os.path.join(folder, "goal")

    def rows(pattern, fmt_args, seed="test"):
        with open(path, "w") as f:
            f.writelines(traces.trace(pattern, seed))
        return results(folder, path, "csv", *fmt_args)[1]

    for pattern, size, most in (("ring of 1500", 1024, 5),
                                ("ring of 400", 64, 2),
                                ("four rings", 1024, 5),
                                ("zipf 1.0", 256, 10),
                                ("ring and hot set", 1024, 10)):
        r = rows(pattern, ("-e", str(size)))
        behind = 100 * (r["belady", size]["hit_ratio"]
                        - r["default", size]["hit_ratio"])
        assert behind <= most, (pattern, size, behind)
    r = rows("hints, ring of 1500, table of 1024", ("-e", "1024"))
    assert r["belady", 1024]["hit_ratio"] - r["app", 1024]["hit_ratio"] <= .02
    args = ("-e", "256,1024", "-p", "default")
    beside = rows("hoarder", args)
    alone = rows("hoarder", args + ("--without", "0"))
    for size in (256, 1024):
        kept = [sum(r["default", size]["process_hit_ratios"][1:])
                for r in (beside, alone)]
        assert kept[0] >= 0.98 * kept[1], (size, kept)


def real_runs(folder):
    """Each trace of tests/eval/traces says where it is from, and is whole."""
    runs = recorded.index()
    files = {f.removesuffix(".csv.gz") for f in os.listdir(recorded.TRACES)} - {"index.json"}
    assert files == set(runs) and len(runs) >= 3, (files, set(runs))
    for name, how in runs.items():
        assert how["commands"] and how["version"], (name, how)
        text, _ = results(folder, recorded.unpack(name, folder), "csv", "-e", "64")
        assert text.startswith(f"{how['references']} references"), (name, text[:40])


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (same_in_each_format, refusals, real_runs, goals):
            test(folder)
            print(f"  {test.__name__}: ok")


if __name__ == "__main__":
    main()
