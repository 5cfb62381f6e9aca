/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * err.h - the core's own error space. Functions return 0 or -UNIC_E*. The two
 * maps out of it are unic_err_status() (mailbox) and
 * unic_responder_refused() (wire); there are no others.
 */
#ifndef UNIC_ERR_H
#define UNIC_ERR_H

#include <stdint.h>

enum unic_err {
	UNIC_EINVAL = 1, /* a field is out of range */
	/* no such process, PD, region, CQ, QP, token or waiting request */
	UNIC_ENOPROC,
	UNIC_ENOPD,
	UNIC_ENOMR,
	UNIC_ENOCQ,
	UNIC_ENOQP,
	UNIC_ENOTOKEN,
	UNIC_ENOWAIT,
	/* another object that uses this one must be destroyed first */
	UNIC_EBUSY,
	UNIC_ETLBFULL, /* the table is full */
	UNIC_EMRFULL,
	UNIC_ETOKENFULL,
	UNIC_EQPFULL,
	UNIC_ECQFULL,
	UNIC_EPDFULL,
	UNIC_EWAITFULL,
	UNIC_EQUOTA,
	UNIC_ECTRLCAP,
	UNIC_ETOOLARGE, /* larger than the table will ever allow */
	UNIC_ESTATE,	/* not allowed in the object's state */
	/* as ESTAG: the STag was right, in all bits, until its region ended */
	UNIC_ERELEASED,
	/* ESTAG to EEVICTED: steps of the access check, in order */
	UNIC_ESTAG,
	UNIC_EPD,
	UNIC_ERIGHTS,
	UNIC_EBOUNDS,
	UNIC_EEVICTED,
	UNIC_EMISS,    /* entry missing; a DEMAND was sent for it (cache.h) */
	UNIC_ENOPAGE,  /* entry missing, and the host has no page for it */
	UNIC_ESTALE,   /* older than an invalidation */
	UNIC_EBUS,     /* DMA refused by the machine */
	UNIC_EENTROPY, /* the random generator is not seeded */
	UNIC_ECANCELLED,
	UNIC_ETIMEOUT,
	UNIC_EREFUSED,
	UNIC_ENOROUTE,
	UNIC_EOPCODE,
	UNIC_EEPOCH,
	UNIC_EFAILED,	/* the NIC is not READY */
	UNIC_EELEMENTS, /* the pool of elements of derived regions is used up */
	UNIC_EALIGN,	/* pages of a derived region do not fit together */
	UNIC_ENOSRQ,	/* no such shared receive queue */
	UNIC_ESRQFULL,
	UNIC_EAGAIN,   /* no room at present: try again at the next poll */
	UNIC_EPENDING, /* accepted; an event reports the end */
	UNIC_ERR_COUNT,
};

/**
 * unic_err_status() - the one map from -UNIC_E* to mailbox status.
 * @err: 0 or -UNIC_E*. Returns an enum unic_status.
 */
uint8_t unic_err_status(int err);

#endif /* UNIC_ERR_H */
