# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""report.py - plots and docs/evidence/evaluation.md from the CSV files.

The words are in report.in.md; every {name} in it is a number or a table made
here from the rows, so none is typed by hand.
"""
import csv
import os
import re

import goals
import made
import plot
import recorded
import report_cost
import report_fair
from tables import num, pick, short, table

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATE = os.path.join(HERE, "report.in.md")
HOWS = (("unic", "unic"), ("quota", "static quotas"),
        ("today", "no revocation"))


def load(folder):
    tables = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".csv"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                tables[name[:-4]] = list(csv.DictReader(file))
    return tables


def over_seeds(rows):
    """Rows that differ in their seed only become one, of their means."""
    groups = {}
    for r in rows:
        key = (r["how"], r["meek"], r["load_pct"], r["T_us"])
        groups.setdefault(key, []).append(r)
    return [{k: same[0][k] if k in ("how", "meek", "load_pct", "T_us", "ms")
             else mean(same, k) for k in same[0]} for same in groups.values()]


def mean(rows, key):
    return f"{sum(num(r, key) for r in rows) / len(rows):.6g}"


# ------------------------------------------------------------------ hoarding

def most(rows, key="meek"):
    return max(int(r[key]) for r in rows)


def hoard_plots(folder, rows):
    meek = most(rows)

    def share(r):
        return num(r, "meek_held") / num(r, "meek_fair")

    def use(r):
        return num(r, "used_pct")

    def ops(r):
        return num(r, "meek_ops") / seconds(r)

    def least(how, of):
        return min(of(r) for r in pick(rows, how=how, meek=meek))

    def against_load(name, finding, what, ylabel, of, **axis):
        plot.lines(os.path.join(folder, name), finding, what,
                   "working set of a meek process, % of an equal part", ylabel,
                   [(words, [(num(r, "load_pct"), of(r))
                             for r in pick(rows, how=how, meek=meek)])
                    for how, words in HOWS], logx=True, **axis)

    beside = f"{meek} meek processes beside a greedy one"
    against_load("hoard_share.svg", f"Under unic a meek process has {100 * least('unic', share):.0f} % "
                 "of its fair share or more; without revocation down to "
                 f"{100 * least('today', share):.0f} %",
                 beside, "entries held / fair share", share, low=0, high=1.1)
    against_load("hoard_use.svg", f"Static quotas leave up to {100 - least('quota', use):.0f} % of "
                 f"the table unused, unic {100 - least('unic', use):.0f} %", beside,
                 "% of the entries in use", use, low=0, high=105)
    stuck = max(ops(r) for r in pick(rows, how="today", meek=meek))
    against_load("hoard_ops.svg", f"A meek process does {least('unic', ops):.0f} operations a "
                 f"second or more under unic; without revocation {stuck:.0f} at most",
                 beside, "operations per second", ops, low=0)


# The last third of a run is measured.
def seconds(row):
    return num(row, "ms") / 3000


def series_plot(folder, rows):
    out = []
    for how, words in HOWS:
        mine = pick(rows, how=how)
        keys = [k for k in mine[0] if re.fullmatch(r"meek\d+", k)]
        out.append((f"greedy, {words}", [(num(r, "at_ms"), num(r, "greedy"))
                                         for r in mine]))
        out.append((f"meek, {words}",
                    [(num(r, "at_ms"), sum(num(r, k) for k in keys) / len(keys))
                     for r in mine]))
    ends = {words: points[-1][1] for words, points in out}
    plot.lines(os.path.join(folder, "series.svg"),
               f"Newcomers have 95 % of their part after {settled_ms(rows):.0f} ms under unic; "
               f"without revocation they end with {ends['meek, no revocation']:.0f} of "
               f"{ends['meek, unic']:.0f} entries", "one greedy process holds the table, others arrive",
               "ms", "entries", out, low=0)


def settled_ms(rows):
    """When the least of the meek has 95 % of what it has at the end."""
    mine = pick(rows, how="unic")
    keys = [k for k in mine[0] if re.fullmatch(r"meek\d+", k)]
    least = [min(num(r, k) for k in keys) for r in mine]
    return next(num(r, "at_ms") for r, n in zip(mine, least)
                if n >= 0.95 * least[-1])


def wait_plot(folder, rows):
    def of(key):
        return [(num(r, "T_us") / 1000, num(r, key) / 1000) for r in rows]
    late, entitled = (sum(int(r[k]) for r in rows) for k in ("entitled_late", "entitled"))
    plot.lines(os.path.join(folder, "wait.svg"),
               f"{late} of {entitled} requests within the fair share waited longer than B",
               "REGISTER_WAIT while processes come and go", "T, ms", "waited, ms", [("median", of("wait_p50_us")),
                              ("99 %", of("wait_p99_us")),
                              ("longest", of("wait_max_us")),
                              ("B", of("bound_us"))], logx=True, low=0)


def hoard_facts(t):
    unic = pick(t["hoard"], how="unic")
    rows = over_seeds(t["hoard"])
    meek = most(rows)
    loads = sorted({int(r["load_pct"]) for r in rows})
    over = [l for l in loads if l > 100][0]

    def cell(how, load, key):
        return pick(rows, how=how, meek=meek, load_pct=load)[0][key]

    return {
        "meek_most": meek,
        "hoard_seeds": len({r["seed"] for r in t["hoard"]}), "load_over": over,
        "load_least": loads[0],
        "jain_worst": f"{min(num(r, 'jain_meek') for r in unic):.4f}",
        "jain_all_worst": f"{min(num(r, 'jain_all') for r in unic):.4f}",
        "use_worst": f"{min(num(r, 'used_pct') for r in unic):.2f}",
        "quota_use": f"{float(cell('quota', loads[0], 'used_pct')):.1f}",
        "quota_greedy": f"{float(cell('quota', loads[0], 'greedy_held')):.1f}",
        "unic_greedy": f"{float(cell('unic', loads[0], 'greedy_held')):.1f}",
        "today_meek": f"{float(cell('today', over, 'meek_held')):.1f}",
        "today_ops": f"{float(cell('today', over, 'meek_ops')):.0f}",
        "unic_over_meek": f"{float(cell('unic', over, 'meek_held')):.1f}",
        "quota_over_meek": f"{float(cell('quota', over, 'meek_held')):.1f}",
        "unic_over_greedy": f"{float(cell('unic', over, 'greedy_held')):.1f}",
        "over_fair": cell("unic", over, "meek_fair"),
        "entitled": sum(int(r["entitled"]) for r in unic + t["wait"]),
        "entitled_late": sum(int(r["entitled_late"])
                             for r in unic + t["wait"]),
        "hoard_T": short(num(rows[0], "T_us") / 1000),
        "alone_ms": t["alone"][0]["ms"],
        "alone_off": pick(t["alone"], watermarks=0)[0]["used_pct"],
        "alone_on": pick(t["alone"], watermarks=1)[0]["used_pct"],
        "alone_notices": pick(t["alone"], watermarks=1)[0]["notices"],
        "settled_ms": f"{settled_ms(t['series']):.0f}",
        "series_T": short(num(t["series"][0], "T_us") / 1000),
        "hoard_table": table(
            ("processes", "load %", "how", "Jain, meek", "Jain, all",
             "TLB in use %", "meek holds", "greedy holds", "meek op/s"),
            [(int(r["meek"]) + 1, r["load_pct"], dict(HOWS)[r["how"]],
              f"{num(r, 'jain_meek'):.4f}", f"{num(r, 'jain_all'):.4f}",
              f"{num(r, 'used_pct'):.1f}", f"{num(r, 'meek_held'):.1f}",
              f"{num(r, 'greedy_held'):.1f}",
              f"{num(r, 'meek_ops') / seconds(r):.0f}")
             for r in rows if int(r["meek"]) == meek]),
        "tune_table": table(
            ("processes", "watermarks", "asks first", "meek op/s",
             "meek holds", "Jain, all", "waits", "median, ms", "99 %, ms",
             "notices"),
            [(int(r["meek"]) + 1, "yes" if r["watermarks"] == "1" else "none",
              "yes" if r["how"] == "unic" else "no",
              f"{num(r, 'meek_ops') / seconds(r):.0f}", r["meek_held"],
              f"{num(r, 'jain_all'):.4f}", r["waits"],
              short(num(r, "wait_p50_us") / 1000),
              short(num(r, "wait_p99_us") / 1000), r["notices"])
             for r in t["tune"]]),
        "tune_quota": table(
            ("processes", "meek op/s under static quotas"),
            [(int(r["meek"]) + 1, f"{num(r, 'meek_ops') / seconds(r):.0f}")
             for r in pick(rows, how="quota", load_pct=200)
             if r["meek"] in {u["meek"] for u in t["tune"]}]),
        "wait_least": f"{goals.WAITS:,}",
        "wait_table": table(
            ("T, ms", "waits", "median, ms", "99 %, ms", "longest, ms",
             "B, ms", "within the share", "of them later than B"),
            [(short(num(r, "T_us") / 1000), r["waits"],
              short(num(r, "wait_p50_us") / 1000),
              short(num(r, "wait_p99_us") / 1000),
              short(num(r, "wait_max_us") / 1000),
              short(num(r, "bound_us") / 1000), r["entitled"],
              r["entitled_late"]) for r in t["wait"]]),
    }


# --------------------------------------------------------------------- grace

SIDES = (("local", "0", "local region, no manager"),
         ("remote", "0", "remote region, no manager"),
         ("local", "1", "local region, manager"),
         ("remote", "1", "remote region, manager"))


def grace_plot(folder, rows):
    managed = pick(rows, manager=1)
    failed, trials = (sum(int(r[k]) for r in managed) for k in ("failed", "trials"))
    plot.lines(os.path.join(folder, "grace.svg"),
               f"With the buffer manager {failed} of {trials} transfers fail; without it those "
               "that outlast T", "a region is asked back during the transfer", "T, ms (more than 0)", "failed, %",
               [(words, [(num(r, "T_us") / 1000,
                          100 * num(r, "failed") / num(r, "trials"))
                         for r in pick(rows, side=side, manager=manager)
                         if int(r["T_us"])])
                for side, manager, words in SIDES], logx=True, low=-2,
               high=100)


def grace_facts(t):
    rows = t["grace"]
    plain, managed = pick(rows, manager=0), pick(rows, manager=1)
    return {
        "grace_trials": rows[0]["trials"],
        "grace_wrong": sum(int(r["unlike_rule"]) for r in plain),
        "grace_clear": sum(int(r["trials"]) - int(r["edge"]) for r in plain),
        "grace_edge": sum(int(r["edge"]) for r in plain),
        "grace_failed": sum(int(r["failed"]) for r in managed),
        "grace_all": sum(int(r["trials"]) for r in managed),
        "grace_table": table(
            ("T, ms", "side", "manager", "failed", "outlast T",
             "unlike the rule", "too close to say", "posted again",
             "later, median ms", "later, most ms"),
            [(short(num(r, "T_us") / 1000), r["side"],
              "yes" if r["manager"] == "1" else "no",
              f"{r['failed']} of {r['trials']}", r["beyond"],
              r["unlike_rule"] if r["manager"] == "0" else "",
              r["edge"], r["retries"],
              short(num(r, "later_p50_us") / 1000)
              if r["manager"] == "1" else "",
              short(num(r, "later_max_us") / 1000)
              if r["manager"] == "1" else "") for r in rows]),
    }


# ------------------------------------------------------------------- messages

def message_facts(t):
    rows = t["message"]
    lossy = [r for r in rows if int(r["loss_ppm"])]
    return {
        "message_sent": sum(int(r["sent"]) for r in lossy),
        "message_table": table(
            ("posted", "loss %", "sent", "lost", "out of order", "damaged", "failed",
             "RNR NAKs", "EVICTED", "other NAKs", "regions evicted",
             "posted buffers hit", "substituted"),
            [(r["posted"], f"{int(r['loss_ppm']) / 10000:g}", r["sent"], r["lost"],
              r["out_of_order"], r["damaged"], r["failed"], r["rnr_naks"],
              r["vacks"], r["naks"], r["evicted_msg"], r["hit"],
              r["substituted"]) for r in rows]),
    }


# ---------------------------------------------------------------------- scale

def scale_curves(rows):
    out = {"entries": {}, "procs": {}}
    for r in rows:
        scarce = r["mrs"] != "4096"
        at = [("entries", "entries")] if r["procs"] == "8" else []
        if r["entries"] == "1024" and not scarce:
            at.append(("procs", "procs"))
        for axis, key in at:
            out[axis].setdefault(r["operation"], []).append(
                (num(r, key), num(r, "instructions")))
    return {a: {o: sorted(p) for o, p in sorted(c.items())}
            for a, c in out.items()}


def scale_plots(folder, curves):
    for axis, words in (("entries", "entries of the TLB, 8 processes"),
                        ("procs", "processes, 1024 entries")):
        series = [s for s in curves[axis].items() if len(s[1]) > 1]
        if series:
            name, points = max(series, key=lambda s: s[1][-1][1] / s[1][0][1])
            times = points[-1][1] / points[0][1]
            plot.lines(os.path.join(folder, f"scale_{axis}.svg"),
                       f"From {points[0][0]:.0f} to {points[-1][0]:.0f} {re.match('[a-z]+', words)[0]} "
                       f"no operation comes to more than {times:.1f} times its cost ({name})",
                       "instructions of an operation", words, "instructions", series, logx=True,
                       logy=True)


def scale_table(curves, axis):
    sizes = sorted({x for p in curves[axis].values() for x, _ in p})
    return table(["operation"] + [f"{x:.0f}" for x in sizes],
                 [[o] + [f"{dict(p)[x]:.0f}" if x in dict(p) else ""
                         for x in sizes] for o, p in curves[axis].items()])


# ---------------------------------------------------------------- replacement

POLICIES = ("default", "s3fifo", "lru", "lfu", "random")


def mean(rows, key):
    return sum(num(r, key) for r in rows) / len(rows)


def replacement_plot(folder, rows):
    sizes = sorted({int(r["entries"]) for r in rows})
    plot.lines(os.path.join(folder, "replacement.svg"),
               f"The default is {mean(rows, 'default'):.1f} points behind Belady's MIN, lru "
               f"{mean(rows, 'lru'):.1f}", "mean over all patterns", "entries of the table",
               "points of hit ratio behind MIN",
               [(p, [(n, mean(pick(rows, entries=n), p)) for n in sizes])
                for p in POLICIES], logx=True, low=0)


def known_floor(rows):
    """Mean of the floors; where none is known, what the default does."""
    return sum(num(r, "floor" if r["floor"] else "default")
               for r in rows) / len(rows)


def replacement_table(rows):
    sizes = sorted({int(r["entries"]) for r in rows})
    out = []
    for name in dict.fromkeys(r["pattern"] for r in rows):
        mine = pick(rows, pattern=name)
        floors = [r for r in mine if r["floor"]]
        out.append([name] + [f"{num(r, 'default'):.1f}" for r in mine] +
                   [f"{mean(mine, p):.1f}" for p in POLICIES] +
                   [f"{mean(floors, 'floor'):.1f}" if floors else ""])
    out.append(["**mean**"] +
               [f"{mean(pick(rows, entries=n), 'default'):.1f}"
                for n in sizes] +
               [f"**{mean(rows, p):.1f}**" for p in POLICIES] +
               [f"**{known_floor(rows):.1f}**"])
    return table(["pattern"] + [f"{n:,}" for n in sizes] +
                 [f"{p}, mean" for p in POLICIES] + ["floor"], out)


def better_cells(rows, of="pattern"):
    """Where another policy is better than the default by more than 1 point."""
    found = [f"{p} by {num(r, 'default') - num(r, p):.1f} in `{r[of]}`, "
             f"{r['entries']} entries" for r in rows for p in POLICIES
             if num(r, "default") - num(r, p) > 1]
    return "; ".join(found) or "none"


def replacement_facts(t):
    return {
        "replacement_better": better_cells(t["replacement"]),
        "replacement_cells": len(t["replacement"]),
        "replacement_table": replacement_table(t["replacement"]),
        "replacement_floor": f"{known_floor(t['replacement']):.2f}",
        "replacement_high": sum(num(r, "floor") > 10 for r in t["replacement"]
                                if r["floor"]),
        "hints_table": table(("rings with hints, policy `app`", "behind Belady"),
                             [(r["pattern"].removeprefix("hints, "), r["app"])
                              for r in t["hints"]]),
        "stream_table": table(
            ("shares", "entries", *POLICIES, "MIN with 7/8"),
            [("a policy and a fair share each" if r["shares"] == "1" else
              "one policy for all", r["entries"],
              *[f"{num(r, p):.1f}" for p in POLICIES],
              f"{num(r, 'min'):.1f}" if r["min"] else "") for r in t["stream"]]),
    }


PAIN_HOWS = (("choice", "choice of a region"), ("reaper", "depth of the reaper"))


def spread(rows, key, scale):
    """Mean, least and most over the seeds."""
    all_of = [num(r, key) / scale for r in rows]
    return (f"{sum(all_of) / len(all_of):.3f} ({min(all_of):.3f} to "
            f"{max(all_of):.3f})")


def pain_facts(t):
    cells = [(words, weight, pick(t["pain"], how=how, weight_pct=weight))
             for how, words in PAIN_HOWS for weight in (100, 0)]
    return {
        "pain_seeds": len(cells[0][2]),
        "pain_table": table(
            ("part", "weight, %", "loss, 10^6", "late for each byte, us",
             "late for each operation, us", "4 KiB, us", "8 bytes, us", "regions taken"),
            [(words, weight, spread(rows, "loss", 1e6),
              spread(rows, "byte_stall_ns", 1000), spread(rows, "stall_ns", 1000),
              f"{mean(rows, 'bulk_stall_ns') / 1000:.2f}",
              f"{mean(rows, 'small_stall_ns') / 1000:.2f}"
              if any(num(r, "small_ops") for r in rows) else "",
              f"{mean(rows, 'evictions'):.0f}") for words, weight, rows in cells]),
    }


def recorded_facts(rows):
    runs = recorded.index()
    return {
        "recorded_table": table(
            ("run", "entries", "MIN hits, %", *POLICIES),
            [(r["run"], r["entries"], f"{num(r, 'belady'):.1f}",
              *[f"{num(r, p):.1f}" for p in POLICIES]) for r in rows]),
        "recorded_runs": table(
            ("run", "references", "of", "version", "commands"),
            [(name, f"{how['references']:,}", f"{how['of']:,}", how["version"],
              "; ".join(f"`{c}`" for c in how["commands"]))
             for name, how in sorted(runs.items())]),
        "recorded_worst": f"{max(num(r, 'default') for r in rows):.1f}",
        "recorded_better": better_cells(rows, "run"),
    }


def goals_table(rows):
    return table(("goal", "found", "met"),
                 [(r["text"], r["found"],
                   "yes" if r["met"] == "yes" else
                   f"no{': ' + r['known'] if r['known'] else ''}")
                  for r in rows])


def write(folder, page):
    t = load(folder)
    curves = scale_curves(t["scale"])
    hoard_plots(folder, over_seeds(t["hoard"]))
    series_plot(folder, t["series"])
    wait_plot(folder, t["wait"])
    grace_plot(folder, t["grace"])
    scale_plots(folder, curves)
    replacement_plot(folder, t["replacement"])
    report_cost.plots(folder, t)
    facts = {"versions": made.words(folder), **replacement_facts(t), **hoard_facts(t), **grace_facts(t), **message_facts(t),
             **recorded_facts(t["recorded"]), **report_cost.facts(t), **report_fair.facts(t["fair"]), **pain_facts(t),
             "scale_entries": scale_table(curves, "entries"),
             "scale_procs": scale_table(curves, "procs"),
             "virt": report_cost.virt_words(t),
             "goals": goals_table(t["goals"]),
             "goals_met": sum(r["met"] == "yes" for r in t["goals"]),
             "goals_all": len(t["goals"])}
    with open(TEMPLATE, encoding="utf-8") as file:
        words = re.sub(r"<!-- .*? -->\n", "", file.read(), flags=re.S)
    with open(page, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\{(\w+)\}", lambda m: str(facts[m[1]]), words))
