#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""make_help.py MAKEFILE... - the targets that have a line `target: ... ## group:
text`, by group. A group that is not known is listed last, so none is lost."""

import re
import signal
import sys
import textwrap

GROUPS = {
    "try": "Try it",
    "build": "Build",
    "test": "Test",
    "long": "Test for longer",
    "breaks": "Do the tests notice?",
    "measure": "Measure",
    "install": "Install it",
    "linux": "The Linux module",
    "board": "A board on the desk",
    "source": "Check the sources",
    "": "More",
}
LINE = re.compile(r"^([a-z][a-z0-9_.-]*):.*?## (?:([a-z]+): )?(.*)$", re.M)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # make help | head
    listed = {group: [] for group in GROUPS}
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as f:
            for target, group, text in LINE.findall(f.read()):
                if group not in GROUPS:
                    group, text = "", f"{group}: {text}"
                listed[group].append(textwrap.fill(
                    text, 98, initial_indent=f"  {target + ' ':<19}",
                    subsequent_indent=" " * 21, break_on_hyphens=False))
    print("\n\n".join("\n".join([GROUPS[group]] + lines)
                      for group, lines in listed.items() if lines))


if __name__ == "__main__":
    main()
