/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * program.h - what the simulated processes do with libunic, and what they check: that
 * bytes are right, that a message arrives once and in its turn, and that each call
 * answers what unic.h says.
 *
 * Programs use no address of another and no simulated state: servers and clients find
 * each other through unic_connect().
 */
#ifndef LIBSIM_PROGRAM_H
#define LIBSIM_PROGRAM_H

#include "process.h"

struct unic_ctx;
struct unic_pd;
struct unic_cq;
struct unic_qp;
struct unic_mr;
struct unic_listener;

enum role {
	ROLE_SERVER, /* answers clients (server.c) */
	ROLE_CLIENT, /* sends it messages, and reads and writes (client.c) */
	ROLE_MOVER,  /* moves bytes by the buffer manager (mover.c) */
	ROLE_HOG,    /* registers more than its share (hog.c) */
	ROLES,
};

/* A process and its part. */
struct actor {
	struct process p; /* first */
	enum role role;
	uint32_t peer; /* node of the server of a client */
	uint32_t goal; /* rounds; servers: none */
	uint32_t done;
	uint8_t cut; /* enum unic_qp_cut */
	bool kept;   /* its objects outlive resets (unic_recover()) */
	bool plain;  /* memory of no class of its own: receives in a region
		      * that goes wait for a message */
	bool calm;   /* nothing fails in this run, but that entries are taken */
	bool stop;   /* it is to leave */
	bool left;
};

/** program_server() ... - first threads; user of each process is its actor. */
void program_server(struct process *p);
void program_client(struct process *p);
void program_mover(struct process *p);
void program_hog(struct process *p);

/* ------------------------------------------------------- what they share */

#define SERVICE	     0x6c696273u
#define MESSAGE	     512u
#define MESSAGES     8u /* places for receives, and for sends */
#define WINDOW_PAGES 8u
#define END_WR	     0x1000u /* wr_id of the receives; sends follow */
#define TOKEN_AT     ((2u + WINDOW_PAGES) * 4096u)
#define TOKEN_BYTES  1024u /* of payload that a token takes */
#define MEM_BYTES    (TOKEN_AT + 4096u)
#define WINDOW_AT    (2u * 4096u)
#define WINDOW_BYTES (WINDOW_PAGES * 4096u)

/* A connection, and the memory for it: receives, sends, a window for the peer, payload of
 * tokens. */
struct end {
	struct actor *a;
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_cq *rcq; /* of receives; NULL: `cq` is */
	struct unic_qp *qp;
	struct unic_listener *listener;
	uint8_t *mem;
	struct unic_mr *mr;
	uint32_t open; /* requests that name `mr` and have not completed */
	bool unrung; /* a wait for completions has just ended without a ring */
	bool failed; /* a completion queue has: it is to be closed */
	bool gone;   /* `mr` is: nothing is posted until it was renewed */
};

/* The beginning of each message; the rest is a pattern of it. */
struct message_head {
	uint64_t remote; /* of the window, from the server */
	uint32_t rkey;
	uint32_t session, number;
	uint32_t check;	 /* pattern that the window has; 0: not asked */
	uint32_t bad;	 /* answer: it had not */
	uint32_t tagged; /* it has payload for the token */
	uint32_t token;	 /* answer: index + 1 of a token; 0: none */
	uint64_t key;
	uint32_t bytes; /* of the message */
};

/** program_must() - fail the run if @err is not 0. */
void program_must(struct actor *a, int err, const char *what);
/** program_may() - fail the run if @err is none of a call that met a fault: lost
 * contexts, full tables, deadlines. */
void program_may(struct actor *a, int err, const char *what);
/** program_broken() - a connection broke: fail the run if nothing can break it. */
void program_broken(struct actor *a, const char *what, uint32_t status);
#define PATIENCE_NS (1000 * MS)
/** program_silent() - nothing was heard since @since_ns for so long that the peer may be
 * gone: the NIC of one that was reset says nothing of itself. Fails if nothing can be. */
bool program_silent(struct actor *a, uint64_t since_ns);
/** program_sleep() - sleep for @ns. */
void program_sleep(struct actor *a, uint64_t ns);
uint32_t program_below(struct actor *a, uint32_t n);
/** program_wait() - wait for an event of @e or a completion of @cq (or NULL), for @ms at
 * most. program_found() - fail if there are completions that nobody rang for. */
void program_wait(struct end *e, struct unic_cq *cq, int ms);
void program_found(struct end *e, int completions);
/** program_fill(), program_match() - the bytes of pattern @number. */
void program_fill(uint8_t *at, uint32_t bytes, uint32_t number);
bool program_match(const uint8_t *at, uint32_t bytes, uint32_t number);

/** program_ends() - repeat @call, which ends an object, while its error says that the NIC
 * or the driver cannot now. */
#define program_ends(a, call)                            \
	do {                                             \
		int err_ = call, tries_ = 0;             \
		while (program_later(a, err_, ++tries_)) \
			err_ = call;                     \
		program_must(a, err_, #call);            \
	} while (0)
bool program_later(struct actor *a, int err, int tries);

/** end_open() - attach, and make what a connection needs but its queue pair. Returns 0
 * or the error, with nothing made. */
int end_open(struct end *e, struct actor *a);
/** end_close() - end all of @e that is there, in the order that unic.h asks for. */
void end_close(struct end *e);
/** end_resize() - now and then, give the completion queue another ring: what is in the old one, and
 * who waits for it, is as before. */
void end_resize(struct end *e);
/** end_queue() - make a queue pair and post its receives. */
int end_queue(struct end *e);
/** end_unqueue() - end the queue pair, if there is one. */
void end_unqueue(struct end *e);
/** end_receive() - post the receive of place @i. */
int end_receive(struct end *e, uint32_t i);
/** end_send() - send the message in place @i. */
int end_send(struct end *e, uint32_t i, uint32_t bytes);
/** end_send_tagged() - the same, with payload for the token with @index and @key. */
int end_send_tagged(struct end *e, uint32_t i, uint32_t bytes, uint32_t index,
		    uint64_t key);
/** end_renew() - register the memory again when no request names it any more, and post
 * the receives. */
int end_renew(struct end *e);
/** end_place() - place @i of receives or sends. */
uint8_t *end_place(const struct end *e, bool send, uint32_t i);
/** end_recover() - after a loss, if the objects of @e are kept: recover by @recover(@of),
 * and check that all is as unic_recover() promises. False: @e is to be closed. */
bool end_recover(struct end *e, int (*recover)(void *of, int ms), void *of);
/** end_recover_ctx() - unic_recover(), for that. */
int end_recover_ctx(void *ctx, int ms);

#endif /* LIBSIM_PROGRAM_H */
