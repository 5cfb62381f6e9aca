// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic-uart - the doorbells of a NIC whose machine has no PCI: bytes on a serial port.
 *
 *	unic-uart --bus SOCKET -- QEMU ARGUMENTS ...
 *
 * becomes that QEMU, so the pid of QEMU is the NIC's, with a socket as descriptor
 * 3 for the chardev of the port. A child process is the NIC on the bus (ivshmem):
 * a byte v from the NIC rings vector v of the host, and doorbell v of the NIC
 * becomes a byte v. The child ends when the NIC does.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ivshmem_client.h"
#include "number.h"
#include "output.h"
#include "patience.h"

#define GREETING_MS 5000
#define NIC_FD	    3
#define HOST_PEER   0u

/*
 * Bounds the bytes that the NIC has not read, however often the host rings: each
 * takes some hundred bytes of the buffer. Doorbells rung while it is full become
 * one.
 */
#define SOCKET_BYTES 2048

enum {
	POLL_NIC,
	POLL_BUS,
	POLL_BELL
}; /* ... and one for each vector */

struct bridge {
	struct ivshmem_client bus;
	int nic;
	uint32_t due; /* bit v: doorbell v is not yet sent */
	struct pollfd poll[POLL_BELL + IVSHMEM_CLIENT_VECTORS];
};

static int report_error(const char *what, const char *which, int err)
{
	fprintf(stderr, "unic-uart: %s %s: %s\n", what, which, strerror(-err));
	return -1;
}

/* ----------------------------------------------------------------- bridge */

/* Returns false: the NIC has ended. */
static bool forward_from_nic(struct bridge *b)
{
	uint8_t byte[64];
	ssize_t n = recv(b->nic, byte, sizeof(byte), MSG_DONTWAIT), i;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	for (i = 0; i < n; i++)
		if (byte[i] < b->bus.vectors)
			ivshmem_client_ring(&b->bus, HOST_PEER, byte[i]);
	return n > 0;
}

static void forward_to_nic(struct bridge *b)
{
	while (b->due) {
		uint8_t byte = (uint8_t)__builtin_ctz(b->due);

		if (send(b->nic, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
			/* full: tried again when the NIC has read; ended: seen
			 * in forward_from_nic() */
			return;
		b->due &= b->due - 1;
	}
}

static void take_bells(struct bridge *b)
{
	uint64_t count;
	int v;

	for (v = 0; v < b->bus.vectors; v++)
		if (b->poll[POLL_BELL + v].revents & POLLIN &&
		    read(b->poll[POLL_BELL + v].fd, &count, sizeof(count)) > 0)
			b->due |= 1u << v;
}

static int run_bridge(struct bridge *b)
{
	int v;

	b->poll[POLL_BUS] =
		(struct pollfd){ .fd = b->bus.fd, .events = POLLIN };
	for (v = 0; v < b->bus.vectors; v++)
		b->poll[POLL_BELL + v] = (struct pollfd){
			.fd = ivshmem_client_event(&b->bus, v),
			.events = POLLIN,
		};
	for (;;) {
		int err;

		b->poll[POLL_NIC] = (struct pollfd){
			.fd = b->nic,
			.events = (short)(POLLIN | (b->due ? POLLOUT : 0)),
		};
		if (poll(b->poll, (nfds_t)(POLL_BELL + b->bus.vectors), -1) < 0)
			return errno == EINTR ? 0 : 1;
		if (b->poll[POLL_NIC].revents && !forward_from_nic(b))
			return 0;
		take_bells(b);
		forward_to_nic(b);
		err = b->poll[POLL_BUS].revents ? ivshmem_client_news(&b->bus)
						: 0;
		if (err) {
			report_error("the bus", "is gone", err);
			return 1;
		}
	}
}

/* ---------------------------------------------------------------- start-up */

struct uart_options {
	const char *bus;
	int vectors;
	char **command;
};

static const struct argp_option option_list[] = {
	{ "bus", 'b', "SOCKET", 0, "ivshmem socket of unic-bus", 0 },
	{ "vectors", 'v', "N", 0, "doorbells that it has (default: 2)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct uart_options *o = state->input;

	switch (key) {
	case 'b':
		o->bus = arg;
		return 0;
	case 'v':
		o->vectors =
			(int)number_need(state, arg, 1, IVSHMEM_CLIENT_VECTORS);
		return 0;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!o->bus || !o->command)
			argp_error(state, "--bus and a command are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Returns in the child, which is the bridge; the parent becomes the NIC. */
static int fork_bridge(struct bridge *b, char **command)
{
	int pair[2], bytes = SOCKET_BYTES;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return report_error("socketpair", "", -errno);
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	b->nic = pair[0];
	switch (fork()) {
	case -1:
		return report_error("fork", "", -errno);
	case 0:
		close(pair[1]);
		/* ends with the NIC, and not by a key that is meant for the NIC */
		setsid();
		return 0;
	default:
		if (dup2(pair[1], NIC_FD) == NIC_FD &&
		    /* pair[1] may be NIC_FD: then dup2() leaves FD_CLOEXEC
		     * set */
		    !fcntl(NIC_FD, F_SETFD, 0))
			execvp(command[0], command);
		report_error("cannot run", command[0], -errno);
		_exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = { option_list,
					  parse_option,
					  "COMMAND ...",
					  "Run COMMAND, a QEMU, and pass on "
					  "doorbells of its NIC as bytes on a "
					  "serial port.",
					  NULL,
					  NULL,
					  NULL };
	struct uart_options o = { .vectors = 2 };
	struct bridge b = { 0 };
	uint32_t wait_ms;
	int err;

	output_watch();
	err = argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (err)
		return EXIT_FAILURE;
	if (unic_patience_read(&wait_ms)) {
		fprintf(stderr, "unic-uart: " UNIC_PATIENCE_WRONG "\n",
			unic_patience_text());
		return EXIT_FAILURE;
	}
	err = ivshmem_client_connect(&b.bus, o.bus, o.vectors, (int)wait_ms,
				     GREETING_MS);
	if (err == -EPROTONOSUPPORT)
		fprintf(stderr,
			"unic-uart: the bus at %s speaks version %lld, this "
			"program %d; take both of one release\n",
			o.bus, (long long)b.bus.version,
			IVSHMEM_CLIENT_VERSION);
	if (err) {
		fprintf(stderr,
			"unic-uart: cannot attach to the bus at %s: %s; start "
			"`unic-bus --dir DIR' and name its socket, "
			"DIR/ivshmem\n",
			o.bus, strerror(-err));
		return EXIT_FAILURE;
	}
	if (fork_bridge(&b, o.command))
		return EXIT_FAILURE;
	return run_bridge(&b) ? EXIT_FAILURE : EXIT_SUCCESS;
}
