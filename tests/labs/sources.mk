# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The exercises of docs/labs. Their checks compile them, as a student does, but for the
# board: an image of the template with the student's file in it (BOARD=template).
LABS := $(addprefix docs/labs/,1-hoarding/hoard.c 2-grace/move.c 3-policy/policy.c 4-doorbell/ring.c \
	5-token/receive.c 6-board/chip.c)
LABS += $(foreach l,$(LABS),$(dir $l)solution/$(notdir $l)) docs/labs/5-token/attack.c

LAB_CHIP := docs/labs/6-board/chip.c
PARTS_lab_board.elf = $(LAB_CHIP) $(BOARD_MAIN_SRCS) $(filter-out hal/template/chip.c,$(BOARD_SRCS)) \
	hal/drivers/pl011.c core.a

INC_$(patsubst %/,%,$(dir $(LAB_CHIP))) := -Ihal/template -Ihal/drivers -Ihal/cortexm -Ihal
INC_docs/labs/6-board/solution := -Ihal/template -Ihal/drivers
