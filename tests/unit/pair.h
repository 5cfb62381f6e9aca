/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pair.h - two NICs on a wire with a connected queue pair each, and a region each
 * whose bytes are known: the set-up of tests of connections.
 */
#ifndef PAIR_H
#define PAIR_H

#include "rig.h"

#define PAIR_PAGES 8u
#define PAIR_BYTES (PAIR_PAGES * 4096u)

extern struct rig ra, rb;
extern struct rig_qp qa, qb;
extern struct rig_mr ma, mb;

/** pair_up() - set up all of it; the wire delivers every frame. */
void pair_up(void);

/** pair_make() - as pair_up(), with @pages pages in each region. @icrc: frames
 * have an ICRC. */
void pair_make(bool icrc, uint32_t pages);

/** pair_run() - run both NICs for @ns of their time; pair_at_once(): for none. */
void pair_run(uint64_t ns);
void pair_at_once(void);

/** pair_rounds() - run @n poll rounds of NIC @r. */
void pair_rounds(struct rig *r, uint32_t n);

/** pair_expect() - the next completion of @qp must have these fields; @len is
 * checked if it succeeded. pair_expect_none(): there must be none. */
void pair_expect(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
		 uint8_t status, uint32_t len);
void pair_expect_none(struct rig *r, struct rig_qp *qp);

/** pair_quiet() - every hold must be released. */
void pair_quiet(void);

/** pair_gone_region() - register a region and evict it; *@mr keeps its STag. */
void pair_gone_region(struct rig *r, uint32_t pd, struct rig_mr *mr);

#endif /* PAIR_H */
