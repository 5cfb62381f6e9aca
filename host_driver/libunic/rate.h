/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rate.h - transmit limits after a reset of the NIC; see unic.h for the rest. */
#ifndef UNIC_RATE_H
#define UNIC_RATE_H

struct unic_qp;

/** unic_qp_rate_again() - set the limit of @qp at a NIC that was reset. 0 or -errno. */
int unic_qp_rate_again(struct unic_qp *qp);

#endif /* UNIC_RATE_H */
