/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * core.h - the one place that knows what a NIC core and a host driver look like
 * inside: the simulator's only window into firmware/ and host_driver/core. All
 * checkers but the pin ledger live on the ABI alone.
 */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include "sim.h"

struct unic_nic;
struct unic_port;
struct unic_host;

/** core_nic_new() - power on. */
struct unic_nic *core_nic_new(struct unic_port *port);
/** core_nic_again() - power on once more, in the same memory. */
void core_nic_again(struct unic_nic *nic, struct unic_port *port);
/** core_nic_poll() - as unic_nic_poll(), but a pause that passes by itself
 * takes no rounds. */
uint64_t core_nic_poll(struct unic_nic *nic);
/** core_misses() - pages that a NIC may wait for at a time. */
uint32_t core_misses(void);
/** core_pins() - registrations that cover frame @frame of slot @slot. */
uint32_t core_pins(const struct unic_host *host, uint32_t slot, uint32_t frame);
/** core_pinned() - frames of the slot under at least one. */
uint32_t core_pinned(const struct unic_host *host, uint32_t slot);
/** core_audits() - promises that the provider did not keep. */
uint32_t core_audits(const struct unic_host *host);
/** core_epoch() - of the NIC, as the driver believes; 0: not ready. */
uint32_t core_epoch(const struct unic_host *host);
/** core_open() - requests under way, the driver's own included. */
uint32_t core_open(const struct unic_host *host);

#endif /* SIM_CORE_H */
