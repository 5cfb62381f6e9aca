/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_rig.h - what the tests of the kernel-resident page service stand on: its
 * client on NIC @ra, its server on NIC @rb, both real, with all of their memory
 * named by bus addresses; and a store of files that the rig plays. Host only.
 */
#ifndef KIO_RIG_H
#define KIO_RIG_H

#include "kio_client.h"
#include "rig_kernel.h"

/* The first of the processes that hoard. */
#define OTHER 1u

/*
 * Where the client's pages are; bytes of an I/O at most, and of each file; ns
 * of a ms; tasks that the store has room for.
 */
#define PAGES	 AT(40) /* the client's */
#define PAYLOAD	 16384u /* of an I/O, at most, here */
#define FILE_END 1000000u
#define MS	 1000000ull
#define PLACES	 3u

/* A message that came: its completion, its head, and its bytes. */
struct message {
	struct unic_cqe cqe;
	struct unic_kio_msg msg;
	uint32_t bytes, payload, token;
	uint8_t text[512];
};

/* The client's NIC, and the server's. */
extern struct rig ra, rb;

/* The physical region of each NIC. */
extern struct rig_mr pa, pb;

/* The queue pair of each NIC. */
extern struct rig_qp qa, qb;

/* The client of the service. */
extern struct unic_kio_client client;

/* The I/Os of the client. */
extern struct unic_kio io[40];

/* What each I/O ended with. */
extern int status[40];

/*
 * Bytes of each I/O, I/Os that ended, I/Os under way at most; tokens that the
 * client wants made and cancelled, a bit each.
 */
extern uint32_t got[40], finished, most, tokens_wanted, cancels_wanted;

/*
 * Work requests of each end in this step; tokens that the server wants made
 * and cancelled, its buffers in use, a bit each; tasks that the store ran.
 */
extern uint32_t posts[2], server_wants, server_cancels, buffers_used, runs;

/* The server of the service. */
extern struct unic_kio_server server;

/* The file that is written. */
extern uint8_t written[1 << 20];

/*
 * Whether the one object of the client's NIC by which scattered pages become
 * one is in use.
 */
extern bool form_taken;

/* The server is not called. */
extern bool deaf;

/* The client's host is not called. */
extern bool still;

/* Peers lie; what each end posts counts until it completes, four at most. */
extern bool rough;

/* Bytes that a WRITE does not send. */
extern uint32_t short_by;

/* Bytes that the answer to a WRITE says too much. */
extern uint32_t claims;

/* A file, and the one that the next I/Os are of. */
extern struct unic_kio_file file, *file_of_it;

/* Byte @at of the file @object. */
uint8_t content(uint32_t object, uint64_t at);

/* Tasks that the store was given, and that it gave back. */
extern uint32_t begun, taken;

/* The store does nothing. */
extern bool slow;

/* The id of the store, new after each start. */
extern uint64_t boot;

/* Connections of whose end the store was told. */
extern uint32_t ends;

/* The store cannot take the end of a connection. */
extern bool no_room;

/* @len bytes at @iova under @lkey. */
struct unic_sge sge(uint32_t lkey, uint64_t iova, uint32_t len);

/* Has the tokens made and cancelled that both ends want. */
void commands(void);

/*
 * Takes the next message that came to @qp, and posts its receive again; false:
 * there is none.
 */
bool message(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
	     struct message *m);

/* The server handles message @m, which it takes for well made. */
void serve(const struct message *m);

/* Lets a tenth of a ms pass: both NICs, both ends and the store run. */
void step(void);

/*
 * Set-up of a test: both NICs, connected, and both ends, with nothing under
 * way.
 */
int up(void **state);

/* What the client calls at the end of an I/O. */
void done(struct unic_kio *i, int why, uint32_t bytes);

/*
 * Begins I/O @i: @op of file @name, @len bytes from @offset on, in @n pieces.
 */
void start(uint32_t i, uint8_t op, uint32_t name, uint64_t offset, uint32_t len,
	   uint32_t n);

/*
 * Begins I/O @i: reads @len bytes from @offset on of file @name, in @n pieces,
 * of which the last takes the rest.
 */
void read_at(uint32_t i, uint32_t name, uint64_t offset, uint32_t len,
	     uint32_t n);

/* The pages of I/O @i have what the file has. */
void expect_content(uint32_t i);

/* Steps until @n I/Os have ended, which they must. */
void run(uint32_t n);

/* Nothing is held by either end or NIC. */
void nothing_left(void);

#endif /* KIO_RIG_H */
