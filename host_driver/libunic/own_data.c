/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* own_data.c - see own_data.h. Secret: how the loader names those libraries. */
#define _GNU_SOURCE
#include "own_data.h"

#include <link.h>
#include <string.h>

#include "priv.h"

/* In the object that libunic is in. */
static const char here;

static bool has_own_name(const char *path)
{
	static const char *const begins[] = { "libunic", "libc.", "libpthread.",
					      "ld-" };
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static bool holds(const struct dl_phdr_info *info, const void *p)
{
	uintptr_t at = (uintptr_t)p - info->dlpi_addr;
	unsigned int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && at - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

static void add_part(struct unic_own_data *own, uintptr_t from, size_t bytes)
{
	const uintptr_t mask = UNIC_PAGE - 1;

	if (own->n == UNIC_OWN_DATA_MAX)
		return;
	own->part[own->n].from = from & ~mask;
	own->part[own->n++].to = (from + bytes + mask) & ~mask;
}

/* Add what @info has that can be written. The program itself has no name. */
static int add_object(struct dl_phdr_info *info, size_t size, void *own)
{
	bool program = !*info->dlpi_name;
	unsigned int i;

	(void)size;
	if (!holds(info, &here) && (program || !has_own_name(info->dlpi_name)))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_W)
			add_part(own, info->dlpi_addr + ph->p_vaddr,
				 program ? ph->p_filesz : ph->p_memsz);
	}
	return 0;
}

void unic_own_data_find(struct unic_own_data *own)
{
	own->n = 0;
	dl_iterate_phdr(add_object, own);
}

bool unic_own_data_meets(const struct unic_own_data *own, uintptr_t from,
			 uintptr_t to)
{
	unsigned int i;

	for (i = 0; i < own->n; i++)
		if (from < own->part[i].to && own->part[i].from < to)
			return true;
	return false;
}
