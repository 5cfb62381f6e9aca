// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "unic_self_client.h"

#include <linux/jiffies.h>

#include "unic_dev.h"
#include "unic_trace.h"

#define WAIT_MS 5000 /* longer than the core waits for a NIC */

void unic_self_client_init(struct unic_self_client *ask)
{
	mutex_init(&ask->turn);
	init_completion(&ask->answered);
	ask->client.privileged = true;
	ask->client.slot = UNIC_OS_NO_SLOT;
}

void unic_self_client_reply(struct unic_self_client *ask, const void *msg,
			    u32 bytes)
{
	if (!ask->reply)
		return;
	ask->got = min(bytes, ask->room);
	memcpy(ask->reply, msg, ask->got);
	ask->reply = NULL;
	complete(&ask->answered);
}

static int send_self_request(struct unic_os *os, u32 op, void *rec, void *reply,
			     u32 room)
{
	struct unic_self_client *ask = &os->ask;
	struct unic_ctl_hdr hdr = {
		.op = unic_to_le16(op),
		.seq = unic_to_le32(++ask->seq),
	};
	unsigned int noio;
	int err = 0;

	memcpy(rec, &hdr, sizeof(hdr));
	reinit_completion(&ask->answered);
	noio = unic_lock(os);
	if (os->host) {
		ask->reply = reply;
		ask->room = room;
		trace_unic_request(os, ask->client.pid, rec, UNIC_CTL_BYTES);
		unic_host_request(os->host, &ask->client, rec, UNIC_CTL_BYTES);
	} else {
		err = -ENODEV;
	}
	unic_unlock(os, noio);
	return err;
}

/* Ends the request: a reply that comes later is dropped. */
static void cancel_self_request(struct unic_os *os)
{
	unsigned int noio;

	noio = unic_lock(os);
	os->ask.reply = NULL;
	if (os->host)
		unic_host_client_gone(os->host, &os->ask.client);
	unic_unlock(os, noio);
}

static int status_of(const void *reply, u32 got)
{
	struct unic_ctl_hdr hdr;

	memcpy(&hdr, reply, sizeof(hdr));
	switch (unic_from_le16(hdr.status)) {
	case UNIC_ST_OK:
		return got;
	case UNIC_CTL_ST_NO_NIC:
		return -ENODEV;
	case UNIC_CTL_ST_NONE:
		return -ENODATA;
	default:
		return -EIO;
	}
}

int unic_self_client_ask(struct unic_os *os, u32 op, void *rec, void *reply,
			 u32 room)
{
	struct unic_self_client *ask = &os->ask;
	long left;
	int err;

	if (mutex_lock_interruptible(&ask->turn))
		return -EINTR;
	err = send_self_request(os, op, rec, reply, room);
	if (err)
		goto out;
	unic_dev_kick(os);
	left = wait_for_completion_interruptible_timeout(
		&ask->answered, msecs_to_jiffies(WAIT_MS));
	if (left <= 0) {
		cancel_self_request(os);
		err = left ? -EINTR : -ETIMEDOUT;
	} else {
		err = status_of(reply, ask->got);
	}
out:
	mutex_unlock(&ask->turn);
	return err;
}
