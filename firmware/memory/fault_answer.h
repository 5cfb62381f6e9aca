/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fault_answer.h - what the driver says of pages: here they are, they are not to be had,
 * they have changed, they will be needed.
 *
 * Secret: when an answer is stale, and which of the slots it settles.
 */
#ifndef UNIC_FAULT_ANSWER_H
#define UNIC_FAULT_ANSWER_H

#include <stdint.h>

#include "unic_mbox.h"

struct unic_memory;

/**
 * unic_fault_refused() - MR_FAULT. @pages: bus addresses, NULL with `cannot`.
 * 0, or -UNIC_ENOMR, -UNIC_ESTATE, -UNIC_EINVAL, -UNIC_ESTALE, -UNIC_EBUS,
 * -UNIC_EAGAIN; *done pages are there.
 */
int unic_fault_refused(struct unic_memory *nic,
		       const struct unic_cmd_mr_fault *cmd,
		       const uint64_t *pages, uint32_t *done);

/** unic_fault_invalidate() - MR_INVALIDATE. 0, -UNIC_ENOMR, -UNIC_ESTATE,
 * -UNIC_EINVAL, -UNIC_EBUSY; *done entries went. */
int unic_fault_invalidate(struct unic_memory *nic,
			  const struct unic_cmd_mr_pages *cmd, uint32_t *done);

/** unic_fault_advise() - MR_ADVISE. 0, -UNIC_ENOMR, -UNIC_ESTATE, -UNIC_EINVAL,
 * -UNIC_EBUSY (DONT_NEED: in use); *done entries came or went. */
int unic_fault_advise(struct unic_memory *nic,
		      const struct unic_cmd_mr_pages *cmd, uint32_t *done);

#endif /* UNIC_FAULT_ANSWER_H */
