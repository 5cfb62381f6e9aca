/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unicblk_rq.h - how a request of the block layer becomes an I/O of the page service. */
#ifndef UNICBLK_RQ_H
#define UNICBLK_RQ_H

struct blk_mq_tag_set;

/** unicblk_rq_tags() - allocate the requests of a disk; @tags is zero otherwise. The
 * queue that is made with them has a struct unicblk as its data. Returns 0 or -errno;
 * blk_mq_free_tag_set() frees them. */
int unicblk_rq_tags(struct blk_mq_tag_set *tags);

#endif /* UNICBLK_RQ_H */
