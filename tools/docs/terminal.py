#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Record a command in a terminal, as one SVG that plays what it showed.

    terminal.py [--columns N] [--rows N] [--prompt TEXT] --out FILE COMMAND...

The command runs in a terminal of its own. Each row of the screen is text from when it
appeared to when it changed; where nothing plays an SVG, the last screen is seen. Pauses of
more than two seconds are shortened. Exit code: that of the command.
"""
import argparse
import fcntl
import html
import os
import pty
import select
import shlex
import struct
import sys
import termios
import time

sys.path.append("/usr/lib/python3/dist-packages")  # for any other python3, too
import pyte  # noqa: E402

STEP_S = 0.1  # a row that lasts for less is not shown
PAUSE_S = 2.0
ROW, COLUMN, MARGIN, SIZE = 17, 8.1, 12, 13.5
STYLE = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" '
         'height="{h:.0f}"><title>{title}</title><rect width="{w:.0f}" height="{h:.0f}" rx="6" '
         'fill="#1c1c1c"/><g fill="#e6e6e6" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" '
         'font-size="{size}" xml:space="preserve">')


class Recording:
    """The rows of a screen, and when each of them was so."""

    def __init__(self, columns, rows):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.now, self.last = 0.0, time.monotonic()
        self.shown = [("", 0.0)] * rows  # of each row: text, since when
        self.past = []  # (row, text, from, to)

    def feed(self, data):
        at = time.monotonic()
        self.now += min(at - self.last, PAUSE_S)
        self.last = at
        self.stream.feed(data)
        for row, text in enumerate(self.screen.display):
            text = text.rstrip()
            before, since = self.shown[row]
            if text == before:
                continue
            if before and self.now - since >= STEP_S:
                self.past.append((row, before, since, self.now))
            self.shown[row] = (text, self.now)

    def rows(self):
        used = [row for row, (text, _) in enumerate(self.shown) if text]
        used += [row for row, *_ in self.past]
        return max(used, default=0) + 1


def words(row, text, inside, hidden):
    how = ' visibility="hidden"' if hidden else ""
    return (f'<text x="{MARGIN}" y="{MARGIN + ROW * (row + 1) - 4}"{how} '
            f'textLength="{COLUMN * len(text):.0f}" lengthAdjust="spacingAndGlyphs">'
            f"{html.escape(text, quote=False)}{inside}</text>")


def draw(recording, title):
    rows = recording.rows()
    out = [STYLE.format(w=2 * MARGIN + COLUMN * recording.screen.columns,
                        h=2 * MARGIN + ROW * rows, title=html.escape(title), size=SIZE)]
    for row, text, start, end in recording.past:
        out.append(words(row, text, f'<set attributeName="visibility" to="visible" '
                         f'begin="{start:.1f}s" end="{end:.1f}s"/>', True))
    for row, (text, since) in enumerate(recording.shown[:rows]):
        if text:
            out.append(words(row, text, f'<set attributeName="visibility" to="hidden" begin="0s" '
                             f'end="{since:.1f}s"/>' if since >= STEP_S else "", False))
    return "\n".join([*out, "</g></svg>"]) + "\n"


def record(command, columns, rows, prompt):
    recording = Recording(columns, rows)
    recording.feed(f"{prompt}{shlex.join(command)}\r\n".encode())
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm", COLUMNS=str(columns), LINES=str(rows))
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    while True:
        select.select([terminal], [], [])
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            break
        recording.feed(data)
    return recording, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--columns", type=int, default=100)
    p.add_argument("--rows", type=int, default=40)
    p.add_argument("--prompt", default="$ ")
    p.add_argument("--out", required=True)
    p.add_argument("command", nargs=argparse.REMAINDER)
    args = p.parse_args()
    recording, code = record(args.command, args.columns, args.rows, args.prompt)
    if code == 0:
        with open(args.out, "w", encoding="utf-8") as f:
            f.write(draw(recording, "A terminal: " + shlex.join(args.command)))
    return code


if __name__ == "__main__":
    sys.exit(main())
