/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* metrics_text.c - see metrics_text.h. */
#define _GNU_SOURCE
#include "metrics_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_metrics.h"
#include "nics.h"
#include "unic.h"

/* What went wrong, in place of the metrics. */
static int fail_text(int err, char **text, size_t *bytes)
{
	free(*text);
	*text = strdup(unic_last_error());
	*bytes = *text ? strlen(*text) : 0;
	return err;
}

int metrics_text(const char *where, char **text, size_t *bytes)
{
	struct unic_conn *conn;
	FILE *out;
	int err;

	*text = NULL;
	*bytes = 0;
	err = unic_nics_open(where, &conn, NULL);
	if (err)
		return fail_text(err, text, bytes);
	out = open_memstream(text, bytes);
	err = !out || ctl_metrics(conn, out) ? -EIO : 0;
	if (out && fclose(out))
		err = -ENOMEM;
	unic_conn_close(conn);
	return err ? fail_text(err, text, bytes) : 0;
}
