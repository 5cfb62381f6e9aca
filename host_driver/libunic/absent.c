/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* absent.c - see absent.h. */
#define _GNU_SOURCE
#include "absent.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_data.h"

UNIC_OWN_VARIABLE static struct {
	bool (*mend)(void); /* NULL: no fork() goes on */
	pid_t parent;
	struct sigaction before;
	sigset_t mask; /* of the thread that forks, before */
} watch;

/* As without a handler of this library. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction none = { .sa_handler = SIG_DFL };

	if (watch.before.sa_flags & SA_SIGINFO) {
		watch.before.sa_sigaction(sig, info, context);
	} else if (watch.before.sa_handler != SIG_DFL &&
		   watch.before.sa_handler != SIG_IGN) {
		watch.before.sa_handler(sig);
	} else if (info->si_code > 0) {
		sigaction(sig, &none, NULL); /* the access is repeated */
	} else if (watch.before.sa_handler == SIG_DFL) {
		sigaction(sig, &none, NULL);
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code <= 0 || !watch.mend || getpid() == watch.parent ||
	    !watch.mend())
		pass_on(sig, info, context);
	errno = saved;
}

void unic_absent_watch(bool (*mend)(void))
{
	struct sigaction sa = { .sa_sigaction = on_fault };
	sigset_t fault;

	sigemptyset(&fault);
	sigaddset(&fault, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &fault, &watch.mask);
	watch.parent = getpid();
	watch.mend = mend;
	sigaction(SIGSEGV, NULL, &watch.before);
	sa.sa_mask = watch.before.sa_mask;
	sa.sa_flags = SA_SIGINFO | (watch.before.sa_flags &
				    (SA_ONSTACK | SA_NODEFER | SA_RESTART));
	sigaction(SIGSEGV, &sa, NULL);
}

void unic_absent_end(void)
{
	struct sigaction now;

	if (!watch.mend)
		return;
	watch.mend = NULL;
	sigaction(SIGSEGV, NULL, &now);
	if (now.sa_sigaction ==
	    on_fault) /* the program has set no other since */
		sigaction(SIGSEGV, &watch.before, NULL);
	pthread_sigmask(SIG_SETMASK, &watch.mask, NULL);
}
