/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl.h - a process and its host driver: requests and replies over a Unix
 * SOCK_SEQPACKET socket, and the upcall ring in the memory of the process.
 *
 * One message is one 64-byte record, perhaps followed by a tail of
 * hdr.tail_bytes bytes; nothing else is in the datagram. The process sends
 * requests; each gets exactly one reply with the same op and seq, not
 * necessarily in order. A reply with status other than OK or PENDING means that
 * nothing happened, and its record after the header is zero unless said
 * otherwise. The driver sends nothing but replies: whatever it has to say
 * unasked goes into the upcall ring, so it never waits for a process.
 *
 * A message that is not well-formed (size, tail, unknown op, rsvd not 0) is
 * answered INVALID or BAD_OPCODE; one shorter than a header ends the
 * connection. End of file means that the driver is gone: connect again, HELLO
 * again. Everything is to be made anew, unless the process has HELLO_KEEP and
 * its slot is resumed.
 *
 * Objects (protection domains, regions, queues, tokens, connections,
 * listeners) have ids that are unique on the host, over all its NICs, and never
 * reused until it boots again (S4; SPEC.md says where that is remembered); an id of another process is answered like one that does
 * not exist. When the connection ends, all objects of the process end.
 */
#ifndef UNIC_CTL_H
#define UNIC_CTL_H

#include "unic_ctl_admin.h"
#include "unic_ctl_conn.h"
#include "unic_ctl_kio.h"
#include "unic_ctl_mr.h"
#include "unic_ctl_msg.h"
#include "unic_ctl_queue.h"
#include "unic_ctl_state.h"
#include "unic_mbox.h"
#include "unic_types.h"
#include "unic_upcall.h"

#define UNIC_CTL_VERSION 1u    /* in HELLO; another: VERSION */
#define UNIC_CTL_BYTES	 64u   /* of a record */
#define UNIC_CTL_MSG_MAX 8192u /* record and tail */
/* Requests without reply, per connection; as many more of those that give
 * something back: MR_DEREG, WAIT_CANCEL, NOTICE_ANSWER, INVALIDATED. */
#define UNIC_CTL_OPEN_MAX    32u /* one more: TOO_MANY */
#define UNIC_CTL_PRIVATE_MAX 56u /* bytes of private data of a connection */
#define UNIC_CTL_CM_PRIVATE_MAX \
	216u /* of a raw one: of its longest datagram, SIDR_REQ */
#define UNIC_CTL_FRAMES_MAX 1024u /* runs of one FRAMES_ALLOC */
#define UNIC_CTL_SOCKET	    "/run/unic/unicd.sock" /* unless told otherwise */

/* ---------------------------------------------------- memory of a process */

/*
 * The memory of a process is one sealed file, mapped MAP_SHARED. Pages by
 * number; the process maps what it needs.
 */
#define UNIC_SLOT_DB_PAGE     0u /* struct unic_db_page, process writes */
#define UNIC_SLOT_NIC_PAGE    1u /* struct unic_nic_page, NIC writes */
#define UNIC_SLOT_UPCALL_PAGE 2u /* struct unic_upcall_ring, driver writes */
#define UNIC_SLOT_FRAMES      3u /* from here on: frames, see FRAMES_ALLOC */

#endif /* UNIC_CTL_H */
