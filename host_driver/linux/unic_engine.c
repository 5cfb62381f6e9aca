// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_engine.c - the thread that runs the core: after the NIC rang, after
 * unic_dev_kick(), and at the time that the core named.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>

#include "unic_dev.h"
#include "unic_engine.h"
#include "unic_kclient.h"
#include "unic_slot.h"
#include "unic_trace.h"

static uint spin_us = 50;
module_param(spin_us, uint, 0644);
MODULE_PARM_DESC(spin_us, "us that a caller polls the NIC before it sleeps");

#define SPIN_US_MAX 100000u
#define LOOK_NS	    250000000ull /* interval of detect_nic() */

/* No event says that a NIC joined or left; its magic does. */
static void detect_nic(struct unic_os *os)
{
	const struct unic_info *info = os->bar + UNIC_BAR_INFO_OFF;
	bool there = unic_from_le32(UNIC_LOAD(info->magic)) == UNIC_MAGIC;

	if (there == os->plugged || os->fenced)
		return;
	os->plugged = there;
	dev_info_ratelimited(&os->dev, "the NIC %s\n",
			     there ? "is there" : "left");
	unic_host_plug(os->host, there);
}

/* Lets the NIC ring again, which it does not while it is polled; wakes the engine if
 * there is something left to do. */
static void end_poll_mode(struct unic_os *os, u64 next)
{
	if (!unic_host_rest(os->host, true) || !list_empty(&os->kclients) ||
	    (os->wakes_ns && next < os->wakes_ns))
		unic_dev_kick(os);
}

/* Polls the core, and its users in the kernel before what is next there fills their upcall
 * rings. Returns when to poll again. */
static u64 poll_all(struct unic_os *os)
{
	u64 next = unic_host_poll(os->host);
	u64 other = unic_kclients_poll(os);

	return min(next, other);
}

void unic_engine_spin(struct unic_os *os, bool (*over)(void *arg), void *arg)
{
	u64 until = 0, now, next;

	for (;;) {
		unic_host_soon(os->host);
		next = poll_all(os);
		if (over(arg) || need_resched() || signal_pending(current))
			break;
		now = ktime_get_ns();
		if (!until)
			until = now + min(spin_us, SPIN_US_MAX) * NSEC_PER_USEC;
		if (now >= until)
			break;
		mutex_unlock(&os->lock);
		cpu_relax();
		mutex_lock(&os->lock);
		if (!os->host)
			return;
	}
	end_poll_mode(os, next);
}

static void trace_nic(struct unic_os *os)
{
	u32 now = unic_host_nic(os->host);

	if (now != os->nic)
		trace_unic_nic(os, now);
	WRITE_ONCE(os->nic, now);
}

/* Runs the core once. Returns when to run it again; 0: at once. */
static u64 run_engine_once(struct unic_os *os)
{
	u64 next, other, now;
	unsigned int noio;

	noio = unic_lock(os);
	os->wakes_ns = 0;
	detect_nic(os);
	next = poll_all(os);
	trace_nic(os);
	other = unic_slots_poll(os);
	next = min(next, other);
	now = ktime_get_ns();
	if (next > now && unic_host_rest(os->host, true))
		os->wakes_ns = min(next, now + LOOK_NS);
	next = os->wakes_ns;
	unic_unlock(os, noio);
	return next;
}

static void engine_sleep_until(struct unic_os *os, u64 next)
{
	u64 now = ktime_get_ns();

	if (next <= now)
		cond_resched();
	else
		wait_event_interruptible_hrtimeout(
			os->wake,
			atomic_xchg(&os->kicked, 0) || kthread_should_stop(),
			ns_to_ktime(next - now));
}

static int engine_thread(void *data)
{
	struct unic_os *os = data;
	unsigned int noio = memalloc_noio_save(); /* see unic_os_alloc() */

	while (!kthread_should_stop())
		engine_sleep_until(os, run_engine_once(os));
	memalloc_noio_restore(noio);
	return 0;
}

int unic_engine_start(struct unic_os *os)
{
	struct task_struct *t;

	t = kthread_run(engine_thread, os, "%s", dev_name(&os->dev));
	if (IS_ERR(t))
		return PTR_ERR(t);
	os->thread = t;
	return 0;
}

void unic_engine_stop(struct unic_os *os)
{
	if (os->thread)
		kthread_stop(os->thread);
	os->thread = NULL;
}
