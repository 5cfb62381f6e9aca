/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app.h - applications: processes that speak the socket protocol and write
 * their own queues, well or badly.
 *
 *   app.c      life: HELLO, upcalls, the end
 *   app_ask.c  requests and replies
 *   app_mem.c  regions: register, answer notices, let go
 *   app_form.c windows and the like over them
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
#define APP_BIG_VA    0x20000000ull /* of regions in large pages */
#define APP_SLOTS     16u	    /* of a work queue */
#define APP_CQES      64u

/* What makes one kind of application different from another. */
struct behaviour {
	const char *name;
	uint32_t window;	       /* operations at a time */
	uint32_t regions;	       /* it wants */
	uint32_t min_pages, max_pages; /* of each */
	/* answers to a notice, by weight */
	uint32_t release, offer, extend, silent, nonsense;
	uint32_t late_us; /* it answers after up to this long */
	bool lies;
	bool waits; /* REGISTER_WAIT, else REGISTER again and again */
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
	bool revoked; /* asked back, given back or gone: EVICTED may be seen */
	bool evicted;
	bool resident; /* forms are made of no others */
	uint32_t id, stag, life;
	uint32_t n, entries; /* pages of 4 KiB, and of its own size */
	uint8_t shift;	     /* its pages are so large, log2 */
	uint32_t at;	     /* of its first byte, in the process's pages */
	uint64_t iova;	     /* of that byte */
	uint32_t bytes;
	uint32_t used[PARTS], open[PARTS];
	uint32_t reg_seq; /* of the request that made it */
	bool cancelled;
	uint32_t notice_seq; /* not answered yet; 0: none */
	uint64_t answer_ns, retry_ns;
	bool held_back; /* none is made until app_exchange() */
};

enum form_state {
	FORM_NONE,
	FORM_ASKED,
	FORM_POSTED, /* a work request is to make it, or to invalidate it */
	FORM_MADE,   /* if not `evicted` */
	FORM_LEAVING,
};

/* Another name of the region of the same index; see app_form.c. */
struct form {
	uint8_t state, kind, key;
	bool evicted; /* of no use any more */
	bool wrong;   /* what it shall be made of is refused */
	bool gone;    /* LOCAL_INV said so: nothing goes through it */
	uint32_t id, stag, life;
	uint32_t lie;	     /* one that MR_MAKE names, see app_lie.c; or 0 */
	uint32_t first_stag; /* as it was allocated */
	uint64_t iova;	     /* of the region's first byte */
	uint64_t retry_ns;
};

enum qp_state {
	QP_NONE,
	QP_BUSY, /* a request about it is under way */
	QP_HAS_REGION,
	QP_HAS_CQ,
	QP_RESTORED, /* it came back from a reset: its number is not known */
	QP_KNOWN,    /* it is; QP_MODIFY to RESET is still to come */
	QP_CREATED,
	QP_INIT,
	QP_RTR,
	QP_RTS,
	QP_FLUSHING,
	QP_DEAD,
	QP_ENDED, /* flushed, and the same one is to be connected again */
};

struct app;
struct qp {
	struct app *app;
	uint32_t index;
	uint8_t state;
	struct link *link; /* NULL: none, stays QP_NONE */
	uint32_t end;	   /* of the link */
	uint32_t gen;
	uint32_t region, cq, id, qpn, psn;
	uint32_t sq_tail, rq_tail, sq_open, rq_open, sq_slots, cq_ci;
	uint32_t grant;
	bool has_cq;
	bool failed;  /* an operation of it ended badly: the others may, too */
	bool dying;   /* it goes to ERR, or ... */
	bool at_once; /* ... to RESET */
	uint32_t quick_gen;
	bool quick_failed;
	uint32_t told_gen, told_psn; /* the peer was told this PSN before it */
	bool unexplained; /* flushed, and QP_ERROR has not come yet */
};

/* Both ends of a connection as an out-of-band channel would tell them. */
#define LINK_SENDS 64u
struct link {
	struct qp *qp[2];
	uint8_t type, miss; /* enum unic_qp_type, enum unic_qp_miss */
	uint32_t gen;
	/* SENDs of each end, in the order posted, of this generation; len 0:
	 * must not arrive */
	struct {
		uint64_t op;
		uint32_t len;
	} sent[2][LINK_SENDS];
	uint32_t sends[2], got[2];
	uint32_t failed; /* the generation that has failed, 0: none */
	uint32_t cut;	 /* ... because a region was taken back under it */
};

enum op_state {
	OP_FREE,
	OP_POSTED,
	OP_LINGERS, /* ended badly: its bytes may still arrive */
};

struct op {
	uint8_t state, kind; /* enum scn_op_kind, RECEIVE or MEMOP */
	uint8_t part;
	bool quiet;	/* not signalled */
	bool forbidden; /* must not succeed; on UC and UD: must not be seen */
	bool refused;	/* must not succeed: our own NIC refuses it */
	uint64_t id;
	struct qp *qp;
	struct link *link;
	uint32_t gen;
	struct region *local, *remote;
	uint32_t local_life, remote_life;
	struct app *peer;
	uint32_t peer_life;
	uint32_t local_resets, remote_resets; /* of the NICs, when posted */
	uint32_t local_at, remote_at, len, ctrl;
	uint32_t serial; /* a receive: which of its queue */
	uint32_t grant;
	bool local_was, remote_was; /* revoked already when posted */
	struct token *token;
	struct form *form; /* of a MEMOP */
	uint32_t form_id;
	uint32_t lie; /* an STag that opens nothing to its process, or 0 */
	bool lie_is_local;
	uint64_t posted_ns;
	bool read; /* its first byte was, by a transfer */
	uint64_t
		short_ns; /* slots.c: since then it lacks a slot; 0: it does not */
	uint32_t
		through; /* first STag of the form it names at the peer, or 0 */
};

struct token {
	bool there, asked, cancelling;
	bool multi; /* for many messages, one at a time here */
	uint32_t early_id, early_end; /* TOKEN_END before the reply */
	uint32_t id, index, len, at, region, region_life;
	uint64_t key, claimed_by;
	uint32_t grant;
};

struct ask {
	uint32_t seq; /* 0: free */
	uint16_t op;
	void (*done)(struct app *a, uint32_t arg, uint32_t status,
		     const void *rec, uint32_t bytes);
	uint32_t arg;	 /* a BATCH: how many there are in it */
	uint32_t parent; /* the BATCH that it went in, or 0 */
};

enum app_state {
	APP_DOWN,   /* not started, or killed */
	APP_KNOCK,  /* tries to connect and HELLO */
	APP_HELLO,  /* said */
	APP_FRAMES, /* asked */
	APP_PD,	    /* asked */
	APP_RUNS,
	APP_LEAVES, /* gives everything back */
	APP_LEFT,
};

struct app {
	struct world_client c; /* first */
	const struct behaviour *how;
	const struct scenario *scn;
	uint32_t index, node, life, pid, epoch_life;
	uint8_t state;
	bool giving_up;
	bool stopping,
		fresh;	 /* fresh: the frames are still to be allocated ... */
	bool large_only; /* ... but those of small pages */
	bool reset; /* the NIC was reset: everything to be made anew, or ... */
	bool keep;  /* ... what the driver restores, when it is ... */
	bool back;
	bool resume; /* the driver ended; the next one knows what we keep */
	bool resumed;
	uint8_t was; /* state to go on with then */
	struct sim_rng rng;
	uint64_t due; /* next step */
	uint64_t knock_ns;
	uint32_t slot, pd, seq, upcall_next, fifo;
	uint8_t area; /* frames of regions lie in runs of such a size, log2 */
	uint32_t frame[APP_PAGES];
	struct ask ask[APP_ASKS];
	bool gathers; /* requests are kept to go in one BATCH */
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
/** app_start() / app_kill() - the process. */
void app_start(struct app *a);
void app_kill(struct app *a);
/** app_stop() - give everything back and go, as soon as its script is done. */
void app_stop(struct app *a);
/** app_kick() - have it look around at @at_ns, or before. */
void app_kick(struct app *a, uint64_t at_ns);
/** app_finished() - its script is done and nothing is under way. */
bool app_finished(const struct app *a);
/** app_read_upcalls() - all that are on the ring. */
void app_read_upcalls(struct app *a);
/** app_say_stuck() - fail: it does not @what. */
void app_say_stuck(const struct app *a, const char *what)
	__attribute__((noreturn));
/** app_evict_storm() - an admin asks for every region on @node back. */
void app_evict_storm(uint32_t node);
/** app_mem() - byte @at of its memory. */
uint8_t *app_mem(struct app *a, uint32_t at);
/** app_va() - address of byte @at of its memory, as its driver knows it. */
uint64_t app_va(const struct app *a, uint32_t at);
/** app_db() - its doorbell page; the NIC's page follows. */
struct unic_db_page *app_db(struct app *a);

/* ---------------------------------------------------------------- app_ask.c */

/** app_ask() - send a request; @done gets the reply. False: too many are open. */
bool app_ask(struct app *a, uint16_t op, void *rec, uint32_t arg,
	     void (*done)(struct app *a, uint32_t arg, uint32_t status,
			  const void *rec, uint32_t bytes));
/** app_ask_list() - the same with @bytes of list behind the record. */
bool app_ask_list(struct app *a, uint16_t op, void *rec, uint32_t bytes,
		  uint32_t arg,
		  void (*done)(struct app *a, uint32_t arg, uint32_t status,
			       const void *rec, uint32_t bytes));
/** app_gather() - what is asked from now on goes in one BATCH, if it can. */
void app_gather(struct app *a);
/** app_gathered() - now. */
void app_gathered(struct app *a);
/** app_reply() - of the driver. */
void app_reply(struct world_client *c, const void *msg, uint32_t bytes);
/** app_asking() - is a request not answered? */
bool app_asking(const struct app *a);
/** app_uncertain() - ... of which nobody knows what came of it when the driver is
 * gone: of forms that is nothing. */
bool app_uncertain(const struct app *a);
/** app_owed_reply() - ... but for registrations: beyond the share they may wait for
 * ever. */
bool app_owed_reply(const struct app *a);

/* ---------------------------------------------------------------- app_mem.c */

void app_mem_step(struct app *a);
void app_mem_forget(struct app *a);
/** app_mem_restore() - the driver has them again after a reset: see that the NIC
 * does, too. @resumed: another driver, which knows of none that waited. */
void app_mem_restore(struct app *a, bool resumed);
bool app_mem_none(const struct app *a);
void app_mem_upcall(struct app *a, const void *rec, uint8_t type);
struct region *app_region(struct app *a, uint32_t id);
/** app_rereg() - script: give one back. */
void app_rereg(struct app *a, uint64_t r);
/** app_hold_back() - give one back, and make none in its place before
 * app_exchange(). NULL: it has none. */
struct region *app_hold_back(struct app *a);
/** app_exchange() - give @old back and make @made, which was held back, at its
 * address, both in one go. */
void app_exchange(struct app *a, struct region *old, struct region *made);
/** app_drop_pages() - nobody on @node needs any page now. */
void app_drop_pages(uint32_t node);
/** app_chunk() - @len bytes of @part of region @r, or UINT32_MAX: none free. */
uint32_t app_chunk(struct region *r, enum app_part part, uint32_t len);

/* --------------------------------------------------------------- app_form.c */

void app_form_step(struct app *a);
void app_form_forget(struct app *a);
/** app_form_restore() - after a reset: forms are not restored. */
void app_form_restore(struct app *a);
bool app_form_none(const struct app *a);
/** app_form_evicted() - if @id is one. */
void app_form_evicted(struct app *a, uint32_t id);
/** app_form_noticed() - if @id is one: the NIC wants its entries back. */
void app_form_noticed(struct app *a, uint32_t id);
/** app_form_list() - ask for an indirect region of nobody, by a list in memory. The
 * region of the list; NULL: that cannot be now. *slot: the work request. */
struct region *app_form_list(struct app *a, const void **slot);
/** app_form_lie() - LOCAL_INV or REG_INDIRECT of an STag that is not its own, as @r
 * says. False: that cannot be now. */
bool app_form_lie(struct app *a, uint64_t r);
/** app_form_done() - a work request about it completed. */
void app_form_done(struct app *a, struct op *o, uint8_t opcode, uint8_t status);
/** app_form_may_fail() - may it be refused? */
bool app_form_may_fail(struct app *a, const struct op *o);
/** app_form_dropped() - nobody will say how @o ended. */
void app_form_dropped(const struct op *o);
/** app_form_invalidate() - a SEND of a peer is to invalidate it: its STag, or 0
 * if it is none of which that may be asked. */
uint32_t app_form_invalidate(struct app *a, uint64_t r);
/** app_form() - one that has all of region @r, or NULL. */
const struct form *app_form(const struct app *a, const struct region *r);

/* ----------------------------------------------------------------- app_qp.c */

void app_qp_step(struct app *a);
void app_qp_forget(struct app *a, bool safe);
/** app_qp_restore() - the driver has them again after a reset, empty. */
void app_qp_restore(struct app *a);
bool app_qp_none(const struct app *a);
/** app_break() - it ends its connections, whatever is under way in them. */
void app_break(struct app *a);
/** app_link_break() - both ends are to connect anew. */
void app_link_break(struct link *l);
/**
 * app_link_fail() - one end went to error; @cut: because a region was taken back
 * under an operation. In a calm scenario nobody tells the other end until it
 * must have found out: a peer whose operation was cut is told by the NIC.
 */
void app_link_fail(struct link *l, bool cut);
/**
 * app_qp_anew() - @q goes to RESET and is connected with the same one again, all
 * asked for in one go. False: that cannot be now.
 */
bool app_qp_anew(struct qp *q);
/** app_qp_ring() - a doorbell word. */
void app_qp_ring(struct app *a, enum unic_db_kind kind, uint32_t row,
		 uint32_t index);
struct unic_sq_slot *app_qp_sq(struct qp *q);
struct unic_rq_slot *app_qp_rq(struct qp *q);
/** app_qp_cqe() - the next completion. */
bool app_qp_cqe(struct qp *q, struct unic_cqe *out);
/** app_mtu_shift() - of all queue pairs in this scenario. */
uint32_t app_mtu_shift(void);
/** app_qkey() - of both ends of @l, if it is for datagrams. */
uint32_t app_qkey(const struct link *l);
/** app_qp_arm() - tell me of the next one. */
void app_qp_arm(struct qp *q);

/* ----------------------------------------------------------------- app_op.c */

void app_op_step(struct app *a);
/** app_op_open() - operations that are not complete, receives not counted. */
uint32_t app_op_open(const struct app *a);
void app_op_forget(struct app *a, bool safe);
/** app_token_restore() - after a reset: all have ended. Whose end was not told was
 * used, and the completion that said so was lost. */
void app_token_restore(struct app *a);
/** app_op_reap() - completions. True if there were any. */
bool app_op_reap(struct app *a);
/** app_op_settle() - @q is gone: it places no bytes of operations of its peer
 * any more. */
void app_op_settle(const struct qp *q);
/** app_op_drop_quiet() - @q is gone: what was to be quiet will be. */
void app_op_drop_quiet(struct qp *q);
/** app_op_drop() - @q went to RESET: nobody says what became of its operations. */
void app_op_drop(struct qp *q);
bool app_op_idle(const struct app *a);
void app_token_upcall(struct app *a, const void *rec);

extern struct app *apps[SCN_APPS];
extern uint32_t apps_count;
extern struct link *links;
extern uint32_t links_count;
extern bool apps_calm; /* nothing may fail in this scenario */

/* ------------------------------------------------------------------- once.c */

void once_reset(void);
/** once_post() - operation @id of queue @queue (0: a receive, in any order).
 * @quiet: a success is not told. */
void once_post(uint64_t id, uint64_t queue, bool quiet);
/** once_complete() - its completion was seen. */
void once_complete(uint64_t id, uint64_t queue, bool ok);
/** once_forget() - operations whose id has these high bits end with their
 * process, or with a reset. */
void once_forget(uint64_t id, uint64_t mask);
/** once_token() - a token's end was told: @node's token @key. */
void once_token(uint64_t key, uint32_t end);

#endif /* SIM_APP_H */
