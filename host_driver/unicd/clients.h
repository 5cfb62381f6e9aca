/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clients.h - the socket of the processes. A client is a connection; its number @i is
 * its place in d->client[], below UNICD_CLIENTS_MAX. A client that is found dead is
 * marked, and ended by unicd_clients_reap(), so no function here ends one under its
 * caller.
 */
#ifndef UNICD_CLIENTS_H
#define UNICD_CLIENTS_H

#include "unicd.h"

/**
 * unicd_clients_listen() - make the socket d->socket, in place of one that nobody
 * serves, and watch it. With joint memory only the own user may connect.
 * Returns 0; -EADDRINUSE: another unicd serves it; -EEXIST: it is no socket;
 * -ENAMETOOLONG; -errno. An error is logged.
 */
int unicd_clients_listen(struct unicd *d);

/** unicd_clients_accept() - one process connects: it becomes a client, or is turned
 * away, which is logged, but not more often than every 10 seconds. */
void unicd_clients_accept(struct unicd *d);

/** unicd_clients_event() - client @i is in the states @events (EPOLL*): send what
 * waits for it, or take one request of it. */
void unicd_clients_event(struct unicd *d, uint32_t i, uint32_t events);

/** unicd_clients_ended() - the process that connected client @i ended: the client is
 * dead, even if other processes inherited its socket. */
void unicd_clients_ended(struct unicd *d, uint32_t i);

/** unicd_clients_reap() - end the clients that are marked dead: the core and the page
 * service forget them, replies that wait are freed, descriptors closed. */
void unicd_clients_reap(struct unicd *d);

/** unicd_clients_lose() - end the clients that are with NIC @os. */
void unicd_clients_lose(struct unicd *d, const struct unic_os *os);

/** unicd_clients_fini() - end all clients, close the socket and remove it. */
void unicd_clients_fini(struct unicd *d);

#endif /* UNICD_CLIENTS_H */
