// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_kclient.c - see unic_kclient.h. */
#include "unic_kclient.h"

#define QUIET_MS     5000u  /* until the NIC has answered, beyond its bound B */
#define BOUND_MAX_MS 60000u /* of B, whatever the NIC says */

void unic_kclient_add(struct unic_os *os, struct unic_kclient *kc)
{
	list_add_tail(&kc->node, &os->kclients);
	unic_dev_kick(os);
}

void unic_kclient_del(struct unic_kclient *kc)
{
	list_del_init(&kc->node);
}

void unic_kclient_leave_behind(struct unic_os *os, struct unic_kclient *kc)
{
	list_move(&kc->node, &os->orphans);
}

void unic_kclient_reply(struct unic_os *os, const struct unic_client *client,
			const void *msg, u32 bytes)
{
	struct unic_kclient *kc;

	list_for_each_entry(kc, &os->kclients, node)
		if ((uintptr_t)client - (uintptr_t)kc->at < kc->bytes) {
			kc->reply(kc, msg, bytes);
			return;
		}
}

u32 unic_kclient_quiet_ms(struct unic_os *os)
{
	struct unic_info info;
	u32 bound_us = 0;

	if (os->host &&
	    unic_host_peek(os->host, UNIC_BAR_INFO_OFF, &info, sizeof(info)))
		bound_us = unic_host_bound_us(&info);
	return QUIET_MS + min(bound_us / 1000, BOUND_MAX_MS);
}

u64 unic_kclients_poll(struct unic_os *os)
{
	struct unic_kclient *kc;
	u64 next = U64_MAX, other;

	list_for_each_entry(kc, &os->kclients, node) {
		other = kc->poll(kc);
		next = min(next, other);
	}
	return next;
}

void unic_kclients_leave(struct unic_os *os)
{
	struct unic_kclient *kc;

	list_for_each_entry(kc, &os->kclients, node)
		kc->leave(kc);
}

void unic_kclients_gone(struct unic_os *os)
{
	struct unic_kclient *kc, *next;

	list_for_each_entry_safe(kc, next, &os->kclients, node) {
		list_del_init(&kc->node);
		kc->gone(kc);
	}
}

u64 unic_kclients_pages(struct unic_os *os)
{
	struct unic_kclient *kc;
	u64 pages = 0;

	list_for_each_entry(kc, &os->kclients, node)
		pages += kc->pages(kc);
	list_for_each_entry(kc, &os->orphans, node)
		pages += kc->pages(kc);
	return pages;
}

void unic_kclients_free_orphans(struct unic_os *os)
{
	struct unic_kclient *kc, *next;

	list_for_each_entry_safe(kc, next, &os->orphans, node) {
		list_del_init(&kc->node);
		kc->orphan(kc);
	}
}
