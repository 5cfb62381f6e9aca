# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs of the distribution, unchanged, one end over rxe in the guest and the other over
unic: the ping-pongs of ibverbs-utils and perftest. They tell each other what they need by
TCP, which goes by a network of QEMU's own."""
import re
import socket
import subprocess
import time

from ends import Failure, guest, hosts

RUN = hosts.BIN + "/unic-run"
GATE = "10.0.2.2"  # this machine, as the guest sees it
INSIDE = "10.0.2.15"
PORT = 18515
GID = {"rxe": "1", "unic": "0"}
WITHIN_S = 180
PINGPONGS = ("ibv_rc_pingpong -n 100", "ibv_rc_pingpong -n 100 -e", "ibv_uc_pingpong -n 50 -e",
             "ibv_ud_pingpong -n 50 -e")
PERFTEST = (
    "ib_send_bw -n 200", "ib_send_bw -n 200 -e", "ib_send_bw -n 200 -b",
    "ib_send_bw -c UC -s 1024 -n 100", "ib_send_bw -c UD -s 1024 -n 100", "ib_write_bw -n 200",
    "ib_write_bw -n 5 -a", "ib_write_bw -q 8 -n 100", "ib_read_bw -o 4 -n 200",
    "ib_atomic_bw -o 4 -n 100", "ib_send_lat -n 50 -e", "ib_send_lat -c UD -n 50", "ib_write_lat -n 50", "ib_read_lat -o 4 -n 50",
    "ib_atomic_lat -o 4 -n 50")
ALL = PINGPONGS + PERFTEST


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def binaries():
    return sorted({line.split()[0] for line in ALL})


def devices(port):
    """Options of QEMU: a network that reaches this machine, and is reached at @port."""
    return ("-netdev", f"user,id=gate,hostfwd=tcp:127.0.0.1:{port}-{INSIDE}:{PORT}",
            "-device", "virtio-net-pci,netdev=gate,romfile=")


def prepare(machine):
    machine.run(f"ip link set eth1 up && ip addr add {INSIDE}/24 dev eth1")


def command(line, where, *peer):
    """The words of @line at the end @where, "rxe" or "unic"."""
    words = line.split()
    gid = ("-g",) if words[0].startswith("ibv") else ("-F", "-x")
    return [*words, *gid, GID[where], *peer]


def listening(text, port):
    """True if /proc/net/tcp and tcp6 say that somebody listens at @port."""
    return re.search(rf":{port:04X} 0+:0000 0A", text) is not None


class Here:
    """A program over a NIC of unic."""

    def __init__(self, rig, host, args):
        self.process = hosts.Process(
            rig.line, args[0], [RUN, "--device", f"unic0={rig.socket(host)}", *args],
            show=False)

    def says(self):
        return "\n".join(self.process.lines)

    def listens(self, port):
        said = ""
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(path, encoding="ascii") as f:
                said += f.read()
        return listening(said, port)

    def finish(self):
        self.process.finish(WITHIN_S)

    def end(self):
        self.process.end()


class There:
    """A program over rxe."""

    def __init__(self, rig, args):
        self.machine, self.task = rig.guest, guest.Task(rig.guest, args)

    def says(self):
        return "\n".join(self.task.lines)

    def listens(self, port):
        return listening(self.machine.run("cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; true"),
                         port)

    def finish(self):
        self.task.finish(WITHIN_S)

    def end(self):
        self.task.end()


def wait_listener(side, port):
    until = time.monotonic() + WITHIN_S
    while not side.listens(port):
        if time.monotonic() > until:
            raise Failure(f"nobody listens at {port}: {side.says()}")
        time.sleep(0.05)


def pair(rig, host, way, line):
    """Run @line at both ends; the client is where @way begins."""
    client_there = way.startswith("rxe")
    sides = []
    try:
        if client_there:
            port = free_port()
            sides.append(Here(rig, host, command(line, "unic", "-p", str(port))))
            wait_listener(sides[0], port)
            sides.append(There(rig, command(line, "rxe", "-p", str(port), GATE)))
        else:
            sides.append(There(rig, command(line, "rxe", "-p", str(PORT))))
            wait_listener(sides[0], PORT)
            sides.append(Here(rig, host, command(line, "unic", "-p", str(rig.gate),
                                                 "127.0.0.1")))
        for side in sides[::-1]:
            side.finish()
        judge(line, sides)
    except Failure as e:
        raise Failure(f"{e}; they said: " + " | ".join(s.says()[-600:] for s in sides)) \
            from None
    finally:
        for side in sides:
            side.end()


def judge(line, sides):
    """Both said how many rounds there were, of ping-pongs; one had a line of figures, of
    perftest, whose passive side has none."""
    said = [side.says() for side in sides]
    if line.startswith("ibv"):
        good = all("iters in" in text and "invalid data" not in text for text in said)
    else:
        good = any(re.search(r"^ *\d+ +\d+ +[\d.]+", text, re.M) for text in said)
    if not good:
        raise Failure(f"{line}: no result")


def has_atomics(rig, host):
    said = subprocess.run([RUN, "--device", f"unic0={rig.socket(host)}", "ibv_devinfo", "-v"],
                          capture_output=True, text=True, timeout=WITHIN_S, check=True)
    return "ATOMIC_NONE" not in said.stdout
