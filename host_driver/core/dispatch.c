/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dispatch.c - the only entry: each request of a process passes
 * unic_dispatch_message(), which validates the request and calls its handler from the
 * table of operations (S4).
 */
#include "dispatch.h"

#include "admin.h"
#include "batch.h"
#include "cm/cm.h"
#include "cm/cm_end.h"
#include "cm/cm_listen.h"
#include "cm/cm_raw.h"
#include "cm/grants.h"
#include "cm/holdings.h"
#include "nics.h"
#include "limit.h"
#include "proc.h"
#include "queue.h"
#include "queue_resize.h"
#include "queue_token.h"
#include "rate.h"
#include "region/region_derived.h"
#include "region/region_fault.h"
#include "region/region_notice.h"
#include "region/region_reg.h"
#include "resync.h"
#include "srq.h"

#define OP_HELLO (1u << 0) /* needs a process slot */
#define OP_NIC	 (1u << 1) /* needs the device */
#define OP_PRIV	 (1u << 2) /* privileged */
#define OP_TAIL	 (1u << 3) /* may carry private data */
#define OP_GIVE	 (1u << 4) /* ends an object: may exceed UNIC_CTL_OPEN_MAX */
#define OP_LIST	 (1u << 5) /* may carry a list for the NIC */
#define OP_LIMIT (1u << 6) /* is a registration (limit.h) */
#define OP_WIDE	 (1u << 7) /* may carry private data of a raw connection */

struct op {
	const char *name;
	void (*run)(struct unic_req *req);
	uint8_t end; /* bytes of the record that are defined; the rest is 0 */
	uint8_t flags;
};

#define END(type, rsvd) offsetof(struct type, rsvd)
#define PLAIN		END(unic_ctl_plain, rsvd)
#define ONE		END(unic_ctl_obj, rsvd)
#define PROC		(OP_HELLO | OP_NIC)
#define ADMIN		(OP_NIC | OP_PRIV)

static void frames_alloc(struct unic_req *req);
static void frames_free(struct unic_req *req);

static const struct op ops[] = {
	[UNIC_CTL_HELLO] = { "hello", unic_proc_hello,
			     END(unic_ctl_hello, rsvd), OP_NIC },
	[UNIC_CTL_FRAMES_ALLOC] = { "frames-alloc", frames_alloc,
				    END(unic_ctl_frames, rsvd1), PROC },
	[UNIC_CTL_FRAMES_FREE] = { "frames-free", frames_free,
				   END(unic_ctl_frames, rsvd1), PROC },
	[UNIC_CTL_PD_ALLOC] = { "pd-alloc", unic_queue_pd_alloc, PLAIN, PROC },
	[UNIC_CTL_PD_FREE] = { "pd-free", unic_queue_pd_free, ONE, PROC },
	[UNIC_CTL_MR_REG] = { "mr-reg", unic_region_reg,
			      END(unic_ctl_mr_reg, rsvd),
			      PROC | OP_LIST | OP_LIMIT },
	[UNIC_CTL_MR_DEREG] = { "mr-dereg", unic_region_dereg, ONE,
				PROC | OP_GIVE },
	[UNIC_CTL_WAIT_CANCEL] = { "wait-cancel", unic_region_cancel, ONE,
				   PROC | OP_GIVE },
	[UNIC_CTL_NOTICE_ANSWER] = { "notice-answer", unic_region_answer,
				     END(unic_ctl_notice_answer, rsvd),
				     PROC | OP_GIVE },
	[UNIC_CTL_RESYNC] = { "resync", unic_resync, END(unic_ctl_resync, rsvd),
			      PROC },
	[UNIC_CTL_USAGE] = { "usage", unic_admin_usage, PLAIN, PROC },
	[UNIC_CTL_MR_ADVISE] = { "mr-advise", unic_region_fault_advise,
				 END(unic_ctl_mr_advise, rsvd), PROC },
	[UNIC_CTL_TOKEN_ALLOC] = { "token-alloc", unic_queue_token_alloc,
				   END(unic_ctl_token_alloc, rsvd),
				   PROC | OP_LIST },
	[UNIC_CTL_TOKEN_CANCEL] = { "token-cancel", unic_queue_token_cancel,
				    ONE, PROC },
	[UNIC_CTL_CQ_CREATE] = { "cq-create", unic_queue_cq_create,
				 END(unic_ctl_cq_create, rsvd), PROC },
	[UNIC_CTL_CQ_DESTROY] = { "cq-destroy", unic_queue_cq_destroy, ONE,
				  PROC },
	[UNIC_CTL_CQ_RESIZE] = { "cq-resize", unic_queue_cq_resize,
				 END(unic_ctl_cq_resize, rsvd), PROC },
	[UNIC_CTL_QP_CREATE] = { "qp-create", unic_queue_qp_create,
				 UNIC_CTL_BYTES, PROC },
	[UNIC_CTL_QP_MODIFY] = { "qp-modify", unic_queue_qp_modify,
				 END(unic_ctl_qp_modify, rsvd), PROC },
	[UNIC_CTL_QP_DESTROY] = { "qp-destroy", unic_cm_qp_destroy, ONE, PROC },
	[UNIC_CTL_QP_QUERY] = { "qp-query", unic_queue_qp_query, ONE, PROC },
	[UNIC_CTL_SRQ_CREATE] = { "srq-create", unic_queue_srq_create,
				  END(unic_ctl_srq_create, rsvd), PROC },
	[UNIC_CTL_SRQ_MODIFY] = { "srq-modify", unic_queue_srq_modify,
				  END(unic_ctl_srq_modify, rsvd), PROC },
	[UNIC_CTL_SRQ_DESTROY] = { "srq-destroy", unic_queue_srq_destroy, ONE,
				   PROC },
	[UNIC_CTL_LISTEN] = { "listen", unic_cm_listen,
			      END(unic_ctl_listen, rsvd), PROC },
	[UNIC_CTL_UNLISTEN] = { "unlisten", unic_cm_unlisten, ONE, PROC },
	[UNIC_CTL_CONNECT] = { "connect", unic_cm_connect,
			       END(unic_ctl_connect, rsvd), PROC | OP_TAIL },
	[UNIC_CTL_ACCEPT] = { "accept", unic_cm_accept,
			      END(unic_ctl_connect, rsvd), PROC | OP_TAIL },
	[UNIC_CTL_REJECT] = { "reject", unic_cm_reject, ONE, PROC | OP_TAIL },
	[UNIC_CTL_DISCONNECT] = { "disconnect", unic_cm_disconnect, ONE,
				  PROC | OP_TAIL },
	[UNIC_CTL_CONN_QUERY] = { "conn-query", unic_cm_query, ONE, PROC },
	[UNIC_CTL_CM_CONNECT] = { "cm-connect", unic_raw_connect,
				  END(unic_ctl_cm, rsvd0), PROC | OP_WIDE },
	[UNIC_CTL_CM_ACCEPT] = { "cm-accept", unic_raw_accept,
				 END(unic_ctl_cm, rsvd0), PROC | OP_WIDE },
	[UNIC_CTL_CM_REJECT] = { "cm-reject", unic_raw_reject,
				 END(unic_ctl_reject, rsvd), PROC | OP_WIDE },
	[UNIC_CTL_CM_DISCONNECT] = { "cm-disconnect", unic_raw_disconnect, ONE,
				     PROC },
	[UNIC_CTL_CM_QUERY] = { "cm-query", unic_raw_query, ONE, PROC },
	[UNIC_CTL_CM_FREE] = { "cm-free", unic_raw_free, ONE, PROC | OP_GIVE },
	[UNIC_CTL_GRANT] = { "grant", unic_grants_grant,
			     END(unic_ctl_grant, rsvd), PROC },
	[UNIC_CTL_DELEGATE] = { "delegate", unic_holdings_delegate,
				END(unic_ctl_held_by, rsvd), PROC },
	[UNIC_CTL_INVALIDATED] = { "invalidated", unic_holdings_answer,
				   END(unic_ctl_held_by, ipv4),
				   PROC | OP_GIVE },
	[UNIC_CTL_MR_ALLOC] = { "mr-alloc", unic_region_alloc,
				END(unic_ctl_mr_alloc, rsvd), PROC | OP_LIMIT },
	[UNIC_CTL_MR_MAKE] = { "mr-make", unic_region_make,
			       END(unic_ctl_mr_make, rsvd),
			       PROC | OP_LIST | OP_LIMIT },
	[UNIC_CTL_MR_INVAL] = { "mr-inval", unic_region_inval, ONE, PROC },
	[UNIC_CTL_MR_REREG] = { "mr-rereg", unic_region_rereg,
				END(unic_ctl_mr_rereg, rsvd), PROC | OP_LIMIT },
	[UNIC_CTL_BATCH] = { "batch", unic_batch_run, END(unic_ctl_batch, rsvd),
			     PROC | OP_LIST },
	[UNIC_CTL_OWN_POLICY] = { "own-policy", unic_admin_own_policy,
				  END(unic_ctl_own_policy, rsvd), PROC },
	[UNIC_CTL_CLAIM] = { "claim", unic_admin_claim,
			     END(unic_ctl_claim, rsvd), PROC },
	[UNIC_CTL_OWN_RATE] = { "own-rate", unic_rate_own,
				END(unic_ctl_rate, rsvd), PROC },
	[UNIC_CTL_INFO] = { "info", unic_admin_info, PLAIN, 0 },
	[UNIC_CTL_STATS] = { "stats", unic_admin_stats, PLAIN, 0 },
	[UNIC_CTL_DUMP] = { "dump", unic_admin_dump, END(unic_ctl_dump, rsvd),
			    ADMIN },
	[UNIC_CTL_PS] = { "ps", unic_admin_ps, END(unic_ctl_ps, rsvd), 0 },
	[UNIC_CTL_TRACE] = { "trace", unic_admin_trace, ONE, OP_PRIV },
	[UNIC_CTL_CRASH] = { "crash", unic_admin_crash, PLAIN, OP_PRIV },
	[UNIC_CTL_USES] = { "uses", unic_admin_uses, END(unic_ctl_uses, rsvd),
			    OP_NIC },
	[UNIC_CTL_NICS] = { "nics", unic_nics_list, PLAIN, 0 },
	[UNIC_CTL_SELECT] = { "select", unic_nics_select,
			      END(unic_ctl_select, rsvd), 0 },
	[UNIC_CTL_FAULT] = { "fault", unic_admin_fault,
			     END(unic_ctl_fault, rsvd), ADMIN },
	[UNIC_CTL_PARAMS] = { "params", unic_admin_params,
			      END(unic_ctl_params, rsvd), ADMIN },
	[UNIC_CTL_POLICY] = { "policy", unic_admin_policy,
			      END(unic_ctl_policy, rsvd), ADMIN },
	[UNIC_CTL_EVICT] = { "evict", unic_region_evict, ONE, ADMIN },
	[UNIC_CTL_TRACE_MASK] = { "trace-mask", unic_admin_trace_mask,
				  END(unic_ctl_fault, rsvd), ADMIN },
	[UNIC_CTL_RATE] = { "rate", unic_rate_proc, END(unic_ctl_rate, rsvd),
			    ADMIN },
	[UNIC_CTL_LIMITS_OF] = { "limits", unic_limits_run,
				 END(unic_ctl_limits, rsvd), OP_PRIV },
	[UNIC_CTL_RESET] = { "reset", unic_admin_reset, PLAIN, OP_PRIV },
};

#define OPS (sizeof(ops) / sizeof(ops[0]))

const char *unic_dispatch_name(uint32_t op)
{
	return op < OPS && ops[op].run ? ops[op].name : "?";
}

static bool zero_from(const uint64_t *rec, uint32_t from)
{
	const uint8_t *b = (const uint8_t *)rec;

	for (; from % 8; from++)
		if (b[from])
			return false;
	for (; from < UNIC_CTL_BYTES; from += 8)
		if (rec[from / 8])
			return false;
	return true;
}

static uint32_t tail_max(const struct op *op)
{
	if (op->flags & OP_LIST)
		return UNIC_LIST_BYTES;
	if (op->flags & OP_WIDE)
		return UNIC_CTL_CM_PRIVATE_MAX;
	return op->flags & OP_TAIL ? UNIC_CTL_PRIVATE_MAX : 0;
}

/* True if @req is HELLO in another version of these messages, whose other fields may
 * mean anything. */
static bool is_other_version(const struct unic_req *req)
{
	struct unic_ctl_hello hello;

	memcpy(&hello, req->rec, sizeof(hello));
	return req->op == UNIC_CTL_HELLO &&
	       unic_from_le32(hello.version) != UNIC_CTL_VERSION;
}

/* The checks common to all requests. OK, or the status of the answer. */
static uint32_t check_request(const struct unic_req *req,
			      const struct unic_ctl_hdr *hdr, size_t bytes)
{
	const struct unic_host *host = req->host;
	const struct op *op;
	uint32_t tail = unic_from_le32(hdr->tail_bytes);
	uint32_t epoch = unic_from_le32(hdr->epoch);

	if (req->op >= OPS || !ops[req->op].run)
		return UNIC_ST_BAD_OPCODE;
	op = &ops[req->op];
	if (bytes < UNIC_CTL_BYTES)
		return UNIC_ST_INVALID;
	if (is_other_version(req))
		return UNIC_CTL_ST_VERSION;
	if (tail != bytes - UNIC_CTL_BYTES || hdr->status ||
	    tail > tail_max(op) || !zero_from(req->rec, op->end))
		return UNIC_ST_INVALID;
	if (req->client->open >
	    (op->flags & OP_GIVE ? 2 * UNIC_CTL_OPEN_MAX : UNIC_CTL_OPEN_MAX))
		return UNIC_CTL_ST_TOO_MANY;
	if (op->flags & OP_PRIV && !req->client->privileged)
		return UNIC_CTL_ST_PERMISSION;
	if (op->flags & OP_HELLO && !unic_req_proc(req))
		return UNIC_CTL_ST_NO_HELLO;
	if (op->flags & OP_NIC && !host->ready)
		return UNIC_CTL_ST_NO_NIC;
	if (op->flags & OP_HELLO && epoch && epoch != host->epoch)
		return UNIC_ST_STALE_EPOCH;
	return UNIC_ST_OK;
}

/* Copy the tail: a list to the list page of the call, which the NIC reads, other data
 * to req->tail. False: out of memory. */
static bool take_tail(struct unic_req *req, const uint8_t *tail)
{
	void *to = req->tail;

	if (ops[req->op].flags & OP_LIST && req->tail_bytes) {
		to = unic_req_list(req, UNIC_LIST_BYTES);
		if (!to)
			return false;
		req->call.list_bytes = req->tail_bytes;
	}
	memcpy(to, tail, req->tail_bytes);
	return true;
}

/* There is no memory for a struct unic_req: answer NO_MEMORY without one. */
static void answer_no_memory(struct unic_host *host, struct unic_client *client,
			     struct unic_ctl_hdr hdr)
{
	uint64_t msg[UNIC_REC_WORDS] = { 0 };

	hdr.status = unic_to_le16(UNIC_CTL_ST_NO_MEMORY);
	hdr.epoch = unic_to_le32(host->epoch);
	hdr.tail_bytes = unic_to_le32(0);
	memcpy(msg, &hdr, sizeof(hdr));
	unic_os_reply(host->os, client, msg, sizeof(msg), UNIC_OS_NO_SLOT);
}

/* Answer @status, which is not OK, and VERSION with the version of the driver. */
static void refuse(struct unic_req *req, uint32_t status)
{
	struct unic_ctl_hello_version r = { 0 };

	if (status == UNIC_CTL_ST_VERSION)
		r.version = unic_to_le32(UNIC_CTL_VERSION);
	unic_req_answer(req, status, &r, NULL, 0);
}

void unic_dispatch_run(struct unic_req *req, const struct unic_ctl_hdr *hdr)
{
	uint32_t status =
		check_request(req, hdr, UNIC_CTL_BYTES + req->tail_bytes);

	if (status)
		refuse(req, status);
	else
		ops[req->op].run(req);
}

bool unic_dispatch_message(struct unic_host *host, struct unic_client *client,
			   const void *msg, size_t bytes)
{
	struct unic_ctl_hdr hdr;
	struct unic_req *req;
	uint32_t status;

	if (bytes < sizeof(hdr))
		return false;
	memcpy(&hdr, msg, sizeof(hdr));
	req = unic_req_new(host, client->slot);
	if (!req) {
		answer_no_memory(host, client, hdr);
		return true;
	}
	client->open++;
	req->client = client;
	req->op = unic_from_le16(hdr.op);
	req->name = unic_dispatch_name(req->op);
	req->seq = unic_from_le32(hdr.seq);
	memcpy(req->rec, msg, bytes < UNIC_CTL_BYTES ? bytes : UNIC_CTL_BYTES);
	status = check_request(req, &hdr, bytes);
	if (status) {
		refuse(req, status);
		return true;
	}
	if (ops[req->op].flags & OP_LIMIT && unic_limits_refuse(req, 1))
		return true;
	req->tail_bytes = (uint32_t)(bytes - UNIC_CTL_BYTES);
	if (take_tail(req, (const uint8_t *)msg + UNIC_CTL_BYTES))
		ops[req->op].run(req);
	else
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
	return true;
}

/* ------------------------------------------------------------------ frames */

static uint32_t frames_status(int err)
{
	switch (err) {
	case 0:
		return UNIC_ST_OK;
	case -EEXIST:
		return UNIC_CTL_ST_IN_USE;
	case -ENOSPC:
		return UNIC_CTL_ST_NO_FRAMES;
	case -ENOENT:
		return UNIC_CTL_ST_NOT_MAPPED;
	case -EBUSY:
		return UNIC_ST_BUSY;
	case -EOPNOTSUPP:
		return UNIC_CTL_ST_UNSUPPORTED;
	default:
		return UNIC_ST_INVALID;
	}
}

static bool no_rsvd(const struct unic_ctl_frames *r)
{
	return !r->rsvd0[0] && !r->rsvd0[1] && !r->rsvd0[2];
}

static void frames_alloc(struct unic_req *req)
{
	uint32_t *list =
		(uint32_t *)(void *)unic_req_list(req, UNIC_LIST_BYTES);
	uint32_t pages, runs, i;
	struct unic_ctl_frames r;
	uint64_t rec[UNIC_REC_WORDS] = { 0 };
	int err;

	_Static_assert(UNIC_CTL_FRAMES_MAX * 4 <= UNIC_LIST_BYTES, "list");
	if (!list) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	memcpy(&r, req->rec, sizeof(r));
	pages = unic_from_le32(r.pages);
	if (!no_rsvd(&r) ||
	    (r.page_shift != 12 && r.page_shift != 16 && r.page_shift != 21) ||
	    pages >> (r.page_shift - 12) > UNIC_CTL_FRAMES_MAX) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	err = unic_frames_alloc(&unic_req_proc(req)->frames,
				unic_from_le64(r.va), pages, r.page_shift,
				list);
	if (err) {
		unic_req_status(req, frames_status(err));
		return;
	}
	runs = pages >> (r.page_shift - 12);
	for (i = 0; i < runs; i++)
		((unic_le32 *)(void *)list)[i] = unic_to_le32(list[i]);
	unic_req_answer(req, UNIC_ST_OK, rec, list, runs * 4);
}

static void frames_free(struct unic_req *req)
{
	struct unic_ctl_frames r;

	memcpy(&r, req->rec, sizeof(r));
	if (!no_rsvd(&r) || r.page_shift)
		unic_req_status(req, UNIC_ST_INVALID);
	else
		unic_req_status(req, frames_status(unic_frames_free(
					     &unic_req_proc(req)->frames,
					     unic_from_le64(r.va),
					     unic_from_le32(r.pages))));
}
