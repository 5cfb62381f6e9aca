// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic-bus - the motherboard of one host.
 *
 * Owns what must survive a driver: the mailbox memory, the process slots and the
 * doorbells. NICs attach by the ivshmem protocol (DIR/ivshmem, or DIR/nic if they
 * can exchange memory), the driver by abi/unic_bus.h (DIR/attach). DIR/bus.json
 * says where everything is.
 *
 * A host that is a machine of its own, a QEMU with Linux, takes the place of the
 * driver as peer 0 of the ivshmem protocol (DIR/guest). Its RAM belongs to the
 * bus, too, and is the one DMA window of the NIC.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "bus_attach.h"
#include "bus_memory.h"
#include "ivshmem_server.h"
#include "number.h"
#include "output.h"
#include "run_dir.h"
#include "say.h"
#include "unic_mbox.h"

struct bus_options {
	const char *dir;
	uint64_t slots;
	uint64_t slot_bytes;
	uint64_t bar_bytes;
	/* bytes of RAM; 0: the host is a driver in user mode */
	uint64_t guest_bytes;
	const char *ram; /* of another bus of that machine; NULL: made here */
	bool joint;
};

enum watch {
	WATCH_SIGNAL,
	WATCH_IVSHMEM,
	WATCH_ATTACH,
	WATCH_DRIVER,
	WATCH_END,
};

struct bus {
	struct run_dir dir;
	struct bus_memory mem;
	struct ivshmem_server srv;
	struct bus_attach at;
	int epoll_fd;
	int end_fd; /* readable: the guest wants its NICs to end */
	int nics;
	int slots;
	bool guest;
	uint32_t renewing; /* bit per slot with an unanswered RENEW */
};

/* --------------------------------------------------------------- options */

static const struct argp_option option_list[] = {
	{ "dir", 'd', "DIR", 0, "Directory of the sockets (made if missing)",
	  0 },
	{ "slots", 'n', "N", 0, "Process slots (default: 8)", 0 },
	{ "slot-size", 's', "BYTES", 0,
	  "Memory of each slot, a power of two; K, M, G (default: 16M)", 0 },
	{ "bar-size", 'b', "BYTES", 0,
	  "Mailbox memory, a power of two (default: 2M)", 0 },
	{ "joint", 'j', NULL, 0,
	  "All memory in one file, for a NIC that has no PCI; processes are "
	  "not protected from each other then",
	  0 },
	{ "guest", 'g', "BYTES", 0,
	  "The host is a virtual machine with this much RAM, a power of "
	  "two; slots have no memory",
	  0 },
	{ "ram", 'r', "PATH", 0,
	  "with --guest: its RAM is this file, slot 0 of another unic-bus "
	  "(/proc/PID/fd/N, see bus.json there): a machine with several NICs",
	  0 },
	{ 0 }
};

static void check_bus_options(struct argp_state *state,
			      const struct bus_options *o)
{
	if (!o->dir)
		argp_error(state, "--dir is needed");
	if (o->slots < 1 || o->slots > UNIC_BUS_SLOTS_MAX)
		argp_error(state, "--slots: 1 to %u", UNIC_BUS_SLOTS_MAX);
	if (o->slot_bytes < 65536 || o->slot_bytes > 1ull << 30 ||
	    o->slot_bytes & (o->slot_bytes - 1))
		argp_error(state, "--slot-size: a power of two from 64K to 1G");
	if (o->bar_bytes < UNIC_BAR_BYTES || o->bar_bytes > 1u << 28 ||
	    o->bar_bytes & (o->bar_bytes - 1))
		argp_error(state, "--bar-size: a power of two from 2M to 256M");
	if (o->guest_bytes && (o->joint || o->guest_bytes < 1u << 20 ||
			       o->guest_bytes > 1ull << 30 ||
			       o->guest_bytes & (o->guest_bytes - 1)))
		argp_error(state, "--guest: a power of two from 1M to 1G, "
				  "without --joint");
	if (o->ram && !o->guest_bytes)
		argp_error(state, "--ram is that of a --guest");
	if (o->joint && o->bar_bytes + o->slots * o->slot_bytes > 1ull << 32)
		argp_error(state, "--joint: 4G in all");
}

/* What is no number is refused as one that is too large, by words that say what is needed. */
static uint64_t number_or_too_large(const char *text)
{
	uint64_t v = UINT64_MAX;

	(void)number_parse(text, 0, UINT64_MAX, &v);
	return v;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bus_options *o = state->input;

	switch (key) {
	case 'd':
		o->dir = arg;
		return 0;
	case 'n':
		o->slots = number_or_too_large(arg);
		return 0;
	case 's':
		o->slot_bytes = number_or_too_large(arg);
		return 0;
	case 'b':
		o->bar_bytes = number_or_too_large(arg);
		return 0;
	case 'g':
		o->guest_bytes = number_or_too_large(arg);
		return 0;
	case 'j':
		o->joint = true;
		return 0;
	case 'r':
		o->ram = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "what is '%s'?", arg);
		return 0;
	case ARGP_KEY_END:
		check_bus_options(state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --------------------------------------------------------------- start-up */

static int report_error(const char *what, const char *where, int err)
{
	say(STDERR_FILENO, "unic-bus: %s%s%s: %s", what, where ? " " : "",
	    where ? where : "", strerror(-err));
	return 1;
}

static int watch_bus_fd(struct bus *bus, int fd, enum watch what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = what };

	return epoll_ctl(bus->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int watch_signals(struct bus *bus)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : watch_bus_fd(bus, fd, WATCH_SIGNAL);
}

/* Opens the socket of the host: a driver, or a guest. */
static int open_host(struct bus *bus)
{
	int fd = bus->guest
			 ? run_dir_listen(&bus->dir, "guest", SOCK_STREAM)
			 : run_dir_listen(&bus->dir, "attach", SOCK_SEQPACKET);

	if (fd < 0)
		return report_error("cannot make the socket in", bus->dir.path,
				    fd);
	if (bus->guest) {
		bus->end_fd =
			ivshmem_server_add_number(&bus->srv, UNIC_BUS_PEER_END);
		if (bus->end_fd < 0)
			return bus->end_fd;
		if (watch_bus_fd(bus, bus->end_fd, WATCH_END))
			return -errno;
		return ivshmem_server_admit_host(&bus->srv, fd);
	}
	bus_attach_init(&bus->at, fd, &bus->mem, &bus->srv);
	return watch_bus_fd(bus, fd, WATCH_ATTACH);
}

/* Opens the socket of NICs that can exchange memory while they run. */
static int open_mapping(struct bus *bus)
{
	int fd;

	if (bus->mem.joint)
		return 0;
	fd = run_dir_listen(&bus->dir, "nic", SOCK_STREAM);
	if (fd < 0)
		return report_error("cannot make the socket in", bus->dir.path,
				    fd);
	return ivshmem_server_admit_mapping(&bus->srv, fd, bus->mem.slot_fd,
					    bus->mem.slots);
}

static int open_sockets(struct bus *bus)
{
	int fd, err;

	fd = run_dir_listen(&bus->dir, "ivshmem", SOCK_STREAM);
	if (fd < 0)
		return report_error("cannot make the socket in", bus->dir.path,
				    fd);
	err = ivshmem_server_init(&bus->srv, fd, bus->mem.bar_fd,
				  1 + bus->slots, UNIC_BUS_PEER_END);
	if (err)
		return report_error("cannot serve ivshmem", NULL, err);
	err = open_mapping(bus);
	if (!err)
		err = open_host(bus);
	if (!err)
		err = watch_bus_fd(bus, ivshmem_server_fd(&bus->srv),
				   WATCH_IVSHMEM);
	return err < 0 ? report_error("epoll", NULL, err) : err;
}

static void slot_fds(const struct bus *bus, char *out, size_t bytes)
{
	size_t n = 0;
	int s;

	for (s = 0; s < bus->mem.slots; s++)
		n += (size_t)snprintf(out + n, bytes - n, "%s%d", s ? "," : "",
				      bus->mem.slot_fd[s]);
}

static int announce_ready(struct bus *bus)
{
	char slots[UNIC_BUS_SLOTS_MAX * 12], json[1024];
	const char *host = bus->guest ? "guest" : "attach";
	int err;

	slot_fds(bus, slots, sizeof(slots));
	snprintf(json, sizeof(json),
		 "{\"pid\": %d, \"joint\": %s, \"ivshmem\": \"%s/ivshmem\", "
		 "\"%s\": \"%s/%s\", \"nic\": \"%s/nic\", \"vectors\": %d,\n"
		 " \"bar_bytes\": %u, \"bar_fd\": %d, "
		 "\"slot_bytes\": %llu, \"slot_fds\": [%s]}\n",
		 getpid(), bus->mem.joint ? "true" : "false", bus->dir.path,
		 host, bus->dir.path, host, bus->dir.path, bus->srv.vectors,
		 bus->mem.bar_bytes, bus->mem.bar_fd,
		 (unsigned long long)bus->mem.slot_bytes, slots);
	err = run_dir_write(&bus->dir, "bus.json", json);
	if (err)
		return report_error("cannot write bus.json in", bus->dir.path,
				    err);
	say(STDOUT_FILENO,
	    "unic-bus: ready dir=%s pid=%d bar_bytes=%u bar_fd=%d "
	    "slot_bytes=%llu slot_fds=%s vectors=%d",
	    bus->dir.path, getpid(), bus->mem.bar_bytes, bus->mem.bar_fd,
	    (unsigned long long)bus->mem.slot_bytes, slots, bus->srv.vectors);
	(void)sd_notifyf(0, "READY=1\nSTATUS=in %s", bus->dir.path);
	return 0;
}

static int start_bus(struct bus *bus, const struct bus_options *o)
{
	int err = run_dir_init(&bus->dir, o->dir, "bus");

	if (err == -EBUSY) {
		say(STDERR_FILENO,
		    "unic-bus: another unic-bus runs in %s; stop it or "
		    "choose another --dir",
		    o->dir);
		return 1;
	}
	if (err) {
		say(STDERR_FILENO, "unic-bus: cannot use directory %s: %s",
		    o->dir, run_dir_why(err));
		return 1;
	}
	bus->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = bus->epoll_fd < 0 ? -errno : watch_signals(bus);
	if (err)
		return report_error("epoll", NULL, err);
	bus->slots = (int)o->slots;
	bus->guest = o->guest_bytes;
	err = bus->guest ? bus_memory_init(&bus->mem, 1, o->guest_bytes,
					   (uint32_t)o->bar_bytes, false)
			 : bus_memory_init(&bus->mem, bus->slots, o->slot_bytes,
					   (uint32_t)o->bar_bytes, o->joint);
	if (err)
		return report_error("cannot make the memory files", NULL, err);
	err = o->ram ? bus_memory_take(&bus->mem, 0, o->ram) : 0;
	if (err)
		return report_error("cannot use --ram", o->ram, err);
	return open_sockets(bus) || announce_ready(bus);
}

/* ---------------------------------------------------------------- running */

static void nic_event(struct bus *bus, int peer, bool joined)
{
	int err;

	bus->nics += joined ? 1 : -1;
	if (!bus->nics)
		bus_memory_nic_gone(&bus->mem);
	err = bus_attach_nic(&bus->at, peer, joined);
	if (err)
		report_error("the driver is cut off", NULL, err);
	/* a guest gets no message about NICs: a doorbell has it check the magic */
	if (bus->guest)
		ivshmem_server_ring(&bus->srv, 1u << UNIC_BUS_PEER_HOST);
	say(STDOUT_FILENO, "unic-bus: NIC %d %s", peer,
	    joined ? "joined" : "left");
}

/* Answers RENEW for the slots whose old memory no NIC maps any longer. */
static void answer_renewed(struct bus *bus)
{
	uint32_t rest = bus->renewing;
	int s;

	for (; rest; rest &= rest - 1) {
		s = __builtin_ctz(rest);
		if (ivshmem_server_owed(&bus->srv, s))
			continue;
		bus->renewing &= ~(1u << s);
		bus_attach_renewed(&bus->at, (uint32_t)s, true);
	}
}

static void ivshmem_events(struct bus *bus)
{
	uint32_t refused = bus->srv.refused;
	struct ivshmem_event evt;
	bool joined;

	while (ivshmem_server_next(&bus->srv, &evt)) {
		if (evt.type == IVSHMEM_MAPPED) {
			answer_renewed(bus);
			continue;
		}
		joined = evt.type == IVSHMEM_JOINED;
		if (evt.peer == UNIC_BUS_PEER_HOST)
			say(STDOUT_FILENO, "unic-bus: guest %s",
			    joined ? "joined" : "left");
		else
			nic_event(bus, evt.peer, joined);
		answer_renewed(bus);
	}
	if (bus->srv.refused != refused)
		report_error("a NIC is turned away", NULL,
			     -bus->srv.refused_errno);
}

static void accept_driver(struct bus *bus)
{
	int fd = bus_attach_accept(&bus->at), err;

	if (fd >= 0)
		/* requests of a previous driver, whose end was not reported */
		bus->renewing = 0;
	if (fd < 0 && fd != -EBUSY && fd != -EAGAIN)
		report_error("a driver is turned away", NULL, fd);
	if (fd < 0)
		return;
	err = watch_bus_fd(bus, fd, WATCH_DRIVER);
	if (err) {
		report_error("a driver is turned away", NULL, err);
		shutdown(fd, SHUT_RDWR);
		(void)bus_attach_check(&bus->at);
		return;
	}
	say(STDOUT_FILENO, "unic-bus: driver %d attached", bus->at.driver_pid);
}

/*
 * A NIC that cannot exchange memory opens it by its name after it connected. So
 * NICs that wait at the socket are let in before their kind is checked; and one
 * that connected while the file was exchanged may have either file, so it is hung
 * up, to connect again.
 */
static int renew_slot(struct bus *bus, int slot)
{
	int err;

	ivshmem_events(bus);
	if (!ivshmem_server_all_map(&bus->srv))
		return -EBUSY;
	err = bus_memory_renew(&bus->mem, slot);
	if (err)
		return err;
	ivshmem_events(bus);
	ivshmem_server_expel(&bus->srv);
	ivshmem_server_window(&bus->srv, slot);
	return 0;
}

static void handle_renew(struct bus *bus, uint32_t slot)
{
	int err = slot < (uint32_t)bus->mem.slots ? renew_slot(bus, (int)slot)
						  : -EOPNOTSUPP;

	if (err) {
		if (err != -EBUSY && err != -EOPNOTSUPP)
			report_error("no other memory for a slot", NULL, err);
		bus_attach_renewed(&bus->at, slot, false);
		return;
	}
	bus->renewing |= 1u << slot;
	answer_renewed(bus);
}

static void handle_message(struct bus *bus)
{
	uint32_t value = 0; /* slot or version */

	switch (bus_attach_receive(&bus->at, &value)) {
	case 0:
		handle_renew(bus, value);
		return;
	case -EPROTONOSUPPORT:
		say(STDERR_FILENO,
		    "unic-bus: driver %d speaks version %u, this program %u: "
		    "take both of one release",
		    bus->at.driver_pid, value, UNIC_BUS_VERSION);
		bus_attach_cut(&bus->at, UNIC_BUS_OTHER_VERSION);
		return;
	case -EPROTO:
		say(STDERR_FILENO,
		    "unic-bus: driver %d sent a malformed message: it is "
		    "cut off",
		    bus->at.driver_pid);
		bus_attach_cut(&bus->at, UNIC_BUS_MALFORMED);
		return;
	default:
		return;
	}
}

static void handle_driver(struct bus *bus)
{
	if (!bus_attach_check(&bus->at)) {
		handle_message(bus);
		return;
	}
	bus->renewing = 0; /* the next driver sends its own requests */
	say(STDOUT_FILENO, "unic-bus: driver left");
}

/* The guest gives up its NIC. A NIC that does not answer may be in the middle of
 * a write: it certainly writes no more only after its process has ended. */
static void end_nics(struct bus *bus)
{
	uint64_t rung;

	if (read(bus->end_fd, &rung, sizeof(rung)) != sizeof(rung))
		return;
	say(STDOUT_FILENO, "unic-bus: the guest ends its NICs");
	if (ivshmem_server_end(&bus->srv))
		report_error("a NIC cannot be ended", NULL, -errno);
}

static int run_bus(struct bus *bus)
{
	struct epoll_event ev;

	for (;;) {
		if (epoll_wait(bus->epoll_fd, &ev, 1, -1) != 1) {
			if (errno == EINTR)
				continue;
			return report_error("epoll", NULL, -errno);
		}
		if (ev.data.u32 == WATCH_SIGNAL)
			return 0;
		if (ev.data.u32 == WATCH_IVSHMEM)
			ivshmem_events(bus);
		else if (ev.data.u32 == WATCH_ATTACH)
			accept_driver(bus);
		else if (ev.data.u32 == WATCH_END)
			end_nics(bus);
		else
			handle_driver(bus);
	}
}

static void stop_bus(struct bus *bus)
{
	bus_attach_fini(&bus->at);
	ivshmem_server_fini(&bus->srv);
	bus_memory_fini(&bus->mem);
	run_dir_fini(&bus->dir);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { option_list,
					  parse_option,
					  NULL,
					  "The motherboard of one host: memory "
					  "and doorbells that a driver and "
					  "NICs share.",
					  NULL,
					  NULL,
					  NULL };
	struct bus_options o = { .slots = 8,
				 .slot_bytes = 16u << 20,
				 .bar_bytes = UNIC_BAR_BYTES };
	struct bus bus = { 0 };
	int status;

	output_watch();
	status = argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (status)
		return report_error("options", NULL, -status);
	bus.dir.lock_fd = bus.dir.fd = -1;
	bus.srv = (struct ivshmem_server){
		.epoll_fd = -1, .listen_fd = -1, .host_fd = -1, .map_fd = -1
	};
	bus.at = (struct bus_attach){ .driver_fd = -1, .listen_fd = -1 };
	say_start();
	status = start_bus(&bus, &o);
	if (status) {
		run_dir_fini(&bus.dir);
	} else {
		status = run_bus(&bus);
		stop_bus(&bus);
	}
	say_end();
	return status;
}
