/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-ping - is a peer there, and how long does an RDMA READ or WRITE to it take? The
 * NIC of the peer answers; its program (unic-ping serve) only lends a page.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "number.h"
#include "output.h"
#include "unic.h"

#define SERVICE	   0x756e69632d706e67ull /* "unic-png" */
#define VERSION	   1u
#define LENT	   65536u /* bytes that a server lends */
#define CONNECT_MS 10000
#define ANSWER_MS  30000
#define QPS	   16u /* slots of each queue */

/* Private data of the answer to a connection: where the lent memory is. */
struct offer {
	unic_le32 version;
	unic_le32 stag;
	unic_le64 iova;
	unic_le32 bytes;
};

struct ping {
	const char *socket, *peer;
	uint32_t count, interval_ms, bytes;
	bool write, quiet, json;
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_mr *mr;
	uint8_t *mem;
	uint64_t *took_ns; /* of each answer */
	uint32_t sent, answered;
};

static volatile sig_atomic_t stop;

static void ping_on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Memory of @bytes for @rights. It holds no entries, so nobody asks for it back. */
static int open_ping(struct ping *p, uint32_t bytes, unsigned int rights)
{
	struct unic_mr_attr attr = { .length = bytes,
				     .rights = rights,
				     .flags = UNIC_MR_WAIT,
				     .residency = UNIC_DEMAND };
	int err = unic_open(p->socket, &p->ctx);

	if (!err)
		err = unic_alloc_pd(p->ctx, &p->pd);
	if (!err)
		err = unic_create_cq(p->pd, 2 * QPS, &p->cq);
	if (err)
		return err;
	p->mem = unic_alloc(p->ctx, bytes, 4096);
	if (!p->mem)
		return -ENOMEM;
	memset(p->mem, 0, bytes);
	attr.addr = p->mem;
	return unic_reg_mr(p->pd, &attr, &p->mr);
}

static int new_qp(struct ping *p, struct unic_qp **qp)
{
	struct unic_qp_attr attr = { .send_cq = p->cq,
				     .recv_cq = p->cq,
				     .sq_slots = QPS,
				     .rq_slots = QPS };

	return unic_create_qp(p->pd, &attr, qp);
}

/* ------------------------------------------------------------------- server */

static void accept_peer(struct ping *p, const struct unic_event *ev)
{
	struct offer offer = { .version = unic_to_le32(VERSION),
			       .stag = unic_to_le32(p->mr->stag),
			       .iova = unic_to_le64(p->mr->iova),
			       .bytes = unic_to_le32(LENT) };
	struct unic_conn_param param = { .private_data = &offer,
					 .private_len = sizeof(offer) };
	struct in_addr addr = { .s_addr = htonl(ev->peer_ipv4) };
	struct unic_qp *qp;
	int err = new_qp(p, &qp);

	if (err) {
		unic_reject(p->ctx, ev->conn, NULL, 0);
	} else {
		err = unic_accept(p->ctx, ev->conn, qp, &param);
		if (err)
			unic_destroy_qp(qp);
	}
	if (err)
		printf("unic-ping: %s: %s\n", inet_ntoa(addr),
		       unic_last_error());
	else if (!p->quiet)
		printf("unic-ping: %s is connected\n", inet_ntoa(addr));
	fflush(stdout);
}

/* One event. -ENOTCONN: the NIC was reset, or the driver ended. */
static int serve_event(struct ping *p, const struct unic_event *ev)
{
	switch (ev->type) {
	case UNIC_EV_CONNECT:
		accept_peer(p, ev);
		return 0;
	case UNIC_EV_DISCONNECTED:
	case UNIC_EV_QP_ERROR:
		unic_destroy_qp(ev->qp);
		return 0;
	case UNIC_EV_RESET:
		return unic_fail(-ENOTCONN, "the NIC was reset");
	case UNIC_EV_EVICTED:
		return unic_fail(-ENOTCONN, "the lent memory was evicted: %s",
				 unic_reason_str(ev->reason));
	default:
		return 0;
	}
}

static int serve(struct ping *p)
{
	struct unic_listener *l;
	struct unic_event ev;
	struct pollfd fd;
	int err = open_ping(p, LENT,
			    UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
				    UNIC_MR_REMOTE_WRITE);

	if (!err)
		err = unic_listen(p->ctx, SERVICE, &l);
	if (err)
		return err;
	printf("unic-ping: ready\n");
	fflush(stdout);
	fd = (struct pollfd){ .fd = unic_event_fd(p->ctx), .events = POLLIN };
	while (!err && !stop) {
		poll(&fd, 1, 500);
		while (!err && !unic_get_event(p->ctx, &ev)) {
			err = serve_event(p, &ev);
			unic_ack_event(&ev);
		}
	}
	return err;
}

/* ------------------------------------------------------------------- client */

static int connect_peer(struct ping *p, struct unic_qp **qp,
			struct offer *offer)
{
	struct unic_conn_param param = { 0 };
	uint8_t reply[UNIC_PRIVATE_MAX] = { 0 };
	unsigned int len = sizeof(reply);
	uint32_t ipv4;
	int err;

	if (unic_parse_ipv4(p->peer, &ipv4))
		return unic_fail(-EINVAL, "%s is no address", p->peer);
	err = new_qp(p, qp);
	if (!err)
		err = unic_connect(*qp, ipv4, SERVICE, &param, CONNECT_MS,
				   reply, &len);
	if (err)
		return err;
	memcpy(offer, reply, sizeof(*offer));
	if (len < sizeof(*offer) || unic_from_le32(offer->version) != VERSION ||
	    unic_from_le32(offer->bytes) < p->bytes)
		return unic_fail(-EPROTO,
				 "%s is another version, or lends "
				 "less than %u bytes",
				 p->peer, p->bytes);
	return 0;
}

/* One READ or WRITE. 0 with *@ns. */
static int ask_once(struct ping *p, struct unic_qp *qp,
		    const struct offer *offer, uint64_t *ns)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = p->write ? UNIC_WR_WRITE
						      : UNIC_WR_READ,
				   .flags = UNIC_WR_SIGNALED,
				   .sg = &sg,
				   .num_sge = 1,
				   .remote = unic_from_le64(offer->iova),
				   .rkey = unic_from_le32(offer->stag) };
	uint64_t from = clock_ns();
	struct unic_wc wc;
	int n, err = unic_sg_of(p->mr, p->mem, p->bytes, &sg);

	if (err)
		return err;
	n = unic_post_send(qp, &wr, 1);
	if (n != 1)
		return n < 0 ? n : unic_fail(-EIO, "the queue is full");
	err = unic_wait_cq(p->cq, ANSWER_MS);
	if (err)
		return err == -ETIME ? unic_fail(err, "no answer within %u s",
						 ANSWER_MS / 1000)
				     : err;
	n = unic_poll_cq(p->cq, 1, &wc);
	*ns = clock_ns() - from;
	if (n != 1)
		return n < 0 ? n : unic_fail(-EIO, "a completion is missing");
	return wc.status ? unic_fail(-EIO, "%s", unic_wc_status_str(wc.status))
			 : 0;
}

static void nap_ms(uint32_t ms)
{
	struct timespec nap = { .tv_sec = ms / 1000,
				.tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

static int ask_all(struct ping *p, struct unic_qp *qp,
		   const struct offer *offer)
{
	uint64_t ns = 0;
	int err = 0;

	while (!err && !stop && p->sent < p->count) {
		if (p->sent)
			nap_ms(p->interval_ms);
		p->sent++;
		err = ask_once(p, qp, offer, &ns);
		if (err)
			break;
		p->took_ns[p->answered++] = ns;
		if (!p->quiet && !p->json)
			printf("%u bytes %s %s: seq %u, %.1f us\n", p->bytes,
			       p->write ? "to" : "of", p->peer, p->sent,
			       (double)ns / 1e3);
		fflush(stdout);
	}
	return err;
}

static int by_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* In microseconds, of the sorted times: the one that @per_mille of them do not exceed. */
static double at_most_us(const struct ping *p, uint32_t per_mille)
{
	uint64_t at = ((uint64_t)p->answered * per_mille + 999) / 1000;

	return p->answered ? (double)p->took_ns[at ? at - 1 : 0] / 1e3 : 0;
}

static void sum_up(struct ping *p)
{
	const char *format =
		p->json ? "{\"peer\":\"%s\",\"operation\":\"%s\",\"bytes\":%u,"
			  "\"sent\":%u,\"answered\":%u,\"min_us\":%.3f,"
			  "\"mean_us\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,"
			  "\"max_us\":%.3f}\n"
			: "%s: %s of %u bytes: %u sent, %u answered; min %.1f, "
			  "mean %.1f, 50%% %.1f, 99%% %.1f, max %.1f us\n";
	double sum = 0;
	uint32_t i;

	for (i = 0; i < p->answered; i++)
		sum += (double)p->took_ns[i] / 1e3;
	qsort(p->took_ns, p->answered, sizeof(p->took_ns[0]), by_ns);
	printf(format, p->peer, p->write ? "WRITE" : "READ", p->bytes, p->sent,
	       p->answered, at_most_us(p, 0),
	       p->answered ? sum / p->answered : 0, at_most_us(p, 500),
	       at_most_us(p, 990), at_most_us(p, 1000));
}

static int ping_peer(struct ping *p)
{
	struct unic_qp *qp = NULL;
	struct offer offer = { 0 };
	int err = open_ping(p, p->bytes, UNIC_MR_LOCAL_WRITE);

	if (!err)
		err = connect_peer(p, &qp, &offer);
	if (err)
		return err;
	p->took_ns = calloc(p->count, sizeof(p->took_ns[0]));
	if (!p->took_ns)
		return unic_fail(-ENOMEM, "no memory for %u times", p->count);
	err = ask_all(p, qp, &offer);
	sum_up(p);
	unic_disconnect(qp);
	free(p->took_ns);
	return err;
}

/* --------------------------------------------------------------------- main */

static const struct argp_option options[] = {
	{ "socket", 's', "PATH[,NIC]", 0, "Of unicd (default: $UNIC_SOCKET)",
	  0 },
	{ "count", 'c', "N", 0, "End after N of them (10)", 0 },
	{ "interval", 'i', "MS", 0, "Between two of them (1000)", 0 },
	{ "bytes", 'b', "BYTES", 0, "Of each, up to 64K (64)", 0 },
	{ "write", 'w', NULL, 0, "WRITE instead of READ", 0 },
	{ "quiet", 'q', NULL, 0, "The sum only", 0 },
	{ "json", 'j', NULL, 0, "The sum, for programs", 0 },
	{ 0 }
};

static error_t parse_ping_option(int key, char *arg, struct argp_state *state)
{
	struct ping *p = state->input;

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
		p->bytes = (uint32_t)number_need(state, arg, 1, LENT);
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
		p->peer = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
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
				 .bytes = 64 };
	struct sigaction sa = { .sa_handler = ping_on_signal };
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, &p);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	err = strcmp(p.peer, "serve") ? ping_peer(&p) : serve(&p);
	if (err)
		fprintf(stderr, "unic-ping: %s\n", unic_last_error());
	unic_close(p.ctx);
	return output_end("unic-ping", err != 0);
}
