/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_pin_work.h - what of a process's memory takes time, done by workers.
 */
#ifndef UNIC_PIN_WORK_H
#define UNIC_PIN_WORK_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct unic_mem;
struct unic_pin;

#define UNIC_FETCHES 16 /* of one process at a time */

/* Pages that a caller under unic_os.lock asked for, fetched by a worker without
 * it: free, running, or done until the caller takes them. */
struct unic_fetch {
	struct work_struct work;
	struct unic_mem *mem; /* NULL: no worker runs */
	/* the result, until it is taken: a pin, ERR_PTR, or NULL */
	struct unic_pin *pin;
	unsigned long first, last;
	unsigned long since; /* jiffies when the fetch ended */
	bool write;
};

/** unic_pin_work_init() - create the workqueues, once at load. Returns 0 or -ENOMEM; on
 * error nothing is left. */
int unic_pin_work_init(void);

/** unic_pin_work_exit() - wait for the work that has begun, and destroy the queues. */
void unic_pin_work_exit(void);

/** unic_pin_work_flush() - wait until the pins dropped so far have no bus address. The
 * caller holds no lock. */
void unic_pin_work_flush(void);

/** unic_pin_work_new() - initialise the work items of @mem, which is zero otherwise. */
void unic_pin_work_new(struct unic_mem *mem);

/** unic_pin_work_end() - begin no further look at @mem. May sleep. */
void unic_pin_work_end(struct unic_mem *mem);

/**
 * unic_pin_fetch_async() - take the pin that a worker fetched of these pages, or start the
 * worker. Does not sleep; unic_os.lock may be held. The module is in use until the worker
 * is done.
 * Returns a pin that is not active and is the caller's, or ERR_PTR of unic_pin_fetch();
 * -EAGAIN: the worker is at it, and kicks the engine afterwards.
 */
struct unic_pin *unic_pin_fetch_async(struct unic_mem *mem, unsigned long first,
				      unsigned long last, bool write);

/** unic_pin_bound() - say whether fetched pins are taken. With @bound false, drop those
 * that are done, and every one that a worker still brings. */
void unic_pin_bound(struct unic_mem *mem, bool bound);

/** unic_pin_untaken() - drop the pins that nobody took for a second. Returns true
 * if some are left. */
bool unic_pin_untaken(struct unic_mem *mem);

/** unic_pin_free_async() - have a worker free @p, which is in no tree; consumes @p. */
void unic_pin_free_async(struct unic_mem *mem, struct unic_pin *p);

/** unic_mem_recheck() - have a worker compare active pins in [@first, @last] with
 * the pages that are mapped there. The caller holds mem->lock. */
void unic_mem_recheck(struct unic_mem *mem, unsigned long first,
		      unsigned long last);

#endif /* UNIC_PIN_WORK_H */
