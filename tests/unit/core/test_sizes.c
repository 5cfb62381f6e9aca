/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_sizes.c - regions with pages of 4 KiB, 64 KiB and 2 MiB side by side in
 * one NIC: registration, accesses, faults, tokens and derived regions, to the
 * last byte and one beyond.
 *
 * The pages of a region are not neighbours and in no order, so that an access
 * which takes two pages for neighbours, or counts pages in another size,
 * reaches a wrong place.
 */
#include "unit.h"

#include "memory/access.h"
#include "memory/derived.h"
#include "pair.h"

#define MS  1000000ull
#define RW  (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define RWB (RW | UNIC_MR_MW_BIND)

#define SIZES 3u
#define PAGES 3u  /* of each region */
#define TAIL  50u /* bytes in the last of them */
#define HEAD  24u /* bytes in the first of them */

/* A multiple of all page sizes; each region begins near it. */
#define BASE 0x7f00000000ull

static const uint8_t shift_of[SIZES] = { 12, 16, 21 };

struct region {
	struct rig_mr mr;
	uint8_t shift;
	uint64_t length;
	uint64_t bus[PAGES];
};

static struct region region[SIZES];

static uint64_t size_of(const struct region *g)
{
	return 1ull << g->shift;
}

/* The command that registers @g with @residency. */
static struct unic_cmd_mr_reg reg_of(const struct region *g, uint8_t residency)
{
	return (struct unic_cmd_mr_reg){
		.pd = unic_to_le32(qb.pd),
		.rights = RWB,
		.mr_class = UNIC_CLASS_RDMA,
		.residency = residency,
		.page_shift = g->shift,
		.iova = unic_to_le64(g->mr.iova),
		.length = unic_to_le64(g->length),
		.n_pages = unic_to_le32(PAGES),
		.flags = residency ? 0 : UNIC_REG_LIST,
	};
}

static uint8_t reg_cmd(struct unic_cmd_mr_reg *cmd, struct region *g)
{
	uint8_t *list = rb.port.bar + UNIC_BAR_LIST_OFF +
			rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_cpl_mr_reg cpl;
	uint8_t status;

	memcpy(list, g->bus, sizeof(g->bus)); /* as the host has them */
	status = rig_cmd(&rb, UNIC_CMD_MR_REG, cmd, &cpl);
	g->mr.mr = unic_from_le32(cpl.mr);
	g->mr.gen = unic_from_le32(cpl.gen);
	g->mr.stag = unic_from_le32(cpl.stag);
	return status;
}

static void shape(struct region *g, uint32_t which)
{
	uint32_t k;

	memset(g, 0, sizeof(*g));
	g->shift = shift_of[which];
	g->mr.iova = BASE + size_of(g) - HEAD;
	g->length = HEAD + size_of(g) + TAIL;
	for (k = 0; k < PAGES; k++)
		g->bus[k] = UNIC_BUS(2, (2 * (PAGES - k) + 7 * which) << 21);
}

static int up(void **state)
{
	struct unic_cmd_set_params p = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};
	uint32_t i;

	(void)state;
	pair_up();
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
	for (i = 0; i < SIZES; i++) {
		struct unic_cmd_mr_reg cmd;

		shape(&region[i], i);
		cmd = reg_of(&region[i], UNIC_RESIDENT);
		assert_int_equal(reg_cmd(&cmd, &region[i]), 0);
	}
	return 0;
}

static int access_of(const struct region *g, uint64_t off, uint32_t len,
		     struct unic_xlate *p)
{
	return unic_access(&rb.nic.memory, g->mr.stag, (uint16_t)qb.pd, RW,
			   g->mr.iova + off, len, p);
}

/* The bus address of byte @off of a region. */
static uint64_t bus_of(const struct region *g, uint64_t off)
{
	uint64_t at = size_of(g) - HEAD + off;

	return g->bus[at >> g->shift] + (at & (size_of(g) - 1));
}

/* ------------------------------------------------------------- registration */

static uint8_t reg_as(const struct region *g, uint64_t iova, uint64_t length,
		      uint32_t pages, uint8_t flags)
{
	struct unic_cmd_mr_reg cmd = reg_of(g, UNIC_RESIDENT);
	struct region x = *g;
	uint8_t status;

	cmd.iova = unic_to_le64(iova);
	cmd.length = unic_to_le64(length);
	cmd.n_pages = unic_to_le32(pages);
	cmd.flags |= flags;
	status = reg_cmd(&cmd, &x);
	if (!status)
		assert_int_equal(rig_dereg(&rb, &x.mr), 0);
	return status;
}

/* The number of pages follows from the range and the page size. */
static void pages_follow_from_the_range(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		const struct region *g = &region[i];
		uint64_t size = size_of(g);

#define PAGES_ARE(iova, length, n)                                           \
	do {                                                                 \
		assert_int_equal(reg_as(g, iova, length, n, 0), UNIC_ST_OK); \
		assert_int_equal(reg_as(g, iova, length, (n) + 1, 0),        \
				 UNIC_ST_INVALID);                           \
		assert_int_equal(reg_as(g, iova, length, (n)-1, 0),          \
				 UNIC_ST_INVALID);                           \
	} while (0)
		PAGES_ARE(BASE, 1, 1);
		PAGES_ARE(BASE, size, 1);
		PAGES_ARE(BASE, size + 1, 2);
		PAGES_ARE(BASE + 1, size, 2);
		PAGES_ARE(BASE + 1, size - 1, 1);
		PAGES_ARE(BASE + size - 1, 1, 1);
		PAGES_ARE(BASE + size - 1, 2, 2);
		PAGES_ARE(BASE + size - 1, size + 1, 2);
		PAGES_ARE(BASE + size - 1, size + 2, 3);
		/* to the end of the address space */
		PAGES_ARE(0 - size, size, 1);
		PAGES_ARE(0 - size - 1, size + 1, 2);
#undef PAGES_ARE
		assert_int_equal(reg_as(g, size - 1, 2, 2, UNIC_REG_ZERO_BASED),
				 UNIC_ST_OK);
		assert_int_equal(reg_as(g, size, 1, 1, UNIC_REG_ZERO_BASED),
				 UNIC_ST_INVALID);
	}
}

/* Each page must be aligned to its size. */
static void pages_are_aligned_to_their_size(void **state)
{
	uint32_t i, k, free = rb.nic.tlb.free;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		uint32_t bit;

		for (k = 0; k < PAGES; k++) {
			for (bit = 3; bit < shift_of[i]; bit++) {
				struct region g = region[i];
				struct unic_cmd_mr_reg cmd =
					reg_of(&g, UNIC_RESIDENT);

				g.bus[k] |= 1u << bit;
				assert_int_equal(reg_cmd(&cmd, &g),
						 UNIC_ST_BUS);
			}
		}
	}
	assert_int_equal(rb.nic.tlb.free, free);
}

/* Each page that is filled afterwards must be aligned to its size, too. */
static void filled_pages_are_aligned(void **state)
{
	struct unic_cmd_mr_fill fill = { .count = unic_to_le32(1) };
	struct unic_xlate p;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		struct region g = region[i];
		struct unic_cmd_mr_reg cmd = reg_of(&g, UNIC_RESIDENT);

		cmd.flags = 0;
		assert_int_equal(reg_cmd(&cmd, &g), UNIC_ST_OK);
		fill.mr = unic_to_le32(g.mr.mr);
		fill.gen = unic_to_le32(g.mr.gen);
		for (k = 0; k < PAGES; k++) {
			uint8_t *list = rb.port.bar + UNIC_BAR_LIST_OFF;
			uint64_t bad = g.bus[k] | size_of(&g) / 2;
			struct unic_cmd_mr_fill c = fill;

			c.first = unic_to_le32(k);
			memcpy(list + rb.cmd_tail % UNIC_CMD_ENTRIES *
					       UNIC_LIST_BYTES,
			       &bad, sizeof(bad));
			assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_FILL, &c,
						 NULL),
					 UNIC_ST_BUS);
			assert_int_equal(access_of(&g, 0, 1, &p), -UNIC_ESTAG);
			c = fill;
			c.first = unic_to_le32(k);
			memcpy(list + rb.cmd_tail % UNIC_CMD_ENTRIES *
					       UNIC_LIST_BYTES,
			       &g.bus[k], sizeof(bad));
			assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_FILL, &c,
						 NULL),
					 UNIC_ST_OK);
		}
		assert_int_equal(access_of(&g, g.length - 1, 1, &p), 0);
		assert_true(p.bus == bus_of(&g, g.length - 1));
		assert_int_equal(rig_dereg(&rb, &g.mr), 0);
	}
}

/* ------------------------------------------------------------------- access */

/* The piece at @off must have @want bytes, at the right bus address. */
static void reaches(const struct region *g, uint64_t off, uint32_t len,
		    uint64_t want)
{
	struct unic_xlate p;

	assert_int_equal(access_of(g, off, len, &p), 0);
	assert_int_equal(p.mr, g->mr.mr);
	assert_int_equal(p.len, want);
	assert_true(p.bus == bus_of(g, off));
	assert_int_equal(
		unic_xlate(&rb.nic.memory, p.mr, g->mr.iova + off, len, &p), 0);
	assert_true(p.bus == bus_of(g, off));
}

static void reaches_not(const struct region *g, uint64_t off, uint32_t len)
{
	struct unic_xlate p;

	assert_int_equal(access_of(g, off, len, &p), -UNIC_EBOUNDS);
}

/* Checks accesses at the edges of a region and of its pages. */
static void edges_of(const struct region *g)
{
	uint64_t size = size_of(g), end = g->length;

	reaches(g, 0, (uint32_t)end, HEAD);
	reaches(g, HEAD - 1, 2, 1);
	reaches(g, HEAD, (uint32_t)(end - HEAD), size);
	reaches(g, HEAD, (uint32_t)size, size);
	reaches(g, HEAD + 4096, 1, 1);
	reaches(g, HEAD + size - 1, TAIL + 1, 1);
	reaches(g, HEAD + size, TAIL, TAIL);
	reaches(g, end - 1, 1, 1);
	reaches_not(g, end - 1, 2);
	reaches_not(g, end, 1);
	reaches_not(g, 0, (uint32_t)end + 1);
	reaches_not(g, (uint64_t)-1, 1);
	reaches_not(g, (uint64_t)-1, 2);
	/* bytes of its pages outside the region */
	reaches_not(g, (uint64_t)-1 - (size - HEAD), 1);
	reaches_not(g, HEAD + 2 * size - 1, 1);
	reaches_not(g, HEAD + 2 * size, 1);
}

/* Each byte is found, whatever the size of the page that was used last, in this
 * region or another. */
static void each_byte_is_where_its_page_is(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < SIZES; i++)
		edges_of(&region[i]);
	for (k = 0; k < 2; k++)
		for (i = 0; i < SIZES; i++) {
			const struct region *g = &region[i];

			reaches(g, 0, 8, 8);
			reaches(&region[(i + 1) % SIZES], HEAD, 8, 8);
			reaches(g, g->length - 1, 1, 1);
			reaches_not(g, g->length, 1);
		}
	/* bytes of the largest region are not in the others */
	reaches(&region[2], region[1].length, 1, 1);
	reaches_not(&region[1], region[1].length, 1);
	reaches_not(&region[0], region[1].length - 1, 1);
}

/* The other regions are still accessible when one ends. */
static void one_size_goes(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		struct unic_xlate p;

		assert_int_equal(rig_dereg(&rb, &region[i].mr), 0);
		assert_in_range(-access_of(&region[i], 0, 1, &p),
				UNIC_ERELEASED, UNIC_ESTAG);
		for (k = i + 1; k < SIZES; k++)
			edges_of(&region[k]);
	}
}

/* New pages of a region must be aligned to its page size, too. */
static void other_pages_have_their_size(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		struct region *g = &region[i];
		uint64_t size = size_of(g), bus[PAGES];
		struct unic_cmd_mr_rereg cmd = {
			.mr = unic_to_le32(g->mr.mr),
			.gen = unic_to_le32(g->mr.gen),
			.what = UNIC_REREG_RANGE,
			.iova = unic_to_le64(BASE + 8 * size - HEAD),
			.length = unic_to_le64(HEAD + size + TAIL),
			.n_pages = unic_to_le32(PAGES),
		};
		uint32_t k;

		for (k = 0; k <= PAGES; k++) {
			struct unic_cmd_mr_rereg c = cmd;
			struct unic_xlate p;

			memcpy(bus, g->bus, sizeof(bus));
			if (k < PAGES)
				bus[k] |= i ? size / 2 : 8;
			memcpy(rb.port.bar + UNIC_BAR_LIST_OFF +
				       rb.cmd_tail % UNIC_CMD_ENTRIES *
					       UNIC_LIST_BYTES,
			       bus, sizeof(bus));
			assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c,
						 NULL),
					 k < PAGES ? UNIC_ST_BUS : UNIC_ST_OK);
			if (k == PAGES)
				g->mr.iova = BASE + 8 * size - HEAD;
			assert_int_equal(access_of(g, 0, 1, &p), 0);
		}
		edges_of(g);
		cmd.length = unic_to_le64(HEAD + size + 1 - 1);
		assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &cmd, NULL),
				 UNIC_ST_INVALID);
	}
}

/* ------------------------------------------------------------------- misses */

/* MR_FAULT with page @page of @g; @wrong: bits to set in its address. */
static uint8_t fault(const struct region *g, uint32_t page, uint64_t wrong)
{
	struct unic_cmd_mr_fault cmd = {
		.mr = unic_to_le32(g->mr.mr),
		.gen = unic_to_le32(g->mr.gen),
		.first = unic_to_le32(page),
		.count = unic_to_le32(1),
	};
	uint64_t bus = g->bus[page] | wrong;

	memcpy(rb.port.bar + UNIC_BAR_LIST_OFF +
		       rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       &bus, sizeof(bus));
	return rig_cmd(&rb, UNIC_CMD_MR_FAULT, &cmd, NULL);
}

static void register_as(struct region *g, uint32_t which, uint8_t residency)
{
	struct unic_cmd_mr_reg cmd;

	shape(g, which);
	cmd = reg_of(g, residency);
	if (residency == UNIC_TABLE) {
		cmd.list = unic_to_le64(RIG_LIST + 64ull * which);
		cmd.flags = UNIC_REG_HOST_TABLE;
	}
	assert_int_equal(reg_cmd(&cmd, g), 0);
}

static void missed(const struct region *g, uint64_t off, uint32_t page,
		   uint32_t count)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;

	assert_int_equal(access_of(g, off, 1, &p), -UNIC_EMISS);
	unic_fault_more(&rb.nic.memory, (uint16_t)g->mr.mr,
			g->mr.iova + off + 1 + (count - 1) * size_of(g));
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.mr), g->mr.mr);
	assert_int_equal(unic_from_le32(evt.first), page);
	assert_int_equal(unic_from_le32(evt.count), count);
}

/* A missing page is requested by its number, counted in its size; a page that
 * is present gives access to all of its bytes, and none of the next page. */
static void missing_pages_have_their_size(void **state)
{
	struct region all[SIZES];
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++)
		register_as(&all[i], i, UNIC_DEMAND);
	for (i = 0; i < SIZES; i++) {
		const struct region *g = &all[i];
		uint64_t size = size_of(g);

		missed(g, HEAD, 1, 1);
		if (g->shift > 12) {
			assert_int_equal(fault(g, 1, 4096), UNIC_ST_BUS);
			assert_int_equal(fault(g, 1, size / 2), UNIC_ST_BUS);
		}
		assert_int_equal(fault(g, 1, 0), UNIC_ST_OK);
		reaches(g, HEAD, (uint32_t)size, size);
		reaches(g, HEAD + size - 1, 1, 1);
		missed(g, HEAD + size, 2, 1);
		missed(g, HEAD - 1, 0, 1);
		assert_int_equal(fault(g, 2, 0), UNIC_ST_OK);
		assert_int_equal(fault(g, 0, 0), UNIC_ST_OK);
		edges_of(g);
	}
}

/* The pages behind a missing one, up to the page of the last byte, are
 * requested with it. */
static void pages_ahead_have_their_size(void **state)
{
	struct region g;
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		register_as(&g, i, UNIC_DEMAND);
		missed(&g, 0, 0, 2);
		assert_int_equal(rig_dereg(&rb, &g.mr), 0);
		register_as(&g, i, UNIC_DEMAND);
		missed(&g, HEAD - 1, 0, 3); /* three pages */
		assert_int_equal(rig_dereg(&rb, &g.mr), 0);
		register_as(&g, i, UNIC_DEMAND);
		missed(&g, HEAD + size_of(&g) - 1, 1, 2);
		assert_int_equal(rig_dereg(&rb, &g.mr), 0);
	}
}

/* The pages of a receive are requested before its message. */
static void pages_of_a_receive(uint32_t which, uint32_t off, uint32_t len,
			       uint32_t first, uint32_t count)
{
	struct unic_evt_miss evt;
	struct region g;

	register_as(&g, which, UNIC_DEMAND);
	assert_true(unic_fault_ahead(&rb.nic.memory, g.mr.stag, (uint16_t)qb.pd,
				     g.mr.iova + off, len));
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.first), first);
	assert_int_equal(unic_from_le32(evt.count), count);
	assert_int_equal(rig_dereg(&rb, &g.mr), 0);
}

static void pages_of_a_receive_have_their_size(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		uint32_t size = 1u << shift_of[i];

		pages_of_a_receive(i, HEAD - 1, size + 1, 0, 2);
		pages_of_a_receive(i, HEAD - 1, size + 2, 0, 3);
		pages_of_a_receive(i, HEAD - 1, 1, 0, 1);
		pages_of_a_receive(i, HEAD, size, 1, 1);
		pages_of_a_receive(i, HEAD + size - 1, 1, 1, 1);
		pages_of_a_receive(i, HEAD + size - 1, 2, 1, 2);
	}
}

/* An invalidated page is no longer accessible, nor is it cached as a window;
 * its neighbours stay accessible. */
static void invalidated_pages_have_their_size(void **state)
{
	struct unic_cmd_mr_pages cmd = { .first = unic_to_le32(1),
					 .count = unic_to_le32(1) };
	struct unic_xlate p;
	struct region g;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		uint64_t in = size_of(&region[i]) - 1;

		for (k = 0; k < 3; k++, in = k == 1 ? 0 : 4095) {
			register_as(&g, i, UNIC_DEMAND);
			assert_int_equal(fault(&g, 0, 0), UNIC_ST_OK);
			assert_int_equal(fault(&g, 1, 0), UNIC_ST_OK);
			assert_int_equal(fault(&g, 2, 0), UNIC_ST_OK);
			reaches(&g, HEAD + in, 1, 1);
			cmd.mr = unic_to_le32(g.mr.mr);
			cmd.gen = unic_to_le32(g.mr.gen);
			cmd.hdr = (struct unic_cmd_hdr){ 0 };
			assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_INVALIDATE,
						 &cmd, NULL),
					 UNIC_ST_OK);
			assert_int_equal(access_of(&g, HEAD + in, 1, &p),
					 -UNIC_EMISS);
			reaches(&g, HEAD - 1, 1, 1);
			reaches(&g, HEAD + size_of(&g), 1, 1);
			assert_int_equal(rig_dereg(&rb, &g.mr), 0);
		}
	}
}

/* Pages of a page table must be aligned as pages of a list. */
static void table_pages_have_their_size(void **state)
{
	unic_le64 *words = rig_words(&rb);
	struct unic_xlate p;
	struct region g;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		register_as(&g, i, UNIC_TABLE);
		for (k = 0; k < PAGES; k++) {
			g.bus[k] = UNIC_BUS_OFFSET(g.bus[k]);
			words[8 * i + k] = unic_to_le64(g.bus[k] | 1);
		}
		words[8 * i + 1] |= unic_to_le64(size_of(&g) / 2);
		assert_int_equal(access_of(&g, HEAD, 1, &p), -UNIC_ENOPAGE);
		words[8 * i + 1] = unic_to_le64(g.bus[1] | 1);
		edges_of(&g);
	}
}

/* ------------------------------------------------------------------- tokens */

static uint8_t token_of(const struct region *g, uint64_t off, uint32_t len,
			struct unic_cpl_token *cpl)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(g->mr.stag),
		.iova = unic_to_le64(g->mr.iova + off),
		.length = unic_to_le32(len),
	};

	return rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, cpl);
}

static void tokens_end_with_the_region(void **state)
{
	struct unic_cpl_token cpl;
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		const struct region *g = &region[i];

		assert_int_equal(token_of(g, g->length - 1, 1, &cpl), 0);
		assert_int_equal(token_of(g, 0, (uint32_t)g->length, &cpl), 0);
		assert_int_equal(token_of(g, g->length - 1, 2, &cpl),
				 UNIC_ST_BOUNDS);
		assert_int_equal(token_of(g, g->length, 1, &cpl),
				 UNIC_ST_BOUNDS);
		assert_int_equal(token_of(g, 0, (uint32_t)g->length + 1, &cpl),
				 UNIC_ST_BOUNDS);
		assert_int_equal(token_of(g, (uint64_t)-1, 2, &cpl),
				 UNIC_ST_BOUNDS);
	}
}

/* -------------------------------------------------------------------- forms */

static uint8_t alloc(uint8_t kind, uint8_t shift, uint32_t n,
		     struct rig_mr *out)
{
	struct unic_cmd_mr_alloc c = {
		.pd = unic_to_le32(qb.pd),
		.kind = kind,
		.page_shift = shift,
		.n = unic_to_le32(n),
	};
	struct unic_cpl_mr_reg cpl;
	uint8_t status = rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, &cpl);

	memset(out, 0, sizeof(*out));
	out->mr = unic_from_le32(cpl.mr);
	out->gen = unic_from_le32(cpl.gen);
	out->stag = unic_from_le32(cpl.stag);
	return status;
}

static struct unic_sge piece(const struct region *g, uint64_t off, uint32_t len)
{
	return (struct unic_sge){ .iova = unic_to_le64(g->mr.iova + off),
				  .len = unic_to_le32(len),
				  .lkey = unic_to_le32(g->mr.stag) };
}

static uint8_t make(struct rig_mr *mr, uint64_t iova, uint8_t rights,
		    const struct unic_sge *sge, uint32_t n)
{
	struct unic_cmd_mr_make c = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.iova = unic_to_le64(iova),
		.n = unic_to_le32(n),
		.rights = rights,
	};
	struct unic_cpl_mr_reg cpl;
	uint8_t status;

	memcpy(rb.port.bar + UNIC_BAR_LIST_OFF +
		       rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       sge, n * sizeof(*sge));
	status = rig_cmd(&rb, UNIC_CMD_MR_MAKE, &c, &cpl);
	if (status)
		return status;
	mr->stag = unic_from_le32(cpl.stag);
	mr->iova = iova;
	return 0;
}

static int access_form(const struct rig_mr *mr, uint64_t off, uint32_t len,
		       struct unic_xlate *p)
{
	return unic_access(&rb.nic.memory, mr->stag, (uint16_t)qb.pd,
			   UNIC_MR_REMOTE_WRITE, mr->iova + off, len, p);
}

/* Byte @off of derived region @mr must be byte @of of @g, with the cached
 * window of unic_access() and without it. */
static void is_byte(const struct rig_mr *mr, uint64_t off,
		    const struct region *g, uint64_t of)
{
	struct unic_xlate p;

	assert_int_equal(access_form(mr, off, 1, &p), 0);
	assert_true(p.bus == bus_of(g, of));
	assert_int_equal(unic_xlate(&rb.nic.memory, (uint16_t)mr->mr,
				    mr->iova + off, 1, &p),
			 0);
	assert_true(p.bus == bus_of(g, of));
}

/* @mr must be bytes @of to @of + @len of @g, and no others. */
static void is_range(const struct rig_mr *mr, const struct region *g,
		     uint64_t of, uint32_t len)
{
	uint64_t off, size = size_of(g);
	struct unic_xlate p;

	is_byte(mr, 0, g, of);
	is_byte(mr, len - 1, g, of + len - 1);
	for (off = 0; off < len; off += size < 4096 ? size : 4096)
		is_byte(mr, off, g, of + off);
	assert_int_equal(access_form(mr, len, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_form(mr, len - 1, 2, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_form(mr, (uint64_t)-1, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_form(mr, 0, len + 1, &p), -UNIC_EBOUNDS);
}

/* A sub-region and a window use the entries of their region: their addresses
 * have the same offsets in its pages. */
static void forms_of_a_range(void **state)
{
	static const uint8_t kind[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW2 };
	struct unic_sge e;
	struct rig_mr m;
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		uint8_t rights = k ? UNIC_MR_REMOTE_WRITE : RW;

		for (i = 0; i < SIZES; i++) {
			const struct region *g = &region[i];
			uint64_t size = size_of(g), at = g->mr.iova;
			uint32_t len = (uint32_t)size + 2;

			assert_int_equal(alloc(kind[k], 0, 0, &m), 0);
			e = piece(g, HEAD - 1, len);
			at += HEAD - 1;
			assert_int_equal(make(&m, at + 1, rights, &e, 1),
					 UNIC_ST_ALIGN);
			if (g->shift > 12) {
				assert_int_equal(make(&m, at + 4096, rights, &e,
						      1),
						 UNIC_ST_ALIGN);
				assert_int_equal(make(&m, at + size / 2, rights,
						      &e, 1),
						 UNIC_ST_ALIGN);
			}
			e = piece(g, HEAD - 1, (uint32_t)g->length);
			assert_int_equal(make(&m, at, rights, &e, 1),
					 UNIC_ST_BOUNDS);
			e = piece(g, HEAD - 1, len);
			assert_int_equal(make(&m, at + 3 * size, rights, &e, 1),
					 0);
			is_range(&m, g, HEAD - 1, len);
			assert_int_equal(rig_dereg(&rb, &m), 0);
			assert_int_equal(alloc(kind[k], 0, 0, &m), 0);
			e = piece(g, HEAD, (uint32_t)size + 1);
			assert_int_equal(make(&m, at + 1, rights, &e, 1), 0);
			is_range(&m, g, HEAD, (uint32_t)size + 1);
			assert_int_equal(rig_dereg(&rb, &m), 0);
		}
	}
}

/* A window over @g, a region whose entries come and go, has its bytes; a page that is
 * dropped is missed through it, and no other one. */
static void is_cached_range(struct region *g, bool demand)
{
	struct unic_cmd_mr_pages cmd = { .mr = unic_to_le32(g->mr.mr),
					 .gen = unic_to_le32(g->mr.gen),
					 .first = unic_to_le32(1),
					 .count = unic_to_le32(1) };
	uint32_t len = (uint32_t)size_of(g) + 2;
	struct unic_sge e = piece(g, HEAD - 1, len);
	uint64_t at = g->mr.iova + HEAD - 1;
	struct unic_xlate p;
	struct rig_mr m;

	assert_int_equal(alloc(UNIC_FORM_WINDOW2, 0, 0, &m), 0);
	assert_int_equal(make(&m, at + size_of(g) / 2, UNIC_MR_REMOTE_WRITE, &e,
			      1),
			 UNIC_ST_ALIGN);
	assert_int_equal(
		make(&m, at + 5 * size_of(g), UNIC_MR_REMOTE_WRITE, &e, 1), 0);
	is_range(&m, g, HEAD - 1, len);
	is_byte(&m, size_of(g) / 2, g, HEAD - 1 + size_of(g) / 2);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_INVALIDATE, &cmd, NULL), 0);
	if (demand) {
		assert_int_equal(access_form(&m, size_of(g), 1, &p),
				 -UNIC_EMISS);
		is_byte(&m, 0, g, HEAD - 1);
		is_byte(&m, size_of(g) + 1, g, HEAD + size_of(g));
		assert_int_equal(access_form(&m, size_of(g) / 2, 1, &p),
				 -UNIC_EMISS);
	}
	assert_int_equal(rig_dereg(&rb, &m), 0);
	assert_int_equal(rig_dereg(&rb, &g->mr), 0);
}

static void windows_over_pages_that_come_and_go(void **state)
{
	unic_le64 *words = rig_words(&rb);
	struct region g;
	uint32_t i, k;

	(void)state;
	if (!UNIC_CACHED_WINDOWS)
		return;
	for (i = 0; i < SIZES; i++) {
		register_as(&g, i, UNIC_DEMAND);
		for (k = 0; k < PAGES; k++)
			assert_int_equal(fault(&g, k, 0), UNIC_ST_OK);
		is_cached_range(&g, true);
	}
	for (i = 0; UNIC_TABLE_READS && i < SIZES; i++) {
		register_as(&g, i, UNIC_TABLE);
		for (k = 0; k < PAGES; k++) {
			g.bus[k] = UNIC_BUS_OFFSET(g.bus[k]);
			words[8 * i + k] = unic_to_le64(g.bus[k] | 1);
		}
		is_cached_range(&g, false);
	}
}

static void fast_registration_has_three_sizes(void **state)
{
	struct rig_mr m;
	uint32_t shift;

	(void)state;
	for (shift = 0; shift < 256; shift++) {
		bool is_one = shift == 12 || shift == 16 || shift == 21;

		assert_int_equal(alloc(UNIC_FORM_FAST, (uint8_t)shift, 1, &m),
				 is_one ? UNIC_ST_OK : UNIC_ST_INVALID);
		if (is_one)
			assert_int_equal(rig_dereg(&rb, &m), 0);
	}
}

/* Pages of a fast registration may be parts of larger ones. */
static void fast_registration_of_larger_pages(void **state)
{
	uint32_t f, i;

	(void)state;
	for (f = 0; f < SIZES; f++) {
		for (i = f; i < SIZES; i++) {
			uint32_t size = 1u << shift_of[f], n = f < i ? 16 : 1;
			struct unic_sge e = piece(&region[i], HEAD, n * size);
			struct rig_mr m;

			assert_int_equal(
				alloc(UNIC_FORM_FAST, shift_of[f], n, &m), 0);
			assert_int_equal(make(&m, BASE + 7 * (uint64_t)size, RW,
					      &e, 1),
					 UNIC_ST_OK);
			is_range(&m, &region[i], HEAD, n * size);
			assert_int_equal(rig_dereg(&rb, &m), 0);
		}
	}
}

/* Pages of a fast registration may not be larger than those of the region, even
 * if all of them begin at a multiple of the larger size: bytes behind a page
 * belong to another owner. */
static void fast_registration_of_smaller_pages(void **state)
{
	uint32_t f, i;

	(void)state;
	for (i = 0; i < SIZES - 1; i++) {
		struct region g = region[i];
		struct unic_cmd_mr_reg cmd;

		g.mr.iova = 4 * BASE;
		g.length = PAGES * size_of(&g);
		cmd = reg_of(&g, UNIC_RESIDENT);
		assert_int_equal(reg_cmd(&cmd, &g), 0);
		for (f = i; f < SIZES; f++) {
			uint8_t status = f > i ? UNIC_ST_ALIGN : UNIC_ST_OK;
			struct unic_sge e = piece(&g, 0, 1);
			struct rig_mr m;

			assert_int_equal(alloc(UNIC_FORM_FAST, shift_of[f],
					       PAGES, &m),
					 0);
			if (f > i)
				assert_int_equal(make(&m, 0, RW, &e, 1),
						 UNIC_ST_ALIGN);
			e.len = unic_to_le32((uint32_t)g.length);
			assert_int_equal(make(&m, 0, RW, &e, 1), status);
			assert_int_equal(rig_dereg(&rb, &m), 0);
		}
	}
}

/* A fast registration may begin and end within a page. */
static void fast_registration_to_the_last_byte(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		const struct region *g = &region[i];
		uint32_t len = (uint32_t)g->length;
		struct unic_sge e = piece(g, 0, len);
		uint64_t at = BASE + 9 * size_of(g) - HEAD;
		struct rig_mr m;

		assert_int_equal(alloc(UNIC_FORM_FAST, g->shift, PAGES, &m), 0);
		assert_int_equal(make(&m, at + 1, RW, &e, 1), UNIC_ST_ALIGN);
		if (g->shift > 12)
			assert_int_equal(make(&m, at + 4096, RW, &e, 1),
					 UNIC_ST_ALIGN);
		e.len = unic_to_le32(len + 1);
		assert_int_equal(make(&m, at, RW, &e, 1), UNIC_ST_BOUNDS);
		e.len = unic_to_le32(len);
		assert_int_equal(make(&m, at, RW, &e, 1), UNIC_ST_OK);
		is_range(&m, g, 0, len);
		assert_int_equal(rig_dereg(&rb, &m), 0);
		assert_int_equal(alloc(UNIC_FORM_FAST, g->shift, PAGES - 1, &m),
				 0);
		assert_int_equal(make(&m, at, RW, &e, 1), UNIC_ST_TOO_LARGE);
		assert_int_equal(rig_dereg(&rb, &m), 0);
	}
}

/* A fast registration within a large page maps each of its bytes. */
static void fast_registration_from_the_midst(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i < SIZES; i++) {
		const struct region *g = &region[i];
		struct unic_sge e = piece(g, HEAD + 0x3456, 0x6789);
		struct rig_mr m;

		assert_int_equal(alloc(UNIC_FORM_FAST, g->shift, 1, &m), 0);
		assert_int_equal(make(&m, BASE + 0x3456, RW, &e, 1),
				 UNIC_ST_OK);
		is_range(&m, g, HEAD + 0x3456, 0x6789);
		assert_int_equal(rig_dereg(&rb, &m), 0);
	}
}

/* Where two runs meet, both end at the edge of a page of the derived region. */
static void runs_meet_at_edges(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i < SIZES; i++) {
		const struct region *g = &region[i];
		uint32_t size = (uint32_t)size_of(g), k;
		static const int32_t off[] = { 4096, -4096, 1, -1 };
		struct unic_sge e[2], good[2] = { piece(g, HEAD, size),
						  piece(g, HEAD, size) };
		struct rig_mr m;

		assert_int_equal(alloc(UNIC_FORM_FAST, g->shift, 4, &m), 0);
		for (k = 0; k < 4; k++) {
			if (off[k] < 0) { /* the first ends too early */
				memcpy(e, good, sizeof(e));
				e[0].len =
					unic_to_le32(size + (uint32_t)off[k]);
				assert_int_equal(make(&m, BASE, RW, e, 2),
						 UNIC_ST_ALIGN);
				continue;
			}
			memcpy(e, good, sizeof(e)); /* the second begins late */
			e[1] = piece(g, HEAD + (uint32_t)off[k],
				     size - (uint32_t)off[k]);
			assert_int_equal(make(&m, BASE, RW, e, 2),
					 UNIC_ST_ALIGN);
		}
		assert_int_equal(make(&m, BASE, RW, good, 2), UNIC_ST_OK);
		is_byte(&m, size, g, HEAD);
		assert_int_equal(rig_dereg(&rb, &m), 0);
	}
}

/* Runs of regions with pages of different sizes, side by side in one derived
 * region: its pages are the smallest of all. */
static void fast_registration_of_a_mixture(void **state)
{
	struct unic_sge e[SIZES];
	uint32_t i, f, at;
	struct rig_mr m;

	(void)state;
	for (f = 0; f < 2; f++) {
		uint32_t size = 1u << shift_of[f];

		for (i = f; i < SIZES; i++)
			e[i] = piece(&region[i], HEAD, size);
		assert_int_equal(alloc(UNIC_FORM_FAST, shift_of[f], 3, &m), 0);
		assert_int_equal(make(&m, 0, RW, &e[f], SIZES - f), 0);
		for (i = f, at = 0; i < SIZES; i++, at += size) {
			is_byte(&m, at, &region[i], HEAD);
			is_byte(&m, at + size - 1, &region[i], HEAD + size - 1);
		}
		assert_int_equal(rig_dereg(&rb, &m), 0);
		/* a piece of a region with smaller pages is refused */
		e[0] = piece(&region[2], HEAD, size);
		e[1] = piece(&region[f], HEAD, size);
		assert_int_equal(alloc(UNIC_FORM_FAST, shift_of[f + 1], 3, &m),
				 0);
		e[0].len = unic_to_le32(1u << shift_of[f + 1]);
		assert_int_equal(make(&m, 0, RW, e, 2), UNIC_ST_ALIGN);
		assert_int_equal(make(&m, 0, RW, e, 1), UNIC_ST_OK);
		assert_int_equal(rig_dereg(&rb, &m), 0);
	}
}

/* ---------------------------------------------------------- bytes that move */

/* Three pages of 64 KiB that are not neighbours, in window 1; a page of 2 MiB,
 * of which window 2 is the beginning. */
static struct region moved[2];

static uint8_t *byte_of(const struct region *g, uint64_t off)
{
	uint64_t bus = bus_of(g, off);

	return rb.port.window[bus >> 48] + (uint32_t)bus;
}

static void real_pages(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct unic_cmd_mr_reg cmd;

		shape(&moved[i], i + 1);
		if (!i) {
			moved[0].bus[0] = UNIC_BUS(1, 0x50000);
			moved[0].bus[1] = UNIC_BUS(1, 0x10000);
			moved[0].bus[2] = UNIC_BUS(1, 0x30000);
		} else {
			moved[1].bus[1] = UNIC_BUS(2, 0);
		}
		cmd = reg_of(&moved[i], UNIC_RESIDENT);
		assert_int_equal(reg_cmd(&cmd, &moved[i]), 0);
	}
	memset(rb.port.window[1], 0xee, sizeof(rb.port.window[1]));
	memset(rb.port.window[2], 0xee, sizeof(rb.port.window[2]));
}

/* The first @len bytes of ma must be at @off of @g, and no other byte may have
 * changed. */
static void has_come(const struct region *g, uint64_t off, uint32_t len)
{
	uint32_t i, k, n = 0;

	for (i = 0; i < len; i++)
		assert_int_equal(*byte_of(g, off + i), ma.mem[i]);
	for (i = 0; i < len; i++)
		*byte_of(g, off + i) = 0xee;
	for (k = 1; k < 3; k++)
		for (i = 0; i < FAKE_WINDOW_BYTES; i++)
			n += rb.port.window[k][i] != 0xee;
	assert_int_equal(n, 0);
}

static void writes_and_reads(void **state)
{
	static const uint32_t len = 5000;
	const struct {
		uint32_t i;
		uint64_t off;
	} t[] = {
		{ 0, 0 },
		{ 0, HEAD },
		{ 0, HEAD + 65536 - len },
		{ 0, HEAD + 65536 - len + 10 },
		{ 0, 65536 + HEAD + TAIL - len },
		{ 1, HEAD },
		{ 1, HEAD + 65536 - 1000 },
		{ 1, HEAD + 4096 * 127 - 1000 },
	};
	uint32_t i;

	(void)state;
	real_pages();
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct region *g = &moved[t[i].i];
		uint64_t off = t[i].off;
		uint32_t k;

		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, len,
			 g->mr.iova + off, g->mr.stag);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, len);
		for (k = 0; k < len; k++)
			ma.mem[8192 + k] = 0;
		rig_send(&ra, &qa, UNIC_WR_READ, i, &ma, 8192, len,
			 g->mr.iova + off, g->mr.stag);
		pair_run(MS);
		pair_expect(&ra, &qa, i, 0, len);
		assert_memory_equal(ma.mem + 8192, ma.mem, len);
		has_come(g, off, len);
	}
	rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, len,
		 moved[0].mr.iova + moved[0].length - len + 1,
		 moved[0].mr.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, i, UNIC_WC_REM_ACCESS_ERR, 0);
	pair_quiet();
}

/* An offset of moved[0] at which @len bytes cross a page boundary. */
static uint64_t off_of(uint32_t i, uint32_t len)
{
	uint64_t end = moved[0].length - len;

	return i == 0 ? 0 : end - (i == 1 ? TAIL / 2 : 0);
}

/* SENDs from and into pages of 64 KiB, over page boundaries. */
static void sends(void **state)
{
	static const uint32_t len = 3000;
	struct rig_mr *to = &moved[0].mr;
	uint32_t i;

	(void)state;
	real_pages();
	for (i = 0; i < 3; i++) {
		uint64_t off = off_of(i, len);

		rig_recv(&rb, &qb, 7, to, (uint32_t)off, len);
		rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, len, 0, 0);
		pair_run(MS);
		pair_expect(&ra, &qa, 1, 0, len);
		pair_expect(&rb, &qb, 7, 0, len);
		rig_recv(&ra, &qa, 8, &ma, 8192, len);
		rig_send(&rb, &qb, UNIC_WR_SEND, 2, to, (uint32_t)off, len, 0,
			 0);
		pair_run(MS);
		pair_expect(&rb, &qb, 2, 0, len);
		pair_expect(&ra, &qa, 8, 0, len);
		assert_memory_equal(ma.mem + 8192, ma.mem, len);
		has_come(&moved[0], off, len);
	}
	pair_quiet();
}

/* The payload of a token crosses the end of a page. */
static void tagged_messages(void **state)
{
	static const uint32_t len = 3000;
	struct unic_cpl_token cpl;
	uint32_t i;

	(void)state;
	real_pages();
	for (i = 0; i < 3; i++) {
		uint64_t off = off_of(i, len);

		assert_int_equal(token_of(&moved[0], off, len, &cpl), 0);
		rig_recv(&rb, &qb, 7, &mb, 0, 64);
		rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, len,
			 unic_from_le64(cpl.key), unic_from_le32(cpl.index));
		pair_run(MS);
		pair_expect(&ra, &qa, 1, 0, len);
		pair_expect(&rb, &qb, 7, 0, 0);
		has_come(&moved[0], off, len);
	}
	pair_quiet();
}

/* A peer writes to an indirect region of pieces with all page sizes. */
static void list_of_a_mixture(void **state)
{
	struct unic_sge e[3];
	struct rig_mr m;
	uint32_t i;

	(void)state;
	real_pages();
	e[0] = piece(&moved[0], HEAD + 65536 - 700, 700 + TAIL);
	e[1] = piece(&moved[1], HEAD + 65536 - 100, 1000);
	e[2] = (struct unic_sge){ .iova = unic_to_le64(mb.iova + 4000),
				  .len = unic_to_le32(500),
				  .lkey = unic_to_le32(mb.stag) };
	assert_int_equal(alloc(UNIC_FORM_INDIRECT, 0, 3, &m), 0);
	assert_int_equal(make(&m, 0x1003, RW, e, 3), 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 750 + 1000 + 500, 0x1003,
		 m.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, 0, 2250);
	for (i = 0; i < 750; i++)
		assert_int_equal(*byte_of(&moved[0], HEAD + 65536 - 700 + i),
				 ma.mem[i]);
	for (i = 0; i < 1000; i++)
		assert_int_equal(*byte_of(&moved[1], HEAD + 65536 - 100 + i),
				 ma.mem[750 + i]);
	assert_memory_equal(mb.mem + 4000, ma.mem + 1750, 500);
	assert_int_equal(*byte_of(&moved[0], HEAD + 65536 - 701), 0xee);
	assert_int_equal(*byte_of(&moved[1], HEAD + 65536 + 900), 0xee);
	pair_quiet();
}

#define TEST(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_follow_from_the_range),
		TEST(pages_are_aligned_to_their_size),
		TEST(filled_pages_are_aligned),
		TEST(each_byte_is_where_its_page_is),
		TEST(one_size_goes),
		TEST(other_pages_have_their_size),
		TEST(missing_pages_have_their_size),
		TEST(pages_ahead_have_their_size),
		TEST(pages_of_a_receive_have_their_size),
		TEST(invalidated_pages_have_their_size),
		TEST(table_pages_have_their_size),
		TEST(tokens_end_with_the_region),
		TEST(forms_of_a_range),
		TEST(windows_over_pages_that_come_and_go),
		TEST(fast_registration_has_three_sizes),
		TEST(fast_registration_of_larger_pages),
		TEST(fast_registration_of_smaller_pages),
		TEST(fast_registration_to_the_last_byte),
		TEST(fast_registration_from_the_midst),
		TEST(runs_meet_at_edges),
		TEST(fast_registration_of_a_mixture),
		TEST(writes_and_reads),
		TEST(sends),
		TEST(tagged_messages),
		TEST(list_of_a_mixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
