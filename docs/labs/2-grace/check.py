#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check.py [FOLDER] - does move.c live with a grace shorter than a copy?"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

GRACE_US = 1000
VISITS, PAGES, STAY_S = 5, 500, 0.05


def check(it):
    move = it.compile("move", it.answer("move.c"))
    polite = it.compile("polite", f"{lab.ROOT}/examples/polite.c")
    socket = it.start_host("--grace-us", str(GRACE_US))
    move = it.start(move, socket)
    move.expect("moves")
    for n in range(VISITS):
        visitor = it.start(polite, socket, str(PAGES))
        visitor.expect("holds")
        time.sleep(STAY_S)
        lab.stopped(visitor)
        lab.need(move.child.poll() is None,
                 f"visit {n + 1}: a visitor had {PAGES} entries for a while",
                 f"visit {n + 1} ended the program: {move.last()}")
        time.sleep(STAY_S)
    copies = int(re.fullmatch(r"(\d+) copies", lab.stopped(move))[1])
    lab.need(copies >= VISITS, f"all of {copies} copies are right",
             f"{copies} copies are too few")


lab.main(__file__, check)
