/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * register.h - requests of the driver for regions: register, restore, change,
 * deregister (MEMORY.md sections 1 and 3).
 *
 * Secret: the order of a request: check its arguments, ask for admission, then
 * make the region. An error changed nothing.
 */
#ifndef UNIC_REGISTER_H
#define UNIC_REGISTER_H

#include <stdint.h>

#include "memory/derived.h"
#include "memory/mr.h"

struct unic_revoke;

/**
 * unic_mr_reg() - MR_REG of the mailbox, as specified at struct unic_cmd_mr_reg.
 * @pages: bus addresses (REG_LIST) or NULL. Returns 0, -UNIC_EPENDING
 * (out->wait), or an error that changed nothing: EINVAL, ENOPD, ETLBFULL,
 * EMRFULL, EQUOTA, ETOOLARGE, EWAITFULL, ECTRLCAP, EBUS (a page address is not
 * aligned). *out is written on 0 and EPENDING.
 */
int unic_mr_reg(struct unic_revoke *nic, const struct unic_mr_args *args,
		const uint64_t *pages, struct unic_mr_result *out);

/**
 * unic_mr_restore() - MR_REG with UNIC_REG_RESTORE: as unic_mr_reg(), with STag
 * @stag, and without waiting. Allowed only while every region of this epoch was
 * made so. Errors that changed nothing: EINVAL, ENOPD, ETLBFULL, ETOOLARGE,
 * ESTATE (the index was used in this epoch, or the time for restoring is over);
 * for residency DEMAND and TABLE those of unic_cache_check() and
 * unic_admission_admit(). After -UNIC_EBUS the index counts as used.
 */
int unic_mr_restore(struct unic_revoke *nic, const struct unic_mr_args *args,
		    uint32_t stag, const uint64_t *pages,
		    struct unic_mr_result *out);

/**
 * unic_mr_dereg() - MR_DEREG, also RELEASE. Returns 0 (entries are free),
 * -UNIC_EPENDING (EVICTED follows), -UNIC_ENOMR, -UNIC_EBUSY (class control, and
 * a queue uses it).
 */
int unic_mr_dereg(struct unic_revoke *nic, uint32_t mr, uint32_t gen);

struct unic_rereg {
	uint32_t mr, gen, pd, n_pages;
	uint8_t what, rights; /* UNIC_REREG_*, UNIC_MR_* */
	uint8_t importance;
	uint64_t iova, length;
	const uint64_t *pages; /* n_pages addresses, private memory */
};

/**
 * unic_mr_rereg() - MR_REREG (IBTA 11.2.8.8). Returns 0, or an error that changed
 * nothing: -UNIC_ENOMR, -UNIC_ENOPD, -UNIC_EINVAL, -UNIC_ESTATE (not ACTIVE, a
 * derived region, or residency DEMAND or TABLE), -UNIC_EBUSY (in use),
 * -UNIC_EBUS, those of unic_admission_admit(). REREG_HINT: of any region that is
 * not EVICTED (-UNIC_ESTATE), in use or not.
 */
int unic_mr_rereg(struct unic_revoke *nic, const struct unic_rereg *r);

/**
 * unic_dma_mr_reg() - MR_REG of residency PHYSICAL: ACTIVE at once. Returns 0
 * with *out, or an error that changed nothing: those of unic_dma_mr_check_args(),
 * -UNIC_EMRFULL, -UNIC_ECTRLCAP.
 */
int unic_dma_mr_reg(struct unic_revoke *nic, const struct unic_mr_args *args,
		    struct unic_mr_result *out);

/**
 * unic_derived_alloc() - MR_ALLOC. Returns 0 with *out, or an error that changed
 * nothing: -UNIC_ENOPD, -UNIC_EINVAL, -UNIC_ETOOLARGE, -UNIC_EQUOTA,
 * -UNIC_EMRFULL, -UNIC_ETLBFULL, -UNIC_EELEMENTS.
 */
int unic_derived_alloc(struct unic_revoke *nic,
		       const struct unic_derived_alloc *a,
		       struct unic_mr_result *out);

#endif /* UNIC_REGISTER_H */
