/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * qp_modify.h - how a queue pair is made, and its states.
 *
 * Secret: which attributes each transition takes, and what makes them wrong. The states
 * are in qp.h.
 */
#ifndef UNIC_QP_MODIFY_H
#define UNIC_QP_MODIFY_H

#include "unic_mbox.h"

struct unic_transport;

/** unic_qp_create() - QP_CREATE. Returns the QP number, or an error that
 * changed nothing: -UNIC_ENOPD, -UNIC_ENOCQ, -UNIC_EINVAL, -UNIC_EQPFULL,
 * -UNIC_EBUSY (doorbell row), the errors of unic_access(). */
int unic_qp_create(struct unic_transport *nic,
		   const struct unic_cmd_qp_create *cmd);

/**
 * unic_qp_modify() - QP_MODIFY. After RESET nothing of the connection that was
 * takes effect any more, and what it occupied is free (INV-18).
 *
 * Returns 0; -UNIC_ENOQP; -UNIC_EINVAL (attribute, or one of another transition
 * that is not 0); -UNIC_ESTATE (no such transition); -UNIC_ENOROUTE (to RTR: we have no address or no link);
 * -UNIC_EBUSY (to RESET while DMA is in flight: ask again).
 */
int unic_qp_modify(struct unic_transport *nic,
		   const struct unic_cmd_qp_modify *cmd);

#endif /* UNIC_QP_MODIFY_H */
