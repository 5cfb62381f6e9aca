/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * register.h - requests of the driver for regions: register, restore, change, give
 * back (MEMORY.md sections 1 and 3).
 *
 * Secret: the order of a request: what is wrong with it, then whether it is
 * admitted, then the region. An error changed nothing.
 */
#ifndef UNIC_REGISTER_H
#define UNIC_REGISTER_H

#include <stdint.h>

#include "memory/derived.h"
#include "memory/mr.h"

struct unic_revoke;

/**
 * unic_mr_reg() - MR_REG of the mailbox, as documented at struct
 * unic_cmd_mr_reg. @pages: bus addresses (REG_LIST) or NULL.
 * Returns 0, -UNIC_EPENDING (out->wait), or an error that changed nothing:
 * EINVAL, ENOPD, ETLBFULL, EMRFULL, EQUOTA, ETOOLARGE, EWAITFULL, ECTRLCAP,
 * EBUS (a page address is not aligned). *out is written on 0 and EPENDING.
 */
int unic_mr_reg(struct unic_revoke *nic, const struct unic_mr_args *args,
		const uint64_t *pages, struct unic_mr_result *out);

/**
 * unic_mr_restore() - MR_REG with UNIC_REG_RESTORE: as unic_mr_reg(), with all
 * of STag @stag, and nobody waits. Only while every region of this epoch was
 * made so. Errors that changed nothing: EINVAL, ENOPD, ETLBFULL, ESTATE (the
 * index was used in this epoch, or the time for it is over), of residency DEMAND
 * and TABLE those of unic_cache_check() and unic_admission_admit(). -UNIC_EBUS: the
 * index counts as used.
 */
int unic_mr_restore(struct unic_revoke *nic, const struct unic_mr_args *args,
		    uint32_t stag, const uint64_t *pages,
		    struct unic_mr_result *out);

/**
 * unic_mr_dereg() - MR_DEREG, also RELEASE. 0: entries are free. -UNIC_EPENDING:
 * EVICTED follows. -UNIC_ENOMR. -UNIC_EBUSY: class control and a queue uses it.
 */
int unic_mr_dereg(struct unic_revoke *nic, uint32_t mr, uint32_t gen);

struct unic_rereg {
	uint32_t mr, gen, pd, n_pages;
	uint8_t what, rights; /* UNIC_REREG_*, UNIC_MR_* */
	uint64_t iova, length;
	const uint64_t *pages; /* of n_pages, private memory */
};

/**
 * unic_mr_rereg() - MR_REREG (IBTA 11.2.8.8). 0; on error nothing happened:
 * -UNIC_ENOMR, -UNIC_ENOPD, -UNIC_EINVAL, -UNIC_ESTATE (not ACTIVE, or a form),
 * -UNIC_EBUSY (something uses it), -UNIC_EBUS, those of unic_admission_admit().
 */
int unic_mr_rereg(struct unic_revoke *nic, const struct unic_rereg *r);

/**
 * unic_dma_mr_reg() - MR_REG of residency PHYSICAL: ACTIVE at once.
 * 0 with *out; those of unic_dma_mr_check_args(), -UNIC_EMRFULL, -UNIC_ECTRLCAP:
 * nothing happened.
 */
int unic_dma_mr_reg(struct unic_revoke *nic, const struct unic_mr_args *args,
		    struct unic_mr_result *out);

/**
 * unic_derived_alloc() - MR_ALLOC. 0 with *out, or an error that changed nothing:
 * -UNIC_ENOPD, -UNIC_EINVAL, -UNIC_ETOOLARGE, -UNIC_EQUOTA, -UNIC_EMRFULL,
 * -UNIC_ETLBFULL, -UNIC_EELEMENTS.
 */
int unic_derived_alloc(struct unic_revoke *nic,
		       const struct unic_derived_alloc *a,
		       struct unic_mr_result *out);

#endif /* UNIC_REGISTER_H */
