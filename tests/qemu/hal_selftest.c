/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hal_selftest.c - bring-up test of the board `virt`: everything below
 * hal/unic_port.h, in the real QEMU, with hal_selftest.py as the host. The core
 * is not linked.
 *
 * A page of the mailbox memory carries the conversation. Words on the semihosting
 * console: "ok <name>", "FAIL <name>", "fact <name> <number>".
 */
#include <string.h>

#include "board.h"
#include "crash.h"
#include "memlayout.h"
#include "port.h"
#include "semihost.h"
#include "unic_mbox.h"

#define TALK_OFF    0xd0000u /* in the mailbox memory; free in the real layout */
#define PATIENCE_NS 10000000000u /* for what takes milliseconds at most */

enum mode {
	MODE_CHECK = 1,
	MODE_COUNT = 2,	  /* under -icount: instructions of unic_port_dma() */
	MODE_COPY = 3,	  /* bulk copy with and without refresh of the TLB */
	MODE_NOTHING = 4, /* start and end well */
	MODE_ASSERT = 10,
	MODE_UNDEF = 11,
	MODE_PREFETCH = 12,
	MODE_DATA = 13,
	MODE_STACK = 14,
	MODE_TEXT = 15, /* a write to the image's code */
};

struct talk {
	uint32_t mode;	  /* host, before the start */
	uint32_t windows; /* host: how many DMA windows there are */
	uint32_t link;	  /* host: enum virt_link */
	uint32_t rings;	  /* host: doorbells rung, written before each */
	uint32_t step;	  /* NIC: what it does now */
	uint32_t seen;	  /* NIC: last value of rings it saw */
	uint32_t asleep;  /* NIC: about to sleep */
};

static struct unic_port port;
static struct talk *talk;
static uint32_t failures;

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

static void fact(const char *name, uint64_t value)
{
	semihost_puts("fact ");
	semihost_puts(name);
	semihost_puts(" ");
	semihost_dec(value);
	semihost_puts("\n");
}

static uint64_t now(void)
{
	return unic_port_now_ns(&port);
}

static void step(uint32_t number)
{
	unic_wmb();
	UNIC_WRITE_ONCE(talk->step, number);
}

/* ------------------------------------------------------------------- PCI */

static void test_pci(void)
{
	bool apart = true;

	check("pci: every DMA window found", port.dma.count == talk->windows);
	check("pci: link of the kind given", port.link == talk->link);
	check("pci: mailbox aligned", !((uintptr_t)port.bar & 4095));
	for (uint32_t i = 0; i < port.dma.count; i++) {
		uintptr_t base = (uintptr_t)port.dma.window[i].base;
		uint32_t tag[2] = { 0, 0 };
		uint32_t bytes = port.dma.window[i].bytes;

		if (base < VIRT_PCI_MEM || base + bytes > VIRT_PCI_REGS)
			apart = false;
		unic_port_dma(&port, UNIC_DMA_FROM_HOST, UNIC_BUS(i, 0),
			      &tag[0], 4, 0);
		unic_port_dma(&port, UNIC_DMA_FROM_HOST, UNIC_BUS(i, bytes - 4),
			      &tag[1], 4, 0);
		if (tag[0] != 0x57000000 + i || tag[1] != 0x58000000 + i)
			apart = false;
	}
	check("pci: window k is the k-th device, whole", apart);
}

static void test_bar(void)
{
	uint32_t *word = (uint32_t *)(port.bar + 0xe0000);

	for (uint32_t i = 0; i < 4096; i++)
		word[i] = i * 2654435761u;
	step(1); /* the host checks and inverts */
	for (uint64_t until = now() + PATIENCE_NS; now() < until;)
		if (UNIC_READ_ONCE(word[4095]) == ~(4095 * 2654435761u))
			break;
	check("bar: written here, changed there",
	      word[0] == ~0u && word[4095] == ~(4095 * 2654435761u));
}

/* ----------------------------------------------------------- sleep, time */

static void test_timer(void)
{
	uint64_t start, late = 0, least = UINT64_MAX, before = now();
	bool early = false;

	for (uint32_t i = 0; i < 20; i++) {
		uint64_t slept;

		start = now();
		virt_port_sleep(&port, start + 2000000);
		slept = now() - start;
		early |= slept < 2000000;
		if (slept > late)
			late = slept;
	}
	check("timer: never wakes early when nothing happens", !early);
	check("timer: wakes", now() - before < PATIENCE_NS);
	fact("timer_2ms_worst_ns", late);
	/* the host may put this machine aside for a while, but not each time */
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t took;

		start = now();
		virt_port_sleep(&port, start - 1);
		took = now() - start;
		if (took < least)
			least = took;
	}
	check("timer: a deadline in the past does not sleep", least < 1000000);
}

/* One doorbell: sleep until the host has rung again. */
static bool await_ring(uint32_t expect, uint64_t patience_ns, bool *timed_out)
{
	uint64_t until = now() + patience_ns;

	UNIC_WRITE_ONCE(talk->asleep, expect);
	unic_mb();
	while (UNIC_READ_ONCE(talk->rings) < expect) {
		virt_port_sleep(&port, until);
		if (now() >= until) {
			*timed_out = true;
			return UNIC_READ_ONCE(talk->rings) >= expect;
		}
	}
	return true;
}

/* About as long as the host takes to ring again, so that it hits any instant. */
static void linger(uint32_t random_ns)
{
	for (uint64_t until = now() + random_ns; now() < until;)
		;
}

static void test_doorbells(void)
{
	uint32_t count = 0;
	bool timed_out = false;

	step(2);
	for (uint32_t v = 0; v < 1 + UNIC_PROCS; v++)
		count += await_ring(++talk->seen, PATIENCE_NS, &timed_out);
	check("doorbell: each vector wakes", count == 1 + UNIC_PROCS);
	check("doorbell: none lost", !timed_out);

	/* the host rings at random instants around the NIC's falling asleep */
	step(3);
	timed_out = false;
	for (count = 0; count < 3000 && !timed_out; count++) {
		if (!await_ring(++talk->seen, PATIENCE_NS, &timed_out))
			break;
		unic_port_ring(&port, count % (1 + UNIC_PROCS));
		linger(count * 2654435761u >> 16);
	}
	check("doorbell: 3000 races with falling asleep", !timed_out);
	unic_port_ring(&port, 12345); /* ignored */
	step(4);
}

/* ------------------------------------------------------------------- DMA */

static uint8_t local[8192 + 64], back[8192 + 64];

static bool dma_same(uint32_t off, uint32_t skew, uint32_t len)
{
	memset(back, 0xee, sizeof(back));
	if (unic_port_dma(&port, UNIC_DMA_TO_HOST, UNIC_BUS(0, off),
			  local + skew, len, 0) ||
	    unic_port_dma(&port, UNIC_DMA_FROM_HOST, UNIC_BUS(0, off),
			  back + skew, len, 0))
		return false;
	return !memcmp(back + skew, local + skew, len) &&
	       (!skew || back[skew - 1] == 0xee) && back[skew + len] == 0xee;
}

static void test_dma_copy(void)
{
	uint8_t *host = port.dma.window[0].base;
	bool same = true, inside = true;

	for (uint32_t i = 0; i < sizeof(local); i++)
		local[i] = (uint8_t)(i * 31 + i / 256);
	for (uint32_t len = 1; len <= 200; len++)
		for (uint32_t skew = 0; skew < 8; skew++) {
			uint32_t off = 4096 + len % 16;

			memset(host + 4000, 0xdd, 500);
			same &= dma_same(off, skew, len);
			inside &= host[off - 1] == 0xdd &&
				  host[off + len] == 0xdd;
		}
	same &= dma_same(8192, 0, 4096) && dma_same(8192, 3, 8191) &&
		dma_same(8192, 0, UNIC_DMA_MAX);
	check("dma: every length and alignment", same);
	check("dma: not a byte more", inside);
}

static bool dma_refused(uint64_t bus, uint32_t len)
{
	return unic_port_dma(&port, UNIC_DMA_FROM_HOST, bus, back, len, 0) ==
		       UNIC_PORT_EFAULT &&
	       unic_port_dma(&port, UNIC_DMA_TO_HOST, bus, back, len, 0) ==
		       UNIC_PORT_EFAULT;
}

static void test_dma_bounds(void)
{
	uint32_t bytes = port.dma.window[0].bytes;

	back[0] = 0xee;
	unic_port_dma(&port, UNIC_DMA_FROM_HOST, UNIC_BUS(0, 0), back, 0, 0);
	check("dma: 0 bytes move nothing", back[0] == 0xee);
	check("dma: last byte allowed",
	      !unic_port_dma(&port, UNIC_DMA_FROM_HOST, UNIC_BUS(0, bytes - 1),
			     back, 1, 0));
	check("dma: past the end refused",
	      dma_refused(UNIC_BUS(0, bytes - 1), 2) &&
		      dma_refused(UNIC_BUS(0, bytes), 1));
	check("dma: wrap refused",
	      dma_refused(0xfffffff0, 32) &&
		      dma_refused(0xffffffffffffffffull, 8192));
	check("dma: offset above 4 GiB refused",
	      dma_refused(UNIC_BUS(0, 1ull << 32), 8));
	check("dma: no such window refused",
	      dma_refused(UNIC_BUS(port.dma.count, 0), 8) &&
		      dma_refused(UNIC_BUS(0xffff, 0), 8));
	check("doorbells: inside", unic_port_doorbells(&port, UNIC_BUS(1, 0)) ==
					   port.dma.window[1].base);
	check("doorbells: crooked or outside refused",
	      !unic_port_doorbells(&port, UNIC_BUS(0, 8)) &&
		      !unic_port_doorbells(&port, UNIC_BUS(0, bytes - 4096)) &&
		      !unic_port_doorbells(&port, UNIC_BUS(99, 0)));
}

/* --------------------------------------------------------------- entropy */

static void test_entropy(void)
{
	uint8_t a[32], b[32];
	uint32_t got = 0;
	bool differ;

	check("entropy: there at once",
	      unic_port_entropy(&port, a, sizeof(a)) == sizeof(a));
	unic_port_entropy(&port, b, sizeof(b));
	differ = memcmp(a, b, sizeof(a)) && memcmp(a, "\0\0\0\0\0\0\0\0", 8);
	check("entropy: not twice the same", differ);
	for (uint64_t until = now() + PATIENCE_NS; got < 4096 && now() < until;)
		got += unic_port_entropy(&port, a, sizeof(a));
	check("entropy: refills", got >= 4096);
}

/* ------------------------------------------------------------------ link */

#define FRAMES 400u

static uint32_t frame_len(uint32_t n, uint32_t max)
{
	return n % 7 ? 60 + n * 37 % (max - 60) : max;
}

static bool send_frame(uint32_t n, const struct unic_link *link, uint32_t path)
{
	uint8_t *frame = unic_port_tx_get(&port, path);
	uint32_t len = frame_len(n, link->max_frame);

	if (!frame)
		return false;
	memset(frame, 0xff, 6);
	memcpy(frame + 6, link->mac, 6);
	for (uint32_t i = 12; i < len; i++)
		frame[i] = (uint8_t)(n + i);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	memcpy(frame + 14, &n, 4);
	unic_port_tx_put(&port, frame, len, 0);
	unic_port_tx_flush(&port);
	return (uintptr_t)frame % 4 == 2;
}

/* The host sends each frame back with the addresses swapped. */
static bool frame_right(const struct unic_rx *rx, uint32_t n, uint32_t max)
{
	if ((uintptr_t)rx->frame % 4 != 2 || rx->len != frame_len(n, max) ||
	    memcmp(rx->frame + 14, &n, 4))
		return false;
	for (uint32_t i = 18; i < rx->len; i++)
		if (rx->frame[i] != (uint8_t)(n + i))
			return false;
	return true;
}

/* Sleeps as the core does: arm, look once more, sleep. */
static bool await_frame(struct unic_rx *rx, uint64_t patience_ns)
{
	uint64_t until = now() + patience_ns;

	while (!unic_port_rx_next(&port, rx)) {
		unic_port_rx_arm(&port, true);
		if (unic_port_rx_next(&port, rx)) {
			unic_port_rx_arm(&port, false);
			return true;
		}
		virt_port_sleep(&port, until);
		unic_port_rx_arm(&port, false);
		if (now() >= until)
			return unic_port_rx_next(&port, rx);
	}
	return true;
}

static void test_link(void)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };
	struct unic_link link;
	struct unic_rx rx;
	uint32_t good = 0, held = 0, path;
	uint8_t *frame[UNIC_TX_BUFS + 1];
	uint64_t start;

	unic_port_link(&port, &link);
	check("link: up", link.up);
	check("link: big enough for a path MTU of 1024",
	      link.max_frame >= 14 + 20 + 8 + 12 + 24 + 4 + 1024 + 4);
	path = unic_port_path(&port, all);
	while (held <= UNIC_TX_BUFS &&
	       (frame[held] = unic_port_tx_get(&port, path)))
		held++;
	check("link: UNIC_TX_BUFS may be held", held == UNIC_TX_BUFS);
	for (uint32_t i = 0; i < held; i++)
		unic_port_tx_put(&port, frame[i], 0, 0);
	step(5);
	start = now();
	for (uint32_t n = 0; n < FRAMES; n++) {
		if (!send_frame(n, &link, path) ||
		    !await_frame(&rx, PATIENCE_NS))
			break;
		good += frame_right(&rx, n, link.max_frame);
		unic_port_rx_done(&port);
	}
	check("link: every frame there and back, woken by each",
	      good == FRAMES);
	fact("link_round_trip_ns", (now() - start) / FRAMES);
	check("link: nothing more", !unic_port_rx_next(&port, &rx));
}

/* A burst larger than the rings: the link refuses frames and recovers. */
static void test_burst(void)
{
	struct unic_link link;
	struct unic_rx rx;
	uint32_t sent = 0, got = 0, refused = 0;
	uint64_t until = now() + PATIENCE_NS;

	unic_port_link(&port, &link);
	while (now() < until && got < 1000) {
		if (sent < 1000 && sent - got < 48) {
			if (send_frame(sent, &link, 0))
				sent++;
			else
				refused++;
		}
		if (unic_port_rx_next(&port, &rx)) {
			got += frame_right(&rx, got, link.max_frame);
			unic_port_rx_done(&port);
		}
	}
	check("link: 1000 frames in bursts, in order", got == 1000);
	fact("link_tx_refused", refused);
}

/* ---------------------------------------------------------------- counts */

static uint32_t instructions(void)
{
	uint32_t count;

	__asm__ volatile("mrc p15, 0, %0, c9, c13, 2" : "=r"(count)::"memory");
	return count;
}

static void count_instructions(void)
{
	/* PMCR.E and .P; counter 0 counts event 8: instructions retired */
	__asm__ volatile("mcr p15, 0, %0, c9, c12, 0\n\t"
			 "mcr p15, 0, %1, c9, c12, 5\n\t"
			 "isb\n\t"
			 "mcr p15, 0, %2, c9, c13, 1\n\t"
			 "mcr p15, 0, %3, c9, c12, 1\n\t"
			 "isb" ::"r"(3),
			 "r"(0), "r"(8), "r"(1));
}

/* Inlined, for callers with a constant length. */
static inline __attribute__((always_inline)) uint32_t
count_dma(enum unic_port_dma_dir dir, uint32_t len)
{
	uint32_t before, mid, after;

	before = instructions();
	mid = instructions();
	unic_port_dma(&port, dir, UNIC_BUS(0, 4096), local, len, 0);
	after = instructions();
	return after - mid - (mid - before);
}

static void test_counts(void)
{
	uint32_t before, mid, after;

	count_instructions();
	fact("dma_from_host_8", count_dma(UNIC_DMA_FROM_HOST, 8));
	fact("dma_from_host_32", count_dma(UNIC_DMA_FROM_HOST, 32));
	fact("dma_from_host_64", count_dma(UNIC_DMA_FROM_HOST, 64));
	fact("dma_from_host_4096", count_dma(UNIC_DMA_FROM_HOST, 4096));
	fact("dma_to_host_8", count_dma(UNIC_DMA_TO_HOST, 8));
	fact("dma_to_host_32", count_dma(UNIC_DMA_TO_HOST, 32));
	fact("dma_to_host_64", count_dma(UNIC_DMA_TO_HOST, 64));
	fact("dma_to_host_4096", count_dma(UNIC_DMA_TO_HOST, 4096));
	before = instructions();
	mid = instructions();
	(void)now();
	after = instructions();
	fact("now_ns", after - mid - (mid - before));
}

static uint64_t time_copy(bool refresh)
{
	uint32_t bytes = port.dma.window[0].bytes;
	uint64_t start = now();

	for (uint32_t round = 0; round < 8; round++) {
		for (uint32_t off = 0; off < bytes; off += 4096)
			unic_port_dma(&port, UNIC_DMA_TO_HOST, UNIC_BUS(0, off),
				      local, 4096, 0);
		if (refresh)
			virt_port_refresh(&port);
	}
	return (now() - start) / (8 * (bytes / 4096));
}

static void test_copy(void)
{
	const uint32_t n = 1000000;
	uint64_t start;

	fact("copy_4k_ns_never_flushed", time_copy(false));
	time_copy(true);
	fact("copy_4k_ns_refreshed", time_copy(true));
	start = now();
	for (uint32_t i = 0; i < n; i++)
		unic_port_dma(&port, UNIC_DMA_TO_HOST, UNIC_BUS(0, i % 64 * 64),
			      local, 8, 0);
	fact("dma_to_host_8_ps", (now() - start) * 1000 / n);
	start = now();
	for (uint32_t i = 0; i < n; i++)
		unic_port_dma(&port, UNIC_DMA_FROM_HOST,
			      UNIC_BUS(0, i % 64 * 64), local, 8, 0);
	fact("dma_from_host_8_ps", (now() - start) * 1000 / n);
	start = now();
	for (uint32_t i = 0; i < n; i++)
		(void)now();
	fact("now_ns_ps", (now() - start) * 1000 / n);
	start = now();
	for (uint32_t i = 0; i < n; i++)
		unic_mb();
	fact("barrier_ps", (now() - start) * 1000 / n);
}

/* ----------------------------------------------------------------- faults */

static uint32_t overflow(uint32_t depth)
{
	volatile uint8_t frame[512];

	frame[0] = (uint8_t)depth;
	if (depth == UINT32_MAX) /* never: the stack ends first */
		return 0;
	return overflow(depth + 1) + frame[0];
}

/* The machine hears of the host's doorbells one after the other, while the image runs, and of
 * its own last: once it has been rung, the host can be. */
static void await_doorbells(void)
{
	uint64_t until = now() + PATIENCE_NS;

	UNIC_WRITE_ONCE(talk->asleep, 1);
	virt_port_sleep(&port, until);
	check("crash: woken before", now() < until);
}

static void die(uint32_t mode)
{
	static uint32_t not_code;

	await_doorbells();
	crash_arm(&port, VIRT_GUARD, VIRT_RAM - VIRT_GUARD);
	if (mode == MODE_ASSERT)
		unic_port_panic(&port, "tests/qemu/hal_selftest.c", 42);
	if (mode == MODE_UNDEF)
		__asm__ volatile("udf #0");
	if (mode == MODE_PREFETCH)
		((void (*)(void)) & not_code)();
	if (mode == MODE_DATA)
		*(volatile uint32_t *)0x60000010 = 1;
	if (mode == MODE_STACK)
		overflow(0);
	if (mode == MODE_TEXT)
		*(volatile uint32_t *)VIRT_TEXT = 0;
}

int main(void)
{
	const char *why = virt_port_init(&port);

	if (why) {
		semihost_puts("fact boot 0\nwhy ");
		semihost_puts(why);
		semihost_puts("\n");
		semihost_exit(3);
	}
	talk = (struct talk *)((uint8_t *)unic_port_bar(&port) + TALK_OFF);
	if (talk->mode >= MODE_ASSERT)
		die(talk->mode);
	if (talk->mode == MODE_COUNT)
		test_counts();
	if (talk->mode == MODE_COPY)
		test_copy();
	if (talk->mode == MODE_CHECK) {
		test_pci();
		test_bar();
		test_timer();
		test_doorbells();
		test_dma_copy();
		test_dma_bounds();
		test_entropy();
		test_link();
		test_burst();
	}
	semihost_exit(failures ? 1 : 0);
}
