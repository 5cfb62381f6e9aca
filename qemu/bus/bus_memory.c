// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bus_memory.h"
#include "unic_mbox.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int sealed_file(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)bytes) && !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int slot_file(const struct bus_memory *mem, int slot)
{
	char name[32];

	snprintf(name, sizeof(name), "unic-slot-%d", slot);
	return sealed_file(name, mem->slot_bytes);
}

static int make_slots(struct bus_memory *mem)
{
	int s;

	for (s = 0; s < mem->slots; s++) {
		mem->slot_fd[s] =
			mem->joint ? fcntl(mem->bar_fd, F_DUPFD_CLOEXEC, 0)
				   : slot_file(mem, s);
		if (mem->slot_fd[s] < 0)
			return mem->joint ? -errno : mem->slot_fd[s];
	}
	return 0;
}

static int make_bar(struct bus_memory *mem)
{
	mem->bar_fd = sealed_file(
		mem->joint ? "unic-joint" : "unic-mailbox",
		mem->bar_bytes +
			(mem->joint ? (uint64_t)mem->slots * mem->slot_bytes
				    : 0));
	if (mem->bar_fd < 0)
		return mem->bar_fd;
	mem->bar = mmap(NULL, mem->bar_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED, mem->bar_fd, 0);
	return mem->bar == MAP_FAILED ? -errno : 0;
}

int bus_memory_init(struct bus_memory *mem, int slots, uint64_t slot_bytes,
		    uint32_t bar_bytes, bool joint)
{
	int err;

	memset(mem, 0, sizeof(*mem));
	memset(mem->slot_fd, 0xff, sizeof(mem->slot_fd));
	mem->slots = slots;
	mem->slot_bytes = slot_bytes;
	mem->bar_bytes = bar_bytes;
	mem->joint = joint;
	err = make_bar(mem);
	if (!err)
		err = make_slots(mem);
	if (err)
		bus_memory_fini(mem);
	return err;
}

int bus_memory_renew(struct bus_memory *mem, int slot)
{
	int fd = mem->joint ? -EOPNOTSUPP : slot_file(mem, slot), err = 0;

	if (fd < 0)
		return fd;
	/* bus.json names the number: a later open() gets the new file */
	if (dup3(fd, mem->slot_fd[slot], O_CLOEXEC) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* A file that may shrink would be a SIGBUS for whoever maps it. */
static bool is_sealed_file(int fd, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &st) &&
	       (uint64_t)st.st_size == bytes;
}

int bus_memory_take(struct bus_memory *mem, int slot, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (!is_sealed_file(fd, mem->slot_bytes))
		err = -EINVAL;
	else if (dup3(fd, mem->slot_fd[slot], O_CLOEXEC) < 0)
		err = -errno;
	close(fd);
	return err;
}

void bus_memory_nic_gone(struct bus_memory *mem)
{
	struct unic_info *info = (void *)((char *)mem->bar + UNIC_BAR_INFO_OFF);

	*(volatile unic_le32 *)&info->magic = unic_to_le32(0);
}

void bus_memory_fini(struct bus_memory *mem)
{
	int s;

	if (mem->bar && mem->bar != MAP_FAILED)
		munmap(mem->bar, mem->bar_bytes);
	mem->bar = NULL;
	if (mem->bar_fd >= 0)
		close(mem->bar_fd);
	mem->bar_fd = -1;
	for (s = 0; s < (int)UNIC_BUS_SLOTS_MAX; s++) {
		if (mem->slot_fd[s] >= 0)
			close(mem->slot_fd[s]);
		mem->slot_fd[s] = -1;
	}
}
