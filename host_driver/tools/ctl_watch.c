/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_watch.c - see ctl_watch.h. */
#include "ctl_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "ctl_json.h"
#include "ctl_print.h"
#include "ctl_sample.h"

#define HEAD_LINES 20 /* between two heads */

static void print_titles(void)
{
	printf("%7s %7s %7s %7s %9s %9s %9s %9s %8s %8s\n", "held", "free",
	       "waiting", "notices", "granted/s", "notices/s", "evicted/s",
	       "misses/s", "sent/s", "rcvd/s");
}

static void print_sample(const struct ctl_sample *s, bool titles)
{
	char text[CTL_RATE_TEXT];
	int i;

	if (titles)
		print_titles();
	printf("%7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64, s->held,
	       s->entries - s->held, s->waiting, s->notices);
	for (i = 0; i < CTL_RATES; i++) {
		ctl_rate_text(text, s->rate[i]);
		printf(" %*s", i < CTL_RATE_TX ? 9 : 8, text);
	}
	putchar('\n');
}

static void print_object(const struct ctl_sample *s)
{
	struct json_object *o = json_object_new_object();
	int i;

	ctl_add_u64(o, "time_ns", s->time_ns);
	ctl_add_u64(o, "entries", s->entries);
	ctl_add_u64(o, "held", s->held);
	ctl_add_u64(o, "waiting", s->waiting);
	ctl_add_u64(o, "open_notices", s->notices);
	for (i = 0; i < CTL_RATES; i++)
		json_object_object_add(o, ctl_rate_key(i),
				       json_object_new_double(s->rate[i]));
	ctl_print_json(o, true);
	json_object_put(o);
}

int ctl_watch(struct unic_conn *conn, uint32_t interval_ms, uint32_t looks,
	      bool json, const volatile int *stop)
{
	const struct timespec nap = { .tv_sec = interval_ms / 1000,
				      .tv_nsec = interval_ms % 1000 * 1000000 };
	struct ctl_sampler s;
	uint32_t n = 0;
	int err = ctl_sampler_init(&s, conn);

	if (err)
		return err;
	while (!*stop) {
		err = ctl_sampler_look(&s);
		if (err)
			break;
		if (json)
			print_object(&s.now);
		else
			print_sample(&s.now, n % HEAD_LINES == 0);
		/* output_watch() says why what was printed did not arrive */
		if (fflush(stdout) || (++n == looks && looks))
			break;
		nanosleep(&nap, NULL);
	}
	ctl_sampler_fini(&s);
	return err;
}
