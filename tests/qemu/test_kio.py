#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The page service between two drivers (unicd --kio-export, unic-kio): two hosts
with a NIC each, files both ways.

    test_kio.py [--board soft|virt|mps2-an385] [name ...]
"""
import argparse
import hashlib
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import hosts
import stops
import unicd_client as u

SERVER = hosts.IP[1]
SIZES = (0, 1, 4096, (8 << 20) + 1)
PATIENT = ("--timeout", "60")  # for I/Os whose time does not matter
# Options of both drivers: host 0, which asks, has its data moved by tokens, or by RDMA,
# as it does if it is told nothing.
TOKEN = (("--data=token",), ())
RDMA = ((), ())


class Rig(hosts.Hosts):
    """Host 1 exports a folder, host 0 asks."""

    def __init__(self, board, tmp, loss="0", drivers=((), ())):
        super().__init__(board, None, tmp)
        self.drivers = {}
        self.more = drivers
        self.folder = self.path("export")
        os.mkdir(self.folder)
        try:
            wire = ["--loss", loss, "--seed", "7"] if loss != "0" else []
            self.start_wire(*wire)
            for host in (0, 1):
                self.start_nic(host, show=False)
            self.up(0)
            self.up(1)
        except BaseException:
            self.end()
            raise

    def up(self, host):
        more = list(self.more[host])
        if host == 1 and "--kio-export" not in more:
            more += ["--kio-export", self.folder, "--kio-writable"]
        self.start_driver(host, *more)
        self.drivers[host] = self.running[-1].child
        until = time.monotonic() + hosts.PATIENCE_S
        while self.ctl(host, "info")["nic"] != "ready":
            assert time.monotonic() < until, "the NIC is not ready"
            time.sleep(0.02)

    def kill(self, host):
        self.drivers[host].kill()
        self.drivers[host].wait()

    def argv(self, *args):
        return [f"{hosts.BIN}/unic-kio", "--socket", self.socket(0), *args]

    def kio(self, *args, seconds=240):
        return subprocess.run(self.argv(*args), capture_output=True,
                              text=True, timeout=seconds, check=False)

    def good(self, *args):
        r = self.kio(*args)
        assert not r.returncode, f"{args}: {r.stderr}"
        return r.stdout

    def bad(self, word, *args):
        r = self.kio(*args)
        assert r.returncode == 1 and word in r.stderr, f"{args}: {r.stderr!r}"

    def file(self, name, size, seed=1):
        """A file in the export, and its digest."""
        data = random.Random(seed).randbytes(size)
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)
        return hashlib.sha256(data).hexdigest()


def there_and_back(rig, size):
    want = rig.file("f", size, size)
    rig.good(*PATIENT, "get", f"{SERVER}:f", rig.path("got"))
    assert hosts.sha256(rig.path("got")) == want, f"{size}: other bytes came"
    rig.good(*PATIENT, "put", rig.path("got"), f"{SERVER}:back")
    assert hosts.sha256(os.path.join(rig.folder, "back")) == want, \
        f"{size}: other bytes were written"


def rows_of(rig):
    return {r["name"]: r for r in rig.ctl(0, "ps")["procs"]}


# ----------------------------------------------------------------- the tests

def test_sizes(board, tmp, drivers=TOKEN):
    rig = Rig(board, tmp, drivers=drivers)
    try:
        for size in SIZES:
            there_and_back(rig, size)
        rows = rows_of(rig)
        assert rows["kio"]["held"] == 0, rows
    finally:
        rig.end()


def test_loss(board, tmp, drivers=TOKEN):
    rig = Rig(board, tmp, loss="5%", drivers=drivers)
    try:
        there_and_back(rig, SIZES[-1])
    finally:
        rig.end()


# The file of Get. The wire loses frames, so that the transfer does not end
# before it is disturbed.
BIG = 32 << 20
TRIES = 5  # attempts to catch a process in time


def caught(argv):
    """A process that has run for a while, and still does."""
    for _ in range(TRIES):
        p = subprocess.Popen(argv, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        if p.poll() is None:
            return p
        p.communicate()
    raise AssertionError("over before anything happened")


class Get:
    def __init__(self, rig, *more):
        self.want = rig.file("big", BIG)
        self.to = rig.path("got")
        self.p = caught(rig.argv(*more, "get", f"{SERVER}:big", self.to))

    def end(self, seconds):
        """Return exit status and message; the file must be whole or missing."""
        _, err = self.p.communicate(timeout=seconds)
        assert os.listdir(os.path.dirname(self.to)).count("got") == \
            (not self.p.returncode), err
        assert not [f for f in os.listdir(os.path.dirname(self.to))
                    if f.startswith("got.part")], "half a file is left"
        if not self.p.returncode:
            assert hosts.sha256(self.to) == self.want, "wrong bytes"
        return self.p.returncode, err


def end_of_killed(rig, host, *more):
    """The message of a process with an I/O under way when a driver was killed. 9 s: an
    I/O takes 10 s if no event ends it."""
    for _ in range(TRIES):
        get = Get(rig, *more)
        rig.kill(host)
        code, err = get.end(9)
        if code:
            assert code == 1, (code, err)
            return err
        rig.up(host)  # the transfer was over before
        os.unlink(get.to)
    raise AssertionError("over before anything was killed")


def test_server_killed_and_back(board, tmp, drivers=TOKEN):
    rig = Rig(board, tmp, loss="5%", drivers=drivers)
    try:
        get = Get(rig)
        rig.kill(1)
        time.sleep(0.2)
        rig.up(1)
        code, err = get.end(hosts.PATIENCE_S)
        assert not code, err
        there_and_back(rig, 100000)
    finally:
        rig.end()


def test_server_killed(board, tmp, drivers=TOKEN):
    """The client gets an error within its time."""
    rig = Rig(board, tmp, loss="5%", drivers=drivers)
    try:
        err = end_of_killed(rig, 1, "--timeout", "3")
        assert "no answer" in err, err
        rig.up(1)
        there_and_back(rig, 100000)
    finally:
        rig.end()


def test_client_killed_and_back(board, tmp, drivers=TOKEN):
    """The client's own driver is killed: the process is told at once, the next
    process is served as before, and the server keeps nothing of the dead
    driver."""
    rig = Rig(board, tmp, loss="5%", drivers=drivers)
    try:
        err = end_of_killed(rig, 0)
        assert "driver ended" in err, err
        rig.up(0)
        for _ in range(3):
            there_and_back(rig, 300000)
    finally:
        rig.end()


def test_put_while_server_is_killed(board, tmp, drivers=TOKEN):
    rig = Rig(board, tmp, loss="5%", drivers=drivers)
    try:
        want = rig.file("big", BIG)
        p = caught(rig.argv("put", os.path.join(rig.folder, "big"),
                            f"{SERVER}:new"))
        rig.kill(1)
        rig.up(1)
        _, err = p.communicate(timeout=hosts.PATIENCE_S)
        assert not p.returncode, err
        assert hosts.sha256(os.path.join(rig.folder, "new")) == want, "wrong bytes"
    finally:
        rig.end()


def test_nic_reset(board, tmp, drivers=TOKEN):
    """A reset of either NIC in the middle: the transfer goes on."""
    rig = Rig(board, tmp, loss="5%", drivers=drivers)
    try:
        for host in (0, 1):
            get = Get(rig)
            c = u.Client(rig.socket(host))
            c.call(u.RESET)
            code, err = get.end(hosts.PATIENCE_S)
            assert not code, f"host {host}: {err}"
            os.unlink(get.to)
    finally:
        rig.end()


def check_failed(failed, rows):
    """I/Os end without having done anything only if a region was taken back by force
    while the server wrote to it: the connection has ended then, with the I/Os that
    were under way on it, and all were begun again."""
    cuts = sum(r["deadlines"] for r in rows if r["name"] == "kio")
    assert failed <= cuts * 16, f"{failed} failed, {cuts} cut: {rows}"


def test_hogs(board, tmp, drivers=TOKEN):
    """No I/O fails while other processes have the whole table."""
    rig = Rig(board, tmp, drivers=drivers)
    try:
        hogs = [subprocess.Popen(
            [f"{hosts.BIN}/unic-hog", "--socket", rig.socket(host), "--again",
             "--answer", "release" if i % 2 else "ignore"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for host in (0, 1) for i in range(6)]
        try:
            windows = []
            for _ in range(12):
                there_and_back(rig, 1 << 20)
                windows.append(int(rig.good("state").split()[1]))
            rows = rig.ctl(0, "ps")["procs"]
            most = rig.ctl(0, "info")["tlb_entries"]
            assert sum(r["held"] for r in rows) > most * 7 // 8, rows
            assert [r["held"] for r in rows if r["name"] == "kio"] == [0]
            if drivers == RDMA: # nothing is asked of who has not his share
                print("    hogs:", *moved(rig), end=" ")
                assert min(windows) == 16, f"the window shrank: {windows}"
            else:
                assert min(windows) < 16, f"the window never shrank: {windows}"
            state = rig.good("state").split()
            check_failed(failed_ios(rig), rig.ctl(0, "ps")["procs"])
            window, demand = int(state[1]), int(state[3])
            assert window * 1000 < demand <= window * 65536, state
        finally:
            for h in hogs:
                h.terminate()
                h.wait()
    finally:
        rig.end()


def test_paths(board, tmp):
    """Nothing outside of the export is reached, by whatever name."""
    rig = Rig(board, tmp)
    try:
        with open(rig.path("secret"), "w", encoding="ascii") as f:
            f.write("secret")
        rig.file("plain", 10)
        os.makedirs(os.path.join(rig.folder, "a/b"))
        rig.file("a/b/deep", 5000)
        at = rig.folder
        os.symlink(rig.path("secret"), f"{at}/link")
        os.symlink("/", f"{at}/root")
        os.symlink("plain", f"{at}/inside")
        os.symlink("..", f"{at}/a/up")
        os.mkfifo(f"{at}/fifo")
        for name in ("../secret", "/etc/passwd", "link", "root/etc/passwd",
                     "a/../../secret", "a/up/plain", "inside", "./plain",
                     "a//b/deep", "..", "fifo", "plain/x"):
            r = rig.kio("get", f"{SERVER}:{name}", rig.path("got"))
            assert r.returncode == 1, f"{name} was given away"
            r = rig.kio("put", rig.path("secret"), f"{SERVER}:{name}")
            assert r.returncode == 1, f"{name} was written"
        rig.good("get", f"{SERVER}:a/b/deep", rig.path("got"))
        assert hosts.sha256(rig.path("got")) == hosts.sha256(f"{at}/a/b/deep")
        rig.good("put", rig.path("secret"), f"{SERVER}:a/b/")
        assert hosts.sha256(f"{at}/a/b/secret") == hosts.sha256(rig.path("secret"))
        names = [line.split()[1] for line in
                 rig.good("ls", f"{SERVER}:").splitlines()]
        assert sorted(names) == ["a/", "plain"], names
        rig.bad("a folder", "get", f"{SERVER}:a", rig.path("got"))
        rig.bad("no such file", "get", f"{SERVER}:none", rig.path("got"))
        for i in range(3000):  # more than one message of LIST has room for
            rig_name = f"{at}/a/{i:04d}-{'x' * 40}"
            with open(rig_name, "w", encoding="ascii"):
                pass
        assert len(rig.good("ls", f"{SERVER}:a").splitlines()) == 3001
    finally:
        rig.end()


def test_exports(board, tmp):
    """One host exports one file, for reading only, the other one nothing."""
    one = os.path.join(tmp, "one")
    with open(one, "wb") as f:
        f.write(b"1" * 70000)
    with open(os.path.join(tmp, "two"), "wb") as f:
        f.write(b"2")
    rig = Rig(board, tmp, drivers=((), ("--kio-export", one)))
    try:
        rig.good("get", f"{SERVER}:one", rig.path("got"))
        assert hosts.sha256(rig.path("got")) == hosts.sha256(one)
        assert rig.good("ls", f"{SERVER}:").split() == ["70000", "one"]
        rig.bad("no such file", "get", f"{SERVER}:two", rig.path("got"))
        rig.bad("reading only", "put", rig.path("got"), f"{SERVER}:one")
        rig.bad("exports nothing", "get", f"{hosts.IP[0]}:x", rig.path("x"))
        rig.bad("no answer", "--timeout", "1", "get", "10.0.0.77:x",
                rig.path("x"))
        assert rig.kio("get", f"{SERVER}:one", "-").stdout == "1" * 70000
        assert hosts.sha256(one) == hosts.sha256(rig.path("got"))
    finally:
        rig.end()


def kept_open(rig, name):
    """How many descriptors the server has of a file."""
    fds = f"/proc/{rig.drivers[1].pid}/fd"
    path, n = os.path.join(rig.folder, name), 0
    for fd in os.listdir(fds):
        try:
            n += os.readlink(os.path.join(fds, fd)) == path
        except OSError:
            pass
    return n


def test_files_stay_open(board, tmp):
    """A file stays open for its connection, eight at most, and only while its
    name leads to the same file."""
    rig = Rig(board, tmp)
    try:
        want = rig.file("f", 100000)
        rig.good("get", f"{SERVER}:f", rig.path("got"))
        assert kept_open(rig, "f") == 1
        rig.good("put", rig.path("got"), f"{SERVER}:g")
        rig.good("get", f"{SERVER}:g", rig.path("got"))
        assert kept_open(rig, "g") == 1 and kept_open(rig, "f") == 1
        assert hosts.sha256(rig.path("got")) == want
        want = rig.file("new", 5000, 2)
        os.rename(os.path.join(rig.folder, "new"), os.path.join(rig.folder, "g"))
        rig.good("get", f"{SERVER}:g", rig.path("got"))
        assert hosts.sha256(rig.path("got")) == want, "the file of before was read"
        os.unlink(os.path.join(rig.folder, "f"))
        rig.bad("no such file", "get", f"{SERVER}:f", rig.path("got"))
        for i in range(12):
            want = rig.file(f"n{i}", 3000 + i, i)
            rig.good("get", f"{SERVER}:n{i}", rig.path("got"))
            assert hosts.sha256(rig.path("got")) == want
        assert sum(kept_open(rig, f"n{i}") for i in range(12)) <= 8
        assert kept_open(rig, "n11") == 1 and not kept_open(rig, "f")
    finally:
        rig.end()


def test_limits(board, tmp):
    """The limits of hosts, users and sizes are kept."""
    rig = Rig(board, tmp, drivers=(("--kio-user", "nobody"),
                                   ("--kio-allow", "10.9.0.0/16", "--kio-allow",
                                    "10.0.0.0/30", "--kio-max-bytes", "70000")))
    try:
        rig.file("large", 100000)
        rig.good("get", f"{SERVER}:large", rig.path("got"))
        rig.bad("", "put", rig.path("got"), f"{SERVER}:new")
        new = os.path.join(rig.folder, "new")
        assert not os.path.exists(new) or os.path.getsize(new) <= 70000
        with open(rig.path("small"), "wb") as f:
            f.write(b"s" * 70000)
        rig.good("put", rig.path("small"), f"{SERVER}:new")
        if os.geteuid() == 0:
            os.chmod(tmp, 0o755)
            for uid, fine in ((65534, True), (65533, False)):
                r = subprocess.run(rig.argv("get", f"{SERVER}:new", "-"),
                                   capture_output=True, timeout=60,
                                   check=False, user=uid, group=65534,
                                   extra_groups=[])
                assert (not r.returncode) == fine, (uid, r.stderr)
                assert bool(r.stdout) == fine
        rig.kill(1)
        rig.more = ((), ("--kio-allow", "10.0.0.2", "--kio-allow", "10.0.0.4/30"))
        rig.up(1)
        rig.bad("", "--timeout", "3", "get", f"{SERVER}:new", rig.path("got2"))
        assert not os.path.exists(rig.path("got2")) or \
            not os.path.getsize(rig.path("got2"))
    finally:
        rig.end()


KIO = struct.Struct("<HHIIIQIIIBBBB6I")  # struct unic_ctl_kio


def ask(what=1, length=10, offset=0, name=b"f", tail=None, seq=1, rsvd=0,
        tail_bytes=None, ipv4=0x0a000002, ms=0, data=0, rsvd0=0):
    tail = name if tail is None else tail
    return KIO.pack(72, 0, seq, 0, len(tail) if tail_bytes is None
                    else tail_bytes, offset, ipv4, length, ms, what,
                    len(name), data, rsvd0, rsvd, 0, 0, 0, 0, 0) + tail


def test_bad_clients(board, tmp):
    """Malformed requests are answered INVALID; a process that floods, or does
    not read its answers, does not disturb others."""
    rig = Rig(board, tmp)
    try:
        rig.file("f", 100000)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(hosts.PATIENCE_S)
        s.connect(rig.socket(0))
        for bad in (ask(what=0), ask(what=7), ask(length=0),
                    ask(length=65537), ask(name=b""), ask(name=b"a\0b"),
                    ask(rsvd=1), ask(rsvd0=1), ask(data=3),
                    ask(what=6, length=0, name=b"", data=1), ask(tail=b"ff"), ask(tail=b""),
                    ask(tail_bytes=99), ask(offset=(1 << 63) - 5),
                    ask(what=4), ask(what=2, length=10), ask(ms=60001),
                    ask(what=2, length=5, tail=b"f1234"), ask(ipv4=0),
                    ask()[:40], ask() + bytes(70000)):
            s.send(bad)
            op, status = struct.unpack_from("<HH", s.recv(70000))
            assert (op, status) == (72, u.INVALID), (bad[:80], op, status)
        for seq in range(20):  # 4 at a time
            s.send(ask(length=65536, seq=seq))
        got = [struct.unpack_from("<HH", s.recv(70000))[1]
               for _ in range(20)]
        assert got.count(0) >= 4 and set(got) <= {0, u.TOO_MANY}, got
        rnd = random.Random(3)
        flood = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        flood.connect(rig.socket(0))
        flood.setblocking(False)
        try:
            for seq in range(100000):
                flood.send(ask(what=rnd.randrange(8), seq=seq,
                               length=rnd.choice((0, 10, 65536)),
                               offset=rnd.randrange(1 << 20)))
        except BlockingIOError:
            pass
        there_and_back(rig, 500000)
        flood.close()  # with I/Os of this client under way
        there_and_back(rig, 500000)
    finally:
        rig.end()


REPLY = struct.Struct("<HHIIIQIIQIIIIII")  # struct unic_ctl_kio_reply


def driver_that_dawdles(listener, data):
    """Answers STAT and each READ at once, but the first READ at the end."""
    with listener, listener.accept()[0] as s:
        kept, left = None, len(data)
        while left and (msg := s.recv(70000)):
            _, _, seq, _, _, offset, _, length, _, what, *_ = \
                KIO.unpack_from(msg)
            part = data[offset:offset + length] if what == 1 else b""
            reply = REPLY.pack(72, 0, seq, 0, len(part), len(data), len(part),
                               0, 0, 0, 0, 0, 0, 0, 0) + part
            left -= len(part)
            if what == 1 and not kept:
                kept = reply
            else:
                s.send(reply)
        s.send(kept)


def asks_in_vain(path, hosts_):
    """Send as many requests as one user can have to hosts that do not exist.
    They stay until the sockets are closed."""
    socks = []
    for k in range(32):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        for seq in range(4):
            s.send(ask(ipv4=hosts_[(4 * k + seq) % len(hosts_)], seq=seq + 1,
                       ms=60000))
        socks.append(s)
    return socks


def others_are_served(board, tmp, dead):
    rig = Rig(board, tmp)
    try:
        os.chmod(tmp, 0o755)
        want = rig.file("f", 100000)
        r, w = os.pipe()
        end, ended = os.pipe()
        pid = os.fork()
        if not pid:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            socks = asks_in_vain(rig.socket(0), dead)
            os.write(w, b"x")
            os.read(end, 1)
            os._exit(bool(not socks))
        try:
            os.read(r, 1)
            time.sleep(1)  # they are under way
            got = subprocess.run(
                rig.argv("--timeout", "20", "get", f"{SERVER}:f", "-"),
                capture_output=True, timeout=60, check=False, user=65533,
                group=65533, extra_groups=[])
            assert not got.returncode, got.stderr
            assert hashlib.sha256(got.stdout).hexdigest() == want
        finally:
            os.write(ended, b"x")
            os.waitpid(pid, 0)
            for fd in (r, w, end, ended):
                os.close(fd)
    finally:
        rig.end()


def test_one_user_has_a_part(board, tmp):
    """A user that asks for files of one or many hosts which do not answer,
    over all connections that it may have, does not keep others waiting."""
    for n in (1, 8) if not os.geteuid() else ():
        folder = os.path.join(tmp, str(n))
        os.mkdir(folder)
        os.chmod(tmp, 0o755)
        others_are_served(board, folder, [0x0a00004d + i for i in range(n)])


def test_overtaken(_board, tmp):
    """A part that is answered after all later ones is stored at its own
    offset."""
    data = random.Random(1).randbytes(20 * 65536 + 5)
    path, got = os.path.join(tmp, "driver"), os.path.join(tmp, "got")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(1)
    driver = threading.Thread(target=driver_that_dawdles,
                              args=(listener, data), daemon=True)
    driver.start()
    r = subprocess.run([f"{hosts.BIN}/unic-kio", "--socket", path, "get",
                        f"{SERVER}:f", got], capture_output=True, text=True,
                       timeout=hosts.PATIENCE_S, check=False)
    assert not r.returncode, r.stderr
    driver.join(timeout=hosts.PATIENCE_S)
    with open(got, "rb") as f:
        assert f.read() == data, "other bytes came"


# ------------------------------------------------------------------- by RDMA

def moved(rig):
    """How the driver of host 0 moves data, its requests by RDMA, and those that went
    by token although they were to go by RDMA."""
    words = rig.good("state").split()
    assert words[10::2] == ["data", "rdma", "token"], words
    return words[11], int(words[13]), int(words[15])


def test_rdma_sizes(board, tmp):
    rig = Rig(board, tmp)
    try:
        for size in (1, 511, 512, 4095, 4096, 4097, 65535, 65536, 65537, *SIZES):
            there_and_back(rig, size)
        rows = rows_of(rig)
        assert rows["kio"]["held"] == 0, rows
        way, rdma, token = moved(rig)
        assert (way, token) == ("rdma", 0) and rdma > 256, (way, rdma, token)
        assert rig.ctl(0, "stats")["nic"]["tokens_used"] == 0
        rig.good("--data=token", "get", f"{SERVER}:f", rig.path("got"))
        assert moved(rig) == (way, rdma, token), "it went by RDMA"
        assert hosts.sha256(rig.path("got")) == hosts.sha256(os.path.join(rig.folder, "f"))
        assert rig.ctl(0, "stats")["nic"]["tokens_used"] > 0
    finally:
        rig.end()


def test_rdma_offsets(board, tmp):
    """Any bytes of a file, in any number, and no others."""
    rig = Rig(board, tmp, drivers=RDMA)
    try:
        rig.file("f", 300000)
        rig.file("w", 10)
        with open(os.path.join(rig.folder, "f"), "rb") as f:
            data = f.read()
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(hosts.PATIENCE_S)
        s.connect(rig.socket(0))
        rnd = random.Random(5)
        for k in range(300):
            length = rnd.choice((1, 2, 511, 4095, 4096, 4097, 65535, 65536))
            offset = rnd.choice((rnd.randrange(300010), 300000 - length // 2,
                                 4096 * rnd.randrange(70)))
            s.send(ask(length=length, offset=offset, seq=k + 1))
            got = s.recv(70000)
            head = struct.unpack_from("<HHI", got)
            assert head == (72, 0, k + 1), (head, length, offset)
            assert got[64:] == data[offset:offset + length], (offset, length)
            part = bytes(rnd.randrange(256) for _ in range(min(length, 999)))
            s.send(ask(what=2, length=len(part), offset=offset, name=b"w",
                       tail=b"w" + part, seq=k + 1))
            got = s.recv(70000)
            head = struct.unpack_from("<HHI", got)
            assert head == (72, 0, k + 1), (head, length, offset)
            with open(os.path.join(rig.folder, "w"), "rb") as f:
                f.seek(offset)
                assert f.read(len(part)) == part, (offset, length)
        assert moved(rig)[1:] == (600, 0), moved(rig)
    finally:
        rig.end()


def test_rdma_is_asked_for(board, tmp):
    """A driver that was told to use tokens lends no pages."""
    rig = Rig(board, tmp, drivers=TOKEN)
    try:
        rig.file("f", 100)
        rig.bad("--data=rdma", "--data=rdma", "get", f"{SERVER}:f", rig.path("got"))
        rig.good("get", f"{SERVER}:f", rig.path("got"))
        assert moved(rig) == ("token", 0, 0), moved(rig)
    finally:
        rig.end()


def test_rdma_loss(board, tmp):
    test_loss(board, tmp, RDMA)


def test_rdma_server_killed_and_back(board, tmp):
    test_server_killed_and_back(board, tmp, RDMA)


def test_rdma_server_killed(board, tmp):
    test_server_killed(board, tmp, RDMA)


def test_rdma_client_killed_and_back(board, tmp):
    test_client_killed_and_back(board, tmp, RDMA)


def test_rdma_put_while_server_is_killed(board, tmp):
    test_put_while_server_is_killed(board, tmp, RDMA)


def test_rdma_nic_reset(board, tmp):
    test_nic_reset(board, tmp, RDMA)


def test_rdma_accounts(board, tmp):
    """Whoever has I/Os done pays for their entries: each user of the service has a slot
    of its own in the NIC's books, as long as it is at work."""
    if os.geteuid():
        print("    not root: all I/Os are of one user", end=" ")
        return
    rig = Rig(board, tmp, drivers=RDMA)
    try:
        os.chmod(tmp, 0o755)
        rig.file("f", 4 << 20)
        users, held, kio = (65533, 65534), {}, 0
        until = time.monotonic() + hosts.PATIENCE_S
        while any(held.get(f"uid {uid}", 0) < 2 for uid in users):
            assert time.monotonic() < until, f"{held}: nothing is charged"
            at_work = [subprocess.Popen(rig.argv("-q", "get", f"{SERVER}:f", "-"),
                                        stdout=subprocess.DEVNULL, user=uid,
                                        group=65534, extra_groups=[])
                       for uid in users for _ in range(2)]
            while any(p.poll() is None for p in at_work):
                rows = rows_of(rig)
                for name, row in rows.items():
                    held[name] = max(held.get(name, 0), row["held"])
            assert all(not p.returncode for p in at_work)
        rows = rows_of(rig)
        pids = {rows[f"uid {uid}"]["pid"] for uid in users}
        assert pids == {rows["kio"]["pid"]}, rows
        print(f"    held: {held}", end=" ")
        while any(f"uid {uid}" in rows_of(rig) for uid in users):
            assert time.monotonic() < until + 5, rows_of(rig)
            time.sleep(0.1)
        assert rows_of(rig)["kio"]["held"] == 0, rows_of(rig)
    finally:
        rig.end()


def test_rdma_window(board, tmp):
    """What is asked back from a user makes his window smaller, and no other; when
    nothing is asked any more it grows again. All files come."""
    if os.geteuid():
        print("    not root: all I/Os are of one user", end=" ")
        return
    rig = Rig(board, tmp, drivers=RDMA)
    ada, bob = 65533, 65534
    over = threading.Event()

    def work(uid):
        while not over.is_set():
            r = subprocess.run(rig.argv("-q", "get", f"{SERVER}:f", "-"),
                               stdout=subprocess.DEVNULL, user=uid, group=65534,
                               extra_groups=[], check=False)
            assert not r.returncode, f"an I/O of {uid} failed"

    def window(uid):
        return int(subprocess.run(rig.argv("state"), capture_output=True,
                                  text=True, check=True, user=uid, group=65534,
                                  extra_groups=[]).stdout.split()[1])

    def wait_for(what, cond):
        until = time.monotonic() + hosts.PATIENCE_S
        while not cond():
            assert time.monotonic() < until, what
            assert all(t.is_alive() for t in at_work), "an I/O failed"
            assert window(bob) == 16, "Bob's window shrank"

    at_work = [threading.Thread(target=work, args=(uid,), daemon=True)
               for uid in (ada, bob) for _ in range(2)]
    try:
        os.chmod(tmp, 0o755)
        rig.file("f", 4 << 20)
        for t in at_work:
            t.start()
        wait_for("nothing is charged to Ada", lambda: rows_of(rig).get(
            f"uid {ada}", {"held": 0})["held"] > 1)
        slot = str(rows_of(rig)[f"uid {ada}"]["proc"])

        def asked_back():
            """A quota takes back what is held at that moment, if anything is."""
            rig.ctl(0, "policy", slot, "--quota", "1")
            small = window(ada) < 16
            rig.ctl(0, "policy", slot, "--quota", "0")
            return small

        wait_for("Ada's window stays", asked_back)
        wait_for("Ada's window does not grow", lambda: window(ada) == 16)
        over.set()
        for t in at_work:
            t.join(timeout=hosts.PATIENCE_S)
        check_failed(failed_ios(rig), rig.ctl(0, "ps")["procs"])
    finally:
        over.set()
        rig.end()


def failed_ios(rig):
    """I/Os of host 0 that ended without having done anything."""
    return int(rig.good("state").split()[7])


def test_rdma_starved(board, tmp):
    """The server's driver does not get to run for three seconds, twice: what is under way
    is put off. What has no time for that ends, and costs nothing else: the next I/O goes
    over the same connection."""
    rig = Rig(board, tmp, loss="5%", drivers=RDMA)
    try:
        get = Get(rig, *PATIENT)
        server = rig.drivers[1]
        for _ in range(2):
            server.send_signal(signal.SIGSTOP)
            time.sleep(3)
            server.send_signal(signal.SIGCONT)
            time.sleep(0.2)
        code, err = get.end(hosts.PATIENCE_S)
        assert not code, err
        assert not failed_ios(rig), "an I/O was lost"
        server.send_signal(signal.SIGSTOP)
        r = rig.kio("--timeout", "1.5", "get", f"{SERVER}:big", rig.path("late"))
        server.send_signal(signal.SIGCONT)
        assert r.returncode == 1 and "no answer" in r.stderr, r
        failed, qps = failed_ios(rig), [q["qp"] for q in rig.ctl(0, "qp")]
        there_and_back(rig, 100000)
        assert failed_ios(rig) == failed, "I/Os began again"
        assert [q["qp"] for q in rig.ctl(0, "qp")] == qps, "the connection was lost"
    finally:
        rig.end()


def test_rdma_hogs(board, tmp):
    test_hogs(board, tmp, RDMA)


def liar(rig, *args):
    return subprocess.Popen([f"{hosts.BIN}/kio-liar", rig.socket(0), *args],
                            stdout=subprocess.PIPE, text=True)


def said_ok(p):
    out, _ = p.communicate(timeout=240)
    assert out.endswith("ok\n"), f"{out} (exit {p.returncode})"


def test_lying_client(board, tmp):
    """A peer with random requests, by token and by RDMA, leaves nothing behind."""
    rig = Rig(board, tmp, drivers=RDMA)
    try:
        rig.file("f", 100000)
        for seed in range(4):
            said_ok(liar(rig, "client", SERVER, str(seed), "150"))
            there_and_back_as(rig, 300000)
        assert set(os.listdir(rig.folder)) <= {"f", "good", "good2"}, \
            os.listdir(rig.folder)
        assert "export" in os.listdir(tmp) and "f" not in os.listdir(tmp)
    finally:
        rig.end()


def there_and_back_as(rig, size):
    """Copy files whose names the liar does not have."""
    want = rig.file("good", size, size)
    rig.good("get", f"{SERVER}:good", rig.path("got"))
    assert hosts.sha256(rig.path("got")) == want
    rig.good("put", rig.path("got"), f"{SERVER}:good2")
    assert hosts.sha256(os.path.join(rig.folder, "good2")) == want


def test_lying_server(board, tmp, data=("--data=token",)):
    """Whatever the server answers, the I/O ends in bounded time, and no process gets
    bytes of another I/O from a buffer."""
    rig = Rig(board, tmp, drivers=((), data))
    secret = b"of another process "
    try:
        with open(rig.path("mine"), "wb") as f:
            f.write(secret * 60000)
        p = liar(rig, "server", "12", "100")
        assert p.stdout.readline() == "ready\n"
        end = time.monotonic() + 240
        ask1 = [f"{hosts.BIN}/unic-kio", "-q", "--socket", rig.socket(1),
                "--timeout", "0.4"]
        while p.poll() is None:
            assert time.monotonic() < end, "the liar was not asked enough"
            subprocess.run(ask1 + ["put", rig.path("mine"),
                                   f"{hosts.IP[0]}:f"],
                           capture_output=True, timeout=60, check=False)
            for what in ("get", "ls"):
                r = subprocess.run(
                    ask1 + [what, f"{hosts.IP[0]}:f"] +
                    (["-"] if what == "get" else []),
                    capture_output=True, timeout=60, check=False)
                assert secret not in r.stdout, "old bytes of a buffer"
        said_ok(p)
        there_and_back(rig, 300000)
    finally:
        rig.end()


def test_rdma_lying_server(board, tmp):
    """... nor when it may write to the pages of an I/O, or says that it has."""
    test_lying_server(board, tmp, ())


def in_folder(test, board):
    with tempfile.TemporaryDirectory(prefix="unic-kio-") as tmp:
        test(board, tmp)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("names", nargs="*")
    args = ap.parse_args()
    passed = failed = 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_") or (args.names and
                                            name[5:] not in args.names):
            continue
        start = time.monotonic()
        try:
            stops.step(in_folder, test, args.board)
            passed += 1
            result = "ok"
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            result = f"FAILED: {e}"
            if not isinstance(e, hosts.Failure):
                traceback.print_exc()
        print(f"  {name[5:]}: {result} ({time.monotonic() - start:.1f} s)",
              flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
