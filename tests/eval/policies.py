#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Replacement policies over patterns and sizes of the table (goals P7 and P8).

Prints the points of hit ratio that each policy is behind Belady's MIN, and
writes build/eval/policies.json; with the usual options it records them for
docs/RESULTS.md, too. `floor`: how far behind it is who knows what to
keep from the odds alone, see floor(). --record PATTERN=FILE adds a trace of
ids. --recorded: only the traces of real runs (recorded.py).
"""
import argparse
import collections
import json
import os
import subprocess
import sys

import recorded
import traces

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))

import record  # noqa: E402

OUT = os.path.join(ROOT, "build", "eval")
SIM = [os.path.join(ROOT, "build", "bin", "unic-policysim")]
SIZES = (64, 256, 1024, 4096)
SMALL = (64, 128, 256, 512)  # tables that a real run does not fit in
POLICIES = ("default", "s3fifo", "lru", "lfu", "random")
# The odds of its pages stay the same for ever, or for so many references.
STEADY = {**dict.fromkeys(set(traces.PATTERNS) - {"moving window", "stack"},
                          traces.REFS),
          "phases": 25000, "phases of rings": 25000}


def simulate(path, fmt, sizes, *args):
    """{(policy, entries): row of the JSON}"""
    out = os.path.join(OUT, "run.json")
    subprocess.run([*SIM, "--format", fmt, "--entries",
                    ",".join(map(str, sizes)), "--json", out, *args, path],
                   check=True, stdout=subprocess.DEVNULL)
    with open(out) as f:
        return {(r["policy"], r["entries"]): r for r in json.load(f)}


def write(pattern, seed):
    path = os.path.join(OUT, pattern.replace(" ", "_") + ".csv")
    with open(path, "w") as f:
        f.writelines(traces.trace(pattern, seed))
    return path


def static(path, entries, steady):
    """Hit ratio of the pages best kept, chosen afterwards, as long as the odds
    stay the same. What was there before may be kept for nothing."""
    with open(path) as f:
        keys = [line.split(",")[1] for line in f]
    seen, hits = set(), 0
    for i in range(0, len(keys), steady):
        counts = collections.Counter(keys[i:i + steady])
        gains = sorted((n - (k not in seen) for k, n in counts.items()),
                       reverse=True)
        hits += sum(gains[:entries])
        seen.update(counts)
    return hits / len(keys)


def floor(name, path, size, cell):
    """Points behind MIN that not even he can avoid who is told the odds: of
    independent references, and of rings, he keeps the same pages as long as
    odds are the same; of a stack, where what was used last is likeliest, he
    does as `lru`. None: not known."""
    if name == "stack":
        return cell["lru"]
    if name not in STEADY:
        return None
    return max(0, cell["belady"] - 100 * static(path, size, STEADY[name]))


def regrets(name, path, fmt, table):
    rows = simulate(path, fmt, SIZES)
    for size in SIZES:
        best = 100 * rows["belady", size]["hit_ratio"]
        cell = {"pattern": name, "entries": size, "belady": best,
                "floor": None,
                **{p: best - 100 * rows[p, size]["hit_ratio"]
                   for p in POLICIES}}
        cell["floor"] = floor(name, path, size, cell)
        table.append(cell)
        print(f"{name:18}{size:6}{best:8.1f}"
              + "".join(f"{cell[p]:9.1f}" for p in POLICIES)
              + (f"{cell['floor']:9.1f}" if cell["floor"] is not None else ""))


def summary(title, cells):
    print(f"{title:18}{len(cells):6} cells ", end="")
    for p in POLICIES:
        print(f" {sum(c[p] for c in cells) / len(cells):8.2f}", end="")
    print("   mean")
    print(" " * 31 + "".join(f" {max(c[p] for c in cells):8.2f}"
                             for p in POLICIES) + "   worst")


def hinted(seed):
    result = []
    for name, (size, _) in traces.HINTED.items():
        rows = simulate(write(name, seed), "csv", [size])
        behind = 100 * (rows["belady", size]["hit_ratio"]
                        - rows["app", size]["hit_ratio"])
        result.append({"pattern": name, "app": behind})
        print(f"{name:40}{behind:6.2f} behind Belady")
    return result


def lone(rows, without, policy, size):
    """What is left of the hit ratios of processes 1 to 7."""
    with_it = rows[policy, size]["process_hit_ratios"][1:]
    alone = without[policy, size]["process_hit_ratios"][1:]
    return 100 * sum(with_it) / sum(alone)


def eighth(path, size):
    """What MIN keeps of a hit ratio with an eighth less, each its share."""
    rows = {n: simulate(path, "csv", [n], "--without", "0")
            for n in (size, size * 7 // 8)}
    ratio = [sum(rows[n]["belady", n]["process_hit_ratios"][1:]) for n in rows]
    return 100 * ratio[1] / ratio[0]


def hoarding(seed):
    """P8: of the others' hit ratio without the hoarder, how much is left.
    `min`: of MIN's own, if the hoarder keeps its eighth of the table."""
    path, result = write("hoarder", seed), []
    for title, args in (("one policy for all", ()),
                        ("a policy and a fair share each", ("--shares",))):
        rows = simulate(path, "csv", (256, 1024), *args)
        without = simulate(path, "csv", (256, 1024), "--without", "0", *args)
        for size in (256, 1024):
            kept = {p: lone(rows, without, p, size) for p in POLICIES}
            least = eighth(path, size) if args else None
            result.append({"shares": bool(args), "entries": size, **kept,
                           "min": least})
            print(f"{title:34}{size:6}"
                  + "".join(f"{kept[p]:9.1f}" for p in POLICIES)
                  + (f"{least:9.1f}" if args else ""))
    return result


def real():
    """The traces of real runs, each process with its fair share."""
    result = []
    print(f"{'run':10}{'size':>6}{'Belady':>8}" + "".join(f"{p:>9}" for p in POLICIES))
    for run, how in sorted(recorded.index().items()):
        rows = simulate(recorded.unpack(run, OUT), "csv", SMALL, "--shares")
        for size in SMALL:
            best = 100 * rows["belady", size]["hit_ratio"]
            result.append({"run": run, "entries": size, "references": how["references"],
                           "belady": best,
                           **{p: best - 100 * rows[p, size]["hit_ratio"] for p in POLICIES}})
            print(f"{run:10}{size:6}{best:8.1f}"
                  + "".join(f"{result[-1][p]:9.1f}" for p in POLICIES))
    return result


def mean(cells, what):
    """Where no floor is known, it is what the default does."""
    return sum(c["default"] if c[what] is None else c[what] for c in cells) / len(cells)


def keep(cells, hints, hoard):
    """For docs/RESULTS.md, which `make figures` writes."""
    names = list(dict.fromkeys(c["pattern"] for c in cells))
    shown = ("default", "s3fifo", "lru", "random", "floor")
    rows = []
    for name in names:
        some = [c for c in cells if c["pattern"] == name]
        rows.append([name, *[f"{c['default']:.1f}" for c in some],
                     *["" if some[0][what] is None else f"{mean(some, what):.1f}"
                       for what in shown]])
    for title, some in ((f"mean of {len(cells)} cells", cells), ("mean of the rings alone", [
            c for c in cells if c["pattern"].startswith("ring of")])):
        rows.append([title, *[""] * len(SIZES), *[f"{mean(some, w):.2f}" for w in shown]])
    rows.append(["worst", *[""] * len(SIZES), *[f"{max(c[w] or 0 for c in cells):.1f}"
                                               for w in shown]])
    record.table("policies", "behind", ("pattern", *SIZES, "default, mean", *shown[1:]), rows)
    record.table("policies", "hints", ("rings with hints, policy `app`", "behind Belady"),
                 [(h["pattern"], f"{h['app']:.1f}") for h in hints])
    record.table("policies", "hoarder", ("", "entries", *shown[:-1], "MIN with 7/8"), [
        ("a policy and a fair share each" if h["shares"] else "one policy for all", h["entries"],
         *[f"{h[p]:.1f}" for p in shown[:-1]], f"{h['min']:.1f}" if h["min"] else "")
        for h in hoard])


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", default="1")
    ap.add_argument("--remember", default="2")
    ap.add_argument("--only", type=lambda s: s.split(","), metavar="PATTERN,..",
                    default=list(traces.PATTERNS))
    ap.add_argument("--others", action="store_const", dest="only",
                    const=list(traces.OTHERS))
    ap.add_argument("--json", default=os.path.join(OUT, "policies.json"))
    ap.add_argument("--record", action="append", default=[],
                    metavar="PATTERN=FILE")
    ap.add_argument("--recorded", action="store_true")
    args = ap.parse_args()
    SIM[1:] = ["--remember", args.remember]
    os.makedirs(OUT, exist_ok=True)
    if args.recorded:
        with open(args.json, "w") as f:
            json.dump({"recorded": real()}, f, indent=1)
        return
    table = []
    print(f"{'pattern':18}{'size':>6}{'Belady':>8}"
          + "".join(f"{p:>9}" for p in POLICIES) + f"{'floor':>9}")
    for name in args.only:
        regrets(name, write(name, args.seed), "csv", table)
    for record in args.record:
        name, _, path = record.partition("=")
        regrets(name, path, "ids", table)
    print()
    summary("all", table)
    summary("but uniform", [c for c in table if c["pattern"] != "uniform"])
    rings = [c for c in table if c["pattern"].startswith("ring of")]
    if rings:
        summary("rings", rings)
    print("\nrings with hints, policy `app`:")
    hints = hinted(args.seed)
    print("\nbeside a hoarder, % of the others' hit ratio without it:")
    print(" " * 40 + "".join(f"{p:>9}" for p in (*POLICIES, "min")))
    hoard = hoarding(args.seed)
    print("\ntraces of real runs:")
    runs = real()
    if not args.record and args.only == list(traces.PATTERNS) and \
            (args.seed, args.remember, args.json) == ("1", "2", ap.get_default("json")):
        keep(table, hints, hoard)
    with open(args.json, "w") as f:
        json.dump({"regret": table, "hints": hints, "hoarder": hoard,
                   "recorded": runs}, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
