/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_client.h - the client of the kernel-resident page service.
 *
 * The bytes of an I/O are in pieces, each a range of bus addresses. A link is the
 * connection to one other host, which is made again when it ends. The window has
 * sixteen slots; an I/O under way has one of them, the others wait.
 *
 * Secret: the states of an I/O. By token, a READ holds a payload token from its request
 * to its answer, and a WRITE uses a token of the server. By RDMA, either holds a region.
 * The caller gets the pages back (done()) only when the NIC has stopped using them: the
 * token or region has ended, or the data has left. An I/O ends at its deadline, or
 * UNIC_KIO_LATE_NS later together with its connection, whatever the peer does.
 *
 *   READ, LIST    QUEUED -> TOKEN -> ASKED -> done
 *                             |        +-> CANCEL -> done (late, refused, no link)
 *                             +-> done (no token)
 *   WRITE         QUEUED -> ASKED -> FLYING -> done
 *                             |        +-> CANCEL -> done (late, no link)
 *                             +-> done
 *   by RDMA       QUEUED -> TOKEN -> ASKED -> CANCEL -> done (always by way of CANCEL)
 *                             ^  |               |
 *                             |  |               +-> QUEUED, by token (old server)
 *                             |  +-> QUEUED, by token (no region)
 *                             +------------------+ (region taken back)
 *   the others    QUEUED -> ASKED -> done
 *
 * TOKEN: the driver is asked for the token or region; CANCEL: for its end. Each try has
 * an id of its own, and a region an address by chance, so nothing that a peer does for
 * an earlier try, or for an earlier I/O of the slot, fits a later one.
 *
 * Portable: calls its link and memcpy, allocates nothing. One lock around all.
 */
#ifndef UNIC_KIO_CLIENT_H
#define UNIC_KIO_CLIENT_H

#include "unic_kio.h"
#include "unic_mbox.h"
#include "unic_os.h"

#define UNIC_KIO_CGROUP	    (1ull << 32) /* unic_kio.user */
#define UNIC_KIO_NO_ACCOUNT 0xffu	 /* unic_kio.account */
#define UNIC_KIO_LATE_NS    500000000ull
#define UNIC_KIO_AGAIN	    3u /* tries by RDMA of an I/O; the next is by token */

enum unic_kio_state {
	UNIC_KIO_DONE = 0,
	UNIC_KIO_QUEUED,
	UNIC_KIO_TOKEN,
	UNIC_KIO_ASKED,
	UNIC_KIO_FLYING,
	UNIC_KIO_CANCEL,
};

/*
 * The record of a file that is written and flushed. The caller owns it, zeroes it at
 * first, and keeps it while the file is in use.
 */
struct unic_kio_file {
	uint64_t boot; /* of the server of the last WRITE or CUT */
	uint32_t wrote,
		synced; /* WRITEs and CUTs answered; ... before a SYNC */
	bool lost;	/* the server changed in between */
};

struct unic_kio {
	/* filled in by the caller, which leaves the struct alone until done() */
	uint8_t op;	    /* of a request */
	uint8_t name_bytes; /* 0: the export itself (LIST) */
	char name[UNIC_KIO_NAME_MAX];
	uint32_t len;	 /* READ, WRITE, LIST: 1..UNIC_KIO_MAX; else 0 */
	uint64_t offset; /* see struct unic_kio_msg */
	/* where the bytes are, or go; the lengths add up to len */
	struct unic_token_piece piece[UNIC_TOKEN_PIECES];
	uint32_t pieces;
	uint64_t deadline_ns;
	/* READ, LIST: the pages are zeroed, so that bytes that a server only says
	 * to have written tell the reader nothing. Without, the I/O goes by token */
	bool clean;
	bool token_only; /* by token, also where RDMA could be */
	/* for whom: a user id, or UNIC_KIO_CGROUP and the id of a cgroup */
	uint64_t user;
	/* of WRITE, CUT and SYNC, or NULL. A SYNC ends with `remote` EIO when the
	 * server has restarted since a WRITE or CUT after the last SYNC */
	struct unic_kio_file *file;
	/*
	 * @status: 0, and @bytes were moved; -EREMOTEIO (the server answered
	 * `remote`), -ENOLINK (the connection ended), -ENOBUFS (no token, or
	 * that of the server ended before the data arrived), -EIO (the answer
	 * is malformed), -ETIMEDOUT, or the status of unic_kio_refuse(). After
	 * an error, a WRITE or CUT may have been executed or not.
	 */
	void (*done)(struct unic_kio *io, int status, uint32_t bytes);
	/* set by the answer */
	uint32_t remote; /* errno at the server */
	uint64_t size;	 /* of the file */
	/* of the client */
	struct unic_kio *next;
	uint32_t id, token;
	uint64_t key;
	uint32_t form; /* of the link; 0: none */
	uint32_t moved;
	uint32_t wrote; /* SYNC: file->wrote when it was sent */
	int why;	/* CANCEL: the status for done() */
	uint8_t state;
	uint8_t how;	 /* enum unic_kio_how of this try */
	bool whole;	 /* it may go by RDMA, and a region has its pieces */
	uint8_t tries;	 /* by RDMA that were in vain */
	bool no_room;	 /* no region: this I/O goes by token */
	bool redo;	 /* CANCEL: try again */
	bool given;	 /* WRITE: its data has been posted */
	uint8_t account; /* of the link, from prepare() to release() */
};

/* What prepare() says. */
enum unic_kio_ready {
	UNIC_KIO_READY,
	UNIC_KIO_LATER, /* this one waits, those behind it need not */
	UNIC_KIO_FULL,	/* all wait */
};

struct unic_kio_client;

/* The functions of a link. Answers come later, never from within a call. */
struct unic_kio_link {
	/** prepare() - reserve what @io, which waits, needs of the link while it has
	 * a slot, to go as io->how says; nothing, unless READY.
	 * unic_kio_client_poll() calls again. */
	enum unic_kio_ready (*prepare)(struct unic_kio_client *c,
				       struct unic_kio *io);
	/** release() - undo prepare(): @io has ended, or waits again. */
	void (*release)(struct unic_kio_client *c, struct unic_kio *io);
	/** send() - send @msg, and behind it the name of @io (NULL: none), to the
	 * server. False: the link is down, or has no room. */
	bool (*send)(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		     const struct unic_kio *io);
	/** data() - send the bytes of slot @at to the server's token in @io, with
	 * @msg as control part; unic_kio_sent() follows when the NIC has read the
	 * pages. */
	bool (*data)(struct unic_kio_client *c, uint32_t at,
		     const struct unic_kio_msg *msg, const struct unic_kio *io);
	/** token() - allocate a token for the pieces of slot @at, or, by RDMA,
	 * register them: for the peer to read if @io is a WRITE, else to write.
	 * unic_kio_token() answers. */
	void (*token)(struct unic_kio_client *c, uint32_t at,
		      const struct unic_kio *io);
	/** cancel() - end the token or region of slot @at. unic_kio_ended() answers
	 * when it has ended, by this call or before, and the NIC does not use the
	 * pages any more; a message that is arriving is received first. */
	void (*cancel)(struct unic_kio_client *c, uint32_t at,
		       const struct unic_kio *io);
};

struct unic_kio_client {
	const struct unic_kio_link *link;
	void *of; /* of the link */
	struct unic_kio *slot[UNIC_KIO_WINDOW];
	struct unic_kio *head, *tail; /* waiting for a slot */
	uint32_t window;	      /* slots that may be used */
	uint32_t busy, in_window;
	uint32_t turn;	     /* makes ids differ */
	uint32_t mean_bytes; /* of an I/O, decayed */
	bool up;
	bool rdma;	   /* by RDMA, where that can be */
	bool old;	   /* the server knows no RDMA */
	uint32_t by_rdma;  /* requests */
	uint32_t by_token; /* requests that were to be by RDMA, and could not */
	uint32_t again;	   /* ... made again: the region was taken back */
};

/** unic_kio_client_init() - set @c up, not connected: I/Os wait for unic_kio_up().
 * @link lives as long as @c. */
void unic_kio_client_init(struct unic_kio_client *c,
			  const struct unic_kio_link *link);

/** unic_kio_up() - the link is connected (@up), or its connection ended: I/Os that were
 * sent end with -ENOLINK, the others wait for the next connection. */
void unic_kio_up(struct unic_kio_client *c, bool up);

/** unic_kio_lost() - the NIC was reset, or is gone: token(), cancel() and data() get no
 * answer. As unic_kio_up(false), but all I/Os under way end at once, with @status. */
void unic_kio_lost(struct unic_kio_client *c, int status);

/** unic_kio_start() - begin @io, or queue it. 0, and done() follows; or -EINVAL. */
int unic_kio_start(struct unic_kio_client *c, struct unic_kio *io);

/** unic_kio_token() - slot @at has a token, or (@ok false) cannot have one. By RDMA,
 * @token and @key are STag and address. */
void unic_kio_token(struct unic_kio_client *c, uint32_t at, bool ok,
		    uint32_t token, uint64_t key);

/** unic_kio_ended() - the token or region of slot @at has ended. */
void unic_kio_ended(struct unic_kio_client *c, uint32_t at);

/** unic_kio_sent() - the NIC has finished reading the bytes of slot @at. */
void unic_kio_sent(struct unic_kio_client *c, uint32_t at);

/** unic_kio_message() - handle @msg, a copy of a message of the server, with @payload
 * bytes placed by token @token (0 bytes: none). A message that fits no I/O is
 * ignored. */
void unic_kio_message(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      uint32_t token, uint32_t payload);

/** unic_kio_refuse() - end the I/Os that wait for a connection with @status. */
void unic_kio_refuse(struct unic_kio_client *c, int status);

/** unic_kio_window() - allow @n I/Os under way that never go by RDMA, 1 at least and
 * UNIC_KIO_WINDOW at most. Those under way go on. */
void unic_kio_window(struct unic_kio_client *c, uint32_t n);

/** unic_kio_demand() - the bytes of buffer that @c can use: window x mean I/O. */
uint64_t unic_kio_demand(const struct unic_kio_client *c);

/** unic_kio_asked() - how many I/Os wait for the server: not those that wait for a token
 * or region, or for its end, which are for this host's driver to give. */
uint32_t unic_kio_asked(const struct unic_kio_client *c);

/** unic_kio_ping() - send a request that any server answers at once, whatever its files
 * do; the answer fits no I/O. */
void unic_kio_ping(struct unic_kio_client *c);

/** unic_kio_stuck_ns() - when the caller must end the connection, because the deadline
 * of an I/O by token is over whose pages the NIC still uses: a peer may hold up data for
 * ever. UINT64_MAX: there is none. By RDMA nothing depends on the peer then. */
uint64_t unic_kio_stuck_ns(const struct unic_kio_client *c);

/** unic_kio_client_poll() - end the I/Os whose deadline is over at @now_ns. Returns the
 * next deadline, UINT64_MAX: none. */
uint64_t unic_kio_client_poll(struct unic_kio_client *c, uint64_t now_ns);

#endif /* UNIC_KIO_CLIENT_H */
