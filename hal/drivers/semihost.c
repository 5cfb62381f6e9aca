/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "semihost.h"

#include <string.h>

#define SYS_WRITE0	  0x04u
#define SYS_GET_CMDLINE	  0x15u
#define SYS_EXIT_EXTENDED 0x20u
#define STOPPED_BY_EXIT	  0x20026u

#if __ARM_ARCH_PROFILE == 'M'
#define SEMIHOST_CALL "bkpt 0xab"
#else
#define SEMIHOST_CALL "svc 0x123456"
#endif

static uint32_t semihost_call(uint32_t op, const void *arg)
{
	register uint32_t r0 __asm__("r0") = op;
	register const void *r1 __asm__("r1") = arg;

	/* a real SVC would overwrite the link register of SVC mode, in which this
	 * runs */
	__asm__ volatile(SEMIHOST_CALL : "+r"(r0) : "r"(r1) : "lr", "memory");
	return r0;
}

void semihost_puts(const char *text)
{
	semihost_call(SYS_WRITE0, text);
}

void semihost_dec(uint64_t value)
{
	char text[21];
	char *p = text + sizeof(text) - 1;

	*p = 0;
	do {
		*--p = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	semihost_puts(p);
}

const char *semihost_word(char *text, uint32_t bytes)
{
	const uint32_t block[2] = { (uint32_t)(uintptr_t)text, bytes };
	const char *word = text;

	memset(text, 0, bytes);
	if (semihost_call(SYS_GET_CMDLINE, block))
		text[0] = 0;
	for (; *text; text++)
		if (*text == ' ')
			word = text + 1;
	return word;
}

void semihost_exit(uint32_t code)
{
	const uint32_t block[2] = { STOPPED_BY_EXIT, code };

	semihost_call(SYS_EXIT_EXTENDED, block);
	for (;;)
		__asm__ volatile("wfi");
}
