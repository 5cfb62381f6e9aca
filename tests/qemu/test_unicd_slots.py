#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Slots of unicd: whose they are, and whose their memory is, while processes end,
stop, fork and hand descriptors on (INV-29).

    test_unicd_slots.py [--board soft|virt|none]
"""
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time

from unicd_rig import as_nobody, child, main, ps, queues, until
import hosts
import run_nic
import shm_peers
import unicd_client as u

LINGER_S = 30


def left(rig, c, slot):
    """Is the slot free? Where memory cannot be exchanged it is held for its user (state
    4)."""
    row = ps(c).get(slot)
    return not row if rig.renews else not row or row["state"] == 4


def test_kill_and_reuse(rig):
    secret = b"secret of the dead " * 100

    def work(c):
        c.frames(16)
        c.poke(u.VA0, secret)
        c.reg(c.pd(), 16 * 4096)

    me = rig.client(hello=False)
    pid = child(rig, work)
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    assert ps(me)[slot]["pinned"] == 16, ps(me)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("slot free", lambda: left(rig, me, slot))
    c = rig.client()
    assert secret[:19] not in c.mem[:], "memory was not zeroed"
    c.close()


def test_stopped_keeps_memory(rig):
    """Memory that a stopped process may still map is not given away, not even
    by a driver that was killed and started again."""
    me = rig.client(hello=False)
    pid = child(rig, lambda c: (c.frames(1), c.poke(u.VA0, b"of the child")))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    os.kill(pid, signal.SIGSTOP)
    if rig.board:
        rig.driver.kill()
        rig.driver.wait()
        rig.up()
        me = rig.client(hello=False)
        until("slot left", lambda: left(rig, me, slot))
    mine = []
    for _ in range(3 if rig.renews else 1):
        mine.append(rig.client())
        mine[-1].frames(1)
        mine[-1].poke(u.VA0, b"of another")
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        theirs = {int(line.split()[4]) for line in f if "memfd:unic-" in line}
    assert theirs
    if "--joint" not in run_nic.bus_options(rig.board):
        assert not theirs & {c.file for c in mine}, "it was given away"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for c in mine:
        c.close()


def test_same_process_again(rig):
    for _ in range(24):  # three times as many as there are slots
        c = rig.client()
        c.frames(2)
        c.close()


def test_child_keeps_memory(rig):
    """A child that inherited the memory keeps it, and not the slot; one that
    inherited the socket keeps nothing."""
    me = rig.client(hello=False)
    r, w = os.pipe()
    seen, see = os.pipe()
    go, gone = os.pipe()
    pid = os.fork()
    if not pid:
        c = rig.client(name=b"parent")
        c.frames(4)
        c.reg(c.pd(), 4 * 4096)
        child_pid = os.fork()
        if child_pid:
            os.write(w, struct.pack("<II", child_pid, c.proc))
        else:
            os.read(go, 1)
            os.write(see, bytes([b"another" in c.mem[:]]))
        time.sleep(4 * hosts.PATIENCE_S)
        os._exit(0)
    kid, slot = struct.unpack("<II", os.read(r, 8))
    os.close(r)
    os.close(w)
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        until("slot free", lambda: left(rig, me, slot))
        others = [rig.client() for _ in range(3)]
        assert not rig.renews or slot in [c.proc for c in others]
        for c in others:
            c.frames(1)
            c.poke(u.VA0, b"of another")
        os.write(gone, b"x")
        if rig.renews:  # else the slot is kept for its user
            assert os.read(seen, 1) == b"\0", "the child sees what others have"
        for c in others:
            c.close()
    finally:
        os.kill(kid, signal.SIGKILL)
        for fd in (seen, see, go, gone):
            os.close(fd)


def parked(rig, uid):
    """A user's process puts the descriptor of its slot into a socket that is not
    read, and ends. Returns the slot, and the socket."""
    here, there = socket.socketpair()
    os.chmod(rig.dir, 0o755)
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        c = u.Client(rig.sock, b"parker")
        body = struct.pack("<II16sIII", 1, 0, b"parker", 0, 0, 0)
        end = time.monotonic() + hosts.PATIENCE_S
        while (reply := c.call(u.HELLO, body, want=None)).status != u.OK:
            if time.monotonic() > end:
                os._exit(1)
            time.sleep(0.01)
        socket.send_fds(there, [b"x"], [reply.fds[0]])
        os.write(w, struct.pack("<I", reply.get("I", 24)[0]))
        os._exit(0)
    os.waitpid(pid, 0)
    slot = struct.unpack("<I", os.read(r, 4))[0]
    os.close(r)
    os.close(w)
    there.close()
    return slot, here


def test_parked_descriptor(rig):
    """A descriptor of a slot that a process has hidden does not reach the memory of the
    slot's next user."""
    me = rig.client(hello=False)
    slot, sock = parked(rig, 65534)
    until("slot left", lambda: left(rig, me, slot))
    victims = []
    secret = b"the next one's secret"
    try:
        while rig.renews and slot not in [c.proc for c in victims]:
            victims.append(rig.client())
        while not rig.renews and len(victims) < 2:
            victims.append(rig.client())
            assert victims[-1].proc != slot, "another user has it"
        for c in victims:
            c.frames(16)
            c.poke(u.VA0, secret)
        _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        with mmap.mmap(fds[0], os.fstat(fds[0]).st_size) as m:
            assert m.find(secret) < 0, "the next owner was read"
            m[:] = b"\xff" * len(m)
        for c in victims:
            assert c.peek(u.VA0, len(secret)) == secret, "and written to"
        os.close(fds[0])
        if not rig.renews:  # the user who had it gets it again
            assert parked(rig, 65534)[0] == slot
    finally:
        for c in victims:
            c.close()
        sock.close()


def test_new_memory_waits_for_the_nic(rig):
    """A slot is not given out before the NIC has released its old memory: with a NIC
    that stands still, and a driver that is killed meanwhile."""
    me = rig.client(hello=False)
    pid = child(rig, lambda c: c.frames(1))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("slot free", lambda: left(rig, me, slot))
    pid = child(rig, lambda c: c.frames(1))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    rig.nic.send_signal(signal.SIGSTOP)
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        time.sleep(0.2)
        assert slot in ps(me), "the NIC has it still"
        rig.driver.kill()
        rig.driver.wait()
        with open(os.path.join(rig.dir, "log"), "ab"):
            rig.driver = rig.start(rig.argv())
            time.sleep(0.5)
    finally:
        rig.nic.send_signal(signal.SIGCONT)
    rig.wait_line(rig.driver)
    me = rig.client(hello=False)
    until("slot free", lambda: left(rig, me, slot))
    with open(f"/proc/{rig.nic.pid}/maps", encoding="ascii") as f:
        nic = {int(x.split()[4]) for x in f if f"unic-slot-{slot} " in x}
    with open(f"/proc/{rig.driver.pid}/maps", encoding="ascii") as f:
        drv = {int(x.split()[4]) for x in f if f"unic-slot-{slot} " in x}
    assert len(nic) == 1 and nic == drv, (nic, drv)
    cs = [rig.client()]
    while slot not in [c.proc for c in cs]:
        cs.append(rig.client())
    c = cs[-1]
    assert c.file in nic
    queues(c, c.pd())  # the NIC has the same memory as this client
    for c in cs:
        c.close()


def test_slots_kept_for_their_user(rig):
    """While a NIC is on the bus that cannot exchange memory, a slot goes back to the
    user who had it, to no other, and to anybody when that NIC left."""
    me = rig.client(hello=False)
    nic = shm_peers.IvshmemClient(f"{rig.dir}/ivshmem",
                                  run_nic.bus_info(rig.dir)["vectors"])
    cs = []
    try:
        slot, sock = parked(rig, 65534)
        until("slot left", lambda: ps(me).get(slot, {}).get("state") == 4)
        while (r := (c := rig.client(hello=False)).call(
                u.HELLO, struct.pack("<II16sIII", 1, 0, b"x", 0, 0, 0),
                want=None)).status == u.OK:
            cs.append(c)
            assert r.get("I", 24)[0] != slot, "another user has it"
        assert r.status == u.NO_SLOT
        again, other = parked(rig, 65534)
        other.close()
        assert again == slot, "its own user has it not"
        until("slot left", lambda: ps(me).get(slot, {}).get("state") == 4)
        nic.close()
        until("slot free", lambda: slot not in ps(me))
        c = rig.client()
        assert c.proc == slot
        _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        assert os.fstat(fds[0]).st_ino != c.file
        os.close(fds[0])
        sock.close()
        cs.append(c)
    finally:
        for c in cs:
            c.close()


def test_slots_go_back_when_the_nic_left(rig):
    """A slot held for its user because of QEMU is free for all after QEMU has ended."""
    me = rig.client(hello=False)
    slot, sock = parked(rig, 65534)
    until("slot left", lambda: left(rig, me, slot))
    rig.nic.kill()
    rig.nic.wait()
    until("slot free", lambda: slot not in ps(me))
    rig.nic = rig.start(run_nic.command(rig.board, rig.dir, link="none"))
    until("back", lambda: me.call(u.INFO).get("I", 40)[0] == 2)
    cs = [rig.client()]
    while slot not in [c.proc for c in cs]:
        cs.append(rig.client())
    c = cs[-1]
    queues(c, c.pd())
    _, fds, _, _ = socket.recv_fds(sock, 1, 1)
    assert os.fstat(fds[0]).st_ino != c.file
    os.close(fds[0])
    sock.close()
    for c in cs:
        c.close()


def test_descriptors_go_with_the_process(rig):
    me = rig.client(hello=False)

    def descriptors():
        return len(os.listdir(f"/proc/{rig.driver.pid}/fd"))

    def settled():  # clients of other tests are gone
        n = descriptors()
        time.sleep(0.2)
        return n == descriptors()

    until("settled", settled)
    ours, before = set(ps(me)), descriptors()
    pid = child(rig, lambda c: c.frames(1))
    assert descriptors() > before
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until("slot free", lambda: all(left(rig, me, p) for p in ps(me)
                                   if p not in ours))
    until("descriptors", lambda: descriptors() <= before + (not rig.renews))
    me.close()


def test_no_descriptor_for_new_memory(rig):
    """The memory of a slot is exchanged while unicd may open nothing: it goes on, and
    asks for other memory when it may."""
    me = rig.client(hello=False)
    pid = child(rig, lambda c: c.frames(1))
    slot = [p for p, r in ps(me).items() if r["pid"] == pid][0]
    before = resource.prlimit(rig.driver.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(rig.driver.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if rig.renews:
            time.sleep(0.5)
            assert not left(rig, me, slot), "it is free, with the old memory"
    finally:
        resource.prlimit(rig.driver.pid, resource.RLIMIT_NOFILE, before)
    until("slot free", lambda: left(rig, me, slot))
    me.close()


def test_old_memory_is_not_zeroed(rig):
    old = rig.client()
    old.frames(1)
    old.poke(u.VA0, b"still mine")
    at = old.at(u.VA0)
    old.sock.close()
    new = rig.client()
    new.mem[at:at + 4] = b"new!"
    assert old.mem[at:at + 4] in (b"stil", bytes(4))  # zeroed once, at its end
    new.close()
    old.close()


def test_one_slot_per_process(rig):
    def body():
        first = rig.client()
        rig.client(hello=False).hello(want=u.NO_SLOT)
        return first.proc

    if os.geteuid() == 0:
        as_nobody(rig, body)


def test_descriptor_that_lingers(rig):
    """A process cannot stop the driver with a file that takes long to close: a
    full connection with SO_LINGER, of which the driver would have the last
    descriptor. Before Linux 6.16 the driver cannot refuse it."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 16):
        return
    c, other = rig.client(), rig.client()
    rows = [(c.sock, struct.pack("<HHIII", u.INFO, 0, 999, 0, 0)),
            (socket.socket(fileno=os.dup(c.doorbell)), b"\1" + b"\0" * 7)]
    for to, msg in rows:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            end = socket.create_connection(server.getsockname())
            peer = server.accept()[0]  # reads nothing
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                       struct.pack("ii", 1, LINGER_S))
        rig.driver.send_signal(signal.SIGSTOP)
        try:
            socket.send_fds(to, [msg.ljust(64, b"\0")], [end.fileno()])
        except PermissionError:  # not sent: close it without a wait
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                           struct.pack("ii", 0, 0))
        finally:
            end.close()
            rig.driver.send_signal(signal.SIGCONT)
        start = time.monotonic()
        other.call(u.INFO)
        assert time.monotonic() - start < LINGER_S / 2, \
            "the driver was stopped"
        peer.close()
    rows[1][0].close()
    c.close()
    other.close()


def test_joint_is_our_own(rig):
    """Slots are parts of one file; only processes of the same user may have it."""
    def body():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(rig.sock)
        except PermissionError:
            return 1
        return 0

    clients = [rig.client() for _ in range(3)]
    files = set()
    for k, c in enumerate(clients):
        c.mem[32768:36864] = bytes([k + 1]) * 4096
        files.add(c.file)
    assert len(files) == 1, files
    for k, c in enumerate(clients):
        assert c.mem[32768:36864] == bytes([k + 1]) * 4096
        c.close()
    if os.geteuid() == 0:
        assert as_nobody(rig, body) == 1


TESTS = dict(
    # first the tests of slots that nobody had: QEMU's go back to their user
    both=[test_parked_descriptor, test_one_slot_per_process,
          test_kill_and_reuse, test_stopped_keeps_memory,
          test_same_process_again, test_child_keeps_memory,
          test_descriptors_go_with_the_process,
          test_no_descriptor_for_new_memory, test_old_memory_is_not_zeroed,
          test_descriptor_that_lingers],
    only={"soft": [test_new_memory_waits_for_the_nic,
                    test_slots_kept_for_their_user],
          "virt": [test_slots_go_back_when_the_nic_left]},
    joint=[test_joint_is_our_own],
    # not where slots are small (509 frames), and parts of one file
    not_joint=[test_parked_descriptor, test_one_slot_per_process])


if __name__ == "__main__":
    sys.exit(main(__doc__, **TESTS))
