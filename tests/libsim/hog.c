/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hog.c - a process that registers more than its share, from two threads, and answers
 * what it is asked in every way, or not.
 */
#include <errno.h>
#include <string.h>

#include "fiber.h"
#include "program.h"
#include "unic.h"

#define THREADS 2u
#define REGIONS 8u /* of a thread */
#define PAGES	24u
#define MOST	6u /* pages of a region */

struct hog;

struct hog_thread {
	struct hog *h;
	uint32_t index;
	struct unic_mr *mr[REGIONS];
	bool asked[REGIONS]; /* set by the thread that reads events */
};

struct hog {
	struct end e;
	uint8_t *mem;
	struct hog_thread thread[THREADS];
	uint32_t number;
	bool over;
};

/* ------------------------------------------------------------------- regions */

static struct unic_mr_attr some_region(struct hog_thread *t, uint32_t slot)
{
	struct actor *a = t->h->e.a;
	uint32_t pages = 1 + program_below(a, MOST);
	uint32_t first = program_below(a, PAGES - pages + 1);
	struct unic_mr_attr attr = {
		.addr = t->h->mem + first * 4096u,
		.length = pages * 4096u - program_below(a, 4096),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ,
		.importance = program_below(a, 256),
		.user = &t->asked[slot],
	};

	return attr;
}

static void forget(struct hog_thread *t, uint32_t i)
{
	struct actor *a = t->h->e.a;
	int err = unic_dereg_mr(t->mr[i]);

	program_may(a, err, "unic_dereg_mr");
	if (!err)
		t->mr[i] = NULL;
}

/* Its wait is over, or its owner gives it up. */
static void wait_for(struct hog_thread *t, uint32_t i)
{
	struct actor *a = t->h->e.a;
	int err;

	if (program_below(a, 4) == 0) {
		err = unic_cancel_reg(t->mr[i]);
		program_may(a, err, "unic_cancel_reg");
	}
	if (unic_mr_life(t->mr[i]) == UNIC_MR_WAITING &&
	    program_below(a, 3) == 0)
		forget(t, i);
}

static void take_one(struct hog_thread *t, uint32_t i)
{
	struct actor *a = t->h->e.a;
	struct unic_mr_attr attr = some_region(t, i);
	int err;

	switch (program_below(a, 3)) {
	case 0:
		attr.flags = UNIC_MR_WAIT;
		attr.timeout_us = 200 + program_below(a, 20000);
		break;
	case 1:
		attr.flags = UNIC_MR_WAIT | UNIC_MR_ASYNC;
		attr.timeout_us = 200 + program_below(a, 20000);
		break;
	default:
		break;
	}
	t->asked[i] = false;
	err = unic_reg_mr(t->h->e.pd, &attr, &t->mr[i]);
	program_may(a, err, "unic_reg_mr");
	if (err)
		t->mr[i] = NULL;
	else if (attr.flags & UNIC_MR_ASYNC)
		wait_for(t, i);
}

static void take_several(struct hog_thread *t)
{
	struct actor *a = t->h->e.a;
	struct unic_mr_attr attr[3] = { some_region(t, 0), some_region(t, 0),
					some_region(t, 0) };
	struct unic_mr *mr[3];
	uint32_t n = 1 + program_below(a, 3), i;
	int err;

	for (i = 0; i < n; i++)
		attr[i].user = NULL;
	err = unic_reg_mr_batch(t->h->e.pd, attr, n, mr);
	program_may(a, err, "unic_reg_mr_batch");
	if (err)
		return;
	program_sleep(a, 1 + program_below(a, 200 * US));
	err = unic_dereg_mr_batch(t->h->e.ctx, mr, n);
	program_may(a, err, "unic_dereg_mr_batch");
}

/* ------------------------------------------------------------------- answers */

static void answer(struct hog_thread *t, uint32_t i)
{
	struct actor *a = t->h->e.a;
	struct unic_mr *other = t->mr[program_below(a, REGIONS)];
	unsigned int refusal;

	t->asked[i] = false;
	switch (program_below(a, 5)) {
	case 0:
		program_may(a, unic_release(t->mr[i]), "unic_release");
		return;
	case 1:
		program_may(a, unic_extend(t->mr[i], 100, &refusal, NULL),
			    "unic_extend");
		return;
	case 2:
		if (other && other != t->mr[i] &&
		    unic_mr_life(other) == UNIC_MR_LIVE)
			program_may(a, unic_offer(t->mr[i], other, &refusal),
				    "unic_offer");
		return;
	case 3:
		forget(t, i);
		return;
	default:
		return;
	}
}

static void hear(struct hog *h)
{
	struct unic_event ev;

	while (!unic_get_event(h->e.ctx, &ev)) {
		if (ev.mr && ev.mr->user && ev.type == UNIC_EV_NOTICE)
			*(bool *)ev.mr->user = true;
		unic_ack_event(&ev);
	}
}

static void one_deed(struct hog_thread *t)
{
	struct actor *a = t->h->e.a;
	uint32_t i = program_below(a, REGIONS);
	struct unic_usage usage;

	if (!program_below(a, 8))
		take_several(t);
	else if (!program_below(a, 16))
		program_may(a, unic_query_usage(t->h->e.ctx, &usage),
			    "unic_query_usage");
	else if (!t->mr[i])
		take_one(t, i);
	else if (t->asked[i])
		answer(t, i);
	else if (unic_mr_life(t->mr[i]) == UNIC_MR_GONE || !program_below(a, 6))
		forget(t, i);
}

static void *work(void *arg)
{
	struct hog_thread *t = arg;
	struct actor *a = t->h->e.a;
	uint32_t i;

	while (!t->h->over && !unic_ctx_lost(t->h->e.ctx)) {
		one_deed(t);
		program_sleep(a, 1 + program_below(a, 200 * US));
	}
	for (i = 0; i < REGIONS; i++)
		while (t->mr[i])
			forget(t, i);
	return NULL;
}

static void hog_once(struct hog *h)
{
	struct actor *a = h->e.a;
	uint32_t i, thread[THREADS];

	h->over = false;
	for (i = 0; i < THREADS; i++) {
		h->thread[i] = (struct hog_thread){ .h = h, .index = i };
		thread[i] = fiber_start(&a->p, work, &h->thread[i]);
	}
	while (!a->stop && !unic_ctx_lost(h->e.ctx)) {
		hear(h);
		program_wait(&h->e, NULL, 1 + (int)program_below(a, 30));
		a->done++;
	}
	h->over = true;
	for (i = 0; i < THREADS; i++)
		fiber_join(thread[i]);
	hear(h);
}

void program_hog(struct process *p)
{
	struct actor *a = p->user;
	struct hog h;

	memset(&h, 0, sizeof(h));
	while (!a->stop) {
		if (end_open(&h.e, a)) {
			program_sleep(a, 300 * US);
			continue;
		}
		h.mem = unic_alloc(h.e.ctx, PAGES * 4096u, 4096);
		if (h.mem) {
			hog_once(&h);
			if (!unic_ctx_lost(h.e.ctx))
				program_must(a, unic_free(h.e.ctx, h.mem),
					     "unic_free");
		}
		end_close(&h.e);
	}
}
