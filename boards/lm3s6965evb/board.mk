# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Stellaris LM3S6965 evaluation board, Cortex-M3. Variables only.

BOARD_CC_PREFIX := arm-none-eabi-

# For size: 112 KiB of flash is what there is, and the UART is slower than any
# code.
BOARD_CFLAGS := -Os -mcpu=cortex-m3 -mthumb -ffreestanding -fbuiltin \
	-fno-common -ffunction-sections -fdata-sections \
	-Ihal/cortexm -Ihal/serial -fcallgraph-info=su

BOARD_LDFLAGS := -nostartfiles -specs=nano.specs \
	-Wl,--gc-sections,--fatal-warnings,--print-memory-usage

BOARD_LDSCRIPT := ld/lm3s6965evb.ld

BOARD_SRCS := $(addprefix hal/cortexm/,start.S crash.c mpu.c) \
	$(addprefix hal/drivers/,one_frame.c pl011.c stellaris_enet.c) \
	$(addprefix hal/serial/,frame.c near.c stream.c) hal/lm3s/port.c

BOARD_MAIN_SRCS := hal/cortexm/main.c

BOARD_TEST_SRCS := hal/drivers/semihost.c

# The whole core, but with a table of 64 bytes for CRC-32 and not 8 KiB.
BOARD_CORE = $(patsubst firmware/icrc_table.c,$(ICRC_SMALL),$(FIRMWARE))

# Whoever makes a stack deeper than it is hears of it when he links.
BOARD_AFTER_LINK = tools/stack_depth.py $@ $(B)/$(BOARD)/firmware $(B)/$(BOARD)/hal

# The same image for each slot of the flash, the boot stub, and all of it together.
BOARD_SLOTS      := a=0x2000 b=0x1e000
BOARD_BOOT_SRCS  := hal/lm3s/boot.c hal/drivers/pl011.c
BOARD_BOOT_LD    := ld/lm3s-boot.ld
