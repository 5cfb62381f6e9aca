/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_server.h - the server of the kernel-resident page service.
 *
 * Secret: what of a request is believed. It holds nothing between two requests:
 * the client's token says where the data goes, and is checked where it is.
 */
#ifndef UNIC_KIO_SERVER_H
#define UNIC_KIO_SERVER_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "kio_msg.h"

struct unic_kio_server {
	/**
	 * read() - up to @len bytes (1..UNIC_KIO_MAX) of @object from @offset on
	 * into @buf. Returns how many, fewer only at the end, or -errno.
	 */
	int (*read)(struct unic_kio_server *s, uint32_t object, uint64_t offset,
		    void *buf, uint32_t len);
};

/**
 * unic_kio_serve() - answer the request @msg, a copy.
 * @buf: UNIC_KIO_MAX bytes for the data, which goes behind the answer.
 * Returns how many bytes of @buf go to the token *@token with *@key; 0: none,
 * *@answer goes by itself; -EBADMSG: no answer, the peer is not one of ours.
 */
int unic_kio_serve(struct unic_kio_server *s, const struct unic_kio_msg *msg,
		   void *buf, struct unic_kio_msg *answer, uint32_t *token,
		   uint64_t *key);

#endif /* UNIC_KIO_SERVER_H */
