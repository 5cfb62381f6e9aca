/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_qemu.h - a NIC of board virt: its firmware in QEMU.
 *
 * Secret: the machine that QEMU is told to make, which is that of qemu/run_nic.py.
 */
#ifndef RUN_QEMU_H
#define RUN_QEMU_H

#include "run_child.h"

/** run_qemu_start() - start a NIC on the bus of folder @bus and on the wire of socket @wire,
 * with its lines in a file of folder @dir. It is ready when its driver says so. 0, or -1 after a
 * line on stderr: QEMU, or the image of the firmware, is not there. */
int run_qemu_start(struct run_child *nic, const char *dir, const char *bus,
		   const char *wire);

#endif /* RUN_QEMU_H */
