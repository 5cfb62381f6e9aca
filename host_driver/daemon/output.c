/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

int output_end(const char *program, int status)
{
	int before = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !before)
		return status;
	fprintf(stderr, "%s: standard output: %s\n", program,
		errno ? strerror(errno) : "a part was not written");
	return status ? status : EX_IOERR;
}
