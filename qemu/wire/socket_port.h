/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * socket_port.h - a port of the switch that is a QEMU netdev:
 *	-netdev dgram,id=n,local.type=unix,local.path=R,remote.type=unix,
 *		remote.path=L                     for `--dgram L,R`
 *	-netdev stream,id=n,server=off,addr.type=unix,addr.path=P
 *	                                          for `--stream P`
 * A stream carries each frame behind its length, 4 bytes, big-endian. `--lan P` is
 * a stream at the pace of a 100 Mbit/s line, for a device with room for a few
 * frames: QEMU hands over all frames that it reads at once, whether they fit or
 * not.
 */
#ifndef SOCKET_PORT_H
#define SOCKET_PORT_H

#include <sys/un.h>

#include "frame.h"
#include "run_dir.h"

#define SOCKET_PORT_QUEUE (256u * 1024u) /* bytes a slow stream may lag */

struct socket_port {
	int listen_fd; /* stream only */
	int fd;	       /* dgram: the socket; stream: the connection or -1 */
	bool stream;
	bool lan;	  /* a stream with a pace: ... */
	uint64_t free_ns; /* ... may send again then */
	uint32_t begun;	  /* ... bytes left of a frame that is partly sent */
	struct sockaddr_un remote; /* dgram only */
	uint32_t in_bytes;	   /* bytes of an incomplete frame */
	uint32_t out_bytes;	   /* bytes that the kernel has not taken */
	uint8_t in[4 + WIRE_FRAME_BYTES];
	uint8_t out[SOCKET_PORT_QUEUE];
};

/**
 * socket_port_dgram(), socket_port_stream() - open a port.
 * @local, @remote, @path: file names, inside the run directory if without '/'.
 * Returns 0 or -errno.
 */
int socket_port_dgram(struct socket_port *sp, struct run_dir *rd,
		      const char *local, const char *remote);
int socket_port_stream(struct socket_port *sp, struct run_dir *rd,
		       const char *path, bool lan);

/**
 * socket_port_accept() - take the connection of a stream whose listener is
 * readable, in place of an old one. Returns the connection to watch, or -1.
 */
int socket_port_accept(struct socket_port *sp);

enum socket_port_result {
	SOCKET_PORT_NONE = 0, /* nothing to read */
	SOCKET_PORT_FRAME = 1,
	SOCKET_PORT_BAD = 2, /* a length out of range; a stream is closed */
};

/** socket_port_receive() - read the next frame. Does not block. */
enum socket_port_result socket_port_receive(struct socket_port *sp,
					    struct frame *f);

/**
 * socket_port_send() - send a frame whose ICRC is filled. Does not block. Returns
 * false if the frame was dropped: no peer, or the peer is too far behind.
 */
bool socket_port_send(struct socket_port *sp, const struct frame *f);

/**
 * socket_port_drain() - send frames that a stream could not take before. Returns
 * true if frames are still waiting.
 */
bool socket_port_drain(struct socket_port *sp, uint64_t now_ns);

/** socket_port_due() - the next time for socket_port_drain(); UINT64_MAX: no
 * frame waits. */
uint64_t socket_port_due(const struct socket_port *sp, uint64_t now_ns);

/** socket_port_fini() - close the sockets and drop frames that wait. */
void socket_port_fini(struct socket_port *sp);

#endif /* SOCKET_PORT_H */
