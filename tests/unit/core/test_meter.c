/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_meter.c - transmit rate limits of processes and queue pairs: what is sent in a
 * time, to 2 %, who waits, and who does not.
 */
#include "unit.h"

#include "sched_rig.h"

#define MS  1000000ull
#define MB  1000000u
#define NOT (~0u)

/* Bytes that A sent, by queue pair; frames without payload of SENDs, WRITEs and READ
 * responses apart. */
static uint64_t bytes[SCHED_QPS], acks[SCHED_QPS];

static void count_frame(struct unic_port *port, const uint8_t *f, uint32_t len,
			uint32_t flags)
{
	uint32_t qpn = (uint32_t)f[47] << 16 | f[48] << 8 | f[49], i;

	for (i = 0; i < sched_qps - 1; i++)
		if (sched_far[i].qpn == qpn)
			break;
	if (f[42] == UNIC_OP_ACK)
		acks[i] += len;
	else
		bytes[i] += len;
	sched_on_frame(port, f, len, flags);
}

static void up(void)
{
	sched_up(1, 1, 1);
	sched_a.port.on_frame = count_frame;
	sched_deaf = false;
	memset(bytes, 0, sizeof(bytes));
	memset(acks, 0, sizeof(acks));
}

/* RATE of process @proc, or of queue pair @q of it. Returns the status. */
static uint8_t command(uint32_t proc, uint32_t q, uint64_t rate, uint32_t burst,
		       uint32_t flags, struct unic_cpl_rate *cpl)
{
	struct unic_cmd_rate cmd = {
		.proc = unic_to_le32(proc),
		.qpn = unic_to_le32(q == NOT ? 0 : sched_qa[q].qpn),
		.rate = unic_to_le64(rate),
		.burst = unic_to_le32(burst),
		.flags = unic_to_le32(flags),
	};

	return rig_cmd(&sched_a, UNIC_CMD_RATE, &cmd, cpl);
}

static void limit_proc(uint32_t proc, uint64_t rate, uint32_t burst)
{
	assert_int_equal(command(proc, NOT, rate, burst, UNIC_RATE_SET, NULL),
			 0);
}

static void limit_qp(uint32_t q, uint64_t rate, uint32_t burst)
{
	assert_int_equal(command(sched_qa[q].proc, q, rate, burst,
				 UNIC_RATE_SET, NULL),
			 0);
}

static uint32_t held(uint32_t proc, uint32_t q)
{
	struct unic_cpl_rate cpl;

	assert_int_equal(command(proc, q, 0, 0, 0, &cpl), 0);
	return unic_from_le32(cpl.held);
}

/* A polls once, and its peers until they have no work. Returns the time of the next
 * poll that A has work at, 10 us later at most. */
static uint64_t round_of_all(void)
{
	uint64_t now = sched_a.port.now_ns, next = unic_nic_poll(&sched_a.nic);
	bool any = sched_frames || fake_dma_run(&sched_a.port, 8);

	sched_frames = 0;
	sched_b.port.now_ns = sched_a.port.now_ns;
	sched_c.port.now_ns = sched_a.port.now_ns;
	if (any) {
		rig_poll(&sched_b);
		rig_poll(&sched_c);
	}
	if (any || !next)
		return now + 500;
	return next < now + 10000 ? next : now + 10000;
}

/* For @ns the queue pairs of @busy (a bit each) have WRITEs of @len bytes. */
static void stream(uint32_t busy, uint32_t len, uint64_t ns)
{
	uint64_t end = sched_a.port.now_ns + ns, next;
	uint32_t q;

	while (sched_a.port.now_ns < end) {
		for (q = 0; q < sched_qps; q++) {
			sched_completed(q);
			while ((busy >> q & 1) && !sched_is_busy(q, 14))
				sched_write(q, len);
		}
		next = round_of_all();
		sched_a.port.now_ns = next < end ? next : end;
	}
}

/* True if @sent is @rate bytes in a second, for @ns, to 2 %. */
static void assert_rate(uint64_t sent, uint64_t rate, uint64_t ns)
{
	uint64_t want = rate * (ns / 1000) / 1000000;

	assert_in_range(sent * 1000 / want, 980, 1020);
}

/* A queue pair sends what its limit says, whatever the rate and the size of its
 * messages; the limit is of what is on the wire. */
static void a_queue_pair_keeps_its_rate(void **state)
{
	static const struct {
		uint64_t rate, ns;
		uint32_t len;
	} cases[] = {
		{ 100 * MB, 10 * MS, SCHED_LONG },
		{ 10 * MB, 50 * MS, SCHED_LONG },
		{ 10 * MB, 30 * MS, 8 },
		{ 1 * MB, 200 * MS, SCHED_LONG },
		{ 1 * MB, 200 * MS, 100 },
		{ 33333333, 50 * MS, 1000 },
	};
	uint64_t before;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		up();
		sched_connect(false, 0);
		limit_qp(0, cases[i].rate, 4096);
		stream(1, cases[i].len, 5 * MS);
		before = bytes[0];
		stream(1, cases[i].len, cases[i].ns);
		assert_rate(bytes[0] - before, cases[i].rate, cases[i].ns);
		assert_true(held(0, 0) > 10);
		assert_int_equal(rig_count(&sched_a, retransmits), 0);
	}
}

/* All queue pairs of a process together send what its limit says, towards several
 * destinations, and each of them has part in it; so does one that is made later. */
static void a_process_keeps_its_rate(void **state)
{
	uint32_t q;

	(void)state;
	up();
	sched_connect(false, 0);
	sched_connect(true, 0);
	limit_proc(0, 20 * MB, 16384);
	sched_connect(false, 0);
	stream(7, SCHED_LONG, 5 * MS);
	memset(bytes, 0, sizeof(bytes));
	stream(7, SCHED_LONG, 100 * MS);
	assert_rate(bytes[0] + bytes[1] + bytes[2], 20 * MB, 100 * MS);
	for (q = 0; q < 3; q++)
		assert_true(bytes[q] > 20 * MB / 10 / 5);
	assert_true(held(0, NOT) > 100);
}

/* A queue pair with a limit of its own, in a process with one, is within both; the
 * others of its process have the rest. */
static void both_limits_hold(void **state)
{
	(void)state;
	up();
	sched_connect(false, 0);
	sched_connect(false, 0);
	limit_proc(0, 20 * MB, 8192);
	limit_qp(0, 5 * MB, 8192);
	stream(3, SCHED_LONG, 10 * MS);
	memset(bytes, 0, sizeof(bytes));
	stream(3, SCHED_LONG, 100 * MS);
	assert_rate(bytes[0], 5 * MB, 100 * MS);
	assert_rate(bytes[0] + bytes[1], 20 * MB, 100 * MS);
	limit_qp(0, 50 * MB,
		 8192); /* above that of the process: of no effect */
	memset(bytes, 0, sizeof(bytes));
	stream(3, SCHED_LONG, 100 * MS);
	assert_rate(bytes[0] + bytes[1], 20 * MB, 100 * MS);
}

/* What one process may not send, another does: it sends as much beside one with a
 * limit as alone, but for what that one sends. */
static void the_others_have_the_rest(void **state)
{
	uint64_t alone;

	(void)state;
	up();
	sched_connect(false, 1);
	stream(1, SCHED_LONG, 5 * MS);
	alone = bytes[0];
	up();
	sched_connect(false, 1);
	sched_connect(false, 0);
	limit_proc(0, 5 * MB, 8192);
	stream(3, SCHED_LONG, 5 * MS);
	assert_true(bytes[0] + bytes[1] >= alone * 95 / 100);
	assert_true(bytes[1] < 5 * MB / 200 + 8192 + 2048);
	assert_int_equal(held(1, NOT), 0);
}

/* A queue pair that waits for its time is on no list, and the NIC sleeps until then. */
static void the_nic_sleeps_meanwhile(void **state)
{
	uint64_t sleeps, at;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 1 * MB, 1);
	rig_run(&sched_a, 2 * MS); /* not when a beat is due */
	sched_write(0, SCHED_LONG);
	at = rig_poll(&sched_a);
	assert_int_equal(sched_a.nic.sched.work, 0);
	/* one frame of 1,024 bytes and its headers is paid for */
	assert_in_range(at - sched_a.port.now_ns, 1000000, 1200000);
	rig_poll(&sched_b);
	rig_poll(&sched_a);
	sleeps = rig_count(&sched_a, sleeps);
	rig_run2(&sched_a, &sched_b, 9 * MS);
	assert_int_equal(sched_completed(0), 1);
	assert_true(rig_count(&sched_a, sleeps) - sleeps < 60);
}

/* A doorbell of one that waits does not bring it back. */
static void a_doorbell_is_no_token(void **state)
{
	uint32_t i;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 1 * MB, 1024);
	sched_write(0, SCHED_LONG);
	sched_round();
	bytes[0] = 0;
	for (i = 0; i < 8; i++) {
		sched_write(0, 8);
		sched_round();
		assert_int_equal(sched_a.nic.sched.work, 0);
	}
	assert_int_equal(bytes[0], 0);
}

/* Repeats count: a queue pair whose peer is deaf sends no more than its rate. */
static void repeats_count(void **state)
{
	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 2 * MB, 4096);
	sched_deaf = true;
	sched_write(0, SCHED_LONG);
	sched_write(0, SCHED_LONG);
	bytes[0] = 0;
	while (rig_count(&sched_a, retransmits) < 3) {
		sched_a.port.now_ns = round_of_all();
	}
	assert_true(bytes[0] > 2 * SCHED_LONG);
	assert_true(bytes[0] <=
		    (sched_a.port.now_ns - MS) * 2 / 1000 + 4096 + 1200);
	sched_deaf = false;
}

/* The peer has READs of @len bytes on queue pair 0 all the time, for @ns. */
static void reads(uint32_t len, uint64_t ns)
{
	uint64_t end = sched_a.port.now_ns + ns;
	struct unic_cqe cqe;
	uint32_t out = 0;

	while (sched_a.port.now_ns < end) {
		while (rig_cqe(&sched_b, &sched_far[0], &cqe)) {
			assert_int_equal(cqe.status, 0);
			out--;
		}
		for (; out < 3; out++)
			rig_send(&sched_b, &sched_far[0], UNIC_WR_READ, 1,
				 &sched_mb[0], 0, len, sched_ma[0].iova,
				 sched_ma[0].stag);
		rig_poll(&sched_b);
		sched_a.port.now_ns = round_of_all();
	}
}

/* READ responses count, and wait, too. */
static void responses_count(void **state)
{
	(void)state;
	up();
	sched_connect(false, 0);
	limit_proc(0, 20 * MB, 8192);
	reads(SCHED_LONG, 5 * MS);
	bytes[0] = 0;
	reads(SCHED_LONG, 50 * MS);
	assert_rate(bytes[0], 20 * MB, 50 * MS);
}

/* Responses and requests of one queue pair wait for the same time, once, and a limit
 * that is lifted frees both. */
static void responses_wait_with_requests(void **state)
{
	const uint8_t both = UNIC_HELD_SEND | UNIC_HELD_REPLY;
	uint32_t i;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 10000, 1024);
	rig_send(&sched_b, &sched_far[0], UNIC_WR_READ, 1, &sched_mb[0], 0,
		 SCHED_LONG, sched_ma[0].iova, sched_ma[0].stag);
	rig_poll(&sched_b);
	sched_write(0, SCHED_LONG);
	for (i = 0; i < 4; i++)
		sched_round();
	assert_int_equal(sched_a.nic.meters.parked, 1);
	assert_int_equal(held(0, 0), 1);
	assert_int_equal(sched_a.nic.qps.qp[sched_qa[0].qpn & 0xff].on & both,
			 both);
	assert_true(bytes[0] < SCHED_LONG);
	limit_qp(0, 0, 0);
	assert_int_equal(sched_a.nic.meters.parked, 0);
	for (i = 0; i < 8; i++)
		sched_round();
	assert_true(bytes[0] > 2 * SCHED_LONG);
}

/* Of a queue pair that waits for its limit an acknowledgement goes out, also one that found
 * no room on the link at first. */
static void an_acknowledgement_of_one_that_waits(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 10000, 1024);
	sched_write(0, SCHED_LONG);
	sched_round();
	sched_round();
	assert_int_equal(sched_a.nic.meters.parked, 1);
	rig_send(&sched_b, &sched_far[0], UNIC_WR_WRITE, 1, &sched_mb[0], 0, 8,
		 sched_ma[0].iova, sched_ma[0].stag);
	rig_poll(&sched_b);
	fake_room(&sched_a.port, fake_path(2), 0);
	sched_round();
	assert_int_equal(acks[0], 0);
	fake_room(&sched_a.port, fake_path(2), FAKE_NEVER_FULL);
	sched_round();
	sched_round();
	assert_true(acks[0] >= 60);
	assert_int_equal(sched_a.nic.meters.parked, 1);
	assert_true(rig_cqe(&sched_b, &sched_far[0], &cqe));
	assert_int_equal(cqe.status, 0);
}

/* Acknowledgements neither wait for a limit nor count. */
static void acknowledgements_are_free(void **state)
{
	uint32_t i;
	struct unic_cqe cqe;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_proc(0, 100000, 1024);
	sched_write(0, SCHED_LONG);
	sched_round();
	assert_int_equal(sched_a.nic.sched.work, 0);
	bytes[0] = 0;
	for (i = 0; i < 50; i++) {
		rig_send(&sched_b, &sched_far[0], UNIC_WR_WRITE, 1,
			 &sched_mb[0], 0, 8, sched_ma[0].iova,
			 sched_ma[0].stag);
		rig_poll(&sched_b);
		sched_round();
		sched_round();
		assert_true(rig_cqe(&sched_b, &sched_far[0], &cqe));
		assert_int_equal(cqe.status, 0);
	}
	assert_int_equal(bytes[0], 0);
	assert_true(acks[0] >= 50 * 60);
	sched_a.port.now_ns +=
		12 * MS; /* one frame is paid for, acks are not */
	rig_poll(&sched_a);
	assert_true(bytes[0] > 0);
}

/* Who was idle may send half of its burst at once at least, and at most all of it and
 * a frame. */
static void a_burst_is_what_is_said(void **state)
{
	static const uint32_t burst[] = { 1, 3000, 8192, 20000, 65536 };
	uint64_t start, sent;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < sizeof(burst) / sizeof(burst[0]); i++) {
		up();
		sched_connect(false, 0);
		limit_qp(0, 1 * MB, burst[i]);
		for (k = 0; k < 2; k++) {
			stream(0, 0, 300 * MS); /* saves up no more */
			start = sched_a.port.now_ns;
			bytes[0] = 0;
			stream(1, SCHED_LONG, MS / 2);
			sent = bytes[0];
			assert_true(2 * sent >= burst[i]);
			assert_true(sent <=
				    burst[i] + 1200 +
					    (sched_a.port.now_ns - start) /
						    1000);
		}
	}
}

/* What a NIC that looks late missed is sent later, up to the burst. */
static void late_looks_lose_nothing(void **state)
{
	uint32_t i;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 10 * MB, 65536);
	stream(1, SCHED_LONG, 10 * MS);
	bytes[0] = 0;
	for (i = 0; i < 20; i++) {
		sched_a.port.now_ns += 4 * MS;
		stream(1, SCHED_LONG, MS);
	}
	assert_rate(bytes[0], 10 * MB, 100 * MS);
}

/* A bucket that owes and is taken from owes both; one that does not has saved up no more
 * than a burst with its turn. */
static void who_owes_owes_more(void **state)
{
	struct unic_bucket b = { 0 };

	(void)state;
	unic_bucket_set(&b, MS, 1000 * MB, 1000, 100); /* one each ns */
	unic_bucket_take(&b, MS, 100);
	assert_true(unic_bucket_at(&b) == MS + 100);
	unic_bucket_take(&b, MS + 50, 100);
	assert_true(unic_bucket_at(&b) == MS + 200);
	unic_bucket_take(&b, MS + 10000, 100);
	assert_true(unic_bucket_at(&b) == MS + 10000 - 900 + 100);
}

/* Payload that comes by DMA, later, counts once. */
static void gathered_frames_count(void **state)
{
	(void)state;
	up();
	sched_connect(false, 0);
	sched_a.port.late_dma = true;
	limit_qp(0, 20 * MB, 4096);
	stream(1, 3000, 5 * MS);
	bytes[0] = 0;
	stream(1, 3000, 50 * MS);
	assert_rate(bytes[0], 20 * MB, 50 * MS);
	/* nor do those of another queue pair that are being gathered */
	sched_connect(false, 1);
	stream(3, 3000, 5 * MS);
	bytes[0] = 0;
	stream(3, 3000, 50 * MS);
	assert_rate(bytes[0], 20 * MB, 50 * MS);
}

/* A queue pair that dies while it waits flushes at once; one that is destroyed, or
 * whose process detaches, waits no longer; nor does one that was reset. */
static void who_ends_waits_for_nothing(void **state)
{
	struct unic_cmd_obj end = { .proc = unic_to_le32(0) };
	struct unic_cmd_proc_detach gone = { .proc = unic_to_le32(1) };
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	up();
	for (i = 0; i < 4; i++)
		sched_connect(false, i == 3);
	limit_proc(0, 10000, 1024);
	limit_proc(1, 10000, 1024);
	for (i = 0; i < 4; i++)
		sched_write(i, SCHED_LONG);
	for (i = 0; i < 8; i++)
		sched_round();
	assert_int_equal(sched_a.nic.sched.work, 0);
	assert_true(held(0, NOT) >= 3);
	sched_set_error(&sched_qa[1]);
	rig_poll(&sched_a);
	assert_true(rig_cqe(&sched_a, &sched_qa[1], &cqe));
	assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++) {
		end.id = unic_to_le32(sched_qa[2 - i].qpn);
		assert_int_equal(
			rig_cmd(&sched_a, UNIC_CMD_QP_DESTROY, &end, NULL), 0);
	}
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_PROC_DETACH, &gone, NULL),
			 0);
	assert_int_equal(sched_a.nic.meters.line[0].head, UNIC_QP_NIL);
	assert_int_equal(sched_a.nic.meters.line[1].head, UNIC_QP_NIL);
	/* the slot's next process has no limit, and none of its waits */
	rig_attach(&sched_a, 1, 1);
	assert_int_equal(held(1, NOT), 0);
}

/* A limit that is lifted, or raised, ends the waits for it. */
static void a_limit_can_be_lifted(void **state)
{
	(void)state;
	up();
	sched_connect(false, 0);
	limit_proc(0, 10000, 1024);
	limit_qp(0, 1000, 1024);
	sched_write(0, SCHED_LONG);
	sched_write(0, SCHED_LONG);
	stream(0, 0, MS);
	assert_true(bytes[0] < 3000);
	limit_qp(0, 0, 0);
	stream(0, 0, MS);
	assert_true(bytes[0] < 3000);
	limit_proc(0, 0, 0);
	stream(0, 0, MS);
	assert_true(bytes[0] > 2 * SCHED_LONG);
	assert_int_equal(sched_a.nic.qps.qp[sched_qa[0].qpn & 0xff].on, 0);
}

/* A process can be kept from raising its limit: with RATE_LOWER neither rate nor burst
 * rises. */
static void lower_is_lower(void **state)
{
	const uint32_t how = UNIC_RATE_SET | UNIC_RATE_LOWER;
	struct unic_cpl_rate cpl;

	(void)state;
	up();
	assert_int_equal(command(0, NOT, 10 * MB, 20000, how, NULL), 0);
	assert_int_equal(command(0, NOT, 0, 0, how, NULL), UNIC_ST_QUOTA);
	assert_int_equal(command(0, NOT, 10 * MB + 1, 20000, how, NULL),
			 UNIC_ST_QUOTA);
	assert_int_equal(command(0, NOT, 10 * MB, 20001, how, NULL),
			 UNIC_ST_QUOTA);
	assert_int_equal(command(0, NOT, 10 * MB, 0, how, NULL),
			 UNIC_ST_QUOTA); /* 78125 */
	assert_int_equal(command(0, NOT, 0, 0, 0, &cpl), 0);
	assert_int_equal(unic_from_le64(cpl.rate), 10 * MB);
	assert_int_equal(unic_from_le32(cpl.burst), 20000);
	assert_int_equal(command(0, NOT, 1 * MB, 0, how, &cpl), 0);
	assert_int_equal(unic_from_le64(cpl.rate), 1 * MB);
	assert_int_equal(unic_from_le32(cpl.burst), 16384);
	assert_int_equal(command(0, NOT, 10 * MB, 0, UNIC_RATE_SET, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.burst), 78125);
}

/* What makes no sense is refused, and changes nothing. */
static void bad_limits_are_refused(void **state)
{
	static const struct {
		uint64_t rate;
		uint32_t burst, flags;
	} bad[] = {
		{ 999, 0, UNIC_RATE_SET },
		{ 100000000001, 0, UNIC_RATE_SET },
		{ 0, 1, UNIC_RATE_SET },
		{ 1000, 65537, UNIC_RATE_SET },
		{ 100000, 100001, UNIC_RATE_SET },
		{ 1000, 0, 0 },
		{ 0, 1, 0 },
		{ 0, 0, UNIC_RATE_LOWER },
		{ 1000, 0, 5 },
	};
	struct unic_cpl_rate cpl;
	uint32_t i;

	(void)state;
	up();
	sched_connect(false, 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(command(0, NOT, bad[i].rate, bad[i].burst,
					 bad[i].flags, NULL),
				 UNIC_ST_INVALID);
	assert_int_equal(command(0, NOT, 0, 0, 0, &cpl), 0);
	assert_int_equal(unic_from_le64(cpl.rate), 0);
	assert_int_equal(command(UNIC_PROCS, NOT, 1000, 0, 1, NULL),
			 UNIC_ST_NO_PROC);
	assert_int_equal(command(0, 0, 1000, 0, 1, NULL), UNIC_ST_NO_QP);
	sched_qa[0].qpn += 256;
	assert_int_equal(command(1, 0, 1000, 0, 1, NULL), UNIC_ST_NO_QP);
	assert_int_equal(command(0, NOT, 100000000000, 0, 1, NULL), 0);
	assert_int_equal(command(0, NOT, 1000, 65536, 1, NULL), 0);
	assert_int_equal(command(0, NOT, 100000, 100000, 1, NULL), 0);
}

/* A queue pair that is being destroyed has no limit, and one of its process does not
 * bring it back. */
static void who_is_leaving_has_no_limit(void **state)
{
	struct unic_cmd_obj end = { .proc = unic_to_le32(0) };
	const struct unic_qp_ctx *qp;

	(void)state;
	up();
	sched_connect(false, 0);
	sched_a.port.late_dma = true;
	sched_write(0, 3000);
	unic_proc_take(&sched_a.nic.command, 0);
	unic_nic_poll(&sched_a.nic);
	qp = &sched_a.nic.qps.qp[sched_qa[0].qpn & 0xff];
	end.id = unic_to_le32(sched_qa[0].qpn);
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_QP_DESTROY, &end, NULL),
			 UNIC_ST_PENDING);
	assert_true(qp->used && qp->dying);
	assert_int_equal(command(0, 0, 1000, 0, 1, NULL), UNIC_ST_NO_QP);
	limit_proc(0, 1 * MB, 1024);
	assert_true(qp->used && qp->dying);
	assert_int_equal(qp->on, 0);
}

/* Those with times of their own are woken at these, whoever came first; the NIC sleeps
 * until the earliest. */
static void the_earliest_wakes_first(void **state)
{
	uint32_t q, k;
	uint64_t at;

	(void)state;
	for (k = 0; k < 2; k++) {
		up();
		sched_connect(false, 0);
		sched_connect(false, 0);
		limit_qp(k, 1 * MB, 1);
		limit_qp(1 - k, 200000, 1);
		rig_run(&sched_a, 2 * MS); /* not when a beat is due */
		for (q = 0; q < 2; q++) {
			sched_write(q, SCHED_LONG);
			at = rig_poll(&sched_a);
		}
		assert_int_equal(sched_a.nic.meters.parked, 2);
		assert_in_range(at - sched_a.port.now_ns, 1000000, 1200000);
		/* also if it looks too early */
		sched_a.nic.qps.timer_ns = 0;
		sched_a.nic.timers_ns = 0;
		at = rig_poll(&sched_a);
		assert_int_equal(sched_a.nic.meters.parked, 2);
		assert_in_range(at - sched_a.port.now_ns, 1000000, 1200000);
		sched_a.port.now_ns += 2 * MS;
		memset(bytes, 0, sizeof(bytes));
		rig_poll(&sched_a);
		assert_true(bytes[k] > 0);
		assert_int_equal(bytes[1 - k], 0);
	}
}

/* A round wakes some of those whose time has come, and the NIC goes on at once until
 * it has woken all. */
static void few_are_woken_at_once(void **state)
{
	struct unic_nic *nic = &sched_a.nic;
	uint32_t q, k;
	uint64_t next;

	(void)state;
	for (k = 0; k < 2; k++) {
		up();
		for (q = 0; q < SCHED_QPS; q++) {
			sched_connect(false, q % SCHED_PROCS);
			if (k)
				limit_qp(q, 1 * MB, 1);
			else
				limit_proc(q % SCHED_PROCS, 1 * MB, 1);
		}
		rig_run(&sched_a, 2 * MS);
		for (q = 0; q < SCHED_QPS; q++) {
			sched_write(q, SCHED_LONG);
			rig_poll(&sched_a);
		}
		assert_int_equal(nic->meters.parked, SCHED_QPS);
		nic->now_ns += 20 * MS;
		next = unic_meter_timers(&nic->transport, UINT64_MAX);
		assert_int_equal(nic->meters.parked,
				 SCHED_QPS - UNIC_METER_WAKES);
		assert_true(next <= nic->now_ns);
		next = unic_meter_timers(&nic->transport, UINT64_MAX);
		assert_int_equal(nic->meters.parked, 0);
		assert_true(next == UINT64_MAX);
	}
}

/* A queue pair that dies in the turn in which it sent waits for no answer: bytes of a
 * later frame are not read, whichever. */
static void the_dead_have_no_timer(void **state)
{
	const struct unic_qp_ctx *qp;
	uint32_t k, dead = 0;

	(void)state;
	for (k = 1; k < 12; k++) {
		up();
		sched_connect(false, 0);
		qp = &sched_a.nic.qps.qp[sched_qa[0].qpn & 0xff];
		limit_qp(0, 100 * MB, 65536);
		rig_run(&sched_a, MS);
		sched_write(0, SCHED_LONG);
		sched_a.port.fail_call = sched_a.port.calls + k;
		unic_nic_poll(&sched_a.nic);
		if (qp->state != UNIC_QPS_ERR || !bytes[0])
			continue;
		assert_true(qp->sq.timer_ns == UNIC_NEVER);
		dead++;
	}
	assert_true(dead > 0);
}

/* A queue pair whose messages nobody answers waits for no answer. */
static void the_unanswered_have_no_timer(void **state)
{
	const struct unic_qp_ctx *qp;

	(void)state;
	up();
	sched_qps = 1;
	rig_qp_of(&sched_a, 0, sched_pa[0], 0, UNIC_QPT_UC, 0, 0, &sched_qa[0]);
	rig_qp_of(&sched_b, 0, sched_pb[0], 0, UNIC_QPT_UC, 0, 0,
		  &sched_far[0]);
	rig_connect(&sched_a, &sched_qa[0], &sched_b, &sched_far[0]);
	qp = &sched_a.nic.qps.qp[sched_qa[0].qpn & 0xff];
	limit_qp(0, 1 * MB, 1);
	rig_run(&sched_a, 2 * MS);
	sched_write(0, SCHED_LONG);
	rig_poll(&sched_a);
	assert_true(bytes[0] > 0);
	assert_int_equal(sched_a.nic.meters.parked, 1);
	assert_true(qp->sq.timer_ns == UNIC_NEVER);
	stream(0, 0, 20 * MS);
	assert_true(bytes[0] > SCHED_LONG);
	assert_false(sched_is_busy(0, 1));
}

/* A limit that comes while a queue pair alone has work holds from its next frame. */
static void who_is_alone_gets_a_limit(void **state)
{
	struct unic_cmd_rate cmd = {
		.rate = unic_to_le64(10000),
		.burst = unic_to_le32(1024),
		.flags = unic_to_le32(UNIC_RATE_SET),
	};
	struct unic_cpl_rate cpl;

	(void)state;
	up();
	sched_connect(false, 0);
	sched_write(0, SCHED_LONG);
	unic_proc_take(&sched_a.nic.command, 0);
	assert_int_equal(sched_a.nic.sched.sole_on, UNIC_ON_SEND);
	assert_int_equal(unic_meter_rate(&sched_a.nic.transport, &cmd, &cpl),
			 0);
	sched_round();
	sched_round();
	assert_true(bytes[0] > 0);
	assert_true(bytes[0] < 3000);
	assert_int_equal(sched_a.nic.meters.parked, 1);
}

/* A process can begin with a limit: after a reset the driver attaches it as it was. */
static void a_process_begins_with_a_limit(void **state)
{
	struct unic_cmd_proc_detach gone = { .proc = unic_to_le32(0) };
	struct unic_cmd_proc_attach cmd = {
		.weight = unic_to_le32(1),
		.rate = unic_to_le64(999),
	};
	struct unic_cpl_rate cpl;

	(void)state;
	up();
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_PROC_DETACH, &gone, NULL),
			 0);
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_PROC_ATTACH, &cmd, NULL),
			 UNIC_ST_INVALID);
	cmd.hdr.status = 0;
	cmd.rate = unic_to_le64(3 * MB);
	cmd.burst = unic_to_le32(5000);
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_PROC_ATTACH, &cmd, NULL),
			 0);
	assert_int_equal(command(0, NOT, 0, 0, 0, &cpl), 0);
	assert_int_equal(unic_from_le64(cpl.rate), 3 * MB);
	assert_int_equal(unic_from_le32(cpl.burst), 5000);
}

/* A limit of a queue pair outlives its RESET, and ends with it. */
static void a_limit_is_the_queue_pairs(void **state)
{
	struct unic_cmd_qp_modify reset = { .state = UNIC_QPS_RESET };
	struct unic_cmd_obj end = { .proc = unic_to_le32(0) };
	struct unic_cpl_rate cpl;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_qp(0, 1 * MB, 2048);
	sched_write(0, SCHED_LONG);
	sched_round();
	assert_int_equal(sched_a.nic.meters.parked, 1);
	reset.qpn = unic_to_le32(sched_qa[0].qpn);
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_QP_MODIFY, &reset, NULL),
			 0);
	assert_int_equal(sched_a.nic.meters.parked, 0);
	assert_int_equal(command(0, 0, 0, 0, 0, &cpl), 0);
	assert_int_equal(unic_from_le64(cpl.rate), 1 * MB);
	assert_int_equal(sched_a.nic.qps.qp[sched_qa[0].qpn & 0xff].on,
			 UNIC_ON_METERED);
	end.id = unic_to_le32(sched_qa[0].qpn);
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_QP_DESTROY, &end, NULL), 0);
	sched_connect(false, 0);
	assert_int_equal(sched_qa[1].qpn & 0xff, sched_qa[0].qpn & 0xff);
	assert_int_equal(held(0, 1), 0);
	stream(2, SCHED_LONG, MS);
	assert_true(bytes[0] + bytes[1] > 1 * MB / 4);
}

/* Who sets the same limit again and again, or a lower one, sends no more. */
static void setting_again_gains_nothing(void **state)
{
	uint32_t i;

	(void)state;
	up();
	sched_connect(false, 0);
	limit_proc(0, 10 * MB, 16384);
	stream(1, SCHED_LONG, 10 * MS);
	bytes[0] = 0;
	for (i = 0; i < 100; i++) {
		stream(1, SCHED_LONG, MS / 2);
		limit_proc(0, 10 * MB, 16384);
	}
	assert_rate(bytes[0], 10 * MB, 50 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_pair_keeps_its_rate),
		cmocka_unit_test(a_process_keeps_its_rate),
		cmocka_unit_test(both_limits_hold),
		cmocka_unit_test(the_others_have_the_rest),
		cmocka_unit_test(the_nic_sleeps_meanwhile),
		cmocka_unit_test(a_doorbell_is_no_token),
		cmocka_unit_test(repeats_count),
		cmocka_unit_test(responses_count),
		cmocka_unit_test(responses_wait_with_requests),
		cmocka_unit_test(an_acknowledgement_of_one_that_waits),
		cmocka_unit_test(acknowledgements_are_free),
		cmocka_unit_test(a_burst_is_what_is_said),
		cmocka_unit_test(late_looks_lose_nothing),
		cmocka_unit_test(who_owes_owes_more),
		cmocka_unit_test(gathered_frames_count),
		cmocka_unit_test(who_ends_waits_for_nothing),
		cmocka_unit_test(a_limit_can_be_lifted),
		cmocka_unit_test(lower_is_lower),
		cmocka_unit_test(bad_limits_are_refused),
		cmocka_unit_test(who_is_leaving_has_no_limit),
		cmocka_unit_test(the_earliest_wakes_first),
		cmocka_unit_test(few_are_woken_at_once),
		cmocka_unit_test(the_dead_have_no_timer),
		cmocka_unit_test(the_unanswered_have_no_timer),
		cmocka_unit_test(who_is_alone_gets_a_limit),
		cmocka_unit_test(a_process_begins_with_a_limit),
		cmocka_unit_test(a_limit_is_the_queue_pairs),
		cmocka_unit_test(setting_again_gains_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
