#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check.py [FOLDER] - does hoard.c let others in before their grace is over?"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

GRACE_MS = 500
NEIGHBOURS, PAGES = 2, 128


def check(it):
    hoard = it.compile("hoard", it.answer("hoard.c"))
    polite = it.compile("polite", f"{lab.ROOT}/examples/polite.c")
    socket = it.start_host("--grace-us", str(GRACE_MS * 1000))
    hoard = it.start(hoard, socket)
    hoard.expect("holds")
    for n in range(NEIGHBOURS):
        said = it.start(polite, socket, str(PAGES)).expect("holds")
        ms = float(re.search(r"after ([\d.]+) ms", said)[1])
        lab.need(ms < GRACE_MS / 2,
                 f"neighbour {n + 1} got {PAGES} entries after {ms:.1f} ms",
                 f"neighbour {n + 1} waited for {ms:.1f} ms, of a grace of {GRACE_MS} ms")
    seen = len(hoard.lines)
    for _ in range(2):  # the first one may have begun before
        hoard.expect("used each of them")
        while len(hoard.lines) <= seen:
            hoard.expect("used each of them")
        seen = len(hoard.lines)
    lab.good("hoard goes on to use each of its buffers")
    lost = int(re.fullmatch(r"\d+ rounds, lost (\d+)", lab.stopped(hoard))[1])
    lab.need(not lost, "nothing was taken from it by force",
             f"{lost} of its buffers were taken by force")


lab.main(__file__, check)
