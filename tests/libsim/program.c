/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* program.c - see program.h: what the programs share. */
#include "program.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fiber.h"
#include "unic.h"
#include "unic_ctl.h"

int sys_poll(struct pollfd *fds, nfds_t n, int ms);
ssize_t sys_read(int fd, void *buf, size_t bytes);

void program_must(struct actor *a, int err, const char *what)
{
	if (err)
		sim_fail("program", "%s: %s answers %d: %s",
			 process_name(&a->p), what, err, unic_last_error());
}

void program_may(struct actor *a, int err, const char *what)
{
	switch (err) {
	case 0:
	case -ENOTCONN:
	case -ENOMEM:
	case -EDQUOT:
	case -ETIME:
	case -ECANCELED:
	case -EAGAIN:
	case -ECONNREFUSED:
	case -ENOENT:
	case -ENODEV:
	case -EHOSTUNREACH:
	case -EOWNERDEAD:
	case -EBUSY:
	case -ESTALE:
	case -EPERM:
		if (!a->calm || err != -ENOTCONN)
			return;
		break;
	default:
		break;
	}
	program_must(a, err, what);
}

bool program_later(struct actor *a, int err, int tries)
{
	if ((err != -ENODEV && err != -EAGAIN) || tries > 1000)
		return false;
	program_sleep(a, MS);
	return true;
}

void program_broken(struct actor *a, const char *what, uint32_t status)
{
	if (a->calm && !a->plain && a->cut == UNIC_QP_CUT_REPLAY)
		sim_fail("program", "%s: %s, status %u (%s)",
			 process_name(&a->p), what, status,
			 unic_wc_status_str(status));
	sim_log("%s: %s, status %u", process_name(&a->p), what, status);
}

bool program_silent(struct actor *a, uint64_t since_ns)
{
	if (sim_now() - since_ns < PATIENCE_NS)
		return false;
	program_broken(a, "the peer is silent", 0);
	return true;
}

void program_sleep(struct actor *a, uint64_t ns)
{
	(void)a;
	fiber_pause(ns);
}

uint32_t program_below(struct actor *a, uint32_t n)
{
	return process_below(&a->p, n);
}

static void drain(int fd)
{
	uint64_t n;

	while (sys_read(fd, &n, sizeof(n)) > 0)
		;
}

/* A completion is rung for a little later than it is there. */
#define RING_NS (100 * US)

void program_wait(struct end *e, struct unic_cq *cq, int ms)
{
	struct pollfd pfd[2] = {
		{ .fd = unic_event_fd(e->ctx), .events = POLLIN },
		{ .fd = unic_cq_fd(e->ctx), .events = POLLIN },
	};
	int n;

	if (cq && unic_req_notify(cq, false))
		return;
	n = sys_poll(pfd, cq ? 2 : 1, ms);
	if (!n && cq) {
		fiber_pause(RING_NS);
		n = sys_poll(pfd, 2, 0);
		e->unrung = !n;
	}
	if (n > 0 && cq && pfd[1].revents)
		drain(pfd[1].fd);
}

void program_found(struct end *e, int completions)
{
	if (e->unrung && e->a->calm && completions > 0)
		sim_fail("wakes", "%s sleeps, and a completion is there",
			 process_name(&e->a->p));
	e->unrung = false;
}

static uint8_t byte_of(uint32_t number, uint32_t i)
{
	uint32_t z = (number * 0x9e3779b9u) ^ (i * 0x85ebca6bu);

	return (uint8_t)(z ^ z >> 15);
}

void program_fill(uint8_t *at, uint32_t bytes, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		at[i] = byte_of(number, i);
}

bool program_match(const uint8_t *at, uint32_t bytes, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		if (at[i] != byte_of(number, i))
			return false;
	return true;
}

/* ----------------------------------------------------------------- one end */

uint8_t *end_place(const struct end *e, bool send, uint32_t i)
{
	return e->mem + (send ? 4096u : 0) + i % MESSAGES * MESSAGE;
}

static int register_mem(struct end *e)
{
	struct unic_mr_attr attr = {
		.addr = e->mem,
		.length = MEM_BYTES,
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE |
			  UNIC_MR_REMOTE_READ,
		.mr_class = e->a->plain ? UNIC_CLASS_RDMA
					: UNIC_CLASS_MESSAGING,
		.flags = UNIC_MR_WAIT,
		.timeout_us = 300000,
	};
	int err = unic_reg_mr(e->pd, &attr, &e->mr);

	program_may(e->a, err, "unic_reg_mr");
	e->gone = false;
	return err;
}

static int open_ctx(struct end *e, const char *where)
{
	return e->a->kept ? unic_open_kept(where, &e->ctx)
			  : unic_open_within(where, 20, &e->ctx);
}

int end_open(struct end *e, struct actor *a)
{
	char where[16];
	int err;

	memset(e, 0, sizeof(*e));
	e->a = a;
	snprintf(where, sizeof(where), "sim:%u", a->p.node);
	err = open_ctx(e, where);
	/* what a fault breaks in the middle may have any of the words */
	if (err == -EPROTO && !a->calm)
		err = -ENOTCONN;
	if (err != -ENOTCONN)
		program_may(a, err, "unic_open");
	if (!err)
		err = unic_alloc_pd(e->ctx, &e->pd);
	if (!err)
		err = unic_create_cq(e->pd, 64, &e->cq);
	if (!err && a->role == ROLE_MOVER)
		err = unic_create_cq(e->pd, 64, &e->rcq);
	if (!err) {
		e->mem = unic_alloc(e->ctx, MEM_BYTES, 4096);
		err = e->mem ? register_mem(e) : -errno;
	}
	program_may(a, err == -ENOTCONN ? 0 : err, "to make an end");
	if (err)
		end_close(e);
	return err;
}

void end_close(struct end *e)
{
	end_unqueue(e);
	if (e->listener)
		program_ends(e->a, unic_unlisten(e->listener));
	if (e->mr)
		program_ends(e->a, unic_dereg_mr(e->mr));
	if (e->mem && !unic_ctx_lost(e->ctx))
		program_ends(e->a, unic_free(e->ctx, e->mem));
	if (e->cq)
		program_ends(e->a, unic_destroy_cq(e->cq));
	if (e->rcq)
		program_ends(e->a, unic_destroy_cq(e->rcq));
	if (e->pd)
		program_ends(e->a, unic_free_pd(e->pd));
	unic_close(e->ctx);
	memset(e, 0, sizeof(*e));
}

#define RESIZES 12u /* one of so many turns has one */

void end_resize(struct end *e)
{
	unsigned int entries;
	struct unic_attr attr;
	int err;

	if (program_below(e->a, RESIZES))
		return;
	entries = 32u << program_below(e->a, 4); /* all requests fit */
	unic_query(e->ctx, &attr);
	err = unic_resize_cq(e->cq, entries);
	if (e->a->kept || !(attr.features & UNIC_FEAT_CQ_RESIZE)) {
		program_must(e->a, err != -EOPNOTSUPP, "unic_resize_cq");
		return;
	}
	program_may(e->a, err, "unic_resize_cq");
	sim_log("%s: room for %u completions: %d", process_name(&e->a->p),
		entries, err);
	if (!err && unic_cq_entries(e->cq) != entries)
		sim_fail("program", "%s: a queue of %u, not %u completions",
			 process_name(&e->a->p), unic_cq_entries(e->cq),
			 entries);
}

static int post_receives(struct end *e)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < MESSAGES && !err; i++)
		err = end_receive(e, i);
	return err;
}

int end_queue(struct end *e)
{
	struct unic_qp_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->rcq ? e->rcq : e->cq,
		.sq_slots = 16,
		.rq_slots = 2 * MESSAGES,
		.rq_class = MESSAGE,
		.type = UNIC_QPT_RC,
		.cut = e->a->cut,
	};
	int err = unic_create_qp(e->pd, &attr, &e->qp);

	program_may(e->a, err, "unic_create_qp");
	if (err)
		e->qp = NULL;
	e->open = 0;
	return err ? err : post_receives(e);
}

void end_unqueue(struct end *e)
{
	if (e->qp)
		program_ends(e->a, unic_destroy_qp(e->qp));
	e->qp = NULL;
	e->open = 0;
}

int end_receive(struct end *e, uint32_t i)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .wr_id = END_WR + i % MESSAGES,
				   .num_sge = 1,
				   .sg = &sg };
	int n;

	if (e->gone)
		return 0;
	program_must(e->a,
		     unic_sg_of(e->mr, end_place(e, false, i), MESSAGE, &sg),
		     "unic_sg_of");
	n = unic_post_recv(e->qp, &wr, 1);
	if (n != 1)
		sim_fail("program", "%s: unic_post_recv answers %d",
			 process_name(&e->a->p), n);
	e->open++;
	return 0;
}

int end_send(struct end *e, uint32_t i, uint32_t bytes)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .wr_id = END_WR + MESSAGES + i % MESSAGES,
				   .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg };
	int n;

	program_must(e->a, unic_sg_of(e->mr, end_place(e, true, i), bytes, &sg),
		     "unic_sg_of");
	n = unic_post_send(e->qp, &wr, 1);
	if (n != 1)
		sim_fail("program", "%s: unic_post_send answers %d",
			 process_name(&e->a->p), n);
	e->open++;
	return 0;
}

int end_send_tagged(struct end *e, uint32_t i, uint32_t bytes, uint32_t index,
		    uint64_t key)
{
	struct unic_sg sg[2];
	struct unic_send_wr wr = { .wr_id = END_WR + MESSAGES + i % MESSAGES,
				   .opcode = UNIC_WR_TOKEN,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 2,
				   .remote = key,
				   .rkey = index,
				   .ctrl_len = bytes,
				   .sg = sg };
	int n;

	program_must(e->a,
		     unic_sg_of(e->mr, end_place(e, true, i), bytes, &sg[0]),
		     "unic_sg_of");
	program_must(e->a,
		     unic_sg_of(e->mr, e->mem + TOKEN_AT, TOKEN_BYTES, &sg[1]),
		     "unic_sg_of");
	n = unic_post_send(e->qp, &wr, 1);
	if (n != 1)
		sim_fail("program", "%s: unic_post_send answers %d",
			 process_name(&e->a->p), n);
	e->open++;
	return 0;
}

int end_renew(struct end *e)
{
	int err;

	if (!e->gone || e->open)
		return 0;
	sim_log("%s registers its memory again", process_name(&e->a->p));
	if (e->mr)
		program_ends(e->a, unic_dereg_mr(e->mr));
	e->mr = NULL;
	err = register_mem(e);
	if (err) {
		e->gone = true;
		return err;
	}
	return e->qp ? post_receives(e) : 0;
}

/* Each request that was open completes once. */
static void complete_all(struct end *e, struct unic_cq *cq)
{
	struct unic_wc wc;
	int n;

	while (cq && (n = unic_poll_cq(cq, 1, &wc)) > 0)
		if (wc.qp == e->qp && wc.wr_id >= END_WR)
			e->open--;
}

/* The driver has @n objects of @type of this context. */
static void driver_must_have(struct end *e, uint32_t type, uint32_t n)
{
	struct unic_object o[64];
	int all = unic_list_objects(e->ctx, o, 64), i;

	for (i = 0; i < all && i < 64; i++)
		n -= o[i].type == type;
	if (all >= 0 && n)
		sim_fail("left",
			 "%s: after a reset the driver has %d more objects of "
			 "type %u",
			 process_name(&e->a->p), -(int)n, type);
}

static void must_be_as_before(struct end *e, uint32_t stag)
{
	complete_all(e, e->cq);
	complete_all(e, e->rcq);
	if (e->qp && e->open)
		sim_fail("once", "%s: %d requests do not complete by a reset",
			 process_name(&e->a->p), (int)e->open);
	end_unqueue(e);
	driver_must_have(e, UNIC_CTL_O_QP, 0);
	driver_must_have(e, UNIC_CTL_O_CQ, e->rcq ? 2 : 1);
	driver_must_have(e, UNIC_CTL_O_PD, 1);
	if (!e->mr || unic_mr_life(e->mr) == UNIC_MR_GONE)
		e->gone = true;
	else if (e->mr->stag != stag)
		sim_fail("program", "%s: STag %x is %x after a reset",
			 process_name(&e->a->p), stag, e->mr->stag);
}

bool end_recover(struct end *e, int (*recover)(void *of, int ms), void *of)
{
	uint32_t stag = e->mr ? e->mr->stag : 0;
	int err;

	if (!e->a->kept || e->a->stop)
		return false;
	do {
		err = recover(of, 50);
	} while (err == -ETIME && !e->a->stop);
	sim_log("%s recovers: %d", process_name(&e->a->p), err);
	program_may(e->a, err == -ENOTCONN ? 0 : err, "to recover");
	if (!err)
		must_be_as_before(e, stag);
	return !err;
}

int end_recover_ctx(void *ctx, int ms)
{
	return unic_recover(ctx, ms);
}
