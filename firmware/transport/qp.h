/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * qp.h - queue pairs (VIA 2.2; IBTA chapter 9.7, 10.2.4, 10.3): of the reliable
 * connection service, and of the two others, see ud_uc.h.
 *
 *   RESET -> INIT -> RTR -> RTS        any -> ERR, any -> RESET
 *
 * qp.c hides the table and how a QP dies; qp_modify.c which attributes go with
 * which state; requester.c what is sent and until when it is kept (go-back-N);
 * responder.c what is expected next; rq.c which posted receive a message gets.
 *
 * Every posted work request completes exactly once (INV-10): a QP in ERR
 * completes all that is posted to it WR_FLUSH_ERR, or with the error that was
 * its own.
 */
#ifndef UNIC_QP_H
#define UNIC_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "memory/fault.h"
#include "memory/token.h"
#include "transport/roce.h"
#include "transport/sched.h"
#include "unic_mbox.h"
#include "unic_queue.h"

struct unic_transport;

#define UNIC_QP_NIL	0xffffu
#define UNIC_QP_PACKETS 256u /* sent and not acknowledged, soft limit */
#define UNIC_QP_MRS	6u
#define UNIC_EXPECTS	4u /* kinds of packets, see fastpath_expect.h */
#define UNIC_NEVER	UINT64_MAX

/* What the NIC knows of the work request in a window slot. */
enum unic_wr_state {
	UNIC_WRS_SENT = 1, /* has PSNs, holds its regions */
	UNIC_WRS_DEAD = 2, /* nothing sent, no PSN: completes with `status` */
	UNIC_WRS_NULL = 3, /* ended, holds nothing; should PSNs of it still go
			    * out, then empty */
};

struct unic_wr {
	uint32_t psn;	/* of the first packet */
	uint32_t len;	/* bytes of the message */
	uint32_t npkt;	/* PSNs it takes */
	uint8_t state;	/* enum unic_wr_state */
	uint8_t status; /* enum unic_wc_status, once known */
	uint8_t detail;
	uint8_t slots; /* 1 or 2, and UNIC_WR_* */
};

/* It holds the region of its one SGE, and nothing else. */
#define UNIC_WR_ONE_SGE 0x40u
/* That lies in one page, and has the bus address in the place of the IOVA. The
 * hold keeps it right. */
#define UNIC_WR_DIRECT 0x80u
/* A READ that was charged all that it asks for. */
#define UNIC_WR_PAID  0x20u
#define UNIC_WR_SLOTS 3u

/* First word of no slot, but for UNIC_WR_SIGNALED. */
#define UNIC_NO_FORM UINT32_MAX

/* How the last request of one packet was sent; the next is mostly just like it.
 */
struct unic_ready {
	struct unic_headers h;
	uint32_t
		form; /* first word of its slot, see fastpath_tx.c; or UNIC_NO_FORM */
	uint32_t ext;	   /* bytes between BTH and payload */
	uint32_t bytes;	   /* of the frame */
	struct unic_wr wr; /* all but its PSN */
};

/* Requester. Indices are free-running slots: una <= next <= fetched <= tail,
 * fetched - una <= UNIC_QP_WINDOW, una <= cur <= next. */
struct unic_sq {
	struct unic_ready ready;
	uint64_t iova;
	uint64_t
		page_bus; /* of the page in use; its region stays, so is right */
	uint32_t page;	  /* 1 + which page that is, from slot 0's on */
	uint32_t mask;	  /* slots - 1 */
	uint32_t tail;	  /* posted */
	uint32_t fetched;   /* in the window */
	uint32_t next;	    /* first one without a struct unic_wr */
	uint32_t una;	    /* oldest one not completed */
	uint32_t cur;	    /* being sent, == next: start a new one */
	uint32_t psn;	    /* of the next packet */
	uint32_t psn_max;   /* the highest ever sent + 1 */
	uint32_t psn_una;   /* oldest one not acknowledged */
	uint32_t heard_psn; /* of responses out of turn, the latest */
	uint64_t timer_ns;  /* acknowledgement or RNR wait is over */
	uint64_t since_ns;  /* lazy: the oldest packet is under way since */
	uint64_t inval_ns;  /* a memory operation waits till then; 0: none */
	uint8_t reads;	    /* READs and atomics outstanding */
	uint8_t retries;    /* left */
	uint8_t rnrs;	    /* left */
	bool back_valid;    /* an implied NAK went back to psn_una */
	union {
		struct {
			bool rnr_wait;	/* silent until timer_ns */
			bool fetching;	/* slots are on their way */
			bool gathering; /* a frame waits for its payload: that
					 * of ... */
			bool stopped;	/* a DEAD request that ends the QP was
				       * met */
		};
		uint32_t busy; /* 0: none of these */
	};
	bool lazy; /* timer_ns, if it runs, may be of a packet that was acknowledged */
	struct unic_sq_slot win[UNIC_QP_WINDOW];
	struct unic_wr wr[UNIC_QP_WINDOW];
	/* a page is missing: silent (rnr_wait) until it is there */
	bool miss_wait;
	/* gathering: not of a frame, but of the responses of a READ before ... */
	bool in_parts;
	uint32_t gather_psn; /* ... this packet */
	uint16_t afters;     /* repeats of after_psn that the peer asked for */
	uint32_t after_psn;
	uint32_t miss_psn, miss_cur; /* what waits for it first did ... */
	uint64_t miss_ns;	     /* ... at this time; 0: never */
};

/* Whether the marks of receives are the last of a queue pair: with many slots what lies
 * behind them would be out of reach of an instruction (base.h). */
#define UNIC_MARKS_LAST (UNIC_QP_SLOTS > 1024u)

/* Receive queue; see rq.h. head <= pick < fetched <= tail. */
struct unic_rq {
	uint64_t iova;
	uint32_t mask;
	uint32_t tail;	      /* posted */
	uint32_t fetched;     /* in the window */
	uint32_t head;	      /* oldest one not completed */
	uint32_t pick;	      /* the one in use */
	uint32_t ahead;	      /* pages of those before it were asked for */
	uint32_t class_bytes; /* a substitute must be at least this long */
	uint32_t room;	      /* of the one in use: bytes in all */
	bool picked;	      /* one is in use */
	bool checked;	      /* its regions passed the access check */
	bool held;	      /* ... and are held */
	bool substitute; /* one was evicted: the next must reach the class */
	bool cut;	 /* the one in use was evicted while being filled */
	bool far_pick;	 /* the one in use is `far` */
	bool far_have;	 /* `far` is receive number far_at */
	bool far_fetching;
	bool far_none; /* nothing behind the window will do */
	bool lost; /* shared: a region of the one it has is known to be gone */
	uint16_t srq; /* 1 + its shared receive queue; 0: its ring is its own */
	uint32_t far_at;
	bool fetching;
	bool told_last; /* shared, in ERR: LAST_WQE is owed or was said */
	uint16_t mr[UNIC_RQ_SGE_MAX]; /* of its SGEs, checked */
	struct unic_rq_slot win[UNIC_RQ_WINDOW];
	struct unic_rq_slot far; /* one behind the window, see rq.h */
	/* completed out of order, by slot */
	uint32_t gone[UNIC_MARKS_LAST ? UNIC_NONE : UNIC_QP_SLOTS / 32];
};

/* A READ or an atomic operation being answered, or remembered for a duplicate of its
 * request. */
struct unic_read {
	union {
		uint64_t iova;
		uint64_t was; /* atomic: the answer */
	};
	uint32_t rkey;
	uint32_t len;
	uint32_t psn;	/* of its first response */
	uint32_t npkt;	/* 0: neither */
	uint32_t off;	/* packets to send next */
	uint32_t start; /* ... first, in this execution */
	uint32_t end;	/* ... and not any more */
	uint16_t mr;	/* held while active */
	bool active;
	uint8_t again : 1;  /* for a duplicate of its request */
	uint8_t atomic : 1; /* executed already: it holds nothing */
};

enum unic_msg_kind {
	UNIC_MSG_NONE = 0,
	UNIC_MSG_SEND = 1,
	UNIC_MSG_WRITE = 2,
	UNIC_MSG_TOKEN = 3,
	UNIC_MSG_TOLD =
		4, /* TOKEN, refused: the peer is to say that it knows */
	UNIC_MSG_ATOMIC = 5, /* of a request only: it is never in progress */
};

/* The message being received. */
/* What unic_msg.imm is, and more bits of a packet for responder.c. */
#define UNIC_MSG_IMM (1u << 2)
#define UNIC_MSG_INV (1u << 3)

struct unic_msg {
	uint64_t iova;	 /* WRITE, TOKEN: where the next byte goes */
	uint64_t bus;	 /* WRITE, direct: the same */
	uint32_t left;	 /* WRITE, TOKEN: payload bytes to come */
	uint32_t placed; /* bytes */
	uint32_t token;	 /* index named by the peer */
	uint32_t imm;
	uint16_t mr;	  /* WRITE, TOKEN: target */
	uint8_t kind;	  /* enum unic_msg_kind */
	uint8_t refused;  /* TOKEN: enum unic_token_end; 0: claimed */
	uint8_t ctrl_len; /* TOKEN */
	bool held;	  /* mr is held */
	bool direct;	  /* all of it lies in one page */
	bool multi;	  /* TOKEN, for many messages: mr is held instead */
	/* of the packet in hand, for its end after the DMA */
	bool last;
	uint8_t with; /* UNIC_MSG_IMM: immediate, _INV: STag to invalidate */
	bool solicited;
	bool ackreq;
	uint32_t bytes; /* payload of the packet */
};

/* No syndromes, but vendor acknowledgements: EVICTED, RETRY_AFTER, REFUSED. */
#define UNIC_RSP_VACK	 0xffu
#define UNIC_RSP_AFTER	 0xfeu
#define UNIC_RSP_REFUSED 0xfdu

union unic_owed {
	struct {
		uint8_t nak;	/* syndrome owed; 0: none */
		bool ack;	/* an acknowledgement is owed */
		bool nak_sent;	/* silent until the expected PSN comes */
		bool gathering; /* a READ response waits for its payload */
	};
	uint32_t owes; /* 0: none of these */
};

/* Responder. */
struct unic_rsp {
	uint32_t psn; /* expected */
	uint32_t msn;
	uint32_t nak_psn;
	union unic_owed;
	uint8_t max_rd;
	uint8_t rd_next; /* read[]: where the next new one goes, the oldest */
	uint8_t rd_head; /* being answered: the oldest active one */
	uint8_t rd_active;
	uint8_t rnr_code;
	bool guessed;	/* a token key, wrong: see key_guard.h */
	bool miss_wait; /* the READ at the head waits for a page */
	/* in ERR: NAK code of the last word, 0: EVICTED, vendor; how often it
	 * may still be said */
	uint8_t last : 2;
	uint8_t lasts : 6;
	struct unic_msg msg;
};

struct unic_qp_ctx {
	uint8_t state; /* enum unic_qp_state */
	uint8_t mtu_shift;
	uint8_t rights; /* remote rights granted */
	bool used;
	uint8_t vendor; /* UNIC_PEER_* */
	bool dying;	/* QP_DESTROY answered PENDING */
	bool tell;	/* QP_GONE is wanted then */
	uint8_t evt;	/* UNIC_QP_EVT_* not yet on the event ring */
	uint8_t error;	/* enum unic_wc_status of QP_ERROR */
	uint8_t on;	/* scheduler lists it is on */
	uint8_t db_index;
	uint8_t retry_cnt, rnr_retry, max_rd;
	uint16_t next[2]; /* of the scheduler's lists */
	uint16_t proc, mr;
	uint16_t send_cq, recv_cq;
	uint16_t dmas; /* fetches and frames in flight */
	uint32_t qpn;
	union {
		struct unic_token_sender sender;
		struct unic_token_sender; /* pd, dest_qpn, dest_ipv4 */
	};
	uint8_t dest_mac[6];
	uint16_t cqes; /* completions on their way to memory */
	uint32_t retry_total, rnr_total;
	uint64_t timeout_ns; /* of an acknowledgement */
	struct unic_roce_tmpl tmpl;
	struct unic_expect expect[UNIC_EXPECTS];
	struct unic_rsp rsp;
	struct unic_sq sq;
	struct unic_rq rq;
	uint8_t type;	   /* enum unic_qp_type */
	uint8_t miss;	   /* enum unic_qp_miss */
	bool bounced;	   /* a frame of it is kept, see parked.h */
	uint8_t path;	   /* on whose lists of the scheduler it is */
	uint32_t qkey;	   /* UD */
	uint32_t gen;	   /* QPs made of this index, this epoch */
	uint32_t conn;	   /* of its connection, no other has had it; see qps */
	uint64_t route_ns; /* UD: waits for a link address since; 0: does not */
	struct unic_read read[UNIC_QP_READS]; /* of rsp */
	/* as rq.gone */
	uint32_t gone[UNIC_MARKS_LAST ? UNIC_QP_SLOTS / 32 : UNIC_NONE];
};

/* Added to RTR and RTS of UC and UD, see ud_uc.h. */
#define UNIC_QPS_UD_UC 8u

#define UNIC_QP_EVT_ERROR (1u << 0)
#define UNIC_QP_EVT_GONE  (1u << 1)
#define UNIC_QP_EVT_LAST  (1u << 2)

struct unic_qps {
	struct unic_roce roce;
	uint64_t timer_ns; /* no QP timer is due before */
	/* the first look that found no room since a frame was sent, and how many had
	 * been by then: look_later() */
	uint64_t blocked_ns;
	uint32_t blocked_sent;
	uint32_t key[8]; /* of the permutations of numbers */
	uint16_t evts_due;
	/* receives looked through for evicted regions, see rq.h */
	bool sweeping;
	uint16_t sweep_qp;
	uint32_t sweep_at;   /* slot of that QP */
	uint16_t sweep_have; /* slots in sweep_slot, from sweep_at on */
	bool sweep_fetching;
	bool sweep_stale; /* what is being fetched is not wanted any more */
	struct unic_rq_slot sweep_slot[UNIC_RQ_WINDOW];
	/* receives to be translated ahead of their messages, by QP; those of
	 * some wait for room among the misses */
	uint32_t ahead[UNIC_QP_WORDS];
	bool ahead_short;
	uint32_t conns; /* connections so far: one ends, another may come, with
			 * RESET; what waits names the one it is of (INV-18) */
	struct unic_qp_ctx qp[UNIC_QPS];
	/* the datagram in hand, see ud_uc_rx.c */
	uint32_t datagram[(UNIC_GRH_BYTES + UNIC_MTU) / 4u];
	uint16_t ahead_at; /* the QP whose turn it is to be looked ahead of */
	/* receives that messages may still pass over in this round of work */
	uint16_t looks;
	uint32_t looks_round;
};

/** unic_qp_init() - all queue pairs are free, and numbers are drawn with a
 * new key. */
void unic_qp_init(struct unic_transport *nic);

/** unic_qp_destroy() - QP_DESTROY. Work requests not completed are forgotten.
 * 0: no DMA of it is in flight, its completions are in memory; -UNIC_EPENDING:
 * QP_GONE follows when that is so; -UNIC_ENOQP. */
int unic_qp_destroy(struct unic_transport *nic, uint32_t proc, uint32_t qpn);

/** unic_qp_proc_gone() - destroy QPs of @proc, without events, as many as a round
 * does (slots.h). True when none is left. */
bool unic_qp_proc_gone(struct unic_transport *nic, uint32_t proc);

/** unic_qp_doorbell_sq() / _rq() - the process says that @tail slots were
 * posted so far to QP @idx, or, _rq(), to SRQ @idx - UNIC_QPS. A tail that leaves the
 * ring is counted (db_bad) and the QP goes to error. @lone: the process rings nothing
 * else, so one request may be sent at once (fastpath_lone.h): then unic_qp_doorbell_sq()
 * returns true. */
bool unic_qp_doorbell_sq(struct unic_transport *nic, uint32_t idx,
			 uint32_t tail, bool lone);
void unic_qp_doorbell_rq(struct unic_transport *nic, uint32_t idx,
			 uint32_t tail);

/** unic_qp_cut() - QP @idx, if there is one, dies if it holds what nic->cuts has
 * (cuts.h). What that cost: a slot of its window that was looked at, or as much. */
uint32_t unic_qp_cut(struct unic_transport *nic, uint32_t idx);

/** unic_qp_quiesce() - all QPs to ERR. */
void unic_qp_quiesce(struct unic_transport *nic);

/** unic_qp_due() - is there work for unic_qp_poll()? */
#define unic_qp_due(nic) ((nic)->sched.work | (nic)->chores)

/** unic_qp_poll() - bounded work: sweeps, events, replies, requests, flushes.
 * True if there was any. With nothing to do: one compare. */
bool unic_qp_poll(struct unic_transport *nic);

/** unic_qp_timers() - expired acknowledgement and RNR timers. Returns the next
 * deadline, UINT64_MAX: none. */
uint64_t unic_qp_timers(struct unic_transport *nic);

/** unic_qp_row() - row @idx of the QP table for DUMP. */
void unic_qp_row(struct unic_transport *nic, uint32_t idx,
		 struct unic_row_qp *row);

/* ---- for the transport modules among themselves */

/** unic_qp_by_number() - NULL if there is none. */
struct unic_qp_ctx *unic_qp_by_number(struct unic_transport *nic, uint32_t qpn);

/** unic_qp_index() - of a live QP: the low byte of its number. */
static inline uint16_t unic_qp_index(const struct unic_transport *nic,
				     const struct unic_qp_ctx *qp)
{
	(void)nic;
	return qp->qpn & 0xff;
}

/** unic_qp_state() - enum unic_qp_state, as others are told. */
static inline uint8_t unic_qp_state(const struct unic_qp_ctx *qp)
{
	return qp->state & (uint8_t)~UNIC_QPS_UD_UC;
}

/** unic_qp_receives(), unic_qp_sends() - whatever its type? */
static inline bool unic_qp_receives(const struct unic_qp_ctx *qp)
{
	return unic_qp_state(qp) == UNIC_QPS_RTR ||
	       unic_qp_state(qp) == UNIC_QPS_RTS;
}

static inline bool unic_qp_sends(const struct unic_qp_ctx *qp)
{
	return unic_qp_state(qp) == UNIC_QPS_RTS;
}

/** unic_qp_expect_nothing() - fastpath_expect.c looks at the state of @qp before it takes a
 * frame. */
static inline void unic_qp_expect_nothing(struct unic_qp_ctx *qp)
{
	uint32_t i;

	for (i = 0; i < UNIC_EXPECTS; i++)
		qp->expect[i].bytes = UNIC_EXPECT_NOTHING;
}

/** unic_qp_set_state() - @qp is in @state, because of @status (enum unic_wc_status, for the
 * trace). Nothing else happens. */
void unic_qp_set_state(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       enum unic_qp_state state, uint32_t status);

/** unic_qp_silence() - @qp is in RESET: nothing of it is sent, held, kept, timed, waited for
 * or told any more. Its DMA in flight goes on. */
void unic_qp_silence(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_qp_has_pending_io() - is DMA of @qp in flight, or a completion? */
static inline bool unic_qp_has_pending_io(const struct unic_qp_ctx *qp)
{
	return qp->dmas || qp->cqes;
}

/** unic_qp_error() - the QP dies of @status: state ERR, holds dropped, message
 * being received aborted, QP_ERROR event; flushing begins. Nothing if it is in
 * ERR already. */
void unic_qp_error(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   enum unic_wc_status status);

/** unic_qp_flushed() - @qp, in ERR, has completed all that was posted to it. */
void unic_qp_flushed(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_qp_cq_failed() - every QP that uses CQ @cq dies. */
void unic_qp_cq_failed(struct unic_transport *nic, uint16_t cq);

/** unic_qp_tx_done() - a frame that waited for its payload is sent (@err 0) or
 * dropped. @responder: which half waited. */
void unic_qp_tx_done(struct unic_transport *nic, uint16_t idx, bool responder,
		     int err);

/** unic_qp_dma_end() - one of qp->dmas ended. */
void unic_qp_dma_end(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_qp_cqe_begin() / _end() - a completion of live QP @qpn is on its way to
 * memory; it is there, or was refused. The QP stays until its last one is. */
void unic_qp_cqe_begin(struct unic_transport *nic, uint32_t qpn);
void unic_qp_cqe_end(struct unic_transport *nic, uint32_t qpn);

/** unic_qp_detail() - enum unic_wc_detail of an access error. */
uint8_t unic_qp_detail(int err);

/** unic_qp_refused() - the same for a request of @qp's own process, which may have
 * guessed: a wrong STag is counted (key_guard.h). */
uint8_t unic_qp_refused(struct unic_transport *nic,
			const struct unic_qp_ctx *qp, int err);

/** unic_qp_timer() - qp->sq.timer_ns = @at_ns. */
void unic_qp_timer(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   uint64_t at_ns);

/* PSNs are compared modulo 2^24 (IBTA 9.7.2). */
static inline int32_t unic_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t unic_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & UNIC_PSN_MASK;
}

/* Packets of a message: an empty one takes one, too. */
static inline uint32_t unic_packets(uint32_t len, uint32_t mtu_shift)
{
	return len ? (len + (1u << mtu_shift) - 1) >> mtu_shift : 1;
}

#endif /* UNIC_QP_H */
