/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * link_side.h - the switch's side of the shared-memory link: the memory file,
 * its ivshmem server, port 0.
 */
#ifndef LINK_SIDE_H
#define LINK_SIDE_H

#include "frame.h"
#include "ivshmem_server.h"
#include "link_ring.h"
#include "run_dir.h"

struct link_side {
	int fd;
	uint64_t bytes;
	void *mem;
	struct link_ring ring;
	struct ivshmem_server srv;
};

struct link_shape {
	uint32_t nics;	     /* 1..7 */
	uint32_t slots;	     /* per ring, a power of two */
	uint32_t slot_bytes; /* a multiple of 64 */
	uint32_t flags;	     /* UNIC_LINK_* */
};

/**
 * link_side_init() - make the link and serve it at "ivshmem" in @rd.
 * Returns 0 or -errno (-EINVAL: the shape).
 */
int link_side_init(struct link_side *ls, struct run_dir *rd,
		   const struct link_shape *shape);

/**
 * link_side_event() - a NIC joined or left the link; call when
 * ivshmem_server_fd() is readable. Returns false when there is no more.
 */
bool link_side_event(struct link_side *ls, struct ivshmem_event *evt);

/** link_side_there() - has the NIC at @port attached to its rings? */
bool link_side_there(const struct link_side *ls, int port);

/** link_side_receive() - copy out the next frame, NICs in turn. */
bool link_side_receive(struct link_side *ls, struct frame *f);

/**
 * link_side_send() - put a frame into the ring to @port. The ICRC may be left
 * out only as far as the link allows.
 * Returns false if it was dropped: ring full, or frame too long.
 */
bool link_side_send(struct link_side *ls, int port, struct frame *f);

/** link_side_flush() - wake the NICs that sleep and have frames now. */
void link_side_flush(struct link_side *ls);

/** link_side_doorbell() - event fd that NICs ring while the switch sleeps. */
int link_side_doorbell(const struct link_side *ls);

/** link_side_sleep() - see link_ring_sleep(). */
void link_side_sleep(struct link_side *ls, bool on);

/** link_side_fini() - unmap and close the ring, and end its server. */
void link_side_fini(struct link_side *ls);

#endif /* LINK_SIDE_H */
