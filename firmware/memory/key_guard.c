/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* key_guard.c - see key_guard.h. */
#include <string.h>

#include "memory/memory.h"

void unic_key_guard_init(struct unic_memory *nic)
{
	memset(&nic->key_guards, 0, sizeof(nic->key_guards));
}

static bool is_guard_window_over(const struct unic_memory *nic,
				 const struct unic_key_guard_place *p)
{
	return nic->now_ns >= p->until_ns;
}

/* Returns the place of @ipv4, or the one it would get: a place whose window is
 * over, or the common one. */
static struct unic_key_guard_place *
find_guard_place(struct unic_memory *nic, uint32_t ipv4, uint32_t proc)
{
	struct unic_key_guard_place *p = nic->key_guards.of[proc].peer,
				    *found = NULL;
	uint32_t i;

	if (ipv4 == UNIC_KEY_GUARD_LOCAL)
		return &nic->key_guards.of[proc].local;
	for (i = 0; i < UNIC_KEY_GUARD_PEERS; i++) {
		if (is_guard_window_over(nic, &p[i]))
			found = found ? found : &p[i];
		else if (p[i].ipv4 == ipv4)
			return &p[i];
	}
	return found ? found : &nic->key_guards.of[proc].rest;
}

void unic_key_guard_wrong(struct unic_memory *nic, uint32_t ipv4, uint32_t proc)
{
	struct unic_key_guard_place *p = find_guard_place(nic, ipv4, proc);

	if (is_guard_window_over(nic, p)) {
		p->until_ns = nic->now_ns + UNIC_KEY_GUARD_NS;
		p->wrong = 0;
		p->ipv4 = ipv4;
	}
	/* many queue pairs in one window: the excess prolongs it */
	if (++p->wrong > UNIC_KEY_GUARD_FREE)
		p->until_ns += UNIC_KEY_GUARD_NS / UNIC_KEY_GUARD_FREE;
}

bool unic_key_guard_held(struct unic_memory *nic, uint32_t ipv4, uint32_t proc)
{
	const struct unic_key_guard_place *p =
		find_guard_place(nic, ipv4, proc);

	if (p->wrong < UNIC_KEY_GUARD_FREE || is_guard_window_over(nic, p))
		return false;
	UNIC_COUNT(nic, guess_held);
	return true;
}
