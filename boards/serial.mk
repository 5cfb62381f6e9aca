# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# ... and those whose host is at the end of a UART. Variables only.
include boards/cortexm.mk

# For size: 112 KiB of flash is what there is, and the UART is slower than any
# code.
BOARD_CFLAGS += -Os -Ihal/serial

# For BOARD_SRCS.
SERIAL_SRCS := $(addprefix hal/cortexm/,start.S crash.c mpu.c serial_host.c) \
	hal/drivers/crash_record.c $(addprefix hal/serial/,frame.c near.c near_out.c stream.c)

# The whole core, but with a table of 64 bytes for CRC-32 and not 8 KiB, and a cipher without
# vectors.
BOARD_CORE = $(patsubst firmware/base/icrc_table.c,$(ICRC_SMALL),$(patsubst \
	firmware/base/random_vector.c,$(RANDOM_SMALL),$(FIRMWARE)))
