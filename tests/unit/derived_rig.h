/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * derived_rig.h - what the tests of derived regions (sub-regions, windows, fast
 * and indirect registrations) stand on: NIC @rb makes them over three regions,
 * NIC @ra reads and writes through them over a connection.
 */
#ifndef DERIVED_RIG_H
#define DERIVED_RIG_H

#include "pair.h"

/*
 * Bytes of a page, ns of a ms, and rights of regions: with RWB windows and
 * others may be made of one.
 */
#define PAGE 4096u
#define MS   1000000ull
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define RWB  (RW | UNIC_MR_MW_BIND)

/* The domains of @ra and @rb. */
extern uint32_t form_pa, form_pb;

/* Regions of @rb, three pages each, of zeros, with rights RWB. */
extern struct rig_mr form_mb[3];

/* Gives region @mr the rights @rights, in place. Returns the status. */
uint8_t form_rights_of(struct rig *r, const struct rig_mr *mr, uint8_t rights);

/*
 * Set-up of a test: two NICs, connected, with a region of four pages, @ma, of
 * known bytes on @ra, and form_mb on @rb.
 */
int form_up(void **state);

/*
 * MR_ALLOC of @rb in domain @pd: an object of @kind for @n elements or pages.
 * Returns the status.
 */
uint8_t form_alloc_in(uint32_t pd, uint8_t kind, uint32_t n,
		      struct rig_mr *out);

/* MR_ALLOC in the domain of @rb. Returns the status. */
uint8_t form_alloc(uint8_t kind, uint32_t n, struct rig_mr *out);

/* MR_ALLOC in the domain of @rb, which must be possible. */
void form_alloc_ok(uint8_t kind, uint32_t n, struct rig_mr *out);

/* @len bytes from @off on of region @mr, as an element. */
struct unic_sge form_piece(const struct rig_mr *mr, uint64_t off, uint32_t len);

/*
 * What an object shall be made of: elements, and how often; @stride, or NULL:
 * bytes between them.
 */
struct form_plan {
	struct unic_sge sge[UNIC_FORM_ELEMENTS + 1];
	uint32_t n, repeat;
	const uint32_t *stride;
	uint64_t iova;
	uint8_t rights, key;
};

/*
 * MR_MAKE of @mr as @p says. Returns the status; the STag of @mr is the new
 * one.
 */
uint8_t form_make(struct rig_mr *mr, const struct form_plan *p);

/*
 * MR_MAKE of @mr of one piece of region @of, under that piece's own address.
 * Returns the status.
 */
uint8_t form_make_one(struct rig_mr *mr, const struct rig_mr *of, uint64_t off,
		      uint32_t len, uint8_t rights, uint8_t key);

/* MR_INVAL of @mr. Returns the status. */
uint8_t form_inval(const struct rig_mr *mr);

/*
 * The access check of @rb for @len bytes at @off of @mr. Returns its verdict;
 * @out: the pieces.
 */
int form_access_b(const struct rig_mr *mr, uint32_t need, uint64_t off,
		  uint32_t len, struct unic_xlate *out);

/* The bytes of @mr, as its pieces say, are those that @expect says of each. */
void form_assert_bytes(const struct rig_mr *mr, uint32_t len,
		       const uint8_t *(*expect)(uint32_t off));

/* The next completion of @q of @r. */
struct unic_cqe form_done(struct rig *r, struct rig_qp *q);

/* Posts @s, with its list @list or NULL, on @q of @r; the completion. */
struct unic_cqe form_post(struct rig *r, struct rig_qp *q,
			  struct unic_sq_slot s, const void *list);

/*
 * A work request @opcode about @stag: key, rights, address and bytes of what
 * is made.
 */
struct unic_sq_slot form_memop(uint8_t opcode, uint32_t stag, uint8_t key,
			       uint8_t rights, uint64_t iova, uint32_t bytes);

/*
 * Posts on @rb that @mr is made by @opcode of @n elements @list; the
 * completion.
 */
struct unic_cqe form_post_make(uint8_t opcode, struct rig_mr *mr, uint8_t key,
			       uint8_t rights, uint64_t iova,
			       const struct unic_sge *list, uint32_t n);

/* Posts LOCAL_INV of @stag on @rb; the completion. */
struct unic_cqe form_local_inv(uint32_t stag);

/*
 * A WRITE of @ra, of @len bytes to @off of @mr. Returns the status of its
 * completion.
 */
uint8_t form_write_to(const struct rig_mr *mr, uint64_t off, uint32_t len);

/* Connects the queue pairs anew, after an error. */
void form_again(void);

/* Where byte @off is of an object that form_make_three() made. */
const uint8_t *form_three(uint32_t off);

/* The plan of an object over parts of all three of form_mb. */
void form_list_three(struct form_plan *p);

/* An object over parts of all three of form_mb. */
void form_make_three(struct rig_mr *mr);

/*
 * Work request @s of @rb, with its list or NULL, fails with @detail; the
 * connection is made anew.
 */
void form_refused(struct unic_sq_slot s, const void *list, uint8_t detail);

/* A test with both NICs. */
#define TEST(f) cmocka_unit_test_setup(f, form_up)

#endif /* DERIVED_RIG_H */
