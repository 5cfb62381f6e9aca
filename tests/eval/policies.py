#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Replacement policies over patterns and sizes of the table (goals P7 and P8).

Prints the points of hit ratio that each policy is behind Belady's MIN, and
writes build/eval/policies.json. `floor`: how far behind it the best choice of
pages to keep for ever is, known in advance - where references are independent
no policy can do better. --record PATTERN=FILE adds a trace of ids.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

import traces

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "eval")
SIM = [os.path.join(ROOT, "build", "bin", "unic-policysim")]
SIZES = (64, 256, 1024, 4096)
POLICIES = ("default", "s3fifo", "lru", "random")
INDEPENDENT = ("uniform", "zipf 0.8", "zipf 1.0", "zipf 1.2")


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


def keys(path):
    with open(path) as f:
        return collections.Counter(line.split(",")[1] for line in f)


def static(counts, entries):
    """Hit ratio of the most popular pages, kept for ever."""
    hits = sum(n - 1 for _, n in counts.most_common(entries))
    return hits / sum(counts.values())


def regrets(name, path, fmt, table):
    rows = simulate(path, fmt, SIZES)
    counts = keys(path) if name in INDEPENDENT else None
    for size in SIZES:
        best = rows["belady", size]["hit_ratio"]
        cell = {p: 100 * (best - rows[p, size]["hit_ratio"])
                for p in POLICIES}
        floor = 100 * (best - static(counts, size)) if counts else None
        table.append({"pattern": name, "entries": size, "belady": 100 * best,
                      "floor": floor, **cell})
        print(f"{name:18}{size:6}{100 * best:8.1f}"
              + "".join(f"{cell[p]:9.1f}" for p in POLICIES)
              + (f"{floor:9.1f}" if floor is not None else ""))


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


def hoarding(seed):
    """P8: of the others' hit ratio without the hoarder, how much is left."""
    path, result = write("hoarder", seed), []
    for title, args in (("one policy for all", ()),
                        ("a policy and a fair share each", ("--shares",))):
        rows = simulate(path, "csv", (256, 1024), *args)
        without = simulate(path, "csv", (256, 1024), "--without", "0", *args)
        for size in (256, 1024):
            kept = {p: lone(rows, without, p, size) for p in POLICIES}
            result.append({"shares": bool(args), "entries": size, **kept})
            print(f"{title:34}{size:6}"
                  + "".join(f"{kept[p]:9.1f}" for p in POLICIES))
    return result


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", default="1")
    ap.add_argument("--remember", default="2")
    ap.add_argument("--only", type=lambda s: s.split(","), metavar="PATTERN,..",
                    default=list(traces.PATTERNS))
    ap.add_argument("--json", default=os.path.join(OUT, "policies.json"))
    ap.add_argument("--record", action="append", default=[],
                    metavar="PATTERN=FILE")
    args = ap.parse_args()
    SIM[1:] = ["--remember", args.remember]
    os.makedirs(OUT, exist_ok=True)
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
    print(" " * 40 + "".join(f"{p:>9}" for p in POLICIES))
    hoard = hoarding(args.seed)
    with open(args.json, "w") as f:
        json.dump({"regret": table, "hints": hints, "hoarder": hoard}, f,
                  indent=1)


if __name__ == "__main__":
    sys.exit(main())
