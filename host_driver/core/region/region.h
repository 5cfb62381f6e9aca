/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region.h - inside the core: memory regions as the driver sees them. region_reg.c
 * registers and deregisters, region_notice.c handles notices and evictions.
 *
 *   REGISTERING -> (WAITING ->) FILLING -> ACTIVE <-> NOTIFIED
 *                                            |           |
 *                                            +-----+-----+
 *                                                  v
 *                                     EVICTED (until MR_DEREG)
 *
 * A region whose frames cannot be pinned while it is FILLING goes back to
 * REGISTERING, and its entries to others.
 *
 * Frames are pinned from before the NIC learns of them until it has said that it will
 * not touch them again (completion of MR_DEREG, or EVICTED). A waiting request pins
 * nothing.
 *
 * A grant may cross a WAIT_CANCEL: then the process is answered NO_WAIT before the
 * region is ACTIVE, and deregisters it at once. That MR_DEREG waits in `dereg`, so
 * that no region is left behind.
 */
#ifndef UNIC_REGION_H
#define UNIC_REGION_H

#include "request.h"
#include "unic_queue.h"

enum region_state {
	R_REGISTERING,
	R_WAITING,
	R_FILLING,
	R_ACTIVE,
	R_NOTIFIED,
	R_EVICTED,
};

struct unic_region {
	struct unic_obj obj;
	uint8_t state; /* enum region_state */
	uint8_t page_shift;
	uint8_t residency; /* enum unic_residency */
	bool may_wait, async, pinned;
	bool waits;    /* is one of proc.waits */
	bool requeued; /* REGISTERING again: the process has its id */
	bool reregs;   /* `waiter` is MR_REREG */
	bool loads;    /* FILLING, and its frames are being loaded */
	bool revoked;  /* the driver ends it: region_unmap.c */
	bool bus;      /* pages by bus address, never pinned: region_dma.c */
	unic_le64 *bus_page; /* they, of one that may wait; else NULL */
	uint8_t kind;	     /* enum unic_form_kind */
	uint32_t pd;	     /* id */
	/* its MR_REG, with the page size used; of a form, its last MR_MAKE, or 0 */
	uint64_t made[UNIC_REC_WORDS];
	struct unic_sge of; /* a form that lasts: the element of that MR_MAKE */
	uint64_t va, iova, length;
	uint32_t n_pages;
	uint32_t mr, gen, stag, wait; /* the NIC's; mr LOST: not on the NIC */
	uint64_t give_up_ns;	      /* REGISTER_WAIT; 0: never */
	uint64_t load_until_ns;	      /* `loads`: entries are kept until */
	uint32_t user, reg_seq, waited_us;
	uint32_t notice_seq;
	uint32_t asked_back; /* host->asked_back when its notice came */
	/* asked_back of the notice for which the NIC was asked for forms, and of
	 * that of which a holder was told: grants.c */
	uint32_t looked, told;
	uint32_t asking; /* the same of the question that is open; 0: none is */
	bool unsure;	 /* holders of forms may have changed since then */
	bool extends;	 /* its owner sent EXTEND: it uses the region itself */
	uint64_t noticed_ns;  /* time of the notice; 0: answered */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint32_t *there;      /* DEMAND: bit per page, pinned; region_pin.c */
	/* TABLE: its translation list, and where the NIC finds it; NULL: none */
	unic_le64 *list;
	uint64_t list_bus;
	/* the range that an MR_REREG under way has pinned; 0 bytes: none */
	uint64_t next_va, next_bytes;
	struct unic_req
		*waiter; /* MR_REG that waits, or MR_DEREG that drains */
	struct unic_req *cancel; /* WAIT_CANCEL that came before PENDING */
	struct unic_req *dereg;	 /* MR_DEREG that came before ACTIVE */
};

static inline struct unic_hproc *proc_of(struct unic_host *host,
					 const struct unic_region *mr)
{
	return &host->proc[mr->obj.owner];
}

static inline struct unic_region *mr_get(const struct unic_req *req,
					 uint32_t id)
{
	return unic_obj_get(&req->host->objects, id, UNIC_OBJ_MR,
			    unic_req_owner(req));
}

/** unic_rights_write() - true if @rights let the device write. */
static inline bool unic_rights_write(uint8_t rights)
{
	return rights & (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE);
}

/** unic_region_refused() - answer @req with @status, and, for statuses that it
 * explains, the usage record of the NIC as tail. */
void unic_region_refused(struct unic_req *req, uint32_t status);

/** unic_region_waiting() - @waits: count @mr among the registrations of its process
 * that wait, or may have to; else do not count it. Counted before the NIC is asked,
 * so that two requests at once do not get one place. */
void unic_region_waiting(struct unic_host *host, struct unic_region *mr,
			 bool waits);

/** unic_region_forget() - unpin the frames of @mr and free it; its id ends. */
void unic_region_forget(struct unic_host *host, struct unic_region *mr);

/** unic_region_fill_in() - set the members of @mr from @r, the MR_REG that made it,
 * with the page size that is used. */
void unic_region_fill_in(struct unic_region *mr,
			 const struct unic_ctl_mr_reg *r);

/** unic_region_command() - write to @cmd the MR_REG that registers @mr on the NIC. If
 * the page list is short and its frames are pinned, the list of @req has it and
 * REG_LIST is set. */
void unic_region_command(struct unic_req *req, const struct unic_region *mr,
			 struct unic_cmd_mr_reg *cmd);

/** unic_region_numbers() - take the NIC's numbers of @mr from a completion of MR_REG.
 */
void unic_region_numbers(struct unic_region *mr, const struct unic_call *call);

/** unic_region_list() - write the next part of the page list of @mr, from
 * @req->progress on, to the list of @req, and its MR_FILL to @cmd. OK, or an error,
 * with nothing to send. */
uint32_t unic_region_list(struct unic_req *req, const struct unic_region *mr,
			  struct unic_cmd_mr_fill *cmd);

/** unic_region_upcall_wait() - send the process of @mr upcall @type, GRANTED or
 * WAIT_ENDED, with @status. */
void unic_region_upcall_wait(struct unic_host *host,
			     const struct unic_region *mr, uint8_t type,
			     uint32_t status);

/** unic_region_send_dereg() - deregister @mr on the NIC, without waiting for the
 * answer. */
void unic_region_send_dereg(struct unic_host *host,
			    const struct unic_region *mr);

/** unic_region_stag() - STag and the NIC's number of the PD of region @id of @owner.
 * False: @owner has no live region of that id. */
bool unic_region_stag(struct unic_host *host, uint32_t id, uint32_t owner,
		      uint32_t *stag, uint32_t *pd);

/** unic_region_recall() - make the region that journal note @n is about, with pinned
 * frames; restore.c registers it on the NIC. False: out of memory, or its frames are
 * not there. */
bool unic_region_recall(struct unic_host *host, const struct unic_obj_note *n);

/** unic_region_answered() - the owner of @mr answers: if a notice is open, add the
 * time since its upcall to the answer times of the process. */
void unic_region_answered(struct unic_host *host, struct unic_region *mr);

/** unic_region_upcall() - send the owner of @mr upcall @type, NOTICE or EVICTED, with
 * the figures of @evt, of the NIC or of the driver. */
void unic_region_upcall(struct unic_host *host, const struct unic_region *mr,
			const struct unic_evt_mr *evt, uint8_t type);

#endif /* UNIC_REGION_H */
