/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dma.h - moving bytes between NIC memory and regions of host memory.
 *
 * Secret: how a transfer is cut at page and burst limits, and what happens
 * between a port that answers "pending" and the end of that piece. Each piece
 * in flight holds a reference on its region (unic_mr_dma_get), so that an
 * eviction drains exactly that region and never stops the engine (INV-3).
 *
 * A port that completes at once never touches the job table.
 */
#ifndef UNIC_DMA_H
#define UNIC_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "memory/mr.h"
#include "unic_queue.h"

struct unic_transport;

#define UNIC_DMA_SPANS	6u /* scatter-gather elements of one transfer */
#define UNIC_DMA_NO_JOB UNIC_DMA_JOBS

/* Whom a finished piece belongs to. */
enum unic_dma_owner {
	UNIC_DMA_CQE = 0,    /* a record of completion queue `who` */
	UNIC_DMA_SQ = 1,     /* slots of the send queue of QP `who` */
	UNIC_DMA_RQ = 2,     /* slots of the receive queue of QP `who` */
	UNIC_DMA_TX = 3,     /* payload of transmit job `who` */
	UNIC_DMA_RX = 4,     /* payload of the frame being received */
	UNIC_DMA_SWEEP = 5,  /* receive slots looked through for an eviction */
	UNIC_DMA_LIST = 6,   /* the list of a work request, see local_ops.h */
	UNIC_DMA_ATOMIC = 7, /* the word of an atomic operation of QP `who` */
	UNIC_DMA_SRQ = 8, /* a slot of its shared receive queue, for QP `who` */
	/* slots of one that are looked through for an eviction */
	UNIC_DMA_SRQ_SWEEP = 9,
};

/*
 * One transfer: spans in order <-> consecutive NIC memory. Owned by its user,
 * who fills everything down to `who` and must keep it (and the NIC memory)
 * until `pending` is 0.
 */
struct unic_sgl {
	struct unic_mr_span span[UNIC_DMA_SPANS];
	uint8_t *local;
	uint8_t n, i;	 /* spans; the one to go on with */
	uint8_t to_host; /* direction */
	uint8_t owner;	 /* enum unic_dma_owner */
	uint16_t who;
	uint16_t pending; /* pieces in flight */
	bool failed;	  /* one of them ended in a bus error */
};

struct unic_dma_job {
	uint16_t mr;
	uint16_t who;
	uint16_t next; /* free list */
	uint8_t owner;
	bool busy;
	uint32_t count;	     /* SQ, RQ: slots fetched */
	struct unic_cqe cqe; /* CQE: the record, until it is written */
};

struct unic_dma {
	uint32_t free_head; /* what every transfer needs comes first */
	uint32_t bytes; /* moved, not yet in the counter: unic_roce_count() */
	struct unic_dma_job job[UNIC_DMA_JOBS];
};

/** unic_dma_init() - no piece is in flight, all jobs are free. */
void unic_dma_init(struct unic_transport *nic);

/**
 * unic_dma_run() - submit what is left of @sgl.
 *
 * Returns 0: all of it is submitted, and done too when sgl->pending is 0.
 * -UNIC_EAGAIN: no room now, call again with the same @sgl at a later poll.
 * -UNIC_EBUS: the bus refused (counted). -UNIC_EEVICTED: the translation is
 * gone. After an error earlier pieces may still be pending.
 */
int unic_dma_run(struct unic_transport *nic, struct unic_sgl *sgl);

/**
 * unic_dma_fetch() - read @count 64-byte slots of a queue into @local.
 * @mr:  control region they are in.
 * @bus: address of the first; the range must not cross a page of the region.
 * Returns 0: done. -UNIC_EPENDING: unic_sq_fetched() / unic_rq_fetched() /
 * unic_rq_swept() / unic_srq_fetched() / unic_srq_swept() will be told. -UNIC_EAGAIN, -UNIC_EBUS: nothing happened.
 */
int unic_dma_fetch(struct unic_transport *nic, enum unic_dma_owner owner,
		   uint16_t who, uint16_t mr, uint64_t bus, void *local,
		   uint32_t count);

/** unic_dma_fetch_shared() - the same, for shared queues: with one more who calls it,
 * unic_dma_fetch() would be a call of its own in the two that fetch for queue pairs. */
int unic_dma_fetch_shared(struct unic_transport *nic, enum unic_dma_owner owner,
			  uint16_t who, uint16_t mr, uint64_t bus, void *local,
			  uint32_t count);

/**
 * unic_dma_cqe() - write one completion record of queue @cq to @bus, which is
 * in region @mr; copied at once.
 * Returns 0: written. -UNIC_EPENDING: on its way, unic_cq_written() will be
 * told. -UNIC_EAGAIN, -UNIC_EBUS: nothing happened.
 */
int unic_dma_cqe(struct unic_transport *nic, uint16_t cq, uint16_t mr,
		 uint64_t bus, const struct unic_cqe *cqe);

/**
 * unic_dma_word() - move the 8 bytes at @local, to or from @bus, which is in region @mr,
 * for an atomic operation of QP @who.
 * Returns 0: done. -UNIC_EPENDING: unic_atomics_moved() will be told. -UNIC_EAGAIN,
 * -UNIC_EBUS: nothing happened.
 */
int unic_dma_word(struct unic_transport *nic, bool to_host, uint16_t who,
		  uint16_t mr, uint64_t bus, unic_le64 *local);

/** unic_dma_adopt() - the transfer just submitted under tag dma.free_head, for
 * @owner and @who, answered "pending": its end will be told. */
void unic_dma_adopt(struct unic_transport *nic, uint16_t mr,
		    enum unic_dma_owner owner, uint16_t who);

/** unic_dma_poll() - take finished pieces of ports that answer "pending" and
 * tell their owners; at most UNIC_DMA_JOBS. True if there were any. */
bool unic_dma_poll(struct unic_transport *nic);

/** unic_dma_busy() - is any piece in flight? */
bool unic_dma_busy(const struct unic_transport *nic);

#endif /* UNIC_DMA_H */
