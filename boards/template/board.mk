# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# A board to copy: Cortex-M3, host at the end of a UART (docs/PORTING.md).
# Variables only.
include boards/serial.mk

BOARD_LDSCRIPT := ld/template.ld

# chip.c is what is left to write. semihost.c goes when the console is written.
BOARD_SRCS := $(SERIAL_SRCS) hal/drivers/one_frame.c hal/drivers/semihost.c \
	hal/template/chip.c hal/template/port.c
