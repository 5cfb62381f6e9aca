/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fork.c - the contexts of the process, and what a child of fork() has of them.
 *
 * Memory of the slot is shared with the NIC, so a child does not inherit it. It
 * gets copies of its own, at the same addresses, made while fork() begins; the
 * attachment itself stays the parent's.
 *
 * Secret: the copies, between the fork and the first instruction of the child
 * that is not ours. Neither vfork() nor posix_spawn() comes here: their child
 * runs in the parent's memory, and then is another program.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "context.h"
#include "event.h"
#include "fork.h"
#include "move.h"
#include "queue.h"

#define MAPS 256 /* of the slot in a process, to begin with */

/* One context's frames as they were: maps[i] follows maps[i - 1] in @copy. */
struct unic_kept {
	struct unic_slot_map *map;
	int maps;
	uint8_t *copy;
	size_t bytes;
};

static struct {
	pthread_mutex_t lock; /* of unic_forks_off() */
	struct unic_ctx *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

void unic_forks_off(void)
{
	pthread_mutex_lock(&all.lock);
}

void unic_forks_on(void)
{
	pthread_mutex_unlock(&all.lock);
}

struct unic_ctx *unic_ctx_first(void)
{
	return all.first;
}

void unic_ctx_add(struct unic_ctx *ctx)
{
	unic_forks_off();
	ctx->next = all.first;
	all.first = ctx;
	unic_forks_on();
}

void unic_ctx_del(struct unic_ctx *ctx)
{
	struct unic_ctx **p = &all.first;

	unic_forks_off();
	while (*p != ctx)
		p = &(*p)->next;
	*p = ctx->next;
	unic_forks_on();
}

int unic_fail_forked(void)
{
	return unic_fail(-ENOTCONN, "the context is of the process that forked "
				    "this one; open one here");
}

/* ---------------------------------------------------------- before the fork */

static void free_kept(struct unic_kept *k)
{
	if (!k)
		return;
	if (k->copy)
		munmap(k->copy, k->bytes);
	free(k->map);
	free(k);
}

/* Where all of the slot is in this process. False: that is not known. */
static bool find_maps(const struct unic_slot *slot, struct unic_kept *k)
{
	struct unic_slot_map *map;
	int n, room = MAPS;

	do {
		map = realloc(k->map, (size_t)room * sizeof(*map));
		if (!map)
			return false;
		k->map = map;
		n = unic_slot_maps(slot, NULL, (void *)UINTPTR_MAX, map, room);
		room *= 2;
	} while (n == room / 2);
	k->maps = n;
	return n >= 0;
}

/* Read from the file: the mapping may forbid it. */
static bool copy_maps(const struct unic_slot *slot, struct unic_kept *k)
{
	uint8_t *at;
	int i;

	for (i = 0; i < k->maps; i++)
		k->bytes += k->map[i].bytes;
	at = k->bytes ? mmap(NULL, k->bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		      : NULL;
	if (at == MAP_FAILED)
		return false;
	k->copy = at;
	for (i = 0; i < k->maps; i++) {
		const struct unic_slot_map *m = &k->map[i];

		if (pread(slot->fd, at, m->bytes,
			  unic_slot_at(slot, m->page)) != (ssize_t)m->bytes)
			return false;
		at += m->bytes;
	}
	return true;
}

/* The application may have said otherwise. */
static void set_dontfork(const struct unic_kept *k)
{
	int i;

	for (i = 0; i < k->maps; i++)
		madvise(k->map[i].va, k->map[i].bytes, MADV_DONTFORK);
}

/* NULL: the child will have none of it. */
static struct unic_kept *copy_slot(const struct unic_ctx *ctx)
{
	struct unic_kept *k = calloc(1, sizeof(*k));

	if (!k || !find_maps(&ctx->slot, k)) {
		free_kept(k);
		return NULL;
	}
	set_dontfork(k);
	if (copy_maps(&ctx->slot, k))
		return k;
	free_kept(k);
	return NULL;
}

static void atfork_prepare(void)
{
	struct unic_ctx *ctx;

	unic_forks_off();
	for (ctx = all.first; ctx; ctx = ctx->next) {
		ctx->kept_copy = NULL;
		/* where the driver takes any memory, it is private anyway */
		if (!ctx->forked && ctx->slot.fd >= 0 &&
		    !unic_conn_kernel(ctx->conn))
			ctx->kept_copy = copy_slot(ctx);
	}
}

static void atfork_parent(void)
{
	struct unic_ctx *ctx;

	for (ctx = all.first; ctx; ctx = ctx->next) {
		free_kept(ctx->kept_copy);
		ctx->kept_copy = NULL;
	}
	unic_forks_on();
}

/* -------------------------------------------------------------- in the child */

static bool is_hole(const struct unic_slot_map *m)
{
	unsigned char there;
	size_t at;

	for (at = 0; at < m->bytes; at += UNIC_PAGE)
		if (!mincore(m->va + at, UNIC_PAGE, &there))
			return false;
	return true;
}

static bool reserve_map(const struct unic_slot_map *m, int how)
{
	void *p = mmap(m->va, m->bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);

	if (p != MAP_FAILED && p != m->va)
		munmap(p, m->bytes);
	return p == m->va;
}

/* Not where the parent mapped something else at the last moment. Valgrind does
 * not know what a child does not inherit, nor MAP_FIXED_NOREPLACE. */
static bool place_copy(uint8_t *copy, const struct unic_slot_map *m)
{
	if (!reserve_map(m, MAP_FIXED_NOREPLACE) &&
	    !(is_hole(m) && reserve_map(m, MAP_FIXED)))
		return false;
	if (mremap(copy, m->bytes, m->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   m->va) == MAP_FAILED) {
		munmap(m->va, m->bytes);
		return false;
	}
	return m->prot == (PROT_READ | PROT_WRITE) ||
	       !mprotect(m->va, m->bytes, m->prot);
}

static bool place_all(const struct unic_kept *k)
{
	uint8_t *copy = k->copy;
	bool good = true;
	int i;

	for (i = 0; i < k->maps; i++) {
		good &= place_copy(copy, &k->map[i]);
		copy += k->map[i].bytes;
	}
	return good;
}

/* What is not there must not be unmapped: something else may come there. */
static void take_copies(struct unic_ctx *ctx)
{
	struct unic_kept *k = ctx->kept_copy;

	if (!unic_conn_kernel(ctx->conn) && (!k || !place_all(k)))
		ctx->areas = NULL;
	if (k) {
		if (k->copy) /* what could not be placed */
			munmap(k->copy, k->bytes);
		free(k->map);
		free(k);
	}
	ctx->kept_copy = NULL;
}

/* The child does not inherit pages of the slot; a look at them finds zeroes. */
static void blank_page(const void *p)
{
	if (p &&
	    mmap((void *)p, UNIC_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort(); /* the child would use what it maps there next */
}

/* Threads that the child does not have may have held locks. Those of posting no
 * call of a child takes. */
static void init_locks(struct unic_ctx *ctx)
{
	unsigned int i;

	unic_ctx_init_locks(ctx);
	for (i = 0; i < UNIC_DB_OBJECTS; i++)
		if (ctx->cq[i])
			pthread_mutex_init(&ctx->cq[i]->lock, NULL);
}

/* The attachment is the parent's. What the child could hold of it is let go, so
 * that it ends with the parent. */
static void detach_ctx(struct unic_ctx *ctx)
{
	if (ctx->conn && !ctx->forked)
		take_copies(ctx);
	ctx->forked = true;
	unic_ctx_dead(ctx);
	unic_ctx_close_fds(ctx);
	blank_page(ctx->db);
	blank_page(ctx->np);
	blank_page(ctx->upcalls);
	if (ctx->conn)
		unic_conn_forked(ctx->conn);
	ctx->sock = -1;
	init_locks(ctx);
	unic_event_forked(ctx);
}

static void atfork_child(void)
{
	struct unic_ctx *ctx;

	for (ctx = all.first; ctx; ctx = ctx->next)
		detach_ctx(ctx);
	unic_move_forked();
	unic_forks_on();
}

/* Before anything of the application: what its handlers wait for before a fork
 * has happened when the copies are made, and they are there when its handlers in
 * the child begin. */
static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(atfork_prepare, atfork_parent, atfork_child);
}
