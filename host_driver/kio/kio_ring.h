/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_ring.h - the queues of the page service, and their memory.
 *
 * Secret: the layout of the memory, and the doorbell. There is one completion queue for
 * all links; each link has a send and a receive ring with a message buffer for each of
 * their slots; the buffers for data follow, if there are any. All are in one region
 * with bus addresses, which takes no TLB entry (docs/MEMORY.md section 8). Data in more
 * pieces than a work request can name becomes one indirect region (a form) first, by a
 * work request of its own. Doorbell page and NIC page are those of the driver's process
 * slot.
 *
 * Each field that the NIC writes is checked before use.
 */
#ifndef UNIC_KIO_RING_H
#define UNIC_KIO_RING_H

#include "unic_kio.h"
#include "unic_ctl.h"
#include "unic_os.h"
#include "unic_queue.h"

#define UNIC_KIO_OUT	 4u /* outgoing links, at most */
#define UNIC_KIO_IN	 8u /* incoming links, at most */
#define UNIC_KIO_LINKS	 (UNIC_KIO_OUT + UNIC_KIO_IN)
#define UNIC_KIO_SLOTS	 64u		 /* of a send or receive ring */
#define UNIC_KIO_CQES	 2048u		 /* at least one for each slot */
#define UNIC_KIO_BUFFERS 32u		 /* of UNIC_KIO_MAX bytes, at most */
#define UNIC_KIO_FORMS	 UNIC_KIO_WINDOW /* at most */
/* Most pieces of data that is sent without a form. */
#define UNIC_KIO_GATHER (UNIC_SQ_SGE_MAX - 1u)

/* The kind of request that completes; data has the place in its owner's window. */
enum unic_kio_tag {
	UNIC_KIO_TAG_RECV = 1,
	UNIC_KIO_TAG_SEND = 2,	 /* a message: ignored */
	UNIC_KIO_TAG_CLIENT = 3, /* data of a client */
	UNIC_KIO_TAG_SERVER = 4,
	UNIC_KIO_TAG_RDMA = 5, /* of a server */
};

struct unic_kio_ring {
	struct unic_os *os;
	uint8_t *slot_mem; /* first page of the driver's slot */
	uint8_t *mem;	   /* of the queues */
	uint64_t bus;	   /* bus address of `mem` */
	uint32_t slot;	   /* number of the slot */
	uint32_t stag;	   /* of the region */
	uint32_t fifo;	   /* doorbell words written */
	uint32_t cq_ci;	   /* completions read */
	/* cq_ci at which the CQ was armed, plus 1; 0: never */
	uint32_t armed;
	uint32_t bad; /* completions that fit no posted slot */
	struct {
		uint32_t qpn;
		uint32_t posted, done;	     /* send slots */
		uint32_t receives, received; /* posted, completed */
		bool live;
	} link[UNIC_KIO_LINKS];
	uint32_t free;		       /* bit per buffer */
	uint32_t form[UNIC_KIO_FORMS]; /* their STags */
	uint32_t forms, free_forms;    /* how many; bit per form */
};

/* A parsed completion. */
struct unic_kio_done {
	uint32_t link;
	uint8_t tag; /* enum unic_kio_tag */
	uint8_t at;
	bool ok;	 /* false: the link has failed */
	bool stale;	 /* RDMA, ok: the peer's region was taken back */
	uint32_t bytes;	 /* RECV: of the message */
	const void *msg; /* valid until unic_kio_ring_repost() */
	uint32_t token, payload; /* RECV of a tagged message */
};

/** unic_kio_ring_bytes() - size of the memory of the queues and of @buffers buffers. */
uint64_t unic_kio_ring_bytes(uint32_t buffers);

/** unic_kio_ring_init() - make @r empty: no request is posted, all buffers are free.
 * @slot_mem: the pages of process slot @slot; @mem: unic_kio_ring_bytes(@buffers) at
 * bus address @bus; both mapped for the life of @r. */
void unic_kio_ring_init(struct unic_kio_ring *r, struct unic_os *os,
			void *slot_mem, uint32_t slot, void *mem, uint64_t bus,
			uint32_t buffers);

/** unic_kio_ring_cq() - fill in the addresses of a CQ_CREATE. */
void unic_kio_ring_cq(const struct unic_kio_ring *r,
		      struct unic_ctl_cq_create *cmd);

/** unic_kio_ring_qp() - clear the rings of @link, fill in the QP_CREATE. */
void unic_kio_ring_qp(struct unic_kio_ring *r, uint32_t link,
		      struct unic_ctl_qp_create *cmd);

/** unic_kio_ring_up() - the queue pair of @link has number @qpn: post all its
 * receives. */
void unic_kio_ring_up(struct unic_kio_ring *r, uint32_t link, uint32_t qpn);

/** unic_kio_ring_down() - the queue pair of @link is destroyed: ignore its
 * completions. */
void unic_kio_ring_down(struct unic_kio_ring *r, uint32_t link);

/** unic_kio_ring_send() - send @msg and @name behind it. False: no room (which the
 * windows of a link never use up). */
bool unic_kio_ring_send(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_msg *msg, const void *name,
			uint32_t name_bytes);

/* Bytes for a token of the peer. */
struct unic_kio_data {
	const struct unic_token_piece *piece;
	/* UNIC_KIO_GATHER at most; with a form, UNIC_TOKEN_PIECES */
	uint32_t pieces;
	uint32_t form; /* unic_kio_ring_form(); 0: none */
	uint32_t token;
	uint64_t key;
};

/** unic_kio_ring_data() - send @data, @msg as control part; the completion has
 * @tag and @at. False: no room. */
bool unic_kio_ring_data(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_msg *msg,
			const struct unic_kio_data *data, enum unic_kio_tag tag,
			uint32_t at);

/* Bytes of this side that are written to a region of the peer, or read from there. */
struct unic_kio_rdma {
	struct unic_token_piece piece;
	bool read;
	uint32_t stag;
	uint64_t iova;
};

/** unic_kio_ring_rdma() - move @rdma; the completion has UNIC_KIO_TAG_RDMA and @at.
 * False: no room. */
bool unic_kio_ring_rdma(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_rdma *rdma, uint32_t at);

/** unic_kio_ring_poll() - copy the next completion to @out. False: none. A RECV that is
 * not the next one of its link is not ok: the NIC has left one out. */
bool unic_kio_ring_poll(struct unic_kio_ring *r, struct unic_kio_done *out);

/** unic_kio_ring_repost() - post the receive of the last RECV of @link that was ok; its
 * message has been read. */
void unic_kio_ring_repost(struct unic_kio_ring *r, uint32_t link);

/** unic_kio_ring_rest() - arm the CQ, so that the NIC rings at the next completion.
 * False: one is there already. */
bool unic_kio_ring_rest(struct unic_kio_ring *r);

/** unic_kio_ring_get() - take a buffer of UNIC_KIO_MAX bytes, to be given back by
 * unic_kio_ring_put(); NULL: none is free. */
void *unic_kio_ring_get(struct unic_kio_ring *r);
void unic_kio_ring_put(struct unic_kio_ring *r, void *buf);

/** unic_kio_ring_add_form() - add a form, UNIC_KIO_FORMS at most: @stag is that of an
 * indirect region of UNIC_TOKEN_PIECES elements. */
void unic_kio_ring_add_form(struct unic_kio_ring *r, uint32_t stag);

/** unic_kio_ring_form() - take a form for data; 0: none is free. The caller gives the
 * form back by unic_kio_ring_form_put() when the data has left. */
uint32_t unic_kio_ring_form(struct unic_kio_ring *r);
void unic_kio_ring_form_put(struct unic_kio_ring *r, uint32_t form);

/** unic_kio_ring_at() - the bus address of @p, a pointer into the memory of the
 * queues. */
uint64_t unic_kio_ring_at(const struct unic_kio_ring *r, const void *p);

#endif /* UNIC_KIO_RING_H */
