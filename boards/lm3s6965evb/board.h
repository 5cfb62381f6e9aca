/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * board.h - table sizes of the LM3S6965: what fits 64 KiB of RAM beside the
 * stack, two Ethernet frames and the serial link. Defines itself what usual.h has
 * for boards with room; the mailbox here is the near copy of hal/serial.
 */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#include "tables.h"

#define UNIC_PATHS	 1u
#define UNIC_ALWAYS_RING 0
#define UNIC_TABLE_READS 0

#define UNIC_BOX_INFO	0u   /* 192 */
#define UNIC_BOX_NIC	192u /* 384 */
#define UNIC_BOX_DRIVER 576u /* 448 */
#define UNIC_BOX_CMD	1024u
#define UNIC_BOX_CPL	1280u
#define UNIC_BOX_EVT	1536u
#define UNIC_BOX_MAD	2560u
#define UNIC_BOX_LIST	3584u
#define UNIC_BOX_DROP	5632u
#define UNIC_BOX_TRACE	6656u
#define UNIC_BOX_USE	7168u
#define UNIC_BOX_STATS	7680u /* to the end */
#define UNIC_BOX_BYTES	8704u

#define UNIC_BOX_CMDS	    4u
#define UNIC_BOX_CPLS	    4u
#define UNIC_BOX_EVTS	    16u
#define UNIC_BOX_MADS	    2u
#define UNIC_BOX_DROPS	    64u
#define UNIC_BOX_TRACES	    16u
#define UNIC_BOX_LIST_BYTES 512u

#define UNIC_BOX_DB_FIFO 16u
#define UNIC_BOX_DB_ROWS 16u
#define UNIC_BOX_DB_USED 16u

#include "../near_pages.h"

#endif /* UNIC_BOARD_H */
