/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* admin.h - handlers of what unicctl asks, by the name of the request. */
#ifndef UNIC_ADMIN_H
#define UNIC_ADMIN_H

#include "state.h"

void unic_admin_info(struct unic_req *req);
void unic_admin_stats(struct unic_req *req);
void unic_admin_uses(struct unic_req *req);
void unic_admin_dump(struct unic_req *req);
void unic_admin_ps(struct unic_req *req);
void unic_admin_trace(struct unic_req *req);
void unic_admin_crash(struct unic_req *req);
void unic_admin_fault(struct unic_req *req);
void unic_admin_params(struct unic_req *req);
void unic_admin_policy(struct unic_req *req);
void unic_admin_trace_mask(struct unic_req *req);
void unic_admin_reset(struct unic_req *req);
void unic_admin_usage(struct unic_req *req);

#endif /* UNIC_ADMIN_H */
