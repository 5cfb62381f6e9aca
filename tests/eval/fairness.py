# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""fairness.py - the fairness matrix: which attackers, which victims, and what is
due to a victim. fair.c runs a cell and knows what each verb does.

A cell is a run beside attackers; what is due comes from a run of the victim
alone, on the same machine. Of the link and the processor it used some part then.
Its weighted share entitles it to that rate, or to as much of it as its share of
what it needs most allows:

    due = alone * min(1, share / max(link, processor))

and the least of any 10 ms is LEAST of that, at least. (16 full frames of the
slower link take half a millisecond.) A victim with one small message at a time
leaves the NIC idle most of the time and has no share to use up: its longest
wait is at most what it is alone, and the time in which each of the others may
send 16 full frames for each unit of its weight, and as many may wait in the link.
"""

LEAST = 0.9
FRAMES = 16

# A name, the verb, processes, the weight of each and of the victim.
ATTACKERS = (
    ("write-1M", "write-1M", 1, 1, 1),
    ("write-8", "write-8", 1, 1, 1),
    ("send-4K", "send-4K", 1, 1, 1),
    ("read", "read", 1, 1, 1),
    ("read-8", "read-8", 1, 1, 1),
    ("read-by-peer", "read-by-peer", 1, 1, 1),
    ("read-by-peer-16", "read-by-peer-16", 1, 1, 1),
    ("read-8-by-peer", "read-8-by-peer", 1, 1, 1),
    ("write-8-by-peer", "write-8-by-peer", 1, 1, 1),
    ("uc-8", "uc-8", 1, 1, 1),
    ("uc-64K", "uc-64K", 1, 1, 1),
    ("ud-8", "ud-8", 1, 1, 1),
    ("ud-4K", "ud-4K", 1, 1, 1),
    ("paused", "paused", 1, 1, 1),
    ("paused-read-by-peer", "paused-read-by-peer", 1, 1, 1),
    ("silent", "silent", 1, 1, 1),
    ("not-ready", "not-ready", 1, 1, 1),
    ("lossy", "lossy", 1, 1, 1),
    ("wrong-rkey", "wrong-rkey", 1, 1, 1),
    ("wrong-token", "wrong-token", 1, 1, 1),
    ("wrong-lkey", "wrong-lkey", 1, 1, 1),
    ("bind", "bind", 1, 1, 1),
    ("reg-mr", "reg-mr", 1, 1, 1),
    ("reg-indirect", "reg-indirect", 1, 1, 1),
    ("reg-indirect-late", "reg-indirect-late", 1, 1, 1),
    ("inv-waits", "inv-waits", 1, 1, 1),
    ("inv-waits-paused", "inv-waits-paused", 1, 1, 1),
    ("regions", "regions", 1, 1, 1),
    ("queues", "queues", 1, 1, 1),
    ("tokens", "tokens", 1, 1, 1),
    ("batches", "batches", 1, 1, 1),
    ("dumps", "dumps", 1, 1, 1),
    ("doorbells", "doorbells", 1, 1, 1),
    ("3 x write-1M", "write-1M", 3, 1, 1),
    ("3 x write-8", "write-8", 3, 1, 1),
    ("3 x read-by-peer", "read-by-peer", 3, 1, 1),
    ("write-1M, 1 to 4", "write-1M", 1, 1, 4),
    ("write-1M, 4 to 1", "write-1M", 1, 4, 1),
    ("read-by-peer, 1 to 4", "read-by-peer", 1, 1, 4),
    ("read-by-peer, 4 to 1", "read-by-peer", 1, 4, 1),
)
VICTIMS = ("write-64K", "write-8", "send-4K", "read", "read-by-peer", "ping")
# ns for each full frame, of the link or the processor, whichever is slower.
REGIMES = {"link": 33800, "paths": 33800, "cpu": 700}
# With a link to each destination the victim shares its own with nobody.
PATHS_VICTIMS = ("write-64K", "read-by-peer", "ping")
# A link that is one queue for all is full for all when one does not drain it.
NEEDS_PATHS = ("paused", "paused-read-by-peer", "inv-waits-paused")
LONG = ("inv-waits", "inv-waits-paused")  # their cycle is T


def by_name(name):
    return next(a for a in ATTACKERS if a[0] == name)


def alone_of(attacker):
    """The machine that the victim has alone: which attacker's."""
    return attacker if attacker.endswith("-late") else "write-1M"


def options(attacker, victim, regime, alone=False):
    _, verb, n, weight, own = by_name(attacker)
    return {"how": f"{verb}:{0 if alone else n}:{weight}/{victim}:{own}/"
                   f"{regime}",
            "ms": 30 if attacker in LONG and not alone else 12}


def runs(attacker, victim, regime):
    """Is there such a cell?"""
    if regime == "paths":
        return victim in PATHS_VICTIMS
    return regime != "link" or attacker not in NEEDS_PATHS


def alones():
    """(attacker, victim, regime) of the runs alone."""
    machines = dict.fromkeys(alone_of(a[0]) for a in ATTACKERS)
    return [(a, v, r) for r in REGIMES for a in machines for v in VICTIMS
            if runs(a, v, r)]


def cells():
    return [(a[0], v, r) for r in REGIMES for a in ATTACKERS for v in VICTIMS
            if runs(a[0], v, r)]


def judge(cell, row, alone):
    """The row of a cell, with what is due and what of it there was."""
    name, victim, regime = cell
    _, _, n, weight, own = by_name(name)
    share = own / (own + n * weight)
    need = int(alone["cpu_ppm"]) / 1e6
    if regime == "link":
        need = max(need, int(alone["own_link_ppm"]) / 1e6)
    out = dict(attacker=name, victim=victim, regime=regime)
    if victim == "ping":
        due = int(alone["longest_ns"]) + REGIMES[regime] * FRAMES * (
            n * weight + 1)
        # nothing completed at all is the longest wait of all
        longest = int(row["longest_ns"]) if int(row["ops"]) else 10**9
        longest = max(longest, int(row["waiting_ns"]))
        out.update(due=f"{due / 1000:.0f} us",
                   got=f"{longest / 1000:.0f} us", pct=100 * due / longest)
        out["ok"] = longest <= due
    else:
        due = int(alone["least"]) * min(1, share / min(1, need))
        out.update(due=f"{due:.0f}", got=row["least"],
                   pct=100 * int(row["least"]) / due)
        out["ok"] = int(row["least"]) >= LEAST * due
    out["pct"] = f"{min(out['pct'], 999):.1f}"
    out["ok"] = "yes" if out["ok"] else "no"
    out.update(longest_us=f"{int(row['longest_ns']) / 1000:.0f}",
               link_pct=f"{int(row['link_ppm']) / 1e4:.1f}",
               cpu_pct=f"{int(row['cpu_ppm']) / 1e4:.1f}",
               alone=alone["least"], need_pct=f"{100 * need:.1f}",
               attacker_ops=row["attacker_ops"],
               attacker_failed=row["attacker_failed"])
    return out
