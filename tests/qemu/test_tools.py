#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What people type at the programs: where a file is to go, numbers that are none, an
output that cannot be written.

    test_tools.py [--only WORDS]
"""
import argparse
import contextlib
import itertools
import json
import os
import pty
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

import hosts
import functions
import unicd_client

DEBIAN = "/usr/lib/python3/dist-packages"  # for any other python3, too

BYTES = 300_000
# Options that want a number, and what is none, or too large.
NUMBERS = (("unic-hog", "--max", "abc"), ("unic-hog", "--max", "0"), ("unic-hog", "--chunk", "513"),
           ("unic-hog", "--chunk", "1x"), ("unic-copy", "--timeout", "-1"),
           ("unic-copy", "--timeout", "1.5"), ("unicctl", "--weight", "-2"),
           ("unicctl", "--weight", "0"), ("unicctl", "--weight", "65536"),
           ("unicctl", "--quota", ""), ("unic-bus", "--slots", "8 "), ("unic-bus", "--slot-size", "16T"),
           ("unic-wire", "--nics", "8"), ("unic-wire", "--seed", "0x"), ("unic-uart", "--vectors", "0"),
           ("unicd", "--grace-us", "20ms"), ("unicd", "--user-slots", "+1"), ("unic-nic", "--spin", "0"),
           ("unic-nic", "--spin", "1e3"), ("unic-kio", "--timeout", "0"), ("unic-kio", "--timeout", "1e1"),
           ("unic-kio", "--timeout", "nan"), ("unic-wire", "--loss", "101%"), ("unic-wire", "--loss", "0x.1"),
           ("unic-wire", "--loss", "1%%"))
EX_USAGE, EX_IOERR = 64, 74
ST_VERSION = 81  # UNIC_CTL_ST_VERSION
PROGRAMS = ("unicctl", "unic-copy", "unic-hog", "unic-kio", "unic-ping", "unic-perf", "unic-run", "unic-policysim",
            "unicd", "unic-bus", "unic-wire", "unic-uart", "unic-nic")


def ask(*argv, code=0, **more):
    """Standard error of a program that must end with @code."""
    done = subprocess.run([os.path.join(hosts.BIN, argv[0]), *argv[1:]], text=True, check=False,
                          stderr=subprocess.PIPE, timeout=hosts.PATIENCE_S,
                          **{"stdout": subprocess.DEVNULL, **more})
    assert done.returncode == code, (argv, done.returncode, done.stderr)
    return done.stderr


def get_by_copy(rig, where, **more):
    return ask("unic-copy", "--socket", rig.socket(0), "--peer", hosts.IP[1], "get", "file",
               "--output", where, **more)


def get_by_kio(rig, where, **more):
    return ask("unic-kio", "--socket", rig.socket(0), "get", f"{hosts.IP[1]}:file", where, **more)


GETTERS = (get_by_copy, get_by_kio)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data, mode):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def fresh(rig):
    """An empty folder."""
    return tempfile.mkdtemp(dir=rig.tmp)


def test_replaces_a_file(rig, get):
    """A file is replaced and keeps its mode; a link to it stays a link."""
    there = fresh(rig)
    write(f"{there}/old", b"old", 0o640)
    os.symlink("old", f"{there}/link")
    get(rig, f"{there}/link")
    assert os.readlink(f"{there}/link") == "old"
    assert read(f"{there}/old") == rig.data
    assert stat.S_IMODE(os.stat(f"{there}/old").st_mode) == 0o640
    assert sorted(os.listdir(there)) == ["link", "old"]


def test_into_a_folder(rig, get):
    """A folder as target gets a file of that name."""
    there = fresh(rig)
    get(rig, there)
    assert os.listdir(there) == ["file"] and read(f"{there}/file") == rig.data


def test_folder_in_the_way(rig, get):
    """A folder that has a folder of that name is refused, and stays as it is."""
    there = fresh(rig)
    os.mkdir(f"{there}/file")
    assert "Is a directory" in get(rig, there, code=1)
    assert os.listdir(there) == ["file"] and not os.listdir(f"{there}/file")


def test_into_a_fifo(rig, get):
    """A FIFO is written, not replaced."""
    path = f"{fresh(rig)}/fifo"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(read(path)))
    reader.start()
    get(rig, path)
    reader.join(hosts.PATIENCE_S)
    assert got == [rig.data] and stat.S_ISFIFO(os.stat(path).st_mode)


def test_into_a_device(rig, get):
    """A device is written, not replaced."""
    get(rig, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def interrupted(rig, argv):
    """SIGINT to a program while its server stands still: what is left where it wrote."""
    there = fresh(rig)
    write(f"{there}/old", b"old", 0o600)
    program = subprocess.Popen([os.path.join(hosts.BIN, argv[0]), *argv[1:], f"{there}/old"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.monotonic() + hosts.PATIENCE_S
    while len(os.listdir(there)) == 1:
        assert program.poll() is None, "it is over already"
        assert time.monotonic() < end, "it has not begun"
    program.send_signal(signal.SIGINT)
    assert program.wait(hosts.PATIENCE_S) == -signal.SIGINT
    assert os.listdir(there) == ["old"] and read(f"{there}/old") == b"old"


def test_interrupted(rig, get):
    """SIGINT leaves the old file, and no part of the new one."""
    peer = hosts.IP[1]
    interrupted(rig, ("unic-copy", "--socket", rig.socket(0), "--peer", peer, "get", "large",
                      "--output") if get is get_by_copy else
                ("unic-kio", "--socket", rig.socket(0), "get", f"{peer}:large"))


def test_nothing_to_serve(rig):
    """`serve` of a folder that is not there, or is a file, does not say that it is ready."""
    for place in ("nothing", "src"):
        assert "folder" in ask("unic-copy", "--socket", rig.socket(0), "serve", "--dir",
                               rig.path(place), code=1)


def test_output_is_lost(rig):
    """What cannot be printed is an error."""
    with open("/dev/full", "wb") as full:
        for program in PROGRAMS:
            assert "No space left" in ask(program, "--help", code=EX_IOERR, stdout=full)
            assert "No space left" in ask(program, "--version", code=EX_IOERR, stdout=full)
        for words in (("ps",), ("stats", "--all"), ("info", "--json")):
            assert "No space left" in ask("unicctl", "--socket", rig.socket(0), *words,
                                          code=EX_IOERR, stdout=full)
        assert "standard output" in get_by_copy(rig, fresh(rig), code=EX_IOERR, stdout=full)
        hog = subprocess.Popen([os.path.join(hosts.BIN, "unic-hog"), "--socket", rig.socket(0), "--max", "5"],
                               stdout=full, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + hosts.PATIENCE_S
        while not any(p.get("held", 0) >= 5 and p["pid"] == hog.pid for p in rig.ctl(0, "ps")["procs"]):
            assert time.monotonic() < end, "it holds nothing"
            time.sleep(0.02)
        time.sleep(0.2)  # until it has said so
        hog.terminate()
        assert "standard output" in hog.communicate(timeout=hosts.PATIENCE_S)[1]
        assert hog.returncode == EX_IOERR, hog.returncode
        for words in (("state",), ("get", f"{hosts.IP[1]}:file", "-")):
            assert "No space left" in ask("unic-kio", "--socket", rig.socket(0), *words, code=EX_IOERR,
                                          stdout=full)


def test_numbers(_):
    """What is no number, or none in range, is refused with what would do."""
    for program, option, text in NUMBERS:
        assert "is needed" in ask(program, option, text, code=EX_USAGE), (program, option)


def after_waits(rig):
    """`unicctl metrics` and `histograms`, when a registration had to wait for entries."""
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--answer", "release", show=False)
    try:
        hog.expect("holds .* entries")
        get_by_copy(rig, fresh(rig))
    finally:
        hog.end()
    return subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "metrics"],
                          capture_output=True, text=True, check=True).stdout, rig.ctl(0, "histograms")


# What a label of OpenMetrics has to escape.
ODD_NAME = 'q"u\\note'


def test_metrics(rig):
    """Prometheus reads `unicctl metrics`: each family once, counters that count, the
    processes with their entries, whatever their names, histograms whose buckets add up."""
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "50", show=False)
    os.symlink(os.path.join(hosts.BIN, "unic-hog"), rig.path(ODD_NAME))
    odd = Lines(rig.path(ODD_NAME), "--socket", rig.socket(0), "--max", "7")
    try:
        hog.expect("holds 50")
        odd.until("its entries", lambda lines: any("holds 7" in line for line in lines))
        end = time.monotonic() + hosts.PATIENCE_S
        while not rig.ctl(0, "stats")["nic"]["mr_registered"]:  # shown at the next heartbeat
            assert time.monotonic() < end, "no registration is counted"
            time.sleep(0.02)
        said = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0),
                               "metrics"], capture_output=True, text=True, check=True).stdout
        held = [p["held"] for p in rig.ctl(0, "ps")["procs"] if p["name"] == "unic-hog"]
    finally:
        odd.end(signal.SIGTERM)
        hog.end()
    sys.path.append(DEBIAN)
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    families = {f.name: f for f in text_string_to_metric_families(said)}
    assert all(f.documentation.strip(" .") for f in families.values()), [f for f in families.values() if not f.documentation]
    assert families["unic_nic_mr_registered"].documentation == "regions registered."
    assert families["unic_nic_mr_registered"].samples[0].value > 0
    assert families["unic_ready"].samples[0].value == 1
    assert families["unic_tlb_entries"].samples[0].value == 1024
    mine = [s.value for s in families["unic_process_held"].samples
            if s.labels["name"] == "unic-hog"]
    assert mine == held and mine[0] >= 50, (mine, held)
    assert [s.value for s in families["unic_process_held"].samples if s.labels["name"] == ODD_NAME] == [7], said
    said, told = after_waits(rig)
    families = {f.name: f for f in text_string_to_metric_families(said)}
    for h in told:  # a bucket begins where the one before it ends
        samples = families[f"unic_{h['histogram']}_us"].samples
        bounds = [b["from_us"] for b in h["buckets"]]
        assert bounds == [0, *(2**i for i in range(len(bounds) - 1))][:len(bounds)], h
        assert [float(s.labels["le"]) for s in samples] == [*(2.0**i for i in range(len(bounds))), float("inf")], samples
        assert [s.value for s in samples] == [*itertools.accumulate(b["count"] for b in h["buckets"]), h["n"]], (h, samples)
    assert sum(h["n"] for h in told), told


def http(path, request):
    """What is answered on a Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(hosts.PATIENCE_S)
        s.connect(path)
        s.sendall(request.encode())
        said = b""
        while part := s.recv(65536):
            said += part
    head, body = said.decode().split("\r\n\r\n", 1)
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    assert int(fields["Content-Length"]) == len(body.encode()), head
    return head.split()[1], fields["Content-Type"], body


def names_of(text):
    """Metrics and labels, without their values."""
    return [line.rsplit(" ", 1)[0] if line[0] != "#" else line for line in text.splitlines()]


def test_metrics_by_http(_):
    """`unicd --metrics`: GET says what `unicctl metrics` prints, of each NIC; other requests
    are refused; one that never ends holds up neither the driver nor its end."""
    with tempfile.TemporaryDirectory(prefix="unic-metrics-") as there:
        sock, path = there + "/unicd.sock", there + "/metrics"
        driver = Lines("unicd", "--socket", sock, "--metrics", path, "--provider", "loop", "--nic",
                       "first", "--nic", "second", "--ip", "10.0.0.9")
        try:
            driver.until("ready", lambda lines: any("ready" in line for line in lines))
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            for page, nic in (("/metrics", "first"), ("/", "first"), ("/metrics/second", "second"),
                              ("/metrics?x=1", "first")):
                code, kind, said = http(path, f"GET {page} HTTP/1.1\r\nHost: unic\r\n\r\n")
                printed = subprocess.run(
                    [os.path.join(hosts.BIN, "unicctl"), "--socket", f"{sock},{nic}", "metrics"],
                    capture_output=True, text=True, check=True).stdout
                assert code == "200" and kind.startswith("application/openmetrics-text; version=1"), code
                assert names_of(said) == names_of(printed), (page, said, printed)
                assert (nic == "second") == ('ipv4="10.0.0.9"' in said), said
            for request, wanted in (("POST /metrics HTTP/1.1\r\n\r\n", "405"),
                                    ("GET /metric HTTP/1.1\r\n\r\n", "404"),
                                    ("GET /metrics/third HTTP/1.1\n\n", "404"),
                                    ("GET /metrics/ HTTP/1.1\n\n", "404"),
                                    ("GET /metrics/first,second HTTP/1.1\n\n", "404"),
                                    ("GET /metrics/../first HTTP/1.1\n\n", "404"),
                                    ("\r\n\r\n", "405")):
                assert http(path, request)[0] == wanted, request
            assert "another" in ask("unicd", "--socket", there + "/other", "--metrics", path,
                                    "--provider", "loop", code=1)
            silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            silent.connect(path)
            silent.sendall(b"GET /metrics")
            assert subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", sock, "info"],
                                  stdout=subprocess.DEVNULL, check=False).returncode == 0
            assert http(path, "GET / HTTP/1.1\r\n\r\n")[0] == "200"  # after 5 s
            silent.close()
            silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            silent.connect(path)
            began = time.monotonic()
        finally:
            code = driver.end(signal.SIGTERM)
        assert code == 0 and time.monotonic() - began < 4, code
        assert not os.path.exists(path)
        write(path, b"mine", 0o644)
        assert "no socket" in ask("unicd", "--socket", sock, "--metrics", path, "--provider", "loop", code=1)
        assert read(path) == b"mine"


RATES = {"granted_per_s": "waits_granted", "notices_per_s": "notices", "evicted_per_s": "evicted_regions",
         "misses_per_s": "misses"}


def test_watch_rates(rig):
    """`unicctl watch` shows what is granted, asked for and evicted while that happens, and pages
    that are missed: as many in all as were counted."""
    watch = Lines("unicctl", "--socket", rig.socket(0), "--json", "watch", "--interval", "50")
    try:
        watch.until("a first look", bool)
        before = rig.ctl(0, "stats")["nic"]
        after_waits(rig)
        ask("unic-copy", "--socket", rig.socket(0), "--peer", hosts.IP[1], "get", "file", "--output", fresh(rig),
            "--residency", "demand")
        for key in RATES:
            watch.until(key, lambda lines, key=key: any(json.loads(line)[key] for line in lines))
        told, end = {}, time.monotonic() + hosts.PATIENCE_S
        while told != (now := [rig.ctl(0, "stats")["nic"][RATES[key]] - before[RATES[key]] for key in RATES]):
            assert time.monotonic() < end, "it goes on counting"
            told = now
            time.sleep(0.3)  # more than a heartbeat
        shown = len(watch.lines)
        watch.until("two more looks", lambda lines: len(lines) >= shown + 2)
        looks = [json.loads(line) for line in watch.lines]
        seen = [sum(b[key] * (b["time_ns"] - a["time_ns"]) / 1e9 for a, b in zip(looks, looks[1:])) for key in RATES]
        assert all(n and abs(s / n - 1) < 0.05 for s, n in zip(seen, told)), (seen, told)
        stats = rig.ctl(0, "stats")["nic"]
        text = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "stats"], check=True,
                              capture_output=True, text=True).stdout
        assert not re.search(r"^\w+ +\w+ +0\b", text, re.M) and 0 in stats.values(), text  # only --all shows these
    finally:
        watch.end()


def test_watch(rig):
    """`unicctl watch` prints a line for each look, in columns or as JSON; a pipe that nobody
    reads ends it."""
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "50", show=False)
    watch = (os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "watch", "--interval", "150")
    try:
        hog.expect("holds 50")
        held = [p["held"] for p in rig.ctl(0, "ps")["procs"] if p["name"] == "unic-hog"]
        said = subprocess.run([*watch, "--looks", "3", "--json"], capture_output=True, text=True,
                              check=True, timeout=hosts.PATIENCE_S).stdout
        lines = [json.loads(line) for line in said.splitlines()]
        text = subprocess.run([*watch, "--looks", "2"], capture_output=True, text=True, check=True,
                              timeout=hosts.PATIENCE_S).stdout.splitlines()
    finally:
        hog.end()
    assert len(lines) == 3 and lines[0]["time_ns"] < lines[2]["time_ns"], lines
    for line in lines:
        assert line["entries"] == 1024 and line["held"] >= sum(held) >= 50, (line, held)
        assert line["open_notices"] == line["waiting"] == 0, line
    assert lines[0]["rx_bytes_per_s"] == 0  # of a first look
    assert len(text) == 3 and text[0].split()[:2] == ["held", "free"], text
    assert int(text[1].split()[0]) + int(text[1].split()[1]) == 1024, text
    assert max(map(len, text)) <= 100, text
    endless = subprocess.Popen([*watch, "--interval", "10"], stdout=subprocess.PIPE)
    assert endless.stdout.readline()
    endless.send_signal(signal.SIGTERM)
    assert endless.wait(hosts.PATIENCE_S) == 0


def screen_of(sock, columns, pattern="unic-hog", rows=24):
    """What `unicctl top` shows on a terminal of that size when a line matches; `q` ends it."""
    sys.path.append(DEBIAN)
    import pyte
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (rows, columns))
    before = termios.tcgetattr(slave)
    top = subprocess.Popen([os.path.join(hosts.BIN, "unicctl"), "--socket", sock, "top",
                            "--interval", "50"], stdin=slave, stdout=slave,
                           env={**os.environ, "TERM": "linux"})
    try:
        end = time.monotonic() + hosts.PATIENCE_S
        while not any(re.search(pattern, line) for line in screen.display):
            assert time.monotonic() < end, screen.display
            while select.select([master], [], [], 0.01)[0]:  # all of what is drawn at once
                stream.feed(os.read(master, 65536))
        os.write(master, b"q")
        while top.poll() is None:  # it writes on until it has read that
            assert time.monotonic() < end, "top does not end"
            if select.select([master], [], [], 0.1)[0]:
                os.read(master, 65536)
        assert top.returncode == 0
        assert termios.tcgetattr(slave) == before, "the terminal is not as it was"
    finally:
        top.kill()
        os.close(master)
        os.close(slave)
    return screen.display


def show_rates(rig):
    """What is written to a peer is a rate in `unicctl top` and `unicctl watch` while it lasts."""
    server = rig.start("perf", "unic-perf", "--socket", rig.socket(1), "serve", show=False)
    server.expect("ready")
    writes = Lines("unic-perf", "--socket", rig.socket(0), "bandwidth", hosts.IP[1], "--count", "100000000")
    try:
        shown = screen_of(rig.socket(0), 80, r"^ +[1-9][\d.]*[kMG]B sent, ")
        sent, received = (float(n) * 1000**" kMGT".index(u or " ") for n, u in re.findall(r"([\d.]+)([kMGT]?)B ", shown[3]))
        assert received < sent / 4, shown  # acknowledgements alone
        watch = [os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "--json", "watch", "--looks", "2"]
        said = subprocess.run(watch, capture_output=True, text=True, check=True, timeout=hosts.PATIENCE_S).stdout
        assert json.loads(said.splitlines()[1])["tx_bytes_per_s"] > 1000, said
    finally:
        writes.end()
        server.end()


def test_top(rig):
    """`unicctl top` says of each process what `ps` says, on narrow and on wide terminals, and rates."""
    small = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "5", show=False)
    small.expect("holds 5 ")
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "512", show=False)
    try:
        hog.expect("holds 512")
        for columns in (80, 200):
            shown = screen_of(rig.socket(0), columns)
            ps = {p["proc"]: p for p in rig.ctl(0, "ps")["procs"]}
            row = next(line for line in shown if "unic-hog" in line).split()
            p = ps[int(row[0])]
            held = [int(line.split()[3]) for line in shown if "unic-hog" in line]
            assert held == [512, 5], shown  # who has most comes first
            wanted = [str(p[k]) for k in ("pid", "name", "held", "fair_share", "wanted", "open_notices")]
            assert row[1:9] == [*wanted, "-", str(p["late"])], (row, p)
            bar = row[9].strip("[]")
            assert abs(len(bar) - (columns - 71)) <= 1, (columns, row)
            full = bar.count("#") + bar.count("+")
            assert abs(full / len(bar) - p["held"] / 1024) < 1.05 / len(bar), (row, p)
            borrowed = max(0, p["held"] - p["fair_share"])
            assert abs(bar.count("+") / len(bar) - borrowed / 1024) < 1.05 / len(bar), (row, p)
            assert "of    1024 held" in shown[1] and "waiting 0" in shown[0], shown
    finally:
        hog.end()
        small.end()
    show_rates(rig)
    said = ask("unicctl", "--socket", rig.socket(0), "top", code=1)
    assert "terminal" in said and "watch" in said, said
    master, slave = pty.openpty()
    said = ask("unicctl", "--socket", rig.socket(0), "top", code=1, stdin=slave, stdout=slave,
               env={**os.environ, "TERM": "nothing-like-it"})
    os.close(master)
    os.close(slave)
    assert "nothing-like-it" in said, said


def rig_free(sock):
    """Entries of the table that nobody holds."""
    said = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", sock, "--json", "watch", "--looks", "1"],
                          capture_output=True, text=True, check=True).stdout
    seen = json.loads(said)
    return seen["entries"] - seen["held"]


def graces_of(sock):
    """Of each process that was told of notices: how many are open, ms that the first has left."""
    said = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", sock, "--json", "ps"],
                          capture_output=True, text=True, check=True).stdout
    return {p["name"]: (p["told_notices"], p["grace_left_us"] / 1000)
            for p in json.loads(said)["procs"] if "grace_left_us" in p}


def test_top_graces(_):
    """`unicctl top` shows how long the first grace of a process still is, as `ps --json` says it,
    and nothing of one that was not asked."""
    with tempfile.TemporaryDirectory(prefix="unic-graces-") as there:
        sock, running = there + "/bus/unicd.sock", []

        def start(*argv, pattern):
            running.append(Lines(*argv))
            running[-1].until(pattern, lambda lines: any(re.search(pattern, line) for line in lines))
        try:
            start("unic-bus", "--dir", there + "/bus", pattern="ready")
            start("unic-nic", "--bus", there + "/bus/nic", pattern="ready|attached")
            start("unicd", "--bus", there + "/bus", "--grace-us", "10000000", pattern="ready")
            for name in ("greedy", "patient"):  # names of the processes
                os.symlink(os.path.join(hosts.BIN, "unic-hog"), f"{there}/{name}")
            start(there + "/greedy", "--socket", sock, "--answer", "ignore", pattern="holds")
            end = time.monotonic() + hosts.PATIENCE_S
            while rig_free(sock):
                assert time.monotonic() < end, "the table does not fill"
                time.sleep(0.05)
            assert not graces_of(sock)
            running.append(Lines(there + "/patient", "--socket", sock, "--answer", "ignore"))
            while not (before := graces_of(sock)):
                assert time.monotonic() < end, "nobody is asked"
            for columns in (80, 200):
                shown = screen_of(sock, columns, r"greedy .* \d+\.\dms ")
                after = graces_of(sock)
                row = next(line for line in shown if "greedy" in line).split()
                assert before["greedy"][1] + 0.1 >= float(row[7][:-2]) >= after["greedy"][1] - 0.1, (before, row, after)
                assert 0 < int(row[6]) and after["greedy"][0] > 0, (row, after)
                other = next(line for line in shown if "patient" in line).split()
                assert other[6:8] == ["0", "-"] and "patient" not in after, (other, after)
                before = after
        finally:
            for program in reversed(running):
                program.end(signal.SIGTERM)


def on_terminal(columns, *argv):
    """The lines that a program shows on a terminal of that width; 0: which does not say it."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    program = subprocess.Popen([os.path.join(hosts.BIN, argv[0]), *argv[1:]], stdin=subprocess.DEVNULL,
                               stdout=slave, stderr=slave)
    os.close(slave)
    said = b""
    try:
        while part := os.read(master, 65536):
            said += part
    except OSError:  # EIO: the other end is closed
        pass
    os.close(master)
    assert program.wait(hosts.PATIENCE_S) == 0, (argv, said)
    return said.decode().split("\r\n")


def test_width_of_terminals(rig):
    """A table of `unicctl` has at most as many columns as the terminal, and all that it has
    elsewhere; into a pipe a row is one line. Nothing else has more than 100."""
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "5", show=False)
    try:
        hog.expect("holds 5")
        for words in (("ps",), ("mr",), ("tlb",), ("qp",), ("cq",), ("info",), ("stats", "--all"),
                      ("histograms",), ("trace", "--groups", "all"), ("uses",), ("nics",), ("dump",), ("events", "--help")):
            shown = on_terminal(100, "unicctl", "--socket", rig.socket(0), *words)
            assert max(map(len, shown)) <= 100, (words, max(shown, key=len))
        for columns, most in ((0, 80), (80, 80), (60, 60), (300, 300)):
            for words in (("ps",), ("mr",), ("nics",)):
                shown = on_terminal(columns, "unicctl", "--socket", rig.socket(0), *words)
                assert max(map(len, shown)) <= most, (columns, words, max(shown, key=len))
        assert not [line for line in shown if line.endswith(" ")], shown
        wide = on_terminal(300, "unicctl", "--socket", rig.socket(0), "ps")
        assert sum("proc " in line for line in wide) == 1, wide
        piped = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "ps"],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        shown = on_terminal(80, "unicctl", "--socket", rig.socket(0), "ps")
    finally:
        hog.end()
    titles = piped[0].split()
    parts = [line.split() for line in shown if line.lstrip().startswith("proc ")]
    assert len(parts) > 1 and [t for p in parts for t in p[1:]] == titles[1:], (titles, parts)
    assert all(len(line.split()) == len(titles) for line in piped), piped


def test_ping(rig):
    """`unic-ping` reads and writes a page of a peer, and says how long each took; without a
    server, or when it dies, it ends with a reason."""
    ping = (os.path.join(hosts.BIN, "unic-ping"), "--socket", rig.socket(0), "--interval", "5", hosts.IP[1])

    def run(*more, code=0):
        done = subprocess.run([*ping, *more], capture_output=True, text=True, check=False,
                              timeout=hosts.PATIENCE_S)
        assert done.returncode == code, (more, done)
        return done.stdout if code == 0 else done.stderr

    assert "rejected" in (why := run(code=1)) and "unic-ping serve" in why, why
    server = rig.start("ping", "unic-ping", "--socket", rig.socket(1), "serve", show=False)
    try:
        server.expect("ready")
        lines = run("--count", "3").splitlines()
        assert [line.split(",")[0].split(":")[1] for line in lines[:3]] == [" seq 1", " seq 2", " seq 3"], lines
        assert "3 sent, 3 answered" in lines[3] and "min" in lines[4] and len(lines) == 5, lines
        began = time.monotonic()
        run("--count", "3", "--interval", "300")
        assert time.monotonic() - began > 0.6, "it does not wait between two requests"
        assert max(map(len, lines)) <= 100, lines
        moved = rig.ctl(1, "stats")["nic"]["dma_bytes"]
        said = json.loads(run("--json", "--count", "200", "--interval", "0", "--write", "--bytes", "65536"))
        assert said["operation"] == "WRITE" and said["sent"] == said["answered"] == 200, said
        assert 0 < said["min_us"] <= said["p50_us"] <= said["p99_us"] <= said["max_us"], said
        assert said["min_us"] <= said["mean_us"] <= said["max_us"], said
        end = time.monotonic() + hosts.PATIENCE_S
        while rig.ctl(1, "stats")["nic"]["dma_bytes"] - moved < 200 * 65536:  # at the next heartbeat
            assert time.monotonic() < end, "less arrived than was written"
            time.sleep(0.02)
        endless = subprocess.Popen([*ping, "--count", "1000000", "--quiet"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4):  # those before, too
            server.expect("connected")
        server.child.kill()
        said, why = endless.communicate(timeout=hosts.PATIENCE_S)
        assert endless.returncode == 1 and "answered" in said and why, (said, why)
    finally:
        server.end()
    for program in (("unic-ping",), ("unic-perf", "latency")):
        assert "10.0.0 is no IPv4 address" in ask(*program, "10.0.0", code=EX_USAGE), program
    ask("unic-ping", "--count", "0", "10.0.0.1", code=EX_USAGE)


def perf(rig, *words, code=0):
    done = subprocess.run([os.path.join(hosts.BIN, "unic-perf"), "--socket", rig.socket(0), *words],
                          capture_output=True, text=True, check=False, timeout=hosts.PATIENCE_S)
    assert done.returncode == code, (words, done)
    return done.stdout if code == 0 else done.stderr


def test_perf_latency(rig):
    """`unic-perf latency` of each operation: as many as were asked for, in order from the
    least to the most, and a histogram that has all of them."""
    server = rig.start("perf", "unic-perf", "--socket", rig.socket(1), "serve", show=False)
    try:
        server.expect("ready")
        for operation in ("write", "read", "send"):
            said = json.loads(perf(rig, "latency", hosts.IP[1], "--count", "300", "--json",
                                   "--operation", operation))
            assert said["operation"] == operation.upper() and said["bytes"] == 64, said
            assert said["count"] == sum(b["count"] for b in said["histogram"]) == 300, said
            bounds = [b["from_us"] for b in said["histogram"]]
            assert bounds == [0, *(2**i for i in range(len(bounds) - 1))] and bounds[-1] <= said["max_us"] + 1, said
            assert said["min_us"] < 2 * max(1, next(b["from_us"] for b in said["histogram"] if b["count"])), said
            order = [said[k] for k in ("min_us", "p50_us", "p99_us", "p999_us", "max_us")]
            assert order == sorted(order) and 0 < order[0] <= said["mean_us"] <= order[4], said
        shown = perf(rig, "latency", hosts.IP[1], "--count", "50", "--histogram").splitlines()
        assert shown[0] == "WRITE of 64 bytes, 50 times:" and "min" in shown[1], shown
        assert sum(int(line.split()[2]) for line in shown[2:]) == 50, shown
        assert not any(line.endswith(" ") for line in shown), shown
        assert max(map(len, shown)) <= 100, shown
    finally:
        server.end()


def test_perf_flow(rig):
    """`unic-perf bandwidth` and `rate` move what they say they do, of each size, also with
    more messages than the server has receives."""
    assert "`unic-perf serve'" in perf(rig, "rate", hosts.IP[1], code=1)
    server = rig.start("perf", "unic-perf", "--socket", rig.socket(1), "serve", show=False)
    try:
        server.expect("ready")
        for operation in ("write", "send"):
            moved = rig.ctl(1, "stats")["nic"]["dma_bytes"]
            said = [json.loads(line) for line in perf(
                rig, "bandwidth", hosts.IP[1], "--bytes", "4096,64K", "--count", "500", "--json",
                "--operation", operation).splitlines()]
            assert [(s["bytes"], s["count"]) for s in said] == [(4096, 500), (65536, 500)], said
            for s in said:
                assert abs(s["mib_per_s"] * s["seconds"] * 2**20 / (s["bytes"] * 500) - 1) < 0.01, s
                assert abs(s["messages_per_s"] * s["seconds"] / 500 - 1) < 0.01, s
            end = time.monotonic() + hosts.PATIENCE_S
            while rig.ctl(1, "stats")["nic"]["dma_bytes"] - moved < 500 * (4096 + 65536):
                assert time.monotonic() < end, "less arrived than was sent"
                time.sleep(0.02)
        shown = perf(rig, "rate", hosts.IP[1], "--operation", "read", "--count", "1000", "--depth", "128")
        assert shown.startswith("READ of 64 bytes, 1000 times, 128 at a time: "), shown
        endless = subprocess.Popen([os.path.join(hosts.BIN, "unic-perf"), "--socket", rig.socket(0),
                                    "rate", hosts.IP[1], "--count", "100000000"], text=True,
                                   stdout=subprocess.PIPE)
        server.expect("connected")
        time.sleep(0.3)
        endless.send_signal(signal.SIGINT)
        said, _ = endless.communicate(timeout=hosts.PATIENCE_S)
        assert endless.returncode == 0 and "messages/s" in said, said
    finally:
        server.end()
    for words in (("latency",), ("speed", hosts.IP[1]), ("rate", hosts.IP[1], "x"), ("serve", "x"),
                  ("rate", hosts.IP[1], "--bytes", "64,"), ("rate", hosts.IP[1], "--depth", "129")):
        assert "--help" in ask("unic-perf", *words, code=EX_USAGE), words


def test_perf_depth(_):
    """`unic-perf rate --depth` has that many requests under way: with 10 ms there and back, one
    at a time takes that for each, and 20 at a time less than half."""
    took = {}
    with tempfile.TemporaryDirectory(prefix="unic-depth-") as there:
        far = hosts.Hosts("soft", None, there)
        try:
            far.start_wire("--delay-us", "5000")
            far.start_all()
            far.start("perf", "unic-perf", "--socket", far.socket(1), "serve", show=False).expect("ready")
            for depth in (1, 20):
                said = json.loads(perf(far, "rate", hosts.IP[1], "--count", "40", "--depth", str(depth), "--json"))
                assert (said["count"], said["depth"]) == (40, depth), said
                took[depth] = said["seconds"]
        finally:
            far.end()
    assert took[1] >= 40 * 0.01 and took[20] < took[1] / 2, took


class Lines:
    """What a program that goes on has said, line by line."""

    def __init__(self, *argv):
        self.process = subprocess.Popen([os.path.join(hosts.BIN, argv[0]), *argv[1:]], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def until(self, what, true):
        """Wait until @true of the lines so far."""
        end = time.monotonic() + hosts.PATIENCE_S
        while not true(list(self.lines)):
            assert self.process.poll() is None, (what, self.process.stderr.read())
            assert time.monotonic() < end, (what, self.lines[-5:])
            time.sleep(0.02)

    def end(self, sig=signal.SIGINT):
        """Its exit status after a signal."""
        self.process.send_signal(sig)
        code = self.process.wait(hosts.PATIENCE_S)
        self.reader.join(hosts.PATIENCE_S)
        return code


def test_events(rig):
    """`unicctl events` says in words who comes, connects, waits, is asked, gives back, is
    evicted and goes, as it happens; a link and a reset, too; ^C ends it well."""
    events = Lines("unicctl", "--socket", rig.socket(0), "--json", "events")
    text = Lines("unicctl", "--socket", rig.socket(0), "events")
    began = time.time()

    def said(event, **more):
        def true(lines):
            return any(e["event"] == event and all(e.get(k) == v for k, v in more.items())
                       for e in map(json.loads, lines))
        return true
    try:
        events.until("its state", said("ready"))
        events.until("its link", said("link-up"))
        hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--answer", "release", show=False)
        hog.expect("holds .* entries")
        get_by_copy(rig, fresh(rig))
        for name in ("attached", "chosen", "notice", "delivered", "released", "evicted"):
            events.until(name, said(name, name="unic-hog", pid=hog.child.pid))
        # of unic-copy; what has ended before it is looked at has no name
        events.until("a wait", lambda lines: any(
            e["event"] == "granted" and e["pid"] != hog.child.pid for e in map(json.loads, lines)))
        events.until("a reason", lambda lines: any(
            e.get("reason", "0")[0].isalpha() and e["text"].endswith(e["reason"])
            for e in map(json.loads, lines)))
        hog.end()
        events.until("the end", said("gone", name="unic-hog", pid=hog.child.pid))
        ping = rig.start("ping", "unic-ping", "--socket", rig.socket(1), "serve", show=False)
        ping.expect("ready")
        asking = subprocess.Popen([os.path.join(hosts.BIN, "unic-ping"), "--socket", rig.socket(0),
                                   "--count", "1000", hosts.IP[1]], stdout=subprocess.DEVNULL)
        events.until("a connection", said("connected", peer=hosts.IP[1], pid=asking.pid))
        events.process.send_signal(signal.SIGSTOP)  # another process has the slot before it looks again
        asking.terminate()
        asking.wait(hosts.PATIENCE_S)
        next_one = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "1", show=False)
        next_one.expect("holds .* entr")
        events.process.send_signal(signal.SIGCONT)
        events.until("its end", said("disconnected", peer=hosts.IP[1], pid=asking.pid))
        next_one.end()
        ping.end()
        rig.ctl(0, "reset")
        events.until("a reset", said("reset"))
        text.until("the same", lambda lines: any("was reset" in line for line in lines))
        text.until("its state", lambda lines: any(line.split()[1:] == ["NIC", "is", "ready"] for line in lines))
    finally:
        codes = events.end(), text.end(signal.SIGTERM)
    rig.wait_nic(0)
    assert codes == (0, 0), codes
    for line in text.lines:
        assert len(line) <= 100 and line[2] == ":" and "%" not in line, line
    assert any("unic-hog" in line and "is asked for region" in line for line in text.lines)
    seen = [json.loads(line) for line in events.lines]
    assert abs(seen[-1]["time_ns"] / 1e9 - time.time()) < hosts.PATIENCE_S, seen[-1]
    of_nic = [e["time_ns"] for e in seen if e["event"] in ("chosen", "notice", "delivered", "released", "evicted")]
    assert began < of_nic[0] / 1e9 < of_nic[-1] / 1e9 < time.time(), (began, of_nic)


def trace_of(rig, *words):
    said = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "--json",
                           "trace", *words], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def pairs_of(events):
    """What begins and ends, by category and id: (begin, end)."""
    begun, pairs = {}, {}
    for e in events:
        key = (e.get("cat"), e.get("id"))
        if e["ph"] == "b":
            assert key not in begun, e
            begun[key] = e
        elif e["ph"] in "ne":
            assert key in begun, e
            first = begun[key]
            assert all(e[k] == first[k] for k in ("name", "pid")) and e["ts"] >= first["ts"], (first, e)
            if e["ph"] == "e":
                pairs[key] = (begun.pop(key), e)
    assert not begun, begun
    return pairs


def test_perfetto(rig):
    """`unicctl trace --perfetto` writes trace-event JSON by its schema: regions, waits, graces
    that begin and end, frames and uses of regions, of processes by name; unic-policysim reads
    the uses."""
    path, began = fresh(rig) + "/unic.json", time.monotonic()
    trace = Lines("unicctl", "--socket", rig.socket(0), "trace", "--perfetto", path, "--follow",
                  "--groups", "all")
    try:
        end = time.monotonic() + hosts.PATIENCE_S
        while not (os.path.exists(path) and os.path.getsize(path)):
            assert time.monotonic() < end, "no file"
            rig.ctl(0, "info")
            trace_of(rig)
            time.sleep(0.05)
        hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--answer", "release", show=False)
        hog.expect("holds .* entries")
        get_by_copy(rig, fresh(rig))
        time.sleep(0.5)  # a reaper period, in which uses are counted, and the reader's nap
        hog.end()
        time.sleep(0.2)
    finally:
        code = trace.end()
        trace_of(rig, "--groups", "mr,evict,token,cmd")
    assert code == 0, code
    sys.path.append(DEBIAN)
    import jsonschema
    with open(path, encoding="utf-8") as f:
        said = json.load(f)
    with open(os.path.join(hosts.ROOT, "tests/qemu/trace_event.schema.json"), encoding="utf-8") as f:
        jsonschema.validate(said, json.load(f))
    events = said["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names[0] == "NIC" and names[hog.child.pid] == "unic-hog", names
    assert "unic-copy" in names.values() and {e["pid"] for e in events} <= set(names), names
    times = [e["ts"] for e in events if e["ph"] != "M" and e["pid"] == hog.child.pid]
    assert 0.3e6 < max(times) - min(times) <= (time.monotonic() - began) * 1e6, (min(times), max(times))
    pairs = pairs_of(events)
    of_hog = {cat: sum(b["pid"] == hog.child.pid for (c, _), (b, e) in pairs.items() if c == cat)
              for cat in ("region", "grace", "wait")}
    assert of_hog["region"] > 1 and of_hog["grace"] and sum(c == "wait" for c, _ in pairs), of_hog
    cats = {e["cat"] for e in events if e["ph"] == "i"}
    assert {"frame", "reference", "event"} <= cats, cats
    tracks = {(e["pid"], e["tid"]) for e in events if e["ph"] == "i"}
    assert tracks == {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    sim = subprocess.run([os.path.join(hosts.BIN, "unic-policysim"), "--format", "events", "--entries",
                          "64", path], capture_output=True, text=True, check=True).stdout
    assert sim.startswith(f"{sum(e.get('cat') == 'reference' for e in events)} references, "), sim
    assert "No such file" in ask("unicctl", "--socket", rig.socket(0), "trace", "--perfetto",
                                 rig.path("nothing", "x"), code=1)
    assert "No space left" in ask("unicctl", "--socket", rig.socket(0), "trace", "--perfetto",
                                  "/dev/full", code=EX_IOERR)


def names_of_abi(header, enum, prefix):
    """The names of an enum of abi/, without what they all begin with."""
    with open(os.path.join(hosts.ROOT, "abi", header), encoding="utf-8") as f:
        body = re.search(rf"^enum {enum} \{{(.*?)^\}};", f.read(), re.S | re.M)[1]
    return set(re.findall(rf"^\t{prefix}(\w+)\b", re.sub(r"/\*.*?\*/", "", body, flags=re.S), re.M))


def test_words(rig):
    """Commands, packets, completions and rights have the names of the ABI, in all that is shown; each
    has one."""
    with open(os.path.join(hosts.ROOT, "host_driver/tools/ctl_words.c"), encoding="utf-8") as f:
        words = f.read()
    for header, enum, prefix, macro in (("unic_cmd.h", "unic_cmd_opcode", "UNIC_CMD_", "COMMAND"),
                                        ("unic_wire.h", "unic_bth_opcode", "UNIC_OP_", "PACKET"),
                                        ("unic_queue.h", "unic_wc_opcode", "UNIC_WC_", "DONE"),
                                        ("unic_words.h", "unic_refusal", "UNIC_REFUSED_", "REFUSED")):
        named = set(re.findall(rf"\b{macro}\((\w+)\),", words))
        assert named == names_of_abi(header, enum, prefix), (enum, named ^ names_of_abi(header, enum, prefix))
    with open(os.path.join(hosts.ROOT, "abi/unic_words.h"), encoding="utf-8") as f:
        known = re.findall(r"^#define UNIC_FEAT_(\w+)[\s\\]+\(1ull << (\d+)\)", f.read(), re.M)
    assert re.findall(r"\bFEATURE\((\w+)\),", words) == [name for name, _ in known], known
    info = rig.ctl(0, "info")
    assert set(info["features"]) <= {name for name, _ in known} and "REGISTER_WAIT" in info["features"], info
    assert info["link_up"] is True, info
    trace = Lines("unicctl", "--socket", rig.socket(0), "--json", "trace", "--follow", "--groups", "all")
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "5", show=False)
    try:
        hog.expect("holds 5")
        rights = [m["rights"] for m in rig.ctl(0, "mr") if m["entries"] == 5]
        assert rights == ["local-write,remote-write"], rights
        get_by_copy(rig, fresh(rig))
        for wanted in ("command MR_REG cookie", "x opcode READ_REQUEST qp", "completes opcode READ status success"):
            trace.until(wanted, lambda lines, wanted=wanted: any(wanted in line for line in lines))
    finally:
        trace.end()
        hog.end()
        trace_of(rig, "--groups", "mr,evict,token,cmd")
    commands = [e for e in map(json.loads, trace.lines) if "command MR_REG cookie" in e["text"]]
    assert {e["args"][0] for e in commands} == {16} and all(str(e["args"][1]) in e["text"] for e in commands), commands
    bare = [line for line in trace.lines if re.search(r"(command|opcode) (0x)?\d", line)]
    assert not bare, bare[:5]


def another_nic(rig):
    """The NIC of host 0 dies, and another one takes its place."""
    nic = rig.nics[0].child
    nic.kill()
    nic.wait()
    rig.nics[0] = rig.plug_nic(0, show=False)
    rig.wait_nic(0)


def test_trace_of_a_new_nic(rig):
    """A NIC that is started anew on a bus: the trace has its events alone, and who followed
    the one before it sees them, too."""
    follow = Lines("unicctl", "--socket", rig.socket(0), "--json", "trace", "--follow")
    try:
        follow.until("an event", lambda lines: lines)
        began = time.monotonic_ns()
        another_nic(rig)
        seen = trace_of(rig)
        assert seen[0]["seq"] == 1, seen[0]
        assert all(e.get("host_ns", began + 1) > began for e in seen), (began, seen)
        hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "64", show=False)
        hog.expect("holds 64")
        follow.until("events of the new NIC", lambda lines: any(
            f"pid {hog.child.pid} " in line for line in lines))
        hog.end()
    finally:
        code = follow.end()
    assert code == 0, code
    seen = [json.loads(line) for line in follow.lines]
    times = [e["host_ns"] for e in seen if "host_ns" in e]  # not known in the first moment
    assert times == sorted(times) and seen[-1]["seq"] < len(seen), seen[-1]


def test_references_of_a_new_nic(rig):
    """`unicctl trace --refs` goes on with the uses of a NIC that takes the place of one."""
    refs = Lines("unicctl", "--socket", rig.socket(0), "trace", "--refs")
    try:
        refs.until("the head", lambda lines: lines)
        get_by_copy(rig, fresh(rig))
        refs.until("uses", lambda lines: len(lines) > 1)
        another_nic(rig)
        time.sleep(0.3)  # until it has seen that, and those who are here are gone
        before = len(refs.lines)
        get_by_copy(rig, fresh(rig))
        refs.until("uses of the new NIC", lambda lines: len(lines) > before)
    finally:
        code = refs.end()
    assert code == 0, code
    assert trace_of(rig, "--groups", "mr,evict,token,cmd")


def test_reset_by_hand(rig):
    """`unicctl reset` resets the NIC, and says so in its epoch and in the trace: of no process."""
    before = rig.ctl(0, "info")["epoch"]
    assert rig.ctl(0, "reset")["ok"]
    end = time.monotonic() + hosts.PATIENCE_S
    while not (now := rig.ctl(0, "info"))["nic"] == "ready" or now["epoch"] == before:
        assert time.monotonic() < end, now
        time.sleep(0.02)
    said = subprocess.run([os.path.join(hosts.BIN, "unicctl"), "--socket", rig.socket(0), "trace"],
                          capture_output=True, text=True, check=True).stdout
    assert f"proc -     reset, epoch {now['epoch']}" in said, said


def test_surplus_arguments(rig):
    """A word too many, an unknown command, and an option that a command has no use for are not
    passed over; nor is a word that is missing or wrong."""
    for words in (("ps", "all"), ("info", "0"), ("policy", "0", "1"), ("fault", "drop-rx", "0", "x"),
                  ("nothing",), ("ps", "--weight", "3"), ("trace", "--looks", "2"),
                  ("info", "--perfetto", "x"), ("policy", "0", "--faults", "1"), ("metrics", "--json"),
                  ("top", "--json")):
        said = ask("unicctl", "--socket", rig.socket(0), *words, code=EX_USAGE)
        assert words[0] in said and "--help" in said, (words, said)
    assert "takes no --weight" in ask("unicctl", "ps", "--weight", "3", code=EX_USAGE)
    for words in (("policy",), ("policy", "x", "--weight", "2"), ("policy", "0"), ("params",),
                  ("fault", "now"), ("rate",), ("fault", "drop-rx"), ("trace", "--refs", "--perfetto", "x"),
                  ("trace", "--refs", "--json"), ("trace", "--refs", "--groups", "all"),
                  ("trace", "--perfetto", "x", "--json")):
        assert ask("unicctl", "--socket", rig.socket(0), *words, code=EX_USAGE), words
    assert ask("unicctl", "--socket", rig.socket(0), "policy", "200", "--weight", "2", code=1)


# A word more than a program takes; unic-run and unic-uart have those of the command that they run.
SURPLUS = (("unic-bus", "x"), ("unic-nic", "--bus", "bus", "x"), ("unic-wire", "x"), ("unicd", "x"), ("unic-hog", "x"),
           ("unic-copy", "serve", "x"), ("unic-copy", "get", "file", "x"), ("unic-kio", "state", "x"),
           ("unic-kio", "ls", "10.0.0.1:", "x"), ("unic-kio", "get", "10.0.0.1:file", "file", "x"), ("unic-ping", "serve", "x"),
           ("unic-ping", "10.0.0.1", "x"), ("unic-perf", "serve", "x"), ("unic-policysim", "trace", "x"), ("unicctl", "ps", "x"))


def test_surplus_words(_):
    """Each program refuses a word too many, and does nothing."""
    assert {words[0] for words in SURPLUS} == set(PROGRAMS) - {"unic-run", "unic-uart"}
    for words in SURPLUS:
        said = ask(*words, code=EX_USAGE)
        assert said.startswith(words[0] + ": ") and "--help" in said, (words, said)


# Options that a command has no use for.
IDLE_OPTIONS = (("unic-ping", "serve", "--count", "3"), ("unic-ping", "--write", "serve"), ("unic-ping", "serve", "--json"),
                ("unic-perf", "serve", "--bytes", "64"), ("unic-perf", "serve", "--json"),
                ("unic-perf", "latency", "10.0.0.2", "--depth", "2"), ("unic-perf", "rate", "10.0.0.2", "--histogram"),
                ("unic-perf", "rate", "10.0.0.2", "--quiet"), ("unic-copy", "serve", "--peer", "10.0.0.2"),
                ("unic-copy", "serve", "--mode", "rpc"), ("unic-copy", "get", "x", "--peer", "10.0.0.2", "--name", "y"),
                ("unic-copy", "put", "x", "--peer", "10.0.0.2", "--output", "y"), ("unic-copy", "serve", "--progress"),
                ("unic-copy", "put", "x", "--peer", "10.0.0.2", "--dir", "y"), ("unic-kio", "state", "--data", "rdma"),
                ("unic-kio", "ls", "10.0.0.2:", "--quiet"))


def test_idle_options(_):
    """An option that a command has no use for is refused by its name, not passed over."""
    for words in IDLE_OPTIONS:
        option = [w for w in words if w.startswith("--")][-1]
        said = ask(*words, code=EX_USAGE)
        assert f"takes no {option}" in said, (words, said)


def test_defaults_are_told(_):
    """Each default of --help is told in the same way."""
    told = 0
    for program in PROGRAMS:
        said = subprocess.run([os.path.join(hosts.BIN, program), "--help"], capture_output=True,
                              text=True, check=True).stdout
        shown = " ".join(said.split("--help")[0].split())
        told += shown.count("(default: ")
        odd = re.findall(r"\((?:[\d.,]+[KMG]?|all|write|release|everybody|default)\)|\(\d+[;,]", shown)
        assert not odd, (program, odd)
    assert told > 30, told


def test_one_is_singular(rig):
    """One entry, one region, one byte, one time."""
    hog = rig.start("hog", "unic-hog", "--socket", rig.socket(0), "--max", "1", show=False)
    server = rig.start("perf", "unic-perf", "--socket", rig.socket(1), "serve", show=False)
    try:
        assert "holds 1 entry in 1 region" in hog.expect("holds")
        server.expect("ready")
        assert perf(rig, "latency", hosts.IP[1], "--count", "1", "--bytes", "1").startswith("WRITE of 1 byte, 1 time:\n")
        assert "2 bytes, 2 times, " in perf(rig, "rate", hosts.IP[1], "--count", "2", "--bytes", "2")
    finally:
        hog.end()
        server.end()


def test_progress(rig):
    """A transfer shows one line on a terminal: a bar, bytes, rate, time left, and takes it away;
    nothing into a pipe, unless lines are asked for."""
    large = {"unic-copy": ("--peer", hosts.IP[1], "get", "large", "--output", "/dev/null"),
             "unic-kio": ("get", f"{hosts.IP[1]}:large", "/dev/null")}
    line = (r"get large +\d+ % \[#*\.*\] [\d.]+ of 1024.0 MiB, [\d.]+ MiB/s, \d+:\d\d left")
    for program, words in large.items():
        for columns in (100, 60):
            shown = on_terminal(columns, program, "--socket", rig.socket(0), *words)[0].split("\r")
            bars = [s.removesuffix("\x1b[K") for s in shown if " % [" in s]
            assert len(bars) > 1 and all(len(b) < columns for b in bars), (program, shown)
            last = max(i for i, s in enumerate(shown) if " % [" in s)
            assert shown[last + 1].startswith("\x1b[K"), (program, shown[last:])
            assert columns == 60 or all(re.fullmatch(line, b) for b in bars), (program, bars)
        done = subprocess.run([os.path.join(hosts.BIN, program), "--socket", rig.socket(0), *words],
                              capture_output=True, text=True, check=True)
        said = done.stdout + done.stderr
        assert "%" not in said and said.count("\n") == 1 and "MiB/s" in said, said
    done = subprocess.run([os.path.join(hosts.BIN, "unic-copy"), "--socket", rig.socket(0), "--progress",
                           *large["unic-copy"]], capture_output=True, text=True, check=True)
    assert re.fullmatch(f"(unic-copy: {line}\n)+", done.stderr), done.stderr


def test_words_are_missing(rig):
    """What is missing or wrong on a command line is named, and nothing else is tried."""
    peer = hosts.IP[1]
    for words, wanted in ((("unic-copy", "get", "file"), "--peer"), (("unic-copy", "put", "--peer", peer), "which file"),
                          (("unic-copy", "serve", "x"), "x: too many"), (("unic-kio", "fetch", f"{peer}:f"), "not fetch"),
                          (("unic-kio", "fetch"), "not fetch"), (("unic-kio", "get", f"{peer}:"), "which file"),
                          (("unic-kio", "get", "f"), "HOST:FILE"), (("unic-run", "--net", "a/b", "true"), "--net"),
                          (("unic-run", "--net", "", "true"), "--net"),
                          (("unic-run", "--board", "mps2", "true"), "--board"),
                          (("unic-run", "--board", "virt", "--device", "unic0=/tmp/x", "true"), "not both"),
                          (("unic-run",), "which program")):
        assert wanted in (said := ask(*words, code=EX_USAGE)), (words, said)
    assert "called nobody-here" in ask("unicd", "--kio-user", "nobody-here", code=EX_USAGE)


def test_misuse(rig):
    """What cannot be meant is refused by words that say what is needed; nothing is begun."""
    here, peer = ("--socket", rig.socket(0)), hosts.IP[1]
    one = ("--provider", "loop", "--socket", rig.path("one"))
    for words, wanted in (((*one, "--metrics", rig.path("one")), "--socket and --metrics are two sockets"),
                          ((*one, "--low", "50", "--high", "10"), "as many at least"), ((*one, "x"), "x: too many")):
        assert wanted in (said := ask("unicd", *words, code=EX_USAGE)), said
    for size in ("1T", "abc", "-1", "99999999999999999999"):
        for option, wanted in (("--slot-size", "from 64K to 1G"), ("--bar-size", "from 2M to 256M"), ("--slots", "1 to 24"),
                               ("--guest", "from 1M to 1G")):
            assert f"{option}: " in (said := ask("unic-bus", "--dir", rig.path("bus"), option, size, code=EX_USAGE)), said
            assert wanted in said, said
    for words in (("--loss", "4=1%"), ("--delay-us", "8=5"), ("--nics", "2", "--dup", "3=1%")):
        assert "there is no port " in (said := ask("unic-wire", "--dir", rig.path("w"), *words, code=EX_USAGE)), said
    assert "x: too many" in ask("unic-hog", *here, "x", code=EX_USAGE)
    for words, wanted in ((("--nic", "", "info"), "--nic: which?"), (("policy", "lru"), "policy: lru is no number; that of a process"),
                          (("rate",), "rate: which number? that of a process"), (("fault", "drop-rx", "x"), "how many to lose")):
        assert wanted in (said := ask("unicctl", *here, *words, code=EX_USAGE)), said
    fifo = rig.path("nobody-writes-it")
    os.mkfifo(fifo)
    for file in (rig.tmp, fifo):
        for program, words in (("unic-kio", ("put", file, f"{peer}:")), ("unic-copy", ("--peer", peer, "put", file))):
            assert ask(program, *here, *words, code=1) == f"{program}: {file}: only plain files are sent\n"
    copy = ("unic-copy", *here, "--peer", peer)
    assert ask(*copy, "get", "n" * 40, code=1) == f"unic-copy: {'n' * 40}: names have 39 characters at most\n"
    long = rig.path("n" * 40)
    write(long, b"", 0o600)
    assert ask(*copy, "put", long, code=1).endswith("at most: give another --name\n")
    assert ask(*copy, "get", "folder/", code=1) == "unic-copy: folder/: which file?\n"
    for words in (("get", "../file"), ("put", long, "--name", "folder/file")):
        assert ask(*copy, *words, code=1) == f"unic-copy: {words[-1]}: the other host serves one folder: a name has no /\n"


def test_long_names(rig):
    """A name that the file system takes is taken; a folder whose path no socket can have is not left."""
    long = rig.path("l" * 255)
    get_by_copy(rig, long)
    get_by_kio(rig, long)
    assert os.path.getsize(long) == BYTES and not [n for n in os.listdir(rig.tmp) if ".part" in n]
    assert "File name too long" in get_by_copy(rig, long + "l", code=1)
    for program in ("unic-bus", "unic-wire"):
        assert "too long" in ask(program, "--dir", rig.path("d" * 120), code=1)
        assert not os.path.exists(rig.path("d" * 120)), program


def test_written_at_the_end(_):
    """A file that a program writes when it ends, or when a NIC crashes, is refused at the start if it cannot be written."""
    with tempfile.TemporaryDirectory(prefix="unic-late-") as folder:
        driver = ("unicd", "--provider", "loop", "--socket", folder + "/d", "--crash-file")
        wire = ("unic-wire", "--dir", folder + "/w", "--stats")
        write(folder + "/ids", b"1\n2\n", 0o600)
        policies = ("unic-policysim", "--format", "ids", folder + "/ids", "--entries", "1", "--json")
        for words, code in ((driver, 1), (wire, 1), (policies, EX_IOERR)):
            for path, why in ((folder + "/none/file", "No such file or directory"), (folder, "Is a directory"),
                              (folder + "/none/", "Is a directory"), (folder + "/ids/file", "Not a directory"), ("", "No such")):
                said = ask(*words, path, code=code).splitlines()[0]
                assert said.startswith(f"{words[0]}: {words[-1]} {path}: {why}"), said
                assert said.endswith(": name a file that this user may write, in a folder that is there"), said
        assert os.listdir(folder) == ["ids"]
        for name in ("new", "new"):  # once it is not there, once it is
            ask(*policies, f"{folder}/{name}")


def test_next_steps(rig):
    """Who is refused what a newcomer tries first is told what to do."""
    none = rig.path("none")
    for words, step, code in (
            (("unic-nic", "--bus", none), "start `unic-bus --dir DIR' and name its socket, DIR/nic", 1),
            (("unic-nic", "--bus", rig.path("bus0")), "DIR/nic", 1),
            (("unic-uart", "--bus", none, "true"), "start `unic-bus --dir DIR' and name its socket, DIR/ivshmem", 1),
            (("unic-bus", "--dir", none + "/bus"), "make that first (mkdir -p)", 1),
            (("unic-wire", "--dir", none + "/wire"), "make that first (mkdir -p)", 1),
            (("unicctl", "--socket", none, "info"), "start unicd (unic-run does that for one program)", 1),
            (("unic-kio", "--socket", none, "state"), "start unicd (unic-run does that for one program)", 1),
            (("unicctl", "--socket", rig.socket(0), "policy", "7", "--weight", "2"), "`unicctl ps' has their numbers", 1),
            (("unicctl", "trace", "--groups", "x"), "x: groups are mr, evict, token, qp, wire, cmd, ref; all or none", EX_USAGE),
            (("unic-policysim", "x"), "oracle, csv, ids or events", EX_USAGE)):
        said = ask(*words, code=code)
        assert step in said.splitlines()[0], (words, said)


def test_lonely_driver(rig):
    """A driver to which no NIC comes says so, once, and what would be one; a NIC to which no wire comes, what to start."""
    bus = rig.path("lonely")
    running = start_in_turn([("unic-bus", "--dir", bus), ("unicd", "--bus", bus)], str(hosts.PATIENCE_S))
    try:
        nic = f"unic-nic --bus {bus}/nic"
        assert running[1].stdout.readline() == f"unicd: waits for a NIC at the bus in {bus}: {nic} is one\n"
        time.sleep(2)  # it looks every second
        assert "start `unic-wire --dir DIR'" in ask(*nic.split(), "--wire", rig.path("none"), code=1)
        assert running[1].stdout.readline() == "unicd: NIC joined\n"
    finally:
        for process in reversed(running):
            process.terminate()
            process.communicate()


def test_hangup(_):
    """A daemon whose terminal is gone ends, and leaves no socket."""
    with tempfile.TemporaryDirectory(prefix="unic-order-") as folder:
        for argv in (("unicd", "--provider", "loop", "--socket", folder + "/d"), ("unic-bus", "--dir", folder + "/b"),
                     ("unic-wire", "--dir", folder + "/w")):
            daemon, = start_in_turn([argv], "0")
            assert any("ready" in line for line in daemon.stdout)
            daemon.send_signal(signal.SIGHUP)
            daemon.communicate(timeout=hosts.PATIENCE_S)
            assert not daemon.returncode, argv
        assert not [f for _, _, files in os.walk(folder) for f in files]


def drive_another(path, version):
    """A driver of another version, on a socket: it answers every HELLO with its own."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):  # who is refused need not wait for more
                while asked := peer.recv(8192):
                    op, _, seq, epoch, _ = unicd_client.HDR.unpack_from(asked)
                    status = ST_VERSION if op == unicd_client.HELLO else unicd_client.BAD_OPCODE
                    answer = unicd_client.HDR.pack(op, status, seq, epoch, 0) + struct.pack("<I", version)
                    peer.send(answer.ljust(unicd_client.REC, b"\0"))
    threading.Thread(target=serve, daemon=True).start()
    return listener


def test_another_version(rig):
    """A library beside a newer driver, and beside an older one: both versions are said, and what to do;
    nothing is tried. Programs that attach to nothing say it of the first request that is not known. The
    driver of this release answers a newer library with its version, and may be greeted again."""
    for version in (7, 0):
        path = rig.path(f"version{version}")
        listener = drive_another(path, version)
        try:
            for words in (("unic-hog",), ("unic-ping", hosts.IP[1]), ("unic-copy", "serve"), ("unic-perf", "serve")):
                said = ask(words[0], "--socket", path, *words[1:], code=1)
                assert f"speaks version {version}, this program version 1; take both of one release" in said, said
            for words, wanted in ((("unicctl", "info"), "differ in version"), (("unicctl", "watch"), "differ in version"),
                                  (("unic-kio", "state"), "unic-kio: state here: this unicd is older")):
                assert wanted in (said := ask(words[0], "--socket", path, *words[1:], code=1)), said
        finally:
            listener.close()
    newer = unicd_client.Client(rig.socket(0))
    answer = newer.call(unicd_client.HELLO, struct.pack("<I", 2), want=ST_VERSION)
    assert answer.get("I")[0] == 1 and not answer.fds, answer.get("I")
    newer.hello()
    newer.close()


def test_one_reason(rig):
    """A failure is told in one line, and all programs tell of a driver that is not there in the
    same words."""
    peer = hosts.IP[1]
    nobody = rig.path("nobody")
    for program in (("unicctl", "info"), ("unic-kio", "state"), ("unic-copy", "--peer", peer, "get", "file"),
                    ("unic-ping", peer), ("unic-hog",)):
        said = ask(program[0], "--socket", nobody, *program[1:], code=1)
        assert said.count("\n") == 1 and f"{program[0]}: no driver at {nobody}: No such file" in said, said
    for words, wanted in ((("put", rig.path("nothing")), "nothing: No such file"), (("put", rig.tmp), "only plain files"),
                          (("get", "nothing"), "has no file nothing")):
        said = ask("unic-copy", "--socket", rig.socket(0), "--peer", peer, *words, code=1)
        assert said.count("\n") == 1 and wanted in said, said


def start_in_turn(commands, wait):
    """The commands as processes that wait for others, a tenth of a second apart."""
    running = []
    for argv in commands:
        running.append(subprocess.Popen([os.path.join(hosts.BIN, argv[0]), *argv[1:]], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, "UNIC_WAIT": wait}))
        time.sleep(0.1)
    return running


def test_any_order(_):
    """With UNIC_WAIT whatever is started waits for what it needs and is started later: bus, wire,
    NIC, driver, programs, in any order. Without, it fails at once and says why."""
    with tempfile.TemporaryDirectory(prefix="unic-order-") as folder:
        bus, wire = folder + "/bus", folder + "/wire"
        client = ("--socket", bus + "/unicd.sock")
        nic = ("unic-nic", "--bus", bus + "/nic", "--wire", wire + "/ivshmem")
        parts = (("unic-copy", *client, "--dir", folder, "serve"), ("unicctl", *client, "--json", "info"),
                 ("unic-kio", *client, "state"), ("unicd", "--bus", bus), nic,
                 ("unic-bus", "--dir", bus), ("unic-wire", "--dir", wire))
        for argv in parts[:5]:
            began = time.monotonic()
            assert "No such file" in (said := ask(*argv, code=1)) and time.monotonic() - began < 5, (argv, said)
        for order in (range(7), (3, 0, 5, 4, 6, 2, 1), (4, 6, 3, 1, 2, 5, 0)):
            running = start_in_turn([parts[i] for i in order], str(hosts.PATIENCE_S))
            of = {parts[i][0]: process for i, process in zip(order, running)}
            try:
                for name in ("unic-copy", "unicd", "unic-nic"):
                    assert any("ready" in line for line in of[name].stdout), (order, name)
                assert not of["unicctl"].wait(hosts.PATIENCE_S) and not of["unic-kio"].wait(hosts.PATIENCE_S), order
            finally:
                for process in running:
                    process.terminate()
                    process.communicate()


def blocks_term(pid):
    """The process takes SIGTERM when it likes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        blocked = re.search(r"SigBlk:\s*(\w+)", f.read())[1]
    return int(blocked, 16) >> (signal.SIGTERM - 1) & 1


def test_end_while_waiting(_):
    """Who waits for a bus can be told to end, and ends as one who serves does."""
    with tempfile.TemporaryDirectory(prefix="unic-order-") as folder:
        waiting, = start_in_turn([("unicd", "--bus", folder)], str(hosts.PATIENCE_S))
        while not blocks_term(waiting.pid):
            time.sleep(0.02)
        waiting.terminate()
        assert waiting.communicate(timeout=5)[0] == "" and not waiting.returncode


def test_wrong_wait(rig):
    """UNIC_WAIT is a number of seconds, or the reason why nothing is started."""
    client, bus = ("--socket", rig.socket(0)), rig.path("nobody")
    for argv in (("unic-hog", *client), ("unic-ping", *client, hosts.IP[1]), ("unicctl", *client, "info"),
                 ("unic-kio", *client, "state"), ("unicd", "--bus", bus), ("unic-nic", "--bus", bus),
                 ("unic-uart", "--bus", bus, "--", "true")):
        for text in ("abc", "5s", "-1", "1.5", " 3", "86401", "4294967297", "99999999999999999999"):
            said = ask(*argv, code=1, env={**os.environ, "UNIC_WAIT": text})
            assert said == (f"{argv[0]}: UNIC_WAIT is `{text}': a number of seconds from 0 to 86400 is needed\n"), said
    for text in ("", "0", "007", "86400"):
        ask("unicctl", *client, "info", env={**os.environ, "UNIC_WAIT": text})


def test_help_cut_off(_):
    """`make help | head -1` is no fault: the list ends without words."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        done = subprocess.run([os.path.join(hosts.ROOT, "mk/make_help.py"), os.path.join(hosts.ROOT, "Makefile")],
                              stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    assert not done.stderr and done.returncode == -signal.SIGPIPE, done


def test_unreadable_file(rig):
    """`make demo FILE=` of a file that is not there says so in a line."""
    done = subprocess.run([os.path.join(hosts.ROOT, "tests/qemu/demo.py"), "--board", "soft",
                           "--file", rig.path("nothing")], capture_output=True, text=True,
                          check=False, timeout=hosts.PATIENCE_S)
    said = done.stdout + done.stderr
    assert done.returncode and "Traceback" not in said and "nothing" in said, said


class Rig(hosts.Hosts):
    """Two hosts; host 1 serves a folder to unic-copy and to unic-kio."""

    def __init__(self, tmp):
        super().__init__("soft", None, tmp)
        self.tmp, self.data = tmp, os.urandom(BYTES)
        os.mkdir(self.path("served"))
        write(self.path("src"), b"src", 0o600)
        write(self.path("served", "file"), self.data, 0o644)
        with open(self.path("served", "large"), "wb") as f:
            f.truncate(1 << 30)
        self.start_wire()
        self.start_all("--kio-export", self.path("served"))
        self.start("server", "unic-copy", "serve", "--dir", self.path("served"), "--socket",
                   self.socket(1), show=False).expect("ready")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--only", default="")
    only = p.parse_args().only
    tests = []
    for name, test in globals().items():
        if name.startswith("test_"):
            more = [(get,) for get in GETTERS] if test.__code__.co_argcount == 2 else [()]
            tests += [(f"{name[5:]}{''.join(' ' + g.__name__ for g in args)}",
                       lambda rig, test=test, args=args: test(rig, *args))
                      for args in more]
    with tempfile.TemporaryDirectory(prefix="unic-tools-") as tmp:
        rig = Rig(tmp)
        try:
            return functions.run([t for t in tests if only in t[0]], rig)
        finally:
            rig.end()


if __name__ == "__main__":
    sys.exit(main())
