/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lent_page.c - see lent_page.h. */
#include "lent_page.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "wait.h"

#define VERSION	   1u
#define CONNECT_MS 10000
#define CQ_MAX	   1024u /* completions of receives */
#define BATCH	   64u
#define ANSWER_MS  30000

/* Private data of the answer to a connection. */
struct offer {
	unic_le32 version;
	unic_le32 stag;
	unic_le64 iova;
	unic_le32 bytes;
};

int lent_page_open(struct lent_page *p, const char *socket, uint32_t bytes,
		   unsigned int rights)
{
	struct unic_mr_attr attr = { .length = bytes,
				     .rights = rights,
				     .flags = UNIC_MR_WAIT,
				     .residency = UNIC_DEMAND };
	int err = unic_open(socket, &p->ctx);

	if (!err)
		err = unic_alloc_pd(p->ctx, &p->pd);
	if (!err)
		err = unic_create_cq(p->pd, p->receives ? CQ_MAX : 2 * p->slots,
				     &p->cq);
	if (err)
		return err;
	p->mem = unic_alloc(p->ctx, bytes, 4096);
	if (!p->mem)
		return -ENOMEM;
	memset(p->mem, 0, bytes);
	attr.addr = p->mem;
	return unic_reg_mr(p->pd, &attr, &p->mr);
}

void lent_page_close(struct lent_page *p)
{
	unic_close(p->ctx);
}

static int new_qp(struct lent_page *p, struct unic_qp **qp)
{
	struct unic_qp_attr attr = { .send_cq = p->cq,
				     .recv_cq = p->cq,
				     .sq_slots = p->slots,
				     .rq_slots = p->slots,
				     .rq_class = LENT_BYTES };

	return unic_create_qp(p->pd, &attr, qp);
}

/* ------------------------------------------------------------------- server */

/* Post @n receives, whose messages overwrite each other. */
static int post_receives(struct lent_page *p, struct unic_qp *qp,
			 unsigned int n)
{
	struct unic_recv_wr wr[BATCH];
	struct unic_sg sg;
	unsigned int i, now;
	int err = unic_sg_of(p->mr, p->mem, LENT_BYTES, &sg);

	for (i = 0; i < BATCH; i++)
		wr[i] = (struct unic_recv_wr){ .num_sge = 1, .sg = &sg };
	for (; n && !err; n -= now) {
		now = n < BATCH ? n : BATCH;
		err = unic_post_recv(qp, wr, now) == (int)now ? 0 : -EIO;
	}
	return err;
}

static int accept_qp(struct lent_page *p, uint32_t conn)
{
	struct offer offer = { .version = unic_to_le32(VERSION),
			       .stag = unic_to_le32(p->mr->stag),
			       .iova = unic_to_le64(p->mr->iova),
			       .bytes = unic_to_le32(LENT_BYTES) };
	struct unic_conn_param param = { .private_data = &offer,
					 .private_len = sizeof(offer) };
	struct unic_qp *qp;
	int err;

	if (p->receives && (p->conns + 1) * p->slots > CQ_MAX)
		err = unic_fail(-EBUSY, "too many at once");
	else
		err = new_qp(p, &qp);
	if (err) {
		unic_reject(p->ctx, conn, NULL, 0);
		return err;
	}
	if (p->receives)
		err = post_receives(p, qp, p->slots);
	if (!err)
		err = unic_accept(p->ctx, conn, qp, &param);
	if (err)
		unic_destroy_qp(qp);
	else
		p->conns++;
	return err;
}

static void accept_peer(struct lent_page *p, const struct unic_event *ev)
{
	struct in_addr addr = { .s_addr = htonl(ev->peer_ipv4) };
	int err = accept_qp(p, ev->conn);

	if (err)
		printf("%s: %s: %s\n", p->program, inet_ntoa(addr),
		       unic_last_error());
	else if (!p->quiet)
		printf("%s: %s is connected\n", p->program, inet_ntoa(addr));
	fflush(stdout);
}

/* One event. -ENOTCONN: the NIC was reset, or the driver ended. */
static int serve_event(struct lent_page *p, const struct unic_event *ev)
{
	switch (ev->type) {
	case UNIC_EV_CONNECT:
		accept_peer(p, ev);
		return 0;
	case UNIC_EV_DISCONNECTED:
	case UNIC_EV_QP_ERROR:
		unic_destroy_qp(ev->qp);
		p->conns--;
		return 0;
	case UNIC_EV_RESET:
		return unic_fail(-ENOTCONN, "the NIC was reset");
	case UNIC_EV_EVICTED:
		return unic_fail(-ENOTCONN, "the lent memory was evicted: %s",
				 unic_reason_str(ev->reason));
	default:
		return 0;
	}
}

/* Post a receive for each message that came. True: there may be more. */
static bool take_messages(struct lent_page *p)
{
	struct unic_wc wc[BATCH];
	int i, from, n = unic_poll_cq(p->cq, BATCH, wc);

	for (i = 0; i < n; i = from) {
		for (from = i; from < n && wc[from].qp == wc[i].qp;)
			from++;
		if (!wc[i].status) /* else its queue pair has ended */
			(void)post_receives(p, wc[i].qp,
					    (unsigned int)(from - i));
	}
	return n > 0;
}

/* Sleep until there is something to do, for half a second at most. */
static void rest(struct lent_page *p)
{
	struct pollfd fd[] = { { .fd = unic_event_fd(p->ctx),
				 .events = POLLIN },
			       { .fd = unic_cq_fd(p->ctx), .events = POLLIN } };
	uint64_t word;

	while (read(fd[1].fd, &word, sizeof(word)) > 0)
		;
	if (take_messages(p) || unic_req_notify(p->cq, false))
		return;
	poll(fd, 2, 500);
}

int lent_page_serve(struct lent_page *p, const char *socket,
		    const volatile sig_atomic_t *stop)
{
	struct unic_listener *l;
	struct unic_event ev;
	int err = lent_page_open(p, socket, LENT_BYTES,
				 UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
					 UNIC_MR_REMOTE_WRITE);

	if (!err)
		err = unic_listen(p->ctx, p->service, &l);
	if (err)
		return err;
	printf("%s: ready\n", p->program);
	fflush(stdout);
	while (!err && !*stop) {
		while (take_messages(p))
			;
		while (!err && !unic_get_event(p->ctx, &ev)) {
			err = serve_event(p, &ev);
			unic_ack_event(&ev);
		}
		if (!err)
			rest(p);
	}
	return err;
}

/* ------------------------------------------------------------------- client */

int lent_page_connect(struct lent_page *p, const char *peer,
		      struct unic_qp **qp, struct lent_offer *at)
{
	struct unic_conn_param param = { 0 };
	uint8_t reply[UNIC_PRIVATE_MAX] = { 0 };
	unsigned int len = sizeof(reply);
	struct offer offer;
	uint32_t ipv4;
	int err;

	if (unic_parse_ipv4(peer, &ipv4))
		return unic_fail(-EINVAL, "%s is no address", peer);
	err = new_qp(p, qp);
	if (!err)
		err = unic_connect(*qp, ipv4, p->service, &param, CONNECT_MS,
				   reply, &len);
	if (err)
		return err;
	memcpy(&offer, reply, sizeof(offer));
	if (len < sizeof(offer) || unic_from_le32(offer.version) != VERSION ||
	    unic_from_le32(offer.bytes) < LENT_BYTES)
		return unic_fail(-EPROTO, "%s is of another version", peer);
	at->iova = unic_from_le64(offer.iova);
	at->stag = unic_from_le32(offer.stag);
	return 0;
}

int lent_page_request(const struct lent_page *p, const struct lent_offer *at,
		      unsigned int opcode, uint32_t bytes, struct unic_sg *sg,
		      struct unic_send_wr *wr)
{
	*wr = (struct unic_send_wr){ .opcode = (uint8_t)opcode,
				     .flags = UNIC_WR_SIGNALED,
				     .sg = sg,
				     .num_sge = 1 };
	if (opcode != UNIC_WR_SEND) {
		wr->remote = at->iova;
		wr->rkey = at->stag;
	}
	return unic_sg_of(p->mr, p->mem, bytes, sg);
}

int lent_page_post(struct unic_qp *qp, const struct unic_send_wr *wr,
		   unsigned int n)
{
	struct unic_send_wr batch[BATCH];
	unsigned int i, now;
	int done;

	for (i = 0; i < BATCH && i < n; i++)
		batch[i] = *wr;
	for (; n; n -= now) {
		now = n < BATCH ? n : BATCH;
		done = unic_post_send(qp, batch, now);
		if (done < 0)
			return done;
		if (done != (int)now)
			return unic_fail(-EIO, "the queue is full");
	}
	return 0;
}

int lent_page_done(struct lent_page *p)
{
	struct unic_wc wc[BATCH];
	int i, n, err = unic_wait_cq(p->cq, ANSWER_MS);

	if (err)
		return err == -ETIME ? unic_fail(err, "no answer within %u s",
						 ANSWER_MS / 1000)
				     : err;
	n = unic_poll_cq(p->cq, BATCH, wc);
	for (i = 0; i < n; i++) {
		if (wc[i].status)
			return unic_fail(-EIO, "%s",
					 unic_wc_status_str(wc[i].status));
	}
	return n;
}

int lent_page_ask(struct lent_page *p, struct unic_qp *qp,
		  const struct unic_send_wr *wr, uint64_t *ns)
{
	uint64_t from = unic_now_ns();
	int n, err = lent_page_post(qp, wr, 1);

	if (err)
		return err;
	do
		n = lent_page_done(p);
	while (!n);
	*ns = unic_now_ns() - from;
	return n < 0 ? n : 0;
}
