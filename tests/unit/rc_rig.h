/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rc_rig.h - the set-up of the tests of reliable connections: the pair of pair.h
 * on one wire, which loses, repeats and swaps frames as the test sets it.
 */
#ifndef RC_RIG_H
#define RC_RIG_H

#include "pair.h"

/* Bytes of a region, and ns of a ms. */
#define BYTES PAIR_BYTES
#define MS    1000000ull

/* What the wire does to frames, of both directions counted together. */
struct rc_wire {
	uint32_t seen;
	uint32_t lose, twice, swap; /* number of the frame, from 1; 0: none */
	bool cut;
	uint8_t held[FAKE_FRAME_BYTES];
	uint32_t held_len, held_flags;
};

/* The wire. */
extern struct rc_wire rc_wire;

/*
 * The wire's on_frame: does to a frame of @port what rc_wire says, and delivers
 * it to the peer.
 */
void rc_on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags);

/*
 * Sets up the pair, on a wire that delivers every frame; @icrc: frames have an
 * ICRC.
 */
void rc_bring_up(bool icrc);

/* Set-up of a test: the pair, whose frames have no ICRC. */
int rc_up(void **state);

/*
 * The next completion of @qp must have these fields; @opcode is checked if it is
 * not 0, @len if the request succeeded.
 */
void rc_expect(struct rig *r, struct rig_qp *qp, uint8_t opcode, uint64_t wr_id,
	       uint8_t status, uint32_t len);

/* Every hold of @r must be released: no region, frame or transmit slot is held. */
void rc_quiet_of(const struct rig *r);

/* As rc_quiet_of(), for both NICs. */
void rc_quiet(void);

#endif /* RC_RIG_H */
