/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * snapshot.h - all tables of the NIC as of one instant.
 *
 * Secret: the NIC stands still while a snapshot is read, so the driver reads it in one
 * go, for whoever asks, and keeps the rows in its own memory. It keeps one snapshot.
 */
#ifndef UNIC_SNAPSHOT_H
#define UNIC_SNAPSHOT_H

#include "state.h"
#include "unic_ctl_admin.h"

/** unic_snapshot_dump() - DUMP with a snapshot, r->snapshot: UNIC_SNAPSHOT_TAKE reads all
 * tables, and then answers as for its number, with the rows that @r names.
 * UNSUPPORTED: the NIC takes none; EVICTED: it is not kept any more, or ended before it was
 * read, several times; BUSY: one is being read; INVALID: no such row; NO_MEMORY. */
void unic_snapshot_dump(struct unic_req *req, const struct unic_ctl_dump *r);

/** unic_snapshot_poll() - forgets an old snapshot, or tries again to take one, or gives
 * that up because the device is lost. Returns when to call again, or @next if that is
 * before. */
uint64_t unic_snapshot_poll(struct unic_host *host, uint64_t now,
			    uint64_t next);

/** unic_snapshot_client_gone() - forgets the snapshot of @client. One that is being read
 * for it is forgotten at the end. */
void unic_snapshot_client_gone(struct unic_host *host,
			       const struct unic_client *client);

#endif /* UNIC_SNAPSHOT_H */
