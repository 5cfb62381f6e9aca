/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicd_rig.h - unicd with the socket of its processes, over a core that the test plays.
 * Includers define _GNU_SOURCE. Host only.
 */
#ifndef UNICD_RIG_H
#define UNICD_RIG_H

#include <sys/socket.h>

#include "unicd.h"

/* What was asked of the core and of other files, and what they say. */
struct said {
	unsigned int requests, kio, gone, kio_gone, owned;
	size_t bytes; /* of the last request */
	bool ends;    /* the core has the connection ended */
	int nic;      /* that unic_nics_choose() says */
	uint32_t rows;
};
extern struct said said;

/* Who the next process that connects is. */
extern struct ucred caller;

/* The driver, its folder, and the socket there. */
extern struct unicd d;
extern char dir[], path[64];

/* Set-up of a test: without the socket, or listening at it. Tear-down. */
int begin(void **state);
int begin_listening(void **state);
int end(void **state);

/* The end of a process that connects; unicd has not looked yet. */
int call(void);
/* ... and is client @i then, or was turned away. */
int become(uint32_t i);

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define WITH_SOCKET(test) \
	cmocka_unit_test_setup_teardown(test, begin_listening, end)

#endif /* UNICD_RIG_H */
