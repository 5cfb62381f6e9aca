/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * answers.h - stubs of the modules that the commands call: each reads both ends
 * of its arguments and returns any result.
 */
#ifndef PROOFS_ANSWERS_H
#define PROOFS_ANSWERS_H

static volatile uint8_t seen;

static int any_answer(const void *arg, size_t bytes)
{
	seen = ((const uint8_t *)arg)[0];
	seen = ((const uint8_t *)arg)[bytes - 1];
	return Frama_C_interval(-64, 65535);
}

int unic_proc_attach(struct unic_command *n,
		     const struct unic_cmd_proc_attach *c)
{
	(void)n;
	return any_answer(c, sizeof(*c));
}

int unic_proc_set(struct unic_command *n, const struct unic_cmd_proc_set *c)
{
	(void)n;
	return any_answer(c, sizeof(*c));
}

int unic_cq_create(struct unic_transport *n, const struct unic_cmd_cq_create *c)
{
	(void)n;
	return any_answer(c, sizeof(*c));
}

int unic_qp_create(struct unic_transport *n, const struct unic_cmd_qp_create *c)
{
	(void)n;
	return any_answer(c, sizeof(*c));
}

int unic_qp_modify(struct unic_transport *n, const struct unic_cmd_qp_modify *c)
{
	(void)n;
	return any_answer(c, sizeof(*c));
}

int unic_mr_fill(struct unic_memory *n, uint32_t mr, uint32_t gen,
		 uint32_t first, uint32_t count, const uint64_t *pages)
{
	(void)n, (void)mr, (void)gen, (void)first;
	return any_answer(pages, count * sizeof(*pages));
}

/* -UNIC_ENOPD before any other error if no process owns the domain, as in
 * check_args() of register.c. */
static int for_pd(const struct unic_memory *n, uint16_t pd, const void *arg,
		  size_t bytes)
{
	int err = any_answer(arg, bytes);

	if (pd >= UNIC_PDS || n->mrs.pd[pd].proc >= UNIC_PROCS)
		return -UNIC_ENOPD;
	return err;
}

static void any_result(struct unic_mr_result *out)
{
	out->mr = any32();
	out->gen = any32();
	out->stag = any32();
	out->wait = any32();
}

int unic_mr_reg(struct unic_revoke *n, const struct unic_mr_args *a,
		const uint64_t *pages, struct unic_mr_result *out)
{
	if (pages && a->n_pages)
		any_answer(pages, a->n_pages * sizeof(*pages));
	any_result(out);
	return for_pd(&n->memory, a->pd, a, sizeof(*a));
}

int unic_dma_mr_reg(struct unic_revoke *n, const struct unic_mr_args *a,
		    struct unic_mr_result *out)
{
	any_result(out);
	return for_pd(&n->memory, a->pd, a, sizeof(*a));
}

int unic_mr_restore(struct unic_revoke *n, const struct unic_mr_args *a,
		    uint32_t stag, const uint64_t *pages,
		    struct unic_mr_result *out)
{
	(void)stag;
	return unic_mr_reg(n, a, pages, out);
}

int unic_mr_rereg(struct unic_revoke *n, const struct unic_rereg *r)
{
	if (r->n_pages)
		any_answer(r->pages, r->n_pages * sizeof(*r->pages));
	if (r->mr >= UNIC_MRS)
		return -UNIC_ENOMR;
	return for_pd(&n->memory, n->mrs.mr[r->mr].pd, r, sizeof(*r));
}

int unic_mr_dereg(struct unic_revoke *n, uint32_t mr, uint32_t gen)
{
	(void)n, (void)mr, (void)gen;
	return any_answer(&mr, sizeof(mr));
}

bool unic_key_guard_held(struct unic_memory *n, uint32_t ipv4, uint32_t proc)
{
	(void)n, (void)ipv4, (void)proc;
	return below(2);
}

struct unic_mr_ctx *unic_mr_get(struct unic_memory *n, uint32_t mr,
				uint32_t gen)
{
	(void)gen;
	return mr < UNIC_MRS && below(2) ? &n->mrs.mr[mr] : NULL;
}

int unic_derived_alloc(struct unic_revoke *n,
		       const struct unic_derived_alloc *a,
		       struct unic_mr_result *out)
{
	any_result(out);
	return for_pd(&n->memory, a->pd, a, sizeof(*a));
}

int unic_derived_make(struct unic_memory *n, struct unic_derived_plan *plan)
{
	(void)n;
	if (plan->n)
		any_answer(plan->list, plan->n * sizeof(*plan->list));
	if (plan->n && plan->strides)
		any_answer(plan->strides, plan->n * sizeof(*plan->strides));
	return any_answer(plan, sizeof(*plan));
}

int unic_derived_close(struct unic_memory *n, uint32_t stag, uint16_t pd,
		       bool remote)
{
	(void)n, (void)pd, (void)remote;
	return any_answer(&stag, sizeof(stag));
}

bool unic_derived_unmake(struct unic_memory *n, uint32_t stag)
{
	(void)n, (void)stag;
	return below(2);
}

int unic_token_alloc(struct unic_memory *n, const struct unic_token_args *a,
		     uint64_t *key)
{
	(void)n;
	if (a->n_pieces)
		any_answer(a->pieces, 2 * a->n_pieces * sizeof(*a->pieces));
	*key = any64();
	return any_answer(a, sizeof(*a));
}

int unic_token_cancel(struct unic_memory *n, uint32_t proc, uint32_t index,
		      uint64_t key, bool wait, uint32_t *end, uint32_t *placed)
{
	(void)n, (void)proc, (void)index, (void)wait;
	*end = any32();
	*placed = any32();
	return any_answer(&key, sizeof(key));
}

/* -UNIC_ENOMR if there is no such region, as in fault_answer.c. */
static int for_mr(uint32_t mr, const void *arg, size_t bytes, uint32_t *done)
{
	int err = any_answer(arg, bytes);

	*done = any32();
	return mr < UNIC_MRS ? err : -UNIC_ENOMR;
}

int unic_fault_refused(struct unic_memory *n, const struct unic_cmd_mr_fault *c,
		       const uint64_t *pages, uint32_t *done)
{
	(void)n;
	if (pages)
		any_answer(pages, UNIC_LIST_BYTES);
	return for_mr(unic_from_le32(c->mr), c, sizeof(*c), done);
}

int unic_fault_invalidate(struct unic_memory *n,
			  const struct unic_cmd_mr_pages *c, uint32_t *done)
{
	(void)n;
	return for_mr(unic_from_le32(c->mr), c, sizeof(*c), done);
}

int unic_fault_advise(struct unic_memory *n, const struct unic_cmd_mr_pages *c,
		      uint32_t *done)
{
	(void)n;
	return for_mr(unic_from_le32(c->mr), c, sizeof(*c), done);
}

void unic_reclaim_usage(struct unic_revoke *n, uint32_t proc,
			struct unic_cpl_usage *out)
{
	seen = (uint8_t)n->share.owner[proc].weight;
	out->used = unic_to_le32(any32());
	out->limit = unic_to_le32(any32());
	out->holding = unic_to_le32(any32());
	out->fair_share = unic_to_le32(any32());
	out->waiters = unic_to_le32(any32());
	out->borrowed = unic_to_le32(any32());
}

int unic_mad_send(struct unic_transport *n, const struct unic_cmd_mad_send *c,
		  const uint8_t data[UNIC_MAD_BYTES])
{
	(void)n;
	any_answer(data, UNIC_MAD_BYTES);
	return any_answer(c, sizeof(*c));
}

int unic_dump(struct unic_command *n, const struct unic_cmd_dump *cmd,
	      uint8_t *list, struct unic_cpl_dump *cpl)
{
	(void)n, (void)cmd;
	list[UNIC_LIST_BYTES - 1] = any8();
	cpl->next = unic_to_le32(any32());
	return any_answer(list, UNIC_LIST_BYTES);
}

uint8_t unic_err_status(int err)
{
	(void)err;
	return any8();
}

bool unic_slot_live(const struct unic_base *n, uint32_t proc)
{
	(void)n;
	return proc < UNIC_PROCS && below(2);
}

void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
{
	(void)port, (void)file, (void)line;
	exit(1);
}

#endif /* PROOFS_ANSWERS_H */
