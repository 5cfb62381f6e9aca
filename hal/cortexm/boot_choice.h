/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot_choice.h - the boot stub of a board whose flash holds the firmware twice, in
 * two slots, each with a record. An update writes the slot that does not run, and
 * then its record. Until the record is whole the other image boots, so power may
 * fail at any time. The stub of a board starts its clocks and its console in
 * machine_boot() (machine.h), and then calls boot_run().
 *
 * Secret: which of two images boots.
 *
 * The stub has no data, and a stack at the top of RAM (__boot_stack_top, of its
 * linker script): the firmware finds the rest as a crash left it.
 */
#ifndef CORTEXM_BOOT_CHOICE_H
#define CORTEXM_BOOT_CHOICE_H

#include "unic_types.h"

#define BOOT_SLOTS 2u
#define BOOT_MAGIC 0x746f6f62u /* "boot" */

struct boot_record {
	unic_le32 magic;
	unic_le32 number; /* number of the update; the greater boots */
	unic_le32 bytes;  /* length of the image */
	unic_le32 crc;	  /* CRC-32 of the image */
	unic_le32 check;  /* CRC-32 of the words before */
};

/* How the flash is divided: addresses. */
struct boot_layout {
	uint32_t image[BOOT_SLOTS];
	uint32_t record[BOOT_SLOTS];
	uint32_t image_bytes; /* of a slot */
};

/**
 * boot_run() - start the image with the latest record that is whole and whose
 * bytes match the record. Says which one, or "boot: no image" and stops: then the
 * flash is written by a debugger.
 * @say: writes a text to the console, to the last byte: the image sets clocks anew.
 */
void boot_run(const struct boot_layout *layout, void (*say)(const char *text))
	__attribute__((noreturn));

#endif /* CORTEXM_BOOT_CHOICE_H */
