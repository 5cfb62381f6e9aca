/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pain.c - see pain.h. */
#include "arbiter/pain.h"

#define FRACTION_LOG2 8u /* of a demand */
#define USE_MAX \
	(1u << 16) /* bytes: a use that moves more counts as one of these */

uint32_t unic_pain_wait(uint32_t wait, uint64_t ns)
{
	uint64_t now = ns >> 6;

	if (now > UINT32_MAX)
		now = UINT32_MAX;
	return (uint32_t)((3ull * wait + now) / 4);
}

uint16_t unic_pain_of_use(uint32_t bytes)
{
	if (bytes > USE_MAX)
		bytes = USE_MAX;
	return (uint16_t)(unic_lg(UNIC_PAIN_OP + bytes) -
			  unic_lg(UNIC_PAIN_OP));
}

/* unic_lg() of the part of a window in which one more item of @t would be wanted; at
 * most 0. */
static int32_t lg_need(const struct unic_pain_trade *t)
{
	uint32_t stock = t->stock + t->entries;
	int32_t lg;

	if (stock < t->stock)
		stock = UINT32_MAX;
	lg = unic_lg(t->demand) + unic_lg(t->entries) - unic_lg(stock) -
	     UNIC_LG_ONE * (int32_t)FRACTION_LOG2;
	return lg < 0 ? lg : 0;
}

bool unic_pain_pays(const struct unic_pain_trade *t)
{
	int32_t pain, saved;

	if (!t->weight || !t->traffic)
		return true;
	if (!t->mean || !t->demand)
		return false;
	pain = unic_lg(t->traffic) + unic_lg(t->again) + unic_lg(t->weight) -
	       UNIC_LG_ONE * (int32_t)UNIC_PAIN_WEIGHT_LOG2;
	saved = unic_lg(t->mean) + unic_lg(t->wait) + lg_need(t);
	return pain <= saved;
}
