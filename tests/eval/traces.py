#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Traces of references to pages, by pattern: `traces.py PATTERN SEED` prints
lines of time,key,size,process,importance for unic-policysim; without arguments
the patterns. The same seed gives the same trace.

A pattern is a function of a generator and yields (key, process, importance).
"""
import bisect
import itertools
import random
import sys

REFS = 200000


def zipf(rng, n, a):
    """Draws 0..n-1, the kth with odds k^-a, spread over the numbers."""
    sums = list(itertools.accumulate((i + 1) ** -a for i in range(n)))
    names = list(range(n))
    rng.shuffle(names)
    return lambda: names[bisect.bisect_left(sums, rng.random() * sums[-1])]


def only(draw):
    while True:
        yield draw(), 0, 0


def uniform(rng, n):
    return only(lambda: rng.randrange(n))


def popular(rng, n, a):
    return only(zipf(rng, n, a))


def ring(rng, n, hint=0):
    """A ring of n buffers; the first `hint` of them said to matter."""
    for i in itertools.count():
        yield i % n, 0, int(i % n < hint)


def rings(rng, *sizes):
    """Rings side by side, each as often as the others."""
    at = [0] * len(sizes)
    while True:
        r = rng.randrange(len(sizes))
        yield r * 10**6 + at[r] % sizes[r], 0, 0
        at[r] += 1


def scan_and_hot(rng, hot, a, length, part):
    """Scans of `length` pages never seen before between uses of hot ones."""
    draw, fresh = zipf(rng, hot, a), itertools.count(10**7)
    while True:
        if rng.random() < part / length:
            for _ in range(length):
                yield next(fresh), 0, 0
        else:
            for _ in range(int((1 - part) / part) + 1):
                yield draw(), 0, 0


def hoarder(rng, n, a, stream):
    """Process 0 streams round `stream` pages, half of all; 1 to 7 work."""
    draw = [zipf(rng, n, a) for _ in range(7)]
    at = 0
    while True:
        if rng.random() < 0.5:
            yield at % stream, 0, 0
            at += 1
        else:
            p = rng.randrange(7)
            yield 10**7 * (p + 1) + draw[p](), p + 1, 0


def phases(rng, n, a, length):
    """Another set of pages every `length` references."""
    for phase in itertools.count():
        draw = zipf(rng, n, a)
        for _ in range(length):
            yield 10**6 * phase + draw(), 0, 0


def turns(rng, length, *patterns):
    """One pattern after the other, for `length` references each."""
    for i in itertools.count():
        which = i % len(patterns)
        for key, p, hint in itertools.islice(patterns[which], length):
            yield 10**8 * which + key, p, hint


def mixed(rng, *patterns):
    """One of the patterns at each reference."""
    while True:
        which = rng.randrange(len(patterns))
        key, p, hint = next(patterns[which])
        yield 10**8 * which + key, p, hint


def moving(rng, width, stay):
    """Near the end of a file that grows: each page for a while, then never."""
    for i in itertools.count():
        yield i // stay + int(width * rng.random() ** 2), 0, 0


def stack(rng, depth):
    """What was used d places ago is used again with odds of 1/d."""
    pages, fresh = [], itertools.count()
    while True:
        d = int(depth ** rng.random()) - 1
        page = next(fresh) if d >= len(pages) else pages.pop(d)
        pages.insert(0, page)
        del pages[depth:]
        yield page, 0, 0


# The default's constants were last set with half of these in view.
PATTERNS = {
    "uniform": lambda r: uniform(r, 3000),
    "zipf 0.8": lambda r: popular(r, 15000, 0.8),
    "zipf 1.0": lambda r: popular(r, 15000, 1.0),
    "zipf 1.2": lambda r: popular(r, 15000, 1.2),
    "scan and hot set": lambda r: scan_and_hot(r, 700, 0.5, 900, 0.35),
    "ring of 72": lambda r: ring(r, 72),
    "ring of 400": lambda r: ring(r, 400),
    "ring of 1500": lambda r: ring(r, 1500),
    "ring of 5200": lambda r: ring(r, 5200),
    "four rings": lambda r: rings(r, 50, 220, 900, 3100),
    "hoarder": lambda r: hoarder(r, 1500, 0.9, 20000),
    "phases": lambda r: phases(r, 2500, 0.9, 25000),
    "phases of rings": lambda r: turns(r, 25000, popular(r, 1800, 0.9),
                                       ring(r, 1300)),
    "ring and hot set": lambda r: mixed(r, ring(r, 1000),
                                        popular(r, 2000, 1.0)),
    "moving window": lambda r: moving(r, 400, 4),
    "stack": lambda r: stack(r, 2000),
}
# The same with other sizes: not to be looked at while constants are set.
OTHERS = {
    "other uniform": lambda r: uniform(r, 5000),
    "other zipf 0.75": lambda r: popular(r, 9000, 0.75),
    "other zipf 0.95": lambda r: popular(r, 25000, 0.95),
    "other zipf 1.15": lambda r: popular(r, 30000, 1.15),
    "other scan": lambda r: scan_and_hot(r, 1100, 0.6, 500, 0.3),
    "other ring of 90": lambda r: ring(r, 90),
    "other ring of 310": lambda r: ring(r, 310),
    "other ring of 1250": lambda r: ring(r, 1250),
    "other ring of 6100": lambda r: ring(r, 6100),
    "other rings": lambda r: rings(r, 40, 300, 700, 4000),
    "other hoarder": lambda r: hoarder(r, 2200, 0.8, 15000),
    "other phases": lambda r: phases(r, 3300, 0.95, 18000),
    "other phases, ring": lambda r: turns(r, 18000, popular(r, 2400, 0.85),
                                          ring(r, 900)),
    "other ring and hot": lambda r: mixed(r, ring(r, 1400),
                                          popular(r, 1500, 0.9)),
    "other window": lambda r: moving(r, 550, 5),
    "other stack": lambda r: stack(r, 3000),
}
# Rings whose owner says which buffers to keep, for `app`: one for each size.
HINTED = {
    f"hints, ring of {n}, table of {keep}":
        (keep, lambda r, n=n, keep=keep: ring(r, n, keep))
    for n, keep in ((72, 64), (400, 256), (1500, 1024), (5200, 4096))
}


def trace(pattern, seed):
    """Lines of csv."""
    make = (PATTERNS.get(pattern) or OTHERS.get(pattern)
            or HINTED[pattern][1])
    rng = random.Random(f"{pattern}/{seed}")
    for i, (key, p, hint) in enumerate(itertools.islice(make(rng), REFS)):
        yield f"{i},{key},1,{p},{hint}\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("\n".join([__doc__, *PATTERNS, *OTHERS, *HINTED]))
    sys.stdout.writelines(trace(sys.argv[1], sys.argv[2]))
