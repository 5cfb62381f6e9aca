# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Stellaris LM3S6965 evaluation board, Cortex-M3. Variables only.
include boards/serial.mk

BOARD_LDSCRIPT := ld/lm3s6965evb.ld

BOARD_SRCS := $(SERIAL_SRCS) \
	$(addprefix hal/drivers/,one_frame.c pl011.c stellaris_enet.c) \
	$(addprefix hal/cortexm/,identity.c pl011_line.c) \
	$(addprefix hal/lm3s/,lm3s_clock.c port.c)

BOARD_TEST_SRCS := hal/drivers/semihost.c

# The same image for each slot of the flash, the boot stub, and all of it together.
BOARD_SLOTS      := a=0x2000 b=0x1e000
BOARD_BOOT_SRCS  := hal/lm3s/boot.c hal/lm3s/lm3s_clock.c hal/cortexm/boot_choice.c hal/drivers/pl011.c
BOARD_BOOT_LD    := ld/lm3s-boot.ld
