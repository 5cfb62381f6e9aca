// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* test_link_ring.c - frames through the shared-memory link: normal use, ports
 * that come and go, hostile peers. */
#include "unit.h"

#include "link_layout.h"
#include "link_ring.h"

#define PORTS	   4u
#define SLOTS	   8u
#define SLOT_BYTES 128u
#define RING_BYTES 4096u
#define MAX_FRAME  (SLOT_BYTES - UNIC_LINK_FRAME_OFF)
#define MEM_BYTES  (4096u + PORTS * PORTS * RING_BYTES)

static uint8_t mem[MEM_BYTES] __attribute__((aligned(4096)));
static struct link_ring port[PORTS];
static const uint8_t mac[PORTS][6] = {
	{ 0, 0, 0, 0, 0, 0 },
	{ 2, 0, 0, 0, 0, 1 },
	{ 2, 0, 0, 0, 0, 2 },
	{ 2, 0, 0, 0, 0, 3 },
};

static struct unic_link_header *header(void)
{
	return (struct unic_link_header *)mem;
}

static uint8_t *ring_mem(uint32_t from, uint32_t to)
{
	return mem + 4096 + (size_t)(from * PORTS + to) * RING_BYTES;
}

static struct unic_link_slot *slot(uint32_t from, uint32_t to, uint32_t n)
{
	return (struct unic_link_slot *)(ring_mem(from, to) + UNIC_LINK_SLOT0 +
					 n % SLOTS * SLOT_BYTES);
}

static void set_head(uint32_t from, uint32_t to, uint32_t head)
{
	((struct unic_link_ring *)ring_mem(from, to))->head =
		unic_to_le32(head);
}

static int attach(uint32_t p)
{
	return link_ring_attach(&port[p], mem, sizeof(mem), p, mac[p]);
}

static int set_up(void **state)
{
	uint32_t p;

	(void)state;
	memset(mem, 0, sizeof(mem));
	if (link_layout_format(mem, sizeof(mem), PORTS, SLOTS, SLOT_BYTES,
			       UNIC_LINK_DIRECT | UNIC_LINK_NO_ICRC))
		return -1;
	for (p = 0; p < PORTS; p++)
		if (attach(p))
			return -1;
	/* link_ring_sleep() finds the ports that attached later */
	for (p = 0; p < PORTS; p++)
		link_ring_sleep(&port[p], true);
	for (p = 0; p < PORTS; p++)
		link_ring_sleep(&port[p], false);
	return 0;
}

static bool send_byte(uint32_t from, uint32_t to, uint8_t value)
{
	uint8_t *f = link_ring_tx_get(&port[from], to);

	if (!f)
		return false;
	f[0] = value;
	link_ring_tx_put(&port[from], f, 60, 0);
	return true;
}

/* Returns the first byte of the next frame, or -1. */
static int receive(uint32_t at)
{
	struct unic_rx rx;
	int value;

	if (!link_ring_rx_next(&port[at], &rx))
		return -1;
	value = rx.frame[0];
	link_ring_rx_done(&port[at]);
	return value;
}

/* -------------------------------------------------------------- normal use */

static void says_what_it_is(void **state)
{
	struct unic_link link;

	(void)state;
	memset(&link, 0, sizeof(link));
	link_ring_info(&port[1], &link);
	assert_true(link.up && link.slots && link.icrc_offload);
	assert_int_equal(link.max_frame, MAX_FRAME);
	assert_memory_equal(link.mac, mac[1], sizeof(link.mac));
}

static void passes_a_frame(void **state)
{
	struct unic_rx rx;
	uint8_t *f;

	(void)state;
	f = link_ring_tx_get(&port[1], 2);
	assert_non_null(f);
	assert_int_equal((uintptr_t)f % 4, 2);
	assert_false(link_ring_rx_next(&port[2], &rx));
	memset(f, 0xa5, MAX_FRAME);
	link_ring_tx_put(&port[1], f, MAX_FRAME, UNIC_FRAME_NO_ICRC);
	assert_true(link_ring_rx_next(&port[2], &rx));
	assert_int_equal(rx.len, MAX_FRAME);
	assert_int_equal(rx.flags, UNIC_FRAME_NO_ICRC);
	assert_int_equal(rx.frame[MAX_FRAME - 1], 0xa5);
	link_ring_rx_done(&port[2]);
	assert_false(link_ring_rx_next(&port[2], &rx));
}

/* Runs of all lengths, over many laps: no frame is lost, doubled or out of
 * order; frames that are given back arrive again. */
static void passes_runs(void **state)
{
	uint32_t round, i, n, more, stride;
	uint8_t sent = 0, seen = 0;
	struct unic_tx_run run;
	struct unic_rx rx;

	(void)state;
	for (round = 0; round < 8 * SLOTS; round++) {
		n = round % SLOTS + 1;
		assert_true(link_ring_tx_run(&port[1], 2, &run));
		assert_in_range(run.n, 1, SLOTS);
		n = n < run.n ? n : run.n;
		for (i = 0; i < n; i++)
			run.frame[i * run.stride] = sent++;
		link_ring_tx_run_put(&port[1], n, 60, 0);
		while (link_ring_rx_next(&port[2], &rx)) {
			assert_int_equal(rx.frame[0], seen++);
			more = link_ring_rx_run(&port[2], &rx, SLOTS, &stride);
			for (i = 1; i <= more; i++)
				assert_int_equal(rx.frame[i * stride],
						 (uint8_t)(seen + i - 1));
			link_ring_rx_back(&port[2], more / 2);
			seen = (uint8_t)(seen + more - more / 2);
		}
		link_ring_rx_done(&port[2]);
		assert_int_equal(seen, sent);
	}
}

/* Sends a frame of @len bytes, with @flags, from port 1 to port 2. */
static void send_form(uint32_t len, uint32_t flags)
{
	link_ring_tx_put(&port[1], link_ring_tx_get(&port[1], 2), len, flags);
}

/* A run ends at the frame whose length or flags are not those of its first one:
 * a receiver that skips the ICRC of all frames of a run skips none that has
 * one. */
static void ends_a_run_at_another_form(void **state)
{
	static const struct {
		uint32_t len, flags;
	} form[] = { { 60, 0 },
		     { 61, 0 },
		     { 61, UNIC_FRAME_NO_ICRC },
		     { 60, UNIC_FRAME_NO_ICRC },
		     { 60, 0 } };
	uint32_t i, stride;
	struct unic_rx rx;

	(void)state;
	for (i = 0; i < 4; i++) {
		send_form(form[i].len, form[i].flags);
		send_form(form[i].len, form[i].flags);
		send_form(form[i + 1].len, form[i + 1].flags);
		assert_true(link_ring_rx_next(&port[2], &rx));
		assert_int_equal(rx.len, form[i].len);
		assert_int_equal(rx.flags, form[i].flags);
		assert_int_equal(
			link_ring_rx_run(&port[2], &rx, SLOTS, &stride), 1);
		assert_true(link_ring_rx_next(&port[2], &rx));
		assert_int_equal(rx.len, form[i + 1].len);
		assert_int_equal(rx.flags, form[i + 1].flags);
		link_ring_rx_done(&port[2]);
		assert_int_equal(set_up(NULL), 0); /* runs end with the ring */
	}
}

static void finds_paths(void **state)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	(void)state;
	assert_int_equal(link_ring_path(&port[1], mac[1]), 1);
	assert_int_equal(link_ring_path(&port[1], mac[3]), 3);
	assert_int_equal(link_ring_path(&port[1], all), 0);
	link_ring_detach(&port[3]);
	assert_int_equal(link_ring_path(&port[1], mac[3]), 0);
	header()->flags = unic_to_le32(0);
	assert_int_equal(link_ring_path(&port[1], mac[2]), 0);
	assert_int_equal(link_ring_path(&port[1], mac[1]), 1);
}

static void keeps_order_when_put_out_of_order(void **state)
{
	uint8_t *f[UNIC_TX_BUFS];
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_TX_BUFS; i++) {
		f[i] = link_ring_tx_get(&port[1], 2);
		f[i][0] = (uint8_t)i;
	}
	assert_null(link_ring_tx_get(&port[1], 2));
	for (i = UNIC_TX_BUFS; i-- > 1;)
		link_ring_tx_put(&port[1], f[i], 60, 0);
	assert_int_equal(receive(2), -1);
	link_ring_tx_put(&port[1], f[0], 60, 0);
	for (i = 0; i < UNIC_TX_BUFS; i++)
		assert_int_equal(receive(2), i);
}

/* A buffer that is given back unused arrives as a frame of no bytes, in order,
 * and does not count as bad. */
static void shows_buffers_given_back(void **state)
{
	struct unic_rx rx;

	(void)state;
	link_ring_tx_put(&port[1], link_ring_tx_get(&port[1], 2), 0, 0);
	assert_true(send_byte(1, 2, 7));
	assert_true(link_ring_rx_next(&port[2], &rx));
	assert_int_equal(rx.len, 0);
	assert_true(link_ring_rx_next(&port[2], &rx));
	assert_int_equal(rx.frame[0], 7);
	link_ring_rx_done(&port[2]);
	assert_int_equal(port[2].rx_bad, 0);
	assert_int_equal(port[2].rx[1].head, 2);
}

static void full_ring_says_no_and_recovers(void **state)
{
	uint32_t i, n;

	(void)state;
	for (n = 0; n < 5 * SLOTS; n += SLOTS) {
		for (i = 0; i < SLOTS; i++)
			assert_true(send_byte(1, 2, (uint8_t)(n + i)));
		assert_false(send_byte(1, 2, 0));
		for (i = 0; i < SLOTS; i++)
			assert_int_equal(receive(2), n + i);
	}
	assert_int_equal(port[1].tx_full, 5);
}

static void frees_a_burst_at_once(void **state)
{
	struct unic_rx rx[4];
	uint32_t i;

	(void)state;
	assert_true(send_byte(3, 2, 9));
	for (i = 0; i < 4; i++)
		assert_true(send_byte(1, 2, (uint8_t)i));
	for (i = 0; i < 4; i++) {
		assert_true(link_ring_rx_next(&port[2], &rx[i]));
		assert_int_equal(link_ring_source(&port[2]), 1);
	}
	assert_int_equal(port[2].rx[1].head, 0);
	/* a burst has one source */
	assert_false(link_ring_rx_next(&port[2], &rx[0]));
	for (i = 0; i < 4; i++)
		assert_int_equal(rx[i].frame[0], i);
	link_ring_rx_done(&port[2]);
	assert_int_equal(port[2].rx[1].head, 4);
	assert_int_equal(receive(2), 9);
}

/* The source of a burst detaches, and the port table is scanned again. */
static void ends_a_burst_whose_source_has_left(void **state)
{
	struct unic_rx rx;

	(void)state;
	assert_true(send_byte(3, 2, 1));
	assert_true(link_ring_rx_next(&port[2], &rx));
	link_ring_detach(&port[3]);
	link_ring_sleep(&port[2], true);
	link_ring_sleep(&port[2], false);
	assert_true(send_byte(1, 2, 2));
	link_ring_rx_done(&port[2]);
	assert_int_equal(port[2].rx[3].head, 1);
	assert_int_equal(receive(2), 2);
	assert_int_equal(receive(2), -1);
}

static void says_when_a_frame_is_there(void **state)
{
	(void)state;
	assert_false(link_ring_rx_ready(&port[2]));
	assert_true(send_byte(3, 2, 1));
	assert_true(link_ring_rx_ready(&port[2]));
	assert_int_equal(receive(2), 1);
	assert_false(link_ring_rx_ready(&port[2]));
}

static void is_fair_to_senders(void **state)
{
	uint32_t from[PORTS] = { 0 }, i;
	struct unic_rx rx;

	(void)state;
	for (i = 0; i < SLOTS; i++) {
		assert_true(send_byte(0, 2, 0));
		assert_true(send_byte(1, 2, 1));
		assert_true(send_byte(3, 2, 3));
	}
	for (i = 0; i < 6; i++) {
		assert_true(link_ring_rx_next(&port[2], &rx));
		from[link_ring_source(&port[2])]++;
		link_ring_rx_done(&port[2]);
	}
	assert_int_equal(from[0], 2);
	assert_int_equal(from[1], 2);
	assert_int_equal(from[3], 2);
}

static void talks_to_itself(void **state)
{
	(void)state;
	assert_true(send_byte(1, link_ring_path(&port[1], mac[1]), 9));
	assert_int_equal(link_ring_flush(&port[1]), 0);
	assert_int_equal(receive(1), 9);
}

static void rings_only_sleepers(void **state)
{
	(void)state;
	link_ring_sleep(&port[2], true);
	assert_true(send_byte(1, 2, 0));
	assert_true(send_byte(1, 3, 0));
	assert_int_equal(link_ring_flush(&port[1]), 1u << 2);
	assert_int_equal(link_ring_flush(&port[1]), 0);
	link_ring_sleep(&port[2], false);
	assert_true(send_byte(1, 2, 0));
	assert_int_equal(link_ring_flush(&port[1]), 0);
}

/* A port that goes to sleep finds a frame of a port that attached just
 * before. */
static void notices_newcomers_before_sleeping(void **state)
{
	(void)state;
	link_ring_detach(&port[3]);
	link_ring_sleep(&port[2], true);
	link_ring_sleep(&port[2], false);
	assert_int_equal(attach(3), 0);
	assert_true(send_byte(3, 2, 5));
	link_ring_sleep(&port[2], true);
	assert_int_equal(receive(2), 5);
}

static void numbers_wrap(void **state)
{
	const uint32_t near = 0u - SLOTS;
	uint32_t i;

	(void)state;
	set_head(1, 2, near);
	for (i = 0; i < SLOTS; i++)
		slot(1, 2, i)->seq = unic_to_le32(near + i + 1 - SLOTS);
	assert_int_equal(attach(1), 0);
	assert_int_equal(attach(2), 0);
	for (i = 0; i < 4 * SLOTS; i++) {
		assert_true(send_byte(1, 2, (uint8_t)i));
		assert_int_equal(receive(2), i);
	}
	assert_int_equal(port[1].tx[2].seq, 3 * SLOTS + 1);
}

/* -------------------------------------------------------- attach and detach */

static void successor_starts_clean(void **state)
{
	uint8_t *lost, *f;

	(void)state;
	assert_true(send_byte(1, 2, 1));
	assert_true(send_byte(2, 1, 2));
	lost = link_ring_tx_get(&port[1], 2);
	assert_non_null(lost);
	f = link_ring_tx_get(&port[1], 2);
	f[0] = 99;
	link_ring_tx_put(&port[1], f, 60, 0);
	/* port 1 ends here, with buffers that it has not put */
	assert_int_equal(attach(1), 0);
	assert_int_equal(receive(1), -1);
	assert_int_equal(receive(2), 1);
	assert_int_equal(receive(2), -1);
	assert_true(send_byte(1, 2, 3));
	assert_int_equal(receive(2), 3);
	assert_int_equal(receive(2), -1);
	assert_true(send_byte(2, 1, 4));
	assert_int_equal(receive(1), 4);
}

static void full_ring_to_the_dead_goes_to_the_switch(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SLOTS; i++)
		assert_true(send_byte(1, 2, 0));
	assert_false(send_byte(1, 2, 0));
	link_ring_bury(&port[0], 2);
	assert_false(link_ring_there(&port[0], 2));
	assert_true(send_byte(1, 2, 8));
	assert_int_equal(receive(0), 8);
}

static void refuses_bad_layouts(void **state)
{
	struct unic_link_header good = *header(), *h = header();

	(void)state;
	h->magic = unic_to_le32(0);
	assert_int_equal(attach(1), LINK_RING_EMAGIC);
	*h = good;
	h->version = unic_to_le32(2);
	assert_int_equal(attach(1), LINK_RING_EVERSION);
	*h = good;
	h->ports = unic_to_le32(UNIC_LINK_PORTS_MAX + 1);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	*h = good;
	h->slots = unic_to_le32(3);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	h->slots = unic_to_le32(1u << 31);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	*h = good;
	h->slot_bytes = unic_to_le32(0);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	h->slot_bytes = unic_to_le32(129);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	*h = good;
	h->ring_off = unic_to_le32(8192);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	h->ring_off = unic_to_le32(0xfffff000u);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	*h = good;
	h->ring_bytes = unic_to_le32(0xfffff000u);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	h->ring_bytes = unic_to_le32(0);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	*h = good;
	h->port_off = unic_to_le32(MEM_BYTES - 64);
	assert_int_equal(attach(1), LINK_RING_ELAYOUT);
	*h = good;
	assert_int_equal(link_ring_attach(&port[1], mem, sizeof(mem), PORTS,
					  mac[1]),
			 LINK_RING_EPORT);
	assert_int_equal(link_ring_attach(&port[1], mem, 32, 1, mac[1]),
			 LINK_RING_ELAYOUT);
	assert_int_equal(link_layout_format(mem, sizeof(mem) - 1, PORTS, SLOTS,
					    SLOT_BYTES, 0),
			 LINK_RING_ELAYOUT);
}

/* ------------------------------------------------------------ hostile peers */

static void drops_impossible_lengths(void **state)
{
	static const uint16_t lens[] = { MAX_FRAME + 1, 0xffff };
	struct unic_rx rx;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_true(send_byte(1, 2, 1));
		slot(1, 2, i)->len = unic_to_le16(lens[i]);
	}
	assert_true(send_byte(1, 2, 3));
	for (i = 0; i < 2; i++) {
		assert_true(link_ring_rx_next(&port[2], &rx));
		assert_int_equal(rx.len, 0);
	}
	assert_true(link_ring_rx_next(&port[2], &rx));
	assert_int_equal(rx.frame[0], 3);
	assert_int_equal(rx.len, 60);
	assert_int_equal(port[2].rx_bad, 2);
}

/* A call takes one slot, whatever its length, and a burst of slots with bad
 * lengths is released like any other. */
static void bad_lengths_count_against_the_burst(void **state)
{
	static const uint16_t lens[] = { 0, MAX_FRAME + 1, 0xffff };
	struct unic_rx rx;
	uint32_t i;

	(void)state;
	for (i = 0; i < SLOTS; i++) {
		assert_true(send_byte(1, 2, 1));
		slot(1, 2, i)->len = unic_to_le16(lens[i % 3]);
	}
	assert_true(send_byte(3, 2, 9)); /* a neighbour waits for its turn */
	for (i = 0; i < 3; i++) {
		assert_true(link_ring_rx_next(&port[2], &rx));
		assert_int_equal(rx.len, 0);
		assert_int_equal(port[2].rx[1].seq, i + 2);
		assert_int_equal(port[2].rx[1].head, 0);
	}
	assert_int_equal(port[2].rx_bad, 2);
	link_ring_rx_done(&port[2]);
	assert_int_equal(port[2].rx[1].head, 3);
	assert_int_equal(receive(2), 9);
}

static void ignores_wild_seqs(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SLOTS; i++) {
		slot(1, 2, i)->seq = unic_to_le32(i + 1 + SLOTS);
		slot(1, 2, i)->len = unic_to_le16(60);
	}
	assert_int_equal(receive(2), -1);
	for (i = 0; i < SLOTS; i++)
		slot(1, 2, i)->seq = unic_to_le32(0xffffffffu);
	assert_int_equal(receive(2), -1);
}

static void wild_head_is_a_full_ring(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SLOTS; i++)
		assert_true(send_byte(1, 2, (uint8_t)i));
	set_head(1, 2, 1000);
	assert_false(send_byte(1, 2, 0));
	set_head(1, 2, 0x80000000u);
	assert_false(send_byte(1, 2, 0));
	set_head(1, 2, SLOTS);
	assert_true(send_byte(1, 2, 0));
}

/* A peer publishes each next slot at once, without a frame: a call takes
 * one. */
static void endless_empty_frames_are_bounded(void **state)
{
	struct unic_rx rx;
	uint32_t n;

	(void)state;
	for (n = 0; n < 4 * SLOTS; n++) {
		slot(1, 2, n)->len = unic_to_le16(0);
		slot(1, 2, n)->seq = unic_to_le32(n + 1);
		slot(1, 2, n + 1)->seq = unic_to_le32(n + 2);
		assert_true(link_ring_rx_next(&port[2], &rx));
		assert_int_equal(rx.len, 0);
		link_ring_rx_done(&port[2]);
		assert_int_equal(port[2].rx[1].head, n + 1);
	}
}

static void strips_flags_nobody_agreed_to(void **state)
{
	struct unic_rx rx;

	(void)state;
	header()->flags = unic_to_le32(UNIC_LINK_DIRECT);
	link_ring_sleep(&port[2], true);
	assert_true(send_byte(1, 2, 1));
	slot(1, 2, 0)->flags = unic_to_le16(0xffff);
	assert_true(link_ring_rx_next(&port[2], &rx));
	assert_int_equal(rx.flags, 0);
}

static void wild_callers_do_no_harm(void **state)
{
	uint8_t stray[64];

	(void)state;
	link_ring_rx_done(&port[2]); /* no frame was taken */
	assert_int_equal(receive(2), -1);
	link_ring_tx_put(&port[1], stray + 32, 10, 0);
	assert_non_null(link_ring_tx_get(&port[1], 0xffffffffu));
	assert_ptr_equal(port[1].from, &port[1].tx[UNIC_LINK_PORT_SWITCH]);
	link_ring_tx_put(&port[1], stray + 32, 10, 0);
	assert_non_null(link_ring_tx_get(&port[1], PORTS)); /* no such port */
	assert_ptr_equal(port[1].from, &port[1].tx[UNIC_LINK_PORT_SWITCH]);
}

/* Random bytes in the rings: no access outside the link, no endless loop. */
static void survives_noise(void **state)
{
	uint32_t x = 12345, round, i;
	struct unic_rx rx;
	uint8_t *f;

	(void)state;
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 16; i++) {
			x = x * 1664525u + 1013904223u;
			mem[4096 + (x >> 8) % (MEM_BYTES - 4096)] =
				(uint8_t)(x >> 24);
		}
		f = link_ring_tx_get(&port[1], x % PORTS);
		if (f)
			link_ring_tx_put(&port[1], f, x % MAX_FRAME, 0);
		for (i = 0; i < 8; i++)
			if (link_ring_rx_next(&port[i % PORTS], &rx)) {
				assert_true(rx.len <= MAX_FRAME);
				assert_true(rx.frame >= mem &&
					    rx.frame + rx.len <=
						    mem + sizeof(mem));
				link_ring_rx_done(&port[i % PORTS]);
			}
		if (round % 64 == 0)
			assert_int_equal(attach(round / 64 % PORTS), 0);
	}
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(says_what_it_is),
		TEST(passes_a_frame),
		TEST(passes_runs),
		TEST(ends_a_run_at_another_form),
		TEST(finds_paths),
		TEST(keeps_order_when_put_out_of_order),
		TEST(shows_buffers_given_back),
		TEST(full_ring_says_no_and_recovers),
		TEST(frees_a_burst_at_once),
		TEST(ends_a_burst_whose_source_has_left),
		TEST(says_when_a_frame_is_there),
		TEST(is_fair_to_senders),
		TEST(talks_to_itself),
		TEST(rings_only_sleepers),
		TEST(notices_newcomers_before_sleeping),
		TEST(numbers_wrap),
		TEST(successor_starts_clean),
		TEST(full_ring_to_the_dead_goes_to_the_switch),
		TEST(refuses_bad_layouts),
		TEST(drops_impossible_lengths),
		TEST(bad_lengths_count_against_the_burst),
		TEST(ignores_wild_seqs),
		TEST(wild_head_is_a_full_ring),
		TEST(endless_empty_frames_are_bounded),
		TEST(strips_flags_nobody_agreed_to),
		TEST(wild_callers_do_no_harm),
		TEST(survives_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
