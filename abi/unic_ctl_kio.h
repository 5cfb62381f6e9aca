/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_kio.h - requests about files of another host.
 */
#ifndef UNIC_ABI_CTL_KIO_H
#define UNIC_ABI_CTL_KIO_H

#include "unic_ctl_msg.h"

/*
 * KIO. The driver's own page service (docs/DESIGN.md section 16): files that the
 * driver of another host exports, by name. No HELLO, no memory of the NIC: the
 * bytes go through this socket, whose messages may be UNIC_CTL_KIO_MSG_MAX long
 * for it. A request's tail is the name, and behind it what is written; the reply's
 * tail what is read. At most UNIC_CTL_KIO_OPEN of them without reply.
 *
 * It is done again when the connection to the other host ends under it, until
 * `timeout_ms`; so what is written may be written twice, and it is not known of
 * what ends TIMEOUT. TIMEOUT; UNREACHABLE, REJECTED (nothing is exported there);
 * REMOTE; NO_NIC, NO_SLOT (for the driver itself); UNSUPPORTED (slots too small, or
 * not by this provider); TOO_MANY.
 */
#define UNIC_CTL_KIO_BYTES    65536u /* of one READ, WRITE, LIST */
#define UNIC_CTL_KIO_NAME_MAX 255u   /* bytes of a name; no 0 in or behind it */

#define UNIC_CTL_KIO_MSG_MAX (64u + 256u + UNIC_CTL_KIO_BYTES) /* in bytes */

#define UNIC_CTL_KIO_OPEN	 4u	/* of a connection; more: TOO_MANY */
#define UNIC_CTL_KIO_TIMEOUT_MS	 10000u /* of a request that says 0 */
#define UNIC_CTL_KIO_TIMEOUT_MAX 60000u /* more: INVALID */

enum unic_ctl_kio_what {
	UNIC_CTL_KIO_READ = 1,	/* `len` bytes from `offset` on */
	UNIC_CTL_KIO_WRITE = 2, /* likewise; beyond the end it grows; REMOTE:
				 * EROFS, EFBIG as the other driver was told */
	UNIC_CTL_KIO_LIST = 3,	/* struct unic_kio_entry; offset: how many to
				 * leave out */
	UNIC_CTL_KIO_STAT = 4,	/* `size` of the reply alone */
	UNIC_CTL_KIO_CUT = 5, /* make the file `offset` bytes long, and exist */
	UNIC_CTL_KIO_STATE = 6, /* of the service here; no name, no address */
};

/* How the bytes of an I/O get from driver to driver. */
enum unic_ctl_kio_data {
	UNIC_CTL_KIO_ANY = 0,	/* as the driver was told, see STATE */
	UNIC_CTL_KIO_TOKEN = 1, /* tagged messages, into payload tokens */
	UNIC_CTL_KIO_RDMA = 2,	/* RDMA of the other driver, or by token where
				 * that cannot be: no room for a region, an older
				 * driver; UNSUPPORTED: this one may not */
};

struct unic_ctl_kio {
	struct unic_ctl_hdr hdr;
	unic_le64 offset;     /* READ, WRITE: of the first byte; LIST,
			       * CUT: see there; offset + len above 2^63 -
			       * 1: INVALID */
	unic_le32 ipv4;	      /* of the other host, host order */
	unic_le32 len;	      /* READ, LIST: room, WRITE: bytes;
			       * 1..UNIC_CTL_KIO_BYTES; else 0; otherwise
			       * INVALID */
	unic_le32 timeout_ms; /* 0: UNIC_CTL_KIO_TIMEOUT_MS */
	uint8_t what;	      /* enum unic_ctl_kio_what */
	uint8_t name_bytes;   /* with / between folders; none at either end */
	uint8_t data;	      /* enum unic_ctl_kio_data; STATE: 0 */
	uint8_t rsvd0;
	unic_le32 rsvd[6];
};
struct unic_ctl_kio_reply {
	struct unic_ctl_hdr hdr; /* epoch 0 */
	unic_le64 size;	  /* of the file now; LIST: entries left out and sent */
	unic_le32 bytes;  /* moved; READ: fewer than asked for only at the end;
			  * STATE: TOKEN or RDMA, what ANY is */
	unic_le32 error;  /* REMOTE: errno of Linux */
	unic_le64 demand; /* STATE: bytes of buffers it would use */
	unic_le32 window; /* STATE: I/Os under way to a host, at most */
	unic_le32 done;	  /* STATE: I/Os for processes here so far; */
	unic_le32 failed; /* of them, with an error */
	unic_le32 served; /* for other hosts */
	unic_le32 rdma;	 /* STATE: requests to other hosts by RDMA, and those */
	unic_le32 token; /* that went by token because RDMA could not be */
};

UNIC_ABI_AT(unic_ctl_kio, what, 36);
UNIC_ABI_SIZE(unic_ctl_kio, 64);
UNIC_ABI_AT(unic_ctl_kio_reply, demand, 32);
UNIC_ABI_SIZE(unic_ctl_kio_reply, 64);

#endif /* UNIC_ABI_CTL_KIO_H */
