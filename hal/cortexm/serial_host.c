/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* serial_host.c - see serial_host.h. */
#include "serial_host.h"

#include <string.h>

#include "machine.h"

/*
 * Kept over a reset: start.S does not clear this section. Bits fall when the power
 * fails for a moment, so that what is kept has a checksum. `lives` counts from
 * whatever was there at power-on.
 */
static struct {
	struct unic_crash record;
	uint32_t told; /* the host has the record */
	uint32_t lives;
	uint32_t check; /* of what is before */
} kept __attribute__((section(".noinit")));

static uint32_t kept_check(void)
{
	return frame_crc((const uint8_t *)&kept,
			 offsetof(__typeof__(kept), check));
}

static struct serial_host *host_of(struct unic_port *port)
{
	return (struct serial_host *)(void *)port;
}

static struct near *near_of(struct unic_port *port)
{
	return &host_of(port)->near;
}

/* Not 0, and different in each life, as long as the power was on: the host
 * detects a restart by it. */
static uint32_t make_nonce(void)
{
	uint32_t n = ++kept.lives * 2654435761u ^ CORTEXM_REG(SYSTICK_CVR);

	return n ? n : 1;
}

void serial_host_start(struct serial_host *host, uint32_t baud)
{
	if (kept.check != kept_check())
		kept.told = true;
	near_init(&host->near, make_nonce(), baud);
	if (!kept.told)
		host->near.crash = &kept.record;
	kept.check = kept_check();
}

void serial_host_was_reset(struct serial_host *host, const char *why,
			   uint32_t status)
{
	if (host->near.crash)
		return;
	memset(&kept.record, 0, sizeof(kept.record));
	kept.record.magic = unic_to_le32(UNIC_CRASH_MAGIC);
	kept.record.kind = unic_to_le32(UNIC_CRASH_OTHER);
	kept.record.fault_status = unic_to_le32(status);
	memcpy(kept.record.file, why, strlen(why));
	kept.told = false;
	kept.check = kept_check();
	host->near.crash = &kept.record;
}

void serial_host_beat(struct serial_host *host, bool up, uint32_t bus_lost,
		      uint32_t wire_lost)
{
	struct unic_info *info =
		(struct unic_info *)(void *)(host->near.box + UNIC_BOX_INFO);

	if (!kept.told && !host->near.crash &&
	    stream_idle(&host->near.stream)) {
		kept.told = true;
		kept.check = kept_check();
	}
	/* the next heartbeat takes them to the host */
	UNIC_WRITE_ONCE(info->link_up, up);
	UNIC_WRITE_ONCE(info->bus_lost, unic_to_le32(bus_lost));
	UNIC_WRITE_ONCE(info->wire_lost, unic_to_le32(wire_lost));
}

/* Resets: the link needs a main loop, so the next life sends the record to the
 * host. A board whose link is not up might crash and reset for ever: it stops,
 * after a line on the console, until its watchdog resets it, if it has one. */
void machine_crashed(struct unic_port *port, const struct unic_crash *record)
{
	kept.record = *record;
	kept.told = false;
	kept.check = kept_check();
	if (port && near_of(port)->stream.up)
		cortexm_reset();
}

uint64_t unic_port_now_ns(struct unic_port *port)
{
	return cortexm_clock_ns(&host_of(port)->clock);
}

void *unic_port_bar(struct unic_port *port)
{
	return near_of(port)->box;
}

void *unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	return near_doorbells(near_of(port), bus);
}

int unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
		  uint64_t bus, void *local, uint32_t len, uint32_t tag)
{
	return near_dma(near_of(port), dir, bus, local, len, tag);
}

bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status)
{
	return near_dma_poll(near_of(port), tag, status);
}

/* Host memory is not mapped. */
void *unic_port_window(struct unic_port *port, uint64_t bus, uint32_t len)
{
	(void)port;
	(void)bus;
	(void)len;
	return NULL;
}

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	near_ring(near_of(port), vector);
}

/* No source of entropy: the driver sends some. */
uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	(void)port;
	(void)buf;
	(void)len;
	return 0;
}
