/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_ring.c - see ctl_ring.h. */
#include "ctl_ring.h"

#include <limits.h>
#include <string.h>

#include "error.h"

#define ANOTHER_NIC INT_MIN /* no -errno */

/* Fetch events from number @from on, of those that the ring still has. */
static int fetch_once(struct unic_conn *conn, struct ctl_ring *r, uint32_t from,
		      struct unic_trace_rec *rec,
		      struct unic_ctl_trace_reply *reply)
{
	struct unic_ctl_trace req = { .from = unic_to_le32(from) };
	struct unic_conn_call call = { .rec = reply,
				       .reply_tail = rec,
				       .reply_room =
					       CTL_RING_MAX * sizeof(*rec) };
	int err;

	memcpy(reply, &req, sizeof(req));
	err = unic_fail_status("trace",
			       unic_conn_call(conn, UNIC_CTL_TRACE, &call));
	if (err)
		return err;
	if (reply->pair_host_ns) { /* else there is no NIC just now */
		r->nic_ns = unic_from_le64(reply->pair_nic_ns);
		r->host_ns = unic_from_le64(reply->pair_host_ns);
	}
	return (int)(call.reply_bytes / sizeof(*rec));
}

/* ... *@first is the number of the first. Where events were overwritten the driver goes
 * ahead step by step. */
static int fetch(struct unic_conn *conn, struct ctl_ring *r, uint32_t from,
		 struct unic_trace_rec *rec, uint32_t *first)
{
	struct unic_ctl_trace_reply reply;
	uint32_t next = from;
	int n;

	do {
		from = next;
		n = fetch_once(conn, r, from, rec, &reply);
		if (n < 0)
			return n;
		next = unic_from_le32(reply.next);
	} while (!n && next > from);
	*first = unic_from_le32(reply.first);
	return n;
}

/* Read on behind r->last, which is fetched again: if it is not what is there, another NIC
 * writes. Return ANOTHER_NIC then. */
static int read_on(struct unic_conn *conn, struct ctl_ring *r,
		   struct unic_trace_rec *rec)
{
	uint32_t from = unic_from_le32(r->last.seq) - 1, first;
	int n = fetch(conn, r, from, rec, &first);

	if (n < 0)
		return n;
	if (!n) /* once: the NIC may be overwriting it just now */
		return r->missing++ ? ANOTHER_NIC : 0;
	r->missing = 0;
	if (first != from)
		return n;
	if (memcmp(&rec[0], &r->last, sizeof(r->last)) != 0)
		return ANOTHER_NIC;
	memmove(rec, rec + 1, (size_t)(n - 1) * sizeof(*rec));
	return n - 1;
}

int ctl_ring_read(struct unic_conn *conn, struct ctl_ring *r,
		  struct unic_trace_rec rec[CTL_RING_MAX])
{
	uint32_t first;
	int n = r->last.seq ? read_on(conn, r, rec) : ANOTHER_NIC;

	if (n == ANOTHER_NIC) {
		if (r->last.seq) {
			r->others++;
			r->host_ns = 0; /* of another clock */
		}
		r->last.seq = unic_to_le32(0);
		r->missing = 0;
		n = fetch(conn, r, 0, rec, &first);
	}
	if (n > 0)
		r->last = rec[n - 1];
	return n;
}

int ctl_ring_skip(struct unic_conn *conn, struct ctl_ring *r)
{
	struct unic_trace_rec rec[CTL_RING_MAX];
	int n;

	do
		n = ctl_ring_read(conn, r, rec);
	while (n > 0);
	return n;
}
