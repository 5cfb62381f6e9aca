/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * world.h - a NIC in use, the same at the start of every input: two processes
 * with regions of each class, tokens, queue pairs to the NIC itself and to a
 * peer that the harness emulates.
 *
 * Secret: how the world is restored without copying all of it. Code that writes
 * to its windows calls world_dirty(); memory.c does so for the NIC.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "input.h"
#include "rig.h"

#define WORLD_PAGES  (FAKE_WINDOW_BYTES / 4096u)
#define WORLD_QPS    6u
#define WORLD_MRS    6u
#define WORLD_TOKENS 4u
#define WORLD_FORMS  6u

enum world_mr {
	W_FOUR = 0,	 /* process 0, 4 pages, all rights; has two tokens */
	W_MESSAGES = 1,	 /* process 0, messaging: receives are posted in it */
	W_OTHER = 2,	 /* process 1, 2 pages, all rights; has a token */
	W_OTHER_MSG = 3, /* process 1, messaging: receives are posted in it */
	W_LOADING = 4,	 /* process 0, 2 pages, not yet filled */
	W_SAFE = 5,	 /* process 1, no rights: never written */
};

/* Derived regions; process 0 has all but one. */
enum world_form {
	F_WINDOW = 0, /* type 2, not bound */
	F_FAST = 1,   /* fast, 4 pages, not made yet */
	F_PARTS = 2,  /* indirect, 4 elements, not made yet */
	F_BOUND = 3,  /* window on 5000 bytes of W_FOUR */
	F_MADE = 4,   /* 4 pieces of W_FOUR, 520 bytes each */
	F_OTHER = 5,  /* process 1: window on a page of W_OTHER */
};

struct world_token {
	uint32_t index, length;
	uint64_t key;
};

struct world {
	struct rig rig;
	uint32_t pd[2]; /* of process 0 and 1 */
	struct rig_mr mr[WORLD_MRS];
	struct rig_mr form[WORLD_FORMS];
	struct rig_mr paged[2]; /* DEMAND, 8 pages, of process 0 and 1 */
	struct world_token token[WORLD_TOKENS]; /* the last: MULTI */
	/* 0 and 1: process 0, to each other; 2: process 0, 3: process 1, to
	 * the peer, 10.0.0.2; process 0: 4 of UC, to itself, 5 of UD */
	struct rig_qp qp[WORLD_QPS];
	uint32_t peer_qpn[2]; /* of queue pairs 2 and 3 there */
	uint8_t peer_mac[6];
};

/* Faults that a harness may switch on; off at the start of every input. */
struct world_knobs {
	bool deaf;	   /* the driver takes no events */
	uint32_t fail_dma; /* late transfers to fail; > 0: no mapped memory */
};
extern struct world_knobs world_knobs;

#define WORLD_PEER_IP 0x0a000002u
#define WORLD_PSN     0x1000u /* all queue pairs begin with it, both ways */

extern struct world world;

/** world_begin() - the world as it is at the start of every input. @icrc: the
 * NIC makes and checks the ICRC, not the link; the same in all calls. */
void world_begin(bool icrc);

/** world_mode() - rare settings for a whole input, by one byte of it. */
void world_mode(uint8_t mode);

/** world_check() - sane(), nothing written that DMA did not write, and the
 * driver's pages of the mailbox as the driver left them. */
void world_check(void);

/** world_dirty() - the harness wrote @bytes at @off of @window. */
void world_dirty(uint32_t window, uint64_t off, uint64_t bytes);

/** world_is_dirty() - true if world_dirty() was called for this page. */
bool world_is_dirty(uint32_t window, uint32_t page);

/** world_words() - words [@at, @at + @n) of the translation lists at RIG_LIST, to be
 * written: the next world_begin() undoes it. */
uint64_t *world_words(uint32_t at, uint32_t n);

/** world_cmd() - queue one command of 64 bytes, header filled in but for the
 * opcode, and ring; not polled. False: the ring is full. */
bool world_cmd(const void *rec);

/** world_rounds() - poll until the NIC rests, @n rounds at most, and take its
 * records off the rings. Returns true if it rests. */
bool world_rounds(uint32_t n);

/** world_settle() - let @ns pass; the NIC must come to rest within a bound. */
void world_settle(uint64_t ns);

/** world_dma() - carry out @n late transfers, each after memory_judge(). */
void world_dma(uint32_t n);

/* --- changes.c: derived regions, and DEMAND regions */

/** world_build_changes() - build them, as part of the world. */
void world_build_changes(struct rig *r);

/** world_change() - the driver answers a fault, invalidates or advises pages,
 * or ends a region; mostly correctly. */
void world_change(struct input *in);

/** world_changing() - a derived region or a DEMAND region. */
const struct rig_mr *world_changing(struct input *in);

/** world_stag() - the STag of @mr at this moment: work requests change it. */
uint32_t world_stag(const struct rig_mr *mr);

/* --- memory.c: which memory DMA may touch */

/** memory_judge() - check a transfer that is about to happen: all of it must be
 * in pages of live regions. */
void memory_judge(const struct unic_port *port, uint64_t bus, uint32_t len);

/* --- sane.c */

/** sane() - check that the tables of a whole NIC agree. Aborts if not. */
void sane(struct unic_nic *nic);

/** sane_order() - waiting processes and their demands, for sane(). (order.c) */
void sane_order(struct unic_nic *nic);

/** sane_lists() - faults, dependents and policies, for sane(). (lists.c) */
void sane_lists(const struct unic_nic *nic);

#endif /* FUZZ_WORLD_H */
