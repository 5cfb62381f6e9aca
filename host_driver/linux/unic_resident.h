/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_resident.h - the page service of a NIC (host_driver/kio), for other
 * modules of this kernel: I/Os to files that other hosts export, from and to
 * pages wherever they lie.
 *
 * Secret: how the service runs inside this driver: its slot, its memory, its
 * thread and its locks.
 */
#ifndef UNIC_RESIDENT_H
#define UNIC_RESIDENT_H

#include <linux/dma-direction.h>
#include <linux/list.h>

#include "kio_client.h"
#include "kio_ring.h"

struct scatterlist;
struct unic_resident;

/* The NIC reaches the pages of an I/O from its start until done(). */
struct unic_resident_io {
	/* the caller fills in what and when, and token_only; not the pieces, clean
	 * and done() */
	struct unic_kio io;
	struct scatterlist *sg; /* array of io.len bytes */
	int elements;		/* UNIC_TOKEN_PIECES at most */
	enum dma_data_direction dir;
	/** done() - see unic_resident_start(); @status and @bytes: as in struct
	 * unic_kio. */
	void (*done)(struct unic_resident_io *io, int status, u32 bytes);
	/* of the service */
	struct unic_resident *of;
};

/**
 * unic_resident_get() - get the service of NIC @number (/dev/unicN), and set it
 * up for the first user. May sleep. The service lasts until unic_resident_put();
 * after the NIC has gone no further I/O begins. Returns the service, or
 * ERR_PTR(): -ENODEV, no such NIC; -ENOMEM; -EINTR; -EOPNOTSUPP, the machine has
 * memory where an I/O does not reach.
 */
struct unic_resident *unic_resident_get(unsigned int number);

/** unic_resident_put() - drop the reference of unic_resident_get(); the last one ends the
 * service. The caller has no I/O open. May sleep. */
void unic_resident_put(struct unic_resident *r);

/* A user that gone() notifies when the NIC goes. */
struct unic_resident_watch {
	struct list_head node;
	/** gone() - the NIC was taken from its driver: no further I/O begins. Called
	 * once, with a lock of the driver held. */
	void (*gone)(struct unic_resident_watch *w);
};

/** unic_resident_watch() - call w->gone() when the NIC goes, until
 * unic_resident_unwatch(). Returns false: the NIC has gone already, and gone() is
 * not called. */
bool unic_resident_watch(struct unic_resident *r,
			 struct unic_resident_watch *w);
void unic_resident_unwatch(struct unic_resident *r,
			   struct unic_resident_watch *w);

/** unic_resident_max() - the bytes of an I/O at most. */
size_t unic_resident_max(const struct unic_resident *r);

/** unic_resident_window() - the number of I/Os that the service keeps under way
 * with one host at present: fewer while the NIC asks processes for entries. */
u32 unic_resident_window(const struct unic_resident *r);

/**
 * unic_resident_start() - begin @io at the service of host @ipv4 (host order):
 * the caller's part is filled in. May sleep, but waits for no host. Returns 0,
 * and io->done() follows: once, with a lock of the driver held, so done() may
 * neither sleep nor call a function of this header; perhaps before
 * unic_resident_start() returns. With done() the pages are the caller's again.
 * -EINVAL; -EBUSY, too many hosts, or no room to map the pages: later; -ENODEV,
 * the NIC is gone.
 */
int unic_resident_start(struct unic_resident *r, struct unic_resident_io *io,
			u32 ipv4);

#endif /* UNIC_RESIDENT_H */
