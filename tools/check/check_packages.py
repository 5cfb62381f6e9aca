#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_packages.py - is packages.txt complete?

Every program, system header and library that the build and the tests use must
belong to a package that is in packages.txt, is essential, or is what one of
those depends on. So a machine that has just what packages.txt says can build
and check everything.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

LIST = "packages.txt"
# Called by the Makefile, by tools/, tests/ and qemu/.
PROGRAMS = ["make", "gcc", "ar", "git", "python3", "clang-14", "clang-format",
            "readelf", "cppcheck", "sparse", "spin", "gdb-multiarch", "valgrind", "gcov",
            "objdump", "qemu-system-arm", "openocd", "tshark",
            "arm-none-eabi-gcc", "arm-none-eabi-ar", "arm-none-eabi-nm",
            "arm-none-eabi-size", "pkg-config", "g++", "help2man", "abidiff", "mandoc", "systemd-analyze", "qemu-system-x86_64", "busybox", "cpio",
            "depmod", "frama-c", "why3", "z3", "cvc4", "spatch", "ldd", "timeout", "sed", "awk", "find", "cmp", "bash",
             "ibv_devices", "rdma", "ibv_rc_pingpong", "rping", "udaddy", "ib_send_bw", "sphinx-build"]
ARM_LIBRARY = ["arm-none-eabi-gcc", "-mcpu=cortex-a15", "-mfloat-abi=hard",
               "-mfpu=neon-vfpv4", "-print-file-name=libc.a"]


def output(*command):
    return subprocess.run(command, text=True, capture_output=True,
                          check=False).stdout


def listed():
    with open(LIST, encoding="utf-8") as file:
        return {line.split("#")[0].strip() for line in file} - {""}


def closure(packages):
    """The packages and all they depend on, as far as installed."""
    relations, essential = {}, set()
    form = "${Package}\t${Essential}\t${Provides}\t${Depends}, ${Pre-Depends}\n"
    for line in output("dpkg-query", "-W", "-f", form).splitlines():
        name, is_essential, provides, depends = line.split("\t")
        needs = set(re.findall(r"(?:^|[,|])\s*([\w.+-]+)", depends))
        relations[name] = needs
        if is_essential == "yes":
            essential.add(name)
        for virtual in re.findall(r"(?:^|,)\s*([\w.+-]+)", provides):
            relations.setdefault(virtual, set()).add(name)
    found, new = set(), packages | essential
    while new:
        found |= new
        new = {d for p in new for d in relations.get(p, ())} - found
    return found


def system_includes():
    """Paths of the system headers that host code includes."""
    names, found = set(), set()
    for folder in ("host_driver", "qemu", "hal/soft", "tests/unit", "tests/fuzz"):
        for path in glob.glob(folder + "/**/*.[ch]", recursive=True):
            with open(path, encoding="utf-8") as file:
                names |= set(re.findall(r"^#include <([\w./-]+)>",
                                        file.read(), re.M))
    source = "".join(f"#if __has_include(<{n}>)\n#include <{n}>\n#endif\n"
                     for n in sorted(names))
    run = subprocess.run(["gcc", "-D_GNU_SOURCE", "-M", "-x", "c", "-"],
                         input=source.replace("#include <cmocka.h>",
                                              "#include <stdarg.h>\n"
                                              "#include <setjmp.h>\n"
                                              "#include <stdint.h>\n"
                                              "#include <cmocka.h>"),
                         text=True, capture_output=True, check=True)
    for path in run.stdout.replace("\\\n", " ").split()[1:]:
        if path.startswith("/"):
            found.add(path)
    return found


def libraries():
    names = set()
    for path in ["Makefile", *glob.glob("mk/*.mk"),
                 *glob.glob("*/**/sources.mk", recursive=True)]:
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"(?<=\s)-l([\w-]+)(?![\w=-])",
                                    file.read()))
    found = {output(*ARM_LIBRARY).strip()}
    for name in names:
        both = [output("gcc", f"-print-file-name=lib{name}.{kind}").strip()
                for kind in ("so", "a")]
        found.add(next((p for p in both if "/" in p), both[0]))
    return found


def owners(paths):
    """{path: package}; None when no package has it."""
    asked = {}  # what dpkg may call the file: the path we were given
    for path in paths:
        real = os.path.realpath(path)
        for name in (path, real, re.sub(r"^/usr", "", real)):
            if name.startswith("/"):
                asked[name] = path
    found = dict.fromkeys(paths)
    for line in output("dpkg", "-S", *sorted(asked)).splitlines():
        package, name = line.rsplit(": ", 1)
        if name in asked:
            found[asked[name]] = package.split(":")[0].split(",")[0]
    return found


def main():
    if not shutil.which("dpkg-query"):
        print("no dpkg here: nothing to check")
        return 0
    have = closure(listed())
    bad, paths = [], set()
    for program in PROGRAMS:
        # Not what somebody put into /usr/local or a home folder.
        path = shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")
        paths.add(path) if path else bad.append(f"{program}: not installed")
    owned = owners(paths | system_includes() | libraries())
    for path, package in sorted(owned.items()):
        if package is None:
            bad.append(f"{path}: belongs to no package")
        elif package not in have:
            bad.append(f"{path}: package {package} is not in {LIST}")
    missing = [p for p in listed()
               if "installed" not in output("dpkg-query", "-W", "-f",
                                            "${db:Status-Status}", p)]
    bad += [f"{p}: in {LIST}, but not installed" for p in sorted(missing)]
    for line in bad:
        print(line)
    print(f"{len(listed())} packages listed, {len(bad)} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
