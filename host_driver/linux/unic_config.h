/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_config.h - what the administrator sets of a NIC, as parameters of the module. */
#ifndef UNIC_CONFIG_H
#define UNIC_CONFIG_H

struct unic_os;

/** unic_config_host() - make os->host as the parameters say, for the NIC behind os->bar;
 * the caller ends it with unic_host_delete(). The NIC has shown its magic. Returns 0,
 * -EINVAL (a parameter) or -ENOMEM. */
int unic_config_host(struct unic_os *os);

#endif /* UNIC_CONFIG_H */
