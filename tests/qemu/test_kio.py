#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The page service between two drivers (unicd --kio-export, unic-kio): two hosts
with a NIC each, files both ways.

    test_kio.py [--board soft|virt] [name ...]
"""
import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback

import hosts

SERVER = hosts.IP[1]
SIZES = (0, 1, 4096, (8 << 20) + 1)


class Rig(hosts.Hosts):
    """Host 1 exports a folder, host 0 asks."""

    def __init__(self, board, tmp, loss="0", drivers=((), ())):
        super().__init__(board, "shm", tmp)
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
        until = time.monotonic() + hosts.START_S
        while self.ctl(host, "info")["nic"] != "ready":
            assert time.monotonic() < until, "the NIC is not ready"
            time.sleep(0.02)

    def kill(self, host):
        self.drivers[host].kill()
        self.drivers[host].wait()

    def argv(self, *args):
        return [f"{hosts.BIN}/unic-kio", "--socket", self.socket(0), *args]

    def kio(self, *args, seconds=60):
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


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def there_and_back(rig, size):
    want = rig.file("f", size, size)
    rig.good("get", f"{SERVER}:f", rig.path("got"))
    assert digest(rig.path("got")) == want, f"{size}: other bytes came"
    rig.good("put", rig.path("got"), f"{SERVER}:back")
    assert digest(os.path.join(rig.folder, "back")) == want, \
        f"{size}: other bytes were written"


# ----------------------------------------------------------------- the tests

def test_sizes(board, tmp):
    rig = Rig(board, tmp)
    try:
        for size in SIZES:
            there_and_back(rig, size)
        rows = {r["name"]: r for r in rig.ctl(0, "ps")["procs"]}
        assert rows["kio"]["held"] == 0, rows
    finally:
        rig.end()


def test_loss(board, tmp):
    rig = Rig(board, tmp, loss="5%")
    try:
        there_and_back(rig, SIZES[-1])
    finally:
        rig.end()


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
        with tempfile.TemporaryDirectory(prefix="unic-kio-") as tmp:
            try:
                test(args.board, tmp)
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
