# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""plot.py - line plots as SVG, by matplotlib: the finding is the title. Curves differ in
their dashes, marks and shade, not in colour alone, and one that lies on another is thinner
than it, so each is seen on paper in black and white. No dates and no random ids, so the
same numbers give the same bytes."""
import sys
import textwrap

sys.path.append("/usr/lib/python3/dist-packages")  # for any other python3, too
import matplotlib  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.hashsalt": "unic", "svg.fonttype": "none", "font.size": 10, "axes.grid": True,
    "grid.color": "#dddddd", "axes.axisbelow": True, "axes.titlesize": 11, "path.snap": True})
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import ticker  # noqa: E402

INCHES = (7.6, 4.4)
# Dark and light in turns; the dashes and marks of two curves are never both the same.
COLOURS = ("#000000", "#c4451c", "#1b6ca8", "#8a8a8a", "#3a8f3a", "#7b4fa0", "#b08800", "#2a9d8f")
DASHES = ("-", (0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)), (0, (1, 1)), (0, (4, 1, 1, 1, 1, 1)))
MARKS = ("o", "s", "^", "D", "v", "x", "P", "*")
MARKS_MAX = 12  # of a curve
WIDEST, STEP, THINNEST = 3.4, 0.45, 1.0  # points; each curve is drawn on those before it
TITLE_COLUMNS = 78
UNDER = 0.025  # below 0, so that a curve of zeros is seen


def look(i, points):
    """How curve @i is drawn."""
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)],
            "marker": MARKS[i % len(MARKS)], "markersize": 5,
            "markevery": max(1, points // MARKS_MAX), "markerfacecolor": "white",
            "linewidth": max(THINNEST, WIDEST - STEP * i)}


def number(v, _):
    if v and abs(v) >= 1000000:
        return f"{v / 1000000:g}M"
    if v and abs(v) >= 10000:
        return f"{v / 1000:g}k"
    return f"{v:g}"


def scale(axis, values, log):
    if log:
        positive = [v for v in values if v > 0]
        base = 10 if max(positive) / min(positive) > 200 else 2
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        axis.set_major_locator(ticker.LogLocator(base=base))
        axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(number))


def lines(path, finding, what, xlabel, ylabel, series, logx=False, logy=False, low=None,
          high=None):
    """Write a plot. finding: what it shows, the title; what: what was measured; series: list of
    (name, [(x, y), ...]), in order."""
    figure, axes = plt.subplots(figsize=INCHES, layout="constrained")
    scale(axes.xaxis, [x for _, points in series for x, _ in points], logx)
    scale(axes.yaxis, [y for _, points in series for _, y in points], logy)
    for i, (name, points) in enumerate(series):
        axes.plot(*zip(*points), label=name, **look(i, len(points)))
    axes.set_ylim(low, high)
    if low == 0 and not logy:
        axes.set_ylim(-UNDER * axes.get_ylim()[1])
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title("\n".join([*textwrap.wrap(finding, TITLE_COLUMNS), what]), loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, handlelength=3.6,
                fontsize=9)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
