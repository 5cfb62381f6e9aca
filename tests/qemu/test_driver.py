#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""examples/driver.c, compiled by the command that examples/README.md prints: a
driver that uses abi/ alone, over a bus and a soft NIC. Without a bus or a NIC
it says what is missing."""
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import hosts
import stops

ROOT = hosts.run_nic.ROOT
SAYS = (r"bus: attached, waits for a NIC", r"nic: reset, \d+ entries",
        r"NOP: done", r"PROC_ATTACH: done", r"PD_ALLOC: done", r"MR_REG: done",
        r"DUMP: done", r"region: STag 0x[0-9a-f]+00, IOVA 0x700000")


def compile_it():
    with open(f"{ROOT}/examples/README.md", encoding="utf-8") as f:
        command = re.search(r"^    (cc .*driver.*)$", f.read(), re.M)[1]
    subprocess.run([*command.split(), "-Wall", "-Wextra", "-Werror"],
                   cwd=ROOT, check=True)


def start(rig):
    return rig.start("driver", "driver", rig.path("bus0"))


def finish(driver):
    driver.finish(hosts.PATIENCE_S)
    for pattern, line in zip(SAYS, driver.lines, strict=True):
        if not re.fullmatch(pattern, line):
            raise hosts.Failure(f"driver said '{line}', not '{pattern}'")


def refused(rig, why):
    driver = start(rig)
    driver.expect(why)
    if not driver.child.wait(timeout=hosts.PATIENCE_S):
        raise hosts.Failure("exit 0 of a driver that could not begin")


def beside_another(rig):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.connect(rig.path("bus0", "attach"))
        other.recv(32)
        refused(rig, "bus: has a driver; end that one first")


def play(rig):
    refused(rig, r"bus0/attach: does unic-bus run there\?: No such file")
    rig.start_bus(0)
    beside_another(rig)
    early = start(rig)
    time.sleep(0.3)
    if early.child.poll() is not None:
        raise hosts.Failure("driver did not wait for a NIC")
    nic = rig.plug_nic(0, show=False)
    finish(early)
    finish(start(rig))  # the first run left nothing behind
    nic.child.send_signal(signal.SIGSTOP)
    refused(rig, "nic: no answer in 3 s")


def run():
    with tempfile.TemporaryDirectory(prefix="unic-driver-") as tmp:
        rig = hosts.Hosts("soft", "none", tmp, n=1)
        try:
            play(rig)
        finally:
            rig.end()


def main():
    compile_it()
    failed = 0
    try:
        stops.step(run)
    except hosts.Failure as e:
        failed = 1
        print(f"FAILED: {e}")
    print(f"{1 - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
