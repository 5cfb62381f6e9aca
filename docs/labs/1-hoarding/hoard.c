/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hoard.c - a program that fears to be without: it registers all of its buffers when it
 * starts, and keeps them. It uses one after the other.
 *
 *   hoard DRIVER   until SIGTERM
 */
#include <unistd.h>

#include "kit.h"

#define BUFFERS	     15u
#define BUFFER_PAGES 64u
#define BUFFER_BYTES (BUFFER_PAGES * (size_t)PAGE)

struct buffer {
	char *mem;
	struct unic_mr *mr; /* NULL: not registered */
};

static struct buffer buffer[BUFFERS];
static struct pair pair;
static unsigned int rounds, lost;

/* Registers @b, and waits for a place in the table of the NIC. */
static void take(struct buffer *b)
{
	struct unic_mr_attr attr = { .addr = b->mem,
				     .length = BUFFER_BYTES,
				     .rights = UNIC_MR_LOCAL_WRITE |
					       UNIC_MR_REMOTE_WRITE,
				     .flags = UNIC_MR_WAIT,
				     .user = b };

	must(unic_reg_mr(pd, &attr, &b->mr), "register");
}

static void give(struct buffer *b)
{
	must(unic_dereg_mr(b->mr), "deregister");
	b->mr = NULL;
}

/* The NIC says what becomes of the regions. */
static void hear(void)
{
	struct unic_event ev;

	while (!unic_get_event(ctx, &ev)) {
		struct buffer *b = ev.mr ? ev.mr->user : NULL;

		if (b && b->mr == ev.mr && ev.type == UNIC_EV_EVICTED) {
			lost++;
			give(b);
		}
		unic_ack_event(&ev);
	}
}

/* The first bytes of @b go to its last ones, by RDMA. */
static void use(struct buffer *b)
{
	char *last = b->mem + BUFFER_BYTES - 64;

	if (!b->mr)
		take(b);
	memset(b->mem, (int)++rounds, 64);
	if (kit_write(&pair, b->mr, b->mem, b->mr, last, 64)) {
		kit_pair(&pair); /* it was taken in the middle */
		return;
	}
	if (memcmp(b->mem, last, 64)) {
		printf("wrong bytes in round %u\n", rounds);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned int i;

	(void)argc;
	kit_open(argv);
	kit_pair(&pair);
	for (i = 0; i < BUFFERS; i++) {
		buffer[i].mem = kit_alloc(BUFFER_BYTES);
		take(&buffer[i]);
	}
	printf("holds %u buffers\n", BUFFERS);
	for (i = 0; !stop; i++) {
		hear();
		use(&buffer[i % BUFFERS]);
		if (i % BUFFERS == BUFFERS - 1)
			printf("used each of them\n");
		usleep(1000);
	}
	printf("%u rounds, lost %u\n", rounds, lost);
	unic_close(ctx);
	return 0;
}
