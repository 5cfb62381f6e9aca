/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * model.h - what must be true of a NIC, as its mailbox tells it: regions,
 * waits, processes. Built from commands, completions and events alone; what
 * the firmware keeps about them is never looked at.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "sim.h"
#include "unic_mbox.h"

#ifndef MODEL_MRS /* at least what the board has */
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
	MODEL_LEAVING, /* given up by its owner: EVICTED follows */
};

struct model_mr {
	uint8_t state, mr_class, rights, shift, residency;
	uint32_t mr, gen, stag, proc, n_pages, filled, user, seq;
	uint32_t held; /* entries, if RESIDENT; those of others come and go */
	uint64_t iova, length;
	bool told;    /* EVICTED was published */
	bool unheard; /* a MISS of it was answered after H */
	uint64_t active_ns, left_ns, gone_ns;
	uint32_t before_gen;	 /* of the index's region before this one */
	uint64_t before_gone_ns; /* ... when it ended */
	uint64_t notice_ns;	 /* published */
	uint64_t ack_ns;   /* earliest time at which T can have started; 0 */
	uint64_t grace_ns; /* T, and what was added by EXTEND */
	uint64_t bus[MODEL_PAGES];	/* DEMAND: 0 if it is not on the NIC */
	uint64_t moved_ns[MODEL_PAGES]; /* DEMAND: it came, or went */
};

struct model_wait {
	uint32_t id; /* 0: none */
	uint32_t proc;
	struct unic_cmd_mr_reg cmd;
	uint64_t since_ns;
	uint64_t fed_ns; /* nobody had to be asked for it until then */
	bool owed;	 /* within its share all the time, so B holds for it */
};

struct model_proc {
	bool attached, leaving;
	uint32_t weight, quota;
	uint32_t held, regions, wanted, coming;
	uint64_t denied_until_ns; /* counts as one that wants; bounds.c */
};

/* A page that the NIC asked the driver for. */
struct model_miss {
	uint32_t mr, gen, first, count;
	uint64_t at_ns; /* 0: none */
};

struct model {
	uint32_t epoch, capacity, mrs;
	uint64_t grace_ns, deliver_ns, reaper_ns, drain_ns;
	struct model_mr mr[MODEL_MRS];
	struct model_wait wait[MODEL_WAITS];
	struct model_proc proc[MODEL_PROCS];
	uint32_t pd_proc[MODEL_PDS];
	struct model_miss miss[MODEL_MISSES];
	/* an index used again before its EVICTED was heard */
	uint32_t owed, owed_mr, owed_gen;
};

/* A command as the driver wrote it. */
struct tap_cmd {
	uint64_t seen_ns; /* it was on the ring then, perhaps a bit before */
	uint64_t rec[8];
	uint64_t *list; /* copy of its list page, or NULL */
	bool open;
};

struct node;

/** model_done() - command @c of @m's NIC was completed with @cpl. */
void model_done(struct model *m, const struct tap_cmd *c, const void *cpl);
/** model_event() - an event was published. */
void model_event(struct model *m, const void *evt);
/** model_dropped() - a drop record was written. */
void model_dropped(struct model *m, const struct unic_drop *drop);
/** model_round() - all of a poll round was heard. */
void model_round(const struct model *m);
/** model_epoch() - the NIC was reset: nothing is left. */
void model_epoch(struct model *m, const struct unic_info *info);
/** model_at() - the region in which @len bytes at @bus lie and may be touched
 * now; NULL: none. */
const struct model_mr *model_at(const struct model *m, uint64_t bus,
				uint32_t len);
/** model_find() - region @mr of generation @gen, or NULL. */
struct model_mr *model_find(struct model *m, uint32_t mr, uint32_t gen);
/** model_unheard() - did the NIC wait H for a page of a region with @stag, or
 * does it now, and no answer came? */
bool model_unheard(const struct model *m, uint32_t stag);
/** model_cached() - entries of DEMAND and TABLE regions that @proc has at most:
 * those of TABLE regions come and go unheard, so it may be all their pages. */
uint32_t model_cached(const struct model *m, uint32_t proc);
/** model_fair() - fair share of @proc now, at most or at least: it is not known
 * of everybody whether he shares. */
uint32_t model_fair(const struct model *m, uint32_t proc, bool most);

#endif /* SIM_MODEL_H */
