#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The services, started by a systemd that is the first process of a guest, from what `make
install` leaves: each says that it is ready, runs as the user `unic`, comes back after a kill, and
is found by programs that name nothing.

    vm_systemd.py [--only WORDS]
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", d) for d in ("qemu", "runner", "install")]
import functions  # noqa: E402
import guest as machine  # noqa: E402
import test_install as installed  # noqa: E402
from initramfs import libraries  # noqa: E402

AT = installed.PREFIX
UNITS, SYSUSERS, TMPFILES = "/lib/systemd/system/", "/lib/sysusers.d/unic.conf", "/lib/tmpfiles.d/unic.conf"
# What a systemd wants to come up to basic.target, and to keep a journal.
TARGETS = ("basic.target", "sysinit.target", "sockets.target", "timers.target", "paths.target",
           "slices.target", "shutdown.target", "umount.target", "final.target", "local-fs.target",
           "systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket")
PROGRAMS = ("systemctl", "systemd-sysusers", "systemd-tmpfiles", "journalctl")
DAEMONS = ("/lib/systemd/systemd", "/lib/systemd/systemd-journald", "/lib/systemd/systemd-executor")
HOST = ("unic-wire@lan", "unic-bus@default", "unic-nic@default", "unicd@default")
# What the guest runs of all that is installed: each byte of its root is copied by an emulated processor.
USED = ("unic-bus", "unic-hog", "unic-nic", "unic-wire", "unicctl", "unicd")
START_S = 120


class Services:
    """What `make install` leaves of programs and services."""

    def __init__(self, tmp):
        installed.install(tmp + "/dest", "install-programs", "install-services")
        self.at = f"{tmp}/dest{AT}"

    def files(self):
        """(here, there) of all that the guest has besides its programs."""
        daemons = [d for d in DAEMONS if os.path.exists(d)]
        ours = [f"{self.at}/bin/{name}" for name in USED]
        for program in ours:  # most of it is for debuggers
            subprocess.run(["strip", program], check=True)
        pairs = [(path, path) for path in (*(UNITS + name for name in TARGETS), *daemons)]
        pairs += [(path, AT + path[len(self.at):]) for path in
                  (*ours, self.at + SYSUSERS, self.at + TMPFILES)]
        pairs += [(path, "/etc/systemd/system/" + os.path.basename(path))
                  for path in glob.glob(self.at + UNITS + "*")]
        return pairs + [(library, library) for program in (*daemons, *ours) for library in libraries(program)]


class Host:
    """The guest, with the services installed."""

    def __init__(self, it, tmp):
        os.makedirs(tmp + "/etc")
        for name, words in (("passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"),
                            ("group", "root:x:0:\nnogroup:x:65534:\n"), ("machine-id", "a" * 32 + "\n"),
                            ("nsswitch.conf", "passwd: files\ngroup: files\n")):
            with open(f"{tmp}/etc/{name}", "w", encoding="utf-8") as f:
                f.write(words)
        etc = [(f"{tmp}/etc/{name}", f"/etc/{name}") for name in os.listdir(tmp + "/etc")]
        self.guest = machine.Guest(tmp, programs=PROGRAMS, files=it.files() + etc,
                                   command_line="unic.systemd systemd.unit=basic.target")
        self.run = self.guest.run
        self.guest.wait_for("systemctl is-active basic.target", START_S)
        self.run("systemctl start systemd-journald.socket systemd-journald", START_S)
        self.run(f"systemd-sysusers {AT}{SYSUSERS} && systemd-tmpfiles --create {AT}{TMPFILES}", START_S)

    def of(self, name, *units):
        """What systemd says of the units, each."""
        return self.run(f"systemctl show -P {name} {' '.join(units)}").split()

    def comes_back(self, unit):
        before, = self.of("MainPID", unit)
        self.run(f"kill -9 {before}")
        self.guest.wait_for(f"set -- $(systemctl show -p MainPID,ActiveState {unit} | sort); "
                            f"[ $1 = ActiveState=active ] && [ $2 != MainPID={before} ]", START_S)

    def ctl(self, *words):
        return json.loads(self.run(f"{AT}/bin/unicctl --json {' '.join(words)}"))


def test_one_start(host):
    """`systemctl start` of the driver starts bus, NIC and wire, and ends when it is ready; each has
    said so itself, and nothing runs as root."""
    host.run("systemctl start unicd@default", START_S)
    assert host.of("ActiveState", *HOST) == ["active"] * 4 and host.of("Type", *HOST) == ["notify"] * 4
    pids = host.of("MainPID", *HOST)
    users = host.run("stat -c %U " + " ".join(f"/proc/{pid}" for pid in pids)).split()
    assert users == ["unic"] * 4 and host.of("NRestarts", *HOST) == ["0"] * 4, users


def test_found(host):
    """Programs that name no socket find it, also those of an ordinary user."""
    host.guest.wait_for(f"{AT}/bin/unicctl --json info | grep -q '\"nic\": *\"ready\"'", START_S)
    info = host.ctl("info")
    assert info["ipv4"] == "10.0.0.1" and info["link_up"], info
    hog = machine.Task(host.guest, ["su", "nobody", "-c", f"UNIC_WAIT=30 exec {AT}/bin/unic-hog --max 16"])
    hog.expect("holds 16 entries", START_S)
    hog.end()


def test_comes_back(host):
    """A NIC and a driver that are killed come back by themselves."""
    for unit in ("unic-nic@default", "unicd@default"):
        host.comes_back(unit)
        host.guest.wait_for(f"{AT}/bin/unicctl --json info | grep -q '\"nic\": *\"ready\"'", START_S)


def test_options(host):
    """Options of /etc/unic count; wrong ones are said in the journal, with exit status 64."""
    host.run("mkdir -p /etc/unic && echo 'OPTIONS=--ip 10.0.0.7' > /etc/unic/default-unicd.conf")
    host.run("systemctl restart unicd@default", START_S)
    host.guest.wait_for(f"{AT}/bin/unicctl --json info | grep -q 10.0.0.7", START_S)
    host.run("echo 'OPTIONS=--ip nowhere' > /etc/unic/default-unicd.conf")
    status, _ = host.guest.ask("systemctl restart unicd@default", START_S)
    assert status, "it starts with an address that is none"
    assert host.of("NRestarts", "unicd@default") == ["0"], "it tries again what cannot be"
    host.run("rm /etc/unic/default-unicd.conf; systemctl reset-failed unicd@default")
    assert "nowhere" in host.run("journalctl -q -u unicd@default"), "it does not say why"


def test_journal(host):
    """What a daemon says has its rank: that it is ready is no warning."""
    host.run("systemctl start unicd@default", START_S)
    said = host.run("journalctl -q -u unicd@default -p info --no-pager")
    worse = host.run("journalctl -q -u unic-wire@lan -p warning --no-pager")
    assert "ready" in said and "ready" not in worse, (said, worse)


def test_ends(host):
    """Without its bus nothing of the host runs, and no folder of it is left."""
    host.run("systemctl stop unic-bus@default", START_S)
    host.guest.wait_for(f"[ \"$(systemctl is-active {' '.join(HOST[1:])} | sort -u)\" = inactive ]", START_S)
    host.run("! test -e /run/unic/default")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    only = p.parse_args().only
    tmp = tempfile.mkdtemp(prefix="unic-systemd-")
    host = None
    try:
        host = Host(Services(tmp), tmp)
        return functions.run(functions.of_module(globals(), only), host)
    finally:
        if host:
            host.guest.end()
        shutil.rmtree(tmp)


if __name__ == "__main__":
    sys.exit(main())
