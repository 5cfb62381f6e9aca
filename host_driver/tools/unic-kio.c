/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-kio - files of another host by the page service of the driver: this process does
 * not use the NIC, has no slot, and no entries in its tables.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "kio_args.h"
#include "kio_ask.h"
#include "output.h"
#include "progress.h"
#include "target_file.h"
#include "unic_kio.h"

#define CHUNK UNIC_CTL_KIO_BYTES
#define MIB   1048576.0

/* The transfer of @o begins, or has ended. */
static void begin_transfer(struct progress *p, const struct kio_options *o,
			   const char *what, const char *name, uint64_t size)
{
	progress_begin(p, o->quiet ? PROGRESS_NONE : PROGRESS_USUAL, "unic-kio",
		       what, name, size);
}

static void end_transfer(struct progress *p, const struct kio_options *o,
			 bool ok)
{
	double s = progress_seconds(p);

	progress_end(p);
	if (ok && !o->quiet)
		fprintf(stderr,
			"unic-kio: %s %s: %llu bytes in %.3f s, %.1f MiB/s\n",
			p->what, p->name, (unsigned long long)p->size, s,
			(double)p->size / s / MIB);
}

static int print_error(const char *name, int err, const char *hint)
{
	fprintf(stderr, "unic-kio: %s: %s%s\n", name, strerror(err), hint);
	return -1;
}

/* ----------------------------------------------------------------------- get */

/* Write the bytes at their offset, in any order; to a stream, in order. */
static int put_local(int fd, const char *name, const uint8_t *data,
		     uint32_t bytes, uint64_t offset, bool stream)
{
	ssize_t n;

	while (bytes) {
		n = stream ? write(fd, data, bytes)
			   : pwrite(fd, data, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return print_error(name, errno, "");
		data += n;
		bytes -= (uint32_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* A request without an answer. Answers come in any order. */
struct part {
	uint32_t seq; /* 0: none */
	uint32_t len;
	uint64_t offset;
};

struct window {
	struct part part[UNIC_CTL_KIO_OPEN];
	uint64_t done; /* bytes that were answered */
};

static struct part *part_of(struct window *w, uint32_t seq)
{
	uint32_t i;

	for (i = 0; i < UNIC_CTL_KIO_OPEN; i++)
		if (w->part[i].seq == seq)
			return &w->part[i];
	return NULL;
}

/* Request one more part. The caller has checked that @w has room. */
static int request_part(struct kio_options *o, struct window *w,
			struct kio_call *call)
{
	int64_t seq = kio_send(&o->peer, call);

	if (seq < 0)
		return -1;
	*part_of(w, 0) =
		(struct part){ (uint32_t)seq, call->len, call->offset };
	call->offset += call->len;
	return 0;
}

/* Wait for an answer. Its request leaves @w and is stored to *@part. */
static int recv_part(struct kio_options *o, struct window *w, const char *what,
		     struct unic_ctl_kio_reply *r, const uint8_t **data,
		     uint32_t *bytes, struct part *part)
{
	struct part *found;

	if (kio_recv(&o->peer, r, data, bytes) ||
	    kio_check(&o->peer, r, what, o->remote))
		return -1;
	found = part_of(w, unic_from_le32(r->hdr.seq));
	if (!found || !found->seq)
		return print_error(o->peer.socket, EPROTO,
				   ": an answer to nothing that was asked");
	*part = *found;
	found->seq = 0;
	return 0;
}

static int get_part(struct kio_options *o, struct window *w, int fd,
		    uint64_t size, struct progress *p, bool stream)
{
	struct unic_ctl_kio_reply r;
	const uint8_t *data;
	struct part part;
	uint32_t bytes;

	if (recv_part(o, w, "get", &r, &data, &bytes, &part))
		return -1;
	if (bytes != part.len || unic_from_le64(r.size) != size) {
		fprintf(stderr,
			"unic-kio: get %s:%s: it changes while it is read: try "
			"again\n",
			o->peer.host, o->remote);
		return -1;
	}
	if (put_local(fd, o->local, data, bytes, part.offset, stream)) {
		o->lost = fd == STDOUT_FILENO;
		return -1;
	}
	progress_show(p, w->done += bytes);
	return 0;
}

/* Get all parts: for a stream one after the other, else several at once. */
static int get_parts(struct kio_options *o, int fd, uint64_t size,
		     struct progress *p, bool stream)
{
	uint32_t most = stream ? 1 : UNIC_CTL_KIO_OPEN;
	struct kio_call call = { .what = UNIC_CTL_KIO_READ, .name = o->remote };
	struct window w = { 0 };

	while (call.offset < size || o->peer.open) {
		if (call.offset == size || o->peer.open == most) {
			if (get_part(o, &w, fd, size, p, stream))
				return -1;
			continue;
		}
		call.len = size - call.offset > CHUNK
				   ? CHUNK
				   : (uint32_t)(size - call.offset);
		if (request_part(o, &w, &call))
			return -1;
	}
	return 0;
}

static int get_to_fd(struct kio_options *o, int fd, bool stream)
{
	struct kio_call call = { .what = UNIC_CTL_KIO_STAT, .name = o->remote };
	struct unic_ctl_kio_reply r;
	struct progress p;
	const uint8_t *data;
	uint32_t bytes;
	int err;

	if (kio_simple(&o->peer, &call, "get", &r, &data, &bytes))
		return -1;
	begin_transfer(&p, o, "get", o->remote, unic_from_le64(r.size));
	err = get_parts(o, fd, p.size, &p, stream);
	end_transfer(&p, o, !err);
	return err;
}

/* Get a file, which takes its place when it is complete. */
static int do_get(struct kio_options *o)
{
	const char *name = target_file_name(o->remote);
	struct target_file t;
	int err;

	if (!o->local)
		o->local = (char *)(uintptr_t)name;
	if (!strcmp(o->local, "-"))
		return get_to_fd(o, STDOUT_FILENO, true);
	err = target_file_open(&t, o->local, name);
	if (err)
		return print_error(t.path, -err,
				   ": choose another place for the file");
	err = get_to_fd(o, t.fd, t.stream);
	if (!err) {
		err = target_file_keep(&t);
		if (err)
			err = print_error(t.path, -err, "");
	}
	target_file_close(&t);
	return err;
}

/* ----------------------------------------------------------------------- put */

static int put_part(struct kio_options *o, struct window *w, struct progress *p)
{
	struct unic_ctl_kio_reply r;
	const uint8_t *data;
	struct part part;
	uint32_t bytes;

	if (recv_part(o, w, "put", &r, &data, &bytes, &part))
		return -1;
	if (unic_from_le32(r.bytes) != part.len) {
		fprintf(stderr,
			"unic-kio: put %s:%s: %u of %u bytes were written: is "
			"there room on its disk?\n",
			o->peer.host, o->remote, unic_from_le32(r.bytes),
			part.len);
		return -1;
	}
	progress_show(p, w->done += part.len);
	return 0;
}

static int put_parts(struct kio_options *o, int fd, uint64_t size,
		     struct progress *p)
{
	struct kio_call call = { .what = UNIC_CTL_KIO_WRITE,
				 .name = o->remote };
	uint8_t buf[CHUNK];
	struct window w = { 0 };
	ssize_t n;

	call.data = buf;
	while (call.offset < size || o->peer.open) {
		if (call.offset == size || o->peer.open == UNIC_CTL_KIO_OPEN) {
			if (put_part(o, &w, p))
				return -1;
			continue;
		}
		n = pread(fd, buf, CHUNK, (off_t)call.offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return print_error(o->local, n ? errno : EIO,
					   ": it changes while it is sent");
		call.len = (uint64_t)n > size - call.offset
				   ? (uint32_t)(size - call.offset)
				   : (uint32_t)n;
		if (request_part(o, &w, &call))
			return -1;
	}
	return 0;
}

static int put_from_fd(struct kio_options *o, int fd, uint64_t size)
{
	struct kio_call cut = { .what = UNIC_CTL_KIO_CUT, .name = o->remote };
	struct unic_ctl_kio_reply r;
	struct progress p;
	const uint8_t *data;
	uint32_t bytes;
	int err;

	if (kio_simple(&o->peer, &cut, "put", &r, &data, &bytes))
		return -1;
	begin_transfer(&p, o, "put", o->remote, size);
	err = put_parts(o, fd, size, &p);
	cut.offset = size;
	if (!err)
		err = kio_simple(&o->peer, &cut, "put", &r, &data, &bytes);
	end_transfer(&p, o, !err);
	return err;
}

/* For HOST: and HOST:FOLDER/, append the name of the local file. */
static int put_name(struct kio_options *o)
{
	size_t n = strlen(o->remote);
	char *name;

	if (n && o->remote[n - 1] != '/')
		return 0;
	if (asprintf(&name, "%s%s", o->remote, target_file_name(o->local)) < 0)
		return print_error(o->local, ENOMEM, "");
	o->remote = name; /* never freed */
	return strlen(name) > UNIC_CTL_KIO_NAME_MAX
		       ? print_error(name, ENAMETOOLONG, "")
		       : 0;
}

static int do_put(struct kio_options *o)
{
	struct stat st;
	int fd, err;

	if (put_name(o))
		return -1;
	/* a FIFO is to be refused, not waited for */
	fd = open(o->local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return print_error(o->local, errno, "");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		fprintf(stderr, "unic-kio: %s: only plain files are sent\n",
			o->local);
		err = -1;
	} else {
		err = put_from_fd(o, fd, (uint64_t)st.st_size);
	}
	close(fd);
	return err;
}

/* ------------------------------------------------------------------------ ls */

/* Print a name of another host, without control characters. */
static void print_name(const uint8_t *name, uint32_t n, bool dir)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		putchar(name[i] < ' ' || name[i] == 127 ? '?' : name[i]);
	puts(dir ? "/" : "");
}

static int print_entries(const uint8_t *data, uint32_t bytes)
{
	const uint32_t head = UNIC_KIO_ENTRY_BYTES;
	struct unic_kio_entry e;

	while (bytes) {
		if (bytes < head)
			return -1;
		memcpy(&e, data, head);
		if (bytes - head < e.name_bytes)
			return -1;
		printf("%12llu  ", (unsigned long long)unic_from_le64(e.size));
		print_name(data + head, e.name_bytes, e.dir);
		data += head + e.name_bytes;
		bytes -= head + e.name_bytes;
	}
	return 0;
}

static int do_ls(struct kio_options *o)
{
	struct kio_call call = { .what = UNIC_CTL_KIO_LIST,
				 .len = CHUNK,
				 .name = o->remote };
	struct unic_ctl_kio_reply r;
	const uint8_t *data;
	uint32_t bytes;

	if (*o->remote && o->remote[strlen(o->remote) - 1] == '/')
		o->remote[strlen(o->remote) - 1] = '\0';
	do {
		if (kio_simple(&o->peer, &call, "ls", &r, &data, &bytes))
			return -1;
		if (print_entries(data, bytes))
			return print_error(o->peer.host, EPROTO,
					   ": that host lists what is no list");
		call.offset = unic_from_le64(r.size);
	} while (bytes);
	return 0;
}

static int do_state(struct kio_options *o)
{
	struct kio_call call = { .what = UNIC_CTL_KIO_STATE, .name = "" };
	struct unic_ctl_kio_reply r;
	const uint8_t *data;
	uint32_t bytes;

	o->peer.host = "here";
	if (kio_simple(&o->peer, &call, "state", &r, &data, &bytes))
		return -1;
	printf("window %u demand %llu done %u failed %u served %u data %s rdma "
	       "%u token %u\n",
	       unic_from_le32(r.window),
	       (unsigned long long)unic_from_le64(r.demand),
	       unic_from_le32(r.done), unic_from_le32(r.failed),
	       unic_from_le32(r.served),
	       unic_from_le32(r.bytes) == UNIC_CTL_KIO_RDMA ? "rdma" : "token",
	       unic_from_le32(r.rdma), unic_from_le32(r.token));
	return 0;
}

/* ---------------------------------------------------------------------- main */

static const struct kio_command commands[] = {
	{ "get", "stdq", do_get },
	{ "put", "stdq", do_put },
	{ "ls", "std", do_ls },
	{ "state", "st", do_state },
};

static int run_command(struct kio_options *o)
{
	int err;

	if (kio_open(&o->peer))
		return -1;
	err = o->command->run(o);
	kio_close(&o->peer);
	return err;
}

int main(int argc, char **argv)
{
	static struct kio_options o = {
		.commands = commands,
		.n_commands = sizeof(commands) / sizeof(commands[0]),
	}; /* too large for the stack */

	output_watch();
	kio_args_parse(&o, argc, argv);
	if (!run_command(&o))
		return 0;
	return o.lost ? EX_IOERR : EXIT_FAILURE;
}
