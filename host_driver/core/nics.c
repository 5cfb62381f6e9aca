/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* nics.c - see nics.h. */
#include "nics.h"

#include "device.h"
#include "request.h"

#define NAME_MAX_BYTES sizeof(((struct unic_ctl_nic_row *)NULL)->name)

bool unic_nics_name_ok(const char *name)
{
	uint32_t i;

	for (i = 0; name[i]; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		bool other = (c >= '0' && c <= '9') || c == '-' || c == '_';

		if (i == NAME_MAX_BYTES - 1 || !(letter || (other && i)))
			return false;
	}
	return i;
}

/* The NIC that @s names: its index in @row, -ENOENT, or -EINVAL. */
static int find_nic(const struct unic_ctl_nic_row *row, uint32_t n,
		    const struct unic_ctl_select *s)
{
	bool by_name = s->name[0];
	uint32_t i;

	if ((by_name && s->number) || s->rsvd0)
		return -EINVAL;
	for (i = 0; i < n; i++)
		if (by_name ? !memcmp(row[i].name, s->name, sizeof(s->name))
			    : row[i].number == s->number)
			return (int)i;
	return -ENOENT;
}

int unic_nics_choose(const struct unic_ctl_nic_row *row, uint32_t n,
		     const void *msg, size_t bytes)
{
	struct unic_ctl_select s = { 0 };
	int i;

	memcpy(&s, msg, bytes < sizeof(s) ? bytes : sizeof(s));
	switch (unic_from_le16(s.hdr.op)) {
	case UNIC_CTL_NICS:
		return -ENOENT;
	case UNIC_CTL_SELECT:
		i = bytes == sizeof(s) ? find_nic(row, n, &s) : -ENOENT;
		return i < 0 ? -ENOENT : i;
	default:
		return n ? 0 : -ENOENT;
	}
}

void unic_nics_row(const struct unic_host *host, struct unic_ctl_nic_row *row)
{
	*row = (struct unic_ctl_nic_row){
		.number = unic_to_le32(host->config.number),
		.state = unic_to_le32(unic_device_state(host)),
		.ipv4 = unic_to_le32(host->config.ipv4),
	};
	memcpy(row->name, host->config.name, sizeof(row->name));
}

static uint32_t list_nics(struct unic_host *host, struct unic_ctl_nic_row *row)
{
	if (host->config.list_nics)
		return host->config.list_nics(host->os, row);
	unic_nics_row(host, row);
	return 1;
}

void unic_nics_list(struct unic_req *req)
{
	struct unic_ctl_nic_row *row = unic_req_tail(req);
	uint32_t n = list_nics(req->host, row);
	struct unic_ctl_nics_reply r = {
		.nics = unic_to_le32(n),
		.mine = unic_to_le32(req->host->config.number),
		.features = unic_to_le32(UNIC_CTL_FEAT_NICS),
	};

	_Static_assert(UNIC_CTL_NICS_MAX * sizeof(*row) <= UNIC_TAIL_MAX, "n");
	unic_req_answer(req, UNIC_ST_OK, &r, row, n * (uint32_t)sizeof(*row));
}

void unic_nics_select(struct unic_req *req)
{
	struct unic_ctl_nic_row *row = unic_req_tail(req);
	uint32_t n = list_nics(req->host, row);
	struct unic_ctl_select_reply r = { 0 };
	struct unic_ctl_select s;
	int i;

	memcpy(&s, req->rec, sizeof(s));
	i = find_nic(row, n, &s);
	if (i < 0) {
		unic_req_status(req, i == -EINVAL ? UNIC_ST_INVALID
						  : UNIC_CTL_ST_NO_SUCH_NIC);
		return;
	}
	if (unic_from_le32(row[i].number) != req->host->config.number) {
		unic_req_status(req, UNIC_ST_BUSY);
		return;
	}
	r.number = row[i].number;
	memcpy(r.name, row[i].name, sizeof(r.name));
	unic_req_answer(req, UNIC_ST_OK, &r, NULL, 0);
}
