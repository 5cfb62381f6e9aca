/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ids.h - the ids of objects that this host has given so far (S4: "all objects have
 * unique ids, used in all later calls").
 *
 * Secret: how an id is made: 13 bits index, 19 bits generation. Each NIC has indices of
 * its own; the generations are those of the host, so two NICs never give the same id. An
 * index is reused as late as possible and retired when its generations are used up.
 *
 * The memory is of the user of the core, who keeps it as long as ids are to be unique:
 * one struct of all NICs of a host.
 */
#ifndef UNIC_IDS_H
#define UNIC_IDS_H

#include "unic_os.h"

#define UNIC_OBJ_BITS 13u
#define UNIC_OBJ_MAX  (1u << UNIC_OBJ_BITS)

struct unic_ids {
	uint32_t magic;
	uint32_t host_id; /* random; the same for all NICs of the host */
	uint64_t boot[2]; /* of the machine; another one: ids begin anew */
	uint32_t gen[UNIC_OBJ_MAX]; /* the last one given, by index */
};

/**
 * unic_ids_init() - begin, or go on, to give ids: with @ids of an earlier driver, which
 * is valid and has the same @boot, none of them comes back. Draws a new host_id.
 * @boot: 16 bytes that differ from boot to boot of the machine.
 */
void unic_ids_init(struct unic_ids *ids, struct unic_os *os,
		   const uint64_t boot[2]);

/** unic_ids_next() - a new id with index @i, below UNIC_OBJ_MAX. 0: there is none left.
 * Several drivers may call at the same time. */
uint32_t unic_ids_next(struct unic_ids *ids, uint32_t i);

/** unic_ids_given() - an earlier driver gave @id: neither it nor one before it with the
 * same index comes back. No other driver may use @ids meanwhile. */
void unic_ids_given(struct unic_ids *ids, uint32_t id);

/** unic_ids_merge() - none of the ids comes back that were given with @others in the same
 * boot. No other driver may use either meanwhile. */
void unic_ids_merge(struct unic_ids *ids, const struct unic_ids *others);

/** unic_obj_index() - position of an id in the table of its NIC. */
static inline uint32_t unic_obj_index(uint32_t id)
{
	return id & (UNIC_OBJ_MAX - 1);
}

#endif /* UNIC_IDS_H */
