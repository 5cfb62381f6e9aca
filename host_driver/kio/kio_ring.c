/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_ring.c - see kio_ring.h. */
#include "kio_ring.h"
#include "kio_os.h"

#define PAGE	    4096u
#define MSG_BYTES   512u /* between two message buffers */
#define RING_BYTES  (UNIC_KIO_SLOTS * UNIC_SLOT_BYTES)
#define MSGS_BYTES  (UNIC_KIO_SLOTS * MSG_BYTES)
#define CQ_OFF	    0u
#define CQ_BYTES    (UNIC_KIO_CQES * 32u)
#define LINKS_OFF   (CQ_OFF + CQ_BYTES)
#define LINK_BYTES  (2u * (RING_BYTES + MSGS_BYTES))
#define BUFFERS_OFF (LINKS_OFF + UNIC_KIO_LINKS * LINK_BYTES)

/* Rows of the doorbell page. */
#define CQ_ROW	     0u
#define QP_ROW(link) (1u + (link))

_Static_assert(UNIC_KIO_CQES >= UNIC_KIO_LINKS * 2u * UNIC_KIO_SLOTS,
	       "a completion queue that cannot overflow");
_Static_assert(sizeof(struct unic_kio_msg) + UNIC_KIO_NAME_MAX <= MSG_BYTES,
	       "a message fits its buffer");
_Static_assert(UNIC_TOKEN_PIECES * sizeof(struct unic_sge) <= MSG_BYTES,
	       "and so does the list of a form");
_Static_assert(UNIC_KIO_FORMS <= 32, "a bit of a word for each form");

/* wr_id: 7:0 tag, 15:8 place in a window, 31:16 link, 63:32 number of the slot, counted
 * over all slots posted on the ring */
static uint64_t make_wr_id(uint32_t tag, uint32_t at, uint32_t link,
			   uint32_t pos)
{
	return tag | at << 8 | link << 16 | (uint64_t)pos << 32;
}

uint64_t unic_kio_ring_bytes(uint32_t buffers)
{
	return BUFFERS_OFF + (uint64_t)buffers * UNIC_KIO_MAX;
}

uint64_t unic_kio_ring_at(const struct unic_kio_ring *r, const void *p)
{
	return r->bus + (uint64_t)((const uint8_t *)p - r->mem);
}

static uint8_t *link_mem(const struct unic_kio_ring *r, uint32_t link,
			 uint32_t off)
{
	return r->mem + LINKS_OFF + link * LINK_BYTES + off;
}

static struct unic_sq_slot *sq_ring(const struct unic_kio_ring *r,
				    uint32_t link)
{
	return (void *)link_mem(r, link, 0);
}

static struct unic_rq_slot *rq_ring(const struct unic_kio_ring *r,
				    uint32_t link)
{
	return (void *)link_mem(r, link, RING_BYTES);
}

static uint8_t *msg_out(const struct unic_kio_ring *r, uint32_t link,
			uint32_t at)
{
	return link_mem(r, link, 2 * RING_BYTES + at * MSG_BYTES);
}

static uint8_t *msg_in(const struct unic_kio_ring *r, uint32_t link,
		       uint32_t at)
{
	return link_mem(r, link, 2 * RING_BYTES + MSGS_BYTES + at * MSG_BYTES);
}

static struct unic_cqe *cqe_at(const struct unic_kio_ring *r, uint32_t n)
{
	struct unic_cqe *ring = (void *)(r->mem + CQ_OFF);

	return &ring[n % UNIC_KIO_CQES];
}

void unic_kio_ring_init(struct unic_kio_ring *r, struct unic_os *os,
			void *slot_mem, uint32_t slot, void *mem, uint64_t bus,
			uint32_t buffers)
{
	const struct unic_db_page *db = slot_mem;
	uint32_t fifo = unic_from_le32(UNIC_LOAD(db->fifo_seq));

	memset(r, 0, sizeof(*r));
	r->os = os;
	r->slot_mem = slot_mem;
	r->slot = slot;
	r->mem = mem;
	r->bus = bus;
	r->fifo = fifo;
	r->free = buffers ? UINT32_MAX >> (UNIC_KIO_BUFFERS - buffers) : 0;
	memset(r->mem + CQ_OFF, 0, CQ_BYTES);
}

/* ----------------------------------------------------------------- doorbell */

static struct unic_db_tail *db_row(const struct unic_kio_ring *r, uint32_t n)
{
	struct unic_db_page *db = (void *)r->slot_mem;

	return &db->tail[n];
}

/* Append a doorbell word. The caller has written the value to the row. */
static void ring_doorbell(struct unic_kio_ring *r, enum unic_db_kind kind,
			  uint32_t n, uint32_t value)
{
	const struct unic_nic_page *np =
		(void *)(r->slot_mem + UNIC_SLOT_NIC_PAGE * PAGE);
	struct unic_db_page *db = (void *)r->slot_mem;

	UNIC_STORE(db->fifo[r->fifo++ % UNIC_DB_FIFO],
		   unic_to_le32(UNIC_DB_WORD(kind, n, value & 0xffff)));
	unic_os_wmb();
	UNIC_STORE(db->fifo_seq, unic_to_le32(r->fifo));
	unic_os_mb(); /* INV-1 */
	if (unic_from_le32(UNIC_LOAD(np->asleep)))
		unic_os_ring_slot(r->os, r->slot);
}

/* -------------------------------------------------------------------- queues */

void unic_kio_ring_cq(const struct unic_kio_ring *r,
		      struct unic_ctl_cq_create *cmd)
{
	memset(db_row(r, CQ_ROW), 0, sizeof(struct unic_db_tail));
	cmd->iova = unic_to_le64(unic_kio_ring_at(r, cqe_at(r, 0)));
	cmd->entries = unic_to_le32(UNIC_KIO_CQES);
	cmd->db_index = unic_to_le32(CQ_ROW);
}

void unic_kio_ring_qp(struct unic_kio_ring *r, uint32_t link,
		      struct unic_ctl_qp_create *cmd)
{
	memset(db_row(r, QP_ROW(link)), 0, sizeof(struct unic_db_tail));
	cmd->sq_iova = unic_to_le64(unic_kio_ring_at(r, sq_ring(r, link)));
	cmd->rq_iova = unic_to_le64(unic_kio_ring_at(r, rq_ring(r, link)));
	cmd->sq_slots = unic_to_le16(UNIC_KIO_SLOTS);
	cmd->rq_slots = unic_to_le16(UNIC_KIO_SLOTS);
	cmd->db_index = (uint8_t)QP_ROW(link);
}

static struct unic_sge make_sge(const struct unic_kio_ring *r, const void *p,
				uint32_t bytes)
{
	return (struct unic_sge){
		.iova = unic_to_le64(unic_kio_ring_at(r, p)),
		.len = unic_to_le32(bytes),
		.lkey = unic_to_le32(r->stag),
	};
}

/* Post a receive. Each slot has a message buffer of its own; receives complete in
 * order, so the buffer is free when the slot is. */
static void post_recv(struct unic_kio_ring *r, uint32_t link)
{
	uint32_t n = r->link[link].receives++, at = n % UNIC_KIO_SLOTS;

	rq_ring(r, link)[at] = (struct unic_rq_slot){
		.num_sge = 1,
		.wr_id = unic_to_le64(
			make_wr_id(UNIC_KIO_TAG_RECV, at, link, n)),
		.sge = { make_sge(r, msg_in(r, link, at), MSG_BYTES) },
	};
	unic_os_wmb(); /* reads of the buffer, and the slot, before the tail */
	UNIC_STORE(db_row(r, QP_ROW(link))->rq, unic_to_le32(n + 1));
	ring_doorbell(r, UNIC_DB_RQ, QP_ROW(link), n + 1);
}

void unic_kio_ring_up(struct unic_kio_ring *r, uint32_t link, uint32_t qpn)
{
	r->link[link].qpn = qpn;
	r->link[link].posted = r->link[link].done = 0;
	r->link[link].receives = r->link[link].received = 0;
	r->link[link].live = true;
	while (r->link[link].receives < UNIC_KIO_SLOTS)
		post_recv(r, link);
}

void unic_kio_ring_down(struct unic_kio_ring *r, uint32_t link)
{
	r->link[link].live = false;
}

void unic_kio_ring_repost(struct unic_kio_ring *r, uint32_t link)
{
	if (r->link[link].live)
		post_recv(r, link);
}

/* --------------------------------------------------------------------- posts */

/* The slots that a request of @sges SGEs needs. */
static uint32_t slots_of(uint32_t sges)
{
	return sges > UNIC_SQ_SGE_BASE ? 2 : 1;
}

static bool has_room(const struct unic_kio_ring *r, uint32_t link,
		     uint32_t slots)
{
	return r->link[link].live &&
	       r->link[link].posted + slots - r->link[link].done <=
		       UNIC_KIO_SLOTS;
}

/* The next send slot, with @msg filled in, for a request of @sges SGEs. */
static struct unic_sq_slot *slot_get(struct unic_kio_ring *r, uint32_t link,
				     const struct unic_kio_msg *msg,
				     uint32_t sges)
{
	uint32_t n = r->link[link].posted;
	struct unic_sq_slot *s = &sq_ring(r, link)[n % UNIC_KIO_SLOTS];
	uint8_t *out = msg_out(r, link, n % UNIC_KIO_SLOTS);

	memcpy(out, msg, sizeof(*msg));
	*s = (struct unic_sq_slot){ .flags = UNIC_WR_SIGNALED,
				    .num_sge = (uint8_t)sges };
	s->sge[0] = make_sge(r, out, sizeof(*msg));
	return s;
}

/* Post the request that begins at @s. Its completion names the last of its slots. */
static void slot_post(struct unic_kio_ring *r, uint32_t link,
		      struct unic_sq_slot *s, uint32_t tag, uint32_t at)
{
	uint32_t n = r->link[link].posted + slots_of(s->num_sge) - 1;

	r->link[link].posted = n + 1;
	s->wr_id = unic_to_le64(make_wr_id(tag, at, link, n));
	unic_os_wmb();
	UNIC_STORE(db_row(r, QP_ROW(link))->sq, unic_to_le32(n + 1));
	ring_doorbell(r, UNIC_DB_SQ, QP_ROW(link), n + 1);
}

bool unic_kio_ring_send(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_msg *msg, const void *name,
			uint32_t name_bytes)
{
	uint32_t at = r->link[link].posted % UNIC_KIO_SLOTS;
	struct unic_sq_slot *s;

	if (!has_room(r, link, 1))
		return false;
	s = slot_get(r, link, msg, 1);
	if (name_bytes)
		memcpy(msg_out(r, link, at) + sizeof(*msg), name, name_bytes);
	s->opcode = UNIC_WR_SEND;
	s->sge[0].len = unic_to_le32((uint32_t)sizeof(*msg) + name_bytes);
	slot_post(r, link, s, UNIC_KIO_TAG_SEND, 0);
	return true;
}

static struct unic_sge sge_of(const struct unic_kio_ring *r,
			      const struct unic_token_piece *p)
{
	return (struct unic_sge){
		.iova = p->bus,
		.len = p->len,
		.lkey = unic_to_le32(r->stag),
	};
}

/* Write the pieces as SGEs: the first into the base slot, the others into the next
 * slot. */
static void gather_pieces(const struct unic_kio_ring *r, uint32_t link,
			  struct unic_sq_slot *s,
			  const struct unic_kio_data *data)
{
	uint32_t i, n = r->link[link].posted + 1;
	struct unic_sq_ext *ext = (void *)&sq_ring(r, link)[n % UNIC_KIO_SLOTS];

	for (i = 0; i < data->pieces; i++)
		*(i ? &ext->sge[i - 1] : &s->sge[1]) =
			sge_of(r, &data->piece[i]);
}

/*
 * Post a request that makes the form of the pieces of @data. The form may be valid
 * still: its last user has ended. Its only right is local read. The list is in the
 * message buffer of the slot. Returns an SGE of the whole form.
 */
static struct unic_sge post_reg_indirect(struct unic_kio_ring *r, uint32_t link,
					 const struct unic_kio_data *data)
{
	uint32_t at = r->link[link].posted % UNIC_KIO_SLOTS, i, len = 0;
	struct unic_sge *list = (void *)msg_out(r, link, at);
	struct unic_sq_slot *s = &sq_ring(r, link)[at];

	for (i = 0; i < data->pieces; i++) {
		list[i] = sge_of(r, &data->piece[i]);
		len += unic_from_le32(data->piece[i].len);
	}
	*s = (struct unic_sq_slot){
		.opcode = UNIC_WR_REG_INDIRECT,
		.num_sge = 1,
		.imm = unic_to_le32(UNIC_WR_IMM_KEY(data->form)),
		.rkey = unic_to_le32(data->form),
		.sge = { make_sge(r, list,
				  data->pieces * (uint32_t)sizeof(*list)) },
	};
	slot_post(r, link, s, UNIC_KIO_TAG_SEND, 0);
	return (struct unic_sge){
		.len = unic_to_le32(len),
		.lkey = unic_to_le32(data->form),
	};
}

bool unic_kio_ring_data(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_msg *msg,
			const struct unic_kio_data *data, enum unic_kio_tag tag,
			uint32_t at)
{
	uint32_t sges = 1 + (data->form ? 1 : data->pieces);
	struct unic_sge all;
	struct unic_sq_slot *s;

	if (!has_room(r, link, slots_of(sges) + !!data->form))
		return false;
	if (data->form)
		all = post_reg_indirect(r, link, data);
	s = slot_get(r, link, msg, sges);
	s->opcode = UNIC_WR_TOKEN;
	s->ctrl_len = unic_to_le32(sizeof(*msg));
	s->remote = unic_to_le64(data->key);
	s->rkey = unic_to_le32(data->token);
	if (data->form)
		s->sge[1] = all;
	else
		gather_pieces(r, link, s, data);
	slot_post(r, link, s, tag, at);
	return true;
}

bool unic_kio_ring_rdma(struct unic_kio_ring *r, uint32_t link,
			const struct unic_kio_rdma *rdma, uint32_t at)
{
	uint32_t n = r->link[link].posted % UNIC_KIO_SLOTS;
	struct unic_sq_slot *s = &sq_ring(r, link)[n];

	if (!has_room(r, link, 1))
		return false;
	*s = (struct unic_sq_slot){
		.opcode = rdma->read ? UNIC_WR_READ : UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.remote = unic_to_le64(rdma->iova),
		.rkey = unic_to_le32(rdma->stag),
		.sge = { sge_of(r, &rdma->piece) },
	};
	slot_post(r, link, s, UNIC_KIO_TAG_RDMA, at);
	return true;
}

/* ------------------------------------------------------------- completions */

/* Check that a receive is the next one of its link; if earlier ones are missing,
 * out->ok is false, and the link has failed. Returns false if the receive is not
 * posted. */
static bool check_recv_order(struct unic_kio_ring *r, uint32_t n,
			     struct unic_kio_done *out)
{
	uint32_t first = r->link[out->link].received;

	if (out->at != n % UNIC_KIO_SLOTS ||
	    n - first >= r->link[out->link].receives - first)
		return false;
	if (n == first)
		r->link[out->link].received++;
	else
		out->ok = false;
	return true;
}

/* Parse @cqe into @out. False: no request posted has this completion. */
static bool parse_cqe(struct unic_kio_ring *r, const struct unic_cqe *cqe,
		      struct unic_kio_done *out)
{
	uint64_t id = unic_from_le64(cqe->wr_id);
	bool recv = (id & 0xff) == UNIC_KIO_TAG_RECV;
	uint32_t pos = (uint32_t)(id >> 32);

	out->tag = (uint8_t)id;
	out->at = (uint8_t)(id >> 8);
	out->link = (uint32_t)(id >> 16) & 0xffff;
	out->stale = out->tag == UNIC_KIO_TAG_RDMA &&
		     cqe->status == UNIC_WC_REM_EVICTED;
	out->ok = cqe->status == UNIC_WC_SUCCESS || out->stale;
	if (out->link >= UNIC_KIO_LINKS || !r->link[out->link].live ||
	    r->link[out->link].qpn != (unic_from_le32(cqe->qpn) & 0xffffff) ||
	    !out->tag || out->tag > UNIC_KIO_TAG_RDMA ||
	    out->at >= UNIC_KIO_SLOTS || recv != (cqe->opcode >= UNIC_WC_RECV))
		return false;
	if (!recv) {
		if (pos - r->link[out->link].done >=
		    r->link[out->link].posted - r->link[out->link].done)
			return false;
		r->link[out->link].done = pos + 1;
		return true;
	}
	if (!check_recv_order(r, pos, out))
		return false;
	out->msg = msg_in(r, out->link, out->at);
	out->bytes = unic_from_le32(cqe->byte_len);
	if (out->bytes > MSG_BYTES)
		out->bytes = MSG_BYTES;
	out->token = unic_from_le32(cqe->token);
	out->payload = cqe->opcode == UNIC_WC_RECV_TOKEN
			       ? unic_from_le32(cqe->imm)
			       : 0;
	return true;
}

bool unic_kio_ring_poll(struct unic_kio_ring *r, struct unic_kio_done *out)
{
	struct unic_cqe cqe;
	uint32_t budget;

	for (budget = UNIC_KIO_CQES; budget; budget--) {
		struct unic_cqe *at = cqe_at(r, r->cq_ci);

		if (unic_from_le32(UNIC_LOAD(at->seq)) != r->cq_ci + 1)
			return false;
		unic_os_rmb();
		memcpy(&cqe, at, sizeof(cqe));
		r->cq_ci++;
		unic_os_mb(); /* read the record before freeing its room */
		UNIC_STORE(db_row(r, CQ_ROW)->cq_ci, unic_to_le32(r->cq_ci));
		memset(out, 0, sizeof(*out));
		if (parse_cqe(r, &cqe, out))
			return true;
		r->bad++;
	}
	return false;
}

bool unic_kio_ring_rest(struct unic_kio_ring *r)
{
	if (r->armed != r->cq_ci + 1) {
		UNIC_STORE(db_row(r, CQ_ROW)->arm,
			   unic_to_le32(r->cq_ci & 0x7fffffff));
		ring_doorbell(r, UNIC_DB_ARM, CQ_ROW, r->cq_ci);
		r->armed = r->cq_ci + 1;
		unic_os_mb();
	}
	return unic_from_le32(UNIC_LOAD(cqe_at(r, r->cq_ci)->seq)) !=
	       r->cq_ci + 1;
}

/* ------------------------------------------------------------------ buffers */

void *unic_kio_ring_get(struct unic_kio_ring *r)
{
	uint32_t at;

	if (!r->free)
		return NULL;
	at = (uint32_t)__builtin_ctz(r->free);
	r->free &= ~(1u << at);
	return r->mem + BUFFERS_OFF + at * UNIC_KIO_MAX;
}

void unic_kio_ring_put(struct unic_kio_ring *r, void *buf)
{
	size_t off = (size_t)((uint8_t *)buf - r->mem) - BUFFERS_OFF;

	r->free |= 1u << off / UNIC_KIO_MAX;
}

/* -------------------------------------------------------------------- forms */

void unic_kio_ring_add_form(struct unic_kio_ring *r, uint32_t stag)
{
	r->form[r->forms] = stag;
	r->free_forms |= 1u << r->forms++;
}

uint32_t unic_kio_ring_form(struct unic_kio_ring *r)
{
	uint32_t at;

	if (!r->free_forms)
		return 0;
	at = (uint32_t)__builtin_ctz(r->free_forms);
	r->free_forms &= ~(1u << at);
	return r->form[at];
}

void unic_kio_ring_form_put(struct unic_kio_ring *r, uint32_t form)
{
	uint32_t at;

	for (at = 0; at < r->forms; at++)
		if (r->form[at] == form)
			r->free_forms |= 1u << at;
}

_Static_assert(UNIC_KIO_BUFFERS == 32, "a bit of a word for each buffer");
_Static_assert(sizeof(struct unic_sq_ext) == sizeof(struct unic_sq_slot),
	       "an extension takes the place of a slot");
