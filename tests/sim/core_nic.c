/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* core_nic.c - see core.h: the firmware's half. */
#include "core.h"

#include "nic.h"
#include "port.h"

_Static_assert(UNIC_PROCS <= PORT_SLOTS, "a window for each process");

struct unic_nic *core_nic_new(struct unic_port *port)
{
	struct unic_nic *nic = sim_alloc(sizeof(*nic));

	unic_nic_init(nic, port);
	return nic;
}

void core_nic_again(struct unic_nic *nic, struct unic_port *port)
{
	unic_nic_init(nic, port);
}

uint64_t core_nic_poll(struct unic_nic *nic)
{
	return unic_nic_poll(nic);
}

uint32_t core_misses(void)
{
	return UNIC_FAULTS;
}

bool core_tells_refused(void)
{
	return UNIC_TELL_REFUSED;
}
