/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * objects.h - the objects of the provider: what libibverbs and the program see of each
 * comes first, what libunic has of it after. The operations on them are in the headers of
 * their names; each answers as the man page of its verb says.
 */
#ifndef UNIC_VERBS_OBJECTS_H
#define UNIC_VERBS_OBJECTS_H

#include <pthread.h>

#include "abi34.h"
#include "unic.h"

struct unic_attach;
struct unic_ibv_build;
struct unic_ibv_channel;

struct unic_ibv_context {
	struct verbs_context vctx; /* ends with the struct ibv_context */
	struct unic_attach *at;
	struct unic_ibv_context *next; /* of those of the attachment */
	int async_wfd;		       /* what the program reads as async_fd */
};

struct unic_ibv_pd {
	struct ibv_pd pd;
	struct unic_pd *lib;
	struct unic_ibv_pd *of; /* a parent domain: of this protection domain */
	struct unic_ibv_td *td; /* its thread domain, or NULL */
	unsigned int
		users; /* parent domains; or, of one, queue pairs; atomic */
};

struct unic_ibv_td {
	struct ibv_td td;
	unsigned int users; /* parent domains; atomic */
};

struct unic_ibv_mr {
	struct verbs_mr vmr;
	struct unic_mr *lib;
	struct unic_ibv_mr *next, **at; /* of those of the attachment */
};

struct unic_ibv_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct unic_cq *lib;
	/* of ibv_cq_ex: the completion that is read, by the thread that has the lock */
	pthread_mutex_t polling;
	struct ibv_wc wc;
	struct unic_ibv_cq *next; /* of those of the attachment */
	/* all that follow under the lock of the attachment */
	struct unic_ibv_channel *channel; /* NULL: none */
	uint32_t notified; /* rings of the NIC that were passed on */
	uint32_t sent;	   /* events that the program has read, or will */
	uint32_t async_sent;
	bool owed; /* an event for which the channel had no room */
};

struct unic_ibv_qp {
	struct verbs_qp vqp;
	struct unic_qp *lib;
	struct unic_ibv_qp *next; /* of those of the attachment */
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr; /* as set by modify_qp */
	bool signal_all;
	struct unic_ibv_build *build; /* of ibv_qp_ex; else NULL */
	uint32_t async_sent;	      /* under the lock of the attachment */
};

struct unic_ibv_srq {
	struct ibv_srq srq;
	struct unic_srq *lib;
	struct unic_ibv_srq *next; /* of those of the attachment */
	uint32_t limit;	     /* as it was set; 0 after its event; atomic */
	uint32_t async_sent; /* under the lock of the attachment */
};

struct unic_ibv_ah {
	struct ibv_ah ah;
	uint32_t ipv4; /* host order */
};

static inline struct unic_ibv_context *unic_ibv_context(struct ibv_context *ctx)
{
	return (struct unic_ibv_context *)((char *)ctx -
					   offsetof(struct unic_ibv_context,
						    vctx.context));
}

static inline struct unic_ibv_pd *unic_ibv_pd(struct ibv_pd *pd)
{
	return (struct unic_ibv_pd *)pd;
}

static inline struct unic_ibv_cq *unic_ibv_cq(struct ibv_cq *cq)
{
	return (struct unic_ibv_cq *)cq;
}

static inline struct unic_ibv_qp *unic_ibv_qp(struct ibv_qp *qp)
{
	return (struct unic_ibv_qp *)qp;
}

static inline struct unic_ibv_srq *unic_ibv_srq(struct ibv_srq *srq)
{
	return (struct unic_ibv_srq *)srq;
}

/* What the ABI allows of one object; what a NIC allows is in its attributes. */
#define UNIC_IBV_SGE	 UNIC_RQ_SGE_MAX /* a send may have UNIC_SQ_SGE_MAX */
#define UNIC_IBV_MSG_MAX (1u << 30)
#define UNIC_IBV_PORT	 1u
#define UNIC_IBV_GIDS	 4u /* of the table, of which the first is there */
#define UNIC_IBV_PKEY	 0xffffu

#endif /* UNIC_VERBS_OBJECTS_H */
