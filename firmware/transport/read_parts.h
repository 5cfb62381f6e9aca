/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * read_parts.h - a READ whose responses were lost, or are late, is asked for in parts.
 *
 * Secret: how much of it is asked for at once. All that is missing may be more than the way
 * to here takes, and a peer that answers one request behind the other would answer each
 * repeat in full. While a READ is asked for in parts, sq.in_parts is set.
 */
#ifndef UNIC_READ_PARTS_H
#define UNIC_READ_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/requester.h"

struct unic_qp_ctx;
struct unic_sq;
struct unic_transport;

/* Responses to a READ that are asked for once more at a time; a power of two. */
#define UNIC_READ_PART 128u

/** unic_read_parts_begin() - @sq has gone back to sq.psn: should that be of a READ, it is
 * asked for in parts from there on. */
void unic_read_parts_begin(struct unic_sq *sq);

/** unic_read_parts_send() - ask for the next part, if @qp has one, and none is waited for.
 * Returns UNIC_TURN_AGAIN: done, or there is none left; _BLOCKED: there is no frame for it;
 * _DONE: nothing is to be asked for now. */
enum unic_turn unic_read_parts_send(struct unic_transport *nic,
				    struct unic_qp_ctx *qp);

/** unic_read_parts_is_end() - the response with @psn, which ends an answer, is the last of
 * the part that was asked for. */
bool unic_read_parts_is_end(const struct unic_sq *sq, uint32_t psn);

#endif /* UNIC_READ_PARTS_H */
