/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * end.h - one end of a transfer between unic and a foreign peer: what the commands of end.c
 * need of a device. Two implementations: end_verbs.c over libibverbs, end_unic.c over
 * libunic.
 */
#ifndef INTEROP_END_H
#define INTEROP_END_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define END_QKEY 0x11223344u
#define END_CQES 256u
#define END_WRS	 64u

#define OK(x)                                                                 \
	do {                                                                  \
		if (!(x)) {                                                   \
			printf("failed: %s:%d: %s: %s\n", __FILE__, __LINE__, \
			       #x, end_last_error());                         \
			exit(1);                                              \
		}                                                             \
	} while (0)

enum end_type {
	END_RC,
	END_UC,
	END_UD
};

enum end_op {
	END_SEND,
	END_SEND_IMM,
	END_SEND_INV,
	END_WRITE,
	END_WRITE_IMM,
	END_READ,
	END_CAS,
	END_FAA,
	END_OPS,
};

/* The memory of the end, registered as one region. */
struct end_arena {
	uint8_t *mem;
	size_t bytes;
	uint64_t remote; /* how a peer names its first byte */
	uint32_t rkey;
	int atomics; /* the device has them */
};

struct end_conn {
	uint32_t mtu; /* bytes */
	uint32_t qpn, ipv4, rq_psn, sq_psn;
	uint32_t rnr_timer, timeout, retry, rnr_retry, reads;
};

struct end_wr {
	uint64_t id;
	enum end_op op;
	uint64_t off; /* in the arena */
	uint32_t len;
	uint64_t remote;
	uint32_t
		rkey; /* of the peer; END_SEND_INV: to invalidate; UD: its QP number */
	uint32_t imm;
	uint64_t operand, swap; /* atomics: compared or added; put there */
	uint32_t ipv4;		/* UD */
};

struct end_wc {
	uint64_t id;
	const char *status; /* "ok", or which error */
	uint32_t bytes, imm, src_qp;
	int with_imm, with_inv, grh;
};

const char *end_last_error(void);
/* Attach to @where, a device of verbs or a socket of unicd, with an arena of @bytes. */
void end_open(const char *where, size_t bytes, struct end_arena *out);
/* A queue pair in state INIT, the only one; returns its number. */
uint32_t end_create_qp(enum end_type type);
void end_connect(const struct end_conn *c);
void end_destroy_qp(void);
/* 0 or -errno. */
int end_post_send(const struct end_wr *wr);
int end_post_recv(uint64_t id, uint64_t off, uint32_t len);
/* Post a bind of the window to [@off, @off + @len) of the arena; its rkey. */
uint32_t end_bind_window(uint64_t id, uint64_t off, uint32_t len);
void end_free_window(void);
/* Wait for @ms at most; returns 1, or 0 if there is no completion. */
int end_poll(int ms, struct end_wc *out);

#endif /* INTEROP_END_H */
