# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""report_fair.py - what report.py says of the fairness matrix."""
import fairness
from tables import num, pick, table


def mark(row):
    """One cell."""
    text = f"{min(999, num(row, 'pct')):.0f}"
    return text if row["ok"] == "yes" else f"**{text}**"


def matrix(rows):
    victims = [v for v in fairness.VICTIMS if pick(rows, victim=v)]
    return table(("attacker", *victims), [
        (a, *[mark(pick(mine, victim=v)[0]) if pick(mine, victim=v) else ""
              for v in victims])
        for a in fairness.ATTACKERS if (mine := pick(rows, attacker=a))])


def facts(rows):
    out = {"fair_cells": len(rows),
           "fair_good": sum(r["ok"] == "yes" for r in rows)}
    for regime in fairness.REGIMES:
        out[f"fair_{regime}"] = matrix(pick(rows, regime=regime))
    return out
