/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* errnos.c - the maps of errnos and statuses. See errnos.h. */
#include "errnos.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "unic.h"

/* Errors that a program of verbs knows by another number; all others are the same. */
static const struct {
	int lib, verbs;
} other[] = {
	{ EACCES, EOPNOTSUPP }, /* a kind of memory that is not moved */
	{ ENOTCONN, EIO },	/* the driver or the NIC is gone */
	{ EPROTO, EIO },
	{ EOWNERDEAD, EIO },
	{ ESTALE, EINVAL }, /* a transition from another state */
	{ EDQUOT, ENOMEM },
	{ E2BIG, ENOMEM },
	{ EMFILE, ENOMEM }, /* rows of the doorbell page */
	{ EAGAIN, ENOMEM },
	{ ETIME, EHOSTUNREACH }, /* nobody answers with that address */
	{ ENOENT, EINVAL },	 /* an object of another attachment */
	{ ENODEV, EIO },
};

int unic_ibv_errno(int err)
{
	size_t i;

	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i].lib == -err)
			return other[i].verbs;
	return -err;
}

void *unic_ibv_null(int err)
{
	errno = unic_ibv_errno(err);
	return NULL;
}

void unic_ibv_say(const char *what)
{
	fprintf(stderr, "libunic: %s: %s\n", what, unic_last_error());
}

enum ibv_wc_status unic_ibv_wc_status(uint8_t status)
{
	static const uint8_t map[] = {
		[UNIC_WC_SUCCESS] = IBV_WC_SUCCESS,
		[UNIC_WC_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
		[UNIC_WC_LOC_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
		[UNIC_WC_LOC_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
		[UNIC_WC_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
		[UNIC_WC_REM_INV_REQ_ERR] = IBV_WC_REM_INV_REQ_ERR,
		[UNIC_WC_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
		[UNIC_WC_REM_OP_ERR] = IBV_WC_REM_OP_ERR,
		[UNIC_WC_RETRY_EXC_ERR] = IBV_WC_RETRY_EXC_ERR,
		[UNIC_WC_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
		[UNIC_WC_EVICTED] = IBV_WC_LOC_PROT_ERR,
		[UNIC_WC_REM_EVICTED] = IBV_WC_REM_ACCESS_ERR,
		[UNIC_WC_LOC_BUS_ERR] = IBV_WC_GENERAL_ERR,
		[UNIC_WC_MW_BIND_ERR] = IBV_WC_MW_BIND_ERR,
		[UNIC_WC_MEM_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
	};

	return status < sizeof(map) ? (enum ibv_wc_status)map[status]
				    : IBV_WC_GENERAL_ERR;
}

enum ibv_event_type unic_ibv_qp_event(uint32_t status)
{
	switch (status) {
	case UNIC_WC_REM_ACCESS_ERR:
		return IBV_EVENT_QP_ACCESS_ERR;
	case UNIC_WC_REM_INV_REQ_ERR:
		return IBV_EVENT_QP_REQ_ERR;
	default:
		return IBV_EVENT_QP_FATAL;
	}
}
