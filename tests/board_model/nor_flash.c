// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* nor_flash.c - see nor_flash.h. */
#include "nor_flash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"

#define PATH_BYTES 4096

static void count_marginal_pages(struct nor_flash *nor)
{
	nor->marginal_pages = 0;
	for (uint32_t page = 0; page < nor->bytes; page += nor->page_bytes)
		for (uint32_t i = 0; i < nor->page_bytes; i++)
			if (nor->marginal[page + i]) {
				nor->marginal_pages++;
				break;
			}
}

static void read_file(const char *path, uint8_t *bytes, uint32_t count)
{
	FILE *f = fopen(path, "rb");

	if (!f)
		return;
	if (fread(bytes, 1, count, f) != count && ferror(f))
		perror(path);
	fclose(f);
}

static void write_file(const char *path, const uint8_t *bytes, uint32_t count)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(bytes, 1, count, f) != count)
		perror(path);
	if (f)
		fclose(f);
}

static void name_marginal(const struct nor_flash *nor, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s.marginal", nor->path);
}

static void shake_read(void *arg, uint32_t off, uint32_t bytes)
{
	nor_shake(arg, off, bytes);
}

void nor_init(struct nor_flash *nor, struct board *board)
{
	uint32_t bytes = board->chip->flash_bytes;
	char path[PATH_BYTES];

	*nor = (struct nor_flash){
		.board = board,
		.path = board->options.flash,
		.bytes = bytes,
		.page_bytes = board->chip->page_bytes,
		.data = aligned_alloc(4096, bytes),
		.marginal = calloc(1, bytes),
		.target = malloc(board->chip->page_bytes),
	};
	if (!nor->data || !nor->marginal || !nor->target)
		abort();
	memset(nor->data, 0xff, bytes);
	if (nor->path) {
		read_file(nor->path, nor->data, bytes);
		name_marginal(nor, path);
		read_file(path, nor->marginal, bytes);
	}
	count_marginal_pages(nor);
	nor_shake(nor, 0, bytes);
	board_memory(board,
		     &(struct board_memory){ .bytes = bytes,
					     .host = nor->data,
					     .before_read = nor->marginal_pages
								    ? shake_read
								    : NULL,
					     .arg = nor });
}

static void begin_step(struct nor_flash *nor, uint32_t at, uint32_t size)
{
	nor->busy = true;
	nor->at = at;
	nor->size = size;
	nor->steps++;
	if (nor->steps == nor->board->options.power_cut) {
		nor->board->power_failed = true;
		cpu_look(nor->board->cpu);
	}
}

void nor_erase(struct nor_flash *nor, uint32_t at)
{
	memset(nor->target, 0xff, nor->page_bytes);
	begin_step(nor, at / nor->page_bytes * nor->page_bytes,
		   nor->page_bytes);
}

void nor_program(struct nor_flash *nor, uint32_t at, const uint32_t *data,
		 uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		nor->target[i] = nor->data[at + i] &
				 (uint8_t)(data[i / 4] >> 8 * (i & 3));
	begin_step(nor, at, bytes);
}

/* A bit that is programmed is a 0 that holds; one that is not stays as it was. */
static uint8_t left_marginal(const struct nor_flash *nor, uint32_t i)
{
	return nor->size == nor->page_bytes
		       ? 0
		       : nor->marginal[nor->at + i] & nor->target[i];
}

void nor_finish(struct nor_flash *nor)
{
	if (!nor->busy)
		return;
	nor->busy = false;
	for (uint32_t i = 0; i < nor->size; i++)
		nor->marginal[nor->at + i] = left_marginal(nor, i);
	memcpy(nor->data + nor->at, nor->target, nor->size);
	if (nor->marginal_pages)
		count_marginal_pages(nor);
	cpu_changed(nor->board->cpu, nor->at);
}

/* How far the step had come is random: of the bits that were to change some have
 * changed for good, some have not, the others are marginal. An erasing first takes
 * all bits of the page down. */
static uint8_t cut_byte(struct nor_flash *nor, uint32_t i, uint32_t far)
{
	uint8_t was = nor->data[nor->at + i], change, done, loose, out = was;
	bool erasing = nor->size == nor->page_bytes;

	change = erasing ? 0xff : was ^ nor->target[i];
	for (uint32_t bit = 0; bit < 8; bit++) {
		done = board_random(nor->board) % 100 < far;
		loose = board_random(nor->board) % 100 < 50;
		if (!(change >> bit & 1))
			continue;
		if (loose)
			nor->marginal[nor->at + i] |= (uint8_t)(1u << bit);
		if (done)
			out = (uint8_t)((out & ~(1u << bit)) |
					(nor->target[i] & 1u << bit));
	}
	return out;
}

void nor_cut(struct nor_flash *nor)
{
	uint32_t far = board_random(nor->board) % 101;

	if (!nor->busy)
		return;
	nor->busy = false;
	for (uint32_t i = 0; i < nor->size; i++)
		nor->data[nor->at + i] = cut_byte(nor, i, far);
	count_marginal_pages(nor);
	nor_shake(nor, nor->at, nor->size);
}

void nor_shake(struct nor_flash *nor, uint32_t at, uint32_t bytes)
{
	if (!nor->marginal_pages)
		return;
	for (uint32_t i = at; i < at + bytes && i < nor->bytes; i++)
		if (nor->marginal[i])
			nor->data[i] =
				(uint8_t)((nor->data[i] & ~nor->marginal[i]) |
					  (board_random(nor->board) &
					   nor->marginal[i]));
}

void nor_save(const struct nor_flash *nor)
{
	char path[PATH_BYTES];

	if (!nor->path)
		return;
	write_file(nor->path, nor->data, nor->bytes);
	name_marginal(nor, path);
	if (nor->marginal_pages)
		write_file(path, nor->marginal, nor->bytes);
	else
		unlink(path);
}
