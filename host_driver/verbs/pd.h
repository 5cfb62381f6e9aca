/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pd.h - protection domains, as libibverbs asks for them. */
#ifndef UNIC_VERBS_PD_H
#define UNIC_VERBS_PD_H

#include "objects.h"

/** unic_ibv_alloc_pd() - ibv_alloc_pd(). */
struct ibv_pd *unic_ibv_alloc_pd(struct ibv_context *ctx);
/** unic_ibv_dealloc_pd() - ibv_dealloc_pd(). */
int unic_ibv_dealloc_pd(struct ibv_pd *pd);
/** unic_ibv_alloc_parent_domain() - ibv_alloc_parent_domain(). Its allocators are never
 * called. */
struct ibv_pd *
unic_ibv_alloc_parent_domain(struct ibv_context *ctx,
			     struct ibv_parent_domain_init_attr *attr);
/** unic_ibv_alloc_td() - ibv_alloc_td(); _dealloc_td() - ibv_dealloc_td(). */
struct ibv_td *unic_ibv_alloc_td(struct ibv_context *ctx,
				 struct ibv_td_init_attr *attr);
int unic_ibv_dealloc_td(struct ibv_td *td);
/** unic_ibv_use_pd() - @pd, if it is a parent domain, cannot be freed until as many
 * unic_ibv_unuse_pd(). Other protection domains know of their objects by libunic. */
void unic_ibv_use_pd(struct ibv_pd *pd);
void unic_ibv_unuse_pd(struct ibv_pd *pd);

#endif /* UNIC_VERBS_PD_H */
