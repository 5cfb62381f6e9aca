#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What unicd tells processes of their regions: waits, grants, notices, deadlines.

    test_unicd_notice.py [--board soft|virt|none]
"""
import os
import select
import signal
import struct
import sys
import time

from unicd_rig import child, main, ps, until
import unicd_client as u

# T: the usual one, one with time for requests, one that outlasts the tests
GRACE_US, NOTICE_US, LONG_US = 20_000, 2_000_000, 10_000_000
# T of a newcomer; how long idle regions are unused there, and usually
NEWCOMER_US, NEWCOMER_IDLE_US, USUAL_IDLE_US = 1_000_000, 50_000, 1_000_000
IDLE_MEANT = 1 << 4  # UNIC_PARAM_IDLE
PIECE = 16  # entries of a region of the newcomer's test


def test_cancel_races_grant(rig):
    """WAIT_CANCEL, then MR_DEREG, while the grant is under way: nothing is left behind,
    whichever comes first."""
    hog, c = rig.client(name=b"hog"), rig.client(name=b"meek")
    rig_params(rig, grace=LONG_US)
    try:
        hpd, pd = hog.pd(), c.pd()
        c.frames(1)
        hog.obj(u.MR_DEREG, fill_tlb(hog, hpd)[-1])
        hog.frames(255, va=1 << 42)  # all but one of those that it had
        hog.reg(hpd, 255 * 4096, va=1 << 42, shift=12)
        hog.frames(1, va=1 << 41)
        mine = hog.reg(hpd, 4096, va=1 << 41, shift=12)[0]
        for i in range(200):
            seq = c.send(u.MR_REG, c.reg_body(pd, 4096, flags=u.WAIT | u.ASYNC))
            r = c.wait(seq)
            assert r.status == u.PENDING, r.status
            d = hog.send(u.MR_DEREG, struct.pack("<I", mine))
            time.sleep(i % 20 * 1e-5)
            won = c.call(u.WAIT_CANCEL, struct.pack("<I", seq),
                         want=None).status
            end = c.obj(u.MR_DEREG, r.get("I")[0], want=None).status
            assert won != u.OK or end == u.NO_MR, (won, end)
            assert ps(c)[c.proc]["regions"] == 0, (i, won, end)
            hog.wait(d)
            mine = hog.reg(hpd, 4096, va=1 << 41, shift=12)[0]
    finally:
        rig_params(rig, grace=GRACE_US)
        hog.close()
        c.close()


def test_waits_are_shared(rig):
    """One process cannot fill the places to wait."""
    hog, meek = rig.client(), rig.client()
    rig_params(rig, grace=LONG_US)
    try:
        pd, mpd = hog.pd(), meek.pd()
        fill_tlb(hog, pd)
        hog.frames(200, va=1 << 50)
        meek.frames(1)
        got = []
        while len(got) < 100 and u.WAIT_FULL not in got:
            got.append(hog.call(u.MR_REG, hog.reg_body(
                pd, 200 * 4096, va=1 << 50, flags=u.WAIT | u.ASYNC, shift=12),
                want=None).status)
        assert set(got) == {u.PENDING, u.WAIT_FULL} and len(got) < 20, got
        r = meek.call(u.MR_REG, meek.reg_body(mpd, 4096,
                                              flags=u.WAIT | u.ASYNC),
                      want=None)
        assert r.status in (u.OK, u.PENDING), r.status
    finally:
        rig_params(rig, grace=GRACE_US)
        hog.close()
        meek.close()


def test_notice_and_deadline(rig):
    """Requests between notice and deadline are within T, however slow the machine
    is."""
    c = rig.client()
    rig_params(rig, grace=NOTICE_US)
    pd = c.pd()
    c.frames(8)
    mr, stag, _ = c.reg(pd, 8 * 4096, user=99)
    c.obj(u.EVICT, mr)
    up = c.upcall_of(u.UP_NOTICE)
    user, upstag, nseq, entries = struct.unpack_from("<IIII", up[3], 16)
    deadline = struct.unpack_from("<Q", up[3], 48)[0]
    assert (up[2], user, upstag, entries) == (mr, 99, stag, 8)
    assert deadline > 0
    assert ps(c)[c.proc]["pinned"] == 8
    r = c.call(u.RESYNC)
    row = struct.unpack_from("<6IQ", r.tail)
    assert row[0] == mr and row[4] == 3 and row[5] == nseq
    assert abs(row[6] - deadline) < NOTICE_US * 500
    up = c.upcall_of(u.UP_EVICTED)
    now = time.monotonic_ns()
    assert up[2] == mr and now >= deadline, "grace ended early"
    assert ps(c)[c.proc]["pinned"] == 0
    c.obj(u.MR_DEREG, mr)
    c.obj(u.MR_DEREG, mr, want=u.NO_MR)
    rig_params(rig, grace=GRACE_US)
    c.close()


def test_storm_of_notices(rig):
    """1,000 notices while the process reads nothing: one wake-up is pending, the ring
    holds the last notices, the gap is visible, and RESYNC returns the present state."""
    c = rig.client()
    pd = c.pd()
    c.frames(8)
    first = c.n
    for i in range(1000):
        mr = c.reg(pd, 4096, user=i)[0]
        c.obj(u.EVICT, mr)
        if i < 999:
            c.obj(u.MR_DEREG, mr)
    until("1,000 notices", lambda: struct.unpack_from(
        "<I", c.mem, 2 * 4096)[0] >= 1000)
    wakes = 0
    while select.select([c.upcall], [], [], 0)[0]:
        os.read(c.upcall, 8)
        wakes += 1
    assert wakes == 1, wakes
    seq = struct.unpack_from("<I", c.mem, 2 * 4096 + 64 + first % 63 * 64)[0]
    assert seq - (first + 1) > 0 and (seq - first - 1) % 63 == 0, seq
    r = c.call(u.RESYNC, struct.pack("<II", 0, 1))
    rows = list(struct.iter_unpack("<8I", r.tail))
    assert [x[1] for x in rows].count(1) == 1  # the PD
    regions = [x for x in rows if x[1] == 2]
    assert len(regions) == 1 and regions[0][0] == mr and regions[0][2] == 999
    assert regions[0][3] in (3, 4) and regions[0][5] == pd, regions
    assert r.get("III")[2] >= 1001
    c.close()


def test_release_and_offer(rig):
    c = rig.client()
    rig_params(rig, grace=LONG_US)
    pd = c.pd()
    c.frames(20)
    a = c.reg(pd, 8 * 4096)[0]
    b = c.reg(pd, 8 * 4096, va=u.VA0 + 8 * 4096)[0]
    small = c.reg(pd, 4096, va=u.VA0 + 16 * 4096)[0]
    c.obj(u.EVICT, a)
    up = c.upcall_of(u.UP_NOTICE)
    nseq = struct.unpack_from("<I", up[3], 24)[0]

    def answer(kind, offer=0, us=0, want=u.OK):
        return c.call(u.NOTICE_ANSWER, struct.pack("<5I", a, nseq, kind, offer,
                                                   us), want=want)

    r = answer(2, offer=small, want=u.REFUSED)
    assert r.get("I", 24)[0] == 1  # smaller
    answer(2, offer=12345, want=u.NO_MR)
    before = answer(3, us=5000).get("Q")[0]
    assert before > time.monotonic_ns()
    answer(2, offer=b)
    rows = {r[0]: r[4] for r in struct.iter_unpack(
        "<6IQ", c.call(u.RESYNC).tail)}
    assert rows[a] == 2 and rows[b] == 3, rows
    c.obj(u.MR_DEREG, b)
    assert ps(c)[c.proc]["pinned"] == 9
    rig_params(rig, grace=GRACE_US)
    c.close()


def fill_tlb(c, pd):
    """Take all entries that are left, in one region each."""
    got, va = [], 1 << 40
    for pages in (256, 64, 16, 4, 1):
        while c.frames(pages, va=va, want=None):  # else: none are left
            r = c.call(u.MR_REG, c.reg_body(pd, pages * 4096, va=va,
                                            shift=12), want=None)
            if r.status:
                assert r.status == u.TLB_FULL, r.status
                assert len(r.tail) == 64
                c.free_frames(pages, va=va)
                break
            got.append(r.get("I")[0])
            va += pages * 4096
    return got


def test_register_wait(rig):
    hog, meek = rig.client(name=b"hog"), rig.client(name=b"meek")
    pd = hog.pd()
    mine = fill_tlb(hog, pd)
    mpd = meek.pd()
    meek.frames(200)
    meek.reg(mpd, 64 * 4096, want=u.TLB_FULL)
    # synchronous: the reply comes when granted, after the hog's deadline
    start = time.monotonic()
    mr, stag, n = meek.reg(mpd, 64 * 4096, flags=u.WAIT)
    waited = time.monotonic() - start
    assert n == 64 and stag, (mr, stag, n)
    assert waited < 10, waited
    up = hog.upcall_of(u.UP_EVICTED)
    assert up[2] in mine
    # asynchronous: PENDING at once, then GRANTED
    body = meek.reg_body(mpd, 100 * 4096, flags=u.WAIT | u.ASYNC, user=31)
    r = meek.call(u.MR_REG, body, want=None)
    if r.status == u.PENDING:
        up = meek.upcall_of(u.UP_GRANTED)
        assert up[2] == r.get("I")[0]
        assert struct.unpack_from("<I", up[3], 16)[0] == 31
    hog.close()
    meek.close()


def test_wait_cancel_and_timeout(rig):
    hog, meek = rig.client(name=b"hog"), rig.client(name=b"meek")
    rig_params(rig, grace=LONG_US)
    try:
        fill_tlb(hog, hog.pd())
        mpd = meek.pd()
        meek.frames(64)
        seq = meek.send(u.MR_REG, meek.reg_body(mpd, 64 * 4096, flags=u.WAIT))
        until("waiting", lambda: ps(meek)[meek.proc]["waits"] == 1)
        assert ps(meek)[meek.proc]["pinned"] == 0
        meek.obj(u.WAIT_CANCEL, seq)
        assert meek.wait(seq).status == u.CANCELLED
        meek.obj(u.WAIT_CANCEL, seq, want=u.NO_WAIT)
        seq = meek.send(u.MR_REG, meek.reg_body(mpd, 64 * 4096, flags=u.WAIT,
                                                timeout_us=50000))
        assert meek.wait(seq).status == u.TIMEOUT
        assert ps(meek)[meek.proc]["regions"] == 0
    finally:
        rig_params(rig, grace=GRACE_US)
        hog.close()
        meek.close()


def rig_params(rig, grace, idle=None):
    """T, and after which time idle regions are asked for (0: never), in us."""
    flags = 0 if idle is None else IDLE_MEANT
    rig.client(hello=False).call(u.PARAMS, struct.pack(
        "<I24xII", grace, flags, idle or 0))


def newcomer_waits(rig, idle):
    """Two processes hold the whole table, each its share, and use nothing; they hear no
    notice. The one gives what it is asked for, the other keeps it. Returns how long a
    newcomer waits for entries, in seconds, which it may not at all if there are
    questions, and what the other has lost."""
    polite, silent, new = (rig.client(hello=False) for _ in range(3))
    entries = [c.hello().get("I", 40)[0] for c in (polite, silent, new)][0]
    rig_params(rig, NEWCOMER_US, idle)
    try:
        for c in (polite, silent):
            pd = c.pd()
            for i in range(entries // 2 // PIECE):
                va = (1 << 40) + i * PIECE * 4096
                assert c.frames(PIECE, va=va)
                c.reg(pd, PIECE * 4096, va=va, shift=12)
        pd = new.pd()
        new.frames(PIECE)
        given = 0
        while idle and given < entries // 32:  # the high watermark
            up = polite.upcall_of(u.UP_IDLE)
            polite.obj(u.MR_DEREG, up[2])
            given += PIECE
        start = time.monotonic()
        new.reg(pd, PIECE * 4096, flags=0 if idle else u.WAIT, shift=12)
        waited = time.monotonic() - start
        return waited, entries // 2 - ps(silent)[silent.proc]["pinned"]
    finally:
        rig_params(rig, GRACE_US, USUAL_IDLE_US)
        for c in (polite, silent, new):
            c.close()


def test_newcomer_on_a_full_nic(rig):
    """He waits for a grace, unless idle regions are asked for: then he finds entries
    free, and who declines keeps all that he has."""
    grace = NEWCOMER_US / 1e6
    waited, _ = newcomer_waits(rig, 0)
    assert waited >= grace, waited
    at_once, lost = newcomer_waits(rig, NEWCOMER_IDLE_US)
    print(f"a newcomer waits {waited * 1e3:.1f} ms, with questions "
          f"{at_once * 1e3:.1f} ms (T {grace * 1e3:.0f} ms)")
    assert at_once < grace / 2 and not lost, (at_once, lost)


def test_kill_mid_notice(rig):
    """A killed process' entries come back; a waiter gets them."""
    def work(c):
        fill_tlb(c, c.pd())

    pid = child(rig, work)
    meek = rig.client()
    mpd = meek.pd()
    meek.frames(64)
    seq = meek.send(u.MR_REG, meek.reg_body(mpd, 64 * 4096, flags=u.WAIT))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert meek.wait(seq).status == u.OK
    meek.close()


TESTS = dict(
    nic=[test_notice_and_deadline, test_storm_of_notices,
         test_release_and_offer, test_register_wait,
         test_wait_cancel_and_timeout, test_kill_mid_notice,
         test_cancel_races_grant, test_waits_are_shared,
         test_newcomer_on_a_full_nic],
    # not where slots are small (509 frames), and parts of one file
    not_joint=[test_cancel_races_grant])


if __name__ == "__main__":
    sys.exit(main(__doc__, **TESTS))
