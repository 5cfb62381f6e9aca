/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_msg.h - what client and server of the kernel-resident page service say to
 * each other (memory.md section 8).
 *
 * A request goes as a SEND. Its answer is the control part of a tagged message
 * whose payload is the data; without data, a SEND. Both are read from a message
 * buffer that the peer wrote: every field is checked.
 */
#ifndef UNIC_KIO_MSG_H
#define UNIC_KIO_MSG_H

#include "unic_types.h"

#define UNIC_KIO_MAX (64u * 1024u) /* bytes of one transfer */

enum unic_kio_op {
	UNIC_KIO_READ = 1,
	UNIC_KIO_ANSWER = 2,
};

struct unic_kio_msg {
	uint8_t op; /* enum unic_kio_op */
	uint8_t rsvd[3];
	unic_le32 id;	  /* the client's; comes back in the answer */
	unic_le32 object; /* file or volume, by the server's number */
	unic_le32 status; /* ANSWER: 0 or a positive errno */
	unic_le64 offset;
	unic_le32 len;	 /* bytes wanted; ANSWER: bytes sent */
	unic_le32 token; /* READ: where the data goes */
	unic_le64 key;
};

UNIC_ABI_SIZE(unic_kio_msg, 40);

#endif /* UNIC_KIO_MSG_H */
