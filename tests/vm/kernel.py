#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Prints the release of the kernel that guests run: the newest one of the
distribution that is installed with its headers."""
import glob
import os
import re
import sys

HELP = ("no kernel in /boot with its headers in /lib/modules: "
        "apt-get install linux-image-amd64 linux-headers-amd64")


def image(release):
    return f"/boot/vmlinuz-{release}"


def modules(release):
    return f"/lib/modules/{release}"


def newest():
    """Its release, or None."""
    prefix = image("")
    found = [path[len(prefix):] for path in glob.glob(image("*-amd64"))]
    usable = [r for r in found if os.path.isdir(modules(r) + "/build")]
    return max(usable, default=None,
               key=lambda r: [int(n) for n in re.findall(r"\d+", r)])


def main():
    release = newest()
    if not release:
        sys.exit(f"kernel.py: {HELP}")
    print(release)


if __name__ == "__main__":
    main()
