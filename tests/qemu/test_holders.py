#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A region of host 0 is given to processes of host 1, and asked back: its grace
ends when all have said that they do not use it any more, and not before; after
the silence of one it ends by its deadline (tests/qemu/holders.c).

    test_holders.py [--board soft|virt]
"""
import argparse
import re
import sys
import tempfile

import hosts
import stops
import unicd_client as u

GRACE_US = 2_000_000
SLACK_US = 1_500_000  # for a busy machine; less than another T


class Scene:
    """Two hosts; an exporter on one and holders on the other."""

    def __init__(self, rig):
        self.rig, self.running = rig, []

    def start(self, *args):
        p = self.rig.start(args[0], "holders", *args, show=False)
        self.running.append(p)
        return p

    def export(self, n, *more):
        p = self.start("export", self.rig.socket(0), str(n), *more)
        p.expect("listens")
        return p

    def hold(self, *more):
        p = self.start("hold", self.rig.socket(1), hosts.IP[0], *more)
        return p, p.expect("qpn").split()[-1]

    def ask_back(self, exporter):
        """Returns (microseconds, ... after the deadline, reason)."""
        region = int(exporter.expect("region").split()[-1])
        with u.Client(self.rig.socket(0)) as admin:
            admin.obj(u.EVICT, region)
        m = re.match(r"evicted after (\d+) us, (-?\d+) us after .*: (.*)",
                     exporter.expect("evicted"))
        return int(m.group(1)), int(m.group(2)), m.group(3)

    def end(self):
        for p in self.running:
            p.end()


def all_answer(scene):
    exporter = scene.export(2)
    a, b = scene.hold()[0], scene.hold()[0]
    us, _, why = scene.ask_back(exporter)
    assert why == "all holders answered", why
    assert us < GRACE_US / 2, us
    for p in (a, b):
        p.expect("asked")
    return us


def one_is_silent(scene):
    exporter = scene.export(2)
    scene.hold()
    silent = scene.hold("silent")[0]
    us, late_us, why = scene.ask_back(exporter)
    silent.expect("asked")
    assert why == "administrator", why
    assert 0 <= late_us and us < GRACE_US + SLACK_US, (us, late_us)
    return us


def one_is_killed(scene):
    exporter = scene.export(2)
    scene.hold()
    dead = scene.hold("silent")[0]
    dead.child.kill()
    us, _, why = scene.ask_back(exporter)
    assert why == "all holders answered", why
    assert us < GRACE_US, us
    return us


def handed_on(scene, *how):
    """The exporter gave the region to the second holder, which gave it to the
    first."""
    exporter = scene.export(2, "last")
    first, qpn = scene.hold(*how)
    second = scene.hold("pass", hosts.IP[1], qpn)[0]
    second.expect("handed on")
    us, late_us, why = scene.ask_back(exporter)
    first.expect("asked")
    return us, late_us, why


def all_answer_of_a_delegation(scene):
    us, _, why = handed_on(scene)
    assert why == "all holders answered" and us < GRACE_US / 2, (us, why)
    return us


def silent_one_of_a_delegation(scene):
    us, late_us, why = handed_on(scene, "silent")
    assert why == "administrator" and late_us >= 0, (us, late_us, why)
    return us


def all_answer_for_their_tokens(scene):
    exporter = scene.export(2, "token")
    a, b = scene.hold()[0], scene.hold()[0]
    us, _, why = scene.ask_back(exporter)
    assert why == "all holders answered" and us < GRACE_US / 2, (us, why)
    for p in (a, b):
        p.expect("asked")
    return us


def one_with_a_token_is_silent(scene):
    exporter = scene.export(2, "token")
    scene.hold()
    silent = scene.hold("silent")[0]
    us, late_us, why = scene.ask_back(exporter)
    silent.expect("asked")
    assert why == "administrator" and late_us >= 0, (us, late_us, why)
    return us


def play(rig, test):
    scene = Scene(rig)
    try:
        return test(scene)
    finally:
        scene.end()


def all_answer_one_with_a_form(scene):
    exporter = scene.export(2, "form")
    a, b = scene.hold()[0], scene.hold()[0]
    us, _, why = scene.ask_back(exporter)
    assert why == "all holders answered" and us < GRACE_US / 2, (us, why)
    for p in (a, b):
        p.expect("asked")
    return us


def one_with_a_form_is_silent(scene):
    exporter = scene.export(2, "form")
    silent = scene.hold("silent")[0]
    scene.hold()
    us, late_us, why = scene.ask_back(exporter)
    silent.expect("asked")
    assert why == "administrator" and late_us >= 0, (us, late_us, why)
    return us


def run(board, tests):
    failed = 0
    with tempfile.TemporaryDirectory(prefix="unic-holders-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        try:
            rig.start_wire()
            rig.start_all("--grace-us", str(GRACE_US))
            for t in tests:
                try:
                    us = stops.step(play, rig, t)
                    print(f"ok      {board} {t.__name__}: {us} us")
                except (AssertionError, hosts.Failure) as e:
                    failed += 1
                    print(f"FAILED  {board} {t.__name__}: {e}")
        finally:
            rig.end()
    return failed


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    board = ap.parse_args().board
    tests = [all_answer, one_is_silent, one_is_killed,
             all_answer_of_a_delegation, silent_one_of_a_delegation,
             all_answer_for_their_tokens, one_with_a_token_is_silent,
             all_answer_one_with_a_form, one_with_a_form_is_silent]
    failed = run(board, tests)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
