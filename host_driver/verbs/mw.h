/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mw.h - memory windows, as libibverbs asks for them. */
#ifndef UNIC_VERBS_MW_H
#define UNIC_VERBS_MW_H

#include "objects.h"

/** unic_ibv_alloc_mw() - ibv_alloc_mw(). */
struct ibv_mw *unic_ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
/** unic_ibv_dealloc_mw() - ibv_dealloc_mw(). */
int unic_ibv_dealloc_mw(struct ibv_mw *mw);
/** unic_ibv_bind_mw() - ibv_bind_mw(), of a window of type 1: it is bound when the call
 * returns; the request that completes is behind those that were posted before. */
int unic_ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		     struct ibv_mw_bind *bind);

/** unic_ibv_check_bind() - 0, or the errno of a request that binds @mw, of type 2, to @info
 * under the name @rkey. */
int unic_ibv_check_bind(const struct ibv_mw *mw, uint32_t rkey,
			const struct ibv_mw_bind_info *info);
/** unic_ibv_put_bind() - what libunic is told by such a request, which unic_ibv_check_bind() passed:
 * @sg and @range are used until it is posted. */
void unic_ibv_put_bind(const struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info, struct unic_sg *sg,
		       struct unic_sge *range, struct unic_send_wr *to);
/** unic_ibv_bind_posted() - such a request was posted: the next one names @mw by @rkey. */
void unic_ibv_bind_posted(struct ibv_mw *mw, uint32_t rkey);

#endif /* UNIC_VERBS_MW_H */
