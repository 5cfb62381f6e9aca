/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_ring.h - the memory of the driver's own process slot, and the queues in it.
 *
 * Secret: where everything lies, and how the NIC is told. One completion queue for
 * all links; a link has a send and a receive ring with a message buffer for each of
 * their slots; behind them the buffers for data. All are named by bus address, in
 * one physical region, so none of it takes a TLB entry (memory.md section 8).
 *
 *   page 0..2   doorbell page, NIC page, upcall ring (abi/unic_queue.h)
 *        3..    completion queue; rings and messages of each link; buffers
 *
 * What the NIC writes is checked before it is believed.
 */
#ifndef UNIC_KIO_RING_H
#define UNIC_KIO_RING_H

#include "unic_kio.h"
#include "unic_ctl.h"
#include "unic_os.h"
#include "unic_queue.h"

#define UNIC_KIO_OUT	 4u /* links that we made, at most */
#define UNIC_KIO_IN	 8u /* ... and that others made */
#define UNIC_KIO_LINKS	 (UNIC_KIO_OUT + UNIC_KIO_IN)
#define UNIC_KIO_SLOTS	 64u   /* of a send or receive ring */
#define UNIC_KIO_CQES	 2048u /* a completion for each slot there is, and more */
#define UNIC_KIO_BUFFERS 32u   /* of UNIC_KIO_MAX bytes */

/* Whose send it is; with the place in its window. */
enum unic_kio_tag {
	UNIC_KIO_TAG_RECV = 1,
	UNIC_KIO_TAG_SEND = 2,	 /* a message: nobody asks */
	UNIC_KIO_TAG_CLIENT = 3, /* data of a client */
	UNIC_KIO_TAG_SERVER = 4,
};

struct unic_kio_ring {
	struct unic_os *os;
	uint8_t *mem;	/* the slot's */
	uint32_t slot;	/* its number */
	uint32_t stag;	/* of the region */
	uint32_t fifo;	/* doorbell words written */
	uint32_t cq_ci; /* completions read */
	uint32_t armed; /* cq_ci at which we asked to be rung, plus 1 */
	uint32_t bad;	/* completions of nothing */
	struct {
		uint32_t qpn;
		uint32_t posted, done; /* send slots */
		uint32_t receives;     /* posted */
		bool live;
	} link[UNIC_KIO_LINKS];
	uint32_t free; /* bit per buffer */
};

/* What a completion says. */
struct unic_kio_done {
	uint32_t link;
	uint8_t tag; /* enum unic_kio_tag */
	uint8_t at;
	bool ok;
	uint32_t bytes;		 /* RECV: of the message, which is ... */
	const void *msg;	 /* ... there, until unic_kio_ring_repost() */
	uint32_t token, payload; /* RECV of a tagged message */
};

/** unic_kio_ring_bytes() - of a slot, at least. */
uint64_t unic_kio_ring_bytes(void);

/** unic_kio_ring_init() - the rings of slot @slot, whose memory is @mem: nothing
 * is posted, all buffers are free. */
void unic_kio_ring_init(struct unic_kio_ring *r, struct unic_os *os, void *mem,
			uint32_t slot);

/** unic_kio_ring_bus() - bus address of the first byte of the region. */
uint64_t unic_kio_ring_bus(const struct unic_kio_ring *r);
/** unic_kio_ring_length() - bytes of the region. */
uint64_t unic_kio_ring_length(void);

/** unic_kio_ring_cq() - fill in the addresses of a CQ_CREATE. */
void unic_kio_ring_cq(const struct unic_kio_ring *r,
		      struct unic_ctl_cq_create *cmd);

/** unic_kio_ring_qp() - clear the rings of @link, fill in the QP_CREATE. */
void unic_kio_ring_qp(struct unic_kio_ring *r, uint32_t link,
		      struct unic_ctl_qp_create *cmd);

/** unic_kio_ring_up() - the queue pair of @link has number @qpn: post all its
 * receives. */
void unic_kio_ring_up(struct unic_kio_ring *r, uint32_t link, uint32_t qpn);

/** unic_kio_ring_down() - it is destroyed; what comes of it is ignored. */
void unic_kio_ring_down(struct unic_kio_ring *r, uint32_t link);

/** unic_kio_ring_send() - a message and @name behind it. False: no room (a link
 * never needs as much). */
bool unic_kio_ring_send(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_msg *msg, const void *name,
			uint32_t name_bytes);

/** unic_kio_ring_data() - @bytes of @buf to a token of the peer, @msg as control
 * part; the completion has @tag and @at. False: no room. */
bool unic_kio_ring_data(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_msg *msg, uint32_t token,
			uint64_t key, const void *buf, uint32_t bytes,
			enum unic_kio_tag tag, uint32_t at);

/** unic_kio_ring_poll() - the next completion. False: none. */
bool unic_kio_ring_poll(struct unic_kio_ring *r, struct unic_kio_done *out);

/** unic_kio_ring_repost() - the message of a RECV was read. */
void unic_kio_ring_repost(struct unic_kio_ring *r, uint32_t link, uint32_t at);

/** unic_kio_ring_rest() - ask to be rung. False: there is something already. */
bool unic_kio_ring_rest(struct unic_kio_ring *r);

/** unic_kio_ring_get() - a buffer, or NULL. */
void *unic_kio_ring_get(struct unic_kio_ring *r);
void unic_kio_ring_put(struct unic_kio_ring *r, void *buf);

/** unic_kio_ring_at() - bus address of @p, which lies in the region. */
uint64_t unic_kio_ring_at(const struct unic_kio_ring *r, const void *p);

/**
 * unic_os_ring_slot() - the NIC's doorbell of @slot, as a process rings it. The
 * user of kio defines it.
 */
void unic_os_ring_slot(struct unic_os *os, uint32_t slot);

#endif /* UNIC_KIO_RING_H */
