/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * end WHERE BYTES - one end of transfers between unic and a foreign peer. Does commands of
 * its standard input, one a line, and answers each with a line. Two programs are made of
 * it: interop-verbs (WHERE is a device of libibverbs) and interop-unic (a socket of unicd).
 * Run by rxe_ends.py, which says what goes where; here bytes are made and compared.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "end.h"

#define BLOCK 4096u

static struct end_arena arena;
static enum end_type type;

/* ------------------------------------------------------------------ bytes */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Bytes @at to @at + BLOCK of the pattern @seed; @at is a multiple of BLOCK. */
static void make_block(uint64_t seed, uint64_t at, uint8_t *out)
{
	uint64_t word, i;

	for (i = 0; i < BLOCK / 8; i++) {
		word = mix(seed * 0x9e3779b97f4a7c15u + at / 8 + i);
		memcpy(out + 8 * i, &word, 8);
	}
}

/* Write bytes @from... of the pattern @seed to [@off, @off + @len) of the arena. */
static void put(uint64_t seed, uint64_t from, uint64_t off, uint64_t len)
{
	uint8_t block[BLOCK];
	uint64_t skip, n;

	for (; len; from += n, off += n, len -= n) {
		skip = from % BLOCK;
		n = len < BLOCK - skip ? len : BLOCK - skip;
		make_block(seed, from - skip, block);
		memcpy(arena.mem + off, block + skip, n);
	}
}

/* The first byte of [@off, @off + @len) that is not that of the pattern, or @off + @len. */
static uint64_t differs(uint64_t seed, uint64_t from, uint64_t off,
			uint64_t len)
{
	uint8_t block[BLOCK];
	uint64_t skip, n, i;

	for (; len; from += n, off += n, len -= n) {
		skip = from % BLOCK;
		n = len < BLOCK - skip ? len : BLOCK - skip;
		make_block(seed, from - skip, block);
		if (!memcmp(arena.mem + off, block + skip, n))
			continue;
		for (i = 0; arena.mem[off + i] == block[skip + i];)
			i++;
		return off + i;
	}
	return off;
}

static void must_fit(uint64_t off, uint64_t len)
{
	OK(off <= arena.bytes && len <= arena.bytes - off);
}

/* --------------------------------------------------------------- commands */

/* A number of the command line, in any base that C has. */
static uint64_t number(void)
{
	const char *word = strtok(NULL, " \n");

	OK(word);
	return strtoull(word, NULL, 0);
}

/* fill SEED SIZE: the background */
static void fill(void)
{
	uint64_t seed = number(), size = number();

	must_fit(0, size);
	put(seed, 0, 0, size);
	puts("ok");
}

/* put SEED OFF LEN: a message */
static void put_message(void)
{
	uint64_t seed = number(), off = number(), len = number();

	must_fit(off, len);
	put(seed, 0, off, len);
	puts("ok");
}

/* check BACKGROUND SIZE SEED OFF LEN: a message is at OFF, and nothing else has changed */
static void check(void)
{
	uint64_t back = number(), size = number(), seed = number();
	uint64_t off = number(), len = number(), end = off + len, at;

	must_fit(0, size);
	must_fit(off, len);
	at = differs(back, 0, 0, off);
	if (at == off)
		at = differs(seed, 0, off, len);
	if (at == end)
		at = differs(back, end, end, size - end);
	if (at == size)
		puts("ok");
	else
		printf("byte %" PRIu64 " of the arena is wrong: %02x\n", at,
		       arena.mem[at]);
}

/* same SEED FROM OFF LEN: bytes FROM... of a message are at OFF */
static void same(void)
{
	uint64_t seed = number(), from = number(), off = number();
	uint64_t len = number();

	must_fit(off, len);
	puts(differs(seed, from, off, len) == off + len ? "ok" : "differs");
}

/* peek OFF LEN: in hexadecimal digits */
static void peek(void)
{
	uint64_t off = number(), len = number(), i;

	must_fit(off, len);
	for (i = 0; i < len; i++)
		printf("%02x", arena.mem[off + i]);
	putchar('\n');
}

/* poke OFF VALUE: 8 bytes, in the byte order of the host */
static void poke(void)
{
	uint64_t off = number(), value = number();

	must_fit(off, sizeof(value));
	memcpy(arena.mem + off, &value, sizeof(value));
	puts("ok");
}

/* word OFF: 8 bytes, as a number */
static void word_at(void)
{
	uint64_t off = number(), value;

	must_fit(off, sizeof(value));
	memcpy(&value, arena.mem + off, sizeof(value));
	printf("%" PRIu64 "\n", value);
}

/* qp rc|uc|ud */
static void qp(void)
{
	const char *word = strtok(NULL, " \n");

	OK(word);
	type = !strcmp(word, "rc")		? END_RC
	       : *word == 'u' && word[1] == 'c' ? END_UC
						: END_UD;
	printf("%u\n", end_create_qp(type));
}

static uint32_t address(void)
{
	const char *word = strtok(NULL, " \n");
	struct in_addr in;

	OK(word && inet_pton(AF_INET, word, &in) == 1);
	return ntohl(in.s_addr);
}

/* connect IPV4 QPN MTU RQ_PSN SQ_PSN RNR_TIMER TIMEOUT RETRY RNR_RETRY READS */
static void connect_qp(void)
{
	struct end_conn c = { .ipv4 = address() };

	c.qpn = (uint32_t)number();
	c.mtu = (uint32_t)number();
	c.rq_psn = (uint32_t)number();
	c.sq_psn = (uint32_t)number();
	c.rnr_timer = (uint32_t)number();
	c.timeout = (uint32_t)number();
	c.retry = (uint32_t)number();
	c.rnr_retry = (uint32_t)number();
	c.reads = (uint32_t)number();
	end_connect(&c);
	puts("ok");
}

static enum end_op op_of(const char *word)
{
	static const char *const names[] = {
		[END_SEND] = "send",
		[END_SEND_IMM] = "send_imm",
		[END_SEND_INV] = "send_inv",
		[END_WRITE] = "write",
		[END_WRITE_IMM] = "write_imm",
		[END_READ] = "read",
		[END_CAS] = "cas",
		[END_FAA] = "faa",
	};
	unsigned int i;

	for (i = 0; word && i < END_OPS; i++)
		if (!strcmp(word, names[i]))
			return (enum end_op)i;
	OK(!"an operation");
	return END_OPS;
}

/* send OP ID OFF LEN REMOTE RKEY IMM OPERAND SWAP IPV4 */
static void post_send(void)
{
	struct end_wr wr = { .op = op_of(strtok(NULL, " \n")) };

	wr.id = number();
	wr.off = number();
	wr.len = (uint32_t)number();
	wr.remote = number();
	wr.rkey = (uint32_t)number();
	wr.imm = (uint32_t)number();
	wr.operand = number();
	wr.swap = number();
	wr.ipv4 = address();
	must_fit(wr.off, wr.len);
	printf("%d\n", end_post_send(&wr));
}

/* recv ID OFF LEN */
static void post_recv(void)
{
	uint64_t id = number(), off = number(), len = number();

	must_fit(off, len);
	printf("%d\n", end_post_recv(id, off, (uint32_t)len));
}

/* window ID OFF LEN */
static void bind_window(void)
{
	uint64_t id = number(), off = number(), len = number();

	must_fit(off, len);
	printf("%u\n", end_bind_window(id, off, (uint32_t)len));
}

/* poll MS: "none", or ID STATUS BYTES IMM|- INVALIDATED|- GRH SENDER */
static void poll_cq(void)
{
	struct end_wc wc;

	if (!end_poll((int)number(), &wc)) {
		puts("none");
		return;
	}
	printf("%" PRIu64 " %s %u ", wc.id, wc.status, wc.bytes);
	if (wc.with_imm)
		printf("%u ", wc.imm);
	else
		printf("- ");
	if (wc.with_inv)
		printf("%u ", wc.imm);
	else
		printf("- ");
	printf("%d %u\n", wc.grh, wc.src_qp);
}

static void drop_window(void)
{
	end_free_window();
	puts("ok");
}

static void drop_qp(void)
{
	end_destroy_qp();
	puts("ok");
}

static const struct {
	const char *name;
	void (*run)(void);
} commands[] = {
	{ "fill", fill },
	{ "put", put_message },
	{ "check", check },
	{ "same", same },
	{ "peek", peek },
	{ "poke", poke },
	{ "word", word_at },
	{ "qp", qp },
	{ "connect", connect_qp },
	{ "send", post_send },
	{ "recv", post_recv },
	{ "window", bind_window },
	{ "unwindow", drop_window },
	{ "poll", poll_cq },
	{ "drop", drop_qp },
};

static void run(char *line)
{
	const char *name = strtok(line, " \n");
	unsigned int i;

	for (i = 0; name && i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(name, commands[i].name))
			continue;
		commands[i].run();
		return;
	}
	puts("failed: no such command");
}

int main(int argc, char **argv)
{
	char line[256];

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	end_open(argv[1], strtoull(argv[2], NULL, 0), &arena);
	printf("ready %" PRIu64 " %u %d\n", arena.remote, arena.rkey,
	       arena.atomics);
	while (fgets(line, sizeof(line), stdin))
		run(line);
	return 0;
}
