/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_args.h - the command line of unic-kio.
 *
 * Secret: the words and options, and their defaults.
 */
#ifndef KIO_ARGS_H
#define KIO_ARGS_H

#include <stdbool.h>

#include "kio_ask.h"

struct kio_options {
	struct kio_peer peer;
	char *command, *remote, *local;
	bool quiet;
	bool lost; /* standard output took not all that was fetched */
};

/** kio_args_parse() - fill in @o, all of which is 0, from the command line and the
 * environment; remote and local point into @argv. Ends the program with words if the
 * line is invalid. */
void kio_args_parse(struct kio_options *o, int argc, char **argv);

#endif /* KIO_ARGS_H */
