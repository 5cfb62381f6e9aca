/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* dma.c - see dma.h. */
#include <string.h>

#include "transport/transport.h"
#include "transport/requester.h"
#include "transport/rq.h"
#include "transport/rq_sweep.h"
#include "transport/tx.h"
#include "transport/sq.h"
#include "memory/access.h"

void unic_dma_init(struct unic_transport *nic)
{
	struct unic_dma *dma = &nic->dma;
	uint32_t i;

	memset(dma, 0, sizeof(*dma));
	for (i = 0; i < UNIC_DMA_JOBS; i++)
		dma->job[i].next = (uint16_t)(i + 1);
	dma->job[UNIC_DMA_JOBS - 1].next = UNIC_DMA_NO_JOB;
	nic->pieces = 0;
}

bool unic_dma_busy(const struct unic_transport *nic)
{
	return nic->pieces != 0;
}

static struct unic_dma_job *take_job(struct unic_transport *nic, uint16_t mr,
				     enum unic_dma_owner owner, uint16_t who)
{
	struct unic_dma *dma = &nic->dma;
	struct unic_dma_job *job = &dma->job[dma->free_head];

	dma->free_head = job->next;
	nic->pieces++;
	job->busy = true;
	job->mr = mr;
	job->owner = (uint8_t)owner;
	job->who = who;
	unic_mr_dma_get(&nic->memory, mr);
	return job;
}

void unic_dma_adopt(struct unic_transport *nic, uint16_t mr,
		    enum unic_dma_owner owner, uint16_t who)
{
	take_job(nic, mr, owner, who);
}

/*
 * One piece, under the tag of the next free job. Returns an enum
 * unic_port_status; the caller takes the job if it is PENDING.
 */
static inline int submit_piece(struct unic_transport *nic, bool to_host,
			       uint64_t bus, uint32_t len, void *local)
{
	uint32_t tag = nic->dma.free_head;
	int r;

	if (unlikely(tag == UNIC_DMA_NO_JOB))
		return UNIC_PORT_EAGAIN;
	r = unic_port_dma(nic->port,
			  to_host ? UNIC_DMA_TO_HOST : UNIC_DMA_FROM_HOST, bus,
			  local, len, tag);
	if (unlikely(r == UNIC_PORT_EFAULT))
		UNIC_COUNT(nic, dma_errors);
	else if (r != UNIC_PORT_EAGAIN)
		nic->dma.bytes += len;
	return r;
}

static int error_of(int port_status)
{
	return port_status == UNIC_PORT_EAGAIN ? -UNIC_EAGAIN : -UNIC_EBUS;
}

/* Where the next piece of @s is. */
static inline int xlate_span(struct unic_transport *nic,
			     const struct unic_mr_span *s,
			     struct unic_xlate *piece)
{
	uint32_t len = s->len < UNIC_DMA_MAX ? s->len : UNIC_DMA_MAX;

	if (unlikely(!s->direct))
		return unic_xlate(&nic->memory, s->mr, s->iova, len, piece);
	piece->bus = s->bus;
	piece->len = len;
	return 0;
}

int unic_dma_run(struct unic_transport *nic, struct unic_sgl *sgl)
{
	struct unic_xlate piece;
	struct unic_mr_span *s;
	int r;

	for (; sgl->i < sgl->n; sgl->i++) {
		s = &sgl->span[sgl->i];
		piece.len = 0;
		while (s->len) {
			r = xlate_span(nic, s, &piece);
			if (unlikely(r))
				return r;
			r = submit_piece(nic, sgl->to_host, piece.bus,
					 piece.len, sgl->local);
			if (unlikely(r == UNIC_PORT_PENDING)) {
				take_job(nic, s->mr, sgl->owner, sgl->who);
				sgl->pending++;
			} else if (unlikely(r != UNIC_PORT_OK)) {
				return error_of(r);
			}
			s->len -= piece.len;
			if (!s->len)
				break;
			sgl->local += piece.len;
			s->iova += piece.len;
			s->bus += piece.len;
		}
		sgl->local += piece.len;
	}
	return 0;
}

static inline __attribute__((always_inline)) int
fetch_pieces(struct unic_transport *nic, enum unic_dma_owner owner,
	     uint16_t who, uint16_t mr, uint64_t bus, void *local,
	     uint32_t count)
{
	int r = submit_piece(nic, false, bus, count * UNIC_SLOT_BYTES, local);

	if (r == UNIC_PORT_OK)
		return 0;
	if (r != UNIC_PORT_PENDING)
		return error_of(r);
	take_job(nic, mr, owner, who)->count = count;
	return -UNIC_EPENDING;
}

int unic_dma_fetch(struct unic_transport *nic, enum unic_dma_owner owner,
		   uint16_t who, uint16_t mr, uint64_t bus, void *local,
		   uint32_t count)
{
	return fetch_pieces(nic, owner, who, mr, bus, local, count);
}

__attribute__((noinline, cold)) int
unic_dma_fetch_shared(struct unic_transport *nic, enum unic_dma_owner owner,
		      uint16_t who, uint16_t mr, uint64_t bus, void *local,
		      uint32_t count)
{
	return fetch_pieces(nic, owner, who, mr, bus, local, count);
}

int unic_dma_cqe(struct unic_transport *nic, uint16_t cq, uint16_t mr,
		 uint64_t bus, const struct unic_cqe *cqe)
{
	struct unic_dma *dma = &nic->dma;
	struct unic_cqe *copy;
	int r;

	if (unlikely(dma->free_head == UNIC_DMA_NO_JOB))
		return -UNIC_EAGAIN;
	copy = &dma->job[dma->free_head].cqe; /* the port may read it later */
	*copy = *cqe;
	r = submit_piece(nic, true, bus, sizeof(*cqe), copy);
	if (likely(r == UNIC_PORT_OK))
		return 0;
	if (r != UNIC_PORT_PENDING)
		return error_of(r);
	take_job(nic, mr, UNIC_DMA_CQE, cq);
	return -UNIC_EPENDING;
}

int unic_dma_word(struct unic_transport *nic, bool to_host, uint16_t who,
		  uint16_t mr, uint64_t bus, unic_le64 *local)
{
	int r = submit_piece(nic, to_host, bus, sizeof(*local), local);

	if (r == UNIC_PORT_OK)
		return 0;
	if (r != UNIC_PORT_PENDING)
		return error_of(r);
	take_job(nic, mr, UNIC_DMA_ATOMIC, who);
	return -UNIC_EPENDING;
}

static void sgl_piece_done(struct unic_sgl *sgl, bool ok)
{
	sgl->pending--;
	if (!ok)
		sgl->failed = true;
}

static void notify_owner(struct unic_transport *nic,
			 const struct unic_dma_job *job, bool ok)
{
	struct unic_roce *roce = &nic->qps.roce;

	switch (job->owner) {
	case UNIC_DMA_SQ:
		unic_sq_fetched(nic, job->who, job->count, ok);
		break;
	case UNIC_DMA_RQ:
		unic_rq_fetched(nic, job->who, job->count, ok);
		break;
	case UNIC_DMA_SWEEP:
		unic_rq_swept(nic, job->who, job->count, ok);
		break;
	case UNIC_DMA_CQE:
		unic_cq_written(nic, job->who, unic_from_le32(job->cqe.qpn),
				ok);
		break;
	case UNIC_DMA_TX:
		sgl_piece_done(&roce->tx[job->who].sgl, ok);
		unic_tx_gathered(nic, job->who);
		break;
	case UNIC_DMA_RX:
		sgl_piece_done(&roce->rx_sgl, ok);
		break;
	case UNIC_DMA_LIST:
		unic_local_op_fetched(nic, ok);
		break;
	case UNIC_DMA_ATOMIC:
		if (UNIC_ATOMICS)
			unic_atomics_moved(nic, job->who, ok);
		break;
	case UNIC_DMA_SRQ:
		if (UNIC_SRQS)
			unic_rq_shared_fetched(nic, job->who, ok);
		break;
	case UNIC_DMA_SRQ_SWEEP:
		if (UNIC_SRQS)
			unic_srq_swept(nic, job->count, ok);
		break;
	default:
		break;
	}
}

static void complete_job(struct unic_transport *nic, uint32_t tag, bool ok)
{
	struct unic_dma *dma = &nic->dma;
	struct unic_dma_job *job = &dma->job[tag];
	struct unic_dma_job done = *job;

	job->busy = false;
	job->next = (uint16_t)dma->free_head;
	dma->free_head = tag;
	nic->pieces--;
	if (!ok)
		UNIC_COUNT(nic, dma_errors);
	unic_mr_dma_put(&nic->memory, done.mr);
	notify_owner(nic, &done, ok);
}

/* Tags from UNIC_DMA_JOBS on are those of memory/table.h. */
static void end_piece(struct unic_transport *nic, uint32_t tag, bool ok)
{
	if (UNIC_TABLE_READS && tag >= UNIC_DMA_JOBS) {
		unic_table_arrived(&nic->memory, tag - UNIC_DMA_JOBS, ok);
		return;
	}
	UNIC_ASSERT(nic, tag < UNIC_DMA_JOBS && nic->dma.job[tag].busy);
	complete_job(nic, tag, ok);
}

bool unic_dma_poll(struct unic_transport *nic)
{
	uint32_t n, tag;
	int status;

	for (n = 0; n < UNIC_DMA_JOBS; n++) {
		if (!unic_port_dma_poll(nic->port, &tag, &status))
			break;
		end_piece(nic, tag, status == UNIC_PORT_OK);
	}
	return n != 0;
}
