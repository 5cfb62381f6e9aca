/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_server.h - the server of the kernel-resident page service: one connection.
 *
 * Secret: what of a request is believed, and how long a buffer is a request's. A
 * request keeps its place in the window until it is answered; a WRITE lends the
 * client a token of ours, for so long and no longer. What waits for a buffer or a
 * token waits here, so nothing is refused for lack of one.
 *
 *   READ, LIST   WAIT -> STORE -> SENDING -> free
 *   WRITE        WAIT -> TOKEN -> GRANTED -> STORE -> free
 *                 ^        |         +-> CANCEL -> free (late, refused, no link)
 *                 +--------+ (no token)
 *   the others   WAIT -> STORE -> free
 *
 * Files are slow, perhaps, and a connection may end meanwhile: what comes of a job
 * that is gone is dropped.
 *
 * Portable: calls its link, its store and memcpy, allocates nothing. One lock.
 */
#ifndef UNIC_KIO_SERVER_H
#define UNIC_KIO_SERVER_H

#include "unic_kio.h"
#include "unic_os.h"

struct unic_kio_server;

/* What is to be done to a file, and how it went. */
struct unic_kio_task {
	struct unic_kio_server *server;
	uint32_t at, turn; /* job, and which of those that it was */
	uint8_t op;	   /* enum unic_kio_op of a request */
	uint8_t name_bytes;
	const char *name; /* no NUL in it, and none behind it */
	uint64_t offset;
	/* @len bytes, 1..UNIC_KIO_MAX: of a WRITE, copied by begin(); of READ and
	 * LIST, there until next() is called again. Else NULL and 0. */
	void *buf;
	uint32_t len;
	int n; /* bytes moved, fewer than len only at the end; -errno */
	uint64_t
		size; /* of the file afterwards; LIST: see struct unic_kio_msg */
	uint64_t boot; /* the store's boot id then, see abi/unic_kio.h */
};

/*
 * Where the files are. It may take its time, in another thread; so it does not touch
 * our memory. What is begun is done in that order: a WRITE whose connection ended
 * is not done after one that came later over the next.
 */
struct unic_kio_store {
	/** begin() - @task is copied. False: no room, try again later. */
	bool (*begin)(struct unic_kio_store *s,
		      const struct unic_kio_task *task);
	/** next() - one that is done. False: none. */
	bool (*next)(struct unic_kio_store *s, struct unic_kio_task *task);
	/** end() - behind what was begun of @of: its connection is over, and so
	 * is what the store keeps for it. False: no room, try again later. NULL:
	 * it keeps nothing. */
	bool (*end)(struct unic_kio_store *s, struct unic_kio_server *of);
};

/* The data of an answer may not be known to have left when the client, which has
 * it, asks for more; one that is ahead by more than that is disconnected. */
#define UNIC_KIO_JOBS (2u * UNIC_KIO_WINDOW)

enum unic_kio_job_state {
	UNIC_KIO_JOB_FREE = 0,
	UNIC_KIO_JOB_WAIT,
	UNIC_KIO_JOB_STORE,
	UNIC_KIO_JOB_TOKEN,
	UNIC_KIO_JOB_GRANTED,
	UNIC_KIO_JOB_SENDING,
	UNIC_KIO_JOB_CANCEL,
};

struct unic_kio_job {
	uint8_t state;
	bool mute;  /* nobody waits for its answer any more */
	bool begun; /* STORE: else there was no room in the store */
	uint32_t turn;
	void *buf;  /* NULL: none */
	int status; /* CANCEL: what to answer */
	uint32_t token;
	uint64_t key;
	uint64_t deadline_ns; /* GRANTED */
	struct unic_kio_msg ask;
	char name[UNIC_KIO_NAME_MAX];
};

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
	bool kept;     /* the store may keep something for this connection, */
	bool ends;     /* which is over */
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

/** unic_kio_server_stop() - the connection is over for the client: nothing more is
 * begun of what it asked for. */
void unic_kio_server_stop(struct unic_kio_server *s);

/** unic_kio_server_down() - the connection is over, and what was posted on it is
 * done. @lost: the NIC was reset, no token() or cancel() will be answered. */
void unic_kio_server_down(struct unic_kio_server *s, bool lost);

/** unic_kio_server_idle() - nothing is left of any request. */
bool unic_kio_server_idle(const struct unic_kio_server *s);

/** unic_kio_server_stored() - what the store did to the file of task->server. */
void unic_kio_server_stored(const struct unic_kio_task *task);

/** unic_kio_server_poll() - begin what can be begun, and give up those whose data
 * did not come. Returns when to call again. */
uint64_t unic_kio_server_poll(struct unic_kio_server *s, uint64_t now_ns);

#endif /* UNIC_KIO_SERVER_H */
