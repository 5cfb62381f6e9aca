// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_resident.c - see unic_resident.h. */
#include "unic_resident.h"

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "kio_node.h"
#include "unic_cdev.h"
#include "unic_dev.h"
#include "unic_kclient.h"

/*
 * The service of one NIC, from its first user to its last. The engine of the NIC runs
 * it, and so does a caller that begins an I/O, so that the I/O is under way when the call
 * returns.
 */
struct unic_resident {
	struct unic_kclient kc;
	struct unic_kio_node *node;
	struct unic_os *os;
	struct device *dma;
	unsigned int users;
	bool gone; /* resident_leave() was called: no I/O begins */
	bool over; /* resident_gone() was called: the NIC reaches no memory */
	u64 pages; /* pages of open I/Os */
	struct list_head watches;
	void *mem; /* memory of the queues */
	dma_addr_t bus;
};

static DEFINE_MUTEX(users_lock);

#define REACH U32_MAX /* highest bus address of an I/O */

static struct unic_resident *resident_of(struct unic_kclient *kc)
{
	return container_of(kc, struct unic_resident, kc);
}

/* ---------------------------------------------------- what the engine calls */

static void resident_reply(struct unic_kclient *kc, const void *msg, u32 bytes)
{
	unic_kio_node_reply(resident_of(kc)->node, msg, bytes);
}

static u64 resident_poll(struct unic_kclient *kc)
{
	return unic_kio_node_poll(resident_of(kc)->node);
}

/* The caller holds unic_os.lock; the device has its driver. */
static void free_mem(struct unic_resident *r)
{
	if (r->mem)
		dma_free_coherent(r->dma, unic_kio_ring_bytes(0), r->mem,
				  r->bus);
	r->mem = NULL;
}

/* Begins no more I/O. Open I/Os stay open, because the NIC has their pages. */
static void resident_leave(struct unic_kclient *kc)
{
	struct unic_resident *r = resident_of(kc);
	struct unic_resident_watch *w;

	if (r->gone)
		return;
	r->gone = true;
	list_for_each_entry(w, &r->watches, node)
		w->gone(w);
}

static u64 resident_pages(struct unic_kclient *kc)
{
	return resident_of(kc)->pages + (unic_kio_ring_bytes(0) >> PAGE_SHIFT);
}

/* The NIC reaches no memory: open I/Os end, and their owners get the pages back. */
static void resident_gone(struct unic_kclient *kc)
{
	struct unic_resident *r = resident_of(kc);

	resident_leave(kc);
	r->over = true;
	unic_kio_node_gone(r->node);
	free_mem(r);
}

/* ----------------------------------------------------------------- lifetime */

static void free_resident(struct unic_resident *r)
{
	put_device(r->dma);
	kvfree(r->node);
	kfree(r);
}

static void resident_orphan(struct unic_kclient *kc)
{
	struct unic_resident *r = resident_of(kc);

	free_mem(r);
	free_resident(r);
}

/* Starts the service of @r, which has all its memory. The caller holds
 * unic_os.lock. */
static void attach_kclient(struct unic_resident *r)
{
	struct unic_os *os = r->os;
	struct unic_kio_config config = {
		.os = os,
		.host = os->host,
		.slot_mem = os->slot_mem,
		.slot_bytes = UNIC_SLOT_PAGES * PAGE_SIZE,
		.mem = r->mem,
		.bus = r->bus,
		.bus_first = 0,
		.bus_bytes = REACH, /* the size of a region at most */
		.rdma = true,	    /* each I/O says whether it may */
	};

	unic_kio_node_init(r->node, &config);
	r->kc.reply = resident_reply;
	r->kc.poll = resident_poll;
	r->kc.leave = resident_leave;
	r->kc.gone = resident_gone;
	r->kc.pages = resident_pages;
	r->kc.orphan = resident_orphan;
	r->kc.at = r->node;
	r->kc.bytes = sizeof(*r->node);
	os->resident = r;
	unic_kio_node_want(r->node);
	unic_kclient_add(os, &r->kc);
}

/* Allocates and starts a service, which takes over the reference to @os. Returns
 * it with one user, or ERR_PTR(); then the reference stays the caller's. */
static struct unic_resident *create_resident(struct unic_os *os)
{
	struct unic_resident *r = kzalloc(sizeof(*r), GFP_KERNEL);
	unsigned int noio;
	int err = -ENODEV;

	if (!r)
		return ERR_PTR(-ENOMEM);
	r->node = kvzalloc(sizeof(*r->node), GFP_KERNEL);
	r->os = os;
	r->users = 1;
	INIT_LIST_HEAD(&r->watches);
	noio = unic_lock(os);
	if (os->leaving) {
		err = -ENODEV; /* kc.leave() would not be called */
	} else if (os->host &&
		   dma_get_required_mask(unic_dev_dma(os)) > REACH) {
		/* some memory is above the reach of an I/O */
		err = -EOPNOTSUPP;
	} else if (os->host) {
		r->dma = get_device(unic_dev_dma(os));
		r->mem = dma_alloc_coherent(r->dma, unic_kio_ring_bytes(0),
					    &r->bus, GFP_KERNEL);
		err = r->mem && r->node ? 0 : -ENOMEM;
	}
	if (!err)
		attach_kclient(r);
	else
		free_mem(r);
	unic_unlock(os, noio);
	if (!err)
		return r;
	free_resident(r);
	return ERR_PTR(err);
}

struct unic_resident *unic_resident_get(unsigned int number)
{
	struct unic_os *os = unic_dev_get(number);
	struct unic_resident *r;
	bool there;

	if (!os)
		return ERR_PTR(-ENODEV);
	if (mutex_lock_interruptible(&users_lock)) {
		unic_dev_put(os);
		return ERR_PTR(-EINTR);
	}
	r = READ_ONCE(os->resident);
	there = r;
	if (there)
		r->users++;
	else
		r = create_resident(os);
	if (there || IS_ERR(r)) /* the new service keeps the reference */
		unic_dev_put(os);
	mutex_unlock(&users_lock);
	return r;
}
EXPORT_SYMBOL_GPL(unic_resident_get);

bool unic_resident_watch(struct unic_resident *r, struct unic_resident_watch *w)
{
	unsigned int noio = unic_lock(r->os);
	bool there = !r->gone;

	if (there)
		list_add(&w->node, &r->watches);
	else
		INIT_LIST_HEAD(&w->node);
	unic_unlock(r->os, noio);
	return there;
}
EXPORT_SYMBOL_GPL(unic_resident_watch);

void unic_resident_unwatch(struct unic_resident *r,
			   struct unic_resident_watch *w)
{
	unsigned int noio = unic_lock(r->os);

	list_del_init(&w->node);
	unic_unlock(r->os, noio);
}
EXPORT_SYMBOL_GPL(unic_resident_unwatch);

/* The NIC may write to the service's memory until it has answered that it has finished
 * with the slot. True: it has answered, or reaches no memory. */
static bool wait_quiet(struct unic_resident *r)
{
	bool quiet = false;
	unsigned int noio;
	u32 slot, ms, most = 0;

	noio = unic_lock(r->os);
	slot = r->node->core.slot;
	if (!r->over) {
		most = unic_kclient_quiet_ms(r->os);
		unic_kio_node_fini(r->node);
	}
	unic_unlock(r->os, noio);
	if (slot == UNIC_OS_NO_SLOT)
		return true;
	for (ms = 0; ms <= most && !quiet; ms++) {
		unic_dev_kick(r->os);
		fsleep(1000);
		noio = unic_lock(r->os);
		quiet = r->over || !unic_host_slot_leaves(r->os->host, slot);
		unic_unlock(r->os, noio);
	}
	return quiet;
}

static void destroy_resident(struct unic_resident *r)
{
	struct unic_os *os = r->os;
	bool quiet = wait_quiet(r);
	unsigned int noio = unic_lock(os);

	/* unic_pci_tear_down() frees orphans once: one added later would stay */
	quiet |= r->over;
	os->resident = NULL;
	if (quiet) {
		unic_kclient_del(&r->kc);
		free_mem(r);
	} else {
		unic_kclient_leave_behind(os, &r->kc);
	}
	unic_unlock(os, noio);
	if (quiet)
		free_resident(r);
	unic_dev_put(os);
}

void unic_resident_put(struct unic_resident *r)
{
	mutex_lock(&users_lock);
	if (!--r->users)
		destroy_resident(r);
	mutex_unlock(&users_lock);
}
EXPORT_SYMBOL_GPL(unic_resident_put);

/* ------------------------------------------------------------------- I/Os */

u32 unic_resident_window(const struct unic_resident *r)
{
	return READ_ONCE(r->node->window);
}
EXPORT_SYMBOL_GPL(unic_resident_window);

size_t unic_resident_max(const struct unic_resident *r)
{
	return min_t(size_t, UNIC_KIO_MAX, dma_max_mapping_size(r->dma));
}
EXPORT_SYMBOL_GPL(unic_resident_max);

/* The direction in which the pages of @io are mapped. Those that clean_io() zeroed go both
 * ways: the zeros, too, must be where the NIC writes. Of a page that lies in a bounce
 * buffer, a kernel before 5.18 would copy nothing to there, and the whole buffer back, so
 * what the NIC does not write would be what others had left in the buffer. */
static enum dma_data_direction dir_of(const struct unic_resident_io *io)
{
	return io->io.clean ? DMA_BIDIRECTIONAL : io->dir;
}

static void unmap_io(struct unic_resident_io *io)
{
	if (!io->elements)
		return;
	io->of->pages -= io->elements;
	dma_unmap_sg(io->of->dma, io->sg, io->elements, dir_of(io));
}

/* Maps the pages of @io for DMA. */
static int map_io(struct unic_resident_io *io)
{
	int i, n = 0;

	if (io->elements) {
		n = dma_map_sg(io->of->dma, io->sg, io->elements, dir_of(io));
		if (n <= 0)
			return -EBUSY;
		io->of->pages += io->elements;
	}
	for (i = 0; i < n; i++) {
		if (sg_dma_address(&io->sg[i]) + sg_dma_len(&io->sg[i]) >
		    REACH) {
			unmap_io(io);
			return -EIO;
		}
		io->io.piece[i].bus = unic_to_le64(sg_dma_address(&io->sg[i]));
		io->io.piece[i].len = unic_to_le32(sg_dma_len(&io->sg[i]));
	}
	io->io.pieces = n;
	return 0;
}

static void kio_done(struct unic_kio *kio, int status, uint32_t bytes)
{
	struct unic_resident_io *io =
		container_of(kio, struct unic_resident_io, io);

	unmap_io(io);
	io->done(io, status, bytes);
}

static int begin_io(struct unic_resident *r, struct unic_resident_io *io,
		    u32 ipv4)
{
	int err;

	if (r->gone)
		return -ENODEV;
	io->of = r;
	io->io.done = kio_done;
	err = map_io(io);
	if (err)
		return err;
	err = unic_kio_node_start(r->node, &io->io, ipv4);
	if (err)
		unmap_io(io);
	return err;
}

/* Zeroes the pages of a read that may go by RDMA: the other host alone knows which bytes
 * it writes, and the pages hold what this kernel had in them. */
static void clean_io(struct unic_resident_io *io)
{
	io->io.clean = !io->io.token_only && io->elements &&
		       io->dir == DMA_FROM_DEVICE;
	if (io->io.clean)
		sg_zero_buffer(io->sg, io->elements, io->io.len, 0);
}

int unic_resident_start(struct unic_resident *r, struct unic_resident_io *io,
			u32 ipv4)
{
	struct unic_os *os = r->os;
	unsigned int noio;
	u64 next;
	int err;

	clean_io(io);
	noio = unic_lock(os);
	err = begin_io(r, io, ipv4);
	if (!err) {
		next = unic_kio_node_poll(r->node);
		if (!os->wakes_ns || next < os->wakes_ns)
			unic_dev_kick(os);
	}
	unic_unlock(os, noio);
	return err;
}
EXPORT_SYMBOL_GPL(unic_resident_start);
