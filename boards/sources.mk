# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What is linked from what boards/<board>/board.mk says.
PARTS_unic.elf = $(BOARD_MAIN_SRCS) $(BOARD_SRCS) core.a
PARTS_boot.elf = $(BOARD_BOOT_SRCS)
# The NIC as a process: BOARD=soft.
PARTS_unic-nic = $(PARTS_unic.elf) $(RECORDER)
KIND_unic-nic := soft
