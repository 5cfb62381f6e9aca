/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * verbs_rig.h - the provider for libibverbs over libunic and over the driver and NIC that
 * the test plays (libunic_rig.h). The test is libibverbs and the program. Host only.
 */
#ifndef VERBS_RIG_H
#define VERBS_RIG_H

#include "attach.h"
#include "libunic_rig.h"
#include "objects.h"

#define CMD_FD 1000 /* of the context; nothing is open there */

/* What the driver is asked, and what it is to refuse. */
struct asked {
	unsigned int count[256]; /* requests by enum unic_ctl_op */
	uint16_t refuse;	 /* the request that is refused */
	uint16_t status;	 /* for this reason */
	unsigned int times;	 /* so often */
	void (*first)(void); /* what happens before the driver does; or NULL */
	struct unic_ctl_qp_create create;
	struct unic_ctl_qp_modify modify;
	uint32_t qps; /* numbers are 77, 78 ... */
};
extern struct asked asked;

/* The only context; its completion queue of 64 entries. */
struct verbs {
	struct unic_attach *at;
	struct unic_ibv_context ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};
extern struct verbs v;
/* False: the preloaded library is not there. */
extern bool with_shim;

/* Set-up of a test: driver, attachment, context and what else is in `v`. */
int verbs_up(void **state);
/* Tear-down of a test, whose queue pairs have ended. */
int verbs_down(void **state);

/* From now on @times requests @op end with @status. */
void refuse(uint16_t op, uint16_t status, unsigned int times);

/* A queue pair of @type in state RTS: as ibv_create_qp(), but that it is connected. @sges,
 * @bytes: of a send request; all is signaled if @all. */
struct ibv_qp *make_qp(enum ibv_qp_type type, unsigned int sges,
		       unsigned int bytes, bool all);
void end_qp(struct ibv_qp *qp);

/* Write the next record of @cq, as the NIC does; its seq is set here. */
void nic_writes(struct ibv_cq *cq, struct unic_cqe cqe);

/* Ring for @cq, as the NIC does: its count, then the descriptor. */
void nic_counts(struct ibv_cq *cq);
void nic_wakes(void);

/* A completion channel, as ibv_create_comp_channel() makes it by the preloaded library. */
struct ibv_comp_channel *make_channel(void);
void end_channel(struct ibv_comp_channel *channel);

/* True if @fd is readable within @ms. */
bool is_readable(int fd, int ms);
/* The queue of the next event of @channel, as ibv_get_cq_event() reads it; NULL: there is
 * none within half a second. */
struct ibv_cq *get_cq_event(struct ibv_comp_channel *channel);
/* As ibv_ack_cq_events(). */
void ack_cq_events(struct ibv_cq *cq, unsigned int n);

/* A test with a context. */
#define WITH_VERBS(test) \
	cmocka_unit_test_setup_teardown(test, verbs_up, verbs_down)

#endif /* VERBS_RIG_H */
