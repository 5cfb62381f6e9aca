// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unicblk_rq.c - how a request of the block layer becomes an I/O of the page
 * service.
 *
 * Secret: when a request fails. The NIC moves all pages of a request in one I/O: a
 * read through a payload token that names them, a write from a derived region made of
 * them; or, with data=rdma, either in a region of them that the other host reaches.
 *
 * An I/O that the service could not do (no token, no connection, the NIC was
 * reset) begins again until the deadline of its request; the request fails then,
 * or when the other host refuses. Each I/O may be done twice.
 */
#include <linux/blk-cgroup.h>
#include <linux/cgroup.h>
#include <linux/ktime.h>
#include <linux/scatterlist.h>
#include <linux/version.h>

#include "unicblk.h"
#include "unicblk_file.h"
#include "unicblk_rq.h"

#define DEPTH 64u /* open requests of a disk */

/* The driver's part of a request, after struct request. */
struct unicblk_pdu {
	struct unic_resident_io io;
	blk_status_t status;
	struct scatterlist sg[UNIC_TOKEN_PIECES];
};

/* -------------------------------------------- the block layer, by its version */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define map_sg(rq, sg) blk_rq_map_sg(rq, sg)
#else
#define map_sg(rq, sg) blk_rq_map_sg((rq)->q, rq, sg)
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MERGE 0 /* always on */
#else
#define MERGE BLK_MQ_F_SHOULD_MERGE
#endif

/* ------------------------------------------------------------------- ends */

static void end_rq(struct request *rq, blk_status_t status)
{
	struct unicblk *b = rq->q->queuedata;
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (status)
		atomic64_inc(&b->failed);
	pdu->status = status;
	/* unic.ko holds a lock here: with bottom halves off, the waiter is woken by a
	 * softirq, and no new I/O begins in this call */
	local_bh_disable();
	blk_mq_complete_request(rq);
	local_bh_enable();
}

static void unicblk_complete(struct request *rq)
{
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	blk_mq_end_request(rq, pdu->status);
}

/* The block layer queues the request again after UNICBLK_AGAIN_MS. */
static void retry_or_end(struct request *rq)
{
	struct request_queue *q = rq->q;
	struct unicblk *b = q->queuedata;
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (ktime_get_ns() >= pdu->io.io.deadline_ns) {
		end_rq(rq, BLK_STS_TIMEOUT);
		return;
	}
	atomic64_inc(&b->again);
	blk_mq_requeue_request(rq, false);
	blk_mq_delay_kick_requeue_list(q, UNICBLK_AGAIN_MS);
}

/* Writes answered since the previous flush are lost or will be: the server was restarted
 * in between, or its disk failed. */
static void flush_failed(struct request *rq)
{
	struct unicblk *b = rq->q->queuedata;

	atomic64_inc(&b->lost);
	pr_err_ratelimited("unicblk%u: the other host lost writes\n",
			   b->number);
	end_rq(rq, BLK_STS_IOERR);
}

static void rq_io_done(struct unic_resident_io *io, int status, u32 bytes)
{
	struct unicblk_pdu *pdu = container_of(io, struct unicblk_pdu, io);
	struct request *rq = blk_mq_rq_from_pdu(pdu);

	if (!status) /* fewer bytes: the file has become shorter */
		end_rq(rq, bytes == io->io.len ? BLK_STS_OK : BLK_STS_IOERR);
	else if (status == -EREMOTEIO && io->io.op == UNIC_KIO_SYNC)
		flush_failed(rq);
	/* another error number of the peer is -EIO */
	else if (status == -EREMOTEIO)
		end_rq(rq,
		       io->io.remote == ENOSPC ? BLK_STS_NOSPC : BLK_STS_IOERR);
	else if (status == -ENODEV)
		end_rq(rq, BLK_STS_IOERR);
	else
		retry_or_end(rq);
}

/* ----------------------------------------------------------------- blk-mq */

static int op_of(const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return UNIC_KIO_READ;
	case REQ_OP_WRITE:
		return UNIC_KIO_WRITE;
	case REQ_OP_FLUSH:
		return UNIC_KIO_SYNC;
	default:
		return -EOPNOTSUPP;
	}
}

/* For whom @rq is done: the cgroup that is charged for its bytes, as the block layer knows
 * it; without cgroups the kernel itself. */
static u64 user_of(struct request *rq)
{
	struct cgroup_subsys_state *css = rq->bio ? bio_blkcg_css(rq->bio)
						  : NULL;

	return css ? UNIC_KIO_CGROUP | (u32)css->id : 0;
}

/* Fills in the I/O once per request, however often the request is queued. */
static blk_status_t prepare_rq(struct unicblk *b, struct request *rq)
{
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	struct unic_resident_io *r = &pdu->io;
	struct unic_kio *io = &r->io;
	int op = op_of(rq);

	if (op < 0)
		return BLK_STS_NOTSUPP;
	io->op = op;
	io->len = op == UNIC_KIO_SYNC ? 0 : blk_rq_bytes(rq);
	io->offset = io->len ? (u64)blk_rq_pos(rq) << SECTOR_SHIFT : 0;
	io->token_only = !b->rdma;
	io->user = user_of(rq);
	unicblk_file_name(b, io);
	io->file = op == UNIC_KIO_READ ? NULL : &b->written;
	io->deadline_ns = ktime_get_ns() + (u64)b->timeout_ms * NSEC_PER_MSEC;
	sg_init_table(pdu->sg, UNIC_TOKEN_PIECES);
	r->sg = pdu->sg;
	r->elements = io->len ? map_sg(rq, pdu->sg) : 0;
	r->dir = rq_dma_dir(rq);
	r->done = rq_io_done;
	rq->rq_flags |= RQF_DONTPREP;
	return BLK_STS_OK;
}

static blk_status_t unicblk_queue_rq(struct blk_mq_hw_ctx *hctx,
				     const struct blk_mq_queue_data *bd)
{
	struct unicblk *b = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	blk_status_t status;
	int err;

	if (!(rq->rq_flags & RQF_DONTPREP)) {
		status = prepare_rq(b, rq);
		if (status)
			return status;
	}
	blk_mq_start_request(rq);
	err = unic_resident_start(b->resident, &pdu->io, b->ipv4);
	if (err == -EBUSY)
		retry_or_end(rq);
	else if (err)
		end_rq(rq, errno_to_blk_status(err));
	return BLK_STS_OK;
}

/* The I/O has a deadline of its own, and the NIC has its pages until the I/O ends. */
static enum blk_eh_timer_return unicblk_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

static const struct blk_mq_ops mq_ops = {
	.queue_rq = unicblk_queue_rq,
	.complete = unicblk_complete,
	.timeout = unicblk_timeout,
};

int unicblk_rq_tags(struct blk_mq_tag_set *tags)
{
	tags->ops = &mq_ops;
	tags->nr_hw_queues = 1;
	tags->queue_depth = DEPTH;
	tags->numa_node = NUMA_NO_NODE;
	tags->cmd_size = sizeof(struct unicblk_pdu);
	tags->flags = MERGE | BLK_MQ_F_BLOCKING;
	return blk_mq_alloc_tag_set(tags);
}
