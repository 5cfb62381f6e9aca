#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Resets of the NIC and ends of unicd, and what processes keep over them.

    test_unicd_restart.py [--board soft|virt|none]
"""
import os
import signal
import struct
import subprocess
import sys

from unicd_rig import BIN, main, ps, queues, until
import hosts
import run_nic
import unicd_client as u


def test_reset(rig):
    c = rig.client()
    pd = c.pd()
    c.frames(4)
    mr = c.reg(pd, 4096)[0]
    epoch = c.epoch
    rig.client(hello=False).call(u.RESET)
    c.upcall_of(u.UP_RESET)
    until("ready again", lambda: rig.client(hello=False).call(
        u.INFO).get("I", 40)[0] == 2)
    c.call(u.PD_ALLOC, want=u.STALE_EPOCH, epoch=epoch)
    c.obj(u.MR_DEREG, mr, want=u.NO_MR)
    assert ps(c)[c.proc]["pinned"] == 0 and ps(c)[c.proc]["frames"] == 4
    r = c.call(u.HELLO, struct.pack("<I", 1))
    for fd in r.fds:
        os.close(fd)
    assert r.epoch != epoch
    c.reg(c.pd(), 4096)
    c.close()


def stags(c):
    """STags of all regions that the NIC has."""
    tail = c.call(u.DUMP, struct.pack("<II", 2, 0)).tail
    return [struct.unpack_from("<I", tail, at + 8)[0]
            for at in range(0, len(tail), 64)]


def test_reset_kept(rig):
    """Regions, a wait and queues outlive a reset of the NIC."""
    c = rig.client(flags=u.KEEP)
    pd = c.pd()
    rings, cq, qp, _ = queues(c, pd)
    va = u.VA0 + (1 << 21)
    c.frames(4, va=va)
    mr, stag, _ = c.reg(pd, 3 * 4096, va=va + 100)
    c.obj(u.MR_DEREG, c.reg(pd, 4096, va=va)[0])
    pinned, epoch = ps(c)[c.proc]["pinned"], c.epoch
    for _ in range(3):
        rig.client(hello=False).call(u.RESET)
        c.upcall_of(u.UP_RESET, match=lambda up: struct.unpack_from(
            "<I", up[3], 20)[0] == 2)
        c.call(u.PD_ALLOC, want=u.STALE_EPOCH, epoch=epoch)
        assert ps(c)[c.proc]["pinned"] == pinned
        assert stag in stags(c)
        state = c.obj(u.QP_QUERY, qp).get("I", 24)[0]
        assert state == 5, state  # ERR
        c.call(u.QP_MODIFY, struct.pack("<IB", qp, 1), want=u.STATE)
        c.call(u.QP_MODIFY, struct.pack("<IB", qp, 0))
        c.call(u.QP_MODIFY, struct.pack("<IB", qp, 1))
    c.obj(u.QP_DESTROY, qp)
    c.obj(u.CQ_DESTROY, cq)
    c.obj(u.MR_DEREG, rings)
    c.obj(u.MR_DEREG, mr)
    c.obj(u.PD_FREE, pd)
    assert ps(c)[c.proc]["pinned"] == 0
    c.close()


def test_driver_killed(rig):
    c = rig.client()
    c.frames(4)
    c.reg(c.pd(), 4096)
    epoch = c.epoch
    rig.driver.kill()
    rig.driver.wait()
    try:
        c.recv()
        raise AssertionError("no end of file")
    except (u.Gone, ConnectionResetError):
        pass
    rig.up()
    again = rig.client()
    assert again.epoch != epoch
    assert again.file != c.file or "--joint" in run_nic.bus_options(rig.board)
    c.close()
    again.frames(4)
    again.reg(again.pd(), 4096)
    again.close()


def test_journal_of_another_version(rig):
    """A driver that finds the journal of another version does not begin anew, which would lose the
    processes that wait for a driver of that one: it says what to do, and leaves all as it is."""
    path = os.path.join(rig.dir, "unicd.journal")
    if not os.path.exists(path):
        return  # without a bus there is none
    rig.driver.kill()
    rig.driver.wait()
    with open(path, "r+b") as f:
        head = f.read(8)
        f.seek(4)
        f.write(struct.pack("<I", 7))
    done = subprocess.run([f"{BIN}/unicd", "--bus", rig.dir], capture_output=True, text=True,
                          check=False, timeout=hosts.PATIENCE_S)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "another version (7)" in said and "remove that file" in said, done
    with open(path, "r+b") as f:
        assert f.read(8) == head[:4] + struct.pack("<I", 7)
        f.seek(0)
        f.write(head)
    rig.up()
    rig.client().close()


def test_driver_killed_kept(rig):
    """Regions, frames and a listener outlive kill -9 of the driver; only their process
    gets them."""
    c = rig.client(flags=u.KEEP)
    plain = rig.client()
    pd = c.pd()
    rings, cq, qp, _ = queues(c, pd)
    va = u.VA0 + (1 << 21)
    c.frames(4, va=va)
    c.frames(16, 16, va=va + (1 << 20))
    mr, stag, _ = c.reg(pd, 3 * 4096, va=va + 100)
    gone, gone_stag, _ = c.reg(pd, 4096, va=va)
    c.obj(u.MR_DEREG, gone)
    c.call(u.LISTEN, struct.pack("<QI", 4711, 5))
    c.poke(va, b"still here")
    epoch, was = c.epoch, ps(c)[c.proc]
    for _ in range(2):
        rig.driver.kill()
        rig.driver.wait()
        rig.up()
        other = rig.client()  # a stranger, before the owner came back
        assert other.proc != c.proc
        other.close()
        assert c.resume(rig.sock) == 1
        assert c.epoch != epoch and c.peek(va, 10) == b"still here"
        up = c.upcall_of(u.UP_RESET)
        assert struct.unpack_from("<I", up[3], 20)[0] == 2
        for key in ("pid", "frames", "pinned", "regions"):
            assert ps(c)[c.proc][key] == was[key], key
        assert stag in stags(c) and gone_stag not in stags(c)
        c.frames(1, va=va, want=u.IN_USE)
        c.call(u.LISTEN, struct.pack("<QI", 4711, 5), want=u.IN_USE)
        assert c.obj(u.QP_QUERY, qp).get("I", 24)[0] == 5
    c.obj(u.QP_DESTROY, qp)
    c.obj(u.CQ_DESTROY, cq)
    c.obj(u.MR_DEREG, rings)
    c.obj(u.MR_DEREG, mr)
    c.obj(u.PD_FREE, pd)
    assert ps(c)[c.proc]["pinned"] == 0
    plain.close()
    c.close()


def survive(rig, how, plan):
    program = os.path.join(BIN, "survivor")
    with subprocess.Popen([program, rig.sock, how], text=True,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        try:
            said = p.stdout.readline()
            assert said == "ready\n", said
            for what in plan:
                if what == "reset":
                    rig.client(hello=False).call(u.RESET)
                else:
                    rig.driver.kill()
                    rig.driver.wait()
                    rig.up()
                p.stdin.write("\n")
                p.stdin.flush()
                said = p.stdout.readline()
                assert said == "ok\n", f"after {what}: {said}"
            p.stdin.close()
            assert p.stdout.readline() == "bye\n" and not p.wait(hosts.PATIENCE_S)
        finally:
            p.kill()


def test_survivor(rig):
    """libunic goes on after resets and kills: same region, same STag, what was
    posted ends once."""
    survive(rig, "still", ("reset", "kill", "reset", "kill", "kill"))


def test_survivor_moves(rig):
    """The queues of libunic work again after resets."""
    survive(rig, "move", ("reset", "reset"))


def test_away_ends_with_its_process(rig):
    """A process that dies while there is no driver leaves nothing."""
    out, pid_in = os.pipe()
    pid = os.fork()
    if not pid:
        c = u.Client(rig.sock, flags=u.KEEP)
        c.hello()
        c.frames(4)
        _, stag, _ = c.reg(c.pd(), 4096)
        os.write(pid_in, struct.pack("<I", stag))
        signal.pause()
    stag = struct.unpack("<I", os.read(out, 4))[0]
    rig.driver.kill()
    rig.driver.wait()
    rig.up()
    c = rig.client()
    assert stag in stags(c)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("its region is gone", lambda: stag not in stags(c))
    # a slot of this process, without KEEP, may still be held
    until("its slot is free",
          lambda: pid not in [p["pid"] for p in ps(c).values()
                              if p["state"] != 4])
    c.close()
    os.close(out)
    os.close(pid_in)


def test_nic_killed(rig):
    c = rig.client()
    c.frames(1)
    rig.nic.kill()
    rig.nic.wait()
    up = c.upcall_of(u.UP_RESET)
    assert struct.unpack_from("<I", up[3], 20)[0] == 0
    until("absent", lambda: c.call(u.INFO).get("I", 40)[0] == 0)
    c.call(u.PD_ALLOC, want=u.NO_NIC)
    rig.nic = rig.start(run_nic.command(rig.board, rig.dir, link="none"))
    until("back", lambda: c.call(u.INFO).get("I", 40)[0] == 2)
    c.reg(c.pd(), 4096)
    c.close()


TESTS = dict(
    loop=[test_survivor_moves],
    nic=[test_reset_kept, test_reset, test_driver_killed, test_journal_of_another_version,
         test_driver_killed_kept, test_away_ends_with_its_process,
         test_survivor, test_nic_killed])


if __name__ == "__main__":
    sys.exit(main(__doc__, **TESTS))
