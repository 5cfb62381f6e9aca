/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot.h - how the flash of an LM3S6965 is divided. Both slots hold the firmware,
 * linked for that place; hal/cortexm/boot_choice.h has the records.
 *
 *	00000000  boot stub, 8 KiB
 *	00002000  slot A, 112 KiB
 *	0001e000  slot B, 112 KiB
 *	0003a000  record of slot A, a page of 1 KiB (what is erased at a time)
 *	0003a400  record of slot B
 *	0003a800  identity of the board (hal/cortexm/identity.h)
 */
#ifndef LM3S_BOOT_H
#define LM3S_BOOT_H

#define BOOT_SLOT_BYTES	  0x1c000u
#define BOOT_SLOT_BASE(s) (0x2000u + (s)*BOOT_SLOT_BYTES)
#define BOOT_RECORD(s)	  (0x3a000u + (s)*0x400u)
#define BOOT_IDENTITY	  0x3a800u

#endif /* LM3S_BOOT_H */
