/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * datagrams answer SOCKET		says "at QPN", and answers one asker
 * datagrams ask SOCKET IPV4 QPN	asks it
 *
 * By datagrams (UD) both tell each other the numbers of a queue pair of an
 * unreliable connection (UC), connect these, and send and write over it; then once
 * more over one that the drivers connect. Each says "datagrams: ok". Run by
 * test_datagrams.py.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unic.h"

#define PAGE	4096u
#define BYTES	(4u * PAGE)
#define QKEY	0x1234u
#define MTU	10u /* log2 */
#define PSN	77u
#define SERVICE 4711u
#define LONG	5000u
#define OUT	0u /* parts of the region: datagrams out, in, ... */
#define IN	256u

/* The contents of a datagram. */
struct word {
	uint32_t qpn; /* of UC */
	uint32_t stag;
	uint64_t iova;
};

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_mr *mr, *dm; /* of messages, and of datagrams: DEMAND */
static struct unic_qp *ud, *uc;
static uint8_t *mem, *dmem;
static int line;

static void fail_if(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "datagrams: line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) (line = __LINE__, fail_if((x) != 0, #x))
#define IS(x) (line = __LINE__, fail_if(!(x), #x))

static void modify(struct unic_qp *qp, const struct unic_qp_mod *m)
{
	OK(unic_modify_qp(qp, m));
}

static struct unic_qp *new_qp(uint8_t type)
{
	struct unic_qp_attr a = {
		.sq_slots = 8,
		.rq_slots = 8,
		.send_cq = cq,
		.recv_cq = cq,
		.type = type,
		.miss = type == UNIC_QPT_RC ? 0 : UNIC_QPM_BOUNCE,
	};
	struct unic_qp *qp;

	OK(unic_create_qp(pd, &a, &qp));
	return qp;
}

static void receive(struct unic_qp *qp, uint8_t *at, uint32_t len)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .num_sge = 1, .sg = &sg };

	OK(unic_sg_of(qp == ud ? dm : mr, at, len, &sg));
	IS(unic_post_recv(qp, &wr, 1) == 1);
}

static void set_up(const char *socket)
{
	struct unic_mr_attr a = { .length = BYTES,
				  .rights = UNIC_MR_LOCAL_WRITE |
					    UNIC_MR_REMOTE_WRITE };

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(unic_open(socket, &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	OK(unic_create_cq(pd, 64, &cq));
	mem = unic_alloc(ctx, BYTES, PAGE);
	IS(mem);
	a.addr = mem;
	OK(unic_reg_mr(pd, &a, &mr));
	dmem = unic_alloc(ctx, PAGE, PAGE);
	IS(dmem);
	a.addr = dmem;
	a.length = PAGE;
	a.residency = UNIC_DEMAND;
	OK(unic_reg_mr(pd, &a, &dm));
	ud = new_qp(UNIC_QPT_UD);
	uc = new_qp(UNIC_QPT_UC);
	modify(ud,
	       &(struct unic_qp_mod){ .state = UNIC_QPS_INIT, .qkey = QKEY });
	receive(ud, dmem + IN, UNIC_GRH_BYTES + sizeof(struct word));
	modify(ud, &(struct unic_qp_mod){ .state = UNIC_QPS_RTR,
					  .mtu_shift = MTU });
	modify(ud, &(struct unic_qp_mod){ .state = UNIC_QPS_RTS });
}

/* The next completion that is @opcode; those of sends are not of interest. */
static struct unic_wc next(uint8_t opcode)
{
	struct unic_wc wc = { 0 };
	int i, n;

	for (i = 0; i < 1000; i++) {
		n = unic_poll_cq(cq, 1, &wc);
		IS(n >= 0);
		if (n)
			IS(wc.status == UNIC_WC_SUCCESS);
		if (n && wc.opcode == opcode)
			return wc;
		if (!n && !unic_req_notify(cq, false))
			unic_wait_cq(cq, 10);
	}
	fail_if(1, "no completion");
	return wc;
}

static void say(uint32_t ipv4, uint32_t qpn)
{
	struct word w = { .qpn = unic_qp_num(uc),
			  .stag = mr->stag,
			  .iova = mr->iova };
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = UNIC_UD_TO(ipv4, QKEY),
				   .rkey = qpn };

	memcpy(dmem + OUT, &w, sizeof(w));
	OK(unic_sg_of(dm, dmem + OUT, sizeof(w), &sg));
	IS(unic_post_send(ud, &wr, 1) == 1);
	next(UNIC_WC_SEND); /* before there can be an answer */
}

/* Receives a datagram, with the address and number of its sender. */
static struct word hear(uint32_t *ipv4, uint32_t *qpn)
{
	struct unic_wc wc = next(UNIC_WC_RECV);
	struct word w;

	IS(wc.qp == ud && wc.flags == UNIC_WC_GRH &&
	   wc.byte_len == UNIC_GRH_BYTES + sizeof(w));
	*ipv4 = wc.imm;
	*qpn = wc.token;
	memcpy(&w, dmem + IN + UNIC_GRH_BYTES, sizeof(w));
	receive(ud, dmem + IN, UNIC_GRH_BYTES + sizeof(w));
	return w;
}

static void connect_uc(uint32_t ipv4, const struct word *peer)
{
	modify(uc, &(struct unic_qp_mod){ .state = UNIC_QPS_INIT,
					  .rights = UNIC_MR_REMOTE_WRITE });
	modify(uc, &(struct unic_qp_mod){ .state = UNIC_QPS_RTR,
					  .mtu_shift = MTU,
					  .rq_psn = PSN,
					  .dest_qpn = peer->qpn,
					  .dest_ipv4 = ipv4 });
	modify(uc,
	       &(struct unic_qp_mod){ .state = UNIC_QPS_RTS, .sq_psn = PSN });
}

/* The next of the events, which is @type. */
static struct unic_event event(enum unic_ev_type type)
{
	struct pollfd pfd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	struct unic_event ev;

	while (unic_get_event(ctx, &ev) == -EAGAIN)
		IS(poll(&pfd, 1, 60000) == 1);
	IS(ev.type == type);
	return ev;
}

/* The same once more, but introduced by the drivers; RC is not what is asked
 * for. */
static void accept_uc(void)
{
	static const struct unic_conn_param none;
	struct unic_qp *rc = new_qp(UNIC_QPT_RC);
	struct unic_event ev;

	OK(unic_destroy_qp(uc));
	uc = new_qp(UNIC_QPT_UC);
	receive(uc, mem + LONG, LONG);
	receive(uc, mem, 0);
	ev = event(UNIC_EV_CONNECT);
	IS(ev.qp_type == UNIC_QPT_UC);
	IS(unic_accept(ctx, ev.conn, rc, &none) == -ECONNREFUSED);
	ev = event(UNIC_EV_CONNECT);
	OK(unic_accept(ctx, ev.conn, uc, &none));
}

static void call_uc(uint32_t ipv4)
{
	static const struct unic_conn_param all = { .rights = 0 };

	OK(unic_destroy_qp(uc));
	uc = new_qp(UNIC_QPT_UC);
	IS(unic_connect(uc, ipv4, SERVICE, &all, 60000, NULL, NULL) ==
	   -ECONNREFUSED);
	OK(unic_connect(uc, ipv4, SERVICE, &all, 60000, NULL, NULL));
}

static void fill(uint8_t *at, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < LONG; i++)
		at[i] = (uint8_t)(i * seed + (i >> 8));
}

/* Two messages of several packets each: a SEND, and a WRITE with immediate data. */
static void send_over_uc(const struct word *peer)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg };

	fill(mem, 7);
	OK(unic_sg_of(mr, mem, LONG, &sg));
	IS(unic_post_send(uc, &wr, 1) == 1);
	next(UNIC_WC_SEND);
	wr.opcode = UNIC_WR_WRITE_IMM;
	wr.imm = 99;
	wr.remote = peer->iova;
	wr.rkey = peer->stag;
	IS(unic_post_send(uc, &wr, 1) == 1);
	next(UNIC_WC_WRITE);
}

static void receive_over_uc(void)
{
	static uint8_t want[LONG];
	struct unic_wc wc = next(UNIC_WC_RECV);

	IS(wc.qp == uc && wc.byte_len == LONG);
	wc = next(UNIC_WC_RECV_WRITE_IMM);
	IS(wc.qp == uc && wc.byte_len == LONG && wc.imm == 99);
	fill(want, 7);
	IS(!memcmp(mem, want, LONG));
	IS(!memcmp(mem + LONG, want, LONG));
	memset(mem, 0, (size_t)2 * LONG);
}

static void answer(void)
{
	uint32_t ipv4, qpn;
	struct unic_listener *l;
	struct word peer;

	OK(unic_listen(ctx, SERVICE, &l));
	receive(uc, mem + LONG, LONG);
	receive(uc, mem, 0);
	printf("at %u\n", unic_qp_num(ud));
	peer = hear(&ipv4, &qpn);
	connect_uc(ipv4, &peer);
	say(ipv4, qpn);
	receive_over_uc();
	say(ipv4, qpn);
	accept_uc();
	receive_over_uc();
	say(ipv4, qpn);
}

static void ask(const char *address, const char *number)
{
	uint32_t ipv4 = ntohl(inet_addr(address)), from, qpn;
	struct word peer;

	say(ipv4, (uint32_t)strtoul(number, NULL, 10));
	peer = hear(&from, &qpn);
	IS(from == ipv4 && qpn == strtoul(number, NULL, 10));
	connect_uc(ipv4, &peer);
	send_over_uc(&peer);
	hear(&from, &qpn); /* all of it arrived */
	call_uc(ipv4);
	send_over_uc(&peer);
	hear(&from, &qpn);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "answer")) {
		set_up(argv[2]);
		answer();
	} else if (argc == 5 && !strcmp(argv[1], "ask")) {
		set_up(argv[2]);
		ask(argv[3], argv[4]);
	} else {
		fprintf(stderr, "usage: datagrams answer SOCKET | "
				"ask SOCKET IPV4 QPN\n");
		return 2;
	}
	printf("datagrams: ok\n");
	return 0;
}
