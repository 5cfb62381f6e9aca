#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check.py [FOLDER] - do the tokens of receive.c stand three attacks?"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

ATTACKS = ("replayed", "overheard", "late")


def check(it):
    program = it.compile("attack", os.path.join(it.own, "attack.c"), it.answer("receive.c"),
                         more=("-I" + it.own,))
    attack = it.start(program, it.start_host())
    code = attack.child.wait(timeout=lab.hosts.PATIENCE_S)
    attack.reader.join()
    for name in ATTACKS:
        said = [line for line in attack.lines if line.startswith(name)]
        lab.need(said and "wrong" not in said[0], said[0] if said else name,
                 said[0] if said else attack.last())
    lab.need(not code, attack.last(), attack.last())


lab.main(__file__, check)
