/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* nic.c - see nic.h. */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "nic.h"
#include "board.h"
#include "clients.h"
#include "crash_text.h"
#include "ids_file.h"
#include "kio.h"
#include "line.h"
#include "nics.h"
#include "provider/provider_loop.h"
#include "provider/provider_nic.h"
#include "say.h"
#include "slots.h"
#include "unicd_os.h"

/* A NIC that is started beside its driver has come by then. */
#define ABSENCE_NS 3000000000ull

/* Slots of one user: all but a quarter, so that others have one at least of two. */
static uint32_t user_slots(const struct unic_os *os)
{
	uint32_t rest = (os->slots + 3) / 4;

	if (os->opt.user_slots)
		return os->opt.user_slots;
	return os->slots > rest ? os->slots - rest : 1;
}

static uint32_t list_nics(struct unic_os *os, struct unic_ctl_nic_row *row)
{
	return unicd_nic_rows(os->d, row);
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
		.ids = os->d->ids,
		.ipv4 = os->opt.ipv4,
		.number = os->number,
		.list_nics = list_nics,
		.pid = (uint32_t)getpid(),
		/* 0.5 s: a packet's payload takes 12 ms at 921,600 baud, and 8
		 * may be waiting */
		.ack_timeout = os->opt.link ? 17 : 0,
		.params = os->opt.params,
	};
	struct unic_provider *p;

	if (config.journal == MAP_FAILED)
		return -EPROTONOSUPPORT;
	memcpy(config.limit, os->opt.limit, sizeof(config.limit));
	memcpy(config.name, os->opt.name,
	       strnlen(os->opt.name, sizeof(config.name) - 1));
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

void unicd_nic_init(struct unicd *d, uint32_t number)
{
	struct unic_os *os = &d->nic[number];
	uint32_t i;

	os->d = d;
	os->number = number;
	os->shown = UNIC_CTL_NIC_ABSENT;
	os->bus_fd = -1;
	os->bus_dir = -1;
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
		os->slot_fd[i] = -1;
	}
}

/* The first NIC that has a directory says where the ids of all are kept. */
static int open_ids(struct unic_os *os)
{
	if (!os->d->ids)
		os->d->ids = unicd_ids_open(os);
	else
		unicd_ids_add(os);
	return os->d->ids ? 0 : -ENOMEM;
}

int unicd_nic_start(struct unic_os *os)
{
	bool loop = !strcmp(os->opt.provider, "loop");
	int err = loop ? unicd_board_own(os) : unicd_board_attach(os);

	if (!err)
		err = open_ids(os);
	if (!err)
		err = make_host(os, loop);
	if (!err && os->opt.link)
		err = unicd_line_init(os);
	if (err)
		return err;
	os->started_ns = unic_os_now_ns(os);
	unicd_slots_init(os);
	err = unicd_kio_init(os);
	if (!err && loop)
		unic_host_plug(os->host, true);
	return err;
}

void unicd_nic_event(struct unic_os *os, enum unicd_event kind, uint32_t number)
{
	if (os->gone)
		return; /* an event of before */
	switch (kind) {
	case UNICD_EV_BUS:
		/* What the NIC wrote before the bus told that it left is read
		 * first: afterwards nobody asks whether it had crashed. */
		unicd_nic_poll(os);
		os->gone = unicd_board_event(os) != 0;
		return;
	case UNICD_EV_NIC:
		unicd_drain(os->host_ev[0]);
		return;
	case UNICD_EV_RING:
		unicd_ring(os, number);
		return;
	case UNICD_EV_OWNER:
		unicd_slots_ended(os, number);
		return;
	case UNICD_EV_SLOT:
		unicd_drain(os->host_ev[1 + number]);
		unicd_wake(&os->cq_wake[number]);
		return;
	case UNICD_EV_LINE:
		unicd_line_event(os);
		return;
	default:
		return;
	}
}

/* Says once that no NIC has come: a driver by itself would be silent for ever. */
static void report_absence(struct unic_os *os)
{
	if (os->announced || os->absence_told || os->line ||
	    os->shown != UNIC_CTL_NIC_ABSENT ||
	    unic_os_now_ns(os) - os->started_ns < ABSENCE_NS)
		return;
	os->absence_told = true;
	unicd_tell(os,
		   "waits for a NIC at the bus in %s: unic-nic --bus %s/nic is "
		   "one",
		   os->opt.bus, os->opt.bus);
}

/* Reports each change of the NIC's state once: a crash, and that it is ready. */
static void report_nic_state(struct unic_os *os)
{
	uint32_t state = unic_host_nic(os->host);

	if (state == os->shown)
		return;
	os->shown = state;
	if (state == UNIC_CTL_NIC_DEAD)
		unicd_crash_report(os->host, os->opt.crash_file);
	if (state != UNIC_CTL_NIC_READY || os->announced)
		return;
	os->announced = true;
	say(STDOUT_FILENO,
	    "unicd: ready pid %d socket %s provider %s slots %u%s%s",
	    (int)getpid(), os->d->socket, os->opt.provider, os->slots,
	    os->d->nics > 1 ? " nic " : "",
	    os->d->nics > 1 ? os->opt.name : "");
	(void)sd_notifyf(0, "READY=1\nSTATUS=serves %s", os->d->socket);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t unicd_nic_poll(struct unic_os *os)
{
	uint64_t next;

	if (!os->host)
		return UINT64_MAX;
	if (os->gone) {
		unicd_clients_lose(os->d, os);
		unicd_nic_fini(os);
		return UINT64_MAX;
	}
	next = unic_host_poll(os->host);
	unicd_clients_reap(os->d);
	next = earlier(next, unicd_kio_poll(os));
	if (os->line)
		next = earlier(next, unicd_line_turn(os));
	next = earlier(next, unicd_slots_check(os));
	report_nic_state(os);
	report_absence(os);
	return next;
}

void unicd_nic_fini(struct unic_os *os)
{
	if (!os->host)
		return;
	unicd_kio_fini(os);
	unicd_line_fini(os);
	unic_host_delete(os->host);
	os->host = NULL;
	unicd_board_detach(os);
}

uint32_t unicd_nic_rows(struct unicd *d, struct unic_ctl_nic_row *row)
{
	uint32_t i, n = 0;

	for (i = 0; i < d->nics; i++) {
		const struct unic_os *os = &d->nic[i];

		if (!os->host || os->gone)
			continue;
		unic_nics_row(os->host, &row[n++]);
	}
	return n;
}
