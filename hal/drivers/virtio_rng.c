/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "virtio_rng.h"

#include <string.h>

static void virtio_rng_refill(struct virtio_rng *rng)
{
	virtq_post(&rng->q, 0, VIRTIO_RNG_BYTES);
	virtq_kick(&rng->q);
}

int virtio_rng_init(struct virtio_rng *rng, uintptr_t regs)
{
	int status = virtio_mmio_start(regs, 0);

	if (status == VIRTIO_MMIO_OK)
		status = virtio_mmio_queue(regs, 0, &rng->q, 1);
	if (status != VIRTIO_MMIO_OK)
		return status;
	virtq_describe(&rng->q, 0, rng->buf, VIRTIO_RNG_BYTES,
		       VIRTQ_DESC_WRITE);
	virtio_mmio_run(regs);
	rng->up = true;
	virtio_rng_refill(rng);
	return VIRTIO_MMIO_OK;
}

bool virtio_rng_ready(struct virtio_rng *rng)
{
	uint32_t id, filled;

	if (rng->have)
		return true;
	if (!rng->up || !virtq_take(&rng->q, &id, &filled))
		return false;
	rng->have = filled < VIRTIO_RNG_BYTES ? filled : VIRTIO_RNG_BYTES;
	if (!rng->have)
		virtio_rng_refill(rng);
	return rng->have;
}

uint32_t virtio_rng_get(struct virtio_rng *rng, uint8_t *buf, uint32_t len)
{
	if (!len || !virtio_rng_ready(rng))
		return 0;
	if (len > rng->have)
		len = rng->have;
	rng->have -= len;
	memcpy(buf, rng->buf + rng->have, len);
	memset(rng->buf + rng->have, 0, len);
	if (!rng->have)
		virtio_rng_refill(rng);
	return len;
}
