/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_notice.h - regions that the NIC asks back (S0 section 3; MEMORY.md section
 * 5). */
#ifndef UNIC_REGION_NOTICE_H
#define UNIC_REGION_NOTICE_H

#include "region/region.h"

/** unic_region_answer() - NOTICE_ANSWER, the handler: pass OFFER or EXTEND (in
 * microseconds) of the process on to the NIC; RELEASE is MR_DEREG. @req is answered
 * exactly once, with the deadline of the grace in ns of CLOCK_MONOTONIC. NO_MR; STATE:
 * no notice of that number is open; REFUSED: `detail` says why; INVALID. After an
 * error the notice is open as before. */
void unic_region_answer(struct unic_req *req);

/** unic_region_evict() - EVICT, the handler: the NIC evicts any region of the host by
 * order of the administrator; the owner gets an upcall. Answers @req exactly once
 * with the NIC's status, or NO_MR. */
void unic_region_evict(struct unic_req *req);

/** unic_region_event() - handle NOTICE, EVICTED or IDLE of the NIC. A NOTICE is
 * acknowledged even when the region is gone already: without NOTICE_ACK within H the
 * NIC holds the driver for dead. IDLE of a region that is under notice or ends is
 * dropped. */
void unic_region_event(struct unic_host *host, const struct unic_evt_mr *evt);

/** unic_region_release() - answer the open notice of @mr with RELEASE in the name of
 * its owner, which gets an EVICTED upcall (reason HOLDERS). Out of memory: nothing is
 * sent, and the grace runs to its end. */
void unic_region_release(struct unic_host *host, struct unic_region *mr);

/** unic_region_evicted() - @mr has left the NIC, for the reason in @evt: unpin its
 * frames and send its owner an EVICTED upcall. If an MR_DEREG waits for the end of
 * @mr, it is answered OK and @mr is freed. */
void unic_region_evicted(struct unic_host *host, struct unic_region *mr,
			 const struct unic_evt_mr *evt);

/** unic_region_row(), unic_region_object_row() - fill in RESYNC's @row of @mr, of the
 * one or the other kind; @row->id and @row->type of the second are set already. */
void unic_region_row(const struct unic_region *mr, struct unic_ctl_region *row);
void unic_region_object_row(const struct unic_region *mr,
			    struct unic_ctl_object *row);

/** unic_region_graces() - fill in @row, of which there is one for each process slot: one
 * for each process that has open notices. Return how many. */
uint32_t unic_region_graces(const struct unic_host *host,
			    struct unic_ctl_grace *row);

/** unic_region_revoked() - the NIC has let go of @mr, which the driver revoked
 * because its memory is unmapped: as unic_region_evicted(), reason UNMAPPED. */
void unic_region_revoked(struct unic_host *host, struct unic_region *mr);

#endif /* UNIC_REGION_NOTICE_H */
