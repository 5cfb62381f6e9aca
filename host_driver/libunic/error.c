/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unic.h"
#include "unic_ctl.h"
#include "usage.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static __thread char last[512];
static __thread struct unic_usage last_usage;

/* A status as errno, in words, and advice. */
static const struct status_text {
	int err;
	const char *name;
	const char *advice;
} statuses[] = {
	[UNIC_ST_OK] = { 0, "ok", "" },
	[UNIC_ST_PENDING] = { 0, "pending", "" },
	[UNIC_ST_BAD_OPCODE] = { EPROTO, "unknown request",
				 "library and driver differ in version" },
	[UNIC_ST_STALE_EPOCH] = { ENOTCONN, "the NIC was reset",
				  "close the context and open it again" },
	[UNIC_ST_INVALID] = { EINVAL, "a field is out of range", "" },
	[UNIC_ST_NO_PROC] = { ENOENT, "no such process",
			      "`unicctl ps' has their numbers" },
	[UNIC_ST_NO_PD] = { ENOENT, "no such protection domain", "" },
	[UNIC_ST_NO_MR] = { ENOENT, "no such region", "" },
	[UNIC_ST_NO_CQ] = { ENOENT, "no such completion queue", "" },
	[UNIC_ST_NO_QP] = { ENOENT, "no such queue pair", "" },
	[UNIC_ST_NO_TOKEN] = { ENOENT, "no such token: it has ended", "" },
	[UNIC_ST_NO_WAIT] = { ENOENT, "no such waiting request", "" },
	[UNIC_ST_BUSY] = { EBUSY, "in use", "end what uses it first" },
	[UNIC_ST_TLB_FULL] = { ENOMEM, "the NIC TLB is full",
			       "register with UNIC_MR_WAIT" },
	[UNIC_ST_MR_FULL] = { ENOMEM, "the region table is full",
			      "use fewer, larger regions" },
	[UNIC_ST_TOKEN_FULL] = { ENOMEM, "the token table is full",
				 "cancel some" },
	[UNIC_ST_QP_FULL] = { ENOMEM, "the queue pair table is full", "" },
	[UNIC_ST_CQ_FULL] = { ENOMEM, "the completion queue table is full",
			      "" },
	[UNIC_ST_NO_SRQ] = { ENOENT, "no such shared receive queue", "" },
	[UNIC_ST_SRQ_FULL] = { ENOMEM,
			       "the table of shared receive queues is "
			       "full",
			       "" },
	[UNIC_ST_PD_FULL] = { ENOMEM, "the table of protection domains is full",
			      "" },
	[UNIC_ST_WAIT_FULL] = { ENOMEM, "too many requests are waiting",
				"try later" },
	[UNIC_ST_QUOTA] = { EDQUOT, "over the hard quota of the process",
			    "deregister something" },
	[UNIC_ST_TOO_LARGE] = { E2BIG, "it can never fit the NIC TLB",
				"register it in pieces" },
	[UNIC_ST_STATE] = { ESTALE, "not in this state", "" },
	[UNIC_ST_RIGHTS] = { EACCES, "the region does not grant that", "" },
	[UNIC_ST_BOUNDS] = { ERANGE, "outside of the region", "" },
	[UNIC_ST_EVICTED] = { EOWNERDEAD, "the region was evicted",
			      "register it again" },
	[UNIC_ST_BUS] = { EFAULT, "the NIC cannot reach that memory", "" },
	[UNIC_ST_NO_ENTROPY] = { EAGAIN, "the NIC has no random numbers yet",
				 "try again" },
	[UNIC_ST_CANCELLED] = { ECANCELED, "cancelled", "" },
	[UNIC_ST_TIMEOUT] = { ETIME, "the time is over", "" },
	[UNIC_ST_REFUSED] = { EPERM, "refused by the NIC", "" },
	[UNIC_ST_FAILED] = { ENOTCONN, "the NIC waits for a reset",
			     "see unicctl info" },
	[UNIC_ST_CTRL_CAP] = { ENOMEM, "queues may hold a quarter of the share",
			       "use fewer or smaller queues" },
	[UNIC_ST_NO_ROUTE] = { EHOSTUNREACH, "no route to that address", "" },
	[UNIC_ST_ELEMENT_FULL] = { ENOMEM,
				   "no elements are left for windows and "
				   "lists",
				   "free some, or use shorter lists" },
	[UNIC_ST_ALIGN] = { EINVAL, "pages do not fit together",
			    "see unic_post_send() about REG_MR" },
	[UNIC_CTL_ST_NO_HELLO] = { EPROTO, "not attached", "" },
	[UNIC_CTL_ST_NO_SLOT] = { EAGAIN, "all process slots are taken",
				  "end a process (unicctl ps), or start "
				  "unic-bus with more slots" },
	[UNIC_CTL_ST_NO_NIC] = { ENODEV,
				 "there is no NIC, or it does not "
				 "answer",
				 "see unicctl info" },
	[UNIC_CTL_ST_RESET] = { ENOTCONN, "the NIC was reset",
				"close the context and open it again" },
	[UNIC_CTL_ST_NO_FRAMES] = { ENOMEM,
				    "no free page frames in such runs, or more "
				    "memory pinned than is allowed",
				    "free memory, use smaller pages, or raise "
				    "the "
				    "limit (ulimit -l)" },
	[UNIC_CTL_ST_NOT_MAPPED] = { EFAULT, "memory that was never allocated",
				     "use unic_alloc()" },
	[UNIC_CTL_ST_NOT_ALIGNED] = { EINVAL,
				      "the frames do not make up pages "
				      "of that size",
				      "use unic_alloc() with that page size" },
	[UNIC_CTL_ST_TOO_MANY] = { EAGAIN, "too many requests are open",
				   "wait for some of them" },
	[UNIC_CTL_ST_NO_MEMORY] = { ENOMEM, "the driver is out of memory", "" },
	[UNIC_CTL_ST_PERMISSION] = { EPERM, "root or the driver's user only",
				     "" },
	[UNIC_CTL_ST_NO_CONN] = { ENOENT, "no such connection", "" },
	[UNIC_CTL_ST_IN_USE] = { EADDRINUSE, "taken", "" },
	[UNIC_CTL_ST_UNREACHABLE] = { ETIME, "no answer from that host",
				      "is a NIC with that address on the wire "
				      "and does somebody listen?" },
	[UNIC_CTL_ST_REJECTED] = { ECONNREFUSED, "the peer rejected it", "" },
	[UNIC_CTL_ST_UNSUPPORTED] = { EOPNOTSUPP, "not by this provider", "" },
	[UNIC_CTL_ST_NONE] = { ENOENT, "there is none", "" },
	[UNIC_CTL_ST_REMOTE] = { EREMOTEIO, "refused by the other host", "" },
	[UNIC_CTL_ST_NO_SUCH_NIC] = { ENODEV, "the driver has no such NIC",
				      "unicctl nics lists those it has" },
	[UNIC_CTL_ST_TOO_FAST] = { EAGAIN,
				   "more registrations than the driver allows "
				   "in a second",
				   "keep regions, or have the limit raised "
				   "(unicctl limits)" },
	[UNIC_CTL_ST_VERSION] = { EPROTO, "the driver is of another version",
				  "take program and driver of one release" },
};

const char *unic_last_error(void)
{
	return last;
}

int unic_fail(int err, const char *fmt, ...)
{
	va_list ap;

	last_usage.limit = 0;
	va_start(ap, fmt);
	vsnprintf(last, sizeof(last), fmt, ap);
	va_end(ap);
	return err;
}

const char *unic_status_str(unsigned int status)
{
	if (status < COUNT(statuses) && statuses[status].name)
		return statuses[status].name;
	return "unknown status";
}

int unic_fail_status(const char *what, int status)
{
	const struct status_text *s;

	if (status == UNIC_ST_OK || status == UNIC_ST_PENDING)
		return 0;
	if (status == -ETIMEDOUT)
		return unic_fail(-ENOTCONN,
				 "%s: the driver does not answer; is it "
				 "stopped?",
				 what);
	if (status == -EOWNERDEAD)
		return unic_fail(-ENOTCONN,
				 "%s: the context is of the process that "
				 "forked this one; open one here",
				 what);
	if (status < 0)
		return unic_fail(-ENOTCONN,
				 "%s: the driver is gone; open again when it "
				 "is "
				 "back",
				 what);
	if ((unsigned int)status >= COUNT(statuses) || !statuses[status].name)
		return unic_fail(-EPROTO, "%s: the driver answers status %d",
				 what, status);
	s = &statuses[status];
	return unic_fail(-s->err, "%s: %s%s%s", what, s->name,
			 *s->advice ? "; " : "", s->advice);
}

static const char *table_name(unsigned int table)
{
	static const char *const names[] = {
		[UNIC_TABLE_TLB] = "TLB",
		[UNIC_TABLE_MR] = "regions",
		[UNIC_TABLE_TOKEN] = "tokens",
		[UNIC_TABLE_WAIT] = "places to wait",
		[UNIC_TABLE_ELEMENT] = "elements",
	};

	return table < COUNT(names) && names[table] ? names[table] : "table";
}

/* Append the largest holders of TLB entries to the words. */
static void append_top_usage(void)
{
	size_t n = strlen(last);
	int i;

	for (i = 0; i < 3 && last_usage.top[i].proc != 0xffff; i++) {
		if (!last_usage.top[i].held)
			break;
		snprintf(last + n, sizeof(last) - n, "%s slot %u: %u",
			 i ? "," : "; largest holders:", last_usage.top[i].proc,
			 last_usage.top[i].held);
		n = strlen(last);
	}
	snprintf(last + n, sizeof(last) - n, ")");
}

void unic_fail_usage(const struct unic_cpl_usage *usage)
{
	size_t n = strlen(last);

	unic_usage_parse(usage, &last_usage);
	snprintf(last + n, sizeof(last) - n,
		 " (%s: %u of %u used, %u by this process, fair share %u, %u "
		 "waiting",
		 table_name(last_usage.table), last_usage.used,
		 last_usage.limit, last_usage.holding, last_usage.fair_share,
		 last_usage.waiters);
	append_top_usage();
}

bool unic_last_usage(struct unic_usage *out)
{
	if (!last_usage.limit)
		return false;
	*out = last_usage;
	return true;
}

const char *unic_strerror(int err)
{
	size_t i;

	err = err < 0 ? -err : err;
	switch (err) {
	case ENOTCONN:
		return "the driver is gone or the NIC was reset";
	case ENOMEM:
		return "a table of the NIC or memory is full";
	case EPROTO:
		return "the driver or the NIC answered nonsense";
	default:
		break;
	}
	for (i = 2; i < COUNT(statuses); i++) {
		if (statuses[i].name && statuses[i].err == err)
			return statuses[i].name;
	}
	return strerror(err);
}

static const char *lookup_name(const char *const *names, size_t n,
			       unsigned int i)
{
	return i < n && names[i] ? names[i] : "unknown";
}

const char *unic_wc_status_str(unsigned int status)
{
	static const char *const names[] = {
		[UNIC_WC_SUCCESS] = "success",
		[UNIC_WC_LOC_LEN_ERR] = "message longer than the buffer",
		[UNIC_WC_LOC_QP_OP_ERR] = "malformed work request",
		[UNIC_WC_LOC_PROT_ERR] = "local access refused",
		[UNIC_WC_WR_FLUSH_ERR] = "flushed",
		[UNIC_WC_REM_INV_REQ_ERR] = "the peer calls it invalid",
		[UNIC_WC_REM_ACCESS_ERR] = "remote access refused",
		[UNIC_WC_REM_OP_ERR] = "the peer failed",
		[UNIC_WC_RETRY_EXC_ERR] = "no acknowledgement",
		[UNIC_WC_RNR_RETRY_EXC_ERR] = "receiver not ready",
		[UNIC_WC_EVICTED] = "local region evicted",
		[UNIC_WC_REM_EVICTED] = "remote region evicted",
		[UNIC_WC_LOC_BUS_ERR] = "DMA failed",
		[UNIC_WC_MW_BIND_ERR] = "bind refused",
		[UNIC_WC_MEM_OP_ERR] = "registration or invalidation refused",
	};

	return lookup_name(names, COUNT(names), status);
}

const char *unic_wc_detail_str(unsigned int detail)
{
	static const char *const names[] = {
		[UNIC_WD_NONE] = "",
		[UNIC_WD_STAG] = "STag",
		[UNIC_WD_PD] = "PD",
		[UNIC_WD_RIGHTS] = "rights",
		[UNIC_WD_BOUNDS] = "bounds",
		[UNIC_WD_OPCODE] = "opcode",
		[UNIC_WD_FLAGS] = "flags",
		[UNIC_WD_SGE] = "SGE list",
		[UNIC_WD_LENGTH] = "length",
		[UNIC_WD_BUSY] = "was in use",
		[UNIC_WD_STATE] = "not in this state",
		[UNIC_WD_ALIGN] = "alignment",
	};

	return lookup_name(names, COUNT(names), detail);
}

const char *unic_token_end_str(unsigned int end)
{
	static const char *const names[] = {
		[UNIC_TOKEN_LIVE] = "live",
		[UNIC_TOKEN_USED] = "used",
		[UNIC_TOKEN_CANCELLED] = "cancelled",
		[UNIC_TOKEN_EXPIRED] = "expired",
		[UNIC_TOKEN_EVICTED] = "evicted",
		[UNIC_TOKEN_ABORTED] = "aborted",
		[UNIC_TOKEN_RESET] = "reset",
		[UNIC_TOKEN_BAD_KEY] = "bad key or index",
		[UNIC_TOKEN_TOO_LONG] = "too long",
		[UNIC_TOKEN_WRONG_SENDER] = "wrong sender",
		[UNIC_TOKEN_BUSY] = "busy",
	};

	return lookup_name(names, COUNT(names), end);
}

const char *unic_reason_str(unsigned int reason)
{
	static const char *const names[] = {
		[UNIC_WHY_REAPER] = "reaper",
		[UNIC_WHY_WAITER] = "waiter",
		[UNIC_WHY_FAIR_SHARE] = "fair share",
		[UNIC_WHY_QUOTA] = "quota",
		[UNIC_WHY_ADMIN] = "administrator",
		[UNIC_WHY_OFFERED] = "offered",
		[UNIC_WHY_DEREG] = "deregistered",
		[UNIC_WHY_EXIT] = "process ended",
		[UNIC_WHY_RESET] = "reset",
		[UNIC_WHY_HOLDERS] = "all holders answered",
		[UNIC_WHY_UNMAPPED] = "memory unmapped",
		[UNIC_WHY_IDLE] = "unused for long",
	};

	return lookup_name(names, COUNT(names), reason);
}
