# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""perftest over Linux soft-RoCE (rdma_rxe) in a TCG guest (QEMU x86, no KVM: a device that may be there and hang),
both sides in that guest, on one device, which is the shortest way rxe has. Packages are fetched by apt-get and
unpacked in build/rxe; nothing is installed."""
import glob
import gzip
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "build", "rxe")
BOOT_S = 300
PACKAGES = """busybox-static ibverbs-providers iproute2 kmod libbpf1 libbsd0
libc6 libcap2 libdb5.3 libelf1 libibumad3 libibverbs1 libmd0 libmnl0
libnl-3-200 libnl-route-3-200 libpci3 libpcre2-8-0 librdmacm1 libselinux1
libtirpc3 libudev1 libzstd1 liblzma5 libgssapi-krb5-2 perftest
qemu-system-common qemu-system-data qemu-system-x86 rdmacm-utils seabios
zlib1g""".split()
MODULES = ("rdma_rxe", "dummy", "crc32_generic")
LIBS = "usr/lib/x86_64-linux-gnu"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys
mount -t devtmpfs none /dev
{insmod}
ip link set lo up
ip link add dummy0 type dummy
ip link set dummy0 address 02:00:00:00:00:09 mtu 4200 up
ip addr add 10.9.0.1/24 dev dummy0
rdma link add rxe0 type rxe netdev dummy0
sleep 1
run()
{{
	echo "== $*"
	"$@" -d rxe0 -x 1 -F > /dev/null 2>&1 &
	sleep 2
	"$@" -d rxe0 -x 1 -F 10.9.0.1 2>&1
	wait
}}
run ib_write_bw -m 4096 -s 1048576 -n 100
run ib_write_bw -m 4096 -s 65536 -n 500
run ib_write_bw -m 1024 -s 65536 -n 500
run ib_write_bw -s 8 -n 5000
run ib_send_lat -e -s 8 -n 1000
echo "== end"
echo o > /proc/sysrq-trigger
sleep 10
"""


def sh(*argv, **kw):
    r = subprocess.run(argv, capture_output=True, text=True, check=False, **kw)
    if r.returncode:
        sys.exit(f"bench-rxe: {argv[0]}: {r.stderr.strip()[-400:]}")
    return r.stdout


def kernel():
    deps = sh("apt-cache", "depends", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-\S+)", deps)
    if not found:
        sys.exit("bench-rxe: no linux-image-amd64: run apt-get update")
    return found.group(1)


def unpack():
    """Everything under build/rxe/root; returns the kernel's version."""
    root, debs = os.path.join(HERE, "root"), os.path.join(HERE, "debs")
    if not os.path.isdir(root):
        os.makedirs(debs, exist_ok=True)
        sh("apt-get", "download", kernel(), *PACKAGES, cwd=debs)
        for deb in glob.glob(debs + "/*.deb"):
            sh("dpkg-deb", "-x", deb, root + ".new")
        os.rename(root + ".new", root)
    version = os.listdir(os.path.join(root, "lib/modules"))[0]
    depmod = os.path.join(HERE, "depmod")
    if not os.path.islink(depmod):
        os.symlink(os.path.join(root, "bin/kmod"), depmod)
    sh(depmod, "-b", root, version)
    return root, version


def modules(root, version):
    """Paths of MODULES and what they need, in the order to load them."""
    base = os.path.join("lib/modules", version)
    needs, order = {}, []
    with open(os.path.join(root, base, "modules.dep"), encoding="ascii") as f:
        for line in f:
            path, deps = line.split(":")
            needs[path] = deps.split()
    for name in MODULES:
        path = next(p for p in needs if p.endswith(f"/{name}.ko"))
        order += list(reversed(needs[path])) + [path]
    return [os.path.join(base, p) for p in dict.fromkeys(order)]


def libraries(root):
    """Shared objects, by the names programs ask for."""
    for folder in ("lib/x86_64-linux-gnu", LIBS):
        for path in glob.glob(os.path.join(root, folder, "*.so*")):
            yield "lib/" + os.path.basename(path), os.path.realpath(path)
    yield "lib64/ld-linux-x86-64.so.2", os.path.realpath(
        os.path.join(root, "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"))
    for path in glob.glob(os.path.join(root, LIBS, "libibverbs/librxe*")):
        yield "lib/" + os.path.basename(path), os.path.realpath(path)
        # where libibverbs looks for it
        yield LIBS + "/libibverbs/" + os.path.basename(path), path


class Archive:
    """A cpio archive of the kind the kernel unpacks (newc)."""

    def __init__(self):
        self.parts, self.seen, self.ino = [], set(), 1

    def _add(self, name, mode, data=b"", rdev=(0, 0)):
        if name in self.seen:
            return
        self.seen.add(name)
        fields = (self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev,
                  len(name) + 1, 0)
        self.ino += 1
        head = b"070701" + b"".join(b"%08x" % f for f in fields)
        head += name.encode() + b"\0"
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def folder(self, name):
        if "/" in name:
            self.folder(os.path.dirname(name))
        self._add(name, 0o040755)

    def file(self, name, data):
        if "/" in name:
            self.folder(os.path.dirname(name))
        self._add(name, 0o100755, data)

    def copy(self, name, path):
        with open(path, "rb") as f:
            self.file(name, f.read())

    def console(self):
        self.folder("dev")
        self._add("dev/console", 0o020600, rdev=(5, 1))

    def done(self):
        self._add("TRAILER!!!", 0)
        return gzip.compress(b"".join(self.parts), 1)


def initrd(root, version):
    a = Archive()
    for name in ("proc", "sys", "tmp", "bin", "sbin"):
        a.folder(name)
    a.console()
    mods = modules(root, version)
    for m in mods:
        a.copy(m, os.path.join(root, m))
    for path in ("bin/busybox", "bin/ip", "usr/bin/rdma", "usr/bin/ib_write_bw",
                 "usr/bin/ib_send_lat"):
        a.copy("bin/" + os.path.basename(path), os.path.join(root, path))
    for name, path in libraries(root):
        a.copy(name, path)
    a.copy("etc/libibverbs.d/rxe.driver",
           os.path.join(root, "etc/libibverbs.d/rxe.driver"))
    a.file("init", INIT.format(insmod="\n".join(
        f"insmod /{m}" for m in mods)).encode())
    return a.done()


def boot(root, version):
    path = os.path.join(HERE, "initrd.gz")
    with open(path, "wb") as f:
        f.write(initrd(root, version))
    qemu = [os.path.join(root, "usr/bin/qemu-system-x86_64"), "-M", "q35",
            "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", "512",
            "-L", os.path.join(root, "usr/share/qemu"),
            "-L", os.path.join(root, "usr/share/seabios"),
            "-nodefaults", "-display", "none", "-serial", "stdio",
            "-no-reboot", "-kernel",
            os.path.join(root, "boot/vmlinuz-" + version), "-initrd", path,
            "-append", "console=ttyS0 panic=-1 quiet"]
    try:
        r = subprocess.run(qemu, stdin=subprocess.DEVNULL, text=True,
                           capture_output=True, timeout=BOOT_S, check=False,
                           errors="replace")
    except subprocess.TimeoutExpired as e:
        sys.exit(f"bench-rxe: the guest did not end in {BOOT_S} s:\n"
                 f"{(e.stdout or b'')[-2000:]}")
    with open(os.path.join(HERE, "console.log"), "w", encoding="utf-8") as f:
        f.write(r.stdout + r.stderr)
    return r.stdout


def figures(console):
    """Each run and its last line of numbers."""
    out = {}
    for block in console.split("== ")[1:]:
        name, _, rest = block.partition("\n")
        rows = re.findall(r"^[ \t]*\d+[ \t]+\d+[ \t]+[\d. \t]+$", rest.replace("\r", ""),
                          re.M)
        if rows:
            out[name.strip()] = [float(x) for x in rows[-1].split()]
    return out


def measured():
    """Boots the guest. {command: its figures}"""
    return figures(boot(*unpack()))
