// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Nothing here but what signal-safety(7) allows in a handler. */
#define _GNU_SOURCE
#include "crash.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "soft_port.h"
#include "unic_mbox.h"

#define EXIT_CRASHED  70 /* EX_SOFTWARE */
#define STACK_BYTES   65536u
#define OVERFLOW_NEAR 65536u /* a fault this near to sp is the stack's */

/* A signal handler gets no argument of the program's: the port is a variable. */
static struct unic_port *armed;
static uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));

/* The text of this program, set by the linker. */
extern const uint8_t __ehdr_start[], etext[];

/* ------------------------------------------------------------------- text */

struct text {
	char *at;
	size_t left; /* without the final zero */
};

static void put_text(struct text *t, const char *s)
{
	for (; *s && t->left; t->left--)
		*t->at++ = *s++;
	*t->at = '\0';
}

static void put_number(struct text *t, uintptr_t v, unsigned int base)
{
	char digits[24], *p = digits + sizeof(digits);

	*--p = '\0';
	do {
		*--p = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	put_text(t, p);
}

static void print_crash(const struct unic_crash *record)
{
	char line[128];
	struct text t = { line, sizeof(line) - 1 };

	put_text(&t, "unic-nic: crashed: ");
	put_text(&t, (const char *)record->file);
	if (unic_from_le32(record->line)) {
		put_text(&t, ":");
		put_number(&t, unic_from_le32(record->line), 10);
	}
	put_text(&t, "\n");
	(void)!write(STDERR_FILENO, line, (size_t)(t.at - line));
}

/* ----------------------------------------------------------------- record */

static void publish_crash(struct unic_port *port, struct unic_crash *record)
{
	uint8_t *bar = port->bar;
	struct unic_crash *out = (void *)(bar + UNIC_BAR_CRASH_OFF);
	struct unic_info *info = (void *)(bar + UNIC_BAR_INFO_OFF);

	record->time_ns = unic_to_le64(unic_port_now_ns(port));
	crash_details(record);
	memcpy(out, record, sizeof(*out));
	unic_wmb();
	UNIC_WRITE_ONCE(out->magic, unic_to_le32(UNIC_CRASH_MAGIC));
	UNIC_WRITE_ONCE(info->state, unic_to_le32(UNIC_NIC_CRASHED));
	unic_port_ring(port, 0);
}

void crash_panic(struct unic_port *port, const char *file, uint32_t line)
{
	struct unic_crash record = {
		.kind = unic_to_le32(UNIC_CRASH_ASSERT),
		.line = unic_to_le32(line),
	};
	struct text t = { (char *)record.file, sizeof(record.file) - 1 };

	put_text(&t, file);
	publish_crash(port, &record);
	print_crash(&record);
	_exit(EXIT_CRASHED);
}

/* ---------------------------------------------------------------- signals */

struct where {
	uintptr_t pc, sp;
};

/* The record has 32 bits for each: the low ones. 13 is sp, 14 the link or frame
 * register, 15 pc, 16 the flags. */
static struct where save_registers(struct unic_crash *record,
				   const ucontext_t *uc)
{
#if defined(__x86_64__)
	static const uint8_t order[17] = {
		REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
		REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13,
		REG_R14, REG_RSP, REG_RBP, REG_RIP, REG_EFL,
	};
	const greg_t *r = uc->uc_mcontext.gregs;
	uint32_t i;

	for (i = 0; i < 17; i++)
		record->reg[i] = unic_to_le32((uint32_t)r[order[i]]);
	return (struct where){ (uintptr_t)r[REG_RIP], (uintptr_t)r[REG_RSP] };
#elif defined(__aarch64__)
	const mcontext_t *m = &uc->uc_mcontext;
	uint32_t i;

	for (i = 0; i < 13; i++)
		record->reg[i] = unic_to_le32((uint32_t)m->regs[i]);
	record->reg[13] = unic_to_le32((uint32_t)m->sp);
	record->reg[14] = unic_to_le32((uint32_t)m->regs[30]);
	record->reg[15] = unic_to_le32((uint32_t)m->pc);
	record->reg[16] = unic_to_le32((uint32_t)m->pstate);
	return (struct where){ m->pc, m->sp };
#else
	(void)record;
	(void)uc;
	return (struct where){ 0, 0 };
#endif
}

static const char *name_of(int sig)
{
	return sig == SIGSEGV  ? "SIGSEGV"
	       : sig == SIGBUS ? "SIGBUS"
	       : sig == SIGILL ? "SIGILL"
	       : sig == SIGFPE ? "SIGFPE"
			       : "SIGABRT";
}

static uint32_t kind_of(const siginfo_t *info, const struct where *w)
{
	uintptr_t addr = (uintptr_t)info->si_addr;

	if (info->si_code <= 0) /* sent by a process */
		return UNIC_CRASH_OTHER;
	if (info->si_signo == SIGILL)
		return UNIC_CRASH_UNDEF;
	if (info->si_signo != SIGSEGV && info->si_signo != SIGBUS)
		return UNIC_CRASH_OTHER;
	if (addr == w->pc)
		return UNIC_CRASH_PREFETCH;
	if (addr - w->sp + OVERFLOW_NEAR < 2 * OVERFLOW_NEAR)
		return UNIC_CRASH_STACK;
	return UNIC_CRASH_DATA;
}

/* As an offset from the start of the program, for addr2line. */
static void put_place(struct text *t, uintptr_t pc)
{
	uintptr_t start = (uintptr_t)__ehdr_start;

	if (pc - start >= (uintptr_t)etext - start) {
		put_text(t, " outside of unic-nic");
		return;
	}
	put_text(t, " at unic-nic+0x");
	put_number(t, pc - start, 16);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct unic_crash record = { .line = unic_to_le32(0) };
	struct text t = { (char *)record.file, sizeof(record.file) - 1 };
	struct where w = save_registers(&record, context);

	put_text(&t, name_of(sig));
	put_place(&t, w.pc);
	record.kind = unic_to_le32(kind_of(info, &w));
	record.fault_status = unic_to_le32((uint32_t)info->si_code);
	if (info->si_code > 0)
		record.fault_addr =
			unic_to_le32((uint32_t)(uintptr_t)info->si_addr);
	publish_crash(armed, &record);
	print_crash(&record);
	/* the default action is back, and ends the process when this returns */
	raise(sig);
}

int crash_arm(struct unic_port *port)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE,
				       SIGABRT };
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_ONSTACK |
					     (int)SA_RESETHAND };
	uint32_t i;

	armed = port;
	act.sa_sigaction = on_signal;
	sigfillset(&act.sa_mask);
	if (sigaltstack(&alt, NULL))
		return -errno;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &act, NULL))
			return -errno;
	return 0;
}
