#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make vm-rdma-cm`: connections with Linux's rdma_cm, over soft-RoCE in a guest.

A Debian kernel in a TCG guest, its network card a port of unic-wire, and rdma_rxe
on that. Its rdma_client connects to a process of ours, then a process of ours to
its rdma_server; both times 16 bytes go each way by SEND (tests/vm/rdma_cm.c). The
first packet of each direction must be taken as it comes: the guest counts none
out of sequence, and nobody waits for a repetition. Packages are fetched as for
`make bench-rxe`.
"""
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", part) for part in ("bench", "qemu")]
import hosts  # noqa: E402
import rxe  # noqa: E402

GUEST = "10.0.0.9"
rxe.MODULES = ("virtio_pci", "virtio_net", "rdma_rxe", "rdma_ucm",
               "crc32_generic")
PROGRAMS = ("bin/busybox", "bin/ip", "usr/bin/rdma", "usr/bin/rdma_client",
            "usr/bin/rdma_server")
# The pings teach the guest our address: rxe asks for none itself.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys
mount -t devtmpfs none /dev
{insmod}
ip link set lo up
ip link set eth0 up
ip addr add {guest}/24 dev eth0
rdma link add rxe0 type rxe netdev eth0
(while true; do ping -c 1 {ours} > /dev/null 2>&1; sleep 1; done) &
sleep 2
run()
{{
	echo "== $1"
	timeout 60 "$@"
	echo "== ended $?"
}}
run rdma_client -s {ours} -p 7471
run rdma_server -p 7471
cat /sys/class/infiniband/rxe0/ports/1/hw_counters/out_of_seq_request
echo "== end"
echo o > /proc/sysrq-trigger
sleep 10
"""


def initrd(root, version):
    a = rxe.Archive()
    for name in ("proc", "sys", "tmp", "bin", "sbin"):
        a.folder(name)
    a.console()
    mods = rxe.modules(root, version)
    for path in mods:
        a.copy(path, os.path.join(root, path))
    for path in PROGRAMS:
        a.copy("bin/" + os.path.basename(path), os.path.join(root, path))
    for name, path in rxe.libraries(root):
        a.copy(name, path)
    a.copy("etc/libibverbs.d/rxe.driver",
           os.path.join(root, "etc/libibverbs.d/rxe.driver"))
    insmod = "\n".join(f"insmod /{m}" for m in mods)
    a.file("init", INIT.format(insmod=insmod, guest=GUEST,
                               ours=hosts.IP[1]).encode())
    return a.done()


def boot(root, version, path, wire, own):
    with open(path, "wb") as f:
        f.write(initrd(root, version))
    return subprocess.Popen(
        [os.path.join(root, "usr/bin/qemu-system-x86_64"), "-M", "q35",
         "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", "512",
         "-L", os.path.join(root, "usr/share/qemu"),
         "-L", os.path.join(root, "usr/share/seabios"),
         "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
         "-kernel", os.path.join(root, "boot/vmlinuz-" + version),
         "-initrd", path, "-append", "console=ttyS0 panic=-1 quiet",
         "-netdev", f"dgram,id=n,local.type=unix,local.path={own},"
                    f"remote.type=unix,remote.path={wire}",
         "-device", "virtio-net-pci,netdev=n,romfile="],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        errors="replace")


def follow(rig, guest):
    """Run our side of each test of the guest; returns what the guest said."""
    ours = rig.start("ours", "rdma-cm", "listen", rig.socket(1), show=False)
    ours.expect("listens")
    said = []
    for line in guest.stdout:
        said.append(line.strip())
        if said[-1] == "== rdma_server":
            ours.expect("rdma-cm: ok")
            ours = rig.start("ours", "rdma-cm", "connect", rig.socket(1), GUEST,
                             hosts.IP[1], show=False)
        if said[-1] == "== end":
            ours.expect("rdma-cm: ok")
            break
    return said


def talk(rig, tmp):
    root, version = rxe.unpack()
    if not os.path.exists(os.path.join(root, PROGRAMS[-1])):
        raise hosts.Failure("build/rxe is an old one without rdma_server: "
                            "remove it")
    wire, own = os.path.join(tmp, "w"), os.path.join(tmp, "q")
    rig.start_wire("--dgram", f"{wire},{own}")
    rig.start_all()
    guest = boot(root, version, os.path.join(tmp, "initrd.gz"), wire, own)
    watchdog = threading.Timer(rxe.BOOT_S, guest.kill)
    watchdog.start()
    try:
        said = follow(rig, guest)
    finally:
        watchdog.cancel()
        guest.kill()
        guest.wait()
    if said.count("== ended 0") != 2 or said[-2] != "0":
        raise hosts.Failure("the guest says:\n" + "\n".join(said))


def main():
    with tempfile.TemporaryDirectory(prefix="unic-rdma-cm-") as tmp:
        rig = hosts.Hosts("soft", "shm", tmp)
        try:
            talk(rig, tmp)
        except hosts.Failure as e:
            print(f"rdma_cm: {e}\n0 passed, 1 failed")
            return 1
        finally:
            rig.end()
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
