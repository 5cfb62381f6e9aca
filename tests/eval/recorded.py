#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Traces of real runs: what programs used of a NIC's table, use by use.

    recorded.py [RUN ...]    records the runs (all) into tests/eval/traces

Each run is of programs of this tree on two hosts with soft NICs, of which one is a
recorder (recorder.h). RUN.csv.gz has its references, index.json the commands and the
version of the tree. Times are those of the machine that ran it: another recording has
other times, and another order where processes run side by side.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TRACES = os.path.join(HERE, "traces")
INDEX = os.path.join(TRACES, "index.json")
PLAIN = os.path.join(ROOT, "build", "bin")
BIN = os.path.join(ROOT, "build", "record", "bin")
MOST = 30000  # references that are kept of a run, the first
MIB = 1 << 20


def index():
    """{run: {"commands", "references", "version", ...}}"""
    if not os.path.exists(INDEX):
        return {}
    with open(INDEX, encoding="utf-8") as f:
        return json.load(f)


def unpack(run, folder):
    """Writes the trace of @run as unic-policysim reads it; returns its path."""
    path = os.path.join(folder, f"run_{run}.csv")
    with gzip.open(os.path.join(TRACES, f"{run}.csv.gz"), "rb") as file, \
            open(path, "wb") as out:
        shutil.copyfileobj(file, out)
    return path


# ------------------------------------------------------------------ recording

def prepare():
    """The programs of build/bin, with the recorder in the place of the soft NIC."""
    for name in os.listdir(PLAIN):
        link = os.path.join(BIN, name)
        if name != "unic-nic" and not os.path.lexists(link):
            os.symlink(os.path.join(PLAIN, name), link)


class Run:
    """Two hosts. Each command is kept once, without the folder of the run."""

    def __init__(self, tmp):
        import hosts
        self.at = hosts.Hosts("soft", None, tmp)
        self.commands = []
        self.at.start_wire()

    def drivers(self, *second):
        """Starts the NICs, and the drivers, that of host 1 with more options."""
        if second:
            self.commands.append("unicd " + " ".join(second).replace(self.at.tmp + "/", ""))
        for host, more in ((0, ()), (1, second)):
            self.at.start_nic(host, show=False)
            self.at.start_driver(host, *more)
        for host in (0, 1):
            self.at.wait_nic(host)

    def start(self, program, *args):
        shown = [a.replace(self.at.tmp + "/", "") for a in args]
        said = " ".join([program, *shown])
        if said not in self.commands:
            self.commands.append(said)
        return self.at.start(program, program, *args, show=False)

    def call(self, program, *args):
        self.start(program, *args).finish(120)

    def file(self, name, size):
        with open(self.at.path(name), "wb") as f:
            f.write(os.urandom(size))
        return self.at.path(name)


def copy(run):
    """Files there and back, by RDMA and by calls, one after the other."""
    run.drivers()
    os.mkdir(run.at.path("served"))
    run.start("unic-copy", "serve", "--dir", run.at.path("served"),
              "--socket", run.at.socket(1)).expect("ready")
    for i in range(4):
        mode = ("rdma", "rpc")[i % 2]
        how = ("--peer", "10.0.0.2", "--mode", mode, "--socket", run.at.socket(0))
        run.call("unic-copy", "put", run.file(f"file{i}", 4 * MIB), *how)
        run.call("unic-copy", "get", f"file{i}", "--output", run.at.path("back"), *how)


def kio(run):
    """Files to a driver's export, and from it, three clients at a time."""
    os.mkdir(run.at.path("export"))
    run.drivers("--kio-export", run.at.path("export"), "--kio-writable")
    files = [run.file(f"file{i}", 4 * MIB) for i in range(3)]
    how = ("--quiet", "--data=rdma", "--socket", run.at.socket(0))
    for _ in range(3):
        for file in files:
            run.call("unic-kio", *how, "put", file, "10.0.0.2:")
        for c in [run.start("unic-kio", *how, "get", f"10.0.0.2:file{i}",
                            run.at.path(f"got{i}")) for i in range(3)]:
            c.finish(120)


def polite(run):
    """The example, four times side by side."""
    import time
    run.drivers()
    for pages in ("16", "64", "100", "200"):
        run.start("polite", run.at.socket(0), pages)
    time.sleep(20)


def demo(tmp):
    """The whole story; both NICs record."""
    done = subprocess.run(
        [sys.executable, os.path.join(ROOT, "tests", "qemu", "demo.py"), "--board", "soft"],
        capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"demo: {done.stdout[-500:]}{done.stderr[-500:]}")
    return ["make demo BOARD=soft"]


RUNS = {"copy": copy, "kio": kio, "polite": polite, "demo": demo}


def record(name, tmp):
    """Returns the commands of the run, which have left references in @tmp."""
    os.environ["UNIC_RECORD"] = os.path.join(tmp, "references")
    if name == "demo":
        return demo(tmp)
    run = Run(tmp)
    try:
        RUNS[name](run)
        return run.commands
    finally:
        run.at.end()


def keep(name, tmp, commands):
    """The references of the NIC that was used most."""
    import version
    files = [os.path.join(tmp, f) for f in os.listdir(tmp) if f.startswith("references.")]
    all_lines = max(([*open(f, encoding="ascii")] for f in files), key=len)
    lines = all_lines[:MOST]
    start = int(lines[0].split(",")[0])
    with gzip.GzipFile(os.path.join(TRACES, f"{name}.csv.gz"), "wb", 9, mtime=0) as out:
        out.write(b"time,key,size,process,importance\n")
        for line in lines:
            at, rest = line.split(",", 1)
            out.write(f"{int(at) - start},{rest}".encode("ascii"))
    known = index()
    known[name] = {"commands": commands, "references": len(lines),
                   "of": len(all_lines), "version": version.version()}
    with open(INDEX, "w", encoding="utf-8") as f:
        json.dump(known, f, indent=1, sort_keys=True)
        f.write("\n")
    print(f"{name}: {len(lines)} references of {len(all_lines)}", flush=True)


def main():
    if {"-h", "--help"} & set(sys.argv) or set(sys.argv[1:]) - set(RUNS):
        sys.exit(f"{__doc__}\nruns: {', '.join(RUNS)}")
    prepare()
    os.environ["UNIC_BIN"] = BIN
    sys.path[:0] = [os.path.join(ROOT, "tests", "qemu"),
                    os.path.join(ROOT, "tools", "figures")]
    os.makedirs(TRACES, exist_ok=True)
    for name in sys.argv[1:] or RUNS:
        with tempfile.TemporaryDirectory(prefix="unic-recorded-") as tmp:
            keep(name, tmp, record(name, tmp))


if __name__ == "__main__":
    sys.exit(main())
