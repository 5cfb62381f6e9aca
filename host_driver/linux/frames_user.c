// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * frames_user.c - frames.h where frames are any memory of a process: it is pinned
 * where it is (unic_mem.c).
 *
 * Secret: where pins come from while the lock is held. The pins that a request is
 * about to register were fetched before the lock was taken. A worker fetches
 * other pages (missed, granted later, of a region that is restored), and the core
 * asks for them again.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "region/frames.h"
#include "frames_user.h"
#include "unic_dev.h"
#include "unic_pin_work.h"
#include "unic_mem.h"
#include "unic_pin.h"

/* interval between reports of invalidated pins: at first, and at most */
#define AGAIN_NS 1000000ull
#define REST_NS	 250000000ull
#define TAKE_NS	 1000000000ull /* age at which a fetched pin is dropped */

/* A translation list. The NIC may read an orphaned one until its reset; a region that
 * is restored claims it, or it ends. */
struct unic_words {
	struct list_head node;
	u32 key;
	bool orphaned;
	size_t bytes;
	void *mem;
	dma_addr_t bus;
};

struct unic_frame_tables {
	struct unic_frames *f; /* f->pinned counts pinned pages */
	struct unic_mem *mem;  /* NULL: no process */
	/* pins fetched for the request that runs; NULL: none */
	struct list_head *ready;
	struct list_head words;
	u64 look_ns,
		wait_ns; /* next report of invalidated pins; interval after it */
};

int unic_frames_init(struct unic_frames *f, struct unic_os *os, void *base,
		     uint64_t bytes, uint64_t bus, uint32_t first)
{
	struct unic_frame_tables *t = kzalloc(sizeof(*t), GFP_KERNEL);
	u32 i;

	memset(f, 0, sizeof(*f));
	if (!t)
		return -ENOMEM;
	t->f = f;
	INIT_LIST_HEAD(&t->words);
	f->os = os;
	f->t = t;
	f->frames = (uint32_t)(bytes >> UNIC_FRAME_SHIFT);
	for (i = 0; i < os->slots; i++) {
		if (os->slot_mem[i] != base)
			continue;
		os->slot[i].frames = t;
		f->bus = os->slot[i].bus;
	}
	return 0;
}

void unic_frames_fini(struct unic_frames *f)
{
	if (!f->t)
		return;
	unic_pins_unbind(f->t);
	unic_frames_clear(f);
	kfree(f->t);
	f->t = NULL;
}

void unic_frames_journal(struct unic_frames *f, uint64_t *journal)
{
}

int unic_frames_recall(struct unic_frames *f)
{
	/* pins end with the module: there is nothing to recall */
	return -EINVAL;
}

int unic_frames_alloc(struct unic_frames *f, uint64_t va, uint32_t pages,
		      uint32_t shift, uint32_t *list)
{
	return -EOPNOTSUPP; /* a process registers memory that it has */
}

int unic_frames_free(struct unic_frames *f, uint64_t va, uint32_t pages)
{
	return -EOPNOTSUPP;
}

/* ------------------------------------------------------------------ the range */

static bool range_ok(const struct unic_mem *mem, uint64_t va, uint64_t length,
		     unsigned long *first, unsigned long *last)
{
	if (!mem || !length || va + length - 1 < va ||
	    va + length - 1 >= mem->mm->task_size)
		return false;
	*first = va >> PAGE_SHIFT;
	*last = (va + length - 1) >> PAGE_SHIFT;
	return *last - *first < UNIC_PIN_PAGES;
}

/* The pin of this range that the request brought along, still in its list; or NULL. */
static struct unic_pin *find_ready(const struct unic_frame_tables *t,
				   unsigned long first, unsigned long last)
{
	struct unic_pin *p;

	if (!t->ready)
		return NULL;
	list_for_each_entry(p, t->ready, node)
		if (p->range.start == first && p->range.last == last)
			return p;
	return NULL;
}

/* ---------------------------------------------------------------- translation */

/* Is every aligned piece of 2^@shift bytes contiguous on the bus? */
static bool is_bus_contiguous(const struct unic_pin *p, u32 shift)
{
	unsigned long per = 1ul << (shift - PAGE_SHIFT), i;

	if ((p->range.start | (p->range.last + 1)) & (per - 1))
		return false;
	for (i = 0; i < p->n; i++) {
		dma_addr_t head = p->bus[i & ~(per - 1)];

		if (head & ((1ull << shift) - 1) ||
		    p->bus[i] != head + ((i & (per - 1)) << PAGE_SHIFT))
			return false;
	}
	return true;
}

uint32_t unic_frames_shift(const struct unic_frames *f, uint64_t va,
			   uint64_t iova, uint64_t length, uint32_t max)
{
	static const u32 larger[] = { 21, 16 };
	unsigned long first, last;
	struct unic_pin *p;
	u32 i;

	if (!range_ok(f->t->mem, va, length, &first, &last) ||
	    (va ^ iova) & (UNIC_FRAME_BYTES - 1))
		return 0;
	p = find_ready(f->t, first, last);
	if (!p)
		p = unic_pin_exact(f->t->mem, first, last);
	if (!p || p->err || unic_pin_map(f->t->mem, p))
		return UNIC_FRAME_SHIFT;
	for (i = 0; i < ARRAY_SIZE(larger); i++)
		if (larger[i] <= max &&
		    !((va ^ iova) & ((1ull << larger[i]) - 1)) &&
		    is_bus_contiguous(p, larger[i]))
			return larger[i];
	return UNIC_FRAME_SHIFT;
}

int unic_frames_list(const struct unic_frames *f, uint64_t va, uint32_t shift,
		     uint32_t first, uint32_t count, uint64_t *bus)
{
	unsigned long per = 1ul << (shift - PAGE_SHIFT), page;
	struct unic_pin *p = NULL;
	uint32_t i;

	page = ((va >> shift) + first) * per;
	for (i = 0; i < count; i++, page += per) {
		if (!p || page > p->range.last)
			p = f->t->mem ? unic_pin_at(f->t->mem, page) : NULL;
		if (!p)
			return -ENOENT;
		bus[i] = p->bus[page - p->range.start];
	}
	return 0;
}

/* ----------------------------------------------------------------------- pins */

static struct unic_pin *get_fetched_pin(struct unic_frame_tables *t,
					unsigned long first, unsigned long last,
					bool write)
{
	struct unic_pin *p = find_ready(t, first, last);

	if (p && p->err)
		return ERR_PTR(p->err);
	if (p && p->write >= write) {
		list_del_init(&p->node);
		return p;
	}
	return unic_pin_fetch_async(t->mem, first, last, write);
}

int unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
		    bool write)
{
	struct unic_frame_tables *t = f->t;
	unsigned long first, last;
	struct unic_pin *p;
	u64 added;
	int err;

	if (!range_ok(t->mem, va, length, &first, &last))
		return -ENOENT;
	if (unic_pin_again(t->mem, first, last, write))
		return 0;
	p = get_fetched_pin(t, first, last, write);
	if (IS_ERR(p))
		return PTR_ERR(p);
	err = unic_pin_map(t->mem, p);
	if (!err)
		err = unic_pin_activate(t->mem, p, &added);
	if (err)
		unic_pin_drop(t->mem, p);
	else
		f->pinned += added;
	return err;
}

static void release_pin(struct unic_frame_tables *t, struct unic_pin *p)
{
	t->f->pinned -= unic_pin_end(t->mem, p);
}

void unic_frames_unpin(struct unic_frames *f, uint64_t va, uint64_t length)
{
	unsigned long first, last;
	struct unic_pin *p;

	if (!range_ok(f->t->mem, va, length, &first, &last))
		return;
	p = unic_pin_exact(f->t->mem, first, last);
	if (p)
		release_pin(f->t, p);
}

/* ---------------------------------------------------------- translation lists */

static struct unic_words *find_words(struct unic_frame_tables *t, u32 key)
{
	struct unic_words *w;

	list_for_each_entry(w, &t->words, node)
		if (w->key == key)
			return w;
	return NULL;
}

static void free_words(struct unic_frame_tables *t, struct unic_words *w)
{
	list_del(&w->node);
	dma_free_coherent(unic_dev_dma(t->f->os), w->bytes, w->mem, w->bus);
	kfree(w);
}

unic_le64 *unic_frames_words(struct unic_frames *f, uint32_t key,
			     uint32_t words, uint64_t *bus)
{
	struct unic_words *w = find_words(f->t, key);

	if (!w) {
		w = kzalloc(sizeof(*w), GFP_NOIO | __GFP_NOWARN);
		if (!w)
			return NULL;
		w->key = key;
		w->bytes = PAGE_ALIGN(words * sizeof(unic_le64));
		w->mem = dma_alloc_coherent(unic_dev_dma(f->os), w->bytes,
					    &w->bus, GFP_NOIO | __GFP_NOWARN);
		if (!w->mem) {
			kfree(w);
			return NULL;
		}
		list_add(&w->node, &f->t->words);
	}
	w->orphaned = false;
	*bus = w->bus;
	return w->mem;
}

void unic_frames_words_free(struct unic_frames *f, uint32_t key)
{
	struct unic_words *w = find_words(f->t, key);

	if (w)
		free_words(f->t, w);
}

static void free_orphaned_words(struct unic_frame_tables *t)
{
	struct unic_words *w, *next;

	list_for_each_entry_safe(w, next, &t->words, node)
		if (w->orphaned)
			free_words(t, w);
}

/* ------------------------------------------------------------- ends of all pins */

/* After a reset the core pins kept regions again at once: so pins and lists are only
 * orphaned, and unic_pins_poll() ends those that were not claimed. */
void unic_frames_unpin_all(struct unic_frames *f)
{
	struct unic_words *w;

	list_for_each_entry(w, &f->t->words, node)
		w->orphaned = true;
	if (f->t->mem)
		unic_pin_orphan_all(f->t->mem);
}

static void release_orphaned_pins(struct unic_frame_tables *t)
{
	struct unic_pin *p;

	while ((p = unic_pin_find_orphaned(t->mem)))
		release_pin(t, p);
}

void unic_frames_clear(struct unic_frames *f)
{
	unic_frames_unpin_all(f);
	free_orphaned_words(f->t);
	if (f->t->mem)
		release_orphaned_pins(f->t);
}

/* ------------------------------------------------------------------ the owner */

void unic_pins_bind(struct unic_frame_tables *t, struct unic_mem *mem)
{
	unic_pins_unbind(t);
	unic_mem_get(mem);
	unic_pin_bound(mem, true);
	t->mem = mem;
}

void unic_pins_unbind(struct unic_frame_tables *t)
{
	if (!t->mem)
		return;
	unic_pin_bound(t->mem, false);
	unic_frames_clear(t->f);
	unic_mem_put(t->mem);
	t->mem = NULL;
}

u32 unic_pins_pages(const struct unic_frame_tables *t)
{
	return t->f->pinned;
}

void unic_pins_ready(struct unic_frame_tables *t, struct list_head *pins)
{
	struct unic_pin *p;

	if (!pins && t->ready)
		list_for_each_entry(p, t->ready, node)
			unic_pin_unmap(t->mem, p);
	t->ready = pins;
}

/* Tells the core of each invalidated pin, and repeats it at growing intervals
 * while one is left. */
u64 unic_pins_poll(struct unic_frame_tables *t, u32 slot)
{
	u64 now = ktime_get_ns(), take = U64_MAX;
	unsigned long at = 0, first, last;

	if (t->mem) {
		/* while the NIC is fenced no region is restored, so none claims
		 * its pins */
		if (!t->f->os->fenced) {
			release_orphaned_pins(t);
			free_orphaned_words(t);
		}
		if (unic_pin_untaken(t->mem))
			take = now + TAKE_NS;
	}
	if (!t->mem || !READ_ONCE(t->mem->invalidated)) {
		t->look_ns = 0;
		t->wait_ns = AGAIN_NS;
		return take;
	}
	if (now < t->look_ns)
		return min(t->look_ns, take);
	for (; unic_pin_next_invalidated(t->mem, at, &first, &last);
	     at = last + 1)
		unic_host_unmapped(t->f->os->host, slot,
				   (u64)first << PAGE_SHIFT,
				   (u64)(last - first + 1) << PAGE_SHIFT);
	t->look_ns = now + t->wait_ns;
	t->wait_ns = min(t->wait_ns * 2, REST_NS);
	return min(t->look_ns, take);
}
