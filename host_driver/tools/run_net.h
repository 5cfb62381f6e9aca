/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_net.h - a net by name: a wire that the hosts of several runs of unic-run share.
 *
 * Secret: who starts the wire and who ends it. The first run starts a process that keeps the
 * wire, and ends both when no run has been on the net for a moment, however those ended.
 */
#ifndef RUN_NET_H
#define RUN_NET_H

#include "run_child.h"

struct run_net {
	char dir[RUN_PATH];  /* of the net */
	char wire[RUN_PATH]; /* socket of the wire that a NIC is given */
	unsigned int host;   /* our number on the net, from 1 on */
};

/** run_net_join() - join net @name until this process ends. 0, or -1 after a line on
 * stderr: among others, all numbers are taken. */
int run_net_join(struct run_net *net, const char *name);

#endif /* RUN_NET_H */
