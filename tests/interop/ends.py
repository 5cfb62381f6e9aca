# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The two ends of transfers with a foreign peer: interop-unic on this machine, at a NIC of
unic, and interop-verbs in a guest, at Linux's rdma_rxe. Both do commands (end.c)."""
import os
import select
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", part)
                for part in ("qemu", "runner", "vm")]
import guest  # noqa: E402
import hosts  # noqa: E402
from hosts import Failure  # noqa: E402

VERBS = os.path.join(hosts.BIN, "interop-verbs")
UNIC = os.path.join(hosts.BIN, "interop-unic")
GUEST_IP = "10.0.0.9"
GUEST_MAC = "52:54:00:72:78:65"
# rxe answers a READ with all packets at once: its interface must not drop them itself.
QUEUE = 20000
MTU = 4200  # of the interface: room for a path MTU of 4096
ARENA = (8 << 20) + (1 << 17)
# Both processors of the machine may be busy with something else.
ANSWER_S = 120
PROVIDER = "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so"
DRIVER = "/etc/libibverbs.d/rxe.driver"
MODULES = ("virtio_net", "crc32_generic", "ib_uverbs", "rdma_rxe")
PORT_IN_GUEST = "/dev/vport*p2"


class End:
    """One of the two. given, says: descriptors that carry its lines."""

    def __init__(self, who, given, says, ipv4):
        self.who, self.given, self.says, self.ipv4 = who, given, says, ipv4
        self.unread = b""
        ready = self.line().split()
        if ready[0] != "ready":
            raise Failure(f"{who}: {' '.join(ready)}")
        self.remote, self.rkey = int(ready[1]), int(ready[2])
        self.atomics = ready[3] == "1"

    def line(self, seconds=None):
        until = time.monotonic() + (seconds or ANSWER_S)
        while b"\n" not in self.unread:
            left = max(0, until - time.monotonic())
            if not select.select([self.says], [], [], left)[0]:
                raise Failure(f"{self.who} does not answer")
            data = os.read(self.says, 1 << 16)
            if not data:
                raise Failure(f"{self.who} ended: {self.unread.decode()}")
            self.unread += data
        text, self.unread = self.unread.split(b"\n", 1)
        return text.decode().strip()

    def ask(self, *words, seconds=None):
        line = " ".join(map(str, words)) + "\n"
        os.write(self.given, line.encode())
        said = self.line(seconds)
        if said.startswith("failed"):
            raise Failure(f"{self.who}: {line.strip()}: {said}")
        return said

    def number(self, *words):
        return int(self.ask(*words))

    def must(self, *words, answer="ok"):
        said = self.ask(*words)
        if said != answer:
            raise Failure(f"{self.who}: {' '.join(map(str, words))}: {said}")

    # ------------------------------------------------------------ commands

    def send(self, op, wr_id, off, length, remote=0, rkey=0, imm=0, operand=0,
             swap=0, to="0.0.0.0"):
        self.must("send", op, wr_id, off, length, remote, rkey, imm, operand, swap,
                  to, answer="0")

    def recv(self, wr_id, off, length):
        self.must("recv", wr_id, off, length, answer="0")

    def poll(self, ms):
        """A completion as a dictionary, or None."""
        said = self.ask("poll", ms, seconds=ANSWER_S + ms / 1000)
        if said == "none":
            return None
        wr_id, status, size, imm, inv, grh, sender = said.split()
        return {"id": int(wr_id), "status": status, "bytes": int(size),
                "imm": None if imm == "-" else int(imm),
                "inv": None if inv == "-" else int(inv),
                "grh": grh == "1", "sender": int(sender)}

    def completion(self, wr_id, status="ok", seconds=None):
        """The next completion, which is that of @wr_id and has @status."""
        found = self.poll(int((seconds or ANSWER_S) * 1000))
        if not found:
            raise Failure(f"{self.who}: request {wr_id} did not complete within "
                          f"{seconds} s")
        if found["id"] != wr_id or found["status"] != status:
            raise Failure(f"{self.who}: {found}, but {wr_id} was to end with {status}")
        return found


class Unic(End):
    """At the NIC of host @host of @rig."""

    def __init__(self, rig, host):
        self.child = subprocess.Popen(
            [UNIC, rig.socket(host), str(ARENA)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        rig.ends.append(self)
        super().__init__(f"unic ({rig.boards[host]})", self.child.stdin.fileno(),
                         self.child.stdout.fileno(), hosts.IP[host])

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()


class Rxe(End):
    """In the guest @machine; @path: the socket of its port for this end."""

    def __init__(self, machine, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        machine.run(f"set -- {PORT_IN_GUEST}; "
                    f"interop-verbs rxe0 {ARENA} <>$1 >&0 2>&1 &")
        super().__init__("rxe", self.socket.fileno(), self.socket.fileno(), GUEST_IP)

    def end(self):
        self.socket.close()


def boot(tmp, wire_socket, more=(), programs=()):
    """A guest with rxe0 on a port of the wire, devices @more of QEMU, and @programs;
    (guest, socket of the end's port)."""
    port = os.path.join(tmp, "end")
    machine = guest.Guest(
        tmp, programs=(VERBS, "rdma", *programs), modules=MODULES,
        files=((PROVIDER, PROVIDER), (DRIVER, DRIVER)),
        more=("-chardev", f"socket,id=end,path={port},server=on,wait=off",
              "-device", "virtserialport,chardev=end",
              "-netdev", f"stream,id=net,server=off,addr.type=unix,addr.path={wire_socket}",
              "-device", f"virtio-net-pci,netdev=net,romfile=,mac={GUEST_MAC},"
              f"host_mtu={MTU}", *more))
    try:
        # fq_codel would drop of what rxe sends at once, as loss of no given rate
        machine.run("echo pfifo_fast >/proc/sys/net/core/default_qdisc")
        machine.run("modprobe -a " + " ".join(MODULES))
        machine.run("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; "
                    "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6")
        machine.run(f"ip link set eth0 mtu {MTU} qlen {QUEUE} up && ip addr add {GUEST_IP}/24 dev eth0")
        machine.run("rdma link add rxe0 type rxe netdev eth0")
        machine.wait_for("test -c /dev/infiniband/uverbs0")
    except BaseException:
        machine.end()
        raise
    return machine, port
