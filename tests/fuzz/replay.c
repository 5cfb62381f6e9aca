/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * replay.c - main() of a harness without libFuzzer: runs each file of a corpus
 * once, every check in force. An input that breaks something ends it; its
 * name was the last to be printed.
 *
 * usage: fuzz_<name> FILE|DIRECTORY...
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "input.h"

#define BYTES_MAX (1u << 20)

static uint32_t passed;

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data, *exact;
	size_t n;

	if (!f) {
		perror(path);
		return -1;
	}
	data = malloc(BYTES_MAX);
	n = data ? fread(data, 1, BYTES_MAX, f) : 0;
	fclose(f);
	/* not a byte more than there is, so that a read beyond it is seen */
	exact = malloc(n ? n : 1);
	if (exact && data) {
		memcpy(exact, data, n);
		fprintf(stderr, "%s\n", path);
		LLVMFuzzerTestOneInput(exact, n);
		passed++;
	}
	free(exact);
	free(data);
	return 0;
}

static int folder(const char *path)
{
	struct dirent **list;
	int n = scandir(path, &list, NULL, by_name), i, err = 0;
	char name[512];

	if (n < 0)
		return file(path);
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.' && !err) {
			snprintf(name, sizeof(name), "%s/%s", path,
				 list[i]->d_name);
			err = file(name);
		}
		free(list[i]);
	}
	free(list);
	return err;
}

int main(int argc, char **argv)
{
	int i;

	setenv("FUZZ_REPLAY", "1", 1);
	for (i = 1; i < argc; i++)
		if (folder(argv[i]))
			return EXIT_FAILURE;
	printf("%u passed, 0 failed\n", passed);
	return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
