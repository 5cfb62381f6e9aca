/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unicblk_file.h - the file on the other host, before it is a disk. */
#ifndef UNICBLK_FILE_H
#define UNICBLK_FILE_H

struct unic_kio;
struct unicblk;

/** unicblk_file_name() - name the file of @b in @io. */
void unicblk_file_name(const struct unicblk *b, struct unic_kio *io);

/**
 * unicblk_file_open() - ask for the size of the file of @b, make the file as long as
 * b->bytes if it is shorter or none, and set b->bytes to what the disk has. Sleeps, ten
 * seconds at most.
 * Returns 0, or: -EINTR, a signal: b->resident is NULL if the answer owns it; -EINVAL, no
 * size of a disk; -ENODEV; -ENOMEM; -EAGAIN or -EBUSY, not now; or the error of the other
 * host.
 */
int unicblk_file_open(struct unicblk *b);

#endif /* UNICBLK_FILE_H */
