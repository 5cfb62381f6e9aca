/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * qp_number.h - which number a queue pair gets.
 *
 * Secret: the permutation. A number is 16 bits << 8 | index, of which the 16 walk a
 * keyed permutation, and another one after each 2^16 QPs: a packet for a QP that is gone reaches nobody
 * until its index's walk ends, but for one of the next 2^16, and numbers that were
 * heard say nothing of those that follow.
 */
#ifndef UNIC_QP_NUMBER_H
#define UNIC_QP_NUMBER_H

#include <stdint.h>

struct unic_transport;

/** unic_qp_number_draw() - a new key: numbers are others from here on. */
void unic_qp_number_draw(struct unic_transport *nic);

/** unic_qp_rekey() - the random numbers are better than before: a new key, if no
 * QP was made in this epoch. */
void unic_qp_rekey(struct unic_transport *nic);

/** unic_qp_number() - the upper 16 bits of the number of the @gen-th QP of index @idx;
 * 0 is nobody's. */
uint32_t unic_qp_number(const struct unic_transport *nic, uint32_t idx,
			uint32_t gen);

#endif /* UNIC_QP_NUMBER_H */
