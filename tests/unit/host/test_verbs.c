/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs.c - the maps of the provider for libibverbs that need no driver: transitions
 * of queue pairs, addresses, errnos and statuses; and what the preloaded library takes
 * for its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "ah.h"
#include "attach.h"
#include "errnos.h"
#include "qp_attr.h"
#include "shim/channel.h"
#include "shim/paths.h"
#include "unic.h"

static struct unic_attach adapter;
static struct unic_ibv_context context = { .at = &adapter };

static struct unic_ibv_qp qp_in(enum ibv_qp_type type, enum ibv_qp_state state)
{
	return (struct unic_ibv_qp){
		.vqp = { .qp = { .context = &context.vctx.context,
				 .qp_type = type,
				 .state = state } },
	};
}

/* What checking a transition to @to with the bits of @mask says. */
static int check(enum ibv_qp_type type, enum ibv_qp_state from,
		 enum ibv_qp_state to, int mask)
{
	struct unic_ibv_qp qp = qp_in(type, from);
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.cur_qp_state = from,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};
	enum ibv_qp_state out;
	int err;

	attr.ah_attr.grh.dgid.raw[10] = attr.ah_attr.grh.dgid.raw[11] = 0xff;
	attr.ah_attr.grh.dgid.raw[12] = 10;
	err = unic_ibv_check_transition(&qp, &attr, mask | IBV_QP_STATE, &out);
	if (!err)
		assert_int_equal(out, to);
	return err;
}

#define INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS                                                     \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
#define RD (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

static void transitions_need_their_attributes(void **state)
{
	static const enum ibv_qp_type rc = IBV_QPT_RC, uc = IBV_QPT_UC,
				      ud = IBV_QPT_UD;

	(void)state;
	assert_int_equal(check(rc, IBV_QPS_RESET, IBV_QPS_INIT,
			       INIT | IBV_QP_ACCESS_FLAGS),
			 0);
	assert_int_equal(check(rc, IBV_QPS_RESET, IBV_QPS_INIT, INIT), EINVAL);
	assert_int_equal(
		check(ud, IBV_QPS_RESET, IBV_QPS_INIT, INIT | IBV_QP_QKEY), 0);
	assert_int_equal(check(ud, IBV_QPS_RESET, IBV_QPS_INIT,
			       INIT | IBV_QP_ACCESS_FLAGS),
			 EINVAL);
	assert_int_equal(check(rc, IBV_QPS_INIT, IBV_QPS_RTR, RTR | RD), 0);
	assert_int_equal(check(rc, IBV_QPS_INIT, IBV_QPS_RTR, RTR), EINVAL);
	assert_int_equal(check(uc, IBV_QPS_INIT, IBV_QPS_RTR, RTR), 0);
	assert_int_equal(check(uc, IBV_QPS_INIT, IBV_QPS_RTR, RTR | RD),
			 EINVAL);
	assert_int_equal(check(ud, IBV_QPS_INIT, IBV_QPS_RTR, 0), 0);
	assert_int_equal(check(rc, IBV_QPS_RTR, IBV_QPS_RTS, RTS), 0);
	assert_int_equal(check(uc, IBV_QPS_RTR, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(check(uc, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
	/* there is no such edge */
	assert_int_equal(check(rc, IBV_QPS_RESET, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(check(rc, IBV_QPS_INIT, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(check(rc, IBV_QPS_RTS, IBV_QPS_INIT, INIT), EINVAL);
}

static void any_state_ends(void **state)
{
	enum ibv_qp_state s;

	(void)state;
	for (s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		assert_int_equal(check(IBV_QPT_RC, s, IBV_QPS_RESET, 0), 0);
		assert_int_equal(check(IBV_QPT_RC, s, IBV_QPS_ERR, 0),
				 s == IBV_QPS_RESET ? EINVAL : 0);
		assert_int_equal(check(IBV_QPT_RC, s, IBV_QPS_ERR,
				       IBV_QP_SQ_PSN),
				 EINVAL);
	}
	assert_int_equal(check(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, 0),
			 EOPNOTSUPP);
}

/* As many READs and atomic operations as the adapter has. */
static void depth_is_the_adapters(void **state)
{
	struct unic_ibv_qp qp = qp_in(IBV_QPT_RC, IBV_QPS_RTR);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	enum ibv_qp_state to;
	uint8_t n, most;

	(void)state;
	for (most = 4; most <= 16; most += 12) {
		adapter.attr.features = most == 4 ? 0 : UNIC_FEAT_ATOMICS;
		for (n = 0; n <= 17; n++) {
			attr.max_rd_atomic = n;
			assert_int_equal(unic_ibv_check_transition(
						 &qp, &attr, RTS | IBV_QP_STATE,
						 &to),
					 n <= most ? 0 : EINVAL);
		}
	}
	adapter.attr.features = 0;
}

/* The NIC takes access rights at INIT only: the same ones again are no change. */
static void what_cannot_change_is_refused(void **state)
{
	struct unic_ibv_qp qp = qp_in(IBV_QPT_RC, IBV_QPS_RTS);
	struct ibv_qp_attr attr = { .qp_access_flags = 6 };
	enum ibv_qp_state to;

	(void)state;
	assert_int_equal(unic_ibv_check_transition(&qp, &attr,
						   IBV_QP_ACCESS_FLAGS, &to),
			 EOPNOTSUPP);
	unic_ibv_keep_attr(&qp, &attr, IBV_QP_ACCESS_FLAGS);
	assert_int_equal(qp.attr.qp_access_flags, 6);
	assert_int_equal(unic_ibv_check_transition(&qp, &attr,
						   IBV_QP_ACCESS_FLAGS, &to),
			 0);
	assert_int_equal(to, IBV_QPS_RTS);
	attr.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(unic_ibv_check_transition(&qp, &attr, IBV_QP_CUR_STATE,
						   &to),
			 EINVAL);
}

static void a_gid_is_an_ipv4_address(void **state)
{
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1 };
	uint32_t ipv4 = 0;

	(void)state;
	memcpy(av.grh.dgid.raw + 10, "\xff\xff\x0a\x01\x02\x03", 6);
	assert_int_equal(unic_ibv_peer(&av, &ipv4), 0);
	assert_int_equal(ipv4, 0x0a010203);
	av.grh.sgid_index = 1;
	assert_int_equal(unic_ibv_peer(&av, &ipv4), EINVAL);
	av.grh.sgid_index = 0;
	av.is_global = 0;
	assert_int_equal(unic_ibv_peer(&av, &ipv4), EINVAL);
	av.is_global = 1;
	av.port_num = 2;
	assert_int_equal(unic_ibv_peer(&av, &ipv4), EINVAL);
	av.port_num = 1;
	av.grh.dgid.raw[9] = 1;
	assert_int_equal(unic_ibv_peer(&av, &ipv4), EINVAL);
	av.grh.dgid.raw[9] = 0;
	memset(av.grh.dgid.raw + 12, 0, 4);
	assert_int_equal(unic_ibv_peer(&av, &ipv4), EINVAL);
}

static void errors_have_names_of_verbs(void **state)
{
	(void)state;
	assert_int_equal(unic_ibv_errno(0), 0);
	assert_int_equal(unic_ibv_errno(-EINVAL), EINVAL);
	assert_int_equal(unic_ibv_errno(-EACCES), EOPNOTSUPP);
	assert_int_equal(unic_ibv_errno(-ENOTCONN), EIO);
	assert_int_equal(unic_ibv_errno(-ETIME), EHOSTUNREACH);
	assert_int_equal(unic_ibv_errno(-EDQUOT), ENOMEM);
	assert_int_equal(unic_ibv_wc_status(UNIC_WC_SUCCESS), IBV_WC_SUCCESS);
	assert_int_equal(unic_ibv_wc_status(UNIC_WC_RNR_RETRY_EXC_ERR),
			 IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(unic_ibv_wc_status(UNIC_WC_EVICTED),
			 IBV_WC_LOC_PROT_ERR);
	assert_int_equal(unic_ibv_wc_status(UNIC_WC_REM_EVICTED),
			 IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(unic_ibv_wc_status(200), IBV_WC_GENERAL_ERR);
	assert_int_equal(unic_ibv_qp_event(UNIC_WC_REM_ACCESS_ERR),
			 IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(unic_ibv_qp_event(UNIC_WC_RETRY_EXC_ERR),
			 IBV_EVENT_QP_FATAL);
}

static int opened = 42;

static int open_channel(void)
{
	return opened;
}

static void only_a_device_takes_requests(void **state)
{
	struct {
		uint32_t command;
		uint16_t in, out;
		uint64_t response;
	} req = { .command = 17 };
	uint32_t fd = 0;

	(void)state;
	req.response = (uintptr_t)&fd;
	assert_false(unic_shim_owns(5));
	assert_false(unic_shim_owns(-1));
	assert_int_equal(unic_shim_device(5, open_channel), 0);
	assert_true(unic_shim_owns(5));
	assert_false(unic_shim_owns(6));
	assert_false(unic_shim_owns(-1));
	assert_int_equal(unic_shim_request(5, &req, sizeof(req)), sizeof(req));
	assert_int_equal(fd, 42);
	req.command = 3;
	assert_int_equal(unic_shim_request(5, &req, sizeof(req)), -1);
	assert_int_equal(errno, ENOSYS);
	req.command = 17;
	assert_int_equal(unic_shim_request(5, &req, 8), -1);
	assert_int_equal(errno, ENOSYS);
	opened = -EMFILE;
	assert_int_equal(unic_shim_request(5, &req, sizeof(req)), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(unic_shim_device(5, NULL), 0);
	assert_false(unic_shim_owns(5));
	assert_false(unic_shim_owns(-1));
}

static void names_of_devices_are_the_trees(void **state)
{
	char tree[] = "/tmp/test-verbs-XXXXXX", room[UNIC_SHIM_PATH];
	char path[256];
	int fd;

	(void)state;
	unsetenv(UNIC_SHIM_TREE);
	assert_string_equal(unic_shim_path("/dev/infiniband/uverbs0", room),
			    "/dev/infiniband/uverbs0");
	assert_non_null(mkdtemp(tree));
	setenv(UNIC_SHIM_TREE, tree, 1);
	assert_null(unic_shim_path("/dev/infiniband/uverbs0", room));
	assert_int_equal(errno, ENOENT);
	snprintf(path, sizeof(path), "%s/class", tree);
	mkdir(path, 0700);
	strcat(path, "/infiniband_verbs");
	mkdir(path, 0700);
	strcat(path, "/uverbs0");
	mkdir(path, 0700);
	strcat(path, "/dev");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	errno = 7;
	assert_string_equal(unic_shim_path("/dev/infiniband/uverbs0", room),
			    "/dev/null");
	assert_int_equal(errno, 7);
	assert_string_equal(unic_shim_path("/dev/infiniband/rdma_cm", room),
			    "/dev/null");
	assert_true(unic_shim_is_cm("/dev/infiniband/rdma_cm"));
	assert_false(unic_shim_is_cm("/dev/infiniband/rdma_cm2"));
	assert_null(unic_shim_path("/dev/infiniband/rdma_cm2", room));
	assert_null(unic_shim_path("/dev/infiniband/../infiniband_verbs/"
				   "uverbs0",
				   room));
	assert_string_equal(unic_shim_path("/dev/zero", room), "/dev/zero");
	assert_null(unic_shim_path(NULL, room));
	unlink(path);
	while (strlen(path) > strlen(tree)) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	unsetenv(UNIC_SHIM_TREE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transitions_need_their_attributes),
		cmocka_unit_test(any_state_ends),
		cmocka_unit_test(depth_is_the_adapters),
		cmocka_unit_test(what_cannot_change_is_refused),
		cmocka_unit_test(a_gid_is_an_ipv4_address),
		cmocka_unit_test(errors_have_names_of_verbs),
		cmocka_unit_test(only_a_device_takes_requests),
		cmocka_unit_test(names_of_devices_are_the_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
