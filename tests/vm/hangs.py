# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""How long a guest hung. gaps.c in it tells when it was that nothing went on, by its
clock, which runs whether the guest does or not. What is the fault of this machine,
which gave the emulator no processor, is taken off: a time in which one of its
threads waited for one does not count."""
import bisect
import threading
import time

from guest import Task
from hosts import Failure, waited_ns

SAMPLE_S = 0.01
CLOCK_TRIES = 5


class Hangs:
    """From now on. path: what in the guest is asked over and over, a file."""

    def __init__(self, guest, path):
        self.guest, self.pid = guest, guest.emulator()
        self.ahead = min(self._clock() for _ in range(CLOCK_TRIES))[1]
        # times, and how long the guest had run by then if it was let run
        self.times, self.own = [time.monotonic()], [0.0]
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
        last = waited_ns(self.pid)
        while not self.over.wait(SAMPLE_S):
            try:
                new = waited_ns(self.pid)
            except OSError:
                return  # QEMU has ended
            now = time.monotonic()
            late = max((n - last.get(thread, n) for thread, n in new.items()),
                       default=0) / 1e9
            step = now - self.times[-1]
            self.own.append(self.own[-1] + max(0, step - late))
            self.times.append(now)
            last = new

    def _own(self, at):
        """How long it had run at a time of its clock."""
        at -= self.ahead
        n = min(max(1, bisect.bisect(self.times, at)), len(self.times) - 1)
        t0, t1 = self.times[n - 1:n + 1]
        part = min(1, max(0, (at - t0) / (t1 - t0)))
        return self.own[n - 1] + part * (self.own[n] - self.own[n - 1])

    def longest(self):
        """(seconds, who says so) at last."""
        time.sleep(3 * SAMPLE_S)
        if self.task.poll() is not None:
            raise Failure(f"gaps: {self.task.last()}")
        self.task.take()
        self.task.end()
        self.over.set()
        self.thread.join()
        found = [(0.0, "nobody")]
        for line in self.task.lines:
            who, number, start, end = line.split()
            found.append((self._own(int(end) / 1e6) - self._own(int(start) / 1e6),
                          f"{who} {number}"))
        return max(found)
