/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * region.h - inside the core: memory regions as the driver sees them. region_reg.c
 * registers and deregisters, region_notice.c is about asking them back.
 *
 *   REGISTERING -> (WAITING ->) FILLING -> ACTIVE <-> NOTIFIED
 *                                            |           |
 *                                            +-----+-----+
 *                                                  v
 *                                     EVICTED (until MR_DEREG)
 *
 * A region whose frames do not come while it is FILLING is REGISTERING once more:
 * its entries are for others meanwhile.
 *
 * Frames are pinned from before the NIC learns of them until it has said that
 * it will not touch them again (completion of MR_DEREG, or EVICTED). A waiting
 * request pins nothing.
 *
 * A grant may cross a WAIT_CANCEL: the process is told NO_WAIT before the
 * region is ACTIVE, and deregisters it at once. That MR_DEREG waits here, so
 * that nothing is left behind.
 */
#ifndef UNIC_REGION_H
#define UNIC_REGION_H

#include "request.h"

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
	bool requeued; /* REGISTERING once more: its id is known */
	bool reregs;   /* `waiter` is MR_REREG */
	bool loads;    /* FILLING, and its frames are on their way; */
	bool revoked;  /* the driver ends it: region_unmap.c */
	uint8_t kind;  /* enum unic_form_kind */
	uint32_t pd;   /* id */
	uint64_t made[UNIC_REC_WORDS]; /* its MR_REG, with the page size used */
	uint64_t va, iova, length;
	uint32_t n_pages;
	uint32_t mr, gen, stag, wait; /* the NIC's; mr LOST: it has it not */
	uint64_t give_up_ns;	      /* REGISTER_WAIT; 0: never */
	uint64_t load_until_ns;	      /* ... for so long */
	uint32_t user, reg_seq, waited_us;
	uint32_t notice_seq;
	uint32_t asked_back; /* host->asked_back when its notice came */
	bool extends; /* its owner asked for more time: he uses it himself */
	uint64_t noticed_ns;  /* when it was asked for; 0: answered */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint32_t *there;      /* DEMAND: bit per page, pinned; region_pin.c */
	uint32_t table, table_units; /* TABLE */
	/* MR_REREG under way: what it pinned, 0 bytes: nothing */
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

/** unic_rights_write() - these rights let the device write. */
static inline bool unic_rights_write(uint8_t rights)
{
	return rights & (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE);
}

/** unic_region_refused() - answer @status, with the usage record of the NIC where it
 * explains that. */
void unic_region_refused(struct unic_req *req, uint32_t status);

/** unic_region_waiting() - it is, or is not any more, one of those of its process
 * that wait or may come to, so that two requests at once do not get one place. */
void unic_region_waiting(struct unic_host *host, struct unic_region *mr,
			 bool waits);

/** unic_region_forget() - unpin and free; its id ends. */
void unic_region_forget(struct unic_host *host, struct unic_region *mr);

/** unic_region_fill_in() - what a region is by the request that made it, whose page
 * size is the one used. */
void unic_region_fill_in(struct unic_region *mr,
			 const struct unic_ctl_mr_reg *r);

/** unic_region_command() - what registers it on the NIC; LIST is set, and @req has
 * the list, if that is short and its frames are pinned. */
void unic_region_command(struct unic_req *req, const struct unic_region *mr,
			 struct unic_cmd_mr_reg *cmd);

/** unic_region_numbers() - what the NIC calls it, from a completion of MR_REG. */
void unic_region_numbers(struct unic_region *mr, const struct unic_call *call);

/** unic_region_list() - the next part of its list page for MR_FILL, from
 * @req->progress on. OK or an error; nothing is sent then. */
uint32_t unic_region_list(struct unic_req *req, const struct unic_region *mr,
			  struct unic_cmd_mr_fill *cmd);

/** unic_region_upcall_wait() - tell the process of @mr how its wait ended: @status. */
void unic_region_upcall_wait(struct unic_host *host,
			     const struct unic_region *mr, uint8_t type,
			     uint32_t status);

/** unic_region_send_dereg() - have the NIC forget it too; nobody waits for that. */
void unic_region_send_dereg(struct unic_host *host,
			    const struct unic_region *mr);

/** unic_region_stag() - STag, the NIC's PD and class of region @id of @owner.
 * False if there is no such live region. */
bool unic_region_stag(struct unic_host *host, uint32_t id, uint32_t owner,
		      uint32_t *stag, uint32_t *pd);

/** unic_region_recall() - the region that @n is about, pinned, but not on the NIC.
 * False: no memory, or its frames are not there. */
bool unic_region_recall(struct unic_host *host, const struct unic_obj_note *n);

/** unic_region_answered() - its owner says something to the notice that is open, if
 * one is. */
void unic_region_answered(struct unic_host *host, struct unic_region *mr);

/** unic_region_upcall() - NOTICE or EVICTED, by the words of the NIC's event or the
 * driver's own. */
void unic_region_upcall(struct unic_host *host, const struct unic_region *mr,
			const struct unic_evt_mr *evt, uint8_t type);

#endif /* UNIC_REGION_H */
