/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-perf - latency, bandwidth and message rate between two hosts. The NIC of the peer
 * answers; its program (unic-perf serve) lends memory, and posts receives for SEND.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durations.h"
#include "error.h"
#include "given.h"
#include "lent_page.h"
#include "number.h"
#include "output.h"
#include "socket_option.h"
#include "unic.h"
#include "wait.h"

#define SERVICE	  0x756e69632d707266ull /* "unic-prf" */
#define SLOTS	  128u			/* of each queue */
#define DEPTH_MAX SLOTS
#define SIZES_MAX 16
#define COUNT_MAX 100000000u
#define WARM_UP	  16 /* requests that do not count */
#define BAR	  50 /* columns */

enum what {
	LATENCY,
	BANDWIDTH,
	RATE,
};

static const struct {
	const char *name;
	uint32_t bytes, count; /* unless the command line says otherwise */
} whats[] = {
	[LATENCY] = { "latency", 64, 1000 },
	[BANDWIDTH] = { "bandwidth", LENT_BYTES, 1000 },
	[RATE] = { "rate", 64, 10000 },
};

static const struct {
	const char *word, *name;
	unsigned int opcode;
} operations[] = {
	{ "write", "WRITE", UNIC_WR_WRITE },
	{ "read", "READ", UNIC_WR_READ },
	{ "send", "SEND", UNIC_WR_SEND },
};

struct perf {
	const char *socket, *command, *peer;
	enum what what;
	unsigned int operation; /* in operations[] */
	uint32_t bytes[SIZES_MAX], sizes;
	uint32_t count, depth;
	bool histogram, json;
	struct given given;
	struct lent_page page;
	struct unic_qp *qp;
	struct lent_offer offer;
};

static volatile sig_atomic_t stop;

static void perf_on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* ------------------------------------------------------------------- results */

/* What all results begin with, as members of an object. */
static void print_head(const struct perf *p, uint32_t bytes, uint32_t n)
{
	printf("{\"peer\":\"%s\",\"test\":\"%s\",\"operation\":\"%s\","
	       "\"bytes\":"
	       "%u,\"count\":%u,",
	       p->peer, whats[p->what].name, operations[p->operation].name,
	       bytes, n);
}

static uint64_t bucket_from_us(uint32_t i)
{
	return i ? UINT64_C(1) << (i - 1) : 0;
}

static void print_histogram_object(const struct durations *d)
{
	uint32_t bucket[DURATIONS_BUCKETS];
	uint32_t i, n = durations_histogram(d, bucket);

	printf(",\"histogram\":[");
	for (i = 0; i < n; i++)
		printf("%s{\"from_us\":%llu,\"count\":%u}", i ? "," : "",
		       (unsigned long long)bucket_from_us(i), bucket[i]);
	printf("]");
}

static void print_histogram(const struct durations *d)
{
	uint32_t bucket[DURATIONS_BUCKETS];
	uint32_t i, k, n = durations_histogram(d, bucket), most = 1;

	for (i = 0; i < n; i++)
		most = bucket[i] > most ? bucket[i] : most;
	for (i = 0; i < n; i++) {
		printf("  %10llu us  %10u%s",
		       (unsigned long long)bucket_from_us(i), bucket[i],
		       bucket[i] ? "  " : "");
		for (k = 0; k < (bucket[i] * (uint64_t)BAR + most - 1) / most;
		     k++)
			putchar('#');
		putchar('\n');
	}
}

static void print_latency(const struct perf *p, uint32_t bytes,
			  struct durations *d)
{
	const char *format = p->json ? "\"min_us\":%.3f,\"mean_us\":%.3f,\"p50_"
				       "us\":%.3f,"
				       "\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_"
				       "us\":%.3f"
				     : "min %.1f, mean %.1f, 50%% %.1f, 99%% "
				       "%.1f, 99.9%% "
				       "%.1f, max %.1f us\n";

	durations_sort(d);
	if (p->json)
		print_head(p, bytes, d->n);
	else
		printf("%s of %u %s, %u %s:\n  ", operations[p->operation].name,
		       bytes, number_word(bytes, "byte", "bytes"), d->n,
		       number_word(d->n, "time", "times"));
	printf(format, durations_at_most_us(d, 0), durations_mean_us(d),
	       durations_at_most_us(d, 500), durations_at_most_us(d, 990),
	       durations_at_most_us(d, 999), durations_at_most_us(d, 1000));
	if (p->json) {
		print_histogram_object(d);
		puts("}");
	} else if (p->histogram) {
		print_histogram(d);
	}
}

static void print_flow(const struct perf *p, uint32_t bytes, uint32_t n,
		       uint64_t ns)
{
	double s = (double)(ns ? ns : 1) / 1e9;
	double mib = (double)bytes * n / s / 1048576;

	if (p->json) {
		print_head(p, bytes, n);
		printf("\"depth\":%u,\"seconds\":%.6f,\"mib_per_s\":%.3f,"
		       "\"messages_per_s\":%.1f}\n",
		       p->depth, s, mib, n / s);
	} else {
		printf("%s of %u %s, %u %s, %u at a time: %.1f MiB/s, "
		       "%.0f messages/s\n",
		       operations[p->operation].name, bytes,
		       number_word(bytes, "byte", "bytes"), n,
		       number_word(n, "time", "times"), p->depth, mib, n / s);
	}
}

/* -------------------------------------------------------------- measurements */

static int run_latency(struct perf *p, uint32_t bytes,
		       const struct unic_send_wr *wr)
{
	struct durations took;
	uint64_t ns = 0;
	uint32_t i;
	int err = durations_init(&took, p->count);

	for (i = 0; !err && i < WARM_UP; i++)
		err = lent_page_ask(&p->page, p->qp, wr, &ns);
	while (!err && !stop && took.n < p->count) {
		err = lent_page_ask(&p->page, p->qp, wr, &ns);
		if (!err)
			durations_add(&took, ns);
	}
	if (!err)
		print_latency(p, bytes, &took);
	durations_fini(&took);
	return err;
}

/* Keep p->depth requests under way until @count are done. */
static int flow(struct perf *p, const struct unic_send_wr *wr, uint32_t count,
		uint32_t *done)
{
	uint32_t posted = 0, more;
	int n, err = 0;

	*done = 0;
	while (!err && *done < count && !(stop && *done == posted)) {
		more = p->depth - (posted - *done);
		if (more > count - posted)
			more = count - posted;
		if (stop)
			more = 0;
		err = lent_page_post(p->qp, wr, more);
		posted += more;
		n = err ? err : lent_page_done(&p->page);
		if (n < 0)
			err = n;
		else
			*done += (uint32_t)n;
	}
	return err;
}

static int run_flow(struct perf *p, uint32_t bytes,
		    const struct unic_send_wr *wr)
{
	uint64_t from;
	uint32_t done = 0;
	int err = flow(p, wr, WARM_UP, &done);

	from = unic_now_ns();
	if (!err)
		err = flow(p, wr, p->count, &done);
	if (!err)
		print_flow(p, bytes, done, unic_now_ns() - from);
	return err;
}

static int run_size(struct perf *p, uint32_t bytes)
{
	struct unic_send_wr wr;
	struct unic_sg sg;
	int err = lent_page_request(&p->page, &p->offer,
				    operations[p->operation].opcode, bytes, &sg,
				    &wr);

	if (!err)
		err = p->what == LATENCY ? run_latency(p, bytes, &wr)
					 : run_flow(p, bytes, &wr);
	fflush(stdout);
	return err;
}

static int measure(struct perf *p)
{
	uint32_t i;
	int err = lent_page_open(&p->page, p->socket, LENT_BYTES,
				 UNIC_MR_LOCAL_WRITE);

	if (!err)
		err = lent_page_connect(&p->page, p->peer, &p->qp, &p->offer);
	for (i = 0; i < p->sizes && !err && !stop; i++)
		err = run_size(p, p->bytes[i]);
	if (!err) /* else the words for @err would be lost */
		unic_disconnect(p->qp);
	return err;
}

/* --------------------------------------------------------------------- main */

static const char doc[] = "Measure what two hosts reach by RDMA over unic.\v"
			  "  unic-perf serve           be the peer, until "
			  "SIGTERM or SIGINT\n"
			  "  unic-perf latency PEER    one request at a time: "
			  "how long each takes\n"
			  "  unic-perf bandwidth PEER  many at a time: bytes "
			  "in a second\n"
			  "  unic-perf rate PEER       the same of small ones: "
			  "messages in a "
			  "second\n";

static const struct argp_option options[] = {
	SOCKET_OPTION,
	{ "operation", 'o', "write|read|send", 0,
	  "What is measured (default: write)", 0 },
	{ "bytes", 'b', "BYTES,...", 0,
	  "Of each request, up to 64K; several sizes are measured one after "
	  "the other (default: 64, of bandwidth 64K)",
	  0 },
	{ "count", 'c', "N", 0,
	  "Requests of each size (default: 1000, of rate 10000)", 0 },
	{ "depth", 'd', "N", 0,
	  "bandwidth, rate: requests under way at a time, up to 128 (default: "
	  "32)",
	  0 },
	{ "histogram", 'H', NULL, 0, "latency: print a histogram, too", 0 },
	{ "quiet", 'q', NULL, 0, "serve: do not say who connects", 0 },
	{ "json", 'j', NULL, 0, "Print a line of JSON for each size", 0 },
	{ 0 }
};

static void parse_sizes(struct argp_state *state, struct perf *p, char *list)
{
	char *one;

	for (p->sizes = 0; (one = strsep(&list, ","));) {
		if (p->sizes == SIZES_MAX)
			argp_error(state, "--bytes: %d sizes at most",
				   SIZES_MAX);
		p->bytes[p->sizes++] =
			(uint32_t)number_need(state, one, 1, LENT_BYTES);
	}
}

static void parse_operation(struct argp_state *state, struct perf *p,
			    const char *word)
{
	for (p->operation = 0; p->operation < 3; p->operation++) {
		if (!strcmp(operations[p->operation].word, word))
			return;
	}
	argp_error(state, "--operation=write, read or send");
}

static void parse_word(struct argp_state *state, struct perf *p, char *word)
{
	uint32_t ipv4;

	if (state->arg_num == 0)
		p->command = word;
	else if (state->arg_num == 1 && strcmp(p->command, "serve") != 0)
		p->peer = word;
	else
		argp_error(state, "%s is one word too many", word);
	if (p->peer && unic_parse_ipv4(p->peer, &ipv4))
		argp_error(state, "%s", unic_last_error());
}

static void check_words(struct argp_state *state, struct perf *p)
{
	if (!p->command)
		argp_usage(state);
	if (!strcmp(p->command, "serve")) {
		given_check(state, &p->given, options, p->command, "sq");
		return;
	}
	for (p->what = LATENCY; strcmp(whats[p->what].name, p->command);
	     p->what++) {
		if (p->what == RATE)
			argp_error(state,
				   "serve, latency, bandwidth or rate, not %s",
				   p->command);
	}
	if (!p->peer)
		argp_error(state, "%s: of which peer?", p->command);
	given_check(state, &p->given, options, p->command,
		    p->what == LATENCY ? "sobcHj" : "sobcdj");
	if (!p->sizes)
		p->bytes[p->sizes++] = whats[p->what].bytes;
	if (!p->count)
		p->count = whats[p->what].count;
}

static error_t parse_perf_option(int key, char *arg, struct argp_state *state)
{
	struct perf *p = state->input;

	given_note(state, &p->given, key, (char)key);
	switch (key) {
	case 's':
		p->socket = arg;
		return 0;
	case 'o':
		parse_operation(state, p, arg);
		return 0;
	case 'b':
		parse_sizes(state, p, arg);
		return 0;
	case 'c':
		p->count = (uint32_t)number_need(state, arg, 1, COUNT_MAX);
		return 0;
	case 'd':
		p->depth = (uint32_t)number_need(state, arg, 1, DEPTH_MAX);
		return 0;
	case 'H':
		p->histogram = true;
		return 0;
	case 'q':
		p->page.quiet = true;
		return 0;
	case 'j':
		p->json = true;
		return 0;
	case ARGP_KEY_ARG:
		parse_word(state, p, arg);
		return 0;
	case ARGP_KEY_END:
		check_words(state, p);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse_perf_option,
					  "serve\n"
					  "latency PEER\n"
					  "bandwidth PEER\n"
					  "rate PEER",
					  doc,
					  NULL,
					  NULL,
					  NULL };
	static struct perf p = { .depth = 32,
				 .page = { .program = "unic-perf",
					   .service = SERVICE,
					   .slots = SLOTS } };
	struct sigaction sa = { .sa_handler = perf_on_signal };
	int err;

	output_watch();
	argp_parse(&argp, argc, argv, 0, NULL, &p);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	p.page.receives = !p.peer;
	err = p.peer ? measure(&p) : lent_page_serve(&p.page, p.socket, &stop);
	if (err)
		fprintf(stderr, "unic-perf: %s\n", unic_last_error());
	lent_page_close(&p.page);
	return err != 0;
}
