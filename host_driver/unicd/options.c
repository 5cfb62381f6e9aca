/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* options.c - see options.h. */
#define _GNU_SOURCE
#include <argp.h>
#include <arpa/inet.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "nics.h"
#include "number.h"
#include "output.h"

/* H of a NIC on a UART: the notice, its acknowledgement and the frames in front of them
 * take some 50 ms of the line. */
#define LINE_DELIVER_US 1000000u

/* Regions unused for so long are asked for. */
#define IDLE_US 1000000u

enum {
	OPT_GRACE = 256,
	OPT_DELIVER,
	OPT_REAPER,
	OPT_LOW,
	OPT_HIGH,
	OPT_RESIDENCE,
	OPT_EXTEND,
	OPT_IDLE,
	OPT_PREFETCH,
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
	OPT_FAULTS,
	OPT_REGISTRATIONS,
	OPT_UPCALLS,
	OPT_METRICS,
};

static const struct argp_option options[] = {
	{ "nic", 'n', "NAME", 0,
	  "one NIC more: the options behind it are of this one, those before "
	  "the first --nic of all. Without --nic there is one, unic0",
	  0 },
	{ "bus", 'b', "DIR", 0, "directory of unic-bus", 0 },
	{ "socket", 's', "PATH", 0,
	  "socket of the processes (default: unicd.sock in the bus directory "
	  "of "
	  "the first NIC)",
	  0 },
	{ "provider", 'p', "nic|loop", 0,
	  "the NIC on the bus, or a loop-back in software (default: nic)", 0 },
	{ "ip", 'i', "ADDRESS", 0,
	  "IPv4 address of the NIC (default: 10.0.0.1)", 0 },
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
	  "not (default: 1000000)",
	  0 },
	{ "prefetch", OPT_PREFETCH, "N", 0,
	  "translations that a miss of a `table` region keeps, if there are "
	  "free entries; 1 to 8 (default: 1)",
	  0 },
	{ "crash-file", OPT_CRASH, "FILE", 0,
	  "write the firmware's crash record there", 0 },
	{ "audit", OPT_AUDIT, NULL, 0, "log every request", 0 },
	{ "metrics", OPT_METRICS, "PATH", 0,
	  "socket on which HTTP GET /metrics is answered with what `unicctl "
	  "metrics' prints, /metrics/NIC with that of another NIC; for this "
	  "user and root",
	  0 },
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
	  "user of the driver; repeatable (default: everybody)",
	  0 },
	{ "data", OPT_DATA, "token|rdma", 0,
	  "how bytes of files of other hosts get here: tagged messages, or "
	  "RDMA to a region of each I/O (default: rdma, if the NIC keeps "
	  "accounts)",
	  0 },
	{ "link", OPT_LINK, "PATH", 0,
	  "the NIC is on a UART: a terminal, or the socket of an emulator", 0 },
	{ "baud", OPT_BAUD, "RATE", 0,
	  "with --link: bits a second (default: 921600)", 0 },
	{ "user-slots", OPT_USER_SLOTS, "N", 0,
	  "process slots that one user may have, other than root and the user "
	  "of the driver (default: all but a quarter)",
	  0 },
	{ "faults-per-s", OPT_FAULTS, "N", 0,
	  "missed pages of one process that are fetched in a second; 0: any "
	  "number (default: 100000)",
	  0 },
	{ "registrations-per-s", OPT_REGISTRATIONS, "N", 0,
	  "registrations that one process may make in a second; 0: any number "
	  "(default: 250000)",
	  0 },
	{ "upcalls-per-s", OPT_UPCALLS, "N", 0,
	  "times that one process is woken for upcalls in a second; 0: any "
	  "number (default: 20000)",
	  0 },
	{ "slots", OPT_SLOTS, "N", 0, "process slots (loop only)", 0 },
	{ "slot-size", OPT_SLOT_SIZE, "BYTES", 0,
	  "of each process slot (loop only)", 0 },
	{ 0 },
};

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
	net->bits = slash ? (uint32_t)number_need(state, slash + 1, 0, 32) : 32;
	o->kio_allows++;
}

static void add_user(struct argp_state *state, struct unicd_options *o,
		     const char *arg)
{
	const struct passwd *pw = getpwnam(arg);
	uint64_t uid = pw ? pw->pw_uid : 0;

	if (!pw && number_parse(arg, 0, UINT32_MAX - 1, &uid))
		argp_error(state, "--kio-user: no user is called %s", arg);
	if (o->kio_users == UNICD_KIO_RULES)
		argp_error(state, "--kio-user: %u at most", UNICD_KIO_RULES);
	o->kio_user[o->kio_users++] = (uint32_t)uid;
}

/* The options that are a text, which stays where it is in argv. NULL: @key is another. */
static const char **find_text(struct unicd_options *o, int key)
{
	switch (key) {
	case 'b':
		return &o->bus;
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
#define LIMIT(name)  FIELD(limit[UNIC_CTL_LIMIT_##name])

static const struct number_option numbers[] = {
	{ OPT_GRACE, 0, 10000000, FIELD(params.grace_us), true },
	{ OPT_DELIVER, 1, 10000000, FIELD(params.deliver_us), true },
	{ OPT_REAPER, 100, 1000000, FIELD(params.reaper_us), true },
	{ OPT_LOW, 0, 1 << 20, FIELD(params.low_entries), true },
	{ OPT_HIGH, 0, 1 << 20, FIELD(params.high_entries), true },
	{ OPT_RESIDENCE, 0, 10000000, FIELD(params.residence_us), true },
	{ OPT_EXTEND, 0, 10000000, FIELD(params.extend_us), true },
	{ OPT_IDLE, 0, 1000000000, FIELD(params.idle_us), true },
	{ OPT_PREFETCH, 1, UNIC_TABLE_GROUP, FIELD(params.prefetch), true },
	{ OPT_SLOTS, 1, UNIC_HOST_SLOTS_MAX, FIELD(slots), false },
	{ OPT_USER_SLOTS, 1, UNIC_HOST_SLOTS_MAX, FIELD(user_slots), false },
	{ OPT_FAULTS, 0, UNIC_CTL_LIMIT_MAX, LIMIT(FAULTS), false },
	{ OPT_REGISTRATIONS, 0, UNIC_CTL_LIMIT_MAX, LIMIT(REGISTRATIONS),
	  false },
	{ OPT_UPCALLS, 0, UNIC_CTL_LIMIT_MAX, LIMIT(UPCALLS), false },
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
	uint32_t v = (uint32_t)number_need(state, arg, n->lo, n->hi);
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
	if (unic_from_le32(o->params.flags) & UNIC_PARAM_WATERMARKS &&
	    unic_from_le32(o->params.low_entries) >
		    unic_from_le32(o->params.high_entries))
		argp_error(state, "--low N asks entries back until --high are "
				  "free, which is as many at least");
	if (o->link && !strcmp(o->provider, "loop"))
		argp_error(state, "--link is for a NIC, not a loop-back");
	if (!o->bus && !strcmp(o->provider, "nic"))
		argp_error(state, "--bus DIR says where the NIC is");
}

/* What the command line has said so far. */
struct parsed {
	struct unicd *d;
	struct unicd_options all; /* before the first --nic */
};

static void add_nic(struct argp_state *state, struct parsed *p,
		    const char *name)
{
	struct unicd *d = p->d;
	uint32_t i;

	if (d->nics == UNICD_NICS_MAX)
		argp_error(state, "--nic: %u at most", UNICD_NICS_MAX);
	if (!unic_nics_name_ok(name))
		argp_error(state,
			   "--nic %s: a name is a letter, and letters, digits, "
			   "- and _, 15 in all",
			   name);
	for (i = 0; i < d->nics; i++)
		if (!strcmp(d->nic[i].opt.name, name))
			argp_error(state, "--nic %s: twice", name);
	d->nic[d->nics].opt = p->all;
	d->nic[d->nics++].opt.name = name;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Checks what two NICs may not have in common. */
static void check_pair(struct argp_state *state, const struct unicd_options *a,
		       const struct unicd_options *b)
{
	bool nics = !strcmp(a->provider, "nic") && !strcmp(b->provider, "nic");

	if (a->ipv4 == b->ipv4)
		argp_error(state, "%s and %s have one --ip", a->name, b->name);
	if (nics && is_same(a->bus, b->bus))
		argp_error(state, "%s and %s have one --bus", a->name, b->name);
	if (is_same(a->link, b->link))
		argp_error(state, "%s and %s have one --link", a->name,
			   b->name);
}

static void check_nics(struct argp_state *state, struct parsed *p)
{
	struct unicd *d = p->d;
	static char path[256];
	uint32_t i, k;

	if (!d->nics)
		add_nic(state, p, "unic0");
	for (i = 0; i < d->nics; i++) {
		check_options(state, &d->nic[i].opt);
		for (k = 0; k < i; k++)
			check_pair(state, &d->nic[k].opt, &d->nic[i].opt);
	}
	snprintf(path, sizeof(path), "%s/unicd.sock",
		 d->nic[0].opt.bus ? d->nic[0].opt.bus : "/run/unic");
	if (!d->socket)
		d->socket = path;
	if (is_same(d->socket, d->metrics))
		argp_error(state,
			   "--socket and --metrics are two sockets, "
			   "not %s both",
			   d->socket);
}

/* The options of the driver as a whole. False: @key is another. */
static bool parse_common(struct argp_state *state, struct parsed *p, int key,
			 char *arg)
{
	if (key == 'n')
		add_nic(state, p, arg);
	else if (key == 's')
		p->d->socket = arg;
	else if (key == OPT_METRICS)
		p->d->metrics = arg;
	else if (key == OPT_AUDIT)
		p->d->audit = true;
	else if (key == OPT_SPIN)
		p->d->spin_us = (uint32_t)number_need(state, arg, 0, 1000000);
	else if (key == ARGP_KEY_END)
		check_nics(state, p);
	else
		return false;
	return true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parsed *p = state->input;
	uint32_t n = p->d->nics;
	struct unicd_options *o = n ? &p->d->nic[n - 1].opt : &p->all;
	const char **text = find_text(o, key);
	const struct number_option *number = find_number(key);

	if (parse_common(state, p, key, arg))
		return 0;
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
	else if (key == OPT_SLOT_SIZE)
		o->slot_bytes = number_need(state, arg, 1 << 20, 1 << 30) &
				~4095ull;
	else if (key == OPT_KIO_WRITABLE)
		o->kio_writable = true;
	else if (key == OPT_KIO_ALLOW)
		add_host(state, o, arg);
	else if (key == OPT_KIO_USER)
		add_user(state, o, arg);
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "%s: too many arguments", arg);
	else if (key == OPT_KIO_MAX)
		o->kio_max_bytes = number_need(state, arg, 0, INT64_MAX);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "The host driver of unic: serves processes on a Unix socket and "
	       "drives the NIC on the bus, or several.",
};

int unicd_options_parse(struct unicd *d, int argc, char **argv)
{
	struct parsed p = {
		.d = d,
		.all = { .provider = "nic",
			 .ipv4 = 0x0a000001,
			 .baud = 921600,
			 .kio_max_bytes = INT64_MAX,
			 .kio_rdma = true,
			 .slots = 8,
			 .slot_bytes = 16 << 20,
			 .limit = { UNIC_LIMIT_FAULTS, UNIC_LIMIT_REGISTRATIONS,
				    UNIC_LIMIT_UPCALLS } },
	};

	p.all.params.idle_us = unic_to_le32(IDLE_US);
	output_watch();
	return argp_parse(&argp, argc, argv, 0, NULL, &p);
}
