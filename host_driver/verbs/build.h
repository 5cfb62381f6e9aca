/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * build.h - send requests that a program builds by calls (ibv_wr_start(), ibv_wr_send() and
 * so on), and that are posted together.
 *
 * Secret: where they are until ibv_wr_complete().
 */
#ifndef UNIC_VERBS_BUILD_H
#define UNIC_VERBS_BUILD_H

#include "objects.h"

/** unic_ibv_make_build() - what the requests of a queue pair that is asked for with @attr are
 * built in, by the calls of its send_ops_flags. 0; -EOPNOTSUPP: an operation that such a queue
 * pair does not have; -ENOMEM. *@out is for unic_ibv_build_of() or
 * unic_ibv_free_build(). */
int unic_ibv_make_build(struct ibv_context *ctx,
			const struct ibv_qp_init_attr_ex *attr,
			struct unic_ibv_build **out);
/** unic_ibv_build_of() - make @build, which is @qp's from now on, its ibv_qp_ex. */
void unic_ibv_build_of(struct unic_ibv_qp *qp, struct unic_ibv_build *build);
/** unic_ibv_free_build() - free @build, or do nothing if it is NULL. */
void unic_ibv_free_build(struct unic_ibv_build *build);

/** unic_ibv_build_lock() - keep requests that are built away until unic_ibv_build_unlock(). */
void unic_ibv_build_lock(struct unic_ibv_build *build);
void unic_ibv_build_unlock(struct unic_ibv_build *build);

#endif /* UNIC_VERBS_BUILD_H */
