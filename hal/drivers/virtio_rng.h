/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * virtio_rng.h - random bytes from a virtio entropy device, never waited for:
 * a buffer is filled in the background and handed out; no byte twice.
 */
#ifndef VIRTIO_RNG_H
#define VIRTIO_RNG_H

#include "virtio_mmio.h"

#define VIRTIO_RNG_BYTES 128u

struct virtio_rng {
	struct virtq q;
	uint8_t buf[VIRTIO_RNG_BYTES];
	uint32_t have; /* bytes of buf not handed out yet, at its start */
	bool up;
};

/**
 * virtio_rng_init() - start the device at @regs and ask for the first bytes.
 * @rng: zeroed. Returns an enum virtio_mmio_status; on an error there is no
 * entropy, ever.
 */
int virtio_rng_init(struct virtio_rng *rng, uintptr_t regs);

/** virtio_rng_ready() - would virtio_rng_get() give something now? */
bool virtio_rng_ready(struct virtio_rng *rng);

/**
 * virtio_rng_get() - up to @len bytes into @buf.
 * Returns how many; 0 if there are none now.
 */
uint32_t virtio_rng_get(struct virtio_rng *rng, uint8_t *buf, uint32_t len);

#endif /* VIRTIO_RNG_H */
