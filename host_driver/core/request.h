/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * request.h - inside the access layer: the host's state, requests under way,
 * and what its files call of each other. Nobody outside host_driver/core
 * includes this, its unit tests excepted.
 *
 *   request.c        the one handler of all requests: validate, audit, answer
 *   host.c          life of the device: reset, setup, poll
 *   proc.c          life of a process: attach, upcalls, detach
 *   region.c        MR_REG ... RESYNC, and the events about regions
 *   region_derived.c          MR_ALLOC ... MR_REREG
 *   restore.c       after a reset: everything is made again that can be
 *   region_fault.c         pages of DEMAND and TABLE regions
 *   queue.c         PD, token, CQ, QP
 *   batch.c         several requests in one
 *   admin.c         what unicctl asks
 *   cm.c, cm_mad.c  connections
 */
#ifndef UNIC_REQUEST_H
#define UNIC_REQUEST_H

#include "region/frames.h"
#include "host.h"
#include "objects.h"

struct unic_batch;
struct unic_region;

/* A request of a process, or of the driver itself (client NULL). */
struct unic_req {
	struct unic_call call;
	struct unic_host *host;
	struct unic_client *client;   /* NULL: nobody (left) to answer to */
	struct unic_req *prev, *next; /* all of the host */
	uint32_t slot; /* process it is for, or UNIC_OS_NO_SLOT */
	uint32_t seq;
	uint16_t op;
	uint32_t id;	   /* object it is about */
	uint32_t id2;	   /* second one (OFFER, CONN) */
	uint32_t progress; /* region.c: pages filled */
	uint32_t room;	   /* bytes of its list */
	uint32_t arp_user; /* not 0: waits for ARP_RESULT */
	uint8_t mac[6];
	void (*then)(struct unic_req *req, uint32_t status); /* after ARP */
	uint64_t rec[UNIC_REC_WORDS];			     /* the request */
	uint32_t tail_bytes;
	uint8_t tail[UNIC_CTL_PRIVATE_MAX];
	struct unic_batch *batch; /* it is one of several, or these; batch.c */
	uint32_t nth;		  /* which, from 1 on; 0: it is these */
};

enum unic_hproc_state {
	UNIC_HPROC_FREE = 0,
	UNIC_HPROC_ATTACHING = 1, /* enum unic_ctl_proc_state */
	UNIC_HPROC_LIVE = 2,
	UNIC_HPROC_DETACHING = 3,
	UNIC_HPROC_HELD = 4,
};

/* How long something took. */
struct unic_pace {
	uint32_t n, max_us;
	uint64_t total_us;
};

static inline void unic_pace_add(struct unic_pace *p, uint64_t from_ns,
				 uint64_t to_ns)
{
	uint64_t us = to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;

	if (us > UINT32_MAX)
		us = UINT32_MAX;
	p->n++;
	p->total_us += us;
	if (us > p->max_us)
		p->max_us = (uint32_t)us;
}

struct unic_hproc {
	uint8_t state;
	bool detach_sent;	     /* PROC_DETACH is under way */
	bool keep;		     /* UNIC_CTL_HELLO_KEEP */
	bool resumed;		     /* an earlier driver served it, too */
	struct unic_proc_note *note; /* NULL: nothing of it outlives us */
	struct unic_client *client;
	uint32_t pid, uid;
	uint32_t left; /* HELD: when, a number that counts up */
	uint8_t name[16];
	uint32_t weight, quota, policy;
	struct unic_frames frames;
	struct unic_upcall_ring *ring; /* hostile memory, written only */
	uint32_t upcall_next;
	uint32_t upcalls, notices, evictions, requests, refused;
	uint32_t regions, waits, deadlines;
	struct unic_pace deliver, answer; /* of notices */
	struct unic_req detach; /* so that leaving never needs memory */
};

#define UNIC_LOST 0xffffffffu /* the NIC has it not (any more) */

struct unic_hpd {
	struct unic_obj obj;
	uint32_t pd; /* the NIC's, or LOST */
};

struct unic_hcq {
	struct unic_obj obj;
	uint32_t cq; /* the NIC's, or LOST */
	bool overrun;
	uint32_t user;
	uint64_t made[UNIC_REC_WORDS]; /* its CQ_CREATE */
};

struct unic_hqp {
	struct unic_obj obj;
	uint32_t qpn; /* or LOST */
	uint32_t user;
	uint32_t state;		 /* enum unic_qp_state, as far as we know */
	uint32_t conn;		 /* id, 0: none */
	bool restored;		 /* nothing but QP_MODIFY to RESET is allowed */
	struct unic_req *waiter; /* QP_DESTROY waits for QP_GONE */
	uint64_t made[UNIC_REC_WORDS]; /* its QP_CREATE */
};

struct unic_htoken {
	struct unic_obj obj;
	uint32_t index, user;
	uint64_t key;
	bool replaced; /* its index is another token's: used, or ended */
};

#define UNIC_TABLE_UNITS   1536u
#define UNIC_REGION_FAULTS 64u

/* A MISS that is not answered yet, or whose answer is under way. */
struct unic_hfault {
	bool used, under_way;
	uint32_t user, mr, gen; /* as in the event */
	uint32_t first, count, seq;
	uint32_t sent; /* pages of the answer */
	uint32_t turn; /* answers of this place so far */
	uint64_t retry_ns, give_up_ns;
};

#define UNIC_HOLDS    256u
#define UNIC_ASKED    64u
#define UNIC_HANDINGS 16u

/* Somebody who was given something of region @mr; grants.c. */
struct unic_hold {
	uint32_t mr;   /* id; 0: none */
	uint32_t conn; /* id: who */
	uint32_t kind, number;
	uint32_t token, owner; /* id or 0; slot of the exporter */
	uint64_t nonce;	       /* of the question that is open; 0: none */
	uint64_t again_ns;
};

/* What a peer asks of one of our processes; the oldest are forgotten. */
struct unic_asked {
	uint32_t conn, kind, number;
	bool done;
	uint64_t nonce;
};

/* A DELEGATE that is not answered. */
struct unic_handing {
	struct unic_req *req; /* NULL: none */
	uint32_t conn, tries;
	uint64_t nonce, again_ns;
};

struct unic_held {
	struct unic_hold hold[UNIC_HOLDS];
	struct unic_asked asked[UNIC_ASKED];
	struct unic_handing handing[UNIC_HANDINGS];
	uint32_t asks, early, refused; /* graces ended early; answers that fit
					* nothing */
	uint64_t next_ns;
};

#define UNIC_COMM_BUCKETS 256u

struct unic_cm {
	struct conn *by_comm[UNIC_COMM_BUCKETS]; /* cm_conn.c */
	uint32_t strays;  /* messages that fit no connection */
	uint32_t crowded; /* half-open ones that gave way */
	uint64_t next_ns; /* earliest timer of a connection */
};

struct unic_host {
	struct unic_os *os;
	struct unic_provider *provider;
	struct unic_host_config config;
	struct unic_objects objects;
	struct unic_hproc proc[UNIC_HOST_SLOTS_MAX];
	struct unic_req *reqs;	/* all that are open */
	struct unic_req *spare; /* the last that ended; or NULL */
	uint32_t state;		/* enum unic_provider_state */
	bool ready;		/* state READY and set up */
	bool dark;		/* the NIC may use what we forget: keep pins */
	uint32_t epoch, host_id, arp_seq;
	uint32_t slots; /* usable: ours and the NIC has as many */
	uint32_t left;	/* slots, so far */
	uint32_t share[UNIC_OBJ_TYPES]; /* objects one process may have */
	uint64_t features;		/* of the device, UNIC_FEAT_* */
	uint32_t waits;			/* places of the NIC to wait in */
	uint8_t table_unit
		[UNIC_TABLE_UNITS]; /* 1 + whose; 0: free, region_fault.c */
	struct unic_hfault fault[UNIC_REGION_FAULTS];
	uint32_t faults, drops;
	uint32_t *token_of; /* by the NIC's token index: id of our object */
	uint32_t replaced;  /* tokens to forget when the events are read */
	uint32_t restore_type, restore_at; /* restore.c: how far it is */
	void (*restored)(struct unic_host *host);
	bool away, tidied; /* journal.c, restore.c: processes not back yet */
	bool away_wanted;  /* somebody found no slot meanwhile */
	uint32_t tokens;
	struct unic_cm cm;
	struct unic_held held;
	uint64_t start_ns, time_ns; /* next HOST_TIME */
	uint64_t loads_ns;	    /* region.c: when to look for frames */
	uint64_t faults_ns;	    /* region_fault.c: when to answer again */
	uint64_t setup_ns;	    /* when to go on setting the NIC up */
	uint32_t setup_at;	    /* step of that */
	uint32_t commands, failed, refused, audits, upcalls, resets, notices;
	uint64_t msg[UNIC_CTL_MSG_MAX / 8]; /* the reply that is being sent */
};

/* --------------------------------------------------------------- host.c */

/** unic_host_info() - a copy of the device's info page; zeros if none. */
void unic_host_info(struct unic_host *host, struct unic_info *info);
/** unic_host_clock() - CLOCK_MONOTONIC of a NIC time; never later than true. */
uint64_t unic_host_clock(struct unic_host *host, uint64_t nic_ns);

/* ------------------------------------------------------------- request.c */

/** unic_req_new() - a request of the driver itself for process @slot. NULL when
 * out of memory. */
struct unic_req *unic_req_new(struct unic_host *host, uint32_t slot);

/** unic_req_room() - OK, or QUOTA: the process that asks has its share of
 * objects of @type, those under way counted. */
uint32_t unic_req_room(const struct unic_req *req, enum unic_obj_type type);

/** unic_req_list() - its list, of @bytes at least: UNIC_LIST_BYTES if the answer
 * comes there too. It begins with anything; what was in a shorter one is lost.
 * NULL: out of memory. */
uint64_t *unic_req_list(struct unic_req *req, uint32_t bytes);

/** unic_req_send() - have the provider execute @cmd (64 bytes; its header needs
 * no more than the opcode). @done is called exactly once, perhaps before this
 * returns (status FAILED, no device). */
void unic_req_send(struct unic_req *req, uint8_t opcode, const void *cmd,
		   void (*done)(struct unic_call *call));

/** unic_req_run() - validate and run; it is answered, now or later. */
void unic_req_run(struct unic_req *req, const struct unic_ctl_hdr *hdr);

/** unic_req_of() - the request that a call belongs to. */
static inline struct unic_req *unic_req_of(struct unic_call *call)
{
	return (struct unic_req *)(void *)call;
}

/** unic_call_status() - of a completed call, as a status of abi/unic_ctl.h. */
uint32_t unic_call_status(const struct unic_call *call);

/** unic_req_answer() - send @rec (64 bytes, header filled in here) and @tail to
 * the process, if there is one, and free @req. */
void unic_req_answer(struct unic_req *req, uint32_t status, void *rec,
		     const void *tail, uint32_t tail_bytes);

/** unic_req_tail() - room for a tail of unic_req_answer(), UNIC_TAIL_MAX bytes,
 * 8-aligned; anybody's until the next answer. */
static inline void *unic_req_tail(const struct unic_req *req)
{
	return req->host->msg + UNIC_CTL_BYTES / 8;
}
#define UNIC_TAIL_MAX (UNIC_CTL_MSG_MAX - UNIC_CTL_BYTES)

/** unic_req_status() - the same with an empty record. */
void unic_req_status(struct unic_req *req, uint32_t status);

/** unic_req_done_status() - done() that answers with the NIC's status. */
void unic_req_done_status(struct unic_call *call);

/** unic_req_free() - without an answer. */
void unic_req_free(struct unic_req *req);

/** unic_req_discard() - the memory of @req, of which nobody knows; or NULL. */
void unic_req_discard(struct unic_os *os, struct unic_req *req);

/** unic_req_arp() - find the MAC of @ipv4, then call @then with OK (req->mac)
 * or an error. */
void unic_req_arp(struct unic_req *req, uint32_t ipv4,
		  void (*then)(struct unic_req *req, uint32_t status));

/** unic_arp_event() - ARP_RESULT. */
void unic_arp_event(struct unic_host *host, const struct unic_evt_arp *evt);

/** unic_req_proc() - the live process that @req is for, or NULL. */
struct unic_hproc *unic_req_proc(const struct unic_req *req);

/** unic_req_owner() - its slot as owner of objects. */
static inline uint32_t unic_req_owner(const struct unic_req *req)
{
	return req->slot;
}

/* ------------------------------------------------------------ restore.c */

/**
 * unic_restore() - the device is set up and empty: make again, one after the
 * other, what processes keep; then call @done. A device that is lost meanwhile
 * is the end of it; another unic_restore() begins from the start.
 */
void unic_restore(struct unic_host *host, void (*done)(struct unic_host *host));

/** unic_restore_keeps() - objects of slot @owner outlive a reset. */
bool unic_restore_keeps(const struct unic_host *host, uint32_t owner);

/** unic_restore_lost() - the device forgot everything: what nobody keeps ends,
 * and what was under way; the rest is marked as not there. */
void unic_restore_lost(struct unic_host *host);

/** unic_restore_pins() - all pins are gone: pin again what is kept. */
void unic_restore_pins(struct unic_host *host);

/** unic_restore_away() - processes that an earlier driver served and that did not
 * come back in time are given up. Returns when to call again. */
uint64_t unic_restore_away(struct unic_host *host);

/** unic_restore_waits() - queue the REGISTER_WAITs again that were queued. */
void unic_restore_waits(struct unic_host *host);

/* --------------------------------------------------------------- proc.c */

/** unic_proc_hello() - HELLO. */
void unic_proc_hello(struct unic_req *req);
/**
 * unic_proc_reattach() - after a reset: attach the process in @slot again.
 *
 * Returns false when out of memory: nothing was sent.
 */
bool unic_proc_reattach(struct unic_host *host, uint32_t slot);
/** unic_proc_reset() - the device forgot everything. @safe: and it cannot touch
 * memory any more, so leaving processes are gone. */
void unic_proc_reset(struct unic_host *host, bool safe);
/** unic_proc_leave() - its connection ended. */
void unic_proc_leave(struct unic_host *host, uint32_t slot);
/** unic_proc_gone() - PROC_GONE. */
void unic_proc_gone(struct unic_host *host, uint32_t slot);
/** unic_proc_upcall() - write one upcall: @rec is 64 bytes beginning with a
 * struct unic_upcall_hdr, of which type, reason and id are set. */
void unic_proc_upcall(struct unic_host *host, uint32_t slot, void *rec);
/** unic_proc_upcall_obj() - one with a struct unic_upcall_obj. */
void unic_proc_upcall_obj(struct unic_host *host, uint32_t slot, uint8_t type,
			  uint32_t id, uint32_t user, uint32_t detail);

/* ------------------------------------------------------------- region.c */

void unic_region_reg(struct unic_req *req);
void unic_region_dereg(struct unic_req *req);
void unic_region_cancel(struct unic_req *req);
void unic_region_answer(struct unic_req *req);
void unic_region_resync(struct unic_req *req);
void unic_region_evict(struct unic_req *req);
/** unic_region_event() - NOTICE, EVICTED (@evt a struct unic_evt_mr). */
void unic_region_event(struct unic_host *host, const struct unic_evt_mr *evt);
/** unic_region_wait_event() - GRANTED, WAIT_ENDED. */
void unic_region_wait_event(struct unic_host *host,
			    const struct unic_evt_wait *evt);
/** unic_region_drop_all() - forget the regions of @owner (UNIC_OBJ_ANYONE: all);
 * requests that wait for them are answered @status. */
void unic_region_drop_all(struct unic_host *host, uint32_t owner,
			  uint32_t status);
/** unic_region_stag() - STag, the NIC's PD and class of region @id of @owner.
 * False if there is no such live region. */
bool unic_region_stag(struct unic_host *host, uint32_t id, uint32_t owner,
		      uint32_t *stag, uint32_t *pd);

/* -------------------------------------------------------------- region_fault.c */

/** unic_region_fault_miss() - MISS: pin the pages and send them. */
void unic_region_fault_miss(struct unic_host *host,
			    const struct unic_evt_miss *evt);
/** unic_region_fault_poll() - answers that had no room. Returns when to call again. */
uint64_t unic_region_fault_poll(struct unic_host *host, uint64_t now);
/** unic_region_fault_advise() - MR_ADVISE. */
void unic_region_fault_advise(struct unic_req *req);
/* --------------------------------------------------------------- region_derived.c */

void unic_region_alloc(struct unic_req *req);
void unic_region_make(struct unic_req *req);
void unic_region_inval(struct unic_req *req);
void unic_region_rereg(struct unic_req *req);

/* -------------------------------------------------------------- batch.c */

/** unic_batch_run() - BATCH. */
void unic_batch_run(struct unic_req *req);
/** unic_batch_keep() - does the batch of @req send its command with others? If
 * not it is to be sent now. */
bool unic_batch_keep(struct unic_req *req);
/** unic_batch_answer() - @req, one of a batch, has its answer; it is freed next. */
void unic_batch_answer(struct unic_req *req, uint32_t status, const void *rec);
/** unic_batch_left() - one of @b is through; the last one sends the reply. */
void unic_batch_left(struct unic_batch *b);

/* -------------------------------------------------------------- queue.c */

void unic_queue_pd_alloc(struct unic_req *req);
void unic_queue_pd_free(struct unic_req *req);
void unic_queue_token_alloc(struct unic_req *req);
void unic_queue_token_cancel(struct unic_req *req);
void unic_queue_cq_create(struct unic_req *req);
void unic_queue_cq_destroy(struct unic_req *req);
void unic_queue_qp_create(struct unic_req *req);
void unic_queue_qp_modify(struct unic_req *req);
void unic_queue_qp_destroy(struct unic_req *req);
void unic_queue_qp_query(struct unic_req *req);
/** unic_queue_event() - QP_ERROR, QP_GONE, CQ_ERROR, DB_ERROR. */
void unic_queue_event(struct unic_host *host, const struct unic_evt_obj *evt);
/** unic_queue_token_event() - TOKEN_END. */
void unic_queue_token_event(struct unic_host *host,
			    const struct unic_evt_token *evt);
/** unic_queue_settled() - all events of the past are read: a token that was
 * replaced and not told to have ended was used. */
void unic_queue_settled(struct unic_host *host);
/** unic_queue_drop() - forget PDs, CQs, QPs, tokens of @owner. */
void unic_queue_drop(struct unic_host *host, uint32_t owner, uint32_t status);
/** unic_queue_row() - RESYNC's row of @obj, a PD, CQ, QP or token. */
void unic_queue_row(const struct unic_obj *obj, struct unic_ctl_object *row);
/** unic_queue_token_reset() - token @obj ended with the device; its process is
 * told if it hears of that. */
void unic_queue_token_reset(struct unic_host *host, struct unic_obj *obj);

/** unic_queue_cq_command(), unic_queue_qp_command() - what makes the CQ or QP of
 * process @owner that was asked for by @made. Its parts may have other numbers
 * now than when it was asked for. Returns OK or what is missing. */
uint32_t unic_queue_cq_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_cq_create *cmd);
uint32_t unic_queue_qp_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_qp_create *cmd);

/** unic_queue_qp_type() - enum unic_qp_type. */
uint8_t unic_queue_qp_type(const struct unic_hqp *qp);

/** unic_queue_modify() - send one QP_MODIFY for @qp; cmd->state says to what. */
void unic_queue_modify(struct unic_req *req, const struct unic_hqp *qp,
		       struct unic_cmd_qp_modify *cmd,
		       void (*done)(struct unic_call *call));

/* -------------------------------------------------------------- admin.c */

void unic_admin_info(struct unic_req *req);
void unic_admin_stats(struct unic_req *req);
void unic_admin_uses(struct unic_req *req);
void unic_admin_dump(struct unic_req *req);
void unic_admin_ps(struct unic_req *req);
void unic_admin_trace(struct unic_req *req);
void unic_admin_crash(struct unic_req *req);
void unic_admin_fault(struct unic_req *req);
void unic_admin_params(struct unic_req *req);
void unic_admin_policy(struct unic_req *req);
void unic_admin_trace_mask(struct unic_req *req);
void unic_admin_reset(struct unic_req *req);
void unic_admin_usage(struct unic_req *req);

/* ------------------------------------------------------------- grants.c */

void unic_grants_grant(struct unic_req *req);
void unic_grants_delegate(struct unic_req *req);
void unic_grants_answer(struct unic_req *req);
/** unic_grants_receive() - a datagram of a peer that is not of the CM. */
void unic_grants_receive(struct unic_host *host, const struct unic_mad_rx *mad);
/** unic_grants_conn_gone(), unic_grants_token_gone() - so is who held by it, and
 * what was held. */
void unic_grants_conn_gone(struct unic_host *host, uint32_t conn);
void unic_grants_token_gone(struct unic_host *host, uint32_t token);
/** unic_grants_poll() - questions are repeated. Returns when to call again. */
uint64_t unic_grants_poll(struct unic_host *host, uint64_t now);

/* ----------------------------------------------------------------- cm.c */

void unic_cm_listen(struct unic_req *req);
void unic_cm_unlisten(struct unic_req *req);
void unic_cm_connect(struct unic_req *req);
void unic_cm_accept(struct unic_req *req);
void unic_cm_reject(struct unic_req *req);
void unic_cm_disconnect(struct unic_req *req);
void unic_cm_query(struct unic_req *req);
/** unic_cm_row() - RESYNC's row of @obj, a listener or connection. */
void unic_cm_row(struct unic_host *host, const struct unic_obj *obj,
		 struct unic_ctl_object *row);
/** unic_cm_receive() - a datagram of a peer. */
void unic_cm_receive(struct unic_host *host, const struct unic_mad_rx *mad);
/** unic_cm_poll() - timers. Returns when to call again. */
uint64_t unic_cm_poll(struct unic_host *host, uint64_t now);
/** unic_cm_drop() - forget connections and listeners of @owner; peers are told
 * if @tell. */
void unic_cm_drop(struct unic_host *host, uint32_t owner, uint32_t status,
		  bool tell);
/** unic_cm_lost() - the device forgot its queue pairs: no connection is left;
 * listeners of who keeps its objects are. */
void unic_cm_lost(struct unic_host *host);

/** unic_cm_recall() - the listener that @note is about. False: no memory. */
bool unic_cm_recall(struct unic_host *host, const struct unic_obj_note *note);

/** unic_cm_qp_gone() - the QP of connection @conn is being destroyed. */
void unic_cm_qp_gone(struct unic_host *host, uint32_t conn);

#endif /* UNIC_REQUEST_H */
