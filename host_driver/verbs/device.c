/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * device.c - what libibverbs asks of a provider: which devices are unic's, contexts on
 * them, and the attributes of device and port.
 *
 * Secret: the file `unic_where` of the generated tree (tools/run_tree.c), which makes a
 * device unic's and says where its driver is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ah.h"
#include "attach.h"
#include "cq.h"
#include "cq_ex.h"
#include "errnos.h"
#include "events.h"
#include "mr.h"
#include "mw.h"
#include "pd.h"
#include "completion.h"
#include "post.h"
#include "qp.h"
#include "srq.h"

#define VENDOR_ID	   0x1af4 /* of the function that a NIC of QEMU is */
#define VENDOR_PART_ID	   0x1110
#define PORT_IP_BASED_GIDS (1u << 26) /* IBV_PORT_IP_BASED_GIDS */
#define PHYS_LINK_UP	   5
#define PHYS_DISABLED	   3
#define WIDTH_1X	   1
#define SPEED_2_5_GBPS	   1

/* ------------------------------------------------------------- attributes */

static int read_text(struct ibv_context *ctx, const char *file, char *out,
		     size_t room)
{
	int n = ibv_read_ibdev_sysfs_file(
		out, room, verbs_device_of(ctx->device)->sysfs, "%s", file);

	if (n < 0)
		out[0] = '\0';
	return n;
}

static int min_of(uint32_t a, uint32_t b)
{
	return (int)(a < b ? a : b);
}

static void fill_limits(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	const struct unic_attr *nic = &unic_ibv_context(ctx)->at->attr;

	a->max_mr_size = nic->slot_bytes;
	a->page_size_cap = 4096;
	a->max_qp = min_of(nic->qps, UNIC_DB_OBJECTS);
	/* Each request may take two slots. */
	a->max_qp_wr = nic->ring_slots / 2;
	a->max_sge = UNIC_IBV_SGE;
	a->max_sge_rd = UNIC_IBV_SGE;
	a->max_cq = min_of(nic->cqs, UNIC_DB_OBJECTS);
	a->max_cqe = nic->cq_entries;
	a->max_mr = (int)nic->mrs;
	a->max_pd = (int)nic->pds;
	a->max_mw = unic_ibv_has_windows(ctx) ? (int)nic->mrs : 0;
	a->max_qp_rd_atom = (int)unic_ibv_reads(ctx);
	a->max_qp_init_rd_atom = a->max_qp_rd_atom;
	a->max_res_rd_atom = a->max_qp_rd_atom * (int)nic->qps;
	/* Among the operations of one adapter, not against the processor. */
	a->atomic_cap = unic_ibv_has_atomics(ctx) ? IBV_ATOMIC_HCA
						  : IBV_ATOMIC_NONE;
	a->max_srq = min_of(nic->srqs, UNIC_DB_OBJECTS);
	a->max_srq_wr = a->max_srq ? nic->ring_slots : 0;
	a->max_srq_sge = a->max_srq ? UNIC_IBV_SGE : 0;
	a->max_ah = INT32_MAX;
	a->max_pkeys = 1;
	a->phys_port_cnt = 1;
	a->device_cap_flags =
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD |
		(unic_ibv_has_windows(ctx) ? IBV_DEVICE_MEM_WINDOW : 0);
}

/* Memory that is on the adapter only while it is used: residency DEMAND. */
static void fill_odp(struct ibv_context *ctx, struct ibv_odp_caps *odp)
{
	odp->general_caps = IBV_ODP_SUPPORT;
	odp->per_transport_caps.rc_odp_caps =
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
		IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
		(unic_ibv_has_atomics(ctx) ? IBV_ODP_SUPPORT_ATOMIC : 0) |
		(unic_ibv_context(ctx)->at->attr.srqs ? IBV_ODP_SUPPORT_SRQ_RECV
						      : 0);
	odp->per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND;
}

static int query_device(struct ibv_context *ctx,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr *a = &attr->orig_attr;

	if ((input && input->comp_mask) || size < sizeof(*a))
		return EINVAL;
	memset(attr, 0, size);
	read_text(ctx, "fw_ver", a->fw_ver, sizeof(a->fw_ver));
	a->node_guid = ibv_get_device_guid(ctx->device);
	a->sys_image_guid = a->node_guid;
	a->vendor_id = VENDOR_ID;
	a->vendor_part_id = VENDOR_PART_ID;
	fill_limits(ctx, a);
	if (size >= offsetof(struct ibv_device_attr_ex, odp_caps) +
			    sizeof(attr->odp_caps))
		fill_odp(ctx, &attr->odp_caps);
	if (size >= offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) +
			    sizeof(attr->phys_port_cnt_ex))
		attr->phys_port_cnt_ex = 1;
	return 0;
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && bytes >= 256u << mtu)
		mtu++;
	return mtu;
}

static int query_port(struct ibv_context *ctx, uint8_t port,
		      struct ibv_port_attr *a)
{
	struct unic_attach *at = unic_ibv_context(ctx)->at;
	bool up = !unic_events_lost(at);

	if (port != UNIC_IBV_PORT)
		return EINVAL;
	memset(a, 0, sizeof(*a));
	a->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	a->phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED;
	a->max_mtu = mtu_of(at->attr.path_mtu);
	a->active_mtu = a->max_mtu;
	a->gid_tbl_len = UNIC_IBV_GIDS;
	a->pkey_tbl_len = 1;
	a->port_cap_flags = PORT_IP_BASED_GIDS;
	a->max_msg_sz = UNIC_IBV_MSG_MAX;
	a->max_vl_num = 1;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	a->active_width = WIDTH_1X;
	a->active_speed = SPEED_2_5_GBPS;
	return 0;
}

/* --------------------------------------------------------------- contexts */

static void free_context(struct ibv_context *ibctx)
{
	struct unic_ibv_context *ctx = unic_ibv_context(ibctx);

	unic_events_close_context(ctx);
	unic_attach_put(ctx->at);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops context_ops = {
	.advise_mr = unic_ibv_advise_mr,
	.alloc_mw = unic_ibv_alloc_mw,
	.alloc_parent_domain = unic_ibv_alloc_parent_domain,
	.alloc_pd = unic_ibv_alloc_pd,
	.alloc_td = unic_ibv_alloc_td,
	.bind_mw = unic_ibv_bind_mw,
	.cq_event = unic_events_cq_read,
	.create_ah = unic_ibv_create_ah,
	.create_cq = unic_ibv_create_cq,
	.create_cq_ex = unic_ibv_create_cq_ex,
	.create_qp = unic_ibv_create_qp,
	.create_qp_ex = unic_ibv_create_qp_ex,
	.create_srq = unic_ibv_create_srq,
	.create_srq_ex = unic_ibv_create_srq_ex,
	.dealloc_mw = unic_ibv_dealloc_mw,
	.dealloc_pd = unic_ibv_dealloc_pd,
	.dealloc_td = unic_ibv_dealloc_td,
	.dereg_mr = unic_ibv_dereg_mr,
	.destroy_ah = unic_ibv_destroy_ah,
	.destroy_cq = unic_ibv_destroy_cq,
	.destroy_qp = unic_ibv_destroy_qp,
	.destroy_srq = unic_ibv_destroy_srq,
	.free_context = free_context,
	.modify_qp = unic_ibv_modify_qp,
	.modify_srq = unic_ibv_modify_srq,
	.poll_cq = unic_ibv_poll_cq,
	.post_recv = unic_ibv_post_recv,
	.post_send = unic_ibv_post_send,
	.post_srq_recv = unic_ibv_post_srq_recv,
	.query_device_ex = query_device,
	.query_port = query_port,
	.query_qp = unic_ibv_query_qp,
	.query_srq = unic_ibv_query_srq,
	.reg_mr = unic_ibv_reg_mr,
	.req_notify_cq = unic_ibv_req_notify_cq,
	.rereg_mr = unic_ibv_rereg_mr,
	.resize_cq = unic_ibv_resize_cq,
};

/* Attach @ctx to the driver that the tree names. */
static int attach_context(struct unic_ibv_context *ctx)
{
	char where[UNIC_ATTACH_WHERE];
	int err;

	if (read_text(&ctx->vctx.context, "unic_where", where, sizeof(where)) <=
	    0)
		return -ENODEV;
	err = unic_attach_get(where, &ctx->at);
	if (err) {
		unic_ibv_say(ctx->vctx.context.device->name);
		return err;
	}
	err = unic_events_open_context(ctx);
	if (err)
		unic_attach_put(ctx->at);
	return err;
}

static struct verbs_context *alloc_context(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	struct unic_ibv_context *ctx = _verbs_init_and_alloc_context(
		device, cmd_fd, sizeof(*ctx),
		(struct verbs_context *)offsetof(struct unic_ibv_context, vctx),
		0);
	int err;

	(void)private_data;
	if (!ctx)
		return NULL;
	err = attach_context(ctx);
	if (err) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		return unic_ibv_null(err);
	}
	ctx->vctx.context.num_comp_vectors = 1;
	verbs_set_ops(&ctx->vctx, &context_ops);
	return &ctx->vctx;
}

/* ---------------------------------------------------------------- devices */

static bool match_device(struct verbs_sysfs_dev *sysfs)
{
	char where[UNIC_ATTACH_WHERE];

	return ibv_read_ibdev_sysfs_file(where, sizeof(where), sysfs,
					 "unic_where") > 0;
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs)
{
	(void)sysfs;
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_device_ops device_ops = {
	.name = "unic",
	.match_min_abi_version = 1,
	.match_max_abi_version = 1,
	.match_device = match_device,
	.alloc_context = alloc_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

__attribute__((constructor)) static void register_driver(void)
{
	verbs_register_driver_34(&device_ops);
}
