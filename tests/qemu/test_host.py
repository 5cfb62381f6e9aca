#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The host's programs against other users of the machine: run directories,
sockets, a log that nobody reads, slots. Without root, tests that need a second
user are left out.

    test_host.py [--only WORDS]
"""
import argparse
import os
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "qemu"), os.path.dirname(__file__)]
import hosts  # noqa: E402
import functions  # noqa: E402
import unicd_client as u  # noqa: E402

BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
NOBODY, OTHER = 65534, 65533


class Place:
    """A folder of root's that others may look into, and programs in it."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="unic-host-")
        os.chmod(self.dir, 0o755)
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in reversed(self.running):
            if p.poll() is None:
                p.send_signal(signal.SIGCONT)
                p.terminate()
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def start(self, *args, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL} | how
        p = subprocess.Popen(args, **how)
        self.running.append(p)
        return p

    def ready(self, *args, **how):
        p = self.start(*args, **how)
        said = p.stdout.readline()
        assert b"ready" in said, f"{args}: {said!r}"
        return p

    def bus(self, name="bus", *more):
        return self.ready(f"{BIN}/unic-bus", "--dir", self.path(name), *more)

    def loop(self, *more, **how):
        """A driver without a NIC; path of its socket."""
        sock = self.path("u.sock")
        self.driver = self.ready(f"{BIN}/unicd", "--provider", "loop",
                                 "--socket", sock, *more, **how)
        return sock


def refused(*args):
    """The message of a program that ends at once."""
    r = subprocess.run(args, capture_output=True, text=True,
                       timeout=20, check=False)
    assert r.returncode, f"{args} did not fail: {r.stdout}"
    return r.stderr


def as_user(uid, body):
    """Run body() in a process of user @uid; what it returns, a number."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(w, struct.pack("<i", body()))
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(w)
    data = os.read(r, 4)
    os.close(r)
    os.waitpid(pid, 0)
    assert len(data) == 4, "it failed"
    return struct.unpack("<i", data)[0]


def until(what, test, seconds=hosts.PATIENCE_S):
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end, f"timeout: {what}"
        time.sleep(0.01)


# ---------------------------------------------------------- run directories

def daemons(place, folder):
    return ([f"{BIN}/unic-bus", "--dir", folder],
            [f"{BIN}/unic-wire", "--dir", folder],
            [f"{BIN}/unicd", "--bus", folder, "--socket", place.path("s")])


def test_directory_of_another():
    """A daemon refuses a directory of another user, or one that others may
    write to."""
    with Place() as p:
        theirs, open_one = p.path("theirs"), p.path("open")
        os.mkdir(theirs, 0o755)
        os.chown(theirs, NOBODY, NOBODY)
        os.mkdir(open_one)
        for mode in (0o777, 0o1777, 0o775, 0o757):
            os.chmod(open_one, mode)
            for args in daemons(p, open_one):
                assert "others may write" in refused(*args), (args, mode)
        for args in daemons(p, theirs):
            assert "another user's" in refused(*args), args
        assert not os.listdir(theirs) and not os.listdir(open_one)


def test_directory_is_a_link():
    with Place() as p:
        os.mkdir(p.path("real"), 0o700)
        os.symlink(p.path("real"), p.path("link"))
        for name in ("link", "link/"):
            for args in daemons(p, p.path(name)):
                assert refused(*args)
        assert not os.listdir(p.path("real"))


def test_links_in_the_directory():
    """A daemon does not follow links in its directory to other files."""
    with Place() as p:
        victim = p.path("victim")
        with open(victim, "w", encoding="ascii") as f:
            f.write("precious")
        os.chmod(victim, 0o644)
        folder = p.path("bus")
        os.mkdir(folder, 0o755)
        for name in ("unicd.slots", "unicd.journal"):
            os.symlink(victim, os.path.join(folder, name))
        p.bus()
        driver = p.start(f"{BIN}/unicd", "--bus", folder,
                         "--socket", p.path("s"))
        until("the driver serves", lambda: os.path.exists(p.path("s")) or
              driver.poll() is not None)
        with open(victim, encoding="ascii") as f:
            assert f.read() == "precious"
        for name in ("bus.lock", "wire.lock"):
            d = p.path("d-" + name)
            os.mkdir(d, 0o755)
            os.symlink(p.path("made"), os.path.join(d, name))
            refused(f"{BIN}/unic-{name[:-5]}", "--dir", d)
        assert not os.path.exists(p.path("made"))
        d = p.path("json")
        os.mkdir(d, 0o755)
        for name in ("bus.json.new", "bus.json"):
            os.symlink(victim, os.path.join(d, name))
        p.bus("json")
        with open(victim, encoding="ascii") as f:
            assert f.read() == "precious"


def takes(path, kind=socket.SOCK_STREAM):
    """Does a server at that socket accept this process?"""
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(5)
    try:
        s.connect(path)
        return bool(s.recv(32))
    except (OSError, socket.timeout):
        return False


def test_peers_of_another_user():
    """A peer of another user is refused even where file modes let it in."""
    with Place() as p:
        p.bus()
        p.ready(f"{BIN}/unic-wire", "--dir", p.path("wire"), "--stream", "nic")
        rows = [("bus/ivshmem", socket.SOCK_STREAM),
                ("bus/attach", socket.SOCK_SEQPACKET),
                ("wire/ivshmem", socket.SOCK_STREAM)]
        if os.path.exists(p.path("bus/nic")):
            rows.append(("bus/nic", socket.SOCK_STREAM))
        for name in ("bus", "wire"):
            os.chmod(p.path(name), 0o755)
        for name, kind in rows:
            assert takes(p.path(name), kind), name
            mode = stat.S_IMODE(os.stat(p.path(name)).st_mode)
            assert mode == 0o600, (name, oct(mode))
            os.chmod(p.path(name), 0o777)
            assert not as_user(NOBODY, lambda n=name, k=kind:
                               takes(p.path(n), k)), name
        # a stream port sends no greeting: a peer that it accepts stays
        # connected
        os.chmod(p.path("wire/nic"), 0o777)

        def stays():
            s = socket.socket(socket.AF_UNIX)
            s.connect(p.path("wire/nic"))
            s.settimeout(1)
            try:
                return len(s.recv(1))  # 0: hung up
            except socket.timeout:
                return 1
        assert stays() and not as_user(NOBODY, stays)


def test_datagrams_of_another_user():
    """A port of datagrams: frames of another user are dropped."""
    with Place() as p:
        stats = p.path("stats")
        wire = p.ready(f"{BIN}/unic-wire", "--dir", p.path("wire"), "--dgram",
                       "l,r", "--stats", stats)
        os.chmod(p.path("wire"), 0o755)
        os.chmod(p.path("wire/l"), 0o777)

        def send():
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.sendto(b"\xff" * 6 + b"\x02unica" + bytes(60), p.path("wire/l"))
            return 1

        def frames():
            wire.send_signal(signal.SIGUSR1)
            until("stats", lambda: os.path.exists(stats) and
                  os.path.getsize(stats))
            time.sleep(0.3)
            with open(stats, encoding="ascii") as f:
                text = f.read()
            return text
        as_user(NOBODY, send)
        before = frames()
        assert '"rx_bad":1' in before and '"rx_frames":1' not in before, before
        send()
        until("a frame of our own", lambda: '"rx_frames":1' in frames())


def test_server_of_another_user():
    """Neither driver nor NIC takes memory from a bus that another user runs."""
    with Place() as p:
        folder = p.path("fake")
        os.mkdir(folder, 0o755)
        os.chown(folder, NOBODY, NOBODY)
        heard, told = os.pipe()
        pid = os.fork()
        if not pid:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            listening = []
            for name, kind in (("nic", socket.SOCK_STREAM),
                               ("attach", socket.SOCK_SEQPACKET)):
                s = socket.socket(socket.AF_UNIX, kind)
                s.bind(os.path.join(folder, name))
                s.listen()
                listening.append(s)
            os.write(told, b"x")
            time.sleep(10 * hosts.PATIENCE_S)
            os._exit(0)
        try:
            os.read(heard, 1)
            os.chown(folder, 0, 0)  # the directory is fine, then
            for args in ([f"{BIN}/unic-nic", "--bus", folder + "/nic"],
                         [f"{BIN}/unicd", "--bus", folder, "--socket",
                          p.path("s")]):
                start = time.monotonic()
                said = refused(*args)
                assert "not permitted" in said or "no right" in said, said
                assert time.monotonic() - start < 4, "it waited"
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_second_nic_of_a_bus():
    """A second NIC is refused: it would write into the mailbox of the first
    one."""
    with Place() as p:
        p.bus()
        args = f"{BIN}/unic-nic", "--bus", p.path("bus", "nic")
        p.ready(*args)
        assert "has a NIC; end it" in refused(*args)


def test_server_of_another_version():
    """unicd, unic-nic and unic-uart say both versions when the bus has another one."""
    with Place() as p:
        folder = p.path("fake")
        os.mkdir(folder, 0o755)
        attach, nic = [
            socket.socket(socket.AF_UNIX, kind) for kind in (
                socket.SOCK_SEQPACKET, socket.SOCK_STREAM)]
        for s, name in ((attach, "attach"), (nic, "nic")):
            s.bind(os.path.join(folder, name))
            s.listen()
        for s, first, args, words in (
                (attach, struct.pack("<HHI", 1, 3, 0).ljust(32, b"\0"),
                 [f"{BIN}/unicd", "--bus", folder, "--socket", p.path("s")],
                 "unic-bus speaks version 3, this unicd 2"),
                (nic, struct.pack("<q", 1),
                 [f"{BIN}/unic-nic", "--bus", folder + "/nic"],
                 "unic-nic: the bus at " + folder +
                 "/nic speaks version 1, this program 0"),
                (nic, struct.pack("<q", 2),
                 [f"{BIN}/unic-uart", "--bus", folder + "/nic", "true"],
                 "unic-uart: the bus at " + folder +
                 "/nic speaks version 2, this program 0")):
            program = p.start(*args, stderr=subprocess.PIPE)
            s.settimeout(hosts.PATIENCE_S)
            peer, _ = s.accept()
            peer.send(first)
            said = program.stderr.read().decode()
            assert program.wait(hosts.PATIENCE_S), said
            assert words in said and "take both of one release" in said, said
            peer.close()


# ------------------------------------------------------------ unicd's socket

def test_socket_is_a_file():
    """A file that is no socket is not removed for one."""
    with Place() as p:
        name = p.path("u.sock")
        with open(name, "w", encoding="ascii") as f:
            f.write("precious")
        said = refused(f"{BIN}/unicd", "--provider", "loop", "--socket", name)
        assert "is no socket" in said, said
        with open(name, encoding="ascii") as f:
            assert f.read() == "precious"
        os.unlink(name)
        os.symlink(p.path("elsewhere"), name)
        assert "is no socket" in refused(f"{BIN}/unicd", "--provider", "loop",
                                         "--socket", name)
        os.unlink(name)
        p.loop()
        mode = os.stat(name).st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o666, oct(mode)
        p.driver.kill()
        p.driver.wait()
        p.loop()  # the socket of a dead driver is replaced
        os.unlink(name)
        with open(name, "w", encoding="ascii") as f:
            f.write("precious")
        p.driver.terminate()
        assert not p.driver.wait(hosts.PATIENCE_S)
        assert os.path.exists(name), "a file was removed for a socket"


def test_socket_of_another_user():
    """A socket that another user serves is not replaced."""
    with Place() as p:
        folder = p.path("open")
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
        name = p.path("open/u.sock")
        heard, told = os.pipe()
        pid = os.fork()
        if not pid:
            os.setuid(NOBODY)
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(name)
            s.listen()
            os.write(told, b"x")
            time.sleep(10 * hosts.PATIENCE_S)
            os._exit(0)
        try:
            os.read(heard, 1)
            assert "another unicd" in refused(f"{BIN}/unicd", "--provider",
                                              "loop", "--socket", name)
            assert os.stat(name).st_uid == NOBODY
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_joint_memory_is_our_own():
    """With joint memory a process with a slot has all of it, so no other user may
    connect."""
    with Place() as p:
        p.bus("bus", "--joint", "--slots", "2")
        os.chmod(p.path("bus"), 0o755)
        name = p.path("u.sock")
        p.start(f"{BIN}/unicd", "--bus", p.path("bus"), "--socket", name)
        until("it serves", lambda: os.path.exists(name))
        mode = stat.S_IMODE(os.stat(name).st_mode)
        assert mode == 0o600, oct(mode)


def test_process_without_a_number():
    """A driver in a PID namespace cannot tell processes outside of it apart: all
    are process 0. It serves none of them."""
    with Place() as p:
        name = p.path("u.sock")
        driver = p.start("unshare", "--fork", "--kill-child", "--pid",
                         "--mount-proc", f"{BIN}/unicd", "--provider", "loop",
                         "--socket", name, stderr=subprocess.PIPE)
        assert b"ready" in driver.stdout.readline()
        c = u.Client(name)
        try:
            c.hello()
        except OSError:
            pass
        else:
            raise AssertionError("it has a slot")
        while b"no number" not in (line := driver.stderr.readline()):
            assert line, "why is not said"
        driver.stderr.close()


# ---------------------------------------------------------------- the log

def fill(fd):
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(fd, True)


def test_log_that_nobody_reads():
    """A driver whose stderr is full goes on, drops lines, and says how many."""
    with Place() as p:
        r, w = os.pipe()
        fill(w)
        sock = p.loop("--audit", stderr=w)
        c = u.Client(sock)
        c.sock.settimeout(10)
        c.hello()
        for _ in range(3000):
            c.call(u.INFO)
        assert os.get_blocking(w), "O_NONBLOCK is everybody's"
        os.close(w)
        c.call(u.INFO)
        text = b""
        while (b"lines dropped" not in text and
               select.select([r], [], [], 10)[0]):
            text = text[-100:] + os.read(r, 65536)
        assert b"lines dropped" in text, text[-300:]
        os.close(r)
        c.call(u.INFO)
        c.close()


def test_log_of_the_bus():
    with Place() as p:
        r, w = os.pipe()
        bus = p.start(f"{BIN}/unic-bus", "--dir", p.path("bus"), stdout=w,
                      stderr=w)
        until("it runs", lambda: os.path.exists(p.path("bus/bus.json")))
        fill(w)
        for _ in range(50):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(10)
            s.connect(p.path("bus/ivshmem"))
            assert s.recv(8), "not greeted"
            s.close()
        assert bus.poll() is None
        os.close(r)
        os.close(w)


# -------------------------------------------------------------------- slots

def hold_slots(sock, want):
    """How many processes of one user get a slot, of @want that try; they stay
    until all have tried."""
    r, w = os.pipe()
    end_r, end_w = os.pipe()
    pids = []
    for _ in range(want):
        pid = os.fork()
        if not pid:
            os.close(end_w)
            c = u.Client(sock)
            body = struct.pack("<II16sIII", 1, 0, b"many", 0, 0, 0)
            status = c.call(u.HELLO, body, want=None).status
            if status != u.OK and not os.getuid():
                c.hello()  # slots of ended processes come free later
                status = u.OK
            os.write(w, bytes([status == u.OK]))
            os.read(end_r, 1)
            os._exit(0)
        pids.append(pid)
    got = sum(sum(os.read(r, 1)) for _ in range(want))
    os.close(end_w)
    for pid in pids:
        os.waitpid(pid, 0)
    return got


def test_slots_of_one_user():
    """One user does not take all slots, with however many processes."""
    for more, most in (([], 6), (["--user-slots", "2"], 2)):
        with Place() as p:
            sock = p.loop("--slots", "8", *more)
            got = as_user(NOBODY, lambda: hold_slots(sock, 10))
            assert got == most, (got, most)
            assert hold_slots(sock, 8) == 8, "root has no limit"


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--only", default="")
    opt = ap.parse_args()
    return functions.run([(n, t) for n, t in functions.of_module(globals(), opt.only)
                          if not os.geteuid() or t in ALONE])


ALONE = (test_directory_is_a_link, test_links_in_the_directory,
         test_second_nic_of_a_bus, test_server_of_another_version,
         test_socket_is_a_file, test_log_that_nobody_reads, test_log_of_the_bus)

if __name__ == "__main__":
    sys.exit(main())
