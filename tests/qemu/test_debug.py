#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""tools/debug/unic_gdb.py against a NIC in QEMU that a greedy program fills: gdb
sees the regions and entries that unicctl says there are.

    test_debug.py [--board lm3s6965evb|mps2-an385|virt]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from hosts import BIN, ROOT, Failure, Process, Timeline

sys.path.insert(0, os.path.join(ROOT, "qemu"))
import run_nic  # noqa: E402

GDB = "gdb-multiarch"
PATIENCE_S = 60
HELD = 24  # entries


class Rig:
    """A NIC, its driver, a program that hoards, and QEMU's gdbstub."""

    def __init__(self, board, tmp):
        self.board, self.tmp = board, tmp
        self.running = []
        self.stub = os.path.join(tmp, "gdb")
        self.start("bus", os.path.join(BIN, "unic-bus"), "--dir", tmp,
                   *run_nic.bus_options(board)).expect("ready", PATIENCE_S)
        self.start("nic", *run_nic.command(
            board, tmp, more=["-chardev", f"socket,id=gdb,path={self.stub},"
                              "server=on,wait=off", "-gdb", "chardev:gdb"]))
        self.start("unicd", os.path.join(BIN, "unicd"), "--bus", tmp,
                   *self.driver_options()).expect("unicd: ready", PATIENCE_S)

    def driver_options(self):
        path = run_nic.uart(self.tmp)
        until = time.monotonic() + PATIENCE_S
        while self.board == "lm3s6965evb" and not os.path.exists(path) and \
                time.monotonic() < until:
            time.sleep(0.05)
        return run_nic.driver_options(self.board, self.tmp)

    def start(self, who, *args, **how):
        p = Process(Timeline(), who, list(args), False, **how)
        self.running.append(p)
        return p

    def hoard(self):
        self.start("hog", os.path.join(BIN, "unic-hog"), "--socket",
                   os.path.join(self.tmp, "unicd.sock"), "--max", str(HELD),
                   "--chunk", "8").expect("holds", PATIENCE_S)

    def gdb(self, *commands):
        args = [GDB, "-q", "-batch", "-ex",
                f"source {os.path.join(ROOT, 'tools/debug/unic_gdb.py')}",
                "-ex", f"target remote {self.stub}"]
        for c in commands:
            args += ["-ex", c]
        done = subprocess.run(
            args + ["-ex", "detach",
                    os.path.join(ROOT, run_nic.IMAGES[self.board])],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        return done.stdout + done.stderr

    def debug(self, *commands):
        """As gdb(), but started like `make debug AT=`."""
        args = [os.path.join(ROOT, "tools", "debug", "debug.py"),
                "--board", self.board,
                "--at", self.stub, "--", "-batch"]
        for c in (*commands, "detach"):
            args += ["-ex", c]
        done = subprocess.run(args, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        return done.stdout + done.stderr

    def script(self, commands):
        """What makes gdb carry out @commands, of several lines."""
        path = os.path.join(self.tmp, "commands")
        with open(path, "w", encoding="utf-8") as f:
            f.write(commands)
        return f"source {path}"

    def end(self):
        for p in reversed(self.running):
            p.end()


def need(pattern, text):
    found = re.search(pattern, text, re.M)
    if not found:
        raise Failure(f"no {pattern!r} in what gdb said:\n{text}")
    return found


# As one would print each of them.
PRINT_REGIONS = ("python\nmr = gdb.parse_and_eval('$nic().mrs.mr')\n"
                 "for i in range(mr.type.range()[1] + 1):\n"
                 "    gdb.execute(f'print $nic().mrs.mr[{i}]')\nend")


# The first of each other table that is in use; by names that the script has not.
PRINT_OTHERS = ("python\n"
                "for part, used in (('qps.qp', 'used'), ('cqs.cq', 'used'), ('tokens.token', 'lock'), ('tlb.entry', 'bus')):\n"
                "    all_of = gdb.parse_and_eval(f'$nic().{part}')\n"
                "    at = next(i for i in range(all_of.type.range()[1] + 1) if all_of[i][used])\n"
                "    gdb.execute(f'print $nic().{part}[{at}]')\nend")


def check(rig):
    rig.hoard()
    # at once: a NIC that gdb stops for long is reset by its driver
    text = rig.gdb("unic", "unic regions", "unic tlb", "unic qps",
                   "unic tokens", "unic nonsense", rig.script(PRINT_REGIONS),
                   "set language asm", "unic")  # as in start.S
    need(r"^nic READY epoch \d+(.|\n)*^nic READY epoch \d+", text)
    need(r"^qps: 0 in use", text)
    need(r"^tokens: 0 in use", text)
    need(r"^unic \[tlb\|regions\|tokens\|qps\|cqs\]", text)
    rows = re.findall(r"^ *(\d+) region (\w+) stag 0x\w+ process (\d+) .* "
                      r"entries (\d+)/(\d+) ", text, re.M)
    hoard = [r for r in rows if r[4] == "8"]
    if len(hoard) != HELD // 8 or any(r[3] != r[4] for r in hoard):
        raise Failure(f"{HELD // 8} regions of 8 entries were wanted:\n{text}")
    entries = re.findall(r"^ *\d+ entry region (\d+) tag", text, re.M)
    for row in rows:
        if entries.count(row[0]) != int(row[3]):
            raise Failure(f"region {row[0]} has not {row[3]} entries:\n{text}")
    need(rf"^\${int(hoard[0][0]) + 1} = region ACTIVE stag 0x.* rights LOCAL_WRITE\|REMOTE_WRITE entries 8/8 ", text)
    # in a function that has another variable `nic`, of a NIC that may be starting again
    text = rig.gdb("rbreak ^unic_nic_poll", "continue", "unic")  # the linker may add to its name
    need(r"^nic [A-Z]+ epoch \d+", text)
    if rig.board != "virt":  # without a wire it has no link, and no path MTU
        queues(rig)


def queues(rig):
    """Queue pairs that are connected with each other, and tokens."""
    rig.start("holder", os.path.join(BIN, "memory"),
              os.path.join(rig.tmp, "unicd.sock"), "hold",
              stdin=subprocess.PIPE).expect("held", PATIENCE_S)
    text = rig.debug("unic qps", "unic tokens", "unic cqs", rig.script(PRINT_OTHERS))
    need(r"^qps: 2 in use", text)
    rows = re.findall(r"^ *\d+ qp (0x\w+) RTS process \d+ pd \d+ to "
                      r"[\d.]+/(0x\w+) cq \d+/\d+ dmas 0 cqes 0", text, re.M)
    if len(rows) != 2 or rows[0] != rows[1][::-1]:
        raise Failure(f"two queue pairs, of each other, were wanted:\n{text}")
    need(r"^tokens: 2 in use", text)
    for length in ("0x40", "0x80"):
        need(r"^ *\d+ token LIVE process \d+ region \d+ pd \d+ iova 0x\w+\+" +
             length + r" placed 0 ", text)
    cqs = re.findall(r"^ *\d+ cq process \d+ pd \d+ region \d+ entries \d+ written 0 read 0 .*armed users (\d) error none",
                     text, re.M)
    if sum(map(int, cqs)) != 4:  # two directions of two queue pairs
        raise Failure(f"completion queues of two queue pairs were wanted:\n{text}")
    for kind in ("qp 0x", "cq process", "token LIVE", "entry region"):
        need(rf"^\$\d+ = {kind}", text)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", default="lm3s6965evb")
    o = p.parse_args()
    if not shutil.which(GDB):
        print(f"skipped: 1 test: {GDB} is not installed; apt-get install {GDB}"
              "\n0 passed, 0 failed")
        return 0
    tmp = tempfile.mkdtemp(prefix="unic-gdb-")
    rig = None
    try:
        rig = Rig(o.board, tmp)
        check(rig)
        print(f"ok {o.board}\n1 passed, 0 failed")
        return 0
    except (Failure, run_nic.Problem) as e:
        print(f"FAIL {o.board}: {e}\n0 passed, 1 failed")
        return 1
    finally:
        if rig:
            rig.end()
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
