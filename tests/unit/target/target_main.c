/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * target_main.c - what a unit test needs below it on a bare processor: a heap, a
 * console, an exit code; start_*.S has the start, the stack and the vectors. The
 * C library is newlib; the console and the exit are Arm semihosting, so no driver
 * of ours is involved in judging ours.
 *
 * A fault is a failed test: it prints where and leaves with code 99.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "semihost.h"

#define EXIT_FAULT 99

/* From the command line of the linker: the heap is between, the stack elsewhere. */
extern char target_heap[], target_heap_end[];
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
	printf("\nfault on target: exception %lu (start_*.S) at %08lx\n",
	       (unsigned long)kind, (unsigned long)pc);
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
	static char *brk = target_heap;
	char *was = brk;

	if (incr > target_heap_end - brk) {
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
