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

import functions

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir)
CHECK = os.path.join(ROOT, "tools", "check", "check_spec.py")
SPEC = "docs/SPEC.md"


def check(path, edit):
    """(exit code, what was said) when edit() has changed the text of a file."""
    folder = os.path.dirname(path)
    with tempfile.TemporaryDirectory() as tree:
        os.mkdir(os.path.join(tree, folder))
        for name in set(os.listdir(ROOT)) - {folder, "build", ".git"}:
            os.symlink(os.path.join(ROOT, name), os.path.join(tree, name))
        for name in set(os.listdir(os.path.join(ROOT, folder))) - {os.path.basename(path)}:
            os.symlink(os.path.join(ROOT, folder, name), os.path.join(tree, folder, name))
        shutil.copy(os.path.join(ROOT, path), os.path.join(tree, path))
        with open(os.path.join(tree, path), "r+", encoding="utf-8") as f:
            was = f.read()
            now = edit(was)
            f.seek(0)
            f.truncate()
            f.write(now)
        r = subprocess.run([sys.executable, CHECK], cwd=tree, text=True,
                           capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout + r.stderr, was != now


def plant(pattern, by, path=SPEC, behind=""):
    """What check_spec.py complains of when `by` takes the place of the first
    match of the pattern in a file, behind the first place of a text."""
    def edit(text):
        at = text.index(behind)
        return text[:at] + re.sub(pattern, by, text[at:], count=1, flags=re.M)
    code, said, changed = check(path, edit)
    assert changed, f"{pattern!r} is nowhere in {path}"
    assert code == 1 and "Traceback" not in said, said
    return said


def expect(words, pattern, by, path=SPEC):
    """One of the complaints is these words."""
    said = plant(pattern, by, path)
    assert words in said.split("\n"), (words, said)
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
    assert re.search(r"SPEC.md:\d+: an empty table\n", said), said


def test_table_with_a_group_and_no_row():
    said = expect(f"{SPEC}: struct unic_cmd_nop: data is not shown",
                  r"(?<=Echoes data.)((?:\n.*){3}\n)(?:\|.*\n)*",
                  r"\1|  |  |  |  | *a group* |\n")
    assert re.search(r"SPEC.md:\d+: an empty table\n", said), said


def test_new_struct():
    expect(f"{SPEC}: struct unic_new is not shown", r"\Z",
           "struct unic_new {\n\tuint8_t one;\n};\n", "abi/unic_wire.h")


def test_new_macro_and_enumerator():
    expect(f"{SPEC}: macro OTHER_PREFIX is not shown", r"\Z",
           "#define OTHER_PREFIX 3\n", "abi/unic_wire.h")
    expect(f"{SPEC}: enum unic_ev_reason: UNIC_EV_NEW is not shown",
           r"^enum unic_ev_reason \{$",
           "enum unic_ev_reason {\n\tUNIC_EV_NEW =\n\t\t3, /* new */",
           "abi/unic_wire.h")


def test_wrong_row_before_the_right_one():
    expect(f"{SPEC}: struct unic_cqe: imm is ('12', '4', 'unic_le32'), "
           "('16', '4', 'unic_le32') is shown",
           r"^(?=\| 12 \| 4 \| `unic_le32` \| `imm`)",
           "| 16 | 4 | `unic_le32` | `imm` | a value |\n")


def test_row_twice():
    expect(f"{SPEC}: struct unic_cqe: imm is shown twice",
           r"^(\| 12 \| 4 \| `unic_le32` \| `imm`.*\n)", r"\1\1")
    expect(f"{SPEC}: enum unic_wc_status: UNIC_WC_EVICTED is shown twice",
           r"^(.*`UNIC_WC_EVICTED`.*\n)", r"\1\1")
    expect(f"{SPEC}: macro UNIC_WR_SIGNALED is shown twice",
           r"^(\| `UNIC_WR_SIGNALED`.*\n)", r"\1\1")


def test_rows_exchanged():
    expect(f"{SPEC}: struct unic_reth: len is shown where rkey belongs",
           r"^(\| 8 .*`rkey`.*\n)(\| 12 .*`len`.*\n)", r"\2\1")
    expect(f"{SPEC}: enum unic_nic_state: UNIC_NIC_READY is shown where "
           "UNIC_NIC_RESET belongs",
           r"^(.*`UNIC_NIC_RESET`.*\n)(.*`UNIC_NIC_READY`.*\n)", r"\2\1")
    expect(f"{SPEC}: macro UNIC_ABI_MINOR is shown where "
           "macro UNIC_ABI_MAJOR belongs",
           r"^(.*`UNIC_ABI_MAJOR`.*\n)(.*`UNIC_ABI_MINOR`.*\n)", r"\2\1")


def test_offsets_exchanged():
    said = expect(f"{SPEC}: struct unic_reth: rkey is ('8', '4', 'unic_be32'), "
                  "('12', '4', 'unic_be32') is shown",
                  r"^\| 8 (.*`rkey`.*\n)\| 12 ", r"| 12 \1| 8 ")
    assert ", 2 complaints" in said, said


def test_type_of_the_right_size():
    expect(f"{SPEC}: struct unic_reth: rkey is ('8', '4', 'unic_be32'), "
           "('8', '4', 'unic_le32') is shown",
           r"`unic_be32`(?= \| `rkey`)", "`unic_le32`")
    expect(f"{SPEC}: struct unic_cmd_nop: hdr is "
           "('0', '8', 'struct unic_cmd_hdr'), "
           "('0', '8', 'struct unic_evt_hdr') is shown",
           r"(?<=Echoes data.)((?:\n.*){3}\n.*)`struct unic_cmd_hdr`",
           r"\1`struct unic_evt_hdr`")


def test_second_heading():
    wrong = ("#### `struct unic_reth`\n\n"
             "| offset | bytes | type | field | meaning |\n"
             "| --- | --- | --- | --- | --- |\n"
             "| 4 | 4 | `unic_be32` | `va_hi` | an address |\n\n")
    for place in ("#### `struct unic_reth`$", "^## Bus$"):
        said = expect(f"{SPEC}: struct unic_reth is shown twice",
                      f"({place})", wrong + r"\1")
        assert "va_hi is ('0', '4', 'unic_be32'), ('4'," in said, said


def test_second_table_below_a_heading():
    said = plant(r"(?<=#### `struct unic_reth`\n)((?:.*\n)*?)(?=\n#)",
                 r"\1\n| offset | bytes | type | field | meaning |\n"
                 "| --- | --- | --- | --- | --- |\n"
                 "| 4 | 4 | `unic_be32` | `va_hi` | an address |\n")
    assert ": a table of no struct, enum or macro" in said, said


def test_heading_of_another_form():
    for other in ("### `struct unic_reth`", "##### `struct unic_reth`",
                  "#### struct unic_reth", "#### `struct unic_reth`:"):
        said = plant("^#### `struct unic_reth`$", other)
        assert "a heading of struct unic_reth that is not" in said, said
    said = plant("^#### (`struct unic_reth`)$", r"\1\n----")
    assert "a heading of struct unic_reth that is not" in said, said


def test_table_below_a_heading_of_another_kind():
    said = expect(f"{SPEC}: enum unic_reth is shown, abi/ has none",
                  "`struct unic_reth`$", "`enum unic_reth`")
    assert ": a table of no struct, enum or macro" in said, said


def test_enumerator_in_the_table_of_another_enum():
    said = expect(f"{SPEC}: enum unic_nic_state: UNIC_ST_OK is shown, "
                  "abi/ has none",
                  r"^(.*`UNIC_NIC_CRASHED`.*\n)", r"\1| `0` | `UNIC_ST_OK` | x |\n")
    assert ", 1 complaints" in said, said


def test_enumerator_in_a_table_of_constants():
    expect(f"{SPEC}: macro UNIC_ST_OK is shown, abi/ has none",
           r"^(\| `UNIC_WR_SIGNALED`.*\n)", r"\1| `UNIC_ST_OK` | `0` | x |\n")


def test_macro_under_another_header():
    row = "| `UNIC_ROCE_PORT` | `4791u` | UDP |\n"
    said = expect(f"{SPEC}: macro UNIC_ROCE_PORT is shown under "
                  "abi/unic_mbox.h, abi/unic_wire.h declares it",
                  r"^(\| `UNIC_MAGIC`.*\n)", r"\1" + row)
    assert "macro UNIC_ROCE_PORT is shown twice" in said, said


def test_struct_under_another_header():
    def move(text):
        shown = re.search(r"#### `struct unic_reth`\n(?:.*\n)*?(?=#)", text)[0]
        return text.replace(shown, "").replace(
            "#### `struct unic_eth`", shown + "#### `struct unic_eth`").replace(
                "#### `struct unic_kio_msg`", shown + "#### `struct unic_kio_msg`")

    def out(text):
        shown = re.search(r"#### `struct unic_reth`\n(?:.*\n)*?(?=#)", text)[0]
        return text.replace(shown, "").replace("## Bus\n", shown + "## Bus\n")

    _, said, _ = check(SPEC, move)
    assert (f"{SPEC}: struct unic_reth is shown under abi/unic_kio.h, "
            "abi/unic_wire.h declares it") in said, said
    _, said, _ = check(SPEC, out)
    assert "struct unic_reth is shown under no header, abi/" in said, said
    assert ": a table as those of abi/, but in no section" in said, said


def test_struct_in_another_order():
    expect(f"{SPEC}: struct unic_aeth is shown where struct unic_reth belongs",
           r"(#### `struct unic_reth`\n(?:.*\n)*?)"
           r"(#### `struct unic_aeth`\n(?:.*\n)*?)(?=#)", r"\2\1")


def test_section_without_end():
    said = plant(r"(?<=\n)<!-- end -->\n(?=\n### Link)", "")
    assert ": a section in a section, or an end alone" in said, said


def test_enumerator_in_another_base():
    expect(f"{SPEC}: enum unic_wc_status: UNIC_WC_EVICTED is 10, None is shown",
           r"`10` \| `UNIC_WC_EVICTED`", "`012` | `UNIC_WC_EVICTED`")
    expect(f"{SPEC}: enum unic_wc_status: UNIC_WC_EVICTED is 10, 16 is shown",
           r"`10` \| `UNIC_WC_EVICTED`", "`0x10` | `UNIC_WC_EVICTED`")
    expect(f"{SPEC}: enum unic_mr_rights: UNIC_MR_REMOTE_READ is 2, 3 is shown",
           "`1u << 1`", "`3u << 0`")


def test_list_without_its_last_row():
    expect(f"{SPEC}: enum unic_counter: UNIC_C_COUNT is not shown",
           r"^.*`UNIC_C_COUNT`.*\n", "")
    expect(f"{SPEC}: enum unic_trace_code: UNIC_T_COUNT is not shown",
           r"^.*`UNIC_T_COUNT`.*\n", "")


def test_macro_with_the_same_letters():
    expect(f"{SPEC}: macro UNIC_ROCE_PORT is 4791u, 47 91u is shown",
           "`4791u`", "`47 91u`")
    expect(f"{SPEC}: macro UNIC_MAGIC is 0x43494e55u, 0x43494E55u is shown",
           "`0x43494e55u`", "`0x43494E55u`")


def test_hidden_table():
    place = r"(?<=\n)(#### `struct unic_reth`\n(?:.*\n)*?)(?=#)"
    said = expect(f"{SPEC}: struct unic_reth is not shown",
                  place, r"```\n\1```\n")
    assert ", 1 complaints" in said, said
    for before, after in (("<!--\n", "-->\n"), ("<pre>\n", "</pre>\n")):
        said = plant(place, rf"{before}\1{after}")
        assert ": a comment of several lines, or HTML" in said, said
    said = plant(place, r"```\n\1")
    assert "struct unic_aeth is not shown" in said, said


def test_table_of_another_form():
    for row in ("> | a | b |\n> | --- | --- |\n", "a | b\n--- | ---\n1 | 2\n"):
        said = plant(r"(?<=\n)(#### `struct unic_reth`\n)", row + r"\n\1")
        assert ": a table of another form" in said, said
    said = plant("^## Bus$", "## Bus\n\n* | value | name | meaning |\n"
                 "  | --- | --- | --- |\n  | 1 | `UNIC_NIC_RESET` | x |\n")
    assert ": a table of another form" in said, said
    said = plant(r"^(\| 8 .*`rkey`.*) \|$", r"\1 | or `lkey` |")
    assert ": a row that has not 5 cells" in said, said
    said = plant(r"^(\| 8 .*`rkey`.*\n)", r"\1or `lkey`\n")
    assert ": a row that has not 5 cells" in said, said
    said = plant(r"^(\| 8 .*`rkey`.*\n)", r"\1|  |  |  |  |  |\n")
    assert ": a row that says nothing" in said, said
    said = plant(r"^## Bus$", "## Bus\n\n| a | b |\n| --- | --- |\n")
    assert ": an empty table" in said, said


def test_tables_of_the_chapters_are_free():
    code, said, _ = check(SPEC, lambda text: text.replace(
        "\n## Bus\n", "\n## Bus\n\n---\n\n* | code | ms |\n  | --- | --- |\n"
        "  | 0 | 655.36 |\n\n| offset | bytes | field |\n| --- | --- | --- |\n"
        "| 0 | 2 | MAD, `a\\|b` |\n\n<!-- note -->\n\n```mermaid\n"
        "sequenceDiagram\n# no heading\n| --- | --- |\n```\n"))
    assert code == 0, said


def test_file_that_is_not_there():
    for name in ("unic_old.h", "see docs/seed/DOORBELL.md for it",
                 "`abi/unic_old_*.h`", "(unic_wire.c)", "/usr/include/errno.h",
                 "`firmwares/queue/`", "`tests/vectors/ack.hex`",
                 "[more](OLD.md)", "docs/specs/ivshmem-spec", "firmware/old/unic_port.h"):
        said = plant(r"^## Bus$", rf"## Bus\n\n{name}\n")
        assert "is not a file of the repository" in said and \
            ", 1 complaints" in said, (name, said)


def test_files_that_are_there():
    code, said, _ = check(SPEC, lambda text: text.replace(
        "\n## Bus\n", "\n## Bus\n\nunic_wire.h, `abi/unic_cmd_*.h`, [all]("
        "../abi/README.md), DESIGN.md section 5, tests/runner/run.py. "
        "`unic_le16/32/64` of `/dev/unicN`, `\"/run/unic/unicd.sock\"`, "
        "`ACK/NAK`, <stdint.h>, `<linux/types.h>`, hdr.cookie, 1.2/3.4, "
        "https://example.org/a.md, `abi/golden/`.\n"))
    assert code == 0, said


def test_meaning_missing():
    for row in ("`imm`", "`UNIC_ST_PENDING`", "`rsvd0[15]`", "`hdr`",
                r"`UNIC_T_CMD` \| `UNIC_TG_CMD`",
                r"`UNIC_BAR_INFO_OFF` \| `0x0000u`"):
        name = re.match("`([^`]+)`", row)[1]
        pattern = row.replace("[", r"\[").replace("]", r"\]")
        for meaning in (" ", " - "):
            said = plant(rf"^(\|.*{pattern} \|).*", rf"\1{meaning}|",
                         behind="\n## Reference\n")
            assert f": {name} has no meaning\n" in said and \
                ", 1 complaints" in said, (name, said)


def test_reserved_field_that_is_not_0():
    said = plant(r"^(\|.*`rsvd0\[15\]` \|).*", r"\1 spare |")
    assert ": rsvd0[15] has no meaning" in said, said


def test_number_of_a_chapter():
    for row, by, words in (
            (r"^\| 35 GRANT", "| 38 GRANT", "GRANT is not 38"),
            (r"^\| 7 TOKEN_END", "| 8 TOKEN_END", "TOKEN_END is not 8"),
            (r"ACCEPT(?= \| H N \| 56)", "ACCEPT, 38 REJECT",
             "REJECT is not 38"),
            ("BAD_KEY 16;", "BAD_KEY 15;", "BAD_KEY is not 15"),
            ("18 INDIRECT", "21 INDIRECT", "INDIRECT is not 21")):
        said = plant(row, by)
        assert f": {words}\n" in said and ", 1 complaints" in said, said


def test_counter_of_a_chapter():
    said = plant(r"`rx_duplicate`(?= \| lives)", "`rx_doubled`")
    assert ": rx_doubled is not a counter\n" in said, said


def test_opcode_of_a_chapter():
    for row, by, words in (
            (r"^\| 0b \| 2b", "| 0b | 2c", "WRITE only with immediate of UC "
             "is not 2c"),
            (r"^\| 0c (?=.*READ request)", "| 0d ", "READ request of RC is not 0d"),
            (r"^\| 65 \| SEND", "| 66 | SEND",
             "SEND only with immediate of UD is not 66"),
            (r"^\| 0f .*READ.*\n", "", "opcode 0f is not in the table"),
            (r"^\| c2 (.*\n)\| c3 ", r"| c3 \1| c2 ",
             "tagged last of RC is not c3")):
        said = plant(row, by)
        assert f": {words}\n" in said, (words, said)


def test_offset_of_a_chapter():
    for row, by, words in (
            (r"^\| 44 \| 2 \| P_Key", "| 45 | 2 | P_Key",
             "offset 46 is below 47"),
            (r"^\| 36 \| 4 \| kind", "| 34 | 4 | kind", "offset 34 is below 36"),
            (r"^\| 8 \| 8 \| transaction", "| 8 | 12 | transaction",
             "offset 16 is below 20")):
        said = plant(row, by)
        assert f": {words}\n" in said, (words, said)


def test_place_in_bar2_of_a_chapter():
    said = plant(r"^\| `0x008000` \| 512", "| `0x009000` | 512")
    for at in ("0x008000", "0x009000"):
        assert f": {at} is in abi/ or in the table, not in both\n" in said, said


def test_type_that_cannot_be_shown():
    with_union = "union unic_new {\n\tuint8_t one;\n};\n"
    for text in (with_union, "enum { UNIC_NEW = 1 };\n"):
        code, said, _ = check("abi/unic_wire.h", lambda was: was + text)
        assert code == 1 and ": a union, or a type without a name" in said, said


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
