# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# EK-TM4C1294XL (Tiva C, TM4C1294NCPDT), Cortex-M4F. Variables only.
include boards/serial.mk

# The last -mcpu counts. No code here has a use for the FPU, which stays off.
BOARD_CFLAGS += -mcpu=cortex-m4 -mfloat-abi=soft

BOARD_LDSCRIPT := ld/ek-tm4c1294xl.ld

BOARD_SRCS := $(SERIAL_SRCS) \
	$(addprefix hal/drivers/,one_frame.c pl011.c emac.c emac_link.c) \
	hal/cortexm/pl011_line.c $(addprefix hal/tm4c/,chip.c port.c)

# The same image for each slot of the flash, the boot stub, and all of it together
# (hal/tm4c/boot.c).
BOARD_SLOTS      := a=0x40000 b=0x80000
BOARD_BOOT_SRCS  := hal/tm4c/boot.c hal/tm4c/chip.c hal/cortexm/boot_choice.c hal/drivers/pl011.c
BOARD_BOOT_LD    := ld/ek-tm4c1294xl-boot.ld
