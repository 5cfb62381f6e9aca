/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* patience.c - see patience.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "patience.h"
#include "wait.h"

#define NAP_MS 20 /* between two attempts */
#define MS_NS  1000000ull

const char *unic_patience_text(void)
{
	const char *text = getenv("UNIC_WAIT");

	return text ? text : "";
}

int unic_patience_read(uint32_t *ms)
{
	const char *text = unic_patience_text();
	uint32_t s = 0;

	*ms = 0;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		s = s * 10 + (uint32_t)(*text - '0');
		if (s > UNIC_PATIENCE_MAX_S)
			return -EINVAL;
	}
	*ms = s * 1000u;
	return 0;
}

uint64_t unic_patience_end(uint32_t ms)
{
	return unic_now_ns() + ms * MS_NS;
}

/* True if @err is that of a program that is not there yet, or whose NIC is not. */
static bool is_starting(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ENODEV ||
	       err == -ENOTCONN;
}

bool unic_patience_again(int err, uint64_t end, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return is_starting(err) && unic_now_ns() < end &&
	       poll(&pfd, 1, NAP_MS) <= 0;
}
