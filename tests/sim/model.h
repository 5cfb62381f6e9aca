/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * model.h - the state of a NIC as its mailbox implies it: regions, waits,
 * processes. Built from commands, completions and events alone, never from the
 * firmware's state.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "sim.h"
#include "unic_mbox.h"

#ifndef MODEL_MRS /* at least those of the board */
#define MODEL_MRS   32u
#define MODEL_WAITS 8u
#define MODEL_PDS   8u
#define MODEL_PROCS 3u
#endif
#define MODEL_PAGES  64u
#define MODEL_MISSES 32u

#define MODEL_CLASS_FORM 255u /* no enum unic_mr_class */

enum model_mr_state {
	MODEL_GONE = 0,
	MODEL_LOADING,
	MODEL_ACTIVE,
	MODEL_NOTIFIED,
	MODEL_LEAVING, /* released by its owner: EVICTED follows */
};

struct model_mr {
	uint8_t state, mr_class, rights, shift, residency;
	uint32_t mr, gen, stag, proc, n_pages, filled, user, seq;
	/* entries, if RESIDENT; those of other regions come and go */
	uint32_t held;
	uint64_t iova, length;
	uint64_t list; /* TABLE: where its translation list is; else 0 */
	bool told;     /* EVICTED was published */
	bool unheard;  /* a DEMAND of it was answered after H */
	bool extended; /* its grace was */
	uint64_t active_ns, left_ns, gone_ns;
	uint32_t before_gen;	 /* generation of the index's earlier region */
	uint64_t before_gone_ns; /* end of that region */
	uint64_t notice_ns;	 /* when the notice was published */
	uint64_t ack_ns;	 /* earliest start of T; 0: none */
	uint64_t grace_ns;	 /* T, and the EXTEND */
	uint64_t asked_ns;	 /* the last question IDLE; 0: none */
	/* DEMAND: 0 if the page is not on the NIC */
	uint64_t bus[MODEL_PAGES];
	uint64_t moved_ns[MODEL_PAGES]; /* DEMAND: when the page came or went */
};

struct model_wait {
	uint32_t id; /* 0: none */
	uint32_t proc;
	struct unic_cmd_mr_reg cmd;
	uint64_t since_ns;
	uint64_t fed_ns; /* last time at which no notice was due */
};

struct model_proc {
	bool attached, leaving;
	uint32_t weight, quota;
	uint32_t held, regions, wanted, coming;
	uint64_t denied_until_ns; /* counts as waiting (bounds.c) */
};

/* A page that the NIC asked the driver for. */
struct model_miss {
	uint32_t mr, gen, first, count;
	uint64_t at_ns; /* 0: none */
	bool short_of; /* the driver brought it, but there was no room (BUSY) */
};

struct model {
	uint32_t epoch, capacity, mrs;
	uint64_t grace_ns, deliver_ns, reaper_ns, drain_ns;
	uint64_t extend_ns, residence_ns;
	uint64_t idle_ns; /* 0: no event IDLE */
	struct model_mr mr[MODEL_MRS];
	struct model_wait wait[MODEL_WAITS];
	struct model_proc proc[MODEL_PROCS];
	uint32_t pd_proc[MODEL_PDS];
	struct model_miss miss[MODEL_MISSES];
	/* EVICTED of an index that is used again, not read yet */
	uint32_t owed, owed_mr, owed_gen;
};

/* A command as the driver wrote it. */
struct tap_cmd {
	uint64_t seen_ns; /* on the ring since then, or a bit longer */
	uint64_t rec[8];
	uint64_t *list; /* copy of its list page, or NULL */
	bool open;
};

struct node;

/** model_done() - command @c of @m's NIC has completed with @cpl. */
void model_done(struct model *m, const struct tap_cmd *c, const void *cpl);
/** model_event() - an event was published. */
void model_event(struct model *m, const void *evt);
/** model_dropped() - a drop record was written. */
void model_dropped(struct model *m, const struct unic_drop *drop);
/** model_round() - all records of a poll round are read. */
void model_round(const struct model *m);
/** model_epoch() - the NIC was reset: the model is empty. */
void model_epoch(struct model *m, const struct unic_info *info);
/** model_lists() - are these bytes of the translation list of a region that lives? */
bool model_lists(const struct model *m, uint64_t bus, uint32_t len);
/** model_at() - the region with @len bytes at @bus that may be accessed; NULL:
 * none. */
const struct model_mr *model_at(const struct model *m, uint64_t bus,
				uint32_t len);
/** model_find() - region @mr of generation @gen, or NULL. */
struct model_mr *model_find(struct model *m, uint32_t mr, uint32_t gen);
/** model_unheard() - did the NIC wait H for a page of a region with @stag, or
 * does it wait, without an answer? */
bool model_unheard(const struct model *m, uint32_t stag);
/** model_cached() - the entries of DEMAND and TABLE regions of @proc, at most:
 * those of TABLE regions come and go without a record, so all their pages
 * count. */
uint32_t model_cached(const struct model *m, uint32_t proc);
/** model_may_lack() - has @proc a DEMAND or TABLE region? Then a page may be missing, for
 * which it competes as if it waited for one entry, without a record of that. */
bool model_may_lack(const struct model *m, uint32_t proc);
/** model_fair() - the fair share of @proc, at most or at least: the model does
 * not always know which processes share. */
uint32_t model_fair(const struct model *m, uint32_t proc, bool most);

#endif /* SIM_MODEL_H */
