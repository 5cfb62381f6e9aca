/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unicd_main.c - options, start, the event loop, the end. */
#define _GNU_SOURCE
#include <argp.h>
#include <arpa/inet.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "board.h"
#include "clients.h"
#include "crash_text.h"
#include "kio.h"
#include "line.h"
#include "provider/provider_loop.h"
#include "provider/provider_nic.h"
#include "say.h"
#include "slots.h"
#include "unicd_os.h"

/* Bytes at the end of the heap that stay there when they are free: else each request of
 * a batch would get memory from the kernel and give it back. */
#define HEAP_KEPT (4 << 20)

/* H of a NIC on a UART: the notice, its acknowledgement and the frames in front of them
 * take some 50 ms of the line. */
#define LINE_DELIVER_US 1000000u

/* Regions unused for so long are asked for. */
#define IDLE_US 1000000u

const char *argp_program_version = "unicd 1";

enum {
	OPT_GRACE = 256,
	OPT_DELIVER,
	OPT_REAPER,
	OPT_LOW,
	OPT_HIGH,
	OPT_RESIDENCE,
	OPT_EXTEND,
	OPT_IDLE,
	OPT_CRASH,
	OPT_AUDIT,
	OPT_SPIN,
	OPT_SLOTS,
	OPT_SLOT_SIZE,
	OPT_KIO,
	OPT_KIO_WRITABLE,
	OPT_KIO_ALLOW,
	OPT_KIO_USER,
	OPT_DATA,
	OPT_KIO_MAX,
	OPT_LINK,
	OPT_BAUD,
	OPT_USER_SLOTS,
};

static const struct argp_option options[] = {
	{ "bus", 'b', "DIR", 0, "directory of unic-bus", 0 },
	{ "socket", 's', "PATH", 0,
	  "socket of the processes (default: unicd.sock in the bus directory)",
	  0 },
	{ "provider", 'p', "nic|loop", 0,
	  "the NIC on the bus, or a loop-back in software (default: nic)", 0 },
	{ "ip", 'i', "ADDRESS", 0, "IPv4 address of the NIC (10.0.0.1)", 0 },
	{ "grace-us", OPT_GRACE, "T", 0,
	  "grace: time to give a region back; 0: none", 0 },
	{ "deliver-us", OPT_DELIVER, "H", 0, "longest delivery of an upcall",
	  0 },
	{ "reaper-us", OPT_REAPER, "US", 0, "period of the reaper", 0 },
	{ "low", OPT_LOW, "N", 0, "ask entries back when fewer are free", 0 },
	{ "high", OPT_HIGH, "N", 0, "with --low: until so many are free", 0 },
	{ "residence-us", OPT_RESIDENCE, "US", 0, "minimum residence", 0 },
	{ "extend-us", OPT_EXTEND, "US", 0, "most that EXTEND adds to a grace",
	  0 },
	{ "idle-us", OPT_IDLE, "US", 0,
	  "ask for regions unused for so long when entries are short; 0: do "
	  "not (1000000)",
	  0 },
	{ "crash-file", OPT_CRASH, "FILE", 0,
	  "write the firmware's crash record there", 0 },
	{ "audit", OPT_AUDIT, NULL, 0, "log every request", 0 },
	{ "spin-us", OPT_SPIN, "US", 0, "poll that long before sleeping", 0 },
	{ "kio-export", OPT_KIO, "DIR|FILE", 0,
	  "let other hosts read what is there (unic-kio get, ls)", 0 },
	{ "kio-writable", OPT_KIO_WRITABLE, NULL, 0,
	  "with --kio-export: write it, and make new files (unic-kio put)", 0 },
	{ "kio-allow", OPT_KIO_ALLOW, "ADDRESS[/BITS]", 0,
	  "with --kio-export: these hosts only; repeatable", 0 },
	{ "kio-max-bytes", OPT_KIO_MAX, "BYTES", 0,
	  "with --kio-writable: no file becomes longer than that", 0 },
	{ "kio-user", OPT_KIO_USER, "USER", 0,
	  "who may use files of other hosts from here, beside root and the "
	  "user "
	  "of the driver (everybody); repeatable",
	  0 },
	{ "data", OPT_DATA, "token|rdma", 0,
	  "how bytes of files of other hosts get here: tagged messages, or "
	  "RDMA "
	  "to a region of each I/O (token)",
	  0 },
	{ "link", OPT_LINK, "PATH", 0,
	  "the NIC is on a UART: a terminal, or the socket of an emulator", 0 },
	{ "baud", OPT_BAUD, "RATE", 0, "with --link: bits a second (921600)",
	  0 },
	{ "user-slots", OPT_USER_SLOTS, "N", 0,
	  "process slots that one user may have, other than root and the user "
	  "of the driver (default: all but a quarter)",
	  0 },
	{ "slots", OPT_SLOTS, "N", 0, "process slots (loop only)", 0 },
	{ "slot-size", OPT_SLOT_SIZE, "BYTES", 0,
	  "of each process slot (loop only)", 0 },
	{ 0 },
};

static uint64_t parse_number(struct argp_state *state, const char *arg,
			     uint64_t lo, uint64_t hi)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(arg, &end, 0);
	if (errno || *end || end == arg || v < lo || v > hi)
		argp_error(state, "%s: a number from %llu to %llu is needed",
			   arg, (unsigned long long)lo, (unsigned long long)hi);
	return v;
}

static void add_host(struct argp_state *state, struct unicd_options *o,
		     const char *arg)
{
	struct unic_kio_net *net = &o->kio_allow[o->kio_allows];
	const char *slash = strchr(arg, '/');
	char text[INET_ADDRSTRLEN];
	struct in_addr in;
	int n = snprintf(text, sizeof(text), "%.*s",
			 slash ? (int)(slash - arg) : (int)strlen(arg), arg);

	if (o->kio_allows == UNICD_KIO_RULES)
		argp_error(state, "--kio-allow: %u at most", UNICD_KIO_RULES);
	if (n >= (int)sizeof(text) || inet_pton(AF_INET, text, &in) != 1)
		argp_error(state, "%s is not an IPv4 address, or such /BITS",
			   arg);
	net->ipv4 = ntohl(in.s_addr);
	net->bits = slash ? (uint32_t)parse_number(state, slash + 1, 0, 32)
			  : 32;
	o->kio_allows++;
}

static void add_user(struct argp_state *state, struct unicd_options *o,
		     const char *arg)
{
	const struct passwd *pw = getpwnam(arg);

	if (o->kio_users == UNICD_KIO_RULES)
		argp_error(state, "--kio-user: %u at most", UNICD_KIO_RULES);
	o->kio_user[o->kio_users++] =
		pw ? pw->pw_uid
		   : (uint32_t)parse_number(state, arg, 0, UINT32_MAX - 1);
}

/* The options that are a text, which stays where it is in argv. NULL: @key is another. */
static const char **find_text(struct unicd_options *o, int key)
{
	switch (key) {
	case 'b':
		return &o->bus;
	case 's':
		return &o->socket;
	case OPT_CRASH:
		return &o->crash_file;
	case OPT_KIO:
		return &o->kio_export;
	case OPT_LINK:
		return &o->link;
	default:
		return NULL;
	}
}

/* The options that are a number from lo to hi, for a field of 32 bits. */
struct number_option {
	int key;
	uint32_t lo, hi;
	size_t at;  /* in struct unicd_options */
	bool param; /* a parameter of the NIC, little-endian */
};

#define FIELD(field) offsetof(struct unicd_options, field)

static const struct number_option numbers[] = {
	{ OPT_GRACE, 0, 10000000, FIELD(params.grace_us), true },
	{ OPT_DELIVER, 1, 10000000, FIELD(params.deliver_us), true },
	{ OPT_REAPER, 100, 1000000, FIELD(params.reaper_us), true },
	{ OPT_LOW, 0, 1 << 20, FIELD(params.low_entries), true },
	{ OPT_HIGH, 0, 1 << 20, FIELD(params.high_entries), true },
	{ OPT_RESIDENCE, 0, 10000000, FIELD(params.residence_us), true },
	{ OPT_EXTEND, 0, 10000000, FIELD(params.extend_us), true },
	{ OPT_IDLE, 0, 1000000000, FIELD(params.idle_us), true },
	{ OPT_SPIN, 0, 1000000, FIELD(spin_us), false },
	{ OPT_SLOTS, 1, UNIC_HOST_SLOTS_MAX, FIELD(slots), false },
	{ OPT_USER_SLOTS, 1, UNIC_HOST_SLOTS_MAX, FIELD(user_slots), false },
	{ OPT_BAUD, 9600, 4000000, FIELD(baud), false },
};

static const struct number_option *find_number(int key)
{
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].key == key)
			return &numbers[i];
	return NULL;
}

static void set_flag(struct unicd_options *o, uint32_t flag)
{
	o->params.flags = unic_to_le32(unic_from_le32(o->params.flags) | flag);
}

static void set_number(struct argp_state *state, struct unicd_options *o,
		       const struct number_option *n, const char *arg)
{
	uint32_t v = (uint32_t)parse_number(state, arg, n->lo, n->hi);
	void *field = (char *)o + n->at;

	if (n->param)
		*(unic_le32 *)field = unic_to_le32(v);
	else
		*(uint32_t *)field = v;
	if (n->key == OPT_LOW || n->key == OPT_HIGH)
		set_flag(o, UNIC_PARAM_WATERMARKS);
	if (n->key == OPT_GRACE && !v)
		set_flag(o, UNIC_PARAM_GRACE);
}

static void set_provider(struct argp_state *state, struct unicd_options *o,
			 const char *arg)
{
	if (strcmp(arg, "nic") && strcmp(arg, "loop"))
		argp_error(state, "%s: providers are nic and loop", arg);
	o->provider = arg;
}

static void set_data(struct argp_state *state, struct unicd_options *o,
		     const char *arg)
{
	if (strcmp(arg, "token") && strcmp(arg, "rdma"))
		argp_error(state, "%s: --data is token or rdma", arg);
	o->kio_rdma = !strcmp(arg, "rdma");
}

static void set_address(struct argp_state *state, struct unicd_options *o,
			const char *arg)
{
	struct in_addr in;

	if (inet_pton(AF_INET, arg, &in) != 1)
		argp_error(state, "%s is not an IPv4 address", arg);
	o->ipv4 = ntohl(in.s_addr);
}

/* Checks what depends on several options, and fills in the H of a NIC on a UART. */
static void check_options(struct argp_state *state, struct unicd_options *o)
{
	if (o->link && !unic_from_le32(o->params.deliver_us))
		o->params.deliver_us = unic_to_le32(LINE_DELIVER_US);
	if (o->params.idle_us && unic_from_le32(o->params.idle_us) < 1000)
		argp_error(state, "--idle-us: 0, or 1000 and more");
	if ((o->kio_allows || o->kio_max_bytes != INT64_MAX) && !o->kio_export)
		argp_error(state, "--kio-allow and --kio-max-bytes "
				  "limit an export: --kio-export DIR "
				  "says of what");
	if (o->kio_writable && !o->kio_export)
		argp_error(state, "--kio-writable says how to export: "
				  "--kio-export DIR says what");
	if (o->link && !strcmp(o->provider, "loop"))
		argp_error(state, "--link is for a NIC, not a loop-back");
	if (!o->bus && !strcmp(o->provider, "nic"))
		argp_error(state, "--bus DIR says where the NIC is");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct unicd_options *o = state->input;
	const char **text = find_text(o, key);
	const struct number_option *number = find_number(key);

	if (text)
		*text = arg;
	else if (number)
		set_number(state, o, number, arg);
	else if (key == 'p')
		set_provider(state, o, arg);
	else if (key == 'i')
		set_address(state, o, arg);
	else if (key == OPT_DATA)
		set_data(state, o, arg);
	else if (key == OPT_AUDIT)
		o->audit = true;
	else if (key == OPT_SLOT_SIZE)
		o->slot_bytes = parse_number(state, arg, 1 << 20, 1 << 30) &
				~4095ull;
	else if (key == OPT_KIO_WRITABLE)
		o->kio_writable = true;
	else if (key == OPT_KIO_ALLOW)
		add_host(state, o, arg);
	else if (key == OPT_KIO_USER)
		add_user(state, o, arg);
	else if (key == OPT_KIO_MAX)
		o->kio_max_bytes = parse_number(state, arg, 0, INT64_MAX);
	else if (key == ARGP_KEY_END)
		check_options(state, o);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "The host driver of unic: serves processes on a Unix socket and "
	       "drives the NIC on the bus.",
};

/* -------------------------------------------------------------------- start */

static int watch_signals(struct unic_os *os)
{
	sigset_t set;

	/* a link that is a socket may end just before a write */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	os->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return os->signal_fd < 0 ? -errno
				 : unicd_watch(os, os->signal_fd,
					       UNICD_EV_SIGNAL, 0, EPOLLIN);
}

/* Slots of one user: all but a quarter, so that others have one at least of two. */
static uint32_t user_slots(const struct unic_os *os)
{
	uint32_t rest = (os->slots + 3) / 4;

	if (os->opt.user_slots)
		return os->opt.user_slots;
	return os->slots > rest ? os->slots - rest : 1;
}

static int make_host(struct unic_os *os, bool loop)
{
	struct unic_host_config config = {
		.slots = os->slots,
		.user_slots = user_slots(os),
		.slots_of_users = true,
		.slot_bytes = os->slot_bytes,
		.slots_at = os->slots_at,
		.slot_mem = os->slot_mem,
		.journal = unicd_slots_journal(os),
		.board = os->board,
		.ipv4 = os->opt.ipv4,
		.pid = (uint32_t)getpid(),
		/* 0.5 s: a packet's payload takes 12 ms at 921,600 baud, and 8
		 * may be waiting */
		.ack_timeout = os->opt.link ? 17 : 0,
		.params = os->opt.params,
	};
	struct unic_provider *p;

	p = loop ? unic_loop_provider(os, os->slots, os->slot_mem,
				      os->slot_bytes)
		 : unic_nic_provider(os, os->bar);
	os->host = p ? unic_host_new(os, p, &config) : NULL;
	if (os->host)
		return 0;
	unicd_say("out of memory");
	unic_os_free(os, p);
	return -ENOMEM;
}

static void init_os(struct unic_os *os)
{
	uint32_t i;

	os->bus_fd = -1;
	os->bus_dir = -1;
	os->socket_dir = -1;
	os->listen_fd = -1;
	os->slots_file = -1;
	for (i = 0; i <= UNIC_HOST_SLOTS_MAX; i++) {
		os->host_ev[i] = -1;
		os->nic_ev[i] = -1;
	}
	for (i = 0; i < UNIC_HOST_SLOTS_MAX; i++) {
		os->cq_wake[i] = (struct unicd_wake){ -1, -1 };
		os->upcall_wake[i] = (struct unicd_wake){ -1, -1 };
		os->doorbell[i] = (struct unicd_wake){ -1, -1 };
		os->slot_pidfd[i] = -1;
	}
	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		os->client[i].fd = -1;
}

static int start_daemon(struct unic_os *os)
{
	bool loop = !strcmp(os->opt.provider, "loop");
	int err;

	os->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = os->epoll_fd < 0 ? -errno : watch_signals(os);
	if (!err)
		err = loop ? unicd_board_own(os) : unicd_board_attach(os);
	if (!err)
		err = make_host(os, loop);
	if (!err && os->opt.link)
		err = unicd_line_init(os);
	if (err)
		return err;
	unicd_slots_init(os);
	err = unicd_kio_init(os);
	if (!err)
		err = unicd_clients_listen(os);
	if (!err && loop)
		unic_host_plug(os->host, true);
	return err;
}

/* --------------------------------------------------------------------- loop */

/* False: time to end. */
static bool dispatch_event(struct unic_os *os, const struct epoll_event *ev)
{
	uint32_t n = ev->data.u32 & 0xffff;

	switch (ev->data.u32 >> 16) {
	case UNICD_EV_SIGNAL:
		return false;
	case UNICD_EV_LISTEN:
		unicd_clients_accept(os);
		return true;
	case UNICD_EV_BUS:
		if (!unicd_board_event(os))
			return true;
		os->bus_fd = -1;
		return false;
	case UNICD_EV_NIC:
		unicd_drain(os->host_ev[0]);
		return true;
	case UNICD_EV_RING:
		unicd_ring(os, n);
		return true;
	case UNICD_EV_CLIENT:
		unicd_clients_event(os, n, ev->events);
		return true;
	case UNICD_EV_OWNER:
		unicd_slots_ended(os, n);
		return true;
	case UNICD_EV_SLOT:
		unicd_drain(os->host_ev[1 + n]);
		unicd_wake(&os->cq_wake[n]);
		return true;
	case UNICD_EV_ENDED:
		unicd_clients_ended(os, n);
		return true;
	case UNICD_EV_LINE:
		unicd_line_event(os);
		return true;
	case UNICD_EV_KIO:
		unicd_drain((int)n);
		return true;
	default:
		return true;
	}
}

/* Reports each change of the NIC's state once: a crash, and that it is ready. */
static void report_nic_state(struct unic_os *os, uint32_t *shown,
			     bool *announced)
{
	uint32_t state = unic_host_nic(os->host);

	if (state == *shown)
		return;
	*shown = state;
	if (state == UNIC_CTL_NIC_DEAD)
		unicd_crash_report(os->host, os->opt.crash_file);
	if (state != UNIC_CTL_NIC_READY || *announced)
		return;
	*announced = true;
	say(STDOUT_FILENO, "unicd: ready pid %d socket %s provider %s slots %u",
	    (int)getpid(), os->opt.socket, os->opt.provider, os->slots);
}

/* Milliseconds to sleep; 0: there is work, or --spin-us is not over. */
static int poll_timeout_ms(struct unic_os *os, uint64_t next, uint64_t busy_ns)
{
	uint64_t now = unic_os_now_ns(os);

	if (next <= now || now - busy_ns < 1000ull * os->opt.spin_us ||
	    !unic_host_rest(os->host, true))
		return 0;
	if (next - now > 1000000000ull)
		return 1000;
	return (int)((next - now + 999999) / 1000000);
}

static void loop_forever(struct unic_os *os)
{
	uint32_t shown = UNIC_CTL_NIC_ABSENT;
	uint64_t busy_ns = 0;
	bool announced = false;

	for (;;) {
		uint64_t next = unic_host_poll(os->host), slots, kio, line;
		struct epoll_event ev[16];
		int n, i;

		unicd_clients_reap(os);
		kio = unicd_kio_poll(os);
		if (kio < next)
			next = kio;
		line = os->line ? unicd_line_turn(os) : UINT64_MAX;
		if (line < next)
			next = line;
		slots = unicd_slots_check(os);
		if (slots < next)
			next = slots;
		report_nic_state(os, &shown, &announced);
		n = epoll_wait(os->epoll_fd, ev, 16,
			       poll_timeout_ms(os, next, busy_ns));
		for (i = 0; i < n; i++)
			if (!dispatch_event(os, &ev[i]))
				return;
		if (n > 0)
			busy_ns = unic_os_now_ns(os);
	}
}

int main(int argc, char **argv)
{
	static struct unic_os os = {
		.opt = { .provider = "nic",
			 .ipv4 = 0x0a000001,
			 .baud = 921600,
			 .kio_max_bytes = INT64_MAX,
			 .slots = 8,
			 .slot_bytes = 16 << 20 },
	};
	static char path[256];
	int err;

	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	os.opt.params.idle_us = unic_to_le32(IDLE_US);
	err = argp_parse(&argp, argc, argv, 0, NULL, &os.opt);
	if (err) {
		unicd_say("options: %s", strerror(err));
		return EXIT_FAILURE;
	}
	if (!os.opt.socket) {
		snprintf(path, sizeof(path), "%s/unicd.sock",
			 os.opt.bus ? os.opt.bus : "/run/unic");
		os.opt.socket = path;
	}
	init_os(&os);
	say_start();
	err = start_daemon(&os);
	if (err) {
		unicd_say("not started: %s", strerror(-err));
	} else {
		loop_forever(&os);
		err = os.bus_fd < 0 && os.opt.bus ? -EPIPE : 0;
	}
	if (os.host) {
		unicd_clients_fini(&os);
		unicd_kio_fini(&os);
		unicd_line_fini(&os);
		unic_host_delete(os.host);
	}
	say_end();
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
