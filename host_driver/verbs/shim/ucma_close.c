/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_close.c - see ucma_close.h. */
#include "ucma_close.h"

#include <linux/close_range.h>
#include <pthread.h>

#include "ucma_conn.h"

uint32_t unic_ucma_end_id(struct unic_ucma_id *id)
{
	uint32_t reported;

	unic_ucma_release(id);
	reported = id->reported;
	unic_ucma_id_free(id);
	return reported;
}

static void end_ids(const struct unic_ucma_chan *chan)
{
	struct unic_ucma_id *id;
	uint32_t handle;

	for (handle = 1; handle <= UNIC_UCMA_IDS; handle++) {
		if (unic_ucma_id_get(chan, handle, &id))
			continue;
		if (unic_ucma_id_end(id))
			unic_ucma_end_id(id);
		else
			unic_ucma_id_put(id);
	}
}

void unic_ucma_closing(int fd)
{
	struct unic_ucma_chan *c = unic_ucma_chan_leave(fd);
	int cancel;

	if (!c)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	end_ids(c);
	unic_ucma_chan_put(c);
	pthread_setcancelstate(cancel, NULL);
}

int unic_ucma_close_range(unsigned int first, unsigned int last, int flags,
			  int (*really)(unsigned int first, unsigned int last,
					int flags))
{
	int fd, err = 0;

	if (first > last || flags & CLOSE_RANGE_CLOEXEC)
		return really(first, last, flags);
	for (fd = unic_ucma_chan_in(first, last); fd >= 0;
	     fd = unic_ucma_chan_in((unsigned int)fd + 1, last))
		unic_ucma_closing(fd);
	while (!err && first <= last) {
		fd = unic_ucma_chan_other(first, last);
		if (fd < 0)
			return really(first, last, flags);
		if ((unsigned int)fd > first)
			err = really(first, (unsigned int)fd - 1, flags);
		first = (unsigned int)fd + 1;
	}
	return err;
}
