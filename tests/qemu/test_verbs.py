#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs of the distribution that use libibverbs and librdmacm, unchanged, on NICs of unic: by unic-run
between two hosts, over one NIC, and on a net that unic-run makes.

    test_verbs.py [--board soft|virt] [--only WORD] [--long]

--long: perftest, too. With a board that is not soft, what needs no soft NIC.
"""
import argparse
import glob
import itertools
import json
import os
import pwd
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import hosts
import functions
import stops
import unicd_client

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))

import rdma_core  # noqa: E402

RUN = os.path.join(hosts.BIN, "unic-run")
CALLS = os.path.join(hosts.BIN, "verbs-calls")
DATA = os.path.join(hosts.BIN, "verbs-data")
# What verbs-data says that it tries, and what the library says then.
REFUSED = (
    ("text", r"not readable and writable data \(\S+ r-xp \S+/verbs-data\)"),
    ("constant", r"not readable and writable data \(\S+ r--p \S+/verbs-data\)"),
    ("libc", r"data of a library that moves it \(\S+ rw-p \S+/libc\.so\.6\)"),
    ("loader", r"data of a library that moves it \(\S+ rw-p \S+\)"),
    ("shim", r"data of a library that moves it \(\S+ rw-p \S+/libunic-shim\.so\)"),
    ("provider", r"data of a library that moves it \(\S+ rw-p \S+/libunic-rdmav34\.so\)"),
    ("stack", r"a stack \(\S+ rw-p \[stack\]\)"),
    ("shared", r"a shared mapping \(\S+ rw-s \S+.*\)"))
LISTEN_S = 30
READY_S = 20  # READY_MS of run_child.c
RDMA_CORE = 106  # of its tests, which run
UD = 2  # enum unic_qp_type
ADDRESS = 0x0a000001  # of host 0
# Whoever polls spins, and so do the other side and two NICs.
FEW = ("-n", "20")
PERFTEST = (
    "ib_send_bw -n 200", "ib_send_bw -n 200 -e", "ib_send_bw -n 200 -b",
    "ib_send_bw --use-srq -n 200", "ib_send_bw --use-srq -q 4 -n 100",
    "ib_send_bw -c UC -n 200", "ib_send_bw -c UD -s 1024 -n 200",
    "ib_write_bw -n 200", "ib_write_bw -n 5 -a", "ib_write_bw -q 8 -n 100",
    "ib_read_bw -n 200", "ib_send_lat -n 50 -e", "ib_write_lat -n 20",
    "ib_read_lat -n 50", "ib_atomic_bw -n 200", "ib_atomic_bw -n 200 -A CMP_AND_SWAP -o 16",
    "ib_atomic_lat -n 50")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def command_lines():
    """Of all processes."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                yield f.read()
        except OSError:
            pass  # it ended


def run_args(where, *command):
    """@where: a driver's socket, or the name of a net, and the board behind a colon."""
    if "/" in where:
        return [RUN, "--device", f"unic0={where}", *command]
    net, _, board = where.partition(":")
    return [RUN, "--net", net, *(["--board", board] if board else []), *command]


def output(where, *command, code=0, user=None):
    r = subprocess.run(run_args(where, *command), capture_output=True, text=True,
                       timeout=hosts.PATIENCE_S, user=user, check=False)
    assert r.returncode == code, (command, r.returncode, r.stdout, r.stderr)
    return r.stdout + r.stderr


def wait_listener(port, server):
    """Until somebody listens at @port, as /proc has it: a connection would be taken for
    the client's."""
    until = time.monotonic() + LISTEN_S
    mark = f":{port:04X} 00000000:0000 0A"
    while time.monotonic() < until:
        with open("/proc/net/tcp", encoding="ascii") as f:
            if mark in f.read():
                return
        with open("/proc/net/tcp6", encoding="ascii") as f:
            if re.search(rf":{port:04X} 0{{32}}:0000 0A", f.read()):
                return
        assert server.poll() is None, server.communicate()[0]
        time.sleep(0.02)
    raise hosts.Failure(f"nobody listens at port {port}")


def pair(server, client, *command, user=None):
    """Run @command at both ends; returns what they said."""
    port = free_port()
    line = (*command, "-p", str(port))
    first = subprocess.Popen(run_args(server, *line), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, user=user)
    try:
        wait_listener(port, first)
        second = output(client, *line, "localhost", user=user)
        said = first.communicate(timeout=hosts.PATIENCE_S)[0]
        assert not first.returncode, (command, first.returncode, said)
        return said, second
    finally:
        if first.poll() is None:
            first.terminate()
            first.wait()


def listens(rig, asker, host, service):
    """True if a program of @host listens at @service of rdma_cm: it refuses a SIDR_REQ
    without a header of annex A11, where nobody does says that there is no service."""
    with unicd_client.Client(rig.socket(asker)) as c:
        c.hello()
        conn = c.call(unicd_client.CM_CONNECT, struct.pack(
            "<QI16xIB15x", service, ADDRESS + host, 5000000, UD)).get("I")[0]
        state = 1
        while state == 1:  # CONNECTING
            time.sleep(0.02)
            reply = c.obj(unicd_client.CM_QUERY, conn)
            state, reason = reply.get("I", 20)[0], reply.get("I", 36)[0]
        c.obj(unicd_client.CM_FREE, conn)
        assert state == 7, state  # REJECTED
        return reason == 2


def port_of(line):
    """The service id at which server @line listens."""
    port = re.search(r"-p (\d+)", line)
    usual = {"rping": 7174, "ucmatose": 7471, "udaddy": 7174, "rdma_server": 7471}
    name = line.split()[0]
    space = 0x0111 if name == "udaddy" else 0x0106
    return space << 16 | (int(port[1]) if port else usual.get(name, 18515))


def wait_cm_listener(rig, server, line, ends):
    until = time.monotonic() + LISTEN_S
    while not listens(rig, ends[1], ends[0], port_of(line)):
        assert server.poll() is None, (line, server.communicate()[0])
        assert time.monotonic() < until, f"nobody listens: {line}"
        time.sleep(0.05)


def cm_pair(rig, server, client, ends=(0, 1)):
    """Run @server on host ends[0] and @client on the other, by rdma_cm; returns what they
    said."""
    first = subprocess.Popen(run_args(rig.socket(ends[0]), *server.split()),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_cm_listener(rig, first, server, ends)
        second = output(rig.socket(ends[1]), *client.split())
        said = first.communicate(timeout=hosts.PATIENCE_S)[0]
        assert not first.returncode, (server, first.returncode, said)
        return said, second
    finally:
        if first.poll() is None:
            first.kill()
            first.wait()


def nothing_left(rig):
    """No object of a process is left on a host."""
    for host in range(2):
        until = time.monotonic() + hosts.PATIENCE_S
        while rig.ctl(host, "qp") or rig.ctl(host, "mr"):
            assert time.monotonic() < until, f"objects stay on host {host}"
            time.sleep(0.1)


# ------------------------------------------------------------------------ tests


def test_devices(rig):
    text = output(rig.socket(0), "ibv_devices")
    assert "unic0" in text and "02756efffe000001" in text, text
    text = output(rig.socket(1), "ibv_devinfo", "-v")
    for words in ("PORT_ACTIVE", "::ffff:10.0.0.2, RoCE v2", "Ethernet",
                  "ATOMIC_HCA", r"max_srq:\s+64", r"max_srq_wr:\s+4096"):
        assert re.search(words, text), (words, text)
    both = subprocess.run(
        [RUN, "-v", "-d", f"left={rig.socket(0)}", "-d",
         f"right={rig.socket(1)},unic0", "ibv_devices"], capture_output=True,
        text=True, timeout=hosts.PATIENCE_S, check=True)
    assert "left" in both.stdout and "right" in both.stdout, both
    assert "right: 10.0.0.2" in both.stderr, both


def test_calls(rig):
    assert "verbs-calls: ok" in output(rig.socket(0), CALLS)
    os.environ["IBV_FORK_SAFE"] = "1"  # as after ibv_fork_init()
    try:
        assert "verbs-calls: ok" in output(rig.socket(0), CALLS)
    finally:
        del os.environ["IBV_FORK_SAFE"]
    assert not rig.ctl(0, "qp") and not rig.ctl(0, "mr"), "objects stay"


def test_data(rig):
    """Data of a program, and what cannot be moved, with its line."""
    def run(*command):
        text = output(rig.socket(0), *command)
        assert "verbs-data: ok" in text and "verbs-data: child 19" in text, text
        return text
    text = run(DATA)
    for name, why in REFUSED:
        said = rf"verbs-data: {name}\nlibunic: ibv_reg_mr: memory at 0x\w+ cannot be moved into the slot: it is {why}; "
        assert re.search(said, text), (said, text)
    assert text.count("libunic:") == len(REFUSED), text
    run("setarch", "-R", DATA, "adjacent")
    os.environ["IBV_FORK_SAFE"] = "1"  # as after ibv_fork_init()
    try:
        run(DATA)
    finally:
        del os.environ["IBV_FORK_SAFE"]
    assert not rig.ctl(0, "qp") and not rig.ctl(0, "mr"), "objects stay"
    for said in cm_pair(rig, "rdma_server", "rdma_client -s 10.0.0.1"):
        assert "end 0" in said, said
    nothing_left(rig)


def test_heap(rig):
    """Memory of the heap that was registered, given back to the kernel, and is to be zeroes: with the C library's malloc(),
    and with one that asks the kernel for them."""
    other, = glob.glob("/usr/lib/*/libjemalloc.so.2")
    run = 'export LD_PRELOAD="$LD_PRELOAD $0" MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0; exec "$@"'
    for heap in ("", other):
        assert "verbs-data: heaps ok" in output(rig.socket(0), "sh", "-c", run, heap, DATA, "heap")
    nothing_left(rig)


def pingpong(rig, ends):
    for kind, ways in (("rc", ((), ("-e",), ("-c",))), ("uc", (("-e", "-c"),)),
                       ("ud", (("-e", "-c"),)), ("srq", ((), ("-e",)))):
        for flags in ways:
            said = pair(rig.socket(ends[0]), rig.socket(ends[1]),
                        f"ibv_{kind}_pingpong", "-g", "0", *FEW, *flags)
            for text in said:
                assert "20 iters" in text and "invalid data" not in text, text


def test_pingpong_one_nic(rig):
    pingpong(rig, (0, 0))


def test_pingpong_two_hosts(rig):
    before = rig.ctl(0, "stats")
    pingpong(rig, (0, 1))
    assert rig.ctl(0, "stats") != before


def test_cm(rig):
    """rdma_cm: RC and UD between two hosts, RC over one NIC."""
    for ends, ip in (((0, 1), "10.0.0.1"), ((1, 1), "10.0.0.2")):
        said = cm_pair(rig, "rping -s -a 0.0.0.0 -C 5 -v -V",
                       f"rping -c -a {ip} -C 5 -v -V", ends)
        for text in said:
            assert "rdma-ping-4: " in text, said
    for text in cm_pair(rig, "udaddy -c 2 -C 5", "udaddy -c 2 -C 5 -s 10.0.0.1"):
        assert "data transfers complete" in text and "return status 0" in text, text
    text = subprocess.run(run_args(rig.socket(1), "rping", "-c", "-a", "10.0.0.1",
                                   "-p", "9"), capture_output=True, text=True,
                          timeout=hosts.PATIENCE_S, check=False)
    assert text.returncode and "REJECTED, error 8" in text.stdout + text.stderr, text
    nothing_left(rig)


def expect_no_wire(net):
    until = time.monotonic() + hosts.PATIENCE_S
    while any(f"/nets/{net}/" in line for line in command_lines()):
        assert time.monotonic() < until, "the wire of a net that nobody uses stays"
        time.sleep(0.1)


def remove_net(net, user=os.getuid()):
    """The folder of a net may go at any time: the wire ends with the last run on it."""
    shutil.rmtree(f"/tmp/unic-run-{user}/nets/{net}")
    expect_no_wire(net)


def test_net(_):
    """Nothing runs before, and nothing after; for somebody without rights."""
    user = None if os.getuid() else pwd.getpwnam("nobody").pw_uid
    net = f"test{os.getpid()}"
    first, second = pair(net, net, "ibv_rc_pingpong", "-g", "0", *FEW, "-e",
                         user=user)
    addresses = set(re.findall(r"local address:.*GID ::ffff:(\S+)",
                               first + second))
    assert addresses == {"10.0.0.1", "10.0.0.2"}, (first, second)
    expect_no_wire(net)
    # its locks are left
    remove_net(net, os.getuid() if user is None else user)


def test_net_virt(_):
    """A host whose NIC is in QEMU, and one whose NIC is a process, on one net."""
    net = f"virt{os.getpid()}"
    for said in pair(f"{net}:virt", net, "ibv_rc_pingpong", "-g", "0", *FEW):
        assert "iters in" in said, said
    remove_net(net)
    r = subprocess.run([RUN, "--net", net, "--board", "virt", "true"], capture_output=True, text=True,
                       env={**os.environ, "PATH": "/nowhere"}, check=False)
    assert r.returncode == 1 and r.stderr == "unic-run: qemu-system-arm does not start; it said: cannot start " \
        "qemu-system-arm: No such file or directory\n", r
    remove_net(net)


def run_beside(qemu, net):
    """What unic-run says where the script @qemu is the program qemu-system-arm."""
    with tempfile.TemporaryDirectory(prefix="unic-qemu-") as folder:
        path = f"{folder}/qemu-system-arm"
        with open(path, "w", encoding="utf-8") as f:
            f.write(qemu)
        os.chmod(path, 0o755)
        r = subprocess.run([RUN, "--net", net, "--board", "virt", "true"], capture_output=True, text=True,
                           env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, check=False)
    assert r.returncode == 1 and not r.stdout, r
    remove_net(net)
    return r.stderr


def test_nic_ends(_):
    """A QEMU that ends at once is named, with what it said; nobody waits for the driver, which waits for a NIC."""
    begun = time.monotonic()
    said = run_beside("#!/bin/sh\necho no such machine >&2\nexit 1\n", f"ends{os.getpid()}")
    assert said == "unic-run: qemu-system-arm ended; it said: no such machine\n", said
    assert time.monotonic() - begun < READY_S, "unic-run waited for the driver"


# Stands where unic-run looks for QEMU: notes what it is told, and what run_nic.py would tell it.
WITNESS = """#!/usr/bin/env python3
import json, os, re, sys
sys.path.insert(0, {qemu!r})
import run_nic
os.environ["PATH"] = {path!r}
bus, wire = (os.path.dirname(p) for p in re.findall(r"socket,id=(?:bus|link),path=([^ ]*)", " ".join(sys.argv)))
image = sys.argv[sys.argv.index("-kernel") + 1]
with open({out!r}, "w") as f:
    json.dump([sys.argv[1:], run_nic.command("virt", bus, wire, image=image)[1:]], f)
print("noted", file=sys.stderr)
"""


def test_one_machine(rig):
    """unic-run starts QEMU by the words that qemu/run_nic.py has for board virt, in their order."""
    out = rig.path("words.json")
    said = run_beside(WITNESS.format(qemu=f"{hosts.ROOT}/qemu", path=os.environ["PATH"], out=out),
                      f"words{os.getpid()}")
    assert said.endswith("it said: noted\n"), said
    with open(out, encoding="utf-8") as f:
        ours, theirs = json.load(f)
    assert ours == theirs, [(a, b) for a, b in itertools.zip_longest(ours, theirs) if a != b]


def test_status(rig):
    where = rig.socket(0)
    output(where, "sh", "-c", "exit 37", code=37)
    output(where, "sh", "-c", "kill -9 $$", code=137)
    assert output(where, "no-such-program", code=127).count("\n") == 1
    text = output("/nowhere/unicd.sock", "true", code=1)
    assert text.count("\n") == 1 and "/nowhere/unicd.sock" in text, text
    # the environment is the program's alone, and it is whole
    text = output(where, "sh", "-c", "echo $IBV_DRIVERS $LD_PRELOAD $SYSFS_PATH")
    assert "libunic-shim.so" in text and "/sys" in text, text
    tree = text.split()[-1]
    assert not os.path.exists(tree), f"{tree} stays"


def test_lost(rig):
    """The driver is killed under a program that waits; it comes back for the next one."""
    calls = hosts.Process(rig.line, "calls", run_args(rig.socket(1), CALLS, "lost"),
                          show=False)
    try:
        calls.expect("verbs-calls: waits")
        driver = next(p for p in rig.running if p.who == "unicd 1")
        driver.child.kill()
        driver.child.wait()
        calls.expect("verbs-calls: ok")
        calls.finish(hosts.PATIENCE_S)
    finally:
        calls.end()
    rig.start_driver(1)
    rig.wait_nic(1)
    assert "verbs-calls: ok" in output(rig.socket(1), CALLS)


def test_rdma_core(_):
    """The tests that rdma-core has for any device; those that are skipped are known."""
    with tempfile.TemporaryDirectory(prefix="unic-pyverbs-") as folder:
        passed, _, bad = rdma_core.judge(rdma_core.suite(folder))
    assert not bad and passed >= RDMA_CORE, (passed, bad)


def test_perftest(rig):
    for line in PERFTEST:
        pair(rig.socket(0), rig.socket(0), *line.split(), "-x", "0", "-F")
        print(f"        {line}", flush=True)


TESTS = [test_devices, test_status, test_calls, test_data, test_heap, test_net, test_net_virt, test_nic_ends, test_one_machine,
         test_pingpong_one_nic, test_pingpong_two_hosts, test_cm, test_rdma_core, test_lost]


SOFT = (test_net, test_net_virt, test_nic_ends, test_one_machine, test_rdma_core, test_perftest)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    ap.add_argument("--only", default="")
    ap.add_argument("--long", action="store_true")
    opt = ap.parse_args()
    tests = [t for t in TESTS + [test_perftest] * opt.long
             if opt.only in t.__name__ and
             (opt.board == "soft" or t not in SOFT)]
    with tempfile.TemporaryDirectory(prefix="unic-verbs-") as tmp:
        rig = hosts.Hosts(opt.board, None, tmp)
        if opt.board == "soft":
            # perftest -a registers 16 MiB at a time
            rig.bus_options = lambda _: ["--slot-size", "256M"]
        try:
            rig.start_wire()
            rig.start_all()
            return functions.run([(t.__name__[5:], lambda t=t: stops.step(t, rig))
                                  for t in tests])
        finally:
            rig.end()


if __name__ == "__main__":
    sys.exit(main())
