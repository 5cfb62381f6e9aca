/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * holders export SOCKET N [last | token | form] - gives a region to N peers, and says
 *	how long its grace took when it was asked back. "last": records the last one
 *	only; the others have it from that one. "token": gives each a token of it.
 *	"form": the first one gets a sub-region of it.
 * holders hold SOCKET IPV4 [silent | pass IPV4 QPN]
 *	has it, writes to it, and answers when it is asked, or does not. "pass":
 *	says that it hands it on to whom is connected from IPV4 by QPN.
 *
 * Run by test_holders.py, which reads what they print.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unic.h"
#include "unic_ctl.h"

#define SERVICE 0x686f6c64ull
#define PAGE	4096u
#define BYTES	(4 * PAGE)
#define PEERS	4u

struct given {
	uint64_t iova; /* token: its key */
	uint32_t kind; /* UNIC_CTL_HELD_* */
	uint32_t number;
};

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_mr *mr;
static int line;

static void fail_if(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "holders: line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) (line = __LINE__, fail_if((x) != 0, #x))
#define IS(x) (line = __LINE__, fail_if(!(x), #x))

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void set_up(const char *socket)
{
	struct unic_mr_attr a = { .length = BYTES,
				  .rights = UNIC_MR_LOCAL_WRITE |
					    UNIC_MR_REMOTE_WRITE };

	OK(unic_open(socket, &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	OK(unic_create_cq(pd, 64, &cq));
	a.addr = unic_alloc(ctx, BYTES, PAGE);
	IS(a.addr);
	OK(unic_reg_mr(pd, &a, &mr));
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static struct unic_qp *new_qp(void)
{
	struct unic_qp_attr a = {
		.sq_slots = 8, .rq_slots = 8, .send_cq = cq, .recv_cq = cq
	};
	struct unic_qp *qp;

	OK(unic_create_qp(pd, &a, &qp));
	return qp;
}

/* The next event of @type; others are not of interest. */
static struct unic_event wait_for(enum unic_ev_type type)
{
	struct pollfd fd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	struct unic_event ev;

	for (;;) {
		while (!unic_get_event(ctx, &ev)) {
			if (ev.type == type)
				return ev;
			unic_ack_event(&ev);
		}
		IS(poll(&fd, 1, 60000) == 1);
	}
}

/* --------------------------------------------------------------- exporter */

/* Called after the grant is recorded: the peer may use it at once. */
static void tell(struct unic_qp *qp, struct given g)
{
	struct unic_sg sg = { .addr = &g, .len = sizeof(g) };
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_INLINE,
				   .num_sge = 1,
				   .sg = &sg };

	IS(unic_post_send(qp, &wr, 1) == 1);
}

static void give_region(struct unic_qp *qp, struct unic_mr *what, bool record)
{
	if (record)
		OK(unic_grant(what, qp));
	tell(qp, (struct given){ .iova = what->iova,
				 .kind = UNIC_CTL_HELD_STAG,
				 .number = what->stag });
}

static struct unic_mr *new_form(void)
{
	struct unic_mr *form;

	OK(unic_reg_sub(mr, mr->addr, PAGE,
			UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE, &form));
	return form;
}

static void give_token(struct unic_qp *qp)
{
	struct unic_pay_attr a = { .mr = mr,
				   .addr = mr->addr,
				   .length = 64,
				   .flags = UNIC_TOKEN_F_MULTI };
	struct unic_recv_wr wr = { .wr_id = 1 };
	struct unic_pay_token t;

	OK(unic_alloc_token(pd, &a, &t));
	OK(unic_grant_token(mr, &t, qp));
	IS(unic_post_recv(qp, &wr, 1) == 1);
	tell(qp, (struct given){ .iova = t.key,
				 .kind = UNIC_CTL_HELD_TOKEN,
				 .number = t.index });
}

static void export(unsigned int n, const char *how)
{
	struct unic_conn_param p = { .private_len = 0 };
	struct unic_qp *qp[PEERS];
	struct unic_listener *l;
	struct unic_event ev;
	unsigned int i;
	uint64_t asked, deadline, now;

	IS(n && n <= PEERS);
	OK(unic_listen(ctx, SERVICE, &l));
	printf("listens\n");
	for (i = 0; i < n; i++) {
		ev = wait_for(UNIC_EV_CONNECT);
		qp[i] = new_qp();
		OK(unic_accept(ctx, ev.conn, qp[i], &p));
		if (!strcmp(how, "token"))
			give_token(qp[i]);
		else
			give_region(qp[i],
				    i || strcmp(how, "form") ? mr : new_form(),
				    i == n - 1 || strcmp(how, "last"));
	}
	printf("region %u\n", mr->id);
	ev = wait_for(UNIC_EV_NOTICE);
	asked = now_ns();
	deadline = ev.deadline_ns;
	unic_ack_event(&ev);
	while (ev = wait_for(UNIC_EV_EVICTED), ev.mr != mr)
		unic_ack_event(&ev); /* of a form */
	now = now_ns();
	printf("evicted after %llu us, %lld us after its deadline: %s\n",
	       (unsigned long long)(now - asked) / 1000,
	       (long long)(now - deadline) / 1000, unic_reason_str(ev.reason));
	unic_ack_event(&ev);
}

/* ----------------------------------------------------------------- holder */

static unsigned int completed(void)
{
	struct unic_wc wc = { 0 };
	int i, n = 0;

	for (i = 0; i < 3000 && !n; i++) {
		n = unic_poll_cq(cq, 1, &wc);
		if (!n && !unic_req_notify(cq, false))
			unic_wait_cq(cq, 10);
	}
	IS(n == 1);
	return wc.status;
}

static void hear(struct unic_qp *qp, struct given *g)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .num_sge = 1, .sg = &sg };
	char *at = (char *)mr->addr + PAGE;

	OK(unic_sg_of(mr, at, sizeof(*g), &sg));
	IS(unic_post_recv(qp, &wr, 1) == 1);
	IS(completed() == UNIC_WC_SUCCESS);
	memcpy(g, at, sizeof(*g));
}

static unsigned int write_it(struct unic_qp *qp, const struct given *g)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = g->kind == UNIC_CTL_HELD_TOKEN
						     ? UNIC_WR_TOKEN
						     : UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = g->iova,
				   .rkey = g->number };

	OK(unic_sg_of(mr, mr->addr, 64, &sg));
	IS(unic_post_send(qp, &wr, 1) == 1);
	return completed();
}

static void hold(const char *peer, char **more)
{
	struct unic_conn_param p = { .private_len = 0 };
	struct unic_qp *qp = new_qp();
	struct unic_event ev;
	struct given g;
	uint32_t ipv4;

	OK(unic_parse_ipv4(peer, &ipv4));
	OK(unic_connect(qp, ipv4, SERVICE, &p, 60000, NULL, NULL));
	hear(qp, &g);
	IS(write_it(qp, &g) == UNIC_WC_SUCCESS);
	printf("holds, qpn %u\n", unic_qp_num(qp));
	if (*more && !strcmp(*more, "pass")) {
		OK(unic_parse_ipv4(more[1], &ipv4));
		OK(unic_delegate(qp, g.kind, g.number, ipv4,
				 (uint32_t)strtoul(more[2], NULL, 10)));
		printf("handed on\n");
	}
	ev = wait_for(UNIC_EV_INVALIDATE);
	IS(ev.qp == qp && ev.kind == g.kind && ev.number == g.number);
	printf("asked\n");
	if (!*more || strcmp(*more, "silent"))
		OK(unic_invalidated(ctx, &ev));
	pause();
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	set_up(argv[2]);
	if (!strcmp(argv[1], "export"))
		export((unsigned int)atoi(argv[3]), argc > 4 ? argv[4] : "");
	else
		hold(argv[3], argv + 4);
	return 0;
}
