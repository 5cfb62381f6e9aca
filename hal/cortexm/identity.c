/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "identity.h"

#include <string.h>

#include "frame.h"

bool identity_mac(uintptr_t page, uint8_t mac[6])
{
	const struct identity_page *id = (const struct identity_page *)page;

	if (unic_from_le32(id->magic) != IDENTITY_MAGIC ||
	    unic_from_le32(id->check) !=
		    frame_crc((const uint8_t *)id,
			      offsetof(struct identity_page, check)))
		return false;
	memcpy(mac, id->mac, sizeof(id->mac));
	return true;
}
