/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * policy_sample.c - work between two choices: examine newcomers, notice uses,
 * remember evicted items, find the next candidates.
 */
#include "arbiter/frequency.h"
#include "arbiter/policy_item.h"

#define ROUND 4u  /* items of the main list examined each time */
#define TIDY  10u /* `lru`: items put in order each time */
#define WAYS  4u  /* ways of the table of ghosts */

/* `app`: one step of importance outweighs every benefit. */
#define HINT_STEP 16384

/* --------------------------------------------------------------- ghosts */

/* In the habit of a ghost: it is a frequency (`lfu`), an interval to nobody. */
#define FREQUENCY 0x8000u

/* unic_pain_of_use() of an item that was taken back. */
static inline uint16_t *loss_of(const struct unic_chooser *c,
				const struct unic_ghost *g)
{
	return &c->table->state->ghost_loss[g - c->table->ghost];
}

static inline bool has_frequency(const struct unic_ghost *g)
{
	return UNIC_LFU && g->habit & FREQUENCY;
}

static inline uint16_t tag_of(uint32_t id)
{
	return (uint16_t)(id >> 16 | 1u);
}

static struct unic_ghost *ghost_ways(const struct unic_chooser *c, uint32_t id)
{
	return &c->table->ghost[(id & c->table->ghost_mask) * WAYS];
}

static struct unic_ghost *ghost_find(const struct unic_chooser *c, uint32_t id)
{
	struct unic_ghost *g = ghost_ways(c, id), *end = g + WAYS;

	for (; g < end; g++)
		if (g->tag == tag_of(id) && has_frequency(g) == is_lfu(c))
			return g;
	return NULL;
}

/* The benefit of keeping a ghost. With a habit: that of having the item. Without, or
 * with a frequency: less, and falling with age. */
static inline int32_t ghost_benefit(const struct unic_reuse *l,
				    const struct unic_ghost *g, uint32_t age)
{
	if (!has_frequency(g) && unic_interval_lasts(g->habit, age))
		return unic_reuse_benefit(l, g->habit, age);
	return 2 * UNIC_BENEFIT_NONE - (int32_t)(age >> 2);
}

/* Returns a free ghost, or the one of least benefit, so that a scan does not
 * displace known items. */
static struct unic_ghost *ghost_place(const struct unic_chooser *c, uint32_t id,
				      uint32_t now)
{
	struct unic_ghost *g = ghost_ways(c, id), *found = g, *end = g + WAYS;
	int32_t least = INT32_MAX, worth;

	for (; g < end; g++) {
		if (!g->tag)
			return g;
		worth = ghost_benefit(&c->learn, g, now - g->last);
		if (worth < least) {
			least = worth;
			found = g;
		}
	}
	return found;
}

/* ----------------------------------------------------------- candidates */

/* Returns the habit of an item after @uses more, together @span after the last use
 * before; it was @habit then. `lfu`: its frequency, in the same place. */
static uint16_t next_habit(struct unic_chooser *c, uint16_t habit,
			   uint32_t span, uint32_t uses)
{
	if (is_lfu(c))
		return unic_frequency_add(habit, span, uses);
	unic_reuse_hit(&c->learn, habit, span / uses);
	return unic_interval_add(habit, span, uses);
}

/* The account of what moves through item @i, or NULL. */
static inline struct unic_moved *moved_of(const struct unic_chooser *c,
					  uint16_t i)
{
	return UNIC_PAIN ? &c->table->state->moved[i] : NULL;
}

/* Notices what moved through item @i in its last @uses; they count as much as all before.
 * Without a habit, and so at its first look, nothing was noticed yet. */
static __attribute__((noinline)) void update_moved(const struct unic_chooser *c,
						   const struct unic_item *item,
						   const uint8_t *t,
						   uint32_t uses)
{
	struct unic_moved *m = moved_of(c, (uint16_t)(item - c->table->item));
	uint32_t bytes, loss;

	if (!c->table->bytes)
		return;
	if (!item->habit)
		*m = (struct unic_moved){ 0 };
	bytes = *(const uint32_t *)(const void *)(t + c->table->bytes);
	loss = unic_pain_of_use((bytes - m->bytes) / uses);
	m->bytes = bytes;
	m->loss = m->loss ? (m->loss + loss) / 2u : loss;
}

/* Notices the uses since the last look. */
static void update_habit(struct unic_chooser *c, struct unic_item *item,
			 const uint8_t *t)
{
	uint32_t before = item->seen, uses;

	if (!is_used(item, t))
		return;
	uses = count_new_uses(item, t);
	if (UNIC_PAIN)
		update_moved(c, item, t, uses);
	item->habit = next_habit(c, item->habit, item->seen - before, uses) &
		      0x7fffu;
}

/* `app`, `lfu`: what the item with usage @t is worth, which is @worth to `default`. */
static int32_t __attribute__((noinline, cold))
other_benefit(const struct unic_chooser *c, const uint8_t *t, uint16_t habit,
	      uint32_t age, int32_t worth)
{
	if (is_lfu(c))
		return unic_frequency_now(habit, age);
	worth += t[c->table->hint] * HINT_STEP;
	return worth;
}

/* The pain for each use that is expected of an item of @n entries: what it moves, and for
 * how long that stands still; 0 for a use without bytes, of the least item. No use is
 * expected of an item without a habit. */
static __attribute__((noinline)) int32_t
weighted_pain(const struct unic_chooser *c, uint32_t loss, uint32_t n)
{
	uint32_t pain = loss + (uint32_t)(unic_lg(unic_pain_again(c->wait, n)) -
					  unic_lg(unic_pain_again(c->wait, 0)));

	return (int32_t)(pain * c->table->state->weight >>
			 UNIC_PAIN_WEIGHT_LOG2);
}

/* The item's benefit for each entry wanted; entries beyond those wanted do not
 * count. */
static int32_t item_benefit(const struct unic_chooser *c, uint16_t i,
			    uint64_t now_ns)
{
	const uint8_t *t = item_usage(c->table, i);
	uint32_t n = *(const uint16_t *)(const void *)(t + c->table->size);
	int32_t worth, size = unic_lg(n);
	uint64_t age = (now_ns - last_ns(t)) >> 10;
	uint16_t habit = item_of(c, i)->habit;

	if (age > UINT32_MAX)
		age = UINT32_MAX;
	worth = unic_reuse_benefit(&c->learn, habit, (uint32_t)age);
	if (UNIC_PAIN && habit && worth > UNIC_BENEFIT_NONE)
		worth += weighted_pain(c, moved_of(c, i)->loss, n);
	if (unlikely(c->kind != UNIC_POLICY_DEFAULT))
		worth = other_benefit(c, t, habit, (uint32_t)age, worth);
	return worth - (size < c->wanted ? size : c->wanted);
}

/* Inserts @i into the sorted candidates, unless all of a full pool are worth
 * less. Of two equal ones the later goes first. */
static void add_candidate(struct unic_chooser *c, uint16_t i, uint64_t now_ns)
{
	struct unic_candidate new;
	uint32_t k;

	for (k = 0; k < c->pooled; k++)
		if (c->pool[k].item == i)
			return;
	new = (struct unic_candidate){ i, item_benefit(c, i, now_ns) };
	if (c->pooled < UNIC_POLICY_POOL)
		c->pooled++;
	else if (c->pool[--k].worth < new.worth)
		return;
	for (; k && c->pool[k - 1u].worth >= new.worth; k--)
		c->pool[k] = c->pool[k - 1u];
	c->pool[k] = new;
}

/* Recomputes the candidates and drops those used since. */
static void refresh_candidates(struct unic_chooser *c, uint64_t now_ns)
{
	struct unic_candidate old[UNIC_POLICY_POOL];
	uint32_t k, n = c->pooled;

	for (k = 0; k < n; k++)
		old[k] = c->pool[k];
	c->pooled = 0;
	for (k = n; k--;)
		if (!is_used(item_of(c, old[k].item),
			     item_usage(c->table, old[k].item)))
			add_candidate(c, old[k].item, now_ns);
}

/* Moves used newcomers from the head, at most two, to the main list. If the head
 * was not used, adds it and the last known newcomer as candidates. */
static void sample_newcomers(struct unic_chooser *c, uint64_t now_ns)
{
	uint32_t left;
	uint16_t i;

	for (left = 2; left; left--) {
		i = c->head[NEW];
		if (i == UNIC_ITEM_NIL || is_stranger(item_of(c, i)))
			return;
		if (!is_used(item_of(c, i), item_usage(c->table, i)))
			break;
		update_habit(c, item_of(c, i), item_usage(c->table, i));
		to_main(c, i);
	}
	if (!left)
		return;
	add_candidate(c, i, now_ns);
	i = item_of(c, c->stranger == UNIC_ITEM_NIL ? i : c->stranger)->prev;
	if (!is_used(item_of(c, i), item_usage(c->table, i)))
		add_candidate(c, i, now_ns);
}

void unic_policy_look(struct unic_chooser *c, uint64_t now_ns)
{
	uint32_t left;

	if (c->kind == UNIC_POLICY_LRU && c->head[NEW] != UNIC_ITEM_NIL)
		unic_chooser_tidy(c, NEW, TIDY);
	if (!has_candidates(c))
		return;
	refresh_candidates(c, now_ns);
	sample_newcomers(c, now_ns);
	left = c->count[MAIN] < ROUND ? c->count[MAIN] : ROUND;
	for (; left; left--) {
		uint16_t i = c->head[MAIN];

		rotate_list(c, MAIN);
		update_habit(c, item_of(c, i), item_usage(c->table, i));
		add_candidate(c, i, now_ns);
	}
	if (!is_lfu(c))
		unic_reuse_step(&c->learn);
}

/* ------------------------------------------------------ items come and go */

void unic_policy_init(struct unic_chooser *c,
		      const struct unic_policy_table *table)
{
	c->table = table;
	c->kind = UNIC_POLICY_DEFAULT;
	if (UNIC_PAIN)
		c->wait = 0;
	c->pooled = 0;
	c->wanted = 0;
	c->head[NEW] = c->head[MAIN] = c->stranger = UNIC_ITEM_NIL;
	c->count[NEW] = c->count[MAIN] = 0;
	unic_reuse_init(&c->learn);
}

/* All items become strangers, for the new policy to examine. */
void unic_policy_set(struct unic_chooser *c, uint32_t kind)
{
	uint16_t i;

	if (c->kind == kind)
		return;
	c->kind = (uint8_t)kind;
	c->pooled = 0;
	while ((i = c->head[MAIN]) != UNIC_ITEM_NIL) {
		unic_chooser_unlink(c, i);
		link_item(c, NEW, i);
	}
	c->stranger = c->head[NEW];
	for (i = c->stranger; i != UNIC_ITEM_NIL; i = newcomer_after(c, i))
		item_of(c, i)->habit = UNIC_STRANGER;
}

/* True if `app` has an importance for the item: it enters the main list without
 * proof. */
static bool has_hint(const struct unic_chooser *c, uint16_t i)
{
	return c->kind == UNIC_POLICY_APP &&
	       item_usage(c->table, i)[c->table->hint] != 0;
}

bool unic_policy_meet(struct unic_chooser *c, uint32_t id)
{
	uint16_t i = c->stranger;
	struct unic_item *item = item_of(c, i);
	struct unic_ghost *g = ghost_find(c, id);

	c->stranger = newcomer_after(c, i);
	init_seen(c->table, item, item_usage(c->table, i));
	if (!g && !has_hint(c, i))
		return false;
	if (g && has_candidates(c))
		item->habit = next_habit(c, g->habit & 0x7fffu,
					 item->seen - g->last, 1) &
			      0x7fffu;
	if (g)
		g->tag = 0;
	if (UNIC_PAIN && g && has_candidates(c))
		*moved_of(c, i) = (struct unic_moved){
			.loss = g->habit ? *loss_of(c, g) : 0,
		};
	to_main(c, i);
	if (has_candidates(c) && !is_used(item, item_usage(c->table, i)))
		add_candidate(c, i,
			      since_ns(c->table, item_usage(c->table, i)));
	return g;
}

/* Whose importance is said enters the main list without proof, also if it was not
 * examined yet. */
void unic_policy_rehint(struct unic_chooser *c, uint16_t i, uint64_t now_ns)
{
	struct unic_item *item = item_of(c, i);

	unic_chooser_drop(c, i);
	if (c->kind != UNIC_POLICY_APP)
		return;
	if (c->stranger == i)
		c->stranger = newcomer_after(c, i);
	if (is_stranger(item))
		init_seen(c->table, item, item_usage(c->table, i));
	if (!item->main)
		to_main(c, i);
	if (!is_used(item, item_usage(c->table, i)))
		add_candidate(c, i, now_ns);
}

void unic_policy_evicted(struct unic_chooser *c, uint16_t i, uint32_t id,
			 uint64_t now_ns)
{
	struct unic_item *item = item_of(c, i);
	uint32_t now = unic_stamp(now_ns);
	struct unic_ghost *g;

	if (c->kind == UNIC_POLICY_RANDOM || c->kind == UNIC_POLICY_LRU ||
	    (c->kind == UNIC_POLICY_S3FIFO && item->main))
		return;
	if (is_stranger(item))
		init_seen(c->table, item, item_usage(c->table, i));
	g = ghost_place(c, id, now);
	if (has_candidates(c)) {
		update_habit(c, item, item_usage(c->table, i));
		if (g->tag && !is_lfu(c) && !has_frequency(g))
			unic_reuse_end(&c->learn, g->habit, now - g->last);
	}
	g->tag = tag_of(id);
	g->last = item->seen;
	g->habit = has_candidates(c) ? item->habit : 0;
	if (UNIC_PAIN && g->habit)
		*loss_of(c, g) = (uint16_t)moved_of(c, i)->loss;
	if (is_lfu(c))
		g->habit |= FREQUENCY;
}

/* ----------------------------------------------------------------- pain */

#define HALF_LIFE_LOG2 27u
#define FRACTION_BITS  8u

/* Returns pain / 2^(dt / half-life); the fraction follows a chord of the curve. */
static uint32_t decay_pain(uint32_t pain, uint64_t dt_ns)
{
	uint64_t lives = dt_ns >> HALF_LIFE_LOG2;
	uint32_t part = (uint32_t)(dt_ns >> (HALF_LIFE_LOG2 - FRACTION_BITS)) &
			((1u << FRACTION_BITS) - 1);

	if (lives >= 32)
		return 0;
	pain >>= lives;
	return pain - (uint32_t)((uint64_t)pain * part >> (FRACTION_BITS + 1));
}

uint32_t unic_policy_pain(uint32_t pain, uint64_t at_ns, uint64_t now_ns,
			  uint32_t bytes, uint32_t entries)
{
	uint32_t left = decay_pain(pain, now_ns - at_ns);
	uint32_t fresh = entries ? bytes / entries : 0;

	return left + fresh < left ? UINT32_MAX : left + fresh;
}
