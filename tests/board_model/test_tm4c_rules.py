#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""board-model's TM4C1294 objects to each rule that is broken, and to nothing else: a
program that is in order, and the same with one rule broken (breaker_tm4c.c).

usage: test_tm4c_rules.py [CASE ...]
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_board_model import NONE, Breaker  # noqa: E402

# Case: what the fault says. Others may follow it.
RULES = {
    0: NONE,
    1: "the main oscillator is used before it is stable",
    2: "the crystal of 25 MHz needs OSCRNG",
    3: "the PLL is used before it has locked",
    4: "while MEMTIM0=00b300b3 is in effect",
    5: "while MEMTIM0=00300030 is in effect, which is for 16 MHz",
    6: "the PLL oscillates at 400000 kHz",
    7: "the PLL in use is set up anew",
    10: "UART at 40012024 is accessed while it is not ready",
    11: "UART at 40012024 is accessed while it is not ready",
    12: "a locked pin changes",
    13: "pins of JTAG change",
    14: NONE,
    15: "FMA=000fc400 is not of 16384 bytes",
    16: "while the flash is busy",
    29: NONE,
    30: "is accessed during a soft reset",
    31: "is accessed during a soft reset",
    32: "MDC has 7500000 Hz",
    33: "while the management interface is busy",
    34: "the length of a buffer is not a multiple of 4",
    35: "has a bus error at 10000000",
    36: "the first descriptor of a frame is given away before",
    37: "a frame without a first descriptor",
    38: "software writes word 1 of the transmit descriptor",
    39: "a frame is sent before the link was ever up",
    40: "in another speed or duplex",
    41: "to send without store and forward is not modelled",
    42: "a descriptor list is written while its DMA runs",
    43: "software writes word 2 of the receive descriptor",
    44: "EMACPC was written after the transceiver had read it",
}


if __name__ == "__main__":
    sys.exit(Breaker("tm4c1294", "cortex-m4", "breaker_tm4c.c", RULES,
                     range(29, 50)).main())
