/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_wire.h - the provider's calls, and the NICs that this process is attached to for
 * its connection manager.
 *
 * Secret: which are open. One is opened once and stays: librdmacm keeps its devices open
 * as long. A child of fork() opens its own.
 */
#ifndef UNIC_UCMA_WIRE_H
#define UNIC_UCMA_WIRE_H

#include "wire.h"

/** unic_shim_wire() - the provider, which looks for this by name, is there with @ops. */
const struct unic_wire_up *unic_shim_wire(const struct unic_wire_ops *ops);
/** unic_ucma_wire_ops() - the calls of the provider; NULL: it is not there. */
const struct unic_wire_ops *unic_ucma_wire_ops(void);
/** unic_ucma_wire_get() - the NIC at @where. 0 or -errno. Without the lock of all. */
int unic_ucma_wire_get(const char *where, struct unic_wire **out);
/** unic_ucma_wire_drop() - @w is lost: the next unic_ucma_wire_get() attaches again. */
void unic_ucma_wire_drop(const struct unic_wire *w);

#endif /* UNIC_UCMA_WIRE_H */
