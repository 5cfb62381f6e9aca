#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does tools/check/check_spec.py object? Each test plants a hole in a copy of
docs/SPEC.md, or something that docs/SPEC.md does not know in a copy of abi/."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir)
CHECK = os.path.join(ROOT, "tools", "check", "check_spec.py")
SPEC = "docs/SPEC.md"


def check(path, edit):
    """(exit code, what was said) when edit() has changed the text of a file."""
    with tempfile.TemporaryDirectory() as tree:
        shutil.copytree(os.path.join(ROOT, "abi"), os.path.join(tree, "abi"))
        os.mkdir(os.path.join(tree, "docs"))
        shutil.copy(os.path.join(ROOT, SPEC), os.path.join(tree, SPEC))
        with open(os.path.join(tree, path), "r+", encoding="utf-8") as f:
            was = f.read()
            now = edit(was)
            f.seek(0)
            f.truncate()
            f.write(now)
        r = subprocess.run([sys.executable, CHECK], cwd=tree, text=True,
                           capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout, was != now


def expect(words, pattern, by, path=SPEC):
    """check_spec.py says these words when `by` takes the place of the pattern."""
    code, said, changed = check(
        path, lambda text: re.sub(pattern, by, text, count=1, flags=re.M))
    assert changed, f"{pattern!r} is nowhere in {path}"
    assert code == 1 and words in said.split("\n"), (words, said)
    return said


def test_sound_tree_passes():
    code, said, _ = check(SPEC, lambda text: text)
    assert code == 0 and said.endswith(" macros, 0 complaints\n"), said
    counts = [int(n) for n in re.findall(r"(\d+) [sem]", said)]
    assert counts[0] >= 160 and counts[1] >= 46 and counts[2] >= 194, said


def test_struct_missing():
    expect(f"{SPEC}: struct unic_db_tail is not shown",
           r"#### `struct unic_db_tail`\n(?:.*\n)*?(?=#)", "")


def test_struct_of_nobody():
    expect(f"{SPEC}: struct unic_db_old is shown, abi/ has none",
           "`struct unic_db_tail`$", "`struct unic_db_old`")


def test_field_missing():
    said = expect(f"{SPEC}: struct unic_cqe: imm is not shown",
                  r"^\| 12 \| 4 \| `unic_le32` \| `imm` .*\n", "")
    assert ", 1 complaints" in said, said


def test_nested_field_missing():
    expect(f"{SPEC}: struct unic_cmd_nop: hdr is not shown",
           r"(?<=Echoes data.)((?:\n.*){3}\n)\| 0 .*\n", r"\1")


def test_field_of_nobody():
    expect(f"{SPEC}: struct unic_cqe: old is shown, abi/ has none",
           r"^(\| 12 \| 4 \| `unic_le32` \|) `imm`", r"\1 `old`")


def test_wrong_offset():
    expect(f"{SPEC}: struct unic_cqe: imm is ('12', '4', 'unic_le32'), "
           "('16', '4', 'unic_le32') is shown",
           r"^\| 12 (?=\| 4 \| `unic_le32` \| `imm`)", "| 16 ")


def test_wrong_size_and_type():
    expect(f"{SPEC}: struct unic_cqe: imm is ('12', '4', 'unic_le32'), "
           "('12', '8', 'unic_be64') is shown",
           r"^\| 12 \| 4 \| `unic_le32`(?= \| `imm`)", "| 12 | 8 | `unic_be64`")


def test_wrong_count():
    expect(f"{SPEC}: struct unic_upcall_ring: record[63][64] is not shown",
           r"`record\[63\]\[64\]`", "`record[64]`")


def test_enumerator_missing():
    expect(f"{SPEC}: enum unic_wc_status: UNIC_WC_RNR_RETRY_EXC_ERR is not shown",
           r"^.*`UNIC_WC_RNR_RETRY_EXC_ERR`.*\n", "")


def test_enumerator_with_wrong_value():
    expect(f"{SPEC}: enum unic_wc_status: UNIC_WC_EVICTED is 10, 11 is shown",
           r"`10` \| `UNIC_WC_EVICTED`", "`11` | `UNIC_WC_EVICTED`")


def test_enumerator_without_value():
    expect(f"{SPEC}: enum unic_wc_status: UNIC_WC_EVICTED is 10, None is shown",
           r"`10` \| `UNIC_WC_EVICTED`", "`` | `UNIC_WC_EVICTED`")


def test_enum_missing():
    expect(f"{SPEC}: enum unic_wc_status is not shown",
           r"#### `enum unic_wc_status`\n(?:.*\n)*?(?=#)", "")


def test_counter_missing():
    expect(f"{SPEC}: enum unic_counter: UNIC_C_rx_bytes is not shown",
           r"^.*`UNIC_C_rx_bytes`.*\n", "")


def test_trace_event_with_the_number_of_another():
    expect(f"{SPEC}: enum unic_trace_code: UNIC_T_CMD is 1, 2 is shown",
           r"`1` \| `UNIC_T_CMD`", "`2` | `UNIC_T_CMD`")


def test_macro_missing():
    expect(f"{SPEC}: macro UNIC_WR_SIGNALED is not shown",
           r"^\| `UNIC_WR_SIGNALED`.*\n", "")


def test_macro_with_parameters_missing():
    expect(f"{SPEC}: macro UNIC_DB_WORD(kind,obj,idx) is not shown",
           r"^\| `UNIC_DB_WORD\(.*\n", "")


def test_macro_with_another_definition():
    expect(f"{SPEC}: macro UNIC_ROCE_PORT is 4791u, 4792u is shown",
           "`4791u`", "`4792u`")


def test_macro_of_nobody():
    expect(f"{SPEC}: macro UNIC_OLD is shown, abi/ has none",
           r"^(\| `UNIC_WR_SIGNALED`.*\n)", r"\1| `UNIC_OLD` | `1u` | |\n")


def test_empty_table():
    said = expect(f"{SPEC}: struct unic_cmd_nop: data is not shown",
                  r"(?<=Echoes data.)((?:\n.*){3}\n)(?:\|.*\n)*", r"\1")
    assert re.search(r":\d+: an empty table, in `struct unic_cmd_nop`", said)


def test_table_with_a_group_and_no_row():
    said = expect(f"{SPEC}: struct unic_cmd_nop: data is not shown",
                  r"(?<=Echoes data.)((?:\n.*){3}\n)(?:\|.*\n)*",
                  r"\1|  |  |  |  | *a group* |\n")
    assert "an empty table, in `struct unic_cmd_nop`" in said, said


def test_new_struct():
    expect(f"{SPEC}: struct unic_new is not shown", r"\Z",
           "struct unic_new {\n\tuint8_t one;\n};\n", "abi/unic_wire.h")


def test_new_macro_and_enumerator():
    expect(f"{SPEC}: macro OTHER_PREFIX is not shown", r"\Z",
           "#define OTHER_PREFIX 3\n", "abi/unic_wire.h")
    expect(f"{SPEC}: enum unic_ev_reason: UNIC_EV_NEW is not shown",
           r"^\tUNIC_EV_RETRY_AFTER = 2,$",
           "\tUNIC_EV_RETRY_AFTER = 2,\n\tUNIC_EV_NEW =\n\t\t3, /* new */",
           "abi/unic_wire.h")


def main():
    failed = 0
    tests = [(n, f) for n, f in sorted(globals().items())
             if n.startswith("test_")]
    for name, function in tests:
        try:
            function()
            print(f"ok {name}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {name}")
            traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
