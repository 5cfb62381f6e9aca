#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Put a network interface of this machine behind a port of unic-wire, so that a soft
NIC, or one in QEMU, and a board on the desk are on one Ethernet.

    unic-wire --dir DIR --lan desk &
    lan_bridge.py --wire DIR --port desk --interface eth1

Needs CAP_NET_RAW (root). The interface becomes promiscuous while this runs, because
the NICs behind the port have addresses of their own; nothing else about it changes,
and the machine's own traffic goes on. Ends when unic-wire does, or with Ctrl-C.
"""
import argparse
import os
import select
import socket
import struct
import sys

SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP = 1
PACKET_IGNORE_OUTGOING = 23
PACKET_MR_PROMISC = 1
ETH_P_ALL = 3
LEAST = 60  # bytes of a frame on a wire, without its FCS
MOST = 16384  # docs/SPEC.md, Ports of unic-wire


def open_interface(name):
    """All frames that come in by it, and none that leave."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(ETH_P_ALL))
    sock.bind((name, ETH_P_ALL))
    sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    sock.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                    struct.pack("IHH8x", socket.if_nametoindex(name),
                                PACKET_MR_PROMISC, 0))
    return sock


def open_port(folder, name):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(os.path.join(folder, name))
    return sock


class Stream:
    """Frames behind their lengths, as they come in pieces."""

    def __init__(self, sock):
        self.sock, self.bytes = sock, b""

    def frames(self):
        """Whole frames, oldest first; None once the other end is gone."""
        data = self.sock.recv(65536)
        if not data:
            return None
        self.bytes += data
        found = []
        while len(self.bytes) >= 4:
            size = int.from_bytes(self.bytes[:4], "big")
            if len(self.bytes) < 4 + size:
                break
            found.append(self.bytes[4:4 + size])
            self.bytes = self.bytes[4 + size:]
        return found


def send_out(interface, frame, counts):
    """A frame that the interface cannot take is lost, as on any wire."""
    try:
        interface.send(frame.ljust(LEAST, b"\0"))
        counts["out"] += 1
    except OSError:
        counts["lost"] += 1


def run(interface, port, counts):
    stream = Stream(port)
    while True:
        ready, _, _ = select.select([interface, port], [], [])
        if interface in ready:
            frame = interface.recv(MOST)
            port.sendall(len(frame).to_bytes(4, "big") + frame)
            counts["in"] += 1
        if port in ready:
            frames = stream.frames()
            if frames is None:
                return
            for frame in frames:
                send_out(interface, frame, counts)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--wire", required=True, metavar="DIR",
                   help="run directory of unic-wire")
    p.add_argument("--port", required=True, metavar="NAME",
                   help="what its --lan or --stream said")
    p.add_argument("--interface", required=True, metavar="NAME")
    o = p.parse_args()
    counts = {"in": 0, "out": 0, "lost": 0}
    try:
        interface = open_interface(o.interface)
        port = open_port(o.wire, o.port)
        print("lan_bridge: ready", flush=True)
        run(interface, port, counts)
    except PermissionError as e:
        print(f"lan_bridge: {e}: needs root, or CAP_NET_RAW", file=sys.stderr)
        return 1
    except OSError as e:
        print(f"lan_bridge: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    print(f"lan_bridge: {counts['in']} frames in, {counts['out']} out, "
          f"{counts['lost']} lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
