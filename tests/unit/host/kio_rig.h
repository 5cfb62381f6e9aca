/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_rig.h - the set-up of the tests of the kernel-resident page service: its
 * client on NIC @ra and its server on NIC @rb, both whole cores, with all of
 * their memory named by bus addresses; and a fake store of files. Host only.
 */
#ifndef KIO_RIG_H
#define KIO_RIG_H

#include "kio_client.h"
#include "rig_kernel.h"

/* The first of the processes that register as much as they can. */
#define OTHER 1u

/*
 * Offset of the client's pages; bytes of an I/O at most, and of each file; ns of
 * a ms; tasks that the store has room for.
 */
#define PAGES	 AT(40) /* the client's pages */
#define PAYLOAD	 16384u /* bytes of an I/O, at most */
#define FILE_END 1000000u
#define MS	 1000000ull
#define PLACES	 3u

/* A message that arrived: its completion, its head, and its bytes. */
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

/* The status of each I/O at its end. */
extern int status[40];

/*
 * Bytes of each I/O, I/Os that ended, I/Os under way at most; bit per I/O whose
 * token the client wants made, and cancelled.
 */
extern uint32_t got[40], finished, most, tokens_wanted, cancels_wanted;

/*
 * Work requests of each end in this step; bit per job whose token the server
 * wants made, and cancelled; bit per buffer in use; tasks that the store ran.
 */
extern uint32_t posts[2], server_wants, server_cancels, buffers_used, runs;

/* The server of the service. */
extern struct unic_kio_server server;

/* The contents of the file that is written. */
extern uint8_t written[1 << 20];

/*
 * Is the one derived region of the client's NIC, which joins scattered pages, in
 * use?
 */
extern bool form_taken;

/* The server drops each message that arrives. */
extern bool deaf;

/* The client takes no messages and is not polled. */
extern bool still;

/* Messages are random; each end has at most four sends under way. */
extern bool rough;

/* I/Os go by RDMA, into pages that are said to be zeroed. */
extern bool rdma;

/* Regions of I/Os that are refused, of the next ones. */
extern uint32_t no_regions;

/* I/Os of so many bytes wait: the window of their user is full. */
extern uint32_t later_len;
extern bool only_tokens; /* for I/Os that are started from now on */

/* The server is one that knows no RDMA: the byte that asks for it is reserved. */
extern bool old_server;

/* The region of each place of the client's window. */
extern struct rig_mr lent[UNIC_KIO_WINDOW];

/* Bytes that a WRITE does not send. */
extern uint32_t short_by;

/* A request failed, and so did its queue pair. */
extern bool broken;

/* Added to the length in each message to the client. */
extern uint32_t claims;

/* A file, and the file of the next I/Os. */
extern struct unic_kio_file file, *file_of_it;

/* Byte @at of the file @object. */
uint8_t content(uint32_t object, uint64_t at);

/* Tasks that the store was given, and that it has finished. */
extern uint32_t begun, taken;

/* The store runs no tasks. */
extern bool slow;

/* The id of the store, new after each start. */
extern uint64_t boot;

/* Ends of connections that were reported to the store. */
extern uint32_t ends;

/* The store refuses the end of a connection. */
extern bool no_room;

/* @len bytes at @iova under @lkey. */
struct unic_sge sge(uint32_t lkey, uint64_t iova, uint32_t len);

/* Handles the events of the client's NIC: notices are acknowledged. */
void events(void);

/* The client's NIC takes region @mr back. Its notice is not answered. */
void take_back(const struct rig_mr *mr);

/* Runs the commands for the tokens that both ends want made and cancelled. */
void commands(void);

/*
 * Takes the next message of @qp, and posts its receive again; false: there is
 * none.
 */
bool message(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
	     struct message *m);

/* Gives message @m to the server, which must accept its form. */
void serve(const struct message *m);

/* Lets a tenth of a ms pass: runs both NICs, both ends and the store. */
void step(void);

/* Set-up of a test: both NICs, connected, and both ends, without I/Os. */
int up(void **state);

/* As up(); I/Os go by RDMA. */
int up_rdma(void **state);

/* The client's done(). */
void done(struct unic_kio *i, int why, uint32_t bytes);

/*
 * Begins I/O @i: @op of file @name, @len bytes from @offset on, in @n pieces.
 */
void start(uint32_t i, uint8_t op, uint32_t name, uint64_t offset, uint32_t len,
	   uint32_t n);

/*
 * Begins I/O @i: reads @len bytes from @offset on of file @name, in @n pieces,
 * the last of which is the longest.
 */
void read_at(uint32_t i, uint32_t name, uint64_t offset, uint32_t len,
	     uint32_t n);

/* Fills the pages of I/O @i with what it is to write. */
void fill(uint32_t i);

/* The file must have what I/O @i wrote. */
void expect_written(uint32_t i);

/* The pages of I/O @i must have the bytes of the file. */
void expect_content(uint32_t i);

/* Steps until @n I/Os have ended; fails if they do not. */
void run(uint32_t n);

/* Neither end nor NIC may hold anything. */
void nothing_left(void);

#endif /* KIO_RIG_H */
