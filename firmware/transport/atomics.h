/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * atomics.h - COMPARE_SWAP and FETCH_ADD of a peer, executed (IBTA 9.4.5).
 *
 * Secret: how a read and a write are one operation. On a port that shows host memory to
 * the processor, nothing else of the NIC runs between the two. On another port the frame
 * in hand waits for both pieces of DMA, and no other frame is looked at meanwhile. So no
 * two atomic operations of a NIC overlap. What the host itself writes meanwhile is lost
 * (IBV_ATOMIC_HCA).
 */
#ifndef UNIC_ATOMICS_H
#define UNIC_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_types.h"

struct unic_transport;
struct unic_qp_ctx;

/* What a request asks for. */
struct unic_atomic_ask {
	uint64_t iova;
	uint64_t value; /* to be written, or to be added */
	uint64_t compare;
	uint32_t psn, rkey;
	bool swaps; /* COMPARE_SWAP */
};

/* What the frame in hand asks for or answers. */
struct unic_atomics {
	/* an operation, on a port that answers "pending" */
	struct unic_atomic_ask ask;
	uint32_t conn; /* qp->conn of its queue pair */
	uint8_t stage; /* how far it is, see atomics.c; 0: there is none */
	bool failed;   /* a piece of DMA ended in a bus error */
	unic_le64 was, next; /* what was read; what is being written */
	unic_le64 answer;    /* to one of ours, to be placed */
};

/** unic_atomics_init() - no operation is under way. */
void unic_atomics_init(struct unic_transport *nic);

/**
 * unic_atomics_run() - execute @ask, with a multiple of 8 as its address.
 * Returns 0: done, and *@was was there before. -UNIC_EAGAIN: call again, with the same
 * frame, at a later poll. Else nothing has happened: -UNIC_EBUS, or what the access check
 * said; -UNIC_EBOUNDS, too, if the 8 bytes do not lie side by side in host memory.
 */
int unic_atomics_run(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     const struct unic_atomic_ask *ask, uint64_t *was);

/** unic_atomics_moved() - a piece of DMA of the operation of QP @idx has ended. */
void unic_atomics_moved(struct unic_transport *nic, uint16_t idx, bool ok);

#endif /* UNIC_ATOMICS_H */
