#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The diagrams of the documents, docs/site/*.svg, from what is said here: boxes, lines
between them, and words. The same words give the same bytes.

    diagrams.py [--check]    --check: the files are what this program writes
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SITE = os.path.join(ROOT, "docs", "site")
HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
        'font-family="sans-serif" font-size="13"><title>{title}</title>'
        '<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto-start-reverse">'
        '<path d="M0,0 L9,4 L0,8 z"/></marker></defs><rect width="{w}" height="{h}" fill="white"/>')


class Drawing:
    def __init__(self, name, title, w, h):
        self.name, self.parts = name, [HEAD.format(title=title, w=w, h=h)]

    def words(self, x, y, text, anchor="middle", size=13, bold=False):
        weight = ' font-weight="bold"' if bold else ""
        for i, line in enumerate(text.split("\n")):
            line = line.replace("&", "&amp;").replace("<", "&lt;")
            self.parts.append(f'<text x="{x}" y="{y + 16 * i}" text-anchor="{anchor}" '
                              f'font-size="{size}"{weight}>{line}</text>')

    def box(self, x, y, w, h, text="", fill="white", dashed=False, bold=True):
        dash = ' stroke-dasharray="5,3"' if dashed else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4" fill="{fill}" '
                          f'stroke="black"{dash}/>')
        if text:
            lines = text.split("\n")
            top = y + h / 2 + 5 - 8 * (len(lines) - 1)
            for i, line in enumerate(lines):
                self.words(x + w / 2, top + 16 * i, line, bold=bold and i == 0,
                           size=13 if i == 0 else 11)

    def line(self, points, dashed=False, tip=True, both=False, wide=1.3):
        at = " ".join(f"{x},{y}" for x, y in points)
        dash = ' stroke-dasharray="5,3"' if dashed else ""
        marks = (' marker-end="url(#tip)"' if tip else "") + (
            ' marker-start="url(#tip)"' if both else "")
        self.parts.append(f'<polyline points="{at}" fill="none" stroke="black" '
                          f'stroke-width="{wide}"{dash}{marks}/>')

    def text(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def parts():
    d = Drawing("parts", "A host: programs, library, driver, adapter, wire", 640, 340)
    for x in (40, 250):
        d.box(x, 20, 150, 50, "program\nlibunic", "#f2f2f2")
    d.box(100, 130, 240, 46, "unicd, or unic.ko\nthe driver of the host", "#f2f2f2")
    d.box(40, 230, 360, 60, "firmware\nmailbox, tables, queue pairs, eviction, RoCEv2", "#e2e2e2")
    d.box(30, 220, 380, 80, dashed=True, fill="none")
    d.words(420, 250, "the adapter: a board,\nQEMU, or a process\n(unic-nic)", "start", 12)
    for x in (140, 280):
        d.line([(x, 70), (x, 130)])
        d.words(x + 8, 104, "control", "start", 11)
    for x in (66, 374):
        d.line([(x, 70), (x, 230)], dashed=True)
    d.words(420, 100, "dashed: queues and doorbells,\nmemory shared with the adapter;\n"
            "no driver on the way", "start", 12)
    d.line([(160, 176), (160, 230)])
    d.words(168, 208, "commands, events: mailbox", "start", 11)
    d.line([(220, 290), (220, 326), (560, 326)], tip=False, wide=2)
    d.words(566, 331, "wire", "start", 12)
    return d


def region():
    d = Drawing("region", "The life of a region", 800, 200)
    names = ("FREE", "LOADING", "ACTIVE", "NOTIFIED", "DRAINING")
    x = [20 + 164 * i for i in range(5)]
    for i, name in enumerate(names):
        d.box(x[i], 80, 96, 40, name, "#e2e2e2" if name == "ACTIVE" else "#f2f2f2")
    for i, label in enumerate(("register", "loaded", "notice", "released")):
        d.line([(x[i] + 96, 100), (x[i + 1], 100)])
        d.words((x[i] + 96 + x[i + 1]) / 2, 93, label, size=11)
    d.words((x[3] + 96 + x[4]) / 2, 116, "or deadline", size=11)
    d.line([(x[3] + 48, 80), (x[3] + 48, 48), (x[2] + 48, 48), (x[2] + 48, 80)])
    d.words((x[2] + x[3]) / 2 + 48, 40, "another region is offered, and accepted", size=11)
    d.line([(x[4] + 48, 120), (x[4] + 48, 180), (x[0] + 48, 180), (x[0] + 48, 120)])
    d.words(400, 174, "nothing reads or writes any more: the entries are free", size=11)
    return d


def bound():
    d = Drawing("bound", "B = H + T + reaper period + drain", 640, 150)
    spans = (("reaper\nperiod", 70), ("H\nthe notice is delivered", 190), ("T\nthe grace", 210),
             ("drain", 90))
    at = 40
    for i, (text, width) in enumerate(spans):
        d.box(at, 60, width, 46, text, ("#ffffff", "#f2f2f2", "#e2e2e2", "#f2f2f2")[i])
        at += width
    d.line([(40, 46), (at, 46)], both=True)
    d.words((40 + at) / 2, 38, "B: the longest wait of a request within the fair share", bold=True)
    d.line([(40, 130), (40, 108)])
    d.words(44, 132, "REGISTER_WAIT", "start", 11)
    d.line([(at, 130), (at, 108)])
    d.words(at - 4, 132, "granted", "end", 11)
    return d


def main():
    bad = 0
    for drawing in (parts(), region(), bound()):
        path = os.path.join(SITE, drawing.name + ".svg")
        if sys.argv[1:] == ["--check"]:
            with open(path, encoding="utf-8") as f:
                if f.read() != drawing.text():
                    print(f"{path}: is not what tools/docs/diagrams.py writes")
                    bad = 1
            continue
        with open(path, "w", encoding="utf-8") as f:
            f.write(drawing.text())
    return bad


if __name__ == "__main__":
    sys.exit(main())
