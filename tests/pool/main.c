/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-pool - a day of a pool of 60 database connections in virtual time: one
 * tenant alone, others who come, one that clings, one that is deaf, one that is
 * cut off; then days drawn at random. Ends with 0 when no rule was broken.
 */
#include <stdio.h>

#include "tenants.h"

#define MS     1000000ull
#define DAYS   40u
#define EVENTS 60u

static struct tenants t;

static void wants(uint32_t who, enum manner manner, uint32_t n,
		  uint32_t work_us)
{
	t.tenant[who].manner = manner;
	t.tenant[who].wants = n;
	t.tenant[who].work_us = work_us;
	t.tenant[who].pause_us = work_us / 2;
	t.tenant[who].tell_us = 500 * (who + 1);
}

static void has(uint32_t who, uint32_t least, uint32_t most, const char *what)
{
	uint32_t n = tenants_held(&t, who);

	tenants_expect(&t, n >= least && n <= most, what, who);
}

static void say(const char *hour)
{
	uint32_t i;

	printf("%-44s", hour);
	for (i = 0; i < POOL_TENANTS; i++)
		printf("%4u", tenants_held(&t, i));
	printf("\n");
}

static void alone_and_shared(void)
{
	wants(0, GIVES, 60, 3000);
	tenants_run(&t, 50 * MS);
	has(0, 60, 60, "alone, and not all of the pool is its own");
	say("one alone has them all");

	wants(1, GIVES, 40, 3000);
	tenants_run(&t, 150 * MS);
	has(0, 30, 30, "two of equal weight do not have half each");
	has(1, 30, 30, "two of equal weight do not have half each");
	say("two share");

	unic_share_weigh(&t.pool.share, 2, 2);
	wants(2, GIVES, 30, 3000);
	tenants_run(&t, 250 * MS);
	has(0, 15, 15, "not by weight");
	has(2, 30, 30, "not by weight");
	say("a third one, of twice the weight");

	wants(2, GIVES, 4, 0); /* keeps what it has, idle, until asked */
	tenants_run(&t, 300 * MS);
	has(2, 30, 30, "lost something within its share");
	tenants_leave(&t, 2);
	tenants_run(&t, 350 * MS);
	has(0, 30, 30, "does not borrow what is free");
	has(1, 30, 30, "does not borrow what is free");
	say("it leaves, the others borrow");
}

static void bad_manners(void)
{
	wants(1, CLINGS, 60, 200000);
	wants(0, GIVES, 0, 0);
	tenants_leave(&t, 0);
	tenants_run(&t, 400 * MS);
	has(1, 60, 60, "does not borrow what is free");
	wants(3, GIVES, 20, 3000);
	wants(4, GIVES, 20, 3000);
	tenants_run(&t, 500 * MS);
	has(1, 20, 20, "clung to more than its share");
	has(3, 20, 20, "starves beside one that clings");
	tenants_expect(&t, t.tenant[1].cut == 40,
		       "not just what was above the share was cut", 1);
	say("one clings to all; two come");

	tenants_leave(&t, 1);
	wants(5, DEAF, 60, 0);
	tenants_run(&t, 600 * MS);
	wants(6, CUT_OFF, 60, 0);
	tenants_run(&t, 700 * MS);
	has(6, 15, 15, "has not its share beside a deaf one");
	wants(7, GIVES, 12, 3000);
	tenants_run(&t, 900 * MS);
	has(7, 12, 12, "has not its share beside one cut off");
	has(5, 12, 12, "deaf, and has more than its share");
	has(6, 12, 12, "cut off, and has more than its share");
	say("one deaf, one cut off; another comes");
}

static uint32_t draw(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

/* Whatever they do, the rules that each step is held against hold; and in the
 * end, when all want all, all have the same. */
static void day(uint64_t seed)
{
	uint32_t i, who;

	tenants_init(&t);
	for (i = 0; i < EVENTS; i++) {
		who = draw(&seed, POOL_TENANTS);
		if (!draw(&seed, 5))
			tenants_leave(&t, who);
		else
			wants(who, (enum manner)draw(&seed, 4), draw(&seed, 70),
			      draw(&seed, 30000));
		who = draw(&seed, POOL_TENANTS);
		unic_share_weigh(&t.pool.share, who, 1 + draw(&seed, 4));
		tenants_run(&t, t.pool.now_ns + draw(&seed, 60) * MS);
	}
	for (who = 0; who < POOL_TENANTS; who++) {
		unic_share_weigh(&t.pool.share, who, 1);
		wants(who, (enum manner)draw(&seed, 4), POOL_SIZE, 5000);
	}
	tenants_run(&t, t.pool.now_ns + 500 * MS);
	for (who = 0; who < POOL_TENANTS; who++)
		has(who, POOL_SIZE / POOL_TENANTS, POOL_SIZE / POOL_TENANTS + 1,
		    "all want all, and have not the same");
}

static uint64_t longest(void)
{
	uint64_t ns = 0;
	uint32_t i;

	for (i = 0; i < POOL_TENANTS; i++)
		if (t.tenant[i].longest_ns > ns)
			ns = t.tenant[i].longest_ns;
	return ns;
}

int main(void)
{
	uint32_t broken, i;

	tenants_init(&t);
	alone_and_shared();
	bad_manners();
	printf("longest wait within a share %.1f ms, bound %.1f ms\n",
	       (double)longest() / 1e6,
	       (double)pool_bound_ns(&t.pool, PERIOD_NS) / 1e6);
	broken = t.violations;
	for (i = 1; i <= DAYS; i++) {
		day(i);
		broken += t.violations;
	}
	printf("%u days at random, %u rules broken\n", DAYS, broken);
	return broken ? 1 : 0;
}
