/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fork.c - the list of contexts of the process, and their state in a child of fork().
 *
 * The NIC accesses the memory of the slot, so a child does not inherit that memory. The
 * child gets private copies at the same addresses, made while fork() begins; the
 * attachment to the driver stays the parent's.
 *
 * Secret: the copies, which are in place before the first handler or instruction of the
 * application runs in the child, or when the C library misses them there. vfork() and posix_spawn() run no handlers: their child
 * uses the parent's memory until it executes another program.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absent.h"
#include "context.h"
#include "event.h"
#include "fork.h"
#include "move.h"
#include "own_data.h"
#include "park.h"
#include "queue.h"

#define MAPS	 256 /* first guess at the mappings of a slot */
#define TRIES	 20  /* to stop threads while none has a lock of the heap */
#define PROBE_MS 2   /* for which they wait to show that */
#define FORK_MS	 100 /* for which they wait for a fork() */

/*
 * Copies of the frames of one context: those of map[i] follow map[i - 1] in @copy. It and what
 * it points to are in mappings of their own: a child has nothing of the heap that was moved,
 * where contexts may be, before the copies are in place.
 */
struct unic_kept {
	struct unic_kept *next;
	struct unic_ctx *ctx;
	struct unic_slot_map *map;
	size_t map_bytes; /* room */
	int maps;
	uint8_t *copy;
	size_t bytes;
	bool tried;  /* copies are in place, or cannot be */
	bool placed; /* all copies */
};

UNIC_OWN_VARIABLE static struct {
	pthread_mutex_t lock; /* of unic_forks_off() */
	struct unic_ctx *first;
	struct unic_kept *kept; /* while a fork goes on */
	bool held;		/* other threads wait until it is over */
	sigset_t mask;		/* of the thread that forks, before */
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

static void free_apart(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

static void free_kept(struct unic_kept *k)
{
	free_apart(k->copy, k->bytes);
	free_apart(k->map, k->map_bytes);
	free_apart(k, sizeof(*k));
}

/* List all mappings of the slot in this process. False: out of memory, or the list cannot
 * be read. */
static bool find_maps(const struct unic_slot *slot, struct unic_kept *k)
{
	int room = MAPS / 2;

	do {
		room *= 2;
		free_apart(k->map, k->map_bytes);
		k->map_bytes = (size_t)room * sizeof(*k->map);
		k->map = unic_map_apart(k->map_bytes);
		if (!k->map)
			return false;
		k->maps = unic_slot_maps(slot, NULL, (void *)UINTPTR_MAX,
					 k->map, room);
	} while (k->maps == room);
	return k->maps >= 0;
}

/* Copy the frames, from the file: a mapping may forbid reading. False: out of memory. */
static bool copy_maps(const struct unic_slot *slot, struct unic_kept *k)
{
	uint8_t *at;
	int i;

	for (i = 0; i < k->maps; i++)
		k->bytes += k->map[i].bytes;
	if (!k->bytes)
		return true;
	at = k->copy = unic_map_apart(k->bytes);
	if (!at)
		return false;
	for (i = 0; i < k->maps; i++) {
		const struct unic_slot_map *m = &k->map[i];

		if (pread(slot->fd, at, m->bytes,
			  unic_slot_at(slot, m->page)) != (ssize_t)m->bytes)
			return false;
		at += m->bytes;
	}
	return true;
}

/* Set again what the application may have changed by MADV_DOFORK. */
static void set_dontfork(const struct unic_kept *k)
{
	int i;

	for (i = 0; i < k->maps; i++)
		madvise(k->map[i].va, k->map[i].bytes, MADV_DONTFORK);
}

/* Copy the frames of @ctx. Without memory for that the child gets no copies. */
static void copy_slot(struct unic_ctx *ctx)
{
	struct unic_kept *k = unic_map_apart(sizeof(*k));

	if (!k)
		return;
	k->ctx = ctx;
	if (find_maps(&ctx->slot, k)) {
		set_dontfork(k);
		if (copy_maps(&ctx->slot, k)) {
			k->next = all.kept;
			all.kept = k;
			return;
		}
	}
	free_kept(k);
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

/* Move @copy to @m. False: the parent mapped something else there after the copies were
 * made. MAP_FIXED after is_hole() is for Valgrind, which does not support
 * MAP_FIXED_NOREPLACE and takes memory that the child lacks for mapped. */
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

/* Put the copies in place. */
static void place_all(struct unic_kept *k)
{
	uint8_t *copy = k->copy;
	int i;

	k->tried = k->placed = true;
	for (i = 0; i < k->maps; i++) {
		k->placed &= place_copy(copy, &k->map[i]);
		copy += k->map[i].bytes;
	}
	free_apart(k->copy, k->bytes); /* those that were not placed */
	k->copy = NULL;
}

/* Put those of all contexts in place. False: they are already. */
static bool place_copies(void)
{
	bool any = false;
	struct unic_kept *k;

	for (k = all.kept; k; k = k->next) {
		if (k->tried)
			continue;
		place_all(k);
		any = true;
	}
	return any;
}

static bool has_copies(const struct unic_ctx *ctx)
{
	const struct unic_kept *k = all.kept;

	while (k && k->ctx != ctx)
		k = k->next;
	return k && k->placed;
}

/* Map a page of zeroes at @p, where the parent has a page of the slot. */
static void blank_page(const void *p)
{
	if (p &&
	    mmap((void *)p, UNIC_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort(); /* the library would use later mappings */
}

/* Initialize the locks that threads of the parent may have held. No call in a child takes
 * those of posting. */
static void init_locks(struct unic_ctx *ctx)
{
	unsigned int i;

	unic_ctx_init_locks(ctx);
	for (i = 0; i < UNIC_DB_OBJECTS; i++)
		if (ctx->cq[i])
			pthread_mutex_init(&ctx->cq[i]->lock, NULL);
}

/* Mark @ctx as the parent's, and close the child's copies of its descriptors, so that the
 * attachment ends with the parent. */
static void detach_ctx(struct unic_ctx *ctx)
{
	/* If a copy is missing, forget the areas: the child must not unmap their addresses,
	 * where other memory may be mapped. */
	if (ctx->conn && !ctx->forked && !unic_conn_kernel(ctx->conn) &&
	    !has_copies(ctx))
		ctx->areas = NULL;
	ctx->forked = true;
	unic_ctx_dead(ctx);
	unic_ctx_close_fds(ctx);
	blank_page(ctx->db);
	blank_page(ctx->np);
	blank_page(ctx->upcalls);
	if (ctx->conn)
		unic_conn_forked(ctx->conn);
	ctx->sock = -1;
	if (ctx->mender.kick_efd >= 0)
		close(ctx->mender.kick_efd);
	init_locks(ctx);
	unic_event_forked(ctx);
}

/* -------------------------------------------------------------- the handlers */

/*
 * Stop the other threads of a process whose heap may be in the slot, until the C library
 * has the locks of its heap: what a child has of the heap is of one moment, parts that
 * are copied here and parts that fork() copies. A thread with such a lock goes on, and all are
 * stopped again. False: they run.
 */
static bool hold_others(void)
{
	int tries = TRIES;

	while (tries-- && unic_park_hold(PROBE_MS) > 0) {
		(void)mallinfo2(); /* takes each lock of the heap once */
		if (unic_park_longer(FORK_MS))
			return true;
		unic_park_release();
	}
	return false;
}

static bool has_moved(void)
{
	const struct unic_ctx *ctx = all.first;

	while (ctx &&
	       (ctx->forked || !__atomic_load_n(&ctx->moved, __ATOMIC_RELAXED)))
		ctx = ctx->next;
	return ctx;
}

static void atfork_prepare(void)
{
	struct unic_ctx *ctx;
	sigset_t mask;

	unic_park_mask(&mask);
	unic_forks_off();
	all.mask = mask;
	all.held = has_moved() && hold_others();
	for (ctx = all.first; ctx; ctx = ctx->next) {
		/* with the kernel module, the memory is private and inherited */
		if (!ctx->forked && ctx->slot.fd >= 0 &&
		    !unic_conn_kernel(ctx->conn))
			copy_slot(ctx);
	}
	if (all.kept)
		unic_absent_watch(place_copies);
}

static void free_all_kept(void)
{
	struct unic_kept *k;

	while ((k = all.kept)) {
		all.kept = k->next;
		free_kept(k);
	}
}

static void end_fork(void)
{
	sigset_t mask = all.mask;

	unic_forks_on();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void atfork_parent(void)
{
	unic_absent_end();
	if (all.held)
		unic_park_release();
	free_all_kept();
	end_fork();
}

static void atfork_child(void)
{
	struct unic_ctx *ctx;

	place_copies();
	for (ctx = all.first; ctx; ctx = ctx->next)
		detach_ctx(ctx);
	unic_absent_end();
	free_all_kept();
	unic_park_forked();
	end_fork();
}

/* Register before the application does: prepare handlers run in reverse order, so the
 * application's have run when the copies are made; child handlers run in order, so the
 * copies are in place when the application's begin. */
static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(atfork_prepare, atfork_parent, atfork_child);
}
