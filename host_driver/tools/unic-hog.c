/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-hog - a greedy process: it registers memory up to its limit or until the NIC TLB
 * is full, and answers upcalls correctly, or not at all.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "output.h"
#include "socket_option.h"
#include "unic.h"

#define PAGE	   4096u
#define CHUNKS_MAX 1024

enum answer {
	ANSWER_RELEASE,
	ANSWER_IGNORE,
};

struct chunk {
	void *mem;
	struct unic_mr *mr; /* NULL: not registered */
	unsigned int entries;
	bool held;
	bool late;  /* unic_dereg_mr() failed: try again */
	bool given; /* not taken away: nobody queues up for it */
};

struct hog {
	const char *socket;
	enum answer answer;
	unsigned int chunk_entries;
	unsigned int max; /* entries */
	bool again;	  /* register lost chunks again */
	bool keep;	  /* recover after a reset of the NIC */
	bool keep_idle;	  /* give nothing that lies idle */
	bool has_kept;	  /* and the last line says so */
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct chunk chunk[CHUNKS_MAX];
	unsigned int chunks;
	unsigned int holding;
};

static volatile sig_atomic_t stop;

static void hog_on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void print_line(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

static void print_line(const char *fmt, ...)
{
	va_list ap;

	printf("hog %d: ", (int)getpid());
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static long long ms_left(uint64_t deadline_ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((long long)deadline_ns - ts.tv_sec * 1000000000ll -
		ts.tv_nsec) /
	       1000000;
}

static int register_chunk(struct hog *h, struct chunk *c, unsigned int flags)
{
	struct unic_mr_attr attr = {
		.addr = c->mem,
		.length = (size_t)c->entries * PAGE,
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.flags = flags,
		.user = c,
	};

	return unic_reg_mr(h->pd, &attr, &c->mr);
}

static const char *entries_word(uint32_t n)
{
	return number_word(n, "entry", "entries");
}

static void set_held(struct hog *h, struct chunk *c, bool yes)
{
	if (c->held == yes)
		return;
	c->held = yes;
	if (yes)
		h->holding += c->entries;
	else
		h->holding -= c->entries;
}

/* Allocate and register one more chunk of @entries. */
static int add_chunk(struct hog *h, unsigned int entries)
{
	struct chunk *c = &h->chunk[h->chunks];
	int err;

	c->entries = entries;
	c->mem = unic_alloc(h->ctx, (size_t)entries * PAGE, PAGE);
	if (!c->mem)
		return -errno;
	err = register_chunk(h, c, 0);
	if (err) {
		unic_free(h->ctx, c->mem);
		return err;
	}
	h->chunks++;
	set_held(h, c, true);
	return 0;
}

static int add_all_chunks(struct hog *h)
{
	unsigned int entries = h->chunk_entries;
	int err = 0;

	while (h->holding < h->max && h->chunks < CHUNKS_MAX && entries) {
		if (entries > h->max - h->holding)
			entries = h->max - h->holding;
		err = add_chunk(h, entries);
		if (err == -ENOMEM || err == -EDQUOT)
			entries /= 2;
		else if (err)
			return err;
	}
	print_line("holds %u %s in %u %s%s%s", h->holding,
		   entries_word(h->holding), h->chunks,
		   number_word(h->chunks, "region", "regions"),
		   h->holding < h->max ? ": " : "",
		   h->holding < h->max ? unic_last_error() : "");
	return 0;
}

static void queue_chunk(struct hog *h, struct chunk *c)
{
	if (register_chunk(h, c, UNIC_MR_WAIT | UNIC_MR_ASYNC)) {
		print_line("cannot wait for %u %s: %s", c->entries,
			   entries_word(c->entries), unic_last_error());
		return;
	}
	if (unic_mr_life(c->mr) == UNIC_MR_LIVE)
		set_held(h, c, true);
	else
		print_line("waits for %u %s", c->entries,
			   entries_word(c->entries));
}

/* Deregister @c, which is evicted or given back, and register it again if h->again. If
 * the NIC does not answer, @c is late. What was given stays given. */
static void dereg_chunk(struct hog *h, struct chunk *c)
{
	set_held(h, c, false);
	c->late = unic_dereg_mr(c->mr);
	if (c->late)
		return;
	c->mr = NULL;
	if (h->again && !c->given)
		queue_chunk(h, c);
}

static void dereg_late_chunks(struct hog *h)
{
	unsigned int i;

	for (i = 0; i < h->chunks; i++)
		if (h->chunk[i].late)
			dereg_chunk(h, &h->chunk[i]);
}

static void on_notice(struct hog *h, struct chunk *c,
		      const struct unic_event *ev)
{
	print_line("asked for %u %s (notice %u, reason %s, rank %u), %lld "
		   "ms "
		   "left: %s",
		   ev->entries, entries_word(ev->entries), ev->seq,
		   unic_reason_str(ev->reason), ev->rank,
		   ms_left(ev->deadline_ns),
		   h->answer == ANSWER_RELEASE ? "releases" : "ignores it");
	if (h->answer != ANSWER_RELEASE)
		return;
	dereg_chunk(h, c);
	print_line("released, holds %u", h->holding);
}

/* The NIC would like to have an idle region, and takes a no. It asks for another one some
 * milliseconds later: there is one line for all of them. */
static void on_idle(struct hog *h, struct chunk *c, const struct unic_event *ev)
{
	bool gives = h->answer == ANSWER_RELEASE && !h->keep_idle;

	if (gives || !h->has_kept)
		print_line("asked for %u idle %s: %s", ev->entries,
			   entries_word(ev->entries),
			   gives ? "gives them" : "keeps them");
	h->has_kept = !gives;
	if (!gives)
		return;
	c->given = true;
	dereg_chunk(h, c);
}

static void on_hog_event(struct hog *h, struct unic_event *ev)
{
	struct chunk *c = ev->mr ? ev->mr->user : NULL;
	/* The event may be of an earlier region of the chunk. */
	bool mine = c && c->mr == ev->mr;

	if (ev->type != UNIC_EV_IDLE)
		h->has_kept = false;
	switch (ev->type) {
	case UNIC_EV_NOTICE:
		if (mine)
			on_notice(h, c, ev);
		break;
	case UNIC_EV_IDLE:
		if (mine)
			on_idle(h, c, ev);
		break;
	case UNIC_EV_EVICTED:
		if (!mine)
			break;
		dereg_chunk(h, c);
		print_line("lost %u %s (notice %u%s), holds %u", c->entries,
			   entries_word(c->entries), ev->seq,
			   ev->flags & UNIC_EVICTED_DEADLINE ? ", deadline"
							     : "",
			   h->holding);
		break;
	case UNIC_EV_GRANTED:
		if (!mine)
			break;
		set_held(h, c, true);
		print_line("granted %u %s after %u us, holds %u", c->entries,
			   entries_word(c->entries), ev->waited_us, h->holding);
		break;
	case UNIC_EV_WAIT_ENDED:
		if (mine)
			print_line("wait ended: %s",
				   unic_status_str(ev->status));
		break;
	case UNIC_EV_RESET:
		print_line("the NIC was reset or the driver is gone");
		stop = !h->keep || unic_recover(h->ctx, 20000);
		if (!stop)
			print_line("goes on, holding %u", h->holding);
		break;
	default:
		break;
	}
	unic_ack_event(ev);
}

static int run_hog(struct hog *h)
{
	struct pollfd pfd;
	struct unic_event ev;
	int err = h->keep ? unic_open_kept(h->socket, &h->ctx)
			  : unic_open(h->socket, &h->ctx);

	if (err)
		return err;
	err = unic_alloc_pd(h->ctx, &h->pd);
	if (!err)
		err = add_all_chunks(h);
	pfd = (struct pollfd){ .fd = unic_event_fd(h->ctx), .events = POLLIN };
	while (!err && !stop) {
		if (poll(&pfd, 1, 1000) <= 0) {
			dereg_late_chunks(h);
			continue;
		}
		while (!stop && !unic_get_event(h->ctx, &ev))
			on_hog_event(h, &ev);
	}
	if (!err)
		print_line("ends, holding %u", h->holding);
	unic_close(h->ctx);
	return err;
}

static const struct argp_option options[] = {
	SOCKET_OPTION,
	{ "answer", 'a', "release|ignore", 0,
	  "What to do when the NIC asks for a region (default: release)", 0 },
	{ "chunk", 'c', "ENTRIES", 0, "Entries of each region (default: 32)",
	  0 },
	{ "max", 'm', "ENTRIES", 0, "Take no more than this", 0 },
	{ "again", 'r', NULL, 0, "Queue up for what was taken away", 0 },
	{ "keep-idle", 'i', NULL, 0,
	  "Keep also what lies idle (with --answer=release it is given away)",
	  0 },
	{ "keep", 'k', NULL, 0,
	  "Hold on over a reset of the NIC or a restart of the driver", 0 },
	{ 0 }
};

static error_t parse_hog_option(int key, char *arg, struct argp_state *state)
{
	struct hog *h = state->input;

	switch (key) {
	case 's':
		h->socket = arg;
		return 0;
	case 'a':
		if (!strcmp(arg, "release"))
			h->answer = ANSWER_RELEASE;
		else if (!strcmp(arg, "ignore"))
			h->answer = ANSWER_IGNORE;
		else
			argp_error(state, "--answer=release or ignore");
		return 0;
	case 'c':
		h->chunk_entries = (unsigned)number_need(state, arg, 1, 512);
		return 0;
	case 'm':
		h->max = (unsigned)number_need(state, arg, 1, UINT32_MAX);
		return 0;
	case 'r':
		h->again = true;
		return 0;
	case 'i':
		h->keep_idle = true;
		return 0;
	case 'k':
		h->keep = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: too many arguments", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse_hog_option,
					  NULL,
					  "Hoard entries of the NIC TLB until "
					  "told to end (SIGTERM).",
					  NULL,
					  NULL,
					  NULL };
	static struct hog hog = { .chunk_entries = 32, .max = UINT32_MAX };
	struct sigaction sa = { .sa_handler = hog_on_signal };

	output_watch();
	argp_parse(&argp, argc, argv, 0, NULL, &hog);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	if (run_hog(&hog)) {
		fprintf(stderr, "unic-hog: %s\n", unic_last_error());
		return 1;
	}
	return 0;
}
