/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * copy_peer.c - the connection of a transfer and its messages.
 *
 * Secret: which end may send, and the repetition of messages that an eviction cut.
 */
#define _GNU_SOURCE
#include "copy_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "number.h"

#define PAGE	   4096u
#define RECEIVES   16u
#define BUF	   128u /* bytes of each */
#define RETRIES	   1000
#define SLICE_MS   250 /* of a wait for a message */
#define PROBE	   4u  /* slices in which nothing came */
#define RECOVER_MS 20000

int copy_fail(int err, const char *text)
{
	return unic_fail(err, "%s", text);
}

static void on_note(void *arg, const char *text)
{
	struct copy_peer *p = arg;

	if (!p->quiet) {
		printf("unic-copy: %s\n", text);
		fflush(stdout);
	}
}

static void forward_event(void *arg, const struct unic_event *ev)
{
	struct copy_peer *p = arg;

	/* The pipe is full, because no session reads: the request times out. */
	if (write(p->event_pipe[1], ev, sizeof(*ev)) < 0)
		on_note(arg, "an event was dropped");
}

/* ----------------------------------------------------------------- buffers */

/* Store the credits, which the next message has. */
static void on_credit(void *arg, unsigned int credits)
{
	struct copy_peer *p = arg;
	char text[64];

	__atomic_store_n(&p->credits, credits, __ATOMIC_RELAXED);
	if (credits == RECEIVES)
		return;
	snprintf(text, sizeof(text), "%u of %u receive buffers are left",
		 credits, RECEIVES);
	on_note(p, text);
}

static int bufs_open(struct copy_peer *p)
{
	struct unic_bm_recv_attr attr = {
		.count = RECEIVES,
		.bytes = BUF,
		.residency = p->residency,
		.on_credit = on_credit,
		.arg = p,
	};

	p->ctrl = unic_bm_get(p->bm, PAGE);
	return p->ctrl ? unic_bm_recv_open(p->bm, &attr, &p->recv) : -errno;
}

/* -------------------------------------------------------------- open, close */

/* The size of a buffer: a quarter of the NIC's table at most. */
static uint32_t block_of(const struct unic_ctx *ctx)
{
	struct unic_attr attr;

	unic_query(ctx, &attr);
	return attr.tlb_entries / 4 * PAGE < COPY_BLOCK
		       ? attr.tlb_entries / 4 * PAGE
		       : COPY_BLOCK;
}

int copy_peer_open(struct copy_peer *p, const char *socket,
		   unsigned int residency, bool quiet, bool keep)
{
	struct unic_bm_attr attr = {
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_REMOTE_WRITE,
		.residency = residency,
		.on_event = forward_event,
		.on_note = on_note,
		.arg = p,
	};
	int err;

	memset(p, 0, sizeof(*p));
	p->quiet = quiet;
	p->keep = keep;
	p->residency = residency;
	if (pipe2(p->event_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return copy_fail(-errno, "no pipe");
	err = keep ? unic_open_kept(socket, &p->ctx)
		   : unic_open(socket, &p->ctx);
	if (!err)
		err = unic_alloc_pd(p->ctx, &p->pd);
	if (!err) {
		p->block = block_of(p->ctx);
		attr.chunk_entries = p->block / PAGE;
	}
	if (!err)
		err = unic_bm_open(p->pd, &attr, &p->bm);
	if (!err)
		err = unic_create_cq(p->pd, 64, &p->send_cq);
	if (!err)
		err = unic_create_cq(p->pd, 64, &p->recv_cq);
	if (!err)
		err = bufs_open(p);
	return err;
}

void copy_peer_close(struct copy_peer *p)
{
	copy_peer_hangup(p);
	unic_bm_recv_close(p->recv);
	if (p->recv_cq)
		unic_destroy_cq(p->recv_cq);
	if (p->send_cq)
		unic_destroy_cq(p->send_cq);
	unic_bm_close(p->bm);
	if (p->pd)
		unic_free_pd(p->pd);
	unic_close(p->ctx);
	close(p->event_pipe[0]);
	close(p->event_pipe[1]);
}

int copy_peer_qp(struct copy_peer *p)
{
	struct unic_qp_attr attr = {
		.send_cq = p->send_cq,
		.recv_cq = p->recv_cq,
		.sq_slots = 32,
		.rq_slots = RECEIVES,
		.rq_class = BUF,
		.cut = UNIC_QP_CUT_REPLAY,
	};
	int err = unic_create_qp(p->pd, &attr, &p->qp);

	p->room = RECEIVES; /* until a message of the peer */
	return err ? err : unic_bm_recv_start(p->recv, p->qp);
}

void copy_peer_hangup(struct copy_peer *p)
{
	struct unic_wc wc[16];
	char text[64];

	if (!p->qp)
		return;
	unic_disconnect(p->qp);
	snprintf(text, sizeof(text), "cut and connected by itself: %u %s",
		 unic_qp_cuts(p->qp),
		 number_word(unic_qp_cuts(p->qp), "time", "times"));
	if (unic_qp_cuts(p->qp))
		on_note(p, text);
	unic_destroy_qp(p->qp);
	p->qp = NULL;
	/* Drop unread completions of the queue pair. */
	while (unic_poll_cq(p->recv_cq, 16, wc) > 0)
		;
	while (unic_poll_cq(p->send_cq, 16, wc) > 0)
		;
}

int copy_peer_recover(struct copy_peer *p)
{
	int err;

	if (!p->keep)
		return copy_fail(-ENOTCONN, "not opened to be kept");
	err = unic_bm_recover(p->bm, RECOVER_MS);
	if (!err)
		copy_peer_hangup(p);
	return err;
}

/* ---------------------------------------------------------------- messages */

/*
 * Check that the peer's NIC has the connection still: a NIC that was reset after its
 * acknowledgement sends nothing. A WRITE of 0 bytes that is not acknowledged ends the
 * queue pair, and with it the receive that copy_recv() waits for.
 */
static void probe_peer(struct copy_peer *p)
{
	struct unic_send_wr wr = { .wr_id = UINT64_MAX,
				   .opcode = UNIC_WR_WRITE };

	unic_post_send(p->qp, &wr, 1);
}

static int wait_wc(struct copy_peer *p, struct unic_cq *cq, struct unic_wc *wc)
{
	unsigned int idle = 0;
	unsigned int left = copy_patience_ms(p) / SLICE_MS;
	int n;
	int err;

	for (;;) {
		n = unic_poll_cq(cq, 1, wc);
		if (n)
			return n < 0 ? n : 0;
		if (p->disturbed && p->disturbed(p->disturbed_arg))
			return copy_fail(-EINTR, "the client came again");
		err = unic_wait_cq(cq, SLICE_MS);
		if (err && err != -ETIME)
			return err;
		if (err && !--left)
			return unic_fail(err, "no message within %u ms",
					 copy_patience_ms(p));
		if (err && cq == p->recv_cq && ++idle % PROBE == 0)
			probe_peer(p);
	}
}

static int fail_wc(const struct unic_wc *wc, const char *what)
{
	return unic_fail(-ECONNRESET, "%s: %s%s%s", what,
			 unic_wc_status_str(wc->status), wc->detail ? ", " : "",
			 wc->detail ? unic_wc_detail_str(wc->detail) : "");
}

/*
 * Fill in the credits of @msg. If the peer has no receive buffer, wait for the grace
 * period, in which it registers some. If the wait was too short, the peer's NIC delays
 * the message (RNR).
 */
static struct copy_msg prepare_msg(struct copy_peer *p,
				   const struct copy_msg *msg)
{
	struct copy_msg out = *msg;
	struct unic_attr facts;

	if (!p->room) {
		unic_query(p->ctx, &facts);
		usleep(facts.grace_us);
		p->room = 1;
	}
	p->room--;
	out.credits =
		unic_to_le32(__atomic_load_n(&p->credits, __ATOMIC_RELAXED));
	return out;
}

/* Post @wr and wait for its completion @wc, with any status. */
static int post_and_wait(struct copy_peer *p, const struct unic_send_wr *wr,
			 struct unic_wc *wc)
{
	int n = unic_post_send(p->qp, wr, 1);

	return n == 1 ? wait_wc(p, p->send_cq, wc) : n;
}

int copy_send(struct copy_peer *p, const struct copy_msg *msg)
{
	struct copy_msg out = prepare_msg(p, msg);
	struct unic_sg sg = { .addr = &out, .len = sizeof(out) };
	struct unic_send_wr wr = {
		.opcode = UNIC_WR_SEND,
		.flags = UNIC_WR_SIGNALED | UNIC_WR_INLINE,
		.num_sge = 1,
		.sg = &sg,
	};
	struct unic_wc wc;
	int err = post_and_wait(p, &wr, &wc);

	if (err)
		return err;
	return wc.status ? fail_wc(&wc, "send") : 0;
}

static void *hold_addr(const struct unic_bm_hold *hold)
{
	return (void *)(uintptr_t)hold->iova;
}

/* Post the tagged message once. 0; 1: an eviction cut it, post it again; -errno. */
static int post_tagged(struct copy_peer *p, uint32_t index, uint64_t key,
		       const struct unic_bm_hold *ctrl,
		       const struct unic_bm_hold *data, uint32_t len)
{
	struct unic_sg sg[2] = {
		{ hold_addr(ctrl), sizeof(struct copy_msg), ctrl->mr->stag },
		{ hold_addr(data), len, data->mr->stag },
	};
	struct unic_send_wr wr = {
		.opcode = UNIC_WR_TOKEN,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 2,
		.remote = key,
		.rkey = index,
		.ctrl_len = sizeof(struct copy_msg),
		.sg = sg,
	};
	struct unic_wc wc;
	int err = post_and_wait(p, &wr, &wc);

	if (err)
		return err;
	if (wc.status == UNIC_WC_EVICTED) {
		unic_bm_count(p->bm, retries_local, 1);
		return 1;
	}
	return wc.status ? fail_wc(&wc, "tagged message") : 0;
}

int copy_send_tagged(struct copy_peer *p, const struct copy_msg *msg,
		     uint32_t index, uint64_t key, void *data, uint32_t len)
{
	struct copy_msg out = prepare_msg(p, msg);
	struct unic_bm_hold ctrl;
	struct unic_bm_hold hold;
	int tries = 0;
	int err;

	memcpy(p->ctrl, &out, sizeof(out));
	do {
		err = unic_bm_hold_whole(p->bm, p->ctrl, sizeof(out), &ctrl);
		if (err)
			return err;
		err = unic_bm_hold_whole(p->bm, data, len, &hold);
		if (!err) {
			err = post_tagged(p, index, key, &ctrl, &hold, len);
			unic_bm_drop(p->bm, &hold);
		}
		unic_bm_drop(p->bm, &ctrl);
	} while (err == 1 && ++tries < RETRIES);
	return err == 1 ? copy_fail(-EIO, "evicted again and again") : err;
}

int copy_recv(struct copy_peer *p, struct copy_msg *msg, struct copy_got *got)
{
	struct unic_wc wc;
	int err;

	for (;;) {
		err = wait_wc(p, p->recv_cq, &wc);
		if (err)
			return err;
		if (wc.status == UNIC_WC_SUCCESS)
			break;
		if (wc.status != UNIC_WC_EVICTED)
			return fail_wc(&wc, "receive");
		err = unic_bm_recv_done(p->recv, wc.wr_id);
		if (err)
			return err;
	}
	if (wc.byte_len != sizeof(*msg))
		return copy_fail(-EPROTO, "the peer sent a message of another "
					  "length");
	memcpy(msg, unic_bm_recv_buf(p->recv, wc.wr_id), sizeof(*msg));
	p->room = unic_from_le32(msg->credits);
	*got = (struct copy_got){ .tagged = wc.opcode == UNIC_WC_RECV_TOKEN };
	if (got->tagged) {
		got->payload = wc.imm;
		got->reason = wc.detail;
	}
	return unic_bm_recv_done(p->recv, wc.wr_id);
}

int copy_expect(struct copy_peer *p, enum copy_type type, uint64_t seq,
		struct copy_msg *msg, struct copy_got *got)
{
	int err = copy_recv(p, msg, got);

	if (err)
		return err;
	if (unic_from_le32(msg->type) == COPY_ERROR)
		return unic_fail(-EREMOTEIO, "the peer says: %s",
				 strerror((int)unic_from_le32(msg->status)));
	if (unic_from_le32(msg->type) != type ||
	    unic_from_le64(msg->seq) != seq)
		return unic_fail(-EPROTO,
				 "the peer sent message %u about block %llu, "
				 "not %u about %llu",
				 unic_from_le32(msg->type),
				 (unsigned long long)unic_from_le64(msg->seq),
				 type, (unsigned long long)seq);
	return 0;
}
