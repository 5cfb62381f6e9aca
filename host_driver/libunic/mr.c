/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mr.c - registration of memory, and the answers to notices.
 *
 * Secret: the state of a region in the library. A handle, by which upcalls name a region,
 * has a generation, so a late upcall never names a new region.
 */
#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "event.h"
#include "fork.h"
#include "mem.h"
#include "mr.h"
#include "owed.h"

static int handle_get(struct unic_ctx *ctx, struct unic_mem_region *r)
{
	uint32_t i;

	for (i = 0; i < UNIC_MR_HANDLES; i++) {
		if (ctx->region[i])
			continue;
		ctx->region[i] = r;
		r->handle = i | (uint32_t)++ctx->handle_gen[i] << 16;
		return 0;
	}
	return unic_fail(-ENOMEM, "more than %u regions", UNIC_MR_HANDLES);
}

void unic_mem_region_put(struct unic_ctx *ctx, struct unic_mem_region *r)
{
	(void)ctx;
	if (!--r->refs)
		free(r);
}

struct unic_mem_region *unic_mem_region_new(struct unic_pd *pd)
{
	struct unic_mem_region *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		unic_fail(-ENOMEM, "out of memory");
		return NULL;
	}
	r->mr.ctx = pd->ctx;
	r->mr.pd = pd;
	r->refs = 1;
	r->life = UNIC_MR_WAITING;
	pthread_mutex_lock(&pd->ctx->evt_lock);
	err = handle_get(pd->ctx, r);
	pthread_mutex_unlock(&pd->ctx->evt_lock);
	if (err) {
		free(r);
		return NULL;
	}
	__atomic_add_fetch(&pd->users, 1, __ATOMIC_RELAXED);
	return r;
}

void unic_mem_region_forget(struct unic_mem_region *r)
{
	struct unic_ctx *ctx = r->mr.ctx;
	const void *addr = r->mr.addr;
	size_t length = r->mr.length;

	__atomic_sub_fetch(&r->mr.pd->users, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&ctx->evt_lock);
	ctx->region[r->handle & 0xffff] = NULL;
	unic_event_purge(ctx, &r->mr);
	unic_mem_region_put(ctx, r);
	pthread_mutex_unlock(&ctx->evt_lock);
	unic_mem_make_private(ctx, addr, length);
}

static unsigned int page_shift_of(unsigned int page_bytes)
{
	return page_bytes == 0 || page_bytes == 4096 ? 12
	       : page_bytes == 65536		     ? 16
	       : page_bytes == 1u << 21		     ? 21
						     : 0;
}

#define BASES (UNIC_MR_ZERO_BASED | UNIC_MR_RANDOM_BASE | UNIC_MR_VA_BASE)

static int check_attr(const struct unic_mr_attr *attr)
{
	if (!attr->length || attr->rights & ~UNIC_MR_RIGHTS_ALL ||
	    attr->mr_class > UNIC_CLASS_CONTROL || attr->importance > 255 ||
	    attr->key > 255 || attr->residency > UNIC_TABLE ||
	    !page_shift_of(attr->page_bytes))
		return unic_fail(-EINVAL, "unic_reg_mr: a field is out of "
					  "range");
	if (attr->rights & (UNIC_MR_REMOTE_WRITE | UNIC_MR_REMOTE_ATOMIC) &&
	    !(attr->rights & UNIC_MR_LOCAL_WRITE))
		return unic_fail(-EINVAL, "unic_reg_mr: remote write and "
					  "atomic need local write");
	if (attr->flags & ~(BASES | UNIC_MR_WAIT | UNIC_MR_ASYNC))
		return unic_fail(-EINVAL, "unic_reg_mr: a flag is not known");
	if (attr->flags & UNIC_MR_ASYNC && !(attr->flags & UNIC_MR_WAIT))
		return unic_fail(-EINVAL, "unic_reg_mr: ASYNC needs WAIT");
	if (__builtin_popcount(attr->flags & BASES) > 1)
		return unic_fail(-EINVAL, "unic_reg_mr: a base is random, or "
					  "zero, or the address");
	return 0;
}

static void build_reg(const struct unic_mr_attr *attr,
		      struct unic_mem_region *r, struct unic_ctl_mr_reg *req)
{
	uint8_t flags = 0;

	if (attr->flags & UNIC_MR_WAIT)
		flags |= UNIC_CTL_REG_WAIT;
	if (attr->flags & UNIC_MR_ASYNC)
		flags |= UNIC_CTL_REG_ASYNC;
	if (r->base == BASE_DRAWN)
		flags |= UNIC_CTL_REG_RANDOM;
	*req = (struct unic_ctl_mr_reg){
		.va = unic_to_le64((uintptr_t)attr->addr),
		.iova = unic_to_le64(r->mr.iova),
		.length = unic_to_le64(attr->length),
		.pd = unic_to_le32(r->mr.pd->id),
		.timeout_us = unic_to_le32(attr->timeout_us),
		.user = unic_to_le32(r->handle),
		.rights = (uint8_t)attr->rights,
		.mr_class = (uint8_t)attr->mr_class,
		.page_shift = (uint8_t)page_shift_of(attr->page_bytes),
		.key = (uint8_t)attr->key,
		.importance = (uint8_t)attr->importance,
		.flags = flags,
		.residency = (uint8_t)attr->residency,
	};
}

/* Apply @reply to @r. If GRANTED was read before the reply, its state stays: GRANTED is
 * the later message. */
void unic_mem_region_reply(struct unic_mem_region *r,
			   const struct unic_ctl_mr_reg_reply *reply,
			   bool pending)
{
	struct unic_ctx *ctx = r->mr.ctx;

	pthread_mutex_lock(&ctx->evt_lock);
	r->mr.id = unic_from_le32(reply->id);
	r->known = true;
	if (r->base == BASE_DRAWN)
		r->mr.iova = unic_from_le64(reply->iova);
	if (!pending) {
		r->mr.stag = unic_from_le32(reply->stag);
		r->mr.entries = unic_from_le32(reply->entries);
		if (r->life == UNIC_MR_WAITING)
			__atomic_store_n(&r->life, UNIC_MR_LIVE,
					 __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&ctx->evt_lock);
}

union reg_rec {
	struct unic_ctl_mr_reg req;
	struct unic_ctl_mr_reg_reply reply;
};

/* The time-out of a waiting registration, in ms, for its turn in the queue of calls; 0:
 * the default. */
static int patience_ms(const struct unic_mr_attr *attr)
{
	uint64_t ms = (attr->timeout_us + 999ull) / 1000;

	return attr->flags & UNIC_MR_WAIT && ms < INT32_MAX ? (int)ms : 0;
}

static int register_region(struct unic_mem_region *r,
			   const struct unic_mr_attr *attr, union reg_rec *rec)
{
	struct unic_cpl_usage usage = { 0 };
	struct unic_conn_call call = {
		.rec = rec,
		.reply_tail = &usage,
		.reply_room = sizeof(usage),
		.timeout_ms = attr->flags & UNIC_MR_WAIT ? UNIC_CALL_FOREVER
							 : 0,
		.patience_ms = patience_ms(attr),
	};
	int status;
	int err;

	status = unic_ctl(r->mr.ctx, UNIC_CTL_MR_REG, &call);
	if (status == UNIC_CTL_ST_TOO_MANY && call.patience_ms)
		status = UNIC_ST_TIMEOUT;
	err = unic_fail_status("register memory", status);
	if (err) {
		if (call.reply_bytes == sizeof(usage))
			unic_fail_usage(&usage);
		return err;
	}
	r->wait_seq = call.seq;
	unic_mem_region_reply(r, &rec->reply, status == UNIC_ST_PENDING);
	return 0;
}

/* Choose the kind of base of @r. The driver draws a random one with MR_REG. */
static void set_base(struct unic_mem_region *r, const struct unic_mr_attr *attr)
{
	r->page_shift = (uint8_t)page_shift_of(attr->page_bytes);
	r->base = attr->flags & UNIC_MR_VA_BASE	     ? BASE_ADDRESS
		  : attr->flags & UNIC_MR_ZERO_BASED ? BASE_ZERO
						     : BASE_DRAWN;
	r->mr.iova = unic_mem_region_iova(r, attr->addr);
}

uint64_t unic_mem_region_iova(const struct unic_mem_region *r, const void *at)
{
	uint64_t va = (uintptr_t)at;

	switch (r->base) {
	case BASE_ADDRESS:
		return va;
	case BASE_ZERO:
		return va & ((1ull << r->page_shift) - 1);
	default:
		return r->mr.iova + (va - (uintptr_t)r->mr.addr);
	}
}

int unic_sg_of(const struct unic_mr *mr, const void *at, size_t len,
	       struct unic_sg *out)
{
	uint64_t off = (uintptr_t)at - (uintptr_t)mr->addr;

	if (off > mr->length || len > mr->length - off || len > UINT32_MAX)
		return unic_fail(-ERANGE,
				 "%zu bytes at %p are not in the "
				 "region of %zu at %p",
				 len, at, mr->length, mr->addr);
	*out = (struct unic_sg){
		.addr = (void *)(uintptr_t)(mr->iova + off),
		.len = (uint32_t)len,
		.lkey = mr->stag,
	};
	return 0;
}

int unic_mem_region_prepare(struct unic_pd *pd, const struct unic_mr_attr *attr,
			    struct unic_mem_region **out,
			    struct unic_ctl_mr_reg *req)
{
	struct unic_mem_region *r;
	int err = check_attr(attr);

	if (err)
		return err;
	r = unic_mem_region_new(pd);
	if (!r)
		return -ENOMEM;
	/* from now on other threads leave the memory in the slot */
	pthread_mutex_lock(&pd->ctx->evt_lock);
	r->mr.addr = attr->addr;
	r->mr.length = attr->length;
	pthread_mutex_unlock(&pd->ctx->evt_lock);
	err = unic_mem_cover(pd->ctx, attr->addr, attr->length);
	if (err) {
		unic_mem_region_forget(r);
		return err;
	}
	r->mr.user = attr->user;
	set_base(r, attr);
	build_reg(attr, r, req);
	*out = r;
	return 0;
}

int unic_reg_any_class(struct unic_pd *pd, const struct unic_mr_attr *attr,
		       struct unic_mr **out)
{
	union reg_rec rec;
	struct unic_mem_region *r;
	int err = unic_mem_region_prepare(pd, attr, &r, &rec.req);

	if (err)
		return err;
	err = register_region(r, attr, &rec);
	if (err) {
		unic_mem_region_forget(r);
		return err;
	}
	*out = &r->mr;
	return 0;
}

int unic_reg_mr(struct unic_pd *pd, const struct unic_mr_attr *attr,
		struct unic_mr **out)
{
	if (attr->mr_class == UNIC_CLASS_CONTROL)
		return unic_fail(-EINVAL, "unic_reg_mr: class control is for "
					  "queues");
	return unic_reg_any_class(pd, attr, out);
}

int unic_cancel_reg(struct unic_mr *mr)
{
	struct unic_mem_region *r = unic_mem_region(mr);
	struct unic_ctl_wait_cancel rec = { .wait_seq =
						    unic_to_le32(r->wait_seq) };

	return unic_ctl_simple(mr->ctx, UNIC_CTL_WAIT_CANCEL, &rec,
			       "cancel a registration");
}

/* True if the driver has no such region any more; without a driver all are void. */
static bool is_dereg_done(int status)
{
	return status < 0 || status == UNIC_ST_OK || status == UNIC_ST_NO_MR ||
	       status == UNIC_CTL_ST_RESET || status == UNIC_ST_STALE_EPOCH;
}

/* While @r->leaving is set, a resync does not end @r as a lost region. */
static void set_leaving(struct unic_mem_region *r, bool leaving)
{
	__atomic_store_n(&r->leaving, leaving, __ATOMIC_RELEASE);
}

/* Handle the answer to MR_DEREG. 0: @r is GONE, and the NIC has stopped all access to its
 * memory; -errno: @r stays. */
static int finish_dereg(struct unic_mem_region *r, int status)
{
	if (!is_dereg_done(status)) {
		set_leaving(r, false);
		return unic_fail_status("deregister memory", status);
	}
	pthread_mutex_lock(&r->mr.ctx->evt_lock);
	r->known = false;
	__atomic_store_n(&r->life, UNIC_MR_GONE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->mr.ctx->evt_lock);
	return 0;
}

/* End the driver's object of @r. */
static int dereg_region(struct unic_mem_region *r)
{
	struct unic_ctl_obj rec = { .id = unic_to_le32(r->mr.id) };
	struct unic_conn_call call = { .rec = &rec };

	if (!r->known)
		return 0;
	set_leaving(r, true);
	return finish_dereg(r, unic_ctl(r->mr.ctx, UNIC_CTL_MR_DEREG, &call));
}

uint32_t unic_mem_region_leave(struct unic_mr *mr)
{
	struct unic_mem_region *r = unic_mem_region(mr);

	if (!r->known)
		return 0;
	set_leaving(r, true);
	return mr->id;
}

int unic_mem_region_left(struct unic_mr *mr, int status)
{
	struct unic_mem_region *r = unic_mem_region(mr);
	struct unic_ctl_obj rec = { .id = unic_to_le32(mr->id) };
	int err;

	if (r->known && status < 0) /* the batch did not arrive */
		unic_owed_put(mr->ctx, UNIC_CTL_MR_DEREG, &rec);
	err = r->known ? finish_dereg(r, status) : 0;
	if (!err)
		unic_mem_region_forget(r);
	return err;
}

bool unic_mem_region_at(struct unic_ctx *ctx, const uint8_t *va, size_t bytes,
			bool known)
{
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&ctx->evt_lock);
	for (i = 0; i < UNIC_MR_HANDLES && !found; i++) {
		const struct unic_mem_region *r = ctx->region[i];
		const uint8_t *at = r ? r->mr.addr : NULL;

		found = at && (r->known || !known) && at < va + bytes &&
			va < at + r->mr.length;
	}
	pthread_mutex_unlock(&ctx->evt_lock);
	return found;
}

int unic_advise_mr(struct unic_mr *mr, uint64_t offset, uint64_t length,
		   enum unic_advice advice)
{
	struct unic_ctl_mr_advise rec = {
		.id = unic_to_le32(mr->id),
		.offset = unic_to_le64(offset),
		.length = unic_to_le64(length),
		.advice = unic_to_le32(advice),
	};
	struct unic_conn_call call = { .rec = &rec };
	int status = unic_ctl(mr->ctx, UNIC_CTL_MR_ADVISE, &call);

	return unic_fail_status("advise", status);
}

int unic_set_importance(struct unic_mr *mr, unsigned int importance)
{
	struct unic_ctl_mr_rereg rec = { .id = unic_to_le32(mr->id),
					 .what = UNIC_REREG_HINT,
					 .importance = (uint8_t)importance };

	if (importance > 255)
		return unic_fail(-EINVAL, "importance is 0 to 255");
	return unic_ctl_simple(mr->ctx, UNIC_CTL_MR_REREG, &rec,
			       "set the importance of memory");
}

int unic_dereg_mr(struct unic_mr *mr)
{
	struct unic_mem_region *r = unic_mem_region(mr);
	int err;

	unic_event_pump(mr->ctx);
	if (unic_mr_life(mr) == UNIC_MR_WAITING)
		unic_cancel_reg(mr);
	err = dereg_region(r);
	if (!err)
		unic_mem_region_forget(r);
	return err;
}

void unic_mem_region_drop(struct unic_mr *mr)
{
	if (unic_dereg_mr(mr))
		unic_mem_region_abandon(mr);
}

int unic_release(struct unic_mr *mr)
{
	return dereg_region(unic_mem_region(mr));
}

enum unic_mr_life unic_mr_life(const struct unic_mr *mr)
{
	const struct unic_mem_region *r = unic_mem_region(mr);

	if (unic_ctx_lost(mr->ctx))
		return UNIC_MR_GONE;
	return (enum unic_mr_life)__atomic_load_n(&r->life, __ATOMIC_ACQUIRE);
}

bool unic_mr_usable(const struct unic_mr *mr, uint32_t expected_us)
{
	const struct unic_mem_region *r = unic_mem_region(mr);
	uint64_t deadline;

	unic_event_pump(mr->ctx);
	switch (unic_mr_life(mr)) {
	case UNIC_MR_LIVE:
		return true;
	case UNIC_MR_ASKED:
		deadline = __atomic_load_n(&r->deadline_ns, __ATOMIC_RELAXED);
		return unic_now_ns() + expected_us * 1000ull < deadline;
	default:
		return false;
	}
}

static int answer_notice(struct unic_mr *mr, struct unic_ctl_notice_answer *req,
			 unsigned int *refusal, uint64_t *deadline_ns)
{
	struct unic_mem_region *r = unic_mem_region(mr);
	union {
		struct unic_ctl_notice_answer req;
		struct unic_ctl_notice_reply reply;
	} rec = { .req = *req };
	struct unic_conn_call call = { .rec = &rec };
	int status;

	if (mr->ctx->forked)
		return unic_fail_forked();
	if (unic_mr_life(mr) != UNIC_MR_ASKED)
		return unic_fail(-ESTALE, "nobody asks for this region");
	rec.req.id = unic_to_le32(mr->id);
	rec.req.notice_seq = unic_to_le32(r->notice_seq);
	status = unic_ctl(mr->ctx, UNIC_CTL_NOTICE_ANSWER, &call);
	if (refusal)
		*refusal = status == UNIC_ST_REFUSED
				   ? unic_from_le32(rec.reply.detail)
				   : 0;
	if (!status && deadline_ns)
		*deadline_ns = unic_from_le64(rec.reply.deadline_ns);
	return unic_fail_status("answer a notice", status);
}

static void set_notified(struct unic_mem_region *r, uint32_t seq,
			 uint64_t deadline_ns)
{
	r->notice_seq = seq;
	__atomic_store_n(&r->deadline_ns, deadline_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&r->life, UNIC_MR_ASKED, __ATOMIC_RELEASE);
}

/* An accepted offer moves the notice from @mr to @instead. Upcalls that were read before
 * the reply may have changed their states already. */
int unic_offer(struct unic_mr *mr, struct unic_mr *instead,
	       unsigned int *refusal)
{
	struct unic_mem_region *r = unic_mem_region(mr);
	struct unic_mem_region *o = unic_mem_region(instead);
	struct unic_ctl_notice_answer req = {
		.answer = unic_to_le32(UNIC_ANSWER_OFFER),
		.offer_id = unic_to_le32(instead->id),
	};
	uint64_t deadline_ns = 0;
	int err = answer_notice(mr, &req, refusal, &deadline_ns);

	if (err)
		return err;
	pthread_mutex_lock(&mr->ctx->evt_lock);
	if (o->life == UNIC_MR_LIVE)
		set_notified(o, r->notice_seq, deadline_ns);
	if (r->life == UNIC_MR_ASKED)
		__atomic_store_n(&r->life, UNIC_MR_LIVE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&mr->ctx->evt_lock);
	return 0;
}

int unic_extend(struct unic_mr *mr, uint32_t us, unsigned int *refusal,
		uint64_t *deadline_ns)
{
	struct unic_ctl_notice_answer req = {
		.answer = unic_to_le32(UNIC_ANSWER_EXTEND),
		.extend_us = unic_to_le32(us),
	};
	uint64_t until = 0;
	int err = answer_notice(mr, &req, refusal, &until);

	if (err)
		return err;
	__atomic_store_n(&unic_mem_region(mr)->deadline_ns, until,
			 __ATOMIC_RELAXED);
	if (deadline_ns)
		*deadline_ns = until;
	return 0;
}

void unic_mem_region_abandon(struct unic_mr *mr)
{
	struct unic_ctl_obj rec = { .id = unic_to_le32(mr->id) };

	unic_owed_put(mr->ctx, UNIC_CTL_MR_DEREG, &rec);
	unic_mem_region_forget(unic_mem_region(mr));
}
