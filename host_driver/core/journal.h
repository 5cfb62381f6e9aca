/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * journal.h - what outlives the driver: memory in which a later driver finds which
 * processes there were, their frames, and what they keep (HELLO_KEEP).
 *
 * Secret: its layout, and the order of the stores: a driver killed between any two of
 * them leaves a record that is whole or not there.
 *
 * Nothing in it is the word of a process that was not checked: each record was validated
 * when its object was made.
 * A process that comes back is identified by its pid and uid from the system, not by
 * what it says. So a region is restored only for the process that had it, with frames
 * of its own slot.
 */
#ifndef UNIC_JOURNAL_H
#define UNIC_JOURNAL_H

#include "unic_os.h"

struct unic_host;
struct unic_obj;

/* Of an object; by index. */
struct unic_obj_note {
	uint32_t id;   /* the last one of this index; 0: none yet */
	uint32_t live; /* written last, cleared first */
	uint16_t owner;
	uint8_t type;
	uint8_t rsvd;
	uint32_t a, b; /* MR: STag; token: index and user */
	uint32_t rsvd1;
	uint64_t made[8]; /* the request that made it */
};

/* Of a process slot. */
struct unic_proc_note {
	uint32_t live; /* written last, cleared first */
	uint32_t pid, uid, weight, quota, policy;
	uint32_t upcall_next;
	uint8_t name[16];
	uint32_t rate[2], burst; /* transmit limit: low word first */
	uint32_t rsvd[2];
};

/** unic_journal_bytes() - as unic_host_journal_bytes(). */
size_t unic_journal_bytes(uint32_t slots, uint64_t slot_bytes);

/** unic_journal_keeps() - true if the objects of slot @owner outlive a reset and the
 * driver. */
bool unic_journal_keeps(const struct unic_host *host, uint32_t owner);

/** unic_journal_foreign() - the version of the records in @journal, a config.journal of before,
 * if it is not that of this core, which would begin them anew; 0: it is, or there are none. */
uint32_t unic_journal_foreign(const void *journal);

/** unic_journal_open() - begin to use host->config.journal. Records of an earlier
 * driver with the same layout stay; else it is made empty. */
void unic_journal_open(struct unic_host *host);

/** unic_journal_proc() - write the record of slot @slot: a process that keeps its
 * objects, or none. */
void unic_journal_proc(struct unic_host *host, uint32_t slot);

/** unic_journal_put() - write the record of @obj, which request @made (64 bytes)
 * made; @a and @b as in struct unic_obj_note. */
void unic_journal_put(struct unic_host *host, const struct unic_obj *obj,
		      const void *made, uint32_t a, uint32_t b);

/** unic_journal_drop() - clear the record of @obj, which lives but is not to be
 * restored. */
void unic_journal_drop(struct unic_host *host, const struct unic_obj *obj);

/** unic_journal_tidy() - clear the records that were not loaded. */
void unic_journal_tidy(struct unic_host *host);

/** unic_journal_proc_note() - the record of process @pid in slot @slot, or NULL. */
const struct unic_proc_note *
unic_journal_proc_note(const struct unic_host *host, uint32_t slot,
		       uint32_t pid);

/** unic_journal_obj_note() - the record of the object with index @i; there must be a
 * journal. */
const struct unic_obj_note *unic_journal_obj_note(const struct unic_host *host,
						  uint32_t i);

#endif /* UNIC_JOURNAL_H */
