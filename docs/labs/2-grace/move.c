/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * move.c - copies a buffer of 300 pages to another one by RDMA, again and again, and
 * compares the two. Each copy is one WRITE.
 *
 *   move DRIVER   until SIGTERM
 */
#include "kit.h"

#define BYTES (300 * (size_t)PAGE)

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

static void move(void)
{
	unsigned int status = kit_write(&pair, from, source, to, sink, BYTES);

	if (status == UNIC_WC_SUCCESS)
		return;
	printf("copy %u was cut: %s\n", moved + 1, unic_wc_status_str(status));
	exit(1);
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
