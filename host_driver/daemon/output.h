/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * output.h - what a program has printed reaches its reader, or the program fails.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

/** output_watch() - have exit() write out all that was printed, also by --help. Where
 * something could not be written (a disk that is full), exit() says so on standard error,
 * and a status of 0 becomes EX_IOERR. Call it once, first in main(). */
void output_watch(void);

#endif /* OUTPUT_H */
