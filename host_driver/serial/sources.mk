# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The host's end of the serial host link.
FAR         := host_driver/serial/far.c
# ... on a system with files.
SERIAL_LINE := $(addprefix host_driver/serial/,serial_line.c tty.c)

INC_host_driver/serial               = -Ihost_driver/serial -Ihal/serial -Ihal
INC_host_driver/serial/serial_line.c = $(INC_host_driver/serial) -Ihost_driver/daemon
