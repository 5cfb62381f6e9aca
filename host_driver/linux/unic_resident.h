/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_resident.h - the page service of a NIC (host_driver/kio), for other modules
 * of this kernel: I/Os to files that other hosts export, from and to pages
 * wherever they lie.
 *
 * Secret: how the service runs inside this driver: its slot, its memory, whose
 * thread and under which lock.
 */
#ifndef UNIC_RESIDENT_H
#define UNIC_RESIDENT_H

#include <linux/dma-direction.h>
#include <linux/list.h>

#include "kio_client.h"
#include "kio_ring.h"

struct scatterlist;
struct unic_os;
struct unic_resident;

/* The NIC reaches the pages of an I/O from its start until done(). */
struct unic_resident_io {
	struct unic_kio io;	/* what and when; not its pieces and done() */
	struct scatterlist *sg; /* an array: io.len bytes */
	int elements;		/* UNIC_TOKEN_PIECES at most */
	enum dma_data_direction dir;
	/** done() - see unic_resident_start(); @status and @bytes: as in struct
	 * unic_kio. */
	void (*done)(struct unic_resident_io *io, int status, u32 bytes);
	/* the service's */
	struct unic_resident *of;
};

/**
 * unic_resident_get() - the service of NIC @number (/dev/unicN), set up if nobody
 * used it so far. May sleep. It lasts until unic_resident_put(); when the NIC goes
 * before, no further I/O begins.
 * Returns it, or ERR_PTR(): -ENODEV, no such NIC; -ENOMEM; -EINTR; -EOPNOTSUPP, the
 * machine has memory where an I/O does not reach.
 */
struct unic_resident *unic_resident_get(unsigned int number);

/** unic_resident_put() - drop the reference of unic_resident_get(); the last one ends the
 * service. The caller has no I/O open. May sleep. */
void unic_resident_put(struct unic_resident *r);

/* A user that is told when the NIC goes. */
struct unic_resident_watch {
	struct list_head node;
	/** gone() - the NIC was taken from its driver: no further I/O begins. Called
	 * once, with a lock of the driver held. */
	void (*gone)(struct unic_resident_watch *w);
};

/** unic_resident_watch() - @w is told, until unic_resident_unwatch(). False: it has
 * gone already, and nothing is told. */
bool unic_resident_watch(struct unic_resident *r,
			 struct unic_resident_watch *w);
void unic_resident_unwatch(struct unic_resident *r,
			   struct unic_resident_watch *w);

/** unic_resident_max() - bytes of an I/O at most. */
size_t unic_resident_max(const struct unic_resident *r);

/** unic_resident_window() - I/Os that it has under way with a host, at most, now:
 * fewer while the NIC asks processes for entries. */
u32 unic_resident_window(const struct unic_resident *r);

/**
 * unic_resident_start() - begin @io at the service of host @ipv4 (host order): the
 * caller's part is filled in. May sleep, but waits for no host.
 * Returns 0, and io->done() follows: once, with a lock of the driver held, so it
 * may neither sleep nor call us; perhaps before this returns. The pages are the
 * caller's again then. -EINVAL; -EBUSY, too many hosts, or no room to map the
 * pages: later; -ENODEV, the NIC is gone.
 */
int unic_resident_start(struct unic_resident *r, struct unic_resident_io *io,
			u32 ipv4);

/** unic_resident_free_orphans() - for the driver itself: free the services whose memory
 * the NIC did not release, once it cannot reach memory. Nothing of @os is in use. */
void unic_resident_free_orphans(struct unic_os *os);

#endif /* UNIC_RESIDENT_H */
