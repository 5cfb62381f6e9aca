#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Transmit limits in real time, to 2 %: of a queue pair and of a process by libunic, of
a process by unicctl (tests/qemu/rates.c).

    test_rates.py [--board soft|virt]
"""
import argparse
import subprocess
import sys
import tempfile

import hosts


def expect(client, line):
    got = client.stdout.readline().strip()
    if got != line:
        raise hosts.Failure(f"{got or client.stderr.read().strip()}: not {line}")


def limit(rig, client, rate, *options):
    """Process 0 has the limit @rate, and sends that. What unicctl said of it."""
    told = rig.ctl(0, "rate", "0", "--rate", str(rate), *options)
    if told["rate"] != rate:
        raise hosts.Failure(f"unicctl rate says {told}")
    client.stdin.write(f"{rate}\n")
    client.stdin.flush()
    expect(client, "rate")
    return told


def talk(rig, client):
    expect(client, "own")
    limit(rig, client, 5000000, "--burst", "1M")
    limit(rig, client, 12000000, "--burst", "3M")
    told = rig.ctl(0, "rate", "0")
    if told["burst"] != 3000000 or not told["held"]:
        raise hosts.Failure(f"unicctl rate says {told}")
    told = limit(rig, client, 0)
    held = rig.ctl(0, "rate", "0")["held"]
    if held != told["held"]:
        raise hosts.Failure(f"waited {held - told['held']} times without a limit")
    client.stdin.close()
    expect(client, "rates: ok")


def run(board):
    with tempfile.TemporaryDirectory(prefix="unic-rates-") as tmp:
        rig = hosts.Hosts(board, None, tmp)
        try:
            rig.start_wire("--direct")
            rig.start_nic(0, show=False)
            rig.start_driver(0)
            rig.wait_nic(0)
            with subprocess.Popen([f"{hosts.BIN}/rates", rig.socket(0)], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as client:
                try:
                    talk(rig, client)
                finally:
                    client.kill()
        finally:
            rig.end()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--board", default="soft")
    board = ap.parse_args().board
    try:
        run(board)
    except hosts.Failure as e:
        print(f"rates on {board}: {e}\n0 passed, 1 failed")
        return 1
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
