/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * copy_client.c - the client end of a transfer: with RDMA, the client moves the data;
 * with RPC, the end that has the file sends it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "copy_client.h"
#include "error.h"

#define REFUSALS 1000 /* of one block */
#define MEND_NS	 20000000000ull
#define MENDS	 100 /* reconnections without a block moved */

struct client {
	struct copy_peer *p;
	const struct copy_job *job;
	struct copy_file file;
	void *buf;
	uint64_t seq;
	uint32_t len; /* of the current block */
	uint32_t ticket;
	bool loaded; /* put: buf holds the block */
	bool again;  /* an earlier connection broke */
	int mends;   /* reconnections since a block was moved */
	struct progress progress;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static struct copy_msg build_msg(const struct client *c, enum copy_type type)
{
	return (struct copy_msg){
		.type = unic_to_le32(type),
		.seq = unic_to_le64(c->seq),
		.len = unic_to_le32(c->len),
	};
}

/* ------------------------------------------------------------------- RDMA */

/* Request address and key of block seq from the server, also after an eviction. */
static int request_region(void *arg, uint64_t *remote, uint32_t *rkey)
{
	struct client *c = arg;
	struct copy_msg msg = build_msg(c, COPY_ASK);
	struct copy_got got;
	int err = copy_send(c->p, &msg);

	if (!err)
		err = copy_expect(c->p, COPY_REGION, c->seq, &msg, &got);
	if (err)
		return err;
	*remote = unic_from_le64(msg.iova);
	*rkey = unic_from_le32(msg.rkey);
	return 0;
}

static int rdma_block(struct client *c)
{
	struct unic_bm_xfer x = {
		.qp = c->p->qp,
		.cq = c->p->send_cq,
		.opcode = c->job->what == COPY_PUT ? UNIC_WR_WRITE
						   : UNIC_WR_READ,
		.local = c->buf,
		.len = c->len,
		.window = 4,
		.timeout_ms = c->p->timeout_ms,
		.refresh = request_region,
		.arg = c,
	};
	struct copy_msg msg;
	struct copy_got got;
	int err = request_region(c, &x.remote, &x.rkey);

	if (!err)
		err = unic_bm_transfer(c->p->bm, &x);
	if (err || c->job->what == COPY_GET)
		return err;
	msg = build_msg(c, COPY_DONE);
	err = copy_send(c->p, &msg);
	return err ? err : copy_expect(c->p, COPY_DONE, c->seq, &msg, &got);
}

/* -------------------------------------------------------------------- RPC */

static int count_refusal(struct client *c, int *tries, unsigned int reason)
{
	unic_bm_count(c->p->bm, retries_remote, 1);
	if (++*tries < REFUSALS)
		return 0;
	return unic_fail(-EIO, "block %llu was refused %d times: %s",
			 (unsigned long long)c->seq, *tries,
			 unic_token_end_str(reason));
}

/* Request a token for the block from the server, and send the block there. */
static int rpc_put(struct client *c)
{
	struct copy_msg msg;
	struct copy_got got;
	int tries = 0;
	int err;

	for (;;) {
		msg = build_msg(c, COPY_ASK);
		err = copy_send(c->p, &msg);
		if (!err)
			err = copy_expect(c->p, COPY_TOKEN, c->seq, &msg, &got);
		if (!err) {
			uint32_t index = unic_from_le32(msg.index);
			uint64_t key = unic_from_le64(msg.key);

			msg = build_msg(c, COPY_DATA);
			err = copy_send_tagged(c->p, &msg, index, key, c->buf,
					       c->len);
		}
		if (!err)
			err = copy_expect(c->p, COPY_DONE, c->seq, &msg, &got);
		if (err || !unic_from_le32(msg.status))
			return err;
		err = count_refusal(c, &tries, unic_from_le32(msg.index));
		if (err)
			return err;
	}
}

/* Request the block with a token of this end. 0; 1: the answer has no payload. */
static int rpc_request(struct client *c, const struct unic_bm_hold *hold,
		       unsigned int *reason)
{
	struct unic_pay_attr attr = {
		.mr = hold->mr,
		.addr = c->buf,
		.length = c->len,
		.ttl_us = copy_patience_ms(c->p) * 1000u,
	};
	struct unic_pay_token token;
	struct copy_msg msg = build_msg(c, COPY_ASK);
	struct copy_got got;
	int err = unic_alloc_token(c->p->pd, &attr, &token);

	if (err)
		return err == -EOWNERDEAD || err == -ENOENT ? 1 : err;
	msg.index = unic_to_le32(token.index);
	msg.key = unic_to_le64(token.key);
	err = copy_send(c->p, &msg);
	if (!err)
		err = copy_expect(c->p, COPY_DATA, c->seq, &msg, &got);
	if (err)
		return err;
	if (got.tagged && got.payload == c->len)
		return 0;
	unic_cancel_token(c->p->ctx, &token, NULL, NULL);
	*reason = got.reason;
	return 1;
}

static int rpc_get(struct client *c)
{
	uint32_t us = unic_pace_expect(unic_bm_pace(c->p->bm), c->len);
	struct unic_bm_hold hold;
	unsigned int reason = 0;
	int tries = 0;
	int err;

	for (;;) {
		err = unic_bm_hold(c->p->bm, c->buf, c->len, us, false, &hold);
		if (err)
			return err;
		err = rpc_request(c, &hold, &reason);
		unic_bm_drop(c->p->bm, &hold);
		if (err <= 0)
			return err;
		err = count_refusal(c, &tries, reason);
		if (err)
			return err;
	}
}

/* ---------------------------------------------------------------- transfer */

static int move_block(struct client *c)
{
	int err = 0;

	if (c->job->what == COPY_PUT && !c->loaded)
		err = copy_file_get(&c->file, c->buf, c->len);
	c->loaded = !err;
	if (!err && c->job->mode == COPY_RDMA)
		err = rdma_block(c);
	else if (!err)
		err = c->job->what == COPY_PUT ? rpc_put(c) : rpc_get(c);
	if (!err && c->job->what == COPY_GET)
		err = copy_file_put(&c->file, c->buf, c->len);
	return err;
}

static int connect_server(struct client *c);

/* True if a new connection may go on after @err. -ENODEV: the NIC is being reset, which
 * a context with --keep outlives. */
static bool is_recoverable(const struct client *c, int err)
{
	return err == -ENOTCONN || err == -ECONNRESET || err == -EIO ||
	       err == -ETIME || (c->p->keep && err == -ENODEV);
}

/* Connect again. Without --keep, that fails if more than the connection was lost. */
static int reconnect_server(struct client *c)
{
	int err = 0;

	if (c->p->keep)
		err = copy_peer_recover(c->p);
	else
		copy_peer_hangup(c->p);
	return err ? err : connect_server(c);
}

/*
 * The connection broke: the deadline of an eviction cut an operation, or a NIC was
 * reset, or a driver restarted. Connect again, until MEND_NS are over; the transfer
 * goes on at the same block.
 */
static int recover_connection(struct client *c, int err)
{
	uint64_t until = now_ns() + MEND_NS;
	struct timespec nap = { 0, 100000000 };
	char why[200];
	int refused = 0;

	if (!is_recoverable(c, err) || ++c->mends > MENDS)
		return err;
	snprintf(why, sizeof(why), "%s", unic_last_error());
	c->again = true;
	while ((err = reconnect_server(c))) {
		refused += err == -ECONNREFUSED; /* it may recover, too */
		if (refused == 20 || now_ns() > until ||
		    (!c->p->keep && err == -ENOTCONN))
			return err;
		nanosleep(&nap, NULL);
	}
	if (!c->p->quiet)
		printf("unic-copy: connected again at block %llu after: %s\n",
		       (unsigned long long)c->seq, why);
	fflush(stdout);
	return 0;
}

static int move_all(struct client *c)
{
	uint32_t block = c->p->block;
	int err;

	if (c->job->mode != COPY_RDMA && block > COPY_RPC_BLOCK)
		block = COPY_RPC_BLOCK;
	while (c->loaded || c->file.done < c->file.size) {
		uint64_t left = c->file.size - c->file.done;

		if (!c->loaded)
			c->len = left < block ? (uint32_t)left : block;
		err = move_block(c);
		if (err)
			err = recover_connection(c, err);
		else
			c->loaded = false, c->seq++, c->mends = 0;
		if (err)
			return err;
		progress_show(&c->progress, c->file.done);
	}
	return 0;
}

/* Compare the digests of both ends. */
static int compare_digests(struct client *c)
{
	struct copy_msg msg = build_msg(c, COPY_FIN);
	uint8_t mine[COPY_DIGEST];
	char hex[2 * COPY_DIGEST + 1];
	struct copy_got got;
	double s;
	int err;
	int i;

	copy_file_digest(&c->file, mine);
	memcpy(msg.digest, mine, sizeof(mine));
	err = copy_send(c->p, &msg);
	/* the answer may be here, though its question was not acknowledged */
	if (!err || err == -ECONNRESET)
		err = copy_expect(c->p, COPY_FIN, c->seq, &msg, &got);
	if (err)
		return err;
	for (i = 0; i < COPY_DIGEST; i++)
		snprintf(hex + 2 * i, 3, "%02x", mine[i]);
	if (memcmp(mine, msg.digest, sizeof(mine)))
		return unic_fail(-EBADMSG, "SHA-256 differs: ours is %s", hex);
	progress_end(&c->progress);
	s = progress_seconds(&c->progress);
	printf("unic-copy: %s %s %llu bytes in %.3f s, %.1f MiB/s, sha256 %s "
	       "at both ends\n",
	       c->job->what == COPY_PUT ? "put" : "get",
	       c->job->mode == COPY_RDMA ? "rdma" : "rpc",
	       (unsigned long long)c->file.size, s,
	       (double)c->file.size / s / 1048576.0, hex);
	return 0;
}

/* The last question, over as many connections as it takes. */
static int finish_all(struct client *c)
{
	int err;

	do
		err = compare_digests(c);
	while (err && !(err = recover_connection(c, err)));
	return err;
}

static int connect_server(struct client *c)
{
	struct copy_hello hello = {
		.what = (uint8_t)c->job->what,
		.mode = (uint8_t)c->job->mode,
		.again = c->again,
		.ticket = unic_to_le32(c->ticket),
		.size = unic_to_le64(c->file.size),
	};
	struct copy_hello reply = { .what = 0 };
	unsigned int len = sizeof(reply);
	struct unic_conn_param param = { .private_data = &hello,
					 .private_len = sizeof(hello) };
	int err;

	memcpy(hello.name, c->job->name, sizeof(hello.name));
	err = copy_peer_qp(c->p);
	if (!err)
		err = unic_connect(c->p->qp, c->job->ipv4, COPY_SERVICE, &param,
				   c->again ? 2000 : 10000, &reply, &len);
	if (err == -ECONNREFUSED)
		return unic_fail(err,
				 "the peer rejected it: it %s %s, or no "
				 "`unic-copy serve' runs there",
				 c->job->what == COPY_GET ? "has no file"
							  : "cannot write",
				 c->job->name);
	if (!err && len < offsetof(struct copy_hello, name))
		err = copy_fail(-EPROTO, "the server answers something else");
	if (!err && c->job->what == COPY_GET && !c->again)
		err = copy_file_write(&c->file, c->job->path, c->job->name,
				      unic_from_le64(reply.size));
	return err;
}

static int run_job(struct client *c)
{
	int err = 0;

	if (c->job->what == COPY_PUT)
		err = copy_file_read(&c->file, c->job->path);
	if (!err)
		err = connect_server(c);
	progress_begin(&c->progress, c->job->progress, "unic-copy",
		       c->job->what == COPY_PUT ? "put" : "get", c->job->name,
		       c->file.size);
	if (!err)
		err = move_all(c);
	if (!err)
		err = finish_all(c);
	if (!err && c->job->what == COPY_GET)
		err = copy_file_keep(&c->file);
	progress_end(&c->progress);
	return err;
}

int copy_client(struct copy_peer *p, const struct copy_job *job)
{
	struct client c = { .p = p, .job = job, .file = { .fd = -1 } };
	char words[512];
	int err;

	c.buf = unic_bm_get(p->bm, p->block);
	if (!c.buf)
		return -errno;
	while (!c.ticket)
		if (getrandom(&c.ticket, sizeof(c.ticket), 0) < 0)
			return copy_fail(-errno, "no random number");
	err = run_job(&c);
	/* copy_peer_hangup() may set other words */
	snprintf(words, sizeof(words), "%s", unic_last_error());
	copy_file_close(&c.file);
	copy_peer_hangup(p);
	unic_bm_put(p->bm, c.buf, p->block);
	return err ? copy_fail(err, words) : 0;
}
