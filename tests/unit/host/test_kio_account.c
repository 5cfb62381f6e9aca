/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_account.c - who is charged for the I/Os of the page service, and how many of
 * each user are under way, against a driver that the test plays.
 */
#include "kio_account.h"
#include "kio_node.h"
#include "unit.h"

#define MS   1000000ull
#define ADA  1000u
#define BOB  1001u
#define FULL UNIC_KIO_WINDOW
#define OWN  3u /* slot of the service */

static struct unic_kio_node node;
static uint64_t features;
static uint32_t procs, gone, notices, window_of_links;
static struct {
	uint16_t op;
	uint32_t at;
	uint64_t rec[UNIC_REC_WORDS];
} asked[64];
static uint32_t asks;

/* -------------------------------------------------- what the accounts call */

bool unic_kio_ask(struct unic_kio_node *n, uint16_t op, void *rec,
		  uint32_t tail, uint32_t link, uint32_t at)
{
	uint32_t i = 0;

	assert_int_equal(tail, 0);
	assert_int_equal(link, UNIC_KIO_OF_ACCOUNT);
	while (n->ask[i].op)
		if (++i == UNIC_KIO_ASKS)
			return false;
	n->ask[i] = (struct unic_kio_ask){ .op = op,
					   .link = (uint8_t)link,
					   .at = (uint8_t)at };
	assert_in_range(asks, 0, 63);
	asked[asks].op = op;
	asked[asks].at = at;
	memcpy(asked[asks++].rec, rec, sizeof(asked[0].rec));
	return true;
}

void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...)
{
	(void)os;
	(void)level;
	(void)fmt;
}

bool unic_host_peek(struct unic_host *host, uint32_t off, void *buf,
		    uint32_t bytes)
{
	struct unic_info info = { .features = unic_to_le64(features),
				  .procs = unic_to_le32(procs) };

	(void)host;
	(void)off;
	memcpy(buf, &info, bytes);
	return true;
}

void unic_host_client_gone(struct unic_host *host, struct unic_client *client)
{
	(void)host;
	assert_true(client->kernel);
	client->slot = UNIC_OS_NO_SLOT;
	gone++;
}

uint32_t unic_host_notices(const struct unic_host *host)
{
	(void)host;
	return notices;
}

void unic_kio_window(struct unic_kio_client *c, uint32_t n)
{
	(void)c;
	window_of_links = n;
}

/* ------------------------------------------------------------------ set-up */

static int up(void **state)
{
	(void)state;
	memset(&node, 0, sizeof(node));
	features = UNIC_FEAT_ACCOUNTS;
	procs = 8;
	gone = asks = notices = 0;
	window_of_links = FULL;
	node.rdma = true;
	node.config.pid = 77;
	node.core.slot = OWN;
	node.entries = 1024;
	node.window = FULL;
	node.now_ns = 1000 * MS;
	unic_kio_account_init(&node);
	return 0;
}

static void poll_after(uint64_t ms)
{
	node.now_ns += ms * MS;
	unic_kio_account_poll(&node);
}

static struct unic_kio io_of(uint64_t user)
{
	return (struct unic_kio){ .op = UNIC_KIO_READ,
				  .len = 8192,
				  .user = user };
}

/* Begins @n I/Os of @user, and says how many could begin. */
static uint32_t begin(uint64_t user, uint32_t n, struct unic_kio *io)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		io[i] = io_of(user);
		if (!unic_kio_account_begin(&node, &io[i]))
			break;
	}
	return i;
}

static uint8_t payer(const struct unic_kio *io, uint32_t *tag)
{
	return unic_kio_account_charge(&node, io, 2, tag);
}

/* The driver answers the last request with @status, and a HELLO with slot @slot. */
static void answer(uint32_t status, uint32_t slot)
{
	struct unic_kio_ask ask;
	uint32_t i = 0;

	assert_true(asks);
	while (node.ask[i].op != asked[asks - 1].op ||
	       node.ask[i].at != asked[asks - 1].at)
		assert_in_range(++i, 1, UNIC_KIO_ASKS - 1);
	ask = node.ask[i];
	node.ask[i].op = 0;
	if (ask.op == UNIC_CTL_HELLO && !status)
		node.account[ask.at].core.slot = slot;
	unic_kio_account_reply(&node, &ask, status);
}

static uint32_t last_claim(void)
{
	struct unic_ctl_claim r;

	assert_int_equal(asked[asks - 1].op, UNIC_CTL_CLAIM);
	memcpy(&r, asked[asks - 1].rec, sizeof(r));
	return unic_from_le32(r.entries);
}

/* ------------------------------------------------------------------- payers */

static void each_user_pays_for_itself(void **state)
{
	struct unic_kio a, b;
	struct unic_ctl_hello hello;
	uint32_t ta, tb;

	(void)state;
	assert_int_equal(begin(ADA, 1, &a), 1);
	assert_int_equal(payer(&a, &ta), 0); /* as long as it has no slot */
	poll_after(0);
	assert_int_equal(asked[0].op, UNIC_CTL_HELLO);
	memcpy(&hello, asked[0].rec, sizeof(hello));
	assert_string_equal((const char *)hello.name, "uid 1000");
	assert_int_equal(node.account[asked[0].at].core.keeper, OWN + 1);
	assert_true(node.account[asked[0].at].core.kernel);
	assert_int_equal(payer(&a, &ta), 0);
	answer(0, 5);
	assert_int_equal(payer(&a, &ta), 6);
	assert_int_equal(begin(UNIC_KIO_CGROUP | 7, 1, &b), 1);
	poll_after(0);
	assert_int_equal(asked[asks - 1].op, UNIC_CTL_HELLO);
	memcpy(&hello, asked[asks - 1].rec, sizeof(hello));
	assert_string_equal((const char *)hello.name, "cgr 7");
	answer(0, 6);
	assert_int_equal(payer(&b, &tb), 7);
	assert_int_not_equal(ta, tb);
	assert_int_equal(payer(&a, &ta), 6);
}

/* MR_REG has one byte for 1 + the slot. A slot that this cannot name is charged nothing,
 * and no other in its place; nothing is claimed for it. */
static void slots_that_cannot_be_named(void **state)
{
	static const uint32_t slots[] = { 254, 255, 256, 300 };
	struct unic_kio io;
	uint32_t i, tag;

	for (i = 0; i < 4; i++) {
		up(state);
		assert_int_equal(begin(ADA, 1, &io), 1);
		poll_after(0);
		answer(0, slots[i]);
		assert_int_equal(payer(&io, &tag), i ? 0 : 255);
		poll_after(100);
		assert_int_equal(asks, i ? 1 : 2); /* HELLO, CLAIM */
	}
}

/* A quarter of the NIC's slots; without a slot the service's own is charged, and the
 * driver is asked again after a second. */
static void few_slots(void **state)
{
	struct unic_kio io[4];
	uint32_t i, tag, before;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(begin(ADA + i, 1, &io[i]), 1);
	poll_after(0);
	assert_int_equal(asks, 2);
	answer(UNIC_CTL_ST_NO_SLOT, 0);
	assert_int_equal(payer(&io[1], &tag), 0);
	before = asks;
	poll_after(990);
	assert_int_equal(asks, before);
	poll_after(10);
	assert_int_equal(asks, before + 1);
}

static void a_nic_without_accounts(void **state)
{
	struct unic_kio io;
	uint32_t tag;

	(void)state;
	features = 0;
	assert_int_equal(begin(ADA, 1, &io), 1);
	poll_after(0);
	poll_after(2000);
	assert_int_equal(asks, 0);
	assert_int_equal(payer(&io, &tag), 0);
	unic_kio_account_notice(&node, tag); /* but windows are of users */
	assert_int_equal(unic_kio_account_window(&node, ADA), 1);
	assert_int_equal(unic_kio_account_window(&node, BOB), FULL);
}

/* More users than accounts have one in common. */
static void users_without_account(void **state)
{
	struct unic_kio io[UNIC_KIO_ACCOUNTS + 2];
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_KIO_ACCOUNTS + 2; i++)
		assert_int_equal(begin(ADA + i, 1, &io[i]), 1);
	assert_int_equal(io[UNIC_KIO_ACCOUNTS - 2].account,
			 UNIC_KIO_ACCOUNTS - 1);
	for (i = UNIC_KIO_ACCOUNTS - 1; i < UNIC_KIO_ACCOUNTS + 2; i++)
		assert_int_equal(io[i].account, 0);
}

/* By token, an I/O holds no entry. */
static void tokens_pay_nothing(void **state)
{
	struct unic_kio io = io_of(ADA);

	(void)state;
	io.token_only = true;
	assert_true(unic_kio_account_begin(&node, &io));
	assert_int_equal(io.account, UNIC_KIO_NO_ACCOUNT);
	unic_kio_account_end(&node, &io);
	node.rdma = false;
	io = io_of(ADA);
	assert_true(unic_kio_account_begin(&node, &io));
	assert_int_equal(io.account, UNIC_KIO_NO_ACCOUNT);
	poll_after(0);
	assert_int_equal(asks, 0);
}

/* An account that is unused for a second is given back, and its answers are not waited
 * for. */
static void unused_accounts_end(void **state)
{
	struct unic_kio io;
	uint32_t tag, i;

	(void)state;
	assert_int_equal(begin(ADA, 1, &io), 1);
	poll_after(0);
	answer(0, 5);
	payer(&io, &tag);
	poll_after(0); /* claims */
	assert_int_equal(asked[asks - 1].op, UNIC_CTL_CLAIM);
	poll_after(5000);
	assert_int_equal(gone, 0); /* its I/O is under way */
	unic_kio_account_end(&node, &io);
	poll_after(900);
	assert_int_equal(gone, 0);
	poll_after(200);
	assert_int_equal(gone, 1);
	for (i = 0; i < UNIC_KIO_ASKS; i++)
		assert_int_equal(node.ask[i].op, 0);
}

/* ------------------------------------------------------------------ windows */

static void exactly_that_window_shrinks(void **state)
{
	struct unic_kio a[FULL + 1], b[FULL + 1];
	uint32_t ta, tb, i;

	(void)state;
	assert_int_equal(begin(ADA, FULL + 1, a), FULL);
	assert_int_equal(begin(BOB, 3, b), 3);
	payer(&a[0], &ta);
	payer(&b[0], &tb);
	unic_kio_account_notice(&node, ta);
	assert_int_equal(unic_kio_account_window(&node, ADA), FULL - 1);
	assert_int_equal(unic_kio_account_window(&node, BOB), FULL);
	unic_kio_account_notice(&node, ta);
	assert_int_equal(unic_kio_account_window(&node, ADA), FULL - 2);
	/* of what is under way, so that fewer are from now on */
	unic_kio_account_notice(&node, tb);
	assert_int_equal(unic_kio_account_window(&node, BOB), 2);
	for (i = 0; i < 5; i++)
		unic_kio_account_notice(&node, tb);
	assert_int_equal(unic_kio_account_window(&node, BOB), 1);
	assert_int_equal(unic_kio_account_window(&node, ADA), FULL - 2);
	/* what was asked back comes with the end of its I/O, and no other begins */
	unic_kio_account_end(&node, &a[0]);
	unic_kio_account_end(&node, &a[1]);
	assert_int_equal(begin(ADA, 1, a), 0);
	unic_kio_account_end(&node, &a[2]);
	assert_int_equal(begin(ADA, 1, a), 1);
}

static void windows_grow_again(void **state)
{
	struct unic_kio a[FULL];
	uint32_t tag, i;

	(void)state;
	assert_int_equal(begin(ADA, 4, a), 4);
	payer(&a[0], &tag);
	unic_kio_account_notice(&node, tag);
	assert_int_equal(unic_kio_account_window(&node, ADA), 3);
	poll_after(99);
	assert_int_equal(unic_kio_account_window(&node, ADA), 3);
	poll_after(1);
	assert_int_equal(unic_kio_account_window(&node, ADA), 4);
	node.window_opens = false;
	for (i = 5; i <= FULL; i++) {
		poll_after(100);
		assert_int_equal(unic_kio_account_window(&node, ADA), i);
		assert_true(node.window_opens);
	}
	poll_after(100);
	assert_int_equal(unic_kio_account_window(&node, ADA), FULL);
}

static void stale_notices_shrink_nothing(void **state)
{
	struct unic_kio io;
	uint32_t tag;

	(void)state;
	assert_int_equal(begin(ADA, 1, &io), 1);
	payer(&io, &tag);
	unic_kio_account_end(&node, &io);
	poll_after(1100);
	unic_kio_account_notice(&node, tag);
	assert_int_equal(begin(BOB, 1, &io), 1);
	unic_kio_account_notice(&node, tag);
	unic_kio_account_notice(&node, 0);
	unic_kio_account_notice(&node, UINT32_MAX);
	assert_int_equal(unic_kio_account_window(&node, BOB), FULL);
	assert_int_equal(unic_kio_account_window(&node, ADA), FULL);
}

/* Without RDMA no I/O holds entries: notices to anybody halve the windows of all. */
static void links_have_the_window_of_tokens(void **state)
{
	(void)state;
	node.rdma = false;
	notices = 1;
	poll_after(10);
	assert_int_equal(window_of_links, FULL / 2);
	poll_after(100);
	assert_int_equal(window_of_links, FULL / 2 + 1);
}

/* ------------------------------------------------------------------- claims */

static void the_demand_is_claimed(void **state)
{
	struct unic_kio a[4];
	uint32_t tag, before, i;

	(void)state;
	assert_int_equal(begin(ADA, 4, a), 4);
	poll_after(0);
	answer(0, 5);
	unic_kio_account_charge(&node, &a[0], 3, &tag);
	poll_after(0);
	assert_int_equal(last_claim(), FULL * 3);
	assert_int_equal(unic_kio_account_demand(&node), FULL * 8192);
	before = asks;
	poll_after(100); /* one answer is missing */
	assert_int_equal(asks, before);
	answer(0, 0);
	poll_after(100); /* and nothing is new */
	assert_int_equal(asks, before);
	unic_kio_account_notice(&node, tag);
	poll_after(0);
	assert_int_equal(last_claim(), 3 * 3);
	answer(0, 0);
	for (i = 0; i < 4; i++)
		unic_kio_account_end(&node, &a[i]);
	poll_after(99);
	assert_int_not_equal(last_claim(), 0);
	poll_after(1);
	assert_int_equal(last_claim(), 0);
}

static void no_more_than_the_nic_has(void **state)
{
	struct unic_kio io;
	uint32_t tag;

	(void)state;
	node.entries = 64;
	assert_int_equal(begin(ADA, 1, &io), 1);
	poll_after(0);
	answer(0, 5);
	unic_kio_account_charge(&node, &io, 17, &tag);
	poll_after(0);
	assert_int_equal(last_claim(), 64);
}

static void a_reset_forgets_claims(void **state)
{
	struct unic_kio io;
	uint32_t tag, before;

	(void)state;
	assert_int_equal(begin(ADA, 1, &io), 1);
	poll_after(0);
	answer(0, 5);
	payer(&io, &tag);
	poll_after(0);
	answer(0, 0);
	before = asks;
	unic_kio_account_reset(&node, false);
	assert_int_equal(gone, 0);
	assert_int_equal(payer(&io, &tag), 6); /* the slot stays */
	poll_after(10);
	assert_int_equal(asks, before + 1);
	assert_int_equal(last_claim(), FULL * 2);
	unic_kio_account_reset(&node, true);
	assert_int_equal(gone, 1);
	assert_int_equal(payer(&io, &tag), 0);
	node.core.slot = OWN + 1;
	poll_after(0);
	assert_int_equal(asked[asks - 1].op, UNIC_CTL_HELLO);
	assert_int_equal(node.account[asked[asks - 1].at].core.keeper, OWN + 2);
	unic_kio_account_reset(&node, false); /* its answer does not come */
	assert_int_equal(gone, 2);
	poll_after(0);
	assert_int_equal(asked[asks - 1].op, UNIC_CTL_HELLO);
}

/* A claim that was refused is not known to the NIC, and is made again: after a second,
 * because a NIC that refuses it may refuse it always; and at once after a reset. */
static void a_refused_claim_is_made_again(void **state)
{
	struct unic_kio io;
	uint32_t tag, before, i;

	(void)state;
	assert_int_equal(begin(ADA, 1, &io), 1);
	poll_after(0);
	answer(0, 5);
	payer(&io, &tag);
	poll_after(0);
	for (i = 0; i < 3; i++) {
		before = asks;
		answer(UNIC_ST_INVALID, 0);
		poll_after(990);
		assert_int_equal(asks, before);
		poll_after(10);
		assert_int_equal(asks, before + 1);
		assert_int_equal(last_claim(), FULL * 2);
	}
	answer(UNIC_CTL_ST_RESET, 0);
	unic_kio_account_reset(&node, false);
	poll_after(0);
	assert_int_equal(asks, before + 2);
	assert_int_equal(last_claim(), FULL * 2);
}

/* An account that nobody had is none after the slot was given up: its user would be 0,
 * with a window of 0. */
static void a_lost_slot_makes_no_account(void **state)
{
	struct unic_kio io[2];

	(void)state;
	assert_int_equal(begin(ADA, 1, &io[0]), 1);
	unic_kio_account_reset(&node, true);
	assert_int_equal(unic_kio_account_window(&node, 0), FULL);
	assert_int_equal(begin(0, 1, &io[1]), 1);
	poll_after(0);
	assert_int_equal(asks, 2); /* HELLOs of the two users */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_user_pays_for_itself, up),
		cmocka_unit_test_setup(slots_that_cannot_be_named, up),
		cmocka_unit_test_setup(few_slots, up),
		cmocka_unit_test_setup(a_nic_without_accounts, up),
		cmocka_unit_test_setup(users_without_account, up),
		cmocka_unit_test_setup(tokens_pay_nothing, up),
		cmocka_unit_test_setup(unused_accounts_end, up),
		cmocka_unit_test_setup(exactly_that_window_shrinks, up),
		cmocka_unit_test_setup(windows_grow_again, up),
		cmocka_unit_test_setup(stale_notices_shrink_nothing, up),
		cmocka_unit_test_setup(links_have_the_window_of_tokens, up),
		cmocka_unit_test_setup(the_demand_is_claimed, up),
		cmocka_unit_test_setup(no_more_than_the_nic_has, up),
		cmocka_unit_test_setup(a_reset_forgets_claims, up),
		cmocka_unit_test_setup(a_refused_claim_is_made_again, up),
		cmocka_unit_test_setup(a_lost_slot_makes_no_account, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
