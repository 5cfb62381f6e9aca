/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_hog.c - unic-hog with a fake library: a region whose deregistration
 * fails is deregistered later; what it does when it is asked for an idle one.
 */
#include "unit.h"

#include "unic.h"

static int dereg_err;
static unsigned int deregs, regs, lines;
static struct unic_mr regions[4];

static int played_dereg(struct unic_mr *mr)
{
	assert_true(mr >= regions && mr < regions + 4);
	deregs++;
	return dereg_err;
}

static int played_reg(struct unic_pd *pd, const struct unic_mr_attr *attr,
		      struct unic_mr **out)
{
	(void)pd;
	(void)attr;
	*out = &regions[++regs];
	return 0;
}

static enum unic_mr_life played_life(const struct unic_mr *mr)
{
	(void)mr;
	return UNIC_MR_LIVE;
}

static void played_ack(struct unic_event *ev)
{
	(void)ev;
}

static int played_putchar(int c)
{
	lines += c == '\n';
	return fputc(c, stdout);
}

#define putchar	       played_putchar
#define unic_dereg_mr  played_dereg
#define unic_reg_mr    played_reg
#define unic_mr_life   played_life
#define unic_ack_event played_ack
#define main	       hog_main
#include "unic-hog.c"
#undef main
#undef putchar

static struct hog hog;

/* Resets the hog to one chunk of eight entries. */
static struct chunk *begin(bool again)
{
	struct chunk *c = &hog.chunk[0];

	memset(&hog, 0, sizeof(hog));
	hog.again = again;
	hog.chunks = 1;
	c->mr = &regions[0];
	c->entries = 8;
	set_held(&hog, c, true);
	deregs = regs = 0;
	dereg_err = -ENODEV;
	return c;
}

static void what_does_not_end_is_ended_later(void **state)
{
	struct chunk *c = begin(false);

	(void)state;
	dereg_chunk(&hog, c);
	assert_int_equal(hog.holding, 0);
	assert_ptr_equal(c->mr, &regions[0]);
	dereg_late_chunks(&hog);
	assert_ptr_equal(c->mr, &regions[0]);
	dereg_err = 0;
	dereg_late_chunks(&hog);
	assert_null(c->mr);
	assert_int_equal(deregs, 3);
	dereg_late_chunks(&hog);
	assert_int_equal(deregs, 3);
}

static void its_entries_are_asked_for_when_it_has_ended(void **state)
{
	struct chunk *c = begin(true);

	(void)state;
	dereg_chunk(&hog, c);
	assert_int_equal(regs, 0);
	dereg_err = 0;
	dereg_late_chunks(&hog);
	assert_int_equal(regs, 1);
	assert_ptr_equal(c->mr, &regions[1]);
	assert_int_equal(hog.holding, 8);
}

static void polite_hog_gives_what_is_idle(void **state)
{
	struct chunk *c = begin(true);
	struct unic_event ev = { .type = UNIC_EV_IDLE, .mr = &regions[0] };

	(void)state;
	regions[0].user = c;
	dereg_err = 0;
	hog.answer = ANSWER_IGNORE;
	on_hog_event(&hog, &ev);
	assert_int_equal(deregs, 0);
	assert_int_equal(hog.holding, 8);
	hog.answer = ANSWER_RELEASE;
	hog.keep_idle = true;
	on_hog_event(&hog, &ev);
	assert_int_equal(deregs, 0);
	hog.keep_idle = false;
	ev.mr = &regions[1]; /* of an earlier region */
	regions[1].user = c;
	on_hog_event(&hog, &ev);
	assert_int_equal(deregs, 0);
	ev.mr = &regions[0];
	on_hog_event(&hog, &ev);
	assert_int_equal(deregs, 1);
	assert_int_equal(hog.holding, 0);
	assert_int_equal(regs, 0);
}

static void what_is_kept_again_and_again_is_told_once(void **state)
{
	struct chunk *c = begin(false);
	struct unic_event idle = { .type = UNIC_EV_IDLE, .mr = &regions[0] };
	struct unic_event notice = { .type = UNIC_EV_NOTICE,
				     .mr = &regions[0] };

	(void)state;
	regions[0].user = c;
	hog.answer = ANSWER_IGNORE;
	lines = 0;
	on_hog_event(&hog, &idle);
	on_hog_event(&hog, &idle);
	on_hog_event(&hog, &idle);
	assert_int_equal(lines, 1);
	on_hog_event(&hog, &notice);
	on_hog_event(&hog, &idle);
	on_hog_event(&hog, &idle);
	assert_int_equal(lines, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_end_is_ended_later),
		cmocka_unit_test(its_entries_are_asked_for_when_it_has_ended),
		cmocka_unit_test(polite_hog_gives_what_is_idle),
		cmocka_unit_test(what_is_kept_again_and_again_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
