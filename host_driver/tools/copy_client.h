/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* copy_client.h - the client end of a transfer. */
#ifndef UNIC_COPY_CLIENT_H
#define UNIC_COPY_CLIENT_H

#include "copy_peer.h"
#include "progress.h"

struct copy_job {
	enum copy_what what;
	enum copy_mode mode;
	const char *path; /* of the local file */
	char name[40];	  /* at the other end */
	uint32_t ipv4;	  /* of the server, host byte order */
	enum progress_how progress;
};

/**
 * copy_client() - connect @p, which copy_peer_open() opened, to the server of @job and
 * move the file; a connection that breaks is made again, and the transfer goes on at
 * the same block. Shows the progress on standard error, as @job wants it, and prints the result.
 * @job: the caller's, read during the call only.
 * Returns 0: both ends have seen the same bytes, and a file that was fetched is kept.
 * -errno (unic_last_error()): a file that was fetched in part is not kept. Either way
 * @p is not connected afterwards and stays the caller's to close.
 */
int copy_client(struct copy_peer *p, const struct copy_job *job);

#endif /* UNIC_COPY_CLIENT_H */
