#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""unic-wire with real peers on real sockets and shared memory.

usage: test_wire.py [UNIC_WIRE] [--only WORDS]        (default build/bin/unic-wire)
"""
import json
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import hosts
import shm_peers
from shm_peers import Daemon, LinkPort, icrc, is_roce, psn_of, roce, run_tests

WIRE = sys.argv[1] if len(sys.argv) % 2 == 0 else "build/bin/unic-wire"
ALL = b"\xff" * 6
FRAMES = 3000


class Net:
    """A unic-wire and NICs on its link."""

    def __init__(self, *args, nics=2, through=()):
        self.dir = tempfile.mkdtemp(prefix="unic-wire-test-")
        self.stats_file = os.path.join(self.dir, "stats.json")
        self.wire = Daemon(*through, WIRE, "--dir", self.dir, "--stats",
                           self.stats_file, *args)
        self.nic = [LinkPort(f"{self.dir}/ivshmem") for _ in range(nics)]

    def __enter__(self):
        return self

    def stop(self, code=0):
        """Stop unic-wire, which must end with @code; returns the counters."""
        for nic in self.nic:
            nic.close()
        self.nic = []
        if self.wire:
            assert self.wire.stop() == code
            self.wire = None
        with open(self.stats_file, encoding="ascii") as f:
            return json.load(f)

    def __exit__(self, kind, value, trace):
        if self.wire:
            self.wire.stop()
        shutil.rmtree(self.dir)

    def learn(self):
        """Every NIC sends one frame, and receives those of the others."""
        for a in self.nic:
            a.send(roce(a.mac, ALL, 0))
            for b in self.nic:
                if b is not a:
                    assert b.expect(), "a broadcast did not arrive"


def test_switches():
    with Net(nics=3) as net:
        a, b, c = net.nic
        net.learn()
        a.send(roce(a.mac, b.mac, 5, b"hello"))
        assert psn_of(b.expect()[0]) == 5
        assert c.expect(0.05) is None, "a learned station's frame was flooded"
        a.send(roce(a.mac, a.mac, 6))
        assert a.expect(0.05) is None, "a frame came back to its sender"
        counts = net.stop()
        assert counts["ports"]["1"]["rx_frames"] == 3
        assert counts["ports"]["2"]["tx_frames"] == 3
        assert counts["flooded"] == 3


def test_wakes_sleepers_and_sleeps():
    with Net() as net:
        a, b = net.nic
        net.learn()
        time.sleep(0.05)
        for n in range(50):
            a.send(roce(a.mac, b.mac, n))
            got = b.expect_asleep()
            assert got and psn_of(got[0]) == n, f"lost wake-up at {n}"
        used = hosts.least_share(net.wire.process.pid)
        assert used <= 0.04, f"an idle switch uses {used:.1%} of a processor"


def test_icrc_offload_stays_on_the_link():
    with Net() as net:
        a, b = net.nic
        net.learn()
        frame = roce(a.mac, b.mac, 1, b"x" * 100, fill=False)
        a.send(frame, flags=shm_peers.SLOT_NO_ICRC)
        got, flags = b.expect()
        assert flags == shm_peers.SLOT_NO_ICRC and got == frame


def tshark(path, *args):
    # RPC-over-RDMA guesses at every payload and finds most of them malformed.
    return subprocess.run(["tshark", "-n", "--disable-protocol", "rpcordma",
                           "-r", path, *args], text=True,
                          capture_output=True, check=True).stdout


def pcap_frames(path):
    with open(path, "rb") as f:
        data = f.read()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D, "not nanoseconds"
    at = 24
    while at < len(data):
        size, = struct.unpack_from("<I", data, at + 8)
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def test_capture():
    pcap = tempfile.mktemp(suffix=".pcap")
    try:
        with Net("--pcap", pcap) as net:
            a, b = net.nic
            net.learn()
            for n in range(100):
                a.send(roce(a.mac, b.mac, n, bytes([n]) * n, fill=n % 2),
                       flags=0 if n % 2 else shm_peers.SLOT_NO_ICRC)
                assert b.expect()
            assert net.stop()["captured"] == 102
        frames = list(pcap_frames(pcap))
        assert len(frames) == 102
        for f in frames:
            end = 14 + struct.unpack_from(">H", f, 16)[0]
            assert f[end - 4:end] == icrc(f), "wrong ICRC in the capture"
        assert not tshark(pcap, "-Y", "_ws.malformed")
        psns = tshark(pcap, "-T", "fields", "-e", "infiniband.bth.psn",
                      "-Y", "infiniband.bth.opcode == 4").split()
        assert [int(p) for p in psns[2:]] == list(range(100))
    finally:
        if os.path.exists(pcap):
            os.unlink(pcap)


def faulty_run(seed):
    """(PSNs in order of arrival, how many had a wrong ICRC, counters)."""
    with Net("--loss", "2%", "--dup", "0.01", "--reorder", "1=3%", "--corrupt",
             "1%", "--seed", seed) as net:
        a, b = net.nic
        # Only direction 1 is measured; 2 is heard so that 1 is not flooded.
        for _ in range(20):
            b.send(roce(b.mac, ALL, 0))
        psns, bad = [], 0
        for n in range(FRAMES):
            a.send(roce(a.mac, b.mac, n, b"payload" * 20, fill=False),
                   flags=shm_peers.SLOT_NO_ICRC)
            if n % 32 == 31:
                a.settle()  # or b's ring would overflow on a busy machine
            while got := b.receive_from(0):
                bad += judge(got, psns)
        a.settle()
        while got := b.expect(1):  # the wire may be late with the last ones
            bad += judge(got, psns)
        counts = net.stop()["ports"]
        assert counts["2"]["tx_dropped"] == 0
        return psns, bad, counts["1"]


def judge(got, psns):
    frame, flags = got
    if not flags and (not is_roce(frame) or frame[-4:] != icrc(frame)):
        return 1
    psns.append(psn_of(frame))
    return 0


def near(count, rate, n=FRAMES):
    """Within five standard deviations."""
    return abs(count - n * rate) < 5 * (n * rate) ** 0.5


def test_faults_are_seeded():
    psns, bad, count = faulty_run(7)
    assert near(count["lost"], 0.02), count
    assert near(count["duplicated"], 0.01), count
    assert near(count["reordered"], 0.03), count
    assert near(count["corrupted"], 0.01), count
    # A flip in a field that the ICRC leaves out is no damage.
    assert 0 < bad <= count["corrupted"] * 2
    assert psns != sorted(psns), "nothing was reordered"
    assert len(psns) - len(set(psns)) > 0, "nothing arrived twice"
    again = faulty_run(7)
    # A frame is held back for a millisecond at most, and only one at a time.
    assert abs(again[2].pop("reordered") - count.pop("reordered")) < 10
    assert again[2] == count, "the same seed, other faults"
    assert sorted(again[0]) == sorted(psns), "the same seed, other frames"
    assert sorted(faulty_run(8)[0]) != sorted(psns)


def test_delay():
    with Net("--delay-us", "20000") as net:
        a, b = net.nic
        took = []
        for _ in range(5):  # each may be late, but not all of them
            start = time.monotonic()
            for n in range(10):
                a.send(roce(a.mac, ALL, n))
            assert [psn_of(b.expect()[0]) for _ in range(10)] == list(
                range(10))
            took.append(time.monotonic() - start)
        assert 0.02 <= min(took) < 0.1, took


def test_socket_ports():
    with Net("--dgram", "d.wire,d.qemu", "--stream", "s.wire", nics=1) as net:
        nic = net.nic[0]
        dgram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        dgram.bind(f"{net.dir}/d.qemu")
        dgram.settimeout(shm_peers.PATIENCE_S)
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(f"{net.dir}/s.wire")
        stream.settimeout(shm_peers.PATIENCE_S)
        # A frame of the stream arrives, so the wire has accepted the stream.
        data = roce(b"\x02strea", ALL, 2, b"first")
        stream.send(struct.pack(">I", len(data)) + data)
        assert nic.expect() == (data, 0) and dgram.recv(65536) == data
        frame = roce(nic.mac, ALL, 3, b"out", fill=False)
        nic.send(frame, flags=shm_peers.SLOT_NO_ICRC)
        want = frame[:-4] + icrc(frame)
        assert dgram.recv(65536) == want
        got = stream.recv(65536)
        assert got == struct.pack(">I", len(want)) + want
        back = roce(b"\x02dgram", nic.mac, 4, b"in")
        dgram.sendto(back, f"{net.dir}/d.wire")
        assert nic.expect() == (back, 0)
        # A length and a frame, cut anywhere.
        back = roce(b"\x02strea", nic.mac, 5, b"in")
        data = struct.pack(">I", len(back)) + back
        for i in range(0, len(data), 7):
            stream.send(data[i:i + 7])
            time.sleep(0.001)
        assert nic.expect() == (back, 0)
        # A length out of range ends the connection, is counted, and a new
        # connection is accepted.
        stream.send(struct.pack(">I", 1 << 30))
        assert stream.recv(10) == b""
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(f"{net.dir}/s.wire")
        stream.settimeout(shm_peers.PATIENCE_S)
        stream.send(data)
        assert nic.expect() == (back, 0)
        # Group members hear each other across port kinds.
        dgram.sendto(roce(b"\x02dgram", ALL, 6), f"{net.dir}/d.wire")
        assert nic.expect() and len(stream.recv(65536)) > 60
        counts = net.stop()["ports"]
        assert counts["9"]["rx_bad"] == 1 and counts["8"]["rx_frames"] == 2


def test_full_ring_drops_and_counts():
    with Net() as net:
        a, b = net.nic
        net.learn()
        for n in range(b.slots + 50):
            a.send(roce(a.mac, b.mac, n))
        a.settle()
        time.sleep(0.5)  # the wire has taken all, and delivers them
        assert [psn_of(b.expect()[0]) for _ in range(b.slots)] == list(
            range(b.slots))
        assert b.expect(0.05) is None
        assert net.stop()["ports"]["2"]["tx_dropped"] == 50


def test_full_ring_is_nobody_elses():
    """A NIC that takes nothing loses its own frames; those between others, and
    those to all, come in order and without a gap."""
    with Net(nics=3) as net:
        a, b, c = net.nic
        net.learn()
        for n in range(3 * c.slots):
            a.send(roce(a.mac, c.mac, n))
            a.send(roce(a.mac, b.mac, n))
            b.send(roce(b.mac, a.mac, n))
            got = b.expect(), a.expect()
            assert [psn_of(g[0]) for g in got] == [n, n]
        a.send(roce(a.mac, ALL, 7))
        assert psn_of(b.expect()[0]) == 7
        assert [psn_of(c.expect()[0]) for _ in range(c.slots)] == list(
            range(c.slots))
        assert c.expect(0.05) is None
        a.send(roce(a.mac, c.mac, 8))
        assert psn_of(c.expect()[0]) == 8, "it is heard no more"
        ports = net.stop()["ports"]
        assert ports["3"]["tx_dropped"] == 2 * c.slots + 1, ports
        assert not ports["1"]["tx_dropped"] + ports["2"]["tx_dropped"]


def drained(connection):
    """The frames that came over a stream."""
    data = b""
    connection.settimeout(0.5)
    try:
        while part := connection.recv(1 << 20):
            data += part
    except TimeoutError:
        pass
    while data:
        size, = struct.unpack_from(">I", data)
        assert len(data) >= 4 + size, "half a frame"
        yield data[4:4 + size]
        data = data[4 + size:]


def test_stopped_socket_is_nobody_elses():
    """Of a QEMU that reads nothing, the wire keeps a bounded number of bytes,
    whole frames in order."""
    with Net("--stream", "s.wire", "--dgram", "d.wire,d.qemu") as net:
        a, b = net.nic
        far = {b"\x02strea": socket.socket(socket.AF_UNIX),
               b"\x02dgram": socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)}
        stream, dgram = far.values()
        dgram.bind(f"{net.dir}/d.qemu")
        stream.connect(f"{net.dir}/s.wire")
        net.learn()
        hello = roce(b"\x02strea", ALL, 0)
        stream.send(struct.pack(">I", len(hello)) + hello)
        dgram.sendto(roce(b"\x02dgram", ALL, 1), f"{net.dir}/d.wire")
        for nic in (a, b):
            assert sorted(psn_of(nic.expect()[0]) for _ in far) == [0, 1]
        many = 1000
        for n in range(many):
            for mac in far:
                a.send(roce(a.mac, mac, n, bytes(3000)))
            a.send(roce(a.mac, b.mac, n))
            assert psn_of(b.expect()[0]) == n
        psns = [psn_of(f) for f in drained(stream)
                if f[:6] == b"\x02strea"]
        assert psns and psns == list(range(len(psns))), "a gap, or no order"
        ports = net.stop()["ports"]
        assert ports["8"]["tx_dropped"] >= many // 2, ports
        assert ports["9"]["tx_dropped"] >= many // 2, ports
        assert not ports["1"]["tx_dropped"] + ports["2"]["tx_dropped"]


def test_hostile_nic():
    with Net() as net:
        a, b = net.nic
        net.learn()
        ring = a.ring_at(a.id, 0)
        # A length beyond the slot, then a frame of 5 bytes, then a good one.
        for size in (0xFFFF, 5):
            n = a.next_tx[0]
            slot = a.slot(ring, n)
            a.map[slot + 4:slot + 8] = struct.pack("<HH", size, 0xFFFF)
            a.word[slot // 4] = n + 1
            a.next_tx[0] = n + 1
        a.ring(0)
        a.send(roce(a.mac, b.mac, 77))
        assert psn_of(b.expect()[0]) == 77
        counts = net.stop()
        assert counts["link_rx_bad"] == 1
        assert counts["ports"]["1"]["rx_bad"] == 1


def test_nics_come_and_go():
    with Net(nics=3) as net:
        a, b, c = net.nic
        net.learn()
        number = b.id
        b.close()
        deadline = time.monotonic() + shm_peers.PATIENCE_S
        while a.state(number) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not a.state(number), "a dead NIC is still in the table"
        refuge = LinkPort(f"{net.dir}/ivshmem")
        assert refuge.id == number, "its number was not reused"
        net.nic = [a, refuge, c]
        net.learn()
        try:
            LinkPort(f"{net.dir}/ivshmem")
            raise AssertionError("a fourth NIC on a link of three")
        except ConnectionResetError:
            pass


def test_direct():
    with Net("--direct") as net:
        a, b = net.nic
        assert a.flags & shm_peers.DIRECT
        a.news()
        frame = roce(a.mac, b.mac, 1)
        a.send(frame, to=b.id)
        assert b.expect(source=a.id) == (frame, 0)


def refused(*args):
    done = subprocess.run([WIRE, *args], text=True, capture_output=True,
                          timeout=shm_peers.PATIENCE_S)
    assert done.returncode, f"{args} was accepted"
    return done.stderr


def test_capture_is_full():
    """A capture that finds no room is refused at the start; later it is said once, frames go on, and
    it is the exit status."""
    assert "cannot capture: No space left" in refused("--dir", tempfile.mkdtemp(), "--pcap", "/dev/full")
    pcap = tempfile.mktemp(suffix=".pcap")
    try:
        with Net("--pcap", pcap, through=("sh", "-c", 'trap "" XFSZ; exec "$@" 2>&1', "-")) as net:
            a, b = net.nic
            net.learn()
            of = net.wire.process.pid
            before = resource.prlimit(of, resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
            for n in range(100):
                a.send(roce(a.mac, b.mac, n, bytes(100)))
                assert b.expect()
            said = net.wire.process.stdout.readline()
            while "cannot capture any more" not in said:
                said = net.wire.process.stdout.readline()
            assert f"{pcap}: File too large" in said, said
            resource.prlimit(of, resource.RLIMIT_FSIZE, before)
            a.send(roce(a.mac, b.mac, 100))
            assert b.expect()
            assert net.stop(1)["captured"] < 102 and os.path.getsize(pcap) <= 2000
    finally:
        os.unlink(pcap)


def test_refusals():
    assert "cannot be combined" in refused("--dir", "/tmp/x", "--direct",
                                           "--loss", "1%")
    assert "cannot be combined" in refused("--dir", "/tmp/x", "--direct",
                                           "--pcap", "x")
    assert "from 0 to 1" in refused("--dir", "/tmp/x", "--loss", "150%")
    assert "--dir is needed" in refused()
    assert "cannot capture" in refused("--dir", tempfile.mkdtemp(), "--pcap",
                                       "/nonexistent/x.pcap")
    with Net() as net:
        assert "another unic-wire runs" in refused("--dir", net.dir)


def test_leaves_nothing_behind():
    with Net("--dgram", "d.wire,d.qemu") as net:
        net.stop()
        assert os.listdir(net.dir) == ["stats.json"]


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
