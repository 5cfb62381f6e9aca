/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_memory.c - memory that the library hands out, takes over and
 * gives back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "libunic_rig.h"

static void memory_is_contiguous_and_frames_are_not(void **state)
{
	struct rig r;
	uint8_t *mem;
	unsigned int i;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 3 * PAGE, PAGE);
	assert_non_null(mem);
	for (i = 0; i < 3 * PAGE; i++)
		mem[i] = (uint8_t)(i / PAGE + 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(drv.slot[(SLOT_PAGES - 3 - i) * PAGE], i + 1);
	assert_int_equal(unic_free(r.ctx, mem + PAGE), -EINVAL);
	assert_int_equal(unic_free(r.ctx, mem), 0);
	assert_null(unic_alloc(r.ctx, 1, 5000));
	rig_down(&r);
}

static void a_wild_frame_is_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_up(&r);
	drv.bad_frame = SLOT_PAGES;
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	drv.bad_frame = 1; /* the NIC's own page */
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	assert_int_equal(errno, EPROTO);
	drv.bad_frame = 0;
	rig_down(&r);
}

static volatile int spin_stop;

static void *spin(void *arg)
{
	volatile uint32_t *word = arg;

	while (!spin_stop)
		(*word)++;
	return NULL;
}

static void foreign_memory_is_moved(void **state)
{
	uint8_t *mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t other;
	const volatile uint32_t *written;
	struct unic_mr *mr;
	struct rig r;
	uint32_t before, i;

	(void)state;
	rig_up(&r);
	memset(mem + PAGE, 0x5a, PAGE);
	spin_stop = 0;
	pthread_create(&other, NULL, spin, mem + 2 * PAGE);
	mr = reg(&r, mem + PAGE + 8, PAGE + 16);
	assert_int_equal(mem[PAGE], 0x5a);
	mem[PAGE] = 1;
	/* The pages are the slot's now, and the other thread writes to them. */
	assert_int_equal(drv.slot[drv.next_frame * PAGE + PAGE], 1);
	written = (void *)(drv.slot + drv.next_frame * PAGE);
	before = *written;
	for (i = 0; i < 10000 && *written == before; i++)
		usleep(1000); /* until the thread runs */
	assert_int_not_equal(*written, before);
	spin_stop = 1;
	pthread_join(other, NULL);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	assert_int_equal(mem[PAGE], 1); /* private memory again */
	munmap(mem, 4 * PAGE);
}

static volatile bool is_ready;

/* As spin(), with all signals blocked that pthread_sigmask() blocks. */
static void *spin_deaf(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	is_ready = true;
	return spin(arg);
}

/* ... and those that it does not. */
static void *spin_deafer(void *arg)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	is_ready = true;
	return spin(arg);
}

static pthread_t start_spin(void *(*run)(void *), uint8_t *mem)
{
	pthread_t t;

	spin_stop = 0;
	is_ready = false;
	assert_int_equal(pthread_create(&t, NULL, run, mem), 0);
	while (!is_ready)
		usleep(100);
	return t;
}

/* Threads that block signals are stopped like others, and setgid() still reaches all. */
static void deaf_threads_stop(void **state)
{
	uint8_t *mem = own_pages(NULL, 4);
	struct unic_mr_attr attr = { .addr = mem, .length = PAGE };
	struct unic_mr *mr;
	pthread_t other;
	struct rig r;

	(void)state;
	rig_up(&r);
	other = start_spin(spin_deaf, mem + 2 * PAGE);
	mr = reg(&r, mem + PAGE + 8, PAGE + 16);
	assert_int_equal(unic_dereg_mr(mr), 0);
	alarm(20);
	assert_int_equal(setgid(getgid()), 0);
	alarm(0);
	spin_stop = 1;
	pthread_join(other, NULL);
	other = start_spin(spin_deafer, mem + 3 * PAGE);
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EBUSY);
	spin_stop = 1;
	pthread_join(other, NULL);
	mr = reg(&r, mem, PAGE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	munmap(mem, 4 * PAGE);
}

/* Buffers that were deregistered make room when the slot has none, the oldest first; those
 * that are registered do not, nor what is being registered. */
static void idle_memory_makes_room(void **state)
{
	uint8_t *mem[6];
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_rereg_attr anew = { .what = UNIC_REREG_RANGE,
					.length = 3 * PAGE };
	struct unic_mr *held, *rest, *mr;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_up(&r);
	drv.frames = drv.taken_frames + 3;
	for (i = 0; i < 6; i++) {
		mem[i] = own_pages(NULL, 3);
		memset(mem[i], (int)i + 1, 2 * PAGE);
	}
	held = reg(&r, mem[0], PAGE);
	for (i = 1; i < 5; i++) {
		mr = reg(&r, mem[i], PAGE);
		assert_int_equal(unic_dereg_mr(mr), 0);
	}
	/* the first one is there, the second and third have gone, in this order */
	assert_int_equal(drv.freed, 2);
	for (i = 0; i < 5; i++)
		assert_int_equal(mem[i][PAGE - 1], i + 1);
	mr = reg(&r, mem[4], PAGE); /* without a request for frames */
	assert_int_equal(unic_dereg_mr(mr), 0);
	assert_int_equal(drv.freed, 2);
	/* half of it is in the slot, and stays there while it gets the rest */
	rest = reg(&r, mem[4], 2 * PAGE);
	assert_int_equal(drv.freed, 3);
	assert_int_equal(mem[4][0], 5);
	assert_int_equal(mem[4][2 * PAGE - 1], 5);
	attr.addr = mem[5];
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -ENOMEM);
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	assert_int_equal(unic_dereg_mr(held), 0);
	held = reg(&r, mem[5], PAGE);
	assert_int_equal(drv.freed, 4);
	assert_int_equal(mem[0][0], 1);
	assert_int_equal(unic_dereg_mr(rest), 0);
	anew.addr = mem[4]; /* two of its pages are in the slot */
	assert_int_equal(unic_rereg_mr(held, &anew, NULL), -ENOMEM);
	assert_int_equal(drv.freed, 4);
	assert_int_equal(unic_dereg_mr(held), 0);
	rig_down(&r);
	for (i = 0; i < 6; i++) {
		assert_int_equal(mem[i][0], i + 1);
		munmap(mem[i], 3 * PAGE);
	}
}

/* Memory for a context that can be moved, as that of the heap can without sanitizers. */
static void *ctx_pages;

void *__real_calloc(size_t n, size_t bytes);
void __real_free(void *mem);
void *__wrap_calloc(size_t n, size_t bytes);
void __wrap_free(void *mem);

void *__wrap_calloc(size_t n, size_t bytes)
{
	return ctx_pages && bytes == sizeof(struct unic_ctx)
		       ? ctx_pages
		       : __real_calloc(n, bytes);
}

void __wrap_free(void *mem)
{
	if (!mem || mem != ctx_pages)
		__real_free(mem);
}

/* A child has nothing of what was moved before it has the copies. */
static void fork_with(struct rig *r)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		struct unic_pd *pd;

		_exit(!is_parents(unic_alloc_pd(r->ctx, &pd)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The context lies beside what the application registers. */
static void the_context_may_be_in_it(void **state)
{
	size_t pages = sizeof(struct unic_ctx) / PAGE + 1;
	struct unic_attr before, after;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	ctx_pages = own_pages(NULL, pages);
	memset(ctx_pages, 0, pages * PAGE);
	rig_up(&r);
	assert_ptr_equal(r.ctx, ctx_pages);
	unic_query(r.ctx, &before);
	mr = reg(&r, r.ctx, sizeof(*r.ctx));
	unic_query(r.ctx, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	fork_with(&r);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r); /* private memory again, which is needed on */
	unic_query(ctx_pages, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	munmap(ctx_pages, pages * PAGE);
	ctx_pages = NULL;
}

static void files_and_stacks_are_not(void **state)
{
	uint8_t on_stack[PAGE];
	struct unic_mr_attr attr = { .addr = on_stack, .length = 1 };
	void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EACCES);
	assert_non_null(strstr(unic_last_error(), "stack"));
	attr.addr = shared;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EACCES);
	assert_non_null(strstr(unic_last_error(), "shared"));
	attr.addr = (void *)(uintptr_t)files_and_stacks_are_not;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EACCES);
	assert_non_null(strstr(unic_last_error(), "r-xp"));
	munmap(shared, PAGE);
	attr.addr = shared;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EFAULT);
	assert_non_null(strstr(unic_last_error(), "not mapped"));
	rig_down(&r);
}

/* The driver still has frames at addresses that the application has unmapped
 * and the kernel hands out again: the library frees the frames and asks
 * again. */
static void addresses_that_came_back_can_be_had(void **state)
{
	uint8_t *mem = own_pages(NULL, 1), *other;
	struct rig r;

	(void)state;
	rig_up(&r);
	move_in(&r, mem, 1);
	munmap(mem, PAGE);
	drv.taken = true;
	other = unic_alloc(r.ctx, PAGE, PAGE);
	assert_non_null(other);
	assert_int_equal(drv.freed, 1);
	assert_int_equal(unic_free(r.ctx, other), 0);
	/* here the library has no frames to free */
	drv.taken = true;
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	assert_int_equal(errno, EADDRINUSE);
	drv.taken = false;
	rig_down(&r);
}

static void memory_that_came_back_is_new(void **state)
{
	uint8_t *mem = own_pages(NULL, 4);
	struct rig r;

	(void)state;
	rig_up(&r);
	move_in(&r, mem, 4);
	munmap(mem + PAGE, 2 * PAGE);
	own_pages(mem + PAGE, 2);
	memset(mem, 0x77, 4 * PAGE);
	move_in(&r, mem, 4);
	/* Two pages were moved again, their former frames freed. */
	assert_int_equal(drv.freed, 2);
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 0x77);
	mem[2 * PAGE] = 0x78;
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 0x78);
	move_in(&r, mem, 4);
	assert_int_equal(drv.freed, 2);
	rig_down(&r);
	assert_int_equal(mem[0], 0x77);
	assert_int_equal(mem[2 * PAGE], 0x78);
	munmap(mem, 4 * PAGE);
}

static void memory_that_went_elsewhere_is_found(void **state)
{
	uint8_t *mem = own_pages(NULL, 2);
	uint8_t *there = own_pages(NULL, 2);
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[0] = 1;
	mem[PAGE] = 2;
	move_in(&r, mem, 2);
	/* As realloc() does. */
	assert_ptr_equal(mremap(mem, 2 * PAGE, 2 * PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, there),
			 there);
	mr = reg(&r, there, 2 * PAGE);
	assert_int_equal(drv.freed, 2);
	assert_int_equal(there[0], 1);
	there[PAGE] = 3;
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 3);
	assert_int_equal(unic_dereg_mr(mr), 0);
	/* Moved again before the context ends. */
	mem = own_pages(mem, 2);
	assert_ptr_equal(mremap(there, 2 * PAGE, 2 * PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, mem),
			 mem);
	rig_down(&r);
	drv.slot[drv.next_frame * PAGE] = 4;
	assert_int_equal(mem[0], 1);
	assert_int_equal(mem[PAGE], 3);
	munmap(mem, 2 * PAGE);
}

static void close_leaves_foreign_memory_alone(void **state)
{
	uint8_t *mem = own_pages(NULL, 3);
	void *ro;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[2 * PAGE] = 9;
	move_in(&r, mem, 3);
	munmap(mem, 2 * PAGE);
	ro = mmap(mem, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		  -1, 0);
	assert_ptr_equal(ro, mem);
	/* unic_close() reads the page in the slot, whatever its rights here. */
	mprotect(mem + 2 * PAGE, PAGE, PROT_NONE);
	rig_down(&r);
	assert_int_equal(mem[0], 0);
	mprotect(mem + 2 * PAGE, PAGE, PROT_READ);
	assert_int_equal(mem[2 * PAGE], 9);
	munmap(mem, PAGE);
	munmap(mem + 2 * PAGE, PAGE);
}

/* The heap that is moved to the slot holds the library's own lists. */
static void a_heap_is_moved(void **state)
{
	uint8_t *top = sbrk(0);
	uint8_t *mem = (void *)(((uintptr_t)top + PAGE - 1) & ~(PAGE - 1ul));
	struct rig r;

	(void)state;
	assert_ptr_equal(sbrk(3 * PAGE + (mem - top)), top);
	rig_up(&r);
	memset(mem, 0x31, 3 * PAGE);
	move_in(&r, mem, 3);
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 0x31);
	sbrk(-(intptr_t)PAGE);
	rig_down(&r);
	assert_int_equal(mem[PAGE], 0x31);
	sbrk(-(2 * PAGE + (mem - top)));
}

struct stack_use {
	struct rig *r;
	int err;
};

static __attribute__((noinline)) int reg_deep(struct rig *r, void *mem,
					      size_t len)
{
	struct unic_mr_attr attr = { .addr = mem, .length = len };
	volatile uint8_t depth[8 * PAGE];
	struct unic_mr *mr;

	depth[0] = depth[8 * PAGE - 1] = 0;
	return unic_reg_mr(r->pd, &attr, &mr);
}

static void *reg_own_stack(void *arg)
{
	struct stack_use *use = arg;
	uint8_t mem[4 * PAGE];

	memset(mem, 1, sizeof(mem));
	use->err = reg_deep(use->r, mem, sizeof(mem));
	return NULL;
}

static void *sleep_until_stop(void *arg)
{
	while (!__atomic_load_n(&spin_stop, __ATOMIC_RELAXED))
		usleep(1000);
	return arg;
}

/* A thread's stack is refused, also below its pointer: it may grow there. */
static void stacks_of_threads_are_not(void **state)
{
	struct rig r;
	struct stack_use use = { .r = &r };
	size_t len = 64 * PAGE;
	uint8_t *stack = own_pages(NULL, 64 + 4);
	pthread_attr_t attr;
	pthread_t t;

	(void)state;
	rig_up(&r);
	assert_int_equal(pthread_create(&t, NULL, reg_own_stack, &use), 0);
	pthread_join(t, NULL);
	assert_int_equal(use.err, -EACCES);
	spin_stop = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, len);
	assert_int_equal(pthread_create(&t, &attr, sleep_until_stop, NULL), 0);
	assert_int_equal(reg_deep(&r, stack + 4 * PAGE, PAGE), -EACCES);
	assert_non_null(strstr(unic_last_error(), "stack"));
	/* in one mapping with the stack, but no part of it */
	move_in(&r, stack + len + PAGE, 2);
	spin_stop = 1;
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	move_in(&r, stack + 4 * PAGE, 1);
	rig_down(&r);
	munmap(stack, len + 4 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(memory_is_contiguous_and_frames_are_not),
		WITH_DRIVER(a_wild_frame_is_refused),
		WITH_DRIVER(foreign_memory_is_moved),
		WITH_DRIVER(deaf_threads_stop),
		WITH_DRIVER(idle_memory_makes_room),
		WITH_DRIVER(the_context_may_be_in_it),
		WITH_DRIVER(files_and_stacks_are_not),
		WITH_DRIVER(addresses_that_came_back_can_be_had),
		WITH_DRIVER(memory_that_came_back_is_new),
		WITH_DRIVER(memory_that_went_elsewhere_is_found),
		WITH_DRIVER(close_leaves_foreign_memory_alone),
		WITH_DRIVER(a_heap_is_moved),
		WITH_DRIVER(stacks_of_threads_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
