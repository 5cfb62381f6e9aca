/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * quiet.c - the simulator's world without its checkers. `make sim` judges the
 * same firmware and driver; here only what the experiments count is looked at,
 * so a run of a million messages is a matter of seconds.
 */
#include "check.h"
#include "oracle.h"

void check_took(struct node *n, const uint8_t *frame, uint32_t len, bool forged)
{
	(void)forged;
	(void)n;
	(void)frame;
	(void)len;
}

void check_sent(struct node *n, const uint8_t *frame, uint32_t len)
{
	(void)n;
	(void)frame;
	(void)len;
}

void check_node(struct node *n)
{
	(void)n;
}

void check_before_poll(struct node *n)
{
	(void)n;
}

void check_after_poll(struct node *n, bool asleep)
{
	(void)asleep;
	(void)n;
}

void check_after_host(struct node *n, bool rests)
{
	(void)rests;
	(void)n;
}

void check_moved(struct node *n, enum unic_port_dma_dir dir, uint64_t bus,
		 const void *host, uint32_t len)
{
	(void)n;
	(void)dir;
	(void)bus;
	(void)host;
	(void)len;
}

void check_shown(struct node *n, uint64_t bus, const void *host, uint32_t len)
{
	(void)n;
	(void)bus;
	(void)host;
	(void)len;
}

void check_window_written(struct node *n, uint64_t bus, const void *host,
			  uint32_t len)
{
	(void)n;
	(void)bus;
	(void)host;
	(void)len;
}

void check_driver_gone(struct node *n)
{
	(void)n;
}

void check_power_cut(struct node *n)
{
	(void)n;
}

void check_went_on(struct node *n)
{
	(void)n;
}

void oracle_unmap(uint32_t node, uint32_t slot)
{
	(void)node;
	(void)slot;
}
