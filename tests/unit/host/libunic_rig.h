/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * libunic_rig.h - what the tests of the library stand on: a driver that the rig
 * plays in a thread of its own, and a NIC that is the test's to play, in the
 * memory of the one slot. Host only.
 */
#ifndef LIBUNIC_RIG_H
#define LIBUNIC_RIG_H

#include "queue.h"
#include "unic_stats.h"

/* Bytes of a page, and pages of the slot. */
#define PAGE	   4096u
#define SLOT_PAGES 512u

/* The driver that the rig plays: what it answers, and what it was asked. */
struct driver {
	char path[64];
	int listener, sock;
	int slot_fd, db_efd, evt_efd, up_efd;
	uint8_t *slot;
	pthread_t thread;
	pthread_mutex_t lock;
	uint32_t next_id;
	uint32_t next_frame; /* handed out from the end: never contiguous */
	uint32_t upcalls;
	/* what to answer, and what was asked */
	uint16_t reg_status;
	uint32_t bad_frame;
	uint32_t last_user, last_mr, deregs, offers, resyncs, extends;
	uint16_t offer_status, dereg_status;
	uint32_t freed; /* frames given back */
	bool taken;	/* the addresses of the next are, until then */
	uint32_t region_state;
	struct unic_ctl_object object[4]; /* in the answer to RESYNC */
	uint32_t objects;
	/* full: registrations wait, for a deregistration or this end */
	bool full;
	uint16_t wait_end;
	uint32_t waiting; /* user of the one that does */
	/* the last requests, the last base drawn, and how often */
	struct unic_ctl_mr_reg reg;
	struct unic_ctl_mr_rereg rereg;
	uint64_t base;
	uint32_t regs, drawn;
	uint32_t batches;	    /* whose answers are missing, unless ... */
	bool in_batches;	    /* tokens are allocated, but the third */
	uint32_t tokens, cancelled; /* the last two that were, 4 bits each */
	struct unic_use_row uses;   /* of the region that is asked for */
	uint32_t uses_asked, uses_rows;
};

/* The only driver. */
extern struct driver drv;

/* The doorbell page of the slot. */
struct unic_db_page *db(void);

/* The page of the slot that the NIC writes. */
struct unic_nic_page *np(void);

/* Set-up of a test: a driver at drv.path, with one slot. Returns 0, or not. */
int driver_up(void **state);

/* Tear-down of a test: the driver is gone, with its slot. */
int driver_down(void **state);

/*
 * The driver writes record @rec, 64 bytes, as the next upcall of @type, and
 * wakes the process.
 */
void upcall(void *rec, uint8_t type);

/*
 * An upcall of @type about the region whose owner knows it as @user: notice 5,
 * 4 entries, and a deadline in ns.
 */
void upcall_mr(uint8_t type, uint32_t user, uint64_t deadline_ns);

/* A context of the driver, and one of each object in it. */
struct rig {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_qp *qp;
};

/* Opens @r: a CQ of 8 entries, and a QP of 4 slots on each side, number 77. */
void rig_up(struct rig *r);

/* Ends all of @r. */
void rig_down(struct rig *r);

/*
 * The ring of the CQ: rings were allocated in the order CQ, one page, QP, one
 * page; frames come from the end of the slot.
 */
struct unic_cqe *cq_ring(void);

/* The send ring of the QP. */
struct unic_sq_slot *sq_ring(void);

/* The NIC writes entry @n of the CQ, from 0, of queue pair @qpn. */
void complete(uint32_t n, uint32_t qpn, uint8_t opcode, uint64_t wr_id);

/* A region over @len bytes at @mem. */
struct unic_mr *reg(struct rig *r, void *mem, size_t len);

/*
 * @n pages that are not of a slot, at @at or, if that is NULL, anywhere. The
 * caller's to unmap.
 */
uint8_t *own_pages(void *at, size_t n);

/* Registered once, so that its pages are the slot's. */
void move_in(struct rig *r, void *mem, size_t n);

/*
 * Whether @err, negative, is what the library answers a child that has only
 * copies of its parent's objects.
 */
bool is_parents(int err);

/* A test with a driver. */
#define WITH_DRIVER(test) \
	cmocka_unit_test_setup_teardown(test, driver_up, driver_down)

#endif /* LIBUNIC_RIG_H */
