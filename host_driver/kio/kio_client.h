/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_client.h - the client of the kernel-resident page service.
 *
 * An I/O has its bytes in pieces, each a range of bus addresses. A link is what
 * carries it to one other host: a connection, made again when it ends. The window
 * has sixteen slots; an I/O under way has one of them, the others wait.
 *
 * Secret: the life of an I/O: it holds a payload token from the time it is asked
 * for until it is answered, or borrows one of the server's, and nothing of the NIC
 * otherwise. Its pages are given back to the caller only when the NIC has done
 * with them: the token has ended, the data has left. And it ends at its deadline,
 * or UNIC_KIO_LATE_NS later with its connection, whatever the peer does.
 *
 *   READ, LIST    QUEUED -> TOKEN -> ASKED -> done
 *                             |        +-> CANCEL -> done (late, refused, no link)
 *                             +-> done (no token)
 *   WRITE         QUEUED -> ASKED -> FLYING -> done
 *                             |        +-> CANCEL -> done (late, no link)
 *                             +-> done
 *   the others    QUEUED -> ASKED -> done
 *
 * Portable: calls its link and memcpy, allocates nothing. One lock around all.
 */
#ifndef UNIC_KIO_CLIENT_H
#define UNIC_KIO_CLIENT_H

#include "unic_kio.h"
#include "unic_mbox.h"
#include "unic_os.h"

#define UNIC_KIO_LATE_NS 500000000ull

enum unic_kio_state {
	UNIC_KIO_DONE = 0,
	UNIC_KIO_QUEUED,
	UNIC_KIO_TOKEN,
	UNIC_KIO_ASKED,
	UNIC_KIO_FLYING,
	UNIC_KIO_CANCEL,
};

/*
 * What is known of a file that somebody writes, and flushes: the caller's, zeroed
 * at first, for as long as it uses the file.
 */
struct unic_kio_file {
	uint64_t boot; /* of the server that has what was written */
	uint32_t wrote,
		synced; /* WRITEs and CUTs answered; ... before a SYNC */
	bool lost;	/* the server changed in between */
};

struct unic_kio {
	/* filled in by the caller, who leaves all of it alone until done() */
	uint8_t op;	    /* of a request */
	uint8_t name_bytes; /* 0: the export itself (LIST) */
	char name[UNIC_KIO_NAME_MAX];
	uint32_t len;	 /* READ, WRITE, LIST: 1..UNIC_KIO_MAX; else 0 */
	uint64_t offset; /* see struct unic_kio_msg */
	/* where the bytes are, or go; their sum is len */
	struct unic_token_piece piece[UNIC_TOKEN_PIECES];
	uint32_t pieces;
	uint64_t deadline_ns;
	/* of WRITE, CUT and SYNC, or NULL: a SYNC ends with `remote` EIO when the
	 * server that has what was written since the last one is no more */
	struct unic_kio_file *file;
	/*
	 * @status: 0, and @bytes were moved; -EREMOTEIO (the server says
	 * `remote`), -ENOLINK (the connection ended under it), -ENOBUFS (no
	 * token, or that of the server ended before our data was there), -EIO
	 * (what came is no answer), -ETIMEDOUT, or what unic_kio_refuse() said.
	 * Of a WRITE or CUT with an error it is not known whether it was done.
	 */
	void (*done)(struct unic_kio *io, int status, uint32_t bytes);
	/* the answer's */
	uint32_t remote; /* errno at the server */
	uint64_t size;	 /* of the file */
	/* the client's */
	struct unic_kio *next;
	uint32_t id, token;
	uint64_t key;
	uint32_t form; /* the link's; 0: none */
	uint32_t moved;
	uint32_t wrote; /* SYNC: what had been answered when it was asked for */
	int why;	/* CANCEL: what to say */
	uint8_t state;
	bool given; /* WRITE: its data is on its way, or there */
};

struct unic_kio_client;

/* What carries it. Each call is answered later, never from within. */
struct unic_kio_link {
	/** prepare() - take what @io needs of the link for as long as it has a
	 * slot. False: there is none left, unic_kio_client_poll() asks again.
	 * Called by nobody but the first of those that wait. */
	bool (*prepare)(struct unic_kio_client *c, struct unic_kio *io);
	/** release() - it is over. */
	void (*release)(struct unic_kio_client *c, struct unic_kio *io);
	/** send() - @msg, and behind it the name of @io, to the server. False: the
	 * link is down. */
	bool (*send)(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		     const struct unic_kio *io);
	/** data() - the bytes of slot @at to the server's token that is in @io,
	 * with @msg as control part; unic_kio_sent() when its pages are read. */
	bool (*data)(struct unic_kio_client *c, uint32_t at,
		     const struct unic_kio_msg *msg, const struct unic_kio *io);
	/** token() - for the pieces of slot @at; unic_kio_token() answers. */
	void (*token)(struct unic_kio_client *c, uint32_t at,
		      const struct unic_kio *io);
	/** cancel() - unic_kio_ended() answers when the token of slot @at has
	 * ended, however; a message that is arriving ends first. */
	void (*cancel)(struct unic_kio_client *c, uint32_t at,
		       const struct unic_kio *io);
};

struct unic_kio_client {
	const struct unic_kio_link *link;
	void *of; /* the link's own */
	struct unic_kio *slot[UNIC_KIO_WINDOW];
	struct unic_kio *head, *tail; /* waiting for a slot */
	uint32_t window;	      /* slots that may be used */
	uint32_t busy;
	uint32_t turn;	     /* makes ids differ */
	uint32_t mean_bytes; /* of an I/O, decayed */
	bool up;
};

/** unic_kio_client_init() - no link yet: I/Os wait for unic_kio_up(). */
void unic_kio_client_init(struct unic_kio_client *c,
			  const struct unic_kio_link *link);

/** unic_kio_up() - connected, or no more. What was asked for over the old
 * connection ends -ENOLINK, what was not waits for the next. */
void unic_kio_up(struct unic_kio_client *c, bool up);

/** unic_kio_lost() - the NIC was reset, or is gone: no answer to token(), cancel()
 * or data() will come, and none is needed. As unic_kio_up(false), but all that is
 * under way ends at once, with @status. */
void unic_kio_lost(struct unic_kio_client *c, int status);

/** unic_kio_start() - begin @io, or queue it. 0, and done() follows; or -EINVAL. */
int unic_kio_start(struct unic_kio_client *c, struct unic_kio *io);

/** unic_kio_token() - slot @at has a token, or (@ok false) cannot have one. */
void unic_kio_token(struct unic_kio_client *c, uint32_t at, bool ok,
		    uint32_t token, uint64_t key);

/** unic_kio_ended() - the token of slot @at is no more. */
void unic_kio_ended(struct unic_kio_client *c, uint32_t at);

/** unic_kio_sent() - the NIC reads the bytes of slot @at no more. */
void unic_kio_sent(struct unic_kio_client *c, uint32_t at);

/** unic_kio_message() - a copy of what came from the server, with @payload bytes
 * placed in token @token (0 bytes: none). What fits no I/O is ignored. */
void unic_kio_message(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      uint32_t token, uint32_t payload);

/** unic_kio_refuse() - what waits for a connection ends with @status. */
void unic_kio_refuse(struct unic_kio_client *c, int status);

/** unic_kio_window() - at most @n I/Os under way from now on, 1 at least: what
 * the driver answers to a notice. Those under way go on. */
void unic_kio_window(struct unic_kio_client *c, uint32_t n);

/** unic_kio_demand() - bytes of buffer that it would use: window x mean I/O. */
uint64_t unic_kio_demand(const struct unic_kio_client *c);

/** unic_kio_stuck_ns() - when the connection is to be ended for the sake of an I/O
 * that is over for its caller, but whose pages the NIC has still: a peer may hold up
 * what is sent to it for ever. UINT64_MAX: there is none. */
uint64_t unic_kio_stuck_ns(const struct unic_kio_client *c);

/** unic_kio_client_poll() - end what is late at @now_ns. Returns the next
 * deadline, UINT64_MAX: none. */
uint64_t unic_kio_client_poll(struct unic_kio_client *c, uint64_t now_ns);

#endif /* UNIC_KIO_CLIENT_H */
