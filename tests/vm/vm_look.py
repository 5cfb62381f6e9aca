#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the Linux module shows: sysfs, debugfs, tracepoints, its parameters. Each
value is compared with what the tools say of the same, or with what was done.

    vm_look.py [--board soft|virt] [--only NAME]
"""
import os
import re
import subprocess
import sys

import pair
import vm_check
from hosts import IP, ROOT
from vm_check import hog, must

SYS = "/sys/class/unic/unic0"
DEBUG = "/sys/kernel/debug/unic/unic0"
TRACING = "/sys/kernel/tracing"
PCI = "/sys/bus/pci"


def attr(c, name):
    return c.guest.run(f"cat {SYS}/{name}").strip()


def table(c, name):
    """Rows of a table as dictionaries."""
    head, *rows = c.guest.run(f"cat {DEBUG}/{name}").splitlines()
    return [dict(zip(head.split("\t"), row.split("\t"), strict=True))
            for row in rows]


def holder(c, entries, *args):
    h = hog(c, "--max", str(entries), *args)
    h.expect(f"holds {entries} entries")
    return h


# ---------------------------------------------------------------- the tests

def test_load(c):
    """The module loads with its parameters."""
    c.load("grace_us=30000 low=64 high=128")
    c.guest.run(f"test -e {TRACING}/trace || "
                f"mount -t tracefs none {TRACING}")


def test_values(c):
    """sysfs says what unicctl says."""
    info = c.ctl(0, "info")
    same = {"state": "nic", "ip": "ipv4", "firmware": "build",
            "epoch": "epoch", "entries": "tlb_entries", "slots": "slots",
            "slots_used": "slots_used", "resets": "resets"}
    for ours, theirs in same.items():
        must(attr(c, ours) == str(info[theirs]),
             f"{ours}: {attr(c, ours)}, and unicctl says {info[theirs]}")
    must(attr(c, "ip") == IP[0], "another address")
    must(int(attr(c, "bound_us")) > info["grace_us"] == 30000, "not that T")
    before = int(attr(c, "pinned_pages"))
    h = holder(c, 256)
    must(int(attr(c, "pinned_pages")) - before >= 256, "pins are not counted")
    must(attr(c, "slots_used") == "1", "it has no slot")
    h.kill()
    h.wait()
    c.guest.wait_for(f"grep -qx {before} {SYS}/pinned_pages")


def test_rights(c):
    """Only root resets the NIC, reads tables or sets the parameters."""
    for path in (f"{SYS}/reset", f"{DEBUG}/procs"):
        mode = c.guest.run(f"stat -c %A {path}").strip()
        must(mode[4:] == "------", f"{path}: {mode}")
    mode = c.guest.run("stat -c %A /sys/module/unic/parameters/*")
    must(not re.search("^.....w|^........w", mode, re.M), mode)
    must(c.guest.ask(f"echo 2 >{SYS}/reset")[0], "2 is no reset")


def test_tables(c):
    """debugfs has the tables of unicctl, all of their rows."""
    h = holder(c, 256)
    proc, = table(c, "procs")
    must(proc["name"] == "unic-hog" and int(proc["pinned"]) >= 256, str(proc))
    share, = table(c, "shares")
    must(share["held"] == "256" and share["host_pid"] == proc["pid"],
         str(share))
    regions = table(c, "regions")
    must(sum(int(r["entries"]) for r in regions) == 256, str(regions))
    must({r["stag"] for r in regions} ==
         {r["stag"] for r in c.ctl(0, "mr")}, "other regions")
    entries = table(c, "tlb")
    must([int(r["index"]) for r in entries] ==
         [r["entry"] for r in c.ctl(0, "tlb")], "other entries")
    must(len(entries) == 256, f"{len(entries)} entries")
    for name in ("tokens", "queues", "completions", "waits"):
        must(table(c, name) == [], f"{name}: not empty")
    code, text = c.guest.ask(f"cat {DEBUG}/crash")
    must(code and "No data" in text, f"a crash? {text}")
    h.kill()
    h.wait()


def test_counters(c):
    """debugfs has all counters by name, and they count."""
    def read():
        return {k: int(v) for k, v in
                (line.split() for line in
                 c.guest.run(f"cat {DEBUG}/counters").splitlines())}

    first = read()
    must(set(c.ctl(0, "stats")["nic"]) <= set(first), "counters are missing")
    for _ in range(3):
        table(c, "tlb")
    must(read()["driver_commands"] >= first["driver_commands"] + 3,
         "commands are not counted")


def traced(c, events, command):
    """The lines that @events leave while @command runs."""
    for event in events:
        c.guest.run(f"echo 1 >{TRACING}/events/unic/unic_{event}/enable")
    c.guest.run(f"echo >{TRACING}/trace")
    command()
    lines = c.guest.run(f"cat {TRACING}/trace").splitlines()
    c.guest.run(f"echo 0 >{TRACING}/events/unic/enable")
    found = {event: [] for event in events}
    for line in lines:
        m = re.search(r": unic_(\w+): (unic0.*)", line)
        if m:
            found[m[1]].append(m[2])
    return found


def test_trace_request(c):
    """A registration, from the request to its reply, and its pins."""
    def run():
        h = holder(c, 64)
        h.kill()
        h.wait()
        c.nothing_pinned()

    got = traced(c, ("request", "reply", "pin", "unpin", "ring"), run)
    asked = {m[0]: m[1] for m in
             (re.search(r"(pid=\d+ op=MR_REG seq=\d+)( bytes=64)", line).groups()
              for line in got["request"] if "op=MR_REG" in line)}
    must(asked, "no MR_REG")
    for one in asked:
        must(any(line.startswith(f"unic0 {one} status=0")
                 for line in got["reply"]), f"{one}: no reply")

    def pages(lines):
        return sum(int(re.search(r"counted=(\d+)", line)[1]) for line in lines)

    must(pages(got["pin"]) >= 64, "it pins nothing")
    must(pages(got["pin"]) == pages(got["unpin"]), "pinned is not unpinned")
    must(got["ring"], "the NIC was not rung")


def test_trace_upcalls(c):
    """The table is full: notices are seen, by name. Who would answer a question for
    idle regions leaves no need for a notice."""
    entries = c.ctl(0, "info")["tlb_entries"]

    def run():
        held = [holder(c, entries // 2, "--answer=ignore") for _ in (0, 1)]
        third = hog(c, "--max", str(entries // 2))
        third.expect("holds")
        for h in (*held, third):
            h.kill()
            h.wait()

    got = traced(c, ("upcall", "rang"), run)
    must(any("type=NOTICE" in line for line in got["upcall"]), "no notice")
    must(got["rang"], "the NIC never interrupts")


def test_trace_reset(c):
    """A reset is a request, and what becomes of the NIC is seen."""
    def run():
        c.guest.run(f"echo 1 >{SYS}/reset")
        c.guest.wait_for(f"grep -q STARTING {TRACING}/trace && "
                         f"grep -q READY {TRACING}/trace")

    got = traced(c, ("request", "nic"), run)
    must(any("op=RESET" in line for line in got["request"]), "no request")
    must(got["nic"][-1] == "unic0 READY", str(got["nic"]))


def test_removed(c):
    """The device goes and comes while everything is read over and over."""
    reader = ("while :; do cat {0}/* 2>/dev/null; done >/dev/null "
              "& echo $! >>/tmp/readers")
    function = os.path.basename(
        c.guest.run(f"readlink {SYS}/device").strip())
    for where in (SYS, DEBUG, DEBUG):
        c.guest.run(reader.format(where))
    try:
        for _ in range(3):
            c.guest.run(f"echo 1 >{PCI}/devices/{function}/remove", 30)
            must(c.guest.ask(f"test -e {DEBUG}")[0], "tables are left")
            c.guest.run(f"echo 1 >{PCI}/rescan", 30)
            c.guest.wait_for(f"grep -q ready {SYS}/state")
    finally:
        c.guest.run("kill $(cat /tmp/readers); rm /tmp/readers")
    must(table(c, "procs") == [], "somebody is there")


def test_no_nic(c):
    """The NIC ends: what needs it fails with an error, the rest goes on."""
    c.nics[0].end()
    c.guest.wait_for(f"grep -q absent {SYS}/state")
    must(attr(c, "ip") == "0.0.0.0" and attr(c, "entries") == "0",
         "something is left of it")
    code, text = c.guest.ask(f"cat {DEBUG}/tlb")
    must(code and "No such device" in text, text)
    must(table(c, "procs") == [], "somebody is there")
    c.nics[0] = c.plug_nic(0, show=False)
    c.guest.wait_for(f"grep -q ready {SYS}/state")
    must(table(c, "tlb") == [], "the table is not empty")


def modinfo(field, name):
    return subprocess.run(
        ["/sbin/modinfo", "-F", field,
         pair.built(pair.MODULES, f"{name}.ko")],
        check=True, capture_output=True, text=True).stdout.strip()


def test_modinfo(_):
    """Every parameter is described, and in docs/LINUX.md."""
    with open(os.path.join(ROOT, "docs", "LINUX.md"), encoding="utf-8") as f:
        text = f.read()
    for name in ("unic", "unicblk"):
        for field in ("description", "license", "version"):
            must(modinfo(field, name), f"{name} has no {field}")
        for line in modinfo("parm", name).splitlines():
            parm, what = line.split(":", 1)
            must(not re.fullmatch(r"\s*\(\w+\)", what), f"{parm}: no text")
            must(f"`{parm}`" in text or re.search(rf"`{parm}[`,=]", text),
                 f"{parm} is not in LINUX.md")


if __name__ == "__main__":
    sys.exit(vm_check.main(__doc__, vm_check.tests_of(globals())))
