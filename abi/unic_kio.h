/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kio.h - what the page services of two drivers say to each other (docs/DESIGN.md
 * section 16), over a connection to service UNIC_KIO_SERVICE.
 *
 * By tokens:
 *   READ, LIST        -->              (with a token of the client's)
 *                     <-- ANSWER       control part of a tagged message whose
 *                                      payload is the data; none: a SEND
 *   WRITE             -->
 *                     <-- GRANT        a token of the server's
 *   DATA              -->              control part, the payload is the data
 *                     <-- ANSWER
 * By RDMA (`how`), with a region of the client's:
 *   READ, LIST        -->
 *                     <== WRITE        the data
 *                     <-- ANSWER       when the WRITE has completed
 *   WRITE             -->
 *                     ==> READ         of the data
 *                     <-- ANSWER
 * Either way:
 *   STAT, CUT, SYNC   -->
 *                     <-- ANSWER
 *
 * A region is for one request and ends with its ANSWER. If it was taken back before,
 * the ANSWER says ESTALE, nothing was done, and the request may be made again. A
 * server that knows nothing of regions says EINVAL, and its answer is not `how`. A
 * client whose time is over says DATA with the id of the request, without payload:
 * nothing that has not begun is done for the request then, and it is not answered. A
 * server of an earlier version ignores that, and finds no region.
 *
 * A request that cannot be one (a READ of 0 bytes) is answered at once with EINVAL,
 * whatever the files do: so a client asks a silent server for a sign of life.
 *
 * A token that was granted ends after a while without DATA: the ANSWER says ETIMEDOUT
 * then, nothing was done, and the WRITE may be asked for again.
 *
 * A request is a record and the name of its file, and nothing else, so each can be
 * repeated. All others are the record alone. Both are read from a message buffer
 * that the peer wrote: every field is checked.
 *
 * An ANSWER that says 0 carries the boot id of the server: random, another one after
 * each start of it, and whenever it cannot say that all it was given is in its
 * files. A client that saw it change since a WRITE or CUT was answered has a SYNC
 * of that file fail, once: what was written may be lost.
 */
#ifndef UNIC_KIO_H
#define UNIC_KIO_H

#include "unic_types.h"

#define UNIC_KIO_SERVICE \
	0x756e69636b696f02ull		/* of the connection: unickio 2 */
#define UNIC_KIO_MAX	  (64u * 1024u) /* bytes of one transfer */
#define UNIC_KIO_NAME_MAX 255u		/* bytes of a name; no 0 in it */
#define UNIC_KIO_WINDOW	  16u /* requests open on a connection, at most */

enum unic_kio_op {
	UNIC_KIO_READ = 1,    /* `len` bytes from `offset` on, into the token */
	UNIC_KIO_WRITE = 2,   /* likewise, out of the DATA that follows a
			       * GRANT */
	UNIC_KIO_LIST = 3,    /* struct unic_kio_entry of a directory */
	UNIC_KIO_STAT = 4,    /* the file's size */
	UNIC_KIO_CUT = 5,     /* make it so long, and exist */
	UNIC_KIO_SYNC = 6,    /* what was answered before is kept for good */
	UNIC_KIO_OPS = 7,     /* from here on there are no requests */
	UNIC_KIO_ANSWER = 16, /* to a request, which has ended then */
	UNIC_KIO_GRANT = 17,  /* to a WRITE: where its DATA may go */
	UNIC_KIO_DATA = 18,   /* of a WRITE; another length than its: EIO.
			       * Without payload: see above */
};

/* How data is moved. BY_RDMA is for READ, LIST and WRITE: `key` and `token` are of a
 * region of the client's of `len` bytes or more, with the right to write, or, for a
 * WRITE, to read. */
enum unic_kio_how {
	UNIC_KIO_BY_TOKEN = 0, /* tagged messages, to a token */
	UNIC_KIO_BY_RDMA = 1,  /* RDMA of the server */
};

struct unic_kio_msg {
	uint8_t op;	    /* enum unic_kio_op */
	uint8_t name_bytes; /* requests; else 0 */
	uint8_t how;	    /* enum unic_kio_how; ANSWER: that of its request */
	uint8_t rsvd;
	unic_le32 id;	  /* the client's; comes back in what answers it. Its
			   * low bits, modulo WINDOW, are the place in its
			   * window, which is free again after the ANSWER */
	unic_le32 status; /* ANSWER: 0 or a positive errno */
	unic_le32 len; /* READ, LIST: room; WRITE: bytes; ANSWER: bytes moved */
	unic_le64 offset; /* CUT: the length; LIST: entries to skip */
	unic_le64 size;	  /* ANSWER: bytes of the file now; LIST: entries */
	unic_le64 key;	  /* READ, LIST, GRANT: of the token; BY_RDMA: the
			   * address of the data; ANSWER: boot id */
	unic_le32 token;  /* ... its index; BY_RDMA: STag */
	unic_le32 rsvd2;
};

/* One file of a LIST; the next begins behind its name, without a gap. */
struct unic_kio_entry {
	unic_le64 size;	    /* bytes; of a folder 0 */
	uint8_t dir;	    /* 1: a folder */
	uint8_t name_bytes; /* 1..UNIC_KIO_NAME_MAX */
	uint8_t name[6];    /* name_bytes of them, in truth */
};
#define UNIC_KIO_ENTRY_BYTES 10u /* without the name */

UNIC_ABI_AT(unic_kio_msg, key, 32);
UNIC_ABI_AT(unic_kio_entry, name, UNIC_KIO_ENTRY_BYTES);
UNIC_ABI_SIZE(unic_kio_entry, 16);
UNIC_ABI_SIZE(unic_kio_msg, 48);

#endif /* UNIC_KIO_H */
