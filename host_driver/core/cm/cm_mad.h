/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_mad.h - datagrams of the communication manager: building and parsing.
 *
 * Secret: the offset of each field (IBTA 12.6 to 12.8, tables 99 to 115, and 12.11, tables
 * 119 and 120; the datagram's header: 13.4.2). The private data of REQ, REP, REJ and of a
 * DREQ that has any begins with 56 bytes of the consumer. A mark at offset 56 says that the
 * sender is unic; other peers get the mark as the end of the private data, which they can
 * ignore. A raw message has no mark, and as many bytes of the consumer as it has room for.
 */
#ifndef UNIC_CM_MAD_H
#define UNIC_CM_MAD_H

#include "unic_ctl.h"
#include "unic_os.h"
#include "unic_wire.h"

enum unic_cm_type { /* attribute ids, IBTA table 98 */
	UNIC_CM_REQ = 0x10,
	UNIC_CM_MRA = 0x11,
	UNIC_CM_REJ = 0x12,
	UNIC_CM_REP = 0x13,
	UNIC_CM_RTU = 0x14,
	UNIC_CM_DREQ = 0x15,
	UNIC_CM_DREP = 0x16,
	UNIC_CM_SIDR_REQ = 0x17,
	UNIC_CM_SIDR_REP = 0x18,
};

enum unic_cm_reject { /* IBTA table 108 */
	UNIC_CM_NO_RESOURCES = 3,
	UNIC_CM_TIMEOUT = 4,
	UNIC_CM_NO_COMM = 6, /* invalid communication id */
	UNIC_CM_NO_SERVICE = 8,
	UNIC_CM_BAD_TYPE = 9, /* invalid transport service type */
	UNIC_CM_BAD_GID = 12,
	UNIC_CM_BAD_MTU = 26,
	UNIC_CM_CONSUMER = 28,
	UNIC_CM_VENDOR_OPTION = 35, /* that is not supported */
};

enum unic_cm_rejected { /* which message, IBTA 12.6.7 */
	UNIC_CM_OF_REQ = 0,
	UNIC_CM_OF_REP = 1,
	UNIC_CM_OF_NONE = 2,
};

enum unic_sidr_status { /* IBTA 12.11.2.1 */
	UNIC_SIDR_OK = 0,
	UNIC_SIDR_NO_SERVICE = 1,
	UNIC_SIDR_REJECTED = 2,
	UNIC_SIDR_NO_QP = 3,
};

/* The fields of a message that unic uses; those that its type does not have are 0. */
struct unic_cm_msg {
	uint16_t type;	     /* enum unic_cm_type */
	uint64_t tid;	     /* REQ's, repeated by all that belong to it; a
			      * DREQ may have its own */
	uint32_t local_comm; /* the sender's id of the connection */
	uint32_t remote_comm;
	uint64_t service; /* REQ, SIDR_REQ, SIDR_REP */
	uint64_t guid;	  /* of the sender: REQ, REP, REJ (TIMEOUT) */
	uint32_t qpn;	  /* REQ, REP, SIDR_REP: sender's; DREQ: receiver's */
	uint32_t psn;	  /* REQ, REP: first the receiver will send
				      * (IBTA 12.7, Starting PSN) */
	uint32_t src_ipv4, dst_ipv4; /* REQ: of the path */
	uint32_t qkey;		     /* SIDR_REP */
	uint16_t reason;     /* REJ; REQ that was parsed: what it is to be
			      * rejected for, or 0; SIDR_REP: enum
			      * unic_sidr_status */
	uint8_t rejected;    /* REJ: enum unic_cm_rejected */
	uint8_t max_dest_rd; /* REQ, REP: responder resources */
	uint8_t max_rd;	     /* REQ, REP: initiator depth */
	uint8_t retry_cnt, rnr_retry;
	uint8_t timeout;    /* REQ, REP: the sender's NIC answers within */
	uint8_t mtu_shift;  /* REQ: 8..12 */
	uint8_t qp_type;    /* REQ: UNIC_QPT_RC or UNIC_QPT_UC; SIDR_REQ: UD */
	uint8_t vendor;	    /* the sender is unic (REQ, REP) */
	uint8_t caps;	    /* REQ, REP, if it is: UNIC_CM_CAP_* */
	uint8_t raw;	    /* to be sent without a mark */
	uint8_t priv_bytes; /* by the mark; else all that there is room for */
	/* parsed: always all that there is, as a raw connection wants it */
	uint8_t priv[UNIC_CTL_CM_PRIVATE_MAX];
};

/** unic_cm_room() - bytes of private data that a raw message of @type has room for; 0:
 * none that is used. */
uint8_t unic_cm_room(uint16_t type);

/** unic_cm_build() - UNIC_MAD_BYTES for the wire. */
void unic_cm_build(const struct unic_cm_msg *msg, uint8_t mad[UNIC_MAD_BYTES]);

/**
 * unic_cm_parse() - read @mad into @msg, every field in range. False: @mad is no
 * datagram of the communication manager, version 2, of an enum unic_cm_type. A REQ for
 * something else than RC or UC over IPv4, or with an MTU that there is not, has a reason:
 * its qp_type and mtu_shift may be out of range.
 */
bool unic_cm_parse(const uint8_t mad[UNIC_MAD_BYTES], struct unic_cm_msg *msg);

#endif /* UNIC_CM_MAD_H */
