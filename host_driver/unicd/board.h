/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * board.h - where the memory of the slots and the doorbells come from: unic-bus, or,
 * for the loop-back, files of unicd itself. All of it lies in struct unic_os and stays
 * until the process ends. Errors are logged by the function that meets them.
 */
#ifndef UNICD_BOARD_H
#define UNICD_BOARD_H

#include "unicd.h"

/**
 * unicd_board_attach() - connect to the unic-bus in opt.bus, map the mailbox and the
 * slots that it offers, and watch its socket and its doorbells. Waits 5 seconds for an
 * answer, at most.
 * Returns 0; -EBUSY: another driver serves that bus; -EPERM: its directory is not to
 * be trusted; -EPROTO: the bus offers memory that cannot be used; -ENOMEM; -errno.
 * On an error @os may hold a part of it: the process should end.
 */
int unicd_board_attach(struct unic_os *os);

/**
 * unicd_board_own() - opt.slots files of opt.slot_bytes bytes as memory of the slots,
 * mapped; no mailbox and no doorbells, since the loop-back needs none.
 * Returns 0 or -errno; then the process should end.
 */
int unicd_board_own(struct unic_os *os);

/**
 * unicd_board_event() - take one message of the bus, if there is one: a NIC came or
 * left, which plugs or unplugs it in the core, or a slot has other memory, which
 * unicd_slots_renewed() is told.
 * Returns 0; -EPIPE: the bus is gone, or ended the connection; -EPROTO: it sent a
 * malformed message; -EPROTONOSUPPORT: it sent a message of another version; -EMFILE: a
 * NIC came whose doorbells found no room among the descriptors of this process.
 */
int unicd_board_event(struct unic_os *os);

/**
 * unicd_board_renew() - ask for other memory for @slot. unicd_slots_renewed() brings
 * the answer: with a bus later, without one before this call returns.
 * Returns 0, or -errno: nothing was asked, try again later.
 */
int unicd_board_renew(struct unic_os *os, uint32_t slot);

/**
 * unicd_board_exchange() - map file @fd of opt.slot_bytes bytes in place of the memory
 * of @slot; pointers into the slot stay valid.
 * Returns 0: @fd belongs to @os, and the old file is closed. -ENOMEM: nothing changed,
 * and @fd is still the caller's.
 */
int unicd_board_exchange(struct unic_os *os, uint32_t slot, int fd);

/** unicd_board_detach() - give back memory, doorbells and the connection to the bus; the
 * core of @os has ended. */
void unicd_board_detach(struct unic_os *os);

#endif /* UNICD_BOARD_H */
