/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* channel.c - see channel.h. Secret: the format of the kernel's requests. */
#include "channel.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#define CREATE_COMP_CHANNEL 17 /* IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL */

/* As struct ib_uverbs_cmd_hdr and ib_uverbs_create_comp_channel of the kernel. */
struct request {
	uint32_t command;
	uint16_t in_words, out_words;
	uint64_t response; /* where the answer goes: 4 bytes, the descriptor */
};

#define DEVICES 64

/* Read without a lock: write() may be called in a signal handler. */
static struct {
	pthread_mutex_t lock; /* of changes */
	int n;		      /* places that were ever used; atomic */
	struct {
		int fd;			   /* + 1; 0: free; atomic */
		int (*open_channel)(void); /* atomic */
	} device[DEVICES];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The place of @fd, or -1. */
static int find(int fd)
{
	int i = __atomic_load_n(&all.n, __ATOMIC_ACQUIRE);

	while (i-- > 0)
		if (__atomic_load_n(&all.device[i].fd, __ATOMIC_ACQUIRE) ==
		    fd + 1)
			break;
	return i;
}

static void add(int fd, int (*open_channel)(void))
{
	int i = find(-1);

	if (i < 0 && all.n < DEVICES)
		i = all.n;
	if (i < 0)
		return;
	__atomic_store_n(&all.device[i].open_channel, open_channel,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&all.device[i].fd, fd + 1, __ATOMIC_RELEASE);
	if (i == all.n)
		__atomic_store_n(&all.n, i + 1, __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) int
unic_shim_device(int fd, int (*open_channel)(void))
{
	int i;

	pthread_mutex_lock(&all.lock);
	i = find(fd);
	if (i >= 0)
		__atomic_store_n(&all.device[i].fd, 0, __ATOMIC_RELEASE);
	if (open_channel)
		add(fd, open_channel);
	i = open_channel ? find(fd) : 0;
	pthread_mutex_unlock(&all.lock);
	return i < 0 ? -EMFILE : 0;
}

bool unic_shim_owns(int fd)
{
	return fd >= 0 && find(fd) >= 0;
}

ssize_t unic_shim_request(int fd, const void *request, size_t bytes)
{
	const struct request *req = request;
	int i = find(fd);
	int channel;

	if (i < 0 || bytes != sizeof(*req) ||
	    req->command != CREATE_COMP_CHANNEL || !req->response) {
		errno = ENOSYS;
		return -1;
	}
	channel = __atomic_load_n(&all.device[i].open_channel,
				  __ATOMIC_ACQUIRE)();
	if (channel < 0) {
		errno = -channel;
		return -1;
	}
	*(uint32_t *)(uintptr_t)req->response = (uint32_t)channel;
	return (ssize_t)bytes;
}
