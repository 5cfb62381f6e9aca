/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lives.h - nothing of one connection takes effect in another (INV-18). The life
 * of a queue pair is from RTR to the next RTR; that of a link from the time that
 * both ends have its number (`gen`) to the time that one of them is gone.
 *
 * Secret: which frame and message belongs to which life. On the wire: an end that
 * answers a PSN must have taken the request with it, and all before it, in the
 * same life. In messages: a message arrives in the life that it was sent in, and
 * one that completed with success in a life has arrived in that life.
 */
#ifndef SIM_LIVES_H
#define SIM_LIVES_H

#include "model.h"

struct node;
struct link;

void lives_reset(void);
/** lives_command() - the driver wrote a command. lives_done() - the NIC completed
 * it. */
void lives_command(const struct node *n, const struct tap_cmd *c);
void lives_done(const struct node *n, const struct tap_cmd *c, uint8_t status);
/** lives_event() - the NIC published an event. lives_epoch() - it was reset. */
void lives_event(const struct node *n, const void *evt);
void lives_epoch(const struct node *n);
/** lives_took() - the NIC reads a frame. lives_sent() - the NIC sends a frame. */
void lives_took(const struct node *n, const uint8_t *frame, uint32_t len);
void lives_sent(const struct node *n, const uint8_t *frame, uint32_t len);

/** lives_may_take() - may QP @qpn of @n take a frame of its peer that has @psn: a
 * request that may be the next one, or was; @answer: to a request that it sent? */
bool lives_may_take(const struct node *n, uint32_t qpn, uint32_t psn,
		    bool answer);

/** lives_spoil() - QP @qpn of @n may have taken a forged frame in this life. */
void lives_spoil(const struct node *n, uint32_t qpn);

/** lives_post() - end @from of @l sends message @id in life @gen. */
void lives_post(const struct link *l, uint32_t gen, uint32_t from, uint64_t id);
/** lives_well() - message @id completed with success. */
void lives_well(uint64_t id);
/** lives_received() - a receive of life @gen at the other end of @from has
 * message @id. */
void lives_received(const struct link *l, uint32_t gen, uint32_t from,
		    uint64_t id);
/** lives_received_imm() - as lives_received(), with the low half of @id alone. */
void lives_received_imm(const struct link *l, uint32_t gen, uint32_t from,
			uint32_t low);
/** lives_over() - all receives of @gen at the other end of @from have completed. */
void lives_over(const struct link *l, uint32_t gen, uint32_t from);
/** lives_unknown() - the receives at the other end of @from have ended
 * without a completion, in all lives. */
void lives_unknown(const struct link *l, uint32_t from);

#endif /* SIM_LIVES_H */
