/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* parked.c - see parked.h. */
#include "transport/parked.h"

#include <string.h>

#include "transport/transport.h"
#include "transport/rx.h"

static uint8_t *frame_of(struct unic_parked *b)
{
	return (uint8_t *)b->frame + 2;
}

/* The frame in hand was kept before, and misses a page again. */
static struct unic_parked *repark_frame(struct unic_transport *nic)
{
	struct unic_parked_frames *bs = &nic->parked;
	struct unic_parked *b = &bs->frame[bs->given];

	return nic->now_ns < b->until_ns ? b : NULL;
}

static struct unic_parked *park_frame(struct unic_transport *nic,
				      struct unic_qp_ctx *qp)
{
	const struct unic_rx *rx = &nic->qps.roce.rx;
	struct unic_parked *b = NULL;
	uint32_t i;

	for (i = 0; i < UNIC_PARKED_FRAMES; i++)
		if (nic->parked.frame[i].state == UNIC_PARKED_FREE)
			b = &nic->parked.frame[i];
	if (!b || qp->bounced || rx->len > sizeof(b->frame) - 2u)
		return NULL;
	qp->bounced = true;
	b->qp = unic_qp_index(nic, qp);
	b->until_ns = nic->now_ns + unic_fault_bound_ns(&nic->memory);
	b->len = (uint16_t)rx->len;
	b->flags = rx->flags;
	memcpy(frame_of(b), rx->frame, rx->len);
	UNIC_COUNT(nic, miss_bounced);
	return b;
}

bool unic_parked_keep(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_parked *b;

	b = nic->qps.roce.rx_again ? repark_frame(nic) : park_frame(nic, qp);
	if (!b)
		return false;
	b->state = UNIC_PARKED_WAITS;
	unic_fault_wait(&nic->memory, unic_qp_index(nic, qp));
	return true;
}

void unic_parked_filled(struct unic_transport *nic, uint16_t idx)
{
	uint32_t i;

	for (i = 0; i < UNIC_PARKED_FRAMES; i++) {
		struct unic_parked *b = &nic->parked.frame[i];

		if (b->state != UNIC_PARKED_WAITS || b->qp != idx)
			continue;
		b->state = UNIC_PARKED_READY;
		nic->parked.ready = true;
		nic->chores = true;
	}
}

bool unic_parked_run(struct unic_transport *nic)
{
	struct unic_parked_frames *bs = &nic->parked;
	uint32_t i;

	if (!bs->ready || nic->qps.roce.rx_stage != UNIC_RX_IDLE)
		return false;
	for (i = 0; i < UNIC_PARKED_FRAMES; i++) {
		struct unic_parked *b = &bs->frame[i];

		if (b->state != UNIC_PARKED_READY)
			continue;
		b->state = UNIC_PARKED_GIVEN;
		bs->given = (uint8_t)i;
		unic_rx_again(nic, &(struct unic_rx){ .frame = frame_of(b),
						      .len = b->len,
						      .flags = b->flags });
		return true;
	}
	bs->ready = false;
	return false;
}

void unic_parked_forget(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint16_t idx = unic_qp_index(nic, qp);
	uint32_t i;

	if (!qp->bounced)
		return;
	for (i = 0; i < UNIC_PARKED_FRAMES; i++) {
		struct unic_parked *b = &nic->parked.frame[i];

		if (b->qp != idx || (b->state != UNIC_PARKED_WAITS &&
				     b->state != UNIC_PARKED_READY))
			continue;
		b->state = UNIC_PARKED_FREE;
		qp->bounced = false;
		UNIC_COUNT(nic, rx_no_qp);
	}
}

void unic_parked_done(struct unic_transport *nic)
{
	struct unic_parked *b = &nic->parked.frame[nic->parked.given];
	struct unic_qp_ctx *qp = &nic->qps.qp[b->qp];

	if (b->state != UNIC_PARKED_GIVEN)
		return; /* it waits again */
	b->state = UNIC_PARKED_FREE;
	qp->bounced = false; /* no other is kept while this one is in hand */
}
