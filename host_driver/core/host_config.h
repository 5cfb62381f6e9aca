/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* host_config.h - what the user of the core says of itself and of its processes. */
#ifndef UNIC_HOST_CONFIG_H
#define UNIC_HOST_CONFIG_H

#include "provider.h"
#include "unic_ctl.h"

#define UNIC_HOST_SLOTS_MAX 24u

/* Limits by default, by enum unic_ctl_limit. What one process has done of one kind takes
 * about half of a core at these rates. */
#define UNIC_LIMIT_FAULTS	 100000u
#define UNIC_LIMIT_REGISTRATIONS 250000u
#define UNIC_LIMIT_UPCALLS	 20000u

struct unic_ids;

/* One connection of a process; the user embeds it and sets the first three. */
struct unic_client {
	uint32_t pid, uid;
	bool privileged; /* may do what only root or the driver's user may */
	bool kernel;	 /* the driver itself: its memory has bus addresses */
	uint32_t
		keeper; /* `kernel`: 1 + slot of the driver that this one's is an
			  * account of (UNIC_FEAT_ACCOUNTS); 0: of none */
	uint32_t slot;	/* the core's; starts as UNIC_OS_NO_SLOT */
	uint32_t open;	/* requests without reply; starts as 0 */
};

struct unic_host_config {
	uint32_t slots;	       /* 1..UNIC_HOST_SLOTS_MAX */
	uint32_t user_slots;   /* that all processes of one uid have at most, if
				* they are not privileged; 0: any number */
	bool slots_of_users;   /* a slot that unic_os_slot_unused() goes back to
				* any process of the user who had it, not only
				* to the process */
	uint64_t slot_bytes;   /* of each, a multiple of 4096 */
	uint64_t slots_at;     /* 0: each is a file; else all are one, and there
				* the first begins, a multiple of 64 KiB */
	void *const *slot_mem; /* mapping of each slot, for the life of it */
	/* memory of unic_host_journal_bytes(), zeros at first, with the records
	 * of an earlier driver, and for a later one (journal.h); NULL: processes
	 * do not outlive the driver */
	void *journal;
	/* where ids of objects come from, for all NICs of the host; NULL: there is
	 * no other NIC, and ids begin anew with each driver */
	struct unic_ids *ids;
	uint64_t board; /* which memory the slots are: another one, and the
			 * journal is about nothing */
	uint32_t limit[UNIC_CTL_LIMITS]; /* of a new process (limit.h) */
	uint32_t ipv4;			 /* of the NIC, host order */
	uint32_t number;		 /* of the NIC in the host */
	char name[16];			 /* of the NIC, zero-padded */
	/* list_nics() - store a row for each NIC of the host, this one, too, by
	 * number; returns how many, UNIC_CTL_NICS_MAX at most. NULL: this one only */
	uint32_t (*list_nics)(struct unic_os *os, struct unic_ctl_nic_row *row);
	uint32_t pid;	     /* of the driver, for reports */
	uint8_t ack_timeout; /* of a connection that names none, 4.096 us * 2^n; 0:
			      * 12. For a NIC that takes longer to acknowledge */
	struct unic_cmd_set_params params; /* header ignored */
};

#endif /* UNIC_HOST_CONFIG_H */
