/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_uses.c - see ctl_uses.h. */
#include "ctl_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "ctl_ring.h"
#include "error.h"
#include "unic_stats.h"

#define PAGE	4096ull
#define LOOK_NS 5000000 /* the ring holds references of some reaper periods */

/* The default groups of a NIC (firmware/base/trace.c). */
#define GROUPS (UNIC_TG_MR | UNIC_TG_EVICT | UNIC_TG_TOKEN | UNIC_TG_CMD)

static void add_row_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static void add_row(struct json_object *list, const struct unic_use_row *row,
		    uint32_t index, uint64_t now_ns)
{
	struct json_object *o;
	uint64_t last_ns = unic_from_le64(row->last_use_ns);
	char stag[16];

	if (!unic_from_le32(row->stag))
		return;
	o = json_object_new_object();
	snprintf(stag, sizeof(stag), "0x%x", unic_from_le32(row->stag));
	add_row_u64(o, "mr", index);
	json_object_object_add(o, "stag", json_object_new_string(stag));
	add_row_u64(o, "uses", unic_from_le32(row->uses));
	add_row_u64(o, "reported", unic_from_le32(row->reported));
	add_row_u64(o, "bytes", unic_from_le64(row->bytes));
	add_row_u64(o, "rate", unic_from_le32(row->rate));
	add_row_u64(o, "idle_us",
		    now_ns > last_ns ? (now_ns - last_ns) / 1000 : 0);
	json_object_array_add(list, o);
}

struct json_object *ctl_uses(struct unic_conn *conn)
{
	struct unic_use_row row[UNIC_CTL_USES_MAX];
	struct json_object *list = json_object_new_array();
	uint32_t first = 0, mrs = 1, n, i;

	for (; first < mrs; first += UNIC_CTL_USES_MAX) {
		union {
			struct unic_ctl_uses req;
			struct unic_ctl_uses_reply reply;
		} rec = { .req = { .first = unic_to_le32(first),
				   .count = unic_to_le32(UNIC_CTL_USES_MAX) } };
		struct unic_conn_call call = { .rec = &rec,
					       .reply_tail = row,
					       .reply_room = sizeof(row) };

		if (unic_fail_status("uses", unic_conn_call(conn, UNIC_CTL_USES,
							    &call))) {
			json_object_put(list);
			return NULL;
		}
		mrs = unic_from_le32(rec.reply.mrs);
		n = (uint32_t)(call.reply_bytes / sizeof(row[0]));
		for (i = 0; i < n; i++)
			add_row(list, &row[i], first + i,
				unic_from_le64(rec.reply.time_ns));
	}
	return list;
}

/* -------------------------------------------------------------- references */

struct ref {
	uint64_t ns;
	uint32_t id, what, proc;
};

static int by_time(const void *a, const void *b)
{
	const struct ref *l = a, *r = b;

	return l->ns < r->ns ? -1 : l->ns > r->ns;
}

static void print_refs(FILE *out, const struct unic_trace_rec *t, size_t n)
{
	struct ref ref[CTL_RING_MAX] = { { 0 } };
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		if (unic_from_le16(t[i].code) != UNIC_T_REF)
			continue;
		ref[k++] = (struct ref){
			.ns = unic_from_le64(t[i].time_ns) -
			      unic_from_le32(t[i].arg[3]),
			.id = unic_from_le32(t[i].arg[0]),
			.what = unic_from_le32(t[i].arg[1]),
			.proc = unic_from_le16(t[i].proc),
		};
	}
	qsort(ref, k, sizeof(ref[0]), by_time);
	for (i = 0; i < k; i++)
		fprintf(out, "%llu,%u,%llu,%u,%u\n",
			(unsigned long long)ref[i].ns, ref[i].id,
			(ref[i].what & 0xffff) * PAGE, ref[i].proc,
			ref[i].what >> 16);
}

static int set_ref_mask(struct unic_conn *conn, uint32_t mask)
{
	struct unic_ctl_fault rec = { .arg = unic_to_le32(mask) };

	return unic_conn_simple(conn, UNIC_CTL_TRACE_MASK, &rec,
				"record references");
}

/* Print the references of one read. Return how many events there were, or -errno. A NIC
 * that is new records its default groups: @told is how many NICs were told otherwise. Its
 * trace may be there before the driver takes it for ready: it is told at a later read. */
static int follow_refs(struct unic_conn *conn, struct ctl_ring *ring,
		       unsigned int *told, FILE *out)
{
	struct unic_trace_rec rec[CTL_RING_MAX];
	int n = ctl_ring_read(conn, ring, rec);

	if (n >= 0 && ring->others != *told) {
		unsigned int others = ring->others;
		int err = set_ref_mask(conn, UNIC_TG_REF);

		if (!err)
			*told = others;
		else if (err != -ENODEV)
			return err;
	}
	if (n > 0)
		print_refs(out, rec, (size_t)n);
	return n;
}

int ctl_refs(struct unic_conn *conn, FILE *out, const volatile int *stop)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };
	struct ctl_ring ring = { 0 };
	unsigned int told;
	int n, err = set_ref_mask(conn, UNIC_TG_REF);

	if (err)
		return err;
	n = ctl_ring_skip(conn, &ring);
	told = ring.others;
	fprintf(out, "time,key,size,process,importance\n");
	while (n >= 0 && (!*stop || n)) {
		n = follow_refs(conn, &ring, &told, out);
		if (fflush(out))
			break; /* output_watch() says why */
		if (!n && !*stop)
			nanosleep(&nap, NULL);
	}
	(void)set_ref_mask(conn, GROUPS);
	return n < 0 ? n : 0;
}
