/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * changes.c - regions that change while they are used: derived regions, pages
 * of residency DEMAND, and the commands of a driver for both.
 */
#include "world.h"

#define PAGED_FIRST 96u /* page of its process's window */
#define PAGED	    8u
#define FAST_PAGES  4u
#define PARTS	    4u

static struct unic_mr_ctx *now_of(const struct rig_mr *mr)
{
	return &world.rig.nic.mrs.mr[mr->mr];
}

uint32_t world_stag(const struct rig_mr *mr)
{
	return now_of(mr)->stag;
}

/* The list page of the next command. */
static void *list_page(void)
{
	return world.rig.port.bar + UNIC_BAR_LIST_OFF +
	       world.rig.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

/* ------------------------------------------------------------------ building */

static void build_form(struct rig *r, uint32_t i, uint8_t kind, uint32_t n)
{
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_alloc cmd = {
		.pd = unic_to_le32(world.pd[i == F_OTHER]),
		.kind = kind,
		.page_shift = kind == UNIC_FORM_FAST ? 12 : 0,
		.n = unic_to_le32(n),
	};

	must(rig_cmd(r, UNIC_CMD_MR_ALLOC, &cmd, &cpl) == UNIC_ST_OK);
	world.form[i] = (struct rig_mr){
		.mr = unic_from_le32(cpl.mr),
		.gen = unic_from_le32(cpl.gen),
		.stag = unic_from_le32(cpl.stag),
	};
}

/* Makes derived region @i: @n pieces of @mr of @bytes each, 600 bytes apart. */
static void build_made(struct rig *r, uint32_t i, const struct rig_mr *mr,
		       uint32_t n, uint32_t bytes)
{
	struct rig_mr *form = &world.form[i];
	struct unic_sge *sge = list_page();
	struct unic_cmd_mr_make cmd = {
		.mr = unic_to_le32(form->mr),
		.gen = unic_to_le32(form->gen),
		.iova = unic_to_le64(mr->iova),
		.n = unic_to_le32(n),
		.rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE |
			  (i == F_MADE ? UNIC_MR_LOCAL_WRITE : 0),
	};
	uint32_t k;

	for (k = 0; k < n; k++)
		sge[k] = (struct unic_sge){
			.iova = unic_to_le64(mr->iova + 600u * k),
			.len = unic_to_le32(bytes),
			.lkey = unic_to_le32(mr->stag),
		};
	must(rig_cmd(r, UNIC_CMD_MR_MAKE, &cmd, NULL) == UNIC_ST_OK);
	form->iova = mr->iova;
}

static void allow_windows(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr_rereg cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.what = UNIC_REREG_RIGHTS,
		.rights = UNIC_MR_RIGHTS_ALL,
	};

	must(rig_cmd(r, UNIC_CMD_MR_REREG, &cmd, NULL) == UNIC_ST_OK);
}

void world_build_changes(struct rig *r)
{
	uint32_t i;

	allow_windows(r, &world.mr[W_FOUR]);
	allow_windows(r, &world.mr[W_OTHER]);
	build_form(r, F_WINDOW, UNIC_FORM_WINDOW2, 0);
	build_form(r, F_FAST, UNIC_FORM_FAST, FAST_PAGES);
	build_form(r, F_PARTS, UNIC_FORM_INDIRECT, PARTS);
	build_form(r, F_BOUND, UNIC_FORM_WINDOW2, 0);
	build_form(r, F_MADE, UNIC_FORM_INDIRECT, PARTS);
	build_form(r, F_OTHER, UNIC_FORM_WINDOW2, 0);
	build_made(r, F_BOUND, &world.mr[W_FOUR], 1, 5000);
	build_made(r, F_MADE, &world.mr[W_FOUR], PARTS, 520);
	build_made(r, F_OTHER, &world.mr[W_OTHER], 1, 4096);
	for (i = 0; i < 2; i++)
		must(rig_reg_cached(r, world.pd[i], PAGED, UNIC_DEMAND, 0,
				    &world.paged[i]) == UNIC_ST_OK);
}

/* ------------------------------------------------------------- what changes */

/* Answers the fault in a random slot, or none that exists; rarely wrongly. */
static void serve(struct input *in)
{
	uint32_t i = in_below(in, UNIC_FAULTS), how = in_u8(in), k;
	const struct unic_page_fault *m = &world.rig.nic.faults.fault[i];
	const struct rig_mr *mr = &world.paged[how & 1];
	struct unic_cmd_mr_fault cmd = {
		.hdr = { .opcode = UNIC_CMD_MR_FAULT },
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.first = unic_to_le32(how >> 1 & 7),
		.count = unic_to_le32(1),
	};
	unic_le64 *list = list_page();

	if (m->state == UNIC_FAULT_SENT && how < 232) {
		mr = m->mr == world.paged[0].mr ? mr : &world.paged[1];
		cmd.mr = unic_to_le32(m->mr);
		cmd.gen = unic_to_le32(world.rig.nic.mrs.mr[m->mr].gen);
		cmd.first = unic_to_le32(m->first);
		cmd.count = unic_to_le32(how < 128 ? m->count : 1);
	}
	cmd.seq = unic_to_le32(
		world.rig.nic.cache.of[unic_from_le32(cmd.mr)].seq -
		(how >= 248));
	cmd.cannot = unic_to_le32(how >= 216 && how < 224);
	for (k = 0; k < UNIC_FAULT_AHEAD; k++)
		list[k] = unic_to_le64(
			UNIC_BUS(cmd.mr == unic_to_le32(world.paged[1].mr),
				 4096ull * (PAGED_FIRST +
					    unic_from_le32(cmd.first) + k)));
	world_cmd(&cmd);
}

static void take_pages(struct input *in)
{
	const struct rig_mr *mr = &world.paged[in_below(in, 2)];
	uint32_t how = in_u8(in);
	struct unic_cmd_mr_pages cmd = {
		.hdr = { .opcode = how & 1 ? UNIC_CMD_MR_ADVISE
					   : UNIC_CMD_MR_INVALIDATE },
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.first = unic_to_le32(how >> 2 & 7),
		.count = unic_to_le32(1 + (how >> 5 & 3)),
	};

	if (how & 1)
		cmd.advice = unic_to_le32(how & 2 ? UNIC_ADVISE_DONT_NEED
						  : UNIC_ADVISE_WILL_NEED);
	world_cmd(&cmd);
}

/* Deregisters, evicts or invalidates a derived region or a DEMAND region. */
static void end_one(struct input *in)
{
	uint32_t how = in_u8(in);
	const struct rig_mr *mr =
		how & 1 ? &world.paged[how >> 1 & 1]
			: &world.form[(how >> 1) % WORLD_FORMS];
	struct unic_cmd_mr cmd = {
		.hdr = { .opcode = how < 64   ? UNIC_CMD_MR_DEREG
				   : how < 96 ? UNIC_CMD_MR_EVICT
					      : UNIC_CMD_MR_INVAL },
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
	};

	world_cmd(&cmd);
}

void world_change(struct input *in)
{
	uint32_t kind = in_u8(in);

	if (kind < 160)
		serve(in);
	else if (kind < 224)
		take_pages(in);
	else
		end_one(in);
}

const struct rig_mr *world_changing(struct input *in)
{
	uint32_t how = in_u8(in);

	if (how < 64)
		return &world.paged[how & 1];
	return &world.form[how % WORLD_FORMS];
}
