/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem.h - for other modules of this kernel: memory of theirs, registered with a
 * NIC as that of a process is. It has entries of the NIC, is asked back by notices, and
 * peers READ and WRITE it by RDMA.
 *
 * A handle has a process slot of its own, with the fair share of a process. Unless it
 * says otherwise, a function may sleep, is called in process context without a lock that
 * a function of struct unic_kmem_ops takes, and not while the system may wait for it to
 * write out pages. Functions of different regions of a handle may run at the same time.
 *
 * After a reset of the NIC all regions have ended: gone() says so of each, then lost()
 * that the handle is set up again. It listens again if it did: at once or, if a process
 * took the service before it, when that has ended. After the NIC is gone (unbound, or
 * taken out) nothing begins any more.
 *
 * Secret: how a handle asks the core, and from which thread its module is called.
 */
#ifndef UNIC_KMEM_H
#define UNIC_KMEM_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct scatterlist;
struct unic_kmem;

#define UNIC_KMEM_PAGES	  512u /* of 4 KiB, of a region, at most */
#define UNIC_KMEM_PRIVATE 56u  /* bytes of private data */
#define UNIC_KMEM_CONNS	  8u   /* connections of a handle at a time */

#define UNIC_KMEM_READ	1u /* a peer may READ */
#define UNIC_KMEM_WRITE 2u /* a peer may WRITE */

/* A region. It lives until unic_kmem_release() or unic_kmem_close(); `of` is the
 * module's, the others are only read. */
struct unic_kmem_mr {
	u32 stag;    /* what a peer names it by */
	u64 address; /* of its first byte, to a peer; 42 bits are random */
	u64 length;  /* bytes */
	void *of;
};

/* A request for a connection. */
struct unic_kmem_request {
	u32 ipv4;		  /* of the peer, host order */
	const void *private_data; /* what the peer said, valid in the call */
	u32 private_bytes;
	/* the answer, accepted or not: of the module */
	u8 reply[UNIC_KMEM_PRIVATE];
	u32 reply_bytes;
};

/*
 * Functions of the module. They are called one at a time for a handle, by a work queue,
 * without a lock; they may sleep, and call any function of the same handle but
 * unic_kmem_close() and unic_kmem_listen(). While one runs, no other notice is told: one
 * that sleeps long loses regions at their deadlines. NULL: not called.
 */
struct unic_kmem_ops {
	/** notice() - the NIC asks @mr back, for @why (enum unic_reason); @left_us:
	 * until its deadline. unic_kmem_release() gives it back, here or later. If
	 * nothing does, the NIC takes it, and gone() follows. */
	void (*notice)(void *of, struct unic_kmem_mr *mr, u32 why, u32 left_us);
	/** gone() - @mr has ended, for @why (enum unic_reason; RESET: the NIC was
	 * reset, EXIT: it is gone). Its STag means nothing any more, but @mr and its
	 * pages are the module's again only after unic_kmem_release(). */
	void (*gone)(void *of, struct unic_kmem_mr *mr, u32 why);
	/** lost() - after a reset, when the handle is set up again and regions may be
	 * registered; or (@forever) the NIC is gone, and the handle is to be
	 * closed. */
	void (*lost)(void *of, bool forever);
};

/**
 * unic_kmem_open() - a handle of NIC @number (/dev/unicN). @name: for reports, 15 bytes
 * of it; copied. @ops stays until unic_kmem_close(); @of is passed to its functions.
 * Returns the handle, the caller's until unic_kmem_close(); lost() may come before it
 * returns. Or ERR_PTR(): -ENODEV, no such NIC; -EAGAIN, no process slot is free, or the NIC
 * is being reset; -ENOTCONN, a reset came in between; -ETIMEDOUT, the NIC did not answer;
 * -EOPNOTSUPP, it cannot; -ENOMEM. On error nothing is left, and nothing was called.
 */
struct unic_kmem *unic_kmem_open(unsigned int number, const char *name,
				 const struct unic_kmem_ops *ops, void *of);

/**
 * unic_kmem_close() - end @k with all its regions and connections. No other function of
 * @k is running or comes later, except those of its ops, which are waited for. When it
 * returns, no function of ops runs, and the NIC reaches nothing of @k; if it has not
 * said so within seconds, pages of @k stay allocated until the driver leaves the NIC.
 */
void unic_kmem_close(struct unic_kmem *k);

/**
 * unic_kmem_register() - register the bytes of @sg, an array of @n elements, for peers:
 * @access is UNIC_KMEM_*. @dir: as of dma_map_sg(), READ needs TO_DEVICE, WRITE
 * FROM_DEVICE, or BIDIRECTIONAL. Each element but the first begins at a page of 4 KiB,
 * each but the last ends at one. The pages are no slab pages; a reference to each is
 * taken. Where the entries of the NIC are in use, it waits in line for them,
 * @timeout_us at most (0: for ever); a signal ends the wait.
 * Returns 0, and the region in *@out; then @sg is the caller's, and the pages are shared with
 * the NIC until unic_kmem_release(). notice() and gone() may come before it returns, after
 * it wrote *@out: `of` of the region is NULL then.
 * -EINVAL; -EMSGSIZE, too many pages; -ETIME; -EINTR; -ENOMEM, a table is full; -EDQUOT;
 * -E2BIG, it can never fit; -EAGAIN, in a function of ops before lost(), or too many
 * wait; -ENOTCONN, a reset came in between; -ENODEV, the NIC is gone; -EOPNOTSUPP, the
 * NIC cannot reach the pages, or not coherently; -EBUSY, the NIC did not answer: as of
 * unic_kmem_release(). On error nothing is registered.
 */
int unic_kmem_register(struct unic_kmem *k, struct scatterlist *sg, int n,
		       enum dma_data_direction dir, u32 access, u32 timeout_us,
		       struct unic_kmem_mr **out);

/**
 * unic_kmem_release() - end @mr and free it, whatever its state; answers an open notice.
 * Sleeps until the NIC reaches its pages no more, the grace of the NIC at most, and waits
 * for a function of ops that is about @mr, unless it is called there. The pages are
 * unmapped then.
 * Returns 0; or -EBUSY, the NIC has not said so within seconds: @mr is gone all the same,
 * but the NIC may still write to the pages. The handle keeps its references to them, so
 * that they become nobody else's; the caller drops its own, and uses them no more.
 */
int unic_kmem_release(struct unic_kmem_mr *mr);

/**
 * unic_kmem_listen() - take connections for @service of libunic's unic_connect(), until
 * unic_kmem_close(); once for a handle. The module posts nothing: a peer READs and WRITEs
 * regions whose STags it was told. @allow runs like a function of ops: 0 accepts @r, anything
 * else rejects it; r->reply goes to the peer.
 * Returns 0; -EADDRINUSE, something listens there; -EBUSY, @k does; -EAGAIN, @k is not set
 * up; -ENODEV, -ENOMEM, -ENOTCONN, -ETIMEDOUT as of unic_kmem_open(). On error @k does not
 * listen.
 */
int unic_kmem_listen(struct unic_kmem *k, u64 service,
		     int (*allow)(void *of, struct unic_kmem_request *r));

#endif /* UNIC_KMEM_H */
