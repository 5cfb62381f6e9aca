/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nth NODE STEP - what becomes of a process that uses the NIC when the kernel
 * has no memory for it: a step of a child's life is made to fail in its 1st
 * allocation (or copy from or to the process), then in its 2nd, until there is
 * none left (/proc/self/fail-nth, of a kernel that injects faults). A step may
 * fail, but not hang; and when a child ends, nothing of it is left, so that the
 * next one is served.
 *
 * nth PATH TEXT UNDO_PATH UNDO - the same for a write of TEXT to a file, for
 * example of sysfs. A write that succeeds is undone by a write of UNDO to
 * UNDO_PATH.
 *
 * Run by vm_faults.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unic.h"

#define PAGE	4096u
#define PAGES	32u
#define TRIES	5000 /* more than any step has allocations */
#define STEP_S	60   /* under a kernel that is slow */
#define RW	(UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define MISSED	1 /* exit of a child: the step had fewer allocations */
#define REFUSED 2
#define WORKED	3
#define BROKEN	4 /* a step failed without a fault */

static const char *node;
static int nth_fd;
static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_mr *mr;
static uint8_t *mem;

static void die(const char *what)
{
	fprintf(stderr, "nth: %s: %s\n", what, strerror(errno));
	exit(BROKEN);
}

static void fail_nth(unsigned int n)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth_fd, text, (size_t)bytes, 0) != bytes)
		die("fail-nth");
}

/*
 * Returns how many allocations are left before the fault, and removes it. The
 * fault may hit these calls themselves.
 */
static int nth_left(void)
{
	char text[16] = "";
	int left = pread(nth_fd, text, sizeof(text) - 1, 0) < 0 ? 1
								: atoi(text);

	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	return left;
}

/* ------------------------------------------------------------------ the steps */

static int step_open(void)
{
	return unic_open(node, &ctx);
}

static int step_queues(void)
{
	int err = unic_alloc_pd(ctx, &pd);

	return err ? err : unic_create_cq(pd, 256, &cq);
}

/* Registers memory that was never touched. */
static int reg(unsigned int rights, unsigned int residency)
{
	struct unic_mr_attr a = { .length = PAGES * PAGE,
				  .rights = rights,
				  .residency = residency };

	mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return -ENOMEM;
	a.addr = mem;
	return unic_reg_mr(pd, &a, &mr);
}

static int step_register(void)
{
	return reg(RW, UNIC_RESIDENT);
}

static int step_read_only(void)
{
	return reg(UNIC_MR_REMOTE_READ, UNIC_RESIDENT);
}

static int step_demand(void)
{
	return reg(RW, UNIC_DEMAND);
}

static int step_batch(void)
{
	struct unic_mr_attr a[8] = { 0 };
	struct unic_mr *mrs[8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		a[i].addr = mem + i * PAGE;
		a[i].length = 2 * PAGE;
		a[i].rights = RW;
	}
	return unic_reg_mr_batch(pd, a, 8, mrs);
}

static int step_unmap(void)
{
	return munmap(mem, PAGES * PAGE / 2);
}

static int step_fork(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	return child < 0;
}

static int step_deregister(void)
{
	return unic_dereg_mr(mr);
}

static int step_close(void)
{
	unic_close(ctx);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} steps[] = {
	{ "open", step_open },
	{ "queues", step_queues },
	{ "register", step_register },
	{ "read only", step_read_only },
	{ "demand", step_demand },
	{ "batch", step_batch },
	{ "fork", step_fork },
	{ "unmap", step_unmap },
	{ "deregister", step_deregister },
	{ "close", step_close },
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* ------------------------------------------------------------------- a child */

/* Runs the steps to the first that fails; the @n-th allocation of step
 * @broken does. A step without memory must succeed when it is repeated. */
static int life(unsigned int broken, unsigned int n)
{
	unsigned int i;
	int err = 0, left = 0;

	for (i = 0; i < STEPS && !err; i++) {
		if (i == broken)
			fail_nth(n);
		err = steps[i].run();
		if (i != broken)
			continue;
		left = nth_left();
		if (err == -ENOMEM && !left)
			return steps[i].run() ? BROKEN : REFUSED;
		if (err)
			return left ? BROKEN : REFUSED;
	}
	if (err && left) {
		fprintf(stderr, "nth: %s: %d, %s\n", steps[i - 1].name, err,
			unic_last_error());
		return BROKEN;
	}
	return left ? MISSED : err ? REFUSED : WORKED;
}

static int write_text(const char *path, const char *text, unsigned int n)
{
	int fd = open(path, O_WRONLY), left = 0;
	ssize_t bytes;

	if (fd < 0)
		die(path);
	fail_nth(n);
	bytes = write(fd, text, strlen(text));
	left = nth_left();
	if (bytes < 0)
		return left ? BROKEN : REFUSED;
	return left ? MISSED : WORKED;
}

static int write_and_undo(char **argv, unsigned int n)
{
	int said = write_text(argv[1], argv[2], n);

	if ((said == MISSED || said == WORKED) &&
	    write_text(argv[3], argv[4], 0) == BROKEN)
		return BROKEN;
	return said;
}

/* Returns how the child ended. */
static int child(unsigned int broken, unsigned int n, char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (!pid) {
		nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
		if (nth_fd < 0)
			die("fail-nth");
		alarm(STEP_S);
		_exit(argv ? write_and_undo(argv, n) : life(broken, n));
	}
	if (waitpid(pid, &status, 0) != pid)
		die("wait");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fprintf(stderr, "nth: it hangs\n");
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

/* Lets each allocation of a step fail in turn. Returns whether all is well. */
static int try_all(const char *name, unsigned int broken, char **argv)
{
	unsigned int n, refused = 0;
	int said = WORKED;

	for (n = 1; n < TRIES && said != MISSED; n++) {
		said = child(broken, n, argv);
		refused += said == REFUSED;
		if (said != BROKEN)
			continue;
		fprintf(stderr, "nth: %s, allocation %u\n", name, n);
		return 0;
	}
	printf("%s: %u allocations, %u needed\n", name, n - 2, refused);
	fflush(stdout);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned int i;
	int ok = 0;

	if (argc == 5)
		ok = try_all(argv[1], 0, argv);
	node = argv[1];
	for (i = 0; i < STEPS && argc == 3; i++)
		if (!strcmp(steps[i].name, argv[2]))
			ok = try_all(argv[2], i, NULL);
	return !ok;
}
