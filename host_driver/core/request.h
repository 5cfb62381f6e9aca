/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * request.h - for handlers of requests: a request under way, its list, its command, its
 * answer. Only files of host_driver/core and their unit tests include this header.
 */
#ifndef UNIC_REQUEST_H
#define UNIC_REQUEST_H

#include "state.h"

/* A BATCH: several requests in one (batch.c), and their commands in one. */
struct unic_batch {
	struct unic_req *parent;
	uint32_t count, left; /* members; those and the command, open */
	uint32_t done;	      /* answered OK or PENDING */
	bool open;	      /* commands are kept */
	uint32_t kept;	      /* commands in `cmd` */
	struct unic_req *of[UNIC_BATCH_MAX]; /* their members */
	uint32_t cmd_bytes, list_bytes;
	uint8_t cmd[UNIC_LIST_BYTES], list[UNIC_LIST_BYTES];
	uint8_t reply[UNIC_BATCH_MAX][UNIC_CTL_BYTES]; /* before: the request */
};

/** unic_req_new() - allocate a request of the driver itself for process @slot, or
 * UNIC_OS_NO_SLOT. unic_req_answer() or unic_req_free() frees the request. NULL when out
 * of memory. */
struct unic_req *unic_req_new(struct unic_host *host, uint32_t slot);

/** unic_req_shares() - how many objects of the tables of a device with @info one process may
 * have: unic_req_room() goes by that. */
void unic_req_shares(struct unic_host *host, const struct unic_info *info);

/** unic_req_room() - OK, or QUOTA: the process of @req has its share of objects of
 * @type, counting those under way. */
uint32_t unic_req_room(const struct unic_req *req, enum unic_obj_type type);

/** unic_req_list() - the list of @req, of at least @bytes: UNIC_LIST_BYTES if the
 * device writes its answer there. The contents are undefined; a larger list replaces a
 * shorter one. The list belongs to @req. NULL: out of memory. */
uint64_t *unic_req_list(struct unic_req *req, uint32_t bytes);

/** unic_req_send() - have the provider execute @cmd (64 bytes; its header needs
 * no more than the opcode). @done is called exactly once, perhaps before this
 * returns (status FAILED, no device). */
void unic_req_send(struct unic_req *req, uint8_t opcode, const void *cmd,
		   void (*done)(struct unic_call *call));

/** unic_req_send_if() - unic_req_send() if @status is UNIC_ST_OK, or the answer to @req is @status. */
void unic_req_send_if(struct unic_req *req, uint32_t status, uint8_t opcode,
		      const void *cmd, void (*done)(struct unic_call *call));

/** unic_req_of() - the request that @call is the first member of. */
static inline struct unic_req *unic_req_of(struct unic_call *call)
{
	return (struct unic_req *)(void *)call;
}

/** unic_call_status() - the status of completed @call, as one of abi/unic_ctl.h. */
uint32_t unic_call_status(const struct unic_call *call);

/** unic_call_support() - unic_call_status() of a command that a NIC may not have:
 * UNIC_CTL_ST_UNSUPPORTED then. */
static inline uint32_t unic_call_support(const struct unic_call *call)
{
	uint32_t status = unic_call_status(call);

	return status == UNIC_ST_BAD_OPCODE ? UNIC_CTL_ST_UNSUPPORTED : status;
}

/** unic_req_answer() - send @rec (64 bytes, header filled in here) and @tail to
 * the process, if there is one, and free @req. */
void unic_req_answer(struct unic_req *req, uint32_t status, void *rec,
		     const void *tail, uint32_t tail_bytes);

/** unic_req_tail() - room for a tail of unic_req_answer(), UNIC_TAIL_MAX bytes,
 * 8-aligned; the next answer of any request overwrites it. */
static inline void *unic_req_tail(const struct unic_req *req)
{
	return req->host->msg + UNIC_CTL_BYTES / 8;
}
#define UNIC_TAIL_MAX (UNIC_CTL_MSG_MAX - UNIC_CTL_BYTES)

/** unic_req_status() - unic_req_answer() with a zeroed record and no tail. */
void unic_req_status(struct unic_req *req, uint32_t status);

/** unic_req_done() - the provider has executed @call: audit its completion and call
 * call->done. */
void unic_req_done(struct unic_host *host, struct unic_call *call);

/** unic_req_done_status() - a call->done that answers with the status of @call. */
void unic_req_done_status(struct unic_call *call);
/** unic_req_done_free() - a call->done of a request that nobody waits for: @call has ended,
 * well or not. */
void unic_req_done_free(struct unic_call *call);

/** unic_req_free() - free @req without an answer. */
void unic_req_free(struct unic_req *req);

/** unic_req_discard() - free the memory of @req, which is in no list, or NULL. */
void unic_req_discard(struct unic_os *os, struct unic_req *req);

/** unic_req_arp() - find the MAC of @ipv4, then call @then with OK (req->mac)
 * or an error. */
void unic_req_arp(struct unic_req *req, uint32_t ipv4,
		  void (*then)(struct unic_req *req, uint32_t status));

/** unic_arp_event() - handle ARP_RESULT: call the `then` of its request. */
void unic_arp_event(struct unic_host *host, const struct unic_evt_arp *evt);

/** unic_req_proc() - the live process that @req is for, or NULL. */
struct unic_hproc *unic_req_proc(const struct unic_req *req);

/** unic_req_owner() - the slot of @req, as owner of objects. */
static inline uint32_t unic_req_owner(const struct unic_req *req)
{
	return req->slot;
}

/** unic_req_obj_get() - object @id of @type, if it is of the process of @req; or
 * NULL. */
void *unic_req_obj_get(const struct unic_req *req, uint32_t id,
		       enum unic_obj_type type);

/** unic_req_obj_new() - a new object for the process of @req, of @bytes. NULL: the
 * process or the device is gone, or there is no memory. */
void *unic_req_obj_new(struct unic_req *req, enum unic_obj_type type,
		       size_t bytes);

/** unic_req_obj_id() - the id of the object that @req names: its record is a struct
 * unic_ctl_obj. */
uint32_t unic_req_obj_id(const struct unic_req *req);

/** unic_req_batch_opcode() - the opcode of the command that batches commands like
 * @cmd; 0: there is none. */
uint8_t unic_req_batch_opcode(const void *cmd);

/** unic_req_batch_left() - one of b->left is done. The last one sends the reply and
 * frees @b. */
void unic_req_batch_left(struct unic_batch *b);

#endif /* UNIC_REQUEST_H */
