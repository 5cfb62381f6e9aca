# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""plot.py - line plots as SVG: no dates, no random ids, so that the same
numbers give the same bytes."""
import math

WIDTH, HEIGHT = 690, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 220, 40, 56
COLOURS = ("#1b6ca8", "#c4451c", "#3a8f3a", "#7b4fa0", "#8a6d1f", "#333333",
           "#c2388a", "#2a9d8f")
DASHES = ("", "6,3", "2,3", "8,3,2,3")


def _text(x, y, words, anchor="middle", size=12, turn=0):
    words = str(words).replace("&", "&amp;").replace("<", "&lt;")
    how = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}"{how}>{words}</text>')


def _number(v):
    if v and abs(v) >= 1000000:
        return f"{v / 1000000:g}M"
    if v and abs(v) >= 10000:
        return f"{v / 1000:g}k"
    return f"{v:g}"


class Axis:
    def __init__(self, values, log, low, high):
        values = [v for v in values if v is not None and (v > 0 or not log)]
        self.log = log
        self.low = min(values) if low is None else low
        self.high = max(values) if high is None else high
        if self.high <= self.low:
            self.high = self.low * 2 if log else self.low + 1

    def part(self, v):
        if self.log:
            v = max(v, self.low)
            return (math.log(v / self.low)) / math.log(self.high / self.low)
        return (v - self.low) / (self.high - self.low)

    def ticks(self):
        if self.log:
            base = 10 if self.high / self.low > 200 else 2
            first = math.ceil(round(math.log(self.low, base), 6))
            last = math.floor(round(math.log(self.high, base), 6))
            return [base ** k for k in range(first, last + 1)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
        for many in (1, 2, 5, 10):
            if (self.high - self.low) / (step * many) <= 6:
                step *= many
                break
        k = math.ceil(self.low / step - 1e-9)
        out = []
        while k * step <= self.high + 1e-9:
            out.append(round(k * step, 10))
            k += 1
        return out


def lines(path, title, xlabel, ylabel, series, logx=False, logy=False,
          low=None, high=None):
    """Write a plot. series: list of (name, [(x, y), ...]), in order."""
    points = [p for _, s in series for p in s]
    x = Axis([p[0] for p in points], logx, None, None)
    y = Axis([p[1] for p in points], logy, low, high)
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def px(v):
        return LEFT + wide * x.part(v)

    def py(v):
        return TOP + tall * (1 - y.part(v))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           _text(LEFT + wide / 2, 22, title, size=14)]
    for t in x.ticks():
        out.append(f'<line x1="{px(t):.1f}" y1="{TOP}" x2="{px(t):.1f}" '
                   f'y2="{TOP + tall}" stroke="#dddddd"/>')
        out.append(_text(px(t), TOP + tall + 16, _number(t), size=11))
    for t in y.ticks():
        out.append(f'<line x1="{LEFT}" y1="{py(t):.1f}" x2="{LEFT + wide}" '
                   f'y2="{py(t):.1f}" stroke="#dddddd"/>')
        out.append(_text(LEFT - 6, py(t) + 4, _number(t), "end", 11))
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{tall}" '
               'fill="none" stroke="black"/>')
    out.append(_text(LEFT + wide / 2, HEIGHT - 14, xlabel))
    out.append(_text(18, TOP + tall / 2, ylabel, turn=-90))
    for i, (name, values) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        dash = DASHES[i // len(COLOURS) % len(DASHES)]
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        path_of = " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in values)
        out.append(f'<polyline points="{path_of}" fill="none" '
                   f'stroke="{colour}" stroke-width="1.8"{dash}/>')
        if len(values) <= 20:
            out += [f'<circle cx="{px(a):.1f}" cy="{py(b):.1f}" r="2.6" '
                    f'fill="{colour}"/>' for a, b in values]
        at = TOP + 12 + 18 * i
        out.append(f'<line x1="{LEFT + wide + 10}" y1="{at - 4}" '
                   f'x2="{LEFT + wide + 30}" y2="{at - 4}" '
                   f'stroke="{colour}" stroke-width="1.8"{dash}/>')
        out.append(_text(LEFT + wide + 35, at, name, "start", 11))
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
