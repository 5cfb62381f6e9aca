#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check.py [FOLDER] - is each command of ring.c answered at once, without a ring for each?"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

RUNS = 2
CHANCE = 2  # the NIC was stopped between its last look and its sleep


def check(it):
    source = it.answer("ring.c")
    program = it.compile("ring", source, more=("-Wno-unused-function",))
    it.rig.nic_options = ("--spin", "2000")  # a NIC that is awake is so for a while
    it.rig.start_wire("--direct")
    it.rig.start_nic(0, show=False)
    for _ in range(RUNS):
        run = it.start(program, it.rig.path("bus0"))
        run.finish(lab.hosts.PATIENCE_S)
        commands, rings, lost = map(int, re.fullmatch(
            r"(\d+) commands, (\d+) rings, (\d+) lost", run.last()).groups())
        lab.need(lost <= CHANCE, f"{commands} commands were answered, no doorbell was lost",
                 f"{lost} doorbells were lost: a command was there, and the NIC slept")
        lab.need(rings < commands, f"{rings} of them were rung for",
                 "it rings for each command, also if the NIC is awake")
    with open(source, encoding="utf-8") as f:
        body = re.search(r"^static void submit\(.*?^}", f.read(), re.M | re.S)
    lab.need(body and "__ATOMIC_SEQ_CST" in body[0],
             "there is a full fence in submit()",
             "no full fence in submit(): it went well on this machine, today")


lab.main(__file__, check)
