/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_account.c - see kio_account.h. */
#include "kio_account.h"

#include "kio_node.h"

#define IDLE_NS	  1000000000ull /* unused for so long, a slot is given back */
#define REST_NS	  100000000ull	/* ... and nothing is claimed any more */
#define AGAIN_NS  1000000000ull /* to get a slot, or to claim, after a refusal */
#define CLAIM_NS  10000000ull	/* between two claims of one account */
#define SHRINK_NS 10000000ull	/* between two halvings */
#define NAMEABLE  255u		/* slots: MR_REG has a byte for 1 + the slot */

enum {
	ACCOUNT_FREE = 0,
	ACCOUNT_KNOWN, /* without a slot */
	ACCOUNT_OPENING,
	ACCOUNT_OPEN,
};

static void make_account(struct unic_kio_node *n, struct unic_kio_account *a,
			 uint64_t user)
{
	uint8_t gen = (uint8_t)(a->gen + 1u);

	*a = (struct unic_kio_account){
		.core = { .pid = n->config.pid,
			  .privileged = true,
			  .kernel = true,
			  .slot = UNIC_OS_NO_SLOT },
		.user = user,
		.state = ACCOUNT_KNOWN,
		.gen = gen,
		.window = UNIC_KIO_WINDOW,
		.used_ns = n->now_ns,
	};
}

void unic_kio_account_init(struct unic_kio_node *n)
{
	memset(n->account, 0, sizeof(n->account));
	make_account(n, &n->account[0], UINT64_MAX);
}

/* Nothing is under way here, and there is no connection. */
void unic_kio_account_look(struct unic_kio_node *n)
{
	bool was = n->rdma;
	struct unic_info info;
	uint32_t i;

	if (!n->config.rdma ||
	    !unic_host_peek(n->config.host, UNIC_BAR_INFO_OFF, &info,
			    sizeof(info)))
		return;
	n->rdma = unic_from_le64(info.features) & UNIC_FEAT_ACCOUNTS;
	for (i = 0; i < UNIC_KIO_OUT; i++)
		n->client[i].rdma = n->rdma;
	if (was && !n->rdma)
		unic_os_log(n->config.os, UNIC_LOG_ERROR,
			    "kio: this device keeps no accounts of users: data "
			    "goes by token, not by RDMA");
}

/* ------------------------------------------------------------------- users */

static struct unic_kio_account *account_of(struct unic_kio_node *n,
					   uint64_t user)
{
	struct unic_kio_account *a, *found = NULL;

	for (a = n->account + 1; a < n->account + UNIC_KIO_ACCOUNTS; a++) {
		if (a->state != ACCOUNT_FREE && a->user == user)
			return a;
		if (a->state == ACCOUNT_FREE && !found)
			found = a;
	}
	if (!found)
		return &n->account[0];
	make_account(n, found, user);
	return found;
}

static uint32_t add_to_mean(uint32_t mean, uint32_t n)
{
	return mean ? mean + n / 8 - mean / 8 : n;
}

bool unic_kio_account_begin(struct unic_kio_node *n, struct unic_kio *io)
{
	struct unic_kio_account *a;

	io->account = UNIC_KIO_NO_ACCOUNT;
	if (!n->rdma || io->token_only || !io->len)
		return true;
	a = account_of(n, io->user);
	a->used_ns = n->now_ns;
	if (a->busy >= a->window)
		return false;
	a->busy++;
	a->mean_bytes = add_to_mean(a->mean_bytes, io->len);
	io->account = (uint8_t)(a - n->account);
	return true;
}

void unic_kio_account_end(struct unic_kio_node *n, const struct unic_kio *io)
{
	struct unic_kio_account *a;

	if (io->account == UNIC_KIO_NO_ACCOUNT)
		return;
	a = &n->account[io->account];
	a->busy--;
	a->used_ns = n->now_ns;
	n->window_opens = true; /* of the user's I/Os at other hosts, too */
}

static uint32_t tag_of(const struct unic_kio_node *n,
		       const struct unic_kio_account *a)
{
	return (uint32_t)a->gen << 8 | (uint32_t)(a - n->account);
}

/* True if @a has a slot, and a region can be charged to it. */
static bool is_payer(const struct unic_kio_account *a)
{
	return a->state == ACCOUNT_OPEN && a->core.slot < NAMEABLE;
}

uint8_t unic_kio_account_charge(struct unic_kio_node *n,
				const struct unic_kio *io, uint32_t entries,
				uint32_t *tag)
{
	struct unic_kio_account *a = &n->account[io->account];

	*tag = tag_of(n, a);
	a->mean_entries = add_to_mean(a->mean_entries, entries * 16u);
	return is_payer(a) ? (uint8_t)(a->core.slot + 1) : 0;
}

void unic_kio_account_notice(struct unic_kio_node *n, uint32_t tag)
{
	struct unic_kio_account *a = &n->account[tag % UNIC_KIO_ACCOUNTS];
	uint32_t most;

	if (a->state == ACCOUNT_FREE || tag_of(n, a) != tag)
		return;
	most = a->window < a->busy ? a->window : a->busy;
	a->window = most > 1 ? most - 1 : 1;
	a->window_ns = n->now_ns;
}

uint32_t unic_kio_account_window(const struct unic_kio_node *n, uint64_t user)
{
	uint32_t i, free = UNIC_KIO_ACCOUNTS;

	for (i = 1; i < UNIC_KIO_ACCOUNTS; i++) {
		if (n->account[i].state == ACCOUNT_FREE)
			free = i;
		else if (n->account[i].user == user)
			return n->account[i].window;
	}
	return free < UNIC_KIO_ACCOUNTS ? UNIC_KIO_WINDOW
					: n->account[0].window;
}

uint64_t unic_kio_account_demand(const struct unic_kio_node *n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < UNIC_KIO_ACCOUNTS; i++)
		if (n->account[i].state != ACCOUNT_FREE)
			sum += (uint64_t)n->account[i].window *
			       n->account[i].mean_bytes;
	return sum;
}

/* ------------------------------------------------------------------- slots */

static bool send_user_hello(struct unic_kio_node *n, uint32_t i)
{
	struct unic_kio_account *a = &n->account[i];
	struct unic_ctl_hello r = { .version = unic_to_le32(UNIC_CTL_VERSION) };
	uint64_t user = a->user & UINT32_MAX;
	char *at = (char *)r.name + sizeof(r.name) - 1;

	do /* "uid 1000", right-justified, then moved to the front */
		*--at = (char)('0' + user % 10);
	while (user /= 10);
	memmove(r.name + 4, at, (size_t)((char *)r.name + sizeof(r.name) - at));
	memcpy(r.name, a->user >> 32 ? "cgr " : "uid ", 4);
	a->core.keeper = n->core.slot + 1;
	return unic_kio_ask(n, UNIC_CTL_HELLO, &r, 0, UNIC_KIO_OF_ACCOUNT, i);
}

/* How many accounts may have slots: processes need most of them. */
static uint32_t slots_for_accounts(const struct unic_kio_node *n)
{
	struct unic_info info;

	if (!unic_host_peek(n->config.host, UNIC_BAR_INFO_OFF, &info,
			    sizeof(info)) ||
	    !(unic_from_le64(info.features) & UNIC_FEAT_ACCOUNTS))
		return 0;
	return unic_from_le32(info.procs) / 4u;
}

static uint32_t slots_used(const struct unic_kio_node *n)
{
	uint32_t i, used = 0;

	for (i = 1; i < UNIC_KIO_ACCOUNTS; i++)
		used += n->account[i].state >= ACCOUNT_OPENING;
	return used;
}

static void try_open(struct unic_kio_node *n, uint32_t i)
{
	struct unic_kio_account *a = &n->account[i];

	a->retry_ns = n->now_ns + AGAIN_NS;
	if (slots_used(n) < slots_for_accounts(n) && send_user_hello(n, i))
		a->state = ACCOUNT_OPENING;
}

/* Nothing answers the requests of account @i any more. */
static void forget_asks(struct unic_kio_node *n, uint32_t i)
{
	struct unic_kio_ask *ask;

	for (ask = n->ask; ask < n->ask + UNIC_KIO_ASKS; ask++)
		if (ask->link == UNIC_KIO_OF_ACCOUNT && ask->at == i)
			ask->op = 0;
}

/* Give the slot of @a back; the NIC ends what it still has of it. */
static void close_account(struct unic_kio_node *n, struct unic_kio_account *a)
{
	forget_asks(n, (uint32_t)(a - n->account));
	if (a->state >= ACCOUNT_OPENING)
		unic_host_client_gone(n->config.host, &a->core);
	a->state = ACCOUNT_KNOWN;
	a->core.slot = UNIC_OS_NO_SLOT;
	a->core.open = 0;
	a->claimed = 0;
	a->asked = false;
	a->retry_ns = 0;
}

void unic_kio_account_reply(struct unic_kio_node *n,
			    const struct unic_kio_ask *ask, uint32_t status)
{
	struct unic_kio_account *a = &n->account[ask->at];

	if (ask->op == UNIC_CTL_CLAIM) {
		a->asked = false;
		if (!status)
			return;
		a->claimed = 0;
		a->claim_ns = n->now_ns + AGAIN_NS;
	} else if (a->state == ACCOUNT_OPENING) {
		a->state = status ? ACCOUNT_KNOWN : ACCOUNT_OPEN;
	}
}

void unic_kio_account_reset(struct unic_kio_node *n, bool gone)
{
	uint32_t i;

	for (i = 1; i < UNIC_KIO_ACCOUNTS; i++) {
		struct unic_kio_account *a = &n->account[i];

		if (a->state == ACCOUNT_FREE)
			continue;
		if (gone || a->state == ACCOUNT_OPENING)
			close_account(n, a);
		a->claimed = 0;
		a->claim_ns = 0;
		a->asked = false;
	}
}

/* ------------------------------------------------------------------- claims */

/* Entries that @a can use: window x mean, of a user that is at work. */
static uint32_t claim_of(const struct unic_kio_node *n,
			 const struct unic_kio_account *a)
{
	uint32_t sum = (a->window * a->mean_entries + 15u) / 16u;

	if (!a->busy && n->now_ns >= a->used_ns + REST_NS)
		return 0;
	return sum < n->entries ? sum : n->entries;
}

/* True if claim @now says something else than @told: it differs by a quarter. */
static bool is_news(uint32_t now, uint32_t told)
{
	uint32_t by = now > told ? now - told : told - now;

	return !now != !told || by > told / 4u;
}

static void update_claim(struct unic_kio_node *n, uint32_t i)
{
	struct unic_kio_account *a = &n->account[i];
	uint32_t now = claim_of(n, a);
	struct unic_ctl_claim r = { .entries = unic_to_le32(now) };

	if (a->asked || n->now_ns < a->claim_ns || !is_news(now, a->claimed))
		return;
	a->asked =
		unic_kio_ask(n, UNIC_CTL_CLAIM, &r, 0, UNIC_KIO_OF_ACCOUNT, i);
	if (!a->asked)
		return;
	a->claimed = now;
	a->claim_ns = n->now_ns + CLAIM_NS;
}

/* --------------------------------------------------- the window of connections */

/*
 * Where I/Os go by token, they hold no entries. A process that gets a notice gives up
 * buffers, because entries are short, and the service does its part all the same: notices
 * to any process halve the window, UNIC_KIO_GROW_NS without one let it grow by one.
 */
static uint64_t adjust_window(struct unic_kio_node *n)
{
	uint32_t now = unic_host_notices(n->config.host), w = n->window, i;

	if (now != n->notices && n->now_ns >= n->window_ns + SHRINK_NS) {
		w = w > 1 ? w / 2 : 1;
		n->notices = now;
	} else if (now == n->notices && w < UNIC_KIO_WINDOW &&
		   n->now_ns >= n->window_ns + UNIC_KIO_GROW_NS) {
		w++;
	} else {
		goto out;
	}
	n->window = w;
	n->window_ns = n->now_ns;
	for (i = 0; i < UNIC_KIO_OUT; i++)
		unic_kio_window(&n->client[i], w);
out:
	return w < UNIC_KIO_WINDOW ? n->now_ns + UNIC_KIO_GROW_NS : UINT64_MAX;
}

/* --------------------------------------------------------------------- poll */

static void grow_window(struct unic_kio_node *n, struct unic_kio_account *a)
{
	if (a->window == UNIC_KIO_WINDOW ||
	    n->now_ns < a->window_ns + UNIC_KIO_GROW_NS)
		return;
	a->window++;
	a->window_ns = n->now_ns;
	n->window_opens = true;
}

static void poll_account(struct unic_kio_node *n, uint32_t i)
{
	struct unic_kio_account *a = &n->account[i];

	grow_window(n, a);
	if (!i) /* the service's own slot claims nothing */
		return;
	if (!a->busy && n->now_ns >= a->used_ns + IDLE_NS) {
		if (a->state == ACCOUNT_OPENING)
			return; /* its answer is on the way */
		close_account(n, a);
		a->state = ACCOUNT_FREE;
		return;
	}
	if (a->state == ACCOUNT_KNOWN && n->now_ns >= a->retry_ns)
		try_open(n, i);
	else if (is_payer(a))
		update_claim(n, i);
}

uint64_t unic_kio_account_poll(struct unic_kio_node *n)
{
	uint64_t next = adjust_window(n);
	uint32_t i;

	if (!n->rdma)
		return next;
	for (i = 0; i < UNIC_KIO_ACCOUNTS; i++) {
		struct unic_kio_account *a = &n->account[i];

		if (a->state == ACCOUNT_FREE)
			continue;
		poll_account(n, i);
		if ((i || a->window < UNIC_KIO_WINDOW) &&
		    next > n->now_ns + REST_NS)
			next = n->now_ns + REST_NS;
	}
	return next;
}
