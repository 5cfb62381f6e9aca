/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_server.c - see kio_server.h. */
#include "kio_server.h"

int unic_kio_serve(struct unic_kio_server *s, const struct unic_kio_msg *msg,
		   void *buf, struct unic_kio_msg *answer, uint32_t *token,
		   uint64_t *key)
{
	uint32_t len = unic_from_le32(msg->len);
	uint64_t offset = unic_from_le64(msg->offset);
	int n = -EINVAL;

	if (msg->op != UNIC_KIO_READ)
		return -EBADMSG;
	if (len && len <= UNIC_KIO_MAX && offset + len > offset)
		n = s->read(s, unic_from_le32(msg->object), offset, buf, len);
	*token = unic_from_le32(msg->token);
	*key = unic_from_le64(msg->key);
	*answer = (struct unic_kio_msg){
		.op = UNIC_KIO_ANSWER,
		.id = msg->id,
		.object = msg->object,
		.status = unic_to_le32(n < 0 ? (uint32_t)-n : 0),
		.offset = msg->offset,
		.len = unic_to_le32(n < 0 ? 0 : (uint32_t)n),
	};
	return n < 0 ? 0 : n;
}
