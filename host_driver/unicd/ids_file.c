/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ids_file.c - see ids_file.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ids_file.h"
#include "ids.h"
#include "unicd_os.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id" /* 32 hex digits, and - */

/* Without a number of the boot the directory, which most systems empty, decides. */
static void read_boot(uint64_t boot[2])
{
	char text[64] = { 0 };
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1), i;
	uint32_t digits = 0;

	if (fd >= 0)
		close(fd);
	boot[0] = boot[1] = 0;
	for (i = 0; i < n && digits < 32; i++) {
		char digit[2] = { text[i] };
		uint64_t v = strtoull(digit, NULL, 16);

		if (text[i] == '-')
			continue;
		boot[digits / 16] = boot[digits / 16] << 4 | v;
		digits++;
	}
}

static void *map_ids(const struct unic_os *os)
{
	int fd = openat(os->bus_dir, "unicd.ids",
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? errno
			 : posix_fallocate(fd, 0, sizeof(struct unic_ids));
	void *p = MAP_FAILED;

	if (!err) {
		p = mmap(NULL, sizeof(struct unic_ids), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
		err = p == MAP_FAILED ? errno : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!err)
		return p;
	unicd_tell(os, "%s/unicd.ids: %s; ids of objects begin anew",
		   os->opt.bus, strerror(err));
	return NULL;
}

struct unic_ids *unicd_ids_open(struct unic_os *os)
{
	struct unic_ids *ids = os->bus_dir < 0 ? NULL : map_ids(os);
	uint64_t boot[2];

	if (!ids)
		ids = calloc(1, sizeof(*ids));
	if (!ids)
		return NULL;
	read_boot(boot);
	unic_ids_init(ids, os, boot);
	return ids;
}

void unicd_ids_add(struct unic_os *os)
{
	struct unic_ids *other = malloc(sizeof(*other));
	int fd = os->bus_dir < 0 ? -1
				 : openat(os->bus_dir, "unicd.ids",
					  O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && other &&
	    read(fd, other, sizeof(*other)) == (ssize_t)sizeof(*other))
		unic_ids_merge(os->d->ids, other);
	if (fd >= 0)
		close(fd);
	free(other);
}
