/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_journal.c - slots of processes, and the journal from which the next
 * host driver restores them. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "journal.h"

static void mapped_slot_is_left_alone(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	f->os.mapped = true;
	hello(f);
	assert_int_equal(f->client.slot, 1);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	f->os.mapped = false;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	fake_delete(f);
}

/* kill -9, and a new one; the process lives. */
static void restart_driver(struct fake *f, uint32_t pid)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(1),
				       .stag = unic_to_le32(0xabcd00) };

	unic_host_delete(f->host); /* sends no upcall */
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	memset(f->last, 0, sizeof(f->last));
	start_driver(f);
	if (unic_host_slot_hold(f->host, 0, pid, 0)) {
		const struct unic_hproc *p = &f->host->proc[0];
		uint32_t at = 0, n = 0, pages = 0;
		const struct unic_region *mr;

		/* counted, and pinned until the NIC is reset (INV-14) */
		while ((mr = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_MR,
					   0))) {
			n++;
			pages += mr->residency == UNIC_DEMAND ? 0 : mr->n_pages;
		}
		assert_int_equal(p->regions, n);
		assert_true(!pages == !p->frames.pinned);
	}
	unic_host_plug(f->host, true);
	f->client.pid = pid;
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
}

static void driver_that_was_killed_leaves_its_records(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_upcall_obj up;
	uint32_t id = region(f, 4), next;

	(void)state;
	next = f->host->proc[0].upcall_next;
	restart_driver(f, 7);
	assert_int_equal(last_reg(f).flags, UNIC_REG_RESTORE | UNIC_REG_LIST);
	assert_int_equal(unic_from_le32(last_reg(f).stag), 0xabcd00);
	f->client.slot = 0;
	assert_int_equal(pinned(f), 4);
	f->client.slot = UNIC_OS_NO_SLOT;
	hello_flags |= UNIC_CTL_HELLO_RESUME;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	memcpy(&up, upcall(f, next), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_RESET);
	assert_int_equal(unic_from_le32(up.hdr.seq), next + 1);
	assert_int_equal(unic_from_le32(up.detail), 2);
	assert_int_equal(f->host->proc[0].frames.used, 8);
	r.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* Objects that ended before the driver did are not restored. */
static void ended_objects_stay_ended(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA + 4 * 4096),
				      .pages = unic_to_le32(4) };
	struct unic_ctl_plain pd = { 0 };
	uint32_t id = region(f, 4);

	(void)state;
	r.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_FREE, &fr), 0);
	restart_driver(f, 7);
	assert_int_equal(last_reg(f).hdr.opcode, 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	assert_int_equal(f->host->proc[0].frames.used, 4);
	hello_flags |= UNIC_CTL_HELLO_RESUME;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	assert_int_not_equal(reply_u32(f, 16), id);
	fake_delete(f);
}

static void stranger_gets_nothing_of_the_dead(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	restart_driver(f, 8); /* unicd reports that process 7 has ended */
	assert_int_equal(f->host->objects.live, 0);
	assert_int_equal(f->host->proc[0].frames.used, 0);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	hello_flags |= UNIC_CTL_HELLO_RESUME;
	f->os.mapped = true;
	hello(f); /* a slot of its own */
	assert_int_equal(f->client.slot, 1);
	assert_false(f->host->proc[1].resumed);
	fake_delete(f);
}

/* The weight and quota that an administrator set outlive the driver. */
static void kept_process_has_the_share_that_was_set(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_policy r = {
		.weight = unic_to_le32(3),
		.quota = unic_to_le32(20),
		.policy = unic_to_le32(UNIC_POLICY_LRU),
		.flags = unic_to_le32(UNIC_CTL_POLICY_FLAGS_ALL),
	};
	struct unic_cmd_proc_attach cmd;

	(void)state;
	region(f, 4);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_POLICY, &r), 0);
	restart_driver(f, 7);
	memcpy(&cmd, f->last[UNIC_CMD_PROC_ATTACH], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.weight), 3);
	assert_int_equal(unic_from_le32(cmd.quota), 20);
	assert_int_equal(unic_from_le32(cmd.policy), UNIC_POLICY_LRU);
	assert_int_equal(unic_from_le32(cmd.host_pid), 7);
	fake_delete(f);
}

static uint32_t own_policy(struct fake *f, uint32_t policy)
{
	struct unic_ctl_own_policy r = { .policy = unic_to_le32(policy) };

	return request(f, UNIC_CTL_OWN_POLICY, &r);
}

/* A process chooses its policy without privilege, and its weight and quota stay those
 * that the administrator set, also where both ask at the same time. */
static void policy_is_the_process_s_own(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_policy share = {
		.weight = unic_to_le32(3),
		.quota = unic_to_le32(20),
		.flags = unic_to_le32(UNIC_CTL_POLICY_QUOTA),
	};
	struct unic_cmd_proc_attach attach;
	struct unic_cmd_proc_set cmd;

	(void)state;
	region(f, 4);
	f->client.privileged = false;
	assert_int_equal(own_policy(f, UNIC_POLICY_APP), 0);
	memcpy(&cmd, f->last[UNIC_CMD_PROC_SET], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.proc), 0);
	assert_int_equal(unic_from_le32(cmd.policy), UNIC_POLICY_APP);
	assert_int_equal(unic_from_le32(cmd.keep),
			 UNIC_PROC_KEEP_WEIGHT | UNIC_PROC_KEEP_QUOTA);
	assert_int_equal(unic_from_le32(cmd.weight), 0);
	assert_int_equal(request(f, UNIC_CTL_POLICY, &share),
			 UNIC_CTL_ST_PERMISSION);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_POLICY, &share), 0);
	memcpy(&cmd, f->last[UNIC_CMD_PROC_SET], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.keep), UNIC_PROC_KEEP_POLICY);
	f->client.privileged = false;
	f->answer[UNIC_CMD_PROC_SET] = UNIC_ST_INVALID;
	assert_int_equal(own_policy(f, UNIC_POLICIES), UNIC_ST_INVALID);
	f->answer[UNIC_CMD_PROC_SET] = UNIC_ST_OK;
	assert_int_equal(f->host->proc[0].weight, 3);
	assert_int_equal(f->host->proc[0].quota, 20);
	assert_int_equal(f->host->proc[0].policy, UNIC_POLICY_APP);
	restart_driver(f, 7);
	memcpy(&attach, f->last[UNIC_CMD_PROC_ATTACH], sizeof(attach));
	assert_int_equal(unic_from_le32(attach.weight), 3);
	assert_int_equal(unic_from_le32(attach.quota), 20);
	assert_int_equal(unic_from_le32(attach.policy), UNIC_POLICY_APP);
	fake_delete(f);
}

static uint32_t own_rate(struct fake *f, uint64_t rate, uint32_t id)
{
	struct unic_ctl_rate r = { .rate = unic_to_le64(rate),
				   .id = unic_to_le32(id),
				   .flags = unic_to_le32(UNIC_RATE_SET) };

	return request(f, UNIC_CTL_OWN_RATE, &r);
}

/* The transmit limit of a process is the administrator's to raise; the process itself
 * only asks to lower it. It outlives a new driver, as the NIC answered it. */
static void limit_is_kept_for_the_process(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_rate r = { .rate = unic_to_le64(5000000000),
				   .flags = unic_to_le32(UNIC_RATE_SET) };
	const struct unic_cpl_rate told = { .rate = unic_to_le64(5000000000),
					    .burst = unic_to_le32(77) };
	struct unic_cmd_proc_attach attach;
	struct unic_cmd_rate cmd;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_RATE], &told, sizeof(told));
	region(f, 4);
	f->client.privileged = false;
	assert_int_equal(request(f, UNIC_CTL_RATE, &r), UNIC_CTL_ST_PERMISSION);
	assert_int_equal(own_rate(f, 7000000, 0), 0);
	memcpy(&cmd, f->last[UNIC_CMD_RATE], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.flags),
			 UNIC_RATE_SET | UNIC_RATE_LOWER);
	assert_int_equal(unic_from_le64(cmd.rate), 7000000);
	assert_int_equal(own_rate(f, 7000000, 12345), UNIC_ST_NO_QP);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_RATE, &r), 0);
	memcpy(&cmd, f->last[UNIC_CMD_RATE], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.flags), UNIC_RATE_SET);
	assert_int_equal(unic_from_le32(cmd.qpn), 0);
	r.flags = unic_to_le32(UNIC_RATE_SET | UNIC_RATE_LOWER);
	assert_int_equal(request(f, UNIC_CTL_RATE, &r), UNIC_ST_INVALID);
	r.flags = unic_to_le32(UNIC_RATE_SET);
	r.id = unic_to_le32(1);
	assert_int_equal(request(f, UNIC_CTL_RATE, &r), UNIC_ST_NO_PROC);
	f->client.privileged = false;
	f->answer[UNIC_CMD_RATE] = UNIC_ST_QUOTA;
	assert_int_equal(own_rate(f, 0, 0), UNIC_ST_QUOTA);
	f->host->features &= ~UNIC_FEAT_RATES;
	assert_int_equal(own_rate(f, 0, 0), UNIC_CTL_ST_UNSUPPORTED);
	restart_driver(f, 7);
	memcpy(&attach, f->last[UNIC_CMD_PROC_ATTACH], sizeof(attach));
	assert_int_equal(unic_from_le64(attach.rate), 5000000000);
	assert_int_equal(unic_from_le32(attach.burst), 77);
	fake_delete(f);
}

/* A limit of a queue pair is the process's own to set, raise and lift, and is not that of
 * the process; what is told only changes nothing, nor does an answer for a process that
 * has gone meanwhile. */
static void limits_that_are_not_the_process_s(void **state)
{
	struct fake *f = fake_new();
	const struct unic_cpl_rate told = { .rate = unic_to_le64(5000000),
					    .burst = unic_to_le32(77),
					    .held = unic_to_le32(3) };
	struct unic_ctl_rate r = { .rate = unic_to_le64(1000) };
	struct unic_cmd_rate cmd;
	struct unic_hqp *made;
	uint32_t qp;

	(void)state;
	qp = queues(f, region(f, 4));
	memcpy(f->cpl[UNIC_CMD_RATE], &told, sizeof(told));
	assert_int_equal(own_rate(f, 7000000, qp), 0);
	memcpy(&cmd, f->last[UNIC_CMD_RATE], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.flags), UNIC_RATE_SET);
	assert_int_equal(unic_from_le32(cmd.qpn), 5);
	assert_int_equal(reply_u32(f, 28), 3); /* held */
	r.rate = unic_to_le64(0);
	assert_int_equal(request(f, UNIC_CTL_OWN_RATE, &r), 0);
	memcpy(&cmd, f->last[UNIC_CMD_RATE], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.flags), 0);
	assert_int_equal(reply_u32(f, 24), 77); /* burst */
	assert_true(f->host->proc[0].rate == 0);
	assert_int_equal(f->host->proc[0].burst, 0);
	made = (struct unic_hqp *)unic_obj_get(&f->host->objects, qp,
					       UNIC_OBJ_QP, 0);
	made->qpn = UNIC_LOST; /* by a reset */
	assert_int_equal(own_rate(f, 7000000, qp), UNIC_ST_NO_QP);
	made->qpn = 5;
	f->client.privileged = true;
	r.rate = unic_to_le64(5000000);
	r.flags = unic_to_le32(UNIC_RATE_SET);
	ask(f, UNIC_CTL_RATE, &r);
	f->host->proc[0].state = UNIC_HPROC_DETACHING;
	settle(f);
	assert_true(f->host->proc[0].rate == 0);
	f->host->proc[0].state = UNIC_HPROC_LIVE;
	r.id = unic_to_le32(SLOTS);
	assert_int_equal(request(f, UNIC_CTL_RATE, &r), UNIC_ST_NO_PROC);
	r.id = unic_to_le32(0);
	f->host->features &= ~UNIC_FEAT_RATES;
	assert_int_equal(request(f, UNIC_CTL_RATE, &r),
			 UNIC_CTL_ST_UNSUPPORTED);
	fake_delete(f);
}

/* For a NIC that knows no UNIC_PROC_KEEP_* the driver says all that it knows; a
 * process's own request is refused there. */
static void older_nic_is_told_everything(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_policy r = { .weight = unic_to_le32(3) };
	struct unic_cmd_proc_set cmd;

	(void)state;
	f->host->features &= ~UNIC_FEAT_APP_POLICY;
	hello(f);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_POLICY, &r), 0);
	r = (struct unic_ctl_policy){
		.quota = unic_to_le32(20),
		.policy = unic_to_le32(UNIC_POLICY_LRU),
		.flags = unic_to_le32(UNIC_CTL_POLICY_FLAGS_ALL),
	};
	assert_int_equal(request(f, UNIC_CTL_POLICY, &r), 0);
	memcpy(&cmd, f->last[UNIC_CMD_PROC_SET], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.weight), 3);
	assert_int_equal(unic_from_le32(cmd.quota), 20);
	assert_int_equal(unic_from_le32(cmd.policy), UNIC_POLICY_LRU);
	assert_int_equal(unic_from_le32(cmd.keep), 0);
	assert_int_equal(own_policy(f, UNIC_POLICY_APP),
			 UNIC_CTL_ST_UNSUPPORTED);
	fake_delete(f);
}

/* The importance that a process gave a region is part of how it is restored. */
static void importance_outlives_the_driver(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_rereg r = { .id = unic_to_le32(region(f, 4)),
				       .what = UNIC_REREG_HINT,
				       .importance = 77 };
	struct unic_cmd_mr_rereg cmd;
	struct unic_cmd_mr_reg reg;

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), 0);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REREG], sizeof(cmd));
	assert_int_equal(cmd.what, UNIC_REREG_HINT);
	assert_int_equal(cmd.importance, 77);
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_STATE;
	r.importance = 78;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_EVICTED);
	r.rsvd0 = 1;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r.rsvd0 = 0;
	r.id = unic_to_le32(unic_from_le32(r.id) + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_NO_MR);
	restart_driver(f, 7);
	memcpy(&reg, f->last[UNIC_CMD_MR_REG], sizeof(reg));
	assert_int_equal(reg.importance, 77);
	fake_delete(f);
}

/* A HELLO without RESUME frees the kept objects at once, not after AWAY_NS. The
 * user may have one of two slots: the same one, once it is empty. */
static void one_that_starts_over_has_nothing_kept(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1),
				    .flags = unic_to_le32(hello_flags) };

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	f->client.privileged = false;
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_NO_SLOT);
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	assert_int_equal(f->host->objects.live, 0);
	hello(f);
	assert_int_equal(f->client.slot, 0);
	assert_false(f->host->proc[0].resumed);
	fake_delete(f);
}

/* With however many processes; what is left is for others. */
static void one_user_has_not_all_slots(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };

	(void)state;
	f->host->config.user_slots = 1;
	f->client.privileged = false;
	f->client.uid = 5;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	f->client = (struct unic_client){ .pid = 8,
					  .uid = 5,
					  .slot = UNIC_OS_NO_SLOT };
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_NO_SLOT);
	f->client.uid = 6;
	hello(f);
	assert_int_equal(f->client.slot, 1);
	fake_delete(f);
}

static uint32_t hello_as(struct fake *f, uint32_t pid, uint32_t uid)
{
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };

	f->client = (struct unic_client){ .pid = pid,
					  .uid = uid,
					  .slot = UNIC_OS_NO_SLOT };
	return request(f, UNIC_CTL_HELLO, &r);
}

static void leave(struct fake *f)
{
	uint32_t slot = f->client.slot;

	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->host->proc[slot].state, UNIC_HPROC_HELD);
}

/* Memory that cannot be exchanged: a slot goes back to its user, with the same
 * process or another, and to no other user. */
static void slot_goes_back_to_its_user(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	f->host->config.slots_of_users = true;
	assert_int_equal(hello_as(f, 8, 5), 0);
	assert_int_equal(f->client.slot, 0);
	leave(f);
	/* of one that lives: not before there is no other */
	assert_int_equal(hello_as(f, 9, 5), 0);
	assert_int_equal(f->client.slot, 1);
	leave(f);
	assert_int_equal(hello_as(f, 10, 6), UNIC_CTL_ST_NO_SLOT);
	f->os.mapped = true;
	assert_int_equal(hello_as(f, 8, 5), UNIC_CTL_ST_NO_SLOT);
	f->os.mapped = false;
	/* its own slot, not another user's */
	assert_int_equal(hello_as(f, 9, 5), 0);
	assert_int_equal(f->client.slot, 1);
	leave(f);
	assert_int_equal(hello_as(f, 14, 5), 0); /* the first that was left */
	assert_int_equal(f->client.slot, 0);
	leave(f);
	assert_int_equal(hello_as(f, 8, 5), 0); /* slot 1 is that of the user */
	assert_int_equal(f->client.slot, 1);
	leave(f);
	unic_host_slot_ended(f->host, 1);
	assert_int_equal(hello_as(f, 11, 5), 0);
	assert_int_equal(f->client.slot, 1); /* though 0 was left before */
	leave(f);
	unic_host_slot_free(f->host, 1);
	unic_host_slot_ended(f->host, 0);
	assert_int_equal(hello_as(f, 12, 5), 0);
	assert_int_equal(f->client.slot, 0); /* and slot 1 is for others */
	leave(f);
	assert_int_equal(hello_as(f, 13, 6), 0);
	assert_int_equal(f->client.slot, 1);
	fake_delete(f);
}

/* A held slot counts for its user, also after a restart of the driver. */
static void held_slot_is_of_its_user(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	unic_host_delete(f->host);
	start_driver(f);
	f->host->config.slots_of_users = true;
	f->host->config.user_slots = 1;
	unic_host_slot_hold(f->host, 0, 0, 5);
	unic_host_plug(f->host, true);
	settle(f);
	f->os.mapped = true;
	assert_int_equal(hello_as(f, 8, 5), UNIC_CTL_ST_NO_SLOT);
	assert_int_equal(hello_as(f, 9, 6), 0);
	assert_int_equal(f->client.slot, 1);
	f->os.mapped = false;
	assert_int_equal(hello_as(f, 8, 5), 0);
	assert_int_equal(f->client.slot, 0);
	fake_delete(f);
}

/* A slot that it left does not make it two. */
static void one_slot_at_a_time(void **state)
{
	struct fake *f = fake_new();
	struct unic_client second = { .pid = 8,
				      .uid = 5,
				      .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };

	(void)state;
	assert_int_equal(hello_as(f, 8, 5), 0);
	leave(f);
	f->os.mapped = true;
	assert_int_equal(hello_as(f, 8, 5), UNIC_CTL_ST_NO_SLOT);
	f->os.mapped = false;
	unic_host_slot_free(f->host, 0);
	assert_int_equal(hello_as(f, 8, 5), 0);
	unic_host_slot_hold(f->host, 1, 8, 5);
	f->client = second;
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_NO_SLOT);
	fake_delete(f);
}

/* A privileged client may have several slots, and gets each back by its process:
 * a new one takes none from the others. */
static void privileged_one_keeps_what_others_of_it_had(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	hello(f);
	settle(f);
	assert_int_equal(f->client.slot, 1);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	assert_int_not_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/* After a second a process that is away loses a slot that another one needs. */
static void one_that_is_away_leaves_its_slot_to_others(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	uint32_t i;

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	f->host->proc[1].state = UNIC_HPROC_HELD; /* of another user */
	f->client.pid = 8;
	for (i = 0; i < 3; i++) { /* at 0, 0.6 and 1.2 s */
		assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
		assert_int_equal(request(f, UNIC_CTL_HELLO, &r),
				 UNIC_CTL_ST_NO_SLOT);
		f->os.now_ns += 600000000;
		settle(f);
	}
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	fake_delete(f);
}

/* ... but not to an account of the driver's own, which nobody waits for. */
static void one_that_is_away_stays_for_all_an_account_says(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	uint32_t i;

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	f->host->proc[1].state = UNIC_HPROC_HELD; /* of another user */
	f->client.pid = 8;
	f->client.kernel = true;
	f->client.keeper = 2;
	for (i = 0; i < 5; i++) {
		assert_int_equal(request(f, UNIC_CTL_HELLO, &r),
				 UNIC_CTL_ST_NO_SLOT);
		f->os.now_ns += 600000000;
		settle(f);
	}
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	fake_delete(f);
}

static void process_that_does_not_come_back_is_given_up(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	f->os.now_ns += 59000000000ull;
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	f->os.now_ns += 2000000000ull;
	settle(f);
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

static void journal_of_another_board_is_nothing(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	assert_int_equal(unic_journal_foreign(f->journal), 0);
	((uint32_t *)f->journal)[1]++; /* version of the journal */
	assert_int_equal(unic_journal_foreign(f->journal),
			 ((uint32_t *)f->journal)[1]);
	restart_driver(f, 7);
	assert_int_equal(unic_journal_foreign(f->journal), 0);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/* A driver that is killed leaves any prefix of its stores. Here any word of the
 * journal is wrong; the driver must refuse or restore it. */
static void any_word_of_the_journal_is_wrong(void **state)
{
	size_t words = unic_host_journal_bytes(SLOTS, SLOT_BYTES) / 4, i;
	struct fake *f = fake_new();
	uint32_t *good, *j = f->journal;

	(void)state;
	region(f, 4);
	good = malloc(words * 4);
	memcpy(good, j, words * 4);
	for (i = 0; i < words; i++) {
		if (!good[i] && i % 97)
			continue;
		unic_host_delete(f->host);
		memcpy(j, good, words * 4);
		j[i] ^= 1u << i % 32;
		start_driver(f);
		unic_host_slot_hold(f->host, 0, 7, 0);
		unic_host_plug(f->host, true);
		settle(f);
	}
	free(good);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped_slot_is_left_alone),
		cmocka_unit_test_setup_teardown(
			driver_that_was_killed_leaves_its_records, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(ended_objects_stay_ended, keep,
						no_keep),
		cmocka_unit_test_setup_teardown(
			stranger_gets_nothing_of_the_dead, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			kept_process_has_the_share_that_was_set, keep, no_keep),
		cmocka_unit_test_setup_teardown(policy_is_the_process_s_own,
						keep, no_keep),
		cmocka_unit_test(limits_that_are_not_the_process_s),
		cmocka_unit_test_setup_teardown(limit_is_kept_for_the_process,
						keep, no_keep),
		cmocka_unit_test(older_nic_is_told_everything),
		cmocka_unit_test_setup_teardown(importance_outlives_the_driver,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(
			one_that_starts_over_has_nothing_kept, keep, no_keep),
		cmocka_unit_test(one_user_has_not_all_slots),
		cmocka_unit_test(slot_goes_back_to_its_user),
		cmocka_unit_test(held_slot_is_of_its_user),
		cmocka_unit_test(one_slot_at_a_time),
		cmocka_unit_test_setup_teardown(
			privileged_one_keeps_what_others_of_it_had, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			one_that_is_away_leaves_its_slot_to_others, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			one_that_is_away_stays_for_all_an_account_says, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			process_that_does_not_come_back_is_given_up, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			journal_of_another_board_is_nothing, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			any_word_of_the_journal_is_wrong, keep, no_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
