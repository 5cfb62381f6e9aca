# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The root of a guest as an initramfs: busybox, init, programs with the
libraries they want, modules of the distribution with those they want."""
import os
import re
import shutil
import subprocess
import sys

import kernel

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "qemu"))
from hosts import Failure  # noqa: E402

BUSYBOX = "/bin/busybox"
LINE = ("virtio_pci", "virtio_console")  # by which init talks to this program
FOLDERS = ("bin", "dev", "lib/modules", "proc", "sys", "run", "tmp", "mnt")


def wanted_modules(release, names):
    """Paths below the modules' folder, each before those that want it."""
    top, paths, wants, order = kernel.modules(release), {}, {}, []
    with open(f"{top}/modules.dep", encoding="utf-8") as f:
        for line in f:
            path, needs = line.rstrip("\n").split(":")
            name = re.sub(r"\.ko.*", "", os.path.basename(path))
            paths[name.replace("-", "_")] = path
            wants[path] = needs.split()
    with open(f"{top}/modules.builtin", encoding="utf-8") as f:
        builtin = {os.path.basename(p)[:-4].replace("-", "_") for p in f}

    def add(path):
        for need in wants[path]:
            add(need)
        if path not in order:
            order.append(path)

    for name in names:
        name = name.replace("-", "_")
        if name in paths:
            add(paths[name])
        elif name not in builtin:
            raise Failure(f"kernel {release} has no module {name}")
    return order


def libraries(program):
    """Shared libraries of a program, with its interpreter."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True,
                          check=False).stdout
    return re.findall(r"(?:=> )?(/\S+) \(0x", said)


def put(root, path, to=None):
    """A copy, at its own path or at @to."""
    target = root + (to or path)
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(path, target)


def put_program(root, program):
    path = program if "/" in program else shutil.which(
        program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not path or not os.path.exists(path):
        raise Failure(f"{program} is missing; make it: make, or see "
                      "packages.txt")
    put(root, path, "/bin/" + os.path.basename(path))
    for library in libraries(path):
        put(root, library)


def build(out, release, programs=(), modules=(), files=()):
    """Write the archive @out. programs: names or paths, into /bin. modules:
    names of the distribution's, for modprobe. files: (path here, path there).
    Raises Failure."""
    root = out + ".root"
    shutil.rmtree(root, ignore_errors=True)
    for folder in FOLDERS:
        os.makedirs(os.path.join(root, folder))
    if not os.path.exists(BUSYBOX) or libraries(BUSYBOX):
        raise Failure("busybox-static is not installed")
    put(root, BUSYBOX)
    put(root, os.path.join(HERE, "init"), "/init")
    for program in programs:
        put_program(root, program)
    for path in (*wanted_modules(release, (*LINE, *modules)), "modules.builtin"):
        put(root, f"{kernel.modules(release)}/{path}",
            f"/lib/modules/{release}/{path}")
    for path, there in files:
        put(root, path, there)
        if there.endswith(".ko"):  # most of a module built here is for debuggers
            subprocess.run(["strip", "--strip-debug", root + there], check=True)
    subprocess.run(["/sbin/depmod", "-b", root, release], check=True,
                   stderr=subprocess.DEVNULL)
    names = subprocess.run(["find", ".", "-mindepth", "1"], cwd=root,
                           capture_output=True, check=True).stdout
    with open(out, "wb") as f:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"],
                       cwd=root, input=names, stdout=f, check=True)
    shutil.rmtree(root)
