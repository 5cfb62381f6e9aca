/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_same.c - the same script gives the same bytes on every machine: two NICs
 * under contention, on a wire that loses frames, for some seconds of virtual
 * time. Their trace records, frames, answers and completions go into one CRC,
 * which tests/test_same.py compares between a host and the processors of the
 * boards.
 */
#include "pair.h"
#include "unit.h"

#define STEPS	4000u
#define REGIONS 12u
#define PAGES	8u
#define LAST	100u /* last page of a window before the first is taken again */

static struct same {
	uint64_t random;
	uint32_t crc;
	uint32_t traced; /* trace records of both NICs */
	uint32_t seen[2];
	uint32_t frames, lost, sent, got;
	uint32_t pd;
	struct rig_mr mr[REGIONS];
	bool there[REGIONS];
	uint64_t wr_id;
} same;

static uint32_t next(uint32_t n)
{
	same.random ^= same.random << 13;
	same.random ^= same.random >> 7;
	same.random ^= same.random << 17;
	return (uint32_t)(same.random >> 32) % n;
}

static void add(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n--) {
		same.crc ^= *p++;
		for (uint32_t bit = 0; bit < 8; bit++)
			same.crc = same.crc >> 1 ^
				   (same.crc & 1 ? 0xedb88320u : 0);
	}
}

static void add_word(uint32_t word)
{
	unic_le32 le = unic_to_le32(word);

	add(&le, sizeof(le));
}

/* Loses one frame in 50, at random. */
static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	add(frame, len);
	same.frames++;
	if (!next(50))
		same.lost++;
	else
		fake_deliver(port->peer, frame, len, flags);
}

/* Adds the trace records since the last call; the ring has room for the records
 * of a step. */
static void take_trace(struct rig *r, uint32_t which)
{
	const uint8_t *ring = r->port.bar + UNIC_BAR_TRACE_OFF;
	uint32_t *n = &same.seen[which];

	assert_true(r->nic.trace.seq - *n < UNIC_TRACE_ENTRIES);
	for (; *n != r->nic.trace.seq; (*n)++, same.traced++)
		add(ring + *n % UNIC_TRACE_ENTRIES *
				    sizeof(struct unic_trace_rec),
		    sizeof(struct unic_trace_rec));
}

/* ------------------------------------------------------------- the script */

static struct rig_mr *region_of(const struct unic_evt_mr *e)
{
	for (uint32_t i = 0; i < REGIONS; i++)
		if (same.there[i] && same.mr[i].mr == unic_from_le32(e->mr))
			return &same.mr[i];
	return NULL;
}

/* Acknowledges a notice, and then releases the region, extends its grace or
 * does no more; forgets a region that is evicted. */
static void take_event(const struct unic_evt_mr *e)
{
	uint32_t what = next(3);

	if (e->hdr.type == UNIC_EVT_NOTICE) {
		add_word(rig_ack(&ra, e));
		if (what == 1)
			add_word(rig_answer(&ra, e, UNIC_ANSWER_RELEASE, NULL,
					    0, NULL));
		else if (what == 2)
			add_word(rig_answer(&ra, e, UNIC_ANSWER_EXTEND, NULL,
					    500, NULL));
	} else if (e->hdr.type == UNIC_EVT_EVICTED && region_of(e)) {
		same.there[region_of(e) - same.mr] = false;
	}
}

static void take_events(void)
{
	struct unic_evt_mr e;
	struct unic_cqe cqe;

	while (rig_event(&ra, &e)) {
		add(&e, sizeof(e));
		take_event(&e);
	}
	while (rig_event(&rb, &e))
		add(&e, sizeof(e));
	for (; rig_cqe(&ra, &qa, &cqe); same.got++)
		add(&cqe, sizeof(cqe));
	while (rig_cqe(&rb, &qb, &cqe))
		add(&cqe, sizeof(cqe));
}

static void send_something(void)
{
	static const uint8_t kind[] = { UNIC_WR_WRITE, UNIC_WR_WRITE,
					UNIC_WR_READ, UNIC_WR_SEND };
	uint8_t opcode = kind[next(4)];
	uint32_t len = 1 + next(next(2) ? 64 : 6000), at = next(4096);

	if (same.sent - same.got >= RIG_SLOTS - 2)
		return;
	if (opcode == UNIC_WR_SEND) {
		rig_recv(&rb, &qb, same.wr_id, &mb, at, 8192);
		rig_send(&ra, &qa, opcode, same.wr_id++, &ma, at, len, 0, 0);
	} else {
		rig_send(&ra, &qa, opcode, same.wr_id++, &ma, at, len,
			 mb.iova + at, mb.stag);
	}
	same.sent++;
}

static void change_region(void)
{
	uint32_t i = next(REGIONS), status;

	if (same.there[i]) {
		add_word(rig_dereg(&ra, &same.mr[i]));
		same.there[i] = false;
		return;
	}
	if (ra.next_page[1] > LAST)
		ra.next_page[1] = 16;
	status = rig_reg(&ra, 1, same.pd, 1 + next(PAGES), UNIC_CLASS_RDMA,
			 UNIC_REG_LIST, 0, &same.mr[i]);
	add_word(status);
	same.there[i] = status == UNIC_ST_OK;
}

static void wait_for_region(void)
{
	uint32_t pages = 1 + next(2 * PAGES), us = 1000 + next(5000);
	struct rig_mr mr;

	if (ra.next_page[1] > LAST)
		ra.next_page[1] = 16;
	add_word(rig_reg(&ra, 1, same.pd, pages, UNIC_CLASS_RDMA, UNIC_REG_WAIT,
			 us, &mr));
}

static void one_step(void)
{
	switch (next(8)) {
	case 0:
		change_region();
		break;
	case 1:
		wait_for_region();
		break;
	case 2:
		pair_run(next(3000000));
		break;
	default:
		send_something();
	}
	pair_run(next(20000));
	take_events();
	take_trace(&ra, 0);
	take_trace(&rb, 1);
}

static void the_same_everywhere(void **state)
{
	(void)state;
	same.random = 0x2545f4914f6cdd1dull;
	same.crc = ~0u;
	pair_up();
	rig_attach(&ra, 1, 2);
	same.pd = rig_pd(&ra, 1);
	ra.nic.trace.mask = ~0u;
	rb.nic.trace.mask = ~0u;
	ra.port.on_frame = on_frame;
	rb.port.on_frame = on_frame;
	for (uint32_t i = 0; i < STEPS; i++)
		one_step();
	pair_run(2000000000);
	take_events();
	add(ma.mem, PAIR_BYTES);
	add(mb.mem, PAIR_BYTES);
	printf("same: %lu traced, %lu frames, %lu lost, %lu of %lu done, "
	       "%lu evicted: %08lx\n",
	       (unsigned long)same.traced, (unsigned long)same.frames,
	       (unsigned long)same.lost, (unsigned long)same.got,
	       (unsigned long)same.sent,
	       (unsigned long)rig_count(&ra, evicted_entries),
	       (unsigned long)~same.crc & 0xffffffff);
	assert_true(same.traced > 4 * STEPS && same.lost > 10);
	assert_true(rig_count(&ra, evicted_entries) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
