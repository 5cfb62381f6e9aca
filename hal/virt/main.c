/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The firmware: the core and its board, together. Nothing else sees both.
 */
#include <string.h>

#include "clock.h"
#include "crash.h"
#include "memlayout.h"
#include "nic.h"
#include "pl011.h"

#define ROUNDS_PER_REFRESH 1024u

static struct unic_port port;
static struct unic_nic nic;

/* CRC-32 (IEEE) of one table: slow and without a table of its own. */
static unic_le32 table_sum(const void *table, size_t bytes)
{
	const uint8_t *p = table;
	uint32_t crc = ~0u;

	while (bytes--) {
		crc ^= *p++;
		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return unic_to_le32(~crc);
}

void crash_details(struct unic_crash *record)
{
	record->epoch = unic_to_le32(nic.epoch);
	record->trace_seq = unic_to_le32(nic.trace.seq);
	record->table_sum[0] = table_sum(&nic.tlb, sizeof(nic.tlb));
	record->table_sum[1] = table_sum(&nic.mrs, sizeof(nic.mrs));
	record->table_sum[2] = table_sum(&nic.tokens, sizeof(nic.tokens));
	record->table_sum[3] = table_sum(&nic.qps, sizeof(nic.qps));
	record->table_sum[4] = table_sum(&nic.cqs, sizeof(nic.cqs));
	record->table_sum[5] = table_sum(&nic.procs, sizeof(nic.procs));
	record->table_sum[6] = table_sum(&nic.evict, sizeof(nic.evict));
}

int main(void)
{
	const char *why = virt_port_init(&port);

	if (why) {
		pl011_puts(VIRT_UART, "unic: not started: ");
		pl011_puts(VIRT_UART, why);
		pl011_puts(VIRT_UART, "\n");
		return 1;
	}
	crash_arm(&port);
	unic_nic_init(&nic, &port);
	pl011_puts(VIRT_UART, "unic: ready\n");
	for (uint32_t round = 0;; round++) {
		uint64_t until_ns = unic_nic_poll(&nic);

		if (until_ns)
			virt_port_sleep(&port, until_ns);
		if (!(round % ROUNDS_PER_REFRESH))
			virt_port_refresh(&port);
	}
}
