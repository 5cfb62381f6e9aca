/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy_fifo.h - the choices of `random` and `s3fifo`, for policy.c.
 *
 * Secret: how S3-FIFO keeps its small and its main queue in the lists of policy_item.h.
 */
#ifndef UNIC_POLICY_FIFO_H
#define UNIC_POLICY_FIFO_H

#include <stdint.h>

struct unic_chooser;

/* The choices of `random` and `s3fifo`, as unic_policy_victim(). */
uint16_t unic_chooser_any(struct unic_chooser *c, uint64_t young_ns);
uint16_t unic_chooser_fifo(struct unic_chooser *c, uint64_t young_ns);

#endif /* UNIC_POLICY_FIFO_H */
