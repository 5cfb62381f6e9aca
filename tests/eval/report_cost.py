# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""report_cost.py - what report.py says of costs: residency modes, lists of
pieces, kernel-resident against user-level."""
import os

import plot
from goals import cost
from tables import num, pick, short, table

MODES = (("resident", "resident, asks first"),
         ("gives", "resident, gives first"), ("demand", "demand"),
         ("table", "table"))


# ------------------------------------------------------------------ residency

def curve(rows, mode, pages, of):
    return sorted((num(r, "load_pct") / 100, of(r))
                  for r in pick(rows, mode=mode, pages=pages))


def crossing(one, other):
    """Where a curve falls below another, between two points by a straight
    line; None: nowhere."""
    gaps = [(x, b - a) for (x, a), (_, b) in zip(one, other)]
    for (x0, g0), (x1, g1) in zip(gaps, gaps[1:]):
        if g0 > 0 >= g1:
            return x0 + (x1 - x0) * g0 / (g0 - g1)
    return None


def extremes(curves, unit):
    """The modes that cost least and most with the largest working set, in words."""
    ends = {words: points[-1] for words, points in curves}
    least, most = (f(ends, key=lambda w: ends[w][1]) for f in (min, max))
    return (f"With a working set of {ends[least][0]:g} times the table a WRITE costs "
            f"{ends[least][1]:.0f} {unit} ({least}) to {ends[most][1]:.0f} ({most})")


def residency_plots(folder, rows):
    for pages in sorted({int(r["pages"]) for r in rows}):
        curves = [(words, curve(rows, mode, pages, cost)) for mode, words in MODES]
        plot.lines(os.path.join(folder, f"residency_{pages}.svg"), extremes(curves, "instructions"),
                   f"instructions of NICs and driver for a WRITE of {4 * pages} KiB",
                   "working set / TLB", "instructions", curves, logx=True, low=0)
    curves = [(words, curve(rows, mode, 1, lambda r: num(r, "messages"))) for mode, words in MODES]
    plot.lines(os.path.join(folder, "residency_messages.svg"), extremes(curves, "records"),
               "records between NIC and driver for a WRITE of 4 KiB",
               "working set / TLB", "records", curves, logx=True, low=0)


def residency_table(rows, of):
    loads = sorted({int(r["load_pct"]) for r in rows})
    pages = sorted({int(r["pages"]) for r in rows})
    return table(["access", "mode"] + [f"{n / 100:g}" for n in loads],
                 [[f"{4 * p} KiB", words] +
                  [of(pick(rows, pages=p, mode=mode, load_pct=n)[0])
                   for n in loads] for p in pages for mode, words in MODES])


def misses_cost(rows, mode):
    """(instructions of an access that hits, of a miss more)"""
    mine = pick(rows, mode=mode, pages=1)
    hit = cost(pick(mine, load_pct=50)[0])
    most = max(mine, key=lambda r: num(r, "load_pct"))
    return hit, (cost(most) - hit) / num(most, "misses")


def residency_facts(rows):
    hit, miss = zip(*(misses_cost(rows, m) for m, _ in MODES))
    facts = {
        "residency_insn": residency_table(rows, lambda r: f"{cost(r):.0f}"),
        "residency_messages": residency_table(
            rows, lambda r: f"{num(r, 'messages'):.3g}"),
        "residency_bytes": residency_table(
            rows, lambda r: f"{num(r, 'bytes'):.0f}"),
        "residency_us": residency_table(rows, lambda r: f"{num(r, 'us'):.1f}"),
        "residency_entries": max(
            int(r["buffers"]) * int(r["pages"]) * 100 // int(r["load_pct"])
            for r in rows),
        "residency_miss": table(
            ("mode", "hit", "a miss more"),
            [(words, f"{h:.0f}", f"{m:.0f}")
             for (_, words), h, m in zip(MODES, hit, miss)]),
        # the rate of misses from which on the second level pays
        "residency_even": f"{100 * (hit[3] - hit[1]) / (miss[1] - miss[3]):.1f}",
    }
    for pages in (1, 16):
        for mode in ("demand", "table"):
            at = crossing(curve(rows, "gives", pages, cost),
                          curve(rows, mode, pages, cost))
            facts[f"cross_{mode}_{pages}"] = "nowhere" if at is None \
                else f"{at:.2f}"
    return facts


# ---------------------------------------------------------------------- lists

WAYS = (("posted", "indirect, by work request"),
        ("indirect", "indirect, by command"), ("mrs", "several regions"),
        ("split", "several operations"), ("bounce", "bounce buffer"))
ALIGNED = 8  # bytes: all that offsets and lengths of the layouts share


def list_rows(rows):
    out = []
    for name in dict.fromkeys(r["layout"] for r in rows):
        for way, words in WAYS:
            r = pick(rows, layout=name, how=way)[0]
            out.append((name, words, short(num(r, "work")),
                        short(num(r, "frames")), short(num(r, "commands")),
                        r["held"], r["copied"], r["open_bytes"],
                        r["nic_insn"], r["driver_insn"],
                        short(num(r, "us"))))
    return out


def list_facts(rows):
    names = list(dict.fromkeys(r["layout"] for r in rows))
    cells = {(r["layout"], r["how"]): r for r in rows}
    return {
        "list_table": table(
            ("layout", "way", "work requests", "frames", "commands",
             "entries", "bytes copied", "bytes open to the peer",
             "instructions of NICs", "of the driver", "us"),
            list_rows(rows)),
        "list_blocks": ", ".join(
            f"{int(cells[n, 'posted']['bytes']) // ALIGNED:,}" for n in names),
        "list_gain": ", ".join(
            f"{cost(cells[n, 'split']) / cost(cells[n, 'posted']):.1f}"
            for n in names),
        "list_gain_mrs": ", ".join(
            f"{cost(cells[n, 'mrs']) / cost(cells[n, 'posted']):.0f}"
            for n in names),
    }


# ------------------------------------------------------------------------ kio

KIO_WORDS = {"kio": "(a) kio", "kio-rdma": "(a) kio, RDMA", "user": "(b) user",
             "user-64K": "(b) user, 64 KiB"}


def kio_row(r):
    head = [r["entries"], r["hogs"], KIO_WORDS[r["how"]]]
    if not int(r["ops"]):
        return head + ["refused" if int(r["refused"]) else "0"] + [""] * 13
    return head + [
        r["ops_s"], r["failed"], f"{num(r, 'jain'):.4f}", r["p50_us"],
        r["p99_us"], r["max_us"], r["held"], r.get("by_rdma", ""),
        short(num(r, "commands")),
        short(num(r, "crossings")), r["wire_bytes"], r["nic_insn"],
        r["driver_insn"], r["kio_insn"]]


def kio_facts(rows):
    return {
        "kio_table": table(
            ("entries", "greedy", "option", "I/Os in a second", "failed",
             "Jain", "median us", "99 %", "most", "entries held", "by RDMA",
             "commands", "crossings", "wire bytes", "instructions of NICs",
             "of the driver", "of kio"),
            [kio_row(r) for r in rows]),
        "kio_users": rows[0]["users"],
    }


def kio_plot(folder, rows):
    mine = sorted(pick(rows, entries=max(int(r["entries"]) for r in rows)),
                  key=lambda r: int(r["hogs"]))
    worst = [r for r in mine if r["hogs"] == mine[-1]["hogs"] and r["p50_us"]]
    most = {r["how"]: num(r, "p99_us") for r in worst}
    plot.lines(os.path.join(folder, "kio.svg"),
               f"Beside {mine[-1]['hogs']} greedy processes 99 % of the I/Os take "
               f"{most['kio-rdma']:.0f} us at most in the kernel by RDMA, {most['user']:.0f} us at "
               "user level", "latency of an I/O of 16 KiB", "greedy processes", "us",
               [(f"{words}, {name}", [(num(r, "hogs"), num(r, key))
                                      for r in pick(mine, how=how)])
                for how, words in KIO_WORDS.items()
                for key, name in (("p50_us", "median"), ("p99_us", "99 %"))],
               low=0)


# ----------------------------------------------------------------------- virt

def virt_words(t):
    """Measured apart, for it is not to be had to the byte."""
    if "virt" not in t:
        return "Not measured: `make eval VIRT=1`."
    return table(("point", "on virt", "simulated"),
                 [(r["point"], r["virt"], r["simulated"])
                  for r in t["virt"]])


def plots(folder, t):
    residency_plots(folder, t["residency"])
    kio_plot(folder, t["kio"])


def facts(t):
    return {**residency_facts(t["residency"]), **list_facts(t["lists"]),
            **kio_facts(t["kio"])}
