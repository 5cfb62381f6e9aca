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
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", d) for d in ("qemu", "runner", "install")]
import functions  # noqa: E402
import guest as machine  # noqa: E402
import test_install as installed  # noqa: E402
from initramfs import libraries  # noqa: E402

AT = installed.PREFIX
UNITS = "/lib/systemd/system/"
# What a systemd wants to come up to basic.target, and to keep a journal.
TARGETS = ("basic.target", "sysinit.target", "sockets.target", "timers.target", "paths.target",
           "slices.target", "shutdown.target", "umount.target", "final.target", "local-fs.target",
           "systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket")
PROGRAMS = ("systemctl", "systemd-sysusers", "systemd-tmpfiles", "journalctl")
DAEMONS = ("/lib/systemd/systemd", "/lib/systemd/systemd-journald", "/lib/systemd/systemd-executor")
HOST = ("unic-wire@lan", "unic-bus@default", "unic-nic@default", "unicd@default")
START_S = 120


def files(it):
    """(here, there) of all that the guest has besides its programs."""
    pairs = [(UNITS + name, UNITS + name) for name in TARGETS]
    pairs += [(os.path.join(it.at, name), f"{AT}/{name}") for name in it.files()
              if name.startswith(("bin/", "lib/sysusers", "lib/tmpfiles"))]
    pairs += [(path, "/etc/systemd/system/" + os.path.basename(path))
              for path in glob.glob(it.at + UNITS + "*")]
    for program in (*(d for d in DAEMONS if os.path.exists(d)), *it.programs):
        if program in DAEMONS:
            pairs.append((program, program))
        pairs += [(library, library) for library in libraries(program)]
    return pairs


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
        self.guest = machine.Guest(tmp, programs=PROGRAMS, files=files(it) + etc,
                                   command_line="unic.systemd systemd.unit=basic.target")
        self.run = self.guest.run
        self.guest.wait_for("systemctl is-active basic.target", START_S)
        self.run("systemctl start systemd-journald.socket systemd-journald", START_S)
        self.run(f"systemd-sysusers {AT}/lib/sysusers.d/unic.conf")
        self.run(f"systemd-tmpfiles --create {AT}/lib/tmpfiles.d/unic.conf")

    def of(self, unit, name):
        return self.run(f"systemctl show -P {name} {unit}").strip()

    def ctl(self, *words):
        return json.loads(self.run(f"{AT}/bin/unicctl --json {' '.join(words)}"))


def test_one_start(host):
    """`systemctl start` of the driver starts bus, NIC and wire, and ends when it is ready; each has
    said so itself, and nothing runs as root."""
    host.run("systemctl start unicd@default", START_S)
    for unit in HOST:
        assert host.of(unit, "ActiveState") == "active" and host.of(unit, "Type") == "notify", unit
        pid = host.of(unit, "MainPID")
        uid = host.run(f"stat -c %U /proc/{pid}").strip()
        assert uid == "unic", (unit, uid)
        assert host.of(unit, "NRestarts") == "0", unit


def test_found(host):
    """Programs that name no socket find it, also those of an ordinary user."""
    host.guest.wait_for(f"{AT}/bin/unicctl --json info | grep -q '\"nic\": *\"ready\"'", START_S)
    info = host.ctl("info")
    assert info["ipv4"] == "10.0.0.1" and info["link_up"], info
    said = host.run(f"su nobody -c 'UNIC_WAIT=30 timeout 8 {AT}/bin/unic-hog --max 16'; true", START_S)
    assert "holds 16 entries" in said, said


def test_comes_back(host):
    """A NIC and a driver that are killed come back by themselves."""
    for unit in ("unic-nic@default", "unicd@default"):
        before = host.of(unit, "MainPID")
        host.run(f"kill -9 {before}")
        host.guest.wait_for(f"[ $(systemctl show -P MainPID {unit}) != {before} ] && "
                            f"systemctl is-active {unit}", START_S)
        host.guest.wait_for(f"{AT}/bin/unicctl --json info | grep -q '\"nic\": *\"ready\"'", START_S)


def test_options(host):
    """Options of /etc/unic count; wrong ones are said in the journal, with exit status 64."""
    host.run("mkdir -p /etc/unic && echo 'OPTIONS=--ip 10.0.0.7' > /etc/unic/default-unicd.conf")
    host.run("systemctl restart unicd@default", START_S)
    host.guest.wait_for(f"{AT}/bin/unicctl --json info | grep -q 10.0.0.7", START_S)
    host.run("echo 'OPTIONS=--ip nowhere' > /etc/unic/default-unicd.conf")
    status, _ = host.guest.ask("systemctl restart unicd@default", START_S)
    assert status, "it starts with an address that is none"
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
    for unit in HOST[1:]:
        host.guest.wait_for(f"[ $(systemctl show -P ActiveState {unit}) = inactive ]", START_S)
    host.run("! test -e /run/unic/default")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    only = p.parse_args().only
    it = installed.Installed()
    tmp = tempfile.mkdtemp(prefix="unic-systemd-")
    host = None
    try:
        host = Host(it, tmp)
        return functions.run(functions.of_module(globals(), only), host)
    finally:
        if host:
            host.guest.end()
        it.end()
        shutil.rmtree(tmp)


if __name__ == "__main__":
    sys.exit(main())
