# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# A board to copy: Cortex-M3, host at the end of a UART (docs/PORTING.md).
# Variables only.

BOARD_CC_PREFIX := arm-none-eabi-

BOARD_CFLAGS := -Os -mcpu=cortex-m3 -mthumb -ffreestanding -fbuiltin \
	-fno-common -ffunction-sections -fdata-sections \
	-Ihal/cortexm -Ihal/serial -fcallgraph-info=su

BOARD_LDFLAGS := -nostartfiles -specs=nano.specs \
	-Wl,--gc-sections,--fatal-warnings,--print-memory-usage

BOARD_LDSCRIPT := ld/template.ld

# chip.c is what is left to write. semihost.c goes when the console is written.
BOARD_SRCS := $(addprefix hal/cortexm/,start.S crash.c mpu.c) \
	$(addprefix hal/serial/,frame.c near.c stream.c) \
	hal/drivers/semihost.c hal/template/chip.c hal/template/port.c

BOARD_MAIN_SRCS := hal/cortexm/main.c

# 64 bytes of tables for CRC-32, not 8 KiB: for boards of little flash.
BOARD_CORE = $(patsubst firmware/icrc_table.c,$(ICRC_SMALL),$(FIRMWARE))

# Whoever makes a stack deeper than it is hears of it when he links.
BOARD_AFTER_LINK = tools/stack_depth.py $@ $(B)/$(BOARD)/firmware $(B)/$(BOARD)/hal
