/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lent_page.h - memory that a program lends to its peers, and the way there: what the tools
 * that measure (unic-ping, unic-perf) have in common.
 *
 * Secret: what the two programs tell each other when they connect.
 */
#ifndef UNIC_LENT_PAGE_H
#define UNIC_LENT_PAGE_H

#include <signal.h>
#include <stdbool.h>

#include "unic.h"

#define LENT_BYTES 65536u /* that a server lends */

/* Of a server, or of a client. The first four are the caller's to set. */
struct lent_page {
	const char *program;  /* its name, for lines */
	uint64_t service;     /* of the pair of programs */
	unsigned int slots;   /* of each queue of a queue pair */
	bool receives, quiet; /* server: also of messages; say less */
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_mr *mr;
	uint8_t *mem;
	unsigned int conns; /* of a server */
};

/* Where the lent memory of the peer is. */
struct lent_offer {
	uint64_t iova;
	uint32_t stag;
};

/** lent_page_open() - attach to the driver at @socket, with @bytes of memory for @rights
 * (UNIC_MR_*), which hold no entries of the table: nobody asks for them back. 0, or -errno
 * with words in unic_last_error(). lent_page_close() is due in any case. */
int lent_page_open(struct lent_page *p, const char *socket, uint32_t bytes,
		   unsigned int rights);
/** lent_page_close() - give all that back. */
void lent_page_close(struct lent_page *p);

/** lent_page_serve() - open @p and lend LENT_BYTES to whoever connects, until *@stop is not
 * 0. 0, or -errno with words. */
int lent_page_serve(struct lent_page *p, const char *socket,
		    const volatile sig_atomic_t *stop);

/** lent_page_connect() - connect @p, which is open, to the server at address @peer; *@qp is
 * the caller's. 0, or -errno with words; -EPROTO: the server is of another version. */
int lent_page_connect(struct lent_page *p, const char *peer,
		      struct unic_qp **qp, struct lent_offer *offer);

/** lent_page_request() - fill in *@wr and *@sg: a signaled request of @opcode (UNIC_WR_READ,
 * _WRITE, _SEND) for the first @bytes of @p and of what the peer lends. 0, or -ERANGE. */
int lent_page_request(const struct lent_page *p, const struct lent_offer *at,
		      unsigned int opcode, uint32_t bytes, struct unic_sg *sg,
		      struct unic_send_wr *wr);

/** lent_page_post() - post @n times @wr. 0, or -errno with words. */
int lent_page_post(struct unic_qp *qp, const struct unic_send_wr *wr,
		   unsigned int n);

/** lent_page_done() - wait for completions of @p. Returns how many came; -errno with words:
 * one failed, or none came within 30 s. */
int lent_page_done(struct lent_page *p);

/** lent_page_ask() - post @wr, wait for its completion, and say in *@ns how long that took.
 * 0, or -errno with words. No other request is under way. */
int lent_page_ask(struct lent_page *p, struct unic_qp *qp,
		  const struct unic_send_wr *wr, uint64_t *ns);

#endif /* UNIC_LENT_PAGE_H */
