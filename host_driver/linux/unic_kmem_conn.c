// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_kmem_conn.c - connections of a handle: see unic_kmem_priv.h. Their queues stay
 * empty: the NIC serves the requests of a peer by itself.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include "unic_kmem_conn.h"
#include "unic_kmem_call.h"
#include "unic_kmem_work.h"
#include "unic_queue.h"

#define SLOTS	  2u /* of a send or receive queue: the fewest that there are */
#define CQES	  64u
#define CQ_BYTES  (CQES * 32u)
#define QP_BYTES  (2u * SLOTS * UNIC_SLOT_BYTES)
#define MEM_BYTES (CQ_BYTES + UNIC_KMEM_CONNS * QP_BYTES)
static_assert(MEM_BYTES == PAGE_SIZE);

/* Rows of the doorbell page. */
#define CQ_ROW	  0u
#define QP_ROW(n) (1u + (n))

static void clear_row(struct unic_kmem *k, u32 row)
{
	unsigned int noio = unic_lock(k->os);
	struct unic_db_page *db;

	if (k->core.slot != UNIC_OS_NO_SLOT) {
		db = k->os->slot_mem[k->core.slot];
		memset(&db->tail[row], 0, sizeof(db->tail[row]));
	}
	unic_unlock(k->os, noio);
}

/* ------------------------------------------------------------------ listening */

static int make_region(struct unic_kmem *k)
{
	struct unic_ctl_mr_reg r = {
		.iova = unic_to_le64(k->bus),
		.length = unic_to_le64(MEM_BYTES),
		.pd = unic_to_le32(k->pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.residency = UNIC_PHYSICAL,
	};
	struct unic_ctl_mr_reg_reply reply;
	struct unic_kmem_ask ask;
	int status = unic_kmem_call(k, &ask, UNIC_CTL_MR_REG, &r, 0);

	memcpy(&reply, ask.rec, sizeof(reply));
	if (!status)
		k->mr = unic_from_le32(reply.id);
	return status;
}

/* Memory of a NIC that is gone has been freed. */
static void clear_mem(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);

	if (k->mem)
		memset(k->mem, 0, MEM_BYTES);
	unic_unlock(k->os, noio);
}

static int make_cq(struct unic_kmem *k)
{
	struct unic_ctl_cq_create r = {
		.iova = unic_to_le64(k->bus),
		.mr = unic_to_le32(k->mr),
		.entries = unic_to_le32(CQES),
		.db_index = unic_to_le32(CQ_ROW),
	};
	struct unic_ctl_queue_reply reply;
	struct unic_kmem_ask ask;
	int status;

	clear_mem(k);
	clear_row(k, CQ_ROW);
	status = unic_kmem_call(k, &ask, UNIC_CTL_CQ_CREATE, &r, 0);
	memcpy(&reply, ask.rec, sizeof(reply));
	if (!status)
		k->cq = unic_from_le32(reply.id);
	return status;
}

int unic_kmem_begin_listen(struct unic_kmem *k)
{
	struct unic_ctl_listen r = { .service = unic_to_le64(k->service) };
	struct unic_kmem_ask ask;
	int status = k->mr ? 0 : make_region(k);

	if (!status && !k->cq)
		status = make_cq(k);
	if (!status)
		status = unic_kmem_call(k, &ask, UNIC_CTL_LISTEN, &r, 0);
	return status;
}

static int alloc_mem(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);

	if (!k->over && !k->leaving && !k->mem)
		k->mem = dma_alloc_coherent(k->dma, MEM_BYTES, &k->bus,
					    GFP_KERNEL);
	unic_unlock(k->os, noio);
	return k->mem ? 0 : -ENOMEM;
}

int unic_kmem_listen(struct unic_kmem *k, u64 service,
		     int (*allow)(void *of, struct unic_kmem_request *r))
{
	int err = -EBUSY;

	if (!allow)
		return -EINVAL;
	mutex_lock(&k->turn);
	if (k->allow)
		goto out;
	err = k->up ? alloc_mem(k) : -EAGAIN;
	if (err)
		goto out;
	k->service = service;
	err = unic_kmem_errno(unic_kmem_begin_listen(k));
	if (!err)
		k->allow = allow;
out:
	mutex_unlock(&k->turn);
	return err;
}
EXPORT_SYMBOL_GPL(unic_kmem_listen);

/* ------------------------------------------------------------- upcalls */

/* Rejects a request for which there is no room. Nobody waits for the answer. */
static void turn_away(struct unic_kmem *k, const struct unic_upcall_conn *up)
{
	struct unic_ctl_reject r = { .hdr.op = unic_to_le16(UNIC_CTL_REJECT),
				     .conn = up->hdr.id };

	unic_host_request(k->os->host, &k->core, &r, UNIC_CTL_BYTES);
}

void unic_kmem_requested(struct unic_kmem *k, const struct unic_upcall_conn *up)
{
	if (k->requests == UNIC_KMEM_REQUESTS) {
		turn_away(k, up);
		return;
	}
	k->request[k->requests++] = *up;
	queue_work(k->wq, &k->work);
}

void unic_kmem_ended(struct unic_kmem *k, u32 conn, u32 qp)
{
	u32 i;

	for (i = 0; i < UNIC_KMEM_CONNS; i++)
		if (k->conn[i].qp &&
		    (conn ? k->conn[i].conn == conn : k->conn[i].qp == qp))
			k->conn[i].ended = true;
	queue_work(k->wq, &k->work);
}

/* ------------------------------------------------------------ connections */

static int make_qp(struct unic_kmem *k, u32 n, u32 *qp)
{
	u64 at = k->bus + CQ_BYTES + n * QP_BYTES;
	struct unic_ctl_qp_create r = {
		.sq_iova = unic_to_le64(at),
		.rq_iova = unic_to_le64(at + QP_BYTES / 2),
		.mr = unic_to_le32(k->mr),
		.send_cq = unic_to_le32(k->cq),
		.recv_cq = unic_to_le32(k->cq),
		.sq_slots = unic_to_le16(SLOTS),
		.rq_slots = unic_to_le16(SLOTS),
		.db_index = QP_ROW(n),
		.pd = unic_to_le32(k->pd),
	};
	struct unic_ctl_queue_reply reply;
	struct unic_kmem_ask ask;
	int status;

	clear_row(k, QP_ROW(n));
	status = unic_kmem_call(k, &ask, UNIC_CTL_QP_CREATE, &r, 0);
	memcpy(&reply, ask.rec, sizeof(reply));
	*qp = unic_from_le32(reply.id);
	return status;
}

static void destroy_qp(struct unic_kmem *k, u32 n, u32 qp)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(qp) };
	struct unic_kmem_ask ask;
	int status = unic_kmem_call(k, &ask, UNIC_CTL_QP_DESTROY, &r, 0);
	unsigned int noio = unic_lock(k->os);

	/* else lose_all() has forgotten it, or its place is taken for good */
	if ((!status || status == UNIC_ST_NO_QP) && k->conn[n].qp == qp)
		memset(&k->conn[n], 0, sizeof(k->conn[n]));
	unic_unlock(k->os, noio);
}

/* Answers request @conn: ACCEPT with queue pair @qp, or, if that is 0, REJECT. */
static int answer(struct unic_kmem *k, const struct unic_kmem_request *req,
		  u32 conn, u32 qp)
{
	struct {
		union {
			struct unic_ctl_connect accept;
			struct unic_ctl_reject reject;
		} r;
		u8 tail[UNIC_KMEM_PRIVATE];
	} msg = { 0 };
	struct unic_kmem_ask ask;
	u32 tail = min_t(u32, req->reply_bytes, sizeof(msg.tail));

	memcpy(msg.tail, req->reply, tail);
	if (!qp) {
		msg.r.reject.conn = unic_to_le32(conn);
		return unic_kmem_call(k, &ask, UNIC_CTL_REJECT, &msg, tail);
	}
	msg.r.accept.conn = unic_to_le32(conn);
	msg.r.accept.qp = unic_to_le32(qp);
	msg.r.accept.rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE;
	return unic_kmem_call(k, &ask, UNIC_CTL_ACCEPT, &msg, tail);
}

static u32 free_place(struct unic_kmem *k)
{
	u32 n;

	for (n = 0; n < UNIC_KMEM_CONNS && k->conn[n].qp; n++)
		;
	return n;
}

static void accept_request(struct unic_kmem *k, struct unic_kmem_request *req,
			   u32 conn, u32 gen)
{
	u32 n = free_place(k), qp;
	unsigned int noio;

	if (n == UNIC_KMEM_CONNS || make_qp(k, n, &qp)) {
		req->reply_bytes = 0;
		answer(k, req, conn, 0);
		return;
	}
	noio = unic_lock(k->os);
	if (gen == k->gen)
		k->conn[n] = (struct unic_kmem_conn){ .qp = qp, .conn = conn };
	unic_unlock(k->os, noio);
	if (gen == k->gen && answer(k, req, conn, qp))
		destroy_qp(k, n, qp);
}

static void handle_request(struct unic_kmem *k,
			   const struct unic_upcall_conn *up, u32 gen)
{
	struct unic_ctl_obj r = { .id = up->hdr.id };
	struct unic_kmem_request req = { .ipv4 = unic_from_le32(
						 up->peer_ipv4) };
	struct unic_kmem_ask ask;
	u32 conn = unic_from_le32(up->hdr.id);
	bool yes;

	if (unic_kmem_call(k, &ask, UNIC_CTL_CONN_QUERY, &r, 0))
		return; /* it has ended */
	req.private_data = ask.tail;
	req.private_bytes = ask.tail_bytes;
	unic_kmem_enter(k, NULL);
	yes = !k->allow(k->of, &req);
	unic_kmem_exit(k);
	mutex_lock(&k->turn);
	if (yes)
		accept_request(k, &req, conn, gen);
	else
		answer(k, &req, conn, 0);
	mutex_unlock(&k->turn);
}

bool unic_kmem_conns(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);
	struct unic_upcall_conn up;
	u32 n, qp = 0, gen = k->gen;
	bool asks = k->requests && k->up && !k->leaving && !k->closing;

	for (n = 0; n < UNIC_KMEM_CONNS && !k->conn[n].ended; n++)
		;
	if (n < UNIC_KMEM_CONNS) {
		k->conn[n].ended = false;
		qp = k->conn[n].qp;
	} else if (asks) {
		up = k->request[0];
		memmove(k->request, k->request + 1, --k->requests * sizeof(up));
	}
	unic_unlock(k->os, noio);
	if (qp)
		destroy_qp(k, n, qp);
	else if (asks)
		handle_request(k, &up, gen);
	return qp || asks;
}
