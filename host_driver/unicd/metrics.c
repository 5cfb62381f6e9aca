/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* metrics.c - see metrics.h. */
#define _GNU_SOURCE
#include "metrics.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "metrics_text.h"
#include "run_dir.h"
#include "unicd_os.h"

#define HEAD_MAX   4096 /* bytes of a request */
#define PATIENCE_S 5	/* of a request, and of its answer */
#define TYPE	   "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct unicd_metrics {
	const struct unicd *d;
	struct run_dir dir; /* only to remove the socket */
	int listen_fd, stop_fd;
	pthread_t thread;
};

/* ------------------------------------------------------------------- waiting */

/* Milliseconds until @until_ns, for poll(). */
static int left_ms(const struct unicd_metrics *m, uint64_t until_ns)
{
	uint64_t now = unic_os_now_ns((struct unic_os *)&m->d->nic[0]);

	return now < until_ns ? (int)((until_ns - now + 999999) / 1000000) : 0;
}

/* True once @fd is ready for @events; false: it is not in time, or it is time to end. */
static bool wait_for(const struct unicd_metrics *m, int fd, short events,
		     int ms)
{
	struct pollfd p[] = { { .fd = fd, .events = events },
			      { .fd = m->stop_fd, .events = POLLIN } };
	int n;

	do
		n = poll(p, 2, ms);
	while (n < 0 && errno == EINTR);
	return n > 0 && !p[1].revents;
}

/* ------------------------------------------------------------------- requests */

/* Read a request up to the empty line behind its head. False: none came. */
static bool read_head(const struct unicd_metrics *m, int fd, uint64_t until_ns,
		      char head[HEAD_MAX])
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < HEAD_MAX &&
	       wait_for(m, fd, POLLIN, left_ms(m, until_ns))) {
		got = recv(fd, head + n, HEAD_MAX - 1 - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
		head[n] = '\0';
		if (strstr(head, "\r\n\r\n") || strstr(head, "\n\n"))
			return true;
	}
	return false;
}

static void write_all(const struct unicd_metrics *m, int fd, uint64_t until_ns,
		      const char *text, size_t n)
{
	ssize_t put;

	while (n && wait_for(m, fd, POLLOUT, left_ms(m, until_ns))) {
		put = send(fd, text, n, MSG_NOSIGNAL);
		if (put < 0 && errno != EAGAIN)
			return;
		if (put > 0) {
			text += put;
			n -= (size_t)put;
		}
	}
}

static void answer(const struct unicd_metrics *m, int fd, uint64_t until_ns,
		   const char *status, const char *type, const char *body,
		   size_t bytes)
{
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
			 status, type, bytes);

	write_all(m, fd, until_ns, head, (size_t)n);
	write_all(m, fd, until_ns, body, bytes);
}

static void answer_line(const struct unicd_metrics *m, int fd,
			uint64_t until_ns, const char *status, const char *why)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%s\n", why);

	answer(m, fd, until_ns, status, "text/plain; charset=utf-8", line,
	       n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* The metrics of NIC @name, "" for the first. */
static void answer_metrics(const struct unicd_metrics *m, int fd,
			   uint64_t until_ns, const char *name)
{
	char where[256], *text;
	size_t bytes;
	int err;

	snprintf(where, sizeof(where), *name ? "%s,%s" : "%s", m->d->socket,
		 name);
	err = metrics_text(where, &text, &bytes);
	if (!err)
		answer(m, fd, until_ns, "200 OK", TYPE, text, bytes);
	else
		answer_line(m, fd, until_ns,
			    err == -ENODEV ? "404 Not Found"
					   : "503 Service Unavailable",
			    text ? text : strerror(-err));
	free(text);
}

/* The name of the NIC in @path; NULL: it is no path of ours. */
static const char *nic_name(const char *path)
{
	if (!strcmp(path, "/") || !strcmp(path, "/metrics"))
		return "";
	return strncmp(path, "/metrics/", 9) || strchr(path + 9, ',') ||
			       !path[9]
		       ? NULL
		       : path + 9;
}

static void serve_request(const struct unicd_metrics *m, int fd)
{
	uint64_t until_ns = unic_os_now_ns((struct unic_os *)&m->d->nic[0]) +
			    PATIENCE_S * 1000000000ull;
	char head[HEAD_MAX], path[128], version[16];
	const char *name;

	if (!read_head(m, fd, until_ns, head))
		return;
	if (sscanf(head, "GET %127s %15s", path, version) != 2 ||
	    strncmp(version, "HTTP/1.", 7) != 0) {
		answer_line(m, fd, until_ns, "405 Method Not Allowed",
			    "GET alone");
		return;
	}
	path[strcspn(path, "?")] = '\0';
	name = nic_name(path);
	if (name)
		answer_metrics(m, fd, until_ns, name);
	else
		answer_line(m, fd, until_ns, "404 Not Found",
			    "there are /metrics and /metrics/NIC");
}

static void *metrics_thread(void *arg)
{
	struct unicd_metrics *m = arg;
	int fd;

	while (wait_for(m, m->listen_fd, POLLIN, -1)) {
		fd = accept4(m->listen_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) { /* of descriptors there may be some later */
			wait_for(m, -1, 0, 100);
			continue;
		}
		serve_request(m, fd);
		close(fd);
	}
	return NULL;
}

/* ---------------------------------------------------------------- start, stop */

/* A process accepts connections at @path. */
static bool is_served(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool served;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	served = fd >= 0 && (!connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
			     errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return served;
}

static int listen_for_metrics(struct unicd_metrics *m, const char *path)
{
	char where[RUN_DIR_PATH];
	int n = snprintf(where, sizeof(where), "%s%s",
			 strchr(path, '/') ? "" : "./", path);

	if (n >= (int)sizeof(where))
		return -ENAMETOOLONG;
	if (is_served(where))
		return -EADDRINUSE;
	m->listen_fd = run_dir_listen(&m->dir, where, SOCK_STREAM);
	return m->listen_fd < 0 ? m->listen_fd : 0;
}

/* Signals are for the thread of the driver. */
static int start_metrics_thread(struct unicd_metrics *m)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&m->thread, NULL, metrics_thread, m);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void free_metrics(struct unicd_metrics *m)
{
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	if (m->stop_fd >= 0)
		close(m->stop_fd);
	run_dir_fini(&m->dir);
	free(m);
}

int unicd_metrics_start(const struct unicd *d, const char *path,
			struct unicd_metrics **out)
{
	struct unicd_metrics *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	*m = (struct unicd_metrics){ .d = d,
				     .dir = { .fd = -1, .lock_fd = -1 },
				     .listen_fd = -1 };
	m->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = m->stop_fd < 0 ? -errno : listen_for_metrics(m, path);
	if (!err)
		err = start_metrics_thread(m);
	if (err) {
		unicd_say("--metrics %s: %s", path,
			  err == -EEXIST       ? "is there, and is no socket"
			  : err == -EADDRINUSE ? "another process serves it"
					       : strerror(-err));
		free_metrics(m);
		return err;
	}
	*out = m;
	return 0;
}

void unicd_metrics_stop(struct unicd_metrics *m)
{
	uint64_t one = 1;

	if (!m)
		return;
	if (write(m->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(m->thread, NULL);
	free_metrics(m);
}
