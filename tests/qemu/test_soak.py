#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Can the soak fail? What it says of memory is tried on made-up figures: those
of a run of five minutes that is flat, and of runs in which one thing grows."""
import sys

import soak

ROUNDS, SECONDS = 300, 300
FLAT = {"nic": (24900, 40), "unicd": (900, 36), "bus": (108, 38),
        "wire": (440, 15)}


def run(more):
    """The names that grow in a run where round k finds FLAT and more(k, name)."""
    samples = [(k * SECONDS / ROUNDS,
                {who: tuple(a + b for a, b in zip(have, more(k, who)))
                 for who, have in FLAT.items()}) for k in range(ROUNDS)]
    rows = soak.growth(samples, 0, SECONDS)
    return {who for who, row in rows.items() if soak.grows(who, *row)}


def one(name, kib, descriptors=0):
    """Only @name has more: KiB and descriptors, each a function of the round
    or 0."""
    def more(k, who):
        if who != name:
            return 0, 0
        return tuple(f(k) if f else 0 for f in (kib, descriptors))
    return more


def test_flat():
    assert run(lambda k, who: (0, 0)) == set()


def test_noise_and_a_peak():
    """Noise, and a peak that is over at the end, are no growth."""
    assert run(lambda k, who: (37 * k % 64, 37 * k % 5 if k < 299 else 0)
               ) == set()
    assert run(one("unicd", lambda k: 5000 * (100 < k < 200))) == set()


def test_warming_up():
    """What is allocated once, early, is no growth."""
    assert run(one("nic", lambda k: min(k, 20) * 1000)) == set()


def test_a_daemon_that_leaks():
    """A leak of 2 KiB in each round is growth."""
    for who in ("unicd", "bus", "wire"):
        assert run(one(who, lambda k: 2 * k)) == {who}


def test_a_nic_that_leaks():
    assert run(one("nic", lambda k: 64 * k)) == {"nic"}


def test_a_descriptor():
    """One descriptor more, late in the run, is growth."""
    for who in FLAT:
        assert run(one(who, 0, lambda k: int(k > 200))) == {who}


def test_too_few_rounds():
    few = [(k, FLAT) for k in range(2 * soak.WARM_ROUNDS - 1)]
    assert soak.growth(few, 0, 60) is None


def main():
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            test()
            passed += 1
            print(f"ok {name}")
        except AssertionError as e:
            failed += 1
            print(f"FAIL {name} (line {e.__traceback__.tb_next.tb_lineno})")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
