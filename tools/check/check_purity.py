#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_purity.py NM ARCHIVE - what the portable core needs and owns.

The core may call mem*(), the port (unic_port_*) and compiler helpers, and
nothing else; and it has no writable data: all of its state is the struct
unic_nic it is given.
"""
import re
import subprocess
import sys

MAY_NEED = re.compile(r"mem(cpy|move|set|cmp)$|unic_port_|__aeabi_"
                      r"|_GLOBAL_OFFSET_TABLE_$")
WRITABLE = set("bBdDcCsSgG")


def symbols(nm, archive):
    """Yields (object, type letter, name)."""
    out = subprocess.run([*nm.split(), "-A", archive], check=True, text=True,
                         capture_output=True).stdout
    for line in out.splitlines():
        where, rest = line.rsplit(":", 1)
        words = rest.split()
        yield where.split(":")[-1], words[-2], words[-1]


def main():
    nm, archive = sys.argv[1:]
    found = list(symbols(nm, archive))
    defined = {name for _, kind, name in found if kind not in "Uuw"}
    bad = [f"{obj}: needs {name}" for obj, kind, name in found
           if kind in "Uw" and name not in defined
           and not MAY_NEED.match(name)]
    bad += [f"{obj}: writable data: {name}" for obj, kind, name in found
            if kind in WRITABLE]
    for line in sorted(bad):
        print(line)
    print(f"{archive}: {len(defined)} symbols, {len(bad)} violations")
    return 1 if bad or not defined else 0


if __name__ == "__main__":
    sys.exit(main())
