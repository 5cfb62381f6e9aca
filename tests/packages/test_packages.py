#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The Debian packages: built from what git has of this tree, judged by lintian, installed
in a clean system (mmdebstrap, from this machine's own sources of packages), used there by
an ordinary user, and purged. Needs root.

    test_packages.py [--keep] [--debs FOLDER]

--debs: packages that were built already. --keep: leave the folder of the system.
"""
import argparse
import glob
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "runner"))
import functions  # noqa: E402
PACKAGES = ("libunic0", "libunic-dev", "unic-tools", "unic-firmware", "unic-dkms")
SUITE = "bookworm"
# What a program of a user is built with, and what DKMS builds for.
BESIDE = ("gcc", "libc6-dev", "pkg-config", "man-db", "bash-completion", "ibverbs-utils",
          "linux-headers-amd64", "kmod")
# What installing anything leaves, whoever is purged.
ANYBODY = ("/var/lib/apt/", "/var/lib/dpkg/", "/var/cache/", "/var/log/", "/etc/passwd",
           "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid",
           "/run/", "/tmp/", "/proc/", "/boot/", "/etc/ld.so.cache", "/var/lib/systemd/",
           "/var/lib/dkms/", "/lib/modules/", "/usr/lib/modules/")


def run(*argv, seconds=1800, **more):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=seconds,
                          **more)
    assert done.returncode == 0, \
        f"{' '.join(argv)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def say(text):
    print(f"{time.monotonic() - START:7.1f} s  {text}", flush=True)


START = time.monotonic()


def build(folder, name="unic", **other):
    """The packages of the files that git knows, as they are in the tree. other: what is different
    in the environment."""
    source = f"{folder}/{name}"
    os.makedirs(source)
    names = run("git", "-C", ROOT, "ls-files", "-z")
    tar = subprocess.run(["tar", "-C", ROOT, "-c", "--null", "-T", "-"], input=names.encode(),
                         stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-C", source, "-x"], input=tar.stdout, check=True)
    run("dpkg-buildpackage", "-us", "-uc", "-j2", cwd=source,
        env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | other)


def sources():
    """The files that say where this machine has its packages from."""
    return [f for f in ["/etc/apt/sources.list",
                        *sorted(glob.glob("/etc/apt/sources.list.d/*.list")),
                        *sorted(glob.glob("/etc/apt/sources.list.d/*.sources"))]
            if os.path.exists(f) and os.path.getsize(f)]


def settings():
    """How this machine judges the dates of its sources."""
    said = run("apt-config", "dump", "Acquire")
    return [f"--aptopt={line}" for line in said.splitlines()
            if line.startswith(("Acquire::Check-Valid-Until ", "Acquire::Check-Date "))]


class System:
    """A clean Debian with the packages beside it."""

    def __init__(self, folder, debs):
        self.root = folder + "/system"
        run("mmdebstrap", "--variant=minbase", "--mode=root", "--skip=cleanup/apt/lists",
            f"--include={','.join(BESIDE)}", *settings(), SUITE, self.root, *sources())
        shutil.copy("/etc/resolv.conf", self.root + "/etc/resolv.conf")
        os.makedirs(self.root + "/debs")
        for deb in debs:
            shutil.copy(deb, self.root + "/debs")
        run("mount", "-t", "proc", "proc", self.root + "/proc")
        self.files_before = self.files()

    def do(self, *argv, user=None):
        return run("chroot", *([f"--userspec={user}"] if user else []), self.root, "env", "-i",
                   "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C",
                   "DEBIAN_FRONTEND=noninteractive", *argv)

    def files(self):
        found = set()
        for where, folders, names in os.walk(self.root):
            inside = where[len(self.root):] + "/"
            folders[:] = [d for d in folders
                          if not any((inside + d + "/").startswith(a) for a in ANYBODY)]
            found |= {inside + n for n in names + folders
                      if not any((inside + n).startswith(a) for a in ANYBODY)}
        return found

    def end(self, keep):
        subprocess.run(["umount", self.root + "/proc"], check=False)
        if not keep:
            shutil.rmtree(self.root)


def test_names(_, debs):
    """The five packages, and what debuggers need of them."""
    names = {os.path.basename(d).split("_")[0] for d in debs}
    assert {n for n in names if not n.endswith("-dbgsym")} == set(PACKAGES), names


def test_reproducible(_, debs):
    """Built again in another folder, at another time, in another zone and language, each package is
    the same, byte by byte."""
    with tempfile.TemporaryDirectory(prefix="unic-again-") as folder:
        os.umask(0o27)
        try:
            build(folder + "/elsewhere", "unic-by-another-name", TZ="Asia/Kathmandu", LC_ALL="C.UTF-8",
                  CCACHE_DISABLE="1", USER="another", HOME=folder)
        finally:
            os.umask(0o22)
        again = {os.path.basename(d): contents(d) for d in glob.glob(folder + "/elsewhere/*.deb")}
    first = {os.path.basename(d): contents(d) for d in debs}
    assert first.keys() == again.keys(), first.keys() ^ again.keys()
    differ = {deb: sorted(n for n in first[deb].keys() | again[deb].keys()
                          if first[deb].get(n) != again[deb].get(n)) for deb in first}
    assert not any(differ.values()), {deb: names for deb, names in differ.items() if names}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def contents(deb):
    """{what: digest or attributes} of a package: it as a whole, and each file of its two archives."""
    with open(deb, "rb") as f:
        found = {"the whole": digest(f.read())}
    for kind, option in (("data", "--fsys-tarfile"), ("control", "--ctrl-tarfile")):
        tar = subprocess.run(["dpkg-deb", option, deb], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for m in archive:
                found[f"{kind} {m.name}"] = (m.mode, m.uid, m.gid, m.mtime, m.linkname,
                                             digest(archive.extractfile(m).read()) if m.isreg() else "")
    return found


def test_lintian(_, debs):
    """lintian finds nothing, and each override has a reason."""
    changes = glob.glob(os.path.dirname(debs[0]) + "/*.changes")
    said = run("lintian", "--allow-root", "--fail-on", "none", *changes)
    assert not said.strip(), said
    for path in glob.glob(ROOT + "/debian/*lintian-overrides"):
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        for before, line in zip(["", *lines], lines):
            assert line.startswith("#") or before.startswith("#"), f"{path}: {line}: why?"


def test_install(it, _):
    """apt-get installs all of them; the module is built for the kernel whose headers are
    there."""
    it.do("sh", "-c", "apt-get install -y --no-install-recommends /debs/*.deb")
    said = it.do("dpkg-query", "-W", "-f", "${Package} ${Status}\\n", *PACKAGES)
    assert said.count("install ok installed") == len(PACKAGES), said
    said = it.do("dkms", "status")
    assert said.startswith("unic/") and ": installed" in said, said
    version = it.do("unicctl", "--version").split()[1]
    assert f"unic/{version}," in said, (said, version)


def test_program(it, _):
    """A program of a user is built by pkg-config and nothing else, and runs."""
    shutil.copy(ROOT + "/tests/install/program.c", it.root + "/tmp/program.c")
    it.do("sh", "-c", "cd /tmp && cc -o program program.c $(pkg-config --cflags --libs unic)")
    said = it.do("ldd", "/tmp/program")
    assert "libunic.so.0 => /" in said, said


TWO_HOSTS = """
set -eu
cd $(mktemp -d)
await() { i=0; until [ -e $1 ]; do i=$((i + 1)); [ $i -lt 200 ] || { echo no $1; exit 1; }; sleep .1; done; }
trap 'kill $(jobs -p) 2> /dev/null' EXIT
unic-wire --dir $PWD/wire > wire.log 2>&1 &
await wire/wire.json
for n in 1 2; do
    unic-bus --dir $PWD/host$n > bus$n.log 2>&1 &
    await host$n/bus.json
    unic-nic --bus $PWD/host$n/nic --wire $PWD/wire/ivshmem > nic$n.log 2>&1 &
    unicd --bus $PWD/host$n --ip 10.0.0.$n > unicd$n.log 2>&1 &
    await host$n/unicd.sock
    until grep -q ready unicd$n.log; do sleep .1; done
done
mkdir served
head -c 3000000 /dev/urandom > file
unic-copy --socket $PWD/host2/unicd.sock --dir served serve > serve.log 2>&1 &
until grep -q ready serve.log; do sleep .1; done
unic-copy --socket $PWD/host1/unicd.sock --peer 10.0.0.2 --quiet put file
cmp file served/file
/tmp/program $PWD/host1/unicd.sock
unicctl --socket $PWD/host1/unicd.sock info | grep -q 10.0.0.1
unic-run ibv_devices | grep -q unic0
"""


def test_use(it, _):
    """An ordinary user moves a file between two hosts; libibverbs finds a device."""
    said = it.do("bash", "-c", TWO_HOSTS, user="nobody:nogroup")
    assert "table of" in said, said


def test_help(it, _):
    """man finds a program, a function and the overview; bash completes."""
    for words in (("1", "unicd"), ("5", "unic.conf"), ("3", "unic_reg_mr"), ("3", "unic_bm_put"), ("7", "unic")):
        assert words[1] in it.do("man", *words).replace("\b", ""), words
    said = it.do("bash", "-c", ". /usr/share/bash-completion/bash_completion; _completion_loader "
                 "unicctl; complete -p unicctl")
    assert "_unic " in said, said


def test_dissector(it, _):
    """The dissector lies where this machine's tshark, of the same release, looks for those of all users."""
    said = run("tshark", "-G", "folders")
    where = re.search(r"^Global Lua Plugins:\s+(\S+)$", said, re.M)[1]
    assert os.path.exists(f"{it.root}{where}/unic.lua"), where


def test_images(it, _):
    """The images of the boards are there, as ELF of an Arm or as flash."""
    names = sorted(os.listdir(it.root + "/usr/share/unic/images"))
    assert names == ["unic-ek-tm4c1294xl.bin", "unic-lm3s6965evb.bin", "unic-mps2-an385.elf",
                     "unic-virt.elf"], names
    said = run("readelf", "-h", it.root + "/usr/share/unic/images/unic-virt.elf")
    assert "Machine:                           ARM" in said, said


def test_purge(it, _):
    """Nothing of them is left, neither files nor modules."""
    it.do("apt-get", "purge", "-y", *PACKAGES)
    it.do("apt-get", "autoremove", "-y", "--purge")
    left = {f for f in it.files() - it.files_before if "unic" in f}
    assert not left, left
    assert not glob.glob(it.root + "/lib/modules/*/updates/dkms/unic*")
    assert not os.path.exists(it.root + "/var/lib/dkms/unic")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--keep", action="store_true")
    p.add_argument("--debs")
    args = p.parse_args()
    if os.geteuid():
        sys.exit("test_packages: a clean system is made by root; sudo make package-test")
    folder = tempfile.mkdtemp(prefix="unic-packages-")
    os.chmod(folder, 0o755)
    system = None
    try:
        if not args.debs:
            say("the packages are built: five minutes of a processor")
            build(folder)
        debs = sorted(glob.glob((args.debs or folder) + "/*.deb"))
        say("a clean system is made: 200 MB to fetch, a few minutes")
        system = System(folder, debs)
        return functions.run(functions.of_module(globals()), system, debs)
    finally:
        if system:
            system.end(args.keep)
        if not args.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
