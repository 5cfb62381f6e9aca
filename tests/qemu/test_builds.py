#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The other builds of the soft NIC (make BOARD=soft image-trace image-profile): one
records all groups of trace events from its start on, the other leaves a profile.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from hosts import BIN, ROOT, Failure, Process, Timeline

sys.path.insert(0, os.path.join(ROOT, "qemu"))
import run_nic  # noqa: E402

PATIENCE_S = 60
ALL_GROUPS = "0x7f"


def image(kind):
    return os.path.join(ROOT, "build", kind, "bin", "unic-nic")


def constants_of(path):
    """The constants of unic_trace_init() of a program; the groups that it records are one."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn",
                           "--disassemble=unic_trace_init", path],
                          capture_output=True, text=True, check=True).stdout
    return re.findall(r"mov\w*\s+\$(0x[0-9a-f]+),", said)


def test_trace():
    usual = constants_of(os.path.join(BIN, "unic-nic"))
    here = constants_of(image("trace"))
    if ALL_GROUPS not in here or ALL_GROUPS in usual:
        raise Failure(f"groups: one of {here}, and of {usual} in the usual build")


def test_profile():
    tmp = tempfile.mkdtemp(prefix="unic-builds-")
    os.environ["GMON_OUT_PREFIX"] = os.path.join(tmp, "gmon")
    running = []

    def start(who, *args):
        running.append(Process(Timeline(), who, list(args), False))
        return running[-1]
    try:
        start("bus", os.path.join(BIN, "unic-bus"), "--dir", tmp).expect(
            "ready", PATIENCE_S)
        command = run_nic.command("soft", tmp)
        nic = start("nic", image("profile"), *command[1:])
        start("unicd", os.path.join(BIN, "unicd"), "--bus", tmp).expect(
            "unicd: ready", PATIENCE_S)
        nic.child.send_signal(signal.SIGTERM)
        nic.child.wait(PATIENCE_S)
        left = [name for name in os.listdir(tmp) if name.startswith("gmon.")]
        if not left:
            raise Failure("no profile was left")
        said = subprocess.run(["gprof", "-b", "-p", image("profile"),
                               os.path.join(tmp, left[0])],
                              capture_output=True, text=True, check=True).stdout
        for name in ("poll_round", "unic_cmd_execute"):
            if not re.search(rf"\b{name}\b", said):
                raise Failure(f"{name}() is not in the profile:\n{said[:800]}")
    finally:
        del os.environ["GMON_OUT_PREFIX"]
        for p in running:
            p.child.terminate()
            p.child.wait()
        shutil.rmtree(tmp, ignore_errors=True)


def main():
    failed = 0
    for test in (test_trace, test_profile):
        try:
            test()
            print(f"ok      {test.__name__}")
        except Failure as why:
            failed += 1
            print(f"FAILED  {test.__name__}: {why}")
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
