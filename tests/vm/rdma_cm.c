/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rdma-cm listen SOCKET	takes one connection of Linux's rdma_client
 * rdma-cm connect SOCKET IPV4 OURS	makes one to Linux's rdma_server
 *
 * Both programs exchange 16 bytes by a SEND in each direction, the client first;
 * each of these is the first packet of its direction. Says "rdma-cm: ok". Run by
 * rdma_cm.py.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unic.h"

#define SERVICE 0x01061d2full /* RDMA_PS_TCP, port 7471 */
#define BYTES	16u
#define IN	1024u /* offset of the receive buffer */

static struct unic_ctx *ctx;
static struct unic_cq *cq;
static struct unic_qp *qp;
static struct unic_mr *mr;
static uint8_t *mem;

#define OK(x)                                                         \
	do {                                                          \
		if (!(x)) {                                           \
			fprintf(stderr, "rdma-cm: line %d: %s: %s\n", \
				__LINE__, #x, unic_last_error());     \
			exit(1);                                      \
		}                                                     \
	} while (0)

static void set_up(const char *socket)
{
	struct unic_mr_attr a = { .length = 4096,
				  .rights = UNIC_MR_LOCAL_WRITE };
	struct unic_qp_attr q = { .sq_slots = 8, .rq_slots = 8 };
	struct unic_sg sg;
	struct unic_recv_wr wr = { .num_sge = 1, .sg = &sg };
	struct unic_pd *pd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(!unic_open(socket, &ctx));
	OK(!unic_alloc_pd(ctx, &pd));
	OK(!unic_create_cq(pd, 64, &cq));
	mem = unic_alloc(ctx, 4096, 4096);
	OK(mem);
	a.addr = mem;
	OK(!unic_reg_mr(pd, &a, &mr));
	q.send_cq = q.recv_cq = cq;
	OK(!unic_create_qp(pd, &q, &qp));
	OK(!unic_sg_of(mr, mem + IN, BYTES, &sg));
	OK(unic_post_recv(qp, &wr, 1) == 1);
}

/* The next completion, which is @opcode. */
static void next(uint8_t opcode)
{
	struct unic_wc wc;
	int i, n = 0;

	for (i = 0; i < 1000 && !n; i++) {
		n = unic_poll_cq(cq, 1, &wc);
		OK(n >= 0);
		if (!n && !unic_req_notify(cq, false))
			unic_wait_cq(cq, 10);
	}
	OK(n == 1 && wc.status == UNIC_WC_SUCCESS && wc.opcode == opcode);
}

static void send_first(void)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg };

	OK(!unic_sg_of(mr, mem, BYTES, &sg));
	OK(unic_post_send(qp, &wr, 1) == 1);
	next(UNIC_WC_SEND);
}

static void take_one(void)
{
	static const struct unic_conn_param none;
	struct pollfd pfd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	struct unic_listener *l;
	struct unic_event ev;

	OK(!unic_listen(ctx, SERVICE, &l));
	puts("rdma-cm: listens");
	while (unic_get_event(ctx, &ev) == -EAGAIN)
		OK(poll(&pfd, 1, 300000) == 1);
	OK(ev.type == UNIC_EV_CONNECT);
	OK(!unic_accept(ctx, ev.conn, qp, &none));
	next(UNIC_WC_RECV);
	send_first();
}

/* What rdma_cm looks for in the private data of a REQ (IBTA annex A11). */
struct ip_cm {
	uint8_t version, ip_version;
	uint16_t port;
	uint32_t src[4], dst[4];
};

static void make_one(const char *to, const char *from)
{
	struct ip_cm ip = { .ip_version = 4 << 4, .port = htons(12345) };
	struct unic_conn_param param = { .private_data = &ip,
					 .private_len = sizeof(ip) };
	int i, err = -ECONNREFUSED;
	uint32_t ipv4, ours;

	OK(!unic_parse_ipv4(to, &ipv4));
	OK(!unic_parse_ipv4(from, &ours));
	ip.dst[3] = htonl(ipv4);
	ip.src[3] = htonl(ours);
	for (i = 0; i < 100 && err == -ECONNREFUSED; i++) {
		usleep(100000); /* until it listens */
		err = unic_connect(qp, ipv4, SERVICE, &param, 20000, NULL,
				   NULL);
	}
	OK(!err);
	send_first();
	next(UNIC_WC_RECV);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	set_up(argv[2]);
	if (argc > 4)
		make_one(argv[3], argv[4]);
	else
		take_one();
	puts("rdma-cm: ok");
	OK(!unic_disconnect(qp));
	unic_close(ctx);
	return 0;
}
