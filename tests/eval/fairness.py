# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""fairness.py - the fairness matrix: which attackers, which victims, and what is
due to a victim. fair.c runs a cell and knows what each verb does.

A cell is a run beside attackers; what is due comes from a run of the victim
alone, on the same machine. Of the link and the processor it used some part then.
Its weighted share entitles it to that rate, or to as much of it as its share of
what it needs most allows:

    due = alone * min(1, share / max(link, processor))

and the least that it gets in any 10 ms (16 full frames take less on any link
here) is LEAST of that, at least. A victim that has one small message at a time
leaves the NIC idle most of the time, and has no share to use up: its longest wait
is at most what it is alone, and the time of 16 full frames for each unit of the
others' weights and for each of three poll rounds, which send no more than that:
those in which it is posted, sent and answered. What a full frame takes, of the
link or of the processor, says the run of STREAM alone.
"""
import concurrent.futures

LEAST = 0.9
FRAMES = 16
ROUNDS = 3
FRAME_BYTES = 4096 + 74 + 24  # headers, and what Ethernet adds
WINDOW_NS = 10**7
STREAM = "write-64K"

# A name; the verb, processes, the weight of each and of the victim.
EQUAL = (
    # what they send
    "write-1M", "write-8", "send-4K", "uc-8", "uc-64K", "ud-8", "ud-4K",
    # what comes in, and what is answered
    "read", "read-8", "read-by-peer", "read-by-peer-16", "read-8-by-peer",
    "write-8-by-peer",
    # a peer that takes nothing, answers nothing, is not ready, loses frames
    "paused", "paused-read-by-peer", "silent", "not-ready", "lossy",
    "wrong-rkey", "wrong-token", "wrong-lkey",
    # local operations
    "bind", "reg-mr", "reg-indirect", "reg-indirect-late", "inv-waits",
    "inv-waits-paused",
    # commands and doorbells
    "regions", "queues", "tokens", "batches", "dumps", "doorbells")
ATTACKERS = {
    **{name: (name, 1, 1, 1) for name in EQUAL},
    "3 x write-1M": ("write-1M", 3, 1, 1),
    "3 x write-8": ("write-8", 3, 1, 1),
    "3 x read-by-peer": ("read-by-peer", 3, 1, 1),
    "write-1M, 1 to 4": ("write-1M", 1, 1, 4),
    "write-1M, 4 to 1": ("write-1M", 1, 4, 1),
    "read-by-peer, 1 to 4": ("read-by-peer", 1, 1, 4),
    "read-by-peer, 4 to 1": ("read-by-peer", 1, 4, 1),
}
VICTIMS = ("write-64K", "write-8", "send-4K", "read", "read-by-peer", "ping")
REGIMES = {
    "link": "one link of 1 Gbit/s",
    "paths": "one of 1 Gbit/s to each destination",
    "cpu": "links faster than the processor",
}
# With a link to each destination the victim shares its own with nobody.
PATHS_VICTIMS = ("write-64K", "read-by-peer", "ping")
# A link that is one queue for all is full for all when one does not drain it.
QUICK = ("write-1M", "read-by-peer", "paused")  # of a small evaluation
NEEDS_PATHS = ("paused", "paused-read-by-peer", "inv-waits-paused")
LONG = ("inv-waits", "inv-waits-paused")  # their cycle is T


def alone_of(attacker):
    """The machine that the victim has alone: which attacker's."""
    return attacker if attacker.endswith("-late") else EQUAL[0]


def options(cell, alone, heavy):
    """Of unic-eval. heavy: attackers have more weight than they should."""
    attacker, victim, regime = cell
    verb, n, weight, own = ATTACKERS[attacker]
    weight *= 8 if heavy else 1
    return {"how": f"{verb}:{0 if alone else n}:{weight}/{victim}:{own}/"
                   f"{regime}",
            "ms": 30 if attacker in LONG and not alone else 12}


def exists(attacker, victim, regime):
    if regime == "paths":
        return victim in PATHS_VICTIMS
    return regime != "link" or attacker not in NEEDS_PATHS


def cells(attackers=tuple(ATTACKERS)):
    """(attacker, victim, regime) of all."""
    return [(a, v, r) for r in REGIMES for a in attackers for v in VICTIMS
            if exists(a, v, r)]


def alone_cell(cell):
    return (alone_of(cell[0]), *cell[1:])


def stream_cell(cell):
    return (alone_of(cell[0]), STREAM, cell[2])


def run_all(wanted, call, workers, heavy=False):
    """{cell: row}, in this order; a string if the cell did not run. call: of
    the options of unic-eval, to a row or a string."""
    alone = {(a, True): None for c in wanted
             for a in (alone_cell(c), stream_cell(c))}
    jobs = [*alone, *((c, False) for c in wanted)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        found = dict(zip(jobs, pool.map(
            lambda j: call(options(*j, heavy)), jobs)))
    out = {}
    for cell in wanted:
        rows = [found[cell, False], found[alone_cell(cell), True],
                found[stream_cell(cell), True]]
        words = [x for x in rows if isinstance(x, str)]
        out[cell] = words[0] if words else judge(cell, *rows)
    return out


def latency(row):
    """What a message waited, at most; one that never ended, to the end."""
    return max(int(row["longest_ns"]), int(row["waiting_ns"]))


def judge(cell, row, alone, stream):
    """What the victim of a cell got, and what was due to it."""
    attacker, victim, regime = cell
    _, n, weight, own = ATTACKERS[attacker]
    share = own / (own + n * weight)
    need = int(alone["cpu_ppm"]) / 1e6
    if regime == "link":
        need = max(need, int(alone["own_link_ppm"]) / 1e6)
    if victim == "ping":
        frame_ns = WINDOW_NS * FRAME_BYTES / int(stream["least"])
        due = latency(alone) + frame_ns * FRAMES * (n * weight + ROUNDS)
        got, part = latency(row), due / latency(row)
    else:
        due = int(alone["least"]) * min(1, share / min(1, need))
        got, part = int(row["least"]), int(row["least"]) / due
    return {"attacker": attacker, "victim": victim, "regime": regime,
            "due": f"{due:.0f}", "got": got, "pct": f"{100 * part:.1f}",
            "ok": "yes" if part >= (1 if victim == "ping" else LEAST)
                  else "no",
            "longest_us": f"{latency(row) / 1000:.0f}",
            "link_pct": f"{int(row['link_ppm']) / 1e4:.1f}",
            "cpu_pct": f"{int(row['cpu_ppm']) / 1e4:.1f}",
            "attacker_ops": row["attacker_ops"],
            "attacker_failed": row["attacker_failed"]}
