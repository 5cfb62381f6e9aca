/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pins NODE [limit|stuck|hostage|storm SECONDS|file PATH] - memory of any kind,
 * registered where it is, with the Linux module and a NIC that talks to itself:
 * what is counted in VmPin at every step, and whose bytes the NIC reads and
 * writes when the process unmaps, forks, drops or moves what it registered. Run
 * by vm_check.py.
 *
 *	limit	what RLIMIT_MEMLOCK does to a user that is not root
 *	stuck	memory that is never provided (userfaultfd) holds up no other
 *		process: prints how long another process took, and the end of
 *		the stuck one; see gaps.c
 *	hostage	a page that was missed is never provided: only another process
 *		could do so, whose number is printed ("held by")
 *	storm	threads register, unmap, drop, protect and fork at random
 *	file	a file on a disk, 4 pages of it, is not written behind the back of its
 *		file system
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "pins"
#include "../qemu/own_pair.h"

#define PATIENCE_MS 20000 /* for what takes milliseconds */
#define TRIES	    5u

static uint8_t *src; /* 16 pages that differ everywhere */
static struct unic_mr *src_mr;
static long base; /* VmPin of queues, src, and nothing else */

/* The number in the first line of @path that matches @line_format. */
static long number_in(const char *path, const char *line_format)
{
	FILE *f = fopen(path, "r");
	char text[128];
	long n = -1;

	IS(f);
	while (fgets(text, sizeof(text), f))
		if (sscanf(text, line_format, &n) == 1)
			break;
	fclose(f);
	IS(n >= 0);
	return n;
}

/* Pages that are pinned by the kernel's account of this process. */
static long vm_pin(void)
{
	return number_in("/proc/self/status", "VmPin: %ld kB") / 4;
}

static void pinned(long pages, int at)
{
	long now = vm_pin() - base;

	if (now == pages)
		return;
	fprintf(stderr, "pins: line %d: %ld pages are pinned, not %ld\n", at,
		now, pages);
	exit(1);
}

#define PINNED(pages) pinned(pages, __LINE__)

/* As pinned(), of pages that others release a little later. */
static void soon_pinned(long pages, int at)
{
	int i;

	for (i = 0; i < PATIENCE_MS / 10 && vm_pin() != base + pages; i++)
		usleep(10000);
	pinned(pages, at);
}

#define SOON_PINNED(pages) soon_pinned(pages, __LINE__)

static int try_reg(void *at, size_t bytes, unsigned int rights,
		   struct unic_mr **mr)
{
	struct unic_mr_attr a = { .addr = at,
				  .length = bytes,
				  .rights = rights };

	return unic_reg_mr(pd, &a, mr);
}

static struct unic_mr *reg(void *at, size_t bytes, unsigned int rights)
{
	struct unic_mr *mr;

	OK(try_reg(at, bytes, rights, &mr));
	return mr;
}

static void set_up(const char *node)
{
	open_pair(node);
	src = numbered(16 * PAGE);
	src_mr = reg(src, 16 * PAGE, RW);
	base = vm_pin();
}

/* ---------------------------------------------------------- what the NIC does */

static uint32_t transfer(enum unic_wr_opcode op, void *local,
			 const struct unic_mr *lmr, uint64_t iova,
			 uint32_t rkey, uint32_t len)
{
	struct unic_sg sg = sg_of(lmr, local, len);
	struct unic_send_wr wr = { .opcode = op,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = iova,
				   .rkey = rkey };

	IS(unic_post_send(qp[0], &wr, 1) == 1);
	return next().status;
}

/* Writes src[@page...] into a region; returns the status of the completion. */
static uint32_t nic_writes(const struct unic_mr *to, uint32_t page,
			   uint32_t pages)
{
	return transfer(UNIC_WR_WRITE, src + page * PAGE, src_mr, to->iova,
			to->stag, pages * PAGE);
}

static int all(const uint8_t *p, uint8_t byte, size_t n)
{
	return p[0] == byte && !memcmp(p, p + 1, n - 1);
}

static uint8_t *pages_of(size_t n, uint8_t byte)
{
	uint8_t *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	IS(p != MAP_FAILED);
	memset(p, byte, n * PAGE);
	return p;
}

/* ------------------------------------------------------------------ the tests */

static void overlaps(void)
{
	uint8_t *p = pages_of(12, 1);
	struct unic_mr *a = reg(p, 8 * PAGE, RW);
	struct unic_mr *b = reg(p + 4 * PAGE, 8 * PAGE, UNIC_MR_REMOTE_READ);
	struct unic_mr *c = reg(p + 100, 10, RW);

	PINNED(12);
	OK(unic_dereg_mr(a));
	PINNED(9);
	OK(unic_dereg_mr(c));
	PINNED(8);
	OK(unic_dereg_mr(b));
	PINNED(0);
	OK(munmap(p, 12 * PAGE));
}

/* Memory of the stack and of malloc(), at any address, can be registered. */
static void anywhere(void)
{
	uint8_t here[3 * PAGE], *there = malloc(3 * PAGE);
	struct unic_mr *a, *b;

	IS(there);
	memset(here, 0, sizeof(here));
	memset(there, 0, 3 * PAGE);
	a = reg(here + 77, 2 * PAGE, RW);
	b = reg(there + 123, 2 * PAGE, RW);
	IS(nic_writes(a, 0, 2) == UNIC_WC_SUCCESS);
	IS(nic_writes(b, 3, 2) == UNIC_WC_SUCCESS);
	IS(!memcmp(here + 77, src, 2 * PAGE) && !here[76]);
	IS(!memcmp(there + 123, src + 3 * PAGE, 2 * PAGE) && !there[122]);
	OK(unic_dereg_mr(a));
	OK(unic_dereg_mr(b));
	PINNED(0);
	free(there);
}

/* The NIC may not write what the process may not write. */
static void read_only(void)
{
	uint8_t *p = pages_of(4, 2);
	struct unic_mr *mr;

	OK(mprotect(p, 4 * PAGE, PROT_READ));
	IS(try_reg(p, 4 * PAGE, RW, &mr) < 0);
	PINNED(0);
	mr = reg(p, 4 * PAGE, UNIC_MR_REMOTE_READ);
	PINNED(4);
	IS(transfer(UNIC_WR_READ, src + 12 * PAGE, src_mr, mr->iova, mr->stag,
		    4 * PAGE) == UNIC_WC_SUCCESS);
	IS(all(src + 12 * PAGE, 2, 4 * PAGE));
	IS(nic_writes(mr, 0, 1) != UNIC_WC_SUCCESS);
	IS(all(p, 2, 4 * PAGE));
	new_pair();
	OK(unic_dereg_mr(mr));
	OK(mprotect(p, PAGE, PROT_NONE)); /* nor what it may not read */
	IS(try_reg(p, 4 * PAGE, UNIC_MR_REMOTE_READ, &mr) < 0);
	PINNED(0);
	OK(munmap(p, 4 * PAGE));
}

/* Memory that is not mapped cannot be registered. */
static void holes(void)
{
	uint8_t *p = pages_of(3, 3);
	struct unic_mr *mr;

	OK(munmap(p + PAGE, PAGE));
	IS(try_reg(p, 3 * PAGE, RW, &mr) < 0);
	PINNED(0);
	OK(munmap(p, PAGE));
	OK(munmap(p + 2 * PAGE, PAGE));
	IS(try_reg((void *)(uintptr_t)(0ull - 8 * PAGE), PAGE, RW, &mr) < 0);
	PINNED(0);
}

/* A file that is mapped privately is copied before the NIC may write, and the
 * file stays as it is; one that is mapped shared is written. */
static void files(int shared)
{
	int fd = memfd_create("pins", MFD_CLOEXEC);
	uint8_t *p, text[PAGE];
	struct unic_mr *mr;

	memset(text, 4, PAGE);
	IS(fd >= 0 && pwrite(fd, text, PAGE, 0) == (ssize_t)PAGE);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		 shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	IS(p != MAP_FAILED);
	mr = reg(p, PAGE, RW);
	PINNED(1);
	IS(nic_writes(mr, 5, 1) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src + 5 * PAGE, PAGE));
	IS(pread(fd, text, PAGE, 0) == (ssize_t)PAGE);
	IS(shared ? !memcmp(text, p, PAGE) : all(text, 4, PAGE));
	OK(unic_dereg_mr(mr));
	PINNED(0);
	OK(munmap(p, PAGE));
	close(fd);
}

/* A child that was forked before or after the registration has its own
 * bytes, and its parent has what the NIC writes. */
static void forks(int before)
{
	uint8_t *p = pages_of(4, 5);
	struct unic_mr *mr = before ? NULL : reg(p, 4 * PAGE, RW);
	int go[2], status;
	pid_t child;
	char c;

	OK(pipe(go));
	child = fork();
	IS(child >= 0);
	if (!child) {
		close(go[1]);
		if (before)
			_exit(read(go[0], &c, 1) || !all(p, 5, 4 * PAGE));
		_exit(read(go[0], &c, 1) != 0);
	}
	close(go[0]);
	if (before)
		mr = reg(p, 4 * PAGE, RW);
	PINNED(4);
	p[0] = 6; /* copies the page for the parent, if that is still due */
	IS(nic_writes(mr, 0, 4) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src, 4 * PAGE));
	close(go[1]);
	IS(waitpid(child, &status, 0) == child && !status);
	PINNED(4);
	OK(unic_dereg_mr(mr));
	PINNED(0);
	OK(munmap(p, 4 * PAGE));
}

/*
 * The NIC does not write to what was mapped later at the address of a region:
 * it is refused, or writes to pages that no process sees any more.
 */
static void gone(uint8_t *p, struct unic_mr *mr, int again)
{
	uint32_t status;

	if (again) {
		IS(mmap(p, 4 * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			0) == (void *)p);
		memset(p, 7, 4 * PAGE);
	}
	status = nic_writes(mr, 0, 4);
	if (again)
		IS(all(p, 7, 4 * PAGE));
	if (status != UNIC_WC_SUCCESS)
		new_pair();
	(void)unic_dereg_mr(mr); /* may be evicted already */
	PINNED(0);
	if (again)
		OK(munmap(p, 4 * PAGE));
}

static void unmapped(int again)
{
	uint8_t *p = pages_of(4, 8);
	struct unic_mr *mr = reg(p, 4 * PAGE, RW);

	OK(munmap(p, 4 * PAGE));
	gone(p, mr, again);
}

static void dropped(void)
{
	uint8_t *p = pages_of(4, 9);
	struct unic_mr *mr = reg(p, 4 * PAGE, RW), *now;

	OK(madvise(p, 4 * PAGE, MADV_DONTNEED));
	IS(all(p, 0, 4 * PAGE)); /* other pages */
	if (nic_writes(mr, 0, 4) != UNIC_WC_SUCCESS)
		new_pair();
	IS(all(p, 0, 4 * PAGE));
	(void)unic_dereg_mr(mr);
	PINNED(0);
	now = reg(p, 4 * PAGE, RW);
	IS(nic_writes(now, 0, 4) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src, 4 * PAGE));
	OK(unic_dereg_mr(now));
	OK(munmap(p, 4 * PAGE));
	PINNED(0);
}

/* Dropped memory is registered again while the old region still exists:
 * whether or not the module has seen the drop, the new region has the pages
 * that are mapped now. */
static void dropped_again(void)
{
	uint8_t *p = pages_of(4, 9);
	struct unic_mr *mr = reg(p, 4 * PAGE, RW), *now;
	struct sched_param first = { .sched_priority = 1 }, even = { 0 };

	/* no worker of the module runs before this process sleeps */
	OK(sched_setscheduler(0, SCHED_FIFO, &first));
	OK(madvise(p, 4 * PAGE, MADV_DONTNEED));
	now = reg(p, 4 * PAGE, RW);
	OK(sched_setscheduler(0, SCHED_OTHER, &even));
	IS(nic_writes(now, 0, 4) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src, 4 * PAGE));
	OK(unic_dereg_mr(now));
	(void)unic_dereg_mr(mr);
	OK(munmap(p, 4 * PAGE));
	PINNED(0);
}

static void moved(void)
{
	uint8_t *p = pages_of(4, 10), *to;
	struct unic_mr *mr = reg(p, 4 * PAGE, RW);

	to = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    pages_of(4, 0));
	IS(to != MAP_FAILED && all(to, 10, 4 * PAGE));
	gone(p, mr, 1);
	OK(munmap(to, 4 * PAGE));
}

/* Control pages are mapped, and that is all: no process can pin or register
 * them, or make the NIC's page writable. */
static void control(const char *node)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char text[256], rights[8];
	int ends[2], n = 0;

	IS(f);
	OK(pipe(ends));
	while (fgets(text, sizeof(text), f)) {
		struct iovec iov;
		struct unic_mr *mr;

		if (!strstr(text, node))
			continue;
		IS(sscanf(text, "%lx-%lx %7s", &from, &to, rights) == 3);
		iov = (struct iovec){ (void *)from, PAGE };
		IS(vmsplice(ends[1], &iov, 1, 0) < 0 && errno == EFAULT);
		IS(try_reg((void *)from, PAGE, UNIC_MR_REMOTE_READ, &mr) < 0);
		if (rights[1] != 'w')
			IS(mprotect((void *)from, PAGE,
				    PROT_READ | PROT_WRITE) < 0);
		n++;
	}
	IS(n >= 2);
	fclose(f);
	close(ends[0]);
	close(ends[1]);
}

/* ------------------------------------------- what the module does by itself */

/* The owner is told that @mr is gone, and nothing is pinned any more. */
static void told(struct unic_mr *mr, int at)
{
	struct pollfd pfd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	struct unic_event ev = { .type = 0 };

	while (unic_get_event(ctx, &ev)) {
		line = at;
		fail_if(poll(&pfd, 1, PATIENCE_MS) != 1, "nothing is told");
	}
	IS(ev.type == UNIC_EV_EVICTED && ev.mr == mr);
	IS(ev.reason == UNIC_WHY_UNMAPPED);
	unic_ack_event(&ev);
	pinned(0, at);
	OK(unic_dereg_mr(mr));
}

#define TOLD(mr) told(mr, __LINE__)

/* The module notices that pages of a region were unmapped or dropped. */
static void noticed(void)
{
	int fd = memfd_create("pins", MFD_CLOEXEC);
	uint8_t *p = pages_of(4, 1);
	struct unic_mr *mr = reg(p, 4 * PAGE, RW);

	OK(munmap(p + PAGE, PAGE));
	TOLD(mr);
	OK(munmap(p, PAGE));
	OK(munmap(p + 2 * PAGE, 2 * PAGE));
	p = pages_of(4, 2);
	mr = reg(p, 4 * PAGE, RW);
	OK(madvise(p + 3 * PAGE, PAGE, MADV_DONTNEED));
	TOLD(mr);
	OK(munmap(p, 4 * PAGE));
	OK(ftruncate(fd, 4 * PAGE));
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	IS(p != MAP_FAILED);
	mr = reg(p, 4 * PAGE, RW);
	OK(ftruncate(fd, PAGE));
	TOLD(mr);
	OK(munmap(p, 4 * PAGE));
	close(fd);
}

/* The NIC writes four untouched pages of @p, from @at on. On a machine that
 * stands still the wait for a missing page may run out: then the next four are
 * tried. */
static void untouched(const struct unic_mr *mr, const uint8_t *p, uint32_t at)
{
	uint32_t until = at + 4 * TRIES;

	while (transfer(UNIC_WR_WRITE, src, src_mr, mr->iova + at * PAGE,
			mr->stag, 4 * PAGE) != UNIC_WC_SUCCESS) {
		new_pair();
		at += 4;
		IS(at < until);
	}
	IS(!memcmp(p + at * PAGE, src, 4 * PAGE));
}

/* Memory that was never touched: its pages are pinned when the NIC needs
 * them, and unpinned when they are unmapped. */
static void demand(void)
{
	uint8_t *p = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unic_mr_attr a = { .addr = p,
				  .length = 64 * PAGE,
				  .rights = RW,
				  .residency = UNIC_DEMAND };
	struct unic_mr *mr;
	long has;

	IS(p != MAP_FAILED);
	OK(unic_reg_mr(pd, &a, &mr));
	PINNED(0);
	untouched(mr, p, 0);
	has = vm_pin() - base;
	IS(has >= 4 && has < 64);
	untouched(mr, p, 40);
	OK(munmap(p, 64 * PAGE));
	SOON_PINNED(0);
	IS(nic_writes(mr, 0, 1) != UNIC_WC_SUCCESS); /* not there any more */
	new_pair();
	OK(unic_dereg_mr(mr));
}

/* Does the kernel give huge pages on request? Not where memory is scarce. */
static int huge_pages(void)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	char text[64] = "[never]";
	int got = f && fgets(text, sizeof(text), f);

	if (f)
		fclose(f);
	return got && !strstr(text, "[never]");
}

/* Pages that lie together are one entry. */
static void huge(void)
{
	uint8_t *p = unic_alloc(ctx, 2u << 20, 2u << 20);
	struct unic_mr_attr a = { .addr = p,
				  .length = 2u << 20,
				  .rights = RW,
				  .page_bytes = huge_pages() ? 2u << 20 : 0 };
	struct unic_mr *mr;

	IS(p);
	memset(p, 1, 2u << 20);
	OK(unic_reg_mr(pd, &a, &mr));
	PINNED(512);
	IS(mr->entries == (a.page_bytes ? 1 : 512));
	IS(nic_writes(mr, 0, 8) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src, 8 * PAGE));
	IS(unic_free(ctx, p) == -EBUSY);
	OK(unic_dereg_mr(mr));
	PINNED(0);
	OK(unic_free(ctx, p));
}

/* Memory whose pages are missing until the holder of @fd provides them. */
static uint8_t *nobodys(int *fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint8_t *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	IS(*fd >= 0 && p != MAP_FAILED);
	OK(ioctl(*fd, UFFDIO_API, &api));
	r.range.start = (uintptr_t)p;
	r.range.len = 4 * PAGE;
	OK(ioctl(*fd, UFFDIO_REGISTER, &r));
	return p;
}

#define SOON_US 10000u
#define LATE_US 400000u /* four of these keep entries from others too long */
static unsigned int page_us = SOON_US;

/* Provides pages, each so long after it was missed. */
static void *provides(void *arg)
{
	static uint8_t text[PAGE];
	int fd = *(int *)arg;
	struct uffd_msg msg;

	memset(text, 5, PAGE);
	while (read(fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg)) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(PAGE - 1ull),
			.src = (uintptr_t)text,
			.len = PAGE,
		};

		usleep(__atomic_load_n(&page_us, __ATOMIC_RELAXED));
		(void)ioctl(fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/* Memory that is not there yet: each page comes when it is missed. */
static uint8_t *slow_pages(void)
{
	pthread_t thread;
	int *fd = malloc(sizeof(*fd)); /* the thread's */
	uint8_t *p;

	IS(fd);
	p = nobodys(fd);
	OK(pthread_create(&thread, NULL, provides, fd));
	return p;
}

/* A worker waits for a page that the NIC misses. False: the wait ran out. */
static bool late_miss(void)
{
	struct unic_mr_attr a = { .addr = slow_pages(),
				  .length = 4 * PAGE,
				  .rights = RW,
				  .residency = UNIC_DEMAND };
	uint8_t *p = (uint8_t *)a.addr + PAGE;
	struct unic_mr *mr;
	bool good;

	OK(unic_reg_mr(pd, &a, &mr));
	good = transfer(UNIC_WR_WRITE, src, src_mr, mr->iova + PAGE, mr->stag,
			100) == UNIC_WC_SUCCESS;
	if (good)
		IS(!memcmp(p, src, 100) && all(p + 100, 5, PAGE - 100));
	else
		new_pair();
	OK(unic_dereg_mr(mr));
	SOON_PINNED(0);
	return good;
}

/* A registration waits for pages that take time to come. */
static void late(void)
{
	uint8_t *p = slow_pages();
	struct unic_mr *mr = reg(p, 4 * PAGE, RW);
	unsigned int i;

	PINNED(4);
	IS(nic_writes(mr, 0, 1) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src, PAGE) && all(p + PAGE, 5, 3 * PAGE));
	OK(unic_dereg_mr(mr));
	for (i = 0; i < TRIES && !late_miss(); i++)
		;
	IS(i < TRIES);
}

/* The wait of @mr is over: is it granted? */
static bool is_granted(const struct unic_mr *mr)
{
	struct pollfd pfd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	bool over = false, good = false;
	struct unic_event ev;

	while (!over) {
		while (unic_get_event(ctx, &ev))
			IS(poll(&pfd, 1, PATIENCE_MS) == 1);
		good = ev.type == UNIC_EV_GRANTED;
		over = ev.mr == mr && (good || ev.type == UNIC_EV_WAIT_ENDED);
		unic_ack_event(&ev);
	}
	return good;
}

/* A region that waited for room, and whose pages were given up meanwhile, gets them
 * back when it is granted, also if they take so long that its entries go back. */
static void granted(unsigned int us)
{
	struct unic_mr_attr a = { .addr = slow_pages(),
				  .length = 4 * PAGE,
				  .rights = RW,
				  .flags = UNIC_MR_WAIT | UNIC_MR_ASYNC };
	struct unic_mr *mr, *filler[64];
	uint8_t *p = pages_of(64 * 64, 1), *late = a.addr;
	int i, n = 0;

	for (i = 64; i; i /= 2) /* regions of @i pages, until none fits */
		while (n < 64 &&
		       !try_reg(p + n * 64 * PAGE, i * PAGE, RW, &filler[n]))
			n++;
	IS(n < 64);
	OK(unic_reg_mr(pd, &a, &mr));
	IS(unic_mr_life(mr) == UNIC_MR_WAITING);
	__atomic_store_n(&page_us, us, __ATOMIC_RELAXED);
	OK(madvise(late, 4 * PAGE, MADV_DONTNEED));
	IS(is_granted(mr));
	__atomic_store_n(&page_us, SOON_US, __ATOMIC_RELAXED);
	IS(nic_writes(mr, 0, 1) == UNIC_WC_SUCCESS);
	IS(!memcmp(late, src, PAGE) && all(late + PAGE, 5, 3 * PAGE));
	OK(unic_dereg_mr(mr));
	while (n)
		(void)unic_dereg_mr(filler[--n]); /* some were evicted */
	PINNED(0);
	OK(munmap(p, 64 * 64 * PAGE));
}

/* A region so large that a worker unpins it can be registered again at once. */
static void many(void)
{
	uint8_t *p = unic_alloc(ctx, 8u << 20, 2u << 20);
	struct unic_mr *mr;
	int i;

	IS(p);
	memset(p, 1, 8u << 20);
	for (i = 0; i < 4; i++) {
		if (try_reg(p, 8u << 20, RW, &mr))
			/* no large pages: more entries than the NIC has */
			break;
		PINNED(2048);
		OK(unic_dereg_mr(mr));
		PINNED(0);
	}
	OK(unic_free(ctx, p));
}

static void *waits_for_ever(void *p)
{
	struct unic_mr *mr;

	try_reg(p, 4 * PAGE, RW, &mr);
	return NULL;
}

/* The NIC writes to pages of a region that are not on it. */
static void miss(void *p)
{
	struct unic_mr_attr a = { .addr = p,
				  .length = 4 * PAGE,
				  .rights = RW,
				  .residency = UNIC_DEMAND };
	struct unic_sg sg = sg_of(src_mr, src, PAGE);
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .num_sge = 1,
				   .sg = &sg };
	struct unic_mr *mr;

	OK(unic_reg_mr(pd, &a, &mr));
	wr.remote = mr->iova;
	wr.rkey = mr->stag;
	IS(unic_post_send(qp[0], &wr, 1) == 1);
}

/* Waits until a page is missed. */
static void is_missed(int fd)
{
	struct uffd_msg msg;

	IS(read(fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg));
}

/* A child that waits for pages in a registration and a miss; tells @ready. */
static void victim(const char *node, int ready)
{
	pthread_t thread;
	int fd;

	set_up(node);
	miss(nobodys(&fd));
	is_missed(fd);
	OK(pthread_create(&thread, NULL, waits_for_ever, nobodys(&fd)));
	is_missed(fd);
	IS(write(ready, "", 1) == 1);
	pause();
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void hostage(const char *node)
{
	void *p;
	pid_t holder;
	int fd;

	p = nobodys(&fd);
	holder = fork();
	IS(holder >= 0);
	if (!holder)
		for (;;)
			pause();
	set_up(node);
	miss(p);
	is_missed(fd);
	printf("held by %d\n", holder);
	fflush(stdout);
	pause();
}

/* Prints both times: the reader knows when this machine stood still. */
static void took(const char *what, double start)
{
	printf("%s 0 %.0f %.0f\n", what, start * 1e6, now_s() * 1e6);
}

static void stuck(const char *node)
{
	int ready[2];
	double start;
	pid_t child;
	uint8_t *p;
	char c;

	OK(pipe(ready));
	child = fork();
	IS(child >= 0);
	if (!child)
		victim(node, ready[1]);
	close(ready[1]);
	IS(read(ready[0], &c, 1) == 1);
	start = now_s();
	set_up(node);
	p = pages_of(4, 1);
	OK(unic_dereg_mr(reg(p, 4 * PAGE, RW)));
	took("another", start);
	start = now_s();
	OK(kill(child, SIGKILL));
	IS(waitpid(child, NULL, 0) == child);
	took("kill", start);
}

#define ARENA 64u /* pages */

struct storm {
	pthread_t thread;
	uint8_t *arena;
	double until;
	unsigned int seed, done;
};

static uint32_t any(struct storm *s, uint32_t below)
{
	return (uint32_t)rand_r(&s->seed) / 7 % below;
}

/* Changes pages [@at, @at + @n) while other threads register them. */
static void shake(struct storm *s, uint32_t at, uint32_t n)
{
	uint8_t *p = s->arena + at * PAGE;
	pid_t child;

	switch (any(s, 5)) {
	case 0:
		madvise(p, n * PAGE, MADV_DONTNEED);
		break;
	case 1:
		mmap(p, n * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 2:
		mprotect(p, n * PAGE, PROT_READ);
		sched_yield();
		mprotect(p, n * PAGE, PROT_READ | PROT_WRITE);
		break;
	case 3:
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		break;
	default: /* memset() would fault where another thread protects */
		madvise(p, n * PAGE, MADV_POPULATE_WRITE);
	}
}

/* Registers and changes memory at random; any answer is right. */
static void *storms(void *arg)
{
	struct storm *s = arg;
	struct unic_mr *mr[8] = { 0 };
	uint32_t i;

	/* longer where all is slow */
	while (now_s() < s->until || (s->done < 4 && now_s() < s->until + 60)) {
		uint32_t at = any(s, ARENA), n = 1 + any(s, ARENA - at);
		struct unic_mr_attr a = {
			.addr = s->arena + at * PAGE,
			.length = n * PAGE,
			.rights = any(s, 2) ? RW : UNIC_MR_REMOTE_READ,
			.residency = any(s, 2) ? UNIC_DEMAND : UNIC_RESIDENT,
		};

		i = any(s, 8);
		if (mr[i])
			(void)unic_dereg_mr(mr[i]);
		mr[i] = NULL;
		if (!any(s, 3))
			shake(s, at, n);
		else if (unic_reg_mr(pd, &a, &mr[i]))
			mr[i] = NULL;
		else
			s->done++;
	}
	for (i = 0; i < 8; i++)
		if (mr[i])
			(void)unic_dereg_mr(mr[i]);
	return NULL;
}

static void storm(double seconds)
{
	struct storm s[4];
	uint8_t *arena = pages_of(ARENA, 1);
	struct unic_event ev;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		s[i] = (struct storm){ .arena = arena,
				       .until = now_s() + seconds,
				       .seed = i + 1 };
		OK(pthread_create(&s[i].thread, NULL, storms, &s[i]));
	}
	for (i = 0; i < 4; i++) {
		OK(pthread_join(s[i].thread, NULL));
		IS(s[i].done > 3);
	}
	while (!unic_get_event(ctx, &ev))
		unic_ack_event(&ev);
	OK(munmap(arena, ARENA * PAGE));
	SOON_PINNED(0);
}

/* A file that is mapped shared is only read by the NIC; what is mapped privately is
 * a copy that it may write. */
static void on_disk(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct unic_mr *mr;
	uint8_t *p;

	IS(fd >= 0);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	IS(p != MAP_FAILED);
	IS(try_reg(p, 4 * PAGE, RW, &mr) < 0);
	PINNED(0);
	mr = reg(p, 4 * PAGE, UNIC_MR_REMOTE_READ);
	PINNED(4);
	OK(unic_dereg_mr(mr));
	OK(munmap(p, 4 * PAGE));
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	IS(p != MAP_FAILED);
	mr = reg(p, 4 * PAGE, RW);
	IS(nic_writes(mr, 0, 4) == UNIC_WC_SUCCESS);
	IS(!memcmp(p, src, 4 * PAGE));
	OK(unic_dereg_mr(mr));
	OK(munmap(p, 4 * PAGE));
	PINNED(0);
	close(fd);
}

/* Pages that all processes have pinned since boot. */
static long acquired(void)
{
	return number_in("/proc/vmstat", "nr_foll_pin_acquired %ld");
}

/* A registration pins all of its pages or none, and exceeds the limit not
 * even for a moment, although pages of a batch are pinned before any of them
 * is counted. */
static void limit(void)
{
	struct rlimit r = { (base + 256) * PAGE, (base + 256) * PAGE };
	uint8_t *p = pages_of(768, 11);
	struct unic_mr *mr, *many[3];
	struct unic_mr_attr a[3];
	long before;
	int i;

	OK(setrlimit(RLIMIT_MEMLOCK, &r));
	IS(try_reg(p, 768 * PAGE, RW, &mr) == -ENOMEM);
	PINNED(0);
	mr = reg(p, 256 * PAGE, RW);
	PINNED(256);
	IS(try_reg(p + 256 * PAGE, PAGE, RW, &many[0]) == -ENOMEM);
	PINNED(256);
	OK(unic_dereg_mr(mr));
	for (i = 0; i < 3; i++)
		a[i] = (struct unic_mr_attr){ .addr = p + 256 * i * PAGE,
					      .length = 256 * PAGE,
					      .rights = RW };
	before = acquired();
	IS(unic_reg_mr_batch(pd, a, 3, many) < 0);
	PINNED(0);
	IS(acquired() - before < 512); /* processors update the counter late */
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc > 2 && !strcmp(argv[2], "stuck")) {
		stuck(argv[1]);
	} else if (argc > 2 && !strcmp(argv[2], "hostage")) {
		hostage(argv[1]);
	} else if (argc > 3 && !strcmp(argv[2], "storm")) {
		set_up(argv[1]);
		storm(atof(argv[3]));
	} else if (argc > 3 && !strcmp(argv[2], "file")) {
		set_up(argv[1]);
		on_disk(argv[3]);
	} else if (argc > 2) {
		OK(setgid(1000) || setuid(1000));
		set_up(argv[1]);
		limit();
	} else {
		set_up(argv[1]);
		overlaps();
		anywhere();
		read_only();
		holes();
		files(0);
		files(1);
		forks(0);
		forks(1);
		unmapped(0);
		unmapped(1);
		dropped();
		dropped_again();
		moved();
		control(argv[1]);
		noticed();
		demand();
		late();
		granted(SOON_US);
		granted(LATE_US);
		huge();
		many();
	}
	unic_close(ctx);
	puts("pins: ok");
	return 0;
}
