#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The end-to-end tests with every host program under a checker. A report of the
checker is a failure, whatever the test said.

    checked.py tsan|valgrind [--only WORD] [--keep]

tsan: programs of build/tsan (make tsan builds them). valgrind: those of
build/bin, each behind a small script. Both append what they find to files in
build/<checker>/log, one per process. Whatever is not to be reported is in
tests/faults/<checker>.supp, with the reason.
"""
import glob
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PROGRAMS = ("unic-bus", "unic-wire", "unicd", "unicctl", "unic-hog",
            "unic-copy", "unic-nic", "survivor", "crowd", "forks")
FILE_BYTES = 1 << 20
TIME_S = 1800  # a hang; on a busy machine a scenario has taken more than 300
# Memory that a program still points at when it ends is no leak of a daemon;
# memory without a pointer is.
VALGRIND = ("valgrind -q --error-exitcode=99 --leak-check=full "
            "--show-leak-kinds=definite --errors-for-leak-kinds=definite "
            "--num-callers=24 --fair-sched=try --vgdb=no")
SCRIPT = """#!/bin/sh
# Made by tests/faults/checked.py.
export LD_PRELOAD={lib}/pidfd_shim.so PIDFD_BROKER={log}/.broker
exec {valgrind} --suppressions={supp} --log-file={log}/{name}.%p \\
	{bin}/{name} {more} "$@"
"""
# A driver under valgrind is too slow for the usual H, and programs for the
# usual T.
MORE = {"unicd": "--deliver-us=1000000 --grace-us=200000"}


def paths(kind):
    build = os.path.join(ROOT, "build", kind)
    return (os.path.join(build, "bin"), os.path.join(build, "log"),
            os.path.join(ROOT, "tests", "faults", kind + ".supp"))


def wrap_for_valgrind(folder, log, supp):
    os.makedirs(folder, exist_ok=True)
    for name in PROGRAMS:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(SCRIPT.format(
                valgrind=VALGRIND, supp=supp, log=log, name=name,
                more=MORE.get(name, ""),
                bin=os.path.join(ROOT, "build", "bin"),
                lib=os.path.join(ROOT, "build", "faults")))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP |
                 stat.S_IXOTH)


def answer(conn):
    """pidfd_open() for tests/faults/pidfd_shim.c."""
    with conn:
        pid, = struct.unpack("i", conn.recv(4))
        try:
            fd = os.pidfd_open(pid)
        except OSError as e:
            conn.send(struct.pack("i", e.errno))
            return
        socket.send_fds(conn, [struct.pack("i", 0)], [fd])
        os.close(fd)


def start_broker(path):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(path)
    os.chmod(path, 0o666)
    server.listen(64)

    def serve():
        while True:
            answer(server.accept()[0])

    threading.Thread(target=serve, daemon=True).start()


def environment(kind):
    folder, log, supp = paths(kind)
    os.makedirs(log, exist_ok=True)
    os.chmod(log, 0o1777)  # some tests give their privilege up
    for old in glob.glob(log + "/*") + glob.glob(log + "/.broker"):
        os.unlink(old)
    env = dict(os.environ, UNIC_BIN=folder)
    if kind == "valgrind":
        wrap_for_valgrind(folder, log, supp)
        env["UNIC_SLOWER"] = "20"
        start_broker(os.path.join(log, ".broker"))
    else:
        env["TSAN_OPTIONS"] = (f"suppressions={supp} log_path={log}/tsan "
                               "second_deadlock_stack=1 exitcode=66")
    return env


def scenarios(kind, path):
    # The page service has a thread in unicd, whose races are looked for.
    more = () if kind == "valgrind" else (
        ("remote files", ["tests/qemu/test_kio.py", "--board", "soft", "sizes",
                          "loss", "paths", "bad_clients", "hogs"]),)
    return (("unicd", ["tests/qemu/test_unicd.py", "--board", "soft"]),
            ("unicd slots", ["tests/qemu/test_unicd_slots.py", "--board", "soft"]),
            ("unicd notices", ["tests/qemu/test_unicd_notice.py", "--board", "soft"]),
            ("unicd restarts", ["tests/qemu/test_unicd_restart.py", "--board", "soft"]),
            ("threads, children", ["tests/qemu/test_process.py", "--board", "soft"]),
            ("unicd faults", ["tests/qemu/test_faults.py", "--board", "soft"]),
            ("demo", ["tests/qemu/demo.py", "--board", "soft", "--file",
                      path]),
            ("demo with loss", ["tests/qemu/demo.py", "--board", "soft",
                                "--file", path, "--loss", "2%"]), *more)


def run(name, args, env, log):
    """Returns True when the test passed and no checker said a word."""
    try:
        r = subprocess.run([sys.executable, *args], cwd=ROOT, env=env,
                           capture_output=True, text=True, errors="replace",
                           timeout=TIME_S)
        code, out = r.returncode, r.stdout + r.stderr
    except subprocess.TimeoutExpired as e:
        code, out = -1, f"{e}\n{(e.stdout or b'').decode()}"
    reports = [p for p in sorted(glob.glob(log + "/*")) if os.path.getsize(p)]
    good = code == 0 and not reports
    print(f"{'ok  ' if good else 'FAIL'} {name}: exit {code}, "
          f"{len(reports)} reports", flush=True)
    if not good:
        tail = out.splitlines()
        print("\n".join([t for t in tail if t.startswith("FAIL")][:20] + tail[-12:]))
    for path in reports:
        with open(path, encoding="utf-8", errors="replace") as f:
            print(f"--- {path}\n" + "".join(f.readlines()[:60]))
        os.rename(path, os.path.join(os.path.dirname(log), "reported." +
                                     os.path.basename(path)))
    return good


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("tsan", "valgrind"):
        sys.exit(__doc__)
    kind = sys.argv[1]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    env = environment(kind)
    with tempfile.NamedTemporaryFile(prefix="unic-checked-") as f:
        f.write(os.urandom(FILE_BYTES))
        f.flush()
        results = [run(name, args, env, paths(kind)[1])
                   for name, args in scenarios(kind, f.name) if only in name]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return not all(results) or not results


if __name__ == "__main__":
    sys.exit(main())
