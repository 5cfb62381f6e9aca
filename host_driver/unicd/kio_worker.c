/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_worker.c - reads and writes files in a thread of its own: a disk may be slow, a
 * network file system may hang, and the driver has notices to deliver.
 *
 * Secret: the thread. Tasks lie in a ring with a buffer each: `begun` are the
 * driver's to write, `done` the worker's, both under the lock, and between the two
 * a task is the worker's alone. One thread, so what was begun first is done first.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "kio_worker.h"
#include "kio_files.h"
#include "kio_server.h"
#include "unicd_os.h"

#define PLACES 16u

struct place {
	struct unic_kio_task task;
	char name[UNIC_KIO_NAME_MAX];
	uint8_t buf[UNIC_KIO_MAX];
};

struct worker {
	struct unic_kio_store store;
	struct unicd_files *files;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, over;
	uint32_t begun, done; /* free-running */
	uint32_t taken;	      /* the driver's own */
	bool stop, stopped;
	int wake_fd;
	struct place place[PLACES];
};

static struct worker *worker_of(struct unic_kio_store *s)
{
	return (struct worker *)(void *)s;
}

/* ------------------------------------------------------------- the thread */

static void wake_driver(const struct worker *w)
{
	const uint64_t one = 1;

	/* EAGAIN: it is readable already, which is enough */
	(void)!write(w->wake_fd, &one, sizeof(one));
}

/* The next task, or NULL: stop. */
static struct place *wait_task(struct worker *w)
{
	struct place *p = NULL;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && w->begun == w->done)
		pthread_cond_wait(&w->work, &w->lock);
	if (!w->stop)
		p = &w->place[w->done % PLACES];
	pthread_mutex_unlock(&w->lock);
	return p;
}

static void *worker_thread(void *arg)
{
	struct worker *w = arg;
	struct place *p;

	while ((p = wait_task(w))) {
		p->task.n = unicd_files_run(w->files, &p->task);
		pthread_mutex_lock(&w->lock);
		w->done++;
		pthread_mutex_unlock(&w->lock);
		wake_driver(w);
	}
	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	pthread_cond_signal(&w->over);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ------------------------------------------------------------- the driver */

static bool worker_begin(struct unic_kio_store *s,
			 const struct unic_kio_task *task)
{
	struct worker *w = worker_of(s);
	struct place *p = &w->place[w->begun % PLACES];

	if (w->begun - w->taken == PLACES)
		return false;
	p->task = *task;
	memcpy(p->name, task->name, task->name_bytes);
	p->task.name = p->name;
	p->task.buf = task->len ? p->buf : NULL;
	if (task->op == UNIC_KIO_WRITE)
		memcpy(p->buf, task->buf, task->len);
	pthread_mutex_lock(&w->lock);
	w->begun++;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	return true;
}

static bool worker_end(struct unic_kio_store *s, struct unic_kio_server *of)
{
	struct unic_kio_task task = { .server = of, .name = "" };

	return worker_begin(s, &task);
}

/* The next worker_begin() may reuse the place of @task, so the page service uses up
 * its buffer before it begins another one. */
static bool worker_next(struct unic_kio_store *s, struct unic_kio_task *task)
{
	struct worker *w = worker_of(s);
	uint32_t done;

	pthread_mutex_lock(&w->lock);
	done = w->done;
	pthread_mutex_unlock(&w->lock);
	if (w->taken == done)
		return false;
	*task = w->place[w->taken++ % PLACES].task;
	return true;
}

/* ------------------------------------------------------------- start, stop */

/* The thread blocks all signals: they are for the driver's. */
static int start_thread(struct worker *w)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&w->thread, NULL, worker_thread, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

struct unic_kio_store *unicd_worker_start(struct unicd *d,
					  struct unicd_files *files)
{
	struct worker *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	if (w) {
		w->store.begin = worker_begin;
		w->store.next = worker_next;
		w->store.end = worker_end;
		w->files = files;
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->work, NULL);
		pthread_cond_init(&w->over, NULL);
		w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		err = w->wake_fd < 0
			      ? -errno
			      : unicd_watch_any(d, w->wake_fd, UNICD_EV_KIO,
						(uint32_t)w->wake_fd, EPOLLIN);
	}
	if (!err)
		err = start_thread(w);
	if (!err)
		return &w->store;
	unicd_say("no thread for files: %s", strerror(-err));
	if (w && w->wake_fd >= 0)
		close(w->wake_fd);
	free(w);
	return NULL;
}

bool unicd_worker_stop(struct unic_kio_store *store)
{
	struct worker *w = worker_of(store);
	struct timespec until;
	bool stopped;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->work);
	while (!w->stopped &&
	       !pthread_cond_timedwait(&w->over, &w->lock, &until))
		;
	stopped = w->stopped;
	pthread_mutex_unlock(&w->lock);
	if (!stopped)
		return false;
	pthread_join(w->thread, NULL);
	close(w->wake_fd);
	free(w);
	return true;
}
