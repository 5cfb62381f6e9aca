#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tools/check/check_style.py object? Each test builds a small tree in which something
is planted."""
import os
import subprocess
import sys
import tempfile

import functions

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                     os.pardir, "tools", "check", "check_style.py")
SOUND = {
    "firmware/base/trace.h": "/** unic_trace_count() - events so far. */\n"
                             "int unic_trace_count(void);\n",
    "firmware/base/trace.c": '#include "base/trace.h"\n\n'
                             "static int zero(void)\n{\n\treturn 0;\n}\n\n"
                             "int unic_trace_count(void)\n{\n\treturn zero();\n}\n",
}


def check(**planted):
    """(exit code, what was said) of the sound tree with files in place of its own;
    their names with __ for / and _ for the last dot."""
    files = dict(SOUND)
    for name, text in planted.items():
        files[".".join(name.replace("__", "/").rsplit("_", 1))] = text
    with tempfile.TemporaryDirectory() as tree:
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="ascii") as f:
                f.write(text)
        r = subprocess.run([sys.executable, CHECK], cwd=tree, text=True,
                           capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout


def expect(words, **planted):
    code, said = check(**planted)
    assert code == 1 and words in said, (words, said)


def test_sound_tree_passes():
    code, said = check()
    assert code == 0 and "2 functions, 0 violations" in said, said


def test_long_function_and_file():
    expect("long_one() has 83 lines", firmware__base__long_c="static void long_one(void)\n{\n" +
           "\tdo_it();\n" * 81 + "}\n")
    expect("601 lines, more than 600", firmware__base__long_c="int x;\n" * 601)


def test_eight_parameters():
    expect("many() has 8 parameters", firmware__base__many_c="static void many(" +
           ", ".join(f"int a{i}" for i in range(8)) + ")\n{\n}\n")


def test_declared_elsewhere():
    expect("unic_other() is declared in firmware/base/trace.h",
           firmware__base__trace_h=SOUND["firmware/base/trace.h"] +
           "/** unic_other() - another. */\nint unic_other(void);\n",
           firmware__base__other_c="int unic_other(void)\n{\n\treturn 1;\n}\n")


def test_no_comment():
    expect("unic_bare() has no comment", firmware__base__trace_h=SOUND[
        "firmware/base/trace.h"] + "\nint unic_bare(void);\n")


def test_names_twice():
    same = "static int zero(void)\n{\n\treturn 1;\n}\n"
    expect("zero() is in", firmware__base__other_c=same)
    expect("unic_trace_count() is in", host_driver__core__other_c=SOUND[
        "firmware/base/trace.c"].replace("zero", "one"))
    expect("struct row is in", firmware__base__a_c="struct row {\n\tint a;\n};\n",
           firmware__base__b_c="struct row {\n\tint b;\n};\n")


def test_six_lines_twice():
    body = "".join(f"\tcall_number_{i}(of, the, same, arguments);\n" for i in range(6))
    expect("5 more stand in", firmware__base__a_c=f"static void a(void)\n{{\n{body}}}\n",
           firmware__base__b_c=f"static void b(void)\n{{\n{body}}}\n")


def test_records_of_the_abi_are_written_out():
    members = "".join(f"\tunic_le32 member_number_{i}; /* {i} */\n" for i in range(9))
    records = f"struct one {{\n{members}}};\n", f"struct two {{\n{members}}};\n"
    code, said = check(abi__a_h=records[0], abi__b_h=records[1])
    assert code == 0, said
    expect("5 more stand in", firmware__base__a_h=records[0], firmware__base__b_h=records[1])


def test_known_may_only_shrink():
    long = "int x;\n" * 601
    line = "firmware/base/long.c: lines, more than 600\n"
    code, said = check(firmware__base__long_c=long, tools__check__check_style_known=line)
    assert code == 0 and "1 known" in said, said
    expect("no more so", tools__check__check_style_known=line)


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
