/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * derived_rig.h - the set-up of the tests of derived regions (sub-regions,
 * windows, fast and indirect registrations): NIC @rb makes them over three
 * regions, NIC @ra reads and writes through them over a connection.
 */
#ifndef DERIVED_RIG_H
#define DERIVED_RIG_H

#include "pair.h"

/*
 * Bytes of a page, ns of a ms, and rights of regions. Windows and other derived
 * regions may be made of a region with RWB.
 */
#define PAGE 4096u
#define MS   1000000ull
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define RWB  (RW | UNIC_MR_MW_BIND)

/* What windows may grant. */
#define REMOTE (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)

/* The domains of @ra and @rb. */
extern uint32_t form_pa, form_pb;

/* Regions of @rb, three pages each, of zeros, with rights RWB. */
extern struct rig_mr form_mb[3];

/* Gives region @mr the rights @rights, in place. Returns the status. */
uint8_t form_rights_of(struct rig *r, const struct rig_mr *mr, uint8_t rights);

/*
 * Set-up of a test: two connected NICs, with a region of four pages, @ma, of
 * known bytes on @ra, and form_mb on @rb.
 */
int form_up(void **state);

/*
 * MR_ALLOC of @rb in domain @pd: a derived region of @kind for @n elements or
 * pages. Returns the status.
 */
uint8_t form_alloc_in(uint32_t pd, uint8_t kind, uint32_t n,
		      struct rig_mr *out);

/* MR_ALLOC in the domain of @rb. Returns the status. */
uint8_t form_alloc(uint8_t kind, uint32_t n, struct rig_mr *out);

/* MR_ALLOC in the domain of @rb, which must succeed. */
void form_alloc_ok(uint8_t kind, uint32_t n, struct rig_mr *out);

/* An element of @len bytes of region @mr, from @off on. */
struct unic_sge form_piece(const struct rig_mr *mr, uint64_t off, uint32_t len);

/*
 * The elements of a derived region, and how often they repeat; @stride: bytes
 * between them, or NULL.
 */
struct form_plan {
	struct unic_sge sge[UNIC_FORM_ELEMENTS + 1];
	uint32_t n, repeat;
	const uint32_t *stride;
	uint64_t iova;
	uint8_t rights, key;
};

/* MR_MAKE of @mr by plan @p, which sets the STag of @mr. Returns the status. */
uint8_t form_make(struct rig_mr *mr, const struct form_plan *p);

/*
 * MR_MAKE of @mr of one piece of region @of, under the address of that piece.
 * Returns the status.
 */
uint8_t form_make_one(struct rig_mr *mr, const struct rig_mr *of, uint64_t off,
		      uint32_t len, uint8_t rights, uint8_t key);

/* MR_INVAL of @mr. Returns the status. */
uint8_t form_inval(const struct rig_mr *mr);

/*
 * The access check of @rb for @len bytes at @off of @mr. Returns its result;
 * @out: the pieces.
 */
int form_access_b(const struct rig_mr *mr, uint32_t need, uint64_t off,
		  uint32_t len, struct unic_xlate *out);

/* The bytes of @mr, found by its pieces, must be those that @expect returns. */
void form_assert_bytes(const struct rig_mr *mr, uint32_t len,
		       const uint8_t *(*expect)(uint32_t off));

/* The next completion of @q of @r. */
struct unic_cqe form_done(struct rig *r, struct rig_qp *q);

/* Posts @s, with its list @list or NULL, on @q of @r. Returns the completion. */
struct unic_cqe form_post(struct rig *r, struct rig_qp *q,
			  struct unic_sq_slot s, const void *list);

/*
 * A work request @opcode for @stag: key, rights, address and bytes of the derived
 * region.
 */
struct unic_sq_slot form_memop(uint8_t opcode, uint32_t stag, uint8_t key,
			       uint8_t rights, uint64_t iova, uint32_t bytes);

/*
 * Posts on @rb a work request @opcode that makes @mr of @n elements @list.
 * Returns the completion.
 */
struct unic_cqe form_post_make(uint8_t opcode, struct rig_mr *mr, uint8_t key,
			       uint8_t rights, uint64_t iova,
			       const struct unic_sge *list, uint32_t n);

/* Posts LOCAL_INV of @stag on @rb. Returns the completion. */
struct unic_cqe form_local_inv(uint32_t stag);

/*
 * A WRITE of @ra, of @len bytes to @off of @mr. Returns the status of its
 * completion.
 */
uint8_t form_write_to(const struct rig_mr *mr, uint64_t off, uint32_t len);

/* Connects the queue pairs again, after an error. */
void form_again(void);

/* The memory of byte @off of the region of form_make_three(). */
const uint8_t *form_three(uint32_t off);

/* The plan of a derived region over parts of all three of form_mb. */
void form_list_three(struct form_plan *p);

/* Makes a derived region over parts of all three of form_mb. */
void form_make_three(struct rig_mr *mr);

/*
 * Work request @s of @rb, with its list or NULL, must fail with @detail; then
 * connects again.
 */
void form_refused(struct unic_sq_slot s, const void *list, uint8_t detail);

/*
 * Registers *@of, a region of @residency (DEMAND or TABLE) with rights RWB over the pages of
 * form_mb[0]. A table has them all; the others come by form_serve() and form_bring().
 */
void form_reg_cached(uint8_t residency, struct rig_mr *of);

/* The first page of form_mb[0], as rig_fault() counts them. */
uint32_t form_first_page(void);

/* Binds @w, a new window of type 2 with rights REMOTE, to @len bytes of @of from @off on, by
 * work request. */
void form_bind(const struct rig_mr *of, uint64_t off, uint32_t len,
	       struct rig_mr *w);

/* The next event of @rb must be a miss of these pages of @of, which come. */
void form_serve(const struct rig_mr *of, uint32_t first, uint32_t count);

/* Pages of @of come before anybody asks; one of them goes. */
void form_bring(const struct rig_mr *of, uint32_t first, uint32_t count);
void form_drop_page(const struct rig_mr *of, uint32_t page);

/* A test with both NICs. */
#define TEST(f) cmocka_unit_test_setup(f, form_up)

#endif /* DERIVED_RIG_H */
