/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * identity.h - a page of flash that says who a board is. tools/install/flash.py writes
 * it, once: a board that its maker gave no MAC address gets one that nobody else
 * has. Updates leave it alone.
 */
#ifndef CORTEXM_IDENTITY_H
#define CORTEXM_IDENTITY_H

#include <stdbool.h>

#include "unic_types.h"

#define IDENTITY_MAGIC 0x63696e75u /* "unic" */

struct identity_page {
	unic_le32 magic;
	uint8_t mac[6];
	uint8_t rsvd[2]; /* 0 */
	unic_le32 check; /* CRC-32 of the bytes before */
};

UNIC_ABI_SIZE(identity_page, 16);

/** identity_mac() - the MAC address in the page at @page. Returns false, with @mac
 * as it was, if nobody has written the page, or it is damaged. */
bool identity_mac(uintptr_t page, uint8_t mac[6]);

#endif /* CORTEXM_IDENTITY_H */
