/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * debug_port.h - JTAG as an adapter drives it: the TAP (IEEE 1149.1), the debug port
 * and its memory access port (ARM IHI 0031), in OpenOCD's remote_bitbang over a
 * connection. Each clock of JTAG takes virtual time, in which the processor runs.
 *
 * Secret: the bits. The accesses pass no MPU; of devices without a clock they fail.
 */
#ifndef BOARD_MODEL_DEBUG_PORT_H
#define BOARD_MODEL_DEBUG_PORT_H

#include "board.h"

struct debug_port;

/** debug_port_serve() - the JTAG connector of @board is the socket at @path. */
struct debug_port *debug_port_serve(struct board *board, const char *path);

/** debug_port_attached() - an adapter is connected. */
bool debug_port_attached(const struct debug_port *port);

#endif /* BOARD_MODEL_DEBUG_PORT_H */
