/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_resize.c - a completion queue that gets another ring, as the library does it:
 * order, what happens between the NIC's switch and the library's, and refusals; and the pages
 * of large rings.
 */
#include <errno.h>
#include <unistd.h>

#include "unit.h"

#include "cq.h"
#include "libunic_rig.h"

static struct rig r;
static struct unic_cqe *old;

/* The NIC, while it is asked to resize. */
static struct {
	uint32_t to;	    /* records that it writes, */
	uint32_t switch_at; /* from this number on to the new ring */
	uint16_t status;
	uint8_t opcode; /* of the records */
	void (*then)(void);
	unsigned int asked;
	struct unic_ctl_cq_resize req;
} nic;

static void put(struct unic_cqe *ring, uint32_t mask, uint32_t n)
{
	struct unic_cqe *at = &ring[n & mask];

	at->qpn = unic_to_le32(77);
	at->opcode = nic.opcode;
	at->wr_id = unic_to_le64(n);
	__atomic_store_n((uint32_t *)&at->seq, unic_to_le32(n + 1),
			 __ATOMIC_RELEASE);
}

/* The NIC says how large its queues may be. */
static bool says_sizes;

static int sizes(uint8_t *out)
{
	struct unic_info info = { .ring_slots = unic_to_le32(4096),
				  .cq_entries = unic_to_le32(16384) };

	memcpy(out + UNIC_CTL_BYTES, &info, sizeof(info));
	return sizeof(info);
}

static int switches(uint16_t op, const uint8_t *in, size_t len, uint8_t *out)
{
	struct unic_ctl_cq_resize_reply *reply = (void *)out;
	uint32_t n;

	(void)len;
	if (op == UNIC_CTL_INFO && says_sizes)
		return sizes(out);
	if (op != UNIC_CTL_CQ_RESIZE)
		return -1;
	nic.asked++;
	memcpy(&nic.req, in, sizeof(nic.req));
	reply->hdr.status = unic_to_le16(nic.status);
	for (n = r.cq->ci; n < nic.to; n++)
		if (n < nic.switch_at)
			put(old, r.cq->mask, n);
		else
			put(r.cq->next.ring, r.cq->next.mask, n);
	if (nic.then)
		nic.then();
	reply->records = unic_to_le32(nic.switch_at);
	return 0;
}

static void begin(uint32_t to, uint32_t switch_at, void (*then)(void))
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	nic.opcode = UNIC_WC_SEND;
	drv.first = switches;
	rig_up(&r);
	r.ctx->attr.features |= UNIC_FEAT_CQ_RESIZE;
	old = r.cq->ring;
	nic.to = to;
	nic.switch_at = switch_at;
	nic.then = then;
	for (i = 0; i < 4; i++) {
		wr.wr_id = 100 + i;
		assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	}
}

/* Completions @from to @end - 1 are polled, and no more. */
static void polls(uint32_t from, uint32_t end)
{
	struct unic_wc wc[8];
	uint32_t n = end - from, i;

	assert_int_equal(unic_poll_cq(r.cq, 8, wc), n);
	for (i = 0; i < n; i++)
		assert_int_equal(wc[i].wr_id, 100 + from + i);
}

static void completions_stay_in_order(void **state)
{
	struct unic_wc wc;

	(void)state;
	begin(4, 3, NULL);
	complete(0, 77, UNIC_WC_SEND, 0);
	complete(1, 77, UNIC_WC_SEND, 1);
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	assert_int_equal(unic_resize_cq(r.cq, 20), 0);
	assert_int_equal(unic_from_le32(nic.req.id), r.cq->id);
	assert_int_equal(unic_from_le32(nic.req.mr), r.cq->mr->id);
	assert_int_equal(unic_from_le64(nic.req.iova), r.cq->mr->iova);
	assert_int_equal(unic_from_le32(nic.req.entries), 32);
	assert_int_equal(unic_cq_entries(r.cq), 32);
	assert_int_equal(drv.deregs, 1);
	polls(1, 4);
	assert_int_equal(unic_from_le32(db()->tail[0].cq_ci), 4);
	rig_down(&r);
}

/* Down to as many as are unread; ring of two, whose numbers have gone round. */
static void gets_fewer(void **state)
{
	struct unic_wc wc;

	(void)state;
	begin(3, 3, NULL);
	complete(0, 77, UNIC_WC_SEND, 0);
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	assert_int_equal(unic_resize_cq(r.cq, 2), 0);
	assert_int_equal(unic_cq_entries(r.cq), 2);
	polls(1, 3);
	put(r.cq->ring, 1, 3);
	polls(3, 4);
	rig_down(&r);
}

static void the_same_size_is_no_change(void **state)
{
	(void)state;
	begin(0, 0, NULL);
	assert_int_equal(unic_resize_cq(r.cq, 5), 0);
	assert_int_equal(nic.asked, 0);
	assert_ptr_equal(r.cq->ring, old);
	rig_down(&r);
}

static void *writes_late(void *arg)
{
	(void)arg;
	usleep(30000);
	put(old, 7, 0);
	return NULL;
}

static pthread_t late;

static void begin_late(void)
{
	assert_int_equal(pthread_create(&late, NULL, writes_late, NULL), 0);
}

/* A record that is still on its way to the old ring is not lost, and is the first. */
static void what_is_under_way_is_waited_for(void **state)
{
	(void)state;
	begin(0, 1, begin_late);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	put(r.cq->ring, 15, 1);
	polls(0, 2);
	pthread_join(late, NULL);
	rig_down(&r);
}

/* ... but not for ever: the bus may have refused it, and then the queue has failed. */
static void what_never_comes_is_given_up(void **state)
{
	(void)state;
	begin(0, 1, NULL);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	polls(0, 0);
	rig_down(&r);
}

static void resets(void)
{
	unic_cq_reset_qp(r.cq, r.qp);
}

/* Between the two switches a queue pair is reset: its completions in both rings go. */
static void a_reset_drops_those_in_both_rings(void **state)
{
	(void)state;
	begin(2, 1, resets);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	polls(0, 0);
	assert_int_equal(r.ctx->count.cqe_bad, 0);
	rig_down(&r);
}

static void arms(void)
{
	assert_int_equal(unic_cq_arm_next(r.cq, false), 0);
}

/* Between the two switches it is armed for the next record: those in both are there. */
static void arming_counts_both_rings(void **state)
{
	(void)state;
	begin(2, 1, arms);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 2);
	polls(0, 2);
	rig_down(&r);
}

static void harvests(void)
{
	assert_true(unic_cq_harvest(r.cq));
}

/* Between the two switches completions are taken out of both rings. */
static void a_harvest_takes_from_both_rings(void **state)
{
	(void)state;
	begin(3, 1, harvests);
	assert_int_equal(unic_cq_reserve(r.cq, 8), 0);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	assert_int_equal(r.cq->left_room, 16);
	assert_int_equal(r.cq->ci, 3);
	put(r.cq->ring, 15, 3);
	polls(0, 4);
	rig_down(&r);
}

static void looks(void)
{
	assert_int_equal(unic_req_notify(r.cq, false), 1);
	polls(0, 2);
	assert_int_equal(unic_req_notify(r.cq, false), 0);
}

/* Between the two switches whoever is woken for a record in the new ring finds it: else it
 * would sleep, beside a completion that rings no more. */
static void who_looks_finds_what_is_in_the_new_ring(void **state)
{
	(void)state;
	begin(2, 0, looks);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	put(r.cq->ring, 15, 2);
	polls(2, 3);
	rig_down(&r);
}

/* ... and may have read more than the old ring had. */
static void who_looks_may_be_ahead(void **state)
{
	(void)state;
	begin(2, 1, looks);
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	put(r.cq->ring, 15, 2);
	polls(2, 3);
	rig_down(&r);
}

/* A number that no NIC has: nothing is waited for, or copied for ever. */
static void a_wild_number_is_no_wait(void **state)
{
	uint64_t before;

	(void)state;
	begin(0, 0x7fffffff, NULL);
	before = unic_now_ns();
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	assert_true(unic_now_ns() - before < 500000000u);
	put(r.cq->ring, 15, 0);
	polls(0, 1);
	rig_down(&r);
}

static void recovers(void)
{
	pthread_mutex_lock(&r.ctx->evt_lock);
	assert_int_equal(unic_cq_recover(r.cq), 0);
	pthread_mutex_unlock(&r.ctx->evt_lock);
}

/* Between the two switches the NIC is reset: what it wrote to either ring stays, the rest is
 * flushed, and nothing that is to come before number @switch_at is waited for. */
static void a_reset_of_the_nic_keeps_those_in_both_rings(void **state)
{
	const uint32_t *switch_at = *state;
	struct unic_wc wc[8];
	uint64_t before;
	uint32_t i;

	begin(3, *switch_at, recovers);
	before = unic_now_ns();
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	assert_true(unic_now_ns() - before < 500000000u);
	assert_int_equal(unic_poll_cq(r.cq, 8, wc), 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, 100 + i);
		assert_int_equal(wc[i].status,
				 i < 3 ? 0 : UNIC_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(r.ctx->count.cqe_bad, 0);
	assert_int_equal(r.cq->ci, 0);
	put(r.cq->ring, 15, 0);
	assert_int_equal(unic_req_notify(r.cq, false), 1);
	rig_down(&r);
}

/* Receives of a shared queue are not counted by queue pair: as many as fit into the new ring
 * may be there. */
static void recovers_shared(void)
{
	static struct unic_srq srq;

	r.qp->srq = &srq;
	recovers();
	r.qp->srq = NULL;
}

static void a_reset_keeps_a_full_new_ring(void **state)
{
	struct unic_wc wc[32];
	uint32_t i;

	(void)state;
	begin(16, 0, recovers_shared);
	nic.opcode = UNIC_WC_RECV;
	assert_int_equal(unic_resize_cq(r.cq, 16), 0);
	assert_int_equal(unic_poll_cq(r.cq, 32, wc), 16 + 4);
	for (i = 0; i < 16; i++)
		assert_int_equal(wc[i].wr_id, i);
	rig_down(&r);
}

static void refused(unsigned int entries, int err)
{
	struct unic_mr *mr = r.cq->mr;
	uint32_t left = drv.regs - drv.deregs;

	assert_int_equal(unic_resize_cq(r.cq, entries), err);
	assert_ptr_equal(r.cq->ring, old);
	assert_ptr_equal(r.cq->mr, mr);
	assert_int_equal(unic_cq_entries(r.cq), 8);
	assert_null(r.cq->next.ring);
	assert_int_equal(drv.regs - drv.deregs, left);
}

static void refusals_change_nothing(void **state)
{
	(void)state;
	begin(0, 0, NULL);
	refused(0, -EINVAL);
	refused(1, -EINVAL);
	refused(4097, -EINVAL);
	r.ctx->attr.features = 0;
	refused(16, -EOPNOTSUPP);
	r.ctx->attr.features = UNIC_FEAT_CQ_RESIZE;
	r.ctx->kept = true;
	refused(16, -EOPNOTSUPP);
	r.ctx->kept = false;
	assert_int_equal(nic.asked, 0);
	nic.status = UNIC_ST_BUSY;
	refused(2, -EINVAL);
	assert_non_null(strstr(unic_last_error(), "unread"));
	nic.status = UNIC_ST_STATE;
	refused(16, -ESTALE);
	nic.status = UNIC_CTL_ST_UNSUPPORTED;
	refused(16, -EOPNOTSUPP);
	assert_int_equal(nic.asked, 3);
	drv.reg_status = UNIC_ST_CTRL_CAP;
	refused(16, -ENOMEM);
	drv.reg_status = 0;
	complete(0, 77, UNIC_WC_SEND, 0);
	polls(0, 1);
	rig_down(&r);
}

static void makes(unsigned int entries, unsigned int shift)
{
	struct unic_cq *cq;

	assert_int_equal(unic_create_cq(r.pd, entries, &cq), 0);
	assert_int_equal(drv.reg.page_shift, shift);
	assert_int_equal(unic_destroy_cq(cq), 0);
}

/* Large rings take few entries of the table, if there is memory for it. */
static void large_rings_have_large_pages(void **state)
{
	(void)state;
	says_sizes = true;
	begin(0, 0, NULL);
	makes(4096, 12);
	makes(8192, 16);
	drv.reg_status = UNIC_CTL_ST_NOT_ALIGNED;
	assert_int_equal(unic_create_cq(r.pd, 8192, &(struct unic_cq *){ 0 }),
			 -EINVAL);
	assert_int_equal(drv.reg.page_shift, 12); /* the second try */
	drv.reg_status = 0;
	rig_down(&r);
	says_sizes = false;
}

static int makes_qp(unsigned int slots)
{
	struct unic_qp_attr attr = { .send_cq = r.cq,
				     .recv_cq = r.cq,
				     .sq_slots = slots,
				     .rq_slots = 2 };
	struct unic_qp *qp;
	int err = unic_create_qp(r.pd, &attr, &qp);

	if (!err)
		assert_int_equal(unic_destroy_qp(qp), 0);
	return err;
}

/* Queues are as large as the NIC says; one that says nothing is of before. */
static void sizes_are_those_of_the_nic(void **state)
{
	struct unic_cq *cq;

	(void)state;
	begin(0, 0, NULL);
	assert_int_equal(makes_qp(1024), 0);
	assert_int_equal(makes_qp(1025), -EINVAL);
	assert_int_equal(unic_create_cq(r.pd, 4097, &cq), -EINVAL);
	r.ctx->attr.ring_slots = 4096;
	r.ctx->attr.cq_entries = 16384;
	assert_int_equal(makes_qp(4096), 0);
	assert_int_equal(makes_qp(4097), -EINVAL);
	assert_int_equal(unic_create_cq(r.pd, 16385, &cq), -EINVAL);
	rig_down(&r);
}

#define WITH_DRIVER(test) \
	cmocka_unit_test_setup_teardown(test, driver_up, driver_down)
#define RESET_AT(number)                                              \
	{                                                             \
		"a_reset_of_the_nic_keeps_those_in_both_rings",       \
			a_reset_of_the_nic_keeps_those_in_both_rings, \
			driver_up, driver_down, number                \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(completions_stay_in_order),
		WITH_DRIVER(gets_fewer),
		WITH_DRIVER(the_same_size_is_no_change),
		WITH_DRIVER(what_is_under_way_is_waited_for),
		WITH_DRIVER(what_never_comes_is_given_up),
		WITH_DRIVER(a_reset_drops_those_in_both_rings),
		WITH_DRIVER(arming_counts_both_rings),
		WITH_DRIVER(a_harvest_takes_from_both_rings),
		WITH_DRIVER(who_looks_finds_what_is_in_the_new_ring),
		WITH_DRIVER(who_looks_may_be_ahead),
		WITH_DRIVER(a_wild_number_is_no_wait),
		RESET_AT(&(uint32_t){ 0 }),
		RESET_AT(&(uint32_t){ 1 }),
		RESET_AT(&(uint32_t){ 3 }),
		WITH_DRIVER(a_reset_keeps_a_full_new_ring),
		WITH_DRIVER(refusals_change_nothing),
		WITH_DRIVER(large_rings_have_large_pages),
		WITH_DRIVER(sizes_are_those_of_the_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
