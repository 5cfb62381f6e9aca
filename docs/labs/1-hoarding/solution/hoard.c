/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hoard.c - registers all of its buffers when it starts, and gives back what is asked
 * for at once: no buffer is in use when the program listens. From then on it holds no
 * more buffers than that left it. Before it registers a buffer again it gives up the
 * one that it needs last, so it asks nobody for anything. It never sleeps in a
 * registration: if a neighbour is first it listens again, since it may be the one that
 * the neighbour waits for.
 *
 *   hoard DRIVER   until SIGTERM
 */
#include <errno.h>
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
static unsigned int held, most = BUFFERS;

/* No more than it has now. */
static void be_content(void)
{
	most = held ? held : 1;
}

/* Registers @b if the table of the NIC has a place. */
static void take(struct buffer *b)
{
	struct unic_mr_attr attr = { .addr = b->mem,
				     .length = BUFFER_BYTES,
				     .rights = UNIC_MR_LOCAL_WRITE |
					       UNIC_MR_REMOTE_WRITE,
				     .user = b };
	int err = unic_reg_mr(pd, &attr, &b->mr);

	if (err == -ENOMEM) { /* a neighbour was first */
		be_content();
		return;
	}
	must(err, "register");
	held++;
}

static void give(struct buffer *b)
{
	must(unic_dereg_mr(b->mr), "deregister");
	b->mr = NULL;
	held--;
}

/* Makes room for @next: the buffers are used in a circle, so the one that was used last
 * is needed last. */
static void make_room(unsigned int next)
{
	unsigned int i;

	for (i = BUFFERS - 1; held >= most && i; i--)
		if (buffer[(next + i) % BUFFERS].mr)
			give(&buffer[(next + i) % BUFFERS]);
}

/* The NIC says what becomes of the regions. */
static void hear(void)
{
	struct unic_event ev;

	while (!unic_get_event(ctx, &ev)) {
		struct buffer *b = ev.mr ? ev.mr->user : NULL;

		if (b && b->mr == ev.mr &&
		    (ev.type == UNIC_EV_EVICTED || ev.type == UNIC_EV_NOTICE)) {
			lost += ev.type == UNIC_EV_EVICTED;
			give(b);
			be_content();
		}
		unic_ack_event(&ev);
	}
}

/* The first bytes of @b go to its last ones, by RDMA. */
static void use(struct buffer *b)
{
	char *last = b->mem + BUFFER_BYTES - 64;

	while (!b->mr && !stop) {
		make_room((unsigned int)(b - buffer));
		take(b);
		hear();
	}
	if (!b->mr)
		return;
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
