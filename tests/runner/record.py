# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a long run has seen of one version of the tree (tools/figures/version.py), in a
file of docs/evidence that is written after each part: who is stopped goes on there."""
import contextlib
import json
import os
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import version


class Record:
    """How often each part went well, and how often not."""

    def __init__(self, name):
        self.path = os.path.join(ROOT, "docs", "evidence", name)
        self.lock = threading.Lock()
        self.version, self.parts = version.version(), {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as f:
                found = json.load(f)
            if found["version"] == self.version:
                self.parts = found["parts"]

    def runs(self, part):
        row = self.parts.get(part, {"good": 0, "bad": 0})
        return row["good"] + row["bad"]

    def sum(self, kind):
        return sum(row[kind] for row in self.parts.values())

    @contextlib.contextmanager
    def change(self, part):
        """The row of @part, for one thread at a time; then it is written."""
        with self.lock:
            yield self.parts.setdefault(part, {"good": 0, "bad": 0})
            new = self.path + ".new"
            with open(new, "w", encoding="utf-8") as f:
                json.dump({"version": self.version, "parts": self.parts}, f, indent=1,
                          sort_keys=True)
                f.write("\n")
            os.rename(new, self.path)
