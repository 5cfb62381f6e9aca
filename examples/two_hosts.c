/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * two_hosts.c - one host lends a page, the other one reads it by RDMA and writes to it.
 *
 *   two_hosts serve          on one host: lends a page with a text, says what is written
 *   two_hosts ADDRESS TEXT   on the other: reads the text, and writes TEXT
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unic/unic.h>

#define SERVICE	    0x68656c6cull /* any number that both know */
#define BYTES	    4096u
#define PATIENCE_MS 5000

/* What a peer needs of a region. It goes with the answer to its connection. */
struct lent {
	uint64_t iova;
	uint32_t stag;
};

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_mr *mr;
static char *page;

static void must(int err, const char *what)
{
	if (err < 0)
		errx(1, "%s: %s", what, unic_last_error());
}

static void set_up(unsigned int rights)
{
	struct unic_mr_attr attr = { .length = BYTES,
				     .rights = UNIC_MR_LOCAL_WRITE | rights,
				     .flags = UNIC_MR_WAIT };

	must(unic_open(NULL, &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	must(unic_create_cq(pd, 16, &cq), "completion queue");
	page = attr.addr = unic_alloc(ctx, BYTES, 4096);
	must(page ? 0 : -1, "memory");
	must(unic_reg_mr(pd, &attr, &mr), "register");
}

static struct unic_qp *new_qp(void)
{
	struct unic_qp_attr attr = {
		.send_cq = cq, .recv_cq = cq, .sq_slots = 16, .rq_slots = 16
	};
	struct unic_qp *qp;

	must(unic_create_qp(pd, &attr, &qp), "queue pair");
	return qp;
}

static struct unic_event next_event(void)
{
	struct pollfd fd = { unic_event_fd(ctx), POLLIN, 0 };
	struct unic_event ev;

	while (unic_get_event(ctx, &ev))
		poll(&fd, 1, -1);
	unic_ack_event(&ev);
	return ev;
}

/* One peer: it comes, does what it wants with the page, and goes. */
static void serve(void)
{
	struct lent lent;
	struct unic_conn_param param = { .private_data = &lent,
					 .private_len = sizeof(lent) };
	struct unic_listener *listener;
	struct unic_event ev;

	set_up(UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE);
	strcpy(page, "hello from the other host");
	lent = (struct lent){ .iova = mr->iova, .stag = mr->stag };
	must(unic_listen(ctx, SERVICE, &listener), "listen");
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	do
		ev = next_event();
	while (ev.type != UNIC_EV_CONNECT);
	must(unic_accept(ctx, ev.conn, new_qp(), &param), "accept");
	do
		ev = next_event();
	while (ev.type != UNIC_EV_DISCONNECTED);
	printf("written: %s\n", page);
}

/* Waits until the page has gone there, or come from there. */
static void move(struct unic_qp *qp, uint8_t opcode, const struct lent *lent)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = opcode,
				   .flags = UNIC_WR_SIGNALED,
				   .sg = &sg,
				   .num_sge = 1,
				   .remote = lent->iova,
				   .rkey = lent->stag };
	struct unic_wc wc;

	must(unic_sg_of(mr, page, BYTES, &sg), "address");
	must(unic_post_send(qp, &wr, 1), "post");
	must(unic_wait_cq(cq, PATIENCE_MS), "wait");
	must(unic_poll_cq(cq, 1, &wc), "poll");
	if (wc.status != UNIC_WC_SUCCESS)
		errx(1, "%s", unic_wc_status_str(wc.status));
}

static void use(const char *address, const char *text)
{
	struct unic_conn_param param = { 0 };
	struct lent lent;
	unsigned int len = sizeof(lent);
	struct unic_qp *qp;
	uint32_t ipv4;

	must(unic_parse_ipv4(address, &ipv4), "address");
	set_up(0);
	qp = new_qp();
	must(unic_connect(qp, ipv4, SERVICE, &param, PATIENCE_MS, &lent, &len),
	     "connect");
	move(qp, UNIC_WR_READ, &lent);
	printf("read: %s\n", page);
	snprintf(page, BYTES, "%s", text);
	move(qp, UNIC_WR_WRITE, &lent);
	must(unic_disconnect(qp), "disconnect");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "serve"))
		serve();
	else if (argc == 3)
		use(argv[1], argv[2]);
	else
		errx(2, "usage: two_hosts serve | ADDRESS TEXT");
	unic_close(ctx);
	return 0;
}
