/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run_child.c - see run_child.h. */
#define _GNU_SOURCE
#include "run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_MS 20000 /* the machine may be busy */
#define END_MS	 5000
#define NAP_NS	 2000000

static void nap_child(void)
{
	const struct timespec t = { .tv_nsec = NAP_NS };

	nanosleep(&t, NULL);
}

const char *run_program(const char *name, char out[RUN_PATH])
{
	ssize_t n = readlink("/proc/self/exe", out, RUN_PATH - 1);
	char *slash;

	out[n < 0 ? 0 : n] = '\0';
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	n = (ssize_t)strlen(out);
	snprintf(out + n, (size_t)(RUN_PATH - n), "/%s", name);
	return out;
}

/* In the child. @parent: who started it, and hears by @failed of a program that is not there. */
static void exec_child(const char *program, const char *log, pid_t parent,
		       char *const argv[], int failed)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	setpgid(0, 0); /* what is typed at a terminal is not for it */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && in >= 0 && out >= 0 && dup2(in, 0) >= 0 &&
	    dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
		execvp(program, argv);
	fprintf(stderr, "cannot start %s: %s\n", program, strerror(errno));
	_exit(write(failed, "", 1) == 1 ? 127 : 126);
}

/* True if the lines of @c say that it is ready. */
static int is_ready(const struct run_child *c)
{
	char text[4096], ready[64];
	FILE *f = fopen(c->log, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	snprintf(ready, sizeof(ready), "%s: ready", c->who);
	return strstr(text, ready) != NULL;
}

int run_child_fail(struct run_child *c, const char *why)
{
	char line[256], last[256] = "nothing";
	FILE *f = fopen(c->log, "re");

	while (f && fgets(line, sizeof(line), f))
		strcpy(last, line);
	if (f)
		fclose(f);
	last[strcspn(last, "\n")] = '\0';
	fprintf(stderr, "unic-run: %s %s; it said: %s\n", c->who, why, last);
	run_child_end(c);
	return -1;
}

int run_child_launch(struct run_child *c, const char *dir, const char *program,
		     char *const argv[])
{
	pid_t parent = getpid();
	int told[2]; /* closed by exec */
	char failed;
	ssize_t n;

	snprintf(c->who, sizeof(c->who), "%s", argv[0]);
	snprintf(c->log, sizeof(c->log), "%s/%s.log", dir, c->who);
	unlink(c->log); /* of an earlier one */
	if (pipe2(told, O_CLOEXEC))
		return run_child_fail(c, strerror(errno));
	c->pid = fork();
	if (!c->pid)
		exec_child(program, c->log, parent, argv, told[1]);
	close(told[1]);
	n = c->pid < 0 ? -1 : read(told[0], &failed, 1);
	close(told[0]);
	if (!n)
		return 0;
	if (c->pid < 0)
		c->pid = 0;
	return run_child_fail(c, "does not start");
}

int run_child_start(struct run_child *c, struct run_child *needs,
		    const char *dir, char *const argv[])
{
	int tries = (int)(READY_MS * 1000000ll / NAP_NS);
	char program[RUN_PATH];

	if (run_child_launch(c, dir, run_program(argv[0], program), argv))
		return -1;
	while (!is_ready(c)) {
		if (!run_child_alive(c))
			return run_child_fail(c, "ended");
		if (needs && !run_child_alive(needs)) {
			run_child_end(c);
			return run_child_fail(needs, "ended");
		}
		if (!--tries)
			return run_child_fail(c, "does not become ready");
		nap_child();
	}
	return 0;
}

int run_child_alive(struct run_child *c)
{
	if (c->pid && waitpid(c->pid, NULL, WNOHANG))
		c->pid = 0;
	return c->pid != 0;
}

void run_child_end(struct run_child *c)
{
	int tries = (int)(END_MS * 1000000ll / NAP_NS);

	if (!run_child_alive(c))
		return;
	kill(c->pid, SIGTERM);
	while (run_child_alive(c) && --tries)
		nap_child();
	if (c->pid) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
}
