/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * copy_peer.h - one end of a file transfer: a context with buffer manager, a
 * connection, and small messages over it.
 *
 * Flow control: a side sends a message only in answer to one, and each message has the
 * number of receive buffers that its sender has (the NIC evicts their regions without a
 * notice, and the buffer manager registers them again). To a peer without receive
 * buffers, no message is sent for a grace period, in which it registers some.
 */
#ifndef UNIC_COPY_PEER_H
#define UNIC_COPY_PEER_H

#include "bufman.h"
#include "copy_file.h"

#define COPY_SERVICE	0x756e69632d637079ull /* "unic-cpy" */
#define COPY_BLOCK	(256u * 1024u) /* at most one chunk of the buffer manager */
#define COPY_RPC_BLOCK	(64u * 1024u)
#define COPY_TIMEOUT_MS 30000 /* of a message */

enum copy_what {
	COPY_PUT = 1,
	COPY_GET = 2,
};
enum copy_mode {
	COPY_RDMA = 1,
	COPY_RPC = 2,
};

/* Private data of the connection request, and (size only) of its answer. */
struct copy_hello {
	uint8_t what;  /* enum copy_what */
	uint8_t mode;  /* enum copy_mode */
	uint8_t again; /* goes on with the transfer of @ticket */
	uint8_t rsvd[1];
	unic_le32 ticket; /* of this transfer, not 0 */
	unic_le64 size;
	char name[40]; /* zero-padded; 39 characters at most */
};

enum copy_type {
	COPY_ASK = 1,	 /* client: requests the place of block seq */
	COPY_REGION = 2, /* server: the place is iova, rkey */
	COPY_TOKEN = 3,	 /* server: the place is a token (index, key) */
	COPY_DATA = 4,	 /* control part of a tagged message with block seq */
	COPY_DONE = 5,	 /* client: block seq is moved; server: confirmed */
	COPY_FIN = 6,	 /* both: all blocks are moved; digest */
	COPY_ERROR = 7,	 /* server: status */
};

/* Small enough to be sent inline, and as control part of a tagged message. */
struct copy_msg {
	unic_le32 type;
	unic_le32 status; /* 0, or errno */
	unic_le64 seq;
	unic_le64 iova;
	unic_le64 key;
	unic_le32 rkey;
	unic_le32 index;
	unic_le32 len;
	unic_le32 credits; /* receive buffers of the sender */
	unic_le32 rsvd[2];
	uint8_t digest[COPY_DIGEST];
};
_Static_assert(sizeof(struct copy_msg) <= UNIC_SQ_INLINE_MAX, "a message is "
							      "sent inline");
_Static_assert(sizeof(struct copy_hello) <= UNIC_PRIVATE_MAX, "the request "
							      "fits the "
							      "private data");

/* The payload of a received message. */
struct copy_got {
	bool tagged;
	uint32_t payload;    /* bytes placed */
	unsigned int reason; /* payload 0: enum unic_token_end */
};

struct copy_peer {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_bm *bm;
	struct unic_cq *send_cq, *recv_cq;
	struct unic_qp *qp;
	struct unic_bm_recv *recv;
	uint8_t *ctrl;	      /* a page: the control part of tagged messages */
	unsigned int credits; /* receives in live regions, atomic */
	unsigned int room;    /* messages that the peer can receive */
	int event_pipe[2];    /* events of the context, for a server */
	unsigned int residency; /* enum unic_residency of all its buffers */
	uint32_t block; /* bytes that one buffer has, COPY_BLOCK at most */
	bool quiet, keep;
	/* Longest time in which nothing comes; 0: COPY_TIMEOUT_MS for a message,
	 * that of unic_bm_transfer() for a block. The caller's to set. */
	unsigned int timeout_ms;
	/* called repeatedly while copy_recv() waits: true ends the wait, -EINTR */
	bool (*disturbed)(void *arg);
	void *disturbed_arg;
};

/** copy_peer_open() - attach @p to the driver; buffers have @residency. @keep:
 * copy_peer_recover() is possible. 0 or -errno (unic_last_error()). */
int copy_peer_open(struct copy_peer *p, const char *socket,
		   unsigned int residency, bool quiet, bool keep);
/** copy_peer_recover() - after a failure: recover @p if the NIC was reset or the driver
 * restarted. The queue pair is destroyed in any case. 0 or -errno. */
int copy_peer_recover(struct copy_peer *p);
/** copy_peer_close() - disconnect, and free all that copy_peer_open() made, also after
 * its failure. */
void copy_peer_close(struct copy_peer *p);
/** copy_peer_qp() - create a queue pair with receives posted, to be connected. */
int copy_peer_qp(struct copy_peer *p);
/** copy_peer_hangup() - disconnect and destroy the queue pair. */
void copy_peer_hangup(struct copy_peer *p);

/** copy_patience_ms() - longest wait of @p for a message. */
static inline unsigned int copy_patience_ms(const struct copy_peer *p)
{
	return p->timeout_ms ? p->timeout_ms : COPY_TIMEOUT_MS;
}

/** copy_send() - send one message, and wait until it is acknowledged. */
int copy_send(struct copy_peer *p, const struct copy_msg *msg);
/** copy_send_tagged() - send a message with a payload of @len bytes at @data for the
 * token @index, @key; repeat it as long as evictions cut it. */
int copy_send_tagged(struct copy_peer *p, const struct copy_msg *msg,
		     uint32_t index, uint64_t key, void *data, uint32_t len);
/** copy_recv() - wait for the next message. -ETIME, -ECONNRESET; -EINTR:
 * disturbed(). */
int copy_recv(struct copy_peer *p, struct copy_msg *msg, struct copy_got *got);
/** copy_expect() - copy_recv(); the message must be a @type of block @seq. */
int copy_expect(struct copy_peer *p, enum copy_type type, uint64_t seq,
		struct copy_msg *msg, struct copy_got *got);

/** copy_fail() - set unic_last_error() to @text for an error of the tool; returns
 * @err. */
int copy_fail(int err, const char *text);

#endif /* UNIC_COPY_PEER_H */
