/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * refs.h - references that keep a region in place: operations in progress, DMA
 * pieces in flight, rings that lie in it.
 *
 * Secret: a draining region that loses its last reference is put on the list of
 * idle.h.
 */
#ifndef UNIC_REFS_H
#define UNIC_REFS_H

#include <stdint.h>

struct unic_memory;

/**
 * unic_mr_hold() / unic_mr_unhold() - an operation in progress needs @mr
 * translatable until it is acknowledged. Counted; the last unhold of a DRAINING
 * region makes it idle.
 */
void unic_mr_hold(struct unic_memory *nic, uint16_t mr);
void unic_mr_unhold(struct unic_memory *nic, uint16_t mr);

/** unic_mr_dma_get() / _put() - a DMA piece is in flight through @mr; it counts for the region,
 * too, that a window is over and whose entries are cached. */
void unic_mr_dma_get(struct unic_memory *nic, uint16_t mr);
void unic_mr_dma_put(struct unic_memory *nic, uint16_t mr);

/**
 * unic_mr_queue_get() / _put() - a QP or CQ has its ring in control region @mr,
 * which can then not be deregistered.
 */
void unic_mr_queue_get(struct unic_memory *nic, uint16_t mr);
void unic_mr_queue_put(struct unic_memory *nic, uint16_t mr);

#endif /* UNIC_REFS_H */
