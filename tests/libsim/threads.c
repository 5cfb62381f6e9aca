/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * threads.c - threads, mutexes and conditions, as libunic calls them. A mutex or
 * condition is used as its owner may: unlocked by who locked it, and by nobody once it
 * is destroyed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "fiber.h"
#include "process.h"
#include "world.h"

#define DEAD	 0x64656164u
#define SPURIOUS 64u /* one wait in so many ends without a reason */

/* Instead of what the C library has there; zeroes are a mutex that nobody has. */
struct mutex {
	uint32_t owner; /* thread; 0: none */
	uint32_t depth;
	uint32_t recursive, dead;
};

_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "in its place");

struct cond {
	uint32_t dead;
};

static struct mutex *mutex_of(pthread_mutex_t *m)
{
	struct mutex *own = (void *)m;

	if (own->dead == DEAD)
		sim_fail("threads", "%s uses a mutex that is destroyed",
			 process_name(fiber_process()));
	return own;
}

static struct cond *cond_of(pthread_cond_t *c)
{
	struct cond *own = (void *)c;

	if (own->dead == DEAD)
		sim_fail("threads", "%s uses a condition that is destroyed",
			 process_name(fiber_process()));
	return own;
}

/* ------------------------------------------------------------------- mutexes */

int sys_pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
	memset(attr, 0, sizeof(*attr));
	return 0;
}

int sys_pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
	memcpy(attr, &type, sizeof(type));
	return 0;
}

int sys_pthread_mutexattr_destroy(pthread_mutexattr_t *attr)
{
	(void)attr;
	return 0;
}

int sys_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	struct mutex *own = (void *)m;
	int type = 0;

	if (attr)
		memcpy(&type, attr, sizeof(type));
	memset(m, 0, sizeof(*m));
	own->recursive = type == PTHREAD_MUTEX_RECURSIVE;
	return 0;
}

int sys_pthread_mutex_destroy(pthread_mutex_t *m)
{
	struct mutex *own = mutex_of(m);

	if (own->owner || fiber_sleeps(fiber_process(), m))
		sim_fail("threads", "%s destroys a mutex that is in use",
			 process_name(fiber_process()));
	own->dead = DEAD;
	return 0;
}

static void lock(struct mutex *m)
{
	if (m->owner == fiber_number()) {
		if (!m->recursive)
			sim_fail("threads", "%s locks a mutex twice",
				 process_name(fiber_process()));
		m->depth++;
		return;
	}
	while (m->owner)
		fiber_block(m, FIBER_ALWAYS);
	m->owner = fiber_number();
	m->depth = 1;
}

static void unlock(struct mutex *m)
{
	if (m->owner != fiber_number())
		sim_fail("threads", "%s unlocks a mutex of another thread",
			 process_name(fiber_process()));
	if (--m->depth)
		return;
	m->owner = 0;
	fiber_wake(fiber_process(), m, false);
}

int sys_pthread_mutex_lock(pthread_mutex_t *m)
{
	fiber_step();
	lock(mutex_of(m));
	return 0;
}

int sys_pthread_mutex_unlock(pthread_mutex_t *m)
{
	unlock(mutex_of(m));
	fiber_step();
	return 0;
}

/* ---------------------------------------------------------------- conditions */

int sys_pthread_condattr_init(pthread_condattr_t *attr)
{
	memset(attr, 0, sizeof(*attr));
	return 0;
}

int sys_pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock)
{
	(void)attr;
	if (clock != CLOCK_MONOTONIC)
		sim_fail("threads", "a condition with clock %d", (int)clock);
	return 0;
}

int sys_pthread_condattr_destroy(pthread_condattr_t *attr)
{
	(void)attr;
	return 0;
}

int sys_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	(void)attr;
	memset(c, 0, sizeof(*c));
	return 0;
}

int sys_pthread_cond_destroy(pthread_cond_t *c)
{
	struct cond *own = cond_of(c);

	if (fiber_sleeps(fiber_process(), c))
		sim_fail("threads", "%s destroys a condition that is in use",
			 process_name(fiber_process()));
	own->dead = DEAD;
	return 0;
}

static int wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until_ns)
{
	struct mutex *own = mutex_of(m);
	bool woken = true;

	cond_of(c);
	if (own->owner != fiber_number() || own->depth != 1)
		sim_fail("threads", "%s waits without its mutex",
			 process_name(fiber_process()));
	unlock(own);
	if (process_below(fiber_process(), SPURIOUS))
		woken = fiber_block(c, until_ns);
	lock(own);
	return woken ? 0 : ETIMEDOUT;
}

int sys_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_until(c, m, FIBER_ALWAYS);
}

int sys_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			       const struct timespec *ts)
{
	uint64_t at = (uint64_t)ts->tv_sec * 1000000000u +
		      (uint64_t)ts->tv_nsec -
		      world->node[fiber_process()->node]->os->offset_ns;

	if (at <= sim_now())
		at = sim_now() + 1;
	return wait_until(c, m, at);
}

int sys_pthread_cond_signal(pthread_cond_t *c)
{
	cond_of(c);
	fiber_wake(fiber_process(), c, false);
	return 0;
}

int sys_pthread_cond_broadcast(pthread_cond_t *c)
{
	cond_of(c);
	fiber_wake(fiber_process(), c, true);
	return 0;
}

/* ------------------------------------------------------------------- threads */

int sys_pthread_attr_init(pthread_attr_t *attr)
{
	memset(attr, 0, sizeof(*attr));
	return 0;
}

int sys_pthread_attr_setdetachstate(pthread_attr_t *attr, int state)
{
	memcpy(attr, &state, sizeof(state));
	return 0;
}

int sys_pthread_attr_destroy(pthread_attr_t *attr)
{
	(void)attr;
	return 0;
}

int sys_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		       void *(*start)(void *arg), void *arg)
{
	int state = PTHREAD_CREATE_JOINABLE;

	if (attr)
		memcpy(&state, attr, sizeof(state));
	*thread = fiber_start(fiber_process(), start, arg);
	if (state == PTHREAD_CREATE_DETACHED)
		fiber_detach((uint32_t)*thread);
	fiber_step();
	return 0;
}

/* There are no signals here. */
int sys_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	(void)how;
	(void)set;
	(void)before;
	return 0;
}

int sys_pthread_join(pthread_t thread, void **value)
{
	(void)value;
	fiber_join((uint32_t)thread);
	return 0;
}

pthread_t sys_pthread_self(void)
{
	return fiber_number();
}

/* There is no fork() here. The program calls this before there is a thread. */
int sys_pthread_atfork(void (*prepare)(void), void (*parent)(void),
		       void (*child)(void))
{
	(void)prepare;
	(void)parent;
	(void)child;
	return 0;
}
