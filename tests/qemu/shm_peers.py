# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Peers for tests, written from abi/ and QEMU's ivshmem-spec alone: an ivshmem
client, a port of the shared-memory link, a driver of unic-bus, the ICRC.
"""
import mmap
import os
import select
import socket
import struct
import subprocess
import sys
import time
import zlib

PATIENCE_S = 60  # for what takes milliseconds
LINK_MAGIC = 0x4B4E4C55
DIRECT, NO_ICRC = 1, 2
SLOT_NO_ICRC = 1


class IvshmemClient:
    """What QEMU's ivshmem-doorbell does with its chardev."""

    def __init__(self, path, vectors, timeout=PATIENCE_S):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.sock.settimeout(timeout)
        self.vectors, self.peers = vectors, {}
        version, fd = self.receive()
        assert version == 0 and fd is None, version
        self.id, fd = self.receive()
        assert fd is None
        value, self.shm_fd = self.receive()
        assert value == -1
        self.bytes = os.fstat(self.shm_fd).st_size
        self.map = mmap.mmap(self.shm_fd, self.bytes)
        while len(self.peers.get(self.id, [])) < vectors:
            self.take(*self.receive())

    def receive(self):
        data, fds, _, _ = socket.recv_fds(self.sock, 8, 1)
        if len(data) != 8:
            raise ConnectionResetError("the server hung up")
        return struct.unpack("<q", data)[0], fds[0] if fds else None

    def take(self, peer, fd):
        if fd is None:
            for event in self.peers.pop(peer, []):
                os.close(event)
        else:
            self.peers.setdefault(peer, []).append(fd)

    def news(self):
        """Read the messages that have come; returns the numbers of peers in them."""
        while select.select([self.sock], [], [], 0)[0]:
            self.take(*self.receive())
        return sorted(self.peers)

    def hears(self, peers, timeout=PATIENCE_S):
        """True once those peers, and no others, have joined."""
        until = time.monotonic() + timeout
        while self.news() != peers:
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        return True

    def ring(self, peer, vector=0):
        os.write(self.peers[peer][vector], struct.pack("=Q", 1))

    def wait(self, vector=0, timeout=PATIENCE_S):
        """True if the doorbell of this peer rings in time."""
        fd = self.peers[self.id][vector]
        if not select.select([fd], [], [], timeout)[0]:
            return False
        os.read(fd, 8)
        return True

    def close(self):
        """A second call does nothing."""
        self.sock.close()
        for fd in sum(self.peers.values(), [self.shm_fd]):
            os.close(fd)
        self.peers, self.close = {}, lambda: None


class MappingNic(IvshmemClient):
    """A NIC that exchanges the memory of slots (DIR/nic)."""

    def __init__(self, path, vectors, answers=True):
        self.windows, self.answers = {}, answers
        super().__init__(path, vectors)

    def take(self, peer, fd):
        if peer > -2:
            super().take(peer, fd)
            return
        old = self.windows.get(-2 - peer)
        self.windows[-2 - peer] = fd
        if old is not None:
            os.close(old)
        if self.answers:
            self.mapped(-2 - peer)

    def mapped(self, window):
        self.sock.send(struct.pack("<q", -2 - window))

    def close(self):
        for fd in self.windows.values():
            os.close(fd)
        super().close()


class LinkPort(IvshmemClient):
    """A NIC on the shared-memory link (abi/unic_link.h)."""

    def __init__(self, path, mac=None):
        super().__init__(path, 1)
        self.word = memoryview(self.map).cast("I")
        h = self.word
        assert h[0] == LINK_MAGIC and h[1] == 1, "not a link"
        (self.ports, self.slots, self.slot_bytes, self.flags, self.port_off,
         self.ring_off, self.ring_bytes) = h[2:9]
        self.mac = mac or bytes([2, 0, 0, 0, 0, self.id])
        row = self.row(self.id)
        self.map[row + 4:row + 10] = self.mac
        self.next_tx, self.next_rx = {}, {}
        self.word[row // 4] = 1

    def row(self, port):
        return self.port_off + 128 * port

    def ring_at(self, source, to):
        return self.ring_off + (source * self.ports + to) * self.ring_bytes

    def slot(self, ring, n):
        return ring + 128 + n % self.slots * self.slot_bytes

    def state(self, port):
        return self.word[self.row(port) // 4]

    def send(self, frame, to=0, flags=0, timeout=PATIENCE_S):
        ring = self.ring_at(self.id, to)
        n = self.next_tx.setdefault(to, self.word[ring // 4])
        end = time.monotonic() + timeout
        while n - self.word[ring // 4] >= self.slots:
            assert time.monotonic() < end, "the ring stays full"
            time.sleep(0.0001)
        slot = self.slot(ring, n)
        self.map[slot + 18:slot + 18 + len(frame)] = frame
        self.map[slot + 4:slot + 8] = struct.pack("<HH", len(frame), flags)
        self.word[slot // 4] = n + 1
        self.next_tx[to] = n + 1
        if self.word[(self.row(to) + 64) // 4]:
            self.news()
            self.ring(to)

    def settle(self, to=0, timeout=PATIENCE_S):
        """Wait until everything sent to a port was taken."""
        ring = self.ring_at(self.id, to) // 4
        end = time.monotonic() + timeout
        while self.word[ring] != self.next_tx[to]:
            assert time.monotonic() < end, "frames are not taken"
            time.sleep(0.0001)

    def receive_from(self, source):
        """(frame, flags) or None."""
        ring = self.ring_at(source, self.id)
        n = self.next_rx.setdefault(source, self.word[ring // 4])
        slot = self.slot(ring, n)
        if self.word[slot // 4] != n + 1:
            return None
        size, flags = struct.unpack_from("<HH", self.map, slot + 4)
        frame = self.map[slot + 18:slot + 18 + size]
        self.next_rx[source] = n + 1
        self.word[ring // 4] = n + 1
        return frame, flags

    def expect(self, timeout=PATIENCE_S, source=0):
        """Next frame from a ring, polling; None when it does not come."""
        end = time.monotonic() + timeout
        while True:
            got = self.receive_from(source)
            if got or time.monotonic() >= end:
                return got
            time.sleep(0.0002)

    def expect_asleep(self, timeout=PATIENCE_S):
        """As expect(), but waits for the doorbell, as a sleeping NIC does."""
        asleep = (self.row(self.id) + 64) // 4
        self.word[asleep] = 1
        got = self.receive_from(0)
        # A doorbell may be left from a frame that was seen before it rang.
        while not got and self.wait(0, timeout):
            got = self.receive_from(0)
        self.word[asleep] = 0
        return got

    def close(self):
        self.word.release()
        super().close()


class Driver:
    """A driver of unic-bus (abi/unic_bus.h)."""

    HELLO, REFUSED, JOINED, LEFT, RENEW, RENEWED = 1, 2, 3, 4, 5, 6

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.connect(path)
        self.sock.settimeout(PATIENCE_S)
        self.doorbells, self.memory, self.events = {}, [], []
        kind, data, fds = self.receive()
        self.refused_by = None
        if kind == self.REFUSED:
            self.reason, self.refused_by = struct.unpack_from("<II", data, 8)
            return
        assert kind == self.HELLO
        (self.slots, self.bar_bytes, self.slot_bytes, self.bus_pid,
         self.joint) = struct.unpack_from("<IIQII", data, 8)
        assert len(fds) == 2 * (1 + self.slots)
        self.memory, self.events = fds[:1 + self.slots], fds[1 + self.slots:]
        self.bar = mmap.mmap(self.memory[0], self.bar_bytes)

    def receive(self):
        data, fds, _, _ = socket.recv_fds(self.sock, 64, 64)
        if not data:
            raise ConnectionResetError("the bus hung up")
        assert len(data) == 32, len(data)
        kind, version, count = struct.unpack_from("<HHI", data)
        assert version == 2 and count == len(fds)
        return kind, data, fds

    def close(self):
        """A second call does nothing."""
        self.sock.close()
        for fd in sum(self.doorbells.values(), self.memory + self.events):
            os.close(fd)
        self.close = lambda: None

    def news(self, timeout=PATIENCE_S):
        """The next notice: ("joined" or "left", peer), or None."""
        if not select.select([self.sock], [], [], timeout)[0]:
            return None
        kind, data, fds = self.receive()
        peer, = struct.unpack_from("<I", data, 8)
        if kind == self.JOINED:
            self.doorbells[peer] = fds
            return "joined", peer
        assert kind == self.LEFT
        for fd in self.doorbells.pop(peer):
            os.close(fd)
        return "left", peer

    def renew(self, slot):
        self.sock.send(struct.pack("<HHII", self.RENEW, 2, 0, slot).ljust(
            32, b"\0"))

    def renewed(self, timeout=PATIENCE_S):
        """(slot, its memory or None), or None: no answer. News are skipped."""
        while select.select([self.sock], [], [], timeout)[0]:
            kind, data, fds = self.receive()
            if kind == self.RENEWED:
                return struct.unpack_from("<I", data, 8)[0], \
                    fds[0] if fds else None
        return None

    def ring(self, vector, peer=1):
        os.write(self.doorbells[peer][vector], struct.pack("=Q", 1))

    def wait(self, vector, timeout=PATIENCE_S):
        if not select.select([self.events[vector]], [], [], timeout)[0]:
            return False
        os.read(self.events[vector], 8)
        return True


class Daemon:
    """unic-bus or unic-wire in a directory of its own."""

    def __init__(self, program, *args):
        self.lines = []
        self.process = subprocess.Popen([program, *map(str, args)], text=True,
                                        stdout=subprocess.PIPE)
        ready = self.process.stdout.readline()
        assert ": ready " in ready, f"{program}: {ready!r}"
        self.ready = dict(f.split("=") for f in ready.split() if "=" in f)

    def stop(self):
        """Stop the daemon; returns the exit code."""
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        return code


def icrc(frame):
    """The ICRC a RoCEv2 frame should have (IBTA 1.4, 7.8.1 and A17.3.3)."""
    total = struct.unpack_from(">H", frame, 16)[0]
    p = bytearray(frame[14:14 + total - 4])
    ihl = (p[0] & 15) * 4
    p[1] = p[8] = p[10] = p[11] = 0xFF
    p[ihl + 6] = p[ihl + 7] = p[ihl + 12] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(p)))


def is_roce(frame):
    return (frame[12:14] == b"\x08\0" and frame[23] == 17
            and frame[36:38] == struct.pack(">H", 4791))


def ip_checksum(header):
    s = sum(struct.unpack(f">{len(header) // 2}H", header))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def roce(src, dst, psn, payload=b"", fill=True):
    """An RC SEND Only of one payload; with its ICRC if @fill, else zeros."""
    pad = -len(payload) % 4
    bth = struct.pack(">BBHII", 4, pad << 4, 0xFFFF, 17, psn & 0xFFFFFF)
    body = bth + payload + bytes(pad + 4)
    udp = struct.pack(">HHHH", 0xC123, 4791, 8 + len(body), 0)
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 28 + len(body), psn & 0xFFFF,
                     0x4000, 64, 17, 0, 0x0A000001, 0x0A000002)
    ip = ip[:10] + struct.pack(">H", ip_checksum(ip)) + ip[12:]
    frame = dst + src + b"\x08\0" + ip + udp + body
    return frame[:-4] + icrc(frame) if fill else frame


def psn_of(frame):
    return struct.unpack_from(">I", frame, 50)[0] & 0xFFFFFF


def last_line(e):
    """The line number of the test itself in the traceback, not of a function that it
    called."""
    tb = e.__traceback__
    while tb.tb_next and "test_" in tb.tb_next.tb_frame.f_code.co_name:
        tb = tb.tb_next
    return tb.tb_lineno


def run_tests(names):
    """Each test_*() of @names, one after the other; with `--only WORDS' at the end of
    the arguments only those with WORDS in the name. Returns an exit code."""
    only = sys.argv[-1] if "--only" in sys.argv[-2:-1] else ""
    passed = failed = 0
    for name, test in list(names.items()):
        if not name.startswith("test_") or only not in name:
            continue
        try:
            test()
            passed += 1
            print(f"ok {name}", flush=True)
        except Exception as e:  # a test may fail in any way
            failed += 1
            print(f"FAIL {name}: {type(e).__name__}: {e} (line "
                  f"{last_line(e)})", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0
