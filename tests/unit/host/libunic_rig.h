/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * libunic_rig.h - the set-up of the tests of the library: a fake driver in a
 * thread, and a NIC that the test emulates, in the memory of the one slot. Host
 * only.
 */
#ifndef LIBUNIC_RIG_H
#define LIBUNIC_RIG_H

#include "queue.h"
#include "unic_stats.h"

/* Bytes of a page, and pages of the slot. */
#define PAGE	   4096u
#define SLOT_PAGES 512u

/* The fake driver: its answers, and the requests that it received. */
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
	/* answers, and requests */
	uint32_t version; /* not 0: HELLO fails, the driver has this version */
	uint16_t reg_status;
	uint32_t bad_frame;
	uint32_t last_user, last_mr, deregs, offers, resyncs, extends;
	uint16_t offer_status, dereg_status;
	uint32_t freed; /* frames that were freed */
	/* not 0: frames that a process may have; it has `taken_frames` */
	uint32_t frames, taken_frames;
	/* until FRAMES_FREE: the addresses asked for are in use */
	bool taken;
	uint32_t region_state;
	struct unic_ctl_object object[4]; /* in the answer to RESYNC */
	uint32_t objects;
	/* full: registrations wait, for a deregistration or for wait_end */
	bool full;
	uint16_t wait_end;
	uint32_t waiting; /* user word of the waiting registration */
	/* last request, without its tail, and the answer to one that needs none */
	_Alignas(8) uint8_t last[UNIC_CTL_BYTES];
	uint16_t status;
	/* last requests, last base drawn, and number of draws */
	struct unic_ctl_mr_reg reg;
	struct unic_ctl_mr_rereg rereg;
	uint64_t base;
	uint32_t regs, drawn;
	/* BATCH requests; their answer is empty, unless in_batches */
	uint32_t batches;
	/* BATCH allocates each token but the third */
	bool in_batches;
	/* tokens allocated; ids of the cancelled ones, 4 bits each */
	uint32_t tokens, cancelled;
	/*
	 * Answers a request of @len bytes at @in before the others do: @out has
	 * its header. Returns the bytes of the answer's tail, or -1: not its
	 * business.
	 */
	int (*first)(uint16_t op, const uint8_t *in, size_t len, uint8_t *out);
	struct unic_use_row uses; /* the row in the answer to USES */
	uint32_t uses_asked, uses_rows;
};

/* The only driver. */
extern struct driver drv;

/* The doorbell page of the slot. */
struct unic_db_page *db(void);

/* The page of the slot that the NIC writes. */
struct unic_nic_page *np(void);

/* Set-up of a test: a driver at drv.path, with one slot. Returns 0 or an error. */
int driver_up(void **state);

/* Tear-down of a test: ends the driver, and its slot. */
int driver_down(void **state);

/*
 * Writes record @rec, 64 bytes, as the next upcall of @type, and wakes the
 * process.
 */
void upcall(void *rec, uint8_t type);

/*
 * Writes an upcall of @type about the region with user word @user: notice 5, 4
 * entries, and a deadline in ns.
 */
void upcall_mr(uint8_t type, uint32_t user, uint64_t deadline_ns);

/* A context of the driver, and one object of each kind in it. */
struct rig {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_qp *qp;
};

/* As rig_up(), with a QP of the kind @cut. */
void rig_up_as(struct rig *r, uint8_t cut);

/* Opens @r: a CQ of 8 entries, and QP number 77 of 4 slots on each side. */
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

/* Writes entry @n of the CQ, from 0, as the NIC does, for queue pair @qpn. */
void complete(uint32_t n, uint32_t qpn, uint8_t opcode, uint64_t wr_id);

/* Registers @len bytes at @mem. */
struct unic_mr *reg(struct rig *r, void *mem, size_t len);

/*
 * Maps @n pages that belong to no slot, at @at, or anywhere if @at is NULL; the
 * caller unmaps them.
 */
uint8_t *own_pages(void *at, size_t n);

/* Registers @mem once, so that its pages become the slot's. */
void move_in(struct rig *r, void *mem, size_t n);

/*
 * True if @err and unic_last_error() say that the object belongs to the parent
 * of this process.
 */
bool is_parents(int err);

/* A test with a driver. */
#define WITH_DRIVER(test) \
	cmocka_unit_test_setup_teardown(test, driver_up, driver_down)

#endif /* LIBUNIC_RIG_H */
