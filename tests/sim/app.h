/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app.h - applications: processes that use the socket protocol and write
 * their queues, correctly or not.
 *
 *   app.c      life: HELLO, upcalls, the end
 *   app_ask.c  requests and replies
 *   app_mem.c  regions: register, answer notices, release
 *   app_form.c derived regions over them
 *   app_qp.c   queues: connect, flush, doorbells
 *   app_op.c   operations of the script, their completions
 */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "scenario.h"
#include "unic_queue.h"

#define APP_QPS	      2u
#define APP_REGIONS   8u
#define APP_TOKENS    4u
#define APP_ASKS      24u
#define APP_OPEN      64u /* operations and receives not completed */
#define APP_CHUNK     1024u
#define APP_REG_PAGES 6u
#define APP_PAGES     (APP_QPS + APP_REGIONS * APP_REG_PAGES)
#define APP_VA	      0x10000000ull
#define APP_BIG_VA    0x20000000ull /* of regions with large pages */
#define APP_SLOTS     16u	    /* of a work queue */
#define APP_CQES      64u

/* The parameters of one kind of application. */
struct behaviour {
	const char *name;
	uint32_t window;	       /* operations at a time */
	uint32_t regions;	       /* regions at a time */
	uint32_t min_pages, max_pages; /* of each region */
	/* weights of the answers to a notice */
	uint32_t release, offer, extend, silent, nonsense;
	uint32_t late_us; /* delay of an answer at most */
	bool lies;
	bool waits; /* REGISTER_WAIT; else REGISTER, repeated */
};
extern const struct behaviour behaviours[];
extern const uint32_t behaviours_count;

enum app_part {
	PART_EXPORT,
	PART_WINDOW,
	PART_SOURCE,
	PART_SINK,
	PARTS
};

enum region_state {
	REGION_NONE,
	REGION_ASKED,
	REGION_ACTIVE,
	REGION_LEAVING,
};

struct region {
	uint8_t state, mr_class, rights;
	bool revoked; /* under notice, released or gone: EVICTED may come */
	bool evicted;
	bool resident; /* of others only windows are made, and fast registrations */
	uint32_t id, stag, life;
	uint32_t n, entries; /* pages of 4 KiB, and of the region's size */
	uint8_t shift;	     /* log2 of the page size */
	/* offset of its first byte in the process's memory */
	uint32_t at;
	uint64_t iova; /* IOVA of that byte */
	uint32_t bytes;
	uint32_t used[PARTS], open[PARTS];
	uint32_t reg_seq; /* seq of the request that made it */
	bool cancelled;
	uint32_t notice_seq; /* seq of the unanswered notice; 0: none */
	bool idle_asked;     /* the question IDLE is not answered */
	uint64_t answer_ns, retry_ns;
	bool held_back; /* no region is made before app_exchange() */
};

enum form_state {
	FORM_NONE,
	FORM_ASKED,
	FORM_POSTED, /* a work request to make or invalidate it is posted */
	FORM_MADE,   /* if not `evicted` */
	FORM_LEAVING,
};

/* A derived region over the region of the same index; see app_form.c. */
struct form {
	uint8_t state, kind, key;
	bool evicted; /* cannot be used again */
	bool wrong;   /* MR_MAKE of it must be refused */
	bool gone;    /* invalidated by LOCAL_INV: every access must fail */
	uint32_t id, stag, life;
	/* STag in its list that must be refused (app_lie.c), or 0; the place in
	 * the list, and the status that it may have besides that of nobody's */
	uint32_t lie, lie_at, lie_status;
	uint32_t first_stag; /* STag at MR_ALLOC */
	uint64_t iova;	     /* IOVA of the region's first byte */
	uint64_t retry_ns;
};

enum qp_state {
	QP_NONE,
	QP_BUSY, /* a request for it is open */
	QP_HAS_REGION,
	QP_HAS_CQ,
	QP_RESTORED, /* restored after a reset: its number is unknown */
	QP_KNOWN,    /* number known; QP_MODIFY to RESET comes next */
	QP_CREATED,
	QP_INIT,
	QP_RTR,
	QP_RTS,
	QP_FLUSHING,
	QP_DEAD,
	QP_ENDED, /* flushed; to be connected to the same peer again */
};

struct app;
struct qp {
	struct app *app;
	uint32_t index;
	uint8_t state;
	struct link *link; /* NULL: none, stays QP_NONE */
	uint32_t end;	   /* index of this end in the link */
	uint32_t gen;
	uint32_t region, cq, id, qpn, psn;
	uint32_t sq_tail, rq_tail, sq_open, rq_open, sq_slots, cq_ci;
	uint32_t grant;
	bool has_cq;
	bool failed;  /* an operation failed: the others may fail, too */
	bool dying;   /* is being torn down */
	bool at_once; /* if dying: by RESET, not by ERR */
	uint32_t quick_gen;
	bool quick_failed;
	/* last generation and PSN sent to the peer */
	uint32_t told_gen, told_psn;
	bool unexplained; /* flushed, before QP_ERROR */
};

/* Both ends of a connection, with the data of an out-of-band channel. */
#define LINK_SENDS 64u
struct link {
	struct qp *qp[2];
	uint8_t type, miss; /* enum unic_qp_type, enum unic_qp_miss */
	uint32_t gen;
	/* SENDs of each end in this generation, in the order posted; len 0: must
	 * not arrive */
	struct {
		uint64_t op;
		uint32_t len;
	} sent[2][LINK_SENDS];
	uint32_t sends[2], got[2];
	uint32_t failed; /* generation that has failed; 0: none */
	/* generation that failed by an eviction under an operation; 0: none */
	uint32_t cut;
	/* last generation of which a forged frame may be a part (identity.c) */
	uint32_t spoiled;
};

enum op_state {
	OP_FREE,
	OP_POSTED,
	OP_LINGERS, /* failed: its bytes may still arrive */
};

struct op {
	uint8_t state, kind; /* enum scn_op_kind, RECEIVE, MEMOP or ATOMIC */
	uint8_t part;
	bool quiet; /* unsignaled */
	/* must not succeed; on UC and UD: must not be visible */
	bool forbidden;
	bool refused; /* must not succeed: its own NIC refuses it */
	uint64_t id;
	struct qp *qp;
	struct link *link;
	uint32_t gen;
	struct region *local, *remote;
	uint32_t local_life, remote_life;
	struct app *peer;
	uint32_t peer_life;
	/* number of resets of each NIC when posted */
	uint32_t local_resets, remote_resets;
	uint32_t local_at, remote_at, len, ctrl;
	uint32_t serial; /* of a receive: its number in the queue */
	uint32_t grant;
	uint32_t grant_there;	    /* ATOMIC: at the peer */
	bool local_was, remote_was; /* revoked when posted */
	struct token *token;
	struct form *form; /* of a MEMOP */
	uint32_t form_id;
	/* STag that opens nothing for its process, or 0; the status of one that
	 * nobody has, and the detail that this one may have instead */
	uint32_t lie;
	uint8_t lie_status, lie_detail;
	bool lie_is_local;
	uint64_t posted_ns;
	bool read; /* a transfer has read its first byte */
	/* time since which it lacks a fault slot (slots.c); 0: has one */
	uint64_t short_ns;
	/* first STag of the derived region at the peer, or 0 */
	uint32_t through;
};

struct token {
	bool there, asked, cancelling;
	bool multi; /* for many messages, here one at a time */
	uint32_t early_id, early_end; /* TOKEN_END that came before the reply */
	uint32_t id, index, len, at, region, region_life;
	uint64_t key, claimed_by;
	uint32_t grant;
};

struct ask {
	uint32_t seq; /* 0: free */
	uint16_t op;
	void (*done)(struct app *a, uint32_t arg, uint32_t status,
		     const void *rec, uint32_t bytes);
	uint32_t arg;	 /* a BATCH: number of its requests */
	uint32_t parent; /* seq of its BATCH, or 0 */
};

enum app_state {
	APP_DOWN,   /* not started, or killed */
	APP_KNOCK,  /* tries to connect and to send HELLO */
	APP_HELLO,  /* HELLO sent */
	APP_FRAMES, /* FRAMES_ALLOC sent */
	APP_PD,	    /* PD_ALLOC sent */
	APP_RUNS,
	APP_LEAVES, /* releases everything */
	APP_LEFT,
};

struct app {
	struct world_client c; /* first */
	const struct behaviour *how;
	const struct scenario *scn;
	uint32_t index, node, life, pid, epoch_life;
	uint8_t state;
	bool giving_up;
	bool stopping, fresh; /* fresh: frames are not allocated */
	bool large_only;      /* if fresh: those of small pages are */
	/* the NIC was reset; without `keep` everything is made again */
	bool reset;
	/* keep: the driver restores the objects after a reset; back: it has */
	bool keep;
	bool back;
	bool resume; /* the driver ended; the next one restores what is kept */
	bool resumed;
	uint8_t was; /* state in which a resumed process continues */
	struct sim_rng rng;
	uint64_t due; /* time of the next step */
	uint64_t knock_ns;
	uint32_t slot, pd, seq, upcall_next, fifo;
	/* a second domain, which has one region and no queue pair */
	bool wants_second, has_second;
	uint32_t second_pd;
	uint8_t area; /* log2 of the size of the runs of frames of regions */
	uint32_t frame[APP_PAGES];
	struct ask ask[APP_ASKS];
	bool gathers; /* requests are collected for one BATCH */
	uint32_t n_gathered;
	uint64_t gathered[APP_ASKS][8];
	struct region region[APP_REGIONS];
	struct form form[APP_REGIONS];
	struct qp qp[APP_QPS];
	struct op op[APP_OPEN];
	struct token token[APP_TOKENS];
	uint32_t posted, next_op, op_tries;
	uint64_t pause_ns;
	uint64_t ops_done, ops_ok, ops_skipped;
};

/* -------------------------------------------------------------------- app.c */

void app_init(struct app *a, const struct scenario *s, uint32_t index);
/** app_start(), app_kill() - start or kill the process. */
void app_start(struct app *a);
void app_kill(struct app *a);
/** app_stop() - release everything and exit, when the script is done. */
void app_stop(struct app *a);
/** app_kick() - run the application at @at_ns or before. */
void app_kick(struct app *a, uint64_t at_ns);
/** app_finished() - is its script done, with nothing under way? */
bool app_finished(const struct app *a);
/** app_read_upcalls() - read all upcalls on the ring. */
void app_read_upcalls(struct app *a);
/** app_say_stuck() - fail the run: the application does not @what. */
void app_say_stuck(const struct app *a, const char *what)
	__attribute__((noreturn));
/** app_evict_storm() - evict every region on @node, as an administrator. */
void app_evict_storm(uint32_t node);
/** app_mem() - byte @at of the process's memory. */
uint8_t *app_mem(struct app *a, uint32_t at);
/** app_va() - address of byte @at of the process's memory for the driver. */
uint64_t app_va(const struct app *a, uint32_t at);
/** app_db() - the doorbell page of the process; the NIC's page follows. */
struct unic_db_page *app_db(struct app *a);

/* ---------------------------------------------------------------- app_ask.c */

/** app_ask() - send a request; @done gets the reply. False: too many are open. */
bool app_ask(struct app *a, uint16_t op, void *rec, uint32_t arg,
	     void (*done)(struct app *a, uint32_t arg, uint32_t status,
			  const void *rec, uint32_t bytes));
/** app_ask_list() - as app_ask(), with @bytes of list behind the record. */
bool app_ask_list(struct app *a, uint16_t op, void *rec, uint32_t bytes,
		  uint32_t arg,
		  void (*done)(struct app *a, uint32_t arg, uint32_t status,
			       const void *rec, uint32_t bytes));
/** app_gather() - collect the next requests for one BATCH, if possible. */
void app_gather(struct app *a);
/** app_gathered() - send that BATCH. */
void app_gathered(struct app *a);
/** app_reply() - take a reply of the driver. */
void app_reply(struct world_client *c, const void *msg, uint32_t bytes);
/** app_asking() - is a request open? */
bool app_asking(const struct app *a);
/** app_uncertain() - is a request open whose result is lost if the driver ends?
 * Requests for derived regions do not count. */
bool app_uncertain(const struct app *a);
/** app_owed_reply() - is a request open that must get a reply? Registrations
 * beyond the share do not count: they may wait for ever. */
bool app_owed_reply(const struct app *a);

/* ---------------------------------------------------------------- app_mem.c */

void app_mem_step(struct app *a);
void app_mem_forget(struct app *a);
/** app_mem_restore() - after a reset the driver has the regions again: check
 * that the NIC has them, too. @resumed: the driver is a new one, which has
 * dropped registrations that waited. */
void app_mem_restore(struct app *a, bool resumed);
bool app_mem_none(const struct app *a);
/** app_regions() - the number of its regions, with that of the second domain. */
uint32_t app_regions(const struct app *a);
/** app_is_second() - is @i the region of the second domain? */
bool app_is_second(const struct app *a, uint32_t i);
void app_mem_upcall(struct app *a, const void *rec, uint8_t type);
struct region *app_region(struct app *a, uint32_t id);
/** app_rereg() - script: release a region, so that another is made. */
void app_rereg(struct app *a, uint64_t r);
/** app_hold_back() - release a region, and make none in its place before
 * app_exchange(). NULL: there is none. */
struct region *app_hold_back(struct app *a);
/** app_exchange() - release @old and make @made, which was held back, at its
 * address, both in one BATCH. */
void app_exchange(struct app *a, struct region *old, struct region *made);
/** app_drop_pages() - advise that no page of @node is needed. */
void app_drop_pages(uint32_t node);
/** app_chunk() - @len free bytes of @part of region @r, or UINT32_MAX. */
uint32_t app_chunk(struct region *r, enum app_part part, uint32_t len);

/* --------------------------------------------------------------- app_form.c */

void app_form_step(struct app *a);
void app_form_forget(struct app *a);
/** app_form_restore() - drop the derived regions, which a reset does not
 * restore. */
void app_form_restore(struct app *a);
bool app_form_none(const struct app *a);
/** app_form_evicted() - handle EVICTED, if @id is a derived region. */
void app_form_evicted(struct app *a, uint32_t id);
/** app_form_noticed() - handle a notice, if @id is a derived region. */
void app_form_noticed(struct app *a, uint32_t id);
/** app_form_list() - post a work request for an indirect region of an unknown
 * STag, with a list in memory. Returns the region of the list; NULL: impossible
 * at present. *slot: the work request. */
struct region *app_form_list(struct app *a, const void **slot);
/** app_form_lie() - post LOCAL_INV, BIND_MW, REG_MR or REG_INDIRECT of a wrong
 * STag, chosen by @r. False: impossible at present. */
bool app_form_lie(struct app *a, uint64_t r);
/** app_form_done() - a work request about a derived region completed. */
void app_form_done(struct app *a, struct op *o, uint8_t opcode, uint8_t status);
/** app_form_may_fail() - may @o be refused? */
bool app_form_may_fail(struct app *a, const struct op *o);
/** app_form_dropped() - @o has ended without a completion. */
void app_form_dropped(const struct op *o);
/** app_form_invalidate() - STag of a derived region that a SEND of a peer may
 * invalidate, or 0. */
uint32_t app_form_invalidate(struct app *a, uint64_t r);
/** app_form() - a derived region over all of region @r, or NULL. */
const struct form *app_form(const struct app *a, const struct region *r);

/* ----------------------------------------------------------------- app_qp.c */

void app_qp_step(struct app *a);
void app_qp_forget(struct app *a, bool safe);
/** app_qp_restore() - after a reset the driver has the queues again, empty. */
void app_qp_restore(struct app *a);
bool app_qp_none(const struct app *a);
/** app_break() - end the application's connections, with operations under way. */
void app_break(struct app *a);
/** app_link_break() - have both ends connect again. */
void app_link_break(struct link *l);
/**
 * app_link_fail() - record that one end failed; @cut: because a region was
 * evicted under an operation. In a calm scenario the other end is not
 * disconnected before its NIC must have reported the failure.
 */
void app_link_fail(struct link *l, bool cut);
/**
 * app_qp_anew() - move @q to RESET and connect it to the same peer again, in one
 * BATCH. False: impossible at present.
 */
bool app_qp_anew(struct qp *q);
/** app_qp_ring() - ring a doorbell. */
void app_qp_ring(struct app *a, enum unic_db_kind kind, uint32_t row,
		 uint32_t index);
struct unic_sq_slot *app_qp_sq(struct qp *q);
struct unic_rq_slot *app_qp_rq(struct qp *q);
/** app_qp_cqe() - take the next completion. */
bool app_qp_cqe(struct qp *q, struct unic_cqe *out);
/** app_mtu_shift() - log2 of the MTU of all queue pairs in this scenario. */
uint32_t app_mtu_shift(void);
/** app_qkey() - Q_Key of both ends of @l, if it is for datagrams. */
uint32_t app_qkey(const struct link *l);
/** app_qp_arm() - arm for the next completion. */
void app_qp_arm(struct qp *q);

/* ----------------------------------------------------------------- app_op.c */

void app_op_step(struct app *a);
/** app_op_open() - the number of open operations, receives not counted. */
uint32_t app_op_open(const struct app *a);
void app_op_forget(struct app *a, bool safe);
/** app_token_restore() - after a reset all tokens have ended. A token without
 * TOKEN_END was used, and its completion was lost. */
void app_token_restore(struct app *a);
/** app_op_reap() - handle completions. True if there were any. */
bool app_op_reap(struct app *a);
/** app_op_settle() - @q is gone: operations of its peer place no more bytes. */
void app_op_settle(const struct qp *q);
/** app_op_drop_quiet() - @q is gone: its unsignaled operations get no
 * completion. */
void app_op_drop_quiet(struct qp *q);
/** app_op_drop() - @q went to RESET: its operations end without a completion. */
void app_op_drop(struct qp *q);
bool app_op_idle(const struct app *a);
void app_token_upcall(struct app *a, const void *rec);

extern struct app *apps[SCN_APPS];
extern uint32_t apps_count;
extern struct link *links;
extern uint32_t links_count;
extern bool apps_calm; /* no operation may fail in this scenario */

/* ------------------------------------------------------------------- once.c */

void once_reset(void);
/** once_post() - operation @id is posted on queue @queue (0: a receive, which
 * completes in any order). @quiet: unsignaled. */
void once_post(uint64_t id, uint64_t queue, bool quiet);
/** once_complete() - operation @id has completed. */
void once_complete(uint64_t id, uint64_t queue, bool ok);
/** once_forget() - drop the operations whose id has these high bits: their
 * process has ended, or was reset. */
void once_forget(uint64_t id, uint64_t mask);
/** once_verdict() - tagged message @id was refused because of @why (0: placed), as its
 * @sender sees it, or its receiver: both see the same. */
void once_verdict(uint64_t id, bool sender, uint8_t why);
/** once_token() - TOKEN_END of @node's token @key. */
void once_token(uint64_t key, uint32_t end);

#endif /* SIM_APP_H */
