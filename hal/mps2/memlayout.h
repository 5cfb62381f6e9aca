/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * memlayout.h - where things are on the Arm MPS2 board with FPGA image AN385 (Arm
 * application note 385), and where the image puts itself.
 *
 *	00000000  SSRAM 1, 4 MiB: our vectors, text and constants, read-only
 *	20000000  SSRAM 2 and 3, 4 MiB. The first page is the guard below the
 *		  stack; then our stacks, tables and data, never executed
 *	21000000  PSRAM, 16 MiB, shared with the host: the mailbox, then the
 *		  process slots (unic-bus --joint)
 *	40000000  timers and serial ports (CMSDK)
 *	40200000  Ethernet controller (LAN9220; in QEMU a LAN9118)
 *
 * What is not listed here is not mapped (MPU): a wild pointer faults.
 */
#ifndef MPS2_MEMLAYOUT_H
#define MPS2_MEMLAYOUT_H

#include "board.h"
#include "unic_mbox.h"

#define MPS2_HZ 25000000u

#define MPS2_CODE	0x00000000u
#define MPS2_CODE_SHIFT 22
#define MPS2_RAM	0x20000000u
#define MPS2_RAM_SHIFT	22

/* The stack overflows into this. */
#define MPS2_GUARD	 MPS2_RAM
#define MPS2_GUARD_SHIFT 12

#define MPS2_SHARED	  0x21000000u
#define MPS2_SHARED_SHIFT 24
#define MPS2_SLOTS	  (MPS2_SHARED + UNIC_BAR_BYTES)
#define MPS2_SLOT_BYTES	  0x200000u

_Static_assert(UNIC_BAR_BYTES + UNIC_PROCS * MPS2_SLOT_BYTES <=
		       1u << MPS2_SHARED_SHIFT,
	       "mailbox and slots fit the shared memory");

/* Timers, serial ports, and the Ethernet controller, in one region. */
#define MPS2_DEVICES	   0x40000000u
#define MPS2_DEVICES_SHIFT 22

#define MPS2_CLOCK	    0x40000000u /* timer 0 */
#define MPS2_ALARM	    0x40001000u /* timer 1 */
#define MPS2_ALARM_IRQ	    9u
#define MPS2_CONSOLE	    0x40004000u /* serial port 0 */
#define MPS2_DOORBELLS	    0x40005000u /* serial port 1 */
#define MPS2_DOORBELLS_RX   2u
#define MPS2_DOORBELLS_TX   3u
#define MPS2_ETHERNET	    0x40200000u
#define MPS2_ETHERNET_IRQ   13u
#define MPS2_CONSOLE_BAUD   115200u
#define MPS2_DOORBELLS_BAUD 921600u

#endif /* MPS2_MEMLAYOUT_H */
