/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_dev.c - see ucma_dev.h. Secret: the files of the tree (tools/run_tree.c). */
#define _GNU_SOURCE
#include "ucma_dev.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH  512
#define WORDS 8 /* of a GID, 4 of a GUID: four hexadecimal digits each */

/* Read the line of a file of the tree, whose name is printed; false: there is none. */
__attribute__((format(printf, 3, 4))) static bool
read_line(char *out, size_t room, const char *fmt, ...)
{
	char path[PATH];
	bool ok;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(out, (int)room, f);
	fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

/* Parse @n words of four hexadecimal digits with colons between them. */
static bool parse_words(const char *text, unsigned int *word, int n)
{
	int i, used;

	for (i = 0; i < n; i++) {
		if (sscanf(text, "%4x%n", &word[i], &used) != 1)
			return false;
		text += used;
		text += *text == ':';
	}
	return !*text;
}

static bool read_dev(const char *sys, const char *name,
		     struct unic_ucma_dev *dev)
{
	unsigned int word[WORDS];
	char line[PATH];
	int i;

	if (!read_line(dev->where, sizeof(dev->where),
		       "%s/class/infiniband/%s/unic_where", sys, name) ||
	    !read_line(line, sizeof(line),
		       "%s/class/infiniband/%s/ports/1/gids/0", sys, name) ||
	    !parse_words(line, word, WORDS))
		return false;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	dev->ipv4 = word[6] << 16 | word[7];
	if (!read_line(line, sizeof(line), "%s/class/infiniband/%s/node_guid",
		       sys, name) ||
	    !parse_words(line, word, 4))
		return false;
	for (i = 0; i < 8; i++)
		dev->guid[i] = (uint8_t)(word[i / 2] >> (i % 2 ? 0 : 8));
	return true;
}

int unic_ucma_devs(const char *sys, struct unic_ucma_dev dev[UNIC_UCMA_DEVICES])
{
	char name[UNIC_UCMA_NAME];
	int i, n = 0;

	for (i = 0; n < UNIC_UCMA_DEVICES && read_line(name, sizeof(name),
						       "%s/class/"
						       "infiniband_verbs/"
						       "uverbs%d/ibdev",
						       sys, i);
	     i++)
		n += read_dev(sys, name, &dev[n]);
	return n;
}
