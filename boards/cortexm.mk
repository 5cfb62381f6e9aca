# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What boards with a Cortex-M3 have in common; included by theirs. Variables only.

BOARD_CC_PREFIX := arm-none-eabi-

# -fbuiltin after -ffreestanding: there is no library but mem*(), yet a memcpy
# of 8 bytes must not become a call. Unaligned accesses are fine (normal memory).
BOARD_CFLAGS := -mcpu=cortex-m3 -mthumb -ffreestanding -fbuiltin \
	-fno-common -ffunction-sections -fdata-sections -Ihal/cortexm \
	-fcallgraph-info=su

BOARD_LDFLAGS := -nostartfiles -specs=nano.specs \
	-Wl,--gc-sections,--fatal-warnings,--print-memory-usage

BOARD_MAIN_SRCS := hal/cortexm/main.c

# Whoever makes a stack deeper than it is hears of it when he links.
BOARD_AFTER_LINK = tools/check/stack_depth.py $@ $(B)/$(BOARD)/firmware $(B)/$(BOARD)/hal
