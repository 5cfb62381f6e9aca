#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Deliberate breaks of what must not break: the access check, the grace timer,
the payload tokens, the fair share. Each is made in a copy of the tree, the unit
tests of the core are built and run there, and must go red.

usage: mutations.py            prints a table, ends in "N passed, N failed"
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "build", "mutations")
PARTS = ("abi", "boards", "firmware", "hal", "tests")
TESTS = ("test_mr", "test_notice", "test_token", "test_share", "test_evict",
         "test_revoke", "test_rc", "test_hostile")
FLAGS = ["-std=gnu11", "-O1", "-w", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=all", "-Itests/unit", "-Ifirmware", "-Ihal",
         "-Ihal/fake", "-Iabi", "-Iboards/fake"]

# file, what stands there, what shall stand there, in words
MUTATIONS = (
    ("access.h", "mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT)",
     "mr->lock >> 8 == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT) >> 8",
     "access: the consumer's byte of the STag is not compared"),
    ("access.h", "(stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT);",
     "(stag ^ (uint32_t)mr->pd << UNIC_MR_IDX_SHIFT);",
     "access: the protection domain is not compared"),
    ("access.h", "!(need & ~(uint32_t)mr->rights);", "1;",
     "access: rights are not compared"),
    ("access.c", "len <= (uint32_t)mr->length - (uint32_t)off;",
     "len <= (uint32_t)mr->length;", "access: the end is not checked"),
    ("access.c", "!(off >> 32) && ", "", "access: wraps at 2^32"),
    ("access.c", "len <= (uint32_t)mr->length - (uint32_t)off;",
     "len <= (uint32_t)mr->length - (uint32_t)off + 1;",
     "access: one byte behind the end"),
    ("access.h", "mr->win_hi != (uint32_t)(iova >> 32)", "0",
     "window: the upper half of the address is not compared"),
    ("access.h", "room <= mr->win_bytes && len <= room", "len <= room",
     "window: has no beginning"),
    ("access.h", "room <= mr->win_bytes && len <= room",
     "room <= mr->win_bytes && len <= room + 1",
     "window: one byte behind its end"),
    ("access.h", "room <= mr->win_bytes && len <= room",
     "room <= mr->win_bytes + 1 && len <= room",
     "window: one byte before it"),
    ("window.h", "return w->last - iova <= w->places;",
     "return (int32_t)(w->last - iova) >= 0;",
     "run: its window has no beginning"),
    ("window.h", "return w->last - iova <= w->places;",
     "return (int32_t)(w->last - iova) <= (int32_t)w->places;",
     "run: one may end behind its window"),
    ("lane.c", "unic_from_le32(slot->sge[0].lkey) != win->stag ||", "",
     "run: only the first local STag is compared"),
    ("lane_rx.c", "((*reth & but_low.v) ^ want->reth)",
     "((*reth ^ want->reth) & ~but_low.v & 0)",
     "run: only the first RETH is compared"),
    ("lane_rx.c", "{ ~0u, 0, ~0u, ~0u }", "{ 0, 0, ~0u, ~0u }",
     "run: the upper half of a remote address is not compared"),
    ("mr.c", "mr->win_bytes = 0;", "", "window: outlives its region"),
    ("notice.c", "if (at <= now_ns)", "if (at <= now_ns + 1)",
     "grace: ends 1 ns early"),
    ("notice.c", "if (at <= now_ns)", "if (at < now_ns)",
     "grace: ends 1 ns late"),
    ("notice.c", "n->grace_us * 1000ull", "n->grace_us * 999ull",
     "grace: 0.1 % too short"),
    ("token.c", "return unic_whole(&t->key) == key &&",
     "return (uint32_t)t->key == (uint32_t)key &&",
     "token: half of the key is compared"),
    ("token.c", "end <= t->length;",
     "end <= t->length + 1;",
     "token: one byte too many is placed"),
    ("token.c", "t->lock |= UNIC_TOKEN_LOCK(0, UNIC_TOKEN_S_CLAIMED);", "",
     "token: a claim does not cancel (two messages for one token)"),
    ("token.c", "unic_whole(&nic->now_ns) >=",
     "unic_whole(&nic->now_ns) >", "token: lives 1 ns too long"),
    ("token.c", "ipv4 == qp->dest_ipv4)", "1)",
     "token: from any address"),
    ("token.c", "qpn == qp->dest_qpn)", "1)",
     "token: from any queue pair"),
    ("token.c", "&& t->lock == qp->pd;", "&& !unic_token_state(t);",
     "token: good on any protection domain"),
    ("share.c", "net * s->weights >", "net * s->weights >=",
     "share: who holds just his share is a victim"),
    ("share.c", "if ((uint64_t)net * s->weights >",
     "if (wanter == UNIC_OWNER_NIL || (uint64_t)net * s->weights >",
     "share: for a watermark anybody gives"),
    ("share.c", "if (with > s->capacity)", "if (0)",
     "share: a product of units and weight wraps"),
    ("evict.c", "unic_mr_strip(nic, idx); /* INV-3 */", "",
     "evict: the entries are not freed"),
    ("access.h", "return !mr->holds && ", "return ",
     "evict: does not wait for operations that hold the region"),
    ("access.h", "&& !mr->dmas && ", "&& ",
     "evict: does not wait for DMA in flight"),
    ("access.h", " && !mr->n_tokens && !mr->deps;", " && !mr->deps;",
     "evict: does not wait for messages that have claimed a token"),
)


def run(*args):
    return subprocess.run(args, cwd=WORK, capture_output=True, text=True,
                          timeout=300)


def build(path):
    obj = path.replace("/", "_")[:-2] + ".o"
    r = run("gcc", *FLAGS, "-c", path, "-o", obj)
    if r.returncode:
        sys.exit(f"mutations: {path} does not compile:\n{r.stderr}")
    return obj


def includers(sources):
    """For each file of firmware/, the sources that are made of it, however
    indirectly they include it."""
    of = {}
    for source in sources:
        for word in run("gcc", *FLAGS, "-MM", source).stdout.split():
            if word.startswith("firmware/"):
                of.setdefault(os.path.basename(word), []).append(source)
    return of


def red(objects):
    """True as soon as one test program fails."""
    for test in TESTS:
        r = run("gcc", "-fsanitize=address,undefined", *objects,
                f"tests_unit_{test}.o", "-lcmocka", "-o", test)
        if r.returncode:
            sys.exit(f"mutations: {test} does not link:\n{r.stderr}")
        try:
            if run(f"./{test}").returncode:
                return test
        except subprocess.TimeoutExpired:
            return test
    return None


def main():
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        return 0
    shutil.rmtree(WORK, ignore_errors=True)
    for part in PARTS:
        shutil.copytree(os.path.join(ROOT, part), os.path.join(WORK, part))
    # a board has the checksum by one of two, the tests by the table
    sources = sorted(f"firmware/{f}" for f in
                     os.listdir(os.path.join(WORK, "firmware"))
                     if f.endswith(".c") and f != "icrc_small.c")
    rig = [f"tests/unit/{name}.c" for name in ("pair", "rig", "rig_kernel")]
    objects = {s: build(s) for s in sources + ["hal/fake/fake_port.c"] + rig}
    concerns = includers(sources)
    for test in TESTS:
        build(f"tests/unit/{test}.c")
    by = red(objects.values())
    if by:
        sys.exit(f"mutations: {by} is red without any")
    survived = 0
    for name, old, new, words in MUTATIONS:
        path = os.path.join(WORK, "firmware", name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if old not in text:
            sys.exit(f"mutations: {name} does not say '{old}' any more")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        for source in concerns[name]:
            build(source)
        by = red(objects.values())
        survived += not by
        print(f"{'killed by ' + by if by else 'SURVIVED':24} {words}",
              flush=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        for source in concerns[name]:
            build(source)
    print(f"{len(MUTATIONS) - survived} passed, {survived} failed")
    return survived != 0


if __name__ == "__main__":
    sys.exit(main())
