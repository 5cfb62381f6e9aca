# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# A board at the end of JTAG, for OpenOCD.
PARTS_flash-model := tests/flash/board_model.c
