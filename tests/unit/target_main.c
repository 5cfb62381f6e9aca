/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * target_main.c - what a unit test needs below it on the bare Cortex-A15 of
 * QEMU's `virt`: a start, a stack, a console, an exit code. The C library is
 * newlib; the console and the exit are Arm semihosting, so no driver of ours
 * is involved in judging ours.
 *
 * A fault is a failed test: it prints where and leaves with code 99.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "semihost.h"

#define EXIT_FAULT 99
#define HEAP_LIMIT ((char *)0x47800000) /* the stack lies above, to 128 MiB */

extern char end[]; /* of the image, from the linker */
extern char __bss_start__[], __bss_end__[];

int main(void);
void target_c_start(void) __attribute__((noreturn));
void target_fault(uint32_t kind, uint32_t pc) __attribute__((noreturn));
void _exit(int code) __attribute__((noreturn));
int _write(int fd, const char *text, int len);
void *_sbrk(int incr);
int _read(int fd, char *buf, int len);
int _close(int fd);
int _lseek(int fd, int off, int whence);
int _fstat(int fd, struct stat *st);
int _isatty(int fd);
int _kill(int pid, int sig);
int _getpid(void);
void _fini(void);

__asm__(".section .text.start, \"ax\"\n"
	".arm\n"
	".balign 32\n"
	"vectors:\n"
	"	b _start\n"
	"	b undef\n"
	"	b svc\n"
	"	b prefetch\n"
	"	b data\n"
	"	nop\n"
	"	b irq\n"
	"	b irq\n"
	"undef:	mov r0, #1\n	b fault\n"
	"svc:	mov r0, #2\n	b fault\n"
	"prefetch: mov r0, #3\n	b fault\n"
	"data:	mov r0, #4\n	b fault\n"
	"irq:	mov r0, #5\n"
	"fault:	mov r1, lr\n"
	"	ldr sp, =0x47f00000\n"
	"	bl target_fault\n"
	".global _start\n"
	".type _start, %function\n"
	"_start:\n"
	"	ldr sp, =0x48000000\n"
	"	ldr r0, =vectors\n"
	"	mcr p15, 0, r0, c12, c0, 0\n" /* VBAR */
	"	mrc p15, 0, r0, c1, c0, 2\n"  /* CPACR: the FPU is ours */
	"	orr r0, r0, #0xf00000\n"
	"	mcr p15, 0, r0, c1, c0, 2\n"
	"	isb\n"
	"	mov r0, #0x40000000\n"
	"	.fpu neon-vfpv4\n"
	"	vmsr fpexc, r0\n"
	"	bl target_c_start\n"
	".ltorg\n"
	".text\n");

void _exit(int code)
{
	semihost_exit((uint32_t)code);
}

void target_c_start(void)
{
	for (char *p = __bss_start__; p < __bss_end__; p++)
		*p = 0;
	setvbuf(stdout, NULL, _IOLBF, 1024);
	int code = main();
	fflush(stdout);
	_exit(code);
}

void target_fault(uint32_t kind, uint32_t pc)
{
	static const char *const name[] = {
		"?",	      "undefined instruction",
		"svc",	      "prefetch abort",
		"data abort", "interrupt"
	};

	printf("\nfault on target: %s at %08lx\n", name[kind],
	       (unsigned long)pc);
	fflush(stdout);
	_exit(EXIT_FAULT);
}

/* Semihosting wants a terminated string; text arrives as pointer and length. */
int _write(int fd, const char *text, int len)
{
	char chunk[128];

	(void)fd;
	for (int done = 0; done < len;) {
		int n = 0;

		while (n < (int)sizeof(chunk) - 1 && done < len)
			chunk[n++] = text[done++];
		chunk[n] = '\0';
		semihost_puts(chunk);
	}
	return len;
}

void *_sbrk(int incr)
{
	static char *brk = end;
	char *was = brk;

	if (incr > HEAP_LIMIT - brk) {
		errno = ENOMEM;
		return (void *)-1;
	}
	brk += incr;
	return was;
}

/* The rest of what newlib asks for: there are no files here. */
int _read(int fd, char *buf, int len)
{
	(void)fd;
	(void)buf;
	(void)len;
	return 0;
}

int _close(int fd)
{
	(void)fd;
	return -1;
}

int _lseek(int fd, int off, int whence)
{
	(void)fd;
	(void)off;
	(void)whence;
	return 0;
}

int _fstat(int fd, struct stat *st)
{
	(void)fd;
	st->st_mode = S_IFCHR;
	return 0;
}

int _isatty(int fd)
{
	(void)fd;
	return 1;
}

int _kill(int pid, int sig)
{
	(void)pid;
	_exit(sig);
}

int _getpid(void)
{
	return 1;
}

void _fini(void)
{
}
