/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * metrics.h - what the NICs count, for who asks by HTTP on a Unix socket: the text of
 * `unicctl metrics` (OpenMetrics 1.0), made by the same code.
 *
 * Secret: a thread, which is a client of this driver like any other, and serves one
 * request after the other.
 */
#ifndef UNICD_METRICS_H
#define UNICD_METRICS_H

#include "unicd.h"

struct unicd_metrics;

/**
 * unicd_metrics_start() - serve the socket @path, which only this user and root may use:
 * GET of /metrics or / is answered with the metrics of the first NIC, of /metrics/NAME with
 * those of another one. Who is silent for 5 s is cut off. d->socket is served already.
 * Returns 0, *@out is for unicd_metrics_stop(); -EADDRINUSE: another process serves @path;
 * -EEXIST: it is no socket; -errno. An error is logged.
 */
int unicd_metrics_start(const struct unicd *d, const char *path,
			struct unicd_metrics **out);

/** unicd_metrics_stop() - end the thread, remove the socket. @m: NULL, too. The clients of
 * this driver have ended (unicd_clients_fini()). */
void unicd_metrics_stop(struct unicd_metrics *m);

#endif /* UNICD_METRICS_H */
