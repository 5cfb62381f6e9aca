/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mps2_selftest.c - bring-up test of `mps2-an385`: everything below
 * hal/unic_port.h, in the real QEMU, with test_mps2.py as the host. The core is
 * not linked.
 *
 * A page of the mailbox memory carries the conversation, semihosting the verdicts;
 * the last word of the command line says what is to go wrong at the end.
 */
#include <string.h>

#include "board.h"
#include "crash.h"
#include "machine.h"
#include "memlayout.h"
#include "semihost.h"

#define TALK_OFF 0xd0000u /* in the mailbox memory; free in the real layout */
#define RINGS	 500u
#define FRAMES	 200u
#define PATIENCE 10000000000u /* ns, for what takes milliseconds at most */

/* Words that one side writes. */
struct talk {
	uint32_t rings; /* host: doorbells rung, written before each */
	uint32_t step;	/* NIC: what it does now */
	uint32_t seen;	/* NIC: last value of rings it saw */
};

static struct unic_port *port;
static struct talk *talk;
static uint32_t failures;

extern uint32_t __data_start[], __stack_limit[];

void crash_details(struct unic_crash *record)
{
	record->epoch = unic_to_le32(4711);
}

static void check(const char *name, bool ok)
{
	semihost_puts(ok ? "ok " : "FAIL ");
	semihost_puts(name);
	semihost_puts("\n");
	failures += !ok;
}

static uint64_t now(void)
{
	return unic_port_now_ns(port);
}

static void step(uint32_t number)
{
	unic_wmb();
	UNIC_WRITE_ONCE(talk->step, number);
}

/* --------------------------------------------------------------- memory */

static uint32_t word_at(uint64_t bus)
{
	uint32_t word = 0;

	if (unic_port_dma(port, UNIC_DMA_FROM_HOST, bus, &word, 4, 0))
		return 0;
	return word;
}

static bool refused(uint64_t bus, uint32_t len)
{
	uint8_t bytes[64];

	return unic_port_dma(port, UNIC_DMA_FROM_HOST, bus, bytes, len, 0) ==
		       UNIC_PORT_EFAULT &&
	       unic_port_dma(port, UNIC_DMA_TO_HOST, bus, bytes, len, 0) ==
		       UNIC_PORT_EFAULT &&
	       !unic_port_window(port, bus, len);
}

static void test_windows(void)
{
	bool whole = true, closed = true;

	for (uint32_t i = 0; i < UNIC_PROCS; i++) {
		uint64_t end = UNIC_BUS(i, MPS2_SLOT_BYTES);

		whole = whole && word_at(UNIC_BUS(i, 0)) == 0x57000000 + i &&
			word_at(end - 4) == 0x58000000 + i;
		closed = closed && refused(end - 3, 4) && refused(end, 1) &&
			 refused(UNIC_BUS(i, 0xffffffffff), 64);
	}
	check("window k is slot k, whole", whole);
	check("no window reaches beyond its slot", closed);
	check("nor is there another one", refused(UNIC_BUS(UNIC_PROCS, 0), 4));
	check("doorbell pages are inside of a window",
	      unic_port_doorbells(port, UNIC_BUS(0, 0)) &&
		      !unic_port_doorbells(port, UNIC_BUS(0, 16)) &&
		      !unic_port_doorbells(
			      port, UNIC_BUS(0, MPS2_SLOT_BYTES - 4096)));
}

static void test_copies(void)
{
	static uint8_t from[300], back[300];
	bool same = true;

	for (uint32_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + 1);
	for (uint32_t len = 1; len <= 200; len++) {
		uint64_t bus = UNIC_BUS(1, 8192 + len % 9);

		memset(back, 0, sizeof(back));
		unic_port_dma(port, UNIC_DMA_TO_HOST, bus, from + len % 5, len,
			      0);
		unic_port_dma(port, UNIC_DMA_FROM_HOST, bus, back, len, 0);
		same = same && !memcmp(back, from + len % 5, len) && !back[len];
	}
	check("bytes go there and back", same);
}

static bool all(const uint8_t *p, uint32_t n, uint8_t byte)
{
	while (n--)
		if (*p++ != byte)
			return false;
	return true;
}

/* mem.S, at all lengths and alignments that its code distinguishes. */
static bool mem_right(uint32_t to, uint32_t from, uint32_t n)
{
	static uint8_t a[200], b[200];

	for (uint32_t i = 0; i < sizeof(a); i++)
		a[i] = (uint8_t)(i * 11 + 3);
	memset(b, 0xee, sizeof(b));
	if (memcpy(b + to, a + from, n) != b + to || !all(b, to, 0xee) ||
	    !all(b + to + n, sizeof(b) - to - n, 0xee))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (b[to + i] != a[from + i])
			return false;
	if (memcmp(b + to, a + from, n))
		return false;
	if (n &&
	    (b[to + n - 1] ^= 0x80, (memcmp(b + to, a + from, n) > 0) !=
					    (b[to + n - 1] > a[from + n - 1])))
		return false;
	memset(b + to, 0x5a, n);
	if (!all(b + to, n, 0x5a) || !all(b, to, 0xee) ||
	    !all(b + to + n, sizeof(b) - to - n, 0xee))
		return false;
	memmove(a + to, a + from, n); /* the ranges overlap */
	for (uint32_t i = 0; i < n; i++)
		if (a[to + i] != (uint8_t)((from + i) * 11 + 3))
			return false;
	return true;
}

static void test_mem(void)
{
	bool right = true;

	for (uint32_t to = 0; to < 5; to++)
		for (uint32_t from = 0; from < 9; from++)
			for (uint32_t n = 0; n < 150; n++)
				right = right && mem_right(to, from, n);
	check("mem*() are right", right);
}

/* ----------------------------------------------------- time and doorbells */

/* The least of some: the host may put this machine aside, but not each time. */
static uint64_t least_sleep_ns(int64_t ns)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < 10; i++) {
		uint64_t start = now(), until = start + (uint64_t)ns, took;

		do
			machine_sleep(port, until);
		while (now() < until);
		took = now() - start;
		if (took < least)
			least = took;
	}
	return least;
}

static void test_sleep(void)
{
	check("5 ms of sleep are 5 ms", least_sleep_ns(5000000) < 50000000);
	check("until the past is not at all", least_sleep_ns(-1) < 5000000);
}

/* A ring that is slept through ends one sleep at its limit. */
static void test_doorbells(void)
{
	bool late = false;

	step(1);
	for (uint32_t n = 1; n <= RINGS; n++) {
		uint64_t until = now() + PATIENCE;

		while (UNIC_READ_ONCE(talk->rings) < n && !late) {
			machine_sleep(port, until);
			late = now() >= until;
		}
		UNIC_WRITE_ONCE(talk->seen, n);
	}
	check("no doorbell is slept through", !late);
	step(2);
	for (uint32_t v = 0; v <= UNIC_PROCS; v++)
		unic_port_ring(port, v);
	unic_port_ring(port, UNIC_PROCS + 1); /* no such vector */
	for (uint32_t i = 0; i < 100; i++)
		machine_turn(port);
}

/* ------------------------------------------------------------------- link */

static bool send_frame(uint32_t n, const struct unic_link *link)
{
	uint32_t len = n % 7 ? 60 + n * 37 % 1400 : link->max_frame;
	uint8_t *frame = unic_port_tx_get(port, 0);

	if (!frame || (uintptr_t)frame % 4 != 2)
		return false;
	memset(frame, 0xff, 6);
	memcpy(frame + 6, link->mac, 6);
	for (uint32_t i = 12; i < len; i++)
		frame[i] = (uint8_t)(n + i);
	unic_port_tx_put(port, frame, len, 0);
	unic_port_tx_flush(port);
	return true;
}

/* The host sends each frame back with the addresses swapped. */
static bool right(const struct unic_rx *rx, uint32_t n, uint32_t max)
{
	uint32_t len = n % 7 ? 60 + n * 37 % 1400 : max;

	if ((uintptr_t)rx->frame % 4 != 2 || rx->len != len)
		return false;
	for (uint32_t i = 12; i < len; i++)
		if (rx->frame[i] != (uint8_t)(n + i))
			return false;
	return true;
}

/* Sleeps as the core does: arm, look once more, sleep. */
static bool await_frame(struct unic_rx *rx)
{
	uint64_t until = now() + PATIENCE;

	for (;;) {
		if (unic_port_rx_next(port, rx))
			return true;
		if (now() >= until)
			return false;
		unic_port_rx_arm(port, true);
		if (!unic_port_rx_ready(port))
			machine_sleep(port, until);
		unic_port_rx_arm(port, false);
	}
}

static void test_link(void)
{
	uint8_t *held[UNIC_TX_BUFS];
	struct unic_link link;
	struct unic_rx rx;
	uint32_t n = 0, good = 0;

	unic_port_link(port, &link);
	check("the link is up, and big enough for a path MTU of 1024",
	      link.up && link.max_frame >= 1090);
	while (n < UNIC_TX_BUFS && (held[n] = unic_port_tx_get(port, 0)))
		n++;
	check("a buffer to send at least", n > 0);
	while (n--)
		unic_port_tx_put(port, held[n], 0, 0);
	step(3);
	for (n = 0; n < FRAMES; n++) {
		if (!send_frame(n, &link) || !await_frame(&rx))
			break;
		good += right(&rx, n, link.max_frame);
		unic_port_rx_done(port);
	}
	check("every frame there and back, woken by each", good == FRAMES);
	check("and nothing more", !unic_port_rx_next(port, &rx));
}

/* ---------------------------------------------------------------- faults */

static __attribute__((noinline)) uint32_t deeper(uint32_t n)
{
	volatile uint32_t room[64];

	room[n % 64] = n;
	return n ? deeper(n - 1) + room[n % 64] : 0;
}

int main(void);

/* Not inlined: the compiler would see that the address is not memory. */
static __attribute__((noinline)) void poke(uintptr_t at)
{
	*(volatile uint32_t *)at = 1;
}

static void go_wrong(const char *how)
{
	if (!strcmp(how, "code"))
		poke((uintptr_t)main & ~3u);
	else if (!strcmp(how, "table")) /* a constant one: the vectors */
		poke(MPS2_CODE + 4);
	else if (!strcmp(how, "data"))
		((void (*)(void))((uintptr_t)__data_start | 1))();
	else if (!strcmp(how, "shared"))
		((void (*)(void))((uintptr_t)talk | 1))();
	else if (!strcmp(how, "guard"))
		poke((uintptr_t)__stack_limit - 4);
	else if (!strcmp(how, "stack"))
		semihost_dec(deeper(100000));
	else if (!strcmp(how, "wild"))
		poke(0x60000000);
	else if (!strcmp(how, "panic"))
		unic_port_panic(port, "a/b.c", 99);
}

int main(void)
{
	static char line[256];
	const char *how = semihost_word(line, sizeof(line)), *why;

	port = machine_start(&why);
	if (!port) {
		semihost_puts(why);
		semihost_exit(2);
	}
	talk = (struct talk *)((uint8_t *)unic_port_bar(port) + TALK_OFF);
	go_wrong(how);
	test_windows();
	test_copies();
	test_mem();
	test_sleep();
	test_doorbells();
	test_link();
	semihost_exit(failures ? 1 : 0);
}
