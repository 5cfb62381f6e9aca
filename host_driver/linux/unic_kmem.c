// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_kmem.c - see unic_kmem.h. */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "unic_cdev.h"
#include "unic_kmem_call.h"
#include "unic_kmem_link.h"
#include "unic_kmem_priv.h"
#include "unic_kmem_work.h"

static struct unic_kmem *kmem_of(struct unic_kclient *kc)
{
	return container_of(kc, struct unic_kmem, kc);
}

/* -------------------------------------------------------------------- pages */

static void put_pages(struct scatterlist *sg, int n)
{
	struct sg_page_iter it;

	for_each_sg_page(sg, &it, n, 0) put_page(sg_page_iter_page(&it));
}

/* Gives the pages of @r back, which the NIC does not reach. The caller holds
 * unic_os.lock; the device has its driver. */
static void unmap_region(struct unic_kmem_region *r)
{
	if (r->unmapped)
		return;
	r->unmapped = true;
	dma_unmap_sg(r->k->dma, r->sg, r->n, r->dir);
	r->k->pages -= r->pages;
	put_pages(r->sg, r->n);
}

static void free_region(struct unic_kmem_region *r)
{
	kvfree(r->sg);
	kfree(r);
}

/* True if pages of 1 << @shift make up the mapped elements of @r. */
static bool fits_pages(const struct unic_kmem_region *r, u8 shift, int mapped)
{
	u64 edges = 0;
	struct scatterlist *s;
	int i;

	for (i = 0, s = r->sg; i < mapped; i++, s++) {
		if (i)
			edges |= sg_dma_address(s);
		if (i + 1 < mapped)
			edges |= sg_dma_address(s) + sg_dma_len(s);
	}
	return !(edges & ((1ull << shift) - 1));
}

/* Writes the pages of @r to @page. Returns how many; 0: more than UNIC_KMEM_PAGES. */
static u32 list_pages(const struct unic_kmem_region *r, u8 shift, int mapped,
		      unic_le64 *page)
{
	struct scatterlist *s;
	u64 at, last;
	u32 n = 0;
	int i;

	for (i = 0, s = r->sg; i < mapped; i++, s++) {
		at = sg_dma_address(s) >> shift;
		last = (sg_dma_address(s) + sg_dma_len(s) - 1) >> shift;
		for (; at <= last; at++) {
			if (n == UNIC_KMEM_PAGES)
				return 0;
			page[n++] = unic_to_le64(at << shift);
		}
	}
	return n;
}

static int copy_list(struct unic_kmem_region *r, struct scatterlist *sg, int n)
{
	struct scatterlist *s;
	u64 edges = 0;
	int i;

	r->sg = kvmalloc_array(n, sizeof(*r->sg), GFP_KERNEL);
	if (!r->sg)
		return -ENOMEM;
	sg_init_table(r->sg, n);
	for (i = 0, s = sg; i < n; i++, s++) {
		sg_set_page(&r->sg[i], sg_page(s), s->length, s->offset);
		r->bytes += s->length;
		edges |= i ? s->offset : 0;
		edges |= i + 1 < n ? s->offset + s->length : 0;
		if (!s->length)
			edges = 1;
	}
	r->n = n;
	return edges & (PAGE_SIZE - 1) ? -EINVAL : 0;
}

static void take_page(struct unic_kmem_region *r, struct page *page)
{
	get_page(page);
	r->pages++;
}

/* Maps the pages of @r, and takes a reference to each. The caller holds unic_os.lock. */
static int map_region(struct unic_kmem_region *r)
{
	struct unic_kmem *k = r->k;
	struct sg_page_iter it;
	int i, mapped;

	if (k->over || k->leaving)
		return -ENODEV;
	if (!k->up)
		return -ENOTCONN;
	mapped = dma_map_sg(k->dma, r->sg, r->n, r->dir);
	if (mapped <= 0)
		return -ENOMEM;
	for (i = 0; i < mapped; i++) {
		if (!dma_need_sync(k->dma, sg_dma_address(&r->sg[i])))
			continue;
		dma_unmap_sg(k->dma, r->sg, r->n, r->dir);
		return -EOPNOTSUPP;
	}
	for_each_sg_page(r->sg, &it, r->n, 0)
		take_page(r, sg_page_iter_page(&it));
	r->unmapped = false;
	r->mapped = mapped;
	k->pages += r->pages;
	return 0;
}

/* -------------------------------------------------- what the engine calls */

static void kmem_leave(struct unic_kclient *kc)
{
	struct unic_kmem *k = kmem_of(kc);

	k->leaving = true;
	k->up = false;
	unic_kmem_end_asks(k, -ENODEV);
	wake_up_all(&k->wait);
}

static u64 kmem_pages(struct unic_kclient *kc)
{
	return kmem_of(kc)->pages + !!kmem_of(kc)->mem;
}

static void free_kmem_mem(struct unic_kmem *k)
{
	struct unic_kmem_region *r;

	list_for_each_entry(r, &k->regions, node)
		unmap_region(r);
	if (k->mem)
		dma_free_coherent(k->dma, PAGE_SIZE, k->mem, k->bus);
	k->mem = NULL;
}

static void kmem_gone(struct unic_kclient *kc)
{
	struct unic_kmem *k = kmem_of(kc);
	struct unic_kmem_region *r;

	kmem_leave(kc);
	k->over = true;
	k->lost = true;
	list_for_each_entry(r, &k->regions, node) {
		if (!r->ended)
			r->why = UNIC_WHY_EXIT;
		r->ended = true;
	}
	free_kmem_mem(k);
	if (!k->closing)
		queue_work(k->wq, &k->work);
}

static void free_kmem(struct unic_kmem *k)
{
	struct unic_kmem_region *r, *next;

	list_for_each_entry_safe(r, next, &k->regions, node)
		free_region(r);
	put_device(k->dma);
	kfree(k);
}

static void kmem_orphan(struct unic_kclient *kc)
{
	free_kmem_mem(kmem_of(kc));
	free_kmem(kmem_of(kc));
}

/* ----------------------------------------------------------------- lifetime */

/* Adds @k to the users of its NIC. */
static int attach(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);
	int err = !k->os->host || k->os->leaving ? -ENODEV : 0;

	if (!err) {
		k->dma = get_device(unic_dev_dma(k->os));
		unic_kclient_add(k->os, &k->kc);
	}
	unic_unlock(k->os, noio);
	return err;
}

static struct unic_kmem *new_kmem(struct unic_os *os, const char *name,
				  const struct unic_kmem_ops *ops, void *of)
{
	struct unic_kmem *k = kzalloc(sizeof(*k), GFP_KERNEL);

	if (!k)
		return NULL;
	k->wq = alloc_ordered_workqueue("unic_kmem", 0);
	if (!k->wq) {
		kfree(k);
		return NULL;
	}
	k->os = os;
	k->ops = ops;
	k->of = of;
	k->left = UNIC_OS_NO_SLOT;
	/* pid 0: another process may get that of the caller, and be refused for it */
	k->core = (struct unic_client){ .privileged = true,
					.kernel = true,
					.slot = UNIC_OS_NO_SLOT };
	k->kc = (struct unic_kclient){ .at = &k->core,
				       .bytes = sizeof(k->core),
				       .reply = unic_kmem_reply,
				       .poll = unic_kmem_poll,
				       .leave = kmem_leave,
				       .gone = kmem_gone,
				       .pages = kmem_pages,
				       .orphan = kmem_orphan };
	strscpy(k->name, name, sizeof(k->name));
	INIT_LIST_HEAD(&k->asks);
	INIT_LIST_HEAD(&k->regions);
	INIT_WORK(&k->work, unic_kmem_work);
	init_waitqueue_head(&k->wait);
	mutex_init(&k->turn);
	return k;
}

/* unic_kmem_open() succeeds: its module is told of resets from now on. */
static void begin_telling(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);

	k->opened = true;
	if (k->lost)
		queue_work(k->wq, &k->work);
	unic_unlock(k->os, noio);
}

struct unic_kmem *unic_kmem_open(unsigned int number, const char *name,
				 const struct unic_kmem_ops *ops, void *of)
{
	struct unic_os *os = unic_dev_get(number);
	struct unic_kmem *k;
	int err;

	if (!os)
		return ERR_PTR(-ENODEV);
	k = new_kmem(os, name, ops, of);
	err = k ? attach(k) : -ENOMEM;
	if (err) {
		if (k)
			destroy_workqueue(k->wq);
		kfree(k);
		unic_dev_put(os);
		return ERR_PTR(err);
	}
	err = unic_kmem_errno(unic_kmem_set_up(k));
	if (err) {
		unic_kmem_close(k);
		return ERR_PTR(err);
	}
	begin_telling(k);
	return k;
}
EXPORT_SYMBOL_GPL(unic_kmem_open);

/* True if the NIC has finished with @slot, which @k gave up. Another may have it. */
static bool has_left(const struct unic_kmem *k, u32 slot)
{
	return slot == UNIC_OS_NO_SLOT ||
	       !unic_host_slot_leaves(k->os->host, slot);
}

/* Gives the slot up. True: the NIC has finished with it, or reaches no memory. */
static bool wait_kmem_quiet(struct unic_kmem *k)
{
	u32 ms = unic_kmem_quiet_ms(k);
	unsigned int noio = unic_lock(k->os);
	u32 slot = k->core.slot, left = k->left;
	bool quiet = false;

	k->closed = true;
	if (!k->over && slot != UNIC_OS_NO_SLOT)
		unic_host_client_gone(k->os->host, &k->core);
	unic_kmem_end_asks(k, -ENODEV);
	unic_unlock(k->os, noio);
	for (; ms && !quiet; ms--) {
		unic_dev_kick(k->os);
		noio = unic_lock(k->os);
		quiet = k->over || (has_left(k, slot) && has_left(k, left));
		unic_unlock(k->os, noio);
		if (!quiet)
			fsleep(1000);
	}
	return quiet;
}

void unic_kmem_close(struct unic_kmem *k)
{
	struct unic_os *os = k->os;
	unsigned int noio = unic_lock(os);
	bool quiet;

	k->closing = true;
	unic_unlock(os, noio);
	cancel_work_sync(&k->work);
	quiet = wait_kmem_quiet(k);
	destroy_workqueue(k->wq);
	noio = unic_lock(os);
	quiet |= k->over;
	if (quiet) {
		unic_kclient_del(&k->kc);
		free_kmem_mem(k);
	} else {
		unic_kclient_leave_behind(os, &k->kc);
	}
	unic_unlock(os, noio);
	if (quiet)
		free_kmem(k);
	unic_dev_put(os);
}
EXPORT_SYMBOL_GPL(unic_kmem_close);

/* ----------------------------------------------------------------- the end */

/* Ends @r on the NIC, in one step. True: the NIC does not reach its pages. */
static bool try_end(struct unic_kmem_region *r)
{
	struct unic_ctl_obj obj = { .id = unic_to_le32(r->id) };
	struct unic_kmem *k = r->k;
	unsigned int noio = unic_lock(k->os);
	bool lost = r->gen != k->gen, safe = !unic_kmem_may_touch(k);
	struct unic_kmem_ask ask;
	int status;

	unic_unlock(k->os, noio);
	if (r->unmapped || r->absent || (lost && safe))
		return true;
	if (lost || !safe || !r->id)
		return false;
	status = unic_kmem_call(k, &ask, UNIC_CTL_MR_DEREG, &obj, 0);
	return !status || status == UNIC_ST_NO_MR;
}

/* True while another thread runs a function of the module that is about @r. */
static bool is_called_about(const struct unic_kmem_region *r)
{
	return READ_ONCE(r->k->running) == r &&
	       READ_ONCE(r->k->runner) != current;
}

int unic_kmem_release(struct unic_kmem_mr *mr)
{
	struct unic_kmem_region *r =
		container_of(mr, struct unic_kmem_region, mr);
	struct unic_kmem *k = r->k;
	u64 until = ktime_get_ns() + unic_kmem_quiet_ms(k) * NSEC_PER_MSEC;
	unsigned int noio = unic_lock(k->os);
	bool ended;

	r->told = true;
	r->noticed = false;
	unic_unlock(k->os, noio);
	wait_event(k->wait, !is_called_about(r));
	while (!(ended = try_end(r)) && ktime_get_ns() < until)
		fsleep(1000);
	noio = unic_lock(k->os);
	if (ended) {
		unmap_region(r);
		list_del(&r->node);
	}
	if (k->running == r)
		k->running = NULL; /* this call is of a function about it */
	unic_unlock(k->os, noio);
	if (!ended)
		return -EBUSY;
	free_region(r);
	return 0;
}
EXPORT_SYMBOL_GPL(unic_kmem_release);

/* ----------------------------------------------------------------- register */

struct reg_msg {
	struct unic_ctl_mr_reg r;
	unic_le64 page[UNIC_KMEM_PAGES];
};

/* Fills in @msg. Returns the number of pages, or 0: too many. */
static u32 fill_request(struct unic_kmem_region *r, struct reg_msg *msg,
			u32 access)
{
	u8 shift = fits_pages(r, 21, r->mapped)	  ? 21
		   : fits_pages(r, 16, r->mapped) ? 16
						  : 12;

	msg->r = (struct unic_ctl_mr_reg){
		.va = unic_to_le64(sg_dma_address(r->sg)),
		.length = unic_to_le64(r->bytes),
		.user = unic_to_le32(r->tag),
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = r->mapped == 1 ? 12 : shift,
		.flags = UNIC_CTL_REG_RANDOM | UNIC_CTL_REG_WAIT,
	};
	if (access & UNIC_KMEM_READ)
		msg->r.rights |= UNIC_MR_REMOTE_READ;
	if (access & UNIC_KMEM_WRITE)
		msg->r.rights |= UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE;
	return list_pages(r, msg->r.page_shift, r->mapped, msg->page);
}

/* Waits for the answer to MR_REG @ask; a signal cancels the request. */
static int wait_registered(struct unic_kmem *k, struct unic_kmem_ask *ask)
{
	struct unic_ctl_wait_cancel cancel = { .wait_seq =
						       unic_to_le32(ask->seq) };
	struct unic_kmem_ask other;

	if (!wait_for_completion_interruptible(&ask->done))
		return ask->status;
	unic_kmem_call(k, &other, UNIC_CTL_WAIT_CANCEL, &cancel, 0);
	return unic_kmem_wait(k, ask);
}

/* Sends @msg with @n pages, and takes the numbers of @r from the answer. Returns a status
 * or -errno. */
static int ask_for(struct unic_kmem_region *r, struct reg_msg *msg, u32 n)
{
	struct unic_kmem *k = r->k;
	struct unic_ctl_mr_reg_reply reply;
	struct unic_kmem_ask ask;
	unsigned int noio;
	int status = unic_kmem_send(k, &ask, UNIC_CTL_MR_REG, msg,
				    n * sizeof(*msg->page));

	if (!status)
		status = wait_registered(k, &ask);
	else
		r->absent = true;
	memcpy(&reply, ask.rec, sizeof(reply));
	if (status)
		return status;
	noio = unic_lock(k->os);
	r->id = unic_from_le32(reply.id);
	r->mr.address = unic_from_le64(reply.iova);
	r->mr.length = r->bytes;
	r->mr.stag = unic_from_le32(reply.stag);
	unic_unlock(k->os, noio);
	return 0;
}

/* Waits until @k is set up; at most until @until_ns, 0: for ever. */
static int wait_up(struct unic_kmem *k, u64 until_ns)
{
	u64 now = ktime_get_ns();
	long left = MAX_SCHEDULE_TIMEOUT;

	if (READ_ONCE(k->runner) == current && !READ_ONCE(k->up))
		return k->over ? -ENODEV : -EAGAIN;
	if (until_ns)
		left = until_ns > now ? nsecs_to_jiffies(until_ns - now) + 1
				      : 1;
	left = wait_event_interruptible_timeout(
		k->wait, READ_ONCE(k->up) || READ_ONCE(k->leaving), left);
	if (READ_ONCE(k->leaving))
		return -ENODEV;
	return left > 0 ? 0 : left ? -EINTR : -ETIME;
}

/* Registers @r, whose pages are mapped, and gives them back on error. */
static int register_region(struct unic_kmem_region *r, u32 access,
			   u32 timeout_us)
{
	struct reg_msg *msg = kvzalloc(sizeof(*msg), GFP_KERNEL);
	struct unic_kmem *k = r->k;
	u32 n = msg ? fill_request(r, msg, access) : 0;
	int status;

	if (msg && n) {
		msg->r.pd = unic_to_le32(k->pd);
		msg->r.timeout_us = unic_to_le32(timeout_us);
		status = ask_for(r, msg, n);
		/* after these it may be on the NIC, until a reset or the slot's end */
		r->absent |= status > 0 && status != UNIC_CTL_ST_RESET;
		status = unic_kmem_errno(status);
	} else {
		status = msg ? -EMSGSIZE : -ENOMEM;
		r->absent = true;
	}
	kvfree(msg);
	return status;
}

/* Gives @r to the module, which may release it as soon as it is told of it. */
static void hand_over(struct unic_kmem_region *r, struct unic_kmem_mr **out)
{
	struct unic_kmem *k = r->k;
	unsigned int noio = unic_lock(k->os);

	*out = &r->mr;
	r->handed_over = true;
	if (r->noticed || r->ended)
		queue_work(k->wq, &k->work);
	unic_unlock(k->os, noio);
}

/* What is left of the time until @until_ns; 0: for ever. */
static u32 left_us(u64 until_ns)
{
	u64 now = ktime_get_ns();

	if (!until_ns)
		return 0;
	return until_ns > now + 1000 ? div_u64(until_ns - now, 1000) : 1;
}

static bool is_valid(enum dma_data_direction dir, u32 access, int n)
{
	return n > 0 && n <= UNIC_KMEM_PAGES && access &&
	       !(access & ~(UNIC_KMEM_READ | UNIC_KMEM_WRITE)) &&
	       (dir == DMA_BIDIRECTIONAL ||
		(dir == DMA_TO_DEVICE && access == UNIC_KMEM_READ) ||
		(dir == DMA_FROM_DEVICE && access == UNIC_KMEM_WRITE));
}

int unic_kmem_register(struct unic_kmem *k, struct scatterlist *sg, int n,
		       enum dma_data_direction dir, u32 access, u32 timeout_us,
		       struct unic_kmem_mr **out)
{
	u64 until = timeout_us ? ktime_get_ns() + timeout_us * 1000ull : 0;
	struct unic_kmem_region *r;
	unsigned int noio;
	int err, end;

	if (!is_valid(dir, access, n))
		return -EINVAL;
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	r->k = k;
	r->dir = dir;
	r->unmapped = true;
	err = copy_list(r, sg, n);
	if (!err)
		err = wait_up(k, until);
	noio = unic_lock(k->os);
	if (!err)
		err = map_region(r);
	if (!err) {
		r->gen = k->gen;
		r->tag = ++k->tags;
		list_add_tail(&r->node, &k->regions);
	}
	unic_unlock(k->os, noio);
	if (err) {
		free_region(r);
		return err;
	}
	err = register_region(r, access, left_us(until));
	if (!err) {
		hand_over(r, out);
		return 0;
	}
	end = unic_kmem_release(&r->mr);
	return end ? end : err;
}
EXPORT_SYMBOL_GPL(unic_kmem_register);
