/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ifaddrs.c - see ifaddrs.h. Secret: which entries of which list are ours. */
#include "ifaddrs.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "paths.h"
#include "ucma_dev.h"

#define NETMASK \
	0xffffff00u /* unic-run gives the hosts of a net addresses below 10.0.0 */

/* An interface in a list. */
struct entry {
	struct ifaddrs ifa; /* first: its address is that of the entry */
	struct sockaddr_in addr, mask;
	char name[IF_NAMESIZE];
};

/* What was added to one list. */
struct added {
	struct added *next;
	struct entry entry[UNIC_UCMA_DEVICES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct added *all; /* under `lock` */

static struct sockaddr_in inet(uint32_t ipv4)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(ipv4) };
}

static void fill(struct entry *e, const struct unic_ucma_dev *dev)
{
	snprintf(e->name, sizeof(e->name), "%.*s", IF_NAMESIZE - 1, dev->name);
	e->addr = inet(dev->ipv4);
	e->mask = inet(NETMASK);
	e->ifa.ifa_name = e->name;
	e->ifa.ifa_flags = IFF_UP | IFF_RUNNING;
	e->ifa.ifa_addr = (struct sockaddr *)&e->addr;
	e->ifa.ifa_netmask = (struct sockaddr *)&e->mask;
}

int unic_shim_add_ifaddrs(struct ifaddrs **list)
{
	struct unic_ucma_dev dev[UNIC_UCMA_DEVICES];
	const char *sys = unic_shim_tree();
	int i, n = sys ? unic_ucma_devs(sys, dev) : 0;
	struct added *a;

	if (!n)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a) {
		errno = ENOMEM;
		return -1;
	}
	for (i = 0; i < n; i++) {
		fill(&a->entry[i], &dev[i]);
		if (i)
			a->entry[i - 1].ifa.ifa_next = &a->entry[i].ifa;
	}
	while (*list)
		list = &(*list)->ifa_next;
	*list = &a->entry[0].ifa;
	pthread_mutex_lock(&lock);
	a->next = all;
	all = a;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* What begins with @first, which is in `all` no more; NULL: it is of somebody else. */
static struct added *forget(const struct ifaddrs *first)
{
	struct added **at, *found;

	pthread_mutex_lock(&lock);
	for (at = &all; *at && &(*at)->entry[0].ifa != first; at = &(*at)->next)
		;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	return found;
}

struct ifaddrs *unic_shim_del_ifaddrs(struct ifaddrs *list)
{
	struct ifaddrs **at = &list;
	struct added *a = NULL;

	for (; *at && !a; at = a ? at : &(*at)->ifa_next)
		a = forget(*at);
	if (a)
		*at = NULL;
	free(a);
	return list;
}
