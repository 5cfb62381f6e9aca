/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * icrc.h - the invariant CRC of RoCEv2 (IBTA 1.4 volume 1 section 7.8.1,
 * annex A17.3.3): CRC-32 of Ethernet over the packet from the IPv4 header on,
 * behind 8 bytes of ones, with the fields that routers change taken as ones.
 */
#ifndef ICRC_H
#define ICRC_H

#include <stdbool.h>
#include <stdint.h>

struct frame;

/**
 * icrc_fill() - compute and store the ICRC of an Ethernet frame, if it is an
 * unfragmented RoCEv2 frame over IPv4. @frame: from the Ethernet header on; @len:
 * its length. Returns false, with nothing written, for any other frame.
 */
bool icrc_fill(uint8_t *frame, uint32_t len);

/** icrc_covers() - is this a frame that icrc_fill() would fill? */
bool icrc_covers(const uint8_t *frame, uint32_t len);

/**
 * icrc_finish() - fill in the ICRC of @f, if the sender left the ICRC to the
 * switch (frame.h, no_icrc), and clear the mark: a second call does nothing. A
 * frame that icrc_fill() does not cover stays as it is.
 */
void icrc_finish(struct frame *f);

#endif /* ICRC_H */
