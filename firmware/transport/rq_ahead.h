/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rq_ahead.h - receives are translated before their messages come (MEMORY.md section 1:
 * "pre-translated").
 *
 * Secret: which receives are next, and who waits for room among the misses.
 */
#ifndef UNIC_RQ_AHEAD_H
#define UNIC_RQ_AHEAD_H

#include <stdbool.h>

struct unic_transport;

/** unic_rq_ahead_more() - there is room among the misses: QPs that found none look again. */
void unic_rq_ahead_more(struct unic_transport *nic);

/**
 * unic_rq_ahead() - fetch receives that were posted, at most a window of them, and
 * ask for their pages before their messages come. A bounded step: four queue pairs. True if there was work.
 */
bool unic_rq_ahead(struct unic_transport *nic);

/** unic_rq_ahead_due() - is there work for it? */
bool unic_rq_ahead_due(const struct unic_transport *nic);

#endif /* UNIC_RQ_AHEAD_H */
