/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * move.c - copies a buffer of 300 pages to another one by RDMA, again and again, and
 * compares the two. A copy is many WRITEs, each of which takes much less than the grace:
 * between two of them the program hears what the NIC asks for, gives it, and waits until
 * it may have it again. A piece that was cut all the same is written once more.
 *
 *   move DRIVER   until SIGTERM
 */
#include "kit.h"

#define BYTES	 (300 * (size_t)PAGE)
#define PIECE	 (4 * (size_t)PAGE)
#define PIECE_US 300 /* more than a piece takes */

static char *source, *sink;
static struct unic_mr *from, *to;
static struct pair pair;
static unsigned int moved;

static struct unic_mr *enter(void *mem)
{
	struct unic_mr_attr attr = { .addr = mem,
				     .length = BYTES,
				     .rights = UNIC_MR_LOCAL_WRITE |
					       UNIC_MR_REMOTE_WRITE,
				     .flags = UNIC_MR_WAIT };
	struct unic_mr *mr;

	must(unic_reg_mr(pd, &attr, &mr), "register");
	return mr;
}

static void leave(struct unic_mr **mr)
{
	must(unic_dereg_mr(*mr), "deregister");
	*mr = NULL;
}

/* What is asked for is given: nothing is under way. */
static void hear(void)
{
	struct unic_event ev;

	while (!unic_get_event(ctx, &ev)) {
		bool gone = ev.type == UNIC_EV_NOTICE ||
			    ev.type == UNIC_EV_EVICTED;

		if (gone && from && ev.mr == from)
			leave(&from);
		else if (gone && to && ev.mr == to)
			leave(&to);
		unic_ack_event(&ev);
	}
}

/* Both regions are there, and stay for long enough. */
static bool ready(void)
{
	hear();
	if (!from)
		from = enter(source);
	else if (!to)
		to = enter(sink);
	else
		return unic_mr_usable(from, PIECE_US) &&
		       unic_mr_usable(to, PIECE_US);
	return false;
}

static void move(void)
{
	unsigned int status;
	size_t done = 0;

	while (done < BYTES) {
		if (!ready())
			continue;
		status = kit_write(&pair, from, source + done, to, sink + done,
				   PIECE);
		if (status == UNIC_WC_SUCCESS)
			done += PIECE;
		else
			kit_pair(&pair); /* and again */
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	kit_open(argv);
	kit_pair(&pair);
	source = kit_alloc(BYTES);
	sink = kit_alloc(BYTES);
	from = enter(source);
	to = enter(sink);
	printf("moves\n");
	while (!stop) {
		memset(source, (int)moved + 1, BYTES);
		move();
		if (memcmp(source, sink, BYTES)) {
			printf("copy %u is wrong\n", moved + 1);
			return 1;
		}
		moved++;
	}
	printf("%u copies\n", moved);
	unic_close(ctx);
	return 0;
}
