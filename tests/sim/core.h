/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * core.h - the only file of the simulator that uses internals of a NIC core and a
 * host driver, of firmware/ and host_driver/core. All checkers but the pin ledger
 * use the ABI alone.
 */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include "sim.h"

#define CORE_SERVICE 0x5151u /* that datagrams of core_mad() ask for, mostly */

struct unic_nic;
struct unic_port;
struct unic_host;

/** core_nic_new() - power on a new NIC. */
struct unic_nic *core_nic_new(struct unic_port *port);
/** core_nic_again() - power on again, in the same memory. */
void core_nic_again(struct unic_nic *nic, struct unic_port *port);
/** core_nic_poll() - unic_nic_poll(). */
uint64_t core_nic_poll(struct unic_nic *nic);
/** core_misses() - fault slots of a NIC. */
uint32_t core_misses(void);

/** core_tells_refused() - do its NICs tell the sender of a tagged message that it was
 * refused? */
bool core_tells_refused(void);
/** core_has_atomics() - do they have atomic operations? */
bool core_has_atomics(void);
/** core_has_cached_windows() - may windows be bound over regions that are not resident? */
bool core_has_cached_windows(void);
/** core_nic_left() - a kind of object of which @nic has some, *@n: how many; NULL: it
 * has none. All processes have left. core_host_left() - the same of a driver. */
const char *core_nic_left(const struct unic_nic *nic, uint32_t *n);
const char *core_host_left(const struct unic_host *host, uint32_t *n);
/* core_host_refusals() - connections without an owner: refusals that @host can say again. */
uint32_t core_host_refusals(const struct unic_host *host);
/** core_icrc() - the ICRC of the frame that ends at @len. */
uint32_t core_icrc(const uint8_t *frame, uint32_t len);
/** core_mad() - some datagram of the connection manager, or of holders, 256 bytes, as
 * @src would send it to @dst. */
void core_mad(struct sim_rng *r, uint32_t src, uint32_t dst, uint8_t *mad);
/** core_pins() - the number of registrations that cover frame @frame of slot
 * @slot. */
uint32_t core_pins(const struct unic_host *host, uint32_t slot, uint32_t frame);
/** core_lists() - is frame @frame of slot @slot one of a translation list? */
bool core_lists(const struct unic_host *host, uint32_t slot, uint32_t frame);
/** core_pinned() - the number of frames of the slot under at least one
 * registration. */
uint32_t core_pinned(const struct unic_host *host, uint32_t slot);
/** core_audits() - the number of promises that the provider broke. */
uint32_t core_audits(const struct unic_host *host);
/** core_epoch() - the NIC's epoch in the driver; 0: not ready. */
uint32_t core_epoch(const struct unic_host *host);
/** core_open() - the number of open requests, including the driver's. */
uint32_t core_open(const struct unic_host *host);

#endif /* SIM_CORE_H */
