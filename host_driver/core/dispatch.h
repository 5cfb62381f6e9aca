/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* dispatch.h - from the datagram of a process to the handler of its request. */
#ifndef UNIC_DISPATCH_H
#define UNIC_DISPATCH_H

#include "state.h"

/** unic_dispatch_message() - as unic_host_request(). */
bool unic_dispatch_message(struct unic_host *host, struct unic_client *client,
			   const void *msg, size_t bytes);

/** unic_dispatch_run() - validate @req, whose op, seq and rec are set from a record
 * with header @hdr, and call its handler, or answer what is wrong. */
void unic_dispatch_run(struct unic_req *req, const struct unic_ctl_hdr *hdr);

/** unic_dispatch_name() - the name of operation @op, for the log; "?": no such one. */
const char *unic_dispatch_name(uint32_t op);

#endif /* UNIC_DISPATCH_H */
