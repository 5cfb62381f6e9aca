/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * state.h - inside the core: struct unic_host, the driver of one NIC, and what lies in
 * it: processes, requests under way, objects. Data only: each member is written by the
 * file that its comment or its name says, and read by those above it.
 */
#ifndef UNIC_STATE_H
#define UNIC_STATE_H

#include "host_config.h"
#include "objects.h"
#include "region/frames.h"

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
	const char *name;  /* of its operation, for the log */
	uint32_t id;	   /* object it is about */
	uint32_t id2;	   /* second one (OFFER, CONN) */
	uint32_t progress; /* region_reg.c: pages filled */
	uint32_t room;	   /* bytes of its list */
	uint32_t arp_user; /* not 0: waits for ARP_RESULT */
	bool held;  /* MR_REG that waits for the NIC's answer to others */
	bool asked; /* MR_REG that may wait, and the NIC has not answered it */
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
struct unic_delay {
	uint32_t n, max_us;
	uint64_t total_us;
};

static inline void unic_delay_add(struct unic_delay *p, uint64_t from_ns,
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
	uint32_t asked, held;		   /* of its requests; region_held.h */
	bool resumes;			   /* held ones go on */
	struct unic_delay deliver, answer; /* of notices */
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
	uint32_t asked_back; /* its region's, when the question was asked */
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
	uint32_t conns_freed, tokens_freed,
		asked_back;	       /* that were looked at */
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
		[UNIC_TABLE_UNITS]; /* 1 + whose; 0: free, region_pin.c */
	struct unic_hfault fault[UNIC_REGION_FAULTS];
	uint32_t faults, drops;
	uint32_t *token_of; /* by the NIC's token index: id of our object */
	uint32_t replaced;  /* tokens to forget when the events are read */
	uint32_t restore_type, restore_at; /* restore.c: how far it is */
	void (*restored)(struct unic_host *host);
	bool away, tidied; /* recall.c, restore.c: processes not back yet */
	bool away_wanted;  /* somebody found no slot meanwhile */
	uint32_t tokens;
	struct unic_cm cm;
	struct unic_held held;
	uint64_t start_ns, time_ns; /* next HOST_TIME */
	uint64_t loads_ns;	    /* region_reg.c: when to look for frames */
	uint64_t faults_ns;	    /* region_fault.c: when to answer again */
	uint64_t setup_ns;	    /* when to go on setting the NIC up */
	uint32_t setup_at;	    /* step of that */
	uint32_t asked_back; /* notices, also those that an OFFER moved */
	uint32_t commands, failed, refused, audits, upcalls, resets, notices;
	uint64_t msg[UNIC_CTL_MSG_MAX / 8]; /* the reply that is being sent */
};

#endif /* UNIC_STATE_H */
