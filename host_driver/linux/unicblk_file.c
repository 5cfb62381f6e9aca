// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unicblk_file.c - the file on the other host, before it is a disk.
 *
 * Secret: what frees a question whose caller has left before the answer.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "unicblk.h"
#include "unicblk_file.h"

#define SET_UP_MS 10000u

void unicblk_file_name(const struct unicblk *b, struct unic_kio *io)
{
	io->name_bytes = strlen(b->file);
	memcpy(io->name, b->file, io->name_bytes);
}

/* LEFT: the caller has left before the answer, which frees the question. Each
 * question holds a reference to the module. */
enum question_state {
	ASKED,
	ANSWERED,
	LEFT,
};

struct question {
	struct unic_resident_io io;
	struct completion over;
	atomic_t state;
	int status;
	struct unic_resident *of; /* LEFT: the question has the reference */
	struct work_struct end;
};

static void question_free(struct question *q)
{
	kfree(q);
	/* unicblk_exit() waits until this function has returned */
	module_put(THIS_MODULE);
}

static void question_end(struct work_struct *work)
{
	struct question *q = container_of(work, struct question, end);

	unic_resident_put(q->of);
	question_free(q);
}

/* The errno of the peer, or -EIO for a number that user space does not know. */
static int error_of(u32 remote)
{
	return remote && remote <= EHWPOISON ? -(int)remote : -EIO;
}

static void question_done(struct unic_resident_io *io, int status, u32 bytes)
{
	struct question *q = container_of(io, struct question, io);

	q->status = status == -EREMOTEIO ? error_of(io->io.remote) : status;
	if (status == -ENOLINK || status == -EIO)
		q->status = -EAGAIN;
	if (atomic_cmpxchg(&q->state, ASKED, ANSWERED) == LEFT)
		queue_work(unicblk_later, &q->end);
	else
		complete(&q->over);
}

static struct question *question_new(struct unicblk *b, u8 op, u64 offset,
				     u64 deadline_ns)
{
	struct question *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q || !try_module_get(THIS_MODULE)) {
		kfree(q);
		return NULL;
	}
	init_completion(&q->over);
	INIT_WORK(&q->end, question_end);
	q->of = b->resident;
	q->io.io.op = op;
	unicblk_file_name(b, &q->io.io);
	q->io.io.offset = offset;
	q->io.io.deadline_ns = deadline_ns;
	q->io.done = question_done;
	return q;
}

/* Asks the other host once. -EINTR: a signal ended the wait; if b->resident is
 * NULL then, its reference belongs to the answer, which may never come. */
static int do_file_op_once(struct unicblk *b, u8 op, u64 offset,
			   u64 deadline_ns, u64 *size)
{
	struct question *q = question_new(b, op, offset, deadline_ns);
	int err;

	if (!q)
		return -ENOMEM;
	err = unic_resident_start(b->resident, &q->io, b->ipv4);
	if (!err && wait_for_completion_interruptible(&q->over)) {
		if (atomic_cmpxchg(&q->state, ASKED, LEFT) == ASKED) {
			b->resident = NULL;
			return -EINTR;
		}
		wait_for_completion(&q->over); /* question_done() has begun */
	}
	if (!err)
		err = q->status;
	*size = q->io.io.size;
	question_free(q);
	return err;
}

/* Repeats STAT or CUT until SET_UP_MS are over. Returns 0 or a negative errno. */
static int do_file_op(struct unicblk *b, u8 op, u64 offset, u64 *size)
{
	u64 deadline = ktime_get_ns() + (u64)SET_UP_MS * NSEC_PER_MSEC;
	int err;

	do {
		err = do_file_op_once(b, op, offset, deadline, size);
		if ((err == -EAGAIN || err == -EBUSY) &&
		    msleep_interruptible(UNICBLK_AGAIN_MS))
			err = -EINTR;
	} while ((err == -EAGAIN || err == -EBUSY) &&
		 ktime_get_ns() < deadline);
	return err;
}

int unicblk_file_open(struct unicblk *b)
{
	u64 size = 0;
	int err = do_file_op(b, UNIC_KIO_STAT, 0, &size);

	if (b->bytes && !b->read_only &&
	    (err == -ENOENT || (!err && size < b->bytes))) {
		err = do_file_op(b, UNIC_KIO_CUT, b->bytes, &size);
		size = b->bytes;
	}
	if (!err && (!b->bytes || size < b->bytes))
		b->bytes = size;
	/* the size is the peer's word, and the block layer counts bytes in a
	 * signed number */
	if (!err && (b->bytes < PAGE_SIZE || b->bytes > S64_MAX))
		err = -EINVAL;
	return err;
}
