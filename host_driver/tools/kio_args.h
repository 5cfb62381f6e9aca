/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_args.h - the command line of unic-kio.
 *
 * Secret: the words and options, and their defaults.
 */
#ifndef KIO_ARGS_H
#define KIO_ARGS_H

#include <stdbool.h>

#include "given.h"
#include "kio_ask.h"

struct kio_options;

struct kio_command {
	const char *name;
	const char *takes; /* letters of its options */
	int (*run)(struct kio_options *o);
};

struct kio_options {
	const struct kio_command *commands; /* n_commands */
	size_t n_commands;
	const struct kio_command *command; /* that was given */
	struct given given;
	struct kio_peer peer;
	char *remote, *local;
	bool quiet;
	bool lost; /* standard output took not all that was fetched */
};

/** kio_args_parse() - fill in @o, all of which is 0 but for the commands that there are,
 * from the command line and the environment; remote and local point into @argv. Ends the program with words if the
 * line is invalid. */
void kio_args_parse(struct kio_options *o, int argc, char **argv);

#endif /* KIO_ARGS_H */
