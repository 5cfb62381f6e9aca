/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_mr.c - regions, STags, PDs, and the one access check. */
#include "arbiter/policy.h"
#include "revoke/register.h"
#include "rig.h"
#include "unit.h"

#include "memory/derived.h"
#include "memory/access.h"

#define PAGE 4096ull
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)

static struct rig r;
static uint16_t pd;

static int setup(void **state)
{
	(void)state;
	rig_up(&r, 1);
	rig_attach(&r, 0, 1);
	rig_attach(&r, 1, 1);
	pd = (uint16_t)rig_pd(&r, 0);
	r.nic.mrs.low = r.nic.reclaim.high = 0;
	return 0;
}

static struct unic_mr_args args_of(uint64_t iova, uint64_t length)
{
	uint64_t last = iova + length - 1;

	return (struct unic_mr_args){
		.pd = pd,
		.rights = RW,
		.page_shift = 12,
		.iova = iova,
		.length = length,
		.n_pages = (uint32_t)((last >> 12) - (iova >> 12) + 1),
		.flags = UNIC_REG_LIST,
	};
}

/* Pages lie apart in the window, so that a wrong translation is noticed. */
static const uint64_t *list(uint32_t n)
{
	static uint64_t bus[UNIC_TLB_ENTRIES + 1];
	uint32_t i;

	for (i = 0; i < n && i <= UNIC_TLB_ENTRIES; i++)
		bus[i] = UNIC_BUS(0, (2 * i + 8) * PAGE);
	return bus;
}

static int reg(const struct unic_mr_args *a, struct unic_mr_result *out)
{
	return unic_mr_reg(&r.nic.revoke, a,
			   a->flags & UNIC_REG_LIST ? list(a->n_pages) : NULL,
			   out);
}

static struct unic_mr_result reg_ok(uint64_t iova, uint64_t length)
{
	struct unic_mr_args a = args_of(iova, length);
	struct unic_mr_result res;

	assert_int_equal(reg(&a, &res), 0);
	return res;
}

static void each_wrong_argument(void **state)
{
	struct unic_mr_args good = args_of(0x10010, 3 * PAGE), a;
	struct unic_mr_result res;
	struct unic_nic *before = malloc(sizeof(*before));

	(void)state;
	*before = r.nic;
#define BAD(field, value, err)                           \
	do {                                             \
		a = good;                                \
		a.field = (value);                       \
		assert_int_equal(reg(&a, &res), -(err)); \
	} while (0)
	BAD(pd, UNIC_PDS, UNIC_ENOPD);
	BAD(pd, pd + 1, UNIC_ENOPD);
	BAD(rights, UNIC_MR_RIGHTS_ALL + 1, UNIC_EINVAL);
	BAD(rights, UNIC_MR_REMOTE_WRITE, UNIC_EINVAL);
	BAD(flags, 0x80 | UNIC_REG_LIST, UNIC_EINVAL);
	BAD(flags, UNIC_REG_ZERO_BASED | UNIC_REG_LIST, UNIC_EINVAL);
	BAD(mr_class, 3, UNIC_EINVAL);
	BAD(page_shift, 0, UNIC_EINVAL);
	BAD(page_shift, 13, UNIC_EINVAL);
	BAD(page_shift, 255, UNIC_EINVAL);
	BAD(length, 0, UNIC_EINVAL);
	BAD(length, UINT64_MAX, UNIC_EINVAL);
	BAD(iova, UINT64_MAX - PAGE, UNIC_EINVAL);
	BAD(n_pages, 3, UNIC_EINVAL);
	BAD(n_pages, 5, UNIC_EINVAL);
	BAD(n_pages, 0, UNIC_EINVAL);
	BAD(timeout_us, 1, UNIC_EINVAL);
#undef BAD
	a = args_of(0, (UNIC_TLB_ENTRIES + 1) * PAGE);
	assert_int_equal(reg(&a, &res), -UNIC_ETOOLARGE);
	a = args_of(0, 1ull << 63);
	a.n_pages = UINT32_MAX;
	assert_int_equal(reg(&a, &res), -UNIC_ETOOLARGE);
	/* the state is unchanged */
	assert_memory_equal(&before->tlb, &r.nic.tlb, sizeof(r.nic.tlb));
	assert_memory_equal(&before->mrs, &r.nic.mrs, sizeof(r.nic.mrs));
	assert_memory_equal(&before->share, &r.nic.share, sizeof(r.nic.share));
	free(before);
	assert_int_equal(reg(&good, &res), 0);
}

static void misaligned_page_undoes_everything(void **state)
{
	struct unic_mr_args a = args_of(0, 4 * PAGE);
	struct unic_mr_result res;
	uint64_t bus[4] = { 0x8000, 0x9000, 0xa010, 0xb000 };

	(void)state;
	assert_int_equal(unic_mr_reg(&r.nic.revoke, &a, bus, &res), -UNIC_EBUS);
	assert_int_equal(r.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(r.nic.tlb.reserved, 0);
	assert_int_equal(r.nic.mrs.free, UNIC_MRS);
	assert_int_equal(r.nic.procs.proc[0].mrs, 0);
	assert_int_equal(r.nic.mrs.pd[pd].users, 0);
	a.page_shift = 16;
	a.n_pages = 1;
	assert_int_equal(unic_mr_reg(&r.nic.revoke, &a, bus + 1, &res),
			 -UNIC_EBUS);
	bus[0] = 0x10000;
	assert_int_equal(unic_mr_reg(&r.nic.revoke, &a, bus, &res), 0);
}

static int access_of(uint32_t stag, uint32_t need, uint64_t iova, uint32_t len,
		     struct unic_xlate *p)
{
	return unic_access(&r.nic.memory, stag, pd, need, iova, len, p);
}

static void each_step_of_the_check(void **state)
{
	const uint64_t base = 0x20000 + 0x10, len = 2 * PAGE;
	struct unic_mr_result m = reg_ok(base, len);
	struct unic_xlate p = { .bus = 1, .len = 2, .mr = 3 };
	uint16_t pd2 = (uint16_t)rig_pd(&r, 0);
	uint32_t bit;

	(void)state;
	for (bit = 0; bit < 32; bit++)
		assert_int_equal(access_of(m.stag ^ 1u << bit, 0, base, 1, &p),
				 -UNIC_ESTAG);
	assert_int_equal(unic_access(&r.nic.memory, m.stag, pd2, 0, base, 1,
				     &p),
			 -UNIC_EPD);
	assert_int_equal(access_of(m.stag, UNIC_MR_REMOTE_READ, base, 1, &p),
			 -UNIC_ERIGHTS);
	assert_int_equal(access_of(m.stag, RW | UNIC_MR_MW_BIND, base, 1, &p),
			 -UNIC_ERIGHTS);
	assert_int_equal(access_of(m.stag, RW, base - 1, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_of(m.stag, RW, base + len, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(m.stag, RW, base + len + 1, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(m.stag, RW, base + 5 * PAGE, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(m.stag, RW, base + len - 1, 2, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(m.stag, RW, base, (uint32_t)len + 1, &p),
			 -UNIC_EBOUNDS);
	/* the first failing step of the check decides the error */
	assert_int_equal(unic_access(&r.nic.memory, m.stag, pd2, 0xf, 0, 1, &p),
			 -UNIC_EPD);
	assert_int_equal(access_of(m.stag, 0xf, 0, 1, &p), -UNIC_ERIGHTS);
	assert_true(p.bus == 1 && p.len == 2 && p.mr == 3);
	assert_int_equal(rig_count(&r, access_stag), 32);
	assert_int_equal(rig_count(&r, access_pd), 2);
	assert_int_equal(rig_count(&r, access_rights), 3);
	assert_int_equal(rig_count(&r, access_bounds), 6);
}

static void bounds_do_not_wrap(void **state)
{
	const uint64_t edge = 1ull << 32, top = 0 - 2 * PAGE;
	struct unic_mr_result low = reg_ok(edge - PAGE, 2 * PAGE);
	struct unic_mr_result high = reg_ok(top, 2 * PAGE);
	struct unic_xlate p;

	(void)state;
	/* a region across 2^32 */
	assert_int_equal(access_of(low.stag, 0, edge - 1, 2, &p), 0);
	assert_int_equal(p.len, 1);
	assert_int_equal(unic_xlate(&r.nic.memory, p.mr, edge, 1, &p), 0);
	assert_true(p.bus == list(2)[1]);
	/* an address that is equal in its low 32 bits only is refused */
	assert_int_equal(access_of(low.stag, 0, PAGE / 2, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(low.stag, 0, edge - 1, 0xffffffff, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(low.stag, 0, 2 * edge - PAGE, 1, &p),
			 -UNIC_EBOUNDS);
	/* a region that ends at 2^64 */
	assert_int_equal(access_of(high.stag, 0, UINT64_MAX, 1, &p), 0);
	assert_int_equal(access_of(high.stag, 0, UINT64_MAX, 2, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(access_of(high.stag, 0, 0, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_of(high.stag, 0, top, 0xffffffff, &p),
			 -UNIC_EBOUNDS);
}

static void nothing_checks_all_but_bounds(void **state)
{
	struct unic_mr_result m = reg_ok(0x20000, PAGE);
	struct unic_xlate p = { .bus = 1, .len = 2, .mr = 3 };

	(void)state;
	assert_int_equal(access_of(m.stag, RW, 7, 0, &p), 0);
	assert_int_equal(p.len, 0);
	assert_int_equal(access_of(m.stag, RW, 0x20000, 0, &p), 0);
	assert_int_equal(p.len, 0);
	assert_int_equal(access_of(m.stag, UNIC_MR_REMOTE_READ, 7, 0, &p),
			 -UNIC_ERIGHTS);
	assert_int_equal(access_of(m.stag ^ 1, RW, 7, 0, &p), -UNIC_ESTAG);
}

/* Accesses reach every byte of an unaligned region, for each page size. */
static void pieces_cover_the_region(void **state)
{
	static const uint8_t shift[] = { 12, 16, 21 };
	struct unic_mr_result res;
	struct unic_mr_args a;
	struct unic_xlate p;
	uint64_t size, at, end, want;
	uint64_t bus[3];
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 3; i++) {
		size = 1ull << shift[i];
		a = args_of(5 * size - 24, size + 50);
		a.page_shift = shift[i];
		a.n_pages = 3;
		for (k = 0; k < 3; k++)
			bus[k] = UNIC_BUS(1, (9 - 2 * k) * size);
		assert_int_equal(unic_mr_reg(&r.nic.revoke, &a, bus, &res), 0);
		end = a.iova + a.length;
		for (at = a.iova; at != end; at += p.len) {
			assert_int_equal(access_of(res.stag, 0, at,
						   (uint32_t)(end - at), &p),
					 0);
			k = (uint32_t)(at / size - 4);
			want = size - at % size;
			want = want < end - at ? want : end - at;
			assert_true(p.bus == bus[k] + at % size);
			assert_int_equal(p.len, want);
			assert_int_equal(p.mr, res.mr);
		}
		assert_int_equal(unic_mr_dereg(&r.nic.revoke, res.mr, res.gen),
				 0);
	}
}

/* The access check must decide as this comparison of the first and the last
 * byte does. */
static void expect(const struct unic_mr_args *a, uint32_t stag, uint64_t iova,
		   uint32_t len)
{
	uint64_t last = iova + len - 1, end = a->iova + a->length - 1;
	uint64_t page = (iova >> 12) - (a->iova >> 12);
	uint32_t room = (uint32_t)(PAGE - iova % PAGE);
	struct unic_xlate p;
	int err = access_of(stag, RW, iova, len, &p);

	if (len && (iova < a->iova || last < iova || last > end)) {
		assert_int_equal(err, -UNIC_EBOUNDS);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(p.len, len < room ? len : room);
	if (len)
		assert_true(p.bus == list(4)[page] + iova % PAGE);
}

/* The cached window of the page used last must decide as the full check. */
static void window_decides_as_the_region_does(void **state)
{
	static const uint64_t base[] = { 0x20000 + 0x7f0, (1ull << 32) - 0x1800,
					 0 - 0x37f0ull, 0x7fffffff800 };
	static const uint32_t lens[] = { 0,    1,      8,      PAGE - 1,
					 PAGE, 0x37f0, 0x37f1, 0x7fffffff,
					 ~0u,  ~0u - 8 };
	uint64_t rng = 88172645463325252ull;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct unic_mr_args a = args_of(base[i], 0x37f0);
		struct unic_mr_result m;

		assert_int_equal(reg(&a, &m), 0);
		for (k = 0; k < 20000; k++) {
			uint32_t v = unic_policy_random(&rng);
			uint64_t edge = base[i] - 16 + (v & 15) / 3 * 0x800;

			if (v >> 30)
				edge = base[i] + 0x37f0;
			edge += (v >> 4 & 31) + ((uint64_t)(!(v >> 27)) << 32);
			expect(&a, m.stag, edge, lens[(v >> 9) % 10]);
		}
		assert_int_equal(unic_mr_dereg(&r.nic.revoke, m.mr, m.gen), 0);
	}
}

/* A new region with the index of an ended one does not use the window that was
 * cached for it. */
static void window_ends_with_its_region(void **state)
{
	struct unic_mr_result m = reg_ok(0x20000, PAGE), n;
	struct unic_mr_args a = args_of(0x20000, PAGE);
	uint64_t bus = UNIC_BUS(0, 77 * PAGE);
	struct unic_xlate p;

	(void)state;
	assert_int_equal(access_of(m.stag, RW, 0x20000, 8, &p), 0);
	unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	assert_int_equal(access_of(m.stag, RW, 0x20000, 8, &p),
			 -UNIC_ERELEASED);
	r.nic.mrs.order[r.nic.mrs.free - 1] = (uint16_t)m.mr;
	assert_int_equal(unic_mr_reg(&r.nic.revoke, &a, &bus, &n), 0);
	assert_int_equal(n.mr, m.mr);
	assert_int_equal(access_of(n.stag, RW, 0x20000, 8, &p), 0);
	assert_true(p.bus == bus);
}

static void use_is_counted(void **state)
{
	struct unic_mr_result m = reg_ok(0x20000, PAGE);
	struct unic_mr_ctx *mr = unic_mr_get(&r.nic.memory, m.mr, m.gen);
	struct unic_xlate p;

	(void)state;
	r.nic.now_ns += 77;
	access_of(m.stag, RW, 0x20000, 100, &p);
	access_of(m.stag, RW, 0x20000, 5000, &p);
	access_of(m.stag, RW, 0x20000 + 1, 28, &p);
	assert_int_equal(mr->uses, 2);
	assert_true(unic_mr_bytes(mr) == 128);
	assert_true(mr->last_use_ns == r.nic.now_ns);
	mr->bytes = UINT32_MAX;
	access_of(m.stag, RW, 0x20000, 8, &p);
	assert_true(unic_mr_bytes(mr) == (1ull << 32) + 7);
}

static void loading_is_filled_page_by_page(void **state)
{
	struct unic_mr_args a = args_of(0x30000, 4 * PAGE);
	struct unic_mr_result m;
	struct unic_xlate p;
	const uint64_t *bus = list(4);
	uint64_t odd = 0x123;

	(void)state;
	a.flags = 0;
	assert_int_equal(reg(&a, &m), 0);
	assert_int_equal(r.nic.tlb.reserved, 4);
	assert_int_equal(access_of(m.stag, 0, 0x30000, 1, &p), -UNIC_ESTAG);
#define FILL(gen, first, n, from) \
	unic_mr_fill(&r.nic.memory, m.mr, gen, first, n, from)
	assert_int_equal(FILL(m.gen + 1, 0, 1, bus), -UNIC_ENOMR);
	assert_int_equal(FILL(m.gen, 4, 1, bus), -UNIC_EINVAL);
	assert_int_equal(FILL(m.gen, 3, 2, bus), -UNIC_EINVAL);
	assert_int_equal(FILL(m.gen, 1, UINT32_MAX, bus), -UNIC_EINVAL);
	assert_int_equal(FILL(m.gen, 0, 0, bus), -UNIC_EINVAL);
	assert_int_equal(FILL(m.gen, 2, 2, bus + 2), 0);
	assert_int_equal(FILL(m.gen, 1, 2, bus), -UNIC_ESTATE);
	assert_int_equal(FILL(m.gen, 1, 1, &odd), -UNIC_EBUS);
	assert_int_equal(r.nic.tlb.reserved, 2);
	assert_int_equal(access_of(m.stag, 0, 0x32000, 1, &p), -UNIC_ESTAG);
	assert_int_equal(FILL(m.gen, 0, 2, bus), 0);
	assert_int_equal(access_of(m.stag, 0, 0x31000, 1, &p), 0);
	assert_true(p.bus == bus[1]);
	assert_int_equal(FILL(m.gen, 0, 1, bus), -UNIC_ESTATE);
#undef FILL
}

static void deregistered_stag_is_dead_and_changes(void **state)
{
	struct unic_mr_result m = reg_ok(0x20000, PAGE), again;
	struct unic_xlate p;
	uint32_t i, same_index = 0;

	(void)state;
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m.mr, m.gen + 1),
			 -UNIC_ENOMR);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, UNIC_MRS, 1),
			 -UNIC_ENOMR);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m.mr, m.gen), 0);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m.mr, m.gen),
			 -UNIC_ENOMR);
	assert_int_equal(access_of(m.stag, 0, 0x20000, 1, &p), -UNIC_ERELEASED);
	for (i = 0; i < 8 * UNIC_MRS; i++) {
		again = reg_ok(0x20000, PAGE);
		same_index += again.mr == m.mr;
		assert_int_not_equal(again.stag, m.stag);
		assert_int_equal(
			unic_mr_dereg(&r.nic.revoke, again.mr, again.gen), 0);
	}
	assert_true(same_index > 0);
	assert_int_equal(access_of(m.stag, 0, 0x20000, 1, &p), -UNIC_ESTAG);
}

/* Makes @idx the only free index. */
static void leave_free(uint32_t idx)
{
	r.nic.mrs.order[0] = (uint16_t)idx;
	r.nic.mrs.free = 1;
}

#define PARTS (1u << UNIC_STAG_PART_BITS)

/* Parts of the STags of two walks, in their order. */
static uint32_t walked[2][UNIC_STAG_STEPS];

/* Registers until the walk of @idx ends, in *walk; no STag comes twice. Returns
 * the number of registrations. */
static uint32_t note_walk(uint32_t idx, uint32_t *walk)
{
	static uint8_t seen[PARTS >> 3];
	struct unic_mr_result m;
	uint32_t part, n;

	memset(seen, 0, sizeof(seen));
	for (n = 0; r.nic.mrs.free; n++) {
		m = reg_ok(0, PAGE);
		assert_int_equal(m.mr, idx);
		assert_true(n < UNIC_STAG_STEPS);
		part = walk[n] = m.stag >> UNIC_STAG_KEY_BITS & (PARTS - 1);
		assert_false(seen[part >> 3] >> (part & 7) & 1);
		seen[part >> 3] |= (uint8_t)(1u << (part & 7));
		unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	}
	return n;
}

static uint32_t walk_to_its_end(uint32_t idx)
{
	return note_walk(idx, walked[0]);
}

static uint32_t longest_walk(uint32_t idx, uint32_t walks)
{
	uint32_t n, most = 0;

	for (; walks; walks--) {
		n = walk_to_its_end(idx);
		most = n > most ? n : most;
		r.nic.now_ns += UNIC_STAG_REST_NS;
		unic_mr_rested(&r.nic.memory);
	}
	return most;
}

/* A walk repeats no STag and ends after a random number of steps; the index
 * rests between two walks. */
static void used_up_index_rests(void **state)
{
	struct unic_mr_args a = args_of(0, PAGE);
	struct unic_mr_result m = reg_ok(0, PAGE);
	uint32_t idx = m.mr, most;

	(void)state;
	unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	leave_free(idx);
	walk_to_its_end(idx);
	assert_int_equal(r.nic.stags.resting, 1);
	assert_int_equal(r.nic.stags.charged[0], 1);
	assert_int_equal(reg(&a, &m), -UNIC_EMRFULL);
	r.nic.now_ns += UNIC_STAG_REST_NS - 1;
	assert_int_equal(reg(&a, &m), -UNIC_EMRFULL);
	r.nic.now_ns++;
	assert_int_equal(reg(&a, &m), 0);
	assert_int_equal(r.nic.stags.resting, 0);
	assert_int_equal(r.nic.stags.charged[0], 0);
	unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	most = longest_walk(idx, 12);
	assert_in_range(most, UNIC_STAG_MEAN, UNIC_STAG_STEPS);
	/* @gen has wrapped, and skips 0 */
	assert_int_equal(rig_count(&r, stag_rests), 13);
	assert_int_not_equal(r.nic.mrs.mr[idx].gen, 0);
}

/* Steps of walk 1, of @n steps, that follow the STag which they follow in walk 0,
 * of @before steps, too. */
static uint32_t same_next(uint32_t before, uint32_t n)
{
	static uint16_t place[PARTS]; /* in walk 0, from 1; 0: none */
	uint32_t i, at, same = 0;

	memset(place, 0, sizeof(place));
	for (i = 0; i < before; i++)
		place[walked[0][i]] = (uint16_t)(i + 1);
	for (i = 1; i < n; i++) {
		at = place[walked[1][i - 1]];
		same += at && at < before && walked[0][at] == walked[1][i];
	}
	return same;
}

/* Nothing of a walk is to be had from the walk before: not the STag of a step,
 * nor the one after an STag, nor the difference between two steps. Of @n steps
 * about n / PARTS are equal by chance, which is less than one. */
static void next_walk_is_another(void **state)
{
	struct unic_mr_result m = reg_ok(0, PAGE);
	uint32_t idx = m.mr, steps[2], i, k, same = 0, off, last = 0;

	(void)state;
	unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	leave_free(idx);
	for (k = 0; k < 2; k++) {
		steps[k] = note_walk(idx, walked[k]);
		r.nic.now_ns += UNIC_STAG_REST_NS;
		unic_mr_rested(&r.nic.memory);
	}
	assert_true(steps[0] > 8 && steps[1] > 8);
	for (i = 0; i < steps[0] && i < steps[1]; i++) {
		off = walked[0][i] ^ walked[1][i];
		same += !off + (i && off == last);
		last = off;
	}
	assert_in_range(same + same_next(steps[0], steps[1]), 0, 2);
}

/* Earlier indices do not predict the next one: indices seldom follow each
 * other, and a freed index seldom comes again at once. */
static void indices_come_in_no_order(void **state)
{
	struct unic_mr_result m[16], again;
	uint32_t i, near = 0, same = 0;

	(void)state;
	for (i = 0; i < 16; i++) {
		m[i] = reg_ok(0x20000, PAGE);
		near += i && m[i].mr - m[i - 1].mr + 1u <= 2u;
	}
	assert_in_range(near, 0, 5);
	for (i = 0; i < 16; i++) {
		assert_int_equal(
			unic_mr_dereg(&r.nic.revoke, m[i].mr, m[i].gen), 0);
		again = reg_ok(0x20000, PAGE);
		same += again.mr == m[i].mr;
		m[i] = again;
	}
	assert_in_range(same, 0, 5);
}

static void stags_differ_between_epochs(void **state)
{
	struct unic_mr_result m = reg_ok(0x20000, PAGE), n;
	struct unic_xlate p;

	(void)state;
	rig_reset(&r);
	rig_attach(&r, 0, 1);
	pd = (uint16_t)rig_pd(&r, 0);
	n = reg_ok(0x20000, PAGE);
	assert_int_not_equal(n.stag, m.stag);
	assert_int_equal(access_of(m.stag, 0, 0x20000, 1, &p), -UNIC_ESTAG);
}

static void consumers_byte_is_the_low_one(void **state)
{
	struct unic_mr_args a = args_of(0, PAGE);
	struct unic_mr_result m;

	(void)state;
	a.key = 0xa5;
	assert_int_equal(reg(&a, &m), 0);
	assert_int_equal(m.stag & 0xff, 0xa5);
	assert_int_equal(m.stag >> (32 - __builtin_ctz(UNIC_MRS)), m.mr);
}

static void control_region_waits_for_its_queues(void **state)
{
	struct unic_mr_args a = args_of(0, PAGE);
	struct unic_mr_result m;

	(void)state;
	a.mr_class = UNIC_CLASS_CONTROL;
	assert_int_equal(reg(&a, &m), 0);
	unic_mr_queue_get(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m.mr, m.gen),
			 -UNIC_EBUSY);
	unic_mr_queue_put(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m.mr, m.gen), 0);
}

static void full_table_of_regions(void **state)
{
	struct unic_mr_args a = args_of(0, PAGE);
	struct unic_mr_result m;
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_MRS; i++)
		m = reg_ok(i * PAGE, PAGE);
	assert_int_equal(reg(&a, &m), -UNIC_EMRFULL);
	assert_int_equal(rig_count(&r, mr_denied), 1);
}

static void pds_have_owners_and_users(void **state)
{
	struct unic_mr_result m = reg_ok(0, PAGE);
	int i, n = 0;

	(void)state;
	assert_int_equal(unic_pd_alloc(&r.nic.memory, 2, false), -UNIC_ENOPROC);
	assert_int_equal(unic_pd_alloc(&r.nic.memory, UNIC_PROCS, false),
			 -UNIC_ENOPROC);
	assert_int_equal(unic_pd_free(&r.nic.memory, 0, pd), -UNIC_EBUSY);
	assert_int_equal(unic_pd_free(&r.nic.memory, 1, pd), -UNIC_ENOPD);
	assert_int_equal(unic_pd_free(&r.nic.memory, 0xffff, pd + 1u),
			 -UNIC_ENOPD);
	unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	assert_int_equal(unic_pd_free(&r.nic.memory, 0, pd), 0);
	assert_int_equal(unic_pd_free(&r.nic.memory, 0, pd), -UNIC_ENOPD);
	while ((i = unic_pd_alloc(&r.nic.memory, 1, false)) >= 0)
		n++;
	assert_int_equal(i, -UNIC_EPDFULL);
	assert_int_equal(n, UNIC_PDS);
}

/* Resets the NIC; attaches the processes and allocates the PD again. */
static void reset(void)
{
	rig_reset(&r);
	rig_attach(&r, 0, 1);
	rig_attach(&r, 1, 1);
	pd = (uint16_t)rig_pd(&r, 0);
	r.nic.mrs.low = r.nic.reclaim.high = 0;
}

static int restore(uint32_t stag, uint64_t iova, uint64_t length,
		   struct unic_mr_result *out)
{
	struct unic_mr_args a = args_of(iova, length);

	a.key = (uint8_t)stag;
	return unic_mr_restore(&r.nic.revoke, &a, stag, list(a.n_pages), out);
}

static void restored_forms_have_their_stags(void **state)
{
	struct unic_derived_alloc a = { .kind = UNIC_FORM_SUB, .key = 9 };
	struct unic_mr_result was, form, res;

	(void)state;
	a.pd = pd;
	was = reg_ok(0x1000, 100);
	assert_int_equal(unic_derived_alloc(&r.nic.revoke, &a, &form), 0);
	reset();
	assert_int_equal(restore(was.stag, 0x1000, 100, &res), 0);
	a.pd = pd;
	a.stag = form.stag ^ 1;
	assert_int_equal(unic_derived_alloc(&r.nic.revoke, &a, &res),
			 -UNIC_EINVAL);
	a.stag = form.stag;
	assert_int_equal(unic_derived_alloc(&r.nic.revoke, &a, &res), 0);
	assert_int_equal(res.stag, form.stag);
	assert_int_equal(res.mr, form.mr);
	assert_int_equal(unic_derived_alloc(&r.nic.revoke, &a, &res),
			 -UNIC_ESTATE);
	reg_ok(0x9000, 100); /* which no restore made */
	a.stag = (form.stag ^ 1u << UNIC_MR_IDX_SHIFT);
	assert_int_equal(unic_derived_alloc(&r.nic.revoke, &a, &res),
			 -UNIC_ESTATE);
}

static void restored_regions_have_their_stags(void **state)
{
	struct unic_mr_result was[UNIC_MRS / 2], res;
	struct unic_xlate piece;
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_MRS / 2; i++)
		was[i] = reg_ok(0x1000 * i, 100);
	reset();
	for (i = 0; i < UNIC_MRS / 2; i++) {
		assert_int_equal(restore(was[i].stag, 0x1000 * i, 100, &res),
				 0);
		assert_int_equal(res.stag, was[i].stag);
		assert_int_equal(res.mr, was[i].mr);
		assert_int_equal(unic_access(&r.nic.memory, was[i].stag, pd,
					     UNIC_MR_REMOTE_WRITE, 0x1000 * i,
					     100, &piece),
				 0);
	}
}

/* A region keeps the key from being drawn anew: under another key its STag
 * could come again. */
static void one_region_ends_rekeying(void **state)
{
	struct unic_mr_result m;
	struct unic_xlate piece;
	uint64_t key[2];

	(void)state;
	memcpy(key, r.nic.stags.key, sizeof(key));
	unic_mr_rekey(&r.nic.memory);
	assert_memory_not_equal(key, r.nic.stags.key, sizeof(key));
	for (m = reg_ok(0, 100); !m.mr; m = reg_ok(0, 100))
		reset();
	memcpy(key, r.nic.stags.key, sizeof(key));
	unic_mr_rekey(&r.nic.memory);
	assert_memory_equal(key, r.nic.stags.key, sizeof(key));
	assert_int_equal(r.nic.mrs.free, UNIC_MRS - 1);
	assert_int_equal(
		unic_access(&r.nic.memory, m.stag, pd, RW, 0, 100, &piece), 0);
}

/* Each bit of the key of the STags is random in each epoch. */
static void keys_have_all_their_bits(void **state)
{
	uint64_t ones[2] = { 0, 0 }, zeros[2] = { 0, 0 };
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 64; i++) {
		rig_reset(&r);
		for (k = 0; k < 2; k++) {
			ones[k] |= r.nic.stags.key[k];
			zeros[k] |= ~r.nic.stags.key[k];
		}
	}
	for (k = 0; k < 2; k++) {
		assert_true(ones[k] == UINT64_MAX);
		assert_true(zeros[k] == UINT64_MAX);
	}
}

/* A restored STag is not drawn again, not even under the key of the epoch
 * before, whose walk would reach it. */
static void restored_stag_does_not_come_again(void **state)
{
	struct unic_mr_result m, res;
	uint64_t key[2];
	uint32_t steps;

	(void)state;
	memcpy(key, r.nic.stags.key, sizeof(key));
	while ((m = reg_ok(0, 100)).gen < 5)
		unic_mr_dereg(&r.nic.revoke, m.mr, m.gen);
	reset();
	memcpy(r.nic.stags.key, key, sizeof(key));
	assert_int_equal(restore(m.stag, 0, 100, &res), 0);
	for (steps = 0; steps < 4000; steps++) {
		assert_int_equal(unic_mr_dereg(&r.nic.revoke, res.mr, res.gen),
				 0);
		res = reg_ok(0, 100);
		assert_int_not_equal(res.stag & ~0xffu, m.stag & ~0xffu);
	}
}

static void restoring_ends_with_the_first_new_region(void **state)
{
	struct unic_mr_result a = reg_ok(0, 100), b = reg_ok(0, 100), res;

	(void)state;
	reset();
	assert_int_equal(restore(a.stag, 0, 100, &res), 0);
	assert_int_equal(restore(a.stag, 0, 100, &res), -UNIC_ESTATE);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, res.mr, res.gen), 0);
	assert_int_equal(restore(a.stag, 0, 100, &res), -UNIC_ESTATE);
	reg_ok(0, 100);
	assert_int_equal(restore(b.stag, 0, 100, &res), -UNIC_ESTATE);
}

static void wrong_restores_change_nothing(void **state)
{
	struct unic_mr_result m = reg_ok(0, 100), res;
	struct unic_cmd_mr_reg cmd = { .pd = unic_to_le32(pd),
				       .rights = RW,
				       .page_shift = 12,
				       .length = unic_to_le64(100),
				       .n_pages = unic_to_le32(1),
				       .stag = unic_to_le32(m.stag) };
	struct unic_mr_args a = args_of(0, 100);

	(void)state;
	reset();
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REG, &cmd, NULL),
			 UNIC_ST_INVALID); /* no UNIC_REG_RESTORE */
	a.key = (uint8_t)(m.stag + 1);
	assert_int_equal(unic_mr_restore(&r.nic.revoke, &a, m.stag, list(1),
					 &res),
			 -UNIC_EINVAL);
	a.key = (uint8_t)m.stag;
	a.flags = UNIC_REG_WAIT;
	assert_int_equal(unic_mr_restore(&r.nic.revoke, &a, m.stag, NULL, &res),
			 -UNIC_EINVAL);
	assert_int_equal(restore(m.stag, 0, (UNIC_TLB_ENTRIES + 1) * PAGE,
				 &res),
			 -UNIC_ETLBFULL);
	cmd.flags = UNIC_REG_RESTORE; /* LOADING: filled afterwards */
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REG, &cmd, &cmd), 0);
	assert_int_equal(unic_mr_fill(&r.nic.memory, m.mr, 1, 0, 1, list(1)),
			 0);
	assert_int_equal(r.nic.mrs.mr[m.mr].stag, m.stag);
}

/* Restores a region of residency DEMAND. */
static int restore_demand(uint32_t stag, uint64_t length,
			  struct unic_mr_result *out)
{
	struct unic_mr_args a = args_of(0, length);

	a.flags = 0;
	a.residency = UNIC_DEMAND;
	a.key = (uint8_t)stag;
	return unic_mr_restore(&r.nic.revoke, &a, stag, NULL, out);
}

/* A refused restore leaves its STag free to be restored; the next new region
 * does not get it. */
static void refused_restore_leaves_no_stag(void **state)
{
	const uint64_t too_many = (UNIC_CACHED_PAGES + 1ull) * PAGE;
	struct unic_mr_result m = reg_ok(0, 100), res;

	(void)state;
	reset();
	assert_int_equal(restore_demand(m.stag, too_many, &res),
			 -UNIC_ETOOLARGE);
	assert_int_equal(restore_demand(m.stag, 100, &res), 0);
	assert_int_equal(res.stag, m.stag);
	reset();
	assert_int_equal(restore_demand(m.stag, too_many, &res),
			 -UNIC_ETOOLARGE);
	res = reg_ok(0, 100);
	assert_int_not_equal(res.stag & ~0xffu, m.stag & ~0xffu);
}

/* Half of the indices, less what rests of processes that ended, is shared by weight among
 * the others: who has that much at rest registers no more. */
static void indices_at_rest_are_shared(void **state)
{
	struct unic_stags *s = &r.nic.stags;
	uint16_t resting = s->resting;
	uint32_t weights = r.nic.share.all_weights;
	uint32_t half = UNIC_MRS / 2u * r.nic.share.owner[0].weight / weights;

	(void)state;
	s->charged[0] = (uint16_t)half;
	assert_false(unic_stag_shut(&r.nic.memory, 0)); /* few rest */
	s->resting = UNIC_MRS / 2u;
	assert_true(unic_stag_shut(&r.nic.memory, 0));
	s->charged[0]--;
	assert_false(unic_stag_shut(&r.nic.memory, 0));
	/* all of the half is of one that ended */
	assert_int_equal(r.nic.share.owner[UNIC_PROCS - 1].weight, 0);
	s->charged[UNIC_PROCS - 1] = UNIC_MRS / 2u;
	assert_int_equal(unic_stag_left(&r.nic.memory), UNIC_MRS / 2u);
	s->charged[0] = UNIC_MRS / 8u;
	assert_true(unic_stag_shut(&r.nic.memory, 0));
	s->charged[0] = s->charged[UNIC_PROCS - 1] = 0;
	s->resting = resting;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_wrong_argument, setup),
		cmocka_unit_test_setup(indices_at_rest_are_shared, setup),
		cmocka_unit_test_setup(misaligned_page_undoes_everything,
				       setup),
		cmocka_unit_test_setup(each_step_of_the_check, setup),
		cmocka_unit_test_setup(bounds_do_not_wrap, setup),
		cmocka_unit_test_setup(nothing_checks_all_but_bounds, setup),
		cmocka_unit_test_setup(pieces_cover_the_region, setup),
		cmocka_unit_test_setup(window_decides_as_the_region_does,
				       setup),
		cmocka_unit_test_setup(window_ends_with_its_region, setup),
		cmocka_unit_test_setup(use_is_counted, setup),
		cmocka_unit_test_setup(loading_is_filled_page_by_page, setup),
		cmocka_unit_test_setup(deregistered_stag_is_dead_and_changes,
				       setup),
		cmocka_unit_test_setup(used_up_index_rests, setup),
		cmocka_unit_test_setup(next_walk_is_another, setup),
		cmocka_unit_test_setup(indices_come_in_no_order, setup),
		cmocka_unit_test_setup(stags_differ_between_epochs, setup),
		cmocka_unit_test_setup(consumers_byte_is_the_low_one, setup),
		cmocka_unit_test_setup(control_region_waits_for_its_queues,
				       setup),
		cmocka_unit_test_setup(full_table_of_regions, setup),
		cmocka_unit_test_setup(keys_have_all_their_bits, setup),
		cmocka_unit_test_setup(one_region_ends_rekeying, setup),
		cmocka_unit_test_setup(pds_have_owners_and_users, setup),
		cmocka_unit_test_setup(restored_forms_have_their_stags, setup),
		cmocka_unit_test_setup(restored_regions_have_their_stags,
				       setup),
		cmocka_unit_test_setup(restored_stag_does_not_come_again,
				       setup),
		cmocka_unit_test_setup(restoring_ends_with_the_first_new_region,
				       setup),
		cmocka_unit_test_setup(wrong_restores_change_nothing, setup),
		cmocka_unit_test_setup(refused_restore_leaves_no_stag, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
