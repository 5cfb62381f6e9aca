/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_server.h - the server of the kernel-resident page service: one connection.
 *
 * Secret: what of a request is believed, and how long a buffer is a request's. A
 * request keeps its place in the window until it is answered; a WRITE lends the
 * client a token of ours, for so long and no longer. What waits for a buffer or a
 * token waits here, so nothing is refused for lack of one.
 *
 *   READ, LIST   WAIT -> SENDING -> free
 *   WRITE        WAIT -> TOKEN -> GRANTED -> free
 *                          |         +-> CANCEL -> free (late, refused, no link)
 *                          +-> free (no token: tried again)
 *   STAT, CUT    free at once
 *
 * Portable: calls its link, its store and memcpy, allocates nothing. One lock.
 */
#ifndef UNIC_KIO_SERVER_H
#define UNIC_KIO_SERVER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kio_msg.h"

/* Where the files are. */
struct unic_kio_store {
	/**
	 * run() - do @op to the file @name (no NUL in it, and none behind it).
	 * @buf: @len bytes, 1..UNIC_KIO_MAX, that come (READ, LIST) or go (WRITE);
	 * else NULL and 0. @size: of the file afterwards, or entries.
	 * Returns bytes moved, fewer than @len only at the end; or -errno.
	 */
	int (*run)(struct unic_kio_store *s, uint8_t op, const char *name,
		   uint32_t name_bytes, uint64_t offset, void *buf,
		   uint32_t len, uint64_t *size);
};

/* The data of an answer may not be known to have left when the client, which has
 * it, asks for more; one that is ahead by more than that is disconnected. */
#define UNIC_KIO_JOBS (2u * UNIC_KIO_WINDOW)

enum unic_kio_job_state {
	UNIC_KIO_JOB_FREE = 0,
	UNIC_KIO_JOB_WAIT,
	UNIC_KIO_JOB_TOKEN,
	UNIC_KIO_JOB_GRANTED,
	UNIC_KIO_JOB_SENDING,
	UNIC_KIO_JOB_CANCEL,
};

struct unic_kio_job {
	uint8_t state;
	bool mute;  /* nobody waits for its answer any more */
	void *buf;  /* NULL: none */
	int status; /* CANCEL: what to answer */
	uint32_t token;
	uint64_t key;
	uint64_t deadline_ns; /* GRANTED */
	struct unic_kio_msg ask;
	char name[UNIC_KIO_NAME_MAX];
};

struct unic_kio_server;

/* What carries it. Each call but buf_get() is answered later. */
struct unic_kio_server_link {
	/** send() - @msg by itself. False: the link is down. */
	bool (*send)(struct unic_kio_server *s, const struct unic_kio_msg *msg);
	/** data() - @bytes of the buffer of job @at, to the token it asked with,
	 * with @msg as control part; unic_kio_server_sent() answers. */
	bool (*data)(struct unic_kio_server *s, uint32_t at,
		     const struct unic_kio_msg *msg, uint32_t bytes);
	/** token() - for the buffer of job @at, ask.len bytes. */
	void (*token)(struct unic_kio_server *s, uint32_t at);
	/** cancel() - of job @at; unic_kio_server_ended() answers. */
	void (*cancel)(struct unic_kio_server *s, uint32_t at);
	/** buf_get() - UNIC_KIO_MAX bytes, or NULL: none is free now. */
	void *(*buf_get)(struct unic_kio_server *s);
	void (*buf_put)(struct unic_kio_server *s, void *buf);
};

struct unic_kio_server {
	const struct unic_kio_server_link *link;
	void *of;		      /* the link's own */
	struct unic_kio_store *store; /* NULL: nothing is exported */
	struct unic_kio_job job[UNIC_KIO_JOBS];
	uint32_t next; /* who is looked at first */
	bool starved;  /* the last token was refused */
};

/** unic_kio_server_init() - no request. */
void unic_kio_server_init(struct unic_kio_server *s,
			  const struct unic_kio_server_link *link,
			  struct unic_kio_store *store);

/**
 * unic_kio_server_message() - @msg, @bytes of it, came: a copy; with @payload bytes
 * in token @token (0: none). Returns false if the peer is not one of ours: end
 * the connection.
 */
bool unic_kio_server_message(struct unic_kio_server *s, const void *msg,
			     uint32_t bytes, uint32_t token, uint32_t payload);

/** unic_kio_server_token() - job @at has a token, or (@ok false) cannot have one
 * now. */
void unic_kio_server_token(struct unic_kio_server *s, uint32_t at, bool ok,
			   uint32_t token, uint64_t key);

/** unic_kio_server_ended() - the token of job @at is no more. */
void unic_kio_server_ended(struct unic_kio_server *s, uint32_t at);

/** unic_kio_server_sent() - the data of job @at has left, or never will. */
void unic_kio_server_sent(struct unic_kio_server *s, uint32_t at);

/** unic_kio_server_down() - the connection is over, and what was posted on it is
 * done. @lost: the NIC was reset, no token() or cancel() will be answered. */
void unic_kio_server_down(struct unic_kio_server *s, bool lost);

/** unic_kio_server_idle() - nothing is left of any request. */
bool unic_kio_server_idle(const struct unic_kio_server *s);

/** unic_kio_server_poll() - serve one that waits, if it can be, and give up those
 * whose data did not come. Returns when to call again; @now_ns: there is more to
 * do. */
uint64_t unic_kio_server_poll(struct unic_kio_server *s, uint64_t now_ns);

#endif /* UNIC_KIO_SERVER_H */
