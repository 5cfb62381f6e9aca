/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * answers.h - the other modules, as the mailbox sees them: they may answer
 * anything, and read all that they are given.
 */
#ifndef PROOFS_ANSWERS_H
#define PROOFS_ANSWERS_H

static volatile uint8_t seen;

static int answer(const void *arg, size_t bytes)
{
	seen = ((const uint8_t *)arg)[0];
	seen = ((const uint8_t *)arg)[bytes - 1];
	return Frama_C_interval(-64, 65535);
}

int unic_proc_attach(struct unic_nic *n, const struct unic_cmd_proc_attach *c)
{
	(void)n;
	return answer(c, sizeof(*c));
}

int unic_proc_set(struct unic_nic *n, const struct unic_cmd_proc_set *c)
{
	(void)n;
	return answer(c, sizeof(*c));
}

int unic_cq_create(struct unic_nic *n, const struct unic_cmd_cq_create *c)
{
	(void)n;
	return answer(c, sizeof(*c));
}

int unic_qp_create(struct unic_nic *n, const struct unic_cmd_qp_create *c)
{
	(void)n;
	return answer(c, sizeof(*c));
}

int unic_qp_modify(struct unic_nic *n, const struct unic_cmd_qp_modify *c)
{
	(void)n;
	return answer(c, sizeof(*c));
}

int unic_mr_fill(struct unic_nic *n, uint32_t mr, uint32_t gen, uint32_t first,
		 uint32_t count, const uint64_t *pages)
{
	(void)n, (void)mr, (void)gen, (void)first;
	return answer(pages, count * sizeof(*pages));
}

int unic_mr_reg(struct unic_nic *n, const struct unic_mr_args *a,
		const uint64_t *pages, struct unic_mr_result *out)
{
	(void)n;
	if (pages && a->n_pages)
		answer(pages, a->n_pages * sizeof(*pages));
	out->mr = any32();
	out->gen = any32();
	out->stag = any32();
	out->wait = any32();
	return answer(a, sizeof(*a));
}

int unic_mad_send(struct unic_nic *n, const struct unic_cmd_mad_send *c,
		  const uint8_t data[UNIC_MAD_BYTES])
{
	(void)n;
	answer(data, UNIC_MAD_BYTES);
	return answer(c, sizeof(*c));
}

int unic_dump(struct unic_nic *n, uint32_t table, uint32_t first, uint8_t *list,
	      uint32_t *next)
{
	(void)n, (void)table, (void)first;
	list[UNIC_LIST_BYTES - 1] = any8();
	*next = any32();
	return answer(list, UNIC_LIST_BYTES);
}

uint8_t unic_err_status(int err)
{
	(void)err;
	return any8();
}

bool unic_proc_live(const struct unic_nic *n, uint32_t proc)
{
	(void)n, (void)proc;
	return below(2);
}

void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
{
	(void)port, (void)file, (void)line;
	exit(1);
}

#endif /* PROOFS_ANSWERS_H */
