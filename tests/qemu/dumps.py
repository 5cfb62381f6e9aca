# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Dumps of all tables of a NIC as of one instant, and what must be true of each."""
import json
import struct
import subprocess

import hosts
import unicd_client as u

TAKE = 0xffffffff


def rows(client, table, snapshot):
    """The rows of a table, and the snapshot that they are of."""
    got, first = [], 0
    while True:
        r = client.call(u.DUMP, struct.pack("<III", table, first, snapshot))
        got += [r.tail[i:i + 64] for i in range(0, len(r.tail), 64)]
        first, snapshot = r.get("II", 20)
        if not first:
            return got, snapshot


def refused(sock):
    """0 if a process without privilege gets none."""
    with u.Client(sock) as c:
        c.call(u.DUMP, struct.pack("<III", 1, 0, TAKE), want=u.PERMISSION)
    return 0


def take(sock):
    """What unicctl shows."""
    out = subprocess.run([f"{hosts.BIN}/unicctl", "--socket", sock, "--json", "dump"],
                         capture_output=True, check=True, timeout=hosts.PATIENCE_S)
    return json.loads(out.stdout)


def agree(tables):
    """What one table of a dump says must be what the others say."""
    regions = {r["mr"]: r for r in tables["mr"]}
    for p in tables["procs"]:
        mine = [r for r in regions.values() if r["proc"] == p["proc"]]
        assert sum(r["entries"] for r in mine) == p["held"], (p, mine)
        assert sum(t["proc"] == p["proc"] for t in tables["tokens"]) == p["tokens"], p
        assert sum(q["proc"] == p["proc"] for q in tables["qp"]) == p["qps"], p
    for mr, r in regions.items():
        entries = sum(t["mr"] == mr for t in tables["tlb"])
        assert r["state"] == "loading" or entries == r["entries"], (entries, r)
    assert all(t["mr"] in regions and t["page_bytes"] == regions[t["mr"]]["page"] for t in tables["tlb"])
    assert all(t["mr"] in regions for t in tables["tokens"])
