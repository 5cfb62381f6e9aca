/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_user.c - see kio_user.h.
 */
#include "kio_user.h"

struct unic_kio_user *unic_kio_user_get(struct unic_kio_node *n)
{
	struct unic_kio_user *user = n->user;

	if (!n->up)
		return NULL;
	while (user->used)
		if (++user == n->user + UNIC_KIO_USERS)
			return NULL;
	user->buf = unic_kio_ring_get(&n->ring);
	if (!user->buf)
		return NULL;
	user->used = true;
	return user;
}

void unic_kio_user_put(struct unic_kio_user *user)
{
	unic_kio_ring_put(&user->node->ring, user->buf);
	user->used = false;
}

static void user_done(struct unic_kio *io, int status, uint32_t bytes)
{
	struct unic_kio_user *user = (struct unic_kio_user *)(void *)io;

	user->node->ios++;
	user->node->failed += status != 0;
	user->node->done(user, status, bytes);
}

/* The buffer has bytes of earlier I/Os, perhaps of another user. By RDMA nobody but the
 * server knows which of them it has overwritten. */
static bool clean_buf(const struct unic_kio_user *user)
{
	const struct unic_kio *io = &user->io;

	if (!user->node->rdma || io->len > UNIC_KIO_MAX ||
	    (io->op != UNIC_KIO_READ && io->op != UNIC_KIO_LIST))
		return false;
	memset(user->buf, 0, io->len);
	return true;
}

int unic_kio_user_start(struct unic_kio_user *user, uint32_t ipv4)
{
	struct unic_kio_node *n = user->node;
	struct unic_kio *io = &user->io;

	io->pieces = !!io->len;
	io->piece[0] = (struct unic_token_piece){
		.bus = unic_to_le64(unic_kio_ring_at(&n->ring, user->buf)),
		.len = unic_to_le32(io->len),
	};
	io->clean = clean_buf(user);
	io->done = user_done;
	return unic_kio_node_start(n, io, ipv4);
}
