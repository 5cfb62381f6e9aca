# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""tables.py - rows of CSV files, read as strings, and tables of words."""


def num(row, key):
    return float(row[key])


def pick(rows, **want):
    return [r for r in rows if all(r[k] == str(v) for k, v in want.items())]


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(str(c) for c in r)} |" for r in rows]
    return "\n".join(lines)


def short(v):
    """Three digits that matter."""
    return f"{v:.0f}" if abs(v) >= 100 else f"{v:.3g}"
