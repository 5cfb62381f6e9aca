/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run_tree.c - see run_tree.h. */
#define _GNU_SOURCE
#include "run_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "unic_mbox.h"

#define GIDS 4

struct tree {
	const char *top;
	int failed;
};

static void make_parents(char *path)
{
	char *slash = path;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

/* Write one line to the file at @path of the tree, which ends at the first '='. */
__attribute__((format(printf, 2, 3))) static void put(struct tree *t,
						      const char *fmt, ...)
{
	char line[1024], path[1024 + RUN_PATH];
	char *equals;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	equals = strchr(line, '=');
	*equals = '\0';
	snprintf(path, sizeof(path), "%s/class/%s", t->top, line);
	make_parents(path);
	f = fopen(path, "we");
	if (!f || fprintf(f, "%s\n", equals + 1) < 0 || fclose(f)) {
		if (!t->failed)
			fprintf(stderr, "unic-run: %s: %s\n", path,
				strerror(errno));
		t->failed = -1;
	}
}

static void put_gids(struct tree *t, const char *name, uint32_t ipv4)
{
	unsigned int i;

	put(t,
	    "infiniband/%s/ports/1/gids/0=0000:0000:0000:0000:0000:ffff:"
	    "%04x:%04x",
	    name, ipv4 >> 16, ipv4 & 0xffff);
	for (i = 1; i < GIDS; i++)
		put(t,
		    "infiniband/%s/ports/1/gids/%u=0000:0000:0000:0000:"
		    "0000:0000:0000:0000",
		    name, i);
	for (i = 0; i < GIDS; i++)
		put(t, "infiniband/%s/ports/1/gid_attrs/types/%u=RoCE v2", name,
		    i);
}

static void put_device(struct tree *t, const struct run_device *dev,
		       unsigned int number)
{
	const char *guids[] = { "node_guid", "sys_image_guid" };
	const char *name = dev->name;
	unsigned int i;

	put(t, "infiniband_verbs/uverbs%u/ibdev=%s", number, name);
	put(t, "infiniband_verbs/uverbs%u/abi_version=1", number);
	/* the device number of /dev/null, which is opened for it */
	put(t, "infiniband_verbs/uverbs%u/dev=1:3", number);
	/* EUI-64 of an address that is administered locally */
	for (i = 0; i < 2; i++)
		put(t, "infiniband/%s/%s=0275:6eff:fe%02x:%04x", name, guids[i],
		    dev->ipv4 >> 16 & 0xff, dev->ipv4 & 0xffff);
	put(t, "infiniband/%s/node_type=1: CA", name);
	put(t, "infiniband/%s/node_desc=unic", name);
	put(t, "infiniband/%s/hca_type=unic", name);
	put(t, "infiniband/%s/board_id=unic", name);
	put(t, "infiniband/%s/fw_ver=%u.%u.0", name, UNIC_ABI_MAJOR,
	    UNIC_ABI_MINOR);
	put(t, "infiniband/%s/ports/1/state=4: ACTIVE", name);
	put(t, "infiniband/%s/ports/1/link_layer=Ethernet", name);
	put(t, "infiniband/%s/ports/1/pkeys/0=0xffff", name);
	put_gids(t, name, dev->ipv4);
	put(t, "infiniband/%s/unic_where=%s", name, dev->where);
}

int run_tree_make(const char *dir, const struct run_device *dev, unsigned int n,
		  char out[RUN_PATH])
{
	struct tree t = { .top = out };
	unsigned int i;

	snprintf(out, RUN_PATH, "%.200s/sys", dir);
	put(&t, "infiniband_verbs/abi_version=6");
	put(&t, "misc/rdma_cm/abi_version=4");
	for (i = 0; i < n; i++)
		put_device(&t, &dev[i], i);
	return t.failed;
}
