/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lives.h - nothing of one connection takes effect in another (INV-18). A queue
 * pair has a life from RTR to the next RTR; a link has one from the time that both
 * ends have its number (`gen`) to the time that one of them is gone.
 *
 * Secret: what belongs to which life. On the wire: whoever answers a PSN must have
 * taken the request with it, and all before it, in the same life. In messages: one
 * arrives in the life that it was sent in, and one that was sent well in a life
 * has arrived in it.
 */
#ifndef SIM_LIVES_H
#define SIM_LIVES_H

#include "model.h"

struct node;
struct link;

void lives_reset(void);
/** lives_command() - the driver wrote a command. lives_done() - it was answered. */
void lives_command(const struct node *n, const struct tap_cmd *c);
void lives_done(const struct node *n, const struct tap_cmd *c, uint8_t status);
/** lives_epoch() - the NIC was reset. */
void lives_epoch(const struct node *n);
/** lives_took() - the NIC looks at a frame. lives_sent() - it sends one. */
void lives_took(const struct node *n, const uint8_t *frame, uint32_t len);
void lives_sent(const struct node *n, const uint8_t *frame, uint32_t len);

/** lives_post() - end @from of @l sends message @id in life @gen. */
void lives_post(const struct link *l, uint32_t gen, uint32_t from, uint64_t id);
/** lives_well() - ... and is told that it arrived. */
void lives_well(uint64_t id);
/** lives_received() - a receive of life @gen at the other end of @from has it. */
void lives_received(const struct link *l, uint32_t gen, uint32_t from,
		    uint64_t id);
/** lives_received_imm() - the same, of @id's low half alone. */
void lives_received_imm(const struct link *l, uint32_t gen, uint32_t from,
			uint32_t low);
/** lives_over() - all that the other end of @from received in @gen was heard. */
void lives_over(const struct link *l, uint32_t gen, uint32_t from);
/** lives_unknown() - ... or nobody will ever know what it was, in all lives. */
void lives_unknown(const struct link *l, uint32_t from);

#endif /* SIM_LIVES_H */
