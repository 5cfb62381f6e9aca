/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* stags.c - see stags.h. */
#include "stags.h"

#include "unic_ctl.h"

#define STAGS	 4096u
#define REST_NS	 (4294ull * MS) /* least time from the end of its region */
#define KEY_BITS 8u		/* key byte, set by the consumer */

/* The entries are a ring: a new one replaces the oldest. */
struct given {
	const struct model *m; /* the NIC's model; NULL: none */
	uint32_t stag, proc;
	uint64_t end_ns; /* UINT64_MAX: it is live */
};

static struct given *book;
static uint32_t *names; /* STags of `book` without key bytes */
static uint32_t entries;

void stags_reset(void)
{
	book = sim_alloc(STAGS * sizeof(*book));
	names = sim_alloc(STAGS * sizeof(*names));
	entries = 0;
}

static struct given *next_of(const struct model *m, uint32_t stag, uint32_t *i)
{
	for (; *i < entries && *i < STAGS; ++*i)
		if (names[*i] == stag >> KEY_BITS && book[*i].m == m)
			return &book[(*i)++];
	return NULL;
}

void stags_begin(const struct model *m, uint32_t stag, uint32_t proc)
{
	const struct given *g;
	uint32_t i = 0;

	while ((g = next_of(m, stag, &i)))
		if (g->end_ns == UINT64_MAX || sim_now() < g->end_ns + REST_NS)
			sim_fail("stags",
				 "STag %x of process %u is given again, to "
				 "process %u",
				 g->stag, g->proc, proc);
	names[entries % STAGS] = stag >> KEY_BITS;
	book[entries++ % STAGS] = (struct given){ m, stag, proc, UINT64_MAX };
}

void stags_end(const struct model *m, uint32_t stag)
{
	struct given *g;
	uint32_t i = 0;

	while ((g = next_of(m, stag, &i)))
		if (g->end_ns == UINT64_MAX)
			g->end_ns = sim_now();
}

void stags_epoch(const struct model *m)
{
	uint32_t i;

	for (i = 0; i < entries && i < STAGS; i++)
		if (book[i].m == m)
			book[i].m = NULL;
}

/* -------------------------------------------------------------------- lies */

static const struct model_mr *region_at(const struct model *m, uint32_t index)
{
	const struct model_mr *r = &m->mr[index % MODEL_MRS];

	return r->state >= MODEL_ACTIVE ? r : NULL;
}

static uint32_t index_shift(const struct model *m)
{
	return 32u - (uint32_t)__builtin_ctz(m->mrs);
}

static uint32_t past(const struct model *m, uint64_t r, uint64_t *iova)
{
	uint32_t n = entries < STAGS ? entries : STAGS, i;

	if (!m->mrs)
		return 0; /* the NIC is being reset */
	for (i = 0; i < n; i++) {
		const struct given *g = &book[(r + i) % n];
		const struct model_mr *at =
			region_at(m, g->stag >> index_shift(m));

		if (g->m != m || g->end_ns == UINT64_MAX || !at)
			continue;
		*iova = at->iova;
		return g->stag;
	}
	return 0;
}

static uint32_t of_another(const struct model *m, uint32_t proc, uint64_t r,
			   uint64_t *iova)
{
	uint32_t i;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *at = region_at(m, (uint32_t)r + i);

		if (!at || at->proc == proc)
			continue;
		*iova = at->iova;
		return at->stag;
	}
	return 0;
}

/* One that differs by a bit, not of the key, from that of a live region. */
static uint32_t nearly(const struct model *m, uint64_t r, uint64_t *iova)
{
	uint32_t i, bits = m->mrs ? index_shift(m) - KEY_BITS : 1;

	for (i = 0; i < MODEL_MRS; i++) {
		const struct model_mr *at = region_at(m, (uint32_t)r + i);

		if (!at)
			continue;
		*iova = at->iova;
		return at->stag ^ 1u << (KEY_BITS + (r >> 32) % bits);
	}
	return 0;
}

uint32_t stags_wrong(const struct model *m, uint32_t proc, uint64_t r,
		     uint64_t *iova)
{
	if (r % 4 == 0)
		return past(m, r >> 2, iova);
	if (r % 4 == 1)
		return of_another(m, proc, r >> 2, iova);
	if (r % 4 == 2)
		return nearly(m, r >> 2, iova);
	*iova = r >> 8 & 0xfff;
	return 0xff000000u | (uint32_t)(r >> 20);
}

bool stags_live(const struct model *m, uint32_t stag)
{
	const struct given *g;
	uint32_t i = 0;

	while ((g = next_of(m, stag, &i)))
		if (g->end_ns == UINT64_MAX)
			return true;
	return false;
}

/* Did the process have a region of that name, so that EVICTED is right? */
static bool had(const struct model *m, uint32_t stag, uint32_t proc)
{
	const struct given *g;
	uint32_t i = 0;

	while ((g = next_of(m, stag, &i)))
		if (g->proc == proc)
			return true;
	return false;
}

void stags_answer(const struct model *m, uint32_t stag, uint32_t proc,
		  uint8_t refused, uint8_t or_detail, const struct unic_cqe *c)
{
	bool local = refused != UNIC_WC_REM_ACCESS_ERR;
	uint8_t taken = local ? UNIC_WC_EVICTED : UNIC_WC_REM_EVICTED;
	uint8_t detail = local ? UNIC_WD_STAG : UNIC_WD_NONE;

	if (!c->status && local)
		sim_fail("stags", "STag %x opens to process %u, which has none",
			 stag, proc);
	if ((c->status == refused && c->detail != detail &&
	     (!local || !or_detail || c->detail != or_detail)) ||
	    (c->status == taken && !had(m, stag, proc)))
		sim_fail("stags",
			 "STag %x, which process %u has not, is answered %u "
			 "detail %u, one that nobody has %u detail %u",
			 stag, proc, c->status, c->detail, refused, detail);
}

/* May the derived region, its process or the driver be the reason of @status? */
static bool says_nothing(uint32_t status)
{
	return status == UNIC_ST_NO_MR || status == UNIC_ST_BUSY ||
	       status == UNIC_ST_STATE || status >= UNIC_CTL_ST_NO_HELLO;
}

void stags_status(const struct model *m, uint32_t stag, uint32_t proc,
		  uint32_t or_status, uint32_t status)
{
	if (!says_nothing(status) && (!or_status || status != or_status) &&
	    !(status == UNIC_ST_EVICTED && had(m, stag, proc)))
		sim_fail("stags",
			 "MR_MAKE of STag %x, which process %u has not, is "
			 "answered %u, of one that nobody has %u",
			 stag, proc, status, UNIC_ST_NO_MR);
}
