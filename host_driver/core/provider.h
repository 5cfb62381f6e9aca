/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider.h - the interface between the generic access layer and a device (S4).
 *
 * The access layer has processes, ids, validation, pins and upcalls; a provider
 * executes commands of abi/unic_mbox.h and delivers events of the same header. There
 * are two providers: the NIC behind a mailbox (provider_nic.c) and a loop-back in
 * software (provider_loop.c).
 *
 * Promises of a provider, audited by the access layer (unic_host.audits):
 *  - unic_host_done() gets each command taken exactly once, never from inside
 *    command(), with the opcode of the command and a defined status;
 *  - events and completions are of the epoch that the last READY named;
 *  - an event comes after the completion of the command that causes the event.
 */
#ifndef UNIC_PROVIDER_H
#define UNIC_PROVIDER_H

#include "unic_mbox.h"
#include "unic_os.h"

struct unic_host; /* host.h, at its end: the calls of a provider */
struct unic_provider;

#define UNIC_REC_WORDS 8u /* 64 bytes */

enum unic_call_state {
	UNIC_CALL_IDLE = 0,
	UNIC_CALL_TAKEN = 1,
};

/* When the command of a call is sent. From one that is FIRST to one that is LAST no
 * others go to the device. That ends, too, when the device is lost, or answers FIRST or
 * NEXT with another status than OK. */
enum unic_call_order {
	UNIC_CALL_IN_TURN = 0,
	UNIC_CALL_FIRST = 1, /* in its turn; those behind it wait */
	UNIC_CALL_NEXT = 2,  /* before those that wait */
	/* as NEXT; those that wait are there before the device can be done with it */
	UNIC_CALL_LAST = 3,
};

/*
 * One command under way. The caller owns the struct and @list and changes neither
 * until done(). @list (or NULL) is the list page of UNIC_LIST_BYTES: input of the
 * command; of DUMP and batches the output, too.
 */
struct unic_call {
	struct unic_call *next;		      /* the provider's, while TAKEN */
	void (*done)(struct unic_call *call); /* the access layer's */
	uint64_t submitted_ns;
	uint64_t cmd[UNIC_REC_WORDS]; /* a struct unic_cmd_* */
	uint64_t cpl[UNIC_REC_WORDS]; /* a struct unic_cpl_*, at done() */
	void *list;
	uint32_t list_bytes; /* of input */
	uint8_t state;	     /* enum unic_call_state */
	uint8_t order;	     /* enum unic_call_order, the access layer's */
};

enum unic_provider_state {
	UNIC_PROVIDER_ABSENT = 0, /* as enum unic_ctl_nic */
	UNIC_PROVIDER_STARTING = 1,
	UNIC_PROVIDER_READY = 2,
	UNIC_PROVIDER_DEAD = 3,
};

struct unic_provider_ops {
	const char *name;
	/** start() - reset the device; poll() reports READY or DEAD. Each command
	 * under way completes FAILED, from start() or from poll(). */
	void (*start)(struct unic_provider *p);
	/** command() - take @call. 0; -ENODEV when not READY. */
	int (*command)(struct unic_provider *p, struct unic_call *call);
	/** poll() - do bounded work and pass on completions and events. @now:
	 * CLOCK_MONOTONIC, ns. Returns when to call again at the latest,
	 * UINT64_MAX: when the device rings. */
	uint64_t (*poll)(struct unic_provider *p, uint64_t now);
	/** soon() - as unic_host_soon(). NULL: poll() leaves nothing to wait for. */
	bool (*soon)(struct unic_provider *p);
	/** rest() - @on: have the device ring for new work. Returns false if there
	 * is work already: poll again. Not @on: the device need not ring. */
	bool (*rest)(struct unic_provider *p, bool on);
	/** peek() - copy @bytes at offset @off of the BAR (UNIC_BAR_*) to @buf.
	 * False if the provider has no such page. */
	bool (*peek)(struct unic_provider *p, uint32_t off, void *buf,
		     uint32_t bytes);
	/* the device has translations of its own; else each region of it is
	 * RESIDENT, whatever features it names */
	bool tables;
	/** plug() - the device left the bus, or joined it (@there). */
	void (*plug)(struct unic_provider *p, bool there);
	/** fence(), fenced() - as unic_host_fence(). NULL: the device accesses
	 * memory only within poll(). */
	void (*fence)(struct unic_provider *p);
	bool (*fenced)(struct unic_provider *p);
	/** fini() - free the provider's allocations, except @p. NULL: there are
	 * none. */
	void (*fini)(struct unic_provider *p);
};

/* First member of every provider. */
struct unic_provider {
	const struct unic_provider_ops *ops;
	struct unic_host *host;
	struct unic_os *os;
	uint32_t bad_records; /* and indices of the device, refused so far */
};

#endif /* UNIC_PROVIDER_H */
