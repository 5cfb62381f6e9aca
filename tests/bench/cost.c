/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cost.c - see cost.h. The process that is measured stops itself before and behind what is
 * counted, by SIGTRAP; between the two its parent has it do one instruction at a time. What
 * stopping takes is counted with nothing between, and taken off.
 */
#define _GNU_SOURCE
#include "cost.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yard.h"

#define TIMES	  32 /* each is counted so often; the first half is to get warm */
#define REGS	  400
#define ANSWER_US 2000 /* the NIC has written the completion by then */

enum {
	NOTHING,
	POST,
	POLL,
	KINDS
};

void cost_check(int good, const char *what, const char *why)
{
	if (good)
		return;
	fprintf(stderr, "cost: %s: %s\n", what, why);
	exit(1);
}

/* --------------------------------------------------------- what is measured */

static void nothing(void)
{
}

static void counted(void (*call)(void))
{
	raise(SIGTRAP);
	call();
	raise(SIGTRAP);
}

static double reg_ns(const struct cost_calls *calls)
{
	double v[REGS];
	uint64_t start;
	int i;

	for (i = 0; i < REGS; i++) {
		start = yard_now_ns();
		calls->reg();
		v[i] = (double)(yard_now_ns() - start);
	}
	return yard_median(v, REGS);
}

static void measured(const struct cost_calls *calls, const char *socket,
		     int out)
{
	double ns;
	int i;

	cost_check(!ptrace(PTRACE_TRACEME, 0, NULL, NULL), "ptrace", "refused");
	calls->open(socket);
	for (i = 0; i < TIMES; i++) {
		counted(nothing);
		counted(calls->post);
		usleep(ANSWER_US);
		counted(calls->poll);
	}
	ns = reg_ns(calls);
	cost_check(write(out, &ns, sizeof(ns)) == sizeof(ns), "write", "pipe");
	exit(0);
}

/* ------------------------------------------------------------- who counts */

/* True if @child stopped because it raised a SIGTRAP, not after a step. */
static int has_raised(pid_t child)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, child, NULL, &info) &&
	       info.si_code == SI_TKILL;
}

/* Lets @child go on until it raises SIGTRAP, at full speed or step by step. Returns the steps; ends
 * the program when the child has ended, if that was not expected; -1 if it was. */
static long until_raised(pid_t child, int step, int may_end)
{
	long steps = 0;
	int status, sig = 0;

	for (;; steps++) {
		ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL,
		       (void *)(intptr_t)sig);
		if (waitpid(child, &status, 0) != child ||
		    !WIFSTOPPED(status)) {
			cost_check(may_end && WIFEXITED(status) &&
					   !WEXITSTATUS(status),
				   "the measured process", "it ended");
			return -1;
		}
		sig = WSTOPSIG(status);
		if (sig != SIGTRAP)
			continue; /* it gets the signal */
		sig = 0;
		if (has_raised(child))
			return steps;
	}
}

static double median_of(double v[KINDS][TIMES], int kind)
{
	return yard_median(v[kind] + TIMES / 2, TIMES / 2);
}

int cost_main(const struct cost_calls *calls, const char *socket)
{
	double v[KINDS][TIMES], ns = 0, none;
	int i, k, fds[2];
	pid_t child;

	cost_check(!pipe(fds), "pipe", "refused");
	child = fork();
	cost_check(child >= 0, "fork", "refused");
	if (!child)
		measured(calls, socket, fds[1]);
	for (i = 0; i < TIMES; i++)
		for (k = 0; k < KINDS; k++) {
			if (i || k)
				until_raised(child, 0, 0);
			else /* it stops for the first time */
				cost_check(waitpid(child, NULL, 0) == child,
					   "wait", "no child");
			v[k][i] = (double)until_raised(child, 1, 0);
		}
	while (until_raised(child, 0, 1) >= 0)
		;
	cost_check(read(fds[0], &ns, sizeof(ns)) == sizeof(ns), "read", "pipe");
	none = median_of(v, NOTHING);
	printf("{\"post\": %.0f, \"poll\": %.0f, \"reg_ns\": %.0f}\n",
	       median_of(v, POST) - none, median_of(v, POLL) - none, ns);
	return 0;
}
