/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mac_table.h - the port at which the last frame of each station came in. */
#ifndef MAC_TABLE_H
#define MAC_TABLE_H

#include <stdint.h>

#define MAC_TABLE_ENTRIES 256

struct mac_entry {
	uint8_t mac[6];
	uint8_t port; /* 0: free */
	uint64_t seen_ns;
};

struct mac_table {
	uint64_t age_ns; /* an older entry is not used */
	struct mac_entry entry[MAC_TABLE_ENTRIES];
};

/**
 * mac_table_learn() - a frame of station @mac came in at @port. Group addresses are not
 * learned. In a full bucket the oldest entry goes.
 */
void mac_table_learn(struct mac_table *t, const uint8_t mac[6], int port,
		     uint64_t now_ns);

/** mac_table_find() - port of @mac; 0: not known, or a group address. */
int mac_table_find(const struct mac_table *t, const uint8_t mac[6],
		   uint64_t now_ns);

/** mac_table_forget() - drop all stations at @port, whose peer left. */
void mac_table_forget(struct mac_table *t, int port);

#endif /* MAC_TABLE_H */
