// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "icrc.h"
#include "link_layout.h"
#include "link_side.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const uint8_t no_mac[6];

/* A PCI BAR is a power of two. */
static uint64_t bar_size(uint64_t bytes)
{
	uint64_t size = 4096;

	while (size < bytes)
		size <<= 1;
	return size;
}

static int make_memory(struct link_side *ls, const struct link_shape *shape)
{
	uint32_t ports = 1 + shape->nics;

	ls->bytes = bar_size(
		link_layout_bytes(ports, shape->slots, shape->slot_bytes));
	ls->fd = memfd_create("unic-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ls->fd < 0 || ftruncate(ls->fd, (off_t)ls->bytes) ||
	    fcntl(ls->fd, F_ADD_SEALS, SEALS))
		return -errno;
	ls->mem = mmap(NULL, ls->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       ls->fd, 0);
	if (ls->mem == MAP_FAILED)
		return -errno;
	if (link_layout_format(ls->mem, ls->bytes, ports, shape->slots,
			       shape->slot_bytes, shape->flags) ||
	    link_ring_attach(&ls->ring, ls->mem, ls->bytes,
			     UNIC_LINK_PORT_SWITCH, no_mac))
		return -EINVAL;
	return 0;
}

int link_side_init(struct link_side *ls, struct run_dir *rd,
		   const struct link_shape *shape)
{
	int err, sock;

	memset(ls, 0, sizeof(*ls));
	ls->srv.epoll_fd = -1;
	ls->srv.listen_fd = -1;
	ls->srv.host_fd = -1;
	ls->srv.map_fd = -1;
	err = make_memory(ls, shape);
	if (err)
		return err;
	sock = run_dir_listen(rd, "ivshmem", SOCK_STREAM);
	if (sock < 0)
		return sock;
	return ivshmem_server_init(&ls->srv, sock, ls->fd, 1,
				   (int)shape->nics + 1);
}

bool link_side_event(struct link_side *ls, struct ivshmem_event *evt)
{
	if (!ivshmem_server_next(&ls->srv, evt))
		return false;
	if (evt->type == IVSHMEM_LEFT)
		link_ring_bury(&ls->ring, (uint32_t)evt->peer);
	return true;
}

bool link_side_there(const struct link_side *ls, int port)
{
	return link_ring_there(&ls->ring, (uint32_t)port);
}

bool link_side_receive(struct link_side *ls, struct frame *f)
{
	struct unic_rx rx;

	while (link_ring_rx_next(&ls->ring, &rx)) {
		f->from = (int)link_ring_source(&ls->ring);
		f->len = rx.len;
		f->no_icrc = rx.flags & UNIC_FRAME_NO_ICRC;
		memcpy(f->data, rx.frame, rx.len);
		link_ring_rx_done(&ls->ring);
		if (f->from != UNIC_LINK_PORT_SWITCH)
			return true;
	}
	return false;
}

bool link_side_send(struct link_side *ls, int port, struct frame *f)
{
	uint8_t *buf;

	if (f->len > ls->ring.max_frame)
		return false;
	buf = link_ring_tx_get(&ls->ring, (uint32_t)port);
	if (!buf)
		return false;
	if (!(ls->ring.flags & UNIC_LINK_NO_ICRC))
		icrc_finish(f);
	memcpy(buf, f->data, f->len);
	link_ring_tx_put(&ls->ring, buf, f->len,
			 f->no_icrc ? UNIC_FRAME_NO_ICRC : 0);
	return true;
}

void link_side_flush(struct link_side *ls)
{
	ivshmem_server_ring(&ls->srv, link_ring_flush(&ls->ring));
}

int link_side_doorbell(const struct link_side *ls)
{
	return ivshmem_server_doorbell(&ls->srv, UNIC_LINK_PORT_SWITCH, 0);
}

void link_side_sleep(struct link_side *ls, bool on)
{
	link_ring_sleep(&ls->ring, on);
}

void link_side_fini(struct link_side *ls)
{
	ivshmem_server_fini(&ls->srv);
	if (ls->mem && ls->mem != MAP_FAILED)
		munmap(ls->mem, ls->bytes);
	if (ls->fd > 0)
		close(ls->fd);
	ls->mem = NULL;
	ls->fd = -1;
}
