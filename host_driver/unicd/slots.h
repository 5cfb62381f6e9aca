/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.h - whose a slot's memory is (the states are in slots.c). @slot is below
 * os->slots.
 */
#ifndef UNICD_SLOTS_H
#define UNICD_SLOTS_H

#include "unicd.h"

/**
 * unicd_slots_init() - read from unicd.slots, in the directory of the bus, whom an
 * earlier unicd gave which slot, and hold those slots for them. Call it once, after
 * the core was made and before the first plug. Without such a file, which is logged,
 * no owner is remembered; the loop-back has none.
 */
void unicd_slots_init(struct unic_os *os);

/**
 * unicd_slots_journal() - for config.journal of the core: the file unicd.journal in
 * the directory of the bus, mapped until the process ends.
 * Returns NULL without a bus, or if it cannot be had, which is logged; MAP_FAILED if it is of
 * another version of unicd, whose processes would be lost: the log says what to do.
 */
void *unicd_slots_journal(const struct unic_os *os);

/** unicd_slots_own() - @slot belongs to the process of @client; written to unicd.slots
 * before the function returns. */
void unicd_slots_own(struct unic_os *os, uint32_t slot,
		     const struct unicd_client *client);

/** unicd_slots_ended() - the process that owns @slot ended; its descriptor is not
 * watched after this. */
void unicd_slots_ended(struct unic_os *os, uint32_t slot);

/**
 * unicd_slots_check() - ask for other memory for the slots that were left.
 * Returns when to call it again even if nothing happens, in nanoseconds of
 * unic_os_now_ns(); UINT64_MAX: there is nothing to wait for.
 */
uint64_t unicd_slots_check(struct unic_os *os);

/**
 * unicd_slots_renewed() - the answer to unicd_board_renew(): @slot has the file @fd,
 * which belongs to @os from here on, and becomes free; or, @fd -1, it keeps the memory
 * that it had, and goes back to no other user.
 */
void unicd_slots_renewed(struct unic_os *os, uint32_t slot, int fd);

/** unicd_slots_lost() - the answer to unicd_board_renew() came without the file of @slot,
 * for which there was no descriptor: unicd_slots_check() asks for another one later. */
void unicd_slots_lost(struct unic_os *os, uint32_t slot);

/** unicd_slots_nic_left() - a NIC left: slots whose memory could not be exchanged are
 * asked for once more. */
void unicd_slots_nic_left(struct unic_os *os);

#endif /* UNICD_SLOTS_H */
