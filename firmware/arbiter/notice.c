/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* notice.c - notices and their deadlines. */
#include <string.h>

#include "base/err.h"
#include "arbiter/notice.h"
#include "unic_mbox.h"

#define GRACE_US   20000u
#define DELIVER_US 50000u
#define EXTEND_US  40000u

void unic_notice_init(struct unic_notices *n)
{
	uint32_t i;

	memset(n, 0, sizeof(*n));
	for (i = 0; i < UNIC_NOTICES; i++)
		n->notice[i].next = (uint16_t)(i + 1);
	n->notice[UNIC_NOTICES - 1].next = UNIC_NOTICE_NIL;
	n->free_head = 0;
	n->open_head = UNIC_NOTICE_NIL;
	n->next_ns = UINT64_MAX;
	n->grace_us = GRACE_US;
	n->deliver_us = DELIVER_US;
	n->extend_us = EXTEND_US;
}

/* Only this function sets deadlines. next_ns may be earlier than every deadline,
 * never later. */
static void set_deadline(struct unic_notices *n, struct unic_notice *t,
			 uint64_t deadline_ns)
{
	t->deadline_ns = deadline_ns;
	if (deadline_ns < n->next_ns)
		n->next_ns = deadline_ns;
}

static uint16_t alloc_notice(struct unic_notices *n)
{
	uint16_t i = n->free_head;
	struct unic_notice *t = &n->notice[i];

	n->free_head = t->next;
	t->seq = 0;
	t->extended_us = 0;
	t->rank = 0;
	t->why = 0;
	t->urgent = false;
	t->prev = UNIC_NOTICE_NIL;
	t->next = n->open_head;
	if (t->next != UNIC_NOTICE_NIL)
		n->notice[t->next].prev = i;
	n->open_head = i;
	n->open++;
	return i;
}

static uint32_t new_seq(struct unic_notices *n)
{
	if (++n->next_seq == 0)
		n->next_seq = 1; /* 0 means "no notice" in records */
	return n->next_seq;
}

uint16_t unic_notice_open(struct unic_notices *n, uint64_t now_ns,
			  uint16_t subject, uint16_t owner, uint32_t units,
			  uint8_t why, bool urgent)
{
	uint16_t i = alloc_notice(n);
	struct unic_notice *t = &n->notice[i];

	t->seq = new_seq(n);
	t->sent_ns = now_ns;
	t->units = units;
	t->subject = subject;
	t->owner = owner;
	t->why = why;
	t->urgent = urgent;
	t->state = UNIC_NOTICE_SENT;
	set_deadline(n, t, now_ns + n->deliver_us * 1000ull);
	return i;
}

uint16_t unic_notice_timer(struct unic_notices *n, uint64_t now_ns,
			   uint16_t subject, uint16_t owner, uint32_t units)
{
	uint16_t i = alloc_notice(n);
	struct unic_notice *t = &n->notice[i];

	t->sent_ns = now_ns;
	t->units = units;
	t->subject = subject;
	t->owner = owner;
	t->state = UNIC_NOTICE_GRACE;
	set_deadline(n, t, now_ns + n->grace_us * 1000ull);
	return i;
}

int unic_notice_delivered(struct unic_notices *n, uint16_t i, uint32_t seq,
			  uint64_t now_ns)
{
	struct unic_notice *t = &n->notice[i];

	if (seq != t->seq)
		return -UNIC_EINVAL;
	if (t->state != UNIC_NOTICE_SENT)
		return -UNIC_ESTATE;
	if (UNIC_HISTOGRAMS)
		t->sent_ns = now_ns;
	t->state = UNIC_NOTICE_GRACE;
	set_deadline(n, t, now_ns + n->grace_us * 1000ull);
	return 0;
}

int unic_notice_extend(struct unic_notices *n, uint16_t i, uint32_t us,
		       uint8_t *refusal)
{
	struct unic_notice *t = &n->notice[i];

	if (t->urgent) {
		*refusal = UNIC_REFUSED_WAITER;
		return -UNIC_EREFUSED;
	}
	if (t->extended_us >= n->extend_us ||
	    us > n->extend_us - t->extended_us) {
		*refusal = UNIC_REFUSED_BUDGET;
		return -UNIC_EREFUSED;
	}
	t->extended_us += us;
	set_deadline(n, t, t->deadline_ns + us * 1000ull);
	return 0;
}

void unic_notice_replace(struct unic_notices *n, uint16_t i, uint16_t subject,
			 uint32_t units)
{
	n->notice[i].subject = subject;
	n->notice[i].units = units;
}

void unic_notice_renew(struct unic_notices *n, uint16_t i, uint64_t now_ns)
{
	struct unic_notice *t = &n->notice[i];

	t->seq = new_seq(n);
	t->sent_ns = now_ns;
	t->extended_us = 0;
	t->urgent = true;
	t->state = UNIC_NOTICE_SENT;
	set_deadline(n, t, now_ns + n->deliver_us * 1000ull);
}

void unic_notice_hurry(struct unic_notices *n, uint16_t i, uint64_t now_ns)
{
	struct unic_notice *t = &n->notice[i];
	uint64_t end = now_ns + n->grace_us * 1000ull;

	if (t->state == UNIC_NOTICE_SENT || end < t->deadline_ns)
		set_deadline(n, t, end);
	t->state = UNIC_NOTICE_GRACE;
}

void unic_notice_defer(struct unic_notices *n, uint16_t i, uint64_t at_ns)
{
	set_deadline(n, &n->notice[i], at_ns);
}

void unic_notice_close(struct unic_notices *n, uint16_t i)
{
	struct unic_notice *t = &n->notice[i];

	if (t->prev == UNIC_NOTICE_NIL)
		n->open_head = t->next;
	else
		n->notice[t->prev].next = t->next;
	if (t->next != UNIC_NOTICE_NIL)
		n->notice[t->next].prev = t->prev;
	t->state = UNIC_NOTICE_FREE;
	t->next = n->free_head;
	n->free_head = i;
	if (--n->open == 0)
		n->next_ns = UINT64_MAX;
}

uint16_t unic_notice_due(struct unic_notices *n, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	uint16_t i;

	if (now_ns < n->next_ns)
		return UNIC_NOTICE_NIL;
	for (i = n->open_head; i != UNIC_NOTICE_NIL; i = n->notice[i].next) {
		uint64_t at = n->notice[i].deadline_ns;

		if (at <= now_ns) /* INV-6: never early */
			return i;
		if (at < next)
			next = at;
	}
	n->next_ns = next;
	return UNIC_NOTICE_NIL;
}
