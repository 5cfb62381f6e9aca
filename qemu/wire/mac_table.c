// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "mac_table.h"

#define BUCKET	4
#define BUCKETS (MAC_TABLE_ENTRIES / BUCKET)

/* Multiplicative hash of the six bytes (Knuth 6.4). */
static unsigned int bucket_of(const uint8_t mac[6])
{
	uint64_t v = 0;

	memcpy(&v, mac, 6);
	return (unsigned int)(v * 0x9e3779b97f4a7c15ull >> 32) % BUCKETS *
	       BUCKET;
}

void mac_table_learn(struct mac_table *t, const uint8_t mac[6], int port,
		     uint64_t now_ns)
{
	struct mac_entry *bucket = &t->entry[bucket_of(mac)], *e = bucket;
	int i;

	if (mac[0] & 1)
		return;
	for (i = 0; i < BUCKET; i++) {
		if (bucket[i].port && !memcmp(bucket[i].mac, mac, 6)) {
			e = &bucket[i];
			break;
		}
		if (!bucket[i].port || bucket[i].seen_ns < e->seen_ns)
			e = &bucket[i];
	}
	memcpy(e->mac, mac, 6);
	e->port = (uint8_t)port;
	e->seen_ns = now_ns;
}

int mac_table_find(const struct mac_table *t, const uint8_t mac[6],
		   uint64_t now_ns)
{
	const struct mac_entry *e = &t->entry[bucket_of(mac)];
	int i;

	if (mac[0] & 1)
		return 0;
	for (i = 0; i < BUCKET; i++, e++)
		if (e->port && !memcmp(e->mac, mac, 6) &&
		    now_ns - e->seen_ns < t->age_ns)
			return e->port;
	return 0;
}

void mac_table_forget(struct mac_table *t, int port)
{
	int i;

	for (i = 0; i < MAC_TABLE_ENTRIES; i++)
		if (t->entry[i].port == port)
			memset(&t->entry[i], 0, sizeof(t->entry[i]));
}
