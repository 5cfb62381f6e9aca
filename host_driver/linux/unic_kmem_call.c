// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_kmem_call.c - requests of a handle to the core: see unic_kmem_priv.h. */
#include <linux/jiffies.h>

#include "unic_kmem_call.h"
#include "unic_kmem_link.h"

int unic_kmem_send(struct unic_kmem *k, struct unic_kmem_ask *ask, u32 op,
		   void *rec, u32 tail)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(tail) };
	unsigned int noio = unic_lock(k->os);
	bool gone = k->over || k->leaving || k->closed;

	init_completion(&ask->done);
	ask->tail_bytes = 0;
	if (!gone) {
		ask->seq = ++k->seq;
		hdr.seq = unic_to_le32(ask->seq);
		memcpy(rec, &hdr, sizeof(hdr));
		list_add_tail(&ask->node, &k->asks);
		unic_host_request(k->os->host, &k->core, rec,
				  UNIC_CTL_BYTES + tail);
		unic_dev_kick(k->os);
	}
	unic_unlock(k->os, noio);
	return gone ? -ENODEV : 0;
}

static void end_ask(struct unic_kmem_ask *ask, int status)
{
	ask->status = status;
	list_del_init(&ask->node);
	complete(&ask->done);
}

void unic_kmem_end_asks(struct unic_kmem *k, int status)
{
	struct unic_kmem_ask *ask, *next;

	list_for_each_entry_safe(ask, next, &k->asks, node)
		end_ask(ask, status);
}

void unic_kmem_reply(struct unic_kclient *kc, const void *msg, u32 bytes)
{
	struct unic_kmem *k = container_of(kc, struct unic_kmem, kc);
	struct unic_kmem_ask *ask;
	struct unic_ctl_hdr hdr;

	memcpy(&hdr, msg, sizeof(hdr));
	list_for_each_entry(ask, &k->asks, node) {
		if (ask->seq != unic_from_le32(hdr.seq))
			continue;
		memcpy(ask->rec, msg, UNIC_CTL_BYTES);
		ask->tail_bytes =
			min_t(u32, bytes - UNIC_CTL_BYTES, sizeof(ask->tail));
		memcpy(ask->tail, msg + UNIC_CTL_BYTES, ask->tail_bytes);
		end_ask(ask, unic_from_le16(hdr.status));
		return;
	}
}

u32 unic_kmem_quiet_ms(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);
	u32 ms = unic_kclient_quiet_ms(k->os);

	unic_unlock(k->os, noio);
	return ms;
}

int unic_kmem_wait(struct unic_kmem *k, struct unic_kmem_ask *ask)
{
	u32 ms = unic_kmem_quiet_ms(k);
	unsigned int noio;

	if (wait_for_completion_timeout(&ask->done, msecs_to_jiffies(ms)))
		return ask->status;
	noio = unic_lock(k->os);
	if (list_empty(&ask->node)) { /* answered just now */
		unic_unlock(k->os, noio);
		return ask->status;
	}
	end_ask(ask, -ETIMEDOUT);
	if (!k->over && !k->leaving && !k->closing)
		unic_kmem_restart(k);
	unic_unlock(k->os, noio);
	return -ETIMEDOUT;
}

int unic_kmem_call(struct unic_kmem *k, struct unic_kmem_ask *ask, u32 op,
		   void *rec, u32 tail)
{
	int err = unic_kmem_send(k, ask, op, rec, tail);

	return err ? err : unic_kmem_wait(k, ask);
}

int unic_kmem_errno(int status)
{
	switch (status) {
	case UNIC_ST_TIMEOUT:
		return -ETIME;
	case UNIC_ST_CANCELLED:
		return -EINTR;
	case UNIC_ST_QUOTA:
		return -EDQUOT;
	case UNIC_ST_TOO_LARGE:
		return -E2BIG;
	case UNIC_ST_TLB_FULL:
	case UNIC_ST_MR_FULL:
	case UNIC_CTL_ST_NO_MEMORY:
		return -ENOMEM;
	case UNIC_CTL_ST_IN_USE:
		return -EADDRINUSE;
	case UNIC_CTL_ST_NO_SLOT:
	case UNIC_CTL_ST_NO_NIC:
	case UNIC_CTL_ST_TOO_MANY:
	case UNIC_ST_WAIT_FULL:
		return -EAGAIN;
	case UNIC_CTL_ST_RESET:
		return -ENOTCONN;
	case UNIC_CTL_ST_UNSUPPORTED:
		return -EOPNOTSUPP;
	default:
		return status > 0 ? -EIO : status;
	}
}
