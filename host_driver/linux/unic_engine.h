/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_engine.h - when the core runs.
 */
#ifndef UNIC_ENGINE_H
#define UNIC_ENGINE_H

#include <linux/types.h>

struct unic_os;

/** unic_engine_start() - start the thread that runs the core. Returns 0 or -errno. */
int unic_engine_start(struct unic_os *os);

/** unic_engine_stop() - stop the thread and wait for it; without one, do nothing. The
 * caller does not hold unic_os.lock. */
void unic_engine_stop(struct unic_os *os);

/**
 * unic_engine_spin() - poll the NIC until @over(@arg) returns true, for the module
 * parameter spin_us at most. The caller holds unic_os.lock, which is released and taken
 * again in between; @over runs under it. os->host is there on entry and may be NULL on
 * return.
 */
void unic_engine_spin(struct unic_os *os, bool (*over)(void *arg), void *arg);

#endif /* UNIC_ENGINE_H */
