/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fiber.c - see fiber.h. */
#include "fiber.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "process.h"

#define FIBERS	    128u
#define STACK_BYTES (256u * 1024u)
#define TLS_MAX	    2048u
#define STEP_NS	    1500u /* a pause in a system call, at most */
#define WAKE_NS	    2000u /* from the wake to the run, at most */
#define PAUSES	    4u	  /* one call in so many pauses */

enum state {
	FREE,
	BLOCKED,
	RUNS,
	ENDED, /* and not joined */
};

static struct fiber {
	ucontext_t at;
	struct process *proc;
	void *(*start)(void *arg);
	void *arg;
	enum state state;
	bool woken, detached;
	const void *on;	 /* BLOCKED */
	uint64_t ticket; /* of the event that resumes it; 0: none */
	uint32_t number;
	int err; /* errno */
	uint8_t tls[TLS_MAX];
	uint8_t *stack;
} fibers[FIBERS], *current;

static ucontext_t home;
static uint64_t tickets;
static uint32_t numbers;
static struct process *loaded;

/* ------------------------------------------------- what a thread has of its own */

static uint8_t *tls_of_program;
static size_t tls_bytes;

static int find_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	(void)size;
	(void)arg;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			tls_bytes = info->dlpi_phdr[i].p_memsz;
	tls_of_program = info->dlpi_tls_data;
	return 1; /* the program itself comes first */
}

/* Thread-local variables of the program, which are those of libunic. */
static void take_tls(struct fiber *f, bool in)
{
	if (!tls_of_program)
		dl_iterate_phdr(find_tls, NULL);
	if (tls_bytes > TLS_MAX)
		sim_fail("sim", "%zu bytes are thread-local", tls_bytes);
	if (!tls_bytes)
		return;
	if (in)
		memcpy(tls_of_program, f->tls, tls_bytes);
	else
		memcpy(f->tls, tls_of_program, tls_bytes);
}

static void load_process(struct process *p)
{
	if (loaded == p)
		return;
	if (loaded)
		process_store(loaded);
	process_load(p);
	loaded = p;
}

/* ---------------------------------------------------------------- switching */

static void go_home(struct fiber *f)
{
	if (swapcontext(&f->at, &home))
		sim_fail("sim", "swapcontext");
}

static void run(struct fiber *f)
{
	load_process(f->proc);
	take_tls(f, true);
	errno = f->err;
	f->state = RUNS;
	current = f;
	if (swapcontext(&home, &f->at))
		sim_fail("sim", "swapcontext");
	current = NULL;
	f->err = errno;
	take_tls(f, false);
	if (f->state == ENDED && f->detached)
		f->state = FREE;
}

static void resume(void *ctx, uint64_t ticket)
{
	struct fiber *f = ctx;

	if (f->ticket != ticket || f->state != BLOCKED)
		return;
	f->ticket = 0;
	run(f);
}

static void schedule(struct fiber *f, uint64_t at_ns)
{
	f->ticket = ++tickets;
	sim_at(at_ns, resume, f, f->ticket);
}

/* ------------------------------------------------------------ life of a thread */

static void begin(void)
{
	struct fiber *f = current;

	f->start(f->arg);
	f->state = ENDED;
	fiber_wake(f->proc, f, true);
	go_home(f);
}

void fiber_reset(void)
{
	uint32_t i;

	for (i = 0; i < FIBERS; i++)
		fibers[i].state = FREE;
	current = NULL;
	loaded = NULL;
	tickets = 0;
	numbers = 0;
}

static struct fiber *find_free(void)
{
	uint32_t i;

	for (i = 0; i < FIBERS; i++)
		if (fibers[i].state == FREE)
			return &fibers[i];
	sim_fail("sim", "more than %u threads", FIBERS);
}

static void make_stack(struct fiber *f)
{
	if (!f->stack)
		f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->stack == MAP_FAILED || mprotect(f->stack, 4096, PROT_NONE))
		sim_fail("sim", "no memory for a stack");
}

uint32_t fiber_start(struct process *p, void *(*start)(void *arg), void *arg)
{
	struct fiber *f = find_free();

	make_stack(f);
	f->proc = p;
	f->start = start;
	f->arg = arg;
	f->state = BLOCKED;
	f->woken = f->detached = false;
	f->on = NULL;
	f->number = ++numbers;
	f->err = 0;
	memset(f->tls, 0, sizeof(f->tls));
	getcontext(&f->at);
	f->at.uc_stack.ss_sp = f->stack;
	f->at.uc_stack.ss_size = STACK_BYTES;
	f->at.uc_link = NULL;
	makecontext(&f->at, begin, 0);
	schedule(f, sim_now() + process_range(p, 1, WAKE_NS));
	return f->number;
}

static struct fiber *find(uint32_t number)
{
	uint32_t i;

	for (i = 0; i < FIBERS; i++)
		if (fibers[i].state != FREE && fibers[i].number == number)
			return &fibers[i];
	return NULL;
}

void fiber_detach(uint32_t number)
{
	find(number)->detached = true;
}

void fiber_join(uint32_t number)
{
	struct fiber *f = find(number);

	if (!f || f->proc != current->proc || f->detached)
		sim_fail("threads", "thread %u is joined, which cannot be",
			 number);
	while (f->state != ENDED)
		fiber_block(f, FIBER_ALWAYS);
	f->state = FREE;
}

void fiber_kill(struct process *p)
{
	uint32_t i;

	for (i = 0; i < FIBERS; i++)
		if (fibers[i].proc == p)
			fibers[i].state = FREE;
	if (loaded == p)
		loaded = NULL;
}

uint32_t fiber_count(const struct process *p)
{
	uint32_t i, n = 0;

	for (i = 0; i < FIBERS; i++)
		n += fibers[i].state != FREE && fibers[i].proc == p;
	return n;
}

uint32_t fiber_number(void)
{
	return current->number;
}

struct process *fiber_process(void)
{
	return current->proc;
}

/* ------------------------------------------------------------------ sleeping */

bool fiber_block(const void *on, uint64_t until_ns)
{
	struct fiber *f = current;

	f->on = on;
	f->woken = false;
	f->state = BLOCKED;
	f->ticket = 0;
	process_rests(f->proc);
	if (until_ns != FIBER_ALWAYS)
		schedule(f, until_ns);
	go_home(f);
	f->on = NULL;
	return f->woken;
}

bool fiber_sleeps(const struct process *p, const void *on)
{
	uint32_t i;

	for (i = 0; i < FIBERS; i++)
		if (fibers[i].state == BLOCKED && fibers[i].proc == p &&
		    fibers[i].on == on)
			return true;
	return false;
}

static void wake_one(struct fiber *f)
{
	f->on = NULL;
	f->woken = true;
	schedule(f, sim_now() + process_range(f->proc, 1, WAKE_NS));
}

void fiber_wake(struct process *p, const void *on, bool all)
{
	struct fiber *asleep[FIBERS];
	uint32_t i, n = 0;

	for (i = 0; i < FIBERS; i++)
		if (fibers[i].state == BLOCKED && fibers[i].proc == p &&
		    fibers[i].on == on)
			asleep[n++] = &fibers[i];
	if (!all && n)
		wake_one(asleep[process_below(p, n)]);
	for (i = 0; all && i < n; i++)
		wake_one(asleep[i]);
}

void fiber_pause(uint64_t ns)
{
	fiber_block(NULL, sim_now() + ns);
}

void fiber_step(void)
{
	if (!process_below(current->proc, PAUSES))
		fiber_pause(process_range(current->proc, 1, STEP_NS));
}

void fiber_say(const struct process *p)
{
	uint32_t i;

	for (i = 0; i < FIBERS; i++)
		if (fibers[i].state != FREE && fibers[i].proc == p)
			sim_log("%s: thread %u, state %u, %s", process_name(p),
				fibers[i].number, fibers[i].state,
				fibers[i].on ? "sleeps" : "is due");
}
