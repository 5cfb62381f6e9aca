// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_os.c - the services of unic_os.h and kio_os.h in a kernel. */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "kio_os.h"
#include "unic_self_client.h"
#include "unic_call.h"
#include "unic_dev.h"
#include "unic_file.h"
#include "unic_kclient.h"
#include "unic_slot.h"
#include "unic_trace.h"
#include "unic_vector.h"
#include "unic_wake.h"

static bool audit;
module_param(audit, bool, 0644);
MODULE_PARM_DESC(audit, "log every request of every process");

uint64_t unic_os_now_ns(struct unic_os *os)
{
	return ktime_get_ns();
}

void *unic_os_alloc(struct unic_os *os, size_t bytes)
{
	/* GFP_NOIO: the disk that would be written to may be behind this NIC. A
	 * small allocation fails rather than start the OOM killer, because the
	 * lock is held. */
	if (bytes > PAGE_SIZE)
		return kvzalloc(bytes, GFP_NOIO);
	return kzalloc(bytes, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
}

void unic_os_free(struct unic_os *os, void *p)
{
	kvfree(p);
}

void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list ap;

	if (level == UNIC_LOG_AUDIT && !audit)
		return;
	va_start(ap, fmt);
	vaf.va = &ap;
	if (level == UNIC_LOG_ERROR)
		dev_err_ratelimited(&os->dev, "%pV\n", &vaf);
	else if (level == UNIC_LOG_AUDIT)
		dev_info(&os->dev, "audit: %pV\n", &vaf);
	else
		dev_info_ratelimited(&os->dev, "%pV\n", &vaf);
	va_end(ap);
}

void unic_os_random(struct unic_os *os, void *buf, size_t bytes)
{
	get_random_bytes(buf, bytes);
}

void unic_os_ring_nic(struct unic_os *os)
{
	unic_vector_ring(os, 0);
}

void unic_os_ring_slot(struct unic_os *os, uint32_t slot)
{
	unic_vector_ring(os, 1 + slot);
}

void unic_os_ring_proc(struct unic_os *os, uint32_t slot)
{
	unic_slot_wake(os, slot);
}

void unic_os_upcall(struct unic_os *os, uint32_t slot)
{
	trace_unic_upcall(os, slot);
	if (os->slot[slot].kernel)
		unic_dev_kick(os);
	else if (os->slot[slot].file)
		unic_wake_upcall(os->slot[slot].file);
}

void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot)
{
	trace_unic_reply(os, client->pid, msg, bytes);
	if (client == &os->ask.client) {
		unic_self_client_reply(&os->ask, msg, bytes);
		return;
	}
	if (client->kernel) {
		if (hello_slot != UNIC_OS_NO_SLOT)
			unic_slot_take_kernel(os, hello_slot);
		unic_kclient_reply(os, client, msg, bytes);
		return;
	}
	if (hello_slot != UNIC_OS_NO_SLOT) {
		unic_slot_take(os, hello_slot, unic_file_of(client));
		unic_call_grow(unic_file_of(client));
	}
	unic_call_reply(unic_file_of(client), msg, bytes);
}
