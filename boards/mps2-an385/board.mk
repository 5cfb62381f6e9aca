# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Arm MPS2 with FPGA image AN385, Cortex-M3. Variables only.

BOARD_CC_PREFIX := arm-none-eabi-

# -fbuiltin after -ffreestanding: there is no library but mem*(), yet a memcpy
# of 8 bytes must not become a call. Unaligned accesses are fine (normal memory).
BOARD_CFLAGS := -mcpu=cortex-m3 -mthumb -ffreestanding -fbuiltin \
	-fno-common -ffunction-sections -fdata-sections -Ihal/cortexm \
	-fcallgraph-info=su

BOARD_LDFLAGS := -nostartfiles -specs=nano.specs \
	-Wl,--gc-sections,--fatal-warnings,--print-memory-usage

BOARD_LDSCRIPT := ld/mps2-an385.ld

BOARD_SRCS := $(addprefix hal/cortexm/,start.S mem.S crash.c mpu.c) \
	$(addprefix hal/mps2/,port.c link.c) \
	$(addprefix hal/drivers/,cmsdk_uart.c lan9118.c one_frame.c)

BOARD_MAIN_SRCS := hal/cortexm/main.c

# What copies in the image of the instruction counts, and where its cpu_dma.h is.
BOARD_HAL := hal/mps2
BOARD_COPY_SRCS := hal/cortexm/mem.S

BOARD_TEST_SRCS := hal/drivers/semihost.c

# Whoever makes a stack deeper than it is hears of it when he links.
BOARD_AFTER_LINK = tools/stack_depth.py $@ $(B)/$(BOARD)/firmware $(B)/$(BOARD)/hal
