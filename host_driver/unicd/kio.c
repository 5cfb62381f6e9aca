/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio.c - what processes ask of the page service (UNIC_CTL_KIO): each request is
 * checked, kept until it is answered, begun when there is a place for it, and begun
 * again when the connection ended under it, until its time is over.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "kio.h"
#include "kio_files.h"
#include "kio_user.h"
#include "kio_worker.h"
#include "unicd_os.h"

#define AGAIN_NS 10000000ull

_Static_assert(UNIC_CTL_KIO_BYTES == UNIC_KIO_MAX, "one transfer for each");
_Static_assert((int)UNIC_CTL_KIO_READ == (int)UNIC_KIO_READ &&
		       (int)UNIC_CTL_KIO_WRITE == (int)UNIC_KIO_WRITE &&
		       (int)UNIC_CTL_KIO_LIST == (int)UNIC_KIO_LIST &&
		       (int)UNIC_CTL_KIO_STAT == (int)UNIC_KIO_STAT &&
		       (int)UNIC_CTL_KIO_CUT == (int)UNIC_KIO_CUT,
	       "the same numbers here and on the wire");

struct request {
	struct request *next;
	struct unicd_client *client; /* NULL: it left */
	struct unic_kio_user *user;  /* NULL: not begun, or to be begun again */
	struct unic_ctl_kio ask;
	uint64_t deadline_ns, retry_ns;
	uint32_t uid;
	bool privileged;
	uint8_t tail[]; /* name, data */
};

struct unicd_kio {
	struct unic_kio_node node;
	struct unicd_files *files; /* that are exported, or NULL */
	struct unic_kio_store *store;
	struct request *head;
	struct unic_os *os;
	uint64_t out[UNIC_CTL_KIO_MSG_MAX / 8]; /* a reply */
};

/* ------------------------------------------------------------------- replies */

static void answer_request(struct unic_os *os, struct unicd_client *c,
			   const struct unic_ctl_hdr *asked, uint32_t status,
			   struct unic_ctl_kio_reply *r, const void *data,
			   uint32_t bytes)
{
	uint64_t *out = os->kio->out;

	r->hdr = (struct unic_ctl_hdr){
		.op = asked->op,
		.status = unic_to_le16((uint16_t)status),
		.seq = asked->seq,
		.tail_bytes = unic_to_le32(bytes),
	};
	memcpy(out, r, sizeof(*r));
	if (bytes)
		memcpy((uint8_t *)out + sizeof(*r), data, bytes);
	unic_os_reply(os, &c->core, out, (uint32_t)sizeof(*r) + bytes,
		      UNIC_OS_NO_SLOT);
}

static void refuse_request(struct unic_os *os, struct unicd_client *c,
			   const struct unic_ctl_hdr *asked, uint32_t status)
{
	struct unic_ctl_kio_reply r = { 0 };

	unic_os_log(os, UNIC_LOG_AUDIT, "pid %u kio: status %u", c->core.pid,
		    status);
	answer_request(os, c, asked, status, &r, NULL, 0);
}

static void free_request(struct unicd_kio *k, struct request *r)
{
	struct request **at = &k->head;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (r->client)
		r->client->kio--;
	free(r);
}

/* Ends a request without bytes. */
static void fail_request(struct unicd_kio *k, struct request *r,
			 uint32_t status, uint32_t error)
{
	struct unic_ctl_kio_reply rep = { .error = unic_to_le32(error) };

	if (r->client)
		answer_request(k->os, r->client, &r->ask.hdr, status, &rep,
			       NULL, 0);
	free_request(k, r);
}

/* The status of a request whose time is over: what keeps this host from the other one,
 * if that is known. */
static uint32_t timeout_status(const struct unicd_kio *k,
			       const struct request *r)
{
	uint32_t why =
		unic_kio_node_status(&k->node, unic_from_le32(r->ask.ipv4));

	return why ? why : UNIC_ST_TIMEOUT;
}

static void complete_request(struct unicd_kio *k, struct request *r,
			     uint32_t bytes)
{
	const struct unic_kio_user *user = r->user;
	bool comes = r->ask.what == UNIC_CTL_KIO_READ ||
		     r->ask.what == UNIC_CTL_KIO_LIST;
	struct unic_ctl_kio_reply rep = {
		.size = unic_to_le64(user->io.size),
		.bytes = unic_to_le32(bytes),
	};

	if (r->client)
		answer_request(k->os, r->client, &r->ask.hdr, UNIC_ST_OK, &rep,
			       user->buf, comes ? bytes : 0);
	free_request(k, r);
}

/* An error of the connection: the next one may do better. */
static bool is_transient(int status)
{
	return status == -ENOLINK || status == -EIO || status == -ENOBUFS;
}

static void user_io_done(struct unic_kio_user *user, int status, uint32_t bytes)
{
	struct request *r = user->of;
	struct unicd_kio *k = (struct unicd_kio *)(void *)user->node;
	uint64_t now = unic_os_now_ns(k->os);
	uint32_t remote = user->io.remote;

	if (!status) {
		complete_request(k, r, bytes);
	} else if (status == -EREMOTEIO) {
		fail_request(k, r, UNIC_CTL_ST_REMOTE, remote);
	} else if (is_transient(status) && now < r->deadline_ns && r->client) {
		r->user = NULL;
		r->retry_ns = now + AGAIN_NS;
	} else {
		fail_request(k, r, timeout_status(k, r), 0);
	}
	unic_kio_user_put(user);
}

/* ------------------------------------------------------------------ requests */

static uint32_t check_request(const struct unic_ctl_kio *ask, size_t bytes)
{
	uint32_t len = unic_from_le32(ask->len), i;
	uint32_t data = ask->what == UNIC_CTL_KIO_WRITE ? len : 0;
	bool moves = ask->what <= UNIC_CTL_KIO_LIST;

	for (i = 0; i < 6; i++)
		if (unic_from_le32(ask->rsvd[i]))
			return UNIC_ST_INVALID;
	if (unic_from_le16(ask->hdr.status) || ask->rsvd0 ||
	    ask->data > UNIC_CTL_KIO_RDMA || !ask->what ||
	    ask->what > UNIC_CTL_KIO_STATE || len > UNIC_CTL_KIO_BYTES ||
	    moves != !!len ||
	    unic_from_le32(ask->timeout_ms) > UNIC_CTL_KIO_TIMEOUT_MAX ||
	    unic_from_le64(ask->offset) > (uint64_t)INT64_MAX - len ||
	    bytes != sizeof(*ask) + ask->name_bytes + data ||
	    unic_from_le32(ask->hdr.tail_bytes) != ask->name_bytes + data)
		return UNIC_ST_INVALID;
	if (ask->what == UNIC_CTL_KIO_STATE)
		return ask->name_bytes || ask->data ? UNIC_ST_INVALID
						    : UNIC_ST_OK;
	if (!unic_from_le32(ask->ipv4) ||
	    (!ask->name_bytes && ask->what != UNIC_CTL_KIO_LIST))
		return UNIC_ST_INVALID;
	return UNIC_ST_OK;
}

static void show_state(struct unic_os *os, struct unicd_client *c,
		       const struct unic_ctl_hdr *asked)
{
	const struct unic_kio_node *n = &os->kio->node;
	bool rdma = n->rdma;
	struct unic_ctl_kio_reply r = {
		.bytes = unic_to_le32(rdma ? UNIC_CTL_KIO_RDMA
					   : UNIC_CTL_KIO_TOKEN),
		.demand = unic_to_le64(unic_kio_node_demand(n)),
		.window = unic_to_le32(
			rdma ? unic_kio_account_window(n, c->core.uid)
			     : n->window),
		.done = unic_to_le32((uint32_t)n->ios),
		.failed = unic_to_le32((uint32_t)n->failed),
		.served = unic_to_le32((uint32_t)n->served),
	};
	uint32_t i, by_rdma = 0, by_token = 0;

	for (i = 0; i < UNIC_KIO_OUT; i++) {
		by_rdma += n->client[i].by_rdma;
		by_token += n->client[i].by_token;
	}
	r.rdma = unic_to_le32(by_rdma);
	r.token = unic_to_le32(by_token);
	answer_request(os, c, asked, UNIC_ST_OK, &r, NULL, 0);
}

static struct request *queue_request(struct unicd_kio *k,
				     struct unicd_client *c, const void *msg,
				     size_t bytes)
{
	struct request *r = malloc(sizeof(*r) + bytes), **at = &k->head;
	uint32_t ms;

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	memcpy(&r->ask, msg, sizeof(r->ask));
	memcpy(r->tail, (const uint8_t *)msg + sizeof(r->ask),
	       bytes - sizeof(r->ask));
	ms = unic_from_le32(r->ask.timeout_ms);
	r->client = c;
	r->uid = c->core.uid;
	r->privileged = c->core.privileged;
	r->deadline_ns = unic_os_now_ns(k->os) +
			 1000000ull * (ms ? ms : UNIC_CTL_KIO_TIMEOUT_MS);
	while (*at)
		at = &(*at)->next;
	*at = r;
	c->kio++;
	return r;
}

static bool is_kio_allowed(const struct unic_os *os,
			   const struct unicd_client *c)
{
	uint32_t i;

	for (i = 0; i < os->opt.kio_users; i++)
		if (os->opt.kio_user[i] == c->core.uid)
			return true;
	return c->core.privileged || !os->opt.kio_users;
}

void unicd_kio_request(struct unic_os *os, struct unicd_client *c,
		       const void *msg, size_t bytes)
{
	struct unic_ctl_kio ask = { 0 };
	uint32_t status;

	memcpy(&ask, msg, bytes < sizeof(ask) ? bytes : sizeof(ask));
	status = bytes < sizeof(ask) || bytes > UNIC_CTL_KIO_MSG_MAX
			 ? UNIC_ST_INVALID
			 : check_request(&ask, bytes);
	if (!status && ask.name_bytes &&
	    memchr((const uint8_t *)msg + sizeof(ask), 0, ask.name_bytes))
		status = UNIC_ST_INVALID;
	if (!status && ask.what != UNIC_CTL_KIO_STATE && !is_kio_allowed(os, c))
		status = UNIC_CTL_ST_PERMISSION;
	if (!status && ask.data == UNIC_CTL_KIO_RDMA && !os->kio->node.rdma)
		status = UNIC_CTL_ST_UNSUPPORTED;
	if (!status && c->kio >= UNIC_CTL_KIO_OPEN)
		status = UNIC_CTL_ST_TOO_MANY;
	if (!status && ask.what == UNIC_CTL_KIO_STATE) {
		show_state(os, c, &ask.hdr);
		return;
	}
	if (!status && !queue_request(os->kio, c, msg, bytes))
		status = UNIC_CTL_ST_NO_MEMORY;
	if (status)
		refuse_request(os, c, &ask.hdr, status);
	else if (os->kio->node.why != UNIC_CTL_ST_UNSUPPORTED)
		unic_kio_node_want(&os->kio->node);
}

void unicd_kio_reply(struct unic_os *os, const void *msg, uint32_t bytes)
{
	unic_kio_node_reply(&os->kio->node, msg, bytes);
}

void unicd_kio_gone(struct unic_os *os, const struct unicd_client *c)
{
	struct request *r;

	for (r = os->kio->head; r; r = r->next)
		if (r->client == c)
			r->client =
				NULL; /* a transfer that runs ends by itself */
}

/* ----------------------------------------------------------------------- poll */

static void begin_request(struct unicd_kio *k, struct request *r,
			  struct unic_kio_user *user)
{
	uint32_t len = unic_from_le32(r->ask.len);
	int err;

	user->io = (struct unic_kio){
		.op = r->ask.what,
		.name_bytes = r->ask.name_bytes,
		.len = len,
		.offset = unic_from_le64(r->ask.offset),
		.deadline_ns = r->deadline_ns,
		.token_only = r->ask.data == UNIC_CTL_KIO_TOKEN,
		.user = r->uid,
	};
	memcpy(user->io.name, r->tail, r->ask.name_bytes);
	if (r->ask.what == UNIC_CTL_KIO_WRITE)
		memcpy(user->buf, r->tail + r->ask.name_bytes, len);
	user->of = r;
	r->user = user;
	err = unic_kio_user_start(user, unic_from_le32(r->ask.ipv4));
	if (!err)
		return;
	r->user = NULL;
	r->retry_ns = unic_os_now_ns(k->os) + AGAIN_NS;
	unic_kio_user_put(user);
}

/*
 * A request to a host that does not answer keeps its place, and that host a
 * connection, until its time is over. So all processes of one user together have half
 * of the places at most, and half of the connections to hosts.
 */
static bool has_reached_share(const struct unicd_kio *k,
			      const struct request *r)
{
	unic_le32 host[UNIC_KIO_USERS];
	uint32_t i, j, places = 0, hosts = 0;

	for (i = 0; !r->privileged && i < UNIC_KIO_USERS; i++) {
		const struct unic_kio_user *user = &k->node.user[i];
		const struct request *o = user->of;

		if (!user->used || o->uid != r->uid)
			continue;
		places++;
		for (j = 0; j < hosts && host[j] != o->ask.ipv4; j++)
			;
		if (j == hosts)
			host[hosts++] = o->ask.ipv4;
	}
	for (j = 0; j < hosts && host[j] != r->ask.ipv4; j++)
		;
	return places >= UNIC_KIO_USERS / 2 ||
	       (j == hosts && hosts >= UNIC_KIO_OUT / 2);
}

static struct unic_kio_user *get_kio_user(struct unicd_kio *k,
					  const struct request *r, uint64_t now)
{
	if (now < r->retry_ns || has_reached_share(k, r))
		return NULL;
	return unic_kio_user_get(&k->node);
}

/* Begins requests that have a place, ends those that are late or whose client left. */
static uint64_t poll_requests(struct unicd_kio *k, uint64_t now)
{
	struct request *r, *next_r;
	struct unic_kio_user *user;
	uint64_t next = UINT64_MAX;

	for (r = k->head; r; r = next_r) {
		next_r = r->next;
		if (r->user)
			continue;
		if (!r->client || now >= r->deadline_ns ||
		    k->node.why == UNIC_CTL_ST_UNSUPPORTED) {
			fail_request(k, r, timeout_status(k, r), 0);
			continue;
		}
		user = get_kio_user(k, r, now);
		if (user) {
			begin_request(k, r, user);
			next = now;
			/* and may have ended others: the list is not safe */
			return next;
		}
		if (r->deadline_ns < next)
			next = r->deadline_ns;
		if (r->retry_ns > now && r->retry_ns < next)
			next = r->retry_ns;
	}
	return next;
}

uint64_t unicd_kio_poll(struct unic_os *os)
{
	struct unicd_kio *k = os->kio;
	uint64_t next = unic_kio_node_poll(&k->node), also;

	also = poll_requests(k, unic_os_now_ns(os));
	return also < next ? also : next;
}

/* --------------------------------------------------------------------- life */

static int open_export(struct unicd_kio *k)
{
	k->files = unicd_files_open(k->os->opt.kio_export,
				    k->os->opt.kio_writable,
				    k->os->opt.kio_max_bytes);
	if (k->files)
		k->store = unicd_worker_start(k->os->d, k->files);
	if (k->store)
		return 0;
	unicd_files_close(k->files);
	return -EINVAL;
}

int unicd_kio_init(struct unic_os *os)
{
	struct unic_kio_config config = {
		.os = os,
		.host = os->host,
		.slot_mem = os->slot_mem,
		.slot_bytes = os->slot_bytes,
		.pid = (uint32_t)getpid(),
		.rdma = os->opt.kio_rdma,
	};
	struct unicd_kio *k = calloc(1, sizeof(*k));

	if (!k) {
		unicd_say("out of memory");
		return -ENOMEM;
	}
	k->os = os;
	if (os->opt.kio_export && open_export(k)) {
		free(k);
		return -EINVAL;
	}
	config.store = k->store;
	config.allow = os->opt.kio_allow;
	config.allows = os->opt.kio_allows;
	unic_kio_node_init(&k->node, &config);
	k->node.done = user_io_done;
	if (config.store)
		unic_kio_node_want(&k->node);
	os->kio = k;
	return 0;
}

void unicd_kio_fini(struct unic_os *os)
{
	struct request *r;

	if (!os->kio)
		return;
	while ((r = os->kio->head)) {
		os->kio->head = r->next;
		free(r);
	}
	unic_kio_node_fini(&os->kio->node);
	if (!os->kio->store || unicd_worker_stop(os->kio->store))
		unicd_files_close(os->kio->files);
	free(os->kio);
	os->kio = NULL;
}
