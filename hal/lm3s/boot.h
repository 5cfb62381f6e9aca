/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot.h - how the flash of an LM3S6965 is divided, and the records that select
 * the image to run. Both slots hold the firmware, linked for that place; an
 * update writes the slot that does not run, and then its record. Until the record
 * is whole the other image boots, so power may fail at any time.
 *
 *	00000000  boot stub, 8 KiB
 *	00002000  slot A, 112 KiB
 *	0001e000  slot B, 112 KiB
 *	0003a000  record of slot A, a page of 1 KiB (what is erased at a time)
 *	0003a400  record of slot B
 */
#ifndef LM3S_BOOT_H
#define LM3S_BOOT_H

#include "unic_types.h"

#define BOOT_SLOTS	  2u
#define BOOT_SLOT_BYTES	  0x1c000u
#define BOOT_SLOT_BASE(s) (0x2000u + (s)*BOOT_SLOT_BYTES)
#define BOOT_RECORD(s)	  (0x3a000u + (s)*0x400u)
#define BOOT_MAGIC	  0x746f6f62u /* "boot" */

struct boot_record {
	unic_le32 magic;
	unic_le32 number; /* number of the update; the greater boots */
	unic_le32 bytes;  /* length of the image */
	unic_le32 crc;	  /* CRC-32 of the image */
	unic_le32 check;  /* CRC-32 of the words before */
};

#endif /* LM3S_BOOT_H */
