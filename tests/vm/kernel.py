#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Prints the release of the kernel that guests run: the newest one of the
distribution that is installed with its headers, or that of UNIC_VM_SYSTEM, a folder
with a /boot and a /lib/modules of its own (make debug-kernel)."""
import glob
import lzma
import os
import re
import struct
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SYSTEM = os.environ.get("UNIC_VM_SYSTEM", "")
# What is made for that kernel.
BUILT = SYSTEM or os.path.join(ROOT, "build")
UNPACKED = os.path.join(BUILT, "vm")

HELP = ("no kernel in /boot with its headers in /lib/modules: "
        "apt-get install linux-image-amd64 linux-headers-amd64")


def image(release):
    return f"{SYSTEM}/boot/vmlinuz-{release}"


def modules(release):
    return f"{SYSTEM}/lib/modules/{release}"


def newest():
    """Release of the newest kernel that is usable, or None."""
    prefix = image("")
    found = [path[len(prefix):] for path in glob.glob(image("*-amd64"))]
    usable = [r for r in found if os.path.isdir(modules(r) + "/build")]
    return max(usable, default=None,
               key=lambda r: [int(n) for n in re.findall(r"\d+", r)])


def payload(path):
    """What is packed in a bzImage (Documentation/x86/boot.rst), or None."""
    with open(path, "rb") as f:
        image_ = f.read()
    if image_.startswith(b"\x7fELF"):
        return None
    setup_sectors = image_[0x1f1] or 4
    offset, size = struct.unpack_from("<II", image_, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(
            image_[start:start + size])
    except lzma.LZMAError:
        return None


def unpacked(release):
    """Path of the kernel as an ELF file, made once: an emulated processor
    takes as long to unpack it as for all the rest of booting. A kernel that is
    packed in another way is returned as it is."""
    path = os.path.join(UNPACKED, f"vmlinux-{release}")
    packed = image(release)
    if os.path.exists(path) and \
            os.path.getmtime(path) >= os.path.getmtime(packed):
        return path
    elf = payload(packed)
    if not elf or not elf.startswith(b"\x7fELF"):
        return packed
    os.makedirs(UNPACKED, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=UNPACKED, delete=False) as f:
        f.write(elf)
    os.rename(f.name, path)
    return path


def main():
    release = newest()
    if not release:
        sys.exit(f"kernel.py: {HELP}")
    print(release)


if __name__ == "__main__":
    main()
