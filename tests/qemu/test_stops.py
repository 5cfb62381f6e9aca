#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Are steps repeated where the machine stopped, and nowhere else (stops.py)?"""
import importlib
import os
import subprocess
import sys
import time

import stops

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "runner"))
import functions  # noqa: E402

BUSY = "while :; do :; done"


class Step:
    """A step that fails so many times; a stop is seen in those of @stopped."""

    def __init__(self, fails, stopped):
        self.fails, self.stopped, self.runs, self.made = fails, stopped, 0, 0

    def __call__(self, word):
        self.runs += 1
        if self.runs in self.stopped:
            stops.DOG.stops.append((time.monotonic(), 30_000, "test"))
        if self.runs <= self.fails:
            raise AssertionError(word)
        return word

    def again(self):
        self.made += 1


def played(step):
    """(what came of it, how many repeats were counted)."""
    before = stops.DOG.repeated
    try:
        said = stops.step(step, "word", again=step.again)
    except AssertionError:
        said = None
    counted = stops.DOG.repeated - before
    stops.DOG.repeated = before
    return said, counted


def test_good_step_runs_once():
    step = Step(0, (1, 2))
    assert played(step) == ("word", 0) and step.runs == 1


def test_without_a_stop_nothing_is_repeated():
    step = Step(1, ())
    assert played(step) == (None, 0) and step.runs == 1
    stops.DOG.stops.append((time.monotonic(), 30_000, "before the step"))
    time.sleep(0.01)
    step = Step(1, ())
    assert played(step) == (None, 0) and step.runs == 1


def test_stop_is_worth_one_repeat():
    step = Step(1, (1,))
    assert played(step) == ("word", 1) and step.made == 1
    step = Step(2, (1,))  # the second time nothing stopped
    assert played(step) == (None, 1) and step.runs == 2


def test_three_repeats_at_most():
    step = Step(9, range(9))
    assert played(step) == (None, 3) and step.runs == 4 and step.made == 3
    step = Step(3, range(9))
    assert played(step) == ("word", 3)


def in_folder(*parts):
    """The module of a file of the tests."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", *parts)
    sys.path.insert(0, os.path.dirname(path))
    return importlib.import_module(os.path.basename(path)[:-len(".py")])


def benched(values, stopped, **how):
    """What a benchmark gives that measures @values in turn, with a goal of 5 at most,
    and how many repeats were counted."""
    bench = in_folder("bench", "bench.py")
    runs = iter(values)
    step = Step(0, stopped)

    def run():
        step("word")
        return {"x": next(runs)}

    before = stops.DOG.repeated
    got = bench.measured((("row", "", lambda r: r["x"], 5, "<="),
                          ("no goal", "", lambda r: r["x"], None, "")), run, **how)
    counted = stops.DOG.repeated - before
    stops.DOG.repeated = before
    return got["x"], counted


def test_benchmarks_are_repeated_where_the_machine_stopped():
    assert benched((9, 4), (1,)) == (4, 1)
    assert benched((9, 4), ()) == (9, 0)  # the NIC's own doing
    assert benched((3, 9), (1,)) == (3, 0)  # nothing is missed
    assert benched((9, 8, 7, 6, 5), range(9)) == (6, 3)
    assert benched((9, 4), (1,), accept_missed=True) == (9, 0)


def pointed(values, stopped):
    """The same of a step of eval/virt.py whose point is as promised up to 5; and how often
    its hosts were started anew."""
    virt = in_folder("eval", "virt.py")
    points = virt.Points("soft", None, None)
    points.line.say = lambda *_: None
    anew = []
    points.begin = lambda: anew.append(1)
    points.rows.append({"point": "before", "ok": "no"})
    runs, step = iter(values), Step(0, stopped)

    def test(words):
        step("word")
        v = next(runs)
        points.point(words, v, 5, v <= 5)

    before = stops.DOG.repeated
    points.step(test, "point")
    counted = stops.DOG.repeated - before
    stops.DOG.repeated = before
    assert points.rows.pop(0)["point"] == "before"
    return [r["virt"] for r in points.rows], counted, len(anew)


def test_points_are_repeated_where_the_machine_stopped():
    assert pointed((9, 4), (1,)) == ([4], 1, 1)
    assert pointed((9, 4), ()) == ([9], 0, 0)
    assert pointed((3,), (1,)) == ([3], 0, 0)
    assert pointed((9, 8, 7, 6, 5), range(9)) == ([6], 3, 3)


def test_waits_of_one_process():
    """Waits are a stop if they are half of H within H; a stop is said once."""
    recent = stops.Recent()
    assert recent.stop_us(1.00, 0) is None
    assert recent.stop_us(1.02, 12_000) is None
    assert recent.stop_us(1.04, 26_000) == 26_000
    assert recent.stop_us(1.06, 26_000) is None
    for i in range(50):  # never that much of it
        assert recent.stop_us(2 + i / 50, 26_000 + 6_000 * i) is None, i


def test_process_without_a_processor_is_seen():
    """Many busy processes share one processor with one that is watched."""
    cpu = min(os.sched_getaffinity(0))
    busy = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", BUSY])
            for _ in range(12)]
    try:
        began = time.monotonic()
        stops.watch_pid(busy[0].pid)
        while not stops.DOG.longest_since(began):
            assert time.monotonic() < began + 60, "no stop was seen"
        assert any(str(busy[0].pid) in who for _, _, who in stops.DOG.stops) or \
            any(who == "machine" for _, _, who in stops.DOG.stops)
    finally:
        for p in busy:
            p.kill()
            p.wait()


def test_watchdog_that_is_stopped_sees_the_machine_stop():
    stops.watch_pid(os.getpid())
    time.sleep(0.3)
    began = time.monotonic()
    stops.DOG.child.send_signal(19)
    time.sleep(0.2)
    stops.DOG.child.send_signal(18)
    until = time.monotonic() + 60
    while not any(who == "machine" and us > 100_000 and end >= began
                  for end, us, who in stops.DOG.stops):
        assert time.monotonic() < until, stops.DOG.stops
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
