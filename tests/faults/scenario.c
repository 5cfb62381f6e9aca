/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fault-scenario - a program's whole life with libunic, three times in one
 * process: attach, memory of both kinds, regions, queues, a connection to
 * itself, a message, a transfer by the buffer manager, and everything back.
 *
 * tests/faults/faults.py runs it with a call of the C library that fails. A
 * round that fails says where and why, gives everything back and the next one
 * must find nothing of it. Prints "round N: ok" or "round N: STEP: REASON", at
 * last "descriptors N". Exit 0, however the rounds went.
 *
 * usage: fault-scenario SOCKET
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bufman.h"
#include "unic.h"

#define ROUNDS	  3
#define SERVICE	  77u
#define BYTES	  8192u
#define MOVED	  65536u
#define WAIT_MS	  3000
#define SLOTS	  8u
#define EVENTS_MS 8000 /* also on a machine with much else to do */

struct life {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_bm *bm;
	uint8_t *mem, *moved;
	struct unic_mr *mr, *moved_mr;
	struct unic_cq *cq[2]; /* of the two ends */
	struct unic_qp *qp[2];
	struct unic_listener *listener;
	int event[2]; /* a pipe out of the manager's thread */
	uint32_t ipv4;
	pthread_t connector;
	int connected; /* what unic_connect() said */
	char reason[256];
};

static int fail(struct life *l, int err, const char *reason)
{
	snprintf(l->reason, sizeof(l->reason), "%s", reason);
	return err;
}

static int lib(struct life *l, int err)
{
	return err < 0 ? fail(l, err, unic_last_error()) : 0;
}

static int os(struct life *l, const char *what)
{
	snprintf(l->reason, sizeof(l->reason), "%s: %s", what, strerror(errno));
	return -errno;
}

static void on_event(void *arg, const struct unic_event *ev)
{
	struct life *l = arg;
	ssize_t n;

	do {
		n = write(l->event[1], ev, sizeof(*ev));
	} while (n < 0 && errno == EINTR);
}

/* ----------------------------------------------------------------- its steps */

static int attach(struct life *l, const char *socket)
{
	struct unic_attr attr;
	int err;

	if (pipe2(l->event, O_CLOEXEC | O_NONBLOCK))
		return os(l, "pipe");
	err = lib(l, unic_open(socket, &l->ctx));
	if (err)
		return err;
	unic_query(l->ctx, &attr);
	l->ipv4 = attr.ipv4;
	return lib(l, unic_alloc_pd(l->ctx, &l->pd));
}

static int memory(struct life *l)
{
	void *p;

	l->mem = unic_alloc(l->ctx, BYTES, 4096);
	if (!l->mem)
		return lib(l, -ENOMEM);
	p = mmap(NULL, MOVED, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return os(l, "mmap");
	l->moved = p;
	memset(l->moved, 0x5a, MOVED);
	return 0;
}

static int reg(struct life *l, void *addr, size_t len, struct unic_mr **out)
{
	struct unic_mr_attr attr = {
		.addr = addr,
		.length = len,
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.flags = UNIC_MR_WAIT,
	};

	return lib(l, unic_reg_mr(l->pd, &attr, out));
}

static int regions(struct life *l)
{
	int err = reg(l, l->mem, BYTES, &l->mr);

	if (!err)
		err = reg(l, l->moved, MOVED / 2, &l->moved_mr);
	if (!err && l->moved[1] != 0x5a)
		return fail(l, -EIO, "memory changed when it was moved");
	return err;
}

static int manager(struct life *l)
{
	struct unic_bm_attr attr = {
		.rights = UNIC_MR_LOCAL_WRITE,
		.on_event = on_event,
		.arg = l,
	};

	return lib(l, unic_bm_open(l->pd, &attr, &l->bm));
}

static int queues(struct life *l)
{
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		struct unic_qp_attr attr = { .sq_slots = SLOTS,
					     .rq_slots = SLOTS };

		err = lib(l, unic_create_cq(l->pd, 2 * SLOTS, &l->cq[i]));
		attr.send_cq = attr.recv_cq = l->cq[i];
		if (!err)
			err = lib(l, unic_create_qp(l->pd, &attr, &l->qp[i]));
	}
	return err;
}

static void *connector(void *arg)
{
	struct unic_conn_param param = { .timeout = 0 };
	struct life *l = arg;

	l->connected = lib(l, unic_connect(l->qp[0], l->ipv4, SERVICE, &param,
					   EVENTS_MS / 2, NULL, NULL));
	return NULL;
}

static int accept_one(struct life *l)
{
	struct pollfd pfd = { .fd = l->event[0], .events = POLLIN };
	struct unic_conn_param param = { .timeout = 0 };
	struct unic_event ev;
	ssize_t n = 0;

	while (n != sizeof(ev)) {
		if (poll(&pfd, 1, EVENTS_MS) == 0)
			return -ETIME;
		n = read(l->event[0], &ev, sizeof(ev));
		if (n == sizeof(ev) && ev.type != UNIC_EV_CONNECT)
			n = 0;
	}
	return unic_accept(l->ctx, ev.conn, l->qp[1], &param);
}

static int connect_both(struct life *l)
{
	char words[200];
	int err = lib(l, unic_listen(l->ctx, SERVICE, &l->listener));

	if (err)
		return err;
	err = pthread_create(&l->connector, NULL, connector, l);
	if (err) {
		errno = err;
		return os(l, "thread");
	}
	err = accept_one(l);
	if (err)
		snprintf(words, sizeof(words), "accept: %s", unic_last_error());
	pthread_join(l->connector, NULL);
	/* when both ends fail, the end that connects failed first */
	if (err && !l->connected)
		return fail(l, err, words);
	return l->connected;
}

static int completion(struct life *l, struct unic_cq *cq)
{
	struct unic_wc wc;
	int n;

	while (!(n = unic_poll_cq(cq, 1, &wc))) {
		int err = lib(l, unic_wait_cq(cq, WAIT_MS));

		if (err)
			return err;
	}
	if (n < 0)
		return lib(l, n);
	return wc.status ? fail(l, -EIO, unic_wc_status_str(wc.status)) : 0;
}

static int message(struct life *l)
{
	struct unic_sg to, from;
	struct unic_recv_wr recv = { .num_sge = 1, .sg = &to };
	struct unic_send_wr send = { .opcode = UNIC_WR_SEND,
				     .flags = UNIC_WR_SIGNALED,
				     .num_sge = 1,
				     .sg = &from };
	int err;

	memset(l->mem, 0x33, BYTES / 2);
	err = lib(l, unic_sg_of(l->mr, l->mem, BYTES / 2, &from));
	if (!err)
		err = lib(l, unic_sg_of(l->mr, l->mem + BYTES / 2, BYTES / 2,
					&to));
	if (!err)
		err = lib(l, unic_post_recv(l->qp[1], &recv, 1));
	if (!err)
		err = lib(l, unic_post_send(l->qp[0], &send, 1));
	if (!err)
		err = completion(l, l->cq[0]);
	if (!err)
		err = completion(l, l->cq[1]);
	if (!err && memcmp(l->mem, l->mem + BYTES / 2, BYTES / 2))
		return fail(l, -EIO, "not what was sent");
	return err;
}

static int transfer(struct life *l)
{
	struct unic_bm_xfer x = {
		.qp = l->qp[0],
		.cq = l->cq[0],
		.opcode = UNIC_WR_WRITE,
		.remote = l->moved_mr->iova,
		.rkey = l->moved_mr->stag,
		.len = MOVED / 2,
	};
	int err;

	x.local = unic_bm_get(l->bm, MOVED / 2);
	if (!x.local)
		return lib(l, -ENOMEM);
	memset(x.local, 0x77, MOVED / 2);
	err = lib(l, unic_bm_transfer(l->bm, &x));
	unic_bm_put(l->bm, x.local, MOVED / 2);
	if (!err && l->moved[MOVED / 2 - 1] != 0x77)
		return fail(l, -EIO, "not what was written");
	return err;
}

/* ------------------------------------------------------------- and its end */

/* A call that failed may be repeated once. */
#define TWICE(call)             \
	do {                    \
		if ((call) < 0) \
			(call); \
	} while (0)

static void give_back_queues(struct life *l)
{
	int i;

	if (l->listener)
		TWICE(unic_unlisten(l->listener));
	for (i = 0; i < 2; i++) {
		if (l->qp[i])
			TWICE(unic_destroy_qp(l->qp[i]));
	}
	unic_bm_close(l->bm);
	for (i = 0; i < 2; i++) {
		if (l->cq[i])
			TWICE(unic_destroy_cq(l->cq[i]));
	}
}

static void give_back(struct life *l)
{
	give_back_queues(l);
	if (l->mr)
		TWICE(unic_dereg_mr(l->mr));
	if (l->moved_mr)
		TWICE(unic_dereg_mr(l->moved_mr));
	if (l->mem)
		TWICE(unic_free(l->ctx, l->mem));
	if (l->pd)
		TWICE(unic_free_pd(l->pd));
	unic_close(l->ctx);
	if (l->moved)
		munmap(l->moved, MOVED);
	if (l->event[1]) {
		close(l->event[0]);
		close(l->event[1]);
	}
}

static int count_descriptors(void)
{
	int n = 0, fd;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void live(const char *socket, int round)
{
	static int (*const step[])(struct life *) = {
		memory,	      regions, manager,	 queues,
		connect_both, message, transfer,
	};
	static const char *const name[] = { "memory",  "regions", "manager",
					    "queues",  "connect", "message",
					    "transfer" };
	struct life l = { .connected = 0 };
	const char *where = "attach";
	int err = attach(&l, socket);
	unsigned int i;

	for (i = 0; i < sizeof(step) / sizeof(step[0]) && !err; i++) {
		where = name[i];
		err = step[i](&l);
	}
	give_back(&l);
	if (err)
		printf("round %d: %s: %s\n", round, where, l.reason);
	else
		printf("round %d: ok\n", round);
}

int main(int argc, char **argv)
{
	int round;

	if (argc != 2) {
		fprintf(stderr, "usage: fault-scenario SOCKET\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	for (round = 1; round <= ROUNDS; round++)
		live(argv[1], round);
	printf("descriptors %d\n", count_descriptors());
	return 0;
}
