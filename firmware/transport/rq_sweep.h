/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rq_sweep.h - receives of evicted regions are looked for.
 *
 * Secret: in which order, and how many in a round. The sweep goes round and round the
 * queue pairs, a window of receives in each round of work, until each STag that was
 * taken back (memory/revoked.h) had a lap: an eviction only names one more, and does not
 * begin anew. Until then, receives of an evicted region are known as such to messages,
 * too, even if the region's index is in use again.
 */
#ifndef UNIC_RQ_SWEEP_H
#define UNIC_RQ_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct unic_rq_slot;
struct unic_transport;

/** unic_rq_sweep_due() - is there work for unic_rq_sweep()? */
bool unic_rq_sweep_due(const struct unic_transport *nic);

/** unic_rq_sweep() - a bounded step of looking for receives of evicted regions.
 * True if there was work. */
bool unic_rq_sweep(struct unic_transport *nic);

/** unic_rq_sweep_forget() - QP @idx is leaving: the sweep goes on elsewhere. */
void unic_rq_sweep_forget(struct unic_transport *nic, uint16_t idx);

/** unic_rq_swept() - @count slots of QP @idx that the sweep asked for have arrived
 * (@ok), or cannot be read. */
void unic_rq_swept(struct unic_transport *nic, uint16_t idx, uint32_t count,
		   bool ok);

/** unic_rq_sweep_finds() - a region that @slot names was taken back. */
bool unic_rq_sweep_finds(const struct unic_transport *nic,
			 const struct unic_rq_slot *slot);

#endif /* UNIC_RQ_SWEEP_H */
