/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * semihost.h - words and an exit code for the person who runs a test image:
 * Arm semihosting (ARM IHI 0097), QEMU -semihosting-config
 * enable=on,target=native. Only test images link it: without a debugger or
 * emulator the call is a fault.
 */
#ifndef SEMIHOST_H
#define SEMIHOST_H

#include <stdint.h>

/** semihost_puts() - write @text to the standard error of QEMU. */
void semihost_puts(const char *text);

/** semihost_dec() - write @value in decimal. */
void semihost_dec(uint64_t value);

/** semihost_word() - the last word of the command line (arg= of
 * -semihosting-config), in @text of @bytes; "" if there is none that fits. */
const char *semihost_word(char *text, uint32_t bytes);

/** semihost_exit() - end QEMU with this exit code. */
void semihost_exit(uint32_t code) __attribute__((noreturn));

#endif /* SEMIHOST_H */
