/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_server.h - the server of the kernel-resident page service: one connection.
 *
 * Secret: the checks of a request, and how long a request has a buffer. A request keeps
 * its place in the window (a job) until it is answered; a WRITE gives the client a
 * token of the server until the data has come, or a deadline. Jobs wait here for a
 * buffer or a token, so no request is refused for lack of one.
 *
 *   READ, LIST   WAIT -> STORE -> SENDING -> free
 *     by RDMA    WAIT -> STORE -> MOVING -> free (answered then)
 *   WRITE        WAIT -> TOKEN -> GRANTED -> STORE -> free
 *                 ^        |         +-> CANCEL -> free (late, refused, no link)
 *                 +--------+ (no token)
 *     by RDMA    WAIT -> MOVING -> STORE -> free
 *                          +-> free (region taken back, no link)
 *   the others   WAIT -> STORE -> free
 *
 * A job that is MOVING has its buffer until the NIC is done with it. A client may hold
 * that up: after a while the server is stuck, and its connection is to be ended if others
 * need the buffer. A request by RDMA that its client gives up ends without an answer; what
 * has begun in the store or in the NIC goes on first.
 *
 * The store may be slow, and the connection may end before the store does: results for
 * jobs that have ended are dropped.
 *
 * Portable: calls its link, its store and memcpy, allocates nothing. One lock.
 */
#ifndef UNIC_KIO_SERVER_H
#define UNIC_KIO_SERVER_H

#include "unic_kio.h"
#include "unic_os.h"

struct unic_kio_server;

/* An operation on a file, and its result. */
struct unic_kio_task {
	struct unic_kio_server *server;
	uint32_t at, turn; /* the job, and its turn */
	uint8_t op;	   /* enum unic_kio_op of a request */
	uint8_t name_bytes;
	const char *name; /* without NULs, not terminated */
	uint64_t offset;
	/* @len bytes, 1..UNIC_KIO_MAX: of WRITE, copied by begin(); of READ and
	 * LIST, valid until next() is called again. Else NULL and 0. */
	void *buf;
	uint32_t len;
	int n; /* bytes moved, fewer than len only at the end; -errno */
	uint64_t
		size; /* of the file afterwards; LIST: see struct unic_kio_msg */
	uint64_t boot; /* boot id of the store, see abi/unic_kio.h */
};

/*
 * The store of the files. It may work in another thread, and does not access memory of
 * the server. The store executes tasks in the order of begin(): a WRITE of a connection
 * that has ended is not executed after a later one of the next connection.
 */
struct unic_kio_store {
	/** begin() - take @task, which is copied. False: no room, try again later. */
	bool (*begin)(struct unic_kio_store *s,
		      const struct unic_kio_task *task);
	/** next() - return a task that is done in @task. False: none. */
	bool (*next)(struct unic_kio_store *s, struct unic_kio_task *task);
	/** end() - after all tasks of @of begun so far, drop the store's state for
	 * @of, whose connection has ended. False: no room, try again later. NULL:
	 * the store has no such state. */
	bool (*end)(struct unic_kio_store *s, struct unic_kio_server *of);
};

/* Twice the window: a client that has the data of an answer may send a request before
 * the completion of that data. A client with more requests than jobs is
 * disconnected. */
#define UNIC_KIO_JOBS (2u * UNIC_KIO_WINDOW)

enum unic_kio_job_state {
	UNIC_KIO_JOB_FREE = 0,
	UNIC_KIO_JOB_WAIT,
	UNIC_KIO_JOB_STORE,
	UNIC_KIO_JOB_TOKEN,
	UNIC_KIO_JOB_GRANTED,
	UNIC_KIO_JOB_SENDING,
	UNIC_KIO_JOB_MOVING,
	UNIC_KIO_JOB_CANCEL,
};

struct unic_kio_job {
	uint8_t state;
	bool mute;  /* no answer is sent */
	bool begun; /* STORE: the store has taken the task */
	uint32_t turn;
	void *buf;  /* NULL: none */
	int status; /* CANCEL: of the answer */
	uint32_t token;
	uint64_t key;
	uint64_t deadline_ns; /* GRANTED, MOVING */
	struct unic_kio_msg ask;
	struct unic_kio_msg answer; /* MOVING: of a READ or LIST */
	char name[UNIC_KIO_NAME_MAX];
};

/* The functions of a link. Answers come later, except that of buf_get(). */
struct unic_kio_server_link {
	/** send() - send @msg without data. False: the link is down. */
	bool (*send)(struct unic_kio_server *s, const struct unic_kio_msg *msg);
	/** data() - send @bytes of the buffer of job @at to the token in job->ask,
	 * with @msg as control part; unic_kio_server_sent() answers. False: the
	 * link is down. */
	bool (*data)(struct unic_kio_server *s, uint32_t at,
		     const struct unic_kio_msg *msg, uint32_t bytes);
	/** move() - by RDMA, write @bytes of the buffer of job @at to the region in
	 * job->ask, or, for a WRITE, read them from there; unic_kio_server_moved()
	 * answers. False: the link is down. */
	bool (*move)(struct unic_kio_server *s, uint32_t at, uint32_t bytes);
	/** token() - allocate a token for the buffer of job @at, ask.len bytes;
	 * unic_kio_server_token() answers. */
	void (*token)(struct unic_kio_server *s, uint32_t at);
	/** cancel() - end the token of job @at; unic_kio_server_ended() answers. */
	void (*cancel)(struct unic_kio_server *s, uint32_t at);
	/** buf_get() - take a buffer of UNIC_KIO_MAX bytes; NULL: none is free. */
	void *(*buf_get)(struct unic_kio_server *s);
	void (*buf_put)(struct unic_kio_server *s, void *buf);
};

struct unic_kio_server {
	const struct unic_kio_server_link *link;
	void *of;		      /* of the link */
	struct unic_kio_store *store; /* NULL: no file is exported */
	struct unic_kio_job job[UNIC_KIO_JOBS];
	uint32_t next; /* job that serve_all() begins with */
	bool starved;  /* the last token was refused */
	bool kept;     /* the store may have state for this connection */
	bool ends;     /* store->end() is to be called */
	bool stuck;    /* see unic_kio_server_stuck() */
};

/** unic_kio_server_init() - make @s empty. @link and @store live as long as @s. */
void unic_kio_server_init(struct unic_kio_server *s,
			  const struct unic_kio_server_link *link,
			  struct unic_kio_store *store);

/**
 * unic_kio_server_message() - handle @msg of @bytes, a copy, with @payload bytes placed
 * by token @token (0: none). Returns false if the message breaks the protocol: end the
 * connection.
 */
bool unic_kio_server_message(struct unic_kio_server *s, const void *msg,
			     uint32_t bytes, uint32_t token, uint32_t payload);

/** unic_kio_server_token() - job @at has a token, or (@ok false) cannot have one
 * now. */
void unic_kio_server_token(struct unic_kio_server *s, uint32_t at, bool ok,
			   uint32_t token, uint64_t key);

/** unic_kio_server_ended() - the token of job @at has ended. */
void unic_kio_server_ended(struct unic_kio_server *s, uint32_t at);

/** unic_kio_server_sent() - the NIC has finished with the data of job @at, sent or
 * not. */
void unic_kio_server_sent(struct unic_kio_server *s, uint32_t at);

/** unic_kio_server_moved() - the NIC has moved the data of job @at, or (@ok false) the
 * client's region was taken back, and the NIC has finished with the buffer. */
void unic_kio_server_moved(struct unic_kio_server *s, uint32_t at, bool ok);

/** unic_kio_server_stuck() - true if the client has held up the data of a job for long: the
 * caller must end the connection as soon as others need the buffer. */
bool unic_kio_server_stuck(const struct unic_kio_server *s);

/** unic_kio_server_stop() - the connection has ended for the client: begin no more of
 * its requests. */
void unic_kio_server_stop(struct unic_kio_server *s);

/** unic_kio_server_down() - the connection has ended, and all its requests have
 * completed. @lost: the NIC was reset; token() and cancel() get no answer. */
void unic_kio_server_down(struct unic_kio_server *s, bool lost);

/** unic_kio_server_idle() - true if all jobs are free, and no end() of the store is
 * due. */
bool unic_kio_server_idle(const struct unic_kio_server *s);

/** unic_kio_server_stored() - handle @task, which the store has done, for
 * task->server. */
void unic_kio_server_stored(const struct unic_kio_task *task);

/** unic_kio_server_poll() - begin jobs that have all they need, and give up WRITEs
 * whose data did not come in time. Returns when to call again. */
uint64_t unic_kio_server_poll(struct unic_kio_server *s, uint64_t now_ns);

#endif /* UNIC_KIO_SERVER_H */
