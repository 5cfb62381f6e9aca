/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ifaddrs.h - the devices of the generated tree as network interfaces, which a NIC with a driver of
 * Linux has beside its RDMA device: libfabric and Open MPI look for RDMA among them.
 */
#ifndef UNIC_SHIM_IFADDRS_H
#define UNIC_SHIM_IFADDRS_H

#include <ifaddrs.h>

/** unic_shim_add_ifaddrs() - put one interface for each device behind the list of getifaddrs() at
 * *@list: its name, its IPv4 address, up and running. It carries no packet of the kernel.
 * 0; -1 and errno ENOMEM, and the list is as it was. Without devices nothing happens. */
int unic_shim_add_ifaddrs(struct ifaddrs **list);

/** unic_shim_del_ifaddrs() - take what unic_shim_add_ifaddrs() added to @list from it again, and free
 * it. Returns the rest: for freeifaddrs(). */
struct ifaddrs *unic_shim_del_ifaddrs(struct ifaddrs *list);

#endif /* UNIC_SHIM_IFADDRS_H */
