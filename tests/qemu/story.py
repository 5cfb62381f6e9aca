# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a demo tells: a few lines, and on a terminal one more that changes; all that
happens goes to a file."""
import re
import shutil
import sys
import threading
import time

from hosts import Failure, Timeline

WIPE = "\r\x1b[K"
LOOK_S = 0.1



def times(n):
    """How often."""
    return f"{n} time" + "s" * (int(n) != 1)


class Story(Timeline):
    """A timeline in the file @path, of which tell() shows lines."""

    def __init__(self, path):
        super().__init__()
        self.path, self.file = path, open(path, "w", encoding="utf-8")
        self.live, self.shown = sys.stdout.isatty(), False

    def write(self, line):
        if not self.file.closed:  # somebody may have a last word
            self.file.write(line + "\n")

    def wipe(self):
        if self.shown:
            sys.stdout.write(WIPE)
        self.shown = False

    def tell(self, text):
        with self.lock:
            self.write(text)
            self.wipe()
            print(text, flush=True)

    def status(self, text):
        """Show @text in the last line, in place of what was there."""
        if not self.live:
            return
        with self.lock:
            sys.stdout.write(WIPE + text[:shutil.get_terminal_size().columns - 1])
            sys.stdout.flush()
            self.shown = True

    def close(self):
        with self.lock:
            self.wipe()
            self.file.close()


def bar(held, entries, width=32):
    """The table: for each (letter, entries) of @held its part of @width; `.` is free."""
    text, at = "", 0
    for letter, n in held:
        at += n
        text += letter * (round(at * width / entries) - len(text))
    return f"[{text[:width]:.<{width}}]"


class Graces:
    """The open notices, from the events of a NIC."""

    def __init__(self):
        self.ends = {}  # number of the notice: who, when

    def on_event(self, event, who, text, at):
        number = re.search(r"notice (\d+)", text)
        if not number:
            return
        if event == "ACKED":
            us = int(re.search(r"grace (\d+) us", text).group(1))
            self.ends[number.group(1)] = (who, at + us / 1e6)
        elif event in ("RELEASE", "DEADLINE"):
            self.ends.pop(number.group(1), None)

    def next(self, now):
        """The notice that ends first, in words."""
        ends = list(self.ends.values())
        if not ends:
            return ""
        who, at = min(ends, key=lambda end: end[1])
        return f"{who} has {max(0, at - now) * 1000:2.0f} ms"


class Live(threading.Thread):
    """Shows who holds the table, while it runs. holdings(): [(letter, entries)] or Failure;
    doing(): what is under way, in words."""

    def __init__(self, story, entries, holdings, graces, doing):
        super().__init__(daemon=True)
        self.story, self.entries, self.graces = story, entries, graces
        self.holdings, self.doing = holdings, doing
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(LOOK_S):
            try:
                held = self.holdings()
            except Failure:
                continue  # a driver that ends
            self.story.status(f"{bar(held, self.entries)} {self.doing()}  "
                              f"{self.graces.next(time.monotonic())}")

    def end(self):
        self.over.set()
        self.join()
