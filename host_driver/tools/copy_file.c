/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

static int fail_file(const char *path, int err)
{
	return unic_fail(-err, "%s: %s", path, strerror(err));
}

static int init_digest(struct copy_file *f)
{
	f->done = 0;
	f->sha = EVP_MD_CTX_new();
	if (!f->sha || EVP_DigestInit_ex(f->sha, EVP_sha256(), NULL) != 1) {
		copy_file_close(f);
		return fail_file("SHA-256", ENOMEM);
	}
	return 0;
}

int copy_file_read(struct copy_file *f, const char *path)
{
	struct stat st;

	memset(f, 0, sizeof(*f));
	/* a FIFO is to be refused, not waited for */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return fail_file(path, errno);
	if (fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		copy_file_close(f);
		return unic_fail(-EINVAL, "%s: only plain files are sent",
				 path);
	}
	f->size = (uint64_t)st.st_size;
	return init_digest(f);
}

int copy_file_write(struct copy_file *f, const char *path, const char *name,
		    uint64_t size)
{
	int err;

	memset(f, 0, sizeof(*f));
	err = name ? target_file_open(&f->target, path, name)
		   : target_file_new(&f->target, path);
	f->fd = f->target.fd;
	f->written = true;
	if (err)
		return fail_file(path, -err);
	f->size = size;
	return init_digest(f);
}

int copy_file_get(struct copy_file *f, void *buf, size_t len)
{
	size_t n = 0;

	if (!f->sha)
		return fail_file("read behind the end", EPROTO);
	while (n < len) {
		ssize_t got = read(f->fd, (char *)buf + n, len - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return fail_file("read", got ? errno : EIO);
		n += (size_t)got;
	}
	EVP_DigestUpdate(f->sha, buf, len);
	f->done += len;
	return 0;
}

int copy_file_put(struct copy_file *f, const void *buf, size_t len)
{
	size_t n = 0;

	if (!f->sha)
		return fail_file("written behind the end", EPROTO);
	while (n < len) {
		ssize_t put = write(f->fd, (const char *)buf + n, len - n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail_file("write", errno);
		n += (size_t)put;
	}
	EVP_DigestUpdate(f->sha, buf, len);
	f->done += len;
	return 0;
}

void copy_file_digest(struct copy_file *f, uint8_t out[COPY_DIGEST])
{
	if (f->sha)
		EVP_DigestFinal_ex(f->sha, f->digest, NULL);
	EVP_MD_CTX_free(f->sha);
	f->sha = NULL;
	memcpy(out, f->digest, COPY_DIGEST);
}

int copy_file_keep(struct copy_file *f)
{
	int err = target_file_keep(&f->target);

	f->fd = -1;
	return err ? fail_file(f->target.path, -err) : 0;
}

void copy_file_close(struct copy_file *f)
{
	EVP_MD_CTX_free(f->sha);
	f->sha = NULL;
	if (f->written)
		target_file_close(&f->target);
	else if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
