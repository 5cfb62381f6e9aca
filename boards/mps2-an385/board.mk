# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Arm MPS2 with FPGA image AN385, Cortex-M3. Variables only.
include boards/cortexm.mk

BOARD_LDSCRIPT := ld/mps2-an385.ld

BOARD_SRCS := $(addprefix hal/cortexm/,start.S mem.S crash.c mpu.c) \
	$(addprefix hal/mps2/,port.c link.c) \
	$(addprefix hal/drivers/,cmsdk_uart.c crash_record.c dma_window.c lan9118.c one_frame.c)

# What copies in the image of the instruction counts, and where its cpu_copy.h is.
BOARD_HAL := hal/mps2
BOARD_COPY_SRCS := hal/cortexm/mem.S

BOARD_TEST_SRCS := hal/drivers/semihost.c
