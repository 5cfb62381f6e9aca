# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A station on a stream port of unic-wire (SPEC "Ports of unic-wire").

In both directions each frame follows its length, four bytes, big-endian."""

import contextlib
import select
import socket
import struct
import time
from collections import deque

import frame as fr

BARRIER_IP = fr.ipv4("10.0.0.254")


class Port:
    """The stream: frames in, frames out."""

    def __init__(self, path, wait=5.0):
        """Connects to the socket, which may come up within `wait` seconds."""
        end = time.monotonic() + wait
        while True:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                self.sock.connect(path)
                break
            except OSError as error:
                self.sock.close()
                if time.monotonic() > end:
                    raise OSError(error.errno, error.strerror,
                                  path) from None
                time.sleep(0.01)
        self.buffer = b""
        self.sent, self.held = 0, None

    def close(self):
        """Ends the connection; the port of the wire falls silent."""
        self.sock.close()

    def send(self, frame):
        """One frame to the wire."""
        self.sent += 1
        data = struct.pack(">I", len(frame)) + frame
        if self.held is None:
            self.sock.sendall(data)
        else:
            self.held += data

    @contextlib.contextmanager
    def at_once(self):
        """What is sent in this context leaves at its end, in one call."""
        self.held = b""
        yield
        held, self.held = self.held, None
        self.sock.sendall(held)

    def _take(self):
        if len(self.buffer) < 4:
            return None
        size = struct.unpack_from(">I", self.buffer)[0]
        if len(self.buffer) < 4 + size:
            return None
        frame = self.buffer[4:4 + size]
        self.buffer = self.buffer[4 + size:]
        return frame

    def recv(self, timeout):
        """The next frame, or None when `timeout` seconds are over."""
        end = time.monotonic() + timeout
        while True:
            frame = self._take()
            if frame is not None:
                return frame
            left = end - time.monotonic()
            ready = select.select([self.sock], [], [], max(left, 0))[0]
            if not ready:
                return None
            data = self.sock.recv(1 << 18)
            if not data:
                raise ConnectionError("unic-wire has closed the port")
            self.buffer += data


class Station:
    """A MAC and IPv4 address on a port. It answers ARP for itself, if
    `answers_arp`, and sorts what comes by destination queue pair, so that
    what is late for one case does not disturb the next."""

    def __init__(self, port, mac, ip, nic_mac=None, nic_ip=None):
        self.port = port
        self.mac = mac
        self.ip = ip
        self.nic_mac = nic_mac
        self.nic_ip = nic_ip
        self.answers_arp = True
        self.queues = {}
        self.arps = deque(maxlen=256)
        self.aliases = {}
        self.faults = []
        self.barriers = 0

    def open(self, qpn):
        """From now on frames to queue pair `qpn` are kept for recv()."""
        self.queues.setdefault(qpn, deque())

    def forget(self, qpn):
        """No more frames to `qpn`."""
        self.queues.pop(qpn, None)

    def packet(self, **fields):
        """A packet from here to the NIC; `fields` change what it says."""
        values = {"dst": self.nic_mac, "src": self.mac, "src_ip": self.ip,
                  "dst_ip": self.nic_ip}
        values.update(fields)
        return fr.Packet(**values)

    def send(self, **fields):
        """Sends such a packet."""
        self.port.send(self.packet(**fields).build())

    def _arp(self, got):
        if got.op == 2 and got.tpa == BARRIER_IP:
            self.barriers += 1
            return
        self.arps.append(got)
        known = {self.ip: self.mac, **self.aliases}
        if got.op == 1 and self.answers_arp and got.tpa in known:
            mac = known[got.tpa]
            self.port.send(fr.Arp(got.sha, mac, 2, mac, got.tpa, got.sha,
                                  got.spa).build())

    def poll(self, timeout=0.0):
        """Takes one frame and sorts it; False if none came."""
        raw = self.port.recv(timeout)
        if raw is None:
            return False
        arp = fr.parse_arp(raw)
        if arp:
            self._arp(arp)
            return True
        packet = fr.parse(raw)
        if packet is None:
            self.faults.append("no RoCEv2: " + raw[:64].hex())
            return True
        self.faults += fr.faults(packet)
        if packet.dqpn in self.queues:
            self.queues[packet.dqpn].append(packet)
        return True

    def recv(self, qpn, timeout):
        """The next packet to queue pair `qpn`, or None."""
        queue = self.queues.setdefault(qpn, deque())
        end = time.monotonic() + timeout
        while not queue:
            left = end - time.monotonic()
            if not self.poll(max(left, 0)) and left <= 0:
                return None
        return queue.popleft()

    def learn(self, timeout=5.0):
        """Asks by ARP for the MAC of `nic_ip`, every 50 ms; True if the NIC
        answered."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.ask(self.nic_ip)
            stop = time.monotonic() + 0.05
            while time.monotonic() < stop:
                if not self.poll(max(stop - time.monotonic(), 0)):
                    break
                last = self.arps[-1] if self.arps else None
                if last and last.op == 2 and last.spa == self.nic_ip:
                    self.nic_mac = last.sha
                    return True
        return False

    def barrier(self, timeout=5.0):
        """Waits until the NIC has taken all frames that were sent before: it
        answers an ARP request, and frames keep their order. False if it does
        not."""
        before = self.barriers
        self.ask(self.nic_ip, spa=BARRIER_IP)
        end = time.monotonic() + timeout
        while self.barriers == before and time.monotonic() < end:
            self.poll(0.01)
        return self.barriers != before

    def ask(self, ip, **fields):
        """Sends an ARP request for `ip`; `fields` change what it says."""
        values = {"dst": fr.BROADCAST, "src": self.mac, "op": 1,
                  "sha": self.mac, "spa": self.ip, "tha": b"\0" * 6,
                  "tpa": ip}
        values.update(fields)
        self.port.send(fr.Arp(**values).build())
