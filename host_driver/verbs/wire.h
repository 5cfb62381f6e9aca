/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wire.h - the calls of shim/wire.h, on connections of libunic (cm_raw.h): the provider's
 * part of the connection manager that librdmacm talks to.
 */
#ifndef UNIC_VERBS_WIRE_H
#define UNIC_VERBS_WIRE_H

#include "attach.h"

/** unic_ibv_wire_changed() - raw connection @conn of @at has changed: tell the preloaded
 * library. Called by the thread of @at. */
void unic_ibv_wire_changed(struct unic_attach *at, uint32_t conn);
/** unic_ibv_wire_resync() - any of them may have. */
void unic_ibv_wire_resync(struct unic_attach *at);
/** unic_ibv_wire_lost() - the driver or the NIC of @at is gone. */
void unic_ibv_wire_lost(struct unic_attach *at);

#endif /* UNIC_VERBS_WIRE_H */
