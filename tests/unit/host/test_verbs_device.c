/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_device.c - what libibverbs asks of a provider: devices, contexts, attributes;
 * and memory regions. The test is libibverbs: the functions that it exports to providers
 * are here, and read the generated tree from `tree`.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#include "completion.h"
#include "cq.h"
#include "events.h"
#include "mr.h"
#include "pd.h"
#include "post.h"
#include "qp.h"
#include "shim/channel.h"
#include "verbs_rig.h"

/* ------------------------------------------------------------ libibverbs */

static struct {
	const char *where, *fw_ver; /* NULL: there is no such file */
} tree;
static const struct verbs_device_ops *ops;
static struct verbs_context_ops context_ops;
static unsigned int contexts; /* that libibverbs has */

void verbs_register_driver_34(const struct verbs_device_ops *of)
{
	ops = of;
}

void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t bytes, struct verbs_context *at,
				    uint32_t driver_id)
{
	uint8_t *all = calloc(1, bytes);
	struct verbs_context *ctx = (void *)(all + (uintptr_t)at);

	(void)driver_id;
	ctx->context.device = device;
	ctx->context.cmd_fd = cmd_fd;
	contexts++;
	return all;
}

void verbs_uninit_context(struct verbs_context *ctx)
{
	(void)ctx;
	contexts--;
}

void verbs_set_ops(struct verbs_context *ctx,
		   const struct verbs_context_ops *of)
{
	(void)ctx;
	context_ops = *of;
}

int ibv_read_ibdev_sysfs_file(char *buf, size_t size,
			      struct verbs_sysfs_dev *sysfs, const char *fmt,
			      ...)
{
	const char *text;
	char name[32];
	va_list ap;

	(void)sysfs;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	text = strcmp(name, "unic_where") ? tree.fw_ver : tree.where;
	return text ? snprintf(buf, size, "%s", text) : -1;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	(void)device;
	return 0x1122334455667788;
}

/* --------------------------------------------------------------- contexts */

static struct verbs_device device;

static void a_device_is_unics_by_its_file(void **state)
{
	struct verbs_sysfs_dev sysfs = { 0 };
	struct verbs_device *made;

	(void)state;
	assert_non_null(ops);
	assert_string_equal(ops->name, "unic");
	tree.where = NULL;
	assert_false(ops->match_device(&sysfs));
	tree.where = "";
	assert_false(ops->match_device(&sysfs));
	tree.where = "/x";
	assert_true(ops->match_device(&sysfs));
	made = ops->alloc_device(&sysfs);
	assert_non_null(made);
	ops->uninit_device(made);
}

static void no_context(int err)
{
	errno = 0;
	assert_null(ops->alloc_context(&device.device, CMD_FD + 1, NULL));
	assert_int_equal(errno, err);
	assert_int_equal(contexts, 0);
	assert_false(unic_shim_owns(CMD_FD + 1));
	assert_int_equal(v.at->refs, 1);
}

static void a_context_is_made_or_is_not(void **state)
{
	struct verbs_context *ctx;
	struct ibv_context *ibctx;

	(void)state;
	tree.where = NULL;
	no_context(EIO);
	tree.where = "/nowhere";
	no_context(EINVAL);
	tree.where = drv.path;
	with_shim = false;
	no_context(EIO);
	with_shim = true;
	ctx = ops->alloc_context(&device.device, CMD_FD + 1, NULL);
	assert_non_null(ctx);
	ibctx = &ctx->context;
	assert_int_equal(contexts, 1);
	assert_int_equal(ibctx->num_comp_vectors, 1);
	assert_true(unic_shim_owns(CMD_FD + 1));
	assert_ptr_equal(unic_ibv_context(ibctx)->at, v.at);
	assert_int_equal(v.at->refs, 2);
	assert_ptr_equal(context_ops.alloc_pd, unic_ibv_alloc_pd);
	assert_ptr_equal(context_ops.cq_event, unic_events_cq_read);
	assert_ptr_equal(context_ops.create_cq, unic_ibv_create_cq);
	assert_ptr_equal(context_ops.create_qp, unic_ibv_create_qp);
	assert_ptr_equal(context_ops.dealloc_pd, unic_ibv_dealloc_pd);
	assert_ptr_equal(context_ops.dereg_mr, unic_ibv_dereg_mr);
	assert_ptr_equal(context_ops.destroy_cq, unic_ibv_destroy_cq);
	assert_ptr_equal(context_ops.destroy_qp, unic_ibv_destroy_qp);
	assert_ptr_equal(context_ops.modify_qp, unic_ibv_modify_qp);
	assert_ptr_equal(context_ops.poll_cq, unic_ibv_poll_cq);
	assert_ptr_equal(context_ops.post_recv, unic_ibv_post_recv);
	assert_ptr_equal(context_ops.post_send, unic_ibv_post_send);
	assert_ptr_equal(context_ops.query_qp, unic_ibv_query_qp);
	assert_ptr_equal(context_ops.reg_mr, unic_ibv_reg_mr);
	assert_ptr_equal(context_ops.req_notify_cq, unic_ibv_req_notify_cq);
	close(ibctx->async_fd);
	context_ops.free_context(ibctx);
	assert_int_equal(contexts, 0);
	assert_false(unic_shim_owns(CMD_FD + 1));
	assert_int_equal(v.at->refs, 1);
}

/* ------------------------------------------------------------- attributes */

/* A context, for its operations. */
static struct ibv_context *begin(void)
{
	struct verbs_context *ctx;

	tree.where = drv.path;
	tree.fw_ver = "1.2.3";
	ctx = ops->alloc_context(&device.device, CMD_FD + 1, NULL);
	assert_non_null(ctx);
	return &ctx->context;
}

static void end(struct ibv_context *ctx)
{
	close(ctx->async_fd);
	context_ops.free_context(ctx);
}

static void a_device_says_what_it_has(void **state)
{
	struct ibv_query_device_ex_input more = { .comp_mask = 1 };
	struct ibv_context *ctx = begin();
	struct ibv_device_attr_ex attr;
	const struct ibv_device_attr *a = &attr.orig_attr;
	__typeof__(&attr.odp_caps.per_transport_caps) odp =
		&attr.odp_caps.per_transport_caps;

	(void)state;
	v.at->attr.slot_bytes = 1ull << 33;
	v.at->attr.qps = 100;
	v.at->attr.cqs = 1000;
	v.at->attr.mrs = 300;
	v.at->attr.pds = 17;
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(
		context_ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), 0);
	assert_string_equal(a->fw_ver, "1.2.3");
	assert_int_equal(a->node_guid, 0x1122334455667788);
	assert_int_equal(a->sys_image_guid, a->node_guid);
	assert_int_equal(a->max_mr_size, 1ull << 33);
	assert_int_equal(a->max_qp, UNIC_DB_OBJECTS);
	assert_int_equal(a->max_cq, UNIC_DB_OBJECTS);
	assert_int_equal(a->max_mr, 300);
	assert_int_equal(a->max_pd, 17);
	assert_int_equal(a->max_qp_wr, 512);
	assert_int_equal(a->max_sge, 3);
	assert_int_equal(a->max_cqe, 4096);
	assert_int_equal(a->max_qp_rd_atom, 4);
	assert_int_equal(a->max_res_rd_atom, 400);
	assert_int_equal(a->max_srq, 0);
	assert_int_equal(a->max_srq_wr, 0);
	assert_int_equal(a->max_srq_sge, 0);
	assert_int_equal(a->phys_port_cnt, 1);
	assert_int_equal(attr.phys_port_cnt_ex, 1);
	assert_int_equal(attr.odp_caps.general_caps, IBV_ODP_SUPPORT);
	assert_int_equal(odp->rc_odp_caps,
			 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				 IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ);
	assert_int_equal(odp->uc_odp_caps, 0);
	assert_int_equal(odp->ud_odp_caps, IBV_ODP_SUPPORT_SEND);
	assert_int_equal(context_ops.query_device_ex(ctx, &more, &attr,
						     sizeof(attr)),
			 EINVAL);
	more.comp_mask = 0;
	assert_int_equal(a->max_mw, 0);
	assert_int_equal(a->device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0);
	v.at->attr.features |= UNIC_FEAT_ATOMICS | UNIC_FEAT_WINDOWS |
			       UNIC_FEAT_CACHED_WINDOWS;
	v.at->attr.qps = 40; /* a smaller one */
	v.at->attr.cqs = 30;
	v.at->attr.srqs = 5;
	v.at->attr.ring_slots = 4096; /* with larger queues */
	v.at->attr.cq_entries = 16384;
	assert_int_equal(
		context_ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), 0);
	assert_int_equal(a->max_qp, 40);
	assert_int_equal(a->max_cq, 30);
	assert_int_equal(a->max_mw, a->max_mr);
	assert_true(a->device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_int_equal(a->max_qp_wr, 2048);
	assert_int_equal(a->max_srq_wr, 4096);
	assert_int_equal(a->max_cqe, 16384);
	assert_true(odp->rc_odp_caps & IBV_ODP_SUPPORT_ATOMIC);
	assert_true(odp->rc_odp_caps & IBV_ODP_SUPPORT_SRQ_RECV);
	assert_int_equal(context_ops.query_device_ex(ctx, &more, &attr,
						     sizeof(*a) - 1),
			 EINVAL);
	/* of a program that is older nothing else is written */
	memset(&attr, 0xff, sizeof(attr));
	tree.fw_ver = NULL;
	assert_int_equal(
		context_ops.query_device_ex(ctx, &more, &attr, sizeof(*a)), 0);
	assert_string_equal(a->fw_ver, "");
	assert_int_equal(attr.phys_port_cnt_ex, UINT32_MAX);
	assert_int_equal(attr.odp_caps.general_caps, UINT64_MAX);
	end(ctx);
}

static enum ibv_mtu mtu_of(struct ibv_context *ctx, uint32_t bytes)
{
	struct ibv_port_attr a;

	v.at->attr.path_mtu = bytes;
	assert_int_equal(context_ops.query_port(ctx, 1, &a), 0);
	assert_int_equal(a.active_mtu, a.max_mtu);
	return a.active_mtu;
}

static void a_port_says_what_it_is(void **state)
{
	struct ibv_context *ctx = begin();
	struct ibv_port_attr a;

	(void)state;
	assert_int_equal(context_ops.query_port(ctx, 0, &a), EINVAL);
	assert_int_equal(context_ops.query_port(ctx, 2, &a), EINVAL);
	memset(&a, 0xff, sizeof(a));
	assert_int_equal(context_ops.query_port(ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_ACTIVE);
	assert_int_equal(a.phys_state, 5);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(a.gid_tbl_len, 4);
	assert_int_equal(a.pkey_tbl_len, 1);
	assert_int_equal(a.max_msg_sz, 1u << 30);
	assert_int_equal(a.lid, 0);
	assert_int_equal(mtu_of(ctx, 256), IBV_MTU_256);
	assert_int_equal(mtu_of(ctx, 511), IBV_MTU_256);
	assert_int_equal(mtu_of(ctx, 512), IBV_MTU_512);
	assert_int_equal(mtu_of(ctx, 1024), IBV_MTU_1024);
	assert_int_equal(mtu_of(ctx, 4096), IBV_MTU_4096);
	assert_int_equal(mtu_of(ctx, 9000), IBV_MTU_4096);
	__atomic_store_n(&v.at->lost, true, __ATOMIC_RELEASE);
	assert_int_equal(context_ops.query_port(ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_DOWN);
	assert_int_equal(a.phys_state, 3);
	__atomic_store_n(&v.at->lost, false, __ATOMIC_RELEASE);
	end(ctx);
}

/* ---------------------------------------------------------------- regions */

static struct ibv_mr *reg_as(void *mem, int access)
{
	struct ibv_mr *mr =
		unic_ibv_reg_mr(v.pd, mem, PAGE, (uintptr_t)mem, access);

	assert_non_null(mr);
	return mr;
}

static void dereg(struct ibv_mr *mr)
{
	assert_int_equal(unic_ibv_dereg_mr((struct verbs_mr *)mr), 0);
}

static void rights_are_the_nics(void **state)
{
	static const struct {
		int access;
		uint8_t rights;
	} all[] = {
		{ 0, 0 },
		{ IBV_ACCESS_LOCAL_WRITE, UNIC_MR_LOCAL_WRITE },
		{ IBV_ACCESS_REMOTE_READ, UNIC_MR_REMOTE_READ },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		  UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE },
		{ IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING, 0 },
	};
	uint8_t *mem = own_pages(NULL, 1);
	struct ibv_mr *mr;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		mr = reg_as(mem, all[i].access);
		assert_int_equal(drv.reg.rights, all[i].rights);
		assert_int_equal(unic_from_le64(drv.reg.va), (uintptr_t)mem);
		/* addresses of the program are those of the NIC */
		assert_int_equal(unic_from_le64(drv.reg.iova), (uintptr_t)mem);
		assert_int_equal(drv.reg.flags & UNIC_CTL_REG_RANDOM, 0);
		assert_int_equal(unic_from_le64(drv.reg.length), PAGE);
		assert_int_equal(unic_from_le32(drv.reg.pd),
				 unic_ibv_pd(v.pd)->lib->id);
		assert_int_equal(mr->lkey, 0x1000 + drv.last_mr);
		assert_int_equal(mr->rkey, mr->lkey);
		assert_int_equal(((struct verbs_mr *)mr)->access,
				 all[i].access);
		dereg(mr);
	}
	v.at->attr.features |= UNIC_FEAT_WINDOWS | UNIC_FEAT_CACHED_WINDOWS;
	mr = reg_as(mem, IBV_ACCESS_MW_BIND);
	assert_int_equal(drv.reg.rights, UNIC_MR_MW_BIND);
	dereg(mr);
	v.at->attr.features |= UNIC_FEAT_HOST_TABLE;
	mr = reg_as(mem, 0);
	assert_int_equal(drv.reg.residency, UNIC_TABLE);
	dereg(mr);
	v.at->attr.features &= ~(uint64_t)UNIC_FEAT_HOST_TABLE;
	mr = reg_as(mem, 0);
	assert_int_equal(drv.reg.residency, UNIC_DEMAND);
	dereg(mr);
	munmap(mem, PAGE);
}

static void no_mr(void *mem, uint64_t iova, int access, int err)
{
	errno = 0;
	assert_null(unic_ibv_reg_mr(v.pd, mem, PAGE, iova, access));
	assert_int_equal(errno, err);
}

static void what_is_no_region_is_refused(void **state)
{
	uint8_t *mem = own_pages(NULL, 1);
	uint64_t at = (uintptr_t)mem;
	uint32_t regs = drv.regs;

	(void)state;
	no_mr(mem, at, IBV_ACCESS_MW_BIND, EOPNOTSUPP);
	no_mr(mem, at, IBV_ACCESS_ZERO_BASED, EOPNOTSUPP);
	no_mr(mem, at, 1 << 12, EINVAL);
	no_mr(mem, at, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	no_mr(mem, at, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	no_mr(mem, at + PAGE, 0, EOPNOTSUPP);
	assert_int_equal(drv.regs, regs);
	refuse(UNIC_CTL_MR_REG, UNIC_ST_MR_FULL, 1);
	no_mr(mem, at, 0, ENOMEM);
	munmap(mem, PAGE);
	no_mr(mem, at, 0, EFAULT);
}

/* A region whose end fails is there still. */
static void a_region_ends_once(void **state)
{
	uint8_t *mem = own_pages(NULL, 1);
	struct ibv_mr *mr = reg_as(mem, 0);

	(void)state;
	refuse(UNIC_CTL_MR_DEREG, UNIC_CTL_ST_TOO_MANY, 1);
	assert_int_equal(unic_ibv_dereg_mr((struct verbs_mr *)mr), ENOMEM);
	assert_int_equal(mr->lkey, 0x1000 + drv.last_mr);
	dereg(mr);
	munmap(mem, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(a_device_is_unics_by_its_file),
		WITH_VERBS(a_context_is_made_or_is_not),
		WITH_VERBS(a_device_says_what_it_has),
		WITH_VERBS(a_port_says_what_it_is),
		WITH_VERBS(rights_are_the_nics),
		WITH_VERBS(what_is_no_region_is_refused),
		WITH_VERBS(a_region_ends_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
