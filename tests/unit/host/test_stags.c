/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_stags.c - the STags of one process do not predict those of another, and
 * a process that uses up STags takes none from the others. Compiled a second
 * time without sanitizers, for another board and in full size (make stags).
 */
#include "revoke/register.h"
#include "rig.h"
#include "unit.h"

#ifdef __SANITIZE_ADDRESS__
#define PAIRS (1u << 19) /* of MR_REG and MR_DEREG by process 0 */
#define SEEN  20000u	 /* STags recorded */
#define FULL  0
#else
#define PAIRS (1u << 25)
#define SEEN  100000u
#define FULL  1
#endif

#define PAGE 4096ull
#define US   1000ull
#define MS   1000000ull

static struct rig r;
static uint16_t pd[UNIC_PROCS];

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	rig_up(&r, 1);
	for (i = 0; i < 2; i++) {
		rig_attach(&r, i, 1);
		pd[i] = (uint16_t)rig_pd(&r, i);
	}
	r.nic.mrs.low = r.nic.reclaim.high = 0;
	r.nic.trace.mask = 0;
	return 0;
}

static int reg(uint32_t proc, struct unic_mr_result *out)
{
	struct unic_mr_args a = {
		.pd = pd[proc],
		.proc = (uint16_t)proc,
		.rights = UNIC_MR_LOCAL_WRITE,
		.page_shift = 12,
		.length = PAGE,
		.n_pages = 1,
		.flags = UNIC_REG_LIST,
	};
	uint64_t bus = UNIC_BUS(0, 8 * PAGE);

	return unic_mr_reg(&r.nic.revoke, &a, &bus, out);
}

static void dereg(const struct unic_mr_result *m)
{
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m->mr, m->gen), 0);
}

static int pair(uint32_t proc)
{
	struct unic_mr_result m;
	int err = reg(proc, &m);

	if (!err)
		dereg(&m);
	return err;
}

/* ------------------------------------------------------------- using them up */

/* The time at which the rest of the first index ends. */
static uint64_t first_rest_ends(void)
{
	assert_int_not_equal(r.nic.stags.head, UNIC_MR_NIL);
	return r.nic.mrs.mr[r.nic.stags.head].since_ns;
}

/* The share of one of two equal processes: half of half of the table. */
#define PART (UNIC_MRS / 4u)

/*
 * Process 0 registers and deregisters a region each microsecond and, after a
 * refusal, again when the first rest ends. Process 1 does so each millisecond,
 * and each second registers half of the table: it is never refused.
 */
static void one_uses_up_what_it_can(void **state)
{
	struct unic_mr_result m[UNIC_MRS / 2];
	uint32_t n = 0, most = 0, refused = 0, i;
	uint64_t next_ms = r.nic.now_ns, next_s = r.nic.now_ns;
	int err;

	(void)state;
	while (n < PAIRS) {
		err = pair(0);
		assert_true(!err || err == -UNIC_EMRFULL);
		n += !err;
		refused += !!err;
		r.nic.now_ns += US;
		if (err && r.nic.now_ns < first_rest_ends())
			r.nic.now_ns = first_rest_ends();
		if (r.nic.now_ns >= next_ms) {
			assert_int_equal(pair(1), 0);
			next_ms = r.nic.now_ns + MS;
		}
		if (r.nic.now_ns >= next_s) {
			for (i = 0; i < UNIC_MRS / 2; i++)
				assert_int_equal(reg(1, &m[i]), 0);
			for (i = 0; i < UNIC_MRS / 2; i++)
				dereg(&m[i]);
			next_s = r.nic.now_ns + 1000 * MS;
		}
		if (r.nic.stags.resting > most)
			most = r.nic.stags.resting;
	}
	/* process 1 is charged for what it uses up */
	assert_in_range(most, 1, PART + PART / 2);
	assert_in_range(r.nic.stags.charged[1], 0, PART / 4);
	if (PAIRS > 4 * UNIC_STAG_STEPS * PART)
		assert_true(refused > 0);
	print_message("%u pairs, %u refusals, %u of %u indices at rest at "
		      "most\n",
		      n, refused, most, UNIC_MRS);
}

/* Registers and deregisters, each time at the last step of a walk, until @proc
 * is refused. */
static void use_up(uint32_t proc)
{
	struct unic_mr_result m;

	while (!reg(proc, &m)) {
		r.nic.stags.of[m.mr].step = UNIC_STAG_STEPS - 1u;
		dereg(&m);
	}
	assert_true(unic_stag_shut(&r.nic.memory, proc));
}

/* A process that has used up its STags waits for the rests to end; the other
 * one is served meanwhile, and no notice is sent. */
static void waiter_that_used_them_up(void **state)
{
	struct rig_mr a, b;
	uint32_t notices = rig_count(&r, notices);
	struct unic_evt_wait evt;

	(void)state;
	use_up(0);
	assert_int_equal(r.nic.stags.charged[0], PART);
	assert_int_equal(rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &a),
			 UNIC_ST_MR_FULL);
	assert_int_equal(rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &a),
			 UNIC_ST_PENDING);
	assert_int_equal(rig_reg(&r, 1, pd[1], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &b),
			 0);
	assert_int_equal(rig_reg(&r, 1, pd[1], 1, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &b),
			 0);
	rig_run(&r, UNIC_STAG_REST_NS - 10 * MS);
	assert_false(rig_event(&r, &evt));
	rig_run(&r, 20 * MS);
	rig_expect(&r, UNIC_EVT_GRANTED, &evt);
	assert_int_equal(unic_from_le32(evt.wait), a.wait);
	assert_int_equal(rig_count(&r, notices), notices);
	assert_int_equal(r.nic.stags.resting, 0);
}

static void leave(uint32_t proc)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(proc) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_DETACH, &cmd, NULL), 0);
}

/* Attaches @proc with one of two windows, which no other process has then. */
static void come(uint32_t proc)
{
	struct unic_cmd_proc_attach cmd = {
		.proc = unic_to_le32(proc),
		.weight = unic_to_le32(1),
		.doorbell = unic_to_le64(UNIC_BUS(proc % 2, 0)),
	};

	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_ATTACH, &cmd, NULL), 0);
	pd[proc] = (uint16_t)rig_pd(&r, proc);
}

/* A process that attaches in the slot of another one waits for the rests of its
 * predecessor. */
static void leaving_pays_nothing(void **state)
{
	(void)state;
	use_up(0);
	leave(0);
	assert_int_equal(unic_mr_capacity(&r.nic.memory), UNIC_MRS - PART);
	come(0);
	assert_int_equal(unic_mr_capacity(&r.nic.memory), UNIC_MRS);
	assert_int_equal(pair(0), -UNIC_EMRFULL);
	assert_int_equal(pair(1), 0);
	r.nic.now_ns += UNIC_STAG_REST_NS;
	assert_int_equal(pair(0), 0);
}

/* A process that attaches in one slot after the other leaves a quarter of the
 * table free for the next one. */
static void each_slot_in_turn(void **state)
{
	uint32_t i;

	(void)state;
	leave(1);
	for (i = 0; i < UNIC_PROCS - 1u; i++) {
		if (i)
			come(i);
		use_up(i);
		leave(i);
	}
	assert_in_range(r.nic.stags.resting, UNIC_MRS / 2, UNIC_MRS * 3 / 4);
	come(UNIC_PROCS - 1u);
	assert_int_equal(pair(UNIC_PROCS - 1u), 0);
}

/* Until a quarter of the table is at rest, no process is held to its share. */
static void nobody_is_held_to_his_part_before(void **state)
{
	struct unic_cmd_proc_set light = { .proc = unic_to_le32(0),
					   .weight = unic_to_le32(1) };
	struct unic_cmd_proc_set heavy = { .proc = unic_to_le32(1),
					   .weight = unic_to_le32(UNIC_MRS) };
	struct unic_mr_result m;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &light, NULL), 0);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &heavy, NULL), 0);
	for (i = 0; i < UNIC_MRS / 4; i++) {
		assert_int_equal(reg(0, &m), 0);
		r.nic.stags.of[m.mr].step = UNIC_STAG_STEPS - 1u;
		dereg(&m);
	}
	assert_int_equal(reg(0, &m), -UNIC_EMRFULL);
	for (i = 0; i < UNIC_MRS / 4; i++) {
		assert_int_equal(reg(1, &m), 0);
		r.nic.stags.of[m.mr].step = UNIC_STAG_STEPS - 1u;
		dereg(&m);
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(r.nic.stags.charged[i], UNIC_MRS / 4);
}

/* A process that makes more steps is charged for more walks, however the steps
 * of both processes alternate. */
static void steps_are_charged_by_lot(void **state)
{
	uint32_t i, of[2] = { 0, 0 }, before[2], k;

	(void)state;
	for (i = 0; i < 24 * UNIC_STAG_MEAN / 8 * 4; i++) {
		for (k = 0; k < 2; k++)
			before[k] = r.nic.stags.charged[k];
		assert_int_equal(pair(i % 16 == 0), 0);
		for (k = 0; k < 2; k++)
			of[k] += r.nic.stags.charged[k] > before[k];
		if (of[0] + of[1] > before[0] + before[1])
			r.nic.now_ns += UNIC_STAG_REST_NS;
		unic_mr_rested(&r.nic.memory);
	}
	assert_true(of[0] > 4 * of[1]);
}

/* ----------------------------------------------------------------- the solver */

/* All that the solver is given: index, walk, step and part of an STag. */
struct shown {
	uint32_t idx, walk, x, part;
};

static struct shown seen[SEEN], hidden[SEEN / 4];
static uint32_t n_seen, n_hidden;

static struct shown show(const struct unic_mr_result *m)
{
	return (struct shown){
		.idx = m->mr,
		.walk = r.nic.stags.of[m->mr].walk,
		.x = r.nic.stags.of[m->mr].step,
		.part = m->stag >> 8 & ((1u << UNIC_STAG_PART_BITS) - 1u),
	};
}

/* Free indices: the fewer, the more STags are seen of each. */
#define FREE 16u

/* Process 0, which has most of the table, records its STags in @seen. Those
 * that process 1 gets in between, in @hidden, are to be predicted. */
static void record(void)
{
	struct unic_mr_result m;
	uint32_t i;

	n_seen = n_hidden = 0;
	while (r.nic.mrs.free > FREE)
		assert_int_equal(reg(0, &m), 0);
	for (i = 0; n_seen < SEEN; i++) {
		uint32_t proc = i % 5 == 4;

		assert_int_equal(reg(proc, &m), 0);
		if (proc)
			hidden[n_hidden++] = show(&m);
		else
			seen[n_seen++] = show(&m);
		dereg(&m);
		if (r.nic.stags.resting)
			r.nic.now_ns += UNIC_STAG_REST_NS;
		unic_mr_rested(&r.nic.memory);
	}
}

/*
 * A weak function, to show that the solver works: four Feistel rounds, each the
 * high bits of a product, with two words of key for an index.
 */
#define WIDTH	 16u
#define HALF	 8u
#define PRODUCT	 0x85ebca77u
#define TABLE(k) ((k) << 13) /* a round key; its low bits hardly matter */
#define TABLES	 (1u << 19)

static uint32_t mixed(uint32_t v)
{
	v *= 0x9e3779b1u;
	return v ^ v >> 15;
}

static uint32_t high(uint32_t v, uint32_t k)
{
	return (v * PRODUCT + k) >> (32u - HALF);
}

static uint32_t weak(const uint32_t key[2], uint32_t idx, uint32_t x)
{
	uint32_t k0 = mixed(key[0] + idx), k1 = mixed(key[1] ^ k0);
	uint32_t l = x >> HALF, q = x & 0xffu;

	l ^= high(q, k0 * PRODUCT);
	q ^= high(l, k1 * PRODUCT);
	l ^= high(q, (k0 >> 16 ^ k1) * PRODUCT);
	q ^= high(l, (k1 >> 16 ^ k0) * PRODUCT);
	return l << HALF | q;
}

/* Replaces the parts of all records by those of the weak function. */
static void make_weak(void)
{
	const uint32_t key[2] = { 0x3c6ef372, 0xa54ff53a };
	uint32_t i;

	for (i = 0; i < n_seen; i++) {
		seen[i].x &= 0xffffu;
		seen[i].part = weak(key, seen[i].idx, seen[i].x);
	}
	for (i = 0; i < n_hidden; i++) {
		hidden[i].x &= 0xffffu;
		hidden[i].part = weak(key, hidden[i].idx, hidden[i].x);
	}
}

/* The records of one walk, and pairs of them that end in the same left half. */
#define OF_WALK 4096u
#define TWOS	4096u
static struct {
	uint32_t n, twos;
	uint8_t l[OF_WALK], q[OF_WALK], end_l[OF_WALK], end_q[OF_WALK];
	uint16_t a[TWOS], b[TWOS];
} of_walk;

static void gather(uint32_t idx, uint32_t walk)
{
	static int32_t last[256];
	uint32_t i, n = 0;

	memset(last, 0xff, sizeof(last));
	of_walk.twos = 0;
	for (i = 0; i < n_seen && n < OF_WALK; i++) {
		if (seen[i].idx != idx || seen[i].walk != walk)
			continue;
		of_walk.l[n] = (uint8_t)(seen[i].x >> HALF);
		of_walk.q[n] = (uint8_t)seen[i].x;
		of_walk.end_l[n] = (uint8_t)(seen[i].part >> HALF);
		of_walk.end_q[n] = (uint8_t)seen[i].part;
		n++;
	}
	of_walk.n = n;
	for (i = 0; i < n; i++) {
		int32_t k = last[of_walk.end_l[i]];

		last[of_walk.end_l[i]] = (int32_t)i;
		if (k < 0 || of_walk.twos == TWOS)
			continue;
		of_walk.a[of_walk.twos] = (uint16_t)k;
		of_walk.b[of_walk.twos++] = (uint16_t)i;
	}
}

/* True if @bad of @n is too many: a table that is nearly right has a few. */
static bool is_off(uint32_t bad, uint32_t n)
{
	return bad > 1u + n / 8u;
}

/*
 * Of two records that end in the same left half, the fourth round adds the same to
 * both right halves. So with the first round's table the second one's is tried
 * by itself; then the third one's, and the fourth one's: a search of 2^19 each.
 */
static bool second_fits(uint32_t k0, uint32_t k1)
{
	uint32_t i, a, b, d, bad = 0;

	for (i = 0; i < of_walk.twos && !is_off(bad, i); i++) {
		a = of_walk.a[i];
		b = of_walk.b[i];
		d = of_walk.q[a] ^ of_walk.q[b] ^ of_walk.end_q[a] ^
		    of_walk.end_q[b];
		bad += d != (high(of_walk.l[a] ^ high(of_walk.q[a], k0), k1) ^
			     high(of_walk.l[b] ^ high(of_walk.q[b], k0), k1));
	}
	return !is_off(bad, i);
}

/* Two records with the same left half after the first round get the same from
 * the second, so with the right table the difference of their right halves is
 * the same at the start and at the end. */
static bool first_fits(uint32_t k0)
{
	uint32_t i, a, b, n = 0, bad = 0;

	for (i = 0; i < of_walk.twos && !is_off(bad, n); i++) {
		a = of_walk.a[i];
		b = of_walk.b[i];
		if ((of_walk.l[a] ^ high(of_walk.q[a], k0)) !=
		    (of_walk.l[b] ^ high(of_walk.q[b], k0)))
			continue;
		n++;
		bad += (of_walk.q[a] ^ of_walk.q[b]) !=
		       (of_walk.end_q[a] ^ of_walk.end_q[b]);
	}
	return !is_off(bad, n);
}

/* The tables before are known: does round 2 (to the left half) or 3 (to the right
 * one) have table @k[@round]? */
static bool later_fits(const uint32_t k[4], uint32_t round)
{
	uint32_t i, l, q, bad = 0;

	for (i = 0; i < of_walk.n && !is_off(bad, i); i++) {
		l = of_walk.l[i] ^ high(of_walk.q[i], k[0]);
		q = of_walk.q[i] ^ high(l, k[1]);
		l ^= high(q, k[2]);
		if (round == 2)
			bad += l != of_walk.end_l[i];
		else
			bad += (q ^ high(l, k[3])) != of_walk.end_q[i];
	}
	return !is_off(bad, i);
}

static bool rest_fits(uint32_t k[4])
{
	uint32_t round, at;

	for (round = 2; round < 4; round++) {
		for (at = 0; at < TABLES; at++) {
			k[round] = TABLE(at);
			if (later_fits(k, round))
				break;
		}
		if (at == TABLES)
			return false;
	}
	return true;
}

static bool solve(uint32_t k[4])
{
	uint32_t a, b;

	for (a = 0; a < TABLES; a++) {
		k[0] = TABLE(a);
		if (!first_fits(k[0]))
			continue;
		for (b = 0; b < TABLES; b++) {
			k[1] = TABLE(b);
			if (second_fits(k[0], k[1]) && rest_fits(k))
				return true;
		}
	}
	return false;
}

static uint32_t by_tables(const uint32_t k[4], uint32_t x)
{
	uint32_t l = x >> HALF, q = x & 0xffu;

	l ^= high(q, k[0]);
	q ^= high(l, k[1]);
	l ^= high(q, k[2]);
	q ^= high(l, k[3]);
	return l << HALF | q;
}

/* Predicts the hidden parts of the walk of hidden[0]. Returns how many
 * predictions are right; @n: how many there are. */
static uint32_t by_search(uint32_t *n)
{
	uint32_t k[4], i, right = 0, idx = hidden[0].idx;
	uint32_t walk = hidden[0].walk;

	gather(idx, walk);
	*n = 0;
	if (of_walk.n < 64 || !solve(k))
		return 0;
	for (i = 0; i < n_hidden; i++) {
		if (hidden[i].idx != idx || hidden[i].walk != walk)
			continue;
		++*n;
		right += by_tables(k, hidden[i].x) == hidden[i].part;
	}
	return right;
}

/* The last two records seen of the walk of @h before it, last one first. */
static bool before(const struct shown *h, const struct shown *s[2])
{
	uint32_t i, n = 0;

	for (i = n_seen; i-- && n < 2;)
		if (seen[i].idx == h->idx && seen[i].walk == h->walk &&
		    seen[i].x < h->x && (!n || seen[i].x < s[0]->x))
			s[n++] = &seen[i];
	return n == 2;
}

/* A record of another index at the step of @h; NULL: none. */
static const struct shown *same_step(const struct shown *h)
{
	uint32_t i;

	for (i = 0; i < n_seen; i++)
		if (seen[i].x == h->x && seen[i].idx != h->idx)
			return &seen[i];
	return NULL;
}

/*
 * Predicts @tries hidden parts by simple rules: the part before, the difference
 * of the two before, by sum and by xor, a counter, the part of another index at
 * the same step. Returns how many predictions are right.
 */
#define RULES 6u
static uint32_t by_rules(uint32_t tries, uint32_t mask)
{
	const struct shown *s[2], *other;
	uint32_t i, k, right = 0, say[RULES];

	for (i = 0; i < tries; i++) {
		const struct shown *h = &hidden[i * (n_hidden / tries)];

		if (!before(h, s))
			continue;
		other = same_step(h);
		say[0] = s[0]->part;
		say[1] = s[0]->part + (s[0]->part - s[1]->part);
		say[2] = s[0]->part ^ s[0]->part ^ s[1]->part;
		say[3] = s[0]->part + 1u;
		say[4] = s[0]->part + (h->x - s[0]->x);
		say[5] = other ? other->part : 0u;
		for (k = 0; k < RULES; k++)
			right += (say[k] & mask) == h->part;
	}
	return right;
}

/*
 * Each bit of a part as a sum, mod 2, of bits of the step, of the index, and of
 * the part before: solve_bit() finds the sum by Gaussian elimination over
 * @seen, by_sums() tries it on @hidden and returns how often the best bit is
 * right.
 */
#define COLUMNS 64u
static uint64_t row_of(const struct shown *h, const struct shown *last)
{
	return 1u | (uint64_t)(h->x & 0xffffu) << 1 | (uint64_t)h->idx << 17 |
	       (uint64_t)last->part << 29;
}

static uint64_t solve_bit(uint32_t bit)
{
	uint64_t row[COLUMNS] = { 0 }, v, answer = 0;
	uint8_t rhs[COLUMNS] = { 0 }, y;
	uint32_t i, c;

	for (i = 1; i < n_seen; i++) {
		if (seen[i].part >> bit & 1)
			y = 1;
		else
			y = 0;
		v = row_of(&seen[i], &seen[i - 1]);
		for (c = 0; c < COLUMNS; c++) {
			if (!(v >> c & 1))
				continue;
			if (!row[c]) {
				row[c] = v;
				rhs[c] = y;
				break;
			}
			v ^= row[c];
			y ^= rhs[c];
		}
	}
	for (c = COLUMNS; c--;)
		if (row[c] &&
		    (rhs[c] ^ (__builtin_popcountll(row[c] & answer) & 1)))
			answer |= 1ull << c;
	return answer;
}

static uint32_t by_sums(uint32_t width, uint32_t *tries)
{
	uint32_t bit, i, right, most = 0;

	*tries = SEEN / 4 - 1;
	for (bit = 0; bit < width; bit++) {
		uint64_t sum = solve_bit(bit);

		right = 0;
		for (i = 1; i <= *tries && i < n_hidden; i++)
			right += (__builtin_popcountll(
					  row_of(&hidden[i], &hidden[i - 1]) &
					  sum) &
				  1) == (hidden[i].part >> bit & 1);
		most = right > most ? right : most;
	}
	*tries = n_hidden - 1;
	return most;
}

/* Each bit must differ in half of all consecutive parts, but for chance. */
static void bits_are_even(uint32_t width)
{
	uint32_t bit, i, ones, dev;

	for (bit = 0; bit < width; bit++) {
		for (i = 1, ones = 0; i < n_seen; i++)
			ones += (seen[i].part ^ seen[i - 1].part) >> bit & 1;
		dev = ones > n_seen / 2 ? ones - n_seen / 2 : n_seen / 2 - ones;
		/* five times the deviation, which is sqrt(n) / 2 */
		assert_true((uint64_t)dev * dev * 4 <= 25ull * n_seen);
	}
}

/* The parts that were recorded do not predict those that were not. */
static void solver(void **state)
{
	uint32_t n, right, tries = 200, mask = (1u << UNIC_STAG_PART_BITS) - 1u;

	(void)state;
	if (!FULL)
		return; /* too few records */
	record();
	bits_are_even(UNIC_STAG_PART_BITS);
	assert_in_range(by_rules(tries, mask), 0, 3);
	right = by_sums(UNIC_STAG_PART_BITS, &n);
	/* no better than a coin, within five deviations */
	assert_true(right < n / 2 ||
		    (uint64_t)(right - n / 2) * (right - n / 2) * 4 <=
			    25ull * n);
	print_message("sums: a bit of %u of %u\n", right, n);
	if (UNIC_STAG_PART_BITS == WIDTH)
		assert_int_equal(by_search(&n), 0);
	/* the same solver, on the weak function */
	make_weak();
	right = by_search(&n);
	print_message("search: %u of %u, of the specimen\n", right, n);
	assert_true(n > 10);
	assert_true(right >= n - n / 4);
}

/* A deregistered index is chosen again as often as any other free one. */
static void indices_say_nothing(void **state)
{
	struct unic_mr_result m, last = { 0 };
	uint32_t i, same = 0, up = 0, near = 0;

	(void)state;
	for (i = 0; i < SEEN; i++) {
		assert_int_equal(reg(0, &m), 0);
		same += m.mr == last.mr;
		near += m.mr == (last.mr + 1u) % UNIC_MRS;
		up += m.mr > last.mr;
		dereg(&m);
		last = m;
		if (r.nic.stags.resting)
			r.nic.now_ns += UNIC_STAG_REST_NS;
	}
	assert_in_range(same, SEEN / UNIC_MRS * 8 / 10,
			SEEN / UNIC_MRS * 12 / 10);
	assert_in_range(near, SEEN / UNIC_MRS * 8 / 10,
			SEEN / UNIC_MRS * 12 / 10);
	assert_in_range(up, SEEN * 47 / 100, SEEN * 51 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_uses_up_what_it_can, setup),
		cmocka_unit_test_setup(waiter_that_used_them_up, setup),
		cmocka_unit_test_setup(leaving_pays_nothing, setup),
		cmocka_unit_test_setup(each_slot_in_turn, setup),
		cmocka_unit_test_setup(nobody_is_held_to_his_part_before,
				       setup),
		cmocka_unit_test_setup(steps_are_charged_by_lot, setup),
		cmocka_unit_test_setup(solver, setup),
		cmocka_unit_test_setup(indices_say_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
