# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Stops of the machine, and steps that are repeated because of them.

The programs run with the product's H and T. A driver that wants to run and gets no
processor for most of H is taken for dead by its NIC: that is the machine, not the
product. So a watchdog, a process of its own, looks at each driver and NIC: the kernel
counts for how long a thread waited for a processor; and how late the watchdog itself
is woken says when the whole machine stood still. A step that failed is repeated only if
the watchdog saw a stop while the step ran, REPEATS times at most. Whatever the step
says of itself, nothing is repeated without a stop. At the end of the program a line
"repeated: N ..." says how many were, which tests/runner/run.py adds up.
"""
import atexit
import collections
import os
import select
import subprocess
import sys
import threading
import time

H_US = 50_000  # of the product
# A stop is this much of any time as long as H. What is left is enough for a driver.
STOP_US = H_US // 2
REPEATS = 3
STEP_S = 0.02


def waited_us(pid):
    """For how long the threads of @pid have waited for a processor."""
    said = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat",
                      encoding="ascii") as f:
                said += int(f.read().split()[1])
        except OSError:
            pass  # it ended
    return said / 1000


class Recent:
    """The waits of one process within the last H."""

    def __init__(self):
        self.samples = collections.deque()

    def stop_us(self, now, us):
        """The waits in that time, if they are a stop; they are said once."""
        self.samples.append((now, us))
        while self.samples[0][0] < now - H_US / 1e6 - STEP_S:
            self.samples.popleft()
        waited = us - self.samples[0][1]
        if waited < STOP_US:
            return None
        self.samples.clear()
        self.samples.append((now, us))
        return waited


def look(pids, now, say):
    for pid, recent in list(pids.items()):
        try:
            us = recent.stop_us(now, waited_us(pid))
        except OSError:
            del pids[pid]
            continue
        if us:
            say(now, us, f"process {pid}")


def watch(say):
    """The watchdog: pids come by stdin, until its end."""
    pids, last = {}, time.monotonic()
    while True:
        ready = select.select([0], [], [], STEP_S)[0]
        now = time.monotonic()
        if (now - last - STEP_S) * 1e6 >= STOP_US:
            say(now, (now - last - STEP_S) * 1e6, "machine")
        if ready:
            words = os.read(0, 4096).split()
            if not words:
                return
            pids.update((int(w), Recent()) for w in words)
        look(pids, now, say)
        last = now


class Watchdog:
    """The process, and the stops that it has seen: (when one was over, us, who)."""

    def __init__(self):
        self.child, self.stops, self.repeated = None, [], 0

    def start(self):
        self.child = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            when, us, who = line.split(maxsplit=2)
            self.stops.append((float(when), float(us), who.strip()))

    def watch(self, pid):
        if not self.child:
            self.start()
        try:
            self.child.stdin.write(f"{pid} \n")
            self.child.stdin.flush()
        except OSError:
            pass  # somebody ended it: then no stop is seen

    def longest_since(self, began):
        """The longest stop since then, in words; None: there was none."""
        time.sleep(4 * STEP_S)  # what was just over is said
        seen = [(us, who) for end, us, who in self.stops if end >= began]
        if not seen:
            return None
        us, who = max(seen)
        return f"{who}: no processor for {us / 1000:.0f} ms"

    def tell(self):
        if self.repeated:
            print(f"repeated: {self.repeated} steps in which the machine stopped",
                  flush=True)
        self.repeated = 0


DOG = Watchdog()
watch_pid = DOG.watch


def step(test, *args, again=lambda: None, never=()):
    """Run the step @test(*args), which raises an exception if it fails; returns what it
    returns. If a stop was seen meanwhile, again() makes ready and it is repeated. @never:
    exceptions that are no failures."""
    for left in range(REPEATS, -1, -1):
        began = time.monotonic()
        try:
            return test(*args)
        except never:
            raise
        except Exception as e:  # pylint: disable=broad-except
            stop = DOG.longest_since(began)
            if not stop or not left:
                raise
            print(f"        again, as the machine stopped ({stop}): "
                  f"{type(e).__name__} {e}", flush=True)
        DOG.repeated += 1
        again()
    return None


if __name__ == "__main__":
    watch(lambda now, us, who: print(f"{now} {us:.0f} {who}", flush=True))
else:
    atexit.register(DOG.tell)
