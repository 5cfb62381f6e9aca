/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * verbs-bench - what two processes get out of two NICs, through libunic.
 *
 *	verbs-bench SOCKET serve
 *	verbs-bench SOCKET run PEER-IP     prints one JSON object
 *	verbs-bench SOCKET slow PEER-IP    the same, of a NIC behind a slow line
 *
 * Small WRITEs per second (8 bytes, each with a completion, 32 outstanding),
 * latency of one WRITE from post to completion (polled, and blocked on the
 * event fd), bytes per second of WRITE and READ at 4 KiB, 64 KiB and 1 MiB, and
 * the processor time of this process per operation; beside the yardsticks, in
 * the same run, medians. Of a slow one only bytes per second at 64 KiB.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unic.h"
#include "yard.h"

#define SERVICE	    0x62656e6368ull /* "bench" */
#define BYTES	    (1u << 20)
#define SLOW_BYTES  (64u << 10)
#define SLOW_OPS    8u
#define ROUNDS	    7
#define OUTSTANDING 32u
#define LATENCIES   200u
#define LIMIT_MS    600000
#define ROUND_NS    200000000.0 /* one measurement takes about this long */
#define PATIENCE_MS 60000
#define PATIENCE    64u /* empty polls before another process may run */

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "verbs-bench: %s: %s\n", what, unic_last_error());
	exit(1);
}

struct end {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_qp *qp;
	struct unic_mr *mr;
	uint8_t *mem;
};

struct target {
	uint64_t iova;
	uint32_t rkey;
};

static void open_end(struct end *e, const char *socket, uint32_t bytes)
{
	struct unic_qp_attr qa = { .sq_slots = 64, .rq_slots = 4 };
	struct unic_mr_attr ma = {
		.length = bytes,
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_REMOTE_WRITE,
	};

	check(unic_open(socket, &e->ctx), "open");
	check(unic_alloc_pd(e->ctx, &e->pd), "pd");
	check(unic_create_cq(e->pd, 256, &e->cq), "cq");
	qa.send_cq = qa.recv_cq = e->cq;
	check(unic_create_qp(e->pd, &qa, &e->qp), "qp");
	e->mem = unic_alloc(e->ctx, bytes, 4096);
	check(e->mem ? 0 : -1, "alloc");
	ma.addr = e->mem;
	check(unic_reg_mr(e->pd, &ma, &e->mr), "register");
}

/* Wait for an event of one of two types on the context. */
static struct unic_event wait_event(struct end *e, enum unic_ev_type a,
				    enum unic_ev_type b)
{
	struct timespec nap = { 0, 1000000 };
	struct unic_event ev;
	int i, err;

	for (i = 0; i < LIMIT_MS; i++) {
		while ((err = unic_get_event(e->ctx, &ev)) == 0) {
			unic_ack_event(&ev);
			if (ev.type == a || ev.type == b)
				return ev;
		}
		nanosleep(&nap, NULL);
	}
	fprintf(stderr, "verbs-bench: nothing from the peer within %d s\n",
		LIMIT_MS / 1000);
	exit(1);
}

static int serve(const char *socket)
{
	struct unic_conn_param param;
	struct unic_listener *l;
	struct unic_event ev;
	struct target t;
	struct end e;

	open_end(&e, socket, BYTES);
	t.iova = e.mr->iova;
	t.rkey = e.mr->stag;
	memset(&param, 0, sizeof(param));
	param.private_data = &t;
	param.private_len = sizeof(t);
	check(unic_listen(e.ctx, SERVICE, &l), "listen");
	printf("verbs-bench: ready\n");
	fflush(stdout);
	ev = wait_event(&e, UNIC_EV_CONNECT, UNIC_EV_RESET);
	check(unic_accept(e.ctx, ev.conn, e.qp, &param), "accept");
	wait_event(&e, UNIC_EV_DISCONNECTED, UNIC_EV_QP_ERROR);
	unic_close(e.ctx);
	return 0;
}

/* ---------------------------------------------------------------- measures */

static void post(struct end *e, const struct target *t, uint8_t opcode,
		 uint32_t len, uint32_t n)
{
	struct unic_send_wr wr[OUTSTANDING];
	struct unic_sg sg;
	uint32_t i;

	check(unic_sg_of(e->mr, e->mem, len, &sg), "address");
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < n; i++) {
		wr[i].opcode = opcode;
		wr[i].flags = UNIC_WR_SIGNALED;
		wr[i].num_sge = 1;
		wr[i].sg = &sg;
		wr[i].remote = t->iova;
		wr[i].rkey = t->rkey;
	}
	check(unic_post_send(e->qp, wr, n) == (int)n ? 0 : -1, "post");
}

static uint32_t reap(struct end *e)
{
	struct unic_wc wc[OUTSTANDING];
	int i, n = unic_poll_cq(e->cq, OUTSTANDING, wc);

	check(!n && unic_ctx_lost(e->ctx) ? unic_wait_cq(e->cq, 0) : n, "poll");
	for (i = 0; i < n; i++)
		if (wc[i].status) {
			fprintf(stderr, "verbs-bench: completion: %s\n",
				unic_wc_status_str(wc[i].status));
			exit(1);
		}
	return (uint32_t)n;
}

/*
 * ns per operation, with a window of outstanding ones. Two NICs and this
 * process share two cores: after a while without completions this process lets
 * the NICs run.
 */
static double stream_ns(struct end *e, const struct target *t, uint8_t opcode,
			uint32_t len, uint32_t n)
{
	uint32_t window = opcode == UNIC_WR_READ ? 4 : OUTSTANDING;
	uint32_t posted = 0, done = 0, burst, got, empty = 0;
	uint64_t start = yard_now_ns();

	while (done < n) {
		burst = window - (posted - done);
		if (burst > n - posted)
			burst = n - posted;
		if (burst >= window / 4 || (burst && posted + burst == n)) {
			post(e, t, opcode, len, burst);
			posted += burst;
		}
		got = reap(e);
		done += got;
		empty = got ? 0 : empty + 1;
		if (empty % PATIENCE == PATIENCE - 1)
			sched_yield();
	}
	return (double)(yard_now_ns() - start) / n;
}

/* As stream_ns(), over as many operations as fit into a round. */
static double timed_stream_ns(struct end *e, const struct target *t,
			      uint8_t opcode, uint32_t len)
{
	double each = stream_ns(e, t, opcode, len, 4);

	return stream_ns(e, t, opcode, len, 4 + (uint32_t)(ROUND_NS / each));
}

static uint32_t reap_some(struct end *e, int blocked)
{
	uint32_t n;

	while (!(n = reap(e)))
		if (!blocked)
			sched_yield();
		else if (!unic_req_notify(e->cq, false))
			check(unic_wait_cq(e->cq, PATIENCE_MS), "wait");
	return n;
}

static double latency_ns(struct end *e, const struct target *t, int blocked)
{
	double v[LATENCIES];
	uint64_t start;
	uint32_t i;

	for (i = 0; i < LATENCIES; i++) {
		start = yard_now_ns();
		post(e, t, UNIC_WR_WRITE, 8, 1);
		reap_some(e, blocked);
		v[i] = (double)(yard_now_ns() - start);
	}
	return yard_median(v, LATENCIES);
}

/* ns per operation, two outstanding, without a processor to itself. */
static double quiet_stream_ns(struct end *e, const struct target *t,
			      uint8_t opcode, uint32_t len, uint32_t n)
{
	uint64_t start = yard_now_ns();
	uint32_t posted, done = 0;

	for (posted = 0; posted < 2; posted++)
		post(e, t, opcode, len, 1);
	while (done < n) {
		done += reap_some(e, 1);
		for (; posted < n && posted - done < 2; posted++)
			post(e, t, opcode, len, 1);
	}
	return (double)(yard_now_ns() - start) / n;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double median(double *v)
{
	return yard_median(v, ROUNDS);
}

struct figures {
	double line[ROUNDS], shm2[ROUNDS], rate[ROUNDS], cpu[ROUNDS];
	double polled[ROUNDS], blocked[ROUNDS], write[3][ROUNDS],
		read[2][ROUNDS];
};

static const uint32_t sizes[3] = { 4096, 65536, 1u << 20 };

static void one_round(struct end *e, const struct target *t, struct figures *f,
		      int r)
{
	double cpu;
	int s;

	f->line[r] = yard_line_ns(20000);
	f->shm2[r] = yard_shm2_mbs(2000);
	f->rate[r] = 1e9 / timed_stream_ns(e, t, UNIC_WR_WRITE, 8);
	cpu = cpu_ns();
	stream_ns(e, t, UNIC_WR_WRITE, 8, 5000);
	f->cpu[r] = (cpu_ns() - cpu) / 5000;
	f->polled[r] = latency_ns(e, t, 0);
	f->blocked[r] = latency_ns(e, t, 1);
	for (s = 0; s < 3; s++)
		f->write[s][r] = sizes[s] * 1e3 /
				 timed_stream_ns(e, t, UNIC_WR_WRITE, sizes[s]);
	for (s = 0; s < 2; s++)
		f->read[s][r] =
			sizes[1 + s] * 1e3 /
			timed_stream_ns(e, t, UNIC_WR_READ, sizes[1 + s]);
}

static void print(struct figures *f)
{
	printf("{\"line_ns\": %.1f, \"shm2_MBps\": %.0f, "
	       "\"write8_per_s\": %.0f, \"write8_cpu_ns\": %.1f, "
	       "\"write8_polled_ns\": %.0f, \"write8_blocked_ns\": %.0f, "
	       "\"write4k_MBps\": %.0f, \"write64k_MBps\": %.0f, "
	       "\"write1m_MBps\": %.0f, \"read64k_MBps\": %.0f, "
	       "\"read1m_MBps\": %.0f}\n",
	       median(f->line), median(f->shm2), median(f->rate),
	       median(f->cpu), median(f->polled), median(f->blocked),
	       median(f->write[0]), median(f->write[1]), median(f->write[2]),
	       median(f->read[0]), median(f->read[1]));
}

static void meet(struct end *e, const char *peer, uint8_t timeout,
		 struct target *t)
{
	struct unic_conn_param param = { .timeout = timeout };
	unsigned int len = sizeof(*t);
	uint32_t ip;

	check(unic_parse_ipv4(peer, &ip), "address");
	check(unic_connect(e->qp, ip, SERVICE, &param, 5000, t, &len), "meet");
}

static int run_slow(const char *socket, const char *peer)
{
	struct target t;
	struct end e;
	double out, in;

	open_end(&e, socket, SLOW_BYTES);
	meet(&e, peer, 0, &t);
	quiet_stream_ns(&e, &t, UNIC_WR_WRITE, 8, 2);
	out = quiet_stream_ns(&e, &t, UNIC_WR_WRITE, SLOW_BYTES, SLOW_OPS);
	in = quiet_stream_ns(&e, &t, UNIC_WR_READ, SLOW_BYTES, SLOW_OPS);
	printf("{\"write64k_Bps\": %.0f, \"read64k_Bps\": %.0f}\n",
	       SLOW_BYTES * 1e9 / out, SLOW_BYTES * 1e9 / in);
	unic_disconnect(e.qp);
	unic_close(e.ctx);
	return 0;
}

static int run(const char *socket, const char *peer)
{
	struct figures f;
	struct target t;
	struct end e;
	int r;

	open_end(&e, socket, BYTES);
	meet(&e, peer, 14, &t);
	stream_ns(&e, &t, UNIC_WR_WRITE, 8, 2000);
	for (r = 0; r < ROUNDS; r++)
		one_round(&e, &t, &f, r);
	print(&f);
	unic_disconnect(e.qp);
	unic_close(e.ctx);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "serve"))
		return serve(argv[1]);
	if (argc == 4 && !strcmp(argv[2], "run"))
		return run(argv[1], argv[3]);
	if (argc == 4 && !strcmp(argv[2], "slow"))
		return run_slow(argv[1], argv[3]);
	fprintf(stderr, "usage: verbs-bench SOCKET serve | run PEER-IP | "
			"slow PEER-IP\n");
	return 2;
}
