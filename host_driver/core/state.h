/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * state.h - inside the core: struct unic_host, the driver of one NIC, and its parts:
 * processes, requests under way, objects. Data only: the file that a member's comment or
 * name says writes the member, and the files above that one read it.
 */
#ifndef UNIC_STATE_H
#define UNIC_STATE_H

#include "host_config.h"
#include "objects.h"
#include "region/frames.h"

struct unic_batch;
struct unic_region;

/* A request of a process, or of the driver itself (client NULL). Fields without a
 * comment are those of its record (struct unic_ctl_hdr). */
struct unic_req {
	struct unic_call call;
	struct unic_host *host;
	struct unic_client *client;   /* NULL: no reply is sent */
	struct unic_req *prev, *next; /* in host->reqs */
	uint32_t slot;		      /* of the process, or UNIC_OS_NO_SLOT */
	uint32_t seq;
	uint16_t op;
	const char *name;  /* of the operation, for the log */
	uint32_t id;	   /* the object that is named */
	uint32_t id2;	   /* a second object (OFFER, CONN) */
	uint32_t progress; /* region_reg.c: pages filled */
	uint32_t room;	   /* bytes of call.list */
	uint32_t arp_user; /* not 0: waits for ARP_RESULT with this number */
	/* an MR_REG that may wait (region_held.h): not sent until the NIC has
	 * answered others; sent and not answered */
	bool held;
	bool asked;
	bool waits; /* a TOKEN_CANCEL that TOKEN_END answers */
	uint8_t mac[6];
	void (*then)(struct unic_req *req, uint32_t status); /* after ARP */
	uint64_t rec[UNIC_REC_WORDS];			     /* its record */
	uint32_t tail_bytes;
	uint8_t tail[UNIC_CTL_CM_PRIVATE_MAX];
	struct unic_batch *batch; /* that it is, or is a member of; or NULL */
	uint32_t nth;		  /* of the members, from 1 on; 0: no member */
};

enum unic_hproc_state {
	UNIC_HPROC_FREE = 0,
	UNIC_HPROC_ATTACHING = 1, /* enum unic_ctl_proc_state */
	UNIC_HPROC_LIVE = 2,
	UNIC_HPROC_DETACHING = 3,
	UNIC_HPROC_HELD = 4,
};

/* Delays of one kind: how many, the longest, the sum. */
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

/* What a process may have the driver do in a second (limit.h). */
struct unic_limit {
	uint32_t rate;	  /* 0: any number */
	uint32_t over;	  /* times that there was more */
	uint64_t paid_ns; /* all that was done is paid for */
};

struct unic_hproc {
	uint8_t state;
	bool detach_sent;	     /* its command is under way */
	bool keep;		     /* UNIC_CTL_HELLO_KEEP */
	bool resumed;		     /* an earlier driver served the process */
	struct unic_proc_note *note; /* in the journal; NULL: there is none */
	struct unic_client *client;
	uint32_t pid, uid;
	uint32_t left; /* HELD: host->left at that moment */
	uint8_t name[16];
	uint32_t weight, quota, policy;
	uint64_t rate;	 /* transmit limit, bytes in a second; 0: none */
	uint32_t burst;	 /* of it, bytes */
	uint32_t keeper; /* of the client that it is attached for */
	struct unic_frames frames;
	struct unic_upcall_ring *ring; /* hostile memory, written only */
	uint32_t upcall_next;
	uint64_t wake_ns; /* upcall.c: when it is woken; 0: it was */
	struct unic_limit limit[UNIC_CTL_LIMITS];
	uint32_t upcalls, notices, evictions, requests, refused;
	uint32_t regions, waits, deadlines;
	uint32_t asked, held;		   /* requests that are so */
	bool resumes;			   /* resume_held() runs */
	struct unic_delay deliver, answer; /* of notices */
	struct unic_req detach; /* PROC_DETACH: needs no memory of the OS */
};

#define UNIC_LOST 0xffffffffu /* NIC number of an object that the NIC lacks */

struct unic_hpd {
	struct unic_obj obj;
	uint32_t pd; /* of the NIC, or UNIC_LOST */
};

struct unic_hcq {
	struct unic_obj obj;
	uint32_t cq; /* of the NIC, or UNIC_LOST */
	bool overrun;
	uint32_t user;
	uint64_t made[UNIC_REC_WORDS]; /* record of its CQ_CREATE */
};

struct unic_hqp {
	struct unic_obj obj;
	uint32_t qpn; /* of the NIC, or UNIC_LOST */
	uint32_t user;
	uint32_t state;		 /* enum unic_qp_state, by moves and events */
	uint32_t conn;		 /* id, 0: none */
	bool restored;		 /* only QP_MODIFY to RESET is allowed */
	struct unic_req *waiter; /* QP_DESTROY waits for QP_GONE */
	uint64_t made[UNIC_REC_WORDS]; /* record of its QP_CREATE */
};

struct unic_hsrq {
	struct unic_obj obj;
	uint32_t srq; /* of the NIC */
	uint32_t user;
	bool failed;
};

struct unic_htoken {
	struct unic_obj obj;
	uint32_t index, user;
	uint64_t key;
	bool replaced;	/* another token has the index: this one has ended */
	uint32_t waits; /* requests that its TOKEN_END answers */
};

#define UNIC_REGION_FAULTS 64u

/* A MISS without an answer, or whose answer is under way: a place of host->fault. */
struct unic_hfault {
	bool used, under_way;
	uint32_t user, mr, gen; /* as in the event */
	uint32_t first, count, seq;
	uint32_t sent; /* pages of the answer */
	uint32_t turn; /* answers sent from this place */
	uint64_t retry_ns, give_up_ns;
};

#define UNIC_HOLDS    256u
#define UNIC_ASKED    64u
#define UNIC_HANDINGS 16u

/* A grant: the peer of @conn was given an STag or token of region @mr (grants.c). When
 * the region ends before the peer has said that it does not use it, the peer is told. */
struct unic_hold {
	uint32_t mr;	       /* id; 0: the place is free */
	uint32_t conn;	       /* id of the connection */
	uint32_t kind, number; /* of abi/unic_ctl.h */
	uint32_t token, owner; /* id or 0; slot of the exporter */
	uint64_t nonce;	       /* of the open INVALIDATE; 0: none is open */
	uint64_t again_ns;     /* when INVALIDATE is sent again */
	uint32_t cause;	       /* id of the region with the notice: `mr`, or one
				* that this form is made of */
	uint32_t asked_back;   /* of `cause`, when the nonce was drawn */
	bool ended;	       /* the region has ended, and the peer is told */
	uint32_t tries;	       /* times that it was told so */
};

/* An INVALIDATE that came for a process of this host; new ones replace the oldest. */
struct unic_asked {
	uint32_t conn, kind, number;
	bool done;
	uint64_t nonce;
};

/* A DELEGATE without an answer. */
struct unic_handing {
	struct unic_req *req; /* NULL: the place is free */
	uint32_t conn, tries;
	uint64_t nonce, again_ns;
};

struct unic_held {
	struct unic_hold hold[UNIC_HOLDS];
	struct unic_asked asked[UNIC_ASKED];
	struct unic_handing handing[UNIC_HANDINGS];
	/* the counters of the host that unic_grants_step() has handled */
	uint32_t conns_freed, tokens_freed, mrs_freed, evicted, asked_back;
	/* places of asked[] taken so far; graces that ended early; datagrams that
	 * named no connection; holders told of an end, and those that said nothing */
	uint32_t asks, early, refused, told, unheard;
	uint64_t next_ns; /* the earliest again_ns */
};

#define UNIC_COMM_BUCKETS 256u

struct unic_cm {
	struct conn *by_comm[UNIC_COMM_BUCKETS]; /* cm_conn.c */
	uint32_t strays;     /* messages that fit no connection */
	uint32_t crowded;    /* half-open connections that gave way */
	uint32_t impossible; /* REQs that no queue pair here can serve */
	uint64_t next_ns;    /* earliest timer of a connection */
};

/* All tables of the device as of one instant (snapshot.c). */
struct unic_hsnapshot {
	uint8_t (*row)[UNIC_ROW_BYTES]; /* by table; NULL: there is none */
	uint32_t room, rows;		/* of `row`: there are, and are used */
	uint32_t end[UNIC_TABLE_HISTOGRAM + 1]; /* of the rows of each table */
	uint32_t number;			/* of the last one */
	uint64_t time_ns;			/* NIC time */
	struct unic_client *client;		/* that it was taken for */
	uint64_t next_ns; /* when it ends; fetch: when it is tried again */
	/* the request that is answered when all rows are there; or NULL */
	struct unic_req *fetch;
	uint32_t tries, table, status; /* of it */
	uint32_t of_nic;	       /* the NIC's number of the snapshot */
};

struct unic_host {
	struct unic_os *os;
	struct unic_provider *provider;
	struct unic_host_config config;
	struct unic_objects objects;
	struct unic_hproc proc[UNIC_HOST_SLOTS_MAX];
	struct unic_req *reqs;	/* open ones, newest first */
	struct unic_req *spare; /* memory for the next one; or NULL */
	uint32_t state;		/* enum unic_provider_state */
	bool ready;		/* state READY and set up */
	/* the NIC may access memory of objects that have ended: keep pins */
	bool dark;
	uint32_t epoch, arp_seq;
	uint32_t slots; /* usable: of config.slots and of the NIC, the fewer */
	uint32_t left;	/* times that a slot became HELD */
	uint32_t share[UNIC_OBJ_TYPES]; /* objects one process may have */
	uint64_t features;		/* UNIC_FEAT_* of the device */
	uint32_t waits;			/* admission places of the NIC */
	uint32_t list_bytes;		/* of a list page of the device */
	struct unic_hfault fault[UNIC_REGION_FAULTS];
	uint32_t faults, drops;
	uint32_t *token_of; /* id of the object, by the NIC's token index */
	uint32_t replaced;  /* tokens that unic_queue_settled() frees */
	uint32_t restore_type, restore_at; /* restore.c: the next object */
	uint8_t restore_pass;		   /* over the regions */
	bool restore_found;		   /* a form, in this one */
	void (*restored)(struct unic_host *host);
	/* a recalled process may not have come back; unic_journal_tidy() has run */
	bool away, tidied;
	bool away_wanted; /* a HELLO found no slot meanwhile */
	uint32_t tokens;  /* of the device */
	struct unic_cm cm;
	struct unic_held held;
	struct unic_hsnapshot snapshot;
	/* when unic_host_new() ran; when the next HOST_TIME is sent */
	uint64_t start_ns, time_ns;
	uint64_t loads_ns;   /* region_reg.c: when pins are tried again */
	uint64_t faults_ns;  /* region_fault.c: when to answer again */
	uint64_t wakes_ns;   /* upcall.c: the earliest wake_ns, or before */
	uint64_t setup_ns;   /* when the next setup step runs */
	uint32_t setup_at;   /* that step */
	uint32_t asked_back; /* notices, also those that an OFFER moved */
	uint32_t evicted;    /* regions that ended and have an owner still */
	uint32_t commands, failed, refused, audits, upcalls, resets, notices;
	uint32_t told; /* `upcalls` when this unic_host_poll() began */
	uint64_t msg[UNIC_CTL_MSG_MAX / 8]; /* the reply being sent */
};

static inline uint64_t unic_earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

#endif /* UNIC_STATE_H */
