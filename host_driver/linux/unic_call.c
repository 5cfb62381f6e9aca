// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_call.c - a request of a process and its reply: UNIC_IOC_CALL.
 *
 * Secret: in which order calls get the few places that a client has, and where a reply
 * waits for its caller. The caller allocates memory for it before the lock is taken, so
 * that the core never has to.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "frames_user.h"
#include "unic_prefetch.h"
#include "unic_call.h"
#include "unic_dev.h"
#include "unic_engine.h"
#include "unic_file.h"
#include "unic_ioctl.h"
#include "unic_trace.h"

/* Places: requests being sent or under way, and replies not fetched; of a client without
 * a slot, and with one. */
#define STRANGER_MAX 2
#define REPLIES_MAX  (2 * UNIC_CTL_OPEN_MAX)

/* Memory for the reply to a request. The caller allocates it before the lock is taken,
 * charged to its own memory cgroup. */
struct unic_reply {
	struct list_head node;
	u32 seq, room, bytes;
	u8 *msg; /* unic_reply.room bytes, at least a record */
};

/* A call that is under way. */
struct awaited {
	struct unic_file *f;
	u32 seq;

	/* of take_place() */
	struct list_head node; /* of f->queue, while it waits */
	struct completion turn;
	bool has_place;

	/* memory for the reply; NULL: the request was issued */
	struct unic_reply *blank;
	struct unic_reply *reply;
};

/* ---------------------------------------------------------------------- places */

static bool is_full(const struct unic_file *f)
{
	return f->places >= (READ_ONCE(f->slot) == UNIC_OS_NO_SLOT
				     ? STRANGER_MAX
				     : REPLIES_MAX);
}

/* Gives free places to the calls that have waited longest. */
static void grant_places(struct unic_file *f)
{
	struct awaited *a;

	lockdep_assert_held(&f->queue_lock);
	while (!list_empty(&f->queue) && !is_full(f)) {
		a = list_first_entry(&f->queue, struct awaited, node);
		list_del_init(&a->node);
		a->has_place = true;
		f->places++;
		complete(&a->turn);
	}
}

void unic_call_grow(struct unic_file *f)
{
	spin_lock(&f->queue_lock);
	grant_places(f);
	spin_unlock(&f->queue_lock);
}

static void put_place(struct unic_file *f)
{
	spin_lock(&f->queue_lock);
	f->places--;
	grant_places(f);
	spin_unlock(&f->queue_lock);
}

/* Ends the wait of every call, without a place. */
static void clear_queue(struct unic_file *f)
{
	struct awaited *a;

	spin_lock(&f->queue_lock);
	list_for_each_entry(a, &f->queue, node)
		complete(&a->turn);
	spin_unlock(&f->queue_lock);
}

/* Jiffies until @until_ns; 0: it is over. */
static long jiffies_until(u64 until_ns)
{
	u64 now = ktime_get_ns();

	if (!until_ns)
		return MAX_SCHEDULE_TIMEOUT;
	if (now >= until_ns)
		return 0;
	return min_t(u64, nsecs_to_jiffies64(until_ns - now) + 1,
		     MAX_SCHEDULE_TIMEOUT);
}

/* First come, first served. 0: put_place() gives the place back. */
static int take_place(struct awaited *a, u64 until_ns)
{
	struct unic_file *f = a->f;
	long left = jiffies_until(until_ns);

	init_completion(&a->turn);
	spin_lock(&f->queue_lock);
	list_add_tail(&a->node, &f->queue);
	grant_places(f);
	if (READ_ONCE(f->ended))
		complete(&a->turn);
	spin_unlock(&f->queue_lock);
	if (left)
		left = wait_for_completion_interruptible_timeout(&a->turn,
								 left);
	spin_lock(&f->queue_lock);
	list_del_init(&a->node);
	spin_unlock(&f->queue_lock);
	if (a->has_place)
		return 0;
	if (READ_ONCE(f->ended))
		return -ENODEV;
	return left < 0 ? left : -EAGAIN;
}

/* --------------------------------------------------------------------- replies */

static struct unic_reply *find_reply(struct list_head *list, u32 seq)
{
	struct unic_reply *r;

	list_for_each_entry(r, list, node)
		if (r->seq == seq)
			return r;
	return NULL;
}

void unic_call_reply(struct unic_file *f, const void *msg, u32 bytes)
{
	struct unic_reply *r;
	struct unic_ctl_hdr hdr;

	memcpy(&hdr, msg, sizeof(hdr));
	r = find_reply(&f->open, unic_from_le32(hdr.seq));
	/* issue_request() adds memory for each */
	if (WARN_ON_ONCE(!r))
		return;
	r->bytes = min(bytes, r->room);
	memcpy(r->msg, msg, r->bytes);
	list_move_tail(&r->node, &f->replies);
	if (wq_has_sleeper(&f->answered))
		wake_up_interruptible_all(&f->answered);
}

static void reply_discard(struct unic_reply *r)
{
	if (r)
		free_pages_exact(r->msg, r->room);
	kfree(r);
}

/* Keeps @r for the next request of @f, and frees what was kept. */
static void reply_free(struct unic_file *f, struct unic_reply *r)
{
	reply_discard(r ? xchg(&f->spare, r) : NULL);
}

/* Memory for a reply of @room bytes; the caller holds no lock. NULL: no memory. */
static struct unic_reply *reply_new(struct unic_file *f, u32 room)
{
	struct unic_reply *r = xchg(&f->spare, NULL);

	if (r && r->room >= room)
		return r;
	reply_discard(r);
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;
	r->room = room;
	/* most callers ask for the longest reply, which is whole pages */
	r->msg = alloc_pages_exact(room, GFP_KERNEL_ACCOUNT);
	if (r->msg)
		return r;
	kfree(r);
	return NULL;
}

static void discard_all(struct list_head *list)
{
	struct unic_reply *r, *next;

	list_for_each_entry_safe(r, next, list, node)
		reply_discard(r);
}

void unic_call_init(struct unic_file *f)
{
	spin_lock_init(&f->queue_lock);
	INIT_LIST_HEAD(&f->queue);
	init_waitqueue_head(&f->answered);
	INIT_LIST_HEAD(&f->open);
	INIT_LIST_HEAD(&f->replies);
}

void unic_call_free(struct unic_file *f)
{
	discard_all(&f->open);
	discard_all(&f->replies);
	reply_discard(f->spare);
}

void unic_call_wake(struct unic_file *f)
{
	clear_queue(f);
	wake_up_all(&f->answered);
}

/* -------------------------------------------------------------------- a call */

/* Takes the reply to request @seq off the list, for the caller to free; NULL: none. */
static struct unic_reply *dequeue_reply(struct unic_file *f, u32 seq)
{
	struct unic_reply *r = find_reply(&f->replies, seq);

	if (r) {
		list_del(&r->node);
		put_place(f);
	}
	return r;
}

static bool is_call_done(void *arg)
{
	struct awaited *a = arg;

	a->reply = dequeue_reply(a->f, a->seq);
	return a->reply || a->f->ended;
}

/* @pins: fetched for the request; those that the core did not use stay in the
 * list. */
static void issue_request(struct awaited *a, const void *msg, u32 bytes,
			  struct list_head *pins)
{
	struct unic_file *f = a->f;
	struct unic_os *os = f->os;
	struct unic_frame_tables *t = NULL;
	struct unic_reply *r = a->blank;

	if (f->core.slot != UNIC_OS_NO_SLOT) {
		t = os->slot[f->core.slot].frames;
		unic_pins_ready(t, pins);
	}
	a->blank = NULL;
	list_add_tail(&r->node, &f->open);
	trace_unic_request(os, f->core.pid, msg, bytes);
	/* @msg is a whole record, so the core replies */
	unic_host_request(os->host, &f->core, msg, bytes);
	if (t)
		unic_pins_ready(t, NULL);
}

/* The caller polls for its reply, so the NIC does not ring. */
static int issue_and_spin(struct awaited *a, const void *msg, u32 bytes,
			  struct list_head *pins)
{
	struct unic_os *os = a->f->os;
	unsigned int noio = unic_lock(os);
	int err = a->f->ended ? -ENODEV : 0;

	if (!err) {
		unic_host_rest(os->host, false);
		issue_request(a, msg, bytes, pins);
		unic_engine_spin(os, is_call_done, a);
	}
	unic_unlock(os, noio);
	return err;
}

/* Allocates the memory of the reply and fetches the pages that @msg registers,
 * then issues the request. The caller has a place. */
static int submit_msg(struct awaited *a, const void *msg, u32 bytes, u32 room)
{
	struct unic_ctl_hdr hdr;
	LIST_HEAD(pins);
	int err;

	a->blank = reply_new(a->f, room);
	if (!a->blank)
		return -ENOMEM;
	memcpy(&hdr, msg, sizeof(hdr));
	a->blank->seq = unic_from_le32(hdr.seq);
	err = unic_prefetch(a->f->mem, &a->f->core, msg, bytes, &pins);
	if (!err)
		err = issue_and_spin(a, msg, bytes, &pins);
	unic_prefetch_drop(a->f->mem, &pins);
	reply_free(a->f, a->blank);
	return err;
}

static int submit_user_msg(struct awaited *a, const void __user *from,
			   u32 bytes, u32 room)
{
	u64 record[UNIC_CTL_BYTES / 8];
	void *msg = record;
	int err;

	if (bytes > sizeof(record))
		msg = memdup_user(from, bytes);
	else if (copy_from_user(record, from, sizeof(record)))
		return -EFAULT;
	if (IS_ERR(msg))
		return PTR_ERR(msg);
	err = submit_msg(a, msg, bytes, room);
	if (msg != record)
		kfree(msg);
	return err;
}

/* Takes a place before any memory, so that calls that wait have none. */
static int submit_call(struct awaited *a, const struct unic_ioc_call *call)
{
	u32 bytes = unic_from_le32(call->bytes);
	u32 room = min(unic_from_le32(call->room), UNIC_CTL_MSG_MAX);
	int err;

	if (bytes < UNIC_CTL_BYTES || room < UNIC_CTL_BYTES)
		return -EINVAL;
	if (bytes > UNIC_CTL_MSG_MAX)
		return -EMSGSIZE;
	err = take_place(a, unic_from_le64(call->until_ns));
	if (err)
		return err;
	err = submit_user_msg(a, u64_to_user_ptr(unic_from_le64(call->msg)),
			      bytes, room);
	if (err)
		put_place(a->f);
	return err;
}

static bool poll_reply(struct awaited *a)
{
	unsigned int noio = unic_lock(a->f->os);
	bool over = is_call_done(a);

	unic_unlock(a->f->os, noio);
	return over;
}

/* Checks for the reply after every reply to this file. woken_wake_function() records a
 * wake-up that comes between the check and the sleep. */
static int wait_reply(struct awaited *a, u64 until_ns)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	add_wait_queue(&a->f->answered, &wait);
	while (!poll_reply(a) && !err) {
		long left = jiffies_until(until_ns);

		if (signal_pending(current))
			err = -ERESTARTSYS;
		else if (!left)
			err = -ETIMEDOUT;
		else
			wait_woken(&wait, TASK_INTERRUPTIBLE, left);
	}
	remove_wait_queue(&a->f->answered, &wait);
	if (a->reply)
		return 0;
	return err ? err : -ENODEV;
}

/* Copies the record, and as much of its tail as call->room allows. */
static int copy_reply_to_user(const struct unic_reply *r,
			      struct unic_ioc_call *call)
{
	u8 __user *to = u64_to_user_ptr(unic_from_le64(call->reply));
	u32 got = min(r->bytes, unic_from_le32(call->room));

	if (got < UNIC_CTL_BYTES)
		return -EINVAL;
	if (copy_to_user(to, r->msg, got))
		return -EFAULT;
	call->got = unic_to_le32(got);
	return 0;
}

long unic_call(struct unic_file *f, struct unic_ioc_call __user *arg)
{
	struct unic_ioc_call call;
	struct awaited a = { .f = f };
	int err = 0;

	if (copy_from_user(&call, arg, sizeof(call)))
		return -EFAULT;
	a.seq = unic_from_le32(call.seq);
	if (call.bytes)
		err = submit_call(&a, &call);
	if (!err && !a.reply)
		err = put_user(0, (u32 __user *)&arg->bytes);
	if (!err && !a.reply)
		err = wait_reply(&a, unic_from_le64(call.until_ns));
	if (!err)
		err = copy_reply_to_user(a.reply, &call);
	reply_free(f, a.reply);
	if (!err && put_user((__force u32)call.got, (u32 __user *)&arg->got))
		err = -EFAULT;
	return err;
}
