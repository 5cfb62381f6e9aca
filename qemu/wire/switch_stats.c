// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdio.h>

#include <json-c/json.h>

#include "switch.h"

static void put_counter(struct json_object *to, const char *name, uint64_t v)
{
	json_object_object_add(to, name, json_object_new_uint64(v));
}

static struct json_object *port_json(const struct wire_switch *sw, int p)
{
	const struct port_count *c = &sw->count[p];
	const struct faults_count *f = &sw->faults[p].count;
	struct json_object *o = json_object_new_object();

	put_counter(o, "rx_frames", c->rx_frames);
	put_counter(o, "rx_bytes", c->rx_bytes);
	put_counter(o, "rx_bad", c->rx_bad);
	put_counter(o, "tx_frames", c->tx_frames);
	put_counter(o, "tx_bytes", c->tx_bytes);
	put_counter(o, "tx_dropped", c->tx_dropped);
	put_counter(o, "lost", f->lost);
	put_counter(o, "duplicated", f->duplicated);
	put_counter(o, "reordered", f->reordered);
	put_counter(o, "corrupted", f->corrupted);
	put_counter(o, "overflowed", f->overflowed);
	return o;
}

/* Does the port exist? The ports of the link do by its size, and those of
 * sockets. */
static bool is_port_present(const struct wire_switch *sw, int p)
{
	return p < WIRE_FIRST_SOCK ? p < (int)sw->link.ring.ports
				   : p < WIRE_FIRST_SOCK + sw->socks;
}

int switch_stats(const struct wire_switch *sw, const char *path)
{
	struct json_object *all = json_object_new_object();
	struct json_object *ports = json_object_new_object();
	char name[8];
	int p, err = 0;

	for (p = 1; p < WIRE_PORTS; p++) {
		if (!is_port_present(sw, p))
			continue;
		snprintf(name, sizeof(name), "%d", p);
		json_object_object_add(ports, name, port_json(sw, p));
	}
	json_object_object_add(all, "ports", ports);
	put_counter(all, "flooded", sw->flooded);
	put_counter(all, "captured", sw->capture.frames);
	put_counter(all, "link_rx_bad", sw->link.ring.rx_bad);
	put_counter(all, "link_full", sw->link.ring.tx_full);
	put_counter(all, "link_refused", sw->link.srv.refused);
	if (!path)
		printf("%s\n", json_object_to_json_string(all));
	else if (json_object_to_file_ext(path, all, JSON_C_TO_STRING_PRETTY))
		err = errno ? -errno : -EIO;
	json_object_put(all);
	return err;
}
