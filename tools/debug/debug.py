#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""gdb on a NIC, with what it holds in words (tools/debug/unic_gdb.py).

    debug.py --board BOARD [--at HOST:PORT | --probe [--search DIR]] [--image FILE]
             [-- GDB ARGUMENTS]

Without --at or --probe a NIC is started in QEMU, with a bus of its own, and waits
at its reset. --at: a QEMU that runs already, started with `-- -gdb tcp::1234` at the
end of qemu/run_nic.py. --probe: the board itself, by OpenOCD and
boards/BOARD/openocd.cfg, which looks for its scripts in DIR first.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "qemu"))
import run_nic  # noqa: E402

GDB = "gdb-multiarch"


def gdb(target, image, more):
    """The command line."""
    return [GDB, "-q", "-ex", "set confirm off", "-ex",
            "set tcp auto-retry on", "-ex",
            f"source {os.path.join(ROOT, 'tools/debug/unic_gdb.py')}",
            "-ex", f"target {target}", *more, image]


def own_nic(board, image, more):
    """A bus, and QEMU on it; of another session, for Ctrl-C is gdb's."""
    folder = tempfile.mkdtemp(prefix="unic-debug-")
    stub = os.path.join(folder, "gdb")
    running = []

    def start(args, **how):
        running.append(subprocess.Popen(args, start_new_session=True,
                                        stdin=subprocess.DEVNULL, **how))
        return running[-1]

    try:
        start([os.path.join(run_nic.BIN, "unic-bus"), "--dir", folder,
               *run_nic.bus_options(board)],
              stdout=subprocess.PIPE).stdout.readline()  # it is ready
        start(run_nic.command(
            board, folder, image=image, console=os.path.join(folder, "console"),
            more=["-S", "-gdb", "chardev:gdb", "-chardev",
                  f"socket,id=gdb,path={stub},server=on,wait=off"]))
        while not os.path.exists(stub):
            if running[-1].poll() is not None:
                raise run_nic.Problem("QEMU did not start, see above")
            time.sleep(0.05)
        print(f"debug: for a driver: build/bin/unicd --bus {folder} " +
              " ".join(run_nic.driver_options(board, folder)), flush=True)
        return subprocess.call(gdb(f"remote {stub}", image, more))
    finally:
        for p in reversed(running):
            p.terminate()
            p.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main(argv):
    more = []
    if "--" in argv:
        at = argv.index("--")
        argv, more = argv[:at], argv[at + 1:]
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", required=True)
    p.add_argument("--at", metavar="HOST:PORT")
    p.add_argument("--probe", action="store_true")
    p.add_argument("--search", metavar="DIR")
    p.add_argument("--image", metavar="FILE")
    o = p.parse_args(argv)
    image = o.image or os.path.join(ROOT, f"build/{o.board}/unic.elf")
    if not shutil.which(GDB):
        sys.exit(f"debug.py: {GDB} is not installed; apt-get install {GDB}")
    if not os.path.exists(image):
        sys.exit(f"debug.py: {image} is missing; make BOARD={o.board} image")
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is gdb's
    try:
        if o.at:
            return subprocess.call(gdb(f"remote {o.at}", image, more))
        if o.probe:
            config = os.path.join(ROOT, "boards", o.board, "openocd.cfg")
            search = f"-s {o.search} " if o.search else ""
            return subprocess.call(gdb(
                f'extended-remote | openocd {search}-f {config} -c "gdb_port pipe; '
                'log_output /dev/null; init; halt"', image, more))
        if o.board not in run_nic.BOARDS or o.board == "soft":
            sys.exit(f"debug.py: QEMU has no {o.board}: --probe or --at")
        return own_nic(o.board, image, more)
    except run_nic.Problem as e:
        sys.exit(f"debug.py: {e}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
