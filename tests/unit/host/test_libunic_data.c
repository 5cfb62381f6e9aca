/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_data.c - data of programs, which are private mappings of a file and what lies
 * beside them, is moved into the slot and back, whatever the program does meanwhile.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#include "absent.h"
#include "libunic_rig.h"

/* The call of mmap() from now on that maps frames of the slot and fails; 0: none. */
static int fail_at;

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd,
		  off_t off);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd,
		  off_t off);

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd,
		  off_t off)
{
	if (fail_at && flags == (MAP_SHARED | MAP_FIXED) && !--fail_at) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, bytes, prot, flags, fd, off);
}

/* As at the limit of mappings of a process. */
static bool no_mremap;

void *__real_mremap(void *at, size_t bytes, size_t to, int flags, void *where);
void *__wrap_mremap(void *at, size_t bytes, size_t to, int flags, void *where);

void *__wrap_mremap(void *at, size_t bytes, size_t to, int flags, void *where)
{
	if (no_mremap) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mremap(at, bytes, to, flags, where);
}

/* How often the list of mappings was read. */
static uint32_t lists_read;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	lists_read += !strcmp(path, "/proc/self/maps");
	return __real_open(path, flags, 0600);
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

/* As the loader maps data: @n pages of file @fd, private, and two pages of .bss. Byte 0 of page
 * i is i + 1. */
static uint8_t *map_data(int fd, size_t n, int prot)
{
	uint8_t *at = own_pages(NULL, n + 2);
	size_t i;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(n * PAGE)), 0);
	for (i = 0; i < n; i++) {
		uint8_t first = (uint8_t)(i + 1);

		assert_int_equal(pwrite(fd, &first, 1, (off_t)(i * PAGE)), 1);
	}
	assert_ptr_equal(
		mmap(at, n * PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd, 0), at);
	return at;
}

/* True if the mapping of @at is private and has no name. */
static bool is_anonymous(const void *at)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to, inode;
	char line[512], perms[5];
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %4s %*x %*s %lu", &from, &to, perms,
			   &inode) == 4 &&
		    from <= (uintptr_t)at && (uintptr_t)at < to)
			found = !strcmp(perms, "rw-p") && !inode;
	}
	fclose(f);
	return found;
}

static int stop;

/* The bytes of two words are equal whenever another thread looks between two rounds. */
static void *count(void *arg)
{
	volatile uint32_t *word = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		word[0]++;
		word[PAGE / 4]++;
	}
	assert_int_equal(word[0], word[PAGE / 4]);
	return NULL;
}

/* Both kinds at once, in one region, time and again, while another thread writes to both; the
 * file is as it was. */
static void data_and_bss_are_moved(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *mem = map_data(fd, 2, PROT_READ | PROT_WRITE), first;
	uint8_t *rest = own_pages(NULL, 4);
	struct unic_mr *mr;
	pthread_t other;
	struct rig r;
	int i;

	(void)state;
	rig_up(&r);
	mem[0] = 7;
	drv.frames = drv.taken_frames + 4;
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	/* the last word of .data, and one of .bss */
	assert_int_equal(
		pthread_create(&other, NULL, count, mem + PAGE + PAGE - 16), 0);
	for (i = 0; i < 40; i++) {
		move_in(&r, mem, 4);
		move_in(&r, rest, 4); /* which moves the others out */
	}
	assert_int_equal(drv.freed, 4 * (2 * i - 1));
	mr = reg(&r, mem + 8, 3 * PAGE);
	assert_int_equal(mem[0], 7);
	assert_int_equal(mem[PAGE], 2);
	mem[0] = 8;
	assert_int_equal(drv.slot[drv.next_frame * PAGE + 3 * PAGE], 8);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	assert_int_equal(pread(fd, &first, 1, 0), 1);
	assert_int_equal(first, 1);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	assert_int_equal(mem[0], 8);
	assert_true(is_anonymous(mem) && is_anonymous(mem + PAGE));
	munmap(mem, 4 * PAGE);
	munmap(rest, 4 * PAGE);
	close(fd);
}

/* Where the slot has no room, data that was deregistered is private memory again. */
static void idle_data_makes_room(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *mem = map_data(fd, 1, PROT_READ | PROT_WRITE);
	uint8_t *other = own_pages(NULL, 2);
	struct rig r;

	(void)state;
	rig_up(&r);
	drv.frames = drv.taken_frames + 2;
	move_in(&r, mem, 2);
	mem[0] = 9;
	assert_false(is_anonymous(mem));
	move_in(&r, other, 2);
	assert_int_equal(drv.freed, 2);
	assert_true(is_anonymous(mem));
	assert_int_equal(mem[0], 9);
	rig_down(&r);
	munmap(mem, 3 * PAGE);
	munmap(other, 2 * PAGE);
	close(fd);
}

/* What a registration reads of the list of mappings does not grow with their square. */
static void mappings_are_read_once(void **state)
{
	uint8_t *mem = own_pages(NULL, 201);
	struct rig r;

	(void)state;
	rig_up(&r);
	move_in(&r, mem, 200); /* as many mappings */
	lists_read = 0;
	move_in(&r, mem + 200 * PAGE, 1);
	assert_int_equal(lists_read,
			 2); /* what is in the slot, and what moves */
	rig_down(&r);
	munmap(mem, 201 * PAGE);
}

/* Two pages that are neighbours in memory and in the slot are one mapping to the kernel. What is
 * moved out ends where it ends: the other page is registered. */
static void a_neighbour_stays(void **state)
{
	uint8_t *mem = own_pages(NULL, 2), *other = own_pages(NULL, 1);
	struct unic_mr *mr;
	struct rig r;
	size_t frame;

	(void)state;
	rig_up(&r);
	drv.frames = drv.taken_frames + 2;
	mr = reg(&r, mem + PAGE, PAGE);
	frame = drv.next_frame;
	move_in(&r, mem, 1);
	assert_int_equal(drv.next_frame, frame - 1);
	move_in(&r, other, 1);
	assert_true(is_anonymous(mem));
	assert_false(is_anonymous(mem + PAGE));
	drv.slot[frame * PAGE] = 42; /* as the NIC writes */
	assert_int_equal(mem[PAGE], 42);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	munmap(mem, 2 * PAGE);
	munmap(other, PAGE);
}

/* Where the heap is not the C library's, what was deregistered is cleared by MADV_DONTNEED; what
 * another region is on, or memory of unic_alloc(), stays as it is. */
static void who_counts_on_zeroes_gets_them(void **state)
{
	uint8_t *mem = own_pages(NULL, 3);
	struct unic_mr *all, *last;
	struct unic_rereg_attr anew = { .what = UNIC_REREG_RANGE,
					.addr = mem,
					.length = PAGE };
	struct rig r;

	(void)state;
	rig_up(&r);
	last = reg(&r, mem + 2 * PAGE, PAGE);
	all = reg(&r, mem, 3 * PAGE);
	assert_int_equal(unic_dereg_mr(all), 0);
	assert_false(is_anonymous(mem)); /* as it is with the C library's */
	r.ctx->heap = UNIC_HEAP_ELSEWHERE;
	all = reg(&r, mem, 3 * PAGE);
	assert_int_equal(unic_rereg_mr(all, &anew, NULL), 0);
	assert_false(is_anonymous(mem)); /* one area, of which it is a page */
	memset(mem, 7, 3 * PAGE);
	assert_int_equal(unic_dereg_mr(all), 0);
	assert_true(is_anonymous(mem));
	assert_true(is_anonymous(mem + PAGE));
	assert_false(is_anonymous(mem + 2 * PAGE));
	assert_int_equal(mem[PAGE], 7);
	assert_int_equal(madvise(mem, 2 * PAGE, MADV_DONTNEED), 0);
	assert_int_equal(mem[PAGE], 0);
	assert_int_equal(mem[2 * PAGE], 7);
	assert_int_equal(unic_dereg_mr(last), 0);
	assert_true(is_anonymous(mem + 2 * PAGE));
	all = reg(&r, mem, PAGE);
	anew.addr = mem + 2 * PAGE;
	assert_int_equal(unic_rereg_mr(all, &anew, NULL), 0);
	assert_true(is_anonymous(mem));
	assert_false(is_anonymous(mem + 2 * PAGE));
	assert_int_equal(unic_dereg_mr(all), 0);
	rig_down(&r);
	munmap(mem, 3 * PAGE);
}

static volatile uint32_t *counted, seen;

static void on_alarm(int sig)
{
	(void)sig;
	counted[0]++;
	seen++;
}

/* A timer whose signals go to this thread, each 20 us. */
static timer_t start_alarms(void)
{
	const struct itimerspec often = { .it_interval.tv_nsec = 20000,
					  .it_value.tv_nsec = 20000 };
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGALRM };
	timer_t timer;

	to._sigev_un._tid = gettid();
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &to, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	return timer;
}

/* A handler of the thread that moves memory writes to it before the move, or after it. */
static void signals_wait(void **state)
{
	uint8_t *mem = own_pages(NULL, 8), *other = own_pages(NULL, 8);
	struct sigaction act = { .sa_handler = on_alarm,
				 .sa_flags = SA_RESTART };
	struct sigaction before;
	timer_t alarms;
	struct rig r;
	int i;

	(void)state;
	counted = (uint32_t *)(mem + 7 * PAGE);
	seen = 0;
	rig_up(&r);
	drv.frames = drv.taken_frames + 8;
	sigaction(SIGALRM, &act, &before);
	alarms = start_alarms();
	for (i = 0; i < 30;
	     i++) { /* the driver of the rig gives each frame once */
		move_in(&r, mem, 8);
		move_in(&r, other, 8);
	}
	timer_delete(alarms);
	sigaction(SIGALRM, &before, NULL);
	assert_true(seen > 0);
	assert_int_equal(counted[0], seen);
	rig_down(&r);
	munmap(mem, 8 * PAGE);
	munmap(other, 8 * PAGE);
}

/* The context lies in what was moved, as it does in a heap: a child has nothing of it before it
 * has the copies. */
static void a_child_has_copies(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *mem = map_data(fd, 1, PROT_READ | PROT_WRITE);
	size_t pages = sizeof(struct unic_ctx) / PAGE + 1;
	int status = -1;
	struct rig r;
	pid_t child;

	(void)state;
	ctx_pages = own_pages(NULL, pages);
	memset(ctx_pages, 0, pages * PAGE);
	rig_up(&r);
	assert_ptr_equal(r.ctx, ctx_pages);
	move_in(&r, ctx_pages, pages);
	move_in(&r, mem, 2);
	mem[PAGE] = 4;
	child = fork();
	if (!child) {
		struct unic_pd *pd;

		_exit(mem[0]++ != 1 || mem[PAGE]++ != 4 ||
		      !is_parents(unic_alloc_pd(r.ctx, &pd)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(mem[0], 1);
	assert_int_equal(mem[PAGE], 4);
	rig_down(&r);
	munmap(mem, 3 * PAGE);
	munmap(ctx_pages, pages * PAGE);
	ctx_pages = NULL;
	close(fd);
}

/* How @child ends; one that does not end is killed. */
static int status_of(pid_t child)
{
	int status = -1, i;

	for (i = 0; i < 2000 && !waitpid(child, &status, WNOHANG); i++)
		usleep(10000);
	if (i == 2000) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return status;
}

/* The C library initialises its locks in a child before any handler of the child runs, also those
 * that lie in what was moved, as those of streams do in a heap. */
static void a_child_has_locks(void **state)
{
	uint8_t *mem = own_pages(NULL, 1);
	FILE *f = fopen("/dev/null", "we");
	struct unic_mr *mr;
	struct rig r;
	pid_t child;

	(void)state;
	assert_non_null(f);
	f->_lock = (void *)mem;
	rig_up(&r);
	mr = reg(&r, mem, PAGE);
	child = fork();
	if (!child)
		_exit(putc('x', f) != 'x');
	assert_int_equal(status_of(child), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	fclose(f);
	munmap(mem, PAGE);
}

/* Never is the one in @words[0] more than one ahead of the other, or behind it. */
static void *count_apart(void *arg)
{
	volatile uint32_t **words = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		(*words[0])++;
		(*words[1])++;
	}
	return NULL;
}

/* What a child has of memory in the slot is of the moment at which it gets the rest. */
static void a_child_is_of_one_moment(void **state)
{
	uint8_t *mem = own_pages(NULL, 1), *rest = own_pages(NULL, 1);
	volatile uint32_t *words[2] = { (void *)mem, (void *)rest };
	struct unic_mr *mr;
	pthread_t other;
	struct rig r;
	pid_t child;
	int i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, mem, PAGE);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&other, NULL, count_apart, words), 0);
	for (i = 0; i < 10; i++) {
		while (*words[1] < 1000u * (uint32_t)i)
			usleep(100);
		child = fork();
		if (!child)
			_exit(*words[0] - *words[1] > 1);
		assert_int_equal(status_of(child), 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	munmap(mem, PAGE);
	munmap(rest, PAGE);
}

static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;

static void *keep_locked(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&locked);
		usleep(2000);
		pthread_mutex_unlock(&locked);
	}
	return arg;
}

static bool locks;

static void lock_it(void)
{
	if (locks) {
		pthread_mutex_lock(&locked);
		pthread_mutex_unlock(&locked);
	}
}

/* libunic is a part of this program, and has no priority. */
static __attribute__((constructor(101))) void come_first(void)
{
	pthread_atfork(lock_it, NULL, NULL);
}

/* alarm() is no end of a thread that blocks signals. */
static timer_t kill_after(time_t seconds)
{
	const struct itimerspec at = { .it_value.tv_sec = seconds };
	struct sigevent end = { .sigev_notify = SIGEV_SIGNAL,
				.sigev_signo = SIGKILL };
	timer_t timer;

	assert_int_equal(timer_create(CLOCK_MONOTONIC, &end, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &at, NULL), 0);
	return timer;
}

/* A handler that was there before those of libunic runs while other threads wait, for what one of
 * them has: it gets that. */
static void a_fork_waits_for_threads(void **state)
{
	uint8_t *mem = own_pages(NULL, 1);
	struct unic_mr *mr;
	pthread_t other;
	struct rig r;
	timer_t end;
	int i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, mem, PAGE);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&other, NULL, keep_locked, NULL), 0);
	end = kill_after(30);
	for (i = 0; i < 4; i++) {
		pid_t child;

		mem[0] = (uint8_t)i;
		locks = true;
		child = fork();
		locks = false;
		if (!child)
			_exit(mem[0] != i);
		assert_int_equal(status_of(child), 0);
	}
	timer_delete(end);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	munmap(mem, PAGE);
}

static volatile int handled;

static void on_fault(int sig)
{
	(void)sig;
	handled++;
	signal(SIGSEGV, SIG_DFL);
}

static bool more_memory(void)
{
	_exit(3);
}

/* Signals while a fork() goes on are for the handler of the program, if there is one; then it is
 * the program's as before. _Fork() runs no handlers of libunic. */
static void signals_are_the_programs(void **state)
{
	struct sigaction now;
	pid_t child;
	int status;

	(void)state;
	signal(SIGSEGV, on_fault);
	unic_absent_watch(more_memory);
	child = _Fork();
	if (!child) {
		raise(SIGSEGV);
		unic_absent_end();
		sigaction(SIGSEGV, NULL, &now);
		if (handled != 1 || now.sa_handler != SIG_DFL)
			_exit(1);
		unic_absent_watch(more_memory);
		raise(SIGSEGV);
		_exit(2);
	}
	unic_absent_end();
	sigaction(SIGSEGV, NULL, &now);
	signal(SIGSEGV, SIG_DFL);
	assert_ptr_equal(now.sa_handler, on_fault);
	status = status_of(child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void is_refused(struct rig *r, const void *mem, const char *why,
		       const char *what)
{
	struct unic_mr_attr attr = { .addr = (void *)(uintptr_t)mem,
				     .length = 1 };
	struct unic_mr *mr;

	assert_int_equal(unic_reg_mr(r->pd, &attr, &mr), -EACCES);
	if (!strstr(unic_last_error(), why) || !strstr(unic_last_error(), what))
		fail_msg("%s", unic_last_error());
}

/* A library that is loaded: its path, and the last page of its data. */
struct object {
	const char *name;
	char path[256];
	uint8_t *last;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = arg;
	unsigned int i;

	(void)size;
	if (!strstr(info->dlpi_name, o->name))
		return 0;
	snprintf(o->path, sizeof(o->path), "%s", info->dlpi_name);
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t end = info->dlpi_addr + ph->p_vaddr + ph->p_memsz;

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_W)
			o->last = (uint8_t *)((end - 1) & ~(PAGE - 1ul));
	}
	return 1;
}

static int initialised = 1;
static __thread int own_of_thread;

/* What runs, what may not be written, and the data of what moves; the error names it. */
static void text_and_own_data_are_not(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *ro = map_data(fd, 1, PROT_READ);
	struct object loader = { .name = "/ld-" };
	struct rig r;

	(void)state;
	rig_up(&r);
	is_refused(&r, (void *)(uintptr_t)text_and_own_data_are_not,
		   "not readable and writable data", "r-xp ");
	is_refused(&r, ro, "not readable and writable data",
		   "r--p /memfd:program");
	/* libunic is a part of this program */
	is_refused(&r, &initialised, "data of a library that moves it",
		   "test_libunic_data");
	/* the struct, of the C library */
	is_refused(&r, stdout, "data of a library that moves it", "libc.so");
	is_refused(&r, &own_of_thread, "variables of a thread", "");
	assert_int_equal(dl_iterate_phdr(find_object, &loader), 1);
	is_refused(&r, loader.last, "data of a library that moves it", "");
	rig_down(&r);
	munmap(ro, 3 * PAGE);
	close(fd);
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char buf[4096];
	size_t n;

	assert_true(in && out);
	while ((n = fread(buf, 1, sizeof(buf), in)))
		assert_int_equal(fwrite(buf, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* Data of any other library is moved, whatever its name. */
static void names_do_not_matter(void **state)
{
	struct object cmocka = { .name = "/libcmocka" };
	struct object o = { .name = "/libunicorn.so" };
	char path[64];
	struct rig r;
	void *lib;

	(void)state;
	assert_int_equal(dl_iterate_phdr(find_object, &cmocka), 1);
	snprintf(path, sizeof(path), "/tmp/libunicorn.so.%d", (int)getpid());
	copy_file(cmocka.path, path);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	unlink(path);
	assert_non_null(lib);
	assert_int_equal(dl_iterate_phdr(find_object, &o), 1);
	rig_up(&r);
	move_in(&r, o.last, 1);
	rig_down(&r);
	dlclose(lib);
}

static void a_file_that_ends_is_not(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *mem = map_data(fd, 2, PROT_READ | PROT_WRITE);
	struct unic_mr_attr attr = { .addr = mem, .length = 2 * PAGE };
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EFAULT);
	assert_non_null(strstr(unic_last_error(), "beyond the end"));
	assert_int_equal(drv.freed, 2);
	assert_int_equal(mem[0], 1);
	move_in(&r, mem, 1);
	rig_down(&r);
	munmap(mem, 4 * PAGE);
	close(fd);
}

/* A move that fails amid its pages leaves private memory, as it was. */
static void half_a_move_is_undone(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *mem = map_data(fd, 2, PROT_READ | PROT_WRITE);
	struct unic_mr_attr attr = { .addr = mem, .length = 4 * PAGE };
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[3 * PAGE] = 5;
	fail_at = 3;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -ENOMEM);
	assert_int_equal(fail_at, 0);
	assert_int_equal(drv.freed, 4);
	assert_true(is_anonymous(mem) && is_anonymous(mem + 3 * PAGE));
	assert_int_equal(mem[0], 1);
	assert_int_equal(mem[PAGE], 2);
	assert_int_equal(mem[3 * PAGE], 5);
	move_in(&r, mem, 4);
	rig_down(&r);
	munmap(mem, 4 * PAGE);
	close(fd);
}

/* One that cannot be undone keeps the frames that memory lies in: nobody else may have them. */
static void half_a_move_keeps_its_frames(void **state)
{
	uint8_t *mem = own_pages(NULL, 4);
	struct unic_mr_attr attr = { .addr = mem, .length = 4 * PAGE };
	struct unic_mr *mr;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_up(&r);
	for (i = 0; i < 4; i++)
		mem[i * PAGE] = (uint8_t)(1 + i);
	fail_at = 3;
	no_mremap = true;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -ENOMEM);
	no_mremap = false;
	assert_int_equal(drv.freed, 0);
	assert_false(is_anonymous(mem + PAGE));
	assert_true(is_anonymous(mem + 2 * PAGE));
	for (i = 0; i < 4; i++)
		assert_int_equal(mem[i * PAGE], 1 + i);
	mr = reg(&r, mem, 4 * PAGE);
	assert_int_equal(drv.freed, 2); /* those of no memory */
	mem[3 * PAGE] = 9;
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 9);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	for (i = 0; i < 3; i++)
		assert_int_equal(mem[i * PAGE], 1 + i);
	assert_true(is_anonymous(mem) && is_anonymous(mem + 3 * PAGE));
	munmap(mem, 4 * PAGE);
}

static void *sleep_until_stop(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		usleep(1000);
	return arg;
}

static bool has_hung_up(void)
{
	struct pollfd pfd = { .fd = drv.sock, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) > 0;
}

/* What cannot be moved out when its context is closed stays the process's, and goes later. */
static void the_slot_stays_with_a_stack(void **state)
{
	uint8_t *stack = own_pages(NULL, 64);
	struct unic_ctx *none;
	pthread_attr_t attr;
	struct rig r;
	pthread_t t;

	(void)state;
	rig_up(&r);
	move_in(&r, stack, 64);
	reg(&r, stack, PAGE);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, 64 * PAGE);
	assert_int_equal(pthread_create(&t, &attr, sleep_until_stop, NULL), 0);
	pthread_attr_destroy(&attr);
	assert_int_equal(unic_destroy_qp(r.qp), 0);
	assert_int_equal(unic_destroy_cq(r.cq), 0);
	drv.deregs = 0;
	unic_close(r.ctx);
	assert_false(has_hung_up());
	assert_int_equal(drv.deregs, 1);
	assert_int_equal(unic_free_pd(r.pd), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_true(unic_open("/nowhere", &none) < 0);
	assert_true(has_hung_up());
	assert_true(is_anonymous(stack));
	munmap(stack, 64 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(data_and_bss_are_moved),
		WITH_DRIVER(idle_data_makes_room),
		WITH_DRIVER(mappings_are_read_once),
		WITH_DRIVER(a_neighbour_stays),
		WITH_DRIVER(who_counts_on_zeroes_gets_them),
		WITH_DRIVER(signals_wait),
		WITH_DRIVER(a_child_has_copies),
		WITH_DRIVER(a_child_has_locks),
		WITH_DRIVER(a_child_is_of_one_moment),
		WITH_DRIVER(a_fork_waits_for_threads),
		cmocka_unit_test(signals_are_the_programs),
		WITH_DRIVER(text_and_own_data_are_not),
		WITH_DRIVER(names_do_not_matter),
		WITH_DRIVER(a_file_that_ends_is_not),
		WITH_DRIVER(half_a_move_is_undone),
		WITH_DRIVER(half_a_move_keeps_its_frames),
		WITH_DRIVER(the_slot_stays_with_a_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
