/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lives.c - see lives.h. */
#include "lives.h"

#include <string.h>

#include "app.h"
#include "unic_wire.h"

#define QUEUES	 64u /* of all NICs, from their first RTR to their end */
#define MESSAGES 1024u

/* PSNs that are repeated, at most. */
#define RECENT 1024u

/* One life of a queue pair: its peer, the next PSN it takes, and the one behind the
 * last that it sent, if it sent any. */
struct life {
	uint32_t dest_qpn, dest_node, psn, mtu_shift;
	uint32_t asked;
	bool asks;
	bool spoiled; /* it may have taken another request with a PSN */
};

struct queue {
	bool used;
	bool live;   /* `now` is valid */
	bool coming; /* QP_MODIFY to RTR is on the ring: `next` will be `now` */
	uint32_t node, qpn, proc;
	struct life now, next;
};

struct message {
	uint64_t id; /* 0: free */
	const struct link *link;
	uint32_t gen, from;
	bool well, received, over;
};

static struct queue *queues;
static struct message *messages;
static uint32_t high_message;

void lives_reset(void)
{
	queues = sim_alloc(QUEUES * sizeof(*queues));
	messages = sim_alloc(MESSAGES * sizeof(*messages));
	high_message = 0;
}

/* ----------------------------------------------------------------- the wire */

static struct queue *find_queue(uint32_t node, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		if (queues[i].used && queues[i].node == node &&
		    queues[i].qpn == qpn)
			return &queues[i];
	return NULL;
}

static struct queue *add_queue(uint32_t node, uint32_t qpn, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < QUEUES && queues[i].used; i++)
		;
	if (i == QUEUES)
		sim_fail("sim", "more than %u queue pairs live", QUEUES);
	queues[i] = (struct queue){
		.used = true, .node = node, .qpn = qpn, .proc = proc
	};
	return &queues[i];
}

/* QP @qpn is no more, so it answers nothing. */
static void queue_gone(uint32_t node, uint32_t qpn)
{
	struct queue *q = find_queue(node, qpn);

	if (q)
		q->used = false;
}

static void proc_gone(uint32_t node, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		if (queues[i].node == node && queues[i].proc == proc)
			queues[i].used = false;
}

static bool modifies(const struct tap_cmd *c, struct unic_cmd_qp_modify *cmd)
{
	memcpy(cmd, c->rec, sizeof(*cmd));
	return cmd->hdr.opcode == UNIC_CMD_QP_MODIFY;
}

/* From QP_MODIFY to RTR on the queue pair may take frames of the new life. */
void lives_command(const struct node *n, const struct tap_cmd *c)
{
	struct unic_cmd_qp_modify cmd;
	struct queue *q;
	uint32_t qpn;

	if (!modifies(c, &cmd) || cmd.state != UNIC_QPS_RTR || !cmd.dest_ipv4)
		return;
	qpn = unic_from_le32(cmd.qpn);
	q = find_queue(n->id, qpn);
	if (!q)
		q = add_queue(n->id, qpn, unic_from_le32(cmd.proc));
	q->coming = true;
	q->next = (struct life){ .dest_qpn = unic_from_le32(cmd.dest_qpn),
				 .dest_node = cmd.dest_mac[5],
				 .psn = unic_from_le32(cmd.rq_psn),
				 .mtu_shift = cmd.mtu_shift };
}

/* A command that ended objects of @n at once. */
static void ended(const struct node *n, const struct tap_cmd *c)
{
	struct unic_cmd_hdr hdr;
	struct unic_cmd_obj obj;

	memcpy(&hdr, c->rec, sizeof(hdr));
	memcpy(&obj, c->rec, sizeof(obj));
	if (hdr.opcode == UNIC_CMD_QP_DESTROY)
		queue_gone(n->id, unic_from_le32(obj.id));
	else if (hdr.opcode == UNIC_CMD_PROC_DETACH)
		proc_gone(n->id, unic_from_le32(obj.proc));
}

void lives_event(const struct node *n, const void *evt)
{
	struct unic_evt_obj obj;

	memcpy(&obj, evt, sizeof(obj));
	if (obj.hdr.type == UNIC_EVT_QP_GONE)
		queue_gone(n->id, unic_from_le32(obj.id));
	else if (obj.hdr.type == UNIC_EVT_PROC_GONE)
		proc_gone(n->id, unic_from_le32(obj.id));
}

void lives_done(const struct node *n, const struct tap_cmd *c, uint8_t status)
{
	struct unic_cmd_qp_modify cmd;
	struct queue *q;

	if (!status)
		ended(n, c);
	if (!modifies(c, &cmd) || cmd.state != UNIC_QPS_RTR)
		return;
	q = find_queue(n->id, unic_from_le32(cmd.qpn));
	if (!q || !q->coming)
		return;
	q->coming = false;
	if (status)
		return;
	q->now = q->next;
	q->live = true;
}

void lives_epoch(const struct node *n)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		if (queues[i].node == n->id)
			queues[i].used = false;
}

static uint32_t word(const uint8_t *f, uint32_t at)
{
	return (uint32_t)f[at] << 24 | (uint32_t)f[at + 1] << 16 |
	       (uint32_t)f[at + 2] << 8 | f[at + 3];
}

/* False: no frame between queue pairs, or too short. */
static bool parse(const uint8_t *f, uint32_t len, uint8_t *opcode,
		  uint32_t *qpn, uint32_t *psn)
{
	if (len < UNIC_EXT_OFF + UNIC_ICRC_BYTES ||
	    word(f, 12) >> 16 != UNIC_ETHERTYPE_IP)
		return false;
	*opcode = f[UNIC_BTH_OFF];
	*qpn = word(f, UNIC_BTH_OFF + 4) & UNIC_QPN_MASK;
	*psn = word(f, UNIC_BTH_OFF + 8) & UNIC_PSN_MASK;
	return true;
}

static bool is_request(uint8_t opcode)
{
	return opcode <= UNIC_OP_READ_REQUEST ||
	       opcode == UNIC_OP_COMPARE_SWAP || opcode == UNIC_OP_FETCH_ADD ||
	       opcode == UNIC_OP_SEND_LAST_INV ||
	       opcode == UNIC_OP_SEND_ONLY_INV ||
	       (opcode >= UNIC_OP_TOKEN_FIRST && opcode <= UNIC_OP_TOKEN_ONLY);
}

/* PSNs that a request takes: a READ one for each packet of its response. */
static uint32_t psns(const uint8_t *f, uint32_t len, uint8_t opcode,
		     uint32_t shift)
{
	uint32_t bytes;

	if (opcode != UNIC_OP_READ_REQUEST || len < UNIC_EXT_OFF + 16)
		return 1;
	bytes = word(f, UNIC_EXT_OFF + 12);
	if (bytes > UNIC_MSG_MAX)
		return 1;
	return bytes ? ((bytes - 1) >> shift) + 1 : 1;
}

static void took(struct life *l, const uint8_t *f, uint32_t len, uint8_t opcode,
		 uint32_t psn)
{
	if (psn == l->psn)
		l->psn = (psn + psns(f, len, opcode, l->mtu_shift)) &
			 UNIC_PSN_MASK;
}

void lives_took(const struct node *n, const uint8_t *frame, uint32_t len)
{
	uint32_t qpn, psn;
	struct queue *q;
	uint8_t opcode;

	if (!parse(frame, len, &opcode, &qpn, &psn) || !is_request(opcode))
		return;
	q = find_queue(n->id, qpn);
	if (q && q->live)
		took(&q->now, frame, len, opcode, psn);
	if (q && q->coming)
		took(&q->next, frame, len, opcode, psn);
}

/* May an answer name @psn? At most that of a request that was taken; an
 * answer that asks for a request may name the next PSN. */
static bool may_say(const struct life *l, const uint8_t *f, uint8_t opcode,
		    uint32_t psn)
{
	uint8_t syndrome = f[UNIC_EXT_OFF] & UNIC_AETH_TYPE_MASK;
	bool asks = opcode == UNIC_OP_VACK ||
		    (opcode == UNIC_OP_ACK && syndrome);

	return l->spoiled ||
	       ((l->psn - !asks - psn) & UNIC_PSN_MASK) <= UNIC_PSN_MASK / 2;
}

static bool is_answer(uint8_t opcode)
{
	return (opcode >= UNIC_OP_READ_RESP_FIRST &&
		opcode <= UNIC_OP_ATOMIC_ACK) ||
	       opcode == UNIC_OP_VACK;
}

/* Is the peer of @l QP @qpn of NIC @to? */
static bool is_of(const struct life *l, uint32_t qpn, uint32_t to)
{
	return l->dest_qpn == qpn && l->dest_node == to;
}

static bool is_recent(uint32_t psn, uint32_t last)
{
	return ((last - psn) & UNIC_PSN_MASK) < RECENT;
}

static bool may_take(const struct life *l, uint32_t psn, bool answer)
{
	return answer ? l->asks && is_recent(psn, l->asked - 1)
		      : is_recent(psn, l->psn);
}

bool lives_may_take(const struct node *n, uint32_t qpn, uint32_t psn,
		    bool answer)
{
	const struct queue *q = find_queue(n->id, qpn);

	return q && ((q->live && may_take(&q->now, psn, answer)) ||
		     (q->coming && may_take(&q->next, psn, answer)));
}

void lives_spoil(const struct node *n, uint32_t qpn)
{
	struct queue *q = find_queue(n->id, qpn);

	if (!q)
		return;
	q->now.spoiled = true;
	q->next.spoiled = true;
}

static void asked(struct life *l, const uint8_t *f, uint32_t len,
		  uint8_t opcode, uint32_t psn)
{
	uint32_t end = psn + psns(f, len, opcode, l->mtu_shift);

	if (!l->asks || ((end - l->asked) & UNIC_PSN_MASK) <= UNIC_PSN_MASK / 2)
		l->asked = end & UNIC_PSN_MASK;
	l->asks = true;
}

static void sent_request(const struct node *n, const uint8_t *f, uint32_t len,
			 uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	struct queue *q;

	for (q = queues; q < queues + QUEUES; q++) {
		if (!q->used || q->node != n->id)
			continue;
		if (q->live && is_of(&q->now, qpn, f[5]))
			asked(&q->now, f, len, opcode, psn);
		if (q->coming && is_of(&q->next, qpn, f[5]))
			asked(&q->next, f, len, opcode, psn);
	}
}

/*
 * An answer must be allowed by a queue pair that is connected with its
 * destination, if there is any.
 */
void lives_sent(const struct node *n, const uint8_t *frame, uint32_t len)
{
	const struct queue *of = NULL, *q;
	uint32_t qpn, psn;
	uint8_t opcode;

	if (!parse(frame, len, &opcode, &qpn, &psn))
		return;
	if (is_request(opcode))
		sent_request(n, frame, len, opcode, qpn, psn);
	if (!is_answer(opcode))
		return;
	for (q = queues; q < queues + QUEUES; q++) {
		if (!q->used || q->node != n->id)
			continue;
		if (q->coming && is_of(&q->next, qpn, frame[5]) &&
		    may_say(&q->next, frame, opcode, psn))
			return;
		if (!q->live || !is_of(&q->now, qpn, frame[5]))
			continue;
		if (may_say(&q->now, frame, opcode, psn))
			return;
		of = q;
	}
	if (of)
		sim_fail("lives",
			 "nic %u: QP %x answers PSN %x with opcode %x, the "
			 "next that it may take in this connection is %x",
			 n->id, of->qpn, psn, opcode, of->now.psn);
}

/* ----------------------------------------------------------------- messages */

static struct message *find_message(uint64_t id)
{
	uint32_t i;

	for (i = 0; i < high_message; i++)
		if (messages[i].id == id)
			return &messages[i];
	return NULL;
}

void lives_post(const struct link *l, uint32_t gen, uint32_t from, uint64_t id)
{
	struct message *m = find_message(0);

	if (l->type != UNIC_QPT_RC || gen <= l->spoiled)
		return; /* no completion proves arrival */
	if (!m && high_message == MESSAGES)
		sim_fail("sim", "more than %u messages", MESSAGES);
	if (!m)
		m = &messages[high_message++];
	*m = (struct message){ .id = id, .link = l, .gen = gen, .from = from };
}

static void judge(const struct message *m)
{
	if (m->well && m->over && !m->received)
		sim_fail("lives",
			 "message %llx was sent well in life %u of its link "
			 "and did not arrive in it",
			 (unsigned long long)m->id, m->gen);
}

void lives_well(uint64_t id)
{
	struct message *m = find_message(id);

	if (!m)
		return;
	m->well = true;
	judge(m);
}

static void arrived(struct message *m, const struct link *l, uint32_t gen)
{
	if (m->link != l || m->gen != gen)
		sim_fail("lives",
			 "message %llx of life %u arrives in life %u%s",
			 (unsigned long long)m->id, m->gen, gen,
			 m->link == l ? "" : " of another link");
	m->received = true;
}

void lives_received(const struct link *l, uint32_t gen, uint32_t from,
		    uint64_t id)
{
	struct message *m = find_message(id);

	(void)from;
	if (m && id)
		arrived(m, l, gen);
}

void lives_received_imm(const struct link *l, uint32_t gen, uint32_t from,
			uint32_t low)
{
	uint32_t i;

	for (i = 0; i < high_message; i++) {
		struct message *m = &messages[i];

		if (m->id && m->link == l && m->from == from &&
		    (uint32_t)m->id == low)
			arrived(m, l, gen);
	}
}

void lives_over(const struct link *l, uint32_t gen, uint32_t from)
{
	uint32_t i;

	for (i = 0; i < high_message; i++) {
		struct message *m = &messages[i];

		if (!m->id || m->link != l || m->from != from || m->gen != gen)
			continue;
		m->over = true;
		judge(m);
	}
}

void lives_unknown(const struct link *l, uint32_t from)
{
	uint32_t i;

	for (i = 0; i < high_message; i++)
		if (messages[i].link == l && messages[i].from == from)
			messages[i].id = 0;
}
