/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * output.h - what a program has printed reaches its reader, or the program fails.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

/** output_end() - write out all that was printed, as the last act of main(). Returns
 * @status, or EX_IOERR with words on standard error where @status is 0 and something could
 * not be written (a disk that is full). */
int output_end(const char *program, int status);

#endif /* OUTPUT_H */
