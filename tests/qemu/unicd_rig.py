# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of unicd stand on: a driver in a directory of its own, with the
loop-back provider or with unic-bus and a NIC, and processes that are its clients."""
import argparse
import os
import shutil
import signal
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
import run_nic  # noqa: E402
import stops  # noqa: E402
import unicd_client as u  # noqa: E402

# Other builds of the programs (make tsan, make valgrind) are elsewhere.
BIN = os.environ.get("UNIC_BIN", os.path.join(ROOT, "build", "bin"))
UNICD = os.environ.get("UNICD", os.path.join(BIN, "unicd"))
SQ, RQ, CQ = u.VA0, u.VA0 + 0x1000, u.VA0 + 0x2000  # of a queue's page group


class Rig:
    """A directory, a driver in it, and what else the test started."""

    def __init__(self, board=None, args=()):
        self.dir = tempfile.mkdtemp(prefix="unicd-")
        self.sock = os.path.join(self.dir, "u.sock")
        self.log = open(os.path.join(self.dir, "log"), "w+b")
        self.args, self.board, self.others = list(args), board, []
        self.renews = board in (None, "soft")  # can exchange a slot's memory
        self.driver = None
        try:
            if board:
                self.plug()
            self.up()
        except BaseException:
            self.down()
            raise

    def plug(self):
        self.bus = self.start([f"{BIN}/unic-bus", "--dir", self.dir,
                               *run_nic.bus_options(self.board)])
        self.wait_line(self.bus)
        argv = run_nic.command(self.board, self.dir, link="none")
        self.nic = self.start(argv)

    def start(self, argv):
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.log)
        stops.watch_pid(p.pid)
        self.others.append(p)
        return p

    def wait_line(self, p):
        line = p.stdout.readline()
        assert b"ready" in line, f"{p.args[0]}: {line!r} {self.text()}"
        return line

    def text(self):
        with open(self.log.name, "rb") as f:
            return f.read().decode(errors="replace")

    def argv(self):
        where = (["--bus", self.dir, *hosts.DELIVER]
                 if self.board else ["--provider", "loop", "--slots", "4"])
        return [UNICD, "--socket", self.sock] + where + self.args

    def up(self):
        self.driver = self.start(self.argv())
        self.wait_line(self.driver)

    def client(self, hello=True, name=b"test", flags=0):
        c = u.Client(self.sock, name, flags)
        if hello:
            c.hello()
        return c

    def down(self):
        for p in reversed(self.others):
            if p.poll() is None:
                p.terminate()
                try:
                    p.wait(hosts.PATIENCE_S)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def child(rig, body):
    """Run body(client) in another process that then sleeps."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        assert os.read(r, 1) == b"y", "child failed"
        os.close(r)
        return pid
    try:
        c = rig.client(name=b"child")  # kept: the socket would end with it
        body(c)
        os.write(w, b"y")
        parent = os.getppid()
        while os.getppid() == parent:  # never outlive the test
            time.sleep(0.2)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        os._exit(1)


def ps(c):
    rows = {}
    r = c.call(u.PS)
    for at in range(0, len(r.tail), 104):
        row = struct.unpack_from("<4I16s12I", r.tail, at)
        rows[row[0]] = dict(pid=row[1], state=row[3], frames=row[5],
                            pinned=row[6], regions=row[7], waits=row[8])
    return rows


def until(what, test, seconds=hosts.PATIENCE_S):
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end, f"timeout: {what}"
        time.sleep(0.01)


def queues(c, pd):
    """A region of class control with rings, a CQ and a QP in RESET."""
    c.frames(3)
    mr, _, _ = c.reg(pd, 3 * 4096, cls=u.CONTROL, rights=u.LOCAL_WRITE,
                     shift=12)
    cq, _ = c.call(u.CQ_CREATE, struct.pack("<QIIII", CQ, mr, 16, 0,
                                            0)).get("II")
    body = struct.pack("<QQIIIHHIIII", SQ, RQ, mr, cq, cq, 16, 16, 0, 0, 77,
                       pd)
    qp, qpn = c.call(u.QP_CREATE, body).get("II")
    return mr, cq, qp, qpn


def as_nobody(rig, body):
    """Run body() in a process without privilege; returns what it returns."""
    os.chmod(rig.dir, 0o755)
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgid(65534)
            os.setuid(65534)
            os.write(w, struct.pack("<i", body()))
        finally:
            os._exit(0)
    os.close(w)
    data = os.read(r, 4)
    os.close(r)
    os.waitpid(pid, 0)
    return struct.unpack("<i", data)[0]


def run(label, tests, board):
    failed = 0
    rig = Rig(board)

    def another():
        nonlocal rig
        rig.down()
        rig = Rig(board)

    try:
        for t in tests:
            name = f"{label} {t.__name__[5:]}"
            try:
                stops.step(lambda: t(rig), again=another)  # pylint: disable=W0640
                print(f"ok      {name}", flush=True)
            except Exception as e:  # pylint: disable=broad-except
                failed += 1
                print(f"FAILED  {name}: {type(e).__name__} {e}", flush=True)
                if os.environ.get("VERBOSE"):
                    traceback.print_exc()
                    print(rig.text()[-3000:])
                another()
        rig.driver.send_signal(signal.SIGTERM)
        if rig.driver.wait(hosts.PATIENCE_S) or os.path.exists(rig.sock):
            failed += 1
            print(f"FAILED  {label} clean end", rig.text()[-2000:])
    finally:
        rig.down()
    return failed


def main(doc, *, both=(), loop=(), nic=(), only=None, joint=(), not_joint=()):
    """Runs the tests of a program whose text is @doc: @both with the loop-back
    provider and with a NIC, @loop and @nic with one of them, @only[board] with the
    NIC of that board, @joint where all slots are parts of one file, and there
    none of @not_joint. Returns its exit code."""
    ap = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--only")
    opt = ap.parse_args()

    def pick(*groups):
        return [t for g in groups for t in g
                if not opt.only or opt.only in t.__name__]

    alone = pick(both, loop)
    failed = run("loop", alone, None) if alone else 0
    total = len(alone) + bool(alone)  # each ends cleanly, too
    if opt.board != "none":
        parts = "--joint" in run_nic.bus_options(opt.board)
        with_nic = pick((only or {}).get(opt.board, ()), both, nic)
        if parts:
            with_nic = [t for t in with_nic if t not in not_joint]
            with_nic += pick(joint)
        failed += run(opt.board, with_nic, opt.board) if with_nic else 0
        total += len(with_nic) + bool(with_nic)
    print(f"{total - failed} passed, {failed} failed")
    return bool(failed)
