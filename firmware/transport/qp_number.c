/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp_number.c - see qp_number.h. */
#include "transport/qp_number.h"

#include "transport/transport.h"

#define NUMBER_ROUNDS 8u

void unic_qp_number_draw(struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		nic->qps.key[i] = unic_random_u32(&nic->base);
}

void unic_qp_rekey(struct unic_transport *nic)
{
	uint32_t i, made = 0;

	for (i = 0; i < UNIC_QPS; i++)
		made |= nic->qps.qp[i].gen;
	if (!made)
		unic_qp_number_draw(nic);
}

/*
 * Of the @gen-th QP of index @idx: a Feistel network whose round function is
 * ChaCha20. Eight rounds, because halves of eight bits are small. Another one for
 * each 2^16 QPs: who made them all heard the whole of the last.
 */
uint32_t unic_qp_number(const struct unic_transport *nic, uint32_t idx,
			uint32_t gen)
{
	uint32_t l = gen >> 8 & 0xff, r = gen & 0xff, i, was;

	for (i = 0; i < NUMBER_ROUNDS; i++) {
		const uint32_t nonce[4] = { idx, i, r, gen >> 16 };
		uint32_t block[16];

		unic_chacha20_block(nic->qps.key, nonce, block);
		was = l;
		l = r;
		r = was ^ (block[0] & 0xff);
	}
	return l << 8 | r;
}
