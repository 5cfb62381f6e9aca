/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * extend.c - what can be said to a notice: a region of PAGES pages waits for its place in
 * the table. When the NIC asks for it, the program is busy for BUSY_MS: it asks for more
 * time, works on, gives the region back, and waits for it again.
 *
 *   extend PAGES BUSY_MS   until interrupted
 */
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <unic/unic.h>

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_mr *mr;
static struct unic_mr_attr attr = { .rights = UNIC_MR_LOCAL_WRITE,
				    .flags = UNIC_MR_WAIT | UNIC_MR_ASYNC };
static long busy_ms;
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

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* The place of a region that cannot be had now is waited for; an event says when it is
 * there. The program may do other things meanwhile. */
static void enter(void)
{
	must(unic_reg_mr(pd, &attr, &mr), "register");
	printf(unic_mr_life(mr) == UNIC_MR_LIVE ? "holds it\n" : "waits\n");
}

static void leave(void)
{
	must(unic_dereg_mr(mr), "deregister");
	mr = NULL;
	enter();
}

/* Work that must not be interrupted, for as long as the NIC allows. An extension is
 * refused while somebody waits who has less than his fair share; the deadline stands. */
static void finish_work(uint64_t deadline_ns)
{
	double left = (double)deadline_ns / 1e6 - now_ms();
	unsigned int refusal;
	struct timespec work = { 0 };
	long ms = busy_ms;

	printf("asked for, %.1f ms left, busy for %ld ms\n", left, busy_ms);
	if (ms > left && !unic_extend(mr, (uint32_t)(ms - left + 1) * 1000,
				      &refusal, &deadline_ns)) {
		left = (double)deadline_ns / 1e6 - now_ms();
		printf("extended: %.1f ms left\n", left);
	} else if (ms > left) {
		printf("no extension: refused for reason %u\n", refusal);
	}
	if (ms > left - 1)
		ms = left > 1 ? (long)left - 1 : 0;
	work.tv_nsec = ms % 1000 * 1000000;
	work.tv_sec = ms / 1000;
	nanosleep(&work, NULL);
	printf("gives it back after %ld ms of work\n", ms);
}

static void hear(const struct unic_event *ev)
{
	if (ev->type == UNIC_EV_RESET)
		stop = 1;
	if (!mr || ev->mr != mr)
		return;
	switch (ev->type) {
	case UNIC_EV_GRANTED:
		printf("holds it after %.1f ms\n", ev->waited_us / 1e3);
		break;
	case UNIC_EV_WAIT_ENDED:
		printf("not granted: %s\n", unic_status_str(ev->status));
		stop = 1;
		break;
	case UNIC_EV_NOTICE:
		finish_work(ev->deadline_ns);
		leave();
		break;
	case UNIC_EV_EVICTED:
		printf("lost it\n");
		leave();
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	struct unic_event ev;
	struct pollfd fd;

	if (argc != 3)
		errx(2, "usage: extend PAGES BUSY_MS");
	attr.length = strtoul(argv[1], NULL, 10) * 4096;
	busy_ms = strtol(argv[2], NULL, 10);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(unic_open(NULL, &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	attr.addr = unic_alloc(ctx, attr.length, 4096);
	must(attr.addr ? 0 : -1, "memory");
	enter();
	fd = (struct pollfd){ unic_event_fd(ctx), POLLIN, 0 };
	while (!stop) {
		poll(&fd, 1, -1);
		while (!stop && !unic_get_event(ctx, &ev)) {
			hear(&ev);
			unic_ack_event(&ev);
		}
	}
	unic_close(ctx);
	return 0;
}
