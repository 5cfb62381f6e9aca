/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unicblk_disk.h - a disk of the block layer. */
#ifndef UNICBLK_DISK_H
#define UNICBLK_DISK_H

struct unicblk;

/** unicblk_disk_reserve() - give @b a number. Returns 0 or -errno. */
int unicblk_disk_reserve(struct unicblk *b);

/** unicblk_disk_release() - free the number of @b, which has no disk. */
void unicblk_disk_release(struct unicblk *b);

/** unicblk_disk_add() - make /dev/unicblkN appear for @b, which has a number, a page
 * service and the size of its file. From then on the disk has @b, and frees it with the
 * last reference. Returns 0 or -errno: then @b is still the caller's. May sleep. */
int unicblk_disk_add(struct unicblk *b);

/** unicblk_disk_remove() - remove the disk of @b and drop its page service. Waits for I/Os
 * that are open; @b may be freed on return. */
void unicblk_disk_remove(struct unicblk *b);

/** unicblk_disk_exit() - free the numbers at unload, when no disk is left. */
void unicblk_disk_exit(void);

#endif /* UNICBLK_DISK_H */
