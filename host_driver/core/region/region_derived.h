/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_derived.h - handlers: regions made of others, and regions made anew. */
#ifndef UNIC_REGION_DERIVED_H
#define UNIC_REGION_DERIVED_H

#include "region/region.h"

void unic_region_alloc(struct unic_req *req);
void unic_region_make(struct unic_req *req);
void unic_region_inval(struct unic_req *req);
void unic_region_rereg(struct unic_req *req);

#endif /* UNIC_REGION_DERIVED_H */
