/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_arp.c - ARP requests, replies, and peers that do not reply. */
#include "unit.h"

#include "rig.h"

#define MS   1000000ull
#define PEER 0x0a000002u

static struct rig ra, rb;
static uint32_t sent;

static int up(void **state)
{
	(void)state;
	sent = 0;
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	fake_wire(&ra.port, &rb.port);
	return 0;
}

static void nowhere(struct unic_port *port, const uint8_t *frame, uint32_t len,
		    uint32_t flags)
{
	(void)port;
	(void)flags;
	assert_int_equal(len, 60);
	assert_int_equal(frame[12] << 8 | frame[13], UNIC_ETHERTYPE_ARP);
	assert_int_equal(frame[0], 0xff);
	sent++;
}

static uint8_t resolve(uint32_t ipv4, uint32_t user, struct unic_cpl_arp *cpl)
{
	struct unic_cmd_arp cmd = {
		.ipv4 = unic_to_le32(ipv4),
		.user = unic_to_le32(user),
	};

	return rig_cmd(&ra, UNIC_CMD_ARP_RESOLVE, &cmd, cpl);
}

static void answered(void **state)
{
	struct unic_cpl_arp cpl;
	struct unic_evt_arp evt;

	(void)state;
	assert_int_equal(resolve(PEER, 77, &cpl), UNIC_ST_PENDING);
	rig_run2(&ra, &rb, MS);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_int_equal(evt.ok, 1);
	assert_int_equal(unic_from_le32(evt.user), 77);
	assert_int_equal(unic_from_le32(evt.ipv4), PEER);
	assert_memory_equal(evt.mac, rb.port.mac, 6);
	assert_int_equal(resolve(PEER, 78, &cpl), UNIC_ST_OK);
	assert_memory_equal(cpl.mac, rb.port.mac, 6);
	assert_false(rig_event(&ra, &evt));
	/* an expired entry is requested again */
	rig_run2(&ra, &rb, UNIC_ARP_AGE_NS);
	assert_int_equal(resolve(PEER, 79, &cpl), UNIC_ST_PENDING);
}

/* A reply is valid for its time, and not a moment longer. */
static void known_until(void **state)
{
	struct unic_evt_arp evt;

	(void)state;
	assert_int_equal(resolve(PEER, 77, NULL), UNIC_ST_PENDING);
	rig_run2(&ra, &rb, 0);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	rig_run2(&ra, &rb, UNIC_ARP_AGE_NS - 1);
	assert_int_equal(resolve(PEER, 78, NULL), UNIC_ST_OK);
	rig_run2(&ra, &rb, 1);
	assert_int_equal(resolve(PEER, 79, NULL), UNIC_ST_PENDING);
}

static void nobody_there(void **state)
{
	struct unic_evt_arp evt;

	(void)state;
	ra.port.on_frame = nowhere;
	assert_int_equal(resolve(PEER, 1, NULL), UNIC_ST_PENDING);
	rig_run(&ra, UNIC_ARP_GIVE_UP_NS - 1);
	assert_false(rig_event(&ra, &evt));
	assert_int_equal(sent, 10); /* at 0, 100 .. 900 ms */
	rig_run(&ra, 1);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_int_equal(evt.ok, 0);
	assert_int_equal(unic_from_le32(evt.user), 1);
	rig_run(&ra, 2 * UNIC_ARP_GIVE_UP_NS);
	assert_int_equal(sent, 10);
}

static void own_and_wild_addresses(void **state)
{
	struct unic_cpl_arp cpl;

	(void)state;
	assert_int_equal(resolve(0x0a000001, 1, &cpl), UNIC_ST_OK);
	assert_memory_equal(cpl.mac, ra.port.mac, 6);
	assert_int_equal(resolve(0, 1, NULL), UNIC_ST_NO_ROUTE);
	assert_int_equal(resolve(0xe0000001, 1, NULL), UNIC_ST_NO_ROUTE);
	assert_int_equal(resolve(0xffffffff, 1, NULL), UNIC_ST_NO_ROUTE);
}

static void table_full(void **state)
{
	struct unic_evt_arp evt;
	uint32_t i;

	(void)state;
	ra.port.on_frame = nowhere;
	for (i = 0; i < UNIC_ARP_ENTRIES; i++)
		assert_int_equal(resolve(PEER + i, i, NULL), UNIC_ST_PENDING);
	assert_int_equal(resolve(PEER + i, i, NULL), UNIC_ST_BUSY);
	rig_run(&ra, UNIC_ARP_GIVE_UP_NS);
	for (i = 0; i < UNIC_ARP_ENTRIES; i++)
		rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_int_equal(resolve(PEER, 1, NULL), UNIC_ST_PENDING);
}

/* Lookups by queue pairs send one request for each address, get no event, and
 * leave half of the table to others. */
static void questions_of_queue_pairs(void **state)
{
	struct unic_evt_arp evt;
	uint8_t mac[6];
	uint32_t i;

	(void)state;
	ra.port.on_frame = nowhere;
	for (i = 0; i < 2 * UNIC_ARP_ENTRIES; i++) {
		assert_int_equal(unic_arp_find(&ra.nic.transport, PEER + i / 2,
					       mac),
				 -UNIC_EPENDING);
		assert_true(sent <= i / 2 + 1);
	}
	assert_int_equal(sent, UNIC_ARP_ENTRIES / 2);
	for (i = 0; i < UNIC_ARP_ENTRIES / 2; i++)
		assert_int_equal(resolve(PEER + 100 + i, i, NULL),
				 UNIC_ST_PENDING);
	assert_int_equal(resolve(PEER + 100 + i, i, NULL), UNIC_ST_BUSY);
	assert_int_equal(unic_arp_find(&ra.nic.transport, PEER + 100, mac),
			 -UNIC_EPENDING); /* a request is pending */
	rig_run(&ra, UNIC_ARP_GIVE_UP_NS);
	for (i = 0; i < UNIC_ARP_ENTRIES / 2; i++)
		rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_false(rig_event(&ra, &evt));
	ra.port.on_frame = NULL;
	assert_int_equal(unic_arp_find(&ra.nic.transport, PEER, mac),
			 -UNIC_EPENDING);
	rig_run2(&ra, &rb, 0);
	assert_int_equal(unic_arp_find(&ra.nic.transport, PEER, mac), 0);
	assert_memory_equal(mac, rb.port.mac, 6);
	assert_false(rig_event(&ra, &evt));
}

struct reply {
	struct unic_eth eth;
	struct unic_arp arp;
};

/* A reply to the NIC with a false MAC address of 10.0.0.@host. */
static struct reply reply_of(uint8_t host)
{
	return (struct reply){
		.eth.type = unic_to_be16(UNIC_ETHERTYPE_ARP),
		.arp = { .htype = unic_to_be16(1),
			 .ptype = unic_to_be16(0x0800),
			 .hlen = 6,
			 .plen = 4,
			 .op = unic_to_be16(2),
			 .sha = { 2, 9, 9, 9, 9, 9 },
			 .spa = { 10, 0, 0, host },
			 .tpa = { 10, 0, 0, 1 } },
	};
}

static void arrives(struct reply *f)
{
	fake_deliver(&ra.port, (uint8_t *)f, sizeof(*f), 0);
	rig_poll(&ra);
}

/* An unsolicited reply neither changes a known address nor extends its time. */
static void known_is_not_overwritten(void **state)
{
	struct reply f = reply_of(2);
	struct unic_cpl_arp cpl;
	struct unic_evt_arp evt;

	(void)state;
	assert_int_equal(resolve(PEER, 77, NULL), UNIC_ST_PENDING);
	rig_run2(&ra, &rb, 0);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	rig_run2(&ra, &rb, UNIC_ARP_AGE_NS / 2);
	arrives(&f);
	assert_int_equal(resolve(PEER, 78, &cpl), UNIC_ST_OK);
	assert_memory_equal(cpl.mac, rb.port.mac, 6);
	assert_false(rig_event(&ra, &evt));
	rig_run2(&ra, &rb, UNIC_ARP_AGE_NS / 2);
	assert_int_equal(resolve(PEER, 79, NULL), UNIC_ST_PENDING);
}

/* Resolves PEER + @i, which replies. */
static void ask_and_hear(uint8_t i)
{
	struct reply f = reply_of((uint8_t)(2 + i));
	struct unic_evt_arp evt;

	assert_int_equal(resolve(PEER + i, i, NULL), UNIC_ST_PENDING);
	arrives(&f);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	rig_run(&ra, MS);
}

/* A new request replaces the oldest reply, and no other entry. */
static void oldest_gives_way(void **state)
{
	uint8_t i;

	(void)state;
	ra.port.on_frame = nowhere;
	for (i = 0; i < UNIC_ARP_ENTRIES + 2; i++)
		ask_and_hear(i);
	for (i = 2; i < UNIC_ARP_ENTRIES + 2; i++)
		assert_int_equal(resolve(PEER + i, i, NULL), UNIC_ST_OK);
	assert_int_equal(resolve(PEER + 1, 1, NULL), UNIC_ST_PENDING);
}

/* A reply about another address, or to another host, is dropped. */
static void answers_of_others(void **state)
{
	struct reply f = reply_of(3);
	struct unic_evt_arp evt;

	(void)state;
	ra.port.on_frame = nowhere;
	assert_int_equal(resolve(PEER, 1, NULL), UNIC_ST_PENDING);
	arrives(&f);
	assert_int_equal(rig_count(&ra, rx_not_ours), 0);
	f = reply_of(2);
	f.arp.tpa[3] = 4;
	arrives(&f);
	assert_int_equal(rig_count(&ra, rx_not_ours), 1);
	assert_int_equal(ra.nic.arps.entry[0].state, UNIC_ARP_ASKED);
	assert_false(rig_event(&ra, &evt));
	f = reply_of(2);
	arrives(&f);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_memory_equal(evt.mac, f.arp.sha, 6);
}

/* Unsolicited replies change nothing; nor do damaged ones. */
static void forged(void **state)
{
	struct reply f = reply_of(9);
	uint32_t n;

	(void)state;
	assert_int_equal(sizeof(f), 42);
	arrives(&f);
	ra.port.on_frame = nowhere;
	assert_int_equal(resolve(0x0a000009, 1, NULL), UNIC_ST_PENDING);
	for (n = 0; n < sizeof(f); n++)
		fake_deliver(&ra.port, (uint8_t *)&f, n, 0), rig_poll(&ra);
	assert_int_equal(rig_count(&ra, rx_short), sizeof(f));
	assert_int_equal(ra.nic.arps.entry[0].state, UNIC_ARP_ASKED);
	f.arp.sha[0] = 0xff; /* a group address belongs to no host */
	arrives(&f);
	assert_int_equal(ra.nic.arps.entry[0].state, UNIC_ARP_ASKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(answered, up),
		cmocka_unit_test_setup(known_until, up),
		cmocka_unit_test_setup(nobody_there, up),
		cmocka_unit_test_setup(own_and_wild_addresses, up),
		cmocka_unit_test_setup(table_full, up),
		cmocka_unit_test_setup(questions_of_queue_pairs, up),
		cmocka_unit_test_setup(known_is_not_overwritten, up),
		cmocka_unit_test_setup(oldest_gives_way, up),
		cmocka_unit_test_setup(answers_of_others, up),
		cmocka_unit_test_setup(forged, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
