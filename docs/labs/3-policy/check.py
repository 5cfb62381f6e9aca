#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check.py [FOLDER] - does policy.c beat `lru`, in unic-policysim?

Beside the points by which it is ahead, each trace's distance to Belady's MIN is shown,
which knows the future."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

sys.path.insert(0, os.path.join(lab.ROOT, "tests", "eval"))
import traces  # noqa: E402

ENTRIES = 1024
REFERENCES = 60000
# Points of the hit ratio by which it must be ahead of `lru`.
AHEAD = {"ring and hot set": 10, "scan and hot set": 1, "zipf 1.0": 2}
PARTS = ("tests/eval/policysim tests/eval/refs tests/eval/replay firmware/arbiter/frequency "
         "firmware/arbiter/pain firmware/arbiter/reuse firmware/arbiter/policy_item "
         "firmware/arbiter/policy_sample firmware/arbiter/share firmware/arbiter/policy "
         "host_driver/daemon/number host_driver/daemon/output host_driver/daemon/version").split()


def simulator(it):
    """unic-policysim, in which the policy `s3fifo` is the student's."""
    objects = [f"{lab.ROOT}/build/host/{part}.o" for part in PARTS]
    if not all(map(os.path.exists, objects)):
        lab.broken("build the simulator first: make BOARD=soft")
    includes = [f"-I{lab.ROOT}/{d}" for d in ("firmware", "hal", "boards/soft")]
    theirs = os.path.join(it.tmp, "theirs.o")
    subprocess.run(["cc", *lab.FLAGS, "-fms-extensions", *includes, "-Dunic_chooser_fifo=unic_chooser_s3fifo",
                    "-c", f"{lab.ROOT}/firmware/arbiter/policy_fifo.c", "-o", theirs], check=True)
    return it.compile("policysim", it.answer("policy.c"),
                      more=(*includes, "-fms-extensions", "-Wno-unused-parameter", theirs, *objects,
                            "-ljson-c"))


def percent(it, program, trace, policy):
    out = os.path.join(it.tmp, "out.json")
    done = subprocess.run([program, "--format", "csv", "--entries", str(ENTRIES), "--policy", policy,
                           "--json", out, trace], check=False, capture_output=True, text=True,
                          timeout=lab.hosts.PATIENCE_S)
    if done.returncode:
        raise lab.Failure(f"the simulator ended with {done.returncode}: {done.stderr.strip()}")
    with open(out, encoding="utf-8") as f:
        return 100 * json.load(f)[0]["hit_ratio"]


def check(it):
    program = simulator(it)
    traces.REFS = REFERENCES
    for pattern, ahead in AHEAD.items():
        path = os.path.join(it.tmp, "trace")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(traces.trace(pattern, "lab"))
        lru, mine, best = (percent(it, program, path, p) for p in ("lru", "s3fifo", "belady"))
        said = f"{pattern}: {mine:.1f} % hits, lru {lru:.1f}, Belady {best:.1f}"
        lab.need(mine >= lru + ahead, said, said + f"; {ahead} points more than lru are needed")


lab.main(__file__, check)
