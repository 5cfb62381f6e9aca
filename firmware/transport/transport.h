/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * transport.h - what transport/ and the rooms behind it see of the NIC: queue pairs,
 * frames, DMA; see base/base.h.
 */
#ifndef UNIC_TRANSPORT_H
#define UNIC_TRANSPORT_H

#include "revoke/revoke.h"
#include "transport/arp.h"
#include "transport/atomics.h"
#include "transport/cq.h"
#include "transport/cut.h"
#include "transport/dma.h"
#include "transport/local_ops.h"
#include "transport/meter.h"
#include "transport/parked.h"
#include "transport/qp.h"
#include "transport/srq.h"

struct unic_transport {
	union {
		struct unic_revoke revoke;
		struct unic_revoke;
	};
	struct unic_sched sched;
	uint32_t rx_fault; /* frames still to drop (FAULT) */
	/* what the last frame was like, see fastpath_expect.h */
	const struct unic_expect *expected;
	struct unic_dma dma;
	struct unic_cqs cqs;
	struct unic_qps qps;
	struct unic_arps arps;
	struct unic_list_reader list_reader;
	struct unic_parked_frames parked;
	struct unic_sched_order order;
	struct unic_cut_lap cut_lap;
	struct unic_meters meters;
	struct unic_atomics atomics[UNIC_ATOMICS]; /* of the frame in hand */
	struct unic_srqs srqs;
};

#endif /* UNIC_TRANSPORT_H */
