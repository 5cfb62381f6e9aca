/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * own_policy.c - a policy of one's own: a program that knows better than the NIC which of
 * its regions it will need. It sets the policy `app`, by which the least important of its
 * regions is asked for first, and says what is important: here the region that it will use
 * next most, then the one after that. The NIC still decides how many it may have.
 *
 *   own_policy REGIONS PAGES   registers so many regions; until interrupted
 */
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <unic/unic.h>

#define MOST 64u

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_mr *region[MOST]; /* NULL: given back */
static unsigned int regions, next;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

static void must(int err, const char *what)
{
	if (err < 0)
		errx(1, "%s: %s", what, unic_last_error());
}

static void enter(unsigned int i, size_t bytes)
{
	struct unic_mr_attr attr = { .addr = unic_alloc(ctx, bytes, 4096),
				     .length = bytes,
				     .rights = UNIC_MR_LOCAL_WRITE,
				     .flags = UNIC_MR_WAIT };

	must(attr.addr ? 0 : -1, "memory");
	attr.user = &region[i];
	must(unic_reg_mr(pd, &attr, &region[i]), "register");
}

/* The regions are used in a circle: the one to be used next is the most important one,
 * that which was used last the least. `lru` would give up the one that is needed next. */
static void weigh(void)
{
	unsigned int i;

	for (i = 0; i < regions; i++) {
		struct unic_mr *mr = region[(next + i) % regions];

		if (mr && unic_mr_life(mr) == UNIC_MR_LIVE)
			must(unic_set_importance(mr, 255 - i), "importance");
	}
}

/* What is asked for is given back. */
static void hear(void)
{
	struct unic_event ev;

	while (!unic_get_event(ctx, &ev)) {
		struct unic_mr **mine = ev.mr ? ev.mr->user : NULL;

		if (mine && *mine == ev.mr &&
		    (ev.type == UNIC_EV_NOTICE || ev.type == UNIC_EV_EVICTED)) {
			printf("region %u goes, the next one to be used is "
			       "%u\n",
			       (unsigned int)(mine - region), next);
			must(unic_dereg_mr(*mine), "deregister");
			*mine = NULL;
		}
		unic_ack_event(&ev);
	}
}

int main(int argc, char **argv)
{
	struct pollfd fd;
	unsigned int i;
	size_t bytes;

	if (argc != 3)
		errx(2, "usage: own_policy REGIONS PAGES");
	regions = (unsigned int)strtoul(argv[1], NULL, 10);
	bytes = strtoul(argv[2], NULL, 10) * 4096;
	if (!regions || regions > MOST)
		errx(1, "1 to 64 regions");
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(unic_open(NULL, &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	must(unic_set_policy(ctx, UNIC_POLICY_APP), "policy");
	for (i = 0; i < regions; i++)
		enter(i, bytes);
	printf("holds %u regions\n", regions);
	fd = (struct pollfd){ unic_event_fd(ctx), POLLIN, 0 };
	for (next = 0; !stop; next = (next + 1) % regions) {
		weigh();
		poll(&fd, 1, 100); /* works with region `next` for a while */
		hear();
	}
	unic_close(ctx);
	return 0;
}
