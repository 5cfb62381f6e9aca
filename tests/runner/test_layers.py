#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tools/check/check_layers.py object? Each test builds a small tree of two rooms, in
which something is planted."""
import os
import subprocess
import sys
import tempfile

import functions

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                     os.pardir, "tools", "check", "check_layers.py")
CORE = "host_driver/core/"
SOUND = {
    "objects.h": "int unic_obj_count(void);\n",
    "objects.c": '#include "objects.h"\n'
                 "int unic_obj_count(void) { return 0; }\n",
    "region/region.h": "int unic_region_count(void);\n",
    "region/region.c": '#include "region/region.h"\n#include "objects.h"\n'
                       "int unic_region_count(void)\n"
                       "{ return unic_obj_count(); }\n",
}


FIRMWARE = {
    "base/trace.h": "int unic_trace_count(void);\n",
    "base/trace.c": '#include "base/trace.h"\n'
                    "int unic_trace_count(void) { return 0; }\n",
    "memory/mr.h": "int unic_mr_count(void);\n",
    "memory/mr.c": '#include "memory/mr.h"\n#include "base/trace.h"\n'
                   "int unic_mr_count(void)\n{ return unic_trace_count(); }\n",
}


def check(folder=CORE, sound=None, **planted):
    """(exit code, what was said) of the sound tree with files in place of its
    own; their names with __ for / and _ for the last dot."""
    files = dict(sound or SOUND)
    for name, text in planted.items():
        files[".".join(name.replace("__", "/").rsplit("_", 1))] = text
    with tempfile.TemporaryDirectory() as tree:
        for name, text in files.items():
            path = os.path.join(tree, folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        for name in files:
            if not name.endswith(".c"):
                continue
            out = os.path.join("build/host", folder, name[:-2])
            os.makedirs(os.path.join(tree, os.path.dirname(out)),
                        exist_ok=True)
            subprocess.run(["cc", "-MMD", "-c", "-I" + folder, "-o", out + ".o",
                            folder + name], cwd=tree, check=True, timeout=60)
        r = subprocess.run([sys.executable, CHECK], cwd=tree, text=True,
                           capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout


def test_sound_tree_passes():
    code, said = check()
    assert code == 0 and "2 sources seen, 0 violations" in said, said


def test_include_of_a_later_room():
    code, said = check(objects_c=SOUND["objects.c"].replace(
        '"objects.h"\n', '"objects.h"\n#include "region/region.h"\n'))
    assert code == 1, said
    assert (CORE + "objects.c: must not include " + CORE +
            "region/region.h: room base is before region") in said, said


def test_include_by_another_way():
    code, said = check(
        cm__cm_h="int unic_cm_count(void);\n",
        region__region_c=SOUND["region/region.c"].replace(
            '"objects.h"\n', '"objects.h"\n#include "region/../cm/cm.h"\n'))
    assert code == 1 and "room region is before cm" in said, said


def test_header_in_no_room():
    code, said = check(stray_h="int unic_stray;\n",
                       objects_c='#include "stray.h"\n' + SOUND["objects.c"])
    assert code == 1 and CORE + "stray.h: lies in no room" in said, said


def test_call_of_a_later_room():
    code, said = check(objects_c="int unic_region_count(void);\n"
                       "int unic_obj_count(void)\n"
                       "{ return unic_region_count(); }\n")
    assert code == 1, said
    assert (CORE + "objects.c: must not need unic_region_count of " + CORE +
            "region/region.c: room base is before region") in said, said


def test_table_of_functions_of_a_later_room():
    code, said = check(objects_c="int unic_region_count(void);\n"
                       "int (*const unic_obj_ask[])(void) =\n"
                       "{ unic_region_count };\n"
                       "int unic_obj_count(void) { return 0; }\n")
    assert code == 1 and "must not need unic_region_count" in said, said


def test_file_in_no_room():
    code, said = check(stray_c='#include "objects.h"\nint unic_stray;\n')
    assert code == 1 and CORE + "stray.c: lies in no room" in said, said


def test_rooms_of_the_firmware():
    code, said = check("firmware/", FIRMWARE)
    assert code == 0 and "2 sources seen, 0 violations" in said, said
    code, said = check("firmware/", FIRMWARE, base__trace_c=FIRMWARE[
        "base/trace.c"].replace("{ return 0; }", "{ return unic_mr_count(); }")
        .replace('"base/trace.h"\n', '"base/trace.h"\nint unic_mr_count(void);\n'))
    assert code == 1 and "must not need unic_mr_count" in said, said
    code, said = check("firmware/", FIRMWARE, base__trace_c=FIRMWARE[
        "base/trace.c"].replace('"base/trace.h"\n',
                                '"base/trace.h"\n#include "memory/mr.h"\n'))
    assert code == 1 and "room base is before memory" in said, said


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
