/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * evict-bench - what revocation costs a process (P11).
 *
 *	evict-bench SOCKET notices MAILBOX NS how soon the process has a notice
 *	evict-bench SOCKET waits              what REGISTER_WAIT takes
 *	evict-bench SOCKET pressure N         N WRITEs of two compliant clients,
 *	                                      none of which may fail
 *
 * Each prints one JSON object. SOCKET is unicd's, MAILBOX the memory file of the
 * mailbox, which has the time of each decision; NS (from miss-bench) is
 * CLOCK_MONOTONIC less NIC time. `waits` needs a hog beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bufman.h"
#include "unic.h"
#include "unic_evt.h"
#include "unic_mbox.h"
#include "yard.h"

#define PAGE 4096u
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "evict-bench: %s: %s\n", what, unic_last_error());
	exit(1);
}

/* ----------------------------------------------------------------- notices */

#define HELD	 4u   /* regions of the holder, all of the table */
#define ASKED	 64u  /* pages that the other one wants each time */
#define NOTICES	 200u /* of each kind */
#define LIMIT_NS 60000000000ull

struct holder {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_mr *mr[HELD];
	void *mem[HELD];
	size_t bytes;
	const volatile uint8_t *bar;
};

/* NIC time of the decision behind notice @seq. */
static double decided_ns(const struct holder *h, uint32_t seq)
{
	uint32_t i;

	for (i = 0; i < UNIC_EVT_ENTRIES; i++) {
		struct unic_evt_mr evt;

		memcpy(&evt,
		       (const uint8_t *)h->bar + UNIC_BAR_EVT_OFF + i * 64, 64);
		if (evt.hdr.type == UNIC_EVT_NOTICE &&
		    unic_from_le32(evt.seq) == seq)
			return (double)unic_from_le64(evt.time_ns);
	}
	fprintf(stderr, "evict-bench: notice %u is on no ring\n", seq);
	exit(1);
}

static void hold(struct holder *h, uint32_t i)
{
	struct unic_mr_attr attr = {
		.addr = h->mem[i],
		.length = h->bytes,
		.rights = RW,
		.flags = UNIC_MR_WAIT,
		.user = (void *)(uintptr_t)i,
	};

	check(unic_reg_mr(h->pd, &attr, &h->mr[i]), "register");
}

static void open_holder(struct holder *h, const char *socket, const char *bar)
{
	int fd = open(bar, O_RDONLY);
	struct unic_attr attr;
	uint32_t i;

	h->bar = fd < 0 ? MAP_FAILED
			: mmap(NULL, UNIC_BAR_BYTES, PROT_READ, MAP_SHARED, fd,
			       0);
	if (h->bar == MAP_FAILED) {
		fprintf(stderr, "evict-bench: %s: %s\n", bar, strerror(errno));
		exit(1);
	}
	check(unic_open(socket, &h->ctx), "open");
	check(unic_alloc_pd(h->ctx, &h->pd), "pd");
	unic_query(h->ctx, &attr);
	h->bytes = (size_t)((attr.tlb_entries - ASKED / 2) / HELD) * PAGE;
	for (i = 0; i < HELD; i++) {
		h->mem[i] = unic_alloc(h->ctx, h->bytes, PAGE);
		check(h->mem[i] ? 0 : -1, "alloc");
		hold(h, i);
	}
}

/* A polling library looks at its upcall ring; one that sleeps is woken. */
static void next_event(struct holder *h, bool blocked, struct unic_event *ev)
{
	struct pollfd p = { unic_event_fd(h->ctx), POLLIN, 0 };
	uint64_t until = yard_now_ns() + LIMIT_NS;
	bool live = true;
	uint32_t i;

	while (live && !blocked && yard_now_ns() < until) {
		unic_mr_usable(h->mr[0], 0);
		for (i = 0; i < HELD; i++)
			live = live && unic_mr_life(h->mr[i]) == UNIC_MR_LIVE;
	}
	while (unic_get_event(h->ctx, ev))
		if (poll(&p, 1, 1000) < 0 || yard_now_ns() > until) {
			fprintf(stderr, "evict-bench: no notice came\n");
			exit(1);
		}
}

/* Registers a part of the table, again and again. */
static void want(const char *socket)
{
	struct unic_mr_attr attr = { .length = (size_t)ASKED * PAGE,
				     .rights = RW,
				     .flags = UNIC_MR_WAIT };
	struct timespec nap = { 0, 500000 };
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_mr *mr;

	check(unic_open(socket, &ctx), "open");
	check(unic_alloc_pd(ctx, &pd), "pd");
	attr.addr = unic_alloc(ctx, attr.length, PAGE);
	for (;;) {
		nanosleep(&nap, NULL);
		check(unic_reg_mr(pd, &attr, &mr), "register");
		check(unic_dereg_mr(mr), "deregister");
	}
}

/* Measures from the decision, in NIC time, until the process has the notice.
 * The process releases the region at once and registers it again. */
static void notices(struct holder *h, bool blocked, double *v)
{
	uint32_t n = 0;

	while (n < NOTICES) {
		struct unic_event ev;
		uint32_t i;
		double seen;

		next_event(h, blocked, &ev);
		seen = (double)yard_now_ns();
		if (ev.type == UNIC_EV_NOTICE) {
			v[n++] = seen - decided_ns(h, ev.seq);
			i = (uint32_t)(uintptr_t)ev.mr->user;
			check(unic_dereg_mr(h->mr[i]), "release");
			unic_ack_event(&ev);
			hold(h, i);
		} else {
			unic_ack_event(&ev);
		}
	}
}

static int run_notices(const char *socket, const char *bar, double off)
{
	double polled[NOTICES], blocked[NOTICES];
	double line = yard_line_ns(20000);
	struct holder h = { 0 };
	pid_t other = fork();
	uint32_t i;

	if (!other) {
		sleep(1); /* the holder is first */
		want(socket);
	}
	open_holder(&h, socket, bar);
	notices(&h, false, polled);
	notices(&h, true, blocked);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	for (i = 0; i < NOTICES; i++) {
		polled[i] -= off;
		blocked[i] -= off;
	}
	printf("{\"line_ns\": %.1f, \"polled_ns\": %.0f, "
	       "\"polled_p10_ns\": %.0f, \"blocked_ns\": %.0f, "
	       "\"blocked_p99_ns\": %.0f}\n",
	       line, yard_median(polled, NOTICES),
	       yard_part(polled, NOTICES, 0.1), yard_median(blocked, NOTICES),
	       yard_part(blocked, NOTICES, 0.99));
	unic_close(h.ctx);
	return 0;
}

/* ------------------------------------------------------------------- waits */

#define WAITS	   200u
#define WAIT_PAGES 16u

static int run_waits(const char *socket)
{
	struct unic_mr_attr attr = { .length = WAIT_PAGES * PAGE,
				     .rights = RW,
				     .flags = UNIC_MR_WAIT };
	struct unic_attr nic;
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_mr *mr;
	double v[WAITS];
	uint64_t start;
	uint32_t i;

	check(unic_open(socket, &ctx), "open");
	check(unic_alloc_pd(ctx, &pd), "pd");
	unic_query(ctx, &nic);
	attr.addr = unic_alloc(ctx, attr.length, PAGE);
	check(attr.addr ? 0 : -1, "alloc");
	for (i = 0; i < WAITS; i++) {
		start = yard_now_ns();
		check(unic_reg_mr(pd, &attr, &mr), "register");
		v[i] = (double)(yard_now_ns() - start);
		check(unic_dereg_mr(mr), "deregister");
		usleep(1000); /* the hog takes the entries again */
	}
	printf("{\"grace_ns\": %u000, \"wait_min_ns\": %.0f, "
	       "\"wait_median_ns\": %.0f, \"wait_p99_ns\": %.0f}\n",
	       nic.grace_us, yard_part(v, WAITS, 0), yard_median(v, WAITS),
	       yard_part(v, WAITS, 0.99));
	unic_close(ctx);
	return 0;
}

/* ---------------------------------------------------------------- pressure */

#define CLIENTS	    2u
#define BUFFERS	    96u
#define BUF_PAGES   8u
#define TURN	    64u /* WRITEs with the same regions */
#define OUTSTANDING 32u

/* A client that leaves its registrations to the buffer manager, and has more
 * memory than its half of the table. */
struct client {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_qp *qp;
	struct unic_bm *bm;
	uint8_t *buf[BUFFERS];
	uint64_t done, again, failed;
};

static void connect_to_itself(struct client *c)
{
	struct unic_attr attr;
	struct unic_qp_mod m = { .state = UNIC_QPS_INIT,
				 .rights = UNIC_MR_REMOTE_WRITE };

	unic_query(c->ctx, &attr);
	check(unic_modify_qp(c->qp, &m), "init");
	m = (struct unic_qp_mod){ .state = UNIC_QPS_RTR,
				  .mtu_shift = 10,
				  .rnr_timer = 12,
				  .vendor = 1,
				  .dest_qpn = unic_qp_num(c->qp),
				  .dest_ipv4 = attr.ipv4 };
	check(unic_modify_qp(c->qp, &m), "ready to receive");
	m = (struct unic_qp_mod){ .state = UNIC_QPS_RTS,
				  .timeout = 18,
				  .retry_cnt = 7,
				  .rnr_retry = 7 };
	check(unic_modify_qp(c->qp, &m), "ready to send");
}

static void open_client(struct client *c, const char *socket)
{
	struct unic_qp_attr qa = { .sq_slots = 64, .rq_slots = 2 };
	struct unic_bm_attr ba = { .rights = RW };
	uint32_t i;

	check(unic_open(socket, &c->ctx), "open");
	check(unic_alloc_pd(c->ctx, &c->pd), "pd");
	check(unic_create_cq(c->pd, 128, &c->cq), "cq");
	qa.send_cq = qa.recv_cq = c->cq;
	check(unic_create_qp(c->pd, &qa, &c->qp), "qp");
	connect_to_itself(c);
	check(unic_bm_open(c->pd, &ba, &c->bm), "buffer manager");
	for (i = 0; i < BUFFERS; i++) {
		c->buf[i] = unic_bm_get(c->bm, BUF_PAGES * PAGE);
		check(c->buf[i] ? 0 : -1, "buffer");
	}
}

static void post(struct client *c, const struct unic_bm_hold *from,
		 const struct unic_bm_hold *to, uint32_t n)
{
	struct unic_sg sg;
	struct unic_send_wr wr[OUTSTANDING];
	uint32_t i;

	memset(wr, 0, sizeof(wr));
	check(unic_sg_of(from->mr, from->addr, 8, &sg), "address");
	for (i = 0; i < n; i++) {
		wr[i].opcode = UNIC_WR_WRITE;
		wr[i].flags = UNIC_WR_SIGNALED;
		wr[i].num_sge = 1;
		wr[i].sg = &sg;
		wr[i].remote = to->iova + 64;
		wr[i].rkey = to->mr->stag;
	}
	check(unic_post_send(c->qp, wr, n) == (int)n ? 0 : -1, "post");
}

/* A WRITE that was cut short by an eviction is to be done again, as the
 * buffer manager does with its own transfers. Any other error is a failure. */
static uint32_t reap(struct client *c)
{
	struct unic_wc wc[OUTSTANDING];
	int i, n = unic_poll_cq(c->cq, OUTSTANDING, wc);

	check(!n && unic_ctx_lost(c->ctx) ? unic_wait_cq(c->cq, 0) : n, "poll");
	for (i = 0; i < n; i++) {
		bool cut = wc[i].status == UNIC_WC_EVICTED ||
			   wc[i].status == UNIC_WC_REM_EVICTED;

		c->done += !wc[i].status;
		c->again += cut;
		c->failed += wc[i].status && !cut;
	}
	return (uint32_t)n;
}

static void turn(struct client *c, uint32_t from, uint32_t to)
{
	struct unic_bm_hold a, b;
	uint32_t posted = 0, done = 0, burst, us;

	us = unic_pace_expect(unic_bm_pace(c->bm), TURN * 8);
	check(unic_bm_hold(c->bm, c->buf[from], 8, us, false, &a), "hold");
	check(unic_bm_hold(c->bm, c->buf[to], 72, us, false, &b), "hold");
	while (done < TURN) {
		burst = OUTSTANDING - (posted - done);
		if (burst > TURN - posted)
			burst = TURN - posted;
		if (burst >= OUTSTANDING / 4) {
			post(c, &a, &b, burst);
			posted += burst;
		}
		done += reap(c);
	}
	unic_bm_drop(c->bm, &b);
	unic_bm_drop(c->bm, &a);
}

static uint32_t draw(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static int run_pressure(const char *socket, uint64_t ops)
{
	struct client c[CLIENTS] = { 0 };
	struct unic_bm_stats s = { 0 }, sum = { 0 };
	uint64_t start, ns, done = 0, again = 0, failed = 0;
	uint32_t i;

	for (i = 0; i < CLIENTS; i++)
		open_client(&c[i], socket);
	start = yard_now_ns();
	for (i = 0; c[0].done + c[1].done < ops; i = (i + 1) % CLIENTS) {
		uint32_t from = draw(BUFFERS);

		turn(&c[i], from, (from + 1 + draw(BUFFERS - 1)) % BUFFERS);
		if (c[i].failed)
			break; /* the queue pair is gone */
	}
	ns = yard_now_ns() - start;
	for (i = 0; i < CLIENTS; i++) {
		unic_bm_query(c[i].bm, &s);
		sum.notices += s.notices;
		sum.evicted += s.evicted;
		sum.waits += s.waits;
		sum.trimmed += s.trimmed;
		done += c[i].done;
		again += c[i].again;
		failed += c[i].failed;
		unic_bm_close(c[i].bm);
		unic_close(c[i].ctx);
	}
	printf("{\"ops\": %llu, \"failed\": %llu, \"again\": %llu, "
	       "\"seconds\": %.2f, \"notices\": %llu, \"trimmed\": %llu, "
	       "\"evicted\": %llu, \"waits\": %llu}\n",
	       (unsigned long long)done, (unsigned long long)failed,
	       (unsigned long long)again, (double)ns / 1e9,
	       (unsigned long long)sum.notices, (unsigned long long)sum.trimmed,
	       (unsigned long long)sum.evicted, (unsigned long long)sum.waits);
	if (failed)
		fprintf(stderr, "evict-bench: %llu WRITEs failed\n",
			(unsigned long long)failed);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[2], "notices"))
		return run_notices(argv[1], argv[3], strtod(argv[4], NULL));
	if (argc == 3 && !strcmp(argv[2], "waits"))
		return run_waits(argv[1]);
	if (argc == 4 && !strcmp(argv[2], "pressure"))
		return run_pressure(argv[1], strtoull(argv[3], NULL, 0));
	fprintf(stderr, "usage: evict-bench SOCKET notices MAILBOX NS | waits "
			"| "
			"pressure N\n");
	return 2;
}
