/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* own_data.c - see own_data.h. Secret: by which addresses those libraries are known. */
#define _GNU_SOURCE
#include "own_data.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "priv.h"

/* In the object that libunic is in. */
static const char here;

/* Calls of libunic that are made while memory moves: whoever has them runs then, the C library or
 * what is preloaded before it. */
static void *const calls[] = {
	(void *)close,
	(void *)madvise,
	(void *)mmap,
	(void *)mprotect,
	(void *)mremap,
	(void *)munmap,
	(void *)nanosleep,
	(void *)open,
	(void *)pread,
	(void *)pthread_self,
	(void *)pwrite,
	(void *)read,
	(void *)sigaction,
	(void *)snprintf,
	(void *)syscall,
	(void *)strncpy,
	(void *)clock_gettime,
	(void *)pthread_sigmask,
	(void *)pthread_mutex_lock,
};

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

/* The loader is where the kernel put it, or where a program is that was started by its name. */
static bool is_loader(const struct dl_phdr_info *info)
{
	uintptr_t at = getauxval(AT_BASE);

	return at ? info->dlpi_addr == at
		  : holds(info, (void *)(uintptr_t)_r_debug.r_ldbase);
}

/* The program has the address of a call of its own where it is not position-independent: what it
 * has is not for that the C library's. */
static bool is_own_object(const struct dl_phdr_info *info)
{
	size_t i;

	if (holds(info, &here))
		return true;
	if (!*info->dlpi_name)
		return false;
	if (is_loader(info) || holds(info, gnu_get_libc_version()))
		return true;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (holds(info, calls[i]))
			return true;
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

static void add_tls(struct unic_own_data *own, const struct dl_phdr_info *info)
{
	unsigned int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_TLS)
			own->tls_bytes += ph->p_memsz + ph->p_align;
	}
}

/* Add what @info has that can be written. The program itself has no name. */
static int add_object(struct dl_phdr_info *info, size_t size, void *own)
{
	bool program = !*info->dlpi_name;
	unsigned int i;

	(void)size;
	add_tls(own, info);
	if (!is_own_object(info))
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
	own->tls_bytes = 0;
	dl_iterate_phdr(add_object, own);
}

/* 2: malloc() of the process is in @info, and so is the C library; 1: that is elsewhere. */
static int heap_in(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return holds(info, (void *)malloc)
		       ? 1 + holds(info, gnu_get_libc_version())
		       : 0;
}

bool unic_own_data_has_heap(void)
{
	return dl_iterate_phdr(heap_in, NULL) == 2;
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
