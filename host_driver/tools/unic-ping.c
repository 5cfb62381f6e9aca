/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-ping - is a peer there, and how long does an RDMA READ or WRITE to it take? The
 * NIC of the peer answers; its program (unic-ping serve) only lends memory.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "durations.h"
#include "error.h"
#include "given.h"
#include "lent_page.h"
#include "number.h"
#include "output.h"
#include "socket_option.h"
#include "unic.h"

#define SERVICE 0x756e69632d706e67ull /* "unic-png" */
#define QPS	16u		      /* slots of each queue */

struct ping {
	const char *socket, *peer;
	uint32_t count, interval_ms, bytes;
	bool write, quiet, json;
	struct given given;
	struct lent_page page;
	struct durations took; /* the answers */
	uint32_t sent;
};

static volatile sig_atomic_t stop;

static void ping_on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void nap_ms(uint32_t ms)
{
	struct timespec nap = { .tv_sec = ms / 1000,
				.tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

static int ask_all(struct ping *p, struct unic_qp *qp,
		   const struct lent_offer *offer)
{
	struct unic_send_wr wr;
	struct unic_sg sg;
	uint64_t ns = 0;
	int err = lent_page_request(&p->page, offer,
				    p->write ? UNIC_WR_WRITE : UNIC_WR_READ,
				    p->bytes, &sg, &wr);

	while (!err && !stop && p->sent < p->count) {
		if (p->sent)
			nap_ms(p->interval_ms);
		p->sent++;
		err = lent_page_ask(&p->page, qp, &wr, &ns);
		if (err)
			break;
		durations_add(&p->took, ns);
		if (!p->quiet && !p->json)
			printf("%u %s %s %s: seq %u, %.1f us\n", p->bytes,
			       number_word(p->bytes, "byte", "bytes"),
			       p->write ? "to" : "of", p->peer, p->sent,
			       (double)ns / 1e3);
		fflush(stdout);
	}
	return err;
}

static void sum_up(struct ping *p)
{
	const char *format = p->json ? "\"min_us\":%.3f,\"mean_us\":%.3f,\"p50_"
				       "us\":%.3f,"
				       "\"p99_us\":%.3f,\"max_us\":%.3f}\n"
				     : "  min %.1f, mean %.1f, 50%% %.1f, 99%% "
				       "%.1f, "
				       "max %.1f us\n";
	const struct durations *d = &p->took;

	durations_sort(&p->took);
	if (p->json)
		printf("{\"peer\":\"%s\",\"operation\":\"%s\",\"bytes\":%u,"
		       "\"sent\":%u,\"answered\":%u,",
		       p->peer, p->write ? "WRITE" : "READ", p->bytes, p->sent,
		       d->n);
	else
		printf("%s: %s of %u %s: %u sent, %u answered\n", p->peer,
		       p->write ? "WRITE" : "READ", p->bytes,
		       number_word(p->bytes, "byte", "bytes"), p->sent, d->n);
	printf(format, durations_at_most_us(d, 0), durations_mean_us(d),
	       durations_at_most_us(d, 500), durations_at_most_us(d, 990),
	       durations_at_most_us(d, 1000));
}

static int ping_peer(struct ping *p)
{
	struct unic_qp *qp = NULL;
	struct lent_offer offer = { 0 };
	int err = lent_page_open(&p->page, p->socket, p->bytes,
				 UNIC_MR_LOCAL_WRITE);

	if (!err)
		err = lent_page_connect(&p->page, p->peer, &qp, &offer);
	if (!err)
		err = durations_init(&p->took, p->count);
	if (err)
		return err;
	err = ask_all(p, qp, &offer);
	sum_up(p);
	if (!err) /* else the words for @err would be lost */
		unic_disconnect(qp);
	durations_fini(&p->took);
	return err;
}

/* --------------------------------------------------------------------- main */

static const struct argp_option options[] = {
	SOCKET_OPTION,
	{ "count", 'c', "N", 0, "End after N requests (default: 10)", 0 },
	{ "interval", 'i', "MS", 0, "Between two requests (default: 1000)", 0 },
	{ "bytes", 'b', "BYTES", 0, "Of each request, up to 64K (default: 64)",
	  0 },
	{ "write", 'w', NULL, 0, "WRITE instead of READ", 0 },
	{ "quiet", 'q', NULL, 0, "Print the sum only", 0 },
	{ "json", 'j', NULL, 0, "Print the sum as JSON, for programs", 0 },
	{ 0 }
};

static error_t parse_ping_option(int key, char *arg, struct argp_state *state)
{
	struct ping *p = state->input;
	uint32_t ipv4;

	given_note(state, &p->given, key, (char)key);
	switch (key) {
	case 's':
		p->socket = arg;
		return 0;
	case 'c':
		p->count = (uint32_t)number_need(state, arg, 1, 1000000);
		return 0;
	case 'i':
		p->interval_ms = (uint32_t)number_need(state, arg, 0, 3600000);
		return 0;
	case 'b':
		p->bytes = (uint32_t)number_need(state, arg, 1, LENT_BYTES);
		return 0;
	case 'w':
		p->write = true;
		return 0;
	case 'q':
		p->quiet = true;
		return 0;
	case 'j':
		p->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (p->peer)
			argp_error(state, "one peer, or serve");
		if (strcmp(arg, "serve") != 0 && unic_parse_ipv4(arg, &ipv4))
			argp_error(state, "%s", unic_last_error());
		p->peer = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!strcmp(p->peer, "serve"))
			given_check(state, &p->given, options, "serve", "sq");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse_ping_option,
					  "PEER\nserve",
					  "Measure RDMA READs from a peer, on "
					  "which `unic-ping serve' "
					  "runs.",
					  NULL,
					  NULL,
					  NULL };
	static struct ping p = { .count = 10,
				 .interval_ms = 1000,
				 .bytes = 64,
				 .page = { .program = "unic-ping",
					   .service = SERVICE,
					   .slots = QPS } };
	struct sigaction sa = { .sa_handler = ping_on_signal };
	int err;

	output_watch();
	argp_parse(&argp, argc, argv, 0, NULL, &p);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	p.page.quiet = p.quiet;
	err = strcmp(p.peer, "serve")
		      ? ping_peer(&p)
		      : lent_page_serve(&p.page, p.socket, &stop);
	if (err)
		fprintf(stderr, "unic-ping: %s\n", unic_last_error());
	lent_page_close(&p.page);
	return err != 0;
}
