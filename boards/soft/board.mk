# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The soft NIC: a native process. Variables only.
BOARD_CC_PREFIX :=
BOARD_CFLAGS := -O2
BOARD_LDFLAGS :=
BOARD_LDSCRIPT :=
BOARD_MAIN_SRCS := hal/soft/main.c
BOARD_SRCS = $(addprefix hal/,soft/crash.c soft/port.c \
	soft/soft_attach.c drivers/ivshmem_client.c drivers/link_layout.c drivers/link_ring.c) \
	host_driver/libunic/patience.c host_driver/daemon/say.c $(ARGUMENTS)
