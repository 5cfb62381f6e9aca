/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_server.c - see kio_server.h. */
#include "kio_server.h"

#define DATA_NS	 2000000000ull /* for the data of a WRITE to come, or to move */
#define RETRY_NS 1000000ull    /* a token or a buffer may be free again */

void unic_kio_server_init(struct unic_kio_server *s,
			  const struct unic_kio_server_link *link,
			  struct unic_kio_store *store)
{
	memset(s, 0, sizeof(*s));
	s->link = link;
	s->store = store;
}

/* --------------------------------------------------------------------- jobs */

static bool has_bytes(uint8_t op)
{
	return op == UNIC_KIO_READ || op == UNIC_KIO_LIST ||
	       op == UNIC_KIO_WRITE;
}

static bool by_rdma(const struct unic_kio_job *job)
{
	return job->ask.how == UNIC_KIO_BY_RDMA;
}

static void job_free(struct unic_kio_server *s, struct unic_kio_job *job)
{
	if (job->buf)
		s->link->buf_put(s, job->buf);
	job->buf = NULL;
	job->state = UNIC_KIO_JOB_FREE;
}

static struct unic_kio_msg answer_to(const struct unic_kio_job *job, int n,
				     uint64_t size, uint64_t boot)
{
	return (struct unic_kio_msg){
		.op = UNIC_KIO_ANSWER,
		.how = job->ask.how,
		.id = job->ask.id,
		.status = unic_to_le32(n < 0 ? (uint32_t)-n : 0),
		.len = unic_to_le32(n < 0 ? 0 : (uint32_t)n),
		.offset = job->ask.offset,
		.size = unic_to_le64(size),
		.key = unic_to_le64(boot),
	};
}

/* Answer @job without data, and free it. */
static void finish_job(struct unic_kio_server *s, struct unic_kio_job *job,
		       int n, const struct unic_kio_task *task)
{
	struct unic_kio_msg msg =
		answer_to(job, n, task ? task->size : 0, task ? task->boot : 0);
	bool mute = job->mute;

	job_free(s, job);
	if (!mute)
		s->link->send(s, &msg); /* false: the link is down */
}

static void begin_store_task(struct unic_kio_server *s, uint32_t at)
{
	struct unic_kio_job *job = &s->job[at];
	struct unic_kio_task task = {
		.server = s,
		.at = at,
		.turn = job->turn,
		.op = job->ask.op,
		.name = job->name,
		.name_bytes = job->ask.name_bytes,
		.offset = unic_from_le64(job->ask.offset),
		.buf = job->buf,
		.len = unic_from_le32(job->ask.len),
	};

	job->state = UNIC_KIO_JOB_STORE;
	job->begun = s->store->begin(s->store, &task);
	s->kept |= job->begun && s->store->end;
}

/* Answer job @at with its status: its token has ended, or there was none. */
static void abort_job(struct unic_kio_server *s, uint32_t at)
{
	finish_job(s, &s->job[at], s->job[at].status, NULL);
}

static void cancel_job(struct unic_kio_server *s, uint32_t at, int why)
{
	s->job[at].state = UNIC_KIO_JOB_CANCEL;
	s->job[at].status = why;
	s->link->cancel(s, at);
}

/* -------------------------------------------------------------------- serve */

static void begin_move(struct unic_kio_server *s, uint32_t at, uint32_t bytes)
{
	struct unic_kio_job *job = &s->job[at];

	job->state = UNIC_KIO_JOB_MOVING;
	job->deadline_ns = 0;
	if (!s->link->move(s, at, bytes))
		job_free(s, job);
}

/* Send the bytes of a READ or LIST, which are in the buffer of job @at. */
static void send_bytes(struct unic_kio_server *s, uint32_t at, uint32_t n,
		       const struct unic_kio_task *task)
{
	struct unic_kio_job *job = &s->job[at];
	struct unic_kio_msg msg =
		answer_to(job, (int)n, task->size, task->boot);

	if (by_rdma(job)) {
		job->answer = msg;
		begin_move(s, at, n);
		return;
	}
	job->state = UNIC_KIO_JOB_SENDING;
	if (!s->link->data(s, at, &msg, n))
		job_free(s, job);
}

/* The NIC completes a WRITE of data that was refused, and goes on with what is behind
 * it: so the answer is sent only now. */
void unic_kio_server_moved(struct unic_kio_server *s, uint32_t at, bool ok)
{
	struct unic_kio_job *job = &s->job[at];
	struct unic_kio_msg answer = job->answer;

	if (job->state != UNIC_KIO_JOB_MOVING)
		return;
	if (job->mute) {
		job_free(s, job);
	} else if (!ok) {
		finish_job(s, job, -ESTALE, NULL);
	} else if (job->ask.op == UNIC_KIO_WRITE) {
		begin_store_task(s, at);
	} else {
		job_free(s, job);
		s->link->send(s, &answer); /* false: the link is down */
	}
}

void unic_kio_server_stored(const struct unic_kio_task *task)
{
	struct unic_kio_server *s = task->server;
	struct unic_kio_job *job = &s->job[task->at];
	bool comes = task->op == UNIC_KIO_READ || task->op == UNIC_KIO_LIST;

	if (!task->op || job->state != UNIC_KIO_JOB_STORE || !job->begun ||
	    job->turn != task->turn)
		return; /* its connection ended */
	if (job->mute) {
		job_free(s, job);
		return;
	}
	if (!comes || task->n <= 0) {
		finish_job(s, job, task->n, task);
		return;
	}
	memcpy(job->buf, task->buf, (uint32_t)task->n);
	send_bytes(s, task->at, (uint32_t)task->n, task);
}

/* Begin job @at. False: no buffer is free. */
static bool serve_job(struct unic_kio_server *s, uint32_t at)
{
	struct unic_kio_job *job = &s->job[at];

	if (!s->store) {
		finish_job(s, job, -ENODEV, NULL);
		return true;
	}
	if (has_bytes(job->ask.op)) {
		job->buf = s->link->buf_get(s);
		if (!job->buf)
			return false;
	}
	if (job->ask.op == UNIC_KIO_WRITE && by_rdma(job)) {
		begin_move(s, at, unic_from_le32(job->ask.len));
	} else if (job->ask.op == UNIC_KIO_WRITE) {
		job->state = UNIC_KIO_JOB_TOKEN;
		s->link->token(s, at);
	} else {
		begin_store_task(s, at);
	}
	return true;
}

/* False if @job waits for the store. */
static bool is_begun(const struct unic_kio_job *job)
{
	return job->state != UNIC_KIO_JOB_STORE || job->begun;
}

/* Begin waiting jobs, each time from another one on, so that each gets a buffer. */
static uint64_t serve_all(struct unic_kio_server *s, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	uint32_t i, first = s->next;

	if (s->starved) { /* no token was free: try again later */
		s->starved = false;
		return now_ns + RETRY_NS;
	}
	for (i = 0; i < UNIC_KIO_JOBS; i++) {
		uint32_t at = (first + i) % UNIC_KIO_JOBS;
		struct unic_kio_job *job = &s->job[at];

		if (!is_begun(job))
			begin_store_task(s, at);
		else if (job->state == UNIC_KIO_JOB_WAIT && serve_job(s, at))
			s->next = at + 1;
		if (job->state == UNIC_KIO_JOB_WAIT || !is_begun(job))
			next = now_ns + RETRY_NS;
	}
	return next;
}

/* The deadline of job @at, which waits for data, is over. */
static void expire_job(struct unic_kio_server *s, uint32_t at)
{
	if (s->job[at].state == UNIC_KIO_JOB_GRANTED)
		cancel_job(s, at, -ETIMEDOUT);
	else
		s->stuck = true;
}

uint64_t unic_kio_server_poll(struct unic_kio_server *s, uint64_t now_ns)
{
	uint64_t next = serve_all(s, now_ns);
	uint32_t at;

	if (s->ends)
		s->ends = !s->store->end(s->store, s);
	if (s->ends)
		next = now_ns + RETRY_NS;

	s->stuck = false;
	for (at = 0; at < UNIC_KIO_JOBS; at++) {
		struct unic_kio_job *job = &s->job[at];

		if (job->state != UNIC_KIO_JOB_GRANTED &&
		    job->state != UNIC_KIO_JOB_MOVING)
			continue;
		if (!job->deadline_ns)
			job->deadline_ns = now_ns + DATA_NS;
		if (job->deadline_ns <= now_ns)
			expire_job(s, at);
		else if (job->deadline_ns < next)
			next = job->deadline_ns;
	}
	return next;
}

void unic_kio_server_token(struct unic_kio_server *s, uint32_t at, bool ok,
			   uint32_t token, uint64_t key)
{
	struct unic_kio_job *job = &s->job[at];
	struct unic_kio_msg msg = { .op = UNIC_KIO_GRANT, .id = job->ask.id };

	if (job->state != UNIC_KIO_JOB_TOKEN)
		return;
	job->token = token;
	job->key = key;
	if (!ok && job->mute) {
		job_free(s, job);
	} else if (!ok) {
		s->link->buf_put(s, job->buf);
		job->buf = NULL;
		job->state = UNIC_KIO_JOB_WAIT;
		s->starved = true;
	} else if (job->mute) {
		cancel_job(s, at, -ENOLINK);
	} else {
		job->state = UNIC_KIO_JOB_GRANTED;
		job->deadline_ns = 0;
		msg.len = job->ask.len;
		msg.token = unic_to_le32(token);
		msg.key = unic_to_le64(key);
		s->link->send(s, &msg);
	}
}

void unic_kio_server_ended(struct unic_kio_server *s, uint32_t at)
{
	if (s->job[at].state == UNIC_KIO_JOB_CANCEL)
		abort_job(s, at);
}

void unic_kio_server_sent(struct unic_kio_server *s, uint32_t at)
{
	if (s->job[at].state == UNIC_KIO_JOB_SENDING)
		job_free(s, &s->job[at]);
}

/* ---------------------------------------------------------------- messages */

static bool name_good(const char *name, uint32_t bytes)
{
	return !memchr(name, 0, bytes);
}

/* True if @ask does not ask for RDMA, or names @len bytes that it may be about. */
static bool is_valid_how(const struct unic_kio_msg *ask, uint32_t len)
{
	if (ask->how == UNIC_KIO_BY_TOKEN)
		return true;
	return ask->how == UNIC_KIO_BY_RDMA && has_bytes(ask->op) &&
	       unic_from_le64(ask->key) <= UINT64_MAX - len;
}

static bool is_valid_request(const struct unic_kio_msg *ask, const char *name)
{
	uint32_t len = unic_from_le32(ask->len);

	return !ask->rsvd && !unic_from_le32(ask->rsvd2) &&
	       is_valid_how(ask, len) && has_bytes(ask->op) == !!len &&
	       len <= UNIC_KIO_MAX &&
	       unic_from_le64(ask->offset) <= UINT64_MAX / 2 - len &&
	       name_good(name, ask->name_bytes);
}

static bool add_job(struct unic_kio_server *s, const struct unic_kio_msg *ask,
		    const char *name)
{
	struct unic_kio_job *job = s->job;

	while (job->state != UNIC_KIO_JOB_FREE)
		if (++job == s->job + UNIC_KIO_JOBS)
			return false;
	job->ask = *ask;
	job->mute = false;
	job->turn++;
	memcpy(job->name, name, ask->name_bytes);
	job->state = UNIC_KIO_JOB_WAIT;
	if (!is_valid_request(ask, name))
		finish_job(s, job, -EINVAL, NULL);
	return true;
}

static struct unic_kio_job *find_granted_job(struct unic_kio_server *s,
					     uint32_t id)
{
	uint32_t at;

	for (at = 0; at < UNIC_KIO_JOBS; at++)
		if (s->job[at].state == UNIC_KIO_JOB_GRANTED &&
		    unic_from_le32(s->job[at].ask.id) == id)
			return &s->job[at];
	return NULL;
}

/* The client gives request @id, by RDMA, up: its region ends. What has begun ends without
 * an answer, and without moving any more. */
static void give_up_request(struct unic_kio_server *s, uint32_t id)
{
	uint32_t at;

	for (at = 0; at < UNIC_KIO_JOBS; at++) {
		struct unic_kio_job *job = &s->job[at];

		if (job->state == UNIC_KIO_JOB_FREE || !by_rdma(job) ||
		    unic_from_le32(job->ask.id) != id)
			continue;
		job->mute = true;
		if (job->state == UNIC_KIO_JOB_WAIT || !is_begun(job))
			job_free(s, job);
	}
}

/* Handle the payload of a WRITE. The token must be that of the job: a message that
 * names another job's token must not have old bytes of the buffer written to the
 * file. */
static bool handle_data(struct unic_kio_server *s,
			const struct unic_kio_msg *msg, uint32_t token,
			uint32_t payload)
{
	struct unic_kio_job *job = find_granted_job(s, unic_from_le32(msg->id));

	if (!job) { /* of no job, or its token has ended */
		if (!payload)
			give_up_request(s, unic_from_le32(msg->id));
		return true;
	}
	if (!payload || token != job->token)
		cancel_job(s, (uint32_t)(job - s->job), -EIO);
	else if (payload != unic_from_le32(job->ask.len))
		finish_job(s, job, -EIO, NULL);
	else
		begin_store_task(s, (uint32_t)(job - s->job));
	return true;
}

bool unic_kio_server_message(struct unic_kio_server *s, const void *buf,
			     uint32_t bytes, uint32_t token, uint32_t payload)
{
	struct unic_kio_msg msg;

	if (bytes < sizeof(msg))
		return false;
	memcpy(&msg, buf, sizeof(msg));
	if (bytes != sizeof(msg) + msg.name_bytes)
		return false;
	if (msg.op == UNIC_KIO_DATA && !msg.name_bytes)
		return handle_data(s, &msg, token, payload);
	if (!msg.op || msg.op >= UNIC_KIO_OPS || payload)
		return false;
	return add_job(s, &msg, (const char *)buf + sizeof(msg));
}

/* --------------------------------------------------------------------- ends */

void unic_kio_server_stop(struct unic_kio_server *s)
{
	uint32_t at;

	for (at = 0; at < UNIC_KIO_JOBS; at++) {
		struct unic_kio_job *job = &s->job[at];

		job->mute = true;
		if (job->state == UNIC_KIO_JOB_WAIT || !is_begun(job))
			job_free(s, job);
		else if (job->state == UNIC_KIO_JOB_GRANTED)
			cancel_job(s, at, -ENOLINK);
	}
}

void unic_kio_server_down(struct unic_kio_server *s, bool lost)
{
	uint32_t at;

	if (!lost)
		unic_kio_server_stop(s);
	for (at = 0; at < UNIC_KIO_JOBS; at++) {
		struct unic_kio_job *job = &s->job[at];

		job->mute = true;
		if (lost || job->state == UNIC_KIO_JOB_STORE ||
		    job->state == UNIC_KIO_JOB_SENDING ||
		    job->state == UNIC_KIO_JOB_MOVING)
			job_free(s, job);
	}
	s->stuck = false;
	s->ends |= s->kept;
	s->kept = false;
}

bool unic_kio_server_stuck(const struct unic_kio_server *s)
{
	return s->stuck;
}

bool unic_kio_server_idle(const struct unic_kio_server *s)
{
	uint32_t at;

	for (at = 0; at < UNIC_KIO_JOBS; at++)
		if (s->job[at].state != UNIC_KIO_JOB_FREE)
			return false;
	return !s->ends;
}
