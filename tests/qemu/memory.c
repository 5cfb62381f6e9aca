/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * memory SOCKET pins|busy|batch|bases|use|waits|matters|advise|hold - a process and its memory, through
 * libunic, a driver and a NIC that talks to itself. Run by test_memory.py.
 *
 *	pins   says "pinned N WHAT": so many frames more than at "base", and waits
 *	       for a line
 *	busy   says "busy" and lets the NIC move bytes until it is killed, or told
 *	       by a line to exit in the middle of it
 *	batch  regions and tokens, many in one request
 *	bases  what the NIC calls the bytes of a region
 *	hold   says "held" with two queue pairs that are connected and two tokens
 *	use    what regions are used for; says "ready", waits for lines
 *	waits  registrations on a full NIC, cancelled before and after their grant
 *	matters  the region that matters least is asked back, whichever it is; says
 *	       "full", and waits for a line
 *	advise pages of a region that will be needed, or will not: says what it
 *	       advised, and waits for a line
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "memory"
#include "own_pair.h"

#define BIG (1024u * 1024u)

static uint8_t *src;
static struct unic_mr *src_mr;

static void say(const char *text)
{
	char buf[16];

	puts(text);
	fflush(stdout);
	IS(fgets(buf, sizeof(buf), stdin));
}

static void pinned(unsigned int pages, const char *what)
{
	char text[80];

	snprintf(text, sizeof(text), "pinned %u %s", pages, what);
	say(text);
}

static struct unic_mr *reg(void *at, size_t bytes, unsigned int rights)
{
	struct unic_mr_attr a = { .addr = at,
				  .length = bytes,
				  .rights = rights };
	struct unic_mr *mr;

	OK(unic_reg_mr(pd, &a, &mr));
	return mr;
}

static void set_up(const char *socket)
{
	open_pair(socket);
	src = numbered(16 * PAGE);
	src_mr = reg(src, 16 * PAGE, RW);
}

static void post(struct unic_sg sg, uint64_t iova, uint32_t rkey)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = iova,
				   .rkey = rkey };

	IS(unic_post_send(qp[0], &wr, 1) == 1);
}

/* The NIC copies @len bytes from @from to @to. */
static void copy(const struct unic_mr *to, uint32_t off, const void *from,
		 const struct unic_mr *mr, uint32_t len)
{
	post(sg_of(mr, from, len), to->iova + off, to->stag);
	IS(next().status == UNIC_WC_SUCCESS);
}

/* -------------------------------------------------------------------- pins */

static uint8_t *foreign(size_t pages)
{
	uint8_t *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	IS(p != MAP_FAILED);
	memset(p, 0x11, pages * PAGE);
	return p;
}

static void overlaps(void)
{
	uint8_t *p = unic_alloc(ctx, 12 * PAGE, PAGE);
	struct unic_mr *a, *b, *c;

	IS(p);
	a = reg(p, 8 * PAGE, RW);
	b = reg(p + 4 * PAGE, 8 * PAGE, UNIC_MR_REMOTE_READ);
	pinned(12, "overlapping");
	c = reg(p + 100, 10, RW);
	pinned(12, "a third in the first page");
	OK(unic_dereg_mr(a));
	pinned(9, "the first one ended");
	OK(unic_dereg_mr(c));
	pinned(8, "and the third");
	OK(unic_dereg_mr(b));
	pinned(0, "and the second");
	unic_free(ctx, p);
}

static void read_only(void)
{
	struct unic_mr_attr a = { .length = 4 * PAGE };
	uint8_t *p = foreign(4);
	struct unic_mr *mr;

	/* pages that would have to be moved are refused, and nothing stays */
	OK(mprotect(p, 4 * PAGE, PROT_READ));
	a.addr = p;
	IS(unic_reg_mr(pd, &a, &mr) == -EACCES);
	pinned(0, "read-only memory cannot be moved");
	OK(munmap(p, 4 * PAGE));
	p = unic_alloc(ctx, 4 * PAGE, PAGE);
	IS(p);
	memset(p, 0x22, 4 * PAGE);
	OK(mprotect(p, 4 * PAGE, PROT_READ));
	mr = reg(p, 4 * PAGE, UNIC_MR_REMOTE_READ);
	pinned(4, "read-only");
	/* the NIC reads memory that the process may read */
	copy(src_mr, 0, p, mr, 4 * PAGE);
	IS(!memcmp(src, p, 4 * PAGE));
	OK(unic_dereg_mr(mr));
	pinned(0, "read-only ended");
	unic_free(ctx, p);
}

/* A child that got the pages before they were registered keeps its own. */
static void copy_on_write(void)
{
	uint8_t *p = foreign(4);
	struct unic_mr *mr;
	int go[2], status;
	pid_t child;
	char c;

	OK(pipe(go));
	child = fork();
	IS(child >= 0);
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &c, 1) || p[0] != 0x11 ||
		      memcmp(p, p + 1, 4 * PAGE - 1));
	}
	close(go[0]);
	mr = reg(p, 4 * PAGE, RW);
	pinned(4, "copy on write");
	copy(mr, 0, src, src_mr, 4 * PAGE);
	/* the bytes that the NIC wrote are in the process's memory */
	IS(!memcmp(p, src, 4 * PAGE));
	close(go[1]);
	IS(waitpid(child, &status, 0) == child && !status);
	pinned(4, "the child ended");
	OK(unic_dereg_mr(mr));
	pinned(0, "copy on write ended");
	OK(munmap(p, 4 * PAGE));
}

/* A child made afterwards has no part in it, and its end takes nothing. */
static void fork_afterwards(void)
{
	uint8_t *p = foreign(2);
	struct unic_mr *mr = reg(p, 2 * PAGE, RW);
	int status;
	pid_t child = fork();

	if (!child)
		_exit(0);
	IS(waitpid(child, &status, 0) == child && !status);
	pinned(2, "a child came and went");
	copy(mr, 0, src, src_mr, 2 * PAGE);
	IS(!memcmp(p, src, 2 * PAGE));
	OK(unic_dereg_mr(mr));
	pinned(0, "the parent's ended");
	OK(munmap(p, 2 * PAGE));
}

/* A page of a file that is the process's own moves, as data of a program does. One that is shared
 * with the file is not pinned. */
static void file_mapping(void)
{
	struct unic_mr_attr a = { .length = PAGE, .rights = RW };
	int fd = open("/proc/self/exe", O_RDONLY);
	struct unic_mr *mr;
	char elf[4];

	a.addr = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	IS(a.addr != MAP_FAILED);
	mr = reg(a.addr, PAGE, RW);
	pinned(1, "a private page of a file");
	IS(!memcmp(a.addr, "\177ELF", 4));
	copy(mr, 0, src, src_mr, PAGE);
	IS(!memcmp(a.addr, src, PAGE));
	IS(pread(fd, elf, 4, 0) == 4 && !memcmp(elf, "\177ELF", 4));
	OK(unic_dereg_mr(mr));
	pinned(0, "the file's ended");
	OK(munmap(a.addr, PAGE));
	a.addr = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	IS(a.addr != MAP_FAILED);
	IS(unic_reg_mr(pd, &a, &mr) == -EACCES);
	pinned(0, "a file is refused");
	OK(munmap(a.addr, PAGE));
	close(fd);
}

/* The NIC has its frames until the region is deregistered, mapped or not. */
static void unmapped(void)
{
	uint8_t *p = foreign(4);
	struct unic_mr *mr = reg(p, 4 * PAGE, RW);

	OK(munmap(p, 4 * PAGE));
	pinned(4, "unmapped while registered");
	copy(mr, 0, src, src_mr, 4 * PAGE);
	OK(unic_dereg_mr(mr));
	pinned(0, "unmapped and ended");
}

static void pins(void)
{
	say("base");
	overlaps();
	read_only();
	copy_on_write();
	fork_afterwards();
	file_mapping();
	unmapped();
}

/* -------------------------------------------------------------------- busy */

static void busy(void)
{
	uint32_t bytes = BIG;
	struct unic_mr *a, *b;
	struct unic_attr at;
	int flags = fcntl(0, F_GETFL);
	uint8_t *p;
	uint32_t i;
	char c;

	unic_query(ctx, &at);
	/* half of the slot, and of the TLB, at most */
	while (4ull * bytes > at.slot_bytes ||
	       4ull * bytes > (uint64_t)at.tlb_entries * PAGE)
		bytes /= 2;
	p = unic_alloc(ctx, 2 * bytes, PAGE);
	IS(p);
	a = reg(p, bytes, RW);
	b = reg(p + bytes, bytes, RW);
	for (i = 0; i < 8; i++)
		post(sg_of(a, p, bytes), b->iova, b->stag);
	puts("busy");
	fflush(stdout);
	fcntl(0, F_SETFL, flags | O_NONBLOCK);
	for (;;) {
		IS(next().status == UNIC_WC_SUCCESS);
		post(sg_of(a, p, bytes), b->iova, b->stag);
		if (read(0, &c, 1) == 1)
			_exit(0); /* with all of that under way */
	}
}

/* ------------------------------------------------------------------- batch */

#define MANY 100u

static void regions_in_one(void)
{
	uint8_t *p = unic_alloc(ctx, MANY * 2 * PAGE, PAGE);
	struct unic_mr_attr a[MANY];
	struct unic_mr *mr[MANY];
	uint32_t i;

	IS(p);
	for (i = 0; i < MANY; i++)
		a[i] = (struct unic_mr_attr){ .addr = p + i * 2 * PAGE,
					      .length = 2 * PAGE,
					      .rights = RW };
	OK(unic_reg_mr_batch(pd, a, MANY, mr));
	for (i = 0; i < MANY; i += 33) {
		copy(mr[i], 8, src, src_mr, PAGE);
		IS(!memcmp(p + i * 2 * PAGE + 8, src, PAGE));
	}
	OK(unic_dereg_mr_batch(ctx, mr, MANY));
	/* all or none: one that cannot be, in the second request */
	a[70].addr = src + 64 * PAGE;
	a[70].length = (size_t)1 << 40;
	IS(unic_reg_mr_batch(pd, a, MANY, mr) < 0);
	a[70] = a[0];
	a[70].flags = UNIC_MR_WAIT;
	IS(unic_reg_mr_batch(pd, a, MANY, mr) == -EINVAL);
	unic_free(ctx, p); /* busy, were one of them left */
}

static void tokens_in_one(void)
{
	struct unic_pay_attr a[MANY] = { { .mr = src_mr } };
	struct unic_pay_token t[MANY], more[2];
	struct unic_pay_end end[MANY];
	struct unic_sg sg = sg_of(src_mr, src, 16);
	struct unic_recv_wr rr = { .num_sge = 1, .sg = &sg };
	struct unic_send_wr wr = { .opcode = UNIC_WR_TOKEN,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .ctrl_len = 16 };
	struct unic_sg all = sg_of(src_mr, src, 32);
	uint32_t i, got;

	for (i = 0; i < MANY; i++)
		a[i] = (struct unic_pay_attr){ .mr = src_mr,
					       .addr = src + PAGE + 16 * i,
					       .length = 16 };
	OK(unic_alloc_tokens(pd, a, MANY, t));
	/* the 41st is used */
	IS(unic_post_recv(qp[1], &rr, 1) == 1);
	wr.sg = &all;
	wr.remote = t[40].key;
	wr.rkey = t[40].index;
	IS(unic_post_send(qp[0], &wr, 1) == 1);
	for (got = 0, i = 0; i < 2; i++) {
		struct unic_wc wc = next();

		IS(wc.status == UNIC_WC_SUCCESS);
		if (wc.opcode == UNIC_WC_RECV_TOKEN)
			got = wc.imm;
	}
	IS(got == 16);
	IS(!memcmp(src + PAGE + 16 * 40, src + 16, 16));
	OK(unic_cancel_tokens(ctx, t, MANY, end));
	for (i = 0; i < MANY; i++) {
		IS(!end[i].err);
		IS(end[i].end ==
		   (i == 40 ? UNIC_TOKEN_USED : UNIC_TOKEN_CANCELLED));
	}
	OK(unic_cancel_tokens(ctx, t, 1, end));
	IS(end[0].err == -ENOENT);
	/* all or none */
	a[1].length = 17 * PAGE;
	IS(unic_alloc_tokens(pd, a, 2, more) == -ERANGE);
}

/* ------------------------------------------------------------------- bases */

#define DRAWN (((1ull << 42) - 1) << 21)

/* Of a thousand registrations of one buffer no bit is always the same. */
static void bases_differ(uint8_t *p)
{
	struct unic_mr *twice[2];
	uint64_t ones = 0, zeros = 0;
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		struct unic_mr *mr = reg(p, PAGE, RW);

		ones |= mr->iova;
		zeros |= ~mr->iova;
		OK(unic_dereg_mr(mr));
	}
	IS((ones & zeros) == DRAWN);
	for (i = 0; i < 2; i++)
		twice[i] = reg(p, 2 * PAGE, RW);
	IS((twice[0]->iova ^ twice[1]->iova) & DRAWN);
	for (i = 0; i < 2; i++) {
		copy(twice[i], 0, src + PAGE * i, src_mr, PAGE);
		IS(!memcmp(p, src + PAGE * i, PAGE));
		OK(unic_dereg_mr(twice[i]));
	}
}

/* Addresses in the process mean nothing to the NIC, neither in its own requests
 * nor in a peer's. */
static void pointers_are_none(uint8_t *p)
{
	struct unic_mr *mr = reg(p, PAGE, RW);
	struct unic_sg by_pointer = { p, 64, mr->stag };
	struct unic_wc wc;

	post(by_pointer, src_mr->iova, src_mr->stag);
	wc = next();
	IS(wc.status == UNIC_WC_LOC_PROT_ERR && wc.detail == UNIC_WD_BOUNDS);
	new_pair();
	post(sg_of(src_mr, src, 64), (uintptr_t)p, mr->stag);
	IS(next().status == UNIC_WC_REM_ACCESS_ERR);
	new_pair();
	OK(unic_dereg_mr(mr));
}

/* Addresses in the process are IOVAs where the process asks for it. */
static void pointers_are_addresses(uint8_t *p)
{
	struct unic_mr_attr a = { .addr = p,
				  .length = PAGE,
				  .rights = RW,
				  .flags = UNIC_MR_VA_BASE };
	struct unic_sg by_pointer = { p, 64, 0 };
	struct unic_mr *mr;

	OK(unic_reg_mr(pd, &a, &mr));
	by_pointer.lkey = mr->stag;
	post(by_pointer, (uintptr_t)p + 64, mr->stag);
	IS(next().status == UNIC_WC_SUCCESS);
	IS(!memcmp(p, p + 64, 64));
	OK(unic_dereg_mr(mr));
}

/* Registered again, bytes that stay keep their address. */
static void bases_stay(uint8_t *p)
{
	struct unic_mr *mr = reg(p + PAGE, PAGE, RW);
	struct unic_rereg_attr a = { .what = UNIC_REREG_RANGE,
				     .addr = p,
				     .length = 3 * PAGE };
	uint64_t was = mr->iova;

	OK(unic_rereg_mr(mr, &a, NULL));
	post(sg_of(src_mr, src, 64), was + 8, mr->stag);
	IS(next().status == UNIC_WC_SUCCESS);
	IS(!memcmp(p + PAGE + 8, src, 64));
	copy(mr, 0, src, src_mr, PAGE);
	IS(!memcmp(p, src, PAGE));
	OK(unic_dereg_mr(mr));
}

static void bases(void)
{
	uint8_t *p = unic_alloc(ctx, 4 * PAGE, PAGE);

	IS(p);
	bases_differ(p);
	pointers_are_none(p);
	pointers_are_addresses(p);
	bases_stay(p);
	OK(unic_free(ctx, p));
}

/* --------------------------------------------------------------------- use */

static void use(void)
{
	struct timespec nap = { 0, 50000000 };
	uint8_t *p = unic_alloc(ctx, 2 * PAGE, PAGE);
	struct unic_mr *mr = reg(p, 2 * PAGE, RW);
	struct unic_use u;
	int i, err;

	for (i = 0; i < 3; i++)
		copy(mr, 0, src, src_mr, 1000);
	for (i = 0; i < 400; i++) { /* within a second */
		err = unic_query_use(mr, &u);
		if (!err && u.uses >= 3)
			break;
		nanosleep(&nap, NULL);
	}
	IS(u.uses == 3 && u.bytes == 3000);
	IS(u.reported == 0);
	say("ready"); /* reports count from here on */
	for (i = 0; i < 7; i++)
		unic_report_use(mr);
	for (i = 0; i < 400 && u.reported < 7; i++) {
		nanosleep(&nap, NULL);
		OK(unic_query_use(mr, &u));
	}
	IS(u.reported == 7);
	IS(u.uses == 3);
	say("reported");
	for (i = 0; i < 8; i++) { /* for the recorder */
		copy(mr, 0, src, src_mr, 1000);
		nanosleep(&nap, NULL);
	}
	OK(unic_dereg_mr(mr));
}

/* ------------------------------------------------------------------- waits */

#define FILL_PAGES 64u
#define FILL_MAX   256u

static bool ends_wait(const struct unic_event *ev)
{
	return ev->type == UNIC_EV_GRANTED || ev->type == UNIC_EV_WAIT_ENDED;
}

static bool asks_back(const struct unic_event *ev)
{
	return ev->type == UNIC_EV_NOTICE;
}

/* The next event that @wanted says yes to, of @mr, or of any if that is NULL. The
 * others, notices too, are not answered. */
static struct unic_event await_event(const struct unic_mr *mr,
				     bool (*wanted)(const struct unic_event *))
{
	struct pollfd fd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	struct unic_event ev, got;

	for (;;) {
		while (!unic_get_event(ctx, &ev)) {
			got = ev;
			unic_ack_event(&ev);
			if ((!mr || got.mr == mr) && wanted(&got))
				return got;
		}
		IS(poll(&fd, 1, 10000) == 1);
	}
}

static struct unic_event end_of_wait(const struct unic_mr *mr)
{
	return await_event(mr, ends_wait);
}

static struct unic_mr *wait_for_room(uint8_t *p)
{
	struct unic_mr_attr a = { .addr = p,
				  .length = FILL_PAGES * PAGE,
				  .rights = RW,
				  .flags = UNIC_MR_WAIT | UNIC_MR_ASYNC };
	struct unic_mr *mr;

	OK(unic_reg_mr(pd, &a, &mr));
	IS(unic_mr_life(mr) == UNIC_MR_WAITING);
	return mr;
}

static void waits(void)
{
	uint8_t *p = unic_alloc(ctx, FILL_PAGES * PAGE, PAGE);
	struct unic_mr_attr a = { .addr = p,
				  .length = FILL_PAGES * PAGE,
				  .rights = RW };
	struct unic_mr *mr[FILL_MAX], *waiter;
	struct unic_event ev;
	uint32_t n = 0;
	int err;

	IS(p);
	while (!(err = unic_reg_mr(pd, &a, &mr[n])))
		IS(++n < FILL_MAX);
	IS(n && err == -ENOMEM);
	waiter = wait_for_room(p);
	OK(unic_cancel_reg(waiter));
	ev = end_of_wait(waiter);
	IS(ev.type == UNIC_EV_WAIT_ENDED && ev.status == UNIC_ST_CANCELLED);
	IS(unic_mr_life(waiter) == UNIC_MR_GONE);
	IS(unic_cancel_reg(waiter) == -ENOENT);
	OK(unic_dereg_mr(waiter));
	/* what was cancelled takes nothing from who waits next */
	waiter = wait_for_room(p);
	OK(unic_dereg_mr(mr[--n]));
	IS(end_of_wait(waiter).type == UNIC_EV_GRANTED);
	IS(unic_cancel_reg(waiter) == -ENOENT);
	copy(waiter, 0, src, src_mr, PAGE);
	IS(!memcmp(p, src, PAGE));
	OK(unic_dereg_mr(waiter));
	while (n)
		OK(unic_dereg_mr(mr[--n]));
}

/* ----------------------------------------------------------------- matters */

/* Fills the NIC, lets one region after the other be the least important one, and
 * wants room: it is asked back, and comes back as the most important one. */
static void matters(void)
{
	uint8_t *p = unic_alloc(ctx, FILL_PAGES * PAGE, PAGE);
	struct unic_mr_attr a = { .addr = p,
				  .length = FILL_PAGES * PAGE,
				  .rights = RW,
				  .importance = 100 };
	struct timespec nap = { 0, 100000000 };
	struct unic_mr *mr[FILL_MAX], *waiter;
	uint32_t n = 0, k, i;

	IS(p);
	OK(unic_set_policy(ctx, UNIC_POLICY_APP));
	IS(unic_set_policy(ctx, (enum unic_policy)99) == -EINVAL);
	OK(unic_set_importance(src_mr, 255));
	while (!unic_reg_mr(pd, &a, &mr[n]))
		IS(++n < FILL_MAX);
	IS(n > 1);
	say("full");
	nanosleep(&nap, NULL); /* none is younger than the minimum residence */
	a.importance = 200;
	a.flags = UNIC_MR_WAIT | UNIC_MR_ASYNC;
	for (k = 0; k < n; k++) {
		i = (k * 7 + 3) % n; /* in no order */
		IS(unic_mr_life(mr[i]) == UNIC_MR_LIVE);
		OK(unic_set_importance(mr[i], 1));
		OK(unic_reg_mr(pd, &a, &waiter));
		IS(await_event(NULL, asks_back).mr == mr[i]);
		OK(unic_set_importance(mr[i], 2)); /* too late, and no error */
		OK(unic_dereg_mr(mr[i]));
		IS(end_of_wait(waiter).type == UNIC_EV_GRANTED);
		mr[i] = waiter;
	}
	while (n)
		OK(unic_dereg_mr(mr[--n]));
}

/* ------------------------------------------------------------------ advise */

static void advise(void)
{
	uint8_t *p = unic_alloc(ctx, 8 * PAGE, PAGE);
	struct unic_mr_attr a = { .addr = p,
				  .length = 8 * PAGE,
				  .rights = RW,
				  .residency = UNIC_DEMAND };
	struct unic_mr *mr;

	IS(p);
	OK(unic_reg_mr(pd, &a, &mr));
	say("nothing");
	/* all of pages 1 and 3, and a byte of pages 0 and 4 */
	OK(unic_advise_mr(mr, PAGE - 1, 3 * PAGE + 2, UNIC_ADVISE_WILL_NEED));
	say("needed");
	OK(unic_advise_mr(mr, 2 * PAGE, 2 * PAGE, UNIC_ADVISE_DONT_NEED));
	say("not needed");
	copy(mr, 0, src, src_mr, 8 * PAGE);
	IS(!memcmp(p, src, 8 * PAGE));
	IS(unic_advise_mr(mr, 7 * PAGE, PAGE + 1, UNIC_ADVISE_WILL_NEED) ==
	   -EINVAL);
	IS(unic_advise_mr(mr, UINT64_MAX, 2, UNIC_ADVISE_WILL_NEED) == -EINVAL);
	IS(unic_advise_mr(mr, 0, 0, UNIC_ADVISE_WILL_NEED) == -EINVAL);
	IS(unic_advise_mr(mr, 0, 1, (enum unic_advice)3) == -EINVAL);
	OK(unic_advise_mr(src_mr, 0, PAGE, UNIC_ADVISE_DONT_NEED));
	copy(src_mr, PAGE, src, src_mr, 64); /* RESIDENT: no effect */
	OK(unic_release(mr));
	IS(unic_advise_mr(mr, 0, PAGE, UNIC_ADVISE_WILL_NEED) == -ENOENT);
	OK(unic_dereg_mr(mr));
}

/* -------------------------------------------------------------------- hold */

static void hold(void)
{
	struct unic_pay_attr a[2] = {
		{ .mr = src_mr, .addr = src, .length = 64 },
		{ .mr = src_mr, .addr = src + PAGE, .length = 128 }
	};
	struct unic_pay_token t[2];

	OK(unic_alloc_tokens(pd, a, 2, t));
	say("held");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	set_up(argv[1]);
	if (!strcmp(argv[2], "pins"))
		pins();
	else if (!strcmp(argv[2], "busy"))
		busy();
	else if (!strcmp(argv[2], "use"))
		use();
	else if (!strcmp(argv[2], "hold"))
		hold();
	else if (!strcmp(argv[2], "bases"))
		bases();
	else if (!strcmp(argv[2], "waits"))
		waits();
	else if (!strcmp(argv[2], "matters"))
		matters();
	else if (!strcmp(argv[2], "advise"))
		advise();
	if (!strcmp(argv[2], "batch")) {
		regions_in_one();
		tokens_in_one();
	}
	unic_close(ctx);
	puts("ok");
	return 0;
}
