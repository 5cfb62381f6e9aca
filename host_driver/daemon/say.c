// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

#define ROOM 65536u /* a power of two */
#define LINE 1024u
#define HEAD 2u /* of a line in the ring: its length */
#define RANK 3u /* of a line in the journal: "<6>" */

/* A ring of lines with a thread; all under the lock, but for what the thread
 * copied out. stdout and stderr have one each: either may stand still. */
struct stream {
	pthread_mutex_t lock;
	pthread_cond_t work, empty;
	int fd;
	const char *rank;    /* in the journal; "": the lines do not go there */
	bool runs, busy;     /* the thread; it writes */
	uint32_t head, tail; /* bytes, free-running */
	uint32_t dropped;    /* lines that nobody was told of */
	uint8_t ring[ROOM];
};

#define STREAM(number)                                                         \
	{                                                                      \
		.lock = PTHREAD_MUTEX_INITIALIZER,                             \
		.work = PTHREAD_COND_INITIALIZER,                              \
		.empty = PTHREAD_COND_INITIALIZER, .fd = (number), .rank = "", \
	}

static struct stream out = STREAM(STDOUT_FILENO), err = STREAM(STDERR_FILENO);

static struct stream *stream_of(int fd)
{
	return fd == STDOUT_FILENO ? &out : &err;
}

static void write_all(int fd, const char *text, size_t bytes)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	while (bytes) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EAGAIN)
			(void)poll(&p, 1, -1);
		else if (n < 0 && errno != EINTR)
			return;
		if (n < 0)
			continue;
		text += n;
		bytes -= (size_t)n;
	}
}

static void ring_put(struct stream *s, const void *from, uint32_t bytes)
{
	const uint8_t *p = from;

	while (bytes--)
		s->ring[s->head++ % ROOM] = *p++;
}

static void ring_get(struct stream *s, void *to, uint32_t bytes)
{
	uint8_t *p = to;

	while (bytes--)
		*p++ = s->ring[s->tail++ % ROOM];
}

static bool enqueue_line(struct stream *s, const char *text, uint32_t bytes)
{
	const uint8_t head[HEAD] = { (uint8_t)(bytes >> 8), (uint8_t)bytes };

	if (s->head - s->tail + HEAD + bytes > ROOM)
		return false;
	ring_put(s, head, HEAD);
	ring_put(s, text, bytes);
	pthread_cond_signal(&s->work);
	return true;
}

/* A line has the rank that it brings, or that of its stream; without a journal, none. */
static uint32_t ranked_line(const struct stream *s, char line[RANK + LINE],
			    const char *text, uint32_t bytes)
{
	uint32_t own = bytes > RANK && text[0] == '<' && text[2] == '>' ? RANK
									: 0;
	uint32_t rank = s->rank[0] ? RANK : 0;

	memcpy(line, own ? text : s->rank, rank);
	memcpy(line + rank, text + own, bytes - own);
	return rank + bytes - own;
}

/* @text with its newline; by whoever says it if there is no thread. */
static void put_line(struct stream *s, const char *text, uint32_t bytes)
{
	char line[RANK + LINE];
	bool runs;

	bytes = ranked_line(s, line, text, bytes);
	pthread_mutex_lock(&s->lock);
	runs = s->runs;
	if (runs && !enqueue_line(s, line, bytes))
		s->dropped++;
	pthread_mutex_unlock(&s->lock);
	if (!runs)
		write_all(s->fd, line, bytes);
}

/* The next line of the ring, under the lock: waits for one. What was dropped is
 * told behind the last one that was not. */
static uint32_t next_line(struct stream *s, char *text)
{
	uint8_t head[HEAD];
	uint32_t n;

	while (s->head == s->tail && !s->dropped) {
		pthread_cond_signal(&s->empty);
		pthread_cond_wait(&s->work, &s->lock);
	}
	if (s->head == s->tail) {
		n = (uint32_t)snprintf(text, LINE,
				       "(%u lines dropped: nobody read)\n",
				       s->dropped);
		s->dropped = 0;
		return n;
	}
	ring_get(s, head, HEAD);
	n = (uint32_t)head[0] << 8 | head[1];
	ring_get(s, text, n);
	return n;
}

static void *writer_thread(void *arg)
{
	struct stream *s = arg;
	char text[RANK + LINE + 1];
	uint32_t n;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		s->busy = false;
		n = next_line(s, text);
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		write_all(s->fd, text, n);
		pthread_mutex_lock(&s->lock);
	}
	return NULL;
}

/* True if what is written to @fd goes to the journal: the manager says which file that
 * is, and somebody may have put another in its place since (systemd.exec(5)). */
static bool is_journal(int fd)
{
	const char *said = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return said && sscanf(said, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(fd, &st) && st.st_dev == device && st.st_ino == inode;
}

void say_rank(void)
{
	out.rank = is_journal(out.fd) ? SD_INFO : "";
	err.rank = is_journal(err.fd) ? SD_WARNING : "";
}

static void start_writer(struct stream *s)
{
	pthread_t thread;

	s->runs = !pthread_create(&thread, NULL, writer_thread, s);
	if (s->runs)
		pthread_detach(thread);
}

void say_start(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the caller's */
	say_rank();
	start_writer(&out);
	start_writer(&err);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void say_text(int fd, const char *text, unsigned long bytes)
{
	while (bytes) {
		const char *end = memchr(text, '\n', bytes);
		unsigned long n = end ? (unsigned long)(end - text) + 1 : bytes;

		n = n < LINE ? n : LINE;
		put_line(stream_of(fd), text, (uint32_t)n);
		text += n;
		bytes -= n;
	}
}

void say_va(int fd, const char *who, const char *fmt, va_list ap)
{
	char text[LINE];
	int n = snprintf(text, sizeof(text), "%s", who);

	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	n = (int)strlen(text);
	text[n++] = '\n';
	put_line(stream_of(fd), text, (uint32_t)n);
}

void say(int fd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_va(fd, "", fmt, ap);
	va_end(ap);
}

static void drain_stream(struct stream *s, const struct timespec *until)
{
	pthread_mutex_lock(&s->lock);
	while (s->runs && (s->busy || s->head != s->tail || s->dropped))
		if (pthread_cond_timedwait(&s->empty, &s->lock, until))
			break;
	pthread_mutex_unlock(&s->lock);
}

void say_end(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	drain_stream(&out, &until);
	drain_stream(&err, &until);
}
