/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* desc.c - see desc.h. */
#include "desc.h"

#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "mend_thread.h"
#include "mr.h"

#define DESCS \
	256u /* of a queue pair, each way; then the oldest are forgotten */
/* An index of the region table rests for longer (INV-26), so until then an STag names
 * what it named. */
#define STAG_NS 4000000000ull
#define FOREVER UINT64_MAX

static const uint8_t magic[8] = "unicdesc";

/* A descriptor in a message. */
struct desc_msg {
	uint8_t magic[8];
	unic_le64 iova;
	unic_le64 length;
	unic_le32 stag;
	unic_le32 rsvd;
};
_Static_assert(sizeof(struct desc_msg) == UNIC_DESC_BYTES, "as in unic.h");

/* An STag that the peer has given. */
struct taken {
	uint32_t stag;
	bool by_desc; /* the application answers for the others */
	bool asked;   /* an INVALIDATE is to be answered */
	/* it is not to be used from that time until that time; 0: it is */
	uint64_t from_ns, until_ns;
};

/* An STag that the peer was given, of the region with the driver's id `mr`. */
struct given {
	uint32_t stag, mr;
};

struct unic_descs {
	pthread_mutex_t lock;
	struct taken taken[DESCS];
	struct given given[DESCS];
	uint32_t n_taken, n_given; /* so far: DESCS at most are remembered */
	uint32_t ended;		   /* not 0: of some `from_ns` is set; atomic */
	uint32_t open;		   /* not 0: some are `asked`; atomic */
};

static struct unic_descs *descs_of(const struct unic_qp *qp)
{
	return __atomic_load_n(&qp->descs, __ATOMIC_ACQUIRE);
}

/* What @qp remembers; it begins to now. NULL: no memory. */
static struct unic_descs *descs_new(struct unic_qp *qp)
{
	struct unic_descs *d = descs_of(qp), *none = NULL;

	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	if (__atomic_compare_exchange_n(&qp->descs, &none, d, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return d;
	pthread_mutex_destroy(&d->lock);
	free(d);
	return none;
}

static uint32_t count_taken(const struct unic_descs *d)
{
	return d->n_taken < DESCS ? d->n_taken : DESCS;
}

static struct taken *find_taken(struct unic_descs *d, uint32_t stag)
{
	uint32_t i;

	for (i = 0; i < count_taken(d); i++)
		if (d->taken[i].stag == stag)
			return &d->taken[i];
	return NULL;
}

/* The place of @stag, new or known. */
static struct taken *take(struct unic_descs *d, uint32_t stag)
{
	struct taken *t = find_taken(d, stag);

	if (t)
		return t;
	t = &d->taken[d->n_taken++ % DESCS];
	*t = (struct taken){ .stag = stag };
	return t;
}

static void end_taken(struct unic_descs *d, struct taken *t, uint64_t from,
		      uint64_t until)
{
	t->from_ns = from;
	t->until_ns = until;
	__atomic_store_n(&d->ended, 1, __ATOMIC_RELEASE);
}

/* -------------------------------------------------------------- in messages */

static int check_range(const struct unic_mr *mr, const void *addr,
		       uint64_t length, uint64_t *iova)
{
	uint64_t off = (uintptr_t)addr - (uintptr_t)mr->addr;

	if (mr->addr && (off > mr->length || length > mr->length - off))
		return unic_fail(-ERANGE, "not in the region");
	*iova = mr->iova + off;
	return 0;
}

/* The driver knows the STag of a region, and not what a work request made of a form's. */
static int record_given(struct unic_qp *qp, uint32_t mr, uint32_t stag,
			bool ended)
{
	struct unic_ctl_grant rec = { .mr = unic_to_le32(mr),
				      .conn = unic_to_le32(qp->conn),
				      .stag = unic_to_le32(stag),
				      .ended = unic_to_le32(ended) };
	struct unic_conn_call call = { .rec = &rec };

	return unic_ctl(qp->ctx, UNIC_CTL_GRANT, &call);
}

static void remember_given(struct unic_descs *d, uint32_t mr, uint32_t stag)
{
	uint32_t i, n = d->n_given < DESCS ? d->n_given : DESCS;

	for (i = 0; i < n; i++)
		if (d->given[i].stag == stag && d->given[i].mr == mr)
			return;
	d->given[d->n_given++ % DESCS] =
		(struct given){ .stag = stag, .mr = mr };
}

int unic_post_desc(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
		   struct unic_mr *mr, const void *addr, uint64_t length)
{
	bool form = unic_mem_region(mr)->kind != UNIC_FORM_PLAIN;
	struct desc_msg msg = { .length = unic_to_le64(length),
				.stag = unic_to_le32(mr->stag) };
	struct unic_sg sg = { .addr = &msg, .len = sizeof(msg) };
	struct unic_send_wr wr = { .wr_id = wr_id,
				   .opcode = UNIC_WR_SEND,
				   .flags = (uint8_t)(flags | UNIC_WR_INLINE),
				   .num_sge = 1,
				   .sg = &sg };
	struct unic_descs *d = descs_new(qp);
	uint64_t iova = 0;
	int err = check_range(mr, addr, length, &iova);

	if (err)
		return err;
	if (!d)
		return unic_fail(-ENOMEM, "out of memory");
	if (!qp->conn)
		return unic_fail(-ENOTCONN, "not connected");
	memcpy(msg.magic, magic, sizeof(magic));
	msg.iova = unic_to_le64(iova);
	err = unic_fail_status("record who is given a region",
			       record_given(qp, mr->id, form ? mr->stag : 0,
					    false));
	if (err)
		return err;
	pthread_mutex_lock(&d->lock);
	remember_given(d, mr->id, mr->stag);
	pthread_mutex_unlock(&d->lock);
	err = unic_post_send(qp, &wr, 1);
	return err == 1 ? 0 : err < 0 ? err : -EAGAIN;
}

int unic_take_desc(struct unic_qp *qp, const void *data, size_t bytes,
		   struct unic_desc *out)
{
	struct unic_descs *d = descs_new(qp);
	struct desc_msg msg;
	struct taken *t;
	int err;

	if (bytes < sizeof(msg))
		return unic_fail(-EINVAL, "no descriptor");
	memcpy(&msg, data, sizeof(msg));
	if (memcmp(msg.magic, magic, sizeof(magic)) || msg.rsvd)
		return unic_fail(-EINVAL, "no descriptor");
	if (!d)
		return unic_fail(-ENOMEM, "out of memory");
	/* who answers while the application sleeps */
	err = unic_mender_start(qp->ctx);
	if (err)
		return err;
	*out = (struct unic_desc){ .remote = unic_from_le64(msg.iova),
				   .length = unic_from_le64(msg.length),
				   .rkey = unic_from_le32(msg.stag) };
	pthread_mutex_lock(&d->lock);
	t = take(d, out->rkey);
	t->from_ns = 0;
	t->by_desc = true;
	pthread_mutex_unlock(&d->lock);
	return 0;
}

/* ---------------------------------------------------------------- being used */

bool unic_desc_ended(struct unic_qp *qp, uint32_t stag)
{
	struct unic_descs *d = descs_of(qp);
	const struct taken *t;
	uint64_t now;
	bool ended;

	if (!d || !__atomic_load_n(&d->ended, __ATOMIC_ACQUIRE))
		return false;
	now = unic_now_ns();
	pthread_mutex_lock(&d->lock);
	t = find_taken(d, stag);
	ended = t && t->from_ns && now >= t->from_ns && now < t->until_ns;
	pthread_mutex_unlock(&d->lock);
	return ended;
}

bool unic_desc_refuses(struct unic_qp *qp, const struct unic_send_wr *wr)
{
	return unic_desc_names(wr->opcode) && unic_desc_ended(qp, wr->rkey);
}

void unic_desc_evicted(struct unic_qp *qp, uint32_t stag)
{
	struct unic_descs *d = descs_of(qp);
	struct taken *t;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	t = find_taken(d, stag);
	if (t && t->by_desc && !t->from_ns)
		end_taken(d, t, unic_now_ns(), FOREVER);
	pthread_mutex_unlock(&d->lock);
}

/* ----------------------------------------------------------- being taken back */

/* The application is told once of what the library answers for, and each time of what it
 * is to answer for itself. */
bool unic_desc_asked(struct unic_event *ev)
{
	struct unic_descs *d;
	struct taken *t;
	bool tell = true;

	if (ev->kind != UNIC_CTL_HELD_STAG)
		return true;
	d = descs_new(ev->qp);
	if (!d)
		return true;
	pthread_mutex_lock(&d->lock);
	t = take(d, ev->number);
	if (t->by_desc) {
		tell = !t->from_ns;
		if (tell)
			end_taken(d, t, unic_now_ns(), FOREVER);
		t->asked = true;
		__atomic_store_n(&d->open, 1, __ATOMIC_RELEASE);
		ev->flags = UNIC_INVALIDATE_ANSWERED;
	} else if (!t->from_ns || t->until_ns < ev->deadline_ns) {
		end_taken(d, t, ev->deadline_ns, ev->deadline_ns + STAG_NS);
	}
	pthread_mutex_unlock(&d->lock);
	return tell;
}

/* True if a request of @qp that names @stag has not completed, as far as the NIC has
 * said. */
static bool is_named(struct unic_qp *qp, uint32_t stag)
{
	const struct unic_sq_slot *slot = qp->sq.slot;
	struct unic_ring *sq = &qp->sq;
	bool named = false;
	uint32_t pos;

	pthread_mutex_lock(&qp->send_cq->lock);
	pthread_mutex_lock(&sq->lock);
	for (pos = sq->done; pos != sq->posted && !named; pos++) {
		const struct unic_sq_slot *s = &slot[pos & sq->mask];

		named = sq->shadow[pos & sq->mask].slots &&
			unic_desc_names(s->opcode) &&
			unic_from_le32(s->rkey) == stag;
	}
	pthread_mutex_unlock(&sq->lock);
	pthread_mutex_unlock(&qp->send_cq->lock);
	return named;
}

static void answer(struct unic_qp *qp, uint32_t stag)
{
	struct unic_ctl_held_by rec = {
		.conn = unic_to_le32(qp->conn),
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(stag),
	};
	struct unic_conn_call call = { .rec = &rec };

	unic_ctl(qp->ctx, UNIC_CTL_INVALIDATED, &call);
}

/* Copy the STags of @d that are asked for to @stag. Returns how many. */
static uint32_t list_asked(struct unic_descs *d, uint32_t stag[DESCS])
{
	uint32_t i, n = 0;

	pthread_mutex_lock(&d->lock);
	for (i = 0; i < count_taken(d); i++)
		if (d->taken[i].asked)
			stag[n++] = d->taken[i].stag;
	pthread_mutex_unlock(&d->lock);
	return n;
}

static void settle_qp(struct unic_qp *qp)
{
	struct unic_descs *d = descs_of(qp);
	uint32_t stag[DESCS], i, n;
	bool all = true;

	if (!d || !__atomic_exchange_n(&d->open, 0, __ATOMIC_ACQ_REL))
		return;
	n = list_asked(d, stag);
	for (i = 0; i < n; i++) {
		struct taken *t;

		if (is_named(qp, stag[i])) {
			all = false;
			continue;
		}
		pthread_mutex_lock(&d->lock);
		t = find_taken(d, stag[i]);
		if (t)
			t->asked = false;
		pthread_mutex_unlock(&d->lock);
		answer(qp, stag[i]);
	}
	if (!all)
		__atomic_store_n(&d->open, 1, __ATOMIC_RELEASE);
}

void unic_desc_settle(struct unic_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < UNIC_DB_OBJECTS; i++)
		if (ctx->qp[i] && descs_of(ctx->qp[i]))
			settle_qp(ctx->qp[i]);
}

bool unic_desc_waits(const struct unic_qp *qp)
{
	const struct unic_descs *d = descs_of(qp);

	return d && __atomic_load_n(&d->open, __ATOMIC_RELAXED);
}

void unic_desc_completed(struct unic_ctx *ctx)
{
	pthread_mutex_lock(&ctx->evt_lock);
	unic_desc_settle(ctx);
	pthread_mutex_unlock(&ctx->evt_lock);
}

bool unic_desc_answered(struct unic_ctx *ctx, const struct unic_event *ev)
{
	bool done = false;
	unsigned int i;

	if (ev->kind != UNIC_CTL_HELD_STAG)
		return false;
	pthread_mutex_lock(&ctx->evt_lock);
	for (i = 0; i < UNIC_DB_OBJECTS; i++) {
		struct unic_qp *qp = ctx->qp[i];
		struct unic_descs *d = qp ? descs_of(qp) : NULL;
		struct taken *t;

		if (!d || qp->conn != ev->conn)
			continue;
		pthread_mutex_lock(&d->lock);
		t = find_taken(d, ev->number);
		done = t && t->by_desc;
		if (t && !done) {
			uint64_t now = unic_now_ns();

			end_taken(d, t, now, now + STAG_NS);
		}
		pthread_mutex_unlock(&d->lock);
	}
	pthread_mutex_unlock(&ctx->evt_lock);
	return done;
}

/* ------------------------------------------------------------- connections */

static void forget_asked(struct unic_descs *d)
{
	uint32_t i;

	for (i = 0; i < count_taken(d); i++)
		d->taken[i].asked = false;
	__atomic_store_n(&d->open, 0, __ATOMIC_RELEASE);
}

void unic_desc_again(struct unic_qp *qp)
{
	struct unic_descs *d = descs_of(qp);
	struct given given[DESCS];
	uint32_t i, n;
	int status;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	forget_asked(d); /* who asked over the last connection asks no more */
	n = d->n_given < DESCS ? d->n_given : DESCS;
	memcpy(given, d->given, sizeof(given));
	pthread_mutex_unlock(&d->lock);
	for (i = 0; i < n; i++) {
		status = record_given(qp, given[i].mr, given[i].stag, false);
		if (status == UNIC_ST_NO_MR || status == UNIC_ST_STATE ||
		    status == UNIC_ST_INVALID)
			record_given(qp, 0, given[i].stag, true);
	}
}

void unic_desc_forget(struct unic_qp *qp)
{
	struct unic_descs *d = descs_of(qp);

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->n_taken = d->n_given = 0;
	memset(d->taken, 0, sizeof(d->taken));
	__atomic_store_n(&d->ended, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&d->open, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&d->lock);
}

void unic_desc_fini(struct unic_qp *qp)
{
	if (!qp->descs)
		return;
	pthread_mutex_destroy(&qp->descs->lock);
	free(qp->descs);
	qp->descs = NULL;
}
