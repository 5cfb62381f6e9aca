/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * errnos.h - what libunic and the NIC say, in the words of verbs.
 */
#ifndef UNIC_VERBS_ERRNOS_H
#define UNIC_VERBS_ERRNOS_H

#include <infiniband/verbs.h>
#include <stdint.h>

/** unic_ibv_errno() - the errno (positive) of verbs for @err of libunic (negative or
 * 0). */
int unic_ibv_errno(int err);
/** unic_ibv_null() - set errno to unic_ibv_errno(@err), and return NULL. */
void *unic_ibv_null(int err);
/** unic_ibv_say() - one line on stderr: @what was refused, and the words of libunic. */
void unic_ibv_say(const char *what);
/** unic_ibv_wc_status() - of an enum unic_wc_status. */
enum ibv_wc_status unic_ibv_wc_status(uint8_t status);
/** unic_ibv_qp_event() - the asynchronous event of a queue pair that the NIC moved to ERR
 * for a reason, an enum unic_wc_status. */
enum ibv_event_type unic_ibv_qp_event(uint32_t status);

#endif /* UNIC_VERBS_ERRNOS_H */
