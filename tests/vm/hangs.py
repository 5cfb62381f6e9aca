# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""How long a guest hung. gaps.c in the guest tells when nothing ran there, by
the guest's clock, which runs whether the guest does or not. Time in which this
machine gave no processor to a thread of the emulator, or to this process, does
not count."""
import threading
import time

from guest import Task
from hosts import Failure, waited_ns

SAMPLE_S = 0.01
LATE_S = 0.05  # a look that is so late: this machine stood still
CLOCK_TRIES = 5


class Hangs:
    """Watches a guest from now on. path: a file of the guest that is read over
    and over."""

    def __init__(self, guest, path):
        self.guest, self.pid = guest, guest.emulator()
        self.ahead = min(self._clock() for _ in range(CLOCK_TRIES))[1]
        self.waits = []  # (from, until) of a thread, known at its end
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        self.task = Task(guest, ["gaps", path])

    def _clock(self):
        """(how unsure, how far the guest's clock is ahead of ours)"""
        before = time.monotonic()
        theirs = int(self.guest.run("gaps")) / 1e6
        after = time.monotonic()
        return after - before, theirs - (before + after) / 2

    def _watch(self):
        last, now = waited_ns(self.pid), time.monotonic()
        while not self.over.wait(SAMPLE_S):
            try:
                new = waited_ns(self.pid)
            except OSError:
                return  # QEMU has ended
            before, now = now, time.monotonic()
            if now - before > LATE_S:
                self.waits.append((before, now))
            self.waits += [(now - (n - last.get(thread, n)) / 1e9, now)
                           for thread, n in new.items()
                           if n > last.get(thread, n)]
            last = new

    def _own(self, start, end):
        """Seconds of our clock from one to the other, without the waits."""
        own, at = 0.0, start
        for first, until in sorted(w for w in self.waits
                                   if w[1] > start and w[0] < end):
            own += max(0, min(first, end) - at)
            at = max(at, until)
        return own + max(0, end - at)

    def longest(self, more=()):
        """(seconds, who says so) at last. more: lines like those of gaps.c, of
        others that know how long they waited."""
        time.sleep(3 * SAMPLE_S)
        if self.task.poll() is not None:
            raise Failure(f"gaps: {self.task.last()}")
        self.task.take()
        self.task.end()
        self.over.set()
        self.thread.join()
        found = [(0.0, "nobody")]
        for line in (*self.task.lines, *more):
            who, number, *times = line.split()
            found.append((self._own(*(int(t) / 1e6 - self.ahead for t in times)),
                          f"{who} {number}"))
        return max(found)
