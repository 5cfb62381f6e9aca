/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_ask.c - requests of an application and their replies, one by one or several
 * in a BATCH.
 */
#include "app.h"

#define REC_BYTES 64u

static bool can_batch(uint16_t op, const void *rec)
{
	struct unic_ctl_mr_reg reg;

	memcpy(&reg, rec, sizeof(reg));
	/* a request that waits makes the whole BATCH wait */
	if (op == UNIC_CTL_MR_REG)
		return !(reg.flags & UNIC_CTL_REG_WAIT);
	return op == UNIC_CTL_MR_ALLOC || op == UNIC_CTL_MR_DEREG ||
	       op == UNIC_CTL_TOKEN_ALLOC || op == UNIC_CTL_TOKEN_CANCEL;
}

static struct ask *ask_free(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_ASKS; i++)
		if (!a->ask[i].seq)
			return &a->ask[i];
	return NULL;
}

bool app_ask(struct app *a, uint16_t op, void *rec, uint32_t arg,
	     void (*done)(struct app *a, uint32_t arg, uint32_t status,
			  const void *rec, uint32_t bytes))
{
	return app_ask_list(a, op, rec, 0, arg, done);
}

bool app_ask_list(struct app *a, uint16_t op, void *rec, uint32_t bytes,
		  uint32_t arg,
		  void (*done)(struct app *a, uint32_t arg, uint32_t status,
			       const void *rec, uint32_t bytes))
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(bytes) };
	struct ask *ask = ask_free(a);

	if (!ask)
		return false;
	*ask = (struct ask){ ++a->seq, op, done, arg, 0 };
	hdr.seq = unic_to_le32(a->seq);
	memcpy(rec, &hdr, sizeof(hdr));
	if (a->gathers && !bytes && can_batch(op, rec))
		memcpy(a->gathered[a->n_gathered++], rec, REC_BYTES);
	else
		world_send(&a->c, rec, REC_BYTES + bytes);
	return true;
}

/* ----------------------------------------------------------------- several */

void app_gather(struct app *a)
{
	a->gathers = true;
}

static void send_batch(struct app *a, struct ask *parent)
{
	struct {
		struct unic_ctl_batch r;
		uint8_t rec[APP_ASKS][REC_BYTES];
	} msg = { 0 };
	uint32_t i, k, n = a->n_gathered;

	*parent = (struct ask){ ++a->seq, UNIC_CTL_BATCH, NULL, n, 0 };
	msg.r.hdr.op = unic_to_le16(UNIC_CTL_BATCH);
	msg.r.hdr.seq = unic_to_le32(a->seq);
	msg.r.hdr.tail_bytes = unic_to_le32(n * REC_BYTES);
	msg.r.count = unic_to_le32(n);
	memcpy(msg.rec, a->gathered, n * REC_BYTES);
	for (i = 0; i < n; i++) {
		struct unic_ctl_hdr hdr;

		memcpy(&hdr, a->gathered[i], sizeof(hdr));
		for (k = 0; k < APP_ASKS; k++)
			if (a->ask[k].seq == unic_from_le32(hdr.seq))
				a->ask[k].parent = parent->seq;
	}
	sim_log("app %u: a batch of %u", a->index, n);
	world_send(&a->c, &msg, (1 + n) * REC_BYTES);
}

void app_gathered(struct app *a)
{
	struct ask *parent = ask_free(a);
	uint32_t i;

	a->gathers = false;
	if (a->n_gathered > 1 && parent)
		send_batch(a, parent);
	else
		for (i = 0; i < a->n_gathered; i++)
			world_send(&a->c, a->gathered[i], REC_BYTES);
	a->n_gathered = 0;
}

/* ----------------------------------------------------------------- replies */

static void answer(struct app *a, const uint8_t *msg, uint32_t bytes);

/*
 * Answers the requests of a BATCH: each by its record in the reply, or all by
 * @status if the driver tried none.
 */
static void answer_batch(struct app *a, const struct ask *was, uint32_t status,
			 const uint8_t *msg, uint32_t bytes)
{
	struct unic_ctl_batch r;
	uint32_t i, done = 0;

	memcpy(&r, msg, sizeof(r));
	if (status) {
		for (i = 0; i < APP_ASKS; i++) {
			struct ask of = a->ask[i];

			if (!of.seq || of.parent != was->seq)
				continue;
			a->ask[i].seq = 0;
			if (of.done)
				of.done(a, of.arg, status, msg, REC_BYTES);
		}
		return;
	}
	if (bytes != (1 + was->arg) * REC_BYTES)
		sim_fail("once",
			 "app %u: a batch of %u is answered by %u bytes",
			 a->index, was->arg, bytes);
	for (i = 1; i <= was->arg; i++) {
		struct unic_ctl_hdr hdr;

		memcpy(&hdr, msg + i * REC_BYTES, sizeof(hdr));
		done += unic_from_le16(hdr.status) <= UNIC_ST_PENDING;
		answer(a, msg + i * REC_BYTES, REC_BYTES);
	}
	if (done != unic_from_le32(r.count))
		sim_fail("once", "app %u: %u of a batch are well, it says %u",
			 a->index, done, unic_from_le32(r.count));
}

static void answer(struct app *a, const uint8_t *msg, uint32_t bytes)
{
	struct unic_ctl_hdr hdr;
	struct ask was;
	uint32_t i;

	memcpy(&hdr, msg, sizeof(hdr));
	for (i = 0; i < APP_ASKS; i++)
		if (a->ask[i].seq && a->ask[i].seq == unic_from_le32(hdr.seq))
			break;
	if (i == APP_ASKS || a->ask[i].op != unic_from_le16(hdr.op))
		sim_fail("once", "app %u: a reply to nothing: op %u seq %u",
			 a->index, unic_from_le16(hdr.op),
			 unic_from_le32(hdr.seq));
	was = a->ask[i];
	a->ask[i].seq = 0;
	if (was.op == UNIC_CTL_BATCH)
		answer_batch(a, &was, unic_from_le16(hdr.status), msg, bytes);
	else if (was.done)
		was.done(a, was.arg, unic_from_le16(hdr.status), msg, bytes);
}

void app_reply(struct world_client *c, const void *msg, uint32_t bytes)
{
	struct app *a = (struct app *)c;

	answer(a, msg, bytes);
	app_kick(a, sim_now() + US);
}

/* -------------------------------------------------------------------- open */

bool app_asking(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_ASKS; i++)
		if (a->ask[i].seq)
			return true;
	return false;
}

bool app_uncertain(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_ASKS; i++)
		if (a->ask[i].seq && a->ask[i].op != UNIC_CTL_MR_ALLOC &&
		    a->ask[i].op != UNIC_CTL_MR_MAKE)
			return true;
	return false;
}

bool app_owed_reply(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_ASKS; i++)
		if (a->ask[i].seq && a->ask[i].op != UNIC_CTL_MR_REG)
			return true;
	return false;
}
