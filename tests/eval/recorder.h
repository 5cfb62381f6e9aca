/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * recorder.h - the soft NIC as a recorder of references (make image-recorder). Each
 * source of that build includes this file first.
 *
 * Secret: the file, $UNIC_RECORD.<pid>, as unic-policysim reads it (csv): the time of
 * the use by CLOCK_MONOTONIC in ns, not of its poll round; the identity of the region;
 * its bytes; its process; its importance. Uses of one region with no other use between
 * them are one line. Without $UNIC_RECORD nothing is written.
 */
#ifndef EVAL_RECORDER_H
#define EVAL_RECORDER_H

struct unic_memory;
struct unic_mr_ctx;

/** recorder_use() - @mr is used. A derived region counts for those that it is made of,
 * as for the policies; queues do not count. */
void recorder_use(struct unic_memory *nic, const struct unic_mr_ctx *mr);

#define UNIC_NOTE_USE(nic, mr) recorder_use(nic, mr)

#endif /* EVAL_RECORDER_H */
