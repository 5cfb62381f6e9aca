/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * verbs_calls.c - calls of libibverbs on a NIC of unic, good and bad: a program that
 * unic-run starts and that knows nothing of unic.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netinet/in.h> /* before the kernel's, which has the same structs */

#include <rdma/rdma_user_cm.h>

#define BYTES 4096
#define HOLE  ((void *)0x10000) /* nothing is mapped there */
#define PSN   0xfffff0		/* wraps soon */

#define IS(what)                                                               \
	do {                                                                   \
		if (!(what)) {                                                 \
			printf("%s:%d: not so: %s (errno %d, %s)\n", __func__, \
			       __LINE__, #what, errno, strerror(errno));       \
			exit(1);                                               \
		}                                                              \
	} while (0)
/* A pointer that is NULL, for the reason @err. */
#define FAILS(call, err) IS((errno = 0, !(call)) && errno == (err))

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static union ibv_gid gid;
static uint8_t *buf;  /* two pages */
static int inherited; /* descriptors of a program that this one starts */

struct side {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

static int count_inherited(void)
{
	return system("exit $(ls /proc/self/fd | wc -l)");
}

/* ------------------------------------------------------------------- set-up */

static struct ibv_qp *new_qp(struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 3,
			 .max_recv_sge = 3,
			 .max_inline_data = 60 },
		.qp_type = type,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	IS(qp && qp->qp_type == type && qp->state == IBV_QPS_RESET);
	IS(attr.cap.max_inline_data >= 60 && attr.cap.max_recv_wr == 8);
	return qp;
}

#define INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR                                                             \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
	 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS                                                                    \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_qp_attr init_attr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
}

static struct ibv_qp_attr rtr_attr(uint32_t peer)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = PSN,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .grh = { .dgid = gid, .hop_limit = 1 },
			     .port_num = 1 },
	};
}

static struct ibv_qp_attr rts_attr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = PSN,
		.max_rd_atomic = 4,
	};
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = init_attr();

	IS(!ibv_modify_qp(qp, &attr, INIT | IBV_QP_ACCESS_FLAGS));
	IS(qp->state == IBV_QPS_INIT);
}

static void connect_to(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr rtr = rtr_attr(peer), rts = rts_attr();

	IS(!ibv_modify_qp(qp, &rtr, RTR));
	IS(!ibv_modify_qp(qp, &rts, RTS));
}

static void open_side(struct side *s, uint8_t *mem,
		      struct ibv_comp_channel *channel)
{
	s->cq = ibv_create_cq(ctx, 16, s, channel, 0);
	IS(s->cq && s->cq->cqe >= 16);
	s->mr = ibv_reg_mr(pd, mem, BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC);
	IS(s->mr && s->mr->addr == mem && s->mr->length == BYTES);
	s->qp = new_qp(s->cq, IBV_QPT_RC);
	to_init(s->qp);
}

static void open_pair(struct side s[2], struct ibv_comp_channel *channel)
{
	memset(buf, 0, 2 * BYTES);
	open_side(&s[0], buf, channel);
	open_side(&s[1], buf + BYTES, channel);
	connect_to(s[0].qp, s[1].qp->qp_num);
	connect_to(s[1].qp, s[0].qp->qp_num);
}

static void close_pair(struct side s[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		IS(ibv_destroy_cq(s[i].cq) == EBUSY);
		IS(!ibv_destroy_qp(s[i].qp));
		IS(!ibv_destroy_cq(s[i].cq));
		IS(!ibv_dereg_mr(s[i].mr));
	}
}

static struct ibv_sge sge_of(const struct side *s, uint32_t at, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)s->mr->addr + at, len,
				 s->mr->lkey };
}

static struct ibv_wc next_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		usleep(100);
	IS(n == 1);
	return wc;
}

static void post_recv(struct side *s, uint64_t id, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = sge_of(s, at, len);
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	IS(!ibv_post_recv(s->qp, &wr, &bad));
}

/* --------------------------------------------------------------- another ring */

static void post_writes(struct side s[2], uint64_t first, uint64_t end)
{
	struct ibv_sge sge = sge_of(&s[0], 0, 8);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)s[1].mr->addr;
	wr.wr.rdma.rkey = s[1].mr->rkey;
	for (; first < end; first++) {
		wr.wr_id = first;
		IS(!ibv_post_send(s[0].qp, &wr, &bad));
	}
}

static void polls(struct ibv_cq *cq, uint64_t first, uint64_t end)
{
	for (; first < end; first++) {
		struct ibv_wc wc = next_wc(cq);

		IS(wc.wr_id == first && wc.status == IBV_WC_SUCCESS);
	}
}

static void resize(struct ibv_cq *cq, int cqe)
{
	IS(!ibv_resize_cq(cq, cqe));
	IS(cq->cqe >= cqe && cq->cqe < 2 * cqe);
}

static void wakes(struct ibv_cq *cq)
{
	struct pollfd pfd = { .fd = cq->channel->fd, .events = POLLIN };
	struct ibv_cq *of;
	void *user;

	IS(poll(&pfd, 1, 2000) == 1);
	IS(!ibv_get_cq_event(cq->channel, &of, &user) && of == cq);
	ibv_ack_cq_events(cq, 1);
	IS(!poll(&pfd, 1, 0));
}

/* Both ways with completions that are there; to fewer than those, not at all. */
static void resizes_what_is_unread(struct side s[2])
{
	struct ibv_cq *cq = s[0].cq;

	post_writes(s, 0, 5);
	usleep(100000);
	resize(cq, 3000);
	resize(cq, 6);
	IS(ibv_resize_cq(cq, 4) == EINVAL && cq->cqe == 8);
	polls(cq, 0, 2);
	resize(cq, 4);
	polls(cq, 2, 5);
	IS(!ibv_req_notify_cq(cq, 0));
	resize(cq, 16);
	post_writes(s, 5, 6);
	wakes(cq);
	polls(cq, 5, 6);
	IS(ibv_resize_cq(cq, 0) == EINVAL);
	IS(ibv_resize_cq(cq, 1 << 20) == EINVAL);
}

/* The largest queue there is, and none larger. */
static void resizes_to_the_most(struct side s[2])
{
	struct ibv_cq *cq = s[0].cq;
	struct ibv_device_attr attr;

	IS(!ibv_query_device(ctx, &attr));
	post_writes(s, 6, 9);
	resize(cq, attr.max_cqe);
	IS(cq->cqe == attr.max_cqe);
	IS(ibv_resize_cq(cq, attr.max_cqe + 1) == EINVAL);
	post_writes(s, 9, 11);
	polls(cq, 6, 11);
	resize(cq, 16);
}

static bool enough;

static void *resizes_on(void *cq)
{
	static const int sizes[] = { 64, 8, 1000, 16 };
	int n;

	for (n = 0; n < 200; n++)
		resize(cq, sizes[n % 4]);
	__atomic_store_n(&enough, true, __ATOMIC_RELEASE);
	return NULL;
}

/* As a program that sleeps does: an event, arm, take all that is there. */
static void takes_by_events(struct ibv_cq *cq, uint64_t first, uint64_t end)
{
	struct pollfd pfd = { .fd = cq->channel->fd, .events = POLLIN };
	struct ibv_cq *of;
	struct ibv_wc wc;
	void *user;
	int n;

	while (first < end) {
		IS(poll(&pfd, 1, 5000) == 1);
		IS(!ibv_get_cq_event(cq->channel, &of, &user) && of == cq);
		ibv_ack_cq_events(cq, 1);
		IS(!ibv_req_notify_cq(cq, 0));
		while ((n = ibv_poll_cq(cq, 1, &wc)))
			IS(n == 1 && wc.wr_id == first++ && !wc.status);
	}
}

/* Completions are taken by @take while another thread resizes their queue. */
static void takes_while_resized(struct side s[2],
				void (*take)(struct ibv_cq *, uint64_t,
					     uint64_t))
{
	pthread_t thread;
	uint64_t n;

	enough = false;
	IS(!pthread_create(&thread, NULL, resizes_on, s[0].cq));
	for (n = 0; !__atomic_load_n(&enough, __ATOMIC_ACQUIRE); n += 8) {
		post_writes(s, n, n + 8);
		take(s[0].cq, n, n + 8);
	}
	pthread_join(thread, NULL);
}

static void resizes(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct side s[2];

	IS(channel);
	open_pair(s, channel);
	resizes_what_is_unread(s);
	resizes_to_the_most(s);
	takes_while_resized(s, polls);
	IS(!ibv_req_notify_cq(s[0].cq, 0));
	takes_while_resized(s, takes_by_events);
	close_pair(s);
	IS(!ibv_destroy_comp_channel(channel));
}

/* ------------------------------------------------------------------ traffic */

static void moves_bytes(void)
{
	struct side s[2];
	struct ibv_sge one, many[3];
	struct ibv_send_wr last = { .wr_id = 4,
				    .sg_list = many,
				    .num_sge = 3,
				    .opcode = IBV_WR_SEND_WITH_IMM,
				    .imm_data = htobe32(0x01020304),
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr read = { .wr_id = 3,
				    .next = &last,
				    .sg_list = &one,
				    .num_sge = 1,
				    .opcode = IBV_WR_RDMA_READ,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr write = { .wr_id = 2,
				     .next = &read,
				     .sg_list = many,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_INLINE };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	open_pair(s, NULL);
	strcpy((char *)buf, "one two three");
	many[0] = sge_of(&s[0], 0, 4);
	many[1] = sge_of(&s[0], 4, 4);
	many[2] = sge_of(&s[0], 8, 6);
	one = sge_of(&s[0], 100, 4);
	write.wr.rdma.remote_addr = (uintptr_t)buf + BYTES + 50;
	write.wr.rdma.rkey = s[1].mr->rkey;
	read.wr.rdma = write.wr.rdma;
	last.send_flags |= IBV_SEND_FENCE;
	post_recv(&s[1], 9, 200, 64);
	IS(!ibv_post_send(s[0].qp, &write, &bad));
	wc = next_wc(s[0].cq);
	IS(wc.wr_id == 3 && !wc.status && wc.opcode == IBV_WC_RDMA_READ &&
	   wc.qp_num == s[0].qp->qp_num);
	IS(!memcmp(buf + BYTES + 50, "one ", 4) &&
	   !memcmp(buf + 100, "one ", 4));
	wc = next_wc(s[0].cq);
	IS(wc.wr_id == 4 && !wc.status && wc.opcode == IBV_WC_SEND);
	wc = next_wc(s[1].cq);
	IS(wc.wr_id == 9 && !wc.status && wc.opcode == IBV_WC_RECV);
	IS(wc.byte_len == 14 && wc.wc_flags == IBV_WC_WITH_IMM &&
	   wc.imm_data == htobe32(0x01020304));
	IS(!strcmp((char *)buf + BYTES + 200, "one two three"));
	close_pair(s);
}

/* Compare-and-swap and fetch-and-add of the 8 bytes at @to of the other side. */
static struct ibv_wc run_atomic(struct side s[2], enum ibv_wr_opcode opcode,
				uint32_t to, uint64_t operand, uint64_t swap)
{
	struct ibv_sge sge = sge_of(&s[0], 64, 8);
	struct ibv_send_wr wr = { .wr_id = 5,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)buf + BYTES + to;
	wr.wr.atomic.rkey = s[1].mr->rkey;
	wr.wr.atomic.compare_add = operand;
	wr.wr.atomic.swap = swap;
	IS(!ibv_post_send(s[0].qp, &wr, &bad));
	return next_wc(s[0].cq);
}

static void counts(void)
{
	uint64_t *there = (uint64_t *)(void *)(buf + BYTES + 24);
	const uint64_t *was = (const uint64_t *)(const void *)(buf + 64);
	struct ibv_device_attr attr;
	struct side s[2];
	struct ibv_wc wc;

	IS(!ibv_query_device(ctx, &attr) && attr.atomic_cap == IBV_ATOMIC_HCA);
	IS(attr.max_qp_rd_atom == 16 && attr.max_qp_init_rd_atom == 16);
	open_pair(s, NULL);
	*there = 40;
	wc = run_atomic(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 24, 2, 0);
	IS(!wc.status && wc.opcode == IBV_WC_FETCH_ADD && wc.byte_len == 8);
	IS(*was == 40 && *there == 42);
	wc = run_atomic(s, IBV_WR_ATOMIC_CMP_AND_SWP, 24, 42, 1ull << 40);
	IS(!wc.status && wc.opcode == IBV_WC_COMP_SWAP);
	IS(*was == 42 && *there == 1ull << 40);
	wc = run_atomic(s, IBV_WR_ATOMIC_CMP_AND_SWP, 24, 42, 7);
	IS(!wc.status && *was == 1ull << 40 && *there == 1ull << 40);
	wc = run_atomic(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 25, 2, 0);
	IS(wc.status == IBV_WC_REM_INV_REQ_ERR && *there == 1ull << 40);
	close_pair(s);
}

/* Datagrams, and an address handle of one that came. */
static void sends_datagrams(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = 0x1234 };
	struct ibv_ah_attr av = rtr_attr(0).ah_attr;
	struct ibv_send_wr wr = { .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	struct side s;
	struct ibv_wc wc[2];

	memset(buf, 0, 2 * BYTES);
	open_side(&s, buf, NULL);
	IS(!ibv_destroy_qp(s.qp));
	s.qp = new_qp(s.cq, IBV_QPT_UD);
	IS(!ibv_modify_qp(s.qp, &attr, INIT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	IS(!ibv_modify_qp(s.qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 5;
	IS(!ibv_modify_qp(s.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	strcpy((char *)buf, "datagram");
	sge = sge_of(&s, 0, 9);
	wr.sg_list = &sge;
	IS(ibv_post_send(s.qp, &wr, &bad) == EINVAL && bad == &wr);
	wr.wr.ud.ah = ibv_create_ah(pd, &av);
	wr.wr.ud.remote_qpn = s.qp->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	IS(wr.wr.ud.ah);
	post_recv(&s, 1, 1000, 100);
	IS(!ibv_post_send(s.qp, &wr, &bad));
	wc[0] = next_wc(s.cq);
	wc[1] = next_wc(s.cq);
	if (wc[0].opcode != IBV_WC_RECV)
		wc[0] = wc[1];
	IS(wc[0].opcode == IBV_WC_RECV && wc[0].byte_len == 49 &&
	   wc[0].wc_flags == IBV_WC_GRH && wc[0].src_qp == s.qp->qp_num);
	IS(!strcmp((char *)buf + 1040, "datagram"));
	IS(!ibv_destroy_ah(wr.wr.ud.ah));
	wr.wr.ud.ah =
		ibv_create_ah_from_wc(pd, &wc[0], (void *)(buf + 1000), 1);
	IS(wr.wr.ud.ah && !ibv_destroy_ah(wr.wr.ud.ah));
	IS(!ibv_destroy_qp(s.qp) && !ibv_destroy_cq(s.cq) &&
	   !ibv_dereg_mr(s.mr));
}

/* ------------------------------------------------------------------- events */

static void wakes_who_waits(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_send_wr wr = { .wr_id = 7,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct pollfd pfd;
	struct ibv_cq *cq;
	struct side s[2];
	void *user;
	int round;

	IS(channel && channel->fd > 2);
	IS(fcntl(channel->fd, F_GETFD) & FD_CLOEXEC);
	pfd = (struct pollfd){ .fd = channel->fd, .events = POLLIN };
	open_pair(s, channel);
	IS(ibv_destroy_comp_channel(channel) == EBUSY);
	for (round = 0; round < 3; round++) {
		IS(!ibv_req_notify_cq(s[1].cq, 0));
		IS(!poll(&pfd, 1, 0));
		post_recv(&s[1], 8, 0, 10);
		IS(!ibv_post_send(s[0].qp, &wr, &bad));
		IS(!ibv_get_cq_event(channel, &cq, &user));
		IS(cq == s[1].cq && user == &s[1]);
		ibv_ack_cq_events(cq, 1);
		IS(next_wc(s[1].cq).wr_id == 8);
		IS(next_wc(s[0].cq).wr_id == 7);
	}
	/* an event that nobody read goes with its queue; that of the other stays */
	IS(!ibv_req_notify_cq(s[0].cq, 0) && !ibv_req_notify_cq(s[1].cq, 0));
	post_recv(&s[1], 8, 0, 10);
	IS(!ibv_post_send(s[0].qp, &wr, &bad));
	next_wc(s[0].cq);
	next_wc(s[1].cq);
	usleep(100000);
	IS(!ibv_destroy_qp(s[0].qp) && !ibv_destroy_cq(s[0].cq));
	IS(!ibv_get_cq_event(channel, &cq, &user) && cq == s[1].cq);
	ibv_ack_cq_events(cq, 1);
	IS(!poll(&pfd, 1, 0));
	IS(!ibv_destroy_qp(s[1].qp) && !ibv_destroy_cq(s[1].cq));
	IS(!ibv_dereg_mr(s[0].mr) && !ibv_dereg_mr(s[1].mr));
	IS(!ibv_destroy_comp_channel(channel));
}

/* A completion that is there when its queue is armed makes no event (IBTA 11.4.2.2): a
 * program that arms first and polls then would be woken for nothing. */
static void does_not_wake_for_an_old_one(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_send_wr *bad, wr = { .wr_id = 7,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct side s[2];
	void *user;
	int round;

	open_pair(s, channel);
	IS(!ibv_req_notify_cq(s[1].cq, 0));
	for (round = 0; round < 3; round++) {
		post_recv(&s[1], 8, 0, 10);
		IS(!ibv_post_send(s[0].qp, &wr, &bad));
		IS(next_wc(s[0].cq).wr_id == 7);
		IS(!ibv_get_cq_event(channel, &cq, &user));
		ibv_ack_cq_events(cq, 1);
		IS(!ibv_req_notify_cq(s[1].cq, 0));
		IS(!poll(&pfd, 1, 50));
		IS(next_wc(s[1].cq).wr_id == 8);
	}
	IS(!ibv_destroy_qp(s[0].qp) && !ibv_destroy_cq(s[0].cq));
	IS(!ibv_destroy_qp(s[1].qp) && !ibv_destroy_cq(s[1].cq));
	IS(!ibv_dereg_mr(s[0].mr) && !ibv_dereg_mr(s[1].mr));
	IS(!ibv_destroy_comp_channel(channel));
}

/* A wrong rkey ends both queue pairs, and each says so. */
static void tells_of_a_wrong_key(void)
{
	struct ibv_async_event ev;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr wr = { .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	struct side s[2];
	struct ibv_wc wc;

	open_pair(s, NULL);
	sge = sge_of(&s[0], 0, 8);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)buf + BYTES;
	wr.wr.rdma.rkey = s[1].mr->rkey ^ 0x10000;
	IS(!ibv_post_send(s[0].qp, &wr, &bad));
	wc = next_wc(s[0].cq);
	IS(wc.status == IBV_WC_REM_ACCESS_ERR && wc.vendor_err >> 8);
	IS(!ibv_get_async_event(ctx, &ev));
	IS(ev.element.qp == s[0].qp || ev.element.qp == s[1].qp);
	IS(ev.event_type == IBV_EVENT_QP_ACCESS_ERR ||
	   ev.event_type == IBV_EVENT_QP_FATAL);
	ibv_ack_async_event(&ev);
	IS(!ibv_query_qp(s[0].qp, &attr, IBV_QP_STATE, &init));
	IS(attr.qp_state == IBV_QPS_ERR);
	/* what is posted now is flushed; after RESET it works again */
	IS(!ibv_post_send(s[0].qp, &wr, &bad));
	IS(next_wc(s[0].cq).status == IBV_WC_WR_FLUSH_ERR);
	attr.qp_state = IBV_QPS_RESET;
	IS(!ibv_modify_qp(s[0].qp, &attr, IBV_QP_STATE));
	IS(ibv_post_send(s[0].qp, &wr, &bad) == EINVAL && bad == &wr);
	to_init(s[0].qp);
	close_pair(s);
}

/* ---------------------------------------------------------------- bad input */

static void refuses_attributes(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp_attr init = init_attr(), rtr = rtr_attr(17);
	struct ibv_qp_attr rts = rts_attr(), attr = { 0 };
	struct ibv_qp *qp;

	IS(cq && cq->cqe >= 1);
	qp = new_qp(cq, IBV_QPT_RC);
	IS(ibv_modify_qp(qp, &init, INIT) == EINVAL); /* no access flags */
	IS(ibv_modify_qp(qp, &init, INIT | IBV_QP_ACCESS_FLAGS | IBV_QP_QKEY) ==
	   EINVAL);
	IS(ibv_modify_qp(qp, &rts, RTS) == EINVAL); /* from RESET */
	init.port_num = 2;
	IS(ibv_modify_qp(qp, &init, INIT | IBV_QP_ACCESS_FLAGS) == EINVAL);
	attr.qp_state = IBV_QPS_ERR;
	IS(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EINVAL);
	IS(qp->state == IBV_QPS_RESET);
	to_init(qp);
	rtr.ah_attr.is_global = 0;
	IS(ibv_modify_qp(qp, &rtr, RTR) == EINVAL);
	rtr = rtr_attr(17);
	rtr.ah_attr.grh.dgid.raw[0] = 0xfe;
	IS(ibv_modify_qp(qp, &rtr, RTR) == EINVAL);
	rtr = rtr_attr(17);
	rtr.ah_attr.grh.sgid_index = 1;
	IS(ibv_modify_qp(qp, &rtr, RTR) == EINVAL);
	rtr = rtr_attr(17);
	rtr.max_dest_rd_atomic = 100;
	IS(ibv_modify_qp(qp, &rtr, RTR) == EINVAL);
	rtr = rtr_attr(17);
	rtr.ah_attr.grh.dgid.raw[15] = 77; /* nobody */
	IS(ibv_modify_qp(qp, &rtr, RTR) == EHOSTUNREACH);
	IS(qp->state == IBV_QPS_INIT);
	connect_to(qp, qp->qp_num);
	attr.qp_state = IBV_QPS_SQD;
	IS(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EOPNOTSUPP);
	attr.qp_state = IBV_QPS_ERR;
	IS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE) && qp->state == IBV_QPS_ERR);
	IS(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

static void refuses_memory(void)
{
	uint8_t *shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint8_t stack[16];

	FAILS(ibv_reg_mr(pd, stack, 16, IBV_ACCESS_LOCAL_WRITE), EOPNOTSUPP);
	FAILS(ibv_reg_mr(pd, shared, 16, IBV_ACCESS_LOCAL_WRITE), EOPNOTSUPP);
	munmap(shared, BYTES);
	/* after ibv_fork_init() libibverbs refuses it by itself */
	FAILS(ibv_reg_mr(pd, HOLE, 16, IBV_ACCESS_LOCAL_WRITE),
	      getenv("IBV_FORK_SAFE") ? ENOMEM : EFAULT);
	FAILS(ibv_reg_mr(pd, buf, 0, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	FAILS(ibv_reg_mr(pd, buf, 16, IBV_ACCESS_REMOTE_WRITE), EINVAL);
}

static void refuses_requests(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_TSO };
	struct ibv_send_wr first = { .next = &wr,
				     .wr_id = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr recv[9], *bad_recv;
	struct ibv_sge sge[7] = { { 0 } };
	struct ibv_send_wr *bad;
	struct side s[2];
	int i;

	open_pair(s, NULL);
	post_recv(&s[1], 5, 0, 10);
	/* the first of the list is posted */
	IS(ibv_post_send(s[0].qp, &first, &bad) == EOPNOTSUPP && bad == &wr);
	IS(next_wc(s[0].cq).wr_id == 1 && next_wc(s[1].cq).wr_id == 5);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
				   .num_sge = 7,
				   .sg_list = sge };
	IS(ibv_post_send(s[0].qp, &wr, &bad) == EINVAL && bad == &wr);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.num_sge = 0;
	IS(ibv_post_send(s[0].qp, &wr, &bad) == EINVAL && bad == &wr);
	sge[0] = sge_of(&s[0], 0, 4);
	wr.num_sge = 1;
	IS(ibv_post_send(s[0].qp, &wr, &bad) == EINVAL);
	wr.opcode = IBV_WR_SEND;
	sge[0] = sge_of(&s[0], 0, 97);
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	IS(ibv_post_send(s[0].qp, &wr, &bad) == EINVAL);
	/* a full queue */
	for (i = 0; i < 9; i++)
		recv[i] = (struct ibv_recv_wr){ .next = i < 8 ? &recv[i + 1]
							      : NULL };
	IS(ibv_post_recv(s[1].qp, recv, &bad_recv) == ENOMEM &&
	   bad_recv == &recv[8]);
	close_pair(s);
}

static struct ibv_async_event next_async(enum ibv_event_type type)
{
	struct ibv_async_event ev;

	IS(!ibv_get_async_event(ctx, &ev));
	IS(ev.event_type == type);
	ibv_ack_async_event(&ev);
	return ev;
}

/* Post receive @wr_id of @s to @srq; ENOMEM: it is full. */
static int post_shared(struct ibv_srq *srq, const struct side *s,
		       uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(s, (uint32_t)wr_id * 64, 64);
	struct ibv_recv_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static struct ibv_srq *new_srq(void)
{
	struct ibv_srq_init_attr init = {
		.srq_context = buf, .attr = { .max_wr = 4, .max_sge = 1 }
	};
	struct ibv_srq_init_attr_ex ex = {
		.attr = { .max_wr = 4, .max_sge = 4 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd
	};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	IS(srq && init.attr.max_wr == 4 && init.attr.max_sge == 3);
	IS(srq->context == ctx && srq->srq_context == buf && srq->pd == pd);
	FAILS(ibv_create_srq_ex(ctx, &ex), EINVAL);
	ex.attr.max_sge = 3;
	ex.srq_type = IBV_SRQT_XRC;
	FAILS(ibv_create_srq_ex(ctx, &ex), EOPNOTSUPP);
	ex.srq_type = IBV_SRQT_BASIC;
	IS(!ibv_destroy_srq(ibv_create_srq_ex(ctx, &ex)));
	return srq;
}

/* The other end of @s gets its receives from @srq. */
static void share_receives(struct side s[2], struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s[1].cq,
		.recv_cq = s[1].cq,
		.srq = srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	int i;

	for (i = 0; i < 2; i++)
		IS(!ibv_destroy_qp(s[i].qp));
	s[0].qp = new_qp(s[0].cq, IBV_QPT_RC);
	s[1].qp = ibv_create_qp(pd, &init);
	IS(s[1].qp && s[1].qp->srq == srq && !init.cap.max_recv_wr);
	for (i = 0; i < 2; i++)
		to_init(s[i].qp);
	IS(ibv_post_recv(s[1].qp, &wr, &bad) == EINVAL && bad == &wr);
	for (i = 0; i < 2; i++)
		connect_to(s[i].qp, s[!i].qp->qp_num);
}

static void send_shared(struct side s[2], uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&s[0], 0, 16);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	IS(!ibv_post_send(s[0].qp, &wr, &bad));
	IS(next_wc(s[0].cq).status == IBV_WC_SUCCESS);
	wc = next_wc(s[1].cq);
	IS(wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id &&
	   wc.byte_len == 16 && wc.qp_num == s[1].qp->qp_num);
}

/* Shared receive queues: order, room, limit, the last receive. */
static void shares_receives(void)
{
	struct ibv_srq *srq = new_srq();
	struct ibv_srq_attr attr = { .srq_limit = 3, .max_wr = 8 };
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct side s[2];
	uint64_t i;

	open_pair(s, NULL);
	share_receives(s, srq);
	for (i = 0; i < 4; i++)
		IS(!post_shared(srq, &s[1], i));
	IS(post_shared(srq, &s[1], 4) == ENOMEM);
	IS(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EOPNOTSUPP);
	IS(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	attr.srq_limit = 5;
	IS(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == EINVAL);
	IS(!ibv_query_srq(srq, &attr));
	IS(attr.srq_limit == 3 && attr.max_wr == 4 && attr.max_sge == 3);
	send_shared(s, 0);
	send_shared(s, 1);
	IS(next_async(IBV_EVENT_SRQ_LIMIT_REACHED).element.srq == srq);
	IS(!ibv_query_srq(srq, &attr) && !attr.srq_limit);
	IS(!post_shared(srq, &s[1], 4) && !post_shared(srq, &s[1], 5));
	for (i = 2; i < 5; i++)
		send_shared(s, i);
	IS(ibv_destroy_srq(srq) == EBUSY);
	IS(!ibv_modify_qp(s[1].qp, &err, IBV_QP_STATE));
	IS(next_async(IBV_EVENT_QP_LAST_WQE_REACHED).element.qp == s[1].qp);
	close_pair(s);
	IS(!ibv_destroy_srq(srq));
}

static void refuses_what_is_absent(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_send_wr = 1 << 20 },
					 .qp_type = IBV_QPT_RC };
	IS(cq);
	FAILS(ibv_create_qp(pd, &attr), EINVAL);
	attr.cap.max_send_wr = 1;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	FAILS(ibv_create_qp(pd, &attr), EOPNOTSUPP);
	FAILS(ibv_alloc_null_mr(pd), EOPNOTSUPP);
	FAILS(ibv_create_cq(ctx, 1 << 20, NULL, NULL, 0), EINVAL);
	FAILS(ibv_create_cq(ctx, 0, NULL, NULL, 0), EINVAL);
	IS(!ibv_destroy_cq(cq));
}

/* What the preloaded library is not asked for is as ever. */
static void leaves_others_alone(void)
{
	uint64_t words[2] = { 17, 1 }; /* no request: this is no device */
	int null = open("/dev/null", O_WRONLY);

	IS(null >= 0 && write(null, words, 16) == 16);
	IS(write(-1, words, 16) < 0 && errno == EBADF);
	IS(write(null, NULL, 0) == 0);
	IS(open("/dev/infiniband/uverbs99", O_RDWR) < 0 && errno == ENOENT);
	IS(open("/nowhere", O_RDWR) < 0 && errno == ENOENT);
	IS(write(ctx->cmd_fd, words, 8) < 0 && errno == ENOSYS);
	close(null);
}

/* A child has the memory, not the device; exec takes no descriptor along. */
static void forks(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE);
	int status;
	pid_t pid;

	IS(mr);
	buf[0] = 1;
	pid = fork();
	if (!pid) {
		buf[0]++;
		_exit(buf[0] != 2);
	}
	IS(waitpid(pid, &status, 0) == pid && !status && buf[0] == 1);
	IS(count_inherited() == inherited);
	IS(!ibv_dereg_mr(mr));
}

/* Contexts of one device share the attachment, and end one by one. */
static void opens_again(void)
{
	struct ibv_context *again = ibv_open_device(ctx->device);
	struct ibv_pd *other;

	IS(again && again != ctx);
	other = ibv_alloc_pd(again);
	IS(other && other->context == again);
	IS(!ibv_dealloc_pd(other) && !ibv_close_device(again));
}

/* The driver ends: who waits wakes, what was posted is flushed, and nothing is posted. */
static void sees_the_end(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad;
	struct ibv_async_event ev;
	struct ibv_port_attr port;
	struct ibv_cq *cq;
	struct side s[2];
	void *user;

	IS(channel);
	open_pair(s, channel);
	post_recv(&s[1], 11, 0, 10);
	post_recv(&s[1], 12, 0, 10);
	IS(!ibv_req_notify_cq(s[1].cq, 0));
	puts("verbs-calls: waits");
	do {
		IS(!ibv_get_cq_event(channel, &cq, &user));
		ibv_ack_cq_events(cq, 1);
	} while (cq != s[1].cq);
	IS(next_wc(cq).status == IBV_WC_WR_FLUSH_ERR);
	IS(next_wc(cq).wr_id == 12);
	do {
		IS(!ibv_get_async_event(ctx, &ev));
		ibv_ack_async_event(&ev);
	} while (ev.event_type != IBV_EVENT_DEVICE_FATAL);
	IS(ibv_post_send(s[0].qp, &wr, &bad) == EIO && bad == &wr);
	IS(!ibv_query_port(ctx, 1, &port) && port.state == IBV_PORT_DOWN);
	FAILS(ibv_alloc_pd(ctx), EIO);
	close_pair(s);
	IS(!ibv_destroy_comp_channel(channel));
}

/* Buffers in turn, more than the slot has room for: those that are not registered any more
 * make room. */
static void registers_many(void)
{
	enum {
		BUFFERS = 20,
		LONG = 1 << 20
	};
	uint8_t *mem = mmap(NULL, (size_t)BUFFERS * LONG,
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct ibv_mr *mr;
	size_t i;

	IS(mem != MAP_FAILED);
	for (i = 0; i < BUFFERS; i++) {
		memset(mem + i * LONG, (int)i, LONG);
		mr = ibv_reg_mr(pd, mem + i * LONG, LONG,
				IBV_ACCESS_LOCAL_WRITE);
		IS(mr);
		IS(!ibv_dereg_mr(mr));
	}
	for (i = 0; i < (size_t)BUFFERS * LONG; i++)
		IS(mem[i] == (uint8_t)(i / LONG));
	IS(!munmap(mem, (size_t)BUFFERS * LONG));
}

static bool is_device(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode);
}

static void *awaits_event(void *fd)
{
	struct rdma_ucm_event_resp resp;
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_get_event body;
	} cmd = { { RDMA_USER_CM_CMD_GET_EVENT, sizeof(cmd.body),
		    sizeof(resp) },
		  { (uintptr_t)&resp } };

	return write(*(int *)fd, &cmd, sizeof(cmd)) < 0 ? NULL : fd;
}

/* The device of the connection manager: who waits for an event in it can be cancelled; a child
 * of vfork() closes its own; and close_range() closes it. */
static void has_channels(void)
{
	int other, fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	pthread_t thread;
	void *end;
	pid_t pid;

	IS(is_device(fd));
	IS(!pthread_create(&thread, NULL, awaits_event, &fd));
	usleep(50000);
	IS(!pthread_cancel(thread));
	IS(!pthread_join(thread, &end) && end == PTHREAD_CANCELED);
	IS(is_device(fd));
	pid = vfork();
	if (!pid) {
		close(fd);
		_exit(0);
	}
	IS(waitpid(pid, NULL, 0) == pid);
	IS(is_device(fd));
	IS(!close_range((unsigned int)fd, (unsigned int)fd, 0));
	other = open("/etc/passwd", O_RDONLY);
	IS(other >= 0 && !is_device(other) && !is_device(fd));
	close(other);
	fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	IS(is_device(fd));
	pid = fork();
	if (!pid) {
		closefrom(fd);
		_exit(is_device(fd));
	}
	IS(waitpid(pid, NULL, 0) == pid);
	IS(is_device(fd));
	close(fd);
}

int main(int argc, char **argv)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);

	setvbuf(stdout, NULL, _IOLBF, 0);
	inherited = count_inherited();
	IS(list && n == 1);
	ctx = ibv_open_device(list[0]);
	IS(ctx);
	IS(!ibv_query_gid(ctx, 1, 0, &gid) && gid.raw[11] == 0xff);
	pd = ibv_alloc_pd(ctx);
	buf = aligned_alloc(BYTES, 2 * BYTES);
	IS(pd && buf);
	if (argc > 1 && !strcmp(argv[1], "lost")) {
		sees_the_end();
		puts("verbs-calls: ok");
		return 0;
	}
	moves_bytes();
	counts();
	sends_datagrams();
	wakes_who_waits();
	does_not_wake_for_an_old_one();
	resizes();
	tells_of_a_wrong_key();
	refuses_attributes();
	refuses_memory();
	refuses_requests();
	shares_receives();
	refuses_what_is_absent();
	leaves_others_alone();
	registers_many();
	has_channels();
	forks();
	opens_again();
	IS(!ibv_dealloc_pd(pd) && !ibv_close_device(ctx));
	ibv_free_device_list(list);
	puts("verbs-calls: ok");
	return 0;
}
