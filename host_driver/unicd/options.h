/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * options.h - what the command line says of the driver and of each NIC.
 *
 * Secret: that options before the first --nic are of all NICs, and the others of the one
 * named before them.
 */
#ifndef UNICD_OPTIONS_H
#define UNICD_OPTIONS_H

#include "unicd.h"

/** unicd_options_parse() - set @d->nics, the options of each NIC, and what is of all:
 * @d->socket, @d->spin_us, @d->audit. Texts stay where they are in @argv. Ends the process
 * with words if the command line makes no sense, or asks for help.
 * Returns 0 or an errno. */
int unicd_options_parse(struct unicd *d, int argc, char **argv);

#endif /* UNICD_OPTIONS_H */
