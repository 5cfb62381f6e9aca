/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_a11.h - IBTA annex A11, IP addressing: service ids of ports, and the header in
 * front of the private data of a REQ and SIDR_REQ. IPv4 only.
 */
#ifndef UNIC_UCMA_A11_H
#define UNIC_UCMA_A11_H

#include <stdbool.h>
#include <stdint.h>

#define UNIC_A11_BYTES 36

struct unic_a11 {
	uint16_t port;	   /* of the side that connects; host order, as all */
	uint32_t src, dst; /* side that connects, side that listens */
};

/** unic_a11_service() - the service id of @port in port space @ps. */
uint64_t unic_a11_service(uint16_t ps, uint16_t port);
/** unic_a11_port() - the port of service id @service. */
uint16_t unic_a11_port(uint64_t service);
/** unic_a11_put() - write the header, UNIC_A11_BYTES. */
void unic_a11_put(uint8_t *to, const struct unic_a11 *from);
/** unic_a11_get() - read it. False: of another version, or not of IPv4. */
bool unic_a11_get(const uint8_t *from, struct unic_a11 *to);

#endif /* UNIC_UCMA_A11_H */
