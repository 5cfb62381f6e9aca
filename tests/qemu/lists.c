/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lists SOCKET RESETS - a region of residency TABLE with more pages than the NIC has entries,
 * through libunic, a driver and a NIC that talks to itself. Run by test_memory.py.
 *
 * Says "moved" when the NIC has written and read all of it, and waits for a line; so,
 * too, when it is as it was after a reset of the NIC or a restart of the driver, of
 * which there will be RESETS. Before that, "scribbled": the process has found the list
 * of the region in its slot, and written over it.
 */
#define PROGRAM "lists"
#include "own_pair.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "unic_types.h"

#define CHUNK  (16u * PAGE)
#define VALID  1ull	    /* UNIC_TABLE_VALID */
#define OTHER  (1ull << 48) /* another window */
#define VICTIM 5u

static uint8_t *src, *mem, *dst;
static struct unic_mr *src_mr, *mr, *dst_mr;
static uint32_t pages;

static struct unic_mr *reg(void *at, size_t bytes, uint8_t residency)
{
	struct unic_mr_attr a = { .addr = at,
				  .length = bytes,
				  .rights = RW,
				  .residency = residency };
	struct unic_mr *got;

	OK(unic_reg_mr(pd, &a, &got));
	return got;
}

static void set_up(const char *path)
{
	struct unic_attr attr;

	OK(unic_open_kept(path, &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	OK(unic_create_cq(pd, 256, &cq));
	connect_pair();
	unic_query(ctx, &attr);
	pages = (attr.tlb_entries + attr.tlb_entries / 4 + 15) & ~15u;
	src = numbered(CHUNK);
	src_mr = reg(src, CHUNK, UNIC_RESIDENT);
	dst = numbered(PAGE);
	dst_mr = reg(dst, PAGE, UNIC_RESIDENT);
	mem = unic_alloc(ctx, pages * PAGE, PAGE);
	IS(mem);
	mr = reg(mem, pages * PAGE, UNIC_TABLE);
}

/* How the NIC's copy of @len bytes at @from of @of to @to of @at ends. */
static uint8_t copy(const struct unic_mr *at, const uint8_t *to,
		    const struct unic_mr *of, const uint8_t *from, uint32_t len)
{
	struct unic_sg sg = sg_of(of, from, len);
	struct unic_send_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.sg = &sg,
		.remote = at->iova + (uint64_t)(to - (uint8_t *)at->addr),
		.rkey = at->stag
	};

	fail_if(unic_post_send(qp[0], &wr, 1) != 1, "post");
	return next().status;
}

/* Writes all pages of the region, and reads a byte of each again. */
static void move(uint8_t with)
{
	uint32_t at;

	src[0] = with;
	memset(mem, 0xee, pages * PAGE);
	for (at = 0; at < pages * PAGE; at += CHUNK) {
		IS(!copy(mr, mem + at, src_mr, src, CHUNK));
		IS(!memcmp(mem + at, src, CHUNK));
	}
	for (at = 0; at < pages; at++) {
		dst[0] = (uint8_t)~mem[at * PAGE];
		IS(!copy(dst_mr, dst, mr, mem + at * PAGE, 1));
		IS(dst[0] == mem[at * PAGE]);
	}
}

/* ------------------------------------------------------------- its own enemy */

static int is_list(const uint64_t *word)
{
	uint32_t i;

	for (i = 0; i < pages; i++)
		if ((word[i] & 0xfff) != VALID || word[i] >> 48 != *word >> 48)
			return 0;
	return 1;
}

/* The list in @bytes of the slot, or NULL. */
static uint64_t *list_in(uint8_t *slot, size_t bytes)
{
	size_t at;

	for (at = 0; at + pages * 8 <= bytes; at += PAGE)
		if (is_list((void *)(slot + at)))
			return (void *)(slot + at);
	return NULL;
}

/* A process has all of its slot, with the lists of its regions, in a descriptor. */
static uint64_t *find_list(void)
{
	uint64_t *found = NULL;
	struct stat st;
	void *slot;
	int fd;

	for (fd = 3; fd < 64 && !found; fd++) {
		if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
		    (uint32_t)st.st_size < pages * PAGE)
			continue;
		slot = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
		if (slot != MAP_FAILED)
			found = list_in(slot, (size_t)st.st_size);
	}
	IS(found);
	return found;
}

static void write_word(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	OK(unic_advise_mr(mr, VICTIM * PAGE, PAGE, UNIC_ADVISE_DONT_NEED));
}

/* The page of the word does not exist, for either end of a WRITE. */
static void no_page(uint64_t *word, uint64_t value)
{
	uint8_t *page = mem + VICTIM * PAGE;
	uint64_t good = *word;

	write_word(word, value);
	IS(copy(dst_mr, dst, mr, page, 64) == UNIC_WC_LOC_PROT_ERR);
	new_pair();
	IS(copy(mr, page, src_mr, src, 64) == UNIC_WC_REM_ACCESS_ERR);
	new_pair();
	write_word(word, good);
	IS(!copy(mr, page, src_mr, src, 64));
}

/* A page of the window where no memory is: the port says so. */
static void no_memory(uint64_t *word, uint64_t value)
{
	uint8_t *page = mem + VICTIM * PAGE;
	uint64_t good = *word;

	write_word(word, value);
	IS(copy(dst_mr, dst, mr, page, 64) == UNIC_WC_LOC_BUS_ERR);
	new_pair();
	IS(copy(mr, page, src_mr, src, 64) == UNIC_WC_REM_OP_ERR);
	new_pair();
	write_word(word, good);
	IS(!copy(mr, page, src_mr, src, 64));
}

static void scribble(void)
{
	uint64_t *word = find_list() + VICTIM, good = *word;

	no_page(word, 0);
	no_page(word, good ^ VALID);
	no_page(word, good | 0x800);
	no_page(word, good ^ OTHER);
	no_page(word, good ^ OTHER << 15);
	no_memory(word, good | 0xffffffff000);
	/* another page of its own is all that a process can name */
	mem[VICTIM * PAGE] = 1;
	mem[(VICTIM + 1) * PAGE] = 2;
	write_word(word, word[1]);
	IS(!copy(dst_mr, dst, mr, mem + VICTIM * PAGE, 1));
	IS(dst[0] == 2);
	write_word(word, good);
	IS(!copy(dst_mr, dst, mr, mem + VICTIM * PAGE, 1));
	IS(dst[0] == 1);
}

/* --------------------------------------------------------------------- lives */

static void await_reset(void)
{
	struct timespec nap = { 0, 1000000 };
	struct unic_event ev = { .type = 0 };
	int i;

	for (i = 0; i < 30000 && ev.type != UNIC_EV_RESET; i++) {
		if (unic_get_event(ctx, &ev))
			nanosleep(&nap, NULL);
		else
			unic_ack_event(&ev);
	}
	IS(ev.type == UNIC_EV_RESET);
}

static void say(const char *text)
{
	char buf[16];

	puts(text);
	fflush(stdout);
	IS(fgets(buf, sizeof(buf), stdin));
}

int main(int argc, char **argv)
{
	uint32_t stag, resets, i;

	if (argc != 3)
		return 2;
	resets = (uint32_t)atoi(argv[2]);
	set_up(argv[1]);
	stag = mr->stag;
	move(0);
	say("moved");
	scribble();
	say("scribbled");
	for (i = 1; i <= resets; i++) {
		await_reset();
		OK(unic_recover(ctx, 60000));
		IS(mr->stag == stag && unic_mr_life(mr) == UNIC_MR_LIVE);
		new_pair();
		move((uint8_t)i);
		say("moved");
	}
	OK(unic_dereg_mr(mr));
	unic_close(ctx);
	puts("ok");
	return 0;
}
