/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* nics.c - the NICs of a driver, and a connection that is with one of them. */
#include <errno.h>
#include <string.h>

#include "conn.h"
#include "error.h"
#include "nics.h"
#include "unic.h"
#include "where.h"

static int fail_no_nics(const char *path)
{
	return unic_fail(-EOPNOTSUPP,
			 "the driver at %s has one NIC and gives it no name; "
			 "take one of this release",
			 path);
}

static int select_nic(struct unic_conn *conn, const char *path,
		      const struct unic_ctl_select *which, uint32_t *number)
{
	union {
		struct unic_ctl_select req;
		struct unic_ctl_select_reply reply;
	} rec = { .req = *which };
	struct unic_conn_call call = { .rec = &rec };
	int status = unic_conn_call(conn, UNIC_CTL_SELECT, &call);

	if (status == UNIC_ST_BAD_OPCODE)
		return fail_no_nics(path);
	if (status == UNIC_ST_OK)
		*number = unic_from_le32(rec.reply.number);
	return unic_fail_status("select a NIC", status);
}

int unic_nics_open(const char *where, struct unic_conn **out, uint32_t *number)
{
	uint32_t n = UNIC_NIC_NONE;
	char path[UNIC_WHERE_MAX];
	struct unic_ctl_select which;
	bool named = unic_where_split(where, path, sizeof(path), &which);
	int err = unic_conn_open(path, out);

	if (err)
		return err;
	if (named)
		err = select_nic(*out, path, &which, &n);
	if (err) {
		unic_conn_close(*out);
		*out = NULL;
	}
	if (number)
		*number = n;
	return err;
}

static int list_nics(struct unic_conn *conn, const char *where,
		     struct unic_nic_attr *out, unsigned int max)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_nics_reply reply;
	} rec = { .req = { .hdr = { .op = unic_to_le16(0) } } };
	struct unic_ctl_nic_row row[UNIC_CTL_NICS_MAX];
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = row,
				       .reply_room = sizeof(row) };
	int status = unic_conn_call(conn, UNIC_CTL_NICS, &call);
	unsigned int n = (unsigned int)(call.reply_bytes / sizeof(row[0])), i;

	if (status == UNIC_ST_BAD_OPCODE)
		return fail_no_nics(where);
	if (status)
		return unic_fail_status("list NICs", status);
	for (i = 0; i < n && i < max; i++) {
		out[i] = (struct unic_nic_attr){
			.number = unic_from_le32(row[i].number),
			.ipv4 = unic_from_le32(row[i].ipv4),
			.state = unic_from_le32(row[i].state),
			.mine = row[i].number == rec.reply.mine,
		};
		memcpy(out[i].name, row[i].name, sizeof(out[i].name));
		out[i].name[sizeof(out[i].name) - 1] = 0;
	}
	return (int)n;
}

int unic_list_nics(const char *socket, struct unic_nic_attr *out,
		   unsigned int max)
{
	struct unic_conn *conn;
	int n;

	if (!socket)
		socket = unic_conn_default();
	n = unic_nics_open(socket, &conn, NULL);
	if (n)
		return n;
	n = list_nics(conn, socket, out, max);
	unic_conn_close(conn);
	return n;
}
