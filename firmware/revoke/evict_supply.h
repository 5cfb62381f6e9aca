/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * evict_supply.h - entries on their way back.
 *
 * Secret: which of them a request may count on. Those of a region whose grace was
 * extended are put off: they come back, but nobody counts on them.
 */
#ifndef UNIC_EVICT_SUPPLY_H
#define UNIC_EVICT_SUPPLY_H

#include <stdbool.h>
#include <stdint.h>

struct unic_mr_ctx;
struct unic_revoke;

/** unic_evict_supply_add() - entries and index of @mr are on their way back. Nothing if
 * they are counted already. */
void unic_evict_supply_add(struct unic_revoke *nic, struct unic_mr_ctx *mr);

/** unic_evict_supply_remove() - they are not, or they are back. Nothing if they are not
 * counted. */
void unic_evict_supply_remove(struct unic_revoke *nic, struct unic_mr_ctx *mr);

/** unic_evict_supply_put_off() - the entries of @mr are put off (@off), or are no more. */
void unic_evict_supply_put_off(struct unic_revoke *nic,
			       const struct unic_mr_ctx *mr, bool off);

/** unic_evict_supply_is_put_off() - is the grace of @mr extended? */
bool unic_evict_supply_is_put_off(const struct unic_mr_ctx *mr);

#endif /* UNIC_EVICT_SUPPLY_H */
