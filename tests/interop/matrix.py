# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What `make interop PART=rxe` must have tried: a row for each opcode, size, fault of the
wire and direction. Only names are here; rows.py does them, and a name that was not done
is a failure."""
import itertools

import programs

BOARDS = ("soft", "virt")
WAYS = ("rxe to unic", "unic to rxe")
# name: options of unic-wire
MIXED = ("--reorder", "1%", "--dup", "1%")
WIRES = {"clean": (), "mixed": MIXED, "loss 1%": ("--loss", "1%", *MIXED),
         "loss 5%": ("--loss", "5%", *MIXED)}
SIZES = (1, 13, 255, 1023, 4097, 65537, 1048575, 8388608)
RC = ("send", "send_imm", "send_inv", "write", "write_imm", "read")
ATOMICS = ("cas", "cas_other", "faa", "unaligned")
UC = ("send", "send_imm", "write", "write_imm")
UC_SIZES = (1, 255, 4097, 65537)
UD = ("send", "send_imm")
UD_SIZES = (1, 13, 255, 1023, 4096)
MTUS = (256, 512, 1024, 2048, 4096)
SHORT = ("send", "write", "read")  # of each kind of responder
OTHERS = ("rnr waits", "rnr ends", "key write", "key read", "bounds write",
          "bounds read")

QUICK = "RC write 65537"


def of_wire(wire):
    """(kind, operation, size or MTU) of each row of one direction over @wire."""
    rows = [("RC", op, size) for op, size in itertools.product(RC, SIZES)]
    rows += [("atomic", op, 8) for op in ATOMICS]
    rows += [("PSN wrap", op, 65537) for op in SHORT]
    rows += [("MTU", op, mtu) for op, mtu in itertools.product(SHORT, MTUS)]
    rows += [("error", name, 0) for name in OTHERS]
    if wire == "clean":
        rows += [("UC", op, size) for op, size in itertools.product(UC, UC_SIZES)]
        rows += [("UD", op, size) for op, size in itertools.product(UD, UD_SIZES)]
    else:  # what arrives is right; without an immediate nobody knows what it was
        rows += [("UC", op, 4097) for op in ("send_imm", "write_imm")]
        rows += [("UD", "send_imm", size) for size in (13, 1023)]
    return rows


def programs_of(board, wire):
    """(direction of the client, command line) of the programs to run."""
    lines = {"soft": programs.ALL, "virt": programs.PINGPONGS}[board]
    return itertools.product(WAYS, lines if wire == "clean" else ())


def name(board, way, wire, row):
    kind, op, size = row
    return f"{board}, {way}, {wire}: {kind} {op}" + (f" {size}" if size else "")


def expected(wires=WIRES):
    found = [name(board, way, wire, row) for wire in wires for board in BOARDS
             for way in WAYS for row in of_wire(wire)]
    return found + [name(board, way, wire, ("program", line, 0)) for wire in wires
                    for board in BOARDS for way, line in programs_of(board, wire)]
