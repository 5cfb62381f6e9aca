/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * derived.h - regions made of other regions: sub-regions, memory windows (IBTA
 * 10.6.7), fast registrations (IBTA 10.6.6), indirect regions (S2).
 *
 * 	           alloc            make
 * 	(no slot) -------> SHUT ------------> valid
 * 	                    ^ <-- unmake -- closed <-- close --+
 *
 * A SHUT derived region has its STag, elements and entries, and no access passes.
 * All three states are ACTIVE or NOTIFIED in the life of a region (mr.h), so a
 * derived region can be asked back in each and ends as every region does.
 *
 * Secret: which kind may be made of what.
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
	uint32_t stag; /* of an earlier epoch; 0: a new one */
};

/** unic_derived_check() - checks kind, size and domain of @a. Returns 0,
 * -UNIC_ENOPD, -UNIC_EINVAL. */
int unic_derived_check(const struct unic_memory *nic,
		       const struct unic_derived_alloc *a);

/** unic_derived_args() - writes the region's arguments for the checked @a to
 * *@args. */
void unic_derived_args(const struct unic_derived_alloc *a,
		       struct unic_mr_args *args);

/** unic_derived_room() - are there elements for @a, and is one more region
 * without entries allowed? Returns 0, -UNIC_EELEMENTS, -UNIC_EMRFULL. */
int unic_derived_room(struct unic_memory *nic,
		      const struct unic_derived_alloc *a);

/** unic_derived_build() - makes the SHUT derived region @a with @args. The caller
 * checked that it fits. */
void unic_derived_build(struct unic_memory *nic,
			const struct unic_derived_alloc *a,
			const struct unic_mr_args *args,
			struct unic_mr_result *out);

/* What a derived region is to be made of. The list is private memory of the
 * caller. */
struct unic_derived_plan {
	uint32_t stag; /* present STag of the derived region */
	uint16_t pd;
	uint8_t kinds; /* UNIC_DERIVED_BIT() of the kinds allowed */
	uint8_t key, rights;
	uint64_t iova;
	uint32_t n, repeat;
	const struct unic_sge *list;
	const unic_le32 *strides; /* NULL: no stride */
	/* out, on error: index of the element refused */
	uint32_t wrong;
};
#define UNIC_DERIVED_BIT(kind) (1u << (kind))

/**
 * unic_derived_make() - makes a SHUT derived region valid, under a new STag; or
 * makes a window of type 1, or an indirect region of a physical domain, again of
 * something else. Returns 0, or an error that changed nothing: -UNIC_ESTAG (of
 * the region or of an element; what another process has counts as missing, and
 * the request as a wrong key, key_guard.h), -UNIC_EPD (of another domain of the
 * same process), -UNIC_ERIGHTS, -UNIC_EBOUNDS, -UNIC_EEVICTED, -UNIC_EALIGN,
 * -UNIC_ESTATE (already valid, or a kind not allowed), -UNIC_EBUSY (a bound
 * window of type 1 in use, an indirect region with dependents or tokens),
 * -UNIC_EAGAIN (an indirect region in use by queues), -UNIC_EPENDING (a fast
 * registration: the list of a TABLE region is being read, call again), -UNIC_ETOOLARGE, -UNIC_EINVAL, -UNIC_ENOPAGE
 * (a fast registration: such a list has no page there).
 */
int unic_derived_make(struct unic_memory *nic, struct unic_derived_plan *plan);

/**
 * unic_derived_close() - first half of an invalidation: no access passes
 * afterwards. @remote: a peer asks; this works only for windows of type 2, fast
 * and indirect regions with a remote right. Returns 0 (idle: call
 * unic_derived_unmake()), -UNIC_EAGAIN (closed, but in use: call again), or an
 * error that changed nothing: -UNIC_ESTAG, -UNIC_EPD, -UNIC_EEVICTED,
 * -UNIC_ESTATE (not valid, or cannot be invalidated), -UNIC_ERIGHTS (@remote,
 * without a remote right), -UNIC_EBUSY (regions are derived from it).
 */
int unic_derived_close(struct unic_memory *nic, uint32_t stag, uint16_t pd,
		       bool remote);

/** unic_derived_unmake() - second half: the closed, idle region of @stag becomes
 * SHUT. Returns false, with nothing done, if it has ended or is SHUT. */
bool unic_derived_unmake(struct unic_memory *nic, uint32_t stag);

#endif /* UNIC_DERIVED_H */
