/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * near_pages.h - the doorbell page and the NIC's page of a board whose host is at the
 * end of a UART, of as many rows as its board.h says: struct unic_db_page and struct
 * unic_nic_page have more.
 */
#ifndef UNIC_NEAR_PAGES_H
#define UNIC_NEAR_PAGES_H

#include "unic_queue.h"

#define UNIC_BOX_DB_PAGE  struct unic_near_db
#define UNIC_BOX_NIC_PAGE struct unic_near_np

struct unic_near_db {
	unic_le32 fifo_seq;
	unic_le32 rsvd[3];
	unic_le32 fifo[UNIC_BOX_DB_FIFO];
	struct unic_db_tail tail[UNIC_BOX_DB_ROWS];
	unic_le32 used[UNIC_BOX_DB_USED];
};

struct unic_near_np {
	unic_le32 asleep;
	unic_le32 epoch;
	unic_le32 rsvd[2];
	unic_le32 cq_events[UNIC_BOX_DB_ROWS];
	unic_le32 srq_taken[UNIC_SRQS]; /* there are none */
};

#endif /* UNIC_NEAR_PAGES_H */
