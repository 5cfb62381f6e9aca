/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * derived.h - regions made of other regions: sub-regions, memory windows (IBTA
 * 10.6.7), fast registrations (IBTA 10.6.6), indirect regions (S2).
 *
 *	           alloc            make
 *	(no slot) -------> SHUT ------------> valid
 *	                    ^ <-- unmake -- closed <-- close --+
 *
 * A SHUT form has its STag, elements and entries, and opens to nobody. All
 * three are ACTIVE or NOTIFIED in the life of a region (mr.h), so a form can be
 * asked back in any of them and ends as every region does.
 *
 * Secret: which form may be made of what.
 */
#ifndef UNIC_DERIVED_H
#define UNIC_DERIVED_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_mbox.h"
#include "unic_queue.h"

struct unic_memory;
struct unic_mr_args;
struct unic_mr_result;

struct unic_derived_alloc {
	uint16_t pd;
	uint8_t kind, key, page_shift, importance;
	uint32_t n, user;
};

/** unic_derived_check() - may there be a form like @a at all? 0, -UNIC_ENOPD,
 * -UNIC_EINVAL. */
int unic_derived_check(const struct unic_memory *nic,
		       const struct unic_derived_alloc *a);

/** unic_derived_args() - the region that the checked form @a is: *args. */
void unic_derived_args(const struct unic_derived_alloc *a,
		       struct unic_mr_args *args);

/** unic_derived_room() - are there elements for @a, and room for one more region
 * that holds no entries? 0, -UNIC_EELEMENTS, -UNIC_EMRFULL. */
int unic_derived_room(struct unic_memory *nic,
		      const struct unic_derived_alloc *a);

/** unic_derived_build() - make form @a, region @args; it is SHUT. The caller
 * checked that it fits. */
void unic_derived_build(struct unic_memory *nic,
			const struct unic_derived_alloc *a,
			const struct unic_mr_args *args,
			struct unic_mr_result *out);

/* What a form shall be made of. The list is private memory of the caller. */
struct unic_derived_plan {
	uint32_t stag; /* of the form, as it is now */
	uint16_t pd;
	uint8_t kinds; /* UNIC_DERIVED_BIT() of those meant */
	uint8_t key, rights;
	uint64_t iova;
	uint32_t n, repeat;
	const struct unic_sge *list;
	const unic_le32 *strides; /* NULL: no stride */
	uint32_t wrong;		  /* out, on error: the element it is about */
};
#define UNIC_DERIVED_BIT(kind) (1u << (kind))

/**
 * unic_derived_make() - make a SHUT form valid, under a new STag; or make anew, of
 * something else, a window of type 1 or an indirect region of a physical domain.
 * 0; on error nothing happened: -UNIC_ESTAG (of the form or of an element; what
 * another process has is not there, and whoever names it is counted, key_guard.h),
 * -UNIC_EPD (of another domain of the same process), -UNIC_ERIGHTS, -UNIC_EBOUNDS, -UNIC_EEVICTED, -UNIC_EALIGN,
 * -UNIC_ESTATE (valid already; a kind not meant), -UNIC_EBUSY (a bound window
 * of type 1 in use, an indirect region that forms or tokens are made of),
 * -UNIC_EAGAIN (one that queues still use), -UNIC_ETOOLARGE, -UNIC_EINVAL.
 */
int unic_derived_make(struct unic_memory *nic, struct unic_derived_plan *plan);

/**
 * unic_derived_close() - first half of an invalidation: from now on nobody gets
 * in. @remote: a peer asks, and only windows of type 2, fast and indirect
 * regions with a remote right obey.
 * 0: idle, call unic_derived_unmake(). -UNIC_EAGAIN: closed, in use: ask again.
 * Nothing happened: -UNIC_ESTAG, -UNIC_EPD, -UNIC_EEVICTED, -UNIC_ESTATE (not
 * valid, or cannot be invalidated), -UNIC_EBUSY (forms are made of it).
 */
int unic_derived_close(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		       bool remote);

/** unic_derived_unmake() - second half: the closed, idle form of @stag is SHUT.
 * False, nothing done: it has ended meanwhile, or is SHUT already. */
bool unic_derived_unmake(struct unic_memory *nic, uint32_t stag);

#endif /* UNIC_DERIVED_H */
