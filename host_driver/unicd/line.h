/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * line.h - a NIC at the other end of a UART: its link is a part of the event loop.
 */
#ifndef UNICD_LINE_H
#define UNICD_LINE_H

#include "unicd.h"

/**
 * unicd_line_init() - make os->line for the NIC at opt.link, with the memory that the
 * board has mapped. The path is opened by unicd_line_turn(), as often as it takes.
 * Returns 0 or -ENOMEM.
 */
int unicd_line_init(struct unic_os *os);

/** unicd_line_event() - read what has come, as much as the pace of the line allows; a
 * link that ended is closed, which is logged. */
void unicd_line_event(struct unic_os *os);

/**
 * unicd_line_turn() - send what the driver and the processes wrote, as much as the pace
 * of the line allows, and hand on what the NIC did: it joined, left, crashed, or rang.
 * Returns when to call it again at the latest, in nanoseconds of unic_os_now_ns().
 */
uint64_t unicd_line_turn(struct unic_os *os);

/** unicd_line_fini() - close the link and free os->line; NULL is fine. */
void unicd_line_fini(struct unic_os *os);

#endif /* UNICD_LINE_H */
