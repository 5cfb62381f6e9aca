/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * given.h - which options were given, for a program whose commands take different ones: one
 * that a command has no use for is refused, not passed over.
 *
 * Secret: how they are kept.
 */
#ifndef GIVEN_H
#define GIVEN_H

#include <argp.h>

#define GIVEN_MAX 64

struct given {
	struct {
		int key;
		char letter;
	} option[GIVEN_MAX];
	int n;
};

/** given_note() - remember that the option of @key was given; @letter: what it is called in
 * given_unused(). What is no key of an option is not kept. Ends the program with words
 * after GIVEN_MAX of them. */
void given_note(struct argp_state *state, struct given *g, int key,
		char letter);

/** given_unused() - the name, in @options, of the first option that was given and whose
 * letter is not in @taken; NULL: there is none. */
const char *given_unused(const struct given *g,
			 const struct argp_option *options, const char *taken);

/** given_check() - end the program with words about @command if given_unused() finds one. */
void given_check(struct argp_state *state, const struct given *g,
		 const struct argp_option *options, const char *command,
		 const char *taken);

#endif /* GIVEN_H */
