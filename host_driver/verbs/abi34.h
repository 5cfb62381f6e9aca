/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * abi34.h - what is used of libibverbs' private interface for providers, version 34
 * (rdma-core 44: libibverbs/driver.h, which no distribution packages). The version is in
 * the name of verbs_register_driver_34(): a libibverbs with another one does not load the
 * provider, and says so in one line.
 */
#ifndef UNIC_VERBS_ABI34_H
#define UNIC_VERBS_ABI34_H

#include <assert.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct verbs_list_node {
	struct verbs_list_node *next, *prev;
};

struct verbs_match_ent; /* not used: unic is matched by a file of its tree */

/* A device that libibverbs found in the tree of SYSFS_PATH. */
struct verbs_sysfs_dev {
	struct verbs_list_node entry;
	void *provider_data;
	const struct verbs_match_ent *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	enum ibv_node_type node_type;
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs);
	struct verbs_context *(*alloc_context)(struct ibv_device *device,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs);
	void (*uninit_device)(struct verbs_device *device);
};

struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	int refcount; /* atomic_int */
	struct verbs_list_node entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	int mr_type; /* 0: IBV_MR_TYPE_MR */
	int access;
};

#define VERBS_QP_EX 2u

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask; /* VERBS_QP_EX, or 0: it has no ibv_qp_ex */
	void *xrcd;
};

/* An operation that unic does not have: libibverbs answers EOPNOTSUPP. */
typedef void (*verbs_op_absent)(void);

/* All operations of a provider, by name; those that are NULL stay as they are. */
struct verbs_context_ops {
	int (*advise_mr)(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			 uint32_t flags, struct ibv_sge *sg_list,
			 uint32_t num_sges);
	verbs_op_absent alloc_dm;
	struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
	verbs_op_absent alloc_null_mr;
	struct ibv_pd *(*alloc_parent_domain)(
		struct ibv_context *ctx,
		struct ibv_parent_domain_init_attr *attr);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *ctx);
	struct ibv_td *(*alloc_td)(struct ibv_context *ctx,
				   struct ibv_td_init_attr *attr);
	void (*async_event)(struct ibv_context *ctx,
			    struct ibv_async_event *ev);
	verbs_op_absent attach_counters_point_flow, attach_mcast;
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw,
		       struct ibv_mw_bind *bind);
	verbs_op_absent close_xrcd;
	void (*cq_event)(struct ibv_cq *cq);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd,
				    struct ibv_ah_attr *attr);
	verbs_op_absent create_counters;
	struct ibv_cq *(*create_cq)(struct ibv_context *ctx, int cqe,
				    struct ibv_comp_channel *channel,
				    int comp_vector);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *ctx,
					  struct ibv_cq_init_attr_ex *attr);
	verbs_op_absent create_flow, create_flow_action_esp;
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd,
				    struct ibv_qp_init_attr *attr);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *ctx,
				       struct ibv_qp_init_attr_ex *attr);
	verbs_op_absent create_rwq_ind_table;
	struct ibv_srq *(*create_srq)(struct ibv_pd *pd,
				      struct ibv_srq_init_attr *attr);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *ctx,
					 struct ibv_srq_init_attr_ex *attr);
	verbs_op_absent create_wq;
	int (*dealloc_mw)(struct ibv_mw *mw);
	int (*dealloc_pd)(struct ibv_pd *pd);
	int (*dealloc_td)(struct ibv_td *td);
	int (*dereg_mr)(struct verbs_mr *mr);
	int (*destroy_ah)(struct ibv_ah *ah);
	verbs_op_absent destroy_counters;
	int (*destroy_cq)(struct ibv_cq *cq);
	verbs_op_absent destroy_flow, destroy_flow_action;
	int (*destroy_qp)(struct ibv_qp *qp);
	verbs_op_absent destroy_rwq_ind_table;
	int (*destroy_srq)(struct ibv_srq *srq);
	verbs_op_absent destroy_wq, detach_mcast;
	void (*free_context)(struct ibv_context *ctx);
	verbs_op_absent free_dm, get_srq_num, import_dm, import_mr, import_pd,
		modify_cq, modify_flow_action_esp;
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	verbs_op_absent modify_qp_rate_limit;
	int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			  int mask);
	verbs_op_absent modify_wq, open_qp, open_xrcd;
	int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad);
	verbs_op_absent post_srq_ops;
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad);
	int (*query_device_ex)(struct ibv_context *ctx,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t size);
	verbs_op_absent query_ece;
	int (*query_port)(struct ibv_context *ctx, uint8_t port,
			  struct ibv_port_attr *attr);
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init);
	verbs_op_absent query_qp_data_in_order, query_rt_values;
	int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
	verbs_op_absent read_counters, reg_dm_mr, reg_dmabuf_mr;
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
				 uint64_t iova, int access);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	int (*rereg_mr)(struct verbs_mr *mr, int flags, struct ibv_pd *pd,
			void *addr, size_t length, int access);
	int (*resize_cq)(struct ibv_cq *cq, int cqe);
	verbs_op_absent set_ece, unimport_dm, unimport_mr, unimport_pd;
};

#define VERBS_OP_AT(op, n)                                      \
	static_assert(offsetof(struct verbs_context_ops, op) == \
			      (n) * sizeof(void *),             \
		      #op " is not where libibverbs' private ABI 34 has it")

VERBS_OP_AT(advise_mr, 0);
VERBS_OP_AT(alloc_mw, 2);
VERBS_OP_AT(alloc_parent_domain, 4);
VERBS_OP_AT(alloc_pd, 5);
VERBS_OP_AT(alloc_td, 6);
VERBS_OP_AT(async_event, 7);
VERBS_OP_AT(bind_mw, 10);
VERBS_OP_AT(cq_event, 12);
VERBS_OP_AT(create_ah, 13);
VERBS_OP_AT(create_cq, 15);
VERBS_OP_AT(create_cq_ex, 16);
VERBS_OP_AT(create_qp, 19);
VERBS_OP_AT(create_qp_ex, 20);
VERBS_OP_AT(create_srq, 22);
VERBS_OP_AT(create_srq_ex, 23);
VERBS_OP_AT(dealloc_mw, 25);
VERBS_OP_AT(dealloc_pd, 26);
VERBS_OP_AT(dealloc_td, 27);
VERBS_OP_AT(dereg_mr, 28);
VERBS_OP_AT(destroy_ah, 29);
VERBS_OP_AT(destroy_cq, 31);
VERBS_OP_AT(destroy_qp, 34);
VERBS_OP_AT(destroy_srq, 36);
VERBS_OP_AT(free_context, 39);
VERBS_OP_AT(modify_qp, 47);
VERBS_OP_AT(modify_srq, 49);
VERBS_OP_AT(poll_cq, 53);
VERBS_OP_AT(post_recv, 54);
VERBS_OP_AT(post_send, 55);
VERBS_OP_AT(post_srq_recv, 57);
VERBS_OP_AT(query_device_ex, 58);
VERBS_OP_AT(query_port, 60);
VERBS_OP_AT(query_qp, 61);
VERBS_OP_AT(query_srq, 64);
VERBS_OP_AT(reg_mr, 68);
VERBS_OP_AT(req_notify_cq, 69);
VERBS_OP_AT(rereg_mr, 70);
VERBS_OP_AT(resize_cq, 71);
static_assert(sizeof(struct verbs_context_ops) == 76 * sizeof(void *), "operati"
								       "ons "
								       "are "
								       "missin"
								       "g");

/* Figures of rdma-core 44 on 64-bit machines. */
static_assert(sizeof(struct verbs_context) == 648, "verbs.h is another one");
static_assert(sizeof(struct verbs_device_ops) == 72, "private ABI 34");
static_assert(offsetof(struct verbs_device_ops, match_device) == 32, "private "
								     "ABI 34");
static_assert(sizeof(struct verbs_sysfs_dev) == 992, "private ABI 34");
static_assert(offsetof(struct verbs_sysfs_dev, ibdev_path) == 176, "private "
								   "ABI 34");
static_assert(sizeof(struct verbs_device) == 712, "private ABI 34");
static_assert(offsetof(struct verbs_device, sysfs) == 696, "private ABI 34");
static_assert(sizeof(struct verbs_mr) == 56, "private ABI 34");
static_assert(offsetof(struct verbs_mr, access) == 52, "private ABI 34");
static_assert(sizeof(struct verbs_qp) == 368, "private ABI 34");
static_assert(offsetof(struct verbs_qp, comp_mask) == 352, "private ABI 34");

/* Exported by libibverbs under the version IBVERBS_PRIVATE_34. */

/** verbs_register_driver_34() - offer a provider, from a constructor. */
void verbs_register_driver_34(const struct verbs_device_ops *ops);
/** _verbs_init_and_alloc_context() - memory of @bytes for a context, of which a struct
 * verbs_context lies at @at. It owns @cmd_fd from now on, also on failure (NULL). */
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t bytes, struct verbs_context *at,
				    uint32_t driver_id);
/** verbs_uninit_context() - close the descriptors of @ctx; its memory is the caller's. */
void verbs_uninit_context(struct verbs_context *ctx);
/** verbs_set_ops() - set the operations that are not NULL. */
void verbs_set_ops(struct verbs_context *ctx,
		   const struct verbs_context_ops *ops);
/** ibv_read_ibdev_sysfs_file() - read a file of the device's folder, without the end of
 * its line. Its length, or negative. */
int ibv_read_ibdev_sysfs_file(char *buf, size_t size,
			      struct verbs_sysfs_dev *sysfs, const char *fmt,
			      ...) __attribute__((format(printf, 4, 5)));

static inline struct verbs_device *verbs_device_of(struct ibv_device *device)
{
	return (struct verbs_device *)device;
}

#endif /* UNIC_VERBS_ABI34_H */
