#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unic-bus with real drivers, real NIC processes and a real QEMU.

usage: test_bus.py [UNIC_BUS] [--only WORDS]        (default build/bin/unic-bus)
"""
import fcntl
import json
import mmap
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from shm_peers import (PATIENCE_S, Daemon, Driver, IvshmemClient, MappingNic,
                       run_tests)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "qemu"))
import run_nic  # noqa: E402

BUS = sys.argv[1] if len(sys.argv) % 2 == 0 else "build/bin/unic-bus"
SLOTS = 8
SLOT_BYTES = 16 << 20
BAR_BYTES = 1 << 21
VECTORS = 1 + SLOTS
PEER_END = 7  # no peer: a ring of it ends the NICs
F_GET_SEALS, SEALS = 1034, 1 | 2 | 4  # seal, shrink, grow


class Bus:
    def __init__(self, *args):
        self.dir = tempfile.mkdtemp(prefix="unic-bus-test-")
        self.bus = Daemon(BUS, "--dir", self.dir, *args)
        self.peers = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.bus.stop()
        shutil.rmtree(self.dir)
        for peer in self.peers:
            peer.close()

    def keep(self, peer):
        """Close the descriptors of @peer at the end: select() takes 1,024."""
        self.peers.append(peer)
        return peer

    def driver(self):
        return self.keep(Driver(f"{self.dir}/attach"))

    def mapping_nic(self, answers=True):
        return self.keep(MappingNic(f"{self.dir}/nic", VECTORS, answers))

    def nic(self, vectors=VECTORS):
        return self.keep(IvshmemClient(f"{self.dir}/ivshmem", vectors))

    def guest(self):
        return self.keep(IvshmemClient(f"{self.dir}/guest", VECTORS))


def doomed_driver(path):
    """A driver in a process of its own, attached when this returns."""
    ready, told = os.pipe()
    pid = os.fork()
    if not pid:
        driver = Driver(path)
        driver.bar[4096:4101] = b"trace"
        os.write(told, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    return pid


def settled(left):
    """Return what is left after a while: nothing, if all is well."""
    until = time.monotonic() + PATIENCE_S
    while (what := left()) and time.monotonic() < until:
        time.sleep(0.01)
    return what


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_memory_is_sealed_and_said():
    with Bus() as bus:
        driver = bus.driver()
        assert (driver.slots, driver.bar_bytes, driver.slot_bytes) == (
            SLOTS, BAR_BYTES, SLOT_BYTES)
        assert driver.bus_pid == bus.bus.process.pid
        for fd, size in zip(driver.memory, [BAR_BYTES] + [SLOT_BYTES] * SLOTS):
            assert os.fstat(fd).st_size == size
            assert fcntl.fcntl(fd, F_GET_SEALS) & SEALS == SEALS
            try:
                os.ftruncate(fd, 0)
                raise AssertionError("a sealed file was truncated")
            except PermissionError:
                pass
        with open(f"{bus.dir}/bus.json", encoding="ascii") as f:
            said = json.load(f)
        for k, fd in enumerate(said["slot_fds"]):
            assert os.path.samestat(os.stat(f"/proc/{said['pid']}/fd/{fd}"),
                                    os.fstat(driver.memory[1 + k]))


def test_memory_and_doorbells_reach_the_nic():
    with Bus() as bus:
        nic = bus.nic()
        assert nic.id == 1 and nic.bytes == BAR_BYTES
        driver = bus.driver()
        assert driver.news() == ("joined", 1)
        nic.map[100:104] = b"unic"
        assert driver.bar[100:104] == b"unic"
        for v in range(VECTORS):
            driver.ring(v)
            assert nic.wait(v)
            nic.ring(0, v)
            assert driver.wait(v)


def test_survives_kill_9_of_the_driver():
    with Bus() as bus:
        nic = bus.nic()
        pid = doomed_driver(f"{bus.dir}/attach")
        kill(pid)
        nic.ring(0, 3)  # no driver is there to hear it
        driver = bus.driver()
        assert driver.refused_by is None, "the dead driver still holds the bus"
        assert driver.bar[4096:4101] == b"trace"
        assert driver.news() == ("joined", 1), "the NIC had to start over"
        assert driver.wait(3), "a ring between two drivers was lost"
        driver.ring(0)
        assert nic.wait(0)
        assert nic.hears([0, 1])


def test_many_drivers_in_turn():
    with Bus() as bus:
        before = len(os.listdir(f"/proc/{bus.bus.process.pid}/fd"))
        for _ in range(30):
            kill(doomed_driver(f"{bus.dir}/attach"))
        bus.driver().sock.close()
        more = settled(lambda: len(os.listdir(
            f"/proc/{bus.bus.process.pid}/fd")) - before)
        assert not more, f"{more} descriptors leaked"


def test_driver_that_died_before_its_end_is_told():
    """The next driver connects before the end of the first is reported, and is
    admitted."""
    with Bus() as bus:
        pid = doomed_driver(f"{bus.dir}/attach")
        os.kill(bus.bus.process.pid, signal.SIGSTOP)
        try:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            sock.connect(f"{bus.dir}/attach")
            kill(pid)
        finally:
            os.kill(bus.bus.process.pid, signal.SIGCONT)
        sock.settimeout(PATIENCE_S)
        assert struct.unpack_from("<H", sock.recv(64))[0] == Driver.HELLO
        sock.close()


def test_second_driver_is_refused():
    with Bus() as bus:
        first = bus.driver()
        second = bus.driver()
        assert second.refused_by == os.getpid() and second.reason == 1
        assert bus.nic().id == 1 and first.news() == ("joined", 1)


def test_nic_comes_and_goes():
    with Bus() as bus:
        driver = bus.driver()
        assert driver.news(0) is None
        for _ in range(20):
            nic = bus.nic()
            assert nic.id == 1, "a NIC that came back got another number"
            nic.map[0:4] = b"UNIC"
            assert driver.news() == ("joined", 1)
            nic.close()
            assert driver.news() == ("left", 1)
            assert driver.bar[0:4] == bytes(4), "a dead NIC looks alive"


def test_restart_faster_than_the_news():
    with Bus() as bus:
        driver = bus.driver()
        for _ in range(50):
            nic = bus.nic()
            assert nic.id == 1
            nic.close()
        while driver.news(0.1):
            pass
        assert not settled(lambda: driver.news(0) or driver.doorbells)


def test_peers_hear_of_each_other():
    with Bus() as bus:
        a, b = bus.nic(), bus.nic()
        assert (a.id, b.id) == (1, 2)
        assert a.hears([0, 1, 2]) and b.hears([0, 1, 2])
        a.ring(2, 4)
        assert b.wait(4)
        b.close()
        a.ring(2, 3)  # no peer has this number
        for _ in range(5):
            b = bus.nic()
            assert b.id == 2
            assert b.hears([0, 1, 2])
            assert not b.wait(3, 0), "rung before it came"
            a.ring(2, 4)  # with the doorbells known before
            assert b.wait(4)
            b.ring(1)
            assert a.wait(0)
            b.close()
        # QEMU writes into freed memory if it is told of a number twice.
        assert not select.select([a.sock], [], [], .1)[0], "told twice"


def test_silent_and_rude_clients():
    with Bus() as bus:
        nic = bus.nic()
        nic.sock.sendall(b"garbage" * 1000)
        driver = bus.driver()
        driver.sock.send(b"garbage")
        assert driver.news() == ("joined", 1)
        driver.ring(2)
        assert nic.wait(2)


def maps(pid, name, timeout=PATIENCE_S):
    """Does the process map a file of that name before long?"""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        with open(f"/proc/{pid}/maps", encoding="ascii") as f:
            if name in f.read():
                return True
        time.sleep(0.01)
    return False


def test_nic_whose_doorbell_blocks():
    """All holders of a doorbell share its flags. A NIC that cleared O_NONBLOCK before
    it left does not keep out the next one."""
    with Bus() as bus:
        driver, nic = bus.driver(), bus.nic()
        assert driver.news() == ("joined", 1)
        driver.ring(0)
        for fd in nic.peers[nic.id]:
            os.set_blocking(fd, True)
        nic.close()
        nic = bus.nic()
        assert not nic.wait(0, 0), "rung for the one before"
        assert bus.driver().refused_by == os.getpid()
        nic.close()


def test_qemu_attaches():
    with Bus() as bus:
        driver = bus.driver()
        args = run_nic.command("virt", bus.dir, need_image=False, more=["-S"])
        with subprocess.Popen(args) as qemu:
            try:
                assert driver.news() == ("joined", 1)
                for k in range(SLOTS):
                    assert maps(qemu.pid, f"unic-slot-{k} "), f"slot {k}"
            finally:
                qemu.kill()
        assert driver.news() == ("left", 1)


def test_qemu_survives_its_peers():
    with Bus() as bus:
        driver = bus.driver()
        args = run_nic.command("virt", bus.dir, need_image=False, more=["-S"])
        # freed memory is overwritten, so any use of it is seen at once
        env = os.environ | {"MALLOC_PERTURB_": "165"}
        with subprocess.Popen(args, env=env) as qemu:
            try:
                assert driver.news() == ("joined", 1)
                assert maps(qemu.pid, f"unic-slot-{SLOTS - 1} ")
                for _ in range(20):
                    IvshmemClient(f"{bus.dir}/ivshmem", VECTORS).close()
                    time.sleep(0.02)  # QEMU hears of each peer
                    assert qemu.poll() is None, f"QEMU died: {qemu.poll()}"
            finally:
                qemu.kill()


def test_launcher_says_what_is_wrong():
    for args, text in ((("virt", "/nonexistent"), "no unic-bus runs"),):
        try:
            run_nic.command(*args)
            raise AssertionError("accepted")
        except run_nic.Problem as e:
            assert text in str(e)
    with Bus() as bus:
        for how, text in (({"link": "shm"}, "--wire"),
                          ({"image": "/nonexistent/x.elf"}, "is missing"),
                          ({"wire_dir": bus.dir, "image": BUS}, "no unic-wire"),
                          ({"link": "virtio", "image": BUS}, "--netdev")):
            try:
                run_nic.command("virt", bus.dir, **how)
                raise AssertionError(f"{how} was accepted")
            except run_nic.Problem as e:
                assert text in str(e), str(e)


def test_other_sizes():
    with Bus("--slots", 24, "--slot-size", "64K", "--bar-size", "2M") as bus:
        driver = bus.driver()
        assert (driver.slots, driver.slot_bytes, driver.bar_bytes) == (
            24, 65536, 2 << 20)
        nic = bus.nic(25)
        assert driver.news() == ("joined", 1)
        driver.ring(24)
        assert nic.wait(24)
        with mmap.mmap(driver.memory[24], 65536) as m:
            m[65535] = 1


def test_joint():
    """All descriptors are of one sealed file: the mailbox, then the slots."""
    with Bus("--joint", "--slots", 7, "--slot-size", "2M") as bus:
        driver = bus.driver()
        assert driver.joint == 1
        assert len({os.fstat(fd).st_ino for fd in driver.memory}) == 1
        assert os.fstat(driver.memory[0]).st_size == 16 << 20
        assert fcntl.fcntl(driver.memory[3], F_GET_SEALS) & SEALS == SEALS
        nic = bus.nic(8)
        assert driver.news() == ("joined", 1)
        driver.ring(7)
        assert nic.wait(7)
    with Bus() as bus:
        assert bus.driver().joint == 0


def same(a, b):
    return os.path.samestat(os.fstat(a), os.fstat(b))


def said_file(bus, slot):
    """The file that a NIC which connects at present opens for the slot."""
    said = run_nic.bus_info(bus.dir)
    return os.open(run_nic.windows(said)[slot], os.O_RDWR)


def test_memory_is_exchanged():
    with Bus() as bus:
        driver = bus.driver()
        driver.renew(3)  # no NIC has it
        slot, fd = driver.renewed()
        assert slot == 3 and not same(fd, driver.memory[4])
        assert os.fstat(fd).st_size == SLOT_BYTES
        assert fcntl.fcntl(fd, F_GET_SEALS) & SEALS == SEALS
        assert same(fd, said_file(bus, 3))
        nic = bus.mapping_nic()
        assert sorted(nic.windows) == list(range(SLOTS))
        assert same(nic.windows[3], fd)
        assert same(nic.windows[2], driver.memory[3])
        for k in (3, 7, 3):
            driver.renew(k)
            until = time.monotonic() + PATIENCE_S
            while not nic.windows or not (got := driver.renewed(0.01)):
                nic.news()
                assert time.monotonic() < until
            assert got[0] == k and same(got[1], nic.windows[k])
        driver.sock.close()
        assert same(bus.driver().memory[4], nic.windows[3])


def test_nic_that_does_not_answer_holds_memory_up():
    """The memory of a slot is exchanged when the NIC answers or ends. A driver
    that comes meanwhile sends its own request."""
    with Bus() as bus:
        driver, nic = bus.driver(), bus.mapping_nic(answers=False)
        for k in range(SLOTS):
            nic.mapped(k)
        driver.renew(1)
        assert driver.renewed(0.2) is None, "it may still write to the old"
        nic.mapped(2)  # no answer is due for this slot
        nic.mapped(99)
        assert driver.renewed(0.2) is None
        nic.mapped(1)
        assert driver.renewed()[0] == 1
        driver.renew(2)
        assert driver.renewed(0.2) is None, "what it said too early counts"
        nic.mapped(2)
        assert driver.renewed()[0] == 2
        driver.renew(1)
        driver.renew(5)
        assert driver.renewed(0.2) is None
        driver.sock.close()
        driver = bus.driver()
        driver.renew(5)
        assert driver.renewed(0.2) is None
        nic.mapped(5)
        assert driver.renewed(0.2) is None, "that was about the one before"
        nic.close()
        slot, fd = driver.renewed()
        assert slot == 5 and same(fd, said_file(bus, 5))
        assert driver.renewed(0.2) is None
        # the next NIC of this number owes no answer
        nic = bus.mapping_nic()
        driver.renew(5)
        until = time.monotonic() + PATIENCE_S
        while not driver.renewed(0.01):
            nic.news()
            assert time.monotonic() < until, "for ever"
        nic.close()


def test_nic_that_says_nonsense():
    """Messages about unknown windows are dropped; half of a message ends the
    connection."""
    with Bus() as bus:
        nic = bus.mapping_nic()
        for w in range(-300, 300):
            if not 0 <= w < SLOTS:
                nic.mapped(w)
        driver = bus.driver()
        assert driver.news() == ("joined", nic.id)
        for v in range(VECTORS):
            driver.ring(v)
            assert nic.wait(v), f"doorbell {v} is lost"
        nic.sock.send(b"half")
        assert driver.news() == ("left", 1)
        assert bus.nic().id == 1


def test_who_cannot_exchange_memory_keeps_it():
    with Bus() as bus:
        driver, nic = bus.driver(), bus.nic()
        assert driver.news() == ("joined", 1)
        driver.renew(1)
        assert driver.renewed() == (1, None)
        assert same(said_file(bus, 1), driver.memory[2])
        nic.close()
        assert driver.news() == ("left", 1)
        driver.renew(1)
        assert driver.renewed()[1] is not None
    with Bus("--joint", "--slots", 2, "--slot-size", "2M") as bus:
        driver = bus.driver()
        driver.renew(1)
        assert driver.renewed() == (1, None)


def test_driver_of_another_version_is_told():
    """A message of another version, or an invalid one, ends the connection
    with a reason and the bus's version; the next driver is served."""
    renew = struct.pack("<HHII", Driver.RENEW, 2, 0, 0).ljust(32, b"\0")
    odd = ((renew[:2] + b"\3" + renew[3:], 2), (renew[:2] + b"\1\0" * 30, 2),
           (renew + b"\0", 3), (renew[:31], 3), (b"\6" + renew[1:], 3),
           (b"\5", 3))
    with Bus() as bus:
        for message, reason in odd:
            driver = bus.driver()
            driver.sock.send(message)
            kind, data, fds = driver.receive()
            assert kind == Driver.REFUSED and not fds, (message, kind)
            assert struct.unpack_from("<II", data, 8) == (reason, 0), message
            assert not driver.sock.recv(32), "the connection stays"
            driver.close()
        driver = bus.driver()
        for slot in (SLOTS, 1 << 31, (1 << 32) - 1):
            driver.renew(slot)  # each is answered
            assert driver.renewed() == (slot, None)
        driver.renew(0)
        assert driver.renewed()[1] is not None


def test_attaches_while_memory_is_exchanged():
    """The bus hangs up on a NIC that opened the old file of a slot."""
    with Bus() as bus:
        driver = bus.driver()
        for k in range(12):
            os.kill(bus.bus.process.pid, signal.SIGSTOP)
            driver.renew(k % SLOTS)
            ready, told = os.pipe()
            pid = os.fork()
            if not pid:
                nic = socket.socket(socket.AF_UNIX)
                nic.connect(f"{bus.dir}/ivshmem")
                fd = said_file(bus, k % SLOTS)
                os.write(told, b"x")
                nic.settimeout(PATIENCE_S)
                until = time.monotonic() + 0.2
                stays = True
                while stays and time.monotonic() < until:
                    if select.select([nic], [], [], 0.05)[0]:
                        stays = bool(nic.recv(4096))
                os._exit(stays and not same(fd, said_file(bus, k % SLOTS)))
            time.sleep(0.001 * (k % 3))
            os.kill(bus.bus.process.pid, signal.SIGCONT)
            os.read(ready, 1)
            os.close(ready)
            os.close(told)
            driver.renewed()
            assert not os.waitpid(pid, 0)[1], "it has memory of before"


def refused(*args):
    done = subprocess.run([BUS, *args], text=True, capture_output=True,
                          timeout=PATIENCE_S)
    assert done.returncode, f"{args} was accepted"
    return done.stderr


def test_a_guest_is_the_host():
    with Bus("--guest", "256M") as bus:
        said = run_nic.bus_info(bus.dir)
        assert said["slot_bytes"] == 256 << 20 and len(said["slot_fds"]) == 1
        assert said["vectors"] == VECTORS and "attach" not in said
        assert not os.path.exists(f"{bus.dir}/attach")
        nic = bus.nic()
        guest = bus.guest()
        assert (nic.id, guest.id, guest.bytes) == (1, 0, BAR_BYTES)
        assert guest.hears([0, 1, PEER_END]) and nic.hears([0, 1])
        for v in range(VECTORS):
            guest.ring(1, v)
            assert nic.wait(v)
            nic.ring(0, v)
            assert guest.wait(v)
        # one machine at a time; its place is free when it ends
        try:
            bus.guest()
            raise AssertionError("two guests")
        except ConnectionError:
            pass
        guest.close()
        nic.ring(0)  # nobody is there
        guest = bus.guest()
        assert guest.id == 0 and not guest.wait(0, 0.05)


def test_a_guest_is_made_to_look_when_a_nic_comes_and_goes():
    with Bus("--guest", "16M") as bus:
        guest = bus.guest()
        assert guest.hears([0, PEER_END])
        for _ in range(2):  # the second time its doorbells are known
            nic = bus.nic()
            assert guest.wait(0) and guest.hears([0, 1, PEER_END])
            guest.map[0:4] = b"CINU"
            nic.close()
            assert guest.wait(0) and guest.map[0:4] == bytes(4)


def test_a_guest_has_its_nics_ended():
    with Bus("--guest", "16M") as bus:
        guest = bus.guest()
        ready, told = os.pipe()
        pid = os.fork()
        if not pid:
            nic = bus.nic()
            os.write(told, b"x")
            time.sleep(PATIENCE_S)  # longer than it lives
            os._exit(nic.id)
        os.read(ready, 1)
        assert guest.wait(0) and guest.hears([0, 1, PEER_END])
        os.kill(pid, signal.SIGSTOP)  # it does not answer, but it ends
        guest.map[0:4] = b"CINU"
        guest.ring(PEER_END)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        assert guest.wait(0) and guest.map[0:4] == bytes(4)
        os.close(ready)
        os.close(told)


def test_refusals():
    assert "--dir is needed" in refused()
    assert "--slots" in refused("--dir", "/tmp/x", "--slots", "25")
    assert "--slots: 1 to 24" in refused("--dir", "/tmp/x", "--slots", "x")
    assert "power of two" in refused("--dir", "/tmp/x", "--slot-size", "3M")
    assert "power of two" in refused("--dir", "/tmp/x", "--bar-size", "4K")
    assert "4G in all" in refused("--dir", "/tmp/x", "--joint",
                                  "--slot-size", "1G")
    assert "power of two" in refused("--dir", "/tmp/x", "--guest", "3M")
    assert "without --joint" in refused("--dir", "/tmp/x", "--joint",
                                        "--guest", "256M")
    assert "cannot use directory" in refused("--dir", "/nonexistent/a/b")
    with Bus() as bus:
        assert "another unic-bus runs" in refused("--dir", bus.dir)
        assert bus.driver().refused_by is None


def test_leaves_nothing_behind():
    with Bus() as bus:
        assert bus.bus.stop() == 0
        assert os.listdir(bus.dir) == []
        bus.bus = Daemon(BUS, "--dir", bus.dir)
        bus.bus.process.kill()
        bus.bus.process.wait()
        bus.bus = Daemon(BUS, "--dir", bus.dir)  # after a kill -9 too


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
