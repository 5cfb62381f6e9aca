/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * icrc.h - the invariant CRC of a RoCEv2 frame (IBTA 9.3, annex A17.3.3): CRC-32
 * over eight 0xff bytes and the frame from the IPv4 header on, where the fields
 * that routers change count as ones.
 */
#ifndef UNIC_ICRC_H
#define UNIC_ICRC_H

#include <stdbool.h>
#include <stdint.h>

/**
 * unic_crc32() - continues the CRC register @crc over @len bytes and returns it.
 * The first @crc is ~0; the CRC is the complement of the last. @data may have any
 * alignment. A board links icrc_table.c, where 4-aligned data take 3.5
 * instructions per byte on a Cortex-A15, or icrc_small.c, where they take 11.
 */
uint32_t unic_crc32(uint32_t crc, const uint8_t *data, uint32_t len);

/**
 * unic_icrc() - the ICRC of the frame at @frame (Ethernet header first, IPv4
 * without options), whose last byte before the ICRC is @frame[@len - 1]. @len: at
 * least UNIC_EXT_OFF. The frame carries it least significant byte first.
 */
uint32_t unic_icrc(const uint8_t *frame, uint32_t len);

/** unic_icrc_ok() - true if the last four of the frame's @bytes are its ICRC.
 * @bytes: at least UNIC_EXT_OFF + UNIC_ICRC_BYTES. */
bool unic_icrc_ok(const uint8_t *frame, uint32_t bytes);

#endif /* UNIC_ICRC_H */
