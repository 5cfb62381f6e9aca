/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider.h - the line between the generic access layer and a device (S4).
 *
 * The access layer knows processes, ids, validation, pins and upcalls; a
 * provider executes commands of abi/unic_mbox.h and delivers events of the
 * same header. Two providers: the NIC behind a mailbox (provider_nic.c) and a
 * loop-back in software (provider_loop.c).
 *
 * Promises of a provider, audited by the access layer (unic_host.audits):
 *  - a command taken is called back exactly once, never from inside
 *    command(), with the opcode it was given and a known status;
 *  - no event and no callback is of another epoch than the last READY told;
 *  - events come after the callbacks of the commands they follow from.
 */
#ifndef UNIC_PROVIDER_H
#define UNIC_PROVIDER_H

#include "unic_mbox.h"
#include "unic_os.h"

struct unic_host; /* what a provider calls of it is in host.h */
struct unic_provider;

#define UNIC_REC_WORDS 8u /* 64 bytes */

enum unic_call_state {
	UNIC_CALL_IDLE = 0,
	UNIC_CALL_TAKEN = 1,
};

/*
 * One command under way. The caller owns the memory and leaves it alone until
 * done(); with list != NULL that is the list page: UNIC_LIST_BYTES, contents
 * in with the command, and for DUMP and batches out with the completion.
 */
struct unic_call {
	struct unic_call *next;		      /* the provider's, while TAKEN */
	void (*done)(struct unic_call *call); /* the access layer's */
	uint64_t submitted_ns;
	uint64_t cmd[UNIC_REC_WORDS]; /* a struct unic_cmd_* */
	uint64_t cpl[UNIC_REC_WORDS]; /* a struct unic_cpl_*, at done() */
	void *list;
	uint32_t list_bytes; /* of it that count with the command */
	uint8_t state;	     /* enum unic_call_state */
};

enum unic_provider_state {
	UNIC_PROVIDER_ABSENT = 0, /* as enum unic_ctl_nic */
	UNIC_PROVIDER_STARTING = 1,
	UNIC_PROVIDER_READY = 2,
	UNIC_PROVIDER_DEAD = 3,
};

struct unic_provider_ops {
	const char *name;
	/** start() - reset the device; READY or DEAD is told from poll(). Every
	 * command under way is called back FAILED, now or from poll(). */
	void (*start)(struct unic_provider *p);
	/** command() - take @call. 0; -ENODEV when not READY. */
	int (*command)(struct unic_provider *p, struct unic_call *call);
	/** poll() - bounded work; calls back. @now: CLOCK_MONOTONIC, ns. Returns
	 * when it wants to be called again, UINT64_MAX: when rung. */
	uint64_t (*poll)(struct unic_provider *p, uint64_t now);
	/** soon() - as unic_host_soon(). NULL: there is nothing to wait for. */
	bool (*soon)(struct unic_provider *p);
	/** rest() - @on: nobody polls now, ring from here on. Returns false if
	 * there is work already: poll again. Not @on: somebody is about to. */
	bool (*rest)(struct unic_provider *p, bool on);
	/** peek() - copy of what the device says about itself, by offset in the
	 * BAR (UNIC_BAR_*). False if it has no such thing. */
	bool (*peek)(struct unic_provider *p, uint32_t off, void *buf,
		     uint32_t bytes);
	/** tables() - the memory for page tables, UNIC_TABLE_BYTES, that only
	 * the driver and the device see. NULL: it knows no residency but
	 * RESIDENT. */
	unic_le64 *(*tables)(struct unic_provider *p);
	/** gone() - the device left the bus, or joined it (@there). */
	void (*plug)(struct unic_provider *p, bool there);
	/** fence(), fenced() - as unic_host_fence(). NULL: it touches nothing but
	 * when it is polled. */
	void (*fence)(struct unic_provider *p);
	bool (*fenced)(struct unic_provider *p);
	/** fini() - free what it allocated, but not @p. NULL: nothing. */
	void (*fini)(struct unic_provider *p);
};

/* First member of every provider. */
struct unic_provider {
	const struct unic_provider_ops *ops;
	struct unic_host *host;
	struct unic_os *os;
	uint32_t
		bad_records; /* records and indices of the device refused so far */
};

#endif /* UNIC_PROVIDER_H */
