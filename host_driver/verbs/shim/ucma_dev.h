/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_dev.h - the devices of the generated tree, as the connection manager needs them.
 */
#ifndef UNIC_UCMA_DEV_H
#define UNIC_UCMA_DEV_H

#include <stdint.h>

#define UNIC_UCMA_DEVICES 8
#define UNIC_UCMA_WHERE	  128
#define UNIC_UCMA_NAME	  64

struct unic_ucma_dev {
	char name[UNIC_UCMA_NAME];
	char where[UNIC_UCMA_WHERE]; /* PATH[,NIC] of its driver */
	uint32_t ipv4;		     /* host order */
	uint8_t guid[8];	     /* of the node, as on the wire */
};

/** unic_ucma_devs() - read the tree at @sys: how many devices, of at most
 * UNIC_UCMA_DEVICES, in their order. */
int unic_ucma_devs(const char *sys,
		   struct unic_ucma_dev dev[UNIC_UCMA_DEVICES]);

#endif /* UNIC_UCMA_DEV_H */
